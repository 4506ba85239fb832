//! `not-understood`: a place with loops that the front end could not read, so they are not listed.

use base::Span;
use front::ItemKind;

use crate::function_view::in_full;
use crate::lints::{Find, Lint, Message};
use crate::{Ask, Doc, Severity};

pub(super) const LINT: Lint = Lint {
    code: "not-understood",
    severity: Severity::Information,
    summary: "A place with loops could not be read, so nothing is said of them.",
    page: include_str!("../../../../../../docs/codes/not-understood.md"),
    find: Find::Document(not_understood),
    fixes: &[],
};

fn not_understood(ask: &Ask) -> Vec<(Span, Message)> {
    let doc = &ask.doc;
    let mut found = Vec::new();
    for item in doc.unit().items.iter().filter(|i| i.kind == ItemKind::Function) {
        if item.body.rejects().next().is_none() {
            continue;
        }
        let loops: Vec<Span> = item.body.loops(item.body.root).map(|l| item.body.span(l)).collect();
        for reject in item.body.rejects() {
            // inside a loop that is listed, the loop says so itself
            let listed = loops.iter().any(|l| l.contains(reject.span));
            if !listed {
                add(doc, reject.span.shifted(item.span.start), &reject.reason, &mut found);
            }
        }
    }
    let device = ["__global__", "__device__"];
    for item in doc.unit().items.iter().filter(|i| i.kind == ItemKind::Declarations) {
        for reject in item.body.rejects() {
            let span = reject.span.shifted(item.span.start);
            let text = doc.slice(span);
            // of kernels and what they call others speak
            if !device.iter().any(|w| text.contains(w)) {
                let first = first_loop(text).unwrap_or(0);
                add(
                    doc,
                    Span::new(span.start as usize + first, span.end as usize),
                    &reject.reason,
                    &mut found,
                );
            }
        }
    }
    for reject in &doc.unit().rejects {
        add(doc, reject.span, &reject.reason, &mut found);
    }
    found
}

fn add(doc: &Doc, span: Span, reason: &str, found: &mut Vec<(Span, Message)>) {
    let text = doc.slice(span);
    if first_loop(text).is_none() {
        return;
    }
    let first_line = text.lines().next().unwrap_or("").trim_end();
    let shown = Span::new(span.start as usize, span.start as usize + first_line.len());
    let message = format!(
        "Loops here are not analyzed: this place was not understood ({}). Nothing is said of them until it is \
         written in a form that can be read.",
        in_full(reason)
    );
    found.push((shown, Message { message, ..Message::default() }));
}

/// Where a loop's keyword occurs as a word, first.
fn first_loop(text: &str) -> Option<usize> {
    let mut words = text.split(|c: char| !c.is_alphanumeric() && c != '_');
    let word = words.find(|w| matches!(*w, "for" | "while" | "do" | "foreach"))?;
    Some(word.as_ptr() as usize - text.as_ptr() as usize)
}
