//! Rule pages: those that ship are right, and what is wrong with others is said on them.

use base::CancelToken;
use expect_test::{expect, Expect};

use crate::check as check_doc;
use crate::{
    apply_rules, check_rule_page, Doc, Language, Memo, Options, RuleSet, RuleTarget, Settings, Tier,
};

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

/// What a kernel costs on two blocks' numbers: divided warps, bank conflicts, idle threads, barriers.
#[derive(Debug)]
struct Costs {
    divergent: u64,
    conflicts: u64,
    idle: u64,
    barriers: u64,
    global: u64,
}

/// Runs `parallelAdd` of a program on `blocks` blocks of 128 threads.
fn costs(text: &str, blocks: u32) -> Costs {
    let parsed = front::Parsed::parse(front::Language::Cuda, text);
    let unit = front::lower(&parsed, &front::Options::default(), &mut front::Memo::new());
    let program = simulate::Program::of(unit.items.iter().map(|i| &*i.body));
    let mut heap = simulate::Heap::new();
    let input = heap.buffer("in", &(0..512).collect::<Vec<i32>>()).expect("a buffer");
    let out = heap.alloc("out", 4, 512).expect("a buffer");
    let args = [simulate::Value::Pointer(input, 0), simulate::Value::Pointer(out, 0)];
    let launch = simulate::Launch::linear(blocks, 128);
    let budget = base::Budget::new(50_000_000);
    let schedule = simulate::Schedule::counted(7);
    let options = simulate::Options { overloads: true, decisions: true, ..simulate::Options::default() };
    let report =
        simulate::run_grid(&program, "parallelAdd", &args, &mut heap, &launch, &schedule, &options, &budget)
            .expect("it runs");
    assert!(report.is_clean(), "{:?}\n{text}", report.findings);
    let c = report.counts.expect("counted");
    Costs {
        divergent: c.branches.iter().map(|b| b.divergent).sum(),
        conflicts: c.bank_conflicts(),
        idle: c.idle_threads(),
        barriers: c.barriers_opened(),
        global: c.global_elements(),
    }
}

/// What F1.10 says of its steps is what the counters say of the kernels that the pages make.
#[test]
fn the_steps_of_the_tree_sum_mend_what_they_are_for() {
    let set = RuleSet::shipped();
    let shipped = |name: &str| {
        let (_, text) = RuleSet::shipped_pages().iter().find(|p| p.0 == name).expect("a page");
        let first = text.split("```cuda example\n").nth(1).and_then(|t| t.split("```").next());
        first.expect("an example").to_owned()
    };
    let step = |text: &str, system: &str| {
        let text = text::Text::new(text).expect("a short text");
        let doc = Doc::open(Language::Cuda, "sum.cu", text, Options::default());
        let (memo, cancel) = (Memo::new(), CancelToken::new());
        let findings =
            check_doc(&doc, &memo, &Settings::default(), Tier::Full, &cancel).expect("not cancelled");
        apply_rules(&doc, &findings, &set, system, &RuleTarget::File, &cancel).expect("it applies").text
    };
    let original = shipped("reduction-shared");
    let shared = step(&original, "reduction-shared");
    let undivided = step(&shared, "reduction-undivided");
    let halving = step(&shared, "reduction-halving");
    let first_add = step(&halving, "reduction-first-add");
    let last_warp = step(&first_add, "reduction-last-warp");
    assert_eq!(step(&original, "reduction"), last_warp);
    let [a, b, c, d] = [&original, &shared, &undivided, &halving].map(|t| costs(t, 4));
    let [e, f] = [&first_add, &last_warp].map(|t| costs(t, 2));
    // each number is read, summed and written in global memory; then read once, and one written a block
    assert_eq!((a.global, b.global), (4 * (2 * 128 + 3 * 127), 4 * (128 + 1)));
    // warps that run both branches; words that wait for one bank; threads with nothing to do; barriers
    assert!(c.divergent * 3 < b.divergent && d.divergent == c.divergent, "{b:?} {c:?} {d:?}");
    assert!(c.conflicts > 0 && b.conflicts == 0 && d.conflicts == 0, "{b:?} {c:?} {d:?}");
    assert_eq!((e.idle * 2, e.barriers * 2), (d.idle, d.barriers));
    assert!(f.barriers * 3 < e.barriers && f.conflicts == 0, "{e:?} {f:?}");
}

/// A result that is more than the text of the document is not given in part.
#[test]
fn results_with_files_are_refused() {
    check(
        "c`$x = 1;` -> c`$x = 2;` [EmitFile(notes, two)]",
        "```c example\nvoid f(int *p) { *p = 1; }\n```\n```c result\nvoid f(int *p) { *p = 2; }\n```\n```c refused\nvoid f(int *p) { *p = 3; }\n```\n",
        expect![[r#"
            10:1 Error Rule t, example 1: There is no result, because the rules make the file `notes`, and files are not written yet.
        "#]],
    );
}
