//! One open document as the owner of the state keeps it, and the snapshots it hands out.

use std::sync::{Arc, OnceLock};
use std::time::Instant;

use base::CancelToken;
use text::{Applied, Position, PositionEncoding, PositionRange, Text};
use tower_lsp::ls_types as lsp;

use super::caps::Caps;
use super::host::Ask;
use super::rendered::Rendered;
use super::to_lsp;
use crate::limits::lsp_document::{MAX_PANICS, MAX_PENDING_EDITS};

/// An immutable version of a document with what is known of it.
#[derive(Clone)]
pub struct View {
    pub uri: lsp::Uri,
    /// The client's number for this text.
    pub version: i32,
    /// Ours: counts every change of text or settings.
    pub generation: u64,
    pub text: Text,
    /// `None`: a language that is not read, or a document that was given up.
    pub analyzed: Option<Analyzed>,
    /// The same findings as JSON in the client's words, ready to be sent: made once, where it delays nobody.
    pub rendered: Rendered,
    /// And as values, made when a request asks for them.
    pub diagnostics: OnceLock<Arc<Vec<lsp::Diagnostic>>>,
    pub tier: ide::Tier,
}

impl View {
    /// The diagnostics of this version.
    pub fn diagnostics(&self, caps: &Caps) -> &Arc<Vec<lsp::Diagnostic>> {
        let make = |a: &Analyzed| to_lsp::diagnostics(&a.findings.diagnostics, &a.doc, &self.uri, caps);
        self.diagnostics.get_or_init(|| Arc::new(self.analyzed.as_ref().map(make).unwrap_or_default()))
    }
}

/// A document with its findings; they belong together.
#[derive(Clone)]
pub struct Analyzed {
    pub doc: ide::Doc,
    pub findings: Arc<ide::Findings>,
    /// Facts of the whole session, for what is computed on demand.
    pub memo: ide::Memo,
}

impl Analyzed {
    /// What a request asks with, until it is cancelled.
    pub fn ask(&self, cancel: &CancelToken) -> ide::Ask {
        ide::Ask::new(&self.doc, &self.memo, ide::Tier::Full, cancel)
    }
}

/// What runs for a document now.
pub struct Running {
    pub generation: u64,
    pub cancel: CancelToken,
    /// Whether the document is read for the first time.
    pub opens: bool,
    /// For what must be read in another way.
    pub reading: CancelToken,
}

pub struct Document {
    pub uri: lsp::Uri,
    /// Different each time a document is opened: answers for a closed one are recognized.
    pub epoch: u64,
    pub version: i32,
    pub generation: u64,
    pub text: Text,
    pub language: Option<ide::Language>,
    /// Whether it is a page of rewrite rules.
    pub is_page: bool,
    /// What the parser last saw; `pending` leads from there to `text`.
    pub doc: Option<ide::Doc>,
    pub pending: Vec<Applied>,
    /// Counts how often reading began afresh, so that what was parsed before is recognized and dropped.
    pub readings: u64,
    pub running: Option<Running>,
    /// What looks at the edited function meanwhile.
    pub ahead: Option<CancelToken>,
    /// What that read, until the whole is read.
    pub parts: ide::Parts,
    pub view: Option<Arc<View>>,
    /// The other files of its program, as far as it reaches them.
    pub project: Option<ide::Project>,
    /// Whether it is known which they are.
    pub knows_project: bool,
    /// They are being looked for; whether they are to be looked for once more.
    pub finding_project: Option<bool>,
    pub wants_full: bool,
    pub last_change: Instant,
    /// Where, in the newest text.
    pub edited: Option<base::Span>,
    /// Requests that wait for the analysis of the newest text.
    pub waiting: Vec<Ask>,
    pub panics: u8,
    /// What was last published, to send nothing twice.
    pub published: Option<(i32, Arc<String>)>,
    /// What the compiler said of this generation's kernels.
    pub compiled: Option<(u64, Arc<Vec<lsp::Diagnostic>>)>,
}

impl Document {
    pub fn open(
        uri: lsp::Uri,
        epoch: u64,
        generation: u64,
        language_id: &str,
        version: i32,
        text: Text,
    ) -> Document {
        let name = file_name(&uri);
        let is_page = super::edits::local_path(&uri).is_some_and(|p| crate::rule_pages::is_page(&p));
        let language = ide::Doc::detect(&name, Some(language_id).filter(|id| !id.is_empty()), &text);
        Document {
            uri,
            epoch,
            version,
            generation,
            text,
            language: language.filter(|_| !is_page),
            is_page,
            doc: None,
            pending: Vec::new(),
            readings: 0,
            running: None,
            ahead: None,
            parts: ide::Parts::default(),
            view: None,
            project: None,
            knows_project: false,
            finding_project: None,
            wants_full: false,
            last_change: Instant::now(),
            edited: None,
            waiting: Vec::new(),
            panics: 0,
            published: None,
            compiled: None,
        }
    }

    /// Applies the changes of one notification, in order. What cannot be applied is named; the text then stays as it
    /// was before that change.
    pub fn change(
        &mut self,
        version: i32,
        changes: Vec<lsp::TextDocumentContentChangeEvent>,
        encoding: PositionEncoding,
    ) -> Result<(), text::EditError> {
        if version <= self.version {
            tracing::warn!(
                "{}: version {version} after version {}; changes are applied in the order in which they came",
                self.uri.as_str(),
                self.version
            );
        }
        self.version = version;
        for change in changes {
            let range = change.range.map(range_from_lsp);
            let applied = self.text.apply_lsp_change(range, &change.text, encoding)?;
            self.text = applied.text.clone();
            if let Some(p) = applied.points {
                self.edited = Some(base::Span { start: p.start_byte, end: p.new_end_byte });
            }
            if applied.edit.is_some() {
                self.pending.push(applied);
            }
        }
        if self.pending.len() > MAX_PENDING_EDITS {
            self.read_afresh();
        }
        Ok(())
    }

    /// Forgets what the parser saw.
    pub fn read_afresh(&mut self) {
        if let Some(running) = &self.running {
            running.cancel.cancel();
            running.reading.cancel();
        }
        self.pending.clear();
        self.doc = None;
        self.readings += 1;
    }

    pub fn given_up(&self) -> bool {
        self.panics >= MAX_PANICS
    }

    /// The view of the newest text, if it is there.
    pub fn current(&self) -> Option<&Arc<View>> {
        self.view.as_ref().filter(|v| v.generation == self.generation)
    }

    /// A view without findings.
    pub fn bare_view(&self, diagnostics: Vec<lsp::Diagnostic>) -> View {
        View {
            uri: self.uri.clone(),
            version: self.version,
            generation: self.generation,
            text: self.text.clone(),
            analyzed: None,
            rendered: Rendered::of(&diagnostics),
            diagnostics: OnceLock::from(Arc::new(diagnostics)),
            tier: ide::Tier::Full,
        }
    }
}

/// The last part of the path, decoded: `lu.c`.
pub fn file_name(uri: &lsp::Uri) -> String {
    let path = uri.path().decode().to_string_lossy().into_owned();
    path.rsplit(['/', '\\']).next().unwrap_or("").to_owned()
}

pub fn position_from_lsp(position: lsp::Position) -> Position {
    Position::new(position.line, position.character)
}

pub fn range_from_lsp(range: lsp::Range) -> PositionRange {
    PositionRange::new(position_from_lsp(range.start), position_from_lsp(range.end))
}
