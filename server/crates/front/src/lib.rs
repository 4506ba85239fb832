//! Source text → terms: C and CUDA today, C# to come.
//!
//! The text is cut into items (functions, declarations), each item is preprocessed (macros, conditionals) into a token
//! stream that remembers where every token stands in the text, parsed by tree-sitter on its own, and lowered to a
//! [`term::Body`] with spans relative to the item. An edit inside one item therefore costs that item alone.
//!
//! Deliberately absent: any judgement of what a loop may do, reading of included files, and every tree-sitter type
//! (none leaves this crate).
#![forbid(unsafe_code)]

mod api;
mod c;
mod cut;
mod lex;
mod marks;
mod pp;
mod unit;

pub use api::{
    detect, item_at, loop_header_span, term_at, Directive, DirectiveKind, Edit, Item, ItemKind, Language,
    Options, Parsed, Unit,
};
pub use unit::{lower, Memo};
