//! Source languages as rows.
//!
//! A [`Language`] is a handle for a [`Row`]: a `static` in a folder of its own, listed in [`LANGUAGES`]. Nobody asks *which*
//! language a document is in: what differs between languages is a field of the row or done by its [`FrontEnd`], so that
//! another language is a folder and a row. `tests/architecture.rs` counts comparisons of languages (there are none), and
//! `ide` takes a language that is in no list from its text to verdicts (its test `third_language`).
//!
//! Deliberately absent: what only one family of languages needs to know of itself (C and CUDA: [`crate::c::dialect`]).

use std::any::Any;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Deref;
use std::sync::Arc;

use base::CancelToken;

use crate::api::{Edit, Options, Unit};

/// A source language. What there is to know of it is its row's: `language.name`, `language.kernels`.
#[derive(Clone, Copy)]
pub struct Language(&'static Row);

/// All languages, as messages list them.
pub static LANGUAGES: [Language; 4] = [Language::C, Language::Cpp, Language::CSharp, Language::Cuda];

#[allow(non_upper_case_globals)] // they read as the names they are
impl Language {
    /// C11 with common GNU spellings.
    pub const C: Language = Language::of(&crate::c::row::ROW);
    /// C++ of hosts, as far as its C subset goes.
    pub const Cpp: Language = Language::of(&crate::cpp::ROW);
    /// C#; no kernels are made of it yet.
    pub const CSharp: Language = Language::of(&crate::csharp::ROW);
    /// CUDA C++, as far as its C subset goes.
    pub const Cuda: Language = Language::of(&crate::cuda::ROW);

    /// The language of a row.
    pub const fn of(row: &'static Row) -> Language {
        Language(row)
    }
    /// Where the first word of a loop stands in a piece of text, comments and literals left out.
    pub fn first_loop(self, text: &str) -> Option<usize> {
        self.0.front.loop_in(text)
    }
    /// The language of this name (`c`), if there is one.
    pub fn named(name: &str) -> Option<Language> {
        LANGUAGES.into_iter().find(|l| l.name == name)
    }
}

/// What is known of a language.
pub struct Row {
    /// In reports, on rule pages, in settings: `c`.
    pub name: &'static str,
    /// In sentences: `C`.
    pub title: &'static str,
    /// Extensions of its files, in lower case and without the dot.
    pub files: Claims,
    /// Editors' names of it (LSP 3.17, "Text Document Language Identifiers"), which decide where no extension does.
    pub ids: Claims,
    /// Of a file that is made in it, without the dot.
    pub extension: &'static str,
    pub comments: Comments,
    /// Its documents hold kernels and the host code that launches them.
    pub kernels: bool,
    /// Loops of its documents can become kernels in a file beside the document.
    pub offloads: bool,
    /// Whether what its offloads write on the host can be run by the simulator.
    pub interpreted: bool,
    /// Extensions of its files that become one program by the names in them, as C's do ([`crate::may_define`]); none elsewhere.
    pub linked: &'static [&'static str],
    /// The compiler of C's family that takes part in building its documents.
    pub compiler: Option<Compiler>,
    /// A program around a quoted piece of it; `None`: pieces are not read.
    pub quotes: Option<fn(&Quoted<'_>) -> String>,
    /// How its texts are read.
    pub front: &'static dyn Reads,
}

impl Row {
    /// Whether a compiler of C's family builds its documents as they stand.
    pub fn is_compiled_whole(&self) -> bool {
        self.compiler.as_ref().is_some_and(|c| c.reads_all)
    }
}

/// Which documents are in a language.
pub struct Claims {
    /// Whatever they hold, unless another language finds itself in the text.
    pub always: &'static [&'static str],
    /// Only if [`FrontEnd::is_written_in`] says so.
    pub by_text: &'static [&'static str],
}

/// How comments are written.
pub struct Comments {
    /// Begins one that ends with its line.
    pub line: &'static str,
    /// Begins and ends the others.
    pub block: Option<(&'static str, &'static str)>,
}

/// What a compiler of C's family has to do with a language's documents.
pub struct Compiler {
    pub standard: Standard,
    /// It reads the whole of them: what it is told, the documents are told. Else only the host's part.
    pub reads_all: bool,
    /// What the language's own compiler defines beside it, and decides instead of it: lines of `NAME value`.
    pub besides: &'static str,
}

/// What a compiler is asked to read.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Standard {
    C,
    Cpp,
}

/// A piece of source, outside of any program.
pub struct Quoted<'a> {
    pub text: &'a str,
    /// It is statements; else it is an expression.
    pub statements: bool,
    /// The function that is to hold it: its statements, or one assignment of the expression to `value`.
    pub function: &'a str,
    pub value: &'a str,
    /// Words in it that stand for types.
    pub types: &'a [&'a str],
    /// Words in it that are plain variables.
    pub variables: &'a [&'a str],
}

