//! Transformations in the editor: what is listed, what the hover says, what the actions do.

use base::Span;
use expect_test::{expect, Expect};

use super::{cursor, full, open};
use crate::{actions, hover, refactorings, resolve, ActionId, ResolveError, Resolved};

const COLUMNS: &str = "double a[64][64];\nvoid f(void) {\n    f$0or (int i = 1; i < 64; i++)\n        for (int j = 0; j < 64; j++)\n            a[i][j] = a[i - 1][j];\n}\n";
const SUMS: &str = "double x[64], y[64], z[64];\nvoid f(void) {\n    double t;\n    f$0or (int i = 1; i < 64; i++) {\n        t = y[i] + 1;\n        x[i] = x[i - 1] + t;\n        z[i] = t * 2;\n    }\n}\n";

/// The hover's line about what would make the loop parallel, the action, and the text after it.
fn check_enabling(code: &str, expected: Expect) {
    let (code, at) = cursor(code);
    let doc = open(&code);
    let findings = full(&doc);
    let shown = hover(&crate::Ask::thorough(&doc), &findings, at).expect("a hover").markdown;
    let line = shown.lines().find(|l| l.starts_with("What would make")).unwrap_or("nothing would");
    let mut out = format!("{line}\n");
    let listed = actions(&crate::Ask::thorough(&doc), &findings, Span { start: at, end: at });
    if let Some(action) = listed.iter().find(|a| a.id.to_string().starts_with("enable:")) {
        out += &format!("{} | {}\n", action.kind.name(), action.title);
        match resolve(&crate::Ask::thorough(&doc), &findings, &action.id) {
            Ok(Resolved::Edit(edit)) => {
                for e in &edit.edits {
                    out += &e.edits.apply(doc.text()).expect("edits fit").to_string();
                }
            }
            other => out += &format!("{other:?}\n"),
        }
    }
    expected.assert_eq(&out);
}

