//! `unused-ignore`: a suppression that suppresses nothing; and the suppressing itself.

use std::sync::Arc;

use base::Span;
use front::DirectiveKind;

use crate::function_view::one_line;
use crate::lints::{diagnostic, lint, Find, Lint, Message};
use crate::{Diagnostic, Doc, Fact, Settings, Severity, Tag};

pub(in crate::lints) const LINT: Lint = Lint {
    code: "unused-ignore",
    severity: Severity::Information,
    summary: "A suppression comment suppresses nothing.",
    page: include_str!("../../../../../../docs/codes/unused-ignore.md"),
    find: Find::Suppressions,
    fixes: &[],
};

/// `code`: what it names; nothing where it stands for all.
fn unused_ignore(code: Option<&str>) -> Message {
    let message = match code {
        None => {
            "Suppression without effect: there is no finding on this line or the next. Remove the comment."
                .to_owned()
        }
        Some(code) if lint(code).is_none() => format!(
            "Suppression of an unknown code: there is no finding `{}`. Correct the name, or remove it.",
            one_line(code)
        ),
        Some(code) => {
            format!("Suppression without effect: there is no `{code}` on this line or the next. Remove it.")
        }
    };
    Message { message, tags: vec![Tag::Unnecessary], ..Message::on_directive(Fact::Suppression) }
}

/// A suppression comment.
struct Ignore<'a> {
    span: Span,
    /// 0-based: its own, and the next that holds code.
    lines: [u32; 2],
    /// All, where it names none.
    codes: &'a [Arc<str>],
    /// Per code, or one entry where it names none.
    used: Vec<bool>,
}

/// Leaves out what is suppressed and adds a finding for each suppression that did nothing.
pub(in crate::lints) fn suppress(doc: &Doc, settings: &Settings, found: Vec<Diagnostic>) -> Vec<Diagnostic> {
    let mut ignores = ignores(doc);
    if ignores.is_empty() {
        return found;
    }
    let mut kept = Vec::with_capacity(found.len());
    for diagnostic in found {
        let line = doc.text().line_of(diagnostic.span.start);
        let mut suppressed = false;
        for ignore in ignores.iter_mut().filter(|i| i.lines.contains(&line)) {
            for (k, used) in ignore.used.iter_mut().enumerate() {
                if ignore.codes.get(k).is_none_or(|c| **c == *diagnostic.code) {
                    *used = true;
                    suppressed = true;
                }
            }
        }
        if !suppressed {
            kept.push(diagnostic);
        }
    }
    for ignore in &ignores {
        for (k, _) in ignore.used.iter().enumerate().filter(|(_, used)| !**used) {
            let code = ignore.codes.get(k).map(|c| &**c);
            kept.push(diagnostic(&LINT, settings, ignore.span, unused_ignore(code)));
        }
    }
    kept
}

/// Whether anything is suppressed in the document.
pub(in crate::lints) fn any(doc: &Doc) -> bool {
    !ignores(doc).is_empty()
}

fn ignores(doc: &Doc) -> Vec<Ignore<'_>> {
    let directives = &doc.unit().directives;
    let mut ignores = Vec::new();
    for (k, d) in directives.iter().enumerate() {
        let DirectiveKind::Ignore(codes) = &d.kind else { continue };
        // past the pragmas that stand there: a suppression above a marked loop speaks of the loop
        let next = front::speaks_of(directives, k);
        ignores.push(Ignore {
            span: d.span,
            lines: [d.line, doc.text().line_of(next)],
            codes,
            used: vec![false; codes.len().max(1)],
        });
    }
    ignores
}
