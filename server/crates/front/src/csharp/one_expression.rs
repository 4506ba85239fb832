//! Which members are one expression, by their text: what can be read in the place of a use ([`super::inlined`]).

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use base::Span;
use tree_sitter::Node;

use super::outline::{has_modifier, word};
use super::read::{children, walk};

/// The expression that a member is.
#[derive(Clone)]
pub(crate) struct Inline {
    text: Arc<str>,
    /// In the document.
    pub at: Span,
}

/// Where it stands changes nothing of what it means.
impl Hash for Inline {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.text.hash(state);
    }
}

/// A property with code, or an indexer.
#[derive(Clone, Hash)]
pub(crate) struct Property {
    /// Of an indexer none.
    pub name: Option<Arc<str>>,
    pub ty: Arc<str>,
    pub is_static: bool,
    /// Whether it is this one that is meant, with all its parameters.
    pub is_plain: bool,
    /// Of an indexer: names and types.
    pub parameters: Vec<(Arc<str>, Arc<str>)>,
    pub get: Option<Inline>,
    pub set: Option<Inline>,
}

/// What an expression is that could be inlined: text that stands for nothing else.
fn plain(node: Node<'_>) -> bool {
    let mut plain = !node.has_error();
    walk(node, |n| {
        plain &= !matches!(
            n.kind(),
            "lambda_expression"
                | "anonymous_method_expression"
                | "query_expression"
                | "await_expression"
                | "throw_expression"
                | "checked_expression"
                | "declaration_expression"
                | "switch_expression"
                | "is_pattern_expression"
                | "ref_expression"
                | "preproc_if"
        );
        plain
    });
    plain
}

fn only(node: Node<'_>) -> Option<Node<'_>> {
    let mut all = children(node).into_iter();
    all.next().filter(|_| all.next().is_none())
}

/// The one expression of a body: `=> e`, `{ return e; }`, `{ e; }`.
pub(super) fn inline(body: Node<'_>, text: &str) -> Option<Inline> {
    let expression = match body.kind() {
        "arrow_expression_clause" => only(body)?,
        "block" => {
            let statement = only(body)?;
            matches!(statement.kind(), "return_statement" | "expression_statement").then_some(())?;
            only(statement)?
        }
        _ => return None,
    };
    whole(expression, text)
}

/// An expression by itself.
pub(super) fn whole(expression: Node<'_>, text: &str) -> Option<Inline> {
    let words = text.get(expression.byte_range())?;
    plain(expression)
        .then(|| Inline { text: words.into(), at: Span::new(expression.start_byte(), expression.end_byte()) })
}

/// A property or an indexer, with those of its accessors that are expressions.
pub(super) fn property(node: Node<'_>, text: &str) -> Property {
    let has = |m: &str| has_modifier(node, text, m);
    let open = ["virtual", "override", "abstract", "extern", "partial"].iter().any(|m| has(m));
    let (mut get, mut set) = (None, None);
    match node.child_by_field_name("value").filter(|v| v.kind() == "arrow_expression_clause") {
        Some(value) => get = inline(value, text),
        None => {
            for accessor in node.child_by_field_name("accessors").map(children).unwrap_or_default() {
                let of = accessor.child_by_field_name("body").and_then(|b| inline(b, text));
                match &*word(accessor.child_by_field_name("name"), text) {
                    "get" => get = of,
                    "set" => set = of,
                    _ => {}
                }
            }
        }
    }
    let list = node.child_by_field_name("parameters");
    let parameters = list.map(children).unwrap_or_default();
    let lists = word(list, text).split(|c: char| !c.is_alphanumeric()).any(|w| w == "params");
    let parameter = |p: &Node<'_>| {
        let (ty, name) = (p.child_by_field_name("type"), p.child_by_field_name("name"));
        let only = children(*p).len() == 2 && p.kind() == "parameter";
        (only && ty.is_some() && name.is_some()).then(|| (word(name, text), word(ty, text)))
    };
    let plain: Option<Vec<_>> = parameters.iter().map(parameter).collect();
    let is_indexer = node.kind() == "indexer_declaration";
    Property {
        name: (!is_indexer).then(|| word(node.child_by_field_name("name"), text)),
        ty: word(node.child_by_field_name("type"), text),
        is_static: has("static"),
        is_plain: !open && !lists && !node.has_error() && plain.is_some(),
        parameters: plain.unwrap_or_default(),
        get,
        set,
    }
}

/// How many assignments and steps stand in an expression.
pub(super) fn changes(expression: Node<'_>) -> usize {
    let mut n = 0;
    walk(expression, |x| {
        n += usize::from(is_change(x));
        true
    });
    n
}

pub(super) fn is_change(node: Node<'_>) -> bool {
    let mut cursor = node.walk();
    let steps = node.children(&mut cursor).any(|c| matches!(c.kind(), "++" | "--"));
    node.kind() == "assignment_expression" || steps
}

/// Whether parts of an expression are computed only sometimes.
pub(super) fn chooses(expression: Node<'_>) -> bool {
    let mut found = false;
    walk(expression, |n| {
        found |= matches!(n.kind(), "conditional_expression" | "conditional_access_expression");
        let operator = n.child_by_field_name("operator").map_or("", |o| o.kind());
        found |= matches!(operator, "&&" | "||" | "??" | "??=");
        !found
    });
    found
}
