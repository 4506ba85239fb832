//! Runs a kernel as a grid of threads in a random but repeatable interleaving, with CUDA's barriers, warps and atomics.
//!
//! Threads take turns that end at accesses to memory that others can see (or after a random number of instructions);
//! blocks start in random order, a few at a time. A barrier opens when every thread of the block that has not ended
//! waits at one; that some have ended, or wait at another one, is reported (CUDA C++ Programming Guide,
//! Synchronization Functions: the conditional must evaluate identically across the block).
//!
//! Deliberately absent: time, occupancy, weak memory, cooperative groups, dynamic parallelism. Warps that step together
//! and are counted: `lockstep` and `count`.

use std::sync::Arc;

use base::Budget;
use term::device::Tally;
use term::TermId;

use crate::code::{Code, Reg, WarpKind};
use crate::compile::{compile, Options, Program};
use crate::count::Counts;
use crate::exec::{AccessKind, Stop, Thread, World};
use crate::fault::{Fault, FaultKind, ThreadId};
use crate::ledger::Ledger;
use crate::limits::grid::MAX_FINDINGS;
use crate::lockstep::Lockstep;
use crate::machine::{arguments, guard, link, refuel, unlink, Heap, Value};
use crate::memory::{Memory, ObjectId, Space};
use crate::race::{learn, Known, Reach, Stamp};
use crate::schedule::{Granularity, Launch, Schedule};
use crate::watch::Watch;

/// One side of a race.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Side {
    pub thread: ThreadId,
    pub function: Arc<str>,
    pub term: TermId,
    pub kind: AccessKind,
}

/// Two accesses to one cell, at least one a write, not both atomic, that nothing orders.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Race {
    pub object: ObjectId,
    pub name: Arc<str>,
    /// Whether it is `__shared__` memory.
    pub shared: bool,
    pub offset: u32,
    pub size: u32,
    pub first: Side,
    pub second: Side,
    /// How far apart threads stood that raced at these two places, in any pair seen.
    pub reach: Reach,
}

/// Something wrong that was seen.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Finding {
    Race(Box<Race>),
    /// Not all threads of a block reach a barrier: `waiting` stands at it, `other` has ended (no term) or stands at
    /// another one.
    BarrierDivergence {
        waiting: ThreadId,
        function: Arc<str>,
        term: TermId,
        other: ThreadId,
        other_term: Option<TermId>,
    },
    /// Threads of a warp name different masks, or a thread is not in its own.
    WarpMask {
        thread: ThreadId,
        function: Arc<str>,
        term: TermId,
    },
    /// A shuffle reads from a lane that does not take part: its value is undefined.
    UndefinedShuffle {
        thread: ThreadId,
        function: Arc<str>,
        term: TermId,
    },
    /// A thread faulted; the grid stopped there.
    Fault(Fault),
}

/// What a grid did.
#[derive(Clone, Debug)]
pub struct GridReport {
    pub findings: Vec<Finding>,
    /// Whether all threads ran to their end.
    pub completed: bool,
    /// Instructions executed, all threads together.
    pub steps: u64,
    /// What the warps did, where they stepped together.
    pub counts: Option<Counts>,
}

impl GridReport {
    /// Whether all ran and nothing wrong was seen.
    pub fn is_clean(&self) -> bool {
        self.completed && self.findings.is_empty()
    }
}

/// A small repeatable generator (splitmix64).
#[derive(Clone, Debug)]
pub struct Rng(pub u64);

impl Rng {
    /// The next 64 bits.
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }
    /// A number below `n` (0 if `n` is 0).
    pub fn below(&mut self, n: usize) -> usize {
        (((self.next_u64() >> 32) * n as u64) >> 32) as usize
    }
}

/// Compiles a kernel and runs it as a grid.
#[allow(clippy::too_many_arguments)]
pub fn run_grid(
    program: &Program<'_>,
    kernel: &str,
    args: &[Value],
    heap: &mut Heap,
    launch: &Launch,
    schedule: &Schedule,
    options: &Options,
    budget: &Budget,
) -> Result<GridReport, Fault> {
    let code = compile(program, kernel, options)?;
    run_grid_code(&code, args, heap, launch, schedule, budget)
}

