//! References to places and to numbers, as the pointers that they are: `double &x = a[i];` is `double *x = &(a[i]);`, and `x` from there
//! on `(*x)`; so are those among a function's parameters.
//!
//! Deliberately absent: references to constants of a function's own (what is bound may be a copy), and to what a call returns.

use super::plain::{Plain, TYPE_WORDS};
use crate::c::is_keyword;

impl<'a> Plain<'a, '_> {
    /// A declaration of one reference at `k`; `None`: it is something else, or the name may mean another thing before its block ends.
    pub(super) fn reference(&mut self, k: usize) -> Option<usize> {
        let mut at = k;
        let is_auto = self.text(k) == "auto";
        while TYPE_WORDS.contains(&self.text(at)) || is_auto && at == k {
            at += 1;
        }
        let (name, equals) = (at + 1, at + 2);
        let begins = at > k && self.text(at) == "&" && self.is_name(name) && self.text(equals) == "=";
        let end = begins.then(|| self.place_end(equals + 1))?.filter(|&e| self.text(e) == ";")?;
        let word = self.text(name);
        if self.is_declared_again(word, end + 1) {
            return None;
        }
        for j in k..at {
            self.keep(j);
        }
        if !is_auto {
            self.put(at, "*");
        }
        self.keep(name);
        self.keep(equals);
        self.put(equals, "&");
        self.put(equals, "(");
        let mut j = equals + 1;
        while j < end {
            j = self.token(j).max(j + 1);
        }
        self.put(end, ")");
        self.keep(end);
        self.refer(word);
        Some(end + 1)
    }

    /// Index after `name[…].field->field`.
    fn place_end(&self, k: usize) -> Option<usize> {
        let mut j = k;
        if !self.is_name(j) {
            return None;
        }
        j += 1;
        loop {
            match self.text(j) {
                "[" => j = self.group(j),
                "." | "->" if self.is_name(j + 1) => j += 2,
                _ => return Some(j),
            }
        }
    }

    /// Whether the name is declared anew before the block that `k` stands in ends.
    pub(super) fn is_declared_again(&self, name: &str, k: usize) -> bool {
        let mut depth = 0usize;
        for j in k..self.tokens.len() {
            match self.text(j) {
                "{" => depth += 1,
                "}" if depth == 0 => return false,
                "}" => depth -= 1,
                t if t == name => {
                    let before = self.text(j - 1);
                    let is_type = |t: &str| {
                        TYPE_WORDS.contains(&t) || matches!(t, "auto" | "const" | "*" | "&" | "&&" | "]")
                    };
                    // after a type's name, or among several
                    let word = self.is_ident(j - 1) && (!is_keyword(before) || is_type(before));
                    let of_type = matches!(before, "*" | "&" | "&&")
                        && self.is_ident(j - 2)
                        && (is_type(self.text(j - 2)) || !self.is_value(j - 2));
                    // what a function without a name has of its own
                    let captured = before == "[" || self.text(j - 2) == "[";
                    let listed = before == "," && matches!(self.text(j + 1), "=" | ";" | ",");
                    if word && before != "return" && before != "else"
                        || of_type
                        || captured && self.text(j + 1) == "]" && before == "&"
                        || listed
                    {
                        return true;
                    }
                }
                _ => {}
            }
        }
        false
    }
}
