//! Expressions, each with the type that C# gives it.

use term::{FloatKind, IntKind, Op, Overflow, TermId, F64};
use tree_sitter::Node;

use super::literal;
use super::member::{Lower, Value};
use super::read::children;
use super::types::Ty;
use crate::limits::csharp::MAX_DEPTH;

impl<'a> Lower<'a> {
    /// Lowers an expression.
    pub(super) fn expr(&mut self, node: Node<'a>) -> Value {
        self.depth += 1;
        let v = if self.depth > MAX_DEPTH {
            self.unknown("it is nested too deeply", node)
        } else {
            self.expr_inner(node)
        };
        self.depth -= 1;
        v
    }

    /// A whole expression, with what `checked` around says of it. Arrays may be made in it, before it.
    pub(super) fn full(&mut self, node: Node<'a>, out: &mut Vec<TermId>) -> Value {
        let v = self.initial(node, None, out);
        self.said(v)
    }

    pub(super) fn value(&self, t: TermId, ty: Ty) -> Value {
        Value { t, ty, lengths: Vec::new() }
    }

    fn expr_inner(&mut self, node: Node<'a>) -> Value {
        if node.is_error() || node.is_missing() {
            let t = self.fault(node);
            return self.value(t, Ty::unknown());
        }
        match node.kind() {
            "identifier" => self.name(node),
            "integer_literal" => match literal::integer(self.text(node)) {
                Some((v, k)) => self.number(v, Ty::Int(k), node),
                None => self.unknown("this number is not understood", node),
            },
            "real_literal" => match literal::real(self.text(node)) {
                Some((v, k)) => {
                    let ty = self.b.types.float(k);
                    let t = self.term(Op::Float(F64::new(v)), [], ty, node);
                    self.value(t, Ty::Float(k))
                }
                None => self.unknown("`decimal` is not followed", node),
            },
            "character_literal" => match literal::character(self.text(node)) {
                Some(v) => self.number(v, Ty::Int(IntKind::UShort), node),
                None => self.unknown("this character is not understood", node),
            },
            "boolean_literal" => {
                let v = i128::from(self.text(node) == "true");
                self.number(v, Ty::BOOL, node)
            }
            "string_literal" | "verbatim_string_literal" | "raw_string_literal" => {
                let ty = self.opaque("string");
                let t = self.term(Op::Str(self.text(node).into()), [], ty, node);
                self.value(t, Ty::Unknown("string".into()))
            }
            "null_literal" => {
                let zero = self.number(0, Ty::INT, node);
                self.value(zero.t, Ty::Null)
            }
            "this" => match self.is_static() {
                true => self.unknown("there is no `this` here", node),
                false => self.this(node),
            },
            "parenthesized_expression" => match children(node).first() {
                Some(inner) => self.expr(*inner),
                None => self.unknown("a part of this expression is missing", node),
            },
            "binary_expression" => self.binary_chain(node),
            "prefix_unary_expression" | "unary_expression" => self.prefix(node),
            "postfix_unary_expression" => self.postfix(node),
            "assignment_expression" => self.assignment(node),
            "conditional_expression" => self.conditional(node),
            "cast_expression" => self.cast(node),
            "checked_expression" => self.checked_expression(node),
            "element_access_expression" => self.element(node),
            "member_access_expression" => self.member_access(node),
            "invocation_expression" => self.call(node),
            "default_expression" => self.default_value(node),
            "sizeof_expression" => {
                let ty = node.child_by_field_name("type").map(|t| self.type_of(t));
                let size = ty.filter(|t| matches!(t, Ty::Int(_) | Ty::Float(_))).and_then(|ty| {
                    let ty = self.repr(&ty);
                    self.b.types.size_align(ty)
                });
                match size {
                    Some((size, _)) => self.number(i128::from(size), Ty::INT, node),
                    None => self.unknown("the size of this type is not known", node),
                }
            }
            "object_creation_expression" => self.new_object(node),
            "conditional_access_expression" => self.field_if_any(node, None),
            kind => self.unknown(why_not(kind), node),
        }
    }

    /// `new Image(w, h)`: what the constructor does is not followed, but the type of the object is known.
    fn new_object(&mut self, node: Node<'a>) -> Value {
        let v = self.unknown(why_not(node.kind()), node);
        let ty = node.child_by_field_name("type").map_or_else(Ty::unknown, |t| self.type_of(t));
        if !matches!(ty, Ty::Class(_)) {
            return v;
        }
        let repr = self.repr(&ty);
        let mut term = self.b.get(v.t).clone();
        term.ty = repr;
        self.b.set(v.t, term);
        Value { ty, ..v }
    }

