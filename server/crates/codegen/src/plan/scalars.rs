//! Scalars that change: reductions, inductions, and the values variables have before and after.

use std::collections::BTreeMap;

use analysis::{Cells, Expr, Final, Reduction, ReductionOp};
use term::{BinOp, Body, IntKind, Op, Semantics, SymbolId, TermId};

use super::build::Builder;
use super::keyed::is_keyed;
use super::naming::variable;
use super::support::Support;
use super::{bounds, simplify, FinalValue, InductionPlan, MinMaxForm, ReductionPlan, RefusalKind, Zeros};
use crate::access::mentions;

/// The integer type sums and products are kept in: regrouped, they may leave a type's range on the way to a result inside
/// it, and what is written is CUDA C++; so they are computed modulo its width.
pub(crate) fn wrapping_kind(op: ReductionOp, kind: IntKind) -> IntKind {
    match op {
        ReductionOp::Add | ReductionOp::Mul if Semantics::C.arithmetic().is_exact(kind) => kind.to_unsigned(),
        _ => kind,
    }
}

impl<'a> Builder<'_, 'a> {
    pub(super) fn reductions(&mut self, support: &Support<'_>) -> Vec<ReductionPlan> {
        let body = self.body;
        let mut out = Vec::new();
        let mine = |r: &&Reduction| r.cells != Cells::Many && !is_keyed(r);
        for r in self.input.offload.reductions.iter().filter(mine) {
            let s = r.object.symbol;
            let cell = r.cells == Cells::One;
            let is_call = |t: TermId| *body.op(t) == Op::Call;
            if is_call(r.place) {
                self.refuse(RefusalKind::CalledReduction(s), r.place);
                if cell || !body.types.is_arithmetic(r.ty) {
                    continue;
                }
            } else if !(cell || body.as_symbol(r.place) == Some(s)) || !body.types.is_arithmetic(r.ty) {
                self.refuse(RefusalKind::ReductionCell, r.place);
                continue;
            }
            // a function that gets its address wants the type the variable has
            let wraps = body.types.as_int(r.ty).is_some_and(|k| wrapping_kind(r.op, k) != k);
            let called = r.updates.iter().find(|&&u| wraps && is_call(u) && !is_call(r.place));
            if let Some(&u) = called {
                self.refuse(RefusalKind::CalledReduction(s), u);
            }
            if cell {
                self.check_cell(r, support);
            }
            let ty = r.ty;
            let q = body.types.quals(ty);
            if q.is_volatile || q.is_atomic {
                self.refuse(RefusalKind::Volatile(s), r.place);
            }
            let is_float = body.types.as_float(ty).is_some();
            let mut forms: Vec<MinMaxForm> = Vec::new();
            // of `t = s + e; s = t` what the first computes
            let keeps = |u: TermId| {
                matches!((body.op(u), body.args(u)), (Op::Assign, &[_, value])
                    if matches!(body.op(value), Op::Sym(_) | Op::Member { .. }))
            };
            for &u in r.updates.iter().filter(|&&u| !keeps(u)) {
                match r.op {
                    ReductionOp::Add | ReductionOp::Mul if !is_float => {
                        let assigned = body.args(u).get(1).copied();
                        let float = |t: TermId| body.types.as_float(body.ty(t)).is_some();
                        if *body.op(u) == Op::If || assigned.is_some_and(float) {
                            self.refuse(RefusalKind::RoundedReduction(s), u);
                        }
                    }
                    ReductionOp::Min | ReductionOp::Max if is_float => {
                        match min_max_form(body, u, &holders(body, r)) {
                            Some(f) => forms.push(f),
                            None => self.refuse(RefusalKind::NanOrder(s), u),
                        }
                    }
                    ReductionOp::BitAnd | ReductionOp::BitOr | ReductionOp::BitXor if is_float => {
                        self.refuse(RefusalKind::Operation, u)
                    }
                    _ => {}
                }
            }
            let form = forms.first().copied().unwrap_or(MinMaxForm::Compare);
            if forms.iter().any(|&f| f != form) {
                self.refuse(RefusalKind::NanOrder(s), r.place);
            }
            let ordered = is_float && form != MinMaxForm::Function;
            let zeros = match r.op {
                ReductionOp::Min | ReductionOp::Max if ordered => super::signed_zeros::zeros(body, r),
                _ => Zeros::Alike,
            };
            let name = variable(body, s);
            out.push(ReductionPlan {
                symbol: s,
                place: r.place,
                cell,
                name: String::new(),
                op: r.op,
                ty,
                form,
                zeros,
                updates: r.updates.clone(),
                device_name: self.host_name(&format!("gpu_{name}")),
                partial_name: self.host_name(&format!("part_{name}")),
            });
        }
        out
    }

    pub(super) fn inductions(&mut self) -> Vec<InductionPlan> {
        let body = self.body;
        let mut out = Vec::new();
        for i in &self.input.offload.inductions {
            let walk = self.input.offload.walks.iter().find(|w| w.symbol == i.symbol);
            let is_walk = walk.is_some() && body.types.as_int(body.symbols[i.symbol].ty).is_none();
            if is_walk || self.band.iter().any(|b| b.1.index == i.symbol) {
                continue;
            }
            let symbol = &body.symbols[i.symbol];
            let kind = body.types.as_int(symbol.ty).filter(|&k| k != IntKind::Bool);
            let by = walk.map(|w| &w.step).filter(|_| i.step.is_none());
            let step = i.step.or(by.map(|_| 0)).filter(|s| s.checked_abs().is_some_and(|s| s < bounds::SAFE));
            let (Some(kind), 1, Some(step), true) = (kind, self.band.len(), step, symbol.is_own_scalar())
            else {
                self.refuse(RefusalKind::Induction(i.symbol), i.update);
                continue;
            };
            let name = symbol.name.clone();
            out.push(InductionPlan {
                symbol: i.symbol,
                kind,
                step,
                by: by.map(|e| (self.host_name(&format!("by_{name}")), e.clone())),
                start_name: self.host_name(&format!("start_{name}")),
            });
        }
        out
    }

    /// What the outermost loop's header sets before the first iteration: there the host finds their values.
    pub(super) fn first_values(&mut self) -> BTreeMap<SymbolId, TermId> {
        let body = self.body;
        let mut out = BTreeMap::new();
        let init = body.loop_parts(self.target).and_then(|p| p.init);
        let mut stack: Vec<TermId> = init.into_iter().collect();
        while let Some(t) = stack.pop() {
            match (body.op(t), body.args(t)) {
                (Op::Declare(s), &[init]) => {
                    out.insert(*s, init);
                }
                (Op::List | Op::Comma, parts) => stack.extend(parts),
                (Op::Assign, &[place, value]) => {
                    if let Some(s) = body.as_symbol(place) {
                        out.insert(s, value);
                    }
                }
                _ => {}
            }
        }
        let set: Vec<SymbolId> = out.keys().copied().collect();
        // One that is set from another of them cannot be computed from what the host sees.
        for (&s, &t) in &out {
            let entangled =
                set.iter().any(|&o| mentions(body, t, o)) || body.walk(t).any(|x| body.op(x).is_write());
            let matters = self.band.first().is_none_or(|b| b.1.index != s);
            if entangled && matters {
                self.refuse(RefusalKind::Induction(s), t);
            }
        }
        out
    }

    pub(super) fn finals(&mut self, positive: &[Expr]) -> Vec<FinalValue> {
        let body = self.body;
        let mut out: Vec<FinalValue> = Vec::new();
        for Final { symbol, value } in &self.input.offload.finals {
            let ty = body.symbols[*symbol].ty;
            let is_walk = self.input.offload.walks.iter().any(|w| w.symbol == *symbol);
            let Some(kind) = body.types.as_int(ty).or(is_walk.then_some(IntKind::LongLong)) else {
                self.refuse(RefusalKind::Unclassified(*symbol), self.target);
                continue;
            };
            let declared_here = self.band.iter().any(|b| b.1.index == *symbol && b.1.declared_here);
            if declared_here || out.iter().any(|f| f.symbol == *symbol) {
                continue;
            }
            out.push(FinalValue { symbol: *symbol, value: simplify::under(value, positive), kind });
        }
        out
    }
}

