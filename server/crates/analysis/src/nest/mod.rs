//! The model of one loop: what its iterations read and write, as affine accesses over iteration domains (F4.1).
//!
//! A model is rooted at one loop. Values that are fixed while that loop runs are parameters; every loop at or under the
//! root has a counter; each access has a domain over the counters. Whatever is not affine makes a domain or a
//! subscript *inexact*: it then stands for more than the program does, so that "no conflict" stays a proof while
//! "conflict" no longer is one.

mod bits;
mod builder;
mod calls;
mod constants;
mod context;
mod entry;
mod exceptions;
mod flatten;
mod hopeless;
mod inductions;
mod lengths;
pub(crate) mod loaded;
mod longer;
mod loops;
mod members;
mod needed;
mod objects;
mod operators;
mod origin;
mod paths;
mod pieces;
mod places;
mod premises;
mod promises;
mod statements;
mod strides;
mod tables;
mod together;
mod values;
mod vars;
mod walks;

use std::rc::Rc;
use std::sync::Arc;

use base::Budget;
use rustc_hash::FxHashSet;
use term::{Body, SymbolId, TermId, TypeKind};

pub(crate) use self::builder::{read, How};
use self::objects::Objects;
use self::premises::Premises;
pub(crate) use self::promises::{bounds_of_parts, condition_of, lengths_of_rows, Promises};
pub(crate) use self::statements::Executed;
pub(crate) use self::tables::Table;
use self::vars::Vars;
use crate::algebra::bounds::Known;
use crate::algebra::poly::{Domain, Poly, Var};
use crate::flow::effects::Effects;
use crate::flow::parts::Inside;
use crate::{Columns, ConditionKind, Control, MetBy, Obstacle, Param};

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
pub(crate) struct AffineAccess {
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
    /// The element's number, of subscripts whose last is only known to lie in its row.
    pub flat: Option<Poly>,
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
        /// Whose rows: a call stands for accesses to several objects.
        base: SymbolId,
        access: TermId,
        stride: TermId,
        times: u32,
        /// See [`crate::ConditionKind::InRow`].
        columns: Columns,
    },
    /// What an `assert` says: where it does not hold, the program ends, and the original loop is what ends it.
    Asserted(TermId),
    StepSign(TermId),
    Terminates(TermId),
    /// The bound of an inner loop is not below its first value.
    Trips(TermId),
}

/// A loop that was read.
#[derive(Clone)]
pub(crate) struct Reading<'a> {
    /// What is not met of its obligations, it takes for granted.
    pub model: Model<'a>,
    /// What must hold for it to be the program.
    pub obligations: Vec<Obligation>,
    /// What cannot be read: then the model is of no use.
    pub obstacles: Vec<Obstacle>,
    /// What may throw (see `exceptions`): subscripts among it are obligations, too.
    pub exceptions: Vec<(ConditionKind, MetBy)>,
}

/// See the module's text. Made by [`read`]; from then on it only learns which of its obligations are met.
#[derive(Clone)]
pub(crate) struct Model<'a> {
    pub body: &'a Body,
    pub effects: &'a Effects<'a>,
    pub root: TermId,
    /// The root, then those inside it in the order they were met.
    pub loops: Vec<ModelLoop>,
    pub accesses: Vec<AffineAccess>,
    /// Statements in the order they were met; what stands in a loop's header is among them, and choices (`if`, `switch`) stand
    /// before what is in them.
    pub executed: Vec<Executed>,
    /// What values are polynomials in.
    pub vars: Vars,
    /// What holds whenever the root runs, and what is only taken to hold.
    pub premises: Premises,
    /// What is known of memory besides the accesses.
    pub objects: Objects,
    /// What the user promises.
    pub promises: Promises,
    /// Variables whose value each iteration of the root can tell by itself; with the step, where that is a constant, and the
    /// update.
    pub inductions: Vec<(SymbolId, Option<i128>, TermId)>,
    /// What asking it may take.
    pub budget: Budget,
}

impl Model<'_> {
    /// The small prover with all that always holds.
    pub(crate) fn prover(&self) -> Rc<Known> {
        self.premises.prover(&self.vars)
    }

    pub(crate) fn is_param(&self, v: Var) -> bool {
        self.vars.is_param(v)
    }

    /// What a variable holds before the root, as a parameter.
    pub(crate) fn entry_value(&mut self, s: SymbolId) -> Var {
        let p = Param::Symbol(s);
        self.vars.param(p).unwrap_or_else(|| self.vars.new_param(p))
    }

    /// Whether a subscript may have any value, as far as the text tells.
    pub(crate) fn is_any(&self, s: &Subscript) -> bool {
        s.value.as_ref().is_none_or(|p| self.vars.is_loaded(p))
    }

    /// Whether each iteration of the root has its own.
    pub(crate) fn declared_inside(&self, s: SymbolId) -> bool {
        self.objects.declared_inside(s)
    }

    /// Variables declared in the body that are memory themselves (not pointers to it).
    pub(crate) fn own_objects(&self) -> FxHashSet<SymbolId> {
        let is_memory = |s: &SymbolId| {
            !matches!(self.body.types.kind(self.body.symbols[*s].ty), TypeKind::Pointer { .. })
        };
        self.objects.inside.iter().copied().filter(is_memory).collect()
    }
}
