//! Counters of a grid whose warps step together: requests to memory, branches, barriers.
//!
//! **Rules.** A *request* is one instruction that one warp issues for its active lanes. A request to global memory
//! (buffers, `__device__` variables) needs as many 32-byte *sectors* as hold a byte that a lane asks for; buffers begin at a
//! sector's first byte (CUDA C++ Programming Guide, Device Memory Accesses: allocations are aligned to 256 bytes). The *ideal* is the fewest sectors
//! that could hold the distinct bytes asked for: lanes that read one cell need it once. Nsight Compute's
//! `memory_l2_theoretical_sectors_global` and `…_ideal`, CUPTI's `l2_transactions` and `theoreticalL2Transactions` (the fewest the
//! access pattern allows).
//!
//! Shared memory has 32 *banks* of 4-byte words, words in turn (same guide, Shared Memory). *Ways* are the most distinct
//! words that one request asks of one bank; lanes that ask for the same word do not collide. Hardware serves a request in
//! *wavefronts*: accesses of 8 bytes go by half warps, of 16 bytes by quarter warps, so that a row of `double` is two
//! wavefronts and no conflict. *Conflicts* are the wavefronts beyond one for each such part
//! (`l1tex__data_bank_conflicts_pipe_lsu_mem_shared`).
//!
//! *Constant memory* (`__constant__`) gives one address a pass: a request for k different addresses is split into k, one after the
//! other (same guide, Constant Memory). Their number is told as *ways*, the passes beyond one as *conflicts*.
//!
//! A *branch* is an `if`, a loop's condition, a `?:` or a `case`, each time a warp decides it; it *diverges* where some
//! active lanes go one way and some the other (`smsp__sass_branch_targets_threads_divergent`). A thread is *idle* between two barriers
//! if it touches neither global nor shared memory there.
//!
//! What is counted is the program as written. A compiler may keep values in registers, join loads, or replace a short branch by
//! predicated instructions: then the hardware does less.
//!
//! Deliberately absent: caches, time, local memory (its layout interleaves lanes), texture paths.

use std::collections::BTreeMap;
use std::sync::Arc;

use rustc_hash::FxHashMap;
use term::device::Tally;
use term::{Space, TermId};

use crate::code::{Code, WarpKind};
use crate::exec::AccessKind;
use crate::watch::Touched;

const SECTOR: u32 = 32;
const BANKS: u32 = 32;

/// One request of one warp.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Request {
    /// Lanes that take part.
    pub active: u32,
    /// Sectors touched and the fewest possible; 0 but in global memory.
    pub sectors: u32,
    pub ideal: u32,
    /// Most distinct words in one bank; distinct addresses in constant memory; 0 in global memory.
    pub ways: u32,
    /// Lanes that ask that bank.
    pub lanes: Vec<u32>,
}

/// All requests of one access of the program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AccessCount {
    pub function: Arc<str>,
    pub term: TermId,
    pub kind: AccessKind,
    /// The buffer or variable.
    pub object: Arc<str>,
    pub space: Space,
    /// Bytes a lane asks for.
    pub bytes: u32,
    pub requests: u64,
    /// Lanes that took part, over all requests: elements moved.
    pub lanes: u64,
    pub sectors: u64,
    pub ideal: u64,
    /// Passes that shared or constant memory needed, and how many of them bank conflicts or different addresses cost.
    pub wavefronts: u64,
    pub conflicts: u64,
    /// The request with the most sectors beyond the ideal, or the most ways.
    pub worst: Request,
    /// Atomics: most lanes of one request that work on one cell.
    pub same_cell: u32,
}

/// All decisions of one branch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BranchCount {
    pub function: Arc<str>,
    /// The statement (or `?:`, or `case`) that decides.
    pub term: TermId,
    /// Times a warp decided it.
    pub decisions: u64,
    pub divergent: u64,
    /// (active lanes, lanes for which the condition holds) → times.
    pub lanes: BTreeMap<(u32, u32), u64>,
}

