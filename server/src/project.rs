//! The project index: the other files of a document's program, as far as the document reaches them.
//!
//! Of every file around a document it is known what it may define, by the look of its text, and that is remembered until the file
//! changes; only files that may define what the document names, directly or through others, are read. A text that is open in the
//! editor stands for its file. What was read is remembered until its text, its options or a header changes, and shared by all
//! documents. Nothing here runs where somebody types. Which files are around a document: [`around`].

mod around;
mod launches;
mod names;

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use base::CancelToken;
use text::Text;

use crate::includes::{absolute, Disk, Given};
use crate::limits::project::{FILE_BYTES, KEPT, PARTS_IN, READ_BYTES, READ_FILES};
use around::{around, Below};
pub use around::{is_linked, is_source_below, sources};
use names::Names;

/// The project index of a session.
#[derive(Debug)]
pub struct Projects {
    disk: Arc<Disk>,
    names: Names,
    state: Mutex<State>,
    /// Nothing on disk changes while it is used.
    is_fixed: bool,
}

#[derive(Debug, Default)]
struct State {
    roots: Vec<PathBuf>,
    /// The files below source roots, where nothing changes.
    listed: HashMap<(PathBuf, ide::Language), Below>,
    read: HashMap<PathBuf, Read>,
    kernels: launches::Known,
    /// Counts the uses, so that files know when they were used last.
    uses: u64,
}

/// A file that was read.
#[derive(Clone, Debug)]
struct Read {
    file: Arc<ide::ProjectFile>,
    /// What it depends on besides its text.
    surroundings: String,
    used: u64,
}

impl Projects {
    /// An index of what is on this disk.
    pub fn new(disk: Arc<Disk>) -> Projects {
        Projects { disk, names: Names::of_user(false), state: Mutex::default(), is_fixed: false }
    }

    /// Likewise, while nothing there changes.
    pub fn fixed(disk: Arc<Disk>) -> Projects {
        Projects { disk, names: Names::of_user(true), state: Mutex::default(), is_fixed: true }
    }

    /// Folders that are asked about: each is the source root of the documents in it.
    pub fn set_roots(&self, roots: impl IntoIterator<Item = PathBuf>) {
        self.lock().roots = roots.into_iter().filter_map(|r| absolute(&r)).collect();
    }

    /// The files that a document reaches, or what launches its kernels in others; `None` where it is of no language that has them, or is no file of a program (a header),
    /// and when it is called off.
    pub fn of(
        &self,
        doc: &ide::Doc,
        path: &Path,
        given: &Given,
        cancel: &CancelToken,
    ) -> Option<ide::Project> {
        let language = doc.language();
        if language.kernels {
            return self.launches_of(doc, &absolute(path)?, given, cancel).map(ide::Project::of_launches);
        }
        let path = absolute(path).filter(|p| is_linked(p, language))?;
        let roots = self.lock().roots.clone();
        let around = around(&self.disk, (&path, language), &roots, |root| self.below(root, language))?;
        let names = |files: &[PathBuf]| -> Vec<(PathBuf, Arc<ide::FileNames>)> {
            files.iter().map(|f| (f.clone(), self.names_of(f))).collect()
        };
        let mut search = Search {
            projects: self,
            files: [names(&around.near), names(&around.far)],
            root: &around.root,
            language,
            given,
            cancel,
            read: BTreeMap::new(),
            bytes: 0,
            is_cut: false,
        };
        // what it names itself comes first: not all may be read
        let mut open: VecDeque<Arc<str>> = doc.names_wanted().into();
        let mut seen: std::collections::HashSet<Arc<str>> = open.iter().cloned().collect();
        open.extend(search.watchers().into_iter().filter(|n| seen.insert(n.clone())));
        while let Some(name) = open.pop_front() {
            let needed = search.name(&name);
            open.extend(needed.into_iter().filter(|n| seen.insert(n.clone())));
        }
        self.names.save();
        // where nothing is left to others nothing is said of them
        if cancel.is_cancelled() || seen.is_empty() {
            return None;
        }
        let of = |files: &[PathBuf]| files.iter().filter_map(|f| search.read.get(f)?.clone()).collect();
        let searched = match search.is_cut || around.is_cut {
            true => {
                let read = search.read.values().flatten().count();
                format!("the {read} that were read of {}", around.searched)
            }
            false => around.searched.clone(),
        };
        Some(ide::Project::of(of(&around.near), of(&around.far), &searched))
    }

    /// The C files below a source root.
    fn below(&self, root: &Path, language: ide::Language) -> Below {
        if !self.is_fixed {
            return around::below(root, language);
        }
        let at = (root.to_owned(), language);
        if let Some(known) = self.lock().listed.get(&at) {
            return known.clone();
        }
        let found = around::below(root, language);
        self.lock().listed.insert(at, found.clone());
        found
    }

