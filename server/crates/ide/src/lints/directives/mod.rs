//! Lints of what stands beside the code: marks, suppressions, OpenMP directives.

mod bad_directive;
mod bad_mark;
mod bad_promise;
pub(crate) mod missing_header;
mod refuted_promise;
mod thread_dependence;
mod thread_race;
pub(super) mod unused_ignore;
mod unused_promise;
mod wrong_clause;

use crate::lints::Lint;

/// Sorted by code.
pub(super) const LINTS: &[Lint] = &[
    bad_directive::LINT,
    bad_mark::LINT,
    bad_promise::LINT,
    missing_header::LINT,
    refuted_promise::LINT,
    thread_dependence::LINT,
    thread_race::LINT,
    unused_ignore::LINT,
    unused_promise::LINT,
    wrong_clause::LINT,
];
