//! Cells of memory that a loop accumulates in (`*sum += a[i]`), as a stretch's offload reads them: while the loop runs each is an array of
//! one element, begun before the loop and put back behind it, both only where the loop surely uses the cell.

use base::IndexId;
use rustc_hash::FxHashSet;
use term::{BinOp, Body, IntKind, Op, SymbolId, TermId};

use super::alone::Lone;
use crate::calls::inline::written_in;
use crate::flow::counted_loop::{constant, has_jump};
use crate::{Cells, LoopFacts, ReductionOp, Step};

impl Lone<'_> {
    /// Cells of memory that a loop accumulates in: meanwhile each is an array of one element. What begins them goes into the
    /// group before the loop; the answer is what puts them back.
    pub(super) fn accumulated(
        &mut self,
        t: TermId,
        around: [Option<TermId>; 2],
        group: &mut Vec<TermId>,
        out: &mut Vec<TermId>,
    ) -> Vec<TermId> {
        let (body, facts) = (self.body, self.facts);
        let Some(l) = self.nests.iter().map(|&id| &facts.loops[id]).find(|l| l.term == t) else {
            return Vec::new();
        };
        let mut behind = Vec::new();
        let of_memory = |r: &&crate::Reduction| {
            let plain =
                !matches!(r.op, ReductionOp::ArgMin { .. } | ReductionOp::ArgMax { .. } | ReductionOp::Last);
            r.cells == Cells::One && plain && r.key.is_none() && body.types.is_arithmetic(r.ty)
        };
        for r in l.reductions.iter().filter(of_memory) {
            if !matches!(body.op(r.place), Op::Index | Op::Deref | Op::Member { .. }) {
                continue;
            }
            let is_place = |x: TermId| body.same(x, r.place);
            let surely =
                |t: TermId| *body.op(t) != Op::If && !body.op(t).is_loop() && body.walk(t).any(is_place);
            let beside = around.into_iter().flatten().any(surely);
            let places: Vec<TermId> = body.walk(t).filter(|&x| is_place(x)).collect();
            let Some(runs) = places.iter().find_map(|&x| self.comes_to(l, x, beside)) else { continue };
            let cell = self.cell(&format!("sum_of_{}", body.symbols[r.object.symbol].name), r.ty);
            out.push(self.void(Op::Declare(cell), Vec::new(), t));
            let (before, after) = (self.copy(r.place), self.copy(r.place));
            for x in places {
                let at = self.at_cell(cell, x);
                self.become_term(x, at);
            }
            let set = |lone: &mut Self, place: TermId, value: TermId| {
                let set = lone.term(Op::Assign, vec![place, value], r.ty, t);
                runs.iter().rev().fold(set, |inner, &runs| {
                    let runs = lone.copy(runs);
                    let block = lone.void(Op::List, vec![inner], t);
                    lone.void(Op::If, vec![runs, block], t)
                })
            };
            let at = self.at_cell(cell, t);
            let begin = set(self, at, before);
            group.push(begin);
            let at = self.at_cell(cell, t);
            behind.push(set(self, after, at));
            self.any = true;
        }
        behind
    }

    /// What says that a place in the loop is come to: that this and that loop around it run; none of them where they always do, or something
    /// beside the loop uses the same cell. `None`: not known. What a run does not come to must not be read.
    fn comes_to(&mut self, l: &LoopFacts, place: TermId, beside: bool) -> Option<Vec<TermId>> {
        let (body, facts) = (self.body, self.facts);
        if beside {
            return Some(Vec::new());
        }
        if has_jump(body, body.loop_parts(l.term)?.body) {
            return None;
        }
        let mut all = Vec::new();
        let (changes, parents) = (written_in(body, l.term), body.parents());
        let mut at = place;
        while at != l.term {
            let around = parents[at.index()]?;
            let first = body.args(around).first() == Some(&at);
            match body.op(around) {
                // the last operands of these are left out at times
                Op::If | Op::Select | Op::Switch if !first => return None,
                Op::Binary(op) if op.is_logical() && !first => return None,
                op if op.is_loop() => {
                    let inner = facts.loops.iter().find(|x| x.term == around)?;
                    let inside = body.loop_parts(around).is_some_and(|p| p.body == at);
                    let control = inner.control.as_ref().ok().filter(|_| inside)?;
                    let ends = [Some(control.lower), control.bound];
                    let fixed = |&t: &TermId| around == l.term || is_fixed(body, t, &changes);
                    if !ends.iter().flatten().all(fixed) {
                        return None;
                    }
                    all.extend(self.runs(inner)?);
                }
                _ => {}
            }
            at = around;
        }
        all.reverse();
        Some(all)
    }

    /// What says that a counted loop runs; nothing, where it always does. `None`: not known.
    fn runs(&mut self, l: &LoopFacts) -> Option<Option<TermId>> {
        let control = l.control.as_ref().ok()?;
        if control.pointer || !matches!(control.step, Step::Const(_)) {
            return None;
        }
        let numbers =
            control.bound.map_or(Some(0), |b| constant(self.body, b)).zip(constant(self.body, control.lower));
        let always = numbers.is_some_and(|(bound, lower)| match control.relation {
            BinOp::Lt => lower + control.offset < bound,
            BinOp::Le => lower + control.offset <= bound,
            _ => false,
        });
        if always {
            return Some(None);
        }
        let bound = control.bound.filter(|_| control.offset == 0)?;
        let int = self.b.types.int(IntKind::Int);
        let (lower, bound) = (self.copy(control.lower), self.copy(bound));
        Some(Some(self.term(Op::Binary(control.relation), vec![lower, bound], int, l.term)))
    }
}

/// Whether a term is made of numbers that the loop does not change.
fn is_fixed(body: &Body, t: TermId, changes: &FxHashSet<SymbolId>) -> bool {
    body.walk(t).all(|x| match body.op(x) {
        Op::Sym(s) => {
            let symbol = &body.symbols[*s];
            symbol.is_own_scalar() && !changes.contains(s) && body.types.as_int(symbol.ty).is_some()
        }
        Op::Int(_) | Op::Cast | Op::Unary(_) | Op::Binary(_) => true,
        _ => false,
    })
}
