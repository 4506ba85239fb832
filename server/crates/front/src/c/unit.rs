//! A document's items: where they begin and end, in which macros and declarations they stand, and what is remembered of
//! them between versions.
//!
//! An item is lowered again only if its text changed or something before it that it could see: a chain of hashes runs
//! through directives, declarations and function headers, but not through function bodies. How headers come in:
//! [`crate::c::include`].

mod directives;
mod edited;
mod finish;

use std::collections::hash_map::DefaultHasher;
use std::hash::{BuildHasher, Hash, Hasher};
use std::ops::Range;
use std::sync::Arc;

use base::{CancelToken, Span};
use rustc_hash::{FxBuildHasher, FxHashMap};
use term::{Body, Reach, Reject, RejectKind};

use crate::c::arms::{arms, Arm};
use crate::c::cut::Found;
use crate::c::dialect::Dialect;
use crate::c::env::{Env, Export, Exported};
use crate::c::headers::Header;
use crate::c::include::Including;
use crate::c::lex::{Kind, Lexed, Token};
use crate::c::pp::{self, pack, Line, Macros};
use crate::c::pragmas;
pub(crate) use crate::c::unit::edited::has_operators;
use crate::c::unit::edited::{Last, Plain};
use crate::c::{self, Lowered, Source};
use crate::cpp::templates::Templates;
use crate::marks::{by_place, Mark};
use crate::{Item, ItemKind, Options, Unit};

/// What lowering remembers between versions of one document.
#[derive(Debug, Default)]
pub(crate) struct Memo {
    entries: FxHashMap<(u64, u64), Entry>,
    /// The last of them, for an edit inside one function.
    last: Option<Box<Last>>,
}

#[derive(Debug)]
pub(crate) struct Entry {
    text: Arc<str>,
    item: Item,
    left: Left,
}

/// What an item leaves to those after it, and the body whose types that uses. For a function it is read off its header
/// alone, so that bodies can be lowered in any order.
#[derive(Clone, Debug)]
struct Left {
    exports: Arc<[Export]>,
    body: Arc<Body>,
    /// What `_Pragma` in it does to the layout of structs after it.
    packs: Arc<[pack::Op]>,
    /// Whether a function's body, which is read later, may change that, too.
    in_body: bool,
}

/// An item of the document: known already, or a function still to be lowered.
pub(crate) enum Slot {
    Done(Item),
    Todo(Box<Job>),
}

/// A function to be lowered.
pub(crate) struct Job {
    found: Found,
    macros: Arc<Macros>,
    number: u32,
    key: (u64, u64),
    left: Left,
}

pub(crate) fn hash(values: impl Hash) -> u64 {
    let mut h = DefaultHasher::new();
    values.hash(&mut h);
    h.finish()
}

/// Lowers a document into its unit. The error says why it is not read at all.
pub(crate) fn lower(
    (text, lexed): (&Arc<str>, &Lexed),
    dialect: &'static Dialect,
    options: &Options,
    (memo, cancel): (&mut Memo, &CancelToken),
    unit: &mut Unit,
) -> Result<(), &'static str> {
    let Memo { entries, last } = &mut *memo;
    if let Some(edited) = last.as_mut().and_then(|l| l.edited((text, lexed), (dialect, options), entries)) {
        *unit = edited;
        return Ok(());
    }
    memo.last = None;
    if u32::try_from(text.len()).is_err() {
        return Err("the file is larger than 4 GiB");
    }
    let mut parser = tree_sitter::Parser::new();
    if parser.set_language(&tree_sitter_c::LANGUAGE.into()).is_err() {
        return Err("the parser and its grammar do not fit together");
    }
    unit.directives = pragmas::directives(text, lexed);
    let marks = by_place(&unit.directives);
    let macros = Macros::new(dialect, options);
    let templates = match dialect.cpp {
        true => Templates::find((text, &lexed.tokens), dialect, &options.defines),
        false => Templates::default(),
    };
    unit.guessed = templates.guessed();
    let mut shared = Shared {
        dialect,
        macros: Arc::new(macros),
        chain: hash((
            dialect.language,
            &options.defines,
            &options.undefines,
            options.compiler.as_ref().map(|c| c.key()),
            templates.key(),
        )),
        env: Env::with(templates, dialect.cpp && !options.pattern),
        conditional: None,
        floating_environment: false,
        nested: 0,
        number: 0,
        parser: &mut parser,
        // as large as they will be: every edit makes them anew
        fresh: FxHashMap::with_capacity_and_hasher(memo.entries.len(), FxBuildHasher),
        slots: Vec::with_capacity(memo.entries.len()),
        lent: Vec::new(),
        plain: Vec::new(),
        cancel,
        old: std::mem::take(&mut memo.entries),
        unit,
        including: Including::new(options),
    };
    let arms = arms(text, &lexed.tokens);
    let mut walk = Walk {
        text,
        tokens: &lexed.tokens,
        arms: &arms,
        open: Vec::new(),
        marks: &marks,
        header: None,
        s: &mut shared,
    };
    walk.given(options);
    walk.range(0..lexed.tokens.len());
    memo.entries = walk.finish();
    shared.unit.headers = shared.including.read.values().cloned().collect();
    if cancel.is_cancelled() {
        // what was not come to may be so again
        memo.entries.extend(shared.old);
        return Ok(());
    }
    // what templates a text has depends on all of it
    if !dialect.cpp && !has_operators(text) {
        memo.last = Some(Box::new(Last {
            text: text.clone(),
            dialect,
            options: options.clone(),
            env: shared.env,
            of_headers: shared.including.functions,
            plain: shared.plain,
            unit: shared.unit.clone(),
        }));
    }
    Ok(())
}

