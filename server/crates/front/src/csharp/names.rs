//! What names mean.

use std::sync::Arc;

use rustc_hash::FxHashSet;
use term::SymbolId;
use tree_sitter::Node;

use super::member::{Lower, Member};
use super::read::{children, walk};
use super::types::Ty;

/// A variable.
#[derive(Clone)]
pub(super) struct Var {
    pub symbol: SymbolId,
    pub ty: Ty,
    /// Of an array: the variables with its lengths.
    pub lengths: Vec<SymbolId>,
    /// The symbol is a pointer to it.
    pub by_ref: bool,
}

/// What a name stands for.
#[derive(Clone)]
pub(super) enum Entity {
    Var(Var),
    /// A whole number.
    Constant(i128, Ty),
    /// A variable of the function around.
    Captured(Ty),
    /// A value that is given for a parameter, to be said again at each use.
    Given(super::member::Value),
    /// Nothing that could be relied on, with the reason.
    Unknown(Arc<str>),
}

impl Lower<'_> {
    pub(super) fn declare(&mut self, name: &str, entity: Entity) {
        if let Some(scope) = self.scopes.last_mut() {
            scope.insert(name.into(), entity);
        }
    }

    /// A local name.
    pub(super) fn lookup(&self, name: &str) -> Option<&Entity> {
        self.scopes.iter().rev().find_map(|s| s.get(name))
    }

    /// The variables whose names stand in a node's text.
    pub(super) fn names_in(&mut self, node: Node<'_>) -> Vec<SymbolId> {
        let mut words: Vec<&str> = Vec::new();
        walk(node, |n| {
            if n.kind() == "identifier" {
                words.push(self.text(n));
            }
            true
        });
        let mut out = Vec::new();
        for word in words {
            let var = match self.lookup(word) {
                Some(Entity::Var(v)) => Some(v.clone()),
                _ => self.promoted.get(word).cloned(),
            };
            let outside = self.outside.get(format!("captured {word}").as_str()).copied();
            let own = var.into_iter().flat_map(|v| [v.symbol].into_iter().chain(v.lengths));
            for s in own.chain(outside) {
                if !out.contains(&s) {
                    out.push(s);
                }
            }
        }
        out
    }
}

/// The names that a member sets: by assignment, by a step, as `ref` and `out`.
pub(super) fn assigned<'t>(member: &Member<'_>, text: &'t str) -> FxHashSet<&'t str> {
    assigned_in(&member.bodies, text)
}

/// The names of all that a member declares, in the whole of it and of what is around it: all names at the places of declarations.
pub(super) fn declared<'t>(member: &Member<'_>, text: &'t str) -> FxHashSet<&'t str> {
    let mut out = FxHashSet::default();
    let mut seen = FxHashSet::default();
    let around = member.node.into_iter().chain(member.owner).chain(member.bodies.iter().copied());
    for top in around {
        let mut whole = top;
        // functions in others: what those declare hides fields, too
        while let Some(p) =
            whole.parent().filter(|p| !matches!(p.kind(), "declaration_list" | "compilation_unit"))
        {
            whole = p;
        }
        if !seen.insert(whole.id()) {
            continue;
        }
        walk(whole, |node| {
            let name = match node.kind() {
                "member_access_expression" | "qualified_name" | "invocation_expression" => None,
                "foreach_statement" => node.child_by_field_name("left"),
                "implicit_parameter" => Some(node),
                _ => node.child_by_field_name("name"),
            };
            if node.kind() == "accessor_declaration" {
                out.extend(["value", "field"]);
            }
            let known = name.filter(|n| matches!(n.kind(), "identifier" | "implicit_parameter"));
            out.extend(known.and_then(|n| text.get(n.byte_range())).map(|n| n.trim_start_matches('@')));
            // `var (a, b)`
            if matches!(node.kind(), "tuple_pattern" | "parenthesized_variable_designation") {
                let parts = children(node).into_iter().filter(|c| c.kind() == "identifier");
                out.extend(parts.filter_map(|n| text.get(n.byte_range())));
            }
            true
        });
    }
    out
}

/// Likewise, of these nodes.
pub(super) fn assigned_in<'t>(bodies: &[Node<'_>], text: &'t str) -> FxHashSet<&'t str> {
    let mut out = FxHashSet::default();
    for &body in bodies {
        walk(body, |node| {
            let word = |n: Node<'_>| text.get(n.byte_range()).unwrap_or("");
            match node.kind() {
                "assignment_expression" => {
                    targets(node.child_by_field_name("left"), text, &mut out);
                }
                "prefix_unary_expression" | "postfix_unary_expression"
                    if word(node).starts_with("++")
                        || word(node).starts_with("--")
                        || word(node).ends_with("++")
                        || word(node).ends_with("--") =>
                {
                    targets(children(node).first().copied(), text, &mut out);
                }
                "argument" if by_reference(node) => {
                    targets(children(node).last().copied(), text, &mut out);
                }
                "ref_expression" => targets(children(node).first().copied(), text, &mut out),
                "foreach_statement" => targets(node.child_by_field_name("left"), text, &mut out),
                _ => {}
            }
            true
        });
    }
    out
}

/// Whether an argument goes by reference: `ref x`, `y: out x`.
pub(super) fn by_reference(argument: Node<'_>) -> bool {
    let mut cursor = argument.walk();
    let found = argument.children(&mut cursor).any(|c| matches!(c.kind(), "ref" | "out" | "in"));
    found
}

fn targets<'t>(node: Option<Node<'_>>, text: &'t str, out: &mut FxHashSet<&'t str>) {
    let mut left: Vec<Node<'_>> = node.into_iter().collect();
    while let Some(n) = left.pop() {
        match n.kind() {
            "identifier" => out.extend(text.get(n.byte_range())),
            "member_access_expression" => left.extend(n.child_by_field_name("name")),
            // an element is set, not the array
            "element_access_expression" => {}
            _ => left.extend(children(n)),
        }
    }
}
