//! What directives for threads say of a body, and what is wrong with it by our own facts.
//!
//! A [`Regions`] answers where threads run; [`Regions::faults`] holds the clauses to what the statements do. Everything it
//! says happens for some input: a write that only one iteration may make, a condition on indices, a lock around it,
//! clauses that were not read: nothing is then said.

mod faults;
mod flow;

use std::sync::Arc;

use base::IndexId;
use term::{Body, Clause, Construct, Directive, Op, Sharing, Storage, SymbolId, TermId};

pub use faults::{Fault, FaultKind, Need};

/// A body with its directives.
pub struct Regions<'a> {
    pub(crate) body: &'a Body,
    pub(crate) directives: &'a [Directive],
    /// Names of variables of which each thread has its own throughout.
    pub(crate) threadprivate: &'a [Arc<str>],
    pub(crate) parents: Vec<Option<TermId>>,
    /// Where each variable is declared.
    declared: Vec<Option<TermId>>,
}

/// Why a loop is not to be replaced by a launch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Around<'a> {
    pub directive: &'a Directive,
    /// Whether it stands on the loop itself, which each thread runs whole.
    pub on_it: bool,
}

impl<'a> Regions<'a> {
    pub fn new(body: &'a Body, directives: &'a [Directive], threadprivate: &'a [Arc<str>]) -> Regions<'a> {
        let mut declared = vec![None; body.symbols.len()];
        if !directives.is_empty() {
            for t in body.walk(body.root) {
                if let Op::Declare(s) = body.op(t) {
                    declared[s.index()] = Some(t);
                }
            }
        }
        let parents = if directives.is_empty() { Vec::new() } else { body.parents() };
        Regions { body, directives, threadprivate, parents, declared }
    }

    /// The directives on a statement, in textual order.
    pub fn of(&self, term: TermId) -> impl Iterator<Item = &'a Directive> + '_ {
        self.directives.iter().filter(move |d| d.target == Some(term))
    }

    /// The directive whose threads run the term: the innermost around it that makes some.
    pub fn team(&self, term: TermId) -> Option<&'a Directive> {
        self.around(term).find(|d| d.makes_threads())
    }

    /// What keeps a launch from standing in a loop's place: threads around it.
    pub fn refusal(&self, of: TermId) -> Option<Around<'a>> {
        let on_it = self.of(of).find(|d| d.makes_threads() && !d.is_parallel_loop());
        if let Some(directive) = on_it {
            return Some(Around { directive, on_it: true });
        }
        let around = *self.parents.get(of.index())?;
        let directive = around.and_then(|p| self.team(p))?;
        Some(Around { directive, on_it: false })
    }

    /// Functions that are called by threads.
    pub fn called_by_threads(&self) -> Vec<(Arc<str>, &'a Directive)> {
        let mut out = Vec::new();
        if self.directives.is_empty() {
            return out;
        }
        for t in self.body.walk(self.body.root) {
            if *self.body.op(t) != Op::Call {
                continue;
            }
            let callee = self.body.callee(t);
            if let (Some(f), Some(d)) = (callee, self.team(t)) {
                out.push((self.body.symbols[f].name.clone(), d));
            }
        }
        out
    }

    /// Directives on the term and around it, innermost first.
    pub(crate) fn around(&self, term: TermId) -> impl Iterator<Item = &'a Directive> + '_ {
        let mut at = Some(term);
        std::iter::from_fn(move || {
            let t = at?;
            at = self.parents.get(t.index()).copied().flatten();
            Some(t)
        })
        .flat_map(move |t| self.directives.iter().rev().filter(move |d| d.target == Some(t)))
    }

    pub(crate) fn is_inside(&self, inner: TermId, outer: TermId) -> bool {
        let mut at = Some(inner);
        while let Some(t) = at {
            if t == outer {
                return true;
            }
            at = self.parents.get(t.index()).copied().flatten();
        }
        false
    }

    /// Whether all threads of the region see one variable at a term inside; `None`: it cannot be told.
    pub(crate) fn is_shared(&self, symbol: SymbolId, at: TermId, region: &Directive) -> Option<bool> {
        let root = region.target?;
        let s = &self.body.symbols[symbol];
        if self.threadprivate.contains(&s.name) {
            return Some(false);
        }
        match s.storage {
            Storage::Local | Storage::Param(_) => {
                if self.declared[symbol.index()].is_some_and(|d| self.is_inside(d, root)) {
                    return Some(false);
                }
            }
            Storage::StaticLocal { .. } | Storage::Global { .. } => {}
            _ => return None,
        }
        let mut default = Sharing::Shared;
        let mut understood = true;
        for d in self.around(at) {
            let Some(target) = d.target.filter(|&t| self.is_inside(t, root)) else { break };
            understood &= d.understood;
            if let Some(s) = d.sharing(symbol) {
                return Some(s == Sharing::Shared);
            }
            if d.wants_loop() && self.indices(d, target).contains(&symbol) {
                return Some(false);
            }
            for c in &d.clauses {
                if let Clause::Default(s) = c {
                    default = *s;
                }
            }
            if std::ptr::eq(d, region) {
                break;
            }
        }
        understood.then_some(default == Sharing::Shared)
    }

    /// The indices of the loops that a directive speaks of.
    pub(crate) fn indices(&self, d: &Directive, target: TermId) -> Vec<SymbolId> {
        let mut out = Vec::new();
        let mut at = Some(target);
        for _ in 0..d.levels().unwrap_or(1).max(1) {
            let Some(l) = at.filter(|&t| *self.body.op(t) == Op::For) else { break };
            let Some(parts) = self.body.loop_parts(l) else { break };
            out.extend(parts.init.and_then(|i| self.index_of(i)));
            at = self.only_loop(parts.body);
        }
        out
    }

    fn index_of(&self, init: TermId) -> Option<SymbolId> {
        match self.body.op(init) {
            Op::Declare(s) => Some(*s),
            Op::Assign => self.body.as_symbol(*self.body.args(init).first()?),
            _ => None,
        }
    }

    /// The loop that is all there is in a block.
    pub(crate) fn only_loop(&self, block: TermId) -> Option<TermId> {
        match (self.body.op(block), self.body.args(block)) {
            (Op::For, _) => Some(block),
            (Op::List, &[only]) => self.only_loop(only),
            _ => None,
        }
    }

    /// Whether something orders what threads do at a term of a region: only one comes there, or one at a time.
    pub(crate) fn is_ordered(&self, term: TermId, region: &Directive) -> bool {
        let ordering = [
            Construct::Single,
            Construct::Masked,
            Construct::Critical,
            Construct::Atomic,
            Construct::Ordered,
            Construct::Section,
            Construct::Sections,
            Construct::Task,
            Construct::Taskloop,
            Construct::Target,
            Construct::Other,
        ];
        self.around(term)
            .take_while(|d| !std::ptr::eq(*d, region))
            .any(|d| ordering.iter().any(|&c| d.has(c)))
    }

    /// Whether a region may order its threads by calls: locks, atomic built-ins.
    pub(crate) fn locks(&self, region: TermId) -> bool {
        self.body.walk(region).any(|t| {
            let Op::Sym(s) = self.body.op(t) else { return false };
            let name = self.body.symbols[*s].name.to_ascii_lowercase();
            self.body.symbols[*s].storage != Storage::Local
                && ["lock", "mutex", "__sync", "atomic", "omp_in_parallel", "cas"]
                    .iter()
                    .any(|w| name.contains(w))
        })
    }
}
