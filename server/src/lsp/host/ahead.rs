//! The first answer to an edit of a long document that is still being read for the first time: the edited function, read
//! and judged alone. It says less than the analysis that follows, and nothing that this takes back (`ide::Parts`).

use std::sync::Arc;

use base::CancelToken;
use text::Text;
use tower_lsp::ls_types as lsp;

use super::{Host, Message};
use crate::includes::Disk;
use crate::limits::lsp_work::EARLY_LINES;
use crate::lsp::caps::Caps;
use crate::lsp::document::file_name;
use crate::lsp::edits::local_path;
use crate::lsp::rendered::Rendered;
use crate::settings::Settings;

impl Host {
    /// An edit of a long document that is being read for the first time does not wait for all of it: the edited function is
    /// looked at alone.
    pub(super) fn look_ahead(&mut self, uri: &str) {
        let (caps, settings) = (self.caps(), self.settings_of(uri));
        let Some(document) = self.documents.get_mut(uri) else { return };
        if let Some(earlier) = document.ahead.take() {
            earlier.cancel();
        }
        let is_long = document.text.line_count() >= EARLY_LINES;
        let opening = document.running.as_ref().filter(|r| r.opens && is_long);
        let (Some(opening), Some(language), Some(edited)) = (opening, document.language, document.edited)
        else {
            return;
        };
        let cancel = CancelToken::new();
        document.ahead = Some(cancel.clone());
        let (uri, epoch, generation) = (document.uri.clone(), document.epoch, document.generation);
        let ahead = Ahead {
            uri: uri.clone(),
            text: document.text.clone(),
            language,
            edited,
            settings,
            caps,
            disk: self.disk.clone(),
            reading: opening.reading.clone(),
            parts: document.parts.clone(),
            cancel,
        };
        let inbox = self.inbox.clone();
        self.tools.pool.soon(Box::new(move || {
            if let Some(rendered) = ahead.run() {
                inbox.send(Message::Early { uri, epoch, generation, rendered, ahead: true });
            }
        }));
    }
}

/// What is to be looked at.
struct Ahead {
    uri: lsp::Uri,
    text: Text,
    language: ide::Language,
    /// Where the text was edited last.
    edited: base::Span,
    settings: Arc<Settings>,
    caps: Arc<Caps>,
    disk: Arc<Disk>,
    /// Calls off reading the document, which lets this go first.
    reading: CancelToken,
    /// What was read of it by earlier looks.
    parts: ide::Parts,
    cancel: CancelToken,
}

impl Ahead {
    /// Diagnostics as JSON; `None`: there is nothing to be said before the whole is read.
    fn run(self) -> Option<Arc<String>> {
        let _first = self.reading.hold();
        let path = local_path(&self.uri);
        let options = self.disk.options(path.as_deref(), self.language, &self.settings.given());
        let name = file_name(&self.uri);
        let (text, at) = ((&*name, self.text), self.edited.start);
        let doc = self.parts.open(self.language, text, options, at, &self.cancel)?;
        // what is found out in part of a document is not remembered of the whole
        let ask = ide::Ask::new(&doc, &ide::Memo::new(), ide::Tier::Typing, &self.cancel);
        ide::warm_at(&ask, &[self.edited]);
        let found = ide::known(&ask, &self.settings.to_ide()).diagnostics;
        let is_news = !found.is_empty() && !self.cancel.is_cancelled();
        is_news.then(|| Rendered::findings(&found, &doc, &self.uri, &self.caps, None).json)
    }
}
