//! Statements around statements: `try`, `lock`, `using`, `fixed`, labels, `switch` over patterns, `#if`. What they do by themselves
//! is a gap; the statements in them are read, behind a gap that leaves no variable its value where control may come from anywhere.

use term::{Op, SymbolId, TermId};
use tree_sitter::Node;

use super::member::Lower;
use super::names::{assigned_in, Entity};
use super::read::{child, children, walk};

impl<'a> Lower<'a> {
    pub(super) fn guarded(&mut self, node: Node<'a>, out: &mut Vec<TermId>) {
        match node.kind() {
            "try_statement" => self.tried(node, out),
            "lock_statement" => {
                let parts = children(node);
                let Some((body, of)) = parts.split_last() else { return out.push(self.fault(node)) };
                let reason = "`lock` waits for other threads";
                out.push(match of.first() {
                    Some(of) => self.gap(reason, *of),
                    None => self.shuffle(reason, node, &[]),
                });
                out.push(self.block(*body));
            }
            "using_statement" => self.using(node, out),
            "fixed_statement" => {
                self.scopes.push(Default::default());
                if let Some(declaration) = child(node, "variable_declaration") {
                    self.pinned(declaration, out);
                }
                if let Some(body) = children(node).last().filter(|b| b.kind() != "variable_declaration") {
                    out.push(self.block(*body));
                }
                self.scopes.pop();
            }
            "labeled_statement" => {
                let parts = children(node);
                let Some((label, rest)) = parts.split_first() else { return out.push(self.fault(node)) };
                let name = self.text(*label);
                out.push(self.statement(Op::Label(name.into()), [], *label));
                for inner in rest {
                    self.stmt(*inner, out);
                }
            }
            "goto_statement" => {
                let to = children(node);
                let words = self.text(node).split_whitespace().nth(1).unwrap_or("");
                match to.as_slice() {
                    [label] if label.kind() == "identifier" && !words.starts_with("case") => {
                        let name = self.text(*label);
                        out.push(self.statement(Op::Goto(name.into()), [], node));
                    }
                    _ => out.push(self.gap("`goto` is not followed", node)),
                }
            }
            _ => self.conditional_text(node, out),
        }
    }

    /// `try`: its parts run or do not, and between them every variable that they set may have any of its values.
    fn tried(&mut self, node: Node<'a>, out: &mut Vec<TermId>) {
        let reason = "`try` catches what is thrown in it, which is not followed";
        let mut names: Vec<SymbolId> = Vec::new();
        for word in assigned_in(&[node], self.document) {
            if let Some(Entity::Var(var)) = self.lookup(word) {
                names.push(var.symbol);
                names.extend(&var.lengths);
            }
        }
        names.sort();
        for part in children(node) {
            let body = match part.kind() {
                "block" => Some(part),
                "catch_clause" | "finally_clause" => {
                    part.child_by_field_name("body").or_else(|| child(part, "block"))
                }
                _ => None,
            };
            let Some(body) = body else {
                out.push(self.gap(reason, part));
                continue;
            };
            self.scopes.push(Default::default());
            if let Some(name) = child(part, "catch_declaration").and_then(|d| d.child_by_field_name("name")) {
                let name = self.text(name);
                self.declare(name, Entity::Unknown("what was thrown is not followed".into()));
            }
            let condition = self.shuffle(reason, part, &names);
            let mut inside = Vec::new();
            if let Some(filter) = child(part, "catch_filter_clause") {
                inside.push(self.gap(reason, filter));
            }
            inside.push(self.block(body));
            self.scopes.pop();
            let inside = self.statement(Op::List, inside, part);
            out.push(self.statement(Op::If, [condition, inside], part));
        }
        out.push(self.shuffle(reason, node, &names));
    }

    fn using(&mut self, node: Node<'a>, out: &mut Vec<TermId>) {
        let reason = "`using` calls `Dispose` at its end";
        let Some(body) = node.child_by_field_name("body") else { return out.push(self.gap(reason, node)) };
        self.scopes.push(Default::default());
        for part in children(node).into_iter().filter(|p| p.id() != body.id()) {
            out.push(self.gap(reason, part));
            self.forget(part, "it is disposed of at the end");
        }
        out.push(self.block(body));
        self.scopes.pop();
        for part in children(node).into_iter().filter(|p| p.id() != body.id()) {
            out.push(self.gap(reason, part));
        }
    }

