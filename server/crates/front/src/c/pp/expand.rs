//! Token substitution (C11 6.10.3).

use std::rc::Rc;
use std::sync::Arc;

use base::Span;
use term::RejectKind;

use super::{macro_tokens, Macro, MacroState, MacroToken, Macros, MAX_DEPTH};
use crate::c::lex::{Kind, Token};
use crate::limits::c_pp_expand::MAX_TOKENS;

/// Where a token's text is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Text {
    /// In the source, at the token's span.
    Source,
    Own(Arc<str>),
}

/// Names not to be replaced again in a token (C11 6.10.3.4p2).
#[derive(Debug)]
pub(crate) struct Hide {
    name: Arc<str>,
    next: Option<Rc<Hide>>,
}

/// A token on its way through substitution.
#[derive(Clone, Debug)]
pub(crate) struct PToken {
    pub kind: Kind,
    pub text: Text,
    pub spaced: bool,
    /// In the file; of the use, for what came out of a macro.
    pub span: Span,
    /// 0: written there. Otherwise which use of a macro it came out of.
    pub expansion: u32,
    pub(super) hide: Option<Rc<Hide>>,
}

impl PToken {
    pub(super) fn of(t: &MacroToken, span: Span) -> PToken {
        PToken {
            kind: t.kind,
            text: Text::Own(t.text.clone()),
            spaced: t.spaced,
            span,
            expansion: 0,
            hide: None,
        }
    }
    /// A token of ours at the place of this one.
    pub(crate) fn instead(&self, kind: Kind, text: Arc<str>) -> PToken {
        PToken { kind, text: Text::Own(text), spaced: true, hide: None, ..self.clone() }
    }
    pub(crate) fn text<'a>(&'a self, source: &'a str) -> &'a str {
        match &self.text {
            Text::Source => match (self.kind, source.get(self.span.range()).unwrap_or("")) {
                (Kind::Punct, text) => crate::c::lex::usual(text),
                (_, text) => text,
            },
            Text::Own(s) => s,
        }
    }
    fn hidden(&self, name: &str) -> bool {
        let mut h = self.hide.as_ref();
        while let Some(n) = h {
            if &*n.name == name {
                return true;
            }
            h = n.next.as_ref();
        }
        false
    }
}

/// A piece of an item's text after its conditionals are decided.
#[derive(Clone, Debug)]
pub(crate) enum Piece {
    /// Tokens of the file, by index; no directives among them.
    Tokens(std::ops::Range<usize>),
    /// Tokens of a file that is included inside the item; all stand at the directive.
    Spliced(Arc<[Spliced]>),
    /// A macro changes its state here.
    Set(Arc<str>, MacroState),
    /// Something stands here that is not understood.
    /// Whether it stands where a statement may.
    Reject(RejectKind, Arc<str>, Span, bool),
    /// Arms of a condition that is not known, and their words where these are all that they do.
    Arms(Arc<str>, Span, Option<Arc<[Arc<str>]>>),
}

/// A token of a file included inside an item.
#[derive(Clone, Debug)]
pub(crate) struct Spliced {
    pub kind: Kind,
    pub text: Arc<str>,
    pub spaced: bool,
    /// Of the directive.
    pub span: Span,
}

/// A gap that substitution left in the tokens as an identifier `__ww_reject_N`.
#[derive(Clone, Debug)]
pub(crate) struct Gap {
    pub kind: RejectKind,
    pub reason: Arc<str>,
    /// The words of the text it stands for, where these are all that it names.
    pub words: Option<Arc<[Arc<str>]>>,
}

pub(crate) const GAP: &str = "__ww_reject_";
/// The expansions of included tokens have this bit.
const SPLICED: u32 = 1 << 31;
/// The expansion of tokens that stand in a comment; no included token has so large a number.
const IN_COMMENT: u32 = u32::MAX;

/// Substitutes macros.
pub(crate) struct Expander<'a> {
    macros: std::borrow::Cow<'a, Macros>,
    source: &'a str,
    pub rejects: Vec<Gap>,
    uses: u32,
    steps: usize,
    depth: u32,
    /// Whether the tokens are a condition's: what `defined` asks for is not replaced.
    in_condition: bool,
}

