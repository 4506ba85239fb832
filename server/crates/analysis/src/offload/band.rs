//! What a kernel for a loop needs to know: which loops run at once, what memory it touches and how much of it.
//!
//! Extents are exact: the host copies them, so they may not reach one element beyond what the program itself touches.
//! Where only a guess is possible the answer is an obstacle.

use std::cell::Cell;

use base::Budget;
use term::{Body, Op, Storage, SymbolId, TermId, TypeId, TypeKind};

use crate::calls::inline::read;
use crate::calls::inline::Expanded;
use crate::classify::scalars::Scalars;
use crate::context::Context;
use crate::flow::effects::is_pure_callee;
use crate::flow::terms::is_set_around;
use crate::loops::expr_of;
use crate::nest::{condition_of, AffineAccess, Model};
use crate::offload::extent::Maker;
use crate::offload::own_cells;
use crate::{
    Buffer, Cells, Condition, ConditionKind, Control, Expr, Facts, Final, Holders, LoopFacts, LoopId, MetBy,
    Obstacle, ObstacleKind, Offload, Param, Private, Program, Reduction, Step, Verdict, Walk,
};

pub(crate) fn offload(
    body: &Body,
    program: &Program,
    facts: &Facts,
    target: LoopId,
    collapse: Option<u32>,
    rows_together: bool,
    budget: &Budget,
) -> Result<Offload, Vec<Obstacle>> {
    let claim = &facts.loops[target];
    let any = Cell::new(false);
    let describe = |how: ReadRows| {
        described(body, program, facts, target, (collapse, rows_together), (how, &any), budget)
    };
    let found = match describe(ReadRows::Free) {
        Err(_) if any.get() && budget.left() > 0 => {
            describe(ReadRows::Apart).or_else(|_| describe(ReadRows::Searched))
        }
        found => found,
    };
    match found {
        // whatever it did not find out: the steps were too few
        Err(_) if budget.left() == 0 => {
            Err(vec![Obstacle { kind: ObstacleKind::Budget(crate::Work::Extents), term: claim.term }])
        }
        found => found,
    }
}

/// How the parts are found of arrays that are only read, and whose rows may overlap as far as the verdict goes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ReadRows {
    /// From the ends of sums, whatever rows they are made of.
    Free,
    /// From their rows, which the host finds apart.
    Apart,
    /// The host goes through what is read.
    Searched,
}

