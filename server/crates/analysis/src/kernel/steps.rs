//! Expressions of a trace: values over the lanes of a warp, and the accesses, branches and barriers on the way.
//!
//! The walk meets every access that `collect` lists.

use std::convert::Infallible;

use term::device::{AtomicOp, Index, Scope, Word};
use term::{BinOp, Body, Op, Storage, SymbolId, TermId, UnOp};

use super::collect::AccessKind;
use super::eval::{binary, in_type};
use super::interpret::{walk, Arguments, Called, Run, Values};
use super::nums::{Lanes, Nums, Val};
use super::trace::{merge, WarpTrace, MAX_DEPTH};
use crate::calls::function::Function;

/// A place in memory: an object and an offset in bytes, as far as they are known.
pub(super) struct Spot {
    pub val: Val,
    /// A thread's own variable.
    pub private: bool,
}

/// Where a value stands.
pub(super) enum WarpPlace {
    /// A thread's own variable, as a whole.
    Own(SymbolId),
    At(Spot),
}

impl WarpPlace {
    fn spot(self) -> Spot {
        match self {
            WarpPlace::Own(_) => Spot { val: Val::UNKNOWN, private: true },
            WarpPlace::At(spot) => spot,
        }
    }
}

impl WarpTrace<'_> {
    /// The value of an expression for some lanes.
    pub(super) fn value(&mut self, t: TermId, mask: Lanes) -> Val {
        let Ok(v) = walk::eval(self, t, mask);
        v
    }

    fn kind(&self, t: TermId) -> Option<term::IntKind> {
        self.body.types.as_int(self.body.ty(t))
    }

    fn arithmetic(
        &self,
        t: TermId,
        op: BinOp,
        (a, x): (TermId, Val),
        (b, y): (TermId, Val),
        mask: Lanes,
    ) -> Val {
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
            (None, Some(_)) if op == BinOp::Add => self.arithmetic(t, op, (b, y), (a, x), mask),
            _ => Val::UNKNOWN,
        }
    }

    fn step(&self, place: TermId, before: &Val, delta: i8, mask: Lanes) -> Val {
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

    fn of_threads(&mut self, named: Option<&Val>, mask: Lanes) -> Val {
        // lanes that are named and not here would be waited for
        let named = named.map_or(Nums::Unknown, |v| v.clone().int());
        let same = matches!(named, Nums::Same(m) if m as Lanes & self.live == mask);
        self.lost |= !same && mask != self.live;
        Val::UNKNOWN
    }
}

