//! Template arguments that a launch or a call leaves to be deduced ([temp.deduct.call] of the C++ standard, as far as the
//! arguments are variables, elements, addresses, casts and numbers): `scale<<<grid, block>>>(d_x, 2.0f, n)`.
//!
//! Types are read off the declarations as they are written. A launch whose types the text does not say is one all the same: a
//! pointer's elements are taken for `float`, and what is given by value for a type of which nothing is known.
//!
//! Deliberately absent: pointers, references and arrays as a parameter's whole type, conversions, overloads.

use std::sync::Arc;

use base::Span;
use rustc_hash::{FxHashMap, FxHashSet};

use super::scan::{arguments, Scan, Template};
use super::{Head, Parameter, ASSUMED};
use crate::c::dialect::Dialect;
use crate::c::is_keyword;
use crate::c::known;
use crate::c::lex::{is_ident_start, Kind};
use crate::c::pp::{self, Spliced};
use crate::cpp::plain::TYPE_WORDS;

/// What of the list is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Within {
    /// Nothing.
    New,
    /// `<>`
    Empty,
    /// The first arguments.
    Begun,
}

/// A list of arguments that the text leaves out, at the place where they would stand.
#[derive(Debug)]
pub(super) struct Deduced {
    /// The token before which they are written.
    pub(super) before: usize,
    within: Within,
    pub(super) words: Vec<Vec<Arc<str>>>,
}

impl Deduced {
    /// As they would be written there.
    pub(super) fn tokens(&self, span: Span) -> Vec<Spliced> {
        let word = |text: &Arc<str>| Spliced {
            kind: if is_ident_start(text.as_bytes()[0]) { Kind::Ident } else { Kind::Punct },
            text: text.clone(),
            spaced: true,
            span,
        };
        let mut out = Vec::new();
        for (k, words) in self.words.iter().enumerate() {
            match (k, self.within) {
                (0, Within::New) => out.push(word(&"<".into())),
                (0, Within::Empty) => {}
                _ => out.push(word(&",".into())),
            }
            out.extend(words.iter().map(word));
        }
        if self.within == Within::New {
            out.push(word(&">".into()));
        }
        out
    }
}

/// Names of types that the text declares; macros of them with what they stand for.
#[derive(Debug, Default)]
pub(super) struct Types {
    names: FxHashSet<Arc<str>>,
    macros: FxHashMap<Arc<str>, Vec<Arc<str>>>,
}

impl Types {
    /// What is written for a type: its words, with macros replaced. `None`: they name no type.
    pub(super) fn written(&self, words: &[Arc<str>], dialect: Option<&Dialect>) -> Option<String> {
        if let [one] = words {
            if let Some(stands) = self.macros.get(one) {
                return Some(join(stands));
            }
            if self.names.contains(one) {
                return Some(one.to_string());
            }
        }
        let is_type = |w: &Arc<str>| {
            TYPE_WORDS.contains(&&**w) || dialect.is_some_and(|d| known::type_name(w, d).is_some())
        };
        let whole = !words.is_empty() && words.iter().all(is_type) && &*words[0] != "void";
        whole.then(|| join(words))
    }
}

fn join(words: &[Arc<str>]) -> String {
    words.iter().map(|w| &**w).collect::<Vec<_>>().join(" ")
}

/// A type as its words and how many `*` follow them.
type Written = (Vec<Arc<str>>, usize);

const QUALIFIERS: [&str; 12] = [
    "const",
    "volatile",
    "__restrict__",
    "__restrict",
    "restrict",
    "static",
    "extern",
    "register",
    "constexpr",
    "__shared__",
    "__device__",
    "__constant__",
];

/// Deduction over one text.
pub(super) struct Deduction<'a> {
    pub(super) scan: &'a Scan<'a>,
    pub(super) all: &'a [Template],
    pub(super) dialect: Option<&'a Dialect>,
    pub(super) types: &'a Types,
    /// Names of which a function may be meant that is no template: such a one goes first ([over.match.best]).
    pub(super) overloaded: FxHashSet<Arc<str>>,
}

