//! Statements that only C++ has: found by their first words, cut out whole, with the names they may declare.

use super::plain::{Plain, MAX_NESTED, TYPE_WORDS};
use crate::c::is_keyword;
use crate::c::lex::Kind;
use crate::cuda::group::Group;
use crate::limits::cpp_statements::MAX_LAUNCH;

impl<'a> Plain<'a, '_> {
    /// Index after the statement at `k`.
    fn statement_end(&self, k: usize) -> usize {
        self.end_of(k, 0)
    }

    fn end_of(&self, k: usize, depth: u32) -> usize {
        if depth > MAX_NESTED {
            return self.tokens.len();
        }
        let mut k = k;
        // `for (…) for (…) …` nests on its right
        loop {
            match self.text(k) {
                "for" | "while" | "if" | "switch" if self.text(k + 1) == "(" => {
                    let is_if = self.text(k) == "if";
                    let body = self.group(k + 1);
                    if is_if {
                        let end = self.end_of(body, depth + 1);
                        if self.text(end) != "else" {
                            return end;
                        }
                        k = end + 1;
                    } else {
                        k = body;
                    }
                }
                "do" => {
                    let body = self.end_of(k + 1, depth + 1);
                    return self.simple_end(body);
                }
                "try" => {
                    let mut end = self.group(k + 1);
                    while self.text(end) == "catch" {
                        end = self.group(self.group(end + 1));
                    }
                    return end;
                }
                "{" => return self.group(k),
                _ => return self.simple_end(k),
            }
        }
    }

    /// Index after the next `;` outside of brackets.
    pub(super) fn simple_end(&self, k: usize) -> usize {
        let mut j = k;
        while j < self.tokens.len() {
            match self.text(j) {
                ";" => return j + 1,
                ")" | "}" | "]" => return j,
                "(" | "{" | "[" => j = self.group(j),
                _ => j += 1,
            }
        }
        j
    }

    /// Whether a statement begins at `k`, by what was written before it.
    pub(super) fn at_statement(&self, k: usize) -> bool {
        match self.text(k.wrapping_sub(1)) {
            // not in the header of a `for`
            ";" => self.parens == 0,
            "{" | "}" | "else" | "do" => true,
            ":" => self.text(k.wrapping_sub(3)) == "case" || self.text(k.wrapping_sub(2)) == "default",
            ")" => self.text(k) != ")" && self.after_header(k),
            _ => false,
        }
    }

    /// Whether the `)` before `k` closes the header of an `if` or a loop.
    fn after_header(&self, k: usize) -> bool {
        let mut depth = 0usize;
        for j in (0..k).rev() {
            match self.text(j) {
                ")" => depth += 1,
                "(" => {
                    depth -= 1;
                    if depth == 0 {
                        return matches!(
                            self.text(j.wrapping_sub(1)),
                            "if" | "for" | "while" | "switch" | "constexpr"
                        );
                    }
                }
                _ => {}
            }
        }
        false
    }

    /// `float x(0.5f);` as `float x = (0.5f);`: one number, and no function of a type's parameters.
    fn number_made(&mut self, k: usize) -> Option<usize> {
        let mut at = k;
        while TYPE_WORDS.contains(&self.text(at)) || self.text(at) == "const" {
            at += 1;
        }
        let open = at + 1;
        if at == k || !self.is_name(at) || self.text(open) != "(" {
            return None;
        }
        let end = self.group(open);
        let first = self.tokens.get(open + 1)?;
        let is_value = first.kind == Kind::Number
            || matches!(self.text(open + 1), "-" | "+")
            || self.is_name(open + 1)
                && !(self.is_type)(self.text(open + 1))
                && matches!(self.text(open + 2), ")" | "+" | "-" | "/" | "." | "->" | "[");
        let commas = (open + 1..end).any(|j| self.text(j) == ",");
        if !is_value || commas || self.text(end) != ";" {
            return None;
        }
        for j in k..=at {
            self.keep(j);
        }
        self.put(open, "=");
        Some(open)
    }

    /// A statement at `k`: as a gap if C cannot say it, else its first token.
    pub(super) fn statement(&mut self, k: usize) -> usize {
        if let Some(next) = self.group_declaration(k) {
            return next;
        }
        if let Some(next) = self.collective_declaration(k).or_else(|| self.dynamic_shared(k)) {
            return next;
        }
        if let Some(next) = self.reference(k) {
            return next;
        }
        if let Some(next) = self.number_made(k) {
            return next;
        }
        if self.text(k) == "delete" {
            if let Some(next) = self.delete_array(k) {
                return next;
            }
        }
        // another name of a namespace that is known without it
        if self.text(k) == "namespace" && self.text(k + 2) == "=" && self.text(k + 3) == "cooperative_groups"
        {
            return self.statement_end(k);
        }
        let why = match self.text(k) {
            "asm" | "__asm__" | "__asm" => Some("assembly is not followed"),
            "using" | "namespace" => Some("`using` of C++ is not followed"),
            "try" | "throw" => Some("exceptions of C++ are not followed"),
            "delete" => Some("`delete` of C++ is not followed"),
            "template" | "class" => Some("local classes of C++ are not followed"),
            "for" if self.is_range_for(k) => Some("a loop over a range of C++ is not followed"),
            _ => None,
        };
        let launch = || {
            // the end of a short statement, whatever it is
            let end =
                (k..k + MAX_LAUNCH).find(|&j| matches!(self.text(j), ";" | "{" | "}" | "")).unwrap_or(k);
            (k + 1..end).any(|j| {
                self.text(j) == "<<" && self.text(j + 1) == "<" && matches!(self.text(j - 1), ">" | ">>")
            }) && !is_keyword(self.text(k))
        };
        if let Some(why) = why {
            let names = if self.text(k) == "using" { self.names_of_using(k) } else { Vec::new() };
            return self.opaque(k, self.statement_end(k), why, &names);
        }
        if launch() {
            let why = "a launch of a template's instance is not followed";
            return self.opaque(k, self.statement_end(k), why, &[]);
        }
        if let Some((why, names)) = self.declaration(k) {
            return self.opaque(k, self.statement_end(k), why, &names);
        }
        self.token(k)
    }

    /// `using name = type;` as a typedef: the whole item.
    pub(super) fn alias(&mut self) {
        if self.text(0) != "using" || self.text(2) != "=" {
            return;
        }
        let end = self.simple_end(0);
        self.put(0, "typedef");
        for k in 3..end.saturating_sub(1) {
            self.keep(k);
        }
        self.keep(1);
        self.keep(end - 1);
        self.tokens = &[];
    }

    fn names_of_using(&self, k: usize) -> Vec<&'a str> {
        let end = self.simple_end(k);
        match self.text(k + 2) {
            "=" => vec![self.text(k + 1)],
            _ if self.text(k + 1) == "namespace" => Vec::new(),
            _ => vec![self.text(end.saturating_sub(2))],
        }
    }

    fn is_range_for(&self, k: usize) -> bool {
        let end = self.group(k + 1);
        let mut asked = 0usize;
        let mut j = k + 2;
        while j + 1 < end {
            match self.text(j) {
                "?" => asked += 1,
                ":" if asked == 0 => return true,
                ":" => asked -= 1,
                ";" => return false,
                "(" | "[" | "{" => {
                    j = self.group(j);
                    continue;
                }
                _ => {}
            }
            j += 1;
        }
        false
    }

    /// A declaration that C cannot say: why, and the names it declares.
    fn declaration(&self, k: usize) -> Option<(&'static str, Vec<&'a str>)> {
        let mut j = k;
        while matches!(
            self.text(j),
            "const" | "static" | "constexpr" | "volatile" | "thread_local" | "__shared__" | "extern"
        ) {
            j += 1;
        }
        let mut why = None;
        if self.text(j) == "auto" {
            j += 1;
            if self.text(j) == "[" {
                let end = self.group(j);
                let names = (j..end).filter(|&i| self.is_name(i)).map(|i| self.text(i)).collect();
                return Some(("structured bindings of C++ are not followed", names));
            }
            if matches!(self.text(j), "*" | "&" | "&&" | "const") {
                why = Some("`auto` with a reference or pointer is not followed");
            }
        } else {
            if !self.is_ident(j) {
                return None;
            }
            let words = |t: &str| TYPE_WORDS.contains(&t) || t == "void";
            if words(self.text(j)) {
                while words(self.text(j)) {
                    j += 1;
                }
            } else {
                if is_keyword(self.text(j)) {
                    return None;
                }
                loop {
                    j += 1;
                    if let Some(end) = self.angles(j) {
                        why = Some("templates of C++ are not followed");
                        j = end;
                    }
                    if self.text(j) != "::" {
                        break;
                    }
                    let std = self.text(j - 1) == "std" && super::is_std_of_c(self.text(j + 1), self.dialect);
                    if !std {
                        why = Some("names with `::` are not followed");
                    }
                    j += 1;
                }
            }
        }
        loop {
            match self.text(j) {
                "*" | "const" | "__restrict__" => {}
                "&" | "&&" => why = why.or(Some("references of C++ are not followed")),
                _ => break,
            }
            j += 1;
        }
        if !self.is_name(j) || self.text(j + 1) == "::" {
            return None;
        }
        let end = self.simple_end(k);
        let mut names = vec![self.text(j)];
        let next = self.text(j + 1);
        if !matches!(next, "=" | ";" | "," | "(" | "[" | "{") {
            return None;
        }
        let vector = super::is_vector(self.text(j.wrapping_sub(1)), self.dialect);
        if next == "{" && !vector {
            why = why.or(Some("initialisation with braces is not followed"));
        }
        let mut i = j + 1;
        while i < end {
            match self.text(i) {
                "(" | "[" | "{" => {
                    i = self.group(i);
                    continue;
                }
                "," if self.is_name(i + 1) => names.push(self.text(i + 1)),
                "," if matches!(self.text(i + 1), "*" | "&") && self.is_name(i + 2) => {
                    if self.text(i + 1) == "&" {
                        why = why.or(Some("references of C++ are not followed"));
                    }
                    names.push(self.text(i + 2));
                }
                _ => {}
            }
            i += 1;
        }
        why.map(|why| (why, names))
    }

    /// `cg::thread_block b = cg::this_thread_block();` and a tile of a whole warp: noted, and no statement.
    fn group_declaration(&mut self, k: usize) -> Option<usize> {
        let end = (k..k + 40).find(|&j| matches!(self.text(j), ";" | "{" | "}" | ""))? + 1;
        if self.text(end - 1) != ";" {
            return None;
        }
        let equals = (k..end).find(|&j| self.text(j) == "=")?;
        let name = equals.checked_sub(1).filter(|&n| n > k && self.is_name(n))?;
        let known = self.has_groups();
        let call = (equals + 1..end).find(|&j| {
            matches!(self.text(j), "this_thread_block" | "this_grid" | "tiled_partition")
                && (self.text(j - 1) == "::" || known && j == equals + 1)
        })?;
        let group = match Group::made_by(self.text(call)) {
            Some(g) => {
                let whole = self.text(call + 1) == "(" && self.text(call + 2) == ")" && call + 4 == end;
                whole.then_some(g)?
            }
            None => {
                let of_block = self.groups.get(self.text(call + 5)) == Some(&Group::Block);
                (self.text(call + 1) == "<"
                    && self.text(call + 2) == "32"
                    && self.text(call + 3) == ">"
                    && self.text(call + 4) == "("
                    && of_block
                    && self.text(call + 6) == ")"
                    && self.text(call + 7) == ";")
                    .then_some(Group::Warp)?
            }
        };
        self.groups.insert(self.text(name), group);
        self.put(end - 1, ";");
        Some(end)
    }
}
