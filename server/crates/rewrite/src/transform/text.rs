//! C text cut into statements and put together again: whoever rewrites a loop moves the user's own characters.
//!
//! A scanner that knows comments, strings and brackets and nothing else; what a statement means is `term`'s business.

use base::Span;

/// A token of C text, comments and white space left out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Token {
    pub span: Span,
    pub kind: TokenKind,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum TokenKind {
    Word,
    /// Numbers, strings, characters.
    Literal,
    /// One byte of punctuation.
    Sign(u8),
    /// A whole preprocessor line.
    Directive,
}

/// The tokens of `text[span]`.
pub(crate) fn tokens(text: &str, span: Span) -> Vec<Token> {
    let bytes = text.as_bytes();
    let (mut at, end) = (span.start as usize, (span.end as usize).min(bytes.len()));
    let mut out = Vec::new();
    let mut first_on_line = text.get(line_start(text, at)..at).is_some_and(|s| s.trim().is_empty());
    while at < end {
        let b = bytes[at];
        let from = at;
        if b == b'\n' {
            at += 1;
            first_on_line = true;
            continue;
        }
        if b.is_ascii_whitespace() || b == b'\\' {
            at += 1;
            continue;
        }
        if b == b'/' && bytes.get(at + 1) == Some(&b'/') {
            at = line_end(text, at).min(end);
            continue;
        }
        if b == b'/' && bytes.get(at + 1) == Some(&b'*') {
            at = text.get(at + 2..end).and_then(|t| t.find("*/")).map_or(end, |k| at + 2 + k + 2);
            continue;
        }
        let kind = if b == b'#' && first_on_line {
            at = line_end(text, at).min(end);
            while bytes.get(at.wrapping_sub(1)) == Some(&b'\\') && at < end {
                at = line_end(text, at + 1).min(end);
            }
            TokenKind::Directive
        } else if b.is_ascii_alphabetic() || b == b'_' || b >= 0x80 {
            while at < end && (bytes[at].is_ascii_alphanumeric() || bytes[at] == b'_' || bytes[at] >= 0x80) {
                at += 1;
            }
            TokenKind::Word
        } else if b.is_ascii_digit() || (b == b'.' && bytes.get(at + 1).is_some_and(u8::is_ascii_digit)) {
            while at < end
                && (bytes[at].is_ascii_alphanumeric()
                    || bytes[at] == b'.'
                    || (matches!(bytes[at], b'+' | b'-')
                        && matches!(bytes[at - 1], b'e' | b'E' | b'p' | b'P')))
            {
                at += 1;
            }
            TokenKind::Literal
        } else if b == b'"' || b == b'\'' {
            at += 1;
            while at < end && bytes[at] != b {
                at += if bytes[at] == b'\\' { 2 } else { 1 };
            }
            at = (at + 1).min(end);
            TokenKind::Literal
        } else {
            at += 1;
            TokenKind::Sign(b)
        };
        first_on_line = false;
        out.push(Token { span: Span::new(from, at), kind });
    }
    out
}

pub(crate) fn line_start(text: &str, at: usize) -> usize {
    text.get(..at).and_then(|t| t.rfind('\n')).map_or(0, |k| k + 1)
}

/// The end of the line without its terminator.
pub(crate) fn line_end(text: &str, at: usize) -> usize {
    let end = text.get(at..).and_then(|t| t.find('\n')).map_or(text.len(), |k| at + k);
    if end > at && text.as_bytes().get(end - 1) == Some(&b'\r') {
        end - 1
    } else {
        end
    }
}

/// White space at the start of the line an offset is on.
pub(crate) fn indentation(text: &str, at: usize) -> &str {
    let start = line_start(text, at);
    let line = text.get(start..).unwrap_or("");
    let len = line.find(|c: char| c != ' ' && c != '\t').unwrap_or(line.len());
    &line[..len.min(at.saturating_sub(start))]
}

/// Position after the statement that begins at token `k`.
fn statement_end(text: &str, ts: &[Token], mut k: usize) -> Option<usize> {
    while matches!(ts.get(k)?.kind, TokenKind::Directive) {
        k += 1;
    }
    let word = |k: usize| ts.get(k).and_then(|t| text.get(t.span.range())).unwrap_or("");
    match word(k) {
        "{" => closing(ts, k).map(|e| e + 1),
        "if" => {
            let mut end = statement_end(text, ts, closing(ts, k + 1)? + 1)?;
            if word(end) == "else" {
                end = statement_end(text, ts, end + 1)?;
            }
            Some(end)
        }
        "for" | "while" | "switch" => statement_end(text, ts, closing(ts, k + 1)? + 1),
        "do" => {
            let end = statement_end(text, ts, k + 1)?;
            let close = closing(ts, end + 1)?;
            (word(end) == "while" && word(close + 1) == ";").then_some(close + 2)
        }
        _ => {
            let mut at = k;
            loop {
                match ts.get(at)?.kind {
                    TokenKind::Sign(b';') => return Some(at + 1),
                    TokenKind::Sign(b'(' | b'[' | b'{') => at = closing(ts, at)? + 1,
                    TokenKind::Sign(b')' | b']' | b'}') => return None,
                    _ => at += 1,
                }
            }
        }
    }
}

