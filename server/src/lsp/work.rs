//! One analysis of one version of a document, on a thread of the pool.

use std::sync::mpsc::{channel, RecvTimeoutError};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use base::CancelToken;
use text::Text;
use tower_lsp::ls_types as lsp;

use super::caps::Caps;
use super::document::{file_name, Analyzed, View};
use super::pool::STACK_BYTES;
use super::rendered::Rendered;
use crate::includes::Disk;
use crate::limits::lsp_work::{EARLY, EARLY_LINES, LEAST, WARM_LINES};
use crate::settings::Settings;

/// What an analysis came to.
pub struct Done {
    /// `None`: reading it was called off.
    pub doc: Option<ide::Doc>,
    /// `None`: cancelled.
    pub view: Option<View>,
}

/// What is to be analyzed, and how.
pub struct Work {
    pub before: Option<ide::Doc>,
    /// What was said of an earlier version.
    pub shown: Option<Arc<View>>,
    /// Whether nothing is known of the document yet; it may have been edited meanwhile.
    pub opening: bool,
    pub changes: Vec<text::Applied>,
    /// Where the text was edited last.
    pub edited: Option<base::Span>,
    pub uri: lsp::Uri,
    pub epoch: u64,
    pub version: i32,
    pub generation: u64,
    pub readings: u64,
    pub text: Text,
    pub language: ide::Language,
    pub tier: ide::Tier,
    pub settings: Arc<Settings>,
    pub caps: Arc<Caps>,
    pub memo: ide::Memo,
    pub disk: Arc<Disk>,
    /// The other files of its program.
    pub project: Option<ide::Project>,
    /// They are not known yet, and will be.
    pub awaits_others: bool,
    pub cancel: CancelToken,
    /// Calls off reading, too: it is to be read in another way. An edit waits for it, and is quickly read then.
    pub reading: CancelToken,
    /// Takes what is known of a long document before all is, as JSON.
    pub early: Box<dyn Fn(Arc<String>) + Send>,
}

impl Work {
    pub fn run(mut self) -> Done {
        fail_on_request(&self.text);
        let started = Instant::now();
        let is_new = self.opening || self.before.is_none();
        let doc = match self.before.take() {
            Some(doc) => doc.edit(&self.changes).with_project(self.project.take()),
            None => {
                let name = file_name(&self.uri);
                let path = super::edits::local_path(&self.uri);
                let options = self.disk.options(path.as_deref(), self.language, &self.settings.given());
                let options = ide::Options { project: self.project.take(), ..options };
                let text = self.text.clone();
                let read = ide::Doc::open_until(self.language, &name, text, options, &self.reading);
                let Some(doc) = read else {
                    return Done { doc: None, view: None };
                };
                doc
            }
        };
        let read = started.elapsed();
        let ask =
            ide::Ask::new(&doc, &self.memo, self.tier, &self.cancel).awaiting_others(self.awaits_others);
        if is_new {
            self.edited_first(&ask);
            self.warm(&ask, started);
        }
        let checked = ide::check(&ask, &self.settings.to_ide());
        let Ok(findings) = checked else {
            return Done { doc: Some(doc), view: None };
        };
        let known = started.elapsed();
        let shown = self.shown.as_deref();
        let rendered = Rendered::findings(&findings.diagnostics, &doc, &self.uri, &self.caps, shown);
        tracing::debug!(
            "{:?} of version {}: read in {read:?}, checked in {:?}, put into words of LSP in {:?}",
            self.tier,
            self.version,
            known - read,
            started.elapsed() - known
        );
        let view = View {
            rendered,
            uri: self.uri,
            version: self.version,
            generation: self.generation,
            text: self.text,
            analyzed: Some(Analyzed { doc: doc.clone(), findings: Arc::new(findings), memo: self.memo }),
            diagnostics: OnceLock::new(),
            tier: self.tier,
        };
        Done { doc: Some(doc), view: Some(view) }
    }

    /// An edit goes before the rest of the opening: what it touches is analyzed, and what is known then is told.
    fn edited_first(&self, ask: &ide::Ask) {
        let Some(edited) = self.edited.filter(|_| ask.doc().text().line_count() >= EARLY_LINES) else {
            return;
        };
        ide::warm_at(ask, &[edited]);
        self.tell_known(ask);
    }

    fn tell_known(&self, ask: &ide::Ask) {
        let found = ide::known(ask, &self.settings.to_ide()).diagnostics;
        if !found.is_empty() && !self.cancel.is_cancelled() {
            (self.early)(Rendered::findings(&found, ask.doc(), &self.uri, &self.caps, None).json);
        }
    }

    /// Analyzes the functions of a document that was just opened on all cores at once, and tells what is known of a long
    /// one in between.
    fn warm(&self, ask: &ide::Ask, started: Instant) {
        let doc = ask.doc();
        let lines = doc.text().line_count();
        let threads = std::thread::available_parallelism().map_or(1, |n| n.get()).min(8);
        if lines < WARM_LINES || (threads == 1 && lines < EARLY_LINES) {
            return;
        }
        std::thread::scope(|scope| {
            let (at_work, all_done) = channel::<()>();
            for part in 0..threads {
                let at_work = at_work.clone();
                let share = move || {
                    ide::warm(ask, part, threads);
                    drop(at_work);
                };
                // where no thread can be had `check` does all of it
                let _ = std::thread::Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, share);
            }
            drop(at_work);
            if lines < EARLY_LINES {
                return;
            }
            let slice = EARLY.saturating_sub(started.elapsed()).max(LEAST);
            if all_done.recv_timeout(slice) == Err(RecvTimeoutError::Timeout) {
                self.tell_known(ask);
                tracing::debug!("what is known was told after {:?}", started.elapsed());
            }
        });
    }
}

/// Lets a test see what a panic does: a text with this line fails to be analyzed, in builds for tests alone.
fn fail_on_request(text: &Text) {
    if cfg!(debug_assertions) && std::env::var_os("WARPWRIGHT_TEST_PANIC").is_some() {
        assert!(!text.to_string().contains("panic in the analysis, please"), "as the text asked");
    }
}
