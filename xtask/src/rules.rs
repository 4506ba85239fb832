//! `cargo xtask metrics rules`: how long a function is rewritten (`server/crates/testkit/examples/rules.rs`).

use std::process::Command;

use anyhow::{ensure, Context, Result};
use serde_json::Value;

use crate::program::{self, Profile};
use crate::sh;

/// For 500 lines and twenty rules, without reading the result again.
const GOAL_MS: f64 = 10.0;

/// Measures, and gives the section of docs/performance.md.
pub fn section() -> Result<String> {
    let clock =
        sh::step("release build of the rules' clock", || program::example(Profile::Release, "rules"))?;
    let report = sh::step("five hundred lines, twenty rules", || {
        let out = sh::output(Command::new(clock).current_dir(sh::root()))?;
        ensure!(out.status.success(), "rewriting was not measured: {}", String::from_utf8_lossy(&out.stderr));
        serde_json::from_slice::<Value>(&out.stdout).context("the rules' report")
    })?;
    words(&report)
}

fn words(report: &Value) -> Result<String> {
    let number = |name: &str| report[name].as_f64().with_context(|| format!("the report has no {name}"));
    let rewriting = number("rewriting_ms")?;
    Ok(format!(
        "A function of {} lines ({} terms) is rewritten by a system of {} rules, which apply {} times, in **{rewriting:.2} \
         ms** (goal: {GOAL_MS} ms; {}). With the edits, the text read again and the result compared with what the rules \
         made it takes {:.1} ms; running it beside the original comes on top and has its own limits.\n",
        number("lines")?,
        number("terms")?,
        number("rules")?,
        number("applications")?,
        if rewriting < GOAL_MS { "met" } else { "not met" },
        number("all_ms")?,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_goal_is_judged() {
        let report = |ms: f64| json!({ "lines": 500, "terms": 4000, "rules": 20, "applications": 300, "rewriting_ms": ms, "all_ms": 30.0 });
        assert!(words(&report(9.9)).unwrap().contains("; met)"));
        assert!(words(&report(10.1)).unwrap().contains("; not met)"));
        assert!(words(&json!({})).is_err());
    }
}
