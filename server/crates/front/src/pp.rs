//! The preprocessor: macro tables, token substitution as C11 6.10.3 has it, and three-valued conditions.
//!
//! Substitution happens on tokens, before parsing, so that a macro means what it means to a compiler, whatever
//! parentheses its author forgot. What comes out of a macro has the span of the use.
//!
//! Deliberately absent: reading includes. A name that an unread header may define is neither defined nor undefined.

use std::rc::Rc;
use std::sync::Arc;

use base::Span;
use rustc_hash::{FxHashMap, FxHashSet};
use term::RejectKind;

use crate::lex::{self, Kind, Token};
use crate::Language;

/// Most tokens one item may expand to.
const MAX_TOKENS: usize = 2_000_000;
/// Deepest nesting of arguments and conditions followed.
const MAX_DEPTH: u32 = 64;

/// A token of a macro's replacement list.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct MacroToken {
    kind: Kind,
    text: Arc<str>,
    spaced: bool,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Macro {
    /// `None`: object-like.
    params: Option<Vec<Arc<str>>>,
    variadic: bool,
    body: Vec<MacroToken>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum MacroState {
    Defined(Arc<Macro>),
    Undefined,
    /// Defined differently, or not at all, depending on a condition that is not known; with that reason.
    Unknown(Arc<str>),
}

/// What a directive line says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Line {
    Define(Arc<str>, Arc<Macro>),
    Undef(Arc<str>),
    If(Vec<MacroToken>),
    Ifdef(Arc<str>, bool),
    Elif(Vec<MacroToken>),
    Elifdef(Arc<str>, bool),
    Else,
    Endif,
    /// Whether it names a header of the project (`"…"` or a macro) rather than of the system.
    Include(bool),
    /// Pragmas, `#error`, `#line` and unknown ones.
    Other,
}

fn macro_tokens(text: &str) -> Vec<MacroToken> {
    lex::lex(text)
        .tokens
        .iter()
        .filter(|t| t.kind != Kind::Directive)
        .map(|t| MacroToken {
            kind: t.kind,
            text: text.get(t.span().range()).unwrap_or("").into(),
            spaced: t.spaced,
        })
        .collect()
}

/// Reads a directive line, `#` included.
pub(crate) fn line(text: &str) -> Line {
    // A leading blank keeps a `#` of the body from being taken for a directive's.
    let tokens = macro_tokens(text.get(1..).unwrap_or(""));
    let Some((head, rest)) = tokens.split_first() else {
        return Line::Other;
    };
    let name = || rest.first().filter(|t| t.kind == Kind::Ident).map(|t| t.text.clone());
    match &*head.text {
        "define" => match name() {
            Some(n) => match define(rest.get(1..).unwrap_or(&[])) {
                Some(m) => Line::Define(n, Arc::new(m)),
                None => Line::Other,
            },
            None => Line::Other,
        },
        "undef" => name().map_or(Line::Other, Line::Undef),
        "if" => Line::If(rest.to_vec()),
        "elif" => Line::Elif(rest.to_vec()),
        "ifdef" => name().map_or(Line::If(Vec::new()), |n| Line::Ifdef(n, true)),
        "ifndef" => name().map_or(Line::If(Vec::new()), |n| Line::Ifdef(n, false)),
        "elifdef" => name().map_or(Line::Elif(Vec::new()), |n| Line::Elifdef(n, true)),
        "elifndef" => name().map_or(Line::Elif(Vec::new()), |n| Line::Elifdef(n, false)),
        "else" => Line::Else,
        "endif" => Line::Endif,
        "include" | "include_next" | "import" => Line::Include(rest.first().is_none_or(|t| &*t.text != "<")),
        _ => Line::Other,
    }
}

/// The part of a definition after the name.
fn define(rest: &[MacroToken]) -> Option<Macro> {
    let function_like = rest.first().is_some_and(|t| &*t.text == "(" && !t.spaced);
    if !function_like {
        return Some(Macro { params: None, variadic: false, body: rest.to_vec() });
    }
    let close = rest.iter().position(|t| &*t.text == ")")?;
    let mut params: Vec<Arc<str>> = Vec::new();
    let mut variadic = false;
    for (k, t) in rest.get(1..close)?.iter().enumerate() {
        match (&*t.text, t.kind) {
            (",", _) if k % 2 == 1 => {}
            ("...", _) if k % 2 == 0 => {
                variadic = true;
                params.push("__VA_ARGS__".into());
            }
            (_, Kind::Ident) if k % 2 == 0 => params.push(t.text.clone()),
            // GNU's `args...` and anything odd.
            _ => return None,
        }
    }
    Some(Macro { params: Some(params), variadic, body: rest.get(close + 1..)?.to_vec() })
}

