//! The host's part in rule pages: when they are read again, and what becomes of an open one.

use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::Arc;

use base::CancelToken;
use tower_lsp::ls_types as lsp;

use super::{Host, Message};
use crate::lsp::document::Running;
use crate::lsp::pages;
use crate::lsp::transport::panic_text;
use crate::rule_pages::{self, Pages};

impl Host {
    /// Reads the pages, or reads them once more when they have been read.
    pub(super) fn read_pages(&mut self) {
        if let Some(again) = &mut self.reading_pages {
            *again = true;
            return;
        }
        self.reading_pages = Some(false);
        let (inbox, places, before) = (self.inbox.clone(), self.places.clone(), self.pages.clone());
        self.tools.pool.soon(Box::new(move || {
            let read = || rule_pages::load(&places, &before, &CancelToken::new());
            let read = catch_unwind(AssertUnwindSafe(read)).unwrap_or_else(|panic| {
                tracing::error!("reading rule pages failed: {}", panic_text(panic.as_ref()));
                before.as_ref().clone()
            });
            inbox.send(Message::Pages(read));
        }));
    }

    pub(super) fn use_pages(&mut self, new: Pages) {
        if self.reading_pages.take() == Some(true) {
            self.read_pages();
        }
        for (path, why) in new.refused.iter().filter(|(p, w)| self.pages.refused.get(*p) != Some(w)) {
            let kept = if new.good.contains_key(path) { " Its last good version stays in use." } else { "" };
            let what = format!("The rule page {} is not used: {why}{kept}", path.display());
            self.log(lsp::MessageType::WARNING, &what);
        }
        let is_new = new.good != self.pages.good;
        if is_new {
            let names: Vec<&str> = new.own.iter().map(String::as_str).collect();
            self.log(
                lsp::MessageType::INFO,
                &format!(
                    "Rule pages in use beside the shipped ones: {}.",
                    match names.is_empty() {
                        true => "none".to_owned(),
                        false => names.join(", "),
                    }
                ),
            );
        }
        self.pages = Arc::new(new);
        if !is_new {
            return;
        }
        // what an open page says of other pages' systems may now be otherwise
        let open: Vec<String> =
            self.documents.iter().filter(|(_, d)| d.is_page).map(|(uri, _)| uri.clone()).collect();
        for uri in open {
            let generation = self.generation();
            if let Some(document) = self.documents.get_mut(&uri) {
                document.generation = generation;
                if let Some(running) = &document.running {
                    running.cancel.cancel();
                }
            }
            self.analyze(&uri);
        }
    }

    /// Checks an open page, its examples included.
    pub(super) fn check_page(&mut self, uri: &str) {
        let (inbox, pages, caps) = (self.inbox.clone(), self.pages.clone(), self.caps());
        let Some(document) = self.documents.get_mut(uri) else { return };
        let cancel = CancelToken::new();
        let (uri, epoch, generation) = (document.uri.clone(), document.epoch, document.generation);
        let text = document.text.clone();
        let reading = cancel.clone();
        document.running = Some(Running { generation, cancel: cancel.clone(), opens: false, reading });
        document.wants_full = false;
        self.tools.pool.soon(Box::new(move || {
            let path = crate::lsp::edits::local_path(&uri).unwrap_or_default();
            let check = || pages::diagnostics(&pages.set, &rule_pages::name(&path), &text, &caps, &cancel);
            let diagnostics = catch_unwind(AssertUnwindSafe(check)).map_err(|p| panic_text(p.as_ref()));
            inbox.send(Message::PageChecked { uri, epoch, generation, diagnostics });
        }));
    }

    pub(super) fn page_checked(
        &mut self,
        uri: &lsp::Uri,
        epoch: u64,
        generation: u64,
        diagnostics: Result<Vec<lsp::Diagnostic>, String>,
    ) {
        let Some(document) = self.documents.get_mut(uri.as_str()).filter(|d| d.epoch == epoch) else {
            return;
        };
        if document.running.as_ref().is_some_and(|r| r.generation == generation) {
            document.running = None;
        }
        match diagnostics {
            Ok(found) if document.generation == generation => {
                document.view = Some(Arc::new(document.bare_view(found)));
                self.tell(uri.as_str());
            }
            Ok(_) => {}
            Err(why) => {
                document.panics += 1;
                let what = format!("Checking {} failed inside the server ({why}).", uri.as_str());
                tracing::error!("{what}");
                self.log(lsp::MessageType::ERROR, &what);
            }
        }
        self.analyze(uri.as_str());
    }
}
