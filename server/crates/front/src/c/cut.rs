//! Where an item begins and ends, and what stands in it once its conditionals are decided.

mod words;

use std::sync::Arc;

use base::Span;
use term::RejectKind;

use self::words::Words;
use crate::c::arms::Arm;
use crate::c::lex::{Kind, Token};
use crate::c::pp::pack::{self, Pack};
use crate::c::pp::{self, Line, MacroState, Macros, Piece};
use crate::c::unit::{Walk, Way};

/// An item found, before lowering.
#[derive(Default, Debug)]
pub(crate) struct Found {
    pub(crate) pieces: Vec<Piece>,
    /// First and one past the last byte.
    pub(crate) start: usize,
    pub(crate) end: usize,
    /// Index of the token after it.
    pub(crate) next: usize,
    pub(crate) missing: usize,
    pub(crate) broken: Option<(RejectKind, Arc<str>)>,
    /// Names that it may declare, where it is broken.
    pub(crate) poisons: Vec<Arc<str>>,
    /// Where the function's body begins, if it is a function.
    pub(crate) body: Option<usize>,
    /// The macros at its start, if it changes them.
    pub(crate) macros: Option<Arc<Macros>>,
    /// Whether `#pragma STDC FENV_ACCESS ON` is in force in it.
    pub(crate) floating_environment: bool,
    /// Where in the file `#pragma pack` changes inside it, and to what.
    pub(crate) packs: Vec<(u32, Pack)>,
    /// Which instance of a template it is.
    pub(crate) instance: Option<Arc<str>>,
}

impl Found {
    /// The pieces before the function's body.
    pub(crate) fn header(&self, tokens: &[Token]) -> Vec<Piece> {
        let body = self.body.unwrap_or(self.end);
        let mut out = Vec::new();
        for p in &self.pieces {
            if let Piece::Tokens(r) = p {
                let all = tokens.get(r.clone()).unwrap_or(&[]);
                let n = all.partition_point(|t| (t.start as usize) < body);
                out.push(Piece::Tokens(r.start..r.start + n));
                if n < all.len() {
                    break;
                }
            } else {
                out.push(p.clone());
            }
        }
        out
    }
}

/// What was seen of an item so far.
#[derive(Default)]
struct Seen {
    braces: usize,
    parens: usize,
    /// Outside all brackets: an `=`, a parenthesised group, `typedef`, `struct` and the like whose braces may follow.
    assigned: bool,
    called: bool,
    typedef: bool,
    tag: bool,
    /// Words since `struct`, and whether a group after the first is an attribute's: `struct ALIGNED(16) S {`.
    named: usize,
    is_attribute: bool,
    /// Words since the last group: two of them begin a parameter's declaration in the style before C89.
    words: usize,
}

impl Seen {
    /// Whether braces that open now are a function's body.
    fn is_function(&self) -> bool {
        self.called && !self.assigned && !self.typedef && !self.tag
    }
    fn is_outside(&self) -> bool {
        self.braces == 0 && self.parens == 0
    }
}

/// Where an item stands after a token.
#[derive(Clone, Copy, PartialEq, Eq)]
enum After {
    /// It goes on.
    Open,
    /// It goes on, and the token says nothing more of it.
    Skipped,
    /// The token was its last.
    Ended,
    /// It ended before the token.
    Before,
}

