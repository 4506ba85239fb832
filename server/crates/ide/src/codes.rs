//! The codes of findings and their pages.

use crate::lints::{lint, lints};
use crate::Severity;

/// A code of a finding.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Code {
    /// Kebab-case.
    pub code: &'static str,
    /// Severity where settings say nothing.
    pub severity: Severity,
    /// One line.
    pub summary: &'static str,
}

/// All codes, sorted.
pub fn codes() -> impl Iterator<Item = Code> {
    let mut all: Vec<Code> =
        lints().map(|l| Code { code: l.code, severity: l.severity, summary: l.summary }).collect();
    all.sort_by_key(|c| c.code);
    all.into_iter()
}

/// The page of a code, in Markdown: what it means, why it matters, an example, what to do. `None`: no such code.
pub fn explain(code: &str) -> Option<&'static str> {
    lint(code).map(|l| l.page)
}
