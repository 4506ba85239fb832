//! "Offload and optimize": a kernel that was generated is taken up the ladder of rule pages that optimise kernels, a page a step.
//!
//! The plan is printed in the form that these pages read ([`codegen::Plan::for_pages`]). A ladder is a page that applies others one
//! after the other; of all ladders and sizes of blocks the one that gets furthest is taken. Every step is what `rules apply` makes of
//! the kernel's file: checked, and run beside the step before, the launch on the host with it. Whoever offloads then verifies the
//! last one against the loop itself. Deliberately absent: what a step is, and which there are (the pages).

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use analysis::LoopId;
use rewrite::rules::{RulePage, RuleSet, NOTHING_MATCHES};
use term::Op;

use crate::check::Findings;
use crate::function_view::FunctionView;
use crate::host_pages::HostPages;
use crate::limits::optimize::SMALLER;
use crate::offload::{kernel_file, offload, Offloaded};
use crate::plans::{with_plan_at, OffloadSite, Planned};
use crate::rules::{applies, apply_rules, steps_of_ladder};
use crate::units::units;
use crate::verify::{changed_words, smaller, verify, Outcome, VerifyOptions, VerifyReport};
use crate::{check, Ask, Doc, Memo, Refused, RuleTarget, Settings, Target, Tier, Which};

/// Threads of a block along x and y: rows as a warp likes them, and squares, which tiles of products are.
const BLOCKS: [[u32; 2]; 2] = [[32, 8], [16, 16]];
/// What can be done with a kernel that no page optimises.
pub(crate) const PLAIN: &str = "\"Offload to GPU\" offloads it.";
/// Likewise, with one whose optimised form was not shown to be right.
const UNOPTIMIZED: &str = "\"Offload to GPU\" offers the one that is not optimised.";
/// Columns of a line in a file's head.
const COLUMNS: usize = 100;

/// What has become of kernel files, by the text they begin with: whoever verifies an offload has it made again.
#[derive(Debug)]
pub(crate) struct Optimized {
    known: Mutex<BTreeMap<String, Climbed>>,
    /// Whether a kernel that no page optimises is taken as it is.
    pub or_plain: bool,
}

/// How far a kernel file came.
#[derive(Clone, Default, Debug)]
struct Climbed {
    steps: Vec<Step>,
    /// Why there is no further one, a sentence.
    left: Option<String>,
}

/// What a page has made of a kernel file.
#[derive(Clone, Debug)]
struct Step {
    page: String,
    text: String,
    /// What it does, what it rests on and how it was checked.
    said: String,
    /// Whether it was run beside the step before.
    ran: bool,
}

impl Climbed {
    fn text<'c>(&'c self, start: &'c str) -> &'c str {
        self.steps.last().map_or(start, |s| &s.text)
    }
    /// Whether another one is better: it went further, or no further where this one ends before the top.
    fn is_behind(&self, other: &Climbed) -> bool {
        let (own, others) = (self.steps.len(), other.steps.len());
        own < others || own == others && self.left.is_some()
    }
    /// Whether what stands against a page is more than that it has nothing to do with the kernel.
    fn knows(&self) -> bool {
        self.left.as_ref().is_some_and(|why| !why.contains(NOTHING_MATCHES))
    }
    fn lines(&self) -> Vec<String> {
        let taken = self.steps.iter().map(|s| format!("optimized by the page {}: {}", s.page, s.said));
        taken.chain(self.left.clone()).collect()
    }
}

