//! Which of several values stored in one place a launch may find: not those that another one surely replaces on every way to it.

use base::IndexId;
use rustc_hash::FxHashMap;
use term::{Body, Op, TermId};

/// Those of `values`, each the right side of an assignment to one place, that may be there when `at` runs. All of them where control
/// may come from elsewhere than the text says.
pub(super) fn reaching(body: &Body, at: TermId, values: &[TermId]) -> Vec<TermId> {
    let jumps = |t: TermId| matches!(body.op(t), Op::Label(_) | Op::Switch | Op::Reject(_));
    if values.len() < 2 || body.walk(body.root).any(jumps) {
        return values.to_vec();
    }
    let parents = body.parents();
    let up = |t: TermId| parents.get(t.index()).copied().flatten();
    let around = |t: TermId| std::iter::successors(up(t), |&t| up(t));
    let order: FxHashMap<TermId, usize> = body.walk(body.root).enumerate().map(|(k, t)| (t, k)).collect();
    let place = |t: TermId| order.get(&t).copied().unwrap_or(usize::MAX);
    let is_around = |outer: TermId, t: TermId| around(t).any(|x| x == outer);
    let store = |value: TermId| up(value).unwrap_or(value);
    let replaces = |w: TermId, u: TermId| {
        // it stands among the statements that lead to the launch, before it
        let Some(list) = up(w).filter(|&l| *body.op(l) == Op::List && is_around(l, at)) else { return false };
        if place(w) > place(at) || w == u {
            return false;
        }
        match (place(u) < place(w), place(u) > place(at)) {
            (true, _) => true,
            // what stands behind the launch comes to it by a loop around both, through all statements in that one
            (_, true) => {
                let both = around(at).find(|&l| body.op(l).is_loop() && is_around(l, u));
                both.is_none_or(|l| is_around(l, list))
            }
            _ => false,
        }
    };
    let stores: Vec<TermId> = values.iter().map(|&v| store(v)).collect();
    let is_there = |v: &TermId| !stores.iter().any(|&w| replaces(w, store(*v)));
    let out: Vec<TermId> = values.iter().copied().filter(is_there).collect();
    match out.is_empty() {
        true => values.to_vec(),
        false => out,
    }
}
