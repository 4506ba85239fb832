//! What is said of one function, remembered while it stays true.
//!
//! Some sentences name lines, so a function that moves to another line and has such a sentence is worded again; others
//! are not. Typing without a line break therefore words one function.

use std::sync::Arc;

use analysis::LoopId;
use base::Span;

use crate::document::Key;
use crate::function_view::{loop_key, FunctionView};
use crate::lints::{self, LoopMessage};
use crate::plans::Beside;
use crate::region_plan::may_hold_nests;
use crate::report::LineColumn;

/// A function in words. Spans are relative to it.
#[derive(Debug)]
pub(crate) struct FunctionMessages {
    /// Where the function stood.
    at: LineColumn,
    /// Whether that matters.
    depends_on_place: bool,
    /// What besides the function and what it calls decides whether a kernel is made.
    beside: Beside,
    /// Whether kernels were planned before they were promised.
    planned: bool,
    pub said: Vec<LoopMessage>,
    /// In the order of their ids.
    pub loops: Arc<[LoopPlaces]>,
}

impl FunctionMessages {
    /// Whether other files of the program may say more of a loop that is told of.
    pub(crate) fn awaits_others(&self) -> bool {
        self.said.iter().any(LoopMessage::awaits_others)
    }
}

/// A loop's places and name.
#[derive(Debug)]
pub(crate) struct LoopPlaces {
    pub id: LoopId,
    pub span: Span,
    pub header: Span,
    pub marked: bool,
    /// Its key where the function is the first of its name.
    pub key: Arc<str>,
}

/// The words for a function, or those that were `known` where they are still right. While the user types nothing is planned:
/// that costs several times what the facts do.
pub(crate) fn worded(
    view: &FunctionView,
    known: Option<Arc<FunctionMessages>>,
    key: Key,
) -> Arc<FunctionMessages> {
    let at = view.at();
    let plans = view.ask.tier.plans();
    let beside = view.beside();
    let is_enough = |w: &FunctionMessages| w.beside == beside && (w.planned || !plans);
    if let Some(known) = known.as_ref().filter(|w| is_enough(w) && (!w.depends_on_place || w.at == at)) {
        return known.clone();
    }
    // what was planned once is remembered
    let planned = plans || known.as_ref().is_some_and(|w| w.planned && w.beside == beside);
    let loops = match known {
        Some(known) => known.loops.clone(),
        None => loops(view),
    };
    if plans {
        plan_shown(view);
    }
    let said = lints::say(view);
    // whether a marked loop gets a kernel depends on more than the function
    let depends_on_place = view.names_lines() || loops.iter().any(|l| l.marked);
    let new = Arc::new(FunctionMessages { at, depends_on_place, beside, planned, said, loops });
    // what was cut short, or said without looking, is not kept
    if !view.ask.is_cancelled() && !view.ask.only_known() {
        view.ask.memo.put_worded(key, &view.facts, new.clone());
    }
    new
}

/// Plans the loops of which "Offload to GPU" is said.
fn plan_shown(view: &FunctionView) {
    if !view.can_offload() || view.item.is_kernel || view.item.is_device {
        return;
    }
    let may_be = |id: &LoopId| lints::is_parallel(view.of(*id)) || may_hold_nests(view, *id);
    let shown = lints::shown(&view.facts).into_iter().filter(may_be);
    shown.for_each(|id| drop(view.planned(id)));
}

fn loops(view: &FunctionView) -> Arc<[LoopPlaces]> {
    let one = |id| LoopPlaces {
        id,
        span: view.body().span(view.of(id).term),
        header: view.relative(view.header(id)),
        marked: view.of(id).mark.is_some(),
        key: loop_key(&view.item.name, 0, id).into(),
    };
    view.facts.loops.ids().map(one).collect()
}
