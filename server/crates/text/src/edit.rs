//! Edits as values: a span of the old text and what stands there afterwards.
//!
//! A set of edits speaks of one old text; its members may not overlap, and it is applied as a whole, so no edit's
//! place depends on another. Sets compose and carry spans from the old text to the new one.

use crate::{PositionEncoding, PositionRange, Text, TextError};
use base::Span;
use std::collections::VecDeque;

/// Replaces `span` (bytes of the old text) by `text`. An empty span is an insertion.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Edit {
    /// What is replaced.
    pub span: Span,
    /// What stands there afterwards.
    pub text: String,
}

impl Edit {
    /// Replaces `span` by `text`.
    pub fn replace(span: Span, text: impl Into<String>) -> Edit {
        Edit { span, text: text.into() }
    }
    /// Inserts `text` before the byte `offset`.
    pub fn insert(offset: u32, text: impl Into<String>) -> Edit {
        Edit::replace(Span { start: offset, end: offset }, text)
    }
    /// Removes `span`.
    pub fn delete(span: Span) -> Edit {
        Edit::replace(span, "")
    }
}

/// Why edits were refused.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum EditError {
    /// Two edits want the same place. The numbers are the edits' places in the list that was given.
    #[error("Edit {first} ({first_span:?}) and edit {second} ({second_span:?}) overlap. Merge them into one edit.")]
    Overlap {
        /// The edit that begins first.
        first: usize,
        /// The other one.
        second: usize,
        /// What the first replaces.
        first_span: Span,
        /// What the second replaces.
        second_span: Span,
    },
    /// A span that ends before it begins, or past the text.
    #[error(
        "The edit {span:?} lies outside the text of {len} bytes. It was made for another version of it."
    )]
    OutOfRange {
        /// The edit's span.
        span: Span,
        /// Length of the text in bytes.
        len: u32,
    },
    /// A span that begins or ends inside a character.
    #[error("The edit {span:?} cuts the character that begins at byte {character}.")]
    InsideCharacter {
        /// The edit's span.
        span: Span,
        /// Where that character begins.
        character: u32,
    },
    /// The result would be too large.
    #[error(transparent)]
    Text(#[from] TextError),
}

/// On which side of what is inserted at its place an offset stays.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Side {
    /// Before the inserted text.
    Before,
    /// After the inserted text.
    After,
}

/// Where a span of the old text lies in the new one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MappedSpan {
    /// The span in the new text.
    pub span: Span,
    /// Whether an edit replaced, removed or inserted something strictly inside the old span.
    pub changed: bool,
}

/// An edit in an editor's positions, as [`EditSet::to_positions`] makes it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LspEdit {
    /// What is replaced.
    pub range: PositionRange,
    /// What stands there afterwards.
    pub text: String,
}

/// Edits of one text, in order, none overlapping another.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct EditSet {
    edits: Vec<Edit>,
}

impl EditSet {
    /// Puts edits in the order of their places. Insertions at one place keep the order in which they were given and
    /// stand before what replaces the characters that begin there (LSP 3.17, "TextEdit[]"). Two edits that change
    /// the same character, or an insertion strictly inside a replacement, are refused.
    pub fn new(edits: Vec<Edit>) -> Result<EditSet, EditError> {
        let mut numbered: Vec<(usize, Edit)> = edits.into_iter().enumerate().collect();
        numbered.sort_by_key(|(_, e)| (e.span.start, !e.span.is_empty()));
        for (_, edit) in &numbered {
            if edit.span.start > edit.span.end {
                return Err(EditError::OutOfRange { span: edit.span, len: edit.span.start });
            }
        }
        for (a, b) in numbered.iter().zip(numbered.iter().skip(1)) {
            if b.1.span.start < a.1.span.end {
                return Err(EditError::Overlap {
                    first: a.0,
                    second: b.0,
                    first_span: a.1.span,
                    second_span: b.1.span,
                });
            }
        }
        Ok(EditSet { edits: numbered.into_iter().map(|(_, e)| e).collect() })
    }

