//! Integer sets and relations: a safe, budgeted face on isl 0.27.
//!
//! Values go in and out as plain data ([`Row`], [`Constraint`], [`Disjunct`], [`Expr`], [`Ast`]); no isl type leaves
//! this room. Every function that asks isl runs under a [`base::Budget`], which isl's own counted operations are
//! charged to, and answers with an [`Error`] instead of an abort. [`Set`], [`Map`] and [`Parametric`] belong to the
//! thread that made them (they are not `Send`); plain data crosses threads.
//!
//! ```compile_fail
//! fn send<T: Send>() {}
//! send::<poly::Set>(); // a set cannot leave its thread
//! ```
//!
//! Deliberately absent: loops, spans and names of variables; parsing of isl's notation; counting of parametric sets.
#![deny(unsafe_op_in_unsafe_fn)]
#![deny(missing_docs)]

mod ctx;
mod error;
mod expr;
mod farkas;
mod ffi;
mod flow;
mod limits;
mod linear;
mod map;
mod optima;
mod parametric;
mod scan;
mod set;

pub use error::{Error, Result};
pub use expr::{Comparison, Expr, Remainder, Rounding};
pub use flow::{Access, Dependence, Flow, Flows, Instances};
pub use linear::{Affine, Constraint, Disjunct, Div, Kind, MapSpace, Row, Space};
pub use map::{Map, Pair};
pub use optima::Extent;
pub use parametric::{Parametric, Piece};
pub use scan::{scan, upper_bound, Ast, Shape, Statement};
pub use set::{Point, Set};
