//! `cargo xtask metrics clicks FOLDER [COUNT]`: what a person gets who clicks on everything.
//!
//! C files with loops are dealt over the folders below FOLDER, as for `promises`. Each program is opened in a real VS Code; at
//! some of its loops every entry of the light bulb and every lens is clicked once, what changed in the window is noted, and all of
//! it is put back. Pictures of it lie in `test-output/clicks`. Deliberately absent: whether what a click brings is right, which `promises` and the tests look at.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{bail, Context, Result};
use serde_json::Value;

use crate::program::{self, Profile};
use crate::promises::{chosen, reported};
use crate::{sh, tools};

/// Loops of one file at which everything is clicked, evenly spaced.
const MOST_LOOPS: usize = 3;

/// Milliseconds that the window may take for one step; what takes longer is tried again.
const PATIENCE: u32 = 30_000;

/// A program: its folder, and of its files the lines of loops.
type Programs = BTreeMap<PathBuf, Vec<(PathBuf, Vec<u64>)>>;

pub fn run(folder: &Path, count: usize) -> Result<()> {
    let missing = tools::for_testing();
    if let Some(m) = missing.first() {
        bail!("{}: {}", m.tool, m.why);
    }
    let warpwright = sh::step("debug build", || program::build(Profile::Debug))?;
    let folder = folder.canonicalize()?;
    let mut programs = Programs::default();
    // kernels have clicks of their own; of files a third are `.cu`
    let files = chosen(&folder, count * 2)?.into_iter().filter(|f| f.extension().is_some_and(|e| e == "c"));
    for file in files.take(count) {
        let first = file.strip_prefix(&folder)?.components().next().context("a file below the folder")?;
        let program = folder.join(first);
        let program = if program.is_dir() { program } else { folder.clone() };
        let report = reported(&warpwright, &file)?;
        let loops = report["loops"].as_array().cloned().unwrap_or_default();
        let step = loops.len().div_ceil(MOST_LOOPS).max(1);
        let lines: Vec<u64> = loops.iter().step_by(step).filter_map(|l| l["line"].as_u64()).collect();
        let name = file.strip_prefix(&program)?.to_path_buf();
        programs.entry(program).or_default().push((name, lines));
    }
    let out = sh::root().join("test-output/clicks");
    std::fs::create_dir_all(&out)?;
    let node = tools::folder().join("node24");
    let vsix = out.join("warpwright.vsix");
    let package = sh::root().join("vscode-extension/package.mjs");
    let mut packaging = Command::new(node.join("bin/node"));
    sh::quietly(packaging.arg(package).arg("--server").arg(&warpwright).arg("--out").arg(&vsix))?;
    let (mut files, mut clicks) = (0, 0);
    let (mut nothing, mut toasts, mut lost) = (Vec::new(), Vec::new(), Vec::new());
    for (program, wanted) in &programs {
        files += wanted.len();
        let mut script = Command::new(node.join("bin/node"));
        script.arg(sh::root().join("tests/editors/clicks.mjs"));
        script.arg("--code-server").arg(tools::folder().join("code-server")).arg("--node").arg(&node);
        script.arg("--vsix").arg(&vsix).arg("--project").arg(program).arg("--out").arg(&out);
        script.arg("--only").arg(serde_json::to_string(wanted)?);
        script.env("WARPWRIGHT_EDITOR_PATIENCE", PATIENCE.to_string());
        let mut child = script.stdout(Stdio::piped()).spawn()?;
        let said = child.stdout.take().context("what the script says")?;
        for line in BufReader::new(said).lines() {
            let Ok(seen) = serde_json::from_str::<Value>(&line?) else { continue };
            let text = |name: &str| seen[name].as_str().unwrap_or_default().to_owned();
            let name = program.join(text("file")).strip_prefix(&folder)?.display().to_string();
            let changed: Vec<&str> =
                seen["changed"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
            let told = format!(
                "{name}:{} {}: {} ({} s) {}",
                seen["line"],
                text("what"),
                changed.join(", "),
                seen["seconds"],
                text("says")
            );
            println!("{told}");
            if seen["lost"] == true {
                lost.push(told);
                continue;
            }
            clicks += 1;
            if changed.iter().all(|c| *c == "cursor" || *c == "text") {
                nothing.push(told);
            } else if changed.contains(&"toasts") {
                toasts.push(told);
            }
        }
        let status = child.wait()?;
        if !status.success() {
            println!("{}: the session ended with {status}", program.display());
            lost.push(format!("{}: the session ended", program.display()));
        }
    }
    println!(
        "\n{files} files, {clicks} clicks, {} that end in nothing, {} that end in a message; {} that could not be clicked.",
        nothing.len(),
        toasts.len(),
        lost.len()
    );
    nothing.iter().for_each(|t| println!("NOTHING {t}"));
    toasts.iter().for_each(|t| println!("MESSAGE {t}"));
    lost.iter().for_each(|t| println!("LOST {t}"));
    Ok(())
}

/// `FOLDER [COUNT]`
pub fn from_words(words: &[&str]) -> Result<()> {
    match words {
        [folder] => run(Path::new(folder), 20),
        [folder, count] => run(Path::new(folder), count.parse().context("the number of files")?),
        _ => bail!("a folder of programs and a number of files are all that is taken"),
    }
}
