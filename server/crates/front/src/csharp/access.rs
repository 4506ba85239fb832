//! Elements, fields and lengths.

use std::sync::Arc;

use term::{BinOp, FloatKind, IntKind, Op, Storage, TermId, TypeKind};
use tree_sitter::Node;

use super::member::{Lower, Value};
use super::names::{Entity, Var};
use super::read::children;
use super::types::{predefined, Ty};

/// Why `a?.b` is not followed.
pub(super) const CONDITIONAL: &str = "`?.` is not followed";

impl<'a> Lower<'a> {
    pub(super) fn name(&mut self, node: Node<'a>) -> Value {
        let word = self.text(node);
        match self.lookup(word).cloned() {
            Some(Entity::Var(var)) => self.variable_value(&var, node),
            Some(Entity::Constant(v, ty)) => self.number(v, ty, node),
            Some(Entity::Captured(ty)) => self.captured(word, &ty, node),
            Some(Entity::Given(v)) => {
                let v = self.given_for(word, &v);
                self.known_number(v, node)
            }
            Some(Entity::Unknown(reason)) => self.unknown(&reason, node),
            None => match self.field_named(word, node) {
                Some(v) => v,
                None => {
                    let reason = match self.is_field(word) {
                        true => format!("what `{word}` does is not followed"),
                        false => format!("`{word}` is declared nowhere that was read"),
                    };
                    self.unknown(&reason, node)
                }
            },
        }
    }

    pub(super) fn variable_value(&mut self, var: &Var, node: Node<'_>) -> Value {
        let ty = self.b.symbols[var.symbol].ty;
        let t = self.term(Op::Sym(var.symbol), [], ty, node);
        if var.by_ref {
            let of = self.repr(&var.ty);
            let t = self.term(Op::Deref, [t], of, node);
            return self.value(t, var.ty.clone());
        }
        Value { t, ty: var.ty.clone(), lengths: var.lengths.clone() }
    }

    /// `a[i]`, `a[i, j]`
    pub(super) fn element(&mut self, node: Node<'a>) -> Value {
        let (Some(base), Some(list)) =
            (node.child_by_field_name("expression"), node.child_by_field_name("subscript"))
        else {
            return self.unknown("a part of this expression is missing", node);
        };
        if let Some(v) = self.indexed(base, list, node) {
            return v;
        }
        let base = self.expr(base);
        let arguments = children(list);
        let Some((element, rank)) = base.ty.elements().map(|(of, rank)| ((**of).clone(), rank)) else {
            if self.is_list(&base.ty) {
                return self.unknown("elements of a list are reached by calls: copy it to an array (`ToArray()`) before the loop", node);
            }
            return self.unknown("subscripts of what is no array are calls, which are not followed", node);
        };
        // without its lengths a rectangle cannot be laid out
        if rank != arguments.len() || (rank > 1 && base.lengths.len() != rank) {
            return self.unknown("subscripts of this array are not followed", node);
        }
        let mut t = base.t;
        for (k, argument) in arguments.iter().enumerate() {
            let Some(subscript) = children(*argument).first().copied() else {
                return self.unknown("a subscript is missing", node);
            };
            let v = match self.counted_back(subscript, t, &base, k) {
                Some(v) => v,
                None => self.expr(subscript),
            };
            if v.ty.as_int().is_none() {
                return self.unknown("subscripts that are no whole numbers are not followed", node);
            }
            // narrow ones are `int`s (C# 12.8.12.2)
            let wide = Ty::Int(v.ty.as_int().unwrap_or(IntKind::Int).promoted());
            let v = self.convert(v, &wide);
            let of = match k + 1 == rank {
                true => self.repr(&element),
                false => {
                    let ty = self.b.get(t).ty;
                    self.b.types.element(ty).unwrap_or(ty)
                }
            };
            t = self.term(Op::Index, [t, v.t], of, node);
        }
        self.value(t, element)
    }

    /// `a[^1]`
    fn counted_back(&mut self, node: Node<'a>, array: TermId, base: &Value, k: usize) -> Option<Value> {
        let back = node.kind() == "prefix_unary_expression" && self.text(node).starts_with('^');
        let inner = children(node).last().copied().filter(|_| back)?;
        let v = self.expr(inner);
        let v = self.convert(v, &Ty::INT);
        let length = match base.lengths.get(k) {
            Some(&l) => self.use_of(l, node),
            None => {
                let Op::Sym(s) = self.b.get(array).op else { return None };
                let array = self.use_of(s, node);
                self.length_call(array, k, node)
            }
        };
        let t = self.plain(BinOp::Sub, length, v.t, &Ty::INT, node);
        Some(self.value(t, Ty::INT))
    }

