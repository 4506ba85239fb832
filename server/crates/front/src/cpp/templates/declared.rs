//! Which type a variable of the text has: read off its declarations as they are written, and known only where none of those that may be
//! meant says another.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::deduce::{Deduction, Written, QUALIFIERS};
use super::scan::Scan;
use crate::c::lex::Kind;
use crate::cpp::plain::TYPE_WORDS;

/// Words that stand before a name that they do not declare.
const NO_TYPES: [&str; 14] = [
    "return", "else", "case", "goto", "do", "throw", "delete", "new", "sizeof", "operator", "typename",
    "not", "and", "or",
];

/// Outside of all braces.
const NOWHERE: usize = usize::MAX;

/// Where a token stands.
pub(super) struct Scope {
    /// The innermost open `{` around it.
    block: usize,
    /// Parentheses that are open inside of that.
    parens: u32,
}

impl Scan<'_> {
    /// Where all tokens stand, and where each name does.
    pub(super) fn scopes(&self) -> (Vec<Scope>, FxHashMap<&str, Vec<usize>>) {
        let (mut block, mut parens) = (NOWHERE, 0u32);
        let mut open: Vec<(usize, u32)> = Vec::new();
        let mut scopes = Vec::with_capacity(self.tokens.len());
        let mut places: FxHashMap<&str, Vec<usize>> = FxHashMap::default();
        for k in 0..self.tokens.len() {
            let word = self.word(k);
            if word == "}" {
                (block, parens) = open.pop().unwrap_or((NOWHERE, 0));
            }
            if word == ")" {
                parens = parens.saturating_sub(1);
            }
            scopes.push(Scope { block, parens });
            match word {
                "{" => {
                    open.push((block, parens));
                    (block, parens) = (k, 0);
                }
                "(" => parens += 1,
                _ if self.is_ident(k) => places.entry(word).or_default().push(k),
                _ => {}
            }
        }
        (scopes, places)
    }
}

