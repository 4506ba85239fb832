//! The model of one loop: what its iterations read and write, as affine accesses over iteration domains (F4.1).
//!
//! A model is rooted at one loop. Values that are fixed while that loop runs are parameters; every loop at or under the
//! root has a counter; each access has a domain over the counters. Whatever is not affine makes a domain or a
//! subscript *inexact*: it then stands for more than the program does, so that "no conflict" stays a proof while
//! "conflict" no longer is one.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};
use term::{BinOp, Body, IntKind, Len, Op, Storage, SymbolId, TermId, TypeId, TypeKind, UnOp};

use crate::control;
use crate::effects::Effects;
use crate::value::{Constraint, Domain, Poly, Var, VarKind};
use crate::{Control, Obstacle, ObstacleKind, Param, Step};

/// A loop of the model; number 0 is the root.
#[derive(Clone, Debug)]
pub(crate) struct ModelLoop {
    pub term: TermId,
    /// The counter.
    pub var: Var,
    /// The index variable and its value in an iteration.
    pub index: Option<(SymbolId, Poly)>,
    /// The number of the iteration, from 0, where it is affine.
    pub iteration: Option<Poly>,
    /// Number of iterations, where it is affine (only right when positive).
    pub trips: Option<Poly>,
    /// First value and bound, in the type they are compared in.
    pub lower: Option<Poly>,
    pub limit: Option<Poly>,
    /// Where the body runs.
    pub domain: Domain,
    pub control: Option<Control>,
}

/// A subscript of an access.
#[derive(Clone, Debug)]
pub(crate) struct Subscript {
    /// `None`: any value.
    pub value: Option<Poly>,
    pub term: TermId,
}

/// One place that reads or writes memory, or a variable that outlives the iteration.
#[derive(Clone, Debug)]
pub(crate) struct Access {
    pub base: SymbolId,
    /// Field names with the number of subscripts before each.
    pub fields: Vec<(usize, Arc<str>)>,
    pub subs: Vec<Subscript>,
    /// Lengths of the dimensions, where the type says them; parallel to `subs`.
    pub lengths: Vec<Option<Length>>,
    pub write: bool,
    pub term: TermId,
    /// Model loops around it, outermost (0) first.
    pub loops: Vec<usize>,
    pub domain: Domain,
    /// What made it inexact.
    pub why: Option<Obstacle>,
    /// Lengths of the dimensions from the second on, where all are known.
    pub inner: Option<Vec<Poly>>,
}

/// Length of a dimension.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Length {
    Const(u64),
    Term(TermId, Option<Poly>),
}

/// Something that must hold over a domain for the model to be the program.
#[derive(Clone, Debug)]
pub(crate) struct Obligation {
    pub kind: Need,
    /// `poly >= 0`
    pub poly: Poly,
    pub domain: Domain,
}

/// What an obligation is for.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Need {
    NoWrap(TermId),
    Bounds { access: TermId, length: Length },
    InRow { access: TermId, stride: TermId },
    StepSign(TermId),
    Terminates(TermId),
}

/// A value with the condition under which it is that one.
type Pieces = Vec<(Domain, Poly)>;

/// A place in memory or a variable.
#[derive(Clone, Debug)]
struct Loc {
    base: SymbolId,
    fields: Vec<(usize, Arc<str>)>,
    subs: Vec<(Option<Pieces>, TermId)>,
    lengths: Vec<Option<Length>>,
}

/// See the module's text.
pub(crate) struct Model<'a> {
    pub body: &'a Body,
    pub effects: &'a Effects<'a>,
    pub root: TermId,
    pub vars: Vec<VarKind>,
    pub loops: Vec<ModelLoop>,
    pub accesses: Vec<Access>,
    pub obligations: Vec<Obligation>,
    /// What is known of the parameters whenever the loop runs.
    pub context: Vec<Constraint>,
    /// Defining constraints of quotients.
    pub quotients: Vec<(Var, Vec<Constraint>)>,
    pub obstacles: Vec<Obstacle>,
    env: FxHashMap<SymbolId, Option<Pieces>>,
    pointers: FxHashMap<SymbolId, Option<Loc>>,
    param_ids: FxHashMap<Param, Var>,
    product_ids: FxHashMap<Vec<Var>, Var>,
    term_params: Vec<(TermId, Var)>,
    dom: Domain,
    why: Option<Obstacle>,
    path: Vec<usize>,
    depth: u32,
    jumped: bool,
    /// Variables declared in the root's body: each iteration has its own.
    inside: FxHashSet<SymbolId>,
    /// Variables through which the root writes memory; `None` where a place has no variable at its base.
    written_bases: FxHashSet<Option<SymbolId>>,
    /// Variables that move by a constant each iteration of the root, with the step.
    pub inductions: Vec<(SymbolId, i128, TermId)>,
}

const MAX_DEPTH: u32 = 300;
const MAX_VALUE_PIECES: usize = 4;
const MAX_ACCESSES: usize = 2000;

