//! What Warpwright tells other programs: the JSON of `--format json` and of the editor's custom requests and commands, as
//! types from which its schema and `docs/contract.md` are made.
//!
//! Lines and columns are 1-based and columns count UTF-8 bytes, except in what editors send and are sent, where they are
//! LSP's. Deliberately absent: how any of it came about. Whoever fills these in is in the shell (`server/src/contract`).
#![forbid(unsafe_code)]

mod analyze;
mod bench;
mod editor;
mod kernels;
mod page;
mod profile;
mod rewriting;
mod running;
mod showing;
mod simulate;

pub use analyze::*;
pub use bench::*;
pub use editor::*;
pub use kernels::*;
pub use page::{answers, page, schema, Answer, Asker};
pub use profile::*;
pub use rewriting::*;
pub use running::*;
pub use showing::*;
pub use simulate::*;

/// The version that every answer of the command line carries and the server announces. It changes when a field goes away
/// or means something else; new fields leave it as it is.
pub const VERSION: u32 = 1;
