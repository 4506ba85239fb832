//! Values the host reads, and limits on them so that nothing overflows.

use std::collections::BTreeMap;

use analysis::{Expr, Param, Pred};
use term::{BinOp, Body, IntKind, Op, TermId};

use super::build::Builder;
use super::support::Support;
use super::{bounds, BufferPlan, Dim, FinalValue, HostValue, Plan, RefusalKind, RowsPlan, Test, TestKind};

impl<'a> Builder<'_, 'a> {
    pub(super) fn values(
        &mut self,
        dims: &[Dim],
        buffers: &[BufferPlan],
        tests: &mut Vec<Test>,
        (finals, steps): (&[FinalValue], &[Expr]),
        support: &Support<'_>,
    ) -> Vec<HostValue> {
        let mut exprs: Vec<Expr> = dims.iter().map(|d| d.trips.clone()).collect();
        exprs.extend(finals.iter().map(|f| f.value.clone()));
        exprs.extend(steps.iter().cloned());
        exprs.extend(self.input.offload.threads.iter().flat_map(|c| c.params.iter().cloned()));
        exprs.extend(buffers.iter().filter_map(|b| b.rows.as_ref()).flat_map(RowsPlan::exprs));
        for b in buffers {
            for (first, last) in b.extent.iter().chain(&b.back) {
                let minus = Expr::Mul(-1, Box::new(first.clone()));
                exprs.push(Expr::Add(vec![last.clone(), minus, Expr::Int(1)]));
            }
        }
        for t in tests.iter() {
            if let TestKind::InRange { low, high, .. } = &t.kind {
                exprs.extend([low.clone(), high.clone()]);
            }
        }
        let preds: Vec<Pred> = tests
            .iter()
            .filter_map(|t| match &t.kind {
                TestKind::Holds(p) => Some(p.clone()),
                TestKind::Back(k) => buffers.get(*k)?.comes_back(),
                _ => None,
            })
            .collect();
        let mut values = self.read_values(&exprs, &preds, support);
        let kinds: BTreeMap<Param, IntKind> = values.iter().map(|v| (v.param, v.kind)).collect();
        let of_type = |p: Param| {
            kinds.get(&p).map_or((-bounds::SAFE * 2, bounds::SAFE * 2), |k: &IntKind| {
                (IntKind::min(*k), IntKind::max(*k))
            })
        };
        let Some((limit, risky)) = limit(&exprs, &preds, &of_type) else {
            self.refuse(RefusalKind::Overflow, self.target);
            return values;
        };
        for v in values.iter_mut().filter(|v| risky.contains(&v.param) && size(of_type(v.param)) > limit) {
            v.limit = Some(limit);
        }
        // What holds for all values that pass needs no test.
        let ranges = limited(&of_type, &risky, limit);
        tests.retain(|t| match &t.kind {
            TestKind::Holds(p) => !bounds::always(p, &ranges),
            TestKind::Back(k) => {
                let has_elements = buffers.get(*k).and_then(BufferPlan::comes_back);
                has_elements.is_some_and(|p| !bounds::always(&p, &ranges))
            }
            _ => true,
        });
        let mut used = Vec::new();
        exprs.iter().for_each(|e| bounds::params(e, &mut used));
        for t in tests.iter() {
            if let TestKind::Holds(p) = &t.kind {
                bounds::pred_params(p, &mut used);
            }
        }
        values.iter_mut().for_each(|v| v.used = used.contains(&v.param));
        values.retain(|v| v.used || v.limit.is_some());
        values
    }

    /// The values that these are made of, which the host reads before anything else.
    fn read_values(&mut self, exprs: &[Expr], preds: &[Pred], support: &Support<'_>) -> Vec<HostValue> {
        let body = self.body;
        let mut params = Vec::new();
        exprs.iter().for_each(|e| bounds::params(e, &mut params));
        preds.iter().for_each(|p| bounds::pred_params(p, &mut params));
        let mut values = Vec::new();
        for p in params {
            let (kind, term) = match p {
                Param::Symbol(s) => {
                    if support.declared.contains_key(&s) {
                        self.refuse(RefusalKind::Unclassified(s), self.target);
                    }
                    (body.types.as_int(body.symbols[s].ty), self.target)
                }
                Param::Term(t) if p.is_truth(body) => (Some(IntKind::Int), t),
                Param::Term(t) => (body.types.as_int(body.ty(t)), t),
                // found by the host
                Param::End { .. } => (Some(IntKind::LongLong), self.target),
                // those of one row stand in what the host goes through
                Param::Row(_) => continue,
                Param::Distance { from, to } => {
                    let element = |t: TermId| body.types.element(body.ty(t)).map(|e| body.types.kind(e));
                    let same = element(from).is_some() && element(from) == element(to);
                    (same.then_some(IntKind::LongLong), from)
                }
            };
            let Some(kind) = kind else {
                self.refuse(RefusalKind::Operation, term);
                continue;
            };
            let first = |t: TermId| self.in_first_header(t);
            let is_safe = |t: TermId| !may_trap(body, t) || first(t) || self.is_in_what_is_read(t, &first);
            let early = match p {
                Param::Symbol(_) | Param::Row(_) | Param::End { .. } => true,
                Param::Term(t) => is_safe(t),
                Param::Distance { from, to } => is_safe(from) && is_safe(to),
            };
            let is_reached = || {
                let reached = |t: TermId| self.always_reached(t);
                reached(term) || self.is_in_what_is_read(term, &reached)
            };
            // Threads may be there for no iteration at all.
            if !early && (self.input.offload.threads.is_some() || !is_reached()) {
                self.refuse(RefusalKind::ReadsTooEarly, term);
            }
            values.push(HostValue { param: p, kind, limit: None, early, used: true });
        }
        values
    }

    /// Whether the term stands in the outermost loop's first value or condition, which are always evaluated.
    pub(super) fn in_first_header(&self, t: TermId) -> bool {
        let Some(parts) = self.body.loop_parts(self.target) else { return false };
        let condition = parts.condition.filter(|_| parts.tests_first);
        let mut at = t;
        while let Some(p) = self.parents[at.0 as usize] {
            if p == self.target {
                return parts.init == Some(at) || condition == Some(at);
            }
            at = p;
        }
        false
    }

    /// Whether the term is evaluated in each iteration of the band, whatever the data.
    pub(super) fn always_reached(&self, t: TermId) -> bool {
        let body = self.body;
        let in_band = |l: TermId| self.band.iter().any(|b| b.0.term == l);
        let skips =
            body.walk(self.target).any(|c| matches!(body.op(c), Op::Continue | Op::Break | Op::Switch));
        let mut at = t;
        while let Some(p) = self.parents[at.0 as usize] {
            let place = body.args(p).iter().position(|&a| a == at).unwrap_or(0);
            let sure = match body.op(p) {
                Op::While => in_band(p) || place == 0,
                Op::If | Op::Select | Op::Binary(BinOp::And | BinOp::Or) => place == 0,
                Op::For => in_band(p) || place < 2,
                Op::List => !skips,
                _ => true,
            };
            if !sure {
                return false;
            }
            if p == self.target {
                return true;
            }
            at = p;
        }
        false
    }
}

