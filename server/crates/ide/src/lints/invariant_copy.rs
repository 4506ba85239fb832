//! `invariant-copy`: a copy in a loop of the host that could be made once.

use analysis::HostFault;

use super::{Find, Lint};
use crate::kernels::line;
use crate::Severity;

pub(super) const LINT: Lint = Lint {
    code: "invariant-copy",
    severity: Severity::Warning,
    summary: "A loop copies the same data between host and device in every round.",
    page: include_str!("../../../../../docs/codes/invariant-copy.md"),
    find: Find::Document(|ask| super::host(ask, words)),
};

fn words(doc: &crate::Doc, body: &term::Body, start: u32, fault: &HostFault) -> Option<String> {
    let at = |t| line(doc, body.span(t).shifted(start));
    Some(match fault {
        HostFault::InvariantCopy(l, true) => format!(
            "This copy moves the same data to the device in every round of the loop on line {}: nothing in the loop changes it. Copy once \
                 before the loop.",
            at(*l)
        ),
        HostFault::InvariantCopy(l, false) => format!(
            "This copy brings the data back in every round of the loop on line {}, and nothing in the loop looks at it. Copy once behind \
                 the loop.",
            at(*l)
        ),
        _ => return None,
    })
}
