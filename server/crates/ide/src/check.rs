//! From a document to its findings: facts per function (remembered), diagnostics per lint, suppressions last.

use std::sync::{Arc, OnceLock};

use analysis::{Facts, LoopFacts, LoopId, Obstacle, ObstacleKind, Program, Verdict};
use base::{Budget, CancelToken, Effort, IdVec, Span};
use rustc_hash::FxHashMap;
use term::Body;

use crate::document::Key;
use crate::enabling::Enabling;
use crate::function_messages::{worded, FunctionMessages};
use crate::function_view::{loop_key, FunctionView};
use crate::limits::enabling::{LISTED_STEPS, STEPS};
use crate::lints;
use crate::memo::FunctionFacts;
use crate::report::{loop_report, LoopReport};
use crate::{Ask, Diagnostic, Settings};

/// How much work an answer is worth.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Tier {
    /// None: what is remembered is said, and nothing is found out.
    Known,
    /// While the user types.
    Typing,
    /// On save, when idle, and on the command line.
    Full,
    /// For whoever waits until it is done or calls it off.
    Command,
}

impl Tier {
    pub(crate) fn effort(self) -> Effort {
        match self {
            Tier::Known => Effort::each_loop(0),
            Tier::Typing => analysis::TYPING,
            Tier::Full => analysis::SAVE,
            Tier::Command => analysis::COMMAND,
        }
    }
    /// Whether kernels are planned before they are promised.
    pub(crate) fn plans(self) -> bool {
        self >= Tier::Full
    }
}

/// Nobody wants the answer any more.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cancelled;

/// What is said of one version of a document.
#[derive(Clone, Debug, Default)]
pub struct Findings {
    /// Every loop, in textual order.
    pub loops: Vec<LoopFinding>,
    /// In textual order; suppressed ones and those whose level is off are left out.
    pub diagnostics: Vec<Diagnostic>,
    /// Whether some answer, of a loop or of a kernel, is unknown only because the budget was spent: [`Tier::Full`] may say more.
    pub out_of_budget: bool,
    /// Whether nothing is said of some loop until the other files of the program are known ([`Ask::awaiting_others`]).
    pub awaits_others: bool,
    /// The facts of each item, `None` where it has no loops.
    pub(crate) functions: Vec<Option<FunctionFacts>>,
}

/// One loop.
#[derive(Clone, Debug)]
pub struct LoopFinding {
    /// Names the loop in this and, mostly, the next versions of the document: `function#0`.
    pub key: Arc<str>,
    /// The whole loop, in bytes of the document.
    pub span: Span,
    /// Its header, `for (…)`.
    pub header: Span,
    /// Whether the user asked for its offload.
    pub marked: bool,
    pub(crate) item: usize,
    pub(crate) id: LoopId,
    /// What is found out on demand is asked so.
    ask: Arc<Ask>,
    found: FunctionFacts,
    /// Made when it is first asked for: editors show diagnostics of all loops, and reports of few.
    report: OnceLock<Box<LoopReport>>,
    /// Searched for when it is first asked for.
    enabling: OnceLock<Option<Box<Enabling>>>,
    /// The steps of the search for a list, which is made once.
    searched: OnceLock<u64>,
}

impl LoopFinding {
    /// All that is known of the loop, as the command line tells it.
    pub fn report(&self) -> &LoopReport {
        self.report.get_or_init(|| {
            let view = FunctionView::new(&self.ask, self.item, self.found.clone());
            Box::new(loop_report(&view, self.id))
        })
    }
    /// Which transformations would make the loop parallel, if it is sequential and some are found.
    pub fn enabling(&self) -> Option<&Enabling> {
        self.enabling_until(&self.ask.cancel)
    }
    /// Likewise, for somebody who may call it off; what was not looked through is not remembered.
    pub(crate) fn enabling_until(&self, cancel: &CancelToken) -> Option<&Enabling> {
        if let Some(known) = self.enabling.get() {
            return known.as_deref();
        }
        let ask = Ask::new(&self.ask.doc, &self.ask.memo, self.ask.tier, cancel);
        let budget = ask.budget(STEPS);
        let found = crate::enabling::search(&ask, self.item, &self.found.facts, self.id, &budget);
        if found.is_none() && cancel.is_cancelled() {
            return None;
        }
        self.enabling.get_or_init(|| found.map(Box::new)).as_deref()
    }
    /// Likewise, with the few steps that a list is worth; what they do not reach is not remembered as there being none.
    pub(crate) fn enabling_listed(&self, cancel: &CancelToken) -> Option<&Enabling> {
        if self.enabling.get().is_none() && self.searched.get().is_none() {
            let ask = Ask::new(&self.ask.doc, &self.ask.memo, self.ask.tier, cancel);
            let budget = ask.budget(LISTED_STEPS);
            let found = crate::enabling::search(&ask, self.item, &self.found.facts, self.id, &budget);
            if found.is_none() && cancel.is_cancelled() {
                return None;
            }
            self.searched.get_or_init(|| budget.taken());
            if found.is_some() || budget.left() > 0 {
                self.enabling.get_or_init(|| found.map(Box::new));
            }
        }
        self.known_enabling()
    }
    /// Steps that the search for a list took, if one was made.
    #[cfg(test)]
    pub(crate) fn listed_steps(&self) -> Option<u64> {
        self.searched.get().copied()
    }
    /// Likewise, if they were searched for before.
    pub(crate) fn known_enabling(&self) -> Option<&Enabling> {
        self.enabling.get()?.as_deref()
    }
    /// 1-based line on which the loop begins.
    pub fn line(&self) -> u32 {
        self.ask.doc.lines().line_of(self.span.start) + 1
    }
}

