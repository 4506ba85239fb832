//! Reading C text by characters: where a parenthesis closes, where a declaration ends. Comments and literals are skipped.

/// Position after what begins at `at`: a comment, a literal, or one byte.
fn step(text: &[u8], at: usize) -> usize {
    let rest = &text[at..];
    if rest.starts_with(b"//") {
        return at + rest.iter().position(|&c| c == b'\n').unwrap_or(rest.len());
    }
    if rest.starts_with(b"/*") {
        let end = rest.windows(2).skip(2).position(|w| w == b"*/");
        return at + end.map_or(rest.len(), |n| n + 4);
    }
    if let quote @ (b'"' | b'\'') = rest[0] {
        let mut n = 1;
        while n < rest.len() && rest[n] != quote {
            n += if rest[n] == b'\\' { 2 } else { 1 };
        }
        return (at + n + 1).min(text.len());
    }
    at + 1
}

/// First position from `at` on that is neither blank nor in a comment.
pub(super) fn skip_blank(text: &str, mut at: usize) -> usize {
    let bytes = text.as_bytes();
    while at < bytes.len() {
        let comment = bytes[at..].starts_with(b"//") || bytes[at..].starts_with(b"/*");
        if !(bytes[at].is_ascii_whitespace() || comment) {
            break;
        }
        at = step(bytes, at);
    }
    at
}

/// Position after the bracket that closes the one at `at`.
pub(super) fn closing(text: &str, at: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let (mut depth, mut at) = (0i32, at);
    while at < bytes.len() {
        match bytes[at] {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth -= 1,
            _ => {}
        }
        at = step(bytes, at);
        if depth == 0 {
            return Some(at);
        }
    }
    None
}

/// Position after the semicolon that ends what `at` stands in.
pub(super) fn after_semicolon(text: &str, at: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let (mut depth, mut at) = (0i32, at);
    while at < bytes.len() {
        match bytes[at] {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth -= 1,
            b';' if depth == 0 => return Some(at + 1),
            _ => {}
        }
        if depth < 0 {
            return None;
        }
        at = step(bytes, at);
    }
    None
}

/// Whether a word stands at `at`.
pub(super) fn word_at(text: &str, at: usize, word: &str) -> bool {
    let Some(rest) = text.get(at..) else { return false };
    rest.strip_prefix(word).is_some_and(|r| !r.starts_with(|c: char| c.is_alphanumeric() || c == '_'))
}
