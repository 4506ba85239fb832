//! The lints: one file each, listed by its folder, each with a page in `docs/codes`.
//!
//! A lint finds first, words second, and repairs last, where it can: what a finding rests on is handed to its own `fixes`. What is shown where: a nest has one diagnostic, on its
//! outermost loop, and others only on inner loops where the parallelism is or which the user marked; loops that are not worth a word
//! ([`crate::quiet`]) have none.

mod directives;
mod host;
mod kernels;
mod loops;

use std::collections::BTreeSet;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use analysis::{LoopFacts, LoopId};
use base::Span;
use rustc_hash::FxHashMap;

use crate::check::{Cancelled, Extent};
use crate::function_view::{line_column, FunctionView};
use crate::memo::FunctionFacts;
pub(crate) use directives::missing_header::{is_declared, is_known_header, is_provided};
pub use directives::missing_header::{missing_headers, toolkit_headers};
pub use loops::not_understood::has_unread_loops;
pub(crate) use loops::{is_parallel, parallel_inside, shown};

use crate::function_messages::FunctionMessages;
use crate::quiet::quiet;
use crate::repairs::Fix;
use crate::words::rests_on_others;
use crate::{Ask, Diagnostic, Doc, Evidence, Fact, Level, Related, Settings, Severity, Tag};

/// What one lint is.
#[derive(Debug)]
pub struct Lint {
    /// Kebab-case; the file's stem with `-` for `_`.
    pub(crate) code: &'static str,
    /// Severity where settings say nothing.
    pub(crate) severity: Severity,
    /// One line for lists.
    pub(crate) summary: &'static str,
    /// Markdown.
    pub(crate) page: &'static str,
    pub(crate) find: Find,
    /// The repairs of a finding, the simplest first.
    pub(crate) fixes: &'static [Fix],
}

impl PartialEq for Lint {
    fn eq(&self, other: &Lint) -> bool {
        self.code == other.code
    }
}

impl Eq for Lint {}

impl Hash for Lint {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.code.hash(state);
    }
}

/// How a lint finds.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Find {
    /// Asked of every loop that may be shown; the diagnostic stands on its header.
    Loop(fn(&At) -> Option<Message>),
    /// Likewise, but for loops that one thread runs by itself, or that drive the device: whether those could be spread over
    /// threads is no news.
    SpreadableLoop(fn(&At) -> Option<Message>),
    /// Likewise, but for loops that threads run already or that one thread runs by itself.
    OfferedLoop(fn(&At) -> Option<Message>),
    /// Asked once a function; spans are of the document.
    Function(fn(&FunctionView) -> Vec<(Span, Message)>),
    /// Asked once a document.
    Document(fn(&Ask) -> Vec<(Span, Message)>),
    /// Found while suppressing.
    Suppressions,
}

/// One loop that may be shown.
pub(crate) struct At<'a> {
    pub view: &'a FunctionView<'a>,
    pub id: LoopId,
    pub facts: &'a LoopFacts,
}

/// What a lint says.
#[derive(Clone, Default, Debug)]
pub(crate) struct Message {
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
    /// Functions of which nothing is known, where they are all that it tells of: that is told once.
    pub strangers: Vec<Arc<str>>,
}

impl Message {
    /// Of this function, still without words.
    pub(crate) fn of(item: &front::Item) -> Message {
        Message { instance: item.template().map(|_| item.name.clone()), ..Message::default() }
    }
    /// Likewise, resting on this.
    pub(crate) fn on(item: &front::Item, fact: Fact) -> Message {
        let evidence = Evidence { function: item.name.clone(), fact };
        Message { evidence: Some(Arc::new(evidence)), ..Message::of(item) }
    }
    /// Of no function.
    pub(crate) fn on_directive(fact: Fact) -> Message {
        Message { evidence: Some(Arc::new(Evidence { function: "".into(), fact })), ..Message::default() }
    }
}

/// What is said of a loop, ready to be shown wherever its function stands.
#[derive(Debug)]
pub(crate) struct LoopMessage {
    lint: &'static Lint,
    /// Relative to the function, as are those of `related`.
    span: Span,
    message: Arc<str>,
    related: Vec<Related>,
    tags: Vec<Tag>,
    evidence: Option<Arc<Evidence>>,
    /// See [`Message::strangers`].
    strangers: Vec<Arc<str>>,
    /// Whether it is told only to those who ask for it.
    quiet: bool,
    /// Whether another file of the program may say more.
    awaits: bool,
}

