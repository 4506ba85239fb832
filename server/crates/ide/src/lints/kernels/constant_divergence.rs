//! `constant-divergence`: lanes of a warp read different addresses of constant memory.

use base::Span;
use term::Space;

use crate::kernels::{launch_words, looked_at};
use crate::lints::{Find, Lint, Message};
use crate::{Ask, Severity};

pub(super) const LINT: Lint = Lint {
    code: "constant-divergence",
    severity: Severity::Warning,
    summary: "Lanes of a warp read different addresses of constant memory.",
    page: include_str!("../../../../../../docs/codes/constant-divergence.md"),
    find: Find::Document(constant_divergence),
    fixes: &[],
};

fn constant_divergence(ask: &Ask) -> Vec<(Span, Message)> {
    let doc = &ask.doc;
    let mut found = Vec::new();
    for item in doc.unit().items.iter().filter(|i| i.is_kernel) {
        let (facts, launch) = ask.kernel_facts(item);
        let mut told: Vec<Span> = Vec::new();
        for a in facts.accesses.iter().filter(|a| a.space == Space::Constant && a.reads) {
            let Some(r) = a.requests.as_ref().filter(|r| r.ways > 1) else { continue };
            let span = item.body.span(a.term).shifted(item.span.start);
            if told.contains(&span) {
                continue;
            }
            told.push(span);
            let lanes = match r.collide {
                Some((x, y, _)) => format!(" (lanes {x} and {y} for one)"),
                None => String::new(),
            };
            let rounds = looked_at(r);
            let message = format!(
                "Lanes of a warp read up to {} different addresses of `{}` in constant memory{rounds}{lanes}, and the constant cache gives one a pass: {} requests \
                 take {} passes, with {}. Nsight Compute: `idc__requests`, stall IMC miss. Keep a table that each lane reads at its own place in global memory \
                 (`const … *__restrict__`) or in shared memory.",
                r.ways,
                a.object,
                r.count,
                r.count + r.conflicts,
                launch_words(&ask.doc, item, &launch)
            );
            let severity = (r.ways <= 2).then_some(Severity::Hint);
            found.push((span, Message { message, severity, ..Message::of(item) }));
        }
    }
    found
}
