//! Freedom from races for every launch: a kernel walked once with symbols for its indices, extents and parameters.
//!
//! Every access gets its offset as a polynomial over *atoms* (indices, extents, parameters, round numbers of loops, values that
//! nobody knows), conditions that hold where it is reached, and its place among barriers and loops. Two accesses can meet
//! only if two threads can reach them with equal offsets and no barrier in between; that no such threads exist is shown by
//! integer programming over the monomials, where products of a number and a positive extent keep their order ([`pairs`]).
//!
//! A loop is walked once, for any round: what its rounds share and what orders them is said by the barriers in it. An atom
//! that is the same for all threads of a block in one round is one unknown for two threads in that round, and two for others.
//!
//! Taken for granted, and told: extents of axes behind those asked for are 1; no axis has 2^31 threads or more; counters
//! of loops do not pass the end of their type. Signed arithmetic does not overflow and subscripts stay in their arrays, as C
//! demands. Deliberately absent: witnesses (launches are tried for them), fences, warp barriers, calls of functions that touch memory
//! (they stand in place of their calls before: `races::proof`).

mod eval;
mod granted;
mod memory;
mod pairs;
mod quotients;
mod ranges;
mod rows;
mod walk;

use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};
use term::{Body, IntKind, SymbolId, TermId};

use self::granted::Granted;
use super::collect::Seen;
use super::races::{RaceObstacle, Touch};
use super::uniformity::{self, Levels};
use super::{KernelLaunch, KernelObstacle, SamePointers};
use crate::algebra::poly::{Constraint, Poly, Var};
use crate::limits::kernel_symbolic::MAX_QUESTIONS;
use crate::Across;
use crate::Program;

/// Across which threads an atom is one number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Share {
    Grid,
    Block,
    Thread,
}

/// A number nobody knows.
#[derive(Clone, Debug)]
struct Atom {
    share: Share,
    /// The loops around the place where it got its value.
    loops: Vec<u32>,
    low: Option<i128>,
    high: Option<i128>,
}

/// Memory that threads share.
#[derive(Clone, PartialEq, Eq, Debug)]
struct SymbolicObject {
    name: Arc<str>,
    shared: bool,
    parameter: bool,
    restrict: bool,
}

/// One step on the way from the kernel to an access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Step {
    node: TermId,
    slot: u32,
}

/// An access, for every thread and round that comes to it.
struct SymbolicAccess {
    term: TermId,
    object: u32,
    /// In bytes; `None`: anywhere.
    offset: Option<Poly>,
    size: u64,
    touch: Touch,
    guards: Vec<Constraint>,
    path: Vec<Step>,
}

/// A loop, and what a round of it is.
struct Round {
    node: TermId,
    /// Number of the round, from 0.
    counter: Var,
    /// Whether barriers stand in it: then all threads of a block are in the same round.
    synced: bool,
}

/// A value.
#[derive(Clone, Debug)]
pub(in crate::kernel) enum Val {
    Int(Poly),
    /// The truth of a condition.
    Truth(Rc<Cond>),
    Ptr(u32, Option<Poly>),
    Own,
    Any,
}

/// What a condition says.
#[derive(Debug)]
pub(in crate::kernel) enum Cond {
    /// Non-negative, or zero.
    Holds(Constraint),
    Never(Poly),
    And(Rc<Cond>, Rc<Cond>),
    Or(Rc<Cond>, Rc<Cond>),
    Not(Rc<Cond>),
    Unknown,
}

type Run<T> = Result<T, KernelObstacle>;
type Locals = FxHashMap<SymbolId, Val>;

/// The walk and all that it finds.
struct SymbolicKernel<'a> {
    body: &'a Body,
    program: &'a Program,
    levels: &'a Levels<'a>,
    exposed: &'a FxHashSet<SymbolId>,
    /// Of parameters, by name.
    values: Vec<(Arc<str>, i128)>,
    /// Parameters that are given one pointer.
    same: SamePointers,
    /// Parameters taken to be 1 at least, and the atoms of parameters.
    positive: &'a BTreeSet<Arc<str>>,
    parameters: Vec<(Var, Arc<str>)>,
    /// Parameters that would have to be positive for a division to be followed.
    divisors: BTreeSet<Arc<str>>,
    /// Quotients by what is not a constant: what is divided, by what, in which loops; quotient and remainder.
    quotients: Vec<(Poly, Poly, Vec<u32>, [Var; 2])>,
    atoms: Vec<Atom>,
    /// Hold of the atoms of every thread.
    facts: Vec<Constraint>,
    /// By axis; constants where they are known.
    thread: [Poly; 3],
    block: [Poly; 3],
    extent: [Poly; 3],
    blocks: [Poly; 3],
    objects: Vec<SymbolicObject>,
    accesses: Vec<SymbolicAccess>,
    rounds: Vec<Round>,
    locals: Locals,
    guards: Vec<Constraint>,
    path: Vec<Step>,
    /// Loops around, by number.
    around: Vec<u32>,
    barriers: FxHashSet<TermId>,
    questions: u32,
    budget: base::Budget,
    depth: u32,
    /// Whether launches of any grid are meant, under conditions.
    any_grid: bool,
    /// Whether an index was taken to fit its type for that.
    indices: bool,
    /// Numbers made of indices and extents that were taken to fit, and the type that each has.
    granted: Vec<(Poly, IntKind)>,
    /// Atoms below this are indices and extents.
    given: Var,
}

