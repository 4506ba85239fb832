//! Variables that need no cell of their own between iterations: privates, inductions, reductions.

use rustc_hash::{FxHashMap, FxHashSet};
use term::{Body, Op, SymbolId, TermId, TypeKind};

use crate::classify::extremes::{extremes, Extreme};
use crate::classify::reductions::{carried_updates, copied_updates, updates, Looked, Update};
use crate::context::Context;
use crate::flow::liveness::{exposed_reads, has_continue, is_read_after, surely_written};
use crate::flow::parts::Inside;
use crate::nest::{AffineAccess, Model};
use crate::{Cells, Control, Induction, Object, Private, Reduction, ReductionOp};

pub(crate) struct Scalars {
    index: SymbolId,
    pub privates: Vec<Private>,
    pub inductions: Vec<Induction>,
    /// Those that accumulate into [`Cells::Many`] are only candidates: they count where two iterations may meet.
    pub reductions: Vec<Reduction>,
    /// Extremes that a companion names the cell of, where every iteration compares.
    pub placed: Vec<Placed>,
    /// Terms that belong to the reduction of that number.
    pub groups: FxHashMap<TermId, usize>,
    aside: FxHashSet<SymbolId>,
    /// Objects that each iteration has for itself.
    own: FxHashSet<SymbolId>,
}

/// `if (a[i] < a[k]) k = i;`, in every iteration: `own` is what is compared with `k` in it, and `other` the same with `i`.
pub(crate) struct Placed {
    pub place: TermId,
    pub own: TermId,
    pub other: TermId,
}

impl Scalars {
    /// Takes steps of the model's for the flow of values alone: the rest is a few walks over the loop, however many variables it has,
    /// which whoever asks has paid for.
    pub(crate) fn new(cx: &Context<'_>, model: &Model<'_>, control: &Control) -> Scalars {
        let body = cx.body;
        let root = model.root;
        let parts = body.loop_parts(root);
        let inner = parts.map_or(root, |p| p.body);
        let header = parts.map_or([None, None], |p| [p.condition, p.step]);
        let mut written: Vec<SymbolId> = cx.effects.writes_in(root).iter().copied().collect();
        written.sort_unstable();
        let exposed = [Some(inner), header[0], header[1]]
            .into_iter()
            .flatten()
            .map(|part| exposed_reads(body, &[part], &model.budget))
            .collect::<Option<Vec<_>>>();
        let exposed: Option<FxHashSet<SymbolId>> = exposed.map(|v| v.into_iter().flatten().collect());
        // Nothing is sure where the loop may be left early; such loops get no verdict from here.
        let sure = surely_written(body, inner, &model.budget);
        let mut s = Scalars {
            index: control.index,
            privates: Vec::new(),
            inductions: Vec::new(),
            reductions: Vec::new(),
            placed: Vec::new(),
            groups: FxHashMap::default(),
            aside: FxHashSet::default(),
            own: FxHashSet::default(),
        };
        s.aside.insert(control.index);
        s.own = model.own_objects();
        for &(symbol, k, update) in &model.inductions {
            s.inductions.push(Induction { symbol, step: k, update });
            s.aside.insert(symbol);
        }
        let all = Occurrences::of(body, root);
        s.find_extremes(cx, model, inner, &all);
        for &symbol in &written {
            let v = &body.symbols[symbol];
            let scalar = matches!(
                body.types.kind(v.ty),
                TypeKind::Int(_) | TypeKind::Float(_) | TypeKind::Pointer { .. }
            );
            if model.declared_inside(symbol) {
                s.privates.push(Private { symbol, declared_inside: true, kept: false, copied_in: false });
                continue;
            }
            if s.aside.contains(&symbol) || !scalar || !v.is_own_scalar() {
                continue;
            }
            if exposed.as_ref().is_none_or(|e| e.contains(&symbol)) {
                continue;
            }
            // Its value after the loop is that of the last iteration that writes it.
            let live = cx.liveness().is_live_after(root, symbol);
            // The test that ends the loop is no part of an iteration; what only the header's start sets is no write of
            // one either.
            let in_header = |t: Option<TermId>| t.is_some_and(|t| cx.effects.writes_in(t).contains(&symbol));
            let in_iteration = in_header(Some(inner)) || in_header(header[1]);
            if live && (in_header(header[0]) || !in_iteration) {
                continue;
            }
            let kept = live && sure.as_ref().is_some_and(|w| w.contains(&symbol));
            if !live || kept {
                s.privates.push(Private { symbol, declared_inside: false, kept, copied_in: false });
                s.aside.insert(symbol);
                if kept {
                    let place = all.writes.get(&symbol).and_then(|w| w.first());
                    s.reductions.extend(place.map(|&p| kept_reduction(body, symbol, p, Cells::Variable)));
                }
            } else if !matches!(body.types.kind(v.ty), TypeKind::Pointer { .. }) {
                s.last_writer(cx, symbol, &all);
            }
        }
        s.find_reductions(cx, model, inner, &all);
        s
    }

