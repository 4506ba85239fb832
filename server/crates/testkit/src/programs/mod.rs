//! Random programs as people write them around loops: structures read whole and by member, unions, bit-fields, clamps,
//! guards with effects, casts, macros, attributes, callees, jumps, sizes with effects. A program depends on its seed alone;
//! all its file-scope names carry its number, so that many can be built together.
//!
//! Deliberately absent: any opinion on which loops are parallel, and care for what C leaves undefined: what goes wrong is
//! noticed by the run and discarded.

mod declarations;
mod grammar;

use std::collections::BTreeMap;

use crate::rng::Rng;
use declarations::{FILE, PARTS, VARIABLES, VARIABLE_PARTS};
use grammar::{Rule, RULES};

/// How deep alternatives are expanded before the plain ones are taken.
const DEPTH: u32 = 5;

struct Maker {
    rng: Rng,
    chosen: BTreeMap<&'static str, &'static str>,
    /// Names of the indices of the loops around, innermost last, and how many there were.
    indices: Vec<String>,
    loops: usize,
    /// Whether most statements are such as can be offloaded.
    mild: bool,
}

fn rule(name: &str) -> Option<&'static Rule> {
    RULES.iter().chain(PARTS).chain(VARIABLE_PARTS).find(|r| r.0 == name)
}

impl Maker {
    fn expand(&mut self, text: &str, depth: u32) -> String {
        let (mut out, mut rest) = (String::new(), text);
        while let Some(at) = rest.find('<') {
            let end = rest[at..].find('>').map(|e| at + e);
            let name = end.map(|e| &rest[at + 1..e]).filter(|n| n.chars().all(char::is_alphanumeric));
            let (Some(end), Some(name)) = (end, name.filter(|n| *n == "loop" || rule(n).is_some())) else {
                out += &rest[..=at];
                rest = &rest[at + 1..];
                continue;
            };
            out += &rest[..at];
            rest = &rest[end + 1..];
            if name == "loop" {
                out += &self.one_loop(depth + 1);
            } else if let Some(r) = rule(name) {
                let chosen = if name.starts_with(char::is_uppercase) {
                    let rng = &mut self.rng;
                    self.chosen.entry(r.0).or_insert_with(|| r.1[rng.below(r.1.len())])
                } else if depth > DEPTH {
                    r.1[0]
                } else {
                    self.rng.pick(r.1)
                };
                out += &self.expand(chosen, depth + 1);
            }
        }
        out + rest
    }

    /// A loop with its statements; deep ones are simple.
    fn one_loop(&mut self, depth: u32) -> String {
        self.loops += 1;
        let old = self.indices.len() < 2 && self.rng.chance(25);
        let index = match (old, self.indices.len()) {
            (true, 0) => "i".to_owned(),
            (true, _) => "j".to_owned(),
            (false, _) => format!("i{}", self.loops),
        };
        let head = if old { "<oldhead>" } else { "<head>" };
        let text = self.expand(head, depth).replace('#', &index);
        // `i = 0; while (…)` is two statements
        let (before, head) = match text.find("; while").or(text.find("; for")).or(text.find("; do")) {
            Some(at) if !text.starts_with("for") => text.split_at(at + 2),
            _ => ("", text.as_str()),
        };
        self.indices.push(index.clone());
        let count = if depth > 3 { 1 } else { 1 + self.rng.below(3) };
        let mut body: Vec<String> = Vec::new();
        for _ in 0..count {
            let s = self.statement(depth + 1);
            body.push(s);
        }
        self.indices.pop();
        let moves = format!(" {index}++;");
        // where the head does not move it, the body's end does; a `continue` would not end
        let in_body = head.starts_with("while (") && !head.contains("++") && !head.contains("--");
        let body = body.join(" ");
        let body = if in_body || head == "do" { body.replace("continue;", ";") } else { body };
        match head {
            "do" => format!("{before}do {{ {body} }} while (++{index} < n);"),
            h if in_body => format!("{before}{h} {{ {body}{moves} }}"),
            h if self.rng.chance(10) && !body.contains(':') => format!("{before}{h} {{ {{ {body} }} }}"),
            h => format!("{before}{h} {{ {body} }}"),
        }
    }

