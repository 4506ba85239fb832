//! Repairs of what lints found ([`Lint::fixes`]): barriers, atomics, fences, longer rows. What the facts suggest is tried before it is
//! listed, and whether it holds is remembered.

use super::{diagnostic_at, Action, ActionId, ActionKind, FileEdit, ResolveError, Resolved, WorkspaceEdit};
use crate::check::Findings;
use crate::lints::Lint;
use crate::repairs::{checked, listed};
use crate::{Ask, Diagnostic, Tier};
use rustc_hash::FxHasher;
use std::hash::{Hash, Hasher};

pub(super) fn offer(ask: &Ask, position: usize, d: &Diagnostic) -> Vec<Action> {
    let action = |(k, title): (usize, String)| Action {
        id: ActionId::Repair { lint: d.lint, offset: d.span.start, number: k },
        title,
        kind: ActionKind::QuickFix,
        diagnostics: vec![position],
        disabled: None,
        preferred: k == 0,
    };
    listed(ask, d).into_iter().filter(|(k, _)| holds(ask, d, *k)).map(action).collect()
}

/// Whether a repair does away with its finding and brings no other.
fn holds(ask: &Ask, d: &Diagnostic, number: usize) -> bool {
    let mut h = FxHasher::default();
    let options = ask.doc.options();
    (ask.doc.name(), ask.doc.source(), d.lint.code, d.span, number, options.target).hash(&mut h);
    let patient = ask.at(Tier::Full);
    let trial = || {
        let found = checked(&patient, d, number).is_some();
        (!patient.is_cancelled()).then_some(found)
    };
    ask.memo.repair(h.finish(), trial).unwrap_or(false)
}

pub(super) fn edit(
    ask: &Ask,
    findings: &Findings,
    lint: &Lint,
    offset: u32,
    number: usize,
) -> Result<Resolved, ResolveError> {
    let d = diagnostic_at(findings, lint, offset).ok_or(ResolveError::Stale)?;
    let found = checked(ask, d, number);
    if ask.is_cancelled() {
        return Err(ResolveError::Cancelled);
    }
    let found = found.ok_or_else(|| ResolveError::Refused(REFUSED.to_owned()))?;
    let edits = vec![FileEdit { file: None, edits: found.edits }];
    Ok(Resolved::Edit(WorkspaceEdit { edits, ..Default::default() }))
}

/// Why a repair that was listed is not made.
const REFUSED: &str = "This repair was tried and does not hold here: with it the finding is not gone, another one comes, or a run \
                       differs. Nothing was changed.";
