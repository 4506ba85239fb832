//! The same program with smaller numbers in its macros, variables and lengths, for files whose arrays are larger than an input may be,
//! or whose loops take more steps than a run may.
//!
//! `#define N 4096` becomes `#define N 8` where some array is as long as `N`, and `int n = 4096;` likewise; of `double a[400][400]`
//! every 400 of the file becomes 8 (and 399 becomes 7). Larger numbers stay larger, equal ones equal, and what one divided another does
//! still, if they were powers of two. The loop is found again by its line, analyzed and rewritten anew: it is another program, and the
//! report says so. Deliberately absent: lengths that are computed.

use std::collections::{BTreeMap, BTreeSet};

use term::{Len, TypeKind};

use crate::Doc;

/// Smaller numbers are left as they are.
const LEAST: u64 = 64;
/// A number that differs from a length by so much is made of it: the last index, a border on both sides.
const NEAR: u64 = 2;

/// What was changed: name, number, former number. The name of a number that stands in declarations is the number.
pub(crate) type Changed = (String, u64, u64);

/// Of each number that was changed what it is now, in words.
pub(crate) fn changed_words(changed: &[Changed]) -> String {
    let one = |(name, new, old): &Changed| match name.parse() == Ok(*old) {
        true => format!("{new} instead of each {old}"),
        false => format!("`{name}` {new} instead of {old}"),
    };
    changed.iter().map(one).collect::<Vec<_>>().join(", ")
}

/// The document with smaller arrays, the shortest of which is as long as `first`, and what was changed. `None` where nothing is.
pub(crate) fn smaller(doc: &Doc, first: u64) -> Option<(Doc, Vec<Changed>)> {
    let source = doc.source();
    let found: Vec<(&str, &str, u64)> = source.lines().filter_map(definition).collect();
    let lengths = lengths(source);
    let large: Vec<&(&str, &str, u64)> =
        found.iter().filter(|(name, _, value)| *value >= LEAST && lengths.contains(name)).collect();
    let written = written_lengths(doc, source);
    let values: BTreeMap<u64, u64> = large
        .iter()
        .map(|d| d.2)
        .chain(written.iter().copied())
        .collect::<std::collections::BTreeSet<_>>()
        .into_iter()
        .enumerate()
        .map(|(k, v)| (v, first.checked_shl(k as u32).unwrap_or(v)))
        .filter(|(v, small)| small < v)
        .collect();
    if values.is_empty() {
        return None;
    }
    let mut changed = Vec::new();
    let mut text = String::new();
    for line in source.split_inclusive('\n') {
        match definition(line).filter(|d| lengths.contains(&d.0)).and_then(|d| Some((d, *values.get(&d.2)?)))
        {
            Some(((name, literal, value), small)) => {
                let at = literal.as_ptr() as usize - line.as_ptr() as usize;
                text += &line[..at];
                text += &small.to_string();
                text += &line[at + literal.len()..];
                if !changed.iter().any(|c: &(String, u64, u64)| c.0 == name) {
                    changed.push((name.to_owned(), small, value));
                }
            }
            None => text += line,
        }
    }
    if !written.is_empty() {
        let small = |old: u64| values.get(&old).filter(|_| written.contains(&old)).copied();
        changed.extend(written.iter().filter_map(|&old| Some((old.to_string(), small(old)?, old))));
        text = with_numbers(&text, |n| {
            let exact = small(n).or_else(|| values.get(&n).copied());
            exact.or_else(|| {
                let near = |d: u64| {
                    let above = n.checked_sub(d).and_then(small).map(|s| s + d);
                    above.or_else(|| small(n + d).map(|s| s - d))
                };
                (1..=NEAR).find_map(near)
            })
        });
    }
    let text = text::Text::new(&text).ok()?;
    let options = doc.options().clone();
    // what is defined from outside is not this text's
    if options.defines.iter().any(|d| changed.iter().any(|c| c.0 == d.0)) {
        return None;
    }
    Some((Doc::open(doc.language(), doc.name(), text, options), changed))
}

/// `#define NAME 4096` or `#define NAME (4096)`: name, digits, number.
///
/// Likewise `int name = 4096;`, which lengths of arrays may be made of.
fn definition(line: &str) -> Option<(&str, &str, u64)> {
    macro_definition(line).or_else(|| variable(line))
}

fn variable(line: &str) -> Option<(&str, &str, u64)> {
    let (before, after) = line.split_once('=')?;
    let mut words = before.split_ascii_whitespace().rev();
    let name = words.next()?;
    let is_type =
        |w: &str| matches!(w, "static" | "const" | "int" | "long" | "unsigned" | "size_t" | "constexpr");
    let is_name = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if !is_name || words.clone().next().is_none() || !words.all(is_type) {
        return None;
    }
    let digits = after.split(';').next()?.trim();
    (after.contains(';') && !digits.is_empty()).then_some(())?;
    Some((name, digits, digits.parse().ok()?))
}

fn macro_definition(line: &str) -> Option<(&str, &str, u64)> {
    let rest = line.trim_start().strip_prefix('#')?.trim_start().strip_prefix("define")?;
    let rest = rest.strip_prefix([' ', '\t'])?.trim_start();
    let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_')?;
    let (name, rest) = rest.split_at(end);
    let rest = rest.strip_prefix([' ', '\t'])?.trim_start_matches([' ', '\t', '(']);
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    let (digits, rest) = rest.split_at(end);
    let rest = rest.trim_start_matches(['u', 'U', 'l', 'L', ')', ' ', '\t', '\r', '\n']);
    (rest.is_empty() || rest.starts_with("//") || rest.starts_with("/*")).then_some(())?;
    Some((name, digits, digits.parse().ok()?))
}

