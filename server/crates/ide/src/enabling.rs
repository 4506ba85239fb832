//! What would make a sequential loop parallel: a short sequence of transformations, found by trying.
//!
//! A candidate is really made: its text is read again and analysed again, and it counts only if the analysis then proves
//! a loop parallel that lies further out than any did before. Breadth first, so the shortest sequence is found; bounded
//! by the number of candidates. Asked for by hovers, actions and the command line, never while the user types.

use std::sync::Arc;

use analysis::{Facts, LoopId, Verdict};
use base::{Budget, Span};
use rewrite::transform::{by_name, Site, With};
use term::Op;
use text::{EditSet, PositionEncoding};

use crate::function_view::FunctionView;
use crate::limits::actions::TITLE;
use crate::limits::enabling::{BYTES_A_STEP, LONGEST, LONGEST_BODY, LOOPS, MOST};
use crate::memo::FunctionFacts;
use crate::transform::site;
use crate::{Ask, Doc};

/// One step of a sequence.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EnablingStep {
    /// The transformation's name on the command line.
    pub name: &'static str,
    /// What it is told with `--with`, or nothing.
    pub with: &'static str,
    /// 1-based line of the loop it is applied to, in the text that the steps before it made.
    pub line: u32,
    /// Such as "Interchange i and j".
    pub title: String,
}

/// A sequence that makes a loop parallel.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Enabling {
    pub steps: Vec<EnablingStep>,
    /// "Interchange i and j: loop `j` is then parallel."
    pub sentence: String,
    pub(crate) edits: EditSet,
}

impl Enabling {
    /// The steps as an action's title.
    pub fn title(&self) -> String {
        let joined = |of: fn(&EnablingStep) -> String| -> String {
            let steps: Vec<String> = self.steps.iter().map(of).collect();
            format!("Make parallel: {}", steps.join(", then "))
        };
        // as much as menus show
        let whole = joined(|s| lower_first(&s.title));
        let plain = || joined(|s| lower_first(s.title.split(" (").next().unwrap_or_default()));
        let names = || joined(|s| s.name.to_owned());
        let fits = |t: &String| t.chars().count() <= TITLE;
        [whole.clone(), plain(), names()].into_iter().find(fits).unwrap_or(whole)
    }
}

/// What is tried, in this order, and whether further steps may follow where it alone does not do.
const MOVES: [(&str, &str, bool); 10] = [
    ("interchange", "", true),
    ("distribute", "", true),
    ("wavefront", "", false),
    ("peel", "first", false),
    ("peel", "last", false),
    ("split", "", false),
    ("split", "middle", false),
    ("expand-scalar", "", true),
    ("count", "", true),
    ("inline", "", true),
];

/// A text on the way.
struct State {
    ask: Ask,
    item: usize,
    facts: Arc<Facts>,
    /// What became of the loop.
    region: Span,
    edits: EditSet,
    steps: Vec<EnablingStep>,
}

impl State {
    fn doc(&self) -> &Doc {
        &self.ask.doc
    }
}

/// A loop of a state's region.
struct Inside {
    id: LoopId,
    depth: u32,
    parallel: bool,
}

/// The shortest sequence that makes some loop parallel further out than now; `None` if none is found with these steps.
pub(crate) fn search(
    ask: &Ask,
    item: usize,
    facts: &Arc<Facts>,
    id: LoopId,
    budget: &Budget,
) -> Option<Enabling> {
    let doc = &ask.doc;
    let l = facts.loops.get(id)?;
    if l.verdict != Verdict::Sequential {
        return None;
    }
    let start = doc.unit().items.get(item)?;
    if start.body.len() > LONGEST_BODY {
        return None;
    }
    let region = start.body.span(l.term).shifted(start.span.start);
    let first = State {
        ask: ask.clone(),
        item,
        facts: facts.clone(),
        region,
        edits: EditSet::default(),
        steps: Vec::new(),
    };
    let before = outermost_parallel(&inside(&first)).unwrap_or(u32::MAX);
    if before == 0 {
        return None;
    }
    let mut tried = 0;
    let mut layer = vec![first];
    for _ in 0..LONGEST {
        let mut next = Vec::new();
        for state in &layer {
            for target in inside(state) {
                // only what stands above all parallelism can bring it further out
                if target.parallel || target.depth >= before.saturating_add(1) || target.depth > 2 {
                    continue;
                }
                for (name, with, goes_on) in MOVES {
                    let last = state.steps.last();
                    let same_again =
                        last.is_some_and(|s| s.name == name && s.with == with && name != "interchange");
                    if same_again || tried >= MOST || ask.is_cancelled() {
                        continue;
                    }
                    let Some(made) = step(state, target.id, (name, with), &mut tried, budget) else {
                        continue;
                    };
                    let loops = inside(&made);
                    match outermost_parallel(&loops) {
                        Some(depth) if depth < before => return Some(found(&made, &loops, depth)),
                        _ if goes_on => next.push(made),
                        _ => {}
                    }
                }
            }
        }
        if next.is_empty() || tried >= MOST {
            break;
        }
        layer = next;
    }
    None
}

