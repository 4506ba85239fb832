//! What other rooms see: documents parsed, units, items, directives, and the questions an editor asks of them.

use std::sync::Arc;

use base::{CancelToken, Span};
use rustc_hash::FxHashSet;
use term::{Body, Op, Reject, RejectKind, Storage, TermId};

use crate::c::headers::{Header, Headers};
use crate::c::pp::asked::Predefined;
use crate::language::{Language, Memo, PartRead, Read};

/// What the compiler's command line would say.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Options {
    /// `-D NAME=VALUE`; `-D NAME` is `("NAME", "1")`. `NAME(a,b)` defines a function-like macro.
    pub defines: Vec<(String, String)>,
    /// `-U NAME`
    pub undefines: Vec<String>,
    /// `-include NAME`: headers read before the first line.
    pub includes: Vec<String>,
    /// Where headers are found; `None`: none is.
    pub headers: Option<Headers>,
    /// What the compiler says it defines, where one was asked; it counts for texts of its language.
    pub compiler: Option<Arc<Predefined>>,
    /// The text is a pattern: structures in it stand for types that are left open, numbers too.
    pub pattern: bool,
    /// The text is read for what it gives to other files: what sources that it includes define is its own, called or not.
    pub whole: bool,
}

/// One replacement of text: byte offsets, and (row, byte column) points. The points are for parsers that want them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Edit {
    pub start_byte: u32,
    pub old_end_byte: u32,
    pub new_end_byte: u32,
    pub start_point: (u32, u32),
    pub old_end_point: (u32, u32),
    pub new_end_point: (u32, u32),
}

/// A text and what was read off it: an immutable snapshot, cheap to clone.
#[derive(Clone)]
pub struct Parsed {
    inner: Arc<ParsedInner>,
}

struct ParsedInner {
    language: Language,
    text: Arc<str>,
    read: Read,
}

impl std::fmt::Debug for Parsed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Parsed ({:?}, {} bytes)", self.inner.language, self.inner.text.len())
    }
}

impl Parsed {
    /// Reads a text from scratch.
    pub fn parse(language: Language, text: impl Into<Arc<str>>) -> Parsed {
        let text: Arc<str> = text.into();
        let read = language.front.read_any(&text);
        Parsed { inner: Arc::new(ParsedInner { language, text, read }) }
    }

    /// Reads the text that `edits` (in order) made of this one. Equal to [`Parsed::parse`] of the new text: items are
    /// found again, and only those whose text changed are parsed again by [`lower`].
    pub fn reparse(&self, edits: &[Edit], new_text: impl Into<Arc<str>>) -> Parsed {
        let language = self.inner.language;
        let text: Arc<str> = new_text.into();
        let read = language.front.reread_any((&self.inner.text, &*self.inner.read), edits, &text);
        Parsed { inner: Arc::new(ParsedInner { language, text, read }) }
    }

    /// The document as far as the function in whose body `at` stands needs it, found without lowering it. `None` where
    /// that cannot be told, or is most of the document. `watched`: words that make what a function does depend on who
    /// calls it; where the text says one of them there is no part.
    pub fn part(&self, at: u32, watched: &[&str]) -> Option<Part> {
        let Parsed { inner } = self;
        let part = inner.language.front.part_any((&inner.text, &*inner.read), at, watched)?;
        let PartRead { text, read, left_out } = part;
        let parsed = Parsed { inner: Arc::new(ParsedInner { language: inner.language, text, read }) };
        Some(Part { parsed, left_out })
    }

    /// Whether the text declares a name by the look of it, in a place that was understood or not.
    pub fn may_declare(&self, name: &str) -> bool {
        let Parsed { inner } = self;
        inner.language.front.declares_any((&inner.text, &*inner.read), name)
    }

    /// The text.
    pub fn text(&self) -> &Arc<str> {
        &self.inner.text
    }
    /// The language it was read as.
    pub fn language(&self) -> Language {
        self.inner.language
    }
}

/// Part of a document.
#[derive(Clone, Debug)]
pub struct Part {
    /// The document with blanks in place of what was left out.
    pub parsed: Parsed,
    /// The functions that were left out.
    pub left_out: Vec<Arc<str>>,
}

impl Part {
    /// Whether the function around `at` reads in `unit`, which is this part lowered, as it does in the whole document. It may
    /// not where what stands beside it has faults of syntax, after which a reader goes on somewhere, or names functions
    /// that were left out, as macros of headers may.
    pub fn is_like_the_whole(&self, unit: &Unit, at: u32) -> bool {
        let left_out: FxHashSet<&str> = self.left_out.iter().map(|n| &**n).collect();
        let is_function = |i: &&Item| i.kind == ItemKind::Function;
        let functions = unit.items.iter().filter(is_function).chain(unit.included.iter().map(|i| &i.item));
        let mut named = functions.flat_map(|i| i.body.symbols.iter());
        let others = unit.items.iter().filter(|i| !i.span.touches(at));
        let mut faults = others.flat_map(|i| i.body.rejects()).chain(&unit.rejects);
        !named.any(|s| s.storage == Storage::Function && left_out.contains(&*s.name))
            && !faults.any(|r| r.kind == RejectKind::Syntax)
    }
}

