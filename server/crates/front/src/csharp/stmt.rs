//! Statements.

use term::{BinOp, Op, Overflow, TermId};
use tree_sitter::Node;

use super::member::{Lower, Value};
use super::names::Entity;
use super::read::{child, children};
use super::types::Ty;
use crate::limits::csharp::MAX_DEPTH;

impl<'a> Lower<'a> {
    /// All statements of a block, in the current scope.
    pub(super) fn statements(&mut self, block: Node<'a>, out: &mut Vec<TermId>) {
        if block.kind() != "block" {
            return self.stmt(block, out);
        }
        let mut cursor = block.walk();
        let all: Vec<Node<'a>> = block.children(&mut cursor).collect();
        for node in all {
            if node.is_missing() {
                out.push(self.fault(node));
            } else if node.is_named() && !super::read::is_aside(node) {
                self.stmt(node, out);
            }
        }
    }

    /// A statement as a block with its own scope.
    pub(super) fn block(&mut self, node: Node<'a>) -> TermId {
        self.scopes.push(Default::default());
        let mut items = Vec::new();
        self.statements(node, &mut items);
        self.scopes.pop();
        self.statement(Op::List, items, node)
    }

    /// Whether a part of a statement that is not a statement itself has a fault.
    fn is_header_broken(&self, node: Node<'_>) -> bool {
        let mut cursor = node.walk();
        let own =
            |n: &Node<'_>| !n.kind().ends_with("_statement") && !matches!(n.kind(), "block" | "switch_body");
        let broken =
            node.children(&mut cursor).any(|c| c.is_error() || c.is_missing() || (own(&c) && c.has_error()));
        broken
    }

    /// Lowers a statement; several terms may come of it.
    pub(super) fn stmt(&mut self, node: Node<'a>, out: &mut Vec<TermId>) {
        self.stmt_inner(node, out);
        self.list_unread(out);
    }

