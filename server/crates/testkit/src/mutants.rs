//! Programs one step beside those that somebody wrote: names, numbers, operators, types and lines of a C or CUDA text are
//! changed at random, so that whoever recognizes the text by its looks meets what only looks alike.
//!
//! Deliberately absent: any care that the mutant compiles or ends. Whoever takes one asks the front end and runs it under a limit.

use front::{Language, Memo, Options, Parsed};
use term::{Body, Storage};

use crate::rng::Rng;

/// The text after `steps` random changes.
pub fn mutant(text: &str, steps: usize, rng: &mut Rng) -> String {
    let mut text = text.to_owned();
    for _ in 0..steps {
        text = match rng.below(12) {
            0 | 1 => renamed(&text, rng),
            2 | 3 => one_token(&text, rng, number, other_number),
            4 | 5 => one_token(&text, rng, operator, other_operator),
            6 => one_token(&text, rng, name, |_, rng| {
                let all = names(&text);
                all.get(rng.below(all.len())).cloned().unwrap_or_default()
            }),
            7 => retyped(&text, rng),
            _ => lines(&text, rng),
        };
    }
    text
}

/// Whether nothing in a document is a gap and every name is declared: a mutant that some compiler might take.
pub fn is_understood(language: Language, text: &str) -> bool {
    let unit = front::lower(&Parsed::parse(language, text), &Options::default(), &mut Memo::new());
    let whole =
        |b: &Body| b.rejects().next().is_none() && b.symbols.iter().all(|s| s.storage != Storage::Undeclared);
    unit.rejects.is_empty() && unit.items.iter().all(|i| whole(&i.body))
}

/// Tokens and what stands between them, in order; together they are the text.
fn tokens(text: &str) -> Vec<&str> {
    let bytes = text.as_bytes();
    let mut out = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let word = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b >= 0x80;
        let mut end = at + 1;
        if word(bytes[at]) {
            while end < bytes.len()
                && (word(bytes[end]) || (bytes[at].is_ascii_digit() && bytes[end] == b'.'))
            {
                end += 1;
            }
        } else if bytes[at].is_ascii_whitespace() {
            while end < bytes.len() && bytes[end].is_ascii_whitespace() {
                end += 1;
            }
        } else if let Some(len) =
            [3, 2].into_iter().find(|&n| text.get(at..at + n).is_some_and(|t| LONG.contains(&t)))
        {
            end = at + len;
        }
        out.push(&text[at..end]);
        at = end;
    }
    out
}

/// Operators of more than one character that matter here.
const LONG: [&str; 21] = [
    "<<<", ">>>", "<<=", ">>=", "+=", "-=", "*=", "/=", "%=", "==", "!=", "<=", ">=", "&&", "||", "++", "--",
    "<<", ">>", "//", "/*",
];

/// Words that a program is not about.
const KEPT: [&str; 34] = [
    "int",
    "long",
    "short",
    "char",
    "unsigned",
    "signed",
    "float",
    "double",
    "void",
    "const",
    "if",
    "else",
    "for",
    "while",
    "do",
    "return",
    "extern",
    "static",
    "__global__",
    "__device__",
    "__shared__",
    "restrict",
    "__restrict__",
    "struct",
    "sizeof",
    "define",
    "include",
    "pragma",
    "warpwright",
    "launch",
    "C",
    "break",
    "continue",
    "__host__",
];

fn name(t: &str) -> bool {
    t.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') && !KEPT.contains(&t)
}
fn number(t: &str) -> bool {
    t.starts_with(|c: char| c.is_ascii_digit())
}
fn operator(t: &str) -> bool {
    FAMILIES.iter().any(|f| f.contains(&t))
}

/// Operators that stand where each other stands.
const FAMILIES: [&[&str]; 5] = [
    &["+", "-", "*", "/", "%", "&", "|", "^"],
    &["<", "<=", ">", ">=", "==", "!="],
    &["=", "+=", "-=", "*=", "|="],
    &["&&", "||"],
    &["++", "--"],
];

fn names(text: &str) -> Vec<String> {
    let mut all: Vec<String> = tokens(text).into_iter().filter(|t| name(t)).map(str::to_owned).collect();
    all.sort_unstable();
    all.dedup();
    all
}

fn other_number(t: &str, rng: &mut Rng) -> String {
    let Ok(n) = t.parse::<i64>() else {
        return rng.pick(&["0.5", "1", "2.0f", "3u"]).to_string();
    };
    match rng.below(7) {
        0 => n + 1,
        1 => (n - 1).max(0),
        2 => n * 2,
        3 => n / 2,
        4 => 0,
        5 => 1,
        _ => rng.between(0, 40),
    }
    .to_string()
}

