//! Whether two threads of a kernel can touch one place without order.
//!
//! *Free* is a proof for the launch that is known, whatever memory holds and whatever the parameters that nobody gives are; it
//! names the parameters that must not overlap. *Race* is two accesses that happen in every schedule. Without a launch the
//! kernel is run with several, and a race is one that all of them show within a block.

use std::sync::Arc;

use term::{Body, Op, TermId};

use super::collect::Seen;
use super::replay::{self, Meeting, ObjectKind, Site, Trace};
use super::symbolic;
use super::{BarrierFact, BarrierVerdict, KernelFacts, KernelLaunch, KernelObstacle, Split};
use crate::Program;

/// How far apart two threads stand.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Reach {
    /// In one warp: `__syncwarp` could order them.
    Warp,
    /// In one block: a barrier could.
    Block,
    /// In two blocks.
    Grid,
}

/// What a thread does to a place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Touch {
    Read,
    Write,
    Atomic,
}

/// One of two accesses.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RaceSide {
    /// Function of the program.
    pub function: Arc<str>,
    pub term: TermId,
    pub touch: Touch,
    pub block: [u32; 3],
    pub thread: [u32; 3],
}

/// Two accesses of one place that nothing orders.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RaceWitness {
    pub object: Arc<str>,
    pub shared: bool,
    /// Element of the object, as its elements are numbered from its start.
    pub index: i64,
    pub first: RaceSide,
    pub second: RaceSide,
    pub reach: Reach,
    /// One statement reads and writes the place: an atomic operation would do.
    pub update: bool,
    /// The launch, and the values of parameters.
    pub launch: KernelLaunch,
}

/// What is known.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RaceVerdict {
    /// No two threads touch a place without order, if none of these pairs of parameters overlap.
    Free {
        apart: Vec<[Arc<str>; 2]>,
        /// The launches for which it is proved; `None`: the one that is known.
        shapes: Option<Shapes>,
    },
    /// Never empty.
    Race(Vec<RaceWitness>),
    Unknown(RaceObstacle),
}

/// Launches for which something is proved: any number of blocks and threads along the first `axes` axes and one along the
/// others, fewer than 2^31 threads along each axis, and no counter of a loop that passes the end of its type.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Shapes {
    pub axes: u32,
    /// Only with blocks of this shape.
    pub block: Option<[u32; 3]>,
}

impl Default for RaceVerdict {
    fn default() -> RaceVerdict {
        RaceVerdict::Unknown(RaceObstacle::Kernel(KernelObstacle::NoLaunch))
    }
}

/// Why nothing is said.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RaceObstacle {
    Kernel(KernelObstacle),
    /// A barrier that not all threads are known to reach.
    Barrier(TermId),
    /// Whether these two meet depends on what memory holds, or on what orders blocks.
    MayMeet {
        object: Arc<str>,
        first: (Arc<str>, TermId),
        second: (Arc<str>, TermId),
    },
    /// Free with these blocks, which the shape of a shared array suggests; not shown for others.
    OtherBlocks(Shapes),
    /// An access falls outside of its array: what it touches is anybody's guess.
    OutOfRange(Arc<str>, TermId),
    /// Threads write one value to one place.
    SameValue {
        object: Arc<str>,
        term: TermId,
    },
}

/// Witnesses listed at most.
const MAX_LISTED: usize = 8;
/// Blocks tried where no launch is known.
const BLOCKS: [u32; 6] = [32, 64, 128, 256, 512, 1024];
/// Their extents along x where the kernel names more axes.
const WIDTHS: [u32; 3] = [8, 16, 32];

/// An access of one thread outside of its array.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OutOfRange {
    pub object: Arc<str>,
    pub shared: bool,
    /// Shared memory whose size the launch says.
    pub dynamic: bool,
    pub index: i64,
    /// Elements there are.
    pub length: u64,
    pub side: RaceSide,
    /// How many threads do so at this place, over the whole launch.
    pub threads: u64,
}

