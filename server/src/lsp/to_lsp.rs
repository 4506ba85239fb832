//! The editor's vocabulary of `ide` in the words of LSP.

use serde::Serialize;
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

fn from_range(range: PositionRange) -> lsp::Range {
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

/// [`diagnostics`] as the JSON text that is sent, without making them first: every keystroke pays for this.
pub fn rendered(found: &[ide::Diagnostic], doc: &ide::Doc, uri: &lsp::Uri, caps: &Caps) -> String {
    let range = |span: Span| from_range(doc.range_of(span, caps.encoding));
    let location = |span: Span| Place { uri: uri.as_str(), range: range(span) };
    let mut out = Vec::with_capacity(found.len() * 1024 + 2);
    out.push(b'[');
    for d in found {
        let related = d.related.iter().map(|r| Related { location: location(r.span), message: &r.message });
        let related: Vec<Related> = if caps.related_information { related.collect() } else { Vec::new() };
        let unnecessary = caps.unnecessary_tag && d.tags.contains(&ide::Tag::Unnecessary);
        let shown = Shown {
            range: range(d.span),
            severity: severity(d.severity),
            code: d.code,
            source: SOURCE,
            message: &d.message,
            related_information: related,
            tags: if unnecessary { &[lsp::DiagnosticTag::UNNECESSARY] } else { &[] },
        };
        if out.len() > 1 {
            out.push(b',');
        }
        // nothing in it can fail to be written
        let _ = serde_json::to_writer(&mut out, &shown);
    }
    out.push(b']');
    String::from_utf8(out).unwrap_or_else(|_| "[]".to_owned())
}

/// `lsp::Diagnostic`, borrowed.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Shown<'a> {
    range: lsp::Range,
    severity: lsp::DiagnosticSeverity,
    code: &'a str,
    source: &'a str,
    message: &'a str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    related_information: Vec<Related<'a>>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    tags: &'a [lsp::DiagnosticTag],
}

#[derive(Serialize)]
struct Related<'a> {
    location: Place<'a>,
    message: &'a str,
}

#[derive(Serialize)]
struct Place<'a> {
    uri: &'a str,
    range: lsp::Range,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_sent_is_what_requests_are_answered_with() -> anyhow::Result<()> {
        let code = "// warpwright: ignore[x]\nvoid f(int n, float *a) {\n  /* \u{1f600}\"\\ */ for (int i = 1; i < n; i++) \
                    a[i] = a[i - 1];\n}\nvoid g(float *a) { while (*a) a++; }\n";
        let doc = ide::Doc::open(ide::Language::C, "a.c", Text::new(code)?, ide::Options::default());
        let uri: lsp::Uri = "file:///a%20b.c".parse()?;
        let memo = ide::Memo::new();
        let cancel = base::CancelToken::new();
        let Ok(findings) =
            ide::check(&ide::Ask::new(&doc, &memo, ide::Tier::Full, &cancel), &ide::Settings::default())
        else {
            anyhow::bail!("cancelled")
        };
        let found = &findings.diagnostics;
        assert!(
            found.len() > 2 && found.iter().any(|d| !d.related.is_empty() && d.tags.is_empty()),
            "{found:?}"
        );
        for flags in [false, true] {
            let caps = Caps { related_information: flags, unnecessary_tag: flags, ..Caps::default() };
            let made = serde_json::to_string(&diagnostics(found, &doc, &uri, &caps))?;
            assert_eq!(rendered(found, &doc, &uri, &caps), made);
        }
        Ok(())
    }
}
