//! A document's items: where they begin and end, in which macros and declarations they stand, and what is remembered of
//! them between versions.
//!
//! An item is lowered again only if its text changed or something before it that it could see: a chain of hashes runs
//! through directives, declarations and function headers, but not through function bodies.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::ops::Range;
use std::sync::Arc;

use base::Span;
use rustc_hash::FxHashMap;
use term::{Reject, RejectKind};

use crate::c::env::{Env, Export};
use crate::c::{self, Source};
use crate::lex::{Kind, Token};
use crate::marks::{self, Mark};
use crate::pp::{self, Line, MacroState, Macros, Piece};
use crate::{DirectiveKind, Item, ItemKind, Language, Options, Parsed, Unit};

/// Deepest nesting of conditionals between items.
const MAX_NESTED: u32 = 64;

/// What lowering remembers between versions of one document (sharing it between documents is allowed but useless).
#[derive(Debug, Default)]
pub struct Memo {
    entries: FxHashMap<(u64, u64), Entry>,
}

#[derive(Debug)]
struct Entry {
    text: Arc<str>,
    item: Item,
    exports: Arc<[Export]>,
}

impl Memo {
    /// Empty.
    pub fn new() -> Memo {
        Memo::default()
    }
}

fn hash(values: impl Hash) -> u64 {
    let mut h = DefaultHasher::new();
    values.hash(&mut h);
    h.finish()
}

/// Lowers a document. Items that did not change since the last call with this memo are the same `Arc`s.
pub fn lower(parsed: &Parsed, options: &Options, memo: &mut Memo) -> Unit {
    let text = parsed.text();
    let mut unit =
        Unit { language: parsed.language(), items: Vec::new(), rejects: Vec::new(), directives: Vec::new() };
    let whole = Span::new(0, text.len());
    let refuse = |unit: &mut Unit, reason: &str| {
        unit.rejects.push(Reject { kind: RejectKind::Unsupported, reason: reason.into(), span: whole });
    };
    if parsed.language() == Language::CSharp {
        refuse(&mut unit, "C# is not lowered yet");
        return unit;
    }
    if u32::try_from(text.len()).is_err() {
        refuse(&mut unit, "the file is larger than 4 GiB");
        return unit;
    }
    let mut parser = tree_sitter::Parser::new();
    if parser.set_language(&tree_sitter_c::LANGUAGE.into()).is_err() {
        refuse(&mut unit, "the parser and its grammar do not fit together");
        return unit;
    }
    let lexed = parsed.lexed();
    unit.directives = marks::directives(text, lexed);
    let marks = unit
        .directives
        .iter()
        .filter_map(|d| match &d.kind {
            DirectiveKind::Mark { name, collapse, attached: true } => {
                Some((d.before, Mark { name: name.clone(), collapse: *collapse }))
            }
            _ => None,
        })
        .collect();
    let old = std::mem::take(&mut memo.entries);
    let mut walk = Walk {
        text,
        language: parsed.language(),
        tokens: &lexed.tokens,
        arms: arms(text, &lexed.tokens),
        macros: Macros::new(parsed.language(), &options.defines),
        env: Env::default(),
        chain: hash((parsed.language(), options)),
        conditional: None,
        nested: 0,
        linkage: 0,
        marks: &marks,
        parser: &mut parser,
        old,
        fresh: FxHashMap::default(),
        unit: &mut unit,
    };
    walk.range(0..lexed.tokens.len());
    memo.entries = walk.fresh;
    unit
}

/// A conditional directive's place among its siblings.
#[derive(Clone, Copy, Debug)]
struct Arm {
    /// The next `#elif`, `#else` or `#endif` of the same conditional.
    next: usize,
    /// The `#endif`.
    end: usize,
}

/// Pairs up conditionals; an unclosed one ends with the file.
fn arms(text: &str, tokens: &[Token]) -> FxHashMap<usize, Arm> {
    let mut out: FxHashMap<usize, Arm> = FxHashMap::default();
    let mut open: Vec<Vec<usize>> = Vec::new();
    let mut close = |group: Vec<usize>, end: usize| {
        for (k, &at) in group.iter().enumerate() {
            let next = group.get(k + 1).copied().unwrap_or(end);
            out.insert(at, Arm { next, end });
        }
    };
    for (k, t) in tokens.iter().enumerate() {
        if t.kind != Kind::Directive {
            continue;
        }
        match word(text, t) {
            "if" | "ifdef" | "ifndef" => open.push(vec![k]),
            "elif" | "else" | "elifdef" | "elifndef" => {
                if let Some(g) = open.last_mut() {
                    g.push(k);
                }
            }
            "endif" => {
                if let Some(g) = open.pop() {
                    close(g, k);
                }
            }
            _ => {}
        }
    }
    while let Some(g) = open.pop() {
        close(g, tokens.len());
    }
    out
}

