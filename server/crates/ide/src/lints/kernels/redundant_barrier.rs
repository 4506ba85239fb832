//! `redundant-barrier`: a barrier that orders nothing, with the launch that is known.

use base::Span;

use crate::kernels::{launch_words, needless_everywhere};
use crate::lints::{Find, Lint, Message};
use crate::repairs::{Repair, Site};
use crate::{Ask, Fact, Severity, Tag};

pub(super) const LINT: Lint = Lint {
    code: "redundant-barrier",
    severity: Severity::Hint,
    summary: "A barrier without which no two threads meet.",
    page: include_str!("../../../../../../docs/codes/redundant-barrier.md"),
    find: Find::Document(redundant_barrier),
    fixes: &[fix],
};

fn redundant_barrier(ask: &Ask) -> Vec<(Span, Message)> {
    let doc = &ask.doc;
    let mut found = Vec::new();
    for item in doc.unit().items.iter().filter(|i| i.is_kernel) {
        let (facts, launch) = ask.kernel_facts(item);
        for b in facts.barriers.iter().filter(|b| b.redundant == Some(true)) {
            let span = item.body.span(b.term).shifted(item.span.start);
            if !needless_everywhere(ask, item, span) {
                continue;
            }
            let message = format!(
                "This barrier orders nothing: without it no two threads of a block touch one place that they did not before, in {}. \
                 All threads of the block wait here for the slowest. Remove it if no other launch needs it.",
                launch_words(&ask.doc, item, &launch)
            );
            found.push((
                span,
                Message {
                    message,
                    tags: vec![Tag::Unnecessary],
                    ..Message::on(item, Fact::RedundantBarrier(b.term))
                },
            ));
        }
    }
    found
}

fn fix(site: &Site, fact: &Fact) -> Option<Repair> {
    let Fact::RedundantBarrier(t) = fact else { return None };
    site.checked("Remove the barrier".into(), vec![site.removed(*t)?])
}