impl Walk<'_, '_> {
    /// Finds the item that starts at `k`.
    pub(crate) fn item(&mut self, k: usize, end: usize) -> Found {
        let mut f = Found { start: self.tokens.get(k).map_or(0, |t| t.start as usize), ..Found::default() };
        f.end = f.start;
        f.floating_environment = self.s.floating_environment;
        if let Some(end) = self.whole_use(k, end) {
            f.end = self.tokens.get(end - 1).map_or(f.start, |t| t.end as usize);
            f.pieces.push(Piece::Tokens(k..end));
            f.next = end;
            return f;
        }
        let mut seen = Seen::default();
        let (mut piece, mut j) = (k, k);
        let end_piece = |f: &mut Found, piece: usize, j: usize| {
            if piece < j {
                f.pieces.push(Piece::Tokens(piece..j));
            }
        };
        while j < end {
            let t = self.tokens[j];
            if t.kind == Kind::Directive {
                end_piece(&mut f, piece, j);
                j = self.directive_inside(j, &mut f, &mut seen.braces).min(end);
                piece = j;
                continue;
            }
            let hidden = self.hidden_braces(j);
            if t.column_zero && j > k && self.ends_before((k, j, end), &mut f, &seen, &hidden) {
                break;
            }
            f.end = t.end as usize;
            // Inside a body only brackets count, and macros that stand for some.
            let text = if seen.braces > 0 && t.kind != Kind::Punct { "" } else { self.token(j) };
            j += 1;
            if !hidden.is_empty() {
                if open_and_close(&mut f, &mut seen, &hidden, t.start as usize) {
                    break;
                }
                continue;
            }
            if seen.braces == 0 && is_attribute_word(text) {
                j = self.after_group(j, end);
                f.end = self.tokens.get(j - 1).map_or(f.end, |t| t.end as usize);
                continue;
            }
            match self.punctuation((k, j, end), text, &mut f, &mut seen) {
                After::Open => {}
                After::Skipped => continue,
                After::Ended => break,
                After::Before => {
                    // it closes something around the item
                    j -= 1;
                    f.end = self.tokens.get(j.saturating_sub(1)).map_or(f.start, |t| t.end as usize);
                    break;
                }
            }
            if seen.is_outside() {
                if text == ")" {
                    seen.tag = false;
                    seen.words = 0;
                } else if t.kind == Kind::Ident {
                    seen.words += 1;
                }
            }
        }
        end_piece(&mut f, piece, j.min(end));
        f.missing = seen.braces;
        if f.broken.is_none() && self.has_trigraphs(k..j.min(end), f.start..f.end) {
            let why = "trigraphs mean one thing to some compilers and another to others";
            f.broken = Some((RejectKind::Unsupported, why.into()));
        }
        if seen.parens > 0 && f.broken.is_none() {
            f.broken = Some((RejectKind::Syntax, "a parenthesis is not closed".into()));
        }
        f.next = j;
        f
    }

    /// Whether the item that starts at `k` ends before the first token of a line, `j`, though it is not complete.
    fn ends_before(
        &self,
        (k, j, end): (usize, usize, usize),
        f: &mut Found,
        seen: &Seen,
        hidden: &[bool],
    ) -> bool {
        if seen.braces > 0 {
            // Code lacks a closing brace before this function.
            return hidden.is_empty() && self.starts_function(j, end);
        }
        // An unknown macro's use on a line of its own, then something else.
        let is_use = seen.parens == 0
            && self.tokens[j].kind == Kind::Ident
            && self.token(j - 1) == ")"
            && self.tokens.get(k).is_some_and(|t| t.kind == Kind::Ident)
            && self.token(k + 1) == "("
            && !self.old_style(j, end)
            && !is_attribute_word(self.token(k))
            // what a known one stands for begins what follows, if it is no item by itself: `VIEW (vector)`, a type, and the function
            && !matches!(self.s.macros.get(self.token(k)), Some(MacroState::Defined(_)));
        if is_use {
            let why = format!("`{}` may be a macro that is not defined here", self.token(k));
            f.broken = Some((RejectKind::Macro, why.into()));
        }
        is_use
    }

    /// What a token, the one before `j`, does to the item that starts at `k`.
    fn punctuation(
        &self,
        (k, j, end): (usize, usize, usize),
        text: &str,
        f: &mut Found,
        seen: &mut Seen,
    ) -> After {
        match text {
            "{" => {
                if seen.is_outside() {
                    let start = self.tokens[j - 1].start as usize;
                    if j == k + 1 {
                        let why = "a block stands outside of any function";
                        f.broken = Some((RejectKind::Syntax, why.into()));
                        f.body = Some(start);
                    }
                    if seen.is_function() && f.body.is_none() {
                        f.body = Some(start);
                    }
                }
                seen.braces += 1;
                seen.tag = false;
            }
            "}" if seen.braces == 0 => return After::Before,
            "}" => {
                seen.braces -= 1;
                if seen.braces == 0 && f.body.is_some() {
                    seen.parens = 0;
                    return After::Ended;
                }
            }
            "(" => {
                seen.is_attribute |= seen.parens == 0 && seen.tag && seen.named == 1;
                seen.parens += 1;
            }
            ")" if seen.parens == 1 && seen.is_attribute => {
                (seen.parens, seen.is_attribute) = (0, false);
                return After::Skipped;
            }
            ")" => {
                seen.parens = seen.parens.saturating_sub(1);
                seen.called |= seen.is_outside();
            }
            ";" if seen.braces == 0 => {
                seen.parens = 0;
                let is_old = seen.called && seen.words >= 2 && !seen.assigned && !seen.typedef;
                if !is_old || !self.old_style(j, end) {
                    return After::Ended;
                }
                (seen.words, seen.tag) = (0, false);
                return After::Skipped;
            }
            "=" if seen.is_outside() => seen.assigned = true,
            "typedef" if seen.braces == 0 => seen.typedef = true,
            "struct" | "union" | "enum" if seen.is_outside() => (seen.tag, seen.named) = (true, 0),
            // `struct S f(…) {`: the tag's braces would come before any parenthesis.
            _ if seen.tag && seen.parens == 0 && self.tokens[j - 1].kind == Kind::Ident => seen.named += 1,
            _ => {}
        }
        After::Open
    }

