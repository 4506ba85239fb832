//! Headers on disk: where they are looked for, and one copy of each for the whole session.
//!
//! Folders are listed and files are read; no process is started here (what the compiler defines says
//! [`Compilers`]). A text that is open in the editor stands for the
//! file. What the compiler is told ([`flags`]) comes from the command line or the settings, and from
//! `compile_commands.json` or `compile_flags.txt` above the document.

mod flags;
mod holding;
mod part;

use std::collections::HashMap;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use flags::Flags;
pub use holding::holding;
use holding::{of_template, root_of, Listed};
use text::Text;

use crate::compiler::Compilers;
use crate::limits::includes::{ABOVE, MAX_BYTES};

/// All headers of a session. What is on disk is read once until [`Disk::forget`].
#[derive(Debug, Default)]
pub struct Disk {
    state: Mutex<State>,
    index: Arc<ide::HeaderIndex>,
    compilers: Arc<Compilers>,
}

#[derive(Debug, Default)]
struct State {
    /// The same path has the same number all along.
    ids: HashMap<PathBuf, u32>,
    paths: Vec<Arc<Path>>,
    /// What was found at a path, as a header of the project or of the system.
    read: HashMap<(u32, Kind), Option<Arc<ide::Header>>>,
    /// Texts of the editor, which stand for files.
    open: HashMap<PathBuf, Text>,
    projects: HashMap<PathBuf, Arc<flags::Project>>,
    /// What may be headers below the folder of a project.
    listed: HashMap<PathBuf, Arc<Listed>>,
    /// Documents that may be parts of other files, and what stands before the place where one includes them.
    parts: HashMap<PathBuf, Option<Part>>,
    /// Counts how often what was read may have become something else.
    changes: u64,
}

/// What a document is read behind, because another file includes it.
#[derive(Clone, Debug)]
struct Part {
    place: Arc<part::Place>,
    /// What an `#include` of it asks for.
    name: Arc<str>,
    header: Arc<ide::Header>,
}

impl State {
    /// Forgets what was read of a file that is this text now; whether it was another.
    fn forget_headers(&mut self, path: &Path, text: Option<&Text>) -> bool {
        let Some(&id) = self.ids.get(path) else { return false };
        let kinds = [Kind::Project, Kind::System, Kind::Guess, Kind::Template].map(|kind| (id, kind));
        let known: Vec<(u32, Kind)> = kinds.into_iter().filter(|k| self.read.contains_key(k)).collect();
        if known.is_empty() {
            return false;
        }
        let now = match text {
            Some(text) => Some(text.to_string()),
            None => read(path),
        };
        let mut is_news = false;
        for key in known {
            let before = self.read.get(&key).and_then(|h| h.as_ref()).map(|h| h.text());
            let is_template = key.1 == Kind::Template;
            let now = now.as_deref().map(|t| if is_template { of_template(t) } else { t.to_owned() });
            if before.map(|t| &**t) != now.as_deref() {
                self.read.remove(&key);
                is_news = true;
            }
        }
        is_news
    }

    /// Forgets what documents are read behind where a text that is this now says something else of it; whether it does.
    fn forget_parts(&mut self, path: &Path, text: Option<&Text>) -> bool {
        let now = text.map(ToString::to_string).or_else(|| read(path)).unwrap_or_default();
        let before = self.parts.len();
        self.parts.retain(|document, part| match part {
            _ if document == path => part::may_be_part(document, &now),
            Some(part) if part.place.by == path => {
                part::before(&part.place, document, &now).as_deref() == Some(part.place.own())
            }
            _ => true,
        });
        self.parts.len() != before
    }

    /// A number for a path, the same all along; `None`: there are too many.
    fn id_of(&mut self, path: &Path) -> Option<u32> {
        if let Some(&id) = self.ids.get(path) {
            return Some(id);
        }
        let id = u32::try_from(self.paths.len()).ok().filter(|id| *id < u32::MAX)?;
        self.paths.push(path.into());
        self.ids.insert(path.to_owned(), id);
        Some(id)
    }
}

/// As what a header is found.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Kind {
    Project,
    System,
    /// Of the project, where nobody said to look.
    Guess,
    /// What it is made of, in its place.
    Template,
}

/// What the user says of a document beside what stands around it.
#[derive(Clone, Debug, Default)]
pub struct Given {
    /// `-D`
    pub defines: Vec<String>,
    /// `-I`; absolute, or below the document's folder or one above it.
    pub includes: Vec<PathBuf>,
    /// What kernels are for.
    pub target: ide::Target,
}

