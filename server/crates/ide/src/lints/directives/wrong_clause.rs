//! `wrong-clause`: see its page.

use analysis::FaultKind;

use crate::lints::{Find, Lint};
use crate::{regions, Severity};

pub(super) const LINT: Lint = Lint {
    code: "wrong-clause",
    severity: Severity::Error,
    summary: "A clause of an OpenMP directive says something else of a variable than the statements do.",
    page: include_str!("../../../../../../docs/codes/wrong-clause.md"),
    find: Find::Function(|place| regions::said(place, is_mine)),
    fixes: &[],
};

fn is_mine(kind: &FaultKind) -> bool {
    matches!(kind, FaultKind::Unset { .. } | FaultKind::Lost { .. } | FaultKind::Combined { .. })
}
