//! The search for inputs with which a run comes to the loop and shows two iterations that meet.
//!
//! A run leaves the conditions that it met, with the inputs that each depends on. What comes next is tried best first: the
//! runs that came farthest on the way to the loop, and of their conditions the last ones, where the way was left. A place that
//! is not understood, and a value that is not known, are walls to be gone around: the conditions before them are turned.

use std::rc::Rc;

use rustc_hash::{FxHashMap, FxHashSet};
use term::TermId;

use super::formula::Tree;
use super::inputs::Inputs;
use super::run::{Event, Goal, Halt, Led, Meeting, Other, Reached, Run};
use super::solve::{keeps_trees, path, solve, tried, Change};
use super::values::{Fact, Id};
use super::{marks, Arrival, Givens, ReplaySite, Replayed, Search, RUN_STEPS};
use crate::limits::replay_witness_search::{
    FEW_RUNS, MAX_ARRIVED, MAX_CALLS, MAX_RUNS, MAX_WAITING, MAX_WAYS, STALLED,
};
use crate::{Dependence, NotReplayed, Param, Witness};

/// Inputs to try: those of an earlier run, with one thing changed.
struct Waiting {
    from: Rc<Left>,
    step: Step,
    /// The higher, the sooner.
    worth: i64,
    /// Runs before this one since one last came farther.
    stalled: i64,
    /// Runs before this one.
    depth: usize,
}

/// What is to be otherwise than in the run before.
enum Step {
    Nothing,
    Change(Change),
    /// The values with which it came to the loop so many times before.
    Values(usize),
    /// What decided this event.
    Turn(usize),
}

/// Replays a dependence's witness, or finds another of the same two accesses. A function that only its own file calls is run for the calls
/// there, as far as their arguments are constant.
pub(crate) fn replay(
    place: &ReplaySite<'_>,
    d: &Dependence,
    witness: &Witness,
    search: &mut Search,
) -> Replayed {
    let name = &place.body.name;
    if place.program.is_internal(name) {
        search.followed.insert(format!("{name}(").into());
    }
    let mut first = None;
    for arguments in place.program.called_with(name).into_iter().take(MAX_CALLS) {
        if *search.arguments != *arguments {
            (search.arguments, search.inputs) = (arguments.into(), Inputs::default());
            search.arrived.clear();
        }
        match replay_for_call(place, d, witness, search) {
            Replayed::Not(..) if first.is_some() => {}
            not @ Replayed::Not(..) => first = Some(not),
            seen => return seen,
        }
    }
    first.unwrap_or(Replayed::Not(NotReplayed::NotReached, None, Vec::new()))
}

