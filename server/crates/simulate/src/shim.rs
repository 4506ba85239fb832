//! The run time for a machine without a GPU: files with which CUDA text compiles as plain C++ and runs on a CPU. It is what
//! `warpwright run` ships, and the other judge of tests and of `verify`.
//!
//! Write [`FILES`] into a folder (a judge) or [`shipped`] (for programs that are run for their own sake), pass the kernel text
//! through [`rewrite`], and there: `g++ -std=c++17 -ffp-contract=off -w -I. -include ww_cuda_shim.h -x c++ kernels.cu -c`, the
//! same for `ww_cuda_shim.cpp` (without `-include`), `gcc -I.` for the C host, and link all with g++.
//!
//! Deliberately absent: starting compilers, and reading CUDA. What C++ cannot say by macro is found by its tokens.

use std::ops::Range;

/// File names and texts.
pub const FILES: [(&str, &str); 8] = [
    ("hip/hip_runtime_api.h", include_str!("../shim/hip/hip_runtime_api.h")),
    ("hip/hip_runtime.h", include_str!("../shim/hip/hip_runtime.h")),
    ("cuda_runtime.h", include_str!("../shim/cuda_runtime.h")),
    ("cuda_runtime_api.h", include_str!("../shim/cuda_runtime_api.h")),
    ("device_launch_parameters.h", include_str!("../shim/device_launch_parameters.h")),
    ("vector_types.h", include_str!("../shim/vector_types.h")),
    (HEADER, include_str!("../shim/ww_cuda_shim.h")),
    (SOURCE, include_str!("../shim/ww_cuda_shim.cpp")),
];

/// What kernels want before them.
pub const HEADER: &str = "ww_cuda_shim.h";
/// The C++ behind the headers.
pub const SOURCE: &str = "ww_cuda_shim.cpp";

/// The files for programs: memory that a program leaves to its end is counted, and its exit status is its own.
pub fn shipped() -> Vec<(&'static str, String)> {
    let of_program = |text: &str| format!("#define WW_PROGRAM 1\n{text}");
    FILES.iter().map(|&(n, t)| (n, if n == SOURCE { of_program(t) } else { t.to_owned() })).collect()
}

/// Kernel launches become calls of `ww_launch`, `extern __shared__` arrays pointers: all that C++ cannot say by macro. Lines stay
/// where they are.
pub fn rewrite(cuda: &str) -> String {
    let once = dynamic_shared(&launches(cuda, false));
    statics(&once)
}

/// Likewise, but launches become calls of `ww_launch_there`, which gets the kernel itself and its arguments: for whoever has a GPU.
pub fn rewrite_there(cuda: &str) -> String {
    let once = dynamic_shared(&launches(cuda, true));
    statics(&once)
}

/// The text with blanks for what comments and literals have in them, byte for byte.
fn bare(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = bytes.to_vec();
    let get = |at: usize| bytes.get(at).copied().unwrap_or(0);
    let mut at = 0;
    while at < bytes.len() {
        let from = at;
        let end = match (get(at), get(at + 1)) {
            (b'/', b'/') => from + text.get(from..).and_then(|t| t.find('\n')).unwrap_or(bytes.len()),
            (b'/', b'*') => {
                let rest = text.get(from + 2..).and_then(|t| t.find("*/"));
                rest.map_or(bytes.len(), |n| from + 2 + n + 2)
            }
            // 1'000 is a number
            (b'\'', _) if from > 0 && get(from - 1).is_ascii_alphanumeric() => from + 1,
            (quote @ (b'"' | b'\''), _) => {
                let mut end = from + 1;
                while end < bytes.len() && get(end) != quote && get(end) != b'\n' {
                    end += if get(end) == b'\\' { 2 } else { 1 };
                }
                end + 1
            }
            _ => {
                at += 1;
                continue;
            }
        };
        let end = end.min(bytes.len());
        for b in out.iter_mut().take(end).skip(from).filter(|b| **b != b'\n') {
            *b = b' ';
        }
        at = end.max(from + 1);
    }
    // blanks stand for whole characters or parts of them alike
    String::from_utf8(out).unwrap_or_else(|_| text.to_owned())
}

/// A text of which some places are replaced. What is left out of line ends is made up for behind each place.
struct Edited<'t> {
    text: &'t str,
    out: String,
    upto: usize,
}

