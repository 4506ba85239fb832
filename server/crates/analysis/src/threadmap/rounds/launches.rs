//! Which units of a round run in one launch: those that are apart, and those of which all that depends on each other within a round
//! runs in one thread. Where it makes fewer launches, some units run a round later (retiming), or what comes before all rounds
//! runs in one of them.

use rustc_hash::FxHashMap;
use term::Body;

use super::search::{compared, order, Kept};
use super::{Cut, Time};
use crate::algebra::poly::Domain;
use crate::limits::threadmap_rounds::{MAX_PLACED, MAX_SHIFTED};
use crate::threadmap::sets::{ParamSpace, Part};

/// The times of all units, and what runs in a round, launch by launch.
pub(super) struct Times {
    pub times: Vec<Time>,
    pub launches: Vec<Launch>,
}

/// What one thread does, one behind the other.
#[derive(Clone, Debug)]
pub(super) struct Launch {
    pub members: Vec<Member>,
}

/// Units that say the same of instances that are apart.
#[derive(Clone, Debug)]
pub(super) struct Member {
    pub units: Vec<usize>,
    /// For each index of the launch the one of the unit that it is.
    pub at: Vec<usize>,
}

impl Launch {
    pub(super) fn is_joined(&self) -> bool {
        self.members.len() > 1 || self.members.iter().any(|m| m.units.len() > 1)
    }

    /// The member whose indices count the threads.
    pub(super) fn leader(&self) -> usize {
        let most = self.members.iter().map(|m| m.own()).max();
        self.members.iter().position(|m| Some(m.own()) == most).unwrap_or(0)
    }
}

impl Member {
    fn own(&self) -> usize {
        let mut all = self.at.clone();
        all.sort_unstable();
        all.dedup();
        all.len()
    }
}

/// The indices that the loops inside of a round go through: those that the round's number does not settle.
pub(super) fn inner(loops: usize, time: &Time) -> Vec<usize> {
    match time {
        Time::First | Time::Last => (0..loops).collect(),
        Time::At(factors, _) => {
            let settled = factors.iter().rposition(|f| f.abs() == 1);
            (0..loops).filter(|k| Some(*k) != settled).collect()
        }
    }
}

/// A launch for each unit, in an order that keeps all within a round; those that say the same of cells that are apart are one.
pub(super) fn apart(cut: &Cut, body: &Body, times: Vec<Time>, edges: &[(usize, usize)]) -> Option<Times> {
    let count = cut.units.len();
    let mut one: Vec<usize> = (0..count).collect();
    let joined =
        |one: &[usize]| -> Vec<(usize, usize)> { edges.iter().map(|&(a, b)| (one[a], one[b])).collect() };
    for b in 1..count {
        let like = |&a: &usize| times[a] == times[b] && is_same(cut, body, a, b);
        let Some(a) = (0..b).find(like) else { continue };
        let mut with = one.clone();
        with[b] = with[a];
        let edges = joined(&with);
        let apart = !edges.iter().any(|e| e.0 == e.1);
        if apart && order(count, &edges).is_some() {
            one = with;
        }
    }
    let places = order(count, &joined(&one))?;
    let mut all: Vec<usize> = (0..count).filter(|&k| one[k] == k).collect();
    all.sort_by_key(|&k| places[k]);
    let launch = |k: usize| {
        let units = (0..count).filter(|&u| one[u] == k).collect();
        let at = inner(cut.units[k].loops.len(), &times[k]);
        Launch { members: vec![Member { units, at }] }
    };
    let launches = all.into_iter().map(launch).collect();
    Some(Times { times, launches })
}

fn is_same(cut: &Cut, body: &Body, a: usize, b: usize) -> bool {
    let (u, v) = (&cut.units[a], &cut.units[b]);
    u.indices == v.indices && u.signs == v.signs && body.same(u.term, v.term)
}

