//! Variables that one iteration decides: last values, and extremes with what belongs to them.

use analysis::{Reduction, ReductionOp};
use term::{Op, SymbolId, TermId};

use super::build::Builder;
use super::{Choice, KeyedPlan, KeyedVariable, RefusalKind};

impl<'a> Builder<'_, 'a> {
    pub(super) fn keyed(&mut self) -> Vec<KeyedPlan> {
        let offload = self.input.offload;
        let mut out = Vec::new();
        let kept: Vec<SymbolId> = offload.privates.iter().filter(|p| p.kept).map(|p| p.symbol).collect();
        if !kept.is_empty() {
            let group = self.group(Choice::Last, &kept, Vec::new());
            out.push(group);
        }
        for r in &offload.reductions {
            let s = r.object.symbol;
            match r.op {
                // A private that every iteration writes.
                ReductionOp::Last if r.updates.is_empty() => {}
                ReductionOp::Last => {
                    let marks = r.updates.clone();
                    if !marks.iter().all(|&u| self.is_statement(u)) {
                        self.refuse(RefusalKind::LastValue(s), r.place);
                    }
                    let group = self.group(Choice::Last, &[s], marks);
                    out.push(group);
                }
                ReductionOp::ArgMin { last } | ReductionOp::ArgMax { last } if r.key.is_none() => {
                    let least = matches!(r.op, ReductionOp::ArgMin { .. });
                    let with = offload.reductions.iter().filter(|o| o.key == Some(s));
                    let symbols: Vec<SymbolId> =
                        std::iter::once(s).chain(with.map(|o| o.object.symbol)).collect();
                    let marks: Vec<TermId> =
                        r.updates.iter().filter_map(|&u| self.assignment_to(u, s)).collect();
                    // `if (a[i] < a[k]) k = i;`: a thread has nothing to compare its first element with.
                    if symbols.len() < 2 || marks.len() != r.updates.len() {
                        let called = r.updates.iter().any(|&u| *self.body.op(u) == Op::Call);
                        let cell = RefusalKind::ReductionCell;
                        let kind = if called { RefusalKind::CalledReduction(s) } else { cell };
                        self.refuse(kind, r.place);
                        continue;
                    }
                    let group = self.group(Choice::Extreme { least, last }, &symbols, marks);
                    out.push(group);
                }
                _ => {}
            }
        }
        if !out.is_empty() && self.band.len() != 1 {
            self.refuse(RefusalKind::NotParallel, self.target);
        }
        out
    }

    fn group(&mut self, choice: Choice, symbols: &[SymbolId], marks: Vec<TermId>) -> KeyedPlan {
        let body = self.body;
        let mut variables = Vec::new();
        for &symbol in symbols {
            let v = &body.symbols[symbol];
            let q = body.types.quals(v.ty);
            let plain = body.types.is_arithmetic(v.ty)
                && v.is_own_scalar()
                && v.storage.is_of_call()
                && !(q.is_volatile || q.is_atomic);
            if !plain {
                self.refuse(RefusalKind::LastValue(symbol), self.target);
            }
            let name = v.name.clone();
            variables.push(KeyedVariable {
                symbol,
                ty: v.ty,
                begun: self.input.offload.privates.iter().any(|p| p.symbol == symbol && p.copied_in),
                device_name: self.host_name(&format!("gpu_{name}")),
                partial_name: self.host_name(&format!("part_{name}")),
            });
        }
        let first = symbols.first().map_or_else(String::new, |&s| body.symbols[s].name.to_string());
        KeyedPlan {
            choice,
            variables,
            marks,
            at_name: format!("{}from_{first}", self.prefix),
            device_name: self.host_name(&format!("gpu_at_{first}")),
            partial_name: self.host_name(&format!("part_at_{first}")),
            best_name: self.host_name(&format!("best_{first}")),
        }
    }

    /// Whether the term stands as a statement of its own in a block.
    fn is_statement(&self, t: TermId) -> bool {
        let parent = self.parents.get(t.0 as usize).copied().flatten();
        let Some(p) = parent.filter(|&p| *self.body.op(p) == Op::List) else { return false };
        // A `for` header may be a list as well.
        let grand = self.parents.get(p.0 as usize).copied().flatten();
        !grand.is_some_and(|g| *self.body.op(g) == Op::For && self.body.args(g).first() == Some(&p))
    }

    /// In `if (x < m) { m = x; k = i; }`, the assignment to `m`.
    fn assignment_to(&self, statement: TermId, s: SymbolId) -> Option<TermId> {
        let body = self.body;
        body.walk(statement).find(|&t| {
            *body.op(t) == Op::Assign
                && body.args(t).first().is_some_and(|&p| body.as_symbol(p) == Some(s))
                && self.is_statement(t)
        })
    }
}

/// Whether a reduction is kept with the iteration that decides it.
pub(super) fn is_keyed(r: &Reduction) -> bool {
    matches!(r.op, ReductionOp::ArgMin { .. } | ReductionOp::ArgMax { .. } | ReductionOp::Last)
}
