//! What the host tests before the launch.

use analysis::{ConditionKind, MetBy, Pred};
use term::{Body, IntKind, Storage, SymbolId, TermId, TypeKind};

use super::build::Builder;
use super::{BufferPlan, Dim, Reason, ReductionPlan, RefusalKind, Scalar, Test, TestKind};
use crate::access::mentions;

impl<'a> Builder<'_, 'a> {
    pub(super) fn tests(
        &mut self,
        buffers: &[BufferPlan],
        scalars: &[Scalar],
        reductions: &[ReductionPlan],
        dims: &[Dim],
    ) -> Vec<Test> {
        let body = self.body;
        let mut tests: Vec<Test> = Vec::new();
        let mut add = |kind: TestKind, meets: Option<ConditionKind>| {
            match tests.iter_mut().find(|t| t.kind == kind) {
                Some(t) => t.meets = t.meets.take().or(meets),
                None => tests.push(Test { kind, meets }),
            };
        };
        for d in dims {
            let Some(condition) = body.loop_parts(d.term).and_then(|p| p.condition) else { continue };
            let Some(bound) = d.bound else { continue };
            let kinds: Vec<IntKind> =
                body.args(condition).iter().filter_map(|&a| body.types.as_int(body.ty(a))).collect();
            let unsigned = kinds.len() == 2 && !kinds[0].common(kinds[1]).signed();
            if unsigned && d.index_type.signed() && body.as_int(d.lower).is_none_or(|v| v < 0) {
                if dims.iter().any(|o| mentions(body, d.lower, o.index)) {
                    self.reasons.push(Reason { kind: RefusalKind::MixedSigns(d.index), term: condition });
                } else {
                    add(TestKind::FirstNotNegative(d.lower), None);
                }
            }
            let bound_signed = body.types.as_int(body.ty(bound)).is_some_and(|k| k.promoted().signed());
            if unsigned && !d.rectangular && bound_signed {
                self.reasons.push(Reason { kind: RefusalKind::MixedSigns(d.index), term: condition });
            }
        }
        // By value first: what comes after may rely on it.
        for c in &self.input.offload.conditions {
            if c.met_by == MetBy::Proof {
                continue;
            }
            match (&c.kind, &c.check, c.met_by) {
                (ConditionKind::NoAlias(..) | ConditionKind::Reassociate(..), _, _) => {}
                (_, Some(Pred::True), _) => {}
                (kind, Some(p), MetBy::RunTimeCheck) => add(TestKind::Holds(p.clone()), Some(kind.clone())),
                _ => self.reasons.push(Reason {
                    kind: RefusalKind::Untestable,
                    term: condition_term(&c.kind, self.target),
                }),
            }
        }
        for s in scalars.iter().filter(|s| matches!(body.types.kind(s.ty), TypeKind::Record(_))) {
            if let Some((bytes, _)) = body.types.size_align(s.ty) {
                add(TestKind::RecordSize { symbol: s.symbol, bytes }, None);
            }
        }
        for (k, b) in buffers.iter().enumerate() {
            let record = matches!(body.types.kind(b.element), TypeKind::Record(_));
            if record || b.constant_count().is_none_or(|c| c <= 0 || c > 1 << 40) {
                add(TestKind::Extent(k), None);
            }
        }
        let at = |s: SymbolId| buffers.iter().position(|b| b.symbol == s);
        let declared_array =
            |s: SymbolId| matches!(body.types.kind(body.symbols[s].ty), TypeKind::Array { .. });
        for c in self.input.offload.conditions.iter().filter(|c| c.met_by != MetBy::Proof) {
            let ConditionKind::NoAlias(a, b) = &c.kind else { continue };
            let kind = match (at(a.symbol), at(b.symbol)) {
                (Some(i), Some(j)) if i != j => TestKind::Apart(i.min(j), i.max(j)),
                (Some(i), None) if is_plain_variable(body, b.symbol) => {
                    TestKind::Outside { symbol: b.symbol, buffer: i }
                }
                (None, Some(j)) if is_plain_variable(body, a.symbol) => {
                    TestKind::Outside { symbol: a.symbol, buffer: j }
                }
                // An accumulator's cell is kept apart below.
                _ if [a, b].iter().any(|o| {
                    at(o.symbol).is_none() && reductions.iter().any(|r| r.cell && r.symbol == o.symbol)
                }) =>
                {
                    continue
                }
                // Neither is used by the kernel: nothing to keep apart.
                (None, None) => continue,
                _ => {
                    self.reasons
                        .push(Reason { kind: RefusalKind::UntestableOverlap(a.symbol), term: self.target });
                    continue;
                }
            };
            add(kind, Some(c.kind.clone()));
        }
        // Each buffer gets a copy of its own: right only if no other shows the same cells and either is written.
        for i in 0..buffers.len() {
            for j in i + 1..buffers.len() {
                let (a, b) = (&buffers[i], &buffers[j]);
                let both_arrays = declared_array(a.symbol) && declared_array(b.symbol);
                if (a.written || b.written) && !both_arrays && !self.restrict_parts(a.symbol, b.symbol) {
                    add(TestKind::Apart(i, j), None);
                }
            }
        }
        let reachable = |s: SymbolId| !body.symbols[s].is_own_scalar();
        for (k, b) in buffers.iter().enumerate().filter(|(_, b)| !declared_array(b.symbol)) {
            for s in scalars.iter().filter(|s| b.written && reachable(s.symbol)) {
                add(TestKind::Outside { symbol: s.symbol, buffer: k }, None);
            }
            for r in reductions.iter().filter(|r| !r.cell && reachable(r.symbol)) {
                add(TestKind::Outside { symbol: r.symbol, buffer: k }, None);
            }
        }
        for kind in self.cell_tests(buffers, scalars, reductions) {
            match kind {
                TestKind::CellInVariable { symbol, .. } if !self.is_addressable(symbol) => self
                    .reasons
                    .push(Reason { kind: RefusalKind::UntestableOverlap(symbol), term: self.target }),
                kind => add(kind, None),
            }
        }
        tests
    }
}

/// A variable that has an address of its own: neither array nor pointed to.
fn is_plain_variable(body: &Body, s: SymbolId) -> bool {
    let symbol = &body.symbols[s];
    matches!(
        symbol.storage,
        Storage::Param(_) | Storage::Local | Storage::StaticLocal | Storage::Global { .. }
    ) && matches!(body.types.kind(symbol.ty), TypeKind::Int(_) | TypeKind::Float(_) | TypeKind::Record(_))
}

fn condition_term(kind: &ConditionKind, otherwise: TermId) -> TermId {
    match kind {
        ConditionKind::NoWrap(t)
        | ConditionKind::Injective(t)
        | ConditionKind::StepSign(t)
        | ConditionKind::Terminates(t)
        | ConditionKind::Bounds { access: t, .. }
        | ConditionKind::InRow { access: t, .. } => *t,
        _ => otherwise,
    }
}