    /// The braces that the macro used at `j` stands for, `true` for an opening one; none where they come in pairs inside a
    /// body.
    fn hidden_braces(&self, j: usize) -> Vec<bool> {
        let macros = &self.s.macros;
        if !macros.has_braces() || self.tokens[j].kind != Kind::Ident {
            return Vec::new();
        }
        let braces = macros.braces_of(self.token(j), 0);
        let mut net = 0i32;
        let mut lowest = 0;
        for open in &braces {
            net += if *open { 1 } else { -1 };
            lowest = lowest.min(net);
        }
        if net == 0 && lowest == 0 {
            return Vec::new();
        }
        braces
    }

    /// Whether `??<` and the like stand in the tokens, or a comment's line would go on with them (C11 5.2.1.1).
    fn has_trigraphs(&self, tokens: std::ops::Range<usize>, bytes: std::ops::Range<usize>) -> bool {
        let text = self.text.get(bytes).unwrap_or("");
        if !text.contains("??") {
            return false;
        }
        let joined = |k: usize| {
            let three = self.tokens.get(k..k + 3)?;
            (three[0].end == three[1].start && three[1].end == three[2].start).then_some(())?;
            let last = self.token(k + 2).chars().next()?;
            (self.token(k) == "?" && self.token(k + 1) == "?" && "=/'()!<>-{}[]".contains(last)).then_some(())
        };
        text.contains("??/\n") || text.contains("??/\r") || tokens.clone().any(|k| joined(k).is_some())
    }

    /// Index after the parentheses that open at `k`; `k` where none do.
    fn after_group(&self, k: usize, end: usize) -> usize {
        let mut open = 0usize;
        for j in k..end {
            match self.token(j) {
                "(" => open += 1,
                ")" => open = open.saturating_sub(1),
                ";" | "{" | "}" => return k,
                _ => {}
            }
            if open == 0 {
                return if j == k { k } else { j + 1 };
            }
        }
        k
    }

    /// Index after a macro's use that is an item by itself: its definition ends a declaration or a function, and
    /// something else begins after it, on a line of its own.
    fn whole_use(&self, k: usize, end: usize) -> Option<usize> {
        let Some(MacroState::Defined(m)) = self.s.macros.get(self.token(k)) else { return None };
        if !m.ends_item() || self.tokens.get(k)?.kind != Kind::Ident {
            return None;
        }
        let mut j = k + 1;
        if m.is_function_like() {
            let mut open = 0usize;
            loop {
                match (self.tokens.get(j).filter(|_| j < end)?.kind, self.token(j)) {
                    (Kind::Directive, _) => return None,
                    (_, "(") => open += 1,
                    (_, ")") => open = open.checked_sub(1)?,
                    _ if open == 0 => return None,
                    _ => {}
                }
                j += 1;
                if open == 0 {
                    break;
                }
            }
        }
        let ends = match self.tokens.get(j).filter(|_| j < end) {
            None => true,
            Some(t) => t.kind == Kind::Directive || (t.kind == Kind::Ident && t.column_zero),
        };
        ends.then_some(j)
    }