/// Lowers a document. Items that did not change since the last call with this memo are the same `Arc`s.
pub fn lower(parsed: &Parsed, options: &Options, memo: &mut Memo) -> Unit {
    let mut unit = Unit::empty(parsed.language());
    lower_into(parsed, options, memo, &CancelToken::new(), &mut unit);
    unit
}

/// Likewise, until it is called off: then what was lowered by then is remembered, and there is no unit.
pub fn lower_until(
    parsed: &Parsed,
    options: &Options,
    memo: &mut Memo,
    cancel: &CancelToken,
) -> Option<Unit> {
    let mut unit = Unit::empty(parsed.language());
    lower_into(parsed, options, memo, cancel, &mut unit);
    (!cancel.is_cancelled()).then_some(unit)
}

fn lower_into(parsed: &Parsed, options: &Options, memo: &mut Memo, cancel: &CancelToken, unit: &mut Unit) {
    let source = (parsed.text(), &*parsed.inner.read);
    parsed.language().front.lower_any(source, options, (memo, cancel), unit);
}

/// A document as terms.
#[derive(Clone, Debug)]
pub struct Unit {
    pub language: Language,
    /// In textual order; one may stand within another (a function in a function), and they do not overlap otherwise.
    pub items: Vec<Item>,
    /// Places outside items that were not understood; spans are absolute.
    pub rejects: Vec<Reject>,
    /// Marks, suppressions and other directives, in textual order.
    pub directives: Vec<Directive>,
    /// The functions of headers that its functions call, directly or through one another. Their loops are not the
    /// document's.
    pub included: Vec<Included>,
    /// Functions of the host that C cannot say, with their parameters made plain and their templates' parameters bound: read for their
    /// launches and for what they give those, and for nothing else.
    pub lenders: Vec<Item>,
    /// Instances of templates whose arguments the text does not say: they were taken for some.
    pub guessed: Vec<Arc<str>>,
    /// The headers that were read for it, but for those of the C library.
    pub headers: Vec<Arc<Header>>,
    /// What was taken for granted while conditions were decided, where it could as well be otherwise.
    pub configuration: Vec<Choice>,
}

/// A function defined in a header.
#[derive(Clone, Debug)]
pub struct Included {
    pub header: Arc<Header>,
    /// Its span is in the header's text.
    pub item: Item,
}

/// Something a document's meaning depends on that its text does not settle.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Choice {
    /// A macro's or header's name.
    pub name: Arc<str>,
    pub taken: Taken,
}

/// How a name was taken.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Taken {
    /// A macro that nothing defines.
    NotDefined,
    /// A macro that the options define, as this; or one that leaves in what a document of its language is for.
    Given(Arc<str>),
    /// A macro that tells compilers or systems apart: as gcc on x86-64 Linux has it.
    Platform,
    /// Likewise, as this compiler says, which was asked.
    Compiler(Arc<str>),
    /// A macro that the compiler's options decide, which are not known: whether it is defined is left open.
    EitherWay,
    /// A header that was not found: what it would define is not known.
    NotFound,
    /// Likewise, behind this condition, of which it is not known whether it holds.
    NotFoundIf(Arc<str>),
    /// A header that was found around the document, where nobody said to look.
    Guessed,
    /// A header that was not found; the file that a build makes it of was read, with nothing configured but what every C has.
    Template(Arc<str>),
    /// A file that includes the document, on this line; so many places more do.
    Around { line: u32, others: u32 },
    /// A header that was not found, in whose place a text of ours was read.
    StandIn,
    /// A header that was not read because headers are nested too deeply or too long in all.
    TooMuch,
}

impl Unit {
    /// Without anything in it.
    pub(crate) fn empty(language: Language) -> Unit {
        Unit {
            language,
            items: Vec::new(),
            rejects: Vec::new(),
            directives: Vec::new(),
            included: Vec::new(),
            lenders: Vec::new(),
            guessed: Vec::new(),
            headers: Vec::new(),
            configuration: Vec::new(),
        }
    }
    /// Whether this file defines a function of that name: then a known name such as `round` has not its known meaning.
    pub fn defines_function(&self, name: &str) -> bool {
        self.items.iter().any(|i| i.kind == ItemKind::Function && &*i.name == name)
    }
}

/// Whether an item is a function with a body.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ItemKind {
    /// A function definition; the body's root is a `Function`, or a `Program` with a reject where it was not understood.
    Function,
    /// Other file-level declarations; the body's root is a `Program`.
    Declarations,
}

/// A function or declaration of a file.
#[derive(Clone, Debug)]
pub struct Item {
    /// In the file.
    pub span: Span,
    pub kind: ItemKind,
    /// The function's name, or the first name declared; may be empty.
    pub name: Arc<str>,
    /// Spans in it are relative to `span.start`. The same `Arc` as before where nothing it depends on changed.
    pub body: Arc<Body>,
    /// `__global__`
    pub is_kernel: bool,
    /// `__device__`
    pub is_device: bool,
    /// Runs on the host: C functions, and CUDA functions that are neither kernel nor `__device__` only.
    pub is_host: bool,
    /// `static` at file scope.
    pub is_static: bool,
    /// `__launch_bounds__(threads, blocks)`: threads per block at most, where it is a constant.
    pub launch_bounds: Option<u32>,
}

