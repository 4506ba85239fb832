//! What is shown where.

use super::{annotate, check_carets, full_with, open, plain};
use crate::{Level, Settings, Severity};

#[test]
fn one_diagnostic_a_nest_where_the_outer_loop_is_parallel() {
    check_carets(
        "
void add(int n, int m, float (*restrict a)[100], float (*restrict b)[100]) {
    for (int i = 0; i < n; i++)
//  ^^^^^^^^^^^^^^^^^^^^^^^^^^^ parallel-loop
        for (int j = 0; j < 100; j++)
            a[i][j] = b[i][j];
}
",
    );
}

#[test]
fn inner_loops_are_shown_where_the_parallelism_is() {
    check_carets(
        "
void sweep(int n, float (*a)[100000]) {
    for (int i = 1; i < n; i++)
//  ^^^^^^^^^^^^^^^^^^^^^^^^^^^ carried-dependence
        for (int j = 0; j < n; j++)
//      ^^^^^^^^^^^^^^^^^^^^^^^^^^^ parallel-loop
            a[i][j] = 2 * a[i - 1][j];
}
",
    );
}

#[test]
fn a_nest_without_parallelism_is_said_once() {
    check_carets(
        "
void seidel(int n, float (*a)[100]) {
    for (int i = 1; i < n; i++)
//  ^^^^^^^^^^^^^^^^^^^^^^^^^^^ carried-dependence
        for (int j = 1; j < 100; j++)
            a[i][j] = a[i - 1][j] + a[i][j - 1];
}
",
    );
}

#[test]
fn marks_are_answered_on_inner_loops_too() {
    check_carets(
        "
void seidel(int n, float (*a)[100]) {
    for (int i = 1; i < n; i++) {
//  ^^^^^^^^^^^^^^^^^^^^^^^^^^^ carried-dependence
        // warpwright: offload
        for (int j = 1; j < 100; j++)
//      ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ marked-sequential
            a[i][j] = a[i - 1][j] + a[i][j - 1];
    }
}
",
    );
}

#[test]
fn headers_end_where_their_parenthesis_does() {
    check_carets(
        "
void clear(int n, float *a) {
    for (int i = 0; i < n; i++ ) { // (comment)
//  ^^^^^^^^^^^^^^^^^^^^^^^^^^^^ parallel-loop
        a[i] *= 2;
    }
}
int length(int n, int *t) {
    while (n > 1) {
//  ^^^^^^^^^^^^^ carried-dependence
        t[n - 1] = t[n] + 1;
        n--;
    }
    do {
//  ^^ carried-dependence
        t[n + 1] = t[n] + 2;
        n++;
    } while (n < 100);
    return n;
}
",
    );
}

#[test]
fn suppressions_suppress_and_unused_ones_are_reported() {
    check_carets(
        "
void f(int n, float *a) {
    // warpwright: ignore[parallel-loop]
    for (int i = 0; i < n; i++) a[i] = 0;
    // warpwright: ignore
    for (int i = 0; i < n; i++) a[i] *= 1;
    // warpwright: ignore[carried-dependence]
//  ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ unused-ignore
    for (int i = 0; i < n; i++) a[i] *= 2;
//  ^^^^^^^^^^^^^^^^^^^^^^^^^^^ parallel-loop
    for (int i = 0; i < n; i++) a[i] *= 3; // warpwright: ignore[parallel-loop]
    // warpwright: ignore[no-such-code]
//  ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ unused-ignore
    return;
}
",
    );
}

#[test]
fn a_suppression_above_a_mark_speaks_of_the_loop() {
    check_carets(
        "
void f(int n, float *a) {
    // warpwright: ignore[marked-sequential]
    #pragma warpwright offload
    for (int i = 1; i < n; i++)
        a[i] = a[i - 1];
}
",
    );
}

#[test]
fn a_mark_without_a_loop_is_bad() {
    check_carets(
        "
void f(int n, float *a) {
    // warpwright: offload
//  ^^^^^^^^^^^^^^^^^^^^^^ bad-mark
    a[0] = n;
    // warpwright: teleport
//  ^^^^^^^^^^^^^^^^^^^^^^^ bad-mark
    a[1] = n;
}
",
    );
}

#[test]
fn levels_are_settings() {
    let code = "void f(int n, float *a) {\n    for (int i = 0; i < n; i++) a[i] = 0;\n}\n";
    let doc = open(&plain(code));
    let mut settings = Settings::default();
    settings.levels.insert("parallel-loop".to_owned(), Level::At(Severity::Error));
    let found = full_with(&doc, &settings).diagnostics;
    assert_eq!(found.iter().map(|d| d.severity).collect::<Vec<_>>(), [Severity::Error]);
    settings.levels.insert("parallel-loop".to_owned(), Level::Off);
    let findings = full_with(&doc, &settings);
    assert_eq!(annotate(&doc, &findings), code);
    assert_eq!(findings.loops.len(), 1, "a loop is listed whatever the levels are");
}