#[test]
fn columns_are_interchanged() {
    check_enabling(
        COLUMNS,
        expect![[r#"
        What would make it parallel: Interchange i and j: loop `j` is then parallel.
        refactor.rewrite.warpwright.enable | Make parallel: interchange i and j
        double a[64][64];
        void f(void) {
            for (int j = 0; j < 64; j++)
                for (int i = 1; i < 64; i++)
                    a[i][j] = a[i - 1][j];
        }
    "#]],
    );
}

#[test]
fn sums_are_expanded_and_distributed() {
    check_enabling(
        SUMS,
        expect![[r#"
        What would make it parallel: Expand scalar t into an array (63 elements), then distribute i into 2 loops: the first of its 2 loops is then parallel.
        refactor.rewrite.warpwright.enable | Make parallel: expand-scalar, then distribute
        double x[64], y[64], z[64];
        void f(void) {
            double t;
            double t_x[63];
            for (int i = 1; i < 64; i++) {
                t_x[i - 1] = y[i] + 1;
                z[i] = t_x[i - 1] * 2;
            }
            for (int i = 1; i < 64; i++) {
                x[i] = x[i - 1] + t_x[i - 1];
            }
        }
    "#]],
    );
}

#[test]
fn both_directions_take_a_wavefront() {
    check_enabling(
        "double a[64][64];\nvoid f(void) {\n    f$0or (int i = 1; i < 64; i++)\n        for (int j = 1; j < 64; j++)\n            a[i][j] = a[i - 1][j] + a[i][j - 1];\n}\n",
        expect![[r#"
            What would make it parallel: Skew j by i, then interchange (wavefront): loop `i` is then parallel.
            refactor.rewrite.warpwright.enable | Make parallel: skew j by i, then interchange (wavefront)
            double a[64][64];
            void f(void) {
                for (int wave = 2; wave <= 126; wave++) {
                    for (int i = (wave - 63 > 1 ? wave - 63 : 1); i <= (wave - 1 < 63 ? wave - 1 : 63); i++) {
                        int j = wave - i;
                        a[i][j] = a[i - 1][j] + a[i][j - 1];
                    }
                }
            }
        "#]],
    );
}

#[test]
fn one_iteration_is_peeled() {
    check_enabling(
        "double a[64], b[64];\nvoid f(void) {\n    f$0or (int i = 0; i < 64; i++)\n        a[i] = a[0] + b[i];\n}\n",
        expect![[r#"
            What would make it parallel: Peel the first iteration of i: loop `i` is then parallel.
            refactor.rewrite.warpwright.enable | Make parallel: peel the first iteration of i
            double a[64], b[64];
            void f(void) {
                a[0] = a[0] + b[0];
                for (int i = 1; i < 64; i++)
                    a[i] = a[0] + b[i];
            }
        "#]],
    );
}

#[test]
fn what_is_parallel_in_a_peeled_iteration_is_no_gain() {
    check_enabling(
        "double a[64][64];\nvoid f(void) {\n    f$0or (int i = 1; i < 64; i++)\n        for (int j = i; j < 64; j++)\n            a[i][j] = a[i - 1][j - 1] + a[j][i];\n}\n",
        expect![[r#"
            nothing would
        "#]],
    );
}

#[test]
fn a_recurrence_stays() {
    check_enabling(
        "void f(int n, double *a) {\n    f$0or (int i = 1; i < n; i++)\n        a[i] = a[i - 1];\n}\n",
        expect![[r#"
            nothing would
        "#]],
    );
}

#[test]
fn refactorings_are_listed_by_kind() {
    let (code, at) = cursor(COLUMNS);
    let doc = open(&code);
    let findings = full(&doc);
    let all = refactorings(&crate::Ask::thorough(&doc), &findings, Span { start: at, end: at });
    let lines: Vec<String> = all.iter().map(|a| format!("{} | {}", a.kind.name(), a.title)).collect();
    expect![[r#"
        refactor.rewrite.warpwright.interchange | Interchange i and j
        refactor.rewrite.warpwright.wavefront | Skew j by i, then interchange (wavefront)
        refactor.rewrite.warpwright.peel | Peel the first iteration of i
        refactor.rewrite.warpwright.skew | Skew j by i
        refactor.rewrite.warpwright.strip-mine | Strip-mine i by 32
        refactor.rewrite.warpwright.collapse | Collapse i and j into one loop
        refactor.rewrite.warpwright.unroll | Unroll i by 4
        refactor.rewrite.warpwright.unroll-fully | Unroll i fully (63 iterations)"#]]
    .assert_eq(&lines.join("\n"));
    // an edit for a text that is another now is none
    let edited = open("void f(void) {}\n");
    let findings = full(&edited);
    let id = ActionId::transform("interchange", "f#0");
    let again = resolve(&crate::Ask::thorough(&edited), &findings, &id);
    assert!(matches!(again, Err(ResolveError::Stale)));
}

#[test]
fn a_refusal_names_the_dependence() {
    let (code, _) = cursor(
        "double a[64][64];\nvoid f(void) {\n    f$0or (int i = 1; i < 64; i++)\n        for (int j = 0; j < 63; j++)\n            a[i][j] = a[i - 1][j + 1];\n}\n",
    );
    let doc = open(&code);
    let findings = full(&doc);
    let id = ActionId::transform("interchange", "f#0");
    let refused = resolve(&crate::Ask::thorough(&doc), &findings, &id);
    let Err(ResolveError::Refused(why)) = refused else { panic!("{refused:?}") };
    expect!["interchange: Illegal: line 5 writes `a[i][j]` and line 5 reads it (flow dependence, directions (<, >)); interchange would turn it around."].assert_eq(&why);
}

#[test]
fn a_search_that_was_called_off_is_begun_again() {
    let doc = open(&cursor(COLUMNS).0);
    let findings = full(&doc);
    let called_off = base::CancelToken::new();
    called_off.cancel();
    assert!(findings.loops[0].enabling_until(&called_off).is_none());
    assert!(findings.loops[0].enabling().is_some());
}