impl LoopMessage {
    /// Whether it is told, and another file of the program may say more of its loop.
    pub(crate) fn awaits_others(&self) -> bool {
        self.awaits && !self.quiet
    }
}

/// All lints.
pub(crate) fn lints() -> impl Iterator<Item = &'static Lint> {
    [directives::LINTS, host::LINTS, kernels::LINTS, loops::LINTS].into_iter().flatten()
}

/// The lint of this code.
pub(crate) fn lint(code: &str) -> Option<&'static Lint> {
    lints().find(|l| l.code == code)
}

/// What is said of one function's loops; spans are relative to the function.
pub(crate) fn say(view: &FunctionView) -> Vec<LoopMessage> {
    let mut said = Vec::new();
    for lint in lints() {
        let Find::Function(find) = lint.find else { continue };
        for (span, Message { message, mut related, tags, evidence, .. }) in find(view) {
            for r in &mut related {
                r.span = view.relative(r.span);
            }
            said.push(LoopMessage {
                lint,
                span: view.relative(span),
                message: message.into(),
                related,
                tags,
                evidence,
                strangers: Vec::new(),
                quiet: false,
                awaits: false,
            });
        }
    }
    for id in shown(&view.facts) {
        if view.is_generated(id) {
            continue;
        }
        let quiet = quiet(view, id).is_some();
        let at = At { view, id, facts: view.of(id) };
        // nor is it of a loop that drives the device
        let body = &view.item.body;
        let drives = body.walk(at.facts.term).any(|t| matches!(body.op(t), term::Op::Launch));
        // a thread of a kernel runs its loops alone
        let alone = view.item.is_device_only();
        for lint in lints() {
            let (find, no_news) = match lint.find {
                Find::Loop(find) => (find, false),
                Find::SpreadableLoop(find) => (find, alone || drives),
                Find::OfferedLoop(find) => (
                    find,
                    alone
                        || crate::regions::refusal(view, id).is_some()
                        || crate::regions::on_a_device(view, id).is_some(),
                ),
                _ => continue,
            };
            if no_news {
                continue;
            }
            if let Some(Message { message, mut related, tags, evidence, strangers, .. }) = find(&at) {
                for r in &mut related {
                    r.span = view.relative(r.span);
                }
                let span = view.relative(view.header(id));
                said.push(LoopMessage {
                    lint,
                    span,
                    message: message.into(),
                    related,
                    tags,
                    evidence,
                    strangers,
                    quiet,
                    awaits: lint == &loops::unknown_loop::LINT && rests_on_others(view, id),
                });
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
    said: &[(u32, Arc<FunctionMessages>)],
    extent: Extent,
) -> Result<Vec<Diagnostic>, Cancelled> {
    let doc = &ask.doc;
    let mut found: Vec<Diagnostic> = Vec::with_capacity(said.iter().map(|(_, w)| w.said.len()).sum());
    for (start, worded) in said {
        for s in &worded.said {
            let shifted = |r: &Related| Related { span: r.span.shifted(*start), message: r.message.clone() };
            found.push(Diagnostic {
                lint: s.lint,
                code: s.lint.code,
                severity: severity(s.lint, settings),
                span: s.span.shifted(*start),
                message: s.message.clone(),
                related: s.related.iter().map(shifted).collect(),
                tags: s.tags.clone(),
                evidence: s.evidence.clone(),
                quiet: s.quiet,
                awaits: s.awaits,
            });
        }
    }
    // what is off is found all the same where there are suppressions, so that they count as used
    let asked = |l: &Lint| settings.level(l.code, l.severity) != Level::Off;
    let suppressed = !settings.levels.is_empty() && directives::unused_ignore::any(doc);
    for lint in lints().filter(|l| suppressed || asked(l)) {
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
                let said = find(&FunctionView::new(ask, item, FunctionFacts::default()));
                found.extend(said.into_iter().map(|(span, words)| diagnostic(lint, settings, span, words)));
            }
        }
    }
    let mut kept = directives::unused_ignore::suppress(doc, settings, found);
    // who gives a code a level wants to see it
    kept.retain(|d| !d.quiet || settings.levels.contains_key(d.code));
    kept.retain(|d| !(d.awaits && ask.awaits_others));
    if extent == Extent::Part {
        kept.retain(|d| d.code != directives::unused_ignore::LINT.code);
    }
    if settings.levels.values().any(|level| *level == Level::Off) {
        kept.retain(|d| lint(d.code).is_none_or(|l| settings.level(d.code, l.severity) != Level::Off));
    }
    kept.sort_by_key(|d| (d.span, d.code));
    if !settings.levels.contains_key(loops::unknown_loop::LINT.code) {
        tell_once(doc, said, &mut kept);
    }
    Ok(kept)
}

/// Of functions of which nothing is known the first loop that calls them tells; it says how many more do.
fn tell_once(doc: &Doc, said: &[(u32, Arc<FunctionMessages>)], kept: &mut Vec<Diagnostic>) {
    let mut strangers: FxHashMap<Span, &[Arc<str>]> = FxHashMap::default();
    for (start, worded) in said {
        let all = worded.said.iter().filter(|s| !s.strangers.is_empty());
        strangers.extend(all.map(|s| (s.span.shifted(*start), &*s.strangers)));
    }
    // the loop that told of each, by its place in the list
    let mut told: FxHashMap<&str, usize> = FxHashMap::default();
    let mut more: Vec<(usize, usize)> = Vec::new();
    for (k, d) in kept.iter().enumerate().filter(|(_, d)| d.lint == &loops::unknown_loop::LINT) {
        let Some(names) = strangers.get(&d.span) else { continue };
        match names.iter().map(|n| told.get(&**n).copied()).collect::<Option<Vec<usize>>>() {
            Some(by) => more.extend(by.first().map(|&by| (by, k))),
            None => names.iter().for_each(|n| {
                told.entry(n).or_insert(k);
            }),
        }
    }
    let line = |k: usize| line_column(doc, kept[k].span.start).line;
    let mut words: Vec<(usize, String)> = Vec::new();
    for first in told.values().copied().collect::<BTreeSet<usize>>() {
        let others: Vec<usize> = more.iter().filter(|m| m.0 == first).map(|m| m.1).collect();
        let so = match others.as_slice() {
            [] => continue,
            [one] => format!(" So it is with the loop on line {}.", line(*one)),
            [one, ..] => {
                format!(
                    " So it is with {} more loops of this file, the next on line {}.",
                    others.len(),
                    line(*one)
                )
            }
        };
        words.push((first, format!("{}{so}", kept[first].message)));
    }
    for (k, text) in words {
        kept[k].message = text.into();
    }
    let gone: BTreeSet<usize> = more.into_iter().map(|m| m.1).collect();
    let mut at = 0..;
    kept.retain(|_| at.next().is_none_or(|k| !gone.contains(&k)));
}

/// What is said of a template's instances, once a place: with the instance's name where others say something else or nothing.
fn instances_merged(doc: &Doc, lint: &Lint, said: Vec<(Span, Message)>) -> Vec<(Span, Message)> {
    if said.iter().all(|(_, s)| s.instance.is_none()) {
        return said;
    }
    let siblings = |span: Span| {
        doc.unit()
            .items
            .iter()
            .filter(move |i| i.template().is_some() && i.span.start <= span.start && span.end <= i.span.end)
    };
    let mut out: Vec<(Span, Message)> = Vec::new();
    for (k, (span, one)) in said.iter().enumerate() {
        let Some(name) = &one.instance else {
            out.push((*span, one.clone()));
            continue;
        };
        let same: Vec<&Message> =
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
        // of an instance whose types the file does not say it is not known that it is run
        let guessed = doc.unit().guessed.contains(name);
        if !all || guessed || same.iter().any(|o| o.message != one.message) {
            kept.message.push_str(&format!(" So in the instance `{name}` of the template."));
        }
        out.push((*span, kept));
    }
    out
}

fn diagnostic(lint: &'static Lint, settings: &Settings, span: Span, said: Message) -> Diagnostic {
    let severity = match settings.levels.contains_key(lint.code) {
        false => said.severity.unwrap_or(lint.severity),
        true => severity(lint, settings),
    };
    Diagnostic {
        lint,
        code: lint.code,
        severity,
        span,
        message: said.message.into(),
        related: said.related,
        tags: said.tags,
        evidence: said.evidence,
        quiet: false,
        awaits: false,
    }
}

fn severity(lint: &Lint, settings: &Settings) -> Severity {
    match settings.level(lint.code, lint.severity) {
        Level::At(severity) => severity,
        Level::Off => lint.severity,
    }
}