impl Disk {
    /// Asks these compilers what they define.
    pub fn asking(compilers: Arc<Compilers>) -> Disk {
        Disk { compilers, ..Disk::default() }
    }

    /// Everything on disk may have changed.
    pub fn forget(&self) {
        let mut state = self.lock();
        state.read.clear();
        state.projects.clear();
        state.listed.clear();
        state.parts.clear();
        state.changes += 1;
    }

    /// A number that is the same as long as headers and build descriptions are.
    pub fn changes(&self) -> u64 {
        self.lock().changes
    }

    /// The text of a file that is open in the editor.
    pub fn open_text(&self, path: &Path) -> Option<Text> {
        self.lock().open.get(path).cloned()
    }

    /// The files that are compiled with a document, if a build description lists it.
    pub fn compiled_with(&self, document: &Path) -> Option<Vec<PathBuf>> {
        let document = absolute(document)?;
        document.ancestors().skip(1).find_map(|folder| self.described(folder).compiled_with(&document))
    }

    /// A text of the editor stands for a file from now on; `None`: the file does again. Whether what was read from there
    /// was another text, so that documents that include it may mean something else now.
    pub fn set_open(&self, path: &Path, text: Option<&Text>) -> bool {
        let Some(path) = absolute(path) else { return false };
        let mut state = self.lock();
        match text {
            Some(text) => drop(state.open.insert(path.clone(), text.clone())),
            None => drop(state.open.remove(&path)),
        }
        let is_news = state.forget_parts(&path, text) | state.forget_headers(&path, text);
        state.changes += u64::from(is_news);
        is_news
    }

    /// How a document is read: with the options of its project, then those given. `path`: where it lies, if it is a file.
    pub fn options(
        self: &Arc<Disk>,
        path: Option<&Path>,
        language: ide::Language,
        given: &Given,
    ) -> ide::Options {
        let path = path.and_then(absolute);
        let told = path.as_deref().and_then(|p| self.project_flags(p));
        let (around, root) = match (&told, &path) {
            (None, Some(path)) => (around(path), Some(root_of(path))),
            _ => (Vec::new(), None),
        };
        let part = path
            .as_deref()
            .filter(|p| language.compiler.is_some() && !self.is_listed(p))
            .and_then(|p| self.part(p));
        let mut flags = told.unwrap_or_default();
        flags.includes.extend(part.as_ref().map(|p| p.name.to_string()));
        // what nvcc is told is not what the host's compiler is told
        let deciding = flags.deciding.as_deref().filter(|_| language.is_compiled_whole());
        let compiler = self.compilers.predefined(language, deciding);
        if compiler.as_ref().is_some_and(|c| c.with_options()) {
            flags.leave_to_compiler();
        }
        let folder = path.as_deref().and_then(Path::parent).map(Path::to_owned);
        let mut folders: Vec<PathBuf> =
            given.includes.iter().filter_map(|i| placed(i, folder.as_deref())).collect();
        folders.append(&mut flags.folders);
        let mut defines = flags.defines;
        defines.extend(given.defines.iter().map(|d| crate::settings::parse_define(d)));
        let search = Search {
            disk: self.clone(),
            folder,
            around,
            root,
            part,
            quoted: flags.quoted,
            project: folders.len(),
            folders: folders
                .into_iter()
                .chain(flags.system)
                .chain(system_folders().iter().cloned())
                .collect(),
        };
        ide::Options {
            defines,
            undefines: flags.undefines,
            includes: flags.includes,
            headers: Some(ide::Headers::new(Arc::new(search), self.index.clone())),
            compiler,
            target: given.target,
            threads: Default::default(),
            project: None,
        }
    }

    /// Options that make a compiler look for a document's headers where they are looked for here, and for nothing else: what
    /// else a project says of compilers is not told to one.
    pub fn for_compiler(&self, path: &Path, given: &Given) -> Vec<String> {
        let Some(path) = absolute(path) else { return Vec::new() };
        let told = self.project_flags(&path);
        let around = if told.is_none() { around(&path) } else { Vec::new() };
        let flags = told.unwrap_or_default();
        let folder = path.parent().map(Path::to_owned);
        let given = given.includes.iter().filter_map(|i| placed(i, folder.as_deref()));
        let all = [
            ("-iquote", folder.iter().cloned().chain(flags.quoted).collect::<Vec<_>>()),
            ("-I", given.chain(flags.folders).collect()),
            ("-isystem", flags.system),
            ("-idirafter", around),
        ];
        let files = flags.includes.into_iter().filter(|f| Path::new(f).is_absolute());
        let folders = all.into_iter().flat_map(|(option, folders)| {
            folders
                .into_iter()
                .filter(|f| f.is_dir())
                .map(move |f| (option, f.to_string_lossy().into_owned()))
        });
        folders
            .chain(files.map(|f| ("-include", f)))
            .flat_map(|(option, of)| [option.to_owned(), of])
            .collect()
    }

