//! Rule systems applied to documents, and rule pages checked.
//!
//! `rewrite` makes the edits and checks what needs no machine; here every result is read again as a whole and run beside
//! the original in the simulator before anybody sees it. Deliberately absent: files (the shell reads pages).

mod assist;
mod claims;
mod kernels;
mod ladder;
mod nearest;
mod offer;
mod pages;
mod pieces;
mod planned;
mod rewriting;
mod together;

pub use assist::{page_completions, page_hover, PageCompletion, PageWord};
#[cfg(test)]
pub(crate) use offer::offers_within;
pub(crate) use offer::{applies, steps as steps_of_ladder};
pub use offer::{rule_function, rule_offers, rule_target, RuleOffer};
pub use pages::{check_rule_page, PageCheck, PageFinding, PageFix};
pub use rewrite::rules::{
    exact::hash as rule_hash, ExampleLanguage as RuleLanguage, Prover as RuleProver, RulePage, RuleSet,
    Severity as RuleSeverity, Trust as RuleTrust,
};

use std::sync::Arc;

use base::Budget;
use rewrite::rules::{Application, NoResult, RuleSystem, Trust};
use term::{Op, TermId};
use text::EditSet;

use self::kernels::Kernels;
#[cfg(test)]
pub(crate) use self::planned::offloaded as planned_loops;
#[cfg(test)]
pub(crate) use self::rewriting::steps_of;
use self::rewriting::{facts_of, rewritten};
use crate::check::Findings;
use crate::function_view::FunctionView;
use crate::limits::rules::{ALL_RUNS, CASES, FILE_STEPS, KERNEL_STEPS, STEPS};
use crate::memo::FunctionFacts;
use crate::verify::{same_but, Beside, Counted, How, Sameness, VerifyOptions};
use crate::words::plural;
use crate::{Ask, Doc, FileEdit, NewFile, Refused, WorkspaceEdit};

/// What a system is applied to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RuleTarget {
    /// The outermost loop that begins on this 1-based line.
    Loop(u32),
    /// The function of this name.
    Function(String),
    /// The kernel of this name, with the functions that launch it.
    Kernel(String),
    /// Every function of the document.
    File,
}

/// A document rewritten by rules.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RulesApplied {
    /// Essential words, the trust included.
    pub title: String,
    /// The document's whole text afterwards.
    pub text: String,
    pub edit: WorkspaceEdit,
    /// What was checked, sentences.
    pub checked: String,
    /// Whether the result was run beside the original.
    pub ran: bool,
    /// What the runs of host functions launched and copied.
    pub counted: Option<Counted>,
    /// One line for each application: rule, bindings, proofs.
    pub derivation: Vec<String>,
    /// Counted steps that it took: those of the rules with what they asked and what was read again, and those of the runs.
    pub steps: [u64; 2],
    /// Of each file that is created its head, and the comment that says how it was made.
    explanations: Vec<(String, String)>,
}

/// Applies a system. Only a result that passed every check comes back; of a ladder, as many of its steps as do.
pub fn apply_rules(
    ask: &Ask,
    findings: &Findings,
    set: &RuleSet,
    system: &str,
    target: &RuleTarget,
) -> Result<RulesApplied, Refused> {
    let Some((page, system)) = set.find(system) else {
        let near = set.near(system).map_or(String::new(), |n| format!(" Is `{n}` meant?"));
        return Err(Refused::Because(format!("There is no rule system `{system}`.{near}")));
    };
    if let Err(why) = claims::hold(set, system) {
        return Err(Refused::Because(why));
    }
    if planned::is_planned(system) {
        return planned::applied(ask, findings, set, (page, system), target);
    }
    ladder::applied(set, system, |rest| attempt(ask, findings, rest, (page, system), target))
}

/// Why an attempt gave nothing.
struct Failed {
    refused: Refused,
    /// Something applied, and what came of it is not right.
    is_wrong: bool,
}

impl From<Refused> for Failed {
    fn from(refused: Refused) -> Failed {
        Failed { refused, is_wrong: false }
    }
}

fn wrong(why: String) -> Failed {
    Failed { refused: Refused::Because(why), is_wrong: true }
}

