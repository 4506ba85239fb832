//! What is said of kernels: bounds by what the host allocates, grids where they decide, what really stands against a proof.

use super::untrue::said_of_cuda;
use super::{full, open, open_cuda};
use crate::{kernel_reports, Ask, KernelReport};

fn reports(code: &str) -> Vec<KernelReport> {
    kernel_reports(&Ask::thorough(&open_cuda(code)), &[])
}

/// The lines of what lies outside of its array, with the first element that does.
fn outside(code: &str) -> Vec<String> {
    let findings = full(&open_cuda(code));
    let of = findings.diagnostics.iter().filter(|d| d.code == "out-of-range");
    of.map(|d| d.message.to_string()).collect()
}

const KERNELS: &str = "__global__ void le(float *x, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i <= n) x[i] = 1.0f; }
__global__ void before(const float *x, float *y, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] = x[i - 1] + x[i]; }
__global__ void whole(const float *x, float *y, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] = x[i]; }
";

#[test]
fn what_the_host_allocates_says_where_arrays_end() {
    let host = "int main() { int n = 1000; float *x, *y = NULL; cudaMalloc(&x, n * sizeof(float)); cudaMalloc((void **)&y, n * sizeof(float));
    le<<<(n + 255) / 256, 256>>>(x, n); before<<<(n + 255) / 256, 256>>>(x, y, n); whole<<<(n + 255) / 256, 256>>>(x, y, n); cudaFree(x); }\n";
    let found = outside(&format!("{KERNELS}{host}"));
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found[0].contains("touches `x[1000]`, which has 1000 elements"), "{found:?}");
    assert!(found[1].contains("Thread 0 of block 0 touches `x[-1]`"), "{found:?}");
    // by way of a function, and with a default that the program may replace
    let host = "void go(float *p, int n) { le<<<(n + 255) / 256, 256>>>(p, n); }
int main(int argc, char **argv) { int n = argc > 1 ? atoi(argv[1]) : 1000; float *x; cudaMalloc(&x, n * sizeof(float)); go(x, n); }\n";
    let found = outside(&format!("{KERNELS}{host}"));
    assert!(found.len() == 1 && found[0].contains("default"), "{found:?}");
}

#[test]
fn arrays_whose_length_is_not_sure_have_none() {
    for main in [
        // a second allocation, another pointer, another size, an unknown function that is given a reference
        "float *x; cudaMalloc(&x, n * sizeof(float)); cudaFree(x); cudaMalloc(&x, 2 * n * sizeof(float)); le<<<4, 256>>>(x, n);",
        "float *x, *z; cudaMalloc(&z, 2 * n * sizeof(float)); cudaMalloc(&x, n * sizeof(float)); x = z; le<<<4, 256>>>(x, n);",
        "float *x; cudaMalloc(&x, n * sizeof(float)); std::swap(x, other); le<<<4, 256>>>(x, n);",
        "float *x; cudaMalloc(&x, n * sizeof(float)); grow(x); le<<<4, 256>>>(x, n);",
        "float *x; cudaMalloc(&x, n * sizeof(float)); grow(&x); le<<<4, 256>>>(x, n);",
        "float *x; cudaMalloc(&x, 2 * n * sizeof(float)); le<<<4, 256>>>(x + n, n);",
        "float *x; cudaMalloc(&x, 2 * n * sizeof(float)); n = 500; le<<<4, 256>>>(x, n);",
        "float *x; cudaMalloc(&x, (n + 1) * sizeof(float)); le<<<4, 256>>>(x, n);",
    ] {
        let code = format!("{KERNELS}void host(float *other) {{ int n = 1000; {main} }}\n");
        assert_eq!(outside(&code), [] as [&str; 0], "{main}");
    }
}

/// A template of the host stands for types that nobody says.
#[test]
fn sizes_of_types_that_a_template_leaves_open_say_nothing() {
    let kernel = "template <class T> __global__ void fill(T *x, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) x[i] = 1; }\n";
    let host = |size: &str| {
        format!("{kernel}template <class T> void host(std::vector<T> &v) {{ int n = 1000; T *x; cudaMalloc(&x, n * {size}); fill<double><<<(n + 255) / 256, 256>>>((double *)x, n); }}\n")
    };
    assert_eq!(outside(&host("sizeof(T)")), [] as [&str; 0]);
    assert_eq!(outside(&host("sizeof(float)")).len(), 1);
}

