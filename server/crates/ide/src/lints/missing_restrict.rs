//! `missing-restrict`: loads that a compiler must repeat, because a store in the same loop may have changed them.

use base::Span;

use super::{Find, Lint, Said};
use crate::kernels::line;
use crate::{Ask, Fact, Related, Severity};

pub(super) const LINT: Lint = Lint {
    code: "missing-restrict",
    severity: Severity::Hint,
    summary: "Data that are only read are not declared so.",
    page: include_str!("../../../../../docs/codes/missing-restrict.md"),
    find: Find::Document(missing_restrict),
};

fn missing_restrict(ask: &Ask) -> Vec<(Span, Said)> {
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
            found.push((place(r.read), Said { message, related, ..Said::on(item, Fact::Reload(r.clone())) }));
        }
    }
    found
}
