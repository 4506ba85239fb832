//! `cargo xtask metrics draw FOLDER [COUNT [SEED]]`: findings of somebody else's programs, drawn by chance, for people to read.
//!
//! Each folder below FOLDER is a program; all its findings are in the urn, each once. Those that are drawn are looked at as an
//! editor shows them, after the project's files are read and the file is saved, and written in equal parts to
//! `test-output/draw`: what is said, the hover, and the lines around. Deliberately absent: the judgement, which is made against
//! the code.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::{json, Value};

use crate::client::Client;
use crate::program::{self, Profile};
use crate::promises::{capabilities, programs_below};
use crate::{sh, tools};

/// Parts that are written, for as many readers.
const PARTS: usize = 8;
/// How long a project's files may take to be read, and nothing new comes of an open one.
const FOLDER_IS_READ: Duration = Duration::from_secs(20);
const QUIET: Duration = Duration::from_secs(4);
/// Lines shown before a finding and behind it.
const BEFORE: usize = 12;
const BEHIND: usize = 40;

/// A finding in the urn.
struct Ticket {
    program: PathBuf,
    file: PathBuf,
    finding: Value,
}

/// `FOLDER [COUNT [SEED]]`
pub fn from_words(words: &[&str]) -> Result<()> {
    let number = |w: &str| w.parse::<u64>().with_context(|| format!("`{w}` is no number"));
    let (folder, count, seed) = match words {
        [folder] => (folder, 200, 1),
        [folder, count] => (folder, number(count)?, 1),
        [folder, count, seed] => (folder, number(count)?, number(seed)?),
        _ => anyhow::bail!("a folder of programs, a number of findings and a seed are all that is taken"),
    };
    let folder = Path::new(folder).canonicalize().with_context(|| format!("{folder} cannot be read"))?;
    tools::for_building()?;
    let warpwright = sh::step("debug build", || program::build(Profile::Debug))?;
    let mut urn = Vec::new();
    for program in programs_below(&folder)? {
        let before = urn.len();
        fill(&warpwright, &program, &mut urn)?;
        println!("{}: {} findings", program.display(), urn.len() - before);
    }
    count_codes(&urn);
    let mut drawn = draw(urn, count, seed);
    drawn.sort_by(|a, b| (&a.program, &a.file).cmp(&(&b.program, &b.file)));
    let shown = shown(&warpwright, &drawn)?;
    let out = PathBuf::from("test-output/draw");
    fs::create_dir_all(&out)?;
    for part in 0..PARTS {
        let own = shown.iter().enumerate().filter(|(k, _)| k % PARTS == part);
        let text: String = own.map(|(k, s)| format!("## {}\n\n{s}\n", k + 1)).collect();
        fs::write(out.join(format!("{seed}-{part}.md")), text)?;
    }
    println!("{} of them lie in {}", shown.len(), out.display());
    Ok(())
}

fn fill(warpwright: &PathBuf, program: &Path, urn: &mut Vec<Ticket>) -> Result<()> {
    let mut command = program::command(warpwright);
    command.args(["analyze", "--format", "json", "--fail-on", "never"]).arg(program);
    let out = sh::output(&mut command)?;
    let all: Value = serde_json::from_slice(&out.stdout).context("the report of `analyze`")?;
    for file in all["files"].as_array().into_iter().flatten() {
        let path = PathBuf::from(file["path"].as_str().unwrap_or_default());
        let findings = file["diagnostics"].as_array().into_iter().flatten();
        urn.extend(findings.map(|finding| Ticket {
            program: program.to_owned(),
            file: path.clone(),
            finding: finding.clone(),
        }));
    }
    Ok(())
}

fn count_codes(urn: &[Ticket]) {
    let mut by: BTreeMap<&str, usize> = BTreeMap::new();
    for ticket in urn {
        *by.entry(ticket.finding["code"].as_str().unwrap_or_default()).or_default() += 1;
    }
    by.iter().for_each(|(code, n)| println!("    {n:6} {code}"));
}

