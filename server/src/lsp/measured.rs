//! The last measurement of each loop, shown where the loop stands until it is another; and the file that keeps all of them.
//!
//! The file is the user's: in the state folder, one for each workspace, never in the workspace. A measurement is one line, appended
//! whole by one write, so that a crash loses at most that line and two editors lose none. What cannot be read is left out with a word
//! in the log; what is shown at a loop is made of numbers and of names whose characters are looked at, never of sentences of the file.
//!
//! Deliberately absent: who measures.

use std::collections::HashMap;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use super::document::Analyzed;
use super::edits::local_path;
use super::host::Context;
use crate::limits::lsp_measured::{MOST_BYTES, NAME};
use crate::profile::time;

/// One measurement, as the file has it.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Measurement {
    version: u32,
    /// Seconds since 1970.
    pub at: u64,
    /// Below the workspace's folder; else absolute.
    file: String,
    /// See [`ide::measured_of`].
    of: String,
    pub run: wire::ProfileRun,
}

/// All measurements, read when somebody asks and the file is another than before.
#[derive(Clone, Default)]
pub struct Measured {
    known: Arc<Mutex<HashMap<PathBuf, Known>>>,
}

#[derive(Clone, Default)]
struct Known {
    /// Length and time of the file.
    seen: Option<(u64, SystemTime)>,
    all: Arc<Vec<Measurement>>,
}

/// A document in its workspace.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Home {
    history: PathBuf,
    file: String,
}

impl Home {
    /// Of a document, in the innermost of these folders or its own. `None`: the user has no place for states.
    pub fn of(document: &Path, folders: &[PathBuf]) -> Option<Home> {
        let around = folders.iter().filter(|f| document.starts_with(f)).max_by_key(|f| f.as_os_str().len());
        let folder = around.map_or_else(|| document.parent().unwrap_or(document), PathBuf::as_path);
        let folder = std::fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned());
        let name = text::ContentHash::of(&folder.to_string_lossy());
        let set = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|p| p.is_absolute());
        let state = set("XDG_STATE_HOME").or_else(|| set("HOME").map(|h| h.join(".local/state")))?;
        let history = state.join("warpwright/measurements").join(format!("{:032x}.jsonl", name.0));
        let document = std::fs::canonicalize(document).unwrap_or_else(|_| document.to_owned());
        let file = document.strip_prefix(&folder).unwrap_or(&document).to_string_lossy().into_owned();
        Some(Home { history, file })
    }
}

impl Measured {
    /// Those of a document, oldest first.
    fn all(&self, home: &Home) -> Arc<Vec<Measurement>> {
        let seen = std::fs::metadata(&home.history).ok().and_then(|m| Some((m.len(), m.modified().ok()?)));
        let mut known = self.known.lock().unwrap_or_else(|e| e.into_inner());
        let known = known.entry(home.history.clone()).or_default();
        if known.seen != seen {
            let (all, left_out) = read(&home.history);
            if left_out > 0 {
                let path = home.history.display();
                tracing::warn!("{left_out} lines of {path} are no measurements and were left out");
            }
            *known = Known { seen, all: Arc::new(all) };
        }
        known.all.clone()
    }

    /// The newest of a loop as it is.
    pub fn last(&self, home: &Home, of: &str) -> Option<wire::ProfileRun> {
        let all = self.all(home);
        all.iter().rev().find(|m| m.of == of && m.file == home.file).map(|m| m.run.clone())
    }

    /// All of a document's loops, newest first.
    pub fn history(&self, home: &Home) -> Vec<Measurement> {
        self.all(home).iter().rev().filter(|m| m.file == home.file).cloned().collect()
    }

    /// Keeps one.
    pub fn add(&self, home: &Home, of: String, run: wire::ProfileRun) -> std::io::Result<()> {
        let at = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs());
        let line = Measurement { version: wire::VERSION, at, file: home.file.clone(), of, run };
        append(&home.history, &serde_json::to_string(&line)?)
    }
}

