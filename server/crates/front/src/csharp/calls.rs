//! Calls: the mathematical functions of the library, static methods of the document, and others, of which nothing is known.

use std::sync::Arc;

use term::{BinOp, FloatKind, IntKind, Op, Storage, TermId, TypeKind};
use tree_sitter::Node;

use super::member::{Lower, Value};
use super::outline::Method;
use super::read::{children, walk};
use super::types::Ty;
use crate::limits::csharp::MAX_AGAIN;

/// Functions of one floating argument, as `Math` and `MathF` have them.
const ONE: [&str; 20] = [
    "Sqrt", "Cbrt", "Sin", "Cos", "Tan", "Asin", "Acos", "Atan", "Sinh", "Cosh", "Tanh", "Asinh", "Acosh",
    "Atanh", "Exp", "Log", "Log2", "Log10", "Floor", "Ceiling",
];
/// Likewise, of which `Math` has some for other types, too.
const ONE_MORE: [&str; 3] = ["Truncate", "Round", "Abs"];
const TWO: [&str; 6] = ["Pow", "Atan2", "IEEERemainder", "Max", "Min", "CopySign"];

impl<'a> Lower<'a> {
    pub(super) fn call(&mut self, node: Node<'a>) -> Value {
        let (Some(function), Some(list)) =
            (node.child_by_field_name("function"), node.child_by_field_name("arguments"))
        else {
            return self.unknown("a part of this expression is missing", node);
        };
        let arguments = children(list);
        // what is named or goes by reference is no plain value
        let plain = |a: &Node<'a>| a.child_by_field_name("name").is_none() && children(*a).len() == 1;
        let values: Vec<Node<'a>> = arguments.iter().filter_map(|a| children(*a).last().copied()).collect();
        let all_plain = arguments.iter().all(|a| plain(a) && !super::names::by_reference(*a))
            && values.len() == arguments.len();
        let inside = |kinds: &[&str]| {
            let mut found = false;
            walk(list, |n| {
                found |= kinds.contains(&n.kind());
                !found
            });
            found
        };
        if function.kind() == "member_access_expression" {
            let base = function.child_by_field_name("expression");
            let name = function.child_by_field_name("name").map_or("", |n| self.text(n));
            if let (Some(base), true) = (base, all_plain) {
                let of = self.text(base);
                let library = self.is_library(of);
                if let (Some(kind), true) = (library, !values.is_empty()) {
                    if let Some(v) = self.mathematics(kind, name, &values, node) {
                        return v;
                    }
                }
                if let Some(v) = self.of_array(base, name, &values, node) {
                    return v;
                }
            }
        }
        if !all_plain && term::stands_for_a_loop(self.text(function)) {
            return self.stand_in(function, &arguments, node);
        }
        if all_plain && !inside(&["lambda_expression", "anonymous_method_expression", "query_expression"]) {
            if let Some(v) = self.own_method(function, &values, node) {
                return v;
            }
            return self.foreign(function, &values, node);
        }
        let reason = match inside(&["lambda_expression", "anonymous_method_expression"]) {
            true => "when a lambda runs is not followed",
            false => "this call is not followed",
        };
        self.unknown(reason, node)
    }

    /// Whether a name means the library's `Math` (double) or `MathF` (float).
    fn is_library(&self, of: &str) -> Option<FloatKind> {
        let kind = match of.strip_prefix("System.").unwrap_or(of) {
            "Math" => FloatKind::F64,
            "MathF" => FloatKind::F32,
            _ => return None,
        };
        let own = self.outline.types.contains_key(of) || self.lookup(of).is_some() || self.is_field(of);
        (!own).then_some(kind)
    }

