//! What is not understood: gaps that stand in place of terms, and names that mean nothing from there on.

use std::sync::Arc;

use term::{Op, Reach, RejectKind, SymbolId, TermId, TypeId, TypeKind};
use tree_sitter::Node;

use super::{names, Entity, Lower};
use crate::c::env::{Export, Exported};

impl Lower<'_> {
    /// A gap of unknown type in place of `node`.
    pub(super) fn reject(
        &mut self,
        kind: RejectKind,
        reason: &str,
        node: Node<'_>,
        understood: Vec<TermId>,
    ) -> TermId {
        let span = self.span(node);
        let id = self.b.reject(kind, reason, span, understood);
        let ty = self.unknown();
        let mut t = self.b.get(id).clone();
        t.ty = ty;
        self.b.set(id, t);
        id
    }

    /// A gap whose text is all seen: of the function's own variables it touches those it names.
    pub(super) fn reject_named(
        &mut self,
        kind: RejectKind,
        reason: &str,
        node: Node<'_>,
        understood: Vec<TermId>,
    ) -> TermId {
        let Some(names) = self.names_in(node) else { return self.reject(kind, reason, node, understood) };
        self.reject_symbols(kind, reason, node, understood, &names)
    }

    /// A gap that touches these of the function's variables.
    pub(super) fn reject_symbols(
        &mut self,
        kind: RejectKind,
        reason: &str,
        node: Node<'_>,
        mut understood: Vec<TermId>,
        names: &[SymbolId],
    ) -> TermId {
        for &s in names {
            let ty = self.b.symbols[s].ty;
            understood.push(self.term(Op::Sym(s), [], ty, node));
        }
        let span = self.span(node);
        let id = self.b.reject_that(kind, reason, span, Reach::Named, understood);
        let ty = self.unknown();
        let mut t = self.b.get(id).clone();
        t.ty = ty;
        self.b.set(id, t);
        id
    }

    /// The variables whose names stand in a node's text; `None` where some of the text is hidden.
    pub(super) fn names_in(&mut self, node: Node<'_>) -> Option<Vec<SymbolId>> {
        let words = self.words_in(node);
        self.symbols_of(&words)
    }

    /// The variables of these names; `None` where some may be hidden.
    pub(super) fn symbols_of(&mut self, words: &[Arc<str>]) -> Option<Vec<SymbolId>> {
        let mut out = Vec::new();
        for word in words {
            if word.starts_with(crate::c::pp::GAP) {
                return None;
            }
            match self.lookup(word) {
                Some(Entity::Symbol(s)) if !out.contains(&s) => out.push(s),
                Some(Entity::Unknown(..)) => return None,
                // It may be a macro of a header that was not read.
                None if names::looks_like_macro(word) => return None,
                _ => {}
            }
        }
        Some(out)
    }

    /// The words in a node's text that may be names.
    pub(super) fn words_in(&self, node: Node<'_>) -> Vec<Arc<str>> {
        let (first, last) = self.ends(node);
        let mut out: Vec<Arc<str>> = Vec::new();
        for k in first..=last.min(self.r.starts.len().saturating_sub(1)) {
            let start = self.r.starts.get(k).map_or(0, |&s| s as usize);
            let end = self.r.starts.get(k + 1).map_or(self.r.text.len(), |&s| s as usize - 1);
            let word = match self.r.infos.get(k).and_then(|i| i.original.as_deref()) {
                Some(w) => w,
                None => self.r.text.get(start..end).unwrap_or(""),
            };
            let is_word = word.bytes().next().is_some_and(crate::c::lex::is_ident_start);
            if is_word && !names::is_keyword(word) && !out.iter().any(|w| **w == *word) {
                out.push(word.into());
            }
        }
        out
    }

    /// The type of what is not understood.
    pub(super) fn unknown(&mut self) -> TypeId {
        self.b.types.plain(TypeKind::Opaque("?".into()))
    }

    /// Names that occur in something not understood mean nothing that could be relied on.
    pub(super) fn poison(&mut self, node: Node<'_>) {
        for word in self.words_in(node) {
            // a function of the library that is only called in it is not declared by it
            let called = || term::intrinsic(&word).is_some() && self.is_only_called(&word, node);
            if !word.starts_with(crate::c::pp::GAP) && !called() {
                self.poison_name(word);
            }
        }
    }

    /// Whether a word stands in a node's text only where no declaration can have its name: behind an operator and before arguments.
    fn is_only_called(&self, word: &str, node: Node<'_>) -> bool {
        let (first, last) = self.ends(node);
        let text = |k: usize| {
            let start = self.r.starts.get(k).map_or(0, |&s| s as usize);
            let end = self.r.starts.get(k + 1).map_or(self.r.text.len(), |&s| s as usize - 1);
            self.r.text.get(start..end).unwrap_or("").trim()
        };
        let behind = |t: &str| {
            matches!(t, "=" | "+" | "-" | "/" | "?" | ":" | "return" | "==" | "<=" | ">=" | "&&" | "||" | "(")
        };
        (first..=last.min(self.r.starts.len().saturating_sub(1)))
            .filter(|&k| text(k) == word)
            .all(|k| k > first && behind(text(k - 1)) && text(k + 1) == "(")
    }

    /// A name that an item of C++ declares.
    pub(super) fn foreign_name(&mut self, name: Arc<str>, reason: &Arc<str>) {
        if self.system {
            return;
        }
        let words: Arc<str> = format!("`{name}`: {reason}").into();
        let what = Exported::Unknown(RejectKind::Foreign, words.clone());
        self.exports.push(Export { name: name.clone(), what });
        self.scope().names.insert(name, Entity::Unknown(RejectKind::Foreign, words));
    }

    pub(super) fn poison_name(&mut self, name: Arc<str>) {
        let reason: Arc<str> = format!("the declaration of `{name}` was not understood").into();
        if self.file_scope() && self.system {
            return;
        }
        if self.file_scope() {
            // What was known before stays: a stray word does not undo it.
            if self.env.name(&name).is_some() {
                return;
            }
            self.exports.push(Export {
                name: name.clone(),
                what: Exported::Unknown(RejectKind::Unsupported, reason.clone()),
            });
        }
        self.scope().names.insert(name, Entity::Unknown(RejectKind::Unsupported, reason));
    }
}
