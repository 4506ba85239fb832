//! `cargo xtask metrics bounds FOLDER [COUNT]`: what `verify` and `bench` ask of a machine on files that other people wrote.
//!
//! Files with a loop of which a kernel is made are dealt over the folders below FOLDER, evenly spaced in each, so that nobody
//! chooses them; then each is verified and benched with what both start: wall time, memory, and whether anything was
//! compared. Memory is the sum over all processes at a moment, looked at in short intervals, or the largest peak of one.
//! Deliberately absent: what the answers are worth.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use anyhow::{ensure, Context, Result};
use serde_json::Value;

use crate::program::{self, Profile};
use crate::{sh, tools};

/// What no file may take.
const MOST_BYTES: u64 = 1 << 30;
const MOST_TIME: Duration = Duration::from_secs(60);
/// Longer is ended.
const PATIENCE: Duration = Duration::from_secs(180);

/// How one command went.
struct Ran {
    bytes: u64,
    time: Duration,
    said: String,
    /// What is wrong with it, if anything.
    trouble: Option<String>,
}

pub fn run(folder: &Path, count: usize) -> Result<()> {
    tools::for_building()?;
    let warpwright = sh::step("release build", || program::build(Profile::Release))?;
    let mut files = Vec::new();
    collect(folder, &mut files)?;
    files.sort();
    let known = sh::step("files with a loop to offload", || {
        Ok(files.iter().map(|f| (f.clone(), loops_of(&warpwright, f))).collect::<BTreeMap<_, _>>())
    })?;
    let chosen = choose(&known, folder, count);
    ensure!(!chosen.is_empty(), "no C file below {} has a loop that can be offloaded", folder.display());
    let (mut large, mut slow, mut unheld, mut wrong) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let (mut same_loops, mut other_loops, mut bench_unheld) = (0, 0, Vec::new());
    let (mut most_bytes, mut most_time) = (0, Duration::ZERO);
    println!("\n| file | verify s | MB | same | not tried | bench s | MB |\n|---|---|---|---|---|---|---|");
    for file in &chosen {
        let name = file.strip_prefix(folder).unwrap_or(file).display().to_string();
        let (verify, bench) = (measure(&warpwright, "verify", file)?, measure(&warpwright, "bench", file)?);
        for ran in [&verify, &bench] {
            most_bytes = most_bytes.max(ran.bytes);
            most_time = most_time.max(ran.time);
            large.extend((ran.bytes > MOST_BYTES).then(|| name.clone()));
            slow.extend((ran.time > MOST_TIME).then(|| name.clone()));
            wrong.extend(ran.trouble.iter().map(|t| format!("{name}: {t}")));
        }
        let lines: Vec<&str> = verify.said.lines().collect();
        let same = lines.iter().filter(|l| is_same(l)).count();
        unheld.extend((same == 0).then(|| name.clone()));
        same_loops += same;
        other_loops += lines.len() - same;
        bench_unheld.extend((!bench.said.contains("verified on")).then(|| name.clone()));
        println!(
            "| {name} | {:.1} | {} | {same} | {} | {:.1} | {} |",
            verify.time.as_secs_f64(),
            verify.bytes >> 20,
            lines.len() - same,
            bench.time.as_secs_f64(),
            bench.bytes >> 20
        );
    }
    println!(
        "\n{} files; most memory {} MB, most time {:.1} s. Over 1 GB: {}. Over 60 s: {}. Nothing compared, for a reason: {} \
         (bench: {}). Loops: {same_loops} the same, {other_loops} not tried, for a reason. Wrong, panics and crashes: {}.",
        chosen.len(),
        most_bytes >> 20,
        most_time.as_secs_f64(),
        list(&large),
        list(&slow),
        list(&unheld),
        bench_unheld.len(),
        list(&wrong)
    );
    Ok(())
}

fn list(names: &[String]) -> String {
    match names.is_empty() {
        true => "none".to_owned(),
        false => format!("{} ({})", names.len(), names.join(", ")),
    }
}

fn is_same(line: &str) -> bool {
    line.contains("ame results on") || line.contains("results are the same on")
}

