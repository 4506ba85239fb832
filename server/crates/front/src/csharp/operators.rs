//! Operators.

use term::{BinOp, IntKind, Op, Semantics, TermId, UnOp};
use tree_sitter::Node;

use super::literal;
use super::member::{Lower, Value};
use super::read::children;
use super::types::Ty;
use crate::limits::csharp::MAX_CHAIN;

fn binary_op(text: &str) -> Option<BinOp> {
    BinOp::ALL.into_iter().find(|o| o.symbol() == text)
}

impl<'a> Lower<'a> {
    /// `a + b - c …`: the left spine is walked, not recursed into.
    pub(super) fn binary_chain(&mut self, node: Node<'a>) -> Value {
        let left_of = |n: Node<'a>| n.child_by_field_name("left");
        if node.child_by_field_name("operator").is_some_and(|o| self.text(o) == "??") {
            let sides = left_of(node).zip(node.child_by_field_name("right"));
            return match sides.filter(|(left, _)| left.kind() == "conditional_access_expression") {
                Some((left, right)) => self.field_if_any(left, Some(right)),
                None => self.unknown("this operator is not followed", node),
            };
        }
        let mut spine = vec![node];
        let mut at = node;
        while let Some(left) = left_of(at).filter(|l| l.kind() == "binary_expression") {
            spine.push(left);
            at = left;
            if spine.len() > MAX_CHAIN {
                return self.unknown("it is a very long chain of operators", node);
            }
        }
        let Some(first) = left_of(at) else {
            return self.unknown("a part of this expression is missing", node);
        };
        let mut left = self.expr(first);
        while let Some(n) = spine.pop() {
            let operator = n.child_by_field_name("operator").map_or("", |o| self.text(o));
            let Some(right) = n.child_by_field_name("right") else {
                return self.unknown("a part of this expression is missing", node);
            };
            if operator == ">>>" {
                left = self.unsigned_shift(n, left, right);
                continue;
            }
            let Some(op) = binary_op(operator) else {
                // what is on the left is part of the text again
                return self.unknown("this operator is not followed", node);
            };
            let right = self.expr(right);
            left = self.binary(op, left, right, n);
        }
        left
    }

    fn odd_operator(&mut self, parts: Vec<TermId>, node: Node<'_>) -> Value {
        self.is_open = true;
        let span = self.span(node);
        // of a part that is not followed itself, that is the reason
        let reason = parts.iter().find_map(|&p| self.b.reason(p)).cloned();
        let reason = reason.unwrap_or_else(|| "operators on values of these types are not followed".into());
        let parts: Vec<TermId> = parts.into_iter().map(|p| self.as_read(p)).collect();
        let t = self.b.reject_that(term::RejectKind::Unsupported, &reason, span, term::Reach::Named, parts);
        let ty = self.opaque("?");
        let mut term = self.b.get(t).clone();
        term.ty = ty;
        self.b.set(t, term);
        self.value(t, Ty::unknown())
    }