impl<'a> Model<'a> {
    /// Builds the model of a counted loop. `enclosing`: the loops around it, outermost first.
    pub(crate) fn build(
        body: &'a Body,
        effects: &'a Effects<'a>,
        root: TermId,
        root_control: &Control,
        enclosing: &[(TermId, Option<Control>)],
    ) -> Model<'a> {
        let mut m = Model {
            body,
            effects,
            root,
            vars: Vec::new(),
            loops: Vec::new(),
            accesses: Vec::new(),
            obligations: Vec::new(),
            context: Vec::new(),
            quotients: Vec::new(),
            obstacles: Vec::new(),
            env: FxHashMap::default(),
            pointers: FxHashMap::default(),
            param_ids: FxHashMap::default(),
            product_ids: FxHashMap::default(),
            term_params: Vec::new(),
            dom: Domain::always(),
            why: None,
            path: Vec::new(),
            depth: 0,
            jumped: false,
            inside: FxHashSet::default(),
            written_bases: FxHashSet::default(),
            inductions: Vec::new(),
        };
        m.read_root();
        m.read_context(enclosing);
        m.root_loop(root_control);
        m.delinearize();
        m.type_ranges();
        m
    }

    fn read_root(&mut self) {
        for x in self.body.walk(self.root) {
            if self.body.op(x).is_write() {
                let place = self.body.args(x)[0];
                if self.body.as_symbol(place).is_none() {
                    self.written_bases.insert(base_symbol(self.body, place));
                }
            }
        }
        for x in self.body.walk(self.body.args(self.root)[3]) {
            if let Op::Declare(s) = self.body.op(x) {
                if matches!(self.body.symbols[*s].storage, Storage::Local) {
                    self.inside.insert(*s);
                }
            }
        }
    }

    fn fresh(&mut self, kind: VarKind) -> Var {
        self.vars.push(kind);
        (self.vars.len() - 1) as Var
    }

    fn fresh_value(&mut self) -> Poly {
        Poly::var(self.fresh(VarKind::Fresh))
    }

    pub(crate) fn param(&mut self, p: Param) -> Var {
        if let Some(&v) = self.param_ids.get(&p) {
            return v;
        }
        if let Param::Term(t) = p {
            if let Some(&(_, v)) = self.term_params.iter().find(|(u, _)| self.body.same(*u, t)) {
                return v;
            }
        }
        let v = self.fresh(VarKind::Param(p));
        self.param_ids.insert(p, v);
        if let Param::Term(t) = p {
            self.term_params.push((t, v));
        }
        v
    }

    /// The value as a linear one: products of parameters become parameters. `None` where it is not linear.
    pub(crate) fn linear(&mut self, p: &Poly) -> Option<Poly> {
        if p.is_linear() {
            return Some(p.clone());
        }
        let mut items = Vec::new();
        for (m, c) in p.terms() {
            if m.len() <= 1 {
                items.push((m.to_vec(), c));
                continue;
            }
            if !m.iter().all(|&v| self.is_param(v)) {
                return None;
            }
            let v = match self.product_ids.get(m) {
                Some(&v) => v,
                None => {
                    let v = self.fresh(VarKind::Product(m.to_vec()));
                    self.product_ids.insert(m.to_vec(), v);
                    v
                }
            };
            items.push((vec![v], c));
        }
        Poly::from_terms(items)
    }

    pub(crate) fn is_param(&self, v: Var) -> bool {
        matches!(self.vars[v as usize], VarKind::Param(_) | VarKind::Product(_))
    }

    fn obstacle(&mut self, kind: ObstacleKind, term: TermId) {
        let o = Obstacle { kind, term };
        if !self.obstacles.contains(&o) {
            self.obstacles.push(o);
        }
    }

    fn blur(&mut self, kind: ObstacleKind, term: TermId) {
        self.dom.exact = false;
        self.why.get_or_insert(Obstacle { kind, term });
    }

    /// Ranges of outer indices, where they are affine in what is fixed.
    fn read_context(&mut self, enclosing: &[(TermId, Option<Control>)]) {
        for (t, control) in enclosing {
            let Some(c) = control else { continue };
            let moving = self.effects.writes_in(*t);
            let steady = |m: &Model<'_>, e: TermId| {
                m.body.walk(e).all(|x| match m.body.op(x) {
                    Op::Sym(s) => !moving.contains(s),
                    Op::Int(_) | Op::Binary(_) | Op::Unary(_) | Op::Cast => true,
                    _ => false,
                })
            };
            let index = Poly::var(self.param(Param::Symbol(c.index)));
            // A wrapping index, or a comparison that converts, may leave the plain range.
            let kind = c.index_type;
            let never_wraps =
                (kind.signed() && kind.bits() >= 32) || (c.step == Step::Const(1) && c.relation == BinOp::Lt);
            let plain = |m: &Model<'_>, e: TermId| {
                m.body.types.as_int(m.body.ty(e)).is_some_and(|k| k.signed() == kind.signed())
                    || control::constant(m.body, e).is_some_and(|v| v >= 0)
            };
            if !never_wraps {
                continue;
            }
            let saved = std::mem::take(&mut self.obligations);
            if steady(self, c.lower) && plain(self, c.lower) {
                if let (Some(lower), Step::Const(step)) = (self.plain_value(c.lower), &c.step) {
                    let d = if *step > 0 { index.sub(&lower) } else { lower.sub(&index) };
                    if let Some(d) = d.and_then(|d| self.linear(&d)) {
                        self.context.push(Constraint::non_negative(d));
                    }
                }
            }
            if steady(self, c.bound) && plain(self, c.bound) && c.relation != BinOp::Ne {
                if let Some(bound) = self.plain_value(c.bound) {
                    let d = compare(c.relation, &index, &bound);
                    for piece in d.pieces.into_iter().take(1) {
                        for k in piece {
                            if let Some(p) = self.linear(&k.poly) {
                                self.context.push(Constraint { poly: p, equality: k.equality });
                            }
                        }
                    }
                }
            }
            // A conversion that might not keep the value makes the range unsure; then it is not known.
            if !self.obligations.is_empty() {
                self.context.clear();
            }
            self.obligations = saved;
        }
    }

    /// Value ranges that unsigned parameter types give.
    fn type_ranges(&mut self) {
        for v in 0..self.vars.len() {
            if let VarKind::Param(p) = &self.vars[v] {
                let ty = match p {
                    Param::Symbol(s) => self.body.symbols[*s].ty,
                    Param::Term(t) => self.body.ty(*t),
                };
                if let Some(kind) = self.body.types.as_int(ty) {
                    if !kind.signed() {
                        self.context.push(Constraint::non_negative(Poly::var(v as Var)));
                    }
                    if kind.bits() <= 16 {
                        let below = Poly::var(v as Var).scale(-1).and_then(|p| p.add_constant(kind.max()));
                        let above = Poly::var(v as Var).add_constant(-kind.min());
                        self.context.extend(below.into_iter().chain(above).map(Constraint::non_negative));
                    }
                }
            }
        }
    }

    // ---- loops

    fn root_loop(&mut self, c: &Control) {
        let args = self.body.args(self.root).to_vec();
        let (cond, step, inner) = (args[1], args[2], args[3]);
        // What the iteration does not know at its start.
        let written: Vec<SymbolId> = {
            let mut all: Vec<SymbolId> = self.effects.writes_in(inner).iter().copied().collect();
            all.extend(self.effects.writes_in(step).iter().copied());
            all.extend(self.effects.writes_in(cond).iter().copied());
            all.sort_unstable();
            all.dedup();
            all
        };
        let inductions = induction_updates(self.body, self.root, Some(c.index));
        // The first value is evaluated once, before: it is fixed. Its own variables may move later.
        let lower = self.lower_of_root(c);
        self.path.push(0);
        let var = self.fresh(VarKind::Iter(0));
        self.loops.push(ModelLoop {
            term: self.root,
            var,
            index: None,
            iteration: None,
            trips: None,
            lower: None,
            limit: None,
            domain: Domain::unknown(),
            control: Some(c.clone()),
        });
        for s in &written {
            self.forget(*s);
        }
        self.enter_counted(0, c, vec![(Domain::always(), lower)], cond);
        let iteration = self.loops[0].iteration.clone();
        for (s, step, update) in inductions {
            let Some(kind) = self.body.types.as_int(self.body.symbols[s].ty) else {
                continue;
            };
            if s == c.index || !self.body.symbols[s].is_own_scalar() || !kind.signed() || kind.bits() < 32 {
                continue;
            }
            if let Some(t) = iteration.as_ref().and_then(|t| t.scale(step)) {
                let start = Poly::var(self.param(Param::Symbol(s)));
                if let Some(v) = start.add(&t) {
                    self.env.insert(s, Some(vec![(Domain::always(), v)]));
                    self.inductions.push((s, step, update));
                }
            }
        }
        self.visit_body(self.root, inner);
        self.visit(step);
    }

    /// The first value of the root's index. Its text stands before the loop, where the variables still have the
    /// values they enter with; a variable that the loop writes is therefore not the same as inside.
    fn lower_of_root(&mut self, c: &Control) -> Poly {
        let moving = self.effects.writes_in(self.root);
        let simple = self.body.walk(c.lower).all(|x| match self.body.op(x) {
            Op::Sym(s) => !moving.contains(s),
            Op::Int(_) | Op::Binary(_) | Op::Unary(_) | Op::Cast => true,
            _ => false,
        });
        if simple {
            let from = self.body.types.as_int(self.body.ty(c.lower));
            if let (Some(v), Some(from)) = (self.plain_value(c.lower), from) {
                if let Some(mut pieces) =
                    self.convert(vec![(Domain::always(), v)], from, c.index_type, c.lower)
                {
                    if pieces.len() == 1 {
                        return pieces.remove(0).1;
                    }
                }
            }
        }
        Poly::var(self.param(Param::Term(c.lower)))
    }

    /// Sets index, iteration and domain of a counted loop whose header starts at `lower`.
    fn enter_counted(&mut self, at: usize, c: &Control, lower: Pieces, cond: TermId) {
        let var = self.loops[at].var;
        let x = Poly::var(var);
        let single = if lower.len() == 1 { Some(lower[0].1.clone()) } else { None };
        let known =
            single.as_ref().filter(|p| p.vars().all(|v| self.vars[v as usize] != VarKind::Fresh)).cloned();
        let (index, iteration) = match (&c.step, &known) {
            (Step::Const(1), Some(l)) => (x.clone(), x.sub(l)),
            (Step::Const(s), Some(l)) => match x.scale(*s).and_then(|p| p.add(l)) {
                Some(p) => (p, Some(x.clone())),
                None => (x.clone(), None),
            },
            _ => (x.clone(), None),
        };
        // 0 <= iteration, or the index lies on the right side of its first value.
        match &iteration {
            Some(t) => self.require_in_domain(Constraint::non_negative(t.clone())),
            None => {
                let up = matches!(c.relation, BinOp::Lt | BinOp::Le)
                    || (c.relation == BinOp::Ne && c.step == Step::Const(1));
                let mut d = Domain::never();
                for (when, l) in &lower {
                    let diff = if up { index.sub(l) } else { l.sub(&index) };
                    let piece = match diff {
                        Some(p) => when.and(&Domain::of(Constraint::non_negative(p))),
                        None => Domain::unknown(),
                    };
                    d = d.or(&piece);
                }
                self.dom = self.dom.and(&d);
                let steady = matches!(c.step, Step::Const(1 | -1)) && known_pieces(&self.vars, &lower);
                if !steady {
                    let kind = self.inexact_kind(c.lower);
                    self.blur(kind, c.lower);
                }
            }
        }
        self.loops[at].index = Some((c.index, index.clone()));
        self.loops[at].iteration = iteration;
        self.env.insert(c.index, Some(vec![(Domain::always(), index.clone())]));
        if let Step::Term { term, negated } = c.step {
            if let Some(s) = self.plain_value(term) {
                let up = matches!(c.relation, BinOp::Lt | BinOp::Le);
                let s = if up != negated { Some(s) } else { s.scale(-1) };
                if let Some(p) = s.and_then(|s| s.add_constant(-1)) {
                    self.oblige(Need::StepSign(term), p, Domain::always());
                }
            } else {
                self.obstacle(ObstacleKind::NonAffineSubscript, term);
            }
            self.dom.exact = false;
            self.why.get_or_insert(Obstacle { kind: ObstacleKind::NonAffineSubscript, term });
        }
        // The condition, with C's conversions.
        let bound_side = self.visit(c.bound);
        let (bt, it) = (self.body.types.as_int(self.body.ty(c.bound)), c.index_type);
        let mut limit = None;
        let positive = match (bound_side, bt) {
            (Some(bound), Some(bt)) => {
                let common = it.common(bt);
                let b = self.convert(bound, bt, common, c.bound);
                let i = self.convert(vec![(Domain::always(), index.clone())], it, common, cond);
                match (i, b) {
                    (Some(i), Some(b)) => {
                        if b.len() == 1 {
                            limit = Some(b[0].1.clone());
                        }
                        let relation = match (c.relation, &c.step) {
                            (BinOp::Ne, Step::Const(1)) => BinOp::Lt,
                            (BinOp::Ne, _) => BinOp::Gt,
                            (r, _) => r,
                        };
                        compare_pieces(relation, &i, &b)
                    }
                    _ => Domain::unknown(),
                }
            }
            _ => Domain::unknown(),
        };
        if !positive.exact {
            let kind = self.inexact_kind(c.bound);
            self.why.get_or_insert(Obstacle { kind, term: c.bound });
        }
        self.dom = self.dom.and(&positive);
        if let (Some(l), Some(b)) = (&known, &limit) {
            self.loops[at].trips = trips(c, l, b);
        }
        self.loops[at].lower = known;
        self.loops[at].limit = limit.clone();
        self.loops[at].domain = self.dom.clone();
        // Where the index ends must be a value of its type, else it wraps and the loop goes on.
        if let Some(b) = limit {
            let kind = c.index_type;
            let step = match c.step {
                Step::Const(s) => s,
                Step::Term { .. } => 0,
            };
            let undefined = kind.signed() && kind.bits() >= 32;
            if c.relation == BinOp::Ne {
                if let Some(l) = &single {
                    let d = if step > 0 { b.sub(l) } else { l.sub(&b) };
                    if let Some(d) = d {
                        let dom = self.outer_domain();
                        self.oblige(Need::Terminates(cond), d, dom);
                    }
                }
            } else if !undefined {
                // The last value past the bound: `b - 1 + step` at most when counting up.
                let past = match c.relation {
                    BinOp::Lt => b.add_constant(step - 1),
                    BinOp::Le => b.add_constant(step),
                    BinOp::Gt => b.add_constant(step + 1),
                    _ => b.add_constant(step),
                };
                let fits = past.and_then(|p| {
                    if step > 0 {
                        p.scale(-1)?.add_constant(kind.max())
                    } else {
                        p.add_constant(-kind.min())
                    }
                });
                let dom = self.outer_domain();
                match fits {
                    Some(f) if step != 0 => self.oblige(Need::Terminates(cond), f, dom),
                    _ => self.obstacle(ObstacleKind::NonAffineSubscript, cond),
                }
            }
        }
    }

    /// The domain around the loop being entered (its own constraints are over its counter and may stay: an
    /// obligation about the loop's end only matters where it runs at least once).
    fn outer_domain(&self) -> Domain {
        self.dom.clone()
    }

    fn require_in_domain(&mut self, c: Constraint) {
        self.dom = self.dom.and(&Domain::of(c));
    }

    fn visit_body(&mut self, loop_term: TermId, inner: TermId) {
        if has_own_break(self.body, inner) && loop_term != self.root {
            self.blur(ObstacleKind::EarlyExit, loop_term);
        }
        self.visit_statement(inner);
    }

    fn inner_loop(&mut self, t: TermId) {
        let args = self.body.args(t).to_vec();
        let saved_dom = self.dom.clone();
        let saved_why = self.why.clone();
        let saved_jumped = std::mem::take(&mut self.jumped);
        let at = self.loops.len();
        let var = self.fresh(VarKind::Iter(at));
        let control = control::control(self.body, t, self.effects).ok();
        let (init, cond, step, inner) = match self.body.op(t) {
            Op::For => (Some(args[0]), Some(args[1]), Some(args[2]), args[3]),
            Op::While => (None, Some(args[0]), None, args[1]),
            _ => (None, Some(args[1]), None, args[0]),
        };
        if let Some(init) = init {
            self.visit_statement(init);
        }
        self.loops.push(ModelLoop {
            term: t,
            var,
            index: None,
            iteration: None,
            trips: None,
            lower: None,
            limit: None,
            domain: Domain::unknown(),
            control: control.clone(),
        });
        let lower = control.as_ref().and_then(|c| self.value_of_symbol(c.index, c.lower));
        let written: Vec<SymbolId> = {
            let mut all: Vec<SymbolId> = self.effects.writes_in(t).iter().copied().collect();
            all.sort_unstable();
            all
        };
        let inductions = match &control {
            Some(c) => induction_updates(self.body, t, Some(c.index)),
            None => Vec::new(),
        };
        let entry: Vec<(SymbolId, i128, Option<Pieces>)> =
            inductions.iter().map(|&(s, k, u)| (s, k, self.value_of_symbol(s, u))).collect();
        for &s in &written {
            self.forget(s);
        }
        self.path.push(at);
        match &control {
            Some(c) => {
                let lower = lower.unwrap_or_else(|| vec![(Domain::always(), self.fresh_value())]);
                // The first value was computed in other iterations of what is around; conditions of its pieces hold.
                self.enter_counted(at, c, lower, cond.unwrap_or(t));
                let iteration = self.loops[at].iteration.clone();
                for (s, k, v) in &entry {
                    let moved = v.as_ref().zip(iteration.as_ref()).and_then(|(v, n)| {
                        let by = n.scale(*k)?;
                        v.iter().map(|(d, p)| Some((d.clone(), p.add(&by)?))).collect::<Option<Pieces>>()
                    });
                    if moved.is_some() && self.body.symbols[*s].is_own_scalar() {
                        self.env.insert(*s, moved);
                    }
                }
            }
            None => {
                self.require_in_domain(Constraint::non_negative(Poly::var(var)));
                self.blur(ObstacleKind::DataDependentCondition, t);
                if let Some(c) = cond {
                    if *self.body.op(t) != Op::DoWhile {
                        self.visit(c);
                    }
                }
            }
        }
        self.visit_body(t, inner);
        if control.is_none() {
            for s in [cond.filter(|_| *self.body.op(t) == Op::DoWhile), step].into_iter().flatten() {
                self.visit(s);
            }
        } else if let Some(s) = step {
            // The step's own accesses (a global in `i += g`) are reads; its writes are the index and inductions.
            self.visit(s);
        }
        self.path.pop();
        for &s in &written {
            self.forget(s);
        }
        // After the loop an induction has moved `trips` times, if that is known and surely not negative: it is not
        // proved here, so only constants count.
        if let Some(n) = self.loops[at].trips.as_ref().and_then(Poly::as_constant).filter(|n| *n >= 0) {
            if !has_own_break(self.body, inner) {
                for (s, k, v) in entry {
                    if let Some(v) = v {
                        let moved: Option<Pieces> = v
                            .iter()
                            .map(|(d, p)| Some((d.clone(), p.add_constant(k.checked_mul(n)?)?)))
                            .collect();
                        if moved.is_some() && self.body.symbols[s].is_own_scalar() {
                            self.env.insert(s, moved);
                        }
                    }
                }
            }
        }
        self.dom = saved_dom;
        self.why = saved_why;
        self.jumped = saved_jumped;
    }

    fn forget(&mut self, s: SymbolId) {
        let symbol = &self.body.symbols[s];
        if self.body.types.as_int(symbol.ty).is_some() {
            let v = self.fresh_value();
            self.env.insert(s, Some(vec![(Domain::always(), v)]));
        }
        self.pointers.insert(s, None);
    }

    // ---- statements

    fn visit_statement(&mut self, t: TermId) {
        self.depth += 1;
        if self.depth > MAX_DEPTH || self.accesses.len() > MAX_ACCESSES {
            self.obstacle(ObstacleKind::Budget, t);
            self.depth -= 1;
            return;
        }
        self.statement(t);
        self.depth -= 1;
    }

    fn statement(&mut self, t: TermId) {
        let args = self.body.args(t).to_vec();
        match self.body.op(t).clone() {
            Op::List => {
                for a in args {
                    self.visit_statement(a);
                }
            }
            Op::If => {
                let (yes, no) = self.condition(args[0]);
                self.branch(t, yes, no, args[1], args.get(2).copied());
            }
            Op::For | Op::While | Op::DoWhile => self.inner_loop(t),
            Op::Switch => {
                self.visit(args[0]);
                let saved = (self.dom.clone(), self.why.clone(), self.jumped);
                self.blur(ObstacleKind::DataDependentCondition, args[0]);
                let written: Vec<SymbolId> = self.effects.writes_in(args[1]).iter().copied().collect();
                for &item in self.body.args(args[1]) {
                    for &s in &written {
                        self.forget(s);
                    }
                    self.visit_statement(item);
                }
                for &s in &written {
                    self.forget(s);
                }
                let jumped = self.jumped;
                (self.dom, self.why, self.jumped) = saved;
                if jumped {
                    self.blur(ObstacleKind::DataDependentCondition, args[0]);
                }
            }
            // Initialised once, before the program starts.
            Op::Declare(s) if self.body.symbols[s].storage == Storage::StaticLocal => {}
            Op::Declare(s) => {
                let ty = self.body.symbols[s].ty;
                match args.first() {
                    Some(&e) if matches!(self.body.types.kind(ty), TypeKind::Pointer { .. }) => {
                        self.visit(e);
                        let p = self.pointer(e).ok();
                        self.pointers.insert(s, p);
                    }
                    Some(&e) => {
                        let v = self.visit(e);
                        self.assign_symbol(s, v, self.body.ty(e), e);
                        if !self.body.symbols[s].is_own_scalar() || !is_scalar(self.body, ty) {
                            self.touch_symbol(s, t, true);
                        }
                    }
                    None => self.forget(s),
                }
            }
            Op::Break | Op::Continue => self.jumped = true,
            Op::Return | Op::Goto(_) | Op::Label(_) => self.obstacle(ObstacleKind::EarlyExit, t),
            Op::Empty | Op::Mark(_) => {}
            Op::Case | Op::Default => {}
            _ => {
                self.visit(t);
            }
        }
    }

    fn branch(&mut self, t: TermId, yes: Domain, no: Domain, then: TermId, other: Option<TermId>) {
        let why_data = Obstacle { kind: ObstacleKind::DataDependentCondition, term: self.body.args(t)[0] };
        let (dom, why, env, pointers) =
            (self.dom.clone(), self.why.clone(), self.env.clone(), self.pointers.clone());
        let outer_jump = std::mem::take(&mut self.jumped);
        let enter = |m: &mut Self, d: &Domain| {
            m.dom = dom.and(d);
            if !d.exact {
                m.why.get_or_insert(why_data.clone());
            }
        };
        enter(self, &yes);
        self.visit_statement(then);
        let then_jumped = std::mem::take(&mut self.jumped);
        let then_env = std::mem::replace(&mut self.env, env);
        let then_pointers = std::mem::replace(&mut self.pointers, pointers);
        self.why = why.clone();
        let mut else_jumped = false;
        if let Some(o) = other {
            enter(self, &no);
            self.visit_statement(o);
            else_jumped = std::mem::take(&mut self.jumped);
        }
        self.why = why;
        self.dom = dom.clone();
        self.jumped = outer_jump;
        let tail_jump = |b: TermId| ends_in_jump(self.body, b);
        let then_ends = then_jumped && tail_jump(then);
        let else_ends = else_jumped && other.is_some_and(tail_jump);
        match (then_ends, else_ends) {
            (true, false) => {
                self.dom = dom.and(&no);
                if !no.exact {
                    self.why.get_or_insert(why_data.clone());
                }
            }
            (false, true) => {
                self.dom = dom.and(&yes);
                self.env = then_env;
                self.pointers = then_pointers;
                if !yes.exact {
                    self.why.get_or_insert(why_data.clone());
                }
            }
            (true, true) => {}
            (false, false) => self.merge(&yes, &no, then_env, then_pointers),
        }
        if (then_jumped && !then_ends) || (else_jumped && !else_ends) {
            self.blur(why_data.kind.clone(), why_data.term);
        }
        // What is around must know that somebody may have left.
        self.jumped = outer_jump || then_jumped || else_jumped;
    }

    fn merge(
        &mut self,
        yes: &Domain,
        no: &Domain,
        then_env: FxHashMap<SymbolId, Option<Pieces>>,
        then_pointers: FxHashMap<SymbolId, Option<Loc>>,
    ) {
        let mut symbols: Vec<SymbolId> = then_env.keys().chain(self.env.keys()).copied().collect();
        symbols.sort_unstable();
        symbols.dedup();
        for s in symbols {
            let a = then_env.get(&s).cloned().unwrap_or_else(|| self.entry_value(s));
            let b = self.env.get(&s).cloned().unwrap_or_else(|| self.entry_value(s));
            if a == b {
                continue;
            }
            let joined = match (a, b) {
                (Some(a), Some(b)) if a.len() + b.len() <= MAX_VALUE_PIECES => {
                    let with = |d: &Domain, ps: Pieces| -> Pieces {
                        ps.into_iter().map(|(e, p)| (d.and(&e), p)).collect()
                    };
                    let mut all = with(yes, a);
                    all.extend(with(no, b));
                    Some(all)
                }
                _ => None,
            };
            match joined {
                Some(j) => {
                    self.env.insert(s, Some(j));
                }
                None => self.forget(s),
            }
        }
        let mut names: Vec<SymbolId> = then_pointers.keys().chain(self.pointers.keys()).copied().collect();
        names.sort_unstable();
        names.dedup();
        for s in names {
            let same = match (then_pointers.get(&s), self.pointers.get(&s)) {
                (Some(None), Some(None)) => true,
                (Some(Some(a)), Some(Some(b))) => {
                    a.base == b.base
                        && a.fields == b.fields
                        && format!("{:?}", a.subs) == format!("{:?}", b.subs)
                }
                _ => false,
            };
            if !same {
                self.pointers.insert(s, None);
            }
        }
    }

    fn entry_value(&mut self, s: SymbolId) -> Option<Pieces> {
        let v = Poly::var(self.param(Param::Symbol(s)));
        Some(vec![(Domain::always(), v)])
    }

    // ---- conditions

    /// Where the condition holds and where it does not, recording what it reads.
    fn condition(&mut self, t: TermId) -> (Domain, Domain) {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            self.obstacle(ObstacleKind::Budget, t);
            self.depth -= 1;
            return (Domain::unknown(), Domain::unknown());
        }
        let out = self.condition_inner(t);
        self.depth -= 1;
        out
    }

    fn condition_inner(&mut self, t: TermId) -> (Domain, Domain) {
        let args = self.body.args(t).to_vec();
        match *self.body.op(t) {
            Op::Unary(UnOp::Not) => {
                let (a, b) = self.condition(args[0]);
                (b, a)
            }
            Op::Binary(op @ (BinOp::And | BinOp::Or)) => {
                let (y1, n1) = self.condition(args[0]);
                let (dom, why) = (self.dom.clone(), self.why.clone());
                let entered = if op == BinOp::And { &y1 } else { &n1 };
                self.dom = dom.and(entered);
                if !entered.exact {
                    self.why.get_or_insert(Obstacle {
                        kind: ObstacleKind::DataDependentCondition,
                        term: args[0],
                    });
                }
                let env = self.env.clone();
                let (y2, n2) = self.condition(args[1]);
                if self.effects.writes_in(args[1]).iter().next().is_some() {
                    // The right side may not have run.
                    self.env = env;
                    for &s in self.effects.writes_in(args[1]).iter() {
                        self.forget(s);
                    }
                }
                (self.dom, self.why) = (dom, why);
                if op == BinOp::And {
                    (y1.and(&y2), n1.or(&y1.and(&n2)))
                } else {
                    (y1.or(&n1.and(&y2)), n1.and(&n2))
                }
            }
            Op::Binary(op) if op.is_comparison() => {
                let (lt, rt) = (self.body.ty(args[0]), self.body.ty(args[1]));
                let a = self.visit(args[0]);
                let b = self.visit(args[1]);
                let kinds = self.body.types.as_int(lt).zip(self.body.types.as_int(rt));
                let (Some(a), Some(b), Some((ka, kb))) = (a, b, kinds) else {
                    return (Domain::unknown(), Domain::unknown());
                };
                let common = ka.common(kb);
                let a = self.convert(a, ka, common, args[0]);
                let b = self.convert(b, kb, common, args[1]);
                match (a, b) {
                    (Some(a), Some(b)) => (
                        blurred(&self.vars, compare_pieces(op, &a, &b)),
                        blurred(&self.vars, compare_pieces(negated(op), &a, &b)),
                    ),
                    _ => (Domain::unknown(), Domain::unknown()),
                }
            }
            Op::Int(v) => {
                if v != 0 {
                    (Domain::always(), Domain::never())
                } else {
                    (Domain::never(), Domain::always())
                }
            }
            _ => {
                // An integer used as a truth value: e != 0.
                let v = self.visit(t);
                match v.filter(|_| self.body.types.as_int(self.body.ty(t)).is_some()) {
                    Some(v) => {
                        let zero = vec![(Domain::always(), Poly::constant(0))];
                        (
                            blurred(&self.vars, compare_pieces(BinOp::Ne, &v, &zero)),
                            blurred(&self.vars, compare_pieces(BinOp::Eq, &v, &zero)),
                        )
                    }
                    None => (Domain::unknown(), Domain::unknown()),
                }
            }
        }
    }

    // ---- expressions

    /// A pure value in the current environment, single-pieced and linear or not; records nothing.
    fn plain_value(&mut self, t: TermId) -> Option<Poly> {
        if self
            .body
            .walk(t)
            .any(|x| self.body.op(x).is_write() || matches!(self.body.op(x), Op::Call | Op::Reject(_)))
        {
            return None;
        }
        let (accesses, obligations, obstacles) =
            (self.accesses.len(), self.obligations.len(), self.obstacles.len());
        let v = self.visit(t);
        self.accesses.truncate(accesses);
        let _ = obligations;
        self.obstacles.truncate(obstacles);
        match v {
            Some(p) if p.len() == 1 => p.into_iter().next().map(|p| p.1),
            _ => None,
        }
    }

    fn value_of_symbol(&mut self, s: SymbolId, at: TermId) -> Option<Pieces> {
        let symbol = &self.body.symbols[s];
        self.body.types.as_int(symbol.ty)?;
        if let Storage::Constant(v) = symbol.storage {
            return Some(vec![(Domain::always(), Poly::constant(v))]);
        }
        if let Some(v) = self.env.get(&s) {
            return v.clone();
        }
        // Not written in the loop: fixed. A local that is set once from fixed values is those values.
        let _ = at;
        if let Some(p) = self.definition(s) {
            return Some(vec![(Domain::always(), p)]);
        }
        self.entry_value(s)
    }

    /// The affine definition of a variable that has one value for the whole body and whose operands do too.
    fn definition(&mut self, s: SymbolId) -> Option<Poly> {
        if !matches!(self.body.symbols[s].storage, Storage::Local) || !self.effects.is_single_valued(s) {
            return None;
        }
        let declare = *self.effects.writes.get(&s)?.first()?;
        let Op::Declare(_) = self.body.op(declare) else {
            return None;
        };
        let init = *self.body.args(declare).first()?;
        let kind = self.body.types.as_int(self.body.symbols[s].ty)?;
        let plain = self.body.walk(init).all(|x| match self.body.op(x) {
            Op::Int(_) | Op::Unary(_) | Op::Binary(BinOp::Add | BinOp::Sub | BinOp::Mul) | Op::Cast => true,
            Op::Sym(u) => {
                matches!(self.body.symbols[*u].storage, Storage::Constant(_))
                    || (self.effects.is_single_valued(*u) && *u != s)
            }
            _ => false,
        });
        let small = self.body.walk(init).take(40).count() < 40;
        // Only signed types of full width: their arithmetic is exact or undefined.
        let exact = self.body.walk(init).all(|x| {
            self.body
                .types
                .as_int(self.body.ty(x))
                .is_some_and(|k| k.signed() && k.bits() >= 32 && k.bits() <= kind.bits())
        }) && kind.signed();
        if !plain || !small || !exact {
            return None;
        }
        self.depth += 1;
        let v = if self.depth < MAX_DEPTH { self.plain_value(init) } else { None };
        self.depth -= 1;
        v
    }

    fn assign_symbol(&mut self, s: SymbolId, value: Option<Pieces>, from: TypeId, at: TermId) {
        let ty = self.body.symbols[s].ty;
        let kinds = self.body.types.as_int(from).zip(self.body.types.as_int(ty));
        let converted = match (value, kinds) {
            (Some(v), Some((from, to))) => self.convert(v, from, to, at),
            _ => None,
        };
        match converted {
            Some(v) if self.body.symbols[s].is_own_scalar() => {
                self.env.insert(s, Some(v));
                self.pointers.remove(&s);
            }
            _ => self.forget(s),
        }
    }

    /// The value after conversion between integer types; an obligation says where it stays the same.
    fn convert(&mut self, v: Pieces, from: IntKind, to: IntKind, at: TermId) -> Option<Pieces> {
        if to == IntKind::Bool && from != IntKind::Bool {
            return None;
        }
        if to.min() <= from.min() && from.max() <= to.max() {
            return Some(v);
        }
        for (d, p) in &v {
            if let Some(c) = p.as_constant() {
                if c < to.min() || c > to.max() {
                    return None;
                }
                continue;
            }
            if p.vars().any(|x| self.vars[x as usize] == VarKind::Fresh) {
                return None;
            }
            let dom = self.dom.and(d);
            if from.min() < to.min() {
                self.oblige(Need::NoWrap(at), p.add_constant(-to.min())?, dom.clone());
            }
            if from.max() > to.max() {
                self.oblige(Need::NoWrap(at), p.scale(-1)?.add_constant(to.max())?, dom);
            }
        }
        Some(v)
    }

    /// The value of an operation in `kind`, obliged to be the mathematical one where the type would wrap.
    fn in_type(&mut self, v: Option<Pieces>, kind: IntKind, at: TermId) -> Option<Pieces> {
        let v = v?;
        if kind.signed() {
            return Some(v);
        }
        for (d, p) in &v {
            if let Some(c) = p.as_constant() {
                if c < 0 || c > kind.max() {
                    return None;
                }
                continue;
            }
            if p.vars().any(|x| self.vars[x as usize] == VarKind::Fresh) {
                return None;
            }
            let dom = self.dom.and(d);
            self.oblige(Need::NoWrap(at), p.clone(), dom.clone());
            self.oblige(Need::NoWrap(at), p.scale(-1)?.add_constant(kind.max())?, dom);
        }
        Some(v)
    }

    fn oblige(&mut self, kind: Need, poly: Poly, domain: Domain) {
        if poly.as_constant().is_some_and(|c| c >= 0) {
            return;
        }
        let same = |o: &Obligation| o.poly == poly && o.domain.pieces == domain.pieces && o.kind == kind;
        if !self.obligations.iter().any(same) {
            self.obligations.push(Obligation { kind, poly, domain });
        }
    }

    /// Evaluates: records accesses, updates variables, and gives the integer value where it is known.
    pub(crate) fn visit(&mut self, t: TermId) -> Option<Pieces> {
        self.depth += 1;
        if self.depth > MAX_DEPTH || self.accesses.len() > MAX_ACCESSES {
            self.obstacle(ObstacleKind::Budget, t);
            self.depth -= 1;
            return None;
        }
        let v = self.visit_inner(t);
        self.depth -= 1;
        v.filter(|p| !p.is_empty() && p.len() <= MAX_VALUE_PIECES)
    }

    fn visit_inner(&mut self, t: TermId) -> Option<Pieces> {
        let args = self.body.args(t).to_vec();
        let ty = self.body.ty(t);
        let kind = self.body.types.as_int(ty);
        match self.body.op(t).clone() {
            Op::Int(v) => Some(vec![(Domain::always(), Poly::constant(v))]),
            Op::Float(_) | Op::Str(_) | Op::Empty | Op::SizeOfType(_) | Op::SizeOf => {
                kind.and_then(|_| self.opaque_param(t))
            }
            Op::Sym(s) => self.read_symbol(s, t),
            Op::Unary(op) => {
                if op == UnOp::Not {
                    self.visit(args[0]);
                    return None;
                }
                let v = self.visit(args[0])?;
                let k = kind?;
                match op {
                    UnOp::Plus => Some(v),
                    UnOp::Neg => {
                        let v = map_pieces(v, |p| p.scale(-1));
                        self.in_type(v, k, t)
                    }
                    UnOp::BitNot if k.signed() => map_pieces(v, |p| p.scale(-1)?.add_constant(-1)),
                    _ => None,
                }
            }
            Op::Binary(op) if op.is_logical() => {
                self.condition(t);
                None
            }
            Op::Binary(op) => {
                let (a, b) = (self.visit(args[0]), self.visit(args[1]));
                if op.is_comparison() {
                    return None;
                }
                let k = kind?;
                let (ka, kb) = (
                    self.body.types.as_int(self.body.ty(args[0]))?,
                    self.body.types.as_int(self.body.ty(args[1]))?,
                );
                let shift = matches!(op, BinOp::Shl | BinOp::Shr);
                let a = self.convert(a?, ka, k, args[0]);
                let b = if shift { b } else { self.convert(b?, kb, k, args[1]) };
                let v = self.arithmetic(op, a?, b?)?;
                self.in_type(Some(v), k, t)
            }
            Op::Select => {
                let (yes, no) = self.condition(args[0]);
                let (dom, why, env) = (self.dom.clone(), self.why.clone(), self.env.clone());
                let because = Obstacle { kind: ObstacleKind::DataDependentCondition, term: args[0] };
                self.dom = dom.and(&yes);
                if !yes.exact {
                    self.why.get_or_insert(because.clone());
                }
                let a = self.visit(args[1]);
                let writes = self.effects.writes_in(t).iter().next().is_some();
                self.why = why.clone();
                self.dom = dom.and(&no);
                if !no.exact {
                    self.why.get_or_insert(because);
                }
                if writes {
                    self.env = env;
                }
                let b = self.visit(args[2]);
                (self.dom, self.why) = (dom, why);
                if writes {
                    for &s in self.effects.writes_in(t).iter() {
                        self.forget(s);
                    }
                }
                let k = kind?;
                let (ka, kb) = (
                    self.body.types.as_int(self.body.ty(args[1]))?,
                    self.body.types.as_int(self.body.ty(args[2]))?,
                );
                let a = self.convert(a?, ka, k, args[1])?;
                let b = self.convert(b?, kb, k, args[2])?;
                let mut out: Pieces = a.into_iter().map(|(d, p)| (yes.and(&d), p)).collect();
                out.extend(b.into_iter().map(|(d, p)| (no.and(&d), p)));
                Some(out)
            }
            Op::Comma => {
                self.visit(args[0]);
                self.visit(args[1])
            }
            Op::Cast => {
                let v = self.visit(args[0]);
                let from = self.body.types.as_int(self.body.ty(args[0]));
                match (v, from, kind) {
                    (Some(v), Some(from), Some(to)) => self.convert(v, from, to, t),
                    _ => None,
                }
            }
            Op::Assign => {
                let value = self.visit(args[1]);
                self.write_place(args[0], value, self.body.ty(args[1]), args[1])
            }
            Op::Compound(op) => {
                let right = self.visit(args[1]);
                let old = self.read_place(args[0]);
                let (lt, rt) = (self.body.ty(args[0]), self.body.ty(args[1]));
                let kinds = self.body.types.as_int(lt).zip(self.body.types.as_int(rt));
                let mut from = lt;
                let v = match (old, right, kinds) {
                    (Some(a), Some(b), Some((ka, kb))) => {
                        let shift = matches!(op, BinOp::Shl | BinOp::Shr);
                        let common = if shift { ka.promoted() } else { ka.common(kb) };
                        from = self.find_int_type(common).unwrap_or(lt);
                        let a = self.convert(a, ka, common, args[0]);
                        let b = if shift { Some(b) } else { self.convert(b, kb, common, args[1]) };
                        let v = a.zip(b).and_then(|(a, b)| self.arithmetic(op, a, b));
                        self.in_type(v, common, t)
                    }
                    _ => None,
                };
                self.write_place(args[0], v, from, t)
            }
            Op::Step { delta, prefix } => {
                let old = self.read_place(args[0]);
                let k = self.body.types.as_int(self.body.ty(args[0]));
                let new = match (old.clone(), k) {
                    (Some(v), Some(k)) => {
                        let v = map_pieces(v, |p| p.add_constant(delta as i128));
                        self.in_type(v, k.promoted(), t)
                    }
                    _ => None,
                };
                let lt = self.body.ty(args[0]);
                let from = k.and_then(|k| self.find_int_type(k.promoted())).unwrap_or(lt);
                let after = self.write_place(args[0], new, from, t);
                if prefix {
                    after
                } else {
                    old
                }
            }
            Op::Index | Op::Member { .. } | Op::Deref => self.read_place(t),
            Op::AddrOf => {
                // The address alone reads nothing, but the subscripts in it are evaluated.
                self.visit_subscripts(args[0]);
                None
            }
            Op::Call => {
                for &a in &args[1..] {
                    self.visit(a);
                }
                match self.body.as_symbol(args[0]) {
                    Some(f) if crate::effects::is_pure_callee(self.body, f) => {}
                    Some(f) => self.obstacle(ObstacleKind::UnknownCall(f), t),
                    None => self.obstacle(ObstacleKind::IndirectCall, t),
                }
                None
            }
            Op::InitList => {
                for a in args {
                    self.visit(a);
                }
                None
            }
            Op::Reject(_) => {
                self.obstacle(ObstacleKind::NotUnderstood, t);
                None
            }
            _ => {
                self.obstacle(ObstacleKind::NotUnderstood, t);
                None
            }
        }
    }

    fn find_int_type(&self, kind: IntKind) -> Option<TypeId> {
        self.body.types.ids().find(|&id| *self.body.types.kind(id) == TypeKind::Int(kind))
    }

    fn opaque_param(&mut self, t: TermId) -> Option<Pieces> {
        let v = self.param(Param::Term(t));
        Some(vec![(Domain::always(), Poly::var(v))])
    }

    fn arithmetic(&mut self, op: BinOp, a: Pieces, b: Pieces) -> Option<Pieces> {
        if a.len() * b.len() > MAX_VALUE_PIECES {
            return None;
        }
        let mut out = Vec::new();
        for (da, pa) in &a {
            for (db, pb) in &b {
                let d = da.and(db);
                let p = match op {
                    BinOp::Add => pa.add(pb)?,
                    BinOp::Sub => pa.sub(pb)?,
                    BinOp::Mul => pa.mul(pb)?,
                    BinOp::Shl => {
                        let s = pb.as_constant().filter(|s| (0..62).contains(s))?;
                        pa.scale(1 << s)?
                    }
                    BinOp::Div | BinOp::Rem | BinOp::Shr => self.quotient(op, pa, pb, &d)?,
                    _ => return None,
                };
                out.push((d, p));
            }
        }
        Some(out)
    }

    /// `a / k`, `a % k`, `a >> k` for a constant k, where `a` is not negative (C rounds towards zero).
    fn quotient(&mut self, op: BinOp, a: &Poly, k: &Poly, when: &Domain) -> Option<Poly> {
        let k = k.as_constant()?;
        let k = match op {
            BinOp::Shr if (0..62).contains(&k) => 1i128 << k,
            BinOp::Shr => return None,
            _ => k,
        };
        if k <= 0 {
            return None;
        }
        if k == 1 {
            return Some(if op == BinOp::Rem { Poly::default() } else { a.clone() });
        }
        let a = self.linear(a)?;
        if a.vars().any(|v| self.vars[v as usize] == VarKind::Fresh) {
            return None;
        }
        if let Some(c) = a.as_constant() {
            return Some(Poly::constant(if op == BinOp::Rem {
                c % k
            } else if op == BinOp::Shr {
                c.div_euclid(k)
            } else {
                c / k
            }));
        }
        if op != BinOp::Shr {
            let dom = self.dom.and(when);
            let sure = crate::prove::non_negative(&a, &dom, &self.context);
            if !sure {
                return None;
            }
        }
        let q = Poly::var(self.fresh(VarKind::Quotient));
        let v = (self.vars.len() - 1) as Var;
        // k*q <= a <= k*q + k - 1
        let r = a.sub(&q.scale(k)?)?;
        let defining = vec![
            Constraint::non_negative(r.clone()),
            Constraint::non_negative(r.scale(-1)?.add_constant(k - 1)?),
        ];
        self.quotients.push((v, defining));
        Some(if op == BinOp::Rem { r } else { q })
    }

    // ---- places

    fn read_symbol(&mut self, s: SymbolId, t: TermId) -> Option<Pieces> {
        let symbol = &self.body.symbols[s];
        let ty = symbol.ty;
        if self.body.types.quals(ty).is_volatile || self.body.types.quals(ty).is_atomic {
            self.obstacle(ObstacleKind::Volatile, t);
        }
        match symbol.storage {
            Storage::Constant(v) => return Some(vec![(Domain::always(), Poly::constant(v))]),
            Storage::Function | Storage::Builtin => return None,
            _ => {}
        }
        match self.body.types.kind(ty) {
            TypeKind::Array { .. } => return None,
            TypeKind::Record(_) => {
                self.touch_symbol(s, t, false);
                return None;
            }
            TypeKind::Opaque(_) | TypeKind::Function { .. } | TypeKind::Void => {
                self.obstacle(ObstacleKind::NotUnderstood, t);
                return None;
            }
            _ => {}
        }
        self.touch_symbol(s, t, false);
        self.value_of_symbol(s, t)
    }

    /// Records a variable as a cell of its own.
    fn touch_symbol(&mut self, s: SymbolId, t: TermId, write: bool) {
        let symbol = &self.body.symbols[s];
        if matches!(symbol.storage, Storage::Constant(_) | Storage::Function | Storage::Builtin) {
            return;
        }
        let written = self.effects.writes_in(self.root).contains(&s);
        let declared_inside = self.declared_inside(s);
        if symbol.is_own_scalar() && (!written || declared_inside) {
            return;
        }
        if declared_inside && !matches!(symbol.storage, Storage::StaticLocal) {
            return;
        }
        let loc = Loc { base: s, fields: Vec::new(), subs: Vec::new(), lengths: Vec::new() };
        self.record(loc, t, write, symbol.ty);
    }

    /// Whether each iteration of the root has its own.
    pub(crate) fn declared_inside(&self, s: SymbolId) -> bool {
        self.inside.contains(&s)
    }

    fn read_place(&mut self, t: TermId) -> Option<Pieces> {
        if let Op::Sym(s) = *self.body.op(t) {
            return self.read_symbol(s, t);
        }
        let ty = self.body.ty(t);
        match self.location(t) {
            Ok(loc) => {
                if matches!(self.body.types.kind(ty), TypeKind::Array { .. }) {
                    return None;
                }
                let invariant = self.body.types.as_int(ty).is_some() && self.is_fixed_load(&loc, t);
                self.record(loc, t, false, ty);
                if invariant {
                    return self.opaque_param(t);
                }
                None
            }
            Err(o) => {
                self.obstacle(o.kind, o.term);
                None
            }
        }
    }

    /// Whether a load gives the same value in every iteration: fixed subscripts, and nothing in the loop writes the
    /// object by name. (Writes through other pointers are kept apart by conditions.)
    fn is_fixed_load(&self, loc: &Loc, t: TermId) -> bool {
        if !self.effects.is_invariant_in(self.body, t, self.root) {
            return false;
        }
        !self.written_bases.contains(&None) && !self.written_bases.contains(&Some(loc.base))
    }

    fn write_place(
        &mut self,
        place: TermId,
        value: Option<Pieces>,
        from: TypeId,
        at: TermId,
    ) -> Option<Pieces> {
        if let Op::Sym(s) = *self.body.op(place) {
            let ty = self.body.symbols[s].ty;
            if self.body.types.quals(ty).is_volatile || self.body.types.quals(ty).is_atomic {
                self.obstacle(ObstacleKind::Volatile, place);
            }
            self.touch_symbol(s, place, true);
            if matches!(self.body.types.kind(ty), TypeKind::Pointer { .. }) {
                let p = self.pointer(at).ok();
                self.pointers.insert(s, p);
                return None;
            }
            self.assign_symbol(s, value, from, at);
            return self.env.get(&s).cloned().flatten();
        }
        match self.location(place) {
            Ok(loc) => {
                let ty = self.body.ty(place);
                self.record(loc, place, true, ty);
            }
            Err(o) => self.obstacle(o.kind, o.term),
        }
        None
    }

    fn visit_subscripts(&mut self, t: TermId) {
        if let Err(o) = self.location(t) {
            self.obstacle(o.kind, o.term);
        }
    }

    /// The place a term names; subscripts are visited.
    fn location(&mut self, t: TermId) -> Result<Loc, Obstacle> {
        let args = self.body.args(t).to_vec();
        match self.body.op(t).clone() {
            Op::Sym(s) => Ok(Loc { base: s, fields: Vec::new(), subs: Vec::new(), lengths: Vec::new() }),
            Op::Index => {
                let (mut base, mut sub) = (args[0], args[1]);
                if self.body.types.as_int(self.body.ty(base)).is_some() {
                    std::mem::swap(&mut base, &mut sub);
                }
                let mut loc = self.pointer(base)?;
                let v = self.visit(sub);
                self.move_pointer(&mut loc, v, sub, false);
                Ok(loc)
            }
            Op::Deref => self.pointer(args[0]),
            Op::Member { field, arrow } => {
                let mut loc = if arrow { self.pointer(args[0])? } else { self.location(args[0])? };
                let record = match self.body.types.kind(self.body.ty(args[0])) {
                    TypeKind::Record(r) => Some(*r),
                    TypeKind::Pointer { to, .. } => match self.body.types.kind(*to) {
                        TypeKind::Record(r) => Some(*r),
                        _ => None,
                    },
                    _ => None,
                };
                let Some(record) = record.map(|r| self.body.types.record(r)) else {
                    return Err(Obstacle { kind: ObstacleKind::NotUnderstood, term: t });
                };
                let Some(fields) = &record.fields else {
                    return Err(Obstacle { kind: ObstacleKind::NotUnderstood, term: t });
                };
                let Some(f) = fields.iter().find(|f| f.name == field) else {
                    return Err(Obstacle { kind: ObstacleKind::NotUnderstood, term: t });
                };
                if record.is_union || f.bits.is_some() {
                    return Err(Obstacle { kind: ObstacleKind::SharedBytes, term: t });
                }
                loc.fields.push((loc.subs.len(), field));
                Ok(loc)
            }
            Op::Cast => Err(Obstacle { kind: ObstacleKind::NotUnderstood, term: t }),
            _ => Err(Obstacle { kind: ObstacleKind::NotUnderstood, term: t }),
        }
    }

    /// Where a pointer value (or decayed array) points: a place whose last subscript may be moved.
    fn pointer(&mut self, t: TermId) -> Result<Loc, Obstacle> {
        self.depth += 1;
        let out = if self.depth > MAX_DEPTH {
            Err(Obstacle { kind: ObstacleKind::Budget, term: t })
        } else {
            self.pointer_inner(t)
        };
        self.depth -= 1;
        out
    }

    fn pointer_inner(&mut self, t: TermId) -> Result<Loc, Obstacle> {
        let ty = self.body.ty(t);
        let zero = || Some(vec![(Domain::always(), Poly::default())]);
        if let TypeKind::Array { len, .. } = self.body.types.kind(ty).clone() {
            let mut loc = self.location(t)?;
            let length = match len {
                Len::Const(n) => Some(Length::Const(n)),
                Len::Term(l) => {
                    let v = self.length_value(l);
                    Some(Length::Term(l, v))
                }
                Len::Unknown => None,
            };
            loc.subs.push((zero(), t));
            loc.lengths.push(length);
            return Ok(loc);
        }
        let args = self.body.args(t).to_vec();
        let unknown = |m: &Self| {
            let kind = match base_symbol(m.body, t) {
                Some(s) => ObstacleKind::UnknownPointer(s),
                None => ObstacleKind::NotUnderstood,
            };
            Err(Obstacle { kind, term: t })
        };
        match self.body.op(t).clone() {
            Op::Sym(s) => {
                let symbol = &self.body.symbols[s];
                if self.body.types.element(symbol.ty).is_some_and(|e| {
                    let q = self.body.types.quals(e);
                    q.is_volatile || q.is_atomic
                }) {
                    return Err(Obstacle { kind: ObstacleKind::Volatile, term: t });
                }
                match self.pointers.get(&s) {
                    Some(Some(loc)) => return Ok(loc.clone()),
                    Some(None) => return unknown(self),
                    None => {}
                }
                if self.effects.writes_in(self.root).contains(&s) {
                    return unknown(self);
                }
                if !matches!(self.body.types.kind(symbol.ty), TypeKind::Pointer { .. }) {
                    return unknown(self);
                }
                self.touch_symbol(s, t, false);
                Ok(Loc { base: s, fields: Vec::new(), subs: vec![(zero(), t)], lengths: vec![None] })
            }
            Op::Binary(op @ (BinOp::Add | BinOp::Sub)) => {
                let (p, e) = if self.body.types.as_int(self.body.ty(args[1])).is_some() {
                    (args[0], args[1])
                } else if op == BinOp::Add && self.body.types.as_int(self.body.ty(args[0])).is_some() {
                    (args[1], args[0])
                } else {
                    return unknown(self);
                };
                let mut loc = self.pointer(p)?;
                let v = self.visit(e);
                self.move_pointer(&mut loc, v, e, op == BinOp::Sub);
                Ok(loc)
            }
            Op::AddrOf => {
                let loc = self.location(args[0])?;
                let movable = !loc.subs.is_empty() && loc.fields.last().is_none_or(|f| f.0 < loc.subs.len());
                let scalar_cell =
                    !matches!(self.body.types.kind(self.body.ty(args[0])), TypeKind::Array { .. });
                if movable && scalar_cell {
                    Ok(loc)
                } else {
                    unknown(self)
                }
            }
            Op::Cast => {
                let inner = args[0];
                let same = self
                    .body
                    .types
                    .element(ty)
                    .zip(self.body.types.element(self.body.ty(inner)))
                    .is_some_and(|(a, b)| self.body.types.kind(a) == self.body.types.kind(b));
                if same {
                    self.pointer(inner)
                } else {
                    unknown(self)
                }
            }
            _ => unknown(self),
        }
    }

    fn move_pointer(&mut self, loc: &mut Loc, by: Option<Pieces>, at: TermId, backwards: bool) {
        if let Some((last, term)) = loc.subs.last_mut() {
            let sum = match (last.take(), by) {
                (Some(a), Some(b)) if a.len() * b.len() <= MAX_VALUE_PIECES => {
                    let mut out = Vec::new();
                    let mut ok = true;
                    for (da, pa) in &a {
                        for (db, pb) in &b {
                            match if backwards { pa.sub(pb) } else { pa.add(pb) } {
                                Some(p) => out.push((da.and(db), p)),
                                None => ok = false,
                            }
                        }
                    }
                    ok.then_some(out)
                }
                _ => None,
            };
            *last = sum;
            *term = at;
        }
    }

    /// A VLA's length, fixed where the array was declared.
    fn length_value(&mut self, l: TermId) -> Option<Poly> {
        let steady = self.body.walk(l).all(|x| match self.body.op(x) {
            Op::Sym(s) => {
                matches!(self.body.symbols[*s].storage, Storage::Constant(_))
                    || self.effects.is_single_valued(*s)
            }
            Op::Int(_) | Op::Binary(BinOp::Add | BinOp::Sub | BinOp::Mul) | Op::Cast => true,
            _ => false,
        });
        if steady {
            let before = self.obligations.len();
            let v = self.plain_value(l);
            if self.obligations.len() == before && v.is_some() {
                return v;
            }
            self.obligations.truncate(before);
        }
        Some(Poly::var(self.param(Param::Term(l))))
    }

    fn record(&mut self, loc: Loc, t: TermId, write: bool, ty: TypeId) {
        if self.body.types.quals(ty).is_volatile || self.body.types.quals(ty).is_atomic {
            self.obstacle(ObstacleKind::Volatile, t);
        }
        // Each combination of pieces is an access of its own.
        let mut combos: Vec<(Domain, Vec<Subscript>)> = vec![(self.dom.clone(), Vec::new())];
        let mut why = self.why.clone();
        for (v, term) in &loc.subs {
            let usable = v.as_ref().filter(|v| {
                combos.len() * v.len() <= 8
                    && v.iter().all(|(_, p)| p.vars().all(|x| self.vars[x as usize] != VarKind::Fresh))
            });
            match usable {
                Some(v) => {
                    let mut next = Vec::new();
                    for (d, subs) in &combos {
                        for (when, p) in v {
                            let mut subs = subs.clone();
                            subs.push(Subscript { value: Some(p.clone()), term: *term });
                            next.push((d.and(when), subs));
                        }
                    }
                    combos = next;
                }
                None => {
                    let kind = self.inexact_kind(*term);
                    why.get_or_insert(Obstacle { kind, term: *term });
                    for (_, subs) in &mut combos {
                        subs.push(Subscript { value: None, term: *term });
                    }
                }
            }
        }
        for (domain, subs) in combos {
            let inexact = subs.iter().any(|s| s.value.is_none()) || !domain.exact;
            self.accesses.push(Access {
                base: loc.base,
                fields: loc.fields.clone(),
                subs,
                lengths: loc.lengths.clone(),
                write,
                term: t,
                loops: self.path.clone(),
                domain,
                why: if inexact {
                    why.clone().or(Some(Obstacle { kind: ObstacleKind::DataDependentCondition, term: t }))
                } else {
                    None
                },
                inner: None,
            });
        }
    }

    /// What kind of obstacle a value is that could not be followed.
    fn inexact_kind(&self, t: TermId) -> ObstacleKind {
        let load = self.body.walk(t).find(|&x| match self.body.op(x) {
            Op::Index | Op::Deref | Op::Member { .. } => true,
            Op::Sym(s) => {
                matches!(self.body.symbols[*s].storage, Storage::Local)
                    && self.effects.writes_in(self.root).contains(s)
                    && !self.loops.iter().any(|l| l.control.as_ref().is_some_and(|c| c.index == *s))
            }
            _ => false,
        });
        match load {
            Some(l) => ObstacleKind::IndirectSubscript(l),
            None => ObstacleKind::NonAffineSubscript,
        }
    }

    // ---- flattened arrays

    /// Gives flattened subscripts `i*n + j` their dimensions back, per object and for all its accesses alike;
    /// `InRow` obligations say when that is right (Maslov; Grosser et al., ICS 2015).
    fn delinearize(&mut self) {
        let mut keys: Vec<(SymbolId, Vec<(usize, Arc<str>)>)> = Vec::new();
        for a in &self.accesses {
            let key = (a.base, a.fields.clone());
            if a.subs.len() == 1 && !keys.contains(&key) {
                keys.push(key);
            }
        }
        for (base, fields) in keys {
            let members: Vec<usize> = (0..self.accesses.len())
                .filter(|&i| self.accesses[i].base == base && self.accesses[i].fields == fields)
                .collect();
            let strides = self.strides(&members);
            if !strides.is_empty() {
                self.split(&members, &strides);
            }
        }
        // What is still not linear is any value.
        for i in 0..self.accesses.len() {
            for k in 0..self.accesses[i].subs.len() {
                if let Some(p) = self.accesses[i].subs[k].value.clone() {
                    let linear = self.linear(&p);
                    if linear.is_none() {
                        let term = self.accesses[i].subs[k].term;
                        self.accesses[i]
                            .why
                            .get_or_insert(Obstacle { kind: ObstacleKind::NonAffineSubscript, term });
                    }
                    self.accesses[i].subs[k].value = linear;
                }
            }
            let (domain, lost) = self.linear_domain(&self.accesses[i].domain.clone());
            if lost {
                let term = self.accesses[i].term;
                self.accesses[i]
                    .why
                    .get_or_insert(Obstacle { kind: ObstacleKind::DataDependentCondition, term });
            }
            self.accesses[i].domain = domain;
        }
        for l in 0..self.loops.len() {
            self.loops[l].domain = self.linear_domain(&self.loops[l].domain.clone()).0;
        }
        for i in 0..self.obligations.len() {
            let (domain, _) = self.linear_domain(&self.obligations[i].domain.clone());
            self.obligations[i].domain = domain;
        }
        for a in &mut self.accesses {
            if a.inner.is_none() {
                a.inner = a
                    .lengths
                    .iter()
                    .skip(1)
                    .map(|l| match l {
                        Some(Length::Const(n)) => Some(Poly::constant(*n as i128)),
                        Some(Length::Term(_, v)) => v.clone(),
                        None => None,
                    })
                    .collect();
            }
        }
        // Inner subscripts stay inside their dimension, or cells of different rows would be the same.
        for i in 0..self.accesses.len() {
            let a = self.accesses[i].clone();
            for (k, s) in a.subs.iter().enumerate() {
                let first = k == 0 && !a.fields.iter().any(|f| f.0 == 0);
                if first {
                    continue;
                }
                let Some(length) = a.lengths.get(k).cloned().flatten() else {
                    continue;
                };
                let len_poly = match &length {
                    Length::Const(n) => Some(Poly::constant(*n as i128)),
                    Length::Term(_, v) => v.clone(),
                };
                match (s.value.clone(), len_poly) {
                    (Some(v), Some(n)) => {
                        let need = Need::Bounds { access: a.term, length };
                        self.oblige(need.clone(), v.clone(), a.domain.clone());
                        if let Some(p) =
                            n.sub(&v).and_then(|p| p.add_constant(-1)).and_then(|p| self.linear(&p))
                        {
                            self.oblige(need, p, a.domain.clone());
                        } else {
                            self.accesses[i].subs.iter_mut().for_each(|s| s.value = None);
                        }
                    }
                    _ => {
                        // An inner subscript of any value may leave its row: the whole place is unknown.
                        self.accesses[i].subs.iter_mut().for_each(|s| s.value = None);
                        let term = s.term;
                        let kind = self.inexact_kind(term);
                        self.accesses[i].why.get_or_insert(Obstacle { kind, term });
                    }
                }
            }
        }
    }

    fn linear_domain(&mut self, d: &Domain) -> (Domain, bool) {
        let mut lost = false;
        let mut pieces = Vec::new();
        for p in &d.pieces {
            let mut piece = Vec::new();
            for c in p {
                match self.linear(&c.poly) {
                    Some(poly) => piece.push(Constraint { poly, equality: c.equality }),
                    None => lost = true,
                }
            }
            pieces.push(piece);
        }
        (Domain { pieces, exact: d.exact && !lost }, lost)
    }

    /// Products of parameters that multiply a counter, longest first, each dividing the one before.
    fn strides(&self, members: &[usize]) -> Vec<Vec<Var>> {
        let mut found: Vec<Vec<Var>> = Vec::new();
        for &i in members {
            let Some(p) = self.accesses[i].subs.first().and_then(|s| s.value.as_ref()) else {
                continue;
            };
            for (m, _) in p.terms() {
                let (params, rest): (Vec<Var>, Vec<Var>) = m.iter().copied().partition(|&v| self.is_param(v));
                if !params.is_empty() && !rest.is_empty() && !found.contains(&params) {
                    found.push(params);
                }
            }
        }
        found.sort_by_key(|s| std::cmp::Reverse(s.len()));
        let chain = found.windows(2).all(|w| divide(&w[0], &w[1]).is_some_and(|q| !q.is_empty()));
        if !chain || found.len() > 3 {
            return Vec::new();
        }
        found
    }

    fn split(&mut self, members: &[usize], strides: &[Vec<Var>]) {
        // All or nothing: first see that every known subscript splits into linear parts.
        let mut splits = Vec::new();
        for &i in members {
            let a = &self.accesses[i];
            let Some(p) = a.subs.first().and_then(|s| s.value.clone()) else {
                splits.push(None);
                continue;
            };
            let mut rest: Vec<(Vec<Var>, i128)> = p.terms().map(|(m, c)| (m.to_vec(), c)).collect();
            let mut parts = Vec::new();
            for s in strides {
                let (mine, other): (Vec<_>, Vec<_>) =
                    rest.into_iter().partition(|(m, _)| divide(m, s).is_some());
                let q = Poly::from_terms(mine.into_iter().filter_map(|(m, c)| Some((divide(&m, s)?, c))));
                let Some(q) = q.filter(Poly::is_linear) else {
                    return;
                };
                parts.push(q);
                rest = other;
            }
            let Some(r) = Poly::from_terms(rest) else { return };
            if !r.is_linear() && r.terms().any(|(m, _)| m.len() > 1 && !m.iter().all(|&v| self.is_param(v))) {
                return;
            }
            let Some(r) = self.linear(&r) else { return };
            parts.push(r);
            splits.push(Some(parts));
        }
        for (&i, parts) in members.iter().zip(splits) {
            let term = self.accesses[i].subs[0].term;
            let n = strides.len() + 1;
            let Some(parts) = parts else {
                self.accesses[i].subs = vec![Subscript { value: None, term }; n];
                self.accesses[i].lengths = vec![None; n];
                continue;
            };
            let domain = self.accesses[i].domain.clone();
            let access = self.accesses[i].term;
            for (k, part) in parts.iter().enumerate().skip(1) {
                // Dimension k has length strides[k-1] / strides[k] (or the last stride itself).
                let length = match strides.get(k) {
                    Some(s) => divide(&strides[k - 1], s).unwrap_or_default(),
                    None => strides[k - 1].clone(),
                };
                let stride = length
                    .iter()
                    .find_map(|&v| match self.vars[v as usize] {
                        VarKind::Param(Param::Term(t)) => Some(t),
                        VarKind::Param(Param::Symbol(s)) => {
                            self.body.walk(access).find(|&x| self.body.as_symbol(x) == Some(s))
                        }
                        _ => None,
                    })
                    .unwrap_or(access);
                let need = Need::InRow { access, stride };
                self.oblige(need.clone(), part.clone(), domain.clone());
                let length = Poly::from_terms([(length, 1)]).and_then(|p| self.linear(&p));
                if let Some(p) = length.and_then(|l| l.sub(part)).and_then(|p| p.add_constant(-1)) {
                    self.oblige(need, p, domain.clone());
                }
            }
            self.accesses[i].subs = parts.into_iter().map(|p| Subscript { value: Some(p), term }).collect();
            self.accesses[i].lengths = vec![None; n];
        }
    }
}