    /// A variable that some iterations write, none reads before it writes it, and that is read afterwards: the last
    /// iteration that writes it decides.
    fn last_writer(&mut self, cx: &Context<'_>, symbol: SymbolId, all: &Occurrences) {
        let (body, q) = (cx.body, cx.body.types.quals(cx.body.symbols[symbol].ty));
        let updates = all.writes.get(&symbol).cloned().unwrap_or_default();
        let Some(place) = updates.first().and_then(|&u| body.args(u).first().copied()) else { return };
        if q.is_volatile || q.is_atomic || body.as_symbol(place) != Some(symbol) {
            return;
        }
        self.aside.insert(symbol);
        self.reductions.push(Reduction {
            object: Object { symbol, fields: Vec::new() },
            place,
            cells: Cells::Variable,
            op: ReductionOp::Last,
            ty: body.symbols[symbol].ty,
            key: None,
            updates,
        });
    }

    /// Extremes with what belongs to them. What they are kept in serves nothing else in the loop, so which of the iterations
    /// decides depends on their values and numbers alone; of cells of memory the tests for dependences find other uses.
    fn find_extremes(&mut self, cx: &Context<'_>, model: &Model<'_>, inner: TermId, uses: &Occurrences) {
        let body = model.body;
        let looked = Looked { body, program: cx.program };
        let mut groups: Vec<Vec<Extreme>> = Vec::new();
        for e in extremes(&looked, inner) {
            match groups.iter_mut().find(|g| g[0].is_like(&looked, &e)) {
                Some(same) => same.push(e),
                None => groups.push(vec![e]),
            }
        }
        for same in groups {
            let e = &same[0];
            let occurrences = |k: usize| -> Vec<TermId> {
                same.iter().flat_map(|o| o.kept.get(k)).flat_map(|o| &o.occurrences).copied().collect()
            };
            // `a[i][j] < a[i][k]` over i compares with another row each time.
            let moving = model.effects.writes_in(model.root);
            let fixed = |t: TermId| {
                let mut stack = vec![t];
                while let Some(x) = stack.pop() {
                    if e.kept.iter().any(|k| body.same(x, k.place)) {
                        continue;
                    }
                    if body.as_symbol(x).is_some_and(|s| moving.contains(&s)) {
                        return false;
                    }
                    stack.extend(body.args(x));
                }
                true
            };
            if !same.iter().filter_map(|o| o.cell).all(|c| fixed(c.0)) {
                continue;
            }
            let all: Vec<Vec<TermId>> = (0..e.kept.len()).map(occurrences).collect();
            let is_kept = |at: &Vec<TermId>| match body.as_symbol(at[0]) {
                Some(s) => self.is_kept_variable(model, s) && uses.named(s) == at.len(),
                None => self.is_kept_cell(model, at),
            };
            if !all.iter().all(is_kept) {
                continue;
            }
            for at in &all {
                let place = at[0];
                for &t in at {
                    self.groups.insert(t, self.reductions.len());
                }
                let variable = body.as_symbol(place);
                let Some(object) = variable
                    .map(|symbol| Object { symbol, fields: Vec::new() })
                    .or_else(|| Some(object_of(model.accesses.iter().find(|a| a.term == place)?)))
                else {
                    continue;
                };
                self.reductions.push(Reduction {
                    object,
                    place,
                    cells: variable.map_or(Cells::One, |_| Cells::Variable),
                    op: e.op,
                    ty: body.ty(place),
                    key: (e.has_key && place != e.kept[0].place).then_some(e.kept[0].place),
                    updates: same.iter().map(|o| o.statement).collect(),
                });
                self.aside.extend(variable);
            }
            // in every iteration, and by nothing but the comparison
            let always = |o: &Extreme| {
                let compares = body.args(o.statement).first().map(|&c| body.op(c));
                (o.statement == inner || body.args(inner).contains(&o.statement))
                    && matches!(compares, Some(Op::Binary(op)) if op.is_comparison())
            };
            if same.iter().all(always) && !has_continue(body, inner) {
                let place = e.kept[0].place;
                let cells = same.iter().filter_map(|o| o.cell);
                self.placed.extend(cells.map(|(own, other)| Placed { place, own, other }));
            }
        }
    }

    /// Whether an extreme, or what belongs to it, may be kept in a variable.
    fn is_kept_variable(&self, model: &Model<'_>, s: SymbolId) -> bool {
        let v = &model.body.symbols[s];
        let q = model.body.types.quals(v.ty);
        let special = q.is_const || q.is_volatile || q.is_atomic;
        v.is_own_scalar()
            && !self.aside.contains(&s)
            && !model.declared_inside(s)
            && !special
            && model.body.types.is_arithmetic(v.ty)
    }