/// All openings of one block barrier.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BarrierCount {
    pub function: Arc<str>,
    pub term: TermId,
    pub kind: Tally,
    /// Times it opened, all blocks together.
    pub opened: u64,
    /// Threads that waited, and those of them that were idle since the barrier before.
    pub threads: u64,
    pub idle: u64,
}

/// All uses of one warp operation (barriers of a warp, shuffles, votes).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WarpCount {
    pub function: Arc<str>,
    pub term: TermId,
    pub kind: WarpKind,
    /// Times a warp issued it.
    pub issued: u64,
}

/// What the warps of a grid did.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// In the order of the program's instructions.
    pub accesses: Vec<AccessCount>,
    pub branches: Vec<BranchCount>,
    pub barriers: Vec<BarrierCount>,
    pub warp_operations: Vec<WarpCount>,
    pub blocks: u64,
    pub warps: u64,
    pub threads: u64,
    /// Threads idle from their block's last barrier (or start) to their end.
    pub idle_at_end: u64,
    /// Lanes could not always be kept together (a lane waited for another of its warp in a loop): requests and branches
    /// are then counted for smaller groups than hardware might form.
    pub out_of_step: bool,
}

impl Counts {
    /// Elements moved to and from global memory: the measure of a traffic model.
    pub fn global_elements(&self) -> u64 {
        self.accesses.iter().filter(|a| a.space == Space::Global).map(|a| a.lanes).sum()
    }
    /// Wavefronts that bank conflicts cost.
    pub fn bank_conflicts(&self) -> u64 {
        self.accesses.iter().filter(|a| a.space == Space::Shared).map(|a| a.conflicts).sum()
    }
    /// Block barriers opened.
    pub fn barriers_opened(&self) -> u64 {
        self.barriers.iter().map(|b| b.opened).sum()
    }
    /// Idle threads, summed over the intervals between barriers.
    pub fn idle_threads(&self) -> u64 {
        self.barriers.iter().map(|b| b.idle).sum::<u64>() + self.idle_at_end
    }
}

/// Where counts go while a grid runs.
#[derive(Default)]
pub(crate) struct Counter {
    accesses: FxHashMap<(u32, u32), Vec<AccessCount>>,
    branches: FxHashMap<(u32, u32), BranchCount>,
    barriers: FxHashMap<(u32, u32), BarrierCount>,
    warps: FxHashMap<(u32, u32), WarpCount>,
    pub(crate) totals: Counts,
    /// First byte of each shared variable in its block's shared memory.
    bases: Vec<u32>,
}

impl Counter {
    pub(crate) fn new(code: &Code, shared_bytes: u64) -> Counter {
        let mut at = 0u64;
        let mut bases = Vec::new();
        for s in &code.shared {
            bases.push(at.min(u32::MAX as u64) as u32);
            at = (at + s.size.unwrap_or(shared_bytes)).next_multiple_of(16);
        }
        Counter { bases, ..Counter::default() }
    }

    /// The lanes of a warp asked for memory with one instruction. `base` gives the number of a shared variable.
    pub(crate) fn access(
        &mut self,
        code: &Code,
        at: (u32, u32),
        touched: &[Touched],
        number: impl Fn(&Touched) -> Option<usize>,
    ) {
        for kind in [AccessKind::Read, AccessKind::Write, AccessKind::Atomic] {
            for space in [Space::Global, Space::Shared, Space::Constant] {
                let list: Vec<&Touched> =
                    touched.iter().filter(|t| t.access.kind == kind && t.space == space).collect();
                if let Some(first) = list.first() {
                    let base = |t: &Touched| number(t).and_then(|n| self.bases.get(n)).copied().unwrap_or(0);
                    let (request, waves, parts) = match space {
                        Space::Shared => banks(&list, code.limits.lanes, base),
                        Space::Constant => addresses(&list),
                        _ => (global(&list), 0, 0),
                    };
                    let same = if kind == AccessKind::Atomic { same_cell(&list) } else { 0 };
                    let entry = self.entry(code, at, first);
                    entry.requests += 1;
                    entry.lanes += list.len() as u64;
                    entry.sectors += request.sectors as u64;
                    entry.ideal += request.ideal as u64;
                    entry.wavefronts += waves as u64;
                    entry.conflicts += (waves - parts) as u64;
                    entry.same_cell = entry.same_cell.max(same);
                    let badness =
                        |r: &Request| (r.ways, r.sectors - r.ideal.min(r.sectors), r.active, r.sectors);
                    if entry.requests == 1 || badness(&request) > badness(&entry.worst) {
                        entry.worst = request;
                    }
                }
            }
        }
    }

