//! Files of the workspace, open or not, looked at for whoever wants to see many at once. A file that is open is what the editor has.
//!
//! Deliberately absent: which files there are ([`crate::project::sources`]), and on which thread one is looked at.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base::CancelToken;
use text::Text;
use tower_lsp::ls_types as lsp;

use super::caps::Caps;
use super::document::{file_name, Analyzed};
use super::edits::local_path;
use super::host::of_folder;
use crate::files;
use crate::includes::Disk;
use crate::project::Projects;
use crate::rule_pages::Pages;
use crate::settings::Settings;

/// What is needed to look at files.
#[derive(Clone)]
pub struct Survey {
    pub roots: Vec<PathBuf>,
    pub settings: Arc<Settings>,
    /// Of files in these folders.
    pub folder_settings: BTreeMap<PathBuf, Arc<Settings>>,
    pub caps: Arc<Caps>,
    pub pages: Arc<Pages>,
    pub disk: Arc<Disk>,
    pub projects: Arc<Projects>,
    pub memo: ide::Memo,
    /// By path: addresses of one file may be spelled in several ways.
    pub open: HashMap<PathBuf, Open>,
}

/// A document that is open.
#[derive(Clone)]
pub struct Open {
    /// As the editor spells it.
    pub uri: lsp::Uri,
    pub version: i32,
    /// Read, or the text that is to be.
    pub doc: Result<ide::Doc, Text>,
    pub language: ide::Language,
}

/// A file that was looked at.
pub struct Looked {
    /// As the editor spells it, if it is open.
    pub uri: lsp::Uri,
    /// Of a document that is open.
    pub version: Option<i32>,
    pub analyzed: Analyzed,
    /// Whether positions in it mean the same to the editor.
    pub is_utf8: bool,
}

impl Survey {
    /// Looks at a file with the effort of saving. `None`: it cannot be read, is of no language that is, or it was called off.
    pub fn look(&self, uri: &lsp::Uri, cancel: &CancelToken) -> Option<Looked> {
        let path = local_path(uri)?;
        let Opened { uri, version, doc, is_utf8, is_shown } = self.open(uri, cancel)?;
        // what the editor shows has it already
        let doc = match is_shown {
            true => doc,
            false => {
                let project = self.projects.of(&doc, &path, &self.settings_of(&path).given(), cancel);
                doc.with_project(project)
            }
        };
        let ask = ide::Ask::new(&doc, &self.memo, ide::Tier::Full, cancel);
        let findings = ide::check(&ask, &self.settings_of(&path).to_ide()).ok()?;
        let analyzed = Analyzed { doc, findings: Arc::new(findings), memo: self.memo.clone() };
        Some(Looked { uri, version, analyzed, is_utf8 })
    }

    /// Reads a file by itself; `None` likewise.
    pub fn open(&self, uri: &lsp::Uri, cancel: &CancelToken) -> Option<Opened> {
        let path = local_path(uri)?;
        let read = |name: &str, language, text| {
            let options = self.disk.options(Some(&path), language, &self.settings_of(&path).given());
            ide::Doc::open_until(language, name, text, options, cancel)
        };
        match self.open.get(&path) {
            Some(Open { uri, version, doc, language }) => {
                let is_shown = doc.is_ok();
                let doc = match doc {
                    Ok(doc) => doc.clone(),
                    Err(text) => read(&file_name(uri), *language, text.clone())?,
                };
                Some(Opened { uri: uri.clone(), version: Some(*version), doc, is_utf8: true, is_shown })
            }
            None => {
                let input = files::read(&path).ok()?;
                let is_utf8 = input.form.encoding == files::Encoding::Utf8;
                let doc = read(&input.name, input.language, input.text)?;
                Some(Opened { uri: uri.clone(), version: None, doc, is_utf8, is_shown: false })
            }
        }
    }

    fn settings_of(&self, path: &Path) -> &Settings {
        of_folder(&self.folder_settings, path).unwrap_or(&self.settings)
    }

    /// Whether a word stands in a file, as it is or as the editor has it.
    pub fn says(&self, path: &Path, word: &str) -> bool {
        match self.open.get(path) {
            Some(Open { doc: Ok(doc), .. }) => doc.text().to_string().contains(word),
            Some(Open { doc: Err(text), .. }) => text.to_string().contains(word),
            None => files::read(path).is_ok_and(|input| input.text.to_string().contains(word)),
        }
    }
}

/// A file that was read.
pub struct Opened {
    /// As the editor spells it, if it is open.
    pub uri: lsp::Uri,
    /// Of a document that is open.
    pub version: Option<i32>,
    pub doc: ide::Doc,
    /// Whether positions in it mean the same to the editor.
    pub is_utf8: bool,
    /// It is the one that the editor's findings are of.
    is_shown: bool,
}

impl Looked {
    /// Names the text: the same as long as it is the same.
    pub fn text(&self) -> String {
        format!("{:?}", self.analyzed.doc.text().hash())
    }
}
