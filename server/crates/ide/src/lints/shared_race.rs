//! `shared-race`: two threads of a block touch one place of shared memory, one of them writing, with nothing between them.

use super::{Find, Lint};
use crate::kernels::races;
use crate::Severity;

pub(super) const LINT: Lint = Lint {
    code: "shared-race",
    severity: Severity::Error,
    summary: "Two threads touch one place of shared memory without order.",
    page: include_str!("../../../../../docs/codes/shared-race.md"),
    find: Find::Document(|ask| races(ask, true)),
};