    /// Likewise with the macros that the project defines: what a file is built with.
    pub fn for_building(&self, path: &Path) -> Vec<String> {
        let flags = absolute(path).and_then(|p| self.project_flags(&p)).unwrap_or_default();
        let defined = flags.defines.into_iter().map(|(name, value)| match value {
            Some(value) => format!("-D{name}={value}"),
            None => format!("-D{name}"),
        });
        let undefined = flags.undefines.into_iter().map(|name| format!("-U{name}"));
        self.for_compiler(path, &Given::default()).into_iter().chain(defined).chain(undefined).collect()
    }

    fn project_flags(&self, document: &Path) -> Option<Flags> {
        for folder in document.ancestors().skip(1) {
            if let Some(flags) = self.described(folder).flags_of(document) {
                return Some(flags);
            }
        }
        None
    }

    /// What a folder says of how its files are compiled.
    fn described(&self, folder: &Path) -> Arc<flags::Project> {
        let known = self.lock().projects.get(folder).cloned();
        known.unwrap_or_else(|| {
            let read = Arc::new(flags::Project::read(folder));
            self.lock().projects.insert(folder.to_owned(), read.clone());
            read
        })
    }

    fn header(&self, path: &Path, name: &str, kind: Kind) -> Option<Arc<ide::Header>> {
        let (id, open) = {
            let mut state = self.lock();
            let id = state.id_of(path)?;
            if let Some(known) = state.read.get(&(id, kind)) {
                return known.clone();
            }
            (id, state.open.get(path).cloned())
        };
        // read without the lock: others go on
        let text = match open {
            Some(text) => Some(text.to_string()),
            None => read(path),
        };
        let header = text.map(|text| {
            let header = |text| ide::Header::new(ide::HeaderId(id), name, kind == Kind::System, text);
            Arc::new(match kind {
                Kind::Project | Kind::System => header(text),
                Kind::Guess => header(text).guessed(),
                Kind::Template => {
                    let file = path.file_name().unwrap_or_default().to_string_lossy();
                    header(of_template(&text)).made_of(&file)
                }
            })
        });
        self.lock().read.entry((id, kind)).or_insert(header).clone()
    }

    /// What may be headers below a project's folder.
    fn listed(&self, root: &Path) -> Arc<Listed> {
        let known = self.lock().listed.get(root).cloned();
        known.unwrap_or_else(|| {
            let listed = Arc::new(Listed::below(root));
            self.lock().listed.insert(root.to_owned(), listed.clone());
            listed
        })
    }

