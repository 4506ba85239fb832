// See cuda_runtime.h. One block at a time; its threads are fibers that change places at barriers.
#include "cuda_runtime.h"
#include <map>
#include <stdio.h>
#include <string.h>
#include <ucontext.h>
#include <vector>

long shim_calls, shim_fail_at, shim_launches, shim_live;
size_t shim_copied_in;
shim_index threadIdx, blockIdx, blockDim, gridDim;

static cudaError_t pending = cudaSuccess;
static const size_t ZONE = 64;
static std::map<char *, size_t> allocations;

static bool fails() { return ++shim_calls == shim_fail_at; }
static cudaError_t error(cudaError_t e) { return pending = e; }
[[noreturn]] static void die(const char *why) {
    fprintf(stderr, "shim: %s\n", why);
    abort();
}

extern "C" cudaError_t cudaMalloc(void **pointer, size_t bytes) {
    if (fails() || bytes > (size_t)1 << 40) return error(cudaErrorMemoryAllocation);
    if (bytes == 0) die("empty allocation");
    char *p = (char *)malloc(bytes + 2 * ZONE);
    memset(p, 0xEE, bytes + 2 * ZONE);
    memset(p + ZONE, 0xCB, bytes);
    allocations[p + ZONE] = bytes;
    shim_live++;
    *pointer = p + ZONE;
    return cudaSuccess;
}
extern "C" cudaError_t cudaFree(void *pointer) {
    if (!pointer) return cudaSuccess;
    auto it = allocations.find((char *)pointer);
    if (it == allocations.end()) die("free of what was not allocated");
    for (size_t k = 0; k < ZONE; k++)
        if ((unsigned char)it->first[-1 - (long)k] != 0xEE || (unsigned char)it->first[it->second + k] != 0xEE)
            die("write outside an allocation");
    free(it->first - ZONE);
    allocations.erase(it);
    shim_live--;
    return cudaSuccess;
}
static void inside(const void *p, size_t bytes) {
    for (auto &a : allocations)
        if (p >= a.first && (const char *)p + bytes <= a.first + a.second) return;
    die("copy outside device memory");
}
extern "C" cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind) {
    inside(kind == cudaMemcpyHostToDevice ? to : from, bytes);
    if (fails()) {
        memcpy(to, from, bytes / 2);
        return error(cudaErrorInvalidValue);
    }
    memcpy(to, from, bytes);
    if (kind == cudaMemcpyHostToDevice) shim_copied_in += bytes;
    return cudaSuccess;
}
extern "C" cudaError_t cudaDeviceSynchronize(void) { return fails() ? error(cudaErrorLaunchFailure) : cudaSuccess; }
extern "C" cudaError_t cudaGetLastError(void) {
    cudaError_t e = pending;
    pending = cudaSuccess;
    return e;
}

static ucontext_t scheduler;
struct Fiber {
    ucontext_t context;
    std::vector<char> stack;
    bool done;
    shim_index id;
};
static std::vector<Fiber> fibers;
static size_t current;
static const std::function<void()> *body;

static void enter() {
    (*body)();
    fibers[current].done = true;
    swapcontext(&fibers[current].context, &scheduler);
}
void __syncthreads() { swapcontext(&fibers[current].context, &scheduler); }

void shim_launch(dim3 grid, dim3 block, const std::function<void()> &kernel) {
    if (fails()) {
        pending = cudaErrorLaunchFailure;
        return;
    }
    size_t threads = (size_t)block.x * block.y * block.z;
    if (!grid.x || !grid.y || !grid.z || grid.y > 65535 || grid.z > 65535 || !threads || threads > 1024) {
        pending = cudaErrorInvalidConfiguration;
        return;
    }
    shim_launches++;
    body = &kernel;
    blockDim = {block.x, block.y, block.z};
    gridDim = {grid.x, grid.y, grid.z};
    fibers.resize(threads);
    for (unsigned z = 0; z < grid.z; z++)
        for (unsigned y = 0; y < grid.y; y++)
            for (unsigned x = 0; x < grid.x; x++) {
                blockIdx = {x, y, z};
                for (size_t t = 0; t < threads; t++) {
                    Fiber &f = fibers[t];
                    f.stack.resize(64 * 1024);
                    f.done = false;
                    f.id = {(unsigned)(t % block.x), (unsigned)(t / block.x % block.y), (unsigned)(t / block.x / block.y)};
                    getcontext(&f.context);
                    f.context.uc_stack.ss_sp = f.stack.data();
                    f.context.uc_stack.ss_size = f.stack.size();
                    f.context.uc_link = &scheduler;
                    makecontext(&f.context, enter, 0);
                }
                // Round by round, from the last thread to the first: nothing may rely on an order.
                for (size_t left = threads; left;) {
                    size_t ended = 0, waiting = 0;
                    for (size_t t = threads; t-- > 0;) {
                        if (fibers[t].done) continue;
                        current = t;
                        threadIdx = fibers[t].id;
                        swapcontext(&scheduler, &fibers[t].context);
                        fibers[t].done ? ended++ : waiting++;
                    }
                    if (ended && waiting) die("a barrier that not all threads reach");
                    left -= ended;
                }
            }
}
