//! The specification as tests: what a rule is, what a system does, and the systems of the papers.

mod notation;
mod papers;

use std::sync::Arc;

use base::Span;
use expect_test::{expect, Expect};

use super::run::run;
use super::syntax::rules;
use super::*;

/// A system of its own.
pub(super) fn system(strategy: &str, text: &str) -> Arc<RuleSystem> {
    let (rules, findings) = rules(text, Span::new(0, text.len()));
    assert!(findings.is_empty(), "{findings:#?}");
    let strategy = Strategy::parse(strategy).expect("a strategy");
    Arc::new(RuleSystem { name: "test".into(), rules, strategy, place: Span::new(0, 0) })
}

/// A term in notation.
pub(super) fn subject(text: &str) -> Subject {
    let body = term::notation::read(text).unwrap_or_else(|e| panic!("{text}: {e}"));
    Subject::of(&body, text, 0, false, false)
}

/// What a system makes of a term.
pub(super) fn rewritten(strategy: &str, rules: &str, text: &str) -> String {
    let (s, subject) = (system(strategy, rules), subject(text));
    let out = run(&s, &Systems::default(), &subject, &subject.root, None, Limits::default());
    match out.ended {
        Ended::Done => subject.print(&out.tree),
        other => format!("{other:?} after {} applications", out.derivation.steps.len()),
    }
}

fn check(strategy: &str, rules: &str, text: &str, expected: Expect) {
    expected.assert_eq(&rewritten(strategy, rules, text));
}

/// A rule finds a term, asks its condition, and puts its destination there with variables filled in.
#[test]
fn a_rule_replaces_what_it_finds() {
    check("TopDown", "f($x) -> g($x,$x)", "h(f(a+1))", expect!["h(g(a+1,a+1))"]);
    check("TopDown", "f($x,$x) -> same($x)", "[f(a,a),f(a,b)]", expect!["[same(a),f(a,b)]"]);
    check("TopDown", "f($n) [$n > 1] -> g($n/2)", "[f(4),f(1),f(k)]", expect!["[g(2),f(1),f(k)]"]);
    check("TopDown", "Plus($x:integer, 0) -> $x", "f(1+0, a+0)", expect!["f(1,a+0)"]);
}

/// Lists are heads and tails; a list that a rule makes in a list is its items; NIL there is nothing.
#[test]
fn lists_are_taken_apart_and_joined() {
    check(
        "TopDown",
        "double([$x:$y]) -> [$x:[$x:double($y)]]\ndouble(NIL) -> NIL",
        "f(double([a,b]))",
        expect!["f([a,a,b,b])"],
    );
    check("TopDown", "gone -> NIL\ntwo -> [x,y]", "[a,gone,two,b]", expect!["[a,x,y,b]"]);
    check(
        "TopDown",
        "f([$a:$b:$c]) -> g($c)",
        "[f([p]),f([p,q]),f([p,q,r])]",
        expect!["[f([p]),g(NIL),g([r])]"],
    );
    check(
        "TopDown",
        "end([$x:$y]) -> [$x:end($y)]\nend(NIL) -> last",
        "If(c,end([a,b]))",
        expect!["If(c,[a,b,last])"],
    );
}

/// The strategies differ in which place comes first.
#[test]
fn strategies_choose_places() {
    let rules = "f(f($x)) -> g($x)";
    check("TopDown", rules, "f(f(f(a)))", expect!["g(f(a))"]);
    check("BottomUp", rules, "f(f(f(a)))", expect!["f(g(a))"]);
    check("FirstTop", "a -> b", "[a,f(a)]", expect!["[b,f(b)]"]);
    check("once(TopDown)", "a -> b", "[f(a),a]", expect!["[f(b),a]"]);
    check("once(BottomUp)", "f($x) -> g($x)", "f(f(a))", expect!["f(g(a))"]);
    check("repeat(once(TopDown))", "a -> b", "[f(a),a]", expect!["[f(b),b]"]);
}

