//! Repairs of kernels: barriers, atomics, fences, longer rows.

use super::{diagnostic_at, Action, ActionId, ActionKind, FileEdit, ResolveError, Resolved, WorkspaceEdit};
use crate::check::Findings;
use crate::kernels::mend;
use crate::{Diagnostic, Doc};

pub(super) fn offer(doc: &Doc, position: usize, d: &Diagnostic) -> Option<Action> {
    let found = mend(doc, d)?;
    Some(Action {
        id: ActionId(format!("mend:{}@{}", d.code, d.span.start)),
        title: found.title,
        kind: ActionKind::QuickFix,
        diagnostics: vec![position],
        disabled: None,
        preferred: true,
    })
}

pub(super) fn edit(doc: &Doc, findings: &Findings, argument: &str) -> Result<Resolved, ResolveError> {
    let (code, offset) = argument.split_once('@').ok_or(ResolveError::Stale)?;
    let offset = offset.parse().map_err(|_| ResolveError::Stale)?;
    let d = diagnostic_at(findings, code, offset).ok_or(ResolveError::Stale)?;
    let found = mend(doc, d).ok_or(ResolveError::Stale)?;
    let edits = vec![FileEdit { file: None, edits: found.edits }];
    Ok(Resolved::Edit(WorkspaceEdit { create: Vec::new(), edits }))
}
