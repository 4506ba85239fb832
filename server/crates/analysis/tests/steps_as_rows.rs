//! Loops that go on by what is no constant (`for (b = 0; b < n; b += s)`), where that is the length of rows: tiles, butterflies.

mod common;

use analysis::{ConditionKind, LoopFacts, MetBy, Verdict};
use common::last_of_depth_zero;

/// What of a verdict rests on how long rows are, and is not proved.
fn asks_of_rows(l: &LoopFacts) -> bool {
    let is_row = |k: &ConditionKind| matches!(k, ConditionKind::InRow { .. });
    l.conditions.iter().any(|c| is_row(&c.kind) && c.met_by != MetBy::Proof)
}

fn asks_of_step(l: &LoopFacts) -> bool {
    l.conditions
        .iter()
        .any(|c| matches!(c.kind, ConditionKind::StepSign(_)) && c.met_by == MetBy::RunTimeCheck)
}

/// With what loops around go on by in capitals.
fn written_out(text: &str) -> String {
    let tiles = if text.starts_with("HEAD") {
        "for (int b0 = 0; b0 < n; b0 += s)"
    } else {
        "for (int b = 0; b < n; b += s)"
    };
    text.replace("HEAD", "void f(int n, int s, const double *restrict a, const double *restrict b, double *restrict c)")
        .replace("TILES", tiles)
        .replace("BLOCKS", "for (int ii = 0; ii < n; ii += s) for (int jj = 0; jj < n; jj += s) for (int kk = 0; kk < n; kk += s)")
        .replace("ROWS", "for (int i = ii; i < (ii + s < n ? ii + s : n); i++)")
        .replace("COLUMNS", "for (int j = jj; j < (jj + s < n ? jj + s : n); j++)")
        .replace("SUM", "{ double t = c[i * n + j]; for (int k = kk; k < (kk + s < n ? kk + s : n); k++) t += a[i * n + k] * b[k * n + j]; c[i * n + j] = t; }")
        .replace("SWAP", "double t = x[j]; x[j] = x[i] - t; x[i] += t;")
        .replace("PAIRS", "float t = x[j], u = x[j + 1]; x[j] = x[i] - t; x[j + 1] = x[i + 1] - u; x[i] += t; x[i + 1] += u;")
}

const APART: [&str; 17] = [
    "void f(int n, int s, float *a) { TILES for (int i = b; i < b + s; i++) a[i] = a[i] * 2; }",
    "void f(int n, int s, float *a) { TILES for (int i = b; i < b + s && i < n; i++) a[i] = a[i] * 2; }",
    "void f(int n, int s, float *a) { TILES for (int i = b; i < (b + s < n ? b + s : n); i++) a[i] = a[i] * 2; }",
    "void f(int n, int s, float *a) { TILES { int end = b + s; if (end > n) end = n; for (int i = b + 1; i < end; i++) a[i] += a[i - 1]; } }",
    "void f(int n, int s, float *a) { TILES { int end = b + s < n ? b + s : n; for (int i = b + 1; i < end; i++) a[i] += a[i - 1]; } }",
    "void f(int n, int s, float *a) { TILES for (int i = 0; i < s; i++) a[b + i] += a[b]; }",
    "void f(int n, int s, float *a) { for (int b = n - s; b >= 0; b -= s) for (int i = b; i < b + s; i++) a[i] = a[i] / 2 + a[b]; }",
    "void f(int n, int h, int *x) { for (int i = 0; i < n; i += 2 * h) for (int j = i; j < i + h; j++) { int u = x[j], v = x[j + h]; x[j] = u + v; x[j + h] = u - v; } }",
    "void f(int n, int m, double *x) { int step = 2 * m; for (int k = 0; k < m; k++) for (int i = k; i < n; i += step) { int j = i + m; SWAP } }",
    "void f(int n, int m, double *x) { int step = m << 1; for (int k = 1; k < m; k += 2) for (int i = k; i <= n; i += step) { int j = i + m; PAIRS } }",
    "void f(unsigned long n, unsigned long m, float *x) { unsigned long step = m << 1; for (unsigned long k = 1; k < m; k += 2) for (unsigned long i = k; i <= n; i += step) { unsigned long j = i + m; PAIRS } }",
    "void f(int n, int m, double *x) { if (m < 1) return; int step = 2 * m; for (int i = 0; i < n; i += step) { int j = i + m; SWAP } }",
    "void f(int n, int s, float *a) { if (s > 2) TILES { a[b] = a[b + 1]; a[b + 2] = b; } }",
    "void f(int n, int s, float *a) { TILES for (int i = b + 1; i <= b + s; i++) a[i] = a[i] / 2 + a[b + 1]; }",
    "HEAD { BLOCKS ROWS COLUMNS SUM }",
    "HEAD { TILES { double t = 0; for (int i = b0; i < b0 + s && i < n; i++) t += a[i]; c[b0 / s] = t; } }",
    "HEAD { TILES { for (int i = b0; i < b0 + s && i < n; i++) c[i] += c[b0 % s + b0]; } }",
];

