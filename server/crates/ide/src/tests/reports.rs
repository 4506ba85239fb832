//! The structs of the JSON contract, hints and lenses.

use expect_test::{expect, Expect};

use super::{everywhere, full, open};
use crate::{inlay_hints, lenses};

fn check(code: &str, expected: Expect) {
    let doc = open(code);
    let mut out = String::new();
    for l in full(&doc).loops {
        out.push_str(&format!("{} {:#?}\n", l.key, l.report()));
    }
    expected.assert_eq(&out);
}

#[test]
fn a_parallel_nest() {
    check(
        "void f(int n, int m, double a[n][m], double *b) {\n    for (int i = 0; i < n; i++)\n        for (int j = 1; j <= m; j += 2)\n            a[i][j] = b[j];\n}\n",
        expect![[r#"
            f#0 LoopReport {
                line: 2,
                column: 5,
                end_line: 4,
                end_column: 28,
                function: "f",
                verdict: "unknown",
                conditions: [
                    ConditionReport {
                        kind: "bounds",
                        text: "bounds(0<=j<m)",
                        met_by: "proof",
                    },
                    ConditionReport {
                        kind: "no-alias",
                        text: "no-alias(a,b)",
                        met_by: "run-time check",
                    },
                ],
                private: [
                    "j",
                ],
                inductions: [],
                reductions: [],
                dependences: [],
                obstacles: [
                    ObstacleReport {
                        kind: "needs-promise",
                        text: "it is neither proved nor tested beforehand that `j` is never outside its dimension of length `m` (line 4)",
                        line: 4,
                        column: 13,
                    },
                ],
                thread_map: None,
                offload: None,
                cost: None,
            }
            f#1 LoopReport {
                line: 3,
                column: 9,
                end_line: 4,
                end_column: 28,
                function: "f",
                verdict: "unknown",
                conditions: [
                    ConditionReport {
                        kind: "bounds",
                        text: "bounds(0<=j<m)",
                        met_by: "proof",
                    },
                    ConditionReport {
                        kind: "no-alias",
                        text: "no-alias(a,b)",
                        met_by: "run-time check",
                    },
                ],
                private: [],
                inductions: [],
                reductions: [],
                dependences: [],
                obstacles: [
                    ObstacleReport {
                        kind: "needs-promise",
                        text: "it is neither proved nor tested beforehand that `j` is never outside its dimension of length `m` (line 4)",
                        line: 4,
                        column: 13,
                    },
                ],
                thread_map: None,
                offload: None,
                cost: None,
            }
        "#]],
    );
}

