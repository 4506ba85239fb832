//! Offloading: what is written, and what is refused.

use base::CancelToken;
use expect_test::{expect, Expect};

use super::{full, open};
use crate::{offload, Memo, Which};

fn check(code: &str, which: Which, expected: Expect) {
    let doc = open(code);
    let findings = full(&doc);
    let out = match offload(&doc, &findings, &Memo::new(), &which, &CancelToken::new()) {
        Ok(done) => {
            let mut out = done.host.clone();
            for file in &done.edit.create {
                out.push_str(&format!("==== {}\n{}", file.name, file.text));
            }
            for l in &done.loops {
                out.push_str(&format!(
                    "==== {} line {} in {}, {:?}\n",
                    l.key, l.line, l.kernel_file, l.line_map
                ));
            }
            out.push_str(&format!("{:?} {:?}\n", done.notes, done.build_flags));
            // what was written is not offered again, and leaves no mark behind
            let after = open(&done.host);
            assert_eq!(done.edit.edits[0].edits.apply(doc.text()).expect("edits fit").to_string(), done.host);
            for d in full(&after).diagnostics {
                out.push_str(&format!("{} {}\n", d.code, after.slice(d.span)));
            }
            out
        }
        Err(refused) => format!("{refused:?}\n"),
    };
    expected.assert_eq(&out);
}

