//! `cargo xtask metrics programs`: what is said of twenty files that other people wrote.
//!
//! The files come from Debian packages and are installed like everything else. Each is analyzed in a process of its own,
//! so that a panic, a crash or a hang is one line of the table; then what is called parallel is held to runs of the
//! functions on made-up inputs (`server/crates/testkit/examples/real.rs`).

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use serde_json::Value;

use crate::program::{self, Profile};
use crate::{sh, tools};

/// Longer is a hang.
const PATIENCE: Duration = Duration::from_secs(20);
/// Holding claims to runs may take longer: what the runs do is not ours.
const RUNS_PATIENCE: Duration = Duration::from_secs(120);

/// A file of a Debian package, and the macro that makes its code visible.
struct Real {
    package: &'static str,
    file: &'static str,
    define: Option<&'static str>,
}

const fn real(package: &'static str, file: &'static str) -> Real {
    Real { package, file, define: None }
}

const fn with(package: &'static str, file: &'static str, define: &'static str) -> Real {
    Real { package, file, define: Some(define) }
}

const IMAGES: &[Real] = &[
    with("libstb-dev", "/usr/include/stb/stb_image.h", "STB_IMAGE_IMPLEMENTATION"),
    with("libstb-dev", "/usr/include/stb/stb_image_write.h", "STB_IMAGE_WRITE_IMPLEMENTATION"),
    with("libstb-dev", "/usr/include/stb/stb_image_resize.h", "STB_IMAGE_RESIZE_IMPLEMENTATION"),
    with("libstb-dev", "/usr/include/stb/stb_dxt.h", "STB_DXT_IMPLEMENTATION"),
    with("libstb-dev", "/usr/include/stb/stb_truetype.h", "STB_TRUETYPE_IMPLEMENTATION"),
    real("libstb-dev", "/usr/include/stb/stb_vorbis.h"),
    with("libqoi-dev", "/usr/include/qoi.h", "QOI_IMPLEMENTATION"),
    real("libpng-dev", "/usr/share/doc/libpng-dev/examples/pngtest.c"),
    real("libzfp-dev", "/usr/share/doc/libzfp-dev/examples/ppm.c"),
];
const NUMERICAL: &[Real] = &[
    real("libzfp-dev", "/usr/share/doc/libzfp-dev/examples/diffusionC.c"),
    real("libflint-dev", "/usr/include/flint/mpoly.h"),
    real("libm4ri-dev", "/usr/include/m4ri/mzd.h"),
    real("libsuperlu-doc", "/usr/share/doc/libsuperlu-dev/examples/dfgmr.c"),
    real("libcfitsio-doc", "/usr/share/doc/libcfitsio-dev/examples/testprog.c"),
    real("libsimde-dev", "/usr/include/simde/x86/sse2.h"),
    real("libnauty2-dev", "/usr/share/nauty/geng.c"),
];
const KERNEL: &[Real] = &[
    real("libck-dev", "/usr/include/ck_bitmap.h"),
    real("libjsmn-dev", "/usr/include/jsmn.h"),
    with("libxxhash-dev", "/usr/include/xxhash.h", "XXH_INLINE_ALL"),
    real("arduino-core-avr", "/usr/share/arduino/hardware/arduino/avr/bootloaders/stk500v2/stk500boot.c"),
];
const KINDS: [(&str, &[Real]); 3] =
    [("image codecs and fonts", IMAGES), ("numerical", NUMERICAL), ("kernel-style", KERNEL)];

/// What came of one file.
#[derive(Default)]
struct Seen {
    lines: usize,
    /// Why there is nothing more: the package is missing, or the analysis panicked, crashed or hung.
    failed: Option<String>,
    loops: usize,
    lowered: usize,
    independent: usize,
    reductions: usize,
    /// Parallel loops that need a test at run time.
    tested: usize,
    sequential: usize,
    unknown: usize,
    /// Obstacles of unknown loops, the first of each.
    reasons: BTreeMap<String, usize>,
    seconds: f64,
    runs: Runs,
}

/// What runs of a file's functions said of its parallel loops.
#[derive(Default)]
struct Runs {
    failed: Option<String>,
    held: usize,
    unrefuted: usize,
    undecided: Vec<String>,
    not_run: usize,
    refuted: Vec<String>,
}