/// `any`: is set where there are such arrays.
#[allow(clippy::too_many_arguments)] // all that a description is made from
fn described(
    body: &Body,
    program: &Program,
    facts: &Facts,
    target: LoopId,
    (collapse, rows_together): (Option<u32>, bool),
    (reads, any): (ReadRows, &Cell<bool>),
    budget: &Budget,
) -> Result<Offload, Vec<Obstacle>> {
    let claim = &facts.loops[target];
    let control = spread(claim)?;
    let expanded = crate::calls::inline::expand(body, program);
    let whole = expanded.as_ref().map_or(body, |e| &e.body);
    if read(whole.len(), budget).is_err() {
        return Err(vec![Obstacle { kind: ObstacleKind::Budget(crate::Work::Effects), term: claim.term }]);
    }
    let mut cx = Context::new(whole, program, body.len(), budget);
    cx.rows_together = rows_together;
    let (mut model, more) = model_of(&cx, target, (claim, control), reads == ReadRows::Apart, budget)?;
    let more = match &expanded {
        Some(e) => crate::calls::project_facts::conditions(e, more).map_err(|o| vec![o])?,
        None => more,
    };
    any.set(any.get() || !model.objects.boxes.is_empty() || !model.objects.either_way.is_empty());
    let scalars = Scalars::new(&cx, &model, control);
    crate::offload::placed::settle(&cx, &mut model, &scalars);
    let searches_boxes = reads == ReadRows::Searched;
    let expanded = expanded.as_ref();
    let nest = Nest { body, claim, control, expanded, cx: &cx, model: &model, scalars, searches_boxes };

    let band =
        crate::offload::collapse::band(body, &cx.effects.writes_in(claim.term), facts, target, collapse);
    let band_loops: Vec<&LoopFacts> = band.iter().map(|&b| &facts.loops[b]).collect();
    for l in &band_loops {
        ends_as_counted(body, l)?;
    }
    let mut maker = Maker { model: &model, budget, params: Vec::new() };
    let max_trips = nest.max_trips(&mut maker, &band_loops)?;
    nest.privates_have_homes()?;
    let buffers = nest.buffers(&mut maker)?;

    let indices: Vec<SymbolId> =
        band_loops.iter().filter_map(|l| l.control.as_ref().ok().map(|c| c.index)).collect();
    let is_buffer = |s: SymbolId| buffers.iter().any(|b| b.symbol == s && b.holders != Holders::All);
    let is_own = |p: &&Private| !indices.contains(&p.symbol) && !is_buffer(p.symbol);
    let mut privates: Vec<Private> = claim.privates.iter().filter(is_own).copied().collect();
    privates.sort_by_key(|p| p.symbol);
    let walks = nest.walks()?;
    let finals = nest.finals(&mut maker, &walks)?;
    let mut conditions: Vec<Condition> = Vec::new();
    let asked = |l: &&LoopFacts, c: &Condition| {
        l.term != claim.term && crate::offload::collapse::is_asked_before(body, claim, c)
    };
    let of_band = band_loops.iter().flat_map(|l| l.conditions.iter().filter(|c| !asked(l, c)));
    for c in of_band.chain(&more) {
        if c.met_by != MetBy::Proof && !conditions.contains(c) {
            conditions.push(c.clone());
        }
    }
    conditions.extend(promised(&model, &conditions));
    let (inputs, calls) = inputs_and_calls(&cx, claim.term, &|s| nest.own_symbol(s).is_some())
        .map_err(|why| nest.at_home(why))?;
    let lanes = match band.len() {
        1 => 0,
        _ => crate::mappings(body, program, facts, &band, &|_| None, gpu::Limits::default().lanes, budget)
            .map_or(band.len() - 1, |m| crate::offload::lane_mapping::best(&m)),
    };
    let mut found = Offload {
        band,
        lanes,
        max_trips,
        apart: crate::loops::aliases::apart(
            &cx,
            model.root,
            &model.accesses.iter().collect::<Vec<_>>(),
            &|s| nest.own_symbol(s),
        ),
        buffers,
        views: model.objects.views.clone(),
        walks,
        inputs,
        privates,
        reductions: claim.reductions.clone(),
        inductions: claim.inductions.clone(),
        finals,
        conditions,
        calls,
        threads: None,
    };
    if let Some(trips) = found.max_trips.first().filter(|_| model.objects.step.is_some()).cloned() {
        crate::offload::numbered::tell_trips(&mut found, claim.term, &trips);
    }
    Ok(found)
}

/// The promises that a description rests on beyond its loops' conditions.
pub(crate) fn promised(model: &Model<'_>, known: &[Condition]) -> Vec<Condition> {
    let kinds = model.promises.used().into_iter().filter_map(|number| condition_of(model.body, number));
    let new = kinds.filter(|k| known.iter().all(|c| c.kind != *k));
    new.map(|kind| Condition { kind, met_by: MetBy::Assumed, check: None }).collect()
}

fn fail<T>(kind: ObstacleKind, term: TermId) -> Result<T, Vec<Obstacle>> {
    Err(vec![Obstacle { kind, term }])
}

/// How the loop counts, if its iterations can be those of threads as far as its facts say.
fn spread(claim: &LoopFacts) -> Result<&Control, Vec<Obstacle>> {
    if !matches!(claim.verdict, Verdict::Independent | Verdict::Reduction) {
        let mut why = claim.obstacles.clone();
        why.extend(
            claim.dependences.iter().take(1).map(|d| Obstacle { kind: ObstacleKind::Unproved, term: d.sink }),
        );
        return Err(why);
    }
    let Ok(control) = &claim.control else {
        return Err(claim.obstacles.clone());
    };
    Ok(control)
}

