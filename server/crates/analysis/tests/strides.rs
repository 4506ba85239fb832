//! Variables that move by what the function is given (`ix += incx;`), as vectors with strides are gone through.

mod common;

use analysis::{ConditionKind, LoopFacts, Verdict};
use common::last_of_depth_zero;

fn asks_of_signs(l: &LoopFacts) -> bool {
    l.conditions.iter().any(|c| matches!(c.kind, ConditionKind::StepSign(_)))
}

/// What is read alone may be read forwards and backwards.
#[test]
fn what_only_tells_what_is_read_has_no_sign() {
    for (text, verdict) in [
        ("double f(const double *x, int n, int inc) { double s = 0; int ix = 0; for (int i = 0; i < n; i++) { s += x[ix]; ix += inc; } return s; }", Verdict::Reduction),
        ("void f(const float *x, float *a, int n, int m, int inc, int lda, int kx) { for (int j = 0; j < n; j++) { int ix = kx; for (int i = 0; i < m; i++) { a[i + j * lda] += x[ix]; ix += inc; } } }", Verdict::Independent),
        ("void f(const float *x, float *a, int n, int inc, int lda, int kx) { int jx = kx; for (int j = 0; j < n; j++) { float t = x[jx]; int ix = kx; for (int i = 0; i <= j; i++) { a[i + j * lda] += t * x[ix]; ix += inc; } jx += inc; } }", Verdict::Independent),
    ] {
        let l = last_of_depth_zero(text);
        assert_eq!(l.verdict, verdict, "{text}");
        assert!(!asks_of_signs(&l), "{text}");
    }
    // of what is written it is one cell again where nothing moves, whichever way it goes
    let written = last_of_depth_zero(
        "void f(float *y, int n, int inc) { int iy = 0; for (int i = 0; i < n; i++) { y[iy] *= 2; iy += inc; } }",
    );
    let is_alone = |c: &analysis::Condition| {
        matches!(c.kind, ConditionKind::InRow { columns: analysis::Columns::Alone, .. })
    };
    assert_eq!(written.verdict, Verdict::Independent);
    assert!(!asks_of_signs(&written) && written.conditions.iter().any(is_alone));
}

#[test]
fn what_iterations_share_they_share_in_steps_too() {
    for text in [
        "void f(float *y, int n, int m, int inc, int ky) { for (int j = 0; j < n; j++) { int iy = ky; for (int i = 0; i < m; i++) { y[iy] = y[iy] / 2 + j; iy += inc; } } }",
        "void f(float *a, const float *x, int n, int m, int inc) { int ix = 0; for (int j = 0; j < n; j++) { for (int i = 0; i < m; i++) { a[ix] += x[i]; inc = -inc; ix += inc; } } }",
        "void f(float *a, const float *x, int n, int inc) { int ix = 0, k = 0; for (int i = 0; i < n; i++) { k = ix; a[k] = a[k] / 2 + x[ix]; ix += inc; if (x[i] > 0) ix = 0; } }",
    ] {
        assert_ne!(last_of_depth_zero(text).verdict, Verdict::Independent, "{text}");
    }
}

/// Where a step is as large as all that is touched between, the host may tell that nothing meets.
#[test]
fn what_a_test_tells_apart_is_asked_for() {
    for text in [
        "void f(float *a, int n, int inc) { int ix = 0; for (int i = 0; i < n; i++) { a[i] = a[ix] / 2; ix += inc; } }",
        "void f(float *a, float *b, int n, int m, int inc) { for (int j = 0; j < n; j++) { int ix = j; for (int i = 0; i < m; i++) { a[ix] = b[j] + i; ix += inc; } } }",
    ] {
        let l = last_of_depth_zero(text);
        let rows = l.conditions.iter().filter(|c| matches!(c.kind, ConditionKind::InRow { .. }));
        assert!(l.verdict == Verdict::Independent && rows.count() > 0, "{text}");
    }
}

/// What is even stays below the largest unsigned number, and so does the next one.
#[test]
fn nothing_wraps_between_two_multiples() {
    let asked = |text: &str| {
        let l = last_of_depth_zero(text);
        l.conditions.iter().filter(|c| matches!(c.kind, ConditionKind::NoWrap(_))).count()
    };
    let of = |add: &str| {
        format!("void f(float *restrict x, const float *restrict y, unsigned long n, unsigned long s) {{ for (unsigned long i = 0; i < n; i++) x[4 * s * i{add}] = y[i]; }}")
    };
    let alone = asked(&of(""));
    assert_eq!((asked(&of(" + 1")), asked(&of(" + 3"))), (alone, alone));
    assert!(asked(&of(" + 4")) > alone && asked(&of(" + s")) > alone);
}

/// Red and black cells of a cube in turn: where a row begins depends on the rows around, and stays inside it.
#[test]
fn cells_of_two_colours_stay_in_their_rows() {
    for start in ["1 + ((k + j + c) & 1)", "1 + (k + j + c) % 2", "2 - ((k + j + c) & 1)"] {
        let text = format!(
            "void f(double *u, const double *b, int n, int c) {{ if (c < 0) return;
               for (int k = 1; k < n - 1; k++) for (int j = 1; j < n - 1; j++) for (int i = {start}; i < n - 1; i += 2) {{
                 unsigned long at = ((unsigned long)k * n + j) * n + i;
                 u[at] = b[at] + u[at - 1] + u[at + 1] + u[((unsigned long)(k - 1) * n + j) * n + i] + u[((unsigned long)k * n + (j + 1)) * n + i]; }} }}"
        );
        let all = common::loops_of_f(&text);
        for l in &all {
            let asked = l.conditions.iter().filter(|c| {
                matches!(c.kind, ConditionKind::InRow { .. }) && c.met_by != analysis::MetBy::Proof
            });
            assert_eq!((l.verdict, asked.count()), (Verdict::Independent, 0), "{text} {:?}", l.obstacles);
        }
        assert_eq!(all.len(), 3);
    }
}
