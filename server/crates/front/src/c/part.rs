//! One function of a document with what it needs of it, so that it can be judged while the rest is still being read.
//!
//! [`part`] looks at tokens alone and gives the document's text again, in which functions that this one does not need are
//! blank; all else stands where it stood. Needed is what the function names, directly or through other functions and
//! macros, and everything that is not a function whose text is plain: declarations, conditionals, what macros make. Where
//! the braces are not in pairs, and wherever a function cannot be judged without all others, there is no part.
//!
//! Deliberately absent: macros of headers, and faults of syntax. Whether either makes a difference is asked when the part is
//! lowered ([`Part::is_like_the_whole`]).

use std::ops::Range;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::c::lex::{Comment, Kind, Lexed, Token};
use crate::c::pp::{self, Line};
use crate::c::says;
use crate::c::unit::has_operators;
use crate::language::PartRead;
use crate::limits::c_part::MAX_BYTES;

/// The part around the function in whose body `at` stands. `watched`: words that make a function depend on who calls it,
/// so that there is no part of a text that says one of them.
pub(crate) fn part(text: &str, lexed: &Lexed, at: u32, watched: &[&str]) -> Option<PartRead<Lexed>> {
    if has_operators(text) {
        return None;
    }
    let mut outline = Outline { text, tokens: &lexed.tokens, ..Outline::default() };
    outline.read()?;
    let watched: FxHashSet<&str> = watched.iter().copied().collect();
    if outline.says_one_of(&watched) {
        return None;
    }
    let around = |f: &Plain| f.body.start < at && at < f.body.end;
    let wanted = outline.functions.iter().position(around)?;
    let mut needed = outline.needed_by(wanted);
    // what a comment says of a function would be said of the next one
    for (f, needed) in outline.functions.iter().zip(&mut needed) {
        *needed |= outline.is_spoken_of(lexed, f.tokens.start);
    }
    outline.without(lexed, &needed)
}

/// A function that stands in one piece, with its braces in pairs.
#[derive(Debug)]
struct Plain<'t> {
    name: &'t str,
    tokens: Range<usize>,
    /// From its first byte to its last.
    span: Range<u32>,
    /// Likewise, from its opening brace.
    body: Range<u32>,
}

/// What stands in a text, as far as tokens say it.
#[derive(Default)]
struct Outline<'t> {
    text: &'t str,
    tokens: &'t [Token],
    /// In textual order.
    functions: Vec<Plain<'t>>,
    /// What else may name functions that are then needed: not declarations of functions.
    others: Vec<Range<usize>>,
    /// Words that stand for others, whatever the text has them stand for.
    macros: FxHashMap<Arc<str>, Vec<Arc<str>>>,
}

impl<'t> Outline<'t> {
    fn token(&self, k: usize) -> Option<(Kind, &'t str)> {
        let t = self.tokens.get(k)?;
        Some((t.kind, self.text.get(t.span().range())?))
    }

    /// Whether a comment that speaks to us stands before a token, directives aside.
    fn is_spoken_of(&self, lexed: &Lexed, token: usize) -> bool {
        let is_directive = |k: &usize| self.tokens.get(*k).is_some_and(|t| t.kind == Kind::Directive);
        let first = (0..token).rev().take_while(is_directive).last().unwrap_or(token);
        lexed.comments.iter().any(|c| first <= c.next && c.next <= token)
    }

    fn is(&self, k: usize, what: &str) -> bool {
        self.token(k).is_some_and(|(kind, text)| kind == Kind::Punct && text == what)
    }

    /// Goes through the text; `None` where it is not made of items, or its brackets or conditionals are not in pairs.
    fn read(&mut self) -> Option<()> {
        self.directives()?;
        if !self.are_brackets_in_pairs() {
            return None;
        }
        let mut k = 0;
        while let Some((kind, _)) = self.token(k) {
            if kind == Kind::Directive {
                k += 1;
                continue;
            }
            k = match self.function(k) {
                Some(f) => {
                    let next = f.tokens.end;
                    self.functions.push(f);
                    next
                }
                None => self.other(k)?,
            };
        }
        Some(())
    }

    fn are_brackets_in_pairs(&self) -> bool {
        let mut open = Vec::new();
        for t in self.tokens.iter().filter(|t| t.kind == Kind::Punct) {
            let closes = match self.text.get(t.span().range()) {
                Some("(") => ")",
                Some("[") => "]",
                Some("{") => "}",
                Some(close @ (")" | "]" | "}")) if open.pop() == Some(close) => continue,
                // other spellings of brackets, too
                Some(")" | "]" | "}" | "<%" | "%>" | "<:" | ":>") => return false,
                _ => continue,
            };
            open.push(closes);
        }
        open.is_empty()
    }

