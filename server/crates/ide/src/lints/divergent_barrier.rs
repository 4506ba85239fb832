//! `divergent-barrier`: a barrier in a kernel that some threads of a block reach and others do not, with two of them.

use analysis::{BarrierVerdict, Split};
use base::Span;

use super::{Find, Lint, Said};
use crate::kernels::thread_words;
use crate::{Ask, Fact, Severity};

pub(super) const LINT: Lint = Lint {
    code: "divergent-barrier",
    severity: Severity::Error,
    summary: "A barrier that not all threads of a block reach.",
    page: include_str!("../../../../../docs/codes/divergent-barrier.md"),
    find: Find::Document(divergent_barrier),
};

fn divergent_barrier(ask: &Ask) -> Vec<(Span, Said)> {
    let doc = &ask.doc;
    let mut found = Vec::new();
    for item in doc.unit().items.iter().filter(|i| i.is_kernel) {
        // what holds for the launch that is known, else for some launch
        let (facts, _) = ask.kernel_facts(item);
        for b in &facts.barriers {
            if let BarrierVerdict::Divergent(split) = &b.verdict {
                let span = item.body.span(b.term).shifted(item.span.start);
                found.push((
                    span,
                    Said { message: words(split), ..Said::on(item, Fact::DivergentBarrier(b.term)) },
                ));
            }
        }
    }
    found
}

fn words(split: &Split) -> String {
    let [x, y, z] = split.block;
    let shape = match (y, z) {
        (1, 1) => format!("{x} threads"),
        (_, 1) => format!("{x} by {y} threads"),
        _ => format!("{x} by {y} by {z} threads"),
    };
    let values: Vec<String> = split.values.iter().map(|(n, v)| format!(" and `{n}` = {v}")).collect();
    format!(
        "Not all threads of a block reach this barrier: with blocks of {shape}{}, {} reaches it and {} does not. Those that \
         wait may wait for ever, or go on before the others have written. Move the barrier out of the condition, or \
         let the whole block decide alike.",
        values.concat(),
        thread_words(split.yes, split.block_index),
        thread_words(split.no, split.block_index),
    )
}
