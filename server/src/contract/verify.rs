//! What came of running a kernel beside its loop.

use serde_json::{json, Value};

/// One report in a sentence.
pub fn sentence(report: &ide::VerifyReport) -> String {
    format!("{}, line {}: {}", report.function, report.line, report.summary)
}

/// One report as JSON.
pub fn verify_value(report: &ide::VerifyReport) -> Value {
    let outcome = match &report.outcome {
        ide::Outcome::Same => "same",
        ide::Outcome::Different => "different",
        ide::Outcome::NotTried(_) => "not tried",
    };
    let case =
        |c: &ide::VerifyCase| json!({"input": c.input, "launches": c.launches, "difference": c.difference});
    json!({
        "function": report.function, "line": report.line, "outcome": outcome, "summary": report.summary, "checked": report.checked,
        "cases": report.cases.iter().map(case).collect::<Vec<_>>(),
    })
}