    /// Reads the directives, wherever they stand.
    fn directives(&mut self) -> Option<()> {
        let mut open = 0usize;
        for k in 0..self.tokens.len() {
            let Some((Kind::Directive, text)) = self.token(k) else { continue };
            match pp::line(text) {
                Line::If(_) | Line::Ifdef(..) => open += 1,
                Line::Endif => open = open.checked_sub(1)?,
                Line::Define(name, means) => {
                    let count = |brace| means.body().iter().filter(|t| &**t.text() == brace).count();
                    if count("{") != count("}") {
                        return None;
                    }
                    let words = means.body().iter().filter(|t| t.kind() == Kind::Ident);
                    self.macros.entry(name).or_default().extend(words.map(|t| t.text().clone()));
                }
                _ => {}
            }
        }
        (open == 0).then_some(())
    }

    /// The function that begins at this token, if its text is plain: `type name ( parameters ) { … }`, where no word may be a
    /// macro of a header that makes it something else.
    fn function(&self, k: usize) -> Option<Plain<'t>> {
        let open = (k..).find(|&at| !self.is_word(at) && !self.is(at, "*"))?;
        let (kind, name) = self.token(open.checked_sub(1)?)?;
        let returns = Words::of((k..open).filter_map(|at| self.token(at)));
        let is_macro = |at| self.token(at).is_some_and(|(_, word)| self.macros.contains_key(word));
        if kind != Kind::Ident || !self.is(open, "(") || !returns.declare() || returns.tags > 0 {
            return None;
        }
        let brace = self.closed(open, ("(", ")"))?;
        if (k..open).any(is_macro) || !self.are_parameters(open + 1..brace - 1) {
            return None;
        }
        if !self.is(brace, "{") {
            return None;
        }
        let end = self.closed(brace, ("{", "}"))?;
        let (first, open, last) =
            (self.tokens.get(k)?.start, self.tokens.get(brace)?.start, self.tokens.get(end - 1)?.end);
        Some(Plain { name, tokens: k..end, span: first..last, body: open..last })
    }

    /// Whether these tokens are parameters, one by one: `const double *restrict a`, `double a[n][n]`, `void`.
    fn are_parameters(&self, tokens: Range<usize>) -> bool {
        let inside: Vec<(Kind, &str)> = tokens.filter_map(|k| self.token(k)).collect();
        let mut depth = 0usize;
        let is_end = |token: &(Kind, &str)| {
            match token.1 {
                "[" => depth += 1,
                "]" => depth = depth.saturating_sub(1),
                _ => {}
            }
            depth == 0 && token.1 == ","
        };
        let is_one = |parameter: &[(Kind, &str)]| {
            // sizes are no part of the declaration's words
            let before = parameter.iter().take_while(|(_, text)| *text != "[");
            let words = Words::of(before.copied());
            words.declare() || words.own == 0 && words.types == 1
        };
        let is_call = |(_, text): &(Kind, &str)| *text == "(" || self.macros.contains_key(*text);
        inside.is_empty() || !inside.iter().any(is_call) && inside.split(is_end).all(is_one)
    }

    fn is_word(&self, k: usize) -> bool {
        self.token(k).is_some_and(|(kind, _)| kind == Kind::Ident)
    }

    /// The token after the one that closes the bracket at `k`. Directives inside must be harmless.
    fn closed(&self, k: usize, (open, close): (&str, &str)) -> Option<usize> {
        let mut depth = 0usize;
        for at in k.. {
            let (kind, text) = self.token(at)?;
            match kind {
                Kind::Directive if !is_harmless(text) => return None,
                Kind::Punct if text == open => depth += 1,
                Kind::Punct if text == close => depth -= 1,
                Kind::Punct if open == "(" && matches!(text, "{" | "}" | ";") => return None,
                _ => {}
            }
            if depth == 0 {
                return Some(at + 1);
            }
        }
        None
    }

    /// Passes what is no plain function: up to its `;`, or the brace that closes a function.
    fn other(&mut self, k: usize) -> Option<usize> {
        let (mut depth, mut at) = (0usize, k);
        let (mut groups, mut says, mut is_function) = (false, false, false);
        while let Some((kind, text)) = self.token(at) {
            at += 1;
            match (kind, text) {
                // the text of a header would be part of it
                (Kind::Directive, _) if matches!(pp::line(text), Line::Include(_)) => return None,
                (Kind::Punct, "{") => {
                    is_function |= depth == 0 && at >= 2 && self.is(at - 2, ")");
                    depth += 1;
                    says = true;
                }
                (Kind::Punct, "(" | "[") => {
                    groups |= text == "(";
                    depth += 1;
                }
                (Kind::Punct, ")" | "]" | "}") => {
                    depth = depth.checked_sub(1)?;
                    if depth == 0 && text == "}" && is_function {
                        break;
                    }
                }
                (Kind::Punct, "=") => says = true,
                (Kind::Punct, ";") if depth == 0 => break,
                _ => {}
            }
        }
        if says || !groups {
            self.others.push(k..at);
        }
        (depth == 0).then_some(at)
    }

    /// Whether the text says one of these words, anywhere.
    fn says_one_of(&self, words: &FxHashSet<&str>) -> bool {
        let first: FxHashSet<u8> = words.iter().filter_map(|w| w.bytes().next()).collect();
        let bytes = self.text.as_bytes();
        let may_be = |t: &&Token| t.kind == Kind::Ident && first.contains(&bytes[t.start as usize]);
        let said = |t: &Token| self.text.get(t.span().range()).is_some_and(|w| words.contains(w));
        self.tokens.iter().filter(may_be).any(said)
            || self.macros.values().flatten().any(|w| words.contains(&**w))
    }

    /// Which functions are needed by one of them, in the order of all.
    fn needed_by(&self, wanted: usize) -> Vec<bool> {
        let mut by_name: FxHashMap<&str, Vec<usize>> = FxHashMap::default();
        for (k, f) in self.functions.iter().enumerate() {
            by_name.entry(f.name).or_default().push(k);
        }
        let mut needed = vec![false; self.functions.len()];
        needed[wanted] = true;
        let mut texts: Vec<Range<usize>> = self.others.clone();
        texts.push(self.functions[wanted].tokens.clone());
        let mut seen: FxHashSet<&str> = FxHashSet::default();
        let mut words: Vec<&str> = Vec::new();
        while let Some(text) = texts.pop() {
            let here = text.filter_map(|k| self.token(k)).filter(|(kind, _)| *kind == Kind::Ident);
            words.extend(here.map(|(_, word)| word));
            while let Some(word) = words.pop() {
                if !seen.insert(word) {
                    continue;
                }
                words.extend(self.macros.get(word).into_iter().flatten().map(|w| &**w));
                for &k in by_name.get(word).into_iter().flatten() {
                    if !needed[k] {
                        needed[k] = true;
                        texts.push(self.functions[k].tokens.clone());
                    }
                }
            }
        }
        needed
    }

    /// The text with blanks in place of the functions that are not needed, if little is left.
    fn without(&self, lexed: &Lexed, needed: &[bool]) -> Option<PartRead<Lexed>> {
        let out = || self.functions.iter().zip(needed).filter(|(_, needed)| !**needed).map(|(f, _)| f);
        let blank: usize = out().map(|f| f.span.len()).sum();
        if self.text.len() - blank > MAX_BYTES {
            return None;
        }
        let mut bytes = self.text.as_bytes().to_vec();
        for f in out() {
            let span = f.span.start as usize..f.span.end as usize;
            for byte in bytes.get_mut(span)? {
                *byte = if matches!(*byte, b'\n' | b'\r') { *byte } else { b' ' };
            }
        }
        // what is left is cut into tokens already
        let mut read = Lexed { tokens: Vec::new(), comments: Vec::new(), lines: lexed.lines.clone() };
        let (mut token, mut comment) = (0, 0);
        let (all, end) = (self.tokens.len(), u32::MAX);
        let gaps = out().map(|f| (f.tokens.clone(), f.span.clone())).chain([(all..all, end..end)]);
        for (tokens, span) in gaps {
            let before = self.tokens.get(token..tokens.start)?;
            let shift = token - read.tokens.len();
            read.tokens.extend_from_slice(before);
            while let Some(c) = lexed.comments.get(comment).filter(|c| c.span.start < span.start) {
                read.comments.push(Comment { next: c.next - shift, ..*c });
                comment += 1;
            }
            comment += lexed.comments.get(comment..)?.partition_point(|c| c.span.start < span.end);
            token = tokens.end;
        }
        let left_out = out().map(|f| f.name.into()).collect();
        Some(PartRead { text: String::from_utf8(bytes).ok()?.into(), read, left_out })
    }
}

