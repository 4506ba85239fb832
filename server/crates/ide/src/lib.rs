//! What an editor or a terminal shows of a document: diagnostics, hover, actions, lenses, hints and reports, in the
//! editor's vocabulary.
//!
//! Facts are found by `analysis`; this room finds what is worth saying, words it, and makes the edits. One result
//! ([`Findings`]) has many views. Deliberately absent: LSP types, JSON, threads, paths and clocks; the shell turns
//! what is here into each of them.
//!
//! The usual way through: [`Doc::open`] → [`Ask`] → [`check`] → [`Findings`] → [`hover`], [`actions()`], [`inlay_hints`],
//! [`lenses`]; an action's edit is made by [`resolve`] only when somebody wants it.
#![forbid(unsafe_code)]

mod actions;
mod ask;
mod check;
mod codes;
mod cost;
mod diagnostic;
mod document;
mod enabling;
mod entries;
mod file_arrays;
mod function_messages;
mod function_view;
mod hints;
mod host_pages;
mod hover;
mod kernels;
mod limits;

mod lints;
mod measured;
mod memo;
mod offload;
mod optimize;
mod outline;
mod plans;
mod project;
mod promises;
mod quiet;
mod region_plan;
mod regions;
mod repairs;
mod report;
mod restricts;
mod rounds;
mod rules;
mod settings;
mod transform;
mod units;
mod verify;
mod views;
mod words;
mod worth;

#[cfg(test)]
mod tests;

pub use actions::{
    actions, mark_all, refactorings, resolve, Action, ActionId, ActionKind, FileEdit, NewFile, ResolveError,
    Resolved, WorkspaceEdit,
};
pub use analysis::Requests;
pub use ask::Ask;
pub use check::{check, deepen, known, warm, warm_at, Cancelled, Findings, LoopFinding, Tier};
pub use codes::{codes, explain, Code};
pub use cost::{Amount, Cost};
pub use diagnostic::{Diagnostic, Related, Severity, Tag};
pub(crate) use diagnostic::{Evidence, Fact};
pub use document::{Choice, Doc, Language, Options, Parts, Standard, Taken, Target, LANGUAGES};
pub use enabling::{Enabling, EnablingStep};
pub use entries::{entries, Entry, Worth};
pub use front::{
    Ask as HeaderAsk, Header, HeaderId, Headers, Index as HeaderIndex, Predefined, Source as HeaderSource,
};
pub use hints::{inlay_hints, lenses, unspoken, InlayHint, Lens};
pub use hover::{hover, Hover, STILL as STILL_ANALYZED};
pub use kernels::{
    assumed, kernel_at, kernel_reports, kernel_sizes, kernel_text, kernels_named, not_launched_here,
    parse_shape, record_kernels, simulate_kernels, AccessReport, Barrier, BarrierReport, Branch,
    BranchReport, ComparedKernel, CountedAccess, KernelReport, KernelRun, LaunchElsewhere, LaunchPlace,
    LaunchReport, Origin, Problem, Race, RaceReport, RacesReport, RangeReport, RecordedKernel, Shape,
    SimulateOptions, WarpOperation,
};
pub use lints::{has_unread_loops, missing_headers};
pub use measured::measured_of;
pub use memo::Memo;
pub use offload::{offload, KernelShape, Offloaded, OffloadedLoop, Refused, Which};
pub use optimize::offload_optimized;
pub use outline::{calls, functions, outline, CallSite, Symbol, SymbolKind};
pub use project::{FileNames, Project, ProjectFile};
pub use report::{
    ConditionReport, DependenceReport, InductionReport, LineColumn, LoopReport, ObstacleReport,
    OffloadReport, ReductionReport, ThreadMapReport,
};
pub use rules::{
    apply_rules, check_rule_page, page_completions, page_hover, rule_function, rule_hash, rule_offers,
    rule_target, PageCheck, PageCompletion, PageFinding, PageFix, PageWord, RuleLanguage, RuleOffer,
    RulePage, RuleProver, RuleSet, RuleSeverity, RuleTarget, RuleTrust, RulesApplied,
};
pub use settings::{Level, Settings};
pub use simulate::{shim as cpu_runtime, ElementKind};
pub use transform::{transform, transformations, Listed, Transformed};
pub use verify::{
    all_transferred, given_names, record, record_variants, returned, verify, At, Copies, Counted,
    CountedRequests, Holds, HostPiece, HostProgram, HostStep, KernelArgument, Natively, OriginalArgument,
    OriginalText, Outcome, Recorded, Spot, Transferred, Trial, Variant, Verifier, VerifyCase, VerifyOptions,
    VerifyReport,
};
pub use views::{
    show_all_dependences, show_call_graph, show_dependences, show_terms, Drawn, DrawnEdge, DrawnNode, View,
};
pub use worth::LeftOut;
