//! Calls that are not written out: what they may do, as accesses to whole objects.
//!
//! A summary says "some elements, perhaps", so every access recorded here is inexact: it can refute independence, never
//! prove a dependence. Of what moves blocks of memory the stretch is known.

use std::sync::Arc;

use term::{BinOp, Body, IntKind, Op, Storage, TermId, TypeId, TypeKind, UnOp};

use crate::algebra::poly::{Constraint, Domain, Poly, Var, VarKind};
use crate::flow::called::call;
use crate::flow::parts::{base_symbol, Inside};
use crate::nest::builder::{Builder, Loc};
use crate::nest::pieces::Pieces;
use crate::nest::{ModelLoop, Need};
use crate::{Obstacle, ObstacleKind};
use crate::{Summary, Through};

impl Builder<'_> {
    /// What the call may write, noted before the loop is looked at.
    pub(super) fn read_call(&mut self, t: TermId) {
        let body = self.body;
        let Ok(called) = call(body, self.program, t) else { return };
        for (k, &a) in body.args(t).iter().skip(1).enumerate() {
            if !called.through(k).written || body.types.element(body.ty(a)).is_none() {
                continue;
            }
            self.written.places.push(base_symbol(body, a).map(|b| (b, Vec::new())));
            self.written.pointers |= !points_to_numbers(body, a);
        }
        let Some(summary) = called.summary() else { return };
        for (name, used) in &summary.globals {
            if used.own.written || used.through.written {
                self.written.places.push(self.effects.global(name).map(|b| (b, Vec::new())));
                self.written.pointers = true;
            }
        }
    }

    /// Records what a call may do; its value where that is known to be fixed.
    pub(super) fn visit_call(&mut self, t: TermId) -> Option<Pieces> {
        match self.body.asserted(t) {
            Some(holds) if self.assert(t, holds) => None,
            Some(holds) if self.effects.writes_in(holds).iter().next().is_none() => {
                // what it reads is read, and whether it holds is seen while the loop runs
                self.visit(holds);
                self.exceptions.push((crate::ConditionKind::Asserted(t), crate::MetBy::RunTimeCheck));
                None
            }
            _ => self.visit_called(t),
        }
    }

    fn visit_called(&mut self, t: TermId) -> Option<Pieces> {
        let body = self.body;
        let args = body.args(t);
        let called = match call(body, self.program, t) {
            Ok(c) => c,
            Err(kind) => {
                for &a in &args[1..] {
                    self.visit(a);
                }
                self.obstacle(kind, t);
                return None;
            }
        };
        // All that it reads it may read before it writes.
        let mut touched: Vec<(Loc, Through, Option<Stretch>)> = Vec::new();
        for (k, &a) in args[1..].iter().enumerate() {
            let through = called.through(k);
            if body.types.element(body.ty(a)).is_none() {
                self.visit(a);
                continue;
            }
            if !through.read && !through.written && !through.kept {
                // Only the address itself is looked at.
                self.pointer_value(a);
                continue;
            }
            // Nobody writes into a literal (C11 6.4.5p7).
            if matches!(body.op(uncast(body, a)), Op::Str(_)) && !through.written {
                continue;
            }
            let stretch = if k < 2 { self.stretch(t, a) } else { None };
            match self.argument(a) {
                Ok(loc) => {
                    if through.kept {
                        // Somebody may come back to it later, in another iteration.
                        self.obstacle(ObstacleKind::UnknownPointer(loc.base), t);
                    }
                    touched.push((loc, through, stretch));
                }
                Err(o) => self.obstacle(o.kind, t),
            }
        }
        for write in [false, true] {
            for (loc, through, stretch) in &touched {
                if !(if write { through.written } else { through.read }) {
                    continue;
                }
                match stretch {
                    Some(s) if loc.inside == Inside::All && (s.whole || is_line(loc, &s.count)) => {
                        self.touch_stretch(loc.clone(), t, write, s)
                    }
                    // Behind a member stands another one.
                    _ if moves_bytes(body, t) && loc.subs.is_empty() => {
                        self.touch_all(Loc { fields: Vec::new(), ..loc.clone() }, t, write)
                    }
                    _ => self.touch_all(loc.clone(), t, write),
                }
            }
        }
        if let Some(summary) = called.summary() {
            self.touch_globals(t, summary);
        }
        let fixed = called.is_pure()
            && self.effects.is_invariant_in(body, t, self.root)
            && args[1..].iter().all(|&a| self.reads_fixed(a));
        (fixed && body.types.as_int(body.ty(t)).is_some()).then(|| self.opaque_param(t)).flatten()
    }

    /// Records what a called function does with the program's variables.
    fn touch_globals(&mut self, t: TermId, summary: &Summary) {
        let body = self.body;
        let globals: Vec<_> = summary.globals.iter().map(|(n, u)| (n.clone(), *u)).collect();
        for (name, used) in globals {
            let Some(s) = self.effects.global(&name) else {
                let function = body.args(t).first().and_then(|&f| body.as_symbol(f));
                if let Some(function) = function {
                    let why = crate::TroubleKind::Global;
                    self.obstacle(ObstacleKind::Call { function, why, name }, t);
                }
                continue;
            };
            let whole = |fields: &[(usize, Arc<str>)]| Loc {
                base: s,
                fields: fields.to_vec(),
                subs: Vec::new(),
                lengths: Vec::new(),
                loads: Vec::new(),
                inside: Inside::All,
            };
            let pointer = matches!(body.types.kind(body.symbols[s].ty), TypeKind::Pointer { .. });
            let own = if pointer { whole(&[(0, Arc::from("&"))]) } else { whole(&[]) };
            self.touch_both(own, t, used.own);
            if used.through.read || used.through.written || used.through.kept {
                if !pointer {
                    self.obstacle(ObstacleKind::UnknownPointer(s), t);
                    continue;
                }
                if self.effects.writes_in(self.root).contains(&s) {
                    self.obstacle(ObstacleKind::UnknownPointer(s), t);
                }
                self.touch_symbol(s, t, false);
                let mut loc = whole(&[]);
                loc.subs.push((None, t));
                loc.lengths.push(None);
                self.touch_both(loc, t, used.through);
            }
        }
    }

    /// Takes for granted what an `assert` says, to be proved or tested before the loop; `false` where it cannot be: it compares what is
    /// no sum of indices, or one of several things may hold.
    fn assert(&mut self, t: TermId, holds: TermId) -> bool {
        if self.effects.writes_in(holds).iter().next().is_some() {
            return false;
        }
        let (mut yes, _) = self.condition(holds);
        if yes.pieces.len() != 1 || !yes.exact {
            // what says the same in all iterations is asked as a whole
            let (mut c, mut denied) = (holds, false);
            while let (Op::Unary(UnOp::Not), &[of]) = (self.body.op(c), self.body.args(c)) {
                (c, denied) = (of, !denied);
            }
            let (says, says_not) = self.fixed_choice(c);
            yes = if denied { says_not } else { says };
        }
        let [all] = &yes.pieces[..] else { return false };
        if !yes.exact {
            return false;
        }
        let all = all.clone();
        // what is another number in each iteration is never the same in all
        let is_moving = |c: &Constraint| c.equality && c.poly.vars().any(|v| !self.is_param(v));
        // nor is what only lies between known values tested by these
        let is_exact = |v: Var| self.is_param(v) || matches!(self.vars.kind(v), VarKind::Iter(_));
        if all.iter().any(|c| is_moving(c) || !c.poly.vars().all(is_exact)) {
            return false;
        }
        for c in all {
            let opposite = if c.equality { c.poly.scale(-1) } else { None };
            if c.equality && opposite.is_none() {
                return false;
            }
            for p in [Some(c.poly), opposite].into_iter().flatten() {
                self.oblige(Need::Asserted(t), p, self.dom.clone());
            }
        }
        true
    }

    /// Whether all that the term reads from memory is the same in every iteration.
    fn reads_fixed(&mut self, t: TermId) -> bool {
        let body = self.body;
        let before = (self.accesses.len(), self.obstacles.len(), self.obligations.len());
        let mut fixed = true;
        let mut stack = vec![t];
        while let Some(x) = stack.pop().filter(|_| fixed) {
            let record = matches!(body.types.kind(body.ty(x)), TypeKind::Record(_));
            match body.op(x) {
                Op::Sym(_) if !record => {}
                Op::Sym(_) | Op::Index | Op::Deref | Op::Member { .. } => {
                    fixed = match self.location(x) {
                        Ok(loc) => {
                            let still = |m: &Self, v: &Option<Pieces>| matches!(v.as_deref(), Some([(_, p)]) if p.vars().all(|v| m.is_param(v)));
                            let known = loc.subs.iter().all(|(v, _)| still(self, v));
                            let fixed = known && self.is_fixed_load(&loc, x);
                            if fixed {
                                self.assume_fixed(&loc, x);
                            }
                            fixed
                        }
                        Err(_) => false,
                    };
                }
                _ => stack.extend(body.args(x)),
            }
        }
        self.accesses.truncate(before.0);
        self.obstacles.truncate(before.1);
        self.obligations.truncate(before.2);
        fixed
    }

    /// What the library's `memcpy`, `memmove` or `memset` reads or writes from the address argument on, as far as the size
    /// is that of the object or of a whole number of elements (C11 7.24.2.1, 7.24.2.2, 7.24.6.1). It does all of that,
    /// and no more.
    fn stretch(&mut self, t: TermId, a: TermId) -> Option<Stretch> {
        let body = self.body;
        let &[_, _, _, size] = body.args(t) else { return None };
        if !moves_bytes(body, t) {
            return None;
        }
        let sized = |x: TermId| {
            let of = match body.op(x) {
                Op::Int(v) => return Some(*v),
                Op::SizeOfType(ty) => Some(*ty),
                Op::SizeOf => body.args(x).first().map(|&e| body.ty(e)),
                _ => None,
            };
            of.and_then(|ty| body.types.size_align(ty)).map(|s| i128::from(s.0))
        };
        let (known, factor) = match (body.op(size), body.args(size)) {
            (Op::Binary(BinOp::Mul), &[x, y]) => match (sized(x), sized(y)) {
                (Some(k), Some(l)) => (k.checked_mul(l)?, None),
                (Some(k), _) => (k, Some(y)),
                (_, Some(k)) => (k, Some(x)),
                _ => (1, Some(size)),
            },
            (Op::Int(v), _) => (*v, None),
            _ => sized(size).map_or((1, Some(size)), |k| (k, None)),
        };
        let pointer = uncast(body, a);
        // The object whose first byte the address is: `&x`, or an array's name.
        let object = match (body.op(pointer), body.args(pointer)) {
            (Op::AddrOf, &[of]) => Some(body.ty(of)),
            _ => Some(body.ty(pointer)).filter(|&ty| matches!(body.types.kind(ty), TypeKind::Array { .. })),
        };
        let bytes = |ty| body.types.size_align(ty).map(|s| i128::from(s.0));
        // The same length in other words, as of an array whose length is a variable: `sizeof a`.
        let same = |ty: TypeId| match (body.op(size), body.args(size)) {
            (Op::SizeOf, &[e]) => body.ty(e) == ty,
            (Op::SizeOfType(of), _) => *of == ty,
            _ => false,
        };
        let whole = |ty: TypeId| same(ty) || factor.is_none() && bytes(ty) == Some(known);
        if object.is_some_and(whole) {
            // The address of an array is that of its first element, whose place has a subscript more.
            let decayed = *body.op(pointer) != Op::AddrOf;
            return Some(Stretch { whole: true, decayed, count: Poly::constant(1) });
        }
        let element = body.types.element(body.ty(pointer))?;
        let bytes = bytes(element).filter(|&b| b > 0)?;
        if known % bytes != 0 || matches!(body.types.kind(element), TypeKind::Array { .. } | TypeKind::Void) {
            return None;
        }
        let times = Poly::constant(known / bytes);
        let Some(factor) = factor else {
            return Some(Stretch { whole: false, decayed: false, count: times });
        };
        body.types.as_int(body.ty(factor))?;
        let n = self.plain_value(factor)?;
        if n.vars().any(|v| *self.vars.kind(v) == VarKind::Fresh) || self.vars.is_loaded(&n) {
            return None;
        }
        // As a size it would be huge.
        self.oblige(Need::NoWrap(factor), n.clone(), self.dom.clone());
        Some(Stretch { whole: false, decayed: false, count: n.mul(&times)? })
    }

    /// Records that the object, or the elements from the place on, one after another, are read or written.
    fn touch_stretch(&mut self, mut loc: Loc, t: TermId, write: bool, stretch: &Stretch) {
        let ty = self.body.symbols[loc.base].ty;
        if stretch.whole || stretch.count.as_constant() == Some(1) {
            if stretch.decayed {
                loc.subs.pop();
                loc.lengths.pop();
            }
            if loc.subs.is_empty() && loc.fields.is_empty() {
                if write {
                    self.forget(loc.base);
                }
                // A variable each iteration has for itself.
                let is_static = self.body.symbols[loc.base].storage.is_static_local();
                if self.declared_inside(loc.base) && !is_static {
                    return;
                }
            }
            return self.record(loc, t, write, ty);
        }
        let count = &stretch.count;
        let at = self.loops.len();
        let var = self.fresh(VarKind::Iter(at));
        let step = Poly::var(var);
        let Some(last) = count.sub(&step).and_then(|p| p.add_constant(-1)) else {
            return self.touch_all(loc, t, write);
        };
        self.loops.push(ModelLoop {
            term: t,
            var,
            index: None,
            iteration: Some(step.clone()),
            trips: Some(count.clone()),
            lower: None,
            limit: None,
            domain: Domain::unknown(),
            control: None,
        });
        let saved = (self.dom.clone(), self.why.clone());
        self.require_in_domain(Constraint::non_negative(step.clone()));
        self.require_in_domain(Constraint::non_negative(last));
        self.loops[at].domain = self.dom.clone();
        self.path.push(at);
        self.move_pointer(&mut loc, Some(vec![(Domain::always(), step)]), t, false);
        self.record(loc, t, write, ty);
        self.path.pop();
        (self.dom, self.why) = saved;
    }

    /// The object an address argument points into; how far into it is left open.
    fn argument(&mut self, a: TermId) -> Result<Loc, Obstacle> {
        let place = uncast(self.body, a);
        // `&x`, `&s.f`: the place itself.
        if *self.body.op(place) == Op::AddrOf {
            let of = self.body.args(place)[0];
            return self.location(of);
        }
        self.pointer(place)
    }

    /// What a function does to an object, told by its summary.
    fn touch_both(&mut self, loc: Loc, t: TermId, through: Through) {
        if through.kept {
            // Somebody may come back to it later, in another iteration.
            self.obstacle(ObstacleKind::UnknownPointer(loc.base), t);
        }
        for write in [false, true] {
            if (write && through.written) || (!write && through.read) {
                self.touch_all(loc.clone(), t, write);
            }
        }
    }

    fn touch_all(&mut self, mut loc: Loc, t: TermId, write: bool) {
        let body = self.body;
        // The function may move within the whole array, and take any part of an element.
        if !loc.subs.is_empty() {
            // How a pointer in memory was reached is not what the function moves in.
            let lead = self.leads.get(&loc.base).copied().unwrap_or(0);
            for (value, at) in loc.subs.iter_mut().skip(lead) {
                *value = None;
                *at = t;
            }
            let outer = loc.fields.iter().take_while(|f| f.0 <= lead).count();
            loc.fields.truncate(outer);
        }
        let symbol = &body.symbols[loc.base];
        let (base, ty) = (loc.base, symbol.ty);
        if loc.subs.is_empty() && loc.fields.is_empty() {
            if write {
                self.forget(base);
            }
            // A variable each iteration has for itself.
            if self.declared_inside(base) && !matches!(symbol.storage, Storage::StaticLocal { .. }) {
                return;
            }
        }
        let saved = (self.dom.clone(), self.why.clone());
        self.mark_inexact(ObstacleKind::DataDependentCondition, t);
        self.record(loc, t, write, ty);
        (self.dom, self.why) = saved;
    }
}

