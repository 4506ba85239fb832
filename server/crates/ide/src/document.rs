//! A document: its text, what was read off it, and the keys under which its functions' facts are remembered.
//!
//! An immutable snapshot; an edit makes another and shares every function whose text did not change.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use crate::project::{alone, parts, Project};
use base::{CancelToken, Span};
use rustc_hash::FxHashMap;
use term::{Body, Op, TermId};
use text::{Applied, ContentHash, LineIndex, PositionEncoding, PositionRange, Text, Unchanged};

pub use front::{Choice, Language, Standard, Taken, LANGUAGES};

/// What the compiler's command line would say.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Options {
    /// `-D NAME=VALUE` as `("NAME", Some("VALUE"))`, `-D NAME` as `("NAME", None)`.
    pub defines: Vec<(String, Option<String>)>,
    /// `-U NAME`
    pub undefines: Vec<String>,
    /// `-include NAME`: headers read before the first line.
    pub includes: Vec<String>,
    /// Where headers are found; `None`: none is.
    pub headers: Option<front::Headers>,
    /// What the compiler says it defines, where one was asked.
    pub compiler: Option<Arc<front::Predefined>>,
    /// What kernels are written for, and whose devices they are judged for.
    pub target: Target,
    /// How threads of kernels are laid out, where it is not left to the plan.
    pub threads: codegen::ThreadShape,
    /// The files around it; `None`: none is known.
    pub project: Option<Project>,
}

/// A vendor's language for devices: a row of the room `gpu`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Target(&'static gpu::Row);

impl Target {
    /// All there are.
    pub fn all() -> impl Iterator<Item = Target> {
        gpu::ALL.into_iter().map(Target)
    }
    /// By the name that the command line and the settings know.
    pub fn of(name: &str) -> Option<Target> {
        gpu::of(name).map(Target)
    }
    /// With products that sums take unrounded (`fast`), or with the bits that the host computes.
    pub fn fused(self, is_fused: bool) -> Target {
        if is_fused {
            Target(gpu::fused(self.0))
        } else {
            self
        }
    }
    /// The command that compiles a kernel's file, without the file.
    pub fn compile(self) -> &'static str {
        self.0.file.compile
    }
    /// Of kernels' files.
    pub fn extension(self) -> &'static str {
        self.0.file.extension
    }
    /// Whether sums take products unrounded.
    pub fn is_fused(self) -> bool {
        self.0.file.fuses
    }
    /// The one in whose language a file of this name is; none where that is read itself.
    pub fn of_file(name: &str) -> Option<Target> {
        let extension = name.rsplit_once('.')?.1;
        Target::all().find(|t| t.0.file.extension == extension)
    }
    /// As the command line and the settings name it.
    pub fn name(self) -> &'static str {
        self.0.name
    }
    pub(crate) fn row(self) -> &'static gpu::Row {
        self.0
    }
}

impl Default for Target {
    fn default() -> Target {
        Target(&gpu::CUDA)
    }
}

impl Options {
    pub(crate) fn to_front(&self) -> front::Options {
        let value = |v: &Option<String>| v.clone().unwrap_or_else(|| "1".to_owned());
        front::Options {
            defines: self.defines.iter().map(|(n, v)| (n.clone(), value(v))).collect(),
            undefines: self.undefines.clone(),
            includes: self.includes.clone(),
            headers: self.headers.clone(),
            compiler: self.compiler.clone(),
            pattern: false,
            whole: false,
        }
    }
}

/// A document snapshot. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Doc {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    name: String,
    text: Text,
    options: Options,
    parsed: front::Parsed,
    unit: front::Unit,
    /// What is known of the functions its functions call.
    program: analysis::Program,
    /// Per item; `None` where it has no loops, and so no facts.
    keys: Vec<Option<Key>>,
    /// Made when it is first asked for, or out of those of the document before.
    lines: OnceLock<LineIndex>,
    /// Made when it is first asked for.
    launches: OnceLock<Launches>,
    /// Likewise.
    given: OnceLock<FxHashMap<Arc<str>, Vec<crate::kernels::GivenLaunch>>>,
    /// Likewise.
    host_faults: OnceLock<Vec<HostFaults>>,
    /// Likewise.
    file_arrays: OnceLock<analysis::FileArrays>,
    /// Likewise.
    own_library: OnceLock<Option<&'static str>>,
    /// Likewise.
    other_bodies: OnceLock<Vec<Arc<Body>>>,
    /// What is said of the document without the statement at a place, once that was looked at.
    without: Mutex<FxHashMap<Span, String>>,
    /// Shared by all versions of the document.
    front_memo: Arc<Mutex<front::Memo>>,
}

