//! Elements that lie so many apart: apart where that is not nothing, in whichever direction it goes.

mod common;

use analysis::{Columns, ConditionKind, LoopFacts, MetBy, Pred, Verdict};
use common::last_of_depth_zero;

/// The run-time tests of rows: which columns of them are used, and whether they only ask for a length that is not 0.
fn asked(l: &LoopFacts) -> Vec<(Columns, bool)> {
    let tests = l.conditions.iter().filter(|c| c.met_by == MetBy::RunTimeCheck);
    let rows = tests.filter_map(|c| match c.kind {
        ConditionKind::InRow { columns, .. } => {
            let differs = matches!(&c.check, Some(Pred::Not(p)) if matches!(**p, Pred::Zero(_)));
            Some((columns, differs))
        }
        _ => None,
    });
    rows.collect()
}

#[test]
fn a_step_may_go_both_ways() {
    for text in [
        "void f(int n, float a, const float *restrict x, int incx, float *restrict y, int incy) { for (int i = 0; i < n; i++) y[i * incy] += a * x[i * incx]; }",
        "void f(int n, const double *restrict x, double *restrict y, int incy, int ky) { int iy = ky; for (int i = 0; i < n; i++) { y[iy] = x[i]; iy += incy; } }",
        "void f(int n, double *restrict y, int incy) { int iy = incy < 0 ? (1 - n) * incy : 0; for (int i = 0; i < n; i++) { y[iy] *= 2; iy += incy; } }",
        "void f(int n, double *restrict y, int a, int b) { for (int i = 0; i < n; i++) y[i * a * b] = i; }",
        "void f(int n, double *restrict y, int s) { for (int i = 0; i < n; i++) y[i * s + 7] += y[i * s + 7]; }",
    ] {
        let l = last_of_depth_zero(text);
        assert_eq!(l.verdict, Verdict::Independent, "{text} {:?}", l.obstacles);
        let rows = asked(&l);
        assert!(!rows.is_empty() && rows.iter().all(|r| *r == (Columns::Alone, true)), "{text} {rows:?}");
        let signs = l.conditions.iter().filter(|c| matches!(c.kind, ConditionKind::StepSign(_)));
        assert_eq!(signs.count(), 0, "{text}");
    }
}

#[test]
fn more_than_one_column_asks_for_more() {
    for text in [
        "void f(int n, double *restrict y, int s) { for (int i = 0; i < n; i++) { y[i * s] = i; y[i * s + 1] = 2; } }",
        "void f(int n, double *restrict y, int s) { for (int i = 0; i < n; i++) for (int j = 0; j < 3; j++) y[i * s + j] = i; }",
        "void f(int n, double *restrict y, int s, int k) { for (int i = 0; i < n; i++) { y[i * s + k] = i; y[i * s + k + 2] = 2; } }",
        "void f(int n, double *restrict y, int s) { int at = 0; for (int i = 0; i < n; i++) { y[at] = y[at + 1]; at += s; } }",
        "void f(int n, double *restrict y, int s, int t) { for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) { y[i * s + j] = i; } }",
    ] {
        let l = last_of_depth_zero(text);
        let rows = asked(&l);
        let is_safe = l.verdict != Verdict::Independent || rows.iter().any(|r| !r.1);
        assert!(is_safe, "{text} {:?}", l.conditions);
    }
}

#[test]
fn cells_that_are_shared_are_shared_in_every_direction() {
    for text in [
        "void f(int n, double *restrict y, int s) { for (int i = 0; i < n; i++) y[i * s] = y[(i + 1) * s] / 2; }",
        "void f(int n, double *restrict y, int s) { for (int i = 0; i < n; i++) y[i / 2 * s] = i; }",
        "void f(int n, int m, double *restrict y, int s) { for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) y[j * s] = i + y[j * s] / 2; }",
        "void f(int n, int m, double *restrict y, int s) { for (int i = 0; i < n; i++) { int at = 0; for (int j = 0; j < m; j++) { y[at] = i + y[at] / 2; at += s; } } }",
        "void f(int n, double *restrict y, int s) { int at = 0; for (int i = 0; i < n; i++) { y[at] = y[at + s] / 2; at += s; } }",
        "void f(int n, double *restrict y, int s) { int at = 0; for (int i = 0; i < n; i++) { y[at] = i; if (y[at] > n) at += s; } }",
        "void f(int n, double *restrict y, int s) { int at = 0; for (int i = 0; i < n; i++) { y[at] = i; at += s; s = -s; } }",
        "void f(int n, double *restrict y, int s) { int at = 0; for (int i = 0; i < n; i++) { y[at] = i; at += s; at -= s; } }",
        "void f(int n, double *restrict y, int s) { for (int i = 0; i < n; i++) y[(i - i) * s] = i; }",
        "void f(int n, double *restrict y, int s) { for (int i = 0; i < n; i++) y[(i % 3) * s] = i; }",
        "void f(int n, double *restrict y, int s) { for (int i = -n; i < n; i++) y[i * i * s] = y[i * i * s] / 2 + i; }",
    ] {
        let l = last_of_depth_zero(text);
        let verdict = l.verdict;
        assert!(matches!(verdict, Verdict::Unknown | Verdict::Sequential), "{text}: {verdict:?} {:?}", l.conditions);
    }
}

