//! Where text may be put between a file's declarations: outside braces, declarations, comments and macro definitions, and
//! under which conditionals.
//!
//! Read from characters alone. A conditional's arms are known by the offset of the directive that opens them; a place is
//! seen from another if all arms around it are around the other too.

/// A place between declarations.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Place {
    /// In the file, in bytes; the start of a line.
    pub(crate) at: usize,
    /// The arms around it, outermost first.
    pub(crate) arms: Vec<Arm>,
}

/// An arm of a conditional: where the conditional begins, and where the directive is that opens the arm.
pub(crate) type Arm = (usize, usize);

impl Place {
    /// Whether what stands here is there whenever the other is, and before it.
    pub(crate) fn is_seen_from(&self, other: &Place) -> bool {
        self.at <= other.at && other.arms.starts_with(&self.arms)
    }
}

/// What the scan notes.
#[derive(Default)]
pub(crate) struct Places {
    /// Lines between declarations.
    free: Vec<Place>,
    /// The places after `#include`s between declarations.
    includes: Vec<Place>,
    /// Every change of the arms.
    changes: Vec<(usize, Vec<Arm>)>,
}

impl Places {
    /// Where helpers and prototypes for a function at `limit` go: after the last include that is read whenever the
    /// function is, else right before the function.
    pub(crate) fn prologue(&self, limit: usize) -> Place {
        let here = Place { at: limit, arms: self.arms_at(limit) };
        let include = self.includes.iter().rev().find(|p| p.is_seen_from(&here));
        let line = || self.free.iter().rev().find(|p| p.is_seen_from(&here));
        include.or_else(line).cloned().unwrap_or(Place { at: 0, arms: Vec::new() })
    }

    /// The arms around an offset.
    pub(crate) fn arms_at(&self, offset: usize) -> Vec<Arm> {
        let k = self.changes.partition_point(|c| c.0 <= offset);
        k.checked_sub(1).map_or_else(Vec::new, |k| self.changes[k].1.clone())
    }

    /// Reads a file.
    pub(crate) fn of(text: &str) -> Places {
        let mut scan =
            Scan { text, at: 0, out: Places::default(), open: Vec::new(), arms: Vec::new(), between: true };
        scan.all();
        scan.out
    }
}

/// An open conditional.
struct Conditional {
    arm: Arm,
    from: usize,
    /// What was open where it began, for its other arms.
    open: Vec<bool>,
    between: bool,
}

struct Scan<'a> {
    text: &'a str,
    at: usize,
    out: Places,
    /// Brackets; false: those of `extern "C"`, which are between declarations still.
    open: Vec<bool>,
    arms: Vec<Conditional>,
    /// Whether the last thing read ended a declaration.
    between: bool,
}