// ---- helpers without a model

fn divide(m: &[Var], by: &[Var]) -> Option<Vec<Var>> {
    let mut rest = m.to_vec();
    for v in by {
        let at = rest.iter().position(|x| x == v)?;
        rest.remove(at);
    }
    Some(rest)
}

fn known_pieces(vars: &[VarKind], p: &Pieces) -> bool {
    p.iter().all(|(d, p)| d.exact && p.vars().all(|v| vars[v as usize] != VarKind::Fresh))
}

/// Conditions over unknown values say nothing exactly.
fn blurred(vars: &[VarKind], d: Domain) -> Domain {
    let unknown =
        d.pieces.iter().flatten().any(|c| c.poly.vars().any(|v| vars[v as usize] == VarKind::Fresh));
    if unknown {
        d.inexact()
    } else {
        d
    }
}

fn map_pieces(v: Pieces, f: impl Fn(&Poly) -> Option<Poly>) -> Option<Pieces> {
    v.into_iter().map(|(d, p)| Some((d, f(&p)?))).collect()
}

fn negated(op: BinOp) -> BinOp {
    match op {
        BinOp::Lt => BinOp::Ge,
        BinOp::Le => BinOp::Gt,
        BinOp::Gt => BinOp::Le,
        BinOp::Ge => BinOp::Lt,
        BinOp::Eq => BinOp::Ne,
        BinOp::Ne => BinOp::Eq,
        o => o,
    }
}

