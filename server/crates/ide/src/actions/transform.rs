//! Loop transformations on the loop: those that apply, and on resolve their checked edits.

use super::{Action, ActionId, ActionKind, At, ResolveError, Resolved};
use crate::limits::transform::LISTED_STEPS;
use crate::transform::{list, transform, Listed};
use crate::{Refused, Which};

/// What applies to the loop; those that make loops parallel come first.
pub(super) fn offer(at: &At) -> Vec<Action> {
    if !at.view.can_offload() || !at.view.is_source(at.finding.id) || at.view.is_generated(at.finding.id) {
        return Vec::new();
    }
    let listed = list(at.view, at.finding.item, at.finding.id, &at.ask.budget(LISTED_STEPS));
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
