//! Reading headers into a document: what `#include` brings between items and inside one, what a run of headers leaves
//! behind, and the functions of headers that the document calls.
//!
//! A header is read by the same [`Walk`] as the document, but its items leave only names and types; a function's body is
//! lowered when something calls it. The outermost `#include`s between items are remembered as [`Snapshot`]s, so that an
//! edit of the document reads no header again.

use std::sync::{Arc, OnceLock};

use base::Span;
use rustc_hash::{FxHashMap, FxHashSet};
use term::{RejectKind, Storage};

use crate::c::cut::Found;
use crate::c::defines::source_of;
use crate::c::env::{Exported, Frozen};
use crate::c::headers::{is_standard, Ask, Header, HeaderId, Headers, Source};
use crate::c::lex::Kind;
use crate::c::pp::pack::Pack;
use crate::c::pp::{self, Line, Macro, MacroState, MacroToken, Macros, Piece, Spliced};
use crate::c::unit::{hash, source, Walk, Way};
use crate::c::{self, known, vendors};
use crate::limits::c_include::{MAX_BYTES, MAX_DEPTH, MAX_FUNCTIONS, MAX_SELF, MAX_SPLICED};
use crate::marks::Mark;
use crate::{Choice, Included, Item, Options, Shared, SharedSet, Taken};

/// What reading headers keeps for a document.
pub(crate) struct Including<'s> {
    headers: Option<&'s Headers>,
    pub(crate) options: &'s Options,
    depth: u32,
    bytes: usize,
    spliced: usize,
    once: SharedSet<HeaderId>,
    open: Vec<HeaderId>,
    /// Whether what was asked for last is there already.
    is_there: bool,
    /// Questions asked and the answers: id and hash.
    asked: Vec<(Ask, Answer)>,
    pub(crate) functions: Shared<Arc<str>, Arc<HeaderFunction>>,
    /// Headers that were read, but for the library's.
    pub(crate) read: Shared<HeaderId, Arc<Header>>,
}

type Answer = Option<(HeaderId, u64)>;

impl<'s> Including<'s> {
    pub(crate) fn new(options: &'s Options) -> Including<'s> {
        Including {
            headers: options.headers.as_ref(),
            options,
            depth: 0,
            bytes: 0,
            spliced: 0,
            once: SharedSet::default(),
            open: Vec::new(),
            is_there: false,
            asked: Vec::new(),
            functions: Shared::default(),
            read: Shared::default(),
        }
    }
}

/// A function defined in a header.
#[derive(Debug)]
pub(crate) struct HeaderFunction {
    header: Arc<Header>,
    found: Found,
    macros: Arc<Macros>,
    number: u32,
    item: OnceLock<Item>,
}

/// What is known after an outermost `#include`, with all that led there: macros and names of everything before it too.
#[derive(Debug)]
pub(crate) struct Snapshot {
    asked: Vec<(Ask, Answer)>,
    macros: Arc<Macros>,
    names: Frozen,
    chain: u64,
    number: u32,
    bytes: usize,
    once: SharedSet<HeaderId>,
    functions: Shared<Arc<str>, Arc<HeaderFunction>>,
    read: Shared<HeaderId, Arc<Header>>,
    choices: Vec<Choice>,
}

impl Snapshot {
    /// Whether every question still has the answer it had.
    pub(crate) fn holds(&self, source: &dyn Source) -> bool {
        self.asked.iter().all(|(ask, answer)| answer_of(&source.find(ask)) == *answer)
    }
}

fn answer_of(found: &Option<Arc<Header>>) -> Answer {
    found.as_ref().map(|h| (h.id(), h.hash()))
}

impl Walk<'_, '_> {
    /// Reads the headers that the command line includes before the first line.
    pub(crate) fn given(&mut self, options: &Options) {
        for name in &options.includes {
            self.s.chain = hash((self.s.chain, name));
            self.outermost(Ask { name: name.as_str().into(), quoted: true, next: false, from: None });
        }
    }

    /// An `#include` between items.
    pub(crate) fn include(&mut self, k: usize, included: &pp::Included) {
        if self.header.is_none() {
            let text: Arc<str> = self.token(k).into();
            self.link(("directive", text));
        }
        match self.ask(included) {
            Some(ask) if self.header.is_none() => self.outermost(ask),
            Some(ask) => self.enter(&ask),
            None => Arc::make_mut(&mut self.s.macros).missing(false),
        }
    }

