//! "Promise: …": a comment above a loop that says what the text cannot prove, where only that is missing. The loop is analyzed
//! with it before it is written: a promise that would not settle the verdict is refused.

use analysis::Verdict;

use super::{document_edit, Action, ActionKind, At, LoopAction, ResolveError, Resolved};
use crate::check::{check, Tier};
use crate::{hints, promises, Doc, Settings};

/// The kind of the action: it answers the finding of an unknown loop.
const PROMISE: &str = "quickfix.warpwright.promise";

pub(super) static ACTION: LoopAction = LoopAction { name: "promise", offer, edit };

fn offer(at: &At) -> Option<Action> {
    if !at.view.can_offload() || !at.view.is_source(at.finding.id) || at.view.is_generated(at.finding.id) {
        return None;
    }
    let promise = promises::settling(at.view, at.finding.id)?;
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
    let promise = promises::settling(at.view, at.finding.id).ok_or(ResolveError::Stale)?;
    // directly before the loop, whatever else stands on its line: a promise speaks of the next token
    let text = at.doc.text();
    let start = at.finding.span.start;
    let indentation = text.indentation_of(text.line_of(start));
    let end = text.line_ending().as_str();
    let comment = promises::comment(at.doc, &promise);
    let edit = text::Edit::insert(start, format!("{comment}{end}{indentation}"));
    let made = text::EditSet::one(edit.clone());
    let after = made.apply(text).map_err(|_| ResolveError::Stale)?;
    let again = Doc::open(at.doc.language(), at.doc.name(), after, at.doc.options().clone());
    let ask = at.ask.of(&again).at(Tier::Full);
    let found = check(&ask, &Settings::default()).map_err(|_| ResolveError::Cancelled)?;
    let finding = found.by_key(&at.finding.key).ok_or(ResolveError::Stale)?;
    let view = found.view(&ask, finding.item).ok_or(ResolveError::Stale)?;
    match view.of(finding.id).verdict {
        Verdict::Independent | Verdict::Reduction => Ok(document_edit(edit)),
        Verdict::Sequential | Verdict::Unknown => Err(ResolveError::Refused(format!(
            "The promise would not settle it. {}",
            hints::sentence(&view, finding.id)
        ))),
    }
}
