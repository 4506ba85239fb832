//! Rules that are right by what their guards prove: loops unrolled, values put before a loop, loops swapped.

use base::Budget;
use expect_test::expect;
use front::{Language, Memo, Options, Parsed};
use rewrite::rules::{apply, load, Limits, RuleSet, Site, Trust};

/// What a system makes of the first function of a text, or why it makes nothing of it.
fn applied(language: Language, strategy: &str, rules: &str, text: &str) -> String {
    let page = format!("# Test\n\nTrust: exact\n\n```rules test {strategy}\n{rules}\n```\n");
    let (page, findings) = load("test", &page);
    let errors: Vec<&str> =
        findings.iter().map(|f| f.message.as_str()).filter(|m| !m.contains("example")).collect();
    assert!(errors.is_empty(), "{errors:?}");
    let parsed = Parsed::parse(language, text);
    let options = Options::default();
    let unit = front::lower(&parsed, &options, &mut Memo::new());
    let program = analysis::Program::of(unit.items.iter().map(|i| &i.body));
    let item = unit.items.iter().position(|i| i.kind == front::ItemKind::Function).expect("a function");
    let budget = Budget::with_cancel(u64::MAX, base::CancelToken::new());
    let facts = analysis::analyze(&unit.items[item].body, &program, analysis::SAVE, &budget);
    let site = Site {
        unit: &unit,
        text,
        language,
        options: &options,
        program: &program,
        item,
        facts: &facts,
        budget: &budget,
        together: &rewrite::rules::Together::default(),
        memo: &Default::default(),
        reading: rewrite::rules::Reading::Alone,
    };
    let set = RuleSet::default();
    match apply(&site, &page.systems[0], &set.systems, &Trust::Exact, None, Limits::default()) {
        Ok(done) => done.applied_to(text).expect("edits that fit"),
        Err(no) => format!("{:?} because {}", no.kind, no.because),
    }
}

const UNROLL: &str = "c`for (int $i = 0; $i < $n; $i++) $b` [const($n), ($n % 2) == 0, straight($b), unwritten($i, $b)] -> c`for (int $i = 0; $i < $n; $i += 2) { $b $c }` [Replace($b, $i, $i + 1, $c)]";

#[test]
fn loops_are_unrolled_where_their_count_is_even() {
    let text = applied(
        Language::C,
        "once(TopDown)",
        UNROLL,
        "int a[64];\nvoid f(int *b) {\n    for (int i = 0; i < 64; i++)\n        a[i] = b[i] + i;\n}\n",
    );
    expect![[r#"
            int a[64];
            void f(int *b) {
                for (int i = 0; i < 64; i += 2) {
                    {
                        a[i] = b[i] + i;
                    }
                    {
                        a[i + 1] = b[i + 1] + (i + 1);
                    }
                }
            }
        "#]]
    .assert_eq(&text);
    for (body, count) in
        [("a[i] = 1;", "63"), ("a[i] = i++;", "64"), ("if (a[i]) break;", "64"), ("a[i] = 1;", "n")]
    {
        let text = format!(
            "int a[64];\nvoid f(int n) {{\n    for (int i = 0; i < {count}; i++)\n        {body}\n}}\n"
        );
        let said = applied(Language::C, "once(TopDown)", UNROLL, &text);
        assert!(said.starts_with("NothingApplies"), "{body} {count}: {said}");
    }
}

#[test]
fn what_leaves_a_loop_must_be_defined_where_it_does_not_run() {
    const HOIST: &str = "c`for (int $i = 0; $i < $n; $i++) $x[$i] = $e;` [invariant($e, $i), total($e), typeof($e, $T), fresh($t)] -> c`$T $t = $e; for (int $i = 0; $i < $n; $i++) $x[$i] = $t;`";
    let with = |e: &str| {
        let text = format!(
            "void f(int n, int *x, int p, unsigned q) {{\n    for (int i = 0; i < n; i++) x[i] = {e};\n}}\n"
        );
        applied(Language::C, "once(TopDown)", HOIST, &text)
    };
    assert!(with("q * 2").contains("unsigned int t = q * 2;"), "{}", with("q * 2"));
    for e in ["p / (int)q", "p + 1", "i", "x[0]", "p << 3", "n++"] {
        assert!(with(e).starts_with("NothingApplies"), "{e}: {}", with(e));
    }
    const SWAP: &str = "c`for (int $i = $a; $i < $n; $i++) for (int $j = $b; $j < $m; $j++) $body` [permutable($i, $j)] -> c`for (int $j = $b; $j < $m; $j++) for (int $i = $a; $i < $n; $i++) $body`";
    let swapped = |n: &str, m: &str| {
        let text = format!("int a[64][64];\nvoid f(int n, int m, int d) {{\n    for (int i = 0; i < {n}; i++)\n        for (int j = 0; j < {m}; j++)\n            a[i][j] = i;\n}}\n");
        applied(Language::C, "once(TopDown)", SWAP, &text)
    };
    assert!(swapped("8", "64").contains("j < 64"), "{}", swapped("8", "64"));
    assert!(!swapped("n", "m").contains("evaluated before"), "{}", swapped("n", "m"));
    assert!(swapped("n", "64 / d").contains("may divide by zero"), "{}", swapped("n", "64 / d"));
    assert!(!swapped("8", "64 / d").contains("may divide by zero"), "{}", swapped("8", "64 / d"));
}

#[test]
fn sizes_of_expressions_stay() {
    let text = "unsigned long f(char c) {\n    return sizeof(c * 1) + (c * 1);\n}\n";
    let said = applied(Language::C, "BottomUp", "c`$x * 1` [type($x, integer)] -> c`$x`", text);
    // a size may be a number by then
    assert!(said.contains("another size") || !said.contains("sizeof(c)"), "{said}");
}
