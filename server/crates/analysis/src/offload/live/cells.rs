//! What a counted loop reads and writes of arrays, as sets of subscripts.

use base::{Budget, IndexId};
use rustc_hash::FxHashMap;
use term::{Body, Op, SymbolId, TermId};

use super::place_of;
use crate::algebra::poly::{Domain, Poly, Var, VarKind};
use crate::context::Context;
use crate::limits::offload_live::MAX_LOOPS;
use crate::nest::{AffineAccess, Model};
use crate::{Condition, ConditionKind, MetBy, ObstacleKind, Param};

/// A set of cells of one array.
#[derive(Clone)]
pub(super) enum Cells {
    None,
    Some(poly::Set),
    /// Every one, and what is not known.
    All,
}

impl Cells {
    pub(super) fn is_none(&self) -> bool {
        matches!(self, Cells::None)
    }

    /// Adds cells; whether there are more than before, as far as that can be told.
    pub(super) fn add(&mut self, more: &Cells, budget: &Budget) -> bool {
        let new = match (&*self, more) {
            (Cells::All, _) | (_, Cells::None) => return false,
            (Cells::None, more) => more.clone(),
            (_, Cells::All) => Cells::All,
            (Cells::Some(a), Cells::Some(b)) => {
                if b.is_subset(a, budget).unwrap_or(false) {
                    return false;
                }
                a.union(b, budget).and_then(|u| u.coalesce(budget)).map_or(Cells::All, Cells::Some)
            }
        };
        *self = new;
        true
    }

    /// Those that are not in a set.
    pub(super) fn without(&self, set: &poly::Set, all: &poly::Set, budget: &Budget) -> Cells {
        let from = match self {
            Cells::None => return Cells::None,
            Cells::Some(s) => s,
            Cells::All => all,
        };
        match from.subtract(set, budget).and_then(|s| Ok((s.is_empty(budget)?, s))) {
            Ok((true, _)) => Cells::None,
            Ok((false, s)) => Cells::Some(s),
            Err(_) => self.clone(),
        }
    }

    /// Those that are in both.
    pub(super) fn within(&self, other: &Cells, budget: &Budget) -> Cells {
        match (self, other) {
            (Cells::None, _) | (_, Cells::None) => Cells::None,
            (Cells::All, s) | (s, Cells::All) => s.clone(),
            (Cells::Some(a), Cells::Some(b)) => {
                match a.intersect(b, budget).and_then(|s| Ok((s.is_empty(budget)?, s))) {
                    Ok((true, _)) => Cells::None,
                    Ok((false, s)) => Cells::Some(s),
                    Err(_) => self.clone(),
                }
            }
        }
    }
}

/// What a loop does with an array.
#[derive(Clone)]
pub(super) struct Used {
    /// What it may read.
    pub reads: Cells,
    /// Whether it may write some of it.
    pub writes_some: bool,
    /// What it has surely written when it is over.
    pub writes: Option<poly::Set>,
}

/// An array that is looked at.
pub(super) struct Array {
    pub symbol: SymbolId,
    pub rank: usize,
    /// All its cells.
    pub all: poly::Set,
}

/// Makes sets of what models say. `fixed`: the parameters of all sets.
pub(super) struct Sets<'s> {
    pub fixed: &'s [SymbolId],
    pub budget: &'s Budget,
}

