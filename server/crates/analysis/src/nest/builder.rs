//! The model while it is read: what is known of variables at the statement that is being read, what was taken for granted,
//! and what must still be met. The finished [`Model`] holds none of it.

use std::ops::{Deref, DerefMut};

use std::sync::Arc;

use base::Budget;
use rustc_hash::{FxHashMap, FxHashSet};
use term::{Body, Op, Storage, SymbolId, TermId};

use crate::algebra::poly::{Domain, Poly, Var, VarKind};
use crate::alias::parts::{base_symbol, Inside};
use crate::flow::effects::Effects;
pub(super) use crate::limits::nest_builder::{MAX_ACCESSES, MAX_DEPTH, MAX_VALUE_PIECES};
use crate::nest::pieces::Pieces;
use crate::nest::{loaded, Length, Model, Obligation};
use crate::{Control, Obstacle, ObstacleKind, Param, Program};

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
#[derive(Clone)]
pub(crate) struct Builder<'a> {
    /// What is found so far.
    pub(super) model: Model<'a>,
    /// What must hold for it to be the program.
    pub obligations: Vec<Obligation>,
    /// What cannot be read: then the model is of no use.
    pub obstacles: Vec<Obstacle>,
    pub(super) env: FxHashMap<SymbolId, Option<Pieces>>,
    pub(super) pointers: FxHashMap<SymbolId, Option<Loc>>,
    pub(super) product_ids: FxHashMap<Vec<Var>, Var>,
    pub(super) term_params: Vec<(TermId, Var)>,
    pub(super) dom: Domain,
    pub(super) why: Option<Obstacle>,
    pub(super) path: Vec<usize>,
    pub(super) depth: u32,
    pub(super) jumped: bool,
    /// Objects that the root writes and the fields named on the way; `None` where a place has no variable at its base.
    pub(super) written_places: Vec<Option<(SymbolId, Vec<Arc<str>>)>>,
    /// Whether the root may change a pointer that is not a variable of its own (see `writes_pointers`).
    pub(super) writes_cells: bool,
    /// Number of subscripts of the load, by family.
    pub(super) leads: FxHashMap<SymbolId, usize>,
    /// What was taken to keep its value.
    pub(super) assumed: Vec<Load>,
    /// Pointer variables whose value was followed to another object (or family of paths, with the subscripts).
    pub(super) resolved: Vec<(SymbolId, SymbolId, Vec<Option<Poly>>)>,
    /// Whether the root writes, through a pointer or into an array, characters, pointers or whole records: only such a
    /// write may change a pointer variable (C11 6.5p7).
    pub(super) writes_pointers: bool,
    /// Values that variables have when the root begins, in terms of others.
    pub(super) entry_values: FxHashMap<SymbolId, Poly>,
    /// Where pointers point when the root begins, if they were set just before.
    pub(super) entry_pointers: FxHashMap<SymbolId, Loc>,
    /// The expressions that pointers were set to before the root, as far as they were asked for.
    pub(super) definitions: FxHashMap<SymbolId, Option<TermId>>,
}

impl<'a> Deref for Builder<'a> {
    type Target = Model<'a>;
    fn deref(&self) -> &Model<'a> {
        &self.model
    }
}
impl<'a> DerefMut for Builder<'a> {
    fn deref_mut(&mut self) -> &mut Model<'a> {
        &mut self.model
    }
}

impl<'a> Builder<'a> {
    /// Reads a counted loop. `enclosing`: the loops around it, outermost first; `around`: all terms from the body's root down
    /// to it.
    #[allow(clippy::too_many_arguments)] // all that stands around a loop
    pub(crate) fn build(
        body: &'a Body,
        program: &'a Program,
        effects: &'a Effects<'a>,
        root: TermId,
        root_control: &Control,
        enclosing: &[(TermId, Option<Control>)],
        around: &[TermId],
        budget: &Budget,
    ) -> Builder<'a> {
        let model = Model {
            body,
            program,
            effects,
            root,
            vars: Vec::new(),
            loops: Vec::new(),
            accesses: Vec::new(),
            executed: Vec::new(),
            unproved: Some(Vec::new()),
            context: Vec::new(),
            cases: Vec::new(),
            way: Default::default(),
            quotients: Vec::new(),
            numerators: FxHashMap::default(),
            images: FxHashMap::default(),
            rising: FxHashMap::default(),
            ranges: Vec::new(),
            tables: FxHashSet::default(),
            boxes: FxHashSet::default(),
            inductions: Vec::new(),
            views: Vec::new(),
            inside: FxHashSet::default(),
            param_ids: FxHashMap::default(),
            old_lengths: Vec::new(),
            loaded: Vec::new(),
            budget: budget.clone(),
            prover: Default::default(),
        };
        let mut m = Builder {
            model,
            obligations: Vec::new(),
            obstacles: Vec::new(),
            env: FxHashMap::default(),
            pointers: FxHashMap::default(),
            product_ids: FxHashMap::default(),
            term_params: Vec::new(),
            dom: Domain::always(),
            why: None,
            path: Vec::new(),
            depth: 0,
            jumped: false,
            written_places: Vec::new(),
            writes_cells: false,
            leads: FxHashMap::default(),
            assumed: Vec::new(),
            resolved: Vec::new(),
            writes_pointers: false,
            entry_values: FxHashMap::default(),
            entry_pointers: FxHashMap::default(),
            definitions: FxHashMap::default(),
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

    /// The model as it is known now: what is not met of its obligations, it takes for granted.
    pub(crate) fn finish(mut self) -> Model<'a> {
        self.model.views = self.views_now();
        self.model
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
                        || crate::alias::parts::is_in_union(self.body, place);
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
