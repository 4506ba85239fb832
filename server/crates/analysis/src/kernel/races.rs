//! Whether two threads of a kernel can touch one place without order.
//!
//! *Free* is a proof for the launch that is known, whatever memory holds and whatever the parameters that nobody gives are; it
//! names the parameters that must not overlap. *Race* is two accesses that happen in every schedule. Where the launch is too
//! large to follow, or nobody says it, parts and launches are tried ([`sampled`]).

use std::cell::RefCell;
use std::sync::Arc;

use term::device::{Scope, Tally, Word};
use term::{Body, Op, TermId};

use super::collect::Seen;
use super::replay::{self, Meeting, ObjectKind, Site, Trace};
use super::sampled;
use super::shapes::{axes_of, tile_of};
use super::symbolic::{self, Wanted};
use super::{BarrierFact, BarrierVerdict, KernelFacts, KernelLaunch, KernelObstacle, Split};
use crate::calls::inline;
use crate::limits::kernel_races::MAX_LISTED;
use crate::Program;

/// How far apart two threads stand.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Reach {
    /// In one warp: a barrier of the warp could order them.
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
        /// Integer parameters that must be 1 at least.
        positive: Vec<Arc<str>>,
        /// The launches for which it is proved; `None`: the one that is known.
        shapes: Option<Shapes>,
    },
    /// Never empty.
    Race(Vec<RaceWitness>),
    Unknown(RaceObstacle),
}

/// Launches for which something is proved: any number of threads a block along the first axes, and of blocks along the first, and one
/// along the others, fewer than 2^31 threads along each axis (in all, where threads lie along one axis and blocks along two), and no counter of a loop that
/// passes the end of its type.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Shapes {
    /// Axes along which a block may have threads.
    pub axes: u32,
    /// Axes along which there may be blocks; 0: there is one.
    pub block_axes: u32,
    /// Only with blocks of this shape.
    pub block: Option<[u32; 3]>,
    /// Nothing says that blocks have that shape but that of a shared array.
    pub suggested: bool,
    /// Only as long as no index that is computed from what the kernel is given passes 2^31 - 1.
    pub indices: bool,
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
        /// Parameters that say how far apart its rows are, of which nothing is known.
        strides: Vec<Arc<str>>,
    },
    /// Two blocks meet here if the fences and atomic operations do not order them, which what counters hold decides.
    Fenced {
        object: Arc<str>,
        first: (Arc<str>, TermId),
        second: (Arc<str>, TermId),
    },
    /// An access falls outside of its array: what it touches is anybody's guess.
    OutOfRange(Arc<str>, TermId),
    /// Threads write one value to one place.
    SameValue {
        object: Arc<str>,
        term: TermId,
    },
    /// A launch, here in the file, gives two parameters that must not overlap what may be one array.
    Given {
        parameters: [Arc<str>; 2],
        at: base::Span,
    },
    /// This stands against a proof for every launch, and the one that is known is too large to follow thread by thread.
    Unfollowed(Box<RaceObstacle>),
    /// There is none with these values, which were taken for the launch; with others, which the program may launch it with, nobody knows.
    Taken(Vec<(Arc<str>, i64)>),
}

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
    /// How many threads do so at this place, over the whole launch; `None`: only a part of it was looked at.
    pub threads: Option<u64>,
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
        facts.races = match proof(body, program, seen, launch) {
            Ok(free) => free,
            Err(why) => match sampled::guessed(body, program, seen, launch) {
                RaceVerdict::Unknown(_) => RaceVerdict::Unknown(why),
                told => told,
            },
        };
        return;
    }
    let trace = match replay::replay(body, program, launch, seen) {
        Ok(t) => t,
        Err(KernelObstacle::TooLarge) => return part(body, program, seen, launch, facts),
        Err(why) => {
            let alone = (launch.grid, launch.block) == (Some([1; 3]), Some([1; 3]));
            let other = match alone && seen.unstructured.is_none() {
                // one thread has nobody to meet
                true => RaceVerdict::Free { apart: Vec::new(), positive: Vec::new(), shapes: None },
                false => RaceVerdict::Unknown(RaceObstacle::Kernel(why)),
            };
            facts.races = proof(body, program, seen, launch).unwrap_or(other);
            return;
        }
    };
    barriers(&trace, launch, &mut facts.barriers);
    facts.races = match with_launch(&trace, &facts.barriers, launch) {
        // what memory or a parameter decides may be decided by a proof
        RaceVerdict::Unknown(why) if !matches!(why, RaceObstacle::SameValue { .. }) => {
            match proof(body, program, seen, launch) {
                Ok(free) => free,
                Err(_) if trace.missed.is_some() => RaceVerdict::Unknown(why),
                Err(proof) => {
                    let why = match why {
                        RaceObstacle::Kernel(KernelObstacle::TooLarge) => unfollowed(proof),
                        why => why,
                    };
                    let with_values = sampled::with_values(body, program, seen, launch);
                    with_values.unwrap_or(RaceVerdict::Unknown(why))
                }
            }
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
            let plain = body.called_word(b.term) == Some(Word::Barrier(Scope::Block, Tally::Nothing));
            if plain && trace.soft_barriers.is_empty() && trace.barriers.iter().any(|l| l.contains(&site)) {
                b.redundant = replay::redundant(&trace, site).ok();
            }
        }
    }
    // what may lie anywhere, or be come to or not, is no proof that nothing lies outside
    facts.out_of_range = (!outside.is_empty() || all_inside(&trace)).then_some(outside);
}

