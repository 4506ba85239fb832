//! `#pragma pack`: to how many bytes members are aligned at most, with the stack that its forms push and pop (GCC manual,
//! "Structure-Layout Pragmas").
//!
//! The state is kept among the macros, under a name that no program can define: so an arm of a condition that is not
//! known, a header and a remembered run of headers treat it as they treat macros.

use std::sync::Arc;

use rustc_hash::FxHashSet;

use super::{Macro, MacroState, MacroToken, Macros};
use crate::c::lex::Kind;
use crate::limits::c_pp_pack::MAX_STACK;

/// The name among the macros.
pub(crate) const PACK: &str = "#pragma pack";
/// A value that is not known, or any stack below.
const UNKNOWN: &str = "?";

/// The most bytes that members are aligned to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Pack {
    Most(u64),
    /// As their types ask for.
    Natural,
    Unknown,
}

/// What such a pragma does.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Op {
    Set(Value),
    Push(Option<Arc<str>>, Option<Value>),
    Pop(Option<Arc<str>>),
    /// Compilers differ, or it is another pragma on the layout of structs.
    Unknown,
}

/// The number in a pragma; 0: as types ask for.
pub(crate) type Value = u64;

/// What a pragma's words (after `pragma`) do to the layout of structs; `None`: nothing.
pub(crate) fn read(words: &[&str]) -> Option<Op> {
    match words {
        ["pack", rest @ ..] => pack(rest),
        ["ms_struct" | "scalar_storage_order", ..] | ["options" | "align", ..] => Some(Op::Unknown),
        _ => None,
    }
}

fn pack(words: &[&str]) -> Option<Op> {
    let inner = match words {
        // without parentheses it says nothing
        ["(", inner @ .., ")"] => inner,
        _ => return Some(Op::Unknown),
    };
    let is_word = |w: &str| w.bytes().next().is_some_and(crate::c::lex::is_ident_start);
    Some(match inner {
        [] => Op::Set(0),
        ["push"] => Op::Push(None, None),
        ["pop"] => Op::Pop(None),
        ["push", ",", id] if is_word(id) => Op::Push(Some((*id).into()), None),
        ["pop", ",", id] if is_word(id) => Op::Pop(Some((*id).into())),
        ["push", ",", id, ",", n] if is_word(id) => match number(n)? {
            Some(n) => Op::Push(Some((*id).into()), Some(n)),
            None => Op::Unknown,
        },
        ["push", ",", n] => match number(n)? {
            Some(n) => Op::Push(None, Some(n)),
            None => Op::Unknown,
        },
        [n] => match number(n)? {
            Some(n) => Op::Set(n),
            None => Op::Unknown,
        },
        _ => Op::Unknown,
    })
}

/// `Some(None)`: not a number that can be read. `None`: one that compilers ignore with a warning.
fn number(word: &str) -> Option<Option<u64>> {
    match crate::c::literal::integer(word, &crate::c::dialect::C) {
        Some((0, _)) => Some(Some(0)),
        Some((n @ (1 | 2 | 4 | 8 | 16), _)) => Some(u64::try_from(n).ok()),
        Some(_) => None,
        None => Some(None),
    }
}

/// The words that make a pragma inside a line.
pub(crate) fn is_operator(word: &str) -> bool {
    matches!(word, "_Pragma" | "__pragma")
}

/// The words of `_Pragma("…")`'s string.
pub(crate) fn of_string(literal: &str) -> Option<Op> {
    let text = literal.strip_prefix('"')?.strip_suffix('"')?.replace("\\\"", "\"");
    let words = super::words(&text);
    read(&words.iter().map(|w| &**w).collect::<Vec<_>>())
}

impl Macros {
    /// What holds here.
    pub(crate) fn pack(&self) -> Pack {
        self.stack().after(&[])
    }

    /// What a pragma makes of it.
    pub(crate) fn apply_pack(&mut self, op: &Op) {
        let stack = applied(self.stack().0, op);
        let body =
            stack.into_iter().map(|text| MacroToken { kind: Kind::Number, text, spaced: true }).collect();
        let state = Macro { params: None, variadic: false, body };
        self.set(PACK.into(), MacroState::Defined(Arc::new(state)));
    }

    /// Whether these words, or the macros they use, may make a `#pragma pack`.
    pub(crate) fn may_pack<'t>(&'t self, words: impl Iterator<Item = &'t str>, has_operator: bool) -> bool {
        if !self.operators && !has_operator {
            return false;
        }
        let (mut operator, mut pack) = (false, false);
        let mut seen: FxHashSet<&str> = FxHashSet::default();
        let mut open: Vec<&str> = words.collect();
        while let Some(word) = open.pop() {
            if !seen.insert(word) {
                continue;
            }
            operator |= is_operator(word);
            pack |= word.contains("pack");
            if let Some(MacroState::Defined(m)) = self.get(word) {
                open.extend(m.body.iter().map(|t| &*t.text));
            }
        }
        operator && pack
    }

    /// What was pushed, then what holds.
    pub(crate) fn stack(&self) -> Stack {
        Stack(match self.get(PACK) {
            None => vec!["0".into()],
            Some(MacroState::Defined(m)) => m.body.iter().map(|t| t.text.clone()).collect(),
            Some(_) => vec![UNKNOWN.into(), UNKNOWN.into()],
        })
    }
}

