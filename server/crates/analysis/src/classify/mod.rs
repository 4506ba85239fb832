//! What the scalars and arrays that a loop carries are: private, reductions, extremes, recurrences.

pub(crate) mod cells;
pub(crate) mod coverage;
pub(crate) mod exposed_read;
pub(crate) mod extremes;
pub(crate) mod privatize;
pub(crate) mod recurrences;
pub(crate) mod reductions;
pub(crate) mod scalars;
