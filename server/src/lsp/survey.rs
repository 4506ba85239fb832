//! Files of the workspace, open or not, looked at for whoever wants to see many at once. A file that is open is what the editor has.
//!
//! Deliberately absent: which files there are ([`crate::project::sources`]), and on which thread one is looked at.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base::CancelToken;
use text::Text;
use tower_lsp::ls_types as lsp;

use super::caps::Caps;
use super::document::{file_name, Analyzed};
use super::edits::local_path;
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
        let (uri, version, doc, is_utf8) = match self.open.get(&path) {
            Some(open) => {
                let doc = match &open.doc {
                    Ok(doc) => doc.clone(),
                    Err(text) => self.read(&path, (&file_name(uri), open.language), text.clone(), cancel)?,
                };
                (open.uri.clone(), Some(open.version), doc, true)
            }
            None => {
                let input = files::read(&path).ok()?;
                let is_utf8 = input.form.encoding == files::Encoding::Utf8;
                let doc = self.read(&path, (&input.name, input.language), input.text, cancel)?;
                (uri.clone(), None, doc, is_utf8)
            }
        };
        let ask = ide::Ask::new(&doc, &self.memo, ide::Tier::Full, cancel);
        let findings = ide::check(&ask, &self.settings.to_ide()).ok()?;
        let analyzed = Analyzed { doc, findings: Arc::new(findings), memo: self.memo.clone() };
        Some(Looked { uri, version, analyzed, is_utf8 })
    }

    /// The document that a text is, with the other files of its program.
    fn read(
        &self,
        path: &Path,
        (name, language): (&str, ide::Language),
        text: Text,
        cancel: &CancelToken,
    ) -> Option<ide::Doc> {
        let given = self.settings.given();
        let options = self.disk.options(Some(path), language, &given);
        let doc = ide::Doc::open_until(language, name, text, options, cancel)?;
        let project = self.projects.of(&doc, path, &given, cancel);
        Some(doc.with_project(project))
    }
}

impl Looked {
    /// Names the text: the same as long as it is the same.
    pub fn text(&self) -> String {
        format!("{:?}", self.analyzed.doc.text().hash())
    }
}
