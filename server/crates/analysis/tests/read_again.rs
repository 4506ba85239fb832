//! Bounds behind pointers: what a loop's condition reads again behind each store is no part of what is stored (C11 6.5p7).

mod common;

use analysis::{ConditionKind, Verdict};
use common::last_of_depth_zero;

/// The verdict, and how many pairs of pointers are to be told apart.
fn asked(text: &str) -> (Verdict, usize) {
    let l = last_of_depth_zero(text);
    (l.verdict, l.conditions.iter().filter(|c| matches!(c.kind, ConditionKind::NoAlias(..))).count())
}

#[test]
fn a_bound_that_is_read_behind_each_store_is_apart_from_it() {
    for text in [
        "void f(const int *n, double *a) { for (int i = 0; i < *n; i++) a[i] = 1; }",
        "void f(const int *m, const int *n, float *a) { for (int i = 0; i < *m; i++) for (int j = 0; j < 4; j++) if (j < *n) a[4 * i + j] = 1; }",
        "struct s { int n; }; void f(const struct s *s, double *a) { for (int i = 0; i < s->n; i++) a[i] = 1; }",
        "void f(const long *n, int *a) { for (long i = 0; i < *n; i++) a[i] = 1; }",
    ] {
        let (verdict, pairs) = asked(text);
        let others = usize::from(text.contains("int *m"));
        assert_eq!((verdict, pairs), (Verdict::Independent, others), "{text}");
    }
}

#[test]
fn so_is_what_the_loop_reads_behind_the_store() {
    for text in [
        "void f(int n, const int *s, double *a) { int k = 0; for (int i = 0; i < n; i++) { a[k] = 1; k += *s; } }",
        "void f(int n, const int *s, double *a) { int k = 0; for (int i = 0; i < n; i++, k += *s) { if (i & 1) a[k] = 1; } }",
        "void f(int n, const long *s, float *a) { long k = 0; for (int i = 0; i < n; i++) { if (i & 1) { a[k] = 1; } else { a[k] = 2; } k += *s; } }",
    ] {
        assert_eq!(asked(text), (Verdict::Independent, 0), "{text}");
    }
    for text in [
        // the last store has nothing behind it
        "void f(int n, const int *s, double *a) { int k = 0; for (int i = 0; i < n; i++) { k += *s; a[k] = 1; } }",
        "void f(int n, const int *s, double *a) { int k = 0; for (int i = 0; i < n; i++) { k += *s; if (i > 3) continue; a[k] = 1; } }",
        // perhaps
        "void f(int n, const int *s, int *b, double *a) { for (int i = 0; i < n; i++) { a[i] = 1; if (b) a[i] += *s; } }",
        // as any type
        "typedef int __attribute__((may_alias)) any; void f(int n, const any *s, double *a) { int k = 0; for (int i = 0; i < n; i++) { a[k] = 1; k += *s; } }",
        // it is of one type
        "void f(int n, const int *s, int *a) { int k = 0; for (int i = 0; i < n; i++) { a[k] = 1; k += *s; } }",
    ] {
        assert_eq!(asked(text), (Verdict::Independent, 1), "{text}");
    }
}

#[test]
fn what_may_be_the_same_memory_is_asked_of() {
    for text in [
        // of one type, or read as characters
        "void f(const int *n, int *a) { for (int i = 0; i < *n; i++) a[i] = 1; }",
        "void f(const int *n, unsigned *a) { for (int i = 0; i < *n; i++) a[i] = 1; }",
        "void f(const int *n, char *a) { for (int i = 0; i < *n; i++) a[i] = 1; }",
        // through a union one may be stored and the other read
        "union u { int i; double d; }; void f(const int *n, union u *a) { for (int i = 0; i < *n; i++) a[i].d = 1; }",
        "struct w { int k; union { int i; double d; } u; }; void f(const int *n, struct w *a) { for (int i = 0; i < *n; i++) a[i].u.d = 1; }",
        // nobody reads it behind the last store
        "void f(const double *c, int n, float *a) { for (int i = 0; i < n; i++) a[i] = *c; }",
        "void f(int m, const int *n, double *a) { for (int i = 0; i < m; i++) { if (i < *n) a[i] = 1; } }",
        // another element than what is read again
        "void f(const int *n, double *a) { for (int i = 0; i < n[0]; i++) a[i] = n[i]; }",
    ] {
        let (verdict, pairs) = asked(text);
        assert_eq!((verdict, pairs), (Verdict::Independent, 1), "{text}");
    }
}
