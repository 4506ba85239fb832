//! More threads than a parallel loop has iterations: where the loops in it are parallel, too, and do not stand alone in it
//! (`for (j…) c[i][j] *= beta; for (k…) for (j…) c[i][j] += a[i][k] * b[k][j];`), a map of all statements to threads
//! (`analysis::offload_threads`) gives one to each cell, and neighbouring threads meet neighbouring cells. Each thread runs its
//! instances in the order of the program, so results are those of the loop, bit for bit. Deliberately absent: how maps are found.

use std::cell::Cell;

use analysis::{LoopId, Offload, Verdict};
use base::{Budget, CancelToken};

use crate::function_view::FunctionView;
use crate::limits::plans::{MORE_THREADS_ROUNDS, MORE_THREADS_STEPS, MORE_THREADS_TERMS};

/// Whether such a map is looked for.
pub(super) fn may_help(view: &FunctionView, id: LoopId) -> bool {
    let (l, body) = (view.of(id), view.body());
    if l.verdict != Verdict::Independent
        || !l.inductions.is_empty()
        || l.mark.as_ref().is_some_and(|m| m.collapse.is_some())
        || view.band(id).len() > 1
        || body.walk(l.term).nth(MORE_THREADS_TERMS).is_some()
    {
        return false;
    }
    let is_inside =
        |i: LoopId| std::iter::successors(view.of(i).parent, |&p| view.of(p).parent).any(|p| p == id);
    let mut all = view.facts.loops.iter_ids();
    all.any(|(i, l)| l.verdict == Verdict::Independent && is_inside(i) && !has_few_rounds(view, i))
}

/// Whether a loop surely has few rounds.
fn has_few_rounds(view: &FunctionView, id: LoopId) -> bool {
    let Ok(c) = view.of(id).control.as_ref() else { return true };
    let number = |t| view.body().constant(t);
    let ends = number(c.lower).zip(c.bound.map_or(Some(0), number));
    ends.is_some_and(|(from, to)| (to - from).abs() < MORE_THREADS_ROUNDS)
}

/// What such a kernel needs to know; `None`: no map was found, or none with more threads.
pub(crate) fn offload(
    view: &FunctionView,
    id: LoopId,
    cancel: &CancelToken,
    counted: &Cell<u64>,
) -> Option<Offload> {
    if !may_help(view, id) {
        return None;
    }
    let budget = Budget::with_cancel(MORE_THREADS_STEPS, cancel.clone());
    let found = analysis::offload_threads(view.body(), view.doc.program(), &view.facts, id, &budget);
    counted.set(counted.get() + budget.taken());
    found.ok().filter(|o| o.max_trips.len() > 1)
}
