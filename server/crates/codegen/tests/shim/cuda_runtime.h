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
    dim3(unsigned int x, unsigned int y, unsigned int z) : x(x), y(y), z(z) {}
};
struct shim_index {
    unsigned int x, y, z;
};
extern shim_index threadIdx, blockIdx, blockDim, gridDim;
void __syncthreads();
void shim_launch(dim3 grid, dim3 block, const std::function<void()> &kernel);
#define __global__
#define __shared__ static
#endif
#endif
