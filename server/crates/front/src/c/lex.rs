//! Text → preprocessing tokens of C, with directives and our comments set aside.
//!
//! Deliberately absent: any grammar. A token knows its kind and place, no more.

use base::Span;

use crate::limits::c_lex::MAX_DELIMITER;

/// What a token is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Ident,
    Number,
    Char,
    Str,
    Punct,
    /// A whole `#…` line, continuation lines included.
    Directive,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Token {
    pub kind: Kind,
    /// Whether only blanks and comments precede it on its line, and none at all (column 0).
    pub column_zero: bool,
    /// Whether blank space or a comment precedes it (function-like macro definitions, stringizing).
    pub spaced: bool,
    pub start: u32,
    pub end: u32,
}

impl Token {
    pub(crate) fn span(&self) -> Span {
        Span { start: self.start, end: self.end }
    }
}

/// A comment that speaks to us, and the index of the token that follows it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Comment {
    pub span: Span,
    pub next: usize,
}

#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Lexed {
    pub tokens: Vec<Token>,
    pub comments: Vec<Comment>,
    /// Byte offset of every line's first byte.
    pub lines: Vec<u32>,
}

impl Lexed {
    /// 0-based line of an offset.
    pub(crate) fn line(&self, offset: u32) -> u32 {
        self.lines.partition_point(|&l| l <= offset).saturating_sub(1) as u32
    }
}

/// Three-character punctuators, then two-character ones; all others are one byte.
const PUNCT3: [&[u8]; 4] = [b"<<=", b">>=", b"...", b"->*"];
const PUNCT2: [&[u8]; 21] = [
    b"->", b"++", b"--", b"<<", b">>", b"<=", b">=", b"==", b"!=", b"&&", b"||", b"*=", b"/=", b"%=", b"+=",
    b"-=", b"&=", b"^=", b"|=", b"##", b"::",
];

/// So many bytes behind a token may decide where it ends.
const FEW: usize = MAX_DELIMITER + 4;

/// A token's text as it is usually spelled (C11 6.4.6p3).
pub(crate) fn usual(text: &str) -> &str {
    match text {
        "<%" => "{",
        "%>" => "}",
        "<:" => "[",
        ":>" => "]",
        "%:" => "#",
        "%:%:" => "##",
        _ => text,
    }
}

/// Length of a backslash-newline at `i`, or 0.
fn splice(b: &[u8], i: usize) -> usize {
    match (b.get(i), b.get(i + 1), b.get(i + 2)) {
        (Some(b'\\'), Some(b'\n'), _) => 2,
        (Some(b'\\'), Some(b'\r'), Some(b'\n')) => 3,
        (Some(b'\\'), Some(b'\r'), _) => 2,
        _ => 0,
    }
}

fn at(b: &[u8], i: usize) -> u8 {
    b.get(i).copied().unwrap_or(0)
}

pub(crate) fn is_ident_start(c: u8) -> bool {
    c.is_ascii_alphabetic() || c == b'_' || c == b'$' || c >= 0x80
}
pub(crate) fn is_ident(c: u8) -> bool {
    is_ident_start(c) || c.is_ascii_digit()
}

/// End of the quoted literal whose opening quote is at `i`; an unclosed one ends with its line.
fn quoted(b: &[u8], i: usize) -> usize {
    let quote = at(b, i);
    let mut j = i + 1;
    while j < b.len() {
        let s = splice(b, j);
        if s > 0 {
            j += s;
            continue;
        }
        match b[j] {
            b'\\' => j += 2,
            b'\n' | b'\r' => return j,
            c if c == quote => return j + 1,
            _ => j += 1,
        }
    }
    b.len()
}

/// End of the raw literal (C++20 5.13.5; GNU C has them too) whose opening quote is at `quote`, behind the word that begins at `i`;
/// an unclosed one ends with the text. `None`: it is no raw one.
fn raw_end(b: &[u8], i: usize, quote: usize) -> Option<usize> {
    let is_raw = matches!(b.get(i..quote)?, b"R" | b"LR" | b"uR" | b"UR" | b"u8R") && at(b, quote) == b'"';
    if !is_raw {
        return None;
    }
    let from = quote + 1;
    let most = b.len().min(from + MAX_DELIMITER + 1);
    let open = (from..most).find(|&j| matches!(b[j], b'(' | b')' | b'\\' | b' ' | b'"' | 9..=13))?;
    if b[open] != b'(' {
        return None;
    }
    let delimiter = &b[from..open];
    let closes = |j: &usize| {
        b[*j] == b')' && b[*j + 1..].starts_with(delimiter) && at(b, *j + 1 + delimiter.len()) == b'"'
    };
    Some((open + 1..b.len()).find(closes).map_or(b.len(), |j| j + delimiter.len() + 2))
}

