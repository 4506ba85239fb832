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

use super::declared::Scope;
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
    /// Whether the text does not say some of them.
    pub(super) guessed: bool,
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
    /// Types that templates have as parameters.
    parameters: FxHashSet<Arc<str>>,
    /// Macros that are defined once, and under no condition, with what they stand for; of others nothing is known.
    macros: FxHashMap<Arc<str>, Option<Vec<Arc<str>>>>,
}

impl Types {
    /// What is written for a type: its words, with macros replaced. `None`: they name no type.
    pub(super) fn written(&self, words: &[Arc<str>], dialect: Option<&Dialect>) -> Option<String> {
        if let [one] = words {
            if let Some(stands) = self.macros.get(one) {
                return stands.as_ref().map(|w| join(w));
            }
            if self.names.contains(one) || self.parameters.contains(one) {
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
pub(super) type Written = (Vec<Arc<str>>, usize);

pub(super) const QUALIFIERS: [&str; 12] = [
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
    pub(super) scopes: Vec<Scope>,
    /// Where each name stands.
    pub(super) places: FxHashMap<&'a str, Vec<usize>>,
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
        out.parameters.extend(parameters.map(|p| p.name));
        let mut depth = 0usize;
        for t in self.tokens.iter().filter(|t| t.kind == Kind::Directive) {
            let line = self.text.get(t.span().range()).unwrap_or("");
            match pp::line(line) {
                pp::Line::Define(name, m) => {
                    let words = m.object_words().filter(|w| w.iter().all(|w| TYPE_WORDS.contains(&&**w)));
                    let known = words.filter(|w| !w.is_empty() && depth == 0);
                    out.macros.entry(name).and_modify(|m| *m = None).or_insert(known);
                }
                pp::Line::Undef(name) => {
                    out.macros.insert(name, None);
                }
                _ => {
                    let word = line.trim_start_matches('#').trim_start();
                    if word.starts_with("if") {
                        depth += 1;
                    } else if word.starts_with("endif") {
                        depth = depth.saturating_sub(1);
                    }
                }
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
        // a variable, or a function without a name, by that name
        let named = |k: usize| {
            self.is_ident(k.wrapping_sub(1))
                && !matches!(self.word(k - 1), "return" | "else" | "case" | "throw" | "do" | "goto")
                && matches!(self.word(k + 1), "=" | ";" | "," | ")" | "[" | "{")
        };
        // a template that is only declared, with other parameters than the one that has a body
        let shapes = |t: &Template| self.shape(t);
        let bodies: FxHashMap<&str, Option<Vec<String>>> = all
            .iter()
            .filter(|t| t.has_body)
            .filter_map(|t| Some((&**t.name.as_ref()?, shapes(t))))
            .collect();
        let others = all.iter().filter(|t| !t.has_body).filter_map(|t| {
            let name = t.name.clone()?;
            (bodies.get(&*name).is_some_and(|b| *b != shapes(t))).then_some(name)
        });
        let here =
            (0..self.tokens.len()).filter(|&k| heads.contains_key(self.word(k)) && (declares(k) || named(k)));
        here.map(|k| self.word(k).into()).chain(of_library).chain(others).collect()
    }

    /// What stands between the commas of the list that opens at `open`.
    fn list(&self, open: usize) -> Option<Vec<(usize, usize)>> {
        let (mut depth, mut angles, mut from) = (0usize, 0usize, open + 1);
        let mut out = Vec::new();
        for j in open + 1..self.tokens.len() {
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

    /// The types of a template's function's parameters, as they are written.
    fn shape(&self, t: &Template) -> Option<Vec<String>> {
        let parts = self.list(t.named? + 1)?;
        let one = |&(from, to): &(usize, usize)| {
            let all: Vec<&str> = (from..to).map(|j| self.word(j)).collect();
            let end = all.iter().position(|w| *w == "=").unwrap_or(all.len());
            let named = end > 1 && self.is_ident(from + end - 1) && !TYPE_WORDS.contains(&all[end - 1]);
            all[..end - usize::from(named)].join(" ")
        };
        Some(parts.iter().map(one).collect())
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
    pub(super) fn word(&self, k: usize) -> &str {
        self.scan.word(k)
    }

    /// What the launch or the call of the template `head` at `k` leaves out.
    pub(super) fn at(&self, k: usize, head: &Head) -> Option<Deduced> {
        let t = self.all.iter().find(|t| t.from == head.at)?;
        // `lib::f`, `o.f`: perhaps another
        let qualified = matches!(self.word(k.wrapping_sub(1)), "::" | "." | "->");
        if qualified || self.overloaded.contains(self.word(k)) || self.types.macros.contains_key(self.word(k))
        {
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
        let values = self.scan.list(open)?;
        let patterns = self.patterns(t)?;
        let (mut words, mut guessed): (Vec<Vec<Arc<str>>>, bool) = (Vec::new(), false);
        for p in &head.parameters[given.len()..] {
            match self.parameter(p, &patterns, &values) {
                Some(w) => words.push(w),
                // what it is deduced from goes first ([temp.deduct])
                None if p.default.is_some() && !occurs(p, &patterns) => break,
                None if launched && p.value.is_none() => {
                    words.push(vec![self.taken_for(p, &patterns)?]);
                    guessed = true;
                }
                None => return None,
            }
        }
        let (before, within) = match listed {
            true if given.is_empty() => (after - 1, Within::Empty),
            true => (after - 1, Within::Begun),
            false => (k + 1, Within::New),
        };
        (!words.is_empty()).then_some(Deduced { before, within, words, guessed })
    }

    /// What a kernel that nobody launches is taken for, where its parameters are types.
    pub(super) fn nobody(&self, t: &Template) -> Option<Vec<Vec<Arc<str>>>> {
        let patterns = self.patterns(t)?;
        let mut out = Vec::new();
        for p in t.parameters.as_ref()? {
            match (&p.value, &p.default) {
                (_, Some(_)) => break,
                (None, None) => out.push(vec![self.taken_for(p, &patterns)?]),
                (Some(_), None) => return None,
            }
        }
        Some(out)
    }

    /// What a parameter is taken for where the text does not say it. `None`: there is no name for that.
    fn taken_for(&self, p: &Parameter, patterns: &[Option<Written>]) -> Option<Arc<str>> {
        let of = |stars: bool| {
            let alone = |w: &[Arc<str>]| matches!(w, [one] if *one == p.name);
            patterns.iter().flatten().any(|(w, n)| alone(w) && (*n > 0) == stars)
        };
        // given by value alone: an object whose functions the kernel calls
        match !of(true) && of(false) {
            true => (!self.types.names.contains(&p.name)).then(|| p.name.clone()),
            false => Some(ASSUMED.into()),
        }
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
        Some(self.scan.list(t.named? + 1)?.iter().map(read).collect())
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

    /// Whether no operator of two operands stands in `from..to` outside of brackets.
    fn is_one_operand(&self, from: usize, to: usize) -> bool {
        let mut j = from;
        while j < to {
            match self.word(j) {
                "(" | "{" | "[" => {
                    let end = self.scan.group(j);
                    if end > to {
                        return false;
                    }
                    j = end;
                    continue;
                }
                "." | "->" => {}
                _ if self.scan.tokens.get(j).is_some_and(|t| t.kind != Kind::Punct) => {}
                _ => return false,
            }
            j += 1;
        }
        from < to
    }

    /// The type of the expression `from..to`; of those with operators only a pointer that is moved has one that is known.
    fn value(&self, from: usize, to: usize) -> Option<Written> {
        let word = self.word(from);
        match word {
            "&" if self.is_one_operand(from + 1, to) => {
                return self.value(from + 1, to).map(|(w, n)| (w, n + 1));
            }
            "*" if self.is_one_operand(from + 1, to) => {
                return self.value(from + 1, to).and_then(|(w, n)| Some((w, n.checked_sub(1)?)));
            }
            "(" => {
                let close = self.scan.group(from);
                return match self.cast(from + 1, close.checked_sub(1)?) {
                    Some(ty) => {
                        let rest = close + usize::from(matches!(self.word(close), "&" | "*" | "-"));
                        self.is_one_operand(rest, to).then_some(ty)
                    }
                    None if close == to => self.value(from + 1, close - 1),
                    None => None,
                };
            }
            _ => {}
        }
        if CASTING.contains(&word) && self.word(from + 1) == "<" {
            let close = (from + 2..to).find(|&j| self.word(j) == ">")?;
            let whole = self.word(close + 1) == "(" && self.scan.group(close + 1) == to;
            return self.cast(from + 2, close).filter(|_| whole);
        }
        if self.scan.tokens.get(from)?.kind == Kind::Number {
            return (to == from + 1).then(|| number(word)).flatten().map(|w| (vec![w.into()], 0));
        }
        if !self.scan.is_ident(from) || self.types.macros.contains_key(word) {
            return None;
        }
        // `T(x)`, `Twice()`, `Twice{}`
        if matches!(self.word(from + 1), "(" | "{") {
            let words = [word.into()];
            let whole = self.scan.group(from + 1) == to;
            return (whole && self.types.written(&words, self.dialect).is_some()).then(|| (words.into(), 0));
        }
        // the last of `a.b->c`
        let mut k = from;
        while matches!(self.word(k + 1), "." | "->") && k + 2 < to {
            k += 2;
        }
        let (words, mut stars) = if k > from { self.field(k)? } else { self.declared(from)? };
        k += 1;
        while k < to && self.word(k) == "[" {
            k = self.scan.group(k);
            stars = stars.checked_sub(1)?;
        }
        let moved = matches!(self.word(k), "+" | "-") && stars > 0;
        let only_moved = || {
            let other =
                |j: usize| matches!(self.word(j), "<" | ">" | "<=" | ">=" | "==" | "!=" | "?" | "&&" | "||");
            let pointers = |j: usize| self.word(j) == "-" && self.scan.is_ident(j + 1);
            !(k..to).any(|j| other(j) || pointers(j))
        };
        (k == to || moved && only_moved()).then_some((words, stars))
    }

    /// A type alone.
    fn cast(&self, from: usize, to: usize) -> Option<Written> {
        let end = (from..to).find(|&j| self.word(j) == "*").unwrap_or(to);
        let words: Vec<Arc<str>> = (from..end).map(|j| self.word(j).into()).filter(is_no_qualifier).collect();
        let stars = (end..to).all(|j| self.word(j) == "*" || QUALIFIERS.contains(&self.word(j)));
        let known = self.types.written(&words, self.dialect).is_some();
        (stars && known).then(|| (words, (end..to).filter(|&j| self.word(j) == "*").count()))
    }
}

const CASTING: [&str; 3] = ["static_cast", "reinterpret_cast", "const_cast"];

fn is_no_qualifier(word: &Arc<str>) -> bool {
    !QUALIFIERS.contains(&&**word)
}

/// Whether a parameter is one of a function's types, so that it is deduced.
fn occurs(p: &Parameter, patterns: &[Option<Written>]) -> bool {
    patterns.iter().flatten().any(|(w, _)| w.contains(&p.name))
}

/// The type of a number that is written plainly.
fn number(text: &str) -> Option<&'static str> {
    let lower = text.to_ascii_lowercase();
    let digits = |t: &str| !t.is_empty() && t.bytes().all(|b| b.is_ascii_digit());
    if let Some(plain) = lower.strip_suffix('u') {
        return (digits(plain) && plain.parse::<u32>().is_ok()).then_some("unsigned");
    }
    if digits(&lower) {
        return lower.parse::<i32>().is_ok().then_some("int");
    }
    if lower.starts_with("0x") || !lower.contains(['.', 'e']) || lower.ends_with('l') {
        return None;
    }
    Some(if lower.ends_with('f') { "float" } else { "double" })
}
