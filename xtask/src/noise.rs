//! `cargo xtask metrics noise FILE…|FOLDER [COUNT]`: how much an editor shows of somebody else's files that nobody asked for.
//!
//! Each file is opened as an editor opens it and saved, so that the thorough analysis has spoken. A mark is what stands in the
//! text or beside it: a finding, a lens, an inlay hint. A hover is asked at the header of every loop and at every finding.
//! Deliberately absent: whether what is said is true (`metrics promises`) or of use, which people judge.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::{json, Value};

use crate::client::Client;
use crate::program::{self, Profile};
use crate::promises::{capabilities, chosen};
use crate::{sh, tools};

/// Nothing new for so long: the file is analyzed.
const QUIET: Duration = Duration::from_secs(4);
/// Files of a folder that are looked at, where nobody says how many.
const FILES: usize = 20;

/// What is shown of one file.
#[derive(Default)]
struct Shown {
    lines: usize,
    /// Findings, by code.
    findings: BTreeMap<String, usize>,
    lenses: usize,
    inlays: usize,
    /// Lines of each hover, blank ones left out.
    hovers: Vec<usize>,
}

impl Shown {
    fn marks(&self) -> usize {
        self.findings.values().sum::<usize>() + self.lenses + self.inlays
    }

    fn row(&self, name: &str) -> String {
        let mut hovers = self.hovers.clone();
        hovers.sort_unstable();
        let median = hovers.get(hovers.len() / 2).copied().unwrap_or(0);
        let most = hovers.last().copied().unwrap_or(0);
        format!(
            "| {name} | {} | {} | {} | {} | {:.2} | {median} | {most} |",
            self.lines,
            self.findings.values().sum::<usize>(),
            self.lenses,
            self.inlays,
            20.0 * self.marks() as f64 / self.lines.max(1) as f64,
        )
    }
}

/// `FILE…` or `FOLDER [COUNT]`
pub fn from_words(words: &[&str]) -> Result<()> {
    let files = match words {
        [] => anyhow::bail!("files, or a folder and a number of files, are what is taken"),
        [folder] if Path::new(folder).is_dir() => chosen(Path::new(folder), FILES)?,
        [folder, count] if Path::new(folder).is_dir() => {
            chosen(Path::new(folder), count.parse().context("the number of files")?)?
        }
        files => files.iter().map(PathBuf::from).collect(),
    };
    tools::for_building()?;
    let warpwright = sh::step("debug build", || program::build(Profile::Debug))?;
    println!(
        "| file | lines | findings | lenses | inlays | marks on 20 lines | lines of a hover, median | most |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    let mut all = Shown::default();
    for file in &files {
        let shown = look(&warpwright, file).with_context(|| file.display().to_string())?;
        println!("{}", shown.row(&name(file)));
        all.lines += shown.lines;
        all.lenses += shown.lenses;
        all.inlays += shown.inlays;
        all.hovers.extend(shown.hovers);
        for (code, count) in shown.findings {
            *all.findings.entry(code).or_default() += count;
        }
    }
    println!("{}", all.row("all"));
    let by_code: Vec<String> = all.findings.iter().map(|(code, n)| format!("{n} {code}")).collect();
    println!("\nFindings: {}.", by_code.join(", "));
    Ok(())
}

/// The file with the folder that it lies in.
fn name(file: &Path) -> String {
    let parts: Vec<String> =
        file.components().map(|c| c.as_os_str().to_string_lossy().into_owned()).collect();
    parts[parts.len().saturating_sub(2)..].join("/")
}

fn look(warpwright: &PathBuf, file: &Path) -> Result<Shown> {
    let file = file.canonicalize()?;
    let text = String::from_utf8_lossy(&fs::read(&file)?).into_owned();
    let folder = file.parent().context("a folder")?;
    let mut client =
        Client::start_as(warpwright, &capabilities(), Some(&format!("file://{}", folder.display())))?;
    let uri = client.open(&file, &text)?;
    let mut now = client.diagnostics_of(&uri, 1)?;
    client.notify("textDocument/didSave", &json!({"textDocument": {"uri": uri}}))?;
    while let Some(next) = client.next_diagnostics(&uri, QUIET)? {
        now = next;
    }
    let mut shown = Shown { lines: text.lines().count(), ..Shown::default() };
    let mut places: Vec<Value> = Vec::new();
    for d in now["params"]["diagnostics"].as_array().into_iter().flatten() {
        let code = d["code"].as_str().unwrap_or_default().to_owned();
        *shown.findings.entry(code).or_default() += 1;
        places.push(d["range"]["start"].clone());
    }
    let document = json!({"uri": uri});
    let lenses = client.request("textDocument/codeLens", &json!({"textDocument": document}))?;
    shown.lenses = lenses.as_array().map_or(0, Vec::len);
    let whole = json!({"start": {"line": 0, "character": 0}, "end": {"line": 1_000_000, "character": 0}});
    let hints =
        client.request("textDocument/inlayHint", &json!({"textDocument": document, "range": whole}))?;
    shown.inlays = hints.as_array().map_or(0, Vec::len);
    places.extend(headers(&text));
    for at in &places {
        let hover =
            client.request("textDocument/hover", &json!({"textDocument": document, "position": at}))?;
        let words = hover["contents"]["value"].as_str().unwrap_or_default();
        let lines = words.lines().filter(|l| !l.trim().is_empty()).count();
        shown.hovers.extend(Some(lines).filter(|n| *n > 0));
    }
    client.stop()?;
    Ok(shown)
}

/// Where the word `for` or `while` begins a line.
fn headers(text: &str) -> Vec<Value> {
    let one = |(line, words): (usize, &str)| {
        let own = words.trim_start();
        let is_header = ["for", "while"]
            .iter()
            .any(|word| own.strip_prefix(word).is_some_and(|rest| rest.trim_start().starts_with('(')));
        is_header.then(|| json!({"line": line, "character": words.len() - own.len()}))
    };
    text.lines().enumerate().filter_map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_where_the_words_stand() {
        let text = "  for (;;) ;\nform(1);\nwhile(x)\n  x();\n";
        let lines: Vec<u64> = headers(text).iter().filter_map(|p| p["line"].as_u64()).collect();
        assert_eq!(lines, [0, 2]);
    }

    #[test]
    fn a_row_counts_marks() {
        let findings = BTreeMap::from([("parallel-loop".to_owned(), 3)]);
        let shown = Shown { lines: 100, findings, lenses: 1, inlays: 1, hovers: vec![9, 2, 4] };
        assert_eq!(shown.row("a.c"), "| a.c | 100 | 3 | 1 | 1 | 1.00 | 4 | 9 |");
    }
}
