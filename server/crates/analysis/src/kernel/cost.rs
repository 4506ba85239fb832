//! What costs more than it needs to, though nothing is wrong: warps that are divided where the same work would fill fewer of them, and
//! loads that a compiler must repeat because a store may have changed what they read.

use rustc_hash::{FxHashMap, FxHashSet};
use term::device::Index;
use term::{BinOp, Body, Op, Storage, SymbolId, TermId, TypeKind};

use super::collect::{AccessKind, Seen};
use super::traced::Traced;
use super::BranchFact;

/// A branch that takes few lanes of many warps.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DividedBranch {
    pub term: TermId,
    /// Decisions for which some lanes hold, and lanes that hold in all of them.
    pub warps: u64,
    pub lanes: u64,
    /// Warps that those lanes would fill, block by block and each time the block decides.
    pub packed: u64,
}

/// How many lanes decisions hold for in one block: of each branch, each time that its warps decide it.
#[derive(Default)]
pub(super) struct Turns {
    /// Times that the warp at hand has decided.
    own: FxHashMap<TermId, usize>,
    held: FxHashMap<TermId, Vec<u64>>,
}

impl Turns {
    pub(super) fn warp_begins(&mut self) {
        self.own.clear();
    }
    pub(super) fn decides(&mut self, branch: TermId, holds: u32) {
        let turn = self.own.entry(branch).or_default();
        let held = self.held.entry(branch).or_default();
        if held.len() <= *turn {
            held.push(0);
        }
        if let Some(sum) = held.get_mut(*turn) {
            *sum += u64::from(holds);
        }
        *turn += 1;
    }
    /// The warps of so many lanes that would do, branch by branch.
    pub(super) fn block_ends(&mut self, lanes: u64) -> impl Iterator<Item = (TermId, u64)> + '_ {
        self.held.drain().map(move |(t, held)| (t, held.iter().map(|h| h.div_ceil(lanes)).sum()))
    }
}

/// A read in a loop that stores through another pointer, and nothing says that the two are apart.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reload {
    pub read: TermId,
    pub pointer: SymbolId,
    pub store: TermId,
    pub other: SymbolId,
}

/// Branches that choose their lanes by a remainder or a bit of the thread's number: what they choose lies scattered over warps.
pub(super) fn divided(
    body: &Body,
    seen: &Seen,
    branches: &[BranchFact],
    traced: Option<&Traced>,
) -> Vec<DividedBranch> {
    let Some(traced) = traced else { return Vec::new() };
    let mut out = Vec::new();
    for b in branches.iter().filter(|b| matches!(body.op(b.term), Op::If)) {
        let Some(lanes) = &b.lanes else { continue };
        let Some(&condition) = body.args(b.term).first() else { continue };
        if !picks(body, seen, condition) {
            continue;
        }
        let (mut warps, mut chosen, mut most) = (0u64, 0u64, 0);
        for (&(_, holds), &times) in lanes.iter().filter(|((_, h), _)| *h > 0) {
            warps += times;
            chosen += times * holds as u64;
            most = most.max(holds);
        }
        let packed = traced.packed(b.term);
        // one lane for its warp is what shuffles and votes need
        if most > 1 && warps >= 2 * packed {
            out.push(DividedBranch { term: b.term, warps, lanes: chosen, packed });
        }
    }
    out
}

/// Branches of the same kind, that part warps whatever the launch: some lanes of every warp that comes run what half as many warps, or
/// fewer, could.
pub(super) fn parted(body: &Body, seen: &Seen, branches: &[BranchFact]) -> Vec<TermId> {
    let scattered = |b: &&BranchFact| {
        let Some(any) = b.any_shape.as_ref().filter(|_| matches!(body.op(b.term), Op::If)) else {
            return false;
        };
        let few = any.parts.is_some_and(|(holds, of)| 2 * holds <= of);
        let condition = body.args(b.term).first();
        // one lane for its warp is what shuffles and votes need
        few && any.taken[1] > 1 && condition.is_some_and(|&c| picks(body, seen, c))
    };
    branches.iter().filter(scattered).map(|b| b.term).collect()
}

