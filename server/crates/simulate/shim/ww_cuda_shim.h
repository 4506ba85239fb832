/* CUDA's kernel language as plain C++: one fiber a thread, blocks one after the other.
   Compile the kernel file with `g++ -x c++ -include ww_cuda_shim.h` after its launches were rewritten to ww_launch
   (the Rust side does that), and link ww_cuda_shim.cpp. Used by tests only. */
#ifndef WW_CUDA_SHIM_H
#define WW_CUDA_SHIM_H
#include "cuda_runtime.h"
#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <functional>

#define __global__
#define __device__
#define __host__
#define __constant__ static
#define __forceinline__ inline
#define __noinline__
#define __launch_bounds__(...)
/* all shared memory lies in one section, so that it can be poisoned before each block */
#define __shared__ static __attribute__((section("ww_shared")))

struct ww_thread {
    uint3 thread_idx, block_idx;
    dim3 block_dim, grid_dim;
};
extern ww_thread *ww_now;
#define threadIdx (ww_now->thread_idx)
#define blockIdx (ww_now->block_idx)
#define blockDim (ww_now->block_dim)
#define gridDim (ww_now->grid_dim)
static const int warpSize = 32;

void ww_launch(dim3 grid, dim3 block, size_t shared_bytes, cudaStream_t stream, std::function<void()> kernel);
extern char *ww_dynamic_shared;

enum ww_wait { WW_BARRIER, WW_COUNT, WW_AND, WW_OR, WW_SYNC, WW_SHFL, WW_UP, WW_DOWN, WW_XOR, WW_BALLOT, WW_ANY, WW_ALL };
unsigned long long ww_block_wait(ww_wait kind, int predicate, const char *file, int line);
unsigned long long ww_warp_wait(ww_wait kind, unsigned mask, unsigned long long value, int lane, int width,
                                const char *file, int line);

#define __syncthreads() ((void)ww_block_wait(WW_BARRIER, 0, __FILE__, __LINE__))
#define __syncthreads_count(p) ((int)ww_block_wait(WW_COUNT, (p) != 0, __FILE__, __LINE__))
#define __syncthreads_and(p) ((int)ww_block_wait(WW_AND, (p) != 0, __FILE__, __LINE__))
#define __syncthreads_or(p) ((int)ww_block_wait(WW_OR, (p) != 0, __FILE__, __LINE__))

template <class T> static inline T ww_shfl(ww_wait k, unsigned mask, T v, int lane, int width, int line) {
    static_assert(sizeof(T) <= 8, "a shuffle of more than 8 bytes");
    unsigned long long bits = 0;
    __builtin_memcpy(&bits, &v, sizeof v);
    bits = ww_warp_wait(k, mask, bits, lane, width, "shuffle", line);
    __builtin_memcpy(&v, &bits, sizeof v);
    return v;
}
#define WW_SHFL_FN(name, kind) \
    template <class T> static inline T name(unsigned mask, T v, int lane, int width = 32) { \
        return ww_shfl(kind, mask, v, lane, width, kind); \
    }
WW_SHFL_FN(__shfl_sync, WW_SHFL)
WW_SHFL_FN(__shfl_up_sync, WW_UP)
WW_SHFL_FN(__shfl_down_sync, WW_DOWN)
WW_SHFL_FN(__shfl_xor_sync, WW_XOR)
static inline void __syncwarp(unsigned mask = 0xffffffffu) { ww_warp_wait(WW_SYNC, mask, 0, 0, 32, "syncwarp", 0); }
static inline unsigned __ballot_sync(unsigned m, int p) { return (unsigned)ww_warp_wait(WW_BALLOT, m, p != 0, 0, 32, "vote", 0); }
static inline int __any_sync(unsigned m, int p) { return (int)ww_warp_wait(WW_ANY, m, p != 0, 0, 32, "vote", 1); }
static inline int __all_sync(unsigned m, int p) { return (int)ww_warp_wait(WW_ALL, m, p != 0, 0, 32, "vote", 2); }

static inline void __threadfence() {}
static inline void __threadfence_block() {}
static inline void __threadfence_system() {}

