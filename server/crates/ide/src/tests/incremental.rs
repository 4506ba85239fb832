//! Versions of a document: findings after edits are those of a fresh document, and tiers only ever learn.

use base::CancelToken;
use text::{Position, PositionEncoding, PositionRange};

use super::{full, open};
use crate::{check, known, warm, Cancelled, Doc, Findings, Memo, Settings, Tier};

pub(super) fn replaced(doc: &Doc, line: u32, from: u32, to: u32, new: &str) -> Doc {
    let range = PositionRange::new(Position::new(line, from), Position::new(line, to));
    let applied = doc.text().apply_lsp_change(Some(range), new, PositionEncoding::Utf16).expect("fits");
    doc.edit(&[applied])
}

fn said(findings: &Findings) -> String {
    let mut out: Vec<String> = findings.diagnostics.iter().map(|d| format!("{d:?}")).collect();
    out.extend(
        findings.loops.iter().map(|l| format!("{} {:?} {:?} {:?}", l.key, l.span, l.header, l.report())),
    );
    out.join("\n")
}

const TWO: &str = "void f(int n, double *a) {\n    for (int i = 1; i < n; i++)\n        a[i] = a[i - 1];\n}\nvoid g(int n, double *a) {\n    for (int i = 0; i < n; i++)\n        a[i] = a[i];\n}\n";

#[test]
fn findings_after_edits_are_those_of_a_fresh_document() {
    let memo = Memo::new();
    let settings = Settings::default();
    let mut doc = open(TWO);
    let edits = [
        (2, 19, 20, "2"),
        (0, 0, 0, "int unrelated; "),
        (0, 0, 0, "\n\n"),
        (4, 19, 20, "1"),
        (4, 0, 24, ""),
        (0, 0, 0, "/* für 𝄞 */"),
    ];
    for (line, from, to, new) in edits {
        doc = replaced(&doc, line, from, to, new);
        let found = check(&crate::Ask::new(&doc, &memo, Tier::Full, &CancelToken::new()), &settings)
            .expect("nobody cancels");
        let fresh = open(&doc.text().to_string());
        assert_eq!(said(&found), said(&full(&fresh)), "{}", doc.text());
    }
}

#[test]
fn typing_above_a_function_analyzes_nothing_in_it() {
    let memo = Memo::new();
    let settings = Settings::default();
    let doc = open(TWO);
    let _ = check(&crate::Ask::new(&doc, &memo, Tier::Full, &CancelToken::new()), &settings);
    let before = memo.len();
    let doc = replaced(&doc, 0, 0, 0, "\n// a comment\n\n");
    let _ = check(&crate::Ask::new(&doc, &memo, Tier::Full, &CancelToken::new()), &settings);
    assert_eq!(memo.len(), before);
}

#[test]
fn a_full_answer_is_kept_while_typing() {
    let memo = Memo::new();
    let settings = Settings::default();
    let doc = open(TWO);
    let full = check(&crate::Ask::new(&doc, &memo, Tier::Full, &CancelToken::new()), &settings)
        .expect("nobody cancels");
    let typing = check(&crate::Ask::new(&doc, &memo, Tier::Typing, &CancelToken::new()), &settings)
        .expect("nobody cancels");
    assert_eq!(said(&full), said(&typing));
}

#[test]
fn what_is_known_early_is_said_in_the_end() {
    let ignore = "    // warpwright: ignore[parallel-loop]\n    for (int i = 0";
    let code = format!("{TWO}{}", TWO.replace("void f", "void h").replace("void g", "void k"))
        .replace("    for (int i = 0", ignore);
    let (doc, settings, memo, cancel) = (open(&code), Settings::default(), Memo::new(), CancelToken::new());
    assert_eq!(said(&known(&crate::Ask::new(&doc, &memo, Tier::Typing, &CancelToken::new()), &settings)), "");
    let all = full(&doc).diagnostics;
    for (part, found) in [1, 1, 2, 2].into_iter().enumerate() {
        warm(&crate::Ask::new(&doc, &memo, Tier::Typing, &cancel), part, 4);
        // a suppression whose function is not known yet is not called unused
        let early =
            known(&crate::Ask::new(&doc, &memo, Tier::Typing, &CancelToken::new()), &settings).diagnostics;
        assert_eq!(early.len(), found, "{early:?}");
        assert!(early.iter().all(|d| all.contains(d)), "{early:?}");
    }
    let end = check(&crate::Ask::new(&doc, &memo, Tier::Typing, &cancel), &settings)
        .expect("nobody cancels")
        .diagnostics;
    assert_eq!(end, all);
}

