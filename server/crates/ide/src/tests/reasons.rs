//! What is in a loop's way is named, and what frees nothing is not advised.

use super::untrue::{said, said_of_cuda};

/// Of a loop that begins where memory says, and whose subscripts memory says too, the subscripts are what is in the way.
#[test]
fn where_a_loop_begins_is_not_what_its_subscripts_are() {
    let text = "void f(int n, const int *restrict from, const int *restrict row, int *restrict to, int *restrict mark) {\n    for (int j = 0; j < n; ++j)\n        for (int i = from[j]; i < from[j + 1]; ++i) {\n            int col = row[i];\n            to[mark[col]] = j;\n            ++mark[col];\n        }\n}\n";
    let all = said(text);
    assert!(!all.contains("begins"), "{all}");
    assert!(all.contains("comes out of memory and may have the same value twice"), "{all}");
}

/// A sum of products of sizes is a sum of loop indices, and nobody can write it as another one.
#[test]
fn products_of_sizes_are_called_that() {
    let text = "void f(int h, int w, int s, int p, float *restrict out, const float *restrict in) {\n    for (int i = 0; i < h; ++i)\n        for (int j = 0; j < w; ++j) {\n            float m = 0;\n            for (int k = 0; k < p; ++k) {\n                int r = i * s + k, index = j + w * s * r;\n                if (r < p * s && index < w * p) m = in[index] > m ? in[index] : m;\n            }\n            out[i * w + j] = m;\n        }\n}\n";
    let all = said(text);
    assert!(!all.contains("`index` on line 7 is not a sum of loop indices"), "{all}");
    // of two counters no factor is fixed
    let square = said(
        "void f(int n, float *a) {\n    for (int i = 0; i < n; i++)\n        a[i * i % 7] = a[i * i];\n}\n",
    );
    assert!(!square.contains("products of several variables"), "{square}");
}

/// What a file is written with stands in it, and not in a macro.
#[test]
fn a_file_that_is_included_is_no_macro() {
    let by_macro =
        "#define LOOP for (int i = 0; i < n; i++) a[i] = i;\nvoid f(int n, float *a) {\n    LOOP\n}\n";
    let all = said(by_macro);
    assert!(all.contains("comes out of a macro"), "{all}");
}

/// A barrier between two statements leaves one that reads and writes as it is.
#[test]
fn a_statement_that_reads_what_it_writes_needs_a_barrier_inside() {
    let text = "// warpwright: launch(1, 32)\n__global__ void k(int *a) {\n    volatile __shared__ int s[64];\n    int t = threadIdx.x;\n    s[t] = a[t];\n    s[t] += s[t ^ 16];\n    a[t] = s[t];\n}\n";
    let all = said_of_cuda(text);
    assert!(all.contains("Line 6 reads what other lanes write there: read into a variable first"), "{all}");
    let apart = "// warpwright: launch(1, 32)\n__global__ void k(int *a) {\n    volatile __shared__ int s[64];\n    int t = threadIdx.x;\n    s[t] = a[t];\n    a[t] = s[t ^ 16];\n}\n";
    let all = said_of_cuda(apart);
    assert!(all.contains("__syncwarp()") && !all.contains("read into a variable first"), "{all}");
}

/// What is multiplied and added to is no sum.
#[test]
fn a_recurrence_of_two_operators_does_not_only_accumulate() {
    let horner = said("double f(int n, double x, const double *a) {\n    double s = 0;\n    for (int i = 0; i < n; i++) {\n        s *= x;\n        s += a[i];\n    }\n    return s;\n}\n");
    assert!(horner.contains("Each iteration needs `s`") && !horner.contains("only accumulates"), "{horner}");
}