/// What reading one part of a document leaves for the next one.
#[derive(Clone, Default)]
pub struct Parts {
    /// The whole text as it was last, cut into tokens.
    last: Arc<Mutex<Option<front::Parsed>>>,
    memo: Arc<Mutex<front::Memo>>,
}

impl Parts {
    /// The document as far as the function in whose body `at` stands needs it: what is found out of that function is what
    /// is found out of it in the whole document, and there is nothing to be said of others. `None` where that cannot be
    /// told without the others, or is no less work, and when it is called off.
    pub fn open(
        &self,
        language: Language,
        (name, text): (&str, Text),
        options: Options,
        at: u32,
        cancel: &CancelToken,
    ) -> Option<Doc> {
        let watched = analysis::watched_words();
        let words: Vec<&str> = watched.iter().map(|w| &**w).collect();
        let part = self.parsed(language, &text).part(at, &words)?;
        let parsed = part.parsed.clone();
        let unit = {
            // A panic while lowering may have left the memo half-filled, but never wrong: entries are added whole.
            let mut memo = self.memo.lock().unwrap_or_else(PoisonError::into_inner);
            front::lower_until(&parsed, &options.to_front(), &mut memo, cancel)?
        };
        let looks = |h: &Arc<front::Header>| words.iter().any(|w| h.text().contains(w));
        if !part.is_like_the_whole(&unit, at) || unit.headers.iter().any(looks) {
            return None;
        }
        let program =
            analysis::Program::of_part(parts(&unit, (name, parsed.text()), false), &others(&options))?;
        let memo = self.memo.clone();
        // that another function has the name of one which host text calls is seen in the text
        let whole = text.to_string();
        let own = crate::plans::HOST_CALLS.into_iter().find(|n| defines(&whole, n));
        let doc = Doc::with_program(name.to_owned(), text, options, (parsed, unit), memo, (program, None));
        // what its other functions do with the file's arrays is not seen
        let _ = doc.inner.file_arrays.set(analysis::FileArrays::default());
        let _ = doc.inner.own_library.set(own);
        Some(doc)
    }

    fn parsed(&self, language: Language, text: &Text) -> front::Parsed {
        let earlier = self.last.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let parsed = match earlier.filter(|p| p.language() == language) {
            Some(earlier) => earlier.reparse(&[], text.to_string()),
            None => front::Parsed::parse(language, text.to_string()),
        };
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Some(parsed.clone());
        parsed
    }
}

/// Whether a text defines a function of this name, by the look of it: a name, parameters and a brace.
fn defines(text: &str, name: &str) -> bool {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(name).any(|(at, _)| {
        let before = text.get(..at).and_then(|t| t.chars().next_back());
        let Some(behind) = text.get(at + name.len()..) else { return false };
        let behind = behind.trim_start();
        if before.is_some_and(is_word) || !behind.starts_with('(') {
            return false;
        }
        let mut depth = 0i32;
        let end = behind.find(|c: char| {
            depth += i32::from(c == '(') - i32::from(c == ')');
            depth == 0
        });
        end.and_then(|e| behind.get(e + 1..)).is_some_and(|rest| rest.trim_start().starts_with('{'))
    })
}

/// The faults of one function of the host.
pub(crate) type HostFaults = Vec<(TermId, analysis::HostFault)>;

/// The launches of each kernel, as items and terms in them.
type Launches = FxHashMap<Arc<str>, Vec<(usize, TermId)>>;

/// Under what the facts of an item are remembered: its meaning and its characters. Two texts that read the same in
/// different surroundings differ in the first half, a collision of the short first half shows in the second.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Key {
    /// Words differ between languages.
    language: Language,
    meaning: u64,
    text: ContentHash,
    /// What is said of the functions it calls.
    around: u64,
}

