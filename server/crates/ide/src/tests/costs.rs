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