impl Sets<'_> {
    pub(super) fn space(&self, dims: usize) -> poly::Space {
        poly::Space { params: self.fixed.len(), dims }
    }

    /// The cells of an access; `None`: not known. `sure`: only what it surely touches.
    fn touched(&self, model: &Model<'_>, a: &AffineAccess, rank: usize, sure: bool) -> Option<poly::Set> {
        let plain = a.fields.is_empty() && a.inside.is_all() && a.subs.len() == rank;
        if !plain || sure && !(a.domain.exact && a.why.is_none()) {
            return None;
        }
        let values: Vec<Option<&Poly>> = a.subs.iter().map(|s| s.value.as_ref()).collect();
        let space = self.space(rank + a.loops.len());
        let mut out = poly::Set::empty(space, self.budget).ok()?;
        for piece in 0..a.domain.pieces.len() {
            let one = self.piece(model, &a.domain, piece, &a.loops, &values, sure)?;
            out = out.union(&one, self.budget).ok()?;
        }
        out.project_out(rank..rank + a.loops.len(), self.budget).ok()
    }

    fn piece(
        &self,
        model: &Model<'_>,
        domain: &Domain,
        piece: usize,
        loops: &[usize],
        values: &[Option<&Poly>],
        sure: bool,
    ) -> Option<poly::Set> {
        let rank = values.len();
        let mut rows = Rows { sets: self, model, loops, rank, sure, exists: FxHashMap::default() };
        let mut out = Vec::new();
        for (k, v) in values.iter().enumerate() {
            match v {
                Some(v) => {
                    let row = rows.row(v)?;
                    let old = row.dims.get(k).copied().unwrap_or(0);
                    out.push(poly::Constraint::eq(row.dim(k, old - 1)));
                }
                // any
                None if sure => return None,
                None => {}
            }
        }
        for c in domain.pieces.get(piece)? {
            let row = rows.row(&c.poly)?;
            out.push(if c.equality { poly::Constraint::eq(row) } else { poly::Constraint::ge(row) });
        }
        let mut defined: Vec<Var> = Vec::new();
        loop {
            let open: Vec<Var> = rows.exists.keys().copied().filter(|v| !defined.contains(v)).collect();
            if open.is_empty() {
                break;
            }
            for v in open {
                defined.push(v);
                for c in model.vars.definition(v).into_iter().flatten() {
                    let row = rows.row(&c.poly)?;
                    out.push(if c.equality { poly::Constraint::eq(row) } else { poly::Constraint::ge(row) });
                }
            }
        }
        let space = self.space(rank + loops.len());
        poly::Set::from_constraints(space, rows.exists.len(), &out, self.budget).ok()
    }
}

struct Rows<'r, 'm> {
    sets: &'r Sets<'r>,
    model: &'r Model<'m>,
    loops: &'r [usize],
    rank: usize,
    sure: bool,
    exists: FxHashMap<Var, usize>,
}

impl Rows<'_, '_> {
    /// A value as a row. What is not fixed is some number, and where only what is sure counts there is no answer then.
    fn row(&mut self, p: &Poly) -> Option<poly::Row> {
        let mut row = poly::Row::constant(p.constant_part());
        for (m, c) in p.terms() {
            let [v] = m else {
                if m.is_empty() {
                    continue;
                }
                return None;
            };
            let fixed = match self.model.vars.kind(*v) {
                VarKind::Param(Param::Symbol(s)) => self.sets.fixed.iter().position(|f| f == s),
                VarKind::Iter(l) => {
                    let at = self.rank + self.loops.iter().position(|x| x == l)?;
                    let old = row.dims.get(at).copied().unwrap_or(0);
                    row = row.dim(at, old.checked_add(c)?);
                    continue;
                }
                VarKind::Param(_) | VarKind::Product(_) | VarKind::Image | VarKind::Fresh => None,
                VarKind::Quotient => {
                    self.exist(*v, c, &mut row)?;
                    continue;
                }
            };
            match fixed {
                Some(at) => {
                    let old = row.params.get(at).copied().unwrap_or(0);
                    row = row.param(at, old.checked_add(c)?);
                }
                None if self.sure => return None,
                None => self.exist(*v, c, &mut row)?,
            }
        }
        Some(row)
    }

    fn exist(&mut self, v: Var, c: i128, row: &mut poly::Row) -> Option<()> {
        let n = self.exists.len();
        let at = *self.exists.entry(v).or_insert(n);
        let old = row.exists.get(at).copied().unwrap_or(0);
        *row = std::mem::replace(row, poly::Row::constant(0)).exist(at, old.checked_add(c)?);
        Some(())
    }
}