    fn path_of(&self, id: ide::HeaderId) -> Option<Arc<Path>> {
        self.lock().paths.get(id.0 as usize).cloned()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // every change is one insertion: after a panic elsewhere all is still right
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn read(path: &Path) -> Option<String> {
    let metadata = std::fs::metadata(path).ok()?;
    if !metadata.is_file() || metadata.len() > MAX_BYTES {
        return None;
    }
    Some(crate::files::decoded(std::fs::read(path).ok()?).0)
}

/// Where one document's headers are looked for.
#[derive(Debug)]
struct Search {
    disk: Arc<Disk>,
    /// The document's.
    folder: Option<PathBuf>,
    /// `-iquote`
    quoted: Vec<PathBuf>,
    folders: Vec<PathBuf>,
    /// Looked into last, where nobody told us anything.
    around: Vec<PathBuf>,
    /// The project's, below which is looked where they are not there either.
    root: Option<PathBuf>,
    /// What the document is read behind.
    part: Option<Part>,
    /// How many of them are the project's; the others are the system's.
    project: usize,
}

impl ide::HeaderSource for Search {
    fn find(&self, ask: &ide::HeaderAsk) -> Option<Arc<ide::Header>> {
        let name = Path::new(&*ask.name);
        if let Some(part) = self.part.as_ref().filter(|p| ask.from.is_none() && p.name == ask.name) {
            return Some(part.header.clone());
        }
        if name.is_absolute() {
            return self.disk.header(&plain(name), &ask.name, Kind::Project);
        }
        let from = ask.from.and_then(|id| self.disk.path_of(id));
        let mut first = 0;
        if let (true, Some(from)) = (ask.next, &from) {
            let found_in =
                self.folders.iter().position(|f| from.starts_with(f) && **from == plain(&f.join(name)));
            let found_in = found_in.or_else(|| self.folders.iter().position(|f| from.starts_with(f)));
            first = found_in.map_or(0, |k| k + 1);
        } else if ask.quoted {
            let beside = match &from {
                Some(from) => from.parent().map(Path::to_owned),
                None => self.folder.clone(),
            };
            // beside a header of the system lie others of it
            let is_system = from.as_ref().is_some_and(|f| self.is_system(f));
            let folders = beside.iter().map(|f| (f, is_system)).chain(self.quoted.iter().map(|f| (f, false)));
            for (folder, is_system) in folders {
                let path = plain(&folder.join(name));
                let shown = match is_system {
                    true => self.below_system(&path).unwrap_or_else(|| ask.name.to_string()),
                    false => ask.name.to_string(),
                };
                let kind = if is_system { Kind::System } else { Kind::Project };
                if let Some(header) = self.disk.header(&path, &shown, kind) {
                    return Some(header);
                }
            }
        }
        let told = self.folders.iter().enumerate().skip(first).find_map(|(k, folder)| {
            let kind = if k >= self.project { Kind::System } else { Kind::Project };
            self.disk.header(&plain(&folder.join(name)), &ask.name, kind)
        });
        let guess = || {
            let mut around = self.around.iter();
            let near = around
                .find_map(|folder| self.disk.header(&plain(&folder.join(name)), &ask.name, Kind::Guess));
            near.or_else(|| self.elsewhere(&ask.name))
        };
        // what the system's headers want of the system is not the project's
        told.or_else(|| if from.as_ref().is_some_and(|f| self.is_system(f)) { None } else { guess() })
    }
}

impl Search {
    /// A header that lies somewhere in the project, or what one is made of.
    fn elsewhere(&self, name: &str) -> Option<Arc<ide::Header>> {
        let (root, folder) = (self.root.as_ref()?, self.folder.as_ref()?);
        let (path, is_template) = self.disk.listed(root).meant(folder, name)?;
        self.disk.header(&path, name, if is_template { Kind::Template } else { Kind::Guess })
    }

    fn is_system(&self, path: &Path) -> bool {
        self.folders.iter().position(|f| path.starts_with(f)).is_some_and(|k| k >= self.project)
    }

    /// The part of a path below the system's folder it lies in.
    fn below_system(&self, path: &Path) -> Option<String> {
        let below = self.folders.iter().skip(self.project).filter_map(|f| path.strip_prefix(f).ok());
        below.min_by_key(|p| p.as_os_str().len()).map(|p| p.to_string_lossy().into_owned())
    }
}

/// Folders in which projects keep headers.
const USUAL: [&str; 7] = ["", "include", "inc", "src", "lib", "common", "utilities"];

/// Folders around a document that may hold its headers, the nearest first.
fn around(document: &Path) -> Vec<PathBuf> {
    let home = std::env::home_dir();
    let mut out = Vec::new();
    for folder in document.ancestors().skip(1).take(ABOVE) {
        // what lies directly in these belongs to nobody's project
        let shared = folder.parent().is_none_or(|p| p.parent().is_none());
        if shared || home.as_deref() == Some(folder) {
            break;
        }
        out.extend(USUAL.iter().map(|name| plain(&folder.join(name))).filter(|f| f.is_dir()));
        if folder.join(".git").exists() {
            break;
        }
    }
    out
}

/// The folders that a compiler here looks in by itself, in its order.
fn system_folders() -> &'static [PathBuf] {
    static FOLDERS: OnceLock<Vec<PathBuf>> = OnceLock::new();
    FOLDERS.get_or_init(|| {
        let mut folders = Vec::new();
        folders.extend(compiler_folder());
        folders.push("/usr/local/include".into());
        folders.extend(children(Path::new("/usr/include")).into_iter().filter(|f| is_native(f)));
        folders.push("/usr/include".into());
        folders.retain(|f| f.is_dir());
        folders
    })
}

/// `x86_64-linux-gnu` and the like, of this processor.
fn is_native(folder: &Path) -> bool {
    let name = folder.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    name.starts_with(std::env::consts::ARCH) && name.contains("-linux")
}

/// gcc's own headers, of its newest version; else clang's.
fn compiler_folder() -> Option<PathBuf> {
    let version = |folder: &Path| {
        let name = folder.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
        let mut parts = name.split('.').map(|p| p.parse::<u32>().unwrap_or(0));
        [(); 3].map(|()| parts.next().unwrap_or(0))
    };
    let gcc = ["/usr/lib/gcc", "/usr/lib64/gcc"].map(Path::new).into_iter().flat_map(children);
    let gcc = gcc.filter(|f| is_native(f)).flat_map(|f| children(&f));
    let clang = children(Path::new("/usr/lib"))
        .into_iter()
        .filter(|f| f.file_name().is_some_and(|n| n.to_string_lossy().starts_with("llvm-")));
    let clang = clang.flat_map(|f| children(&f.join("lib/clang")));
    let newest = |folders: Vec<PathBuf>| {
        let with = folders.into_iter().filter(|f| f.join("include/stddef.h").is_file());
        with.max_by_key(|f| version(f)).map(|f| f.join("include"))
    };
    newest(gcc.collect()).or_else(|| newest(clang.collect()))
}

pub fn children(folder: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> =
        std::fs::read_dir(folder).into_iter().flatten().flatten().map(|e| e.path()).collect();
    found.sort();
    found
}

/// A folder as it was given: absolute, or below the document's folder or the nearest above that has it.
fn placed(folder: &Path, document: Option<&Path>) -> Option<PathBuf> {
    if folder.is_absolute() {
        return Some(plain(folder));
    }
    let mut above = document.into_iter().flat_map(Path::ancestors).map(|a| plain(&a.join(folder)));
    above.find(|f| f.is_dir())
}

pub fn absolute(path: &Path) -> Option<PathBuf> {
    std::path::absolute(path).ok().map(|p| plain(&p))
}

/// Without `.` and `..`.
fn plain(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => drop(out.pop()),
            part => out.push(part),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use ide::HeaderSource;

    fn ask(name: &str, quoted: bool, from: Option<ide::HeaderId>) -> ide::HeaderAsk {
        ide::HeaderAsk { name: name.into(), quoted, next: false, from }
    }

    #[test]
    fn beside_then_given_then_the_system() -> anyhow::Result<()> {
        let folder = tempfile::tempdir()?;
        let write = |name: &str, text: &str| -> anyhow::Result<()> {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap_or(folder.path()))?;
            Ok(std::fs::write(path, text)?)
        };
        write("src/a.h", "beside")?;
        write("inc/a.h", "given")?;
        write("inc/sub/b.h", "deep")?;
        write("inc/sub/c.h", "neighbour")?;
        let disk = Arc::new(Disk::default());
        let source = folder.path().join("src/x.c");
        let given = Given { includes: vec!["inc".into()], ..Given::default() };
        let options = disk.options(Some(&source), ide::Language::C, &given);
        assert!(options.headers.is_some());
        let search = Search {
            disk: disk.clone(),
            folder: source.parent().map(Path::to_owned),
            quoted: Vec::new(),
            folders: placed(Path::new("inc"), source.parent()).into_iter().collect(),
            around: Vec::new(),
            root: None,
            part: None,
            project: 1,
        };
        let text = |a: &ide::HeaderAsk| search.find(a).map(|h| h.text().to_string());
        assert_eq!(text(&ask("a.h", true, None)).as_deref(), Some("beside"));
        assert_eq!(text(&ask("a.h", false, None)).as_deref(), Some("given"));
        let b = search.find(&ask("sub/b.h", true, None)).map(|h| h.id());
        assert_eq!(text(&ask("c.h", true, b)).as_deref(), Some("neighbour"));
        assert_eq!(text(&ask("c.h", false, b)), None);
        // the same file, however it is spelled, is the same header
        let again = search.find(&ask("../inc/sub/./b.h", true, None)).map(|h| h.id());
        assert_eq!(b, again);
        // read once, until told otherwise; an open text stands for the file
        write("src/a.h", "newer")?;
        assert_eq!(text(&ask("a.h", true, None)).as_deref(), Some("beside"));
        disk.forget();
        assert_eq!(text(&ask("a.h", true, None)).as_deref(), Some("newer"));
        assert!(disk.set_open(&folder.path().join("src/a.h"), Some(&Text::new("open")?)));
        assert_eq!(text(&ask("a.h", true, None)).as_deref(), Some("open"));
        assert!(disk.set_open(&folder.path().join("src/a.h"), None));
        assert_eq!(text(&ask("a.h", true, None)).as_deref(), Some("newer"));
        Ok(())
    }
}
