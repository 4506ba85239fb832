//! Whole texts for a few loops, and what is refused.

mod common;

use common::{offload, offloaded, Outcome};
use expect_test::{expect, Expect};

fn check_kernel(text: &str, function: &str, expected: Expect) {
    let (_, output) = offloaded(text, function, 0);
    let kernel =
        output.kernel_file.text.split("\n#ifndef __CUDACC_RTC__").next().unwrap_or_default().to_string();
    expected.assert_eq(&kernel);
}

fn check_host(text: &str, function: &str, expected: Expect) {
    expected.assert_eq(&offloaded(text, function, 0).0);
}

fn check_refused(text: &str, expected: Expect) {
    let said = match offload(text, "f", 0) {
        Outcome::Done { .. } => "done".to_string(),
        Outcome::NotParallel(why) => format!("not parallel: {why}"),
        Outcome::Refused(r) => r
            .reasons
            .iter()
            .map(|r| {
                format!("{:?} -> {:?}", r.kind, r.kind.next_step())
                    .split("(Symbol")
                    .next()
                    .unwrap_or_default()
                    .to_string()
            })
            .collect::<Vec<_>>()
            .join("; "),
    };
    expected.assert_eq(&said);
}

const SAXPY: &str = "#include <stdio.h>

/* y = a*x + y */
void saxpy(int n, float a, const float *x, float *y)
{
\tfor (int i = 0; i < n; i++)
\t\ty[i] = a * x[i] + y[i]; /* in place */
}
";

