//! The CUDA run time as C, for the simulator: device memory is further memory, copies are copies, launches are
//! synchronous.
//!
//! Put before generated text when it is read for a simulation, never into what users see. Values are those of CUDA's
//! `driver_types.h`.

/// Before host text.
pub(super) const HOST: &str = "
enum {
    cudaSuccess = 0, cudaErrorInvalidValue = 1, cudaErrorMemoryAllocation = 2, cudaErrorInvalidConfiguration = 9,
    cudaMemcpyHostToHost = 0, cudaMemcpyHostToDevice = 1, cudaMemcpyDeviceToHost = 2, cudaMemcpyDeviceToDevice = 3
};
void *malloc(unsigned long bytes);
void free(void *p);
void *memcpy(void *to, const void *from, unsigned long bytes);
void *memset(void *to, int value, unsigned long bytes);
int cudaMalloc(void **p, unsigned long bytes) { *p = malloc(bytes); return *p == 0 ? 2 : 0; }
int cudaFree(void *p) { free(p); return 0; }
int cudaMemcpy(void *to, const void *from, unsigned long bytes, int kind) { memcpy(to, from, bytes); return 0; }
int cudaMemset(void *to, int value, unsigned long bytes) { memset(to, value, bytes); return 0; }
int cudaDeviceSynchronize(void) { return 0; }
int cudaGetLastError(void) { return 0; }
void abort(void) { *(volatile int *)0 = 0; }
";

/// Before kernel text.
pub(super) const DEVICE: &str = "
enum {
    cudaSuccess = 0, cudaErrorInvalidValue = 1, cudaErrorMemoryAllocation = 2, cudaErrorInvalidConfiguration = 9
};
extern \"C\" int cudaGetLastError(void);
";
