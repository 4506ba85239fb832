//! A witness replayed: does a run of the function from its entry come to the loop with the witness's values, and do the
//! two iterations really meet there?
//!
//! A witness is a solution of the model's constraints, and the model begins at the loop. What stands before it may make
//! those values impossible (`if (n > 100) n = 100;`). So the function is run, on numbers, and what is said is what was seen: the
//! two accesses touching a common byte in two iterations, one of them writing. The inputs of the run are chosen (`inputs` says what
//! may be chosen, and why): first as the witness says, then as `search` finds them, condition by condition, as concolic testing
//! does (Godefroid, Klarlund and Sen, PLDI 2005). Last, a witness is asked for at values that a run did arrive with.
//!
//! Everything is counted: a run has its steps, a search its runs. What is not shown within them is not shown, and is
//! said so. What is not known is of two kinds. What the function's callers and the texts that nobody has may make as they like
//! is ours to choose: it exists, if not in this program. What the program computes and the replay does not follow (a loop cut
//! short, the last bits of a logarithm) may be anything: a meeting counts only if it is seen whichever way that decides. At a
//! gap that stands as a statement a run ends, since it may leave the function there.
//! Deliberately absent: schedules, undefined behavior (a run that meets it is none), proofs of any kind.

mod calls;
mod expressions;
mod followed;
mod formula;
mod inputs;
mod layout;
mod memory;
mod run;
mod search;
mod solve;
mod values;

use std::rc::Rc;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};
use term::{Body, Op, TermId};

use crate::algebra::poly::{Constraint, Poly, Var};
use crate::algebra::project::project;
use crate::limits::replay_witness::{ALL_STEPS, RUN_STEPS};
use crate::{Control, Dependence, NotReplayed, Param, Program, Witness};
pub use followed::{follow, Argument, Followed};
use inputs::{Given, Inputs};
pub(crate) use search::replay;
use values::{Fact, Id, Linear, Rel};

/// What is replayed in: a body and the loops around.
pub(crate) struct ReplaySite<'a> {
    pub body: &'a Body,
    pub program: &'a Program,
    pub root: TermId,
    /// The terms around the root, itself included.
    pub around: Vec<TermId>,
    pub controls: Rc<FxHashMap<TermId, Control>>,
    /// Where each term stands in the order of the text.
    pub places: FxHashMap<TermId, u32>,
    pub ways: Ways,
}

/// What decides which way a run goes.
#[derive(Default)]
pub(crate) struct Ways {
    /// What decides whether control comes to the root: the terms around it, jumps that leave one of them, and the branches that
    /// those stand in.
    pub steering: FxHashSet<TermId>,
    /// Branches that end an iteration of another loop, or that loop.
    pub ending: FxHashMap<TermId, TermId>,
}

pub(crate) fn ways(body: &Body, around: &[TermId], parents: &[Option<TermId>]) -> Ways {
    let up = |t: TermId| std::iter::successors(Some(t), |t| parents.get(t.0 as usize).copied().flatten());
    let steering = around.iter().copied().collect();
    let mut out = Ways { steering, ending: FxHashMap::default() };
    for t in body.walk(body.root) {
        let ends: fn(&Op) -> bool = match body.op(t) {
            Op::Return | Op::Goto(_) => |_| false,
            Op::Continue => Op::is_loop,
            Op::Break => |op| op.is_loop() || *op == Op::Switch,
            _ => continue,
        };
        let left = up(t).skip(1).find(|&x| ends(body.op(x)));
        let inside = up(t).take_while(|&x| Some(x) != left);
        let branches = inside.filter(|&x| x == t || matches!(body.op(x), Op::If | Op::Switch));
        match left.filter(|x| !around.contains(x)) {
            Some(other) => out.ending.extend(branches.map(|b| (b, other))),
            None => out.steering.extend(branches),
        }
    }
    out
}

/// How a replay ended.
pub(crate) enum Replayed {
    /// Two iterations were seen to meet: these, and not always those that were asked about.
    Seen(Witness),
    /// None were; why, where, and how runs did come to the loop.
    Not(NotReplayed, Option<TermId>, Vec<Arrival>),
}

/// Values given to inputs.
type Givens = FxHashMap<Id, Given>;

