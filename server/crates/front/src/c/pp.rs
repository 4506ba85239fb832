//! The preprocessor: macro tables, token substitution as C11 6.10.3 has it, and three-valued conditions.
//!
//! Substitution happens on tokens, before parsing, so that a macro means what it means to a compiler, whatever
//! parentheses its author forgot. What comes out of a macro has the span of the use.
//!
//! A name that an unread header may define is neither defined nor undefined. Deliberately absent: finding and reading
//! headers ([`crate::c::headers`], [`crate::c::unit`]).

pub(crate) mod asked;
mod condition;
mod expand;
pub(crate) mod pack;
pub(crate) mod predefined;

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::c::dialect::Dialect;
use crate::c::lex::{self, Kind};
use crate::c::vendors;
use crate::limits::c_pp::{FEW, MAX_DEPTH};
use crate::Shared;

pub(crate) use expand::{is_renumbering, Expander, Gap, PToken, Piece, Spliced, Text, GAP};

/// A token of a macro's replacement list.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct MacroToken {
    kind: Kind,
    text: Arc<str>,
    spaced: bool,
}

impl MacroToken {
    /// A number of our own.
    pub(crate) fn number(text: &str) -> MacroToken {
        MacroToken { kind: Kind::Number, text: text.into(), spaced: true }
    }
    pub(crate) fn kind(&self) -> Kind {
        self.kind
    }
    pub(crate) fn text(&self) -> &Arc<str> {
        &self.text
    }
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Macro {
    /// `None`: object-like.
    params: Option<Vec<Arc<str>>>,
    variadic: bool,
    body: Vec<MacroToken>,
}

impl Macro {
    /// Whether it is replaced by nothing or by `1`.
    pub(crate) fn is_mere_mark(&self) -> bool {
        self.is_empty() || (self.params.is_none() && matches!(self.body.as_slice(), [t] if &*t.text == "1"))
    }
    /// One without parameters.
    pub(crate) fn object(text: &str) -> Macro {
        Macro { params: None, variadic: false, body: macro_tokens(text) }
    }
    /// What replaces it.
    pub(crate) fn body(&self) -> &[MacroToken] {
        &self.body
    }
    /// What replaces one without parameters.
    pub(crate) fn object_words(&self) -> Option<Vec<Arc<str>>> {
        self.params.is_none().then(|| self.body.iter().map(|t| t.text.clone()).collect())
    }
    pub(crate) fn is_function_like(&self) -> bool {
        self.params.is_some()
    }
    /// Whether what replaces it ends as a declaration or a function does.
    pub(crate) fn ends_item(&self) -> bool {
        self.body.last().is_some_and(|t| matches!(&*t.text, ";" | "}"))
    }
    /// Whether it is replaced by nothing.
    pub(crate) fn is_empty(&self) -> bool {
        self.params.is_none() && self.body.is_empty()
    }
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum MacroState {
    Defined(Arc<Macro>),
    Undefined,
    /// Defined differently, or not at all, depending on a condition that is not known; with that reason.
    Unknown(Arc<str>),
    /// The compiler defines it so unless its options, which are not known, say otherwise: known to the system's headers
    /// alone, which mean the same with all options.
    ByOptions(Arc<Macro>),
    /// Defined by the system's headers, for something whose meaning is known by name: never substituted, so that it
    /// means the same whether or not the headers are there (C11 7.1.4p1: a macro of a library function does what the
    /// function does).
    Library,
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
    Include(Included),
    /// `#pragma pack` and its like.
    Pack(pack::Op),
    /// Other pragmas, `#error`, `#line` and unknown ones.
    Other,
}

/// What an `#include` asks for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Included {
    /// Between the quotes or brackets; empty where macros make the name.
    pub name: Arc<str>,
    pub quoted: bool,
    /// `#include_next`
    pub next: bool,
    /// What stands after the word.
    pub tokens: Vec<MacroToken>,
}

/// The name between `<…>` or `"…"` at the start of a text, and whether it is quoted.
pub(crate) fn header_name(text: &str) -> Option<(&str, bool)> {
    let (close, quoted) = match text.as_bytes().first()? {
        b'<' => ('>', false),
        b'"' => ('"', true),
        _ => return None,
    };
    let rest = text.get(1..)?;
    let name = rest.get(..rest.find(close)?)?;
    (!name.is_empty() && !name.contains('\n')).then_some((name, quoted))
}

/// A directive as people are shown it: on one line, without its comments.
pub(crate) fn in_one_line(directive: &str) -> std::sync::Arc<str> {
    let mut text = String::with_capacity(directive.len());
    let mut rest = directive;
    while let Some((before, after)) = rest.split_once("/*") {
        text.push_str(before);
        text.push(' ');
        rest = after.split_once("*/").map_or("", |(_, behind)| behind);
    }
    text.push_str(rest);
    let code = text.split_once("//").map_or(&*text, |(code, _)| code);
    code.split_whitespace().collect::<Vec<_>>().join(" ").into()
}

/// The name in `!defined NAME` or `!defined(NAME)`, if that is all of a condition.
pub(crate) fn not_defined(tokens: &[MacroToken]) -> Option<Arc<str>> {
    let texts: Vec<&str> = tokens.iter().map(|t| &*t.text).collect();
    let name = match texts.as_slice() {
        ["!", "defined", _] => tokens.get(2),
        ["!", "defined", "(", _, ")"] => tokens.get(3),
        _ => None,
    }?;
    (name.kind == Kind::Ident).then(|| name.text.clone())
}

fn macro_tokens(text: &str) -> Vec<MacroToken> {
    lex::lex(text)
        .tokens
        .iter()
        .filter(|t| t.kind != Kind::Directive)
        .map(|t| {
            let spelled = text.get(t.span().range()).unwrap_or("");
            let usual = if t.kind == Kind::Punct { lex::usual(spelled) } else { spelled };
            MacroToken { kind: t.kind, text: usual.into(), spaced: t.spaced }
        })
        .collect()
}

/// The tokens of a text.
pub(crate) fn words(text: &str) -> Vec<Arc<str>> {
    macro_tokens(text).into_iter().map(|t| t.text).collect()
}

/// Reads a directive line, `#` included.
pub(crate) fn line(text: &str) -> Line {
    // A leading blank keeps a `#` of the body from being taken for a directive's.
    let tokens = macro_tokens(text.strip_prefix("%:").or(text.get(1..)).unwrap_or(""));
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
        "pragma" => {
            let words: Vec<&str> = rest.iter().map(|t| &*t.text).collect();
            pack::read(&words).map_or(Line::Other, Line::Pack)
        }
        "else" => Line::Else,
        "endif" => Line::Endif,
        "include" | "include_next" | "import" => {
            let spelled = text.find(&*head.text).and_then(|k| text.get(k + head.text.len()..)).unwrap_or("");
            let (name, quoted) = header_name(spelled.trim_start()).unwrap_or(("", true));
            let next = &*head.text == "include_next";
            Line::Include(Included { name: name.into(), quoted, next, tokens: rest.to_vec() })
        }
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
            _ if variadic => return None,
            (",", _) if k % 2 == 1 => {}
            ("...", _) if k % 2 == 0 => {
                variadic = true;
                params.push("__VA_ARGS__".into());
            }
            // GNU's `args...`: the last parameter takes the rest under its own name.
            ("...", _) if k % 2 == 1 => variadic = true,
            (_, Kind::Ident) if k % 2 == 0 => params.push(t.text.clone()),
            _ => return None,
        }
    }
    Some(Macro { params: Some(params), variadic, body: rest.get(close + 1..)?.to_vec() })
}