/// Measures, and gives the section of docs/performance.md.
pub fn section(warpwright: &PathBuf) -> Result<String> {
    let judge = sh::step("release build of the judge", || program::example(Profile::Release, "real"))?;
    let packages: Vec<(&str, &str)> =
        KINDS.iter().flat_map(|(_, files)| files.iter()).map(|r| (r.package, r.file)).collect();
    let missing = tools::programs(&packages);
    for m in &missing {
        println!("\nMISSING: {}: {}", m.tool, m.why);
    }
    let all: Vec<&Real> = KINDS.iter().flat_map(|(_, files)| files.iter()).collect();
    let seen = sh::step("programs of other people", || Ok(on_all(&all, |r| look(warpwright, &judge, r))))?;
    table(&seen)
}

/// Does the work on all, on all cores; the results are in the order of the files.
fn on_all<'a, T: Send>(all: &[&'a Real], work: impl Fn(&'a Real) -> T + Sync) -> Vec<T> {
    let next = AtomicUsize::new(0);
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get());
    let mut results: Vec<(usize, T)> = std::thread::scope(|s| {
        let one = || {
            let mut out = Vec::new();
            loop {
                let n = next.fetch_add(1, Ordering::Relaxed);
                let Some(r) = all.get(n) else { return out };
                out.push((n, work(r)));
            }
        };
        let handles: Vec<_> = (0..threads).map(|_| s.spawn(one)).collect();
        handles.into_iter().flat_map(|h| h.join().unwrap_or_default()).collect()
    });
    results.sort_by_key(|(n, _)| *n);
    results.into_iter().map(|(_, t)| t).collect()
}

fn look(warpwright: &PathBuf, judge: &PathBuf, r: &Real) -> Seen {
    let mut seen = Seen::default();
    let Ok(text) = std::fs::read(r.file) else {
        seen.failed = Some(format!("**the package {} is not installed**", r.package));
        return seen;
    };
    seen.lines = text.iter().filter(|b| **b == b'\n').count();
    let mut command = program::command(warpwright);
    command.args(["analyze", "--format", "json", "--fail-on", "never"]).args(define(r)).arg(r.file);
    let start = Instant::now();
    match within(&mut command, PATIENCE).and_then(|out| count(&out, &mut seen)) {
        Ok(()) => seen.seconds = start.elapsed().as_secs_f64(),
        Err(why) => seen.failed = Some(why),
    }
    let mut command = Command::new(judge);
    // assertions are macros that the interpreter does not follow
    command.args(define(r)).arg("-DNDEBUG").arg(r.file);
    match within(&mut command, RUNS_PATIENCE) {
        Ok(out) => runs(&out, &mut seen.runs),
        Err(why) => seen.runs.failed = Some(why),
    }
    seen
}

fn define(r: &Real) -> Option<String> {
    r.define.map(|name| format!("-D{name}"))
}

/// Standard output of a program that ends well in time; else what happened instead.
fn within(command: &mut Command, patience: Duration) -> std::result::Result<String, String> {
    let spawned = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut child = spawned.map_err(|e| format!("not started: {e}"))?;
    let reader = |pipe: Option<Box<dyn Read + Send>>| {
        std::thread::spawn(move || {
            let mut bytes = Vec::new();
            if let Some(mut pipe) = pipe {
                let _ = pipe.read_to_end(&mut bytes);
            }
            String::from_utf8_lossy(&bytes).into_owned()
        })
    };
    let out = reader(child.stdout.take().map(|p| Box::new(p) as _));
    let errors = reader(child.stderr.take().map(|p| Box::new(p) as _));
    let end = Instant::now() + patience;
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break status,
            Ok(None) if Instant::now() < end => std::thread::sleep(Duration::from_millis(5)),
            _ => {
                let _ = child.kill();
                let _ = child.wait();
                return Err(format!("**no answer within {} s**", patience.as_secs()));
            }
        }
    };
    let (out, errors) = (out.join().unwrap_or_default(), errors.join().unwrap_or_default());
    match (status.success(), errors.contains("panicked")) {
        (_, true) => Err(format!("**panic**: {}", errors.lines().next().unwrap_or_default())),
        (false, _) => Err(format!("**{status}**: {}", errors.lines().next().unwrap_or_default())),
        (true, false) => Ok(out),
    }
}