/// The bracket that closes the one at `k`.
pub(crate) fn closing(ts: &[Token], k: usize) -> Option<usize> {
    if !matches!(ts.get(k)?.kind, TokenKind::Sign(b'(' | b'[' | b'{')) {
        return None;
    }
    let mut depth = 0usize;
    for (n, t) in ts.iter().enumerate().skip(k) {
        match t.kind {
            TokenKind::Sign(b'(' | b'[' | b'{') => depth += 1,
            TokenKind::Sign(b')' | b']' | b'}') => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some(n);
                }
            }
            _ => {}
        }
    }
    None
}

/// A statement with the comments before it and the one after it on its line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Chunk {
    /// First to last character of the statement.
    pub code: Span,
    /// With comments.
    pub whole: Span,
}

/// The statements of `text[span]` (what stands between braces, or one statement). `None`: it does not read as such.
pub(crate) fn chunks(text: &str, span: Span) -> Option<Vec<Chunk>> {
    let ts = tokens(text, span);
    let mut out: Vec<Chunk> = Vec::new();
    let mut k = 0;
    let mut from = span.start as usize;
    while k < ts.len() {
        let end = statement_end(text, &ts, k)?;
        let code = ts[k].span.cover(ts[end - 1].span);
        let between = text.get(from..code.start as usize)?;
        let start = from + between.find(|c: char| !c.is_whitespace()).unwrap_or(between.len());
        // a comment after it on its line belongs to it, if nothing else follows there
        let mut stop = code.end as usize;
        let line = line_end(text, stop).min(span.end as usize);
        let next = ts.get(end).map_or(span.end as usize, |t| t.span.start as usize);
        if line <= next {
            let rest = text.get(stop..line)?;
            let opens = rest.trim_start().starts_with("//") || rest.contains("*/");
            if opens && !rest.trim().is_empty() {
                stop += rest.trim_end().len();
            }
        }
        out.push(Chunk { code, whole: Span::new(start, stop) });
        from = stop;
        k = end;
    }
    Some(out)
}

/// Text whose lines after the first begin with `old`, begun with `new` instead.
pub(crate) fn reindent(text: &str, old: &str, new: &str) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    for (k, line) in text.split('\n').enumerate() {
        if k > 0 {
            out.push('\n');
        }
        let blank = line.trim().is_empty();
        match line.strip_prefix(old) {
            Some(rest) if k > 0 && !blank => {
                out.push_str(new);
                out.push_str(rest);
            }
            _ => out.push_str(line),
        }
    }
    out
}

/// Lines being written in the place of a statement.
pub(crate) struct Lines {
    out: String,
    indent: String,
    unit: String,
    eol: &'static str,
    /// Whether opening braces stand on lines of their own.
    brace_below: bool,
}

impl Lines {
    pub(crate) fn new(indent: &str, unit: &str, eol: &'static str, brace_below: bool) -> Lines {
        Lines { out: String::new(), indent: indent.to_owned(), unit: unit.to_owned(), eol, brace_below }
    }
    pub(crate) fn line(&mut self, text: &str) {
        if !self.out.is_empty() {
            self.out.push_str(self.eol);
        }
        if !text.is_empty() {
            self.out.push_str(&self.indent);
            self.out.push_str(text);
        }
    }
    /// Code that stood at indentation `old`, with its own line breaks.
    pub(crate) fn code(&mut self, text: &str, old: &str) {
        let text = reindent(text, old, &self.indent);
        self.line(&text);
    }
    /// `head {`, indented from here on.
    pub(crate) fn open(&mut self, head: &str) {
        if self.brace_below && !head.is_empty() {
            self.line(head);
            self.line("{");
        } else if head.is_empty() {
            self.line("{");
        } else {
            self.line(&format!("{head} {{"));
        }
        self.deeper();
    }
    pub(crate) fn close(&mut self) {
        self.shallower();
        self.line("}");
    }
    pub(crate) fn deeper(&mut self) {
        self.indent.push_str(&self.unit);
    }
    pub(crate) fn shallower(&mut self) {
        let len = self.indent.len().saturating_sub(self.unit.len());
        self.indent.truncate(len);
    }
    /// The text, whose first line begins where the replaced statement did.
    pub(crate) fn finish(self, first_indent: &str) -> String {
        self.out.strip_prefix(first_indent).map(str::to_owned).unwrap_or(self.out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(text: &str) -> Vec<String> {
        let all = chunks(text, Span::new(0, text.len())).expect("it reads");
        all.iter().map(|c| text[c.whole.range()].to_owned()).collect()
    }

    #[test]
    fn statements_keep_their_comments() {
        let text = "\n  /* one */ a = 1; // first\n  // two\n  if (x) { b; } else c = \"};\";\n  do f(); while (1);\n";
        assert_eq!(
            cut(text),
            ["/* one */ a = 1; // first", "// two\n  if (x) { b; } else c = \"};\";", "do f(); while (1);"]
        );
    }

    #[test]
    fn what_does_not_read_is_not_cut() {
        for text in ["a = (1; b = 2;", "if (x)", "a = 1"] {
            assert_eq!(chunks(text, Span::new(0, text.len())), None, "{text}");
        }
    }

    #[test]
    fn numbers_with_exponents_are_one_token() {
        let ts = tokens("1e-3+.5f", Span::new(0, 8));
        assert_eq!(ts.len(), 3, "{ts:?}");
    }
}