/// The first so many of a shuffle (Durstenfeld, "Algorithm 235: Random permutation", CACM 7, 1964).
fn draw(mut urn: Vec<Ticket>, count: u64, seed: u64) -> Vec<Ticket> {
    let mut state = seed;
    let count = usize::try_from(count).unwrap_or(usize::MAX).min(urn.len());
    for k in 0..count {
        let left = (urn.len() - k) as u64;
        urn.swap(k, k + (next(&mut state) % left) as usize);
    }
    urn.truncate(count);
    urn
}

/// SplitMix64 (Steele, Lea, Flood, OOPSLA 2014).
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// What an editor shows of each, with the text around it.
fn shown(warpwright: &PathBuf, drawn: &[Ticket]) -> Result<Vec<String>> {
    let mut out = Vec::new();
    for of_program in drawn.chunk_by(|a, b| a.program == b.program) {
        let root = format!("file://{}", of_program[0].program.display());
        let mut client = Client::start_as(warpwright, &capabilities(), Some(&root))?;
        for (nth, of_file) in of_program.chunk_by(|a, b| a.file == b.file).enumerate() {
            let text = String::from_utf8_lossy(&fs::read(&of_file[0].file)?).into_owned();
            let uri = client.open(&of_file[0].file, &text)?;
            client.diagnostics_of(&uri, 1)?;
            let wait = if nth == 0 { FOLDER_IS_READ } else { QUIET };
            while client.next_diagnostics(&uri, wait)?.is_some() {}
            client.notify("textDocument/didSave", &json!({"textDocument": {"uri": uri}}))?;
            while client.next_diagnostics(&uri, QUIET)?.is_some() {}
            for ticket in of_file {
                out.push(one(&mut client, &uri, ticket, &text)?);
            }
            client.notify("textDocument/didClose", &json!({"textDocument": {"uri": uri}}))?;
        }
        client.stop()?;
    }
    Ok(out)
}

fn one(client: &mut Client, uri: &str, ticket: &Ticket, text: &str) -> Result<String> {
    let finding = &ticket.finding;
    let number = |what: &str| finding[what].as_u64().unwrap_or(1) as usize;
    let (line, column) = (number("line"), number("column"));
    let place = json!({"line": line - 1, "character": column});
    let hover =
        client.answer("textDocument/hover", &json!({"textDocument": {"uri": uri}, "position": place}))?;
    let mut out = format!("{}:{line}:{column}\n", ticket.file.display());
    let said = |v: &Value| v.as_str().unwrap_or_default().to_owned();
    let _ = writeln!(
        out,
        "\nFINDING ({}, {}): {}",
        said(&finding["code"]),
        said(&finding["severity"]),
        said(&finding["message"])
    );
    for related in finding["related"].as_array().into_iter().flatten() {
        let _ = writeln!(out, "    related: {related}");
    }
    let _ = writeln!(out, "\nHOVER:\n{}\n\nTEXT:", said(&hover["result"]["contents"]["value"]));
    let lines = text.lines().enumerate().skip(line.saturating_sub(BEFORE + 1)).take(BEFORE + BEHIND);
    for (k, l) in lines {
        let _ = writeln!(out, "{}{:5} {l}", if k + 1 == line { ">" } else { " " }, k + 1);
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each once, as many as there are at most, the same for the same seed.
    #[test]
    fn tickets_are_drawn_once() {
        let urn = || -> Vec<Ticket> {
            let ticket = |k: usize| Ticket {
                program: PathBuf::new(),
                file: PathBuf::from(k.to_string()),
                finding: Value::Null,
            };
            (0..50).map(ticket).collect()
        };
        let files = |drawn: Vec<Ticket>| drawn.into_iter().map(|t| t.file).collect::<Vec<_>>();
        let some = files(draw(urn(), 20, 7));
        assert_eq!(some, files(draw(urn(), 20, 7)));
        assert_ne!(some, files(draw(urn(), 20, 8)));
        let mut each = files(draw(urn(), 90, 7));
        each.sort();
        each.dedup();
        assert_eq!((some.len(), each.len()), (20, 50));
    }
}
