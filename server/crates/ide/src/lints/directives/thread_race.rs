//! `thread-race`: see its page.

use analysis::FaultKind;

use crate::lints::{Find, Lint};
use crate::{regions, Severity};

pub(super) const LINT: Lint = Lint {
    code: "thread-race",
    severity: Severity::Error,
    summary: "Threads of an OpenMP region write a variable that they share, with nothing that orders them.",
    page: include_str!("../../../../../../docs/codes/thread-race.md"),
    find: Find::Function(|place| regions::said(place, is_mine)),
    fixes: &[],
};

fn is_mine(kind: &FaultKind) -> bool {
    matches!(kind, FaultKind::Race { .. })
}