impl Doc {
    /// The language of a document by its name's extension and content; the editor's language id decides only where
    /// those do not. `None`: nothing we read.
    pub fn detect(name: &str, language_id: Option<&str>, text: &Text) -> Option<Language> {
        front::detect(name, language_id, &text.to_string())
    }

    /// Reads a document. `name` is its file name without folders, such as `lu.c`: new files are named after it.
    pub fn open(language: Language, name: &str, text: Text, options: Options) -> Doc {
        let parsed = front::Parsed::parse(language, text.to_string());
        Doc::build(name.to_owned(), text, options, parsed, Arc::default(), None)
    }

    /// Likewise, until it is called off: then there is none.
    pub fn open_until(
        language: Language,
        name: &str,
        text: Text,
        options: Options,
        cancel: &CancelToken,
    ) -> Option<Doc> {
        let parsed = front::Parsed::parse(language, text.to_string());
        let mut memo = front::Memo::new();
        let unit = front::lower_until(&parsed, &options.to_front(), &mut memo, cancel)?;
        let memo = Arc::new(Mutex::new(memo));
        Some(Doc::made(name.to_owned(), text, options, (parsed, unit), memo, None))
    }

    /// The document after these changes, which were applied one after the other, the first to this document's text.
    pub fn edit(&self, changes: &[Applied]) -> Doc {
        let Some(last) = changes.last() else {
            return self.clone();
        };
        let edits: Vec<front::Edit> = changes
            .iter()
            .filter_map(|c| c.points)
            .map(|p| front::Edit {
                start_byte: p.start_byte,
                old_end_byte: p.old_end_byte,
                new_end_byte: p.new_end_byte,
                start_point: (p.start.row, p.start.column),
                old_end_point: (p.old_end.row, p.old_end.column),
                new_end_point: (p.new_end.row, p.new_end.column),
            })
            .collect();
        if edits.is_empty() {
            return self.clone();
        }
        let old = &self.inner;
        let parsed = old.parsed.reparse(&edits, last.text.to_string());
        Doc::build(
            old.name.clone(),
            last.text.clone(),
            old.options.clone(),
            parsed,
            old.front_memo.clone(),
            Some(self),
        )
    }

    fn build(
        name: String,
        text: Text,
        options: Options,
        parsed: front::Parsed,
        front_memo: Arc<Mutex<front::Memo>>,
        before: Option<&Doc>,
    ) -> Doc {
        // A panic while lowering may have left the memo half-filled, but never wrong: entries are added whole.
        let unit = {
            let mut memo = front_memo.lock().unwrap_or_else(PoisonError::into_inner);
            front::lower(&parsed, &options.to_front(), &mut memo)
        };
        Doc::made(name, text, options, (parsed, unit), front_memo, before)
    }

    fn made(
        name: String,
        text: Text,
        options: Options,
        (parsed, unit): (front::Parsed, front::Unit),
        front_memo: Arc<Mutex<front::Memo>>,
        before: Option<&Doc>,
    ) -> Doc {
        let nothing = analysis::Program::default();
        let known = before.map_or(&nothing, |d| &d.inner.program);
        let own = match options.project.as_ref().filter(|p| p.has_files()) {
            Some(_) => parts(&unit, (&name, parsed.text()), false),
            None => alone(&unit, (&name, parsed.text())),
        };
        let program = analysis::Program::among(known, own, &others(&options));
        Doc::with_program(name, text, options, (parsed, unit), front_memo, (program, before))
    }

    fn with_program(
        name: String,
        text: Text,
        options: Options,
        (parsed, unit): (front::Parsed, front::Unit),
        front_memo: Arc<Mutex<front::Memo>>,
        (program, before): (analysis::Program, Option<&Doc>),
    ) -> Doc {
        let keys = keys(&unit, &text, &program, before);
        let lines = before.and_then(|d| {
            let known = d.inner.lines.get()?;
            Some(known.edited(&Unchanged::between(d.source(), parsed.text()), parsed.text()))
        });
        Doc {
            inner: Arc::new(Inner {
                name,
                text,
                options,
                parsed,
                unit,
                program,
                keys,
                lines: lines.map_or_else(OnceLock::new, OnceLock::from),
                launches: OnceLock::new(),
                given: OnceLock::new(),
                host_faults: OnceLock::new(),
                file_arrays: OnceLock::new(),
                own_library: OnceLock::new(),
                other_bodies: OnceLock::new(),
                without: Mutex::default(),
                front_memo,
            }),
        }
    }