/// The macros at a point of a file.
#[derive(Clone, Debug)]
pub(crate) struct Macros {
    map: FxHashMap<Arc<str>, MacroState>,
    language: Language,
    project_header: bool,
    system_header: bool,
}

impl Macros {
    pub(crate) fn new(language: Language, defines: &[(String, String)]) -> Macros {
        let mut m =
            Macros { map: FxHashMap::default(), language, project_header: false, system_header: false };
        for (name, value) in defines {
            if let Line::Define(n, d) = line(&format!("#define {name} {value}")) {
                m.map.insert(n, MacroState::Defined(d));
            }
        }
        m
    }

    pub(crate) fn get(&self, name: &str) -> Option<&MacroState> {
        self.map.get(name)
    }
    pub(crate) fn set(&mut self, name: Arc<str>, state: MacroState) {
        self.map.insert(name, state);
    }
    pub(crate) fn include(&mut self, project: bool) {
        if project {
            self.project_header = true;
        } else {
            self.system_header = true;
        }
    }
    /// After a condition that is not known: what the arms (and, without `#else`, doing nothing) agree on stays, the
    /// rest is unknown.
    pub(crate) fn merge(&mut self, arms: &[Macros], reason: &Arc<str>) {
        let mut names: FxHashSet<&Arc<str>> = FxHashSet::default();
        for a in arms {
            names.extend(a.map.iter().filter(|(k, v)| self.map.get(*k) != Some(v)).map(|(k, _)| k));
            self.project_header |= a.project_header;
            self.system_header |= a.system_header;
        }
        let changes: Vec<(Arc<str>, MacroState)> = names
            .into_iter()
            .map(|n| {
                let mut states = arms.iter().map(|a| a.map.get(n));
                let first = states.next().flatten();
                let state = match first {
                    Some(s) if states.all(|t| t == Some(s)) => s.clone(),
                    _ => MacroState::Unknown(reason.clone()),
                };
                (n.clone(), state)
            })
            .collect();
        self.map.extend(changes);
    }

    /// Whether a name is defined here, where that can be said.
    pub(crate) fn is_defined(&self, name: &str) -> Option<bool> {
        match self.map.get(name) {
            Some(MacroState::Defined(_)) => return Some(true),
            Some(MacroState::Undefined) => return Some(false),
            Some(MacroState::Unknown(_)) => return None,
            None => {}
        }
        let cuda = self.language == Language::Cuda;
        match name {
            "__cplusplus" | "__CUDACC__" => Some(cuda),
            "__STDC_VERSION__" => Some(!cuda),
            "__STDC__" | "__linux__" | "__linux" | "__unix__" | "__LP64__" => Some(true),
            "_WIN32" | "_WIN64" | "_MSC_VER" | "__APPLE__" | "__CYGWIN__" | "__MINGW32__" => Some(false),
            // kernels are read as nvcc reads them, and host files that we rewrote as they are built with CUDA
            "__CUDACC_RTC__" | "WW_NO_CUDA" => Some(false),
            _ if self.project_header => None,
            _ if crate::c::known::constant(name).is_some() => Some(self.system_header),
            _ if name.starts_with("__") || is_reserved(name) => None,
            _ => Some(false),
        }
    }

    fn predefined(&self, name: &str) -> Option<i128> {
        match name {
            "__cplusplus" if self.language == Language::Cuda => Some(201_703),
            "__STDC_VERSION__" if self.language == Language::C => Some(201_112),
            "__STDC__" | "__linux__" | "__linux" | "__unix__" | "__LP64__" | "__CUDACC__" => Some(1),
            _ => None,
        }
    }