impl<'a> Values<'a> for WarpTrace<'a> {
    type Val = Val;
    type Place = WarpPlace;
    /// The lanes.
    type Way = Lanes;
    type Stop = Infallible;

    fn body(&self) -> &'a Body {
        self.body
    }
    fn lanes(&self) -> u32 {
        self.launch.limits.lanes
    }
    fn function(&self, name: &str) -> Option<&'a Function> {
        let program: &'a crate::Program = self.program;
        program.function(name)
    }

    fn begin(&mut self, _: TermId, mask: Lanes) -> Run<'a, Self, bool> {
        if mask == 0 {
            return Ok(false);
        }
        if !self.burn() || self.depth > MAX_DEPTH {
            self.lost = true;
            return Ok(false);
        }
        self.depth += 1;
        Ok(true)
    }
    fn end(&mut self) {
        self.depth -= 1;
    }

    fn unknown(&mut self, _: TermId) -> Run<'a, Self, Val> {
        Ok(Val::UNKNOWN)
    }
    fn number(&mut self, v: i128) -> Val {
        Val::same(v)
    }
    fn real(&mut self, _: TermId, _: f64) -> Run<'a, Self, Val> {
        Ok(Val::UNKNOWN)
    }
    fn text(&mut self, _: TermId) -> Run<'a, Self, Val> {
        Ok(Val::UNKNOWN)
    }
    fn index(&mut self, index: Index, axis: usize) -> Val {
        match index {
            Index::Block => Val::same(self.at.block[axis] as i128),
            Index::BlockSize => Val::same(self.block[axis] as i128),
            Index::GridSize => Val::same(self.grid[axis] as i128),
            Index::Thread if self.block[axis] == 1 => Val::same(0),
            Index::Thread => Val::number(Nums::each(self.at.lanes, |l| self.thread(l)[axis] as i128)),
        }
    }

    fn cast(&mut self, t: TermId, (a, v): (TermId, Val), mask: Lanes) -> Run<'a, Self, Val> {
        let body = self.body;
        if v.object.is_some() {
            return Ok(if body.types.element(body.ty(t)).is_some() { v } else { Val::UNKNOWN });
        }
        Ok(match (self.kind(a), self.kind(t)) {
            (Some(_), Some(k)) => Val::number(v.n.map(mask, |x| Some(in_type(k, x)))),
            _ => Val::UNKNOWN,
        })
    }

    fn unary(&mut self, t: TermId, op: UnOp, (a, v): (TermId, Val), mask: Lanes) -> Run<'a, Self, Val> {
        let v = v.int();
        let arithmetic = self.body.arithmetic(t);
        let Some(kind) = self.kind(a) else { return Ok(Val::UNKNOWN) };
        Ok(Val::number(v.map(mask, |x| match op {
            UnOp::Not => Some((x == 0) as i128),
            UnOp::Plus => Some(x),
            UnOp::Neg | UnOp::BitNot => arithmetic.unary(op, kind.promoted(), x).ok(),
        })))
    }

    fn binary(
        &mut self,
        t: TermId,
        op: BinOp,
        left: (TermId, Val),
        right: (TermId, Val),
        mask: Lanes,
    ) -> Run<'a, Self, Val> {
        Ok(self.arithmetic(t, op, left, right, mask))
    }

    fn stepped(&mut self, _: TermId, (p, old): (TermId, &Val), delta: i8, mask: Lanes) -> Run<'a, Self, Val> {
        Ok(self.step(p, old, delta, mask))
    }

    fn logical(&mut self, _: TermId, and: bool, [a, b]: [TermId; 2], mask: Lanes) -> Run<'a, Self, Val> {
        let holds = self.value(a, mask).int().truth(mask);
        let Some(holds) = holds.filter(|_| self.kind(a).is_some()) else {
            self.spoil(b);
            return Ok(Val::UNKNOWN);
        };
        let further = if and { holds } else { mask & !holds };
        let v = self.value(b, further).int();
        let known = self.kind(b).is_some();
        let second = if further == 0 { Some(0) } else { v.truth(further).filter(|_| known) };
        Ok(match second {
            Some(second) => {
                let all = if and { second } else { holds | second };
                match all {
                    0 => Val::same(0),
                    _ if all == mask => Val::same(1),
                    _ => Val::number(Nums::each(mask, |l| (all & 1 << l != 0) as i128)),
                }
            }
            None => Val::UNKNOWN,
        })
    }

    fn select(&mut self, t: TermId, [c, a, b]: [TermId; 3], mask: Lanes) -> Run<'a, Self, Val> {
        let Some(holds) = self.decide(t, c, mask) else {
            self.spoil(a);
            self.spoil(b);
            return Ok(Val::UNKNOWN);
        };
        let no = mask & !holds;
        let (x, y) = (self.value(a, holds), self.value(b, no));
        let v = match (holds, no) {
            (_, 0) => x,
            (0, _) => y,
            _ => merge(x, &y, holds, no),
        };
        Ok(match (self.kind(a), self.kind(b)) {
            (Some(ka), Some(kb)) => {
                let kind = ka.promoted().common(kb.promoted());
                Val::number(v.int().map(mask, |x| Some(kind.wrap(x))))
            }
            _ if v.object.is_some() => v,
            _ => Val::UNKNOWN,
        })
    }

    fn call(
        &mut self,
        t: TermId,
        called: Called<'a>,
        arguments: Arguments<'_, Val>,
        mask: Lanes,
    ) -> Run<'a, Self, Val> {
        let body = self.body;
        let Arguments { terms, values } = arguments;
        Ok(match called {
            Called::Unknown => {
                self.lost = true;
                Val::UNKNOWN
            }
            Called::Word(word) if word.is_block_barrier() => {
                self.barrier(t, mask);
                Val::UNKNOWN
            }
            Called::Function(f) if self.calls < 6 && f.body.rejects().next().is_none() => {
                let v = self.inline(&f.body, values, mask);
                match f.body.types.as_int(f.returns) {
                    Some(kind) => Val::number(v.int().map(mask, |x| Some(in_type(kind, x)))),
                    None => Val { n: if v.object.is_some() { v.n } else { Nums::Unknown }, ..v },
                }
            }
            Called::Function(_) => {
                self.lost = true;
                Val::UNKNOWN
            }
            Called::Min | Called::Max if values.len() == 2 => {
                let (Some(ka), Some(kb)) = (self.kind(terms[0]), self.kind(terms[1])) else {
                    return Ok(Val::UNKNOWN);
                };
                let kind = ka.promoted().common(kb.promoted());
                let least = matches!(called, Called::Min);
                let pick = |x: i128, y: i128| {
                    let (x, y) = (kind.wrap(x), kind.wrap(y));
                    Some(if least { x.min(y) } else { x.max(y) })
                };
                Val::number(values[0].clone().int().zip(&values[1].clone().int(), mask, pick))
            }
            Called::Word(word) if Word::is_of_threads(word) => self.of_threads(values.first(), mask),
            Called::Library(name) if gpu::toolkit::changes(name).is_some() => {
                self.untold = true;
                Val::UNKNOWN
            }
            _ => {
                self.lost |= !super::uniformity::is_harmless(body, t);
                // whoever is given an address may touch what it points to
                self.untold |= terms.iter().any(|&a| body.types.element(body.ty(a)).is_some());
                Val::UNKNOWN
            }
        })
    }

    fn atomic(
        &mut self,
        _: TermId,
        _: (Option<AtomicOp>, Scope),
        arguments: &[TermId],
        mask: Lanes,
    ) -> Run<'a, Self, Val> {
        let body = self.body;
        let mut place = None;
        for (k, &a) in arguments.iter().enumerate() {
            match (k, body.op(a), body.args(a)) {
                (0, Op::AddrOf, &[p]) => place = Some((p, walk::place(self, p, mask)?.spot())),
                (0, ..) => {
                    self.value(a, mask);
                    self.untold = true;
                }
                _ => drop(self.value(a, mask)),
            }
        }
        if let Some((p, spot)) = place {
            self.access(p, AccessKind::Atomic, &spot, mask);
        }
        Ok(Val::UNKNOWN)
    }

    fn other(&mut self, t: TermId, mask: Lanes) -> Run<'a, Self, Val> {
        for &a in self.body.args(t) {
            self.value(a, mask);
        }
        Ok(Val::UNKNOWN)
    }

    fn variable(&mut self, _: TermId, s: SymbolId) -> Run<'a, Self, WarpPlace> {
        let unknown = |private| WarpPlace::At(Spot { val: Val::UNKNOWN, private });
        Ok(match self.body.symbols[s].storage {
            Storage::Local | Storage::Param(_) => WarpPlace::Own(s),
            // the numbers of another function's variables mean nothing here
            Storage::Shared | Storage::Global { .. } if self.calls == 0 => {
                WarpPlace::At(Spot { val: Val { object: Some(s), n: Nums::Same(0) }, private: false })
            }
            Storage::Global { constant: true, .. } => unknown(true),
            _ => unknown(false),
        })
    }

    fn element(
        &mut self,
        t: TermId,
        (_, base): (TermId, WarpPlace),
        (index, i): (TermId, Val),
        mask: Lanes,
    ) -> Run<'a, Self, WarpPlace> {
        let (spot, i) = (base.spot(), i.int());
        let object = spot.val.object;
        let n = match self.body.types.size_align(self.body.ty(t)) {
            Some((size, _)) if object.is_some() && self.kind(index).is_some() => {
                spot.val.n.zip(&i, mask, |o, i| o.checked_add(i.checked_mul(size as i128)?))
            }
            _ => Nums::Unknown,
        };
        Ok(WarpPlace::At(Spot { val: Val { object, n }, ..spot }))
    }

    fn field(
        &mut self,
        _: TermId,
        of: WarpPlace,
        offset: Option<u64>,
        mask: Lanes,
    ) -> Run<'a, Self, WarpPlace> {
        let spot = of.spot();
        let n = match offset {
            Some(by) => spot.val.n.map(mask, |o| o.checked_add(by as i128)),
            None => Nums::Unknown,
        };
        Ok(WarpPlace::At(Spot { val: Val { object: spot.val.object, n }, ..spot }))
    }

    fn pointed(&mut self, (_, v): (TermId, Val)) -> Run<'a, Self, WarpPlace> {
        Ok(WarpPlace::At(Spot { val: v, private: false }))
    }

    fn no_place(&mut self, t: TermId, mask: Lanes) -> Run<'a, Self, WarpPlace> {
        // a value that has parts, such as a call's
        self.value(t, mask);
        Ok(WarpPlace::At(Spot { val: Val::UNKNOWN, private: true }))
    }

    fn part_of_value(&mut self, t: TermId, base: TermId, mask: Lanes) -> Run<'a, Self, Val> {
        self.value(base, mask);
        self.access(t, AccessKind::Read, &Spot { val: Val::UNKNOWN, private: true }, mask);
        Ok(Val::UNKNOWN)
    }

    fn address(&mut self, _: TermId, place: WarpPlace) -> Run<'a, Self, Val> {
        Ok(place.spot().val)
    }

    fn load(&mut self, t: TermId, place: &WarpPlace, mask: Lanes) -> Run<'a, Self, Val> {
        let spot = match place {
            WarpPlace::Own(s) => return Ok(self.local(*s)),
            WarpPlace::At(spot) => spot,
        };
        let body = self.body;
        let reaches = body
            .as_symbol(t)
            .is_none_or(|s| matches!(body.symbols[s].storage, Storage::Shared | Storage::Global { .. }));
        if reaches {
            self.access(t, AccessKind::Read, spot, mask);
        }
        Ok(Val::UNKNOWN)
    }

    fn write(
        &mut self,
        t: TermId,
        place: WarpPlace,
        (_, value): (TermId, Val),
        mask: Lanes,
    ) -> Run<'a, Self, Val> {
        match place {
            WarpPlace::Own(s) => Ok(self.set(s, value, mask)),
            WarpPlace::At(spot) => {
                self.access(t, AccessKind::Write, &spot, mask);
                Ok(Val::UNKNOWN)
            }
        }
    }
}
