//! `Text`: an immutable-by-habit rope. A clone shares everything and is the snapshot.

use crate::ContentHash;
use base::Span;
use ropey::Rope;
use std::borrow::Cow;

/// The most bytes a text may have: offsets are `u32`.
pub const MAX_BYTES: u32 = u32::MAX;

/// Why a text was refused.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum TextError {
    /// Larger than the limit; both in bytes.
    #[error(
        "The text has {bytes} bytes, more than the limit of {limit}. Split the file or raise the limit."
    )]
    TooLarge {
        /// Size that was asked for.
        bytes: u64,
        /// Largest size that is taken.
        limit: u32,
    },
}

/// How lines end.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum LineEnding {
    /// `\n`
    #[default]
    Lf,
    /// `\r\n`
    CrLf,
    /// `\r`
    Cr,
}

impl LineEnding {
    /// The characters.
    pub fn as_str(self) -> &'static str {
        match self {
            LineEnding::Lf => "\n",
            LineEnding::CrLf => "\r\n",
            LineEnding::Cr => "\r",
        }
    }
}

/// A document's text. Cloning is cheap and shares the storage; edits make a new text and leave clones alone.
#[derive(Clone)]
pub struct Text {
    rope: Rope,
    limit: u32,
    /// False only if no `\r` stands without a `\n` behind it; then rows that end at `\n` alone are the lines.
    lone_cr_possible: bool,
}

impl Text {
    /// The text `text`, refused above [`MAX_BYTES`].
    pub fn new(text: &str) -> Result<Text, TextError> {
        Text::with_limit(text, MAX_BYTES)
    }

    /// The text `text`, refused above `limit` bytes; texts made from it by edits keep the limit.
    pub fn with_limit(text: &str, limit: u32) -> Result<Text, TextError> {
        check_size(text.len() as u64, limit)?;
        Ok(Text { rope: Rope::from_str(text), limit, lone_cr_possible: has_lone_cr(text) })
    }

    /// The text without a character.
    pub fn empty() -> Text {
        Text { rope: Rope::new(), limit: MAX_BYTES, lone_cr_possible: false }
    }

    /// Length in bytes.
    pub fn len(&self) -> u32 {
        self.rope.len_bytes() as u32
    }

    /// Whether there is no character.
    pub fn is_empty(&self) -> bool {
        self.rope.len_bytes() == 0
    }

    /// The largest size in bytes to which this text may grow.
    pub fn limit(&self) -> u32 {
        self.limit
    }

    /// The span of the whole text.
    pub fn span(&self) -> Span {
        Span { start: 0, end: self.len() }
    }

    /// Number of lines; a text that ends with a line terminator has an empty last line, so it is at least 1.
    pub fn line_count(&self) -> u32 {
        self.rope.len_lines() as u32
    }

    /// The line (from 0) that holds the byte `offset`, which is clamped to the text. A terminator belongs to the
    /// line it ends.
    pub fn line_of(&self, offset: u32) -> u32 {
        let byte = self.floor_char(offset as usize);
        // between `\r` and `\n` the line has not ended yet
        let byte = if self.is_inside_crlf(byte) { byte - 1 } else { byte };
        self.rope.byte_to_line(byte) as u32
    }

    /// The span of a line without its terminator; `None` if there is no such line.
    pub fn line_span(&self, line: u32) -> Option<Span> {
        let full = self.line_span_with_terminator(line)?;
        let mut end = full.end as usize;
        let is = |at: usize, wanted: u8| at > full.start as usize && self.rope.byte(at - 1) == wanted;
        if is(end, b'\n') {
            end -= 1;
            if is(end, b'\r') {
                end -= 1;
            }
        } else if is(end, b'\r') {
            end -= 1;
        }
        Some(Span { start: full.start, end: end as u32 })
    }

    /// The span of a line with its terminator; `None` if there is no such line.
    pub fn line_span_with_terminator(&self, line: u32) -> Option<Span> {
        let line = line as usize;
        if line >= self.rope.len_lines() {
            return None;
        }
        let (start, end) = (self.rope.line_to_byte(line), self.rope.line_to_byte(line + 1));
        Some(Span { start: start as u32, end: end as u32 })
    }

