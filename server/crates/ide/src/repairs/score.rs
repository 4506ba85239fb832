//! Kernels held against each other: a repair must make one better in some respect, and worse in none.

use analysis::{BarrierVerdict, KernelFacts, RaceVerdict};

/// How many of each fault.
pub(super) struct Score([u64; 14]);

impl Score {
    pub fn of(f: &KernelFacts) -> Score {
        let races = match &f.races {
            RaceVerdict::Race(list) => list.len() as u64,
            _ => 0,
        };
        let barriers = |wanted: fn(&BarrierVerdict) -> bool| {
            f.barriers.iter().filter(|b| wanted(&b.verdict)).count() as u64
        };
        let excess = f
            .accesses
            .iter()
            .filter(|a| a.space == term::Space::Shared)
            .filter_map(|a| Some(a.requests.as_ref()?.ways.saturating_sub((a.bytes / 4).max(1))));
        Score([
            races,
            barriers(|v| matches!(v, BarrierVerdict::Divergent(_))),
            barriers(|v| matches!(v, BarrierVerdict::Unknown(_))),
            f.out_of_range.iter().flatten().count() as u64,
            f.lost_updates.len() as u64,
            f.missing_fences.len() as u64,
            f.barriers.iter().filter(|b| b.redundant == Some(true)).count() as u64,
            excess.sum(),
            f.accesses
                .iter()
                .filter(|a| a.space == term::Space::Constant)
                .filter_map(|a| Some(a.requests.as_ref()?.conflicts))
                .sum(),
            f.accesses
                .iter()
                .filter(|a| a.space == term::Space::Global)
                .filter_map(|a| a.requests.as_ref())
                .map(|r| r.sectors.saturating_sub(r.ideal))
                .sum(),
            f.reloads.len() as u64,
            f.divided.len() as u64,
            f.overflows.len() as u64,
            f.local_arrays.len() as u64,
        ])
    }
    pub fn is_no_worse(&self, old: &Score) -> bool {
        self.0.iter().zip(&old.0).all(|(n, o)| n <= o)
    }
    pub fn is_better(&self, old: &Score) -> bool {
        let pairs = || self.0.iter().zip(&old.0);
        pairs().all(|(n, o)| n <= o) && pairs().any(|(n, o)| n < o)
    }
}
