//! Which times: forms in the order of their cost, until every dependence is kept.

use rustc_hash::FxHashMap;

use super::{Cut, Dependence, Time, Unit};
use crate::algebra::poly::Domain;
use crate::limits::threadmap_rounds::{MAX_TRIED, MAX_UNITS};
use crate::threadmap::sets::{ParamSpace, Part};

/// Pairs of units of which the one has to come before the other in a round.
pub(super) type Order = Vec<(usize, usize)>;

/// How a dependence stands to two times.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kept {
    /// Some of it would go back in time.
    Not,
    /// All of it goes to a later round.
    Later,
    /// Some of it stays within a round.
    Within,
}

/// A time that a unit may have, and what it costs.
struct Choice {
    time: Time,
    cost: usize,
}

fn choices(unit: &Unit) -> Vec<Choice> {
    let n = unit.loops.len();
    let form = |factors: &[(usize, i128)]| {
        let mut out = vec![0; n];
        for &(k, f) in factors {
            out[k] = f;
        }
        Time::At(out, 0)
    };
    let mut out: Vec<Choice> = (0..n).map(|k| Choice { time: form(&[(k, 1)]), cost: 0 }).collect();
    // backwards: what is substituted from the last one on
    out.extend((0..n).map(|k| Choice { time: form(&[(k, -1)]), cost: 3 }));
    out.push(Choice { time: Time::First, cost: 2 });
    out.push(Choice { time: Time::Last, cost: 2 });
    for a in 0..n {
        for b in a + 1..n {
            out.push(Choice { time: form(&[(a, 1), (b, 1)]), cost: 4 });
            out.push(Choice { time: form(&[(a, 2), (b, 1)]), cost: 5 });
        }
    }
    for (factors, cost) in [([1, 1, 1], 6), ([2, 1, 1], 7), ([4, 2, 1], 7)] {
        if n == 3 {
            out.push(Choice { time: Time::At(factors.to_vec(), 0), cost });
        }
    }
    out.sort_by_key(|c| c.cost);
    out
}

struct Search<'a, 'm, 'b> {
    cut: &'a Cut,
    frame: &'a ParamSpace<'m, 'b>,
    choices: Vec<Vec<Choice>>,
    /// By dependence and the choices of its ends.
    known: FxHashMap<(usize, usize, usize), Kept>,
    tried: usize,
    /// Chosen so far, and what that costs.
    chosen: Vec<usize>,
    cost: usize,
    best: Option<(usize, Vec<usize>)>,
}

/// The cheapest times that keep every dependence.
/// With them the pairs of units of which the one has to come before the other in a round.
pub(super) fn times(cut: &Cut, frame: &ParamSpace<'_, '_>) -> Option<(Vec<Time>, Order)> {
    if cut.units.len() > MAX_UNITS {
        return None;
    }
    let mut search = Search {
        cut,
        frame,
        choices: cut.units.iter().map(choices).collect(),
        known: FxHashMap::default(),
        tried: 0,
        chosen: Vec::new(),
        cost: 0,
        best: None,
    };
    search.go_on()?;
    let (_, chosen) = search.best.take()?;
    let edges = search.within(&chosen)?;
    let times: Vec<Time> = chosen.iter().zip(&search.choices).map(|(&c, all)| all[c].time.clone()).collect();
    // rounds there must be
    let any = times.iter().any(|t| matches!(t, Time::At(..)));
    any.then_some((times, edges))
}

