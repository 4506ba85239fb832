//! Files in and out. What is written appears whole or not at all; what is no UTF-8 is read, and written again, as Latin-1.

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
    /// How the file is written again.
    pub form: Form,
}

/// How characters stand in a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Encoding {
    Utf8,
    /// ISO 8859-1: each byte is the character of its number. Whatever the file's encoding is, a text that is read and written so
    /// keeps its bytes, and programs of C name nothing that is no ASCII.
    Latin1,
}

/// What of a file is no part of its text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Form {
    /// What stood before the text: a byte order mark or nothing.
    pub mark: &'static str,
    pub encoding: Encoding,
}

const MARK: &str = "\u{feff}";

/// The characters of a file, a mark before them included.
pub fn decoded(bytes: Vec<u8>) -> (String, Encoding) {
    match String::from_utf8(bytes) {
        Ok(text) => (text, Encoding::Utf8),
        Err(e) => (e.as_bytes().iter().map(|&b| char::from(b)).collect(), Encoding::Latin1),
    }
}

pub fn read(path: &Path) -> Result<Input, InputError> {
    let unreadable = |reason: std::io::Error| match reason.kind() {
        std::io::ErrorKind::NotFound => InputError::Missing(path.to_owned()),
        _ => InputError::Unreadable { path: path.to_owned(), reason },
    };
    if std::fs::metadata(path).map_err(unreadable)?.is_dir() {
        return Err(InputError::Folder(path.to_owned()));
    }
    let bytes = std::fs::read(path).map_err(unreadable)?;
    let (content, encoding) = decoded(bytes);
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
    Ok(Input { path: path.to_owned(), name, text, language, form: Form { mark, encoding } })
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

/// Writes a file of the user's in the form that it had. `content`: with its mark.
pub fn rewrite(path: &Path, content: &str, form: Form) -> std::io::Result<()> {
    let byte = |c: char| u8::try_from(u32::from(c)).ok();
    match form.encoding {
        Encoding::Utf8 => write(path, content, Existing::Replace),
        Encoding::Latin1 => match content.chars().map(byte).collect::<Option<Vec<u8>>>() {
            Some(bytes) => write_bytes(path, &bytes, Existing::Replace),
            None => Err(std::io::Error::new(
                std::io::ErrorKind::InvalidData,
                "it is not UTF-8, and what is to be written has characters that Latin-1 does not have",
            )),
        },
    }
}

/// Writes a file through a temporary one beside it; behind a symbolic link, the file that it leads to. What is no ordinary file (a device, a
/// pipe) is written into, and stays what it is.
pub fn write(path: &Path, content: &str, existing: Existing) -> std::io::Result<()> {
    write_bytes(path, content.as_bytes(), existing)
}

fn write_bytes(path: &Path, content: &[u8], existing: Existing) -> std::io::Result<()> {
    let linked = std::fs::canonicalize(path).ok().filter(|_| existing == Existing::Replace);
    let path = linked.as_deref().unwrap_or(path);
    if existing == Existing::Replace && std::fs::metadata(path).is_ok_and(|m| !m.is_file() && !m.is_dir()) {
        return std::fs::OpenOptions::new().write(true).open(path)?.write_all(content);
    }
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut temporary = tempfile::Builder::new().prefix(".warpwright-").tempfile_in(folder)?;
    temporary.write_all(content)?;
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

    /// As `--stats /dev/null` is, and a file that a link leads to.
    #[cfg(unix)]
    #[test]
    fn what_is_no_ordinary_file_stays_what_it_is() -> anyhow::Result<()> {
        let folder = tempfile::tempdir()?;
        let (real, link) = (folder.path().join("real.json"), folder.path().join("link.json"));
        std::fs::write(&real, "old")?;
        std::os::unix::fs::symlink("real.json", &link)?;
        write(&link, "new", Existing::Replace)?;
        assert_eq!(std::fs::read_to_string(&real)?, "new");
        assert!(std::fs::symlink_metadata(&link)?.is_symlink());
        assert!(write(&link, "newer", Existing::Keep).is_err());
        let null = folder.path().join("null");
        std::os::unix::fs::symlink("/dev/null", &null)?;
        write(&null, "lost", Existing::Replace)?;
        assert!(!std::fs::metadata("/dev/null")?.is_file());
        assert!(std::fs::symlink_metadata(&null)?.is_symlink());
        Ok(())
    }

    #[test]
    fn what_is_no_utf_8_keeps_its_bytes() -> anyhow::Result<()> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("latin.c");
        let bytes = b"int x; // caf\xe9 \xe2\x82 \x9f\n";
        std::fs::write(&path, bytes)?;
        let input = read(&path)?;
        assert_eq!(input.form, Form { mark: "", encoding: Encoding::Latin1 });
        rewrite(&path, &format!("{}int y;\n", input.text), input.form)?;
        assert_eq!(std::fs::read(&path)?, [&bytes[..], b"int y;\n"].concat());
        let why = rewrite(&path, "// \u{20ac}", input.form).err().map(|e| e.to_string());
        assert!(why.is_some_and(|w| w.contains("Latin-1 does not have")));
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
        assert!(file("notes.txt", b"hello\n")?.contains("no language"));
        let hip = file("a.hip", b"__global__ void k(int *a) {}\n")?;
        assert!(hip.contains("not read") && hip.contains("CUDA (.cu) and give `--target hip`"), "{hip}");
        assert_eq!(file("ok.c", b"\xef\xbb\xbfint x;\n")?, "");
        assert!(read(folder.path()).err().is_some_and(|e| e.to_string().contains("folder")));
        assert!(read(Path::new("missing.c")).err().is_some_and(|e| e.to_string().contains("not exist")));
        Ok(())
    }
}