/// As few launches as are found; `None`: no units run in one. `times` keep every dependence.
pub(super) fn together(cut: &Cut, frame: &ParamSpace<'_, '_>, body: &Body, times: &[Time]) -> Option<Times> {
    if times.iter().any(Time::is_steep) {
        return None;
    }
    let mut joiner =
        Joiner { cut, frame, kept: FxHashMap::default(), in_thread: FxHashMap::default(), placed: 0 };
    let options: Vec<Vec<Time>> = cut.units.iter().zip(times).map(|(u, t)| later(t, u.loops.len())).collect();
    let all: usize = options.iter().try_fold(1usize, |n, o| n.checked_mul(o.len())).unwrap_or(usize::MAX);
    let mut best: Option<(usize, Times)> = None;
    let mut choice = vec![0usize; options.len()];
    loop {
        let tried: Vec<Time> = choice.iter().zip(&options).map(|(&c, o)| o[c].clone()).collect();
        if let Some(edges) = joiner.edges(&tried) {
            let launches = joiner.joined(&tried, &edges)?;
            let is_round = |l: &&Launch| {
                l.members.iter().flat_map(|m| &m.units).any(|&u| matches!(tried[u], Time::At(..)))
            };
            let rounds = launches.iter().filter(is_round).count();
            let moved = choice.iter().filter(|c| **c > 0).count();
            let cost = 1000 * rounds + 20 * (launches.len() - rounds) + moved;
            if best.as_ref().is_none_or(|b| cost < b.0) {
                best = Some((cost, Times { times: tried, launches }));
            }
        }
        let next = (0..choice.len()).find(|&k| choice[k] + 1 < options[k].len());
        let Some(k) = next.filter(|_| all <= MAX_SHIFTED) else { break };
        choice[k] += 1;
        choice[..k].fill(0);
    }
    let (_, mut best) = best?;
    for l in &mut best.launches {
        joiner.unite(l, body, &best.times);
    }
    best.launches.iter().any(Launch::is_joined).then_some(best)
}

/// A time, and those that may stand for it.
fn later(time: &Time, loops: usize) -> Vec<Time> {
    match time {
        Time::At(factors, by) => vec![time.clone(), Time::At(factors.clone(), by + 1)],
        Time::First => vec![Time::First, Time::At(vec![0; loops], 0), Time::At(vec![0; loops], 1)],
        Time::Last => vec![Time::Last],
    }
}

/// When and where a unit runs: its time, and for each index of the launch the one of its own.
type At = (Time, Vec<usize>);

struct Joiner<'a, 'm, 'b> {
    cut: &'a Cut,
    frame: &'a ParamSpace<'m, 'b>,
    /// By dependence and the times of its ends.
    kept: FxHashMap<(usize, Time, Time), Kept>,
    /// Whether what stays of a dependence within a round stays in one thread, by its ends' times and indices.
    in_thread: FxHashMap<(usize, [At; 2]), bool>,
    placed: usize,
}

