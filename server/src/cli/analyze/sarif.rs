//! Findings as SARIF 2.1.0. Columns count UTF-16 units, as its readers do.

use std::fmt::Write;

use serde_json::{json, Value};
use text::PositionEncoding;

use crate::cli::note;
use crate::contract::FileReport;
use crate::limits::cli_analyze_sarif::SARIF_MAX_RESULTS;

/// SARIF 2.1.0, what code-scanning services take.
pub fn sarif(reports: &[FileReport]) -> anyhow::Result<String> {
    let level = |severity: ide::Severity| match severity {
        ide::Severity::Hint | ide::Severity::Information => "note",
        ide::Severity::Warning => "warning",
        ide::Severity::Error => "error",
    };
    let region = |report: &FileReport, span: base::Span| {
        let [line, column, end_line, end_column] = report.place(span, PositionEncoding::Utf16);
        json!({"startLine": line, "startColumn": column, "endLine": end_line, "endColumn": end_column})
    };
    let mut results: Vec<(ide::Severity, Value)> = Vec::new();
    for report in reports {
        let artifact = json!({"uri": sarif_uri(report)});
        for d in &report.findings.diagnostics {
            let related: Vec<Value> = d
                .related
                .iter()
                .enumerate()
                .map(|(id, r)| {
                    let place = json!({"artifactLocation": artifact, "region": region(report, r.span)});
                    json!({"id": id, "message": {"text": r.message}, "physicalLocation": place})
                })
                .collect();
            let place = json!({"artifactLocation": artifact, "region": region(report, d.span)});
            let result = json!({
                "ruleId": d.code, "level": level(d.severity), "message": {"text": d.message},
                "locations": [{"physicalLocation": place}], "relatedLocations": related,
            });
            results.push((d.severity, result));
        }
    }
    // where there are too many, the grave ones stay
    if results.len() > SARIF_MAX_RESULTS {
        results.sort_by_key(|(severity, _)| std::cmp::Reverse(*severity));
        note(&format!("note: only the gravest {SARIF_MAX_RESULTS} of {} results are listed.", results.len()));
        results.truncate(SARIF_MAX_RESULTS);
    }
    let rules: Vec<Value> = ide::codes()
        .map(|code| json!({"id": code.code, "shortDescription": {"text": code.summary}}))
        .collect();
    let driver = json!({"name": "warpwright", "version": env!("CARGO_PKG_VERSION"), "rules": rules});
    let results: Vec<Value> = results.into_iter().map(|(_, result)| result).collect();
    let run = json!({"tool": {"driver": driver}, "columnKind": "utf16CodeUnits", "results": results});
    let log = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0", "runs": [run],
    });
    Ok(serde_json::to_string_pretty(&log)? + "\n")
}

/// A relative reference with `/`, its special characters escaped.
fn sarif_uri(report: &FileReport) -> String {
    let path = report.path().replace('\\', "/");
    let mut uri = String::new();
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                uri.push(char::from(byte))
            }
            _ => {
                let _ = write!(uri, "%{byte:02X}");
            }
        }
    }
    uri
}
