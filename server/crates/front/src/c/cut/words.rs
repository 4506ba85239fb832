//! What a stretch of text may mention once macros are replaced, where all of it is seen.

use std::sync::Arc;

use crate::c::lex::Kind;
use crate::c::pp::{MacroState, Macros};
use crate::limits::c_cut_words::MAX_WORDS;

/// The words of a text once macros are replaced.
pub(super) struct Words<'a> {
    macros: &'a Macros,
    found: Vec<Arc<str>>,
    steps: usize,
}

impl<'a> Words<'a> {
    pub(super) fn new(macros: &'a Macros) -> Words<'a> {
        Words { macros, found: Vec::new(), steps: 0 }
    }

    /// All of them, each once.
    pub(super) fn found(self) -> Arc<[Arc<str>]> {
        self.found.into()
    }

    /// `called`: whether a parenthesis follows. `open`: the macros it comes out of, which are not replaced again.
    pub(super) fn word(&mut self, word: &Arc<str>, called: bool, open: &mut Vec<Arc<str>>) -> Option<()> {
        self.steps += 1;
        if is_way_out(word) || self.steps > MAX_WORDS {
            return None;
        }
        match self.macros.get(word) {
            Some(MacroState::Defined(m)) if !open.contains(word) => {
                // without its arguments it may get them from what follows
                if m.is_function_like() && !called {
                    return None;
                }
                open.push(word.clone());
                let mut body = m.body().iter().peekable();
                while let Some(t) = body.next() {
                    match &**t.text() {
                        ":" | "#" | "##" => return None,
                        _ if t.kind() == Kind::Ident => {
                            let called = body.peek().is_some_and(|n| &**n.text() == "(");
                            self.word(t.text(), called, open)?;
                        }
                        _ => {}
                    }
                }
                open.pop();
                return Some(());
            }
            Some(MacroState::Unknown(_) | MacroState::ByOptions(_)) => return None,
            // a header that is missing may define it
            None if self.macros.is_defined(word).is_none() => return None,
            _ => {}
        }
        if !self.found.contains(word) {
            self.found.push(word.clone());
        }
        Some(())
    }
}

/// Words with which control leaves by other ways than to the next statement, or text is not C's.
fn is_way_out(word: &str) -> bool {
    let plain = word.trim_matches('_');
    matches!(
        plain,
        "goto"
            | "return"
            | "break"
            | "continue"
            | "case"
            | "default"
            | "asm"
            | "setjmp"
            | "sigsetjmp"
            | "longjmp"
    ) || matches!(plain, "vfork" | "getcontext" | "savectx" | "builtin_setjmp" | "builtin_longjmp" | "Pragma")
}
