//! Systems applied to functions: what is written, what stays as it was, what is refused.

use base::Budget;
use expect_test::{expect, Expect};
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
    let facts = analysis::analyze(&unit.items[item].body, &program, analysis::FULL_STEPS, &budget);
    let site = Site {
        unit: &unit,
        text,
        language,
        options: &options,
        program: &program,
        item,
        facts: &facts,
        budget: &budget,
    };
    let set = RuleSet::default();
    match apply(&site, &page.systems[0], &set.systems, &Trust::Exact, None, Limits::default()) {
        Ok(done) => done.text,
        Err(no) => format!("{:?} because {}", no.kind, no.because),
    }
}

fn check(rules: &str, text: &str, expected: Expect) {
    // what a rule makes may be matched by it again
    let strategy = if rules.contains("for (") { "once(TopDown)" } else { "TopDown" };
    expected.assert_eq(&applied(Language::C, strategy, rules, text));
}

const POW: &str = "c`pow($x, 2)` [pure($x)] -> c`$x * $x`";

#[test]
fn expressions_keep_their_parts() {
    check(
        POW,
        "double pow(double, double);\ndouble f(double x, double y) {\n    /* a */ double z = pow(x /* b */ + y, 2); // c\n    return 1 / pow(z, 2) + pow(pow(x, 2), 2);\n}\n",
        expect![[r#"
            double pow(double, double);
            double f(double x, double y) {
                /* a */ double z = (x /* b */ + y) * (x /* b */ + y); // c
                return 1 / (z * z) + x * x * (x * x);
            }
        "#]],
    );
    check(
        POW,
        "double pow(double, double);\ndouble f(double x) { return pow(x++, 2); }\n",
        expect!["NothingApplies because the condition of rule 1 is not proved: `Increment(x)` writes"],
    );
    check(
        POW,
        "double pow(double, double);\ndouble f(double *x) { return pow(x[0], 3); }\n",
        expect!["NothingApplies because no rule matches anything here"],
    );
}

#[test]
fn macros_stay_or_go_as_a_whole() {
    check(
        "c`$x + 0` -> c`$x`",
        "#define NIL 0\n#define PLUS(a) ((a) + 0)\nint f(int x) {\n    return (x + NIL) * PLUS(x);\n}\n",
        expect![[r#"
            #define NIL 0
            #define PLUS(a) ((a) + 0)
            int f(int x) {
                return (x) * x;
            }
        "#]],
    );
    check(
        "c`$x * 2` -> c`$x + $x`",
        "#define TWICE(a) ((a) * 2)\n#define SUM a + b\nint f(int a, int b) {\n    return TWICE(a) + (SUM) * 2;\n}\n",
        expect![[r#"
            #define TWICE(a) ((a) * 2)
            #define SUM a + b
            int f(int a, int b) {
                return a + a + (SUM + (SUM));
            }
        "#]],
    );
}

#[test]
fn statements_come_and_go() {
    check(
        "c`$x = $x;` -> NIL",
        "int f(int x) {\n    // before\n    x = x; // gone\n    x = x;\n    if (x) x = x;\n    { int y = 1; y = y; x += y; }\n    return x;\n}\n",
        expect!["Wrong because statements are added or gone, and whether that is right is not checked"],
    );
    check(
        "c`$x += $y;` [fresh($t)] -> c`int $t = $y; $x = $x + $t;`",
        "int f(int x, int t) {\n\tif (x)\n\t\tx += t; // one\n\tx += 2;\n\treturn x;\n}\n",
        expect![[r#"
            int f(int x, int t) {
            	if (x) {
            		int t_2 = t;
            		x = x + t_2;
            	} // one
            	int t_1 = 2;
            	x = x + t_1;
            	return x;
            }
        "#]],
    );
}

const INTERCHANGE: &str = "c`for (int $i = $a; $i < $n; $i++) for (int $j = $b; $j < $m; $j++) $body` [permutable($i,$j)]\n -> c`for (int $j = $b; $j < $m; $j++) for (int $i = $a; $i < $n; $i++) $body`";

#[test]
fn loops_are_swapped_where_the_dependences_let_them() {
    let nest = |s: &str| {
        format!("double a[64][64];\nvoid f(void) {{\n    for (int i = 1; i < 64; i++) {{ // rows\n        for (int j = 0; j < 63; j++) {{\n            /* cell */\n            {s}\n        }}\n    }}\n}}\n")
    };
    // the guard refuses, and a rule without the guard is refused by the check
    let unguarded = INTERCHANGE.replace("[permutable($i,$j)]", "[$j != $i]");
    check(
        INTERCHANGE,
        &nest("a[i][j] = a[i - 1][j];"),
        expect![[r#"
        double a[64][64];
        void f(void) {
            for (int j = 0; j < 63; j++) { // rows
                for (int i = 1; i < 64; i++) {
                    /* cell */
                    a[i][j] = a[i - 1][j];
                }
            }
        }
    "#]],
    );
    check(INTERCHANGE, &nest("a[i][j] = a[i - 1][j + 1];"), expect!["NothingApplies because the condition of rule 1 is not proved: it breaks the flow dependence of `a` from `a[i][j]` to `a[i - 1][j + 1]` with the directions (<, >)"]);
    check(&unguarded, &nest("a[i][j] = a[i - 1][j + 1];"), expect!["Wrong because it breaks the flow dependence of `a` from `a[i][j]` to `a[i - 1][j + 1]` with the directions (<, >)"]);
}

#[test]
fn captured_variables_are_refused() {
    check(
        "c`{ int x = 1; $y = $z; }` -> c`{ int y = 1; $y = $z; }`",
        "int f(int y, int z) {\n    if (y) { int x = 1; y = z; }\n    return y;\n}\n",
        expect!["Wrong because `y` would mean another variable of that name"],
    );
}
