//! Loop transformations on the loop: those that apply, and on resolve their checked edits.

use super::{Action, ActionId, ActionKind, At, ResolveError, Resolved};
use crate::transform::{checked, list, transform, Listed};
use crate::{FileEdit, WorkspaceEdit};
use crate::{Refused, Which};

/// What applies to the loop; those that make loops parallel come first.
pub(super) fn offer(at: &At) -> Vec<Action> {
    if !at.place.can_offload() || !at.place.is_source(at.finding.id) || at.place.is_generated(at.finding.id) {
        return Vec::new();
    }
    let listed = list(at.place, at.finding.item, at.finding.id);
    let action = |l: Listed| {
        let title = l.title.ok()?;
        Some(Action {
            id: ActionId::transform(l.name, &at.finding.key),
            title,
            kind: ActionKind::Transform(l.kind),
            diagnostics: Vec::new(),
            disabled: None,
            preferred: false,
        })
    };
    listed.into_iter().filter_map(action).collect()
}

pub(super) fn edit(at: &At, name: &str) -> Result<Resolved, ResolveError> {
    let which = Which::Key(at.finding.key.to_string());
    match transform(at.ask, at.findings, &which, name, "") {
        Ok(done) => Ok(Resolved::Edit(done.edit)),
        Err(Refused::Cancelled) => Err(ResolveError::Cancelled),
        Err(Refused::Stale) => Err(ResolveError::Stale),
        Err(Refused::Because(reason)) => Err(ResolveError::Refused(reason)),
    }
}

/// The kind of the action that does a whole sequence.
const ENABLE: &str = "refactor.rewrite.warpwright.enable";

/// The sequence that makes a sequential loop parallel, if one was found.
pub(super) fn offer_enabling(at: &At) -> Option<Action> {
    if !at.place.can_offload() || !at.place.is_source(at.finding.id) || at.place.is_generated(at.finding.id) {
        return None;
    }
    let enabling = at.finding.enabling()?;
    Some(Action {
        id: ActionId::enable(&at.finding.key),
        title: enabling.title(),
        kind: ActionKind::Transform(ENABLE),
        diagnostics: at.diagnostics(),
        disabled: None,
        preferred: false,
    })
}

/// The whole sequence, checked.
pub(super) fn enable(at: &At) -> Result<Resolved, ResolveError> {
    let enabling = at.finding.enabling().ok_or(ResolveError::Stale)?;
    match checked(at.place, &enabling.edits) {
        Ok(_) => {
            let edits = vec![FileEdit { file: None, edits: enabling.edits.clone() }];
            Ok(Resolved::Edit(WorkspaceEdit { create: Vec::new(), edits }))
        }
        Err(Refused::Cancelled) => Err(ResolveError::Cancelled),
        Err(Refused::Stale) => Err(ResolveError::Stale),
        Err(Refused::Because(reason)) => Err(ResolveError::Refused(reason)),
    }
}
