//! What is known of the parameters before anything of the root is read: the ranges of indices of loops around it, and the ranges
//! that types give.

use term::device::Index;
use term::{BinOp, Op, Storage, SymbolId, TermId};

use crate::algebra::poly::{Constraint, Poly, VarKind};
use crate::flow::counted_loop;
use crate::nest::builder::Builder;
use crate::nest::pieces::compare;
use crate::{Control, Param, Step};

impl Builder<'_> {
    /// Ranges of outer indices, where they are affine in what is fixed.
    pub(super) fn read_context(&mut self, enclosing: &[(TermId, Option<Control>)]) {
        for (t, control) in enclosing {
            let Some(c) = control else { continue };
            // Elsewhere than in a plain header the index may have moved when the root is reached.
            let (true, Some(bound_term)) = (c.is_plain(), c.bound) else { continue };
            // of a structure that is the function's own a part is changed by name, and is seen here
            let moving = self.effects.changes_in(*t);
            let steady = |m: &Builder<'_>, e: TermId| {
                // what others reach they may change through a pointer
                let is_own = |s: SymbolId| {
                    let v = &m.body.symbols[s];
                    v.is_own_scalar()
                        || matches!(v.storage, Storage::Constant(_))
                        || v.storage.is_of_call() && !v.address_taken
                        || !m.effects.writes_memory(*t)
                };
                m.body.walk(e).all(|x| match m.body.op(x) {
                    Op::Sym(s) => is_own(*s) && !moving.contains(s),
                    Op::Int(_) | Op::Binary(_) | Op::Unary(_) | Op::Cast => true,
                    Op::Member { arrow, .. } => !arrow,
                    _ => false,
                })
            };
            let index = Poly::var(self.param(Param::Symbol(c.index)));
            // A wrapping index, or a comparison that converts, may leave the plain range.
            let kind = c.index_type;
            let never_wraps = self.body.arithmetic(*t).is_exact(kind)
                || (c.step == Step::Const(1) && c.relation == BinOp::Lt);
            let plain = |m: &Builder<'_>, e: TermId| {
                m.body.types.as_int(m.body.ty(e)).is_some_and(|k| k.signed() == kind.signed())
                    || counted_loop::constant(m.body, e).is_some_and(|v| v >= 0)
            };
            if !never_wraps {
                continue;
            }
            let saved = std::mem::take(&mut self.obligations);
            if steady(self, c.lower) && plain(self, c.lower) {
                if let (Some(lower), Step::Const(step)) = (self.plain_value(c.lower), &c.step) {
                    let d = if *step > 0 { index.sub(&lower) } else { lower.sub(&index) };
                    if let Some(d) = d.and_then(|d| self.linear(&d)) {
                        self.premises.context.push(Constraint::non_negative(d));
                    }
                }
            }
            if steady(self, bound_term) && plain(self, bound_term) && c.relation != BinOp::Ne {
                if let Some(bound) = self.plain_value(bound_term) {
                    let d = compare(c.relation, &index, &bound);
                    for piece in d.pieces.into_iter().take(1) {
                        for k in piece {
                            if let Some(p) = self.linear(&k.poly) {
                                self.premises.context.push(Constraint { poly: p, equality: k.equality });
                            }
                        }
                    }
                }
            }
            // A conversion that might not keep the value makes the range unsure; then it is not known.
            if !self.obligations.is_empty() {
                self.premises.context.clear();
                self.premises.differs.clear();
            }
            self.obligations = saved;
        }
    }

    /// Value ranges that unsigned parameter types give.
    pub(super) fn type_ranges(&mut self) {
        for (v, kind) in (0..).zip(self.vars.kinds()) {
            if let VarKind::Param(p) = kind {
                if p.is_truth(self.body) {
                    let truth = Poly::var(v);
                    let below = truth.scale(-1).and_then(|p| p.add_constant(1));
                    let both = below.into_iter().chain([truth]);
                    self.premises.context.extend(both.map(Constraint::non_negative));
                    continue;
                }
                let ty = match p {
                    Param::Symbol(s) => self.body.symbols[*s].ty,
                    Param::Term(t) => self.body.ty(*t),
                    Param::Distance { .. } | Param::Row(_) | Param::Longest(_) | Param::End { .. } => {
                        continue
                    }
                };
                if let Some(kind) = self.body.types.as_int(ty) {
                    if !kind.signed() {
                        // a block, and a grid, has one of each at least
                        let least = i128::from(self.is_extent(p));
                        let above = Poly::var(v).add_constant(-least);
                        self.premises.context.extend(above.map(Constraint::non_negative));
                    }
                    let var = Poly::var(v);
                    let below = var.scale(-1).and_then(|p| p.add_constant(kind.max()));
                    let above = var.add_constant(-kind.min());
                    self.premises.ranges.extend(below.into_iter().chain(above).map(Constraint::non_negative));
                    if kind.bits() <= 16 {
                        let below = Poly::var(v).scale(-1).and_then(|p| p.add_constant(kind.max()));
                        let above = Poly::var(v).add_constant(-kind.min());
                        self.premises
                            .context
                            .extend(below.into_iter().chain(above).map(Constraint::non_negative));
                    }
                }
            }
        }
    }

    /// Whether a parameter is an extent of a launch's blocks or of its grid.
    fn is_extent(&self, p: &Param) -> bool {
        let Param::Term(t) = p else { return false };
        matches!(self.body.index_part(*t), Some((Index::BlockSize | Index::GridSize, _)))
    }
}
