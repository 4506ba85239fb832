//! What a loop's accesses and branches would be like in a kernel, before there is one: which loop runs along the lanes of a
//! warp decides how far apart neighbouring lanes read and write, and which conditions they decide alike.
//!
//! All of it is said for every value of the parameters. A warp is as many neighbouring iterations of one loop as it has lanes, at one iteration
//! of every other: blocks whose rows are whole warps. Sectors are those of a full warp (see [`Requests`]); where an array
//! begins is known (allocations begin at a sector), but not which iteration a warp begins with, so there are a least and
//! a most. Deliberately absent: shared memory, caches, reuse between warps.

use base::Budget;
use rustc_hash::FxHashMap;
use term::{Body, Op, SymbolId, TermId, TypeKind};

use crate::algebra::poly::{Poly, Var, VarKind};
use crate::calls::inline::read;
use crate::context::Context;
use crate::kernel::{loop_branches, Requests};
use crate::loops::expr_of;
use crate::nest::{AffineAccess, Model};
use crate::{Across, Control, Facts, LaneAccess, LaneBranch, LaneStride, LoopId, Mapping, Program};

/// Bytes of a sector.
const SECTOR: u64 = 32;

/// What a nest is like with each loop of `band` in turn along the lanes of warps, and the others along other axes, where
/// blocks have rows of whole warps. `band`: the loops that are spread over threads, outermost first, each counted.
/// `None`: one is not. `first`: the element with which the copy of an array on the device begins, where that is a known
/// number.
pub fn mappings(
    body: &Body,
    program: &Program,
    facts: &Facts,
    band: &[LoopId],
    first: &dyn Fn(SymbolId) -> Option<i128>,
    lanes: u32,
    budget: &Budget,
) -> Option<Vec<Mapping>> {
    let &root = band.first()?;
    let claim = facts.loops.get(root)?;
    let control = claim.control.as_ref().ok()?;
    let expanded = crate::calls::inline::expand(body, program);
    let whole = expanded.as_ref().map_or(body, |e| &e.body);
    read(whole.len(), budget).ok()?;
    let cx = Context::new(whole, program, body.len(), budget);
    // what moves by an amount that is no constant is told by the iteration's number alone
    let model = match claim.inductions.iter().any(|i| i.step.is_none()) {
        true => cx.numbered(root.0 as usize, control, budget).model,
        false => cx.model(root.0 as usize, control, budget),
    };
    if budget.left() == 0 {
        return None;
    }
    // what each thread has for itself, and what is reduced, lies in registers
    let single = |a: &AffineAccess| {
        let mut mine = claim.reductions.iter().filter(|r| r.cells == crate::Cells::One);
        mine.any(|r| r.object.symbol == a.base && whole.same(a.term, r.place))
    };
    let private = |s: SymbolId| claim.privates.iter().any(|p| p.symbol == s);
    let own = |s: SymbolId| expanded.as_ref().map_or(Some(s), |e| e.own_symbol(s)).filter(|&s| !private(s));
    let accesses: Vec<(&AffineAccess, SymbolId)> = model
        .accesses
        .iter()
        .filter(|a| is_memory(&model, a) && !single(a))
        .filter_map(|a| Some((a, own(a.base)?)))
        .collect();
    let parts: Vec<(TermId, SymbolId)> = band
        .iter()
        .map(|&l| {
            let f = facts.loops.get(l)?;
            Some((f.term, f.control.as_ref().ok()?.index))
        })
        .collect::<Option<_>>()?;
    let &(innermost, _) = parts.last()?;
    let mut out = Vec::new();
    for &(along, _) in &parts {
        let lane_loop = model.loops.iter().position(|m| m.term == along)?;
        let mut mapping = Mapping::default();
        let mut places: Vec<TermId> = Vec::new();
        for &(a, base) in &accesses {
            let Some(mut one) = lane_access(&model, a, base, (lane_loop, lanes), first(base)) else {
                continue;
            };
            if let LaneStride::Times(e, _) = &one.stride {
                if expanded.as_ref().is_some_and(|x| !x.is_own_expr(e)) {
                    one.stride = LaneStride::Unknown;
                }
            }
            match places.iter().position(|t| *t == a.term) {
                Some(k) => mapping.accesses[k].join(one),
                None => {
                    places.push(a.term);
                    mapping.accesses.push(one);
                }
            }
        }
        for a in &mut mapping.accesses {
            a.term = expanded.as_ref().map_or(a.term, |e| e.home(a.term));
        }
        mapping.accesses.sort_by_key(|a| (body.span(a.term).start, a.term));
        let across = |term: TermId| if term == along { Across::Nothing } else { Across::Warp };
        let indices = parts.iter().map(|&(term, index)| (index, across(term))).collect();
        let branches = loop_branches(body, program, innermost, &indices);
        // where a loop inside counts between values that stay, lanes go through it together
        let stays = |p: &Option<Poly>| p.as_ref().is_some_and(|p| p.vars().all(|v| model.is_param(v)));
        let together = |t: TermId| {
            let of = model.loops.iter().find(|m| m.term == t);
            let leaves = || body.walk(t).any(|x| matches!(body.op(x), Op::Break | Op::Goto(_) | Op::Return));
            of.is_some_and(|m| {
                let is_plain = m.control.as_ref().is_some_and(Control::is_plain);
                is_plain && stays(&m.lower) && stays(&m.limit) && !leaves()
            })
        };
        mapping.branches = branches
            .into_iter()
            .map(|(term, across, by_index)| match together(term) {
                true => LaneBranch { term, across: across.min(Across::Warp), by_index: true },
                false => LaneBranch { term, across, by_index },
            })
            .collect();
        out.push(mapping);
    }
    Some(out)
}

