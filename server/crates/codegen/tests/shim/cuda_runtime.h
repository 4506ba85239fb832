/* A stand-in for the CUDA runtime: device memory is host memory with red zones, threads are fibers.
   Every call can be made to fail, and a failing copy copies half. Only what our text uses is here. */
#ifndef SHIM_CUDA_RUNTIME_H
#define SHIM_CUDA_RUNTIME_H
#include <stddef.h>
#ifdef __cplusplus
extern "C" {
#endif
typedef enum cudaError {
    cudaSuccess = 0,
    cudaErrorInvalidValue = 1,
    cudaErrorMemoryAllocation = 2,
    cudaErrorInvalidConfiguration = 9,
    cudaErrorLaunchFailure = 719
} cudaError_t;
enum cudaMemcpyKind { cudaMemcpyHostToDevice = 1, cudaMemcpyDeviceToHost = 2 };
cudaError_t cudaMalloc(void **pointer, size_t bytes);
cudaError_t cudaFree(void *pointer);
cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind);
cudaError_t cudaDeviceSynchronize(void);
cudaError_t cudaGetLastError(void);

extern long shim_calls;    /* calls that could fail, so far */
extern long shim_fail_at;  /* the call that fails; 0: none */
extern long shim_launches; /* kernels that ran */
extern long shim_live;     /* allocations not freed */
extern size_t shim_copied_in;
#ifdef __cplusplus
}
#include <math.h>
#include <stdlib.h>
#include <functional>
struct dim3 {
    unsigned int x, y, z;
    dim3(unsigned int x = 1, unsigned int y = 1, unsigned int z = 1) : x(x), y(y), z(z) {}
};
struct shim_index {
    unsigned int x, y, z;
};
extern shim_index threadIdx, blockIdx, blockDim, gridDim;
void __syncthreads();
static inline long long min(long long a, long long b) { return a < b ? a : b; }
static inline long long max(long long a, long long b) { return a > b ? a : b; }
/* Threads take turns only at barriers, so that every operation is atomic. The types are those CUDA has. */
#define WW_ATOMIC(name, type, expression) \
    inline type name(type *cell, type value) \
    { \
        const type old = *cell; \
        *cell = (expression); \
        return old; \
    }
WW_ATOMIC(atomicAdd, unsigned int, old + value)
WW_ATOMIC(atomicAdd, unsigned long long, old + value)
WW_ATOMIC(atomicAdd, float, old + value)
WW_ATOMIC(atomicAdd, double, old + value)
inline int atomicAdd(int *cell, int value)
{
    const int old = *cell;
    *cell = (int)((unsigned int)old + (unsigned int)value);
    return old;
}
#define WW_ATOMICS(type) \
    WW_ATOMIC(atomicMin, type, value < old ? value : old) \
    WW_ATOMIC(atomicMax, type, value > old ? value : old)
#define WW_ATOMIC_BITS(type) \
    WW_ATOMIC(atomicAnd, type, old & value) \
    WW_ATOMIC(atomicOr, type, old | value) \
    WW_ATOMIC(atomicXor, type, old ^ value)
WW_ATOMICS(int)
WW_ATOMICS(unsigned int)
WW_ATOMICS(long long)
WW_ATOMICS(unsigned long long)
WW_ATOMIC_BITS(int)
WW_ATOMIC_BITS(unsigned int)
WW_ATOMIC_BITS(unsigned long long)
void shim_launch(dim3 grid, dim3 block, const std::function<void()> &kernel);
#define __global__
#define __device__
#define __shared__ static
#endif
#endif