    /// One statement at the innermost loop's index; what declares gets a block of its own.
    fn statement(&mut self, depth: u32) -> String {
        let index = self.indices.last().cloned().unwrap_or_else(|| "n".to_owned());
        let name = match depth > DEPTH {
            true if self.mild => "a[~] = <easyval>;",
            true => "<place> = <val>;",
            false if self.mild && self.rng.chance(85) => "<easy>",
            false => "<stmt>",
        };
        let text = self.expand(name, depth);
        // `~` of an inner loop is replaced already
        let out = text.replace('~', &index);
        let labels = out
            .replace("next_", &format!("next{}_", self.loops))
            .replace("set_", &format!("set{}_", self.loops));
        if labels.contains(" y")
            || labels.contains(" *y")
            || labels.contains("static ")
            || labels.contains("enum {")
        {
            format!("{{ {labels} }}")
        } else {
            labels
        }
    }
}

/// The text with a number behind each occurrence of the variable `word`.
fn again(text: &str, word: &str, number: u32) -> String {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let (mut out, mut rest) = (String::new(), text);
    while let Some(at) = rest.find(is_word) {
        out += &rest[..at];
        let member = out.ends_with('.') || out.ends_with("->");
        let len = rest[at..].find(|c| !is_word(c)).unwrap_or(rest.len() - at);
        out += &rest[at..at + len];
        if &rest[at..at + len] == word && !member {
            out += &number.to_string();
        }
        rest = &rest[at + len..];
    }
    out + rest
}

/// Whether a word (or words) occurs.
fn occurs(text: &str, word: &str) -> bool {
    let edge = |c: Option<char>| !c.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == '@' || c == '.');
    let after = |c: Option<char>| !c.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == '@');
    text.match_indices(word).any(|(at, _)| {
        let before = &text[..at];
        edge(before.chars().next_back())
            && !before.ends_with("->")
            && after(text[at + word.len()..].chars().next())
    })
}

/// A random program, the text of a whole file.
pub fn program(seed: u64) -> String {
    written(seed, false)
}

/// One of which most loops can be offloaded.
pub fn mild(seed: u64) -> String {
    written(seed, true)
}

fn written(seed: u64, mild: bool) -> String {
    let rng = Rng::new(seed ^ if mild { 0x311D } else { 0x9E0_6A3 });
    let mut m = Maker { rng, chosen: BTreeMap::new(), indices: Vec::new(), loops: 0, mild };
    let returns = *m.rng.pick(&["void", "int", "double", "void", "long"]);
    let mut lines: Vec<String> = Vec::new();
    let mut labels = 0u32;
    for _ in 0..m.rng.below(if mild { 2 } else { 4 }) {
        labels += 1;
        let line = m.expand("<entry>", 0).replace("past", &format!("past{labels}"));
        let line = line.replace("again", &format!("again{labels}"));
        // names declared twice
        let line = again(&line, "y", labels);
        let line = ["z[", "lit", "pn", "pm", "vl", "calls", "fp", "row@", "first", "lim", "un ", "un;"]
            .iter()
            .fold(line, |l, w| l.replace(w, &format!("e{labels}{w}")));
        lines.push(if returns == "void" { line.replace("return 0;", "return;") } else { line });
    }
    for _ in 0..1 + m.rng.below(2) {
        let guard =
            if m.rng.chance(if mild { 8 } else { 35 }) { m.expand("<guard>", 0) } else { String::new() };
        let nest = m.one_loop(1);
        lines.push(match guard.as_str() {
            "" => nest,
            g => format!("{g} {{ {nest} }}"),
        });
        if m.rng.chance(40) {
            lines.push(m.expand("<after>", 0));
        }
    }
    if returns != "void" {
        let what = *m.rng.pick(&["0", "cnt", "sum", "m", "last + cnt", "tmp", "(int)t.x", "at", "n"]);
        lines.push(format!("return {what};"));
    }
    assemble(&mut m, seed, returns, lines)
}