impl Scan<'_> {
    fn all(&mut self) {
        let bytes = self.text.as_bytes();
        let mut fresh = true;
        // the word before, and whether a string followed it: `extern "C" {`
        let mut word = String::new();
        let mut linkage = false;
        while let Some(&c) = bytes.get(self.at) {
            if fresh && self.is_free() {
                let place = self.place(self.at);
                self.out.free.push(place);
            }
            let next = bytes.get(self.at + 1);
            let blank = c.is_ascii_whitespace();
            match (c, next) {
                (b'\n', _) | (b'\r', _) => {
                    self.at += 1;
                    if c == b'\r' && next == Some(&b'\n') {
                        self.at += 1;
                    }
                    fresh = true;
                    continue;
                }
                (b'\\', Some(b'\n' | b'\r')) => {
                    self.at += if bytes[self.at..].starts_with(b"\\\r\n") { 3 } else { 2 };
                    fresh = false;
                    continue;
                }
                (b'/', Some(b'/')) => {
                    self.at = self.line_end(self.at);
                    fresh = false;
                    continue;
                }
                (b'/', Some(b'*')) => {
                    self.at =
                        self.text[self.at + 2..].find("*/").map_or(self.text.len(), |k| self.at + k + 4);
                    fresh = false;
                    continue;
                }
                (b'#', _) if self.begins_line() => {
                    self.directive();
                    fresh = true;
                    continue;
                }
                _ => {}
            }
            if blank {
                self.at += 1;
                fresh = false;
                continue;
            }
            fresh = false;
            if c == b'"' || c == b'\'' {
                linkage = c == b'"' && word == "extern";
                word.clear();
                self.quoted(c);
                self.between = false;
                continue;
            }
            if c.is_ascii_alphanumeric() || c == b'_' || c >= 0x80 {
                let rest = &self.text[self.at..];
                let end =
                    rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len()).max(1);
                word = rest.get(..end).unwrap_or("").to_string();
                linkage = false;
                self.between = false;
                self.at += end;
                while !self.text.is_char_boundary(self.at) {
                    self.at += 1;
                }
                continue;
            }
            self.at += 1;
            self.between = false;
            match c {
                b'{' if linkage => {
                    self.open.push(false);
                    self.between = true;
                }
                b'{' | b'(' | b'[' => self.open.push(true),
                b'}' => {
                    self.open.pop();
                    self.between = true;
                }
                b')' | b']' => {
                    self.open.pop();
                }
                b';' => self.between = true,
                _ => {}
            }
            word.clear();
            linkage = false;
        }
    }

    fn is_free(&self) -> bool {
        self.between && !self.open.contains(&true)
    }

    fn place(&self, at: usize) -> Place {
        Place { at, arms: self.arms.iter().map(|c| c.arm).collect() }
    }

    fn begins_line(&self) -> bool {
        let before = &self.text[..self.at];
        let line = before.rfind(['\n', '\r']).map_or(before, |k| &before[k + 1..]);
        // a comment may stand before a directive
        line.trim().is_empty() || line.trim_start().starts_with("/*") && line.trim_end().ends_with("*/")
    }

    /// The end of the logical line.
    fn line_end(&self, from: usize) -> usize {
        let mut at = from;
        loop {
            let rest = &self.text[at..];
            let Some(k) = rest.find(['\n', '\r']) else { return self.text.len() };
            if !rest[..k].ends_with('\\') {
                return at + k;
            }
            at += k + if rest[k..].starts_with("\r\n") { 2 } else { 1 };
        }
    }

    fn quoted(&mut self, quote: u8) {
        let bytes = self.text.as_bytes();
        self.at += 1;
        while let Some(&c) = bytes.get(self.at) {
            match c {
                b'\\' => self.at += 2,
                b'\n' | b'\r' => return,
                _ => self.at += 1,
            }
            if c == quote {
                break;
            }
        }
        self.at = self.at.min(self.text.len());
        while !self.text.is_char_boundary(self.at) {
            self.at += 1;
        }
    }

    fn directive(&mut self) {
        let from = self.at;
        let mut end = self.line_end(from);
        // a block comment that begins on the line may end further down
        let line = &self.text[from..end];
        if let Some(k) = line.rfind("/*").filter(|&k| !line[k..].contains("*/") && !line[..k].contains("//"))
        {
            end = self.text[from + k..].find("*/").map_or(self.text.len(), |e| from + k + e + 2);
            end = self.line_end(end);
        }
        let words = self.text[from + 1..end].trim_start();
        let name: String = words.chars().take_while(|c| c.is_ascii_alphabetic()).collect();
        self.at = end;
        let after = match &self.text[end..] {
            t if t.starts_with("\r\n") => end + 2,
            t if t.starts_with(['\n', '\r']) => end + 1,
            _ => end,
        };
        match name.as_str() {
            "if" | "ifdef" | "ifndef" => {
                let (open, between) = (self.open.clone(), self.between);
                self.arms.push(Conditional { arm: (from, from), from, open, between });
                self.changed(from);
            }
            "elif" | "elifdef" | "elifndef" | "else" => {
                if let Some(c) = self.arms.last_mut() {
                    c.arm = (c.from, from);
                    self.open = c.open.clone();
                    self.between = c.between;
                }
                self.changed(from);
            }
            "endif" => {
                self.arms.pop();
                self.changed(from);
            }
            "include" if self.is_free() => {
                let place = self.place(after);
                // an include that does not end its line leaves no place after it
                if after > end || after == self.text.len() {
                    self.out.includes.push(place);
                }
            }
            _ => {}
        }
        self.at = after;
    }

    fn changed(&mut self, at: usize) {
        let arms = self.place(at).arms;
        self.out.changes.push((at, arms));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prologue_of(text: &str, what: &str) -> usize {
        Places::of(text).prologue(text.find(what).unwrap()).at
    }

    #[test]
    fn the_prologue_follows_the_last_include_that_is_surely_read() {
        let f = "#include <a.h>\n#ifdef X\n#include <b.h>\n#endif\n/*\n#include <c.h>\n*/\nvoid f() { for(;;); }\n";
        assert_eq!(prologue_of(f, "void"), "#include <a.h>\n".len());
        let g = "#define _GNU_SOURCE\nvoid f() { for(;;); }\n";
        assert_eq!(prologue_of(g, "void"), g.find("void").unwrap());
        let h = "#ifndef H\n#define H\n#include <b.h>\nvoid f() {}\n#else\nvoid g() {}\n#endif\n";
        assert_eq!(prologue_of(h, "void f"), h.find("void f").unwrap());
        assert_eq!(prologue_of(h, "void g"), h.find("void g").unwrap());
    }

    #[test]
    fn no_place_is_inside_something() {
        let f = "#include <a.h>\ndouble t[] = {\n#include \"t.inc\"\n};\nstatic\n#include \"q.h\"\nvoid g(void) {\n#include \"b.inc\"\n}\nvoid f() {}";
        assert_eq!(prologue_of(f, "void f"), "#include <a.h>\n".len());
        let g = "void g(void) {\n  int x;\n} void f() {}\n";
        assert_eq!(prologue_of(g, "void f"), 0);
        let h = "#ifdef __cplusplus\nextern \"C\" {\n#endif\n#include <x.h>\nint a;\nvoid f() {}\n";
        assert_eq!(prologue_of(h, "void f"), h.find("int a").unwrap());
        let i = "#define A(x) x \\\n  (x)\nint k = '{', l = '\\'';\nchar *s = \"/* {\";\nvoid f() {}\n";
        assert_eq!(prologue_of(i, "void f"), i.find("void f").unwrap());
        let j = "#ifdef A\nvoid g(int a) {\n#else\nvoid g(void) {\n#endif\n}\nvoid f() {}\n";
        assert_eq!(prologue_of(j, "void f"), j.find("void f").unwrap());
    }
}
