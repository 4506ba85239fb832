//! Text → preprocessing tokens of C, with directives and our comments set aside.
//!
//! Deliberately absent: any grammar. A token knows its kind and place, no more.

use base::Span;

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
#[derive(Clone, Copy, Debug)]
pub(crate) struct Comment {
    pub span: Span,
    pub next: usize,
}

#[derive(Clone, Debug, Default)]
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
const PUNCT2: [&[u8]; 22] = [
    b"->", b"++", b"--", b"<<", b">>", b"<=", b">=", b"==", b"!=", b"&&", b"||", b"*=", b"/=", b"%=", b"+=",
    b"-=", b"&=", b"^=", b"|=", b"##", b"::", b"[[",
];

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
        return (j, Kind::Ident);
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
            let rest = &b[i..];
            if PUNCT3.iter().any(|p| rest.starts_with(p)) {
                (i + 3, Kind::Punct)
            } else if PUNCT2.iter().any(|p| rest.starts_with(p)) && !rest.starts_with(b"[[") {
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
    for (i, &c) in b.iter().enumerate() {
        if c == b'\n' || (c == b'\r' && at(b, i + 1) != b'\n') {
            out.lines.push(i as u32 + 1);
        }
    }
    let mut i = 0;
    let (mut fresh, mut spaced, mut line_start) = (true, false, 0);
    if text.starts_with('\u{feff}') {
        i = 3;
        line_start = 3;
    }
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
            b'#' if fresh => {
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
            }
        }
    }
    out
}

/// Whether a text holds what only CUDA has: a kernel qualifier, a launch, a built-in thread index.
pub(crate) fn looks_like_cuda(text: &str) -> bool {
    if ["__global__", "<<<", "threadIdx", "__device__", "__shared__"].iter().all(|w| !text.contains(w)) {
        return false;
    }
    // Not in comments or strings.
    let lexed = lex(text);
    let b = text.as_bytes();
    let word = |t: &Token| b.get(t.start as usize..t.end as usize).unwrap_or_default();
    lexed.tokens.windows(2).any(|w| {
        (w[0].kind == Kind::Ident
            && matches!(word(&w[0]), b"__global__" | b"threadIdx" | b"__device__" | b"__shared__"))
            || (word(&w[0]) == b"<<" && word(&w[1]) == b"<" && w[0].end == w[1].start)
    })
}
