/* A stand-in for HIP's header of kernels; ww_cuda_shim.h has what kernels use. */
#ifndef WW_HIP_RUNTIME_H
#define WW_HIP_RUNTIME_H
#include "hip_runtime_api.h"
#endif
