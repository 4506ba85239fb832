//! The complete dependence graph of one nest: what a reordering of its iterations or statements has to respect.
//!
//! [`crate::LoopFacts`] lists what one loop carries; a transformation needs all of it: for every two accesses of one
//! object the set of direction vectors that can occur over all loops around both, loop-independent ones included.
//! A vector is listed unless it is *proved* not to occur (hierarchically, level by level: Burke & Cytron, PLDI 1986;
//! each question is an exact emptiness test), so whoever finds no offending vector has a proof. Deliberately absent:
//! witnesses (the facts have them) and any opinion on what to do.

use base::Budget;
use rustc_hash::{FxHashMap, FxHashSet};
use term::{BinOp, Body, Op, SymbolId, TermId};

use crate::algebra::poly::{Poly, Var};
use crate::calls::inline::read;
use crate::context::Context;
use crate::depend::{object, overlap, pairs, Overlap};
use crate::flow::liveness::{early_exit, exposed_reads};
use crate::limits::graph::{MAX_LEVELS, MAX_PAIRS};
use crate::loops::aliases::alias_conditions;
use crate::loops::{meet_obligations, plain_blockers};
use crate::nest::{AffineAccess, Model, ModelLoop};
use crate::solve::{Question, Solver};
use crate::{
    Condition, DependenceKind, Facts, LoopFacts, LoopId, MetBy, Object, Obstacle, ObstacleKind, Program,
    Step, Verdict,
};

/// In which order source and sink stand at one level.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Order {
    /// `<`: the source's iteration comes first.
    Before,
    /// `=`
    Same,
    /// `>`
    After,
}

impl Order {
    /// `<`, `=`, `>`.
    pub fn symbol(self) -> &'static str {
        match self {
            Order::Before => "<",
            Order::Same => "=",
            Order::After => ">",
        }
    }
}

/// Two accesses of one object, one of them a write, the source executed before the sink.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Edge {
    pub kind: DependenceKind,
    pub object: Object,
    pub source: TermId,
    pub sink: TermId,
    /// Positions in [`Graph::statements`]; `None`: the loop's header.
    pub from: Option<usize>,
    pub to: Option<usize>,
    /// The loops around both, the graph's root first.
    pub loops: Vec<LoopId>,
    /// All vectors that may occur, one order per loop of `loops`. The first that is not `=` is `<`; only `=`: within
    /// one iteration of all of them, the source first.
    pub vectors: Vec<Vec<Order>>,
    /// Per loop of `loops`: iterations from source to sink where that is one constant.
    pub distance: Vec<Option<i128>>,
    /// Whether the accesses are exactly known; otherwise some vectors may be there only because nothing excluded them.
    pub exact: bool,
}

impl Edge {
    /// Whether it can pass from one iteration of the root to a later one.
    pub fn carried(&self) -> bool {
        self.vectors.iter().any(|v| v.first() == Some(&Order::Before))
    }
    /// Whether it can lie within one iteration of the root.
    pub fn within(&self) -> bool {
        self.vectors.iter().any(|v| v.first() == Some(&Order::Same))
    }
}

/// The graph of the nest that a loop is the root of.
#[derive(Clone, PartialEq, Debug)]
pub struct Graph {
    pub root: LoopId,
    /// The statements directly in the loop's body, in textual order (empty ones and marks left out).
    pub statements: Vec<TermId>,
    pub edges: Vec<Edge>,
    /// Statements that share a variable declared in the body: `(declaring, using, variable)`.
    pub ties: Vec<(usize, usize, SymbolId)>,
    /// What the graph needs and what is not proved: a test at run time or the user could settle it.
    pub conditions: Vec<Condition>,
    /// Why edges may be missing or nothing may be concluded; empty if all is well.
    pub obstacles: Vec<Obstacle>,
    /// Variables that the nest writes and somebody may read afterwards.
    pub live_out: Vec<SymbolId>,
    /// Scalars that no statement of the body reads before it writes them itself, and nobody reads afterwards: through
    /// them nothing passes from one statement to another.
    pub local: Vec<SymbolId>,
    /// Whether an iteration may be ended early by a `continue` of the root.
    pub has_continue: bool,
}

impl Graph {
    /// Whether the graph may be relied on without any condition.
    pub fn is_sure(&self) -> bool {
        self.obstacles.is_empty() && self.conditions.is_empty()
    }
    /// Edges that are not about these variables.
    pub fn edges_without<'a>(&'a self, aside: &'a [SymbolId]) -> impl Iterator<Item = &'a Edge> + 'a {
        let scalar = |e: &Edge| e.object.fields.is_empty() && aside.contains(&e.object.symbol);
        self.edges.iter().filter(move |e| !scalar(e))
    }
}