#[test]
fn tiles_and_butterflies_lie_apart() {
    for text in APART {
        let l = last_of_depth_zero(&written_out(text));
        assert_eq!(l.verdict, Verdict::Independent, "{text} {:?}", l.obstacles);
        assert!(!asks_of_rows(&l), "{text} {:?}", l.conditions);
    }
}

/// That a step is positive is tested, where it is not known; as is what the text leaves open of how long tiles are.
#[test]
fn what_the_text_leaves_open_is_tested() {
    for (text, of_step, of_rows) in [
        (APART[0], true, false),
        (APART[11], false, false),
        (APART[12], false, false),
        ("void f(int n, int s, int t, float *a) { TILES for (int i = b; i < b + t; i++) a[i] = a[i] / 2 + 1; }", true, true),
        ("void f(int n, int s, float *a) { TILES { a[b] = a[b + 1]; a[b + 2] = b; } }", true, true),
        ("void f(int n, int len, double *x, double *y) { int half = len / 2; for (int i = 0; i < n; i += len) for (int k = 0; k < half; k++) { double t = x[i + k + half], u = y[i + k + half]; x[i + k + half] = x[i + k] - t; y[i + k + half] = y[i + k] - u; x[i + k] += t; y[i + k] += u; } }", true, true),
    ] {
        let l = last_of_depth_zero(&written_out(text));
        assert_eq!(l.verdict, Verdict::Independent, "{text} {:?}", l.obstacles);
        assert_eq!((asks_of_step(&l), asks_of_rows(&l)), (of_step, of_rows), "{text} {:?}", l.conditions);
    }
    // memory that says how long a step is must not be what is written
    let l = last_of_depth_zero("void f(int n, int *s, int *a) { for (int b = 0; b < n; b += *s) for (int i = b; i < b + *s; i++) a[i] = a[i] / 2 + 1; }");
    let apart = |c: &analysis::Condition| {
        matches!(c.kind, ConditionKind::NoAlias(..)) && c.met_by == MetBy::RunTimeCheck
    };
    assert!(l.verdict == Verdict::Independent && l.conditions.iter().any(apart), "{:?}", l.conditions);
    // a number that goes round may be no multiple of the step
    let l = last_of_depth_zero(&written_out(APART[10]));
    let wraps = |k: &ConditionKind| matches!(k, ConditionKind::NoWrap(_) | ConditionKind::Terminates(_));
    let tested = l.conditions.iter().filter(|c| wraps(&c.kind) && c.met_by == MetBy::RunTimeCheck);
    assert!(tested.count() >= 2, "{:?}", l.conditions);
}