/* fibers change only at barriers: plain updates are atomic */
#define WW_ATOMIC(name, T, expr) \
    static inline T name(T *p, T v) { T old = *p; *p = (expr); return old; }
#define WW_ATOMIC_INTS(name, expr) \
    WW_ATOMIC(name, int, expr) WW_ATOMIC(name, unsigned, expr) WW_ATOMIC(name, unsigned long long, expr)
WW_ATOMIC_INTS(atomicExch, v)
WW_ATOMIC(atomicExch, float, v)
WW_ATOMIC(atomicAdd, int, (int)((unsigned)old + (unsigned)v))
WW_ATOMIC(atomicAdd, unsigned, old + v)
WW_ATOMIC(atomicAdd, unsigned long long, old + v)
WW_ATOMIC(atomicAdd, float, old + v)
WW_ATOMIC(atomicAdd, double, old + v)
WW_ATOMIC(atomicSub, int, (int)((unsigned)old - (unsigned)v))
WW_ATOMIC(atomicSub, unsigned, old - v)
WW_ATOMIC_INTS(atomicMin, old < v ? old : v)
WW_ATOMIC_INTS(atomicMax, old > v ? old : v)
WW_ATOMIC(atomicMin, long long, old < v ? old : v)
WW_ATOMIC(atomicMax, long long, old > v ? old : v)
WW_ATOMIC(atomicInc, unsigned, old >= v ? 0 : old + 1)
WW_ATOMIC(atomicDec, unsigned, old == 0 || old > v ? v : old - 1)
WW_ATOMIC_INTS(atomicAnd, old & v)
WW_ATOMIC_INTS(atomicOr, old | v)
WW_ATOMIC_INTS(atomicXor, old ^ v)
#define WW_CAS(T) \
    static inline T atomicCAS(T *p, T expected, T v) { T old = *p; if (old == expected) *p = v; return old; }
WW_CAS(int) WW_CAS(unsigned) WW_CAS(unsigned long long) WW_CAS(unsigned short)

/* CUDA's overloads and single operations; compile with -ffp-contract=off */
#define WW_MINMAX(T) \
    static inline T min(T a, T b) { return a < b ? a : b; } \
    static inline T max(T a, T b) { return a > b ? a : b; }
WW_MINMAX(int) WW_MINMAX(unsigned) WW_MINMAX(long) WW_MINMAX(unsigned long)
WW_MINMAX(long long) WW_MINMAX(unsigned long long)
static inline float min(float a, float b) { return fminf(a, b); }
static inline float max(float a, float b) { return fmaxf(a, b); }
static inline double min(double a, double b) { return fmin(a, b); }
static inline double max(double a, double b) { return fmax(a, b); }
static inline float __fadd_rn(float a, float b) { return a + b; }
static inline float __fsub_rn(float a, float b) { return a - b; }
static inline float __fmul_rn(float a, float b) { return a * b; }
static inline float __fdiv_rn(float a, float b) { return a / b; }
static inline double __dadd_rn(double a, double b) { return a + b; }
static inline double __dsub_rn(double a, double b) { return a - b; }
static inline double __dmul_rn(double a, double b) { return a * b; }
static inline double __ddiv_rn(double a, double b) { return a / b; }
static inline float __fmaf_rn(float a, float b, float c) { return fmaf(a, b, c); }
static inline double __fma_rn(double a, double b, double c) { return fma(a, b, c); }
static inline float __fsqrt_rn(float a) { return sqrtf(a); }
static inline double __dsqrt_rn(double a) { return sqrt(a); }
static inline int __float_as_int(float f) { int i; __builtin_memcpy(&i, &f, 4); return i; }
static inline float __int_as_float(int i) { float f; __builtin_memcpy(&f, &i, 4); return f; }
static inline unsigned __float_as_uint(float f) { unsigned i; __builtin_memcpy(&i, &f, 4); return i; }
static inline float __uint_as_float(unsigned i) { float f; __builtin_memcpy(&f, &i, 4); return f; }
static inline long long __double_as_longlong(double d) { long long i; __builtin_memcpy(&i, &d, 8); return i; }
static inline double __longlong_as_double(long long i) { double d; __builtin_memcpy(&d, &i, 8); return d; }
template <class T> static inline T __ldg(const T *p) { return *p; }
#endif