    /// What an `#include` asks for, once its macros are replaced.
    fn ask(&self, included: &pp::Included) -> Option<Ask> {
        let from = self.header.map(|h| h.id());
        if !included.name.is_empty() {
            let (name, quoted, next) = (included.name.clone(), included.quoted, included.next);
            return Some(Ask { name, quoted, next, from });
        }
        let text = self.s.macros.text_of(&included.tokens)?;
        let (name, quoted) = pp::header_name(&text)?;
        Some(Ask { name: name.into(), quoted, next: included.next, from })
    }

    /// An `#include` of the document itself.
    fn outermost(&mut self, ask: Ask) {
        let headers = self.s.including.headers;
        let may_remember = self.s.nested == 0 && self.s.conditional.is_none();
        let Some(headers) = headers.filter(|_| may_remember) else {
            let before = self.s.including.asked.len();
            self.enter(&ask);
            self.s.chain = hash((self.s.chain, self.s.including.asked.get(before..)));
            return;
        };
        let key = hash((self.s.chain, self.s.number, &ask));
        if let Some(run) = headers.index.get(key, &*headers.source) {
            return self.resume(&run);
        }
        self.s.including.asked.clear();
        let choices = self.s.unit.configuration.len();
        self.enter(&ask);
        Arc::make_mut(&mut self.s.macros).freeze();
        let names = self.s.env.freeze();
        self.s.chain = hash((self.s.chain, &self.s.including.asked));
        let including = &mut self.s.including;
        let run = Snapshot {
            asked: std::mem::take(&mut including.asked),
            macros: self.s.macros.clone(),
            names,
            chain: self.s.chain,
            number: self.s.number,
            bytes: including.bytes,
            once: including.once.clone(),
            functions: including.functions.clone(),
            read: including.read.clone(),
            choices: self.s.unit.configuration.get(choices..).unwrap_or(&[]).to_vec(),
        };
        headers.index.put(key, Arc::new(run));
    }

    fn resume(&mut self, run: &Snapshot) {
        self.s.macros = run.macros.clone();
        self.s.env.resume(run.names.clone());
        self.s.chain = run.chain;
        self.s.number = run.number;
        let including = &mut self.s.including;
        including.bytes = run.bytes;
        including.once = run.once.clone();
        including.functions = run.functions.clone();
        including.read = run.read.clone();
        for choice in &run.choices {
            self.note(choice.name.clone(), choice.taken.clone());
        }
    }

    /// The header that this finds, unless it is there already or must not be read.
    fn find(&mut self, ask: &Ask) -> Option<Arc<Header>> {
        let found = self.s.including.headers.and_then(|h| h.source.find(ask));
        self.s.including.asked.push((ask.clone(), answer_of(&found)));
        self.s.including.is_there = false;
        // What a C++ compiler reads of the system's headers is not C; kernels need none of it.
        let found = found.filter(|h| !self.s.dialect.cpp || !h.is_system());
        // a project's own `stdint.h` is for compilers that have none
        let found = found.filter(|h| !h.is_guess() || ask.quoted || !is_standard(&ask.name));
        let Some(header) = found.or_else(|| self.stand_in(ask)) else {
            let by_system = self.header.is_some_and(|h| h.is_system());
            let system = by_system || (!ask.quoted && is_standard(&ask.name));
            if !system {
                let under = self.s.conditional.clone();
                self.note(ask.name.clone(), under.map_or(Taken::NotFound, Taken::NotFoundIf));
            }
            // OpenMP's declares functions and types, and no macro (OpenMP 5.2, 18)
            if vendors::is_header(&ask.name) {
                let file = ask.name.rsplit('/').next().unwrap_or("");
                let macros = Arc::make_mut(&mut self.s.macros);
                macros.missing_of_the_toolkit();
                for (short, name) in gpu::toolkit::short_names(file) {
                    macros.set((*short).into(), MacroState::Defined(Arc::new(Macro::object(name))));
                }
            } else if &*ask.name != "omp.h" {
                Arc::make_mut(&mut self.s.macros).missing(system);
            }
            return None;
        };
        if header.is_guess() {
            let taken = header.template().map_or(Taken::Guessed, |file| Taken::Template(file.clone()));
            self.note(ask.name.clone(), taken);
        }
        if let Some((line, others)) = header.includes_document() {
            self.note(header.name().into(), Taken::Around { line, others });
        }
        let read = header.read();
        // A guard is the header's own: no other text says whether it is defined, however many are missing.
        if let Some(guard) = read.guard.as_ref().filter(|g| self.s.macros.get(g).is_none()) {
            Arc::make_mut(&mut self.s.macros).set(guard.clone(), MacroState::Undefined);
        }
        let including = &mut self.s.including;
        if including.once.contains(&header.id())
            || read.guard.as_ref().is_some_and(|g| self.s.macros.is_defined(g) == Some(true))
        {
            including.is_there = true;
            return None;
        }
        let inside_itself = including.open.iter().filter(|id| **id == header.id()).count();
        including.bytes = including.bytes.saturating_add(header.text().len());
        if including.depth >= MAX_DEPTH || inside_itself >= MAX_SELF || including.bytes > MAX_BYTES {
            self.note(ask.name.clone(), Taken::TooMuch);
            Arc::make_mut(&mut self.s.macros).missing(false);
            return None;
        }
        if read.pragma_once {
            including.once.insert(header.id());
        }
        Some(header)
    }