impl<'t> Edited<'t> {
    fn new(text: &'t str) -> Edited<'t> {
        Edited { text, out: String::with_capacity(text.len()), upto: 0 }
    }

    fn part(&self, range: Range<usize>) -> &'t str {
        self.text.get(range).unwrap_or_default()
    }

    fn replace(&mut self, range: Range<usize>, by: &str) {
        let before = self.part(self.upto..range.start);
        self.out.push_str(before);
        self.out.push_str(by);
        let lines = |t: &str| t.bytes().filter(|b| *b == b'\n').count();
        let lost = lines(self.part(range.clone())).saturating_sub(lines(by));
        self.out.extend(std::iter::repeat_n('\n', lost));
        self.upto = range.end;
    }

    fn end(mut self) -> String {
        let rest = self.part(self.upto..self.text.len());
        self.out.push_str(rest);
        self.out
    }
}

/// `k<<<g, b, s, t>>>(a, …)` → `ww_launch("k", g, b, s, t, [=]() { k(a, …); })`, or `ww_launch_there("k", g, b, s, t, k, a, …)`.
fn launches(text: &str, there: bool) -> String {
    let plain = bare(text);
    let slice = |range: Range<usize>| plain.get(range).unwrap_or_default();
    let mut out = Edited::new(text);
    let mut from = 0;
    while let Some(at) = slice(from..plain.len()).find("<<<").map(|n| from + n) {
        from = at + 3;
        let Some(name) = name_before(slice(out.upto..at)).map(|n| out.upto + n.start..out.upto + n.end)
        else {
            continue;
        };
        let Some(end) = slice(at + 3..plain.len()).find(">>>").map(|n| at + 3 + n) else { continue };
        let behind = slice(end + 3..plain.len());
        let open = end + 3 + (behind.len() - behind.trim_start().len());
        let Some(close) = closing(slice(open..plain.len())).map(|n| open + n) else { continue };
        let commas = commas(slice(at + 3..end));
        let mut parts: Vec<&str> = Vec::new();
        let mut begin = at + 3;
        for comma in commas.iter().map(|c| at + 3 + c).chain([end]) {
            parts.push(out.part(begin..comma).trim());
            begin = comma + 1;
        }
        for default in ["1", "1", "0", "0"].iter().skip(parts.len()) {
            parts.push(default);
        }
        let (kernel, args) = (out.part(name.clone()), out.part(open..close));
        let shown: String =
            kernel.chars().filter(|c| !c.is_whitespace() && *c != '"' && *c != '\\').collect();
        let parts = parts.join(", ");
        let inside = args.get(1..args.len().saturating_sub(1)).unwrap_or_default();
        let call = match (there, inside.trim().is_empty()) {
            (false, _) => format!("ww_launch(\"{shown}\", {parts}, [=]() {{ {kernel}{args}; }})"),
            (true, true) => format!("ww_launch_there(\"{shown}\", {parts}, {kernel})"),
            (true, false) => format!("ww_launch_there(\"{shown}\", {parts}, {kernel}, {inside})"),
        };
        out.replace(name.start..close, &call);
        from = close;
    }
    out.end()
}

/// The name (with template arguments) at the end of a text.
fn name_before(text: &str) -> Option<Range<usize>> {
    let trimmed = text.trim_end();
    let mut depth = 0i32;
    let mut start = trimmed.len();
    for (i, c) in trimmed.char_indices().rev() {
        match c {
            '>' => depth += 1,
            '<' => depth -= 1,
            ';' | '{' | '}' => break,
            c if depth > 0 || c.is_alphanumeric() || c == '_' || c == ':' => {}
            _ => break,
        }
        start = i;
    }
    (start < trimmed.len()).then_some(start..trimmed.len())
}

/// Length of a parenthesized text up to its closing parenthesis.
fn closing(text: &str) -> Option<usize> {
    let mut depth = 0;
    for (i, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => {
                depth -= 1;
                if depth == 0 {
                    return Some(i + 1);
                }
            }
            _ if depth == 0 => return None,
            _ => {}
        }
    }
    None
}

/// Where the commas are that are in no parentheses.
fn commas(text: &str) -> Vec<usize> {
    let (mut depth, mut out) = (0, Vec::new());
    for (i, c) in text.char_indices() {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth -= 1,
            ',' if depth == 0 => out.push(i),
            _ => {}
        }
    }
    out
}

