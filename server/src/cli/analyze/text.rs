//! Findings for people.

use std::fmt::Write;

use anstyle::AnsiColor;
use text::PositionEncoding;

use super::super::writing::painted;
use crate::contract::FileReport;
use crate::limits::cli_analyze_text::{SHOWN_CHOICES, SHOWN_LINE_CHARS};

/// For people: each finding with its line, then what all loops and kernels are.
pub fn text(reports: &[FileReport], launches: &[(String, ide::Shape)], is_painted: bool) -> String {
    let mut out = String::new();
    let mut all_kernels: Vec<ide::KernelReport> = Vec::new();
    for report in reports {
        for diagnostic in &report.findings.diagnostics {
            finding(&mut out, report, diagnostic, is_painted);
        }
        unspoken(&mut out, report);
        // where something was not read, its loops were not either
        let silent = report.findings.loops.is_empty() && ide::has_unread_loops(&report.doc);
        let mut sum = if silent { "no loop could be analyzed".to_owned() } else { tally(&report.findings) };
        let kernels = ide::kernel_reports(&report.ask, launches);
        unspoken_kernels(&mut out, report, &kernels);
        sum += &tally_of_kernels(&kernels);
        all_kernels.extend(kernels);
        let _ = writeln!(out, "{}: {sum}", report.path());
        let words = report.doc.configuration_words();
        if !words.is_empty() && !report.findings.loops.is_empty() {
            let shown = words.get(..SHOWN_CHOICES).unwrap_or(&words).join(", ");
            let rest = match words.len().saturating_sub(SHOWN_CHOICES) {
                0 => String::new(),
                n => format!(" and {n} more (see --format json)"),
            };
            let _ = writeln!(out, "  read with {shown}{rest}");
        }
        out.push('\n');
    }
    if reports.len() > 1 {
        let all = reports.iter().flat_map(|r| r.findings.loops.iter());
        let kernels = tally_of_kernels(&all_kernels);
        let _ = writeln!(out, "{} files: {}{kernels}", reports.len(), tally_of(all));
    }
    out
}

fn finding(out: &mut String, report: &FileReport, d: &ide::Diagnostic, is_painted: bool) {
    let colour = match d.severity {
        ide::Severity::Error => AnsiColor::Red,
        ide::Severity::Warning => AnsiColor::Yellow,
        _ => AnsiColor::Cyan,
    };
    let paint = |text: &str| painted(is_painted, colour, text);
    let [line, column, end_line, end_column] = report.place(d.span, PositionEncoding::Utf8);
    let head = paint(&format!("{}[{}]", d.severity.name(), d.code));
    let _ = writeln!(out, "{}:{line}:{column}: {head}: {}", report.path(), d.message);
    let source = report.doc.text().line(line - 1).into_owned();
    let number = line.to_string();
    let shown: String = source.chars().take(SHOWN_LINE_CHARS).collect::<String>().trim_end().to_owned();
    let _ = writeln!(out, " {number} | {}", shown.replace('\t', " "));
    // the caret line counts characters, the finding bytes
    let chars = |bytes: u32| source.char_indices().take_while(|(at, _)| *at < bytes as usize).count();
    let from = chars(column - 1);
    let to = if end_line == line { chars(end_column - 1) } else { shown.chars().count() };
    if from <= shown.chars().count() {
        let carets = to.min(shown.chars().count()).saturating_sub(from).max(1);
        let under = paint(&"^".repeat(carets));
        let _ = writeln!(out, " {:w$} | {:from$}{under}", "", "", w = number.len());
    }
    for related in &d.related {
        let [line, column, ..] = report.place(related.span, PositionEncoding::Utf8);
        let _ = writeln!(out, " {:w$} = {line}:{column}: {}", "", related.message, w = number.len());
    }
}

/// A line for each loop of which no finding speaks and that does not run inside a thread: those in loops that are not parallel, and those
/// that are not worth a finding.
fn unspoken(out: &mut String, report: &FileReport) {
    let findings = &report.findings;
    let quiet = ide::unspoken(&report.ask, findings);
    for (l, label) in quiet {
        let [line, column, ..] = report.place(l.span, PositionEncoding::Utf8);
        let _ = writeln!(out, "{}:{line}:{column}: {label}", report.path());
    }
}

/// A line for each kernel without a race that was found: those are findings.
fn unspoken_kernels(out: &mut String, report: &FileReport, kernels: &[ide::KernelReport]) {
    // of a template each instance is one
    let mut told: Vec<([u32; 4], &str, Vec<&str>)> = Vec::new();
    for k in kernels.iter().filter(|k| k.races.verdict != "race" && !k.races.words.is_empty()) {
        let place = report.place(k.span, PositionEncoding::Utf8);
        match told.iter_mut().find(|(at, words, _)| *at == place && *words == k.races.words) {
            Some((_, _, names)) => names.push(&k.name),
            None => told.push((place, &k.races.words, vec![&k.name])),
        }
    }
    for ([line, column, ..], words, names) in told {
        let more = match names.len() {
            1 => String::new(),
            n => format!(" and {} more of its instances", n - 1),
        };
        let _ = writeln!(out, "{}:{line}:{column}: kernel `{}`{more}: {words}", report.path(), names[0]);
    }
}

/// `; 2 kernels: 1 race-free, 1 unknown`; of none nothing.
fn tally_of_kernels(kernels: &[ide::KernelReport]) -> String {
    let verdicts: Vec<&str> = kernels.iter().map(|k| k.races.verdict).collect();
    match verdicts.is_empty() {
        true => String::new(),
        false => format!("; {}", counted(&verdicts, "kernel", &["race-free", "race", "unknown"])),
    }
}

/// `3 loops: 1 independent, 1 reduction, 1 sequential`.
pub fn tally(findings: &ide::Findings) -> String {
    tally_of(findings.loops.iter())
}

fn tally_of<'a>(loops: impl Iterator<Item = &'a ide::LoopFinding>) -> String {
    let verdicts: Vec<&str> = loops.map(|l| l.report().verdict).collect();
    match verdicts.is_empty() {
        true => "no loops".to_owned(),
        false => counted(&verdicts, "loop", &["independent", "reduction", "sequential", "unknown"]),
    }
}

/// `2 things: 1 such, 1 other`, in the order of `all`.
fn counted(verdicts: &[&str], noun: &str, all: &[&str]) -> String {
    let parts: Vec<String> = all
        .iter()
        .map(|verdict| (verdicts.iter().filter(|v| *v == verdict).count(), verdict))
        .filter(|(count, _)| *count > 0)
        .map(|(count, verdict)| format!("{count} {verdict}"))
        .collect();
    let things = if verdicts.len() == 1 { noun.to_owned() } else { format!("{noun}s") };
    format!("{} {things}: {}", verdicts.len(), parts.join(", "))
}
