//! `out-of-range`: an access that is sure to fall outside of its array, with the launch and the sizes that are known.

use base::Span;

use super::{Find, Lint, Said};
use crate::kernels::{launch_words, place, thread_words};
use crate::{Ask, Fact, Severity};

pub(super) const LINT: Lint = Lint {
    code: "out-of-range",
    severity: Severity::Error,
    summary: "A thread touches a place outside of an array.",
    page: include_str!("../../../../../docs/codes/out-of-range.md"),
    find: Find::Document(out_of_range),
};

fn out_of_range(ask: &Ask) -> Vec<(Span, Said)> {
    let doc = &ask.doc;
    let mut found: Vec<(Span, Said)> = Vec::new();
    for item in doc.unit().items.iter().filter(|i| i.is_kernel) {
        let (facts, launch) = ask.kernel_facts(item);
        for o in facts.out_of_range.iter().flatten() {
            let span = place(doc, item, &o.side.function, o.side.term);
            if found.iter().any(|f| f.0 == span) {
                continue;
            }
            let now = if o.dynamic {
                "Give the launch more bytes of shared memory (its third argument), or touch less."
            } else {
                "Guard the access, or make the array larger."
            };
            let others = match o.threads {
                None | Some(1) => String::new(),
                Some(n) => format!(", and {} more accesses like it", n - 1),
            };
            let message = format!(
                "{} touches `{}[{}]`, which has {} elements{others}, in {}. What is read there is undefined, and what is written may be \
                 anything's. {now}",
                capital(thread_words(o.side.thread, o.side.block)),
                o.object,
                o.index,
                o.length,
                launch_words(&launch)
            );
            found.push((span, Said { message, ..Said::on(item, Fact::OutOfRange(o.clone())) }));
        }
    }
    found
}

fn capital(mut text: String) -> String {
    if let Some(first) = text.get(..1).map(str::to_uppercase) {
        text.replace_range(..1, &first);
    }
    text
}
