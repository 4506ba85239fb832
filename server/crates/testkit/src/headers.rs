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
