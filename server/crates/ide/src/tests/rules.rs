//! Rule pages: those that ship are right, and what is wrong with others is said on them.

use base::CancelToken;
use expect_test::{expect, Expect};

use crate::{check_rule_page, RuleSet};

/// Every page that ships: nothing is to be said of it, and all its examples come out and compute what they did.
#[test]
fn shipped_pages_are_right() {
    let set = RuleSet::shipped();
    assert_eq!(set.pages.len(), RuleSet::shipped_pages().len(), "a page has errors");
    for (name, text) in RuleSet::shipped_pages() {
        let done = check_rule_page(&set, name, text, &CancelToken::new());
        assert!(done.findings.is_empty(), "{name}: {:#?}", done.findings);
        assert!(done.examples >= 2, "{name} has an accepted and a refused example");
    }
}

/// What is said of a page with these rules and examples.
fn check(rules: &str, examples: &str, expected: Expect) {
    let text = format!("# T\n\nTrust: exact\n\n```rules t once(TopDown)\n{rules}\n```\n\n{examples}");
    let done = check_rule_page(&RuleSet::shipped(), "t", &text, &CancelToken::new());
    let said: String = done
        .findings
        .iter()
        .map(|f| format!("{}:{} {:?} {}\n", f.line, f.column, f.severity, f.message))
        .collect();
    expected.assert_eq(&said);
}

const COLUMNS: &str = "double a[64][64];\nvoid f(void) {\n    for (int i = 1; i < 64; i++)\n        for (int j = 0; j < 63; j++)\n            a[i][j] = a[i - 1][j + 1];\n}\n";

#[test]
fn a_guard_that_is_too_weak_is_told_on_the_page() {
    check(
        "c`for (int $i = $a; $i < $n; $i++) for (int $j = $b; $j < $m; $j++) $body` [const($n)] -> c`for (int $j = $b; $j < $m; $j++) for (int $i = $a; $i < $n; $i++) $body`",
        &format!("```c example\n{COLUMNS}```\n```c result\n{COLUMNS}```\n```c refused\nint x;\n```\n"),
        expect![[r#"
            10:1 Error Rule t, example 1: There is no result, because in `f` it breaks the flow dependence of `a` from `a[i][j]` to `a[i - 1][j + 1]` with the directions (<, >).
        "#]],
    );
}

#[test]
fn a_rule_that_computes_something_else_is_told_on_the_page() {
    check(
        "c`$x / 2` -> c`$x >> 1`",
        "```c example\nint f(int x) { return x / 2; }\n```\n```c result\nint f(int x) { return x >> 1; }\n```\n```c refused\nint f(int x) { return x; }\n```\n",
        expect![[r#"
            10:1 Error Rule t, example 1: The result computes something else than the program: for x=-33: the function returns Int(-17) instead of Int(-16).
        "#]],
    );
    check(
        "c`$x + $y` -> c`$y + $x`",
        "```c example\nint f(int x) { return x + 1; }\n```\n```c result\nint f(int x) { return 1+x; }\n```\n```c refused\nint f(int x) { return x + 2; }\n```\n",
        expect![[r#"
            13:1 Error Rule t, example 1: The program becomes something else than this:
            int f(int x) { return 1 + x; }
            16:1 Error Rule t, example 2: This is to be refused, but the rules apply (t rule 1: x+2 -> 2+x; $x = x, $y = 2):
            int f(int x) { return 2 + x; }
        "#]],
    );
}

/// The page that the documents begin with works as it stands there.
#[test]
fn the_documented_page_is_right() {
    let docs = include_str!("../../../../../docs/rules.md");
    let page = docs.split("````markdown\n").nth(1).and_then(|p| p.split("````").next()).expect("a page");
    let done = check_rule_page(&RuleSet::shipped(), "squares", page, &CancelToken::new());
    assert!(done.findings.is_empty(), "{:#?}", done.findings);
    assert_eq!((done.rules, done.examples), (1, 2));
}
