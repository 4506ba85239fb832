//! Items that only C++ has: templates, classes, namespaces, functions with references in their header, operators.
//!
//! Namespaces are entered, and left with the names of what stood in them unknown: outside, another declaration may be
//! meant. All else is one gap, whose end is found by brackets alone.

use std::sync::Arc;

use term::RejectKind;

use crate::c::cut::Found;
use crate::c::lex::Kind;
use crate::c::pp::Piece;
use crate::c::unit::{Open, Walk};

/// What an item's first words make of it.
pub(super) struct Foreign {
    reason: String,
    /// Names it declares.
    names: Vec<Arc<str>>,
}

const REFERENCES: &str = "references of C++ are not followed in a function's header";

/// The word that says what an item is.
fn first_word<'t>(first: &'t str, second: &'t str) -> &'t str {
    match first {
        "typedef" | "static" | "inline" | "constexpr" => second,
        _ => first,
    }
}

/// What is said of a name outside of its namespace.
pub(crate) const IN_NAMESPACE: &str = "is declared in a namespace, which is not looked into from outside";

/// Whether no two places of the file write the name with parameters: kernels are not called so.
pub(super) fn is_declared_once(source: &str, name: &str) -> bool {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let declares = |(at, _): &(usize, &str)| {
        let (before, after) = (&source[..*at], &source[at + name.len()..]);
        !before.ends_with(is_word) && after.trim_start().starts_with('(')
    };
    source.match_indices(name).filter(declares).count() < 2
}

impl Walk<'_, '_> {
    /// Handles an item of C++ at `k` and returns the index to go on at; `None` if C may stand there.
    pub(crate) fn foreign_item(&mut self, k: usize, end: usize) -> Option<usize> {
        let first = self.token(k);
        let word = if first == "inline" { k + 1 } else { k };
        if self.token(word) == "namespace" {
            if let Some(open) = self.namespace_opens(word, end) {
                let named = open > word + 1;
                self.link(("namespace", named));
                self.open.push(Open::Namespace { from: self.s.number, named });
                return Some(open + 1);
            }
        }
        // Nothing that C++ finds through it has a meaning here.
        let groups = self.token(k + 2) == "=" && self.token(k + 3) == "cooperative_groups";
        if first == "using" && self.token(k + 1) == "namespace" || first == "namespace" && groups {
            return Some(self.extent(k, end));
        }
        if first == "template" && self.token(k + 1) == "<" {
            if let Some(next) = self.instances(k, end) {
                return Some(next);
            }
        }
        if let Some(next) = self.with_references(k, end) {
            return Some(next);
        }
        if let Some(f) = self.texture(k, end) {
            let next = f.next;
            self.take(f);
            return Some(next);
        }
        let foreign = self.foreign(k, end)?;
        self.lend(k, end);
        if let Some(f) = self.plain_members(k, end) {
            let next = f.next;
            self.take(f);
            return Some(next);
        }
        let next = self.extent(k, end).max(k + 1);
        let mut f = Found { next, ..Found::default() };
        f.start = self.tokens.get(k).map_or(0, |t| t.start as usize);
        f.end = self.tokens.get(next - 1).map_or(f.start, |t| t.end as usize);
        f.pieces.push(Piece::Tokens(k..next));
        f.broken = Some((RejectKind::Foreign, foreign.reason.into()));
        f.poisons = foreign.names;
        let header = self.header_end(k, end);
        if let Some(word) = (k..header).find(|&j| self.token(j) == "operator") {
            f.poisons.extend(self.operated(word, header));
            // what `new` gives is the file's own then (C++17 21.6.2), as if `malloc` were
            if self.token(word + 1) == "new" {
                f.poisons.push("malloc".into());
            }
        }
        // a class is a type, whatever its functions are
        let function =
            !matches!(first_word(self.token(k), self.token(k + 1)), "class" | "struct" | "union" | "enum")
                && (k..header).any(|j| self.token(j) == "(");
        let names = if function { f.poisons.clone() } else { Vec::new() };
        self.take(f);
        self.s.env.unread(&names, self.s.number);
        Some(next)
    }