    fn entry(&mut self, code: &Code, at: (u32, u32), t: &Touched) -> &mut AccessCount {
        let list = self.accesses.entry(at).or_default();
        let same = |a: &AccessCount| {
            a.kind == t.access.kind && a.object == t.name && a.space == t.space && a.bytes == t.access.size
        };
        let k = list.iter().position(same).unwrap_or_else(|| {
            list.push(AccessCount {
                function: name(code, at),
                term: t.access.term,
                kind: t.access.kind,
                object: t.name.clone(),
                space: t.space,
                bytes: t.access.size,
                requests: 0,
                lanes: 0,
                sectors: 0,
                ideal: 0,
                wavefronts: 0,
                conflicts: 0,
                worst: Request::default(),
                same_cell: 0,
            });
            list.len() - 1
        });
        &mut list[k]
    }

    /// A warp's active lanes decided a branch.
    pub(crate) fn branch(&mut self, code: &Code, at: (u32, u32), term: TermId, active: u64, holds: u64) {
        let b = self.branches.entry(at).or_insert_with(|| BranchCount {
            function: name(code, at),
            term,
            decisions: 0,
            divergent: 0,
            lanes: BTreeMap::new(),
        });
        b.decisions += 1;
        b.divergent += (holds != 0 && holds != active) as u64;
        *b.lanes.entry((active.count_ones(), (holds & active).count_ones())).or_default() += 1;
    }

    /// A block's barrier opened.
    pub(crate) fn barrier(&mut self, code: &Code, at: (u32, u32), kind: Tally, threads: u64, idle: u64) {
        let b = self.barriers.entry(at).or_insert_with(|| BarrierCount {
            function: name(code, at),
            term: term(code, at),
            kind,
            opened: 0,
            threads: 0,
            idle: 0,
        });
        b.opened += 1;
        b.threads += threads;
        b.idle += idle;
    }

    /// A warp issued an operation among its lanes.
    pub(crate) fn warp(&mut self, code: &Code, at: (u32, u32), kind: WarpKind) {
        let w = self.warps.entry(at).or_insert_with(|| WarpCount {
            function: name(code, at),
            term: term(code, at),
            kind,
            issued: 0,
        });
        w.issued += 1;
    }

    /// All that was counted, in the order of the program.
    pub(crate) fn finish(self) -> Counts {
        let mut out = self.totals;
        out.accesses = sorted(self.accesses).into_iter().flatten().collect();
        out.branches = sorted(self.branches);
        out.barriers = sorted(self.barriers);
        out.warp_operations = sorted(self.warps);
        out
    }
}

fn sorted<T>(map: FxHashMap<(u32, u32), T>) -> Vec<T> {
    let mut list: Vec<((u32, u32), T)> = map.into_iter().collect();
    list.sort_by_key(|(at, _)| *at);
    list.into_iter().map(|(_, x)| x).collect()
}

fn name(code: &Code, at: (u32, u32)) -> Arc<str> {
    code.funcs.get(at.0 as usize).map_or_else(|| "".into(), |f| f.name.clone())
}

fn term(code: &Code, at: (u32, u32)) -> TermId {
    let f = code.funcs.get(at.0 as usize);
    f.and_then(|f| f.terms.get(at.1 as usize)).copied().unwrap_or(TermId(0))
}