/// Whether every access to an array of a known size is known to lie in it.
fn all_inside(trace: &Trace) -> bool {
    let inside = |e: &replay::Event| {
        let object = &trace.objects[e.object as usize];
        let known = |bytes: u64| e.offset.is_some_and(|o| o >= 0 && o as u64 + e.size as u64 <= bytes);
        object.bytes.is_none_or(known)
    };
    !trace.cut && !trace.leaves_rows && trace.events.iter().all(inside)
}

/// What a part of a launch that is too large to follow tells: what happens, never that nothing does.
fn part(body: &Body, program: &Program, seen: &Seen, launch: &KernelLaunch, facts: &mut KernelFacts) {
    let proof = proof(body, program, seen, launch);
    let trace = sampled::part(body, program, seen, launch);
    let missed = trace.as_ref().and_then(|t| t.missed);
    let told = trace.as_ref().filter(|_| missed.is_none() && proof.is_err()).and_then(|t| {
        let list = witnesses(t, &replay::judge(t).ok()?, launch);
        (!list.is_empty()).then_some(RaceVerdict::Race(list))
    });
    facts.races = match (proof, told, missed) {
        (Ok(free), ..) => free,
        (_, Some(race), _) => race,
        (_, _, Some(m)) => RaceVerdict::Unknown(RaceObstacle::Barrier(m.site.term)),
        (Err(why), ..) => {
            let unknown = RaceVerdict::Unknown(unfollowed(why));
            sampled::with_values(body, program, seen, launch).unwrap_or(unknown)
        }
    };
    let Some(trace) = trace else { return };
    if missed.is_some() {
        barriers(&trace, launch, &mut facts.barriers);
    }
    let mut outside = out_of_range(&trace, launch);
    let Some(o) = outside.first() else { return };
    if let RaceVerdict::Free { .. } = &facts.races {
        let place = (o.side.function.clone(), o.side.term);
        facts.races = RaceVerdict::Unknown(RaceObstacle::OutOfRange(place.0, place.1));
    }
    for o in &mut outside {
        o.threads = None;
    }
    facts.out_of_range = Some(outside);
}

/// What stands against a verdict with a launch that is too large to follow: what does against a proof says more.
fn unfollowed(proof: RaceObstacle) -> RaceObstacle {
    use KernelObstacle::{Budget, NoLaunch, NotFound, TooLarge};
    match proof {
        RaceObstacle::Kernel(NoLaunch | NotFound | TooLarge) => RaceObstacle::Kernel(TooLarge),
        why @ (RaceObstacle::Kernel(Budget) | RaceObstacle::Unfollowed(_)) => why,
        why => RaceObstacle::Unfollowed(Box::new(why)),
    }
}

