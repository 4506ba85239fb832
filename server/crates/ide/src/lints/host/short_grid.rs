//! `short-grid`: a grid rounded down.

use analysis::HostFault;

use crate::lints::{Find, Lint};
use crate::Severity;

pub(super) const LINT: Lint = Lint {
    code: "short-grid",
    severity: Severity::Warning,
    summary: "The grid leaves the last elements out.",
    page: include_str!("../../../../../../docs/codes/short-grid.md"),
    find: Find::Document(|ask| super::told(ask, words)),
    fixes: &[],
};

fn words(doc: &crate::Doc, body: &term::Body, start: u32, fault: &HostFault) -> Option<String> {
    let text = |t| doc.slice(body.span(t).shifted(start));
    Some(match fault {
        HostFault::ShortGrid(n, by) => format!(
            "`{0} / {1}` rounds down: where `{0}` is no multiple of {1} the last elements get no thread. Round up: `({0} + {1} - 1) / {1}`; the kernel \
             has a guard.",
            text(*n),
            text(*by)
        ),
        _ => return None,
    })
}