impl<'a> Builder<'_, 'a> {
    /// Whether the host may load the place before the loop if the loop runs at all: the loop itself surely loads it,
    /// or surely looks into the structure it lies in.
    pub(super) fn may_load(&self, place: TermId) -> bool {
        let is_shown = |t: TermId| match (self.body.op(t), self.body.args(t)) {
            (Op::Member { arrow: true, .. }, &[p]) => {
                self.body.as_symbol(p).is_some_and(|s| self.shown.contains(&s))
            }
            _ => false,
        };
        let members = |t: &TermId| match (self.body.op(*t), self.body.args(*t)) {
            (Op::Member { arrow: false, .. }, &[of]) => Some(of),
            _ => None,
        };
        if std::iter::successors(Some(place), members).any(is_shown) {
            return true;
        }
        self.is_in_what_is_read(place, &|t| self.in_first_header(t) || self.always_reached(t))
    }

    /// Whether the place, or the structure that it lies in, is read where `reached` says that the loop surely comes.
    fn is_in_what_is_read(&self, place: TermId, reached: &dyn Fn(TermId) -> bool) -> bool {
        let body = self.body;
        let sure = |wanted: &dyn Fn(TermId) -> bool| body.walk(self.target).any(|t| wanted(t) && reached(t));
        let mut at = place;
        for _ in 0..100 {
            if sure(&|t| body.same(t, at)) {
                return true;
            }
            match (body.op(at), body.args(at)) {
                (Op::Sym(_), _) => return true,
                // of a variable of the function's own every part is there
                (Op::Member { arrow: false, .. }, &[b]) => at = b,
                (Op::Member { arrow: true, .. }, &[p]) => {
                    return sure(&|t| {
                        matches!(body.op(t), Op::Member { arrow: true, .. }) && body.same(body.args(t)[0], p)
                    });
                }
                _ => return false,
            }
        }
        false
    }
}