    pub(super) fn number(&mut self, v: i128, ty: Ty, node: Node<'_>) -> Value {
        let repr = self.repr(&ty);
        let t = self.term(Op::Int(v), [], repr, node);
        self.value(t, ty)
    }

    /// A number that is known, and is no constant to C#: not converted as one (C# 10.2.11).
    pub(super) fn known_number(&mut self, v: Value, node: Node<'_>) -> Value {
        if self.constant(v.t).is_none() {
            return v;
        }
        let ty = self.b.get(v.t).ty;
        let t = self.term(Op::Cast, [v.t], ty, node);
        Value { t, ..v }
    }

    pub(super) fn real(&mut self, v: f64, kind: FloatKind, node: Node<'_>) -> Value {
        let ty = self.b.types.float(kind);
        let t = self.term(Op::Float(F64::new(v)), [], ty, node);
        self.value(t, Ty::Float(kind))
    }

    fn checked_expression(&mut self, node: Node<'a>) -> Value {
        let said = match self.text(node).starts_with("unchecked") {
            true => Overflow::Wraps,
            false => Overflow::Traps,
        };
        let Some(inner) = children(node).first().copied() else {
            return self.unknown("a part of this expression is missing", node);
        };
        let v = self.expr(inner);
        if said == Overflow::Wraps && !self.is_checked_around(node) {
            // as everywhere else
            return v;
        }
        let ty = self.b.get(v.t).ty;
        let t = self.term(Op::Arithmetic(said), [v.t], ty, node);
        self.value(t, v.ty)
    }

    /// Whether `checked` is around a place, as a statement or as an expression.
    pub(super) fn is_checked_around(&self, node: Node<'a>) -> bool {
        let mut around = node.parent();
        while let Some(n) = around {
            if n.kind() == "checked_expression" && self.text(n).starts_with("checked") {
                return true;
            }
            around = n.parent();
        }
        self.checked
    }

    fn default_value(&mut self, node: Node<'a>) -> Value {
        let ty = node.child_by_field_name("type").map(|t| self.type_of(t));
        match ty {
            Some(ty @ (Ty::Int(_) | Ty::Float(_))) => {
                let zero = self.number(0, Ty::INT, node);
                match ty {
                    Ty::Int(IntKind::Bool) => self.number(0, Ty::BOOL, node),
                    ty => self.convert(zero, &ty),
                }
            }
            _ => self.unknown("this default value is not followed", node),
        }
    }

    fn cast(&mut self, node: Node<'a>) -> Value {
        let (Some(ty), Some(inner)) = (node.child_by_field_name("type"), node.child_by_field_name("value"))
        else {
            return self.unknown("a part of this expression is missing", node);
        };
        let to = self.type_of(ty);
        if let (Some(v), Ty::Int(k)) = (self.enumerated(inner), &to) {
            if k.wrap(v) == v && *k != IntKind::Bool {
                return self.number(v, to, node);
            }
        }
        let v = self.expr(inner);
        if v.ty == to {
            return v;
        }
        if !(v.ty.is_number() && to.is_number()) {
            let r = self.convert(v, &to);
            return r;
        }
        if let (Some(c), Ty::Int(k)) = (self.constant(v.t), &to) {
            if k.wrap(c) == c {
                return self.number(c, to, node);
            }
        }
        let repr = self.repr(&to);
        let t = self.term(Op::Cast, [v.t], repr, node);
        self.value(t, to)
    }
}

/// Why an expression of this kind is not followed.
fn why_not(kind: &str) -> &'static str {
    match kind {
        "lambda_expression" | "anonymous_method_expression" => "when a lambda runs is not followed",
        "query_expression" => "queries (LINQ) are not followed",
        "await_expression" => "`await` gives control to others in between",
        "object_creation_expression" | "implicit_object_creation_expression" => {
            "what the constructor of a new object does is not followed"
        }
        "array_creation_expression" | "implicit_array_creation_expression" => {
            "each iteration makes an array here, which is the host's work: what fills them can be a loop of its own"
        }
        "stackalloc_expression" | "implicit_stackalloc_expression" => {
            "memory that is made here is not followed"
        }
        "interpolated_string_expression" => "making a text calls `ToString`, which is not followed",
        "is_pattern_expression" | "is_expression" | "as_expression" | "switch_expression" => {
            "patterns are not followed"
        }
        "throw_expression" => "`throw` leaves the method",
        "tuple_expression" => "tuples are not followed",
        "with_expression" => "`with` copies an object, which is not followed",
        "preproc_if" => "which branch of `#if` counts is not known",
        "initializer_expression" | "collection_expression" => "a list of values is not followed here",
        "base" => "`base` is not followed",
        _ => "this expression is not followed",
    }
}
