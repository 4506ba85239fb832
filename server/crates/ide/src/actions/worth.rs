//! "Offload all that is worth it", in a function or in the whole file: one edit of the document with a new file for each call.

use base::Span;

use super::{touch, Action, ActionId, ActionKind, ResolveError, Resolved};
use crate::check::Findings;
use crate::lints::is_parallel;
use crate::offload::{offload, Refused, Which};
use crate::worth::pays;
use crate::{Ask, Tier};

/// Offered on a function's header, where several loops are known to become kernels that are worth it: one alone is offered on its
/// loop.
pub(super) fn offer(ask: &Ask, findings: &Findings, span: Span) -> Vec<Action> {
    let on = |ask: &Ask, item: usize| -> Option<usize> {
        let view = findings.view(ask, item)?;
        if !view.can_offload() {
            return None;
        }
        let own = findings.loops.iter().filter(|l| l.item == item && !view.is_generated(l.id));
        let outer = own.filter(|l| view.of(l.id).parent.is_none_or(|p| !is_parallel(view.of(p))));
        Some(outer.filter(|l| pays(&view, l.id)).count())
    };
    let items = ask.doc.unit().items.iter();
    let header = |i: &front::Item| {
        let body = i.body.span(i.body.root).start;
        Span { start: i.span.start, end: i.span.start + body.max(1) }
    };
    let Some((item, of)) = items.enumerate().find(|(_, i)| touch(first_line(ask, header(i)), span)) else {
        return Vec::new();
    };
    let mut out = Vec::new();
    // the loops of this function are planned, of the others those count that are
    let here = on(&ask.at(Tier::Full), item).unwrap_or(0);
    if here > 1 {
        out.push(action(Some(of.name.to_string()), "Offload all that is worth it in this function"));
    }
    let all = (0..ask.doc.unit().items.len()).filter_map(|k| on(ask, k));
    if here > 0 && all.filter(|&n| n > 0).count() > 1 {
        out.push(action(None, "Offload all that is worth it in this file"));
    }
    out
}

/// The line on which a function begins.
fn first_line(ask: &Ask, header: Span) -> Span {
    let text = ask.doc.text();
    let line = text.line_span(text.line_of(header.start)).unwrap_or(header);
    Span { start: header.start, end: line.end.max(header.start) }
}

fn action(function: Option<String>, title: &str) -> Action {
    Action {
        id: ActionId::Worth(function),
        title: title.to_owned(),
        kind: ActionKind::Offload,
        diagnostics: Vec::new(),
        disabled: None,
        preferred: false,
    }
}

pub(super) fn edit(ask: &Ask, findings: &Findings, function: Option<&str>) -> Result<Resolved, ResolveError> {
    let is_here = |f: &str| ask.doc.unit().items.iter().any(|i| *i.name == *f);
    if function.is_some_and(|f| !is_here(f)) {
        return Err(ResolveError::Stale);
    }
    match offload(ask, findings, &Which::Worth(function.map(str::to_owned))) {
        Ok(mut done) => {
            let left_out = done.left_out.iter().map(|l| format!("line {}: {}", l.line, l.reason));
            done.edit.left_out = left_out.collect();
            Ok(Resolved::Edit(done.edit))
        }
        Err(Refused::Cancelled) => Err(ResolveError::Cancelled),
        Err(Refused::Stale) => Err(ResolveError::Stale),
        Err(Refused::Because(reason)) => Err(ResolveError::Refused(reason)),
    }
}