/// The races alone.
pub fn kernel_races(body: &Body, program: &Program, launch: &KernelLaunch) -> RaceVerdict {
    let launch = &launch.with_threads();
    super::kernel(body, program, launch).races
}

/// Fills in what the traces of the launch tell: races, and of barriers what their own conditions did not tell.
pub(super) fn examine(
    body: &Body,
    program: &Program,
    seen: &Seen,
    launch: &KernelLaunch,
    facts: &mut KernelFacts,
) {
    if launch.grid.is_none() || launch.block.is_none() {
        facts.races = match symbolic_verdict(body, program, seen, launch) {
            Ok(free) => free,
            Err(why) => match guessed(body, program, seen, launch) {
                RaceVerdict::Unknown(_) => RaceVerdict::Unknown(why),
                told => told,
            },
        };
        return;
    }
    let trace = match replay::replay(body, program, launch, &seen.exposed) {
        Ok(t) => t,
        Err(why) => {
            let unknown = |_| RaceVerdict::Unknown(RaceObstacle::Kernel(why));
            facts.races = symbolic_verdict(body, program, seen, launch).unwrap_or_else(unknown);
            return;
        }
    };
    barriers(&trace, launch, &mut facts.barriers);
    facts.races = match with_launch(&trace, &facts.barriers, launch) {
        // what memory or a parameter decides may be decided by a proof
        RaceVerdict::Unknown(why) if !matches!(why, RaceObstacle::SameValue { .. }) => {
            symbolic_verdict(body, program, seen, launch).unwrap_or(RaceVerdict::Unknown(why))
        }
        told => told,
    };
    let outside = out_of_range(&trace, launch);
    if let (RaceVerdict::Free { .. }, Some(o)) = (&facts.races, outside.first()) {
        let side = &o.side;
        facts.races = RaceVerdict::Unknown(RaceObstacle::OutOfRange(side.function.clone(), side.term));
    }
    if let (RaceVerdict::Free { .. }, false) = (&facts.races, trace.fences) {
        for b in &mut facts.barriers {
            let site = Site { function: 0, term: b.term };
            let plain = super::callee(body, b.term) == Some("__syncthreads");
            if plain && trace.soft_barriers.is_empty() && trace.barriers.iter().any(|l| l.contains(&site)) {
                b.redundant = replay::redundant(&trace, site).ok();
            }
        }
    }
    facts.out_of_range = Some(outside);
}

/// The shape of the first shared array, as a block: rows along y.
fn tile_of(body: &Body) -> Option<[u32; 3]> {
    let of = |ty| match body.types.kind(ty) {
        term::TypeKind::Array { of, len: term::Len::Const(n) } => Some((*of, u32::try_from(*n).ok()?)),
        _ => None,
    };
    body.symbols.iter().filter(|s| s.storage == term::Storage::Shared).find_map(|s| {
        let (row, n) = of(s.ty)?;
        let block = of(row).map_or([n, 1, 1], |(_, m)| [m, n, 1]);
        (block.iter().product::<u32>() <= 1024).then_some(block)
    })
}

/// How many axes a proof must be for: every launch has threads along x; along the others those have that name them, and the
/// known one.
fn axes_of(body: &Body, program: &Program, launch: &KernelLaunch) -> u32 {
    let named = super::eval::axes(body, program);
    let wide = |a: usize| launch.block.is_some_and(|b| b[a] > 1) || launch.grid.is_some_and(|g| g[a] > 1);
    (1..3).rev().find(|&a| named[a] || wide(a)).map_or(1, |a| a as u32 + 1)
}

