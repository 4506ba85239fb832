//! `unchecked-launch`: launches of which nobody asks whether they failed.

use analysis::HostFault;

use super::{Find, Lint};
use crate::Severity;

pub(super) const LINT: Lint = Lint {
    code: "unchecked-launch",
    severity: Severity::Hint,
    summary: "Nobody asks whether a launch failed.",
    page: include_str!("../../../../../docs/codes/unchecked-launch.md"),
    find: Find::Document(|ask| super::host(ask, words)),
};

fn words(_: &crate::Doc, _: &term::Body, _: u32, fault: &HostFault) -> Option<String> {
    Some(match fault {
        HostFault::Unchecked => "Nobody asks whether this launch failed: an invalid configuration or a missing kernel goes unnoticed. Call \
             `cudaGetLastError()` after it, and look at what `cudaDeviceSynchronize()` gives."
            .to_owned(),
        _ => return None,
    })
}
