/* The stand-in for the CUDA runtime under HIP's names. */
#ifndef SHIM_HIP_RUNTIME_H
#define SHIM_HIP_RUNTIME_H
#include "cuda_runtime.h"
#define hipSuccess cudaSuccess
#define hipErrorInvalidConfiguration cudaErrorInvalidConfiguration
#define hipMalloc cudaMalloc
#define hipFree cudaFree
#define hipMemcpy cudaMemcpy
#define hipMemcpyHostToDevice cudaMemcpyHostToDevice
#define hipMemcpyDeviceToHost cudaMemcpyDeviceToHost
#define hipDeviceSynchronize cudaDeviceSynchronize
#define hipGetLastError cudaGetLastError
#endif
