//! Dependences between two accesses, exactly (F4.2): the two become constraints, and `solve` asks cheap tests first and integer
//! sets where none of them can answer.

mod follows;
mod order;
pub(crate) mod witness;

use std::hash::BuildHasher as _;

use base::Budget;
use rustc_hash::{FxBuildHasher, FxHashMap};
use term::TermId;

use crate::algebra::poly::{Constraint, Poly, Var, VarKind};
use crate::depend::follows::{injections, involutions, same_elements};
use crate::depend::order::add_order;
use crate::depend::witness::{describe, witness};
use crate::nest::{AffineAccess, Model};
use crate::solve::{Conjunction, Question, Solver};
use crate::{Dependence, DependenceKind, Direction, LoopId, Object, Obstacle, ObstacleKind};

/// What two accesses of one object are to each other, across iterations of the root.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// Proved: no cell is shared by different iterations.
    No,
    /// With a witness, for a run to show.
    Yes(Box<Dependence>),
    /// It may exist; why that is all we know. Where only conditions on data decide whether a value is passed on, with a witness
    /// that leaves those out: a run tells whether it is one.
    Maybe(Box<Dependence>, Obstacle),
}

/// What the two paths (subscripts and fields) demand for the places to overlap.
pub(crate) enum Overlap {
    Never,
    /// These differences are zero; `exact` if that is all.
    When {
        equal: Vec<(Poly, Poly)>,
        exact: bool,
    },
}

pub(crate) fn overlap(a: &AffineAccess, b: &AffineAccess) -> Overlap {
    #[derive(Clone)]
    enum Part<'x> {
        Sub(&'x Option<Poly>),
        Field(&'x str),
    }
    fn parts(a: &AffineAccess) -> Vec<Part<'_>> {
        let mut out = Vec::new();
        let mut fields = a.fields.iter().peekable();
        for (k, s) in a.subs.iter().enumerate() {
            while let Some((_, f)) = fields.next_if(|(at, _)| *at <= k) {
                out.push(Part::Field(f));
            }
            out.push(Part::Sub(&s.value));
        }
        out.extend(fields.map(|(_, f)| Part::Field(f)));
        out
    }
    let mut equal = Vec::new();
    let mut exact = true;
    for (x, y) in parts(a).iter().zip(parts(b).iter()) {
        match (x, y) {
            (Part::Field(f), Part::Field(g)) => {
                if f != g {
                    return Overlap::Never;
                }
            }
            (Part::Sub(Some(p)), Part::Sub(Some(q))) => equal.push((p.clone(), q.clone())),
            (Part::Sub(_), Part::Sub(_)) => exact = false,
            _ => {
                exact = false;
                break;
            }
        }
    }
    Overlap::When { equal, exact }
}

/// Zero-index and single-index tests on subscripts that use the root's counter alone, before any constraint is written
/// down: `true` if no two different iterations of the root can meet (see `ziv`, `strong_siv`).
fn quick_no(root: Var, model: &Model<'_>, equal: &[(Poly, Poly)], solver: &Solver) -> bool {
    equal.iter().any(|(p, q)| {
        let only = |e: &Poly| e.vars().all(|v| v == root || model.is_param(v));
        if !only(p) || !only(q) {
            return false;
        }
        let (a, b) = (p.coefficient(root), q.coefficient(root));
        if a != b {
            return false;
        }
        // a*x + r = a*x' + s
        let Some(diff) = Poly::sub(q, p) else { return false };
        let Some(d) = diff.as_constant() else { return false };
        let mut counts = solver.counts.borrow_mut();
        let (never, count) = if a == 0 {
            (d != 0, &mut counts.ziv)
        } else {
            // a*(x - x') = d: only x = x' if d = 0; nothing if a does not divide d.
            (d == 0 || d % a != 0, &mut counts.strong_siv)
        };
        *count += u64::from(never);
        never
    })
}

/// Variables of a pair, numbered for the integer sets: parameters, then the counters of source and of sink; the rest
/// are existential.
pub(super) struct PairSpace<'m, 'a> {
    pub(super) model: &'m Model<'a>,
    params: Vec<Var>,
    /// Model loops around source and sink; dims are source's then sink's.
    source_loops: Vec<usize>,
    sink_loops: Vec<usize>,
    pub(super) exists: FxHashMap<(Var, bool), usize>,
    pub(super) constraints: Vec<poly::Constraint>,
    /// Values fixed for factors of products.
    fixed: FxHashMap<Var, i128>,
    failed: bool,
}

