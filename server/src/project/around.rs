//! Which files are of a document's program: those that `compile_commands.json` lists with it; else the files of its language
//! below its source root.
//!
//! The source root is the folder that was asked about (the editor's, the command line's); else the nearest folder above the document
//! that has a build description or a repository in it; else the document's own folder.

use std::path::{Path, PathBuf};

use crate::includes::{children, Disk};
use crate::limits::includes::ABOVE;
use crate::limits::project::{DEPTH, FILES};

/// The files around a document, but for itself.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Around {
    /// In the document's folder.
    pub near: Vec<PathBuf>,
    /// Elsewhere in the program.
    pub far: Vec<PathBuf>,
    /// Names are told from here.
    pub root: PathBuf,
    /// Where was looked: continues "defined in no file of".
    pub searched: String,
    /// There are more than are looked at.
    pub is_cut: bool,
}

/// What makes a folder a source root.
const SIGNS: [&str; 8] = [
    ".git",
    "Makefile",
    "makefile",
    "GNUmakefile",
    "CMakeLists.txt",
    "meson.build",
    "configure",
    "configure.ac",
];

/// Folders in which there are no sources of the program, or others' copies of them.
const NO_SOURCES: [&str; 5] = ["build", "node_modules", "target", "third_party", "warpwright-out"];

/// The files around a document of a language; `roots`: folders that were asked about; `below`: the files of the language below a source
/// root.
pub fn around(
    disk: &Disk,
    (document, language): (&Path, ide::Language),
    roots: &[PathBuf],
    below: impl FnOnce(&Path) -> Vec<PathBuf>,
) -> Option<Around> {
    let folder = document.parent()?;
    let is_ours = |f: &Path| is_linked(f, language);
    let root = root(folder, roots);
    let (mut files, searched) = match disk.compiled_with(document) {
        Some(listed) => {
            let listed: Vec<PathBuf> = listed.into_iter().filter(|f| is_ours(f)).collect();
            let count = listed.len();
            (listed, format!("the {count} files that `compile_commands.json` lists"))
        }
        None => {
            let mut files = below(&root);
            // the document's own folder comes first where there are too many
            let mut own: Vec<PathBuf> = children(folder).into_iter().filter(|f| is_ours(f)).collect();
            own.append(&mut files);
            let name = root.file_name().map_or_else(|| "/".into(), |n| n.to_string_lossy().into_owned());
            (own, format!("the {} files below the folder `{name}`", language.title))
        }
    };
    files.retain(|f| f != document);
    let (mut near, mut far): (Vec<_>, Vec<_>) = files.into_iter().partition(|f| f.parent() == Some(folder));
    for files in [&mut near, &mut far] {
        files.sort();
        files.dedup();
    }
    let is_cut = near.len() + far.len() >= FILES;
    far.truncate(FILES.saturating_sub(near.len()));
    near.truncate(FILES);
    Some(Around { near, far, root, searched, is_cut })
}

/// Whether a file is one that becomes part of a program by the names in it.
pub fn is_linked(path: &Path, language: ide::Language) -> bool {
    let extension = path.extension().and_then(|e| e.to_str());
    extension.is_some_and(|e| language.linked.contains(&e))
}

fn root(folder: &Path, roots: &[PathBuf]) -> PathBuf {
    let home = std::env::home_dir();
    // what lies directly in these belongs to nobody's project
    let shared = |f: &Path| f.parent().is_none_or(|p| p.parent().is_none()) || home.as_deref() == Some(f);
    let asked = roots.iter().filter(|r| folder.starts_with(r) && !shared(r));
    if let Some(root) = asked.max_by_key(|r| r.as_os_str().len()) {
        return root.clone();
    }
    let above = folder.ancestors().take(ABOVE).take_while(|f| !shared(f));
    let signed = above.into_iter().find(|f| SIGNS.iter().any(|s| f.join(s).exists()));
    signed.unwrap_or(folder).to_owned()
}

/// The files of a language below a folder, in order.
pub fn below(folder: &Path, language: ide::Language) -> Vec<PathBuf> {
    let mut out = Vec::new();
    add(folder, language, 0, &mut out);
    out
}

fn add(folder: &Path, language: ide::Language, depth: usize, out: &mut Vec<PathBuf>) {
    for path in children(folder) {
        if out.len() >= FILES {
            return;
        }
        let name = path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
        let Ok(kind) = path.symlink_metadata().map(|m| m.file_type()) else { continue };
        // a link may lead in a circle
        if kind.is_dir() {
            if depth < DEPTH && !name.starts_with('.') && !NO_SOURCES.contains(&&*name) {
                add(&path, language, depth + 1, out);
            }
        } else if is_linked(&path, language) {
            out.push(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_the_root_and_the_build_description_say_what_the_program_is() -> anyhow::Result<()> {
        let folder = tempfile::tempdir()?;
        let root = folder.path().join("up").join("program");
        let write = |name: &str| -> anyhow::Result<PathBuf> {
            let path = root.join(name);
            std::fs::create_dir_all(path.parent().unwrap_or(&root))?;
            std::fs::write(&path, "")?;
            Ok(path)
        };
        for name in ["src/a.c", "src/b.c", "src/b.h", "lib/c.c", "build/gen.c", ".old/d.c"] {
            write(name)?;
        }
        let disk = Disk::default();
        let c = ide::Doc::detect("a.c", None, &text::Text::empty()).expect("a language");
        let document = root.join("src/a.c");
        let names = |files: &[PathBuf]| -> Vec<String> {
            let below = |f: &PathBuf| f.strip_prefix(&root).unwrap_or(f).to_string_lossy().into_owned();
            files.iter().map(below).collect()
        };
        let found =
            |roots: &[PathBuf]| around(&disk, (&document, c), roots, |f| below(f, c)).expect("a folder");
        let alone = found(&[]);
        assert_eq!((names(&alone.near), names(&alone.far)), (vec!["src/b.c".to_owned()], vec![]));
        assert_eq!(alone.searched, "the C files below the folder `src`");
        let asked = found(std::slice::from_ref(&root));
        assert_eq!(names(&asked.far), ["lib/c.c"]);
        write("Makefile")?;
        assert_eq!(found(&[]), asked);
        let command = |file: &str, more: &str| serde_json::json!({"directory": root, "file": file, "command": format!("cc {more} -c {file}")});
        let database = [
            command("src/a.c", ""),
            command("lib/c.c", ""),
            command("src/b.c", "-DTWO"),
            command("src/b.c", "-DONE"),
        ];
        std::fs::write(
            root.join("compile_commands.json"),
            serde_json::Value::from(database.to_vec()).to_string(),
        )?;
        disk.forget();
        let listed = found(&[]);
        assert_eq!((names(&listed.near), names(&listed.far)), (vec![], vec!["lib/c.c".to_owned()]));
        assert_eq!(listed.searched, "the 2 files that `compile_commands.json` lists");
        Ok(())
    }
}