/// Along how many axes, from the first on, a launch may have more than one thread a block, and more than one block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Axes {
    pub threads: u32,
    pub blocks: u32,
}

/// A kernel without races, for the launches that are named.
pub(super) struct Proof {
    pub apart: Vec<[Arc<str>; 2]>,
    /// Integer parameters that must be 1 at least for it.
    pub positive: Vec<Arc<str>>,
    /// Whether it rests on that no index computed from what the kernel is given passes 2^31 - 1.
    pub indices: bool,
    pub granted: Granted,
}

/// What a proof is asked for.
#[derive(Clone, Copy)]
pub(super) struct Wanted {
    pub axes: Axes,
    /// Perhaps only where parameters that are factors or divisors are positive, and as long as indices computed from them fit.
    pub conditional: bool,
    /// Not of shared memory: that is known to have none.
    pub only_global: bool,
}

/// Proves a kernel free of races for every launch that fits what is known of it and has one thread, and one block, along all but the
/// first so many axes.
pub(super) fn prove(
    body: &Body,
    program: &Program,
    seen: &Seen,
    launch: &KernelLaunch,
    wanted: Wanted,
) -> Result<Proof, RaceObstacle> {
    let Wanted { axes, conditional, only_global } = wanted;
    let unknown = RaceObstacle::Kernel;
    if let Some(t) = seen.unstructured {
        return Err(unknown(KernelObstacle::Structure(t)));
    }
    let levels = uniformity::levels(body, program, seen, launch, None);
    if let Some(b) = seen.barriers.iter().find(|b| b.in_callee || levels.barrier(seen, b) > Across::Block) {
        return Err(RaceObstacle::Barrier(b.term));
    }
    let mut positive: BTreeSet<Arc<str>> = BTreeSet::new();
    let mut first = None;
    loop {
        let mut m =
            SymbolicKernel::new(body, program, &levels, (seen, &positive), launch, axes).map_err(unknown)?;
        m.any_grid &= conditional;
        let found = m.kernel().map_err(unknown).and_then(|()| {
            if only_global {
                let objects = std::mem::take(&mut m.objects);
                m.accesses.retain(|a| !objects[a.object as usize].shared);
                m.objects = objects;
            }
            m.judge()
        });
        let why = match found {
            Ok(()) => {
                let (apart, indices, granted) =
                    (m.apart(), m.indices, m.granted(axes.threads == 1 && axes.blocks == 2));
                return Ok(Proof { apart, positive: positive.into_iter().collect(), indices, granted });
            }
            Err(why) => why,
        };
        let more = m.factors_given();
        let first = first.get_or_insert(why);
        if !conditional || more.is_subset(&positive) {
            return Err(first.clone());
        }
        positive.extend(more);
    }
}