fn assemble(m: &mut Maker, seed: u64, returns: &str, mut lines: Vec<String>) -> String {
    let free = |l: &mut String| {
        for (from, to) in [("else_free ", ""), ("do_once", "do")] {
            *l = l.replace(from, to);
        }
    };
    lines.iter_mut().for_each(free);
    for l in &mut lines {
        if let Some(rest) = l.strip_prefix("do {") {
            if !rest.contains("} while (") || l.starts_with("do { for") || l.starts_with("do { i") {
                *l = format!("{l} while (0);");
            }
        }
        *l = l.replace("*(a[~] > 2 ? ", "*(").replace(" : &c@@)", " : &a[0])");
    }
    let mut body = lines.join("\n    ");
    // variables, those that others need last to first
    let mut locals: Vec<String> = Vec::new();
    let mut params: Vec<String> = Vec::new();
    for (name, text, is_param) in VARIABLES.iter().rev() {
        let all = format!("{} {body}", locals.join(" "));
        if !occurs(&all, name) && !["n", "m"].contains(name) {
            continue;
        }
        let text = m.expand(text, 0);
        if *is_param {
            params.insert(0, text);
        } else {
            locals.insert(0, text);
        }
    }
    if m.rng.chance(30) {
        let at = m.rng.below(params.len());
        params.rotate_left(at);
    }
    // a length stands before what is declared with it
    body =
        format!("{returns} f@({})\n{{\n    {}\n    {body}\n}}\n", params.join(", "), locals.join("\n    "));
    let mut file = String::new();
    for (name, text) in FILE.iter().rev() {
        let all = format!("{file}{body}");
        let parts: Vec<&str> = name.split(' ').collect();
        let needed = match parts[..] {
            [_, tag] => occurs(&all, name) || tag == "E@" && (occurs(&all, "ONE@") || occurs(&all, "TWO@")),
            _ => occurs(&all, name),
        };
        if needed {
            let mut text = m.expand(text, 0);
            if text.contains("pack(push") != text.contains("pack(pop)") {
                text = text.replace("\n#pragma pack(pop)", "");
                if text.contains("pack(push") {
                    text += "\n#pragma pack(pop)";
                }
            }
            file = format!("{text}\n{file}");
        }
    }
    // macros name what stands behind them: order does not matter for them, for types it does
    let mut headers = String::from("#include <stddef.h>\n");
    for (header, words) in [
        ("string.h", &["memcpy", "memset", "strlen"][..]),
        ("math.h", &["sqrt", "fabs"]),
        ("stdlib.h", &["abs"]),
        ("errno.h", &["errno"]),
        ("stdbool.h", &["true", "false"]),
        ("stdarg.h", &["va_list"]),
    ] {
        if words.iter().any(|w| occurs(&file, w) || occurs(&body, w)) {
            headers += &format!("#include <{header}>\n");
        }
    }
    format!("{headers}{file}{body}").replace('@', &seed.to_string())
}

/// Which productions of C's grammar and which attributes the first programs have, as a page.
pub fn coverage(count: u64) -> String {
    let mut met: BTreeMap<String, u64> = front::all_productions().into_iter().map(|p| (p, 0)).collect();
    for seed in 0..count {
        for production in front::productions(&program(seed)).into_keys() {
            *met.entry(production).or_default() += 1;
        }
    }
    let mut out = format!(
        "# What the judge has met\n\n\
         Productions of C's grammar (tree-sitter-c's names) and attributes in the first {count} random programs whose verdicts\n\
         are held to what gcc's instrumentation sees, with the number of programs that have each. Written by\n\
         `cargo run -p ww-testkit --example traced coverage {count} > docs/judged.md`.\n\n\
         | production | programs |\n|---|---|\n"
    );
    for (production, programs) in &met {
        out += &format!(
            "| {production} | {} |\n",
            if *programs == 0 { "none".to_owned() } else { programs.to_string() }
        );
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{coverage, program};

    #[test]
    fn what_the_page_says_is_met_is_still_met() {
        let page = include_str!("../../../../../docs/judged.md");
        let count = page
            .split("the first ")
            .nth(1)
            .and_then(|p| p.split(' ').next()?.parse().ok())
            .expect("a number");
        let rows = |page: &str| -> Vec<String> {
            page.lines()
                .filter(|l| l.starts_with("| ") && !l.ends_with("none |"))
                .map(|l| l.split('|').nth(1).unwrap_or("").trim().to_owned())
                .collect()
        };
        assert_eq!(rows(page), rows(&coverage(count)), "docs/judged.md is stale");
        assert!(rows(page).len() > 60);
    }

    #[test]
    fn a_seed_gives_one_program() {
        assert_eq!(program(7), program(7));
        assert!((0..50).map(program).collect::<std::collections::BTreeSet<_>>().len() == 50);
    }
}
