//! What a compiler says it defines before the first line (`-dM -E` of an empty text), held against what we take for granted.
//!
//! The text comes from a program that runs outside of this room, and nothing in it is believed that is not of the form
//! asked for. An answer of a machine whose types are laid out otherwise than ours is refused: its macros would speak of
//! another program than the one that is analyzed.

use std::sync::Arc;

use super::{line, predefined, Line, MacroState};
use crate::c::unit::hash;
use crate::Language;

/// Fewer lines than any compiler that speaks of itself so; more than any.
const LEAST: usize = 100;
const MOST: usize = 20_000;

/// What a compiler defines, of texts in one language.
#[derive(Debug)]
pub struct Predefined {
    name: Arc<str>,
    language: Language,
    /// Whether it was asked with the options of the text.
    options: bool,
    table: Arc<predefined::Table>,
    key: u64,
}

impl PartialEq for Predefined {
    fn eq(&self, other: &Predefined) -> bool {
        (&self.name, self.language, self.options, self.key)
            == (&other.name, other.language, other.options, other.key)
    }
}
impl Eq for Predefined {}

impl Predefined {
    /// Reads the answer to `-dM -E -x c` (C) or `-x c++` (CUDA, for the host's part). `options`: it was given with all
    /// options that the text is compiled with; else what options decide stays open. The error says in words why the
    /// answer is not used.
    pub fn read(language: Language, answer: &str, options: bool) -> Result<Predefined, String> {
        let mut table = predefined::Table::default();
        let mut read = 0usize;
        for text in answer.lines().filter(|l| !l.trim().is_empty()) {
            read += 1;
            let Line::Define(name, m) = line(text) else {
                let shown: String = text.chars().take(40).collect();
                return Err(format!("it answered `{shown}`, which is no definition"));
            };
            let state = match predefined::by_options(&name) && !options {
                true => MacroState::ByOptions(m),
                false => MacroState::Defined(m),
            };
            table.insert(name, state);
        }
        if !(LEAST..=MOST).contains(&read) {
            return Err(format!("it answered {read} lines"));
        }
        let value = |name: &str| match table.get(name) {
            Some(MacroState::Defined(m) | MacroState::ByOptions(m)) => {
                Some(m.body.iter().map(|t| &*t.text).collect::<Vec<_>>().join(" "))
            }
            _ => None,
        };
        for text in predefined::layout() {
            let (name, ours) = text.split_once(' ').unwrap_or((text, ""));
            match value(name) {
                Some(v) if v == ours => {}
                // not every compiler has every name
                None => {}
                Some(v) if same_type(&v, ours) => {}
                Some(v) => {
                    let why = "it is for a machine with other types";
                    return Err(format!("{why}: `{name}` is `{v}` there and `{ours}` here"));
                }
            }
        }
        let must = ["__STDC__", "__CHAR_BIT__", "__SIZEOF_POINTER__", "__SIZEOF_LONG__", "__x86_64__"];
        if let Some(missing) = must.iter().find(|n| value(n).is_none()) {
            return Err(format!("it does not define `{missing}`"));
        }
        if value("__CHAR_UNSIGNED__").is_some() {
            return Err("`char` has no sign there".to_owned());
        }
        let version = |names: [&str; 3]| names.map(|n| value(n).unwrap_or_default()).join(".");
        let name = if value("__clang__").is_some() {
            format!("clang {}", version(["__clang_major__", "__clang_minor__", "__clang_patchlevel__"]))
        } else if value("__GNUC__").is_some() {
            format!("gcc {}", version(["__GNUC__", "__GNUC_MINOR__", "__GNUC_PATCHLEVEL__"]))
        } else {
            return Err("it is neither gcc nor clang".to_owned());
        };
        if let Some(compiler) = &language.compiler {
            for text in compiler.besides.lines().filter(|l| !l.is_empty()) {
                if let Line::Define(n, m) = line(&format!("#define {text}")) {
                    table.insert(n, MacroState::Defined(m));
                }
            }
        }
        let key = hash((answer, language.name, options));
        Ok(Predefined { name: name.into(), language, options, table: Arc::new(table), key })
    }

    /// `gcc 12.2.0`
    pub fn name(&self) -> &str {
        &self.name
    }
    /// Of which texts.
    pub fn language(&self) -> Language {
        self.language
    }
    /// Whether what options decide is known.
    pub fn with_options(&self) -> bool {
        self.options
    }
    /// Different for different answers.
    pub(crate) fn key(&self) -> u64 {
        self.key
    }
    pub(crate) fn table(&self) -> Arc<predefined::Table> {
        self.table.clone()
    }
    /// Whether it has `__has_feature`: clang does, gcc since its version 14.
    pub(crate) fn has_features(&self) -> Option<bool> {
        match self.name.split_once(' ')? {
            ("clang", _) => Some(true),
            (_, version) => Some(version.split('.').next()?.parse::<u32>().ok()? >= 14),
        }
    }
}

/// `long unsigned int` and `unsigned long`: the same words, but for `int`.
fn same_type(a: &str, b: &str) -> bool {
    let words = |t: &str| {
        let mut words: Vec<String> = t.split(' ').filter(|w| *w != "int").map(str::to_owned).collect();
        words.sort();
        words
    };
    words(a) == words(b)
}
