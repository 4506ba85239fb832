//! Places: which object an access reaches, through which subscripts and fields.

use std::sync::Arc;

use term::{BinOp, Len, Op, Storage, SymbolId, TermId, TypeId, TypeKind};

use crate::algebra::poly::{Domain, Poly, VarKind};
use crate::flow::parts::{base_symbol, written_part, Inside};
use crate::flow::parts::{field_cell, FieldCell};
use crate::nest::builder::{Builder, Loc, MAX_DEPTH, MAX_VALUE_PIECES};
use crate::nest::pieces::Pieces;
use crate::nest::{AffineAccess, Length, Subscript};
use crate::{Obstacle, ObstacleKind};

impl Builder<'_> {
    pub(super) fn read_symbol(&mut self, s: SymbolId, t: TermId) -> Option<Pieces> {
        let symbol = &self.body.symbols[s];
        let ty = symbol.ty;
        if self.body.types.quals(ty).is_volatile || self.body.types.quals(ty).is_atomic {
            self.obstacle(ObstacleKind::Volatile, t);
        }
        match symbol.storage {
            Storage::Constant(v) => return Some(vec![(Domain::always(), Poly::constant(v))]),
            Storage::Function | Storage::Builtin => return None,
            _ => {}
        }
        match self.body.types.kind(ty) {
            TypeKind::Array { .. } => return None,
            TypeKind::Record(_) => {
                self.touch_symbol(s, t, false);
                return None;
            }
            TypeKind::Opaque(_) | TypeKind::Function { .. } | TypeKind::Void => {
                self.obstacle(ObstacleKind::NotUnderstood, t);
                return None;
            }
            _ => {}
        }
        self.touch_symbol(s, t, false);
        self.value_of_symbol(s, t)
    }

    /// Records a variable as a cell of its own.
    pub(super) fn touch_symbol(&mut self, s: SymbolId, t: TermId, write: bool) {
        let symbol = &self.body.symbols[s];
        if matches!(symbol.storage, Storage::Constant(_) | Storage::Function | Storage::Builtin) {
            return;
        }
        // The root's own index is never a cell between iterations: its value is the iteration's.
        if self.loops.first().and_then(|l| l.control.as_ref()).is_some_and(|c| c.index == s) {
            return;
        }
        // Whoever has the whole meets whoever has a part.
        let written = self.effects.changes_in(self.root).contains(&s);
        let declared_inside = self.declared_inside(s);
        if symbol.is_own_scalar() && (!written || declared_inside) {
            return;
        }
        if declared_inside && !matches!(symbol.storage, Storage::StaticLocal { .. }) {
            return;
        }
        let mut fields = Vec::new();
        if matches!(self.body.types.kind(symbol.ty), TypeKind::Pointer { .. }) && !symbol.is_own_scalar() {
            // The variable is a cell of its own, apart from what it points to.
            if !write && !written && !self.written.pointers {
                return;
            }
            fields.push((0, Arc::from("&")));
        }
        let loc = Loc {
            base: s,
            fields,
            subs: Vec::new(),
            lengths: Vec::new(),
            loads: Vec::new(),
            inside: Inside::All,
        };
        self.record(loc, t, write, symbol.ty);
    }

    pub(super) fn read_place(&mut self, t: TermId) -> Option<Pieces> {
        let place = self.place_once(t);
        self.read_at(t, place)
    }

    /// What the place of a memory cell is; evaluated once for a statement that reads and writes it (`a[k++] += x` moves k
    /// once, C11 6.5.16.2p3). `None`: a variable, or not known (an obstacle then says so).
    pub(super) fn place_once(&mut self, t: TermId) -> Option<Loc> {
        if let Op::Sym(_) = *self.body.op(t) {
            return None;
        }
        match self.location(t) {
            Ok(loc) => Some(loc),
            Err(o) => {
                self.obstacle(o.kind, o.term);
                None
            }
        }
    }

    /// Reads the place found for the term.
    pub(super) fn read_at(&mut self, t: TermId, place: Option<Loc>) -> Option<Pieces> {
        if let Op::Sym(s) = *self.body.op(t) {
            return self.read_symbol(s, t);
        }
        let ty = self.body.ty(t);
        match place {
            Some(loc) => {
                if matches!(self.body.types.kind(ty), TypeKind::Array { .. }) {
                    return None;
                }
                let invariant = self.body.types.as_int(ty).is_some() && self.is_fixed_load(&loc, t);
                if invariant {
                    self.assume_fixed(&loc, t);
                }
                let promised = if invariant { None } else { self.promised_load(&loc, t) };
                let base = Some(loc.base).filter(|_| loc.fields.is_empty() && loc.inside == Inside::All);
                self.record(loc, t, false, ty);
                if invariant {
                    if let Some(known) = self.known_member(t) {
                        return Some(vec![(Domain::always(), known)]);
                    }
                    let value = self.opaque_param(t);
                    base.into_iter().for_each(|base| self.bound_constant(base, &value));
                    return value;
                }
                promised.map(|v| vec![(Domain::always(), Poly::var(v))])
            }
            None => None,
        }
    }

    /// Changes what a pointer variable points to; each part of the statement is evaluated once.
    pub(super) fn write_pointer(&mut self, t: TermId, s: SymbolId) {
        let args = self.body.args(t).to_vec();
        let to = match *self.body.op(t) {
            // Moves the variable itself.
            Op::Step { .. } => {
                if self.pointer(t).is_err() {
                    self.touch_symbol(s, args[0], true);
                    self.pointers.insert(s, None);
                }
                return;
            }
            Op::Compound(op @ (BinOp::Add | BinOp::Sub)) => {
                let by = self.visit(args[1]);
                self.pointer(args[0]).ok().map(|mut loc| {
                    self.move_pointer(&mut loc, by, args[1], op == BinOp::Sub);
                    loc
                })
            }
            _ => self.pointer_value(args[1]),
        };
        self.touch_symbol(s, args[0], true);
        self.pointers.insert(s, to);
    }

    /// Where a pointer expression points, if that is known; what it reads is recorded either way.
    pub(super) fn pointer_value(&mut self, e: TermId) -> Option<Loc> {
        match self.pointer(e) {
            Ok(loc) => Some(loc),
            Err(_) => {
                self.visit(e);
                let writes: Vec<SymbolId> = self.effects.writes_in(e).iter().copied().collect();
                for s in writes {
                    self.forget(s);
                }
                None
            }
        }
    }

    pub(super) fn write_place(
        &mut self,
        place: TermId,
        value: Option<Pieces>,
        from: TypeId,
        at: TermId,
    ) -> Option<Pieces> {
        let loc = self.place_once(place);
        self.write_at(place, loc, value, from, at)
    }

    /// Writes the place found for the term.
    pub(super) fn write_at(
        &mut self,
        place: TermId,
        loc: Option<Loc>,
        value: Option<Pieces>,
        from: TypeId,
        at: TermId,
    ) -> Option<Pieces> {
        if let Op::Sym(s) = *self.body.op(place) {
            let ty = self.body.symbols[s].ty;
            if self.body.types.quals(ty).is_volatile || self.body.types.quals(ty).is_atomic {
                self.obstacle(ObstacleKind::Volatile, place);
            }
            self.touch_symbol(s, place, true);
            self.assign_symbol(s, value, from, at);
            return self.env.get(&s).cloned().flatten();
        }
        if let Some(loc) = loc {
            let ty = self.body.ty(place);
            self.record(loc, place, true, ty);
        }
        None
    }

    pub(super) fn visit_subscripts(&mut self, t: TermId) {
        if let Err(o) = self.location(t) {
            self.obstacle(o.kind, o.term);
        }
    }

    /// The place a term names; subscripts are visited, and their values count.
    pub(super) fn location(&mut self, t: TermId) -> Result<Loc, Obstacle> {
        let around = std::mem::replace(&mut self.idle, false);
        let found = self.location_inner(t);
        self.idle = around;
        found
    }

    fn location_inner(&mut self, t: TermId) -> Result<Loc, Obstacle> {
        let args = self.body.args(t).to_vec();
        match self.body.op(t).clone() {
            Op::Sym(s) => Ok(Loc {
                base: s,
                fields: Vec::new(),
                subs: Vec::new(),
                lengths: Vec::new(),
                loads: Vec::new(),
                inside: Inside::All,
            }),
            Op::Index => {
                let (mut base, mut sub) = (args[0], args[1]);
                if self.body.types.as_int(self.body.ty(base)).is_some() {
                    std::mem::swap(&mut base, &mut sub);
                }
                let mut loc = self.pointer(base)?;
                let v = self.visit(sub);
                if loc.inside != Inside::All {
                    // The array's own bytes, if its name stands here.
                    let array = matches!(self.body.types.kind(self.body.ty(base)), TypeKind::Array { .. });
                    let size = self.body.types.size_align(self.body.ty(t)).map(|s| s.0).filter(|_| array);
                    let k = match v.as_deref() {
                        Some([(_, p)]) => p.as_constant(),
                        _ => None,
                    };
                    loc.inside = loc.inside.element(k, size);
                }
                self.move_pointer(&mut loc, v, sub, false);
                Ok(loc)
            }
            Op::Deref => {
                let mut loc = self.pointer(args[0])?;
                if loc.inside != Inside::All {
                    loc.inside = Inside::Some;
                }
                Ok(loc)
            }
            Op::Member { arrow, .. } => {
                let mut loc = if arrow { self.pointer(args[0])? } else { self.location(args[0])? };
                let Some(cell) = field_cell(self.body, t) else {
                    return Err(Obstacle { kind: ObstacleKind::NotUnderstood, term: t });
                };
                if loc.inside != Inside::All {
                    // A pointer may have moved since.
                    loc.inside = if arrow { Inside::Some } else { loc.inside.member(&cell) };
                    return Ok(loc);
                }
                match cell {
                    FieldCell::Own(field) => loc.fields.push((loc.subs.len(), field)),
                    FieldCell::Unit(unit, inside) => {
                        loc.fields.push((loc.subs.len(), unit));
                        loc.inside = inside;
                    }
                    FieldCell::Whole(inside) => loc.inside = inside,
                }
                Ok(loc)
            }
            Op::Cast => Err(Obstacle { kind: ObstacleKind::NotUnderstood, term: t }),
            _ => Err(Obstacle { kind: ObstacleKind::NotUnderstood, term: t }),
        }
    }

    /// Where a pointer value (or decayed array) points: a place whose last subscript may be moved.
    pub(super) fn pointer(&mut self, t: TermId) -> Result<Loc, Obstacle> {
        self.depth += 1;
        let out = if self.depth > MAX_DEPTH {
            Err(Obstacle { kind: ObstacleKind::Budget(crate::Work::Model), term: t })
        } else {
            self.pointer_inner(t)
        };
        self.depth -= 1;
        out
    }

    pub(super) fn pointer_inner(&mut self, t: TermId) -> Result<Loc, Obstacle> {
        let ty = self.body.ty(t);
        let zero = || Some(vec![(Domain::always(), Poly::default())]);
        if let TypeKind::Array { len, .. } = self.body.types.kind(ty).clone() {
            let mut loc = self.location(t)?;
            if loc.inside != Inside::All {
                return Ok(loc);
            }
            let length = match len {
                Len::Const(n) => Some(Length::Const(n)),
                Len::Term(l) => {
                    let v = self.length_value(l);
                    Some(Length::Term(l, v))
                }
                Len::Unknown => None,
            };
            loc.subs.push((zero(), t));
            loc.lengths.push(length);
            return Ok(loc);
        }
        let args = self.body.args(t).to_vec();
        let unknown = |m: &Self| {
            let kind = match base_symbol(m.body, t) {
                Some(s) => ObstacleKind::UnknownPointer(s),
                None => ObstacleKind::NotUnderstood,
            };
            Err(Obstacle { kind, term: t })
        };
        match self.body.op(t).clone() {
            Op::Sym(s) => {
                let symbol = &self.body.symbols[s];
                if self.body.types.element(symbol.ty).is_some_and(|e| {
                    let q = self.body.types.quals(e);
                    q.is_volatile || q.is_atomic
                }) {
                    return Err(Obstacle { kind: ObstacleKind::Volatile, term: t });
                }
                if self.is_own_each_round(s) {
                    return Ok(own_memory(s, t));
                }
                match self.pointers.get(&s) {
                    Some(Some(loc)) => return Ok(loc.clone()),
                    Some(None) => return unknown(self),
                    None => {}
                }
                if self.effects.writes_in(self.root).contains(&s) {
                    return unknown(self);
                }
                if !matches!(self.body.types.kind(symbol.ty), TypeKind::Pointer { .. }) {
                    return unknown(self);
                }
                if let Some(loc) = self.pointer_definition(s) {
                    return Ok(loc);
                }
                if let Some(loc) = self.entry_pointer(s) {
                    return Ok(loc);
                }
                self.touch_symbol(s, t, false);
                Ok(Loc {
                    base: s,
                    fields: Vec::new(),
                    subs: vec![(zero(), t)],
                    lengths: vec![None],
                    loads: Vec::new(),
                    inside: Inside::All,
                })
            }
            Op::Index | Op::Member { .. } | Op::Deref => self.loaded_pointer(t),
            Op::Step { delta, prefix } => {
                let Op::Sym(s) = *self.body.op(args[0]) else { return unknown(self) };
                let before = self.pointer(args[0])?;
                let mut after = before.clone();
                let by = Some(vec![(Domain::always(), Poly::constant(delta as i128))]);
                self.move_pointer(&mut after, by, t, false);
                self.touch_symbol(s, args[0], true);
                self.pointers.insert(s, Some(after.clone()));
                Ok(if prefix { after } else { before })
            }
            Op::Binary(op @ (BinOp::Add | BinOp::Sub)) => {
                let (p, e) = if self.body.types.as_int(self.body.ty(args[1])).is_some() {
                    (args[0], args[1])
                } else if op == BinOp::Add && self.body.types.as_int(self.body.ty(args[0])).is_some() {
                    (args[1], args[0])
                } else {
                    return unknown(self);
                };
                let mut loc = self.pointer(p)?;
                let v = self.visit(e);
                self.move_pointer(&mut loc, v, e, op == BinOp::Sub);
                Ok(loc)
            }
            Op::AddrOf => {
                let loc = self.location(args[0])?;
                let movable = loc.inside == Inside::All
                    && !loc.subs.is_empty()
                    && loc.fields.last().is_none_or(|f| f.0 < loc.subs.len());
                let scalar_cell =
                    !matches!(self.body.types.kind(self.body.ty(args[0])), TypeKind::Array { .. });
                if movable && scalar_cell {
                    Ok(loc)
                } else {
                    unknown(self)
                }
            }
            Op::Cast => {
                let types = &self.body.types;
                let pointee = |t: TermId| types.element(self.body.ty(t)).map(|e| types.kind(e));
                let mut inner = args[0];
                // there and back again it is the same pointer (C11 6.3.2.3p1)
                while let (Op::Cast, &[of], Some(TypeKind::Void)) =
                    (self.body.op(inner), self.body.args(inner), pointee(inner))
                {
                    inner = of;
                }
                let same = pointee(t).zip(pointee(inner)).is_some_and(|(a, b)| a == b);
                if same {
                    self.pointer(inner)
                } else {
                    unknown(self)
                }
            }
            _ => unknown(self),
        }
    }

    /// What a local pointer with one value for the whole body points to, if that is said in terms of what also has one
    /// value: `float *x = a + 1;`.
    pub(super) fn pointer_definition(&mut self, s: SymbolId) -> Option<Loc> {
        if !matches!(self.body.symbols[s].storage, Storage::Local) || self.body.symbols[s].address_taken {
            return None;
        }
        let writes = self.effects.writes.get(&s)?;
        let mut values = writes.iter().filter_map(|&w| match self.body.op(w) {
            Op::Declare(_) => self.body.args(w).first().copied(),
            // Any other write than an assignment makes a second value.
            Op::Assign => self.body.args(w).get(1).copied(),
            _ => Some(w),
        });
        let (init, more) = (values.next()?, values.next());
        let steady = self.body.walk(init).take(60).all(|x| match self.body.op(x) {
            // What is loaded from memory may be another pointer by now.
            Op::Index => !matches!(self.body.types.kind(self.body.ty(x)), TypeKind::Pointer { .. }),
            Op::Int(_) | Op::Cast | Op::AddrOf | Op::Binary(BinOp::Add | BinOp::Sub | BinOp::Mul) => true,
            Op::Sym(u) => {
                let v = &self.body.symbols[*u];
                *u != s
                    && (matches!(v.storage, Storage::Constant(_))
                        || matches!(self.body.types.kind(v.ty), TypeKind::Array { .. })
                        || self.effects.is_single_valued(*u)
                        || (matches!(v.storage, Storage::Local)
                            && self.effects.writes.get(u).is_some_and(|w| w.len() == 1)))
            }
            _ => false,
        });
        let same_type = self
            .body
            .types
            .element(self.body.symbols[s].ty)
            .zip(self.body.types.element(self.body.ty(init)))
            .is_some_and(|(a, b)| self.body.types.kind(a) == self.body.types.kind(b));
        if more.is_some() || !steady || !same_type {
            return None;
        }
        // A memory read inside the definition is not followed: only addresses are formed.
        let before = (self.accesses.len(), self.obstacles.len(), self.obligations.len());
        let loc = self.pointer(init);
        let clean = self.obstacles.len() == before.1 && self.obligations.len() == before.2;
        self.accesses.truncate(before.0);
        self.obstacles.truncate(before.1);
        self.obligations.truncate(before.2);
        loc.ok().filter(|_| clean)
    }

    pub(super) fn move_pointer(&mut self, loc: &mut Loc, by: Option<Pieces>, at: TermId, backwards: bool) {
        if loc.inside != Inside::All {
            return;
        }
        if let Some((last, term)) = loc.subs.last_mut() {
            let sum = match (last.take(), by) {
                (Some(a), Some(b)) if a.len() * b.len() <= MAX_VALUE_PIECES => {
                    let mut out = Vec::new();
                    let mut ok = true;
                    for (da, pa) in &a {
                        for (db, pb) in &b {
                            match if backwards { pa.sub(pb) } else { pa.add(pb) } {
                                Some(p) => out.push((da.and(db), p)),
                                None => ok = false,
                            }
                        }
                    }
                    ok.then_some(out)
                }
                _ => None,
            };
            *last = sum;
            *term = at;
        }
    }

    /// A VLA's length, fixed where the array was declared.
    pub(super) fn record(&mut self, loc: Loc, t: TermId, write: bool, ty: TypeId) {
        if self.body.types.quals(ty).is_volatile || self.body.types.quals(ty).is_atomic {
            self.obstacle(ObstacleKind::Volatile, t);
        }
        // no other iteration has it
        if self.is_own_each_round(loc.base) {
            return;
        }
        self.assumed.extend(loc.loads.iter().cloned());
        // Each combination of pieces is an access of its own.
        let mut combos: Vec<(Domain, Vec<Subscript>)> = vec![(self.dom.clone(), Vec::new())];
        let mut why = self.why.clone();
        if loc.inside == Inside::Some {
            why.get_or_insert(Obstacle { kind: ObstacleKind::SharedBytes, term: t });
        }
        for (v, term) in &loc.subs {
            let usable = v.as_ref().filter(|v| {
                combos.len() * v.len() <= 9
                    && v.iter().all(|(when, p)| self.vars.is_between(p, &self.dom.and(when)))
            });
            match usable {
                Some(v) => {
                    let mut next = Vec::new();
                    for (d, subs) in &combos {
                        for (when, p) in v {
                            let mut subs = subs.clone();
                            subs.push(Subscript { value: Some(p.clone()), term: *term });
                            next.push((d.and(when), subs));
                        }
                    }
                    combos = next;
                }
                None => {
                    let kind = self.inexact_kind(*term);
                    why.get_or_insert(Obstacle { kind, term: *term });
                    for (_, subs) in &mut combos {
                        subs.push(Subscript { value: None, term: *term });
                    }
                }
            }
        }
        for (domain, subs) in combos {
            let is_fresh = |x| *self.vars.kind(x) == VarKind::Fresh;
            let unknown = |p: &Poly| p.vars().any(|x| *self.vars.kind(x) == VarKind::Image || is_fresh(x));
            let inexact = subs.iter().any(|s| s.value.as_ref().is_none_or(unknown))
                || !domain.exact
                || loc.inside == Inside::Some;
            let loaded = |s: &&Subscript| {
                s.value.as_ref().is_some_and(|p| self.vars.is_loaded(p) || p.vars().any(is_fresh))
            };
            let subs_any = subs.iter().find(loaded).map(|s| s.term);
            let access = AffineAccess {
                flat: None,
                base: loc.base,
                fields: loc.fields.clone(),
                subs,
                lengths: loc.lengths.clone(),
                write,
                term: t,
                loops: self.path.clone(),
                domain,
                why: if inexact {
                    let any = || {
                        let s = subs_any?;
                        Some(Obstacle { kind: self.inexact_kind(s), term: s })
                    };
                    // with a condition less the subscript would still be in the way
                    any()
                        .or_else(|| why.clone())
                        .or(Some(Obstacle { kind: ObstacleKind::DataDependentCondition, term: t }))
                } else {
                    None
                },
                inner: None,
                inside: loc.inside.clone(),
            };
            self.accesses.push(access);
        }
    }

    /// What kind of obstacle a value is that could not be followed.
    pub(super) fn inexact_kind(&self, t: TermId) -> ObstacleKind {
        let written = self.effects.writes_in(self.root);
        // `im.w`, `p->w`: the same in all iterations as far as this loop's text goes
        let is_fixed = |x: TermId| {
            let mut at = x;
            while let (Op::Member { .. }, &[of]) = (self.body.op(at), self.body.args(at)) {
                at = of;
            }
            let in_part = |s| self.body.walk(self.root).any(|w| written_part(self.body, w) == Some(s));
            self.body.as_symbol(at).is_some_and(|s| !written.contains(&s) && !in_part(s))
        };
        let load = self.body.walk(t).find(|&x| match self.body.op(x) {
            Op::Member { .. } => !is_fixed(x),
            Op::Index | Op::Deref => true,
            Op::Sym(s) => {
                matches!(self.body.symbols[*s].storage, Storage::Local)
                    && written.contains(s)
                    && !self.loops.iter().any(|l| l.control.as_ref().is_some_and(|c| c.index == *s))
            }
            _ => false,
        });
        match load {
            Some(l) => ObstacleKind::IndirectSubscript(l),
            None => ObstacleKind::NonAffineSubscript,
        }
    }
}

/// The whole of what a variable points to.
fn own_memory(s: SymbolId, t: TermId) -> Loc {
    let subs = vec![(Some(vec![(Domain::always(), Poly::default())]), t)];
    Loc { base: s, fields: Vec::new(), subs, lengths: vec![None], loads: Vec::new(), inside: Inside::All }
}