    pub(super) fn binary(&mut self, op: BinOp, a: Value, b: Value, node: Node<'_>) -> Value {
        let truth = |v: &Value| v.ty == Ty::BOOL;
        if truth(&a) && truth(&b) {
            let ty = self.b.types.int(IntKind::Bool);
            if op.is_logical() || matches!(op, BinOp::Eq | BinOp::Ne) {
                let t = self.term(Op::Binary(op), [a.t, b.t], ty, node);
                return self.value(t, Ty::BOOL);
            }
            if matches!(op, BinOp::BitAnd | BinOp::BitOr | BinOp::BitXor) {
                let (a, b) = (self.as_int(a, node), self.as_int(b, node));
                let whole = self.plain(op, a, b, &Ty::INT, node);
                let t = self.term(Op::Cast, [whole], ty, node);
                return self.value(t, Ty::BOOL);
            }
        }
        let is_address = |v: &Value| matches!(v.ty, Ty::Array(_, 1) | Ty::Class(_));
        if matches!(op, BinOp::Eq | BinOp::Ne)
            && (is_address(&a) && (b.ty == Ty::Null || b.ty == a.ty) || is_address(&b) && a.ty == Ty::Null)
        {
            let ty = if is_address(&a) { a.ty.clone() } else { b.ty.clone() };
            let plain = self.has_plain_equality(&ty);
            if plain {
                let (a, b) = (self.convert(a, &ty), self.convert(b, &ty));
                let t = self.plain(op, a.t, b.t, &Ty::BOOL, node);
                return self.value(t, Ty::BOOL);
            }
        }
        if matches!(op, BinOp::Shl | BinOp::Shr) {
            let (Some(k), Some(_)) = (a.ty.as_int(), b.ty.as_int()) else {
                return self.odd_operator(vec![a.t, b.t], node);
            };
            let ty = Ty::Int(k.promoted());
            let (a, b) = (self.convert(a, &ty), self.convert(b, &Ty::INT));
            if let Some(v) = self.of_constants(op, &a, &b, &ty) {
                return self.number(v, ty, node);
            }
            let t = self.plain(op, a.t, b.t, &ty, node);
            return self.value(t, ty);
        }
        let ty = self.common(&a, &b);
        let bits = matches!(op, BinOp::BitAnd | BinOp::BitOr | BinOp::BitXor);
        let Some(ty) = ty.filter(|t| !(op.is_logical() || bits && t.as_int().is_none())) else {
            return self.odd_operator(vec![a.t, b.t], node);
        };
        // C has no remainder of floating numbers
        if op == BinOp::Rem && ty.as_int().is_none() {
            let (a, b) = (self.convert(a, &ty), self.convert(b, &ty));
            return self.computed("fmod", vec![a, b], ty, node);
        }
        let (a, b) = (self.convert(a, &ty), self.convert(b, &ty));
        let result = if op.is_comparison() { Ty::BOOL } else { ty.clone() };
        if let Some(v) = self.of_constants(op, &a, &b, &ty) {
            return self.number(v, result, node);
        }
        let t = self.plain(op, a.t, b.t, &result, node);
        self.value(t, result)
    }

    /// What an operator gives of two whole constants: a constant again (C# 12.23).
    fn of_constants(&self, op: BinOp, a: &Value, b: &Value, ty: &Ty) -> Option<i128> {
        let kind = ty.as_int()?;
        let (x, y) = (self.constant(a.t)?, self.constant(b.t)?);
        Semantics::CSHARP.arithmetic().binary(op, kind, x, y).ok()
    }

    /// Whether `==` on values of the type compares addresses.
    fn has_plain_equality(&self, ty: &Ty) -> bool {
        match ty {
            Ty::Array(..) => true,
            Ty::Class(of) => self.outline.types.get(of).is_some_and(|t| !t.has_equality),
            _ => false,
        }
    }

    /// A truth value as 0 or 1.
    fn as_int(&mut self, v: Value, node: Node<'_>) -> TermId {
        let int = self.b.types.int(IntKind::Int);
        self.term(Op::Cast, [v.t], int, node)
    }

    /// `a >>> n`: the bits of `a` as those of an unsigned number.
    fn unsigned_shift(&mut self, node: Node<'a>, left: Value, right: Node<'a>) -> Value {
        let Some(k) = left.ty.as_int().map(IntKind::promoted) else {
            let right = self.expr(right);
            return self.odd_operator(vec![left.t, right.t], node);
        };
        let left = self.convert(left, &Ty::Int(k));
        let left = self.convert(left, &Ty::Int(k.to_unsigned()));
        let right = self.expr(right);
        let shifted = self.binary(BinOp::Shr, left, right, node);
        self.convert(shifted, &Ty::Int(k))
    }

