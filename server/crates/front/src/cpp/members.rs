//! Structures of C++ that are C's once what their objects never run is taken away: functions that only calls reach, words
//! about access, constants.
//!
//! What has a constructor, a destructor, a conversion, an operator, a base, a virtual function, a reference or an initialiser
//! among its members is left to [`super::items`], as is all that is not surely one of the simple cases.

use std::ops::Range;
use std::sync::Arc;

use base::Span;
use term::RejectKind;

use crate::c::cut::Found;
use crate::c::lex::Kind;
use crate::c::pp::{Piece, Spliced};
use crate::c::row::is_loop_word;
use crate::c::unit::Walk;

impl Walk<'_, '_> {
    /// A `struct` or `class` at `k` (after `typedef` perhaps) without the functions among its members, as an item; `None`: it is
    /// more than that.
    pub(super) fn plain_members(&mut self, k: usize, end: usize) -> Option<Found> {
        let tag = if self.token(k) == "typedef" { k + 1 } else { k };
        let class = self.token(tag) == "class";
        if !class && self.token(tag) != "struct" {
            return None;
        }
        let name: Arc<str> = if self.token(tag + 1) == "{" { "".into() } else { self.token(tag + 1).into() };
        let open = if name.is_empty() { tag + 1 } else { tag + 2 };
        if self.token(open) != "{" || crate::c::is_keyword(&name) {
            return None;
        }
        let mut cuts: Vec<Range<usize>> = Vec::new();
        let mut j = open + 1;
        let close = loop {
            if j >= end || self.tokens.get(j)?.kind == Kind::Directive {
                return None;
            }
            match self.token(j) {
                "}" => break j,
                ";" => {
                    cuts.push(j..j + 1);
                    j += 1;
                }
                "public" | "private" | "protected" if self.token(j + 1) == ":" => {
                    cuts.push(j..j + 2);
                    j += 2;
                }
                _ => {
                    let (next, cut) = self.plain_member(j, end, &name)?;
                    if cut {
                        cuts.push(j..next);
                    }
                    j = next;
                }
            }
        };
        // one object or none behind it, as in C; a class without data has a size in C++ and none in C
        let data = (open + 1..close).any(|j| !cuts.iter().any(|c| c.contains(&j)));
        if !data || (close..end).take_while(|&j| self.token(j) != ";").any(|j| self.token(j) == "(") {
            return None;
        }
        let mut f = self.item(k, end);
        if f.broken.is_some() || f.next <= close || f.body.is_some() {
            return None;
        }
        let [Piece::Tokens(all)] = f.pieces.as_slice() else { return None };
        let all = all.clone();
        f.pieces.clear();
        let mut from = all.start;
        if class {
            let span = self.tokens.get(tag)?.span();
            let word = Spliced { kind: Kind::Ident, text: "struct".into(), spaced: true, span };
            f.pieces.push(Piece::Tokens(from..tag));
            f.pieces.push(Piece::Spliced(Arc::new([word])));
            from = tag + 1;
        }
        for c in cuts {
            f.pieces.push(Piece::Tokens(from..c.start));
            from = c.end;
            self.tell_loops(c);
        }
        f.pieces.push(Piece::Tokens(from..all.end));
        Some(f)
    }

    /// Says that the loops of a function that is taken away are not read; of what runs on a device kernels speak.
    fn tell_loops(&mut self, member: Range<usize>) {
        let first = member.clone().find(|&j| is_loop_word(self.token(j)));
        let is_device = member.clone().any(|j| matches!(self.token(j), "__device__" | "__global__"));
        let ends =
            first.and_then(|j| Some((self.tokens.get(j)?.start, self.tokens.get(member.end - 1)?.end)));
        if let Some((start, end)) = ends.filter(|_| !is_device) {
            self.reject(RejectKind::Foreign, "functions of classes are not followed", Span { start, end });
        }
    }

    /// The index after the member at `k`, and whether it is to be taken away.
    fn plain_member(&self, k: usize, end: usize, class: &str) -> Option<(usize, bool)> {
        let (mut parens, mut called) = (0usize, None);
        let mut is_static = false;
        let mut j = k;
        // up to its `;` or `{`
        loop {
            if j >= end || self.tokens.get(j)?.kind == Kind::Directive {
                return None;
            }
            match self.token(j) {
                ";" if parens == 0 => break,
                "{" if parens == 0 => break,
                "(" => {
                    if parens == 0 && called.is_none() {
                        called = Some(j);
                    }
                    parens += 1;
                }
                ")" => parens = parens.checked_sub(1)?,
                "static" if parens == 0 => is_static = true,
                "virtual" | "friend" | "operator" | "template" | "using" | "typedef" | "override"
                | "final" | "mutable" | "struct" | "class" | "union" | "enum" | "volatile"
                | "__attribute__" | "__align__" | "__builtin_align__" | "alignas" | "_Alignas"
                | "decltype" | "#"
                    if parens == 0 =>
                {
                    return None
                }
                "~" if parens == 0 => {
                    // `~name() = default;`
                    let default = self.token(j + 1) == class && self.is_defaulted(j + 2);
                    return default.then_some((j + 7, true)).filter(|_| j == k);
                }
                // `name() = default;`
                "=" if parens == 0 && called == Some(k + 1) => {
                    let default = self.token(k) == class && self.is_defaulted(k + 1);
                    return default.then_some((k + 6, true));
                }
                "=" if parens == 0 => {
                    // `static constexpr int n = 4;`
                    let stop = (j..end).find(|&i| matches!(self.token(i), ";" | "{" | "(" | "}"))?;
                    let plain = called.is_none() && is_static && self.token(stop) == ";";
                    return plain.then_some((stop + 1, true));
                }
                "&" | "&&" if parens == 0 && called.is_none() => return None,
                _ => {}
            }
            j += 1;
        }
        let Some(open) = called else {
            // data, whose initialiser would be code
            return (self.token(j) == ";" && !is_static).then_some((j + 1, false));
        };
        let name = self.token(open - 1);
        let ident = self.tokens.get(open - 1)?.kind == Kind::Ident;
        if !ident || self.token(open + 1) == "*" || crate::c::is_keyword(name) {
            return None;
        }
        // a constructor, or no type before the name
        if name == class || open < k + 2 {
            return None;
        }
        if self.token(j) == ";" {
            return Some((j + 1, true));
        }
        let mut depth = 0usize;
        for i in j..end {
            match self.token(i) {
                "{" => depth += 1,
                "}" => {
                    depth -= 1;
                    if depth == 0 {
                        return Some((i + 1, true));
                    }
                }
                _ => {}
            }
        }
        None
    }

    /// `() = default;` at `k`.
    fn is_defaulted(&self, k: usize) -> bool {
        ["(", ")", "=", "default", ";"].iter().enumerate().all(|(n, w)| self.token(k + n) == *w)
    }
}
