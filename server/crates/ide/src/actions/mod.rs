//! What can be done at a place: listed out of memoised facts, with what is found out of one loop, made into edits only when asked for.
//!
//! One file an action; those on loops are rows of [`LOOP_ACTIONS`]. An id ([`ActionId`]) names action and loop, not a version:
//! whoever resolves it passes the document it was listed for, or hears [`ResolveError::Stale`].

mod enable;
mod explain;
mod id;
mod ignore;
mod mark;
mod offload;
mod offload_threads;
mod optimize;
mod promise;
mod repair;
mod simulate;
mod transform;
mod unmark;
mod worth;

pub use id::ActionId;
pub use mark::mark_all;
pub(crate) use simulate::header as kernel_header;
pub(crate) use unmark::mark_removal;

use analysis::LoopId;
use base::Span;
use text::EditSet;

use crate::check::{Findings, LoopFinding};
use crate::function_view::FunctionView;
use crate::limits::actions::{ASKED, TITLE};
use crate::lints::Lint;
use crate::{Ask, Diagnostic, Doc, Tier};

/// How an editor sorts and filters actions.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ActionKind {
    /// `quickfix`
    QuickFix,
    /// `refactor.rewrite.warpwright.offload`
    Offload,
    /// `refactor.rewrite.warpwright.mark`
    Mark,
    /// `refactor.rewrite.warpwright.explain`: shows, edits nothing.
    Explain,
    /// `refactor.rewrite.warpwright.<transformation>`, the whole name.
    Transform(&'static str),
}

impl ActionKind {
    /// The hierarchical name editors filter by.
    pub fn name(self) -> &'static str {
        match self {
            ActionKind::QuickFix => "quickfix",
            ActionKind::Offload => "refactor.rewrite.warpwright.offload",
            ActionKind::Mark => "refactor.rewrite.warpwright.mark",
            ActionKind::Explain => "refactor.rewrite.warpwright.explain",
            ActionKind::Transform(name) => name,
        }
    }
}

/// Something that can be done.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Action {
    pub id: ActionId,
    /// Carries the essential words.
    pub title: String,
    pub kind: ActionKind,
    /// The diagnostics it answers, as positions in [`Findings::diagnostics`].
    pub diagnostics: Vec<usize>,
    /// Why it cannot be done now; the title says what it would do.
    pub disabled: Option<String>,
    /// Whether it is what most users want here.
    pub preferred: bool,
}

/// A new file beside the document.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NewFile {
    /// File name without folders.
    pub name: String,
    pub text: String,
    /// Whether it is one for the whole project, whatever is offloaded in it.
    pub is_shared: bool,
}

/// Edits of one existing file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FileEdit {
    /// File name without folders; `None`: the document itself.
    pub file: Option<String>,
    /// In bytes of the version the edit was made for.
    pub edits: EditSet,
}

/// Everything an action changes; applied whole or not at all.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct WorkspaceEdit {
    /// Files to create; one of that name that is there already is replaced.
    pub create: Vec<NewFile>,
    pub edits: Vec<FileEdit>,
    /// Of several places that were asked for at once: those that stay as they are, and why.
    pub left_out: Vec<String>,
    /// What is not as the title says, a sentence each.
    pub told: Vec<String>,
}

/// What an action comes to.
#[derive(Clone, Debug)]
pub enum Resolved {
    Edit(WorkspaceEdit),
    /// Text to show; nothing changes.
    Show {
        title: String,
        markdown: String,
        /// The run that it tells.
        run: Option<Box<crate::kernels::KernelRun>>,
    },
}

/// Why an action comes to nothing.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ResolveError {
    /// There is no such place in this version of the document: list the actions again.
    Stale,
    /// It must not or cannot be done; the reason is a sentence for the user.
    Refused(String),
    /// Nobody wants it any more.
    Cancelled,
}

/// What can be done with a loop: a row a file.
pub struct LoopAction {
    /// As ids name it.
    name: &'static str,
    /// Reads facts only: it is asked at every move of the cursor.
    offer: fn(&At) -> Option<Action>,
    /// Asked when somebody wants it: what is made is checked here.
    edit: fn(&At) -> Result<Resolved, ResolveError>,
}

static LOOP_ACTIONS: &[&LoopAction] = &[
    // in the order of the menu
    &offload::ACTION,
    &optimize::ACTION,
    &promise::ACTION,
    &mark::ACTION,
    &unmark::ACTION,
    &enable::ACTION,
    &explain::ACTION,
];