/// The plan of the loop on a line, written with its kernel optimised; and the pages that did it. `Err`: why no page has anything to do
/// with it.
pub(crate) fn optimized(
    ask: &Ask,
    pages: &HostPages,
    known: &Optimized,
    plan: &codegen::Plan,
    line: u32,
) -> Result<(codegen::Output, Vec<String>), String> {
    if plan.target.name != Target::default().name() {
        return Err(format!("The pages that optimise kernels write CUDA, and not {}.", plan.target.title));
    }
    if plan.host() == codegen::HostSide::Method {
        return Err(format!("Pages optimise kernels of programs in C alone so far. {PLAIN}"));
    }
    let mut best: Option<(codegen::Output, Climbed)> = None;
    let mut missing = String::new();
    for block in BLOCKS {
        let formed = plan
            .for_pages(block)
            .map_err(|why| format!("No page optimises this kernel, because {why}. {PLAIN}"))?;
        let output = codegen::print(&formed, pages)?;
        let climbed = known.climbed(ask, pages.set(), &output, line);
        if climbed.steps.is_empty() {
            missing = climbed.left.unwrap_or_default();
        } else if best.as_ref().is_none_or(|(_, b)| b.is_behind(&climbed)) {
            best = Some((output, climbed));
        }
    }
    let Some((mut output, climbed)) = best else {
        return Err(format!("No page optimises this kernel. {missing} {PLAIN}"));
    };
    let text = climbed.text(&output.kernel_file.text).to_owned();
    let doc = kernel_file(ask, &output.kernel_file.name, &text)?;
    for kernel in &mut output.kernels {
        kernel.grid = grid(&doc, &kernel.name);
    }
    // lines are others now
    output.line_map.clear();
    let lines: Vec<String> = climbed.lines().into_iter().chain([HOLDS.to_owned()]).collect();
    output.kernel_file.text = with_lines(&text, &lines);
    output.derivation.extend(climbed.lines());
    Ok((output, climbed.steps.into_iter().map(|s| s.page).collect()))
}

/// The file's text, its head with more lines.
fn with_lines(text: &str, lines: &[String]) -> String {
    let mut head = String::new();
    for line in lines {
        head += "\n  ";
        let mut column = 2;
        for word in line.replace("*/", "* /").split_whitespace() {
            if column + word.len() > COLUMNS {
                head += "\n    ";
                column = 4;
            }
            head += &format!(" {word}");
            column += word.len() + 1;
        }
    }
    text.replacen(" */", &format!("{head} */"), 1)
}

/// What pages assume and generated files keep to.
const HOLDS: &str = "Of what they assume, this holds here: each array has memory of its own on the device, the kernel is launched by this \
                     file only, and launches cover all iterations.";

/// Whether some page optimises the kernel of a loop of which a plan is remembered. Nothing is run for that.
pub(crate) fn is_optimizable(view: &FunctionView, id: LoopId) -> bool {
    let Some(Planned::Kernel(outline)) = view.remembered_plan(id) else { return false };
    if let Some(&known) = outline.optimizable.get() {
        return known;
    }
    let (ask, pages) = (view.ask, view.ask.host_pages());
    let site = OffloadSite { unnamed: true, ..Default::default() };
    let found = with_plan_at(view, id, &site, &ask.cancel, |plan, _| {
        plan.target.name == Target::default().name()
            && BLOCKS.iter().any(|&block| {
                let output = plan.for_pages(block).ok().and_then(|p| codegen::print(&p, &pages).ok());
                output.is_some_and(|o| has_a_step(ask, pages.set(), &o))
            })
    });
    let found = found.unwrap_or(false);
    // what was called off is not remembered as there being none
    match !found && ask.is_cancelled() {
        true => false,
        false => *outline.optimizable.get_or_init(|| found),
    }
}

fn has_a_step(ask: &Ask, set: &RuleSet, output: &codegen::Output) -> bool {
    let Ok(doc) = kernel_file(ask, &output.kernel_file.name, &output.kernel_file.text) else { return false };
    let about = Ask::new(&doc, &Memo::new(), Tier::Typing, &ask.cancel);
    let Ok(findings) = check(&about, &Settings::default()) else { return false };
    let mut steps = set.pages.iter().filter_map(|p| ladder(set, p)).flatten();
    steps.any(|page| applies(&about, &findings, set, page))
}