#[test]
fn cancelled_is_cancelled() {
    let cancel = CancelToken::new();
    cancel.cancel();
    let done = check(&crate::Ask::new(&open(TWO), &Memo::new(), Tier::Full, &cancel), &Settings::default());
    assert_eq!(done.err(), Some(Cancelled));
}

/// Of a caller, a function it calls, and one that it does not: how many were analyzed again.
fn analyzed_again(code: &str, from: &str, to: &str) -> usize {
    let (memo, settings) = (Memo::new(), Settings::default());
    let doc = open(code);
    let _ = check(&crate::Ask::new(&doc, &memo, Tier::Full, &CancelToken::new()), &settings);
    let before = memo.len();
    let at = code.find(from).expect("it is there") as u32;
    let line = code[..at as usize].matches('\n').count() as u32;
    let column = at - code[..at as usize].rfind('\n').map_or(0, |n| n as u32 + 1);
    let doc = replaced(&doc, line, column, column + from.len() as u32, to);
    let found = check(&crate::Ask::new(&doc, &memo, Tier::Full, &CancelToken::new()), &settings)
        .expect("nobody cancels");
    let fresh = open(&doc.text().to_string());
    assert_eq!(said(&found), said(&full(&fresh)), "{}", doc.text());
    memo.len() - before
}

const CALLS: &str = "static double half(double x) { return x * 0.5; }\nstatic void put(double *a, int i, double v) { a[i] = v; }\nvoid f(int n, double *restrict a) {\n    for (int i = 0; i < n; i++)\n        put(a, i, half(i));\n}\nvoid g(int n, double *a) {\n    for (int i = 0; i < n; i++)\n        a[i] = a[i];\n}\n";

#[test]
fn callers_are_analyzed_again_where_what_they_call_does_something_else() {
    assert_eq!(analyzed_again(CALLS, "0.5", "0.25"), 0, "another number does nothing else");
    assert_eq!(analyzed_again(CALLS, "static double half", "/* again */ static double half"), 0, "a comment");
    assert_eq!(analyzed_again(CALLS, "a[i] = v;", "a[0] = v;"), 1, "the caller alone");
    assert_eq!(
        analyzed_again(CALLS, "return x * 0.5;", "static double s; return s += x;"),
        1,
        "hidden state"
    );
}

#[test]
fn calls_of_calls_count() {
    let code = CALLS.replace("a[i] = v; }", "store(a, i, v); }");
    let code = format!("static void store(double *p, int k, double v) {{ p[k] = v; }}\n{code}");
    assert_eq!(analyzed_again(&code, "p[k] = v", "p[0] = v"), 1);
}

#[test]
fn facts_that_rest_on_other_texts_change_with_them() {
    // Loops keep `lim` from being written in place of its calls: only the replay of the witness looks into it.
    let text = "static const int tab[2] = { 2, 1 };\nint lim(int n) {\n    int r = 0;\n    for (int k = 0; k < n; k++)\n        r += k < 40;\n    return r;\n}\nvoid f(int n, int *a) {\n    n = lim(n);\n    for (int i = 0; i < n; i++)\n        a[i + 39] = a[i];\n}\nvoid g(int n, int *a) {\n    int m = tab[1];\n    if (n < 3 && n > m)\n        for (int i = 0; i < n; i++)\n            a[i + m] = a[i];\n}\n";
    let (memo, settings) = (Memo::new(), Settings::default());
    let mut doc = open(text);
    let found = check(&crate::Ask::new(&doc, &memo, Tier::Full, &CancelToken::new()), &settings)
        .expect("nobody cancels");
    // of a loop of two rounds nothing is said unasked
    let sequential = |f: &Findings| said(f).matches("verdict: \"sequential\"").count();
    assert_eq!(sequential(&found), 2, "{}", said(&found));
    // No longer more than 39; no longer less than 2; and back.
    for (line, from, to, new, expected) in
        [(4, 17, 19, "39", 1), (0, 31, 32, "2", 0), (4, 17, 19, "40", 1), (0, 31, 32, "1", 2)]
    {
        doc = replaced(&doc, line, from, to, new);
        let found = check(&crate::Ask::new(&doc, &memo, Tier::Full, &CancelToken::new()), &settings)
            .expect("nobody cancels");
        let fresh = open(&doc.text().to_string());
        assert_eq!(said(&found), said(&full(&fresh)), "{}", doc.text());
        assert_eq!(sequential(&found), expected, "{}", doc.text());
    }
}