/// The words of a declaration.
#[derive(Default)]
struct Words {
    /// `int`, `unsigned` and the like.
    types: usize,
    /// `struct` and the like.
    tags: usize,
    /// Names: of types, of what is declared, and of macros that are not known here.
    own: usize,
    is_typedef: bool,
}

impl Words {
    fn of<'t>(tokens: impl Iterator<Item = (Kind, &'t str)>) -> Words {
        let mut words = Words::default();
        for (_, text) in tokens.filter(|(kind, _)| *kind == Kind::Ident) {
            match text {
                "struct" | "union" | "enum" => words.tags += 1,
                "typedef" => words.is_typedef = true,
                "static" | "extern" | "const" | "volatile" | "restrict" | "__restrict" | "__restrict__"
                | "register" | "inline" | "__inline" | "__inline__" => {}
                "void" | "char" | "short" | "int" | "long" | "float" | "double" | "signed" | "unsigned"
                | "_Bool" | "bool" | "_Complex" => words.types += 1,
                _ => words.own += 1,
            }
        }
        words
    }

    /// Whether they declare one name, and none of them can be anything else.
    fn declare(&self) -> bool {
        let of_type = match (self.types, self.tags) {
            (0, 0 | 1) => 1,
            (_, 0) => 0,
            _ => return false,
        };
        !self.is_typedef && self.own == of_type + 1
    }
}

