//! "Ignore …": a suppression comment above the line of a finding.

use super::{
    diagnostic_at, document_edit, line_above, line_above_is_free, Action, ActionId, ActionKind, ResolveError,
    Resolved,
};
use crate::check::Findings;
use crate::lints::Lint;
use crate::{Diagnostic, Doc, Fact};

pub(super) fn offer(doc: &Doc, position: usize, d: &Diagnostic) -> Option<Action> {
    if !line_above_is_free(doc, doc.text().line_of(d.span.start)) {
        return None;
    }
    // a suppression cannot suppress what is said of suppressions
    if d.evidence.as_ref().is_some_and(|e| e.fact == Fact::Suppression) {
        return None;
    }
    Some(Action {
        id: ActionId::Ignore { lint: d.lint, offset: d.span.start },
        title: format!("Ignore `{}` here (adds a comment)", d.code),
        kind: ActionKind::QuickFix,
        diagnostics: vec![position],
        disabled: None,
        preferred: false,
    })
}

pub(super) fn edit(
    doc: &Doc,
    findings: &Findings,
    lint: &Lint,
    offset: u32,
) -> Result<Resolved, ResolveError> {
    let d = diagnostic_at(findings, lint, offset).ok_or(ResolveError::Stale)?;
    let comment = format!("{} warpwright: ignore[{}]", doc.language().comments.line, d.code);
    let edit = line_above(doc, d.span.start, &comment).ok_or_else(|| {
        ResolveError::Refused(
            "The line above ends with a backslash, so no comment can stand there.".to_owned(),
        )
    })?;
    Ok(document_edit(edit))
}
