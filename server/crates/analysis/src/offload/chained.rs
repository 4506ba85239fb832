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
    let (mut terms, mut set) = (Vec::new(), Vec::new());
    named(steps, &mut terms, &mut set);
    Chain { body, tainted: FxHashSet::default(), set: set.into_iter().collect(), read: Vec::new() }
        .is_in(steps)
}

/// Follows what elements that were read decide.
struct Chain<'b> {
    body: &'b Body,
    /// Variables that hold something of them.
    tainted: FxHashSet<SymbolId>,
    /// Variables that any step sets.
    set: FxHashSet<SymbolId>,
    /// Elements read by the conditions around.
    read: Vec<TermId>,
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
                if self.reads_by_reads(*condition) {
                    return true;
                }
                let around = self.read.len();
                self.read.extend(self.surely_read(*condition));
                let decided = decides && terms.into_iter().any(|t| self.reads_more(t, &self.read));
                let found = decided || then.iter().any(|s| self.step(s));
                self.read.truncate(around);
                found
            }
            SearchStep::While { condition, then } => self.rounds(*condition, then),
            SearchStep::Touch { subscript, .. } => self.reads_by_reads(*subscript),
        }
    }

    /// Of rounds whose number elements decide (`for (k = row[i]; k < row[i + 1]; k++)`) none may read others than their condition
    /// does, which is evaluated in any case.
    fn rounds(&mut self, condition: TermId, then: &[SearchStep]) -> bool {
        let body = self.body;
        if !self.is_tainted(condition) {
            return then.iter().any(|s| self.step(s));
        }
        let is_range =
            matches!(body.op(condition), Op::Binary(BinOp::Lt | BinOp::Le | BinOp::Gt | BinOp::Ge));
        if !is_range || self.reads_by_reads(condition) {
            return true;
        }
        let (mut terms, mut set) = (Vec::new(), Vec::new());
        named(then, &mut terms, &mut set);
        let moves = |t: TermId| body.walk(t).any(|x| body.as_symbol(x).is_some_and(|s| set.contains(&s)));
        let elements = self.surely_read(condition);
        // what is set there depends on how often it is
        self.tainted.extend(set.iter().copied());
        elements.iter().any(|&e| moves(e))
            || terms.iter().any(|&t| {
                body.walk(t).any(|x| *body.op(x) == Op::Index && !elements.iter().any(|&e| body.same(e, x)))
            })
            || then.iter().any(|s| self.step(s))
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
        let more = |first: TermId, rest: &[TermId]| {
            let known: Vec<TermId> = self.read.iter().copied().chain(self.surely_read(first)).collect();
            self.is_tainted(first) && rest.iter().any(|&r| self.reads_more(r, &known))
        };
        body.walk(t).any(|x| match (body.op(x), body.args(x)) {
            (Op::Index, &[_, subscript]) => self.is_tainted(subscript),
            (Op::Binary(BinOp::And | BinOp::Or), &[first, rest]) => more(first, &[rest]),
            (Op::Select, &[condition, a, b]) => more(condition, &[a, b]),
            _ => false,
        })
    }

    /// Whether a term has an element in it that is none of these, as they are wherever they are computed.
    fn reads_more(&self, t: TermId, known: &[TermId]) -> bool {
        let body = self.body;
        let is_fixed =
            |x: TermId| !body.walk(x).filter_map(|y| body.as_symbol(y)).any(|s| self.set.contains(&s));
        let is_known = |x: TermId| is_fixed(x) && known.iter().any(|&k| body.same(k, x));
        body.walk(t).any(|x| *body.op(x) == Op::Index && !is_known(x))
    }

    /// The elements that a condition reads however it comes out.
    fn surely_read(&self, condition: TermId) -> Vec<TermId> {
        let body = self.body;
        match (body.op(condition), body.args(condition)) {
            (Op::Binary(BinOp::And | BinOp::Or) | Op::Select, &[first, ..]) => self.surely_read(first),
            (Op::Index, args) => args.iter().flat_map(|&a| self.surely_read(a)).chain([condition]).collect(),
            (_, args) => args.iter().flat_map(|&a| self.surely_read(a)).collect(),
        }
    }
}
