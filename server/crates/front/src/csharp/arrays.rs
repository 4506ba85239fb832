//! Arrays that are made, and variables of array type that are set.

use std::sync::Arc;

use term::{BinOp, Op, Storage, SymbolId, TermId, TypeKind};
use tree_sitter::Node;

use super::member::{Lower, Value};
use super::names::{Entity, Var};
use super::read::{child, children};
use super::types::Ty;

impl<'a> Lower<'a> {
    /// A value that a variable begins with or is set to: arrays may be made in it.
    pub(super) fn initial(&mut self, node: Node<'a>, given: Option<&Ty>, out: &mut Vec<TermId>) -> Value {
        match node.kind() {
            "array_creation_expression" => self.new_array(node, out),
            "implicit_array_creation_expression" => match child(node, "initializer_expression") {
                Some(list) => self.listed(node, list, None, out),
                None => self.unknown("an array that is made here is not followed", node),
            },
            "initializer_expression" => match given {
                Some(Ty::Array(of, 1)) => {
                    let of = of.clone();
                    self.listed(node, node, Some(&of), out)
                }
                _ => self.unknown("this list of values is not followed", node),
            },
            "stackalloc_expression" => self.new_array(node, out),
            "default_expression" if given.is_some_and(Ty::is_number) => {
                let zero = self.number(0, Ty::INT, node);
                match given {
                    Some(ty) => self.convert(zero, ty),
                    None => zero,
                }
            }
            _ => {
                let v = self.expr(node);
                let v = match given {
                    Some(ty @ (Ty::Int(_) | Ty::Float(_))) => self.convert(v, ty),
                    _ => v,
                };
                self.said(v)
            }
        }
    }

    /// `new float[n]`, `new int[n, m]`, `new float[n][]`, `stackalloc int[n]`
    fn new_array(&mut self, node: Node<'a>, out: &mut Vec<TermId>) -> Value {
        let Some(written) = node.child_by_field_name("type").filter(|t| t.kind() == "array_type") else {
            return self.unknown("this array is not followed", node);
        };
        let ty = self.type_of(written);
        // the first brackets are those that are made
        let mut outermost = written;
        while let Some(inner) = outermost.child_by_field_name("type").filter(|t| t.kind() == "array_type") {
            outermost = inner;
        }
        let sizes = outermost.child_by_field_name("rank").map(children).unwrap_or_default();
        let Ty::Array(of, rank) = ty.clone() else {
            return self.unknown("this array is not followed", node);
        };
        let stack = node.kind() == "stackalloc_expression";
        if let Some(list) = child(node, "initializer_expression") {
            let fits = rank == 1 && !stack;
            return match fits {
                true => self.listed(node, list, Some(&of), out),
                false => self.unknown("this list of values is not followed", node),
            };
        }
        if sizes.len() != rank || (stack && rank != 1) {
            return self.unknown("this array is not followed", node);
        }
        let mut lengths = Vec::new();
        for size in sizes {
            let v = self.expr(size);
            if v.ty.as_int().is_none() {
                out.push(v.t);
                return self.unknown("the size of this array is not followed", node);
            }
            lengths.push(self.convert(v, &Ty::INT));
        }
        let ty = if stack { Ty::Span(of.clone()) } else { ty };
        self.allocated(node, ty, lengths, out)
    }

    /// `{ 1, 2, 3 }`
    fn listed(
        &mut self,
        node: Node<'a>,
        list: Node<'a>,
        of: Option<&Arc<Ty>>,
        out: &mut Vec<TermId>,
    ) -> Value {
        let items = children(list);
        let mut values: Vec<Value> = Vec::new();
        let mut element = of.map(|t| (**t).clone());
        for item in &items {
            let v = self.expr(*item);
            element = Some(match element {
                None => v.ty.clone(),
                Some(ty) if of.is_some() || ty == v.ty => ty,
                Some(ty) => {
                    let of_type = Value { ty, ..v.clone() };
                    self.common(&of_type, &v).unwrap_or_else(Ty::unknown)
                }
            });
            values.push(v);
        }
        let Some(element) = element.filter(|t| matches!(t, Ty::Int(_) | Ty::Float(_))) else {
            out.extend(values.iter().map(|v| v.t));
            return self.unknown("this list of values is not followed", node);
        };
        let length = self.number(items.len() as i128, Ty::INT, node);
        let made = self.allocated(node, Ty::Array(Arc::new(element.clone()), 1), vec![length], out);
        // its elements are set before anyone sees it
        self.hidden += 1;
        let span = self.span(node);
        let name = format!("list {}", self.hidden);
        let var = self.new_local(&name, &made.ty.clone(), span);
        self.declare_variable(&var, made, node, out);
        let cell = self.repr(&element);
        for (k, v) in values.into_iter().enumerate() {
            let v = self.convert(v, &element);
            let base = self.use_of(var.symbol, node);
            let at = self.number(k as i128, Ty::INT, node);
            let place = self.term(Op::Index, [base, at.t], cell, node);
            out.push(self.term(Op::Assign, [place, v.t], cell, node));
        }
        self.variable_value(&var, node)
    }