impl Item {
    /// Whether it runs on a device and nowhere else, as what one thread does.
    pub fn is_device_only(&self) -> bool {
        self.is_kernel || (self.is_device && !self.is_host)
    }

    /// An item that declares something.
    pub(crate) fn declarations(span: Span, name: Arc<str>, body: Arc<Body>) -> Item {
        Item {
            span,
            kind: ItemKind::Declarations,
            name,
            body,
            is_kernel: false,
            is_device: false,
            is_host: true,
            is_static: false,
            launch_bounds: None,
        }
    }
    /// The template of which this is an instance (`reduce` of `reduce<256>`).
    pub fn template(&self) -> Option<&str> {
        Some(self.name.split_once('<')?.0)
    }
    /// Whether it has this name, or is an instance of a template of this name.
    pub fn is_called(&self, name: &str) -> bool {
        *self.name == *name || self.template() == Some(name)
    }
}

/// Something written for us (or for another tool) in a pragma or comment.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Directive {
    pub kind: DirectiveKind,
    /// In the file.
    pub span: Span,
    /// 0-based line of its first byte.
    pub line: u32,
    /// Byte offset of the next token after it, i.e. what a mark applies to.
    pub before: u32,
}

/// What a directive says.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum DirectiveKind {
    /// Offload the loop that follows.
    Mark {
        /// Kernel name, if given.
        name: Option<Arc<str>>,
        /// `collapse(n)`, if given.
        collapse: Option<u32>,
        /// Whether a `for` follows, which then carries the `Mark` term.
        attached: bool,
    },
    /// `// warpwright: ignore[code, …]`: these codes, or all if none is named, on this line and the next.
    Ignore(Vec<Arc<str>>),
    /// `// warpwright: assume(promise, …)`: of the loops that follow, or of all of the function that follows.
    Assume(Arc<[PromiseText]>),
    /// `// warpwright: name(arguments)` of another kind, such as `launch`: name and raw arguments.
    Other(Arc<str>, Arc<str>),
    /// A pragma of another tool (`omp …`), by its text.
    Foreign(Arc<str>),
}

/// A promise as written: `injective(idx)`, `size(x) = n`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct PromiseText {
    pub text: Arc<str>,
    /// Where it begins, in bytes from the start of the comment.
    pub at: u32,
}

/// What a directive speaks of, as the byte offset of a token: the next one that belongs to no other directive.
pub fn speaks_of(directives: &[Directive], number: usize) -> u32 {
    let Some(d) = directives.get(number) else { return 0 };
    let mut next = d.before;
    for later in directives.iter().skip(number + 1) {
        if later.span.start == next && later.before > next {
            next = later.before;
        }
    }
    next
}

/// The item whose span touches the offset.
pub fn item_at(unit: &Unit, offset: u32) -> Option<&Item> {
    // of an item in an item the inner one
    let k = unit.items.partition_point(|i| i.span.start <= offset);
    let before = unit.items.get(..k)?;
    before.iter().rev().find(|i| i.span.touches(offset))
}

/// The smallest term whose span touches the offset (relative to the body); of equals the innermost.
pub fn term_at(body: &Body, offset: u32) -> Option<TermId> {
    let mut best: Option<TermId> = None;
    let mut walk = body.walk(body.root);
    while let Some(id) = walk.next() {
        let span = body.span(id);
        if !span.touches(offset) {
            // A reject or macro may hold terms whose spans lie elsewhere, but never outside their parent's.
            walk.skip_children_of(id);
            continue;
        }
        if best.is_none_or(|b| span.len() <= body.span(b).len()) {
            best = Some(id);
        }
    }
    best
}

/// From a loop's first byte to the end of its header: `for (…)`, `while (…)`, `do`. For other terms their own span.
pub fn loop_header_span(body: &Body, term: TermId) -> Span {
    let span = body.span(term);
    let args = body.args(term);
    match body.op(term) {
        Op::For => match args.get(3) {
            // A macro may give header and body one span; then the whole use is the header.
            Some(&b) if body.span(b).start > span.start => header(body, span, b, args.get(..3)),
            _ => span,
        },
        Op::While => match args.get(1) {
            Some(&b) if body.span(b).start > span.start => header(body, span, b, args.get(..1)),
            _ => span,
        },
        Op::DoWhile => Span::new(span.start as usize, (span.start as usize + 2).min(span.end as usize)),
        _ => span,
    }
}

fn header(body: &Body, whole: Span, block: TermId, parts: Option<&[TermId]>) -> Span {
    let limit = body.span(block).start;
    let last = parts
        .into_iter()
        .flatten()
        .map(|&p| body.span(p).end)
        .filter(|&e| e <= limit)
        .max()
        .unwrap_or(whole.start);
    // The closing parenthesis follows the last part; absent parts of a `for` stand where they would be.
    Span::new(whole.start as usize, (last.max(whole.start) as usize + 1).min(limit as usize))
}
