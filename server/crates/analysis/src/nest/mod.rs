//! The model of one loop: what its iterations read and write, as affine accesses over iteration domains (F4.1).
//!
//! A model is rooted at one loop. Values that are fixed while that loop runs are parameters; every loop at or under the
//! root has a counter; each access has a domain over the counters. Whatever is not affine makes a domain or a
//! subscript *inexact*: it then stands for more than the program does, so that "no conflict" stays a proof while
//! "conflict" no longer is one.

mod bits;
mod builder;
mod calls;
mod context;
mod entry;
mod flatten;
mod inductions;
mod lengths;
mod loaded;
mod loops;
mod operators;
mod origin;
mod paths;
mod pieces;
mod places;
mod statements;
mod together;
mod values;

use std::rc::Rc;
use std::sync::Arc;

use base::Budget;
use rustc_hash::{FxHashMap, FxHashSet};
use term::{Body, SymbolId, TermId, TypeKind};

pub(crate) use self::builder::Builder;
pub(crate) use self::paths::project;
pub(crate) use self::statements::Executed;
use crate::algebra::bounds::Known;
use crate::algebra::poly::{Constraint, Domain, Poly, Var, VarKind};
use crate::alias::parts::Inside;
use crate::flow::effects::Effects;
use crate::{Control, Obstacle, Param, Program};

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

/// See the module's text. Made by a [`Builder`], and not changed from then on.
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
    /// Families that stay what they are: the pointer that is loaded moves with the loop (`rows[i]`).
    pub tables: FxHashSet<SymbolId>,
    /// Objects that are only read and whose rows may overlap: their cells lie within the box of their subscripts' ranges.
    pub boxes: FxHashSet<SymbolId>,
    /// Variables whose value each iteration of the root can tell by itself; with the step, where that is a constant.
    pub inductions: Vec<(SymbolId, Option<i128>, TermId)>,
    /// Pointer variables whose value at the root's entry was followed, with what they point into.
    pub views: Vec<(SymbolId, SymbolId)>,
    /// Variables declared in the root's body: each iteration has its own.
    inside: FxHashSet<SymbolId>,
    param_ids: FxHashMap<Param, Var>,
    /// Array lengths whose text may have another value by now than where the array was declared.
    old_lengths: Vec<(TermId, Var)>,
    /// Paths whose subscripts are fixed: family, subscripts of the load, own symbol.
    loaded: Vec<(SymbolId, Vec<Poly>, SymbolId)>,
    /// What reading it, and asking it, may take.
    pub budget: Budget,
    /// See [`Model::prover`].
    prover: std::cell::RefCell<Option<Rc<Known>>>,
}

impl Model<'_> {
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

    /// The variable of a parameter that the model has.
    pub(crate) fn known_param(&self, p: Param) -> Option<Var> {
        self.param_ids.get(&p).copied()
    }

    /// All that always holds: of parameters, of types, and of quotients by their definition.
    pub(crate) fn known(&self) -> Vec<Constraint> {
        let quotients = self.quotients.iter().flat_map(|(_, defs)| defs);
        self.context.iter().chain(quotients).chain(&self.ranges).cloned().collect()
    }

    pub(crate) fn is_param(&self, v: Var) -> bool {
        matches!(self.vars[v as usize], VarKind::Param(_) | VarKind::Product(_))
    }

    /// Whether the host can evaluate the parameter before the loop.
    pub(crate) fn has_text(&self, v: Var) -> bool {
        self.old_lengths.iter().all(|&(_, o)| o != v)
    }

    /// Whether the two are paths of one family that differ by a constant in some subscript: other rows of one table.
    pub(crate) fn other_rows(&self, a: SymbolId, b: SymbolId) -> Option<SymbolId> {
        let of = |s: SymbolId| self.loaded.iter().find(|l| l.2 == s);
        let (x, y) = (of(a)?, of(b)?);
        let apart =
            x.1.iter().zip(&y.1).any(|(p, q)| p.sub(q).and_then(|d| d.as_constant()).is_some_and(|d| d != 0));
        (x.0 == y.0 && apart).then_some(x.0)
    }

    /// Whether each iteration of the root has its own.
    pub(crate) fn declared_inside(&self, s: SymbolId) -> bool {
        self.inside.contains(&s)
    }

    /// Variables declared in the body that are memory themselves (not pointers to it).
    pub(crate) fn own_objects(&self) -> FxHashSet<SymbolId> {
        let is_memory = |s: &SymbolId| {
            !matches!(self.body.types.kind(self.body.symbols[*s].ty), TypeKind::Pointer { .. })
        };
        self.inside.iter().copied().filter(is_memory).collect()
    }
}