/// `extern __shared__ T name[];` → `T *name = (decltype(name))ww_dynamic_shared;`
fn dynamic_shared(text: &str) -> String {
    const WORDS: &str = "extern __shared__";
    let plain = bare(text);
    let mut out = Edited::new(text);
    let mut from = 0;
    while let Some(at) = plain.get(from..).and_then(|t| t.find(WORDS)).map(|n| from + n) {
        from = at + WORDS.len();
        let Some(end) = plain.get(from..).and_then(|t| t.find(';')).map(|n| from + n) else { break };
        let declaration =
            plain.get(from..end).unwrap_or_default().trim().strip_suffix("[]").map(str::trim_end);
        let Some(declaration) = declaration else { continue };
        let is_name = |c: char| c.is_alphanumeric() || c == '_';
        let name_at = declaration.trim_end_matches(is_name).len();
        let (ty, name) = declaration.split_at(name_at);
        let pointer = format!("{} *{name} = (decltype({name}))ww_dynamic_shared;", ty.trim());
        out.replace(at..end + 1, &pointer);
        from = end + 1;
    }
    out.end()
}

/// `static __shared__` and `static __constant__` have one `static` too many once the words are macros.
fn statics(text: &str) -> String {
    let plain = bare(text);
    let mut out = Edited::new(text);
    let mut from = 0;
    while let Some(at) = plain.get(from..).and_then(|t| t.find("static")).map(|n| from + n) {
        from = at + "static".len();
        let behind = plain.get(from..).unwrap_or_default();
        let next = behind.trim_start();
        let apart = next.len() < behind.len();
        if apart && (next.starts_with("__constant__") || next.starts_with("__shared__")) {
            out.replace(at..from, "");
        }
    }
    out.end()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn launches_and_dynamic_shared_memory_are_rewritten() {
        assert_eq!(
            rewrite("  k<<<grid, dim3(2, 3)>>>(a, f(b), 1);\n"),
            "  ww_launch(\"k\", grid, dim3(2, 3), 0, 0, [=]() { k(a, f(b), 1); });\n"
        );
        assert_eq!(
            rewrite("if (n) t<int, 4><<<(n + 1) / 2, 256, s * 4, st>>> (p); x << 3; y <<<"),
            "if (n) ww_launch(\"t<int,4>\", (n + 1) / 2, 256, s * 4, st, [=]() { t<int, 4>(p); }); x << 3; y <<<"
        );
        assert_eq!(
            rewrite("extern __shared__ unsigned char buf[];"),
            "unsigned char *buf = (decltype(buf))ww_dynamic_shared;"
        );
        assert_eq!(rewrite("static __constant__ int c[3];"), " __constant__ int c[3];");
        assert_eq!(
            rewrite_there("k<<<grid, 2>>>(a, f(b)); l<<<1, 2, 3>>>();"),
            "ww_launch_there(\"k\", grid, 2, 0, 0, k, a, f(b)); ww_launch_there(\"l\", 1, 2, 3, 0, l);"
        );
    }

    #[test]
    fn lines_comments_and_strings_stay() {
        let text = "// k<<<1, 2>>>(a);\n/* extern __shared__ int s[]; */ puts(\"k<<<1, 2>>>(a)\");\nk<<<1,\n 2>>>(\n  a, ')', \"é)\");\nint x = 1'000;\n";
        let new = rewrite(text);
        assert_eq!(
            new,
            "// k<<<1, 2>>>(a);\n/* extern __shared__ int s[]; */ puts(\"k<<<1, 2>>>(a)\");\n\
             ww_launch(\"k\", 1, 2, 0, 0, [=]() { k(\n  a, ')', \"é)\"); })\n;\nint x = 1'000;\n"
        );
        assert_eq!(new.lines().count(), text.lines().count());
        // what is no launch is left alone, and nothing is lost of texts that end early
        for odd in [
            "a <<<",
            "<<<>>>",
            "k<<<1>>>",
            "k<<<1, 2>>>(",
            "\"k<<<1>>>()",
            "/* k<<<1>>>()",
            "'",
            "extern __shared__ int s",
        ] {
            assert_eq!(rewrite(odd), odd);
        }
    }
}
