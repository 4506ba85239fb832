//! `copy-direction`: a copy in another direction than its pointers have.

use analysis::HostFault;

use super::{fixed, Edits};
use crate::lints::{Find, Lint};
use crate::repairs::Site;
use crate::Severity;
use term::TermId;
use text::Edit;

pub(super) const LINT: Lint = Lint {
    code: "copy-direction",
    severity: Severity::Error,
    summary: "A copy names another direction than its pointers have.",
    page: include_str!("../../../../../../docs/codes/copy-direction.md"),
    find: Find::Document(|ask| super::told(ask, words)),
    fixes: &[|site, fact| fixed(site, fact, fix)],
};

fn words(_: &crate::Doc, _: &term::Body, _: u32, fault: &HostFault) -> Option<String> {
    Some(match fault {
        HostFault::Direction(said, is) => format!(
            "The copy says `{said}`, and its pointers are those of `{is}`, as they were allocated: it fails, and the data stays where it is. Write `{is}`."
        ),
        _ => return None,
    })
}

fn fix(site: &Site, t: TermId, fault: &HostFault) -> Option<Edits> {
    let HostFault::Direction(_, is) = fault else { return None };
    Some((format!("Write `{is}`"), vec![Edit::replace(site.span(t), *is)]))
}
