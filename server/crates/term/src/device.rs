//! What a device gives its programs: indices of threads, barriers, atomics, fences, what the lanes of a warp do together.
//!
//! A [`Word`] is the meaning; how a vendor spells it is a row of the room `gpu`. Front ends resolve spellings once, when text is
//! read: a symbol of a body carries the word that it stands for (see [`crate::Symbol::device`]), and everybody after that asks
//! the symbol. A *warp* is the threads that a device runs in step, whatever its vendor calls them; how many lanes it has is
//! a row's, too.
//!
//! Deliberately absent: spellings, limits, vendors, what a host calls.

use crate::{Body, Op, Storage, TermId};

/// A variable with a part for each axis.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Index {
    /// Which thread of its block this is.
    Thread,
    /// Which block of its grid.
    Block,
    /// Threads of a block.
    BlockSize,
    /// Blocks of the grid.
    GridSize,
}

/// Among which threads an operation is one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Scope {
    Warp,
    Block,
    Device,
    /// The host and other devices too.
    System,
}

/// What a barrier tells those who waited of their predicates.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Tally {
    Nothing,
    /// For how many it holds.
    Count,
    /// Whether it holds for all.
    And,
    /// Whether it holds for one.
    Or,
}

/// What is done to a cell in one piece; the old value is the result.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum AtomicOp {
    Add,
    Sub,
    /// Another value in its place.
    Exchange,
    Min,
    Max,
    /// Up to a bound, then 0.
    Increment,
    /// Down from a bound.
    Decrement,
    /// Another value in its place if it is the expected one.
    CompareExchange,
    And,
    Or,
    Xor,
}

/// From which lane a value comes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Shuffle {
    /// The lane that is named.
    From,
    /// So many below.
    Up,
    /// So many above.
    Down,
    /// The own number with bits turned.
    Xor,
}

/// What the lanes of a warp tell each other of their predicates.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Vote {
    /// A bit a lane.
    Ballot,
    Any,
    All,
}

/// Something a device gives its programs by a name.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Word {
    Index(Index),
    /// How many lanes a warp has, as a value.
    Lanes,
    /// Threads of the scope (a block's, or those of a warp that a mask names) wait for one another.
    Barrier(Scope, Tally),
    Shuffle(Shuffle),
    Vote(Vote),
    /// What the values of a warp's lanes come to together; each gets it.
    Reduce(AtomicOp),
    /// Which lanes have the same value, a bit a lane.
    Match,
    /// Another operation that the lanes of a warp do together.
    OfLanes,
    /// Which lanes are here; no lane waits for another.
    ActiveLanes,
    /// Writes before it are seen, by threads of the scope, before those behind it.
    Fence(Scope),
    /// An atomic operation; `None`: one whose effect is not known here, on the cell that its first argument points to.
    Atomic(Option<AtomicOp>, Scope),
    /// A load from memory that nothing writes meanwhile.
    ReadOnlyLoad,
}

impl Word {
    /// A barrier of the whole block.
    pub fn is_block_barrier(self) -> bool {
        matches!(self, Word::Barrier(Scope::Block, _))
    }
    /// What threads of a block or warp do together: whoever is meant and does not come is waited for.
    pub fn is_of_threads(self) -> bool {
        matches!(self, Word::Barrier(..) | Word::Shuffle(_) | Word::Vote(_) | Word::OfLanes) || self.gathers()
    }
    /// Lanes tell one another values, and touch no memory for it.
    pub fn gathers(self) -> bool {
        matches!(self, Word::Reduce(_) | Word::Match)
    }
    /// An atomic operation.
    pub fn is_atomic(self) -> bool {
        matches!(self, Word::Atomic(..))
    }
    /// Whether it only waits or orders, and has no value.
    pub fn only_waits(self) -> bool {
        matches!(self, Word::Barrier(_, Tally::Nothing) | Word::Fence(_))
    }
}

/// The axis that a part of an index variable is along: `x` is 0.
pub fn axis(field: &str) -> Option<usize> {
    ["x", "y", "z"].iter().position(|f| *f == field)
}

impl Body {
    /// The device's word that a use of a name is. Functions of the program hide it: whoever follows calls looks for those first.
    pub fn word(&self, t: TermId) -> Option<Word> {
        match self.op(t) {
            Op::Sym(s) => self.symbols[*s].device,
            _ => None,
        }
    }
    /// The word that a call calls.
    pub fn called_word(&self, call: TermId) -> Option<Word> {
        match (self.op(call), self.args(call)) {
            (Op::Call, &[callee, ..]) => self.word(callee),
            _ => None,
        }
    }
    /// The index variable that a use of a name is.
    pub fn index_variable(&self, t: TermId) -> Option<Index> {
        match self.word(t) {
            Some(Word::Index(index)) => Some(index),
            _ => None,
        }
    }
    /// An index variable's part along an axis, as `a.x` writes it.
    pub fn index_part(&self, t: TermId) -> Option<(Index, usize)> {
        match (self.op(t), self.args(t)) {
            (Op::Member { field, arrow: false }, &[base]) => Some((self.index_variable(base)?, axis(field)?)),
            _ => None,
        }
    }
    /// Whether the index variable is used under a term.
    pub fn uses_index(&self, root: TermId, index: Index) -> bool {
        self.walk(root).any(|t| self.index_variable(t) == Some(index))
    }
}

impl crate::BodyBuilder {
    /// Gives symbols that name what the device provides their words. To be called by whoever reads text, once.
    pub fn resolve_words(&mut self, word: impl Fn(&str) -> Option<Word>) {
        for s in self.symbols.iter_mut() {
            let is_value = |w: &Word| matches!(w, Word::Index(_) | Word::Lanes);
            s.device = match s.storage {
                Storage::Builtin => word(&s.name),
                Storage::Function | Storage::Undeclared => word(&s.name).filter(|w| !is_value(w)),
                _ => None,
            };
        }
    }
}