fn collect(folder: &Path, into: &mut Vec<PathBuf>) -> Result<()> {
    for entry in fs::read_dir(folder).with_context(|| format!("{} cannot be read", folder.display()))? {
        let entry = entry?;
        let path = entry.path();
        match entry.file_type()? {
            t if t.is_dir() => collect(&path, into)?,
            t if t.is_file() && path.extension().is_some_and(|e| e == "c") => into.push(path),
            _ => {}
        }
    }
    Ok(())
}

/// What is known of a file before anything is measured.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Loops {
    /// None that could run at once.
    None,
    Parallel,
    /// And a kernel is made of one.
    Kernel,
}

/// So many of the files with a loop of which a kernel is made, dealt over the folders and evenly spaced among the files with
/// parallel loops of each; what a folder lacks is taken from the largest.
fn choose(known: &BTreeMap<PathBuf, Loops>, folder: &Path, count: usize) -> Vec<PathBuf> {
    let mut by: BTreeMap<PathBuf, Vec<&PathBuf>> = BTreeMap::new();
    for f in known.iter().filter(|(_, loops)| **loops >= Loops::Parallel).map(|(f, _)| f) {
        let first = f.strip_prefix(folder).ok().and_then(|p| p.components().next());
        by.entry(first.map(|c| PathBuf::from(c.as_os_str())).unwrap_or_default()).or_default().push(f);
    }
    let mut quota: Vec<usize> = vec![0; by.len()];
    let sizes: Vec<usize> = by.values().map(Vec::len).collect();
    let mut left = count;
    while left > 0 && quota.iter().zip(&sizes).any(|(q, n)| q < n) {
        for (q, n) in quota.iter_mut().zip(&sizes) {
            if left > 0 && *q < *n {
                *q += 1;
                left -= 1;
            }
        }
    }
    let mut taken: BTreeSet<&PathBuf> = BTreeSet::new();
    let has_kernel = |f: &PathBuf| known.get(f) == Some(&Loops::Kernel);
    for (files, &q) in by.values().zip(&quota) {
        for k in 0..q {
            let from = k * files.len() / q;
            let next = (0..files.len()).map(|d| files[(from + d) % files.len()]);
            taken.extend(next.into_iter().find(|f| !taken.contains(f) && has_kernel(f)));
        }
    }
    let mut largest: Vec<&Vec<&PathBuf>> = by.values().collect();
    largest.sort_by_key(|files| std::cmp::Reverse(files.len()));
    for f in largest.into_iter().flatten() {
        if taken.len() < count && has_kernel(f) {
            taken.insert(f);
        }
    }
    taken.into_iter().cloned().collect()
}

/// What the report says of a file's loops.
fn loops_of(warpwright: &PathBuf, file: &Path) -> Loops {
    let mut command = program::command(warpwright);
    command.args(["analyze", "--format", "json", "--fail-on", "never"]).arg(file);
    let Ok(out) = sh::output(&mut command) else { return Loops::None };
    let Ok(report) = serde_json::from_slice::<Value>(&out.stdout) else { return Loops::None };
    let loops = report["files"][0]["loops"].as_array().cloned().unwrap_or_default();
    let of = |l: &Value| {
        let parallel = matches!(l["verdict"].as_str(), Some("independent" | "reduction"));
        match parallel && !l["thread_map"].is_null() {
            true if l["offload"]["possible"] == true => Loops::Kernel,
            true => Loops::Parallel,
            false => Loops::None,
        }
    };
    loops.iter().map(of).max().unwrap_or(Loops::None)
}

