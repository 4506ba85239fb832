//! What attributes say: `__attribute__((…))`, `[[…]]`, `__declspec(…)` and assembler names, read off the tokens before
//! the parser sees the rest. One function reads every list into one struct; whoever lowers a declaration asks for the
//! lists that stand in and right behind its nodes.
//!
//! Deliberately absent: attributes that only advise (`noinline`, `unused`, `hot`) and those whose promise is the
//! user's to keep (`const`, `pure`): leaving them out says less, never more.

use std::sync::Arc;

use term::RejectKind;
use tree_sitter::Node;

use crate::c::asks::Asks;
use crate::c::env::{Export, Exported};
use crate::c::{Entity, Lower};

/// What the attributes of a declaration change of its meaning.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(crate) struct Attributes {
    /// Another definition may take the place of this one when the program is linked.
    pub weak: bool,
    /// The thing is also, or really, the one of this name (`alias("x")`, `weakref("x")`, `__asm__("x")`); for `ifunc`
    /// the function that chooses.
    pub other_name: Option<Arc<str>>,
    /// The function that is called with the variable's address where its scope ends.
    pub cleanup: Option<Arc<str>>,
    /// What is asked of a type's layout.
    pub layout: Asks,
}

impl Attributes {
    /// Both together.
    pub(crate) fn join(&mut self, other: &Attributes) {
        self.weak |= other.weak;
        if self.other_name.is_none() {
            self.other_name = other.other_name.clone();
        }
        if self.cleanup.is_none() {
            self.cleanup = other.cleanup.clone();
        }
        self.layout.extend(&other.layout);
    }
    /// Whether nothing is said that matters.
    pub(crate) fn is_empty(&self) -> bool {
        *self == Attributes::default()
    }
}

/// Reads the tokens of an attribute list, its keyword and parentheses included: words are names with or without two
/// underscores on both sides, each perhaps followed by a group of arguments.
pub(crate) fn read(tokens: &[&str]) -> Attributes {
    let mut out = Attributes::default();
    let assembler = matches!(tokens.first(), Some(&("__asm__" | "__asm" | "asm")));
    if assembler {
        out.other_name = Some(unquoted(tokens));
        return out;
    }
    out.layout = Asks::read(tokens);
    for (k, word) in tokens.iter().enumerate().skip(1) {
        let bare = word.strip_prefix("__").and_then(|w| w.strip_suffix("__")).unwrap_or(word);
        let argument = || tokens.get(k + 1).filter(|t| **t == "(").and_then(|_| tokens.get(k + 2)).copied();
        match bare {
            "weak" | "weak_import" | "selectany" => out.weak = true,
            "alias" | "ifunc" | "copy_alias" if argument().is_some() => {
                out.other_name = argument().map(|a| unquoted(&[a]));
            }
            "weakref" => {
                out.weak = true;
                out.other_name = Some(argument().map_or_else(|| "".into(), |a| unquoted(&[a])));
            }
            "cleanup" => out.cleanup = argument().map(Arc::from),
            _ => {}
        }
    }
    out
}

/// The text of the string literals among the tokens, one behind the other.
fn unquoted(tokens: &[&str]) -> Arc<str> {
    let parts = tokens.iter().filter_map(|t| t.strip_prefix('"')?.strip_suffix('"'));
    parts.collect::<String>().into()
}

impl Lower<'_> {
    /// A function or variable of file scope that is known to the linker by another's name: what is done to the one is
    /// done to the other, which is not followed.
    pub(super) fn second_name(&mut self, name: Arc<str>, other: &str) {
        let known = match other {
            "" => format!("`{name}` stands for another function (`weakref`), and two names of one thing are not followed"),
            _ => format!("`{name}` is another name of `{other}`, and two names of one thing are not followed"),
        };
        let reason: Arc<str> = known.into();
        self.b.said.also_named.extend((!other.is_empty()).then(|| other.into()));
        let mut both = vec![name];
        if crate::c::known::is_library_name(other, self.dialect) {
            both.push(other.into());
        }
        for name in both {
            if self.file_scope() {
                self.exports.push(Export { name: name.clone(), what: Exported::SecondName(reason.clone()) });
            }
            self.scope().names.insert(name, Entity::Unknown(RejectKind::Unsupported, reason.clone()));
        }
    }

    /// The attributes that stand in the node or right behind it.
    pub(super) fn attributes(&self, node: Node<'_>) -> Attributes {
        let (first, last) = self.ends(node);
        self.attributes_between(first, last + 1)
    }

    /// The attributes among a declaration's specifiers: they are every declarator's.
    pub(super) fn specifier_attributes(
        &self,
        node: Node<'_>,
        first_declarator: Option<Node<'_>>,
    ) -> Attributes {
        let (first, last) = self.ends(node);
        let end = first_declarator.map_or(last + 1, |d| self.ends(d).0);
        self.attributes_between(first, end)
    }

    fn attributes_between(&self, first: usize, last: usize) -> Attributes {
        let all = &self.r.attributes;
        let from = all.partition_point(|(at, _)| *at < first);
        let mut out = Attributes::default();
        for (_, a) in all[from..].iter().take_while(|(at, _)| *at <= last) {
            out.join(a);
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Attributes {
        let words = crate::c::pp::words(text);
        read(&words.iter().map(|w| &**w).collect::<Vec<_>>())
    }

    #[test]
    fn lists_are_read() {
        assert!(of("__attribute__((noinline, __weak__))").weak);
        assert_eq!(of("__attribute__((alias(\"other\")))").other_name.as_deref(), Some("other"));
        assert_eq!(of("__asm__(\"a\" \"b\")").other_name.as_deref(), Some("ab"));
        assert_eq!(of("__attribute__((__cleanup__(close_it), unused))").cleanup.as_deref(), Some("close_it"));
        assert!(of("__attribute__((const, nonnull(1), section(\"weak\")))").is_empty());
        assert!(of("[[gnu::weak]]").weak);
    }
}
