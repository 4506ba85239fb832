//! Tests of this room, by view. Inputs are tiny C functions; `$0` is the cursor; carets stand under what a finding
//! underlines.

mod actions;
mod asks;
mod causes;
mod costs;
mod cpp;
mod cpp_types;
mod csharp;
mod decided;
mod freedom;
mod hover;
mod incremental;
mod kernel_hovers;
mod kernel_repairs;
mod kernel_rules;
mod kernel_words;
mod kernels;
mod ladders;
mod launches;
mod lints;
mod mapping;
mod memory;
mod messages;
mod more_threads;
mod needed;
mod numbered;
mod offloading;
mod optimizing;
mod pages;
mod pairs;
mod parts;
mod planted;
mod polybench;
mod projects;
mod promises;
mod quiet;
mod reasons;
mod recording;
mod reports;
mod robust;
mod rule_files;
mod rules;
mod third_language;
mod threads;
mod tiling;
mod together;
mod toolkit;
mod transforming;
mod traps;
mod untrue;
mod verifying;
mod verifying_alone;
mod verifying_retyped;
mod views;
mod ways;
mod words;
mod worth;

use base::{CancelToken, Span};
use text::Text;

use crate::{check, Doc, Findings, Language, Memo, Options, Settings, Tier};

/// A C document.
pub(crate) fn open(code: &str) -> Doc {
    let text = Text::new(code).expect("a small text");
    Doc::open(Language::C, "test.c", text, Options::default())
}

pub(crate) fn open_cuda(code: &str) -> Doc {
    let text = Text::new(code).expect("a small text");
    Doc::open(Language::Cuda, "test.cu", text, Options::default())
}

/// Likewise, for another device.
pub(crate) fn open_for(target: &str, code: &str) -> Doc {
    let text = Text::new(code).expect("a small text");
    let target = crate::Target::of(target).expect("a target");
    Doc::open(Language::Cuda, "test.cu", text, Options { target, ..Options::default() })
}

/// Its findings with the full budget.
pub(crate) fn full(doc: &Doc) -> Findings {
    full_with(doc, &Settings::default())
}

pub(crate) fn full_with(doc: &Doc, settings: &Settings) -> Findings {
    check(&crate::Ask::new(doc, &Memo::new(), Tier::Full, &CancelToken::new()), settings)
        .expect("nobody cancels")
}

/// Its findings where others have taken all steps of the file.
pub(crate) fn without_steps(doc: &Doc) -> Findings {
    let ask = crate::Ask::new(doc, &Memo::new(), Tier::Full, &CancelToken::new());
    let _ = ask.steps.spend(u64::MAX);
    check(&ask, &Settings::default()).expect("nobody cancels")
}

/// The code without `$0`, and where that stood.
pub(crate) fn cursor(code: &str) -> (String, u32) {
    let at = code.find("$0").expect("a cursor in the input");
    (code.replacen("$0", "", 1), at as u32)
}

/// The code with a line of carets under each diagnostic: `//  ^^^ code`. Diagnostics must begin at column 3 or later.
pub(crate) fn annotate(doc: &Doc, findings: &Findings) -> String {
    let text = doc.text();
    let mut out = String::new();
    for line in 0..text.line_count() {
        let span = text.line_span(line).expect("a line");
        out.push_str(&text.line(line));
        out.push('\n');
        for d in findings.diagnostics.iter().filter(|d| text.line_of(d.span.start) == line) {
            let end = d.span.end.min(span.end);
            let (indent, width) = (d.span.start - span.start, end - d.span.start);
            let blanks = " ".repeat((indent as usize).saturating_sub(2));
            out.push_str(&format!("//{blanks}{} {}\n", "^".repeat(width as usize), d.code));
        }
    }
    // the last line has no terminator of its own
    out.pop();
    out
}

/// The code without its lines of carets.
pub(crate) fn plain(code: &str) -> String {
    let is_carets = |l: &&str| {
        let rest = l.strip_prefix("//").map(str::trim_start);
        rest.is_some_and(|r| r.starts_with('^'))
    };
    code.split('\n').filter(|l| !is_carets(l)).collect::<Vec<_>>().join("\n")
}

/// The findings are exactly those under which carets stand.
pub(crate) fn check_carets(code: &str) {
    let doc = open(&plain(code));
    assert_eq!(annotate(&doc, &full(&doc)), code);
}

/// Everything, for views that take a range.
pub(crate) fn everywhere(doc: &Doc) -> Span {
    doc.text().span()
}
