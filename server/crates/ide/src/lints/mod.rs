//! The lints: one file each, listed once below, each with a page in `docs/codes`.
//!
//! A lint finds first, words second; edits are made by actions. What is shown where: a nest has one diagnostic, on its
//! outermost loop, and others only on inner loops where the parallelism is or which the user marked.

mod bad_directive;
mod bad_mark;
mod bank_conflict;
mod block_size;
mod bytes_not_elements;
mod carried_dependence;
mod constant_divergence;
mod constant_write;
mod copy_direction;
mod device_pointer_on_host;
mod divergent_barrier;
mod divergent_branch;
mod global_race;
mod index_overflow;
mod invariant_copy;
mod local_array;
mod marked_refused;
mod marked_sequential;
mod marked_unknown;
mod missing_atomic;
mod missing_fence;
mod missing_restrict;
mod missing_swap;
mod missing_synchronisation;
mod not_understood;
mod out_of_range;
mod parallel_loop;
mod reduction_loop;
mod redundant_barrier;
mod shared_race;
mod short_grid;
mod short_shared;
mod strided_access;
mod thread_dependence;
mod thread_race;
mod unchecked_launch;
mod unguarded_grid;
mod unknown_loop;
mod unused_ignore;
mod use_after_free;
mod wrong_clause;

use std::sync::Arc;

use analysis::{Facts, LoopFacts, LoopId, Verdict};
use base::Span;

use crate::check::{Cancelled, Extent};
use crate::memo::FunctionFacts;
use crate::place::Place;
use crate::plans::Planned;
use crate::worded::Worded;
use crate::{Ask, Diagnostic, Doc, Evidence, Fact, Level, Related, Settings, Severity, Tag};

/// What one lint is.
#[derive(Debug)]
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
#[derive(Clone, Copy, Debug)]
pub(crate) enum Find {
    /// Asked of every loop that may be shown; the diagnostic stands on its header.
    Loop(fn(&At) -> Option<Said>),
    /// Likewise, but for loops that one thread runs by itself, or that drive the device: whether those could be spread over
    /// threads is no news.
    SpreadableLoop(fn(&At) -> Option<Said>),
    /// Likewise, but for loops that threads run already or that one thread runs by itself.
    OfferedLoop(fn(&At) -> Option<Said>),
    /// Asked once a function; spans are of the document.
    Function(fn(&Place) -> Vec<(Span, Said)>),
    /// Asked once a document.
    Document(fn(&Ask) -> Vec<(Span, Said)>),
    /// Found while suppressing.
    Suppressions,
}

/// One loop that may be shown.
pub(crate) struct At<'a> {
    pub place: &'a Place<'a>,
    pub id: LoopId,
    pub facts: &'a LoopFacts,
}

/// What a lint says.
#[derive(Clone, Default, Debug)]
pub(crate) struct Said {
    /// What, why, what now.
    pub message: String,
    pub related: Vec<Related>,
    pub tags: Vec<Tag>,
    /// Of which instance of a template it is said: those of one place are told once.
    pub instance: Option<Arc<str>>,
    /// Where it weighs less than the lint's default.
    pub severity: Option<Severity>,
    /// What it rests on.
    pub evidence: Option<Arc<Evidence>>,
}

impl Said {
    /// Of this function, still without words.
    pub(crate) fn of(item: &front::Item) -> Said {
        Said { instance: item.template().map(|_| item.name.clone()), ..Said::default() }
    }
    /// Likewise, resting on this.
    pub(crate) fn on(item: &front::Item, fact: Fact) -> Said {
        let evidence = Evidence { function: item.name.clone(), fact };
        Said { evidence: Some(Arc::new(evidence)), ..Said::of(item) }
    }
    /// Of no function.
    pub(crate) fn on_directive(fact: Fact) -> Said {
        Said { evidence: Some(Arc::new(Evidence { function: "".into(), fact })), ..Said::default() }
    }
}

/// What is said of a loop, ready to be shown wherever its function stands.
#[derive(Debug)]
pub(crate) struct Saying {
    lint: &'static Lint,
    /// Relative to the function, as are those of `related`.
    span: Span,
    message: Arc<str>,
    related: Vec<Related>,
    tags: Vec<Tag>,
}

