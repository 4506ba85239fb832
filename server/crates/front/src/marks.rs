//! Marks, suppressions and other words addressed to us, as any language's comments hold them. Where its comments are, and
//! what else speaks to us there (pragmas), the language's own front end finds.

use std::sync::Arc;

use crate::language::Comments;
use crate::DirectiveKind;

/// A request to offload the loop that starts at `before`.
#[derive(Clone, Debug)]
pub(crate) struct Mark {
    pub name: Option<Arc<str>>,
    pub collapse: Option<u32>,
}

/// What a comment says, if it is addressed to us.
pub fn of_comment(text: &str, comments: &Comments) -> Option<DirectiveKind> {
    let block = |(open, close): (&str, &'static str)| Some((text.strip_prefix(open)?, close));
    let (body, close) = match text.strip_prefix(comments.line) {
        Some(body) => (body, comments.block.map_or("", |b| b.1)),
        None => comments.block.and_then(block)?,
    };
    let body = if close.is_empty() { body } else { body.trim_end_matches(close) };
    let rest = body.trim().strip_prefix("warpwright:")?.trim();
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

/// `name(arguments)` clauses, whatever separates them.
pub(crate) fn clauses(text: &str) -> Vec<(&str, Option<&str>)> {
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

/// The mark that these clauses make.
pub(crate) fn mark(clauses: &[(&str, Option<&str>)]) -> DirectiveKind {
    let argument = |name: &str| clauses.iter().find(|c| c.0 == name).and_then(|c| c.1);
    DirectiveKind::Mark {
        name: argument("offload").filter(|n| !n.is_empty()).map(Arc::from),
        collapse: argument("collapse").and_then(|n| n.parse().ok()),
        attached: false,
    }
}
