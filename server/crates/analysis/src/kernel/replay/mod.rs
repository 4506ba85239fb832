//! A kernel run thread by thread on what the text alone decides: indices, parameters and constants. What memory holds is
//! unknown, and so is all that is made of it.
//!
//! Where a condition is known a thread takes one way, where it is not it takes both, and what it does there is *possible*
//! instead of *certain*. Since no known value comes from another thread, a thread's trace is the same in every schedule; so the traces
//! of a launch hold every pair of accesses that can meet (`meet`). Loops whose conditions are not known are run once with
//! everything they set unknown.
//!
//! Of a launch with too many threads or steps a *part* can be looked at: some of its blocks, each thread from its beginning for so
//! many steps. What is certain there is certain in the launch; that something is absent there says nothing.
//!
//! Deliberately absent: values in memory, private arrays, what fences and atomics order (only that they may), launches that are
//! not known (`meet` is then no proof; see `symbolic`).

mod meet;
mod run;
mod values;

use std::sync::Arc;

use base::Budget;
use rustc_hash::FxHashMap;
use term::{Body, SymbolId, TermId};

pub(super) use meet::{judge, redundant, Meeting};

use super::collect::Seen;
use super::{glance, KernelLaunch, KernelObstacle};
use crate::limits::kernel_replay::{
    GLANCED_TIMES, MAX_EVENTS, MAX_STEPS, MAX_STEPS_OF_ANY, MAX_THREADS, MIN_GLANCED, PER_STEP,
};
use crate::Program;

/// A place in a function of the program.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(super) struct Site {
    /// Index into [`Trace::functions`].
    pub function: u32,
    pub term: TermId,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(super) enum Touch {
    Read,
    Write,
    Atomic,
}

/// Memory that several threads reach.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct KernelObject {
    pub name: Arc<str>,
    pub kind: ObjectKind,
    /// Bytes, if the text fixes them.
    pub bytes: Option<u64>,
    /// What a subscript of it counts.
    pub element: u64,
    pub restrict: bool,
    /// Shared memory whose size the launch says.
    pub dynamic: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum ObjectKind {
    /// What a parameter points to: two may be one.
    Parameter,
    /// A variable of the file.
    Global,
    Shared,
}

/// One access of one thread.
#[derive(Clone, Copy, Debug)]
pub(super) struct Event {
    pub site: Site,
    pub object: u32,
    /// Bytes from the object's start; `None`: anywhere in it.
    pub offset: Option<i64>,
    pub size: u32,
    pub touch: Touch,
    /// Whether the thread is sure to come there.
    pub certain: bool,
    pub volatile: bool,
    pub block: u32,
    pub thread: u32,
    /// Of the block, as `thread`.
    pub warp: u32,
    /// Block barriers and whole-warp barriers passed for certain.
    pub epoch: u32,
    pub warp_epoch: u32,
    /// Whether since then others were possibly passed.
    pub soft: bool,
    pub warp_soft: bool,
    /// What is written, if it is known: equal numbers, equal values.
    pub value: Option<u64>,
}

/// All that the threads of a launch do.
#[derive(Default)]
pub(super) struct Trace<'a> {
    pub functions: Vec<&'a Body>,
    pub objects: Vec<KernelObject>,
    pub events: Vec<Event>,
    /// Block barriers that all threads of a block pass, by block.
    pub barriers: Vec<Vec<Site>>,
    /// Barriers that are passed under conditions that are not known.
    pub soft_barriers: Vec<Site>,
    /// Barriers of which threads of a block pass different ones: (block, two threads, the barrier that the first comes to).
    pub missed: Option<Missed>,
    /// Warps whose lanes pass different warp barriers: nothing is said of them.
    pub uneven_warps: bool,
    /// A subscript of an array of arrays that is known to be none of its elements, and stays in the object perhaps.
    pub leaves_rows: bool,
    pub fences: bool,
    /// `atomicCAS` or `atomicExch`: what locks are made of.
    pub locks: bool,
    pub atomics: bool,
    /// Some thread was not followed to its end.
    pub cut: bool,
}

/// Two threads of a block that do not pass the same barriers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Missed {
    pub site: Site,
    pub block: u32,
    pub comes: u32,
    pub stays_away: u32,
}

/// The traces of all threads. `None` in `values` of the launch: the parameter may be anything.
pub(super) fn replay<'a>(
    body: &'a Body,
    program: &'a Program,
    launch: &KernelLaunch,
    seen: &Seen,
) -> Result<Trace<'a>, KernelObstacle> {
    let (Some(grid), Some(block)) = (launch.grid, launch.block) else {
        return Err(KernelObstacle::NoLaunch);
    };
    if count(grid).saturating_mul(count(block)) > MAX_STEPS / 4 || count(block) > MAX_THREADS {
        return Err(KernelObstacle::TooLarge);
    }
    if is_far_too_large(body, program, launch, seen, (grid, block)) {
        return Err(KernelObstacle::TooLarge);
    }
    let mut runner = run::Runner::new(body, program, grid, block, launch, &seen.exposed);
    // where the steps are too few it is too large for them
    runner.stop.0 = MAX_STEPS.min(seen.budget.left().saturating_mul(PER_STEP));
    followed(runner, 0..count(grid) as u32, count(block) as u32, &seen.budget)
}

