//! Marks, suppressions and other words addressed to us, as any language's comments hold them. Where its comments are, and
//! what else speaks to us there (pragmas), the language's own front end finds.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::language::Comments;
use crate::{speaks_of, Directive, DirectiveKind, PromiseText};

/// What is said of what begins at a token.
#[derive(Clone, Debug, Default)]
pub(crate) struct Mark {
    /// A request to offload the loop.
    pub offload: Option<Request>,
    /// Promises, each with its place in the file.
    pub promises: Vec<(Arc<str>, u32)>,
}

/// A request to offload a loop.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub name: Option<Arc<str>>,
    pub collapse: Option<u32>,
}

/// What the directives of a text say, by the offset of the token they speak of.
pub(crate) fn by_place(directives: &[Directive]) -> FxHashMap<u32, Mark> {
    let mut marks: FxHashMap<u32, Mark> = FxHashMap::default();
    for (k, d) in directives.iter().enumerate() {
        match &d.kind {
            DirectiveKind::Mark { name, collapse, attached: true } => {
                let request = Request { name: name.clone(), collapse: *collapse };
                marks.entry(d.before).or_default().offload = Some(request);
            }
            DirectiveKind::Assume(promises) => {
                let at = |p: &PromiseText| (p.text.clone(), d.span.start + p.at);
                marks.entry(speaks_of(directives, k)).or_default().promises.extend(promises.iter().map(at));
            }
            _ => {}
        }
    }
    marks
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
        ("assume", _) => Some(DirectiveKind::Assume(promises(text, rest.get("assume".len()..)?))),
        (name, _) => {
            let arguments = rest.get(name.len()..).unwrap_or("").trim();
            let inner = arguments.strip_prefix('(').and_then(|a| a.strip_suffix(')')).unwrap_or(arguments);
            Some(DirectiveKind::Other((*name).into(), inner.into()))
        }
    }
}

/// The promises of a list in parentheses that stands in a comment; all of it as one where it is no such list.
fn promises(comment: &str, list: &str) -> Arc<[PromiseText]> {
    // a part of the comment: where it begins in it
    let at = |part: &str| (part.as_ptr() as usize).saturating_sub(comment.as_ptr() as usize) as u32;
    let one = |part: &str| PromiseText { text: part.trim().into(), at: at(part.trim_start()) };
    match list.trim().strip_prefix('(').and_then(|l| l.strip_suffix(')')) {
        Some(inner) => parts(inner).into_iter().map(one).collect(),
        None => [one(list)].into(),
    }
}

/// What commas outside of brackets separate.
pub(crate) fn parts(list: &str) -> Vec<&str> {
    let (mut depth, mut from, mut out) = (0usize, 0, Vec::new());
    for (k, c) in list.char_indices() {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                out.extend(list.get(from..k));
                from = k + 1;
            }
            _ => {}
        }
    }
    out.extend(list.get(from..));
    out
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
