//! Loops.

use std::sync::Arc;

use base::Span;
use term::{BinOp, Op, Promise, Promised, Storage, TermId};
use tree_sitter::Node;

use super::member::{Lower, Value};
use super::names::{Entity, Var};
use super::types::Ty;

impl<'a> Lower<'a> {
    pub(super) fn a_loop(&mut self, node: Node<'a>, out: &mut Vec<TermId>) {
        let before = out.len();
        match node.kind() {
            "for_statement" => self.for_statement(node, out),
            "foreach_statement" => self.foreach_statement(node, out),
            kind => {
                let (Some(c), Some(body)) =
                    (node.child_by_field_name("condition"), node.child_by_field_name("body"))
                else {
                    return out.push(self.fault(node));
                };
                if kind == "while_statement" {
                    let c = self.condition(c);
                    let body = self.block(body);
                    out.push(self.statement(Op::While, [c, body], node));
                } else {
                    let body = self.block(body);
                    let c = self.condition(c);
                    out.push(self.statement(Op::DoWhile, [body, c], node));
                }
            }
        }
        let made = out.iter().skip(before).copied().find(|&t| self.b.get(t).op.is_loop());
        let promises = self.marks.get(&(node.start_byte() as u32)).map_or(0, |m| m.promises.len());
        for number in 0..promises {
            let says = Promised::Not("promises about C# are not read yet".into());
            self.b.said.promises.push(Promise { of: made, number: number as u32, says });
        }
    }

