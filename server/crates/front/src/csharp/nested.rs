//! Functions in functions (local ones, lambdas, anonymous methods), and loops in places that are not read.
//!
//! A function in a function is an item of its own, within the span of the one around. When it runs is not known: variables of
//! the function around are fields to it, which it has to itself while it runs if it calls nothing that is not seen. Of those,
//! the function around believes after its calls only what no inner one sets.
//!
//! A loop in a place that is not read is listed all the same: as a loop of which nothing is known, with the reason.

use std::sync::Arc;

use base::Span;
use rustc_hash::FxHashMap;
use term::{BodyBuilder, Op, Reach, RejectKind, Storage, SymbolId, TermId, TypeKind};
use tree_sitter::Node;

use super::member::{Lower, Member, Value};
use super::names::{assigned_in, Entity, Var};
use super::read::{is_loop, walk};
use super::types::Ty;

/// A function in a function, with what its names mean.
pub(super) struct Nested<'t> {
    pub node: Node<'t>,
    pub body: Node<'t>,
    pub captured: Vec<(Arc<str>, Entity)>,
}

/// Whether a node is a function in a function.
pub(super) fn is_function(kind: &str) -> bool {
    matches!(kind, "lambda_expression" | "anonymous_method_expression" | "local_function_statement")
}