/// Runs compiled code (its function 0) as a grid. `Err` says nothing about the kernel (see [`Fault::is_unknown`]) or
/// that the launch is impossible; what the kernel does wrong is in the findings.
pub fn run_grid_code(
    code: &Code,
    args: &[Value],
    heap: &mut Heap,
    launch: &Launch,
    schedule: &Schedule,
    budget: &Budget,
) -> Result<GridReport, Fault> {
    run_grid_told(code, args, heap, launch, schedule, budget, None)
}

/// Likewise, and tells a ledger what is read and written.
pub(crate) fn run_grid_told(
    code: &Code,
    args: &[Value],
    heap: &mut Heap,
    launch: &Launch,
    schedule: &Schedule,
    budget: &Budget,
    ledger: Option<&mut Ledger>,
) -> Result<GridReport, Fault> {
    let [bx, by, bz] = launch.block.map(|x| x as u64);
    let threads = bx.saturating_mul(by).saturating_mul(bz);
    if threads == 0 || !code.limits.fits_block(launch.block) || launch.grid.contains(&0) {
        return Err(Fault::bad_call("an invalid launch configuration"));
    }
    let regs = arguments(code, 0, args)?;
    let (globals, mut once) = link(code, heap, budget)?;
    guard(code, &globals, heap, true);
    let counts = schedule.granularity == Granularity::Lockstep;
    let mut grid = Grid {
        code,
        launch,
        schedule,
        rng: Rng(schedule.seed),
        threads: threads as u32,
        blocks: Vec::new(),
        watch: Watch::new(launch, schedule.granularity == Granularity::Access, counts),
        lockstep: counts.then(|| Lockstep::new(code, launch.shared_bytes)),
        findings: Vec::new(),
        steps: 0,
        budget,
        fuel: 0,
    };
    let mut world = World { code, globals: &globals, once: &mut once };
    let told = ledger.map(|l| {
        let host = l.enter(code, true);
        // it is the grid's until that has run
        grid.watch.ledger = Some(std::mem::take(l));
        (l, host)
    });
    let r = grid.run(&mut world, &mut heap.mem, &regs);
    grid.clear(&mut heap.mem);
    if let Some((l, host)) = told {
        *l = grid.watch.ledger.take().unwrap_or_default();
        l.leave(host);
    }
    guard(code, &globals, heap, false);
    let completed = match r {
        Ok(()) => true,
        Err(f) if f.is_unknown() || matches!(f.kind, FaultKind::BadCall { .. }) => {
            unlink(code, &globals, heap);
            return Err(f);
        }
        Err(f) => {
            grid.findings.push(Finding::Fault(f));
            false
        }
    };
    let mut findings = grid.races(&heap.mem);
    findings.append(&mut grid.findings);
    unlink(code, &globals, heap);
    let counts = grid.lockstep.take().map(|l| l.counter.finish());
    Ok(GridReport { findings, completed, steps: grid.steps, counts })
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Status {
    Ready,
    Barrier { kind: Tally, d: Reg, value: u64, at: (u32, u32) },
    Warp { kind: WarpKind, d: Reg, args: [u64; 4], signed32: bool, at: (u32, u32) },
    Done,
}

pub(crate) struct Lane {
    pub(crate) thread: Thread,
    pub(crate) status: Status,
    /// What it learned from other blocks since the last barrier, and what its last fence makes known.
    acquired: Option<Box<Known>>,
    fenced: Option<Box<Known>>,
    /// Whether it touched memory that others can see since its block's last barrier.
    busy: bool,
}

pub(crate) struct Block {
    pub(crate) number: u32,
    shared: Vec<ObjectId>,
    pub(crate) lanes: Vec<Lane>,
    pub(crate) ready: Vec<u32>,
    epoch: u32,
    pub(crate) warp_epochs: Vec<u32>,
    known: Known,
}

pub(crate) struct Grid<'g> {
    pub(crate) code: &'g Code,
    pub(crate) launch: &'g Launch,
    schedule: &'g Schedule,
    pub(crate) rng: Rng,
    threads: u32,
    pub(crate) blocks: Vec<Block>,
    pub(crate) watch: Watch,
    pub(crate) lockstep: Option<Lockstep>,
    findings: Vec<Finding>,
    steps: u64,
    pub(crate) budget: &'g Budget,
    pub(crate) fuel: u64,
}

