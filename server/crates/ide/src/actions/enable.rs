//! "Make … parallel": the sequence of transformations that makes a sequential loop parallel, if one was found.

use super::{Action, ActionKind, At, FileEdit, LoopAction, ResolveError, Resolved, WorkspaceEdit};
use crate::transform::checked;
use crate::Refused;

/// The kind of the action that does a whole sequence.
const ENABLE: &str = "refactor.rewrite.warpwright.enable";

pub(super) static ACTION: LoopAction = LoopAction { name: "enable", offer, edit };

fn offer(at: &At) -> Option<Action> {
    if !at.view.can_offload() || !at.view.is_source(at.finding.id) || at.view.is_generated(at.finding.id) {
        return None;
    }
    let enabling = at.finding.enabling_listed(&at.ask.cancel)?;
    Some(Action {
        id: at.id(&ACTION),
        title: enabling.title(),
        kind: ActionKind::Transform(ENABLE),
        diagnostics: at.diagnostics(),
        disabled: None,
        preferred: false,
    })
}

/// The whole sequence, checked.
fn edit(at: &At) -> Result<Resolved, ResolveError> {
    let enabling = match at.finding.enabling_until(&at.ask.cancel) {
        Some(enabling) => enabling,
        None if at.ask.is_cancelled() => return Err(ResolveError::Cancelled),
        None => return Err(ResolveError::Stale),
    };
    match checked(at.view, &enabling.edits) {
        Ok(_) => {
            let edits = vec![FileEdit { file: None, edits: enabling.edits.clone() }];
            Ok(Resolved::Edit(WorkspaceEdit { edits, ..Default::default() }))
        }
        Err(Refused::Cancelled) => Err(ResolveError::Cancelled),
        Err(Refused::Stale) => Err(ResolveError::Stale),
        Err(Refused::Because(reason)) => Err(ResolveError::Refused(reason)),
    }
}
