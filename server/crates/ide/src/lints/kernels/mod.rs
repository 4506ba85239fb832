//! Lints of kernels: they find in the facts of kernels, which whoever is asked remembers.

mod bank_conflict;
mod constant_divergence;
mod constant_write;
mod divergent_barrier;
mod divergent_branch;
mod global_race;
mod index_overflow;
mod local_array;
mod missing_atomic;
mod missing_fence;
mod missing_restrict;
mod out_of_range;
mod redundant_barrier;
mod shared_race;
mod strided_access;
mod target_mismatch;
mod unknown_kernel;

use crate::lints::Lint;

/// Sorted by code.
pub(super) const LINTS: &[Lint] = &[
    bank_conflict::LINT,
    constant_divergence::LINT,
    constant_write::LINT,
    divergent_barrier::LINT,
    divergent_branch::LINT,
    global_race::LINT,
    index_overflow::LINT,
    local_array::LINT,
    missing_atomic::LINT,
    missing_fence::LINT,
    missing_restrict::LINT,
    out_of_range::LINT,
    redundant_barrier::LINT,
    shared_race::LINT,
    strided_access::LINT,
    target_mismatch::LINT,
    unknown_kernel::LINT,
];
