//! What holds of a kernel for every thread: which values and branches are the same across the grid, a block or a warp, and
//! whether a barrier is reached by all threads of a block.
//!
//! *Uniform* is a proof: every operand is, and so is every condition that decides whether a variable is set. *Divergent* is
//! a witness: a launch, values of the parameters and two threads that differ, found by evaluating the conditions on
//! the way for small values. What neither settles is unknown, with what stopped it.
//!
//! Deliberately absent: what memory holds (a value loaded from memory that the kernel may write is unknown), pointers
//! to locals, jumps to labels. The simulator is the other judge: `testkit` holds the two against each other.

mod access;
mod anyshape;
mod collect;
mod cost;
mod effects;
mod eval;
mod glance;
mod interpret;
mod lanes;
mod local;
mod nums;
mod overflow;
mod patterns;
mod races;
mod replay;
mod requests;
mod sampled;
mod set_variables;
mod shapes;
mod steps;
mod symbolic;
mod trace;
mod traced;
mod uniformity;

use std::sync::Arc;

use base::Budget;
use rustc_hash::{FxHashMap, FxHashSet};
use term::device::Word;
use term::{Body, Op, SymbolId, TermId};

pub use access::{AccessFact, Traffic};
pub use anyshape::{AnyDecision, AnyShape, Assumed, Pattern, Undecided};
pub use cost::{DividedBranch, Reload};
pub use lanes::{right_for_other_lanes, Unwritten, WidthFault};
pub use local::{local_arrays, LocalArray};
pub use overflow::IndexOverflow;
pub use patterns::{LostUpdate, MissingFence};
pub use races::{
    kernel_races, OutOfRange, RaceObstacle, RaceSide, RaceVerdict, RaceWitness, Reach, Shapes, Touch,
};
pub use requests::Requests;
pub use traced::BarrierCount;

use crate::{Across, Program};

/// A launch. What is `None` may be anything.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct KernelLaunch {
    pub grid: Option<[u32; 3]>,
    pub block: Option<[u32; 3]>,
    /// Integer parameters by name.
    pub values: Vec<(Arc<str>, i128)>,
    /// Most threads of a block (`__launch_bounds__`).
    pub most_threads: Option<u32>,
    /// Elements of what parameters point to, by name.
    pub elements: Vec<(Arc<str>, u64)>,
    /// Bytes of dynamic shared memory.
    pub shared_bytes: Option<u64>,
    /// What the device has.
    pub limits: gpu::Limits,
    /// Values that were taken for it where the program leaves others open: what is said of it holds for these.
    pub taken: Vec<(Arc<str>, i64)>,
    pub same: SamePointers,
}

/// Parameters that are given the same pointer as another one before them: the later one first.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct SamePointers(pub Vec<[Arc<str>; 2]>);

impl SamePointers {
    /// The parameter whose pointer another one is: mostly itself.
    pub(crate) fn first<'n>(&'n self, name: &'n Arc<str>) -> &'n Arc<str> {
        self.0.iter().find(|[later, _]| later == name).map_or(name, |[_, first]| first)
    }
    /// Whether a pointer is given to several parameters: then none is `restrict`, whatever is written.
    pub(crate) fn is_shared(&self, name: &Arc<str>) -> bool {
        self.0.iter().flatten().any(|n| n == name)
    }
}

impl KernelLaunch {
    /// Without extents of which one is 0, and without blocks larger than any device has: such a launch starts no thread (CUDA
    /// refuses it; CUDA C++ Programming Guide, Technical Specifications per Compute Capability), so nothing is known by it.
    pub(crate) fn with_threads(&self) -> KernelLaunch {
        let some = |e: Option<[u32; 3]>| e.filter(|e| !e.contains(&0));
        let block = some(self.block).filter(|b| self.limits.fits_block(*b));
        KernelLaunch { grid: some(self.grid), block, ..self.clone() }
    }
}

/// Two threads that differ.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Split {
    pub grid: [u32; 3],
    pub block: [u32; 3],
    pub values: Vec<(Arc<str>, i128)>,
    pub block_index: [u32; 3],
    /// A thread for which the condition holds (that reaches the barrier), and one for which not.
    pub yes: [u32; 3],
    pub no: [u32; 3],
}

