//! Programs as terms `f(t1, …, tn)` (F1.1): what every room between the parser and the printer speaks.
//!
//! A [`Body`] holds one function (or a stretch of file-level declarations) as a tree of [`Term`]s with types, symbols
//! and, aside, spans and rejects. It is self-contained: no id of one body means anything in another. Spans are relative
//! to the body's first byte, so a body does not change when text above it does.
//!
//! What a device provides stands in [`device`], without its spellings.
//!
//! Deliberately absent: any source language, any GPU vendor, any diagnostic. What differs between languages and
//! matters for meaning is in [`Semantics`].
#![forbid(unsafe_code)]

mod body;
mod constant;
pub mod device;
mod directives;
mod gaps;
mod hash;
mod intrinsics;
mod kept;
mod layout;
mod leaving;
mod limits;
mod offloaded;
mod ops;
mod paths;
mod promises;
mod round_ends;
mod semantics;
mod symbols;
mod types;
mod views;

pub mod notation;
pub mod strength;

pub use body::{
    ArrayLength, Body, BodyBuilder, Held, LoopParts, Origin, Reach, Reject, RejectId, RejectKind, Said, Term,
    TermId, POSITION_OF,
};
pub use directives::{Clause, Combiner, Construct, Directive, Named, Sharing};
pub use intrinsics::{intrinsic, is_correctly_rounded, of_dotnet, only_computes, Intrinsic};
pub use layout::{AlignedForm, Layout, Member, Placing, RecordPlacing};
pub use offloaded::{stands_for_a_loop, HOST_CLASS, ON_GPU_METHOD};
pub use ops::{BinOp, Op, UnOp, F64};
pub use paths::{Path, RowOfTable};
pub use promises::{Promise, Promised};
pub use semantics::{Arithmetic, NoValue, Overflow, Semantics, ShiftCount};
pub use symbols::{Space, Storage, Symbol, SymbolId};
pub use types::{Field, FloatKind, IntKind, Len, Quals, Record, RecordId, Type, TypeId, TypeKind, Types};
