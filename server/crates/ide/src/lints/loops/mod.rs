//! Lints of loops, and which loops of a nest are spoken of.

mod carried_dependence;
mod copied_each_round;
mod marked_refused;
mod marked_sequential;
mod marked_unknown;
pub(crate) mod not_understood;
mod parallel_loop;
mod reduction_loop;
pub(super) mod unknown_loop;

use analysis::{Facts, LoopFacts, LoopId, Verdict};

use crate::lints::{At, Lint};
use crate::plans::Planned;

/// Sorted by code.
pub(super) const LINTS: &[Lint] = &[
    carried_dependence::LINT,
    copied_each_round::LINT,
    marked_refused::LINT,
    marked_sequential::LINT,
    marked_unknown::LINT,
    not_understood::LINT,
    parallel_loop::LINT,
    reduction_loop::LINT,
    unknown_loop::LINT,
];

/// The loops that may have a diagnostic.
pub(crate) fn shown(facts: &Facts) -> Vec<LoopId> {
    let ids = facts.loops.iter_ids();
    let shown = ids.filter(|(_, l)| {
        l.mark.is_some() || l.parent.is_none() || (is_parallel(l) && !inside_parallel(facts, l))
    });
    shown.map(|(id, _)| id).collect()
}

fn inside_parallel(facts: &Facts, l: &LoopFacts) -> bool {
    let mut at = l.parent;
    while let Some(parent) = at.and_then(|id| facts.loops.get(id)) {
        if is_parallel(parent) {
            return true;
        }
        at = parent.parent;
    }
    false
}

/// Whether the user asked for the offload of a loop that gets no kernel: one that is not parallel may still be run by
/// threads without synchronisation.
fn marked_in_vain(at: &At) -> bool {
    at.facts.mark.is_some() && matches!(at.view.known_plan(at.id), Some(Planned::No(_)))
}

/// Whether the loop can be offloaded as far as its verdict goes.
pub(crate) fn is_parallel(l: &LoopFacts) -> bool {
    matches!(l.verdict, Verdict::Independent | Verdict::Reduction)
}

/// The outermost parallel loops inside a loop that is not parallel.
pub(crate) fn parallel_inside(facts: &Facts, id: LoopId) -> Vec<LoopId> {
    let mut found = Vec::new();
    let mut open: Vec<LoopId> = facts.children(id).collect();
    open.reverse();
    while let Some(inner) = open.pop() {
        match facts.loops.get(inner) {
            Some(l) if is_parallel(l) => found.push(inner),
            _ => {
                let mut deeper: Vec<LoopId> = facts.children(inner).collect();
                deeper.reverse();
                open.extend(deeper);
            }
        }
    }
    found
}