/// Reads texts of one language.
pub trait FrontEnd: Send + Sync + 'static {
    /// What reading a text gives; edits and lowering begin with it.
    type Read: Send + Sync + 'static;
    /// What lowering remembers between versions of one document.
    type Memo: Default + Send + 'static;

    /// Whether a text is surely in this language, where the document's name leaves it open ([`Claims::by_text`]).
    fn is_written_in(&self, _text: &str) -> bool {
        false
    }
    /// Reads a text from scratch. Runs at every keystroke: as quick as lexing.
    fn read(&self, text: &str) -> Self::Read;
    /// Reads what `edits` (in order) made of an earlier text. Equal to [`FrontEnd::read`] of the new text, even where the
    /// edits are wrong.
    fn reread(&self, _earlier: (&str, &Self::Read), _edits: &[Edit], text: &str) -> Self::Read {
        self.read(text)
    }
    /// The document as far as the function in whose body `at` stands needs it, told without lowering it; `None`: not so.
    /// `watched`: words that make what a function does depend on who calls it.
    fn part(
        &self,
        _source: (&str, &Self::Read),
        _at: u32,
        _watched: &[&str],
    ) -> Option<PartRead<Self::Read>> {
        None
    }
    /// Where the first word of a loop stands in a piece of text, comments and literals left out.
    fn first_loop(&self, _text: &str) -> Option<usize> {
        None
    }
    /// Whether a text declares a name by the look of it, understood or not.
    fn may_declare(&self, _source: (&str, &Self::Read), _name: &str) -> bool {
        false
    }
    /// Lowers a document into its unit, which begins empty; called off, it leaves the unit as it is then. Items that did not change since the last call with this memo
    /// are the same `Arc`s; whatever is not understood is a gap or a reject, never an error.
    fn lower(
        &self,
        source: (&Arc<str>, &Self::Read),
        options: &Options,
        memory: (&mut Self::Memo, &CancelToken),
        unit: &mut Unit,
    );
}

/// Part of a document, read ([`crate::Part`]).
pub struct PartRead<R> {
    /// The document's text with blanks in place of what was left out.
    pub text: Arc<str>,
    /// What reading that text gives.
    pub read: R,
    /// The functions that were left out.
    pub left_out: Vec<Arc<str>>,
}

/// What reading a text gave, whatever the language.
pub(crate) type Read = Arc<dyn Any + Send + Sync>;

/// A [`FrontEnd`] whose own types nobody needs to name: every one is.
pub trait Reads: Send + Sync {
    #[doc(hidden)]
    fn knows(&self, text: &str) -> bool;
    #[doc(hidden)]
    fn read_any(&self, text: &str) -> Arc<dyn Any + Send + Sync>;
    #[doc(hidden)]
    fn reread_any(
        &self,
        earlier: (&str, &(dyn Any + Send + Sync)),
        edits: &[Edit],
        text: &str,
    ) -> Arc<dyn Any + Send + Sync>;
    #[doc(hidden)]
    fn part_any(
        &self,
        source: (&str, &(dyn Any + Send + Sync)),
        at: u32,
        watched: &[&str],
    ) -> Option<PartRead<Arc<dyn Any + Send + Sync>>>;
    #[doc(hidden)]
    fn loop_in(&self, text: &str) -> Option<usize>;
    #[doc(hidden)]
    fn declares_any(&self, source: (&str, &(dyn Any + Send + Sync)), name: &str) -> bool;
    #[doc(hidden)]
    fn lower_any(
        &self,
        source: (&Arc<str>, &(dyn Any + Send + Sync)),
        options: &Options,
        memory: (&mut Memo, &CancelToken),
        unit: &mut Unit,
    );
}

impl<F: FrontEnd> Reads for F {
    fn knows(&self, text: &str) -> bool {
        self.is_written_in(text)
    }
    fn loop_in(&self, text: &str) -> Option<usize> {
        self.first_loop(text)
    }
    fn declares_any(&self, (text, read): (&str, &(dyn Any + Send + Sync)), name: &str) -> bool {
        read.downcast_ref().is_some_and(|read| self.may_declare((text, read), name))
    }
    fn read_any(&self, text: &str) -> Read {
        Arc::new(self.read(text))
    }
    fn reread_any(
        &self,
        (before, read): (&str, &(dyn Any + Send + Sync)),
        edits: &[Edit],
        text: &str,
    ) -> Read {
        Arc::new(match read.downcast_ref() {
            Some(read) => self.reread((before, read), edits, text),
            None => self.read(text),
        })
    }
    fn part_any(
        &self,
        (text, read): (&str, &(dyn Any + Send + Sync)),
        at: u32,
        watched: &[&str],
    ) -> Option<PartRead<Read>> {
        let PartRead { text, read, left_out } = self.part((text, read.downcast_ref()?), at, watched)?;
        Some(PartRead { text, read: Arc::new(read), left_out })
    }
    fn lower_any(
        &self,
        (text, read): (&Arc<str>, &(dyn Any + Send + Sync)),
        options: &Options,
        (memo, cancel): (&mut Memo, &CancelToken),
        unit: &mut Unit,
    ) {
        // a memo of another language's says nothing here
        let own = memo.0.take().and_then(|own| own.downcast::<F::Memo>().ok());
        let mut own = own.unwrap_or_default();
        match read.downcast_ref() {
            Some(read) => self.lower((text, read), options, (&mut own, cancel), unit),
            None => self.lower((text, &self.read(text)), options, (&mut own, cancel), unit),
        }
        memo.0 = Some(own);
    }
}

