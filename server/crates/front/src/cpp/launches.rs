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

    /// What the pointers of an array hold that is declared before `k` and not written after that: `void *a[] = {&x, &n};`.
    fn pointed_to(&self, part: Range<usize>, k: usize) -> Option<Vec<Range<usize>>> {
        let [at] = part.clone().collect::<Vec<_>>()[..] else { return None };
        let name = self.text(at);
        // handed to other launches it stays as it is declared
        let is_handed_on = |j: usize| matches!(self.text(j + 1), "," | ")");
        let declared = (3..k).rev().find(|&j| self.text(j) == name && !is_handed_on(j))?;
        let is_array = ["*", "void"].iter().enumerate().all(|(n, w)| self.text(declared - 1 - n) == *w);
        let close = self.group(declared + 1);
        if !is_array
            || self.text(declared + 1) != "["
            || self.text(close) != "="
            || self.text(close + 1) != "{"
        {
            return None;
        }
        self.parts(close + 1)?.into_iter().map(|p| self.address(p)).collect()
    }

    /// `&x`, `(void *)&x`: of what.
    fn address(&self, part: Range<usize>) -> Option<Range<usize>> {
        let mut from = part.start;
        if self.text(from) == "(" {
            from = self.group(from);
        }
        (self.text(from) == "&" && from + 1 < part.end).then_some(from + 1..part.end)
    }
}
