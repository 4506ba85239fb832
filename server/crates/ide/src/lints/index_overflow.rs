//! `index-overflow`: a subscript that is computed in 32 bits and needs more.

use base::Span;

use super::{Find, Lint, Said};
use crate::kernels::{launch_words, thread_words};
use crate::{Ask, Fact, Related, Severity};

pub(super) const LINT: Lint = Lint {
    code: "index-overflow",
    severity: Severity::Error,
    summary: "A subscript does not fit into 32 bits.",
    page: include_str!("../../../../../docs/codes/index-overflow.md"),
    find: Find::Document(index_overflow),
};

fn index_overflow(ask: &Ask) -> Vec<(Span, Said)> {
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
                launch_words(&launch)
            );
            let related =
                vec![Related { span: place(o.access), message: "the subscript of this access".into() }];
            found.push((place(o.term), Said { message, related, ..Said::on(item, Fact::IndexOverflow) }));
        }
    }
    found
}
