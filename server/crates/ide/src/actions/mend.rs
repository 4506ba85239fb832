//! Repairs of kernels: barriers, atomics, fences, longer rows. They are listed as the facts suggest them, and tried when
//! one is chosen.

use super::{diagnostic_at, Action, ActionId, ActionKind, FileEdit, ResolveError, Resolved, WorkspaceEdit};
use crate::check::Findings;
use crate::kernels::{checked_repair, listed_repairs};
use crate::{Ask, Diagnostic};

pub(super) fn offer(ask: &Ask, position: usize, d: &Diagnostic) -> Vec<Action> {
    let action = |(k, title): (usize, String)| Action {
        id: ActionId(match k {
            0 => format!("mend:{}@{}", d.code, d.span.start),
            _ => format!("mend:{}@{}#{k}", d.code, d.span.start),
        }),
        title,
        kind: ActionKind::QuickFix,
        diagnostics: vec![position],
        disabled: None,
        preferred: k == 0,
    };
    listed_repairs(ask, d).into_iter().map(action).collect()
}

pub(super) fn edit(ask: &Ask, findings: &Findings, argument: &str) -> Result<Resolved, ResolveError> {
    let (code, place) = argument.split_once('@').ok_or(ResolveError::Stale)?;
    let (offset, k) = place.split_once('#').unwrap_or((place, "0"));
    let number = |n: &str| n.parse::<u32>().map_err(|_| ResolveError::Stale);
    let (offset, k) = (number(offset)?, number(k)?);
    let d = diagnostic_at(findings, code, offset).ok_or(ResolveError::Stale)?;
    let found = checked_repair(ask, d, k as usize);
    if ask.is_cancelled() {
        return Err(ResolveError::Cancelled);
    }
    let found = found.ok_or_else(|| ResolveError::Refused(REFUSED.to_owned()))?;
    let edits = vec![FileEdit { file: None, edits: found.edits }];
    Ok(Resolved::Edit(WorkspaceEdit { create: Vec::new(), edits }))
}

/// Why a repair that was listed is not made.
const REFUSED: &str = "This repair was tried and does not hold here: with it the finding is not gone, another one comes, or a run \
                       differs. Nothing was changed.";
