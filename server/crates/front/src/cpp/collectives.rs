//! What a block computes together with CUB: `cub::BlockReduce<float, 256>(temp).Sum(x)` as a value that nobody knows, which the
//! threads exchange in shared memory of the library's own (CUB documentation, "BlockReduce", "BlockScan").
//!
//! That memory may not be used again before a barrier, and all threads must come: so such a call is read where a kernel has one alone
//! for its memory, behind no `return` and under no condition. It orders nothing. Deliberately absent: loads and stores of blocks, sorting, calls in loops, and
//! what warps compute, each of which needs memory of its own.
//! Beside it: a structure that converts to a pointer to dynamic shared memory, as templates of kernels do.

use super::plain::{Plain, TYPE_WORDS};
use crate::c::is_keyword;

/// The function that stands for what comes of it; its second argument has the type.
pub(crate) const COLLECTIVE: &str = "__cub_collective";

const CLASSES: [&str; 2] = ["BlockReduce", "BlockScan"];

impl<'a> Plain<'a, '_> {
    /// `typedef cub::BlockReduce<…> Reduce;`, `using Reduce = …;` and `__shared__ Reduce::TempStorage temp;`: noted, and no statement.
    pub(super) fn collective_declaration(&mut self, k: usize) -> Option<usize> {
        let end = self.simple_end(k);
        match self.text(k) {
            "typedef" => {
                let name = self.collective_class(k + 1)?;
                self.is_name(name).then_some(())?;
                (name + 2 == end).then_some(())?;
                self.collectives.insert(self.text(name));
            }
            "using" if self.text(k + 2) == "=" => {
                let from = if self.text(k + 3) == "typename" { k + 4 } else { k + 3 };
                (self.collective_class(from)? + 1 == end).then_some(())?;
                self.collectives.insert(self.text(k + 1));
            }
            "__shared__" => {
                let from = if self.text(k + 1) == "typename" { k + 2 } else { k + 1 };
                let of = self.collective_class(from)?;
                let named =
                    self.text(of) == "::" && self.text(of + 1) == "TempStorage" && self.is_name(of + 2);
                let whole =
                    self.text(of + 3) == ";" || self.text(of + 3) == "[" && self.group(of + 3) + 1 == end;
                (named && whole).then_some(())?;
            }
            _ => return None,
        }
        self.put(end - 1, ";");
        Some(end)
    }

    /// Index after the name of a class of CUB's at `k`, or of another name for one.
    fn collective_class(&self, k: usize) -> Option<usize> {
        if self.collectives.contains(self.text(k)) {
            return Some(k + 1);
        }
        let known = self.text(k) == "cub" && self.text(k + 1) == "::" && CLASSES.contains(&self.text(k + 2));
        known.then(|| self.angles(k + 3)).flatten()
    }

    /// `Reduce(temp).Sum(x)` at `k`; the index after it.
    pub(super) fn collective(&mut self, k: usize) -> Option<usize> {
        let open = self.collective_class(k).filter(|&open| self.text(open) == "(")?;
        let close = self.group(open) - 1;
        let call = close + 3;
        if self.text(close + 1) != "." || self.text(call) != "(" || !self.is_alone(k, self.text(open + 1)) {
            return None;
        }
        let end = self.group(call) - 1;
        let mut parts = vec![call];
        let mut j = call + 1;
        while j < end {
            if self.text(j) == "," {
                parts.push(j);
            }
            j = self.angles(j).unwrap_or_else(|| self.group(j)).max(j + 1);
        }
        parts.push(end);
        let changes = |j: usize| matches!(self.text(j), "=" | "++" | "--" | "+=" | "-=" | "[");
        let first = parts[1];
        if (first..end).any(changes) {
            return None;
        }
        let given = |n: usize| self.is_name(parts[n] + 1) && parts[n] + 2 == parts[n + 1];
        let out: Vec<usize> = match (self.text(close + 2), parts.len() - 1) {
            ("Sum" | "Reduce", 1..=3) => Vec::new(),
            ("ExclusiveSum" | "InclusiveSum", 2) if given(1) => vec![1],
            ("ExclusiveSum" | "InclusiveSum", 3) if given(1) && given(2) => vec![1, 2],
            ("ExclusiveScan", 3 | 4) | ("InclusiveScan", 3) if given(1) => vec![1],
            _ => return None,
        };
        let values = out.len().max(1);
        self.put(k, "(");
        for n in 0..values {
            if n > 0 {
                self.put(k, ",");
            }
            if let Some(&place) = out.get(n) {
                self.keep(parts[place] + 1);
                self.put(k, "=");
            }
            self.put_words(k, COLLECTIVE);
            self.put_words(k, "( 0 ,");
            let mut j = call + 1;
            while j < first {
                j = self.token(j).max(j + 1);
            }
            self.put(end, ")");
        }
        self.put(end, ")");
        Some(end + 1)
    }

    /// Whether every thread of a kernel comes to what stands at `k`, once, and nothing else uses that memory.
    fn is_alone(&self, k: usize, memory: &str) -> bool {
        let all = 0..self.tokens.len();
        let uses = all.clone().filter(|&j| self.text(j) == memory).count();
        let body = all.clone().find(|&j| self.text(j) == "{").unwrap_or(0);
        let is_kernel = (0..body).any(|j| self.text(j) == "__global__");
        let jumps =
            (body..k).any(|j| self.text(j) == "return") || all.clone().any(|j| self.text(j) == "goto");
        let mut parens = 0i32;
        let begins = (body..k).rev().find(|&j| {
            match self.text(j) {
                ")" => parens += 1,
                "(" => parens -= 1,
                _ => {}
            }
            parens == 0 && matches!(self.text(j), ";" | "{" | "}")
        });
        let plain = |j: usize| {
            !matches!(
                self.text(j),
                "for" | "while" | "do" | "if" | "else" | "switch" | "?" | "&&" | "||" | ":"
            )
        };
        let conditions = begins.is_none_or(|from| !(from..k).all(plain));
        uses == 2 && is_kernel && self.depth == 1 && !jumps && !conditions
    }

    /// `T *s = SharedMemory<T>();` at `k`, where the structure gives dynamic shared memory: `extern __shared__ T s[];`.
    pub(super) fn dynamic_shared(&mut self, k: usize) -> Option<usize> {
        let star = (k + 1..k + 6).find(|&j| self.text(j) == "*")?;
        let (name, class) = (star + 1, star + 3);
        let words = (k..star)
            .all(|j| self.is_ident(j) && (!is_keyword(self.text(j)) || TYPE_WORDS.contains(&self.text(j))));
        if !words || !self.is_name(name) || self.text(star + 2) != "=" || !self.is_name(class) {
            return None;
        }
        let end = self.angles(class + 1)?;
        let called = self.text(end) == "(" && self.text(end + 1) == ")" && self.text(end + 2) == ";";
        if !called || self.depth != 1 || !gives_dynamic_shared(self.source, self.text(class)) {
            return None;
        }
        self.put_words(k, "extern __shared__");
        for j in k..star {
            self.keep(j);
        }
        self.keep(name);
        self.put_words(name, "[ ]");
        self.keep(end + 2);
        Some(end + 3)
    }
}

/// Whether every definition of a structure of this name in a text gives, wherever it gives something, an array of dynamic shared memory.
fn gives_dynamic_shared(source: &str, class: &str) -> bool {
    let mut any = false;
    for (at, word) in source.match_indices("struct ") {
        let rest = source[at + word.len()..].trim_start();
        let Some(rest) =
            rest.strip_prefix(class).filter(|r| !r.starts_with(|c: char| c.is_alphanumeric() || c == '_'))
        else {
            continue;
        };
        let Some(body) = rest.find('{').map(|open| &rest[open..]) else { return false };
        if rest[..rest.len() - body.len()].contains(';') {
            continue;
        }
        let Some(end) = body.find("};") else { return false };
        let body = &body[..end];
        let count = |w: &str| body.matches(w).count();
        let arrays = count("extern __shared__");
        // each operator declares the array and gives it
        if arrays == 0
            || count("return") != arrays
            || count("operator") != arrays
            || body.matches(['+', '-']).count() > 0
        {
            return false;
        }
        any = true;
    }
    any
}