/// The model that sets are made of: of whose rows may overlap it knows what meeting its obligations shows, and takes nothing
/// for granted otherwise.
///
/// With it, what it rests on beside what the verdict does.
fn model_of<'a>(
    cx: &'a Context<'a>,
    target: LoopId,
    (claim, control): (&LoopFacts, &Control),
    reads_in_rows: bool,
    budget: &Budget,
) -> Result<(Model<'a>, Vec<Condition>), Vec<Obstacle>> {
    let is_int = |i: &crate::Induction| !is_pointer(cx.body, cx.body.symbols[i.symbol].ty);
    let grows = claim.inductions.iter().any(|i| i.step.is_none() && is_int(i));
    let numbered = grows || matches!(control.step, Step::Term { .. });
    let mut reading = match numbered {
        true => cx.numbered(target.0 as usize, control, budget),
        false => cx.reading(target.0 as usize, control, budget),
    };
    let mut met = reading.clone();
    met.model.objects.reads_in_rows = reads_in_rows;
    let before = claim.obstacles.len();
    let mut new = LoopFacts { conditions: Vec::new(), ..claim.clone() };
    crate::loops::meet_obligations(&mut met, &mut new);
    if budget.left() == 0 {
        return fail(ObstacleKind::Budget(crate::Work::Extents), claim.term);
    }
    reading.model.objects.boxes = std::mem::take(&mut met.model.objects.boxes);
    reading.model.objects.either_way = std::mem::take(&mut met.model.objects.either_way);
    if !numbered && !reads_in_rows {
        return Ok((reading.model, Vec::new()));
    }
    if !numbered {
        // what the verdict needs is the claim's, and so is what stands in its way
        let is_row = |c: &Condition| matches!(c.kind, ConditionKind::InRow { .. });
        new.conditions.retain(|c| is_row(c) && !claim.conditions.contains(c));
    }
    // Read in this way it may rest on more than what the verdict needs.
    match new.obstacles.get(before) {
        Some(o) => Err(vec![o.clone()]),
        None => {
            // Nothing is copied before all of it is tested.
            reading.model.premises.context = met.model.premises.context;
            // what the tests are made of may have been met there alone
            reading.model.vars = met.model.vars;
            Ok((reading.model, new.conditions))
        }
    }
}

/// What the analysis took for the condition may stand in the body as a jump that a kernel cannot make.
fn ends_as_counted(body: &Body, l: &LoopFacts) -> Result<(), Vec<Obstacle>> {
    if let Some(exit) = crate::flow::liveness::early_exit(body, l.term) {
        return fail(ObstacleKind::EarlyExit, exit);
    }
    let made_up = |c: TermId| {
        let unbound = l.control.as_ref().is_ok_and(|c| c.bound.is_none());
        unbound && crate::calls::project_facts::is_condition(body, c)
    };
    match body.loop_parts(l.term).and_then(|p| p.condition).filter(|&c| made_up(c)) {
        Some(c) => fail(ObstacleKind::NotCounted(crate::NotCounted::Condition), c),
        None => Ok(()),
    }
}

/// The loop as it is read for a kernel.
pub(super) struct Nest<'r, 'a> {
    /// What is printed.
    pub(super) body: &'r Body,
    pub(super) claim: &'r LoopFacts,
    pub(super) control: &'r Control,
    /// Bounds and accesses are those of the body with small calls written out.
    pub(super) expanded: Option<&'r Expanded>,
    pub(super) cx: &'r Context<'a>,
    pub(super) model: &'r Model<'a>,
    pub(super) scalars: Scalars,
    /// Whether the host goes through what is read of arrays whose rows may overlap.
    pub(super) searches_boxes: bool,
}

