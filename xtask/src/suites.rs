//! The workspace's test programs, as many at once as there are processors: many of them wait more than they compute (editors,
//! compilers, servers), and `cargo test` runs one after the other.
//!
//! Cargo builds them and says where they are; each runs in its package's folder, as under `cargo test`, and what it printed is
//! shown in one piece when it ends. Documentation's tests only `cargo test --doc` can run, which takes long where there is none.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::time::Instant;

use anyhow::{bail, ensure, Context, Result};
use serde_json::Value;

use crate::sh;

/// Suites that take long by themselves go first, so that none of them is left to run alone at the end.
const FIRST: [&str; 9] = [
    "editors",
    "native",
    "fixtures",
    "profile_fixtures",
    "random_host_functions",
    "ide",
    "xtask",
    "traced",
    "whole_programs",
];

/// One test program.
struct Suite {
    /// What cargo calls its target.
    name: String,
    program: PathBuf,
    /// The folder of its package: where it runs.
    folder: PathBuf,
}

/// What came of one.
struct Outcome {
    name: String,
    seconds: f64,
    /// libtest's own last line.
    summary: String,
    passed: bool,
}

/// Builds all test programs and runs them in this environment.
pub fn run(environment: &[(&str, std::ffi::OsString)]) -> Result<()> {
    let mut suites = built()?;
    suites.sort_by_key(|suite| {
        (FIRST.iter().position(|&first| suite.name == first).unwrap_or(FIRST.len()), suite.name.clone())
    });
    let count = suites.len();
    let waiting = Mutex::new(suites.into_iter());
    let outcomes = Mutex::new(Vec::with_capacity(count));
    let work = || -> Result<()> {
        loop {
            let next = waiting.lock().map_err(|_| anyhow::anyhow!("another runner panicked"))?.next();
            let Some(suite) = next else { return Ok(()) };
            let outcome = run_one(&suite, environment)?;
            outcomes.lock().map_err(|_| anyhow::anyhow!("another runner panicked"))?.push(outcome);
        }
    };
    let at_once = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        let runners: Vec<_> = (0..at_once).map(|_| scope.spawn(work)).collect();
        runners.into_iter().try_for_each(|runner| {
            runner.join().map_err(|_| anyhow::anyhow!("a runner of tests panicked"))?
        })
    })?;
    let outcomes = outcomes.into_inner().map_err(|_| anyhow::anyhow!("a runner of tests panicked"))?;
    conclude(outcomes)
}

/// Runs the tests in documentation, of the packages that have some.
pub fn run_documented() -> Result<()> {
    let mut test = sh::cargo();
    test.args(["test", "--quiet", "--doc", "--no-fail-fast"]);
    let mut any = false;
    for package in std::fs::read_dir(sh::root().join("server/crates"))? {
        let folder = package?.path();
        if has_documented(&folder.join("src"))? {
            let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
            test.arg("-p").arg(format!("ww-{name}"));
            any = true;
        }
    }
    if any {
        sh::run(&mut test)
    } else {
        Ok(())
    }
}

/// Whether documentation below the folder has code that is compiled.
fn has_documented(folder: &Path) -> Result<bool> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let is_source = path.extension().is_some_and(|e| e == "rs");
        let found = match path.is_dir() {
            true => has_documented(&path)?,
            false => is_source && has_code(&std::fs::read_to_string(&path)?),
        };
        if found {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether documentation in the text has a block that rustdoc takes for Rust.
fn has_code(text: &str) -> bool {
    let fence = |line: &'_ str| -> Option<String> {
        let line = line.trim_start();
        let text = line.strip_prefix("///").or_else(|| line.strip_prefix("//!"))?;
        text.trim_start().strip_prefix("```").map(|language| language.trim().to_owned())
    };
    // every second one ends a block
    let begins = text.lines().filter_map(fence).step_by(2);
    begins.into_iter().any(|l| matches!(&*l, "" | "rust" | "compile_fail" | "should_panic" | "no_run"))
}

/// Every program that `cargo test` would run.
fn built() -> Result<Vec<Suite>> {
    let mut build = sh::cargo();
    build
        .args(["test", "--workspace", "--no-run", "--message-format=json-render-diagnostics"])
        .stdin(Stdio::null())
        .stderr(Stdio::inherit());
    let done = build.output().context("cargo could not be started")?;
    ensure!(done.status.success(), "the tests do not build ({})", done.status);
    let messages = String::from_utf8_lossy(&done.stdout);
    let suites: Vec<Suite> = messages.lines().filter_map(suite_of).collect();
    ensure!(!suites.is_empty(), "cargo names no test program");
    Ok(suites)
}

/// The suite that a message of cargo's tells of, if it is of a test program.
fn suite_of(message: &str) -> Option<Suite> {
    let message: Value = serde_json::from_str(message).ok()?;
    let is_test = message["reason"] == "compiler-artifact" && message["profile"]["test"] == true;
    Some(Suite {
        name: message["target"]["name"].as_str().filter(|_| is_test)?.to_owned(),
        program: message["executable"].as_str()?.into(),
        folder: Path::new(message["manifest_path"].as_str()?).parent()?.to_path_buf(),
    })
}

fn run_one(suite: &Suite, environment: &[(&str, std::ffi::OsString)]) -> Result<Outcome> {
    let start = Instant::now();
    let mut test = Command::new(&suite.program);
    test.current_dir(&suite.folder)
        .env("CARGO_MANIFEST_DIR", &suite.folder)
        .envs(environment.iter().map(|(name, value)| (name, value)));
    let done = sh::output(&mut test)?;
    let seconds = start.elapsed().as_secs_f64();
    let said = String::from_utf8_lossy(&done.stdout).into_owned();
    let errors = String::from_utf8_lossy(&done.stderr).into_owned();
    println!("\n     Running {} ({seconds:.0} s)\n{}{}", suite.name, said.trim_end(), after(&errors));
    let summary = said.lines().rev().find(|line| line.starts_with("test result:"));
    let summary = summary.map_or_else(|| format!("no result ({})", done.status), str::to_owned);
    Ok(Outcome { name: suite.name.clone(), seconds, summary, passed: done.status.success() })
}

fn after(errors: &str) -> String {
    if errors.trim().is_empty() {
        String::new()
    } else {
        format!("\n{}", errors.trim_end())
    }
}

/// All results once more, the slowest last; what failed is an error.
fn conclude(mut outcomes: Vec<Outcome>) -> Result<()> {
    outcomes.sort_by(|a, b| {
        (!a.passed, a.seconds).partial_cmp(&(!b.passed, b.seconds)).unwrap_or(std::cmp::Ordering::Equal)
    });
    println!("\n== test programs, by their time");
    for Outcome { name, seconds, summary, .. } in &outcomes {
        println!("{seconds:6.0} s  {name}: {summary}");
    }
    let failed: Vec<&str> = outcomes.iter().filter(|o| !o.passed).map(|o| o.name.as_str()).collect();
    if !failed.is_empty() {
        bail!("tests failed in {}; `cargo test --test NAME` runs one alone", failed.join(", "));
    }
    Ok(())
}
