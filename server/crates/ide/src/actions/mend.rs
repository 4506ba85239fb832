//! Repairs of kernels: barriers, atomics, fences, longer rows.

use super::{diagnostic_at, Action, ActionId, ActionKind, FileEdit, ResolveError, Resolved, WorkspaceEdit};
use crate::check::Findings;
use crate::kernels::mends;
use crate::{Diagnostic, Doc};

pub(super) fn offer(doc: &Doc, position: usize, d: &Diagnostic) -> Vec<Action> {
    let action = |(k, found): (usize, crate::kernels::Mend)| Action {
        id: ActionId(match k {
            0 => format!("mend:{}@{}", d.code, d.span.start),
            _ => format!("mend:{}@{}#{k}", d.code, d.span.start),
        }),
        title: found.title,
        kind: ActionKind::QuickFix,
        diagnostics: vec![position],
        disabled: None,
        preferred: k == 0,
    };
    mends(doc, d).into_iter().enumerate().map(action).collect()
}

pub(super) fn edit(doc: &Doc, findings: &Findings, argument: &str) -> Result<Resolved, ResolveError> {
    let (code, place) = argument.split_once('@').ok_or(ResolveError::Stale)?;
    let (offset, k) = place.split_once('#').unwrap_or((place, "0"));
    let number = |n: &str| n.parse::<u32>().map_err(|_| ResolveError::Stale);
    let (offset, k) = (number(offset)?, number(k)?);
    let d = diagnostic_at(findings, code, offset).ok_or(ResolveError::Stale)?;
    let found = mends(doc, d).into_iter().nth(k as usize).ok_or(ResolveError::Stale)?;
    let edits = vec![FileEdit { file: None, edits: found.edits }];
    Ok(Resolved::Edit(WorkspaceEdit { create: Vec::new(), edits }))
}
