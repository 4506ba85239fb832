//! `cargo xtask metrics promises FOLDER [COUNT]`: whether what a person is told of somebody else's programs is kept.
//!
//! Files with loops or kernels are dealt over the folders below FOLDER, evenly spaced. Each is opened as an editor opens it, at
//! once and again after the thorough analysis: every claim that a loop can be offloaded (finding, lens, hover, light bulb, the
//! report of `analyze`) is held to an offload of that loop, every action that is listed is resolved or carried out, and the
//! findings are compared with those of the command line. Deliberately absent: what kernels compute, which `verify` and
//! `metrics bounds` look at.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use serde_json::{json, Value};

use crate::client::Client;
use crate::program::{self, Profile};
use crate::{sh, tools};

/// Loops of one file whose actions are tried, evenly spaced.
const MOST_LOOPS: usize = 40;
/// Loops of one file at which refactorings are tried, which run programs.
const MOST_REFACTORED: usize = 4;
/// How long a file's findings may take to become those of the command line.
const PATIENCE: Duration = Duration::from_secs(40);
/// Commands that run programs, which others measure.
const NOT_RUN: [&str; 1] = ["warpwright.verify"];

/// What came of one file.
#[derive(Default)]
struct Seen {
    loops: usize,
    /// Loops that some place says to be offloadable, and claims in all.
    claimed: usize,
    claims: usize,
    actions: usize,
    /// A line each.
    broken: Vec<String>,
    dead: Vec<String>,
    differing: Vec<String>,
    long: BTreeSet<String>,
    first: BTreeSet<String>,
}

pub fn run(folder: &Path, count: usize) -> Result<()> {
    tools::for_building()?;
    let warpwright = sh::step("debug build", || program::build(Profile::Debug))?;
    let files = chosen(folder, count)?;
    let mut all = Seen::default();
    println!("| file | loops | claims | not kept | actions | that end in nothing | findings that differ |");
    println!("|---|---|---|---|---|---|---|");
    for file in &files {
        let name = file.strip_prefix(folder).unwrap_or(file).display().to_string();
        let mut seen = Seen::default();
        if let Err(e) = look(&warpwright, folder, file, &mut seen) {
            seen.dead.push(format!("the session ended: {e:#}"));
        }
        println!(
            "| {name} | {} | {} | {} | {} | {} | {} |",
            seen.loops,
            seen.claims,
            seen.broken.len(),
            seen.actions,
            seen.dead.len(),
            seen.differing.len()
        );
        let of = |what: &str, said: &[String]| {
            said.iter().map(|s| format!("{what} {name}:{s}")).collect::<Vec<_>>()
        };
        let lines = [of("CLAIM", &seen.broken), of("ACTION", &seen.dead), of("DIFFERS", &seen.differing)];
        lines.iter().flatten().for_each(|l| println!("{l}"));
        all.loops += seen.loops;
        all.claimed += seen.claimed;
        all.claims += seen.claims;
        all.actions += seen.actions;
        all.broken.extend(seen.broken);
        all.dead.extend(seen.dead);
        all.differing.extend(seen.differing);
        all.long.extend(seen.long);
        all.first.extend(seen.first);
    }
    println!(
        "\n{} files, {} loops, {} said to be offloadable in {} claims, {} not kept; {} actions, {} that end in nothing; {} findings \
         that differ from the command line's; {} titles above 60 characters.",
        files.len(),
        all.loops,
        all.claimed,
        all.claims,
        all.broken.len(),
        all.actions,
        all.dead.len(),
        all.differing.len(),
        all.long.len()
    );
    all.long.iter().take(20).for_each(|t| println!("LONG {t}"));
    all.first.iter().take(20).for_each(|t| println!("ORDER {t}"));
    Ok(())
}

/// What VS Code can do, as far as it matters here.
pub fn capabilities() -> Value {
    json!({
        "workspace": {
            "applyEdit": true,
            "workspaceEdit": {"documentChanges": true, "resourceOperations": ["create", "rename", "delete"]},
        },
        "textDocument": {
            "publishDiagnostics": {"relatedInformation": true, "versionSupport": true},
            "hover": {"contentFormat": ["markdown", "plaintext"]},
            "codeAction": {
                "codeActionLiteralSupport": {"codeActionKind": {"valueSet": ["", "quickfix", "refactor"]}},
                "dataSupport": true, "disabledSupport": true, "isPreferredSupport": true,
                "resolveSupport": {"properties": ["edit"]},
            },
        },
    })
}

