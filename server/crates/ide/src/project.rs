//! The program around a document: other files that it may name functions and variables of.
//!
//! A [`ProjectFile`] is made once for each text of a file, a [`Project`] of those that a document reaches; both are immutable. Which
//! files there are, and when they change, is the shell's business: it opens files, and asks here which of them it needs.

use std::sync::Arc;

use analysis::{FilePart, Linkage, OtherFile, OtherFiles};
use base::CancelToken;
use front::{Item, ItemKind};
use rustc_hash::{FxHashMap, FxHashSet};
use text::{LineIndex, Text};

use crate::kernels::LaunchElsewhere;
use crate::{Language, Options};

/// What a file may define for others, by the look of its text: enough to know whether it is worth reading.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct FileNames {
    names: FxHashSet<Arc<str>>,
    /// How names begin and end that macros put together.
    made: Vec<(Arc<str>, Arc<str>)>,
    /// Sources that it includes, by the names of their files.
    parts: Vec<Arc<str>>,
    watches: bool,
}

impl FileNames {
    /// Those of a text.
    pub fn of(text: &str) -> FileNames {
        // `gsl_errno.h` does not look at `errno`
        let watches = analysis::watched_words().iter().any(|w| codegen::has_word(text, w));
        let front::Definitions { names, made, parts } = front::may_define(text);
        FileNames { names, made, parts, watches }
    }
    /// Those that were found in the text before: as [`FileNames::all`] has them.
    pub fn known<'a>(names: impl Iterator<Item = &'a str>, watches: bool) -> FileNames {
        let mut out = FileNames { watches, ..FileNames::default() };
        for name in names {
            match (name.split_once(MADE), name.strip_prefix(PART)) {
                (Some((first, last)), _) => out.made.push((first.into(), last.into())),
                (_, Some(part)) => out.parts.push(part.into()),
                _ => {
                    out.names.insert(name.into());
                }
            }
        }
        out
    }
    /// All names, in order, in one list.
    pub fn all(&self) -> Vec<String> {
        let names = self.names.iter().map(|n| n.to_string());
        let made = self.made.iter().map(|(first, last)| format!("{first}{MADE}{last}"));
        let mut all: Vec<String> = names.chain(made).collect();
        all.extend(self.parts.iter().map(|p| format!("{PART}{p}")));
        all.sort();
        all
    }
    /// Whether the file may define this name.
    pub fn may_define(&self, name: &str) -> bool {
        let is_made = |(first, last): &(Arc<str>, Arc<str>)| {
            name.len() >= first.len() + last.len() && name.starts_with(&**first) && name.ends_with(&**last)
        };
        self.names.contains(name) || self.made.iter().any(is_made)
    }
    /// Whether it includes a source of this name.
    pub fn includes(&self, file: &str) -> bool {
        self.parts.iter().any(|p| **p == *file)
    }
    /// Whether it may look at what functions of other files leave behind (`errno`, floating-point exceptions), or change how they
    /// round.
    pub fn watches(&self) -> bool {
        self.watches
    }
}

/// Stands between the beginning and the end of a name, and before the name of a file: no name has it.
const MADE: &str = "##";
const PART: &str = "#include ";

/// A file of a program, read.
#[derive(Debug)]
pub struct ProjectFile {
    file: Arc<OtherFile>,
    text: Text,
    options: Options,
    place: String,
}

impl ProjectFile {
    /// Reads a file. `name`: as people know it, which no other file of the program has; `place`: as whoever asks for its text knows it.
    /// `None`: called off.
    pub fn read(
        language: Language,
        (name, place): (&str, &str),
        text: Text,
        options: Options,
        cancel: &CancelToken,
    ) -> Option<ProjectFile> {
        let parsed = front::Parsed::parse(language, text.to_string());
        let whole = front::Options { whole: true, ..options.to_front() };
        let unit = front::lower_until(&parsed, &whole, &mut front::Memo::new(), cancel)?;
        let file = OtherFile::of(name, name, parts(&unit, (name, parsed.text()), true));
        Some(ProjectFile { file: Arc::new(file), text, options, place: place.to_owned() })
    }
    /// As people know it.
    pub fn name(&self) -> &str {
        self.file.name()
    }
    /// Its text.
    pub fn text(&self) -> &Text {
        &self.text
    }
    /// The options it was read with.
    pub fn options(&self) -> &Options {
        &self.options
    }
    /// As whoever asked for it knows it.
    pub fn place(&self) -> &str {
        &self.place
    }
    /// Whether it defines the name for others.
    pub fn defines(&self, name: &str) -> bool {
        self.file.defines(name)
    }
    /// The names of other files that its definition of `name` needs.
    pub fn needs(&self, name: &str) -> Vec<Arc<str>> {
        self.file.needs(name)
    }
    /// Those that any of its definitions needs.
    pub fn all_needs(&self) -> Vec<Arc<str>> {
        self.file.all_needs()
    }
}

/// Files around a document.
#[derive(Clone, Debug)]
pub struct Project {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    others: Arc<OtherFiles>,
    near: Vec<Arc<ProjectFile>>,
    far: Vec<Arc<ProjectFile>>,
    launches: Vec<LaunchElsewhere>,
}

