//! A witness replayed: does a run of the function from its entry come to the loop with the witness's values, and do the
//! two iterations really meet there?
//!
//! A witness is a solution of the model's constraints, and the model begins at the loop. What stands before it may make
//! those values impossible (`if (n > 100) n = 100;`). So the function is run, on numbers, and the witness is believed
//! only when its two accesses are seen to touch a common byte in its two iterations, one of them writing. The inputs
//! of the run are chosen (`inputs` says what may be chosen, and why): first as the witness says, then, where the run goes another
//! way or arrives with other values, by solving the linear conditions that it met (`values`: shadows), condition by
//! condition, as concolic testing does (Godefroid, Klarlund and Sen, PLDI 2005). Last, a witness is asked for at values that a run did arrive with.
//!
//! Everything is counted: a run has its steps, a search its runs. What is not shown within them is not shown, and is
//! said so. Deliberately absent: schedules, undefined behaviour (a run that meets it is none), proofs of any kind.

mod calls;
mod expressions;
mod inputs;
mod layout;
mod memory;
mod run;
mod values;

use std::rc::Rc;

use rustc_hash::{FxHashMap, FxHashSet};
use term::{Body, Op, TermId};

use crate::depend::{fourier, Found, System};
use crate::nest::project;
use crate::value::{Constraint, Poly, Var};
use crate::{Control, Dependence, NotReplayed, Param, Program, Witness};
use inputs::{Given, Inputs, Kind};
use run::{Event, Goal, Halt, Other, Reached, Run};
use values::{Fact, Id, Linear, Rel};

/// Steps of one run, and of all runs for one loop.
const RUN_STEPS: u64 = 60_000;
pub(crate) const ALL_STEPS: u64 = 400_000;
/// Runs for one witness.
const MAX_RUNS: usize = 24;
/// Columns of a system that is solved.
const MAX_COLUMNS: usize = 40;

/// What is replayed in: a body and the loops around.
pub(crate) struct Place<'a> {
    pub body: &'a Body,
    pub program: &'a Program,
    pub root: TermId,
    /// The terms around the root, itself included.
    pub around: Vec<TermId>,
    pub controls: Rc<FxHashMap<TermId, Control>>,
}

/// How a replay ended.
pub(crate) enum Replayed {
    /// It was seen to happen.
    Seen,
    /// It was not; why, where, and how runs did come to the loop.
    Not(NotReplayed, Option<TermId>, Vec<Arrival>),
}

/// Replays a dependence's witness. `steps`: what is left for the loop; what was used is taken from it.
pub(crate) fn replay(place: &Place<'_>, d: &Dependence, witness: &Witness, steps: &mut u64) -> Replayed {
    let goal = Goal {
        body: place.body,
        root: place.root,
        around: place.around.iter().copied().collect(),
        controls: place.controls.clone(),
        kind: d.kind,
        witness: witness.clone(),
        marks: marks(place.body, place.root, d),
    };
    let mut inputs = Inputs::default();
    for (p, v) in &witness.params {
        if let Param::Symbol(s) = p {
            inputs.guesses.insert(*s, *v);
        }
    }
    let mut queue: Vec<FxHashMap<Id, Given>> = vec![FxHashMap::default()];
    let mut tried: FxHashSet<String> = FxHashSet::default();
    let mut arrived: Vec<Arrival> = Vec::new();
    // The first run's reason is told: it is the one with the witness's own values.
    let mut reason: Option<(NotReplayed, Option<TermId>)> = None;
    let mut runs = 0;
    let mut next = 0;
    while next < queue.len() && runs < MAX_RUNS {
        let given = queue[next].clone();
        next += 1;
        runs += 1;
        let limit = RUN_STEPS.min(*steps);
        if limit == 0 {
            break;
        }
        let mut run = Run::new(&goal, place.program, &mut inputs, &given, limit);
        let halt = run.all();
        *steps = steps.saturating_sub(run.steps + 50);
        let nearly = run.nearly;
        let (events, reached) = (std::mem::take(&mut run.events), std::mem::take(&mut run.reached));
        let (why, at) = match halt {
            Halt::Seen => return Replayed::Seen,
            Halt::Fail(..) if nearly => return Replayed::Seen,
            Halt::Fail(why, at) => (why, at),
        };
        if reason.is_none() {
            reason = Some((why, at));
        }
        for r in &reached {
            if arrived.len() >= 6 {
                break;
            }
            let there = r.values.iter().zip(&witness.params);
            let values = there.filter_map(|(v, (p, _))| v.clone().map(|(now, form)| (*p, now, form)));
            arrived.push(Arrival {
                facts: path(&events[..r.events.min(events.len())]),
                values: values.collect(),
            });
        }
        for c in candidates(&goal, &events, &reached, &inputs) {
            let mut more = given.clone();
            for (id, g) in c {
                match g {
                    Some(g) => more.insert(id, g),
                    None => more.remove(&id),
                };
            }
            let mut key: Vec<_> = more.iter().collect();
            key.sort_by_key(|x| *x.0);
            if tried.insert(format!("{key:?}")) && queue.len() < 4 * MAX_RUNS {
                queue.push(more);
            }
        }
    }
    let (why, at) = reason.unwrap_or((NotReplayed::Steps, None));
    Replayed::Not(why, at, arrived)
}