fn replay_for_call(
    place: &ReplaySite<'_>,
    d: &Dependence,
    witness: &Witness,
    search: &mut Search,
) -> Replayed {
    let goal = Goal {
        body: place.body,
        root: place.root,
        around: place.around.iter().copied().collect(),
        controls: place.controls.clone(),
        kind: d.kind,
        witness: witness.clone(),
        places: &place.places,
        ways: &place.ways,
        marks: marks(place.body, place.root, d),
        arguments: search.arguments.clone(),
    };
    let symbol = |(p, v): &(Param, i128)| match p {
        Param::Symbol(s) => Some((*s, *v)),
        _ => None,
    };
    search.inputs.guess(witness.params.iter().filter_map(symbol).collect());
    let nothing = Rc::new(Left {
        why: (NotReplayed::Steps, None),
        given: Givens::default(),
        events: Vec::new(),
        reached: Vec::new(),
        turns: Vec::new(),
        progress: 0,
        rounds: 0,
        starved: false,
        base: 0,
    });
    let mut waiting =
        vec![Waiting { from: nothing.clone(), step: Step::Nothing, worth: i64::MAX, stalled: 0, depth: 0 }];
    for given in &search.arrived {
        let change = given.iter().map(|(id, g)| (*id, Some(*g))).collect();
        let (from, worth) = (nothing.clone(), i64::MAX - 1);
        waiting.push(Waiting { from, step: Step::Change(change), worth, stalled: 0, depth: 1 });
    }
    let mut met_before: FxHashSet<String> = FxHashSet::default();
    let mut arrived: Vec<Arrival> = Vec::new();
    // The first run's reason is told: it is the one with the witness's own values.
    let mut reason: Option<(NotReplayed, Option<TermId>)> = None;
    let most = if search.tried { FEW_RUNS } else { MAX_RUNS };
    let mut runs = 0;
    // The next dependence has its share.
    let kept = search.steps / 2;
    while runs < most && search.steps > kept {
        // Every third time what is nearest to the beginning: the best way may lead nowhere.
        let next = match runs % 3 {
            2 => (0..waiting.len()).min_by_key(|&k| (waiting[k].depth, k)),
            _ => (0..waiting.len()).max_by_key(|&k| (waiting[k].worth, std::cmp::Reverse(k))),
        };
        let Some(next) = next else { break };
        let Waiting { from, step, mut stalled, depth, .. } = waiting.remove(next);
        let step_was = match &step {
            Step::Turn(k) => Some(*k),
            _ => None,
        };
        let Some(given) = next_inputs(&goal, &from, step, &search.inputs, &mut search.steps) else {
            continue;
        };
        let mut key: Vec<_> = given.iter().collect();
        key.sort_by_key(|x| *x.0);
        if !met_before.insert(format!("{key:?}")) {
            continue;
        }
        let began = given.clone();
        let fed = match &step_was {
            Some(k) => from.events.get(*k).is_some_and(|e| e.led == Led::Fed),
            None => false,
        };
        let mut left = match all_ways(&goal, place, given, search, &mut runs) {
            Ok(m) => {
                let entry = search.inputs.entries(&began);
                // The loop's next dependence is likely to show with the same.
                search.arrived.retain(|a| *a != began);
                search.arrived.insert(0, began);
                search.arrived.truncate(MAX_ARRIVED);
                return Replayed::Seen(Witness { entry, ..said(&goal, &m) });
            }
            Err(left) => *left,
        };
        left.base = left.distance();
        if fed && left.base < from.base {
            left.base = from.base;
        }
        let left = Rc::new(left);
        if reason.is_none() {
            reason = Some(left.why);
        }
        if !left.reached.is_empty() && search.arrived.len() < MAX_ARRIVED {
            search.arrived.push(left.given.clone());
        }
        for r in left.reached.iter().take(6usize.saturating_sub(arrived.len())) {
            let there = r.values.iter().zip(&witness.params);
            let values = there.filter_map(|(v, (p, _))| v.clone().map(|(now, form)| (*p, now, form)));
            arrived.push(Arrival {
                facts: path(&left.events[..r.events.min(left.events.len())]),
                values: values.collect(),
            });
        }
        stalled = if left.base > from.base { 0 } else { stalled + 1 };
        for (step, less) in steps_from(&left) {
            if waiting.len() < MAX_WAITING {
                let worth = left.base * 8 - less - STALLED * stalled;
                waiting.push(Waiting { from: left.clone(), step, worth, stalled, depth: depth + 1 });
            }
        }
    }
    search.tried = true;
    let (why, at) = reason.unwrap_or((NotReplayed::Steps, None));
    Replayed::Not(why, at, arrived)
}

/// What a run leaves that did not show a meeting.
struct Left {
    why: (NotReplayed, Option<TermId>),
    given: Givens,
    events: Vec<Event>,
    reached: Vec<Reached>,
    turns: Vec<usize>,
    progress: u32,
    rounds: i128,
    starved: bool,
    /// What a step from here is worth before all else: how far the run came, or the one before it where this one took a way that
    /// a later one needs.
    base: i64,
}

impl Left {
    /// How far it came.
    fn distance(&self) -> i64 {
        i64::from(self.progress) * 2 + 2 * i64::from(!self.reached.is_empty()) + 2 * self.rounds.min(2) as i64
    }
}

