//! `unused-ignore`: a suppression that suppresses nothing; and the suppressing itself.

use std::sync::Arc;

use front::{Directive, DirectiveKind};

use super::{diagnostic, lint, Find, Lint, Said};
use crate::place::one_line;
use crate::{Diagnostic, Doc, Settings, Severity, Tag};

pub(super) const LINT: Lint = Lint {
    code: "unused-ignore",
    severity: Severity::Information,
    summary: "A suppression comment suppresses nothing.",
    page: include_str!("../../../../../docs/codes/unused-ignore.md"),
    find: Find::Suppressions,
};

/// `code`: what it names; nothing where it stands for all.
fn unused_ignore(code: Option<&str>) -> Said {
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
    Said { message, tags: vec![Tag::Unnecessary], ..Said::default() }
}

/// Leaves out what is suppressed and adds a finding for each suppression that did nothing.
pub(super) fn suppress(doc: &Doc, settings: &Settings, found: Vec<Diagnostic>) -> Vec<Diagnostic> {
    let ignores: Vec<(&Directive, &[Arc<str>])> = doc
        .unit()
        .directives
        .iter()
        .filter_map(|d| match &d.kind {
            DirectiveKind::Ignore(codes) => Some((d, codes.as_slice())),
            _ => None,
        })
        .collect();
    if ignores.is_empty() {
        return found;
    }
    // per suppression, per code (one entry where it names none)
    let mut used: Vec<Vec<bool>> = ignores.iter().map(|(_, codes)| vec![false; codes.len().max(1)]).collect();
    let mut kept = Vec::with_capacity(found.len());
    for diagnostic in found {
        let line = doc.text().line_of(diagnostic.span.start);
        let mut suppressed = false;
        for ((directive, codes), used) in ignores.iter().zip(&mut used) {
            if !covers(doc, directive, line) {
                continue;
            }
            for (k, used) in used.iter_mut().enumerate() {
                if codes.get(k).is_none_or(|c| **c == *diagnostic.code) {
                    *used = true;
                    suppressed = true;
                }
            }
        }
        if !suppressed {
            kept.push(diagnostic);
        }
    }
    for ((directive, codes), used) in ignores.iter().zip(&used) {
        for (k, _) in used.iter().enumerate().filter(|(_, used)| !**used) {
            let code = codes.get(k).map(|c| &**c);
            kept.push(diagnostic(&LINT, settings, directive.span, unused_ignore(code)));
        }
    }
    kept
}

/// Whether a suppression speaks of this line (0-based): its own, and the next that holds code.
fn covers(doc: &Doc, directive: &Directive, line: u32) -> bool {
    line == directive.line || line == doc.text().line_of(after_directives(doc, directive.before))
}

/// The next token, past the pragmas that stand there: a suppression above a marked loop speaks of the loop.
fn after_directives(doc: &Doc, mut at: u32) -> u32 {
    for d in &doc.unit().directives {
        if d.span.start == at && d.before > at {
            at = d.before;
        }
    }
    at
}
