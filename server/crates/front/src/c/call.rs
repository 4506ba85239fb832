//! Calls, constructors and launches.

use std::sync::Arc;

use base::Span;
use term::{IntKind, Op, Origin, Quals, RejectKind, Storage, SymbolId, Term, TermId, TypeId, TypeKind};
use tree_sitter::Node;

use crate::c::{known, names, render, Entity, Lower};
use crate::limits::c_call::{MOST_HANDED, MOST_MEMBERS, MOST_STEPS};

/// How a place is reached from a variable by members alone: their names, whether through a pointer, their types.
struct Way {
    from: SymbolId,
    steps: Vec<(Arc<str>, bool, TypeId)>,
}

impl Lower<'_> {
    pub(super) fn arguments(&mut self, node: Node<'_>) -> Vec<TermId> {
        let mut out = Vec::new();
        let Some(list) = self.field(node, "arguments") else { return out };
        let mut cursor = list.walk();
        for child in list.named_children(&mut cursor) {
            let t = if child.kind() == "compound_statement" {
                self.reject(RejectKind::Macro, "a block as an argument is not followed", child, vec![])
            } else {
                self.expr(child)
            };
            out.push(t);
        }
        for &t in &out {
            self.escape(t);
        }
        out
    }

    pub(super) fn returned(&self, ty: TypeId) -> Option<TypeId> {
        match self.b.types.kind(ty) {
            TypeKind::Function { ret, .. } => Some(*ret),
            TypeKind::Pointer { to, .. } => match self.b.types.kind(*to) {
                TypeKind::Function { ret, .. } => Some(*ret),
                _ => None,
            },
            _ => None,
        }
    }

    pub(super) fn call(&mut self, node: Node<'_>) -> TermId {
        let Some(function) = self.field(node, "function") else {
            return self.reject(RejectKind::Syntax, "a part of this expression is missing", node, vec![]);
        };
        if function.kind() == "call_expression" {
            let launch = self.field(function, "function");
            if launch.is_some_and(|f| self.text(f) == render::LAUNCH) {
                return self.launch(node, function);
            }
        }
        if function.kind() == "identifier" {
            // A constructor's text is its type; what stands for it in the rendered text tells it apart.
            if self.r.text.get(function.byte_range()) == Some(render::VECTOR_CALL) {
                return self.construct(node, function);
            }
            return self.named_call(node, function);
        }
        let callee = self.expr(function);
        let args = self.arguments(node);
        if function.kind() == "parenthesized_expression" {
            if let Op::Sym(s) = self.b.get(callee).op {
                if self.b.symbols[s].storage == Storage::Undeclared {
                    let reason = "a name in parentheses that is declared nowhere here may be a type";
                    let mut all = vec![callee];
                    all.extend(args);
                    return self.reject(RejectKind::Unsupported, reason, node, all);
                }
            }
        }
        self.finish_call(node, callee, args)
    }

    pub(super) fn finish_call(&mut self, node: Node<'_>, callee: TermId, args: Vec<TermId>) -> TermId {
        if let Some(why) = self.foreign_call(callee, &args) {
            let mut all = vec![callee];
            all.extend(args);
            return self.reject(RejectKind::Foreign, &why, node, all);
        }
        let t = self.ty(callee);
        let ty = match self.returned(t) {
            Some(r) => self.rvalue(r),
            None => self.unknown(),
        };
        let mut all = vec![callee];
        all.extend(args);
        let call = self.term(Op::Call, all, ty, node);
        self.hand_members(call, node);
        call
    }

    /// Notes the members of structures that a function of the program is given, whole or by address ([`term::Said::members`]).
    fn hand_members(&mut self, call: TermId, node: Node<'_>) {
        let args = match self.b.get(call) {
            Term { op: Op::Call, args, .. } => args.clone(),
            _ => return,
        };
        let is_own =
            |s: SymbolId| self.b.symbols[s].storage == Storage::Function && !self.b.library.contains(&s);
        if !matches!(args.first().map(|&f| &self.b.get(f).op), Some(Op::Sym(f)) if is_own(*f)) {
            return;
        }
        for &a in args.iter().skip(1) {
            let (named, arrow) = match (&self.b.get(a).op, &self.b.get(a).args[..]) {
                (Op::AddrOf, &[of]) => (of, false),
                _ => (a, matches!(self.b.types.kind(self.ty(a)), TypeKind::Pointer { .. })),
            };
            let Some(way) = self.way_to(named) else { continue };
            let ty = self.b.get(named).ty;
            let of = if arrow { self.b.types.element(ty) } else { Some(ty) };
            let Some(of) = of.filter(|&of| self.record_of(of).is_some()) else { continue };
            let names = way.steps.iter().map(|(name, arrow, _)| (name.clone(), *arrow)).collect();
            if self.handed.insert((way.from, names, arrow)) {
                self.members_of(&way, (of, arrow), node);
            }
        }
    }

    /// The variable and the members that lead to a place: `v`, `w->knots`.
    fn way_to(&self, place: TermId) -> Option<Way> {
        let (mut at, mut steps) = (place, Vec::new());
        while let Op::Member { field, arrow } = &self.b.get(at).op {
            steps.push((field.clone(), *arrow, self.b.get(at).ty));
            at = *self.b.get(at).args.first()?;
        }
        steps.reverse();
        match self.b.get(at).op {
            Op::Sym(from) if steps.len() < MOST_STEPS => Some(Way { from, steps }),
            _ => None,
        }
    }

    fn members_of(&mut self, way: &Way, (of, arrow): (TypeId, bool), node: Node<'_>) {
        let fields =
            self.record_of(of).and_then(|r| self.b.types.record(r).fields.clone()).unwrap_or_default();
        let outer = self.b.types.quals(of);
        for f in fields.iter().filter(|f| f.bits.is_none() && !f.name.is_empty()).take(MOST_MEMBERS) {
            if self.b.said.members.len() >= MOST_HANDED {
                return;
            }
            let is_plain = matches!(
                self.b.types.kind(f.ty),
                TypeKind::Int(_) | TypeKind::Float(_) | TypeKind::Pointer { .. }
            );
            if !is_plain {
                continue;
            }
            let (span, inner) = (self.span(node), self.b.types.quals(f.ty));
            let quals = Quals {
                is_const: outer.is_const || inner.is_const,
                is_volatile: outer.is_volatile || inner.is_volatile,
                ..inner
            };
            let member = self.b.types.with_quals(f.ty, quals);
            let ty = self.b.symbols[way.from].ty;
            let mut base = self.b.term_from(Op::Sym(way.from), [], ty, span, Origin::Made);
            for (field, arrow, ty) in &way.steps {
                let op = Op::Member { field: field.clone(), arrow: *arrow };
                base = self.b.term_from(op, [base], *ty, span, Origin::Made);
            }
            let op = Op::Member { field: f.name.clone(), arrow };
            let t = self.b.term_from(op, [base], member, span, Origin::Made);
            self.b.said.members.push(t);
        }
    }

    pub(super) fn named_call(&mut self, node: Node<'_>, function: Node<'_>) -> TermId {
        let name = self.text(function);
        let args = self.arguments(node);
        if let Some(why) = self.overloaded(name, &args) {
            return self.reject(RejectKind::Foreign, &why, node, args);
        }
        if self.lookup(name).is_none() && self.gap_index(name).is_none() {
            let types: Vec<TypeId> = args.iter().map(|&a| self.ty(a)).collect();
            if name == "__builtin_expect" && args.len() == 2 {
                let long = self.b.types.int(IntKind::Long);
                return self.term(Op::Cast, [args[0]], long, node);
            }
            // Its argument is not evaluated.
            if name == "__builtin_constant_p" {
                let reason = "what a compiler knows to be constant is not followed";
                let span = self.span(node);
                return self.b.reject_that(RejectKind::Unsupported, reason, span, term::Reach::Named, vec![]);
            }
            if let Some(t) = self.hinted(name, &args, node) {
                return t;
            }
            // Only the one that is chosen is evaluated.
            if let ("__builtin_choose_expr", &[first, yes, no]) = (name, &args[..]) {
                if let Some(v) = self.value(first) {
                    return if v != 0 { yes } else { no };
                }
            }
            // gcc's own name of a library function means that function.
            let plain = name.strip_prefix("__builtin_");
            let plain = plain.filter(|n| known::is_library_name(n, self.dialect));
            let plain = plain.filter(|n| !self.env.defines_function(n));
            if let Some(s) = self.library_function(plain.unwrap_or(name), Some(&types)) {
                let ty = self.b.symbols[s].ty;
                let callee = self.term(Op::Sym(s), [], ty, function);
                return self.finish_call(node, callee, args);
            }
            if names::looks_like_macro(name) {
                let reason = format!("`{name}` may be a macro of a header that was not read");
                return self.reject(RejectKind::Unread, &reason, node, args);
            }
        }
        if matches!(self.lookup(name), Some(Entity::Typedef(..))) {
            let reason = format!("`{name}` is a type, not a function");
            return self.reject(RejectKind::Unsupported, &reason, node, args);
        }
        let mut args = args;
        if let Err(why) = self.referred(name, &mut args, node) {
            return self.reject(RejectKind::Foreign, why, node, args);
        }
        let callee = self.name(function);
        self.finish_call(node, callee, args)
    }

    /// A load or store that only says how long caches keep it, and what is promised of a pointer: as C has them without that.
    fn hinted(&mut self, name: &str, args: &[TermId], node: Node<'_>) -> Option<TermId> {
        if let ("__builtin_assume_aligned", &[p, _]) = (name, args) {
            return Some(p);
        }
        self.dialect.device?;
        let pointed = |this: &mut Self, p: TermId| {
            let of = this.b.types.element(this.ty(p))?;
            let span = this.span(node);
            Some(this.b.term_from(Op::Deref, [p], of, span, Origin::Macro))
        };
        match (name, args) {
            ("sincosf" | "__sincosf", &[x, s, c]) => self.both_of(["sinf", "cosf"], [x, s, c], node),
            ("sincos", &[x, s, c]) => self.both_of(["sin", "cos"], [x, s, c], node),
            ("sincospi", &[x, s, c]) => self.both_of(["sinpi", "cospi"], [x, s, c], node),
            ("sincospif", &[x, s, c]) => self.both_of(["sinpif", "cospif"], [x, s, c], node),
            ("__ldca" | "__ldcg" | "__ldcs" | "__ldcv" | "__ldlu", &[p]) => pointed(self, p),
            ("__stcg" | "__stcs" | "__stwb" | "__stwt", &[p, v]) => {
                let place = pointed(self, p)?;
                let (ty, span) = (self.ty(place), self.span(node));
                Some(self.b.term_from(Op::Assign, [place, v], ty, span, Origin::Macro))
            }
            _ => None,
        }
    }

    /// `sincosf(x, &s, &c)`: `s = sinf(x), c = cosf(x)`, where `x` is the same for both; otherwise it is a call like others.
    fn both_of(&mut self, names: [&str; 2], args: [TermId; 3], node: Node<'_>) -> Option<TermId> {
        let [x, first, second] = args;
        let span = self.span(node);
        // where the result goes, and the variable that it is in
        let place = |this: &mut Self, p: TermId| match (&this.b.get(p).op, &this.b.get(p).args[..]) {
            (Op::AddrOf, &[of]) => Some(of),
            _ => {
                let of = this.b.types.element(this.ty(p))?;
                Some(this.b.term_from(Op::Deref, [p], of, span, Origin::Macro))
            }
        };
        let mut all = vec![x];
        let mut read = Vec::new();
        while let Some(t) = all.pop() {
            match &self.b.get(t).op {
                Op::Sym(s) => read.push(*s),
                Op::Int(_) | Op::Float(_) | Op::Cast | Op::Unary(_) | Op::Binary(_) => {}
                Op::Member { arrow: false, .. } => {}
                // memory may be what the first result is written to
                _ => return None,
            }
            all.extend(self.b.get(t).args.iter());
        }
        let to = place(self, first)?;
        let is_other = match self.b.get(to).op {
            Op::Sym(s) => !read.contains(&s),
            // a pointer may lead to any variable whose address is known
            _ => read.iter().all(|&s| {
                let s = &self.b.symbols[s];
                !s.address_taken && matches!(s.storage, Storage::Param(_) | Storage::Local | Storage::Builtin)
            }),
        };
        if !is_other {
            return None;
        }
        let again = self.copied(x);
        let mut both = Vec::new();
        for (name, x, to) in [(names[0], x, to), (names[1], again, place(self, second)?)] {
            let types = [self.ty(x)];
            let f = self.library_function(name, Some(&types))?;
            let fty = self.b.symbols[f].ty;
            let callee = self.b.term_from(Op::Sym(f), [], fty, span, Origin::Macro);
            let of = self.returned(fty)?;
            let value = self.b.term_from(Op::Call, [callee, x], of, span, Origin::Macro);
            let ty = self.ty(to);
            both.push(self.b.term_from(Op::Assign, [to, value], ty, span, Origin::Macro));
        }
        let ty = self.ty(both[1]);
        Some(self.b.term_from(Op::Comma, both, ty, span, Origin::Macro))
    }

    /// The same expression once more.
    fn copied(&mut self, t: TermId) -> TermId {
        let (op, ty, args) = (self.b.get(t).op.clone(), self.b.get(t).ty, self.b.get(t).args.to_vec());
        let args: Vec<TermId> = args.into_iter().map(|a| self.copied(a)).collect();
        let span = self.b.span(t);
        self.b.term_from(op, args, ty, span, Origin::Macro)
    }

    /// Addresses in place of what a function takes by reference. `Err`: why an argument has none of the right type.
    fn referred(&mut self, name: &str, args: &mut [TermId], node: Node<'_>) -> Result<(), &'static str> {
        let places = self.env.referred(name).to_vec();
        for k in places {
            let Some(&a) = args.get(k) else { continue };
            let (callee, ty) = (self.lookup(name), self.b.get(a).ty);
            let Some(Entity::Symbol(f)) = callee else { continue };
            let TypeKind::Function { params, .. } = self.b.types.kind(self.b.symbols[f].ty) else { continue };
            let wanted = params.get(k).and_then(|&p| self.b.types.element(p));
            let is_place = match self.b.get(a).op {
                Op::Sym(s) => matches!(
                    self.b.symbols[s].storage,
                    Storage::Param(_) | Storage::Local | Storage::Shared | Storage::Global { .. }
                ),
                Op::Index | Op::Deref | Op::Member { .. } => true,
                _ => false,
            };
            let same = wanted.is_some_and(|w| self.b.types.kind(w) == self.b.types.kind(ty));
            if !is_place || !same {
                return Err("what is given for a reference is no variable of its type, and a copy of it is not followed");
            }
            self.take_address(a);
            let (pointer, span) = (self.b.types.pointer(ty), self.span(node));
            args[k] = self.b.term_from(Op::AddrOf, [a], pointer, span, Origin::Macro);
        }
        Ok(())
    }

    pub(super) fn gap_index(&self, name: &str) -> Option<usize> {
        name.strip_prefix(crate::c::pp::GAP)?.parse().ok()
    }

    /// `dim3(a, b)`
    pub(super) fn construct(&mut self, node: Node<'_>, function: Node<'_>) -> TermId {
        let name = self.text(function);
        let args = self.arguments(node);
        let Some(ret) = self.known_type(name) else {
            return self.reject(RejectKind::Unsupported, "this constructor is not followed", node, args);
        };
        let fty = self.b.types.plain(TypeKind::Function { ret, params: Vec::new(), variadic: true });
        let key = format!("{name}(");
        let symbol = match self.outside.get(key.as_str()) {
            Some(&s) => s,
            None => {
                let s = self.outside_symbol(&key, fty, Storage::Builtin);
                self.b.symbols[s].name = name.into();
                s
            }
        };
        let callee = self.term(Op::Sym(symbol), [], fty, function);
        self.finish_call(node, callee, args)
    }

    /// `k<<<grid, block, shared, stream>>>(…)`
    pub(super) fn launch(&mut self, node: Node<'_>, configuration: Node<'_>) -> TermId {
        let mut parts = self.arguments(configuration);
        let named = self.field(configuration, "arguments").and_then(|a| a.named_child(0));
        if let Some(kernel) = named.and_then(|n| self.in_namespace(n)) {
            parts[0] = kernel;
        }
        if parts.len() < 3 || parts.len() > 5 {
            return self.reject(RejectKind::Unsupported, "this launch is not understood", node, parts);
        }
        let void = self.b.types.void();
        let end = parts.last().map_or(0, |&p| self.b.span(p).end as usize);
        while parts.len() < 5 {
            parts.push(self.b.term(Op::Empty, [], void, Span::new(end, end)));
        }
        parts.extend(self.arguments(node));
        self.term(Op::Launch, parts, void, node)
    }
}