impl Scan<'_> {
    /// The types that the text declares outside of all templates' parameters, and those parameters.
    pub(super) fn types(&self, all: &[Template]) -> Types {
        let mut out = Types::default();
        for k in 0..self.tokens.len() {
            let declares = match self.word(k) {
                "struct" | "class" | "union" => self.is_ident(k + 1).then_some(k + 1),
                "enum" => (k + 1..k + 3).find(|&j| self.is_ident(j) && !is_keyword(self.word(j))),
                "using" if self.word(k + 2) == "=" => Some(k + 1),
                "typedef" => self.typedef(k),
                _ => None,
            };
            out.names.extend(declares.filter(|&j| !is_keyword(self.word(j))).map(|j| self.word(j).into()));
        }
        let types = |t: &Template| t.parameters.clone().unwrap_or_default();
        let parameters = all.iter().flat_map(types).filter(|p| p.value.is_none());
        out.names.extend(parameters.map(|p| p.name));
        for t in self.tokens.iter().filter(|t| t.kind == Kind::Directive) {
            let line = self.text.get(t.span().range()).unwrap_or("");
            let pp::Line::Define(name, m) = pp::line(line) else { continue };
            let words = m.object_words().filter(|w| w.iter().all(|w| TYPE_WORDS.contains(&&**w)));
            if let Some(words) = words.filter(|w| !w.is_empty()) {
                out.macros.insert(name, words);
            }
        }
        out
    }

    /// The templates' names that functions have, too: of the text, or of the library's.
    pub(super) fn overloaded(
        &self,
        all: &[Template],
        heads: &FxHashMap<Arc<str>, Head>,
        dialect: &Dialect,
    ) -> FxHashSet<Arc<str>> {
        let declares = |k: usize| {
            let mut p = k.wrapping_sub(1);
            while matches!(self.word(p), "*" | "&") {
                p = p.wrapping_sub(1);
            }
            let starred = p != k.wrapping_sub(1);
            let typed = match self.is_ident(p) {
                true if starred => TYPE_WORDS.contains(&self.word(p)),
                true => !matches!(
                    self.word(p),
                    "return" | "else" | "case" | "throw" | "do" | "goto" | "co_return"
                ),
                false => false,
            };
            self.word(k + 1) == "(" && typed && !all.iter().any(|t| t.named == Some(k))
        };
        let of_library = heads.keys().filter(|n| known::is_library_name(n, dialect)).cloned();
        let here = (0..self.tokens.len()).filter(|&k| heads.contains_key(self.word(k)) && declares(k));
        here.map(|k| self.word(k).into()).chain(of_library).collect()
    }

    /// The name that a `typedef` at `k` declares last before its `;`.
    fn typedef(&self, k: usize) -> Option<usize> {
        let mut braces = 0usize;
        for j in k + 1..self.tokens.len() {
            match self.word(j) {
                "{" => braces += 1,
                "}" => braces = braces.checked_sub(1)?,
                "(" | "[" if braces == 0 => return None,
                ";" if braces == 0 => return self.is_ident(j - 1).then_some(j - 1),
                _ => {}
            }
        }
        None
    }
}

