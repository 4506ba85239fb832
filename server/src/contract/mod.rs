//! What `ide` found, as the contract of `wire` has it: one home for the command line and the editor's commands.
//! Deliberately absent: how any of it is printed or sent.

mod analyze;
mod bench;
mod kernels;
mod rewriting;
mod running;
mod showing;
mod simulate;

use std::path::{Path, PathBuf};

use serde::Serialize;
use text::PositionEncoding;

pub use analyze::{analysis, loop_of};
pub use bench::loop_counts;
pub use rewriting::{applicable, checked_page, severity, systems};
pub use running::{check, counted, offloaded_loop, sentence};
pub use showing::{codes, page};
pub use simulate::kernel_run;
pub use wire::VERSION;

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
        named(&self.path)
    }

    /// 1-based begin and end of a finding.
    pub fn place(&self, span: base::Span, encoding: PositionEncoding) -> [u32; 4] {
        let range = self.doc.text().range_of(span, encoding);
        [range.start.line + 1, range.start.character + 1, range.end.line + 1, range.end.character + 1]
    }
}

/// A path as it was named.
pub fn named(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// An answer as text, a line break behind it.
pub fn pretty(answer: &impl Serialize) -> anyhow::Result<String> {
    Ok(serde_json::to_string_pretty(answer)? + "\n")
}
