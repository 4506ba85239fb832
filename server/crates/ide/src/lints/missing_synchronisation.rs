//! `missing-synchronisation`: managed memory that a launch may still be writing.

use analysis::HostFault;

use super::{Find, Lint};
use crate::kernels::line;
use crate::Severity;

pub(super) const LINT: Lint = Lint {
    code: "missing-synchronisation",
    severity: Severity::Error,
    summary: "The host touches what a launch may still be writing.",
    page: include_str!("../../../../../docs/codes/missing-synchronisation.md"),
    find: Find::Document(|ask| super::host(ask, words)),
};

fn words(doc: &crate::Doc, body: &term::Body, start: u32, fault: &HostFault) -> Option<String> {
    let name = |s: term::SymbolId| body.symbols[s].name.clone();
    let at = |t| line(doc, body.span(t).shifted(start));
    Some(match fault {
        HostFault::Unsynchronised(s, l) => format!(
            "The host touches `{}` while the launch on line {} may still be writing it: launches return before the kernel ends. Call \
             `cudaDeviceSynchronize()` first.",
            name(*s),
            at(*l)
        ),
        _ => return None,
    })
}
