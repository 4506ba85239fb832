//! A thread a cell where a parallel loop has parallel loops that do not stand alone in it.

use expect_test::{expect, Expect};

use super::{full, open};
use crate::{offload, verify, Ask, Outcome, VerifyOptions, Which};

/// The kernels' blocks, grids and axes of a loop's offload, which is run beside the loop.
fn check(code: &str, line: u32, expected: Expect) {
    let doc = open(code);
    let (ask, findings) = (Ask::thorough(&doc), full(&doc));
    let done = offload(&ask, &findings, &Which::Line(line)).expect("a kernel");
    let kernels = done.loops.iter().flat_map(|l| &l.kernels);
    let said: Vec<String> = kernels.map(|k| format!("{:?} {:?}\n", k.block, k.grid)).collect();
    expected.assert_eq(&said.concat());
    let ran = verify(&ask, &findings, &Which::Line(line), &VerifyOptions::default());
    assert!(ran.iter().all(|r| r.outcome == Outcome::Same), "{:?}", ran.first().map(|r| &r.summary));
}

#[test]
fn a_product_that_scales_first() {
    check(
        "void f(int n, int m, double b, double C[n][m], double A[n][n], double B[n][m])\n{\n    for (int i = 0; i < n; i++) {\n        for (int j = 0; j < m; j++)\n            C[i][j] *= b;\n        for (int k = 0; k < n; k++)\n            for (int j = 0; j < m; j++)\n                C[i][j] += A[i][k] * B[k][j];\n    }\n}\n",
        3,
        expect![[r#"
            [32, 8, 1] ["(ww_threads_y + 7) / 8", "(ww_threads_x + 31) / 32"]
        "#]],
    );
}

#[test]
fn cells_on_both_sides_of_the_diagonal() {
    check(
        "void f(int n, int m, double C[n][n], double A[m][n])\n{\n    for (int i = 0; i < n; i++) {\n        C[i][i] = 1;\n        for (int j = i + 1; j < n; j++) {\n            C[i][j] = 0;\n            for (int k = 0; k < m; k++)\n                C[i][j] += A[k][i] * A[k][j];\n            C[j][i] = C[i][j];\n        }\n    }\n}\n",
        3,
        expect![[r#"
            [32, 8, 1] ["(ww_threads_y + 7) / 8", "(ww_threads_x + 31) / 32"]
        "#]],
    );
}

/// Where an iteration's own variable ties its cells together, threads are iterations as before.
#[test]
fn rows_with_a_sum_of_their_own() {
    check(
        "void f(int n, int m, double C[n][m])\n{\n    for (int i = 0; i < n; i++) {\n        double s = 0;\n        for (int j = 0; j < m; j++)\n            s += C[i][j];\n        for (int j = 0; j < m; j++)\n            C[i][j] /= s;\n    }\n}\n",
        3,
        expect![[r#"
            [256, 1, 1] ["(ww_trips_i + 255) / 256"]
        "#]],
    );
    // three rounds are not worth threads
    check(
        "void f(int n, double C[n][3], double A[n][3])\n{\n    for (int i = 0; i < n; i++) {\n        for (int j = 0; j < 3; j++)\n            C[i][j] = 0;\n        for (int k = 0; k < 3; k++)\n            for (int j = 0; j < 3; j++)\n                C[i][j] += A[i][k] * A[i][j];\n    }\n}\n",
        3,
        expect![[r#"
            [256, 1, 1] ["(ww_trips_i + 255) / 256"]
        "#]],
    );
}

/// What the last iteration leaves in the work array is that of the last of both loops.
#[test]
fn a_work_array_within_two_loops() {
    check(
        "void f(int n, int m, int p, double A[n][m][p], double W[p], double s[p])\n{\n    for (int i = 0; i < n; i++)\n        for (int j = 0; j < m; j++) {\n            for (int k = 0; k < p; k++) {\n                s[k] = 0;\n                for (int l = 0; l < p; l++)\n                    s[k] += A[i][j][l] * W[l];\n            }\n            for (int k = 0; k < p; k++)\n                A[i][j][k] = s[k];\n        }\n}\n",
        3,
        expect![[r#"
            [32, 8, 1] ["(ww_trips_i + 7) / 8", "(ww_trips_j + 31) / 32"]
        "#]],
    );
    // the inner loop may have no last iteration
    check(
        "void f(int n, int p, double A[n][n][p], double s[p])\n{\n    for (int i = 0; i < n; i++)\n        for (int j = i; j < n - 1; j++) {\n            for (int k = 0; k < p; k++)\n                s[k] = A[i][j][k] + 1;\n            for (int k = 0; k < p; k++)\n                A[i][j][k] = s[k] * s[p - 1 - k];\n        }\n}\n",
        3,
        expect![[r#"
            [256, 1, 1] ["(ww_trips_j + 255) / 256"]
        "#]],
    );
}

/// Values that many others are mixed into, as in ciphers, cost no questions about where they lie: this ended at the limit of steps.
#[test]
fn long_straight_code_is_judged() {
    let mut rounds = String::new();
    let names = ["a", "b", "c", "d", "e", "f", "g", "h"];
    for k in 0..64 {
        let v = |n: usize| names[(n + 64 - k) % 8];
        rounds += &format!("    P({}, {}, {}, {}, w[{}], {}u)\n", v(0), v(3), v(4), v(7), k % 16, k * 77_777);
        rounds += &format!("    w[{}] += R(w[{}], 7) ^ w[{}];\n", k % 16, (k + 1) % 16, (k + 9) % 16);
    }
    let text = format!(
        "#define R(x, n) (((x) << n) | ((x) >> (32 - n)))\n#define P(a, d, e, h, x, k) {{ unsigned t = h + (R(e, 6) ^ R(e, 11)) + x + k; d += t; h = t + (R(a, 2) ^ R(a, 13)); }}\n__global__ void mix(const unsigned *in, unsigned *out, int n) {{\n    int id = blockIdx.x * blockDim.x + threadIdx.x;\n    if (id >= n) return;\n    unsigned w[16], a = 1, b = 2, c = 3, d = 4, e = 5, f = 6, g = 7, h = 8;\n    for (int i = 0; i < 16; i++) w[i] = in[id * 16 + i];\n{rounds}    out[id * 2] = a + b + c + d;\n    out[id * 2 + 1] = e + f + g + h;\n}}\nvoid go(const unsigned *in, unsigned *out, int n) {{ mix<<<(n + 255) / 256, 256>>>(in, out, n); }}\n"
    );
    let doc = super::open_cuda(&text);
    let report = crate::kernel_reports(&crate::Ask::thorough(&doc), &[]).remove(0);
    assert_eq!(report.races.verdict, "race-free", "{:?}", report.races.reason);
}