    /// A function whose header is C's but for references: read with pointers in their place. Calls in the document give it addresses
    /// ([`crate::c::env::View::referred`]); to documents that include it its name means nothing.
    fn with_references(&mut self, k: usize, end: usize) -> Option<usize> {
        let header = self.header_end(k, end);
        let any = (k..header).any(|j| self.is_number_reference(j));
        if !any || self.token(header) != "{" || self.foreign_but(k, end, true).is_some() {
            return None;
        }
        let names = self.declared(k, end);
        let found = self.item(k, end);
        let next = found.next;
        let calls_itself =
            (header..next).any(|j| self.token(j + 1) == "(" && names.iter().any(|n| &**n == self.token(j)));
        if found.broken.is_some() || found.body.is_none() || next <= header || calls_itself {
            return None;
        }
        self.take(found);
        if let (None, [name]) = (self.header, &names[..]) {
            let places = self.reference_places(k, header);
            self.s.env.refer(name, self.s.number, places);
            return Some(next);
        }
        let last = self.tokens.get(next - 1)?;
        let mut f = Found { next, start: last.end as usize, end: last.end as usize, ..Found::default() };
        f.pieces.push(Piece::Tokens(next..next));
        f.broken = Some((RejectKind::Foreign, REFERENCES.into()));
        f.poisons = names.clone();
        self.take(f);
        self.s.env.unread(&names, self.s.number);
        Some(next)
    }

    /// Which parameters are references, from 0.
    fn reference_places(&self, k: usize, header: usize) -> Vec<usize> {
        let (mut depth, mut place, mut out) = (0usize, 0usize, Vec::new());
        for j in k..header {
            match self.token(j) {
                "(" | "[" => depth += 1,
                ")" | "]" => depth = depth.saturating_sub(1),
                "," if depth == 1 => place += 1,
                "&" if self.is_number_reference(j) => out.push(place),
                _ => {}
            }
        }
        out
    }

    /// `double &x` among parameters, at its `&`.
    fn is_number_reference(&self, j: usize) -> bool {
        let named = self.tokens.get(j + 1).is_some_and(|t| t.kind == Kind::Ident);
        let is_type = |t: &str| {
            super::plain::TYPE_WORDS.contains(&t)
                || self.s.env.before(self.s.number.saturating_add(1)).is_type(t, self.s.dialect)
        };
        self.token(j) == "&"
            && j > 0
            && is_type(self.token(j - 1))
            && named
            && matches!(self.token(j + 2), "," | ")")
    }

    /// Names that mean something else because of the operator at `word`: those of enumerations, which C takes for numbers, and
    /// of all types where `&` or a comma is given a meaning.
    fn operated(&self, word: usize, header: usize) -> Vec<Arc<str>> {
        let env = self.s.env.before(u32::MAX);
        let any = matches!(self.token(word + 1), "&" | ",");
        let mut out: Vec<Arc<str>> = Vec::new();
        let mut enumerated = false;
        for j in word + 1..header {
            let name = self.token(j);
            if self.tokens.get(j).is_none_or(|t| t.kind != Kind::Ident) || crate::c::is_keyword(name) {
                continue;
            }
            let number = env.is_enumeration(name);
            enumerated |= number;
            if number || any && env.is_type(name, self.s.dialect) {
                out.push(name.into());
            }
        }
        if enumerated {
            out.extend(env.enumerators());
        }
        out
    }

    /// The `{` of a namespace's definition.
    fn namespace_opens(&self, k: usize, end: usize) -> Option<usize> {
        let mut j = k + 1;
        while j < end && (self.tokens.get(j)?.kind == Kind::Ident || self.token(j) == "::") {
            j += 1;
        }
        (self.token(j) == "{").then_some(j)
    }

    /// A namespace ends: its names mean nothing sure any more.
    pub(crate) fn leave_namespace(&mut self, from: u32, named: bool) {
        if named {
            self.s.number = self.s.number.saturating_add(1);
            self.s.env.hide(from, self.s.number, IN_NAMESPACE);
            self.link("namespace ends");
        }
    }

    /// What is C++ about the item at `k`.
    pub(super) fn foreign(&self, k: usize, end: usize) -> Option<Foreign> {
        self.foreign_but(k, end, false)
    }

