//! The model while it is read: what is known of variables at the statement that is being read, what was taken for granted,
//! and what must still be met. The finished [`Model`] holds none of it.

use std::rc::Rc;
use std::sync::Arc;

use base::{Budget, IndexId};
use rustc_hash::{FxHashMap, FxHashSet};
use term::{Body, Op, Storage, SymbolId, TermId};

use crate::algebra::bounds::Known;
use crate::algebra::poly::{Domain, Poly, Var, VarKind};
use crate::flow::effects::Effects;
use crate::flow::parts::{base_symbol, Inside};
pub(super) use crate::limits::nest_builder::{MAX_ACCESSES, MAX_DEPTH, MAX_VALUE_PIECES};
use crate::nest::needed::needed;
use crate::nest::objects::Objects;
use crate::nest::pieces::Pieces;
use crate::nest::premises::Premises;
use crate::nest::promises::Promises;
use crate::nest::statements::Executed;
use crate::nest::vars::Vars;
use crate::nest::{loaded, AffineAccess, Length, Model, ModelLoop, Obligation, Reading};
use crate::{ConditionKind, Control, MetBy, Obstacle, ObstacleKind, Param, Program};

/// A place in memory or a variable.
#[derive(Clone, Debug)]
pub(super) struct Loc {
    pub(super) base: SymbolId,
    pub(super) fields: Vec<(usize, Arc<str>)>,
    pub(super) subs: Vec<(Option<Pieces>, TermId)>,
    pub(super) lengths: Vec<Option<Length>>,
    /// Cells that were loaded on the way here.
    pub(super) loads: Vec<Load>,
    /// Which of the cells named. Where they are shared, further members and subscripts name no cells of their own.
    pub(super) inside: Inside,
}

/// A cell whose value the model takes to be the same throughout (see `loaded`).
#[derive(Clone, Debug)]
pub(super) struct Load {
    pub(super) base: SymbolId,
    pub(super) fields: Vec<Arc<str>>,
    pub(super) term: TermId,
}

/// A model that is being read.
pub(super) struct Builder<'a> {
    pub(super) body: &'a Body,
    pub(super) program: &'a Program,
    pub(super) effects: &'a Effects<'a>,
    pub(super) root: TermId,
    pub(super) how: How,
    /// What is found so far; see [`Model`].
    pub(super) loops: Vec<ModelLoop>,
    pub(super) accesses: Vec<AffineAccess>,
    pub(super) executed: Vec<Executed>,
    pub(super) vars: Vars,
    pub(super) premises: Premises,
    pub(super) objects: Objects,
    pub(super) promises: Promises,
    pub(super) inductions: Vec<(SymbolId, Option<i128>, TermId)>,
    pub(super) budget: Budget,
    /// See [`Reading`].
    pub(super) obligations: Vec<Obligation>,
    /// Inner loops that are obliged to run as often as their bounds say, and how often that is.
    pub(super) obliged_trips: FxHashMap<TermId, Poly>,
    /// What loops inside the root move by amounts that are not the same in all its iterations.
    pub(super) unfollowed: FxHashSet<SymbolId>,
    pub(super) obstacles: Vec<Obstacle>,
    pub(super) exceptions: Vec<(ConditionKind, MetBy)>,

    /// Variables at the statement that is being read: their values, and what they point to. `None`: nothing is known any more.
    pub(super) env: FxHashMap<SymbolId, Option<Pieces>>,
    pub(super) pointers: FxHashMap<SymbolId, Option<Loc>>,
    /// Where it runs, and what made that inexact.
    pub(super) dom: Domain,
    pub(super) why: Option<Obstacle>,
    /// Model loops around it, outermost first.
    pub(super) path: Vec<usize>,
    /// Of terms that are being read.
    pub(super) depth: u32,
    /// Whether a jump may have gone past it.
    pub(super) jumped: bool,
    /// Variables whose values count, and whether what is being read gives no such value.
    pub(super) needed: FxHashSet<SymbolId>,
    pub(super) idle: bool,

    pub(super) written: Written,
    pub(super) entry: AtEntry,
    /// Parameters that are terms, as they are written.
    pub(super) term_params: Vec<(TermId, Var)>,
    /// Number of subscripts of the load, by family.
    pub(super) leads: FxHashMap<SymbolId, usize>,
    /// What was taken to keep its value.
    pub(super) assumed: Vec<Load>,
    /// Pointer variables whose value was followed to another object (or family of paths, with the subscripts).
    pub(super) resolved: Vec<(SymbolId, SymbolId, Vec<Option<Poly>>)>,
}

