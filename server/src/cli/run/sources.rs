//! Which files a program is made of.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::super::written::Written;
use crate::limits::cli_run::NAMES;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    C,
    Cpp,
    /// CUDA's language, or HIP's.
    Kernels,
    /// For the linker alone.
    Linked,
}

pub struct Source {
    pub path: PathBuf,
    pub kind: Kind,
    /// What it was rewritten from, or itself: its headers lie around that.
    pub origin: PathBuf,
}

pub struct Sources {
    pub all: Vec<Source>,
    /// Files, and those that stand for them.
    pub left_out: Vec<(PathBuf, PathBuf)>,
}

impl Sources {
    /// What is left out, in a sentence.
    pub fn left_out(&self) -> String {
        match self.left_out.as_slice() {
            [(file, other)] => format!("{} is left out: {} stands for it.", file.display(), other.display()),
            all => {
                let mut names: Vec<String> =
                    all.iter().take(NAMES).map(|(f, _)| f.display().to_string()).collect();
                names.extend((all.len() > NAMES).then(|| "…".to_owned()));
                format!(
                    "{} files are left out, since what was written from them stands for them: {}",
                    all.len(),
                    names.join(", ")
                )
            }
        }
    }
}

/// What a file is, by its name.
fn kind(path: &Path) -> Option<Kind> {
    Some(match path.extension()?.to_str()? {
        "c" => Kind::C,
        "cpp" | "cc" | "cxx" | "C" => Kind::Cpp,
        "cu" | "hip" => Kind::Kernels,
        "o" | "a" | "so" => Kind::Linked,
        _ => return None,
    })
}

/// A file that was named, or found in a folder that was.
struct Found {
    path: PathBuf,
    real: PathBuf,
    /// Below the folder that was named.
    within: Option<PathBuf>,
}

/// The files that are meant, each once.
pub fn find(given: &[PathBuf]) -> anyhow::Result<Sources> {
    let mut seen = BTreeSet::new();
    let mut all = Vec::new();
    for path in given {
        let mut here = vec![path.clone()];
        if path.is_dir() {
            here.clear();
            below(path, &mut here)?;
            here.sort();
            if here.is_empty() {
                anyhow::bail!(
                    "{} has no C, C++ or CUDA file. Name the folder or the files of the program.",
                    path.display()
                );
            }
        }
        for file in here {
            let real = file.canonicalize().map_err(|e| {
                anyhow::anyhow!(
                    "{} cannot be read: {e}. Check the path; it is taken relative to the current folder.",
                    file.display()
                )
            })?;
            if seen.insert(real.clone()) {
                let within = file.strip_prefix(path).ok().filter(|_| path.is_dir()).map(Path::to_owned);
                all.push(Found { path: file, real, within });
            }
        }
    }
    let origins: Vec<PathBuf> = all.iter().map(origin).collect();
    // what `offload` wrote stands for what it was made of
    let mut instead: BTreeMap<&Path, &Path> = BTreeMap::new();
    for (f, origin) in
        all.iter().zip(&origins).filter(|(f, o)| f.real != **o && f.real.extension() == o.extension())
    {
        instead.entry(origin).or_insert(&f.path);
    }
    let mut first: BTreeMap<&Path, &Path> = BTreeMap::new();
    let mut out = Sources { all: Vec::new(), left_out: Vec::new() };
    for (f, origin) in all.iter().zip(&origins) {
        let same = f.within.as_deref().and_then(|w| first.get(w));
        if let Some(other) = instead.get(&*f.real).or(same) {
            out.left_out.push((f.path.clone(), other.to_path_buf()));
            continue;
        }
        let Some(kind) = kind(&f.path) else {
            anyhow::bail!(
                "{} is no source of a program (.c, .cpp, .cu), no object (.o) and no library (.a, .so). \
                 What the program is to get goes behind `--`.",
                f.path.display()
            );
        };
        if let Some(within) = &f.within {
            first.insert(within, &f.path);
        }
        out.all.push(Source { path: f.path.clone(), kind, origin: origin.clone() });
    }
    Ok(out)
}

/// What a file was written for, or itself.
fn origin(f: &Found) -> PathBuf {
    let folder = f.path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let name = f.path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    Written::of(folder).source(&name).map_or_else(|| f.real.clone(), Path::to_owned)
}

/// The sources in and below a folder, but not those in hidden folders. Links to folders are not followed.
fn below(folder: &Path, into: &mut Vec<PathBuf>) -> anyhow::Result<()> {
    let unreadable = |e: std::io::Error| {
        anyhow::anyhow!("{} cannot be read: {e}. Check its permissions, or name files.", folder.display())
    };
    for entry in std::fs::read_dir(folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        let is_hidden = path.file_name().is_some_and(|n| n.to_string_lossy().starts_with('.'));
        if path.symlink_metadata().is_ok_and(|m| m.is_dir()) {
            if !is_hidden {
                below(&path, into)?;
            }
        } else if !is_hidden && matches!(kind(&path), Some(Kind::C | Kind::Cpp | Kind::Kernels)) {
            into.push(path);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::super::written::New;
    use super::*;

    #[test]
    fn what_was_rewritten_stands_for_the_original() -> anyhow::Result<()> {
        let folder = tempfile::tempdir()?;
        let at = |name: &str| folder.path().join(name);
        for name in ["src", "src/gpu", "src/sub", "src/.git", "other"] {
            std::fs::create_dir(at(name))?;
        }
        for name in [
            "src/a.c",
            "src/b.c",
            "src/b.h",
            "src/sub/a.c",
            "src/.git/x.c",
            "src/gpu/a.c",
            "src/gpu/a_loop.cu",
            "other/s.c",
        ] {
            std::fs::write(at(name), "")?;
        }
        let found = find(&[at("src/gpu"), at("src")])?;
        let names: Vec<_> =
            found.all.iter().map(|s| s.path.strip_prefix(folder.path())).collect::<Result<_, _>>()?;
        assert_eq!(names, ["src/gpu/a.c", "src/gpu/a_loop.cu", "src/b.c", "src/sub/a.c"].map(Path::new));
        assert!(found.left_out().ends_with("src/gpu/a.c stands for it."), "{}", found.left_out());
        // as `offload` records it, whatever the order and the names of folders
        let mut written = Written::of(&at("other"));
        written.note(&New { name: "s.c", text: "" }, &at("src/sub/a.c"), Vec::new());
        written.save(&at("other"))?;
        let found = find(&[at("src/sub"), at("src/b.c"), at("other/s.c")])?;
        let names: Vec<_> =
            found.all.iter().map(|s| s.path.strip_prefix(folder.path())).collect::<Result<_, _>>()?;
        assert_eq!(names, ["src/b.c", "other/s.c"].map(Path::new));
        assert!(found.all.last().is_some_and(|s| s.origin.ends_with("src/sub/a.c")));
        // named one by one, both are meant
        assert_eq!(find(&[at("src/a.c"), at("src/sub/a.c")])?.all.len(), 2);
        for (wrong, says) in
            [("src/b.h", "no source"), ("src/none.c", "Check the path"), ("src/.git/none", "Check the path")]
        {
            assert!(find(&[at(wrong)]).err().is_some_and(|e| e.to_string().contains(says)), "{wrong}");
        }
        Ok(())
    }
}
