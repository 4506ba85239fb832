//! What all subscripts of an array begin with, and what changes between the test of an outer loop and an inner one.

mod common;

use analysis::Verdict;
use common::{last_loop_of_f, last_of_depth_zero};

/// `b * batch` in front of rows says nothing of rows; it is the same for all accesses, however their columns are told.
#[test]
fn an_offset_that_all_subscripts_have_is_set_aside() {
    let verdict = |text: &str| last_of_depth_zero(text).verdict;
    let groups = "void f(const float *restrict in, int n, int b, int batch, int count, int group, int step, float *restrict out) {
        for (int g = 0; g < count; g++) for (int i = 0; i < n; i++)
            out[b * batch + g * group + i * step] = in[b * batch + g * group + i * step]; }";
    assert_eq!(verdict(groups), Verdict::Independent);
    for meets in [
        "void f(int n, int b, int s, int m, int R, int K, float *a) { if (b < n) return;
            for (int j = 0; j < m; j++) for (int r = 0; r < R; r++) for (int k = 0; k < K; k++)
                a[b + r * n + j] += a[b + r * n + k * s + 1]; }",
        "void f(int n, int b, int s, int m, int R, int K, float *a) { if (b < n) return;
            for (int j = 0; j < m; j++) for (int r = 0; r < R; r++) for (int k = 0; k < K; k++) for (int q = 0; q < s; q++)
                a[b + r * n + j] += a[b + r * n + k * s + q]; }",
    ] {
        assert_ne!(verdict(meets), Verdict::Independent, "{meets}");
    }
}

/// A bound that others reach may be another one when the inner loop runs.
#[test]
fn a_bound_that_may_have_changed_says_nothing_of_an_inner_loop() {
    for function in [
        "int g; void f(double *restrict p, int k, int *q) { for (int i = 0; i < g; i++) { *q = 0; for (int j = 0; j < k; j++) p[g + j] = p[i] + 1; } }",
        "void f(double *restrict p, int k) { int l = k, *r = &l; for (int i = 0; i < l; i++) { r[0] = 0; for (int j = 0; j < k; j++) p[l + j] = p[i] + 1; } }",
        "int g; void ext(void); void f(double *restrict p, int k) { for (int i = 0; i < g; i++) { ext(); for (int j = 0; j < k; j++) p[g + j] = 2 * p[i]; } }",
        "typedef struct { int c; } t; void f(double *restrict p, int k, t m) { for (int i = 0; i < m.c; i++) { m.c--; for (int j = 0; j < k; j++) p[m.c + j] = 2 * p[i]; } }",
    ] {
        assert_ne!(last_loop_of_f(function).verdict, Verdict::Independent, "{function}");
    }
    let still = "typedef struct { int c; } t; void f(double *restrict p, int k, t m) { for (int i = 0; i < m.c; i++) { for (int j = 0; j < k; j++) p[m.c + j] = 2 * p[i]; } }";
    assert_eq!(last_loop_of_f(still).verdict, Verdict::Independent);
}
