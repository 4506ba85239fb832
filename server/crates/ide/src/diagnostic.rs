//! A finding as an editor lists it.

use std::sync::Arc;

use analysis::{HostFault, LostUpdate, MissingFence, OutOfRange, RaceWitness, Reload};
use base::Span;
use term::TermId;

use crate::lints::Lint;

/// How much a finding asks for attention.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Severity {
    /// A possibility.
    Hint,
    /// Something worth knowing.
    Information,
    /// Costs speed, or rests on an unproved promise.
    Warning,
    /// Wrong results, or a request that must not be followed.
    Error,
}

impl Severity {
    /// `hint`, `information`, `warning`, `error`: as in reports and settings.
    pub fn name(self) -> &'static str {
        match self {
            Severity::Hint => "hint",
            Severity::Information => "information",
            Severity::Warning => "warning",
            Severity::Error => "error",
        }
    }
}

/// What an editor may do with the text beside underlining it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Tag {
    /// Can be removed without a change in meaning: shown faded.
    Unnecessary,
}

/// Another place that belongs to a finding. Some editors do not show it, so the message never needs it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Related {
    /// Bytes of the document.
    pub span: Span,
    pub message: Arc<str>,
}

/// A finding at its place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Diagnostic {
    pub(crate) lint: &'static Lint,
    /// Kebab-case; has a page: [`crate::explain`].
    pub code: &'static str,
    pub severity: Severity,
    /// Bytes of the document.
    pub span: Span,
    /// What, why, and what now; complete in itself, one paragraph, no markup.
    pub message: Arc<str>,
    pub related: Vec<Related>,
    pub tags: Vec<Tag>,
    /// What it rests on: what the lint repairs is known by this.
    pub(crate) evidence: Option<Arc<Evidence>>,
    /// Whether it is of a loop that is left alone ([`crate::quiet`]): told only where its code has a level of the user's.
    pub(crate) quiet: bool,
    /// Whether another file of the program may say more of its loop, once it is read.
    pub(crate) awaits: bool,
}

impl Diagnostic {
    /// Whether it says what is known of a loop, at its header.
    pub(crate) fn is_of_loop(&self) -> bool {
        use crate::lints::Find::{Loop, OfferedLoop, SpreadableLoop};
        matches!(self.lint.find, Loop(_) | SpreadableLoop(_) | OfferedLoop(_))
    }
}

/// A fact of a function that a finding rests on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Evidence {
    /// The function's name, with its arguments where it is an instance of a template; empty for what stands in none.
    pub function: Arc<str>,
    pub fact: Fact,
}

/// What a finding rests on, where a repair may answer it. Terms are those of the function.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Fact {
    /// The one that is told, and those with the same cause.
    Race(Vec<RaceWitness>),
    LostUpdate(LostUpdate),
    MissingFence(MissingFence),
    RedundantBarrier(TermId),
    DivergentBarrier(TermId),
    /// The array of shared memory.
    BankConflict(Arc<str>),
    OutOfRange(OutOfRange),
    StridedAccess,
    IndexOverflow,
    /// Of one kernel.
    Reloads(Vec<Reload>),
    /// The clauses that a directive of OpenMP lacks: `private(j, k)`.
    Clause(Arc<str>),
    /// Of host code, at this term.
    Host(TermId, HostFault),
    /// A mark that speaks of no loop.
    Mark,
    /// A suppression of nothing.
    Suppression,
    /// A promise that says nothing, or that nothing rests on.
    Promise,
}
