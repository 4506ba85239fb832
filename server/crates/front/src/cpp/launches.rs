//! Launches that are calls of the runtime's: `cudaLaunchKernel((void *)scale, grid, block, arguments, 0, stream)` as the launch it
//! makes, where the text says which kernel and which arguments.

use std::ops::Range;

use super::plain::Plain;

/// By kernel, grid, block, pointers to the arguments, shared bytes, stream.
const CALLS: [&str; 4] =
    ["cudaLaunchKernel", "cudaLaunchCooperativeKernel", "hipLaunchKernel", "hipLaunchCooperativeKernel"];

impl Plain<'_, '_> {
    /// The call at `k` as `(kernel<<<…>>>(…), 0)`; the index after it.
    pub(super) fn launched_by_call(&mut self, k: usize) -> Option<usize> {
        if !CALLS.contains(&self.text(k)) || self.text(k + 1) != "(" {
            return None;
        }
        let parts = self.parts(k + 1)?;
        let [function, grid, block, arguments, rest @ ..] = parts.as_slice() else { return None };
        let kernel = self.kernel(function.clone())?;
        if self.is_declared_before(self.text(kernel), k) {
            return None;
        }
        let given = self.pointed_to(arguments.clone(), k)?;
        self.put(k, "(");
        self.keep(kernel);
        self.put_words(k, "<< <");
        let configuration = [grid, block].into_iter().chain(rest).cloned();
        self.keep_all(k, configuration);
        self.put_words(k, ">> > (");
        self.keep_all(k, given.into_iter());
        self.put_words(k, ") , 0 )");
        Some(self.group(k + 1))
    }

    fn keep_all(&mut self, k: usize, parts: impl Iterator<Item = Range<usize>>) {
        for (n, part) in parts.enumerate() {
            if n > 0 {
                self.put(k, ",");
            }
            for j in part {
                self.keep(j);
            }
        }
    }

    /// What stands between the commas of the brackets that open at `open`.
    fn parts(&self, open: usize) -> Option<Vec<Range<usize>>> {
        let close = self.group(open).checked_sub(1).filter(|&c| c > open)?;
        let mut out = Vec::new();
        let (mut from, mut j) = (open + 1, open + 1);
        while j < close {
            match self.text(j) {
                "(" | "{" | "[" => j = self.group(j),
                "," => {
                    out.push(from..j);
                    j += 1;
                    from = j;
                }
                _ => j += 1,
            }
        }
        if from < close {
            out.push(from..close);
        }
        Some(out)
    }

    /// `(void *)kernel`, `(const void *)&kernel`, `reinterpret_cast<void *>(kernel)`: the kernel's name.
    fn kernel(&self, part: Range<usize>) -> Option<usize> {
        let mut last = part.end.checked_sub(1)?;
        while self.text(last) == ")" {
            last = last.checked_sub(1)?;
        }
        let named = part.contains(&last) && self.is_name(last) && self.text(last) != "void";
        let others = part.filter(|&j| j != last).all(|j| {
            let word = self.text(j);
            matches!(
                word,
                "(" | ")" | "*" | "&" | "<" | ">" | "void" | "const" | "reinterpret_cast" | "static_cast"
            )
        });
        (named && others).then_some(last)
    }

    /// Whether a variable of that name is declared in the function before `k`.
    fn is_declared_before(&self, name: &str, k: usize) -> bool {
        (1..k).any(|j| self.text(j) == name && (self.is_ident(j - 1) || self.text(j - 1) == "*"))
    }

    /// What the pointers of an array hold that is declared before `k`, in a block around it, and named nowhere between but in other
    /// launches: `void *a[] = {&x, &n};`. What they point to must be variables that have one declaration.
    fn pointed_to(&self, part: Range<usize>, k: usize) -> Option<Vec<Range<usize>>> {
        let [at] = part.clone().collect::<Vec<_>>()[..] else { return None };
        let name = self.text(at);
        let declared = (3..k).find(|&j| self.text(j) == name)?;
        let is_array = ["*", "void"].iter().enumerate().all(|(n, w)| self.text(declared - 1 - n) == *w);
        let close = self.group(declared + 1);
        if !is_array
            || self.text(declared + 1) != "["
            || self.text(close) != "="
            || self.text(close + 1) != "{"
        {
            return None;
        }
        let end = self.group(close + 1);
        let mut depth = 0i64;
        let mut within = 0usize;
        for j in end..k {
            match self.text(j) {
                "{" => depth += 1,
                "}" => depth -= 1,
                w if CALLS.contains(&w) => within = within.max(self.group(j + 1)),
                w if w == name && j >= within => return None,
                _ => {}
            }
            // its block has ended
            if depth < 0 {
                return None;
            }
        }
        let given: Vec<Range<usize>> =
            self.parts(close + 1)?.into_iter().map(|p| self.address(p)).collect::<Option<_>>()?;
        let again = |r: &Range<usize>| {
            let name = self.text(r.start);
            let names = (1..k).filter(|&j| self.text(j) == name);
            names
                .filter(|&j| self.is_ident(j - 1) || matches!(self.text(j - 1), "*" | ","))
                .filter(|&j| matches!(self.text(j + 1), ";" | "=" | "," | ")" | "[" | "(" | "{"))
                .filter(|&j| self.is_declaration(j))
                .count()
                > 1
        };
        (!given.iter().any(again)).then_some(given)
    }

    /// Whether a word before `j` may be a type's, so that the name there is declared.
    fn is_declaration(&self, j: usize) -> bool {
        let mut p = j - 1;
        while p > 0 && self.text(p) == "*" {
            p -= 1;
        }
        // a list of declarations, or of arguments
        if self.text(p) == "," {
            let begin =
                (0..p).rev().find(|&i| matches!(self.text(i), ";" | "{" | "}" | "(")).map_or(0, |i| i + 1);
            return self.text(begin.wrapping_sub(1)) != "("
                && self.is_ident(begin)
                && self.is_ident(begin + 1);
        }
        self.is_ident(p) && !matches!(self.text(p), "return" | "else" | "case" | "goto" | "sizeof")
    }

    /// `&x`, `(void *)&x`, `&s.x`: of what.
    fn address(&self, part: Range<usize>) -> Option<Range<usize>> {
        let mut from = part.start;
        if self.text(from) == "(" {
            from = self.group(from);
        }
        let plain = |j: usize| self.is_ident(j) || self.text(j) == ".";
        (self.text(from) == "&" && from + 1 < part.end && (from + 1..part.end).all(plain))
            .then_some(from + 1..part.end)
    }
}
