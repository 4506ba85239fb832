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
