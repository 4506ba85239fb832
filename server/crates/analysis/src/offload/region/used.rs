//! Which parts of arrays a region's nests use, which of these surely, and what makes sure of it.

use std::collections::BTreeSet;

use term::{Op, SymbolId, TermId};

use super::{memory, Use, Walk};
use crate::flow::counted_loop::has_jump;
use crate::offload::touched::{touched, TouchedParts};
use crate::{Buffer, Condition, Pred, Surely};

impl Walk<'_> {
    /// What parts of arrays a statement uses. `is_sure`: whether it is surely come to; the answer is whether what is behind it
    /// is. `is_first`: whether nothing has been set before.
    pub(super) fn used(
        &mut self,
        t: TermId,
        is_sure: bool,
        is_first: bool,
        wanted: &BTreeSet<SymbolId>,
    ) -> bool {
        let body = self.body;
        if let Some((id, offload)) = self.nest(t) {
            if is_sure {
                self.runs.insert(*id);
                let runs = offload.max_trips.iter().filter(|e| self.is_fixed_expr(e));
                let runs: Vec<Surely> = runs.map(|e| Surely::Positive(e.clone())).collect();
                self.add_sure(runs);
            }
            for b in memory(body, offload).filter(|b| wanted.contains(&b.symbol)) {
                let is_plain = b.extent.is_none() && b.rows.is_none();
                let known = is_sure && (is_plain || self.is_fixed_buffer(b));
                if self.declared.contains(&b.symbol) {
                    let whole = Buffer { extent: None, ..b.clone() };
                    let used = Use { buffer: whole, nest: Some(*id), is_sure: false };
                    self.uses.entry(b.symbol).or_default().push(used);
                    continue;
                }
                if b.extent.is_some() && (!known || self.exchanged.contains(&b.symbol)) {
                    self.tested.push((*id, b.symbol));
                }
                let used = Use { buffer: b.clone(), nest: Some(*id), is_sure: known };
                self.uses.entry(b.symbol).or_default().push(used);
            }
            return is_sure;
        }
        if let Some(known) = self.known.get(&t) {
            // it stands so only where this holds, which has to be told before
            let fixed =
                known.conditions.iter().all(|c| c.check.as_ref().is_some_and(|p| self.is_fixed_pred(p)));
            if !fixed {
                self.untold = self.untold.or(Some(t));
            }
            let new = known.conditions.iter().filter(|c| fixed && !self.conditions.contains(c)).cloned();
            let new: Vec<Condition> = new.collect();
            self.conditions.extend(new);
        }
        let known = self.known.get(&t).filter(|_| is_sure && self.exchanged.is_empty());
        if let Some(known) = known {
            let rest = self.take(known.clone(), wanted);
            if rest.is_empty() {
                return !has_jump(body, t);
            }
        }
        match body.op(t) {
            Op::List => {
                let mut sure = is_sure;
                for (k, &a) in body.args(t).iter().enumerate() {
                    sure = self.used(a, sure, is_first && k == 0, wanted);
                }
                sure
            }
            Op::If => {
                body.args(t).iter().skip(1).for_each(|&a| {
                    self.used(a, false, false, wanted);
                });
                is_sure && !has_jump(body, t) && !self.exchanges(t)
            }
            op if op.is_loop() => {
                self.used_by_loop(t, is_sure, is_first, wanted);
                is_sure && !self.exchanges(t)
            }
            _ => is_sure && !has_jump(body, t) && !self.exchanges(t),
        }
    }

    /// Notes parts that are surely used; the answer is of which arrays they say nothing.
    fn take(&mut self, found: TouchedParts, wanted: &BTreeSet<SymbolId>) -> BTreeSet<SymbolId> {
        let mut rest = wanted.clone();
        let TouchedParts { buffers, conditions } = found;
        let fixed = conditions.iter().all(|c| c.check.as_ref().is_some_and(|p| self.is_fixed_pred(p)));
        for b in buffers.into_iter().filter(|b| wanted.contains(&b.symbol)) {
            if fixed && self.is_fixed_buffer(&b) {
                rest.remove(&b.symbol);
                self.uses.entry(b.symbol).or_default().push(Use { buffer: b, nest: None, is_sure: true });
            }
        }
        let needed = rest.len() < wanted.len();
        let new = conditions.into_iter().filter(|c| needed && !self.conditions.contains(c));
        let new: Vec<Condition> = new.collect();
        self.conditions.extend(new);
        rest
    }

    /// Whether a name stands for other memory after a statement.
    fn exchanges(&self, t: TermId) -> bool {
        let body = self.body;
        let sets = |x: TermId| {
            *body.op(x) == Op::Assign && body.args(x).first().is_some_and(|&p| self.is_pointer(p))
        };
        body.walk(t).any(sets)
    }

    pub(super) fn used_by_loop(
        &mut self,
        t: TermId,
        is_sure: bool,
        is_first: bool,
        wanted: &BTreeSet<SymbolId>,
    ) {
        let body = self.body;
        let Some(inner) = body.loop_parts(t).map(|p| p.body) else { return };
        let mut rest = wanted.clone();
        if let Some(id) = self.facts.of_term(t).filter(|_| is_sure && self.exchanged.is_empty()) {
            let outer: BTreeSet<SymbolId> =
                wanted.iter().copied().filter(|s| !self.declared.contains(s)).collect();
            let found = touched(body, self.program, self.facts, id, &outer, self.budget).unwrap_or_default();
            // what the nests use each may be known without a test
            let is_new = |c: &Condition| !self.conditions.contains(c);
            if found.conditions.iter().any(is_new) && self.by_nests(t, is_first, wanted) {
                return;
            }
            rest = self.take(found, wanted);
            if rest.len() < wanted.len() {
                // said once more, in the loop's own words
                let runs = self.first_test(t, is_first).flatten();
                self.add_sure(runs);
            }
        }
        let inside = |s: &SymbolId| {
            let within = self.nests.iter().filter(|n| body.walk(t).any(|x| x == self.facts.loops[n.0].term));
            within.flat_map(|n| memory(body, &n.1)).any(|b| b.symbol == *s)
        };
        rest.retain(inside);
        if !rest.is_empty() {
            self.within_loop(t, inner, [is_sure, is_first], &rest);
        }
    }

    fn within_loop(
        &mut self,
        t: TermId,
        inner: TermId,
        [is_sure, is_first]: [bool; 2],
        wanted: &BTreeSet<SymbolId>,
    ) {
        let runs = match is_sure {
            true => self.first_test(t, is_first),
            false => None,
        };
        let sure = runs.is_some();
        self.add_sure(runs.flatten());
        self.used(inner, sure, false, wanted);
    }

    /// Notes what the nests in a loop use, each by itself, if all of that is surely used and known where the statements begin.
    fn by_nests(&mut self, t: TermId, is_first: bool, wanted: &BTreeSet<SymbolId>) -> bool {
        let Some(inner) = self.body.loop_parts(t).map(|p| p.body) else { return false };
        let mut tried = self.clone();
        tried.within_loop(t, inner, [true, is_first], wanted);
        let before = |s: &SymbolId| self.uses.get(s).map_or(0, Vec::len);
        let new = |s: &SymbolId| tried.uses.get(s).into_iter().flatten().skip(before(s));
        let all_sure = wanted.iter().all(|s| new(s).all(|u| u.is_sure || self.declared.contains(s)));
        let as_many =
            tried.tested.len() == self.tested.len() && tried.conditions.len() == self.conditions.len();
        let found = all_sure && as_many && tried.untold == self.untold;
        if found {
            *self = tried;
        }
        found
    }

    pub(super) fn add_sure(&mut self, more: impl IntoIterator<Item = Surely>) {
        for s in more {
            if !self.sure.contains(&s) {
                self.sure.push(s);
            }
        }
    }

    pub(super) fn is_fixed_pred(&self, p: &Pred) -> bool {
        let mut fixed = true;
        p.params(&mut |p| fixed = fixed && self.is_fixed_param(p));
        fixed
    }

    /// What makes sure that a loop's body runs, if there is such a thing that can be told where the statements begin.
    pub(super) fn first_test(&self, t: TermId, is_first: bool) -> Option<Option<Surely>> {
        let body = self.body;
        let parts = body.loop_parts(t)?;
        if !parts.tests_first {
            return Some(None);
        }
        let condition = parts.condition.filter(|&c| *body.op(c) != Op::Empty);
        let Some(condition) = condition else { return Some(None) };
        let pure = |t: TermId| self.number(t).is_ok() && !body.walk(t).any(|x| body.op(x).is_write());
        let here = |t: TermId| self.is_fixed(t) || is_first && pure(t) && !self.names_declared(t);
        let control = self.facts.of_term(t).and_then(|id| self.facts.loops[id].control.as_ref().ok());
        if let Some(c) = control.filter(|c| !c.pointer && *body.op(t) == Op::For) {
            let own = body.as_symbol(c.lower) == Some(c.index);
            if here(c.lower) && !own && c.bound.is_none_or(here) {
                let (relation, lower, offset, bound) = (c.relation, c.lower, c.offset, c.bound);
                let kind = c.index_type;
                return Some(Some(Surely::Compared { relation, lower, kind, offset, bound }));
            }
        }
        let no_init = *body.op(t) == Op::While;
        (no_init && here(condition)).then_some(Some(Surely::Holds(condition)))
    }

    pub(super) fn names_declared(&self, t: TermId) -> bool {
        self.body.walk(t).any(|x| self.body.as_symbol(x).is_some_and(|s| self.declared.contains(&s)))
    }
}
