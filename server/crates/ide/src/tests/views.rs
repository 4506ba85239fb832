//! Views: dependences, calls, terms.

use super::{full, open};
use crate::{show_call_graph, show_dependences, show_terms, Refused, Which};

const RECURRENCE: &str = "double g(double x);
double twice(double x) { return 2 * x; }
void f(int n, double a[n][n]) {
    for (int i = 1; i < n; i++)
        for (int j = 0; j < n; j++)
            a[i][j] = a[i - 1][j] + 1;
    a[0][0] = twice(g(1));
}
";

#[test]
fn dependences_show_both_accesses_and_an_example() {
    let doc = open(RECURRENCE);
    let view = show_dependences(&crate::Ask::thorough(&doc), &full(&doc), &Which::Line(4)).expect("a loop");
    assert_eq!(view.title, "Dependences of loop i on line 4");
    for part in [
        "## Loop `i` on line 4 in `f`: sequential",
        "### 1. Flow dependence on `a`",
        "- from `a[i][j]` on line 6, column 13 (writes)",
        "- to `a[i - 1][j]` on line 6, column 23 (reads)",
        "- direction `(<, =)`, distance `(1, 0)`, for loop i, loop j",
        "- for example: iteration i=1, j=0 writes a[1][0] on line 6; iteration i=2, j=0 reads it on line 6 (for n=3)",
        "- what removes it: This is a recurrence",
    ] {
        assert!(view.markdown.contains(part), "{part}\n{}", view.markdown);
    }
    let dot = view.dot.expect("a graph");
    assert!(dot.starts_with("digraph dependences {\n"), "{dot}");
    assert!(dot.contains(r#""6:13" -> "6:23" [label="flow a (1, 0)"];"#), "{dot}");
}

#[test]
fn a_parallel_loop_has_none() {
    let doc = open(RECURRENCE);
    let view = show_dependences(&crate::Ask::thorough(&doc), &full(&doc), &Which::Line(5)).expect("a loop");
    assert!(view.markdown.contains("No iteration depends on another."), "{}", view.markdown);
    assert_eq!(
        show_dependences(&crate::Ask::thorough(&doc), &full(&doc), &Which::Line(1)),
        Err(Refused::Stale)
    );
}

#[test]
fn calls_say_who_is_defined_where() {
    let view = show_call_graph(&open(RECURRENCE));
    let expected = "- `f` on line 3 calls `twice` on line 7, `g` (defined elsewhere) on line 7";
    assert!(view.markdown.contains(expected), "{}", view.markdown);
    assert!(view.markdown.contains("- `twice` on line 2 calls nothing"), "{}", view.markdown);
    let dot = view.dot.expect("a graph");
    assert!(dot.contains(r#""f" -> "twice""#) && dot.contains("style=dashed"), "{dot}");
}

#[test]
fn terms_are_those_of_the_function() {
    let doc = open(RECURRENCE);
    let findings = full(&doc);
    let all = show_terms(&doc, &findings, None).expect("terms");
    assert!(all.markdown.contains("### `twice` (line 2)") && all.markdown.contains("### `f` (line 3)"));
    let one = show_terms(&doc, &findings, Some(&Which::Line(4))).expect("terms");
    assert!(!one.markdown.contains("`twice` (line 2)") && one.markdown.contains("For("), "{}", one.markdown);
}