impl Findings {
    /// The function an item is, with its facts. The question's document is the one these findings are of.
    pub(crate) fn view<'a>(&self, ask: &'a Ask, item: usize) -> Option<FunctionView<'a>> {
        ask.doc.unit().items.get(item)?;
        Some(FunctionView::new(ask, item, self.functions.get(item)?.clone()?))
    }
    /// The loop of this key.
    pub fn by_key(&self, key: &str) -> Option<&LoopFinding> {
        self.loops.iter().find(|l| *l.key == *key)
    }
    /// The outermost loop that begins on this 1-based line.
    pub fn on_line(&self, line: u32) -> Option<&LoopFinding> {
        self.loops.iter().find(|l| l.line() == line)
    }
    /// The loops the user asked to offload, outermost first.
    pub fn marked(&self) -> impl Iterator<Item = &LoopFinding> {
        self.loops.iter().filter(|l| l.marked)
    }
    /// The innermost loop whose text touches the offset.
    pub fn loop_around(&self, offset: u32) -> Option<&LoopFinding> {
        self.loops.iter().filter(|l| l.span.touches(offset)).min_by_key(|l| l.span.len())
    }
}

/// Findings of a document. Facts are taken from the memo where they are there. Only cancellation makes it fail.
pub fn check(ask: &Ask, settings: &Settings) -> Result<Findings, Cancelled> {
    let items = 0..ask.doc.unit().items.len();
    let said: Result<Vec<_>, Cancelled> = items.map(|item| said_of(ask, item)).collect();
    findings(ask, settings, said?, Extent::Whole)
}

/// Finds the facts of one share of the functions, the `part`-th (from 0) of `parts`, and remembers them. A caller with
/// several threads runs a share on each before it calls [`check`]; answers do not depend on it.
pub fn warm(ask: &Ask, part: usize, parts: usize) {
    for item in (part..ask.doc.unit().items.len()).step_by(parts.max(1)) {
        if said_of(ask, item).is_err() {
            return;
        }
    }
}

/// Finds the facts of the functions that these places touch, and remembers them: what an edit asks for first.
pub fn warm_at(ask: &Ask, places: &[Span]) {
    for (index, item) in ask.doc.unit().items.iter().enumerate() {
        if places.iter().any(|p| p.touches(item.span.start) || item.span.touches(p.start)) {
            let _ = said_of(ask, index);
        }
    }
}

/// Finds the facts of every function and kernel with all the work that `ask` is worth, and remembers them; `told` hears how many
/// of how many are done. Only cancellation makes it fail.
pub fn deepen(ask: &Ask, mut told: impl FnMut(usize, usize)) -> Result<(), Cancelled> {
    let all = ask.doc.unit().items.len();
    for (index, item) in ask.doc.unit().items.iter().enumerate() {
        said_of(ask, index)?;
        if item.is_kernel {
            ask.kernel_facts(item);
        }
        if ask.is_cancelled() {
            return Err(Cancelled);
        }
        told(index + 1, all);
    }
    Ok(())
}

/// Findings of those functions of a document that are remembered already, without finding out more: what can be shown
/// while [`warm`] is at work. [`check`] says all this and more, and nothing else of the same loops.
pub fn known(ask: &Ask, settings: &Settings) -> Findings {
    let doc = &ask.doc;
    let remembered = |index: usize| {
        let key = doc.key(index)?;
        let (found, words) = ask.memo.get(key, ask.effort(), doc.program())?;
        // nothing is planned for this: it is shown at once
        let ask = ask.at(Tier::Known);
        let view = FunctionView::new(&ask, index, found.clone());
        let words = worded(&view, Some(words?), key);
        Some((found, words))
    };
    let all = (0..doc.unit().items.len()).map(remembered).collect();
    findings(ask, settings, all, Extent::Part).unwrap_or_default()
}

/// Of how much of a document findings speak.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Extent {
    Whole,
    /// Functions may be missing, so nothing follows from what is not found.
    Part,
}

/// Facts of an item and their words.
type Known = (FunctionFacts, Arc<FunctionMessages>);