/// A directive's first word.
fn word<'a>(text: &'a str, t: &Token) -> &'a str {
    let line = text.get(t.span().range()).unwrap_or("");
    let rest = line.get(1..).unwrap_or("").trim_start_matches([' ', '\t']);
    let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
    rest.get(..end).unwrap_or("")
}

struct Walk<'a> {
    text: &'a str,
    language: Language,
    tokens: &'a [Token],
    arms: FxHashMap<usize, Arm>,
    macros: Macros,
    env: Env,
    chain: u64,
    /// The unknown condition items stand under.
    conditional: Option<Arc<str>>,
    nested: u32,
    /// Open `extern "C" {`.
    linkage: usize,
    marks: &'a FxHashMap<u32, Mark>,
    parser: &'a mut tree_sitter::Parser,
    old: FxHashMap<(u64, u64), Entry>,
    fresh: FxHashMap<(u64, u64), Entry>,
    unit: &'a mut Unit,
}

/// An item found, before lowering.
#[derive(Default)]
struct Found {
    pieces: Vec<Piece>,
    /// First and one past the last byte.
    start: usize,
    end: usize,
    /// Index of the token after it.
    next: usize,
    missing: usize,
    broken: Option<(RejectKind, Arc<str>)>,
    /// Where the function's body begins, if it is a function.
    body: Option<usize>,
    /// The macros at its start, if it changes them.
    macros: Option<Macros>,
}

/// What a conditional leads to.
enum Way {
    /// Go on at this token.
    On(usize),
    /// Its condition is not known.
    Unknown,
}