/// Numbers between brackets that are lengths of arrays of this document's functions.
fn written_lengths(doc: &Doc, source: &str) -> BTreeSet<u64> {
    let mut between = BTreeSet::new();
    for part in source.split('[').skip(1).filter_map(|p| p.split(']').next()) {
        between.extend(part.trim().parse::<u64>().ok().filter(|&n| n >= LEAST));
    }
    if between.is_empty() {
        return between;
    }
    let mut lengths = BTreeSet::new();
    for item in &doc.unit().items {
        for (_, symbol) in item.body.symbols.iter_ids() {
            let mut ty = symbol.ty;
            loop {
                ty = match item.body.types.kind(ty) {
                    TypeKind::Pointer { to, .. } => *to,
                    TypeKind::Array { of, len } => {
                        lengths.extend(match len {
                            Len::Const(n) => Some(*n),
                            _ => None,
                        });
                        *of
                    }
                    _ => break,
                };
            }
        }
    }
    between.retain(|n| lengths.contains(n));
    between
}

/// The text with other decimal numbers, where `other` gives them. Comments and literals stay as they are.
fn with_numbers(text: &str, other: impl Fn(u64) -> Option<u64>) -> String {
    let mut out = String::with_capacity(text.len());
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let end = match first {
            '/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            '/' if rest.starts_with("/*") => rest[2..].find("*/").map_or(rest.len(), |e| e + 4),
            '"' | '\'' => quoted(rest, first),
            // also what a number is part of: `0x190`, `4.0e5`, `x400`
            c if is_word(c) || c == '.' => rest.find(|c| !is_word(c) && c != '.').unwrap_or(rest.len()),
            c => c.len_utf8(),
        };
        let (token, after) = rest.split_at(end);
        let digits = token.trim_end_matches(['u', 'U', 'l', 'L']);
        let is_decimal = !digits.starts_with('0') && digits.bytes().all(|b| b.is_ascii_digit());
        match digits.parse().ok().filter(|_| is_decimal).and_then(&other) {
            Some(new) => {
                out += &new.to_string();
                out += &token[digits.len()..];
            }
            None => out += token,
        }
        rest = after;
    }
    out
}

/// The end of a literal between these quotes.
fn quoted(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '\n' => return at,
            c if c == quote => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// Names between brackets, and those among the arguments of functions that give memory.
fn lengths(source: &str) -> Vec<&str> {
    let parts = source.split('[').skip(1).filter_map(|p| p.split(']').next());
    // up to the end of the statement: sizes are nested calls and casts
    let given = source.split("alloc(").skip(1).filter_map(|p| p.split(';').next());
    parts
        .chain(given)
        .flat_map(|p| p.split(|c: char| !c.is_ascii_alphanumeric() && c != '_'))
        .filter(|w| !w.is_empty())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(text: &str) -> Option<(String, Vec<Changed>)> {
        let doc = crate::tests::open(text);
        smaller(&doc, 8).map(|(d, c)| (d.source().to_owned(), c))
    }

    #[test]
    fn lengths_get_smaller_and_keep_their_order() {
        let text = "#define N (4096) // rows\n#define M 1024\n#define K 4\n#define P 7000\nint a[N][M + K];\nint b = P;\n";
        let (new, changed) = made(text).expect("two lengths");
        assert_eq!(new, text.replace("4096", "16").replace("1024", "8"));
        assert_eq!(changed, [("N".to_owned(), 16, 4096), ("M".to_owned(), 8, 1024)]);
        assert_eq!(made("#define N 16\nint a[N];\n"), None);
        assert_eq!(made("#define N 4096 + 1\nint a[N];\n"), None);
        let text = "double a[400][402];\nvoid f(void)\n{\n    // all 400\n    for (int i = 1; i < 399; i++)\n        a[i][401] = 400u + 0x190 + 400.5 + a[i + 1][0];\n}\n";
        let (new, changed) = made(text).expect("lengths of a declaration");
        let small = text.replace("[400][402]", "[8][16]").replace("399", "7").replace("400u", "8u");
        assert_eq!(new, small.replace("[401]", "[9]"));
        assert_eq!(changed_words(&changed), "8 instead of each 400, 16 instead of each 402");
        assert_eq!(made("void f(int *a)\n{\n    a[400] = 1;\n}\n"), None);
        let text = "void f(void) {\n    int n = 4096;\n    int k = 4096;\n    float *a = malloc(sizeof(float) * n);\n}\n";
        let (new, changed) = made(text).expect("memory that is asked for");
        assert_eq!(new, text.replace("n = 4096", "n = 8"));
        assert_eq!(changed, [("n".to_owned(), 8, 4096)]);
        let text = "void f(void) {\n    const int n = 4096; // rows\n    int m = 300, k = 4096;\n    float a[n];\n}\n";
        let (new, changed) = made(text).expect("a length");
        assert_eq!(new, text.replace("n = 4096", "n = 8"));
        assert_eq!(changed, [("n".to_owned(), 8, 4096)]);
    }
}