impl Project {
    /// The files that a document reaches: those of its folder, and others of its program. `searched`: where was looked, a phrase that
    /// continues "not found with a body in".
    pub fn of(near: Vec<Arc<ProjectFile>>, far: Vec<Arc<ProjectFile>>, searched: &str) -> Project {
        let files = |of: &[Arc<ProjectFile>]| of.iter().map(|f| f.file.clone()).collect::<Vec<_>>();
        let others = Arc::new(OtherFiles::of(&files(&near), &files(&far), searched));
        Project { inner: Arc::new(Inner { others, near, far, launches: Vec::new() }) }
    }
    /// What other files of a program of kernels launch of a document's.
    pub fn of_launches(launches: Vec<LaunchElsewhere>) -> Project {
        let (near, far) = Default::default();
        Project { inner: Arc::new(Inner { others: Arc::default(), near, far, launches }) }
    }
    /// Whether it says anything of functions.
    pub(crate) fn has_files(&self) -> bool {
        self.inner.others.searched().is_some()
    }
    pub(crate) fn launches(&self) -> &[LaunchElsewhere] {
        &self.inner.launches
    }
    /// The files that a program uses of these.
    pub(crate) fn used(&self, program: &analysis::Program) -> Vec<&Arc<ProjectFile>> {
        let used = program.other_files();
        let all = self.inner.near.iter().chain(&self.inner.far);
        all.filter(|f| used.iter().any(|u| Arc::ptr_eq(u, &f.file))).collect()
    }
    /// Whether another file has the whole text of one of this name in it.
    pub(crate) fn includes(&self, name: &str) -> bool {
        let all = self.inner.near.iter().chain(&self.inner.far);
        let includes = |line: &str| {
            let line = line.trim_start().strip_prefix('#').map(str::trim_start);
            line.is_some_and(|l| l.starts_with("include") && l.contains(name))
        };
        all.into_iter().any(|f| f.text().to_string().lines().any(includes))
    }
    pub(crate) fn others(&self) -> &Arc<OtherFiles> {
        &self.inner.others
    }
}

/// The same files, read once.
impl PartialEq for Project {
    fn eq(&self, other: &Project) -> bool {
        let same = |a: &[Arc<ProjectFile>], b: &[Arc<ProjectFile>]| {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| Arc::ptr_eq(a, b))
        };
        let (a, b) = (&*self.inner, &*other.inner);
        Arc::ptr_eq(&self.inner, &other.inner)
            || a.others.searched() == b.others.searched()
                && same(&a.near, &b.near)
                && same(&a.far, &b.far)
                && a.launches == b.launches
    }
}
impl Eq for Project {}

/// The bodies of a unit that stands alone: who can name them does not matter.
pub(crate) fn alone<'a>(unit: &'a front::Unit, (name, text): (&str, &str)) -> Vec<FilePart<'a>> {
    let shared = shared_before(unit, name, text);
    let part = |i: &'a Item, is_shared| FilePart { is_shared, ..FilePart::external(&i.body) };
    let own = unit.items.iter().map(|i| part(i, i.span.start < shared));
    own.chain(unit.included.iter().map(|i| part(&i.item, true))).collect()
}

/// Where the part of a text ends whose own names texts that are not its parts may use: headers that are included behind them do, and
/// of a header, or a source that is read where another includes it, whoever includes it.
fn shared_before(unit: &front::Unit, name: &str, text: &str) -> u32 {
    let is_source = [".c", ".cc", ".cpp", ".cxx", ".cu", ".cs"].iter().any(|end| name.ends_with(end));
    if !is_source || unit.configuration.iter().any(|c| matches!(c.taken, front::Taken::Around { .. })) {
        return u32::MAX;
    }
    let mut at = 0;
    let mut last = 0;
    for line in text.split_inclusive('\n') {
        at += line.len() as u32;
        let word = line.trim_start().strip_prefix('#').or_else(|| line.trim_start().strip_prefix("%:"));
        if word.is_some_and(|w| w.trim_start().starts_with("inc") || w.trim_start().starts_with("import")) {
            last = at;
        }
    }
    last
}

/// The bodies of a unit with who can name them. `lines`: and where they are.
pub(crate) fn parts<'a>(
    unit: &'a front::Unit,
    (name, text): (&str, &'a str),
    lines: bool,
) -> Vec<FilePart<'a>> {
    let index = lines.then(|| LineIndex::new(text));
    let mut of_headers: FxHashMap<front::HeaderId, LineIndex> = FxHashMap::default();
    let shared = shared_before(unit, name, text);
    let own = unit.items.iter().map(|item| {
        let line = index.as_ref().map_or(0, |i| i.line_of(item.span.start) + 1);
        let is_shared = item.span.start < shared;
        FilePart { body: &item.body, header: None, line, linkage: linkage(item, text), is_shared }
    });
    let mut out: Vec<FilePart<'a>> = own.collect();
    for included in &unit.included {
        let (header, item) = (&included.header, &included.item);
        let line = match lines {
            true => {
                let index = of_headers.entry(header.id()).or_insert_with(|| LineIndex::new(header.text()));
                index.line_of(item.span.start) + 1
            }
            false => 0,
        };
        let linkage = linkage(item, header.text());
        out.push(FilePart { body: &item.body, header: Some(header.name()), line, linkage, is_shared: true });
    }
    out
}

fn linkage(item: &Item, text: &str) -> Linkage {
    if item.kind != ItemKind::Function {
        return Linkage::External;
    }
    if item.is_static {
        return Linkage::Internal;
    }
    // a word before the body; one that is not the compiler's makes a call less certain, no more
    let text = text.get(item.span.range()).unwrap_or("");
    let head = text.split('{').next().unwrap_or("");
    match head.contains("inline") || head.contains("INLINE") {
        true => Linkage::Inline,
        false => Linkage::External,
    }
}
