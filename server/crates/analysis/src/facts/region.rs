//! What a stretch of a function needs to run with its arrays on the device: kernels in place of its parallel nests, its other
//! statements on the host. Deliberately absent: how it is found ([`crate::region`]), and which kernels there are.

use std::sync::Arc;

use term::{BinOp, IntKind, SymbolId, TermId};

use super::{Buffer, Condition, Expr, LoopId, Obstacle, Rows, Search};

/// Consecutive statements of one block whose parallel nests run as kernels, between which data stays on the device. All that it
/// changes is the function's own variables and the arrays listed, so that until its results are put in place nothing has
/// happened, and the statements themselves can run instead.
#[derive(Clone, Debug)]
pub struct Region {
    pub statements: Vec<TermId>,
    /// The nests that are kernels, in textual order; nothing else in the statements touches arrays.
    pub nests: Vec<LoopId>,
    pub scalars: Vec<RegionScalar>,
    pub arrays: Vec<RegionArray>,
    /// Pointers that the statements assign to one another; each array among them may come to stand under each of the names.
    pub exchanged: Vec<Exchanged>,
    /// What must hold where the statements begin so that parts of arrays are surely used: conditions by value.
    pub conditions: Vec<Condition>,
    pub sure: Vec<Surely>,
    /// Nests that may use more of an array than is there: that has to be tested before each.
    pub tested: Vec<(LoopId, SymbolId)>,
    /// Nests before which it has to be tested that a part of a table's rows is there: its number among all of that table.
    pub asked: Vec<(LoopId, SymbolId, usize)>,
    /// Pointers that show a structure whenever the statements run, or whenever a loop among them does.
    pub shown: Vec<SymbolId>,
    /// Parts of arrays that are found where the statements begin, each with its name ([`crate::Param::End`]) and with how it is found.
    pub found: Vec<(FoundPart, FoundPart)>,
    /// Where control may leave the statements.
    pub left: Option<Left>,
}

/// Variables made for statements that control may leave: they are zero where it does not.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Left {
    /// Which of the ways it took, counted from 1.
    pub flag: SymbolId,
    /// What the function returns, if that is a number.
    pub value: Option<SymbolId>,
    pub ways: Vec<Way>,
}

/// Where the function goes on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Way {
    Return,
    /// At a label.
    Goto(Arc<str>),
}

/// A part of an array that a nest uses and only a search finds, whatever has run of the region before.
#[derive(Clone, PartialEq, Debug)]
pub struct FoundPart {
    pub nest: LoopId,
    pub array: SymbolId,
    pub search: Search,
}

/// A variable of the function that the statements use and do not declare.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RegionScalar {
    pub symbol: SymbolId,
    /// Whether the value from before counts.
    pub begins: bool,
    /// Whether the statements set it.
    pub set: bool,
    /// Whether it is set and may be read afterwards.
    pub kept: bool,
}

/// A pointer that the statements assign.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Exchanged {
    pub symbol: SymbolId,
    /// Whether it is declared among the statements.
    pub declared: bool,
    /// Whether it may be read afterwards.
    pub kept: bool,
}

/// An array that kernels use.
#[derive(Clone, PartialEq, Debug)]
pub struct RegionArray {
    /// The part that the statements surely use as a whole, and what they do with it. `wholly_written`: every element is
    /// written before anything of it is read.
    pub buffer: Buffer,
    /// Whether anybody can look at it afterwards.
    pub kept: bool,
    /// Whether it is declared in the statements: then the host has none.
    pub own: bool,
    /// Whether nothing of it is brought before a nest uses it, because the first that names it writes all that it uses: every
    /// nest that uses it is then among those that are `tested`.
    pub late: bool,
    /// Of rows that a table shows: what the statements touch, one or several times. Those of the buffer have room for all.
    pub parts: Vec<RegionRows>,
    /// First and last element that any of the statements may write, where these can be told where they begin.
    pub writes: Option<(Expr, Expr)>,
}

/// Rows of a table that some nest touches.
#[derive(Clone, PartialEq, Debug)]
pub struct RegionRows {
    pub rows: Rows,
    /// Whether they are surely touched. Otherwise they are not followed until a run has come to the nest that touches them.
    pub is_sure: bool,
}

/// What makes sure that a part of the statements runs.
#[derive(Clone, PartialEq, Debug)]
pub enum Surely {
    /// An expression is positive.
    Positive(Expr),
    /// A loop's condition holds where the statements begin.
    Holds(TermId),
    /// `lower + offset RELATION bound`, for a loop's first test; no bound: zero. The first value has the index's type.
    Compared { relation: BinOp, lower: TermId, kind: IntKind, offset: i128, bound: Option<TermId> },
}

/// Why there is no such region.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RegionTrouble {
    pub kind: RegionTroubleKind,
    pub term: TermId,
}

/// What stands in the way.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RegionTroubleKind {
    /// No nest in it is a kernel.
    NoNest,
    /// A place that was not understood.
    NotUnderstood,
    /// The host reads memory that kernels may have written, or that is not there.
    HostReads(Option<SymbolId>),
    /// The host writes memory.
    HostWrites(Option<SymbolId>),
    /// A call that does more than compute a number; the function, if it has a name.
    Call(Option<SymbolId>),
    /// Control leaves the statements before their end.
    Leaves,
    /// A statement of another kind.
    Statement,
    /// A variable that others can reach is set.
    Reachable(SymbolId),
    /// A variable that may hold no value yet would be handed on.
    Unset(SymbolId),
    /// A pointer is made from more than other pointers of the region.
    Pointer(SymbolId),
    /// A variable is declared that statements behind these may use.
    DeclaresFor(SymbolId),
    /// An array of the host's that is declared among the statements.
    DeclaredInside(SymbolId),
    /// It is not known which part of the array the statements surely use.
    Part(SymbolId),
    /// It is told by a number that lies in memory, which the statements leave alone as far as they name it.
    PartToldBy(SymbolId, TermId),
    /// Which rows of a table of pointers are touched is not known where the statements begin.
    Rows(SymbolId),
    /// An obstacle of the analysis.
    Obstacle(Obstacle),
}
