//! `bad-promise`: a promise that nothing can be made of.

use base::Span;
use front::{DirectiveKind, Item, ItemKind};
use term::{Origin, Promised};

use crate::function_view::in_full;
use crate::lints::{Find, Lint, Message};
use crate::{promises, Ask, Doc, Fact, Severity};

pub(super) const LINT: Lint = Lint {
    code: "bad-promise",
    severity: Severity::Warning,
    summary: "A promise is not understood, or stands before neither a loop nor a function.",
    page: include_str!("../../../../../../docs/codes/bad-promise.md"),
    find: Find::Document(bad_promise),
    fixes: &[],
};

fn bad_promise(ask: &Ask) -> Vec<(Span, Message)> {
    let doc = &ask.doc;
    let mut found = Vec::new();
    let directives = &doc.unit().directives;
    if !directives.iter().any(|d| matches!(d.kind, DirectiveKind::Assume(_))) {
        return found;
    }
    let say = |message: String| Message { message, ..Message::on_directive(Fact::Promise) };
    for (k, d) in directives.iter().enumerate() {
        if matches!(d.kind, DirectiveKind::Assume(_))
            && speaks_of_nothing(doc, front::speaks_of(directives, k))
        {
            let message = "Promise without a loop: neither a loop nor a function follows it, so nothing rests on it. Move it \
                           directly above the loop, or remove it.";
            found.push((d.span, say(message.to_owned())));
        }
    }
    for item in &doc.unit().items {
        for p in &item.body.said.promises {
            let Promised::Not(why) = &p.says else { continue };
            if let Some(written) = promises::written(doc, item, p) {
                found.push((written.span, say(format!("Promise that says nothing: {}.", in_full(why)))));
            }
        }
    }
    found
}

/// Whether neither a loop nor a function begins at an offset. Of text that is not read, nothing is said.
fn speaks_of_nothing(doc: &Doc, at: u32) -> bool {
    let text = doc.source().get(at as usize..).unwrap_or("");
    if text.is_empty() {
        return true;
    }
    let around = doc.unit().items.iter().find(|i| i.span.start <= at && at < i.span.end);
    let Some(item) = around else { return false };
    let is_loop = |item: &Item| {
        let start = |t| item.span.start + item.body.span(t).start;
        let begins = |&t: &term::TermId| start(t) == at && item.body.origin(t) == Origin::Source;
        item.body.loops(item.body.root).any(|t| begins(&t))
    };
    let word = text.split(|c: char| !(c.is_alphanumeric() || c == '_')).next().unwrap_or("");
    // loops of arms that are not taken, and those that macros make
    let may_be_loop = matches!(word, "for" | "while" | "do") || item.body.rejects().next().is_some();
    match item.kind {
        ItemKind::Function => at != item.span.start && !is_loop(item) && !may_be_loop,
        ItemKind::Declarations => item.body.rejects().next().is_none(),
    }
}