/// Sectors touched, and the fewest that could hold the bytes asked for.
fn global(list: &[&Touched]) -> Request {
    let mut spans: Vec<(u32, u32, u32)> = list
        .iter()
        .map(|t| (t.access.object.0, t.access.offset, t.access.offset.saturating_add(t.access.size)))
        .collect();
    spans.sort_unstable();
    let (mut sectors, mut bytes) = (0u32, 0u32);
    // the object at hand, its first byte and its first sector not counted yet
    let mut at = (u32::MAX, 0u32, 0u32);
    for (object, from, to) in spans {
        if at.0 != object {
            at = (object, 0, 0);
        }
        bytes += to.saturating_sub(from.max(at.1));
        let (first, end) = ((from / SECTOR).max(at.2), to.div_ceil(SECTOR));
        sectors += end.saturating_sub(first);
        at = (object, at.1.max(to), at.2.max(end));
    }
    Request { active: list.len() as u32, sectors, ideal: bytes.div_ceil(SECTOR), ways: 0, lanes: Vec::new() }
}

/// The different addresses of a request to constant memory, each a pass.
fn addresses(list: &[&Touched]) -> (Request, u32, u32) {
    let mut all: Vec<(u32, u32)> = list.iter().map(|t| (t.access.object.0, t.access.offset)).collect();
    all.sort_unstable();
    all.dedup();
    let ways = all.len() as u32;
    let request = Request { active: list.len() as u32, ways, ..Request::default() };
    (request, ways, ways.min(1))
}

/// The request's ways over the whole warp, its wavefronts, and how many of them no layout could save.
fn banks(list: &[&Touched], lanes: u32, base: impl Fn(&Touched) -> u32) -> (Request, u32, u32) {
    let size = list.iter().map(|t| t.access.size).max().unwrap_or(4).max(4);
    let lanes_a_part = (BANKS * 4 / size.next_power_of_two()).clamp(1, lanes);
    let (mut waves, mut parts) = (0, 0);
    for part in 0..lanes.div_ceil(lanes_a_part) {
        let mine: Vec<&Touched> = list.iter().copied().filter(|t| t.lane / lanes_a_part == part).collect();
        if !mine.is_empty() {
            let words = words(&mine, &base);
            waves += fullest(&words).1.max(1);
            // accesses wider than all banks together need several passes whatever the layout
            parts += (words.len() as u32).div_ceil(BANKS).clamp(1, (size / 128).max(1));
        }
    }
    // as many lanes as there are banks have their words served at once at most: more lanes take turns whatever they ask for
    let served = list.chunk_by(|a, b| a.lane / BANKS == b.lane / BANKS);
    let most = served.map(|part| (fullest(&words(part, &base)), part)).max_by_key(|((_, ways), _)| *ways);
    let ((bank, ways), served) = most.unwrap_or(((0, 0), list));
    let asks = |t: &&&Touched| {
        let first = (base(t) + t.access.offset) / 4;
        let last = (base(t) + t.access.offset + t.access.size.max(1) - 1) / 4;
        (first..=last).any(|w| w % BANKS == bank)
    };
    let lanes = if ways > 1 { served.iter().filter(asks).map(|t| t.lane).collect() } else { Vec::new() };
    (Request { active: list.len() as u32, sectors: 0, ideal: 0, ways, lanes }, waves, parts.min(waves))
}

/// The distinct words asked for.
fn words(list: &[&Touched], base: &impl Fn(&Touched) -> u32) -> Vec<u32> {
    let mut out = Vec::with_capacity(list.len());
    for t in list {
        let from = base(t) + t.access.offset;
        out.extend(from / 4..=(from + t.access.size.max(1) - 1) / 4);
    }
    out.sort_unstable();
    out.dedup();
    out
}

/// The bank that most words lie in, and how many.
fn fullest(words: &[u32]) -> (u32, u32) {
    let mut banks = [0u32; BANKS as usize];
    for w in words {
        banks[(w % BANKS) as usize] += 1;
    }
    let mut best = (0, 0);
    for (bank, &n) in banks.iter().enumerate() {
        if n > best.1 {
            best = (bank as u32, n);
        }
    }
    best
}

