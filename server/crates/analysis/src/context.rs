//! What is worked out once per body and asked by all that looks at its loops: how they count, their effects, their models.

use std::cell::{OnceCell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

use base::{Budget, IndexId};
use rustc_hash::{FxHashMap, FxHashSet};
use term::{Body, Op, TermId};

use crate::calls::reentry::Reentry;
use crate::calls::watched::Concern;
use crate::flow::counted_loop::control;
use crate::flow::effects::Effects;
use crate::flow::liveness::Liveness;
use crate::nest;
use crate::nest::{How, Model, Reading};
use crate::replay_witness::{ways, ReplaySite};
use crate::solve::Solver;
use crate::{Control, LoopId, Obstacle, Program, Step};

/// What is worked out once per body.
pub(crate) struct Context<'a> {
    pub body: &'a Body,
    pub program: &'a Program,
    pub effects: Effects<'a>,
    liveness: OnceCell<Liveness>,
    /// What is worked out for all loops takes steps of it.
    steps: Budget,
    /// Loops with the number of the one around.
    pub loops: Vec<(TermId, Option<usize>, u32)>,
    controls: Vec<OnceCell<Result<Control, Obstacle>>>,
    /// How the loops count that count plainly.
    plain: OnceCell<Rc<FxHashMap<TermId, Control>>>,
    pub parents: Vec<Option<TermId>>,
    concern: OnceCell<Concern>,
    pub solver: Solver,
    pub ids: FxHashMap<TermId, LoopId>,
    /// Functions and file-scope variables whose text replays followed, or missed, and arrays whose elements models know.
    pub followed: RefCell<FxHashSet<Arc<str>>>,
    /// Whether a row that stays the same is one of its table's rows, and no array of its own.
    pub rows_together: bool,
    /// How many terms are those of the text; the others came out of calls.
    own: usize,
}

