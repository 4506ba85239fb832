//! Loop nests out of terms, and what can be proved of them.
//!
//! [`analyze`] gives the [`Facts`] of one body; [`offload`] adds, for one loop and on demand, what a kernel needs.
//! Deliberately absent: sentences for users (`ide` words the facts) and any look at the text.
#![forbid(unsafe_code)]

mod algebra;
mod alias;
mod calls;
mod classify;
mod context;
mod depend;
mod facts;
mod flow;
mod graph;
mod host;
mod kernel;
mod limits;
mod loops;
mod nest;
mod offload;
mod regions;
mod replay_witness;
mod solve;
mod threadmap;

use std::sync::Arc;

use base::{Budget, Effort};
use term::{Body, SymbolId, TermId};

pub use calls::files::{plain_name, FilePart, Linkage, OtherFile, OtherFiles, Unlinked};
pub use calls::function::DefinedIn;
pub use calls::program::Program;
pub use facts::entries::{Entry, EntryOwner, EntryValue};
pub use facts::memo::LazyFacts;
pub use facts::*;
pub use flow::liveness::leaves_early;
pub use flow::parts::base_symbol;
pub use graph::{Edge, Graph, Order};
pub use host::launch_extents::{launch_extent_terms, launch_extents, launch_only_value, launch_value};
pub use host::launch_given::{launch_given, CallSite, LaunchContext, LaunchGiven, Taken, TakenAs};
pub use host::{asks_of_launches, host_faults, HostContext, HostFault, SharedArray};
pub use kernel::{
    kernel, kernel_barriers, kernel_overflows, kernel_races, kernel_within, local_arrays,
    right_for_other_lanes, AccessFact, AnyDecision, AnyShape, Assumed, BarrierCount, BarrierFact,
    BarrierVerdict, BranchFact, DividedBranch, IndexOverflow, KernelFacts, KernelLaunch, KernelObstacle,
    LocalArray, LostUpdate, MissingFence, OutOfRange, Pattern, RaceObstacle, RaceSide, RaceVerdict,
    RaceWitness, Reach, Reload, Requests, SamePointers, Shapes, Split, Touch, Traffic, Undecided, Uniformity,
    Unwritten, WidthFault,
};
pub use limits::offload_own_cells::MAX_THREADS_OWN;
pub use offload::lane_mapping::mappings;
pub use offload::live::{file_arrays, FileArrays};
pub use offload::region::written::Written;
pub use offload::region::RegionGiven;
pub use regions::{Around, Fault, FaultKind, Need, Regions};
pub use replay_witness::{follow, Argument, Followed};
pub use threadmap::rounds::NoRounds;

/// Counted steps given to each loop while typing.
pub const TYPING_STEPS: u64 = 60_000;
/// Counted steps given to one question that a user asks of one loop: its dependence graph, a transformation.
pub const FULL_STEPS: u64 = 2_000_000;
/// Counted steps given to the description of one kernel ([`offload`]); what people write needs at most an eighth, loops that run in
/// waves some more.
pub const OFFLOAD_STEPS: u64 = 800_000;
/// Counted steps that a file gets for each of its bytes, besides those of its effort: plain code takes some five.
pub const STEPS_A_BYTE: u64 = 16;
/// Counted steps that a file gets for each of its kernels, likewise, where it is read with care: hard ones take up to three times as
/// many, most a tenth.
pub const STEPS_A_KERNEL: u64 = 1_000_000;
/// Threads of a launch of a kernel that are followed at most.
pub const FOLLOWED_THREADS: u64 = limits::kernel_trace::MAX_THREADS;
/// While the user types. A step of an easy loop is a fraction of a microsecond, of a hard one up to four: a file of a hundred
/// kilobytes takes about 2 s at most, and more only as it is longer.
pub const TYPING: Effort = Effort { each_loop: TYPING_STEPS, function: 400_000, file: 1_000_000 };
/// On save, when idle, and on the command line: a file of a hundred kilobytes takes about 10 s at most.
pub const SAVE: Effort = Effort { each_loop: 1_000_000, function: 3_000_000, file: 6_000_000 };
/// When a user asks for all of it and waits, until it is cancelled.
pub const COMMAND: Effort = Effort::each_loop(200_000_000);
/// Counted steps given to the search for one nest's thread map.
pub const THREAD_MAP_STEPS: u64 = 1_000_000;

