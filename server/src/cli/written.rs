//! What offloads wrote into a folder: a small record beside the files, so that a later offload replaces what came of the
//! same source and is unchanged since, and nothing else.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::files::{self, Existing};

/// The record's name in the folder.
const NAME: &str = ".warpwright.json";

#[derive(Default, Serialize, Deserialize)]
pub struct Written {
    files: BTreeMap<String, Entry>,
}

#[derive(Clone, Serialize, Deserialize)]
struct Entry {
    /// The source's absolute path.
    source: String,
    /// Of the text as it was written.
    hash: String,
    /// Of a host file: the loops that were offloaded, by key.
    loops: Vec<String>,
}

/// A file about to be written.
pub struct New<'a> {
    pub name: &'a str,
    pub text: &'a str,
}

impl Written {
    /// The record of a folder; empty where there is none that can be read.
    pub fn of(folder: &Path) -> Written {
        std::fs::read_to_string(folder.join(NAME))
            .ok()
            .and_then(|text| serde_json::from_str(&text).ok())
            .unwrap_or_default()
    }

    /// Why a file of this name may not be replaced.
    pub fn objection(&self, folder: &Path, new: &New, source: &Path) -> Option<String> {
        let path = folder.join(new.name);
        let old = match std::fs::read(&path) {
            Ok(old) => old,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return None,
            Err(e) => return Some(format!("{} cannot be read: {e}", path.display())),
        };
        if old == new.text.as_bytes() {
            return None;
        }
        let elsewhere = "Move it away, or write elsewhere with --out.";
        let Some(entry) = self.files.get(new.name) else {
            return Some(format!("{} exists and was not written by an offload. {elsewhere}", path.display()));
        };
        if entry.source != absolute(source) {
            return Some(format!("{} was written for {}. {elsewhere}", path.display(), entry.source));
        }
        let same = hash(&files::decoded(old).0) == entry.hash;
        (!same).then(|| format!("{} was changed after it was written. {elsewhere}", path.display()))
    }

    /// The loops that the host file of this name holds as kernels.
    pub fn loops(&self, name: &str, source: &Path) -> &[String] {
        match self.files.get(name) {
            Some(e) if e.source == absolute(source) => &e.loops,
            _ => &[],
        }
    }

    /// The source that a file of this name was written for.
    pub fn source(&self, name: &str) -> Option<&Path> {
        self.files.get(name).map(|e| Path::new(e.source.as_str()))
    }

    pub fn note(&mut self, new: &New, source: &Path, loops: Vec<String>) {
        let entry = Entry { source: absolute(source), hash: hash(new.text), loops };
        self.files.insert(new.name.to_owned(), entry);
    }

    pub fn save(&self, folder: &Path) -> anyhow::Result<()> {
        let path = folder.join(NAME);
        let text = serde_json::to_string_pretty(self)?;
        files::write(&path, &format!("{text}\n"), Existing::Replace).map_err(|e| files::unwritten(&path, &e))
    }
}

fn absolute(path: &Path) -> String {
    let full: PathBuf = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    full.to_string_lossy().into_owned()
}

fn hash(text: &str) -> String {
    format!("{:032x}", text::ContentHash::of(text).0)
}