impl<'m, 'a> PairSpace<'m, 'a> {
    fn new(
        model: &'m Model<'a>,
        source: &AffineAccess,
        sink: &AffineAccess,
        fixed: FxHashMap<Var, i128>,
    ) -> PairSpace<'m, 'a> {
        PairSpace {
            model,
            params: Vec::new(),
            source_loops: source.loops.clone(),
            sink_loops: sink.loops.clone(),
            exists: FxHashMap::default(),
            constraints: Vec::new(),
            fixed,
            failed: false,
        }
    }

    fn row(&mut self, p: &Poly, sink: bool) -> poly::Row {
        let mut row = poly::Row::constant(p.constant_part());
        for (m, c) in p.terms() {
            let [v] = m else {
                if !m.is_empty() {
                    self.failed = true;
                }
                continue;
            };
            match self.model.vars.kind(*v) {
                VarKind::Param(_) => {
                    if let Some(k) = self.fixed.get(v) {
                        row.constant += c * k;
                        continue;
                    }
                    let at = self.param_at(*v);
                    row = add_param(row, at, c);
                }
                VarKind::Product(factors) => {
                    let value: Option<i128> = factors
                        .iter()
                        .map(|f| self.fixed.get(f).copied())
                        .try_fold(1i128, |a, k| a.checked_mul(k?));
                    match value {
                        Some(k) => row.constant += c * k,
                        None => {
                            let at = self.param_at(*v);
                            row = add_param(row, at, c);
                        }
                    }
                }
                VarKind::Iter(l) => {
                    let loops = if sink { &self.sink_loops } else { &self.source_loops };
                    let base = if sink { self.source_loops.len() } else { 0 };
                    match loops.iter().position(|x| x == l) {
                        Some(k) => row = add_dim(row, base + k, c),
                        // A counter of a loop that is not around the access: its value after that loop, unknown.
                        None => {
                            let at = self.exist_at(*v, sink);
                            row = add_exist(row, at, c);
                        }
                    }
                }
                VarKind::Quotient | VarKind::Image | VarKind::Fresh => {
                    let at = self.exist_at(*v, sink);
                    row = add_exist(row, at, c);
                }
            }
        }
        row
    }

    fn param_at(&mut self, v: Var) -> usize {
        match self.params.iter().position(|&p| p == v) {
            Some(i) => i,
            None => {
                self.params.push(v);
                self.params.len() - 1
            }
        }
    }

    fn exist_at(&mut self, v: Var, sink: bool) -> usize {
        if let Some(&k) = self.exists.get(&(v, sink)) {
            return k;
        }
        let k = self.exists.len();
        self.exists.insert((v, sink), k);
        // A quotient brings its definition along.
        if let Some(defs) = self.model.vars.definition(v) {
            for d in defs {
                self.add(d, sink);
            }
        }
        k
    }

    fn add(&mut self, c: &Constraint, sink: bool) {
        let row = self.row(&c.poly, sink);
        self.constraints.push(if c.equality { poly::Constraint::eq(row) } else { poly::Constraint::ge(row) });
    }

    /// `p` at the source minus `q` at the sink.
    fn difference(&mut self, p: &Poly, q: &Poly) -> poly::Row {
        let a = self.row(p, false);
        let b = self.row(q, true);
        match a.checked_sub(&b) {
            Some(r) => r,
            None => {
                self.failed = true;
                poly::Row::default()
            }
        }
    }
}

fn add_param(mut row: poly::Row, at: usize, c: i128) -> poly::Row {
    if row.params.len() <= at {
        row.params.resize(at + 1, 0);
    }
    row.params[at] += c;
    row
}

fn add_dim(mut row: poly::Row, at: usize, c: i128) -> poly::Row {
    if row.dims.len() <= at {
        row.dims.resize(at + 1, 0);
    }
    row.dims[at] += c;
    row
}

pub(super) fn add_exist(mut row: poly::Row, at: usize, c: i128) -> poly::Row {
    if row.exists.len() <= at {
        row.exists.resize(at + 1, 0);
    }
    row.exists[at] += c;
    row
}

