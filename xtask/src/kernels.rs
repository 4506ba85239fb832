//! `cargo xtask metrics kernels`: the thirty kernels of fixtures/c/polybench in one process, and which dependence test
//! answered how many questions (`server/crates/testkit/examples/kernels.rs`).

use std::fmt::Write as _;
use std::process::Command;

use anyhow::{ensure, Context, Result};
use serde_json::Value;

use crate::program::{self, Profile};
use crate::sh;

/// For all thirty, one after the other.
const GOAL_MS: f64 = 100.0;

/// Measures, and gives the section of docs/performance.md.
pub fn section() -> Result<String> {
    let kernels =
        sh::step("release build of the kernels' clock", || program::example(Profile::Release, "kernels"))?;
    let report = sh::step("thirty kernels", || {
        let out =
            sh::output(Command::new(kernels).args(["--json", "--rounds", "15"]).current_dir(sh::root()))?;
        ensure!(
            out.status.success(),
            "the kernels were not measured: {}",
            String::from_utf8_lossy(&out.stderr)
        );
        serde_json::from_slice::<Value>(&out.stdout).context("the kernels' report")
    })?;
    words(&report)
}

fn words(report: &Value) -> Result<String> {
    let number = |name: &str| report[name].as_f64().with_context(|| format!("the report has no {name}"));
    let (files, loops, total) = (number("files")?, number("loops")?, number("total_ms")?);
    let mut out = String::new();
    writeln!(
        out,
        "{files} kernels with {loops} loops, read and analyzed exactly in one process: **{total:.0} ms** one after the \
         other, {:.0} ms on {} threads (goal: {GOAL_MS} ms one after the other; {}). Reading them takes {:.0} ms of it; the \
         slowest file is {} with {:.1} ms.",
        number("parallel_ms")?,
        number("threads")?,
        if total < GOAL_MS { "met" } else { "not met" },
        number("front_ms")?,
        report["worst_file"].as_str().unwrap_or("not named"),
        number("worst_file_ms")?,
    )?;
    let Some(tests) = report["tests"].as_object() else { return Ok(out) };
    let mut counts: Vec<(&str, u64)> =
        tests.iter().filter_map(|(name, n)| Some((name.as_str(), n.as_u64()?))).collect();
    counts.sort_by_key(|(name, n)| (std::cmp::Reverse(*n), *name));
    let all: u64 = counts.iter().map(|(_, n)| n).sum();
    writeln!(out, "\n| who answered whether two accesses meet | questions | share |\n|---|---|---|")?;
    for (name, n) in counts {
        let share = 100.0 * n as f64 / all.max(1) as f64;
        writeln!(out, "| {} | {n} | {share:.1} % |", label(name))?;
    }
    writeln!(out, "| all | {all} | |")?;
    Ok(out)
}

/// A test's name for readers.
fn label(name: &str) -> String {
    match name {
        "ziv" | "gcd" => name.to_uppercase(),
        "point" => "Fourier-Motzkin elimination, which found a pair".to_owned(),
        "elimination" => "Fourier-Motzkin elimination, which found none".to_owned(),
        "banerjee" => "Banerjee".to_owned(),
        other => other.replace('_', " ").replace("siv", "SIV"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn goal_and_shares_are_said() {
        let mut report = json!({"files": 30, "loops": 181, "total_ms": 99.0, "parallel_ms": 55.0, "threads": 2,
            "front_ms": 9.0, "worst_file": "adi.c", "worst_file_ms": 12.0, "tests": {"ziv": 3, "weak_zero_siv": 1}});
        let said = words(&report).unwrap();
        assert!(said.contains("; met)") && said.contains("| weak zero SIV | 1 | 25.0 % |"), "{said}");
        report["total_ms"] = json!(120);
        assert!(words(&report).unwrap().contains("not met"));
        report["total_ms"] = Value::Null;
        assert!(words(&report).is_err());
    }
}