impl Nest<'_, '_> {
    /// Whether the host can write it with variables of the function.
    pub(super) fn is_own_expr(&self, x: &Expr) -> bool {
        self.expanded.is_none_or(|e| e.is_own_expr(x))
    }

    /// The function's own variable, not one that came with a call that was written out.
    pub(super) fn own_symbol(&self, s: SymbolId) -> Option<SymbolId> {
        self.expanded.map_or(Some(s), |e| e.own_symbol(s))
    }

    /// Where the term stands in the body, or the call that it came with.
    fn home(&self, t: TermId) -> TermId {
        self.expanded.map_or(t, |e| e.home(t))
    }

    fn at_home(&self, mut why: Vec<Obstacle>) -> Vec<Obstacle> {
        if let Some(e) = self.expanded {
            why.iter_mut().for_each(|o| crate::calls::project_facts::obstacle(e, o));
        }
        why
    }

    /// How many iterations each loop of the band has at most.
    fn max_trips(&self, maker: &mut Maker<'_, '_>, band: &[&LoopFacts]) -> Result<Vec<Expr>, Vec<Obstacle>> {
        let mut out = Vec::new();
        for l in band {
            let Some(at) = self.model.loops.iter().position(|m| m.term == l.term) else {
                return fail(ObstacleKind::Unproved, l.term);
            };
            match maker.max_trips(at) {
                Some(e) if self.is_own_expr(&e) => out.push(e),
                _ => return fail(ObstacleKind::NotCounted(crate::NotCounted::Rounds), l.term),
            }
        }
        Ok(out)
    }

    /// The variable that each thread has for itself, if that is what is accessed.
    fn private(&self, a: &AffineAccess) -> Option<&Private> {
        self.claim
            .privates
            .iter()
            .find(|p| p.symbol == a.base && !p.declared_inside && self.holders(p.symbol) == Holders::All)
    }

    fn holders(&self, s: SymbolId) -> Holders {
        own_cells::holders(self.body, self.claim, s)
    }

    /// What each thread has for itself must be a variable of the function that nobody reads afterwards, and what threads begin
    /// with must have a value: of others no copy can be made.
    fn privates_have_homes(&self) -> Result<(), Vec<Obstacle>> {
        let (body, root) = (self.body, self.claim.term);
        let kind = |s: SymbolId| body.types.kind(body.symbols[s].ty);
        let is_memory = |s: SymbolId| matches!(kind(s), TypeKind::Array { .. } | TypeKind::Record(_));
        let accesses = self.model.accesses.iter().filter(|a| !self.scalars.set_aside(a));
        for p in accesses.filter_map(|a| self.private(a)) {
            let storage = body.symbols[p.symbol].storage;
            let of_function = storage.is_of_call();
            if p.kept || !is_memory(p.symbol) || !of_function {
                let is_scalar = matches!(
                    kind(p.symbol),
                    TypeKind::Int(_) | TypeKind::Float(_) | TypeKind::Pointer { .. }
                );
                if !is_scalar || !of_function || matches!(storage, Storage::Param(_)) {
                    let is_number = matches!(kind(p.symbol), TypeKind::Int(_) | TypeKind::Float(_));
                    let array = Some(p.symbol).filter(|_| !p.copied_in && !is_number);
                    if let Some(t) = array.and_then(|s| own_cells::other_use(body, root, s)) {
                        return fail(ObstacleKind::OwnCells(p.symbol), t);
                    }
                    let both_ways = p.kept && p.copied_in;
                    let why = if both_ways { ObstacleKind::CopiedBothWays } else { ObstacleKind::LiveOut };
                    return fail(why(p.symbol), root);
                }
            }
        }
        // What threads begin with is read by the host to pass it on. A structure may be passed without a value (C11 6.2.6.1p6).
        for p in self.claim.privates.iter().filter(|p| p.copied_in && !is_memory(p.symbol)) {
            if may_be_unset(self.cx, root, p.symbol) {
                return fail(ObstacleKind::Unset(p.symbol), root);
            }
        }
        Ok(())
    }

