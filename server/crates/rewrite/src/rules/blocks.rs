//! Blocks that come to stand elsewhere: their text with the comments and marks that were said in them.

use base::Span;
use term::TermId;
use text::Edit;

use super::ctext;
use super::tree::Tree;
use super::write::{Unwritable, Writer};
use crate::transform::text::{line_end, line_start, reindent};

impl<'a> Writer<'a> {
    /// A block as it stood in the text: its braces or its one statement, and the indentation it had.
    pub fn own_block(&self, n: &Tree) -> Option<(String, &'a str)> {
        self.original_of(n)?;
        let span = self.span(n)?;
        let text = self.patched(n, span).ok()?;
        let last = line_start(self.text, span.end.saturating_sub(1) as usize);
        let closes_line = self.text.get(last..).is_some_and(|l| l.trim_start().starts_with('}'));
        let own = if text.starts_with('{') && closes_line {
            self.indent_at(span.end.saturating_sub(1))
        } else {
            self.indent_at(span.start)
        };
        Some((text, own))
    }

    /// The lines above a statement that are comments and pragmas, marks among them, where the block around it was read from the
    /// text too: they stood in the block and go where it goes.
    pub fn said_above(&self, block: &Tree, n: &Tree) -> Vec<&'a str> {
        let (Some(block), Ok(span)) = (self.span(block), self.extent(n)) else { return Vec::new() };
        if !self.is_first_on_line(span.start) {
            return Vec::new();
        }
        let from = (block.start as usize).min(span.start as usize);
        let above = self.text.get(from..line_start(self.text, span.start as usize)).unwrap_or("");
        let said = |l: &&str| {
            l.starts_with("//") || l.starts_with("#pragma") || (l.starts_with("/*") && l.ends_with("*/"))
        };
        let mut lines: Vec<&str> = above.lines().rev().map(str::trim).take_while(said).collect();
        lines.reverse();
        lines
    }

    /// The block at `span` as another one that was read elsewhere: as it stood there, with what is said in it. A comment
    /// behind the opening brace is said of the header, which stays.
    pub(super) fn other_block(&self, old: &Tree, span: Span, new: &Tree) -> Result<Edit, Unwritable> {
        let last = span.end.saturating_sub(1);
        let indent = self.indent_at(if self.is_first_on_line(last) { last } else { span.start });
        let block = match self.own_block(new).filter(|(text, _)| text.starts_with('{')) {
            Some((text, own)) => reindent(&text, own, indent),
            None => ctext::block(self, new, indent)?,
        };
        let line = line_end(self.text, span.start as usize);
        let behind = self.slice(Span::new(span.start as usize + 1, line.min(last as usize))).trim();
        let owner = |t: TermId| self.parents.get(t.0 as usize).copied().flatten();
        // of one `if`: each header keeps what is said of it
        let arms = old.from.and_then(owner) == new.from.and_then(owner);
        let rest = block.strip_prefix('{').and_then(|b| b.find(self.eol).map(|k| b.split_at(k)));
        let block = match rest.map(|(said, rest)| (said.trim(), rest)) {
            Some((said, rest)) if behind.starts_with("//") || (arms && said.starts_with("//")) => {
                let own = match said.starts_with("//") && !arms {
                    true => format!("{}{indent}{}{said}", self.eol, self.unit),
                    false => String::new(),
                };
                format!("{{{}{behind}{own}{rest}", if behind.is_empty() { "" } else { " " })
            }
            _ => block,
        };
        Ok(Edit::replace(span, block))
    }
}