/// A system applied once, and looked at.
fn attempt(
    ask: &Ask,
    findings: &Findings,
    set: &RuleSet,
    (page, system): (&RulePage, &Arc<RuleSystem>),
    target: &RuleTarget,
) -> Result<RulesApplied, Failed> {
    let doc = &ask.doc;
    let trust = page.trust.clone().unwrap_or(Trust::Exact);
    let steps = ask.budget(FILE_STEPS);
    let done = rewritten(ask, findings, set, system, &trust, target, &steps).map_err(|no| {
        if ask.is_cancelled() {
            return Refused::Cancelled.into();
        }
        // a rule that matched less than the nearest one tells nothing
        let near = nearest::said(ask, findings, set, system, target, &no);
        let (because, near) = match near {
            Some(near) if no.matched > 0 => ("No rule applies here".to_owned(), format!(" {near}.")),
            Some(near) => (capital(&no.because), format!(" {near}.")),
            None => (capital(&no.because), String::new()),
        };
        let because = format!("{}: {because}.", system.name);
        Failed { refused: Refused::Because(because + &near), is_wrong: no.kind != NoResult::NothingApplies }
    })?;
    let runs = ask.budget(ALL_RUNS);
    let verified = verified(ask, findings, &done, &trust, &runs);
    let (ran, counted) = match &verified {
        Verified::Same(_, counted) => (true, *counted),
        _ => (false, None),
    };
    let checked = match verified {
        Verified::Same(said, _) => said,
        Verified::Worse(what) => {
            return Err(wrong(format!(
                "The result of `{}` has a fault that the program has not ({what}), so it is not offered. The page `{}` is to be mended.",
                system.name, page.name
            )));
        }
        Verified::Foreign(what) => {
            return Err(wrong(format!("{}: what it makes is not for this target: {what}.", system.name)))
        }
        Verified::Different(what) => {
            let mend = match trust.assumed() {
                Some(what) => {
                    format!(
                        "The page `{}` assumes {what}: that does not hold here, or the page is to be mended",
                        page.name
                    )
                }
                None => format!("The page `{}` is to be mended", page.name),
            };
            return Err(wrong(format!(
                "The result of `{}` computes something else than the program ({what}), so it is not offered. {mend}.",
                system.name
            )));
        }
        // kernels are given out only after they ran
        Verified::NotTried(why) if !done.files.is_empty() => {
            return Err(wrong(format!(
                "The kernels that `{}` makes were not run beside the original, so they are not offered: {why}",
                system.name
            )))
        }
        Verified::NotTried(why) => format!("Not run beside the original: {why}"),
        Verified::Pieces(why) => format!(
            "Not run beside the original: {why} Each changed expression by itself gives the same on random values."
        ),
        Verified::Cancelled => return Err(Refused::Cancelled.into()),
    };
    let left: Vec<String> = done.left.iter().map(|l| format!(" Left as it is: {}.", l.because)).collect();
    let checked = checked + &left.concat() + &unmoved(doc, &done).concat();
    let title = title(page, system, &trust, done.steps());
    let heads: Vec<String> = done.files.iter().map(|f| head(doc, system, f)).collect();
    let explained = done.files.iter().map(|f| explanation(doc, &done, f));
    let create = done.files.iter().zip(&heads);
    let create = create.map(|(f, head)| NewFile {
        name: f.name.clone(),
        text: format!("{head}{}", f.text),
        is_shared: false,
    });
    Ok(RulesApplied {
        title,
        explanations: heads.iter().cloned().zip(explained).collect(),
        derivation: done.derivation(),
        steps: [steps.taken(), runs.taken()],
        edit: WorkspaceEdit {
            create: create.collect(),
            edits: vec![FileEdit { file: None, edits: done.edits.clone() }],
            ..Default::default()
        },
        text: done.text,
        checked,
        ran,
        counted,
    })
}

/// Marked loops of changed functions that no rule took, with the reason.
fn unmoved(doc: &Doc, done: &Done) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    for (item, a) in &done.applications {
        let Some(item) = doc.unit().items.get(*item) else { continue };
        let mut told: Vec<TermId> = Vec::new();
        for r in &a.derivation.refused {
            let Some(view) = r.place.filter(|t| !told.contains(t)) else { continue };
            let marked = a.subject.original(view).is_some_and(|n| n.op == Op::For && n.args.len() == 5);
            let gone = a.derivation.steps.iter().any(|s| s.place == Some(view) && s.after.op != Op::For);
            if marked && !gone {
                told.push(view);
                let line = doc.text().line_of(item.body.span(view).shifted(item.span.start).start) + 1;
                out.push(format!(" The loop on line {line} is left as it is: {}.", r.because));
            }
        }
    }
    out
}

/// What a file says at its head: where it comes from, and how to compile it.
fn head(doc: &Doc, system: &RuleSystem, file: &NewFile) -> String {
    let eol = end_of_line(doc);
    let mut head =
        format!("// Written by Warpwright from {} with the rules {}.{eol}", doc.name(), system.name);
    if ["float", "double"].iter().any(|w| file.text.contains(w)) {
        head += &format!(
            "// Compile with nvcc -fmad=false -c {}: fused multiply-adds would round differently.{eol}",
            file.name
        );
    }
    head
}