/// Whether a directive inside a function says nothing of what stands outside.
fn is_harmless(text: &str) -> bool {
    let is_pragma = text.trim_start_matches(['#', ' ', '\t']).starts_with("pragma");
    is_pragma && pp::line(text) == Line::Other && says::pragma(text).is_none()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::c::lex;

    const TEXT: &str = "#include <math.h>\n\
        #define TWICE(x) helper(2 * (x))\n\
        static int n = 3;\n\
        int helper(int x);\n\
        int other(int x) { return x + n; }\n\
        int helper(int x) {\n#pragma omp parallel\n    return other(x);\n}\n\
        void unused(float *a) { a[0] = 1; }\n\
        void f(float *a) {\n    a[1] = TWICE(1);\n}\n\
        void (*const table[])(float *) = { named };\n\
        void named(float *a) { a[2] = 2; }\n\
        struct S *odd(void) { return 0; }\n";

    fn part_at(text: &str, at: &str) -> Option<PartRead<Lexed>> {
        let part = part(text, &lex::lex(text), text.find(at).unwrap() as u32, &["errno"])?;
        assert_eq!(part.read, lex::lex(&part.text));
        Some(part)
    }

    #[test]
    fn what_a_function_names_is_kept() {
        let part = part_at(TEXT, "a[1]").unwrap();
        assert_eq!(part.left_out.iter().map(|n| &**n).collect::<Vec<_>>(), ["unused"]);
        assert_eq!(part.text.len(), TEXT.len());
        assert_eq!(
            part.text.replace(' ', ""),
            TEXT.replace("void unused(float *a) { a[0] = 1; }", "").replace(' ', "")
        );

        let of_other = part_at(TEXT, "return x").unwrap();
        assert_eq!(of_other.left_out.iter().map(|n| &**n).collect::<Vec<_>>(), ["helper", "unused", "f"]);
    }

    #[test]
    fn there_is_no_part_of_what_cannot_be_told_by_itself() {
        for (old, new) in [
            // who calls it may look
            ("a[0] = 1;", "a[0] = errno;"),
            ("helper(2 *", "errno + helper(2 *"),
            // what is not a function alone
            ("a[0] = 1;", "a[0] = 1; }"),
            ("a[0] = 1;", "{ a[0] = 1;"),
            ("#define TWICE(x)", "#define LOOP for (;;) {\n#define TWICE(x)"),
            ("a[0] = 1;", "_Pragma(\"pack(1)\") a[0] = 1;"),
            ("return 0;", "\n#include \"body.h\"\n return 0;"),
        ] {
            let edited = TEXT.replacen(old, new, 1);
            assert_ne!(edited, TEXT);
            assert!(part_at(&edited, "a[1]").is_none(), "{new}");
        }
        assert!(part_at(TEXT, "table").is_none());
        assert!(part_at(TEXT, "float *a) {\n    a[1]").is_none());
    }

    #[test]
    fn what_is_not_plain_is_kept_with_what_it_names() {
        for (old, new) in [
            ("void unused(float *a) {", "struct S unused(float *a) {"),
            ("void unused(float *a) {", "EXPORT void unused(float *a) {"),
            ("void unused(float *a) {", "void unused(IN float *a) {"),
            ("void unused(float *a) {", "void unused(float ARRAY(a)) {"),
            ("a[0] = 1;", "\n#ifdef M\na[0] = 1;\n#endif\n"),
            ("a[0] = 1;", "\n#pragma STDC FENV_ACCESS ON\n a[0] = 1;"),
            ("return 0;", "unused(0); return 0;"),
            ("helper(2 *", "unused(helper)(2 *"),
            // a comment that would speak of the next function
            ("void unused(", "// warpwright: assume(size(a) = 1)\nvoid unused("),
            ("void unused(", "// warpwright: assume(size(a) = 1)\n#pragma omp x\nvoid unused("),
            // a macro of that name defines something else
            ("#define TWICE(x)", "#define unused used\n#define TWICE(x)"),
        ] {
            let edited = TEXT.replacen(old, new, 1);
            assert_ne!(edited, TEXT);
            assert_eq!(part_at(&edited, "a[1]").unwrap().left_out.len(), 0, "{new}");
        }
    }
}