/// What it runs.
pub(super) fn body_of(node: Node<'_>) -> Option<Node<'_>> {
    node.child_by_field_name("body").or_else(|| super::read::child(node, "block"))
}

impl<'a> Lower<'a> {
    /// Notes the functions and loops in a place that is not read.
    pub(super) fn leave(&mut self, node: Node<'a>, reason: &str) {
        let mut inner: Vec<Node<'a>> = Vec::new();
        let mut loops: Vec<Node<'a>> = Vec::new();
        let mut referred: Vec<Node<'a>> = Vec::new();
        walk(node, |n| {
            if is_function(n.kind()) && body_of(n).is_some() {
                inner.push(n);
                return false;
            }
            if is_loop(n.kind()) {
                loops.push(n);
                return false;
            }
            let address = n.kind() == "prefix_unary_expression" && self.text(n).starts_with('&');
            if n.kind() == "ref_expression" || address {
                referred.push(n);
            }
            true
        });
        for n in inner {
            self.nested(n);
        }
        for n in loops {
            if !self.unlisted.iter().any(|(l, _)| l.id() == n.id()) {
                self.unlisted.push((n, reason.into()));
            }
            // functions in it
            let mut below = Vec::new();
            walk(n, |x| {
                let found = is_function(x.kind()) && body_of(x).is_some();
                if found {
                    below.push(x);
                }
                !found
            });
            below.into_iter().for_each(|x| self.nested(x));
        }
        // another name for a variable
        for n in referred {
            for s in self.names_in(n) {
                self.b.symbols[s].address_taken = true;
            }
        }
    }

    /// Notes a function in this one.
    pub(super) fn nested(&mut self, node: Node<'a>) {
        let Some(body) = body_of(node).filter(|_| !self.inner.iter().any(|i| i.node.id() == node.id()))
        else {
            return;
        };
        // what it sets may be set by any call
        let mut set: Vec<SymbolId> = Vec::new();
        let text = self.document;
        for name in assigned_in(&[body], text) {
            if let Some(Entity::Var(var)) = self.lookup(name) {
                set.push(var.symbol);
                set.extend(&var.lengths);
            }
        }
        // and what an array or object is that it names, it may tell others
        let mut named = Vec::new();
        walk(body, |x| {
            if x.kind() == "identifier" {
                if let Some(Entity::Var(var)) = self.lookup(text.get(x.byte_range()).unwrap_or("")) {
                    named.push(var.symbol);
                }
            }
            true
        });
        let is_pointer =
            |s: &SymbolId| matches!(self.b.types.kind(self.b.symbols[*s].ty), TypeKind::Pointer { .. });
        named.retain(is_pointer);
        for s in set.into_iter().chain(named) {
            self.b.symbols[s].address_taken = true;
        }
        let mut captured: FxHashMap<Arc<str>, Entity> = FxHashMap::default();
        for scope in &self.scopes {
            for (name, entity) in scope {
                let seen = match entity {
                    Entity::Var(var) if var.by_ref => {
                        Entity::Unknown("references are not seen by functions in functions".into())
                    }
                    Entity::Var(var) => Entity::Captured(var.ty.clone()),
                    other => other.clone(),
                };
                captured.insert(name.clone(), seen);
            }
        }
        let mut captured: Vec<_> = captured.into_iter().collect();
        captured.sort_by(|a, b| a.0.cmp(&b.0));
        self.inner.push(Nested { node, body, captured });
    }

    /// A variable of the function around: with one value while this one runs, or one that others may set.
    pub(super) fn captured(&mut self, name: &str, ty: &Ty, node: Node<'_>) -> Value {
        if self.promotes && !self.assigned.contains(name) {
            let var: Var = match self.promoted.get(name) {
                Some(var) => var.clone(),
                None => {
                    let var = self.new_parameter(name, ty.clone(), None);
                    self.promoted.insert(name.into(), var.clone());
                    var
                }
            };
            return self.variable_value(&var, node);
        }
        let key = format!("captured {name}");
        let symbol = match self.outside.get(key.as_str()) {
            Some(&s) => s,
            None => {
                let repr = self.repr(ty);
                let storage = Storage::Global { defined_here: true, internal: false, constant: false };
                let s = self.symbol(name, repr, storage, None);
                self.outside.insert(key.into(), s);
                s
            }
        };
        let repr = self.b.symbols[symbol].ty;
        let t = self.term(Op::Sym(symbol), [], repr, node);
        self.value(t, ty.clone())
    }

    /// The loops that were left unread since, as loops of which nothing is known.
    pub(super) fn list_unread(&mut self, out: &mut Vec<TermId>) {
        let from = self.member.span.start as usize;
        for (node, reason) in std::mem::take(&mut self.unlisted) {
            out.push(unread(&mut self.b, from, node, &reason, &outside_functions));
        }
    }
}

/// A loop of which nothing is known, with those in it that `counts` says. `from`: where the body's text begins.
pub(super) fn unread(
    b: &mut BodyBuilder,
    from: usize,
    node: Node<'_>,
    reason: &str,
    counts: &dyn Fn(Node<'_>) -> Which,
) -> TermId {
    let place = |start: usize, end: usize| Span::new(start.saturating_sub(from), end.saturating_sub(from));
    let whole = place(node.start_byte(), node.end_byte());
    let body = node.child_by_field_name("body").filter(|x| x.start_byte() > node.start_byte());
    let head = place(node.start_byte(), body.map_or(node.end_byte(), |x| x.start_byte()));
    let inner = loops_below(node, counts);
    let within = |x: Node<'_>, l: &Node<'_>| x.start_byte() <= l.start_byte() && l.end_byte() <= x.end_byte();
    let inside = body.filter(|x| inner.iter().all(|l| within(*x, l)));
    let inside = inside.map_or(whole, |x| place(x.start_byte(), x.end_byte()));
    let void = b.types.void();
    let condition = b.reject_that(RejectKind::Unsupported, reason, head, Reach::Named, Vec::new());
    let mut items = vec![b.reject_that(RejectKind::Unsupported, reason, inside, Reach::Named, Vec::new())];
    items.extend(inner.into_iter().map(|l| unread(b, from, l, reason, counts)));
    let list = b.term(Op::List, items, void, inside);
    b.term(Op::While, [condition, list], void, whole)
}

/// What is done with a node on the way to loops.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Which {
    /// It is a loop to be listed.
    Take,
    /// Its parts are looked at.
    Enter,
    /// Others list what is in it.
    Skip,
}

/// All loops but those in functions.
pub(super) fn outside_functions(n: Node<'_>) -> Which {
    match is_loop(n.kind()) {
        true => Which::Take,
        false if is_function(n.kind()) && body_of(n).is_some() => Which::Skip,
        false => Which::Enter,
    }
}

/// The outermost loops below a node.
pub(super) fn loops_below<'t>(node: Node<'t>, counts: &dyn Fn(Node<'t>) -> Which) -> Vec<Node<'t>> {
    let mut out = Vec::new();
    walk(node, |n| {
        let which = if n.id() == node.id() { Which::Enter } else { counts(n) };
        if which == Which::Take {
            out.push(n);
        }
        which == Which::Enter
    });
    out
}

impl<'t> Member<'t> {
    /// A function in this one.
    pub(super) fn inner(&self, nested: Nested<'t>, number: usize, text: &str) -> Member<'t> {
        let Nested { node, body, captured } = nested;
        let name = node.child_by_field_name("name").and_then(|n| text.get(n.byte_range()));
        let name = match name {
            Some(name) => format!("{}.{name}", self.name),
            None => format!("{}.lambda{number}", self.name),
        };
        Member {
            span: Span::new(node.start_byte(), node.end_byte()),
            node: Some(node),
            owner: None,
            bodies: vec![body],
            name: name.into(),
            of: self.of.clone(),
            is_static: self.is_static,
            // a field that is `readonly` is not set by a lambda, but while one runs it may not have been set yet
            is_constructor: self.is_constructor,
            is_lazy: super::outline::has_modifier(node, text, "async"),
            captured,
        }
    }
}