    /// Whether what follows are declarations of parameters and then a body.
    fn old_style(&self, from: usize, end: usize) -> bool {
        for j in from..end.min(from + 200) {
            match (self.tokens[j].kind, self.token(j)) {
                (_, "{") => return j > 0 && self.token(j - 1) == ";",
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
                f.macros = Some(self.s.macros.clone());
            }
            let way = self.inside(k);
            if let Some(state) = self.s.macros.get(&n) {
                f.pieces.push(Piece::Set(n, state.clone()));
            }
            return match way {
                Way::On(j) => j,
                Way::Unknown => k + 1,
            };
        }
        if let Line::Pack(_) = self.line(k) {
            if f.macros.is_none() {
                f.macros = Some(self.s.macros.clone());
            }
            let way = self.inside(k);
            let at = self.tokens.get(k).map_or(0, |t| t.start);
            f.packs.push((at, self.s.macros.pack()));
            return match way {
                Way::On(j) => j,
                Way::Unknown => k + 1,
            };
        }
        if let Line::Include(included) = self.line(k) {
            self.splice(k, &included, f, braces);
            f.end = f.end.max(self.tokens.get(k).map_or(0, |t| t.end as usize));
            return k + 1;
        }
        let before = self.s.floating_environment;
        match self.inside(k) {
            Way::On(j) => {
                f.floating_environment |= self.s.floating_environment;
                if f.body.is_some() {
                    // In a block it is in force until the block's end (C11 7.6.1p2): taken as the function's.
                    self.s.floating_environment = before;
                }
                j
            }
            Way::Unknown => self.unknown_inside(k, f, braces),
        }
    }

    /// A conditional inside an item whose condition is not known: a gap, if the arms leave no brace open.
    fn unknown_inside(&mut self, k: usize, f: &mut Found, braces: &mut usize) -> usize {
        let Some(&Arm { end: endif, .. }) = self.arms.get(&k) else { return k + 1 };
        let head = pp::in_one_line(self.token(k));
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
                            f.macros = Some(self.s.macros.clone());
                        }
                        let state = MacroState::Unknown(reason.clone());
                        Arc::make_mut(&mut self.s.macros).set(n.clone(), state.clone());
                        f.pieces.push(Piece::Set(n, state));
                    } else if matches!(self.line(j), Line::Pack(_)) {
                        if f.macros.is_none() {
                            f.macros = Some(self.s.macros.clone());
                        }
                        Arc::make_mut(&mut self.s.macros).apply_pack(&pack::Op::Unknown);
                        f.packs.push((span.start, Pack::Unknown));
                    } else if matches!(self.line(j), Line::Include(_)) {
                        // Whatever it holds: text, and definitions for what follows.
                        anything = true;
                        Arc::make_mut(&mut self.s.macros).missing(false);
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
            let words = self.all_words(k, endif);
            f.pieces.push(Piece::Arms(reason, span, words));
        }
        f.end = f.end.max(last as usize);
        endif + 1
    }

    /// The words of all arms of a conditional, once macros are replaced; `None` where they are not all of what the arms do:
    /// control may leave them, or some text is not seen.
    fn all_words(&self, k: usize, endif: usize) -> Option<Arc<[Arc<str>]>> {
        if self.s.dialect.cpp {
            return None;
        }
        let mut words = Words::new(&self.s.macros);
        for j in k..endif.min(self.tokens.len()) {
            match self.tokens[j].kind {
                Kind::Directive => match self.line(j) {
                    Line::Include(_) | Line::Define(..) | Line::Undef(_) | Line::Pack(_) => return None,
                    _ => {}
                },
                Kind::Ident => {
                    words.word(&self.token(j).into(), self.token(j + 1) == "(", &mut Vec::new())?
                }
                _ if self.token(j) == ":" => return None,
                _ => {}
            }
        }
        Some(words.found())
    }
}

/// Braces that a macro stands for, which is used at `start`: whether the item ends with it.
fn open_and_close(f: &mut Found, seen: &mut Seen, hidden: &[bool], start: usize) -> bool {
    let function = seen.is_function() && seen.parens == 0;
    let mut closed = false;
    for (n, open) in hidden.iter().enumerate() {
        match open {
            true => {
                if seen.braces == 0 && function && f.body.is_none() {
                    f.body = Some(start);
                }
                seen.braces += 1;
            }
            false if seen.braces == 0 => {
                let why = "a macro closes a brace that nothing opens";
                f.broken = Some((RejectKind::Macro, why.into()));
            }
            false => seen.braces -= 1,
        }
        closed |= seen.braces == 0 && f.body.is_some();
        if closed && n + 1 < hidden.len() {
            let why = "a macro holds the end of a function and more";
            f.broken = Some((RejectKind::Macro, why.into()));
        }
    }
    if closed {
        seen.parens = 0;
    }
    closed
}

/// Whether a group of arguments follows this word that says nothing of what is declared but its attributes.
fn is_attribute_word(word: &str) -> bool {
    matches!(
        word,
        "__attribute__"
            | "__attribute"
            | "__declspec"
            | "_Alignas"
            | "alignas"
            | "__align__"
            | "__builtin_align__"
    )
}