    /// The value of a condition, where it can be said.
    pub(crate) fn condition(&self, tokens: &[MacroToken]) -> Option<bool> {
        // `defined` is taken out before substitution (C11 6.10.1p4).
        let mut plain: Vec<PToken> = Vec::with_capacity(tokens.len());
        let mut k = 0;
        while let Some(t) = tokens.get(k) {
            if &*t.text != "defined" {
                plain.push(PToken::of(t, Span::default()));
                k += 1;
                continue;
            }
            let (name, used) = match tokens.get(k + 1..)? {
                [a, n, b, ..] if &*a.text == "(" && &*b.text == ")" => (n, 4),
                [n, ..] => (n, 2),
                [] => return None,
            };
            let value = match self.is_defined(&name.text) {
                Some(true) => "1",
                Some(false) => "0",
                None => "?unknown",
            };
            plain.push(PToken {
                kind: Kind::Number,
                text: Text::Own(value.into()),
                spaced: true,
                span: Span::default(),
                expansion: 0,
                hide: None,
            });
            k += used;
        }
        let mut expander = Expander::new(self, "");
        let expanded = expander.list(plain);
        if !expander.rejects.is_empty() {
            return None;
        }
        let mut p = Condition { macros: self, tokens: &expanded, at: 0 };
        let v = p.ternary(0)?;
        if p.at != expanded.len() {
            return None;
        }
        v.map(|v| v != 0)
    }
}

/// `_Upper`: reserved for compilers and their libraries, so no statement about it is ours to make.
fn is_reserved(name: &str) -> bool {
    name.strip_prefix('_').is_some_and(|r| r.starts_with(|c: char| c.is_ascii_uppercase()))
}

/// Outer `None`: not a condition we can read. Inner `None`: a value we do not know.
type Value = Option<Option<i128>>;

struct Condition<'a> {
    macros: &'a Macros,
    tokens: &'a [PToken],
    at: usize,
}

impl Condition<'_> {
    fn peek(&self) -> &str {
        self.tokens.get(self.at).map_or("", |t| t.text(""))
    }
    fn ternary(&mut self, depth: u32) -> Value {
        if depth > MAX_DEPTH {
            return None;
        }
        let c = self.binary(0, depth)?;
        if self.peek() != "?" {
            return Some(c);
        }
        self.at += 1;
        let a = self.ternary(depth + 1)?;
        if self.peek() != ":" {
            return None;
        }
        self.at += 1;
        let b = self.ternary(depth + 1)?;
        Some(match c {
            Some(0) => b,
            Some(_) => a,
            None if a == b => a,
            None => None,
        })
    }
    fn binary(&mut self, min: u8, depth: u32) -> Value {
        let mut left = self.unary(depth)?;
        loop {
            let op = self.peek();
            let Some(op) = term::BinOp::ALL.into_iter().find(|o| o.symbol() == op) else {
                return Some(left);
            };
            if op.precedence() <= min {
                return Some(left);
            }
            self.at += 1;
            if depth > MAX_DEPTH {
                return None;
            }
            let right = self.binary(op.precedence(), depth + 1)?;
            left = apply(op, left, right);
        }
    }
    fn unary(&mut self, depth: u32) -> Value {
        if depth > MAX_DEPTH {
            return None;
        }
        let t = self.tokens.get(self.at)?;
        self.at += 1;
        let text = t.text("");
        match (t.kind, text) {
            (_, "!") => Some(self.unary(depth + 1)?.map(|v| (v == 0) as i128)),
            (_, "-") => Some(self.unary(depth + 1)?.and_then(i128::checked_neg)),
            (_, "+") => self.unary(depth + 1),
            (_, "~") => Some(self.unary(depth + 1)?.map(|v| !v)),
            (_, "(") => {
                let v = self.ternary(depth + 1)?;
                if self.peek() != ")" {
                    return None;
                }
                self.at += 1;
                Some(v)
            }
            (Kind::Number, "?unknown") => Some(None),
            (Kind::Number | Kind::Char, _) => {
                Some(crate::c::literal::integer(text, Language::C).map(|(v, _)| v))
            }
            (Kind::Ident, name) => {
                if self.peek() == "(" {
                    // `__has_include(…)` and the like: skip the arguments, know nothing.
                    let mut open = 0;
                    loop {
                        match self.peek() {
                            "(" => open += 1,
                            ")" => open -= 1,
                            "" => return None,
                            _ => {}
                        }
                        self.at += 1;
                        if open == 0 {
                            return Some(None);
                        }
                    }
                }
                if let Some(v) = self.macros.predefined(name) {
                    return Some(Some(v));
                }
                Some(match self.macros.is_defined(name) {
                    Some(false) => Some(0),
                    _ => None,
                })
            }
            _ => None,
        }
    }
}

