//! Which accesses may touch the same memory: what pointers point to, and how a variable and its parts are related.

pub(crate) mod bases;
pub(crate) mod conditions;
pub(crate) mod fresh;
pub(crate) mod parts;
pub(crate) mod row_tables;
