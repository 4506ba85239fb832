//! `short-shared`: a launch that gives less dynamic shared memory than its kernel uses.

use analysis::HostFault;

use super::{Find, Lint};
use crate::Severity;

pub(super) const LINT: Lint = Lint {
    code: "short-shared",
    severity: Severity::Error,
    summary: "A launch gives too little dynamic shared memory.",
    page: include_str!("../../../../../docs/codes/short-shared.md"),
    find: Find::Document(|ask| super::host(ask, words)),
};

fn words(doc: &crate::Doc, body: &term::Body, start: u32, fault: &HostFault) -> Option<String> {
    let text = |t| doc.slice(body.span(t).shifted(start));
    Some(match fault {
        HostFault::ShortShared(array, None) => format!(
            "The kernel keeps `{array}` in dynamic shared memory, and this launch gives it none: the third argument of `<<<…>>>` says how many \
                 bytes."
        ),
        HostFault::ShortShared(array, Some((given, size))) => format!(
            "The third argument of `<<<…>>>` counts bytes, and `{0}` is the number of threads: an element of `{array}` has {size} bytes, so \
                 there is room for one thread in {size}. Write `{0} * sizeof(…)`.",
            text(*given)
        ),
        _ => return None,
    })
}
