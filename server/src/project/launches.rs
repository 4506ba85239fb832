//! Launches of a document's kernels in other files: where they are looked for, and what is remembered of it.
//!
//! A file is read if its text launches a kernel that the document holds and does not launch itself, and no other file around the
//! document holds a kernel of that name. Which names a text launches and holds is remembered until the file changes.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base::CancelToken;
use text::{ContentHash, Text};

use super::around::launching;
use super::Projects;
use crate::includes::Given;
use crate::limits::project::{FILE_BYTES, LAUNCHING};

/// What is known of files.
#[derive(Debug, Default)]
pub struct Known {
    named: HashMap<PathBuf, (ContentHash, Arc<Named>)>,
    found: HashMap<PathBuf, Found>,
}

/// The kernels that a text launches, and those that it holds.
#[derive(Debug, Default)]
struct Named {
    launched: HashSet<String>,
    held: HashSet<String>,
}

/// What a file launches.
#[derive(Clone, Debug)]
struct Found {
    text: ContentHash,
    /// What it depends on besides its text.
    surroundings: String,
    launches: Arc<Vec<ide::LaunchElsewhere>>,
}

impl Projects {
    /// The launches of a document's kernels in other files of its program; `None`: there are none.
    pub(super) fn launches_of(
        &self,
        doc: &ide::Doc,
        path: &Path,
        given: &Given,
        cancel: &CancelToken,
    ) -> Option<Vec<ide::LaunchElsewhere>> {
        let mut wanted: HashSet<String> = ide::not_launched_here(doc).iter().map(|n| n.to_string()).collect();
        if wanted.is_empty() {
            return None;
        }
        let roots = self.lock().roots.clone();
        let files = launching(path, &roots);
        let named: Vec<(&PathBuf, Arc<Named>)> = files.iter().map(|f| (f, self.named(f))).collect();
        // of two kernels of a name it is not known which is meant
        wanted.retain(|name| named.iter().all(|(_, n)| !n.held.contains(name)));
        let launching = named.iter().filter(|(_, n)| n.launched.iter().any(|name| wanted.contains(name)));
        let mut out = Vec::new();
        for (file, _) in launching.take(LAUNCHING) {
            if cancel.is_cancelled() {
                return None;
            }
            let all = self.launches_in(file, (path, doc.language()), given, cancel);
            out.extend(all.iter().filter(|l| wanted.contains(l.kernel())).cloned());
        }
        (!out.is_empty()).then_some(out)
    }

    /// The kernels that a file names.
    fn named(&self, file: &Path) -> Arc<Named> {
        let is_short = std::fs::metadata(file).is_ok_and(|m| m.len() <= FILE_BYTES);
        let Some(text) = self.text(file).filter(|_| is_short) else { return Arc::default() };
        let hash = text.hash();
        if let Some((_, known)) = self.lock().kernels.named.get(file).filter(|(h, _)| *h == hash) {
            return known.clone();
        }
        let text = text.to_string();
        let (launched, held) = ide::kernels_named(&text);
        let set = |names: Vec<&str>| names.into_iter().map(str::to_owned).collect();
        let named = Arc::new(Named { launched: set(launched), held: set(held) });
        self.lock().kernels.named.insert(file.to_owned(), (hash, named.clone()));
        named
    }

    /// What a file launches of others' kernels; it is read as the document's language.
    fn launches_in(
        &self,
        file: &Path,
        (document, language): (&Path, ide::Language),
        given: &Given,
        cancel: &CancelToken,
    ) -> Arc<Vec<ide::LaunchElsewhere>> {
        let Some(text) = self.text(file) else { return Arc::default() };
        let folder = document.parent().unwrap_or(document);
        let name = file.strip_prefix(folder).ok().or_else(|| file.file_name().map(Path::new));
        let name = name.unwrap_or(file).to_string_lossy().into_owned();
        let options = self.disk.options(Some(file), language, given);
        let surroundings =
            format!("{name} {} {:?} {:?}", self.disk.changes(), options.defines, options.includes);
        let hash = text.hash();
        let known = self.lock().kernels.found.get(file).cloned();
        if let Some(known) = known.filter(|f| f.text == hash && f.surroundings == surroundings) {
            return known.launches;
        }
        let launches = Arc::new(read(language, (&name, text), options, cancel).unwrap_or_default());
        if !cancel.is_cancelled() {
            let found = Found { text: hash, surroundings, launches: launches.clone() };
            self.lock().kernels.found.insert(file.to_owned(), found);
        }
        launches
    }
}

fn read(
    language: ide::Language,
    (name, text): (&str, Text),
    options: ide::Options,
    cancel: &CancelToken,
) -> Option<Vec<ide::LaunchElsewhere>> {
    let doc = ide::Doc::open_until(language, name, text, options, cancel)?;
    Some(ide::LaunchElsewhere::all_in(&doc, name))
}