/// Rows that are longer than a step, steps that are no rows, cells of the next one.
const MEETING: [&str; 26] = [
    "void f(int n, int s, float *a) { TILES for (int i = b; i <= b + s; i++) a[i] = a[i] * 2 + 1; }",
    "void f(int n, int s, float *a) { TILES for (int i = b; i < b + s; i++) a[i] = a[i + s]; }",
    "void f(int n, int s, float *a) { TILES for (int i = b; i < b + s; i++) a[i] = a[i + 1]; }",
    "void f(int n, int s, float *a) { TILES for (int i = b; i < b + s; i++) a[i] = a[i - 1]; }",
    "void f(int n, int s, float *a) { TILES for (int i = b; i < b + s; i++) a[i] = a[0] + i; }",
    "void f(int n, int s, float *a) { TILES for (int i = b; i < b + 2 * s; i++) a[i] = a[i] / 2 + 1; }",
    "void f(int n, int s, float *a) { TILES for (int i = 0; i < b; i++) a[i] = a[i] / 2 + b; }",
    "void f(int n, int s, float *a) { TILES { for (int i = b; i < b + s; i++) a[i] = a[i] / 2 + b; s++; } }",
    "void f(int n, int *s, int *a) { for (int b = 0; b < n; b += *s) { for (int i = b; i < b + *s; i++) a[i] = a[i] / 2 + 1; *s = *s / 2 + 1; } }",
    "void f(int n, int m, double *x) { int step = 2 * m; for (int k = 0; k < m; k++) for (int i = k; i < n; i += step) { int j = i + m + 1; SWAP } }",
    "void f(int n, int m, double *x) { int step = 2 * m; for (int k = 0; k <= m; k++) for (int i = k; i < n; i += step) { int j = i + m; SWAP } }",
    "void f(int n, int m, double *x) { int step = 2 * m; for (int k = 0; k < step; k++) for (int i = k; i < n; i += step) { int j = i + m; SWAP } }",
    "void f(int n, int m, double *x) { for (int i = 0; i < n; i += m) { int j = i + m; SWAP } }",
    "void f(int n, int m, double *x) { int step = 2 * m; m = m + 1; for (int k = 0; k < m; k++) for (int i = k; i < n; i += step) { int j = i + m; SWAP } }",
    "void f(int n, int m, double *x) { int step = m << 1; for (int k = 1; k < m; k += 1) for (int i = k; i <= n; i += step) { int j = i + m; PAIRS } }",
    "void f(unsigned n, unsigned m, double *x) { unsigned step = 2 * m; for (unsigned k = 0; k < 2 * m; k++) for (unsigned i = k; i < n; i += step) { unsigned j = i + m; SWAP } }",
    "void f(int n, int h, int *x) { for (int i = 0; i < n; i += h) for (int j = i; j < i + h; j++) { int u = x[j], v = x[j + h]; x[j] = u + v; x[j + h] = u - v; } }",
    "void f(int n, int s, int t, float *a) { TILES for (int i = b; i < b + t; i++) a[i] = a[i] / 2 + 1; }",
    "void f(int n, int s, float *a) { TILES { a[b] = a[b + 1]; a[b + 2] = b; } }",
    "void f(int n, int s, float *a) { TILES for (int c = 0; c < n; c += s) for (int i = c; i < c + s; i++) a[i] = a[i] / 2 + b; }",
    "HEAD { for (int kk = 0; kk < n; kk += s) for (int ii = 0; ii < n; ii += s) for (int jj = 0; jj < n; jj += s) ROWS COLUMNS SUM }",
    "HEAD { for (int ii = 0; ii < n; ii += s) for (int jj = 0; jj < n; jj += s) ROWS for (int j = jj; j < jj + s; j++) c[i * n + j] = c[i * n + j] / 2 + ii; }",
    "HEAD { for (int ii = 0; ii < n; ii += s) for (int jj = 0; jj < n; jj += s) ROWS COLUMNS c[i * n + j + 1] = c[i * n + j] / 2 + ii; }",
    "HEAD { for (int ii = 0; ii < n; ii += s) for (int jj = 0; jj < n; jj += s) ROWS COLUMNS c[i * n + j] = c[j * n + i] / 2 + ii; }",
    "HEAD { TILES { double t = 0; for (int i = b0; i < b0 + s && i < n; i++) t += a[i]; c[b0 / s / 2] = t; } }",
    "HEAD { TILES { double t = 0; for (int i = b0; i < b0 + s && i < n; i++) t += a[i]; c[b0 % s] = t; } }",
];

#[test]
fn what_reaches_over_a_step_is_not_apart() {
    for text in MEETING {
        let l = last_of_depth_zero(&written_out(text));
        let is_parallel = matches!(l.verdict, Verdict::Independent | Verdict::Reduction);
        assert!(!is_parallel || asks_of_rows(&l), "{text} {:?} {:?}", l.verdict, l.conditions);
    }
}