fn apply(op: term::BinOp, a: Option<i128>, b: Option<i128>) -> Option<i128> {
    use term::BinOp::*;
    match (op, a, b) {
        (And, Some(0), _) | (And, _, Some(0)) => return Some(0),
        (Or, Some(x), _) | (Or, _, Some(x)) if x != 0 => return Some(1),
        _ => {}
    }
    let (a, b) = (a?, b?);
    let shift = u32::try_from(b).ok().filter(|&s| s < 64);
    match op {
        Add => a.checked_add(b),
        Sub => a.checked_sub(b),
        Mul => a.checked_mul(b),
        Div => a.checked_div(b),
        Rem => a.checked_rem(b),
        Shl => a.checked_shl(shift?),
        Shr => a.checked_shr(shift?),
        BitAnd => Some(a & b),
        BitOr => Some(a | b),
        BitXor => Some(a ^ b),
        Lt => Some((a < b) as i128),
        Le => Some((a <= b) as i128),
        Gt => Some((a > b) as i128),
        Ge => Some((a >= b) as i128),
        Eq => Some((a == b) as i128),
        Ne => Some((a != b) as i128),
        And => Some((a != 0 && b != 0) as i128),
        Or => Some((a != 0 || b != 0) as i128),
    }
}

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
    hide: Option<Rc<Hide>>,
}

impl PToken {
    fn of(t: &MacroToken, span: Span) -> PToken {
        PToken {
            kind: t.kind,
            text: Text::Own(t.text.clone()),
            spaced: t.spaced,
            span,
            expansion: 0,
            hide: None,
        }
    }
    pub(crate) fn text<'a>(&'a self, source: &'a str) -> &'a str {
        match &self.text {
            Text::Source => source.get(self.span.range()).unwrap_or(""),
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
    /// A macro changes its state here.
    Set(Arc<str>, MacroState),
    /// Something stands here that is not understood.
    Reject(RejectKind, Arc<str>, Span),
}

/// A gap that substitution left in the tokens as an identifier `__ww_reject_N`.
#[derive(Clone, Debug)]
pub(crate) struct Gap {
    pub kind: RejectKind,
    pub reason: Arc<str>,
}

pub(crate) const GAP: &str = "__ww_reject_";

/// Substitutes macros.
pub(crate) struct Expander<'a> {
    macros: std::borrow::Cow<'a, Macros>,
    source: &'a str,
    pub rejects: Vec<Gap>,
    uses: u32,
    steps: usize,
    depth: u32,
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
        }
    }

    /// Leaves a gap in the tokens.
    pub(crate) fn gap(&mut self, kind: RejectKind, reason: Arc<str>, span: Span, expansion: u32) -> PToken {
        let text = format!("{GAP}{}", self.rejects.len());
        self.rejects.push(Gap { kind, reason });
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
                if let Piece::Reject(kind, reason, span) = p {
                    gaps.push(self.gap(*kind, reason.clone(), *span, 0));
                }
            }
            let mut gaps = gaps.into_iter();
            let mut stream = pieces[k..end].iter().flat_map(|p| {
                let (range, gap) = match p {
                    Piece::Tokens(r) => (r.clone(), None),
                    _ => (0..0, gaps.next()),
                };
                let semicolon = gap.as_ref().map(|g| PToken {
                    kind: Kind::Punct,
                    text: Text::Own(";".into()),
                    hide: None,
                    ..g.clone()
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

    fn list(&mut self, tokens: Vec<PToken>) -> Vec<PToken> {
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
            let state = self.macros.get(t.text(self.source));
            match state {
                None | Some(MacroState::Undefined) => out.push(t),
                Some(MacroState::Unknown(why)) => {
                    let reason = format!("the macro `{}` is unknown: {why}", t.text(self.source));
                    let gap = self.gap(RejectKind::Macro, reason.into(), t.span, t.expansion);
                    out.push(gap);
                }
                Some(MacroState::Defined(m)) => {
                    let m = m.clone();
                    self.use_of(t, &m, input, out);
                }
            }
        }
        self.depth -= 1;
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
                let right: Vec<PToken> = match index(next) {
                    Some(i) => args.get(i)?.iter().cloned().map(place).collect(),
                    None => vec![place(PToken::of(next, span))],
                };
                let mut right = right.into_iter();
                match (out.pop(), right.next()) {
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
                    (None, None) => {}
                }
                out.extend(right);
                k += 2;
                continue;
            }
            match index(t) {
                Some(i) if pasted_next => {
                    // Before ## an argument is not expanded; an empty one leaves nothing to paste to, which we refuse.
                    let arg = args.get(i)?;
                    if arg.is_empty() {
                        return None;
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
        Some(out)
    }
}