impl Deduction<'_> {
    fn word(&self, k: usize) -> &str {
        self.scan.word(k)
    }

    /// What the launch or the call of the template `head` at `k` leaves out.
    pub(super) fn at(&self, k: usize, head: &Head) -> Option<Deduced> {
        let t = self.all.iter().find(|t| t.from == head.at)?;
        if self.overloaded.contains(self.word(k)) {
            return None;
        }
        let listed = self.word(k + 1) == "<" && self.word(k + 2) != "<";
        let (given, after) = match listed {
            true => arguments(k + 1, self.scan.tokens.len(), &|j| self.word(j))?,
            false => (Vec::new(), k + 1),
        };
        if given.len() >= head.parameters.len() {
            return None;
        }
        let launched = self.word(after) == "<<" && self.word(after + 1) == "<";
        let open = match launched {
            true => self.configured(after)?,
            false => after,
        };
        // the template's own header
        if self.word(open) != "(" || (t.from..t.body).contains(&k) {
            return None;
        }
        let values = self.list(open)?;
        let patterns = self.patterns(t)?;
        let mut words: Vec<Vec<Arc<str>>> = Vec::new();
        for p in &head.parameters[given.len()..] {
            match self.parameter(p, &patterns, &values) {
                Some(w) => words.push(w),
                None if p.default.is_some() => break,
                None if launched && p.value.is_none() => words.push(vec![taken_for(p, &patterns)]),
                None => return None,
            }
        }
        let (before, within) = match listed {
            true if given.is_empty() => (after - 1, Within::Empty),
            true => (after - 1, Within::Begun),
            false => (k + 1, Within::New),
        };
        (!words.is_empty()).then_some(Deduced { before, within, words })
    }

    /// What a kernel that nobody launches is taken for, where its parameters are types.
    pub(super) fn nobody(&self, t: &Template) -> Option<Vec<Vec<Arc<str>>>> {
        let patterns = self.patterns(t)?;
        let mut out = Vec::new();
        for p in t.parameters.as_ref()? {
            match (&p.value, &p.default) {
                (_, Some(_)) => break,
                (None, None) => out.push(vec![taken_for(p, &patterns)]),
                (Some(_), None) => return None,
            }
        }
        Some(out)
    }

    /// The `(` behind the `<<<…>>>` at `k`.
    fn configured(&self, k: usize) -> Option<usize> {
        let mut depth = 0usize;
        for j in k + 2..self.scan.tokens.len().min(k + 200) {
            match self.word(j) {
                "(" | "[" | "{" => depth += 1,
                ")" | "]" | "}" => depth = depth.checked_sub(1)?,
                ">>" if depth == 0 && self.word(j + 1) == ">" => return Some(j + 2),
                ";" => return None,
                _ => {}
            }
        }
        None
    }

    /// What stands between the commas of the list that opens at `open`.
    fn list(&self, open: usize) -> Option<Vec<(usize, usize)>> {
        let (mut depth, mut angles, mut from) = (0usize, 0usize, open + 1);
        let mut out = Vec::new();
        for j in open + 1..self.scan.tokens.len() {
            match self.word(j) {
                ")" if depth == 0 => {
                    if j > from || !out.is_empty() {
                        out.push((from, j));
                    }
                    return Some(out);
                }
                "(" | "[" | "{" => depth += 1,
                ")" | "]" | "}" => depth = depth.checked_sub(1)?,
                "<" if CASTING.contains(&self.word(j - 1)) => angles += 1,
                ">" => angles = angles.saturating_sub(1),
                "," if depth == 0 && angles == 0 => {
                    out.push((from, j));
                    from = j + 1;
                }
                ";" if depth == 0 => return None,
                _ => {}
            }
        }
        None
    }

    /// Of each of a function's parameters: the words of its type and how often it is pointed to.
    fn patterns(&self, t: &Template) -> Option<Vec<Option<Written>>> {
        let read = |&(from, to): &(usize, usize)| {
            let mut words: Vec<Arc<str>> = Vec::new();
            let (mut stars, mut j) = (0, from);
            while j < to && !matches!(self.word(j), "*" | "&" | "[" | "=") {
                words.push(self.word(j).into());
                j += 1;
            }
            words.retain(|w| !QUALIFIERS.contains(&&**w));
            stars += (from..to).filter(|&j| matches!(self.word(j), "*" | "[")).count();
            let named = matches!(self.word(j), "[" | "=" | "," | ")") || j == to;
            if named {
                words.pop();
            }
            (!words.is_empty()).then_some((words, stars))
        };
        Some(self.list(t.named? + 1)?.iter().map(read).collect())
    }

    fn parameter(
        &self,
        p: &Parameter,
        patterns: &[Option<Written>],
        values: &[(usize, usize)],
    ) -> Option<Vec<Arc<str>>> {
        if p.value.is_some() {
            return None;
        }
        patterns.iter().zip(values).find_map(|(pattern, value)| {
            let (words, stars) = pattern.as_ref()?;
            let [one] = words.as_slice() else { return None };
            if *one != p.name {
                return None;
            }
            let (given, pointed) = self.value(value.0, value.1)?;
            (pointed == *stars).then_some(given)
        })
    }

    /// The type of the expression `from..to`.
    fn value(&self, from: usize, to: usize) -> Option<Written> {
        let word = self.word(from);
        match word {
            "&" => return self.value(from + 1, to).map(|(w, n)| (w, n + 1)),
            "*" => return self.value(from + 1, to).and_then(|(w, n)| Some((w, n.checked_sub(1)?))),
            "-" => return self.value(from + 1, to),
            "(" => {
                let close = self.scan.group(from);
                return match self.cast(from + 1, close.checked_sub(1)?) {
                    Some(ty) if close < to => Some(ty),
                    _ if close == to => self.value(from + 1, close - 1),
                    _ => None,
                };
            }
            _ => {}
        }
        if CASTING.contains(&word) && self.word(from + 1) == "<" {
            let close = (from + 2..to).find(|&j| self.word(j) == ">")?;
            return self.cast(from + 2, close);
        }
        if self.scan.tokens.get(from)?.kind == Kind::Number {
            return (to == from + 1).then(|| (vec![number(word).into()], 0));
        }
        if !self.scan.is_ident(from) {
            return None;
        }
        // `T(x)`, `Twice()`, `Twice{}`
        if matches!(self.word(from + 1), "(" | "{") {
            let close = self.scan.group(from + 1);
            let words = [word.into()];
            let whole = if self.word(from + 1) == "(" { close == to } else { true };
            return (whole && self.types.written(&words, self.dialect).is_some()).then(|| (words.into(), 0));
        }
        // the last of `a.b->c`
        let mut k = from;
        while matches!(self.word(k + 1), "." | "->") && k + 2 < to {
            k += 2;
        }
        let (words, mut stars) = self.declared(self.word(k), from)?;
        k += 1;
        while k < to && self.word(k) == "[" {
            k = (k..to).find(|&j| self.word(j) == "]")? + 1;
            stars = stars.checked_sub(1)?;
        }
        let moved = matches!(self.word(k), "+" | "-") && stars > 0;
        (k == to || moved).then_some((words, stars))
    }

    /// A type alone.
    fn cast(&self, from: usize, to: usize) -> Option<Written> {
        let end = (from..to).find(|&j| self.word(j) == "*").unwrap_or(to);
        let words: Vec<Arc<str>> = (from..end).map(|j| self.word(j).into()).filter(is_no_qualifier).collect();
        let stars = (end..to).all(|j| self.word(j) == "*" || QUALIFIERS.contains(&self.word(j)));
        let known = self.types.written(&words, self.dialect).is_some();
        (stars && known).then(|| (words, (end..to).filter(|&j| self.word(j) == "*").count()))
    }

    /// The type that the declaration of `name` nearest before `k` gives it; where none stands before, the only one after.
    fn declared(&self, name: &str, k: usize) -> Option<Written> {
        let all = |range: std::ops::Range<usize>| range.filter(|&j| self.word(j) == name);
        let before = all(0..k).rev().find_map(|j| self.declaration(j));
        before.or_else(|| all(k..self.scan.tokens.len()).find_map(|j| self.declaration(j)))?
    }

    /// The type that `name` gets at `j`; `None`: nothing is declared there. `Some(None)`: something of another type.
    fn declaration(&self, j: usize) -> Option<Option<Written>> {
        if !matches!(self.word(j + 1), ";" | "=" | "," | ")" | "[" | "{") || j == 0 {
            return None;
        }
        let mut stars = 0;
        let mut p = j - 1;
        while p > 0 && (matches!(self.word(p), "*" | "&") || QUALIFIERS.contains(&self.word(p))) {
            stars += usize::from(self.word(p) == "*");
            p -= 1;
        }
        let mut after = j + 1;
        while self.word(after) == "[" {
            after = (after..self.scan.tokens.len()).find(|&i| self.word(i) == "]")? + 1;
            stars += 1;
        }
        if self.word(p) == "," {
            return Some(Some((self.first_of_list(p)?, stars)));
        }
        if self.word(p) == ">" && p == j - 1 {
            return Some(None);
        }
        let mut from = p;
        while from > 0 && TYPE_WORDS.contains(&self.word(from)) && TYPE_WORDS.contains(&self.word(from - 1)) {
            from -= 1;
        }
        let words: Vec<Arc<str>> = (from..=p).map(|i| self.word(i).into()).collect();
        self.types.written(&words, self.dialect)?;
        let mut before = from.wrapping_sub(1);
        while before < from && QUALIFIERS.contains(&self.word(before)) {
            before = before.wrapping_sub(1);
        }
        let begins =
            matches!(self.word(before), "" | ";" | "{" | "}" | "(" | "," | ")" | ":" | "struct" | ">");
        begins.then_some(Some((words, stars)))
    }

    /// The type at the begin of the list of declarations that goes on at the comma `p`.
    fn first_of_list(&self, p: usize) -> Option<Vec<Arc<str>>> {
        let mut depth = 0usize;
        let mut j = p;
        while j > 0 {
            match self.word(j - 1) {
                ")" | "]" => depth += 1,
                "(" | "[" => depth = depth.checked_sub(1)?,
                "}" if depth > 0 => depth += 1,
                "{" if depth > 0 => depth -= 1,
                ";" | "{" | "}" | ":" if depth == 0 => break,
                _ => {}
            }
            j -= 1;
        }
        while QUALIFIERS.contains(&self.word(j)) {
            j += 1;
        }
        let mut end = j + 1;
        while TYPE_WORDS.contains(&self.word(j)) && TYPE_WORDS.contains(&self.word(end)) {
            end += 1;
        }
        let words: Vec<Arc<str>> = (j..end).map(|i| self.word(i).into()).collect();
        self.types.written(&words, self.dialect)?;
        (self.scan.is_ident(end) || self.word(end) == "*").then_some(words)
    }
}

const CASTING: [&str; 3] = ["static_cast", "reinterpret_cast", "const_cast"];

fn is_no_qualifier(word: &Arc<str>) -> bool {
    !QUALIFIERS.contains(&&**word)
}

/// What a parameter is taken for where the text does not say it.
fn taken_for(p: &Parameter, patterns: &[Option<Written>]) -> Arc<str> {
    let of = |stars: bool| {
        patterns
            .iter()
            .flatten()
            .any(|(w, n)| matches!(w.as_slice(), [one] if *one == p.name) && (*n > 0) == stars)
    };
    // given by value alone: an object whose functions the kernel calls
    match !of(true) && of(false) {
        true => p.name.clone(),
        false => ASSUMED.into(),
    }
}

fn number(text: &str) -> &'static str {
    let hexadecimal = text.starts_with("0x") || text.starts_with("0X");
    let floats = !hexadecimal && text.contains(['.', 'e', 'E']);
    match (floats, text.ends_with(['f', 'F'])) {
        (true, true) => "float",
        (true, false) => "double",
        _ if text.ends_with(['u', 'U']) => "unsigned",
        _ => "int",
    }
}
