//! `thread-dependence`: see its page.

use analysis::FaultKind;

use crate::lints::{Find, Lint};
use crate::{regions, Severity};

pub(super) const LINT: Lint = Lint {
    code: "thread-dependence",
    severity: Severity::Error,
    summary: "An OpenMP directive runs iterations at once that depend on each other.",
    page: include_str!("../../../../../../docs/codes/thread-dependence.md"),
    find: Find::Function(|place| regions::said(place, is_mine)),
    fixes: &[],
};

fn is_mine(kind: &FaultKind) -> bool {
    matches!(kind, FaultKind::Dependent { .. })
}