    fn for_statement(&mut self, node: Node<'a>, out: &mut Vec<TermId>) {
        let Some(body) = node.child_by_field_name("body") else { return out.push(self.fault(node)) };
        self.scopes.push(Default::default());
        let mut stops: Vec<Span> = Vec::new();
        let mut cursor = node.walk();
        for c in node.children(&mut cursor) {
            if matches!(c.kind(), ";" | ")") {
                let s = self.span(c);
                stops.push(Span { start: s.start, end: s.start });
            }
        }
        let at = |from_end: usize| stops.len().checked_sub(from_end).and_then(|k| stops.get(k)).copied();
        let (whole, void) = (self.span(node), self.b.types.void());
        let of = |field: &str| -> Vec<Node<'a>> {
            let mut cursor = node.walk();
            node.children_by_field_name(field, &mut cursor).filter(|n| n.is_named()).collect()
        };
        let mut init = Vec::new();
        for part in of("initializer") {
            match part.kind() {
                "variable_declaration" => self.variables(part, false, &mut init),
                _ => {
                    let v = self.expr(part);
                    let v = self.said(v);
                    init.push(v.t);
                }
            }
        }
        let init = match init.as_slice() {
            [] => self.b.term(Op::Empty, [], void, at(3).unwrap_or(whole)),
            [only] => *only,
            _ => {
                let span = self.b.span(init[0]).cover(self.b.span(init[init.len() - 1]));
                self.b.term(Op::List, init, void, span)
            }
        };
        let condition = match node.child_by_field_name("condition") {
            Some(c) => self.condition(c),
            None => self.b.term(Op::Empty, [], void, at(2).unwrap_or(whole)),
        };
        let mut step: Option<TermId> = None;
        for part in of("update") {
            let v = self.expr(part);
            // a step of a counter ends before its type does, or that is a condition in any case
            let counts = matches!(self.b.get(v.t).op, Op::Step { .. })
                && self.b.get(v.t).args.first().is_some_and(|&p| matches!(self.b.get(p).op, Op::Sym(_)));
            let v = if counts { v } else { self.said(v) };
            step = Some(match step {
                None => v.t,
                Some(first) => {
                    let ty = self.b.get(v.t).ty;
                    let span = self.b.span(first).cover(self.b.span(v.t));
                    self.b.term(Op::Comma, [first, v.t], ty, span)
                }
            });
        }
        let step = step.unwrap_or_else(|| self.b.term(Op::Empty, [], void, at(1).unwrap_or(whole)));
        let block = self.block(body);
        self.scopes.pop();
        let mut args = vec![init, condition, step, block];
        args.extend(self.mark(node));
        out.push(self.statement(Op::For, args, node));
    }

    /// Over an array a counted loop; over anything else calls that are not followed.
    fn foreach_statement(&mut self, node: Node<'a>, out: &mut Vec<TermId>) {
        let part = |name: &str| node.child_by_field_name(name);
        let (Some(name), Some(over), Some(body)) = (part("left"), part("right"), part("body")) else {
            return out.push(self.fault(node));
        };
        let given = part("type").filter(|t| t.kind() != "implicit_type").map(|t| self.type_of(t));
        let is_async = self.text(node).starts_with("await");
        let v = self.expr(over);
        let element = v.ty.elements().filter(|(_, rank)| *rank == 1).map(|(of, _)| (**of).clone());
        let Some(element) = element.filter(|_| name.kind() == "identifier" && !is_async) else {
            return self.enumeration(node, v, name, body, given, out);
        };
        self.scopes.push(Default::default());
        let array = self.held(v, over, out);
        let int = self.b.types.int(term::IntKind::Int);
        let word = self.text(name);
        let (at, span) = (self.span(over), self.span(name));
        let position = self.symbol(&format!("{}{word}", term::POSITION_OF), int, Storage::Local, Some(span));
        let zero = self.b.term(Op::Int(0), [], int, at);
        let void = self.b.types.void();
        let init = self.b.term(Op::Declare(position), [zero], void, at);
        // the length is asked of the array, which throws where there is none
        let asked = self.b.symbols[array.lengths[0]].ty;
        let length = self.term(Op::Sym(array.lengths[0]), [], asked, over);
        let index = self.use_of(position, over);
        let truth = self.b.types.int(term::IntKind::Bool);
        let condition = self.b.term(Op::Binary(BinOp::Lt), [index, length], truth, at);
        let index = self.use_of(position, over);
        let step = self.b.term(Op::Step { delta: 1, prefix: true }, [index], int, at);
        // the variable is new in each round
        let ty = given.unwrap_or_else(|| element.clone());
        let var = self.new_local(word, &ty, span);
        let (base, index) = (self.use_of(array.symbol, over), self.use_of(position, over));
        let cell = self.repr(&element);
        let cell = self.term(Op::Index, [base, index], cell, over);
        let value = Value { t: cell, ty: element, lengths: Vec::new() };
        // the conversion to the variable's type is one that is written (C# 13.9.5), and `checked` around it means it
        let value = match self.checked && value.ty != ty && ty.as_int().is_some() {
            true => {
                let (to, span) = (self.repr(&ty), self.span(over));
                let t = self.b.term(Op::Cast, [value.t], to, span);
                self.said(Value { t, ty: ty.clone(), lengths: Vec::new() })
            }
            false => value,
        };
        let mut items = Vec::new();
        self.each.insert(var.symbol);
        self.declare_variable(&var, value, name, &mut items);
        self.declare(word, Entity::Var(var));
        items.push(self.block(body));
        self.scopes.pop();
        let block = self.statement(Op::List, items, body);
        let mut args = vec![init, condition, step, block];
        args.extend(self.mark(node));
        out.push(self.statement(Op::For, args, node));
    }

    /// The array that a loop goes over, which is looked at once.
    fn held(&mut self, v: Value, over: Node<'a>, out: &mut Vec<TermId>) -> Var {
        let is_set = self.assigned.contains(self.text(over));
        let fixed = |s| !is_set || self.each.contains(&s);
        if let Some(symbol) = (match self.b.get(v.t).op {
            Op::Sym(s) => Some(s),
            _ => None,
        })
        .filter(|&s| !v.lengths.is_empty() && fixed(s))
        {
            return Var { symbol, ty: v.ty, lengths: v.lengths, by_ref: false };
        }
        let span = self.span(over);
        let name = self.text(over).to_owned();
        let var = self.new_local(&name, &v.ty.clone(), span);
        self.declare_variable(&var, v, over, out);
        var
    }

    fn enumeration(
        &mut self,
        node: Node<'a>,
        over: Value,
        name: Node<'a>,
        body: Node<'a>,
        given: Option<Ty>,
        out: &mut Vec<TermId>,
    ) {
        out.push(over.t);
        let right = node.child_by_field_name("right").unwrap_or(node);
        let over_name = self.text(right);
        let reason = match self.is_list(&over.ty) {
            true => format!("`{over_name}` is a list, which the loop may change: go over an array of it (`{over_name}.ToArray()`)"),
            false => format!("what `foreach` over `{over_name}` calls is not followed"),
        };
        let condition = self.gap(&reason, right);
        self.scopes.push(Default::default());
        let mut items = Vec::new();
        if name.kind() == "identifier" {
            let ty = given.filter(|t| t.elements().is_none()).unwrap_or_else(Ty::unknown);
            let (word, span) = (self.text(name), self.span(name));
            let var = self.new_local(word, &ty, span);
            let value = self.gap(&reason, right);
            items.push(self.statement(Op::Declare(var.symbol), [value], name));
            self.declare(word, Entity::Var(var));
        }
        items.push(self.block(body));
        self.scopes.pop();
        let block = self.statement(Op::List, items, body);
        out.push(self.statement(Op::While, [condition, block], node));
    }

    /// Whether a type is the library's `List<T>`.
    pub(super) fn is_list(&self, ty: &Ty) -> bool {
        let Ty::Unknown(text) = ty else { return false };
        let name = text.rsplit_once("Generic.").map_or(&**text, |t| t.1);
        name.starts_with("List<") && !self.outline.types.contains_key("List")
    }

    /// The mark that stands before a loop.
    fn mark(&mut self, node: Node<'a>) -> Option<TermId> {
        let mark = self.marks.get(&(node.start_byte() as u32))?.offload.clone()?;
        let span = self.span(node);
        let at = Span { start: span.start, end: span.start };
        let void = self.b.types.void();
        let mut clauses = Vec::new();
        if let Some(n) = mark.collapse {
            let int = self.b.types.int(term::IntKind::Int);
            let value = self.b.term(Op::Int(i128::from(n)), [], int, at);
            clauses.push(self.b.term(Op::Apply("collapse".into()), [value], void, at));
        }
        let name: Arc<str> = mark.name.unwrap_or_else(|| "".into());
        Some(self.b.term(Op::Mark(name), clauses, void, at))
    }
}
