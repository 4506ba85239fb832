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
                        text: "only you can know that `j` is never outside its dimension of length `m` (bounds(0<=j<m), line 4)",
                        line: 4,
                        column: 13,
                    },
                ],
                thread_map: None,
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
                        text: "only you can know that `j` is never outside its dimension of length `m` (bounds(0<=j<m), line 4)",
                        line: 4,
                        column: 13,
                    },
                ],
                thread_map: None,
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
    let code = "int g(int);\nvoid f(int n, double *a, double *b) {\n    for (int i = 0; i < n; i++) a[i] = 0;\n    for (int i = 1; i < n; i++) a[i] = a[i - 1];\n    for (int i = 0; i < n; i++) a[i] = g(i);\n    double s = 0;\n    for (int i = 0; i < n; i++) s += b[i];\n    // warpwright: offload\n    for (int i = 1; i < n; i++) a[i] = a[i - 1];\n    b[0] = s;\n}\n";
    let doc = open(code);
    let findings = full(&doc);
    let mut out = String::new();
    for h in inlay_hints(&doc, &findings, everywhere(&doc)) {
        let at = crate::place::line_column(&doc, h.offset);
        out.push_str(&format!("{}:{} {}\n", at.line, at.column, h.label));
    }
    for l in lenses(&doc, &findings) {
        let at = crate::place::line_column(&doc, l.span.start);
        out.push_str(&format!("{} {} -> {}\n", at.line, l.title, l.action.as_str()));
    }
    expect![[r#"
        3:32 parallel
        4:32 sequential: a
        5:32 unknown: call of g
        7:32 reduction (+)
        9:32 sequential: a
        3 Offload to GPU -> offload:f#0
        7 Offload to GPU -> offload:f#3
        9 Not offloaded: sequential: a -> explain:f#4
    "#]]
    .assert_eq(&out);
}