/// Whether the launch takes far more steps, or touches far more places, than are followed.
fn is_far_too_large(
    body: &Body,
    program: &Program,
    launch: &KernelLaunch,
    seen: &Seen,
    (grid, block): ([u32; 3], [u32; 3]),
) -> bool {
    let all = (count(grid) * count(block)).max(1);
    let steps = GLANCED_TIMES * MAX_STEPS / all + 1;
    let events = (GLANCED_TIMES * MAX_EVENTS as u64 / all) as usize + 1;
    let mut runner = run::Runner::new(body, program, grid, block, launch, &seen.exposed);
    runner.each = Some((steps, events, 0));
    let found = glance::is_far_too_large(count(grid), count(block), MIN_GLANCED, |b, t| {
        // whoever follows them all says why one cannot be followed
        runner.thread(b, t).ok().map(|passed| passed.cut)
    });
    let _ = seen.budget.spend((runner.steps + runner.trace.events.len() as u64) / PER_STEP);
    found
}

/// The traces of the threads of these blocks of a launch, for about `steps` of all together, as many of each thread and some more
/// for a few.
pub(super) fn replay_part<'a>(
    body: &'a Body,
    program: &'a Program,
    launch: &KernelLaunch,
    seen: &Seen,
    blocks: &[u32],
    steps: u64,
) -> Result<Trace<'a>, KernelObstacle> {
    let (Some(grid), Some(block)) = (launch.grid, launch.block) else {
        return Err(KernelObstacle::NoLaunch);
    };
    if count(block) > MAX_THREADS {
        return Err(KernelObstacle::TooLarge);
    }
    // less than it asks for would tell less than it says
    if seen.budget.left() < steps / PER_STEP {
        let _ = seen.budget.spend(u64::MAX);
        return Err(KernelObstacle::Budget);
    }
    let mut runner = run::Runner::new(body, program, grid, block, launch, &seen.exposed);
    let threads = (blocks.len() as u64 * count(block)).max(1);
    runner.each = Some((steps.min(MAX_STEPS) / threads, MAX_EVENTS / 2 / threads as usize, steps / 2));
    followed(runner, blocks.iter().copied(), count(block) as u32, &seen.budget)
}

/// The traces of the threads of one block, whichever of whatever grid it is: what its number or the grid's extents decide is not known.
pub(super) fn replay_any_block<'a>(
    body: &'a Body,
    program: &'a Program,
    launch: &KernelLaunch,
    seen: &Seen,
) -> Result<Trace<'a>, KernelObstacle> {
    let block = launch.block.ok_or(KernelObstacle::NoLaunch)?;
    if count(block) > MAX_THREADS {
        return Err(KernelObstacle::TooLarge);
    }
    // there may be other blocks
    let mut runner = run::Runner::new(body, program, [2, 1, 1], block, launch, &seen.exposed);
    runner.any_block = true;
    runner.stop.0 = MAX_STEPS_OF_ANY.min(seen.budget.left().saturating_mul(PER_STEP));
    followed(runner, 0..1, count(block) as u32, &seen.budget)
}

fn followed<'a>(
    mut runner: run::Runner<'a>,
    blocks: impl Iterator<Item = u32>,
    per_block: u32,
    budget: &Budget,
) -> Result<Trace<'a>, KernelObstacle> {
    let follow = || {
        for b in blocks {
            let mut passed: Vec<run::Passed> = Vec::with_capacity(per_block as usize);
            for t in 0..per_block {
                if budget.is_cancelled() {
                    return Err(KernelObstacle::Budget);
                }
                passed.push(runner.thread(b, t)?);
            }
            runner.compare(b, passed);
        }
        Ok(())
    };
    let ended = follow();
    let _ = budget.spend(1 + (runner.steps + runner.trace.events.len() as u64) / PER_STEP);
    ended?;
    let mut trace = runner.trace;
    trace.soft_barriers.sort();
    trace.soft_barriers.dedup();
    Ok(trace)
}

pub(super) fn count(extents: [u32; 3]) -> u64 {
    extents.iter().fold(1u64, |p, &x| p.saturating_mul(x as u64))
}

impl Trace<'_> {
    pub fn body(&self, s: Site) -> &Body {
        self.functions[s.function as usize]
    }
}

/// Pairs of objects that may be one memory, where at least one is written.
pub(super) fn may_overlap(trace: &Trace) -> Vec<(u32, u32)> {
    let written: rustc_hash::FxHashSet<u32> =
        trace.events.iter().filter(|e| e.touch != Touch::Read).map(|e| e.object).collect();
    let touched: rustc_hash::FxHashSet<u32> = trace.events.iter().map(|e| e.object).collect();
    let mut out = Vec::new();
    for (a, x) in trace.objects.iter().enumerate() {
        for (b, y) in trace.objects.iter().enumerate().skip(a + 1) {
            let (n, m) = (a as u32, b as u32);
            let global = x.kind != ObjectKind::Shared && y.kind != ObjectKind::Shared;
            let parameter = x.kind == ObjectKind::Parameter || y.kind == ObjectKind::Parameter;
            let both = touched.contains(&n) && touched.contains(&m);
            if global
                && parameter
                && both
                && !(x.restrict || y.restrict)
                && (written.contains(&n) || written.contains(&m))
            {
                out.push((n, m));
            }
        }
    }
    out
}

/// (x, y, z) of a number, x fastest.
pub(super) fn coordinates(number: u32, extents: [u32; 3]) -> [u32; 3] {
    let [x, y, _] = extents.map(|e| e.max(1));
    [number % x, number / x % y, number / x / y]
}

/// Objects by what they are.
#[derive(Default)]
struct Names {
    known: FxHashMap<(ObjectKind, Arc<str>), u32>,
    /// Variables by function.
    variables: FxHashMap<(u32, SymbolId), u32>,
}