/// Why nothing is said.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum KernelObstacle {
    /// Its value depends on memory, a call, or something not understood.
    Value(TermId),
    /// A jump whose target is not followed, or a part of the kernel that is not understood.
    Structure(TermId),
    /// No witness among the launches and values tried.
    NotFound,
    /// Nothing says how the kernel is launched.
    NoLaunch,
    /// The launch has more threads or steps than are looked at.
    TooLarge,
    /// The proof for every launch asks more questions than are answered.
    Questions,
    /// In the launch numbers computed from indices may pass what their types hold.
    Wraps,
    /// Of some launches the text says a part, and what is proved of the others need not hold for them.
    OtherLaunches,
    /// The counted steps are used up.
    Budget,
}

/// What is known of a branch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Uniformity {
    Grid,
    Block,
    Warp,
    Divergent(Box<Split>),
    Unknown(KernelObstacle),
}

impl Uniformity {
    /// As the command line's contract names it.
    pub fn name(&self) -> &'static str {
        match self {
            Uniformity::Grid => "grid",
            Uniformity::Block => "block",
            Uniformity::Warp => "warp",
            Uniformity::Divergent(_) => "divergent",
            Uniformity::Unknown(_) => "unknown",
        }
    }
}

/// A branch: an `if`, a loop, a `switch` or a `?:`.
#[derive(Clone, Debug)]
pub struct BranchFact {
    pub term: TermId,
    pub uniformity: Uniformity,
    /// (active lanes, lanes for which the condition holds) and how often a warp decides it so: exact, where the trace of
    /// a known launch knows it.
    pub lanes: Option<std::collections::BTreeMap<(u32, u32), u64>>,
    /// Where that is not known: how a warp decides it whatever the launch.
    pub any_shape: Option<AnyDecision>,
}

/// What is known of a barrier.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum BarrierVerdict {
    /// All threads of a block reach it, equally often: with the launch that is known, else with any.
    Safe,
    Divergent(Box<Split>),
    Unknown(KernelObstacle),
}

/// A block barrier, or the call of a function that has one.
#[derive(Clone, Debug)]
pub struct BarrierFact {
    pub term: TermId,
    pub verdict: BarrierVerdict,
    /// Whether it orders nothing in the launch that is known.
    pub redundant: Option<bool>,
    /// How often it opens with a known launch, for how many threads, and how many of them had nothing to do before it.
    pub count: Option<BarrierCount>,
}

/// What is known of a kernel.
#[derive(Clone, Debug, Default)]
pub struct KernelFacts {
    /// In textual order.
    pub branches: Vec<BranchFact>,
    pub barriers: Vec<BarrierFact>,
    /// Accesses to what parameters point to, to shared and to file-scope variables. Through other pointers: not listed.
    pub accesses: Vec<AccessFact>,
    /// What each array of global memory moves, where all accesses are exactly known.
    pub traffic: Option<Vec<Traffic>>,
    pub races: RaceVerdict,
    /// Accesses that are sure to fall outside of their array, one a place. `None`: not looked at.
    pub out_of_range: Option<Vec<OutOfRange>>,
    pub lost_updates: Vec<LostUpdate>,
    pub missing_fences: Vec<MissingFence>,
    pub divided: Vec<DividedBranch>,
    /// Branches that part every warp that comes to them, whatever the launch.
    pub parted: Vec<TermId>,
    pub reloads: Vec<Reload>,
    pub overflows: Vec<IndexOverflow>,
    pub local_arrays: Vec<LocalArray>,
    /// What goes wrong with the lanes of the launch's device, and does not with those of the device that CUDA is for.
    pub other_lanes: Option<WidthFault>,
    /// Counted steps that finding them took: what a caller takes from the steps of the file.
    pub steps: u64,
    /// Whether some answer is unknown only because the budget was spent: a larger one may say more.
    pub out_of_budget: bool,
}

/// Judges a kernel. `program` knows the functions it calls.
pub fn kernel(body: &Body, program: &Program, launch: &KernelLaunch) -> KernelFacts {
    kernel_within(body, program, launch, &Budget::new(crate::SAVE.function))
}

