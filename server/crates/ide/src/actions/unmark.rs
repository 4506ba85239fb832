//! "Remove the mark": takes away the pragma or comment that asks for a loop's offload.

use base::Span;
use front::{Directive, DirectiveKind};

use super::{document_edit, Action, ActionId, ActionKind, At, LoopAction, ResolveError, Resolved};
use crate::{Diagnostic, Doc, Fact};

pub(super) static ACTION: LoopAction = LoopAction { name: "unmark", offer, edit };

fn offer(at: &At) -> Option<Action> {
    directive_of(at)?;
    let name = at.view.loop_name(at.finding.id).replace('`', "");
    Some(Action {
        id: at.id(&ACTION),
        title: format!("Remove the GPU mark of {name}"),
        kind: ActionKind::QuickFix,
        diagnostics: at.diagnostics(),
        disabled: None,
        preferred: false,
    })
}

/// For marks and suppressions that speak of no loop: the diagnostic stands on the directive itself.
pub(super) fn offer_unattached(doc: &Doc, position: usize, d: &Diagnostic) -> Option<Action> {
    let title = match d.evidence.as_ref()?.fact {
        Fact::Mark => "Remove this mark",
        Fact::Suppression => "Remove this suppression",
        Fact::Promise => "Remove this promise",
        _ => return None,
    };
    removable(doc, d.span)?;
    Some(Action {
        id: ActionId::Remove(d.span),
        title: title.to_owned(),
        kind: ActionKind::QuickFix,
        diagnostics: vec![position],
        disabled: None,
        preferred: true,
    })
}

fn edit(at: &At) -> Result<Resolved, ResolveError> {
    let directive = directive_of(at).ok_or(ResolveError::Stale)?;
    Ok(document_edit(text::Edit::delete(with_line(at.doc, directive.span))))
}

pub(super) fn remove(doc: &Doc, span: Span) -> Result<Resolved, ResolveError> {
    let span = removable(doc, span).ok_or(ResolveError::Stale)?;
    Ok(document_edit(text::Edit::delete(with_line(doc, span))))
}

/// The span if a directive stands exactly there that may be removed whole.
fn removable(doc: &Doc, span: Span) -> Option<Span> {
    let directive = doc.unit().directives.iter().find(|d| d.span == span)?;
    let whole = match &directive.kind {
        // one of several codes may be needed
        DirectiveKind::Ignore(codes) => codes.len() <= 1,
        DirectiveKind::Mark { .. } | DirectiveKind::Assume(_) | DirectiveKind::Other(..) => true,
        DirectiveKind::Foreign(_) => false,
    };
    whole.then_some(span)
}

/// The mark that speaks of this loop.
fn directive_of<'a>(at: &At<'a>) -> Option<&'a Directive> {
    at.view.of(at.finding.id).mark.as_ref()?;
    mark_before(at.doc, at.finding.span.start)
}

/// The mark attached to the loop that begins at this byte.
fn mark_before(doc: &Doc, start: u32) -> Option<&Directive> {
    let mut directives = doc.unit().directives.iter().rev();
    directives.find(|d| matches!(d.kind, DirectiveKind::Mark { attached: true, .. }) && d.before == start)
}

/// The edit that takes away the mark of the loop that begins at this byte, if it has one.
pub(crate) fn mark_removal(doc: &Doc, start: u32) -> Option<text::Edit> {
    mark_before(doc, start).map(|d| text::Edit::delete(with_line(doc, d.span)))
}

/// The whole line where nothing else stands on it, else the blanks before too.
fn with_line(doc: &Doc, span: Span) -> Span {
    let text = doc.text();
    let line = text.line_of(span.start);
    let (Some(bare), Some(full)) = (text.line_span(line), text.line_span_with_terminator(line)) else {
        return span;
    };
    if span.end < bare.start || span.start < bare.start || span.end > full.end {
        return span;
    }
    let before = doc.slice(Span { start: bare.start, end: span.start });
    let after = doc.slice(Span { start: span.end.min(bare.end), end: bare.end });
    if before.trim().is_empty() && after.trim().is_empty() {
        return full;
    }
    let kept = before.trim_end().len();
    match after.trim().is_empty() {
        true => Span::new(bare.start as usize + kept, span.end.min(bare.end) as usize),
        false => span,
    }
}
