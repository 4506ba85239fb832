/* The run time behind ww_cuda_shim.h and cuda_runtime.h: fibers, barriers, device memory with red zones and poison.
   Environment: WW_SEED (order of threads and blocks), WW_FAIL_MALLOC=N (the N-th cudaMalloc fails, from 1),
   WW_NO_DEVICE=1. Exit codes: 97 a barrier that not all threads reach, 98 a red zone was written, 99 memory leaked. */
#include "ww_cuda_shim.h"
#undef threadIdx
#undef blockIdx
#undef blockDim
#undef gridDim
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <map>
#include <memory>
#include <vector>
#include <ucontext.h>

ww_thread *ww_now;
char *ww_dynamic_shared;

/* ---- fibers */
namespace {
enum State { READY, AT_BARRIER, AT_WARP, ENDED };
struct Fiber {
    ww_thread ids;
    ucontext_t context;
    std::unique_ptr<char[]> stack;
    State state;
    ww_wait kind;
    const char *file;
    int line;
    unsigned mask;
    unsigned long long value, result;
    int lane, width, predicate;
};
const size_t STACK = 128 * 1024;
std::vector<Fiber> fibers;
ucontext_t scheduler;
Fiber *running;
const std::function<void()> *body;
unsigned long long seed_state;

unsigned long long next_random() {
    unsigned long long z = (seed_state += 0x9E3779B97F4A7C15ull);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return z ^ (z >> 31);
}
void entry() {
    (*body)();
    running->state = ENDED;
    swapcontext(&running->context, &scheduler);
}
[[noreturn]] void die(int code, const char *what, const char *file, int line) {
    fprintf(stderr, "ww-shim: %s (%s:%d)\n", what, file, line);
    fflush(NULL);
    _exit(code);
}
void wait_here(State s) {
    Fiber *me = running;
    me->state = s;
    swapcontext(&me->context, &scheduler);
}
int source_lane(const Fiber &f, int me) {
    int width = f.width, base = me & ~(width - 1), last = base + width - 1, from;
    switch (f.kind) {
    case WW_SHFL: return base + (f.lane & (width - 1));
    case WW_UP: from = me - f.lane; return from < base ? me : from;
    case WW_DOWN: from = me + f.lane; return from > last ? me : from;
    default: from = me ^ f.lane; return from > last ? me : from;
    }
}
/* lets the lanes of a warp go on whose partners have all come; true if some could */
bool settle_warp(size_t from, size_t to) {
    unsigned live = 0;
    for (size_t i = from; i < to; i++)
        if (fibers[i].state != ENDED) live |= 1u << (i - from);
    for (size_t i = from; i < to; i++) {
        Fiber &f = fibers[i];
        if (f.state != AT_WARP) continue;
        if (!(f.mask >> (i - from) & 1)) die(97, "a thread outside its own mask", f.file, f.line);
        unsigned here = 0;
        for (size_t j = from; j < to; j++) {
            Fiber &g = fibers[j];
            if (g.state == AT_WARP && g.kind == f.kind && g.line == f.line && g.mask == f.mask && (f.mask >> (j - from) & 1))
                here |= 1u << (j - from);
        }
        if (here != (f.mask & live)) continue;
        unsigned votes = 0;
        for (size_t j = from; j < to; j++)
            if (here >> (j - from) & 1 && fibers[j].value) votes |= 1u << (j - from);
        for (size_t j = from; j < to; j++) {
            if (!(here >> (j - from) & 1)) continue;
            Fiber &g = fibers[j];
            switch (g.kind) {
            case WW_SYNC: g.result = 0; break;
            case WW_BALLOT: g.result = votes; break;
            case WW_ANY: g.result = votes != 0; break;
            case WW_ALL: g.result = votes == here; break;
            default: {
                int s = source_lane(g, (int)(j - from));
                g.result = here >> s & 1 ? fibers[from + s].value : 0xCBCBCBCBCBCBCBCBull;
            }
            }
            g.state = READY;
        }
        return true;
    }
    return false;
}
/* opens the block's barrier */
void open_barrier() {
    Fiber *first = NULL;
    unsigned count = 0, here = 0;
    bool ended = false;
    for (Fiber &f : fibers) {
        if (f.state == ENDED) ended = true;
        if (f.state != AT_BARRIER) continue;
        if (!first) first = &f;
        if (f.line != first->line || f.file != first->file) die(97, "threads wait at different barriers", f.file, f.line);
        here++;
        count += f.predicate != 0;
    }
    if (ended && first) die(97, "a barrier that some threads never reach", first->file, first->line);
    for (Fiber &f : fibers) {
        if (f.state != AT_BARRIER) continue;
        f.result = f.kind == WW_COUNT ? count : f.kind == WW_AND ? count == here : f.kind == WW_OR ? count != 0 : 0;
        f.state = READY;
    }
}
void run_block() {
    std::vector<size_t> order(fibers.size());
    for (size_t i = 0; i < order.size(); i++) order[i] = i;
    for (;;) {
        for (size_t i = order.size(); i > 1; i--) std::swap(order[i - 1], order[next_random() % i]);
        bool ran = false;
        for (size_t i : order) {
            if (fibers[i].state != READY) continue;
            ran = true;
            running = &fibers[i];
            ww_now = &running->ids;
            swapcontext(&scheduler, &running->context);
        }
        if (ran) continue;
        bool moved = false, all_ended = true, at_warp = false;
        for (size_t w = 0; w < fibers.size(); w += 32)
            while (settle_warp(w, w + 32 < fibers.size() ? w + 32 : fibers.size())) moved = true;
        if (moved) continue;
        for (Fiber &f : fibers) {
            all_ended &= f.state == ENDED;
            at_warp |= f.state == AT_WARP;
        }
        if (all_ended) return;
        if (at_warp) die(97, "a warp operation that not all its threads reach", "warp", 0);
        open_barrier();
    }
}
} // namespace