    /// A line's text without its terminator; empty if there is no such line.
    pub fn line(&self, line: u32) -> Cow<'_, str> {
        self.line_span(line).map_or(Cow::Borrowed(""), |span| self.slice(span))
    }

    /// The blanks and tabs a line begins with; empty if there is no such line.
    pub fn indentation_of(&self, line: u32) -> String {
        let Some(span) = self.line_span(line) else {
            return String::new();
        };
        let chunks = self.chunks_in(span);
        chunks.flat_map(str::chars).take_while(|c| matches!(c, ' ' | '\t')).collect()
    }

    /// How most lines end; [`LineEnding::Lf`] where none ends. Reads the whole text.
    pub fn line_ending(&self) -> LineEnding {
        let (mut lf, mut crlf, mut cr) = (0u64, 0u64, 0u64);
        let mut after_cr = false;
        for byte in self.rope.chunks().flat_map(str::bytes) {
            match byte {
                b'\n' if after_cr => (crlf, cr) = (crlf + 1, cr - 1),
                b'\n' => lf += 1,
                b'\r' => cr += 1,
                _ => {}
            }
            after_cr = byte == b'\r';
        }
        if crlf > lf && crlf >= cr {
            LineEnding::CrLf
        } else if cr > lf {
            LineEnding::Cr
        } else {
            LineEnding::Lf
        }
    }

    /// The text of `span`. The span is clamped to the text and to the starts of characters. Borrowed where the rope
    /// holds it in one piece.
    pub fn slice(&self, span: Span) -> Cow<'_, str> {
        self.rope.byte_slice(self.clamp(span).range()).into()
    }

    /// The pieces of the text from the byte `offset` to the end of that piece; empty at the end of the text. This is
    /// what an incremental parser's read callback wants. The offset must be a character's start, else the piece
    /// begins with the rest of that character.
    pub fn chunk_at(&self, offset: u32) -> &[u8] {
        let offset = offset as usize;
        if offset >= self.rope.len_bytes() {
            return &[];
        }
        let (chunk, start, _, _) = self.rope.chunk_at_byte(offset);
        chunk.as_bytes().get(offset - start..).unwrap_or(&[])
    }

    /// The pieces of the whole text in order. A piece never ends between `\r` and `\n`.
    pub fn chunks(&self) -> impl Iterator<Item = &str> {
        self.rope.chunks()
    }

    /// The pieces of `span`, clamped as in [`Text::slice`].
    pub fn chunks_in(&self, span: Span) -> impl Iterator<Item = &str> {
        self.rope.byte_slice(self.clamp(span).range()).chunks()
    }

    /// The hash of the whole text.
    pub fn hash(&self) -> ContentHash {
        ContentHash::of_chunks(self.chunks())
    }

    /// The hash of what stands in `span`: equal to the hash of the same characters anywhere else.
    pub fn hash_of(&self, span: Span) -> ContentHash {
        ContentHash::of_chunks(self.chunks_in(span))
    }

    /// The largest start of a character at or before `offset`, or the text's length.
    pub fn floor_char_boundary(&self, offset: u32) -> u32 {
        self.floor_char(offset as usize) as u32
    }

    /// Whether `offset` is in the text (its end included) and not inside a character.
    pub fn is_char_boundary(&self, offset: u32) -> bool {
        offset <= self.len() && self.floor_char(offset as usize) == offset as usize
    }

    /// Whether `offset` stands between a `\r` and its `\n`. No editor's position can say that place.
    pub(crate) fn is_inside_crlf(&self, offset: usize) -> bool {
        offset > 0
            && self.rope.get_byte(offset) == Some(b'\n')
            && self.rope.get_byte(offset - 1) == Some(b'\r')
    }

    pub(crate) fn rope(&self) -> &Rope {
        &self.rope
    }

    pub(crate) fn lone_cr_possible(&self) -> bool {
        self.lone_cr_possible
    }

    pub(crate) fn floor_char(&self, byte: usize) -> usize {
        let byte = byte.min(self.rope.len_bytes());
        self.rope.char_to_byte(self.rope.byte_to_char(byte))
    }

    pub(crate) fn clamp(&self, span: Span) -> Span {
        Span::new(self.floor_char(span.start as usize), self.floor_char(span.end as usize))
    }

    /// Replaces `span`, whose ends are characters' starts inside the text, in this value.
    pub(crate) fn replace(&mut self, span: Span, new: &str) -> Result<(), TextError> {
        let kept = u64::from(self.len()) - span.len() as u64;
        check_size(kept + new.len() as u64, self.limit)?;
        // conservative: a `\r` before the edit may lose its `\n`, and one inserted may stand alone
        let cr_before = span.start > 0 && self.rope.byte(span.start as usize - 1) == b'\r';
        self.lone_cr_possible |= cr_before || has_lone_cr(new);
        let (start, end) =
            (self.rope.byte_to_char(span.start as usize), self.rope.byte_to_char(span.end as usize));
        if start < end {
            self.rope.remove(start..end);
        }
        if !new.is_empty() {
            self.rope.insert(start, new);
        }
        Ok(())
    }
}

fn check_size(bytes: u64, limit: u32) -> Result<(), TextError> {
    if bytes > u64::from(limit) {
        return Err(TextError::TooLarge { bytes, limit });
    }
    Ok(())
}

/// Whether some `\r` has no `\n` behind it.
fn has_lone_cr(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.iter().enumerate().any(|(i, b)| *b == b'\r' && bytes.get(i + 1) != Some(&b'\n'))
}

impl Default for Text {
    fn default() -> Self {
        Text::empty()
    }
}

impl PartialEq for Text {
    /// Equal characters; limits are not compared.
    fn eq(&self, other: &Text) -> bool {
        self.rope == other.rope
    }
}

impl Eq for Text {}

impl PartialEq<str> for Text {
    fn eq(&self, other: &str) -> bool {
        self.rope == other
    }
}

impl std::fmt::Display for Text {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.rope.chunks().try_for_each(|chunk| f.write_str(chunk))
    }
}

impl std::fmt::Debug for Text {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}", self.rope.slice(..))
    }
}