/// Loops offloaded, their kernels optimised, each run beside its loop. What is not the same, or could not be run, is refused.
pub fn offload_optimized(
    ask: &Ask,
    findings: &Findings,
    which: &Which,
) -> Result<(Offloaded, Vec<VerifyReport>), Refused> {
    // of several loops those that no page optimises are offloaded as they are
    let chosen = units(ask, findings, which);
    let several = chosen.len() > 1 || chosen.iter().any(|u| u.loops.len() > 1);
    let ask = &ask.clone().optimizing(several);
    let mut done = offload(ask, findings, which)?;
    let reports = verify(ask, findings, which, &VerifyOptions::default());
    if ask.is_cancelled() {
        return Err(Refused::Cancelled);
    }
    if let Some(wrong) = reports.iter().find(|r| r.outcome != Outcome::Same) {
        return Err(Refused::Because(format!(
            "The kernel of the loop on line {} was not shown to be right, so it is not offered. {} {UNOPTIMIZED}",
            wrong.line, wrong.summary
        )));
    }
    for l in done.loops.iter().filter(|l| !l.optimized_by.is_empty()) {
        let pages = l.optimized_by.join(", ");
        done.notes.push(format!("The kernel of line {} is optimised by the pages {pages}.", l.line));
    }
    Ok((done, reports))
}

/// Likewise for who has seen it offered: a kernel that no page optimises in the end comes as it is, and why is said.
pub(crate) fn offload_optimized_or_plain(
    ask: &Ask,
    findings: &Findings,
    which: &Which,
) -> Result<Offloaded, Refused> {
    let why = match offload_optimized(ask, findings, which) {
        Ok((done, _)) => return Ok(done),
        Err(Refused::Because(why)) => why,
        Err(other) => return Err(other),
    };
    let mut done = offload(ask, findings, which)?;
    let told = left_plain(done.loops.first().map_or(0, |l| l.line), &why);
    for file in &mut done.edit.create {
        file.text = with_lines(&file.text, &[format!("not optimized: {}", without_advice(&why))]);
    }
    done.edit.told.push(told);
    Ok(done)
}

/// Of a loop whose kernel no page optimises, or not in the end.
pub(crate) fn left_plain(line: u32, why: &str) -> String {
    format!("The kernel of the loop on line {line} is not optimised. {}", without_advice(why))
}

/// A reason without what else can be done.
fn without_advice(why: &str) -> &str {
    why.trim_end_matches(PLAIN).trim_end_matches(UNOPTIMIZED).trim_end()
}

impl Optimized {
    pub(crate) fn new(or_plain: bool) -> Optimized {
        Optimized { known: Mutex::default(), or_plain }
    }

    /// The furthest that any ladder takes the file.
    fn climbed(&self, ask: &Ask, set: &RuleSet, output: &codegen::Output, line: u32) -> Climbed {
        let start = &output.kernel_file.text;
        let known = |all: &BTreeMap<String, Climbed>| all.get(start).cloned();
        if let Some(known) = known(&self.known.lock().unwrap_or_else(PoisonError::into_inner)) {
            return known;
        }
        let mut best: Option<Climbed> = None;
        for ladder in set.pages.iter().filter_map(|p| ladder(set, p)) {
            let climbed = climb(ask, set, output, &ladder);
            // of those that take no step the one says most that knows the kernel
            let further = |b: &Climbed| match climbed.steps.len().cmp(&b.steps.len()) {
                Ordering::Equal => climbed.steps.is_empty() && !b.knows() && climbed.knows(),
                other => other.is_gt(),
            };
            if best.as_ref().is_none_or(further) {
                best = Some(climbed);
            }
        }
        let mut best = best.unwrap_or_default();
        if best.steps.iter().any(|s| !s.ran) {
            only_what_ran(ask, &mut best, line);
        }
        if !ask.is_cancelled() {
            self.known.lock().unwrap_or_else(PoisonError::into_inner).insert(start.clone(), best.clone());
        }
        best
    }
}

/// The pages that a page applies one after the other.
fn ladder<'s>(set: &'s RuleSet, page: &'s RulePage) -> Option<Vec<&'s Arc<str>>> {
    let steps = steps_of_ladder(page.main()?)?;
    // what writes the host's side is systems of one page
    let is_page = |step: &&Arc<str>| set.pages.iter().any(|p| p.main().is_some_and(|s| s.name == **step));
    steps.iter().all(is_page).then_some(steps)
}