    /// A set of one edit.
    pub fn one(edit: Edit) -> EditSet {
        let span = Span::new(edit.span.start as usize, edit.span.end as usize);
        EditSet { edits: vec![Edit { span, ..edit }] }
    }

    /// The edits in order.
    pub fn edits(&self) -> &[Edit] {
        &self.edits
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.edits.is_empty()
    }

    /// The text after the edits; `text` stays as it is. Nothing is applied if one edit does not fit.
    pub fn apply(&self, text: &Text) -> Result<Text, EditError> {
        for edit in &self.edits {
            check_fits(edit.span, text)?;
        }
        let mut new = text.clone();
        for edit in self.edits.iter().rev() {
            new.replace(edit.span, &edit.text)?;
        }
        Ok(new)
    }

    /// The set that undoes this one: `inverse(t)?.apply(apply(t)?)? == t`.
    pub fn inverse(&self, text: &Text) -> Result<EditSet, EditError> {
        let mut edits = Vec::with_capacity(self.edits.len());
        let mut shift = 0i64;
        for edit in &self.edits {
            check_fits(edit.span, text)?;
            let start = i64::from(edit.span.start) + shift;
            let span = Span::new(start.max(0) as usize, start.max(0) as usize + edit.text.len());
            edits.push(Edit::replace(span, text.slice(edit.span)));
            shift += edit.text.len() as i64 - edit.span.len() as i64;
        }
        Ok(EditSet { edits })
    }

    /// One set that does what this set and then `next` (which speaks of the text after this set) do.
    pub fn compose(&self, next: &EditSet) -> Result<EditSet, EditError> {
        let mut pieces = Pieces::after(self);
        let mut out = Vec::new();
        let mut done = 0u32;
        for edit in &next.edits {
            pieces.take(edit.span.start - done, Some(&mut out))?;
            pieces.take(edit.span.end - edit.span.start, None)?;
            out.push(Piece::New(edit.text.clone()));
            done = edit.span.end;
        }
        Ok(from_pieces(out.into_iter().chain(pieces.pieces)))
    }

    /// Where the byte `offset` of the old text is in the new one. An offset strictly inside replaced characters goes
    /// to the side of the replacement that `side` says; one at their start or end stays there.
    pub fn map_offset(&self, offset: u32, side: Side) -> u32 {
        let mut shift = 0i64;
        for Edit { span, text } in &self.edits {
            let grown = text.len() as i64;
            let passed = if span.is_empty() {
                span.start < offset || (span.start == offset && side == Side::After)
            } else {
                span.end <= offset
            };
            if passed {
                shift += grown - span.len() as i64;
            } else if span.start < offset {
                let start = i64::from(span.start) + shift;
                return to_offset(if side == Side::Before { start } else { start + grown });
            } else {
                break;
            }
        }
        to_offset(i64::from(offset) + shift)
    }

    /// Where a span of the old text is in the new one. What is inserted at the span's ends stays outside; a span of
    /// which nothing is left becomes what replaced it.
    pub fn map_span(&self, span: Span) -> MappedSpan {
        let changed = self.edits.iter().any(|e| e.span.start < span.end && span.start < e.span.end);
        let end = self.map_offset(span.end, Side::Before);
        let start = if span.is_empty() { end } else { self.map_offset(span.start, Side::After) };
        MappedSpan { span: Span::new(start as usize, end as usize), changed }
    }

    /// The edits in an editor's positions, to be applied at once to `text`. An edit that begins or ends between `\r`
    /// and `\n`, a place no position can name, is widened over both.
    pub fn to_positions(&self, text: &Text, encoding: PositionEncoding) -> Result<Vec<LspEdit>, EditError> {
        let mut wide: Vec<Edit> = Vec::with_capacity(self.edits.len());
        for edit in &self.edits {
            check_fits(edit.span, text)?;
            let Edit { mut span, text: mut new } = edit.clone();
            if text.is_inside_crlf(span.end as usize) {
                span.end += 1;
                new.push('\n');
            }
            if !text.is_inside_crlf(edit.span.start as usize) {
                wide.push(Edit { span, text: new });
                continue;
            }
            match wide.last_mut() {
                // the edit before ended at the same place and took the `\n` along: join them
                Some(last) if last.span.end > edit.span.start => {
                    last.text.pop();
                    last.text.push_str(&new);
                    last.span.end = span.end;
                }
                _ => {
                    span.start -= 1;
                    wide.push(Edit { span, text: format!("\r{new}") });
                }
            }
        }
        let positions = |e: Edit| LspEdit { range: text.range_of(e.span, encoding), text: e.text };
        Ok(wide.into_iter().map(positions).collect())
    }
}

