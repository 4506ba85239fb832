//! The host's part in the other files of a document's program: they are looked for behind all that somebody waits for, and a
//! document that reaches others than before is analyzed again.

use std::panic::{catch_unwind, AssertUnwindSafe};

use base::CancelToken;
use tower_lsp::ls_types as lsp;

use super::{Host, Message};
use crate::lsp::edits::local_path;
use crate::lsp::transport::panic_text;

impl Host {
    /// Looks for the files that a document reaches, or once more when that is done.
    pub(super) fn find_project(&mut self, uri: &str) {
        let given = self.settings_of(uri).given();
        let Some(document) = self.documents.get_mut(uri) else { return };
        if let Some(again) = &mut document.finding_project {
            *again = true;
            return;
        }
        let analyzed = document.view.as_ref().and_then(|v| v.analyzed.as_ref());
        let (Some(path), Some(analyzed)) = (local_path(&document.uri), analyzed) else { return };
        document.finding_project = Some(false);
        let (uri, epoch, before) = (document.uri.clone(), document.epoch, document.project.clone());
        let (doc, projects) = (analyzed.doc.clone(), self.projects.clone());
        let inbox = self.inbox.clone();
        self.tools.pool.long(Box::new(move || {
            let find = || projects.of(&doc, &path, &given, &CancelToken::new());
            let project = catch_unwind(AssertUnwindSafe(find)).unwrap_or_else(|panic| {
                tracing::error!("looking for other files failed: {}", panic_text(panic.as_ref()));
                before
            });
            inbox.send(Message::Project { uri, epoch, project });
        }));
    }

    /// Likewise for all documents but one: a file that they may reach changed.
    pub(super) fn find_projects(&mut self, but: &str) {
        let uris: Vec<String> = self.documents.keys().filter(|uri| *uri != but).cloned().collect();
        for uri in uris {
            self.find_project(&uri);
        }
    }

    /// The files that a document reaches are known.
    pub(super) fn use_project(&mut self, uri: &lsp::Uri, epoch: u64, project: Option<ide::Project>) {
        let generation = self.generation();
        let found = self.documents.get_mut(uri.as_str());
        let Some(document) = found.filter(|d| d.epoch == epoch) else { return };
        let again = document.finding_project.take() == Some(true);
        let is_first = !std::mem::replace(&mut document.knows_project, true);
        let analyzed = document.view.as_ref().and_then(|v| v.analyzed.as_ref());
        let is_awaited = is_first && analyzed.is_some_and(|a| a.findings.awaits_others);
        if document.project != project || is_awaited {
            document.project = project;
            document.generation = generation;
            document.wants_full = true;
            if let Some(running) = &document.running {
                running.cancel.cancel();
            }
            self.analyze(uri.as_str());
        }
        if again {
            self.find_project(uri.as_str());
        }
    }
}