#[test]
fn the_host_of_saxpy() {
    check_host(
        SAXPY,
        "saxpy",
        expect![[r#"
            #include <stdio.h>
            /* saxpy_i.cu; 0: the loop itself is to run */
            extern int saxpy_i_on_gpu(int n, float a, const float *x, float *y);

            /* y = a*x + y */
            void saxpy(int n, float a, const float *x, float *y)
            {
            	if (!saxpy_i_on_gpu(n, a, x, y)) {
            	for (int i = 0; i < n; i++)
            		y[i] = a * x[i] + y[i]; /* in place */
            	}
            }
        "#]],
    );
}

/// The lines with the call.
fn check_call(text: &str, function: &str, expected: &str) {
    let (host, _) = offloaded(text, function, 0);
    let lines = host.lines().map(str::trim).filter(|l| l.contains("_on_gpu") && !l.starts_with("extern"));
    let lines = lines.filter(|l| !l.starts_with("/*"));
    assert_eq!(lines.collect::<Vec<_>>().join("\n"), expected, "{host}");
}

#[test]
fn what_is_evaluated_for_the_call_is_there() {
    // behind a pointer, so only where the loop runs
    let behind = "struct grid { int n; double *u; };\nvoid f(int n, struct grid *g, double *restrict a) {\n  for (int i = 2; i < n; i++)\n    a[i] = g->u[i];\n}\n";
    check_call(behind, "f", "if (!(n >= 3 && f_i_on_gpu(n, a, g->u))) {");
    // and behind what is asserted before it is looked at
    let asserted = "#include <assert.h>\nstruct grid { int n; };\nvoid f(int n, struct grid *g, int *restrict a) {\n  for (int i = 0; i < n; i++) {\n    assert(g != 0);\n    for (int j = 0; j < g->n; j++)\n      a[i] += j;\n  }\n}\n";
    check_call(asserted, "f", "if (!(n > 0 && (g != 0) && f_i_on_gpu(n, g->n, (g != 0), g, a))) {");
    let divided = "#include <assert.h>\nvoid f(int n, int all, int parts, int *a) {\n  for (int i = 0; i < n; i++) {\n    assert(parts > 0);\n    for (int j = 0; j < all / parts; j++)\n      a[i] += j;\n  }\n}\n";
    check_call(divided, "f", "if (!(n > 0 && parts > 0 && f_i_on_gpu(n, (all / parts), parts, all, a))) {");
    // the step only where the loop runs, and behind what its body asserts
    let step = "#include <assert.h>\nstruct grid { int by; };\nvoid f(int n, struct grid *g, double *restrict a) {\n  for (int i = 0; i < n; i += g->by) {\n    assert(g != 0);\n    a[i] = 1;\n  }\n}\n";
    let (host, _) = offloaded(step, "f", 0);
    let at = |part: &str| host.find(part).unwrap_or_else(|| panic!("{part} in\n{host}"));
    assert!(at("n - 1 >= 0") < at("(g != 0)") && at("(g != 0)") < at("(g->by >="), "{host}");
    // set by nothing that is sure to run before, and by a statement that is
    let unset = "void f(int n, int k, double *a) {\n  double x;\n  if (k) x = 1; else x = 2;\n  for (int i = 0; i < n; i++)\n    a[i] = x;\n}\n";
    check_call(unset, "f", "if (!(n > 0 && f_i_on_gpu(n, x, a))) {");
    check_call(&unset.replace("if (k) x = 1; else x = 2;", "x = 1;"), "f", "if (!f_i_on_gpu(n, x, a)) {");
}

#[test]
fn results_that_have_no_address_are_kept_in_variables_that_do() {
    let text = "int f(int n, const int *a) {\n  register int i, s = 0;\n  for (i = 0; i < n; i++)\n    s += a[i];\n  return s + i;\n}\n";
    check_call(
        text,
        "f",
        "int s_on_gpu = s;\nint i_on_gpu;\nif (!f_i_on_gpu(n, a, &s_on_gpu, &i_on_gpu)) {\ns = s_on_gpu;\ni = i_on_gpu;",
    );
    check_call(&text.replace("register ", ""), "f", "if (!f_i_on_gpu(n, a, &s, &i)) {");
}

#[test]
fn the_file_of_saxpy() {
    let (_, output) = offloaded(SAXPY, "saxpy", 0);
    expect![[r#"
        /* cases.c, line 6: the loop over i in saxpy, as a CUDA kernel. Written by Warpwright.
           Compile with nvcc -fmad=false -c saxpy_i.cu: fused multiply-adds would round differently. */
        #ifndef WW_NO_CUDA

        extern "C" __global__ void saxpy_i_kernel(int ww_trips_i, float a, const float *__restrict__ x,
            float *__restrict__ y)
        {
            const int i = blockIdx.x * blockDim.x + threadIdx.x;
            if (i < ww_trips_i) {
                y[i] = a * x[i] + y[i];
            }
        }

        #ifndef __CUDACC_RTC__ /* NVRTC compiles kernels only */
        #include <stdint.h>
        #include <stdlib.h>
        #include <string.h>

        static bool saxpy_i_apart(const void *a, size_t a_bytes, const void *b, size_t b_bytes)
        {
            return (uintptr_t)a + a_bytes <= (uintptr_t)b || (uintptr_t)b + b_bytes <= (uintptr_t)a;
        }

        /* Runs the loop of cases.c, line 6, on the GPU. 0: it did not, nothing has changed that the loop
           reads, and the loop itself is to run. */
        extern "C" int saxpy_i_on_gpu(int n, float a, const float *x, float *y)
        {
            const long long ww_trips_i = n;
            if (ww_trips_i <= 0)
                return 0;
            const size_t ww_x_bytes = (size_t)n * sizeof(float);
            const size_t ww_y_bytes = (size_t)n * sizeof(float);
            /* x and y do not overlap */
            if (!saxpy_i_apart(x, ww_x_bytes, y, ww_y_bytes))
                return 0;
            float *ww_gpu_x = 0;
            float *ww_gpu_y = 0;
            float *ww_new_y = (float *)malloc(ww_y_bytes);
            bool ok = true;
            ok = ok && cudaMalloc((void **)&ww_gpu_x, ww_x_bytes) == cudaSuccess;
            ok = ok && ww_new_y != 0;
            ok = ok && cudaMalloc((void **)&ww_gpu_y, ww_y_bytes) == cudaSuccess;
            ok = ok && cudaMemcpy(ww_gpu_x, x, ww_x_bytes, cudaMemcpyHostToDevice) == cudaSuccess;
            ok = ok && cudaMemcpy(ww_gpu_y, y, ww_y_bytes, cudaMemcpyHostToDevice) == cudaSuccess;
            if (ok)
                saxpy_i_kernel<<<(unsigned int)((ww_trips_i + 255) / 256), 256>>>((int)ww_trips_i, a,
                    ww_gpu_x, ww_gpu_y);
            ok = ok && cudaGetLastError() == cudaSuccess;
            ok = ok && cudaDeviceSynchronize() == cudaSuccess;
            ok = ok && cudaMemcpy(ww_new_y, ww_gpu_y, ww_y_bytes, cudaMemcpyDeviceToHost) == cudaSuccess;
            if (ok)
                memcpy(y, ww_new_y, ww_y_bytes);
            /* where the loop takes over, no error is left behind */
            if (!ok)
                (void)cudaGetLastError();
            (void)cudaFree(ww_gpu_x);
            free(ww_new_y);
            (void)cudaFree(ww_gpu_y);
            return ok;
        }
        #endif

        #else /* cc -x c -DWW_NO_CUDA -c saxpy_i.cu: to build without CUDA, with the loop as it was */
        #ifdef __cplusplus
        extern "C"
        #endif
        int saxpy_i_on_gpu(int n, float a, const float *x, float *y)
        {
            (void)n, (void)a, (void)x, (void)y;
            return 0;
        }
        #endif
    "#]]
    .assert_eq(&output.kernel_file.text);
    assert_eq!(output.kernel_file.name, "saxpy_i.cu");
    // Every mapped line stands for a term; the body's statement is among them.
    let lines: Vec<&str> = output.kernel_file.text.lines().collect();
    assert!(output.line_map.iter().any(|l| lines[l.line as usize - 1].contains("y[i] = a * x[i] + y[i];")));
}

#[test]
fn a_stencil_on_variable_length_arrays() {
    let text = "void heat(int n, int m, double a[n][m], double b[n][m]) {
  for (int i = 1; i < n - 1; i++)
    for (int j = 1; j < m - 1; j++)
      b[i][j] = 0.25 * (a[i-1][j] + a[i+1][j] + a[i][j-1] + a[i][j+1]);
}
";
    check_kernel(
        text,
        "heat",
        expect![[r#"
            /* cases.c, line 2: the loops over i, j in heat, as a CUDA kernel. Written by Warpwright.
               Compile with nvcc -fmad=false -c heat_i.cu: fused multiply-adds would round differently. */
            #ifndef WW_NO_CUDA

            extern "C" __global__ void heat_i_kernel(long long ww_trips_i, int ww_trips_j, long long ww_b_first,
                int m, const double *__restrict__ a, double *__restrict__ b)
            {
                for (long long ww_at_i = (long long)blockIdx.y * blockDim.y + threadIdx.y; ww_at_i < ww_trips_i;
                     ww_at_i += (long long)gridDim.y * blockDim.y) {
                    const int i = (int)(1 + ww_at_i);
                    const int ww_at_j = blockIdx.x * blockDim.x + threadIdx.x;
                    if (ww_at_j < ww_trips_j) {
                        const int j = 1 + ww_at_j;
                        b[(long long)i * m + j - ww_b_first] = 0.25 * (a[(long long)(i - 1) * m + j - 1] + a[(long long)(i + 1) * m + j - 1] + a[(long long)i * m + (j - 1) - 1] + a[(long long)i * m + (j + 1) - 1]);
                    }
                }
            }
        "#]],
    );
}

#[test]
fn an_inner_bound_that_depends_on_the_outer_index() {
    let text = "void f(int n, double a[n][n]) {
  for (int i = 0; i < n; i++)
    for (int j = 0; j <= i; j++)
      a[i][j] = 0;
}
";
    check_kernel(
        text,
        "f",
        expect![[r#"
            /* cases.c, line 2: the loops over i, j in f, as a CUDA kernel. Written by Warpwright.
               Compile with nvcc -fmad=false -c f_i.cu: fused multiply-adds would round differently. */
            #ifndef WW_NO_CUDA

            extern "C" __global__ void f_i_kernel(long long ww_trips_i, int n, double *__restrict__ a)
            {
                for (long long ww_at_i = (long long)blockIdx.y * blockDim.y + threadIdx.y; ww_at_i < ww_trips_i;
                     ww_at_i += (long long)gridDim.y * blockDim.y) {
                    const int i = (int)ww_at_i;
                    const long long ww_at_j = (long long)blockIdx.x * blockDim.x + threadIdx.x;
                    if (ww_at_j <= (long long)i) {
                        const int j = (int)ww_at_j;
                        a[(long long)i * n + j] = 0;
                    }
                }
            }
        "#]],
    );
}

#[test]
fn a_sum() {
    let text = "int sum(int n, const int *x) {
  int s = 0;
  for (int i = 0; i < n; i++) s += x[i];
  return s;
}
";
    check_kernel(
        text,
        "sum",
        expect![[r#"
            /* cases.c, line 3: the loop over i in sum, as a CUDA kernel. Written by Warpwright.
               Compile with nvcc -fmad=false -c sum_i.cu: fused multiply-adds would round differently. */
            #ifndef WW_NO_CUDA

            extern "C" __global__ void sum_i_kernel(long long ww_trips_i, const int *__restrict__ x,
                unsigned int *__restrict__ ww_part_s)
            {
                unsigned int s = 0u;
                for (long long ww_at_i = (long long)blockIdx.x * blockDim.x + threadIdx.x; ww_at_i < ww_trips_i;
                     ww_at_i += (long long)gridDim.x * blockDim.x) {
                    const int i = (int)ww_at_i;
                    s += x[i];
                }

                /* combine the threads of the block, always in the same order */
                __shared__ unsigned int ww_all_s[256];
                const int ww_thread = (int)(threadIdx.x);
                ww_all_s[ww_thread] = s;
                __syncthreads();
                for (int ww_half = 128; ww_half > 0; ww_half /= 2) {
                    if (ww_thread < ww_half) {
                        ww_all_s[ww_thread] += ww_all_s[ww_thread + ww_half];
                    }
                    __syncthreads();
                }
                if (ww_thread == 0) {
                    ww_part_s[blockIdx.x] = ww_all_s[0];
                }
            }
        "#]],
    );
}

#[test]
fn c_keeps_its_meaning() {
    let text = "float sqrtf(float); double sqrt(double), pow(double, double); int abs(int);
typedef struct { float x, new; } pair;
void f(int n, const float *x, double *y, pair *p) {
  for (int i = 0; i < n; i++) {
    y[i] = sqrt(x[i]) + sqrtf(x[i]) + pow(x[i], 2) + abs((x[i] > 1) + 'a') + 1 / 2.0f;
    p[i].new = x[i] - -1 + (i & 3 | 4) + (unsigned char)300u + (i ? 1e10f : 0x1p-3);
  }
}
";
    check_kernel(
        text,
        "f",
        expect![[r#"
            /* cases.c, line 4: the loop over i in f, as a CUDA kernel. Written by Warpwright.
               Compile with nvcc -fmad=false -c f_i.cu: fused multiply-adds would round differently. */
            #ifndef WW_NO_CUDA

            struct ww_struct_1 {
                float x;
                float new_;
            };
            static_assert(sizeof(struct ww_struct_1) == 8, "laid out as in cases.c");"#]],
    );
}

#[test]
fn line_ends_and_pragmas_are_the_files() {
    let text = "void f(int n, double *a) {\r\n#pragma omp parallel for\r\n  for (int i = 0; i < n; i++)\r\n    a[i] = 0;\r\n}\r\n";
    let (host, _) = offloaded(text, "f", 0);
    assert!(!host.replace("\r\n", "").contains(['\r', '\n']), "{host:?}");
    assert!(host.contains("if (!f_i_on_gpu(n, a)) {\r\n#pragma omp parallel for\r\n  for (int i = 0; i < n; i++)\r\n    a[i] = 0;\r\n  }"), "{host}");
}

#[test]
fn names_of_the_users_are_not_taken() {
    let text = "void f(int ww_n, double *ww_gpu) {\n  for (int i = 0; i < ww_n; i++) ww_gpu[i] = 0;\n}\n";
    let (host, output) = offloaded(text, "f", 0);
    assert!(host.contains("if (!f_i_on_gpu(ww_n, ww_gpu)) {"), "{host}");
    assert!(output.kernel_file.text.contains("ww2_trips_i"));
}

#[test]
fn what_cannot_be_right_is_refused() {
    let f = |text: &str, e: Expect| check_refused(text, e);
    f(
        "void f(int n, long double *a) { for (int i = 0; i < n; i++) a[i] = 1; }",
        expect!["LongDouble -> UseNarrowerType"],
    );
    f(
        "void f(int n, double *a) { for (int i = 0; i < n; i++) { double t[n]; t[0] = i; a[i] = t[0]; } }",
        expect!["VariableLengthLocal"],
    );
    f(
        "double f(int n, double *x) { double m = x[0]; for (int i = 0; i < n; i++) { m = m < x[i] ? m : x[i]; if (x[i] < m) m = x[i]; } return m; }",
        expect!["NanOrder"],
    );
    f(
        "void f(int n, short h[16], const int *restrict x) { for (int i = 0; i < n; i++) h[x[i] & 15] += 1; }",
        expect!["NoAtomic"],
    );
    f(
        "#define LOOP for (int i = 0; i < n; i++) a[i] = 1;\nvoid f(int n, double *a) { LOOP }",
        expect!["InMacro -> ExpandMacro"],
    );
    f(
        "void f(int n, double *a) { for (int i = 0; i < n; i++) { static int k = 7; a[i] = k; } }",
        expect!["StaticLocal"],
    );
}

#[test]
fn deep_terms_are_refused_not_followed() {
    for (open, close) in [("(", ")"), ("-(", ")"), ("1 + (", ")")] {
        let deep = format!("{}a[i]{}", open.repeat(5000), close.repeat(5000));
        let text = format!("void f(int n, double *a) {{ for (int i = 0; i < n; i++) a[i] = {deep}; }}");
        // Parentheses alone leave no trace in terms; all else is too deep, here or already for the front end.
        let _ = offload(&text, "f", 0);
    }
    let long = format!(
        "void f(int n, double *a) {{ for (int i = 0; i < n; i++) a[i] = 1{}; }}",
        " + 1".repeat(5000)
    );
    let _ = offload(&long, "f", 0);
}