impl Deduction<'_> {
    /// The type of a field: all that classes of the text declare by that name must be alike.
    pub(super) fn field(&self, k: usize) -> Option<Written> {
        let all = self.places.get(self.word(k)).map_or(&[][..], Vec::as_slice);
        let is_class = |b: usize| {
            b != NOWHERE
                && b > 0
                && (self.scan.is_ident(b - 1) || self.word(b - 1) == ">")
                && !matches!(
                    self.word(b - 1),
                    "else" | "do" | "try" | "const" | "noexcept" | "override" | "final"
                )
        };
        let of_class = |j: &usize| self.scopes.get(*j).is_some_and(|s| s.parens == 0 && is_class(s.block));
        self.alike(all.iter().copied().filter(of_class))
    }

    /// The one type that all these places give a name, where they declare it at all.
    fn alike(&self, places: impl Iterator<Item = usize>) -> Option<Written> {
        let mut found: Option<Written> = None;
        for j in places {
            match self.declaration(j) {
                None => {}
                Some(None) => return None,
                Some(Some(ty)) if found.as_ref().is_none_or(|f| *f == ty) => found = Some(ty),
                Some(Some(_)) => return None,
            }
        }
        found
    }

    /// The type of the variable that is named at `k`: what the function around it declares by that name, all alike; where it declares
    /// none, what the class around it does, or the file.
    pub(super) fn declared(&self, k: usize) -> Option<Written> {
        let all = self.places.get(self.word(k)).map_or(&[][..], Vec::as_slice);
        let before: Vec<usize> = all.iter().copied().filter(|&j| j < k).collect();
        let (start, blocks) = self.around(k);
        let own = before.iter().copied().filter(|&j| j >= start);
        if own.clone().any(|j| self.declaration(j).is_some()) {
            return self.alike(own);
        }
        // a place directly in one of the blocks around the function, or in none, and in no parentheses
        let outside = |j: &usize| {
            *j < start && self.scopes.get(*j).is_some_and(|s| s.parens == 0 && blocks.contains(&s.block))
        };
        let fields = all.iter().copied().filter(|&j| {
            j > k
                && blocks.iter().any(|&b| {
                    b != NOWHERE && self.scopes.get(j).is_some_and(|s| s.block == b && s.parens == 0)
                })
        });
        self.alike(before.iter().copied().filter(|j| outside(j)).chain(fields))
    }

    /// Where the function around a place begins, and the blocks around that function.
    fn around(&self, k: usize) -> (usize, Vec<usize>) {
        let mut blocks = Vec::new();
        let mut at = self.scopes.get(k).map_or(NOWHERE, |s| s.block);
        while at != NOWHERE {
            blocks.push(at);
            at = self.scopes.get(at).map_or(NOWHERE, |s| s.block);
        }
        blocks.push(NOWHERE);
        // the outermost block with a header of a function
        let is_body = |b: usize| {
            b != NOWHERE
                && b > 0
                && matches!(self.word(b - 1), ")" | "const" | "noexcept" | "override" | "final")
        };
        let Some(n) = blocks.iter().rposition(|&b| is_body(b)) else { return (k, blocks) };
        let mut start = blocks[n];
        while start > 0 && !matches!(self.word(start - 1), ";" | "}" | "{" | "") {
            start -= 1;
        }
        (start, blocks.split_off(n + 1))
    }

    /// The type that `name` gets at `j`; `None`: nothing is declared there. `Some(None)`: something of a type that is not known.
    fn declaration(&self, j: usize) -> Option<Option<Written>> {
        if !matches!(self.word(j + 1), ";" | "=" | "," | ")" | "[" | "{" | "(" | ":" | "]") || j == 0 {
            return None;
        }
        let mut stars = 0;
        let mut p = j - 1;
        while p > 0 && (matches!(self.word(p), "*" | "&" | "&&") || QUALIFIERS.contains(&self.word(p))) {
            stars += usize::from(self.word(p) == "*");
            p -= 1;
        }
        let mut after = j + 1;
        while self.word(after) == "[" {
            after = self.scan.group(after);
            stars += 1;
        }
        if matches!(self.word(p), "," | "[") {
            // `auto [x, y] = …`
            let bound = self.bound_together(p);
            if bound {
                return Some(None);
            }
            return if self.word(p) == "," {
                self.first_of_list(p).map(|w| w.map(|w| (w, stars)))
            } else {
                None
            };
        }
        // `vector<float> v`, `auto v`, `lib::type v`
        let ident = self.scan.is_ident(p) && !NO_TYPES.contains(&self.word(p));
        if !ident {
            return (matches!(self.word(p), ">" | ">>") && self.is_list_of_types(p)).then_some(None);
        }
        let mut from = p;
        while from > 0 && TYPE_WORDS.contains(&self.word(from)) && TYPE_WORDS.contains(&self.word(from - 1)) {
            from -= 1;
        }
        let words: Vec<Arc<str>> = (from..=p).map(|i| self.word(i).into()).collect();
        let mut before = from.wrapping_sub(1);
        while before < from && QUALIFIERS.contains(&self.word(before)) {
            before = before.wrapping_sub(1);
        }
        let begins = matches!(
            self.word(before),
            "" | ";" | "{" | "}" | "(" | "," | ")" | ":" | "struct" | ">" | "template"
        );
        let known = self.types.written(&words, self.dialect).is_some();
        match (known && begins && self.word(j + 1) != ":", p == j - 1) {
            (true, _) if self.word(j + 1) == "(" => (p == j - 1).then_some(None),
            (true, _) => Some(Some((words, stars))),
            // two words in a row declare, whatever they are
            (false, true) => Some(None),
            // `a * b` where a statement or a parameter begins
            (false, false) => (begins && self.word(before) != "(" || known).then_some(None),
        }
    }

    /// Whether the `>` at `p` ends `name<…>` as a type is written.
    fn is_list_of_types(&self, p: usize) -> bool {
        let mut depth = 0usize;
        for j in (0..=p).rev() {
            match self.word(j) {
                ">" => depth += 1,
                ">>" => depth += 2,
                "<" if depth == 1 => return j > 0 && self.scan.is_ident(j - 1),
                "<" => depth -= 1,
                "::" | "," | "*" | "&" => {}
                _ if self.scan.tokens.get(j).is_some_and(|t| t.kind != Kind::Punct) => {}
                _ => return false,
            }
        }
        false
    }

    /// Whether the brackets that are open at `p` are those of `auto [`.
    fn bound_together(&self, p: usize) -> bool {
        let mut j = p;
        loop {
            match self.word(j) {
                "[" => {
                    return j > 0
                        && matches!(self.word(j - 1), "auto" | "&" | "&&")
                        && (j < 2 || self.word(j - 1) == "auto" || self.word(j - 2) == "auto")
                }
                "," => {}
                _ if self.scan.is_ident(j) => {}
                _ => return false,
            }
            if j == 0 {
                return false;
            }
            j -= 1;
        }
    }

    /// The type at the begin of the list of declarations that goes on at the comma `p`; `Some(None)`: perhaps it is one.
    fn first_of_list(&self, p: usize) -> Option<Option<Vec<Arc<str>>>> {
        let mut depth = 0usize;
        let mut j = p;
        while j > 0 {
            match self.word(j - 1) {
                ")" | "]" | "}" => depth += 1,
                "(" | "[" => depth = depth.checked_sub(1)?,
                "{" if depth > 0 => depth -= 1,
                ";" | "{" | ":" if depth == 0 => break,
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
        let declares = self.scan.is_ident(end) || self.word(end) == "*";
        let known = self.types.written(&words, self.dialect).is_some();
        match (declares, known) {
            (true, true) => Some(Some(words)),
            (true, false) => self.scan.is_ident(j).then_some(None),
            (false, _) => matches!(self.word(end), "<" | "::").then_some(None),
        }
    }
}