#[test]
fn saxpy() {
    check(
        "void saxpy(int n, float a, const float *x, float *y) {\n    for (int i = 0; i < n; i++)\n        y[i] = a * x[i] + y[i];\n}\n",
        Which::Line(2),
        expect![[r##"
            #ifndef WW_NO_CUDA /* define WW_NO_CUDA to build without CUDA: the original loops then run */
            #include <cuda_runtime.h>
            #include <stdint.h>
            #include <stdlib.h>
            #include <string.h>
            extern int saxpy_i_launch(long long ww_trips_i, float a, const float *x, float *y);
            static int ww_apart(const void *a, size_t a_bytes, const void *b, size_t b_bytes)
            {
                return (uintptr_t)a + a_bytes <= (uintptr_t)b || (uintptr_t)b + b_bytes <= (uintptr_t)a;
            }
            #endif
            void saxpy(int n, float a, const float *x, float *y) {
                {
                    /* Warpwright: the loop below as saxpy_i_kernel on the GPU (see saxpy_i.cu). Where a test fails or a call
                       does not succeed, nothing has been changed that the loop reads, and the loop itself runs. */
                    int ww_done = 0;
            #ifndef WW_NO_CUDA
                    const long long ww_n = n;
                    const long long ww_trips_i = ww_n;
                    if (ww_trips_i > 0) {
                        const long long ww_x_count = ww_n;
                        const size_t ww_x_bytes = (size_t)ww_x_count * sizeof(x[0]);
                        const long long ww_y_count = ww_n;
                        const size_t ww_y_bytes = (size_t)ww_y_count * sizeof(y[0]);
                        if (ww_x_count > 0 && ww_x_count <= 1152921504606846976LL /* x is used, and its size fits */
                            && ww_y_count > 0 && ww_y_count <= 1152921504606846976LL /* y is used, and its size fits */
                            && ww_apart(x, ww_x_bytes, y, ww_y_bytes)) { /* x and y do not overlap */
                            float *ww_gpu_x = 0;
                            float *ww_gpu_y = 0;
                            float *ww_new_y = (float *)malloc(ww_y_bytes);
                            const int ww_ok = ww_new_y != 0
                                && cudaMalloc((void **)&ww_gpu_x, ww_x_bytes) == cudaSuccess
                                && cudaMalloc((void **)&ww_gpu_y, ww_y_bytes) == cudaSuccess
                                && cudaMemcpy(ww_gpu_x, x, ww_x_bytes, cudaMemcpyHostToDevice) == cudaSuccess
                                && cudaMemcpy(ww_gpu_y, y, ww_y_bytes, cudaMemcpyHostToDevice) == cudaSuccess
                                && saxpy_i_launch(ww_trips_i, a, ww_gpu_x, ww_gpu_y) == cudaSuccess
                                && cudaDeviceSynchronize() == cudaSuccess
                                && cudaMemcpy(ww_new_y, ww_gpu_y, ww_y_bytes, cudaMemcpyDeviceToHost) == cudaSuccess;
                            if (ww_ok) {
                                memcpy(y, ww_new_y, ww_y_bytes);
                                ww_done = 1;
                            } else {
                                (void)cudaGetLastError(); /* the loop takes over: leave no error behind */
                            }
                            (void)cudaFree(ww_gpu_x);
                            free(ww_new_y);
                            (void)cudaFree(ww_gpu_y);
                        }
                    }
            #endif
                if (!ww_done) {
                for (int i = 0; i < n; i++)
                    y[i] = a * x[i] + y[i];
                }
                }
            }
            ==== saxpy_i.cu
            /* test.c, line 2: the loop over i in saxpy, as a CUDA kernel. Written by Warpwright.
               Compile with nvcc -fmad=false -c saxpy_i.cu: fused multiply-adds would round differently. */

            extern "C" __global__ void saxpy_i_kernel(long long ww_trips_i, float a,
                const float *__restrict__ x, float *__restrict__ y)
            {
                const long long ww_at_i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
                if (ww_at_i < ww_trips_i) {
                    const int i = (int)ww_at_i;
                    y[i] = a * x[i] + y[i];
                }
            }

            #ifndef __CUDACC_RTC__ /* NVRTC compiles kernels only */
            extern "C" int saxpy_i_launch(long long ww_trips_i, float a, const float *x, float *y)
            {
                const long long ww_grid_x = (ww_trips_i + 255) / 256;
                if (ww_grid_x > 2147483647) {
                    return (int)cudaErrorInvalidConfiguration;
                }
                const dim3 ww_grid((unsigned int)ww_grid_x, 1, 1);
                const dim3 ww_block(256, 1, 1);
                saxpy_i_kernel<<<ww_grid, ww_block>>>(ww_trips_i, a, x, y);
                return (int)cudaGetLastError();
            }
            #endif
            ==== saxpy#0 line 2 in saxpy_i.cu, [(7, 2), (8, 2), (9, 2), (10, 3)]
            [] ["-fmad=false"]
        "##]],
    );
}

#[test]
fn all_marked_loops() {
    check(
        "void f(int n, int *restrict a, const int *restrict b) {\n    // warpwright: offload(first)\n    for (int i = 0; i < n; i++)\n        a[i] = b[i];\n    // warpwright: offload\n    for (int i = 1; i < n; i++)\n        a[i] = a[i - 1];\n    // warpwright: offload(second)\n    for (int i = 0; i < n; i++)\n        a[i] += 1;\n}\n",
        Which::Marked,
        expect![[r##"
            #ifndef WW_NO_CUDA /* define WW_NO_CUDA to build without CUDA: the original loops then run */
            #include <cuda_runtime.h>
            #include <stdlib.h>
            #include <string.h>
            extern int second_launch(long long ww_trips_i, int *a);
            #endif
            #ifndef WW_NO_CUDA /* define WW_NO_CUDA to build without CUDA: the original loops then run */
            extern int first_launch(long long ww2_trips_i, int *a, const int *b);
            #endif
            void f(int n, int *restrict a, const int *restrict b) {
                {
                    /* Warpwright: the loop below as first_kernel on the GPU (see first.cu). Where a test fails or a call
                       does not succeed, nothing has been changed that the loop reads, and the loop itself runs. */
                    int ww2_done = 0;
            #ifndef WW_NO_CUDA
                    const long long ww2_n = n;
                    const long long ww2_trips_i = ww2_n;
                    if (ww2_trips_i > 0) {
                        const long long ww2_a_count = ww2_n;
                        const size_t ww2_a_bytes = (size_t)ww2_a_count * sizeof(a[0]);
                        const long long ww2_b_count = ww2_n;
                        const size_t ww2_b_bytes = (size_t)ww2_b_count * sizeof(b[0]);
                        if (ww2_a_count > 0 && ww2_a_count <= 1152921504606846976LL /* a is used, and its size fits */
                            && ww2_b_count > 0 && ww2_b_count <= 1152921504606846976LL) { /* b is used, and its size fits */
                            int *ww2_gpu_a = 0;
                            int *ww2_gpu_b = 0;
                            const int ww2_ok = cudaMalloc((void **)&ww2_gpu_a, ww2_a_bytes) == cudaSuccess
                                && cudaMalloc((void **)&ww2_gpu_b, ww2_b_bytes) == cudaSuccess
                                && cudaMemcpy(ww2_gpu_b, b, ww2_b_bytes, cudaMemcpyHostToDevice) == cudaSuccess
                                && first_launch(ww2_trips_i, ww2_gpu_a, ww2_gpu_b) == cudaSuccess
                                && cudaDeviceSynchronize() == cudaSuccess
                                && cudaMemcpy(a, ww2_gpu_a, ww2_a_bytes, cudaMemcpyDeviceToHost) == cudaSuccess;
                            if (ww2_ok) {
                                ww2_done = 1;
                            } else {
                                (void)cudaGetLastError(); /* the loop takes over: leave no error behind */
                            }
                            (void)cudaFree(ww2_gpu_a);
                            (void)cudaFree(ww2_gpu_b);
                        }
                    }
            #endif
                if (!ww2_done) {
                for (int i = 0; i < n; i++)
                    a[i] = b[i];
                }
                }
                // warpwright: offload
                for (int i = 1; i < n; i++)
                    a[i] = a[i - 1];
                {
                    /* Warpwright: the loop below as second_kernel on the GPU (see second.cu). Where a test fails or a call
                       does not succeed, nothing has been changed that the loop reads, and the loop itself runs. */
                    int ww_done = 0;
            #ifndef WW_NO_CUDA
                    const long long ww_n = n;
                    const long long ww_trips_i = ww_n;
                    if (ww_trips_i > 0) {
                        const long long ww_a_count = ww_n;
                        const size_t ww_a_bytes = (size_t)ww_a_count * sizeof(a[0]);
                        if (ww_a_count > 0 && ww_a_count <= 1152921504606846976LL) { /* a is used, and its size fits */
                            int *ww_gpu_a = 0;
                            int *ww_new_a = (int *)malloc(ww_a_bytes);
                            const int ww_ok = ww_new_a != 0
                                && cudaMalloc((void **)&ww_gpu_a, ww_a_bytes) == cudaSuccess
                                && cudaMemcpy(ww_gpu_a, a, ww_a_bytes, cudaMemcpyHostToDevice) == cudaSuccess
                                && second_launch(ww_trips_i, ww_gpu_a) == cudaSuccess
                                && cudaDeviceSynchronize() == cudaSuccess
                                && cudaMemcpy(ww_new_a, ww_gpu_a, ww_a_bytes, cudaMemcpyDeviceToHost) == cudaSuccess;
                            if (ww_ok) {
                                memcpy(a, ww_new_a, ww_a_bytes);
                                ww_done = 1;
                            } else {
                                (void)cudaGetLastError(); /* the loop takes over: leave no error behind */
                            }
                            free(ww_new_a);
                            (void)cudaFree(ww_gpu_a);
                        }
                    }
            #endif
                if (!ww_done) {
                for (int i = 0; i < n; i++)
                    a[i] += 1;
                }
                }
            }
            ==== first.cu
            /* test.c, line 9: the loop over i in f, as a CUDA kernel. Written by Warpwright.
               Compile with nvcc -fmad=false -c first.cu: fused multiply-adds would round differently. */

            extern "C" __global__ void first_kernel(long long ww2_trips_i, int *__restrict__ a,
                const int *__restrict__ b)
            {
                const long long ww2_at_i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
                if (ww2_at_i < ww2_trips_i) {
                    const int i = (int)ww2_at_i;
                    a[i] = b[i];
                }
            }

            #ifndef __CUDACC_RTC__ /* NVRTC compiles kernels only */
            extern "C" int first_launch(long long ww2_trips_i, int *a, const int *b)
            {
                const long long ww2_grid_x = (ww2_trips_i + 255) / 256;
                if (ww2_grid_x > 2147483647) {
                    return (int)cudaErrorInvalidConfiguration;
                }
                const dim3 ww2_grid((unsigned int)ww2_grid_x, 1, 1);
                const dim3 ww2_block(256, 1, 1);
                first_kernel<<<ww2_grid, ww2_block>>>(ww2_trips_i, a, b);
                return (int)cudaGetLastError();
            }
            #endif
            ==== second.cu
            /* test.c, line 9: the loop over i in f, as a CUDA kernel. Written by Warpwright.
               Compile with nvcc -fmad=false -c second.cu: fused multiply-adds would round differently. */

            extern "C" __global__ void second_kernel(long long ww_trips_i, int *__restrict__ a)
            {
                const long long ww_at_i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
                if (ww_at_i < ww_trips_i) {
                    const int i = (int)ww_at_i;
                    a[i] += 1;
                }
            }

            #ifndef __CUDACC_RTC__ /* NVRTC compiles kernels only */
            extern "C" int second_launch(long long ww_trips_i, int *a)
            {
                const long long ww_grid_x = (ww_trips_i + 255) / 256;
                if (ww_grid_x > 2147483647) {
                    return (int)cudaErrorInvalidConfiguration;
                }
                const dim3 ww_grid((unsigned int)ww_grid_x, 1, 1);
                const dim3 ww_block(256, 1, 1);
                second_kernel<<<ww_grid, ww_block>>>(ww_trips_i, a);
                return (int)cudaGetLastError();
            }
            #endif
            ==== f#0 line 3 in first.cu, [(7, 3), (8, 3), (9, 3), (10, 4)]
            ==== f#2 line 9 in second.cu, [(6, 9), (7, 9), (8, 9), (9, 10)]
            ["The loop on line 6 is left as it is. Loop is sequential: iteration i=1 writes a[1] on line 13, iteration i=2 reads it on line 13, for n=3 (flow dependence on `a`, distance 1). This is a recurrence: compute `a` from values that are there before the loop, write it as a scan, or offload another loop of the nest."] ["-fmad=false"]
            marked-sequential for (int i = 1; i < n; i++)
        "##]],
    );
}

#[test]
fn several_without_names_share_helpers() {
    check(
        "void f(int n, int *a, const int *b) {\n    // warpwright: offload\n    for (int i = 0; i < n; i++)\n        a[i] = b[i];\n    // warpwright: offload\n    for (int i = 0; i < n; i++)\n        a[i] += b[i];\n}\n",
        Which::Marked,
        expect![[r##"
            #ifndef WW_NO_CUDA /* define WW_NO_CUDA to build without CUDA: the original loops then run */
            #include <cuda_runtime.h>
            #include <stdint.h>
            #include <stdlib.h>
            #include <string.h>
            extern int f_i_launch(long long ww_trips_i, int *a, const int *b);
            static int ww_apart(const void *a, size_t a_bytes, const void *b, size_t b_bytes)
            {
                return (uintptr_t)a + a_bytes <= (uintptr_t)b || (uintptr_t)b + b_bytes <= (uintptr_t)a;
            }
            #endif
            #ifndef WW_NO_CUDA /* define WW_NO_CUDA to build without CUDA: the original loops then run */
            extern int f_i_2_launch(long long ww2_trips_i, int *a, const int *b);
            static int ww2_apart(const void *a, size_t a_bytes, const void *b, size_t b_bytes)
            {
                return (uintptr_t)a + a_bytes <= (uintptr_t)b || (uintptr_t)b + b_bytes <= (uintptr_t)a;
            }
            #endif
            void f(int n, int *a, const int *b) {
                {
                    /* Warpwright: the loop below as f_i_2_kernel on the GPU (see f_i_2.cu). Where a test fails or a call
                       does not succeed, nothing has been changed that the loop reads, and the loop itself runs. */
                    int ww2_done = 0;
            #ifndef WW_NO_CUDA
                    const long long ww2_n = n;
                    const long long ww2_trips_i = ww2_n;
                    if (ww2_trips_i > 0) {
                        const long long ww2_a_count = ww2_n;
                        const size_t ww2_a_bytes = (size_t)ww2_a_count * sizeof(a[0]);
                        const long long ww2_b_count = ww2_n;
                        const size_t ww2_b_bytes = (size_t)ww2_b_count * sizeof(b[0]);
                        if (ww2_a_count > 0 && ww2_a_count <= 1152921504606846976LL /* a is used, and its size fits */
                            && ww2_b_count > 0 && ww2_b_count <= 1152921504606846976LL /* b is used, and its size fits */
                            && ww2_apart(a, ww2_a_bytes, b, ww2_b_bytes)) { /* a and b do not overlap */
                            int *ww2_gpu_a = 0;
                            int *ww2_gpu_b = 0;
                            const int ww2_ok = cudaMalloc((void **)&ww2_gpu_a, ww2_a_bytes) == cudaSuccess
                                && cudaMalloc((void **)&ww2_gpu_b, ww2_b_bytes) == cudaSuccess
                                && cudaMemcpy(ww2_gpu_b, b, ww2_b_bytes, cudaMemcpyHostToDevice) == cudaSuccess
                                && f_i_2_launch(ww2_trips_i, ww2_gpu_a, ww2_gpu_b) == cudaSuccess
                                && cudaDeviceSynchronize() == cudaSuccess
                                && cudaMemcpy(a, ww2_gpu_a, ww2_a_bytes, cudaMemcpyDeviceToHost) == cudaSuccess;
                            if (ww2_ok) {
                                ww2_done = 1;
                            } else {
                                (void)cudaGetLastError(); /* the loop takes over: leave no error behind */
                            }
                            (void)cudaFree(ww2_gpu_a);
                            (void)cudaFree(ww2_gpu_b);
                        }
                    }
            #endif
                if (!ww2_done) {
                for (int i = 0; i < n; i++)
                    a[i] = b[i];
                }
                }
                {
                    /* Warpwright: the loop below as f_i_kernel on the GPU (see f_i.cu). Where a test fails or a call
                       does not succeed, nothing has been changed that the loop reads, and the loop itself runs. */
                    int ww_done = 0;
            #ifndef WW_NO_CUDA
                    const long long ww_n = n;
                    const long long ww_trips_i = ww_n;
                    if (ww_trips_i > 0) {
                        const long long ww_a_count = ww_n;
                        const size_t ww_a_bytes = (size_t)ww_a_count * sizeof(a[0]);
                        const long long ww_b_count = ww_n;
                        const size_t ww_b_bytes = (size_t)ww_b_count * sizeof(b[0]);
                        if (ww_a_count > 0 && ww_a_count <= 1152921504606846976LL /* a is used, and its size fits */
                            && ww_b_count > 0 && ww_b_count <= 1152921504606846976LL /* b is used, and its size fits */
                            && ww_apart(a, ww_a_bytes, b, ww_b_bytes)) { /* a and b do not overlap */
                            int *ww_gpu_a = 0;
                            int *ww_new_a = (int *)malloc(ww_a_bytes);
                            int *ww_gpu_b = 0;
                            const int ww_ok = ww_new_a != 0
                                && cudaMalloc((void **)&ww_gpu_a, ww_a_bytes) == cudaSuccess
                                && cudaMalloc((void **)&ww_gpu_b, ww_b_bytes) == cudaSuccess
                                && cudaMemcpy(ww_gpu_a, a, ww_a_bytes, cudaMemcpyHostToDevice) == cudaSuccess
                                && cudaMemcpy(ww_gpu_b, b, ww_b_bytes, cudaMemcpyHostToDevice) == cudaSuccess
                                && f_i_launch(ww_trips_i, ww_gpu_a, ww_gpu_b) == cudaSuccess
                                && cudaDeviceSynchronize() == cudaSuccess
                                && cudaMemcpy(ww_new_a, ww_gpu_a, ww_a_bytes, cudaMemcpyDeviceToHost) == cudaSuccess;
                            if (ww_ok) {
                                memcpy(a, ww_new_a, ww_a_bytes);
                                ww_done = 1;
                            } else {
                                (void)cudaGetLastError(); /* the loop takes over: leave no error behind */
                            }
                            free(ww_new_a);
                            (void)cudaFree(ww_gpu_a);
                            (void)cudaFree(ww_gpu_b);
                        }
                    }
            #endif
                if (!ww_done) {
                for (int i = 0; i < n; i++)
                    a[i] += b[i];
                }
                }
            }
            ==== f_i_2.cu
            /* test.c, line 14: the loop over i in f, as a CUDA kernel. Written by Warpwright.
               Compile with nvcc -fmad=false -c f_i_2.cu: fused multiply-adds would round differently. */

            extern "C" __global__ void f_i_2_kernel(long long ww2_trips_i, int *__restrict__ a,
                const int *__restrict__ b)
            {
                const long long ww2_at_i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
                if (ww2_at_i < ww2_trips_i) {
                    const int i = (int)ww2_at_i;
                    a[i] = b[i];
                }
            }

            #ifndef __CUDACC_RTC__ /* NVRTC compiles kernels only */
            extern "C" int f_i_2_launch(long long ww2_trips_i, int *a, const int *b)
            {
                const long long ww2_grid_x = (ww2_trips_i + 255) / 256;
                if (ww2_grid_x > 2147483647) {
                    return (int)cudaErrorInvalidConfiguration;
                }
                const dim3 ww2_grid((unsigned int)ww2_grid_x, 1, 1);
                const dim3 ww2_block(256, 1, 1);
                f_i_2_kernel<<<ww2_grid, ww2_block>>>(ww2_trips_i, a, b);
                return (int)cudaGetLastError();
            }
            #endif
            ==== f_i.cu
            /* test.c, line 6: the loop over i in f, as a CUDA kernel. Written by Warpwright.
               Compile with nvcc -fmad=false -c f_i.cu: fused multiply-adds would round differently. */

            extern "C" __global__ void f_i_kernel(long long ww_trips_i, int *__restrict__ a,
                const int *__restrict__ b)
            {
                const long long ww_at_i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
                if (ww_at_i < ww_trips_i) {
                    const int i = (int)ww_at_i;
                    a[i] += b[i];
                }
            }

            #ifndef __CUDACC_RTC__ /* NVRTC compiles kernels only */
            extern "C" int f_i_launch(long long ww_trips_i, int *a, const int *b)
            {
                const long long ww_grid_x = (ww_trips_i + 255) / 256;
                if (ww_grid_x > 2147483647) {
                    return (int)cudaErrorInvalidConfiguration;
                }
                const dim3 ww_grid((unsigned int)ww_grid_x, 1, 1);
                const dim3 ww_block(256, 1, 1);
                f_i_kernel<<<ww_grid, ww_block>>>(ww_trips_i, a, b);
                return (int)cudaGetLastError();
            }
            #endif
            ==== f#0 line 3 in f_i_2.cu, [(7, 3), (8, 3), (9, 3), (10, 4)]
            ==== f#1 line 6 in f_i.cu, [(7, 6), (8, 6), (9, 6), (10, 7)]
            [] ["-fmad=false"]
        "##]],
    );
}

#[test]
fn a_sequential_loop() {
    check(
        "void f(int n, int *a) {\n    for (int i = 1; i < n; i++)\n        a[i] = a[i - 1];\n}\n",
        Which::Line(2),
        expect![[r#"
            Because("Loop is sequential: iteration i=1 writes a[1] on line 3, iteration i=2 reads it on line 3, for n=3 (flow dependence on `a`, distance 1). This is a recurrence: compute `a` from values that are there before the loop, write it as a scan, or offload another loop of the nest.")
        "#]],
    );
}

#[test]
fn no_loop_there() {
    check(
        "void f(int n, int *a) {\n    a[0] = n;\n}\n",
        Which::Line(2),
        expect![[r#"
        Because("No loop begins on line 2.")
    "#]],
    );
    check(
        "void f(int n, int *a) {\n    a[0] = n;\n}\n",
        Which::Marked,
        expect![[r#"
        Because("No loop is marked. Write `// warpwright: offload` above the loops to offload.")
    "#]],
    );
}
