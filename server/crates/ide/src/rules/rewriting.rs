//! A system applied function by function, within counted steps, and what became of them put together.
//!
//! Deliberately absent: whether the result is right; that is looked at by whoever hands it out.

use std::cell::RefCell;
use std::sync::Arc;

use analysis::Facts;
use base::Budget;
use front::{Item, ItemKind};
use rewrite::rules::{
    apply, read_again, read_together, Application, Limits, NoApplication, NoResult, Preamble, Reading,
    RuleSet, RuleSystem, Site, Systems, Together, Trust,
};
use term::TermId;
use text::{Edit, EditSet};

use super::{claims, end_of_line, together, Done, NotDone, RuleTarget};
use crate::check::Findings;
use crate::offload::{first_reject, rejects};
use crate::words::plural;
use crate::{Ask, Doc, NewFile};

/// What a system makes of a document, within so many steps. A system that applies to a part only of what belongs together is
/// left out.
pub(super) fn rewritten(
    ask: &Ask,
    findings: &Findings,
    set: &RuleSet,
    system: &Arc<RuleSystem>,
    trust: &Trust,
    target: &RuleTarget,
    budget: &Budget,
) -> Result<Done, NotDone> {
    let doc = &ask.doc;
    let mut systems = set.systems.clone();
    // why the first system was left out: what remains without it came less far
    let mut first: Option<String> = None;
    loop {
        let by = By { set, systems: &systems, system, trust, budget };
        let done = by.rewritten(ask, findings, target, Reading::Together);
        let done = done.map_err(|no| match (no.kind, first.take()) {
            (NoResult::NothingApplies, Some(because)) => {
                let reasons = std::iter::once(because.clone()).chain(no.reasons).collect();
                NotDone { kind: no.kind, because, reasons, matched: usize::MAX }
            }
            _ => no,
        })?;
        let Some((torn, because)) = together::torn(doc, &systems, &done) else {
            return match together::calls_fit(doc, &done.text) {
                Ok(()) => Ok(done),
                Err(because) => Err(not_done(NoResult::Wrong, because)),
            };
        };
        systems.remove(&torn);
        first.get_or_insert_with(|| because.clone());
        if torn == system.name {
            let mut reasons = vec![because.clone()];
            reasons.extend(done.reasons);
            return Err(NotDone { reasons, ..not_done(NoResult::NothingApplies, because) });
        }
    }
}

/// By what a document is rewritten.
struct By<'a> {
    set: &'a RuleSet,
    /// Those that may be named.
    systems: &'a Systems,
    system: &'a Arc<RuleSystem>,
    trust: &'a Trust,
    budget: &'a Budget,
}

