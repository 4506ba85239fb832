//! Terms to text: the one printer of expressions, over whatever holds them (bodies, the trees of rules), in the words of a
//! dialect.
//!
//! A [`Source`] says what heads a node, which parts it has, and what it writes in words of its own: names, numbers, types,
//! the user's own characters. Operators, their order and their parentheses are the same for everyone: they are written here,
//! by the one table of strengths (`term::strength`, which lies in `term` because loaded paths are named there by their text).
//!
//! Deliberately absent: statements (rules keep the user's layout, kernels have one of their own) and any question whether a
//! text may be written at all.
#![forbid(unsafe_code)]

mod dialect;
mod expression;

pub use dialect::{float, integer, Dialect, C, CPP, CSHARP};
pub use expression::{expression, prefix, spelled, sum, Source};