/// Tokens still to be read: those put back, then the rest of a list.
struct Input<'t> {
    back: Vec<PToken>,
    rest: &'t mut dyn Iterator<Item = PToken>,
}

impl Input<'_> {
    fn next(&mut self) -> Option<PToken> {
        self.back.pop().or_else(|| self.rest.next())
    }
    fn peek(&mut self) -> Option<&PToken> {
        if self.back.is_empty() {
            let t = self.rest.next()?;
            self.back.push(t);
        }
        self.back.last()
    }
}

impl<'a> Expander<'a> {
    pub(crate) fn new(macros: &'a Macros, source: &'a str) -> Expander<'a> {
        Expander {
            macros: std::borrow::Cow::Borrowed(macros),
            source,
            rejects: Vec::new(),
            uses: 0,
            steps: 0,
            depth: 0,
            in_condition: false,
        }
    }

    /// For the tokens of an `#if`.
    pub(super) fn of_condition(macros: &'a Macros) -> Expander<'a> {
        Expander { in_condition: true, ..Expander::new(macros, "") }
    }

    /// Leaves a gap in the tokens.
    pub(crate) fn gap(&mut self, kind: RejectKind, reason: Arc<str>, span: Span, expansion: u32) -> PToken {
        let text = format!("{GAP}{}", self.rejects.len());
        self.rejects.push(Gap { kind, reason, words: None });
        PToken { kind: Kind::Ident, text: Text::Own(text.into()), spaced: true, span, expansion, hide: None }
    }

    /// An item's pieces → tokens.
    pub(crate) fn item(&mut self, tokens: &[Token], pieces: &[Piece]) -> Vec<PToken> {
        let mut out = Vec::new();
        // Pieces between two changes of the macros form one stream, so that arguments may span a conditional.
        let mut k = 0;
        while k < pieces.len() {
            let end =
                pieces[k..].iter().position(|p| matches!(p, Piece::Set(..))).map_or(pieces.len(), |n| k + n);
            let mut gaps = Vec::new();
            for p in &pieces[k..end] {
                match p {
                    Piece::Reject(kind, reason, span, _) => {
                        gaps.push(self.gap(*kind, reason.clone(), *span, 0));
                    }
                    Piece::Arms(reason, span, words) => {
                        gaps.push(self.gap(RejectKind::Conditional, reason.clone(), *span, 0));
                        if let Some(gap) = self.rejects.last_mut() {
                            gap.words.clone_from(words);
                        }
                    }
                    _ => {}
                }
            }
            let mut gaps = gaps.into_iter();
            let mut stream =
                pieces[k..end].iter().flat_map(|p| {
                    let (range, gap) = match p {
                        Piece::Tokens(r) => (r.clone(), None),
                        Piece::Reject(..) | Piece::Arms(..) => (0..0, gaps.next()),
                        _ => (0..0, None),
                    };
                    let spliced: &[Spliced] = match p {
                        Piece::Spliced(s) => s,
                        _ => &[],
                    };
                    // No use of a macro has this number: what is included is never edited.
                    let spliced = spliced.iter().map(|t| PToken {
                        kind: t.kind,
                        text: Text::Own(t.text.clone()),
                        spaced: t.spaced,
                        span: t.span,
                        expansion: SPLICED | t.span.start,
                        hide: None,
                    });
                    let semicolon =
                        gap.as_ref().filter(|_| !matches!(p, Piece::Reject(_, _, _, false))).map(|g| {
                            PToken { kind: Kind::Punct, text: Text::Own(";".into()), hide: None, ..g.clone() }
                        });
                    tokens[range]
                        .iter()
                        .map(|t| PToken {
                            kind: t.kind,
                            text: Text::Source,
                            spaced: t.spaced,
                            span: t.span(),
                            expansion: 0,
                            hide: None,
                        })
                        .chain(spliced)
                        .chain(gap)
                        .chain(semicolon)
                });
            self.stream(&mut Input { back: Vec::new(), rest: &mut stream }, &mut out);
            if let Some(Piece::Set(name, state)) = pieces.get(end) {
                self.macros.to_mut().set(name.clone(), state.clone());
            }
            k = end + 1;
        }
        out
    }

    /// Tokens that stand in a comment, as the initializer of a variable: what comes of them is nobody's text.
    pub(crate) fn initializer(&mut self, tokens: &[Token], of: &str) -> Vec<PToken> {
        let at = tokens.first().map_or(Span::default(), |t| t.span());
        let word = |text: &str, kind| PToken {
            kind,
            text: Text::Own(text.into()),
            spaced: true,
            span: at,
            expansion: IN_COMMENT,
            hide: None,
        };
        let head = [word("int", Kind::Ident), word(of, Kind::Ident), word("=", Kind::Punct)];
        let written = tokens.iter().map(|t| PToken {
            kind: t.kind,
            text: Text::Source,
            spaced: t.spaced,
            span: t.span(),
            expansion: 0,
            hide: None,
        });
        let mut all = self.list(written.collect());
        all.iter_mut().for_each(|t| t.expansion = IN_COMMENT);
        head.into_iter().chain(all).collect()
    }

    pub(super) fn list(&mut self, tokens: Vec<PToken>) -> Vec<PToken> {
        let mut out = Vec::with_capacity(tokens.len());
        self.stream(&mut Input { back: Vec::new(), rest: &mut tokens.into_iter() }, &mut out);
        out
    }

    fn stream(&mut self, input: &mut Input<'_>, out: &mut Vec<PToken>) {
        self.depth += 1;
        while let Some(t) = input.next() {
            self.steps += 1;
            if t.kind != Kind::Ident || self.steps > MAX_TOKENS {
                if self.steps == MAX_TOKENS + 1 {
                    let gap =
                        self.gap(RejectKind::Macro, "macros expand to too many tokens".into(), t.span, 0);
                    out.push(gap);
                }
                if self.steps <= MAX_TOKENS {
                    out.push(t);
                }
                continue;
            }
            if self.in_condition && t.text(self.source) == "defined" {
                out.push(t);
                if let Some(n) = input.next() {
                    let open = n.text(self.source) == "(";
                    out.push(n);
                    out.extend(if open { input.next() } else { None });
                }
                continue;
            }
            let state = self.macros.get(t.text(self.source));
            match state {
                None if !self.in_condition && is_counted(t.text(self.source)) => {
                    let made = self.counted(t);
                    out.push(made);
                }
                None | Some(MacroState::Undefined | MacroState::Library) => out.push(t),
                // one token, whatever it is
                Some(MacroState::ByOptions(_)) if self.in_condition && !self.macros.in_system => out.push(t),
                Some(MacroState::Unknown(why)) => {
                    let reason = format!("the macro `{}` is unknown: {why}", t.text(self.source));
                    let gap = self.gap(RejectKind::Unread, reason.into(), t.span, t.expansion);
                    out.push(gap);
                }
                Some(MacroState::ByOptions(_)) if !self.macros.in_system => {
                    let reason = format!("`{}` depends on the compiler's options", t.text(self.source));
                    let gap = self.gap(RejectKind::Macro, reason.into(), t.span, t.expansion);
                    out.push(gap);
                }
                Some(MacroState::Defined(m) | MacroState::ByOptions(m)) => {
                    let m = m.clone();
                    self.use_of(t, &m, input, out);
                }
            }
        }
        self.depth -= 1;
    }

    /// `__LINE__` as its number, in a macro that of the line on which its use begins, as gcc has it since version 9; others that differ from use to use are
    /// gaps.
    fn counted(&mut self, t: PToken) -> PToken {
        let is_whole = self.source.get(t.span.range()).is_some() && t.expansion & SPLICED == 0;
        let renumbered = || self.source.lines().any(is_renumbering);
        if t.text(self.source) == "__LINE__" && is_whole && !renumbered() {
            let before = self.source.get(..t.span.start as usize).unwrap_or("");
            let line = before.bytes().filter(|b| *b == b'\n').count() + 1;
            return t.instead(Kind::Number, line.to_string().into());
        }
        let reason = format!("`{}` has another value at every use", t.text(self.source));
        self.gap(RejectKind::Macro, reason.into(), t.span, t.expansion)
    }

    fn use_of(&mut self, t: PToken, m: &Macro, input: &mut Input<'_>, out: &mut Vec<PToken>) {
        let name: Arc<str> = t.text(self.source).into();
        if t.hidden(&name) {
            out.push(t);
            return;
        }
        let mut span = t.span;
        let mut args = Vec::new();
        if let Some(params) = &m.params {
            if input.peek().is_none_or(|p| p.text(self.source) != "(") {
                out.push(t);
                return;
            }
            let (found, end) = self.arguments(input, m, params.len());
            if t.expansion == 0 {
                span = span.cover(end);
            }
            match found {
                Some(a) if self.depth <= MAX_DEPTH => args = a,
                _ => {
                    let reason = format!("the use of macro `{name}` does not fit its definition");
                    let gap = self.gap(RejectKind::Macro, reason.into(), span, t.expansion);
                    out.push(gap);
                    return;
                }
            }
        }
        let expansion = if t.expansion == 0 {
            self.uses += 1;
            self.uses
        } else {
            t.expansion
        };
        let hide = Some(Rc::new(Hide { name: name.clone(), next: t.hide.clone() }));
        match self.substitute(m, args, span, expansion, hide) {
            Some(mut tokens) => {
                if let Some(first) = tokens.first_mut() {
                    first.spaced = t.spaced;
                }
                tokens.reverse();
                input.back.append(&mut tokens);
            }
            None => {
                let reason =
                    format!("the macro `{name}` pastes or quotes tokens in a way that is not followed");
                let gap = self.gap(RejectKind::Macro, reason.into(), span, expansion);
                out.push(gap);
            }
        }
    }

    /// Reads `( … )`; the arguments, or `None` where their number does not fit.
    fn arguments(
        &mut self,
        input: &mut Input<'_>,
        m: &Macro,
        want: usize,
    ) -> (Option<Vec<Vec<PToken>>>, Span) {
        let mut end = input.next().map_or(Span::default(), |t| t.span);
        let mut args: Vec<Vec<PToken>> = vec![Vec::new()];
        let mut open = 0usize;
        while let Some(t) = input.next() {
            end = end.cover(t.span);
            self.steps += 1;
            match t.text(self.source) {
                "(" => open += 1,
                ")" if open == 0 => {
                    if want == 0 && args.len() == 1 && args[0].is_empty() {
                        args.clear();
                    }
                    if m.variadic && args.len() + 1 == want {
                        args.push(Vec::new());
                    }
                    return ((args.len() == want).then_some(args), end);
                }
                ")" => open -= 1,
                "," if open == 0 && !(m.variadic && args.len() == want) => {
                    args.push(Vec::new());
                    continue;
                }
                _ => {}
            }
            if let Some(last) = args.last_mut() {
                last.push(t);
            }
        }
        (None, end)
    }

    fn substitute(
        &mut self,
        m: &Macro,
        args: Vec<Vec<PToken>>,
        span: Span,
        expansion: u32,
        hide: Option<Rc<Hide>>,
    ) -> Option<Vec<PToken>> {
        let params = m.params.as_deref().unwrap_or(&[]);
        let index = |t: &MacroToken| {
            (t.kind == Kind::Ident).then(|| params.iter().position(|p| *p == t.text)).flatten()
        };
        let mut full: Vec<Option<Vec<PToken>>> = vec![None; args.len()];
        let mut out: Vec<PToken> = Vec::new();
        let source = self.source;
        let place = |mut t: PToken| {
            // An argument keeps its own hide set; everything moves to the place of the use.
            if t.text == Text::Source {
                t.text = Text::Own(t.text(source).into());
            }
            t.span = span;
            t.expansion = expansion;
            t
        };
        let mut k = 0;
        while let Some(t) = m.body.get(k) {
            self.steps += 1;
            if self.steps > MAX_TOKENS {
                return Some(out);
            }
            if &*t.text == "#" && m.params.is_some() {
                let arg = args.get(index(m.body.get(k + 1)?)?)?;
                let mut s = String::new();
                for (n, a) in arg.iter().enumerate() {
                    if n > 0 && a.spaced {
                        s.push(' ');
                    }
                    s.push_str(a.text(self.source));
                }
                let quoted = format!("\"{}\"", s.replace('\\', "\\\\").replace('"', "\\\""));
                out.push(PToken {
                    kind: Kind::Str,
                    text: Text::Own(quoted.into()),
                    spaced: t.spaced,
                    span,
                    expansion,
                    hide: hide.clone(),
                });
                k += 2;
                continue;
            }
            let pasted_next = m.body.get(k + 1).is_some_and(|n| &*n.text == "##");
            if &*t.text == "##" {
                let next = m.body.get(k + 1)?;
                let variable = m.variadic && index(next).is_some_and(|i| i + 1 == params.len());
                if variable && out.last().is_some_and(|l| l.text(self.source) == ",") {
                    // GNU: the comma before an empty `__VA_ARGS__` goes, before others nothing is pasted.
                    let arg = args.get(params.len() - 1)?;
                    if arg.is_empty() {
                        out.pop();
                    }
                    out.extend(arg.iter().cloned().map(place));
                    k += 2;
                    continue;
                }
                let right: Vec<PToken> = match index(next) {
                    Some(i) => args.get(i)?.iter().cloned().map(place).collect(),
                    None => vec![place(PToken::of(next, span))],
                };
                let mut right = right.into_iter();
                let left = out.pop().filter(|l| !is_nothing(l));
                match (left, right.next()) {
                    (Some(l), Some(r)) => {
                        let text = format!("{}{}", l.text(self.source), r.text(self.source));
                        let lexed = macro_tokens(&text);
                        let [only] = lexed.as_slice() else { return None };
                        let mut pasted = place(PToken::of(only, span));
                        pasted.hide = hide.clone();
                        out.push(pasted);
                    }
                    (Some(l), None) => out.push(l),
                    (None, Some(r)) => out.push(r),
                    (None, None) => out.push(nothing(span)),
                }
                out.extend(right);
                k += 2;
                continue;
            }
            match index(t) {
                Some(i) if pasted_next => {
                    // Before ## an argument is not expanded; an empty one leaves a mark (C11 6.10.3.3p2).
                    let arg = args.get(i)?;
                    if arg.is_empty() {
                        out.push(nothing(span));
                    }
                    out.extend(arg.iter().cloned().map(place));
                }
                Some(i) => {
                    if full.get(i)?.is_none() {
                        let arg = args.get(i)?.clone();
                        let expanded = self.list(arg);
                        full[i] = Some(expanded);
                    }
                    let start = out.len();
                    out.extend(full[i].iter().flatten().cloned().map(place));
                    if let Some(first) = out.get_mut(start) {
                        first.spaced = t.spaced;
                    }
                }
                None => {
                    let mut p = place(PToken::of(t, span));
                    p.hide = hide.clone();
                    out.push(p);
                }
            }
            k += 1;
        }
        out.retain(|t| !is_nothing(t));
        Some(out)
    }
}

/// Names of the compiler's own whose value depends on the place.
fn is_counted(name: &str) -> bool {
    matches!(name, "__LINE__" | "__COUNTER__" | "__INCLUDE_LEVEL__")
}

/// Whether a line of a text changes the numbers of those after it: `#line 3`, `# 3 "a.c"`.
pub(crate) fn is_renumbering(line: &str) -> bool {
    let Some(rest) = line.trim_start().strip_prefix('#') else { return false };
    let rest = rest.trim_start();
    rest.strip_prefix("line").is_some_and(|r| r.starts_with([' ', '\t']))
        || rest.starts_with(|c: char| c.is_ascii_digit())
}

/// What an empty argument leaves beside `##` (C11 6.10.3.3p2: a placemarker).
fn nothing(span: Span) -> PToken {
    PToken { kind: Kind::Punct, text: Text::Own("".into()), spaced: true, span, expansion: 0, hide: None }
}

fn is_nothing(t: &PToken) -> bool {
    matches!(&t.text, Text::Own(s) if s.is_empty())
}