/// What a function of the library moves.
#[derive(Clone, Debug)]
struct Stretch {
    /// The whole object at the address.
    whole: bool,
    /// The address is the object's name, an array.
    decayed: bool,
    /// Else so many elements.
    count: Poly,
}

/// Whether the call is the library's `memcpy`, `memmove` or `memset`.
fn moves_bytes(body: &Body, t: TermId) -> bool {
    let callee = body.callee(t);
    callee.is_some_and(|f| {
        body.library.contains(&f) && matches!(&*body.symbols[f].name, "memcpy" | "memmove" | "memset")
    })
}

/// An address without the conversions between pointers around it.
fn uncast(body: &Body, mut a: TermId) -> TermId {
    while *body.op(a) == Op::Cast && body.types.element(body.ty(body.args(a)[0])).is_some() {
        a = body.args(a)[0];
    }
    a
}

/// Whether the elements from the place on differ in its last subscript alone: behind a member of a structure stands
/// another member.
fn is_line(loc: &Loc, count: &Poly) -> bool {
    let member = loc.fields.last().is_some_and(|f| f.0 >= loc.subs.len());
    !loc.subs.is_empty() && (!member || count.as_constant() == Some(1))
}

/// Whether all that the address can be used for is a number of its own type, so that no pointer is overwritten
/// (C11 6.5p7).
fn points_to_numbers(body: &Body, a: TermId) -> bool {
    body.types.element(body.ty(a)).is_some_and(|mut e| {
        while let TypeKind::Array { of, .. } = body.types.kind(e) {
            e = *of;
        }
        match body.types.kind(e) {
            TypeKind::Float(_) => true,
            TypeKind::Int(k) => !matches!(k, IntKind::Char | IntKind::SChar | IntKind::UChar),
            _ => false,
        }
    })
}