/// Takes the steps of a ladder, as far as it goes.
fn climb(ask: &Ask, set: &RuleSet, output: &codegen::Output, ladder: &[&Arc<str>]) -> Climbed {
    let file = &output.kernel_file;
    let mut climbed = Climbed::default();
    for &page in ladder {
        if ask.is_cancelled() {
            break;
        }
        match taken(ask, set, &file.name, climbed.text(&file.text), page) {
            Ok(step) if is_launched(ask, output, &step.text) => {
                climbed.steps.push(step);
                climbed.left = None;
            }
            // the first that knows the kernel, of those behind the last step, is what it ends with
            other if !climbed.knows() => {
                climbed.left = Some(match other {
                    Ok(_) => format!("The page {page} would launch the kernel no more."),
                    Err(why) => format!("The page {page} is not applied: {why}"),
                });
            }
            _ => {}
        }
    }
    climbed
}

/// What a page makes of the file. `Err`: why nothing, a sentence.
fn taken(ask: &Ask, set: &RuleSet, name: &str, text: &str, page: &str) -> Result<Step, String> {
    let doc = kernel_file(ask, name, text)?;
    let about = Ask::new(&doc, &Memo::new(), Tier::Full, &ask.cancel);
    let findings = check(&about, &Settings::default()).map_err(|_| "It was called off.")?;
    let done = match apply_rules(&about, &findings, set, page, &RuleTarget::File) {
        Ok(done) => done,
        Err(Refused::Because(why)) => return Err(why),
        Err(Refused::Stale | Refused::Cancelled) => return Err("It was called off.".to_owned()),
    };
    if !done.edit.create.is_empty() {
        return Err("It makes a file.".to_owned());
    }
    let said = format!("{}. {}", done.title, done.checked);
    Ok(Step { page: page.to_owned(), text: done.text, said, ran: done.ran })
}

/// Steps that could not be run, because a run takes too long, count if the same program with smaller arrays takes them, too, and runs
/// them; from the first of the others on there is none.
fn only_what_ran(ask: &Ask, climbed: &mut Climbed, line: u32) {
    let (pages, changed) = smaller_program(ask, line).unwrap_or_default();
    let is_same = |(k, s): (usize, &Step)| s.ran || pages.get(k) == Some(&s.page);
    let right = climbed.steps.iter().enumerate().take_while(|&(k, s)| is_same((k, s))).count();
    if let Some(wrong) = climbed.steps.get(right) {
        climbed.left = Some(format!("The page {} is not applied: {}", wrong.page, wrong.said));
    }
    climbed.steps.truncate(right);
    for step in climbed.steps.iter_mut().filter(|s| !s.ran) {
        step.said += &format!(" With {changed} it was run, and gives the same.");
    }
}

/// The pages that optimise the loop on this line, and what is smaller, where the program's arrays are. All of them ran.
fn smaller_program(ask: &Ask, line: u32) -> Option<(Vec<String>, String)> {
    let (small, changed) = smaller(&ask.doc, SMALLER)?;
    // what is remembered of its kernel files goes by their text
    let small = Ask { pages: ask.pages.clone(), ..Ask::new(&small, &Memo::new(), Tier::Full, &ask.cancel) };
    let findings = check(&small, &Settings::default()).ok()?;
    let done = offload(&small, &findings, &Which::Line(line)).ok()?;
    Some((done.loops.into_iter().next()?.optimized_by, changed_words(&changed)))
}

/// Whether the file still launches the kernels.
fn is_launched(ask: &Ask, output: &codegen::Output, text: &str) -> bool {
    let Ok(doc) = kernel_file(ask, &output.kernel_file.name, text) else { return false };
    output.kernels.iter().all(|k| doc.launches(&k.name).next().is_some())
}

/// Blocks along each axis as the file launches them.
fn grid(doc: &Doc, kernel: &str) -> Vec<String> {
    let Some((host, launch)) = doc.launches(kernel).next() else { return Vec::new() };
    let body = &*host.body;
    let written = |t| {
        let span = body.span(t).shifted(host.span.start);
        doc.source().get(span.range()).unwrap_or_default().to_owned()
    };
    let Some(&grid) = body.args(launch).get(1) else { return Vec::new() };
    match (body.op(grid), body.args(grid)) {
        (Op::Call, [_, along @ ..]) => along.iter().map(|&t| written(t)).collect(),
        _ => vec![written(grid)],
    }
}