fn other_operator(t: &str, rng: &mut Rng) -> String {
    let family = FAMILIES.iter().find(|f| f.contains(&t)).copied().unwrap_or(&["+"]);
    rng.pick(family).to_string()
}

/// One token of a kind becomes another.
fn one_token(
    text: &str,
    rng: &mut Rng,
    kind: impl Fn(&str) -> bool,
    other: impl FnOnce(&str, &mut Rng) -> String,
) -> String {
    let all = tokens(text);
    let places: Vec<usize> = (0..all.len()).filter(|&k| kind(all[k])).collect();
    let Some(&k) = places.get(rng.below(places.len())) else { return text.to_owned() };
    let new = other(all[k], rng);
    all.iter().enumerate().map(|(i, t)| if i == k { new.as_str() } else { t }).collect()
}

/// All uses of one name become another: a new one, or one that the text has already.
fn renamed(text: &str, rng: &mut Rng) -> String {
    let all = names(text);
    let Some(from) = all.get(rng.below(all.len())) else { return text.to_owned() };
    let to = match rng.below(3) {
        0 => all.get(rng.below(all.len())).cloned().unwrap_or_default(),
        1 => rng.pick(&["data", "tile", "t", "s", "idx", "value", "sum", "out"]).to_string(),
        _ => format!("{from}_{}", rng.below(9)),
    };
    tokens(text).iter().map(|t| if t == from { to.as_str() } else { t }).collect()
}

/// One arithmetic type becomes another, everywhere or once.
fn retyped(text: &str, rng: &mut Rng) -> String {
    const TYPES: [&str; 6] = ["int", "unsigned", "long", "float", "double", "short"];
    let all = tokens(text);
    let present: Vec<&str> = TYPES.into_iter().filter(|t| all.contains(t)).collect();
    let Some(&from) = present.get(rng.below(present.len())) else { return text.to_owned() };
    let to = *rng.pick(&TYPES);
    if rng.chance(50) {
        return all.iter().map(|&t| if t == from { to } else { t }).collect();
    }
    one_token(text, rng, |t| t == from, |_, _| to.to_owned())
}

/// A line goes, comes twice, changes places with the next, gets a comment, a condition or a statement behind it.
fn lines(text: &str, rng: &mut Rng) -> String {
    let mut all: Vec<String> = text.lines().map(str::to_owned).collect();
    if all.len() < 2 {
        return text.to_owned();
    }
    let k = rng.below(all.len() - 1);
    let line = all[k].clone();
    let indent = &line[..line.len() - line.trim_start().len()];
    let statement = line.ends_with(';') && line.starts_with(' ');
    match rng.below(8) {
        0 => {
            all.remove(k);
        }
        1 => all.insert(k, line),
        2 => all.swap(k, k + 1),
        3 => all.insert(k, format!("{indent}// a remark of the author")),
        4 if statement && !line.contains("int ") => {
            all[k] = format!("{indent}if (1) {{{}}}", line.trim_start())
        }
        5 if statement => {
            let of = names(text);
            let v = of.get(rng.below(of.len())).cloned().unwrap_or_default();
            all.insert(k + 1, format!("{indent}{v} += 1;"));
        }
        6 => all[k] = format!("{line} /* {} */", rng.below(100)),
        _ => {
            let j = rng.below(all.len());
            all.swap(k, j);
        }
    }
    all.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_the_text() {
        let text = "int f(int *a) {\n    a[0] += 0x1f + 2.5e3f; // ü\n    k<<<n >> 1, 32>>>(a);\n}\n";
        assert_eq!(tokens(text).concat(), text);
        assert!(tokens(text).contains(&"<<<") && tokens(text).contains(&"+="));
    }

    #[test]
    fn every_step_changes_something_now_and_then() {
        let text =
            "void f(int n, float *a) {\n    for (int i = 0; i < n; i++)\n        a[i] = a[i] + 1.0f;\n}\n";
        let mut rng = Rng::new(1);
        let all: std::collections::BTreeSet<String> = (0..400).map(|_| mutant(text, 1, &mut rng)).collect();
        assert!(all.len() > 100, "{}", all.len());
        assert_eq!(mutant(text, 3, &mut Rng::new(9)), mutant(text, 3, &mut Rng::new(9)));
    }
}
