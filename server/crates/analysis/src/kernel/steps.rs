//! Expressions of a trace: values over the lanes of a warp, and the accesses, branches and barriers on the way.
//!
//! Walks an expression as `collect` does, so that every access it lists is met here.

use term::device::{Index, Word};
use term::{BinOp, Op, Storage, SymbolId, TermId, TypeKind, UnOp};

use super::access::field_offset;
use super::collect::AccessKind;
use super::eval::{binary, in_type};
use super::nums::{Nums, Val};
use super::trace::{merge, Walk, MAX_DEPTH};
use super::{callee, is_barrier, LIMITS};

/// A place in memory: an object and an offset in bytes, as far as they are known.
pub(super) struct Spot {
    pub val: Val,
    /// A thread's own variable.
    pub private: bool,
}

impl<'a> Walk<'a> {
    pub(super) fn eval(&mut self, t: TermId, mask: u32) -> Val {
        if mask == 0 {
            return Val::UNKNOWN;
        }
        if !self.burn() || self.depth > MAX_DEPTH {
            self.lost = true;
            return Val::UNKNOWN;
        }
        self.depth += 1;
        let v = self.eval_at(t, mask);
        self.depth -= 1;
        v
    }

    fn kind(&self, t: TermId) -> Option<term::IntKind> {
        self.body.types.as_int(self.body.ty(t))
    }

    fn eval_at(&mut self, t: TermId, mask: u32) -> Val {
        let body = self.body;
        match (body.op(t), body.args(t)) {
            (Op::Int(v), _) => Val::same(*v),
            (Op::SizeOfType(ty), _) => match body.types.size_align(*ty) {
                Some((size, _)) => Val::same(size as i128),
                None => Val::UNKNOWN,
            },
            (Op::SizeOf, &[of]) => match body.types.size_align(body.ty(of)) {
                Some((size, _)) => Val::same(size as i128),
                None => Val::UNKNOWN,
            },
            (&Op::Sym(s), _) => self.symbol(t, s, mask),
            (Op::Member { field, arrow: false }, &[base]) => match self.builtin(base, field) {
                Some(v) => v,
                None => self.load(t, mask),
            },
            (Op::Index | Op::Deref | Op::Member { .. }, _) => self.load(t, mask),
            (Op::Cast, &[a]) => {
                let v = self.eval(a, mask);
                if v.object.is_some() {
                    return if body.types.element(body.ty(t)).is_some() { v } else { Val::UNKNOWN };
                }
                match (self.kind(a), self.kind(t)) {
                    (Some(_), Some(k)) => Val::number(v.n.map(mask, |x| Some(in_type(k, x)))),
                    _ => Val::UNKNOWN,
                }
            }
            (Op::Unary(op), &[a]) => {
                let v = self.eval(a, mask).int();
                let Some(kind) = self.kind(a) else { return Val::UNKNOWN };
                Val::number(v.map(mask, |x| match op {
                    UnOp::Not => Some((x == 0) as i128),
                    UnOp::Plus => Some(x),
                    UnOp::Neg | UnOp::BitNot => body.arithmetic(t).unary(*op, kind.promoted(), x).ok(),
                }))
            }
            (Op::Binary(op), &[a, b]) if op.is_logical() => self.logical(*op == BinOp::And, a, b, mask),
            (Op::Binary(op), &[a, b]) => {
                let (x, y) = (self.eval(a, mask), self.eval(b, mask));
                self.binary(t, *op, (a, x), (b, y), mask)
            }
            (Op::Select, &[c, a, b]) => {
                let Some(holds) = self.decide(t, c, mask) else {
                    self.spoil(a);
                    self.spoil(b);
                    return Val::UNKNOWN;
                };
                let no = mask & !holds;
                let (x, y) = (self.eval(a, holds), self.eval(b, no));
                let v = match (holds, no) {
                    (_, 0) => x,
                    (0, _) => y,
                    _ => merge(x, &y, holds, no),
                };
                match (self.kind(a), self.kind(b)) {
                    (Some(ka), Some(kb)) => {
                        let kind = ka.promoted().common(kb.promoted());
                        Val::number(v.int().map(mask, |x| Some(kind.wrap(x))))
                    }
                    _ if v.object.is_some() => v,
                    _ => Val::UNKNOWN,
                }
            }
            (Op::Comma, &[a, b]) => {
                self.eval(a, mask);
                self.eval(b, mask)
            }
            (Op::Assign, &[place, value]) => {
                let v = self.eval(value, mask);
                match self.own(place) {
                    Some(s) => self.set(s, v, mask),
                    None => {
                        let spot = self.place(place, mask);
                        self.access(place, AccessKind::Write, &spot, mask);
                        Val::UNKNOWN
                    }
                }
            }
            (Op::Compound(op), &[place, value]) => {
                if let Some(s) = self.own(place) {
                    let (x, y) = (self.variable(s), self.eval(value, mask));
                    let v = self.binary(t, *op, (place, x), (value, y), mask);
                    return self.set(s, v, mask);
                }
                let spot = self.place(place, mask);
                self.access(place, AccessKind::Read, &spot, mask);
                self.eval(value, mask);
                self.access(place, AccessKind::Write, &spot, mask);
                Val::UNKNOWN
            }
            (&Op::Step { delta, prefix }, &[place]) => {
                if let Some(s) = self.own(place) {
                    let before = self.variable(s);
                    let after = self.step(place, &before, delta, mask);
                    let after = self.set(s, after, mask);
                    return if prefix { after } else { before };
                }
                let spot = self.place(place, mask);
                self.access(place, AccessKind::Read, &spot, mask);
                self.access(place, AccessKind::Write, &spot, mask);
                Val::UNKNOWN
            }
            (Op::AddrOf, &[place]) => self.place(place, mask).val,
            (Op::Call, args) => self.call(t, args, mask),
            (_, args) => {
                for &a in args {
                    self.eval(a, mask);
                }
                Val::UNKNOWN
            }
        }
    }