fn same_cell(list: &[&Touched]) -> u32 {
    let mut cells: FxHashMap<(u32, u32), u32> = FxHashMap::default();
    for t in list {
        *cells.entry((t.access.object.0, t.access.offset)).or_default() += 1;
    }
    cells.into_values().max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exec::Access;
    use crate::memory::ObjectId;

    fn touched(size: u32, offset: impl Fn(u32) -> u32) -> Vec<Touched> {
        touched_by(32, size, offset)
    }

    fn touched_by(lanes: u32, size: u32, offset: impl Fn(u32) -> u32) -> Vec<Touched> {
        let access = |lane| Access {
            object: ObjectId(1),
            offset: offset(lane),
            size,
            kind: AccessKind::Read,
            func: 0,
            term: TermId(0),
        };
        let one = |lane| Touched { lane, access: access(lane), name: "a".into(), space: Space::Shared };
        (0..lanes).map(one).collect()
    }

    fn sectors(size: u32, offset: impl Fn(u32) -> u32) -> (u32, u32) {
        let t = touched(size, offset);
        let r = global(&t.iter().collect::<Vec<_>>());
        (r.sectors, r.ideal)
    }

    #[test]
    fn sectors_of_common_strides() {
        assert_eq!(sectors(4, |l| 4 * l), (4, 4));
        assert_eq!(sectors(4, |l| 4 * (31 - l)), (4, 4));
        assert_eq!(sectors(8, |l| 8 * l), (8, 8));
        assert_eq!(sectors(16, |l| 16 * l), (16, 16));
        assert_eq!(sectors(1, |l| l), (1, 1));
        // one element off: a sector more
        assert_eq!(sectors(4, |l| 4 * l + 4), (5, 4));
        assert_eq!(sectors(4, |l| 8 * l), (8, 4));
        assert_eq!(sectors(4, |l| 400 * l), (32, 4));
        // all lanes the same cell
        assert_eq!(sectors(4, |_| 64), (1, 1));
        // a sector is counted once even where the lanes that share it are far apart
        assert_eq!(sectors(4, |l| if l % 2 == 0 { 0 } else { 4096 }), (2, 1));
    }

    fn ways(size: u32, offset: impl Fn(u32) -> u32) -> (u32, u32, u32) {
        let t = touched(size, offset);
        let (r, waves, parts) = banks(&t.iter().collect::<Vec<_>>(), 32, |_| 0);
        (r.ways, waves, waves - parts)
    }

    #[test]
    fn banks_of_common_strides() {
        assert_eq!(ways(4, |l| 4 * l), (1, 1, 0));
        assert_eq!(ways(4, |_| 12), (1, 1, 0));
        for s in [2u32, 4, 8, 16, 32] {
            assert_eq!(ways(4, |l| 4 * s * l), (s, s, s - 1));
        }
        for odd in [3, 17, 33] {
            assert_eq!(ways(4, |l| 4 * odd * l), (1, 1, 0));
        }
        // two lanes in one word do not collide, bytes and halves neither
        assert_eq!(ways(2, |l| 2 * l), (1, 1, 0));
        assert_eq!(ways(1, |l| l), (1, 1, 0));
        // rows of double and float4: served by halves and quarters of the warp, without conflict
        assert_eq!(ways(8, |l| 8 * l), (2, 2, 0));
        assert_eq!(ways(16, |l| 16 * l), (4, 4, 0));
        assert_eq!(ways(8, |l| 16 * l), (4, 4, 2));
    }

    #[test]
    fn sixty_four_lanes_take_two_turns_and_no_more() {
        let ways = |offset: &dyn Fn(u32) -> u32| {
            let t = touched_by(64, 4, offset);
            let (r, waves, parts) = banks(&t.iter().collect::<Vec<_>>(), 64, |_| 0);
            (r.ways, waves, parts, r.active)
        };
        assert_eq!(ways(&|l| 4 * l), (1, 2, 2, 64));
        assert_eq!(ways(&|l| 8 * l), (2, 4, 2, 64));
    }

    #[test]
    fn the_lanes_that_collide_are_named() {
        let t = touched(4, |l| 4 * 16 * l);
        let (r, ..) = banks(&t.iter().collect::<Vec<_>>(), 32, |_| 0);
        assert_eq!(r.lanes, (0..32).step_by(2).collect::<Vec<_>>());
    }
}
