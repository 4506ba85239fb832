//! `divergent-branch`: a branch that takes a few lanes of many warps.

use base::Span;

use crate::kernels::{launch_words, wherever};
use crate::lints::{Find, Lint, Message};
use crate::{Ask, Severity};

pub(super) const LINT: Lint = Lint {
    code: "divergent-branch",
    severity: Severity::Information,
    summary: "A branch takes a few lanes of many warps.",
    page: include_str!("../../../../../../docs/codes/divergent-branch.md"),
    find: Find::Document(divergent_branch),
    fixes: &[],
};

fn divergent_branch(ask: &Ask) -> Vec<(Span, Message)> {
    let doc = &ask.doc;
    let mut found = Vec::new();
    for item in doc.unit().items.iter().filter(|i| i.is_kernel) {
        let (facts, launch) = ask.kernel_facts(item);
        for d in &facts.divided {
            let Some(&condition) = item.body.args(d.term).first() else { continue };
            let span = item.body.span(condition).shifted(item.span.start);
            let message = format!(
                "This condition divides warps: {} of them run what is behind it, with {:.1} of {} threads active on average, where {} would do, \
                 with {}. Nsight Compute: divergent branches, Avg. Not Predicated Off Threads Per Warp. Let neighbouring threads do neighbouring work, so that whole \
                 warps go one way.",
                d.warps,
                d.lanes as f64 / d.warps as f64,
                launch.limits.lanes,
                d.packed,
                launch_words(&ask.doc, item, &launch)
            );
            found.push((span, Message { message, ..Message::of(item) }));
        }
        for b in facts.branches.iter().filter(|b| facts.parted.contains(&b.term)) {
            let (Some(&condition), Some(any)) = (item.body.args(b.term).first(), &b.any_shape) else {
                continue;
            };
            let Some((holds, of)) = any.parts else { continue };
            let span = item.body.span(condition).shifted(item.span.start);
            let rounds = match any.taken[1] > holds {
                true => format!("{holds} to {} of {of}", any.taken[1]),
                false => format!("{holds} of {of}"),
            };
            let message = format!(
                "This condition divides every warp that comes here: {rounds} threads run what is behind it, with {}. Nsight \
                 Compute: divergent branches, Avg. Not Predicated Off Threads Per Warp. Let neighbouring threads do neighbouring work, so that \
                 whole warps go one way.",
                wherever(doc, item, &launch, any.assumed)
            );
            found.push((span, Message { message, ..Message::of(item) }));
        }
    }
    found
}