/// One file in an editor.
struct Open {
    client: Client,
    uri: String,
    /// Of loops of which somebody asked for a kernel: whether one is made, by line from 0.
    made: BTreeMap<u64, std::result::Result<(), String>>,
}

fn look(warpwright: &PathBuf, folder: &Path, file: &Path, seen: &mut Seen) -> Result<()> {
    let file = file.canonicalize()?;
    let text = String::from_utf8_lossy(&fs::read(&file)?).into_owned();
    let report = reported(warpwright, &file)?;
    let loops = report["loops"].as_array().cloned().unwrap_or_default();
    seen.loops = loops.len();
    let below = folder.canonicalize()?;
    let root = programs_below(&below)?.into_iter().find(|p| file.starts_with(p)).unwrap_or(below);
    let root = format!("file://{}", root.display());
    let mut client = Client::start_as(warpwright, &capabilities(), Some(&root))?;
    let uri = client.open(&file, &text)?;
    let first = client.diagnostics_of(&uri, 1)?;
    let mut open = Open { client, uri, made: BTreeMap::new() };
    let lines = spaced(&loops);
    // what is told before anything was planned counts as well
    said_by_findings(&mut open, "finding at once", &first, &lines, seen)?;
    said_by_lenses(&mut open, "lens at once", &lines, seen)?;
    actions_of(&mut open, &lines, &loops, seen, false)?;
    // the thorough analysis
    open.client.notify("textDocument/didSave", &json!({"textDocument": {"uri": open.uri}}))?;
    let findings = settled(&mut open, first, &report, seen)?;
    said_by_findings(&mut open, "finding", &findings, &lines, seen)?;
    said_by_lenses(&mut open, "lens", &lines, seen)?;
    said_by_report(&mut open, &loops, &lines, seen)?;
    said_by_hovers(&mut open, &loops, &lines, seen)?;
    actions_of(&mut open, &lines, &loops, seen, true)?;
    seen.claimed = open.made.values().filter(|m| m.is_ok()).count();
    open.client.stop()
}

/// Each folder below this one is a program, unless it is one itself.
pub fn programs_below(folder: &Path) -> Result<Vec<PathBuf>> {
    if ["Makefile", "CMakeLists.txt", "README.md"].iter().any(|f| folder.join(f).exists()) {
        return Ok(vec![folder.to_owned()]);
    }
    let entries = fs::read_dir(folder).with_context(|| format!("{} cannot be read", folder.display()))?;
    let mut out: Vec<PathBuf> = entries.flatten().map(|e| e.path()).filter(|p| p.is_dir()).collect();
    out.sort();
    Ok(out)
}

/// Lines (from 0) of the loops that are tried, with the columns they begin at.
fn spaced(loops: &[Value]) -> BTreeMap<u64, u64> {
    let step = loops.len().div_ceil(MOST_LOOPS).max(1);
    let place = |l: &Value| Some((l["line"].as_u64()? - 1, l["column"].as_u64()? - 1));
    loops.iter().step_by(step).filter_map(place).collect()
}

/// What `analyze` reports of a file.
pub fn reported(warpwright: &PathBuf, file: &Path) -> Result<Value> {
    let mut command = program::command(warpwright);
    command.args(["analyze", "--format", "json", "--fail-on", "never"]).arg(file);
    let out = sh::output(&mut command)?;
    let all: Value = serde_json::from_slice(&out.stdout).context("the report of `analyze`")?;
    Ok(all["files"][0].clone())
}

/// The findings when they are as the command line says them, or nothing new came for a while.
fn settled(open: &mut Open, first: Value, report: &Value, seen: &mut Seen) -> Result<Value> {
    let wanted: BTreeSet<String> =
        report["diagnostics"].as_array().into_iter().flatten().map(by_report).collect();
    let shown = |v: &Value| -> BTreeSet<String> {
        v["params"]["diagnostics"].as_array().into_iter().flatten().map(by_editor).collect()
    };
    let (mut now, end) = (open.client.latest.clone().unwrap_or(first), Instant::now() + PATIENCE);
    while shown(&now) != wanted {
        let left = end.saturating_duration_since(Instant::now());
        match open.client.next_diagnostics(&open.uri, left)? {
            Some(next) => now = next,
            None => break,
        }
    }
    let have = shown(&now);
    let only = |a: &BTreeSet<String>, b: &BTreeSet<String>, who: &str| -> Vec<String> {
        a.difference(b).map(|d| format!("{d} ({who} only)")).collect()
    };
    seen.differing.extend(only(&have, &wanted, "editor"));
    seen.differing.extend(only(&wanted, &have, "command line"));
    Ok(now)
}

