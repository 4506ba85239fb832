//! Which rule systems apply at a place, for the editor's list of actions.
//!
//! What is listed has been run, written and read again, but not yet run beside the original: that is done when it is
//! chosen. Deliberately absent: systems that work on terms no text stands for.

use base::{CancelToken, Span};
use front::ItemKind;
use rewrite::rules::{RuleSet, Trust};

use super::{rewritten, RuleTarget};
use crate::check::Findings;
use crate::words::plural;
use crate::Doc;

/// A system that applies at a place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RuleOffer {
    pub system: String,
    pub target: RuleTarget,
    /// What it does, its name, what its result is worth, how often it applies.
    pub title: String,
}

impl RuleTarget {
    /// As text, for ids: `loop@7`, `function@f`, `file`.
    pub fn text(&self) -> String {
        match self {
            RuleTarget::Loop(line) => format!("loop@{line}"),
            RuleTarget::Function(name) => format!("function@{name}"),
            RuleTarget::File => "file".to_owned(),
        }
    }
    /// From what [`RuleTarget::text`] gave.
    pub fn parse(text: &str) -> Option<RuleTarget> {
        match text.split_once('@') {
            None => (text == "file").then_some(RuleTarget::File),
            Some(("loop", line)) => line.parse().ok().map(RuleTarget::Loop),
            Some(("function", name)) => Some(RuleTarget::Function(name.to_owned())),
            Some(_) => None,
        }
    }
}

/// The loop whose header the span touches, else the function around it.
pub fn rule_target(doc: &Doc, findings: &Findings, span: Span) -> Option<RuleTarget> {
    let touched =
        findings.loops.iter().rev().find(|l| l.header.start <= span.end && span.start <= l.header.end);
    if let Some(l) = touched {
        return Some(RuleTarget::Loop(doc.text().line_of(l.header.start) + 1));
    }
    rule_function(doc, span.start)
}

/// The function around an offset.
pub fn rule_function(doc: &Doc, offset: u32) -> Option<RuleTarget> {
    let items = doc.unit().items.iter().filter(|i| i.kind == ItemKind::Function);
    let mut around = items.filter(|i| i.span.start <= offset && offset <= i.span.end);
    around.next().map(|i| RuleTarget::Function(i.name.to_string()))
}

/// The main systems of the pages that `of` chooses which apply at a place.
pub fn rule_offers(
    doc: &Doc,
    findings: &Findings,
    set: &RuleSet,
    of: impl Fn(&str) -> bool,
    span: Span,
    cancel: &CancelToken,
) -> Vec<RuleOffer> {
    let Some(target) = rule_target(doc, findings, span) else { return Vec::new() };
    let mut offers = Vec::new();
    for page in set.pages.iter().filter(|p| of(&p.name)) {
        let (Some(system), false) = (page.main(), cancel.is_cancelled()) else { continue };
        let trust = page.trust.clone().unwrap_or(Trust::Exact);
        let Ok(done) = rewritten(doc, findings, set, system, &trust, &target, cancel) else { continue };
        let times = plural(done.steps(), "place");
        let title = format!("{} (rules {}, {}): {times}", page.title, system.name, trust.text());
        offers.push(RuleOffer { system: system.name.to_string(), target: target.clone(), title });
    }
    offers
}
