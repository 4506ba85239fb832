//! `bytes-not-elements`: a size in elements where bytes are asked for.

use analysis::HostFault;

use super::{Find, Lint};
use crate::Severity;

pub(super) const LINT: Lint = Lint {
    code: "bytes-not-elements",
    severity: Severity::Error,
    summary: "A size is given in elements where bytes are asked for.",
    page: include_str!("../../../../../docs/codes/bytes-not-elements.md"),
    find: Find::Document(|ask| super::host(ask, words)),
};

fn words(doc: &crate::Doc, body: &term::Body, start: u32, fault: &HostFault) -> Option<String> {
    let text = |t| doc.slice(body.span(t).shifted(start));
    Some(match fault {
        HostFault::Elements(size, p) => format!(
            "`{}` counts elements (elsewhere it is multiplied by `sizeof`), and this size is in bytes: only a part of `{}` is meant here. \
             Write `{0} * sizeof(…)`.",
            text(*size),
            text(*p).trim_start_matches('&')
        ),
        _ => return None,
    })
}
