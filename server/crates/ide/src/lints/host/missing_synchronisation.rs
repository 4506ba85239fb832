//! `missing-synchronisation`: managed memory that a launch may still be writing.

use analysis::HostFault;

use super::{fixed, Edits};
use crate::kernels::line;
use crate::lints::{Find, Lint};
use crate::repairs::Site;
use crate::Severity;
use term::TermId;

pub(super) const LINT: Lint = Lint {
    code: "missing-synchronisation",
    severity: Severity::Error,
    summary: "The host touches what a launch may still be writing.",
    page: include_str!("../../../../../../docs/codes/missing-synchronisation.md"),
    find: Find::Document(|ask| super::told(ask, words)),
    fixes: &[|site, fact| fixed(site, fact, fix)],
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

/// A wait before the outermost statement that touches what the launch may still write.
fn fix(site: &Site, touch: TermId, fault: &HostFault) -> Option<Edits> {
    let &HostFault::Unsynchronised(_, launch) = fault else { return None };
    let free = |s: &TermId| !site.body.walk(*s).any(|t| t == launch);
    let statement = site.statements(touch).into_iter().rfind(free)?;
    let call = "cudaDeviceSynchronize();";
    Some(("Put `cudaDeviceSynchronize()` before it".into(), vec![site.before(statement, call)]))
}