    /// Our own text for a header that many programs come without.
    fn stand_in(&mut self, ask: &Ask) -> Option<Arc<Header>> {
        let file = ask.name.rsplit('/').next().unwrap_or("");
        let header = crate::c::stand_ins::stand_in(file)?;
        self.note(file.into(), Taken::StandIn);
        Some(header)
    }

    /// The value of an `#if`'s condition.
    pub(crate) fn condition(&mut self, k: usize, tokens: &[MacroToken]) -> Option<bool> {
        let asks = |t: &MacroToken| matches!(&**t.text(), "__has_include" | "__has_include_next");
        let answered = match tokens.iter().any(asks) {
            true => Some(self.with_answers(tokens)),
            false => None,
        };
        let tokens = answered.as_deref().unwrap_or(tokens);
        let line = || {
            let t = self.tokens.get(k)?;
            let on_one_line = !self.token(k).contains('\n');
            let renumbered = self.text.lines().any(pp::is_renumbering);
            let before = self.text.get(..t.start as usize)?;
            let line = before.bytes().filter(|b| *b == b'\n').count() + 1;
            u32::try_from(line).ok().filter(|_| on_one_line && !renumbered)
        };
        self.s.macros.condition(tokens, &line)
    }

    /// The tokens with an answer in place of every `__has_include(…)`.
    fn with_answers(&mut self, tokens: &[MacroToken]) -> Vec<MacroToken> {
        let mut out = Vec::with_capacity(tokens.len());
        let mut k = 0;
        while let Some(t) = tokens.get(k) {
            let Some((close, inside)) = Self::asked_header(tokens, k) else {
                // `defined(__has_include)`, too
                out.push(t.clone());
                k += 1;
                continue;
            };
            let next = &**t.text() == "__has_include_next";
            out.push(MacroToken::number(match self.has_header(inside, next) {
                true => "1",
                false => "?unknown",
            }));
            k = close + 1;
        }
        out
    }

    /// What stands between the parentheses of the `__has_include(…)` at `k`, and where that ends.
    pub(crate) fn asked_header(tokens: &[MacroToken], k: usize) -> Option<(usize, &[MacroToken])> {
        let asks = matches!(&**tokens.get(k)?.text(), "__has_include" | "__has_include_next");
        let is = |j: usize, w: &str| tokens.get(j).is_some_and(|t| &**t.text() == w);
        let close = (k + 1..tokens.len()).find(|&j| is(j, ")")).filter(|_| asks && is(k + 1, "("))?;
        Some((close, tokens.get(k + 2..close)?))
    }

    /// The header that it names, and whether in quotes.
    pub(crate) fn header_asked(&self, inside: &[MacroToken]) -> Option<(String, bool)> {
        let text = match inside.first().map(|t| &**t.text()) {
            // a name between brackets is no expression: `linux/if.h`
            Some("<") => Some(inside.iter().map(|t| &**t.text()).collect::<String>()),
            _ => self.s.macros.text_of(inside),
        };
        let (name, quoted) = text.as_deref().and_then(pp::header_name)?;
        Some((name.to_owned(), quoted))
    }

    /// Whether such a header is surely there. That one is not found does not say that a compiler would not find it.
    pub(crate) fn has_header(&mut self, inside: &[MacroToken], next: bool) -> bool {
        let Some((name, quoted)) = self.header_asked(inside) else { return false };
        let ask = Ask { name: name.into(), quoted, next, from: self.header.map(|h| h.id()) };
        let found = self.s.including.headers.and_then(|h| h.source.find(&ask));
        self.s.including.asked.push((ask, answer_of(&found)));
        if self.header.is_none() {
            self.link(("has", answer_of(&found)));
        }
        found.is_some_and(|h| !h.is_guess())
    }

