/* CUDA's kernel language as plain C++: a thread is a function call, on a stack of its own from the first barrier on; blocks
   run one after the other. Compile a kernel file with `g++ -x c++ -include ww_cuda_shim.h` after its launches were
   rewritten to ww_launch (`warpwright run --write-runtime DIR FILES` does that), and link ww_cuda_shim.cpp.

   Deliberately absent: what depends on several threads running at one time (grids that wait for one another,
   cooperative groups, asynchronous copies), textures, half precision, and CUDA's libraries. */
#ifndef WW_CUDA_SHIM_H
#define WW_CUDA_SHIM_H
#define __CUDACC__ 1
#include "cuda_runtime.h"
#include <assert.h>
#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define __global__
#define __device__
#define __host__
#define __managed__
#define __grid_constant__
#define __constant__ static
#define __forceinline__ inline
#define __noinline__
#define __launch_bounds__(...)
#define __align__(n) __attribute__((aligned(n)))
/* all shared memory lies in one section, so that it can be poisoned before each block; compilers do not have variables of templates and
   of other functions in one */
#ifdef WW_PLAIN_SHARED
#define __shared__ static
#else
#define __shared__ static __attribute__((section("ww_shared")))
#endif

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

/* `thread` is called with `kernel` once for each thread */
void ww_run_grid(const char *name, dim3 grid, dim3 block, size_t shared_bytes, void (*thread)(void *), void *kernel);
template <class K>
static inline void ww_launch(const char *name, dim3 grid, dim3 block, size_t shared_bytes, cudaStream_t, K kernel) {
    ww_run_grid(name, grid, block, shared_bytes, [](void *k) { (*(K *)k)(); }, &kernel);
}
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

/* threads change only at barriers: plain updates are atomic */
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
static inline unsigned min(int a, unsigned b) { return min((unsigned)a, b); }
static inline unsigned min(unsigned a, int b) { return min(a, (unsigned)b); }
static inline unsigned max(int a, unsigned b) { return max((unsigned)a, b); }
static inline unsigned max(unsigned a, int b) { return max(a, (unsigned)b); }
static inline float min(float a, float b) { return fminf(a, b); }
static inline float max(float a, float b) { return fmaxf(a, b); }
static inline double min(double a, double b) { return fmin(a, b); }
static inline double max(double a, double b) { return fmax(a, b); }
static inline double min(float a, double b) { return fmin(a, b); }
static inline double max(float a, double b) { return fmax(a, b); }
static inline double min(double a, float b) { return fmin(a, b); }
static inline double max(double a, float b) { return fmax(a, b); }
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
static inline float __frcp_rn(float a) { return 1.0f / a; }
static inline float rsqrtf(float a) { return 1.0f / sqrtf(a); }
static inline double rsqrt(double a) { return 1.0 / sqrt(a); }
static inline int __float_as_int(float f) { int i; __builtin_memcpy(&i, &f, 4); return i; }
static inline float __int_as_float(int i) { float f; __builtin_memcpy(&f, &i, 4); return f; }
static inline unsigned __float_as_uint(float f) { unsigned i; __builtin_memcpy(&i, &f, 4); return i; }
static inline float __uint_as_float(unsigned i) { float f; __builtin_memcpy(&f, &i, 4); return f; }
static inline long long __double_as_longlong(double d) { long long i; __builtin_memcpy(&i, &d, 8); return i; }
static inline double __longlong_as_double(long long i) { double d; __builtin_memcpy(&d, &i, 8); return d; }
template <class T> static inline T __ldg(const T *p) { return *p; }
/* those that a device computes with less accuracy are computed here as well as the library can */
#define __expf expf
#define __logf logf
#define __log2f log2f
#define __log10f log10f
#define __powf powf
#define __sinf sinf
#define __cosf cosf
#define __tanf tanf
static inline float __fdividef(float a, float b) { return a / b; }
static inline float __saturatef(float a) { return a > 0 ? a < 1 ? a : 1 : 0; }
static inline int __popc(unsigned a) { return __builtin_popcount(a); }
static inline int __popcll(unsigned long long a) { return __builtin_popcountll(a); }
static inline int __clz(int a) { return a ? __builtin_clz((unsigned)a) : 32; }
static inline int __clzll(long long a) { return a ? __builtin_clzll((unsigned long long)a) : 64; }
static inline int __ffs(int a) { return __builtin_ffs(a); }
static inline int __ffsll(long long a) { return __builtin_ffsll(a); }
static inline int __mul24(int a, int b) { return (int)((unsigned)(a << 8 >> 8) * (unsigned)(b << 8 >> 8)); }
static inline unsigned __umul24(unsigned a, unsigned b) { return (a & 0xffffff) * (b & 0xffffff); }
static inline unsigned __umulhi(unsigned a, unsigned b) { return (unsigned)((unsigned long long)a * b >> 32); }
static inline int __mulhi(int a, int b) { return (int)((long long)a * b >> 32); }
[[noreturn]] void ww_trap(const char *file, int line);
#define __trap() ww_trap(__FILE__, __LINE__)