#[test]
fn a_divergent_barrier_names_the_grid_that_decides() {
    let code = "__global__ void f(float *a) { if (blockIdx.x * blockDim.x + threadIdx.x < gridDim.x) { a[threadIdx.x] = 1; __syncthreads(); } }\n";
    let said = said_of_cuda(code);
    assert!(
        said.contains(
            "With 2 blocks of 64 threads, thread 0 of block 0 reaches it and thread 2 of block 0 does not"
        ),
        "{said}"
    );
    // that some do not come is known, and said
    let why = reports(code)[0].races.reason.clone().unwrap_or_default();
    assert_eq!(why, "not all threads of a block reach the barrier on line 1");
}

#[test]
fn what_a_large_launch_hides_is_said() {
    let code = "// warpwright: launch(65535, 1024)\n__global__ void f(float *a, const int *at, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) a[at[i]] = i; }\n";
    let why = reports(code)[0].races.reason.clone().unwrap_or_default();
    assert!(why.starts_with("whether two threads meet in `a` on line 2 depends on what is not known; and the launch has too many threads"), "{why}");
}

#[test]
fn what_may_decide_whether_rows_overlap_is_named() {
    let code = "__global__ void f(float *out, const float *in, int w, int h, int pitch) { int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y; if (x < w && y < h) out[y * pitch + x] = in[y * w + x]; }\n";
    let why = reports(code)[0].races.reason.clone().unwrap_or_default();
    assert_eq!(why, "whether two threads meet in `out` on line 1 depends on what is not known, perhaps on how large `pitch` is");
}

#[test]
fn distances_are_those_of_all_lanes() {
    for place in ["x[t / 2 * 32]", "x[t < 2 ? t : t * 32]", "x[t * t * 8 - 8 * t]"] {
        let said = said_of_cuda(&format!(
            "// warpwright: launch(64, 256)\n__global__ void f(const float *x, float *y) {{ int t = blockIdx.x * blockDim.x + threadIdx.x; y[t] = {place}; }}\n"
        ));
        assert!(!said.contains(" 0 bytes apart"), "{place}: {said}");
        assert!(
            place.contains('?') || said.contains("The threads of a warp touch places far apart"),
            "{place}: {said}"
        );
    }
}

/// Raw literals of C++ are texts, whatever stands in them.
#[test]
fn what_raw_literals_hold_is_no_program() {
    let kernels = |code: &str| reports(code).iter().map(|k| k.name.clone()).collect::<Vec<_>>();
    let text = "const char *a = R\"(\n__global__ void k(float *a) { for (int i = 0; i < 9; i++) a[i] = a[i - 1]; }\n)\";\nconst char *b = u8R\"xx(\nvoid f(float *a) { for (;;) a[0] = \")\"; }\n)xx\";\n#define SOURCE R\"(\n__global__ void kk(float *a) { a[0] = threadIdx.x; }\n)\"\n";
    let host = "__global__ void real(float *a) { a[threadIdx.x] = 0; }\nvoid host(int n, float *a) { const char *t = R\"(for (;;) \"quote )\"; for (int i = 0; i < n; i++) a[i] = 2 * a[i]; }\n";
    let code = format!("{text}{host}");
    assert_eq!(kernels(&code), ["real"]);
    let findings = full(&open_cuda(&code));
    let headers: Vec<_> =
        findings.loops.iter().map(|l| code[..l.header.start as usize].lines().count()).collect();
    assert_eq!(headers, [11], "{:?}", findings.diagnostics);
    assert!(
        findings.diagnostics.iter().all(|d| !d.message.contains("not understood")),
        "{:?}",
        findings.diagnostics
    );
    // a macro may be called `R`, and a literal may not be closed
    full(&open("#define R \"x\"\nconst char *s = R \"(\" R;\nint f(int n, int *a) { for (int i = 0; i < n; i++) a[i] = i; return 0; }\n"));
    full(&open_cuda("const char *s = R\"(never closed\n"));
}
