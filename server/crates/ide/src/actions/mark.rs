//! "Mark for the GPU": a comment above the loop that asks for its offload.

use text::EditSet;

use super::{document_edit, resolve, Action, ActionId, ActionKind, At, LoopAction, ResolveError, Resolved};
use crate::check::Findings;
use crate::lints::is_parallel;
use crate::{Ask, FileEdit, WorkspaceEdit};

pub(super) static ACTION: LoopAction = LoopAction { name: "mark", offer, edit };

fn offer(at: &At) -> Option<Action> {
    let l = at.view.of(at.finding.id);
    let counted = l.control.is_ok() && at.view.can_offload();
    // to mark what must not be offloaded would only make an error
    if l.mark.is_some() || !counted || !is_parallel(l) || at.view.is_generated(at.finding.id) {
        return None;
    }
    let name = at.view.loop_name(at.finding.id).replace('`', "");
    Some(Action {
        id: at.id(&ACTION),
        title: format!("Mark {name} for the GPU"),
        kind: ActionKind::Mark,
        diagnostics: at.diagnostics(),
        disabled: refusal(at),
        preferred: false,
    })
}

fn refusal(at: &At) -> Option<String> {
    (!at.view.is_source(at.finding.id)).then(|| {
        format!(
            "The loop comes out of {by}; mark it there.",
            by = at.view.brought_by(at.view.of(at.finding.id).term)
        )
    })
}

fn edit(at: &At) -> Result<Resolved, ResolveError> {
    if let Some(reason) = refusal(at) {
        return Err(ResolveError::Refused(reason));
    }
    if at.view.of(at.finding.id).mark.is_some() {
        return Err(ResolveError::Stale);
    }
    // directly before the loop, whatever else stands on its line: a mark speaks of the next token
    let text = at.doc.text();
    let start = at.finding.span.start;
    let indentation = text.indentation_of(text.line_of(start));
    let end = text.line_ending().as_str();
    let comment = at.doc.language().comments.line;
    Ok(document_edit(text::Edit::insert(start, format!("{comment} warpwright: offload{end}{indentation}"))))
}

/// Marks all loops of these keys in one edit; those that cannot be marked are told of.
pub fn mark_all(ask: &Ask, findings: &Findings, keys: &[String]) -> Result<WorkspaceEdit, ResolveError> {
    let mut edits = Vec::new();
    let mut out = WorkspaceEdit::default();
    for key in keys {
        match resolve(ask, findings, &ActionId::Loop(&ACTION, key.clone())) {
            Ok(Resolved::Edit(one)) => {
                edits.extend(one.edits.into_iter().flat_map(|f| f.edits.edits().to_vec()));
            }
            Err(ResolveError::Refused(reason)) => {
                let line = findings.by_key(key).map_or(0, |l| l.line());
                out.left_out.push(format!("line {line}: {reason}"));
            }
            // what is marked already stays so
            Ok(Resolved::Show { .. }) | Err(ResolveError::Stale) => {}
            Err(ResolveError::Cancelled) => return Err(ResolveError::Cancelled),
        }
    }
    if edits.is_empty() {
        return Err(match out.left_out.is_empty() {
            true => ResolveError::Stale,
            false => ResolveError::Refused(out.left_out.join(" ")),
        });
    }
    let edits = EditSet::new(edits).map_err(|_| ResolveError::Stale)?;
    out.edits.push(FileEdit { file: None, edits });
    Ok(out)
}
