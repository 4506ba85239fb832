//! What statements do and in which order: which loops count, what is read and written, what lives on.

pub(crate) mod called;
pub(crate) mod counted_loop;
pub(crate) mod effects;
pub(crate) mod ends;
pub(crate) mod fresh;
pub(crate) mod given;
pub(crate) mod library;
pub(crate) mod liveness;
pub(crate) mod owned;
pub(crate) mod parts;
pub(crate) mod terms;