/// Where `a op b` holds.
fn compare(op: BinOp, a: &Poly, b: &Poly) -> Domain {
    let diff = |x: &Poly, y: &Poly, k: i128| x.sub(y).and_then(|p| p.add_constant(k));
    let ge = |p: Option<Poly>| p.map_or_else(Domain::unknown, |p| Domain::of(Constraint::non_negative(p)));
    match op {
        BinOp::Lt => ge(diff(b, a, -1)),
        BinOp::Le => ge(diff(b, a, 0)),
        BinOp::Gt => ge(diff(a, b, -1)),
        BinOp::Ge => ge(diff(a, b, 0)),
        BinOp::Eq => diff(a, b, 0).map_or_else(Domain::unknown, |p| Domain::of(Constraint::zero(p))),
        BinOp::Ne => ge(diff(b, a, -1)).or(&ge(diff(a, b, -1))),
        _ => Domain::unknown(),
    }
}

fn compare_pieces(op: BinOp, a: &Pieces, b: &Pieces) -> Domain {
    let mut out = Domain::never();
    for (da, pa) in a {
        for (db, pb) in b {
            out = out.or(&da.and(db).and(&compare(op, pa, pb)));
        }
    }
    out
}

/// Number of iterations as a value, right where it is positive.
fn trips(c: &Control, lower: &Poly, bound: &Poly) -> Option<Poly> {
    let span = match c.relation {
        BinOp::Lt => bound.sub(lower)?,
        BinOp::Le => bound.sub(lower)?.add_constant(1)?,
        BinOp::Gt => lower.sub(bound)?,
        BinOp::Ge => lower.sub(bound)?.add_constant(1)?,
        BinOp::Ne if c.step == Step::Const(1) => bound.sub(lower)?,
        _ => lower.sub(bound)?,
    };
    match c.step {
        Step::Const(1 | -1) => Some(span),
        Step::Const(s) => span.as_constant().map(|n| {
            let s = s.abs();
            Poly::constant((n + s - 1).div_euclid(s))
        }),
        Step::Term { .. } => None,
    }
}

