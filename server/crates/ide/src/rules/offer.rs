//! Which rule systems apply at a place, for the editor's list of actions.
//!
//! What is listed has been run, written and read again, but not yet run beside the original: that is done when it is
//! chosen. Deliberately absent: systems that work on terms no text stands for.

use std::sync::Arc;

use base::{Budget, Span};
use front::ItemKind;
use rewrite::rules::{RuleSet, RuleSystem, Strategy, Trust};

use super::planned::is_planned;
use super::{rewritten, RuleTarget};
use crate::check::Findings;
use crate::limits::rules::LISTED_STEPS;
use crate::words::plural;
use crate::{Ask, Doc};

/// How long a title may become by the number of places, in characters: lists of actions cut longer ones.
const TITLE: usize = 60;

/// A system that applies at a place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RuleOffer {
    pub system: String,
    pub target: RuleTarget,
    /// What it does, its name, what its result is worth, how often it applies.
    pub title: String,
    /// Whether files come into being with it.
    pub makes_files: bool,
}

impl RuleTarget {
    /// As text, for ids: `loop@7`, `function@f`, `file`.
    pub fn text(&self) -> String {
        match self {
            RuleTarget::Loop(line) => format!("loop@{line}"),
            RuleTarget::Function(name) => format!("function@{name}"),
            RuleTarget::Kernel(name) => format!("kernel@{name}"),
            RuleTarget::File => "file".to_owned(),
        }
    }
    /// From what [`RuleTarget::text`] gave.
    pub fn parse(text: &str) -> Option<RuleTarget> {
        match text.split_once('@') {
            None => (text == "file").then_some(RuleTarget::File),
            Some(("loop", line)) => line.parse().ok().map(RuleTarget::Loop),
            Some(("kernel", name)) => Some(RuleTarget::Kernel(name.to_owned())),
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

/// The main systems of pages that apply at a place: of the pages that `of` chooses, and on a kernel the steps by which it
/// can be optimized.
pub fn rule_offers(
    ask: &Ask,
    findings: &Findings,
    set: &RuleSet,
    of: impl Fn(&str) -> bool,
    span: Span,
) -> Vec<RuleOffer> {
    offers_within(ask, findings, set, of, span, &ask.budget(LISTED_STEPS))
}

/// The same with these steps for all systems together; of a system that they do not reach nothing is said.
pub(crate) fn offers_within(
    ask: &Ask,
    findings: &Findings,
    set: &RuleSet,
    of: impl Fn(&str) -> bool,
    span: Span,
    budget: &Budget,
) -> Vec<RuleOffer> {
    let doc = &ask.doc;
    let Some(target) = rule_target(doc, findings, span) else { return Vec::new() };
    let on_kernel = match &target {
        RuleTarget::Function(name) => doc.unit().items.iter().any(|i| i.is_kernel && *i.name == **name),
        _ => false,
    };
    // Pages that do what other pages do, one after the other, as far as it goes.
    let ladders: Vec<(&str, Vec<&Arc<str>>)> = match on_kernel {
        true => {
            set.pages.iter().filter_map(|p| p.main()).filter_map(|s| Some((&*s.name, steps(s)?))).collect()
        }
        false => Vec::new(),
    };
    let mut offers: Vec<RuleOffer> = Vec::new();
    let mut next_found: Vec<&str> = Vec::new();
    for page in &set.pages {
        let (Some(system), false) = (page.main(), ask.is_cancelled()) else { continue };
        let whole = ladders.iter().any(|(name, _)| *name == &*system.name);
        let step_of = ladders.iter().find(|(_, steps)| steps.contains(&&system.name));
        // loops that are planned are offered by themselves
        if !(of(&page.name) || whole || step_of.is_some()) || is_planned(system) {
            continue;
        }
        // a step changes what the kernel gives, so those who launch it go with it
        let with_launches = whole || step_of.is_some() || matches!(system.strategy, Strategy::Together(_));
        let target = match &target {
            RuleTarget::Function(name) if on_kernel && with_launches => RuleTarget::Kernel(name.clone()),
            other => other.clone(),
        };
        if super::claims::hold(set, system).is_err() {
            continue;
        }
        let trust = page.trust.clone().unwrap_or(Trust::Exact);
        let Ok(done) = rewritten(ask, findings, set, system, &trust, &target, budget) else {
            continue;
        };
        // some of it may have been left out
        if budget.left() == 0 {
            break;
        }
        let times = plural(done.steps(), "place");
        let purpose = if whole { "Optimize this kernel, all steps: " } else { "" };
        let mut title = format!("{purpose}{} (rules {}, {})", page.title, system.name, trust.text());
        if title.len() + times.len() < TITLE {
            title += &format!(": {times}");
        }
        let (system, makes_files) = (system.name.to_string(), !done.files.is_empty());
        offers.push(RuleOffer { system, target, title, makes_files });
    }
    // The next step of each ladder is its first that applies; later ones are reached over it.
    for (_, steps) in &ladders {
        let position = |o: &RuleOffer| steps.iter().position(|s| ***s == *o.system);
        let Some(next) = offers.iter().filter_map(position).min() else { continue };
        next_found.push(steps[next]);
        offers.retain(|o| position(o).is_none_or(|k| k == next));
    }
    for o in offers.iter_mut().filter(|o| next_found.contains(&o.system.as_str())) {
        o.title = format!("Optimize this kernel, next step: {}", o.title);
    }
    offers
}

/// Whether a system applies somewhere in a document; nothing is run.
pub(crate) fn applies(ask: &Ask, findings: &Findings, set: &RuleSet, system: &str) -> bool {
    let Some((page, system)) = set.find(system) else { return false };
    let trust = page.trust.clone().unwrap_or(Trust::Exact);
    let budget = ask.budget(LISTED_STEPS);
    rewritten(ask, findings, set, system, &trust, &RuleTarget::File, &budget).is_ok()
}

/// The systems that a system applies one after the other, each as far as it goes.
pub(crate) fn steps(system: &RuleSystem) -> Option<Vec<&Arc<str>>> {
    let Strategy::Then(all) = &system.strategy else { return None };
    let one = |s: &'_ Strategy| match s {
        Strategy::Try(inner) => matches!(**inner, Strategy::System(_)),
        _ => false,
    };
    if all.len() < 2 || !all.iter().all(one) || !system.rules.is_empty() {
        return None;
    }
    let mut named = Vec::new();
    system.strategy.systems(&mut named);
    Some(named)
}