/* what a function of an offloaded loop gives back: 0 where the loop itself is to run, and then why. Counted, and with WW_VERBOSE=1 said */
int ww_says(const char *function, int ran, const char *why);

/* copies are counted by the names that the program has for their ends */
cudaError_t ww_memcpy(const char *in, const char *to_name, const char *from_name, void *to, const void *from, size_t bytes,
                      cudaMemcpyKind kind);
#define cudaMemcpy(to, from, ...) ww_memcpy(__func__, #to, #from, to, from, __VA_ARGS__)
static inline cudaError_t ww_memcpy_async(const char *in, const char *to_name, const char *from_name, void *to, const void *from,
                                          size_t bytes, cudaMemcpyKind kind, cudaStream_t = 0) {
    return ww_memcpy(in, to_name, from_name, to, from, bytes, kind);
}
#define cudaMemcpyAsync(to, from, ...) ww_memcpy_async(__func__, #to, #from, to, from, __VA_ARGS__)
cudaError_t ww_copy_symbol(const char *in, const char *symbol_name, const char *other_name, char *symbol, size_t symbol_bytes,
                           void *other, size_t bytes, size_t offset, bool to_symbol);
template <class T>
static inline cudaError_t ww_to_symbol(const char *in, const char *to_name, const char *from_name, T &symbol, const void *from,
                                       size_t bytes, size_t offset = 0, cudaMemcpyKind = cudaMemcpyHostToDevice, cudaStream_t = 0) {
    return ww_copy_symbol(in, to_name, from_name, (char *)&symbol, sizeof symbol, (void *)from, bytes, offset, true);
}
template <class T>
static inline cudaError_t ww_from_symbol(const char *in, const char *to_name, const char *from_name, void *to, const T &symbol,
                                         size_t bytes, size_t offset = 0, cudaMemcpyKind = cudaMemcpyDeviceToHost, cudaStream_t = 0) {
    return ww_copy_symbol(in, from_name, to_name, (char *)&symbol, sizeof symbol, to, bytes, offset, false);
}
#define cudaMemcpyToSymbol(symbol, from, ...) ww_to_symbol(__func__, #symbol, #from, symbol, from, __VA_ARGS__)
#define cudaMemcpyToSymbolAsync(symbol, from, ...) ww_to_symbol(__func__, #symbol, #from, symbol, from, __VA_ARGS__)
#define cudaMemcpyFromSymbol(to, symbol, ...) ww_from_symbol(__func__, #to, #symbol, to, symbol, __VA_ARGS__)
#define cudaMemcpyFromSymbolAsync(to, symbol, ...) ww_from_symbol(__func__, #to, #symbol, to, symbol, __VA_ARGS__)
template <class K> static inline cudaError_t cudaFuncSetCacheConfig(K, cudaFuncCache) { return cudaSuccess; }
#endif
