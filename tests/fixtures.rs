//! Real programs with the expected verdict beside every loop: judged, offloaded, run in the simulator beside the
//! original, and their kernels compiled by NVRTC.
//!
//! The programs stand in `fixtures/c`; what the markers mean is said in `testkit::fixture`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

use base::CancelToken;
use device::{compile_check, newest_arch, Arch, CompileOutcome, CompileRequest};
use ide::{check, offload, verify, Doc, Memo, Options, Outcome, Settings, Tier, VerifyOptions, Which};
use testkit::fixture;
use testkit::judge::programs::{judge_program, Judged};
use testkit::judge::sizes::at_several_sizes;
use testkit::judge::Stats;

/// How many loops may have another answer than the true one. It only ever goes down (five came with the traps, which ask for
/// values that are not followed yet).
const FIXMES: usize = 22;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The C files of `fixtures/c` and the folders in it, sorted.
fn files() -> Vec<PathBuf> {
    let mut folders = vec![root().join("fixtures/c")];
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for path in fs::read_dir(&folder).expect("a folder").flatten().map(|e| e.path()) {
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "c") {
                files.push(path);
            }
        }
    }
    files.sort();
    assert!(files.len() >= 85, "only {} programs in fixtures/c", files.len());
    files
}

/// Name (below `fixtures/c`) and text of each program.
fn programs() -> Vec<(String, String)> {
    let name = |p: &Path| p.strip_prefix(root().join("fixtures/c")).expect("a fixture").display().to_string();
    files().iter().map(|p| (name(p), fs::read_to_string(p).expect("a text"))).collect()
}

/// Does the work on all programs, on all cores.
fn on_all<T: Send>(work: impl Fn(&str, &str) -> T + Sync) -> Vec<T> {
    let programs = programs();
    let next = AtomicUsize::new(0);
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get());
    std::thread::scope(|s| {
        let one = || {
            let mut out = Vec::new();
            while let Some((name, text)) = programs.get(next.fetch_add(1, Ordering::Relaxed)) {
                out.push(work(name, text));
            }
            out
        };
        let handles: Vec<_> = (0..threads).map(|_| s.spawn(one)).collect();
        handles.into_iter().flat_map(|h| h.join().expect("no panic")).collect()
    })
}

/// A tool that is not there: said aloud, and a failure where everything must run.
fn skip(what: &str, why: &str) {
    eprintln!("SKIPPED {what}: {why}");
    assert!(std::env::var_os("CI").is_none(), "{what} was skipped in CI: {why}");
}

#[test]
fn every_loop_has_its_verdict() {
    let all = on_all(fixture::compare_all);
    let lines = |pick: fn(&fixture::Compared) -> &Vec<String>| -> Vec<&String> {
        let mut lines: Vec<&String> = all.iter().flat_map(pick).collect();
        lines.sort();
        lines
    };
    let (wrong, missed, mended) = (lines(|c| &c.wrong), lines(|c| &c.missed), lines(|c| &c.mended));
    for m in &missed {
        eprintln!("FIXME {m}");
    }
    for m in &mended {
        eprintln!("the FIXME can go: {m}");
    }
    let loops: usize = all.iter().map(|c| c.loops).sum();
    eprintln!(
        "{loops} loops, {} of them with a FIXME, {} of these mended",
        missed.len() + mended.len(),
        mended.len()
    );
    assert!(wrong.is_empty(), "\n{}\n", wrong.iter().map(|w| w.as_str()).collect::<Vec<_>>().join("\n"));
    assert!(loops > 600, "only {loops} loops");
    assert!(missed.len() <= FIXMES, "{} loops with a FIXME: more than there were", missed.len());
}

/// Folders whose loops must all have been seen at several sizes.
const MEASURED: [&str; 3] = ["polybench/", "races/", "vectoriser/"];
/// Functions of these that cannot run: bit-fields have no place in the interpreter.
const NEVER_RUN: [&str; 1] = ["races/sharing.c: bit_fields"];