/// How a file was made, as a comment: a line for each application, with its place, bindings and proofs.
fn explanation(doc: &Doc, done: &Done, file: &NewFile) -> String {
    let made = done.applications.iter().find(|(_, a)| a.files.iter().any(|f| *f.name == *file.name));
    let Some((item, a)) = made.and_then(|(k, a)| Some((doc.unit().items.get(*k)?, a))) else {
        return String::new();
    };
    let steps = a.derivation.steps.iter().zip(a.derivation.lines(&a.subject));
    let said = steps.map(|(s, text)| {
        let line = s.place.map(|t| doc.text().line_of(item.body.span(t).shifted(item.span.start).start) + 1);
        let line = line.map_or(String::new(), |l| format!("line {l}, "));
        // a backslash at a line's end would take the next line into the comment
        let text = text.replace('\n', " ");
        format!("//   {line}{}{}", text.trim_end_matches(['\\', ' ']), end_of_line(doc))
    });
    said.collect()
}

fn end_of_line(doc: &Doc) -> &'static str {
    if doc.source().contains("\r\n") {
        "\r\n"
    } else {
        "\n"
    }
}

impl RulesApplied {
    /// Has the files that were made say how, each application with its rule, place, bindings and proofs.
    pub fn explain_in_kernels(&mut self) {
        for (file, (head, said)) in self.edit.create.iter_mut().zip(self.explanations.drain(..)) {
            let at = head.len().min(file.text.len());
            file.text.insert_str(at, &said);
        }
    }
}

fn title(page: &RulePage, system: &RuleSystem, trust: &Trust, steps: usize) -> String {
    let worth = match trust {
        Trust::Exact => String::new(),
        Trust::Reassociates => " (reassociates: last bits may differ)".to_owned(),
        Trust::Assumes(what) => format!(" (assumes {what})"),
        Trust::ReassociatesAssuming(what) => format!(" (reassociates: last bits may differ; assumes {what})"),
    };
    let which = if page.name == system.name { String::new() } else { format!(" [{}]", system.name) };
    format!("{}{which}{worth}: {}", page.title, plural(steps, "application"))
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or(String::new(), |c| c.to_uppercase().collect::<String>() + chars.as_str())
}

/// All functions that changed.
struct Done {
    edits: EditSet,
    text: String,
    /// Without the comments at their heads.
    files: Vec<NewFile>,
    /// With the items they are of.
    applications: Vec<(usize, Application)>,
    /// Functions for which the result was not right, with the reason: they are left as they are.
    left: Vec<NotDone>,
    /// All reasons for which rules did not apply.
    reasons: Vec<String>,
    /// System and rule of what is to stay as it is in kernels.
    recognized: Vec<(Arc<str>, Arc<str>)>,
}

impl Done {
    fn steps(&self) -> usize {
        self.applications.iter().map(|(_, a)| a.derivation.steps.len()).sum()
    }
    fn derivation(&self) -> Vec<String> {
        self.applications.iter().flat_map(|(_, a)| a.derivation.lines(&a.subject)).collect()
    }
}

/// Why nothing came of it.
struct NotDone {
    kind: NoResult,
    /// Words that continue "because".
    because: String,
    /// All reasons for which rules did not apply.
    reasons: Vec<String>,
    /// Parts of the source of the rule that is told of, which matched.
    matched: usize,
}

/// What running both came to.
enum Verified {
    /// A sentence, and what runs of host functions counted.
    Same(String, Option<Counted>),
    /// A phrase.
    Different(String),
    /// A phrase: a fault of a kernel that was not there.
    Worse(String),
    /// A phrase: what stands against a kernel for the document's target.
    Foreign(String),
    /// A sentence.
    NotTried(String),
    /// As `NotTried`, but each changed expression by itself gave the same.
    Pieces(String),
    Cancelled,
}