pub(crate) fn graph(body: &Body, program: &Program, facts: &Facts, root: LoopId, budget: &Budget) -> Graph {
    let mut g = Graph {
        root,
        statements: Vec::new(),
        edges: Vec::new(),
        ties: Vec::new(),
        conditions: Vec::new(),
        obstacles: Vec::new(),
        live_out: Vec::new(),
        local: Vec::new(),
        has_continue: false,
    };
    let Some(l) = facts.loops.get(root) else { return g };
    let t = l.term;
    if read(body.len(), budget).is_err() {
        g.obstacles.push(Obstacle { kind: ObstacleKind::Budget(crate::Work::Effects), term: t });
        return g;
    }
    let cx = Context::new(body, program, body.len(), budget);
    let Some(at) = cx.loops.iter().position(|x| x.0 == t) else {
        g.obstacles.push(Obstacle { kind: ObstacleKind::NotUnderstood, term: t });
        return g;
    };
    let control = match cx.control(at) {
        Ok(c) => c.clone(),
        Err(o) => {
            g.obstacles.push(o.clone());
            return g;
        }
    };
    // An index that the body moves as well cannot be reordered with it.
    if !control.header_only {
        g.obstacles.push(Obstacle { kind: ObstacleKind::CarriedScalar(control.index), term: t });
    }
    plain_blockers(body, t, &mut g.obstacles);
    if let Some(exit) = early_exit(body, t) {
        g.obstacles.push(Obstacle { kind: ObstacleKind::EarlyExit, term: exit });
    }
    let Some(inner) = body.loop_parts(t).map(|p| p.body) else { return g };
    g.statements = statements(body, inner);
    g.has_continue = body.has_own_continue(inner);
    g.ties = ties(body, &g.statements);
    let mut written: Vec<SymbolId> = cx.effects.writes_in(t).iter().copied().collect();
    written.sort_unstable();
    let inside = declared_in(body, inner);
    g.live_out = live_out_of(&cx, at);
    let exposed: Option<Vec<FxHashSet<SymbolId>>> = g
        .statements
        .iter()
        .map(|&s| exposed_reads(body, &[s], budget).map(|e| e.into_iter().collect()))
        .collect();
    if let Some(exposed) = exposed {
        let own = |s: SymbolId| body.symbols[s].is_own_scalar() && !g.live_out.contains(&s);
        let passes = |s: SymbolId| exposed.iter().any(|e| e.contains(&s));
        g.local = written.iter().copied().filter(|&s| own(s) && !passes(s)).collect();
    }
    if !g.obstacles.is_empty() {
        return g;
    }
    let mut reading = cx.reading(at, &control, budget);
    if !reading.obstacles.is_empty() {
        g.obstacles = std::mem::take(&mut reading.obstacles);
        return g;
    }
    let mut met = conditions_only(l);
    meet_obligations(&mut reading, &mut met);
    let model = reading.model;
    let accesses = model.accesses.clone();
    alias_conditions(&cx, &model, &accesses, &mut met);
    g.conditions = met.conditions.into_iter().filter(|c| c.met_by != MetBy::Proof).collect();
    g.obstacles = met.obstacles;
    // A variable that the nest writes is a cell of the model, or it is not followed at all.
    for &s in &written {
        let followed = accesses.iter().any(|a| a.base == s && a.write);
        if s != control.index && !inside.contains(&s) && !followed {
            g.obstacles.push(Obstacle { kind: ObstacleKind::CarriedScalar(s), term: t });
        }
    }
    if g.obstacles.is_empty() {
        edges(&cx, &model, &accesses, &mut g, budget);
    }
    g
}

fn declared_in(body: &Body, t: TermId) -> FxHashSet<SymbolId> {
    let declared = body.walk(t).filter_map(|x| match body.op(x) {
        Op::Declare(s) => Some(*s),
        _ => None,
    });
    declared.collect()
}

/// Variables that the loop writes and somebody may read after it.
pub(crate) fn live_out(body: &Body, program: &Program, facts: &Facts, root: LoopId) -> Vec<SymbolId> {
    let cx = Context::new(body, program, body.len(), &Budget::new(crate::FULL_STEPS));
    let at = facts.loops.get(root).and_then(|l| cx.loops.iter().position(|x| x.0 == l.term));
    at.map(|at| live_out_of(&cx, at)).unwrap_or_default()
}