    /// The local variable that a place is.
    fn own(&self, place: TermId) -> Option<SymbolId> {
        let s = self.body.as_symbol(place)?;
        matches!(self.body.symbols[s].storage, Storage::Local | Storage::Param(_)).then_some(s)
    }

    fn symbol(&mut self, t: TermId, s: SymbolId, mask: u32) -> Val {
        let symbol = &self.body.symbols[s];
        match symbol.storage {
            Storage::Constant(v) => Val::same(v),
            Storage::Builtin if symbol.device == Some(Word::Lanes) => Val::same(LIMITS.lanes.into()),
            Storage::Local | Storage::Param(_) => self.variable(s),
            Storage::Shared | Storage::Global { .. } => self.load(t, mask),
            _ => Val::UNKNOWN,
        }
    }

    fn builtin(&self, base: TermId, field: &str) -> Option<Val> {
        let symbol = &self.body.symbols[self.body.as_symbol(base)?];
        if symbol.storage != Storage::Builtin {
            return None;
        }
        let axis = term::device::axis(field)?;
        let Some(Word::Index(index)) = symbol.device else { return Some(Val::UNKNOWN) };
        Some(match index {
            Index::Block => Val::same(self.at.block[axis] as i128),
            Index::BlockSize => Val::same(self.block[axis] as i128),
            Index::GridSize => Val::same(self.grid[axis] as i128),
            Index::Thread if self.block[axis] == 1 => Val::same(0),
            Index::Thread => Val::number(Nums::each(self.at.lanes, |l| self.thread(l)[axis] as i128)),
        })
    }

    fn logical(&mut self, and: bool, a: TermId, b: TermId, mask: u32) -> Val {
        let Some(holds) = self.eval(a, mask).int().truth(mask).filter(|_| self.kind(a).is_some()) else {
            self.spoil(b);
            return Val::UNKNOWN;
        };
        let further = if and { holds } else { mask & !holds };
        let v = self.eval(b, further).int();
        let known = self.kind(b).is_some();
        let second = if further == 0 { Some(0) } else { v.truth(further).filter(|_| known) };
        match second {
            Some(second) => {
                let all = if and { second } else { holds | second };
                match all {
                    0 => Val::same(0),
                    _ if all == mask => Val::same(1),
                    _ => Val::number(Nums::each(mask, |l| (all & 1 << l != 0) as i128)),
                }
            }
            None => Val::UNKNOWN,
        }
    }

