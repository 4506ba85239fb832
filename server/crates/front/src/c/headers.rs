//! Headers: where the texts of `#include` come from, and what is remembered of them for all documents.
//!
//! This room opens no file. Whoever does hands in a [`Source`], which answers what an `#include` finds; the same
//! question must get the same answer for as long as the source lives. What a run of headers leaves behind (macros and
//! names) is remembered in an [`Index`] under everything it depends on: what stood before the `#include`, and every
//! answer of the source while it was read. Another document that begins with the same lines gets it for the asking.

use std::fmt::Debug;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use rustc_hash::FxHashMap;

use crate::c::arms::{arms, Arm};
use crate::c::include::Snapshot;
use crate::c::lex::{self, Kind, Lexed};
use crate::c::pp::{self, Line};
use crate::c::unit::hash;
use crate::limits::c_headers::{CAPACITY, VARIANTS};

/// Names a header within its source: the same file has the same id.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct HeaderId(pub u32);

/// What an `#include` asks for.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Ask {
    /// As written between the quotes or brackets.
    pub name: Arc<str>,
    /// `"…"` rather than `<…>`.
    pub quoted: bool,
    /// `#include_next`: the search goes on after the folder that the asking header was found in.
    pub next: bool,
    /// The header that asks; `None`: the document itself.
    pub from: Option<HeaderId>,
}

/// Finds headers.
pub trait Source: Send + Sync + Debug {
    /// The header that this finds; `None` where there is none.
    fn find(&self, ask: &Ask) -> Option<Arc<Header>>;
}

/// A header's text. Make one per file and share it: it is cut into tokens once.
#[derive(Debug)]
pub struct Header {
    id: HeaderId,
    name: String,
    is_system: bool,
    is_guess: bool,
    /// The file that a build makes it of, whose text it has.
    template: Option<Arc<str>>,
    /// It is what stands around a document that it includes on this line, and so many places more do.
    around: Option<(u32, u32)>,
    text: Arc<str>,
    hash: u64,
    read: OnceLock<Read>,
}

/// A header cut into tokens.
#[derive(Debug)]
pub(crate) struct Read {
    pub lexed: Lexed,
    pub arms: FxHashMap<usize, Arm>,
    pub lines: FxHashMap<usize, Line>,
    /// The name that an `#ifndef … #endif` around all of it tests.
    pub guard: Option<Arc<str>>,
    pub pragma_once: bool,
}

impl Header {
    /// A header. `name` is how people know it; `is_system`: it belongs to the compiler or its library, so that what
    /// it declares under the library's names is the library's.
    pub fn new(id: HeaderId, name: impl Into<String>, is_system: bool, text: impl Into<Arc<str>>) -> Header {
        let text: Arc<str> = text.into();
        Header {
            id,
            name: name.into(),
            is_system,
            is_guess: false,
            template: None,
            around: None,
            hash: hash((&text, is_system)),
            text,
            read: OnceLock::new(),
        }
    }
    /// The same, found where nobody said to look: a compiler called as we know it would not find it.
    pub fn guessed(mut self) -> Header {
        self.is_guess = true;
        self.hash = hash((self.hash, "guessed"));
        self
    }
    /// The same, read from the file that a build makes it of, with nothing configured but what every C has.
    pub fn made_of(mut self, file: &str) -> Header {
        self.template = Some(file.into());
        self.guessed()
    }
    /// The same, as what stands in a file before it includes the document, on this line; so many places more do.
    pub fn around(mut self, line: u32, others: u32) -> Header {
        self.around = Some((line, others));
        self.hash = hash((self.hash, line, others));
        self
    }
    /// Where it includes the document itself, and how many places more do.
    pub(crate) fn includes_document(&self) -> Option<(u32, u32)> {
        self.around
    }
    /// The file that a build would make it of, and that was read in its place.
    pub fn template(&self) -> Option<&Arc<str>> {
        self.template.as_ref()
    }
    /// Whether it was found where nobody said to look.
    pub fn is_guess(&self) -> bool {
        self.is_guess
    }
    /// Its id.
    pub fn id(&self) -> HeaderId {
        self.id
    }
    /// How people know it.
    pub fn name(&self) -> &str {
        &self.name
    }
    /// Whether it is the system's.
    pub fn is_system(&self) -> bool {
        self.is_system
    }
    /// Its text.
    pub fn text(&self) -> &Arc<str> {
        &self.text
    }
    /// Whether it declares a name by the look of it, in a place that was understood or not.
    pub fn may_declare(&self, name: &str) -> bool {
        crate::c::defines::may_declare(&self.text, &self.read().lexed, name)
    }
    /// The macro that has to be defined for its definition of a function of this name to count.
    pub fn defined_under(&self, name: &str) -> Option<Arc<str>> {
        // most headers do not name it
        if !self.text.contains(name) {
            return None;
        }
        crate::c::defines::defined_under(&self.text, &self.read().lexed, name)
    }
    pub(crate) fn hash(&self) -> u64 {
        self.hash
    }
    pub(crate) fn read(&self) -> &Read {
        self.read.get_or_init(|| {
            let lexed = lex::lex(&self.text);
            let arms = arms(&self.text, &lexed.tokens);
            let directives = lexed.tokens.iter().enumerate().filter(|(_, t)| t.kind == Kind::Directive);
            let lines: FxHashMap<usize, Line> = directives
                .map(|(k, t)| (k, pp::line(self.text.get(t.span().range()).unwrap_or(""))))
                .collect();
            let guard = guard(&lexed, &arms, &lines);
            let pragma_once = lexed.tokens.iter().filter(|t| t.kind == Kind::Directive).any(|t| {
                let line = self.text.get(t.span().range()).unwrap_or("");
                let mut words = line.trim_start_matches('#').split_whitespace();
                words.next() == Some("pragma") && words.next() == Some("once")
            });
            Read { lexed, arms, lines, guard, pragma_once }
        })
    }
}