extern "C" {
/* the linker makes these where the section exists */
extern char __start_ww_shared[] __attribute__((weak));
extern char __stop_ww_shared[] __attribute__((weak));
}

static cudaError_t last_error = cudaSuccess;

unsigned long long ww_block_wait(ww_wait kind, int predicate, const char *file, int line) {
    Fiber *me = running;
    me->kind = kind;
    me->predicate = predicate;
    me->file = file;
    me->line = line;
    wait_here(AT_BARRIER);
    return me->result;
}
unsigned long long ww_warp_wait(ww_wait kind, unsigned mask, unsigned long long value, int lane, int width,
                                const char *file, int line) {
    Fiber *me = running;
    me->kind = kind;
    me->mask = mask;
    me->value = value;
    me->lane = lane;
    me->width = width;
    me->file = file;
    me->line = line;
    wait_here(AT_WARP);
    return me->result;
}

/* for drivers that want to know whether a kernel ran */
extern "C" unsigned long ww_launch_count;
unsigned long ww_launch_count;

void ww_launch(dim3 grid, dim3 block, size_t shared_bytes, cudaStream_t, std::function<void()> kernel) {
    unsigned long long threads = (unsigned long long)block.x * block.y * block.z;
    if (threads == 0 || threads > 1024 || block.z > 64 || grid.x == 0 || grid.y == 0 || grid.z == 0 ||
        grid.x > 2147483647u || grid.y > 65535 || grid.z > 65535 || shared_bytes > 48 * 1024) {
        last_error = cudaErrorInvalidConfiguration;
        return;
    }
    ww_launch_count++;
    const char *s = getenv("WW_SEED");
    seed_state = s ? strtoull(s, NULL, 10) : 1;
    body = &kernel;
    if (fibers.size() != threads) fibers = std::vector<Fiber>(threads);
    std::vector<char> dynamic(shared_bytes + 16);
    ww_dynamic_shared = (char *)(((uintptr_t)dynamic.data() + 15) & ~(uintptr_t)15);
    std::vector<unsigned long long> order((unsigned long long)grid.x * grid.y * grid.z);
    for (size_t i = 0; i < order.size(); i++) order[i] = i;
    for (size_t i = order.size(); i > 1; i--) std::swap(order[i - 1], order[next_random() % i]);
    for (unsigned long long b : order) {
        memset(dynamic.data(), 0xCB, dynamic.size());
        if (__start_ww_shared) memset(__start_ww_shared, 0xCB, __stop_ww_shared - __start_ww_shared);
        for (size_t t = 0; t < threads; t++) {
            Fiber &f = fibers[t];
            f.ids.block_dim = block;
            f.ids.grid_dim = grid;
            f.ids.block_idx = {(unsigned)(b % grid.x), (unsigned)(b / grid.x % grid.y), (unsigned)(b / grid.x / grid.y)};
            f.ids.thread_idx = {(unsigned)(t % block.x), (unsigned)(t / block.x % block.y), (unsigned)(t / block.x / block.y)};
            if (!f.stack) f.stack.reset(new char[STACK]);
            getcontext(&f.context);
            f.context.uc_stack.ss_sp = f.stack.get();
            f.context.uc_stack.ss_size = STACK;
            f.context.uc_link = NULL;
            makecontext(&f.context, entry, 0);
            f.state = READY;
        }
        run_block();
    }
}

