/* A stand-in for HIP's run-time header: the stand-in for CUDA's under HIP's names. */
#ifndef WW_HIP_RUNTIME_API_H
#define WW_HIP_RUNTIME_API_H
#include "cuda_runtime.h"
#define hipError_t cudaError_t
#define hipStream_t cudaStream_t
#define hipSuccess cudaSuccess
#define hipErrorInvalidConfiguration cudaErrorInvalidConfiguration
#define hipMalloc cudaMalloc
#define hipFree cudaFree
#define hipMemcpy cudaMemcpy
#define hipMemcpyHostToDevice cudaMemcpyHostToDevice
#define hipMemcpyDeviceToHost cudaMemcpyDeviceToHost
#define hipMemset cudaMemset
#define hipDeviceSynchronize cudaDeviceSynchronize
#define hipGetLastError cudaGetLastError
#endif
