//! Which directives of a file belong to one conditional.

use rustc_hash::FxHashMap;

use crate::c::lex::{Kind, Token};

/// A conditional directive's place among its siblings.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arm {
    /// The next `#elif`, `#else` or `#endif` of the same conditional.
    pub next: usize,
    /// The `#endif`.
    pub end: usize,
}

/// Pairs up conditionals; an unclosed one ends with the file.
pub(crate) fn arms(text: &str, tokens: &[Token]) -> FxHashMap<usize, Arm> {
    let mut out: FxHashMap<usize, Arm> = FxHashMap::default();
    let mut open: Vec<Vec<usize>> = Vec::new();
    let mut close = |group: Vec<usize>, end: usize| {
        for (k, &at) in group.iter().enumerate() {
            let next = group.get(k + 1).copied().unwrap_or(end);
            out.insert(at, Arm { next, end });
        }
    };
    for (k, t) in tokens.iter().enumerate() {
        if t.kind != Kind::Directive {
            continue;
        }
        match word(text, t) {
            "if" | "ifdef" | "ifndef" => open.push(vec![k]),
            "elif" | "else" | "elifdef" | "elifndef" => {
                if let Some(g) = open.last_mut() {
                    g.push(k);
                }
            }
            "endif" => {
                if let Some(g) = open.pop() {
                    close(g, k);
                }
            }
            _ => {}
        }
    }
    while let Some(g) = open.pop() {
        close(g, tokens.len());
    }
    out
}

/// A directive's first word.
fn word<'a>(text: &'a str, t: &Token) -> &'a str {
    let line = text.get(t.span().range()).unwrap_or("");
    let rest = line.get(1..).unwrap_or("").trim_start_matches([' ', '\t']);
    let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
    rest.get(..end).unwrap_or("")
}