/// What a loop does with each of the arrays; `None` for one of which its model does not say all, and for all where it is no
/// counted loop that is seen through.
pub(super) fn used_by<'a>(
    cx: &'a Context<'a>,
    t: TermId,
    arrays: &[Array],
    sets: &Sets<'_>,
) -> Vec<Option<Used>> {
    let nothing = || arrays.iter().map(|_| None).collect();
    let Some(at) = cx.loops.iter().position(|l| l.0 == t) else { return nothing() };
    let Ok(control) = cx.control(at) else { return nothing() };
    let body = cx.body;
    let leaves = |l: TermId| crate::flow::liveness::early_exit(body, l).is_some();
    let is_plain = matches!(control.step, crate::Step::Const(_)) && !control.pointer;
    let is_hidden = |x: TermId| matches!(body.op(x), Op::Reject(_) | Op::Launch);
    // what many loops do together is told by each of them
    if body.loops(t).count() > MAX_LOOPS {
        return nothing();
    }
    if !is_plain || body.loops(t).any(leaves) || body.walk(t).any(is_hidden) {
        return nothing();
    }
    let reading = cx.reading(at, control, sets.budget);
    if !reading.obstacles.is_empty() || sets.budget.left() == 0 {
        return nothing();
    }
    let mut met = reading.clone();
    met.model.objects.reads_in_rows = true;
    let mut wants = crate::loops::of_loop(body, t, 0, Ok(control.clone()));
    crate::loops::meet_obligations(&mut met, &mut wants);
    let rank_of = |access: TermId| {
        let base = crate::flow::parts::base_symbol(body, access)?;
        arrays.iter().find(|a| a.symbol == base).map(|a| a.rank)
    };
    // behind the end of an array is nothing; behind that of a row stands another
    let allowed = |k: &ConditionKind| match k {
        ConditionKind::Bounds { access, .. } => rank_of(*access).is_none_or(|r| r == 1),
        ConditionKind::InRow { access, .. } => rank_of(*access).is_none(),
        _ => false,
    };
    let holds = |c: &Condition| c.met_by == MetBy::Proof || allowed(&c.kind);
    let no_trouble = wants.obstacles.iter().all(|o| match &o.kind {
        ObstacleKind::NeedsPromise(k) => allowed(k),
        _ => false,
    });
    if !no_trouble || !wants.conditions.iter().all(holds) || sets.budget.left() == 0 {
        return nothing();
    }
    let model = &reading.model;
    arrays.iter().map(|a| used(cx, model, a, sets)).collect()
}

fn used(cx: &Context<'_>, model: &Model<'_>, array: &Array, sets: &Sets<'_>) -> Option<Used> {
    let body = cx.body;
    let mine: Vec<&AffineAccess> = model.accesses.iter().filter(|a| a.base == array.symbol).collect();
    // every place in the text must be one of the model's
    for name in body.walk(model.root).filter(|&x| body.as_symbol(x) == Some(array.symbol)) {
        if is_declaration(body, cx, name) {
            continue;
        }
        let Some(place) = place_of(body, &cx.parents, name).ok()? else { continue };
        let (reads, writes) = how(body, cx, place);
        let has = |write: bool| mine.iter().any(|a| a.term == place && a.write == write);
        if reads && !has(false) || writes && !has(true) {
            return None;
        }
    }
    let writes_some = mine.iter().any(|a| a.write);
    let mut reads = Cells::None;
    let mut writes: Option<poly::Set> = None;
    for a in mine {
        if a.write {
            if let Some(w) = sets.touched(model, a, array.rank, true) {
                writes = Some(match writes {
                    None => w,
                    Some(old) => old.union(&w, sets.budget).ok()?,
                });
            }
        } else {
            // behind the end of an array is nothing
            let more = sets
                .touched(model, a, array.rank, false)
                .and_then(|s| s.intersect(&array.all, sets.budget).ok());
            reads.add(&more.map_or(Cells::All, Cells::Some), sets.budget);
        }
    }
    Some(Used { reads, writes_some, writes })
}

fn is_declaration(body: &Body, cx: &Context<'_>, t: TermId) -> bool {
    let up = cx.parents.get(t.index()).copied().flatten();
    up.is_some_and(|p| matches!(body.op(p), Op::Declare(_)))
}

/// Whether an element is read, and whether it is written, where its place stands.
pub(super) fn how(body: &Body, cx: &Context<'_>, place: TermId) -> (bool, bool) {
    let Some(up) = cx.parents.get(place.index()).copied().flatten() else { return (true, true) };
    let is_place = body.args(up).first() == Some(&place);
    match body.op(up) {
        Op::Assign if is_place => (false, true),
        op if op.is_write() && is_place => (true, true),
        _ => (true, false),
    }
}