/// A proof for every launch, else for every one with these blocks, else for this one.
fn symbolic_verdict(
    body: &Body,
    program: &Program,
    seen: &Seen,
    launch: &KernelLaunch,
) -> Result<RaceVerdict, RaceObstacle> {
    let any = KernelLaunch { most_threads: launch.most_threads, ..KernelLaunch::default() };
    let blocks = KernelLaunch { block: launch.block, ..any.clone() };
    let this = KernelLaunch { grid: launch.grid, ..blocks.clone() };
    let axes = axes_of(body, program, launch);
    let prove = |l: &KernelLaunch| symbolic::prove(body, program, seen, l, axes);
    let free = |p: symbolic::Proof, l: &KernelLaunch| RaceVerdict::Free {
        shapes: l.grid.is_none().then_some(Shapes { axes, block: l.block }),
        apart: p.apart,
    };
    let mut out = prove(&any).map(|p| free(p, &any));
    for wider in [&blocks, &this] {
        if out.is_err() && *wider != any {
            out = prove(wider).map(|p| free(p, wider)).or(out);
        }
    }
    // blocks as large as the tile they share
    let tile = tile_of(body).filter(|_| launch.block.is_none());
    if let (Err(_), Some(tile)) = (&out, tile) {
        let tiled = KernelLaunch { block: Some(tile), ..any };
        if prove(&tiled).is_ok() {
            return Err(RaceObstacle::OtherBlocks(Shapes { axes, block: Some(tile) }));
        }
    }
    out
}

/// What the traces say of barriers of which nothing was known.
fn barriers(trace: &Trace, launch: &KernelLaunch, barriers: &mut [BarrierFact]) {
    for b in barriers {
        if !matches!(b.verdict, BarrierVerdict::Unknown(_)) {
            continue;
        }
        let own = |s: &Site| s.function == 0 && s.term == b.term;
        match &trace.missed {
            None => {
                // the call of a function with barriers: those barriers
                let inside = super::callee(trace.functions[0], b.term).is_none_or(|n| !super::is_barrier(n));
                if !trace.soft_barriers.iter().any(|s| own(s) || inside) {
                    b.verdict = BarrierVerdict::Safe;
                }
            }
            Some(m) if own(&m.site) => {
                let (Some(grid), Some(block)) = (launch.grid, launch.block) else { return };
                b.verdict = BarrierVerdict::Divergent(Box::new(Split {
                    grid,
                    block,
                    values: launch.values.clone(),
                    block_index: replay::coordinates(m.block, grid),
                    yes: replay::coordinates(m.comes, block),
                    no: replay::coordinates(m.stays_away, block),
                }));
            }
            Some(_) => {}
        }
    }
}

fn out_of_range(trace: &Trace, launch: &KernelLaunch) -> Vec<OutOfRange> {
    let mut out: Vec<OutOfRange> = Vec::new();
    for e in trace.events.iter().filter(|e| e.certain) {
        let object = &trace.objects[e.object as usize];
        let (Some(bytes), Some(offset)) = (object.bytes, e.offset) else { continue };
        if offset >= 0 && offset as u64 + e.size as u64 <= bytes {
            continue;
        }
        let same =
            |o: &&mut OutOfRange| o.side.term == e.site.term && *o.side.function == *trace.body(e.site).name;
        if let Some(o) = out.iter_mut().find(same) {
            o.threads += 1;
            continue;
        }
        out.push(OutOfRange {
            object: object.name.clone(),
            shared: object.kind == ObjectKind::Shared,
            dynamic: object.dynamic,
            index: offset.div_euclid(object.element.max(1) as i64),
            length: bytes / object.element.max(1),
            side: side(trace, e, launch),
            threads: 1,
        });
    }
    out
}

fn with_launch(trace: &Trace, barriers: &[BarrierFact], launch: &KernelLaunch) -> RaceVerdict {
    if let Some(m) = trace.missed {
        return RaceVerdict::Unknown(RaceObstacle::Barrier(m.site.term));
    }
    let meetings = match replay::judge(trace) {
        Ok(list) => list,
        Err(why) => return RaceVerdict::Unknown(RaceObstacle::Kernel(why)),
    };
    let listed = witnesses(trace, &meetings, launch);
    if !listed.is_empty() {
        return RaceVerdict::Race(listed);
    }
    let Some(m) = meetings.first() else {
        // a barrier under a condition that is not known must still be reached by all or none
        let safe = |s: &Site| {
            s.function == 0 && barriers.iter().any(|b| b.term == s.term && b.verdict == BarrierVerdict::Safe)
        };
        return match trace.soft_barriers.iter().find(|s| !safe(s)) {
            Some(s) => RaceVerdict::Unknown(RaceObstacle::Barrier(s.term)),
            None => RaceVerdict::Free { apart: apart(trace), shapes: None },
        };
    };
    let object = trace.objects[m.first.object as usize].name.clone();
    let place = |s: Site| (trace.body(s).name.clone(), s.term);
    RaceVerdict::Unknown(if m.certain && m.same_value {
        RaceObstacle::SameValue { object, term: m.first.site.term }
    } else {
        RaceObstacle::MayMeet { object, first: place(m.first.site), second: place(m.second.site) }
    })
}