    /// What must be copied, object by object.
    fn buffers(&self, maker: &mut Maker<'_, '_>) -> Result<Vec<Buffer>, Vec<Obstacle>> {
        // A single accumulating cell is the kernel's own until the host adds to it. One that is updated in no two iterations
        // is memory like any other: it is not among the claim's reductions.
        let claimed = |r: &Reduction| {
            self.claim.reductions.iter().any(|c| c.op == r.op && c.place == self.home(r.place))
        };
        let is_single =
            |a: &AffineAccess| self.scalars.group(a).is_some_and(|r| r.cells == Cells::One && claimed(r));
        let is_memory =
            |a: &&AffineAccess| !self.scalars.set_aside(a) && !is_single(a) && self.private(a).is_none();
        let accesses: Vec<&AffineAccess> = self.model.accesses.iter().filter(is_memory).collect();
        let mut bases: Vec<SymbolId> = accesses.iter().map(|a| a.base).collect();
        bases.sort_unstable();
        bases.dedup();
        let mut buffers = Vec::new();
        let mut lacking: Vec<Obstacle> = Vec::new();
        for base in bases {
            let mine: Vec<&AffineAccess> = accesses.iter().filter(|a| a.base == base).copied().collect();
            match self.buffer(maker, base, mine) {
                Ok(b) => buffers.extend(b),
                // all whose size would settle it are told at once
                Err(why)
                    if matches!(why.as_slice(), [_, Obstacle { kind: ObstacleKind::Unsized(_), .. }]) =>
                {
                    let known = if lacking.is_empty() { 0 } else { 1 };
                    lacking.extend(why.into_iter().skip(known));
                }
                Err(why) if lacking.is_empty() => return Err(why),
                Err(_) => {}
            }
        }
        if lacking.is_empty() {
            Ok(buffers)
        } else {
            Err(lacking)
        }
    }

    /// What must be copied of one object; nothing of what goes along otherwise.
    fn buffer(
        &self,
        maker: &mut Maker<'_, '_>,
        base: SymbolId,
        mut accesses: Vec<&AffineAccess>,
    ) -> Result<Option<Buffer>, Vec<Obstacle>> {
        let (whole, model) = (self.cx.body, self.model);
        let ty = whole.symbols[base].ty;
        let own = self.own_symbol(base);
        let each_has_it = model.declared_inside(base);
        if matches!(whole.types.kind(ty), TypeKind::Int(_) | TypeKind::Float(_)) || each_has_it {
            // A scalar reached by name is passed by value or is a reduction.
            let is_reduced = own.is_some_and(|b| self.claim.reductions.iter().any(|r| r.object.symbol == b));
            if accesses.iter().any(|a| a.write) && !is_reduced && !each_has_it {
                return fail(own.map_or(ObstacleKind::Unproved, ObstacleKind::LiveOut), self.claim.term);
            }
            return Ok(None);
        }
        // Reading a pointer's own value is not an access of what it points to.
        accesses.retain(|a| !a.subs.is_empty() || !is_pointer(whole, ty));
        let Some(first) = accesses.first() else { return Ok(None) };
        let at = self.home(first.term);
        let Some(known) = own else {
            // A constant table goes along with the function; anything else the kernel cannot reach.
            if whole.types.is_constant(ty) && accesses.iter().all(|a| !a.write) {
                return Ok(None);
            }
            let name = whole.symbols[base].name.clone();
            let why = crate::TroubleKind::Global;
            let call = |function| ObstacleKind::Call { function, why, name };
            return fail(self.body.callee(at).map_or(ObstacleKind::Unproved, call), at);
        };
        // The host follows these pointers itself, and keeps them apart from what is written.
        let is_followed = |a: &AffineAccess| {
            !a.write && whole.path_of(a.term).is_some_and(|p| model.objects.tables.contains(&p.family))
        };
        if accesses.iter().all(|a| is_followed(a)) {
            return Ok(None);
        }
        let is_table = model.objects.tables.contains(&base);
        let mut buffer = match maker.buffer(whole, base, &accesses) {
            Ok(buffer) => buffer,
            Err(why) if is_table || model.objects.boxes.contains(&base) && !self.searches_boxes => {
                return Err(self.at_home(why))
            }
            Err(why) => {
                let at: Vec<TermId> = accesses.iter().map(|a| self.home(a.term)).collect();
                let set = self.cx.effects.writes_in(self.claim.term);
                let set = set.iter().filter_map(|&s| self.own_symbol(s)).collect();
                let stores = self.model.accesses.iter().filter(|a| a.write);
                let stores = stores.filter_map(|a| Some((self.own_symbol(a.base)?, self.home(a.term))));
                let stores: Vec<(SymbolId, TermId)> = stores.collect();
                let handed = |call, k| super::handed::touches_one(self.body, self.cx.program, call, k);
                crate::offload::search::buffer(
                    self.body,
                    (&set, &stores),
                    (self.claim, self.control),
                    (known, &handed),
                    (&accesses, &at),
                )
                .ok_or_else(|| self.at_home(why))?
            }
        };
        if buffer.extent.as_ref().is_some_and(|(a, b)| !self.is_own_expr(a) || !self.is_own_expr(b)) {
            return fail(ObstacleKind::Unproved, at);
        }
        if let Some(rows) = &mut buffer.rows {
            let own = rows.ends().all(|(a, b)| self.is_own_expr(a) && self.is_own_expr(b));
            let table = self.body.path_term(known).and_then(|p| self.body.row_of_table(p));
            match table.filter(|_| own) {
                Some(row) => rows.table = row.table,
                None => return fail(ObstacleKind::Unproved, at),
            }
        }
        buffer.symbol = known;
        buffer.holders = self.holders(known);
        if buffer.holders != Holders::All {
            if buffer.search.is_some() || buffer.rows.is_some() {
                return fail(ObstacleKind::LiveOut(known), at);
            }
            // an iteration reads what it has written itself
            buffer.read = false;
            buffer.wholly_written = buffer.all_written;
        }
        Ok(Some(buffer))
    }

