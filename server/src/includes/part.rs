//! Texts that others include and that cannot be read alone: a file of kernels without a header of its own, a template that is
//! included once for each type.
//!
//! Such a file is read as the first of those that include it has it: behind what stands there before the `#include`. Deliberately
//! absent: the other places; what holds at the first need not hold there, so the place is told and nothing in the file is rewritten.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{absolute, children, plain, read, Disk, Part};
use crate::limits::includes::{PART_BYTES, PART_FILES, PART_NESTED};

/// Where a file is included.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Place {
    /// The file that includes it.
    pub by: PathBuf,
    /// 1-based.
    pub line: u32,
    /// How many places more include it.
    pub others: u32,
    /// What stands before it, with an end for every condition that is open there, and before the file if that is included as well.
    pub before: String,
    /// How much of that stands elsewhere.
    outer: usize,
    /// The files around the one that includes it, the nearest first.
    within: Vec<String>,
}

impl Place {
    /// What stands before it in the file itself.
    pub fn own(&self) -> &str {
        self.before.get(self.outer..).unwrap_or("")
    }
}

/// Extensions of sources.
const SOURCES: [&str; 5] = ["c", "cu", "cpp", "cc", "cxx"];

/// Whether a text can be meant for inclusion alone: it includes nothing itself, or such a text of its own. Headers, which may stand alone,
/// are none.
pub fn may_be_part(path: &Path, text: &str) -> bool {
    let extension = |p: &Path| p.extension().and_then(|e| e.to_str()).unwrap_or("").to_owned();
    let is_source = |name: &str| SOURCES.contains(&&*extension(Path::new(name)));
    let mut included = includes(text).map(|(_, _, name)| name).peekable();
    let is_header = ["h", "hpp", "hh", "hxx"].contains(&&*extension(path));
    !is_header && (included.peek().is_none() || included.any(is_source))
}

/// The first place that includes a document: in a source of its folder, then of the folder above, then in a header there.
pub fn place(document: &Path, read: &dyn Fn(&Path) -> Option<String>) -> Option<Place> {
    nested_place(document, read, PART_NESTED)
}

fn nested_place(document: &Path, read: &dyn Fn(&Path) -> Option<String>, left: usize) -> Option<Place> {
    let folder = document.parent()?;
    let above = folder.parent().filter(|f| f.parent().and_then(Path::parent).is_some());
    let mut files: Vec<PathBuf> = children(folder);
    files.extend(above.into_iter().flat_map(children));
    files.retain(|f| f != document && extension_rank(document, f).is_some());
    // the sort keeps the folder's own first
    files.sort_by_key(|f| extension_rank(document, f));
    let file = document.file_name()?.to_str()?;
    let (mut first, mut found, mut bytes) = (None, 0u32, 0usize);
    for by in files.into_iter().take(PART_FILES) {
        let Some(text) = read(&by).filter(|t| t.contains(file)) else { continue };
        bytes += text.len();
        if bytes > PART_BYTES {
            break;
        }
        for (at, line, _) in includes(&text).filter(|(_, _, name)| leads_to(&by, name, document)) {
            found += 1;
            first.get_or_insert_with(|| (by.clone(), line, closed(text.get(..at).unwrap_or(""))));
        }
    }
    let (by, line, mut before) = first?;
    let (mut outer, mut within) = (0, Vec::new());
    // what includes it may be a part as well: a source that another source includes is none by itself, whatever it includes first
    if left > 0 && extension_rank(document, &by) < Some(2) && by.parent() == Some(folder) {
        if let Some(around) = nested_place(&by, read, left - 1) {
            outer = around.before.len() + 1;
            within.push(around.by.file_name().unwrap_or_default().to_string_lossy().into_owned());
            within.extend(around.within);
            before = format!("{}\n{before}", around.before);
        }
    }
    Some(Place { by, line, others: found.saturating_sub(1), before, outer, within })
}

/// The text before the place of an [`includes`] that is the same as before, if the file was changed elsewhere.
pub fn before(place: &Place, document: &Path, text: &str) -> Option<String> {
    let at = includes(text).find(|(_, _, name)| leads_to(&place.by, name, document)).map(|(at, _, _)| at);
    at.map(|at| closed(text.get(..at).unwrap_or("")))
}

/// Sources before headers, those of the document's own language first; `None`: no file that includes others.
fn extension_rank(document: &Path, file: &Path) -> Option<u8> {
    let extension = |p: &Path| p.extension().and_then(|e| e.to_str()).unwrap_or("").to_owned();
    match &*extension(file) {
        own if own == extension(document) => Some(0),
        source if SOURCES.contains(&source) => Some(1),
        "h" | "hpp" | "hh" | "hxx" | "cuh" | "inc" => Some(2),
        _ => None,
    }
}

/// Whether a name in an `#include` of a file means a document: from the file's folder, or below a folder that is not known here.
fn leads_to(by: &Path, name: &str, document: &Path) -> bool {
    let beside = by.parent().map(|f| plain(&f.join(name)));
    match beside {
        Some(path) if path == document => true,
        Some(path) => !path.exists() && document.ends_with(name),
        None => false,
    }
}