    /// Whether these occurrences are of one cell of memory that others share no part of.
    fn is_kept_cell(&self, model: &Model<'_>, occurrences: &[TermId]) -> bool {
        let body = model.body;
        let q = body.types.quals(body.ty(occurrences[0]));
        let accesses: Vec<&AffineAccess> =
            model.accesses.iter().filter(|a| occurrences.contains(&a.term)).collect();
        let all_seen = occurrences.iter().all(|&t| accesses.iter().any(|a| a.term == t));
        let plain = |a: &&AffineAccess| {
            !self.own.contains(&a.base) && !self.is_const(body, a.base) && a.inside == Inside::All
        };
        let special = q.is_const || q.is_volatile || q.is_atomic;
        !special
            && body.types.is_arithmetic(body.ty(occurrences[0]))
            && all_seen
            && accesses.iter().all(plain)
            && is_fixed_cell(model, &accesses)
    }

    fn find_reductions(&mut self, cx: &Context<'_>, model: &Model<'_>, inner: TermId, all: &Occurrences) {
        let body = cx.body;
        // a structure may be lost member by member
        let is_record = |s: SymbolId| matches!(body.types.kind(body.symbols[s].ty), TypeKind::Record(_));
        let is_lost = |s: SymbolId| {
            model.declared_inside(s)
                || !cx.liveness().is_live_after(model.root, s)
                || is_record(s) && !is_read_after(body, model.root, s, &model.budget)
        };
        let looked = Looked { body, program: cx.program };
        let carried = carried_updates(&looked, inner, &is_lost);
        let (variables, cells): (Vec<Update>, Vec<Update>) = updates(&looked, inner)
            .into_iter()
            .chain(carried)
            .chain(copied_updates(&looked, inner, &is_lost))
            .partition(|u| body.as_symbol(u.place).is_some());
        let mut groups: Vec<(SymbolId, Vec<Update>)> = Vec::new();
        let mut known: FxHashMap<SymbolId, usize> = FxHashMap::default();
        for u in variables {
            let Some(s) = body.as_symbol(u.place) else { continue };
            if self.aside.contains(&s) || model.declared_inside(s) || self.is_const(body, s) {
                continue;
            }
            let at = *known.entry(s).or_insert(groups.len());
            match groups.get_mut(at) {
                Some(g) => g.1.push(u),
                None => groups.push((s, vec![u])),
            }
        }
        for (s, same) in groups {
            if same.iter().any(|u| Some(u.op) != same.first().map(|f| f.op)) {
                continue;
            }
            let occurrences: FxHashSet<TermId> =
                same.iter().flat_map(|u| u.occurrences.iter().copied()).collect();
            // Used for nothing else in the whole loop.
            if all.named(s) != occurrences.len() {
                continue;
            }
            self.add_reduction(body, s, Vec::new(), Cells::Variable, &same);
        }
        self.find_cells(body, model, cells);
    }

    /// Accumulations into memory. All updates of one object with one operator belong together, wherever their cells
    /// lie: two that meet commute, and any other access of the object is left to the dependence tests, which set only
    /// pairs within the group aside.
    fn find_cells(&mut self, body: &Body, model: &Model<'_>, cells: Vec<Update>) {
        type Path = Vec<(usize, std::sync::Arc<str>)>;
        let mut groups: Vec<((SymbolId, Path, ReductionOp), Vec<Update>)> = Vec::new();
        let mut known: FxHashMap<(SymbolId, Path, ReductionOp), Vec<usize>> = FxHashMap::default();
        let places: FxHashSet<TermId> = cells.iter().map(|u| u.place).collect();
        let mut accesses: FxHashMap<TermId, Vec<&AffineAccess>> = FxHashMap::default();
        for a in model.accesses.iter().filter(|a| places.contains(&a.term)) {
            accesses.entry(a.term).or_default().push(a);
        }
        let of = |place: TermId| accesses.get(&place).map_or(&[][..], Vec::as_slice);
        for u in cells {
            let Some(a) = of(u.place).iter().find(|a| a.write) else { continue };
            // Of cells that others share a part of it is no sum.
            if self.own.contains(&a.base) || self.is_const(body, a.base) || a.inside != Inside::All {
                continue;
            }
            let key = (a.base, a.fields.clone(), u.op);
            let alike = |v: &Update| body.types.kind(body.ty(v.place)) == body.types.kind(body.ty(u.place));
            let with_key = known.entry(key.clone()).or_default();
            match with_key.iter().find(|&&g| groups[g].1.first().is_some_and(alike)) {
                Some(&g) => groups[g].1.push(u),
                None => {
                    with_key.push(groups.len());
                    groups.push((key, vec![u]));
                }
            }
        }
        for ((base, fields, _), mut same) in groups {
            let Some(first) = same.first() else { continue };
            let one =
                same.iter().all(|u| body.same(u.place, first.place)) && is_fixed_cell(model, of(first.place));
            let fields = fields.into_iter().map(|f| f.1).collect();
            // what goes through a variable of the iteration's is no single step on memory that others share
            same.retain(|u| one || u.kept_by.is_none() && u.copied_by.is_none());
            self.add_reduction(body, base, fields, if one { Cells::One } else { Cells::Many }, &same);
        }
    }

