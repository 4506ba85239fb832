//! Kernels that use what CUDA's headers bring: textures, short floating types, random numbers, CUB's collectives.

use super::open_cuda;
use crate::{kernel_reports, Ask};

const HEADERS: &str = "#include <cuda_fp16.h>\n#include <curand_kernel.h>\n#include <cub/cub.cuh>\n";

/// The verdict of the only kernel, and why it is not better.
fn verdict(code: &str) -> (String, String) {
    let doc = open_cuda(&format!("{HEADERS}{code}\n"));
    let reports = kernel_reports(&Ask::thorough(&doc), &[]);
    assert_eq!(reports.len(), 1, "{code}");
    (reports[0].races.verdict.to_string(), reports[0].races.reason.clone().unwrap_or_default())
}

fn free(code: &str) {
    let (verdict, why) = verdict(code);
    assert_eq!(verdict, "race-free", "{why}: {code}");
}

fn not_free(code: &str) {
    assert_ne!(verdict(code).0, "race-free", "{code}");
}

const I: &str = "int i = blockIdx.x * blockDim.x + threadIdx.x;";

#[test]
fn reading_textures_races_with_nothing() {
    free(&format!("texture<float, 1, cudaReadModeElementType> t;\n__global__ void f(float *out, int n) {{ {I} if (i < n) out[i] = tex1Dfetch(t, i); }}"));
    free(&format!("texture<float4, 2> t;\n__global__ void f(float *out, int n) {{ {I} float4 v = tex2D(t, i, 0.5f); if (i < n) out[i] = v.x + tex2D(t, 0, 1).y; }}"));
    free(&format!("__global__ void f(cudaTextureObject_t t, float *out, int n) {{ {I} if (i < n) out[i] = tex2D<float>(t, i + 0.5f, 1); }}"));
    // what is written by what a texture says may be written twice
    not_free(&format!("texture<int, 1> t;\n__global__ void f(float *out, int n) {{ {I} if (i < n) out[tex1Dfetch(t, i)] = i; }}"));
    // a template of the program's own
    not_free(&format!("float *g;\ntemplate <class T> T tex2D(cudaTextureObject_t t, float x, float y) {{ return g[0] += x; }}\n__global__ void f(cudaTextureObject_t t, float *out, int n) {{ {I} if (i < n) out[i] = tex2D<float>(t, i + 0.5f, 1); }}"));
}

#[test]
fn short_floating_types_are_numbers() {
    free(&format!("__global__ void f(const half *a, const half *b, half *c, int n) {{ {I} if (i < n) c[i] = a[i] + b[i] * __float2half(2.0f); }}"));
    free(&format!("__global__ void f(const half2 *a, half2 *c, int n) {{ {I} if (i < n) {{ half2 v = a[i]; c[i] = __hfma2(v, v, v); }} }}"));
    free(&format!(
        "__global__ void f(half *out, const float *in, int n) {{ {I} if (i < n) out[i] = in[i]; }}"
    ));
    not_free("__global__ void f(half *out, const float *in) { out[threadIdx.x / 2] = __float2half(in[threadIdx.x]); }");
    // the name of a variable all the same
    free("// warpwright: launch(1, 256)\n__global__ void f(float *a) { __shared__ float s[256]; s[threadIdx.x] = a[threadIdx.x]; __syncthreads(); for (int half = blockDim.x / 2; half > 0; half /= 2) { if (threadIdx.x < half) s[threadIdx.x] += s[threadIdx.x + half]; __syncthreads(); } if (threadIdx.x == 0) a[blockIdx.x] = s[0]; }");
}