/// What was pushed, then what holds.
#[derive(Clone, Debug)]
pub(crate) struct Stack(Vec<Arc<str>>);

impl Stack {
    /// What holds after these pragmas.
    pub(crate) fn after(&self, ops: &[Op]) -> Pack {
        let stack = ops.iter().fold(self.0.clone(), applied);
        current(stack.last().map_or(UNKNOWN, |s| s))
    }
}

fn current(entry: &str) -> Pack {
    match value(entry).parse() {
        Ok(0) => Pack::Natural,
        Ok(n) => Pack::Most(n),
        Err(_) => Pack::Unknown,
    }
}

/// An entry is the number, and after a colon the name it was pushed under.
fn value(entry: &str) -> &str {
    entry.split(':').next().unwrap_or("")
}

fn applied(mut stack: Vec<Arc<str>>, op: &Op) -> Vec<Arc<str>> {
    let unknown = || vec![Arc::from(UNKNOWN), Arc::from(UNKNOWN)];
    let Some(now) = stack.pop() else { return unknown() };
    match op {
        Op::Set(n) => stack.push(n.to_string().into()),
        Op::Push(id, n) => {
            if stack.len() >= MAX_STACK {
                return unknown();
            }
            let saved = match id {
                Some(id) => format!("{}:{id}", value(&now)).into(),
                None => value(&now).into(),
            };
            stack.push(saved);
            stack.push(n.map_or_else(|| value(&now).into(), |n| n.to_string().into()));
        }
        Op::Pop(None) => match stack.pop() {
            // nothing was pushed: nothing happens
            None => stack.push(now),
            Some(saved) if &*saved == UNKNOWN && stack.is_empty() => return unknown(),
            Some(saved) => stack.push(value(&saved).into()),
        },
        Op::Pop(Some(id)) => {
            let named = |entry: &Arc<str>| entry.split_once(':').is_some_and(|(_, name)| *name == **id);
            match stack.iter().rposition(named) {
                Some(k) => {
                    let saved: Arc<str> = value(&stack[k]).into();
                    stack.truncate(k);
                    stack.push(saved);
                }
                None if stack.first().is_some_and(|s| &**s == UNKNOWN) => return unknown(),
                None => stack.push(now),
            }
        }
        Op::Unknown => return unknown(),
    }
    stack
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::c::dialect;
    use crate::c::pp::{line, Line};
    use crate::Options;

    fn packs(lines: &[&str]) -> Vec<Pack> {
        let mut macros = Macros::new(&dialect::C, &Options::default());
        let mut out = Vec::new();
        for text in lines {
            if let Line::Pack(op) = line(text) {
                macros.apply_pack(&op);
            }
            out.push(macros.pack());
        }
        out
    }

    #[test]
    fn pushed_and_popped_as_gcc_does() {
        use Pack::*;
        let lines = [
            "#pragma pack(2)",
            "#pragma pack(push)",
            "#pragma pack(1)",
            "#  pragma pack ( push , 4 )",
            "#pragma pack(pop)",
            "#pragma pack(pop)",
            "#pragma pack(pop)",
            "#pragma pack()",
            "#pragma pack(push, foo, 1)",
            "#pragma pack(push, 2)",
            "#pragma pack(pop, foo)",
            "#pragma pack(3)",
            "#pragma pack(pop, 2)",
            "#pragma pack(8)",
            "#pragma pack(pop)",
            "#pragma pack(TWO)",
            "#pragma pack(push, 1)",
            "#pragma pack(pop)",
            "#pragma once",
        ];
        let expected = [
            Most(2),
            Most(2),
            Most(1),
            Most(4),
            Most(1),
            Most(2),
            Most(2),
            Natural,
            Most(1),
            Most(2),
            Natural,
            Natural,
            Unknown,
            Most(8),
            Unknown,
            Unknown,
            Most(1),
            Unknown,
            Unknown,
        ];
        assert_eq!(packs(&lines), expected);
    }

    #[test]
    fn as_an_operator() {
        let ops: Vec<Op> = ["\"pack(push, 1)\"", "\"pack(pop)\""].into_iter().filter_map(of_string).collect();
        let start = Macros::new(&dialect::C, &Options::default()).stack();
        assert_eq!(start.after(&ops[..1]), Pack::Most(1));
        assert_eq!(start.after(&ops), Pack::Natural);
        assert_eq!(of_string("\"omp parallel\""), None);
    }
}