    pub(super) fn member_access(&mut self, node: Node<'a>) -> Value {
        let (Some(base), Some(name)) =
            (node.child_by_field_name("expression"), node.child_by_field_name("name"))
        else {
            return self.unknown("a part of this expression is missing", node);
        };
        let name = self.text(name);
        if base.kind() == "this" && !self.is_static() {
            let of = self.of();
            if let Some(v) = of.and_then(|of| self.own_value(&of, name, node)) {
                return v;
            }
            return self.unknown("what this member does is not followed", node);
        }
        if let Some(v) = self.static_member(base, name, node) {
            return v;
        }
        let v = self.expr(base);
        match (&v.ty, name) {
            (Ty::Array(_, 1) | Ty::Span(_), "Length" | "LongLength") => {
                let t = match v.lengths.first() {
                    Some(&length) => {
                        let ty = self.b.types.int(IntKind::Int);
                        self.term(Op::Sym(length), [], ty, node)
                    }
                    None => self.length_call(v.t, 0, node),
                };
                let length = self.value(t, Ty::INT);
                match name {
                    "Length" => length,
                    _ => self.convert(length, &Ty::Int(IntKind::LongLong)),
                }
            }
            (Ty::Array(_, rank), "Length") if v.lengths.len() == *rank => {
                let mut product: Option<TermId> = None;
                for &length in &v.lengths {
                    let one = self.use_of(length, node);
                    product = Some(match product {
                        None => one,
                        Some(p) => self.plain(BinOp::Mul, p, one, &Ty::INT, node),
                    });
                }
                match product {
                    Some(t) => self.value(t, Ty::INT),
                    None => self.unknown("this length is not followed", node),
                }
            }
            (Ty::Array(_, rank), "Rank") => {
                let rank = self.number(*rank as i128, Ty::INT, node);
                self.known_number(rank, node)
            }
            (Ty::Class(of) | Ty::Struct(of), _) => {
                let (of, arrow) = (of.clone(), matches!(v.ty, Ty::Class(_)));
                let field = self.field_through(&of, name, v.t, arrow, node);
                match field.or_else(|| self.property_through(&of, name, &v, node)) {
                    Some(v) => v,
                    None => self.unknown("what this member does is not followed", node),
                }
            }
            _ => self.unknown("what this member does is not followed", node),
        }
    }

    /// `a?.data`, and `a?.width ?? 0`, as an offload hands them over: a field of the object in a variable, or what stands for it where
    /// there is none.
    pub(super) fn field_if_any(&mut self, node: Node<'a>, otherwise: Option<Node<'a>>) -> Value {
        let parts = children(node);
        let (Some(&base), Some(&binding)) = (parts.first(), parts.last()) else {
            return self.unknown(CONDITIONAL, node);
        };
        if !self.is_handed_over(node) {
            return self.unknown(CONDITIONAL, node);
        }
        let object = match (base.kind(), self.quick_type(base)) {
            ("identifier", Some(ty @ Ty::Class(_))) => ty,
            _ => return self.unknown(CONDITIONAL, node),
        };
        let Ty::Class(of) = &object else { return self.unknown(CONDITIONAL, node) };
        let name =
            binding.child_by_field_name("name").filter(|_| binding.kind() == "member_binding_expression");
        let Some(name) = name.map(|n| self.text(n)) else { return self.unknown(CONDITIONAL, node) };
        let (tested, looked_into) = (self.expr(base), self.expr(base));
        let Some(field) = self.field_through(of, name, looked_into.t, true, node) else {
            return self.unknown(CONDITIONAL, node);
        };
        let other = match (&field.ty, otherwise) {
            (Ty::Array(_, 1) | Ty::Class(_), None) => {
                let null = self.number(0, Ty::INT, node);
                self.value(null.t, Ty::Null)
            }
            (Ty::Int(_) | Ty::Float(_), Some(other)) => {
                let other = self.expr(other);
                // of another type the whole would be one of that
                let small = match (self.constant(other.t), &field.ty) {
                    (Some(c), &Ty::Int(k)) => k != IntKind::Bool && k.min() <= c && c <= k.max(),
                    (Some(_), _) => true,
                    (None, _) => false,
                };
                if other.ty != field.ty && !(small && other.ty == Ty::INT) {
                    return self.unknown(CONDITIONAL, node);
                }
                other
            }
            _ => return self.unknown(CONDITIONAL, node),
        };
        let other = self.convert(other, &field.ty);
        let null = self.number(0, Ty::INT, node);
        let null = self.value(null.t, Ty::Null);
        let null = self.convert(null, &object);
        let is_there = self.plain(BinOp::Ne, tested.t, null.t, &Ty::BOOL, node);
        let repr = self.repr(&field.ty);
        let t = self.term(Op::Select, [is_there, field.t, other.t], repr, node);
        self.value(t, field.ty)
    }