/// Whether a condition is made of a remainder or a bit of a thread's own number.
fn picks(body: &Body, seen: &Seen, condition: TermId) -> bool {
    let cuts = |&t: &TermId| matches!(body.op(t), Op::Binary(BinOp::Rem | BinOp::BitAnd));
    body.walk(condition).filter(cuts).any(|t| of_thread(body, seen, t, &mut FxHashSet::default()))
}

fn of_thread(body: &Body, seen: &Seen, t: TermId, open: &mut FxHashSet<SymbolId>) -> bool {
    body.walk(t).any(|x| match body.op(x) {
        Op::Sym(s) if body.symbols[*s].storage == Storage::Builtin => {
            body.index_variable(x) == Some(Index::Thread)
        }
        Op::Sym(s) if open.insert(*s) => {
            let from = seen.definitions.get(s).into_iter().flatten().flat_map(|d| &d.from);
            from.copied().any(|f| of_thread(body, seen, f, open))
        }
        _ => false,
    })
}

/// One read a pointer.
pub(super) fn reloads(body: &Body, seen: &Seen) -> Vec<Reload> {
    let parameter = |place: TermId| {
        let mut at = place;
        loop {
            match (body.op(at), body.args(at)) {
                (Op::Index | Op::Member { arrow: false, .. } | Op::Deref, &[base, ..]) => at = base,
                (Op::Binary(BinOp::Add), &[a, b]) => {
                    at = if body.types.element(body.ty(a)).is_some() { a } else { b };
                }
                (Op::Sym(s), _) if matches!(body.symbols[*s].storage, Storage::Param(_)) => return Some(*s),
                _ => return None,
            }
        }
    };
    let element = |s: SymbolId| body.types.element(body.symbols[s].ty);
    // a pointer that says it is alone, or that moves, is another matter
    let plain = |s: SymbolId| {
        let quals = body.types.quals(body.symbols[s].ty);
        let volatile = element(s).is_none_or(|e| body.types.quals(e).is_volatile);
        !quals.is_restrict && !volatile && !seen.definitions.contains_key(&s) && !seen.exposed.contains(&s)
    };
    let number = |s: SymbolId| {
        element(s).map(|e| body.types.kind(e)).filter(|k| matches!(k, TypeKind::Int(_) | TypeKind::Float(_)))
    };
    let written: FxHashSet<SymbolId> = seen
        .accesses
        .iter()
        .filter(|a| a.kind != AccessKind::Read)
        .filter_map(|a| parameter(a.place))
        .collect();
    let mut out: Vec<Reload> = Vec::new();
    for r in seen.accesses.iter().filter(|a| a.kind == AccessKind::Read) {
        let (Some(p), Some(l)) = (parameter(r.place), r.at.loops.last()) else { continue };
        if goes_by_the_grid(body, *l) {
            continue;
        }
        if written.contains(&p) || !plain(p) || out.iter().any(|o| o.pointer == p) {
            continue;
        }
        let store = seen.accesses.iter().find_map(|w| {
            let q = parameter(w.place)?;
            let here = w.kind == AccessKind::Write && w.at.loops.contains(l);
            (here && plain(q) && number(q).is_some() && number(q) == number(p)).then_some((w.term, q))
        });
        if let Some((store, other)) = store {
            out.push(Reload { read: r.term, pointer: p, store, other });
        }
    }
    out
}

/// Whether a loop goes on by all threads of the launch: most threads run it once, and little is loaded again.
fn goes_by_the_grid(body: &Body, l: TermId) -> bool {
    let grid = |t: TermId| body.index_variable(t) == Some(Index::GridSize);
    body.loop_parts(l).and_then(|parts| parts.step).is_some_and(|step| body.walk(step).any(grid))
}