    fn binary(&self, t: TermId, op: BinOp, (a, x): (TermId, Val), (b, y): (TermId, Val), mask: u32) -> Val {
        let arithmetic = self.body.arithmetic(t);
        let types = &self.body.types;
        match (x.object, y.object) {
            (None, None) => {
                let (Some(ka), Some(kb)) = (self.kind(a), self.kind(b)) else { return Val::UNKNOWN };
                Val::number(x.n.zip(&y.n, mask, |x, y| binary(arithmetic, op, (ka, x), (kb, y))))
            }
            (Some(_), None) if matches!(op, BinOp::Add | BinOp::Sub) => {
                let size = types.element(self.body.ty(a)).and_then(|e| types.size_align(e));
                let (Some((size, _)), Some(_)) = (size, self.kind(b)) else { return Val::UNKNOWN };
                let by = size as i128 * if op == BinOp::Add { 1 } else { -1 };
                let n = x.n.zip(&y.n, mask, |x, y| x.checked_add(y.checked_mul(by)?));
                Val { object: x.object, n }
            }
            (None, Some(_)) if op == BinOp::Add => self.binary(t, op, (b, y), (a, x), mask),
            _ => Val::UNKNOWN,
        }
    }

    fn step(&self, place: TermId, before: &Val, delta: i8, mask: u32) -> Val {
        let types = &self.body.types;
        let arithmetic = self.body.arithmetic(place);
        let by = match (before.object, self.kind(place)) {
            (None, Some(kind)) => {
                let n = before.n.map(mask, |x| {
                    let one = i128::from(delta);
                    binary(arithmetic, BinOp::Add, (kind, x), (term::IntKind::Int, one))
                        .map(|v| in_type(kind, v))
                });
                return Val::number(n);
            }
            (Some(_), None) => types.element(self.body.ty(place)).and_then(|e| types.size_align(e)),
            _ => None,
        };
        let Some((size, _)) = by else { return Val::UNKNOWN };
        let by = size as i128 * i128::from(delta);
        Val { object: before.object, n: before.n.map(mask, |x| x.checked_add(by)) }
    }

    /// What stands at a place; an array is its address.
    fn load(&mut self, t: TermId, mask: u32) -> Val {
        let spot = self.place(t, mask);
        if matches!(self.body.types.kind(self.body.ty(t)), TypeKind::Array { .. }) {
            return spot.val;
        }
        self.access(t, AccessKind::Read, &spot, mask);
        Val::UNKNOWN
    }

    /// Where a place is; its subscripts are evaluated.
    fn place(&mut self, t: TermId, mask: u32) -> Spot {
        let body = self.body;
        let unknown = |private| Spot { val: Val::UNKNOWN, private };
        match (body.op(t), body.args(t)) {
            (Op::Index, &[base, index]) => {
                let i = self.eval(index, mask).int();
                let array = matches!(body.types.kind(body.ty(base)), TypeKind::Array { .. });
                let spot = match array {
                    true => self.place(base, mask),
                    false => Spot { val: self.eval(base, mask), private: false },
                };
                match body.types.size_align(body.ty(t)) {
                    Some((size, _)) if spot.val.object.is_some() && self.kind(index).is_some() => {
                        let n = spot.val.n.zip(&i, mask, |o, i| o.checked_add(i.checked_mul(size as i128)?));
                        Spot { val: Val { object: spot.val.object, n }, ..spot }
                    }
                    _ => Spot { val: Val { object: spot.val.object, n: Nums::Unknown }, ..spot },
                }
            }
            (Op::Member { field, arrow }, &[base]) => {
                let (spot, of) = match arrow {
                    true => {
                        let v = self.eval(base, mask);
                        (Spot { val: v, private: false }, body.types.element(body.ty(base)))
                    }
                    false => (self.place(base, mask), Some(body.ty(base))),
                };
                let by = of.and_then(|ty| field_offset(body, ty, field));
                let n = match by {
                    Some(by) => spot.val.n.map(mask, |o| o.checked_add(by as i128)),
                    None => Nums::Unknown,
                };
                Spot { val: Val { object: spot.val.object, n }, ..spot }
            }
            (Op::Deref, &[p]) => Spot { val: self.eval(p, mask), private: false },
            (&Op::Sym(s), _) => match body.symbols[s].storage {
                // the numbers of another function's variables mean nothing here
                Storage::Shared | Storage::Global { .. } if self.calls == 0 => {
                    Spot { val: Val { object: Some(s), n: Nums::Same(0) }, private: false }
                }
                Storage::Local | Storage::Param(_) | Storage::Global { constant: true, .. } => unknown(true),
                _ => unknown(false),
            },
            // a value that has parts, such as a call's
            _ => {
                self.eval(t, mask);
                unknown(true)
            }
        }
    }