    pub(super) fn prefix(&mut self, node: Node<'a>) -> Value {
        let operator = node.child(0).map_or("", |o| self.text(o));
        let Some(inner) = children(node).last().copied() else {
            return self.unknown("a part of this expression is missing", node);
        };
        if matches!(operator, "++" | "--") {
            return self.step(node, inner, operator, true);
        }
        // parentheses that are no cast's
        if operator == "(" {
            return self.expr(inner);
        }
        if operator == "-" && inner.kind() == "integer_literal" {
            match literal::integer(self.text(inner)) {
                Some((2_147_483_648, IntKind::UInt)) => {
                    return self.number(-2_147_483_648, Ty::INT, node);
                }
                Some((9_223_372_036_854_775_808, IntKind::ULongLong)) => {
                    return self.number(-9_223_372_036_854_775_808, Ty::Int(IntKind::LongLong), node);
                }
                Some((v, k)) if matches!(k, IntKind::Int | IntKind::LongLong) => {
                    return self.number(-v, Ty::Int(k), node)
                }
                _ => {}
            }
        }
        let op = match operator {
            "-" => UnOp::Neg,
            "+" => UnOp::Plus,
            "~" => UnOp::BitNot,
            "!" => UnOp::Not,
            "&" | "*" => return self.unknown("pointers are not followed", node),
            _ => return self.unknown("this operator is not followed", node),
        };
        let v = self.expr(inner);
        let ty = match (&v.ty, op) {
            (Ty::Int(IntKind::Bool), UnOp::Not) => Ty::BOOL,
            (Ty::Float(_), UnOp::Neg | UnOp::Plus) => v.ty.clone(),
            (Ty::Int(k), UnOp::Neg) if *k == IntKind::UInt => Ty::Int(IntKind::LongLong),
            (Ty::Int(IntKind::ULongLong), UnOp::Neg) | (_, UnOp::Not) => {
                return self.odd_operator(vec![v.t], node);
            }
            (ty, _) => match ty.as_int() {
                Some(k) => Ty::Int(k.promoted()),
                None => return self.odd_operator(vec![v.t], node),
            },
        };
        let v = self.convert(v, &ty);
        let constant = self.constant(v.t).zip(ty.as_int()).filter(|_| op != UnOp::Not);
        let folded = constant.and_then(|(c, k)| Semantics::CSHARP.arithmetic().unary(op, k, c).ok());
        if let Some(c) = folded {
            return self.number(c, ty, node);
        }
        let repr = self.repr(&ty);
        let t = self.term(Op::Unary(op), [v.t], repr, node);
        self.value(t, ty)
    }

    pub(super) fn postfix(&mut self, node: Node<'a>) -> Value {
        let Some(inner) = children(node).first().copied() else {
            return self.unknown("a part of this expression is missing", node);
        };
        let count = node.child_count().saturating_sub(1);
        match node.child(count).map_or("", |o| self.text(o)) {
            operator @ ("++" | "--") => self.step(node, inner, operator, false),
            // says that it is not null, and does nothing
            "!" => self.expr(inner),
            _ => self.unknown("this operator is not followed", node),
        }
    }

    fn step(&mut self, node: Node<'a>, inner: Node<'a>, operator: &str, prefix: bool) -> Value {
        let op = if operator == "--" { BinOp::Sub } else { BinOp::Add };
        if let Some(v) = self.set_property(inner, Some(op), None, node) {
            return v;
        }
        let place = self.place(inner);
        if !place.ty.is_number() {
            return self.unknown("a step of a value of this type is not followed", node);
        }
        let delta = if operator == "--" { -1 } else { 1 };
        let ty = self.b.get(place.t).ty;
        let t = self.term(Op::Step { delta, prefix }, [place.t], ty, node);
        self.value(t, place.ty)
    }

    /// What is set: a variable, a field, an element. Of anything else a gap.
    fn place(&mut self, node: Node<'a>) -> Value {
        let v = self.expr(node);
        match self.b.get(v.t).op {
            Op::Sym(_) | Op::Index | Op::Deref | Op::Member { .. } => v,
            Op::Reject(_) => v,
            _ => self.unknown("what is set here is not followed", node),
        }
    }

