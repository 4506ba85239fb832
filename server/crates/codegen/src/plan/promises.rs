//! What a plan rests on that elements of arrays are: the user's promises, those that the host can test and those that it takes, and
//! arrays that must be sorted.

use analysis::{Condition, ConditionKind, Expr, MetBy, Param};
use term::{Storage, TermId};

use super::build::Builder;
use super::{BufferPlan, Note, TestKind};

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