impl Search<'_, '_, '_> {
    /// Goes through the choices of the next unit. `None`: it is called off.
    fn go_on(&mut self) -> Option<()> {
        let at = self.chosen.len();
        if at == self.cut.units.len() {
            let edges = self.within(&self.chosen.clone())?;
            if order(at, &edges).is_some() && self.best.as_ref().is_none_or(|b| self.cost < b.0) {
                self.best = Some((self.cost, self.chosen.clone()));
            }
            return Some(());
        }
        for c in 0..self.choices[at].len() {
            let cost = self.choices[at][c].cost;
            if self.best.as_ref().is_some_and(|b| self.cost + cost >= b.0) {
                break;
            }
            self.tried += 1;
            if self.tried > MAX_TRIED {
                return None;
            }
            self.chosen.push(c);
            if self.fits(at)? {
                self.cost += cost;
                self.go_on()?;
                self.cost -= cost;
            }
            self.chosen.pop();
        }
        Some(())
    }

    /// Whether the newest choice keeps all that lies between it and those before.
    fn fits(&mut self, at: usize) -> Option<bool> {
        for k in 0..self.cut.dependences.len() {
            let d = &self.cut.dependences[k];
            if d.from.max(d.to) != at {
                continue;
            }
            let same = d.from == d.to;
            match self.kept(k, self.chosen[d.from], self.chosen[d.to])? {
                Kept::Not => return Some(false),
                Kept::Within if same => return Some(false),
                _ => {}
            }
        }
        Some(true)
    }

    /// The pairs of units of which the one has to come before the other in a round.
    fn within(&mut self, chosen: &[usize]) -> Option<Vec<(usize, usize)>> {
        let mut out = Vec::new();
        for k in 0..self.cut.dependences.len() {
            let (from, to) = (self.cut.dependences[k].from, self.cut.dependences[k].to);
            if self.kept(k, chosen[from], chosen[to])? == Kept::Within {
                out.push((from, to));
            }
        }
        Some(out)
    }

    fn kept(&mut self, k: usize, from: usize, to: usize) -> Option<Kept> {
        if let Some(&known) = self.known.get(&(k, from, to)) {
            return Some(known);
        }
        let d = &self.cut.dependences[k];
        let times = [&self.choices[d.from][from].time, &self.choices[d.to][to].time];
        let kept = match times {
            [Time::At(a, x), Time::At(b, y)] => compared(self.cut, self.frame, d, (a, *x), (b, *y)).ok()?,
            [a, b] if a == b => Kept::Within,
            [Time::First, _] | [_, Time::Last] => Kept::Later,
            _ => Kept::Not,
        };
        self.known.insert((k, from, to), kept);
        Some(kept)
    }
}

/// How much later a dependence's end is than its beginning.
pub(super) fn apart(
    cut: &Cut,
    frame: &ParamSpace<'_, '_>,
    d: &Dependence,
    a: (&[i128], i128),
    b: (&[i128], i128),
) -> poly::Result<poly::Row> {
    let row = |at: usize, unit: usize, (factors, by): (&[i128], i128)| -> poly::Result<poly::Row> {
        let unit = &cut.units[unit];
        let always = Domain::always();
        let part = Part { domain: &always, loops: &unit.loops, first: d.first[at] };
        let mut out = poly::Row::constant(by);
        for ((v, &f), &sign) in unit.values.iter().zip(factors).zip(&unit.signs) {
            let one = frame.linear_row(v, &part)?;
            let one = one.checked_scale(f * sign).ok_or(poly::Error::Overflow("a time"))?;
            out = out.checked_add(&one).ok_or(poly::Error::Overflow("a time"))?;
        }
        Ok(out)
    };
    let (from, to) = (row(0, d.from, a)?, row(1, d.to, b)?);
    to.checked_sub(&from).ok_or(poly::Error::Overflow("a difference"))
}

/// How a dependence stands to the times of its ends: factors, and a number of rounds more.
pub(super) fn compared(
    cut: &Cut,
    frame: &ParamSpace<'_, '_>,
    d: &Dependence,
    a: (&[i128], i128),
    b: (&[i128], i128),
) -> poly::Result<Kept> {
    let apart = apart(cut, frame, d, a, b)?;
    let back = apart.checked_scale(-1).ok_or(poly::Error::Overflow("a difference"))?;
    let before = poly::Row { constant: back.constant - 1, ..back };
    let budget = frame.budget;
    if !d.pairs.constrain(0, &[poly::Constraint::ge(before)], budget)?.is_empty(budget)? {
        return Ok(Kept::Not);
    }
    let here = d.pairs.constrain(0, &[poly::Constraint::eq(apart)], budget)?;
    Ok(if here.is_empty(budget)? { Kept::Later } else { Kept::Within })
}

/// A number for each of so many, such that every edge leads to a greater one; the first come first. `None`: there is a circle.
pub(super) fn order(count: usize, edges: &[(usize, usize)]) -> Option<Vec<usize>> {
    let mut out = vec![usize::MAX; count];
    for place in 0..count {
        let ready = |k: &usize| {
            out[*k] == usize::MAX && edges.iter().all(|&(from, to)| to != *k || out[from] != usize::MAX)
        };
        let next = (0..count).find(ready)?;
        out[next] = place;
    }
    Some(out)
}