    /// The file name given at [`Doc::open`].
    pub fn name(&self) -> &str {
        &self.inner.name
    }
    /// The text.
    pub fn text(&self) -> &Text {
        &self.inner.text
    }
    /// The language it is read as.
    pub fn language(&self) -> Language {
        self.inner.unit.language
    }
    /// The options it was read with.
    pub fn options(&self) -> &Options {
        &self.inner.options
    }
    /// The same document read with other options.
    pub fn with_options(&self, options: Options) -> Doc {
        if options == self.inner.options {
            return self.clone();
        }
        let i = &self.inner;
        if options.to_front() == i.options.to_front() {
            // the text reads the same
            let read = (i.parsed.clone(), i.unit.clone());
            return Doc::made(
                i.name.clone(),
                i.text.clone(),
                options,
                read,
                i.front_memo.clone(),
                Some(self),
            );
        }
        // what is remembered stands under the options and the headers' texts it depends on
        let memo = i.front_memo.clone();
        Doc::build(i.name.clone(), i.text.clone(), options, i.parsed.clone(), memo, Some(self))
    }

    /// The same document among other files of its program.
    pub fn with_project(&self, project: Option<Project>) -> Doc {
        self.with_options(Options { project, ..self.inner.options.clone() })
    }

    /// The names of functions and variables that it leaves to other files.
    pub fn names_wanted(&self) -> Vec<Arc<str>> {
        analysis::Program::names_wanted(parts(&self.inner.unit, (&self.inner.name, self.source()), false))
    }

    /// What was taken for granted while the document was read: macros that nothing defines, headers that were not found.
    pub fn configuration(&self) -> &[Choice] {
        &self.inner.unit.configuration
    }

    /// The file that includes it, if it is read as a part of that.
    pub(crate) fn part_of(&self) -> Option<&str> {
        let around = |c: &&Choice| matches!(c.taken, front::Taken::Around { .. });
        self.configuration().iter().find(around).map(|c| &*c.name)
    }
    /// Whether its loops can become kernels in a file beside it.
    pub(crate) fn offloads(&self) -> bool {
        self.language().offloads && self.part_of().is_none()
    }

    /// [`Doc::configuration`] in words, each a phrase that continues "read with": `` `_OPENMP` not defined ``.
    pub fn configuration_words(&self) -> Vec<String> {
        crate::words::configuration(self.configuration())
    }