/// The `#include`s of a text: where the line begins, its 1-based number, the name.
fn includes(text: &str) -> impl Iterator<Item = (usize, u32, &str)> {
    directives(text).filter_map(|(at, line, words)| {
        let rest = words.strip_prefix("include")?.trim_start();
        let close = match rest.chars().next()? {
            '<' => '>',
            '"' => '"',
            _ => return None,
        };
        let (name, _) = rest.get(1..)?.split_once(close)?;
        Some((at, line, name))
    })
}

/// The directives of a text, without their `#`; those in comments, too.
fn directives(text: &str) -> impl Iterator<Item = (usize, u32, &str)> {
    let mut at = 0;
    text.split_inclusive('\n').zip(1u32..).filter_map(move |(line, number)| {
        let begin = at;
        at += line.len();
        Some((begin, number, line.trim_start().strip_prefix('#')?.trim_start()))
    })
}

/// A text that ends within conditions, with their ends.
fn closed(text: &str) -> String {
    let open = directives(text).fold(0usize, |open, (_, _, words)| match words {
        _ if words.starts_with("if") => open + 1,
        _ if words.starts_with("endif") => open.saturating_sub(1),
        _ => open,
    });
    format!("{text}{}", "\n#endif\n".repeat(open))
}

impl Disk {
    /// Whether a build description names a document: it is compiled by itself.
    pub(super) fn is_listed(&self, document: &Path) -> bool {
        document.ancestors().skip(1).any(|folder| self.described(folder).lists(document))
    }

    /// Whether a file is read as a part of another that includes it.
    pub fn is_part(&self, path: &Path) -> bool {
        absolute(path).is_some_and(|p| !self.is_listed(&p) && self.part(&p).is_some())
    }

    /// What a document is read behind, if it can be meant as a part of others alone and one includes it.
    pub(super) fn part(&self, document: &Path) -> Option<Part> {
        if let Some(known) = self.lock().parts.get(document) {
            return known.clone();
        }
        let text = |path: &Path| match self.open_text(path) {
            Some(text) => Some(text.to_string()),
            None => read(path),
        };
        let is_part = text(document).is_some_and(|t| may_be_part(document, &t));
        let found = if is_part { place(document, &text) } else { None };
        let part = found.and_then(|place| {
            let id = self.lock().id_of(&place.by)?;
            let by = place.by.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let by = std::iter::once(by).chain(place.within.iter().cloned()).collect::<Vec<_>>().join(" in ");
            let header = ide::Header::new(ide::HeaderId(id), by, false, place.before.clone());
            let header = Arc::new(header.around(place.line, place.others));
            let name = format!("{}:{}", place.by.display(), place.line).into();
            Some(Part { place: Arc::new(place), name, header })
        });
        self.lock().parts.insert(document.to_owned(), part.clone());
        part
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn placed(files: &[(&str, &str)], document: &str) -> anyhow::Result<Option<(String, u32, u32, String)>> {
        let folder = tempfile::tempdir()?;
        let root = folder.path().join("a").join("b");
        for (name, text) in files {
            let path = root.join(name);
            std::fs::create_dir_all(path.parent().unwrap_or(&root))?;
            std::fs::write(&path, text)?;
        }
        let found = place(&root.join(document), &|p| std::fs::read_to_string(p).ok());
        Ok(found.map(|p| {
            let by = p.by.strip_prefix(&root).unwrap_or(&p.by).to_string_lossy().into_owned();
            (by, p.line, p.others, p.before)
        }))
    }

    #[test]
    fn the_first_source_that_includes_it_says_what_stands_before() -> anyhow::Result<()> {
        let main =
            "#define N 8\n#ifdef GPU\n#  include \"kernels/add.cu\"\n#endif\n#include \"kernels/add.cu\"\n";
        let files = [
            ("main.cu", main),
            ("kernels/add.cu", "int f(void);\n"),
            ("kernels/a.h", "#include \"add.cu\"\n"),
        ];
        let found = placed(&files, "kernels/add.cu")?;
        let before = "#define N 8\n#ifdef GPU\n\n#endif\n".to_owned();
        assert_eq!(found, Some(("main.cu".to_owned(), 3, 2, before)));
        assert_eq!(placed(&files, "main.cu")?, None);
        Ok(())
    }

    #[test]
    fn a_part_of_a_part_stands_behind_both() -> anyhow::Result<()> {
        let files = [
            ("all.c", "#define REAL double\n#include \"outer.c\"\n"),
            ("outer.c", "#define SCALE 2\n#include \"inner.c\"\n"),
            ("inner.c", "REAL f(REAL x) { return SCALE * x; }\n"),
        ];
        let found = placed(&files, "inner.c")?.map(|(by, line, _, before)| (by, line, before));
        assert_eq!(
            found,
            Some(("outer.c".to_owned(), 2, "#define REAL double\n\n#define SCALE 2\n".to_owned()))
        );
        Ok(())
    }

    #[test]
    fn what_includes_something_itself_is_no_part() {
        assert!(may_be_part(Path::new("k.cu"), "__global__ void k(float *a) {}\n"));
        assert!(!may_be_part(Path::new("k.cu"), "# include <stdio.h>\n"));
        assert!(!may_be_part(Path::new("k.h"), "typedef int real;\n"));
        // what brings a part along is one as well, if somebody includes it
        assert!(may_be_part(Path::new("lmpar.c"), "#include <gsl/gsl_vector.h>\n#include \"qrsolv.c\"\n"));
    }
}
