//! Every loop of the C fixtures that becomes a kernel, as a user profiles it, on the stand-in for a driver: it is the same, and what
//! was launched and copied is what `verify` counts. GPUs that do something else are found out.
#![cfg(target_os = "linux")]

#[path = "support/standin.rs"]
mod standin;
mod support;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use standin::StandIn;

/// What all integers are.
const SIZE: i128 = 16;

/// Loops that are run and not compared: file, function, and words of the reason. It only ever gets shorter.
const NOT_COMPARED: [(&str, &str, &str); 8] = [
    // what a structure shows is made by chance, and sorted in some inputs only
    ("compressed_rows.c", "normalise", "no kernel was launched with this input"),
    // what only a compiler without optimization defines
    ("traps/compilers_choice.c", "by_system", "__NO_INLINE__"),
    ("traps/compilers_choice.c", "same_in_both", "__NO_INLINE__"),
    ("traps/compilers_choice.c", "never_both", "__NO_INLINE__"),
    ("traps/compilers_choice.c", "always", "__NO_INLINE__"),
    ("traps/compilers_choice.c", "not_a_compiler_s", "__NO_INLINE__"),
    ("traps/compilers_choice.c", "a_pragma_alone", "__NO_INLINE__"),
    ("traps/promises.c", "weak_constant", "cannot be called from outside"),
];

/// Why loops with a kernel are not run, and of how many files' loops that is said at most. The numbers only ever go down.
const NOT_RUN: [(&str, usize); 4] = [
    ("holds pointers, or bytes of unknown kinds", 8),
    ("part was not followed", 20),
    ("no kernel is launched: the original loop runs", 28),
    ("is no integer that", 3),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/c")
}

/// Whether all fixtures are run: they take half an hour.
fn is_all() -> bool {
    std::env::var_os("WARPWRIGHT_EVERY_FIXTURE").is_some()
}

/// The programs below `fixtures/c`; else than where all must run, every fifth of those that are no traps for the analysis.
fn files() -> Vec<PathBuf> {
    let is_meant = |p: &Path| is_all() || !["traps", "vectoriser", "races"].iter().any(|n| p.ends_with(n));
    let (mut folders, mut files) = (vec![root()], Vec::new());
    while let Some(folder) = folders.pop() {
        for path in std::fs::read_dir(&folder).expect("a folder").flatten().map(|e| e.path()) {
            if path.is_dir() && is_meant(&path) {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "c") {
                files.push(path);
            }
        }
    }
    files.sort();
    let every = if is_all() { 1 } else { 5 };
    files.into_iter().step_by(every).collect()
}

/// What came of a loop.
struct Seen {
    file: String,
    line: u32,
    function: String,
    run: wire::ProfileRun,
    /// Launches, and bytes to the device and from it, of runs in the simulator.
    counted: Vec<(u64, [u64; 2])>,
}

/// What came of a file.
#[derive(Default)]
struct Tried {
    seen: Vec<Seen>,
    /// `file:line: why`
    refused: Vec<String>,
}

fn profiled(standin: &StandIn, path: &Path, is_counted: bool, wrong: Option<&str>) -> Tried {
    let file = path.strip_prefix(root()).expect("a fixture").display().to_string();
    let text = std::fs::read_to_string(path).expect("a text");
    let (memo, cancel) = (ide::Memo::new(), base::CancelToken::new());
    let options = ide::Options { headers: Some(testkit::headers::of_fixtures()), ..Default::default() };
    let doc = ide::Doc::open(ide::Language::C, &file, text::Text::new(&text).expect("short"), options);
    let ask = ide::Ask::new(&doc, &memo, ide::Tier::Full, &cancel);
    let findings = ide::check(&ask, &ide::Settings::default()).expect("not cancelled");
    let lines = findings.loops.iter().map(|l| l.line()).collect();
    let names = ide::given_names(&ask, &findings, &ide::Which::Lines(lines));
    let mut command = standin.server();
    command.args(["profile", "--format", "json"]).arg(path);
    for n in &names {
        command.args(["-s", &format!("{n}={SIZE}")]);
    }
    if let Some(wrong) = wrong {
        command.env("WARPWRIGHT_STANDIN_WRONG", wrong);
    }
    let out = command.output().expect("runs");
    let errors = String::from_utf8_lossy(&out.stderr);
    let refused = errors.lines().filter_map(|l| Some(l.split_once(": not measured: ")?.1.to_owned()));
    let profile: Option<wire::Profile> = serde_json::from_slice(&out.stdout).ok();
    let mut tried =
        Tried { refused: refused.map(|why| format!("{file}: {why}")).collect(), ..Tried::default() };
    for run in profile.into_iter().flat_map(|p| p.runs) {
        let mut counted = Vec::new();
        if is_counted {
            let which = ide::Which::Line(run.line);
            let given = ide::given_names(&ask, &findings, &which).into_iter().map(|n| (n, SIZE)).collect();
            let options = ide::VerifyOptions { cases: 4, failures: 0, given, ..Default::default() };
            let reports = ide::verify(&ask, &findings, &which, &options);
            let cases = reports.iter().flat_map(|r| &r.cases).map(|c| &c.counted);
            counted = cases.map(|c| (c.launches, [c.to_device.bytes, c.from_device.bytes])).collect();
        }
        tried.seen.push(Seen {
            file: file.clone(),
            line: run.line,
            function: run.function.clone(),
            run,
            counted,
        });
    }
    tried
}

