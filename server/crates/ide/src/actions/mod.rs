//! What can be done at a place: listed cheaply out of memoised facts, made into edits only when asked for.
//!
//! One file an action. An id names action and loop, not a version: whoever resolves it passes the document it was
//! listed for, or hears [`ResolveError::Stale`].

mod explain;
mod ignore;
mod mark;
mod mend;
mod offload;
mod offload_threads;
mod simulate;
mod transform;
mod unmark;

pub(crate) use simulate::{header as kernel_header, id as simulation};
pub(crate) use unmark::mark_removal;

use base::Span;
use text::EditSet;

use crate::check::{Findings, LoopFinding};
use crate::place::Place;
use crate::{Ask, Diagnostic, Doc};

/// Names an action: `offload:lu#2`. Stable while the function is not edited.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct ActionId(String);

impl ActionId {
    /// From what [`ActionId::as_str`] gave, or a command's argument; checked when resolved.
    pub fn new(text: &str) -> ActionId {
        ActionId(text.to_owned())
    }
    /// As text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
    /// Offload the loop of this key.
    pub fn offload(key: &str) -> ActionId {
        ActionId(format!("offload:{key}"))
    }
    /// Mark the loop of this key.
    pub fn mark(key: &str) -> ActionId {
        ActionId(format!("mark:{key}"))
    }
    /// Remove the mark of the loop of this key.
    pub fn unmark(key: &str) -> ActionId {
        ActionId(format!("unmark:{key}"))
    }
    /// Show all that is known of the loop of this key.
    pub fn explain(key: &str) -> ActionId {
        ActionId(format!("explain:{key}"))
    }
    /// Make the loop of this key parallel by the sequence found.
    pub fn enable(key: &str) -> ActionId {
        ActionId(format!("enable:{key}"))
    }
    /// Transform the loop of this key.
    pub fn transform(name: &str, key: &str) -> ActionId {
        ActionId(format!("transform.{name}:{key}"))
    }
    /// Suppress a code at a byte of the document.
    fn ignore(code: &str, offset: u32) -> ActionId {
        ActionId(format!("ignore:{code}@{offset}"))
    }
    fn parts(&self) -> Option<(&str, &str)> {
        self.0.split_once(':')
    }
}

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
}

/// What an action comes to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Resolved {
    Edit(WorkspaceEdit),
    /// Text to show; nothing changes.
    Show {
        title: String,
        markdown: String,
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

/// What an action file sees of a place.
struct At<'a> {
    ask: &'a Ask,
    doc: &'a Doc,
    findings: &'a Findings,
    place: &'a Place<'a>,
    finding: &'a LoopFinding,
}

impl At<'_> {
    /// Positions of the diagnostics on this loop's header.
    fn diagnostics(&self) -> Vec<usize> {
        let all = self.findings.diagnostics.iter().enumerate();
        all.filter(|(_, d)| d.span == self.finding.header).map(|(k, _)| k).collect()
    }
}

/// What can be done at a span of the document. Reads facts only.
///
/// Loop actions are offered where the span touches a loop's header, as is a suppression where it touches a diagnostic.
pub fn actions(ask: &Ask, findings: &Findings, span: Span) -> Vec<Action> {
    let ask = &ask.listing();
    let doc = &ask.doc;
    let mut offered = Vec::new();
    for finding in findings.loops.iter().filter(|l| touch(l.header, span)) {
        let Some(place) = findings.place(ask, finding.item) else {
            continue;
        };
        let at = At { ask, doc: &ask.doc, findings, place: &place, finding };
        offered.extend(offload::offer(&at));
        offered.extend(offload_threads::offer(&at));
        offered.extend(mark::offer(&at));
        offered.extend(unmark::offer(&at));
        offered.extend(transform::offer_enabling(&at));
        offered.extend(explain::offer(&at));
    }
    offered.extend(simulate::offer(doc, span));
    for (k, d) in findings.diagnostics.iter().enumerate().filter(|(_, d)| touch(d.span, span)) {
        offered.extend(mend::offer(ask, k, d));
        offered.extend(ignore::offer(k, d));
        offered.extend(unmark::offer_unattached(doc, k, d));
    }
    offered
}

/// All transformations that apply to the loops whose header the span touches: for whoever asks for refactorings.
pub fn refactorings(ask: &Ask, findings: &Findings, span: Span) -> Vec<Action> {
    let ask = &ask.listing();
    let mut offered = Vec::new();
    for finding in findings.loops.iter().filter(|l| touch(l.header, span)) {
        if let Some(place) = findings.place(ask, finding.item) {
            offered.extend(transform::offer(&At { ask, doc: &ask.doc, findings, place: &place, finding }));
        }
    }
    offered
}

/// The edit (or text) of an action listed for this document. `findings` are those of the same version.
pub fn resolve(ask: &Ask, findings: &Findings, id: &ActionId) -> Result<Resolved, ResolveError> {
    let doc = &ask.doc;
    let (name, argument) = id.parts().ok_or(ResolveError::Stale)?;
    if let "ignore" | "remove" | "mend" | "simulate" = name {
        return match name {
            "simulate" => simulate::show(ask, argument),
            "ignore" => ignore::edit(doc, findings, argument),
            "mend" => mend::edit(ask, findings, argument),
            _ => unmark::remove(doc, argument),
        };
    }
    let finding = findings.by_key(argument).ok_or(ResolveError::Stale)?;
    let place = findings.place(ask, finding.item).ok_or(ResolveError::Stale)?;
    let at = At { ask, doc: &ask.doc, findings, place: &place, finding };
    match name {
        "offload" => offload::edit(&at),
        "mark" => mark::edit(&at),
        "unmark" => unmark::edit(&at),
        "explain" => explain::show(&at),
        "enable" => transform::enable(&at),
        name if name.starts_with("transform.") => transform::edit(&at, name.trim_start_matches("transform.")),
        _ => Err(ResolveError::Stale),
    }
}

/// An edit of the document alone.
fn document_edit(edit: text::Edit) -> Resolved {
    Resolved::Edit(WorkspaceEdit {
        create: Vec::new(),
        edits: vec![FileEdit { file: None, edits: EditSet::one(edit) }],
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
fn diagnostic_at<'a>(findings: &'a Findings, code: &str, offset: u32) -> Option<&'a Diagnostic> {
    findings.diagnostics.iter().find(|d| d.code == code && d.span.start == offset)
}
