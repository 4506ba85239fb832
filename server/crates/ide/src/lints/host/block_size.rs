//! `block-size`: a block that does not fill whole warps, or that no device takes.

use analysis::HostFault;
use base::Span;

use crate::lints::{Find, Lint, Message};
use crate::{Ask, Fact, Severity};

pub(super) const LINT: Lint = Lint {
    code: "block-size",
    severity: Severity::Warning,
    summary: "A block does not fill whole warps, or is too large.",
    page: include_str!("../../../../../../docs/codes/block-size.md"),
    find: Find::Document(block_size),
    fixes: &[],
};

fn block_size(ask: &Ask) -> Vec<(Span, Message)> {
    let doc = &ask.doc;
    let items = || doc.unit().items.iter();
    // a kernel of one thread that goes through no loop has nothing to divide
    let has_work = |message: &Message| {
        let Some(evidence) = &message.evidence else { return true };
        let Fact::Host(launch, HostFault::BlockSize(1)) = &evidence.fact else { return true };
        let around = items().find(|i| i.name == evidence.function);
        let Some(name) = around.and_then(|i| i.body.callee_name(*launch)) else { return true };
        let kernel = items().find(|i| i.is_kernel && *i.name == *name);
        kernel.is_none_or(|k| k.body.loops(k.body.root).next().is_some())
    };
    super::told(ask, words).into_iter().filter(|(_, message)| has_work(message)).collect()
}

fn words(doc: &crate::Doc, _: &term::Body, _: u32, fault: &HostFault) -> Option<String> {
    let gpu::Limits { lanes, block_threads, block: [_, _, deep], .. } = crate::kernels::limits(doc);
    let lanes = u64::from(lanes);
    Some(match fault {
        HostFault::BlockSize(n) if *n > block_threads.into() => format!(
            "A block has at most {block_threads} threads ({deep} in z), and this launch asks for {n}: it fails with an invalid configuration and the kernel \
             does not run. Make the block smaller and the grid larger."
        ),
        HostFault::BlockSize(1) => format!(
            "One thread of each block does all of its work: the {} other lanes of its warp idle in every instruction. Divide the work among the \
             threads of blocks of a multiple of {lanes}; if there is too little to divide, the host may do it as well.",
            lanes - 1
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