impl Plan<'_> {
    /// Between which numbers an expression's value lies, by the types and limits of the values in it.
    pub(crate) fn range(&self, e: &Expr) -> (i128, i128) {
        let of = |p: Param| {
            let v = self.values.iter().find(|v| v.param == p);
            let range = v.map(|v| (IntKind::min(v.kind), IntKind::max(v.kind)));
            match (range, v.and_then(|v| v.limit)) {
                (Some((low, high)), Some(limit)) => (low.max(-limit), high.min(limit)),
                (Some(range), None) => range,
                (None, _) => (-bounds::SAFE, bounds::SAFE),
            }
        };
        bounds::range(e, &of)
    }
}

/// Whether computing the term may fault: it follows a pointer or divides by something that may be zero.
pub(crate) fn may_trap(body: &Body, term: TermId) -> bool {
    body.walk(term).any(|t| match body.op(t) {
        Op::Index | Op::Deref | Op::Member { arrow: true, .. } | Op::Call => true,
        Op::Binary(BinOp::Div | BinOp::Rem) => {
            body.args(t).get(1).and_then(|&d| body.as_int(d)).is_none_or(|d| d == 0 || d == -1)
        }
        _ => false,
    })
}

/// The largest number in a range, but for its sign.
fn size((lo, hi): (i128, i128)) -> i128 {
    hi.max(-lo)
}

/// Ranges, where the risky values are limited.
fn limited<'r>(
    of_type: &'r impl Fn(Param) -> (i128, i128),
    risky: &'r [Param],
    limit: i128,
) -> impl Fn(Param) -> (i128, i128) + 'r {
    move |p: Param| {
        let (lo, hi) = of_type(p);
        if risky.contains(&p) {
            (lo.max(-limit), hi.min(limit))
        } else {
            (lo, hi)
        }
    }
}

/// The values that take part in something that could overflow, and the largest limit on them that prevents it.
fn limit(
    exprs: &[Expr],
    preds: &[Pred],
    of_type: &impl Fn(Param) -> (i128, i128),
) -> Option<(i128, Vec<Param>)> {
    let natural = |p: Param| size(of_type(p));
    let mut risky = Vec::new();
    for e in exprs {
        if bounds::peak(e, &natural) >= bounds::SAFE {
            bounds::params(e, &mut risky);
        }
    }
    for p in preds {
        if !bounds::always(p, of_type) && bounds::pred_peak(p, &natural) >= bounds::SAFE {
            bounds::pred_params(p, &mut risky);
        }
    }
    if risky.is_empty() {
        return Some((bounds::SAFE * 2, risky));
    }
    let fits = |&limit: &i128| {
        let ranges = limited(of_type, &risky, limit);
        let of = |p: Param| size(ranges(p));
        exprs.iter().all(|e| bounds::peak(e, &of) < bounds::SAFE)
            && preds.iter().all(|p| bounds::always(p, &ranges) || bounds::pred_peak(p, &of) < bounds::SAFE)
    };
    let limit = (12..62).rev().map(|k| 1i128 << k).find(fits)?;
    Some((limit, risky))
}