/// `then` is all or nothing, unless a part is tried.
#[test]
fn systems_follow_one_another() {
    let named = |name: &str, strategy: &str, text: &str| {
        let s = system(strategy, text);
        (Arc::<str>::from(name), Arc::new(RuleSystem { name: name.into(), ..(*s).clone() }))
    };
    let all: Systems =
        [named("p", "TopDown", "a -> b"), named("q", "TopDown", "b -> c"), named("r", "TopDown", "z -> y")]
            .into_iter()
            .collect();
    for (strategy, want) in
        [("then(p, q)", "c"), ("then(q, p)", "a"), ("then(p, r)", "a"), ("then(p, try(r), q)", "c")]
    {
        let s = system(strategy, "");
        let subject = subject("a");
        let out = run(&s, &all, &subject, &subject.root, None, Limits::default());
        assert_eq!(subject.print(&out.tree), want, "{strategy}");
    }
}

/// Every run ends, and says why.
#[test]
fn runs_end() {
    check("TopDown", "a -> b\nb -> a", "f(a)", expect!["TooManyApplications after 5000 applications"]);
    check("FirstTop", "a -> b\nb -> a", "f(a)", expect!["Circle after 2 applications"]);
    check("TopDown", "f($x) -> f(g($x))", "f(a)", expect!["TooLarge after 150 applications"]);
    check("TopDown", "f($x) -> f(g($x,$x))", "f(a)", expect!["TooLarge after 16 applications"]);
    check("TopDown", "a -> a", "f(a)", expect!["f(a)"]);
}

/// What was applied is remembered with its bindings and proofs.
#[test]
fn derivations_remember() {
    let s = system("TopDown", "halve: f($n) [$n > 1] -> g($n/2)");
    let subject = subject("f(4)");
    let out = run(&s, &Systems::default(), &subject, &subject.root, None, Limits::default());
    expect!["test rule halve: f(4) -> g(2); $n = 4; 4 > 1 because 4 > 1"]
        .assert_eq(&out.derivation.lines(&subject).join("\n"));
}