/// Counts the loops of a report.
fn count(report: &str, seen: &mut Seen) -> std::result::Result<(), String> {
    let report: Value = serde_json::from_str(report).map_err(|e| format!("**no report**: {e}"))?;
    let loops = report["files"][0]["loops"].as_array().ok_or("**no report**")?;
    for l in loops {
        let list = |name: &str| l[name].as_array().cloned().unwrap_or_default();
        let obstacles = list("obstacles");
        seen.loops += 1;
        seen.lowered += usize::from(obstacles.iter().all(|o| o["kind"] != "not-understood"));
        let is_tested = list("conditions").iter().any(|c| c["met_by"] == "run-time check");
        match l["verdict"].as_str() {
            Some("independent") => {
                seen.independent += 1;
                seen.tested += usize::from(is_tested);
            }
            Some("reduction") => {
                seen.reductions += 1;
                seen.tested += usize::from(is_tested);
            }
            Some("sequential") => seen.sequential += 1,
            _ => {
                seen.unknown += 1;
                let first = obstacles.first().and_then(|o| o["kind"].as_str()).unwrap_or("none given");
                *seen.reasons.entry(first.to_owned()).or_default() += 1;
            }
        }
    }
    Ok(())
}

/// Reads what the judge says, a line a loop.
fn runs(said: &str, runs: &mut Runs) {
    let mut has_ended = false;
    for line in said.lines() {
        let (kind, rest) = line.split_once(' ').unwrap_or((line, ""));
        match kind {
            "claim" => match rest.rsplit(' ').next() {
                Some("held") => runs.held += 1,
                Some("unrefuted") => runs.unrefuted += 1,
                Some("not-run") => runs.not_run += 1,
                _ => {}
            },
            "undecided" => runs.undecided.push(rest.to_owned()),
            "refuted" => runs.refuted.push(rest.to_owned()),
            "loops" => has_ended = true,
            _ => {}
        }
    }
    if !has_ended {
        runs.failed = Some("the judge did not come to its end".to_owned());
    }
}

