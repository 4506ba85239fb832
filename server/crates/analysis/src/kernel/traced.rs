//! What is exactly known of a launch that was followed: what its warps ask of memory, how they decide branches, where they wait.
//!
//! Deliberately absent: how it is found out ([`super::trace`]).

use std::collections::BTreeMap;

use rustc_hash::{FxHashMap, FxHashSet};
use term::{SymbolId, TermId};

use super::collect::AccessKind;
use super::requests::Requests;
use super::Split;

/// Where a warp passes a barrier.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct BarrierCount {
    /// Times it opens, all blocks together.
    pub opened: u64,
    /// Threads that wait, and those of them that touched no memory since the barrier before.
    pub threads: u64,
    /// `None`: whether threads touched memory is not always known.
    pub idle: Option<u64>,
}

/// What is exactly known.
#[derive(Default)]
pub(super) struct Traced {
    pub(super) accesses: FxHashMap<(TermId, AccessKind), Requests>,
    pub(super) branches: FxHashMap<TermId, BTreeMap<(u32, u32), u64>>,
    pub(super) packed: FxHashMap<TermId, u64>,
    pub(super) barriers: FxHashMap<TermId, BarrierCount>,
    /// Two threads that decide differently, or of which one does not come to the barrier.
    pub(super) parted: FxHashMap<TermId, Split>,
    /// The object that an access through a pointer reaches; `None`: several.
    pub(super) objects: FxHashMap<TermId, Option<SymbolId>>,
    /// Terms of which nothing is known.
    pub(super) spoiled: FxHashSet<TermId>,
    /// Accesses with an offset that is not known.
    pub(super) open: FxHashSet<(TermId, AccessKind)>,
}

impl Traced {
    /// All requests of an access; `None`: they are not known.
    pub(super) fn requests(&self, place: TermId, kind: AccessKind) -> Option<Requests> {
        if self.spoiled.contains(&place) || self.open.contains(&(place, kind)) {
            return None;
        }
        let seen = self.accesses.get(&(place, kind)).cloned().unwrap_or_default();
        Some(Requests { exact: true, ..seen })
    }
    pub(super) fn lanes(&self, branch: TermId) -> Option<BTreeMap<(u32, u32), u64>> {
        let known = !self.spoiled.contains(&branch);
        known.then(|| self.branches.get(&branch).cloned().unwrap_or_default())
    }
    /// Warps that the lanes would fill for which a branch holds.
    pub(super) fn packed(&self, branch: TermId) -> u64 {
        self.packed.get(&branch).copied().unwrap_or(0)
    }
    pub(super) fn barrier(&self, barrier: TermId) -> Option<BarrierCount> {
        let known = !self.spoiled.contains(&barrier);
        let none = BarrierCount { idle: Some(0), ..BarrierCount::default() };
        known.then(|| self.barriers.get(&barrier).cloned().unwrap_or(none))
    }
}