impl Walk<'_> {
    fn token(&self, k: usize) -> &str {
        self.tokens.get(k).and_then(|t| self.text.get(t.span().range())).unwrap_or("")
    }

    fn line(&self, k: usize) -> Line {
        pp::line(self.token(k))
    }

    fn link(&mut self, value: impl Hash) {
        self.chain = hash((self.chain, value));
    }

    fn range(&mut self, range: Range<usize>) {
        let mut k = range.start;
        while k < range.end {
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
                if self.linkage > 0 {
                    self.linkage -= 1;
                } else {
                    let span = t.span();
                    self.reject(RejectKind::Syntax, "this closing brace closes nothing", span);
                }
                return k + 1;
            }
            "extern" if self.token(k + 1).starts_with('"') && self.token(k + 2) == "{" => {
                self.linkage += 1;
                return k + 3;
            }
            _ => {}
        }
        let found = self.item(k, end);
        let next = found.next;
        self.take(found);
        next
    }

    fn reject(&mut self, kind: RejectKind, reason: &str, span: Span) {
        self.unit.rejects.push(Reject { kind, reason: reason.into(), span });
    }

    /// A directive between items.
    fn between(&mut self, k: usize, end: usize) -> usize {
        match self.line(k) {
            Line::If(_) | Line::Ifdef(..) => {}
            _ => {
                return match self.inside(k) {
                    Way::On(n) => n,
                    Way::Unknown => k + 1,
                }
            }
        }
        match self.inside(k) {
            Way::On(n) => n,
            Way::Unknown => self.all_arms(k, end),
        }
    }

    /// All arms of a condition that is not known, one after the other, each from the same start.
    fn all_arms(&mut self, k: usize, end: usize) -> usize {
        let Some(&Arm { end: endif, .. }) = self.arms.get(&k) else { return k + 1 };
        let head: Arc<str> = self.token(k).split_whitespace().collect::<Vec<_>>().join(" ").into();
        let reason: Arc<str> = format!("it depends on `{head}`").into();
        let span = self.tokens[k].span();
        if self.nested >= MAX_NESTED {
            self.reject(RejectKind::TooDeep, "conditionals are nested too deeply", span);
            return endif + 1;
        }
        let start = self.macros.clone();
        let outer = self.conditional.replace(match &self.conditional {
            Some(o) => o.clone(),
            None => reason.clone(),
        });
        self.nested += 1;
        let items = self.unit.items.len();
        let mut states = Vec::new();
        let mut at = k;
        let mut has_else = false;
        while let Some(&Arm { next, .. }) = self.arms.get(&at) {
            has_else |= matches!(self.line(at), Line::Else);
            self.macros = start.clone();
            // `#ifndef N` / `#define N` is understood to define N where it was not: inside, it is not.
            match self.line(at) {
                Line::Ifdef(n, false) => self.macros.set(n, MacroState::Undefined),
                Line::Ifdef(n, true) if self.macros.get(&n).is_none() => self
                    .macros
                    .set(n.clone(), MacroState::Unknown(format!("its value is not known, {reason}").into())),
                _ => {}
            }
            self.range(at + 1..next.min(end));
            states.push(self.macros.clone());
            at = next;
            if at >= endif {
                break;
            }
        }
        if !has_else {
            states.push(start.clone());
        }
        self.macros = start;
        self.macros.merge(&states, &reason);
        self.nested -= 1;
        self.conditional = outer;
        if self.unit.items.len() > items {
            let words = format!(
                "this condition is not known here, so what stands under it may or may not be there ({head})"
            );
            self.reject(RejectKind::Conditional, &words, span);
        }
        endif + 1
    }

    /// Applies a directive wherever it stands; for a conditional, says where to go on.
    fn inside(&mut self, k: usize) -> Way {
        let line = self.line(k);
        let is_pragma = matches!(line, Line::Other);
        if !is_pragma {
            let text: Arc<str> = self.token(k).into();
            self.link(("directive", text));
        }
        match line {
            Line::Define(n, m) => self.macros.set(n, MacroState::Defined(m)),
            Line::Undef(n) => self.macros.set(n, MacroState::Undefined),
            Line::Include(project) => self.macros.include(project),
            Line::If(_) | Line::Ifdef(..) => return self.choose(k),
            // Met only at the end of an arm that was taken.
            Line::Elif(_) | Line::Elifdef(..) | Line::Else => {
                return match self.arms.get(&k) {
                    Some(a) => Way::On(a.end + 1),
                    None => Way::On(k + 1),
                }
            }
            Line::Endif | Line::Other => {}
        }
        Way::On(k + 1)
    }

    /// The arm of a conditional to be taken.
    fn choose(&mut self, k: usize) -> Way {
        let mut at = k;
        loop {
            let Some(&Arm { next, end }) = self.arms.get(&at) else { return Way::On(at + 1) };
            let holds = match self.line(at) {
                Line::If(c) | Line::Elif(c) => self.macros.condition(&c),
                Line::Ifdef(n, want) | Line::Elifdef(n, want) => {
                    self.macros.is_defined(&n).map(|d| d == want)
                }
                Line::Else => Some(true),
                _ => Some(false),
            };
            match holds {
                Some(true) => return Way::On(at + 1),
                None => return Way::Unknown,
                Some(false) if next >= end => return Way::On(end + 1),
                Some(false) => at = next,
            }
        }
    }

    /// Finds the item that starts at `k`.
    fn item(&mut self, k: usize, end: usize) -> Found {
        let mut f = Found { start: self.tokens.get(k).map_or(0, |t| t.start as usize), ..Found::default() };
        f.end = f.start;
        let (mut braces, mut parens) = (0usize, 0usize);
        // What was seen outside all brackets: an `=`, a parenthesised group, the last words.
        let (mut assigned, mut called, mut typedef) = (false, false, false);
        let mut tag = false;
        // Words since the last group: two of them begin a parameter's declaration in the style before C89.
        let mut words = 0;
        let mut piece = k;
        let mut j = k;
        let reject_end = |f: &mut Found, piece: usize, j: usize| {
            if piece < j {
                f.pieces.push(Piece::Tokens(piece..j));
            }
        };
        while j < end {
            let t = self.tokens[j];
            if t.kind == Kind::Directive {
                reject_end(&mut f, piece, j);
                j = self.directive_inside(j, &mut f, &mut braces).min(end);
                piece = j;
                continue;
            }
            let text = self.token(j);
            if braces > 0 && t.column_zero && j > k && self.starts_function(j, end) {
                // Code lacks a closing brace before this function.
                break;
            }
            // An unknown macro's use on a line of its own, then something else.
            if braces == 0
                && parens == 0
                && t.column_zero
                && t.kind == Kind::Ident
                && j > k
                && self.token(j - 1) == ")"
                && self.tokens.get(k).is_some_and(|t| t.kind == Kind::Ident)
                && self.token(k + 1) == "("
            {
                f.broken = Some((
                    RejectKind::Macro,
                    format!("`{}` may be a macro that is not defined here", self.token(k)).into(),
                ));
                break;
            }
            f.end = t.end as usize;
            j += 1;
            match text {
                "{" => {
                    if braces == 0 && parens == 0 {
                        let function = called && !assigned && !typedef && !tag;
                        if j == k + 1 {
                            let why = "a block stands where only declarations may";
                            f.broken = Some((RejectKind::Syntax, why.into()));
                            f.body = Some(t.start as usize);
                        }
                        if function && f.body.is_none() {
                            f.body = Some(t.start as usize);
                        }
                    }
                    braces += 1;
                    tag = false;
                }
                "}" => {
                    if braces == 0 {
                        // Closes something around the item: the item ends before it.
                        j -= 1;
                        f.end = self.tokens.get(j.saturating_sub(1)).map_or(f.start, |t| t.end as usize);
                        break;
                    }
                    braces -= 1;
                    if braces == 0 && f.body.is_some() {
                        parens = 0;
                        break;
                    }
                }
                "(" => parens += 1,
                ")" => {
                    parens = parens.saturating_sub(1);
                    called |= parens == 0 && braces == 0;
                }
                ";" if braces == 0 => {
                    parens = 0;
                    if called && words >= 2 && !assigned && !typedef && self.old_style(j, end) {
                        continue;
                    }
                    break;
                }
                "=" if braces == 0 && parens == 0 => assigned = true,
                "typedef" if braces == 0 => typedef = true,
                "struct" | "union" | "enum" if braces == 0 && parens == 0 => tag = true,
                // `struct S f(…) {`: the tag's braces would come before any parenthesis.
                _ => {}
            }
            if braces == 0 && parens == 0 {
                if text == ")" {
                    tag = false;
                    words = 0;
                } else if t.kind == Kind::Ident {
                    words += 1;
                }
            }
        }
        reject_end(&mut f, piece, j.min(end));
        f.missing = braces;
        if parens > 0 && f.broken.is_none() {
            f.broken = Some((RejectKind::Syntax, "a parenthesis is not closed".into()));
        }
        f.next = j;
        f
    }

    /// Whether what follows are declarations of parameters and then a body.
    fn old_style(&self, from: usize, end: usize) -> bool {
        for j in from..end.min(from + 200) {
            match (self.tokens[j].kind, self.token(j)) {
                (_, "{") => return true,
                (Kind::Ident | Kind::Number, _) | (_, "*" | "," | ";" | "[" | "]") => {}
                _ => return false,
            }
        }
        false
    }

    /// Whether a function's definition seems to start at `k`: `words name(…) {`.
    fn starts_function(&self, k: usize, end: usize) -> bool {
        let mut j = k;
        let mut words = 0;
        while j < end {
            let Some(t) = self.tokens.get(j) else { return false };
            match (t.kind, self.token(j)) {
                (
                    Kind::Ident,
                    "else" | "return" | "case" | "goto" | "do" | "if" | "for" | "while" | "switch" | "sizeof",
                ) => return false,
                (Kind::Ident, _) => words += 1,
                (Kind::Punct, "*") => {}
                (Kind::Punct, "(") => break,
                _ => return false,
            }
            j += 1;
        }
        if words < 2 {
            return false;
        }
        let mut open = 0usize;
        while j < end {
            match self.token(j) {
                "(" => open += 1,
                ")" => {
                    open = open.saturating_sub(1);
                    if open == 0 {
                        return self.token(j + 1) == "{";
                    }
                }
                ";" | "{" | "}" => return false,
                _ => {}
            }
            j += 1;
        }
        false
    }

    /// A directive inside an item.
    fn directive_inside(&mut self, k: usize, f: &mut Found, braces: &mut usize) -> usize {
        if let Line::Define(n, _) | Line::Undef(n) = self.line(k) {
            if f.macros.is_none() {
                f.macros = Some(self.macros.clone());
            }
            let way = self.inside(k);
            if let Some(state) = self.macros.get(&n) {
                f.pieces.push(Piece::Set(n, state.clone()));
            }
            return match way {
                Way::On(j) => j,
                Way::Unknown => k + 1,
            };
        }
        match self.inside(k) {
            Way::On(j) => j,
            Way::Unknown => self.unknown_inside(k, f, braces),
        }
    }

    /// A conditional inside an item whose condition is not known: a gap, if the arms leave no brace open.
    fn unknown_inside(&mut self, k: usize, f: &mut Found, braces: &mut usize) -> usize {
        let Some(&Arm { end: endif, .. }) = self.arms.get(&k) else { return k + 1 };
        let head: Arc<str> = self.token(k).split_whitespace().collect::<Vec<_>>().join(" ").into();
        let reason: Arc<str> = format!("the condition `{head}` is not known here").into();
        let last = self.tokens.get(endif).or(self.tokens.last()).map_or(0, |t| t.end);
        let span = Span { start: self.tokens[k].start, end: last };
        let (mut at, mut first) = (k, None);
        let mut anything = false;
        while let Some(&Arm { next, .. }) = self.arms.get(&at) {
            let mut net = 0isize;
            let mut lowest = 0isize;
            for j in at + 1..next.min(self.tokens.len()) {
                if self.tokens[j].kind == Kind::Directive {
                    if let Line::Define(n, _) | Line::Undef(n) = self.line(j) {
                        if f.macros.is_none() {
                            f.macros = Some(self.macros.clone());
                        }
                        let state = MacroState::Unknown(reason.clone());
                        self.macros.set(n.clone(), state.clone());
                        f.pieces.push(Piece::Set(n, state));
                    }
                    continue;
                }
                anything = true;
                match self.token(j) {
                    "{" | "(" => net += 1,
                    "}" | ")" => net -= 1,
                    _ => {}
                }
                lowest = lowest.min(net);
            }
            if net != 0 || lowest < 0 {
                let why: Arc<str> = format!("{reason}, and its arms do not hold whole statements").into();
                f.broken = Some((RejectKind::Conditional, why));
            }
            first.get_or_insert(net);
            at = next;
            if at >= endif {
                break;
            }
        }
        *braces = (*braces as isize + first.unwrap_or(0)).max(0) as usize;
        let whole: Arc<str> = self.text.get(span.range()).unwrap_or("").into();
        self.link(("arms", whole));
        if anything {
            f.pieces.push(Piece::Reject(RejectKind::Conditional, reason, span));
        }
        f.end = f.end.max(last as usize);
        endif + 1
    }

    /// Lowers an item, or takes it from the memo.
    fn take(&mut self, f: Found) {
        let span = Span::new(f.start, f.end);
        let text = self.text.get(span.range()).unwrap_or("");
        let text_hash = hash(text);
        // The chain runs on through the item's own directives while it is found; `found_in` stands for all of that.
        let found_in = hash((self.chain, self.conditional.is_some(), f.missing, f.broken.is_some()));
        let key = (found_in, text_hash);
        let mut hit = self.fresh.get(&key).map(|e| (e.item.clone(), e.exports.clone()));
        if hit.is_none() {
            if let Some(e) = self.old.remove(&key).filter(|e| *e.text == *text) {
                hit = Some((e.item.clone(), e.exports.clone()));
                self.fresh.insert(key, e);
            }
        }
        let (mut item, exports) = match hit {
            Some(h) => h,
            None => {
                let source = Source {
                    text: self.text,
                    tokens: self.tokens,
                    pieces: &f.pieces,
                    span,
                    salt: text_hash,
                    missing: f.missing,
                    broken: f.broken.clone(),
                };
                let macros = f.macros.as_ref().unwrap_or(&self.macros);
                let l = c::lower_item(&source, self.language, macros, &self.env, self.marks, self.parser);
                let item = Item {
                    span,
                    kind: l.kind,
                    name: l.name,
                    body: Arc::new(l.body),
                    is_kernel: l.is_kernel,
                    is_device: l.is_device,
                    is_host: l.is_host,
                    is_static: l.is_static,
                    launch_bounds: l.launch_bounds,
                };
                let exports: Arc<[Export]> = l.exports.into();
                self.fresh
                    .insert(key, Entry { text: text.into(), item: item.clone(), exports: exports.clone() });
                (item, exports)
            }
        };
        item.span = span;
        // What those after it can see of it.
        let seen = match (item.kind, f.body) {
            (ItemKind::Function, Some(body)) => self.text.get(f.start..body).unwrap_or(text),
            _ => text,
        };
        let seen = hash(("item", seen));
        self.link(seen);
        self.env.add(&item.body, &exports, self.conditional.as_ref());
        self.unit.items.push(item);
    }
}
