//! The lints: one file each, listed once below, each with a page in `docs/codes`.
//!
//! A lint finds first, words second; edits are made by actions. What is shown where: a nest has one diagnostic, on its
//! outermost loop, and others only on inner loops where the parallelism is or which the user marked.

mod bad_mark;
mod carried_dependence;
mod marked_sequential;
mod marked_unknown;
mod not_understood;
mod parallel_loop;
mod reduction_loop;
mod unknown_loop;
mod unused_ignore;

use analysis::{Facts, LoopFacts, LoopId, Verdict};
use base::Span;

use crate::place::Place;
use crate::{Diagnostic, Doc, Level, Related, Settings, Severity, Tag};

/// What one lint is.
pub(crate) struct Lint {
    /// Kebab-case; the file's stem with `-` for `_`.
    pub code: &'static str,
    /// Severity where settings say nothing.
    pub severity: Severity,
    /// One line for lists.
    pub summary: &'static str,
    /// Markdown.
    pub page: &'static str,
    pub find: Find,
}

/// How a lint finds.
pub(crate) enum Find {
    /// Asked of every loop that may be shown; the diagnostic stands on its header.
    Loop(fn(&At) -> Option<Said>),
    /// Asked once a document.
    Document(fn(&Doc, &[Place]) -> Vec<(Span, Said)>),
    /// Asked last, with the suppressions that suppressed nothing.
    Suppressions(fn(&Unused) -> Said),
}

/// One loop that may be shown.
pub(crate) struct At<'a> {
    pub place: &'a Place<'a>,
    pub id: LoopId,
    pub facts: &'a LoopFacts,
}

/// A code of a suppression that suppressed nothing.
pub(crate) struct Unused<'a> {
    /// `None`: the suppression names no code and stands for all.
    pub code: Option<&'a str>,
    /// Whether such a code exists.
    pub known: bool,
}

/// What a lint says.
#[derive(Default)]
pub(crate) struct Said {
    /// What, why, what now.
    pub message: String,
    pub related: Vec<Related>,
    pub tags: Vec<Tag>,
}

/// All lints, sorted by code.
pub(crate) const LINTS: &[Lint] = &[
    bad_mark::LINT,
    carried_dependence::LINT,
    marked_sequential::LINT,
    marked_unknown::LINT,
    not_understood::LINT,
    parallel_loop::LINT,
    reduction_loop::LINT,
    unknown_loop::LINT,
    unused_ignore::LINT,
];

/// The lint of this code.
pub(crate) fn lint(code: &str) -> Option<&'static Lint> {
    LINTS.iter().find(|l| l.code == code)
}

/// The diagnostics of a document, in textual order.
pub(crate) fn run(doc: &Doc, settings: &Settings, places: &[Place]) -> Vec<Diagnostic> {
    let mut found: Vec<Diagnostic> = Vec::new();
    for lint in LINTS {
        // what is off is still found, so that its suppressions count as used
        let severity = match settings.level(lint.code, lint.severity) {
            Level::At(severity) => severity,
            Level::Off => lint.severity,
        };
        let mut add = |span: Span, said: Said| found.push(diagnostic(lint, severity, span, said));
        match lint.find {
            Find::Loop(find) => {
                for place in places {
                    for id in shown(&place.facts) {
                        let at = At {
                            place,
                            id,
                            facts: place.of(id),
                        };
                        if let Some(said) = find(&at) {
                            add(place.header(id), said);
                        }
                    }
                }
            }
            Find::Document(find) => {
                for (span, said) in find(doc, places) {
                    add(span, said);
                }
            }
            Find::Suppressions(_) => {}
        }
    }
    let mut kept = unused_ignore::suppress(doc, settings, found);
    kept.retain(|d| lint(d.code).is_none_or(|l| settings.level(d.code, l.severity) != Level::Off));
    kept.sort_by_key(|d| (d.span, d.code));
    kept
}

fn diagnostic(lint: &Lint, severity: Severity, span: Span, said: Said) -> Diagnostic {
    Diagnostic {
        code: lint.code,
        severity,
        span,
        message: said.message,
        related: said.related,
        tags: said.tags,
    }
}

/// The loops that may have a diagnostic.
pub(crate) fn shown(facts: &Facts) -> Vec<LoopId> {
    let ids = facts.loops.iter_ids();
    let shown = ids.filter(|(_, l)| {
        l.mark.is_some() || l.parent.is_none() || (is_parallel(l) && !inside_parallel(facts, l))
    });
    shown.map(|(id, _)| id).collect()
}

fn inside_parallel(facts: &Facts, l: &LoopFacts) -> bool {
    let mut at = l.parent;
    while let Some(parent) = at.and_then(|id| facts.loops.get(id)) {
        if is_parallel(parent) {
            return true;
        }
        at = parent.parent;
    }
    false
}

/// Whether the loop can be offloaded as far as its verdict goes.
pub(crate) fn is_parallel(l: &LoopFacts) -> bool {
    matches!(l.verdict, Verdict::Independent | Verdict::Reduction)
}

/// The outermost parallel loops inside a loop that is not parallel.
pub(crate) fn parallel_inside(facts: &Facts, id: LoopId) -> Vec<LoopId> {
    let mut found = Vec::new();
    let mut open: Vec<LoopId> = facts.children(id).collect();
    open.reverse();
    while let Some(inner) = open.pop() {
        match facts.loops.get(inner) {
            Some(l) if is_parallel(l) => found.push(inner),
            _ => {
                let mut deeper: Vec<LoopId> = facts.children(inner).collect();
                deeper.reverse();
                open.extend(deeper);
            }
        }
    }
    found
}
