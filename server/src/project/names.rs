//! What files may define, by the look of their texts: remembered until they change, and on disk by the hash of their texts, so that
//! the next session does not look through a large program again.
//!
//! The file on disk is one for all programs, in the user's folder for caches. It is written to a temporary file and renamed; one that
//! cannot be read, or is of another version, is as good as none.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use serde::{Deserialize, Serialize};
use text::{ContentHash, Text};

use crate::files::{self, Existing};
use crate::limits::project::{CACHED, FILE_BYTES, WORTH_CACHING};

/// Goes up when a text is said to define other names than before.
const VERSION: u32 = 3;

/// The names of all files that were looked at.
#[derive(Debug, Default)]
pub struct Names {
    state: Mutex<State>,
    /// Where they are kept; `None`: nowhere.
    folder: Option<PathBuf>,
    /// Files do not change while they are looked at.
    is_fixed: bool,
}

#[derive(Debug, Default)]
struct State {
    by_path: HashMap<PathBuf, (Stamp, Arc<ide::FileNames>)>,
    /// What is on disk, or is to be; `None`: not read yet.
    kept: Option<HashMap<String, Kept>>,
    /// Bytes of texts that were looked through and are not on disk.
    news: u64,
}

/// What tells that a text is the same.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stamp {
    /// Of a file: its length, and when it was written.
    File(u64, Option<SystemTime>),
    Open(ContentHash),
}

/// The names of a text on disk.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Kept {
    names: Vec<String>,
    watches: bool,
}

/// The file.
#[derive(Serialize, Deserialize)]
struct Cache {
    version: u32,
    /// By the hash of the text.
    texts: HashMap<String, Kept>,
}

impl Names {
    /// Those that are kept in the user's folder for caches.
    pub fn of_user(is_fixed: bool) -> Names {
        Names { folder: user_folder(), is_fixed, ..Names::default() }
    }

    /// Those of a file on disk; none where it cannot be read.
    pub fn of_file(&self, path: &Path) -> Arc<ide::FileNames> {
        if let Some((_, known)) = self.lock().by_path.get(path).filter(|_| self.is_fixed) {
            return known.clone();
        }
        let Ok(metadata) = std::fs::metadata(path) else { return Arc::default() };
        let stamp = Stamp::File(metadata.len(), metadata.modified().ok());
        self.get(path, stamp, || {
            let text = read(path)?;
            let hash = format!("{:?}", ContentHash::of(&text));
            if let Some(kept) = self.kept(&hash) {
                return Some(kept);
            }
            let names = ide::FileNames::of(&text);
            let mut state = self.lock();
            state.news += text.len() as u64;
            let kept = Kept { names: names.all(), watches: names.watches() };
            state.kept.get_or_insert_default().insert(hash, kept);
            Some(names)
        })
    }

    /// Those of a text that stands for a file.
    pub fn of_open(&self, path: &Path, text: &Text) -> Arc<ide::FileNames> {
        self.get(path, Stamp::Open(text.hash()), || Some(ide::FileNames::of(&text.to_string())))
    }

    /// Keeps what was found out, where it was worth the time.
    pub fn save(&self) {
        let texts = {
            let mut state = self.lock();
            if state.news < WORTH_CACHING {
                return;
            }
            state.news = 0;
            state.kept.clone().unwrap_or_default()
        };
        let Some(folder) = &self.folder else { return };
        // where there are too many it begins anew
        let texts = if texts.len() > CACHED { HashMap::new() } else { texts };
        let written = serde_json::to_string(&Cache { version: VERSION, texts })
            .map_err(std::io::Error::other)
            .and_then(|text| {
                std::fs::create_dir_all(folder)?;
                files::write(&cache(folder), &text, Existing::Replace)
            });
        if let Err(e) = written {
            tracing::info!("the names of files are not kept: {e}");
        }
    }

    fn get(
        &self,
        path: &Path,
        stamp: Stamp,
        find: impl FnOnce() -> Option<ide::FileNames>,
    ) -> Arc<ide::FileNames> {
        if let Some((_, names)) = self.lock().by_path.get(path).filter(|(s, _)| *s == stamp) {
            return names.clone();
        }
        let names = Arc::new(find().unwrap_or_default());
        self.lock().by_path.insert(path.to_owned(), (stamp, names.clone()));
        names
    }

    /// What is on disk of a text.
    fn kept(&self, hash: &str) -> Option<ide::FileNames> {
        let mut state = self.lock();
        let kept = state.kept.get_or_insert_with(|| {
            let text = self.folder.as_deref().and_then(|f| std::fs::read_to_string(cache(f)).ok());
            let read = text.and_then(|t| serde_json::from_str::<Cache>(&t).ok());
            read.filter(|c| c.version == VERSION).map(|c| c.texts).unwrap_or_default()
        });
        let kept = kept.get(hash)?;
        Some(ide::FileNames::known(kept.names.iter().map(String::as_str), kept.watches))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // every change is one insertion: after a panic elsewhere all is still right
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn cache(folder: &Path) -> PathBuf {
    folder.join(format!("names-{VERSION}.json"))
}

/// Below `XDG_CACHE_HOME`, `LOCALAPPDATA` or `~/.cache`.
fn user_folder() -> Option<PathBuf> {
    let absolute = |name| std::env::var_os(name).map(PathBuf::from).filter(|p| p.is_absolute());
    let caches = absolute("XDG_CACHE_HOME")
        .or_else(|| absolute("LOCALAPPDATA"))
        .or_else(|| absolute("HOME").map(|home| home.join(".cache")))?;
    Some(caches.join("warpwright"))
}

/// A file's text, without what stands before it; `None`: it is none of ours.
pub fn read(path: &Path) -> Option<String> {
    let metadata = std::fs::metadata(path).ok()?;
    if !metadata.is_file() || metadata.len() > FILE_BYTES {
        return None;
    }
    let (text, _) = files::decoded(std::fs::read(path).ok()?);
    Some(text.strip_prefix('\u{feff}').map_or_else(|| text.clone(), str::to_owned))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_kept_by_the_hash_of_the_text() -> anyhow::Result<()> {
        let (sources, caches) = (tempfile::tempdir()?, tempfile::tempdir()?);
        let path = sources.path().join("a.c");
        // long enough to be worth it
        let padding = "/* nothing */\n".repeat(WORTH_CACHING as usize / 14 + 1);
        std::fs::write(&path, format!("{padding}int f(int x) {{ return x; }}\n"))?;
        let session = || Names { folder: Some(caches.path().to_owned()), ..Names::default() };
        let first = session();
        assert!(first.of_file(&path).may_define("f"));
        first.save();
        let second = session();
        assert!(second.of_file(&path).may_define("f"));
        assert_eq!(second.lock().news, 0, "it was looked through again");
        // another text is another hash, whatever its place
        std::fs::write(&path, format!("{padding}int g(int x) {{ return x; }}\n"))?;
        let third = session();
        let names = third.of_file(&path);
        assert!(names.may_define("g") && !names.may_define("f"));
        // what cannot be read is as good as none
        std::fs::write(cache(caches.path()), "{\"version\": 1, \"texts\": 3}")?;
        assert!(session().of_file(&path).may_define("g"));
        Ok(())
    }
}
