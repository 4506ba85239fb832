//! `missing-restrict`: loads that a compiler must repeat, because a store in the same loop may have changed them.

use base::Span;

use crate::kernels::line;
use crate::lints::{Find, Lint, Message};
use crate::repairs::{Repair, Site};
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
        for r in &facts.reloads {
            let (name, other) = (&item.body.symbols[r.pointer].name, &item.body.symbols[r.other].name);
            let message = format!(
                "The kernel only reads `{name}`, but the store to `{other}` on line {} of the same loop may change it as far as the compiler knows: the \
                 load can be moved across no store, and not go through the read-only cache (`LDG.E.CONSTANT`). Declare it `const … *__restrict__ {name}`, if the two arrays \
                 do not overlap.",
                line(doc, place(r.store))
            );
            let related =
                vec![Related { span: place(r.store), message: format!("stores to `{other}` here").into() }];
            found.push((
                place(r.read),
                Message { message, related, ..Message::on(item, Fact::Reload(r.clone())) },
            ));
        }
    }
    found
}

/// `const T *__restrict__ p`.
fn fix(site: &Site, fact: &Fact) -> Option<Repair> {
    let Fact::Reload(r) = fact else { return None };
    let symbol = &site.body.symbols[r.pointer];
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
    let title = format!("Declare `const … *__restrict__ {}` (assumes no overlap)", symbol.name);
    site.same(title, edits)
}
