//! Loop nests out of terms, and what can be proved of them.
//!
//! [`analyze`] gives the [`Facts`] of one body; [`offload`] adds, for one loop and on demand, what a kernel needs.
//! Deliberately absent: sentences for users (`ide` words the facts) and any look at the text.
#![forbid(unsafe_code)]

mod facts;

pub use facts::*;
