//! The model of one loop: what its iterations read and write, as affine accesses over iteration domains (F4.1).
//!
//! A model is rooted at one loop. Values that are fixed while that loop runs are parameters; every loop at or under the
//! root has a counter; each access has a domain over the counters. Whatever is not affine makes a domain or a
//! subscript *inexact*: it then stands for more than the program does, so that "no conflict" stays a proof while
//! "conflict" no longer is one.

mod bits;
mod calls;
mod context;
mod entry;
mod flatten;
mod inductions;
mod lengths;
mod loaded;
mod loops;
mod origin;
mod paths;
mod places;
mod statements;
mod together;
mod values;

use std::rc::Rc;
use std::sync::Arc;

use base::Budget;
use rustc_hash::{FxHashMap, FxHashSet};
use term::{BinOp, Body, IntKind, Len, LoopParts, Op, Storage, SymbolId, TermId, TypeId, TypeKind, UnOp};

pub(crate) use self::paths::project;
pub(crate) use self::statements::Executed;
use crate::control;
use crate::effects::Effects;
use crate::parts::Inside;
use crate::prove::Known;
use crate::value::{Constraint, Domain, Poly, Var, VarKind};
use crate::{Control, Obstacle, ObstacleKind, Param, Program, Step};

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
    /// Which of the cells named: a member of a union, a bit-field beside others, or all.
    pub inside: Inside,
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
    Bounds {
        access: TermId,
        length: Length,
    },
    InRow {
        access: TermId,
        stride: TermId,
    },
    StepSign(TermId),
    Terminates(TermId),
    /// The bound of an inner loop is not below its first value.
    Trips(TermId),
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
    /// Cells that were loaded on the way here.
    loads: Vec<Load>,
    /// Which of the cells named. Where they are shared, further members and subscripts name no cells of their own.
    inside: Inside,
}

/// A cell whose value the model takes to be the same throughout (see `loaded`).
#[derive(Clone, Debug)]
struct Load {
    base: SymbolId,
    fields: Vec<Arc<str>>,
    term: TermId,
}

/// See the module's text.
#[derive(Clone)]
pub(crate) struct Model<'a> {
    pub body: &'a Body,
    pub program: &'a Program,
    pub effects: &'a Effects<'a>,
    pub root: TermId,
    pub vars: Vec<VarKind>,
    pub loops: Vec<ModelLoop>,
    pub accesses: Vec<Access>,
    /// Statements in the order they were met; what stands in a loop's header is among them.
    pub executed: Vec<Executed>,
    pub obligations: Vec<Obligation>,
    /// Values that must not be negative for the model to be the program, and that are not proved not to be: a witness
    /// has to choose iterations where they are not. `None`: one of them is not linear.
    pub unproved: Option<Vec<Poly>>,
    /// What is known of the parameters whenever the loop runs.
    pub context: Vec<Constraint>,
    /// Beside `context`: one of these holds whenever the loop runs. Empty: nothing more is known.
    pub cases: Vec<Vec<Constraint>>,
    /// What is asked for besides, while another witness is looked for: one way to the root.
    pub way: std::cell::RefCell<Vec<Constraint>>,
    /// Quotients with their defining constraints.
    pub quotients: Vec<(Var, Vec<Constraint>)>,
    /// What each quotient is the quotient of: `floor(numerator / divisor)`.
    pub numerators: FxHashMap<Var, (Poly, i128)>,
    /// What each image is the image of: `x ^ k`.
    pub images: FxHashMap<Var, (Poly, Poly)>,
    /// Values that grow by at least so much from one iteration of the root to the next.
    pub rising: FxHashMap<Var, i128>,
    /// Ranges that types give; for the small prover only, the integer sets do without.
    pub ranges: Vec<Constraint>,
    pub obstacles: Vec<Obstacle>,
    env: FxHashMap<SymbolId, Option<Pieces>>,
    pointers: FxHashMap<SymbolId, Option<Loc>>,
    param_ids: FxHashMap<Param, Var>,
    product_ids: FxHashMap<Vec<Var>, Var>,
    term_params: Vec<(TermId, Var)>,
    /// Array lengths whose text may have another value by now than where the array was declared.
    old_lengths: Vec<(TermId, Var)>,
    dom: Domain,
    why: Option<Obstacle>,
    path: Vec<usize>,
    depth: u32,
    jumped: bool,
    /// Variables declared in the root's body: each iteration has its own.
    inside: FxHashSet<SymbolId>,
    /// Objects that the root writes and the fields named on the way; `None` where a place has no variable at its base.
    written_places: Vec<Option<(SymbolId, Vec<Arc<str>>)>>,
    /// Whether the root may change a pointer that is not a variable of its own (see `writes_pointers`).
    writes_cells: bool,
    /// Paths whose subscripts are fixed: family, subscripts of the load, own symbol.
    loaded: Vec<(SymbolId, Vec<Poly>, SymbolId)>,
    /// Number of subscripts of the load, by family.
    leads: FxHashMap<SymbolId, usize>,
    /// Families that stay what they are: the pointer that is loaded moves with the loop (`rows[i]`).
    pub tables: FxHashSet<SymbolId>,
    /// Objects that are only read and whose rows may overlap: their cells lie within the box of their subscripts' ranges.
    pub boxes: FxHashSet<SymbolId>,
    /// What was taken to keep its value.
    assumed: Vec<Load>,
    /// Pointer variables whose value was followed to another object (or family of paths, with the subscripts).
    resolved: Vec<(SymbolId, SymbolId, Vec<Option<Poly>>)>,
    /// Whether the root writes, through a pointer or into an array, characters, pointers or whole records: only such a
    /// write may change a pointer variable (C11 6.5p7).
    writes_pointers: bool,
    /// Variables whose value each iteration of the root can tell by itself; with the step, where that is a constant.
    pub inductions: Vec<(SymbolId, Option<i128>, TermId)>,
    /// Values that variables have when the root begins, in terms of others.
    entry_values: FxHashMap<SymbolId, Poly>,
    /// Where pointers point when the root begins, if they were set just before.
    entry_pointers: FxHashMap<SymbolId, Loc>,
    /// The expressions that pointers were set to before the root, as far as they were asked for.
    definitions: FxHashMap<SymbolId, Option<TermId>>,
    /// What building it, and asking it, may take. Where nothing is left the model is an obstacle.
    pub budget: Budget,
    /// See [`Model::prover`].
    prover: std::cell::RefCell<Option<Rc<Known>>>,
}