/// The macros at a point of a file.
#[derive(Clone, Debug)]
pub(crate) struct Macros {
    /// The compiler's own, which many documents share.
    base: Arc<FxHashMap<Arc<str>, MacroState>>,
    /// Later ones; they hide those of `base`. Copies share them: headers define thousands, and every function of theirs
    /// keeps the macros it was read with.
    middle: Shared<Arc<str>, MacroState>,
    /// The latest, at most [`FEW`]; they hide the others.
    map: FxHashMap<Arc<str>, MacroState>,
    pub(crate) dialect: &'static Dialect,
    /// What a compiler said of itself; `base` holds the macros.
    asked: Option<Arc<asked::Predefined>>,
    /// A header of the project, or one of the system, was not found.
    project_header: bool,
    system_header: bool,
    /// One of the toolkit's was not found.
    toolkit_header: bool,
    /// Whether a header of the system is being read: what it asks of names reserved for the compiler, no header of a
    /// project answers (C11 7.1.3).
    pub(crate) in_system: bool,
    /// Whether some macro so far stands for a brace without its counterpart.
    braces: bool,
    /// Whether a macro was defined that makes a pragma.
    operators: bool,
}

impl Macros {
    pub(crate) fn new(dialect: &'static Dialect, options: &crate::Options) -> Macros {
        let asked = options.compiler.clone().filter(|c| c.language().name == dialect.language);
        let mut m = Macros {
            base: asked.as_ref().map_or_else(|| predefined::all(dialect), |c| c.table()),
            asked,
            middle: Shared::default(),
            map: FxHashMap::default(),
            dialect,
            project_header: false,
            system_header: false,
            toolkit_header: false,
            in_system: false,
            braces: false,
            operators: false,
        };
        for (name, value) in &options.defines {
            if let Line::Define(n, d) = line(&format!("#define {name} {value}")) {
                m.map.insert(n, MacroState::Defined(d));
            }
        }
        for name in &options.undefines {
            m.map.insert(name.as_str().into(), MacroState::Undefined);
        }
        m
    }