/// Scalars that each iteration of a loop writes before it reads them: what one iteration leaves in them no other one
/// sees. Decided by exposed reads alone.
pub(crate) fn own_scalars(body: &Body, facts: &Facts, root: LoopId) -> Vec<SymbolId> {
    let parts = facts.loops.get(root).and_then(|l| body.loop_parts(l.term));
    let Some(parts) = parts else { return Vec::new() };
    let mut out: Vec<SymbolId> =
        body.walk(parts.body).filter_map(|t| crate::flow::effects::written(body, t)).collect();
    out.sort_unstable();
    out.dedup();
    let mut exposed: FxHashSet<SymbolId> = FxHashSet::default();
    let steps = Budget::new(crate::FULL_STEPS);
    for part in [Some(parts.body), parts.condition, parts.step].into_iter().flatten() {
        match exposed_reads(body, &[part], &steps) {
            Some(e) => exposed.extend(e),
            None => return Vec::new(),
        }
    }
    out.retain(|s| body.symbols[*s].is_own_scalar() && !exposed.contains(s));
    out
}

fn live_out_of(cx: &Context<'_>, at: usize) -> Vec<SymbolId> {
    let body = cx.body;
    let t = cx.loops[at].0;
    let inside = declared_in(body, t);
    let mut written: Vec<SymbolId> = cx.effects.writes_in(t).iter().copied().collect();
    written.sort_unstable();
    let outlives = |s: &SymbolId| {
        !inside.contains(s) && (!body.symbols[*s].is_own_scalar() || cx.liveness().is_live_after(t, *s))
    };
    written.into_iter().filter(outlives).collect()
}

/// Facts of the loop without what was concluded, to be filled again.
fn conditions_only(l: &LoopFacts) -> LoopFacts {
    LoopFacts {
        verdict: Verdict::Unknown,
        conditions: Vec::new(),
        dependences: Vec::new(),
        more_dependences: false,
        most_rounds: None,
        obstacles: Vec::new(),
        privates: Vec::new(),
        reductions: Vec::new(),
        inductions: Vec::new(),
        ..l.clone()
    }
}

fn statements(body: &Body, inner: TermId) -> Vec<TermId> {
    let all = match body.op(inner) {
        Op::List => body.args(inner).to_vec(),
        _ => vec![inner],
    };
    all.into_iter().filter(|&t| !matches!(body.op(t), Op::Empty | Op::Mark(_))).collect()
}

fn ties(body: &Body, statements: &[TermId]) -> Vec<(usize, usize, SymbolId)> {
    let mut home: FxHashMap<SymbolId, usize> = FxHashMap::default();
    for (k, &t) in statements.iter().enumerate() {
        // only a declaration of the body's own block is seen by its neighbours; several stand in one list
        let mut stack = vec![t];
        while let Some(x) = stack.pop() {
            match body.op(x) {
                Op::Declare(s) => {
                    home.insert(*s, k);
                }
                Op::List => stack.extend(body.args(x)),
                _ => {}
            }
        }
    }
    let mut out = Vec::new();
    for (k, &t) in statements.iter().enumerate() {
        for s in body.walk(t).filter_map(|x| body.as_symbol(x)) {
            if let Some(&h) = home.get(&s) {
                if h != k && !out.contains(&(h, k, s)) {
                    out.push((h, k, s));
                }
            }
        }
    }
    out
}

/// Whether the counter grows with time (1), falls (-1), or cannot be told (0).
fn orientation(l: &ModelLoop) -> i128 {
    if l.iteration.is_some() {
        return 1;
    }
    let Some(c) = &l.control else { return 1 };
    match (&c.step, l.index.is_some()) {
        // a loop that does not count has a plain number as its counter
        (_, false) => 1,
        (Step::Const(k), true) => k.signum(),
        (Step::Term { .. }, true) => match c.relation {
            BinOp::Lt | BinOp::Le => 1,
            BinOp::Gt | BinOp::Ge => -1,
            _ => 0,
        },
    }
}

