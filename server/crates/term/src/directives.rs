//! Words to a compiler that say which threads run a statement, and what of its variables each of them has: OpenMP's
//! directives, without their spelling.
//!
//! A directive stands aside of the terms (a program means the same without it, or should) and names the statement it
//! speaks of. What follows from it is `analysis`'s business.

use std::sync::Arc;

use base::Span;

use crate::{SymbolId, TermId};

/// One directive.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Directive {
    /// Outermost first: `parallel for simd` is three.
    pub constructs: Vec<Construct>,
    pub clauses: Vec<Clause>,
    /// Whether all of it was understood: a name that is a macro, or a clause nobody knows, may say anything.
    pub understood: bool,
    /// Relative to the body.
    pub span: Span,
    /// The statement it speaks of; `None` where it stands for itself.
    pub target: Option<TermId>,
    /// As written after `#pragma omp`, without clauses.
    pub name: Arc<str>,
}

/// What a directive does to its statement.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Construct {
    /// A team of threads runs it.
    Parallel,
    /// The iterations are shared out among the team.
    For,
    /// Iterations run in lanes.
    Simd,
    Sections,
    Section,
    /// One thread of the team runs it, the others wait.
    Single,
    /// One thread runs it (`master`, `masked`).
    Masked,
    /// One thread at a time.
    Critical,
    /// One memory access that is not torn.
    Atomic,
    /// In the order of iterations.
    Ordered,
    Task,
    Taskloop,
    Taskgroup,
    /// Runs on a device.
    Target,
    /// Several teams run it.
    Teams,
    /// Iterations are shared out among teams.
    Distribute,
    /// Says something of its place or of declarations: `barrier`, `flush`, `threadprivate`, …
    Alone,
    Other,
}

/// Whose a variable is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Sharing {
    /// All threads see one.
    Shared,
    /// Each thread has its own, without a value.
    Private,
    /// Each thread has its own, which begins with the value from before.
    FirstPrivate,
    /// Each thread has its own, without a value; the last iteration's remains.
    LastPrivate,
    /// Each iteration computes its own.
    Linear,
    /// Likewise each thread's own, by some other clause.
    Own,
}

/// Operators of reduction clauses.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Combiner {
    /// `+` and `-`: partial results are added.
    Add,
    Mul,
    BitAnd,
    BitOr,
    BitXor,
    And,
    Or,
    Min,
    Max,
    /// The program's own (`declare reduction`).
    Own,
}

/// What a directive says besides.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Clause {
    Sharing(Sharing, Vec<Named>),
    Reduction(Combiner, Vec<Named>),
    /// `default(none)`: everything used must be listed.
    DefaultNone,
    /// Whose variables without a clause are.
    Default(Sharing),
    Collapse(Option<u32>),
    /// `ordered` on a loop; with a number, iterations wait for those they name.
    Ordered(Option<u32>),
    Safelen(Option<u32>),
    /// The team has one thread.
    OneThread,
    /// Anything that changes no variable's meaning.
    Other(Arc<str>),
}

/// A variable as a clause names it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Named {
    pub name: Arc<str>,
    /// The variable of that name at the directive's place.
    pub symbol: Option<SymbolId>,
}

impl Directive {
    pub fn has(&self, construct: Construct) -> bool {
        self.constructs.contains(&construct)
    }

    /// Whether it shares out the iterations of the loop it speaks of.
    pub fn shares_out(&self) -> bool {
        self.has(Construct::For) || self.has(Construct::Distribute)
    }

    /// Whether it says of one loop, by itself, that its iterations run at once.
    pub fn is_parallel_loop(&self) -> bool {
        self.shares_out() && (self.has(Construct::Parallel) || self.has(Construct::Teams))
    }

    /// Whether it speaks of a loop.
    pub fn wants_loop(&self) -> bool {
        self.shares_out() || self.has(Construct::Simd) || self.has(Construct::Taskloop)
    }

    /// Whether several threads run what it speaks of, or another thread than the one that comes there.
    pub fn makes_threads(&self) -> bool {
        [Construct::Parallel, Construct::Teams, Construct::Target, Construct::Task, Construct::Taskloop]
            .iter()
            .any(|&c| self.has(c))
    }

    /// What its clauses say of a variable, if they do.
    pub fn sharing(&self, symbol: SymbolId) -> Option<Sharing> {
        self.clauses.iter().find_map(|c| match c {
            Clause::Sharing(s, names) if names.iter().any(|n| n.symbol == Some(symbol)) => Some(*s),
            Clause::Reduction(_, names) if names.iter().any(|n| n.symbol == Some(symbol)) => {
                Some(Sharing::Own)
            }
            _ => None,
        })
    }

    /// How many nested loops it speaks of; `None`: a number that was not read.
    pub fn levels(&self) -> Option<u32> {
        self.clauses
            .iter()
            .find_map(|c| match c {
                Clause::Collapse(n) | Clause::Ordered(n @ Some(_)) => Some(*n),
                _ => None,
            })
            .unwrap_or(Some(1))
    }
}