/// A raw literal as one without `R`; `None`: it is none.
pub(crate) fn raw_as_plain(text: &str) -> Option<String> {
    let b = text.as_bytes();
    let quote = b.iter().take(4).position(|&c| c == b'"')?;
    let end = raw_end(b, 0, quote)?;
    let open = quote + text.get(quote..)?.find('(')?;
    let delimiter = open - quote - 1;
    let inner = text.get(open + 1..end.checked_sub(delimiter + 2)?)?;
    let mut out = text.get(..quote - 1)?.to_owned();
    out.push('"');
    for c in inner.replace("\r\n", "\n").chars() {
        match c {
            '\\' | '"' => out.extend(['\\', c]),
            '\n' | '\r' => out.push_str("\\n"),
            c => out.push(c),
        }
    }
    out.push('"');
    Some(out)
}

fn comment_end(b: &[u8], i: usize) -> usize {
    if at(b, i + 1) == b'*' {
        let mut j = i + 2;
        while j < b.len() {
            if b[j] == b'*' && at(b, j + 1) == b'/' {
                return j + 2;
            }
            j += 1;
        }
        return b.len();
    }
    let mut j = i + 2;
    while j < b.len() && b[j] != b'\n' && b[j] != b'\r' {
        j += splice(b, j).max(1);
    }
    j.min(b.len())
}

/// End of the directive line that starts at `i`: the newline that is neither spliced nor inside a comment.
fn directive_end(b: &[u8], i: usize) -> usize {
    let mut j = i;
    while j < b.len() {
        let s = splice(b, j);
        if s > 0 {
            j += s;
            continue;
        }
        match b[j] {
            b'\n' | b'\r' => return j,
            b'/' if at(b, j + 1) == b'*' => j = comment_end(b, j),
            b'/' if at(b, j + 1) == b'/' => return comment_end(b, j),
            b'"' | b'\'' => j = quoted(b, j),
            c if is_ident_start(c) => {
                let from = j;
                while j < b.len() && is_ident(b[j]) {
                    j += 1;
                }
                j = raw_end(b, from, j).unwrap_or(j);
            }
            _ => j += 1,
        }
    }
    b.len()
}

/// End of the token (not a directive) at `i`, and its kind.
fn token_end(b: &[u8], i: usize) -> (usize, Kind) {
    let c = b[i];
    if is_ident_start(c) {
        let mut j = i + 1;
        while j < b.len() && is_ident(b[j]) {
            j += 1;
        }
        // Prefixed literals: L"…", u8'…'.
        if j - i <= 2 && matches!(&b[i..j], b"L" | b"u" | b"U" | b"u8") {
            match at(b, j) {
                b'"' => return (quoted(b, j), Kind::Str),
                b'\'' => return (quoted(b, j), Kind::Char),
                _ => {}
            }
        }
        match raw_end(b, i, j) {
            Some(end) => return (end, Kind::Str),
            None => return (j, Kind::Ident),
        }
    }
    if c.is_ascii_digit() || (c == b'.' && at(b, i + 1).is_ascii_digit()) {
        // A preprocessing number (C11 6.4.8).
        let mut j = i + 1;
        while j < b.len() {
            match b[j] {
                b'+' | b'-' if matches!(b[j - 1], b'e' | b'E' | b'p' | b'P') => j += 1,
                b'\'' if is_ident(at(b, j + 1)) => j += 2,
                d if is_ident(d) || d == b'.' => j += 1,
                _ => break,
            }
        }
        return (j, Kind::Number);
    }
    match c {
        b'"' => (quoted(b, i), Kind::Str),
        b'\'' => (quoted(b, i), Kind::Char),
        _ => {
            let next = at(b, i + 1);
            // Brackets and separators never begin a longer one.
            if !next.is_ascii_punctuation()
                || matches!(c, b'(' | b')' | b'[' | b']' | b'{' | b'}' | b',' | b';')
            {
                return (i + 1, Kind::Punct);
            }
            let rest = &b[i..];
            // Other spellings of brackets (C11 6.4.6p3); in C++ `<::` is `<` and `::`.
            let digraph = matches!((c, next), (b'<', b'%' | b':') | (b'%', b'>' | b':') | (b':', b'>'));
            if digraph && !rest.starts_with(b"<::") {
                return (i + 2, Kind::Punct);
            }
            if PUNCT3.iter().any(|p| rest.starts_with(p)) {
                (i + 3, Kind::Punct)
            } else if PUNCT2.iter().any(|p| rest.starts_with(p)) {
                (i + 2, Kind::Punct)
            } else {
                (i + 1, Kind::Punct)
            }
        }
    }
}