    /// New memory; its lengths are variables that are set before.
    fn allocated(&mut self, node: Node<'a>, ty: Ty, sizes: Vec<Value>, out: &mut Vec<TermId>) -> Value {
        let span = self.span(node);
        let int = self.b.types.int(term::IntKind::Int);
        let mut lengths: Vec<SymbolId> = Vec::new();
        for v in sizes {
            self.hidden += 1;
            let name = format!("length {}", self.hidden);
            let length = self.symbol(&name, int, Storage::Local, Some(span));
            let v = self.said(v);
            out.push(self.statement(Op::Declare(length), [v.t], node));
            lengths.push(length);
        }
        let pointer = self.repr_with(&ty, &lengths);
        let element = ty.elements().map_or(Ty::INT, |(of, _)| (**of).clone());
        let element = self.repr(&element);
        let size = self.b.types.size_align(element).map_or(8, |s| s.0);
        let ulong = self.b.types.int(term::IntKind::ULongLong);
        let mut count: Option<TermId> = None;
        for &length in &lengths {
            let one = self.use_of(length, node);
            let one = self.term(Op::Cast, [one], ulong, node);
            count = Some(match count {
                None => one,
                Some(n) => self.term(Op::Binary(BinOp::Mul), [n, one], ulong, node),
            });
        }
        let size = self.term(Op::Int(i128::from(size)), [], ulong, node);
        let function = match self.outside.get("calloc") {
            Some(&f) => f,
            None => {
                let void = self.b.types.void();
                let ret = self.b.types.pointer(void);
                let params = vec![ulong, ulong];
                let fty = self.b.types.plain(TypeKind::Function { ret, params, variadic: false });
                let f = self.symbol("calloc", fty, Storage::Function, None);
                self.b.library.push(f);
                self.outside.insert("calloc".into(), f);
                f
            }
        };
        let fty = self.b.symbols[function].ty;
        let callee = self.term(Op::Sym(function), [], fty, node);
        let void = self.b.types.void();
        let raw = self.b.types.pointer(void);
        let args: Vec<TermId> = [callee].into_iter().chain(count).chain([size]).collect();
        let call = self.term(Op::Call, args, raw, node);
        let t = self.term(Op::Cast, [call], pointer, node);
        Value { t, ty, lengths }
    }

    /// The value as one of the variable's own type, where that has lengths of its own in it.
    pub(super) fn retyped(&mut self, v: Value, to: SymbolId) -> Value {
        let ty = self.b.symbols[to].ty;
        let pointer = matches!(self.b.types.kind(ty), TypeKind::Pointer { .. });
        if !pointer || self.b.get(v.t).ty == ty {
            return v;
        }
        if let Op::Cast = self.b.get(v.t).op {
            let mut term = self.b.get(v.t).clone();
            term.ty = ty;
            self.b.set(v.t, term);
        }
        v
    }

    /// The variable of array type that a name means, if it can be set with its lengths.
    pub(super) fn array_variable(&self, node: Node<'_>) -> Option<Var> {
        match self.lookup(self.text(node)) {
            Some(Entity::Var(var)) if node.kind() == "identifier" => {
                let one = matches!(var.ty, Ty::Array(_, 1) | Ty::Span(_));
                Some(var.clone()).filter(|_| one && !var.by_ref)
            }
            _ => None,
        }
    }

    pub(super) fn assign_array(&mut self, var: Var, right: Node<'a>, node: Node<'a>, out: &mut Vec<TermId>) {
        let v = self.initial(right, Some(&var.ty.clone()), out);
        self.set_array(var, v, node, out);
    }

    pub(super) fn set_array(&mut self, var: Var, v: Value, node: Node<'a>, out: &mut Vec<TermId>) {
        let lengths = v.lengths.clone();
        let v = self.convert(v, &var.ty);
        let known = lengths.len() == var.lengths.len();
        let int = self.b.types.int(term::IntKind::Int);
        let pointer = self.b.symbols[var.symbol].ty;
        if known {
            for (&own, &of) in var.lengths.iter().zip(&lengths) {
                let (place, value) = (self.use_of(own, node), self.use_of(of, node));
                out.push(self.term(Op::Assign, [place, value], int, node));
            }
        }
        let place = self.use_of(var.symbol, node);
        out.push(self.term(Op::Assign, [place, v.t], pointer, node));
        if !known {
            for (k, &own) in var.lengths.iter().enumerate() {
                let array = self.use_of(var.symbol, node);
                let value = self.length_call(array, k, node);
                let place = self.use_of(own, node);
                out.push(self.term(Op::Assign, [place, value], int, node));
            }
        }
    }
}
