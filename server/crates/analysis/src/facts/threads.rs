//! How a nest's statements can be spread over threads that need no synchronisation (see `threadmap`).

use term::{SymbolId, TermId};

use super::{Condition, Expr};

pub use poly::{Comparison, Expr as ThreadValue, Remainder, Rounding};

/// How the instances of a nest's statements are spread over threads that need no synchronisation.
#[derive(Clone, PartialEq, Debug)]
pub struct ThreadMap {
    /// Coordinates of a thread, 1 to 3.
    pub dimension: u32,
    /// In textual order: the first is called S1.
    pub statements: Vec<StatementMap>,
    /// Per coordinate the number of its ids, which begin at 0: threads are as many as their product.
    pub extents: Vec<Expr>,
    /// What the map rests on besides proofs.
    pub conditions: Vec<Condition>,
}

/// Where the instances of one statement run.
#[derive(Clone, PartialEq, Debug)]
pub struct StatementMap {
    pub term: TermId,
    /// Per coordinate the id, in the indices of the loops around the statement (as [`Param::Symbol`]) and what is fixed.
    pub coordinates: Vec<Expr>,
}

/// The code of one thread.
#[derive(Clone, PartialEq, Debug)]
pub struct ThreadCode {
    /// Values the host passes. In the code [`ThreadValue::Param`] is one of them, or, from `params.len()` on, a
    /// coordinate of the thread's id; [`ThreadValue::Iter`] is a counter of a loop around.
    pub params: Vec<Expr>,
    /// Coordinates of the id.
    pub ids: usize,
    pub code: Scan,
}

/// Loops over instances.
#[derive(Clone, PartialEq, Debug)]
pub enum Scan {
    /// `for (counter = first; counter <= last; counter += step)`
    Loop {
        counter: usize,
        first: ThreadValue,
        last: ThreadValue,
        step: i128,
        body: Box<Scan>,
    },
    If {
        condition: ThreadValue,
        then: Box<Scan>,
        otherwise: Option<Box<Scan>>,
    },
    Block(Vec<Scan>),
    /// One instance of a statement: the indices of the loops around it have these values.
    Run {
        term: TermId,
        indices: Vec<(SymbolId, ThreadValue)>,
    },
}
