//! Whether and how a loop would be offloaded: facts → plan. Nothing is written here.

use analysis::{LoopId, Obstacle, ObstacleKind};
use base::{Budget, CancelToken};
use term::Op;

use crate::lints::is_parallel;
use crate::offload::Refused;
use crate::place::Place;
use crate::{hints, words};

/// Why loops in generated text are left alone.
pub(crate) const GENERATED: &str =
    "This loop belongs to an offload that was made before; undo that to make it again.";

/// Why loops in other languages are left alone.
pub(crate) const NOT_FROM_C: &str = "Offloading starts from C files at this stage.";

/// What a plan depends on besides the loop.
#[derive(Clone, Copy, Default)]
pub(crate) struct OffloadSite<'a> {
    /// Where the block around the loop begins, in the document.
    pub opening: u32,
    /// Bases of names that other loops have.
    pub taken: &'a [String],
    /// Only whether there is a plan is asked: what stands in the rest of the file decides names and places, and nothing else.
    pub unnamed: bool,
}

/// Functions of the library that host code calls.
const HOST_CALLS: [&str; 3] = ["malloc", "free", "memcpy"];

/// Shows `then` the plan of an offload, or says why there is none. A loop that is not parallel is offloaded by its
/// thread map, if it has one.
pub(crate) fn with_plan<R>(
    place: &Place,
    id: LoopId,
    cancel: &CancelToken,
    then: impl FnOnce(&codegen::Plan) -> R,
) -> Result<R, Refused> {
    let opening = place.span(place.of(id).term).start;
    with_plan_at(place, id, &OffloadSite { opening, ..Default::default() }, cancel, then)
}

/// Likewise, at a place.
pub(crate) fn with_plan_at<R>(
    place: &Place,
    id: LoopId,
    site: &OffloadSite<'_>,
    cancel: &CancelToken,
    then: impl FnOnce(&codegen::Plan) -> R,
) -> Result<R, Refused> {
    let l = place.of(id);
    let threads = !is_parallel(l);
    if threads && place.thread_map(id).is_none() {
        return Err(Refused::Because(hints::sentence(place, id)));
    }
    if place.is_generated(id) {
        return Err(Refused::Because(GENERATED.to_owned()));
    }
    if !place.can_offload() {
        return Err(Refused::Because(NOT_FROM_C.to_owned()));
    }
    if let Some(why) = crate::regions::refusal(place, id) {
        return Err(Refused::Because(why));
    }
    // the new host text is a part of the program, and would get the program's
    if let Some(own) = HOST_CALLS.iter().find(|n| place.doc.program().body(n).is_some()) {
        return Err(Refused::Because(format!(
            "No kernel is made, because this program has its own `{own}`, and host code needs the library's. Give it another name."
        )));
    }
    let collapse = l.mark.as_ref().and_then(|m| m.collapse);
    let budget = Budget::with_cancel(analysis::FULL_STEPS, cancel.clone());
    let (body, program) = (place.body(), place.doc.program());
    let offload = match threads {
        true => analysis::offload_threads(body, program, &place.facts, id, &budget),
        false => analysis::offload(body, program, &place.facts, id, collapse, &budget),
    };
    if cancel.is_cancelled() {
        return Err(Refused::Cancelled);
    }
    let offload = offload.map_err(|obstacles| Refused::Because(blocked(place, &obstacles)))?;
    let name = match l.mark.as_ref().and_then(|m| m.name.clone()) {
        Some(name) => name,
        // launchers are seen by the whole program, and another file may have a `static` function of that name
        None if place.item.is_static => {
            let stem = place.doc.name().split('.').next().unwrap_or("");
            format!("{stem}_{}_{}", place.item.name, place.index_name(id).unwrap_or("loop"))
        }
        None => String::new(),
    };
    let input = codegen::Input {
        body: place.body(),
        program: place.doc.program(),
        facts: &place.facts,
        offload: &offload,
        text: place.doc.slice(place.item.span),
        base_offset: place.item.span.start,
        file_text: if site.unnamed { "" } else { place.doc.source() },
        file_name: place.doc.name(),
        name: &name,
        taken: site.taken,
        opening: Some(site.opening),
    };
    match codegen::plan(&input) {
        Ok(plan) => Ok(then(&plan)),
        Err(refusal) => {
            let reasons = refusal.reasons.iter().take(3).map(|r| words::refusal(place, r));
            let reasons: Vec<String> = reasons.collect();
            Err(Refused::Because(format!("No kernel is made: {}", reasons.join(" Also, "))))
        }
    }
}

/// The reasons `analysis` gives for a loop it proved parallel but cannot describe for a kernel.
fn blocked(place: &Place, obstacles: &[analysis::Obstacle]) -> String {
    match obstacles.first() {
        // that iterations meet is no harm here, or is proved not to be
        Some(Obstacle { kind: ObstacleKind::IndirectSubscript(term), .. }) => {
            let what = match place.body().op(*term) {
                Op::Call => "a subscript in",
                _ => "the subscript",
            };
            format!(
                "No kernel is made, because memory decides which cells {what} `{}` on line {} means, so it is not known \
                 what to copy. Use an array whose declaration says how large it is, or run it where the data is.",
                place.text(*term),
                place.line(*term)
            )
        }
        Some(first) => {
            let words = words::obstacle(place, first);
            format!("No kernel is made, because {}. {}", words.reason, words.remedy)
        }
        None => "No kernel is made of this loop.".to_owned(),
    }
}

/// Why a loop gets no kernel, if that is so: a sentence.
pub(crate) fn refusal(place: &Place, id: LoopId) -> Option<String> {
    let site = OffloadSite { unnamed: true, ..Default::default() };
    match with_plan_at(place, id, &site, &CancelToken::new(), |_| ()) {
        Err(Refused::Because(why)) => Some(why),
        _ => None,
    }
}