/// A proof for every launch, else for every one with these blocks, else for this one.
/// `shared`: which launches have no races in shared memory, where that is known otherwise.
fn symbolic_verdict(
    body: &Body,
    program: &Program,
    seen: &Seen,
    launch: &KernelLaunch,
    shared: Option<&dyn Fn(&KernelLaunch) -> bool>,
) -> Result<RaceVerdict, RaceObstacle> {
    let any = KernelLaunch {
        most_threads: launch.most_threads,
        same: launch.same.clone(),
        ..KernelLaunch::default()
    };
    let blocks = KernelLaunch { block: launch.block, ..any.clone() };
    let this = match launch.grid {
        Some(_) => KernelLaunch { grid: launch.grid, values: launch.values.clone(), ..blocks.clone() },
        None => blocks.clone(),
    };
    let mut out = Err(RaceObstacle::Kernel(KernelObstacle::NoLaunch));
    for axes in axes_of(body, program, launch).into_iter().flatten() {
        let shapes = |block, suggested, indices| Shapes {
            axes: axes.threads,
            block_axes: axes.blocks,
            block,
            suggested,
            indices,
        };
        let prove = |l: &KernelLaunch, conditional: bool, suggested: bool| {
            let wanted = Wanted { axes, conditional, only_global: shared.is_some() };
            let proof = symbolic::prove(body, program, seen, l, wanted)?;
            let met = |n: &Arc<str>| launch.values.iter().all(|(v, x)| v != n || *x >= 1);
            if !proof.positive.iter().all(met) {
                return Err(RaceObstacle::Kernel(KernelObstacle::NotFound));
            }
            // in a launch that is known nothing has to be granted
            if launch.block.zip(launch.grid).is_some_and(|(b, g)| !proof.granted.holds(b, g)) {
                return Err(RaceObstacle::Kernel(KernelObstacle::Wraps));
            }
            Ok(RaceVerdict::Free {
                shapes: l.grid.is_none().then(|| shapes(l.block, suggested, proof.indices)),
                apart: proof.apart,
                positive: proof.positive,
            })
        };
        // blocks as large as the tile they share
        let free = |l: &KernelLaunch| shared.is_none_or(|free| free(l));
        let tile = tile_of(body).filter(|_| launch.block.is_none());
        let tiled = tile.map(|t| KernelLaunch { block: Some(t), ..any.clone() }).filter(|l| free(l));
        let mut tried: Vec<&KernelLaunch> = Vec::new();
        for l in [&any, &blocks, &this] {
            if !tried.contains(&l) && free(l) {
                tried.push(l);
            }
        }
        let each = |conditional: bool| {
            let known = tried.iter().map(move |l| (*l, conditional, false));
            known.chain(tiled.iter().map(move |l| (l, conditional, true)))
        };
        let mut found = Err(RaceObstacle::Kernel(KernelObstacle::NoLaunch));
        for (l, conditional, suggested) in each(false).chain(each(true)) {
            // a launch with all its numbers meets its conditions or not
            if conditional && l.grid.is_some() {
                continue;
            }
            found = match (prove(l, conditional, suggested), found) {
                (Err(why), Err(RaceObstacle::Kernel(KernelObstacle::NoLaunch))) => Err(why),
                // what stands against it with the blocks that are known says more than what does with others
                (Err(why), _) if !conditional && !suggested => Err(why),
                (Err(_), before) => before,
                (free, _) => return free,
            };
        }
        // the first says more of what stands against it
        out = match (found, out) {
            (Err(why), Err(RaceObstacle::Kernel(KernelObstacle::NoLaunch))) => Err(why),
            (Err(_), before) => before,
            (free, _) => return free,
        };
    }
    out
}

/// The same of a kernel whose functions of the program stand in place of their calls, where it cannot be had without.
fn proof(
    body: &Body,
    program: &Program,
    seen: &Seen,
    launch: &KernelLaunch,
) -> Result<RaceVerdict, RaceObstacle> {
    let why = match symbolic_verdict(body, program, seen, launch, None) {
        Ok(free) => return Ok(free),
        Err(why) => why,
    };
    let expanded = inline::expand_calls(body, program);
    let inside = match &expanded {
        None => None,
        Some(e) if inline::read(e.body.len(), &seen.budget).is_err() => {
            return Err(RaceObstacle::Kernel(KernelObstacle::Budget));
        }
        Some(e) => Some((e, super::collect::collect(&e.body, program, &seen.budget))),
    };
    let why = match &inside {
        None => why,
        Some((e, seen)) => match symbolic_verdict(&e.body, program, seen, launch, None) {
            Ok(free) => return Ok(free),
            Err(why) => at_home(e, why),
        },
    };
    // what the threads of a block do in shared memory is followed one by one, as if the block were any
    let all = inside.as_ref().map_or(body, |(e, _)| &e.body);
    let has_shared = all.symbols.iter().any(|s| s.storage == term::Storage::Shared);
    if !has_shared || !matches!(why, RaceObstacle::MayMeet { .. }) {
        return Err(why);
    }
    let known: RefCell<Vec<(KernelLaunch, bool)>> = RefCell::default();
    let free = |l: &KernelLaunch| {
        let mut known = known.borrow_mut();
        if let Some((_, free)) = known.iter().find(|(k, _)| k == l) {
            return *free;
        }
        let free = l.block.is_some() && is_shared_free(body, program, seen, l);
        known.push((l.clone(), free));
        free
    };
    let (all, seen) = inside.as_ref().map_or((body, seen), |(e, seen)| (&e.body, seen));
    symbolic_verdict(all, program, seen, launch, Some(&free)).map_err(|_| why)
}

