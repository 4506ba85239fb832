//! Marks, suppressions and other words addressed to us, in pragmas and comments.

use std::sync::Arc;

use base::Span;

use crate::lex::{Kind, Lexed};
use crate::{Directive, DirectiveKind};

/// A request to offload the loop whose `for` starts at `before`.
#[derive(Clone, Debug)]
pub(crate) struct Mark {
    pub name: Option<Arc<str>>,
    pub collapse: Option<u32>,
}

/// Reads all directives of a text, in textual order.
pub(crate) fn directives(text: &str, lexed: &Lexed) -> Vec<Directive> {
    let mut out = Vec::new();
    for (k, t) in lexed.tokens.iter().enumerate() {
        if t.kind == Kind::Directive {
            let line = text.get(t.start as usize..t.end as usize).unwrap_or("");
            if let Some(kind) = pragma(line) {
                push(&mut out, kind, t.span(), k + 1, text, lexed);
            }
        }
    }
    for c in &lexed.comments {
        let line = text.get(c.span.range()).unwrap_or("");
        if let Some(kind) = comment(line) {
            push(&mut out, kind, c.span, c.next, text, lexed);
        }
    }
    out.sort_by_key(|d| d.span);
    out
}

fn push(
    out: &mut Vec<Directive>,
    mut kind: DirectiveKind,
    span: Span,
    next: usize,
    text: &str,
    lexed: &Lexed,
) {
    let next = lexed.tokens.iter().skip(next).find(|t| t.kind != Kind::Directive);
    let before = next.map_or(text.len() as u32, |t| t.start);
    if let DirectiveKind::Mark { attached, .. } = &mut kind {
        *attached = next.is_some_and(|t| text.get(t.span().range()) == Some("for"));
    }
    out.push(Directive { kind, span, line: lexed.line(span.start), before });
}

/// `name(arguments)` clauses, whatever separates them.
fn clauses(text: &str) -> Vec<(&str, Option<&str>)> {
    let mut out = Vec::new();
    let mut rest = text;
    loop {
        rest = rest.trim_start_matches(|c: char| !(c.is_alphanumeric() || c == '_'));
        let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == '-')).unwrap_or(rest.len());
        if end == 0 {
            return out;
        }
        let (word, after) = rest.split_at(end);
        rest = after.trim_start();
        let open = match rest.as_bytes().first() {
            Some(b'(') => ')',
            Some(b'[') => ']',
            _ => {
                out.push((word, None));
                continue;
            }
        };
        let close = rest.find(open).unwrap_or(rest.len());
        out.push((word, rest.get(1..close).map(str::trim)));
        rest = rest.get(close + 1..).unwrap_or("");
    }
}

fn mark(clauses: &[(&str, Option<&str>)]) -> DirectiveKind {
    let argument = |name: &str| clauses.iter().find(|c| c.0 == name).and_then(|c| c.1);
    DirectiveKind::Mark {
        name: argument("offload").filter(|n| !n.is_empty()).map(Arc::from),
        collapse: argument("collapse").and_then(|n| n.parse().ok()),
        attached: false,
    }
}

fn pragma(line: &str) -> Option<DirectiveKind> {
    let line = line.strip_prefix('#')?.trim_start().strip_prefix("pragma")?;
    if !line.starts_with(|c: char| c.is_whitespace()) {
        return None;
    }
    let line = line.split("//").next().unwrap_or(line);
    let rest = line.trim();
    if let Some(after) = rest.strip_prefix("ops") {
        let c = clauses(after);
        if after.starts_with(char::is_whitespace) && c.iter().any(|c| c.0 == "target") {
            return Some(mark(&c));
        }
    }
    if let Some(after) = rest.strip_prefix("warpwright") {
        let c = clauses(after);
        if after.starts_with(char::is_whitespace) && c.iter().any(|c| c.0 == "offload") {
            return Some(mark(&c));
        }
    }
    Some(DirectiveKind::Foreign(rest.into()))
}

fn comment(text: &str) -> Option<DirectiveKind> {
    let body = text.strip_prefix("//").or_else(|| text.strip_prefix("/*"))?;
    let body = body.trim_end_matches("*/").trim();
    let rest = body.strip_prefix("warpwright:")?.trim();
    let c = clauses(rest);
    match c.first()? {
        ("offload", _) => Some(mark(&c)),
        ("ignore", codes) => Some(DirectiveKind::Ignore(
            codes.unwrap_or("").split(',').map(str::trim).filter(|s| !s.is_empty()).map(Arc::from).collect(),
        )),
        (name, _) => {
            let arguments = rest.get(name.len()..).unwrap_or("").trim();
            let inner = arguments.strip_prefix('(').and_then(|a| a.strip_suffix(')')).unwrap_or(arguments);
            Some(DirectiveKind::Other((*name).into(), inner.into()))
        }
    }
}