/// How a loop is read.
#[derive(Clone, Copy, Default)]
pub(crate) struct How {
    /// Whether values are told by the iteration's number wherever that can be: what extents are found from. Tests of whether
    /// cells meet do better with values that only grow.
    pub numbered: bool,
    /// Whether indices that go on by what is no constant are told by the iterations' numbers, for rows of that length.
    pub strided: bool,
    /// Whether a row that stays the same is one of its table's rows, and no array of its own.
    pub rows_together: bool,
    /// Whether arrays that say where parts of others begin and end are taken to be sorted.
    pub sorted: bool,
    /// Whether what says how long rows are is taken to be no more than there is room for.
    pub short: bool,
    /// How many terms are those of the text: the others came out of calls, and the host cannot say them.
    pub own: usize,
}

/// What the root writes.
#[derive(Default)]
pub(super) struct Written {
    /// Objects and the fields named on the way; `None` where a place has no variable at its base.
    pub(super) places: Vec<Option<(SymbolId, Vec<Arc<str>>)>>,
    /// Whether it writes, through a pointer or into an array, characters, pointers or whole records: only such a write may
    /// change a pointer variable (C11 6.5p7).
    pub(super) pointers: bool,
    /// Whether it may change a pointer that is not a variable of its own (see `Builder::writes_pointers`).
    pub(super) cells: bool,
}

/// What is known of the moment when the root begins.
#[derive(Default)]
pub(super) struct AtEntry {
    /// Values that variables have, in terms of others.
    pub(super) values: FxHashMap<SymbolId, Poly>,
    /// Values that integer members have: of the structure that a variable is, or of what it points to.
    pub(super) members: FxHashMap<(SymbolId, Arc<str>), Poly>,
    /// Where pointers point, if they were set just before.
    pub(super) pointers: FxHashMap<SymbolId, Loc>,
    /// The expressions that pointers were set to, as far as they were asked for.
    pub(super) definitions: FxHashMap<SymbolId, Option<TermId>>,
    /// A variable that is 0 behind the statements that are yet to be read, which come before it in the text.
    pub(super) zero: Option<SymbolId>,
}

/// Reads a counted loop. `enclosing`: the loops around it, outermost first; `around`: all terms from the body's root down
/// to it.
#[allow(clippy::too_many_arguments)] // all that stands around a loop
pub(crate) fn read<'a>(
    body: &'a Body,
    program: &'a Program,
    effects: &'a Effects<'a>,
    root: TermId,
    root_control: &Control,
    enclosing: &[(TermId, Option<Control>)],
    around: &[TermId],
    how: How,
    budget: &Budget,
) -> Reading<'a> {
    let mut m = Builder::new(body, program, effects, root, budget);
    m.how = how;
    m.read_root();
    m.read_context(enclosing);
    m.read_surroundings(around, root_control);
    m.read_paths(around);
    m.read_promises();
    m.root_loop(root_control);
    m.read_exceptions(around);
    m.type_ranges();
    m.length_ranges();
    m.settle_loads();
    m.settle_promises();
    m.delinearize();
    m.note_limit(crate::Work::Model);
    m.finish()
}