/// Whether no two threads of a block, whichever of the grid it is, can meet in shared memory.
fn is_shared_free(body: &Body, program: &Program, seen: &Seen, launch: &KernelLaunch) -> bool {
    let Ok(mut trace) = replay::replay_any_block(body, program, launch, seen) else { return false };
    if trace.missed.is_some() || !out_of_range(&trace, launch).is_empty() {
        return false;
    }
    let objects = std::mem::take(&mut trace.objects);
    trace.events.retain(|e| objects[e.object as usize].kind == ObjectKind::Shared);
    trace.objects = objects;
    replay::judge(&trace).is_ok_and(|meetings| meetings.is_empty())
}

/// An obstacle, told of the kernel as it is written.
fn at_home(e: &inline::Expanded, why: RaceObstacle) -> RaceObstacle {
    use KernelObstacle::{Structure, Value};
    let home = |t: TermId| e.home(t);
    match why {
        RaceObstacle::Kernel(Value(t)) => RaceObstacle::Kernel(Value(home(t))),
        RaceObstacle::Kernel(Structure(t)) => RaceObstacle::Kernel(Structure(home(t))),
        why @ RaceObstacle::Kernel(_) => why,
        RaceObstacle::Barrier(t) => RaceObstacle::Barrier(home(t)),
        RaceObstacle::MayMeet { object, first, second, strides } => RaceObstacle::MayMeet {
            object,
            strides,
            first: (first.0, home(first.1)),
            second: (second.0, home(second.1)),
        },
        RaceObstacle::Fenced { object, first, second } => RaceObstacle::Fenced {
            object,
            first: (first.0, home(first.1)),
            second: (second.0, home(second.1)),
        },
        RaceObstacle::OutOfRange(f, t) => RaceObstacle::OutOfRange(f, home(t)),
        RaceObstacle::Unfollowed(why) => RaceObstacle::Unfollowed(Box::new(at_home(e, *why))),
        why @ (RaceObstacle::Given { .. } | RaceObstacle::Taken(_)) => why,
        RaceObstacle::SameValue { object, term } => RaceObstacle::SameValue { object, term: home(term) },
    }
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
                let inside = !super::is_barrier(trace.functions[0], b.term);
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

pub(super) fn out_of_range(trace: &Trace, launch: &KernelLaunch) -> Vec<OutOfRange> {
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
            o.threads = o.threads.map(|n| n + 1);
            continue;
        }
        out.push(OutOfRange {
            object: object.name.clone(),
            shared: object.kind == ObjectKind::Shared,
            dynamic: object.dynamic,
            index: offset.div_euclid(object.element.max(1) as i64),
            length: bytes / object.element.max(1),
            side: side(trace, e, launch),
            threads: Some(1),
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
            None => RaceVerdict::Free { apart: apart(trace), positive: Vec::new(), shapes: None },
        };
    };
    // what no fence can order says more
    let plain = meetings.iter().find(|m| !m.fenced);
    let m = plain.unwrap_or(m);
    let object = trace.objects[m.first.object as usize].name.clone();
    let place = |s: Site| (trace.body(s).name.clone(), s.term);
    RaceVerdict::Unknown(if plain.is_none() {
        RaceObstacle::Fenced { object, first: place(m.first.site), second: place(m.second.site) }
    } else if m.certain && m.same_value {
        RaceObstacle::SameValue { object, term: m.first.site.term }
    } else {
        let (first, second) = (place(m.first.site), place(m.second.site));
        RaceObstacle::MayMeet { object, first, second, strides: Vec::new() }
    })
}

pub(super) fn witnesses(trace: &Trace, meetings: &[Meeting], launch: &KernelLaunch) -> Vec<RaceWitness> {
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

pub(super) fn side(trace: &Trace, e: &replay::Event, launch: &KernelLaunch) -> RaceSide {
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