    fn enter(&mut self, ask: &Ask) {
        let Some(header) = self.find(ask) else { return };
        if !is_library(&header) {
            self.s.including.read.insert(header.id(), header.clone());
        }
        let read = header.read();
        let no_marks: FxHashMap<u32, Mark> = FxHashMap::default();
        self.s.including.depth += 1;
        self.s.including.open.push(header.id());
        let outer = self.s.macros.in_system;
        if outer != header.is_system() {
            Arc::make_mut(&mut self.s.macros).in_system = header.is_system();
        }
        let mut inner = Walk {
            text: header.text(),
            tokens: &read.lexed.tokens,
            arms: &read.arms,
            open: Vec::new(),
            marks: &no_marks,
            header: Some(&header),
            s: &mut *self.s,
        };
        inner.range(0..read.lexed.tokens.len());
        if outer != header.is_system() {
            Arc::make_mut(&mut self.s.macros).in_system = outer;
        }
        self.s.including.open.pop();
        self.s.including.depth -= 1;
    }

    /// Keeps what an item of a header leaves to those after it.
    pub(crate) fn take_from_header(&mut self, f: Found, header: &Arc<Header>) {
        let macros = f.macros.as_ref().unwrap_or(&self.s.macros).clone();
        let number = self.s.number;
        let is_function = f.body.is_some() && f.broken.is_none();
        let mut l = self.lower(&f, &macros, number, is_function);
        let is_mixed = !f.packs.is_empty() && !l.packs.is_empty();
        self.operators(self.packs_in_body(&f) || is_mixed, &l.packs);
        let library = is_library(header);
        for e in &mut l.exports {
            if let Exported::Function { library: from, internal, .. } = &mut e.what {
                *from = library;
                // An inline function of the library's own header does what the library's does.
                *internal &= !library;
            }
        }
        let made_function = l.kind == crate::ItemKind::Function;
        let body = Arc::new(l.body);
        if is_function || made_function {
            let functions = l.exports.iter().filter(|e| matches!(e.what, Exported::Function { .. }));
            // An inline definition in the library's own header is still the library's function.
            let own = functions.filter(|e| !(library && self.is_known(&e.name)));
            let names: Vec<Arc<str>> = own.map(|e| e.name.clone()).collect();
            self.s.env.define(names.iter().cloned());
            let function = Arc::new(HeaderFunction {
                header: header.clone(),
                found: f,
                macros,
                number,
                item: OnceLock::new(),
            });
            for name in names {
                self.s.including.functions.insert(name, function.clone());
            }
        }
        self.s.env.add(number, &body, &l.exports, self.s.conditional.as_ref());
    }

    fn is_known(&self, name: &str) -> bool {
        known::is_library_name(name, self.s.dialect)
    }

    /// Whether a macro's definition only says in another way what is known of the library's name.
    pub(crate) fn is_library(&self, name: &str) -> bool {
        self.header.is_some_and(|h| is_library(h)) && self.is_known(name)
    }

    /// Lowers the functions of headers that the document's functions call, directly or through one another.
    pub(crate) fn header_functions(&mut self) {
        let functions = self.s.including.functions.clone();
        if functions.is_empty() {
            return;
        }
        let mut seen: FxHashSet<Arc<str>> = FxHashSet::default();
        let bodies = self.s.unit.items.iter().map(|i| i.body.clone());
        let mut waiting: Vec<Arc<term::Body>> = bodies.collect();
        let is_whole = self.s.including.options.whole;
        let mut of_sources: Vec<Arc<str>> = functions
            .iter()
            // what calls an instance names its template alone
            .filter(|(n, f)| n.contains('<') || is_whole && source_of(f.header.name()).is_some())
            .map(|(name, _)| name.clone())
            .collect();
        of_sources.sort();
        // A definition of the document under a library's name would be seen by the headers' functions: then nothing is
        // shared.
        let shared = !self.s.env.defines_library(self.s.dialect);
        loop {
            let names: Vec<Arc<str>> = match waiting.pop() {
                Some(body) => {
                    let called = body.symbols.iter().filter(|s| s.storage == Storage::Function);
                    called.map(|s| s.name.clone()).collect()
                }
                None => match of_sources.pop() {
                    Some(name) => vec![name],
                    None => break,
                },
            };
            for name in names {
                let Some(function) = functions.get(&name) else { continue };
                if seen.len() >= MAX_FUNCTIONS || !seen.insert(name.clone()) {
                    continue;
                }
                let item = match function.item.get().filter(|_| shared) {
                    Some(item) => item.clone(),
                    None => {
                        let item = self.header_function(function);
                        if shared {
                            let _ = function.item.set(item.clone());
                        }
                        item
                    }
                };
                waiting.push(item.body.clone());
                self.s.unit.included.push(Included { header: function.header.clone(), item });
            }
        }
    }