/// Does it for all files, on all cores.
fn on_all<T: Send>(files: &[PathBuf], work: impl Fn(&Path) -> T + Sync) -> Vec<T> {
    let next = AtomicUsize::new(0);
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get());
    std::thread::scope(|s| {
        let one = || {
            let mut out = Vec::new();
            while let Some(file) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
                out.push(work(file));
            }
            out
        };
        let handles: Vec<_> = (0..threads).map(|_| s.spawn(one)).collect();
        handles.into_iter().flat_map(|h| h.join().expect("no panic")).collect()
    })
}

#[test]
fn every_loop_with_a_kernel_is_the_same() {
    let standin = StandIn::new();
    let all = on_all(&files(), |f| profiled(&standin, f, true, None));
    let (mut wrong, mut same, mut equal, mut uncounted) = (Vec::new(), 0, 0, 0);
    for s in all.iter().flat_map(|t| &t.seen) {
        let place = format!("{}:{}: {}", s.file, s.line, s.function);
        let is_known = |(file, function, words): &(&str, &str, &str)| {
            *file == s.file && *function == s.function && s.run.said.contains(words)
        };
        if s.run.checked != "same" {
            let is_left_out = s.run.checked == "not tried" && NOT_COMPARED.iter().any(is_known);
            if !is_left_out {
                wrong.push(format!("{place}: {}: {}", s.run.checked, s.run.said));
            }
            continue;
        }
        same += 1;
        // inputs are others, and where these decide so are the numbers
        let here = (s.run.launches, s.run.copied_bytes);
        match s.counted.iter().filter(|c| c.0 > 0).count() {
            0 => uncounted += 1,
            _ if s.counted.contains(&here) => equal += 1,
            _ => eprintln!("COUNTED {place}: {here:?} {:?}", s.counted),
        }
    }
    let refused: Vec<&String> = all.iter().flat_map(|t| &t.refused).collect();
    for (words, most) in NOT_RUN {
        let count = refused.iter().filter(|r| r.contains(words)).count();
        eprintln!("{count} loops not run: {words}");
        if count > most {
            wrong.push(format!("{count} loops, and {most} before: {words}"));
        }
    }
    eprintln!("{same} loops the same, {equal} with the counts of verify, {uncounted} that it did not run");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    // a part of the files is another one with each new file
    let (least, percent) = if is_all() { (444, 85) } else { (60, 75) };
    assert!(same >= least && equal * 100 >= same * percent, "{same} {equal} {uncounted}");
}

/// What is right all the same: a sum that is zero, zeros that are right, a row that the greatest is not in.
const RIGHT_ANYWAY: [(&str, &str, u32); 4] = [
    ("zeros", "matvec.c", 26),
    ("zeros", "reductions.c", 25),
    ("threads", "reductions.c", 25),
    ("threads", "jacobi.c", 19),
];

#[test]
fn a_gpu_that_does_something_else_is_found_out() {
    let standin = StandIn::new();
    let names =
        ["saxpy.c", "jacobi.c", "lu.c", "matvec.c", "reductions.c", "prefix_sum.c", "whole_functions.c"];
    let files: Vec<PathBuf> = names.iter().map(|n| root().join(n)).collect();
    for how in ["skips", "zeros", "threads"] {
        let seen: Vec<Seen> = on_all(&files, |f| profiled(&standin, f, false, Some(how)))
            .into_iter()
            .flat_map(|t| t.seen)
            .collect();
        assert!(seen.len() >= 28, "{how}: {} loops", seen.len());
        for s in seen {
            let is_right = RIGHT_ANYWAY.contains(&(how, &s.file, s.line));
            let want = if is_right { "same" } else { "different" };
            assert_eq!(s.run.checked, want, "{how}: {}:{}: {}", s.file, s.line, s.run.said);
        }
    }
}
