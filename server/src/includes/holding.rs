//! Where in a project a header lies that nothing found: for a fix that names its folder.
//!
//! Deliberately absent: which of several is meant; all are offered.

use std::path::{Path, PathBuf};

use crate::limits::includes::{ABOVE, LOOKED_AT};

/// What stands in the uppermost folder of a project.
const SIGNS: [&str; 5] = [".git", "Makefile", "CMakeLists.txt", "meson.build", "configure"];

/// Folders in which no headers of the project are.
const NO_HEADERS: [&str; 2] = ["node_modules", "target"];

/// The folders of the project of a document below which a header of this name (`grid/sizes.h`) lies, the nearest first, and the
/// project's own folder.
pub fn holding(document: &Path, name: &str) -> (PathBuf, Vec<PathBuf>) {
    let folder = document.parent().unwrap_or(Path::new("")).to_owned();
    let has_sign = |f: &&Path| SIGNS.iter().any(|s| f.join(s).exists());
    let root = folder.ancestors().take(ABOVE + 1).find(has_sign).unwrap_or(&folder).to_owned();
    let (mut open, mut found, mut looked_at) = (vec![root.clone()], Vec::new(), 0);
    while let Some(at) = open.pop() {
        if at.join(name).is_file() {
            found.push(at.clone());
        }
        for entry in std::fs::read_dir(&at).into_iter().flatten().flatten() {
            looked_at += 1;
            let name = entry.file_name().to_string_lossy().into_owned();
            // links are not followed, so no folder is entered twice
            let is_folder = entry.file_type().is_ok_and(|t| t.is_dir());
            if is_folder && !name.starts_with('.') && !NO_HEADERS.contains(&&*name) {
                open.push(entry.path());
            }
        }
        if looked_at > LOOKED_AT {
            break;
        }
    }
    let steps = |f: &PathBuf| {
        let common = f.components().zip(folder.components()).take_while(|(a, b)| a == b).count();
        (f.components().count() + folder.components().count() - 2 * common, f.clone())
    };
    found.sort_by_key(steps);
    (root, found)
}

#[cfg(test)]
mod tests {
    use super::holding;

    #[test]
    fn the_nearest_folder_comes_first() {
        let root = std::env::temp_dir().join(format!("warpwright-holding-{}", std::process::id()));
        for folder in ["src/deep", "include/grid", "far/away/grid", ".hidden/grid"] {
            std::fs::create_dir_all(root.join(folder)).expect("a folder");
        }
        for file in ["Makefile", "include/grid/sizes.h", "far/away/grid/sizes.h", ".hidden/grid/sizes.h"] {
            std::fs::write(root.join(file), "").expect("a file");
        }
        let (top, found) = holding(&root.join("src/deep/a.c"), "grid/sizes.h");
        let none = holding(&root.join("src/deep/a.c"), "other.h").1;
        std::fs::remove_dir_all(&root).expect("removed");
        assert_eq!(top, root);
        assert_eq!(found, [root.join("include"), root.join("far/away")]);
        assert!(none.is_empty());
    }
}
