//! Who may import whom inside of `analysis`: files form no circles, and its folders stand one above the other.

use super::{product, product_sources};
use std::collections::{BTreeMap, BTreeSet};

/// The folders of `analysis` (and the files that stand beside them), each with those that it imports: all of them stand above
/// it in this table. Everyone may use `limits`, and `lib` everyone.
const FOLDERS: &[(&str, &[&str])] = &[
    // what is said of a program, and how it is reckoned with
    ("facts", &[]),
    ("algebra", &["facts"]),
    ("solve", &["facts"]),
    // what statements, calls and pointers do
    ("flow", &["algebra", "facts"]),
    ("calls", &["facts", "flow"]),
    ("alias", &["flow"]),
    // one loop
    ("nest", &["algebra", "calls", "facts", "flow", "solve"]),
    ("depend", &["algebra", "facts", "nest", "solve"]),
    ("replay_witness", &["algebra", "calls", "facts", "flow", "solve"]),
    ("context", &["calls", "facts", "flow", "nest", "replay_witness", "solve"]),
    ("classify", &["algebra", "context", "facts", "flow", "nest", "solve"]),
    // what is answered
    (
        "loops",
        &[
            "algebra",
            "alias",
            "calls",
            "classify",
            "context",
            "depend",
            "facts",
            "flow",
            "nest",
            "replay_witness",
        ],
    ),
    ("graph", &["algebra", "calls", "context", "depend", "facts", "flow", "loops", "nest", "solve"]),
    ("kernel", &["algebra", "calls", "facts", "solve"]),
    ("offload", &["algebra", "calls", "classify", "context", "facts", "flow", "kernel", "loops", "nest"]),
    ("threadmap", &["algebra", "calls", "context", "depend", "facts", "flow", "loops", "nest", "offload"]),
    ("regions", &["calls", "facts", "flow"]),
    ("host", &["calls"]),
];

/// The groups of files in which every one imports, in some steps, every other.
fn circles(edges: &BTreeMap<String, BTreeSet<String>>) -> Vec<BTreeSet<String>> {
    let reached = |from: &str| {
        let mut seen = BTreeSet::new();
        let mut next: Vec<&String> = edges.get(from).into_iter().flatten().collect();
        while let Some(n) = next.pop() {
            if seen.insert(n.clone()) {
                next.extend(edges.get(n).into_iter().flatten());
            }
        }
        seen
    };
    let all: BTreeMap<&String, BTreeSet<String>> = edges.keys().map(|f| (f, reached(f))).collect();
    let mut out: Vec<BTreeSet<String>> = Vec::new();
    for (f, seen) in all.iter().filter(|(f, seen)| seen.contains(**f)) {
        let circle: BTreeSet<String> =
            seen.iter().filter(|o| all.get(o).is_some_and(|back| back.contains(*f))).cloned().collect();
        if !out.contains(&circle) {
            out.push(circle);
        }
    }
    out
}

/// Folders of `analysis` that only sort: what stands in them counts by itself.
const SORTED: [&str; 6] = ["algebra", "alias", "calls", "classify", "flow", "offload"];
/// What counts as one, of a path's first two words.
fn unit<'a>(first: &'a str, second: &'a str) -> &'a str {
    match SORTED.contains(&first) && !second.is_empty() {
        true => second,
        false => first,
    }
}