/// The same with so many steps at most; what they do not reach is unknown.
pub fn kernel_within(body: &Body, program: &Program, launch: &KernelLaunch, budget: &Budget) -> KernelFacts {
    let launch = &launch.with_threads();
    if !matches!(body.op(body.root), Op::Function(_)) {
        return KernelFacts::default();
    }
    let before = budget.taken();
    let seen = collect::collect(body, program, budget);
    let levels = uniformity::levels(body, program, &seen, launch, None);
    let traced = trace::trace(body, program, &seen, launch);
    let any = anyshape::any_shape(body, program, &seen, launch);
    let parted = |t: TermId| traced.as_ref().and_then(|x| x.parted.get(&t)).cloned();
    let mut facts = KernelFacts::default();
    for b in &seen.branches {
        let across = levels.of(b.condition);
        let lanes = traced.as_ref().filter(|_| b.truth).and_then(|x| x.lanes(b.term));
        let whole = |l: &std::collections::BTreeMap<(u32, u32), u64>| {
            l.keys().all(|&(active, holds)| holds == 0 || holds == active)
        };
        let uniformity = match across {
            Across::Grid => Uniformity::Grid,
            Across::Block => Uniformity::Block,
            Across::Warp => Uniformity::Warp,
            Across::Nothing => match (parted(b.term), eval::branch(body, &seen, b, launch)) {
                (Some(split), _) | (None, Ok(split)) => Uniformity::Divergent(Box::new(split)),
                // every warp of the one launch there is was looked at
                (None, Err(_)) if lanes.as_ref().is_some_and(whole) => Uniformity::Warp,
                (None, Err(why)) => Uniformity::Unknown(why),
            },
        };
        let any_shape = any.decisions.get(&b.term).filter(|_| lanes.is_none()).cloned();
        facts.branches.push(BranchFact { term: b.term, uniformity, lanes, any_shape });
    }
    facts.barriers = barriers(body, &seen, &levels, launch);
    for (b, seen) in facts.barriers.iter_mut().zip(&seen.barriers) {
        b.count = traced.as_ref().filter(|_| !seen.in_callee).and_then(|x| x.barrier(b.term));
        if let (BarrierVerdict::Unknown(_), Some(split)) = (&b.verdict, parted(b.term)) {
            b.verdict = BarrierVerdict::Divergent(Box::new(split));
        }
        // when it opens for those that come depends on the device
        if matches!(b.verdict, BarrierVerdict::Divergent(_)) {
            b.count = None;
        }
    }
    facts.local_arrays = local::of(body, &seen, true);
    (facts.accesses, facts.traffic) =
        access::accesses(body, &seen, launch, traced.as_ref(), &facts.local_arrays, &any);
    facts.traffic = facts.traffic.take().filter(|_| launch.grid.is_some() && launch.block.is_some());
    facts.lost_updates = patterns::lost_updates(body, &seen);
    facts.lost_updates.extend(patterns::lost_extremes(body, &seen));
    facts.missing_fences = patterns::missing_fences(body, program, &seen);
    facts.divided = cost::divided(body, &seen, &facts.branches, traced.as_ref());
    facts.parted = cost::parted(body, &seen, &facts.branches);
    facts.reloads = cost::reloads(body, &seen);
    facts.overflows = overflow::overflows(body, &seen, launch);
    races::examine(body, program, &seen, launch, &mut facts);
    // what is seen to happen needs no guess
    if let RaceVerdict::Race(list) = &facts.races {
        let seen_there = |t: TermId| list.iter().any(|w| w.first.term == t || w.second.term == t);
        facts.lost_updates.retain(|u| u.subscript.is_some() || u.extreme.is_some() || !seen_there(u.place));
    }
    let alone = |e: Option<[u32; 3]>| e == Some([1; 3]);
    if alone(launch.grid) && alone(launch.block) {
        facts.lost_updates.retain(|u| u.subscript.is_some() || u.extreme.is_some());
    }
    let usual = gpu::Limits::default().lanes;
    if launch.limits.lanes != usual && launch.grid.is_some() && launch.block.is_some() {
        facts.other_lanes = lanes::fault(body, program, &seen, launch, usual);
    }
    facts.steps = budget.taken() - before;
    facts.out_of_budget = budget.left() == 0;
    if let (RaceVerdict::Unknown(why), true) = (&mut facts.races, facts.out_of_budget) {
        *why = RaceObstacle::Kernel(KernelObstacle::Budget);
    }
    facts
}