/// Runs with these inputs, one for every way that what is not known may go: all have to show the same meeting.
fn all_ways(
    goal: &Goal<'_>,
    place: &ReplaySite<'_>,
    given: Givens,
    search: &mut Search,
    runs: &mut usize,
) -> Result<Meeting, Box<Left>> {
    let mut choices: Vec<bool> = Vec::new();
    let mut seen: Option<Meeting> = None;
    let mut whole = false;
    for _ in 0..MAX_WAYS {
        *runs += 1;
        // Who needs many steps shall not take those of all others.
        let limit = (if *runs == 1 { RUN_STEPS } else { RUN_STEPS / 3 }).min(search.steps);
        let mut run = Run::new(goal, place.program, &mut search.inputs, &given, &choices, limit);
        run.only = seen.as_ref();
        let mut halt = run.all();
        let used = run.steps + 50;
        if let (Halt::Fail(..), Some(m)) = (&halt, run.nearly.take()) {
            halt = Halt::Seen(m);
        }
        let mut taken = std::mem::take(&mut run.taken);
        let (events, reached) = (std::mem::take(&mut run.events), std::mem::take(&mut run.reached));
        let (turns, progress, rounds) = (std::mem::take(&mut run.turns), run.progress, run.rounds);
        search.followed.extend(run.followed.drain());
        let starved = run.starved;
        search.steps = search.steps.saturating_sub(used);
        match halt {
            Halt::Seen(m) => {
                seen.get_or_insert(m);
                // The last place where the other way was not followed yet.
                while taken.last() == Some(&false) {
                    taken.pop();
                }
                match taken.pop() {
                    Some(_) => taken.push(false),
                    None => {
                        whole = true;
                        break;
                    }
                }
                choices = taken;
            }
            Halt::Fail(why, at) => {
                return Err(Box::new(Left {
                    why: (if taken.is_empty() { why } else { NotReplayed::Value }, at),
                    given,
                    events,
                    reached,
                    turns,
                    progress,
                    rounds,
                    starved,
                    base: 0,
                }));
            }
        }
        if search.steps == 0 {
            break;
        }
    }
    match seen {
        Some(m) if whole => Ok(m),
        _ => Err(Box::new(Left {
            why: (NotReplayed::Steps, None),
            given,
            events: Vec::new(),
            reached: Vec::new(),
            turns: Vec::new(),
            progress: 0,
            rounds: 0,
            starved: false,
            base: 0,
        })),
    }
}

/// The witness that a meeting is.
fn said(goal: &Goal<'_>, m: &Meeting) -> Witness {
    let w = &goal.witness;
    let same = |now: &[Option<i128>], was: &mut dyn Iterator<Item = i128>| {
        now.iter().zip(was).all(|(n, w)| *n == Some(w))
    };
    let as_asked = m.source_iteration == w.source_iteration
        && m.sink_iteration == w.sink_iteration
        && same(&m.params, &mut w.params.iter().map(|p| p.1));
    if as_asked {
        return w.clone();
    }
    let values = |now: &[Option<i128>], of: &[(term::SymbolId, i128)]| {
        of.iter().zip(now).filter_map(|((s, _), v)| v.map(|v| (*s, v))).collect()
    };
    let params = w.params.iter().zip(&m.params).filter_map(|((p, _), v)| v.map(|v| (*p, v)));
    Witness {
        params: params.collect(),
        source: values(&m.source, &w.source),
        sink: values(&m.sink, &w.sink),
        source_iteration: m.source_iteration,
        sink_iteration: m.sink_iteration,
        // Which cell it is, is for the model to say.
        cell: Vec::new(),
        on_data: w.on_data,
        entry: Vec::new(),
    }
}

