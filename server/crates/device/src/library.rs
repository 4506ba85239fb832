//! Where an NVRTC library may lie.
//!
//! A path from the settings or from `WARPWRIGHT_NVRTC` is taken alone: who names a library does not want another.
//! Otherwise the usual places are looked through, and the loader's own search (cudarc's list of names) comes last.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The environment variable that names a library, a folder that holds one, or several of them separated as in `PATH`.
pub const ENV_NVRTC: &str = "WARPWRIGHT_NVRTC";

/// Where to look.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Places {
    /// Library files, the most wanted first.
    pub files: Vec<PathBuf>,
    /// What was named and does not exist or holds no library.
    pub empty: Vec<PathBuf>,
    /// Whether the loader may search too.
    pub loader: bool,
}

/// Places for a library named by the caller, by the environment, or by nobody. `env` reads the environment.
pub(crate) fn places(named: Option<&Path>, env: &dyn Fn(&str) -> Option<OsString>) -> Places {
    let set = |name: &str| env(name).filter(|v| !v.is_empty());
    let named: Vec<PathBuf> = match named {
        Some(path) => vec![path.to_owned()],
        None => set(ENV_NVRTC).map(|v| std::env::split_paths(&v).collect()).unwrap_or_default(),
    };
    let named: Vec<PathBuf> = named.into_iter().filter(|p| !p.as_os_str().is_empty()).collect();
    if !named.is_empty() {
        let (mut files, mut empty) = (Vec::new(), Vec::new());
        for path in named {
            let found = in_file_or_folder(&path);
            if found.is_empty() {
                empty.push(path);
            }
            files.extend(found);
        }
        return Places { files, empty, loader: false };
    }
    let mut folders: Vec<PathBuf> = ["CUDA_HOME", "CUDA_PATH", "VIRTUAL_ENV", "CONDA_PREFIX"]
        .iter()
        .filter_map(|n| set(n))
        .map(PathBuf::from)
        .collect();
    let mut toolkits: Vec<PathBuf> = children(Path::new("/usr/local"), |n| n.starts_with("cuda"));
    toolkits.sort_by_key(|p| std::cmp::Reverse(numbers(p)));
    folders.extend(toolkits);
    let mut files: Vec<PathBuf> = Vec::new();
    for file in folders.iter().flat_map(|f| in_file_or_folder(f)) {
        if !files.contains(&file) {
            files.push(file);
        }
    }
    Places { files, empty: Vec::new(), loader: true }
}

/// The libraries at a path, newest first: the file itself, or those in the folder, in the folders a toolkit keeps
/// them in, and in those of Python's packages. Absolute, so that the builtins library beside it is found.
fn in_file_or_folder(path: &Path) -> Vec<PathBuf> {
    let Ok(path) = std::path::absolute(path) else {
        return Vec::new();
    };
    if path.is_file() {
        return vec![path];
    }
    let mut folders = vec![path.clone()];
    folders.extend(
        ["lib64", "lib", "bin", "lib/x86_64-linux-gnu", "targets/x86_64-linux/lib"].map(|f| path.join(f)),
    );
    let mut packages = vec![path.join("nvidia"), path.join("Lib/site-packages/nvidia")];
    for python in children(&path.join("lib"), |n| n.starts_with("python")) {
        packages.push(python.join("site-packages/nvidia"));
    }
    for package in packages.iter().flat_map(|p| children(p, |_| true)) {
        folders.extend(["lib", "bin"].map(|f| package.join(f)));
    }
    let mut files: Vec<PathBuf> =
        folders.iter().flat_map(|f| children(f, is_nvrtc)).filter(|f| f.is_file()).collect();
    // 13 before 12, and the plain name (a developer's link) behind those that say their version
    files.sort_by_key(|p| std::cmp::Reverse(numbers(p)));
    files
}

/// Whether a file name is that of the compiler itself and not of its builtins, its static or its alternative build.
fn is_nvrtc(name: &str) -> bool {
    let unix = name.strip_prefix("libnvrtc.so").is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
    let windows = name.strip_prefix("nvrtc64_").and_then(|rest| rest.strip_suffix(".dll"));
    unix || windows.is_some_and(|rest| rest.bytes().all(|b| b.is_ascii_digit() || b == b'_'))
}

/// The numbers in the last part of a path, to sort by version.
fn numbers(path: &Path) -> Vec<u64> {
    let name = path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    let name = name.replace("nvrtc64", "");
    name.split(|c: char| !c.is_ascii_digit()).filter_map(|n| n.parse().ok()).collect()
}

fn children(folder: &Path, wanted: impl Fn(&str) -> bool) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = std::fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .filter(|entry| entry.file_name().to_str().is_some_and(&wanted))
        .map(|entry| entry.path())
        .collect();
    found.sort();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_named_place_is_taken_alone_and_newer_comes_first() {
        let dir = tempfile::tempdir().expect("temporary folder");
        let lib = dir.path().join("lib/python3.11/site-packages/nvidia");
        for (package, file) in [("cuda_nvrtc", "libnvrtc.so.12"), ("cu13", "libnvrtc.so.13")] {
            let folder = lib.join(package).join("lib");
            std::fs::create_dir_all(&folder).expect("folder");
            for file in [file, "libnvrtc-builtins.so.12.9", "libnvrtc.alt.so.12", "libnvrtc_static.a"] {
                std::fs::write(folder.join(file), "").expect("file");
            }
        }
        let missing = dir.path().join("missing");
        let list = std::env::join_paths([dir.path(), &missing]).expect("no colon in it");
        let found = places(None, &|name| (name == ENV_NVRTC).then(|| list.clone()));
        assert!(!found.loader);
        assert_eq!(found.empty, std::slice::from_ref(&missing));
        let names: Vec<_> = found.files.iter().map(|f| f.file_name().expect("file").to_owned()).collect();
        assert_eq!(names, ["libnvrtc.so.13", "libnvrtc.so.12"]);
        let active = places(None, &|name| (name == "VIRTUAL_ENV").then(|| dir.path().into()));
        assert_eq!(active.files[..2], found.files[..]);
        assert!(active.loader);
        let named = places(Some(&missing), &|_| Some(list.clone()));
        assert_eq!((named.files.len(), named.empty.len(), named.loader), (0, 1, false));
    }
}