fn measure(warpwright: &PathBuf, what: &str, file: &Path) -> Result<Ran> {
    let mut command = program::command(warpwright);
    command.arg(what).arg(file).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let start = Instant::now();
    let mut child = command.spawn().context("warpwright could not be started")?;
    let out = reader(child.stdout.take());
    let errors = reader(child.stderr.take());
    let (mut bytes, mut trouble) = (0, None);
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        bytes = bytes.max(held(&child));
        if start.elapsed() > PATIENCE {
            child.kill()?;
            trouble = Some(format!("{what} took more than {} s", PATIENCE.as_secs()));
        }
        std::thread::sleep(Duration::from_millis(15));
    };
    let time = start.elapsed();
    let (said, errors) = (out.join().unwrap_or_default(), errors.join().unwrap_or_default());
    if errors.contains("panicked") || status.code().is_none() {
        trouble.get_or_insert(format!("{what}: {status}, {}", errors.lines().next().unwrap_or_default()));
    }
    let wrong = said.lines().find(|l| l.contains("rewritten loop is wrong") || l.contains("do not agree"));
    if let Some(line) = wrong {
        trouble.get_or_insert(format!("{what}: {line}"));
    }
    Ok(Ran { bytes, time, said, trouble })
}

fn reader(pipe: Option<impl std::io::Read + Send + 'static>) -> std::thread::JoinHandle<String> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut pipe) = pipe {
            let _ = pipe.read_to_end(&mut bytes);
        }
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

/// Resident memory of a process and all below it, or the most that one of them ever had.
fn held(child: &Child) -> u64 {
    let mut all = vec![child.id()];
    let (mut sum, mut most, mut at) = (0, 0, 0);
    while let Some(&id) = all.get(at) {
        at += 1;
        let status = fs::read_to_string(format!("/proc/{id}/status")).unwrap_or_default();
        let kilobytes = |key: &str| -> u64 {
            let line = status.lines().find_map(|l| l.strip_prefix(key)).unwrap_or_default();
            line.trim().trim_end_matches(" kB").trim().parse().unwrap_or(0)
        };
        sum += kilobytes("VmRSS:") << 10;
        most = most.max(kilobytes("VmHWM:") << 10);
        let tasks = fs::read_dir(format!("/proc/{id}/task")).into_iter().flatten().flatten();
        for task in tasks {
            let children = fs::read_to_string(task.path().join("children")).unwrap_or_default();
            all.extend(children.split_whitespace().filter_map(|c| c.parse::<u32>().ok()));
        }
    }
    sum.max(most)
}

/// `FOLDER [COUNT]`
pub fn from_words(words: &[&str]) -> Result<()> {
    let [folder, rest @ ..] = words else { anyhow::bail!("name a folder of C files") };
    let count = match rest {
        [] => 50,
        [n] => n.parse().context("the number of files")?,
        _ => anyhow::bail!("a folder and a number of files are all that is taken"),
    };
    run(Path::new(folder), count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_of_children_is_seen() {
        let mut child = std::process::Command::new("sh").args(["-c", "sleep 0.3; :"]).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(100));
        assert!(held(&child) > 0);
        child.wait().unwrap();
    }

    #[test]
    fn files_are_dealt_over_folders() {
        let mut known = BTreeMap::new();
        for (folder, count) in [("a", 2), ("b", 9)] {
            for k in 0..count {
                let loops = [Loops::Kernel, Loops::Parallel, Loops::Kernel][k % 3];
                known.insert(PathBuf::from(format!("x/{folder}/{k}.c")), loops);
            }
        }
        known.insert("x/c/none.c".into(), Loops::None);
        let names = |count| -> Vec<String> {
            let chosen = choose(&known, Path::new("x"), count);
            chosen.iter().map(|p| p.strip_prefix("x").unwrap().display().to_string()).collect()
        };
        // `a` has one that counts: `b` gives the first that is left
        assert_eq!(names(3), ["a/0.c", "b/0.c", "b/2.c"]);
        assert_eq!(names(4), ["a/0.c", "b/0.c", "b/2.c", "b/5.c"]);
        assert_eq!(names(50).len(), 7);
    }

    #[test]
    fn what_was_compared_is_told_from_reasons() {
        assert!(is_same("a.c: f, line 3: Same results on 4 random inputs in the simulator."));
        assert!(is_same(
            "a.c: f, line 3: With OpenMP turned off the results are the same on 2 random inputs."
        ));
        assert!(!is_same("a.c: f, line 3: Nothing was compared, because …"));
        assert_eq!(list(&[]), "none");
    }
}