    fn header_function(&mut self, function: &HeaderFunction) -> Item {
        let HeaderFunction { header, found, macros, number, .. } = function;
        let read = header.read();
        let source = source(header.text(), &read.lexed.tokens, found, &found.pieces, false);
        let no_marks: FxHashMap<u32, Mark> = FxHashMap::default();
        let view = self.s.env.before(*number);
        let system = header.is_system();
        let l = c::lower_item(&source, self.s.dialect, macros, view, &no_marks, system, self.s.parser);
        l.into_item(Span::new(found.start, found.end))
    }

    /// A file included inside an item: its tokens take the directive's place.
    pub(crate) fn splice(&mut self, k: usize, included: &pp::Included, f: &mut Found, braces: &mut usize) {
        let span = self.tokens.get(k).map_or(Span::default(), |t| t.span());
        let from = self.s.including.asked.len();
        self.s.including.is_there = false;
        let found = self.ask(included).and_then(|ask| self.find(&ask));
        let answers = hash(self.s.including.asked.get(from..));
        self.link(("spliced", answers));
        let statement = f.body.is_some();
        if self.s.including.is_there {
            return;
        }
        let Some(header) = found else {
            let why = "a file that was not found is included here";
            f.pieces.push(Piece::Reject(RejectKind::Macro, why.into(), span, statement));
            return;
        };
        let read = header.read();
        let no_marks: FxHashMap<u32, Mark> = FxHashMap::default();
        self.s.including.depth += 1;
        self.s.including.open.push(header.id());
        let mut inner = Walk {
            text: header.text(),
            tokens: &read.lexed.tokens,
            arms: &read.arms,
            open: Vec::new(),
            marks: &no_marks,
            header: Some(&header),
            s: &mut *self.s,
        };
        inner.splice_all(span, f, braces);
        self.s.including.open.pop();
        self.s.including.depth -= 1;
    }

    fn splice_all(&mut self, span: Span, f: &mut Found, braces: &mut usize) {
        let mut run: Vec<Spliced> = Vec::new();
        let flush = |run: &mut Vec<Spliced>, f: &mut Found| {
            if !run.is_empty() {
                f.pieces.push(Piece::Spliced(std::mem::take(run).into()));
            }
        };
        let mut k = 0;
        while let Some(t) = self.tokens.get(k) {
            if t.kind != Kind::Directive {
                match self.token(k) {
                    "{" => *braces += 1,
                    "}" => *braces = braces.saturating_sub(1),
                    _ => {}
                }
                self.s.including.spliced += 1;
                if self.s.including.spliced > MAX_SPLICED {
                    f.broken = Some((RejectKind::Macro, "what it includes is too long".into()));
                    return;
                }
                run.push(Spliced { kind: t.kind, text: self.token(k).into(), spaced: t.spaced, span });
                k += 1;
                continue;
            }
            flush(&mut run, f);
            let line = self.line(k);
            if let Line::Define(n, _) | Line::Undef(n) = &line {
                if f.macros.is_none() {
                    f.macros = Some(self.s.macros.clone());
                }
                self.inside(k);
                if let Some(state) = self.s.macros.get(n) {
                    f.pieces.push(Piece::Set(n.clone(), state.clone()));
                }
                k += 1;
                continue;
            }
            if let Line::Pack(_) = &line {
                if f.macros.is_none() {
                    f.macros = Some(self.s.macros.clone());
                }
                self.inside(k);
                // where it holds cannot be told by places in the document
                f.packs.push((0, Pack::Unknown));
                k += 1;
                continue;
            }
            if let Line::Include(included) = &line {
                self.splice(k, included, f, braces);
                k += 1;
                continue;
            }
            k = match self.inside(k) {
                Way::On(next) => next.max(k + 1),
                Way::Unknown => {
                    let why = "a file is included here that depends on a condition that is not known";
                    f.broken = Some((RejectKind::Conditional, why.into()));
                    return;
                }
            };
        }
        flush(&mut run, f);
    }
}

/// Whether a header is the C library's or the compiler's own, rather than of another library installed beside them.
fn is_library(header: &Header) -> bool {
    // `<tgmath.h>` gives the library's names another meaning: that of the argument's type.
    header.is_system() && is_standard(header.name()) && header.name() != "tgmath.h"
}

impl MacroToken {
    pub(crate) fn is_name(&self) -> bool {
        self.kind() == Kind::Ident && &**self.text() != "defined"
    }
}