/// A way to the loop: what has to hold of the run's inputs for a run to take it, and what the witness's parameters are then.
pub(crate) struct Arrival {
    facts: Vec<Fact>,
    values: Vec<(Param, i128, Option<Linear>)>,
}

impl Arrival {
    /// What holds of the parameters on this way. `var`: the model's variable of a parameter.
    pub(crate) fn constraints(&self, var: impl Fn(Param) -> Option<Var>) -> Vec<Constraint> {
        // Inputs have numbers behind those of the model's variables.
        const INPUTS: Var = 1 << 28;
        let poly = |f: &Linear| {
            let terms = f.terms.iter().map(|(id, c)| (vec![INPUTS + id], *c));
            Poly::from_terms(terms.chain([(Vec::new(), f.constant)]))
        };
        let mut all: Vec<Constraint> = Vec::new();
        for f in &self.facts {
            let Some(p) = poly(&f.form) else { continue };
            match f.rel {
                Rel::Least => all.push(Constraint::non_negative(p)),
                Rel::Zero => all.push(Constraint::zero(p)),
                Rel::NotZero => {}
            }
        }
        for (p, now, form) in &self.values {
            let Some(v) = var(*p) else { continue };
            let value = match form {
                Some(f) => poly(f),
                None => Some(Poly::constant(*now)),
            };
            all.extend(value.and_then(|x| x.sub(&Poly::var(v))).map(Constraint::zero));
        }
        project(&all, |v| v < INPUTS)
    }
}

type Change = Vec<(Id, Option<Given>)>;

/// Other inputs to try after a run: the values at the loop, then its conditions from the last one back.
fn candidates(goal: &Goal<'_>, events: &[Event], reached: &[Reached], inputs: &Inputs) -> Vec<Change> {
    let mut out: Vec<Change> = Vec::new();
    for r in reached.iter().take(4) {
        if !r.links.is_empty() {
            out.push(r.links.iter().map(|(id, g)| (*id, Some(*g))).collect());
        }
        let mut facts = path(&events[..r.events.min(events.len())]);
        let mut open = false;
        let mut possible = true;
        for (v, (_, want)) in r.values.iter().zip(&goal.witness.params) {
            match v {
                Some((now, form)) if now != want => {
                    open = true;
                    match form.clone().filter(|f| !f.is_constant()) {
                        Some(mut f) => {
                            f.constant -= want;
                            facts.push(Fact::zero(f));
                        }
                        None => possible = false,
                    }
                }
                // What is as wanted has to stay so.
                Some((_, Some(f))) if !f.is_constant() => {
                    let mut f = f.clone();
                    f.constant -= want;
                    facts.push(Fact::zero(f));
                }
                _ => {}
            }
        }
        if open && possible {
            out.extend(solve(facts, inputs));
        }
    }
    let as_wanted = |r: &&Reached| {
        r.values.iter().zip(&goal.witness.params).all(|(v, w)| v.as_ref().is_some_and(|v| v.0 == w.1))
    };
    // Where it came with the right values, something in the loop went otherwise.
    let end = match (reached.iter().find(as_wanted), reached.first()) {
        (None, Some(r)) => r.events.min(events.len()),
        _ => events.len(),
    };
    let mut flips = 0;
    for k in (0..end).rev() {
        if flips >= 8 {
            break;
        }
        let change = match &events[k].other {
            Other::No => continue,
            Other::Give(id, g) => Some(vec![(*id, Some(*g))]),
            Other::Usual(id) => Some(vec![(*id, None)]),
            Other::Fact(f) => {
                let mut facts = path(&events[..k]);
                facts.push(f.clone());
                solve(facts, inputs)
            }
        };
        flips += 1;
        out.extend(change);
    }
    out
}

fn path(events: &[Event]) -> Vec<Fact> {
    events.iter().filter_map(|e| e.fact.clone()).collect()
}

