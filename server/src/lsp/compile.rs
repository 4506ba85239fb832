//! The compile check of marked loops: their kernels are made and given to NVRTC.
//!
//! Where there is no NVRTC nothing is said and nothing else changes.

use base::CancelToken;
use tower_lsp::ls_types as lsp;

use super::caps::Caps;
use super::document::View;
use super::to_lsp;
use crate::compile::compile;
use crate::rule_pages::Pages;
use crate::settings::Settings;

/// What the compiler says against the kernels of the marked loops, at the lines they come from. `None`: nothing is
/// known.
pub fn check_marked(
    view: &View,
    settings: &Settings,
    caps: &Caps,
    pages: &Pages,
) -> Option<Vec<lsp::Diagnostic>> {
    let analyzed = view.analyzed.as_ref()?;
    analyzed.findings.marked().next()?;
    let cancel = CancelToken::new();
    let findings = &analyzed.findings;
    // why a marked loop is not offloaded is said by its own diagnostic
    let done =
        ide::offload(&analyzed.ask(&cancel).with_pages(&pages.set), findings, &ide::Which::Marked).ok()?;
    let mut found = Vec::new();
    for file in done.edit.create.iter().filter(|f| f.name.ends_with(".cu")) {
        let outcome = compile(&file.name, &file.text, &done.build_flags, settings, &cancel);
        match outcome.map_err(|why| tracing::warn!("no compile check: {why}")).ok()? {
            device::CompileOutcome::Compiled(_) => {}
            device::CompileOutcome::Failed(failed) => {
                let errors = failed.messages.iter().filter(|m| m.severity == device::Severity::Error);
                found.extend(errors.map(|error| {
                    let line = original_line(&done, &file.name, error.line);
                    let range = to_lsp::range(first_characters(view, line), &view.text, caps);
                    diagnostic(range, words(error, &failed, &file.name))
                }));
            }
            device::CompileOutcome::Unavailable(why) => {
                tracing::info!("no compile check: {why}");
                return None;
            }
        }
    }
    Some(found)
}

/// The line of the document (from 1) that a line of a kernel file comes from, or its loop's.
fn original_line(done: &ide::Offloaded, file: &str, line: Option<u32>) -> u32 {
    let loops = || done.loops.iter().filter(|l| l.kernel_file == file);
    let mapped = |line: u32| {
        loops()
            .flat_map(|l| &l.line_map)
            .filter(|(kernel, _)| *kernel <= line)
            .max()
            .map(|(_, original)| *original)
    };
    line.and_then(mapped).or_else(|| loops().map(|l| l.line).next()).unwrap_or(1)
}

/// The text of a line (from 1) without its indentation.
fn first_characters(view: &View, line: u32) -> base::Span {
    let line = line.saturating_sub(1);
    let span = view.text.line_span(line).unwrap_or_default();
    let indentation = view.text.indentation_of(line).len() as u32;
    base::Span { start: (span.start + indentation).min(span.end), end: span.end }
}

fn words(error: &device::CompileMessage, failed: &device::Failed, file: &str) -> String {
    let line = error.line.map(|line| format!(", line {line}")).unwrap_or_default();
    format!(
        "The kernel made of this line does not compile for {} ({file}{line}): {} This is a defect of Warpwright; remove \
         the mark and report it.",
        failed.arch, error.text
    )
}

fn diagnostic(range: lsp::Range, message: String) -> lsp::Diagnostic {
    lsp::Diagnostic {
        range,
        severity: Some(lsp::DiagnosticSeverity::ERROR),
        code: Some(lsp::NumberOrString::String("kernel-does-not-compile".to_owned())),
        source: Some(to_lsp::SOURCE.to_owned()),
        message,
        ..Default::default()
    }
}