    /// Where a span is, as an editor counts. Faster than asking [`Doc::text`] where there are many.
    pub fn range_of(&self, span: Span, encoding: PositionEncoding) -> PositionRange {
        self.lines().range_of(self.source(), span, encoding)
    }
    /// What its text has in common with that of an earlier version.
    pub fn unchanged_since(&self, earlier: &Doc) -> Unchanged {
        Unchanged::between(earlier.source(), self.source())
    }
    pub(crate) fn lines(&self) -> &LineIndex {
        self.inner.lines.get_or_init(|| LineIndex::new(self.source()))
    }
    /// Where the document launches a kernel of this name, each with the function it stands in.
    pub(crate) fn launches(&self, kernel: &str) -> impl Iterator<Item = (&front::Item, TermId)> {
        let items = &self.inner.unit.items;
        let find = || {
            let mut all: FxHashMap<Arc<str>, Vec<(usize, TermId)>> = FxHashMap::default();
            for (k, host) in items.iter().enumerate() {
                let body = &host.body;
                for t in body.walk(body.root) {
                    let (Op::Launch, [callee, ..]) = (body.op(t), body.args(t)) else { continue };
                    let Some(name) = body.as_name(*callee).cloned() else { continue };
                    all.entry(name).or_default().push((k, t));
                }
            }
            all
        };
        let of_kernel = self.inner.launches.get_or_init(find).get(kernel);
        of_kernel.into_iter().flatten().map(|&(k, t)| (&items[k], t))
    }
    /// What the document's launches of a kernel give it.
    pub(crate) fn given(&self, kernel: &str) -> &[crate::kernels::GivenLaunch] {
        let all = self.inner.given.get_or_init(|| crate::kernels::find_given(self));
        all.get(kernel).map_or(&[], |l| l)
    }
    /// The faults of host code around launches, for each item.
    pub(crate) fn host_faults(&self) -> &[HostFaults] {
        let find = || {
            let all = self.unit().items.iter();
            match self.language().kernels {
                true => all.map(|i| crate::kernels::host_faults(self, i)).collect(),
                false => Vec::new(),
            }
        };
        self.inner.host_faults.get_or_init(find)
    }
    /// What is said of the document without the statement at a place, by statement.
    pub(crate) fn without(&self) -> std::sync::MutexGuard<'_, FxHashMap<Span, String>> {
        self.inner.without.lock().unwrap_or_else(PoisonError::into_inner)
    }
    /// A function of the program that has the name of one which host text calls.
    pub(crate) fn own_library(&self) -> Option<&'static str> {
        let find = || crate::plans::HOST_CALLS.into_iter().find(|n| self.inner.program.body(n).is_some());
        *self.inner.own_library.get_or_init(find)
    }
    /// What is known of the arrays that only this file can name; `find` is asked once, as long as it has no answer.
    pub(crate) fn file_arrays(
        &self,
        find: impl FnOnce() -> Option<analysis::FileArrays>,
    ) -> Option<&analysis::FileArrays> {
        if let Some(known) = self.inner.file_arrays.get() {
            return Some(known);
        }
        let found = find()?;
        Some(self.inner.file_arrays.get_or_init(|| found))
    }
    /// Number of functions that have facts.
    pub(crate) fn functions_with_loops(&self) -> u64 {
        self.inner.keys.iter().flatten().count() as u64
    }
    /// The whole text in one piece.
    pub(crate) fn source(&self) -> &str {
        self.inner.parsed.text()
    }
    /// Whether its text declares a name by the look of it, in a place that was understood or not.
    pub(crate) fn may_declare(&self, name: &str) -> bool {
        self.inner.parsed.may_declare(name)
    }
    pub(crate) fn unit(&self) -> &front::Unit {
        &self.inner.unit
    }
    /// What is known of the functions its functions call.
    pub(crate) fn program(&self) -> &analysis::Program {
        &self.inner.program
    }
    /// The functions of other files that its functions reach, and the declarations that these need.
    pub(crate) fn other_bodies(&self) -> impl Iterator<Item = &Body> + Clone {
        self.inner.other_bodies.get_or_init(|| self.inner.program.other_bodies()).iter().map(|b| &**b)
    }
    pub(crate) fn key(&self, item: usize) -> Option<Key> {
        self.inner.keys.get(item).copied().flatten()
    }
    /// The text of a span of the document.
    pub(crate) fn slice(&self, span: Span) -> &str {
        self.source().get(span.range()).unwrap_or("")
    }
}

/// The other files that options name.
fn others(options: &Options) -> Arc<analysis::OtherFiles> {
    options.project.as_ref().map_or_else(Arc::default, |p| p.others().clone())
}

/// The keys of all items; those of bodies shared with the document before are not computed again.
fn keys(
    unit: &front::Unit,
    text: &Text,
    program: &analysis::Program,
    before: Option<&Doc>,
) -> Vec<Option<Key>> {
    let known: FxHashMap<*const Body, Option<Key>> = before
        .map(|d| {
            let bodies = d.inner.unit.items.iter().map(|i| Arc::as_ptr(&i.body));
            bodies.zip(d.inner.keys.iter().copied()).collect()
        })
        .unwrap_or_default();
    let new = |item: &front::Item| {
        item.body.loops(item.body.root).next()?;
        // a loop in a template's text is one of each instance: nothing is offered there
        if item.template().is_some() {
            return None;
        }
        let (meaning, text) = (item.body.hash, text.hash_of(item.span));
        Some(Key { language: unit.language, meaning, text, around: 0 })
    };
    // the document before still holds its bodies, so an equal address is the same body
    let key = |item: &front::Item| {
        let known = known.get(&Arc::as_ptr(&item.body)).copied();
        let key = known.unwrap_or_else(|| new(item))?;
        Some(Key { around: program.key_for(&item.body), ..key })
    };
    unit.items.iter().map(key).collect()
}
