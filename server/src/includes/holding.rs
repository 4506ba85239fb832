//! Where in a project a header lies that nothing found: for what is taken in its place, and for a fix that names its folder.
//!
//! A header that a build makes of a template (`config.h` of `config.h.in`) is read as the template has it with nothing
//! configured. Deliberately absent: which of several alike is meant; the fix offers all, and nothing is taken.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};

use crate::limits::includes::{ABOVE, LOOKED_AT};

/// What stands in the uppermost folder of a project, in a repository or without.
const REPOSITORIES: [&str; 3] = [".git", ".hg", ".svn"];
const SIGNS: [&str; 11] = [
    "Makefile",
    "makefile",
    "GNUmakefile",
    "CMakeLists.txt",
    "meson.build",
    "configure",
    "configure.ac",
    "README",
    "README.md",
    "LICENSE",
    "COPYING",
];

/// Folders in which no headers of the project are.
const NO_HEADERS: [&str; 2] = ["node_modules", "target"];

/// How the names of files end that a header is made of.
const TEMPLATES: [&str; 5] = [".in", ".cmake", ".cmake.in", ".in.cmake", ".meson"];

/// The uppermost folder of a document's project: that of its repository, else the highest above it that looks like one.
pub fn root_of(document: &Path) -> PathBuf {
    let folder = document.parent().unwrap_or(Path::new(""));
    let home = std::env::home_dir();
    let is_shared = |f: &Path| f.parent().is_none_or(|p| p.parent().is_none()) || home.as_deref() == Some(f);
    let above: Vec<&Path> = folder.ancestors().take(ABOVE + 1).take_while(|f| !is_shared(f)).collect();
    let has = |f: &Path, signs: &[&str]| signs.iter().any(|s| f.join(s).exists());
    let repository = above.iter().find(|f| has(f, &REPOSITORIES));
    let found = repository.or_else(|| above.iter().rev().find(|f| has(f, &SIGNS)));
    found.map_or_else(|| folder.to_owned(), |f| (*f).to_owned())
}

/// The files of a project that may be headers, by their names.
#[derive(Debug, Default)]
pub struct Listed {
    by_name: HashMap<String, Vec<PathBuf>>,
}

impl Listed {
    /// Those below a folder.
    pub fn below(root: &Path) -> Listed {
        let (mut open, mut out, mut looked_at) = (vec![root.to_owned()], Listed::default(), 0);
        while let Some(at) = open.pop() {
            for entry in std::fs::read_dir(&at).into_iter().flatten().flatten() {
                looked_at += 1;
                let name = entry.file_name().to_string_lossy().into_owned();
                // links are not followed, so no folder is entered twice
                let Ok(kind) = entry.file_type() else { continue };
                if kind.is_dir() && !name.starts_with('.') && !NO_HEADERS.contains(&&*name) {
                    open.push(entry.path());
                } else if kind.is_file() && [".h", ".cuh", ".inc"].iter().any(|e| name.contains(e)) {
                    out.by_name.entry(name).or_default().push(entry.path());
                }
            }
            if looked_at > LOOKED_AT {
                break;
            }
        }
        for paths in out.by_name.values_mut() {
            paths.sort();
        }
        out
    }

    /// The one file that an include of this name, in a document of this folder, can mean: that of which most of the path is alike,
    /// and of several alike the nearest; and whether it is a template.
    pub fn meant(&self, folder: &Path, name: &str) -> Option<(PathBuf, bool)> {
        let wanted: Vec<&OsStr> = names(Path::new(name)).collect();
        let last = wanted.last()?.to_str()?;
        let exact = self.nearest(folder, &wanted, last).map(|p| (p, false));
        exact.or_else(|| {
            let mut templates = TEMPLATES.iter().map(|ending| format!("{last}{ending}"));
            templates.find_map(|t| self.nearest(folder, &wanted, &t)).map(|p| (p, true))
        })
    }

    fn nearest(&self, folder: &Path, wanted: &[&OsStr], file: &str) -> Option<PathBuf> {
        let all = self.by_name.get(file)?;
        let alike = |p: &Path| {
            let above: Vec<&OsStr> = p.parent().map(|f| names(f).collect()).unwrap_or_default();
            above.iter().rev().zip(wanted.iter().rev().skip(1)).take_while(|(a, b)| a == b).count()
        };
        let most = all.iter().map(|p| alike(p)).max()?;
        let best = || all.iter().filter(|p| alike(p) == most);
        let least = best().map(|p| steps(p.parent().unwrap_or(p), folder)).min()?;
        let mut nearest = best().filter(|p| steps(p.parent().unwrap_or(p), folder) == least);
        match (nearest.next(), nearest.next()) {
            (Some(one), None) => Some(one.clone()),
            _ => None,
        }
    }
}

/// The folders and the file of a path, but for those that lead upwards.
fn names(path: &Path) -> impl Iterator<Item = &OsStr> {
    path.components().filter_map(|c| match c {
        Component::Normal(name) => Some(name),
        _ => None,
    })
}

/// How many folders lie between two.
fn steps(a: &Path, b: &Path) -> usize {
    let common = a.components().zip(b.components()).take_while(|(a, b)| a == b).count();
    a.components().count() + b.components().count() - 2 * common
}

/// What `<math.h>` declares (C11 7.12): programs that are older than it ask whether it is there.
const MATH: [&str; 37] = [
    "acosh",
    "asinh",
    "atanh",
    "cbrt",
    "copysign",
    "erf",
    "erfc",
    "exp2",
    "expm1",
    "fdim",
    "fma",
    "fmax",
    "fmin",
    "frexp",
    "hypot",
    "ilogb",
    "isfinite",
    "isinf",
    "isnan",
    "isnormal",
    "ldexp",
    "lgamma",
    "llrint",
    "log1p",
    "log2",
    "logb",
    "lrint",
    "lround",
    "nearbyint",
    "nextafter",
    "remainder",
    "rint",
    "round",
    "scalbn",
    "signbit",
    "tgamma",
    "trunc",
];