/// All lints, sorted by code.
pub(crate) const LINTS: &[Lint] = &[
    bad_directive::LINT,
    bad_mark::LINT,
    bank_conflict::LINT,
    block_size::LINT,
    bytes_not_elements::LINT,
    carried_dependence::LINT,
    constant_divergence::LINT,
    constant_write::LINT,
    copy_direction::LINT,
    device_pointer_on_host::LINT,
    divergent_barrier::LINT,
    divergent_branch::LINT,
    global_race::LINT,
    index_overflow::LINT,
    invariant_copy::LINT,
    local_array::LINT,
    marked_refused::LINT,
    marked_sequential::LINT,
    marked_unknown::LINT,
    missing_atomic::LINT,
    missing_fence::LINT,
    missing_restrict::LINT,
    missing_swap::LINT,
    missing_synchronisation::LINT,
    not_understood::LINT,
    out_of_range::LINT,
    parallel_loop::LINT,
    reduction_loop::LINT,
    redundant_barrier::LINT,
    shared_race::LINT,
    short_grid::LINT,
    short_shared::LINT,
    strided_access::LINT,
    thread_dependence::LINT,
    thread_race::LINT,
    unchecked_launch::LINT,
    unguarded_grid::LINT,
    unknown_loop::LINT,
    unused_ignore::LINT,
    use_after_free::LINT,
    wrong_clause::LINT,
];

/// What one lint says of the faults of host code.
fn host(
    ask: &Ask,
    words: fn(&Doc, &term::Body, u32, &analysis::HostFault) -> Option<String>,
) -> Vec<(Span, Said)> {
    let doc = &ask.doc;
    let mut found = Vec::new();
    for (item, faults) in doc.unit().items.iter().zip(doc.host_faults()) {
        for (t, fault) in faults {
            if let Some(message) = words(doc, &item.body, item.span.start, fault) {
                let said = Said { message, instance: None, ..Said::on(item, Fact::Host(*t, fault.clone())) };
                found.push((item.body.span(*t).shifted(item.span.start), said));
            }
        }
    }
    found
}

/// The lint of this code.
pub(crate) fn lint(code: &str) -> Option<&'static Lint> {
    LINTS.iter().find(|l| l.code == code)
}

/// What is said of one function's loops; spans are relative to the function.
pub(crate) fn say(place: &Place) -> Vec<Saying> {
    let mut said = Vec::new();
    for lint in LINTS {
        let Find::Function(find) = lint.find else { continue };
        for (span, Said { message, mut related, tags, .. }) in find(place) {
            for r in &mut related {
                r.span = place.relative(r.span);
            }
            said.push(Saying { lint, span: place.relative(span), message: message.into(), related, tags });
        }
    }
    for id in shown(&place.facts) {
        if place.is_generated(id) {
            continue;
        }
        let at = At { place, id, facts: place.of(id) };
        // nor is it of a loop that drives the device
        let body = &place.item.body;
        let drives = body.walk(at.facts.term).any(|t| matches!(body.op(t), term::Op::Launch));
        // a thread of a kernel runs its loops alone
        let alone = place.item.is_kernel || (place.item.is_device && !place.item.is_host);
        for lint in LINTS {
            let (find, no_news) = match lint.find {
                Find::Loop(find) => (find, false),
                Find::SpreadableLoop(find) => (find, alone || drives),
                Find::OfferedLoop(find) => (find, alone || crate::regions::refusal(place, id).is_some()),
                _ => continue,
            };
            if no_news {
                continue;
            }
            if let Some(Said { message, mut related, tags, .. }) = find(&at) {
                for r in &mut related {
                    r.span = place.relative(r.span);
                }
                let span = place.relative(place.header(id));
                said.push(Saying { lint, span, message: message.into(), related, tags });
            }
        }
    }
    said
}

