//! Lines of generated text that remember which term they come from.

use base::Span;
use term::{Body, TermId};

/// A line of a generated file and the place of what it was printed from: in the function, of a call of the function it came with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LineOrigin {
    /// 1-based.
    pub line: u32,
    pub span: Span,
}

/// Text under construction.
pub(crate) struct Lines {
    text: String,
    line: u32,
    unit: String,
    depth: usize,
    origins: Vec<(u32, TermId)>,
}

impl Lines {
    pub(crate) fn new(unit: &str) -> Lines {
        Lines { text: String::new(), line: 1, unit: unit.to_string(), depth: 0, origins: Vec::new() }
    }
    pub(crate) fn indent(&mut self) {
        self.depth += 1;
    }
    pub(crate) fn dedent(&mut self) {
        self.depth = self.depth.saturating_sub(1);
    }
    /// One line, or several separated by `\n`, at the present depth.
    pub(crate) fn line(&mut self, text: &str) {
        for part in text.split('\n') {
            if !part.is_empty() {
                for _ in 0..self.depth {
                    self.text.push_str(&self.unit);
                }
                self.text.push_str(part);
            }
            self.text.push('\n');
            self.line += 1;
        }
    }
    /// A line that comes from a term.
    pub(crate) fn from(&mut self, term: TermId, text: &str) {
        self.origins.push((self.line, term));
        self.line(text);
    }
    /// Where its lines come from.
    pub(crate) fn origins(&self, body: &Body) -> Vec<LineOrigin> {
        self.origins.iter().map(|&(line, t)| LineOrigin { line, span: body.span(t) }).collect()
    }
    /// A line without indentation, such as a preprocessor directive.
    pub(crate) fn flush_left(&mut self, text: &str) {
        self.text.push_str(text);
        self.text.push('\n');
        self.line += 1;
    }
    pub(crate) fn open(&mut self, text: &str) {
        self.line(text);
        self.indent();
    }
    pub(crate) fn close(&mut self, text: &str) {
        self.dedent();
        self.line(text);
    }
    pub(crate) fn into_text(self) -> String {
        self.text
    }
}