fn by_report(d: &Value) -> String {
    let text = |v: &Value| v.as_str().unwrap_or_default().to_owned();
    format!("{}: {}: {}", d["line"], text(&d["code"]), text(&d["message"]))
}

fn by_editor(d: &Value) -> String {
    let line = d["range"]["start"]["line"].as_u64().unwrap_or(0) + 1;
    let text = |v: &Value| v.as_str().unwrap_or_default().to_owned();
    format!("{line}: {}: {}", text(&d["code"]), text(&d["message"]))
}

impl Open {
    /// Whether a kernel is made of the loop on a line.
    fn made(&mut self, line: u64) -> Result<std::result::Result<(), String>> {
        if let Some(known) = self.made.get(&line) {
            return Ok(known.clone());
        }
        let arguments = json!([{"uri": self.uri, "line": line}]);
        let answer = self.command("warpwright.offload", arguments)?;
        self.made.insert(line, answer.clone());
        Ok(answer)
    }

    fn command(&mut self, name: &str, arguments: Value) -> Result<std::result::Result<(), String>> {
        let answer = self
            .client
            .answer("workspace/executeCommand", &json!({"command": name, "arguments": arguments}))?;
        Ok(match answer.get("error") {
            Some(e) => Err(e["message"].as_str().unwrap_or_default().to_owned()),
            None if answer["result"].is_null() => Err("the answer is empty".to_owned()),
            None => Ok(()),
        })
    }

    /// Holds a claim on the loop of a line to what comes of it.
    fn hold(&mut self, who: &str, line: u64, claimed: bool, words: &str, seen: &mut Seen) -> Result<()> {
        seen.claims += 1;
        let words = words.replace('\n', " ");
        match (claimed, self.made(line)?) {
            (true, Err(why)) => {
                seen.broken.push(format!("{}: {who} says \"{words}\", but: {why}", line + 1));
            }
            (false, Ok(())) => {
                seen.broken.push(format!("{}: {who} says \"{words}\", but a kernel is made", line + 1))
            }
            _ => {}
        }
        Ok(())
    }
}

/// What findings say of their own loop and of loops in it.
fn said_by_findings(
    open: &mut Open,
    who: &str,
    findings: &Value,
    lines: &BTreeMap<u64, u64>,
    seen: &mut Seen,
) -> Result<()> {
    for d in findings["params"]["diagnostics"].as_array().cloned().unwrap_or_default() {
        let (Some(line), Some(words)) = (d["range"]["start"]["line"].as_u64(), d["message"].as_str()) else {
            continue;
        };
        if !lines.contains_key(&line) {
            continue;
        }
        let own = words.split(" Inside it,").next().unwrap_or_default();
        let offers = own.starts_with("Can run on the GPU") || own.contains("Apply \"Offload to GPU\" to");
        if offers {
            open.hold(who, line, true, words, seen)?;
        } else if own.contains("not yet offloadable") {
            open.hold(who, line, false, words, seen)?;
        }
        for inner in words.split(" Inside it,").skip(1).filter(|w| w.contains("can run on the GPU")) {
            let number = inner.split("on line ").nth(1).map(|n| n.chars().take_while(char::is_ascii_digit));
            if let Some(inside) = number.and_then(|n| n.collect::<String>().parse::<u64>().ok()) {
                open.hold(who, inside - 1, true, words, seen)?;
            }
        }
    }
    Ok(())
}

fn said_by_lenses(open: &mut Open, who: &str, lines: &BTreeMap<u64, u64>, seen: &mut Seen) -> Result<()> {
    let document = json!({"textDocument": {"uri": open.uri}});
    let lenses = open.client.answer("textDocument/codeLens", &document)?;
    for lens in lenses["result"].as_array().cloned().unwrap_or_default() {
        let line = lens["range"]["start"]["line"].as_u64().unwrap_or(0);
        let title = lens["command"]["title"].as_str().unwrap_or_default();
        if title.starts_with("Offload") && lines.contains_key(&line) {
            open.hold(who, line, true, title, seen)?;
        }
    }
    let everywhere =
        json!({"start": {"line": 0, "character": 0}, "end": {"line": 1_000_000, "character": 0}});
    let asked = json!({"textDocument": {"uri": open.uri}, "range": everywhere});
    let hints = open.client.answer("textDocument/inlayHint", &asked)?;
    for hint in hints["result"].as_array().cloned().unwrap_or_default() {
        let line = hint["position"]["line"].as_u64().unwrap_or(0);
        let label = hint["label"].as_str().unwrap_or_default();
        if label.contains("not yet offloadable") && lines.contains_key(&line) {
            open.hold(&who.replace("lens", "inlay hint"), line, false, label, seen)?;
        }
    }
    Ok(())
}

