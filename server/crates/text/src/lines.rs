//! Where lines begin, for a text that is in one piece: thousands of positions a version are looked up in it, each in a
//! fraction of what a rope takes. Answers are those of [`Text`](crate::Text).

use crate::{Position, PositionEncoding, PositionRange, Unchanged};
use base::Span;

/// The starts of a text's lines. The text itself is passed to each question and must be the same each time.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LineIndex {
    /// In bytes; the first is 0.
    starts: Vec<u32>,
}

impl LineIndex {
    /// Reads where the lines of `text` begin. Lines end at `\n`, `\r\n` and `\r`.
    pub fn new(text: &str) -> LineIndex {
        let mut starts = Vec::with_capacity(text.len() / 24 + 1);
        starts.push(0);
        read(text.as_bytes(), 0, text.len(), &mut starts);
        LineIndex { starts }
    }

    /// The index of `text`, which differs from the text of this one as `unchanged` says: only what differs is read.
    pub fn edited(&self, unchanged: &Unchanged, text: &str) -> LineIndex {
        let &Unchanged { from, old_to, new_to, .. } = unchanged;
        let mut starts = Vec::with_capacity(self.starts.len() + 8);
        // whether a line begins at a place is seen at the bytes on both sides of it
        let kept = self.starts.partition_point(|s| (*s as usize) < from).max(1);
        starts.extend_from_slice(&self.starts[..kept]);
        read(text.as_bytes(), from.saturating_sub(1), new_to, &mut starts);
        let rest = self.starts.partition_point(|s| *s as usize <= old_to).max(1);
        starts.extend(self.starts[rest..].iter().map(|s| (*s as usize - old_to + new_to) as u32));
        LineIndex { starts }
    }

    /// The line (from 0) that holds the byte `offset`; past the end, the last.
    pub fn line_of(&self, offset: u32) -> u32 {
        (self.starts.partition_point(|s| *s <= offset) - 1) as u32
    }

    /// The byte a line begins at; that of the last for lines past it.
    pub fn start_of(&self, line: u32) -> u32 {
        self.starts.get(line as usize).or(self.starts.last()).copied().unwrap_or(0)
    }

    /// The position of the byte `offset`, as [`Text::position_of`](crate::Text::position_of) gives it.
    pub fn position_of(&self, text: &str, offset: u32, encoding: PositionEncoding) -> Position {
        let mut at = (offset as usize).min(text.len());
        while !text.is_char_boundary(at) {
            at -= 1;
        }
        let line = self.line_of(at as u32);
        let start = self.start_of(line) as usize;
        let before = text.get(start..at).unwrap_or("");
        // between `\r` and `\n` is the end of the line before them
        let inside = before.ends_with('\r');
        let before = if inside { &before[..before.len() - 1] } else { before };
        let character = match before.is_ascii() {
            true => before.len(),
            false => encoding.len_of(before),
        };
        Position { line, character: character as u32 }
    }

    /// The positions of a span's ends.
    pub fn range_of(&self, text: &str, span: Span, encoding: PositionEncoding) -> PositionRange {
        PositionRange {
            start: self.position_of(text, span.start, encoding),
            end: self.position_of(text, span.end, encoding),
        }
    }
}

/// Adds the lines that begin behind one of the bytes `from..to`.
fn read(bytes: &[u8], from: usize, to: usize, starts: &mut Vec<u32>) {
    for at in from..to {
        let ends = match bytes[at] {
            b'\n' => true,
            // with a `\n` behind it the line ends after both
            b'\r' => bytes.get(at + 1) != Some(&b'\n'),
            _ => false,
        };
        if ends {
            starts.push(at as u32 + 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Text;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_says_what_the_rope_says(text in "[ab\u{e9}\u{1f600}\r\n\u{2028}]{0,60}") {
            let (index, rope) = (LineIndex::new(&text), Text::new(&text).unwrap());
            for offset in 0..=text.len() as u32 + 2 {
                if text.is_char_boundary(offset as usize) {
                    prop_assert_eq!(index.line_of(offset), rope.line_of(offset), "line of {} in {:?}", offset, text);
                }
                for encoding in PositionEncoding::ALL {
                    let (a, b) = (index.position_of(&text, offset, encoding), rope.position_of(offset, encoding));
                    prop_assert_eq!(a, b, "{} in {:?}", offset, text);
                }
            }
        }
    }
}