/// Which loop of a band to run along the lanes: the one whose accesses need the fewest sectors, the innermost of several.
pub(crate) fn best(mappings: &[Mapping]) -> usize {
    let all = mappings.iter().enumerate();
    all.min_by_key(|(k, m)| (m.most_sectors(), std::cmp::Reverse(*k))).map_or(0, |(k, _)| k)
}

impl Mapping {
    /// Sectors of one request of each access, at most.
    pub fn most_sectors(&self) -> u64 {
        self.accesses.iter().map(|a| a.sectors.map_or(a.most, |(_, most)| most)).sum()
    }
}

impl LaneAccess {
    /// The same place in the text, seen another time.
    fn join(&mut self, o: LaneAccess) {
        self.reads |= o.reads;
        self.writes |= o.writes;
        self.most = self.most.max(o.most);
        if self.stride != o.stride {
            (self.stride, self.sectors) = (LaneStride::Unknown, None);
        }
        self.sectors = match (self.sectors, o.sectors) {
            (Some(a), Some(b)) => Some((a.0.min(b.0), a.1.max(b.1))),
            _ => None,
        };
    }
}

/// Whether an access is to memory that threads share: no scalar by its name, nothing that each iteration declares.
fn is_memory(model: &Model<'_>, a: &AffineAccess) -> bool {
    let symbol = &model.body.symbols[a.base];
    let scalar = matches!(model.body.types.kind(symbol.ty), TypeKind::Int(_) | TypeKind::Float(_));
    !scalar && !model.declared_inside(a.base) && !a.subs.is_empty()
}

fn lane_access(
    model: &Model<'_>,
    a: &AffineAccess,
    base: SymbolId,
    (along, lanes): (usize, u32),
    first: Option<i128>,
) -> Option<LaneAccess> {
    let (bytes, align) = model.body.types.size_align(model.body.ty(a.term))?;
    let stride = stride(model, a, along, bytes).unwrap_or(LaneStride::Unknown);
    let sectors = match stride {
        LaneStride::Bytes(s) => {
            let phase = first.and_then(|f| phase(model, a, along, f, bytes));
            sectors(s, lanes, (bytes, align), phase)
        }
        _ => None,
    };
    let ideal = (u64::from(lanes) * bytes).div_ceil(SECTOR);
    let (reads, writes) = (!a.write, a.write);
    let most = most(model, a.base).map_or(u64::from(lanes), |n| n.min(lanes.into()));
    Some(LaneAccess { term: a.term, base, reads, writes, bytes, stride, sectors, most, ideal, lanes })
}

/// The sectors of an object of known size, wherever in a sector it begins.
fn most(model: &Model<'_>, base: SymbolId) -> Option<u64> {
    let ty = model.body.symbols[base].ty;
    let known = !matches!(model.body.types.kind(ty), TypeKind::Pointer { .. });
    model.body.types.size_align(ty).filter(|_| known).map(|(bytes, _)| bytes.div_ceil(SECTOR) + 1)
}

/// Sectors of so many lanes, least and most over where in its sector the first may be; `phase`: where it is.
fn sectors(stride: i128, lanes: u32, (bytes, align): (u64, u64), phase: Option<i128>) -> Option<(u64, u64)> {
    let count = |first: i128| {
        let lanes = (0..lanes).map(|k| Some((k, first + i128::from(k).checked_mul(stride)?)));
        let mut r = Requests::default();
        r.add(term::Space::Global, &lanes.collect::<Option<Vec<_>>>()?, i128::from(bytes));
        Some(r.sectors)
    };
    if let Some(phase) = phase {
        return count(phase).map(|n| (n, n));
    }
    let all: Option<Vec<u64>> = (0..SECTOR.into()).step_by(align.max(1) as usize).map(count).collect();
    let all = all?;
    Some((*all.iter().min()?, *all.iter().max()?))
}