/// Across which threads the branches inside a loop of the host are decided alike if it is spread over threads, with the
/// loops around it whose indices are given. Second: whether nothing but the indices makes lanes differ.
pub(crate) fn loop_branches(
    body: &Body,
    program: &Program,
    inside: TermId,
    indices: &FxHashMap<SymbolId, Across>,
) -> Vec<(TermId, Across, bool)> {
    let seen = collect::collect(body, program, &Budget::new(crate::SAVE.function));
    let launch = KernelLaunch::default();
    let Some(parts) = body.loop_parts(inside) else { return Vec::new() };
    let terms: FxHashSet<TermId> = body.walk(parts.body).collect();
    let spread = |indices: FxHashMap<SymbolId, Across>| {
        uniformity::levels(
            body,
            program,
            &seen,
            &launch,
            Some(uniformity::Spread { indices, inside: terms.clone() }),
        )
    };
    let levels = spread(indices.clone());
    let alike = spread(indices.keys().map(|&s| (s, Across::Grid)).collect());
    let mine = seen.branches.iter().filter(|b| terms.contains(&b.term));
    mine.map(|b| (b.term, levels.of(b.condition), alike.of(b.condition) != Across::Nothing)).collect()
}

/// The overflows of subscripts alone.
pub fn kernel_overflows(body: &Body, program: &Program, launch: &KernelLaunch) -> Vec<IndexOverflow> {
    let launch = &launch.with_threads();
    if !matches!(body.op(body.root), Op::Function(_)) {
        return Vec::new();
    }
    overflow::overflows(body, &collect::collect(body, program, &Budget::new(crate::SAVE.function)), launch)
}

/// The barriers alone: cheap enough for every change of a document.
pub fn kernel_barriers(body: &Body, program: &Program, launch: &KernelLaunch) -> Vec<BarrierFact> {
    let launch = &launch.with_threads();
    if !matches!(body.op(body.root), Op::Function(_)) {
        return Vec::new();
    }
    let seen = collect::collect(body, program, &Budget::new(crate::SAVE.function));
    let levels = uniformity::levels(body, program, &seen, launch, None);
    barriers(body, &seen, &levels, launch)
}

fn barriers(
    body: &Body,
    seen: &collect::Seen,
    levels: &uniformity::Levels<'_>,
    launch: &KernelLaunch,
) -> Vec<BarrierFact> {
    let mut out = Vec::new();
    for b in &seen.barriers {
        let verdict = if let Some(t) = seen.unstructured {
            BarrierVerdict::Unknown(KernelObstacle::Structure(t))
        } else if b.always && levels.barrier(seen, b) <= Across::Block {
            BarrierVerdict::Safe
        } else if !b.always {
            BarrierVerdict::Unknown(KernelObstacle::Value(b.term))
        } else {
            match eval::barrier(body, seen, b, launch) {
                Ok(split) => BarrierVerdict::Divergent(Box::new(split)),
                Err(why) => BarrierVerdict::Unknown(why),
            }
        };
        out.push(BarrierFact { term: b.term, verdict, redundant: None, count: None });
    }
    out
}

/// The name a call calls; not where a variable says which function that is.
fn callee(body: &Body, call: TermId) -> Option<&str> {
    use term::Storage::{Builtin, Function, Undeclared};
    let variable = |s| !matches!(body.symbols[s].storage, Function | Undeclared | Builtin);
    body.callee_name(call).filter(|_| !body.callee(call).is_some_and(variable))
}

/// Whether a call is a barrier of the block.
fn is_barrier(body: &Body, call: TermId) -> bool {
    body.called_word(call).is_some_and(Word::is_block_barrier)
}
