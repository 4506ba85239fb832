//! `bad-directive`: see its page.

use analysis::FaultKind;

use crate::lints::{Find, Lint};
use crate::{regions, Severity};

pub(super) const LINT: Lint = Lint {
    code: "bad-directive",
    severity: Severity::Error,
    summary: "An OpenMP directive that compilers refuse: it fits no loop, or lists too few variables.",
    page: include_str!("../../../../../../docs/codes/bad-directive.md"),
    find: Find::Function(|place| regions::said(place, is_mine)),
    fixes: &[],
};

fn is_mine(kind: &FaultKind) -> bool {
    matches!(
        kind,
        FaultKind::NotALoop | FaultKind::TooFewLoops { .. } | FaultKind::Left | FaultKind::Unlisted { .. }
    )
}