    /// The same, perhaps but for references to numbers among a function's parameters.
    fn foreign_but(&self, k: usize, end: usize, references: bool) -> Option<Foreign> {
        let tag_at = match self.token(k) {
            "typedef" | "static" | "inline" | "constexpr" => k + 1,
            _ => k,
        };
        let plain = |reason: &str, names: Vec<Arc<str>>| Some(Foreign { reason: reason.to_owned(), names });
        match self.token(tag_at) {
            "template" => {
                let names = self.declared(k, end);
                let what = names.first().map_or("this".to_owned(), |n| format!("`{n}`"));
                return plain(
                    &format!("{what} is a template: what its parameters stand for is not followed"),
                    names,
                );
            }
            "class" => return plain("classes of C++ are not followed", self.declared(k, end)),
            "namespace" => return plain("other names of namespaces are not followed", self.declared(k, end)),
            "using" if !self.is_alias(k, end) => {
                return plain("`using` of C++ is not followed", self.declared(k, end));
            }
            "enum" if matches!(self.token(tag_at + 1), "class" | "struct") => {
                return plain(crate::c::SCOPED, self.declared(k, end));
            }
            "struct" | "union" if self.has_members_of_cpp(tag_at, end) => {
                return plain(
                    "a structure with functions or base classes is not followed",
                    self.declared(k, end),
                );
            }
            _ => {}
        }
        let header = self.header_end(k, end);
        let mut parens = 0usize;
        let mut seen_parens = false;
        let mut why = None;
        let mut after = k;
        for j in k..header {
            // a group's type is known, however it is written
            if parens > 0 && j >= after && matches!(self.token(j - 1), "(" | ",") {
                if let Some((_, name)) = crate::cuda::group::declared(|j| self.token(j), j) {
                    after = name;
                }
            }
            if j < after {
                continue;
            }
            let token = self.token(j);
            match token {
                "(" => parens += 1,
                ")" => {
                    parens = parens.saturating_sub(1);
                    seen_parens = true;
                }
                "operator" => why = Some("operators for types of one's own are not followed"),
                "::" if j > k
                    && (self.token(j - 1) != "std"
                        || !super::is_std_of_c(self.token(j + 1), self.s.dialect)) =>
                {
                    why = Some("names with `::` are not followed")
                }
                "&" if references && parens > 0 && self.is_number_reference(j) => {}
                "&" | "&&" if parens > 0 || !seen_parens => why = Some(REFERENCES),
                "->" => why = Some("a return type after the parameters is not followed"),
                "decltype" | "requires" | "virtual" | "friend" | "explicit" | "~" => {
                    why = Some("this declaration is C++, which is not followed")
                }
                "<" if j > k && self.tokens.get(j - 1).is_some_and(|t| t.kind == Kind::Ident) => {
                    why = Some("templates of C++ are not followed")
                }
                "auto" if parens == 0 && !seen_parens && self.is_function(k, header) => {
                    why = Some("functions with a deduced type are not followed")
                }
                _ => {}
            }
            if why.is_some() {
                break;
            }
        }
        why.and_then(|reason| plain(reason, self.declared(k, end)))
    }

    fn is_function(&self, k: usize, header: usize) -> bool {
        self.token(header) == "{" && (k..header).any(|j| self.token(j) == "(")
    }

    /// `using name = type;` with a type that C can write before a name.
    fn is_alias(&self, k: usize, end: usize) -> bool {
        let stop = self.extent(k, end).saturating_sub(1);
        self.token(k + 2) == "="
            && (k + 3..stop)
                .all(|j| self.tokens.get(j).is_some_and(|t| t.kind == Kind::Ident) || self.token(j) == "*")
            && !(k + 3..stop).any(|j| matches!(self.token(j), "typename" | "decltype"))
    }

    /// Index of the first `{`, `=` or `;` outside of all brackets.
    fn header_end(&self, k: usize, end: usize) -> usize {
        let mut depth = 0usize;
        for j in k..end {
            match self.token(j) {
                "(" | "[" => depth += 1,
                ")" | "]" => depth = depth.saturating_sub(1),
                "{" | ";" | "}" if depth == 0 => return j,
                "=" if depth == 0 && !(k..j).any(|i| self.token(i) == "operator") => return j,
                _ => {}
            }
        }
        end
    }

