//! Promises: what is said of them, the action that writes one, and runs that keep or break them.

use expect_test::expect;

use super::verifying::report;
use super::{full, open};
use crate::{actions, resolve, Outcome, Resolved};

fn said(code: &str) -> Vec<String> {
    let doc = open(code);
    full(&doc).diagnostics.iter().map(|d| format!("{}: {}", d.code, d.message)).collect()
}

/// What the action comes to at a loop.
fn promised(code: &str) -> Option<Result<String, String>> {
    let doc = open(code);
    let findings = full(&doc);
    let ask = crate::Ask::thorough(&doc);
    let at = findings.loops[0].header;
    let action =
        actions(&ask, &findings, at).into_iter().find(|a| a.id.to_string().starts_with("promise:"))?;
    Some(match resolve(&ask, &findings, &action.id) {
        Ok(Resolved::Edit(edit)) => Ok(edit.edits[0].edits.apply(doc.text()).expect("it fits").to_string()),
        other => Err(format!("{other:?}")),
    })
}

const SCATTER: &str =
    "void f(int n, const int *restrict idx, const float *restrict x, float *restrict y)\n{\n    \
                       for (int i = 0; i < n; i++)\n        y[idx[i]] = x[i];\n}\n";

#[test]
fn an_unknown_loop_says_the_comment_that_would_settle_it() {
    let all = said(SCATTER);
    assert!(all[0].contains("`// warpwright: assume(injective(idx))`"), "{all:?}");
}

#[test]
fn the_action_writes_the_comment_and_checks_that_it_settles() {
    let made = promised(SCATTER).expect("an action").expect("an edit");
    assert!(made.contains("{\n    // warpwright: assume(injective(idx))\n    for (int i"), "{made}");
    let all = said(&made);
    assert!(
        all[0].contains(
            "It rests on your promise that no two elements of `idx` that the loop reads are equal."
        ),
        "{all:?}"
    );
    // nothing more is to be promised
    assert_eq!(promised(&made), None);
    // of two cells a promise of the index says nothing
    let other = SCATTER.replace("= x[i]", "= y[i]");
    assert_eq!(promised(&other), None);
}

#[test]
fn a_promise_that_would_not_settle_it_is_neither_said_nor_offered() {
    // the whole index is gone through in each iteration of the outer loop
    let code = "void f(int n, const int *restrict idx, float *restrict y)\n{\n    for (int t = 0; t < 3; t++)\n        \
                for (int i = 0; i < n; i++)\n            y[idx[i]] = 0.5f * y[idx[i]] + 1.0f;\n}\n";
    assert_eq!(promised(code), None);
    let all = said(code);
    assert!(all[0].starts_with("unknown-loop") && !all[0].contains("assume"), "{all:?}");
}

#[test]
fn a_loop_that_cannot_be_copied_says_which_sizes_would_do() {
    let all = said("void f(int n, const float *restrict w, const float *restrict x, float *restrict y)\n{\n    for (int i = 0; i < n; i++)\n        y[i] = x[(int)w[i]];\n}\n");
    assert!(all[0].contains("`// warpwright: assume(size(x) = …)`"), "{all:?}");
}

#[test]
fn conditions_are_met_by_assumption() {
    let doc = open(&promised(SCATTER).expect("an action").expect("an edit"));
    let findings = full(&doc);
    let shown: Vec<String> =
        findings.loops[0].report().conditions.iter().map(|c| format!("{} {}", c.text, c.met_by)).collect();
    expect![[r#"
        [
            "injective(idx) assumed",
        ]
    "#]]
    .assert_debug_eq(&shown);
}

/// Every kind of fault, with its words.
#[test]
fn what_is_not_understood_says_what_to_write() {
    let code = "int g(int);\n// warpwright: assume(foo(x), injective(q), size(x) == 3, in-range(idx, 0), size(n) = 3, pure(n), injective(x), no-alias(x), size(x) = g(1), size(x) = n++, distinct-rows(x))\n\
                void f(int n, const int *restrict idx, double *restrict x)\n{\n    // warpwright: assume(injective(idx))\n    n = 3;\n    \
                for (int i = 0; i < n; i++)\n        x[i] = idx[i];\n}\n";
    let all: Vec<String> = said(code).into_iter().filter(|s| s.starts_with("bad-promise")).collect();
    expect![[r#"
        [
            "bad-promise: Promise that says nothing: `foo` is no promise. Promises are `size(x) = n`, `distinct-rows(u)`, `injective(idx)`, `in-range(col, 0, n)`, `no-alias(a, b)`, `pure(f)`.",
            "bad-promise: Promise that says nothing: `q` is not declared where the comment stands.",
            "bad-promise: Promise that says nothing: write `size(x) = n`.",
            "bad-promise: Promise that says nothing: write `in-range(col, 0, n)`.",
            "bad-promise: Promise that says nothing: `n` is no array or pointer. Write `size(x) = n`.",
            "bad-promise: Promise that says nothing: `n` is no function. Write `pure(f)`.",
            "bad-promise: Promise that says nothing: `x` is no array of integers. Write `injective(idx)`.",
            "bad-promise: Promise that says nothing: write `no-alias(a, b)`.",
            "bad-promise: Promise that says nothing: `g(1)` is not an expression of names and numbers.",
            "bad-promise: Promise that says nothing: `n++` changes something.",
            "bad-promise: Promise that says nothing: `x` is no array of pointers. Write `distinct-rows(u)`.",
            "bad-promise: Promise without a loop: neither a loop nor a function follows it, so nothing rests on it. Move it directly above the loop, or remove it.",
        ]
    "#]]
    .assert_debug_eq(&all);
}

#[test]
fn places_that_meet_refute_that_they_are_apart() {
    let all = said("void f(int n, double *x)\n{\n    double *y = x;\n    // warpwright: assume(no-alias(x, y))\n    for (int i = 1; i < n; i++)\n        x[i] = y[i - 1];\n}\n");
    assert!(all[0].starts_with("refuted-promise: Promise that does not hold: `no-alias(x, y)`, but `x[i]` on line 6 and `y[i - 1]` on line 6 meet"), "{all:?}");
    assert!(all[1].starts_with("carried-dependence"), "{all:?}");
}

#[test]
fn inputs_keep_what_is_promised() {
    let code = "void f(int m, int n, const int *idx, const float *x, float *y)\n{\n    // warpwright: assume(injective(idx), size(y) = n, in-range(idx, 0, n))\n    for (int i = 0; i < m; i++)\n        y[idx[i]] = x[i];\n}\n";
    let report = report(code, 4);
    assert_eq!(report.outcome, Outcome::Same, "{report:#?}");
    assert!(report.cases.iter().any(|c| c.counted.launches > 0), "{report:#?}");
}

#[test]
fn a_run_that_breaks_a_promise_says_so() {
    let code = "void f(int n, int *idx, const float *x, float *restrict y)\n{\n    for (int i = 0; i < n; i++)\n        idx[i] = i / 2;\n    \
                // warpwright: assume(injective(idx), size(y) = n)\n    for (int i = 0; i < n; i++)\n        y[idx[i]] = x[i];\n}\n";
    let report = report(code, 6);
    let words = format!("{report:?}");
    assert!(words.contains("The promise `injective(idx)` does not hold"), "{words}");
    assert!(words.contains("the loop reads the value 0 from two elements"), "{words}");
    // the loop itself ran where the test said no
    assert_eq!(report.outcome, Outcome::Same, "{report:#?}");
}