const MAX_DEPTH: u32 = 300;
const MAX_VALUE_PIECES: usize = 4;
const MAX_ACCESSES: usize = 2000;

impl<'a> Model<'a> {
    /// Builds the model of a counted loop. `enclosing`: the loops around it, outermost first; `around`: all terms from
    /// the body's root down to it.
    pub(crate) fn build(
        body: &'a Body,
        program: &'a Program,
        effects: &'a Effects<'a>,
        root: TermId,
        root_control: &Control,
        enclosing: &[(TermId, Option<Control>)],
        around: &[TermId],
        budget: &Budget,
    ) -> Model<'a> {
        let mut m = Model {
            body,
            program,
            effects,
            root,
            vars: Vec::new(),
            loops: Vec::new(),
            accesses: Vec::new(),
            executed: Vec::new(),
            obligations: Vec::new(),
            unproved: Some(Vec::new()),
            context: Vec::new(),
            cases: Vec::new(),
            way: Default::default(),
            quotients: Vec::new(),
            numerators: FxHashMap::default(),
            images: FxHashMap::default(),
            rising: FxHashMap::default(),
            ranges: Vec::new(),
            obstacles: Vec::new(),
            env: FxHashMap::default(),
            pointers: FxHashMap::default(),
            param_ids: FxHashMap::default(),
            product_ids: FxHashMap::default(),
            term_params: Vec::new(),
            old_lengths: Vec::new(),
            dom: Domain::always(),
            why: None,
            path: Vec::new(),
            depth: 0,
            jumped: false,
            inside: FxHashSet::default(),
            written_places: Vec::new(),
            writes_cells: false,
            loaded: Vec::new(),
            leads: FxHashMap::default(),
            tables: FxHashSet::default(),
            boxes: FxHashSet::default(),
            assumed: Vec::new(),
            resolved: Vec::new(),
            writes_pointers: false,
            inductions: Vec::new(),
            entry_values: FxHashMap::default(),
            entry_pointers: FxHashMap::default(),
            definitions: FxHashMap::default(),
            budget: budget.clone(),
            prover: Default::default(),
        };
        m.read_root();
        m.read_context(enclosing);
        m.read_surroundings(around, root_control);
        m.read_paths(around);
        m.root_loop(root_control);
        m.type_ranges();
        m.settle_loads();
        m.delinearize();
        m.note_limit(crate::Work::Model);
        m
    }

    /// An obstacle where the steps are used up: what was found since may be wrong in either direction.
    pub(crate) fn note_limit(&mut self, doing: crate::Work) {
        if self.budget.left() == 0
            && self.obstacles.iter().all(|o| !matches!(o.kind, ObstacleKind::Budget(_)))
        {
            self.obstacle(ObstacleKind::Budget(doing), self.root);
        }
    }

    /// Takes steps; whether there are any.
    pub(super) fn pay(&self, steps: usize) -> bool {
        self.budget.spend(steps as u64).is_ok()
    }

    /// The small prover with all that always holds, and what it was asked before in the same context.
    pub(crate) fn prover(&self) -> Rc<Known> {
        let context = self.known();
        let mut prover = self.prover.borrow_mut();
        match &*prover {
            Some(p) if p.context == context => p.clone(),
            _ => prover.insert(Rc::new(Known::new(context))).clone(),
        }
    }

    /// Whether the value is never negative in the domain, as far as the small prover tells.
    pub(super) fn is_non_negative(&self, p: &Poly, domain: &Domain) -> bool {
        self.prover().non_negative(p, domain, &self.budget)
    }

    pub(super) fn read_root(&mut self) {
        for x in self.body.walk(self.root) {
            if *self.body.op(x) == Op::Call {
                self.read_call(x);
            }
            if self.body.op(x).is_write() {
                let place = self.body.args(x)[0];
                if self.body.as_symbol(place).is_none() {
                    let fields = loaded::fields_of(self.body, place);
                    let place_of = base_symbol(self.body, place).map(|b| (b, fields));
                    if !self.written_places.contains(&place_of) {
                        self.written_places.push(place_of);
                    }
                    self.writes_pointers |= !loaded::is_plain_number(self.body, self.body.ty(place))
                        || crate::parts::is_in_union(self.body, place);
                }
            }
        }
        self.writes_cells = self.writes_pointers || loaded::changes_visible_pointers(self.body, self.root);
        let inner = self.body.loop_parts(self.root).map_or(self.root, |p| p.body);
        for x in self.body.walk(inner) {
            if let Op::Declare(s) = self.body.op(x) {
                if matches!(self.body.symbols[*s].storage, Storage::Local) {
                    self.inside.insert(*s);
                }
            }
        }
    }

    pub(super) fn fresh(&mut self, kind: VarKind) -> Var {
        self.vars.push(kind);
        (self.vars.len() - 1) as Var
    }

    pub(super) fn fresh_value(&mut self) -> Poly {
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

    /// The variable of a parameter that the model has.
    pub(crate) fn known_param(&self, p: Param) -> Option<Var> {
        self.param_ids.get(&p).copied()
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

    /// All that always holds: of parameters, of types, and of quotients by their definition.
    pub(crate) fn known(&self) -> Vec<Constraint> {
        let quotients = self.quotients.iter().flat_map(|(_, defs)| defs);
        self.context.iter().chain(quotients).chain(&self.ranges).cloned().collect()
    }

    pub(crate) fn is_param(&self, v: Var) -> bool {
        matches!(self.vars[v as usize], VarKind::Param(_) | VarKind::Product(_))
    }

    pub(super) fn obstacle(&mut self, kind: ObstacleKind, term: TermId) {
        let o = Obstacle { kind, term };
        if !self.obstacles.contains(&o) {
            self.obstacles.push(o);
        }
    }

    pub(super) fn blur(&mut self, kind: ObstacleKind, term: TermId) {
        self.dom.exact = false;
        self.why.get_or_insert(Obstacle { kind, term });
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
    let known = |v: Var| !matches!(vars[v as usize], VarKind::Fresh | VarKind::Image);
    p.iter().all(|(d, p)| d.exact && p.vars().all(known))
}

/// Conditions over unknown values say nothing exactly.
fn blurred(vars: &[VarKind], d: Domain) -> Domain {
    let unknown = d
        .pieces
        .iter()
        .flatten()
        .any(|c| c.poly.vars().any(|v| matches!(vars[v as usize], VarKind::Fresh | VarKind::Image)));
    if unknown {
        d.inexact()
    } else {
        d
    }
}

fn map_pieces(v: Pieces, f: impl Fn(&Poly) -> Option<Poly>) -> Option<Pieces> {
    v.into_iter().map(|(d, p)| Some((d, f(&p)?))).collect()
}

pub(crate) fn negated(op: BinOp) -> BinOp {
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

/// Number of iterations as a value, right where it is positive. `lower` is the first value that is compared.
pub(crate) fn trips(c: &Control, lower: &Poly, bound: &Poly) -> Option<Poly> {
    let span = match c.relation {
        BinOp::Lt => bound.sub(lower)?,
        BinOp::Le => bound.sub(lower)?.add_constant(1)?,
        BinOp::Gt => lower.sub(bound)?,
        BinOp::Ge => lower.sub(bound)?.add_constant(1)?,
        BinOp::Ne if matches!(c.step, Step::Const(k) if k > 0) => bound.sub(lower)?,
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

/// The variable at the root of a place, or the family of the pointer that was loaded on the way to it.
pub(crate) fn base_symbol(body: &Body, mut t: TermId) -> Option<SymbolId> {
    for step in 0..1000 {
        let load = matches!(body.op(t), Op::Index | Op::Member { .. } | Op::Deref);
        if step > 0 && load && matches!(body.types.kind(body.ty(t)), TypeKind::Pointer { .. }) {
            return Some(body.path_of(t)?.family);
        }
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

/// Variables other than the index that every iteration of the loop moves by a constant, with the last place that does.
pub(crate) fn induction_updates(
    body: &Body,
    loop_term: TermId,
    index: Option<SymbolId>,
) -> Vec<(SymbolId, i128, TermId)> {
    let mut out: Vec<(SymbolId, i128, TermId)> = control::moves(body, loop_term)
        .into_iter()
        .filter_map(|(s, total)| match total.change {
            control::Change::Const(k) if k != 0 && Some(s) != index => Some((s, k, total.term)),
            _ => None,
        })
        .collect();
    out.sort_unstable();
    out
}
