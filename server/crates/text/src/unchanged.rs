//! What two versions of a text have in common at their ends, and which places are therefore the same in both. Found by
//! comparing the texts, so that no account of an edit has to be believed.

use base::Span;
use std::ops::Range;

/// Bytes compared at once.
const CHUNK: usize = 256;

/// The bytes in which two texts differ: in the first, and in the second.
pub fn difference(old: &str, new: &str) -> (Range<usize>, Range<usize>) {
    let (a, b) = (old.as_bytes(), new.as_bytes());
    let most = a.len().min(b.len());
    let same = |n: usize, k: usize| a[k..k + n] == b[k..k + n];
    let mut from = 0;
    while from + CHUNK <= most && same(CHUNK, from) {
        from += CHUNK;
    }
    while from < most && a[from] == b[from] {
        from += 1;
    }
    let (mut at, most) = (0, most - from);
    let same = |n: usize, k: usize| a[a.len() - k - n..a.len() - k] == b[b.len() - k - n..b.len() - k];
    while at + CHUNK <= most && same(CHUNK, at) {
        at += CHUNK;
    }
    while at < most && same(1, at) {
        at += 1;
    }
    (from..a.len() - at, from..b.len() - at)
}

/// The ends that an old text and a new one share.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unchanged {
    /// Where they begin to differ.
    pub(crate) from: usize,
    /// Where they end to differ, in the old one and in the new one.
    pub(crate) old_to: usize,
    pub(crate) new_to: usize,
    /// The first line that begins behind all that differs, in the new text; `None`: none does, or it is another line.
    line: Option<u32>,
}

impl Unchanged {
    /// Compares two texts.
    pub fn between(old: &str, new: &str) -> Unchanged {
        let (was, is) = difference(old, new);
        let (from, old_to, new_to) = (is.start, was.end, is.end);
        let (a, b) = (old.as_bytes(), new.as_bytes());
        let line = b[new_to..].iter().position(|c| *c == b'\n').map(|k| k + 1).filter(|k| {
            // whether a `\r` ends a line is seen at the byte behind it
            let first = from.saturating_sub(1);
            line_ends(&a[first..old_to + k]) == line_ends(&b[first..new_to + k])
        });
        let line = line.and_then(|k| u32::try_from(new_to + k).ok());
        Unchanged { from, old_to, new_to, line }
    }

    /// Whether a span of the old text and one of the new text are surely the same place: an editor's positions of them are
    /// the same, in every encoding.
    pub fn is_in_place(&self, old: Span, new: Span) -> bool {
        self.is_same(old.start, new.start) && self.is_same(old.end, new.end)
    }

    fn is_same(&self, old: u32, new: u32) -> bool {
        let before = old == new && (new as usize) < self.from;
        let behind = || {
            let is_moved = old as usize + self.new_to == new as usize + self.old_to;
            is_moved && self.line.is_some_and(|line| line <= new)
        };
        before || behind()
    }
}

/// How many lines end in these bytes, the last of which is no `\r`.
fn line_ends(bytes: &[u8]) -> usize {
    let ends = |k: usize, c: u8| c == b'\n' || c == b'\r' && bytes.get(k + 1) != Some(&b'\n');
    bytes.iter().enumerate().filter(|(k, c)| ends(*k, **c)).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{LineIndex, PositionEncoding};
    use proptest::prelude::*;

    /// Texts and what becomes of them where a piece is put in the place of another.
    fn edited() -> impl Strategy<Value = (String, String)> {
        let piece = || "[ab\u{e9}\u{1f600}\r\n]{0,8}";
        ("[ab\u{e9}\r\n]{0,24}", piece(), piece(), "[ab\u{1f600}\r\n]{0,24}").prop_map(
            |(before, was, is, after)| (format!("{before}{was}{after}"), format!("{before}{is}{after}")),
        )
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

        #[test]
        fn what_is_in_place_has_its_old_position((old, new) in edited()) {
            let unchanged = Unchanged::between(&old, &new);
            let (before, after) = (LineIndex::new(&old), LineIndex::new(&new));
            for a in 0..=old.len() as u32 + 2 {
                for b in 0..=new.len() as u32 + 2 {
                    let (was, is) = (Span { start: a, end: a }, Span { start: b, end: b });
                    if !unchanged.is_in_place(was, is) {
                        continue;
                    }
                    for encoding in PositionEncoding::ALL {
                        let was = before.range_of(&old, was, encoding);
                        prop_assert_eq!(was, after.range_of(&new, is, encoding), "{} {} {:?} {:?}", a, b, old, new);
                    }
                }
            }
        }

        #[test]
        fn lines_are_those_of_a_text_read_from_scratch((old, new) in edited()) {
            let unchanged = Unchanged::between(&old, &new);
            prop_assert_eq!(LineIndex::new(&old).edited(&unchanged, &new), LineIndex::new(&new), "{:?} {:?}", old, new);
        }

        #[test]
        fn what_is_outside_the_difference_is_the_same((old, new) in edited()) {
            let (was, is) = difference(&old, &new);
            prop_assert_eq!(&old.as_bytes()[..was.start], &new.as_bytes()[..is.start]);
            prop_assert_eq!(&old.as_bytes()[was.end..], &new.as_bytes()[is.end..]);
            prop_assert!(was.start == is.start && was.start <= was.end && is.start <= is.end);
        }
    }

    #[test]
    fn a_letter_leaves_all_other_lines_in_place() {
        let (old, new) = ("one\ntwo\nthree\n", "one\ntwoo\nthree\n");
        let unchanged = Unchanged::between(old, new);
        let at = |offset| Span { start: offset, end: offset };
        assert!(unchanged.is_in_place(at(2), at(2)) && unchanged.is_in_place(at(9), at(10)));
        assert!(!unchanged.is_in_place(at(7), at(8)), "the rest of the line has moved");
        let broken = Unchanged::between(old, "one\ntw\no\nthree\n");
        assert!(broken.is_in_place(at(2), at(2)) && !broken.is_in_place(at(9), at(10)));
    }
}