impl<'a> Builder<'a> {
    fn new(
        body: &'a Body,
        program: &'a Program,
        effects: &'a Effects<'a>,
        root: TermId,
        budget: &Budget,
    ) -> Builder<'a> {
        Builder {
            body,
            program,
            effects,
            root,
            how: How::default(),
            loops: Vec::new(),
            accesses: Vec::new(),
            executed: Vec::new(),
            vars: Vars::default(),
            premises: Premises::default(),
            objects: Objects::default(),
            promises: Promises::default(),
            inductions: Vec::new(),
            budget: budget.clone(),
            obligations: Vec::new(),
            obliged_trips: FxHashMap::default(),
            unfollowed: FxHashSet::default(),
            obstacles: Vec::new(),
            exceptions: Vec::new(),
            env: FxHashMap::default(),
            pointers: FxHashMap::default(),
            dom: Domain::always(),
            why: None,
            path: Vec::new(),
            depth: 0,
            jumped: false,
            needed: needed(body, root),
            idle: false,
            written: Written::default(),
            entry: AtEntry::default(),
            term_params: Vec::new(),
            leads: FxHashMap::default(),
            assumed: Vec::new(),
            resolved: Vec::new(),
        }
    }

    fn finish(mut self) -> Reading<'a> {
        self.objects.views = self.views_now();
        let model = Model {
            body: self.body,
            effects: self.effects,
            root: self.root,
            loops: self.loops,
            accesses: self.accesses,
            executed: self.executed,
            vars: self.vars,
            premises: self.premises,
            objects: self.objects,
            promises: self.promises,
            inductions: self.inductions,
            budget: self.budget,
        };
        Reading {
            model,
            obligations: self.obligations,
            obstacles: self.obstacles,
            exceptions: self.exceptions,
        }
    }

    /// Takes steps; whether there are any.
    pub(super) fn pay(&self, steps: usize) -> bool {
        self.budget.spend(steps as u64).is_ok()
    }

    pub(super) fn is_param(&self, v: Var) -> bool {
        self.vars.is_param(v)
    }

    pub(super) fn linear(&mut self, p: &Poly) -> Option<Poly> {
        self.vars.linear(p)
    }

    pub(super) fn declared_inside(&self, s: SymbolId) -> bool {
        self.objects.declared_inside(s)
    }

    /// The small prover with all that is known so far.
    pub(super) fn prover(&self) -> Rc<Known> {
        self.premises.prover(&self.vars)
    }

    /// Whether the value is never negative in the domain, as far as the small prover tells.
    pub(super) fn is_non_negative(&self, p: &Poly, domain: &Domain) -> bool {
        self.prover().non_negative(p, domain, &self.budget)
    }

    /// An obstacle where the steps are used up: what was found since may be wrong in either direction.
    fn note_limit(&mut self, doing: crate::Work) {
        if self.budget.left() == 0
            && self.obstacles.iter().all(|o| !matches!(o.kind, ObstacleKind::Budget(_)))
        {
            self.obstacle(ObstacleKind::Budget(doing), self.root);
        }
    }

    fn read_root(&mut self) {
        for x in self.body.walk(self.root) {
            if *self.body.op(x) == Op::Call {
                self.read_call(x);
            }
            if self.body.op(x).is_write() {
                let place = self.body.args(x)[0];
                if self.body.as_symbol(place).is_none() {
                    let fields = loaded::fields_of(self.body, place);
                    let place_of = base_symbol(self.body, place).map(|b| (b, fields));
                    if !self.written.places.contains(&place_of) {
                        self.written.places.push(place_of);
                    }
                    self.written.pointers |= !loaded::is_plain_number(self.body, self.body.ty(place))
                        || crate::flow::parts::is_in_union(self.body, place);
                }
            }
        }
        self.written.cells = self.written.pointers || loaded::changes_visible_pointers(self.body, self.root);
        let inner = self.body.loop_parts(self.root).map_or(self.root, |p| p.body);
        for x in self.body.walk(inner) {
            if let Op::Declare(s) = self.body.op(x) {
                if matches!(self.body.symbols[*s].storage, Storage::Local) {
                    self.objects.inside.insert(*s);
                }
            }
        }
    }

    pub(super) fn fresh(&mut self, kind: VarKind) -> Var {
        self.vars.fresh(kind)
    }

    pub(super) fn fresh_value(&mut self) -> Poly {
        Poly::var(self.fresh(VarKind::Fresh))
    }

    pub(super) fn param(&mut self, p: Param) -> Var {
        if let Some(v) = self.vars.param(p) {
            return v;
        }
        if let Param::Term(t) = p {
            if let Some(&(_, v)) = self.term_params.iter().find(|(u, _)| self.body.same(*u, t)) {
                return v;
            }
        }
        let Param::Term(t) = p else { return self.vars.new_param(p) };
        let v = self.vars.new_param(Param::Term(self.in_the_text(t)));
        self.term_params.push((t, v));
        v
    }

    /// The same expression where the text has it: in the loop, as an argument that went into a call (`l.n` of `copy(l.n, …)`), a
    /// member of a variable (`m.w`) anywhere, which can be evaluated before any loop, or one of a structure that calls are given.
    pub(super) fn in_the_text(&self, t: TermId) -> TermId {
        let (body, own) = (self.body, self.how.own);
        if t.index() < own {
            return t;
        }
        let around = body.span(self.root);
        let is_inside = |x: &TermId| around.contains(body.span(*x));
        let same: Vec<TermId> = (0..own)
            .map(TermId::from_index)
            .filter(|&x| *body.op(x) == *body.op(t) && body.same(x, t))
            .collect();
        let is_member = |x: TermId| matches!(body.op(x), Op::Sym(_) | Op::Member { arrow: false, .. });
        let anywhere = || same.first().copied().filter(|_| body.walk(t).all(is_member));
        // noted of the first call that is given the structure, and meant of all
        let handed = || same.iter().copied().find(|x| body.said.members.contains(x));
        same.iter().copied().find(is_inside).or_else(anywhere).or_else(handed).unwrap_or(t)
    }

    pub(super) fn obstacle(&mut self, kind: ObstacleKind, term: TermId) {
        let o = Obstacle { kind, term };
        if !self.obstacles.contains(&o) {
            self.obstacles.push(o);
        }
    }

    pub(super) fn mark_inexact(&mut self, kind: ObstacleKind, term: TermId) {
        self.dom.exact = false;
        self.why.get_or_insert(Obstacle { kind, term });
    }
}
