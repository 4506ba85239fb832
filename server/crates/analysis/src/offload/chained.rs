//! Whether what a search reads decides what else it reads: `x[col[k]]` for `k` from `row[i]`, where `x` is looked for.
//!
//! One that does not reads the same places whatever stands in them, so that nothing goes wrong before it is known whether the loop
//! overwrites them.

use rustc_hash::FxHashSet;
use term::{BinOp, Body, Op, SymbolId, TermId};

use super::search::named;
use crate::SearchStep;

/// Whether elements that the steps read decide which others they read, or how often they go round.
pub(super) fn is_chained(body: &Body, steps: &[SearchStep]) -> bool {
    Chain { body, tainted: FxHashSet::default() }.is_in(steps)
}

/// Follows what elements that were read decide.
struct Chain<'b> {
    body: &'b Body,
    /// Variables that hold something of them.
    tainted: FxHashSet<SymbolId>,
}

impl Chain<'_> {
    /// Whether they decide what is read, or how often something is done.
    fn is_in(&mut self, steps: &[SearchStep]) -> bool {
        loop {
            let before = self.tainted.len();
            if steps.iter().any(|s| self.step(s)) {
                return true;
            }
            // a later round of a loop may use what an earlier one has set
            if self.tainted.len() == before {
                return false;
            }
        }
    }

    fn step(&mut self, step: &SearchStep) -> bool {
        match step {
            SearchStep::Set { symbol, value } => self.set(*symbol, std::slice::from_ref(value)),
            SearchStep::Update { symbol, by, .. } => self.set(*symbol, by.as_slice()),
            SearchStep::Point { symbol, from, by } => {
                let terms: Vec<TermId> = by.iter().map(|b| b.1).collect();
                let follows = from.is_some_and(|p| self.tainted.contains(&p));
                let found = self.set(*symbol, &terms);
                self.tainted.extend(follows.then_some(*symbol));
                found
            }
            SearchStep::If { condition, then, .. } => {
                let decides = self.is_tainted(*condition);
                // what is set where it holds depends on it
                let (mut terms, mut set) = (Vec::new(), Vec::new());
                named(then, &mut terms, &mut set);
                self.tainted.extend(set.into_iter().filter(|_| decides));
                let reads = |t: TermId| self.body.walk(t).any(|x| *self.body.op(x) == Op::Index);
                self.reads_by_reads(*condition)
                    || decides && terms.into_iter().any(reads)
                    || then.iter().any(|s| self.step(s))
            }
            SearchStep::While { condition, then } => {
                self.is_tainted(*condition) || then.iter().any(|s| self.step(s))
            }
            SearchStep::Touch { subscript, .. } => self.reads_by_reads(*subscript),
        }
    }

    fn set(&mut self, symbol: SymbolId, terms: &[TermId]) -> bool {
        if terms.iter().any(|&t| self.is_tainted(t)) {
            self.tainted.insert(symbol);
        }
        terms.iter().any(|&t| self.reads_by_reads(t))
    }

    /// Whether a term has an element in it, or a variable that holds something of one.
    fn is_tainted(&self, t: TermId) -> bool {
        let body = self.body;
        body.walk(t)
            .any(|x| *body.op(x) == Op::Index || body.as_symbol(x).is_some_and(|s| self.tainted.contains(&s)))
    }

    /// Whether an element in a term is found by another, or read only where another says so.
    fn reads_by_reads(&self, t: TermId) -> bool {
        let body = self.body;
        let indexes = |x: TermId| body.walk(x).any(|y| *body.op(y) == Op::Index);
        body.walk(t).any(|x| match (body.op(x), body.args(x)) {
            (Op::Index, &[_, subscript]) => self.is_tainted(subscript),
            (Op::Binary(BinOp::And | BinOp::Or), &[first, rest]) => self.is_tainted(first) && indexes(rest),
            (Op::Select, &[condition, a, b]) => self.is_tainted(condition) && (indexes(a) || indexes(b)),
            _ => false,
        })
    }
}
