//! Which accesses may touch the same memory: what pointers point to.

pub(crate) mod bases;
pub(crate) mod row_tables;