/// The diagnostics of a document, in textual order. `said` is what [`say`] gave for its functions, with the place of
/// each function.
pub(crate) fn run(
    ask: &Ask,
    settings: &Settings,
    said: &[(u32, Arc<Worded>)],
    extent: Extent,
) -> Result<Vec<Diagnostic>, Cancelled> {
    let doc = &ask.doc;
    let mut found: Vec<Diagnostic> = Vec::with_capacity(said.iter().map(|(_, w)| w.said.len()).sum());
    for (start, worded) in said {
        for s in &worded.said {
            let shifted = |r: &Related| Related { span: r.span.shifted(*start), message: r.message.clone() };
            found.push(Diagnostic {
                code: s.lint.code,
                severity: severity(s.lint, settings),
                span: s.span.shifted(*start),
                message: s.message.clone(),
                related: s.related.iter().map(shifted).collect(),
                tags: s.tags.clone(),
                evidence: None,
            });
        }
    }
    // what is off is found all the same where there are suppressions, so that they count as used
    let asked = |l: &Lint| settings.level(l.code, l.severity) != Level::Off;
    let suppressed = !settings.levels.is_empty() && unused_ignore::any(doc);
    for lint in LINTS.iter().filter(|l| suppressed || asked(l)) {
        if ask.is_cancelled() {
            return Err(Cancelled);
        }
        if let Find::Document(find) = lint.find {
            let said = instances_merged(doc, lint, find(ask));
            found.extend(said.into_iter().map(|(span, words)| diagnostic(lint, settings, span, words)));
        }
        // functions without loops have no facts, and may have directives all the same
        if let Find::Function(find) = lint.find {
            for item in (0..doc.unit().items.len()).filter(|k| doc.key(*k).is_none()) {
                let said = find(&Place::new(ask, item, FunctionFacts::default()));
                found.extend(said.into_iter().map(|(span, words)| diagnostic(lint, settings, span, words)));
            }
        }
    }
    let mut kept = unused_ignore::suppress(doc, settings, found);
    if extent == Extent::Part {
        kept.retain(|d| d.code != unused_ignore::LINT.code);
    }
    if settings.levels.values().any(|level| *level == Level::Off) {
        kept.retain(|d| lint(d.code).is_none_or(|l| settings.level(d.code, l.severity) != Level::Off));
    }
    kept.sort_by_key(|d| (d.span, d.code));
    Ok(kept)
}

/// What is said of a template's instances, once a place: with the instance's name where others say something else or nothing.
fn instances_merged(doc: &Doc, lint: &Lint, said: Vec<(Span, Said)>) -> Vec<(Span, Said)> {
    if said.iter().all(|(_, s)| s.instance.is_none()) {
        return said;
    }
    let siblings = |span: Span| {
        doc.unit()
            .items
            .iter()
            .filter(move |i| i.template().is_some() && i.span.start <= span.start && span.end <= i.span.end)
    };
    let mut out: Vec<(Span, Said)> = Vec::new();
    for (k, (span, one)) in said.iter().enumerate() {
        let Some(name) = &one.instance else {
            out.push((*span, one.clone()));
            continue;
        };
        let same: Vec<&Said> =
            said.iter().filter(|(s, o)| s == span && o.instance.is_some()).map(|(_, o)| o).collect();
        if said[..k].iter().any(|(s, o)| s == span && o.instance.is_some()) {
            continue;
        }
        let all = siblings(*span).all(|i| same.iter().any(|o| o.instance.as_ref() == Some(&i.name)));
        // what is needless in one instance only is needed
        if !all && one.tags.contains(&Tag::Unnecessary) && lint.severity == Severity::Hint {
            continue;
        }
        let mut kept = one.clone();
        if !all || same.iter().any(|o| o.message != one.message) {
            kept.message.push_str(&format!(" So in the instance `{name}` of the template."));
        }
        out.push((*span, kept));
    }
    out
}

fn diagnostic(lint: &Lint, settings: &Settings, span: Span, said: Said) -> Diagnostic {
    let severity = match settings.levels.contains_key(lint.code) {
        false => said.severity.unwrap_or(lint.severity),
        true => severity(lint, settings),
    };
    Diagnostic {
        code: lint.code,
        severity,
        span,
        message: said.message.into(),
        related: said.related,
        tags: said.tags,
        evidence: said.evidence,
    }
}

fn severity(lint: &Lint, settings: &Settings) -> Severity {
    match settings.level(lint.code, lint.severity) {
        Level::At(severity) => severity,
        Level::Off => lint.severity,
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

/// Whether the user asked for the offload of a loop that gets no kernel: one that is not parallel may still be run by
/// threads without synchronisation.
fn marked_in_vain(at: &At) -> bool {
    at.facts.mark.is_some() && matches!(at.place.known_plan(at.id), Some(Planned::No(_)))
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
