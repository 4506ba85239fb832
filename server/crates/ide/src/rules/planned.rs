//! Systems that put the calls of planned loops into the program: the loops meant are offloaded as by any other way, with such a
//! system in the place of the page that ships.
//!
//! Deliberately absent: what a kernel is, and every word of it (`codegen`, by way of `offload`).

use std::sync::Arc;

use rewrite::rules::{RulePage, RuleSet, RuleSystem, Strategy, Trust};

use super::{RuleTarget, RulesApplied};
use crate::check::Findings;
use crate::limits::rules::{CASES, KERNEL_STEPS};
use crate::offload::{offload, Offloaded, Which};
use crate::verify::{verify, Counted, Outcome, VerifyOptions, VerifyReport};
use crate::words::plural;
use crate::{Ask, Refused};

/// Whether what a system is applied to are loops that are planned.
pub(super) fn is_planned(system: &RuleSystem) -> bool {
    matches!(system.strategy, Strategy::Planned(_))
}

/// Why nothing came of it, a sentence.
pub(super) fn words(refused: &Refused) -> &str {
    match refused {
        Refused::Because(why) => why,
        Refused::Stale => "The program has changed.",
        Refused::Cancelled => "It was called off.",
    }
}

/// The loops that are meant.
fn which(target: &RuleTarget) -> Result<Which, Refused> {
    match target {
        RuleTarget::File => Ok(Which::Marked),
        RuleTarget::Loop(line) => Ok(Which::Line(*line)),
        RuleTarget::Function(name) => Ok(Which::MarkedIn(name.clone())),
        RuleTarget::Kernel(name) => {
            Err(Refused::Because(format!("`{name}` is a kernel, and no loop of the host's.")))
        }
    }
}

/// The question as it is asked of what the system places.
fn placing(ask: &Ask, set: &RuleSet, system: &RuleSystem) -> Ask {
    ask.clone().with_placing(&Arc::new(set.clone()), &system.name)
}

/// The loops offloaded, and not yet run.
pub(crate) fn offloaded(
    ask: &Ask,
    findings: &Findings,
    set: &RuleSet,
    system: &RuleSystem,
    target: &RuleTarget,
) -> Result<Offloaded, Refused> {
    offload(&placing(ask, set, system), findings, &which(target)?)
}

/// What running the loops beside their kernels came to.
pub(super) enum Ran {
    /// A sentence, whether anything ran, and what the runs counted.
    Same(String, bool, Option<Counted>),
    /// A sentence.
    Different(String),
}

/// Runs the loops beside their kernels.
pub(super) fn ran(
    ask: &Ask,
    findings: &Findings,
    set: &RuleSet,
    system: &RuleSystem,
    target: &RuleTarget,
) -> Result<Ran, Refused> {
    let options = VerifyOptions { cases: CASES, seed: 1, steps: KERNEL_STEPS, ..Default::default() };
    let reports = verify(&placing(ask, set, system), findings, &which(target)?, &options);
    if ask.is_cancelled() {
        return Err(Refused::Cancelled);
    }
    if let Some(wrong) = reports.iter().find(|r| r.outcome == Outcome::Different) {
        return Ok(Ran::Different(wrong.summary.clone()));
    }
    let same: Vec<&VerifyReport> = reports.iter().filter(|r| r.outcome == Outcome::Same).collect();
    let not_tried = reports.iter().find_map(|r| match &r.outcome {
        Outcome::NotTried(why) => Some(why),
        _ => None,
    });
    if same.is_empty() {
        let why = not_tried.map_or("there is nothing to run.", String::as_str);
        return Ok(Ran::Same(format!("Not run beside the original: {why}"), false, None));
    }
    let cases: usize = same.iter().map(|r| r.cases.len()).sum();
    let counted = same.iter().flat_map(|r| &r.cases).map(|c| c.counted).sum();
    let (inputs, loops) = (plural(cases, "random input"), plural(same.len(), "loop"));
    let said = format!("Same results as before on {inputs} of {loops} in the simulator");
    let said = match not_tried {
        None => format!("{said}."),
        Some(why) => format!("{said}; of another loop nothing was compared, because {why}"),
    };
    Ok(Ran::Same(said, true, Some(counted)))
}

/// Applies it. Only what computes the same comes back.
pub(super) fn applied(
    ask: &Ask,
    findings: &Findings,
    set: &RuleSet,
    (page, system): (&RulePage, &RuleSystem),
    target: &RuleTarget,
) -> Result<RulesApplied, Refused> {
    let done = offloaded(ask, findings, set, system, target)?;
    let (mut checked, ran, counted) = match ran(ask, findings, set, system, target)? {
        Ran::Same(said, ran, counted) => (said, ran, counted),
        Ran::Different(what) => {
            return Err(Refused::Because(format!(
                "The result of `{}` computes something else than the program ({what}), so it is not offered.",
                system.name
            )))
        }
    };
    checked.extend(done.notes.iter().map(|n| format!(" {n}")));
    let trust = page.trust.clone().unwrap_or(Trust::Exact);
    let explanations = done.loops.iter().map(|l| {
        let text = done.edit.create.iter().find(|f| f.name == l.kernel_file).map_or("", |f| &f.text);
        let said = l
            .derivation
            .iter()
            .map(|line| format!("//   {}\n", line.replace('\n', " ").trim_end_matches(['\\', ' '])));
        (head(text).to_owned(), said.collect())
    });
    Ok(RulesApplied {
        title: super::title(page, system, &trust, done.loops.len()),
        explanations: explanations.collect(),
        derivation: done.loops.iter().flat_map(|l| l.derivation.iter().cloned()).collect(),
        steps: [0, 0],
        edit: done.edit,
        text: done.host,
        checked,
        ran,
        counted,
    })
}

/// The comment at a kernel file's head.
fn head(text: &str) -> &str {
    text.find("*/\n").and_then(|end| text.get(..end + 3)).unwrap_or("")
}