    fn mathematics(
        &mut self,
        kind: FloatKind,
        name: &str,
        values: &[Node<'a>],
        node: Node<'a>,
    ) -> Option<Value> {
        if let ("Sign", 1) | ("Clamp", 3) = (name, values.len()) {
            return Some(self.chosen(name, values, node));
        }
        let known = match values.len() {
            1 => ONE.contains(&name) || ONE_MORE.contains(&name),
            2 => TWO.contains(&name),
            _ => false,
        };
        if !known || (name == "IEEERemainder" && kind == FloatKind::F32) {
            return None;
        }
        let mut args: Vec<Value> = values.iter().map(|v| self.expr(*v)).collect();
        if !args.iter().all(|a| a.ty.is_number()) {
            let parts: Vec<TermId> = args.iter().map(|a| a.t).collect();
            return Some(self.unknown_with("numbers of these types are not followed", parts, node));
        }
        let whole = args.iter().all(|a| a.ty.as_int().is_some());
        let single = args.iter().all(|a| !matches!(a.ty, Ty::Float(FloatKind::F64)));
        let ty = match (name, kind) {
            ("Abs", FloatKind::F64) if whole => {
                // the nearest type that it is there for (C# 12.6.4); each throws at its own end
                Ty::Int(match args[0].ty.as_int()? {
                    IntKind::SChar => IntKind::SChar,
                    IntKind::UChar | IntKind::Short => IntKind::Short,
                    IntKind::UShort | IntKind::Int => IntKind::Int,
                    IntKind::UInt | IntKind::LongLong => IntKind::LongLong,
                    _ => return Some(self.unknown("`Abs` of this type is not followed", node)),
                })
            }
            ("Max" | "Min", FloatKind::F64) if whole => self.common(&args[0], &args[1])?,
            ("Abs" | "Max" | "Min", FloatKind::F64) if single => Ty::Float(FloatKind::F32),
            _ => Ty::Float(kind),
        };
        args = args.into_iter().map(|a| self.convert(a, &ty)).collect();
        if let (Ty::Int(_), "Max" | "Min") = (&ty, name) {
            return Some(self.extreme(name, args, values, ty, node));
        }
        let of = match ty {
            Ty::Float(FloatKind::F32) => "MathF",
            _ => "Math",
        };
        let name = match ty {
            Ty::Int(_) => "Math.Abs".to_owned(),
            _ => format!("{of}.{name}"),
        };
        Some(self.computed(&name, args, ty, node))
    }

    /// `Math.Sign` of whole numbers and `Math.Clamp` between constants, as the comparisons that they are. Of others they throw.
    fn chosen(&mut self, name: &str, nodes: &[Node<'a>], node: Node<'a>) -> Value {
        let args: Vec<Value> = nodes.iter().map(|v| self.expr(*v)).collect();
        let parts: Vec<TermId> = args.iter().map(|a| a.t).collect();
        let ends: Vec<Option<f64>> = args.iter().skip(1).map(|a| self.constant_value(a)).collect();
        let (why, ty) = match name {
            "Sign" => (
                "`Math.Sign` of a floating number throws for NaN, which is not followed",
                Some(args[0].ty.clone()),
            ),
            _ => {
                let first = self.common(&args[0], &args[1]);
                let ty = first.and_then(|ty| self.common(&Value { ty, ..args[0].clone() }, &args[2]));
                ("`Math.Clamp` throws where its ends are the wrong way round, which is not followed: give it constants", ty)
            }
        };
        let in_order = matches!(ends.as_slice(), [Some(a), Some(b)] if a <= b)
            && args[0].ty == *ty.as_ref().unwrap_or(&Ty::Null);
        let has_sign = args[0].ty.as_int().is_some_and(|k| !matches!(k, IntKind::UInt | IntKind::ULongLong));
        let fits = if name == "Sign" { has_sign } else { in_order };
        let Some(ty) = ty.filter(|_| fits && nodes.iter().all(|n| self.is_plain_value(*n))) else {
            return self.unknown_with(why, parts, node);
        };
        let again = |me: &mut Self, k: usize| {
            let v = me.expr(nodes[k]);
            me.convert(v, &ty)
        };
        let (of, low, high) = match name {
            "Sign" => {
                let number = |me: &mut Self, v| me.number(v, Ty::INT, node);
                (Ty::INT, number(self, -1), number(self, 1))
            }
            _ => (ty.clone(), again(self, 1), again(self, 2)),
        };
        let zero = |me: &mut Self| {
            let zero = me.number(0, Ty::INT, node);
            me.convert(zero, &ty)
        };
        let (least, most) = match name {
            "Sign" => (zero(self), zero(self)),
            _ => (again(self, 1), again(self, 2)),
        };
        let value = self.convert(args[0].clone(), &ty);
        let is_below = self.plain(BinOp::Lt, value.t, least.t, &Ty::BOOL, node);
        let second = again(self, 0);
        let is_above = self.plain(BinOp::Gt, second.t, most.t, &Ty::BOOL, node);
        let between = if name == "Sign" { self.number(0, Ty::INT, node) } else { again(self, 0) };
        let repr = self.repr(&of);
        let above = self.term(Op::Select, [is_above, high.t, between.t], repr, node);
        let t = self.term(Op::Select, [is_below, low.t, above], repr, node);
        self.value(t, of)
    }

    /// The value of a constant, whole or not.
    fn constant_value(&self, v: &Value) -> Option<f64> {
        let term = self.b.get(v.t);
        match (&term.op, term.args.first()) {
            (Op::Float(f), _) => Some(f.get()),
            (Op::Unary(term::UnOp::Neg), Some(&of)) => match self.b.get(of).op {
                Op::Float(f) => Some(-f.get()),
                _ => None,
            },
            _ => self.constant(v.t).map(|c| c as f64),
        }
    }

    /// What is not followed, with what it reads.
    fn unknown_with(&mut self, why: &str, parts: Vec<TermId>, node: Node<'a>) -> Value {
        let mut v = self.unknown(why, node);
        let mut term = self.b.get(v.t).clone();
        term.args = term.args.iter().copied().chain(parts).collect();
        self.b.set(v.t, term);
        v.lengths.clear();
        v
    }

    /// Whether an expression may be evaluated twice: it sets nothing, and calls the library's `Math` alone, a few times.
    fn is_plain_value(&self, node: Node<'a>) -> bool {
        let (mut plain, mut calls) = (true, 0);
        walk(node, |x| {
            let is_step = self.text(x).starts_with("++") || self.text(x).starts_with("--");
            plain &= match x.kind() {
                "invocation_expression" => {
                    let function = x.child_by_field_name("function");
                    let base = function.and_then(|f| f.child_by_field_name("expression"));
                    calls += 1;
                    calls <= MAX_AGAIN && base.is_some_and(|b| self.is_library(self.text(b)).is_some())
                }
                "prefix_unary_expression" => !is_step,
                kind => !matches!(kind, "assignment_expression" | "postfix_unary_expression"),
            };
            plain
        });
        plain
    }

    /// `a < b ? a : b` of whole numbers.
    fn extreme(&mut self, name: &str, args: Vec<Value>, nodes: &[Node<'a>], ty: Ty, node: Node<'a>) -> Value {
        if !nodes.iter().all(|n| self.is_plain_value(*n)) {
            return self.computed(&format!("Math.{name}"), args, ty, node);
        }
        let again: Vec<Value> = nodes
            .iter()
            .map(|n| {
                let v = self.expr(*n);
                self.convert(v, &ty)
            })
            .collect();
        let op = if name == "Min" { BinOp::Lt } else { BinOp::Gt };
        let condition = self.plain(op, args[0].t, args[1].t, &Ty::BOOL, node);
        let repr = self.repr(&ty);
        let t = self.term(Op::Select, [condition, again[0].t, again[1].t], repr, node);
        self.value(t, ty)
    }

    /// `a.GetLength(0)`, `a.AsSpan()`
    fn of_array(&mut self, base: Node<'a>, name: &str, values: &[Node<'a>], node: Node<'a>) -> Option<Value> {
        if !matches!(
            (name, values.len()),
            ("GetLength" | "GetUpperBound" | "GetLowerBound", 1) | ("AsSpan", 0)
        ) {
            return None;
        }
        let named = base.kind() == "identifier" && self.lookup(self.text(base)).is_some();
        if !named && !self.is_field(self.text(base)) {
            return None;
        }
        let v = self.expr(base);
        let Some((of, rank)) = v.ty.elements().map(|(of, rank)| (of.clone(), rank)) else {
            return Some(self.unknown("this call is not followed", node));
        };
        if name == "AsSpan" {
            return Some(match &v.ty {
                Ty::Array(_, 1) => Value { ty: Ty::Span(of), ..v },
                _ => self.unknown("this call is not followed", node),
            });
        }
        let k = self.expr(values[0]);
        let k = self.constant(k.t).and_then(|k| usize::try_from(k).ok()).filter(|k| *k < rank);
        let Some(k) = k else { return Some(self.unknown("this dimension is not followed", node)) };
        if name == "GetLowerBound" {
            let first = self.number(0, Ty::INT, node);
            return Some(self.known_number(first, node));
        }
        let t = match v.lengths.get(k) {
            Some(&length) => {
                let int = self.b.types.int(IntKind::Int);
                self.term(Op::Sym(length), [], int, node)
            }
            None => self.length_call(v.t, k, node),
        };
        let t = match name {
            "GetUpperBound" => {
                let one = self.number(1, Ty::INT, node);
                self.plain(BinOp::Sub, t, one.t, &Ty::INT, node)
            }
            _ => t,
        };
        Some(self.value(t, Ty::INT))
    }

    /// The one method of the document that a call means.
    fn own_method(&mut self, function: Node<'a>, values: &[Node<'a>], node: Node<'a>) -> Option<Value> {
        let (of, name, object): (Arc<str>, &str, Option<Node<'a>>) = match function.kind() {
            "identifier" => (self.of()?, self.text(function), None),
            "member_access_expression" => {
                let base = function.child_by_field_name("expression")?;
                let name = function.child_by_field_name("name").map(|n| self.text(n))?;
                match self.quick_type(base) {
                    Some(Ty::Class(of) | Ty::Struct(of)) => {
                        (of, name, Some(base).filter(|b| b.kind() != "this"))
                    }
                    Some(_) => return None,
                    None if base.kind() != "identifier" => return None,
                    None => {
                        let of = self.text(base);
                        if self.lookup(of).is_some() || self.is_field(of) {
                            return None;
                        }
                        (of.into(), name, None)
                    }
                }
            }
            _ => return None,
        };
        if function.kind() == "identifier" && (self.lookup(name).is_some() || self.has_local_function(name)) {
            return None;
        }
        let by_type = function.kind() != "identifier" && self.quick_type(function.child(0)?).is_none();
        let ty = self.outline.types.get(&of)?;
        let certain = !self.outline.uncertain.contains(&of)
            && !ty.is_partial
            && ty.parameters.is_empty()
            && ty.kind != "interface"
            && !ty.has_static_constructor;
        // of several the one with so many parameters, if all say how many they take
        let named = ty.methods.iter().filter(|m| *m.name == *name);
        let mut found = named.clone().filter(|m| m.parameters.len() == values.len());
        let method = found.next().filter(|_| found.next().is_none())?;
        let is_one = named.clone().count() == 1;
        let counted = is_one || named.clone().all(|m| m.is_plain && !m.is_generic) && !ty.has_bases;
        let fits = !method.is_open && !method.is_generic && method.is_plain && counted;
        if !certain || !fits || by_type && !method.is_static {
            return None;
        }
        let method = method.clone();
        if method.is_static && is_one && object.is_none() {
            self.is_open = true;
            if let Some(v) = self.resolved(&format!("{of}.{name}"), &method, values, node) {
                return Some(v);
            }
        }
        self.inlined_call(&of, &method, object, values, node)
    }

    /// Whether a function of this name stands in the member, before or behind the call.
    fn has_local_function(&self, name: &str) -> bool {
        let mut found = false;
        let mut around: Vec<Node<'a>> = self.member.bodies.clone();
        // what a function in a function sees
        around.extend(self.member.node.and_then(|n| n.parent()).filter(|_| !self.member.captured.is_empty()));
        for body in around.into_iter().filter(|_| self.frames.is_empty()) {
            walk(body, |n| {
                let own = n.kind() == "local_function_statement"
                    && n.child_by_field_name("name").is_some_and(|w| self.text(w) == name);
                found |= own;
                !found
            });
        }
        found
    }

    fn resolved(
        &mut self,
        name: &str,
        method: &Method,
        values: &[Node<'a>],
        node: Node<'a>,
    ) -> Option<Value> {
        let types: Vec<Ty> = method.parameters.iter().map(|p| self.type_of_text(p)).collect();
        let known = |t: &Ty| matches!(t, Ty::Int(_) | Ty::Float(_) | Ty::Array(_, 1) | Ty::Span(_));
        let returns = self.type_of_text(&method.returns);
        if !types.iter().all(known) || !matches!(returns, Ty::Void | Ty::Int(_) | Ty::Float(_)) {
            return None;
        }
        let mut args = Vec::new();
        let mut params = Vec::new();
        for (value, ty) in values.iter().zip(&types) {
            let v = self.expr(*value);
            let lengths = v.lengths.clone();
            let as_span = matches!((&v.ty, ty), (Ty::Array(of, 1), Ty::Span(inner)) if of == inner);
            if !(as_span || v.ty == Ty::Null || self.is_implicit(&v, ty)) && self.b.reason(v.t).is_none() {
                return Some(self.unknown("which method this means is not followed", node));
            }
            let v = self.convert(v, ty);
            params.push(self.repr(ty));
            args.push(v.t);
            for k in 0..ty.elements().map_or(0, |(_, rank)| rank) {
                let int = self.b.types.int(IntKind::Int);
                params.push(int);
                let t = match lengths.get(k) {
                    Some(&length) => self.use_of(length, *value),
                    None => {
                        let again = self.expr(*value);
                        self.length_call(again.t, k, *value)
                    }
                };
                args.push(t);
            }
        }
        let ret = self.repr(&returns);
        let fty = self.b.types.plain(TypeKind::Function { ret, params, variadic: false });
        let function = match self.outside.get(name) {
            Some(&f) => f,
            None => {
                let f = self.symbol(name, fty, Storage::Function, None);
                self.outside.insert(name.into(), f);
                f
            }
        };
        let callee = self.term(Op::Sym(function), [], fty, node);
        let all: Vec<TermId> = [callee].into_iter().chain(args).collect();
        let t = self.term(Op::Call, all, ret, node);
        Some(self.value(t, returns))
    }

    /// The call of a method that an offload wrote: results go by reference.
    fn stand_in(&mut self, function: Node<'a>, arguments: &[Node<'a>], node: Node<'a>) -> Value {
        let mut args: Vec<TermId> = Vec::new();
        for a in arguments {
            let Some(value) = children(*a).last().copied() else { continue };
            let v = self.expr(value);
            let symbol = match self.b.get(v.t).op {
                Op::Sym(s) => Some(s),
                _ => None,
            };
            args.push(match symbol.filter(|_| self.text(*a).starts_with("ref ")) {
                Some(s) => {
                    self.b.symbols[s].address_taken = true;
                    let of = self.b.get(v.t).ty;
                    let ty = self.b.types.pointer(of);
                    self.term(Op::AddrOf, [v.t], ty, *a)
                }
                None => v.t,
            });
        }
        self.is_open = true;
        let ret = self.repr(&Ty::BOOL);
        let fty = self.b.types.plain(TypeKind::Function { ret, params: Vec::new(), variadic: true });
        let symbol = self.symbol(self.text(function), fty, Storage::Function, None);
        let callee = self.term(Op::Sym(symbol), [], fty, function);
        let all: Vec<TermId> = [callee].into_iter().chain(args).collect();
        let t = self.term(Op::Call, all, ret, node);
        self.value(t, Ty::BOOL)
    }

    /// A call of which nothing is known.
    fn foreign(&mut self, function: Node<'a>, values: &[Node<'a>], node: Node<'a>) -> Value {
        let mut args: Vec<Value> = Vec::new();
        let base = function
            .child_by_field_name("expression")
            .filter(|_| function.kind() == "member_access_expression");
        let named = self.text(function);
        // a receiver that is a value and no type
        if let Some(base) = base {
            let known = base.kind() == "identifier"
                && (self.lookup(self.text(base)).is_some() || self.is_field(self.text(base)));
            if known || !matches!(base.kind(), "identifier" | "predefined_type" | "member_access_expression")
            {
                let v = self.expr(base);
                args.push(v);
            }
        }
        for value in values {
            let v = self.expr(*value);
            args.push(v);
        }
        let simple =
            |v: &Value| matches!(&v.ty, Ty::Int(_) | Ty::Float(_)) || v.ty == Ty::Unknown("string".into());
        let is_console = matches!(named, "Console.Write" | "Console.WriteLine")
            && !self.outline.types.contains_key("Console");
        // other values are asked for their text, by code that may be anybody's
        let prints = is_console && args.iter().all(simple);
        self.is_open |= !prints;
        // a method that an offload wrote says whether it ran
        let answer = if term::stands_for_a_loop(named) { Ty::BOOL } else { Ty::unknown() };
        let ret = match answer {
            Ty::Int(_) => self.repr(&answer),
            _ => self.opaque("?"),
        };
        let of = base.map_or("", |b| self.text(b));
        let two_meanings = self.outline.uncertain.iter().any(|u| **u == *of);
        // no name of C's library has a dot
        let name = if named.contains('.') { named.to_owned() } else { format!("{named}(…)") };
        let name = match two_meanings || name.chars().count() > 60 || name.contains('\n') {
            true => "a method".to_owned(),
            false => name,
        };
        let fty = self.b.types.plain(TypeKind::Function { ret, params: Vec::new(), variadic: true });
        let key = if prints { format!("print {name}") } else { format!("call {name}") };
        let symbol = match self.outside.get(key.as_str()) {
            Some(&f) => f,
            None => {
                let f = self.symbol(&name, fty, Storage::Function, None);
                self.outside.insert(key.into(), f);
                if prints {
                    self.b.library.push(f);
                }
                f
            }
        };
        let callee = self.term(Op::Sym(symbol), [], fty, function);
        let all: Vec<TermId> = [callee].into_iter().chain(args.iter().map(|a| a.t)).collect();
        let t = self.term(Op::Call, all, ret, node);
        self.value(t, answer)
    }
}
