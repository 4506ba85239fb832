//! The same program with smaller numbers in its macros and variables, for files whose arrays are larger than an input may be.
//!
//! `#define N 4096` becomes `#define N 8` where some array is as long as `N`, and `int n = 4096;` likewise; larger numbers stay larger, equal ones equal, and
//! what one divided another does still, if they were powers of two. The loop is found again by its line, analyzed and
//! rewritten anew: it is another program, and the report says so. Deliberately absent: numbers that stand in an array's
//! declaration themselves.

use std::collections::BTreeMap;

use crate::Doc;

/// Smaller numbers are left as they are.
const LEAST: u64 = 64;

/// What was changed: name, number, former number.
pub(crate) type Changed = (String, u64, u64);

/// Of each number that was changed what it is now, in words.
pub(crate) fn changed_words(changed: &[Changed]) -> String {
    let all: Vec<String> =
        changed.iter().map(|(name, new, old)| format!("`{name}` {new} instead of {old}")).collect();
    all.join(", ")
}

/// The document with smaller arrays, the shortest of which is as long as `first`, and what was changed. `None` where nothing is.
pub(crate) fn smaller(doc: &Doc, first: u64) -> Option<(Doc, Vec<Changed>)> {
    let source = doc.source();
    let found: Vec<(&str, &str, u64)> = source.lines().filter_map(definition).collect();
    let lengths = lengths(source);
    let large: Vec<&(&str, &str, u64)> =
        found.iter().filter(|(name, _, value)| *value >= LEAST && lengths.contains(name)).collect();
    let values: BTreeMap<u64, u64> = large
        .iter()
        .map(|d| d.2)
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
        assert_eq!(made("int a[4096];\n"), None);
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
