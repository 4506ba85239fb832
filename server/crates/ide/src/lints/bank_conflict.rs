//! `bank-conflict`: lanes of a warp ask one bank of shared memory for different words.

use base::Span;

use super::{Find, Lint, Said};
use crate::kernels::launch_words;
use crate::{Ask, Fact, Severity};

pub(super) const LINT: Lint = Lint {
    code: "bank-conflict",
    severity: Severity::Warning,
    summary: "Lanes of a warp wait for one another at a bank of shared memory.",
    page: include_str!("../../../../../docs/codes/bank-conflict.md"),
    find: Find::Document(bank_conflict),
};

fn bank_conflict(ask: &Ask) -> Vec<(Span, Said)> {
    let doc = &ask.doc;
    let mut found = Vec::new();
    for item in doc.unit().items.iter().filter(|i| i.is_kernel) {
        let (facts, launch) = ask.kernel_facts(item);
        let mut told: Vec<Span> = Vec::new();
        for a in facts.accesses.iter().filter(|a| a.space == term::Space::Shared && !a.atomic) {
            let Some(r) = &a.requests else { continue };
            let span = item.body.span(a.term).shifted(item.span.start);
            let needed = (a.bytes / 4).max(1);
            if r.ways <= needed || told.contains(&span) {
                continue;
            }
            told.push(span);
            let lanes = match r.collide {
                Some((x, y, bank)) => format!(" (lanes {x} and {y} both ask bank {bank})"),
                None => String::new(),
            };
            let rounds = if r.exact { "" } else { " in the first round of its loop" };
            let message = format!(
                "{}-way bank conflict{rounds}: lanes of a warp ask one bank of `{}` for {0} different words{lanes}, and the request takes {} passes \
                 instead of {needed}, with {}. Nsight Compute: shared-memory bank conflict. Pad the rows by one element, or let neighbouring \
                 lanes touch neighbouring words.",
                r.ways,
                a.object,
                r.ways,
                launch_words(&launch)
            );
            // one more pass is often cheaper than what would save it
            let mild = r.ways <= 2 * needed;
            let severity = mild.then_some(Severity::Hint);
            found.push((
                span,
                Said { message, severity, ..Said::on(item, Fact::BankConflict(a.object.clone())) },
            ));
        }
    }
    found
}
