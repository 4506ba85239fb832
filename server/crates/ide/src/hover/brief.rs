//! The lines of a hover: each kind of fact once, counted where there are many, and nothing that a finding beside it says, as long
//! as the headline does not stand alone.

use std::collections::BTreeSet;

use analysis::{ConditionKind, Dependence, LoopId, MetBy, Verdict};

use super::{
    blocks, code, directions, enabling, escape, inside, named, on_device, privates, thread_map, Across, STILL,
};
use crate::check::LoopFinding;
use crate::function_view::FunctionView;
use crate::limits::hover::{LISTED, NAMED};
use crate::plans::Planned;
use crate::words::{self, plural};

pub(super) fn parallel(view: &FunctionView, id: LoopId, is_told: bool, lines: &mut Vec<String>) {
    let l = view.of(id);
    let could_run = || Across::of(view, id, None).could_run();
    match on_device(view, id) {
        Some(Planned::Kernel(outline)) => {
            let across = Across::of(view, id, Some(&outline));
            lines.push(across.on_the_gpu(&blocks(view, &outline)));
            if let Some(m) = words::mappings(view, &outline) {
                lines.extend(words::prediction(view, &m).brief().map(|b| format!("- in a warp: {b}")));
            }
        }
        Some(Planned::Together(shared)) => lines.push(super::together(&shared)),
        Some(Planned::No(why)) => {
            lines.push(could_run());
            // the finding has the sentence
            lines.push(match why.label(view) {
                Some(label) if is_told => format!("- {} ({})", words::NOT_YET, escape(&label)),
                Some(label) => {
                    format!("- {} ({}): {}", words::NOT_YET, escape(&label), escape(&why.words(view, id)))
                }
                None => format!("- as a kernel: {}", escape(&why.words(view, id))),
            });
        }
        None => {
            lines.push(could_run());
            lines.push(format!("- as a kernel: {STILL}"));
        }
    }
    if l.verdict == Verdict::Independent && !is_told {
        lines.push(format!("- because: {}", super::because(view, l)));
    }
    let reductions = l.reductions.iter().take(LISTED);
    let reductions: Vec<String> = reductions
        .map(|r| format!("{} with {}", code(&words::accumulator(view, r)), code(words::operator(r.op))))
        .collect();
    if !reductions.is_empty() {
        let more = left_out(l.reductions.len(), LISTED);
        lines.push(format!("- reduction: {}{more}", reductions.join(", ")));
    }
    privates(view, id, lines);
    lines.extend(conditions(view, id).map(|c| format!("- conditions: {c}")));
}

/// What a loop rests on, counted: `14 overlap tests at run time`. What is proved needs no word.
fn conditions(view: &FunctionView, id: LoopId) -> Option<String> {
    let mut out: Vec<String> = Vec::new();
    let overlaps = view.of(id).conditions.iter();
    let overlaps = overlaps
        .filter(|c| c.met_by == MetBy::RunTimeCheck && matches!(c.kind, ConditionKind::NoAlias(..)))
        .map(|c| words::condition(view, &c.kind).sentence)
        .collect::<BTreeSet<String>>()
        .len();
    // counted as the finding counts them
    let said = words::all_conditions_met(view, id, MetBy::RunTimeCheck);
    let others = said.len().saturating_sub(overlaps);
    // of what gets no kernel nothing is tested
    let is_tested = view.is_offered(id);
    let (tested, when) = if is_tested { (" (tested before the launch)", " at run time") } else { ("", "") };
    let apart = match (is_tested, overlaps) {
        (true, n) => plural(n, "overlap test"),
        (false, 1) => "1 pair of arrays that must not overlap".to_owned(),
        (false, n) => format!("{n} pairs of arrays that must not overlap"),
    };
    match (said.as_slice(), overlaps, others) {
        ([], ..) => {}
        ([one], ..) => out.push(format!("{}{tested}", escape(one))),
        (_, _, 0) => out.push(format!("{apart}{when}")),
        (_, 0, n) => out.push(plural(n, if is_tested { "test" } else { "condition" }) + when),
        (_, _, others) => out.push(format!("{apart} and {others} more{when}")),
    }
    for (met_by, whose) in [(MetBy::Assumed, "promised in a comment"), (MetBy::User, "on your word")] {
        match words::conditions_met(view, id, met_by).as_slice() {
            [] => {}
            [one] => out.push(format!("{} ({whose})", escape(one))),
            many => out.push(format!("{} {whose}", many.len())),
        }
    }
    let regrouped = |c: &analysis::Condition| matches!(c.kind, ConditionKind::Reassociate(..));
    if view.of(id).conditions.iter().any(regrouped) {
        out.push("floating-point operations regrouped".to_owned());
    }
    (!out.is_empty()).then(|| out.join(", "))
}

pub(super) fn sequential(view: &FunctionView, finding: &LoopFinding, is_told: bool, lines: &mut Vec<String>) {
    let id = finding.id;
    // what passes a value on comes first, as in the finding
    let mut all: Vec<&Dependence> = view.of(id).dependences.iter().collect();
    all.sort_by_key(|d| words::rank(d));
    // alone, a headline says too little where the finding is not seen
    let is_first_told = is_told && all.len() > 1;
    if let Some(first) = all.first().filter(|_| !is_first_told) {
        lines.push(format!("- {}", escape(&words::dependence(view, first))));
    }
    let mut kinds: Vec<String> = Vec::new();
    // of the others those that were shown
    for d in all.iter().skip(usize::from(!is_first_told)).filter(|d| d.witness.is_some()) {
        let one = carried(view, d);
        if !kinds.contains(&one) {
            kinds.push(one);
        }
    }
    if !kinds.is_empty() {
        let more = left_out(kinds.len(), NAMED);
        kinds.truncate(NAMED);
        lines.push(format!("- carried: {}{more}", kinds.join("; ")));
    }
    thread_map(view, id, lines);
    lines.push(String::new());
    match enabling(view, finding) {
        Some(enabling) => lines.push(enabling),
        None if is_told => {}
        None => lines.extend(Some(escape(&words::remedy(view, id))).filter(|r| !r.is_empty())),
    }
    if !is_told {
        named(view, id, lines);
        inside(view, id, lines);
    }
}

/// `flow dependence on `a`, distance 1, directions `(<, =)``
fn carried(view: &FunctionView, d: &Dependence) -> String {
    let distance = match d.distance.first() {
        Some(Some(n)) => format!(", distance {n}"),
        _ => String::new(),
    };
    let vector = directions(d);
    let (kind, name) = (words::kind_name(d.kind), code(&view.object(&d.object)));
    format!("{kind} dependence on {name}{distance}{vector}")
}

pub(super) fn unknown(view: &FunctionView, id: LoopId, is_told: bool, lines: &mut Vec<String>) {
    let before = lines.len();
    thread_map(view, id, lines);
    // beside the finding, what the headline alone leaves open
    let shown = match is_told {
        true if lines.len() > before => 0,
        true => 1,
        false => NAMED,
    };
    let reasons = words::reasons(view, id);
    let reasons = reasons.iter().take(shown).map(|r| format!("- {}", escape(r)));
    lines.splice(before..before, reasons);
    if is_told {
        return;
    }
    let remedy = words::remedy_of_unknown(view, id);
    if !remedy.is_empty() {
        lines.push(String::new());
        lines.push(escape(&remedy));
    }
    named(view, id, lines);
    inside(view, id, lines);
}

/// ` and 3 more`
fn left_out(count: usize, shown: usize) -> String {
    match count.saturating_sub(shown) {
        0 => String::new(),
        n => format!(" and {n} more"),
    }
}