fn is_scalar(body: &Body, ty: TypeId) -> bool {
    matches!(body.types.kind(ty), TypeKind::Int(_) | TypeKind::Float(_) | TypeKind::Pointer { .. })
}

/// The variable at the root of a place.
pub(crate) fn base_symbol(body: &Body, mut t: TermId) -> Option<SymbolId> {
    for _ in 0..1000 {
        match body.op(t) {
            Op::Sym(s) => return Some(*s),
            Op::Index | Op::Member { .. } | Op::Deref | Op::AddrOf | Op::Cast | Op::Step { .. } => {
                t = *body.args(t).first()?
            }
            Op::Binary(BinOp::Add | BinOp::Sub) => {
                let (a, b) = (body.args(t)[0], body.args(t)[1]);
                t = if body.types.as_int(body.ty(a)).is_some() { b } else { a };
            }
            _ => return None,
        }
    }
    None
}

fn ends_in_jump(body: &Body, t: TermId) -> bool {
    match body.op(t) {
        Op::Break | Op::Continue => true,
        Op::List => body.args(t).last().is_some_and(|&l| ends_in_jump(body, l)),
        _ => false,
    }
}

fn has_own_break(body: &Body, inner: TermId) -> bool {
    let mut stack = vec![inner];
    while let Some(t) = stack.pop() {
        match body.op(t) {
            Op::Break => return true,
            op if op.is_loop() || matches!(op, Op::Switch) => {}
            _ => stack.extend(body.args(t)),
        }
    }
    false
}