    /// The pointers that move from iteration to iteration, each with what it moves in.
    fn walks(&self) -> Result<Vec<Walk>, Vec<Obstacle>> {
        let (body, known) = (self.body, &self.model.objects.walks);
        let is_walk = |i: &crate::Induction| i.step.is_none() || is_pointer(body, body.symbols[i.symbol].ty);
        let moved = self.claim.inductions.iter().filter(|i| is_walk(i));
        let counts = self.control.pointer.then_some((self.control.index, self.claim.term));
        let mut out: Vec<Walk> = Vec::new();
        for (symbol, at) in counts.into_iter().chain(moved.map(|i| (i.symbol, i.update))) {
            let of = known.iter().find(|w| self.own_symbol(w.0) == Some(symbol));
            let walk = of.and_then(|(_, into, step)| {
                let step = expr_of(self.model, step).filter(|e| self.is_own_expr(e))?;
                Some(Walk { symbol, into: self.own_symbol(*into)?, step })
            });
            match walk {
                Some(_) if out.iter().any(|w| w.symbol == symbol) => {}
                Some(walk) => out.push(walk),
                None if is_pointer(body, body.symbols[symbol].ty) => {
                    return fail(ObstacleKind::UnknownPointer(symbol), at)
                }
                None => return fail(ObstacleKind::CarriedScalar(symbol), at),
            }
        }
        Ok(out)
    }

