//! Values of expressions, the accesses they make, and what conditions say.

use std::rc::Rc;

use term::device::{AtomicOp, Index, Scope};
use term::{BinOp, Body, IntKind, Op, Storage, SymbolId, TermId, TypeKind, UnOp};

use super::memory::SymbolicPlace;
use super::{Cond, Run, Share, Step, SymbolicKernel, SymbolicObject, Val};
use crate::algebra::poly::{Constraint, Poly, Var};
use crate::calls::function::Function;
use crate::kernel::interpret::{walk, Arguments, Called, Values};
use crate::kernel::races::Touch;
use crate::kernel::set_variables::given_member;
use crate::kernel::KernelObstacle;
use crate::limits::kernel_symbolic_eval::MAX_DEPTH;
use crate::Across;

impl SymbolicKernel<'_> {
    pub(super) fn share(across: Across) -> Share {
        match across {
            Across::Grid => Share::Grid,
            Across::Block => Share::Block,
            Across::Warp | Across::Nothing => Share::Thread,
        }
    }

    /// A number nobody knows, as uniform as the expression is proved to be.
    pub(super) fn fresh(&mut self, t: TermId) -> Val {
        let share = Self::share(self.levels.of(t));
        match self.body.types.as_int(self.body.ty(t)) {
            Some(kind) => Val::Int(self.any_of(share, kind)),
            None => Val::Any,
        }
    }

    /// A number of a type.
    pub(super) fn any_of(&mut self, share: Share, kind: IntKind) -> Poly {
        Poly::var(self.atom(share, Some(kind.min()), Some(kind.max())))
    }

    pub(super) fn kind(&self, t: TermId) -> Option<IntKind> {
        self.body.types.as_int(self.body.ty(t))
    }

    pub(super) fn local(&mut self, s: SymbolId) -> Val {
        match self.locals.get(&s) {
            Some(v) => v.clone(),
            // set nowhere yet: whatever it is, nobody may use it
            None => self.anything(s),
        }
    }

    /// What a variable holds after something that is not followed set it.
    pub(super) fn anything(&mut self, s: SymbolId) -> Val {
        let share = Self::share(self.levels.symbol(s));
        match self.body.types.as_int(self.body.symbols[s].ty) {
            Some(kind) => Val::Int(self.any_of(share, kind)),
            None => Val::Any,
        }
    }

    // ---- integers

    /// A value as another integer type has it; `a`: its expression.
    pub(super) fn converted(&mut self, a: TermId, v: Val, to: IntKind) -> Val {
        let share = Self::share(self.levels.of(a));
        match v {
            Val::Truth(c) => Val::Truth(c),
            Val::Int(p) => {
                let from = self.kind(a);
                let inside = from.is_some_and(|f| f.min() >= to.min() && f.max() <= to.max());
                if inside && to != IntKind::Bool || self.within(&p, to.min(), to.max()) {
                    Val::Int(p)
                } else {
                    Val::Int(self.any_of(share, to))
                }
            }
            _ => Val::Int(self.any_of(share, to)),
        }
    }

    fn arithmetic(&mut self, t: TermId, op: BinOp, (a, x): (TermId, Val), (b, y): (TermId, Val)) -> Val {
        if op.is_comparison() {
            return Val::Truth(Rc::new(self.comparison(op, (a, x), (b, y))));
        }
        match (&x, &y) {
            (Val::Int(_), Val::Int(_)) => {}
            (Val::Ptr(..), Val::Int(q)) if matches!(op, BinOp::Add | BinOp::Sub) => {
                let by = if op == BinOp::Sub { q.scale(-1) } else { Some(q.clone()) };
                return self.pointer_plus(a, &x, by.as_ref());
            }
            (Val::Int(q), Val::Ptr(..)) if op == BinOp::Add => return self.pointer_plus(b, &y, Some(q)),
            (Val::Ptr(o, _), _) | (_, Val::Ptr(o, _)) if matches!(op, BinOp::Add | BinOp::Sub) => {
                let both = matches!((&x, &y), (Val::Ptr(..), Val::Ptr(..)));
                return if both { self.fresh(t) } else { Val::Ptr(*o, None) };
            }
            (Val::Own, _) | (_, Val::Own) if matches!(op, BinOp::Add | BinOp::Sub) => return Val::Own,
            _ => return self.fresh(t),
        }
        let (Some(ka), Some(kb)) = (self.kind(a), self.kind(b)) else { return self.fresh(t) };
        let kind = match op {
            BinOp::Shl | BinOp::Shr => ka.promoted(),
            _ => ka.promoted().common(kb.promoted()),
        };
        let x = self.converted(a, x, kind);
        let y = if matches!(op, BinOp::Shl | BinOp::Shr) { y } else { self.converted(b, y, kind) };
        let (Val::Int(p), Val::Int(q)) = (x, y) else { return self.fresh(t) };
        let power = |n: i128| (0..31).contains(&n).then(|| 1i128 << n);
        let result = match op {
            BinOp::Add => p.add(&q),
            BinOp::Sub => p.sub(&q),
            BinOp::Mul => {
                let product = p.mul(&q);
                let open = product.as_ref().is_some_and(|r| !r.is_linear() && !self.within(r, 0, kind.max()));
                match product {
                    Some(r) if open && self.small_product(&p, &q, &r).is_some() => {
                        return Val::Int(r);
                    }
                    r => r,
                }
            }
            BinOp::Shl => q.as_constant().and_then(power).and_then(|k| p.scale(k)),
            BinOp::Div | BinOp::Rem if q.as_constant().is_none() => {
                let both = self.quotient_by(&p, &q);
                both.map(|(whole, rest)| if op == BinOp::Div { whole } else { rest })
            }
            BinOp::Div => q.as_constant().and_then(|k| self.quotient(&p, k)).map(|x| x.0),
            BinOp::Shr => q.as_constant().and_then(power).and_then(|k| self.quotient(&p, k)).map(|x| x.0),
            BinOp::Rem => q.as_constant().and_then(|k| self.quotient(&p, k)).map(|x| x.1),
            BinOp::BitAnd => {
                let mask = q.as_constant().map(|k| (&p, k)).or_else(|| p.as_constant().map(|k| (&q, k)));
                mask.filter(|(_, k)| *k > 0 && (k + 1).count_ones() == 1)
                    .and_then(|(v, k)| self.quotient(v, k + 1))
                    .map(|x| x.1)
            }
            _ => None,
        };
        match result {
            // where they do not fit the program is wrong
            Some(r) if self.body.arithmetic(t).is_exact(kind) => Val::Int(r),
            Some(r) if self.within(&r, kind.min(), kind.max()) => Val::Int(r),
            Some(r) if self.is_index(&r) && self.within(&r, 0, i128::MAX) => {
                self.granted.push((r.clone(), kind));
                Val::Int(r)
            }
            Some(r) if self.is_index_of_given(&r) && self.within(&r, 0, i128::MAX) => {
                let rest = Poly::constant(i32::MAX.into()).sub(&r);
                self.guards.extend(rest.map(Constraint::non_negative));
                self.indices = true;
                Val::Int(r)
            }
            _ => {
                let share = Self::share(self.levels.of(a).max(self.levels.of(b)));
                Val::Int(self.any_of(share, kind))
            }
        }
    }

    /// Whether a number is made of indices and extents alone, a few times each: it is taken for granted that it fits, and told, or
    /// looked at with the launch that is known ([`super::fits`]).
    pub(super) fn is_index(&self, p: &Poly) -> bool {
        p.terms().all(|(m, c)| m.len() <= 2 && c.abs() <= 4096 && m.iter().all(|v| *v < self.given))
    }

    /// Likewise of what else indices are counted by: what is the same for all threads of a block, and small numbers of each. That no
    /// index passes 2^31 - 1 is told where any grid is meant.
    fn is_index_of_given(&self, p: &Poly) -> bool {
        const SMALL: i128 = 1 << 20;
        let counts = |v: &Var| {
            let a = &self.atoms[*v as usize];
            *v < self.given || a.share != Share::Thread || a.high.is_some_and(|h| h <= SMALL)
        };
        self.any_grid && p.terms().all(|(m, c)| c.abs() <= 4096 && m.iter().all(counts))
    }

    /// Notes what the sizes of two small factors say of their product.
    fn small_product(&mut self, p: &Poly, q: &Poly, product: &Poly) -> Option<()> {
        let most = |m: &mut Self, p: &Poly| {
            let sizes = [1, 3, 7, 31, 255, 1024, 1 << 15];
            sizes.into_iter().find(|&size| m.within(p, 0, size))
        };
        let (low, high) = (most(self, p)?, most(self, q)?);
        self.guards.push(Constraint::non_negative(product.clone()));
        self.guards.push(Constraint::non_negative(q.scale(low)?.sub(product)?));
        self.guards.push(Constraint::non_negative(p.scale(high)?.sub(product)?));
        Some(())
    }

    pub(super) fn pointer_plus(&mut self, p: TermId, at: &Val, by: Option<&Poly>) -> Val {
        let body = self.body;
        let Val::Ptr(o, at) = at else { return Val::Any };
        let element = match body.types.kind(body.ty(p)) {
            TypeKind::Array { of, .. } => Some(*of),
            _ => body.types.element(body.ty(p)),
        };
        let size = element.and_then(|e| body.types.size_align(e)).map(|x| x.0);
        let sum = || at.as_ref()?.add_scaled(by?, size? as i128);
        Val::Ptr(*o, sum())
    }

    // ---- conditions

    /// What a condition says.
    pub(super) fn condition(&mut self, t: TermId) -> Run<Rc<Cond>> {
        Ok(match walk::eval(self, t, ())? {
            Val::Truth(c) => c,
            Val::Int(p) => Rc::new(Cond::Not(Rc::new(Cond::Holds(Constraint::zero(p))))),
            _ => Rc::new(Cond::Unknown),
        })
    }

    fn comparison(&mut self, op: BinOp, (a, x): (TermId, Val), (b, y): (TermId, Val)) -> Cond {
        let (Some(ka), Some(kb), Val::Int(_), Val::Int(_)) = (self.kind(a), self.kind(b), &x, &y) else {
            return Cond::Unknown;
        };
        let kind = ka.promoted().common(kb.promoted());
        match (self.converted(a, x, kind), self.converted(b, y, kind)) {
            (Val::Int(p), Val::Int(q)) => compared(op, &p, &q).unwrap_or(Cond::Unknown),
            _ => Cond::Unknown,
        }
    }

    /// Notes what must hold if a condition does, or does not.
    pub(super) fn assume(&mut self, c: &Cond, truth: bool) {
        match (c, truth) {
            (Cond::Holds(c), true) => self.guards.push(c.clone()),
            (Cond::Holds(c), false) if !c.equality => {
                if let Some(p) = c.poly.scale(-1).and_then(|p| p.add_constant(-1)) {
                    self.guards.push(Constraint::non_negative(p));
                }
            }
            (Cond::Never(p), false) => self.guards.push(Constraint::zero(p.clone())),
            (Cond::And(a, b), true) | (Cond::Or(a, b), false) => {
                self.assume(a, truth);
                self.assume(b, truth);
            }
            (Cond::Not(c), _) => self.assume(c, !truth),
            // an equation that does not hold: at an end of its range it is an order
            (Cond::Holds(c), false) => self.apart_from(&c.poly.clone()),
            (Cond::Never(p), true) => self.apart_from(&p.clone()),
            _ => {}
        }
    }

    /// Whether a number is one for all threads and rounds.
    pub(super) fn is_fixed(&self, p: &Poly) -> bool {
        p.vars().all(|v| {
            let atom = &self.atoms[v as usize];
            atom.share == Share::Grid && atom.loops.is_empty()
        })
    }

    /// `p` is not zero: where it cannot be negative it is positive, and the other way round.
    fn apart_from(&mut self, p: &Poly) {
        let most = i64::MAX as i128;
        let side = if self.within(p, 0, most) {
            p.add_constant(-1)
        } else if self.within(p, -most, 0) {
            p.scale(-1).and_then(|p| p.add_constant(-1))
        } else if self.is_fixed(p) {
            // no order, but enough where it is zero for another thread
            squared(p)
        } else {
            None
        };
        if let Some(p) = side {
            self.guards.push(Constraint::non_negative(p));
        }
    }
}