/// Scalars that one unconditional statement of the loop's body (or its step) moves by a constant each iteration.
pub(crate) fn induction_updates(
    body: &Body,
    loop_term: TermId,
    index: Option<SymbolId>,
) -> Vec<(SymbolId, i128, TermId)> {
    let args = body.args(loop_term);
    if *body.op(loop_term) != Op::For {
        return Vec::new();
    }
    let inner = args[3];
    let mut out = Vec::new();
    let mut candidates: Vec<TermId> = Vec::new();
    // A `continue` skips what follows it; then only the step is unconditional.
    if !has_jump(body, inner) && *body.op(inner) == Op::List {
        candidates.extend(body.args(inner));
    }
    let mut stack = vec![args[2]];
    while let Some(t) = stack.pop() {
        match body.op(t) {
            Op::Comma => stack.extend(body.args(t).iter().rev()),
            _ => candidates.push(t),
        }
    }
    for t in candidates {
        if let Some((s, Some(control::Change::Const(k)))) = control::change_of(body, t) {
            if Some(s) == index || k == 0 {
                continue;
            }
            let writes =
                body.walk(loop_term).filter(|&x| crate::effects::written(body, x) == Some(s)).count();
            let in_init = body.walk(args[0]).filter(|&x| crate::effects::written(body, x) == Some(s)).count();
            if writes - in_init == 1 {
                out.push((s, k, t));
            }
        }
    }
    out
}

fn has_jump(body: &Body, inner: TermId) -> bool {
    let mut stack = vec![(inner, true)];
    while let Some((t, ours)) = stack.pop() {
        match body.op(t) {
            Op::Continue if ours => return true,
            Op::Break if ours => return true,
            op => {
                let ours = ours && !op.is_loop();
                stack.extend(body.args(t).iter().map(|&a| (a, ours)));
            }
        }
    }
    false
}
