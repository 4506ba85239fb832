//! The preprocessor: macro tables, token substitution as C11 6.10.3 has it, and three-valued conditions.
//!
//! Substitution happens on tokens, before parsing, so that a macro means what it means to a compiler, whatever
//! parentheses its author forgot. What comes out of a macro has the span of the use.
//!
//! Deliberately absent: reading includes. A name that an unread header may define is neither defined nor undefined.

mod condition;
mod expand;

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::lex::{self, Kind};
use crate::Language;

pub(crate) use expand::{Expander, Gap, PToken, Piece, Text, GAP};

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
}

/// `_Upper`: reserved for compilers and their libraries, so no statement about it is ours to make.
fn is_reserved(name: &str) -> bool {
    name.strip_prefix('_').is_some_and(|r| r.starts_with(|c: char| c.is_ascii_uppercase()))
}
