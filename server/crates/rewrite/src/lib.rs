//! Programs rewritten, as edits of the user's text.
//!
//! [`transform`] has the loop transformations, in Rust. [`rules`] has those that are written as pages: rewrite rules
//! (F1.2, F1.3) over terms, whose conditions are proved by the analysis.
#![forbid(unsafe_code)]

mod limits;
pub mod rules;
pub mod transform;
