//! Programs in C# with the expected verdict beside every loop (`fixtures/csharp`).
//!
//! A marker stands at the end of the line on which a loop begins: `//~ verdict; kinds of conditions`. The conditions are those that
//! are not proved, each kind once, in any order; `reassociate` aside. Files that hold what is not understood have it on purpose.

mod support;

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::Value;
use support::server;

struct Expected {
    line: u64,
    verdict: String,
    conditions: BTreeSet<String>,
}

fn markers(text: &str) -> Vec<Expected> {
    let read = |(k, line): (usize, &str)| {
        let (_, marker) = line.split_once("//~")?;
        let (verdict, kinds) = marker.split_once(';').unwrap_or((marker, ""));
        Some(Expected {
            line: k as u64 + 1,
            verdict: verdict.trim().to_owned(),
            conditions: kinds.split_whitespace().map(str::to_owned).collect(),
        })
    };
    text.lines().enumerate().filter_map(read).collect()
}

/// The loops of a file as the command line reports them.
fn loops(file: &Path) -> Vec<Value> {
    let run = server().args(["analyze", "--format", "json"]).arg(file).output().expect("the server runs");
    let said: Value = serde_json::from_slice(&run.stdout).expect("JSON");
    said["files"][0]["loops"].as_array().cloned().unwrap_or_default()
}

fn unproved(l: &Value) -> BTreeSet<String> {
    let all = l["conditions"].as_array().cloned().unwrap_or_default();
    let open = all.iter().filter(|c| c["met_by"] != "proof" && c["kind"] != "reassociate");
    open.filter_map(|c| c["kind"].as_str().map(str::to_owned)).collect()
}

#[test]
fn every_loop_has_its_verdict() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/csharp");
    let mut wrong = Vec::new();
    let mut seen = 0;
    let mut files: Vec<_> =
        std::fs::read_dir(&folder).expect("fixtures").flatten().map(|e| e.path()).collect();
    files.sort();
    for file in &files {
        let text = std::fs::read_to_string(file).expect("a text");
        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let (found, expected) = (loops(file), markers(&text));
        for l in &found {
            let Some(e) = expected.iter().find(|e| Some(e.line) == l["line"].as_u64()) else {
                wrong.push(format!("{name}:{}: a loop without a marker", l["line"]));
                continue;
            };
            seen += 1;
            let verdict = l["verdict"].as_str().unwrap_or("");
            if verdict != e.verdict || (verdict != "unknown" && unproved(l) != e.conditions) {
                let obstacles: Vec<&str> = l["obstacles"]
                    .as_array()
                    .into_iter()
                    .flatten()
                    .filter_map(|o| o["text"].as_str())
                    .collect();
                wrong.push(format!("{name}:{}: {verdict}; {:?} {obstacles:?}", e.line, unproved(l)));
            }
        }
        let missing = expected.iter().filter(|e| found.iter().all(|l| l["line"].as_u64() != Some(e.line)));
        wrong.extend(missing.map(|e| format!("{name}:{}: no loop was found", e.line)));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(files.len() >= 24 && seen >= 120, "{} files, {seen} loops", files.len());
}

/// What a reader is told of a loop that is parallel, in C#'s words.
#[test]
fn what_is_said_is_said_in_words_of_the_language() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("a.cs");
    let text = "class A {\n    static void F(int[] a, int[] b) {\n        for (int i = 0; i < a.Length; i++)\n            a[i] = 100 / b[i];\n    }\n}\n";
    std::fs::write(&file, text).expect("written");
    let run = server().arg("analyze").arg(&file).output().expect("the server runs");
    let said = String::from_utf8_lossy(&run.stdout);
    for words in ["`b` is not null", "`b.Length`", "no division by `b[i]` throws", "Can run on the GPU"] {
        assert!(said.contains(words), "{words}\n{said}");
    }
}