fn is_measured(name: &str) -> bool {
    MEASURED.iter().any(|folder| name.starts_with(folder))
}

/// What is said of each function, and what its markers say, against runs of it: neither is believed.
#[test]
fn what_is_said_holds_in_runs() {
    let judged = on_all(|name, text| {
        let mut stats = Stats::default();
        if is_measured(name) {
            return (Judged::default(), stats);
        }
        let markers = fixture::markers(text).expect("markers");
        let j = judge_program(name, &fixture::analyze(text), &markers, &mut stats);
        (j, stats)
    });
    let mut stats = Stats::default();
    let (mut ran, mut wrong) = (0, Vec::new());
    for (j, s) in judged {
        stats.add(&s);
        ran += j.ran;
        wrong.extend(j.wrong);
        for n in &j.never {
            eprintln!("never ran: {n}");
        }
    }
    eprintln!("{ran} functions ran: {} claims and {} witnesses held to runs", stats.claims, stats.witnesses);
    assert!(wrong.is_empty(), "\n{}\n{} wrong", wrong.join("\n"), wrong.len());
    assert!(ran > 320 && stats.claims > 1_500 && stats.witnesses > 140, "too little was judged: {stats}");
}

/// The verdict on every loop of the measured programs is what runs at several sizes say.
#[test]
fn verdicts_are_the_oracles_at_several_sizes() {
    let judged = on_all(|name, text| {
        let mut stats = Stats::default();
        let seen = is_measured(name).then(|| at_several_sizes(name, text, &NEVER_RUN, &mut stats));
        (seen, stats)
    });
    let mut stats = Stats::default();
    let (mut loops, mut wrong, mut unknown) = (0, Vec::new(), Vec::new());
    for (seen, s) in judged {
        stats.add(&s);
        let seen = seen.unwrap_or_default();
        loops += seen.loops;
        wrong.extend(seen.wrong);
        unknown.extend(seen.unknown);
    }
    let kernels = unknown.iter().filter(|u| u.starts_with("polybench/")).count();
    eprintln!(
        "{loops} loops at several sizes: {} runs, {} claims and {} witnesses held to them; {} unknown with their \
         reasons, {kernels} of these in the 30 kernels",
        stats.runs,
        stats.claims,
        stats.witnesses,
        unknown.len()
    );
    assert!(wrong.is_empty(), "\n{}\n{} wrong", wrong.join("\n"), wrong.len());
    assert!(loops > 390 && stats.claims > 1_400 && stats.witnesses > 150, "too little was judged: {stats}");
    assert!(kernels <= 3, "{kernels} loops of the 30 kernels are unknown");
}

#[test]
fn programs_are_clean_c() {
    if Command::new("gcc").arg("--version").output().is_err() {
        return skip("the fixtures' compilation", "gcc is not on PATH");
    }
    for file in files() {
        let out = Command::new("gcc")
            .args(["-std=c99", "-Wall", "-Wno-unknown-pragmas", "-Werror", "-c", "-o", "/dev/null"])
            .arg(&file)
            .output()
            .expect("gcc");
        assert!(out.status.success(), "{}: {}", file.display(), String::from_utf8_lossy(&out.stderr));
    }
}

/// Where NVRTC may be: what `cargo xtask test` installed, else wherever the room finds one.
fn nvrtc() -> Option<PathBuf> {
    let ours = std::env::var_os("WARPWRIGHT_TOOLS")
        .map_or_else(|| root().join(".tools"), PathBuf::from)
        .join("python");
    ours.is_dir().then_some(ours)
}

fn archs() -> Option<Vec<Arch>> {
    match newest_arch(nvrtc().as_deref()) {
        Ok(newest) => {
            let mut all = vec![Arch::sm(70), Arch::sm(90)];
            if !all.contains(&newest) {
                all.push(newest);
            }
            Some(all)
        }
        Err(e) => {
            skip("the kernels' compilation", &format!("{e:?}"));
            None
        }
    }
}