/// Headers that every C has (C11 7.1.2), and functions that programs older than it ask for.
const HEADERS: [&str; 15] = [
    "assert", "ctype", "errno", "float", "inttypes", "limits", "locale", "math", "setjmp", "signal",
    "stdint", "stdio", "stdlib", "string", "time",
];
const FUNCTIONS: [&str; 10] = [
    "memcpy", "memmove", "memset", "strchr", "strerror", "strstr", "strtol", "strtoul", "vprintf", "snprintf",
];

/// Whether every C since C99 (ISO/IEC 9899:1999) has what the name asks for: `inline` (6.7.4), a header, a function of its library.
fn is_of_c(name: &str) -> bool {
    let Some(asked) = name.strip_prefix("HAVE_") else { return name == "STDC_HEADERS" };
    if let Some(declared) = asked.strip_prefix("DECL_") {
        return MATH.contains(&&*declared.to_ascii_lowercase());
    }
    let asked = asked.to_ascii_lowercase();
    let header = asked.strip_suffix("_h").is_some_and(|h| HEADERS.contains(&h));
    header || matches!(&*asked, "inline" | "c99_inline") || FUNCTIONS.contains(&&*asked)
}

/// A template as a header, line by line: nothing that a build may configure is, but for what every C has. `#undef` is where
/// `configure` writes a definition or nothing, so what is defined elsewhere stays.
pub fn of_template(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let directive = line.trim_start().strip_prefix('#').map(str::trim_start).unwrap_or_default();
        let mut words = directive.split_whitespace();
        match (words.next(), words.next()) {
            (Some("undef" | "cmakedefine" | "mesondefine" | "cmakedefine01"), Some(name))
                if is_of_c(name) =>
            {
                out.push_str(&format!("#define {name} 1"));
            }
            (Some("cmakedefine01"), Some(name)) => out.push_str(&format!("#define {name} 0")),
            (Some("undef" | "cmakedefine" | "mesondefine"), _) => {}
            _ => {
                out.push_str(line);
                continue;
            }
        }
        if line.ends_with('\n') {
            out.push('\n');
        }
    }
    out
}

/// The folders of the project of a document below which a header of this name (`grid/sizes.h`) lies, the nearest first, and the
/// project's own folder.
pub fn holding(document: &Path, name: &str) -> (PathBuf, Vec<PathBuf>) {
    let folder = document.parent().unwrap_or(Path::new("")).to_owned();
    let root = root_of(document);
    let listed = Listed::below(&root);
    let last = Path::new(name).file_name().and_then(OsStr::to_str).unwrap_or_default();
    let deep = names(Path::new(name)).count();
    let all = listed.by_name.get(last).into_iter().flatten().filter(|p| p.ends_with(name));
    let mut found: Vec<PathBuf> = all.filter_map(|p| p.ancestors().nth(deep).map(Path::to_owned)).collect();
    found.sort_by_key(|f| (steps(f, &folder), f.clone()));
    (root, found)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{holding, of_template, Listed};

    #[test]
    fn the_file_that_is_most_alike_and_nearest_is_meant() {
        let root = std::env::temp_dir().join(format!("warpwright-listed-{}", std::process::id()));
        for file in
            ["a/one.h", "b/two.h", "c/two.h", "b/deep/two.h", "vector/view.h", "config.h.in", "old/stb.h"]
        {
            std::fs::create_dir_all(root.join(file).parent().unwrap_or(&root)).expect("a folder");
            std::fs::write(root.join(file), "").expect("a file");
        }
        let listed = Listed::below(&root);
        let meant = |folder: &str, name: &str| {
            let found = listed.meant(&root.join(folder), name)?;
            Some((found.0.strip_prefix(&root).unwrap_or(Path::new("")).to_owned(), found.1))
        };
        let is = |file: &str, template: bool| Some((Path::new(file).to_owned(), template));
        assert_eq!(meant("tests", "one.h"), is("a/one.h", false));
        assert_eq!(meant("tests", "../stb.h"), is("old/stb.h", false));
        assert_eq!(meant("tests", "lib/view.h"), is("vector/view.h", false));
        assert_eq!(meant("b", "two.h"), is("b/two.h", false));
        assert_eq!(meant("tests", "c/two.h"), is("c/two.h", false));
        // two are as near
        assert_eq!(meant("tests", "two.h"), None);
        assert_eq!(meant("src", "config.h"), is("config.h.in", true));
        assert_eq!(meant("src", "other.h"), None);
        std::fs::remove_dir_all(&root).expect("removed");
    }

    #[test]
    fn of_a_template_nothing_is_configured() {
        let text = "#ifndef A\n#cmakedefine B @B@\n  # cmakedefine01 C\n#undef D\n#mesondefine E\n#undef HAVE_DECL_HYPOT\n#undef HAVE_DECL_GETC\n#undef HAVE_INLINE\n#cmakedefine HAVE_STDINT_H\n#undef HAVE_UNISTD_H\ntypedef int t;\n#endif";
        let read = of_template(text);
        assert_eq!(read, "#ifndef A\n\n#define C 0\n\n\n#define HAVE_DECL_HYPOT 1\n\n#define HAVE_INLINE 1\n#define HAVE_STDINT_H 1\n\ntypedef int t;\n#endif");
    }

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