fn table(seen: &[Seen]) -> Result<String> {
    let mut out = String::new();
    writeln!(
        out,
        "| file | lines | loops | lowered | independent | reduction | (with a run-time test) | sequential | unknown | \
         s | held | not refuted | not run | refuted |"
    )?;
    writeln!(out, "|---|{}", "---|".repeat(13))?;
    let mut rest = seen.iter();
    let mut total = Seen::default();
    let (mut failures, mut notes) = (Vec::new(), Vec::new());
    let mut analyzed = 0;
    for (kind, files) in KINDS {
        for r in files {
            let s = rest.next().context("a file was left out")?;
            let name = Path::new(r.file).file_name().unwrap_or_default().to_string_lossy();
            let name = format!("{name} ({}, {kind})", r.package);
            if let Some(why) = &s.failed {
                writeln!(out, "| {name} | {} | {why} |{}", s.lines, " |".repeat(11))?;
                failures.push(format!("{name}: {why}"));
                continue;
            }
            analyzed += 1;
            row(&mut out, &name, s)?;
            total.lines += s.lines;
            total.loops += s.loops;
            total.lowered += s.lowered;
            total.independent += s.independent;
            total.reductions += s.reductions;
            total.tested += s.tested;
            total.sequential += s.sequential;
            total.unknown += s.unknown;
            total.seconds += s.seconds;
            total.runs.held += s.runs.held;
            total.runs.unrefuted += s.runs.unrefuted;
            total.runs.not_run += s.runs.not_run;
            total.runs.refuted.extend(s.runs.refuted.iter().map(|w| format!("{name}: {w}")));
            total.runs.undecided.extend(s.runs.undecided.iter().map(|w| format!("{name}: {w}")));
            notes.extend(s.runs.failed.iter().map(|why| format!("{name}: not held to runs: {why}")));
            for (reason, n) in &s.reasons {
                *total.reasons.entry(reason.clone()).or_default() += n;
            }
        }
    }
    row(&mut out, &format!("**all {analyzed}**"), &total)?;
    let share = |n: usize| 100.0 * n as f64 / total.loops.max(1) as f64;
    writeln!(
        out,
        "\nOf {} loops {:.0} % are lowered, {:.0} % parallel ({:.0} % with a run-time test), {:.0} % sequential with a \
         witness, {:.0} % unknown. Panics, crashes, hangs and missing packages: {}.",
        total.loops,
        share(total.lowered),
        share(total.independent + total.reductions),
        share(total.tested),
        share(total.sequential),
        share(total.unknown),
        if failures.is_empty() { "none".to_owned() } else { failures.join("; ") }
    )?;
    writeln!(
        out,
        "\nHeld to runs: {} parallel loops stood with three iterations or more, {} more were not refuted by runs in which \
         it cannot be told whether a run-time test would have passed, {} did not run on made-up inputs. **Refuted: {}.**",
        total.runs.held,
        total.runs.unrefuted,
        total.runs.not_run,
        total.runs.refuted.len()
    )?;
    for w in total.runs.refuted.iter().chain(&notes) {
        writeln!(out, "- {w}")?;
    }
    if !total.runs.undecided.is_empty() {
        writeln!(out, "\nTo be looked at (iterations meet where a run-time test may forbid it):\n")?;
        for w in &total.runs.undecided {
            writeln!(out, "- {w}")?;
        }
    }
    let mut reasons: Vec<(&String, &usize)> = total.reasons.iter().collect();
    reasons.sort_by_key(|(name, n)| (std::cmp::Reverse(**n), *name));
    let reasons: Vec<String> = reasons.iter().map(|(name, n)| format!("{name} {n}")).collect();
    writeln!(out, "\nWhy loops are unknown, by the first reason: {}.", reasons.join(", "))?;
    Ok(out)
}

fn row(out: &mut String, name: &str, s: &Seen) -> Result<()> {
    let r = &s.runs;
    Ok(writeln!(
        out,
        "| {name} | {} | {} | {} | {} | {} | {} | {} | {} | {:.2} | {} | {} | {} | {} |",
        s.lines,
        s.loops,
        s.lowered,
        s.independent,
        s.reductions,
        s.tested,
        s.sequential,
        s.unknown,
        s.seconds,
        r.held,
        r.unrefuted,
        r.not_run,
        r.refuted.len()
    )?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_twenty_different_files() {
        let mut files: Vec<&str> = KINDS.iter().flat_map(|(_, f)| f.iter()).map(|r| r.file).collect();
        files.sort_unstable();
        files.dedup();
        assert_eq!(files.len(), 20);
    }

    #[test]
    fn reports_are_counted() {
        let report = r#"{"files":[{"loops":[
            {"verdict":"independent","obstacles":[],"conditions":[{"met_by":"run-time check"}]},
            {"verdict":"unknown","obstacles":[{"kind":"not-understood"},{"kind":"early-exit"}],"conditions":[]}]}]}"#;
        let mut seen = Seen::default();
        count(report, &mut seen).unwrap();
        assert_eq!((seen.loops, seen.lowered, seen.independent, seen.tested, seen.unknown), (2, 1, 1, 1, 1));
        assert_eq!(seen.reasons.get("not-understood"), Some(&1));
        assert!(count("{}", &mut seen).is_err());
        let mut r = Runs::default();
        runs("claim 3 independent f held\nclaim 4 reduction g not-run\nrefuted :4: what\nloops 2\n", &mut r);
        assert_eq!((r.held, r.not_run, r.refuted.len(), r.failed.is_some()), (1, 1, 1, false));
        runs("", &mut r);
        assert!(r.failed.is_some());
    }

    #[test]
    fn what_does_not_end_is_said() {
        let hang = within(Command::new("sleep").arg("5"), Duration::from_millis(50));
        assert!(hang.unwrap_err().contains("no answer"));
        let crash = within(Command::new("sh").args(["-c", "kill -SEGV $$"]), Duration::from_secs(5));
        assert!(crash.unwrap_err().contains("signal"));
    }
}
