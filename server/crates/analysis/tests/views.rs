//! `void *` parameters that are used as one pointer type alone, and arguments that are handed on as `void *`.

mod common;

use analysis::Verdict;
use common::last_of_depth_zero;

fn verdict(text: &str) -> Verdict {
    last_of_depth_zero(text).verdict
}

#[test]
fn a_parameter_is_what_it_is_used_as() {
    for text in [
        "void f(void *x, int n, double s) { for (int i = 0; i < n; i++) ((double *)x)[i] *= s; }",
        "void f(void *restrict y, const void *x, int n) { for (int i = 0; i < n; i++) ((float *)y)[2 * i] += ((const float *)x)[2 * i + 1]; }",
        "void f(void *x, int n) { if (!x || x == (void *)0) return; float *q = x; for (int i = 0; i < n; i++) q[i] = 1; }",
    ] {
        assert_eq!(verdict(text), Verdict::Independent, "{text}");
    }
    // neighbours meet, whatever the parameter is called
    let next =
        "void f(void *x, int n) { for (int i = 0; i < n; i++) ((int *)x)[i] = ((int *)x)[i + 1] + 1; }";
    assert_eq!(verdict(next), Verdict::Sequential);
}

#[test]
fn two_types_of_one_parameter_say_nothing() {
    for text in [
        "void f(void *x, int n) { for (int i = 0; i < n; i++) ((double *)x)[i] = ((float *)x)[i]; }",
        "void f(void *x, int n) { for (int i = 0; i < n; i++) ((double *)x)[i] = 1; ((char *)x)[n] = 0; }",
        "void f(void *x, int n) { for (int i = 0; i < n; i++) ((volatile int *)x)[i] = 1; }",
        "void f(void *x, void *y, int n) { x = y; for (int i = 0; i < n; i++) ((int *)x)[i] = 1; }",
        "void f(void *x, int n) { void **p = &x; for (int i = 0; i < n; i++) { *p = (int *)*p + 1; ((int *)x)[i] = 1; } }",
    ] {
        assert_eq!(verdict(text), Verdict::Unknown, "{text}");
    }
}

#[test]
fn functions_see_their_own_types() {
    let d = "static void d(void *p, int i) { ((double *)p)[i] = 1; } static void e(void *p, int i) { ((float *)p)[i + 1] = 2; } ";
    for (text, found) in [
        ("void f(double *p, int n) { for (int i = 0; i < n; i++) d(p, i); }", Verdict::Independent),
        ("void f(double *p, int n) { for (int i = 0; i < n; i++) d((void *)p, i); }", Verdict::Independent),
        ("void f(float *p, int n) { for (int i = 0; i < n; i++) d(p, i); }", Verdict::Unknown),
        ("void f(void *p, int n) { for (int i = 0; i < n; i++) { d(p, i); e(p, i); } }", Verdict::Unknown),
        ("void f(void *p, int n) { for (int i = 0; i < n; i++) { d(p, i); e(p, 2 * i); } }", Verdict::Unknown),
        ("void f(void *p, int n) { double *q = p; for (int i = 0; i < n; i++) { q[i] = 1; e(p, 2 * i); } }", Verdict::Unknown),
    ] {
        assert_eq!(verdict(&format!("{d}{text}")), found, "{text}");
    }
}