fn found(state: &State, loops: &[Inside], depth: u32) -> Enabling {
    let top: Vec<&Inside> = loops.iter().filter(|l| l.depth == depth).collect();
    let parallel: Vec<&&Inside> = top.iter().filter(|l| l.parallel).collect();
    let view = state
        .doc()
        .unit()
        .items
        .get(state.item)
        .map(|_| FunctionView::new(&state.ask, state.item, FunctionFacts::new(state.facts.clone())));
    let which = match (parallel.as_slice(), top.len(), view) {
        ([one], 1, Some(view)) => format!("{} is then parallel", view.loop_name(one.id)),
        ([_], n, _) => {
            let at = top.iter().position(|l| l.parallel).unwrap_or(0);
            format!("the {} of its {n} loops is then parallel", ordinal(at))
        }
        (many, n, _) if many.len() == n => format!("its {n} loops are then parallel"),
        (many, n, _) => format!("{} of its {n} loops are then parallel", many.len()),
    };
    let titles: Vec<String> = state
        .steps
        .iter()
        .enumerate()
        .map(|(k, s)| if k == 0 { s.title.clone() } else { lower_first(&s.title) })
        .collect();
    Enabling {
        steps: state.steps.clone(),
        sentence: format!("{}: {which}.", titles.join(", then ")),
        edits: state.edits.clone(),
    }
}

fn ordinal(k: usize) -> String {
    match k {
        0 => "first".to_owned(),
        1 => "second".to_owned(),
        2 => "third".to_owned(),
        k => format!("{}th", k + 1),
    }
}

fn lower_first(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|c| c.to_lowercase().chain(chars).collect()).unwrap_or_default()
}

fn inside(state: &State) -> Vec<Inside> {
    let Some(item) = state.doc().unit().items.get(state.item) else { return Vec::new() };
    let within =
        |l: &analysis::LoopFacts| state.region.contains(item.body.span(l.term).shifted(item.span.start));
    let all: Vec<_> = state.facts.loops.iter_ids().filter(|(_, l)| within(l)).collect();
    let top = all.iter().map(|(_, l)| l.depth).min().unwrap_or(0);
    let parallel = |v| matches!(v, Verdict::Independent | Verdict::Reduction);
    // what a step splits off has to compute something
    let pays = |l: &analysis::LoopFacts| state.steps.is_empty() || computes(&item.body, l.term);
    all.into_iter()
        .map(|(id, l)| Inside { id, depth: l.depth - top, parallel: parallel(l.verdict) && pays(l) })
        .collect()
}

/// Whether a loop does more than number elements: it reads memory, calls something, or holds another loop.
fn computes(body: &term::Body, of: term::TermId) -> bool {
    let Some(parts) = body.loop_parts(of) else { return true };
    let is_place = |t: term::TermId| matches!(body.op(t), Op::Index | Op::Deref | Op::Member { .. });
    let set: Vec<term::TermId> = body
        .walk(parts.body)
        .filter(|&t| *body.op(t) == Op::Assign)
        .filter_map(|t| body.args(t).first().copied())
        .collect();
    let reads = |t: term::TermId| is_place(t) && !set.contains(&t);
    body.walk(parts.body).any(|t| reads(t) || matches!(body.op(t), Op::Call) || body.op(t).is_loop())
}

fn outermost_parallel(loops: &[Inside]) -> Option<u32> {
    loops.iter().filter(|l| l.parallel).map(|l| l.depth).min()
}

/// One transformation applied, read again and analysed again.
fn step(
    state: &State,
    target: LoopId,
    (name, with): (&'static str, &'static str),
    tried: &mut usize,
    budget: &Budget,
) -> Option<State> {
    let transformation = by_name(name)?;
    let item = state.doc().unit().items.get(state.item)?;
    let view = FunctionView::new(&state.ask, state.item, FunctionFacts::new(state.facts.clone()));
    let (title, edits, line) = {
        let options = state.doc().options().to_front();
        let site: Site<'_> = site(&view, state.item, target, &options, budget)?;
        // a loop of a few iterations becomes parallel by having none left: that is no gain
        if name != "interchange" && site.known_trips().is_some_and(|n| n < 8) {
            return None;
        }
        let plan = transformation.plan(&site, &With::parse(with)).ok()?;
        (plan.title.clone(), plan.edits().ok()?, view.line(view.of(target).term))
    };
    *tried += 1;
    // the text is read again as a whole
    budget.spend(u64::from(state.doc().text().len()) / BYTES_A_STEP).ok()?;
    let edits = EditSet::new(edits).ok()?;
    let text = edits.apply(state.doc().text()).ok()?.to_string();
    let grown = text.len() as i64 - i64::from(state.doc().text().span().end);
    let end = u32::try_from(i64::from(state.region.end) + grown).ok()?;
    let applied = state.doc().text().apply_lsp_change(None, &text, PositionEncoding::Utf8).ok()?;
    let doc = state.doc().edit(std::slice::from_ref(&applied));
    let body = &doc.unit().items.get(state.item)?.body;
    let understood = body.rejects().count() <= item.body.rejects().count();
    if !understood || doc.unit().items.len() != state.doc().unit().items.len() {
        return None;
    }
    let facts = analysis::analyze(body, doc.program(), LOOPS.with_left(budget.left()), budget);
    budget.spend(facts.steps).ok()?;
    let mut steps = state.steps.clone();
    steps.push(EnablingStep { name, with, line, title });
    let edits = if state.steps.is_empty() { edits } else { state.edits.compose(&edits).ok()? };
    let region = Span { start: state.region.start, end };
    let mut made =
        State { item: state.item, facts: Arc::new(facts), region, edits, steps, ask: state.ask.of(&doc) };
    if name == "peel" {
        // what is parallel in the one iteration is no gain: the loop of the others stands last, or first
        let loops = inside(&made);
        let mut top = loops.iter().filter(|l| l.depth == 0);
        let rest = if with == "last" { top.next() } else { top.next_back() }?.id;
        let item = made.doc().unit().items.get(made.item)?;
        made.region = item.body.span(made.facts.loops.get(rest)?.term).shifted(item.span.start);
    }
    Some(made)
}
