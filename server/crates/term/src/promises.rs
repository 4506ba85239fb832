//! What the user promises of a program beyond its text. Promises stand aside of the terms: a program means the same without
//! them. What follows from one, and whether it holds, is for others.

use std::sync::Arc;

use crate::{Body, SymbolId, TermId};

/// A promise. Its expressions are terms of the body that stand nowhere in the tree.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Promise {
    /// The loop it is given for, and those in it; `None`: all of the function.
    pub of: Option<TermId>,
    /// Which of the promises that stand before that place, in textual order from 0.
    pub number: u32,
    pub says: Promised,
}

/// What is promised while the loop runs. Arrays are expressions of array or pointer type.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Promised {
    /// The array has elements 0 to `length - 1`.
    Size { array: TermId, length: TermId },
    /// No two pointers of the table that the loop follows show memory that overlaps.
    DistinctRows(TermId),
    /// No two elements of the array that the loop reads are equal.
    Injective(TermId),
    /// Each element of the array that the loop reads is at least `low` and less than `high`.
    InRange { array: TermId, low: TermId, high: TermId },
    /// What the loop touches through the one is apart from what it touches through the other.
    NoAlias(TermId, TermId),
    /// The function reads and writes no memory.
    Pure(SymbolId),
    /// It was not understood: why, and what to write.
    Not(Arc<str>),
}

impl Promised {
    /// Its expressions.
    pub fn terms(&self) -> impl Iterator<Item = TermId> {
        let all = match *self {
            Promised::Size { array, length } => [Some(array), Some(length), None],
            Promised::DistinctRows(array) | Promised::Injective(array) => [Some(array), None, None],
            Promised::InRange { array, low, high } => [Some(array), Some(low), Some(high)],
            Promised::NoAlias(a, b) => [Some(a), Some(b), None],
            Promised::Pure(_) | Promised::Not(_) => [None, None, None],
        };
        all.into_iter().flatten()
    }
}

impl Body {
    /// The promises that count for a loop, by number in [`crate::Said::promises`]: its own, those of loops around it, and those
    /// of the function.
    pub fn promises(&self, of: TermId) -> impl Iterator<Item = (usize, &Promise)> {
        let counts =
            move |(_, p): &(usize, &Promise)| p.of.is_none_or(|l| l == of || self.walk(l).any(|t| t == of));
        self.said.promises.iter().enumerate().filter(counts)
    }

    /// The variable, or the path, that an expression of array or pointer type is; expressions of promises stand nowhere in the
    /// tree, so paths are found by what they say.
    pub fn array_symbol(&self, array: TermId) -> Option<SymbolId> {
        if let Some(s) = self.as_symbol(array) {
            return Some(s);
        }
        let same = |&t: &TermId| self.path_of(t).is_some() && self.same(t, array);
        self.walk(self.root).find(same).and_then(|t| self.path_of(t)).map(|p| p.own)
    }
}
