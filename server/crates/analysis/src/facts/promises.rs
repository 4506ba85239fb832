//! What becomes of the promises that count for a loop.

use term::TermId;

/// What became of a promise.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PromiseFacts {
    /// Its number in [`term::Said::promises`].
    pub number: usize,
    pub fate: PromiseFate,
}

/// See [`PromiseFacts`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PromiseFate {
    /// What is said of the loop, or would be copied for it, rests on it.
    Used,
    /// Nothing does.
    Unused,
    /// It does not hold: the two places meet in a cell, in the iterations that a dependence of the loop shows.
    Meet { source: TermId, sink: TermId },
    /// It does not hold: the array is declared with so many elements.
    Declared(u64),
    /// It does not hold: what the function does is known.
    NotPure,
}