    fn stmt_inner(&mut self, node: Node<'a>, out: &mut Vec<TermId>) {
        if node.is_error() || node.is_missing() {
            return out.push(self.fault(node));
        }
        let compound = matches!(
            node.kind(),
            "block"
                | "if_statement"
                | "for_statement"
                | "foreach_statement"
                | "while_statement"
                | "do_statement"
                | "switch_statement"
                | "checked_statement"
                | "unsafe_statement"
                | "global_statement"
                | "try_statement"
                | "lock_statement"
                | "using_statement"
                | "fixed_statement"
                | "labeled_statement"
        );
        if node.has_error() && (!compound || (self.is_header_broken(node) && node.kind() != "block")) {
            return out.push(self.fault(node));
        }
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            out.push(self.gap("it is nested too deeply", node));
        } else {
            self.stmt_of_kind(node, out);
        }
        self.depth -= 1;
    }

    fn stmt_of_kind(&mut self, node: Node<'a>, out: &mut Vec<TermId>) {
        let part = |name: &str| node.child_by_field_name(name);
        match node.kind() {
            "block" => {
                let block = self.block(node);
                out.push(block);
            }
            "empty_statement" => {}
            "global_statement" | "unsafe_statement" => {
                for inner in children(node) {
                    self.stmt(inner, out);
                }
            }
            "checked_statement" => {
                let checked = self.text(node).starts_with("checked");
                let around = std::mem::replace(&mut self.checked, checked);
                for inner in children(node) {
                    self.stmt(inner, out);
                }
                self.checked = around;
            }
            "local_declaration_statement" => self.local(node, out),
            "expression_statement" => {
                if let Some(e) = children(node).first() {
                    self.effect(*e, out);
                }
            }
            "if_statement" => {
                let (Some(c), Some(then)) = (part("condition"), part("consequence")) else {
                    return out.push(self.fault(node));
                };
                let c = self.condition(c);
                let mut args = vec![c, self.block(then)];
                if let Some(otherwise) = part("alternative") {
                    args.push(self.block(otherwise));
                }
                out.push(self.statement(Op::If, args, node));
            }
            "for_statement" | "foreach_statement" | "while_statement" | "do_statement" => {
                self.a_loop(node, out);
            }
            "switch_statement" => self.switch(node, out),
            "break_statement" => out.push(self.statement(Op::Break, [], node)),
            "continue_statement" => out.push(self.statement(Op::Continue, [], node)),
            "return_statement" => match children(node).first() {
                Some(e) => self.returned(*e, out),
                None => out.push(self.statement(Op::Return, [], node)),
            },
            "throw_statement" => {
                // what is thrown may be made by any code, but nothing here sees what that does
                let names = self.names_in(node);
                let around = self.is_open;
                let span = self.span(node);
                let mut named = Vec::new();
                for s in names {
                    let ty = self.b.symbols[s].ty;
                    named.push(self.term(Op::Sym(s), [], ty, node));
                }
                let (kind, reach) = (term::RejectKind::Unsupported, term::Reach::Named);
                out.push(self.b.reject_that(kind, "`throw` leaves the method", span, reach, named));
                self.is_open = around;
                out.push(self.statement(Op::Return, [], node));
            }
            "try_statement" | "lock_statement" | "using_statement" | "fixed_statement"
            | "labeled_statement" | "goto_statement" | "preproc_if" => self.guarded(node, out),
            "yield_statement" => {
                out.push(self.passed("`yield` gives control to the caller in between", node));
            }
            "local_function_statement" => {
                // it does nothing where it stands
                self.nested(node);
                if let Some(name) = part("name") {
                    let name = self.text(name);
                    self.declare(name, Entity::Unknown("functions in functions are not followed".into()));
                }
            }
            kind => {
                let reason = format!("this statement is not followed ({})", kind.replace('_', " "));
                out.push(self.gap(&reason, node));
            }
        }
    }

    /// `return e`, and the body of `=> e`.
    pub(super) fn returned(&mut self, node: Node<'a>, out: &mut Vec<TermId>) {
        let e = match node.kind() {
            "arrow_expression_clause" => children(node).first().copied().unwrap_or(node),
            _ => node,
        };
        if self.returns == Ty::Void {
            self.effect(e, out);
            return out.push(self.statement(Op::Return, [], node));
        }
        let before = out.len();
        let v = self.full(e, out);
        let ty = self.returns.clone();
        let known = matches!(ty, Ty::Int(_) | Ty::Float(_));
        let v = if known { self.convert(v, &ty) } else { v };
        let _ = before;
        out.push(self.statement(Op::Return, [v.t], node));
    }

    /// A condition, with what `checked` around says of it.
    pub(super) fn condition(&mut self, node: Node<'a>) -> TermId {
        let v = self.expr(node);
        let v = match v.ty {
            Ty::Int(term::IntKind::Bool) => v,
            _ => {
                let span = self.span(node);
                let reason = self.b.reason(v.t).cloned();
                let t = self.b.reject_that(
                    term::RejectKind::Unsupported,
                    reason.as_deref().unwrap_or("whether this holds is not followed"),
                    span,
                    term::Reach::Named,
                    vec![v.t],
                );
                self.is_open = true;
                Value { t, ty: Ty::unknown(), lengths: Vec::new() }
            }
        };
        self.said(v).t
    }

    /// Says of what is written in an expression that it is under `checked`.
    pub(super) fn said(&mut self, v: Value) -> Value {
        if !self.checked || !self.computes(v.t) {
            return v;
        }
        let mut term = self.b.get(v.t).clone();
        // comparisons compute nothing: their sides do
        if matches!(term.op, Op::Binary(op) if op.is_comparison() || op.is_logical()) {
            for side in term.args.iter_mut() {
                *side = self.said(self.value(*side, Ty::unknown())).t;
            }
            self.b.set(v.t, term);
            return v;
        }
        let (ty, span) = (term.ty, self.b.span(v.t));
        let t = self.b.term(Op::Arithmetic(Overflow::Traps), [v.t], ty, span);
        Value { t, ..v }
    }

    /// Whether something is computed in an expression, so that it might overflow.
    fn computes(&self, t: TermId) -> bool {
        let term = self.b.get(t);
        let own = matches!(
            term.op,
            Op::Binary(BinOp::Add | BinOp::Sub | BinOp::Mul | BinOp::Div | BinOp::Rem | BinOp::Shl)
                | Op::Unary(_)
                | Op::Compound(_)
                | Op::Step { .. }
                | Op::Cast
        );
        own || term.args.iter().any(|&a| self.computes(a))
    }

    /// An expression for what it does.
    fn effect(&mut self, node: Node<'a>, out: &mut Vec<TermId>) {
        if node.kind() == "parenthesized_expression" {
            if let Some(inner) = children(node).first() {
                return self.effect(*inner, out);
            }
        }
        let assignment = (node.kind() == "assignment_expression")
            .then(|| node.child_by_field_name("left").zip(node.child_by_field_name("right")))
            .flatten();
        let operator = node.child_by_field_name("operator").map_or("", |o| self.text(o));
        if let Some((left, right)) = assignment.filter(|_| operator == "=") {
            if left.kind() == "tuple_expression" && right.kind() == "tuple_expression" {
                if self.declared_together(left, right, out) {
                    return;
                }
                return self.together(node, left, right, out);
            }
            if let Some(var) = self.array_variable(left) {
                return self.assign_array(var, right, node, out);
            }
        }
        let v = self.expr(node);
        let v = self.said(v);
        out.push(v.t);
    }

    /// `(a, b) = (b, a)`: all values, then all places.
    fn together(&mut self, node: Node<'a>, left: Node<'a>, right: Node<'a>, out: &mut Vec<TermId>) {
        let inner = |n: Node<'a>| -> Vec<Node<'a>> {
            children(n).into_iter().filter_map(|a| children(a).last().copied()).collect()
        };
        let (places, values) = (inner(left), inner(right));
        let plain = |n: &Node<'a>| {
            let mut found = true;
            super::read::walk(*n, |x| {
                found &= !matches!(
                    x.kind(),
                    "invocation_expression"
                        | "assignment_expression"
                        | "postfix_unary_expression"
                        | "declaration_expression"
                        | "tuple_expression"
                );
                found
            });
            found
        };
        if places.len() != values.len() || !places.iter().all(plain) || places.is_empty() {
            return out.push(self.gap("this deconstruction is not followed", node));
        }
        let mut held = Vec::new();
        for value in &values {
            let v = self.full(*value, out);
            if matches!(v.ty, Ty::Unknown(_) | Ty::Null) || matches!(v.ty, Ty::Array(_, rank) if rank > 1) {
                out.push(v.t);
                return out.push(self.gap("this deconstruction is not followed", node));
            }
            self.hidden += 1;
            let name = format!("value {} of `{}`", self.hidden, self.text(left));
            let span = self.span(*value);
            let var = self.new_local(&name, &v.ty, span);
            self.declare_variable(&var, v, *value, out);
            held.push(var);
        }
        for (place, var) in places.iter().zip(held) {
            let t = self.use_of(var.symbol, *place);
            let v = Value { t, ty: var.ty.clone(), lengths: var.lengths.clone() };
            if let Some(array) = self.array_variable(*place) {
                self.set_array(array, v, *place, out);
                continue;
            }
            let to = self.expr(*place);
            let v = self.convert(v, &to.ty.clone());
            let ty = self.b.get(to.t).ty;
            out.push(self.term(Op::Assign, [to.t, v.t], ty, *place));
        }
    }

    // ---- declarations

    fn local(&mut self, node: Node<'a>, out: &mut Vec<TermId>) {
        let Some(declaration) = child(node, "variable_declaration") else {
            return out.push(self.fault(node));
        };
        let modifiers: Vec<&str> =
            children(node).iter().filter(|m| m.kind() == "modifier").map(|m| self.text(*m)).collect();
        if self.text(node).starts_with("using") || self.text(node).starts_with("await") {
            out.push(self.gap("`using` calls `Dispose` at its end", node));
            return self.forget(declaration, "it is disposed of at the end");
        }
        self.variables(declaration, modifiers.contains(&"const"), out);
    }

    pub(super) fn forget(&mut self, declaration: Node<'a>, reason: &str) {
        for one in children(declaration).into_iter().filter(|c| c.kind() == "variable_declarator") {
            if let Some(name) = one.child_by_field_name("name") {
                let name = self.text(name);
                self.declare(name, Entity::Unknown(reason.into()));
            }
        }
    }

    /// `int i = 0, j = 1`
    pub(super) fn variables(&mut self, declaration: Node<'a>, is_const: bool, out: &mut Vec<TermId>) {
        let Some(ty) = declaration.child_by_field_name("type") else { return };
        if matches!(ty.kind(), "ref_type" | "pointer_type") {
            out.push(self.gap("references and pointers to variables are not followed", declaration));
            return self.forget(declaration, "references and pointers to variables are not followed");
        }
        let given = (ty.kind() != "implicit_type").then(|| self.type_of(ty));
        for one in children(declaration).into_iter().filter(|c| c.kind() == "variable_declarator") {
            let Some(name) = one.child_by_field_name("name") else {
                if !self.deconstructed(one, out) {
                    out.push(self.gap("this deconstruction is not followed", one));
                }
                continue;
            };
            let init = children(one).into_iter().find(|c| *c != name);
            self.variable(one, name, given.clone(), init, is_const, out);
        }
    }

    /// `var (x, y) = (a[i], b[i])`: each variable with its value, which cannot name the others.
    fn deconstructed(&mut self, one: Node<'a>, out: &mut Vec<TermId>) -> bool {
        let (Some(names), Some(values)) = (child(one, "tuple_pattern"), child(one, "tuple_expression"))
        else {
            return false;
        };
        let names = children(names);
        let values: Vec<Node<'a>> =
            children(values).into_iter().filter_map(|a| children(a).last().copied()).collect();
        let plain = |n: &Node<'a>| n.kind() == "identifier" && self.text(*n) != "_";
        if names.len() != values.len() || !names.iter().all(plain) {
            return false;
        }
        for (name, value) in names.into_iter().zip(values) {
            self.variable(one, name, None, Some(value), false, out);
        }
        true
    }

    /// `(int x, int y) = (a[i], b[i])`, likewise.
    fn declared_together(&mut self, left: Node<'a>, right: Node<'a>, out: &mut Vec<TermId>) -> bool {
        let inner = |n: Node<'a>| -> Vec<Node<'a>> {
            children(n).into_iter().filter_map(|a| children(a).last().copied()).collect()
        };
        let (places, values) = (inner(left), inner(right));
        let is_declared = |n: &Node<'a>| n.kind() == "declaration_expression";
        if places.len() != values.len() || !places.iter().all(is_declared) {
            return false;
        }
        for (place, value) in places.into_iter().zip(values) {
            let (ty, name) = (place.child_by_field_name("type"), place.child_by_field_name("name"));
            let (Some(ty), Some(name)) = (ty, name.filter(|n| n.kind() == "identifier")) else {
                out.push(self.gap("this deconstruction is not followed", place));
                continue;
            };
            let given = (ty.kind() != "implicit_type").then(|| self.type_of(ty));
            self.variable(place, name, given, Some(value), false, out);
        }
        true
    }

    fn variable(
        &mut self,
        node: Node<'a>,
        name: Node<'a>,
        given: Option<Ty>,
        init: Option<Node<'a>>,
        is_const: bool,
        out: &mut Vec<TermId>,
    ) {
        let (word, span) = (self.text(name), self.span(name));
        let Some(init) = init else {
            let ty = given.unwrap_or_else(Ty::unknown);
            let var = self.new_local(word, &ty, span);
            for &length in &var.lengths {
                out.push(self.statement(Op::Declare(length), [], node));
            }
            out.push(self.statement(Op::Declare(var.symbol), [], node));
            return self.declare(word, Entity::Var(var));
        };
        let v = self.initial(init, given.as_ref(), out);
        let ty = given.unwrap_or_else(|| v.ty.clone());
        // another name of a rectangular array
        if let Ty::Array(_, 2..) = &ty {
            let same = matches!(self.b.get(v.t).op, Op::Sym(_)) && v.ty == ty && !v.lengths.is_empty();
            let fixed = |this: &Self, n: &str| !this.assigned.contains(n);
            if same && fixed(self, word) && fixed(self, self.text(init)) {
                let Op::Sym(symbol) = self.b.get(v.t).op else { return };
                let var = super::names::Var { symbol, ty, lengths: v.lengths, by_ref: false };
                return self.declare(word, Entity::Var(var));
            }
        }
        if let (true, Some(c), Some(_)) = (is_const, self.constant(v.t), ty.as_int()) {
            return self.declare(word, Entity::Constant(c, ty));
        }
        let var = self.new_local(word, &ty, span);
        self.declare_variable(&var, v, node, out);
        self.declare(word, Entity::Var(var));
    }

    /// The declarations of a variable with its value, and of its lengths.
    pub(super) fn declare_variable(
        &mut self,
        var: &super::names::Var,
        v: Value,
        node: Node<'a>,
        out: &mut Vec<TermId>,
    ) {
        let lengths = v.lengths.clone();
        let v = self.convert(v, &var.ty);
        let known = lengths.len() == var.lengths.len();
        if known {
            for (&own, &of) in var.lengths.iter().zip(&lengths) {
                let value = self.use_of(of, node);
                out.push(self.statement(Op::Declare(own), [value], node));
            }
        }
        let v = self.retyped(v, var.symbol);
        out.push(self.statement(Op::Declare(var.symbol), [v.t], node));
        if !known {
            for (k, &own) in var.lengths.iter().enumerate() {
                let array = self.use_of(var.symbol, node);
                let value = self.length_call(array, k, node);
                out.push(self.statement(Op::Declare(own), [value], node));
            }
        }
    }

    // ---- switch

    fn switch(&mut self, node: Node<'a>, out: &mut Vec<TermId>) {
        let (Some(value), Some(body)) = (node.child_by_field_name("value"), node.child_by_field_name("body"))
        else {
            return out.push(self.fault(node));
        };
        let v = self.expr(value);
        let sections = children(body);
        let plain = |s: &Node<'a>| {
            let labels = children(*s);
            s.kind() == "switch_section"
                && labels.iter().all(|l| {
                    l.kind() != "when_clause"
                        && (!l.kind().ends_with("_pattern") || l.kind() == "constant_pattern")
                })
        };
        if v.ty.as_int().is_none() || !sections.iter().all(plain) {
            // numbers were looked at above, without effect
            return self.switch_of_patterns(node, value, body, out);
        }
        let v = self.said(v);
        self.scopes.push(Default::default());
        let mut items = Vec::new();
        for section in sections {
            let mut cursor = section.walk();
            let parts: Vec<Node<'a>> = section.children(&mut cursor).collect();
            for part in parts {
                match part.kind() {
                    "default" => items.push(self.statement(Op::Default, [], part)),
                    kind if kind.ends_with("_statement") || kind == "block" => self.stmt(part, &mut items),
                    _ if part.is_named() && !super::read::is_aside(part) => {
                        let label = match part.kind() {
                            "constant_pattern" => children(part).first().copied().unwrap_or(part),
                            _ => part,
                        };
                        let t = self.expr(label);
                        let t = self.convert(t, &v.ty.clone());
                        items.push(self.statement(Op::Case, [t.t], part));
                    }
                    _ => {}
                }
            }
        }
        self.scopes.pop();
        let list = self.statement(Op::List, items, body);
        out.push(self.statement(Op::Switch, [v.t, list], node));
    }

    /// `left op right` of plain numbers of one type.
    pub(super) fn plain(
        &mut self,
        op: BinOp,
        left: TermId,
        right: TermId,
        ty: &Ty,
        node: Node<'_>,
    ) -> TermId {
        let ty = self.repr(ty);
        self.term(Op::Binary(op), [left, right], ty, node)
    }
}
