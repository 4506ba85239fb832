//! The host's part in telling: diagnostics as they become known, answers to what waited, refreshes.

use std::sync::Arc;

use tower_lsp::ls_types as lsp;

use super::{Host, Message};
use crate::lsp::caps::Caps;
use crate::lsp::compile;
use crate::lsp::document::View;
use crate::lsp::rendered::Rendered;

impl Host {
    /// Shows what is known so far of a document of which nothing is shown yet. Requests still wait for all of it.
    /// `ahead`: of the edited function alone, which is of use only until the document is read.
    pub(super) fn early(
        &mut self,
        uri: &lsp::Uri,
        (epoch, generation): (u64, u64),
        rendered: Arc<String>,
        ahead: bool,
    ) {
        let pulls = self.caps().pulls_diagnostics;
        let found = self.documents.get_mut(uri.as_str());
        let Some(document) = found.filter(|d| d.epoch == epoch && d.generation == generation) else { return };
        if pulls || document.view.is_some() || ahead && document.ahead.is_none() {
            return;
        }
        document.published = Some((document.version, rendered.clone()));
        self.tools.outgoing.send_diagnostics(uri.as_str(), Some(document.version), &rendered);
    }

    /// The document has news: answers what waited for it and sends its diagnostics.
    pub(super) fn tell(&mut self, uri: &str) {
        let caps = self.caps();
        let Some(document) = self.documents.get_mut(uri) else { return };
        let Some(view) = document.current().cloned() else { return };
        let compiled = document.compiled.clone();
        let compiled = compiled.filter(|(of, more)| *of == view.generation && !more.is_empty());
        let view = match compiled {
            None => view,
            Some((_, more)) => {
                let mut all = view.diagnostics(&caps).as_ref().clone();
                all.extend(more.iter().cloned());
                let rendered = Rendered::of(&all);
                Arc::new(View { diagnostics: Arc::new(all).into(), rendered, ..view.as_ref().clone() })
            }
        };
        let waiting = std::mem::take(&mut document.waiting);
        let published = Some((view.version, view.rendered.json.clone()));
        let is_news = document.published != published;
        let was_pulled = document.published.is_some();
        document.published = published;
        let worth_telling = view.analyzed.is_some() || was_pulled || *view.rendered.json != "[]";
        if is_news && worth_telling && !caps.pulls_diagnostics {
            self.tools.outgoing.send_diagnostics(uri, Some(view.version), &view.rendered.json);
        }
        if let Some(document) = self.documents.get_mut(uri) {
            document.view = Some(view.clone());
        }
        for ask in waiting {
            self.answer(ask, view.clone());
        }
        // what the client has fetched for this text may have become better known
        if is_news && was_pulled && view.tier == ide::Tier::Full {
            self.refresh(&caps);
        }
    }

    fn refresh(&self, caps: &Caps) {
        let (client, caps) = (self.tools.client.clone(), caps.clone());
        self.tools.runtime.spawn(async move {
            if caps.pulls_diagnostics && caps.refreshes_diagnostics {
                let _ = client.workspace_diagnostic_refresh().await;
            }
            if caps.refreshes_hints {
                let _ = client.inlay_hint_refresh().await;
            }
            if caps.refreshes_lenses {
                let _ = client.code_lens_refresh().await;
            }
        });
    }

    /// Compiles the kernels of marked loops, where a compiler is there, and reports back.
    pub(super) fn compile(&self, view: Arc<View>, epoch: u64) {
        let settings = self.settings_of(view.uri.as_str());
        if !settings.compile_check.enable {
            return;
        }
        let (inbox, caps) = (self.inbox.clone(), self.caps());
        let pages = self.pages.clone();
        self.tools.pool.long(Box::new(move || {
            if let Some(diagnostics) = compile::check_marked(&view, &settings, &caps, &pages) {
                let (uri, generation) = (view.uri.clone(), view.generation);
                inbox.send(Message::Compiled { uri, epoch, generation, diagnostics });
            }
        }));
    }

    pub(super) fn compiled(
        &mut self,
        uri: &lsp::Uri,
        epoch: u64,
        generation: u64,
        diagnostics: Vec<lsp::Diagnostic>,
    ) {
        let found = self.documents.get_mut(uri.as_str());
        let Some(document) = found.filter(|d| d.epoch == epoch && d.generation == generation) else { return };
        let first_time = document.compiled.as_ref().is_none_or(|(of, _)| *of != generation);
        // the view of this generation may carry them already
        if first_time {
            document.compiled = Some((generation, Arc::new(diagnostics)));
            self.tell(uri.as_str());
        }
    }
}