/// What lowering remembers between versions of one document (sharing it between documents is allowed but useless).
#[derive(Default)]
pub struct Memo(Option<Box<dyn Any + Send>>);

impl Memo {
    /// Empty.
    pub fn new() -> Memo {
        Memo::default()
    }
}

impl fmt::Debug for Memo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "Memo" } else { "Memo (empty)" })
    }
}

/// The language of a document by extension and content; the editor's `language_id` decides only where those do not.
/// `.cpp`, `.cc` and `.h` are C++ and C unless they hold CUDA.
pub fn detect(path: &str, language_id: Option<&str>, text: &str) -> Option<Language> {
    detect_among(&LANGUAGES, path, language_id, text)
}

/// The same among these languages.
pub fn detect_among(
    languages: &[Language],
    path: &str,
    language_id: Option<&str>,
    text: &str,
) -> Option<Language> {
    let name = path.rsplit(['/', '\\']).next();
    let extension = name.and_then(|f| f.rsplit_once('.')).map(|(_, e)| e.to_ascii_lowercase());
    let of_file = extension.and_then(|e| claimed(languages, |l| &l.files, &e, text));
    of_file.or_else(|| claimed(languages, |l| &l.ids, language_id?, text))?
}

/// Whose document this word makes a text: `None` where no language knows the word, `Some(None)` where one does and does
/// not find itself in the text.
fn claimed(
    languages: &[Language],
    of: impl Fn(&'static Row) -> &'static Claims,
    word: &str,
    text: &str,
) -> Option<Option<Language>> {
    let by_text: Vec<Language> =
        languages.iter().copied().filter(|l| of(l.0).by_text.contains(&word)).collect();
    let written = by_text.iter().copied().find(|l| l.front.knows(text));
    let always = || languages.iter().copied().find(|l| of(l.0).always.contains(&word));
    match written.or_else(always) {
        None if by_text.is_empty() => None,
        found => Some(found),
    }
}

impl Deref for Language {
    type Target = Row;
    fn deref(&self) -> &Row {
        self.0
    }
}
impl PartialEq for Language {
    fn eq(&self, other: &Language) -> bool {
        self.0.name == other.0.name
    }
}
impl Eq for Language {}
impl Hash for Language {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.name.hash(state);
    }
}
impl fmt::Debug for Language {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.title)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_of_the_language_that_it_is_written_in() {
        let of = |text: &str| detect("a.h", Some("c"), text).map(|l| l.title);
        assert_eq!(of("struct point { double x; };\nvoid f(struct point *class);\n"), Some("C"));
        let both = "#ifdef __cplusplus\nextern \"C\" {\nnamespace a { class B; }\n#endif\nint f(void);\n";
        assert_eq!(of(both), Some("C"));
        assert_eq!(of("#ifndef __cplusplus\nint f(void);\n#else\nclass B { };\n#endif\n"), Some("C"));
        assert_eq!(of("namespace a {\ntemplate <class T> class B : public C { };\n}\n"), Some("C++"));
        assert_eq!(of("#ifndef A_H\n#define A_H\nclass B { int k; };\n#endif\n"), Some("C++"));
        assert_eq!(of("namespace a { __global__ void k(int *p); }\n"), Some("CUDA"));
        for c in [
            "struct namespace { int id; };",
            "enum namespace { A, B };",
            "typedef struct cls class; static class first;",
            "#if 0\nclass B { };\n#endif",
            "#if defined(__cplusplus) && !defined(NO_CPP)\nclass B { };\n#endif",
        ] {
            assert_eq!(of(c), Some("C"), "{c}");
        }
        for cpp in [
            "template <unsigned N> struct A { int a[N]; };",
            "namespace a::b {\n}",
            "class API Foo { };",
            "class Z final { };",
        ] {
            assert_eq!(of(cpp), Some("C++"), "{cpp}");
        }
        assert_eq!(of("// namespace a {\nint f(void);\n"), Some("C"));
    }

    #[test]
    fn rows_do_not_collide() {
        for (k, a) in LANGUAGES.iter().enumerate() {
            assert_eq!(Language::named(a.name), Some(*a));
            assert!(a.files.always.contains(&a.extension), "{a:?}");
            for b in &LANGUAGES[k + 1..] {
                assert!(a.name != b.name && a.title != b.title);
                for claims in [(&a.files, &b.files), (&a.ids, &b.ids)] {
                    assert!(claims.0.always.iter().all(|w| !claims.1.always.contains(w)), "{a:?} {b:?}");
                }
            }
        }
    }
}