/// What is not negative where a whole number is not zero: its square less 1.
pub(super) fn squared(p: &Poly) -> Option<Poly> {
    p.mul(p)?.add_constant(-1)
}

impl<'a> Values<'a> for SymbolicKernel<'a> {
    type Val = Val;
    type Place = SymbolicPlace;
    type Way = ();
    type Stop = KernelObstacle;

    fn body(&self) -> &'a Body {
        self.body
    }
    fn lanes(&self) -> u32 {
        self.levels.lanes()
    }
    fn function(&self, name: &str) -> Option<&'a Function> {
        let program: &'a crate::Program = self.program;
        program.function(name)
    }

    fn begin(&mut self, t: TermId, (): ()) -> Run<bool> {
        if self.depth > MAX_DEPTH {
            return Err(KernelObstacle::Structure(t));
        }
        self.depth += 1;
        Ok(true)
    }
    fn end(&mut self) {
        self.depth -= 1;
    }
    fn enter(&mut self, node: TermId, slot: u32) {
        self.path.push(Step { node, slot });
    }
    fn leave(&mut self) {
        self.path.pop();
    }

    fn unknown(&mut self, t: TermId) -> Run<Val> {
        Ok(self.fresh(t))
    }
    fn number(&mut self, v: i128) -> Val {
        Val::Int(Poly::constant(v))
    }
    fn real(&mut self, _: TermId, _: f64) -> Run<Val> {
        Ok(Val::Any)
    }
    fn text(&mut self, _: TermId) -> Run<Val> {
        Ok(Val::Own)
    }
    fn index(&mut self, index: Index, axis: usize) -> Val {
        let list = match index {
            Index::Thread => &self.thread,
            Index::Block => &self.block,
            Index::BlockSize => &self.extent,
            Index::GridSize => &self.blocks,
        };
        Val::Int(list[axis].clone())
    }

    fn cast(&mut self, t: TermId, (a, v): (TermId, Val), (): ()) -> Run<Val> {
        let body = self.body;
        Ok(match (body.types.kind(body.ty(t)), v) {
            (TypeKind::Int(kind), v @ (Val::Int(_) | Val::Truth(_))) => self.converted(a, v, *kind),
            (TypeKind::Pointer { .. }, v) => v,
            _ => self.fresh(t),
        })
    }

    fn unary(&mut self, t: TermId, op: UnOp, (_, v): (TermId, Val), (): ()) -> Run<Val> {
        Ok(match (op, v) {
            (UnOp::Not, Val::Truth(c)) => Val::Truth(Rc::new(Cond::Not(c))),
            // not (not zero)
            (UnOp::Not, Val::Int(p)) => {
                let zero = Rc::new(Cond::Holds(Constraint::zero(p)));
                Val::Truth(Rc::new(Cond::Not(Rc::new(Cond::Not(zero)))))
            }
            (UnOp::Not, _) => Val::Truth(Rc::new(Cond::Not(Rc::new(Cond::Unknown)))),
            (UnOp::Neg, Val::Int(p)) if self.kind(t).is_some_and(|k| self.body.arithmetic(t).is_exact(k)) => {
                p.scale(-1).map_or(Val::Any, Val::Int)
            }
            (UnOp::Plus, v @ Val::Int(_)) => v,
            _ => self.fresh(t),
        })
    }

    fn binary(
        &mut self,
        t: TermId,
        op: BinOp,
        left: (TermId, Val),
        right: (TermId, Val),
        (): (),
    ) -> Run<Val> {
        Ok(self.arithmetic(t, op, left, right))
    }

    fn compound(
        &mut self,
        t: TermId,
        op: BinOp,
        (p, old): (TermId, Val),
        (v, value): (TermId, Val),
        (): (),
    ) -> Run<Val> {
        let kinds = self.kind(p).zip(self.kind(v)).map(|(a, b)| match op {
            BinOp::Shl | BinOp::Shr => a.promoted(),
            _ => a.promoted().common(b.promoted()),
        });
        Ok(match (self.arithmetic(t, op, (p, old), (v, value)), kinds, self.kind(p)) {
            (Val::Int(q), Some(from), Some(to)) => {
                let inside = from.min() >= to.min() && from.max() <= to.max();
                match inside || self.within(&q, to.min(), to.max()) {
                    true => Val::Int(q),
                    false => self.fresh(t),
                }
            }
            (_, None, Some(_)) => self.fresh(t),
            (new, _, _) => new,
        })
    }

    fn stepped(&mut self, t: TermId, (p, old): (TermId, &Val), delta: i8, (): ()) -> Run<Val> {
        let by = Poly::constant(delta.into());
        let arithmetic = self.body.arithmetic(t);
        let exact = |k: IntKind| arithmetic.is_exact(k);
        let new = match old {
            // one beyond the largest is an overflow, or taken for granted not to be
            Val::Int(q) => {
                let up = q.add_constant(delta.into());
                match (up, self.kind(p).is_some_and(|k| exact(k.promoted()) || delta > 0)) {
                    (Some(up), true) => Val::Int(up),
                    _ => self.fresh(t),
                }
            }
            Val::Ptr(..) => self.pointer_plus(p, old, Some(&by)),
            Val::Own => Val::Own,
            _ => self.fresh(t),
        };
        let narrow = self.kind(p).filter(|k| !exact(*k));
        Ok(match (narrow, &new) {
            (Some(k), Val::Int(q)) if !self.within(q, k.min(), k.max()) => self.fresh(t),
            _ => new,
        })
    }

    fn logical(&mut self, _: TermId, and: bool, [a, b]: [TermId; 2], (): ()) -> Run<Val> {
        let first = self.condition(a)?;
        let (guards, before) = (self.guards.len(), self.locals.clone());
        self.assume(&first, and);
        let second = self.condition(b)?;
        self.guards.truncate(guards);
        self.join(before);
        Ok(Val::Truth(Rc::new(if and { Cond::And(first, second) } else { Cond::Or(first, second) })))
    }

    fn select(&mut self, t: TermId, [c, a, b]: [TermId; 3], (): ()) -> Run<Val> {
        let c = self.condition(c)?;
        let (guards, before) = (self.guards.len(), self.locals.clone());
        self.assume(&c, true);
        let x = walk::eval(self, a, ())?;
        self.guards.truncate(guards);
        let after = std::mem::replace(&mut self.locals, before);
        self.assume(&c, false);
        let y = walk::eval(self, b, ())?;
        self.guards.truncate(guards);
        self.join(after);
        Ok(match (x, y) {
            (Val::Int(p), Val::Int(q)) if p == q => Val::Int(p),
            (Val::Ptr(o, p), Val::Ptr(n, q)) if o == n => Val::Ptr(o, p.filter(|p| q.as_ref() == Some(p))),
            (Val::Own, Val::Own) => Val::Own,
            _ => self.fresh(t),
        })
    }

    fn call(&mut self, t: TermId, called: Called<'a>, arguments: Arguments<'_, Val>, (): ()) -> Run<Val> {
        self.called(t, called, arguments)
    }
    fn atomic(
        &mut self,
        t: TermId,
        atomic: (Option<AtomicOp>, Scope),
        arguments: &[TermId],
        (): (),
    ) -> Run<Val> {
        self.atomic_at(t, atomic, arguments)
    }
    fn other(&mut self, t: TermId, (): ()) -> Run<Val> {
        match self.body.op(t) {
            // the statements of a function that stands in place of its call
            Op::List => {
                walk::statement(self, t, ())?;
                Ok(Val::Any)
            }
            _ => Err(KernelObstacle::Structure(t)),
        }
    }

    fn variable(&mut self, t: TermId, s: SymbolId) -> Run<SymbolicPlace> {
        let body = self.body;
        let symbol = &body.symbols[s];
        let array = matches!(body.types.kind(symbol.ty), TypeKind::Array { .. });
        Ok(match symbol.storage {
            Storage::Param(_) | Storage::Local if array || self.exposed.contains(&s) => SymbolicPlace::Own,
            Storage::Param(_) | Storage::Local => match body.types.kind(symbol.ty) {
                TypeKind::Int(_) | TypeKind::Pointer { .. } => SymbolicPlace::Local(s),
                _ => SymbolicPlace::Own,
            },
            Storage::Shared | Storage::Global { .. } => {
                SymbolicPlace::In(self.object_of(s), Some(Poly::constant(0)))
            }
            _ => return Err(KernelObstacle::Value(t)),
        })
    }

    fn element(
        &mut self,
        t: TermId,
        (_, from): (TermId, SymbolicPlace),
        (_, i): (TermId, Val),
        (): (),
    ) -> Run<SymbolicPlace> {
        let size = self.body.types.size_align(self.body.ty(t)).map(|x| x.0);
        let i = match i {
            Val::Int(p) => Some(p),
            _ => None,
        };
        Ok(self.moved(from, i, size))
    }

    fn field(&mut self, _: TermId, of: SymbolicPlace, offset: Option<u64>, (): ()) -> Run<SymbolicPlace> {
        Ok(match of {
            SymbolicPlace::Local(_) => SymbolicPlace::Own,
            SymbolicPlace::In(o, _) if offset.is_none() => SymbolicPlace::In(o, None),
            of => self.moved(of, Some(Poly::constant(offset.unwrap_or(0) as i128)), Some(1)),
        })
    }

    fn pointed(&mut self, (p, v): (TermId, Val)) -> Run<SymbolicPlace> {
        match v {
            Val::Ptr(o, at) => Ok(SymbolicPlace::In(o, at)),
            Val::Own => Ok(SymbolicPlace::Own),
            _ => Err(KernelObstacle::Value(p)),
        }
    }
    fn no_place(&mut self, t: TermId, (): ()) -> Run<SymbolicPlace> {
        Err(KernelObstacle::Value(t))
    }
    /// A number that a structure given to the kernel has is one number, and what it points to is an object like any other.
    fn known_member(&mut self, t: TermId, base: TermId) -> Option<Val> {
        let body = self.body;
        let name = given_member(body, t, base)?;
        if body.types.element(body.ty(t)).is_some() {
            let restrict = body.types.quals(body.ty(t)).is_restrict;
            let o = self.object(SymbolicObject { name, shared: false, parameter: true, restrict });
            return Some(Val::Ptr(o, Some(Poly::constant(0))));
        }
        let kind = self.kind(t)?;
        Some(Val::Int(Poly::var(self.parameter(name, kind))))
    }

    fn address(&mut self, _: TermId, place: SymbolicPlace) -> Run<Val> {
        Ok(match place {
            SymbolicPlace::In(o, at) => Val::Ptr(o, at),
            SymbolicPlace::Own | SymbolicPlace::Local(_) => Val::Own,
        })
    }

    fn load(&mut self, t: TermId, place: &SymbolicPlace, (): ()) -> Run<Val> {
        Ok(match place {
            SymbolicPlace::Local(s) => self.local(*s),
            SymbolicPlace::Own => self.fresh(t),
            SymbolicPlace::In(o, at) => {
                self.touch(t, *o, at.clone(), self.body.ty(t), Touch::Read);
                self.fresh(t)
            }
        })
    }

    fn write(&mut self, p: TermId, place: SymbolicPlace, (v, value): (TermId, Val), (): ()) -> Run<Val> {
        let body = self.body;
        let value = match body.types.as_int(body.ty(p)) {
            // in its type already
            Some(_) if v == p => value,
            Some(kind) => match self.kind(v) {
                Some(_) => self.converted(v, value, kind),
                None => Val::Int(self.any_of(Share::Thread, kind)),
            },
            None => value,
        };
        match place {
            SymbolicPlace::Local(s) => {
                self.locals.insert(s, value.clone());
            }
            SymbolicPlace::Own => {}
            SymbolicPlace::In(o, at) => self.touch(p, o, at, body.ty(p), Touch::Write),
        }
        Ok(value)
    }
}

fn compared(op: BinOp, p: &Poly, q: &Poly) -> Option<Cond> {
    let at_least =
        |a: &Poly, b: &Poly, k: i128| Some(Cond::Holds(Constraint::non_negative(a.sub(b)?.add_constant(k)?)));
    match op {
        BinOp::Lt => at_least(q, p, -1),
        BinOp::Le => at_least(q, p, 0),
        BinOp::Gt => at_least(p, q, -1),
        BinOp::Ge => at_least(p, q, 0),
        BinOp::Eq => Some(Cond::Holds(Constraint::zero(p.sub(q)?))),
        BinOp::Ne => Some(Cond::Never(p.sub(q)?)),
        _ => None,
    }
}
