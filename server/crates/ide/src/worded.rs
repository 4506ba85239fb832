//! What is said of one function, remembered while it stays true.
//!
//! Some sentences name lines, so a function that moves to another line and has such a sentence is worded again; others
//! are not. Typing without a line break therefore words one function.

use std::sync::Arc;

use analysis::LoopId;
use base::Span;

use crate::document::Key;
use crate::lints::{self, Saying};
use crate::place::{loop_key, Place};
use crate::plans::Beside;
use crate::report::LineColumn;

/// A function in words. Spans are relative to it.
#[derive(Debug)]
pub(crate) struct Worded {
    /// Where the function stood.
    at: LineColumn,
    /// Whether that matters.
    depends_on_place: bool,
    /// What besides the function and what it calls decides whether a kernel is made.
    beside: Beside,
    /// Whether kernels were planned before they were promised.
    planned: bool,
    pub said: Vec<Saying>,
    /// In the order of their ids.
    pub loops: Arc<[WordedLoop]>,
}

/// A loop's places and name.
#[derive(Debug)]
pub(crate) struct WordedLoop {
    pub id: LoopId,
    pub span: Span,
    pub header: Span,
    pub marked: bool,
    /// Its key where the function is the first of its name.
    pub key: Arc<str>,
}

/// The words for a function, or those that were `known` where they are still right. While the user types nothing is planned:
/// that costs several times what the facts do.
pub(crate) fn worded(place: &Place, known: Option<Arc<Worded>>, key: Key) -> Arc<Worded> {
    let at = place.at();
    let plans = place.ask.tier.plans();
    let beside = place.beside();
    let is_enough = |w: &Worded| w.beside == beside && (w.planned || !plans);
    if let Some(known) = known.as_ref().filter(|w| is_enough(w) && (!w.depends_on_place || w.at == at)) {
        return known.clone();
    }
    // what was planned once is remembered
    let planned = plans || known.as_ref().is_some_and(|w| w.planned && w.beside == beside);
    let loops = match known {
        Some(known) => known.loops.clone(),
        None => loops(place),
    };
    if plans {
        plan_shown(place);
    }
    let said = lints::say(place);
    // whether a marked loop gets a kernel depends on more than the function
    let depends_on_place = place.names_lines() || loops.iter().any(|l| l.marked);
    let new = Arc::new(Worded { at, depends_on_place, beside, planned, said, loops });
    // what was cut short, or said without looking, is not kept
    if !place.ask.is_cancelled() && !place.ask.only_known() {
        place.ask.memo.put_worded(key, &place.facts, new.clone());
    }
    new
}

/// Plans the loops of which "Offload to GPU" is said.
fn plan_shown(place: &Place) {
    if !place.can_offload() || place.item.is_kernel || place.item.is_device {
        return;
    }
    let shown = lints::shown(&place.facts).into_iter().filter(|id| lints::is_parallel(place.of(*id)));
    shown.for_each(|id| drop(place.planned(id)));
}

fn loops(place: &Place) -> Arc<[WordedLoop]> {
    let one = |id| WordedLoop {
        id,
        span: place.body().span(place.of(id).term),
        header: place.relative(place.header(id)),
        marked: place.of(id).mark.is_some(),
        key: loop_key(&place.item.name, 0, id).into(),
    };
    place.facts.loops.ids().map(one).collect()
}
