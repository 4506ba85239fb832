//! The shim with a hand-written program: the CUDA text by g++, its C host by gcc, run together.
use std::path::Path;
use std::process::{Command, Output};

use simulate::shim;

const KERNEL: &str = r#"
extern "C" __global__ void block_sum(const double *in, double *out, long long n, int flaw) {
    __shared__ double s[64];
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    s[threadIdx.x] = i < n ? in[i] : 0.0;
    __syncthreads();
    for (unsigned k = blockDim.x / 2; k > 0; k >>= 1) {
        if (threadIdx.x < k) {
            s[threadIdx.x] += s[threadIdx.x + k];
            if (flaw == 1) __syncthreads();
        }
        if (flaw != 1) __syncthreads();
    }
    if (threadIdx.x == 0) out[blockIdx.x + (flaw == 2 ? gridDim.x : 0)] = s[0];
    extern __shared__ unsigned total[];
    if (threadIdx.x == 0) total[0] = 0;
    __syncthreads();
    atomicAdd(&total[0], 1u);
    if (__syncthreads_count(threadIdx.x < 3) != 3) out[0] = -1.0;
    int v = threadIdx.x % 32;
    for (int d = 16; d > 0; d /= 2) v += __shfl_down_sync(0xffffffffu, v, d);
    if (threadIdx.x % 32 == 0 && v != 496) out[0] = -2.0;
    if (total[0] != blockDim.x) out[0] = -3.0;
}
extern "C" int launch_block_sum(const double *in, double *out, long long n, int blocks, int flaw) {
    block_sum<<<dim3(blocks), 64, sizeof(unsigned)>>>(in, out, n, flaw);
    return (int)cudaGetLastError();
}
"#;

const HOST: &str = r#"
#include <stdio.h>
#include <stdlib.h>
#include <cuda_runtime.h>
int launch_block_sum(const double *in, double *out, long long n, int blocks, int flaw);
int main(int argc, char **argv) {
    int flaw = argc > 1 ? atoi(argv[1]) : 0;
    double in[1000], out[16];
    void *din = NULL, *dout = NULL;
    for (int i = 0; i < 1000; i++) in[i] = i;
    if (cudaMalloc(&din, sizeof in) != cudaSuccess || cudaMalloc(&dout, sizeof out) != cudaSuccess) {
        printf("fallback\n");
        cudaFree(din);
        return 0;
    }
    if (cudaMemcpy(din, in, sizeof in, cudaMemcpyHostToDevice) != cudaSuccess) return 2;
    if (cudaMemcpy(din, in, sizeof in, cudaMemcpyDeviceToHost) == cudaSuccess) return 3;
    cudaGetLastError();
    if (launch_block_sum(din, dout, 1000, 70000 * 0 + 16, flaw) != 0) return 4;
    if (launch_block_sum(din, dout, 1000, 0, flaw) != cudaErrorInvalidConfiguration) return 5;
    if (cudaMemcpy(out, dout, sizeof out, cudaMemcpyDeviceToHost) != cudaSuccess) return 6;
    double sum = 0;
    for (int i = 0; i < 16; i++) sum += out[i];
    printf("%.0f\n", sum);
    cudaFree(din);
    if (flaw != 3) cudaFree(dout);
    return 0;
}
"#;

fn compiler_present() -> bool {
    let there = ["gcc", "g++"].iter().all(|c| Command::new(c).arg("--version").output().is_ok());
    assert!(there || std::env::var("CI").as_deref() != Ok("true"), "gcc and g++ are needed where CI=true");
    if !there {
        eprintln!("SKIPPED: gcc or g++ was not found; the shim was not run");
    }
    there
}

fn compile(dir: &Path, compiler: &str, args: &[&str]) {
    let out = Command::new(compiler).current_dir(dir).args(args).output().unwrap();
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
}

#[test]
fn generated_text_runs_on_fibers_beside_its_c_host() {
    if !compiler_present() {
        return;
    }
    let tmp = tempfile::tempdir().unwrap();
    let dir = tmp.path();
    for (name, text) in shim::FILES {
        std::fs::create_dir_all(dir.join(name).parent().unwrap()).unwrap();
        std::fs::write(dir.join(name), text).unwrap();
    }
    std::fs::write(dir.join("kernels.cu"), shim::rewrite(KERNEL)).unwrap();
    std::fs::write(dir.join("host.c"), HOST).unwrap();
    let cxx = ["-std=c++17", "-O1", "-Wall", "-Wno-unused-function", "-ffp-contract=off", "-I."];
    compile(dir, "g++", &[&cxx[..], &["-c", "ww_cuda_shim.cpp"]].concat());
    let kernel = ["-include", "ww_cuda_shim.h", "-x", "c++", "-c", "kernels.cu"];
    compile(dir, "g++", &[&cxx[..], &kernel[..]].concat());
    compile(dir, "gcc", &["-std=c11", "-O1", "-Wall", "-I.", "-c", "host.c"]);
    compile(dir, "g++", &["-o", "program", "host.o", "kernels.o", "ww_cuda_shim.o"]);
    let run = |arg: &str, env: &[(&str, &str)]| -> Output {
        let mut c = Command::new(dir.join("program"));
        c.arg(arg).envs(env.iter().copied()).output().unwrap()
    };
    for seed in ["1", "2", "77"] {
        let out = run("0", &[("WW_SEED", seed)]);
        assert_eq!(String::from_utf8_lossy(&out.stdout), "499500\n", "{out:?}");
        assert!(out.status.success());
    }
    // a divergent barrier, a write outside, a leak
    assert_eq!(run("1", &[]).status.code(), Some(97));
    assert_eq!(run("2", &[]).status.code(), Some(98));
    assert_eq!(run("3", &[]).status.code(), Some(99));
    // the host's own fallback
    let out = run("0", &[("WW_FAIL_MALLOC", "2")]);
    assert_eq!(String::from_utf8_lossy(&out.stdout), "fallback\n");
    assert!(out.status.success());
}