/// The facts of one item, and what is said of it; `None` where it has no loops.
fn said_of(ask: &Ask, index: usize) -> Result<Option<Known>, Cancelled> {
    let (Some(key), Some(item)) = (ask.doc.key(index), ask.doc.unit().items.get(index)) else {
        return Ok(None);
    };
    let (found, known) = facts_of(ask, key, &item.body)?;
    let words = worded(&FunctionView::new(ask, index, found.clone()), known, key);
    // what was planned for nobody is no answer
    if ask.is_cancelled() {
        return Err(Cancelled);
    }
    Ok(Some((found, words)))
}

/// The facts of a body, with the words for them where they are known.
fn facts_of(
    ask: &Ask,
    key: Key,
    body: &Body,
) -> Result<(FunctionFacts, Option<Arc<FunctionMessages>>), Cancelled> {
    if ask.is_cancelled() {
        return Err(Cancelled);
    }
    let program = ask.doc.program();
    let effort = ask.effort();
    if let Some(known) = ask.memo.get(key, effort, program) {
        return Ok(known);
    }
    let facts = analyze(body, program, effort, &ask.budget(u64::MAX));
    // what a cancelled analysis left out is not an answer
    if ask.is_cancelled() {
        return Err(Cancelled);
    }
    let _ = ask.steps.spend(facts.steps);
    Ok((ask.memo.put(key, effort, facts, program), None))
}

/// The facts of a body; a loop that analysis does not list is listed as unknown, never left out.
fn analyze(body: &Body, program: &Program, effort: Effort, budget: &Budget) -> Facts {
    let facts = analysis::analyze(body, program, effort, budget);
    let missing = body.loops(body.root).any(|t| facts.of_term(t).is_none());
    if missing {
        not_analyzed(body)
    } else {
        facts
    }
}

fn not_analyzed(body: &Body) -> Facts {
    let mut loops: IdVec<LoopId, LoopFacts> = IdVec::new();
    let mut open: Vec<(LoopId, Span)> = Vec::new();
    for term in body.loops(body.root) {
        let span = body.span(term);
        while open.last().is_some_and(|(_, s)| !s.contains(span)) {
            open.pop();
        }
        let obstacle = Obstacle { kind: ObstacleKind::NotUnderstood, term };
        let id = loops.push(LoopFacts {
            term,
            parent: open.last().map(|(id, _)| *id),
            depth: open.len() as u32,
            control: Err(obstacle.clone()),
            verdict: Verdict::Unknown,
            conditions: Vec::new(),
            dependences: Vec::new(),
            more_dependences: false,
            most_rounds: None,
            obstacles: vec![obstacle],
            privates: Vec::new(),
            reductions: Vec::new(),
            inductions: Vec::new(),
            recurrences: Vec::new(),
            granted: None,
            mark: None,
            promises: Vec::new(),
        });
        open.push((id, span));
    }
    Facts { loops, ..Facts::default() }
}

fn findings(
    ask: &Ask,
    settings: &Settings,
    known: Vec<Option<Known>>,
    extent: Extent,
) -> Result<Findings, Cancelled> {
    let doc = &ask.doc;
    // what is found out later is asked by others, whatever becomes of this question
    let later = Arc::new(Ask::new(doc, &ask.memo, ask.tier.max(Tier::Full), &CancelToken::new()));
    let mut said: Vec<(u32, Arc<FunctionMessages>)> = Vec::with_capacity(known.len());
    let mut loops = Vec::with_capacity(known.iter().flatten().map(|(_, words)| words.loops.len()).sum());
    let mut names: FxHashMap<&str, usize> = FxHashMap::default();
    let mut functions: Vec<Option<FunctionFacts>> = Vec::with_capacity(known.len());
    for (index, (item, known)) in doc.unit().items.iter().zip(known).enumerate() {
        let Some((of_item, words)) = known else {
            functions.push(None);
            continue;
        };
        let occurrence = names.entry(&item.name).or_insert(0);
        let start = item.span.start;
        for l in words.loops.iter() {
            loops.push(LoopFinding {
                key: match *occurrence {
                    0 => l.key.clone(),
                    n => loop_key(&item.name, n, l.id).into(),
                },
                span: l.span.shifted(start),
                header: l.header.shifted(start),
                marked: l.marked,
                item: index,
                id: l.id,
                ask: later.clone(),
                found: of_item.clone(),
                report: OnceLock::new(),
                enabling: OnceLock::new(),
                searched: OnceLock::new(),
            });
        }
        *occurrence += 1;
        functions.push(Some(of_item));
        said.push((start, words));
    }
    // kernels are looked at by those lints that are asked
    let diagnostics = lints::run(ask, settings, &said, extent)?;
    let out_of_budget =
        functions.iter().flatten().any(|f| f.facts.out_of_budget) || !ask.unfinished_kernels().is_empty();
    let awaits_others = ask.awaits_others && said.iter().any(|(_, words)| words.awaits_others());
    Ok(Findings { loops, diagnostics, out_of_budget, awaits_others, functions })
}