/// The facts of every loop of a body. `effort` bounds the work on each loop by itself, so that an answer does not
/// depend on what stands around it, and that on all of them, in textual order (what a file has left is the caller's
/// business, see [`Facts::steps`]); `budget` only carries cancellation. `program`: what is known of the functions the body
/// calls ([`Program::default`]: nothing).
pub fn analyze(body: &Body, program: &Program, effort: Effort, budget: &Budget) -> Facts {
    let whole = budget.part(effort.function);
    // of what is not even read every loop is unknown
    if calls::inline::read(body.len(), &whole).is_err() {
        return loops::unread(body, &whole);
    }
    let mut facts = match calls::inline::expand(body, program) {
        None => loops::analyze(body, program, effort, &whole, body.len()),
        Some(e) => {
            if calls::inline::read(e.body.len().saturating_sub(body.len()), &whole).is_err() {
                return loops::unread(body, &whole);
            }
            let mut facts = loops::analyze(&e.body, program, effort, &whole, body.len());
            calls::project_facts::settle(&e, &mut facts);
            facts
        }
    };
    loops::grants::grant(body, program, effort, &whole, &mut facts);
    facts
}

/// The function with a loop as it is where none of its ways out is taken: `assert(!c)` for `if (c) { error(); return; }`, in functions
/// that it calls too, which are written out. It means the function for that loop alone, whose term it keeps, and under the conditions of
/// the loop's facts. `None` where there are none, or others than branches.
pub fn without_ways_out(body: &Body, program: &Program, target: TermId) -> Option<Body> {
    calls::inline::granted(body, program, target).map(|(e, _)| e.body)
}

/// What a kernel for this loop needs, or why there can be none. `collapse`: how many nested loops to run in parallel
/// at most (all that can be, if `None`; never more than three). `facts` are those of this body in this program.
pub fn offload(
    body: &Body,
    program: &Program,
    facts: &Facts,
    target: LoopId,
    collapse: Option<u32>,
    budget: &Budget,
) -> Result<Offload, Vec<Obstacle>> {
    offload::band::offload(body, program, facts, target, collapse, false, budget)
}

/// The same for a loop among others that use the same tables: a row that stays the same in the loop (`u[0]`) is one of its
/// table's rows, and no array of its own.
pub fn offload_among(
    body: &Body,
    program: &Program,
    facts: &Facts,
    target: LoopId,
    collapse: Option<u32>,
    budget: &Budget,
) -> Result<Offload, Vec<Obstacle>> {
    offload::band::offload(body, program, facts, target, collapse, true, budget)
}

/// What consecutive statements of a block need to run with their arrays on the device, or why they cannot. `nests`: the loops
/// in them that become kernels, in textual order, with what each needs ([`offload`]).
pub fn region(
    body: &Body,
    program: &Program,
    facts: &Facts,
    statements: &[TermId],
    nests: &[(LoopId, Offload)],
    given: RegionGiven<'_>,
    budget: &Budget,
) -> Result<Region, RegionTrouble> {
    offload::region::region(body, program, facts, statements, nests, given, budget)
}

/// The nests of such statements with parts of arrays that only a search finds, where it finds the same whenever they run, and what is
/// searched.
pub fn region_found_parts(
    body: &Body,
    program: &Program,
    facts: &Facts,
    statements: &[TermId],
    nests: &[(LoopId, Offload)],
) -> (Vec<(LoopId, Offload)>, Vec<FoundPart>) {
    offload::region::found::found_parts(body, program, facts, statements, nests)
}

/// The function with calls in consecutive statements of a block replaced by what they do, save those in `kernels`, so that the
/// nests in them can be kernels of one region; `None` where there are none to replace.
pub fn region_without_calls(written: &Written, program: &Program, kernels: &[TermId]) -> Option<Written> {
    offload::region::written::without_calls(written, program, kernels)
}

/// The function with `switch`, `goto` and ways out of consecutive statements of a block written as conditions and `break`, save in
/// `kernels`; `None` where there is none of these, or one that is not followed.
pub fn region_without_jumps(body: &Body, statements: &[TermId], kernels: &[TermId]) -> Option<Written> {
    offload::region::ways::without_jumps(body, statements, kernels)
}

/// The same function with numbers in structures that the statements leave alone (`m->n`, `m.n`) as variables, named by their text, and
/// whether some of them lie behind a pointer; `None` where there are none.
pub fn region_with_numbers(written: &Written, program: &Program) -> Option<(Written, bool)> {
    offload::region::numbers::with_numbers(written, program)
}

/// A call in the statements that keeps them from sharing data on the device, whatever nests they hold: seen at once, and no whole
/// answer.
pub fn region_is_kept_apart_by(body: &Body, program: &Program, statements: &[TermId]) -> Option<TermId> {
    offload::region::written::kept_apart_by(body, program, statements)
}

/// The same function with what uses memory beside the parallel loops as kernels of its own: single statements, numbers that only
/// kernels need, cells that loops accumulate in; `None` where there is nothing of it. `nests`: the outermost parallel loops in
/// the statements.
pub fn region_alone(written: &Written, facts: &Facts, nests: &[LoopId], budget: &Budget) -> Option<Written> {
    offload::region::alone::alone(written, facts, nests, budget)
}

