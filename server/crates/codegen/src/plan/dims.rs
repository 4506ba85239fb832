//! How the loops of the band run: which axis, from where, in what steps.

use analysis::{Expr, Step};
use term::{BinOp, Body, Op, SymbolId, TermId};

use super::build::Builder;
use super::support::Support;
use super::{simplify, Axis, Dim, RefusalKind};
use crate::access::mentions;

impl<'a> Builder<'_, 'a> {
    pub(super) fn dims(&mut self, support: &mut Support<'a>) -> Vec<Dim> {
        let body = self.body;
        let axes = self.axes();
        let band = self.band.clone();
        let mut dims: Vec<Dim> = Vec::new();
        let privates = &self.input.offload.privates;
        for (k, (facts, c)) in band.iter().enumerate() {
            let outer: Vec<SymbolId> = dims.iter().map(|d| d.index).collect();
            let positive: Vec<Expr> = dims.iter().map(|d| d.trips.clone()).collect();
            // `k = j = 0`: the index gets what the other one holds then, which is assigned once, on the host
            let Some(lower) = assigned(body, c.lower) else {
                self.refuse(RefusalKind::Induction(c.index), c.lower);
                continue;
            };
            let varies = |t: TermId| outer.iter().any(|&o| mentions(body, t, o));
            let step_term = match c.step {
                Step::Term { term, .. } => Some(term),
                Step::Const(_) => None,
            };
            let rectangular =
                !varies(lower) && !c.bound.is_some_and(varies) && !step_term.is_some_and(varies);
            // The value an index has before the loop is only there, on the host; so is that of a variable of which
            // each thread has its own, set in the body.
            let own = body.as_symbol(lower) == Some(c.index);
            let shadowed = |t: TermId| privates.iter().any(|p| mentions(body, t, p.symbol));
            // and one that moves with the loop has its first value there
            let moves = |t: TermId| self.input.offload.inductions.iter().any(|i| mentions(body, t, i.symbol));
            let outside = |t: TermId| !varies(t) && (reads_memory(body, t) || shadowed(t) || moves(t));
            let lower_on_host = !c.pointer && (own || outside(lower));
            let step_term = step_term.filter(|_| !c.pointer);
            let step_on_host = step_term.is_some_and(outside);
            // a pointer's first value becomes a position
            let in_kernel = !lower_on_host && !c.pointer;
            let inside = [in_kernel.then_some(lower), step_term.filter(|_| !step_on_host)];
            let bound = c.bound.filter(|_| !rectangular);
            if inside.into_iter().chain([bound]).flatten().any(shadowed) {
                self.refuse(RefusalKind::NotParallel, facts.term);
            }
            if in_kernel {
                support.visit(lower);
            }
            if let (Some(t), false) = (step_term, step_on_host) {
                support.visit(t);
            }
            if !rectangular {
                c.bound.into_iter().for_each(|b| support.visit(b));
                // Inside, trips are counted by the comparison itself.
                if !c.is_plain() {
                    self.refuse(RefusalKind::NotParallel, facts.term);
                }
            }
            let integer = |t: TermId| body.types.as_int(body.ty(t)).is_some();
            if !c.pointer && (!integer(lower) || !c.bound.is_none_or(integer)) {
                self.refuse(RefusalKind::NotParallel, facts.term);
            }
            let downwards = match c.step {
                Step::Const(s) => s < 0,
                Step::Term { negated, .. } => negated,
            };
            let relation = match c.relation {
                BinOp::Ne if downwards => BinOp::Gt,
                BinOp::Ne => BinOp::Lt,
                r => r,
            };
            let index_name = super::naming::word(&body.symbols[c.index].name);
            dims.push(Dim {
                term: facts.term,
                index: c.index,
                index_type: c.index_type,
                axis: axes[k],
                strided: axes[k] != Axis::X,
                rectangular,
                trips: simplify::trips(&self.input.offload.max_trips[k], &positive),
                lower,
                lower_on_host,
                bound: c.bound,
                shift: c.shift,
                moves_inside: !c.header_only,
                pointer: c.pointer,
                relation,
                step: c.step.clone(),
                step_on_host,
                trips_name: self.host_name(&format!("trips_{index_name}")),
                counter_name: self.host_name(&format!("at_{index_name}")),
                lower_name: match c.pointer {
                    true => String::new(),
                    false => self.host_name(&format!("from_{index_name}")),
                },
                step_name: match c.pointer {
                    true => String::new(),
                    false => self.host_name(&format!("by_{index_name}")),
                },
            });
        }
        dims
    }

    /// Which axis each loop of the band runs along: x, whose neighbours are a warp's lanes, is the one that the facts name, or that is
    /// asked for.
    fn axes(&self) -> Vec<Axis> {
        let x =
            self.input.threads.x.unwrap_or(self.input.offload.lanes).min(self.band.len().saturating_sub(1));
        let mut rest = [Axis::Y, Axis::Z].into_iter();
        let mut axes = vec![Axis::X; self.band.len()];
        for k in (0..axes.len()).rev().filter(|&k| k != x) {
            axes[k] = rest.next().unwrap_or(Axis::Z);
        }
        axes
    }
}

/// Whether computing the term reads arrays or structs through pointers, or calls something.
fn reads_memory(body: &Body, term: TermId) -> bool {
    body.walk(term)
        .any(|t| matches!(body.op(t), Op::Index | Op::Deref | Op::Member { .. } | Op::Call | Op::SizeOf))
}

/// What an assignment, or several in one, assigns; the term itself if it is none. `None` where the value is another one
/// than what stands there, or finding it does something.
fn assigned(body: &Body, t: TermId) -> Option<TermId> {
    if !matches!(body.op(t), Op::Assign) {
        return Some(t);
    }
    let &[place, value] = body.args(t) else { return None };
    let value = assigned(body, value)?;
    let kind = body.types.as_int(body.ty(place))?;
    match body.as_int(value) {
        Some(v) => (kind.wrap(v) == v).then_some(value),
        None => {
            let target = body.as_symbol(place)?;
            let plain = body
                .walk(value)
                .all(|x| matches!(body.op(x), Op::Sym(_) | Op::Int(_) | Op::Binary(_) | Op::Unary(_)));
            let same = body.types.as_int(body.ty(value)) == Some(kind);
            (same && plain && !mentions(body, value, target)).then_some(value)
        }
    }
}
