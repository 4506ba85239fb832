//! `missing-swap`: two buffers of a time loop that are never exchanged.

use analysis::HostFault;

use super::{Find, Lint};
use crate::kernels::line;
use crate::Severity;

pub(super) const LINT: Lint = Lint {
    code: "missing-swap",
    severity: Severity::Warning,
    summary: "Every step of a time loop computes the first one again.",
    page: include_str!("../../../../../docs/codes/missing-swap.md"),
    find: Find::Document(|ask| super::host(ask, words)),
};

fn words(doc: &crate::Doc, body: &term::Body, start: u32, fault: &HostFault) -> Option<String> {
    let at = |t| line(doc, body.span(t).shifted(start));
    let name = |s: term::SymbolId| body.symbols[s].name.clone();
    Some(match fault {
        HostFault::MissingSwap(l, from, to) => format!(
            "Every round of the loop on line {} computes `{}` from the same `{}`: the steps do not build on one another. Exchange the two \
                 pointers behind the launch.",
            at(*l),
            name(*to),
            name(*from)
        ),
        _ => return None,
    })
}