    fn call(&mut self, t: TermId, args: &[TermId], mask: u32) -> Val {
        let body = self.body;
        let [_, args @ ..] = args else { return Val::UNKNOWN };
        let Some(name) = callee(body, t) else {
            args.iter().for_each(|&a| drop(self.eval(a, mask)));
            self.lost = true;
            return Val::UNKNOWN;
        };
        let program: &'a crate::Program = self.program;
        let own = program.function(name);
        let word = body.called_word(t);
        if word.is_some_and(Word::is_atomic) && own.is_none() {
            return self.atomic(args, mask);
        }
        let values: Vec<Val> = args.iter().map(|&a| self.eval(a, mask)).collect();
        if is_barrier(body, t) {
            self.barrier(t, mask);
            return Val::UNKNOWN;
        }
        if word.is_some_and(Word::is_of_threads) {
            // lanes that are named and not here would be waited for
            let named = values.first().map_or(Nums::Unknown, |v| v.clone().int());
            let same = matches!(named, Nums::Same(m) if m as u32 & self.live == mask);
            self.lost |= !same && mask != self.live;
            return Val::UNKNOWN;
        }
        if let (None, "min" | "max", &[a, b], [x, y]) = (own, name, args, values.as_slice()) {
            let (Some(ka), Some(kb)) = (self.kind(a), self.kind(b)) else { return Val::UNKNOWN };
            let kind = ka.promoted().common(kb.promoted());
            let pick = |x: i128, y: i128| {
                let (x, y) = (kind.wrap(x), kind.wrap(y));
                Some(if name == "min" { x.min(y) } else { x.max(y) })
            };
            return Val::number(x.clone().int().zip(&y.clone().int(), mask, pick));
        }
        // whoever is given an address may touch what it points to
        let pointers = args.iter().any(|&a| body.types.element(body.ty(a)).is_some());
        match own {
            Some(f) if self.calls < 6 && f.body.rejects().next().is_none() => {
                let v = self.inline(&f.body, values, mask);
                match f.body.types.as_int(f.returns) {
                    Some(kind) => Val::number(v.int().map(mask, |x| Some(in_type(kind, x)))),
                    None => Val { n: if v.object.is_some() { v.n } else { Nums::Unknown }, ..v },
                }
            }
            Some(_) => {
                self.lost = true;
                Val::UNKNOWN
            }
            None => {
                self.lost |= !super::level::is_harmless(body, t);
                self.untold |= pointers;
                Val::UNKNOWN
            }
        }
    }

    fn atomic(&mut self, args: &[TermId], mask: u32) -> Val {
        let body = self.body;
        let mut place = None;
        for (k, &a) in args.iter().enumerate() {
            match (k, body.op(a), body.args(a)) {
                (0, Op::AddrOf, &[p]) => place = Some((p, self.place(p, mask))),
                (0, ..) => {
                    self.eval(a, mask);
                    self.untold = true;
                }
                _ => drop(self.eval(a, mask)),
            }
        }
        if let Some((p, spot)) = place {
            self.access(p, AccessKind::Atomic, &spot, mask);
        }
        Val::UNKNOWN
    }
}
