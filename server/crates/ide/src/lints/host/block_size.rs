//! `block-size`: a block that does not fill whole warps, or that no device takes.

use analysis::HostFault;

use crate::lints::{Find, Lint};
use crate::Severity;

pub(super) const LINT: Lint = Lint {
    code: "block-size",
    severity: Severity::Warning,
    summary: "A block does not fill whole warps, or is too large.",
    page: include_str!("../../../../../../docs/codes/block-size.md"),
    find: Find::Document(|ask| super::told(ask, words)),
    fixes: &[],
};

fn words(doc: &crate::Doc, _: &term::Body, _: u32, fault: &HostFault) -> Option<String> {
    let gpu::Limits { lanes, block_threads, block: [_, _, deep], .. } = crate::kernels::limits(doc);
    let lanes = u64::from(lanes);
    Some(match fault {
        HostFault::BlockSize(n) if *n > block_threads.into() => format!(
            "A block has at most {block_threads} threads ({deep} in z), and this launch asks for {n}: it fails with an invalid configuration and the kernel \
             does not run. Make the block smaller and the grid larger."
        ),
        HostFault::BlockSize(n) => format!(
            "A block of {n} threads does not fill whole warps: {} of the {} lanes of its {} idle in every instruction. Make the \
             block a multiple of {lanes} threads.",
            n.next_multiple_of(lanes) - n,
            n.next_multiple_of(lanes),
            if *n <= lanes { "warp".to_owned() } else { format!("{} warps", n.div_ceil(lanes)) }
        ),
        HostFault::OverBounds(n, bound) => format!(
            "A block of {n} threads, and the kernel is compiled for {bound} at most (`__launch_bounds__({bound})`): the launch fails and the kernel \
             does not run. Launch {bound} threads a block, or raise the bound."
        ),
        _ => return None,
    })
}