/// What all files of a document have in common while they are read.
pub(crate) struct Shared<'s> {
    pub(crate) dialect: &'static Dialect,
    pub(crate) macros: Arc<Macros>,
    pub(crate) env: Env,
    pub(crate) chain: u64,
    /// The unknown condition items stand under.
    pub(crate) conditional: Option<Arc<str>>,
    /// Whether `#pragma STDC FENV_ACCESS ON` is in force.
    pub(crate) floating_environment: bool,
    pub(crate) nested: u32,
    /// Nobody wants the document any more.
    pub(crate) cancel: &'s CancelToken,
    /// Counts items, those of headers too.
    pub(crate) number: u32,
    pub(crate) parser: &'s mut tree_sitter::Parser,
    pub(crate) old: FxHashMap<(u64, u64), Entry>,
    pub(crate) fresh: FxHashMap<(u64, u64), Entry>,
    pub(crate) slots: Vec<Slot>,
    /// Functions that are read for their launches alone.
    lent: Vec<Slot>,
    /// Functions whose text is plain, in textual order.
    plain: Vec<Plain>,
    pub(crate) unit: &'s mut Unit,
    pub(crate) including: Including<'s>,
}

/// A file being read: the document, or a header.
pub(crate) struct Walk<'a, 's> {
    pub(crate) text: &'a str,
    pub(crate) tokens: &'a [Token],
    pub(crate) arms: &'a FxHashMap<usize, Arm>,
    /// Open `extern "C" {` and namespaces.
    pub(crate) open: Vec<Open>,
    pub(crate) marks: &'a FxHashMap<u32, Mark>,
    /// `None`: the document.
    pub(crate) header: Option<&'a Arc<Header>>,
    pub(crate) s: &'a mut Shared<'s>,
}

/// Braces between items that are no item's own.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Open {
    Linkage,
    /// Items after this number stand in it.
    Namespace {
        from: u32,
        named: bool,
    },
}

/// What a conditional leads to.
pub(crate) enum Way {
    /// Go on at this token.
    On(usize),
    /// Its condition is not known.
    Unknown,
}

impl Walk<'_, '_> {
    pub(crate) fn token(&self, k: usize) -> &str {
        let token = self.tokens.get(k);
        let text = token.and_then(|t| self.text.get(t.span().range())).unwrap_or("");
        match token {
            Some(t) if t.kind == Kind::Punct => crate::c::lex::usual(text),
            _ => text,
        }
    }

    pub(crate) fn line(&self, k: usize) -> Line {
        match self.header.and_then(|h| h.read().lines.get(&k)) {
            Some(line) => line.clone(),
            None => pp::line(self.token(k)),
        }
    }

    /// Notes what later items depend on. In a header nothing is remembered by item: all of it is, see [`Snapshot`].
    pub(crate) fn link(&mut self, value: impl Hash) {
        if self.header.is_none() {
            self.s.chain = hash((self.s.chain, value));
        }
    }

