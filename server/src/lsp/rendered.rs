//! Diagnostics as the JSON text that is sent, without making the protocol's values first: every keystroke pays for this.
//!
//! Of a long document it is a megabyte, and an edit changes little of it: what is said as before of a place that did not
//! move is copied from the text before. The text is the same either way.

use std::ops::Range;
use std::sync::Arc;

use serde::Serialize;
use text::{PositionEncoding, Unchanged};
use tower_lsp::ls_types as lsp;

use super::caps::Caps;
use super::document::View;
use super::to_lsp::{from_range, severity, SOURCE};
use base::Span;

/// A list of diagnostics as JSON. Clones share it.
#[derive(Clone, Debug)]
pub struct Rendered {
    pub json: Arc<String>,
    /// Where each of the findings of an analysis ends in it, the comma behind it included; `None`: it is another list.
    ends: Option<Arc<[usize]>>,
    worded: Worded,
}

/// What of the client decides how findings are put into JSON.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Worded {
    encoding: PositionEncoding,
    related_information: bool,
    unnecessary_tag: bool,
}

/// What was rendered of an earlier version of a document.
struct Earlier<'a> {
    found: &'a [ide::Diagnostic],
    json: &'a str,
    ends: &'a [usize],
    unchanged: Unchanged,
}

impl Rendered {
    /// Of values.
    pub fn of(diagnostics: &[lsp::Diagnostic]) -> Rendered {
        let json = serde_json::to_string(diagnostics).unwrap_or_else(|_| "[]".to_owned());
        Rendered { json: Arc::new(json), ends: None, worded: Worded::default() }
    }

    /// Of findings; `before` is an earlier version of the document.
    pub fn findings(
        found: &[ide::Diagnostic],
        doc: &ide::Doc,
        uri: &lsp::Uri,
        caps: &Caps,
        before: Option<&View>,
    ) -> Rendered {
        let worded = Worded {
            encoding: caps.encoding,
            related_information: caps.related_information,
            unnecessary_tag: caps.unnecessary_tag,
        };
        let earlier = before.and_then(|view| {
            let analyzed = view.analyzed.as_ref()?;
            let found = &analyzed.findings.diagnostics[..];
            let (json, ends) = (&view.rendered.json[..], view.rendered.ends.as_deref()?);
            let is_of_these = ends.len() == found.len() && view.rendered.worded == worded && view.uri == *uri;
            let earlier = || Earlier { found, json, ends, unchanged: doc.unchanged_since(&analyzed.doc) };
            is_of_these.then(earlier)
        });
        let (mut first, mut last) = (0, 0);
        if let Some(earlier) = &earlier {
            let most = found.len().min(earlier.found.len());
            let (old, new) = (earlier.found.iter(), found.iter());
            first = old.zip(new).take_while(|(a, b)| earlier.is_same(a, b)).count();
            let (old, new) = (earlier.found[first..].iter().rev(), found[first..].iter().rev());
            last = old.zip(new).take(most - first).take_while(|(a, b)| earlier.is_same(a, b)).count();
        }
        let room = earlier.as_ref().map_or(found.len() * 512, |e| e.json.len() + 4096);
        let mut out = Out { json: String::with_capacity(room), ends: Vec::with_capacity(found.len()) };
        out.json.push('[');
        if let Some(e) = &earlier {
            out.copy(e, 0..first);
        }
        let mut buffer = Vec::new();
        for d in &found[first..found.len() - last] {
            buffer.clear();
            write(d, (doc, uri), worded, &mut buffer);
            out.json.push_str(std::str::from_utf8(&buffer).unwrap_or_default());
            out.json.push(',');
            out.ends.push(out.json.len());
        }
        if let Some(e) = &earlier {
            out.copy(e, e.found.len() - last..e.found.len());
        }
        if !found.is_empty() {
            out.json.pop();
        }
        out.json.push(']');
        Rendered { json: Arc::new(out.json), ends: Some(out.ends.into()), worded }
    }
}

impl Earlier<'_> {
    /// Whether JSON says the same of both.
    fn is_same(&self, old: &ide::Diagnostic, new: &ide::Diagnostic) -> bool {
        let is_text = |a: &Arc<str>, b: &Arc<str>| Arc::ptr_eq(a, b) || a == b;
        let is_related = |(a, b): (&ide::Related, &ide::Related)| {
            is_text(&a.message, &b.message) && self.unchanged.is_in_place(a.span, b.span)
        };
        self.unchanged.is_in_place(old.span, new.span)
            && old.code == new.code
            && old.severity == new.severity
            && old.tags == new.tags
            && is_text(&old.message, &new.message)
            && old.related.len() == new.related.len()
            && old.related.iter().zip(&new.related).all(is_related)
    }
}

/// A list that is being written, a comma behind each of its parts.
struct Out {
    json: String,
    ends: Vec<usize>,
}

impl Out {
    /// Takes these over.
    fn copy(&mut self, earlier: &Earlier, which: Range<usize>) {
        let Some(last) = which.end.checked_sub(1).filter(|last| *last >= which.start) else { return };
        let from = which.start.checked_sub(1).map_or(1, |before| earlier.ends[before]);
        // of the whole list, the last has a bracket behind it
        self.json.push_str(&earlier.json[from..earlier.ends[last] - 1]);
        self.json.push(',');
        let here = self.json.len();
        self.ends.extend(earlier.ends[which].iter().map(|end| here + end - earlier.ends[last]));
    }
}