impl<'a> SymbolicKernel<'a> {
    fn new(
        body: &'a Body,
        program: &'a Program,
        levels: &'a Levels<'a>,
        (seen, positive): (&'a Seen, &'a BTreeSet<Arc<str>>),
        launch: &KernelLaunch,
        axes: Axes,
    ) -> Run<SymbolicKernel<'a>> {
        let zero = || [Poly::constant(0), Poly::constant(0), Poly::constant(0)];
        let mut m = SymbolicKernel {
            body,
            program,
            levels,
            exposed: &seen.exposed,
            values: launch.values.clone(),
            same: launch.same.clone(),
            positive,
            parameters: Vec::new(),
            divisors: BTreeSet::new(),
            quotients: Vec::new(),
            atoms: Vec::new(),
            facts: Vec::new(),
            thread: zero(),
            block: zero(),
            extent: zero(),
            blocks: zero(),
            objects: Vec::new(),
            accesses: Vec::new(),
            rounds: Vec::new(),
            locals: Locals::default(),
            guards: Vec::new(),
            path: Vec::new(),
            around: Vec::new(),
            barriers: seen.barriers.iter().map(|b| b.term).collect(),
            questions: 0,
            budget: seen.budget.clone(),
            depth: 0,
            any_grid: launch.grid.is_none(),
            indices: false,
            granted: Vec::new(),
            given: 0,
        };
        let most = {
            let all = launch.limits.block_threads;
            launch.most_threads.unwrap_or(all).min(all) as i128
        };
        let whole = KernelObstacle::Questions;
        for a in 0..3 {
            let (wide, long) = (a < axes.threads as usize, a < axes.blocks as usize);
            let one = || Poly::constant(1);
            m.extent[a] = match launch.block {
                Some(b) => Poly::constant(b[a] as i128),
                None if wide => {
                    Poly::var(m.atom(Share::Grid, Some(1), Some(most.min(launch.limits.block[a].into()))))
                }
                None => one(),
            };
            m.blocks[a] = match launch.grid {
                Some(g) => Poly::constant(g[a] as i128),
                None if long => Poly::var(m.atom(Share::Grid, Some(1), Some(i32::MAX as i128))),
                None => one(),
            };
            if m.extent[a].as_constant() != Some(1) {
                m.thread[a] = Poly::var(m.atom(Share::Thread, Some(0), Some(1023)));
                m.below(&m.thread[a].clone(), &m.extent[a].clone()).ok_or(whole)?;
            }
            if m.blocks[a].as_constant() != Some(1) {
                m.block[a] = Poly::var(m.atom(Share::Block, Some(0), Some(i32::MAX as i128)));
                m.below(&m.block[a].clone(), &m.blocks[a].clone()).ok_or(whole)?;
                // threads of the blocks before this one, and of all
                let before = m.block[a].mul(&m.extent[a]).ok_or(whole)?;
                let all = m.blocks[a].mul(&m.extent[a]).ok_or(whole)?;
                m.below(&before.add(&m.extent[a]).and_then(|p| p.add_constant(-1)).ok_or(whole)?, &all)
                    .ok_or(whole)?;
                let limit = Poly::constant(1 << 31);
                m.below(&all, &limit).ok_or(whole)?;
                // the same number of blocks for each thread
                let over = m.thread[a].mul(&m.blocks[a]).ok_or(whole)?;
                m.facts.push(Constraint::non_negative(over.clone()));
                m.below(&over.add(&m.blocks[a]).and_then(|p| p.add_constant(-1)).ok_or(whole)?, &all)
                    .ok_or(whole)?;
                m.facts.push(Constraint::non_negative(before.clone()));
                m.facts.push(Constraint::non_negative(before.sub(&m.block[a]).ok_or(whole)?));
                m.facts.push(Constraint::non_negative(all.sub(&m.extent[a]).ok_or(whole)?));
                m.facts.push(Constraint::non_negative(all.sub(&m.blocks[a]).ok_or(whole)?));
            }
        }
        if axes.threads == 1 && axes.blocks == 2 {
            m.rows_of_blocks().ok_or(whole)?;
        }
        m.given = m.atoms.len() as Var;
        Ok(m)
    }

    /// What holds of threads along x that are counted through rows of blocks, as `(blockIdx.y * gridDim.x + blockIdx.x) * blockDim.x`
    /// counts them.
    fn rows_of_blocks(&mut self) -> Option<()> {
        let row = self.blocks[0].mul(&self.extent[0])?;
        for (unit, length) in [(row.clone(), true), (self.blocks[0].clone(), false)] {
            let before = self.block[1].mul(&unit)?;
            let all = self.blocks[1].mul(&unit)?;
            self.facts.push(Constraint::non_negative(before.clone()));
            self.below(&before.add(&unit)?.add_constant(-1)?, &all)?;
            if length {
                self.below(&all, &Poly::constant(1 << 31))?;
                self.facts.push(Constraint::non_negative(all.sub(&self.blocks[1].mul(&self.blocks[0])?)?));
            }
        }
        Some(())
    }

    /// Notes `a < b`.
    fn below(&mut self, a: &Poly, b: &Poly) -> Option<()> {
        let difference = b.sub(a)?.add_constant(-1)?;
        self.facts.push(Constraint::non_negative(difference));
        Some(())
    }

    fn atom(&mut self, share: Share, low: Option<i128>, high: Option<i128>) -> Var {
        self.atoms.push(Atom { share, loops: self.around.clone(), low, high });
        (self.atoms.len() - 1) as Var
    }

    /// Parameters that are factors of products in offsets or conditions, or divisors.
    fn factors_given(&self) -> BTreeSet<Arc<str>> {
        let mut out = self.divisors.clone();
        let mut note = |p: &Poly| {
            for (m, _) in p.terms().filter(|(m, _)| m.len() > 1) {
                out.extend(self.parameters.iter().filter(|(v, _)| m.contains(v)).map(|(_, n)| n.clone()));
            }
        };
        for a in &self.accesses {
            a.offset.iter().for_each(&mut note);
            a.guards.iter().for_each(|g| note(&g.poly));
        }
        out
    }

    /// Pairs of parameters that must not overlap.
    fn apart(&self) -> Vec<[Arc<str>; 2]> {
        let mut out = Vec::new();
        let touched = |o: usize, written: bool| {
            self.accesses.iter().any(|a| a.object as usize == o && (!written || a.touch != Touch::Read))
        };
        for (a, x) in self.objects.iter().enumerate() {
            for (b, y) in self.objects.iter().enumerate().skip(a + 1) {
                let may =
                    !x.shared && !y.shared && (x.parameter || y.parameter) && !(x.restrict || y.restrict);
                if may && touched(a, false) && touched(b, false) && (touched(a, true) || touched(b, true)) {
                    out.push([x.name.clone(), y.name.clone()]);
                }
            }
        }
        out
    }
}
