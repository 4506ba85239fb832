//! `use-after-free`: memory that is used after it was freed.

use analysis::HostFault;

use crate::kernels::line;
use crate::lints::{Find, Lint};
use crate::Severity;

pub(super) const LINT: Lint = Lint {
    code: "use-after-free",
    severity: Severity::Error,
    summary: "Memory is used after it was freed.",
    page: include_str!("../../../../../../docs/codes/use-after-free.md"),
    find: Find::Document(|ask| super::told(ask, words)),
    fixes: &[],
};

fn words(doc: &crate::Doc, body: &term::Body, start: u32, fault: &HostFault) -> Option<String> {
    let name = |s: term::SymbolId| body.symbols[s].name.clone();
    let at = |t| line(doc, body.span(t).shifted(start));
    Some(match fault {
        HostFault::Freed(s, f) => format!(
            "`{}` was freed on line {}. What is there now belongs to nobody, or to another allocation. Free it after its last use.",
            name(*s),
            at(*f)
        ),
        _ => return None,
    })
}