/// Which files and folders of a room the others name, by `crate::…` paths; `own` names at the room's front door count for the
/// file that they come from.
fn imports(room: &str, unit: impl Fn(&str, &str) -> String) -> BTreeMap<String, BTreeSet<String>> {
    let start = format!("server/crates/{room}/src/");
    let files: Vec<(String, String)> = product_sources()
        .into_iter()
        .filter_map(|(path, text)| {
            let rest = path.strip_prefix(&start)?;
            let mut parts = rest.split('/').map(|p| p.trim_end_matches(".rs"));
            let first = unit(parts.next()?, parts.next().unwrap_or(""));
            let text = product(&text);
            let lines = text.lines().map(|l| l.split("//").next().unwrap_or(""));
            Some((first, lines.collect::<Vec<_>>().join("\n")))
        })
        .collect();
    let word =
        |text: &str| -> String { text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect() };
    // `a::b` as what counts as one
    let path = |text: &str| -> String {
        let first = word(text);
        let second = text[first.len()..].strip_prefix("::").map(&word).unwrap_or_default();
        unit(&first, &second)
    };
    let rooms: BTreeSet<&str> = files.iter().map(|f| f.0.as_str()).collect();
    // what the front door passes on: `pub use nest::{A, B};`
    let mut door: BTreeMap<String, String> = BTreeMap::new();
    for (_, text) in files.iter().filter(|f| f.0 == "lib") {
        for (at, _) in text.match_indices("use ") {
            let used = text[at + 4..].split(';').next().unwrap_or("").trim_start_matches("crate::");
            let from = path(used);
            for name in used.split(|c: char| !(c.is_alphanumeric() || c == '_')).filter(|n| !n.is_empty()) {
                if rooms.contains(from.as_str()) && !rooms.contains(name) {
                    door.insert(name.to_owned(), from.clone());
                }
            }
        }
    }
    // all that `facts` declares is passed on: `pub use facts::*;`
    for (_, text) in files.iter().filter(|f| f.0 == "facts") {
        for declared in ["pub struct ", "pub enum "] {
            for (at, _) in text.match_indices(declared) {
                door.entry(word(&text[at + declared.len()..])).or_insert_with(|| "facts".to_owned());
            }
        }
    }
    let mut out: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (own, text) in files.iter().filter(|f| f.0 != "lib") {
        let edges = out.entry(own.clone()).or_default();
        for (at, _) in text.match_indices("crate::") {
            let rest = &text[at + "crate::".len()..];
            let names: Vec<String> = match rest.strip_prefix('{') {
                Some(list) => {
                    list.split('}').next().unwrap_or("").split(',').map(|n| path(n.trim())).collect()
                }
                None => vec![path(rest)],
            };
            for name in names {
                let to = door.get(&name).unwrap_or(&name);
                if rooms.contains(to.as_str()) && to != own {
                    edges.insert(to.clone());
                }
            }
        }
    }
    out
}

#[test]
fn files_of_the_analysis_form_no_circles() {
    let edge = |a: &str, to: &[&str]| (a.to_owned(), to.iter().map(|t| (*t).to_owned()).collect());
    let made = BTreeMap::from([edge("a", &["b"]), edge("b", &["c", "a"]), edge("c", &["d"]), edge("d", &[])]);
    assert_eq!(circles(&made), [BTreeSet::from(["a".to_owned(), "b".to_owned()])]);
    let edges = imports("analysis", |first, second| unit(first, second).to_owned());
    assert!(edges.len() > 30 && edges["loops"].contains("nest") && edges["nest"].contains("effects"));
    assert_eq!(circles(&edges), Vec::<BTreeSet<String>>::new(), "each imports the others: open the circle");
}

#[test]
fn folders_of_the_analysis_stand_one_above_the_other() {
    let mut edges = imports("analysis", |first, _| first.to_owned());
    assert!(edges.remove("limits").is_some_and(|e| e.is_empty()), "limits import nothing");
    edges.values_mut().for_each(|to| {
        to.remove("limits");
    });
    let listed: Vec<&str> = FOLDERS.iter().map(|f| f.0).collect();
    let found: BTreeSet<&str> = edges.keys().map(String::as_str).collect();
    assert_eq!(found, listed.iter().copied().collect(), "a folder has a row");
    let mut faults = Vec::new();
    for (at, (folder, may)) in FOLDERS.iter().enumerate() {
        for to in may.iter().filter(|to| !listed[..at].contains(to)) {
            faults.push(format!("{folder} imports {to}, which does not stand above it"));
        }
        let imported: BTreeSet<&str> = edges[*folder].iter().map(String::as_str).collect();
        let may: BTreeSet<&str> = may.iter().copied().collect();
        for to in imported.difference(&may) {
            faults.push(format!("{folder} imports {to}"));
        }
        for to in may.difference(&imported) {
            faults.push(format!("{folder} imports {to} no more: shorten its row"));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
