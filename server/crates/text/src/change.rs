//! Changes as an editor sends them, and what an incremental parser must be told about them.

use crate::{Edit, EditError, EditSet, PositionEncoding, PositionRange, Text};
use base::Span;

/// A place as incremental parsers count it: rows end at `\n` **only**, so that a lone `\r` makes a row here differ
/// from an editor's line; the column counts bytes. (tree-sitter's `TSPoint`.)
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
pub struct Point {
    /// Number of `\n` before the place.
    pub row: u32,
    /// Bytes since the last `\n`.
    pub column: u32,
}

/// What an incremental parser must be told about one edit (tree-sitter's `TSInputEdit`), in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TextEditPoints {
    /// Where the edit begins.
    pub start_byte: u32,
    /// Where the replaced text ended in the old text.
    pub old_end_byte: u32,
    /// Where the new text ends in the new text.
    pub new_end_byte: u32,
    /// Row and column of `start_byte`.
    pub start: Point,
    /// Row and column of `old_end_byte`, in the old text.
    pub old_end: Point,
    /// Row and column of `new_end_byte`, in the new text.
    pub new_end: Point,
}

/// The outcome of one change.
#[derive(Clone, Debug)]
pub struct Applied {
    /// The new text.
    pub text: Text,
    /// What was done, in bytes of the old text; `None` if nothing changed.
    pub edit: Option<Edit>,
    /// The same for an incremental parser.
    pub points: Option<TextEditPoints>,
}

impl Text {
    /// Applies one change as an editor sends it (LSP 3.17, `TextDocumentContentChangeEvent`): `range` is replaced by
    /// `new`, or the whole text where there is no range. Positions are clamped and a reversed range is put in order.
    /// Of a whole text only the part that differs becomes the edit, so that a client without incremental changes
    /// does not cost a fresh parse. Several changes of one notification are applied one after the other.
    pub fn apply_lsp_change(
        &self,
        range: Option<PositionRange>,
        new: &str,
        encoding: PositionEncoding,
    ) -> Result<Applied, EditError> {
        let edit = match range {
            Some(range) => Some(Edit::replace(self.span_of(range, encoding), new)),
            None => self.difference(new),
        };
        let edit = edit.filter(|e| !(e.span.is_empty() && e.text.is_empty()));
        let Some(edit) = edit else {
            return Ok(Applied { text: self.clone(), edit: None, points: None });
        };
        let points = self.edit_points(&edit);
        let set = EditSet::one(edit.clone());
        Ok(Applied { text: set.apply(self)?, edit: Some(edit), points: Some(points) })
    }

    /// The one edit that makes this text `new`: everything between what both begin and what both end with. `None`
    /// if they are equal.
    pub fn difference(&self, new: &str) -> Option<Edit> {
        let (old_len, new_bytes) = (self.len() as usize, new.as_bytes());
        let mut head = 0;
        for chunk in self.chunks() {
            let rest = new_bytes.get(head..).unwrap_or(&[]);
            let same = chunk.bytes().zip(rest).take_while(|(a, b)| a == *b).count();
            head += same;
            if same < chunk.len() {
                break;
            }
        }
        if head == old_len && head == new_bytes.len() {
            return None;
        }
        head = floor_boundary(new, head);
        let room = old_len.min(new_bytes.len()) - head;
        let mut old_bytes = self.rope().bytes_at(old_len);
        let mut tail = 0;
        while tail < room && old_bytes.prev() == new_bytes.get(new_bytes.len() - 1 - tail).copied() {
            tail += 1;
        }
        // bytes that merely end alike are not a character: give back what cuts one
        while !new.is_char_boundary(new.len() - tail) {
            tail -= 1;
        }
        let text = new.get(head..new.len() - tail).unwrap_or_default();
        Some(Edit::replace(Span::new(head, old_len - tail), text))
    }

    /// What an incremental parser must be told about `edit`, which speaks of this (the old) text.
    pub fn edit_points(&self, edit: &Edit) -> TextEditPoints {
        let span = self.clamp(edit.span);
        let start = self.point_of(span.start);
        let old_end = self.chunks_in(span).fold(start, advance);
        TextEditPoints {
            start_byte: span.start,
            old_end_byte: span.end,
            new_end_byte: span.start.saturating_add(edit.text.len() as u32),
            start,
            old_end,
            new_end: advance(start, &edit.text),
        }
    }

    /// Row and column of the byte `offset` as incremental parsers count them.
    pub fn point_of(&self, offset: u32) -> Point {
        let byte = self.floor_char(offset as usize);
        if self.lone_cr_possible() {
            let before = Span::new(0, byte);
            return self.chunks_in(before).fold(Point::default(), advance);
        }
        // no lone `\r`: rows are lines, and the rope knows them
        let row = self.line_of(byte as u32);
        let start = self.line_span_with_terminator(row).map_or(0, |s| s.start);
        Point { row, column: byte as u32 - start }
    }
}

/// The place after `text` that begins at `from`.
fn advance(from: Point, text: &str) -> Point {
    match text.rfind('\n') {
        None => Point { column: from.column.saturating_add(text.len() as u32), ..from },
        Some(last) => Point {
            row: from.row + text.bytes().filter(|b| *b == b'\n').count() as u32,
            column: (text.len() - last - 1) as u32,
        },
    }
}

fn floor_boundary(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|i| text.is_char_boundary(*i)).unwrap_or(0)
}