/// Within a block, for launches tried: where the text fixes the sizes of arrays, with the largest block that stays inside of them
/// and has no more threads than elements, and with all larger ones that stay inside; else with all. A race that only some launches have may be none for those that are meant.
fn guessed(body: &Body, program: &Program, seen: &Seen, launch: &KernelLaunch) -> RaceVerdict {
    let unknown = |why| RaceVerdict::Unknown(RaceObstacle::Kernel(why));
    let named = super::eval::axes(body, program);
    // written for one thread
    if named == [false; 3] && launch.block.is_none() {
        return unknown(KernelObstacle::NoLaunch);
    }
    let flat = !named[1] && !named[2];
    let open: Vec<Arc<str>> =
        super::eval::parameters(body).filter(|n| !launch.values.iter().any(|(m, _)| m == n)).collect();
    let most = launch.most_threads.unwrap_or(1024);
    // blocks of as many threads
    let alike = |t: u32| match launch.block {
        Some(b) => vec![b],
        None if flat => vec![[t, 1, 1]],
        None => WIDTHS.map(|x| [x, t / x, 1]).to_vec(),
    };
    let attempt = |b: [u32; 3]| try_block(body, program, seen, launch, &open, b);
    let sizes: Vec<u32> = BLOCKS.into_iter().filter(|b| *b <= most && launch.block.is_none()).collect();
    let (first, room) = match attempt(alike(32)[0]) {
        Ok(t) => (t.found, t.room),
        Err(why) => return unknown(why),
    };
    // more threads than elements: subscripts that stay inside all the same may be meant for fewer
    let (small, large): (Vec<u32>, Vec<u32>) =
        sizes.iter().partition(|&&t| room.is_some_and(|r| u64::from(t) <= r));
    let mut common: Option<Vec<RaceWitness>> = launch.block.is_some().then_some(first);
    let fitting = small.into_iter().rev().map(|t| (t, true)).chain(large.into_iter().map(|t| (t, false)));
    let mut filled = false;
    for (t, small) in fitting {
        if small && filled {
            continue;
        }
        for block in alike(t) {
            let tried = match attempt(block) {
                Ok(t) => t,
                Err(why) => return unknown(why),
            };
            if tried.outside {
                continue;
            }
            filled = true;
            let kept = in_both(common, tried.found);
            if kept.is_empty() {
                return unknown(KernelObstacle::NoLaunch);
            }
            common = Some(kept);
        }
    }
    match common.filter(|c| !c.is_empty()) {
        Some(list) => RaceVerdict::Race(list),
        None => unknown(KernelObstacle::NoLaunch),
    }
}

/// What one block shows, with small and with large values of the parameters that nobody gives.
struct Tried {
    /// Elements of the largest array, shared if there are any, whose size the text fixes.
    room: Option<u64>,
    /// Threads leave an array, or a row of one.
    outside: bool,
    /// Races whatever the values.
    found: Vec<RaceWitness>,
}

