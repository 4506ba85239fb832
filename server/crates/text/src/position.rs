//! Positions as editors count them, and the conversions from and to byte offsets.
//!
//! LSP 3.17: lines end at `\n`, `\r\n` and `\r` and nowhere else; a character past the end of its line means the
//! line's end; a position between two characters is never inside one, so one that points into a surrogate pair or a
//! UTF-8 sequence is moved to the character's start.

use crate::Text;
use base::Span;

/// In which units `Position::character` counts.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum PositionEncoding {
    /// Bytes.
    Utf8,
    /// 16-bit code units: what LSP means when nothing was agreed.
    #[default]
    Utf16,
    /// Unicode scalar values.
    Utf32,
}

impl PositionEncoding {
    /// All of them, in the order in which a server should prefer them.
    pub const ALL: [PositionEncoding; 3] =
        [PositionEncoding::Utf8, PositionEncoding::Utf32, PositionEncoding::Utf16];

    /// The name LSP uses (`PositionEncodingKind`).
    pub fn name(self) -> &'static str {
        match self {
            PositionEncoding::Utf8 => "utf-8",
            PositionEncoding::Utf16 => "utf-16",
            PositionEncoding::Utf32 => "utf-32",
        }
    }

    /// From LSP's name; `None` for one that is not known.
    pub fn from_name(name: &str) -> Option<PositionEncoding> {
        PositionEncoding::ALL.into_iter().find(|e| e.name() == name)
    }

    /// Length of `text` in these units.
    pub fn len_of(self, text: &str) -> usize {
        match self {
            PositionEncoding::Utf8 => text.len(),
            PositionEncoding::Utf16 => text.encode_utf16().count(),
            PositionEncoding::Utf32 => text.chars().count(),
        }
    }
}

/// A line and a character in it, both from 0; the unit of `character` is a [`PositionEncoding`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
pub struct Position {
    /// Line, from 0.
    pub line: u32,
    /// Units from the line's start.
    pub character: u32,
}

impl Position {
    /// The position `line:character`.
    pub fn new(line: u32, character: u32) -> Position {
        Position { line, character }
    }
}

/// Two positions; the end is exclusive.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct PositionRange {
    /// First position.
    pub start: Position,
    /// One past the last.
    pub end: Position,
}

impl PositionRange {
    /// The range from `start` to `end`.
    pub fn new(start: Position, end: Position) -> PositionRange {
        PositionRange { start, end }
    }
}

impl Text {
    /// The byte offset of `position`, clamped as LSP says: past the end of the line is the line's end (before its
    /// terminator), past the last line is the end of the text, inside a character is the character's start.
    pub fn offset_of(&self, position: Position, encoding: PositionEncoding) -> u32 {
        let Some(line) = self.line_span(position.line) else {
            return self.len();
        };
        let (start, end, character) = (line.start as usize, line.end as usize, position.character as usize);
        let rope = self.rope();
        let offset = match encoding {
            PositionEncoding::Utf8 => self.floor_char(start.saturating_add(character).min(end)),
            PositionEncoding::Utf16 => {
                let units = |byte: usize| rope.char_to_utf16_cu(rope.byte_to_char(byte));
                let at = units(start).saturating_add(character).min(units(end));
                rope.char_to_byte(rope.utf16_cu_to_char(at))
            }
            PositionEncoding::Utf32 => {
                let at = rope.byte_to_char(start).saturating_add(character).min(rope.byte_to_char(end));
                rope.char_to_byte(at)
            }
        };
        offset as u32
    }

    /// The position of the byte `offset`. Offsets past the end are the end, offsets inside a character are its
    /// start, and the offset between `\r` and `\n` is the end of the line before them.
    pub fn position_of(&self, offset: u32, encoding: PositionEncoding) -> Position {
        let byte = self.floor_char(offset as usize);
        let line = self.line_of(byte as u32);
        let Some(span) = self.line_span(line) else {
            return Position { line, character: 0 };
        };
        let (start, byte) = (span.start as usize, byte.min(span.end as usize));
        let rope = self.rope();
        let character = match encoding {
            PositionEncoding::Utf8 => byte - start,
            PositionEncoding::Utf16 => {
                rope.char_to_utf16_cu(rope.byte_to_char(byte))
                    - rope.char_to_utf16_cu(rope.byte_to_char(start))
            }
            PositionEncoding::Utf32 => rope.byte_to_char(byte) - rope.byte_to_char(start),
        };
        Position { line, character: character as u32 }
    }

    /// The span between two positions; a reversed pair is put in order.
    pub fn span_of(&self, range: PositionRange, encoding: PositionEncoding) -> Span {
        let (a, b) = (self.offset_of(range.start, encoding), self.offset_of(range.end, encoding));
        Span { start: a.min(b), end: a.max(b) }
    }

    /// The positions of a span's ends.
    pub fn range_of(&self, span: Span, encoding: PositionEncoding) -> PositionRange {
        PositionRange {
            start: self.position_of(span.start, encoding),
            end: self.position_of(span.end, encoding),
        }
    }
}