/// Where in its sector the first lane of every warp reads or writes, if that is one place. Allocations begin at a sector, and
/// warps with a multiple of 32 iterations, as many lanes as they may have.
fn phase(model: &Model<'_>, a: &AffineAccess, lanes: usize, first: i128, bytes: u64) -> Option<i128> {
    let mut sum = Poly::default();
    let mut scale = Poly::constant(1);
    for (k, s) in a.subs.iter().enumerate().rev() {
        sum = sum.add(&s.value.as_ref()?.mul(&scale)?)?;
        if k > 0 {
            scale = scale.mul(a.inner.as_ref()?.get(k - 1)?)?;
        }
    }
    if !a.fields.is_empty() || !sum.is_linear() {
        return None;
    }
    let bytes = i128::from(bytes);
    let mut at = sum.constant_part().checked_sub(first)?.checked_mul(bytes)?;
    for v in sum.vars() {
        let by = sum.coefficient(v).checked_mul(bytes)?;
        if let Some(&k) = a.loops.iter().find(|&&k| model.loops.get(k).is_some_and(|l| l.var == v)) {
            // from the iteration's number to the counter
            let l = model.loops.get(k)?;
            let rest = l.iteration.as_ref()?.sub(&Poly::var(v))?.as_constant()?;
            at = at.checked_sub(by.checked_mul(rest)?)?;
            if k == lanes {
                continue;
            }
        }
        if by % i128::from(SECTOR) != 0 {
            return None;
        }
    }
    Some(at.rem_euclid(SECTOR.into()))
}

/// How far the next lane's place is from a lane's.
fn stride(model: &Model<'_>, a: &AffineAccess, lanes: usize, bytes: u64) -> Option<LaneStride> {
    let moves = Moves::of(model, a, lanes)?;
    // the elements that subscripts count: whole structs where a field is meant
    let element = match a.fields.as_slice() {
        [] => i128::from(bytes),
        [(before, _)] if *before == a.subs.len() => {
            let &base = model.body.args(a.term).first()?;
            let ty = model.body.ty(base);
            let record = model.body.types.element(ty).filter(|_| is_pointer(model, ty)).unwrap_or(ty);
            i128::from(model.body.types.size_align(record)?.0)
        }
        _ => return None,
    };
    let mut sum = Poly::default();
    let mut scale = Poly::constant(1);
    for (k, s) in a.subs.iter().enumerate().rev() {
        let d = moves.by(s.value.as_ref()?)?;
        if d != Poly::default() {
            sum = sum.add(&d.mul(&scale)?)?;
        }
        if k > 0 {
            match &a.inner {
                Some(inner) => scale = scale.mul(inner.get(k - 1)?)?,
                // rows that lie anywhere: the same row for all lanes, or nothing is known
                None => {
                    let rest = a.subs.get(..k)?;
                    let still = |s: &crate::nest::Subscript| {
                        s.value.as_ref().and_then(|v| moves.by(v)) == Some(Poly::default())
                    };
                    return rest.iter().all(still).then(|| said(model, &sum, element))?;
                }
            }
        }
    }
    said(model, &sum, element)
}

fn is_pointer(model: &Model<'_>, ty: term::TypeId) -> bool {
    matches!(model.body.types.kind(ty), TypeKind::Pointer { .. })
}

fn said(model: &Model<'_>, elements: &Poly, element: i128) -> Option<LaneStride> {
    if let Some(c) = elements.as_constant() {
        return Some(LaneStride::Bytes(c.checked_mul(element)?));
    }
    Some(LaneStride::Times(expr_of(model, elements)?, element))
}

/// By how much the counters move from a lane to the next.
struct Moves<'m, 'a> {
    model: &'m Model<'a>,
    /// Those that move; `None`: nobody knows how.
    by: FxHashMap<Var, Option<Poly>>,
}

impl<'m, 'a> Moves<'m, 'a> {
    fn of(model: &'m Model<'a>, a: &AffineAccess, lanes: usize) -> Option<Moves<'m, 'a>> {
        let mut moves = Moves { model, by: FxHashMap::default() };
        for &k in &a.loops {
            let l = model.loops.get(k)?;
            let wanted = Poly::constant(i128::from(k == lanes));
            // lanes are in the same iteration of every other loop, counted from its own beginning
            let by = l.iteration.as_ref().and_then(|i| {
                let c = i.coefficient(l.var);
                let rest = i.add_scaled(&Poly::var(l.var), -c)?;
                match c {
                    1 => wanted.sub(&moves.by(&rest)?),
                    -1 => moves.by(&rest)?.sub(&wanted),
                    _ => None,
                }
            });
            if by != Some(Poly::default()) {
                moves.by.insert(l.var, by);
            }
        }
        Some(moves)
    }

    /// By how much a value does. `None`: not by the same for all lanes, or it is not known.
    fn by(&self, value: &Poly) -> Option<Poly> {
        let mut sum = Poly::default();
        for (vars, c) in value.terms() {
            let mut moving = None;
            for (at, &v) in vars.iter().enumerate() {
                match self.model.vars.kinds().get(v as usize)? {
                    VarKind::Param(_) | VarKind::Product(_) => continue,
                    VarKind::Iter(_) => {}
                    VarKind::Quotient | VarKind::Image | VarKind::Fresh => return None,
                }
                if self.by.contains_key(&v) && moving.replace(at).is_some() {
                    return None;
                }
            }
            let Some(at) = moving else { continue };
            let mut part = self.by.get(vars.get(at)?)?.as_ref()?.scale(c)?;
            for (k, &v) in vars.iter().enumerate() {
                if k != at {
                    part = part.mul(&Poly::var(v))?;
                }
            }
            sum = sum.add(&part)?;
        }
        Some(sum)
    }
}
