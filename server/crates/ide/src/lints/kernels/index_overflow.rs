//! `index-overflow`: a subscript that is computed in 32 bits and needs more.

use base::Span;

use crate::kernels::{launch_words, thread_words};
use crate::lints::{Find, Lint, Message};
use crate::repairs::{Repair, Site};
use crate::Doc;
use crate::{Ask, Fact, Related, Severity};
use term::SymbolId;
use text::Edit;

pub(super) const LINT: Lint = Lint {
    code: "index-overflow",
    severity: Severity::Error,
    summary: "A subscript does not fit into 32 bits.",
    page: include_str!("../../../../../../docs/codes/index-overflow.md"),
    find: Find::Document(index_overflow),
    fixes: &[fix],
};

fn index_overflow(ask: &Ask) -> Vec<(Span, Message)> {
    let doc = &ask.doc;
    let mut found = Vec::new();
    for item in doc.unit().items.iter().filter(|i| i.is_kernel) {
        let (facts, launch) = ask.kernel_facts(item);
        let place = |t| item.body.span(t).shifted(item.span.start);
        for o in &facts.overflows {
            let what = match o.variable {
                Some(s) => format!("The value of `{}`", item.body.symbols[s].name),
                None => format!("`{}`", doc.slice(place(o.term))),
            };
            let message = format!(
                "{what} is {} for {}, and a 32-bit number ends at {}: another element is touched, or none, with {}. Compute the index in 64 bits (`size_t` or `long long`).",
                o.value,
                thread_words(o.thread, o.block),
                o.most,
                launch_words(&ask.doc, item, &launch)
            );
            let related =
                vec![Related { span: place(o.access), message: "the subscript of this access".into() }];
            found.push((
                place(o.term),
                Message { message, related, ..Message::on(item, Fact::IndexOverflow) },
            ));
        }
    }
    found
}

const WIDER: &str = "Compute the index in 64 bits";

/// Rounds of widening: an operation, then the variable that takes its value, and so on.
const ROUNDS: usize = 8;

/// Computes subscripts in 64 bits: casts first operands, and widens variables.
fn fix(site: &Site, fact: &Fact) -> Option<Repair> {
    let Fact::IndexOverflow = fact else { return None };
    let mut text = site.doc.text().clone();
    for round in 0..ROUNDS {
        let doc = match round {
            0 => site.doc.clone(),
            _ => Doc::open(site.doc.language(), site.doc.name(), text.clone(), site.doc.options().clone()),
        };
        let item = doc.unit().items.iter().find(|i| i.is_kernel && i.name == site.item.name)?;
        let ask = site.ask.of(&doc);
        let here = site.again(&ask, item);
        let (now, _) = here.facts();
        let Some(first) = now.overflows.first() else {
            // all rounds as one edit
            let new = doc.slice(item.span).to_owned();
            let edits = vec![Edit::replace(site.item.span, new)];
            return site.same(WIDER.into(), edits);
        };
        let edit = match first.variable {
            Some(s) => wider_type(&here, s)?,
            None => {
                let span = here.span(first.term);
                if span.is_empty() || here.doc.slice(span).starts_with("(long long)") {
                    return None;
                }
                Edit::insert(span.start, "(long long)")
            }
        };
        if site.is_listed() {
            return site.same(WIDER.into(), vec![edit]);
        }
        text = text::EditSet::new(vec![edit]).ok()?.apply(&text).ok()?;
    }
    None
}

/// `int i` becomes `long long i`.
fn wider_type(site: &Site, s: SymbolId) -> Option<Edit> {
    let name = site.body.symbols[s].span?.shifted(site.item.span.start);
    let before = site.doc.slice(Span { start: site.item.span.start, end: name.start });
    let from = before.rfind([';', '{', '(', '}'])? + 1;
    let declared = &before[from..];
    let word =
        ["unsigned int", "unsigned", "int"].into_iter().find_map(|w| declared.find(w).map(|at| (at, w)))?;
    let start = site.item.span.start + (from + word.0) as u32;
    let whole = Span { start, end: start + word.1.len() as u32 };
    Some(Edit::replace(whole, "long long"))
}