/* ---- device memory */
namespace {
const size_t ZONE = 256;
const unsigned char ZONE_BYTE = 0xA5, POISON = 0xCB;
std::map<char *, size_t> &allocations() {
    static std::map<char *, size_t> *m = new std::map<char *, size_t>;
    return *m;
}
int mallocs;

void check_zones(char *p, size_t bytes) {
    for (size_t i = 0; i < ZONE; i++)
        if ((unsigned char)p[-1 - (long)i] != ZONE_BYTE || (unsigned char)p[bytes + i] != ZONE_BYTE)
            die(98, "a device buffer was written outside its bounds", "cudaMalloc", (int)bytes);
}
void at_end() {
    for (auto &a : allocations()) check_zones(a.first, a.second);
    if (!allocations().empty()) die(99, "device memory was not freed", "cudaMalloc", (int)allocations().size());
}
bool inside(const void *q, size_t bytes) {
    char *p = (char *)q;
    auto it = allocations().upper_bound(p);
    if (it == allocations().begin()) return false;
    --it;
    return p >= it->first && p + bytes <= it->first + it->second;
}
bool touches(const void *q) {
    char *p = (char *)q;
    auto it = allocations().upper_bound(p);
    if (it == allocations().begin()) return false;
    --it;
    return p < it->first + (it->second ? it->second : 1);
}
cudaError_t say(cudaError_t e) {
    if (e != cudaSuccess) last_error = e;
    return e;
}
} // namespace

