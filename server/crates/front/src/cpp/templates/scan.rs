//! What a file's tokens say of its templates: where they are, what is written between `name<` and `>`, which names stand for
//! integers, and what an integer expression comes to.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::deduce::{Deduced, Deduction};
use super::{Bound, Head, Parameter, Use, MAX_DEPTH};
use crate::c::is_keyword;
use crate::c::lex::{Kind, Token};
use crate::c::pp;
use crate::cpp::plain::TYPE_WORDS;

/// The arguments between the `<` at `k` and its `>`, and the index after that.
pub(super) fn arguments<'t>(
    k: usize,
    end: usize,
    word: &dyn Fn(usize) -> &'t str,
) -> Option<(Vec<Vec<Arc<str>>>, usize)> {
    let mut list: Vec<Vec<Arc<str>>> = vec![Vec::new()];
    let mut parens = 0usize;
    for j in k + 1..end.min(k + 80) {
        match word(j) {
            "(" => parens += 1,
            ")" => parens = parens.checked_sub(1)?,
            ">" if parens == 0 => {
                let none = matches!(list.as_slice(), [only] if only.is_empty());
                return Some((if none { Vec::new() } else { list }, j + 1));
            }
            "," if parens == 0 => {
                list.push(Vec::new());
                continue;
            }
            "<" | ">" | ">>" | ";" | "{" | "}" | "" => return None,
            _ => {}
        }
        list.last_mut()?.push(word(j).into());
    }
    None
}

/// An integer expression.
pub(super) struct Evaluate<'w> {
    pub(super) words: &'w [Arc<str>],
    pub(super) at: usize,
    pub(super) env: &'w [(Arc<str>, Bound)],
    pub(super) constants: &'w FxHashMap<Arc<str>, i128>,
    pub(super) depth: u32,
}

impl Evaluate<'_> {
    fn word(&self) -> &str {
        self.words.get(self.at).map_or("", |w| w)
    }

    pub(super) fn sum(&mut self) -> Option<i128> {
        let mut v = self.product()?;
        loop {
            let op = self.word().to_owned();
            if !matches!(&*op, "+" | "-") {
                return Some(v);
            }
            self.at += 1;
            let w = self.product()?;
            v = if op == "+" { v.checked_add(w)? } else { v.checked_sub(w)? };
        }
    }

    fn product(&mut self) -> Option<i128> {
        let mut v = self.single()?;
        loop {
            let op = self.word().to_owned();
            if !matches!(&*op, "*" | "/" | "%") {
                return Some(v);
            }
            self.at += 1;
            let w = self.single()?;
            v = match &*op {
                "*" => v.checked_mul(w)?,
                "/" => v.checked_div(w)?,
                _ => v.checked_rem(w)?,
            };
        }
    }

    fn single(&mut self) -> Option<i128> {
        self.depth += 1;
        if self.depth > 200 {
            return None;
        }
        let word = self.word().to_owned();
        self.at += 1;
        match &*word {
            "(" => {
                let v = self.sum()?;
                let closed = self.word() == ")";
                self.at += 1;
                closed.then_some(v)
            }
            "-" => self.single()?.checked_neg(),
            "true" => Some(1),
            "false" => Some(0),
            _ if word.starts_with(|c: char| c.is_ascii_digit()) => number(&word),
            _ => match self.env.iter().find(|(n, _)| **n == *word) {
                Some((_, Bound::Value(v))) => Some(*v),
                Some(_) => None,
                None => self.constants.get(&*word).copied(),
            },
        }
        // what C++ would compute in `int` must not have left it
        .filter(|v| i32::try_from(*v).is_ok())
    }
}

fn number(text: &str) -> Option<i128> {
    let digits = text.trim_end_matches(['u', 'U', 'l', 'L']);
    match digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
        Some(hex) => i128::from_str_radix(hex, 16).ok(),
        None if digits.len() > 1 && digits.starts_with('0') => None,
        None => digits.parse().ok(),
    }
}

/// A template of the text.
pub(super) struct Template {
    /// Indices of `template` and after its end.
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) name: Option<Arc<str>>,
    /// `None`: not followed.
    pub(super) parameters: Option<Vec<Parameter>>,
    pub(super) has_body: bool,
    /// Of its function's name, and of what follows its header.
    pub(super) named: Option<usize>,
    pub(super) body: usize,
}

pub(super) struct Scan<'a> {
    pub(super) text: &'a str,
    pub(super) tokens: &'a [Token],
}