/// What cannot be read is said at its place, and the other rules stay.
#[test]
fn mistakes_are_located() {
    let text = "1. a -> b\n2. f($x [ -> c\n3. d -> e\n4. g($x) [indpendent($x)] -> h\n5. p -> q [$n>1]\n6. u [!independent($i)] -> v\n7. c`for (` -> w\n8. csharp`x` -> y\n";
    let (found, findings) = rules(text, Span::new(0, text.len()));
    let names: Vec<&str> = found.iter().map(|r| &*r.name).collect();
    assert_eq!(names, ["1", "3"]);
    let said: Vec<String> = findings
        .iter()
        .map(|f| {
            let (line, column) = line_column(text, f.place.start);
            format!("{line}:{column} {}", f.message)
        })
        .collect();
    expect![[r#"
        2:9 `,` is expected.
        4:11 There is no guard `indpendent`. Is `independent` meant?
        5:12 `$n>1` is a condition: conditions stand before the arrow, `source [condition] -> destination`.
        6:7 `not independent($i)` would take the lack of a proof for a proof. Negate only comparisons, `type` and `const`.
        7:4 The quoted source is not understood: the parser reports an error here. It is to be an expression or statements.
        8:4 Csharp`…` is not supported yet: pieces of C# are not read. Write the rule in c`…`, cpp`…`, cuda`…` or term notation."#]].assert_eq(&said.join("\n"));
}

/// Quoted source means the terms that the same text means in a program.
#[test]
fn quoted_source_is_terms() {
    let s = system("TopDown", "c`for (int $i = 0; $i < $n; $i++) $body` -> c`for (int $i = $n; $i-- > 0; ) { $body }`\nc`pow($x, 2)` -> c`$x * $x`\nc`$a = 1; $a = 2;` -> c`$a = 2;`");
    let shown: Vec<String> =
        s.rules.iter().map(|r| format!("{} -> {}", r.source.text(), r.destination.text())).collect();
    expect![[r#"
        For(DeclarationAssignment($i,int,0),$i<$n,Increment($i),$body) -> For(DeclarationAssignment($i,int,$n),Decrement($i)>0,Empty,$body)
        MethodCall(pow,$x,2) -> $x*$x
        [Assignment($a,1),Assignment($a,2)] -> Assignment($a,2)"#]].assert_eq(&shown.join("\n"));
}

/// What a page's text shows, as `line:column severity message`.
fn findings(text: &str) -> String {
    let (page, found) = load("page", text);
    let said = found.iter().map(|f| {
        let (line, column) = page.line_column(f.place);
        format!("{line}:{column} {:?}: {}\n", f.severity, f.message)
    });
    said.collect()
}

/// A page is read as it is written; nothing is to be said of this one.
#[test]
fn a_page_is_documentation_definition_and_test() {
    let text = "# Squares\n\nPowers of two are products.\n\nTrust: exact\n\n```rules squares BottomUp\nsquare: c`pow($x, 2)` [pure($x)] -> c`$x * $x`\n```\n\n```c example\nfloat f(float x) { return pow(x, 2); }\n```\n```c result\nfloat f(float x) { return x * x; }\n```\n```c refused because writes\nfloat f(float x) { return pow(x++, 2); }\n```\n";
    assert_eq!(findings(text), "");
    let (page, _) = load("page", text);
    assert_eq!((page.title.as_str(), page.prose.as_str()), ("Squares", "Powers of two are products."));
    assert_eq!(page.trust, Some(Trust::Exact));
    let s = &page.systems[0];
    assert_eq!((&*s.name, &s.strategy, &*s.rules[0].name), ("squares", &Strategy::BottomUp, "square"));
    assert_eq!(page.examples[0].expected, Expected::Result("float f(float x) { return x * x; }\n".into()));
    assert_eq!(page.examples[1].expected, Expected::Refused("writes".into()));
}

/// What is wrong with a page is said at its place with what to write instead.
#[test]
fn mistakes_on_pages_are_located() {
    expect![[r#"
        1:1 Error: The page has no title. Begin it with a heading: `# What the rules do`.
        1:1 Error: The page does not say what its results are worth. Add a paragraph `Trust: exact`, `Trust: reassociates` or `Trust: assumes …` with what it assumes.
        1:1 Error: The page has no rules. Write them in a fenced block that begins with ```rules NAME.
        3:1 Error: A block ```ruels is not read. Is ```rules meant?
    "#]].assert_eq(&findings("Rules.\n\n```ruels\na -> b\n```\n"));
    expect![[r#"
        3:1 Error: `exakt` is no trust. Write `Trust: exact`, `Trust: reassociates` or `Trust: assumes …` with what it assumes.
        5:1 Error: The strategy cannot be read: `,` or `)` is expected in the strategy.
        9:1 Error: The system `s` has no example. Add a block ```c example with a program and behind it a block ```c result with what becomes of it.
        10:1 Error: Nothing binds `$z` in the condition of rule 1. Use it in the source, or bind it with `fresh($z)` or an action.
        10:1 Error: Nothing binds `$y` in the destination of rule 1. Use it in the source, or bind it with `fresh($y)` or an action.
        11:1 Warning: Rule 2 may go on for ever: it makes `f(h($a))`, which it matches again. Make what it matches smaller, or say in the condition when to stop.
        12:1 Warning: Rule 3 never applies: rule 2 before it matches all that it matches. Put it first, or give rule 2 a condition.
        15:1 Error: A block ```c exampel is not read. Is `example` meant?
        18:1 Error: The example has no result. Put a block ```c result behind it.
    "#]].assert_eq(&findings(
        "# T\n\nTrust: exakt\n\n```rules r then(TopDown\na -> b\n```\n\n```rules s\nf($x) [$z > 1] -> g($x, $y)\nf($a) -> f(h($a))\nf(b) -> c\n```\n\n```c exampel\nint x;\n```\n```c example\nint x;\n```\n",
    ));
    expect![[r#"
        5:1 Error: The system `s` has no example. Add a block ```c example with a program and behind it a block ```c result with what becomes of it.
        7:1 Warning: Rules 1 and 2 match some terms both, and their order decides. If that is not meant, make the sources differ.
        8:1 Warning: Rule 3 never applies: rule 2 before it matches all that it matches. Put it first, or give rule 2 a condition.
        10:1 Warning: Rules 4 and 5 undo one another. Leave one out.
    "#]].assert_eq(&findings(
        "# T\n\nTrust: assumes blocks of 256 threads\n\n```rules s\na($x, b) -> a($x, c)\na(d, $y) -> e\na(d, f) -> g\np($x) -> q($x)\nq($x) -> p($x)\nu($n) [$n > 1] -> u($n - 1)\n```\n",
    ));
}

/// Neither what rules nest in one another nor what they put beside one another exhausts the machine.
#[test]
fn rules_that_grow_end_early() {
    for strategy in ["TopDown", "BottomUp", "FirstTop", "repeat(once(BottomUp))"] {
        for rules in [
            "f($x) -> g(f($x))",
            "f($x) -> f(g($x))",
            "a -> [a,b]",
            "f($x) -> [f($x),b]",
            "Run(a,b) -> [a,a,b]",
        ] {
            let out = rewritten(strategy, rules, "[a,b,f(a)]");
            assert!(out.contains(" applications"), "{strategy} {rules}: {out}");
        }
    }
}

/// Types are found and written like anything else, and what is declared with them has them.
#[test]
fn variables_stand_for_types() {
    let set = |rule: &str| {
        let (page, findings) = load("t", &format!("# T\n\nTrust: exact\n\n```rules t\n{rule}\n```\n"));
        let errors: Vec<_> = findings.iter().filter(|f| f.message.contains("understood")).collect();
        assert!(errors.is_empty(), "{errors:?}");
        page.systems[0].rules[0].clone()
    };
    let rule = set("cuda`__shared__ $T $a[32]; $T $x = $a[0]; $x = 1;` -> cuda`static $T $x = 5;`");
    assert_eq!(
        rule.source.text(),
        "[ArrayDeclaration($a,$T,32,__shared__),DeclarationAssignment($x,$T,ArrayElement($a,0)),Assignment($x,1)]"
    );
    assert_eq!(rule.destination.text(), "DeclarationAssignment($x,$T,5,static)");
    // a statement stays one
    let rule = set("c`for (;;) { $body $x = 1; }` -> c`for (;;) { $x = 1; $body }`");
    assert!(rule.source.text().contains("[$body,Assignment($x,1)]"), "{}", rule.source.text());
}

/// Whoever writes a page finds every guard, action and strategy in docs/rules.md.
#[test]
fn documents_name_everything() {
    let docs = include_str!("../../../../../../docs/rules.md");
    // the kernel of two and three dimensions is told with that of one
    let told = |name: &str| !matches!(name, "GenerateKernel2D" | "GenerateKernel3D");
    for (name, _, _) in GUARDS.iter().chain(&ACTIONS).filter(|a| told(a.0)) {
        assert!(docs.contains(&format!("`{name}(")), "docs/rules.md lacks {name}");
    }
    for name in [
        "TopDown",
        "BottomUp",
        "FirstTop",
        "once(S)",
        "repeat(S)",
        "try(S)",
        "then(S, T, …)",
        "or(S, T, …)",
        "together(S)",
    ] {
        assert!(docs.contains(&format!("| `{name}` |")), "docs/rules.md lacks {name}");
    }
}