fn said_by_report(
    open: &mut Open,
    loops: &[Value],
    lines: &BTreeMap<u64, u64>,
    seen: &mut Seen,
) -> Result<()> {
    for l in loops {
        let line = l["line"].as_u64().unwrap_or(1) - 1;
        let outermost = lines.get(&line).is_some_and(|c| Some(c + 1) == l["column"].as_u64());
        if !outermost || l["offload"].is_null() {
            continue;
        }
        let possible = l["offload"]["possible"] == true;
        // what nobody tried is no claim
        if !possible && l["offload"]["label"].is_null() {
            continue;
        }
        let words = format!("offload: {}", l["offload"]);
        open.hold("report", line, possible, &words, seen)?;
    }
    Ok(())
}

fn said_by_hovers(
    open: &mut Open,
    loops: &[Value],
    lines: &BTreeMap<u64, u64>,
    seen: &mut Seen,
) -> Result<()> {
    for (&line, &character) in lines {
        let at = json!({"textDocument": {"uri": open.uri}, "position": {"line": line, "character": character + 1}});
        let hover = open.client.answer("textDocument/hover", &at)?;
        let words = hover["result"]["contents"]["value"].as_str().unwrap_or_default().to_owned();
        if words.is_empty() && loops.iter().any(|l| l["line"].as_u64() == Some(line + 1)) {
            seen.dead.push(format!("{}: no hover on a loop", line + 1));
        }
        if words.contains("- on the GPU: ") {
            open.hold("hover", line, true, &words, seen)?;
        } else if words.contains("- not yet offloadable") {
            open.hold("hover", line, false, &words, seen)?;
        }
    }
    Ok(())
}

/// Lists and tries what can be done at loops; `all`: refactorings, too.
fn actions_of(
    open: &mut Open,
    lines: &BTreeMap<u64, u64>,
    loops: &[Value],
    seen: &mut Seen,
    all: bool,
) -> Result<()> {
    let step = if all { lines.len().div_ceil(MOST_REFACTORED).max(1) } else { 1 };
    for (&line, &character) in lines.iter().step_by(step) {
        let last = loops.iter().find(|l| l["line"].as_u64() == Some(line + 1));
        let place = json!({"line": line, "character": character + 1});
        let mut context = json!({"diagnostics": []});
        if all {
            context["only"] = json!(["quickfix", "refactor"]);
        }
        let asked = json!({"textDocument": {"uri": open.uri}, "range": {"start": place, "end": place}, "context": context});
        let listed = open.client.answer("textDocument/codeAction", &asked)?;
        let listed = listed["result"].as_array().cloned().unwrap_or_default();
        if !all {
            order(&listed, line, seen);
        }
        for action in &listed {
            let title = action["title"].as_str().unwrap_or_default().to_owned();
            if title.chars().count() > 60 {
                seen.long.insert(title.clone());
            }
            try_one(open, line, action, &title, seen)?;
        }
        // and from its last line
        if let Some(end) = last.and_then(|l| l["end_line"].as_u64()).filter(|_| !all) {
            within(open, end.saturating_sub(1), &listed, seen)?;
        }
    }
    Ok(())
}

/// Offload first and preferred, suppression last.
fn order(listed: &[Value], line: u64, seen: &mut Seen) {
    let enabled: Vec<&Value> = listed.iter().filter(|a| a["disabled"].is_null()).collect();
    let title = |a: &Value| a["title"].as_str().unwrap_or_default().to_owned();
    let offload = enabled.iter().position(|a| title(a).starts_with("Offload to GPU"));
    if offload.is_some_and(|k| k > 0 || enabled[k]["isPreferred"] != true) {
        seen.first.insert(format!(
            "{}: {}",
            line + 1,
            enabled.iter().map(|a| title(a)).collect::<Vec<_>>().join(" | ")
        ));
    }
    let ignore = enabled.iter().position(|a| title(a).starts_with("Ignore"));
    if ignore.is_some_and(|k| enabled[k..].iter().any(|a| !title(a).starts_with("Ignore"))) {
        seen.first.insert(format!(
            "{}: {}",
            line + 1,
            enabled.iter().map(|a| title(a)).collect::<Vec<_>>().join(" | ")
        ));
    }
}

