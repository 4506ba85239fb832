//! Findings as GitHub's annotations. Columns count UTF-16 units, as their readers do.

use std::fmt::Write;

use text::PositionEncoding;

use crate::contract::FileReport;

/// GitHub's workflow commands: one annotation a finding.
pub fn github(reports: &[FileReport]) -> String {
    let data = |text: &str| text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A");
    let property = |text: &str| data(text).replace(':', "%3A").replace(',', "%2C");
    let mut out = String::new();
    for report in reports {
        for d in &report.findings.diagnostics {
            let kind = match d.severity {
                ide::Severity::Hint | ide::Severity::Information => "notice",
                ide::Severity::Warning => "warning",
                ide::Severity::Error => "error",
            };
            let [line, column, end_line, end_column] = report.place(d.span, PositionEncoding::Utf16);
            // GitHub takes columns only for findings on one line
            let end = if line == end_line { format!(",endColumn={end_column}") } else { String::new() };
            let _ = writeln!(
                out,
                "::{kind} file={},line={line},endLine={end_line},col={column}{end},title=warpwright {}::{}",
                property(&report.path()),
                property(d.code),
                data(&d.message)
            );
        }
    }
    out
}
