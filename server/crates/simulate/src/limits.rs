//! How far this room goes in one thing before it says that it stops there: each limit with its reason, by the file that keeps it.

/// Of `compile`.
pub(crate) mod compile {
    /// Deepest nesting of terms followed; deeper is "not supported" (the compiler is recursive, its stack is not endless).
    pub(crate) const MAX_DEPTH: u32 = 200;
}

/// Of `compile::stand_in`.
pub(crate) mod compile_stand_in {
    /// Bytes given by a function that gives memory and takes no number.
    pub(crate) const ROOM: u64 = 1 << 16;
}

/// Of `grid`.
pub(crate) mod grid {
    /// Findings listed at most, races aside.
    pub(crate) const MAX_FINDINGS: usize = 100;
}

/// Of `ledger`.
pub(crate) mod ledger {
    /// Bytes of arrays that take part in transfers and are followed, on both sides: each takes 21 more.
    pub(crate) const MOST_BYTES: u64 = 4 << 20;
    /// Stale reads listed at most, each of another array or place.
    pub(crate) const MOST_STALE: usize = 20;
}

/// Of `lockstep`.
pub(crate) mod lockstep {
    /// Steps that a warp may make divided before the lanes behind get a chance: one of them may be waited for.
    pub(crate) const PATIENCE: u32 = 1 << 17;
    /// Steps they then have.
    pub(crate) const CHANCE: u32 = 1 << 10;
}

/// Of `memory`.
pub(crate) mod memory {
    /// Dead objects kept unused for this long, so that dangling pointers are seen.
    pub(crate) const QUARANTINE: usize = 4096;
}

/// Of `race`.
pub(crate) mod race {
    /// Races listed at most, of one object.
    pub(crate) const MAX_FOUND: usize = 100;
}

/// Of `trace`.
pub(crate) mod trace {
    /// Elements of an index that are kept.
    pub(crate) const INDEX_LIMIT: usize = 4096;
}