    pub(crate) fn get(&self, name: &str) -> Option<&MacroState> {
        self.map.get(name).or_else(|| self.middle.get(name)).or_else(|| self.base.get(name))
    }
    /// Whether some macro may stand for a brace without its counterpart.
    pub(crate) fn has_braces(&self) -> bool {
        self.braces
    }
    /// The braces that a macro stands for, `true` for an opening one, those of macros in its definition too.
    pub(crate) fn braces_of(&self, name: &str, depth: u32) -> Vec<bool> {
        let Some(MacroState::Defined(m)) = self.get(name).filter(|_| depth < 8) else { return Vec::new() };
        let mut out = Vec::new();
        for t in &m.body {
            match &*t.text {
                "{" => out.push(true),
                "}" => out.push(false),
                word if t.kind == Kind::Ident && word != name => out.extend(self.braces_of(word, depth + 1)),
                _ => {}
            }
        }
        out
    }
    pub(crate) fn set(&mut self, name: Arc<str>, state: MacroState) {
        if let MacroState::Defined(m) = &state {
            let count = |b: &str| m.body.iter().filter(|t| &*t.text == b).count();
            self.braces |= count("{") != count("}");
        }
        self.operators |=
            matches!(&state, MacroState::Defined(m) if m.body.iter().any(|t| pack::is_operator(&t.text)));
        self.map.insert(name, state);
        if self.map.len() > FEW {
            self.freeze();
        }
    }
    /// The text that these tokens make once macros are replaced.
    pub(crate) fn text_of(&self, tokens: &[MacroToken]) -> Option<String> {
        let plain = tokens.iter().map(|t| PToken::of(t, base::Span::default())).collect();
        let mut expander = Expander::new(self, "");
        let expanded = expander.list(plain);
        if !expander.rejects.is_empty() {
            return None;
        }
        let mut out = String::new();
        for (k, t) in expanded.iter().enumerate() {
            if k > 0 && t.spaced {
                out.push(' ');
            }
            out.push_str(t.text(""));
        }
        Some(out)
    }
    /// A header was not found.
    pub(crate) fn missing(&mut self, system: bool) {
        if system {
            self.system_header = true;
        } else {
            self.project_header = true;
        }
    }
    /// One of the toolkit was not found; they include the library's.
    pub(crate) fn missing_of_the_toolkit(&mut self) {
        (self.system_header, self.toolkit_header) = (true, true);
    }
    /// Makes all macros so far a part that copies share.
    pub(crate) fn freeze(&mut self) {
        self.middle.extend(self.map.drain());
    }
    /// After a condition that is not known: what the arms (and, without `#else`, doing nothing) agree on stays, the
    /// rest is unknown.
    pub(crate) fn merge(&mut self, arms: &[Macros], reason: &Arc<str>) {
        let mut names: FxHashSet<&Arc<str>> = FxHashSet::default();
        for a in arms {
            // what an arm did not spill it shares with what stood before
            let spilled = (!a.middle.ptr_eq(&self.middle)).then_some(&a.middle);
            let later = spilled.into_iter().flatten().chain(&a.map);
            names.extend(later.filter(|(k, _)| self.get(k) != a.get(k)).map(|(k, _)| k));
            self.project_header |= a.project_header;
            self.system_header |= a.system_header;
            self.toolkit_header |= a.toolkit_header;
            self.braces |= a.braces;
            self.operators |= a.operators;
        }
        let changes: Vec<(Arc<str>, MacroState)> = names
            .into_iter()
            .map(|n| {
                let mut states = arms.iter().map(|a| a.get(n));
                let first = states.next().flatten();
                let state = match first {
                    Some(s) if states.all(|t| t == Some(s)) => s.clone(),
                    Some(s)
                        if is_annotation(n, s) && arms.iter().all(|a| a.get(n).is_none_or(|t| t == s)) =>
                    {
                        s.clone()
                    }
                    _ => MacroState::Unknown(reason.clone()),
                };
                (n.clone(), state)
            })
            .collect();
        for (name, state) in changes {
            self.set(name, state);
        }
    }

