//! Questions about a document: answered at once where its analysis stands, kept until it does otherwise.

use std::sync::Arc;

use tower_lsp::ls_types as lsp;

use super::{Ask, Context, Glance, Glimpse, Host, Refusal};
use crate::lsp::document::{Document, View};
use crate::lsp::edits::local_path;
use crate::lsp::survey::{Open, Survey};

impl Host {
    pub(super) fn ask(&mut self, ask: Ask) {
        let Some(document) = self.documents.get_mut(ask.uri.as_str()) else {
            let refusal = Refusal::UnknownDocument(ask.uri.as_str().to_owned());
            return self.tools.pool.soon(Box::new(move || (ask.run)(Err(refusal))));
        };
        match document.current().cloned() {
            Some(view) => self.answer(ask, view),
            None => {
                document.waiting.retain(|waiting| !waiting.cancel.is_cancelled());
                document.waiting.push(ask);
            }
        }
    }

    pub(super) fn glance(&self, glance: Glance) {
        let document = self.documents.get(glance.uri.as_str());
        let glimpse = Glimpse {
            view: document.and_then(|d| d.view.clone()),
            text: document.map(|d| d.text.clone()),
            caps: self.caps(),
        };
        self.tools.pool.now(Box::new(move || (glance.run)(glimpse)));
    }

    /// What is needed to look at files, open or not.
    pub(super) fn survey(&self) -> Survey {
        let open = |d: &Document| {
            let doc = d.current().and_then(|v| v.analyzed.as_ref()).map(|a| a.doc.clone());
            let doc = doc.ok_or_else(|| d.text.clone());
            let (uri, version) = (d.uri.clone(), d.version);
            Some((local_path(&uri)?, Open { uri, version, doc, language: d.language? }))
        };
        Survey {
            roots: self.places.roots.iter().cloned().collect(),
            settings: self.settings.clone(),
            folder_settings: self.folder_settings.clone(),
            caps: self.caps(),
            pages: self.pages.clone(),
            disk: self.disk.clone(),
            projects: self.projects.clone(),
            memo: self.memo.clone(),
            open: self.documents.values().filter_map(open).collect(),
        }
    }

    /// Tells once more, as after saving.
    pub(super) fn deepened(&mut self, uri: &lsp::Uri) {
        let Some(document) = self.documents.get_mut(uri.as_str()) else { return };
        if let Some(view) = &document.view {
            document.view = Some(Arc::new(View { tier: ide::Tier::Typing, ..view.as_ref().clone() }));
        }
        document.wants_full = true;
        self.analyze(uri.as_str());
    }

    pub(super) fn answer(&self, ask: Ask, view: Arc<View>) {
        let context = Context {
            settings: self.settings_of(view.uri.as_str()),
            view,
            caps: self.caps(),
            pages: self.pages.clone(),
            cancel: ask.cancel.clone(),
        };
        self.tools.pool.soon(Box::new(move || {
            if !context.cancel.is_cancelled() {
                (ask.run)(Ok(context));
            }
        }));
    }
}
