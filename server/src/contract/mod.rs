//! The JSON of answers, made of what `ide` found: one home for the command line and the editor's commands. Lines and
//! columns are 1-based; columns count UTF-8 bytes.

mod analyze;
mod verify;

pub use analyze::{json, loop_value};
pub use verify::{sentence, verify_value};

use std::path::PathBuf;

use text::PositionEncoding;

/// What was found in a file.
pub struct FileReport {
    pub path: PathBuf,
    pub doc: ide::Doc,
    /// What its findings were asked with.
    pub ask: ide::Ask,
    pub findings: ide::Findings,
}

impl FileReport {
    /// As it was named.
    pub fn path(&self) -> String {
        self.path.to_string_lossy().into_owned()
    }

    /// 1-based begin and end of a finding.
    pub fn place(&self, span: base::Span, encoding: PositionEncoding) -> [u32; 4] {
        let range = self.doc.text().range_of(span, encoding);
        [range.start.line + 1, range.start.character + 1, range.end.line + 1, range.end.character + 1]
    }
}