    /// Whether it stands in the call of a method that an offload wrote.
    fn is_handed_over(&self, node: Node<'a>) -> bool {
        let mut at = node.parent();
        while let Some(n) = at.filter(|n| !n.kind().ends_with("_statement")) {
            let function = n.child_by_field_name("function").filter(|_| n.kind() == "invocation_expression");
            if function.is_some_and(|f| term::stands_for_a_loop(self.text(f))) {
                return true;
            }
            at = n.parent();
        }
        false
    }

    /// `int.MaxValue`, `Math.PI`, `Config.Size`
    fn static_member(&mut self, base: Node<'a>, name: &str, node: Node<'a>) -> Option<Value> {
        let of = self.text(base);
        if !matches!(base.kind(), "identifier" | "predefined_type" | "member_access_expression") {
            return None;
        }
        let plain = of.strip_prefix("System.").unwrap_or(of);
        if base.kind() == "identifier" && (self.lookup(of).is_some() || self.is_field(of)) {
            return None;
        }
        if let Some((known, ty)) = self.outline.types.get_key_value(plain) {
            let known: Arc<str> = known.clone();
            if ty.kind == "enum" {
                let why = "values of an enumeration are not followed: take their numbers, `(int)`, also for what arrays hold";
                return Some(self.unknown(why, node));
            }
            let of_type = self.static_field(&known, name, node);
            return Some(match of_type.or_else(|| self.own_property(&known, name, node)) {
                Some(v) => v,
                None => self.unknown("what this member does is not followed", node),
            });
        }
        match (plain, name) {
            ("Math", "PI") => return Some(self.real(std::f64::consts::PI, FloatKind::F64, node)),
            ("Math", "E") => return Some(self.real(std::f64::consts::E, FloatKind::F64, node)),
            ("MathF", "PI") => {
                return Some(self.real(f64::from(std::f32::consts::PI), FloatKind::F32, node));
            }
            _ => {}
        }
        match (predefined(plain)?, name) {
            (Ty::Int(k), "MaxValue") if k != IntKind::Bool => Some(self.number(k.max(), Ty::Int(k), node)),
            (Ty::Int(k), "MinValue") if k != IntKind::Bool => Some(self.number(k.min(), Ty::Int(k), node)),
            (Ty::Float(k), _) => {
                let v = match (name, k) {
                    ("PositiveInfinity", _) => f64::INFINITY,
                    ("NegativeInfinity", _) => f64::NEG_INFINITY,
                    ("NaN", _) => f64::NAN,
                    ("MaxValue", FloatKind::F32) => f64::from(f32::MAX),
                    ("MinValue", FloatKind::F32) => f64::from(f32::MIN),
                    ("MaxValue", _) => f64::MAX,
                    ("MinValue", _) => f64::MIN,
                    _ => return None,
                };
                Some(self.real(v, k, node))
            }
            _ => None,
        }
    }

    /// The number of `Kind.Wall` in `(int)Kind.Wall`.
    pub(super) fn enumerated(&self, node: Node<'a>) -> Option<i128> {
        let (of, name) = (node.child_by_field_name("expression")?, node.child_by_field_name("name")?);
        let is_named = node.kind() == "member_access_expression" && of.kind() == "identifier";
        let of =
            Some(self.text(of)).filter(|of| is_named && self.lookup(of).is_none() && !self.is_field(of))?;
        let (known, ty) = self.outline.types.get_key_value(of)?;
        let certain = ty.kind == "enum" && !ty.is_partial && !self.outline.uncertain.contains(known);
        let field = ty.fields.iter().find(|f| *f.name == *self.text(name)).filter(|_| certain)?;
        field.value.as_ref()?.parse().ok()
    }

    /// What a pure function of this name gives for these.
    pub(super) fn computed(&mut self, name: &str, args: Vec<Value>, ty: Ty, node: Node<'_>) -> Value {
        let params: Vec<_> = args.iter().map(|a| self.b.get(a.t).ty).collect();
        let ret = self.repr(&ty);
        let key = format!("{name}:{ret:?}");
        let function = match self.outside.get(key.as_str()) {
            Some(&f) => f,
            None => {
                let fty = self.b.types.plain(TypeKind::Function { ret, params, variadic: false });
                let f = self.symbol(name, fty, Storage::Function, None);
                self.b.library.push(f);
                self.outside.insert(key.into(), f);
                f
            }
        };
        let fty = self.b.symbols[function].ty;
        let callee = self.term(Op::Sym(function), [], fty, node);
        let all: Vec<TermId> = [callee].into_iter().chain(args.iter().map(|a| a.t)).collect();
        let t = self.term(Op::Call, all, ret, node);
        self.value(t, ty)
    }

    /// The length of an array that no variable has.
    pub(super) fn length_call(&mut self, array: TermId, dimension: usize, node: Node<'_>) -> TermId {
        let k = self.number(dimension as i128, Ty::INT, node);
        let array = self.value(array, Ty::unknown());
        self.computed("Array.GetLength", vec![array, k], Ty::INT, node).t
    }
}