/// Cuts a text into tokens. Never fails: an odd byte is a punctuator of its own.
pub(crate) fn lex(text: &str) -> Lexed {
    let b = text.as_bytes();
    let mut out = Lexed { tokens: Vec::with_capacity(b.len() / 3), comments: Vec::new(), lines: vec![0] };
    lines(b, 0, b.len(), &mut out.lines);
    let start = if text.starts_with('\u{feff}') { 3 } else { 0 };
    let state = State { i: start, fresh: true, spaced: false, line_start: start };
    run(text, state, &mut out, |_| false);
    out
}

/// Line starts that the bytes `from..to` make.
fn lines(b: &[u8], from: usize, to: usize, out: &mut Vec<u32>) {
    for (i, &c) in b.iter().enumerate().take(to).skip(from) {
        if c == b'\n' || (c == b'\r' && at(b, i + 1) != b'\n') {
            out.push(i as u32 + 1);
        }
    }
}

/// Cuts a text that has much in common with one already cut: tokens before and after the change are taken over.
pub(crate) fn relex(old_text: &str, old: &Lexed, text: &str) -> Lexed {
    let (a, b) = (old_text.as_bytes(), text.as_bytes());
    let (was, is) = text::difference(old_text, text);
    let (prefix, suffix) = (is.start, a.len() - was.end);
    // A token may depend on the few bytes after it.
    let kept = old.tokens.partition_point(|t| t.end as usize + FEW <= prefix);
    let Some(last) = kept.checked_sub(1).and_then(|k| old.tokens.get(k)) else {
        return lex(text);
    };
    let resume = last.end;
    let mut out = Lexed {
        tokens: Vec::with_capacity(old.tokens.len() + 64),
        comments: old.comments.iter().filter(|c| c.span.end <= resume && c.next <= kept).copied().collect(),
        lines: Vec::with_capacity(old.lines.len() + 64),
    };
    out.tokens.extend_from_slice(&old.tokens[..kept]);
    let by = b.len() as i64 - a.len() as i64;
    let shift = |x: u32| (i64::from(x) + by).clamp(0, i64::from(u32::MAX)) as u32;
    // The lines of the unchanged ends are kept; a line's start depends on the bytes on both sides of it.
    let (from, to) = (prefix.saturating_sub(2), (b.len() - suffix + 1).min(b.len()));
    out.lines.extend(old.lines.iter().take_while(|&&l| l as usize <= from));
    lines(b, from, to, &mut out.lines);
    let tail = old.lines.partition_point(|&l| i64::from(l) + by <= to as i64);
    out.lines.extend(old.lines.iter().skip(tail).map(|&l| shift(l)));

    let state = State {
        i: resume as usize,
        fresh: last.kind == Kind::Directive,
        spaced: false,
        line_start: usize::MAX,
    };
    let unchanged = b.len() - suffix;
    let mut rest = None;
    run(text, state, &mut out, |t| {
        if (t.start as usize) < unchanged {
            return false;
        }
        let j = old.tokens.partition_point(|o| shift(o.start) < t.start);
        let same = old.tokens.get(j).is_some_and(|o| {
            (o.start as usize) >= a.len() - suffix
                && Token { start: shift(o.start), end: shift(o.end), ..*o } == *t
        });
        if same {
            rest = Some(j);
        }
        same
    });
    if let Some(j) = rest {
        let moved = out.tokens.len() as i64 - (j as i64 + 1);
        let from = old.tokens[j].start;
        out.comments.extend(old.comments.iter().filter(|c| c.span.start > from && c.next > j).map(|c| {
            Comment {
                span: Span { start: shift(c.span.start), end: shift(c.span.end) },
                next: (c.next as i64 + moved).max(0) as usize,
            }
        }));
        // A comment in the matched directive itself was read again with it.
        out.comments.sort_by_key(|c| c.span);
        out.comments.dedup();
        out.tokens.extend(old.tokens[j + 1..].iter().map(|t| Token {
            start: shift(t.start),
            end: shift(t.end),
            ..*t
        }));
    }
    out
}

