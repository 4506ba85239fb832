//! Which files are of a document's program: those that `compile_commands.json` lists with it; else the files of its language
//! below its source root.
//!
//! The source root is the folder that was asked about (the editor's, the command line's); else the nearest folder above the document
//! that has a build description or a repository in it, with those right above it that have one too; else the document's own folder.

use std::path::{Path, PathBuf};

use crate::includes::{children, Disk};
use crate::limits::includes::ABOVE;
use crate::limits::project::{DEPTH, ENTRIES, FILES};

/// The files around a document, but for itself.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Around {
    /// In the document's folder.
    pub near: Vec<PathBuf>,
    /// Elsewhere in the program.
    pub far: Vec<PathBuf>,
    /// Names are told from here.
    pub root: PathBuf,
    /// Where was looked: continues "not found with a body in".
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
    below: impl FnOnce(&Path) -> Below,
) -> Option<Around> {
    let folder = document.parent()?;
    let is_ours = |f: &Path| is_linked(f, language);
    let root = root(folder, roots);
    let mut is_cut = false;
    let (mut files, searched) = match disk.compiled_with(document) {
        Some(listed) => {
            let listed: Vec<PathBuf> = listed.into_iter().filter(|f| is_ours(f)).collect();
            let count = listed.len();
            (listed, format!("the {count} files that `compile_commands.json` lists"))
        }
        None => {
            // below those there are everybody's files
            let is_shared = is_shared(&root);
            let mut files = if is_shared { Below::default() } else { below(&root) };
            is_cut = files.is_cut;
            // the document's own folder comes first where there are too many
            let mut own: Vec<PathBuf> = children(folder).into_iter().filter(|f| is_ours(f)).collect();
            own.append(&mut files.files);
            let name = root.file_name().map_or_else(|| "/".into(), |n| n.to_string_lossy().into_owned());
            let below = if is_shared { "in" } else { "below" };
            (own, format!("the {} files {below} the folder `{name}`", language.title))
        }
    };
    files.retain(|f| f != document);
    let (mut near, mut far): (Vec<_>, Vec<_>) = files.into_iter().partition(|f| f.parent() == Some(folder));
    for files in [&mut near, &mut far] {
        files.sort();
        files.dedup();
    }
    is_cut |= near.len() + far.len() >= FILES;
    far.truncate(FILES.saturating_sub(near.len()));
    near.truncate(FILES);
    Some(Around { near, far, root, searched, is_cut })
}

/// Whether a file is one that becomes part of a program by the names in it.
pub fn is_linked(path: &Path, language: ide::Language) -> bool {
    let extension = path.extension().and_then(|e| e.to_str());
    extension.is_some_and(|e| language.linked.contains(&e))
}

/// Whether what lies directly in a folder belongs to nobody's project: the file system's root, what stands in it (`/tmp`), a home.
fn is_shared(folder: &Path) -> bool {
    let high = folder.parent().is_none_or(|p| p.parent().is_none());
    high || std::env::home_dir().as_deref() == Some(folder)
}

fn root(folder: &Path, roots: &[PathBuf]) -> PathBuf {
    let asked = roots.iter().filter(|r| folder.starts_with(r) && !is_shared(r));
    if let Some(root) = asked.max_by_key(|r| r.as_os_str().len()) {
        return root.clone();
    }
    let is_signed = |f: &&Path| SIGNS.iter().any(|s| f.join(s).exists());
    let mut above =
        folder.ancestors().take(ABOVE).take_while(|f| !is_shared(f)).skip_while(|f| !is_signed(f));
    let mut root = above.next().unwrap_or(folder);
    // one build description calls another, up to where the repository begins
    while !root.join(".git").exists() {
        match above.next().filter(is_signed) {
            Some(next) => root = next,
            None => break,
        }
    }
    root.to_owned()
}

/// The files of a language below a folder, in order.
#[derive(Clone, Debug, Default)]
pub struct Below {
    pub files: Vec<PathBuf>,
    /// Not all of the folder was looked at.
    pub is_cut: bool,
}