/// What an action file sees of a place.
struct At<'a> {
    ask: &'a Ask,
    doc: &'a Doc,
    findings: &'a Findings,
    view: &'a FunctionView<'a>,
    /// The same for what is found out of this one loop before anything is offered: whether it gets a kernel, which promise settles it.
    thorough: &'a FunctionView<'a>,
    finding: &'a LoopFinding,
}

impl At<'_> {
    /// Names the action on this loop.
    fn id(&self, action: &'static LoopAction) -> ActionId {
        ActionId::Loop(action, self.finding.key.to_string())
    }

    /// Positions of the diagnostics on this loop's header.
    fn diagnostics(&self) -> Vec<usize> {
        let all = self.findings.diagnostics.iter().enumerate();
        all.filter(|(_, d)| d.span == self.finding.header).map(|(k, _)| k).collect()
    }
}

/// What can be done at a span of the document, suppressions last. Facts are read, and whether an offload or a promise would come to
/// something is found out and remembered, so that nothing is offered in vain.
///
/// Loop actions are offered where the span touches a loop's header, and for the loop to speak of where it lies in its body; a
/// suppression where it touches a diagnostic.
pub fn actions(ask: &Ask, findings: &Findings, span: Span) -> Vec<Action> {
    let spoken_of = spoken_of(ask, findings, span);
    let patient = &match spoken_of.len() <= ASKED {
        true => ask.at(ask.tier.max(Tier::Command)),
        false => ask.listing(),
    };
    let ask = &ask.listing();
    let doc = &ask.doc;
    let mut offered = Vec::new();
    for finding in spoken_of {
        let views = (findings.view(ask, finding.item), findings.view(patient, finding.item));
        let (Some(view), Some(thorough)) = views else {
            continue;
        };
        let at = At { ask, doc: &ask.doc, findings, view: &view, thorough: &thorough, finding };
        offered.extend(LOOP_ACTIONS.iter().filter_map(|a| (a.offer)(&at)));
    }
    offered.extend(worth::offer(ask, findings, span));
    offered.extend(simulate::offer(doc, span));
    let touched = || findings.diagnostics.iter().enumerate().filter(|(_, d)| touch(d.span, span));
    for (k, d) in touched() {
        // several findings of one place may have one repair
        for repair in repair::offer(ask, k, d) {
            if !offered.iter().any(|a| a.id == repair.id) {
                offered.push(repair);
            }
        }
        offered.extend(unmark::offer_unattached(doc, k, d));
    }
    offered.extend(touched().filter_map(|(k, d)| ignore::offer(doc, k, d)));
    offered.iter_mut().for_each(|a| a.title = short(std::mem::take(&mut a.title)));
    offered
}

/// The loops whose headers a span touches, or the blanks before them on their lines. In a body it is the outermost parallel loop around, for that is what can be done
/// something with, else the innermost one.
fn spoken_of<'f>(ask: &Ask, findings: &'f Findings, span: Span) -> Vec<&'f LoopFinding> {
    let text = ask.doc.text();
    let with_blanks = |header: Span| {
        let line = text.line_of(header.start);
        let start = text.line_span(line).map_or(header.start, |l| l.start);
        let is_first = start + text.indentation_of(line).len() as u32 == header.start;
        Span { start: if is_first { start } else { header.start }, end: header.end }
    };
    let on_headers: Vec<&LoopFinding> =
        findings.loops.iter().filter(|l| touch(with_blanks(l.header), span)).collect();
    if !on_headers.is_empty() {
        return on_headers;
    }
    // outermost first
    let around = || findings.loops.iter().filter(|l| l.span.start <= span.start && span.end <= l.span.end);
    let is = |l: &LoopFinding, wanted: fn(&FunctionView, LoopId) -> bool| {
        let view = findings.view(ask, l.item);
        view.is_some_and(|v| {
            crate::lints::is_parallel(v.of(l.id)) && !v.is_generated(l.id) && wanted(&v, l.id)
        })
    };
    // of those of which it is known that no kernel is made only where there are no others
    let open = around().find(|l| is(l, |v, id| v.known_obstacle(id).is_none()));
    let parallel = open.or_else(|| around().find(|l| is(l, |_, _| true)));
    parallel.or_else(|| around().min_by_key(|l| l.span.len())).into_iter().collect()
}