#[test]
fn generators_change_their_own_state() {
    free(&format!("__global__ void f(curandState *s, unsigned long seed, int n) {{ {I} if (i < n) curand_init(seed, i, 0, &s[i]); }}"));
    free(&format!("__global__ void f(curandState *s, float *out, int n) {{ {I} if (i < n) {{ curandState own = s[i]; float x = 0; for (int k = 0; k < 10; k++) x += curand_uniform(&own); out[i] = x; s[i] = own; }} }}"));
    free(&format!("__global__ void f(float *out, int n) {{ {I} curandStatePhilox4_32_10_t s; curand_init(1ULL, i, 0, &s); if (i < n) {{ float4 r = curand_normal4(&s); out[i] = r.x; }} }}"));
    // all threads use one, or neighbours do
    not_free(&format!("__global__ void f(curandState *s, float *out, int n) {{ {I} if (i < n) out[i] = curand_uniform(s); }}"));
    not_free(&format!("__global__ void f(curandState *s, float *out, int n) {{ {I} if (i < n) out[i] = curand_uniform(&s[i / 2]); }}"));
    not_free(&format!("__global__ void f(curandState *s, float *out, int n) {{ {I} if (i < n) {{ curand_init(1, i, 0, &s[i]); out[i] = curand_uniform(&s[n - 1 - i]); }} }}"));
}

#[test]
fn collectives_of_cub_touch_no_memory_of_the_kernel() {
    let body = |use_: &str| {
        format!("__global__ void f(const float *in, float *out, int n) {{ typedef cub::BlockReduce<float, 256> Reduce; __shared__ typename Reduce::TempStorage temp; {I} float v = i < n ? in[i] : 0; {use_} }}")
    };
    free(&body("float sum = Reduce(temp).Sum(v); if (threadIdx.x == 0) out[blockIdx.x] = sum;"));
    free(&body(
        "float sum = Reduce(temp).Reduce(v, cub::Max(), n); if (threadIdx.x == 0) out[blockIdx.x] = sum;",
    ));
    free("__global__ void f(int *a) { using Scan = cub::BlockScan<int, 128>; __shared__ Scan::TempStorage temp; int i = blockIdx.x * blockDim.x + threadIdx.x; int v = a[i]; Scan(temp).ExclusiveSum(v, v); a[i] = v; }");
    // its memory is used again before a barrier, not all threads come, all write the sum
    not_free(&body("float sum = Reduce(temp).Sum(v); sum += Reduce(temp).Sum(v * v); if (threadIdx.x == 0) out[blockIdx.x] = sum;"));
    not_free(&body("float sum = 0; for (int k = 0; k < n; k++) sum += Reduce(temp).Sum(v); if (threadIdx.x == 0) out[blockIdx.x] = sum;"));
    not_free(&body(
        "float sum = 0; if (i < n) sum = Reduce(temp).Sum(v); if (threadIdx.x == 0) out[blockIdx.x] = sum;",
    ));
    not_free(&body(
        "if (i >= n) return; float sum = Reduce(temp).Sum(v); if (threadIdx.x == 0) out[blockIdx.x] = sum;",
    ));
    not_free(&body("float sum = Reduce(temp).Sum(v); out[blockIdx.x] = sum;"));
    // the warps of a block share what each of them needs alone
    not_free("__global__ void f(const float *in, float *out) { typedef cub::WarpReduce<float> Reduce; __shared__ typename Reduce::TempStorage temp; int i = blockIdx.x * blockDim.x + threadIdx.x; float sum = Reduce(temp).Sum(in[i]); if (threadIdx.x % 32 == 0) out[i] = sum; }");
    // where it stands among others' memory it orders nothing
    not_free(&body("out[threadIdx.x] = v; float sum = Reduce(temp).Sum(v); if (blockIdx.x == 0) out[threadIdx.x + 512] = sum + out[threadIdx.x + 1];"));
}

#[test]
fn structures_that_give_dynamic_shared_memory_are_that() {
    let class = "template <class T> struct SharedMemory { __device__ inline operator T *() { extern __shared__ int all[]; return (T *)all; } };\n";
    let kernel = |n: &str| {
        format!("template <class T> __global__ void f(T *in, T *out) {{ T *s = SharedMemory<T>(); unsigned t = threadIdx.x; s[t] = in[blockIdx.x * blockDim.x + t]; {n} if (t == 0) out[blockIdx.x] = s[1]; }}\nvoid host(float *a, float *b) {{ f<float><<<8, 128, 128 * sizeof(float)>>>(a, b); }}")
    };
    free(&format!("{class}{}", kernel("__syncthreads();")));
    not_free(&format!("{class}{}", kernel("")));
    not_free(&format!(
        "template <class T> struct SharedMemory {{ __device__ operator T *() {{ return (T *)0; }} }};\n{}",
        kernel("__syncthreads();")
    ));
}