/// Margins of a grid of one dimension: rows that no counter numbers.
#[test]
fn fixed_rows_are_rows() {
    for text in [
        "void f(int nx, int ny, double *restrict u) { int w = nx + 2; for (int i = 0; i < w; i++) { u[i] = u[ny * w + i]; u[(ny + 1) * w + i] = u[w + i]; } }",
        "void f(int nx, int ny, double *restrict u) { for (int i = 1; i <= nx; i++) { u[i] = u[ny * (nx + 2) + i]; u[(ny + 1) * (nx + 2) + i] = u[nx + 2 + i]; } }",
    ] {
        let l = last_of_depth_zero(text);
        let open = l.conditions.iter().filter(|c| c.met_by != MetBy::Proof);
        assert_eq!((l.verdict, open.count()), (Verdict::Independent, 0), "{text} {:?}", l.obstacles);
    }
    for text in [
        "void f(int nx, int ny, double *restrict u) { int w = nx + 2; for (int i = 0; i <= w; i++) { u[i] = u[ny * w + i]; u[(ny + 1) * w + i] = u[w + i]; } }",
        "void f(int nx, int ny, double *restrict u) { int w = nx + 2; for (int i = 0; i < w; i++) { u[i] = u[ny * w + i + 1]; u[(ny + 1) * w + i] = u[w + i]; } }",
        "void f(int nx, int ny, double *restrict u) { int w = nx + 2; for (int i = 0; i < w; i++) u[ny * w + i] = u[nx * w + w - 1 - i]; }",
    ] {
        let l = last_of_depth_zero(text);
        let open = l.conditions.iter().filter(|c| c.met_by != MetBy::Proof);
        assert!(l.verdict != Verdict::Independent || open.count() > 0, "{text}");
    }
}

/// What the caller asserts before the loop, a callee need not be asked again.
#[test]
fn what_was_asserted_before_is_not_asked_again() {
    let text = |before: &str| {
        format!(
            "#include <assert.h>\n struct image {{ int w, h, c; float *data; }};
             static float get(struct image m, int x, int y, int c) {{ assert(x < m.w && y < m.h && c < m.c); return m.data[c * m.h * m.w + y * m.w + x]; }}
             void f(struct image im, float *restrict out, int k) {{ {before} for (int j = 0; j < im.h; j++) for (int i = 0; i < im.w; i++) out[j * im.w + i] = get(im, i, j, 2); }}"
        )
    };
    let asked = |before: &str| {
        let l = last_of_depth_zero(&text(before));
        if l.verdict != Verdict::Independent {
            return None;
        }
        let open = |c: &&analysis::Condition| {
            matches!(c.kind, ConditionKind::Asserted(_)) && c.met_by != MetBy::Proof
        };
        Some(l.conditions.iter().filter(open).count())
    };
    for before in ["assert(im.c == 3);", "assert(im.c > 2); k++; out[0] = 1;", "if (im.c != 3) return;"] {
        assert_eq!(asked(before), Some(0), "{before}");
    }
    for before in [
        "assert(im.c == 2);",
        "assert(k == 3);",
        "assert(im.c == 3); im.c = k;",
        "assert(im.c == 3 || k);",
        "if (k) assert(im.c == 3);",
        "assert(im.c == 3); struct image *p = &im; p->c = 1;",
        "assert(im.c == 3); for (int q = 0; q < k; q++) im.c--;",
        "",
    ] {
        assert_ne!(asked(before), Some(0), "{before}");
    }
}

/// Whether nothing is asked of the step.
fn is_proved(text: &str) -> bool {
    let l = last_of_depth_zero(text);
    assert_eq!(l.verdict, Verdict::Independent, "{text} {:?}", l.obstacles);
    asked(&l).is_empty()
}

/// Who comes past `if (incy == 0) return;` has a step, and so has who comes past checks that leave a number behind.
#[test]
fn a_step_that_was_tested_is_not_tested_again() {
    let f = |before: &str, at: &str| {
        format!("int f(int n, double *restrict y, int incy, int info) {{ {before} for (int i = 0; i < n; i++) y[{at}] = 0; return 0; }}")
    };
    let at = "i * incy";
    for before in [
        "if (incy == 0) return 1;",
        "if (!incy) return 1;",
        "if (n < 0 || incy == 0) return 1;",
        "info = 0; if (n < 0) info = 1; else if (incy == 0) info = 2; if (info != 0) return 1;",
        "info = 0; if (n < 0) { info = 1; } else if (incy == 0) { info = 2; } else if (n > 9) { info = 3; } if (info) return 1;",
        "info = 0; if (n < 0) info = 1; if (incy == 0) info = 2; if (0 != info) return 1;",
    ] {
        assert!(is_proved(&f(before, at)), "{before}");
        assert!(is_proved(&f(before, "2 * (i * incy)")), "{before}");
    }
    for before in [
        "",
        "if (incy == 1) return 1;",
        "if (incy == 0) n = 1;",
        "if (incy == 0) return 1; incy--;",
        "if (incy == 0 && n > 5) return 1;",
        "info = 0; if (incy == 0) info = 2; info = 0; if (info != 0) return 1;",
        "info = 0; if (incy == 0) info = 0; if (info != 0) return 1;",
        "info = 0; if (incy == 0) info = n; if (info != 0) return 1;",
        "info = 0; if (incy == 0) info = 2; if (info != 0) return 1; incy = n - 4;",
        "info = 0; if (incy == 0) info = 2; incy--; if (info != 0) return 1;",
        "info = 0; if (incy == 0) { info = 2; incy = n; } if (info != 0) return 1;",
        "info = 0; if (info == 0) info = 3; else if (incy == 0) info = 2; if (info != 3) return 1;",
        "info = 0; if (incy == 0) info = 2; if (info == 0) return 1;",
        "while (n > 99) { info = 0; if (incy == 0) info = 2; if (info != 0) return 1; incy--; n--; }",
        "info = 0; if (incy == 0) info = 2; else info = 3; if (info != 0) return 1;",
    ] {
        assert!(!is_proved(&f(before, at)), "{before}");
    }
}