/// Lists them.
pub fn below(folder: &Path, language: ide::Language) -> Below {
    those_below(folder, &|f| is_linked(f, language))
}

/// The files below a folder that somebody would call a source: of any language, and no header. `None`: what lies there is everybody's.
pub fn sources(folder: &Path) -> Option<Below> {
    (!is_shared(folder)).then(|| those_below(folder, &is_source))
}

/// The files around a document that may launch kernels: those of its folder first, then the others below its source root.
pub fn launching(document: &Path, roots: &[PathBuf]) -> Vec<PathBuf> {
    const EXTENSIONS: [&str; 5] = ["cu", "cuh", "h", "hpp", "hh"];
    let fits = |f: &Path| f.extension().and_then(|e| e.to_str()).is_some_and(|e| EXTENSIONS.contains(&e));
    let Some(folder) = document.parent() else { return Vec::new() };
    let root = root(folder, roots);
    let mut out: Vec<PathBuf> = children(folder).into_iter().filter(|f| fits(f)).collect();
    if !is_shared(&root) {
        let near = out.len();
        out.extend(those_below(&root, &fits).files);
        let own: std::collections::HashSet<PathBuf> = out.iter().take(near).cloned().collect();
        let mut at = 0;
        out.retain(|f| {
            at += 1;
            at <= near || !own.contains(f)
        });
    }
    out.retain(|f| f != document);
    out
}

/// Whether a file is one of the [`sources`] of a folder.
pub fn is_source_below(folder: &Path, file: &Path) -> bool {
    let Ok(within) = file.strip_prefix(folder) else { return false };
    let is_entered = |f: &Path| {
        let name = f.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
        name.is_empty() || is_entered(&name)
    };
    is_source(file) && !is_shared(folder) && within.ancestors().skip(1).all(is_entered)
}

/// Whether there may be sources of a program in a folder of this name.
fn is_entered(name: &str) -> bool {
    !name.starts_with('.') && !NO_SOURCES.contains(&name)
}

/// Whether a file is one that is analyzed by itself.
fn is_source(path: &Path) -> bool {
    let extension = path.extension().and_then(|e| e.to_str());
    extension
        .is_some_and(|e| !HEADERS.contains(&e) && ide::LANGUAGES.iter().any(|l| l.files.always.contains(&e)))
}

/// What others include.
const HEADERS: [&str; 5] = ["h", "hpp", "hh", "hxx", "cuh"];

fn those_below(folder: &Path, fits: &dyn Fn(&Path) -> bool) -> Below {
    let (mut files, mut left) = (Vec::new(), ENTRIES);
    add(folder, fits, 0, &mut left, &mut files);
    Below { is_cut: left == 0 || files.len() >= FILES, files }
}

fn add(folder: &Path, fits: &dyn Fn(&Path) -> bool, depth: usize, left: &mut usize, out: &mut Vec<PathBuf>) {
    for path in children(folder) {
        if out.len() >= FILES || *left == 0 {
            return;
        }
        *left -= 1;
        let name = path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
        let Ok(kind) = path.symlink_metadata().map(|m| m.file_type()) else { continue };
        // a link may lead in a circle
        if kind.is_dir() {
            if depth < DEPTH && is_entered(&name) {
                add(&path, fits, depth + 1, left, out);
            }
        } else if fits(&path) {
            out.push(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_looks_below_the_root_of_the_file_system() {
        let disk = Disk::default();
        let c = ide::Doc::detect("a.c", None, &text::Text::empty()).expect("a language");
        let below = |f: &Path| -> Below { panic!("looked below {}", f.display()) };
        for document in ["/third.c", "/srv/third.c"] {
            let found = around(&disk, (Path::new(document), c), &[], below).expect("a folder");
            assert!(found.far.is_empty() && found.searched.starts_with("the C files in the folder"));
        }
    }

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
        // one description calls the other; a repository ends where it begins
        write("src/Makefile")?;
        assert_eq!(found(&[]), asked);
        write("src/.git")?;
        assert_eq!(found(&[]), alone);
        std::fs::remove_file(root.join("src/.git"))?;
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