/// What was found out for one loop, and what is left to find out more.
pub(crate) struct Search {
    /// Steps that are left.
    pub steps: u64,
    inputs: Inputs,
    /// The constant arguments that those were met with.
    arguments: Box<[Option<i128>]>,
    /// With which inputs runs came to the loop.
    arrived: Vec<Givens>,
    /// Functions and file-scope variables whose text the runs followed, or missed; with `(` behind it, a function whose calls they
    /// looked at ([`Program::text_of`]).
    pub followed: FxHashSet<Arc<str>>,
    /// One dependence was tried with all means: the next needs not begin from nothing.
    tried: bool,
}

impl Search {
    pub fn new() -> Search {
        Search {
            steps: ALL_STEPS,
            inputs: Inputs::default(),
            arguments: Box::default(),
            arrived: Vec::new(),
            followed: FxHashSet::default(),
            tried: false,
        }
    }
}

/// A way to the loop: what has to hold of the run's inputs for a run to take it, and what the witness's parameters are then.
pub(crate) struct Arrival {
    facts: Vec<Fact>,
    values: Vec<(Param, i128, Option<Linear>)>,
}

impl Arrival {
    /// What holds of the parameters on this way. `var`: the model's variable of a parameter.
    pub(crate) fn constraints(&self, var: impl Fn(Param) -> Option<Var>) -> Vec<Constraint> {
        // Inputs have numbers behind those of the model's variables.
        const INPUTS: Var = 1 << 28;
        let poly = |f: &Linear| {
            let terms = f.terms.iter().map(|(id, c)| (vec![INPUTS + id], *c));
            Poly::from_terms(terms.chain([(Vec::new(), f.constant)]))
        };
        let mut all: Vec<Constraint> = Vec::new();
        for f in &self.facts {
            let Some(p) = poly(&f.form) else { continue };
            match f.rel {
                Rel::Least => all.push(Constraint::non_negative(p)),
                Rel::Zero => all.push(Constraint::zero(p)),
                Rel::NotZero => {}
            }
        }
        for (p, now, form) in &self.values {
            let Some(v) = var(*p) else { continue };
            let value = match form {
                Some(f) => poly(f),
                None => Some(Poly::constant(*now)),
            };
            all.extend(value.and_then(|x| x.sub(&Poly::var(v))).map(Constraint::zero));
        }
        project(&all, |v| v < INPUTS)
    }
}

/// Which terms the two accesses are. What stands for a part of one of them, or for the whole it is a part of, is near it.
fn marks(body: &Body, root: TermId, d: &Dependence) -> FxHashMap<TermId, u8> {
    let mut out: FxHashMap<TermId, u8> = FxHashMap::default();
    let ends = [(d.source, run::SOURCE, run::NEAR_SOURCE), (d.sink, run::SINK, run::NEAR_SINK)];
    for (t, exact, near) in ends {
        *out.entry(t).or_default() |= exact;
        if *body.op(t) == Op::Call {
            for x in body.walk(t) {
                *out.entry(x).or_default() |= near;
            }
        }
        for x in leading(body, t) {
            *out.entry(x).or_default() |= near;
        }
    }
    for x in body.walk(root) {
        match body.op(x) {
            Op::Index | Op::Member { .. } | Op::Deref | Op::Cast | Op::AddrOf => {
                for (t, _, near) in ends {
                    if x != t && leading(body, x).any(|y| y == t) {
                        *out.entry(x).or_default() |= near;
                    }
                }
            }
            Op::Call => {
                for (t, _, near) in ends {
                    if body.walk(x).any(|y| y == t) {
                        *out.entry(x).or_default() |= near;
                    }
                }
            }
            _ => {}
        }
    }
    out
}

/// From a place down to where it starts: the place it is a part of, and so on.
fn leading(body: &Body, t: TermId) -> impl Iterator<Item = TermId> + '_ {
    let inner = move |t: &TermId| match (body.op(*t), body.args(*t)) {
        (Op::Index, &[a, b]) => Some(if body.types.as_int(body.ty(a)).is_some() { b } else { a }),
        (Op::Member { .. } | Op::Deref | Op::AddrOf | Op::Cast, &[a]) => Some(a),
        _ => None,
    };
    std::iter::successors(inner(&t), inner).take(100)
}