#[test]
fn a_recurrence() {
    check(
        "void f(int n, double *a) {\n    for (int i = 1; i < n; i++)\n        a[i] = a[i - 1];\n}\n",
        expect![[r#"
            f#0 LoopReport {
                line: 2,
                column: 5,
                end_line: 3,
                end_column: 25,
                function: "f",
                verdict: "sequential",
                conditions: [],
                private: [],
                inductions: [],
                reductions: [],
                dependences: [
                    DependenceReport {
                        kind: "flow",
                        variable: "a",
                        source: LineColumn {
                            line: 3,
                            column: 9,
                        },
                        sink: LineColumn {
                            line: 3,
                            column: 16,
                        },
                        direction: [
                            "<",
                        ],
                        distance: [
                            Some(
                                1,
                            ),
                        ],
                        witness: Some(
                            "i=1 writes a[1], i=2 reads a[1], for n=3",
                        ),
                    },
                ],
                obstacles: [],
                thread_map: None,
                offload: None,
                cost: None,
            }
        "#]],
    );
}

#[test]
fn every_loop_is_listed() {
    let code = "#define EACH(i, n) for (int i = 0; i < n; i++)\nvoid f(int n, int *a) {\n    while (n > 0) {\n        EACH(k, n) a[k] = 0;\n        do n--; while (a[n]);\n    }\n}\n";
    let doc = open(code);
    let findings = full(&doc);
    let listed: Vec<String> = findings
        .loops
        .iter()
        .map(|l| format!("{} {}:{} {:?}", l.key, l.report().line, l.report().column, doc.slice(l.header)))
        .collect();
    expect![[r#"
        f#0 3:5 "while (n > 0)"
        f#1 4:9 "EACH(k, n)"
        f#2 5:9 "do""#]]
    .assert_eq(&listed.join("\n"));
}

#[test]
fn hints_and_lenses() {
    let code = "int g(int);\nvoid f(int n, double *a, double *b) {\n    for (int i = 0; i < n; i++) a[i] *= 2;\n    for (int i = 1; i < n; i++) a[i] = a[i - 1];\n    for (int i = 0; i < n; i++) a[i] = g(i);\n    double s = 0;\n    for (int i = 0; i < n; i++) s += b[i];\n    // warpwright: offload\n    for (int i = 1; i < n; i++) a[i] = a[i - 1];\n    b[0] = s;\n}\n";
    let doc = open(code);
    let findings = full(&doc);
    let mut out = String::new();
    for h in inlay_hints(&crate::Ask::thorough(&doc), &findings, everywhere(&doc), false) {
        let at = crate::function_view::line_column(&doc, h.offset);
        out.push_str(&format!("{}:{} {}\n", at.line, at.column, h.label));
    }
    for l in lenses(&crate::Ask::thorough(&doc), &findings) {
        let at = crate::function_view::line_column(&doc, l.span.start);
        out.push_str(&format!("{} {} -> {}\n", at.line, l.title, l.action));
    }
    expect![[r#"
        3:43 parallel
        7:43 reduction (+)
        3 Offload to GPU -> offload:f#0
        7 Offload to GPU -> offload:f#3
        9 Not offloaded: sequential: a -> explain:f#4
    "#]]
    .assert_eq(&out);
}

#[test]
fn a_loop_without_a_kernel_is_not_promised_one() {
    let code = "void f(int n, int *restrict h, const float *restrict k) {\n    for (int i = 0; i < n; i++)\n        h[(int)k[i] & 7]++;\n}\nint g[8];\nvoid all(int n, const int *restrict k) {\n    for (int i = 0; i < n; i++)\n        g[k[i] & 7]++;\n}\n#define LOOP for (int i = 0; i < n; i++) a[i] *= i;\nvoid m(int n, int *a) {\n    LOOP\n}\nvoid outer(int n, int *h, float *restrict k) {\n    while (n --> 0)\n        for (int i = 0; i < n; i++)\n            h[(int)k[i] & 7]++;\n}\n";
    let doc = open(code);
    let findings = full(&doc);
    let offered: Vec<bool> =
        findings.loops.iter().filter_map(|l| Some(l.report().offload.as_ref()?.refused.is_none())).collect();
    // the loop around the last is run by no threads either
    assert_eq!(offered, [false, true, false, false, false]);
    let said: Vec<&str> = findings.diagnostics.iter().map(|d| &*d.message).collect();
    assert_eq!(said.iter().filter(|m| m.contains("Apply")).count(), 1, "{said:#?}");
    let why = "Parallel as a reduction, not yet offloadable (k[i]): the iterations of loop `i` are independent but for `h` (+). No kernel is made, because memory decides which cells the subscript `k[i]` on line 3 means";
    assert!(said.iter().any(|m| m.starts_with(why)), "{said:#?}");
    // of what a macro brings nothing is said unasked
    assert!(said.iter().all(|m| !m.contains("in a macro")), "{said:#?}");
    assert!(said.iter().all(|m| !m.contains("Inside it, loop `i` on line 16 can run")), "{said:#?}");
    let lenses = crate::lenses(&crate::Ask::thorough(&doc), &findings);
    assert_eq!(lenses.len(), 1, "{lenses:#?}");
    // moved by a line, the reason names the new one
    let moved = open(&format!("\n{code}"));
    let memo = crate::Memo::new();
    for (doc, line) in [(&doc, 3), (&moved, 4)] {
        let cancel = base::CancelToken::new();
        let found = crate::check(
            &crate::Ask::new(doc, &memo, crate::Tier::Full, &cancel),
            &crate::Settings::default(),
        );
        let said = found.expect("not cancelled").diagnostics;
        assert!(said.iter().any(|d| d.message.contains(&format!("on line {line} means"))), "{said:#?}");
    }
    // while the user types the same is promised, or less
    let typed = crate::check(
        &crate::Ask::new(&doc, &crate::Memo::new(), crate::Tier::Typing, &base::CancelToken::new()),
        &crate::Settings::default(),
    );
    let said = typed.expect("not cancelled").diagnostics;
    assert_eq!(
        said.iter().filter(|d| d.message.contains("Apply \"Offload to GPU\"")).count(),
        1,
        "{said:#?}"
    );
}