/// What holds an accumulator's value when an update begins: itself, and a variable that it is copied into (`t = s; s = t > e ? t : e;`).
pub(super) fn holders(body: &Body, r: &analysis::Reduction) -> Vec<TermId> {
    let copies = r.updates.iter().filter_map(|&u| match (body.op(u), body.args(u)) {
        (Op::Assign, &[to, of]) if body.same(of, r.place) => Some(to),
        _ => None,
    });
    std::iter::once(r.place).chain(copies).collect()
}

/// How an update treats NaN; `None` if it is not known.
fn min_max_form(body: &Body, update: TermId, holders: &[TermId]) -> Option<MinMaxForm> {
    let strip = |mut t: TermId| {
        while *body.op(t) == Op::Cast {
            t = *body.args(t).first()?;
        }
        Some(t)
    };
    let is_s = |t: TermId| strip(t).is_some_and(|t| holders.iter().any(|&h| body.same(t, h)));
    let compares =
        |c: TermId| matches!(body.op(c), Op::Binary(BinOp::Lt | BinOp::Le | BinOp::Gt | BinOp::Ge));
    let args = body.args(update);
    match body.op(update) {
        // `if (x < m) m = x;`: the assignment needs a true comparison, which no NaN gives.
        Op::If if args.len() == 2 && compares(args[0]) => Some(MinMaxForm::Compare),
        Op::Assign | Op::Declare(_) => {
            let value = strip(*args.last()?)?;
            match body.op(value) {
                Op::Select => {
                    let parts = body.args(value);
                    match (compares(*parts.first()?), is_s(*parts.get(1)?), is_s(*parts.get(2)?)) {
                        (true, false, true) => Some(MinMaxForm::Compare),
                        (true, true, false) => Some(MinMaxForm::Ordered),
                        _ => None,
                    }
                }
                Op::Call => Some(MinMaxForm::Function),
                _ => None,
            }
        }
        _ => None,
    }
}
