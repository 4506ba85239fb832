//! The editor's vocabulary of `ide` in the words of LSP.

use text::{PositionRange, Text};
use tower_lsp::ls_types as lsp;

use super::caps::Caps;
use base::Span;

pub const SOURCE: &str = "warpwright";

pub fn position(position: text::Position) -> lsp::Position {
    lsp::Position { line: position.line, character: position.character }
}

pub fn range(span: Span, text: &Text, caps: &Caps) -> lsp::Range {
    from_range(text.range_of(span, caps.encoding))
}

pub fn from_range(range: PositionRange) -> lsp::Range {
    lsp::Range { start: position(range.start), end: position(range.end) }
}

pub fn severity(severity: ide::Severity) -> lsp::DiagnosticSeverity {
    match severity {
        ide::Severity::Hint => lsp::DiagnosticSeverity::HINT,
        ide::Severity::Information => lsp::DiagnosticSeverity::INFORMATION,
        ide::Severity::Warning => lsp::DiagnosticSeverity::WARNING,
        ide::Severity::Error => lsp::DiagnosticSeverity::ERROR,
    }
}

pub fn diagnostics(
    found: &[ide::Diagnostic],
    doc: &ide::Doc,
    uri: &lsp::Uri,
    caps: &Caps,
) -> Vec<lsp::Diagnostic> {
    found.iter().map(|d| diagnostic(d, doc, uri, caps)).collect()
}

fn diagnostic(d: &ide::Diagnostic, doc: &ide::Doc, uri: &lsp::Uri, caps: &Caps) -> lsp::Diagnostic {
    let range = |span: Span| from_range(doc.range_of(span, caps.encoding));
    let related = || {
        let information = |r: &ide::Related| lsp::DiagnosticRelatedInformation {
            location: lsp::Location { uri: uri.clone(), range: range(r.span) },
            message: r.message.to_string(),
        };
        d.related.iter().map(information).collect()
    };
    let unnecessary = caps.unnecessary_tag && d.tags.contains(&ide::Tag::Unnecessary);
    lsp::Diagnostic {
        range: range(d.span),
        severity: Some(severity(d.severity)),
        code: Some(lsp::NumberOrString::String(d.code.to_owned())),
        source: Some(SOURCE.to_owned()),
        message: d.message.to_string(),
        related_information: (caps.related_information && !d.related.is_empty()).then(related),
        tags: unnecessary.then(|| vec![lsp::DiagnosticTag::UNNECESSARY]),
        ..Default::default()
    }
}

/// What stands in a document that is no longer analyzed.
pub fn given_up_note() -> lsp::Diagnostic {
    let start = lsp::Position { line: 0, character: 0 };
    lsp::Diagnostic {
        range: lsp::Range { start, end: start },
        severity: Some(lsp::DiagnosticSeverity::INFORMATION),
        code: Some(lsp::NumberOrString::String("not-analyzed".to_owned())),
        source: Some(SOURCE.to_owned()),
        message: "This document is not analyzed: the analysis failed twice inside Warpwright. Close and open it to try \
                  again; the server's log says where it failed, which is worth a report."
            .to_owned(),
        ..Default::default()
    }
}
