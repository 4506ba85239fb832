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

use base::Span;

use crate::kernels::line;
use crate::lints::{Lint, Message};
use crate::words::list;
use crate::{Doc, Severity};

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

/// Lines that are named; of more it is said how many more.
const NAMED: usize = 6;

/// Findings of one cause in a kernel, told at the first of those that weigh most: `also` continues "on lines 3 and 4.".
fn told_once<K: PartialEq>(
    doc: &Doc,
    found: Vec<(K, Span, Message)>,
    default: Severity,
    also: &str,
) -> Vec<(Span, Message)> {
    let weight = |m: &Message| m.severity.unwrap_or(default) != default;
    let mut groups: Vec<(K, Vec<(Span, Message)>)> = Vec::new();
    for (key, span, message) in found {
        match groups.iter_mut().find(|g| g.0 == key) {
            Some((_, all)) => all.push((span, message)),
            None => groups.push((key, vec![(span, message)])),
        }
    }
    let one = |(_, mut all): (K, Vec<(Span, Message)>)| {
        all.sort_by_key(|(span, m)| (weight(m), span.start));
        let lines: Vec<u32> = all.iter().map(|(span, _)| line(doc, *span)).collect();
        let (span, mut message) = all.into_iter().next()?;
        let mut others: Vec<u32> = lines.iter().copied().filter(|l| *l != lines[0]).collect();
        others.sort_unstable();
        others.dedup();
        let more = others.len().saturating_sub(NAMED);
        let mut named: Vec<String> = others.iter().take(NAMED).map(u32::to_string).collect();
        named.extend((more > 0).then(|| format!("{more} more")));
        let s = if named.len() == 1 && more == 0 { "" } else { "s" };
        if !named.is_empty() {
            message.message += &format!(" {also} on line{s} {}.", list(&named));
        }
        Some((span, message))
    };
    groups.into_iter().filter_map(one).collect()
}