    /// Whether a name is defined here, where that can be said.
    pub(crate) fn is_defined(&self, name: &str) -> Option<bool> {
        match self.get(name) {
            Some(MacroState::Defined(_) | MacroState::Library) => return Some(true),
            Some(MacroState::Undefined) => return Some(false),
            Some(MacroState::ByOptions(_)) => return self.in_system.then_some(true),
            Some(MacroState::Unknown(_)) => return None,
            None => {}
        }
        if let Some(taken) = self.dialect.switch(name) {
            return Some(taken);
        }
        if predefined::by_options(name) {
            let known = self.in_system || self.asked.as_ref().is_some_and(|c| c.with_options());
            return known.then_some(false);
        }
        match name {
            "__LINE__" | "__FILE__" | "__DATE__" | "__TIME__" | "__COUNTER__" | "__INCLUDE_LEVEL__"
            | "__BASE_FILE__" | "__TIMESTAMP__" | "__has_include" | "__has_include_next"
            | "__has_attribute" | "__has_builtin" => Some(true),
            "__has_feature" | "__has_extension" => self.asked.as_ref().and_then(|c| c.has_features()),
            "__has_c_attribute" | "__has_cpp_attribute" => None,
            // which of them a compiler defines depends on how it is called
            _ if predefined::is_compilers_choice(name) => self.asked.as_ref().map(|_| false),
            _ if predefined::is_absent(name, self.dialect) => Some(false),
            _ if self.project_header && !(self.in_system && is_for_compilers(name)) => None,
            _ if self.toolkit_header && vendors::may_define(name) => None,
            _ if crate::c::known::constant(name).is_some() => Some(self.system_header),
            // Reserved for compilers and their libraries: what those of a machine without headers say is not known. In a
            // header of theirs it is their own mark, which another header that is missing here does not set.
            _ if is_for_compilers(name) => (!self.system_header || self.in_system).then_some(false),
            _ => Some(false),
        }
    }

    /// The compiler that was asked what it defines.
    pub(crate) fn asked(&self) -> Option<&asked::Predefined> {
        self.asked.as_deref()
    }
    /// Whether a name is defined by the compiler, as long as no text says otherwise.
    pub(crate) fn is_predefined(&self, name: &str) -> bool {
        match &self.asked {
            Some(c) => c.table().contains_key(name),
            None => predefined::all(self.dialect).contains_key(name),
        }
    }

    /// The value of a name in a condition that the library defines.
    fn library_value(&self, name: &str) -> Option<i128> {
        match (self.get(name)?, crate::c::known::constant(name)?) {
            (MacroState::Library, crate::c::known::KnownConstant::Int(v, _)) => Some(v),
            _ => None,
        }
    }
}

/// Whether a macro is a mark that says nothing to a compiler, such as `__isl_give`: a reserved name for nothing. Where a
/// missing header may have defined it before, it was another mark in the same places.
fn is_annotation(name: &str, state: &MacroState) -> bool {
    name.starts_with("__") && matches!(state, MacroState::Defined(m) if m.is_empty())
}

/// `__any` or `_Upper`: reserved for compilers and their libraries.
fn is_for_compilers(name: &str) -> bool {
    name.starts_with("__")
        || name.strip_prefix('_').is_some_and(|r| r.starts_with(|c: char| c.is_ascii_uppercase()))
}
