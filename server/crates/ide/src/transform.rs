//! Loop transformations as the editor and the command line see them: which apply, and their checked results.
//!
//! `rewrite` makes the edits; here every result is read again, analysed again and run beside the original in the
//! simulator before anybody sees it. A difference is an error that says so, never an edit.

use analysis::LoopId;
use base::Budget;
use rewrite::transform::{by_name, Refusal, Site, Source, Transformation, With, ALL};
use text::EditSet;

use crate::check::{check, Findings, LoopFinding, Tier};
use crate::function_view::FunctionView;
use crate::limits::transform::{CASES, STEPS};
use crate::offload::{first_reject, named, rejects};
use crate::verify::{same, Sameness, VerifyOptions};
use crate::{words, Ask, Doc, FileEdit, Refused, Settings, Which, WorkspaceEdit};

/// One transformation at one loop.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Listed {
    /// Its name on the command line.
    pub name: &'static str,
    /// The kind of its action.
    pub kind: &'static str,
    /// What it does, a phrase.
    pub about: &'static str,
    /// What may be said of it with `--with`, or nothing.
    pub with: &'static str,
    /// Its title at this loop, or why it does not apply: a sentence.
    pub title: Result<String, String>,
    /// Whether it may make a loop parallel.
    pub enables: bool,
}

/// A transformed document.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Transformed {
    pub title: String,
    /// The document's whole text afterwards.
    pub text: String,
    pub edit: WorkspaceEdit,
    /// What was checked, a sentence.
    pub checked: String,
}

/// What applies to a loop and why the rest does not.
pub fn transformations(ask: &Ask, findings: &Findings, which: &Which) -> Result<Vec<Listed>, Refused> {
    let finding = one_loop(findings, which)?;
    let view = findings.view(ask, finding.item).ok_or(Refused::Stale)?;
    Ok(list(&view, finding.item, finding.id, &ask.budget(u64::MAX)))
}

/// What needs more than these steps is told as not applying, with the limit as the reason.
pub(crate) fn list(view: &FunctionView, item: usize, id: LoopId, budget: &Budget) -> Vec<Listed> {
    let options = view.doc.options().to_front();
    let Some(site) = site(view, item, id, &options, budget) else { return Vec::new() };
    let one = |t: &&'static dyn Transformation| Listed {
        name: t.name(),
        kind: t.kind(),
        about: t.about(),
        with: t.with(),
        title: match t.plan(&site, &With::default()) {
            // what cannot be written is not offered
            Ok(plan) => {
                let title = plan.title.clone();
                plan.edits().map(|_| title).map_err(|r| refusal(view, &r))
            }
            Err(r) => Err(refusal(view, &r)),
        },
        enables: t.enables(),
    };
    ALL.iter().map(one).collect()
}

pub(crate) fn site<'a>(
    view: &'a FunctionView<'_>,
    item: usize,
    id: LoopId,
    options: &'a front::Options,
    budget: &'a Budget,
) -> Option<Site<'a>> {
    let doc = view.doc;
    let source = Source { unit: doc.unit(), program: doc.program(), text: doc.source(), options };
    Site::new(source, item, &view.facts, id, budget)
}

fn one_loop<'a>(findings: &'a Findings, which: &Which) -> Result<&'a LoopFinding, Refused> {
    match (named(findings, which).first(), which) {
        (Some(l), _) => Ok(l),
        (None, Which::Line(line)) => Err(Refused::Because(format!("No loop begins on line {line}."))),
        (None, _) => Err(Refused::Stale),
    }
}

/// Transforms a loop: the edit, checked.
pub fn transform(
    ask: &Ask,
    findings: &Findings,
    which: &Which,
    name: &str,
    with: &str,
) -> Result<Transformed, Refused> {
    let finding = one_loop(findings, which)?;
    let view = findings.view(ask, finding.item).ok_or(Refused::Stale)?;
    if name == "enable" {
        let Some(enabling) = finding.enabling_until(&ask.cancel) else {
            if ask.is_cancelled() {
                return Err(Refused::Cancelled);
            }
            return Err(Refused::Because(
                "No short sequence of transformations was found that makes this loop parallel, or it is parallel already."
                    .to_owned(),
            ));
        };
        let (text, checked) = checked(&view, &enabling.edits)?;
        let edits = vec![FileEdit { file: None, edits: enabling.edits.clone() }];
        let edit = WorkspaceEdit { edits, ..Default::default() };
        let title = enabling.sentence.trim_end_matches('.').to_owned();
        return Ok(Transformed { title, text, edit, checked });
    }
    let Some(transformation) = by_name(name) else {
        let names: Vec<&str> = ALL.iter().map(|t| t.name()).collect();
        let names = format!("enable (what makes the loop parallel), {}", names.join(", "));
        return Err(Refused::Because(format!("There is no transformation `{name}`. There are: {names}.")));
    };
    let with = With::parse(with);
    with.fits(transformation.with()).map_err(|r| Refused::Because(refusal(&view, &r)))?;
    let (title, edits) = edits_of(&view, finding.item, finding.id, transformation, &with)?;
    let checked = checked(&view, &edits)?;
    Ok(Transformed {
        title,
        text: checked.0,
        edit: WorkspaceEdit { edits: vec![FileEdit { file: None, edits }], ..Default::default() },
        checked: checked.1,
    })
}