    /// `int* p = a` of `fixed`.
    fn pinned(&mut self, declaration: Node<'a>, out: &mut Vec<TermId>) {
        let reason = "`fixed` makes pointers, which are not followed";
        out.push(self.gap(reason, declaration));
        self.forget(declaration, "pointers are not followed");
    }

    /// `#if` among statements: which branch counts is not known.
    fn conditional_text(&mut self, node: Node<'a>, out: &mut Vec<TermId>) {
        let reason = "which branch of `#if` counts is not known";
        let mut at = Some(node);
        while let Some(branch) = at {
            let condition = branch.child_by_field_name("condition");
            let rest = branch.child_by_field_name("alternative");
            self.scopes.push(Default::default());
            let mut inside = Vec::new();
            let is_part = |n: &Node<'_>| {
                Some(n.id()) != condition.map(|c| c.id()) && Some(n.id()) != rest.map(|r| r.id())
            };
            for inner in children(branch).into_iter().filter(is_part) {
                self.stmt(inner, &mut inside);
            }
            let made = self.scopes.pop().unwrap_or_default();
            for name in made.into_keys() {
                self.declare(&name, Entity::Unknown(reason.into()));
            }
            let asked = self.shuffle(reason, condition.unwrap_or(branch), &[]);
            let inside = self.statement(Op::List, inside, branch);
            out.push(self.statement(Op::If, [asked, inside], branch));
            at = rest;
        }
    }

    /// `switch` over what is no number, or with patterns: any section may be the one that runs.
    pub(super) fn switch_of_patterns(
        &mut self,
        node: Node<'a>,
        value: Node<'a>,
        body: Node<'a>,
        out: &mut Vec<TermId>,
    ) {
        let reason = "a `switch` over patterns is not followed";
        out.push(self.gap(reason, value));
        let int = self.b.types.int(term::IntKind::Int);
        let asked = self.shuffle(reason, value, &[]);
        let mut asked_term = self.b.get(asked).clone();
        asked_term.ty = int;
        self.b.set(asked, asked_term);
        self.scopes.push(Default::default());
        let mut items = Vec::new();
        for (number, section) in children(body).into_iter().enumerate() {
            let mut cursor = section.walk();
            let parts: Vec<Node<'a>> = section.children(&mut cursor).collect();
            let is_default = parts.iter().any(|p| p.kind() == "default");
            let at = parts.first().copied().unwrap_or(section);
            let label = self.term(Op::Int(number as i128), [], int, at);
            items.push(match is_default {
                true => self.statement(Op::Default, [], at),
                false => self.statement(Op::Case, [label], at),
            });
            for part in parts {
                let kind = part.kind();
                if kind.ends_with("_statement") || kind == "block" {
                    self.stmt(part, &mut items);
                } else if part.is_named() && !super::read::is_aside(part) && part.kind() != "default" {
                    self.bound_by(part);
                    items.push(self.gap(reason, part));
                }
            }
        }
        self.scopes.pop();
        let list = self.statement(Op::List, items, body);
        out.push(self.statement(Op::Switch, [asked, list], node));
    }

    /// The variables that a pattern makes.
    fn bound_by(&mut self, pattern: Node<'a>) {
        let mut made: Vec<&'a str> = Vec::new();
        walk(pattern, |n| {
            if n.kind().ends_with("_pattern") {
                made.extend(n.child_by_field_name("name").map(|n| self.text(n)));
            }
            true
        });
        for name in made {
            self.declare(name, Entity::Unknown("patterns are not followed".into()));
        }
    }

    /// A statement that nothing is known of but what it may touch, and that does not leave.
    pub(super) fn passed(&mut self, reason: &str, node: Node<'a>) -> TermId {
        self.leave(node, reason);
        let names = self.names_in(node);
        self.shuffle(reason, node, &names)
    }
}
