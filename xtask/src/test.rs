//! `cargo xtask test`: everything that must hold, from formatting to real editors. `.ci/run` calls nothing else.
//!
//! Random tests try the same inputs each time, so that what makes one fail is a change and no luck; `PROPTEST_RNG_SEED=7 cargo
//! xtask test` tries others (see also the variables that the random tests in `tests` name).
//!
//! Ends with cargo's own summary. Tools that are missing are named, before the tests and by the tests themselves; with
//! `CI=true` a missing tool or a skipped test is a failure.

use std::fs;
use std::process::Command;

use anyhow::{ensure, Result};

use crate::codegen::{self, Mode};
use crate::tools::Missing;
use crate::{sh, suites, tools};

/// What the tools and the build take on an empty machine, in bytes.
const NEEDED: u64 = 9 << 30;

pub fn run() -> Result<()> {
    if let Some(free) = sh::free_space().filter(|&f| f < NEEDED) {
        let gib = |bytes: u64| bytes as f64 / (1u64 << 30) as f64;
        println!(
            "NOTE: {:.1} GiB are free on this disk; on an empty machine tools and build take about {:.0} GiB.",
            gib(free),
            gib(NEEDED)
        );
    }
    let missing = sh::step("tools", || Ok(tools::quick()))?;
    report(&missing)?;
    // most of its minutes one processor and the network are idle
    let slow = std::thread::spawn(tools::slow);
    let has_npm = !missing.iter().any(|m| m.tool == "packages of the extension");
    sh::step("formatting", || sh::run(sh::cargo().args(["fmt", "--all", "--check"])))?;
    sh::step("lints", || {
        sh::run(sh::cargo().args([
            "clippy",
            "--quiet",
            "--workspace",
            "--all-targets",
            "--",
            "-D",
            "warnings",
        ]))
    })?;
    sh::step("generated files", || codegen::run(Mode::Check))?;
    if has_npm {
        sh::step("extension: types and unit tests", || {
            let folder = sh::root().join("vscode-extension");
            sh::run(Command::new("npm").args(["run", "--silent", "check"]).current_dir(&folder))?;
            sh::quietly(Command::new("npm").args(["run", "--silent", "test"]).current_dir(&folder))
        })?;
    }

    let slow =
        sh::step("code-server", || slow.join().map_err(|_| anyhow::anyhow!("its installation panicked")))?;
    report(slow.as_slice())?;

    let skips = sh::root().join("test-output/skips.txt");
    fs::create_dir_all(sh::root().join("test-output"))?;
    fs::write(&skips, "")?;
    println!("\n== tests (the editors are tests/editors.rs)");
    let mut environment = tools::environment();
    environment.push(("WARPWRIGHT_CI", "1".into()));
    environment.push(("WARPWRIGHT_SKIPS", skips.clone().into()));
    if std::env::var_os("PROPTEST_RNG_SEED").is_none() {
        environment.push(("PROPTEST_RNG_SEED", "1".into()));
    }
    // both are run, whatever comes of the first
    let documented = sh::step("tests in documentation", suites::run_documented);
    let result = documented.and(suites::run(&environment));
    let skipped = fs::read_to_string(&skips)?;
    if !skipped.is_empty() {
        println!("\n{}", skipped.trim_end());
    }
    result?;
    ensure!(!is_ci() || skipped.is_empty(), "in CI nothing may be skipped");
    Ok(())
}

/// Installs the tools and names those that could not be.
pub fn install() -> Result<()> {
    report(&sh::step("tools", || Ok(tools::for_testing()))?)
}

fn report(missing: &[Missing]) -> Result<()> {
    for Missing { tool, why } in missing {
        println!("MISSING: {tool}: {why}");
    }
    ensure!(!is_ci() || missing.is_empty(), "in CI no tool may be missing");
    Ok(())
}

fn is_ci() -> bool {
    std::env::var_os("CI").is_some_and(|ci| ci == "true")
}
