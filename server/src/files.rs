//! Files in and out. What is written appears whole or not at all; what is read is UTF-8 or a sentence that says why not.

use std::io::Write;
use std::path::{Path, PathBuf};

use text::Text;

/// Why a file cannot be worked on, with what to do about it.
#[derive(Debug, thiserror::Error)]
pub enum InputError {
    #[error("{0} does not exist. Check the path; it is taken relative to the current folder.")]
    Missing(PathBuf),
    #[error("{0} is a folder. Name the files in it, for example {0}/*.c.")]
    Folder(PathBuf),
    #[error("{path} cannot be read: {reason}.")]
    Unreadable { path: PathBuf, reason: std::io::Error },
    #[error("{path} is not UTF-8 (byte {at} begins no character). Convert it first, for example with `iconv -f LATIN1 -t UTF-8`.")]
    NotUtf8 { path: PathBuf, at: usize },
    #[error("{path} is too large: {reason}")]
    TooLarge { path: PathBuf, reason: text::TextError },
    #[error("{0} is in no language that is known. {known} are, by extension and content.", known = languages())]
    Language(PathBuf),
    #[error("{0} is a text in the language of the target `{target}`, which is written here and not read. Write kernels in CUDA (.cu) and give `--target {target}` (the setting `target` in the editor): they are then judged, run and rewritten for it, and loops are offloaded to it.", target = .1.name())]
    OfTarget(PathBuf, ide::Target),
}

/// The languages that are known, with their extensions: `C (.c, .h), C# (.cs) and CUDA (.cu, .cuh)`.
fn languages() -> String {
    let one = |l: &ide::Language| {
        let extensions: Vec<String> = l.files.always.iter().map(|e| format!(".{e}")).collect();
        format!("{} ({})", l.title, extensions.join(", "))
    };
    let mut all: Vec<String> = ide::LANGUAGES.iter().map(one).collect();
    let last = all.pop().unwrap_or_default();
    format!("{} and {last}", all.join(", "))
}

/// A source file.
pub struct Input {
    pub path: PathBuf,
    /// Without folders.
    pub name: String,
    pub text: Text,
    pub language: ide::Language,
    /// What stood before the text: a byte order mark, which is no part of it, or nothing.
    pub mark: &'static str,
}

const MARK: &str = "\u{feff}";

pub fn read(path: &Path) -> Result<Input, InputError> {
    let unreadable = |reason: std::io::Error| match reason.kind() {
        std::io::ErrorKind::NotFound => InputError::Missing(path.to_owned()),
        _ => InputError::Unreadable { path: path.to_owned(), reason },
    };
    if std::fs::metadata(path).map_err(unreadable)?.is_dir() {
        return Err(InputError::Folder(path.to_owned()));
    }
    let bytes = std::fs::read(path).map_err(unreadable)?;
    let content = String::from_utf8(bytes)
        .map_err(|e| InputError::NotUtf8 { path: path.to_owned(), at: e.utf8_error().valid_up_to() })?;
    let (mark, content) = match content.strip_prefix(MARK) {
        Some(rest) => (MARK, rest),
        None => ("", content.as_str()),
    };
    let text = Text::new(content).map_err(|reason| InputError::TooLarge { path: path.to_owned(), reason })?;
    let name = path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    let language = ide::Doc::detect(&name, None, &text).ok_or_else(|| {
        let path = path.to_owned();
        match ide::Target::of_file(&name) {
            Some(target) => InputError::OfTarget(path, target),
            None => InputError::Language(path),
        }
    })?;
    Ok(Input { path: path.to_owned(), name, text, language, mark })
}

/// What may stand where a file is to be written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Existing {
    Replace,
    Keep,
}

/// That a file could not be written, with what to do.
pub fn unwritten(path: &Path, why: &std::io::Error) -> anyhow::Error {
    let place = path.display();
    anyhow::anyhow!("{place} cannot be written: {why}. Check the permissions and the space of its folder, or name another one.")
}

/// Likewise of a folder that could not be made.
pub fn unmade(folder: &Path, why: &std::io::Error) -> anyhow::Error {
    let place = folder.display();
    anyhow::anyhow!("the folder {place} cannot be made: {why}. Name one that can, or make it first.")
}

/// Writes a file through a temporary one beside it.
pub fn write(path: &Path, content: &str, existing: Existing) -> std::io::Result<()> {
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut temporary = tempfile::Builder::new().prefix(".warpwright-").tempfile_in(folder)?;
    temporary.write_all(content.as_bytes())?;
    // temporary files are private; what is written for the user is as readable as what it replaces
    let permissions = match std::fs::metadata(path) {
        Ok(old) => Some(old.permissions()),
        Err(_) => new_file_permissions(),
    };
    if let Some(permissions) = permissions {
        temporary.as_file().set_permissions(permissions)?;
    }
    temporary.as_file().sync_all()?;
    match existing {
        Existing::Replace => temporary.persist(path).map_err(|e| e.error)?,
        Existing::Keep => temporary.persist_noclobber(path).map_err(|e| e.error)?,
    };
    Ok(())
}

#[cfg(unix)]
fn new_file_permissions() -> Option<std::fs::Permissions> {
    use std::os::unix::fs::PermissionsExt;
    Some(std::fs::Permissions::from_mode(0o644))
}

#[cfg(not(unix))]
fn new_file_permissions() -> Option<std::fs::Permissions> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_lost() -> anyhow::Result<()> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("a.cu");
        write(&path, "one", Existing::Keep)?;
        assert!(write(&path, "two", Existing::Keep).is_err());
        assert_eq!(std::fs::read_to_string(&path)?, "one");
        write(&path, "three", Existing::Replace)?;
        assert_eq!(std::fs::read_to_string(&path)?, "three");
        assert_eq!(std::fs::read_dir(folder.path())?.count(), 1);
        Ok(())
    }

    #[test]
    fn refusals_say_what_to_do() -> anyhow::Result<()> {
        let folder = tempfile::tempdir()?;
        let file = |name: &str, bytes: &[u8]| -> anyhow::Result<String> {
            let path = folder.path().join(name);
            std::fs::write(&path, bytes)?;
            Ok(read(&path).err().map(|e| e.to_string()).unwrap_or_default())
        };
        assert!(file("latin.c", b"// caf\xe9\n")?.contains("iconv"));
        assert!(file("notes.txt", b"hello\n")?.contains("no language"));
        let hip = file("a.hip", b"__global__ void k(int *a) {}\n")?;
        assert!(hip.contains("not read") && hip.contains("CUDA (.cu) and give `--target hip`"), "{hip}");
        assert_eq!(file("ok.c", b"\xef\xbb\xbfint x;\n")?, "");
        assert!(read(folder.path()).err().is_some_and(|e| e.to_string().contains("folder")));
        assert!(read(Path::new("missing.c")).err().is_some_and(|e| e.to_string().contains("not exist")));
        Ok(())
    }
}
