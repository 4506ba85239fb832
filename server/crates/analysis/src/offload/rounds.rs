//! Loops of a search all of whose rounds touch the same elements: `for (p = row[i]; p < row[i + 1]; p++) y[i] += …`, where `y` is looked for.
//! Whether there is a round at all is what matters.

use rustc_hash::FxHashSet;
use term::{Body, SymbolId, TermId};

use super::search::named;
use crate::SearchStep;

/// The steps with such loops gone through once.
pub(super) fn once(body: &Body, mut steps: Vec<SearchStep>) -> Vec<SearchStep> {
    // an outer loop may be such a one when the inner one is gone
    loop {
        let uses = uses(body, &steps);
        let next = within(body, steps.clone(), &uses);
        if next == steps {
            return next;
        }
        steps = next;
    }
}

fn within(body: &Body, steps: Vec<SearchStep>, all: &[SymbolId]) -> Vec<SearchStep> {
    let mut out: Vec<SearchStep> = Vec::new();
    for step in steps {
        let next = match step {
            SearchStep::If { condition, holds, then } => {
                SearchStep::If { condition, holds, then: within(body, then, all) }
            }
            SearchStep::While { condition, then } => {
                let then = within(body, then, all);
                match touches(body, (condition, &then), &out, all) {
                    Some(touches) => SearchStep::If { condition, holds: true, then: touches },
                    None => SearchStep::While { condition, then },
                }
            }
            step => step,
        };
        out.push(next);
    }
    out
}

/// What every round touches, if what the rounds count in is set anew before them each time and nothing else is made of it. `before`: the
/// steps before the loop, in its list.
fn touches(
    body: &Body,
    (condition, then): (TermId, &[SearchStep]),
    before: &[SearchStep],
    all: &[SymbolId],
) -> Option<Vec<SearchStep>> {
    let mut own = uses(body, then);
    own.extend(symbols(body, condition));
    let count = |list: &[SymbolId], s: SymbolId| list.iter().filter(|&&x| x == s).count();
    let is_own = |s: SymbolId| count(all, s) == count(&own, s);
    let is_new = |s: SymbolId| {
        before.iter().any(|step| matches!(step, SearchStep::Set { symbol, .. } if *symbol == s))
    };
    let (mut terms, mut set) = (Vec::new(), Vec::new());
    named(then, &mut terms, &mut set);
    let set: FxHashSet<SymbolId> = set.into_iter().collect();
    let mut out = Vec::new();
    for step in then {
        match step {
            SearchStep::Touch { from, subscript, .. } => {
                if symbols(body, *subscript).chain(*from).any(|s| set.contains(&s)) {
                    return None;
                }
                out.push(step.clone());
            }
            SearchStep::Set { .. } | SearchStep::Update { .. } => {}
            _ => return None,
        }
    }
    set.iter().all(|&s| is_own(s) && is_new(s)).then_some(out)
}

/// The variables that the steps use, each as often as it is used: what is counted on is used, too.
fn uses(body: &Body, steps: &[SearchStep]) -> Vec<SymbolId> {
    let (mut terms, mut set) = (Vec::new(), Vec::new());
    named(steps, &mut terms, &mut set);
    let mut out: Vec<SymbolId> = terms.iter().flat_map(|&t| symbols(body, t)).collect();
    counted_on(steps, &mut out);
    out
}

fn counted_on(steps: &[SearchStep], out: &mut Vec<SymbolId>) {
    for step in steps {
        match step {
            SearchStep::Update { symbol, .. } => out.push(*symbol),
            SearchStep::Point { symbol, from, .. } => out.extend(from.iter().chain([symbol])),
            SearchStep::If { then, .. } | SearchStep::While { then, .. } => counted_on(then, out),
            SearchStep::Touch { from, .. } => out.extend(from),
            SearchStep::Set { .. } => {}
        }
    }
}

fn symbols(body: &Body, t: TermId) -> impl Iterator<Item = SymbolId> + '_ {
    body.walk(t).filter_map(|x| body.as_symbol(x))
}

/// The steps without what sets variables that decide nothing: neither what is touched, nor whether or how often.
pub(super) fn needed(body: &Body, steps: Vec<SearchStep>) -> Vec<SearchStep> {
    let mut used = FxHashSet::default();
    loop {
        let before = used.len();
        mark(body, &steps, &mut used);
        if used.len() == before {
            return kept(steps, &used);
        }
    }
}

fn mark(body: &Body, steps: &[SearchStep], used: &mut FxHashSet<SymbolId>) {
    let of = |t: TermId, used: &mut FxHashSet<SymbolId>| {
        used.extend(body.walk(t).filter_map(|x| body.as_symbol(x)));
    };
    for step in steps {
        match step {
            SearchStep::Touch { from, subscript, .. } => {
                used.extend(from);
                of(*subscript, used);
            }
            SearchStep::If { condition, then, .. } | SearchStep::While { condition, then } => {
                of(*condition, used);
                mark(body, then, used);
            }
            SearchStep::Set { symbol, value } if used.contains(symbol) => of(*value, used),
            SearchStep::Update { symbol, by: Some(by), .. } if used.contains(symbol) => of(*by, used),
            SearchStep::Point { symbol, from, by } if used.contains(symbol) => {
                used.extend(from);
                by.iter().for_each(|(_, t)| of(*t, used));
            }
            SearchStep::Set { .. } | SearchStep::Update { .. } | SearchStep::Point { .. } => {}
        }
    }
}

fn kept(steps: Vec<SearchStep>, used: &FxHashSet<SymbolId>) -> Vec<SearchStep> {
    let keep = |step: SearchStep| match step {
        SearchStep::Set { symbol, .. }
        | SearchStep::Update { symbol, .. }
        | SearchStep::Point { symbol, .. } => used.contains(&symbol).then_some(step),
        SearchStep::If { condition, holds, then } => {
            let then = kept(then, used);
            (!then.is_empty()).then_some(SearchStep::If { condition, holds, then })
        }
        SearchStep::While { condition, then } => {
            Some(SearchStep::While { condition, then: kept(then, used) })
        }
        SearchStep::Touch { .. } => Some(step),
    };
    steps.into_iter().filter_map(keep).collect()
}

/// Whether anything is surely touched.
pub(super) fn any_sure(steps: &[SearchStep]) -> bool {
    steps.iter().any(|s| match s {
        SearchStep::Touch { sure, .. } => *sure,
        SearchStep::If { then, .. } | SearchStep::While { then, .. } => any_sure(then),
        SearchStep::Set { .. } | SearchStep::Update { .. } | SearchStep::Point { .. } => false,
    })
}

/// Whether a step sets it.
pub(super) fn assigned(steps: &[SearchStep], of: SymbolId) -> bool {
    steps.iter().any(|s| match s {
        SearchStep::Set { symbol, .. }
        | SearchStep::Update { symbol, .. }
        | SearchStep::Point { symbol, .. } => *symbol == of,
        SearchStep::If { then, .. } | SearchStep::While { then, .. } => assigned(then, of),
        SearchStep::Touch { .. } => false,
    })
}