fn try_block(
    body: &Body,
    program: &Program,
    seen: &Seen,
    launch: &KernelLaunch,
    open: &[Arc<str>],
    block: [u32; 3],
) -> Result<Tried, KernelObstacle> {
    let threads: u32 = block.iter().product();
    let (mut room, mut outside) = (None, false);
    let mut found: Option<Vec<RaceWitness>> = None;
    for value in [threads as i128, 1000] {
        let mut tried = KernelLaunch { grid: Some([1, 1, 1]), block: Some(block), ..launch.clone() };
        tried.values.extend(open.iter().map(|n| (n.clone(), value)));
        let trace = replay::replay(body, program, &tried, &seen.exposed)?;
        if trace.missed.is_some() {
            return Err(KernelObstacle::NoLaunch);
        }
        let elements = |o: &replay::Object| o.bytes.map(|b| b / o.element.max(1)).filter(|&n| n > 1);
        room = trace.objects.iter().filter_map(|o| Some((o.kind == ObjectKind::Shared, elements(o)?))).max();
        outside |= trace.leaves_rows || !out_of_range(&trace, &tried).is_empty();
        let meetings = replay::judge(&trace)?;
        let here = in_both(found, witnesses(&trace, &meetings, &tried));
        let none = here.is_empty();
        found = Some(here);
        if open.is_empty() || none {
            break;
        }
    }
    Ok(Tried { room: room.map(|r| r.1), outside, found: found.unwrap_or_default() })
}

/// Those of `found` that were there before.
fn in_both(before: Option<Vec<RaceWitness>>, found: Vec<RaceWitness>) -> Vec<RaceWitness> {
    let places =
        |w: &RaceWitness| (w.first.function.clone(), w.first.term, w.second.function.clone(), w.second.term);
    match before {
        None => found,
        Some(list) => found.into_iter().filter(|w| list.iter().any(|b| places(b) == places(w))).collect(),
    }
}

fn witnesses(trace: &Trace, meetings: &[Meeting], launch: &KernelLaunch) -> Vec<RaceWitness> {
    let certain = meetings.iter().filter(|m| m.certain && !m.same_value);
    let mut out: Vec<RaceWitness> = certain.filter_map(|m| witness(trace, m, launch)).collect();
    // one place that reads and writes is told once
    let updates: Vec<(Arc<str>, TermId)> =
        out.iter().filter(|w| w.update).map(|w| (w.first.function.clone(), w.first.term)).collect();
    let of_update = |s: &RaceSide| updates.iter().any(|(f, t)| *f == s.function && *t == s.term);
    out.retain(|w| w.update || !(of_update(&w.first) && of_update(&w.second)));
    out.truncate(MAX_LISTED);
    out
}

fn witness(trace: &Trace, m: &Meeting, launch: &KernelLaunch) -> Option<RaceWitness> {
    let object = &trace.objects[m.first.object as usize];
    Some(RaceWitness {
        object: object.name.clone(),
        shared: object.kind == ObjectKind::Shared,
        index: m.offset?.div_euclid(object.element.max(1) as i64),
        first: side(trace, &m.first, launch),
        second: side(trace, &m.second, launch),
        reach: m.reach(),
        update: m.first.site == m.second.site && is_updated(trace.body(m.first.site), m.first.site.term),
        launch: launch.clone(),
    })
}

fn side(trace: &Trace, e: &replay::Event, launch: &KernelLaunch) -> RaceSide {
    RaceSide {
        function: trace.body(e.site).name.clone(),
        term: e.site.term,
        touch: match e.touch {
            replay::Touch::Read => Touch::Read,
            replay::Touch::Write => Touch::Write,
            replay::Touch::Atomic => Touch::Atomic,
        },
        block: replay::coordinates(e.block, launch.grid.unwrap_or([1; 3])),
        thread: replay::coordinates(e.thread, launch.block.unwrap_or([1; 3])),
    }
}

/// Whether a `+=` or `++` reads and writes this place.
pub(super) fn is_updated(body: &Body, place: TermId) -> bool {
    body.walk(body.root).any(|t| {
        matches!(body.op(t), Op::Compound(_) | Op::Step { .. }) && body.args(t).first() == Some(&place)
    })
}

fn apart(trace: &Trace) -> Vec<[Arc<str>; 2]> {
    let name = |n: u32| trace.objects[n as usize].name.clone();
    replay::may_overlap(trace).into_iter().map(|(a, b)| [name(a), name(b)]).collect()
}
