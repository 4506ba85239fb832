//! One question, "is there such a pair of instances?", put to the tests in the order of their cost: each cheap test alone,
//! then elimination, then isl. A question that was asked before has its answer already.
//!
//! Deliberately absent: what the question is about. The answers are exact: "none" is a proof, and a point was checked.

mod banerjee;
mod exact_siv;
mod fourier;
mod gcd;
mod strong_siv;
mod system;
mod weak_crossing_siv;
mod weak_zero_siv;
mod ziv;

#[cfg(test)]
mod tests;

use std::cell::{Cell, RefCell};

use base::Budget;
use rustc_hash::FxHashMap;

use self::banerjee::banerjee;
use self::exact_siv::exact_siv;
use self::fourier::counted;
pub(crate) use self::fourier::{fourier, Solution};
use self::gcd::gcd;
use self::strong_siv::strong_siv;
pub(crate) use self::system::System;
use self::system::{Line, LIMIT};
use self::weak_crossing_siv::weak_crossing_siv;
use self::weak_zero_siv::weak_zero_siv;
use self::ziv::ziv;
use crate::limits::solve::{MOST_KEPT, NUMBERS};
use crate::TestCounts;

/// Constraints that hold together, with existential variables of their own.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Conjunction {
    pub exists: usize,
    pub constraints: Vec<poly::Constraint>,
}

/// Any of several conjunctions over one space: parameters, then the counters around the source, then around the sink.
#[derive(Clone, Debug)]
pub(crate) struct Question {
    pub space: poly::Space,
    /// Dimensions (at source and sink) of the loops around both; the first is the root.
    pub pairs: Vec<(usize, usize)>,
    /// Whether the constraints demand an earlier iteration of the root at the source than at the sink.
    pub carried: bool,
    pub any: Vec<Conjunction>,
}

impl Question {
    /// All pairs of this question that satisfy one more constraint.
    pub(crate) fn and(&self, c: &poly::Constraint) -> Question {
        let mut q = self.clone();
        for x in &mut q.any {
            x.constraints.push(c.clone());
        }
        q
    }
}

type Asked = (poly::Space, Vec<Conjunction>);

/// Answers, and who gave how many. One a body: what was asked for one loop is known for the next, and costs it the same.
#[derive(Default)]
pub(crate) struct Solver {
    cheap: RefCell<FxHashMap<System, (Solution, u64)>>,
    /// Numbers that stand in the systems among them, at most [`MOST_KEPT`].
    kept: Cell<usize>,
    isl: RefCell<FxHashMap<Asked, (Option<poly::Point>, u64)>>,
    /// Where only that there is a point was asked.
    empty: RefCell<FxHashMap<Asked, (bool, u64)>>,
    pub counts: RefCell<TestCounts>,
}

impl Solver {
    fn count(&self, which: impl FnOnce(&mut TestCounts) -> &mut u64) {
        *which(&mut self.counts.borrow_mut()) += 1;
    }

    /// A point that satisfies one of the conjunctions, or the proof that there is none.
    pub(crate) fn any(&self, q: &Question, budget: &Budget) -> poly::Result<Option<poly::Point>> {
        let open = match self.without_isl(q, budget)? {
            Ok(point) => return Ok(point),
            Err(open) => open,
        };
        self.remembered(&self.isl, (q.space, open), budget, |asked| match union(asked, budget)? {
            Some(s) => s.sample_point(budget),
            None => Ok(None),
        })
    }

    /// Whether there is no point at all; cheaper than to ask for one.
    pub(crate) fn none(&self, q: &Question, budget: &Budget) -> poly::Result<bool> {
        let open = match self.without_isl(q, budget)? {
            Ok(point) => return Ok(point.is_none()),
            Err(open) => open,
        };
        self.remembered(&self.empty, (q.space, open), budget, |asked| match union(asked, budget)? {
            Some(s) => s.is_empty(budget),
            None => Ok(true),
        })
    }

    /// The answer, or the conjunctions for which the cheap tests give none.
    #[allow(clippy::type_complexity)] // an answer or what is left of the question
    fn without_isl(
        &self,
        q: &Question,
        budget: &Budget,
    ) -> poly::Result<Result<Option<poly::Point>, Vec<Conjunction>>> {
        let mut open = Vec::new();
        for c in &q.any {
            let numbers = c.constraints.len() * (q.space.params + q.space.dims + c.exists + 1);
            budget.spend(1 + numbers as u64 / NUMBERS).map_err(poly::Error::from)?;
            let system = System::new(q.space, c.exists, q.pairs.clone(), q.carried, &c.constraints);
            match system.map_or(Ok(Solution::Unknown), |s| self.cheap(s, budget))? {
                Solution::Empty => {}
                Solution::Point(p) => return Ok(Ok(Some(point(q.space, &p)))),
                Solution::Unknown => open.push(c.clone()),
            }
        }
        Ok(if open.is_empty() { Ok(None) } else { Err(open) })
    }

