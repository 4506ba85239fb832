//! From a loop to its kernel and host text: facts → plan → print, then checked again before anybody sees it.
//!
//! The only file here that calls `codegen`.

use base::CancelToken;

use crate::check::Findings;
use crate::{Doc, Memo, WorkspaceEdit};

/// Which loops to offload.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Which {
    /// The loop of this key.
    Key(String),
    /// The outermost loop that begins on this 1-based line.
    Line(u32),
    /// All loops the user marked.
    Marked,
}

/// A rewritten document.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Offloaded {
    /// The edit of the document and the new files.
    pub edit: WorkspaceEdit,
    /// The document's whole text afterwards.
    pub host: String,
    /// Keys of the loops that were offloaded.
    pub loops: Vec<String>,
    /// What the user should know, as sentences: checks made at run time, loops left out and why.
    pub notes: Vec<String>,
}

/// Why nothing was rewritten.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Refused {
    /// There is no such loop in this version of the document.
    Stale,
    /// A sentence for the user.
    Because(String),
    /// Nobody wants it any more.
    Cancelled,
}

/// Rewrites loops into kernels. `findings` are those of this version of the document.
pub fn offload(
    doc: &Doc,
    findings: &Findings,
    memo: &Memo,
    which: &Which,
    cancel: &CancelToken,
) -> Result<Offloaded, Refused> {
    let _ = (doc, findings, memo, which, cancel);
    Err(Refused::Because(
        "This build has no code generator, so the loop was not rewritten.".to_owned(),
    ))
}