fn compiles(source: &str, name: &str, flags: &[&str], arch: Arch) -> Result<(), String> {
    let mut request = CompileRequest::new(source, name, arch);
    request.library = nvrtc();
    request.fmad = flags.contains(&"-fmad=false").then_some(false);
    match compile_check(&request, &CancelToken::new()) {
        // a generated text has no business to be warned about; that an architecture is old is not its fault
        CompileOutcome::Compiled(c) => match c.messages.iter().find(|m| m.line.is_some()) {
            Some(m) => Err(format!("warned for {arch:?}: {}", m.text)),
            None => Ok(()),
        },
        CompileOutcome::Failed(f) => Err(format!(
            "does not compile for {arch:?}: {}",
            f.messages.iter().map(|m| m.text.as_str()).collect::<Vec<_>>().join("; ")
        )),
        CompileOutcome::Unavailable(u) => Err(format!("no compiler for {arch:?}: {u:?}")),
    }
}

/// What came of one program's offloads.
#[derive(Default)]
struct Tried {
    offloaded: usize,
    compiled: usize,
    wrong: Vec<String>,
}

fn try_program(name: &str, text: &str, archs: &[Arch]) -> Tried {
    let (settings, cancel, memo) = (Settings::default(), CancelToken::new(), Memo::default());
    let mut tried = Tried::default();
    let wrong = &mut tried.wrong;
    let options = Options { headers: Some(testkit::headers::of_fixtures()), ..Options::default() };
    let doc = Doc::open(ide::Language::C, name, text::Text::new(text).expect("a short text"), options);
    let findings = check(&ide::Ask::new(&doc, &memo, Tier::Full, &cancel), &settings).expect("not cancelled");
    for e in fixture::markers(text).expect("markers") {
        let Some(expected) = e.offload else { continue };
        let which = Which::Line(e.line);
        let done = match (
            offload(&ide::Ask::new(&doc, &memo, ide::Tier::Full, &cancel), &findings, &which),
            expected,
        ) {
            (Ok(done), true) => done,
            (Err(_), false) => continue,
            (Ok(_), false) => {
                wrong.push(format!("{name}:{}: offloaded, and should not be", e.line));
                continue;
            }
            (Err(why), true) => {
                wrong.push(format!("{name}:{}: not offloaded: {why:?}", e.line));
                continue;
            }
        };
        tried.offloaded += 1;
        for f in &done.edit.create {
            for arch in archs {
                match compiles(&f.text, &f.name, &done.build_flags, *arch) {
                    Ok(()) => tried.compiled += 1,
                    Err(why) => wrong.push(format!("{name}:{}: {} {why}", e.line, f.name)),
                }
            }
        }
        let options = VerifyOptions { cases: 8, ..VerifyOptions::default() };
        for r in verify(&ide::Ask::new(&doc, &memo, ide::Tier::Full, &cancel), &findings, &which, &options) {
            if r.outcome != Outcome::Same {
                wrong.push(format!("{name}:{}: {} ({:?})", e.line, r.summary, r.outcome));
            }
        }
    }
    tried
}

#[test]
fn offloaded_loops_compute_the_same_and_compile() {
    let archs = archs().unwrap_or_default();
    let results = on_all(|name, text| try_program(name, text, &archs));
    let offloaded: usize = results.iter().map(|r| r.offloaded).sum();
    let compiled: usize = results.iter().map(|r| r.compiled).sum();
    let wrong: Vec<String> = results.into_iter().flat_map(|r| r.wrong).collect();
    eprintln!("{offloaded} loops offloaded, {compiled} kernels compiled");
    assert!(wrong.is_empty(), "\n{}\n{} wrong", wrong.join("\n"), wrong.len());
    assert!(offloaded >= 25, "only {offloaded} loops were offloaded");
}