    pub(crate) fn range(&mut self, range: Range<usize>) {
        let mut k = range.start;
        // what is read of a header is for other documents, too
        while k < range.end && (self.header.is_some() || !self.s.cancel.is_cancelled()) {
            k = self.step(k, range.end).max(k + 1);
        }
    }

    /// Handles what stands at `k` between items and returns the index to go on at.
    fn step(&mut self, k: usize, end: usize) -> usize {
        let Some(t) = self.tokens.get(k) else { return end };
        if t.kind == Kind::Directive {
            return self.between(k, end);
        }
        match self.token(k) {
            ";" => return k + 1,
            "}" => {
                let span = t.span();
                match self.open.pop() {
                    Some(Open::Linkage) => {}
                    Some(Open::Namespace { from, named }) => self.leave_namespace(from, named),
                    None => self.reject(RejectKind::Syntax, "this closing brace closes nothing", span),
                }
                return k + 1;
            }
            "extern" if self.token(k + 1).starts_with('"') && self.token(k + 2) == "{" => {
                self.open.push(Open::Linkage);
                return k + 3;
            }
            "_Pragma" if self.token(k + 1) == "(" && self.token(k + 3) == ")" => {
                if let Some(op) = pack::of_string(self.token(k + 2)) {
                    self.operators(false, &[op]);
                    return k + 4;
                }
            }
            _ => {}
        }
        if self.s.dialect.cpp {
            if let Some(next) = self.foreign_item(k, end) {
                return next;
            }
        }
        let found = self.item(k, end);
        let next = found.next;
        self.take(found);
        next
    }

    pub(crate) fn reject(&mut self, kind: RejectKind, reason: &str, span: Span) {
        if self.header.is_some() {
            return;
        }
        self.s.unit.rejects.push(Reject { kind, reason: reason.into(), span, reach: Reach::Anything });
    }

    /// Lowers an item, or takes it from the memo.
    pub(crate) fn take(&mut self, mut f: Found) {
        self.s.number = self.s.number.saturating_add(1);
        if self.header.is_none() {
            f.pieces = self.s.env.templates.spelled(f.pieces, self.tokens);
        }
        if let Some(header) = self.header {
            let header = header.clone();
            return self.take_from_header(f, &header);
        }
        let is_mixed = !f.packs.is_empty();
        let span = Span::new(f.start, f.end);
        let text = self.text.get(span.range()).unwrap_or("");
        // the texts are compared, too
        let text_hash = FxBuildHasher.hash_one(text);
        // The chain runs on through the item's own directives while it is found; `found_in` stands for all of that.
        let is_conditional = self.s.conditional.is_some();
        // what stands before it is not in its text
        let promised =
            self.marks.get(&span.start).map(|m| m.promises.iter().map(|p| &p.0).collect::<Vec<_>>());
        let found_in =
            hash((self.s.chain, is_conditional, f.missing, &f.broken, &f.poisons, &f.instance, promised));
        let key = (found_in, text_hash);
        let number = self.s.number;
        // What those after it can see of it.
        let head = f.body.filter(|_| f.broken.is_none());
        let seen = match head {
            Some(body) => self.text.get(f.start..body).unwrap_or(text),
            None => text,
        };
        // what breaks it may stand behind it
        let seen = hash(("item", seen, &f.broken, &f.poisons));
        self.link(seen);
        let plain = head.and_then(|_| edited::plain(self.text, &f));
        let plain = plain.map(|at| (at, self.s.macros.clone(), f.floating_environment));
        // A macro may make all of a function.
        let mut is_function = head.is_some();
        let left = match self.s.old.remove(&key).filter(|e| *e.text == *text) {
            Some(mut e) => {
                e.item.span = span;
                is_function |= e.item.kind == ItemKind::Function;
                let left = e.left.clone();
                self.s.slots.push(Slot::Done(e.item.clone()));
                self.s.fresh.insert(key, e);
                left
            }
            None => {
                let in_body = self.packs_in_body(&f);
                let macros = f.macros.as_ref().unwrap_or(&self.s.macros).clone();
                let l = self.lower(&f, &macros, number, head.is_some());
                is_function |= l.kind == ItemKind::Function;
                let left = Left {
                    exports: l.exports.as_slice().into(),
                    body: Arc::new(l.body),
                    packs: l.packs.as_slice().into(),
                    in_body,
                };
                if head.is_some() {
                    self.s.slots.push(Slot::Todo(Box::new(Job {
                        found: f,
                        macros,
                        number,
                        key,
                        left: left.clone(),
                    })));
                } else {
                    let item = Item {
                        span,
                        kind: l.kind,
                        name: l.name,
                        body: left.body.clone(),
                        is_kernel: l.is_kernel,
                        is_device: l.is_device,
                        is_host: l.is_host,
                        is_static: l.is_static,
                        launch_bounds: l.launch_bounds,
                    };
                    self.s.slots.push(Slot::Done(item.clone()));
                    let entry = Entry { text: text.into(), item, left: left.clone() };
                    self.s.fresh.insert(key, entry);
                }
                left
            }
        };
        let keeps_packs = left.packs.is_empty() && !left.in_body;
        if let Some((at, macros, floating_environment)) = plain.filter(|_| keeps_packs) {
            let item = self.s.slots.len() - 1;
            let left = left.clone();
            self.s.plain.push(Plain { item, at, number, key, macros, left, floating_environment });
        }
        if is_function {
            let functions = left.exports.iter().filter(|e| matches!(e.what, Exported::Function { .. }));
            self.s.env.define(functions.map(|e| e.name.clone()));
        }
        self.s.env.add(number, &left.body, &left.exports, self.s.conditional.as_ref());
        self.operators(left.in_body || is_mixed && !left.packs.is_empty(), &left.packs);
    }