/// A title that menus show whole: cut at a word, if it is too long. Titles of rule systems stay as they are: what they assume is said
/// nowhere else.
fn short(title: String) -> String {
    if title.chars().count() <= TITLE {
        return title;
    }
    let cut: String = title.chars().take(TITLE - 1).collect();
    // back to the end of a word, unless one word is all there is
    let end = cut.rfind(' ').filter(|&e| e > TITLE / 2).unwrap_or(cut.len());
    format!("{}…", cut.get(..end).unwrap_or(&cut).trim_end_matches([' ', ',', '(', ':']))
}

/// A title with remarks in parentheses, those that fit.
fn with_remarks(title: &str, remarks: &[String]) -> String {
    let whole = |count: usize| {
        format!("{title} ({})", remarks.iter().take(count).cloned().collect::<Vec<_>>().join(", "))
    };
    let fits = (1..=remarks.len()).rev().map(whole).find(|t| t.chars().count() <= TITLE);
    fits.unwrap_or_else(|| title.to_owned())
}

/// All transformations that apply to the loops whose header the span touches: for whoever asks for refactorings.
pub fn refactorings(ask: &Ask, findings: &Findings, span: Span) -> Vec<Action> {
    let ask = &ask.listing();
    let mut offered = Vec::new();
    for finding in spoken_of(ask, findings, span) {
        if let Some(view) = findings.view(ask, finding.item) {
            let at = At { ask, doc: &ask.doc, findings, view: &view, thorough: &view, finding };
            offered.extend(transform::offer(&at));
            offered.iter_mut().for_each(|a| a.title = short(std::mem::take(&mut a.title)));
        }
    }
    offered
}

/// The edit (or text) of an action listed for this document. `findings` are those of the same version.
pub fn resolve(ask: &Ask, findings: &Findings, id: &ActionId) -> Result<Resolved, ResolveError> {
    let doc = &ask.doc;
    match id {
        ActionId::Loop(action, key) => on_loop(ask, findings, key, action.edit),
        ActionId::Transform { name, key } => on_loop(ask, findings, key, |at| transform::edit(at, name)),
        ActionId::Repair { lint, offset, number } => repair::edit(ask, findings, lint, *offset, *number),
        ActionId::Ignore { lint, offset } => ignore::edit(doc, findings, lint, *offset),
        ActionId::Remove(span) => unmark::remove(doc, *span),
        ActionId::Worth(function) => worth::edit(ask, findings, function.as_deref()),
        ActionId::Simulate(kernel) => simulate::show(ask, kernel),
    }
}

/// What an action makes of the loop of a key.
fn on_loop(
    ask: &Ask,
    findings: &Findings,
    key: &str,
    edit: impl Fn(&At) -> Result<Resolved, ResolveError>,
) -> Result<Resolved, ResolveError> {
    let finding = findings.by_key(key).ok_or(ResolveError::Stale)?;
    let view = findings.view(ask, finding.item).ok_or(ResolveError::Stale)?;
    let patient = ask.at(ask.tier.max(Tier::Command));
    let thorough = findings.view(&patient, finding.item).ok_or(ResolveError::Stale)?;
    edit(&At { ask, doc: &ask.doc, findings, view: &view, thorough: &thorough, finding })
}

/// An edit of the document alone.
fn document_edit(edit: text::Edit) -> Resolved {
    Resolved::Edit(WorkspaceEdit {
        edits: vec![FileEdit { file: None, edits: EditSet::one(edit) }],
        ..WorkspaceEdit::default()
    })
}

fn touch(a: Span, b: Span) -> bool {
    a.start <= b.end && b.start <= a.end
}

/// A diagnostic's line may be edited only if a line put above it would still be a line of its own.
fn line_above_is_free(doc: &Doc, line: u32) -> bool {
    match line.checked_sub(1) {
        Some(above) => !doc.text().line(above).trim_end().ends_with('\\'),
        None => true,
    }
}

/// A comment line to put above the line of an offset, with that line's indentation, and where to put it.
fn line_above(doc: &Doc, offset: u32, comment: &str) -> Option<text::Edit> {
    let line = doc.text().line_of(offset);
    if !line_above_is_free(doc, line) {
        return None;
    }
    let start = doc.text().line_span(line)?.start;
    let indentation = doc.text().indentation_of(line);
    let end = doc.text().line_ending().as_str();
    Some(text::Edit::insert(start, format!("{indentation}{comment}{end}")))
}

/// The diagnostic an id speaks of.
fn diagnostic_at<'a>(findings: &'a Findings, lint: &Lint, offset: u32) -> Option<&'a Diagnostic> {
    findings.diagnostics.iter().find(|d| d.lint == lint && d.span.start == offset)
}