struct State {
    i: usize,
    /// Whether only blanks and comments stand before `i` on its line.
    fresh: bool,
    spaced: bool,
    line_start: usize,
}

/// Cuts from the state on, until the end or until `stop` says so of the token just added.
fn run(text: &str, state: State, out: &mut Lexed, mut stop: impl FnMut(&Token) -> bool) {
    let b = text.as_bytes();
    let State { mut i, mut fresh, mut spaced, mut line_start } = state;
    while i < b.len() {
        let s = splice(b, i);
        if s > 0 {
            i += s;
            spaced = true;
            continue;
        }
        match b[i] {
            b'\n' | b'\r' => {
                i += 1;
                (fresh, spaced, line_start) = (true, true, i);
            }
            b' ' | b'\t' | 0x0b | 0x0c => {
                i += 1;
                spaced = true;
            }
            b'/' if matches!(at(b, i + 1), b'/' | b'*') => {
                let end = comment_end(b, i);
                if b[i..end].windows(11).any(|w| w == b"warpwright:") {
                    out.comments.push(Comment { span: Span::new(i, end), next: out.tokens.len() });
                }
                i = end;
                spaced = true;
            }
            b'#' | b'%' if fresh && (b[i] == b'#' || at(b, i + 1) == b':') => {
                let end = directive_end(b, i);
                // A comment at the end of a directive's line may speak to us too.
                if let Some(k) = text.get(i..end).and_then(|t| t.find("warpwright:")) {
                    if let Some(c) = text.get(i..i + k).and_then(|t| t.rfind("//")) {
                        out.comments
                            .push(Comment { span: Span::new(i + c, end), next: out.tokens.len() + 1 });
                    }
                }
                out.tokens.push(Token {
                    kind: Kind::Directive,
                    column_zero: i == line_start,
                    spaced,
                    start: i as u32,
                    end: end as u32,
                });
                i = end;
                if out.tokens.last().is_some_and(&mut stop) {
                    return;
                }
            }
            _ => {
                let (end, kind) = token_end(b, i);
                let end = end.min(b.len());
                out.tokens.push(Token {
                    kind,
                    column_zero: fresh && i == line_start,
                    spaced,
                    start: i as u32,
                    end: end as u32,
                });
                i = end;
                (fresh, spaced) = (false, false);
                if out.tokens.last().is_some_and(&mut stop) {
                    return;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const PIECES: [&str; 28] = [
        "a",
        "1",
        " ",
        "\n",
        "\r",
        "\r\n",
        "#",
        "#if x // warpwright: y\n",
        "//",
        "/*",
        "*/",
        "/",
        "\"",
        "'",
        "\\",
        "\\\n",
        "<<=",
        "<",
        "=",
        ".",
        "L",
        "é",
        "// warpwright: z\n",
        "1e",
        "R",
        "R\"",
        "(",
        ")",
    ];

    proptest! {
        #![proptest_config(ProptestConfig { cases: 3000, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn an_edited_text_is_cut_as_if_fresh(
            words in prop::collection::vec(0usize..28, 0..60),
            at in any::<usize>(),
            cut in 0usize..4,
            put in prop::collection::vec(0usize..28, 0..4),
        ) {
            let mut words: Vec<&str> = words.into_iter().map(|k| PIECES[k]).collect();
            let old = words.concat();
            let at = at % (words.len() + 1);
            let end = (at + cut).min(words.len());
            words.splice(at..end, put.into_iter().map(|k| PIECES[k]));
            let new = words.concat();
            prop_assert_eq!(relex(&old, &lex(&old), &new), lex(&new), "{:?} {:?}", old, new);
        }
    }
}