impl Grid<'_> {
    fn run(&mut self, world: &mut World<'_>, mem: &mut Memory, regs: &[u64]) -> Result<(), Fault> {
        let [gx, gy, gz] = self.launch.grid.map(|x| x as u64);
        let total = gx.saturating_mul(gy).saturating_mul(gz);
        if total > 1 << 24 {
            return Err(Fault::plain(crate::compile::not_supported("a grid of more than 16 million blocks")));
        }
        let mut waiting: Vec<u32> = (0..total as u32).collect();
        for i in (1..waiting.len()).rev() {
            let j = self.rng.below(i + 1);
            waiting.swap(i, j);
        }
        loop {
            while self.blocks.len() < self.schedule.resident_blocks.max(1) as usize {
                let Some(n) = waiting.pop() else { break };
                let block = self.start(n, mem, regs)?;
                self.blocks.push(block);
            }
            if self.blocks.is_empty() {
                return Ok(());
            }
            let b = self.rng.below(self.blocks.len());
            if self.blocks[b].ready.is_empty() {
                if self.settle(b)? {
                    let block = self.blocks.swap_remove(b);
                    self.retire(block, mem);
                }
                continue;
            }
            match self.lockstep {
                Some(_) => self.step_warp(b, world, mem)?,
                None => self.turn(b, world, mem)?,
            }
        }
    }

    fn start(&mut self, number: u32, mem: &mut Memory, regs: &[u64]) -> Result<Block, Fault> {
        let mut shared = Vec::new();
        for s in &self.code.shared {
            let bytes = s.size.unwrap_or(self.launch.shared_bytes);
            let o = mem
                .allocate(&s.name, bytes, s.grain, Space::Shared { block: number })
                .map_err(Fault::plain)?;
            shared.push(o);
        }
        let n = self.threads;
        let lane = || Lane {
            thread: Thread::start(self.code, 0, regs),
            status: Status::Ready,
            acquired: None,
            fenced: None,
            busy: false,
        };
        if let Some(l) = &mut self.lockstep {
            let totals = &mut l.counter.totals;
            totals.blocks += 1;
            totals.warps += n.div_ceil(self.code.limits.lanes) as u64;
            totals.threads += n as u64;
        }
        Ok(Block {
            number,
            shared,
            lanes: (0..n).map(|_| lane()).collect(),
            ready: (0..n).collect(),
            epoch: 0,
            warp_epochs: vec![0; n.div_ceil(self.code.limits.lanes) as usize],
            known: Known::default(),
        })
    }

    fn retire(&mut self, mut block: Block, mem: &mut Memory) {
        // names are needed for the report: races on shared memory are worded before it goes
        for lane in &mut block.lanes {
            lane.thread.release(mem);
            if let Some(l) = &mut self.lockstep {
                l.counter.totals.idle_at_end += !lane.busy as u64;
            }
        }
        for o in block.shared {
            self.name_races(mem);
            self.watch.races.forget(o);
            mem.release(o);
        }
    }

    fn clear(&mut self, mem: &mut Memory) {
        for block in std::mem::take(&mut self.blocks) {
            self.retire(block, mem);
        }
    }

    /// Runs one thread of a block for one turn.
    fn turn(&mut self, b: usize, world: &mut World<'_>, mem: &mut Memory) -> Result<(), Fault> {
        let pick = self.rng.below(self.blocks[b].ready.len());
        let t = self.blocks[b].ready[pick];
        if self.fuel == 0 {
            self.fuel = refuel(self.budget, 65_536)?;
        }
        let quantum = match self.schedule.granularity {
            Granularity::Quantum(n) => 1 + self.rng.below(n.max(1) as usize) as u64,
            _ => u64::MAX,
        };
        self.run_lane(b, t, quantum, world, mem)
    }

    /// Runs thread `t` of a block until its turn ends, for so many instructions at most.
    pub(crate) fn run_lane(
        &mut self,
        b: usize,
        t: u32,
        quantum: u64,
        world: &mut World<'_>,
        mem: &mut Memory,
    ) -> Result<(), Fault> {
        let block = &mut self.blocks[b];
        let id = thread_id(self.launch, block.number, t);
        let lane = &mut block.lanes[t as usize];
        let w = &mut self.watch;
        w.block = id.block;
        w.thread = id.thread;
        w.stamp.block = block.number;
        w.stamp.thread = t;
        w.stamp.epoch = block.epoch;
        let lanes = self.code.limits.lanes;
        (w.lane, w.stamp.warp) = (t % lanes, t / lanes);
        w.stamp.warp_epoch = block.warp_epochs[(t / lanes) as usize];
        w.shared.clone_from(&block.shared);
        w.acquired = lane.acquired.take();
        w.fenced = lane.fenced.take();
        w.busy = lane.busy;
        w.known = if block.known.is_empty() { None } else { Some(std::mem::take(&mut block.known)) };
        let allowed = quantum.min(self.fuel);
        let mut fuel = allowed;
        let stop = lane.thread.run(world, mem, w, &mut fuel);
        self.steps += allowed - fuel;
        self.fuel -= allowed - fuel;
        lane.acquired = w.acquired.take();
        lane.fenced = w.fenced.take();
        lane.busy = w.busy;
        if let Some(k) = w.known.take() {
            block.known = k;
        }
        lane.status = match stop {
            Stop::Turn => return Ok(()),
            Stop::Done(_) => Status::Done,
            Stop::Barrier { kind, d, value, func, pc } => Status::Barrier { kind, d, value, at: (func, pc) },
            Stop::Warp { kind, d, args, signed32, func, pc } => {
                Status::Warp { kind, d, args, signed32, at: (func, pc) }
            }
            Stop::Launch { func, .. } => return Err(crate::hosted::misplaced_launch(world.code, func)),
            Stop::Fault(mut f) => {
                f.thread = Some(id);
                return Err(f);
            }
        };
        let waits = matches!(lane.status, Status::Barrier { .. });
        if let Some(k) = block.ready.iter().position(|&r| r == t) {
            block.ready.swap_remove(k);
        }
        // an ended lane may be the last one its warp waited for
        if !waits {
            self.settle_warp(b, t / self.code.limits.lanes);
        }
        Ok(())
    }

    /// No thread of the block can run: opens its barrier, or says that it is finished (`true`).
    fn settle(&mut self, b: usize) -> Result<bool, Fault> {
        let block = &self.blocks[b];
        let n = block.lanes.len();
        let mut ended = None;
        let mut at_barrier = Vec::new();
        let mut stuck = None;
        for (t, lane) in block.lanes.iter().enumerate() {
            match lane.status {
                Status::Done => ended = ended.or(Some(t as u32)),
                Status::Barrier { at, .. } => at_barrier.push((t as u32, at)),
                Status::Warp { at, .. } => stuck = stuck.or(Some((t as u32, at))),
                Status::Ready => {}
            }
        }
        if at_barrier.is_empty() && stuck.is_none() {
            return Ok(true);
        }
        let number = block.number;
        if let Some((t, at)) = stuck {
            let mut f = Fault::plain(FaultKind::Deadlock);
            f.function = self.code.funcs[at.0 as usize].name.clone();
            f.term = self.term(at);
            f.thread = Some(thread_id(self.launch, number, t));
            if let Some(&(other, oat)) = at_barrier.first() {
                self.diverged(number, (t, at), other, Some(oat));
            } else if let Some(other) = ended {
                self.diverged(number, (t, at), other, None);
            }
            return Err(f);
        }
        let first = at_barrier[0];
        if let Some(other) = ended.filter(|_| at_barrier.len() < n) {
            self.diverged(number, first, other, None);
        }
        if let Some(&(other, oat)) = at_barrier.iter().find(|(_, at)| *at != first.1) {
            self.diverged(number, first, other, Some(oat));
        }
        let block = &mut self.blocks[b];
        let mut count = 0;
        for lane in &block.lanes {
            if let Status::Barrier { value, .. } = lane.status {
                count += (value != 0) as u64;
            }
        }
        let arrived = at_barrier.len() as u64;
        if let Some(l) = &mut self.lockstep {
            let waits = |x: &&Lane| matches!(x.status, Status::Barrier { .. });
            let idle = block.lanes.iter().filter(waits).filter(|x| !x.busy).count() as u64;
            if let Status::Barrier { kind, .. } = block.lanes[first.0 as usize].status {
                l.counter.barrier(self.code, first.1, kind, arrived, idle);
            }
        }
        for (t, lane) in block.lanes.iter_mut().enumerate() {
            if let Status::Barrier { kind, d, .. } = lane.status {
                let v = match kind {
                    Tally::Nothing => None,
                    Tally::Count => Some(count),
                    Tally::And => Some((count == arrived) as u64),
                    Tally::Or => Some((count > 0) as u64),
                };
                if let Some(v) = v {
                    lane.thread.set(d, v);
                }
                lane.status = Status::Ready;
                lane.busy = false;
                block.ready.push(t as u32);
            }
            if let Some(k) = lane.acquired.take() {
                learn(&mut block.known, &k);
            }
        }
        block.epoch += 1;
        Ok(false)
    }

    pub(crate) fn term(&self, at: (u32, u32)) -> Option<TermId> {
        self.code.funcs.get(at.0 as usize)?.terms.get(at.1 as usize).copied()
    }

    fn diverged(&mut self, block: u32, at: (u32, (u32, u32)), other: u32, other_at: Option<(u32, u32)>) {
        let f = Finding::BarrierDivergence {
            waiting: thread_id(self.launch, block, at.0),
            function: self.code.funcs[at.1 .0 as usize].name.clone(),
            term: self.term(at.1).unwrap_or(TermId(0)),
            other: thread_id(self.launch, block, other),
            other_term: other_at.and_then(|x| self.term(x)),
        };
        self.note(f);
    }

    /// Keeps one finding of each kind and place.
    pub(crate) fn note(&mut self, f: Finding) {
        let key = |f: &Finding| match f {
            Finding::BarrierDivergence { term, other_term, function, .. } => {
                Some((0, function.clone(), *term, *other_term))
            }
            Finding::WarpMask { term, function, .. } => Some((1, function.clone(), *term, None)),
            Finding::UndefinedShuffle { term, function, .. } => Some((2, function.clone(), *term, None)),
            _ => None,
        };
        let known = self.findings.iter().any(|x| key(x) == key(&f));
        if !known && self.findings.len() < MAX_FINDINGS {
            self.findings.push(f);
        }
    }

    /// Words the races found so far.
    fn name_races(&mut self, mem: &Memory) {
        for f in std::mem::take(&mut self.watch.races.found) {
            let side = |(s, kind): (Stamp, AccessKind)| Side {
                thread: thread_id(self.launch, s.block, s.thread),
                function: self.code.funcs[s.func as usize].name.clone(),
                term: s.term,
                kind,
            };
            let object = mem.get(f.object);
            self.findings.push(Finding::Race(Box::new(Race {
                object: f.object,
                name: object.map_or_else(|| "".into(), |o| o.name.clone()),
                shared: object.is_some_and(|o| matches!(o.space, Space::Shared { .. })),
                offset: f.offset,
                size: f.size,
                first: side(f.first),
                second: side(f.second),
                reach: Reach::Warp,
            })));
        }
    }

    fn races(&mut self, mem: &Memory) -> Vec<Finding> {
        self.name_races(mem);
        let all = std::mem::take(&mut self.findings);
        let (races, rest) = all.into_iter().partition(|f| matches!(f, Finding::Race(_)));
        self.findings = rest;
        let mut races: Vec<Finding> = races;
        let name = |f: u32| &self.code.funcs[f as usize].name;
        for race in &mut races {
            let Finding::Race(race) = race else { continue };
            let same = |side: &Side, f: u32, term: TermId| side.term == term && side.function == *name(f);
            let reaches = self.watch.races.seen.iter();
            let mine = reaches
                .filter(|((f, t, g, u), _)| same(&race.first, *f, *t) && same(&race.second, *g, *u))
                .map(|(_, met)| met.reach);
            race.reach = mine.max().unwrap_or(Reach::Warp);
        }
        races
    }
}

/// Coordinates from numbers; x runs fastest.
pub(crate) fn thread_id(launch: &Launch, block: u32, thread: u32) -> ThreadId {
    let [gx, gy, _] = launch.grid;
    let [bx, by, _] = launch.block;
    ThreadId {
        block: [block % gx, block / gx % gy, block / gx / gy],
        thread: [thread % bx, thread / bx % by, thread / bx / by],
    }
}