impl Joiner<'_, '_, '_> {
    /// The dependences that stay within a round; `None`: some other is not kept, or there is no order.
    fn edges(&mut self, times: &[Time]) -> Option<Vec<usize>> {
        let mut out = Vec::new();
        for (k, d) in self.cut.dependences.iter().enumerate() {
            let ends = [&times[d.from], &times[d.to]];
            let kept = match ends {
                [Time::At(a, x), Time::At(b, y)] => {
                    let key = (k, ends[0].clone(), ends[1].clone());
                    match self.kept.get(&key) {
                        Some(&known) => known,
                        None => {
                            let kept = compared(self.cut, self.frame, d, (a, *x), (b, *y)).ok()?;
                            self.kept.insert(key, kept);
                            kept
                        }
                    }
                }
                [a, b] if a == b => Kept::Within,
                [Time::First, _] | [_, Time::Last] => Kept::Later,
                _ => Kept::Not,
            };
            match kept {
                Kept::Not => return None,
                Kept::Within if d.from == d.to => return None,
                Kept::Within => out.push(k),
                Kept::Later => {}
            }
        }
        let pairs: Vec<(usize, usize)> = self.pairs(&out);
        order(times.len(), &pairs)?;
        Some(out)
    }

    fn pairs(&self, edges: &[usize]) -> Vec<(usize, usize)> {
        edges.iter().map(|&k| (self.cut.dependences[k].from, self.cut.dependences[k].to)).collect()
    }

    /// The units in launches: each in the first that it can run in.
    fn joined(&mut self, times: &[Time], edges: &[usize]) -> Option<Vec<Launch>> {
        let count = times.len();
        let places = order(count, &self.pairs(edges))?;
        let mut all: Vec<usize> = (0..count).collect();
        all.sort_by_key(|&k| places[k]);
        let mut launches: Vec<Launch> = Vec::new();
        let holds = |l: &Launch, u: usize| l.members.iter().any(|m| m.units.contains(&u));
        for u in all {
            let before: Vec<usize> = edges
                .iter()
                .filter(|&&k| self.cut.dependences[k].to == u)
                .map(|&k| self.cut.dependences[k].from)
                .collect();
            let first = launches.iter().rposition(|l| before.iter().any(|&b| holds(l, b))).unwrap_or(0);
            let mut found = None;
            for (k, l) in launches.iter().enumerate().skip(first) {
                let one = l.members.first().and_then(|m| m.units.first()).map(|&o| times[o].phase());
                if one != Some(times[u].phase()) {
                    continue;
                }
                if let Some(l) = self.with(l, u, times, edges) {
                    found = Some((k, l));
                    break;
                }
            }
            match found {
                Some((k, l)) => launches[k] = l,
                None => {
                    let at = inner(self.cut.units[u].loops.len(), &times[u]);
                    launches.push(Launch { members: vec![Member { units: vec![u], at }] });
                }
            }
        }
        Some(launches)
    }

    /// A launch with one unit more, if its threads can do that, too.
    fn with(&mut self, launch: &Launch, unit: usize, times: &[Time], edges: &[usize]) -> Option<Launch> {
        let units: Vec<usize> =
            launch.members.iter().flat_map(|m| m.units.iter().copied()).chain([unit]).collect();
        let own = |u: usize| inner(self.cut.units[u].loops.len(), &times[u]);
        let dims = units.iter().map(|&u| own(u).len()).max()?;
        let leader = *units.iter().find(|&&u| own(u).len() == dims)?;
        let within: Vec<usize> = edges
            .iter()
            .copied()
            .filter(|&k| {
                [self.cut.dependences[k].from, self.cut.dependences[k].to].iter().all(|e| units.contains(e))
            })
            .collect();
        // more dimensions than statements that run once have are for what uses them
        if within.is_empty() && units.iter().any(|&u| own(u).is_empty() != (dims == 0)) {
            return None;
        }
        let options: Vec<Vec<Vec<usize>>> =
            units.iter().map(|&u| self.placements(u, leader, dims, times)).collect();
        let mut choice = vec![0usize; units.len()];
        if options.iter().any(Vec::is_empty) {
            return None;
        }
        loop {
            self.placed += 1;
            if self.placed > MAX_PLACED {
                return None;
            }
            let at = |u: usize| units.iter().position(|&o| o == u).map(|p| options[p][choice[p]].clone());
            let mut fits = true;
            for &k in &within {
                let d = &self.cut.dependences[k];
                let (from, to) = (at(d.from)?, at(d.to)?);
                if !self.is_in_thread(k, times, from, to)? {
                    fits = false;
                    break;
                }
            }
            if fits {
                let member =
                    |(p, &u): (usize, &usize)| Member { units: vec![u], at: options[p][choice[p]].clone() };
                return Some(Launch { members: units.iter().enumerate().map(member).collect() });
            }
            let k = (0..choice.len()).find(|&k| choice[k] + 1 < options[k].len())?;
            choice[k] += 1;
            choice[..k].fill(0);
        }
    }

    /// For each index of the launch, which of a unit's may be it: such that those and the round tell the instance. What is called
    /// alike comes first.
    fn placements(&self, unit: usize, leader: usize, dims: usize, times: &[Time]) -> Vec<Vec<usize>> {
        let (u, l) = (&self.cut.units[unit], &self.cut.units[leader]);
        let of_leader = inner(l.loops.len(), &times[leader]);
        let own = inner(u.loops.len(), &times[unit]);
        if unit == leader
            || own.len() == dims && own.iter().zip(&of_leader).all(|(a, b)| u.indices[*a] == l.indices[*b])
        {
            return vec![own];
        }
        let mut out: Vec<Vec<usize>> = vec![Vec::new()];
        for &d in &of_leader {
            let mut candidates: Vec<usize> = (0..u.loops.len()).collect();
            candidates.sort_by_key(|&c| (u.indices[c] != l.indices[d], !own.contains(&c)));
            out = out
                .iter()
                .flat_map(|before| {
                    candidates.iter().map(move |&c| before.iter().copied().chain([c]).collect::<Vec<_>>())
                })
                .collect();
        }
        out.retain(|at| own.iter().all(|o| at.contains(o)));
        out
    }

    /// Whether what stays of a dependence within a round stays in one thread.
    fn is_in_thread(&mut self, k: usize, times: &[Time], from: Vec<usize>, to: Vec<usize>) -> Option<bool> {
        let d = &self.cut.dependences[k];
        let key = (k, [(times[d.from].clone(), from.clone()), (times[d.to].clone(), to.clone())]);
        if let Some(&known) = self.in_thread.get(&key) {
            return Some(known);
        }
        let mut pairs = d.pairs.clone();
        if let (Time::At(a, x), Time::At(b, y)) = (&times[d.from], &times[d.to]) {
            let apart = super::search::apart(self.cut, self.frame, d, (a, *x), (b, *y)).ok()?;
            pairs = pairs.constrain(0, &[poly::Constraint::eq(apart)], self.frame.budget).ok()?;
        }
        let always = Domain::always();
        let mut holds = true;
        for (&a, &b) in from.iter().zip(&to) {
            let row = |at: usize, unit: usize, index: usize| {
                let unit = &self.cut.units[unit];
                let part = Part { domain: &always, loops: &unit.loops, first: d.first[at] };
                self.frame.linear_row(&unit.values[index], &part).ok()
            };
            let (from, to) = (row(0, d.from, a)?, row(1, d.to, b)?);
            for one in [from.checked_sub(&to)?, to.checked_sub(&from)?] {
                let beyond = poly::Row { constant: one.constant - 1, ..one };
                let there = pairs.constrain(0, &[poly::Constraint::ge(beyond)], self.frame.budget).ok()?;
                holds = holds && there.is_empty(self.frame.budget).ok()?;
            }
        }
        self.in_thread.insert(key, holds);
        Some(holds)
    }

    /// Makes one of those members that say the same and do not depend on each other in a round.
    fn unite(&self, launch: &mut Launch, body: &Body, times: &[Time]) {
        let mut k = 1;
        while k < launch.members.len() {
            let m = &launch.members[k];
            let Some(&u) = m.units.first() else { return };
            let alike = |o: &Member| {
                let same = |&v: &usize| times[u] == times[v] && is_same(self.cut, body, u, v);
                o.at == m.at && o.units.first().is_some_and(same)
            };
            // nothing between them, nor they, may have an order
            let found = (0..k).rev().find(|&j| alike(&launch.members[j]));
            let ordered = |j: usize| {
                let between: Vec<usize> =
                    launch.members[j..=k].iter().flat_map(|m| m.units.iter().copied()).collect();
                self.cut.dependences.iter().enumerate().any(|(k, d)| {
                    let key = || (k, times[d.from].clone(), times[d.to].clone());
                    d.from != d.to
                        && between.contains(&d.from)
                        && between.contains(&d.to)
                        && self.kept.get(&key()) != Some(&Kept::Later)
                })
            };
            match found.filter(|&j| !ordered(j)) {
                Some(j) => {
                    let m = launch.members.remove(k);
                    launch.members[j].units.extend(m.units);
                }
                None => k += 1,
            }
        }
    }
}