/// One finding as JSON.
fn write(d: &ide::Diagnostic, (doc, uri): (&ide::Doc, &lsp::Uri), worded: Worded, out: &mut Vec<u8>) {
    let range = |span: Span| from_range(doc.range_of(span, worded.encoding));
    let location = |span: Span| Place { uri: uri.as_str(), range: range(span) };
    let related = d.related.iter().map(|r| Related { location: location(r.span), message: &r.message });
    let related: Vec<Related> = if worded.related_information { related.collect() } else { Vec::new() };
    let unnecessary = worded.unnecessary_tag && d.tags.contains(&ide::Tag::Unnecessary);
    let shown = Shown {
        range: range(d.span),
        severity: severity(d.severity),
        code: d.code,
        source: SOURCE,
        message: &d.message,
        related_information: related,
        tags: if unnecessary { &[lsp::DiagnosticTag::UNNECESSARY] } else { &[] },
    };
    // nothing in it can fail to be written
    let _ = serde_json::to_writer(out, &shown);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lsp::document::Analyzed;
    use crate::lsp::to_lsp::diagnostics;
    use proptest::prelude::*;
    use std::sync::OnceLock;

    fn checked(doc: &ide::Doc, memo: &ide::Memo) -> anyhow::Result<ide::Findings> {
        let ask = ide::Ask::new(doc, memo, ide::Tier::Typing, &base::CancelToken::new());
        ide::check(&ask, &ide::Settings::default()).map_err(|_| anyhow::anyhow!("cancelled"))
    }

    fn all_caps() -> impl Iterator<Item = Caps> {
        let caps = |flags| Caps { related_information: flags, unnecessary_tag: flags, ..Caps::default() };
        let encoded = move |encoding| [false, true].map(|flags| Caps { encoding, ..caps(flags) });
        PositionEncoding::ALL.into_iter().flat_map(encoded)
    }

    #[test]
    fn what_is_sent_is_what_requests_are_answered_with() -> anyhow::Result<()> {
        let code = "// warpwright: ignore[x]\nvoid f(int n, float *a) {\n  /* \u{1f600}\"\\ */ for (int i = 1; i < n; i++) \
                    a[i] = a[i - 1];\n}\nvoid g(int n, float *a) { for (int i = 1; i < n; i++) a[i] = a[i - 1] * 2; }\n";
        let doc = ide::Doc::open(ide::Language::C, "a.c", text::Text::new(code)?, ide::Options::default());
        let uri: lsp::Uri = "file:///a%20b.c".parse()?;
        let findings = checked(&doc, &ide::Memo::new())?;
        let found = &findings.diagnostics;
        assert!(
            found.len() > 2 && found.iter().any(|d| !d.related.is_empty() && d.tags.is_empty()),
            "{found:?}"
        );
        for caps in all_caps() {
            let made = serde_json::to_string(&diagnostics(found, &doc, &uri, &caps))?;
            assert_eq!(*Rendered::findings(found, &doc, &uri, &caps, None).json, made);
        }
        Ok(())
    }

    /// What is put where in a text that is edited again and again; places are shares of the text.
    fn edits() -> impl Strategy<Value = Vec<(f64, usize, &'static str)>> {
        const PIECES: [&str; 16] = [
            "",
            "",
            "2",
            " ",
            "\n",
            "\r\n",
            "\r",
            "/* \u{e9}\u{1f600} */",
            "*/",
            "\"",
            "{",
            "}",
            "for (int i = 1; i < n; i++) a[i] = a[i - 1];\n",
            "\nvoid k(int n, float *a) { for (int i = 0; i < n; i++) a[i] = 0; }\n",
            "// warpwright: ignore[x]\n",
            "#define n 7\n",
        ];
        let edit = (0.0..1.0, 0usize..40, proptest::sample::select(&PIECES[..]));
        proptest::collection::vec(edit, 1..12)
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]

        #[test]
        fn what_is_taken_over_is_what_would_be_written(edits in edits(), by in 0usize..6) {
            let function = |k: usize| {
                format!("/* \u{e9} */ void f{k}(int n, float *a) {{\n  /*\u{1f600}*/for (int i = 1; i < n; i++) a[i] = a[i - 1];\n  \
                         for (int i = 0; i < n; i++) {{ a[i] = {k}; }}\n}}\nint g{k}(int *a) {{ while (*a) a++; return *a; }}\n")
            };
            let mut code: String = (0..5).map(function).collect();
            let caps = all_caps().nth(by).unwrap_or_default();
            let uri: lsp::Uri = "file:///a.c".parse().unwrap();
            let memo = ide::Memo::new();
            let mut before: Option<View> = None;
            for (at, removed, put) in edits {
                let near = |mut k: usize| {
                    k = k.min(code.len());
                    while !code.is_char_boundary(k) {
                        k -= 1;
                    }
                    k
                };
                let from = near((at * code.len() as f64) as usize);
                code.replace_range(from..near(from + removed).max(from), put);
                let text = text::Text::new(&code).unwrap();
                let doc = ide::Doc::open(ide::Language::C, "a.c", text.clone(), ide::Options::default());
                let findings = checked(&doc, &memo).unwrap();
                let made = serde_json::to_string(&diagnostics(&findings.diagnostics, &doc, &uri, &caps)).unwrap();
                let rendered = Rendered::findings(&findings.diagnostics, &doc, &uri, &caps, before.as_ref());
                prop_assert_eq!(&*rendered.json, &made, "{}", code);
                before = Some(View {
                    uri: uri.clone(),
                    version: 0,
                    generation: 0,
                    text,
                    analyzed: Some(Analyzed { doc, findings: findings.into(), memo: memo.clone() }),
                    rendered,
                    diagnostics: OnceLock::new(),
                    tier: ide::Tier::Typing,
                });
            }
        }
    }
}
