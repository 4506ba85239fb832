//! What a plan rests on that elements of arrays are: the user's promises, those that the host can test and those that it takes, and
//! arrays that must be sorted. Those of a region's nests are made once, where it begins.

use analysis::{Condition, ConditionKind, Expr, LoopId, MetBy, Param, Region, RegionArray};
use term::{Storage, SymbolId, TermId};

use super::build::Builder;
use super::{BufferPlan, Note, Plan, Test, TestKind};

impl<'a> Builder<'_, 'a> {
    /// Each promise with the test of it, where there is one: a walk over an array of integers that is copied anyway.
    pub(super) fn promised(&self, buffers: &[BufferPlan]) -> Vec<(ConditionKind, Option<TestKind>)> {
        let assumed = self.input.offload.conditions.iter().filter(|c| c.met_by == MetBy::Assumed);
        assumed.map(|c| (c.kind.clone(), self.promise_test(c, buffers))).collect()
    }

    /// The tests of arrays that must be sorted, or hold no more than there is room for; `None`: one is not copied, and the host does not see what the loop reads of it.
    pub(super) fn sorted(&self, buffers: &[BufferPlan]) -> Option<Vec<(ConditionKind, TestKind)>> {
        let wanted = self.input.offload.conditions.iter().filter(|c| c.met_by != MetBy::Proof);
        let asked =
            wanted.filter(|c| matches!(c.kind, ConditionKind::Sorted(_) | ConditionKind::AtMost { .. }));
        let test = |c: &Condition| match c.kind {
            ConditionKind::AtMost { array, term, number } => {
                let buffer = self.numbers(array, buffers)?;
                let kind = self.body.types.as_int(buffers.get(buffer)?.element)?;
                let most = term.map_or(Expr::Int(number.into()), |t| self.promised_value(t));
                // what is far below zero means no cells, and no bound of it is to be written
                let low = Expr::Int(kind.min().max(-(1 << 62)));
                Some(TestKind::InRange { buffer, low, high: Expr::Add(vec![most, Expr::Int(1)]) })
            }
            ConditionKind::Sorted(array) => Some(TestKind::Sorted(self.numbers(array, buffers)?)),
            _ => None,
        };
        asked.map(|c| Some((c.kind.clone(), test(c)?))).collect()
    }

    /// The buffer that an array of integers is copied by.
    fn numbers(&self, array: TermId, buffers: &[BufferPlan]) -> Option<usize> {
        let body = self.body;
        let symbol = body.array_symbol(array)?;
        buffers.iter().position(|b| b.symbol == symbol && body.types.as_int(b.element).is_some())
    }

    fn promise_test(&self, c: &Condition, buffers: &[BufferPlan]) -> Option<TestKind> {
        let numbers = |array: TermId| self.numbers(array, buffers);
        match c.kind {
            ConditionKind::InRange { array, low, high } => {
                let (low, high) = (self.promised_value(low), self.promised_value(high));
                Some(TestKind::InRange { buffer: numbers(array)?, low, high })
            }
            ConditionKind::Injective(array) => Some(TestKind::Distinct(numbers(array)?)),
            _ => None,
        }
    }

    /// A value that the host reads before the loop.
    fn promised_value(&self, t: TermId) -> Expr {
        let body = self.body;
        if let Some(v) = body.as_int(t) {
            return Expr::Int(v);
        }
        match body.as_symbol(t).map(|s| (s, &body.symbols[s].storage)) {
            Some((_, Storage::Constant(v))) => Expr::Int(*v),
            Some((s, _)) => Expr::Param(Param::Symbol(s)),
            // the loop's own term, if it has one: then it is evaluated where the loop does
            None => {
                let own = body.walk(self.target).find(|&x| body.same(x, t));
                Expr::Param(Param::Term(own.unwrap_or(t)))
            }
        }
    }

    /// The tests of elements that a region makes once for its nests, where it begins.
    pub(super) fn made_once(&self, region: &Region, nests: &[Plan<'_>], buffers: &[BufferPlan]) -> Vec<Test> {
        let mut out: Vec<Test> = Vec::new();
        for (nest, id) in nests.iter().zip(&region.nests) {
            for t in nest.tests.iter().filter(|t| nest.is_made_once(region, *id, &t.kind)) {
                let Some(kind) = nest.of_region(&t.kind, buffers) else { continue };
                if !out.iter().any(|o| o.kind == kind) {
                    out.push(Test { kind, meets: t.meets.clone() });
                }
            }
        }
        out
    }

    /// What nobody tests. That two arrays are apart is tested of every two that are copied.
    pub(super) fn relied_on(&self, buffers: &[BufferPlan]) -> Vec<Note> {
        let is_copied = |s| buffers.iter().any(|b| b.symbol == s);
        let untested = self.promised(buffers).into_iter().filter(|(kind, test)| match kind {
            ConditionKind::NoAlias(a, b) => !is_copied(a.symbol) || !is_copied(b.symbol),
            _ => test.is_none(),
        });
        untested.map(|(kind, _)| Note::Promise(kind)).collect()
    }
}

impl Plan<'_> {
    /// Of a nest of a region: whether a test of elements is the same wherever the region's statements run, and where they begin. The
    /// array is there as the nest uses it, nothing writes it, and the numbers it is held to stay what they are.
    pub(super) fn is_made_once(&self, region: &Region, id: LoopId, test: &TestKind) -> bool {
        let (TestKind::InRange { buffer, .. } | TestKind::Distinct(buffer) | TestKind::Sorted(buffer)) = test
        else {
            return false;
        };
        let Some(b) = self.buffers.get(*buffer) else { return false };
        let is_kept = |a: &RegionArray| {
            let moves = region.exchanged.iter().any(|e| e.symbol == a.buffer.symbol);
            !a.own && !a.late && !a.buffer.written && a.buffer.rows.is_none() && !moves
        };
        let is_there = !region.tested.contains(&(id, b.symbol));
        let mut arrays = region.arrays.iter().filter(|a| a.buffer.symbol == b.symbol);
        let stays = |s: SymbolId| region.scalars.iter().any(|k| k.symbol == s && !k.set);
        let is_fixed = |e: &Expr| {
            let mut used = Vec::new();
            super::expr_params(e, &mut used);
            used.iter().all(|p| match p {
                Param::Symbol(s) => stays(*s) && !self.first_values.contains_key(s),
                _ => false,
            })
        };
        let numbers = match test {
            TestKind::InRange { low, high, .. } => is_fixed(low) && is_fixed(high),
            _ => true,
        };
        is_there && numbers && arrays.next().is_some_and(is_kept)
    }

    /// A test of elements for the region's own list of arrays.
    fn of_region(&self, test: &TestKind, buffers: &[BufferPlan]) -> Option<TestKind> {
        let theirs = |k: &usize| {
            let symbol = self.buffers.get(*k)?.symbol;
            buffers.iter().position(|b| b.symbol == symbol)
        };
        Some(match test {
            TestKind::InRange { buffer, low, high } => {
                TestKind::InRange { buffer: theirs(buffer)?, low: low.clone(), high: high.clone() }
            }
            TestKind::Distinct(k) => TestKind::Distinct(theirs(k)?),
            TestKind::Sorted(k) => TestKind::Sorted(theirs(k)?),
            _ => return None,
        })
    }
}
