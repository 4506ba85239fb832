//! What plans cost, in counted steps: made once whoever asks, and within the steps of their function.

use super::open;
use crate::{check, Ask, Findings, Memo, Settings, Tier};
use base::CancelToken;

/// A nest so deep.
fn nest(depth: usize) -> String {
    let heads: String = (0..depth).map(|k| format!("for (int i{k} = 0; i{k} < n; i{k}++)\n")).collect();
    let sum: Vec<String> = (0..depth).map(|k| format!("i{k}")).collect();
    format!("void f(int n, double *a)\n{{\n{heads}a[{}] += 1;\n}}\n", sum.join(" + "))
}

fn spent(findings: &Findings) -> u64 {
    findings.functions.iter().flatten().map(|f| f.plans.spent()).sum()
}

fn asked(ask: &Ask) -> Findings {
    let findings = check(ask, &Settings::default()).expect("nobody cancels");
    findings.loops.iter().for_each(|l| _ = l.report());
    findings
}

/// Reports of all loops of a deep nest take the steps of one function, not of a function each; asking again takes none.
#[test]
fn plans_are_made_once_and_within_the_steps_of_a_function() {
    let doc = open(&nest(20));
    let ask = Ask::new(&doc, &Memo::new(), Tier::Full, &CancelToken::new());
    let first = spent(&asked(&ask));
    // the last plan may begin with one step left
    let most = crate::plans::function_steps(&doc, 0) + analysis::OFFLOAD_STEPS + analysis::THREAD_MAP_STEPS;
    assert!(first > 0 && first <= most, "{first} of {most}");
    assert_eq!(spent(&asked(&ask)), first);
}

#[test]
fn nothing_is_planned_while_typing_or_for_a_list() {
    let doc = open(&nest(3));
    let ask = Ask::new(&doc, &Memo::new(), Tier::Typing, &CancelToken::new());
    let findings = check(&ask, &Settings::default()).expect("nobody cancels");
    let listed = crate::actions(&ask.at(Tier::Full), &findings, doc.text().span());
    assert!(!listed.is_empty());
    assert_eq!(spent(&findings), 0);
}

/// Four loops over products of sizes, short as text, among many functions: each loop is planned.
#[test]
fn a_short_function_among_many_has_steps_for_its_plans() {
    let turn = "struct image { int w, h, c; float *data; };\nvoid turn(struct image im, int times)\n{\n    int i, x, y, c, n = im.w;\n    for (i = 0; i < times; ++i)\n        for (c = 0; c < im.c; ++c)\n            for (x = 0; x < n / 2; ++x)\n                for (y = 0; y < (n - 1) / 2 + 1; ++y) {\n                    float t = im.data[y + im.w * (x + im.h * c)];\n                    im.data[y + im.w * (x + im.h * c)] = im.data[n - 1 - x + im.w * (y + im.h * c)];\n                    im.data[n - 1 - x + im.w * (y + im.h * c)] = im.data[n - 1 - y + im.w * (n - 1 - x + im.h * c)];\n                    im.data[n - 1 - y + im.w * (n - 1 - x + im.h * c)] = im.data[x + im.w * (n - 1 - y + im.h * c)];\n                    im.data[x + im.w * (n - 1 - y + im.h * c)] = t;\n                }\n}\n";
    let others = (0..50).map(|k| {
        format!("void f{k}(int n, float *a)\n{{\n    for (int i = 0; i < n; i++)\n        a[i] = {k};\n}}\n")
    });
    let doc = open(&format!("{turn}{}", others.collect::<String>()));
    let findings = asked(&Ask::new(&doc, &Memo::new(), Tier::Full, &CancelToken::new()));
    let untried = |f: &&crate::LoopFinding| {
        f.report()
            .offload
            .as_ref()
            .and_then(|o| o.refused.as_deref())
            .is_some_and(|why| why.contains("was not tried"))
    };
    assert_eq!(findings.loops.iter().filter(untried).count(), 0);
    // and its plans cost what such short text has not: else this says nothing
    let spent = findings.functions.iter().flatten().map(|f| f.plans.spent()).max().unwrap_or(0);
    assert!(spent > 200_000, "{spent}");
}