    /// Whether a function's body, which is read later, may change `#pragma pack` by an operator.
    pub(crate) fn packs_in_body(&self, f: &Found) -> bool {
        let Some(body) = f.body else { return false };
        let has_operator =
            self.text.get(body..f.end).is_some_and(|t| t.contains("_Pragma") || t.contains("__pragma"));
        let from = self.tokens.partition_point(|t| (t.start as usize) < body);
        let to = self.tokens.partition_point(|t| (t.start as usize) < f.end).max(from);
        let words = (from..to).map(|k| self.token(k));
        self.s.macros.may_pack(words, has_operator)
    }

    /// Applies what `_Pragma` in an item does to those after it.
    pub(crate) fn operators(&mut self, unknown: bool, ops: &[pack::Op]) {
        if unknown || !ops.is_empty() {
            self.link(("operators", ops.len(), unknown));
            let macros = Arc::make_mut(&mut self.s.macros);
            ops.iter().for_each(|op| macros.apply_pack(op));
            // in which order with other pragmas is not known
            if unknown {
                macros.apply_pack(&pack::Op::Unknown);
            }
        }
    }

    /// Takes a function that is read for its launches alone: what it declares is not the document's.
    pub(crate) fn take_lent(&mut self, f: Found) {
        let (slots, plain) = (self.s.slots.len(), self.s.plain.len());
        self.take(f);
        self.s.plain.truncate(plain);
        self.s.lent.extend(self.s.slots.drain(slots..));
    }

    /// What an item makes unknown, without the item.
    pub(crate) fn poison(&mut self, f: Found) {
        self.s.number = self.s.number.saturating_add(1);
        let macros = self.s.macros.clone();
        let l = self.lower(&f, &macros, self.s.number, false);
        self.s.env.add(self.s.number, &Arc::new(l.body), &l.exports, self.s.conditional.as_ref());
    }

    /// Lowers an item, or a function's header only.
    pub(crate) fn lower(&mut self, f: &Found, macros: &Macros, number: u32, header: bool) -> Lowered {
        let pieces = if header { f.header(self.tokens) } else { f.pieces.clone() };
        let source = source(self.text, self.tokens, f, &pieces, header);
        let view = self.s.env.before(number);
        let system = self.header.is_some_and(|h| h.is_system());
        c::lower_item(&source, self.s.dialect, macros, view, self.marks, system, self.s.parser)
    }
}

pub(crate) fn source<'a>(
    text: &'a str,
    tokens: &'a [Token],
    f: &'a Found,
    pieces: &'a [crate::c::pp::Piece],
    header: bool,
) -> Source<'a> {
    let span = Span::new(f.start, f.end);
    Source {
        text,
        tokens,
        pieces,
        span,
        salt: hash(text.get(span.range()).unwrap_or("")),
        header,
        missing: f.missing,
        broken: f.broken.clone(),
        poisons: &f.poisons,
        floating_environment: f.floating_environment,
        packs: &f.packs,
    }
}