/// A piece of a new text: characters of the old one, or others.
enum Piece {
    Old(Span),
    New(String),
}

/// A new text as pieces, taken from its front. The last piece reaches to the largest offset there is, because a set
/// of edits does not know how long its text is.
struct Pieces {
    pieces: VecDeque<Piece>,
    /// Bytes taken so far.
    taken: u32,
}

impl Pieces {
    fn after(edits: &EditSet) -> Pieces {
        let mut pieces = VecDeque::new();
        let mut old = 0;
        for edit in &edits.edits {
            pieces.push_back(Piece::Old(Span { start: old, end: edit.span.start }));
            pieces.push_back(Piece::New(edit.text.clone()));
            old = edit.span.end;
        }
        pieces.push_back(Piece::Old(Span { start: old, end: u32::MAX }));
        Pieces { pieces, taken: 0 }
    }

    /// Takes the next `count` bytes into `out`, or drops them.
    fn take(&mut self, count: u32, mut out: Option<&mut Vec<Piece>>) -> Result<(), EditError> {
        let mut left = count as usize;
        while left > 0 {
            let Some(piece) = self.pieces.pop_front() else {
                return Err(EditError::OutOfRange { span: Span::new(0, count as usize), len: self.taken });
            };
            let (head, tail) = match piece {
                Piece::Old(span) if span.len() > left => {
                    let cut = span.start + left as u32;
                    (
                        Piece::Old(Span { start: span.start, end: cut }),
                        Some(Piece::Old(Span { start: cut, ..span })),
                    )
                }
                Piece::New(text) if text.len() > left => match text.split_at_checked(left) {
                    Some((a, b)) => (Piece::New(a.to_owned()), Some(Piece::New(b.to_owned()))),
                    None => {
                        let cut = self.taken.saturating_add(left as u32);
                        let whole = (0..=left).rev().find(|i| text.is_char_boundary(*i)).unwrap_or(0);
                        let character = self.taken.saturating_add(whole as u32);
                        return Err(EditError::InsideCharacter {
                            span: Span { start: cut, end: cut },
                            character,
                        });
                    }
                },
                whole => (whole, None),
            };
            let size = match &head {
                Piece::Old(span) => span.len(),
                Piece::New(text) => text.len(),
            };
            left -= size;
            self.taken = self.taken.saturating_add(size as u32);
            if let Some(out) = out.as_mut() {
                out.push(head);
            }
            if let Some(tail) = tail {
                self.pieces.push_front(tail);
            }
        }
        Ok(())
    }
}

/// The edits between the old characters that are kept.
fn from_pieces(pieces: impl Iterator<Item = Piece>) -> EditSet {
    let mut edits = Vec::new();
    let (mut old, mut new) = (0, String::new());
    for piece in pieces {
        match piece {
            Piece::New(text) => new.push_str(&text),
            Piece::Old(span) if span.is_empty() && span.end != u32::MAX => {}
            Piece::Old(span) => {
                if span.start > old || !new.is_empty() {
                    edits.push(Edit::replace(Span { start: old, end: span.start }, std::mem::take(&mut new)));
                }
                old = span.end;
            }
        }
    }
    EditSet { edits }
}

fn check_fits(span: Span, text: &Text) -> Result<(), EditError> {
    if span.start > span.end || span.end > text.len() {
        return Err(EditError::OutOfRange { span, len: text.len() });
    }
    for end in [span.start, span.end] {
        let character = text.floor_char_boundary(end);
        if character != end {
            return Err(EditError::InsideCharacter { span, character });
        }
    }
    Ok(())
}

fn to_offset(offset: i64) -> u32 {
    offset.clamp(0, i64::from(u32::MAX)) as u32
}