/// The same function with nests in the statements written in rounds, of which each is whole kernels, where otherwise the host would
/// run loops in a loop. `kernels`: the parallel loops in the statements. `joined`: what one launch of a round can do is one kernel, and
/// [`NoRounds::Apart`] where nothing is.
pub fn region_in_rounds(
    written: &Written,
    program: &Program,
    facts: &Facts,
    kernels: &[TermId],
    joined: bool,
    budget: &Budget,
) -> Result<Written, NoRounds> {
    threadmap::rounds::in_rounds(written, program, facts, kernels, joined, budget)
}

/// The complete dependence graph of the nest that `root` is the outermost loop of, on demand and exact: what a
/// transformation of it must respect. `facts` are those of the same body.
pub fn nest_dependences(
    body: &Body,
    program: &Program,
    facts: &Facts,
    root: LoopId,
    budget: &Budget,
) -> Graph {
    graph::graph(body, program, facts, root, budget)
}

/// Variables that a loop writes and somebody may read after it.
pub fn live_out(body: &Body, program: &Program, facts: &Facts, root: LoopId) -> Vec<SymbolId> {
    graph::live_out(body, program, facts, root)
}

/// Whether a call of one of the program's functions only gives a value, the same each time as long as nothing is written that its
/// arguments lead to.
pub fn only_gives(body: &Body, program: &Program, call: TermId) -> bool {
    flow::called::function_only_gives(body, program, call)
}

/// Arrays that a statement names and of which nobody reads anything afterwards before it is written again, as far as that is known.
pub fn unread_after(
    body: &Body,
    program: &Program,
    statement: TermId,
    file: &FileArrays,
    budget: &Budget,
) -> Vec<SymbolId> {
    let named = body.walk(statement).filter_map(|t| body.as_symbol(t)).collect();
    let lives = offload::live::lives(body, program, &[statement], &named, file, budget);
    lives.into_iter().flatten().filter(|(_, l)| !l.after).map(|(s, _)| s).collect()
}

/// Scalars that each iteration of a loop writes before it reads them.
pub fn own_scalars(body: &Body, facts: &Facts, root: LoopId) -> Vec<SymbolId> {
    graph::own_scalars(body, facts, root)
}

/// Words that make what is found out of a function depend on who calls it ([`Program::of_part`]).
pub fn watched_words() -> Vec<String> {
    calls::mentions::words()
}

/// The value of an integer constant expression.
pub fn constant(body: &Body, t: TermId) -> Option<i128> {
    flow::counted_loop::constant(body, t)
}

/// `a - b` where both are evaluated at one moment and the difference is the same whatever the variables hold.
pub fn difference(body: &Body, a: TermId, b: TermId) -> Option<i128> {
    flow::terms::difference(body, a, b)
}

/// What the nest of a loop is like with the loop of `band` along the lanes of warps that asks for the fewest sectors.
/// `band`: the loops that are spread over threads, outermost first. Remembered in the facts, by the outermost one.
pub fn lane_mapping(
    body: &Body,
    program: &Program,
    facts: &Facts,
    band: &[LoopId],
    budget: &Budget,
) -> Option<Arc<Mapping>> {
    let &root = band.first()?;
    facts.lane_mappings.get(root, budget, || {
        let steps = budget.part(FULL_STEPS);
        let mut all = mappings(body, program, facts, band, &|_| None, gpu::Limits::default().lanes, &steps)?;
        let best = offload::lane_mapping::best(&all);
        Some(Arc::new(all.swap_remove(best)))
    })
}

/// How the instances of all statements of a nest can be spread over threads that never wait for one another, or why
/// not; no obstacle at all means that every affine map puts all instances into one thread. Looks at memory alone, so a
/// loop that is sequential may still have one. Remembered in the facts ([`Facts::thread_maps`]); every loop has steps
/// of its own, which `budget` pays for.
pub fn thread_map(
    body: &Body,
    program: &Program,
    facts: &Facts,
    target: LoopId,
    budget: &Budget,
) -> Result<Arc<ThreadMap>, Vec<Obstacle>> {
    facts.thread_maps.get(target, budget, || {
        let part = budget.part(THREAD_MAP_STEPS);
        let found = threadmap::thread_map(body, program, facts, target, &part).map(Arc::new);
        let _ = budget.spend(part.taken());
        found
    })
}

/// What a kernel needs that runs a nest's statements by its thread map ([`thread_map`]), or why there can be none.
pub fn offload_threads(
    body: &Body,
    program: &Program,
    facts: &Facts,
    target: LoopId,
    budget: &Budget,
) -> Result<Offload, Vec<Obstacle>> {
    threadmap::offload(body, program, facts, target, budget)
}