/// The pairs of instances that share a cell.
pub(crate) struct Pairs {
    pub question: Question,
    pub params: Vec<Var>,
    pub source_loops: Vec<usize>,
    pub sink_loops: Vec<usize>,
    /// Arrays that were taken to be sorted for it.
    pub sorted: Vec<TermId>,
}

/// `carried`: only those whose source lies in an earlier iteration of the root than their sink.
pub(crate) fn pairs(
    model: &Model<'_>,
    source: &AffineAccess,
    sink: &AffineAccess,
    equal: &[(Poly, Poly)],
    fixed: &FxHashMap<Var, i128>,
    needs: &[Poly],
    carried: bool,
) -> Option<Pairs> {
    // All parameters first, so that every disjunct has the same space.
    let mut all_params: Vec<Var> = Vec::new();
    let mut any: Vec<Conjunction> = Vec::new();
    // those of one hash, by position
    let mut known: FxHashMap<u64, Vec<usize>> = FxHashMap::default();
    let mut sorted: Vec<TermId> = Vec::new();
    let nothing = [Vec::new()];
    let way = model.premises.way.borrow();
    let cases = if model.premises.cases.is_empty() { &nothing[..] } else { &model.premises.cases[..] };
    for (da, db, case) in source
        .domain
        .pieces
        .iter()
        .flat_map(|da| sink.domain.pieces.iter().map(move |db| (da, db)))
        .flat_map(|(da, db)| cases.iter().map(move |case| (da, db, case)))
    {
        {
            let mut f = PairSpace::new(model, source, sink, fixed.clone());
            f.params = all_params.clone();
            for c in da {
                f.add(c, false);
            }
            for c in db {
                f.add(c, true);
            }
            // Where an obligation is about the very iterations chosen, it must hold there.
            for p in needs {
                let around = |loops: &[usize]| {
                    p.vars().all(|v| match model.vars.kind(v) {
                        VarKind::Iter(l) => loops.contains(l),
                        _ => true,
                    })
                };
                if around(&source.loops) {
                    f.add(&Constraint::non_negative(p.clone()), false);
                }
                if around(&sink.loops) {
                    f.add(&Constraint::non_negative(p.clone()), true);
                }
            }
            for (p, q) in equal {
                let row = f.difference(p, q);
                f.constraints.push(poly::Constraint::eq(row));
            }
            // What grows has grown by then.
            for (v, least) in &model.vars.rising {
                if let (Some(&a), Some(&b)) = (f.exists.get(&(*v, false)), f.exists.get(&(*v, true))) {
                    let row = add_exist(add_exist(poly::Row::constant(-least), b, 1), a, -1);
                    f.constraints.push(poly::Constraint::ge(row));
                }
            }
            if carried {
                sorted.extend(add_order(&mut f));
            }
            // Context only over parameters in use (and what follows from them).
            let mut used = f.params.len();
            loop {
                let mut added = false;
                for c in model.premises.context.iter().chain(case).chain(way.iter()) {
                    let touches = c.poly.vars().any(|v| f.params.contains(&v) || f.fixed.contains_key(&v));
                    if touches {
                        f.add(c, false);
                        added = true;
                    }
                }
                if !added || f.params.len() == used {
                    break;
                }
                used = f.params.len();
            }
            // Root: source first.
            let n = f.source_loops.len();
            if carried {
                f.constraints.push(poly::Constraint::ge(poly::Row::constant(-1).dim(n, 1).dim(0, -1)));
            }
            if f.failed {
                return None;
            }
            all_params = f.params.clone();
            let c = Conjunction { exists: f.exists.len(), constraints: f.constraints };
            let same = known.entry(FxBuildHasher.hash_one(&c)).or_default();
            if same.iter().all(|&k| any[k] != c) {
                same.push(any.len());
                any.push(c);
            }
        }
    }
    let dims = source.loops.len() + sink.loops.len();
    let space = poly::Space { params: all_params.len(), dims };
    let common = source.loops.iter().zip(&sink.loops).take_while(|(a, b)| a == b).count();
    let pairs = (0..common).map(|k| (k, source.loops.len() + k)).collect();
    Some(Pairs {
        question: Question { space, pairs, carried, any },
        params: all_params,
        source_loops: source.loops.clone(),
        sink_loops: sink.loops.clone(),
        sorted,
    })
}