impl By<'_> {
    /// Function by function. What became of them is read again in one, and in the text of each alone only where that says
    /// that something is wrong with one of them.
    fn rewritten(
        &self,
        ask: &Ask,
        findings: &Findings,
        target: &RuleTarget,
        reading: Reading,
    ) -> Result<Done, NotDone> {
        let doc = &ask.doc;
        let (options, facts, memo) = (doc.options().to_front(), Facts::default(), RefCell::default());
        let site = Site {
            unit: doc.unit(),
            text: doc.source(),
            language: doc.language(),
            options: &options,
            program: doc.program(),
            item: 0,
            facts: &facts,
            budget: self.budget,
            together: &Together::default(),
            memo: &memo,
            reading,
        };
        let attempts = self
            .function_by_function(ask, findings, target, &site)
            .map_err(|because| not_done(NoResult::NothingApplies, because))?;
        if attempts.applications.is_empty() {
            return Err(attempts.into_not_done());
        }
        let (edits, text) =
            edited(doc, &attempts.applications).map_err(|why| not_done(NoResult::NotText, why))?;
        if reading == Reading::Together {
            let site = Site { together: &attempts.together, ..site };
            if read_together(&site, &text, &attempts.applications).is_err() {
                return self.rewritten(ask, findings, target, Reading::Alone);
            }
        }
        let Attempts { applications, left, reasons, recognized, .. } = attempts;
        let known: Vec<String> = rejects(doc.unit()).map(|(_, r)| r.to_owned()).collect();
        if let Some((line, reason)) = first_reject(doc.language(), doc, &text, &known) {
            let because = format!("the result was not understood when read again (line {line}: {reason})");
            return Err(NotDone { reasons, ..not_done(NoResult::Wrong, because) });
        }
        let files = applications.iter().flat_map(|(_, a)| &a.files);
        let files = files
            .map(|f| NewFile { name: f.name.to_string(), text: f.text.clone(), is_shared: false })
            .collect();
        Ok(Done { edits, text, files, applications, left, reasons, recognized })
    }

    /// What comes of the functions that are meant. `site`: any place of the document. `Err`: why there is no function.
    fn function_by_function(
        &self,
        ask: &Ask,
        findings: &Findings,
        target: &RuleTarget,
        site: &Site<'_>,
    ) -> Result<Attempts, String> {
        let By { set, systems, system, trust, budget } = *self;
        let mut targets = targets(&ask.doc, findings, target)?;
        // kernels first: those who launch them are told which were rewritten
        targets.sort_by_key(|(item, _)| !site.unit.items[*item].is_kernel);
        let mut attempts = Attempts::default();
        let mut missed = 0usize;
        for (item, term) in targets {
            if budget.left() == 0 || ask.is_cancelled() {
                missed += 1;
                continue;
            }
            let facts = facts_of(findings, item);
            let at = Site { item, facts: &facts, together: &attempts.together, ..*site };
            let applied = apply(&at, system, systems, trust, term, Limits::default());
            let function = &site.unit.items[item];
            match applied.and_then(|a| claims::cover(a, set)) {
                Ok(a) => {
                    // the text of all is read as a whole, for what stands in it, its gaps and its calls
                    let first = attempts.applications.is_empty() && site.reading == Reading::Together;
                    if first && budget.spend(3 * read_again(site.text)).is_err() {
                        missed += 1;
                        continue;
                    }
                    attempts.add(item, function, a);
                }
                Err(why) => attempts.add_failure(function, *why, *target == RuleTarget::File),
            }
        }
        attempts.applications.sort_by_key(|(item, _)| *item);
        if missed > 0 {
            attempts.left.push(not_done(NoResult::Limits, untried(missed)));
        }
        Ok(attempts)
    }
}

/// What came of functions that a system was tried on.
#[derive(Default)]
struct Attempts {
    /// With the positions of their functions.
    applications: Vec<(usize, Application)>,
    together: Together,
    recognized: Vec<(Arc<str>, Arc<str>)>,
    /// Functions left as they are though something applies.
    left: Vec<NotDone>,
    /// What was missing where a rule matched.
    reasons: Vec<String>,
    /// Why nothing applies to a function, and the parts of the rule that matched there.
    best: Option<(String, usize)>,
}

impl Attempts {
    fn add(&mut self, item: usize, function: &Item, a: Application) {
        let known = self.applications.iter().flat_map(|(_, a)| &a.files);
        let mut twice = a.files.iter().filter(|f| known.clone().any(|k| k.name == f.name));
        if let Some(file) = twice.next() {
            let because = format!(
                "another function makes the same file `{}`; give the marks of the loops different names",
                file.name
            );
            self.left.push(not_done(NoResult::NotText, because));
            return;
        }
        if function.is_kernel {
            let by = a.derivation.steps.iter().map(|s| &s.system);
            let by = by.chain(a.derivation.recognized.iter().map(|(s, _)| s));
            self.together.kernels.extend(by.map(|s| (s.clone(), function.name.clone())));
            self.recognized.extend(a.derivation.recognized.iter().cloned());
        }
        self.applications.push((item, a));
    }

    /// `is_named`: whether the function has to be named where it is told of.
    fn add_failure(&mut self, function: &Item, no: NoApplication, is_named: bool) {
        let NoApplication { kind, because, derivation, matched, .. } = no;
        self.reasons.extend(derivation.refused.into_iter().map(|r| r.because));
        if kind != NoResult::NothingApplies {
            let because = match is_named {
                true => format!("in `{}` {because}", function.name),
                false => because,
            };
            self.left.push(not_done(kind, because));
            return;
        }
        if function.is_kernel {
            let by = derivation.recognized.iter().map(|(s, _)| s);
            self.together.kernels.extend(by.map(|s| (s.clone(), function.name.clone())));
            self.recognized.extend(derivation.recognized);
        }
        // what is missing in a kernel comes first
        if self.best.as_ref().is_none_or(|(_, known)| *known == 0 && matched > 0) {
            self.best = Some((because, matched));
        }
    }

    /// Why nothing is applied.
    fn into_not_done(self) -> NotDone {
        let Attempts { left, mut reasons, best, .. } = self;
        match left.into_iter().next() {
            Some(NotDone { kind, because, .. }) => {
                reasons.insert(0, because.clone());
                NotDone { reasons, ..not_done(kind, because) }
            }
            None => {
                let (because, matched) =
                    best.unwrap_or_else(|| ("there is no function in the document".to_owned(), 0));
                NotDone { kind: NoResult::NothingApplies, because, reasons, matched }
            }
        }
    }
}

