//! Rows with room for a fixed number of elements, of which an array says how many are used: apart where none has more than there is room
//! for, which the host sees before the loop.

mod common;

use analysis::{ConditionKind, MetBy, Verdict};
use common::last_of_depth_zero;

/// The verdict, and what lengths are to be at most where that is tested.
fn at_most(text: &str) -> (Verdict, Vec<(bool, u64)>) {
    let l = last_of_depth_zero(text);
    let asked = l.conditions.iter().filter(|c| c.met_by == MetBy::RunTimeCheck);
    let most = asked.filter_map(|c| match c.kind {
        ConditionKind::AtMost { term, number, .. } => Some((term.is_some(), number)),
        _ => None,
    });
    (l.verdict, most.collect())
}

#[test]
fn rows_are_apart_where_their_lengths_are_at_most_their_room() {
    for (text, most) in [
        ("void f(int n, const int *restrict len, double *restrict a) { for (int i = 0; i < n; i++) for (int j = 0; j < len[i]; j++) a[64 * i + j] = j; }", (false, 64)),
        ("void f(int n, int m, const int *restrict len, double *restrict a) { for (int i = 0; i < n; i++) for (int j = 0; j < len[i]; j++) a[i * m + j] += 1; }", (true, 0)),
        ("void f(int n, const int *restrict len, double (*restrict a)[32]) { for (int i = 0; i < n; i++) for (int j = 0; j < len[i]; j++) a[i][j] = j; }", (false, 32)),
        ("void f(int n, const int *restrict last, double *restrict a) { for (int i = 0; i < n; i++) for (int j = 0; j <= last[i]; j++) a[64 * i + j] = j; }", (false, 63)),
        // the way linked cells are gone through
        ("struct cells { int *used; }; void f(int n, const struct cells *restrict c, double (*restrict p)[3], double (*restrict v)[3]) { for (int b = 0; b < n; b++) for (int k = 16 * b, j = 0; j < c->used[b]; j++, k++) { p[k][0] += v[k][0]; p[k][2] += v[k][2]; } }", (false, 16)),
    ] {
        assert_eq!(at_most(text), (Verdict::Independent, vec![most]), "{text}");
    }
}

#[test]
fn lengths_are_asked_of_where_it_helps_alone() {
    for text in [
        // columns: rows of one iteration and another's never meet
        "void f(int n, const int *restrict len, double *restrict a) { for (int i = 0; i < n; i++) for (int j = 0; j < len[i]; j++) a[j * n + i] = j; }",
        // only read
        "void f(int n, const int *restrict len, const double *restrict a, double *restrict s) { for (int i = 0; i < n; i++) { double t = 0; for (int j = 0; j < len[i]; j++) t += a[64 * i + j]; s[i] = t; } }",
    ] {
        let (_, most) = at_most(text);
        assert_eq!(most, [], "{text}");
    }
}

#[test]
fn nothing_is_taken_where_the_lengths_change_or_do_not_keep_rows_apart() {
    for text in [
        // they change
        "void f(int n, int *restrict len, double *restrict a) { for (int i = 0; i < n; i++) for (int j = 0; j < len[i]; j++) { a[64 * i + j] = j; len[i + 1] = 3; } }",
        // into the next row, whatever they are
        "void f(int n, const int *restrict len, double *restrict a) { for (int i = 0; i < n; i++) for (int j = 0; j < len[i]; j++) a[64 * i + j] = a[64 * i + j + 1]; }",
        "void f(int n, const int *restrict len, double *restrict a) { for (int i = 0; i < n; i++) for (int j = 0; j < len[i]; j++) a[64 * i + 2 * j] = j; }",
        "void f(int n, const int *restrict len, double *restrict a) { for (int i = 0; i < n; i++) for (int j = 0; j < len[i]; j++) a[64 * (i / 2) + j] = j; }",
        // what is stored may be a length
        "void f(int n, int *a) { for (int i = 0; i < n; i++) for (int j = 0; j < a[i]; j++) a[64 * i + j] = j; }",
    ] {
        let (verdict, _) = at_most(text);
        assert!(matches!(verdict, Verdict::Unknown | Verdict::Sequential), "{text}: {verdict:?}");
    }
}
