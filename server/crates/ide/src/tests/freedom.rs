//! Kernels with a race, or with a barrier that not all threads reach, that look as if they had none: of these nothing is promised.

use super::open_cuda;
use crate::{kernel_reports, Ask};

fn reports(code: &str) -> Vec<crate::KernelReport> {
    kernel_reports(&Ask::thorough(&open_cuda(code)), &[])
}

fn not_free(code: &str) {
    for k in reports(code) {
        assert_ne!(k.races.verdict, "race-free", "{code}");
    }
}

fn not_safe(code: &str) {
    for k in reports(code) {
        assert!(k.barriers.iter().all(|b| b.verdict != "safe"), "{code}");
    }
}

/// What a loop's condition sets is as often set as the thread's own iterations go.
#[test]
fn conditions_that_set_variables_differ_by_thread() {
    for body in [
        "int i = blockIdx.x * blockDim.x + threadIdx.x; int x = 0; while (x++ < i) ; a[i - x + 1] = i;",
        "int i = blockIdx.x * blockDim.x + threadIdx.x; int x = 0; for (; x++ < i;) ; a[i - x + 1] = i;",
        "int i = blockIdx.x * blockDim.x + threadIdx.x; int x = 0; while ((x += 1) < i) ; a[i - x] = i;",
        "int i = threadIdx.x; int row = n; while (b[--row] > i) ; a[i - row + n] = i;",
        "int k = 0, t = threadIdx.x; while (k < n && b[k++] < t) ; a[64 + t - k] = t;",
    ] {
        not_free(&format!("__global__ void f(int *a, const int *b, int n) {{ {body} }}\n"));
    }
    for body in [
        "int x = 0; while (x++ < (int)threadIdx.x) ; if (x > 5) __syncthreads(); a[threadIdx.x] = 1;",
        "int k = 0, t = threadIdx.x; while (__syncthreads_count(1) > 0 && k < t) k++;",
        "for (int k = 0; __syncthreads(), k < threadIdx.x; k++) ;",
    ] {
        not_safe(&format!("// warpwright: launch(1, 64)\n__global__ void f(int *a) {{ {body} }}\n"));
    }
    // where all threads go round alike they are the same
    let alike = reports(
        "__global__ void f(int *a, int n) { int x = 0; while (x < n) { __syncthreads(); x++; } a[blockIdx.x * blockDim.x + threadIdx.x] = n; }\n",
    );
    assert_eq!(alike[0].races.verdict, "race-free");
    assert!(alike[0].barriers.iter().all(|b| b.verdict == "safe"));
}

/// A `break` of a `switch` leaves out what stands behind it there.
#[test]
fn a_break_of_a_switch_counts() {
    not_safe(
        "// warpwright: launch(2, 64, n = 2)\n__global__ void f(int *a, int n) { int x = 0; switch (n) { case 2: if (threadIdx.x == 3) break; x++; } if (x) __syncthreads(); a[threadIdx.x] = 1; }\n",
    );
}

/// What somebody else may change while the kernel runs is not one value for all.
#[test]
fn watched_memory_differs_by_thread() {
    not_safe(
        "__global__ void f(const volatile int *stop, int rounds) { for (int r = 0; r < rounds; r++) { if (*stop) break; __syncthreads(); } }\n",
    );
}

/// Numbers computed from indices wrap in large launches.
#[test]
fn indices_that_wrap_in_the_launch_are_no_proof() {
    for (launch, body) in [
        ("4097, 256", "unsigned j = blockIdx.x * blockDim.x * 4096u; a[j / 4096 + threadIdx.x] = threadIdx.x + blockIdx.x;"),
        ("65537, 64", "unsigned j = blockIdx.x * gridDim.x; if (threadIdx.x == 0) a[j / gridDim.x] = blockIdx.x;"),
        ("4097, 256", "unsigned i = blockIdx.x * blockDim.x + threadIdx.x; if (i * 4096u == 4096u) a[0] = i;"),
        ("(65536, 65535), 256, n = 1000", "unsigned i = (blockIdx.y * gridDim.x + blockIdx.x) * blockDim.x + threadIdx.x; if (i < n) a[i] = blockIdx.y;"),
        ("1, 64, n = 100000000", "unsigned x = threadIdx.x; for (int r = 0; r < n; r++) { a[x] = threadIdx.x; x += 0x40000001u; }"),
    ] {
        not_free(&format!("// warpwright: launch({launch})\n__global__ void f(int *a, int n) {{ {body} }}\n"));
    }
    // and do not in others
    let fits = reports(
        "// warpwright: launch(4096, 256)\n__global__ void f(int *a) { unsigned i = blockIdx.x * blockDim.x + threadIdx.x; a[i * 4u] = i; a[i * 4u + 1] = 0; }\n",
    );
    assert_eq!(fits[0].races.verdict, "race-free");
}