fn not_done(kind: NoResult, because: String) -> NotDone {
    NotDone { kind, because, reasons: Vec::new(), matched: 0 }
}

/// The edits of all functions, and the text they make. `Err`: why they make none.
fn edited(doc: &Doc, applications: &[(usize, Application)]) -> Result<(EditSet, String), String> {
    let mut edits: Vec<Edit> =
        applications.iter().flat_map(|(_, a)| a.edits.edits().iter().cloned()).collect();
    edits.extend(preamble(doc, applications));
    let edits = EditSet::new(edits).map_err(|e| format!("the edits do not fit together: {e}"))?;
    let text = edits.apply(doc.text()).map_err(|e| format!("the edits do not fit: {e}"))?.to_string();
    Ok((edits, text))
}

/// Why functions are left as they are.
fn untried(missed: usize) -> String {
    format!(
        "the limit of counted steps for the rules of one file was reached before {} {} looked at",
        plural(missed, "function"),
        if missed == 1 { "was" } else { "were" }
    )
}

/// What stands before the first function that needs it, each line once.
fn preamble(doc: &Doc, applications: &[(usize, Application)]) -> Option<Edit> {
    let all = applications.iter().map(|(_, a)| &a.preamble).filter(|p| !p.lines.is_empty());
    let at = all.clone().map(|p| p.at).min()?;
    let mut lines: Vec<String> = Vec::new();
    // includes first, a blank line last
    let said = all.flat_map(|p| &p.lines).filter(|l| !l.is_empty());
    let (includes, others): (Vec<&String>, Vec<&String>) = said.partition(|l| l.starts_with('#'));
    for l in includes.into_iter().chain(others) {
        if !lines.contains(l) {
            lines.push(l.clone());
        }
    }
    lines.push(String::new());
    Some(Edit::insert(at, Preamble { at, lines }.text(end_of_line(doc))))
}

pub(super) fn facts_of(findings: &Findings, item: usize) -> Arc<Facts> {
    findings.functions.get(item).cloned().flatten().map(|f| f.facts).unwrap_or_default()
}

pub(super) type Targets = Vec<(usize, Option<TermId>)>;

pub(super) fn targets(doc: &Doc, findings: &Findings, target: &RuleTarget) -> Result<Targets, String> {
    let items = doc.unit().items.iter().enumerate();
    // the text of a template is that of all its instances
    let items = items.filter(|(_, i)| i.kind == ItemKind::Function && i.template().is_none());
    match target {
        RuleTarget::File => Ok(items.map(|(k, _)| (k, None)).collect()),
        RuleTarget::Function(name) => {
            let found: Targets = items.filter(|(_, i)| *i.name == **name).map(|(k, _)| (k, None)).collect();
            match found.is_empty() {
                true => Err(format!("there is no function `{name}`")),
                false => Ok(found),
            }
        }
        RuleTarget::Kernel(name) => {
            let found: Targets = items
                .filter(|(_, i)| (i.is_kernel && *i.name == **name) || together::launches(i, name) > 0)
                .map(|(k, _)| (k, None))
                .collect();
            match found.is_empty() {
                true => Err(format!("there is no kernel `{name}`")),
                false => Ok(found),
            }
        }
        RuleTarget::Loop(line) => match findings.on_line(*line) {
            Some(l) => {
                let facts = facts_of(findings, l.item);
                let term = facts.loops.get(l.id).map(|f| f.term);
                Ok(vec![(l.item, term)])
            }
            None => Err(format!("no loop begins on line {line}")),
        },
    }
}

/// What a system takes of so many steps, and what it leaves as it is, with the reasons. `Err`: why nothing came of it.
#[cfg(test)]
pub(crate) fn steps_of(
    ask: &Ask,
    findings: &Findings,
    set: &RuleSet,
    system: &str,
    target: &RuleTarget,
    steps: u64,
) -> Result<(u64, Vec<String>), String> {
    let (page, system) = set.find(system).ok_or("there is no such system")?;
    let (trust, budget) = (page.trust.clone().unwrap_or(Trust::Exact), ask.budget(steps));
    let done = rewritten(ask, findings, set, system, &trust, target, &budget).map_err(|no| no.because)?;
    Ok((budget.taken(), done.left.into_iter().map(|l| l.because).collect()))
}
