//! `missing-restrict`: loads that a compiler must repeat, because a store in the same loop may have changed them.

use analysis::Reload;
use base::Span;
use term::SymbolId;

use crate::kernels::line;
use crate::lints::{Find, Lint, Message};
use crate::repairs::{Repair, Site};
use crate::words::list;
use crate::{Ask, Fact, Related, Severity};
use text::Edit;

pub(super) const LINT: Lint = Lint {
    code: "missing-restrict",
    severity: Severity::Hint,
    summary: "Data that are only read are not declared so.",
    page: include_str!("../../../../../../docs/codes/missing-restrict.md"),
    find: Find::Document(missing_restrict),
    fixes: &[fix],
};

fn missing_restrict(ask: &Ask) -> Vec<(Span, Message)> {
    let doc = &ask.doc;
    let mut found = Vec::new();
    for item in doc.unit().items.iter().filter(|i| i.is_kernel) {
        let (facts, _) = ask.kernel_facts(item);
        let place = |t| item.body.span(t).shifted(item.span.start);
        // one cause, one finding: all of them are declared so, or the compiler still waits for the others
        let mut all: Vec<&Reload> = Vec::new();
        for r in &facts.reloads {
            if all.iter().all(|o| o.pointer != r.pointer) {
                all.push(r);
            }
        }
        let Some(first) = all.first() else { continue };
        let symbol = |s: SymbolId| &*item.body.symbols[s].name;
        let names: Vec<String> = all.iter().map(|r| format!("`{}`", symbol(r.pointer))).collect();
        let (is_one, line) = (all.len() == 1, line(doc, place(first.store)));
        let stores = match all.iter().all(|r| r.store == first.store) {
            true => format!("the store to `{}` on line {line} of the same loop", symbol(first.other)),
            false => {
                format!("stores of the same loop, the first to `{}` on line {line}", symbol(first.other))
            }
        };
        let (them, declared) = match is_one {
            true => {
                ("it", format!("it `const … *__restrict__ {}`, if the two arrays do", symbol(first.pointer)))
            }
            false => ("them", "each of them `const … *__restrict__`, if the arrays do".to_owned()),
        };
        let message = format!(
            "The kernel only reads {}, but {stores} may change {them} as far as the compiler knows: the {} can be moved across no store, and not go \
             through the read-only cache (`LDG.E.CONSTANT`). Declare {declared} not overlap.",
            list(&names),
            if is_one { "load" } else { "loads" },
        );
        let related = |r: &&Reload| Related {
            span: place(r.store),
            message: format!("stores to `{}` here", symbol(r.other)).into(),
        };
        let mut related: Vec<Related> = all.iter().map(related).collect();
        related.dedup_by_key(|r| r.span);
        let fact = Fact::Reloads(all.iter().map(|&r| r.clone()).collect());
        found.push((place(first.read), Message { message, related, ..Message::on(item, fact) }));
    }
    found
}

/// `const T *__restrict__ p`, of all that can be declared so.
fn fix(site: &Site, fact: &Fact) -> Option<Repair> {
    let Fact::Reloads(all) = fact else { return None };
    let declared: Vec<(&str, Vec<Edit>)> = all.iter().filter_map(|r| declared(site, r.pointer)).collect();
    let title = match declared.as_slice() {
        [] => return None,
        [(name, _)] => format!("Declare `const … *__restrict__ {name}` (assumes no overlap)"),
        many => format!("Declare {} pointers `const … *__restrict__` (no overlap)", many.len()),
    };
    site.same(title, declared.into_iter().flat_map(|d| d.1).collect())
}

/// The name, and what its declaration gets.
fn declared<'s>(site: &Site<'s>, pointer: SymbolId) -> Option<(&'s str, Vec<Edit>)> {
    let symbol = &site.body.symbols[pointer];
    let name = symbol.span?.shifted(site.item.span.start);
    let before = site.doc.slice(Span { start: site.item.span.start, end: name.start });
    let open = before.rfind(['(', ','])?;
    let declared = &before[open + 1..];
    // `T *p`, and nothing more involved
    if declared.matches('*').count() != 1 || declared.contains(['(', '[']) || declared.contains("restrict") {
        return None;
    }
    let mut edits = vec![Edit::insert(name.start, "__restrict__ ")];
    if !declared.contains("const") {
        let first = open + 1 + (declared.len() - declared.trim_start().len());
        edits.push(Edit::insert(site.item.span.start + first as u32, "const "));
    }
    Some((&*symbol.name, edits))
}
