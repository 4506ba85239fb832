//! Offloaded loops against their originals, in the simulator.

use base::CancelToken;

use super::{full, open};
use crate::{verify, Memo, Outcome, VerifyOptions, VerifyReport, Which};

fn report(code: &str, line: u32) -> VerifyReport {
    let doc = open(code);
    let findings = full(&doc);
    let options = VerifyOptions { cases: 8, steps: 3_000_000, ..VerifyOptions::default() };
    let which = Which::Line(line);
    verify(&doc, &findings, &Memo::new(), &which, &options, &CancelToken::new()).remove(0)
}

fn check_same(code: &str, line: u32) {
    let report = report(code, line);
    assert_eq!(report.outcome, Outcome::Same, "{report:#?}");
}

#[test]
fn saxpy() {
    check_same("void saxpy(int n, float a, const float *x, float *y) {\n    for (int i = 0; i < n; i++)\n        y[i] = a * x[i] + y[i];\n}\n", 2);
}

#[test]
fn a_nest_with_a_local() {
    check_same("void f(int n, int m, double a[n][m], const double *restrict b) {\n    for (int i = 0; i < n; i++)\n        for (int j = 0; j < m; j++) {\n            double t = b[j];\n            a[i][j] = t * t + i;\n        }\n}\n", 2);
}

#[test]
fn partly_written() {
    check_same("void f(int n, int *restrict a, const int *restrict c) {\n    for (int i = 0; i < n; i += 3)\n        if (i != 6)\n            a[i] = c[i];\n}\n", 2);
}

#[test]
fn an_integer_sum() {
    check_same("long f(int n, const int *a) {\n    long s = 5;\n    for (int i = 0; i < n; i++)\n        s += a[i];\n    return s;\n}\n", 3);
}

#[test]
fn a_float_maximum() {
    check_same("float f(int n, const float *a) {\n    float m = a[0];\n    for (int i = 1; i < n; i++)\n        if (a[i] > m) m = a[i];\n    return m;\n}\n", 3);
}

#[test]
fn what_is_not_offloaded_is_not_verified() {
    let report =
        report("void f(int n, int *a) {\n    for (int i = 1; i < n; i++)\n        a[i] = a[i - 1];\n}\n", 2);
    assert!(matches!(report.outcome, Outcome::NotTried(_)), "{report:#?}");
}

/// The offloaded text with one piece of it replaced must be found wrong.
fn check_caught(code: &str, line: u32, from: &str, to: &str, expected: &str) {
    let doc = open(code);
    let findings = full(&doc);
    let cancel = CancelToken::new();
    let done = crate::offload(&doc, &findings, &Memo::new(), &Which::Line(line), &cancel).expect("offloaded");
    let kernel = &done.edit.create[0].text;
    assert!(done.host.contains(from) || kernel.contains(from), "{}\n{kernel}", done.host);
    let (host, kernel) = (done.host.replace(from, to), kernel.replace(from, to));
    let finding = findings.on_line(line).expect("a loop");
    let place = findings.place(&doc, finding.item).expect("a function");
    let options = VerifyOptions { steps: 3_000_000, ..VerifyOptions::default() };
    let mut cases = Vec::new();
    crate::verify::run_cases(&doc, &place, finding, &host, &[&kernel], &options, &cancel, &mut cases)
        .expect("tried");
    let first = cases.iter().find_map(|c| c.difference.as_deref()).unwrap_or("nothing differs");
    assert!(first.contains(expected), "{first}");
}

const SAXPY: &str = "void saxpy(int n, float a, const float *x, float *y) {\n    for (int i = 0; i < n; i++)\n        y[i] = a * x[i] + y[i];\n}\n";
const SUM: &str = "long f(int n, const int *a) {\n    long s = 5;\n    for (int i = 0; i < n; i++)\n        s += a[i];\n    return s;\n}\n";

#[test]
fn wrong_arithmetic_is_caught() {
    check_caught(
        SAXPY,
        2,
        "y[i] = a * x[i] + y[i];\n    }\n}",
        "y[i] = a * x[i] - y[i];\n    }\n}",
        "instead of",
    );
}

#[test]
fn a_missing_guard_is_caught() {
    check_caught(SAXPY, 2, "if (ww_at_i < ww_trips_i)", "if (true)", "in `saxpy_i_kernel`");
}

#[test]
fn a_missing_copy_is_caught() {
    check_caught(
        SAXPY,
        2,
        "&& cudaMemcpy(ww_gpu_y, y, ww_y_bytes, cudaMemcpyHostToDevice) == cudaSuccess",
        "",
        "in `saxpy_i_kernel`",
    );
}

#[test]
fn a_missing_overlap_check_is_caught() {
    let code = "void f(int n, const int *x, int *y) {\n    for (int i = 0; i < n; i++)\n        y[i] = x[i] + 1;\n}\n";
    check_caught(
        code,
        2,
        "return (uintptr_t)a + a_bytes",
        "return 1 || (uintptr_t)a + a_bytes",
        "instead of",
    );
}

#[test]
fn a_missing_barrier_is_caught() {
    check_caught(SUM, 3, "__syncthreads();", "", "in `f_i_kernel`");
}

/// The summary for the loop on a line, with values given.
fn given(text: &str, line: u32, given: &[(&str, i128)]) -> String {
    let doc = open(text);
    let findings = full(&doc);
    let given = given.iter().map(|g| (g.0.to_owned(), g.1)).collect();
    let options = VerifyOptions { cases: 4, steps: 3_000_000, given, ..VerifyOptions::default() };
    let which = Which::Line(line);
    let reports = verify(&doc, &findings, &Memo::new(), &which, &options, &CancelToken::new());
    let inputs: Vec<&str> = reports[0].cases.iter().map(|c| c.input.as_str()).collect();
    format!("{} {:?}", reports[0].summary, inputs)
}

#[test]
fn what_takes_too_much_memory_is_said_and_sizes_are_taken() {
    let large =
        "double x[20000000];\nvoid f(int n) {\n    for (int i = 0; i < n; i++)\n        x[i] = i;\n}\n";
    let said = given(large, 3, &[]);
    assert!(said.contains("more than the 32 MiB") && said.contains("--given n=16"), "{said}");
    let plain =
        "void f(int n, int *restrict a, int m) {\n    for (int i = 0; i < n; i++)\n        a[i] = m;\n}\n";
    let said = given(plain, 2, &[("n", 7)]);
    assert!(said.starts_with("Same results") && said.matches("n=7").count() == 4, "{said}");
    let said = given(plain, 2, &[("k", 7)]);
    assert!(said.contains("`k` is no integer") && said.contains("n, m"), "{said}");
}
