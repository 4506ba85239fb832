/* The run time behind ww_cuda_shim.h and cuda_runtime.h: threads, barriers, device memory with red zones and poison, and counts.
   Environment: WW_SEED (order of threads and blocks), WW_FAIL_MALLOC=N (the N-th cudaMalloc fails, from 1), WW_NO_DEVICE=1,
   WW_VERBOSE=1 (where offloaded loops run, and why not on the device, is said on standard error when it is new),
   WW_STATS=FILE (what was copied and launched is written there at the end; `-`: on standard error).
   Exit codes: 97 a barrier that not all threads reach, 98 a red zone was written, 99 memory leaked (not with WW_PROGRAM: then
   it is counted and the program ends as it would). */
/* switches of stacks by longjmp look to it like a fault */
#undef _FORTIFY_SOURCE
#include "ww_cuda_shim.h"
#undef threadIdx
#undef blockIdx
#undef blockDim
#undef gridDim
#undef cudaMemcpy
#undef cudaMemcpyAsync
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>
#include <setjmp.h>
#include <ucontext.h>

ww_thread *ww_now;
char *ww_dynamic_shared;

/* ---- threads. One stack runs a block's threads one after the other, as calls; a thread that waits keeps it until it has ended,
   and the next one goes on on another. */
namespace {
enum State { NEW, READY, AT_BARRIER, AT_WARP, ENDED };
struct Stack {
    ucontext_t context;
    /* where it goes on; a switch asks the system for nothing, as one of contexts does */
    jmp_buf place;
    bool is_new;
    std::unique_ptr<char[]> memory;
};
struct Fiber {
    ww_thread ids;
    Stack *on;
    State state;
    ww_wait kind;
    const char *file;
    int line;
    unsigned mask;
    unsigned long long value, result;
    int lane, width, predicate;
};
const size_t STACK = 256 * 1024;
std::vector<Fiber> fibers;
std::vector<std::unique_ptr<Stack>> stacks;
std::vector<Stack *> idle;
/* threads of the block in the order in which they begin, and how many have */
std::vector<size_t> order;
size_t begun;
ucontext_t scheduler_context;
jmp_buf scheduler;
Fiber *running;
void (*body)(void *);
void *kernel_object;
unsigned long long seed_state;

unsigned long long next_random() {
    unsigned long long z = (seed_state += 0x9E3779B97F4A7C15ull);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return z ^ (z >> 31);
}
/* to the scheduler, until it comes back */
void leave(Stack *s) {
    if (!_setjmp(s->place)) _longjmp(scheduler, 1);
}
void entry() {
    Stack *mine = running->on;
    for (;;) {
        body(kernel_object);
        running->state = ENDED;
        if (begun < order.size()) {
            running = &fibers[order[begun++]];
            running->on = mine;
            ww_now = &running->ids;
            continue;
        }
        idle.push_back(mine);
        leave(mine);
    }
}
Stack *free_stack() {
    if (idle.empty()) {
        stacks.emplace_back(new Stack);
        Stack *s = stacks.back().get();
        s->memory.reset(new char[STACK]);
        s->is_new = true;
        getcontext(&s->context);
        s->context.uc_stack.ss_sp = s->memory.get();
        s->context.uc_stack.ss_size = STACK;
        s->context.uc_link = NULL;
        makecontext(&s->context, entry, 0);
        return s;
    }
    Stack *s = idle.back();
    idle.pop_back();
    return s;
}
[[noreturn]] void die(int code, const char *what, const char *file, int line) {
    fprintf(stderr, "warpwright: %s (%s:%d)\n", what, file, line);
    fflush(NULL);
    _exit(code);
}
void wait_here(State s) {
    Fiber *me = running;
    me->state = s;
    leave(me->on);
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
void resume(Fiber &f) {
    running = &f;
    ww_now = &f.ids;
    if (_setjmp(scheduler)) return;
    if (!f.on->is_new) _longjmp(f.on->place, 1);
    f.on->is_new = false;
    swapcontext(&scheduler_context, &f.on->context);
}
void shuffle(std::vector<size_t> &all) {
    for (size_t i = all.size(); i > 1; i--) std::swap(all[i - 1], all[next_random() % i]);
}
void run_block() {
    for (size_t i = 0; i < order.size(); i++) order[i] = i;
    shuffle(order);
    begun = 0;
    while (begun < order.size()) {
        Fiber &f = fibers[order[begun++]];
        f.on = free_stack();
        resume(f);
    }
    for (;;) {
        bool moved = false, all_ended = true, at_warp = false;
        for (size_t w = 0; w < fibers.size(); w += 32)
            while (settle_warp(w, w + 32 < fibers.size() ? w + 32 : fibers.size())) moved = true;
        if (!moved) {
            for (Fiber &f : fibers) {
                all_ended &= f.state == ENDED;
                at_warp |= f.state == AT_WARP;
            }
            if (all_ended) return;
            if (at_warp) die(97, "a warp operation that not all its threads reach", "warp", 0);
            open_barrier();
        }
        shuffle(order);
        for (size_t i : order)
            if (fibers[i].state == READY) resume(fibers[i]);
    }
}
} // namespace

/* ---- counts */
namespace {
enum Way { IN, OUT, ON };
struct Copied {
    unsigned long long count, bytes;
};
struct Launched {
    unsigned long long count, blocks, threads;
};
const char *const WAYS[] = {"in", "out", "on"};
struct Counts {
    std::map<std::tuple<Way, std::string, std::string>, Copied> copies;
    std::map<std::string, Launched> launches;
    /* by function and reason; no reason: it ran */
    std::map<std::pair<std::string, std::string>, unsigned long long> said;
    unsigned long long leaks, leaked_bytes;
    void launched(const char *name, unsigned long long blocks, unsigned long long threads) {
        Launched &l = launches[name];
        l.count++;
        l.blocks += blocks;
        l.threads += threads;
    }
    void copied(Way way, const char *in, const char *what, size_t bytes) {
        Copied &c = copies[std::make_tuple(way, std::string(in ? in : "?"), std::string(what ? what : "?"))];
        c.count++;
        c.bytes += bytes;
    }
    /* a line each: `copy WAY COUNT BYTES FUNCTION EXPRESSION`, `launch COUNT BLOCKS THREADS NAME`, `declined COUNT FUNCTION WHY`,
       `leak COUNT BYTES` */
    void tell() const {
        const char *where = getenv("WW_STATS");
        if (!where || !*where) return;
        bool to_stderr = where[0] == '-' && !where[1];
        FILE *f = to_stderr ? stderr : fopen(where, "w");
        if (!f) return;
        for (auto &c : copies)
            fprintf(f, "copy %s %llu %llu %s %s\n", WAYS[std::get<0>(c.first)], c.second.count, c.second.bytes,
                    std::get<1>(c.first).c_str(), std::get<2>(c.first).c_str());
        for (auto &l : launches)
            fprintf(f, "launch %llu %llu %llu %s\n", l.second.count, l.second.blocks, l.second.threads, l.first.c_str());
        for (auto &a : said)
            if (!a.first.second.empty())
                fprintf(f, "declined %llu %s %s\n", a.second, a.first.first.c_str(), a.first.second.c_str());
        if (leaks) fprintf(f, "leak %llu %llu\n", leaks, leaked_bytes);
        fprintf(f, "end\n");
        if (!to_stderr) fclose(f);
    }
};
void at_end();
Counts &counts() {
    static Counts *c = (atexit(at_end), new Counts());
    return *c;
}
/* a program that neither copies nor launches says so, too */
struct Begin {
    Begin() { counts(); }
} begin;
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

void ww_run_grid(const char *name, dim3 grid, dim3 block, size_t shared_bytes, void (*thread)(void *), void *kernel) {
    unsigned long long threads = (unsigned long long)block.x * block.y * block.z;
    if (threads == 0 || threads > 1024 || block.z > 64 || grid.x == 0 || grid.y == 0 || grid.z == 0 ||
        grid.x > 2147483647u || grid.y > 65535 || grid.z > 65535 || shared_bytes > 48 * 1024) {
        last_error = cudaErrorInvalidConfiguration;
        return;
    }
    if (running) die(97, "a kernel launches a kernel, which is not supported here", name, 0);
    ww_launch_count++;
    unsigned long long blocks = (unsigned long long)grid.x * grid.y * grid.z;
    counts().launched(name, blocks, blocks * threads);
    const char *s = getenv("WW_SEED");
    seed_state = s ? strtoull(s, NULL, 10) : 1;
    body = thread;
    kernel_object = kernel;
    fibers.resize(threads);
    order.resize(threads);
    std::vector<char> dynamic(shared_bytes + 16);
    ww_dynamic_shared = (char *)(((uintptr_t)dynamic.data() + 15) & ~(uintptr_t)15);
    std::vector<size_t> all(blocks);
    for (size_t i = 0; i < all.size(); i++) all[i] = i;
    shuffle(all);
    for (size_t b : all) {
        memset(dynamic.data(), 0xCB, dynamic.size());
        if (__start_ww_shared) memset(__start_ww_shared, 0xCB, __stop_ww_shared - __start_ww_shared);
        for (size_t t = 0; t < threads; t++) {
            Fiber &f = fibers[t];
            f.ids.block_dim = block;
            f.ids.grid_dim = grid;
            f.ids.block_idx = {(unsigned)(b % grid.x), (unsigned)(b / grid.x % grid.y), (unsigned)(b / grid.x / grid.y)};
            f.ids.thread_idx = {(unsigned)(t % block.x), (unsigned)(t / block.x % block.y), (unsigned)(t / block.x / block.y)};
            f.state = NEW;
        }
        run_block();
    }
    running = NULL;
}
int ww_says(const char *function, int ran, const char *why) {
    unsigned long long &times = counts().said[std::make_pair(std::string(function), std::string(ran ? "" : why))];
    const char *verbose = getenv("WW_VERBOSE");
    if (times++ == 0 && verbose && *verbose && strcmp(verbose, "0") != 0) {
        if (ran) fprintf(stderr, "warpwright: %s: ran on the device\n", function);
        else fprintf(stderr, "warpwright: %s: the program's own loop runs, %s\n", function, why);
    }
    return ran;
}
void ww_trap(const char *file, int line) { die(97, "__trap()", file, line); }

/* ---- device memory */
namespace {
const size_t ZONE = 256;
const unsigned char ZONE_BYTE = 0xA5, POISON = 0xCB;
struct Allocation {
    size_t bytes;
    /* the host may look at it, too */
    bool managed;
};
std::map<char *, Allocation> &allocations() {
    static std::map<char *, Allocation> *m = new std::map<char *, Allocation>;
    return *m;
}
int mallocs;

void check_zones(char *p, size_t bytes) {
    for (size_t i = 0; i < ZONE; i++)
        if ((unsigned char)p[-1 - (long)i] != ZONE_BYTE || (unsigned char)p[bytes + i] != ZONE_BYTE)
            die(98, "a device buffer was written outside its bounds", "cudaMalloc", (int)bytes);
}
void at_end() {
    for (auto &a : allocations()) check_zones(a.first, a.second.bytes);
#ifdef WW_PROGRAM
    for (auto &a : allocations()) {
        counts().leaks++;
        counts().leaked_bytes += a.second.bytes;
    }
    counts().tell();
#else
    counts().tell();
    if (!allocations().empty()) die(99, "device memory was not freed", "cudaMalloc", (int)allocations().size());
#endif
}
/* the allocation that a place is in, if it is in one */
const std::pair<char *const, Allocation> *around(const void *q) {
    char *p = (char *)q;
    auto it = allocations().upper_bound(p);
    if (it == allocations().begin()) return NULL;
    --it;
    return p < it->first + (it->second.bytes ? it->second.bytes : 1) ? &*it : NULL;
}
bool inside(const void *q, size_t bytes) {
    auto *a = around(q);
    return a && (char *)q + bytes <= a->first + a->second.bytes;
}
cudaError_t say(cudaError_t e) {
    if (e != cudaSuccess) last_error = e;
    return e;
}
} // namespace

static cudaError_t allocate(void **p, size_t bytes, bool managed) {
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
    allocations()[raw + ZONE] = {bytes, managed};
    *p = raw + ZONE;
    return cudaSuccess;
}
/* `in`, `to_name`, `from_name`: of what the program calls it; may be null */
static cudaError_t copy(const char *in, const char *to_name, const char *from_name, void *to, const void *from, size_t bytes,
                        cudaMemcpyKind kind) {
    auto *target = around(to), *source = around(from);
    if (kind == cudaMemcpyDefault)
        kind = target ? source ? cudaMemcpyDeviceToDevice : cudaMemcpyHostToDevice
                      : source ? cudaMemcpyDeviceToHost : cudaMemcpyHostToHost;
    if (kind == cudaMemcpyHostToDevice) counts().copied(IN, in, from_name, bytes);
    if (kind == cudaMemcpyDeviceToHost) counts().copied(OUT, in, to_name, bytes);
    if (kind == cudaMemcpyDeviceToDevice) counts().copied(ON, in, to_name, bytes);
    if (bytes == 0) return cudaSuccess;
    bool to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
    bool from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
    if (!!target != to_device && !(target && target->second.managed)) return say(cudaErrorInvalidMemcpyDirection);
    if (!!source != from_device && !(source && source->second.managed)) return say(cudaErrorInvalidMemcpyDirection);
    if (target && !inside(to, bytes)) return say(cudaErrorInvalidValue);
    if (source && !inside(from, bytes)) return say(cudaErrorInvalidValue);
    memmove(to, from, bytes);
    return cudaSuccess;
}
cudaError_t ww_memcpy(const char *in, const char *to_name, const char *from_name, void *to, const void *from, size_t bytes,
                      cudaMemcpyKind kind) {
    return copy(in, to_name, from_name, to, from, bytes, kind);
}
/* symbols are variables of the program here; copies to and from them are between host and device */
cudaError_t ww_copy_symbol(const char *in, const char *symbol_name, const char *other_name, char *symbol, size_t symbol_bytes,
                           void *other, size_t bytes, size_t offset, bool to_symbol) {
    if (offset > symbol_bytes || bytes > symbol_bytes - offset) return say(cudaErrorInvalidValue);
    if (!around(other)) counts().copied(to_symbol ? IN : OUT, in, to_symbol ? other_name : symbol_name, bytes);
    memmove(to_symbol ? symbol + offset : other, to_symbol ? other : symbol + offset, bytes);
    return cudaSuccess;
}

extern "C" {
cudaError_t cudaMalloc(void **p, size_t bytes) { return allocate(p, bytes, false); }
cudaError_t cudaMallocAsync(void **p, size_t bytes, cudaStream_t) { return allocate(p, bytes, false); }
cudaError_t cudaMallocManaged(void **p, size_t bytes, unsigned) { return allocate(p, bytes, true); }
cudaError_t cudaMallocPitch(void **p, size_t *pitch, size_t width, size_t height) {
    *pitch = (width + 511) / 512 * 512;
    return allocate(p, *pitch * height, false);
}
cudaError_t cudaMallocHost(void **p, size_t bytes) {
    *p = malloc(bytes);
    return *p || !bytes ? cudaSuccess : say(cudaErrorMemoryAllocation);
}
cudaError_t cudaHostAlloc(void **p, size_t bytes, unsigned) { return cudaMallocHost(p, bytes); }
cudaError_t cudaFreeHost(void *p) {
    free(p);
    return cudaSuccess;
}
cudaError_t cudaFree(void *q) {
    if (!q) return cudaSuccess;
    auto it = allocations().find((char *)q);
    if (it == allocations().end()) return say(cudaErrorInvalidDevicePointer);
    check_zones(it->first, it->second.bytes);
    memset(it->first, 0xDD, it->second.bytes);
    free(it->first - ZONE);
    allocations().erase(it);
    return cudaSuccess;
}
cudaError_t cudaFreeAsync(void *p, cudaStream_t) { return cudaFree(p); }
cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, cudaMemcpyKind kind) {
    return copy(NULL, NULL, NULL, to, from, bytes, kind);
}
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, cudaMemcpyKind kind, cudaStream_t) {
    return copy(NULL, NULL, NULL, to, from, bytes, kind);
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
cudaError_t cudaMemsetAsync(void *p, int value, size_t bytes, cudaStream_t) { return cudaMemset(p, value, bytes); }
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
const char *cudaGetErrorName(cudaError_t e) {
    switch (e) {
    case cudaSuccess: return "cudaSuccess";
    case cudaErrorInvalidValue: return "cudaErrorInvalidValue";
    case cudaErrorMemoryAllocation: return "cudaErrorMemoryAllocation";
    case cudaErrorInvalidConfiguration: return "cudaErrorInvalidConfiguration";
    case cudaErrorInvalidDevicePointer: return "cudaErrorInvalidDevicePointer";
    case cudaErrorInvalidMemcpyDirection: return "cudaErrorInvalidMemcpyDirection";
    case cudaErrorNoDevice: return "cudaErrorNoDevice";
    case cudaErrorInvalidDevice: return "cudaErrorInvalidDevice";
    default: return "cudaErrorUnknown";
    }
}
const char *cudaGetErrorString(cudaError_t e) {
    switch (e) {
    case cudaSuccess: return "no error";
    case cudaErrorInvalidValue: return "invalid argument";
    case cudaErrorMemoryAllocation: return "out of memory";
    case cudaErrorInvalidConfiguration: return "invalid configuration argument";
    case cudaErrorInvalidDevicePointer: return "invalid device pointer";
    case cudaErrorInvalidMemcpyDirection: return "invalid copy direction for memcpy";
    case cudaErrorNoDevice: return "no CUDA-capable device is detected";
    case cudaErrorInvalidDevice: return "invalid device ordinal";
    case cudaErrorNotReady: return "device not ready";
    case cudaErrorNotSupported: return "operation not supported";
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
    case cudaDevAttrMaxSharedMemoryPerBlock: *value = 48 * 1024; break;
    case cudaDevAttrComputeCapabilityMajor: *value = 7; break;
    case cudaDevAttrComputeCapabilityMinor: *value = 0; break;
    case cudaDevAttrMultiProcessorCount: *value = 1; break;
    default: return say(cudaErrorInvalidValue);
    }
    return cudaSuccess;
}
cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *p, int) {
    memset(p, 0, sizeof *p);
    strcpy(p->name, "CPU (warpwright)");
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
    p->regsPerBlock = 65536;
    p->totalConstMem = 64 * 1024;
    p->maxThreadsPerMultiProcessor = 2048;
    p->managedMemory = 1;
    p->clockRate = p->memoryClockRate = 1000000;
    p->memoryBusWidth = 64;
    return cudaSuccess;
}
cudaError_t cudaStreamCreate(cudaStream_t *s) {
    *s = NULL;
    return cudaSuccess;
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t *s, unsigned) { return cudaStreamCreate(s); }
cudaError_t cudaStreamDestroy(cudaStream_t) { return cudaSuccess; }
cudaError_t cudaStreamSynchronize(cudaStream_t) { return cudaSuccess; }
cudaError_t cudaStreamQuery(cudaStream_t) { return cudaSuccess; }
cudaError_t cudaStreamWaitEvent(cudaStream_t, cudaEvent_t, unsigned) { return cudaSuccess; }
cudaError_t cudaDriverGetVersion(int *version) {
    *version = 12000;
    return cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int *version) { return cudaDriverGetVersion(version); }
/* an event is the time at which it was recorded */
struct ww_event {
    struct timespec at;
};
cudaError_t cudaEventCreate(cudaEvent_t *e) {
    *e = new ww_event();
    return cudaSuccess;
}
cudaError_t cudaEventCreateWithFlags(cudaEvent_t *e, unsigned) { return cudaEventCreate(e); }
cudaError_t cudaEventDestroy(cudaEvent_t e) {
    delete e;
    return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t e, cudaStream_t) {
    clock_gettime(CLOCK_MONOTONIC, &e->at);
    return cudaSuccess;
}
cudaError_t cudaEventSynchronize(cudaEvent_t) { return cudaSuccess; }
cudaError_t cudaEventQuery(cudaEvent_t) { return cudaSuccess; }
cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t from, cudaEvent_t to) {
    *milliseconds = (float)((double)(to->at.tv_sec - from->at.tv_sec) * 1e3 + (double)(to->at.tv_nsec - from->at.tv_nsec) / 1e6);
    return cudaSuccess;
}
}
