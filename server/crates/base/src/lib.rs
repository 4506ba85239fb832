//! What every room may use: typed ids, vectors indexed by them, spans of bytes, and the budget.
//!
//! Deliberately absent: anything that knows a language, a protocol, a file or a clock.
#![forbid(unsafe_code)]

mod budget;
mod ids;
mod made;
mod numbers;
mod span;

pub use budget::{Budget, CancelToken, Effort, Held, Stop};
pub use ids::{IdVec, IndexId};
pub use made::{Made, Scalar};
pub use numbers::gcd;
pub use span::Span;