    pub(super) fn assignment(&mut self, node: Node<'a>) -> Value {
        let (Some(left), Some(right)) = (node.child_by_field_name("left"), node.child_by_field_name("right"))
        else {
            return self.unknown("a part of this expression is missing", node);
        };
        let operator = node.child_by_field_name("operator").map_or("", |o| self.text(o));
        let compound = operator.strip_suffix('=').and_then(binary_op);
        if operator == "=" || compound.is_some() {
            if let Some(v) = self.set_property(left, compound, Some(right), node) {
                return v;
            }
        }
        let place = self.place(left);
        let known = matches!(place.ty, Ty::Int(_) | Ty::Float(_) | Ty::Class(_) | Ty::Struct(_))
            || matches!(place.ty, Ty::Array(_, 1)) && !matches!(self.b.get(place.t).op, Op::Sym(_));
        if !known || matches!(self.b.get(place.t).op, Op::Reject(_)) {
            return self.unknown("what is set here is not followed", node);
        }
        let repr = self.b.get(place.t).ty;
        if operator == "=" {
            let v = self.expr(right);
            let v = self.convert(v, &place.ty);
            let t = self.term(Op::Assign, [place.t, v.t], repr, node);
            return self.value(t, place.ty);
        }
        let Some(op) = compound.filter(|_| place.ty.is_number()) else {
            return self.compound_truth(node, left, right, operator);
        };
        let v = self.expr(right);
        let shift = matches!(op, BinOp::Shl | BinOp::Shr);
        let bits = matches!(op, BinOp::BitAnd | BinOp::BitOr | BinOp::BitXor);
        let ty = match shift {
            true => v.ty.as_int().map(|_| Ty::INT).filter(|_| place.ty.as_int().is_some()),
            false => self.common(&place, &v),
        };
        let float = matches!(place.ty, Ty::Float(_)) || matches!(v.ty, Ty::Float(_));
        let Some(ty) = ty.filter(|_| !(float && (bits || op == BinOp::Rem))) else {
            return self.unknown("this assignment is not followed", node);
        };
        let v = self.convert(v, &ty);
        let t = self.term(Op::Compound(op), [place.t, v.t], repr, node);
        self.value(t, place.ty)
    }

    /// `b &= c` of truth values, where `b` is a variable: `b = b & c`.
    fn compound_truth(&mut self, node: Node<'a>, left: Node<'a>, right: Node<'a>, operator: &str) -> Value {
        let op = operator.strip_suffix('=').and_then(binary_op);
        let place = self.expr(left);
        let bits = op.filter(|o| matches!(o, BinOp::BitAnd | BinOp::BitOr | BinOp::BitXor));
        let (Some(op), Op::Sym(_), Ty::Int(IntKind::Bool)) =
            (bits, self.b.get(place.t).op.clone(), &place.ty)
        else {
            return self.unknown("this assignment is not followed", node);
        };
        let before = self.expr(left);
        let v = self.expr(right);
        let v = self.binary(op, before, v, node);
        let repr = self.b.get(place.t).ty;
        let t = self.term(Op::Assign, [place.t, v.t], repr, node);
        self.value(t, place.ty)
    }

    pub(super) fn conditional(&mut self, node: Node<'a>) -> Value {
        let part = |name: &str| node.child_by_field_name(name);
        let (Some(c), Some(a), Some(b)) = (part("condition"), part("consequence"), part("alternative"))
        else {
            return self.unknown("a part of this expression is missing", node);
        };
        let c = self.expr(c);
        let (a, b) = (self.expr(a), self.expr(b));
        let ty = match a.ty == b.ty {
            true => Some(a.ty.clone()).filter(|t| matches!(t, Ty::Int(_) | Ty::Float(_))),
            false => self.common(&a, &b),
        };
        let (Some(ty), Ty::Int(IntKind::Bool)) = (ty, &c.ty) else {
            return self.odd_operator(vec![c.t, a.t, b.t], node);
        };
        let (a, b) = (self.convert(a, &ty), self.convert(b, &ty));
        let whole = |v: &Value| self.constant(v.t).filter(|_| ty.as_int().is_some());
        if let (Some(c), Some(x), Some(y)) = (self.constant(c.t), whole(&a), whole(&b)) {
            return self.number(if c != 0 { x } else { y }, ty, node);
        }
        let repr = self.repr(&ty);
        let t = self.term(Op::Select, [c.t, a.t, b.t], repr, node);
        self.value(t, ty)
    }
}