/// The newest measurement of each loop of a document as it is.
pub fn of_loops<'f>(
    context: &Context,
    analyzed: &'f Analyzed,
    measured: &Measured,
) -> Vec<(&'f ide::LoopFinding, wire::ProfileRun)> {
    let home = local_path(&context.view.uri).and_then(|p| Home::of(&p, &context.caps.roots));
    let Some(home) = home.filter(|h| !measured.history(h).is_empty()) else { return Vec::new() };
    let ask = context.ask(analyzed);
    let loops = analyzed.findings.loops.iter();
    let last = |l: &ide::LoopFinding| measured.last(&home, &ide::measured_of(&ask, &analyzed.findings, l)?);
    loops.filter_map(|l| Some((l, last(l)?))).collect()
}

/// A line at the end, whatever stands before it.
fn append(path: &Path, line: &str) -> std::io::Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let mut options = std::fs::OpenOptions::new();
    options.append(true).read(true).create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path)?;
    let mut last = [b'\n'];
    if file.seek(SeekFrom::End(-1)).is_ok() {
        file.read_exact(&mut last)?;
    }
    // a line that a crash has cut off is a line of its own
    let before = if last == [b'\n'] { "" } else { "\n" };
    file.write_all(format!("{before}{line}\n").as_bytes())
}

/// What is in a file, and how many lines of it are none.
fn read(path: &Path) -> (Vec<Measurement>, usize) {
    let Ok(mut file) = std::fs::File::open(path) else { return Default::default() };
    let length = file.metadata().map_or(0, |m| m.len());
    // the newest of a long one
    let from = length.saturating_sub(MOST_BYTES);
    let mut bytes = Vec::new();
    if file.seek(SeekFrom::Start(from)).is_err() || file.take(MOST_BYTES).read_to_end(&mut bytes).is_err() {
        return Default::default();
    }
    let text = String::from_utf8_lossy(&bytes);
    let lines = text.lines().skip(usize::from(from > 0)).filter(|l| !l.is_empty());
    let (mut all, mut left_out) = (Vec::new(), 0);
    for line in lines {
        match serde_json::from_str::<Measurement>(line) {
            Ok(m) if m.version == wire::VERSION && m.is_possible() => all.push(m),
            _ => left_out += 1,
        }
    }
    (all, left_out)
}

impl Measurement {
    /// Whether it is one that we could have written.
    fn is_possible(&self) -> bool {
        let run = &self.run;
        let is_name = |n: &str| n.len() <= NAME && cleaned(n) == n;
        is_name(&run.target)
            && run.device.as_deref().is_none_or(is_name)
            && matches!(run.rung.as_str(), "events" | "simulator")
            && matches!(run.checked.as_str(), "same" | "different" | "not tried")
            && (run.kernel_ns.is_none() || run.rung == "events" && run.device.is_some())
            && run.share_of_ceiling.is_none_or(|s| s.is_finite() && s >= 0.0)
    }
}

/// A name without what editors might take for anything else.
fn cleaned(name: &str) -> String {
    name.chars().filter(|c| c.is_ascii_alphanumeric() || " ._-()@:+/".contains(*c)).take(NAME).collect()
}