/// Inputs for which all of this holds.
fn solve(facts: Vec<Fact>, inputs: &Inputs) -> Option<Change> {
    // Only what the last fact depends on, in the end; the rest holds as it did.
    let mut columns: Vec<Id> = Vec::new();
    for f in &facts {
        for (v, _) in &f.form.terms {
            if !columns.contains(v) {
                columns.push(*v);
            }
        }
    }
    if columns.len() > MAX_COLUMNS {
        return None;
    }
    let mut unequal: Vec<Linear> = Vec::new();
    let line = |f: &Linear| {
        let mut line = vec![0i128; columns.len() + 1];
        for (v, c) in &f.terms {
            if let Some(k) = columns.iter().position(|x| x == v) {
                line[k] = *c;
            }
        }
        line[columns.len()] = f.constant;
        line
    };
    let mut system = System { dims: columns.len(), ..System::default() };
    for f in &facts {
        let line = line(&f.form);
        let list = match f.rel {
            Rel::Least => &mut system.least,
            Rel::Zero => &mut system.equal,
            Rel::NotZero => {
                unequal.push(f.form.clone());
                continue;
            }
        };
        if !list.contains(&line) {
            list.push(line);
        }
    }
    for (k, v) in columns.iter().enumerate() {
        if let Some(Kind::Int { least, most, .. }) = inputs.get(*v).map(|i| i.kind) {
            let mut low = vec![0i128; columns.len() + 1];
            let mut high = low.clone();
            (low[k], high[k]) = (1, -1);
            (low[columns.len()], high[columns.len()]) = (-least, most);
            let small = 1 << 31;
            if least >= -small {
                system.least.push(low);
            }
            if most <= small {
                system.least.push(high);
            }
        }
    }
    let point = separated(&system, &unequal, &columns, 0)?;
    let mut out = Vec::new();
    for (v, x) in columns.iter().zip(point) {
        if let Some(i) = inputs.get(*v) {
            let Kind::Int { least, most, .. } = i.kind else { continue };
            if x < least || x > most {
                return None;
            }
            out.push((*v, Some(Given::Int(x))));
        }
    }
    Some(out)
}

/// A solution at which the forms are not 0 either.
fn separated(system: &System, unequal: &[Linear], columns: &[Id], depth: u32) -> Option<Vec<i128>> {
    let point = solution(system)?;
    let value = |f: &Linear| {
        f.terms.iter().fold(f.constant, |sum, (v, c)| {
            let x = columns.iter().position(|w| w == v).and_then(|k| point.get(k)).copied().unwrap_or(0);
            sum.saturating_add(c.saturating_mul(x))
        })
    };
    let Some(bad) = unequal.iter().find(|f| value(f) == 0) else { return Some(point) };
    if depth >= 4 {
        return None;
    }
    for sign in [1, -1] {
        let mut more = system.clone();
        let mut line = vec![0i128; columns.len() + 1];
        for (v, c) in &bad.terms {
            if let Some(k) = columns.iter().position(|x| x == v) {
                line[k] = sign * c;
            }
        }
        line[columns.len()] = sign * bad.constant - 1;
        more.least.push(line);
        if let Some(p) = separated(&more, unequal, columns, depth + 1) {
            return Some(p);
        }
    }
    None
}

fn solution(system: &System) -> Option<Vec<i128>> {
    match fourier(system) {
        Found::Point(p) => Some(p),
        Found::Empty => None,
        Found::Unknown => {
            let row = |l: &Vec<i128>| {
                let (constant, dims) = l.split_last().map_or((0, &[][..]), |(c, d)| (*c, d));
                poly::Row { dims: dims.to_vec(), constant, ..poly::Row::default() }
            };
            let equal = system.equal.iter().map(|l| poly::Constraint::eq(row(l)));
            let rows: Vec<poly::Constraint> =
                equal.chain(system.least.iter().map(|l| poly::Constraint::ge(row(l)))).collect();
            let budget = base::Budget::new(20_000);
            let space = poly::Space { params: 0, dims: system.dims };
            let set = poly::Set::from_constraints(space, 0, &rows, &budget).ok()?;
            set.sample_point(&budget).ok()?.map(|p| p.dims)
        }
    }
}

/// Which terms the two accesses are. What stands for a part of one of them, or for the whole it is a part of, is near it.
fn marks(body: &Body, root: TermId, d: &Dependence) -> FxHashMap<TermId, u8> {
    let mut out: FxHashMap<TermId, u8> = FxHashMap::default();
    let ends = [(d.source, run::SOURCE, run::NEAR_SOURCE), (d.sink, run::SINK, run::NEAR_SINK)];
    for (t, exact, near) in ends {
        *out.entry(t).or_default() |= exact;
        if *body.op(t) == Op::Call {
            for x in body.walk(t) {
                *out.entry(x).or_default() |= near;
            }
        }
        for x in leading(body, t) {
            *out.entry(x).or_default() |= near;
        }
    }
    for x in body.walk(root) {
        match body.op(x) {
            Op::Index | Op::Member { .. } | Op::Deref | Op::Cast | Op::AddrOf => {
                for (t, _, near) in ends {
                    if x != t && leading(body, x).any(|y| y == t) {
                        *out.entry(x).or_default() |= near;
                    }
                }
            }
            Op::Call => {
                for (t, _, near) in ends {
                    if body.walk(x).any(|y| y == t) {
                        *out.entry(x).or_default() |= near;
                    }
                }
            }
            _ => {}
        }
    }
    out
}

/// From a place down to where it starts: the place it is a part of, and so on.
fn leading(body: &Body, t: TermId) -> impl Iterator<Item = TermId> + '_ {
    let inner = move |t: &TermId| match (body.op(*t), body.args(*t)) {
        (Op::Index, &[a, b]) => Some(if body.types.as_int(body.ty(a)).is_some() { b } else { a }),
        (Op::Member { .. } | Op::Deref | Op::AddrOf | Op::Cast, &[a]) => Some(a),
        _ => None,
    };
    std::iter::successors(inner(&t), inner).take(100)
}