    /// Asks isl, once.
    fn remembered<T: Clone>(
        &self,
        memo: &RefCell<FxHashMap<Asked, (T, u64)>>,
        asked: Asked,
        budget: &Budget,
        ask: impl FnOnce(&Asked) -> poly::Result<T>,
    ) -> poly::Result<T> {
        if let Some((known, cost)) = memo.borrow().get(&asked) {
            self.count(|c| &mut c.memo);
            budget.spend(*cost).map_err(poly::Error::from)?;
            return Ok(known.clone());
        }
        self.count(|c| &mut c.isl);
        let before = budget.left();
        let answer = ask(&asked)?;
        let cost = before.saturating_sub(budget.left());
        let numbers = |c: &Conjunction| c.constraints.len() * (asked.0.params + asked.0.dims + c.exists + 1);
        let kept = self.kept.get() + asked.1.iter().map(numbers).sum::<usize>();
        if kept <= MOST_KEPT {
            self.kept.set(kept);
            memo.borrow_mut().insert(asked, (answer.clone(), cost));
        }
        Ok(answer)
    }

    fn cheap(&self, s: System, budget: &Budget) -> poly::Result<Solution> {
        if let Some((known, cost)) = self.cheap.borrow().get(&s) {
            // What isl answers is counted there.
            if *known != Solution::Unknown {
                self.count(|c| &mut c.memo);
            }
            budget.spend(*cost).map_err(poly::Error::from)?;
            return Ok(known.clone());
        }
        let mut work = 0;
        let found = self.tests(&s, &mut work);
        let cost = work / NUMBERS;
        let kept = self.kept.get() + s.numbers();
        if kept <= MOST_KEPT {
            self.kept.set(kept);
            self.cheap.borrow_mut().insert(s, (found.clone(), cost));
        }
        budget.spend(cost).map_err(poly::Error::from)?;
        Ok(found)
    }

    fn tests(&self, s: &System, work: &mut u64) -> Solution {
        type Test = fn(&System) -> bool;
        type Count = fn(&mut TestCounts) -> &mut u64;
        let tests: [(Test, Count); 7] = [
            (ziv, |c| &mut c.ziv),
            (strong_siv, |c| &mut c.strong_siv),
            (weak_zero_siv, |c| &mut c.weak_zero_siv),
            (weak_crossing_siv, |c| &mut c.weak_crossing_siv),
            (gcd, |c| &mut c.gcd),
            (exact_siv, |c| &mut c.exact_siv),
            (banerjee, |c| &mut c.banerjee),
        ];
        for (test, count) in tests {
            if test(s) {
                self.count(count);
                return Solution::Empty;
            }
        }
        let found = counted(s, work);
        match found {
            Solution::Empty => self.count(|c| &mut c.elimination),
            Solution::Point(_) => self.count(|c| &mut c.point),
            Solution::Unknown => {}
        }
        found
    }
}

fn point(space: poly::Space, values: &[i128]) -> poly::Point {
    let (params, rest) = values.split_at(space.params);
    poly::Point { params: params.to_vec(), dims: rest[..space.dims].to_vec() }
}

fn union((space, any): &Asked, budget: &Budget) -> poly::Result<Option<poly::Set>> {
    let mut set: Option<poly::Set> = None;
    for c in any {
        let one = poly::Set::from_constraints(*space, c.exists, &c.constraints, budget)?;
        set = Some(match set {
            None => one,
            Some(s) => s.union(&one, budget)?,
        });
    }
    Ok(set)
}

/// Whether no integers satisfy all lines (coefficients by column, then the constant): each of `equal` 0, each of `least` at
/// least 0. `most`: steps that isl is worth, where elimination does not tell. `false`: not shown, or no steps left.
pub(crate) fn impossible(
    columns: usize,
    equal: Vec<Line>,
    least: Vec<Line>,
    (budget, most): (&Budget, u64),
) -> bool {
    let large = |l: &Line| l.iter().any(|c| !(-LIMIT < *c && *c < LIMIT));
    let (mut equal, mut least) = (equal, least);
    // less said is no more shown
    equal.retain(|l| !large(l));
    least.retain(|l| !large(l));
    let system = System { dims: columns, equal, least, ..Default::default() };
    let mut work = 0;
    let found = counted(&system, &mut work);
    if budget.spend(1 + work / NUMBERS).is_err() {
        return false;
    }
    match found {
        Solution::Empty => true,
        Solution::Point(_) => false,
        Solution::Unknown => {
            let row = |l: &Line| {
                let (constant, dims) = l.split_last().map_or((0, &[][..]), |(c, d)| (*c, d));
                poly::Row { dims: dims.to_vec(), constant, ..poly::Row::default() }
            };
            let rows: Vec<poly::Constraint> = system
                .equal
                .iter()
                .map(|l| poly::Constraint::eq(row(l)))
                .chain(system.least.iter().map(|l| poly::Constraint::ge(row(l))))
                .collect();
            let part = budget.part(budget.left().min(most));
            let space = poly::Space { params: 0, dims: columns };
            let empty = poly::Set::from_constraints(space, 0, &rows, &part).and_then(|s| s.is_empty(&part));
            let _ = budget.spend(part.taken());
            empty.unwrap_or(false)
        }
    }
}
