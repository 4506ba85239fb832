//! Settings as they arrive, and what waits for them: which compiler is asked, and where none is taken from.

use std::sync::Arc;

use serde_json::Value;
use tower_lsp::ls_types as lsp;

use super::Host;
use crate::compiler::project_of;
use crate::lsp::edits::local_path;
use crate::settings::Settings;

impl Host {
    pub(super) fn configure(&mut self, value: &Value) {
        let (settings, complaints) = Settings::read(value);
        let new: Vec<String> = complaints.into_iter().filter(|c| !self.complained.contains(c)).collect();
        if !new.is_empty() {
            self.log(lsp::MessageType::WARNING, &new.join("\n"));
            self.complained.extend(new);
        }
        if *self.settings != settings {
            self.settings = Arc::new(settings);
            if self.settled {
                self.compilers.want(self.settings.wanted_compiler());
            }
            self.all_again("");
        }
    }

    /// The user's settings are known.
    pub(super) fn settle(&mut self) {
        self.settled = true;
        self.compilers.want(self.settings.wanted_compiler());
    }

    /// No compiler is taken from the project that a document is of.
    pub(super) fn keep_out_around(&self, uri: &lsp::Uri) {
        if let Some(folder) = local_path(uri).and_then(|p| project_of(&p)) {
            self.compilers.keep_out(&folder);
        }
    }
}