/// The edits of one transformation, unchecked.
pub(crate) fn edits_of(
    view: &FunctionView,
    item: usize,
    id: LoopId,
    transformation: &dyn Transformation,
    with: &With,
) -> Result<(String, EditSet), Refused> {
    let budget = view.ask.budget(u64::MAX);
    let options = view.doc.options().to_front();
    let site = site(view, item, id, &options, &budget).ok_or(Refused::Stale)?;
    let no = |r: Refusal| Refused::Because(format!("{}: {}", transformation.name(), refusal(view, &r)));
    let plan = transformation.plan(&site, with).map_err(no)?;
    let title = plan.title.clone();
    let edits = plan.edits().map_err(no)?;
    let edits =
        EditSet::new(edits).map_err(|e| Refused::Because(format!("The edits do not fit together: {e}")))?;
    Ok((title, edits))
}

/// Reads the result again, analyses it again, and runs it beside the original. Gives the new text and what was checked.
pub(crate) fn checked(view: &FunctionView, edits: &EditSet) -> Result<(String, String), Refused> {
    let doc = view.doc;
    let text = edits.apply(doc.text()).map_err(|e| Refused::Because(format!("The edits do not fit: {e}")))?;
    let after = text.to_string();
    let known: Vec<String> = rejects(doc.unit()).map(|(_, r)| r.to_owned()).collect();
    if let Some((line, reason)) = first_reject(doc.language(), doc, &after, &known) {
        return Err(Refused::Because(format!(
            "The result was not understood when read again (line {line}: {reason}), so it is not offered. \
             Please report this loop."
        )));
    }
    let again = Doc::open(doc.language(), doc.name(), text, doc.options().clone());
    if check(&view.ask.of(&again).at(Tier::Full), &Settings::default()).is_err() {
        return Err(Refused::Cancelled);
    }
    let options = VerifyOptions { cases: CASES, seed: 1, steps: STEPS, ..Default::default() };
    match same(view, &after, &options) {
        Sameness::Same(n, _) => {
            Ok((after, format!("Same results as before on {} in the simulator.", words::plural(n, "random input"))))
        }
        Sameness::Different(what) => Err(Refused::Because(format!(
            "The result computes something else than the loop ({what}), so it is not offered. Please report this loop."
        ))),
        Sameness::NotTried(why) => Ok((after, format!("Not run beside the original: {why}"))),
        Sameness::Cancelled => Err(Refused::Cancelled),
    }
}

/// Why a transformation does not apply: a sentence.
pub(crate) fn refusal(view: &FunctionView, r: &Refusal) -> String {
    match r {
        Refusal::Shape(why) => format!("Not possible here, because {why}."),
        Refusal::Option(why) => format!("{why}."),
        Refusal::Obstacle(o) => {
            let w = words::obstacle(view, o);
            format!("Not proved to be right, because {}. {}", w.reason, w.remedy)
        }
        Refusal::Condition(c) => {
            let w = words::condition(view, &c.kind);
            format!("It would be right only if {}, which is not proved here.", w.sentence)
        }
        Refusal::Dependence(e, why) => {
            let vectors: Vec<String> = e
                .vectors
                .iter()
                .take(4)
                .map(|v| format!("({})", v.iter().map(|o| o.symbol()).collect::<Vec<_>>().join(", ")))
                .collect();
            format!(
                "Illegal: line {} {} `{}` and line {} {} it ({} dependence, directions {}); {why}.",
                view.line(e.source),
                words::access_words(e.kind).0,
                view.text(e.source),
                view.line(e.sink),
                words::access_words(e.kind).1,
                words::kind_name(e.kind),
                vectors.join(" ")
            )
        }
    }
}
