//! Functions do one thing: above a hundred lines each is listed with what keeps it whole, or with what is still to be cut.

use super::{product, product_sources};
use std::collections::BTreeSet;

/// Lines a function may have, its signature included.
const MOST: usize = 100;

/// Longer functions. It only gets shorter: a new one is cut along its meaning (a function a phase, or a family of operators).
const LONG: &[(&str, &str, &str)] = &[
    ("analysis/src/calls/inline/copy.rs", "copy_at", "one match over operations"),
    ("analysis/src/classify/reductions.rs", "assignment", "one match over forms of an update"),
    (
        "analysis/src/solve/fourier.rs",
        "counted",
        "one elimination: equations, then inequalities column by column",
    ),
    ("analysis/src/depend/mod.rs", "pairs", "a loop over disjuncts of two domains, each made a conjunction"),
    (
        "analysis/src/flow/counted_loop.rs",
        "control",
        "one answer with a reason for each way that a loop is not counted",
    ),
    ("analysis/src/flow/liveness.rs", "flow_inner", "one match over operations"),
    ("analysis/src/flow/liveness/backward.rs", "live_inner", "one match over operations"),
    ("analysis/src/kernel/collect.rs", "statement_at", "one match over statements"),
    ("analysis/src/nest/places.rs", "pointer_inner", "one match over operations"),
    ("analysis/src/replay_witness/calls.rs", "library", "one match over functions of the library"),
    ("analysis/src/replay_witness/expressions/mod.rs", "expression", "one match over operations"),
    (
        "analysis/src/replay_witness/search.rs",
        "replay_for_call",
        "one search: what waits, the run, what follows from it",
    ),
    ("analysis/src/replay_witness/solve.rs", "tried", "one search over values of a few inputs"),
    ("codegen/src/device/stmt.rs", "statement", "one match over statements"),
    ("codegen/src/plan/build.rs", "build", "the order in which a plan is made, a call each"),
    ("codegen/src/plan/memory.rs", "buffers", "one loop over the memory of a kernel"),
    ("codegen/src/plan/support.rs", "one", "one match over operations"),
    ("front/src/c/pp/expand.rs", "substitute", "one match over what stands in a replacement list"),
    ("front/src/c/pp/predefined.rs", "by_options", "one list of macros"),
    ("front/src/c/stmt.rs", "stmt_of_kind", "one match over statements"),
    ("front/src/cpp/plain.rs", "token", "one match over tokens"),
    ("ide/src/words/obstacles.rs", "obstacle", "one match over obstacles"),
    ("ide/src/words/refusals.rs", "refusal", "one match over refusals"),
    ("rewrite/src/rules/act.rs", "act", "one match over actions"),
    ("rewrite/src/rules/exact/eval.rs", "apply", "one match over operations"),
    ("rewrite/src/rules/exact/lower.rs", "statement", "one match over statements"),
    ("rewrite/src/rules/exact/lower.rs", "value", "one match over operations"),
    ("rewrite/src/rules/exact/smt.rs", "script", "one match over operations"),
    ("simulate/src/arith.rs", "bin", "one match over operations"),
    ("simulate/src/exec.rs", "run_call", "one match over instructions"),
    ("term/src/notation/printer.rs", "expand", "one match over operations"),
];

/// Functions with more than [`MOST`] lines, as rustfmt writes them.
fn long_functions(text: &str) -> Vec<&str> {
    let lines: Vec<&str> = text.lines().collect();
    let mut out = Vec::new();
    for (from, line) in lines.iter().enumerate() {
        let code = line.trim_start();
        let indent = &line[..line.len() - code.len()];
        let Some(at) = code.find("fn ") else { continue };
        // `pub(super) const unsafe fn`: nothing but such words stands before
        let is_qualified =
            code[..at].chars().all(|c| c.is_ascii_lowercase() || matches!(c, ' ' | '(' | ')' | ':'));
        if !is_qualified {
            continue;
        }
        let name = code[at + 3..].split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or("");
        let is_end = |l: &&str| {
            l.strip_prefix(indent)
                .is_some_and(|l| l.starts_with('}') || l.ends_with(';') && !l.starts_with(' '))
        };
        let length = lines[from..].iter().position(is_end).map_or(0, |n| n + 1);
        if length > MOST {
            out.push(name);
        }
    }
    out
}

#[test]
fn long_functions_do_one_thing() {
    let body = "    x();\n".repeat(MOST);
    let made =
        format!("fn short() {{\n}}\npub(super) fn long(\n    a: u8,\n) {{\n{body}}}\nfn declared();\n");
    assert_eq!(long_functions(&made), ["long"]);
    let mut faults = Vec::new();
    let mut found = BTreeSet::new();
    for (path, text) in product_sources() {
        let path = path.trim_start_matches("server/crates/").to_owned();
        for name in long_functions(product(&text)) {
            if !LONG.iter().any(|l| (l.0, l.1) == (path.as_str(), name)) {
                faults.push(format!("{path}: {name} has more than {MOST} lines: cut it along what it does"));
            }
            found.insert((path.clone(), name.to_owned()));
        }
    }
    for (path, name, _) in LONG.iter().filter(|l| !found.contains(&(l.0.to_owned(), l.1.to_owned()))) {
        faults.push(format!("{path}: {name} is not that long any more: take it off the list"));
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
