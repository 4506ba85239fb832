//! Polynomials over the variables of a nest, and what is proved of them.

pub(crate) mod bounds;
pub(crate) mod poly;
pub(crate) mod project;