/// One array given to two parameters of which one is `restrict` is one array.
#[test]
fn restrict_does_not_part_what_a_launch_gives_twice() {
    let code = |at: &str| {
        format!(
            "__global__ void jacobi(const float *__restrict__ x, float *__restrict__ y, int n) {{
                int i = threadIdx.x + blockIdx.x * blockDim.x;
                if (i > 0 && i < n - 1) y[i] = x[i - 1] + x[i + 1];
            }}
            void f(float *d, float *e, int n) {{ jacobi<<<n / 256, 256>>>({at}, n); }}"
        )
    };
    for at in ["d, d", "d, d + 1", "d + 1, d"] {
        not_free(&code(at));
    }
    assert_eq!(reports(&code("d, e"))[0].races.verdict, "race-free");
}

/// That nothing lies outside is said where every place is known.
#[test]
fn an_empty_list_of_places_outside_is_a_proof() {
    let list = |body: &str| {
        reports(&format!(
            "// warpwright: launch(1, 32)\n__global__ void f(const int *a) {{ __shared__ int s[32]; {body} }}\n"
        ))
        .remove(0)
        .out_of_range
    };
    assert!(list("if (a[0] > 0) s[threadIdx.x + 1] = 1;").is_none_or(|l| !l.is_empty()));
    assert!(list("s[a[threadIdx.x]] = 1;").is_none_or(|l| !l.is_empty()));
    assert!(list("if (a[0] > 0) s[threadIdx.x] = 1;").is_some_and(|l| l.is_empty()));
}

/// A launch of which the text does not say all is one all the same.
#[test]
fn launches_that_are_said_in_part_count() {
    let kernel = "__global__ void f(int *a, int n) { a[blockIdx.x * n + threadIdx.x] = threadIdx.x; }\n";
    not_free(&format!("{kernel}void h(int *d, int k) {{ f<<<4, 64>>>(d, 64); f<<<k, 64>>>(d, k); }}\n"));
    let barrier = "__global__ void f(int n) { if (threadIdx.x < n) __syncthreads(); }\n";
    not_safe(&format!("{barrier}void h(int k) {{ f<<<1, 64>>>(64); f<<<1, k>>>(k - 1); }}\n"));
    let own = "__global__ void f(int *a, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) a[i] = n; }\n";
    let all =
        reports(&format!("{own}void h(int *d, int k) {{ f<<<4, 64>>>(d, 64); f<<<k, 64>>>(d, k); }}\n"));
    assert_eq!(all[0].races.verdict, "race-free");
}

/// `-1` added to what is unsigned is one less.
#[test]
fn unsigned_sums_with_negative_parts_are_near() {
    for place in [
        "64 + threadIdx.x * -1",
        "(threadIdx.x & 1 ? threadIdx.x + -1 : threadIdx.x)",
        "threadIdx.x + (threadIdx.x & 1) * -1",
    ] {
        let said = super::kernels::say(&format!("__global__ void f(int *a) {{ a[{place}] = 1; }}\n"));
        assert!(!said.contains("sectors"), "{place}: {said}");
    }
    // far is far
    let far = super::kernels::say("__global__ void f(int *a) { a[threadIdx.x * 64 + -1] = 1; }\n");
    assert!(far.contains("64 elements apart") || far.contains("elements 64 apart"), "{far}");
}

/// A witness is a launch that can be made.
#[test]
fn witnesses_have_values_of_their_parameters_types() {
    for (ty, most) in [("unsigned char", 255), ("bool", 1), ("signed char", 127)] {
        let code =
            format!("__global__ void f(int *a, {ty} m) {{ if (threadIdx.x < m + 2) a[0] = threadIdx.x; }}\n");
        let said = super::kernels::say(&code);
        assert!(!said.contains("= 1000") && said.contains(&format!("= {most}")), "{said}");
    }
}
