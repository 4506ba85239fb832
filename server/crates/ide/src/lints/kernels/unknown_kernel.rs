//! `unknown-kernel`: the counted steps ended before all was known of a file's kernels; said once for all of them.

use base::Span;

use crate::actions::kernel_header;
use crate::lints::{Find, Lint, Message};
use crate::words::{self, KernelLimit};
use crate::{Ask, Severity, Tier};

pub(super) const LINT: Lint = Lint {
    code: "unknown-kernel",
    severity: Severity::Information,
    summary:
        "Whether something is wrong with kernels is unknown; the limit that stopped the analysis is named.",
    page: include_str!("../../../../../../docs/codes/unknown-kernel.md"),
    find: Find::Document(unknown_kernel),
    fixes: &[],
};

fn unknown_kernel(ask: &Ask) -> Vec<(Span, Message)> {
    // what an idle moment will tell is not unknown yet
    if ask.tier < Tier::Full {
        return Vec::new();
    }
    let unfinished = ask.unfinished_kernels();
    let all = [(KernelLimit::Kernel, unfinished.cut_short), (KernelLimit::File, unfinished.not_reached)];
    let said = all.into_iter().filter_map(|(limit, kernels)| {
        let first = kernels.first()?;
        let message = words::unknown_kernels(&first.name, kernels.len(), limit);
        Some((kernel_header(&ask.doc, first), Message { message, ..Message::default() }))
    });
    said.collect()
}