/// Runs every changed function beside its original, or, where none can be run, each changed expression by itself.
fn verified(ask: &Ask, findings: &Findings, done: &Done, trust: &Trust, steps: &Budget) -> Verified {
    let doc = &ask.doc;
    let hosts = functions_verified(ask, findings, done, trust, steps);
    let hosts_ran = matches!(hosts, Verified::Same(..));
    let why = match hosts {
        Verified::NotTried(why) => why,
        Verified::Same(said, counted) => match kernels::kernels(ask, done, trust, hosts_ran) {
            Kernels::Worse(what) => return Verified::Worse(what),
            Kernels::Foreign(what) => return Verified::Foreign(what),
            Kernels::Different(what) => return Verified::Different(what),
            Kernels::NotRun(why) => return Verified::NotTried(why),
            Kernels::Cancelled => return Verified::Cancelled,
            Kernels::None | Kernels::Same(None) => return Verified::Same(said, counted),
            Kernels::Same(Some(more)) => return Verified::Same(format!("{said} {more}"), counted),
        },
        other => return other,
    };
    let of_host = |k: usize| {
        let i = &doc.unit().items[k];
        !i.is_kernel && (!i.is_device || i.is_host)
    };
    let why = match kernels::kernels(ask, done, trust, hosts_ran) {
        Kernels::None => why,
        Kernels::Worse(what) => return Verified::Worse(what),
        Kernels::Foreign(what) => return Verified::Foreign(what),
        Kernels::Different(what) => return Verified::Different(what),
        Kernels::Cancelled => return Verified::Cancelled,
        Kernels::Same(Some(said)) if !done.applications.iter().any(|(k, _)| of_host(*k)) => {
            return Verified::Same(said, None)
        }
        Kernels::Same(_) => why,
        Kernels::NotRun(more) => more,
    };
    let options = VerifyOptions { cases: CASES, seed: 1, steps: STEPS, ..Default::default() };
    let all: Vec<&Application> = done.applications.iter().map(|(_, a)| a).collect();
    match pieces::run(ask, &all, trust.regroups(), &options, steps) {
        pieces::Pieces::Same => Verified::Pieces(why),
        // what a page assumes may make it right where it stands
        pieces::Pieces::Different(what) if trust.assumed().is_none() => Verified::Different(what),
        _ => Verified::NotTried(why),
    }
}

/// Runs every changed function that can be run beside its original; of kernels, the host functions that launch them.
fn functions_verified(
    ask: &Ask,
    findings: &Findings,
    done: &Done,
    trust: &Trust,
    all_steps: &Budget,
) -> Verified {
    let doc = &ask.doc;
    let kernels: Vec<String> = done.files.iter().map(|f| f.text.clone()).collect();
    // a document that launches kernels runs them, too
    let steps = if kernels.is_empty() && !doc.language().kernels { STEPS } else { KERNEL_STEPS };
    let options = VerifyOptions { cases: CASES, seed: 1, steps, ..Default::default() };
    let regrouped = trust.regroups();
    let (mut runs, mut functions, mut counted) = (0, 0, Vec::new());
    let mut not_tried: Option<String> = None;
    let launches = |item: usize| {
        let body = &doc.unit().items[item].body;
        body.walk(body.root).any(|t| *body.op(t) == Op::Launch)
    };
    let device = |item: usize| doc.unit().items[item].is_device_only();
    let mut items: Vec<usize> = done.applications.iter().map(|(k, _)| *k).filter(|&k| !device(k)).collect();
    if done.applications.iter().any(|(k, _)| device(*k)) && doc.language().kernels {
        let hosts = (0..doc.unit().items.len()).filter(|&k| !device(k) && launches(k));
        items.extend(hosts);
        items.sort_unstable();
        items.dedup();
        if items.is_empty() {
            return Verified::NotTried("no function of the document launches the kernel.".to_owned());
        }
    }
    let beside = Beside::read(doc, &done.text, &kernels).within(all_steps);
    for item in items {
        let view = FunctionView::new(ask, item, FunctionFacts::new(facts_of(findings, item)));
        let how = How { regrouped, launches: launches(item), wild: true };
        match same_but(&view, &beside, how, &options) {
            Sameness::Same(n, of_runs) => {
                runs += n;
                counted.push(of_runs);
                functions += 1;
            }
            Sameness::Different(what) => return Verified::Different(what),
            Sameness::NotTried(why) => {
                not_tried.get_or_insert(why);
            }
            Sameness::Cancelled => return Verified::Cancelled,
        }
    }
    let counted = Some(counted.into_iter().sum());
    let same = |said| Verified::Same(said, counted);
    match (functions, not_tried) {
        (0, why) => Verified::NotTried(why.unwrap_or_else(|| "there is nothing to run.".to_owned())),
        (n, None) => same(format!(
            "Same results as before on {} of {} in the simulator.",
            plural(runs, "random input"),
            plural(n, "function")
        )),
        (n, Some(why)) => same(format!(
            "Same results as before on {} of {} in the simulator; of another function nothing was compared, because {why}",
            plural(runs, "random input"),
            plural(n, "function")
        )),
    }
}
