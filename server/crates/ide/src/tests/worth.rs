//! All that is worth an offload, and why the rest is not.

use super::{full, open};
use crate::{offload, Amount, Ask, Refused, Which};

/// Lines of the calls made, and of each other loop its line, whether others in it are offloaded, and the reason's beginning.
fn check(code: &str, function: Option<&str>, calls: &[u32], left_out: &[(u32, bool, &str)]) {
    let doc = open(code);
    let (ask, findings) = (Ask::thorough(&doc), full(&doc));
    let done = offload(&ask, &findings, &Which::Worth(function.map(str::to_owned))).expect("offloaded");
    let lines: Vec<u32> = done.loops.iter().map(|l| l.line).collect();
    assert_eq!(lines, calls);
    let others: Vec<(u32, bool)> = done.left_out.iter().map(|l| (l.line, l.around)).collect();
    let wanted: Vec<(u32, bool)> = left_out.iter().map(|l| (l.0, l.1)).collect();
    assert_eq!(others, wanted, "{:#?}", done.left_out);
    for (l, (_, _, begins)) in done.left_out.iter().zip(left_out) {
        assert!(l.reason.starts_with(begins), "{}\n{begins}", l.reason);
    }
}

fn refused(code: &str) -> String {
    let doc = open(code);
    match offload(&Ask::thorough(&doc), &full(&doc), &Which::Worth(None)) {
        Err(Refused::Because(why)) => why,
        other => panic!("{other:#?}"),
    }
}

const TWO: &str = "#include <stdio.h>
void jacobi(int n, int steps, double *restrict a, double *restrict b)
{
    for (int t = 0; t < steps; t++) {
        for (int i = 1; i < n - 1; i++)
            b[i] = 0.5 * (a[i - 1] + a[i + 1]);
        for (int i = 1; i < n - 1; i++)
            a[i] = b[i];
    }
}
void show(int n, double *restrict a)
{
    for (int i = 0; i < n; i++)
        a[i] = 2.0 * a[i] + 1.0;
    for (int i = 0; i < n; i++)
        printf(\"%f\\n\", a[i]);
}
";

#[test]
fn a_loop_whose_nests_share_arrays_goes_before_its_parts() {
    let printed = (15, false, "Unknown whether loop iterations are independent: `printf`");
    check(TWO, None, &[4, 13], &[printed]);
    check(TWO, Some("jacobi"), &[4], &[]);
}

#[test]
fn neighbors_are_one_call() {
    let code = "void f(int n, double *restrict a, double *restrict b)
{
    for (int i = 0; i < n; i++)
        a[i] = 2.0 * b[i];
    double half = 0.5;
    for (int i = 0; i < n; i++)
        b[i] = half * a[i];
}
";
    check(code, None, &[3], &[]);
}

#[test]
fn what_plainly_cannot_pay_is_left_out() {
    let code = "double a[100], b[4][1000], c[100000], d[100000];
void f(int n)
{
    for (int i = 0; i < 100; i++)
        a[i] = 2.0 * a[i];
    if (n > 5)
        return;
    for (int j = 0; j < 4; j++)
        for (int k = 1; k < 1000; k++)
            b[j][k] = b[j][k - 1] + 1.0;
    if (n > 4)
        return;
    for (int i = 0; i < 100000; i++)
        c[i] = 3.0 * d[i];
    for (int i = 0; i < n; i++)
        d[i] = 0.0;
}
";
    let few = "It makes 200 operations; below 10000";
    check(
        code,
        None,
        &[13],
        &[(4, false, few), (8, false, "Only 4 iterations"), (9, false, "Loop is sequential")],
    );
    let why = refused("int a[4];\nvoid f(void)\n{\n    for (int i = 0; i < 4; i++)\n        a[i] = i;\n}\n");
    assert!(why.starts_with("No loop here is worth an offload. Line 4, in `f`: Only 4 iterations"), "{why}");
}

#[test]
fn many_small_launches_are_not_worth_it() {
    let code = "double l[200][200], x[200], b[200];
void solve(void)
{
    for (int i = 0; i < 200; i++) {
        x[i] = b[i] / l[i][i];
        for (int j = i + 1; j < 200; j++)
            b[j] = b[j] - l[j][i] * x[i];
    }
}
";
    let why = refused(code);
    assert!(why.contains("Line 4, in `solve`: It makes"), "{why}");
    assert!(why.contains("below 3000 a launch takes longer"), "{why}");
    // with rows enough each launch is work for a GPU
    check(&code.replace("200", "20000"), None, &[4], &[]);
}

#[test]
fn copies_in_every_round_are_not_worth_a_few_operations() {
    let code = "void f(int n, double *restrict z, const int *restrict row, const double *restrict x)
{
    for (int i = 1; i < n; i++) {
        double sum = z[i - 1];
        for (int k = row[i]; k < row[i + 1]; k++)
            sum += x[k];
        z[i] = sum;
    }
}
";
    assert!(
        refused(code).contains("Line 5, in `f`: The loop around it stays on the host"),
        "{}",
        refused(code)
    );
}

#[test]
fn costs_are_numbers_or_expressions() {
    let code = "double a[1000], b[1000];
void f(void)
{
    for (int i = 0; i < 1000; i++)
        a[i] = a[i] + 2.0 * b[i];
}
";
    let findings = full(&open(code));
    let of = |line: u32| findings.on_line(line).and_then(|l| l.report().cost.clone()).expect("a cost");
    let (exact, text) = (|n| Some(Amount::Exactly(n)), |t: &str| Some(Amount::Text(t.to_owned())));
    let one = of(4);
    assert_eq!(one.operations, exact(3000));
    assert_eq!([one.to_device, one.from_device, one.launches], [exact(16000), exact(8000), exact(1)]);
    let findings = full(&open(TWO));
    let many = findings.on_line(4).and_then(|l| l.report().cost.clone()).expect("a cost");
    assert_eq!(many.operations, text("steps * (5 * (n - 2)) + steps * (n - 2)"));
    assert_eq!(many.launches, text("steps + steps"));
    assert_eq!([many.to_device, many.from_device], [text("8 * n"), text("8 * n + 8 * (n - 2)")]);
}
