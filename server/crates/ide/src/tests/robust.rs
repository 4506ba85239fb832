//! Broken and hostile input: no panic, and every view answers.

use base::Span;
use proptest::prelude::*;

use super::{everywhere, full, open};
use crate::{actions, hover, inlay_hints, lenses, resolve, Doc};

const PROGRAM: &str = "#define N 100\n#define AT(i, j) a[(i) * N + (j)]\nvoid f(int n, double *a, double *b) {\n    // warpwright: offload(k) collapse(2)\n    for (int i = 1; i < n; i++) {\n        for (int j = 0; j < N; j++) AT(i, j) = AT(i - 1, j) + b[j]; // warpwright: ignore[x]\n    }\n    do { n--; } while (a[n] > 0);\n    #pragma ops target\n    for (int i = 0; i < n; ++i) if (b[i] > a[0]) a[0] = b[i];\n}\n";

/// Every view at every place.
fn exercise(doc: &Doc) {
    let findings = full(doc);
    let _ = inlay_hints(&crate::Ask::thorough(doc), &findings, everywhere(doc), false);
    let _ = lenses(&crate::Ask::thorough(doc), &findings);
    for offset in (0..doc.text().len()).step_by(3) {
        let _ = hover(&crate::Ask::thorough(doc), &findings, offset);
    }
    for action in actions(&crate::Ask::thorough(doc), &findings, everywhere(doc)) {
        let _ = resolve(&crate::Ask::thorough(doc), &findings, &action.id);
    }
    let outside = Span { start: u32::MAX, end: u32::MAX };
    assert!(actions(&crate::Ask::thorough(doc), &findings, outside).is_empty());
}

#[test]
fn the_program_itself() {
    exercise(&open(PROGRAM));
}

#[test]
fn deep_nesting() {
    let deep = format!(
        "void f(int n, int *a) {{\n    for (int i = 0; i < n; i++) a[i] = {}i{};\n}}\n",
        "(".repeat(10_000),
        ")".repeat(10_000)
    );
    exercise_briefly(&deep);
    let minus = format!(
        "void f(int n, int *a) {{\n    for (int i = 0; i < n; i++) a[{}i] = 0;\n}}\n",
        "-~".repeat(10_000)
    );
    exercise_briefly(&minus);
    let loops =
        format!("void f(int n, int *a) {{\n{} a[0]++;\n}}\n", "for (int i = 0; i < n; i++)\n".repeat(200));
    exercise_briefly(&loops);
}

fn exercise_briefly(code: &str) {
    let doc = open(code);
    let findings = full(&doc);
    let _ = hover(&crate::Ask::thorough(&doc), &findings, 30);
    let _ = actions(&crate::Ask::thorough(&doc), &findings, Span { start: 30, end: 30 });
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn any_piece_removed_or_doubled(from in 0usize..600, len in 0usize..60, double in any::<bool>(), junk in "[ -~\\néß𝄞]{0,6}") {
        let floor = |at: usize| (0..=at.min(PROGRAM.len())).rev().find(|i| PROGRAM.is_char_boundary(*i)).unwrap_or(0);
        let (from, to) = (floor(from), floor(from + len));
        let kept = if double { from } else { to };
        let code = format!("{}{junk}{}", &PROGRAM[..to.max(from)], &PROGRAM[kept..]);
        exercise(&open(&code));
    }
}