extern "C" {
cudaError_t cudaMalloc(void **p, size_t bytes) {
    static bool registered = (atexit(at_end), true);
    (void)registered;
    const char *fail = getenv("WW_FAIL_MALLOC");
    if (!p) return say(cudaErrorInvalidValue);
    if (getenv("WW_NO_DEVICE")) return say(cudaErrorNoDevice);
    if (fail && ++mallocs == atoi(fail)) return say(cudaErrorMemoryAllocation);
    if (bytes == 0) {
        *p = NULL;
        return cudaSuccess;
    }
    char *raw = bytes > (size_t)1 << 34 ? NULL : (char *)aligned_alloc(256, (bytes + 2 * ZONE + 255) / 256 * 256);
    if (!raw) return say(cudaErrorMemoryAllocation);
    memset(raw, ZONE_BYTE, ZONE);
    memset(raw + ZONE, POISON, bytes);
    memset(raw + ZONE + bytes, ZONE_BYTE, ZONE);
    allocations()[raw + ZONE] = bytes;
    *p = raw + ZONE;
    return cudaSuccess;
}
cudaError_t cudaFree(void *q) {
    if (!q) return cudaSuccess;
    auto it = allocations().find((char *)q);
    if (it == allocations().end()) return say(cudaErrorInvalidDevicePointer);
    check_zones(it->first, it->second);
    memset(it->first, 0xDD, it->second);
    free(it->first - ZONE);
    allocations().erase(it);
    return cudaSuccess;
}
cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, cudaMemcpyKind kind) {
    if (bytes == 0) return cudaSuccess;
    bool to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
    bool from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
    if (kind == cudaMemcpyDefault) {
        to_device = touches(to);
        from_device = touches(from);
    }
    if (touches(to) != to_device || touches(from) != from_device) return say(cudaErrorInvalidMemcpyDirection);
    if (to_device && !inside(to, bytes)) return say(cudaErrorInvalidValue);
    if (from_device && !inside(from, bytes)) return say(cudaErrorInvalidValue);
    memmove(to, from, bytes);
    return cudaSuccess;
}
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, cudaMemcpyKind kind, cudaStream_t) {
    return cudaMemcpy(to, from, bytes, kind);
}
cudaError_t cudaMemcpy2D(void *to, size_t tp, const void *from, size_t fp, size_t width, size_t height, cudaMemcpyKind kind) {
    if (width > tp || width > fp) return say(cudaErrorInvalidValue);
    for (size_t i = 0; i < height; i++) {
        cudaError_t e = cudaMemcpy((char *)to + i * tp, (const char *)from + i * fp, width, kind);
        if (e != cudaSuccess) return e;
    }
    return cudaSuccess;
}
cudaError_t cudaMemset(void *p, int value, size_t bytes) {
    if (bytes == 0) return cudaSuccess;
    if (!inside(p, bytes)) return say(cudaErrorInvalidValue);
    memset(p, value, bytes);
    return cudaSuccess;
}
cudaError_t cudaMemGetInfo(size_t *f, size_t *t) {
    *f = *t = (size_t)1 << 32;
    return cudaSuccess;
}
cudaError_t cudaGetLastError(void) {
    cudaError_t e = last_error;
    last_error = cudaSuccess;
    return e;
}
cudaError_t cudaPeekAtLastError(void) { return last_error; }
const char *cudaGetErrorName(cudaError_t e) { return e == cudaSuccess ? "cudaSuccess" : "cudaError"; }
const char *cudaGetErrorString(cudaError_t e) {
    switch (e) {
    case cudaSuccess: return "no error";
    case cudaErrorInvalidValue: return "invalid argument";
    case cudaErrorMemoryAllocation: return "out of memory";
    case cudaErrorInvalidConfiguration: return "invalid configuration argument";
    case cudaErrorInvalidDevicePointer: return "invalid device pointer";
    case cudaErrorInvalidMemcpyDirection: return "invalid copy direction for memcpy";
    case cudaErrorNoDevice: return "no CUDA-capable device is detected";
    default: return "unknown error";
    }
}
cudaError_t cudaDeviceSynchronize(void) { return cudaSuccess; }
cudaError_t cudaDeviceReset(void) { return cudaSuccess; }
cudaError_t cudaGetDeviceCount(int *count) {
    *count = getenv("WW_NO_DEVICE") ? 0 : 1;
    return *count ? cudaSuccess : say(cudaErrorNoDevice);
}
cudaError_t cudaGetDevice(int *device) {
    *device = 0;
    return cudaSuccess;
}
cudaError_t cudaSetDevice(int device) { return device == 0 ? cudaSuccess : say(cudaErrorInvalidValue); }
cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attr, int) {
    switch (attr) {
    case cudaDevAttrMaxThreadsPerBlock: *value = 1024; break;
    case cudaDevAttrMaxGridDimX: *value = 2147483647; break;
    case cudaDevAttrMaxGridDimY:
    case cudaDevAttrMaxGridDimZ: *value = 65535; break;
    case cudaDevAttrWarpSize: *value = 32; break;
    case cudaDevAttrMultiProcessorCount: *value = 1; break;
    default: return say(cudaErrorInvalidValue);
    }
    return cudaSuccess;
}
cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *p, int) {
    memset(p, 0, sizeof *p);
    strcpy(p->name, "ww-shim");
    p->totalGlobalMem = (size_t)1 << 32;
    p->sharedMemPerBlock = 48 * 1024;
    p->warpSize = 32;
    p->maxThreadsPerBlock = 1024;
    p->maxThreadsDim[0] = p->maxThreadsDim[1] = 1024;
    p->maxThreadsDim[2] = 64;
    p->maxGridSize[0] = 2147483647;
    p->maxGridSize[1] = p->maxGridSize[2] = 65535;
    p->major = 7;
    p->multiProcessorCount = 1;
    return cudaSuccess;
}
cudaError_t cudaStreamCreate(cudaStream_t *s) {
    *s = NULL;
    return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t) { return cudaSuccess; }
cudaError_t cudaStreamSynchronize(cudaStream_t) { return cudaSuccess; }
}
