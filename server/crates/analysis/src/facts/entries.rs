//! What a run of a function begins with: told of the run that has shown a witness.

use std::sync::Arc;

use term::SymbolId;

/// A scalar that was there when a function began.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Entry {
    pub owner: EntryOwner,
    /// Bytes from the owner's beginning, or from where the pointer points; of a bit-field, bits.
    pub offset: i64,
    /// Bytes; 0 of a bit-field.
    pub size: u32,
    /// Of a bit-field its width.
    pub bits: u32,
    pub value: EntryValue,
}

/// Whose memory it is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum EntryOwner {
    /// A parameter.
    Parameter(SymbolId),
    Global(Arc<str>),
    /// What the pointer points to that is the entry of this position.
    Behind(u32),
    /// Static variables of functions, and what functions that are only declared return and leave.
    Other,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EntryValue {
    Int(i128),
    /// The bits of an `f64`.
    Real(u64),
    Null,
    /// A pointer to memory of its own.
    Apart,
    /// So many bytes into what the pointer points to that is the entry of this position.
    Into(u32, i64),
    /// A pointer to something else.
    Other,
}