impl<'a> Context<'a> {
    /// `own`: how many of the terms are the body's own; loops of called functions that were written into it are not
    /// asked about. `steps`: for what is asked of the body as a whole; whoever makes it has paid for
    /// the body ([`crate::calls::inline::read`]).
    pub(crate) fn new(body: &'a Body, program: &'a Program, own: usize, steps: &Budget) -> Context<'a> {
        let mut effects = Effects::new(body, program);
        if body.symbols.iter().any(|s| s.storage.is_static_local() && s.address_taken) {
            let reentry = Reentry::of(body, program);
            let mut calls = body.walk(body.root).filter(|&t| *body.op(t) == Op::Call);
            effects.is_never_entered_again = calls.all(|t| reentry.stays_out(body, t));
        }
        // where these are more than there are steps for, no loop has any
        let _ = crate::calls::inline::read(effects.listed, steps);
        let mut loops = Vec::new();
        // Parents come before children: remember the loop around each term on the way down.
        let mut stack = vec![(body.root, None, 0)];
        while let Some((t, around, depth)) = stack.pop() {
            let (around, depth) = if body.op(t).is_loop() && t.index() < own {
                loops.push((t, around, depth));
                (Some(loops.len() - 1), depth + 1)
            } else {
                (around, depth)
            };
            stack.extend(body.args(t).iter().rev().map(|&a| (a, around, depth)));
        }
        let controls = loops.iter().map(|_| OnceCell::new()).collect();
        let ids = loops.iter().enumerate().map(|(i, l)| (l.0, LoopId(i as u32))).collect();
        Context {
            body,
            program,
            effects,
            liveness: OnceCell::new(),
            steps: steps.clone(),
            loops,
            controls,
            plain: OnceCell::new(),
            parents: body.parents(),
            concern: OnceCell::new(),
            solver: Solver::default(),
            ids,
            followed: RefCell::default(),
            rows_together: false,
            own,
        }
    }

    pub(crate) fn concern(&self) -> Concern {
        *self.concern.get_or_init(|| Concern::of(self.body, self.program))
    }

    /// What is live after each loop.
    pub(crate) fn liveness(&self) -> &Liveness {
        self.liveness.get_or_init(|| Liveness::new(self.body, &self.steps))
    }

    /// Whether what is live was asked, and the steps did not suffice for the answer.
    pub(crate) fn liveness_cut_short(&self) -> bool {
        self.liveness.get().is_some_and(Liveness::is_cut_short)
    }

    /// How a loop counts, or why it does not.
    pub(crate) fn control(&self, at: usize) -> &Result<Control, Obstacle> {
        self.controls[at].get_or_init(|| control(self.body, self.loops[at].0, &self.effects))
    }

    pub(crate) fn enclosing(&self, at: usize) -> Vec<(TermId, Option<Control>)> {
        let mut out = Vec::new();
        let mut next = self.loops[at].1;
        while let Some(i) = next {
            out.push((self.loops[i].0, self.control(i).clone().ok()));
            next = self.loops[i].1;
        }
        out.reverse();
        out
    }

    pub(crate) fn model(&'a self, at: usize, c: &Control, budget: &Budget) -> Model<'a> {
        self.reading(at, c, budget).model
    }

    /// The model of a loop whose obligations are still to be met.
    pub(crate) fn reading(&'a self, at: usize, c: &Control, budget: &Budget) -> Reading<'a> {
        self.read(at, c, How::default(), budget)
    }

    /// The same, where arrays that say where parts of others begin and end are taken to be sorted.
    pub(crate) fn sorted(&'a self, at: usize, c: &Control, budget: &Budget) -> Reading<'a> {
        self.read(at, c, How { sorted: true, ..How::default() }, budget)
    }

    /// The same, where rows are taken to be no longer than the room that they have.
    pub(crate) fn short(&'a self, at: usize, c: &Control, budget: &Budget) -> Reading<'a> {
        self.read(at, c, How { short: true, ..How::default() }, budget)
    }

    /// The same, where steps that are no constants are taken for the lengths of rows.
    pub(crate) fn strided(&'a self, at: usize, c: &Control, budget: &Budget) -> Reading<'a> {
        self.read(at, c, How { strided: true, ..How::default() }, budget)
    }

    /// Whether the loop, or one in it, goes on by what is no constant.
    pub(crate) fn has_strides(&self, at: usize) -> bool {
        let is_inside = |mut k: usize| loop {
            match self.loops[k].1 {
                _ if k == at => return true,
                Some(around) => k = around,
                None => return false,
            }
        };
        let by_term =
            |c: &Result<Control, Obstacle>| matches!(c, Ok(Control { step: Step::Term { .. }, .. }));
        (at..self.loops.len()).take_while(|&k| is_inside(k)).any(|k| by_term(self.control(k)))
    }

    /// The same, where values are told by the iteration's number wherever that can be.
    pub(crate) fn numbered(&'a self, at: usize, c: &Control, budget: &Budget) -> Reading<'a> {
        self.read(at, c, How { numbered: true, ..How::default() }, budget)
    }

    fn read(&'a self, at: usize, c: &Control, how: How, budget: &Budget) -> Reading<'a> {
        let root = self.loops[at].0;
        let mut around = vec![root];
        let mut next = self.parents.get(root.0 as usize).copied().flatten();
        while let Some(t) = next {
            around.push(t);
            next = self.parents.get(t.0 as usize).copied().flatten();
        }
        around.reverse();
        let enclosing = self.enclosing(at);
        let how = How { rows_together: self.rows_together, own: self.own, ..how };
        let reading =
            nest::read(self.body, self.program, &self.effects, root, c, &enclosing, &around, how, budget);
        self.followed.borrow_mut().extend(reading.model.promises.constants(self.body).cloned());
        reading
    }

    /// Where witnesses of a loop are replayed.
    pub(crate) fn place(&self, root: TermId) -> ReplaySite<'_> {
        let around = std::iter::successors(Some(root), |t| self.parents.get(t.0 as usize).copied().flatten());
        let around: Vec<TermId> = around.collect();
        let plain = || {
            let all = self.loops.iter().enumerate().filter_map(|(at, l)| {
                let c = self.control(at).as_ref().ok().filter(|c| c.is_plain())?;
                Some((l.0, c.clone()))
            });
            Rc::new(all.collect())
        };
        ReplaySite {
            body: self.body,
            program: self.program,
            root,
            ways: ways(self.body, &around, &self.parents),
            around,
            controls: self.plain.get_or_init(plain).clone(),
            places: self.body.walk(self.body.root).zip(0..).collect(),
        }
    }

    pub(crate) fn loop_ids(&self, model: &Model<'_>) -> Vec<Option<LoopId>> {
        model.loops.iter().map(|l| self.ids.get(&l.term).copied()).collect()
    }
}