fn edges(cx: &Context<'_>, model: &Model<'_>, accesses: &[AffineAccess], g: &mut Graph, budget: &Budget) {
    let body = cx.body;
    let mut home: FxHashMap<TermId, usize> = FxHashMap::default();
    for (k, &t) in g.statements.iter().enumerate() {
        home.extend(body.walk(t).map(|x| (x, k)));
    }
    let ids = cx.loop_ids(model);
    let mut looked = 0usize;
    let mut found: FxHashMap<(TermId, TermId), usize> = FxHashMap::default();
    for (i, a) in accesses.iter().enumerate() {
        for (j, b) in accesses.iter().enumerate() {
            if a.base != b.base || (!a.write && !b.write) {
                continue;
            }
            looked += 1;
            if looked > MAX_PAIRS || budget.spend(1).is_err() {
                g.obstacles.push(Obstacle {
                    kind: ObstacleKind::Budget(crate::Work::Dependences),
                    term: model.root,
                });
                return;
            }
            let Some(mut edge) = ordered(model, &cx.solver, &ids, a, b, i < j, budget) else { continue };
            edge.from = home.get(&a.term).copied();
            edge.to = home.get(&b.term).copied();
            // pieces of one access are one edge
            match found.get(&(a.term, b.term)).copied() {
                Some(k) => {
                    let old = &mut g.edges[k];
                    for v in edge.vectors {
                        if !old.vectors.contains(&v) {
                            old.vectors.push(v);
                        }
                    }
                    for (x, y) in old.distance.iter_mut().zip(&edge.distance) {
                        if x != y {
                            *x = None;
                        }
                    }
                    old.exact &= edge.exact;
                }
                None => {
                    found.insert((a.term, b.term), g.edges.len());
                    g.edges.push(edge);
                }
            }
        }
    }
    g.edges.sort_by_key(|e| (e.from, e.to, e.source, e.sink));
    if budget.is_cancelled() {
        g.obstacles.push(Obstacle { kind: ObstacleKind::Budget(crate::Work::Dependences), term: model.root });
    }
}

/// The edge from `a` to `b`, if both may touch one cell with `a` executed first. `earlier`: within one iteration of all
/// common loops `a` is executed before `b`.
fn ordered(
    model: &Model<'_>,
    solver: &Solver,
    ids: &[Option<LoopId>],
    a: &AffineAccess,
    b: &AffineAccess,
    earlier: bool,
    budget: &Budget,
) -> Option<Edge> {
    let (equal, paths_exact) = match overlap(a, b) {
        Overlap::Never => return None,
        Overlap::When { equal, exact } => (equal, exact),
    };
    if a.domain.pieces.is_empty() || b.domain.pieces.is_empty() {
        return None;
    }
    let mut common: Vec<usize> =
        a.loops.iter().zip(&b.loops).take_while(|(x, y)| x == y).map(|(x, _)| *x).collect();
    common.truncate(MAX_LEVELS);
    let cut = common.len() == MAX_LEVELS;
    let mut levels: Vec<Level> = common.iter().map(|_| Level::default()).collect();
    for (p, q) in &equal {
        if !narrow(model, &common, &mut levels, p, q) {
            return None;
        }
    }
    let mut search = Search {
        model,
        solver,
        common: &common,
        levels: &levels,
        loops_of_source: a.loops.len(),
        vectors: Vec::new(),
        budget,
    };
    if !vectors_without_sets(&levels, earlier || cut) {
        return None;
    }
    let none = FxHashMap::default();
    // Where it is not in numbers that sets can hold, or takes too long, every vector stays.
    let question = pairs(model, a, b, &equal, &none, &[], false).map(|p| p.question);
    if question.as_ref().is_some_and(|q| solver.none(q, budget) == Ok(true)) {
        return None;
    }
    search.level(&mut Vec::new(), question, earlier || cut);
    let vectors = search.vectors;
    if vectors.is_empty() {
        return None;
    }
    let exact = paths_exact
        && a.inside.meets(&b.inside)
        && a.why.is_none()
        && b.why.is_none()
        && a.domain.exact
        && b.domain.exact;
    Some(Edge {
        kind: match (a.write, b.write) {
            (true, true) => DependenceKind::Output,
            (true, false) => DependenceKind::Flow,
            _ => DependenceKind::Anti,
        },
        object: object(a),
        source: a.term,
        sink: b.term,
        from: None,
        to: None,
        loops: common.iter().filter_map(|&l| ids.get(l).copied().flatten()).collect(),
        vectors,
        distance: levels.iter().map(|l| l.distance).collect(),
        exact,
    })
}

/// What is known of one level: iterations from source to sink.
#[derive(Clone, Copy, Default, Debug)]
struct Level {
    distance: Option<i128>,
}

