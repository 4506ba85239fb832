//! Judges claims about loops by what a traced run really did.
//!
//! A run can only refute: no conflict on one input is no proof of independence. A conflict is proof of the contrary,
//! and a witness either happened or did not.

use rustc_hash::FxHashSet;
use term::{SymbolId, TermId};

use crate::memory::ObjectId;
use crate::trace::{Conflict, ConflictKind, LoopTrace, Trace, Variable};

/// Something a claim sets aside as a reduction.
#[derive(Clone, Debug)]
pub enum Aside {
    /// All accesses to this variable (or to the object this parameter or global refers to).
    Variable(SymbolId),
    /// Conflicts in which both accesses are among these terms.
    Terms(FxHashSet<TermId>),
    /// Accesses to what this symbol names or refers to, of which each iteration has its own copy, and one of them is
    /// what stays: no iteration may read what another one wrote.
    Kept(SymbolId),
}

/// How a claim "independent but for these" fails.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Refutation {
    /// The loop was not watched.
    NotWatched,
    /// Two iterations touched a cell that was not set aside.
    Conflict(Box<Conflict>),
    /// A private is read in an iteration that did not write it before, though others write it.
    ExposedPrivate { symbol: SymbolId, iteration: i64, term: TermId },
    /// A private's value is used after the loop.
    LiveOutPrivate { symbol: SymbolId, term: Option<TermId> },
}

/// Whether something was seen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Seen {
    Yes,
    No,
    /// The log ran full before an answer.
    Unknown,
}

/// A dependence said to exist, to be looked for in a run with the witness's values.
#[derive(Clone, Debug, Default)]
pub struct WitnessQuery {
    pub kind: Option<ConflictKind>,
    /// The accesses, where they matter.
    pub source: Option<TermId>,
    pub sink: Option<TermId>,
    /// Iterations of the loop, counted from 0.
    pub source_iteration: i64,
    pub sink_iteration: i64,
    /// The variable (or parameter) through which the cell is reached, where it matters.
    pub variable: Option<SymbolId>,
    /// Values of the indices of watched loops around it.
    pub outer: Vec<(SymbolId, i64)>,
}

impl Trace {
    /// A watched loop.
    pub fn of(&self, term: TermId) -> Option<&LoopTrace> {
        self.loops.iter().find(|l| l.term == term)
    }
    /// The object a pointer parameter or a file-scope variable refers to.
    pub fn object_of(&self, symbol: SymbolId) -> Option<ObjectId> {
        let mut all = self.points_to.iter().chain(&self.globals);
        all.find(|(s, _)| *s == symbol).map(|(_, o)| *o)
    }
    /// Whether the cell is the variable itself, not what it points to.
    pub fn is_itself(&self, symbol: SymbolId, variable: Variable) -> bool {
        match variable {
            Variable::Symbol(s) => s == symbol,
            Variable::Object(o) => self.globals.contains(&(symbol, o)),
        }
    }
    /// Whether the cell's owner is what this symbol names or refers to.
    pub fn names(&self, symbol: SymbolId, variable: Variable) -> bool {
        match variable {
            Variable::Symbol(s) => s == symbol,
            Variable::Object(o) => self.object_of(symbol) == Some(o),
        }
    }
}

/// Whether the run bears out that the iterations of `of` are independent when `privates` are each iteration's own
/// and `asides` are reductions. The loop's own index is always set aside as far as its header moves it.
pub fn check_claim(
    trace: &Trace,
    of: TermId,
    privates: &[SymbolId],
    asides: &[Aside],
) -> Result<(), Refutation> {
    let l = trace.of(of).ok_or(Refutation::NotWatched)?;
    for c in &l.conflicts {
        let private = privates.iter().any(|&p| trace.is_itself(p, c.variable));
        let aside = asides.iter().any(|a| match a {
            Aside::Variable(s) | Aside::Kept(s) => trace.names(*s, c.variable),
            Aside::Terms(terms) => terms.contains(&c.source) && terms.contains(&c.sink),
        });
        if !(c.header || private || aside) {
            return Err(Refutation::Conflict(Box::new(c.clone())));
        }
    }
    for &p in privates {
        check_private(trace, l, p)?;
    }
    for a in asides {
        let Aside::Kept(symbol) = *a else { continue };
        let mut mine = l.variables.iter().filter(|(v, t)| t.written && trace.names(symbol, **v));
        if let Some((iteration, term)) = mine.find_map(|(_, t)| t.exposed) {
            return Err(Refutation::ExposedPrivate { symbol, iteration, term });
        }
    }
    Ok(())
}

/// Whether each iteration could have had its own copy of the variable, and nobody wanted it afterwards.
pub fn check_private(trace: &Trace, l: &LoopTrace, symbol: SymbolId) -> Result<(), Refutation> {
    for (v, t) in &l.variables {
        if !trace.is_itself(symbol, *v) || !t.written {
            continue;
        }
        if let Some((iteration, term)) = t.exposed {
            return Err(Refutation::ExposedPrivate { symbol, iteration, term });
        }
        if t.read_after.is_some() || t.escapes {
            return Err(Refutation::LiveOutPrivate { symbol, term: t.read_after });
        }
    }
    Ok(())
}

/// Whether the dependence really happened between these two iterations.
pub fn check_witness(trace: &Trace, of: TermId, q: &WitnessQuery) -> Seen {
    let Some(watched) = trace.loops.iter().position(|l| l.term == of) else {
        return Seen::No;
    };
    let instances = &trace.loops[watched].instances;
    let here = |instance: u32| {
        instances
            .get(instance as usize)
            .is_some_and(|i| q.outer.iter().all(|(s, v)| i.outer.iter().all(|(t, w)| s != t || v == w)))
    };
    let (source_writes, sink_writes) = match q.kind {
        Some(ConflictKind::Flow) => (Some(true), Some(false)),
        Some(ConflictKind::Anti) => (Some(false), Some(true)),
        Some(ConflictKind::Output) => (Some(true), Some(true)),
        None => (None, None),
    };
    let matching = |iteration: i64, term: Option<TermId>, writes: Option<bool>| {
        trace.log.iter().filter(move |t| {
            t.watched as usize == watched
                && t.iteration == iteration
                && term.is_none_or(|x| x == t.term)
                && writes.is_none_or(|w| w == t.write)
                && q.variable.is_none_or(|s| trace.names(s, t.variable))
        })
    };
    let sources: Vec<_> =
        matching(q.source_iteration, q.source, source_writes).filter(|t| here(t.instance)).collect();
    let found = matching(q.sink_iteration, q.sink, sink_writes)
        .any(|b| sources.iter().any(|a| a.instance == b.instance && a.same_cell(b) && (a.write || b.write)));
    match (found, trace.log_full) {
        (true, _) => Seen::Yes,
        (false, true) => Seen::Unknown,
        (false, false) => Seen::No,
    }
}
