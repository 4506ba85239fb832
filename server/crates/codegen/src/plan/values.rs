//! Values the host reads, and limits on them so that nothing overflows.

use std::collections::BTreeMap;

use analysis::{Condition, ConditionKind, Expr, MetBy, Param, Pred};
use term::{BinOp, Body, IntKind, Op, SymbolId, TermId, TypeKind};

use super::build::Builder;
use super::support::Support;
use super::{bounds, BufferPlan, Dim, FinalValue, Plan, RefusalKind, RowsPlan, Test, TestKind};
use crate::access::mentions;

/// An invariant value, read once on the host as a 64-bit integer.
#[derive(Clone, PartialEq, Debug)]
pub struct HostValue {
    pub param: Param,
    /// The value's own type.
    pub kind: IntKind,
    /// Largest magnitude for which no expression of the plan overflows, if its type allows more.
    pub limit: Option<i128>,
    /// Whether it may be read although the loop does not run.
    pub early: bool,
    /// Whether it may be read only where the [`Guard`]s hold, too.
    pub guarded: bool,
    /// Whether an expression needs it; otherwise only its limit matters.
    pub used: bool,
}

/// What must hold for the loop to come to where it reads what the host reads before it.
#[derive(Clone, PartialEq, Debug)]
pub enum Guard {
    /// A loop inside has an iteration, whichever iteration comes to it: the first value of its index is compared with its bound.
    Enters { lower: TermId, relation: BinOp, bound: TermId },
    /// What is asserted before holds.
    Asserted(Pred),
}

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
                Param::End { .. } | Param::Longest(_) => (Some(IntKind::LongLong), self.target),
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
            let is_safe = |t: TermId| {
                let computed = first(t) || self.is_computed_before(t);
                !may_trap(body, t) || computed || self.is_in_what_is_read(t, &first)
            };
            let early = match p {
                Param::Symbol(_) | Param::Row(_) | Param::Longest(_) | Param::End { .. } => true,
                Param::Term(t) => is_safe(t),
                Param::Distance { from, to } => is_safe(from) && is_safe(to),
            };
            let is_reached = |reached: &dyn Fn(TermId) -> bool| {
                let reached = |t: TermId| self.is_as_before(term, t) && reached(t);
                reached(term) || self.is_in_what_is_read(term, &reached)
            };
            // Threads may be there for no iteration at all.
            let any_iteration = self.input.offload.threads.is_none();
            let surely = early || any_iteration && is_reached(&|t| self.always_reached(t));
            let guarded = !surely && any_iteration && is_reached(&|t| self.reached_where_guarded(t));
            if !surely && !guarded {
                self.refuse(RefusalKind::ReadsTooEarly, term);
            }
            values.push(HostValue { param: p, kind, limit: None, early, guarded, used: true });
        }
        values
    }

    /// Whether the term, made of the function's own numbers, was computed before the loop whatever way led there, when these were what
    /// they are now: it would have trapped then.
    fn is_computed_before(&self, t: TermId) -> bool {
        let body = self.body;
        let plain = body.walk(t).all(|x| match body.op(x) {
            Op::Sym(s) => body.symbols[*s].is_own_scalar(),
            Op::Int(_) | Op::Cast => true,
            Op::Binary(op) => !op.is_logical(),
            _ => false,
        });
        let writes = |e: TermId| {
            body.walk(e).any(|x| {
                let set = match body.op(x) {
                    Op::Declare(s) => Some(*s),
                    op if op.is_write() => body.args(x).first().and_then(|&p| body.as_symbol(p)),
                    _ => None,
                };
                set.is_some_and(|s| mentions(body, t, s))
            })
        };
        let leads_in = |e: TermId| {
            let jumps =
                |x: TermId| matches!(body.op(x), Op::Label(_) | Op::Case | Op::Default | Op::Reject(_));
            body.walk(e).any(jumps)
        };
        // evaluated whenever the statement is
        let is_of = |statement: TermId| {
            let mut at = t;
            while at != statement {
                let Some(p) = self.parents[at.0 as usize] else { return false };
                let sure = match body.op(p) {
                    Op::Declare(_) | Op::Assign | Op::Comma | Op::Unary(_) | Op::Cast => true,
                    Op::Binary(op) => !op.is_logical(),
                    _ => false,
                };
                if !sure {
                    return false;
                }
                at = p;
            }
            true
        };
        let mut at = self.target;
        while let Some(p) = self.parents[at.0 as usize].filter(|_| plain) {
            if *body.op(p) == Op::List {
                let before: Vec<TermId> = body.args(p).iter().copied().take_while(|&a| a != at).collect();
                for b in before.into_iter().rev() {
                    if writes(b) || leads_in(b) {
                        return false;
                    }
                    if is_of(b) {
                        return true;
                    }
                }
            } else if writes(p) || leads_in(p) {
                return false;
            }
            at = p;
        }
        false
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
        self.reached(t, &mut |_| false)
    }

    /// Likewise where loops inside have iterations, as the [`Guard`]s say that are noted then.
    fn reached_where_guarded(&self, t: TermId) -> bool {
        let mut guards = Vec::new();
        let reached = self.reached(t, &mut |l| {
            let guard = match self.body.asserted(l) {
                Some(_) => self.asserted_guard(l),
                None => self.guard(l),
            };
            let is_some = guard.is_some();
            guards.extend(guard);
            is_some
        });
        if reached {
            let mut known = self.guards.borrow_mut();
            for g in guards.into_iter().rev() {
                if !known.contains(&g) {
                    known.push(g);
                }
            }
        }
        reached
    }

    /// That an assertion holds, where the host tests it before the loop.
    fn asserted_guard(&self, assertion: TermId) -> Option<Guard> {
        if self.is_managed() {
            return None;
        }
        self.asserted_condition(assertion)?.check.clone().map(Guard::Asserted)
    }

    /// The condition that an assertion is; `None`: it is proved.
    fn asserted_condition(&self, assertion: TermId) -> Option<&'a Condition> {
        let is_it = |c: &&Condition| matches!(c.kind, ConditionKind::Asserted(t) if t == assertion);
        self.input.offload.conditions.iter().filter(|c| c.met_by != MetBy::Proof).find(is_it)
    }

    /// The guard of a loop inside that counts between values which are there when the target begins, and are then what they are where
    /// the first iteration comes to it.
    fn guard(&self, l: TermId) -> Option<Guard> {
        let body = self.body;
        if self.is_managed() {
            return None;
        }
        let parts = body.loop_parts(l).filter(|p| p.tests_first)?;
        let (Op::Binary(relation), &[index, bound]) =
            (body.op(parts.condition?), body.args(parts.condition?))
        else {
            return None;
        };
        let index = body.as_symbol(index)?;
        let lower = match (body.op(parts.init?), body.args(parts.init?)) {
            (Op::Assign, &[to, value]) if body.as_symbol(to) == Some(index) => value,
            (Op::Declare(s), &[value]) if *s == index => value,
            _ => return None,
        };
        let kind = |t: TermId| body.types.as_int(body.ty(t));
        let of_index = body.types.as_int(body.symbols[index].ty)?;
        let signed = |k: Option<IntKind>| k.is_some_and(|k| k.signed());
        // compared as what they are
        let fits_index = |v: i128| (0..=of_index.max().min((1 << 31) - 1)).contains(&v);
        let plain = body.as_int(lower).is_some_and(fits_index)
            || of_index.signed()
                && signed(kind(lower))
                && signed(kind(bound))
                && kind(lower) == Some(of_index);
        let is_range = matches!(relation, BinOp::Lt | BinOp::Le);
        let moves = |s: SymbolId| {
            body.walk(self.target).any(|t| match body.op(t) {
                Op::Declare(d) => *d == s,
                op => op.is_write() && body.args(t).first().and_then(|&p| body.as_symbol(p)) == Some(s),
            })
        };
        let stays = |e: TermId| {
            body.walk(e).all(|t| match body.op(t) {
                Op::Sym(s) => body.symbols[*s].is_own_scalar() && !moves(*s),
                Op::Call | Op::Reject(_) | Op::Apply(_) => false,
                op => !op.is_write(),
            })
        };
        let is_safe =
            |e: TermId| !may_trap(body, e) || self.always_reached(e) && !self.stores_before(l, &|_| true);
        let fits = is_range && plain && kind(bound).is_some() && kind(lower).is_some();
        let is_given = |e: TermId| stays(e) && is_safe(e);
        (fits && is_given(lower) && is_given(bound)).then_some(Guard::Enters {
            lower,
            relation: *relation,
            bound,
        })
    }

    /// Whether an iteration may have written memory when it comes to a term: such places, or calls, of which nobody looks what they
    /// write.
    fn stores_before(&self, l: TermId, counts: &dyn Fn(TermId) -> bool) -> bool {
        let body = self.body;
        let stores = |x: TermId| {
            body.walk(x).any(|t| match body.op(t) {
                // the library's that is given numbers alone keeps to itself
                Op::Call if body.callee(t).is_some_and(|f| body.library.contains(&f)) => {
                    body.args(t).iter().skip(1).any(|&a| !body.types.is_arithmetic(body.ty(a)))
                }
                Op::Call | Op::Reject(_) | Op::Apply(_) => true,
                op if op.is_write() => body.args(t).first().is_none_or(|&p| {
                    let is_own = body.as_symbol(p).is_some_and(|s| body.symbols[s].is_own_scalar());
                    !is_own && counts(p)
                }),
                _ => false,
            })
        };
        let mut at = l;
        while let Some(p) = self.parents[at.0 as usize] {
            if body.args(p).iter().take_while(|&&a| a != at).any(|&a| stores(a)) {
                return true;
            }
            if p == self.target {
                break;
            }
            at = p;
        }
        false
    }

    /// `inner`: whether a loop inside has an iteration, and what is asserted holds.
    fn reached(&self, t: TermId, inner: &mut dyn FnMut(TermId) -> bool) -> bool {
        let body = self.body;
        let in_band = |l: TermId| self.band.iter().any(|b| b.0.term == l);
        let mut at = t;
        while let Some(p) = self.parents[at.0 as usize] {
            let place = body.args(p).iter().position(|&a| a == at).unwrap_or(0);
            let sure = match body.op(p) {
                Op::While => in_band(p) || place == 0,
                Op::If | Op::Select | Op::Switch | Op::Binary(BinOp::And | BinOp::Or) => place == 0,
                Op::For => in_band(p) || place < 2 || place == 3 && inner(p),
                _ => true,
            };
            // the program may end before it comes here
            let before = match (body.op(p), body.args(p)) {
                // a loop's body runs before its step
                (Op::For, args) if place == 2 => args.get(3..4).unwrap_or(&[]),
                (_, args) => args.get(..place).unwrap_or(&[]),
            };
            // a jump before it leads elsewhere
            let sure = sure && !before.iter().any(|&b| analysis::leaves_early(body, b));
            let is_tested = |a: &TermId| body.asserted(*a).is_some() && self.asserted_condition(*a).is_some();
            let asserted: Vec<TermId> = before.iter().flat_map(|&b| body.walk(b)).filter(is_tested).collect();
            if !sure || !asserted.into_iter().rev().all(&mut *inner) {
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
        let is_as_before = |t: TermId| self.is_as_before(place, t);
        let surely = |t: TermId| self.in_first_header(t) || is_as_before(t) && self.always_reached(t);
        self.is_in_what_is_read(place, &surely)
            || self.input.offload.threads.is_none()
                && self.is_in_what_is_read(place, &|t| is_as_before(t) && self.reached_where_guarded(t))
    }

    /// Whether what decides if a place is there, or a division has a value, is before the loop as it is where the first iteration comes
    /// to `at`: it is no memory, or the iteration has written none by then.
    fn is_as_before(&self, place: TermId, at: TermId) -> bool {
        let body = self.body;
        let loads = |t: TermId| {
            body.walk(t).any(|x| {
                matches!(body.op(x), Op::Index | Op::Deref | Op::Member { arrow: true, .. } | Op::Call)
                    || body.as_symbol(x).is_some_and(|s| !body.symbols[s].storage.is_of_call())
            })
        };
        // numbers anything may change; pointers only what is written as one, as characters or as a whole (C11 6.5p7)
        let is_pointer = |t: TermId| matches!(body.types.kind(body.ty(t)), TypeKind::Pointer { .. });
        let (mut pointers, mut numbers) = (false, false);
        for t in body.walk(place) {
            match (body.op(t), body.args(t)) {
                (Op::Index | Op::Deref | Op::Member { arrow: true, .. }, args) => {
                    pointers |= args.iter().any(|&a| is_pointer(a) && loads(a));
                    numbers |= args.iter().any(|&a| !is_pointer(a) && loads(a));
                }
                (Op::Binary(BinOp::Div | BinOp::Rem), &[_, by]) => numbers |= loads(by),
                _ => {}
            }
        }
        let is_number = |t: TermId| match body.types.kind(body.ty(t)) {
            TypeKind::Int(k) => k.bits() > 8,
            TypeKind::Float(_) => true,
            _ => false,
        };
        !(numbers && self.stores_before(at, &|_| true)
            || pointers && self.stores_before(at, &|t| !is_number(t)))
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
