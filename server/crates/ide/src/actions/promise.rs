//! "Promise: …": a comment above a loop that says what the text cannot prove, where only that is missing. It is offered where the
//! loop was analyzed with it and is parallel.

use super::{document_edit, Action, ActionKind, At, LoopAction, ResolveError, Resolved};
use crate::promises;

/// The kind of the action: it answers the finding of an unknown loop.
const PROMISE: &str = "quickfix.warpwright.promise";

pub(super) static ACTION: LoopAction = LoopAction { name: "promise", offer, edit };

fn offer(at: &At) -> Option<Action> {
    let (view, id) = (at.thorough, at.finding.id);
    if !view.can_offload() || !view.is_source(id) || view.is_generated(id) {
        return None;
    }
    let promise = promises::settling(view, id)?;
    Some(Action {
        id: at.id(&ACTION),
        title: format!("Promise: {promise}"),
        kind: ActionKind::Transform(PROMISE),
        diagnostics: at.diagnostics(),
        disabled: None,
        preferred: false,
    })
}

fn edit(at: &At) -> Result<Resolved, ResolveError> {
    let (view, id) = (at.thorough, at.finding.id);
    match promises::settling(view, id) {
        Some(promise) => Ok(document_edit(promises::edit(view, id, &promise))),
        None if at.ask.is_cancelled() => Err(ResolveError::Cancelled),
        None => Err(ResolveError::Stale),
    }
}