/// Tests one ordered pair: `source` in an earlier iteration of the root than `sink`.
pub(crate) fn test(
    model: &Model<'_>,
    ids: &[Option<LoopId>],
    source: &AffineAccess,
    sink: &AffineAccess,
    detail: bool,
    solver: &Solver,
    budget: &Budget,
) -> Outcome {
    let (mut equal, paths_exact) = match overlap(source, sink) {
        Overlap::Never => return Outcome::No,
        Overlap::When { equal, exact } => (equal, exact),
    };
    let more = [involutions(model, &equal), same_elements(model, &equal, [source, sink])];
    equal.extend(more.into_iter().flatten());
    let root = model.loops[0].var;
    if source.domain.pieces.is_empty()
        || sink.domain.pieces.is_empty()
        || quick_no(root, model, &equal, solver)
    {
        return Outcome::No;
    }
    let kind = match (source.write, sink.write) {
        (true, true) => DependenceKind::Output,
        (true, false) => DependenceKind::Flow,
        _ => DependenceKind::Anti,
    };
    let common: Vec<usize> =
        source.loops.iter().zip(&sink.loops).take_while(|(a, b)| a == b).map(|(a, _)| *a).collect();
    let mut dependence = Dependence {
        kind,
        object: object(source),
        source: source.term,
        sink: sink.term,
        loops: common.iter().filter_map(|&l| ids.get(l).copied().flatten()).collect(),
        direction: vec![Direction::LT; 1],
        distance: vec![None; common.len()],
        witness: None,
    };
    dependence.direction.resize(common.len(), Direction::ANY);
    let meet = source.inside.meets(&sink.inside);
    let shared = || (!meet).then_some(Obstacle { kind: ObstacleKind::SharedBytes, term: sink.term });
    let reason = source.why.clone().or_else(|| sink.why.clone()).or_else(shared);
    let exact = paths_exact
        && meet
        && source.why.is_none()
        && sink.why.is_none()
        && source.domain.exact
        && sink.domain.exact;
    let maybe = |d: Dependence, o: Option<ObstacleKind>| {
        let obstacle = match o {
            Some(kind) => Obstacle { kind, term: sink.term },
            None => reason.clone().unwrap_or(Obstacle { kind: ObstacleKind::Unproved, term: sink.term }),
        };
        Outcome::Maybe(Box::new(d), obstacle)
    };
    let stopped = |e: &poly::Error| match e {
        poly::Error::Spent | poly::Error::Cancelled => Some(ObstacleKind::Budget(crate::Work::Dependences)),
        _ => Some(ObstacleKind::Unproved),
    };
    let Some(found) = pairs(model, source, sink, &equal, &FxHashMap::default(), &[], true) else {
        return maybe(dependence, Some(ObstacleKind::Unproved));
    };
    let point = match solver.any(&found.question, budget) {
        Ok(None) => return nothing(model, found),
        Ok(point) => point,
        Err(e) => return maybe(dependence, stopped(&e)),
    };
    if are_apart_as_promised(model, source, sink, &equal, solver, budget) {
        return Outcome::No;
    }
    let by_data = paths_exact && meet && depends_on_data(source) && depends_on_data(sink);
    let is_guess = kind == DependenceKind::Flow && by_data;
    if !exact && !is_guess {
        return maybe(dependence, None);
    }
    // what is not linear is not asked of the iterations: a run tells whether they are right
    let needs = model.premises.unproved.as_deref().unwrap_or(&[]);
    let chosen = point_to_show(model, [source, sink], &equal, (found, point), needs, solver, budget);
    let (found, point, fixed) = match chosen {
        Ok(Some(chosen)) => chosen,
        Ok(None) if !exact => return maybe(dependence, None),
        Ok(None) => return maybe(dependence, Some(ObstacleKind::Unproved)),
        Err(e) => return maybe(dependence, stopped(&e)),
    };
    dependence.witness = witness(model, source, &found, &point, &fixed);
    if !exact {
        dependence.witness.iter_mut().for_each(|w| w.on_data = true);
        if !(stays(root, source) && stays(root, sink)) {
            describe(&found, &common, &point, false, &mut dependence, solver, budget);
            dependence.witness = dependence.witness.filter(|_| dependence.distance.first() != Some(&None));
        }
        return maybe(dependence, None);
    }
    if dependence.witness.is_none() {
        return maybe(dependence, Some(ObstacleKind::Unproved));
    }
    describe(&found, &common, &point, detail, &mut dependence, solver, budget);
    Outcome::Yes(Box::new(dependence))
}

