//! Settings as they arrive, and what waits for them: which compiler is asked, and where none is taken from.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
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

    /// The settings of folders.
    pub(super) fn configure_folders(&mut self, folders: &[(PathBuf, Value)]) {
        let one = |(folder, value): &(PathBuf, Value)| (folder.clone(), Arc::new(Settings::read(value).0));
        let settings: BTreeMap<PathBuf, Arc<Settings>> = folders.iter().map(one).collect();
        if self.folder_settings != settings {
            self.folder_settings = settings;
            self.all_again("");
        }
    }

    /// The settings that count for a document.
    pub(super) fn settings_of(&self, uri: &str) -> Arc<Settings> {
        if self.folder_settings.is_empty() {
            return self.settings.clone();
        }
        let path = uri.parse().ok().and_then(|uri| local_path(&uri));
        let of = path.and_then(|p| of_folder(&self.folder_settings, &p).cloned());
        match of {
            // which machines are reached is the user's to say
            Some(of) if of.hosts != self.settings.hosts => {
                Arc::new(Settings { hosts: self.settings.hosts.clone(), ..(*of).clone() })
            }
            Some(of) => of,
            None => self.settings.clone(),
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

/// The settings of the innermost of these folders that a file lies in.
pub fn of_folder<'a>(
    folders: &'a BTreeMap<PathBuf, Arc<Settings>>,
    file: &Path,
) -> Option<&'a Arc<Settings>> {
    let around = folders.iter().filter(|(folder, _)| file.starts_with(folder));
    around.max_by_key(|(folder, _)| folder.as_os_str().len()).map(|(_, settings)| settings)
}