fn guard(lexed: &Lexed, arms: &FxHashMap<usize, Arm>, lines: &FxHashMap<usize, Line>) -> Option<Arc<str>> {
    let name = match lines.get(&0)? {
        Line::Ifdef(name, false) => name.clone(),
        // `#if !defined NAME`, with parentheses or without
        Line::If(tokens) => pp::not_defined(tokens)?,
        _ => return None,
    };
    let arm = arms.get(&0)?;
    let whole = arm.next == arm.end && arm.end + 1 == lexed.tokens.len();
    // As nothing or as 1, and for the sake of something else: else it is a default for the name.
    let defines = matches!(lines.get(&1), Some(Line::Define(n, m)) if *n == name && m.is_mere_mark());
    (whole && defines && lexed.tokens.len() > 3).then_some(name)
}

/// Where a document's headers are found, and what is remembered of them.
#[derive(Clone, Debug)]
pub struct Headers {
    pub(crate) source: Arc<dyn Source>,
    pub(crate) index: Arc<Index>,
}

impl Headers {
    /// Headers of this source; share the index among all documents.
    pub fn new(source: Arc<dyn Source>, index: Arc<Index>) -> Headers {
        Headers { source, index }
    }
}

/// The same source and index.
impl PartialEq for Headers {
    fn eq(&self, other: &Headers) -> bool {
        Arc::ptr_eq(&self.source, &other.source) && Arc::ptr_eq(&self.index, &other.index)
    }
}
impl Eq for Headers {}

/// What is remembered of headers, for all documents of a session.
#[derive(Debug, Default)]
pub struct Index {
    runs: Mutex<FxHashMap<u64, Vec<Arc<Snapshot>>>>,
}

impl Index {
    /// Empty.
    pub fn new() -> Index {
        Index::default()
    }
    /// The run under this key whose questions get the same answers today.
    pub(crate) fn get(&self, key: u64, source: &dyn Source) -> Option<Arc<Snapshot>> {
        let candidates = self.lock().get(&key)?.clone();
        candidates.into_iter().find(|s| s.holds(source))
    }
    pub(crate) fn put(&self, key: u64, run: Arc<Snapshot>) {
        let mut runs = self.lock();
        if runs.len() >= CAPACITY {
            runs.clear();
        }
        let variants = runs.entry(key).or_default();
        variants.insert(0, run);
        variants.truncate(VARIANTS);
    }
    fn lock(&self) -> MutexGuard<'_, FxHashMap<u64, Vec<Arc<Snapshot>>>> {
        // entries are inserted whole: after a panic elsewhere they are still right
        self.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A standard header's name (C11 7.1.2, POSIX.1 and the GNU library's): where it is not found, what it would say is known
/// well enough.
pub fn is_standard(name: &str) -> bool {
    let stem = name.strip_suffix(".h").unwrap_or(name);
    matches!(
        stem,
        "assert"
            | "complex"
            | "ctype"
            | "errno"
            | "fenv"
            | "float"
            | "inttypes"
            | "iso646"
            | "limits"
            | "locale"
            | "math"
            | "setjmp"
            | "signal"
            | "stdalign"
            | "stdarg"
            | "stdatomic"
            | "stdbool"
            | "stddef"
            | "stdint"
            | "stdio"
            | "stdlib"
            | "stdnoreturn"
            | "string"
            | "tgmath"
            | "threads"
            | "time"
            | "uchar"
            | "wchar"
            | "wctype"
            | "unistd"
            | "strings"
            | "malloc"
            | "memory"
            | "alloca"
            | "fcntl"
            | "getopt"
            | "pthread"
            | "sched"
            | "semaphore"
            | "dirent"
            | "dlfcn"
            | "regex"
            | "glob"
            | "poll"
            | "pwd"
            | "grp"
            | "netdb"
            | "termios"
            | "values"
            | "features"
            | "endian"
            | "byteswap"
            | "search"
            | "omp"
            | "mpi"
            | "cuda_runtime"
            | "hip/hip_runtime"
            | "hip/hip_runtime_api"
            | "cuda"
            | "immintrin"
            | "emmintrin"
            | "xmmintrin"
            | "x86intrin"
            | "io"
            | "conio"
            | "process"
    ) || ["sys/", "bits/", "arpa/", "netinet/", "linux/", "asm/", "gnu/", "net/"]
        .iter()
        .any(|p| name.starts_with(p))
        || !name.contains('.')
}
