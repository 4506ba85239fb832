//! Headers for tests: those that lie beside the programs, and no others. What the machine has installed changes nothing.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use front::{Ask, Header, HeaderId, Headers, Source};

/// A name and what it finds.
type Found = (Arc<str>, Option<Arc<Header>>);

/// Finds `name` in one folder, quoted or not.
#[derive(Debug)]
struct Beside {
    folder: PathBuf,
    /// By id.
    found: Mutex<Vec<Found>>,
}

impl Source for Beside {
    fn find(&self, ask: &Ask) -> Option<Arc<Header>> {
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, known)) = found.iter().find(|(name, _)| *name == ask.name) {
            return known.clone();
        }
        let id = HeaderId(found.len() as u32);
        let text = std::fs::read_to_string(self.folder.join(&*ask.name)).ok();
        let header = text.map(|text| Arc::new(Header::new(id, &*ask.name, false, text)));
        found.push((ask.name.clone(), header.clone()));
        header
    }
}

/// The headers of a folder.
pub fn beside(folder: &Path) -> Headers {
    let source = Beside { folder: folder.to_owned(), found: Mutex::default() };
    Headers::new(Arc::new(source), Arc::default())
}

/// Those of `fixtures/c`.
pub fn of_fixtures() -> Headers {
    beside(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../fixtures/c"))
}

/// Headers on this machine's disk, found as a compiler would: for programs that somebody else wrote.
#[derive(Debug)]
struct Disk {
    document: PathBuf,
    folders: Vec<PathBuf>,
    /// From where in `folders` on the system's folders stand.
    system: usize,
    read: Mutex<Vec<(PathBuf, Arc<Header>)>>,
}

impl Disk {
    fn header(&self, path: &Path, is_system: bool) -> Option<Arc<Header>> {
        let path = path.canonicalize().ok()?;
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, known)) = read.iter().find(|(p, _)| *p == path) {
            return Some(known.clone());
        }
        let bytes = path.is_file().then(|| std::fs::read(&path).ok()).flatten()?;
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let header =
            Arc::new(Header::new(HeaderId(read.len() as u32), path.display().to_string(), is_system, text));
        read.push((path, header.clone()));
        Some(header)
    }

    fn path_of(&self, id: HeaderId) -> Option<PathBuf> {
        let read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        read.get(id.0 as usize).map(|(path, _)| path.clone())
    }
}

impl Source for Disk {
    fn find(&self, ask: &Ask) -> Option<Arc<Header>> {
        let from = ask.from.and_then(|id| self.path_of(id));
        let folder_of = |p: &Path| self.folders.iter().position(|f| p.starts_with(f));
        let is_system = from.as_ref().and_then(|p| folder_of(p)).is_some_and(|k| k >= self.system);
        if ask.quoted && !ask.next {
            let beside = from.as_deref().unwrap_or(&self.document).parent()?;
            if let Some(found) = self.header(&beside.join(&*ask.name), is_system) {
                return Some(found);
            }
        }
        let first = if ask.next { from.as_ref().and_then(|p| folder_of(p)).map_or(0, |k| k + 1) } else { 0 };
        let mut places = self.folders.iter().enumerate().skip(first);
        places.find_map(|(k, folder)| self.header(&folder.join(&*ask.name), k >= self.system))
    }
}

/// Those that a compiler finds for a document, with folders of the project (`-I`) first.
pub fn of_this_machine(document: &Path, given: &[PathBuf]) -> Headers {
    let entries = |p: &str| std::fs::read_dir(p).into_iter().flatten().flatten().map(|e| e.path());
    let native = |p: &PathBuf| {
        let name = p.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with(std::env::consts::ARCH) && name.contains("-linux")
    };
    let mut compilers: Vec<PathBuf> = entries("/usr/lib/gcc")
        .filter(native)
        .flat_map(|p| std::fs::read_dir(p).into_iter().flatten().flatten().map(|e| e.path().join("include")))
        .filter(|p| p.join("stddef.h").is_file())
        .collect();
    compilers.sort();
    let mut folders = given.to_vec();
    folders.extend(compilers.pop());
    folders.push("/usr/local/include".into());
    folders.extend(entries("/usr/include").filter(native));
    folders.push("/usr/include".into());
    let folders = folders.iter().map(|f| f.canonicalize().unwrap_or_else(|_| f.clone())).collect();
    let document = document.canonicalize().unwrap_or_else(|_| document.to_owned());
    let source = Disk { document, folders, system: given.len(), read: Mutex::default() };
    Headers::new(Arc::new(source), Arc::default())
}