/// A measurement in a line, each number with how it was got.
pub fn words(run: &wire::ProfileRun) -> String {
    let mut out = Vec::new();
    let device = cleaned(run.device.as_deref().unwrap_or("no GPU"));
    if run.checked == "different" {
        out.push("OTHER RESULTS than the original".to_owned());
    }
    match run.kernel_ns {
        Some(k) => {
            let mut words = format!("{} on {device} by {}", time(k.median), run.rung);
            if let Some(bytes) = run.bytes {
                words += &format!(", at least {} GB/s", (bytes as f64 / k.median as f64).round());
            }
            if let Some(share) = run.share_of_ceiling {
                words += &format!(" = {:.0} % of a copy there", 100.0 * share);
            }
            out.push(words);
        }
        None => out.push(format!("{} on {device} (by {}: no times)", run.checked, run.rung)),
    }
    if let Some(copies) = run.copies_ns {
        out.push(format!("copies {}", time(copies.median)));
    }
    if let Some(one) = run.cpu_ns.one {
        out.push(format!("CPU, one core, {}", time(one.median)));
        if let (Some(k), Some(call)) = (run.kernel_ns, run.call_ns) {
            let times = |gpu: wire::Nanoseconds| one.median as f64 / gpu.median.max(1) as f64;
            out.push(format!("{:.1}× resident, {:.1}× with copies", times(k), times(call)));
        }
    }
    if run.checked == "not tried" && run.kernel_ns.is_some() {
        out.push("results not compared".to_owned());
    }
    out.join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run() -> wire::ProfileRun {
        let ns = |median| Some(wire::Nanoseconds { median, spread: 1, runs: 7 });
        wire::ProfileRun {
            file: "a.c".into(),
            line: 2,
            function: "saxpy".into(),
            kernel: vec!["k".into()],
            target: "local".into(),
            device: Some("NVIDIA H200".into()),
            rung: "events".into(),
            sizes: Default::default(),
            checked: "same".into(),
            kernel_ns: ns(420_000),
            copies_ns: ns(6_100_000),
            call_ns: ns(6_600_000),
            cpu_ns: wire::CpuNanoseconds { one: ns(11_800_000), all: None },
            launches: 1,
            copied_bytes: [2 << 30, 1 << 30],
            bytes: Some(1_638_000_000),
            flops: None,
            share_of_ceiling: Some(0.87),
            variant: None,
            sectors: None,
            predicted_ns: None,
            hash: String::new(),
            said: "<b>".into(),
        }
    }

    #[test]
    fn in_a_line() {
        assert_eq!(
            words(&run()),
            "420.00 µs on NVIDIA H200 by events, at least 3900 GB/s = 87 % of a copy there; copies 6.10 ms; \
             CPU, one core, 11.80 ms; 28.1× resident, 1.8× with copies"
        );
        let simulated = wire::ProfileRun {
            rung: "simulator".into(),
            kernel_ns: None,
            copies_ns: None,
            call_ns: None,
            share_of_ceiling: None,
            device: Some("Warpwright stand-in (simulated)".into()),
            ..run()
        };
        assert_eq!(
            words(&simulated),
            "same on Warpwright stand-in (simulated) (by simulator: no times); CPU, one core, 11.80 ms"
        );
        let different = wire::ProfileRun { checked: "different".into(), ..simulated };
        assert!(words(&different).starts_with("OTHER RESULTS than the original; different on"));
    }

    #[test]
    fn lines_that_are_none_are_left_out() {
        let folder = tempfile::tempdir().expect("a folder");
        let home = Home { history: folder.path().join("a/b.jsonl"), file: "a.c".into() };
        let measured = Measured::default();
        assert_eq!(measured.last(&home, "x"), None);
        let mut newer = run();
        newer.line = 3;
        measured.add(&home, "x".into(), run()).expect("written");
        // a crash in the middle of a line, forged ones, bytes that are no text
        let good = std::fs::read_to_string(&home.history).expect("there");
        let forged = [
            good.replace("NVIDIA H200", "[x](command:y)"),
            good.replace("\"events\"", "\"guessed\""),
            good.replace("\"version\":1", "\"version\":2"),
            good.replace("\"at\"", "\"when\""),
        ];
        let mut bytes = good.clone().into_bytes();
        forged.iter().for_each(|f| bytes.extend(f.as_bytes()));
        bytes.extend(b"\xff\xfe\n{\"version\":1,\"at\":");
        std::fs::write(&home.history, bytes).expect("written");
        measured.add(&home, "x".into(), newer.clone()).expect("written");
        assert_eq!(measured.last(&home, "x"), Some(newer));
        assert_eq!((measured.history(&home).len(), read(&home.history).1), (2, 6));
        let other = Home { file: "b.c".into(), ..home };
        assert_eq!((measured.last(&other, "x"), measured.history(&other).len()), (None, 0));
    }

    #[test]
    fn two_at_once_lose_nothing() {
        let folder = tempfile::tempdir().expect("a folder");
        let home = Home { history: folder.path().join("h.jsonl"), file: "a.c".into() };
        std::thread::scope(|s| {
            for _ in 0..4 {
                s.spawn(|| {
                    let measured = Measured::default();
                    for _ in 0..50 {
                        measured.add(&home, "x".into(), run()).expect("written");
                    }
                });
            }
        });
        let (all, left_out) = read(&home.history);
        assert_eq!((all.len(), left_out), (200, 0));
    }
}