    /// The values that the loop leaves in what it counts with, where they are read afterwards.
    fn finals(&self, maker: &mut Maker<'_, '_>, walks: &[Walk]) -> Result<Vec<Final>, Vec<Obstacle>> {
        let (control, root) = (self.control, self.claim.term);
        let is_live = |s: SymbolId| self.cx.liveness().is_live_after(root, s);
        let mut finals = Vec::new();
        if !control.declared_here && is_live(control.index) {
            let step = match (&control.step, &self.model.objects.step) {
                (Step::Const(k), _) => Some(Expr::Int(*k)),
                (_, step) => step.as_ref().and_then(|s| expr_of(self.model, s)),
            };
            let lower = self.model.loops[0].lower.as_ref().and_then(|l| expr_of(self.model, l));
            let (Some(lower), Some(trips), Some(step)) = (lower, maker.max_trips(0), step) else {
                return fail(ObstacleKind::LiveOut(control.index), root);
            };
            // The last test moves the index once more where the condition does.
            let mut sum = vec![lower, times(&step, trips)];
            if control.shift != 0 {
                sum.push(Expr::Int(control.shift));
            }
            finals.push(Final { symbol: control.index, value: Expr::Add(sum) });
        }
        for i in self.claim.inductions.iter().filter(|i| is_live(i.symbol)) {
            let Some(trips) = maker.max_trips(0) else {
                return fail(ObstacleKind::LiveOut(i.symbol), root);
            };
            let walk = walks.iter().find(|w| w.symbol == i.symbol).map(|w| w.step.clone());
            let Some(step) = walk.or(i.step.map(Expr::Int)) else {
                return fail(ObstacleKind::LiveOut(i.symbol), root);
            };
            let moved = times(&step, trips);
            let value = match is_pointer(self.body, self.body.symbols[i.symbol].ty) {
                true => moved,
                false => Expr::Add(vec![Expr::Param(Param::Symbol(i.symbol)), moved]),
            };
            finals.push(Final { symbol: i.symbol, value });
        }
        Ok(finals)
    }
}

/// As many of something as there are.
fn times(one: &Expr, many: Expr) -> Expr {
    match one {
        Expr::Int(n) => Expr::Mul(*n, Box::new(many)),
        one => Expr::Product(Box::new(one.clone()), Box::new(many)),
    }
}

/// Whether a variable may hold no value when the nest begins.
fn may_be_unset(cx: &Context<'_>, root: TermId, s: SymbolId) -> bool {
    cx.liveness().may_be_unset(cx.body, s) && !is_set_around(cx.body, cx.effects.parents(), root, s)
}

/// Scalars that the nest only reads, and the functions it calls. `own`: whether a variable is the function's, and not one that
/// came with a call that was written out.
pub(crate) fn inputs_and_calls(
    cx: &Context<'_>,
    root: TermId,
    own: &dyn Fn(SymbolId) -> bool,
) -> Result<(Vec<SymbolId>, Vec<SymbolId>), Vec<Obstacle>> {
    let body = cx.body;
    let written = cx.effects.writes_in(root);
    let mut inputs = Vec::new();
    let mut calls = Vec::new();
    for t in body.walk(root) {
        match body.op(t) {
            Op::Sym(s) => {
                let symbol = &body.symbols[*s];
                let scalar = matches!(body.types.kind(symbol.ty), TypeKind::Int(_) | TypeKind::Float(_));
                let variable = matches!(
                    symbol.storage,
                    Storage::Param(_)
                        | Storage::Local
                        | Storage::StaticLocal { .. }
                        | Storage::Global { .. }
                        | Storage::Undeclared
                );
                if scalar && variable && own(*s) && !written.contains(s) && !inputs.contains(s) {
                    // The host would read it to pass it on, even where the loop itself never comes to it.
                    if !symbol.address_taken && may_be_unset(cx, root, *s) {
                        return Err(vec![Obstacle { kind: ObstacleKind::Unset(*s), term: t }]);
                    }
                    inputs.push(*s);
                }
            }
            Op::Call => {
                if let Some(f) = body.callee(t) {
                    if is_pure_callee(body, f) && !calls.contains(&f) {
                        calls.push(f);
                    }
                }
            }
            _ => {}
        }
    }
    Ok((inputs, calls))
}

pub(super) fn is_pointer(body: &Body, ty: TypeId) -> bool {
    matches!(body.types.kind(ty), TypeKind::Pointer { .. })
}