impl<'a> Scan<'a> {
    pub(super) fn word(&self, k: usize) -> &'a str {
        match self.tokens.get(k) {
            Some(t) if t.kind != Kind::Directive => self.text.get(t.span().range()).unwrap_or(""),
            _ => "",
        }
    }
    pub(super) fn is_ident(&self, k: usize) -> bool {
        self.tokens.get(k).is_some_and(|t| t.kind == Kind::Ident)
    }

    pub(super) fn templates(&self) -> Vec<Template> {
        let mut out: Vec<Template> = Vec::new();
        let mut k = 0;
        while k < self.tokens.len() {
            if self.word(k) != "template" || self.word(k + 1) != "<" {
                k += 1;
                continue;
            }
            let t = self.template(k);
            k = t.to.max(k + 1);
            out.push(t);
        }
        out
    }

    /// Whether a template is a function of the host that launches kernels.
    pub(super) fn lends(&self, t: &Template) -> bool {
        let Some(open) = (t.from..t.to).find(|&j| self.word(j) == "{") else { return false };
        !(t.from..open).any(|j| matches!(self.word(j), "__global__" | "__device__"))
            && (open..t.to).any(|j| self.word(j) == "<<" && self.word(j + 1) == "<")
    }

    pub(super) fn is_kernel(&self, t: &Template) -> bool {
        t.has_body && (t.from..t.body).any(|j| self.word(j) == "__global__")
    }

    /// Whether a template is a function of one `return`, and none of a device alone.
    pub(super) fn is_helper(&self, t: &Template) -> bool {
        let Some(open) = (t.from..t.to).find(|&j| self.word(j) == "{") else { return false };
        self.word(open + 1) == "return"
            && (open + 1..t.to).filter(|&j| self.word(j) == ";").count() == 1
            && !(t.from..open).any(|j| self.word(j) == "__global__")
    }

    /// The template at `k`.
    fn template(&self, k: usize) -> Template {
        let mut t = Template {
            from: k,
            to: k + 2,
            name: None,
            parameters: None,
            has_body: false,
            named: None,
            body: k + 2,
        };
        let Some((list, mut j)) = arguments(k + 1, self.tokens.len(), &|j| self.word(j)) else {
            // to the end of whatever it is
            t.to = self.end(k + 1).0;
            return t;
        };
        t.parameters = if list.is_empty() { None } else { list.iter().map(|p| parameter(p)).collect() };
        let body = self.end(j);
        t.to = body.0;
        t.has_body = body.1;
        t.body = (j..t.to).find(|&i| self.word(i) == "{").unwrap_or(t.to);
        while j < t.to && self.word(j) != "(" {
            // attributes in parentheses
            if matches!(
                self.word(j),
                "__launch_bounds__" | "__attribute__" | "__align__" | "__builtin_align__"
            ) {
                j = self.group(j + 1);
                continue;
            }
            j += 1;
        }
        // `k<256>(`: a specialisation of `k`
        let mut last = j.saturating_sub(1);
        if self.word(last) == ">" {
            t.parameters = None;
            while last > k && self.word(last) != "<" {
                last -= 1;
            }
            last = last.saturating_sub(1);
        }
        let plain = self.is_ident(last) && !is_keyword(self.word(last));
        if plain && !matches!(self.word(last.wrapping_sub(1)), "::" | "~" | "operator") {
            t.name = Some(self.word(last).into());
            t.named = Some(last);
        }
        t
    }

    /// Index after the group that opens at `k`, or `k` if none opens there.
    pub(super) fn group(&self, k: usize) -> usize {
        if !matches!(self.word(k), "(" | "{" | "[") {
            return k;
        }
        let mut depth = 0usize;
        for j in k..self.tokens.len() {
            match self.word(j) {
                "(" | "{" | "[" => depth += 1,
                ")" | "}" | "]" => depth = depth.saturating_sub(1),
                _ => {}
            }
            if depth == 0 {
                return j + 1;
            }
        }
        self.tokens.len()
    }

    /// Index after the item that goes on at `k`, and whether it ends with a body.
    fn end(&self, k: usize) -> (usize, bool) {
        let (mut braces, mut parens) = (0usize, 0usize);
        for j in k..self.tokens.len() {
            match self.word(j) {
                "(" => parens += 1,
                ")" => parens = parens.saturating_sub(1),
                "{" => braces += 1,
                "}" => {
                    braces = braces.saturating_sub(1);
                    if braces == 0 {
                        return (j + 1, true);
                    }
                }
                ";" if braces == 0 && parens == 0 => return (j + 1, false),
                _ => {}
            }
        }
        (self.tokens.len(), false)
    }

    /// Where templates get arguments, and what is left out there.
    pub(super) fn uses(
        &self,
        heads: &FxHashMap<Arc<str>, Head>,
        deduction: &Deduction<'_>,
    ) -> (Vec<Use>, Vec<Deduced>) {
        let (mut out, mut left) = (Vec::new(), Vec::new());
        for k in 0..self.tokens.len() {
            let Some(head) = heads.get(self.word(k)) else { continue };
            let listed = self.word(k + 1) == "<";
            let deduced = deduction.at(k, head);
            let given = match listed {
                true => arguments(k + 1, self.tokens.len(), &|j| self.word(j)).map(|l| l.0),
                false => deduced.is_some().then(Vec::new),
            };
            let Some(mut arguments) = given else { continue };
            let guessed = deduced.as_ref().is_some_and(|d| d.guessed);
            if let Some(d) = deduced {
                arguments.extend(d.words.iter().cloned());
                left.push(d);
            }
            let inside = deduction.all.iter().position(|t| t.from <= k && k < t.to);
            out.push(Use { name: self.word(k).into(), arguments, inside, guessed });
        }
        (out, left)
    }

    /// Names that stand for one integer wherever they are written outside of templates that have such a parameter: macros, and
    /// constants of which the text declares exactly one.
    pub(super) fn constants(
        &self,
        all: &[Template],
        defines: &[(String, String)],
    ) -> FxHashMap<Arc<str>, i128> {
        let mut texts: FxHashMap<Arc<str>, Option<Vec<Arc<str>>>> = FxHashMap::default();
        let mut note = |name: &str, words: Option<Vec<Arc<str>>>| {
            texts.entry(name.into()).and_modify(|t| *t = None).or_insert(words);
        };
        let lexed = |text: &str| -> Vec<Arc<str>> { pp::words(text) };
        for (name, value) in defines {
            note(name, Some(lexed(value)));
        }
        for t in self.tokens.iter().filter(|t| t.kind == Kind::Directive) {
            let line = self.text.get(t.span().range()).unwrap_or("");
            match pp::line(line) {
                // with one from outside, `#ifndef` stands around it or it is an error
                pp::Line::Define(name, m) if !defines.iter().any(|(n, _)| **n == *name) => {
                    note(&name, m.object_words());
                }
                pp::Line::Undef(name) => note(&name, None),
                _ => {}
            }
        }
        for k in 1..self.tokens.len() {
            if !self.is_ident(k) || is_keyword(self.word(k)) {
                continue;
            }
            let name = self.word(k);
            let before = self.word(k - 1);
            let declares = self.is_ident(k - 1)
                && !matches!(before, "return" | "else" | "case" | "goto" | "do" | "sizeof")
                || matches!(before, "*" | "&") && TYPE_WORDS.contains(&self.word(k.wrapping_sub(2)));
            if !declares || matches!(self.word(k + 1), "(" | "<") {
                continue;
            }
            let own = all.iter().any(|t| {
                t.from <= k
                    && k < t.to
                    && t.parameters.as_ref().is_some_and(|l| l.iter().any(|p| *p.name == *name))
            });
            if own {
                continue;
            }
            let mut j = k - 1;
            while j > 0 && self.is_ident(j) && !matches!(self.word(j), "const" | "constexpr") {
                j -= 1;
            }
            let constant = matches!(self.word(j), "const" | "constexpr") && self.word(k + 1) == "=";
            let is_int = (j + 1..k).all(|i| {
                matches!(
                    self.word(i),
                    "int"
                        | "unsigned"
                        | "static"
                        | "const"
                        | "constexpr"
                        | "size_t"
                        | "long"
                        | "short"
                        | "bool"
                )
            });
            let stop = (k..self.tokens.len()).find(|&i| matches!(self.word(i), ";" | ",")).unwrap_or(k);
            let words = (constant && is_int && stop > k + 2)
                .then(|| (k + 2..stop).map(|i| self.word(i).into()).collect());
            note(name, words);
        }
        // names that stand for one another
        let mut out: FxHashMap<Arc<str>, i128> = FxHashMap::default();
        for _ in 0..MAX_DEPTH {
            let before = out.len();
            for (name, words) in &texts {
                let Some(words) = words.as_ref().filter(|_| !out.contains_key(name)) else { continue };
                let mut e = Evaluate { words, at: 0, env: &[], constants: &out, depth: 0 };
                let v = e.sum().filter(|_| e.at == words.len());
                if let Some(v) = v {
                    out.insert(name.clone(), v);
                }
            }
            if out.len() == before {
                break;
            }
        }
        out
    }
}

/// A template's parameter.
fn parameter(words: &[Arc<str>]) -> Option<Parameter> {
    let equals = words.iter().position(|w| &**w == "=");
    let (declared, default) = match equals {
        Some(k) => (&words[..k], Some(words[k + 1..].to_vec())),
        None => (words, None),
    };
    let (name, ty) = declared.split_last()?;
    let ident = name.bytes().next().is_some_and(crate::c::lex::is_ident_start) && !is_keyword(name);
    if !ident || ty.is_empty() {
        return None;
    }
    let words: Vec<&str> = ty.iter().map(|w| &**w).filter(|w| *w != "const").collect();
    let value = match words.as_slice() {
        ["typename" | "class"] => None,
        list if !list.is_empty() && list.iter().all(|w| TYPE_WORDS.contains(w)) => {
            Some(list.iter().map(|w| (*w).into()).collect())
        }
        _ => return None,
    };
    Some(Parameter { name: name.clone(), value, default })
}
