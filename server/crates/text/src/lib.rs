//! Document text: a rope with cheap snapshots, positions as editors count them, and edits as values.
//!
//! The only room that names `ropey`. Offsets are UTF-8 bytes ([`base::Span`]); editors' positions are turned into
//! them and back in any of the three encodings of the Language Server Protocol (LSP 3.17, "Position" and
//! "TextDocuments").
//!
//! Deliberately absent: every language, every protocol type, files and their encodings, versions of documents.
#![forbid(unsafe_code)]

mod change;
mod edit;
mod hash;
mod lines;
mod position;
mod text;
mod unchanged;

pub use base::Span;
pub use change::{Applied, Point, TextEditPoints};
pub use edit::{Edit, EditError, EditSet, LspEdit, MappedSpan, Side};
pub use hash::ContentHash;
pub use lines::LineIndex;
pub use position::{Position, PositionEncoding, PositionRange};
pub use text::{LineEnding, Text, TextError, MAX_BYTES};
pub use unchanged::{difference, Unchanged};
