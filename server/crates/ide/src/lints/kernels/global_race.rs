//! `global-race`: two threads touch one place of global memory, one of them writing, with nothing between them.

use super::shared_race::{fix, races};
use crate::lints::{Find, Lint};
use crate::Severity;

pub(super) const LINT: Lint = Lint {
    code: "global-race",
    severity: Severity::Error,
    summary: "Two threads touch one place of global memory without order.",
    page: include_str!("../../../../../../docs/codes/global-race.md"),
    find: Find::Document(|ask| races(ask, false)),
    fixes: &[fix],
};