    fn add_reduction(
        &mut self,
        body: &Body,
        symbol: SymbolId,
        fields: Vec<std::sync::Arc<str>>,
        cells: Cells,
        updates: &[Update],
    ) {
        let Some(first) = updates.first() else { return };
        for o in updates.iter().flat_map(|u| &u.occurrences) {
            self.groups.insert(*o, self.reductions.len());
        }
        self.reductions.push(Reduction {
            object: Object { symbol, fields },
            place: first.place,
            cells,
            op: first.op,
            ty: body.ty(first.place),
            key: None,
            updates: updates.iter().flat_map(Update::statements).collect(),
        });
    }

    fn is_const(&self, body: &Body, s: SymbolId) -> bool {
        body.types.quals(body.symbols[s].ty).is_const
    }

    pub(crate) fn set_aside(&self, a: &AffineAccess) -> bool {
        (a.subs.is_empty() && a.fields.is_empty() && self.aside.contains(&a.base))
            || (a.base == self.index && a.subs.is_empty() && a.fields.is_empty())
            || self.own.contains(&a.base)
    }

    /// The reduction that the access is part of.
    pub(crate) fn group(&self, a: &AffineAccess) -> Option<&Reduction> {
        self.reductions.get(*self.groups.get(&a.term)?)
    }

    /// The reduction that both accesses are part of.
    pub(crate) fn same_group(&self, a: &AffineAccess, b: &AffineAccess) -> Option<usize> {
        let (x, y) = (self.groups.get(&a.term)?, self.groups.get(&b.term)?);
        (x == y).then_some(*x)
    }
}

/// That what the last iteration leaves of its own copy is kept: independent but for that, so it is listed among the
/// reductions.
pub(crate) fn kept_reduction(body: &Body, symbol: SymbolId, place: TermId, cells: Cells) -> Reduction {
    Reduction {
        object: Object { symbol, fields: Vec::new() },
        place,
        cells,
        op: ReductionOp::Last,
        ty: body.symbols[symbol].ty,
        key: None,
        updates: Vec::new(),
    }
}

/// The object that an access is of.
fn object_of(a: &AffineAccess) -> Object {
    Object { symbol: a.base, fields: a.fields.iter().map(|f| f.1.clone()).collect() }
}

/// Whether an element's place, which these accesses are of, does not move during the loop.
fn is_fixed_cell(model: &Model<'_>, accesses: &[&AffineAccess]) -> bool {
    let fixed = |a: &&AffineAccess| {
        a.subs.iter().all(|s| s.value.as_ref().is_some_and(|p| p.vars().all(|v| model.is_param(v))))
    };
    !accesses.is_empty() && accesses.iter().all(fixed)
}

/// Where each variable occurs in a loop.
#[derive(Default)]
struct Occurrences {
    /// How often it is named.
    named: FxHashMap<SymbolId, usize>,
    /// Terms that write it.
    writes: FxHashMap<SymbolId, Vec<TermId>>,
}

impl Occurrences {
    fn of(body: &Body, root: TermId) -> Occurrences {
        let mut out = Occurrences::default();
        let lengths = |t| body.lengths_at(t).flat_map(|l| body.walk(l));
        for t in body.walk(root).flat_map(|t| lengths(t).chain([t])) {
            if let Some(s) = body.as_symbol(t) {
                *out.named.entry(s).or_default() += 1;
            }
            if let Some(s) = crate::flow::effects::written(body, t) {
                out.writes.entry(s).or_default().push(t);
            }
        }
        out
    }
    fn named(&self, s: SymbolId) -> usize {
        self.named.get(&s).copied().unwrap_or(0)
    }
}

/// A variable that passes between iterations under conditions we cannot follow is named as such.
pub(crate) fn carried_scalar(body: &Body, a: &AffineAccess, why: crate::Obstacle) -> crate::Obstacle {
    let plain = a.subs.is_empty() && a.fields.is_empty() && body.symbols[a.base].storage.is_of_call();
    if plain && !matches!(why.kind, crate::ObstacleKind::Budget(_)) {
        crate::Obstacle { kind: crate::ObstacleKind::CarriedScalar(a.base), term: a.term }
    } else {
        why
    }
}