    /// Whether a structure's definition holds what C's cannot.
    fn has_members_of_cpp(&self, k: usize, end: usize) -> bool {
        let open = self.header_end(k, end);
        if self.token(open) != "{" || (k..open).any(|j| self.token(j) == "(") {
            return false;
        }
        if (k..open).any(|j| self.token(j) == ":") {
            return true;
        }
        let (mut braces, mut parens) = (0usize, 0usize);
        for j in open..end {
            let token = self.token(j);
            match token {
                "{" => braces += 1,
                "}" => {
                    braces = braces.saturating_sub(1);
                    if braces == 0 {
                        return false;
                    }
                }
                "(" => {
                    // `int (*f)(int)` is C; `__align__(8)` and its kin too
                    let before = self.token(j - 1);
                    let c = parens > 0
                        || self.token(j + 1) == "*"
                        || matches!(
                            before,
                            ")" | "__align__"
                                | "__builtin_align__"
                                | "alignas"
                                | "_Alignas"
                                | "__attribute__"
                        );
                    if !c {
                        return true;
                    }
                    parens += 1;
                }
                ")" => parens = parens.saturating_sub(1),
                "public" | "private" | "protected" | "template" | "using" | "static" | "virtual"
                | "friend" | "operator" | "~" | "::" | "=" | "&" | "constexpr" => return true,
                _ => {}
            }
        }
        false
    }

    /// Index after an item of C++.
    pub(super) fn extent(&self, k: usize, end: usize) -> usize {
        let mut j = k;
        // `class` in a template's parameters says nothing of what follows
        if self.token(j) == "template" && self.token(j + 1) == "<" {
            j = self.after_angles(j + 1, end);
        }
        let (mut depth, mut called, mut tag, mut assigned) = (0usize, false, false, false);
        while j < end {
            let Some(t) = self.tokens.get(j) else { return end };
            if t.kind == Kind::Directive {
                j += 1;
                continue;
            }
            match self.token(j) {
                "(" | "[" => depth += 1,
                ")" | "]" => {
                    depth = depth.saturating_sub(1);
                    called |= depth == 0;
                }
                "{" => depth += 1,
                "}" => {
                    if depth == 0 {
                        return j;
                    }
                    depth -= 1;
                    let ends = depth == 0 && !assigned && (called || !tag);
                    // a constructor's `: a{1}, b{2} {`
                    if ends && !matches!(self.token(j + 1), "{" | "," | ";") {
                        return j + 1;
                    }
                    if ends && self.token(j + 1) == ";" {
                        return j + 2;
                    }
                }
                ";" if depth == 0 => return j + 1,
                "=" if depth == 0 => assigned = true,
                "class" | "struct" | "union" | "enum" if depth == 0 && !called => tag = true,
                _ => {}
            }
            j += 1;
        }
        end
    }

    pub(super) fn after_angles(&self, k: usize, end: usize) -> usize {
        let (mut angles, mut parens) = (0usize, 0usize);
        for j in k..end {
            match self.token(j) {
                "(" => parens += 1,
                ")" => parens = parens.saturating_sub(1),
                "<" if parens == 0 => angles += 1,
                ">" if parens == 0 => angles = angles.saturating_sub(1),
                ">>" if parens == 0 => angles = angles.saturating_sub(2),
                "{" | ";" => return j,
                _ => {}
            }
            if angles == 0 {
                return j + 1;
            }
        }
        end
    }

    /// The names an item of C++ may declare, as far as they could be taken for others.
    pub(super) fn declared(&self, k: usize, end: usize) -> Vec<Arc<str>> {
        let mut j = k;
        if self.token(j) == "template" && self.token(j + 1) == "<" {
            j = self.after_angles(j + 1, end);
        }
        let header = self.header_end(j, end);
        let name = |at: usize| -> Vec<Arc<str>> {
            let ident = self.tokens.get(at).is_some_and(|t| t.kind == Kind::Ident);
            let qualified = at > 0 && matches!(self.token(at - 1), "::" | "~");
            let keyword = crate::c::is_keyword(self.token(at)) || self.token(at) == "operator";
            if ident && !qualified && !keyword {
                vec![self.token(at).into()]
            } else {
                Vec::new()
            }
        };
        match self.token(j) {
            "class" | "struct" | "union" => return name(j + 1),
            "enum" if matches!(self.token(j + 1), "class" | "struct") => return name(j + 2),
            "namespace" => return name(j + 1),
            "using" if self.token(j + 2) == "=" => return name(j + 1),
            // `using a::b;`: what `b` means here is not known
            "using" => {
                let last = header.saturating_sub(1);
                return vec![self.token(last).into()];
            }
            _ => {}
        }
        // a function's name stands before the first parenthesis, a variable's before its end
        let stop = (j..header).find(|&i| self.token(i) == "(" || self.token(i) == "[").unwrap_or(header);
        name(stop.saturating_sub(1))
    }
}
