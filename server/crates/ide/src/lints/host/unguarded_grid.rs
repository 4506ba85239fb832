//! `unguarded-grid`: a grid rounded up for a kernel that does not ask where its data end.

use analysis::HostFault;

use crate::lints::{Find, Lint};
use crate::Severity;

pub(super) const LINT: Lint = Lint {
    code: "unguarded-grid",
    severity: Severity::Warning,
    summary: "The last block runs over the end of the data.",
    page: include_str!("../../../../../../docs/codes/unguarded-grid.md"),
    find: Find::Document(|ask| super::told(ask, words)),
    fixes: &[],
};

fn words(doc: &crate::Doc, body: &term::Body, start: u32, fault: &HostFault) -> Option<String> {
    let text = |t| doc.slice(body.span(t).shifted(start));
    Some(match fault {
        HostFault::Overrun(n) => format!(
            "The grid is rounded up to whole blocks and the kernel has no guard: where `{0}` is no multiple of the block, the last threads touch \
             what lies behind the data. Give the kernel `{0}` and guard its accesses (`if (i < {0})`).",
            text(*n)
        ),
        _ => return None,
    })
}