    /// What a file may define, or the text that is open in its place.
    fn names_of(&self, path: &Path) -> Arc<ide::FileNames> {
        match self.disk.open_text(path) {
            Some(text) => self.names.of_open(path, &text),
            None => self.names.of_file(path),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // every change is one insertion: after a panic elsewhere all is still right
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A file, read now if it or what it depends on changed.
    fn file(
        &self,
        (path, language): (&Path, ide::Language),
        root: &Path,
        given: &Given,
        cancel: &CancelToken,
    ) -> Option<Arc<ide::ProjectFile>> {
        // what it defines its including files define
        if self.disk.is_part(path) {
            return None;
        }
        let text = self.text(path)?;
        let name = path.strip_prefix(root).unwrap_or(path).to_string_lossy().into_owned();
        let options = self.disk.options(Some(path), language, given);
        let surroundings = format!(
            "{name} {} {:?} {:?} {:?} {:?} {:?}",
            self.disk.changes(),
            options.defines,
            options.undefines,
            options.includes,
            given.includes,
            options.compiler.as_ref().map(Arc::as_ptr),
        );
        {
            let mut state = self.lock();
            state.uses += 1;
            let now = state.uses;
            if let Some(known) = state.read.get_mut(path).filter(|r| r.surroundings == surroundings) {
                if known.file.text().hash() == text.hash() {
                    known.used = now;
                    return Some(known.file.clone());
                }
            }
        }
        // read without the lock: others go on
        let read = ide::ProjectFile::read(language, (&name, &path.to_string_lossy()), text, options, cancel)?;
        let file = Arc::new(read);
        let mut state = self.lock();
        if state.read.len() >= KEPT {
            let oldest = state.read.iter().min_by_key(|(_, r)| r.used).map(|(path, _)| path.clone());
            oldest.and_then(|path| state.read.remove(&path));
        }
        let used = state.uses;
        state.read.insert(path.to_owned(), Read { file: file.clone(), surroundings, used });
        Some(file)
    }

    /// The text of a file, or the one that is open in its place.
    fn text(&self, path: &Path) -> Option<Text> {
        match self.disk.open_text(path) {
            Some(text) => Some(text),
            None => names::read(path).and_then(|text| Text::new(&text).ok()),
        }
    }
}

/// The files of one document's program, read as they are needed.
struct Search<'a> {
    projects: &'a Projects,
    /// Those of the document's folder, and others, with what they may define.
    files: [Vec<(PathBuf, Arc<ide::FileNames>)>; 2],
    root: &'a Path,
    language: ide::Language,
    given: &'a Given,
    cancel: &'a CancelToken,
    read: BTreeMap<PathBuf, Option<Arc<ide::ProjectFile>>>,
    bytes: u64,
    /// Some were not read.
    is_cut: bool,
}

impl Search<'_> {
    /// Reads the files that may define a name: those of the document's folder, and the others where none of them does. The names that the
    /// definitions need.
    fn name(&mut self, name: &str) -> Vec<Arc<str>> {
        let mut out = Vec::new();
        for near_or_far in 0..self.files.len() {
            for path in self.those(near_or_far, |names| names.may_define(name)) {
                for unit in self.units(&path) {
                    let file = self.file(&unit);
                    out.extend(file.filter(|f| f.defines(name)).map(|f| f.needs(name)));
                }
            }
            if !out.is_empty() {
                break;
            }
        }
        out.concat()
    }

    /// The file, if it is none that is only a part of others, and those that include it.
    fn units(&self, path: &Path) -> Vec<PathBuf> {
        let (mut units, mut open, mut seen) = (Vec::new(), vec![path.to_owned()], Vec::new());
        while let Some(path) = open.pop() {
            if seen.len() >= PARTS_IN || seen.contains(&path) {
                continue;
            }
            let file = path.file_name().and_then(|f| f.to_str()).unwrap_or_default();
            // what is included may be compiled by itself as well, and then mean something else
            open.extend((0..self.files.len()).flat_map(|k| self.those(k, |names| names.includes(file))));
            if !self.projects.disk.is_part(&path) {
                units.push(path.clone());
            }
            seen.push(path);
        }
        units
    }

    /// Reads the files that may look at what functions of others leave behind. The names that they need.
    fn watchers(&mut self) -> Vec<Arc<str>> {
        let all = (0..self.files.len()).flat_map(|k| self.those(k, ide::FileNames::watches));
        let all: Vec<PathBuf> = all.collect();
        all.iter().filter_map(|path| self.file(path)).flat_map(|f| f.all_needs()).collect()
    }

    fn those(&self, near_or_far: usize, fits: impl Fn(&ide::FileNames) -> bool) -> Vec<PathBuf> {
        let files = self.files.get(near_or_far).into_iter().flatten();
        files.filter(|(_, names)| fits(names)).map(|(path, _)| path.clone()).collect()
    }

    fn file(&mut self, path: &Path) -> Option<Arc<ide::ProjectFile>> {
        if let Some(known) = self.read.get(path) {
            return known.clone();
        }
        if self.cancel.is_cancelled() {
            return None;
        }
        // beyond the limits a name is one that no file defines
        let length = std::fs::metadata(path).map_or(0, |m| m.len()).min(FILE_BYTES);
        let is_beyond = self.read.len() >= READ_FILES || self.bytes + length > READ_BYTES;
        self.is_cut |= is_beyond;
        let file = match is_beyond {
            true => None,
            false => self.projects.file((path, self.language), self.root, self.given, self.cancel),
        };
        self.bytes += length;
        self.read.insert(path.to_owned(), file.clone());
        file
    }
}