impl Level {
    fn allows(self, o: Order) -> bool {
        self.distance.is_none_or(|d| match o {
            Order::Before => d > 0,
            Order::Same => d == 0,
            Order::After => d < 0,
        })
    }
}

/// Takes what the equation `p(source) = q(sink)` says of one level: with `a*x + r = a*x' + s` the distance is
/// `(r - s) / a` (strong SIV: Goff, Kennedy & Tseng, PLDI 1991). `false`: there is no solution at all.
fn narrow(model: &Model<'_>, common: &[usize], levels: &mut [Level], p: &Poly, q: &Poly) -> bool {
    let counters = |e: &Poly| -> Vec<Var> { e.vars().filter(|&v| !model.is_param(v)).collect() };
    let (x, y) = (counters(p), counters(q));
    let Some(d) = q.sub(p).and_then(|d| d.as_constant()) else { return true };
    match (x.as_slice(), y.as_slice()) {
        ([], []) => d == 0,
        (&[v], &[w]) if v == w => {
            let a = p.coefficient(v);
            let Some(k) = common.iter().position(|&l| model.loops[l].var == v) else { return true };
            if a == 0 || a != q.coefficient(v) || !p.is_linear() || !q.is_linear() {
                return true;
            }
            // d = q - p as polynomials = s - r; a*(x' - x) = r - s = -d
            if d % a != 0 {
                return false;
            }
            let steps = match orientation(&model.loops[common[k]]) {
                0 => return true,
                o => -d / a * o,
            };
            // a counter that is the index itself moves by the step
            let moves = step_of(&model.loops[common[k]]);
            if steps % moves != 0 {
                return false;
            }
            let steps = steps / moves;
            match levels[k].distance {
                Some(old) if old != steps => false,
                _ => {
                    levels[k].distance = Some(steps);
                    true
                }
            }
        }
        _ => true,
    }
}

/// By how much the counter moves from one iteration to the next.
fn step_of(l: &ModelLoop) -> i128 {
    match &l.control {
        Some(c) if l.iteration.is_none() && l.index.is_some() => match c.step {
            Step::Const(k) => k.abs().max(1),
            Step::Term { .. } => 1,
        },
        _ => 1,
    }
}

/// Whether any vector is left by the levels alone.
fn vectors_without_sets(levels: &[Level], earlier: bool) -> bool {
    for l in levels {
        if l.allows(Order::Before) {
            return true;
        }
        if !l.allows(Order::Same) {
            return false;
        }
    }
    earlier
}

struct Search<'x, 'a> {
    model: &'x Model<'a>,
    solver: &'x Solver,
    common: &'x [usize],
    levels: &'x [Level],
    loops_of_source: usize,
    vectors: Vec<Vec<Order>>,
    budget: &'x Budget,
}

impl Search<'_, '_> {
    /// Tries every order at the next level; `pairs` are those with the orders so far (`None`: not known).
    fn level(&mut self, so_far: &mut Vec<Order>, pairs: Option<Question>, earlier: bool) {
        let k = so_far.len();
        let positive = so_far.contains(&Order::Before);
        if k == self.common.len() {
            if positive || earlier {
                self.vectors.push(so_far.clone());
            }
            return;
        }
        for o in [Order::Before, Order::Same, Order::After] {
            if (!positive && o == Order::After) || !self.levels[k].allows(o) {
                continue;
            }
            let next = match &pairs {
                None => None,
                Some(q) => match self.constrain(q, k, o) {
                    Some(n) => match self.solver.none(&n, self.budget) {
                        Ok(true) => continue,
                        Ok(false) => Some(n),
                        Err(_) => None,
                    },
                    None => pairs.clone(),
                },
            };
            so_far.push(o);
            self.level(so_far, next, earlier);
            so_far.pop();
        }
    }

    /// The pairs with this order at level `k`; `None`: that cannot be said.
    fn constrain(&self, pairs: &Question, k: usize, o: Order) -> Option<Question> {
        let n = self.loops_of_source;
        let sign = orientation(&self.model.loops[self.common[k]]);
        let later = |c: i128, s: i128| poly::Row::constant(c).dim(n + k, s).dim(k, -s);
        let constraint = match (o, sign) {
            (Order::Same, _) => poly::Constraint::eq(later(0, 1)),
            (_, 0) => return None,
            (Order::Before, s) => poly::Constraint::ge(later(-1, s)),
            (Order::After, s) => poly::Constraint::ge(later(-1, -s)),
        };
        Some(pairs.and(&constraint))
    }
}