/// That there are no such pairs, as far as what was taken for it holds.
fn nothing(model: &Model<'_>, found: Pairs) -> Outcome {
    model.promises.rest_on_sorted(found.sorted);
    Outcome::No
}

/// Whether what the user promises of elements keeps the two apart.
fn are_apart_as_promised(
    model: &Model<'_>,
    source: &AffineAccess,
    sink: &AffineAccess,
    equal: &[(Poly, Poly)],
    solver: &Solver,
    budget: &Budget,
) -> bool {
    let (more, promises) = injections(model, equal);
    if more.is_empty() {
        return false;
    }
    let all: Vec<(Poly, Poly)> = equal.iter().cloned().chain(more).collect();
    let apart = quick_no(model.loops[0].var, model, &all, solver)
        || pairs(model, source, sink, &all, &FxHashMap::default(), &[], true).is_some_and(|found| {
            let apart = matches!(solver.any(&found.question, budget), Ok(None));
            model.promises.rest_on_sorted(found.sorted.into_iter().filter(|_| apart));
            apart
        });
    if apart {
        promises.into_iter().for_each(|p| model.promises.rest_on(p));
    }
    apart
}

/// Whether nothing but conditions on data decides if the access happens.
fn depends_on_data(a: &AffineAccess) -> bool {
    let why = a.why.as_ref().map(|o| &o.kind);
    why.map_or(a.domain.exact, |k| *k == ObstacleKind::DataDependentCondition)
}

/// Whether the access is to the same cells in all iterations of the root. What meets in one iteration only (the row k of Floyd and
/// Warshall's) may meet for values that the program never has.
fn stays(root: Var, a: &AffineAccess) -> bool {
    a.subs.iter().flat_map(|s| &s.value).all(|p| p.coefficient(root) == 0)
}

type Chosen = Option<(Pairs, poly::Point, FxHashMap<Var, i128>)>;

/// Two iterations that can be shown: in them holds what the model rests on (`needs`), and factors of products have values.
fn point_to_show(
    model: &Model<'_>,
    [source, sink]: [&AffineAccess; 2],
    equal: &[(Poly, Poly)],
    (mut found, mut point): (Pairs, Option<poly::Point>),
    needs: &[Poly],
    solver: &Solver,
    budget: &Budget,
) -> poly::Result<Chosen> {
    let none = FxHashMap::default();
    if !needs.is_empty() {
        found = match pairs(model, source, sink, equal, &none, needs, true) {
            Some(p) => p,
            None => return Ok(None),
        };
        point = solver.any(&found.question, budget)?;
    }
    // Products of parameters are not numbers one may choose freely: fix their factors.
    let mut factors: Vec<Var> = Vec::new();
    for &v in &found.params {
        if let VarKind::Product(fs) = model.vars.kind(v) {
            for f in fs {
                if !factors.contains(f) {
                    factors.push(*f);
                }
            }
        }
    }
    if factors.is_empty() {
        return Ok(point.map(|p| (found, p, none)));
    }
    with_fixed_factors(model, source, sink, equal, &factors, needs, solver, budget)
}

#[allow(clippy::too_many_arguments)] // all that a question is made of
fn with_fixed_factors(
    model: &Model<'_>,
    source: &AffineAccess,
    sink: &AffineAccess,
    equal: &[(Poly, Poly)],
    factors: &[Var],
    needs: &[Poly],
    solver: &Solver,
    budget: &Budget,
) -> poly::Result<Chosen> {
    const TRY: [i128; 7] = [4, 1, 2, 3, 0, 5, 8];
    if factors.len() > 3 {
        return Ok(None);
    }
    let total = TRY.len().pow(factors.len() as u32);
    for n in 0..total {
        let mut k = n;
        let mut fixed = FxHashMap::default();
        for &f in factors {
            fixed.insert(f, TRY[k % TRY.len()]);
            k /= TRY.len();
        }
        let Some(p) = pairs(model, source, sink, equal, &fixed, needs, true) else {
            return Ok(None);
        };
        if let Some(point) = solver.any(&p.question, budget)? {
            return Ok(Some((p, point, fixed)));
        }
    }
    Ok(None)
}

/// The object an access belongs to.
pub(crate) fn object(a: &AffineAccess) -> Object {
    Object { symbol: a.base, fields: a.fields.iter().map(|f| f.1.clone()).collect() }
}