/// What to try after a run, and what that is worth less than the best: the values at the loop, then its conditions, those first
/// that led it away.
fn steps_from(left: &Left) -> Vec<(Step, i64)> {
    let mut out: Vec<(Step, i64)> = Vec::new();
    for (k, r) in left.reached.iter().take(4).enumerate() {
        if !r.links.is_empty() {
            out.push((Step::Change(r.links.iter().map(|(id, g)| (*id, Some(*g))).collect()), 0));
        }
        out.push((Step::Values(k), 0));
    }
    let mut turned: FxHashSet<usize> = FxHashSet::default();
    let mut rank = 0;
    let mut of_branch: FxHashMap<TermId, i64> = FxHashMap::default();
    let mut turn = |k: usize, less: i64| {
        let open = left.events.get(k).is_some_and(|e| !matches!(e.other, Other::No) && e.led != Led::Moot);
        if open && turned.insert(k) {
            rank += 1;
            // One branch in many rounds is not all there is.
            let again = left.events[k].by.map_or(0, |by| {
                let n = of_branch.entry(by).or_default();
                *n += 1;
                (*n - 2).max(0) * 3
            });
            out.push((Step::Turn(k), rank + less + again));
        }
        open
    };
    // Where the way was left: first what came soonest after the root, then from the end back.
    let all = 0..left.events.len();
    let away = |k: &usize| left.events[*k].led == Led::Away;
    let last = left.reached.last().map_or(left.events.len(), |r| r.events);
    let fed = |k: &usize| left.events[*k].led == Led::Fed;
    // The root has too few iterations.
    if left.starved {
        for k in all.clone().rev().filter(fed).take(4) {
            turn(k, 0);
        }
    }
    for k in all.clone().skip(last).filter(away).take(4) {
        turn(k, 0);
    }
    // Of many rounds the last or the first.
    let ends = all.clone().rev().find(away).into_iter().chain(all.clone().find(away));
    for k in ends.chain(all.clone().rev().filter(away).take(12)) {
        turn(k, 0);
    }
    for k in all.clone().rev().filter(fed).take(8) {
        turn(k, 2);
    }
    // What nothing that can be turned decided may come from what was decided before.
    for &k in left.turns.iter().rev().filter(|&&k| k == 0 || left.events[k - 1].led != Led::Away) {
        (0..k).rev().filter(|&k| turn(k, 4)).take(2).for_each(drop);
    }
    for k in all.clone().rev().filter(|k| left.events[*k].led == Led::On).take(12) {
        turn(k, 8);
    }
    all.clone().rev().filter(|&k| turn(k, 12)).take(20).for_each(drop);
    if let Some(r) = left.reached.first() {
        (0..r.events).rev().filter(|&k| turn(k, 12)).take(3).for_each(drop);
    }
    out
}

/// The inputs of the next run; `None`: none are found.
fn next_inputs(goal: &Goal<'_>, left: &Left, step: Step, inputs: &Inputs, steps: &mut u64) -> Option<Givens> {
    let events = &left.events;
    let change = match step {
        Step::Nothing => Vec::new(),
        Step::Change(c) => c,
        Step::Values(k) => {
            let r = &left.reached[k];
            let mut facts = path(&events[..r.events.min(events.len())]);
            let before = facts.len();
            let mut open = false;
            for (v, (_, want)) in r.values.iter().zip(&goal.witness.params) {
                let Some((now, form)) = v else { continue };
                open |= now != want;
                match form.clone().filter(|f| !f.is_constant()) {
                    // What is as wanted has to stay so.
                    Some(mut f) => {
                        f.constant -= want;
                        facts.push(Fact::zero(f));
                    }
                    None if now != want => return None,
                    None => {}
                }
            }
            let asked = facts.len() - before;
            open.then(|| solve(facts, asked, inputs, steps))??
        }
        Step::Turn(k) => {
            let event = events.get(k)?;
            match &event.other {
                Other::No => return None,
                Other::Give(id, g) => vec![(*id, Some(*g))],
                Other::Usual(id) => vec![(*id, None)],
                Other::Make(tree, want) => {
                    let now = |id: Id| left.given.get(&id).copied();
                    tried(tree, *want, &events[..k], inputs, &now, steps)?
                }
                Other::Tree => {
                    let (tree, held) = event.tree.as_ref()?;
                    let now = |id: Id| left.given.get(&id).copied();
                    tried(tree, !held, &events[..k], inputs, &now, steps)?
                }
                Other::Fact(f) => {
                    let mut facts = path(&events[..k]);
                    facts.push(f.clone());
                    // What stands against it may have been asked on a way that need not be taken.
                    let now = |id: Id| left.given.get(&id).copied();
                    let solved = solve(facts, 1, inputs, steps);
                    match solved.filter(|c| keeps_trees(c, &events[..k], inputs, &now)) {
                        Some(c) => c,
                        None => tried(&Tree::of_fact(f)?, true, &events[..k], inputs, &now, steps)
                            .or_else(|| solve(vec![f.clone()], 1, inputs, steps))?,
                    }
                }
            }
        }
    };
    let mut given = left.given.clone();
    for (id, g) in change {
        match g {
            Some(g) => given.insert(id, g),
            None => given.remove(&id),
        };
    }
    Some(given)
}