/// What is offered on the header is offered on the last line, unless a loop inside ends there.
fn within(open: &mut Open, end: u64, listed: &[Value], seen: &mut Seen) -> Result<()> {
    let place = json!({"line": end, "character": 0});
    let asked = json!({"textDocument": {"uri": open.uri}, "range": {"start": place, "end": place}, "context": {"diagnostics": []}});
    let here = open.client.answer("textDocument/codeAction", &asked)?;
    let offers = |all: &[Value]| {
        all.iter().any(|a| {
            a["title"].as_str().is_some_and(|t| t.starts_with("Offload to GPU")) && a["disabled"].is_null()
        })
    };
    if offers(listed) && !offers(here["result"].as_array().map_or(&[], Vec::as_slice)) {
        seen.first.insert(format!("{}: no Offload on the last line of its loop", end + 1));
    }
    Ok(())
}

fn try_one(open: &mut Open, line: u64, action: &Value, title: &str, seen: &mut Seen) -> Result<()> {
    let offloads = title.starts_with("Offload to GPU:");
    if let Some(reason) = action["disabled"]["reason"].as_str() {
        if offloads {
            open.hold("disabled action", line, false, reason, seen)?;
        }
        return Ok(());
    }
    seen.actions += 1;
    let mut came = Ok(());
    if action["data"].is_object() {
        let answer = open.client.answer("codeAction/resolve", action)?;
        came = match (answer.get("error"), edits(&answer["result"]["edit"])) {
            (Some(e), _) => Err(e["message"].as_str().unwrap_or_default().to_owned()),
            (None, 0) => Err("the edit is empty".to_owned()),
            _ => Ok(()),
        };
    } else if edits(&action["edit"]) == 0 {
        let command = if action["command"].is_object() { &action["command"] } else { action };
        let name = command["command"].as_str().unwrap_or_default();
        if !NOT_RUN.contains(&name) {
            came = open.command(name, command["arguments"].clone())?;
        }
    }
    if let Err(why) = came {
        seen.dead.push(format!("{}: \"{title}\": {why}", line + 1));
    }
    Ok(())
}

/// How many changes an edit makes.
fn edits(edit: &Value) -> usize {
    let documents = edit["documentChanges"].as_array().into_iter().flatten();
    let one = |d: &Value| if d["kind"].is_string() { 1 } else { d["edits"].as_array().map_or(0, Vec::len) };
    let changes = edit["changes"].as_object().into_iter().flatten();
    documents.map(one).sum::<usize>() + changes.map(|(_, e)| e.as_array().map_or(0, Vec::len)).sum::<usize>()
}

/// Files below the folder that hold loops or kernels by the look of them, dealt over its folders.
pub fn chosen(folder: &Path, count: usize) -> Result<Vec<PathBuf>> {
    let mut by: BTreeMap<PathBuf, Vec<PathBuf>> = BTreeMap::new();
    let mut all = Vec::new();
    collect(folder, &mut all)?;
    all.sort();
    for file in all {
        let text = String::from_utf8_lossy(&fs::read(&file).unwrap_or_default()).into_owned();
        let kernels = text.contains("__global__");
        let loops = text
            .lines()
            .filter(|l| l.trim_start().starts_with("for (") || l.trim_start().starts_with("for("))
            .count();
        if kernels || loops > 1 {
            let first = file.strip_prefix(folder).ok().and_then(|p| p.components().next());
            let kind = if kernels { "cu" } else { "c" };
            let group = first.map(|c| PathBuf::from(c.as_os_str())).unwrap_or_default().join(kind);
            by.entry(group).or_default().push(file);
        }
    }
    let share = count.div_ceil(by.len().max(1));
    let mut out = Vec::new();
    for files in by.values() {
        let step = files.len().div_ceil(share).max(1);
        out.extend(files.iter().step_by(step).cloned());
    }
    Ok(out)
}

fn collect(folder: &Path, into: &mut Vec<PathBuf>) -> Result<()> {
    for entry in fs::read_dir(folder).with_context(|| format!("{} cannot be read", folder.display()))? {
        let path = entry?.path();
        let wanted = path.extension().is_some_and(|e| e == "c" || e == "cu");
        match path.symlink_metadata()?.file_type() {
            t if t.is_dir() => collect(&path, into)?,
            t if t.is_file() && wanted => into.push(path),
            _ => {}
        }
    }
    Ok(())
}

/// `FOLDER [COUNT]`
pub fn from_words(words: &[&str]) -> Result<()> {
    match words {
        [folder] => run(Path::new(folder), 40),
        [folder, count] => run(Path::new(folder), count.parse().context("the number of files")?),
        _ => anyhow::bail!("a folder of programs and a number of files are all that is taken"),
    }
}
