//! Directives for threads in a document: where a launch would be made by each of them, and words for what their clauses
//! get wrong.

use std::sync::Arc;

use analysis::{Fault, FaultKind, LoopId, Need, Regions, Step};
use base::Span;
use term::{Body, Combiner, Directive};

use crate::function_view::FunctionView;
use crate::lints::Message;
use crate::{words, Doc, Evidence, Fact};

/// Directives of one function, read once.
pub(crate) struct Threads {
    directives: Vec<Directive>,
    threadprivate: Vec<Arc<str>>,
}

impl Threads {
    pub fn of(doc: &Doc, item: &front::Item) -> Threads {
        let directives = front::omp_directives(doc.unit(), item);
        let threadprivate = match directives.is_empty() {
            true => Vec::new(),
            false => front::omp_threadprivate(doc.unit()),
        };
        Threads { directives, threadprivate }
    }
    fn regions<'a>(&'a self, body: &'a Body) -> Regions<'a> {
        Regions::new(body, &self.directives, &self.threadprivate)
    }
    pub fn is_empty(&self) -> bool {
        self.directives.is_empty()
    }
}

/// Whether a document speaks of threads at all.
fn has_any(doc: &Doc) -> bool {
    let omp =
        |d: &front::Directive| matches!(&d.kind, front::DirectiveKind::Foreign(t) if t.starts_with("omp"));
    doc.unit().directives.iter().any(omp)
}

/// Why no launch is put in a loop's place, if threads stand in the way or its own directive is wrong: a sentence.
pub(crate) fn refusal(view: &FunctionView, id: LoopId) -> Option<String> {
    if !has_any(view.doc) {
        return None;
    }
    let threads = Threads::of(view.doc, view.item);
    let regions = threads.regions(view.body());
    let term = view.of(id).term;
    if let Some(around) = regions.refusal(term) {
        let directive = named(view, around.directive);
        return Some(match around.on_it {
            true => format!(
                "{directive} stands on this loop, so every thread would run the launch. Write `parallel for` if the \
                 threads are to share the iterations, or take the directive away."
            ),
            false => format!(
                "The loop is inside {directive}: every thread would run the launch."
            ),
        });
    }
    if let Some((caller, line, name)) = caller(view) {
        return Some(format!(
            "`{}` is called inside `#pragma omp {name}` (line {line}, in `{caller}`): every thread would run the \
             launch. Offload a loop that no region calls.",
            view.item.name
        ));
    }
    let faults = regions.faults(view.doc.program(), &view.facts);
    let own = faults.iter().find(|f| threads.directives[f.directive].target == Some(term))?;
    let d = &threads.directives[own.directive];
    Some(format!("{} is wrong, so what it means is not known. {}", named(view, d), message(view, d, own)))
}

/// That a directive brings a loop, or the arrays that it uses, to a device already.
pub(crate) fn on_a_device(view: &FunctionView, id: LoopId) -> Option<String> {
    let brings = |text: &str| {
        let mut words = text.split(|c: char| !(c.is_alphanumeric() || c == '_')).filter(|w| !w.is_empty());
        match (words.next(), words.next()) {
            (Some("acc"), Some(w)) => {
                matches!(w, "data" | "kernels" | "parallel" | "serial" | "loop" | "host_data")
            }
            (Some("omp"), w) => w == Some("target"),
            _ => false,
        }
    };
    let own = view.doc.unit().directives.iter().filter(|d| view.item.span.contains(d.span));
    let all: Vec<(u32, Span, &str)> = own
        .filter_map(|d| match &d.kind {
            front::DirectiveKind::Foreign(text) if brings(text) => Some((d.before, d.span, &**text)),
            _ => None,
        })
        .collect();
    if all.is_empty() {
        return None;
    }
    // the statement that a directive stands before begins where its text ends
    let parents = view.body().parents();
    let up = |t: &term::TermId| parents.get(t.0 as usize).copied().flatten();
    let around = std::iter::successors(Some(view.of(id).term), up);
    let starts: Vec<u32> = around.map(|t| view.span(t).start).collect();
    let own = starts.first().copied();
    // a loop that is brought there by itself comes back with its arrays, and a kernel may take its place: not where they are there before
    let others = view.doc.unit().directives.iter().any(|d| match &d.kind {
        front::DirectiveKind::Foreign(text) => text.contains("enter data") || text.contains("declare"),
        _ => false,
    });
    let there = ["data", "present", "deviceptr", "is_device_ptr"];
    let stays = |d: &(u32, Span, &str)| {
        let words = |w: &str| there.contains(&w);
        own != Some(d.0) || others || d.2.split(|c: char| !(c.is_alphanumeric() || c == '_')).any(words)
    };
    let (_, span, text) = all.into_iter().find(|d| starts.contains(&d.0) && stays(d))?;
    let name = text.split_whitespace().take(2).collect::<Vec<_>>().join(" ");
    let name = name.split('(').next().unwrap_or_default();
    Some(format!(
        "No kernel is made: `#pragma {name}` (line {}) brings arrays that it uses to a device already, and a second kernel would work on the host's copies.",
        view.line_column(span.start).line
    ))
}

/// A function with a region, the region's line and its directive's name.
type Region = (Arc<str>, u32, Arc<str>);

/// The region in which this function is called, directly or through others.
fn caller(view: &FunctionView) -> Option<Region> {
    let unit = view.doc.unit();
    let mut known: Vec<(Arc<str>, Region)> = Vec::new();
    for item in &unit.items {
        let threads = Threads::of(view.doc, item);
        for (name, d) in threads.regions(&item.body).called_by_threads() {
            let line = view.line_column(d.span.start + item.span.start).line;
            known.push((name, (item.name.clone(), line, d.name.clone())));
        }
    }
    let mut next = 0;
    while let Some((name, region)) = known.get(next).cloned() {
        next += 1;
        if *name == *view.item.name {
            return Some(region);
        }
        let Some(item) = unit.items.iter().find(|i| i.name == name) else { continue };
        for callee in item.body.callees().map(|f| item.body.symbols[f].name.clone()) {
            if !known.iter().any(|k| k.0 == callee) {
                known.push((callee, region.clone()));
            }
        }
    }
    None
}

/// Whether running a function by one thread leaves something of it out: regions that several would run.
pub(crate) fn is_for_threads(doc: &Doc, item: &front::Item) -> bool {
    has_any(doc) && Threads::of(doc, item).directives.iter().any(Directive::makes_threads)
}

/// What is wrong with the directives of a function, by the code that says so.
pub(crate) fn said(view: &FunctionView, is_mine: fn(&FaultKind) -> bool) -> Vec<(Span, Message)> {
    let threads = Threads::of(view.doc, view.item);
    if threads.is_empty() {
        return Vec::new();
    }
    let regions = threads.regions(view.body());
    let faults = regions.faults(view.doc.program(), &view.facts);
    let mine = faults.iter().filter(|f| is_mine(&f.kind));
    mine.map(|f| {
        let d = &threads.directives[f.directive];
        let message = format!("{} {}", capital(&message(view, d, f)), remedy(view, d, f));
        let related = vec![crate::Related {
            span: view.span(f.at),
            message: match f.kind {
                FaultKind::Race { .. } => "written here",
                FaultKind::Unset { .. } => "read here",
                _ => "here",
            }
            .into(),
        }];
        let evidence = clause(view, f).map(|_| {
            let clauses = clauses(view, faults.iter().filter(|o| o.directive == f.directive));
            Arc::new(Evidence { function: view.item.name.clone(), fact: Fact::Clause(clauses.into()) })
        });
        (view.absolute(d.span), Message { message, related, evidence, ..Message::default() })
    })
    .collect()
}

/// The clause that would do away with a fault, where one does: how it begins, and the variable.
fn clause(view: &FunctionView, f: &Fault) -> Option<(String, String)> {
    let FaultKind::Race { symbol, need } = &f.kind else { return None };
    let head = match need {
        Need::Private => "private(".to_owned(),
        Need::LastPrivate => "lastprivate(".to_owned(),
        Need::Reduction(op) => format!("reduction({}:", clause_sign(*op)?),
        Need::Induction | Need::Carried | Need::Everyone => return None,
    };
    Some((head, view.symbol(*symbol).to_owned()))
}

/// All clauses that a directive lacks: `private(j, k) reduction(+:s)`.
fn clauses<'f>(view: &FunctionView, faults: impl Iterator<Item = &'f Fault>) -> String {
    let mut all: Vec<(String, Vec<String>)> = Vec::new();
    for (head, variable) in faults.filter_map(|f| clause(view, f)) {
        match all.iter_mut().find(|(h, _)| *h == head) {
            Some((_, variables)) if variables.contains(&variable) => {}
            Some((_, variables)) => variables.push(variable),
            None => all.push((head, vec![variable])),
        }
    }
    all.iter().map(|(head, of)| format!("{head}{})", of.join(", "))).collect::<Vec<_>>().join(" ")
}

fn named(view: &FunctionView, d: &Directive) -> String {
    format!("`#pragma omp {}` (line {})", d.name, view.line_column(view.absolute(d.span).start).line)
}

fn capital(text: &str) -> String {
    words::capitalized(text)
}

/// What is wrong, with the case that shows it.
fn message(view: &FunctionView, d: &Directive, f: &Fault) -> String {
    let line = view.line(f.at);
    let name = |s| view.symbol(s).to_owned();
    match &f.kind {
        FaultKind::Race { symbol, need } => {
            let v = name(*symbol);
            match need {
                Need::Everyone => format!(
                    "all threads of the team write `{v}` on line {line} at once, for instance thread 0 and thread 1: it \
                     is one variable for all of them."
                ),
                _ => format!(
                    "{} both write `{v}` on line {line}, and may run on two threads at once: it is one variable for \
                     all of them.",
                    two(view, d)
                ),
            }
        }
        FaultKind::Unset { symbol } => format!(
            "`{}` is read on line {line} before it is written: each thread's own copy has no value yet.",
            name(*symbol)
        ),
        FaultKind::Lost { symbol } => format!(
            "`{}` is read after the loop, but what the loop gives it is each thread's own and is gone by then.",
            name(*symbol)
        ),
        FaultKind::Combined { symbol, said, found } => format!(
            "the partial results of `{0}` are combined by `{1}`, but line {line} combines by `{2}`: two threads would \
             each begin with {3} and give `{0}` something else than the loop.",
            name(*symbol),
            sign(*said),
            sign(*found),
            neutral(*said)
        ),
        FaultKind::Dependent { of, collapsed } => {
            let first = view.of(*of).dependences.iter().find(|x| x.source == f.at && x.witness.is_some());
            let case = first.map(|x| words::example_sentence(view, x)).unwrap_or_default();
            let which = match collapsed {
                true => format!("with `collapse` the iterations of {} run at once, too, but ", view.loop_name(*of)),
                false => String::new(),
            };
            format!("{which}iterations that may run on two threads at once depend on each other: {case}.")
        }
        FaultKind::NotALoop => format!("no `for` loop follows on line {line}."),
        FaultKind::TooFewLoops { wanted, found } => format!(
            "`collapse({wanted})` speaks of {wanted} loops that stand directly inside one another, but there {}.",
            if *found == 1 { "is one".to_owned() } else { format!("are {found}") }
        ),
        FaultKind::Left => format!("line {line} leaves the loop before its end, which iterations on threads cannot do."),
        FaultKind::Unlisted { symbol } => format!(
            "`default(none)` asks for every variable to be listed, and `{}` on line {line} is in no list.",
            name(*symbol)
        ),
    }
}

fn remedy(view: &FunctionView, d: &Directive, f: &Fault) -> String {
    let name = |s| view.symbol(s).to_owned();
    match &f.kind {
        FaultKind::Race { symbol, need } => {
            let v = name(*symbol);
            match need {
                Need::Private => format!("Add `private({v})`, or declare it inside the loop."),
                Need::LastPrivate => format!("Add `lastprivate({v})`."),
                Need::Reduction(op) => match clause_sign(*op) {
                    Some(sign) => format!("Add `reduction({sign}:{v})`."),
                    None => format!("Put the update of `{v}` into `#pragma omp critical`."),
                },
                Need::Induction => format!("Compute `{v}` from the loop's index, or add `linear` on a `simd` loop."),
                Need::Carried => format!(
                    "Its value passes from iteration to iteration: compute `{v}` from the index, or leave the loop \
                     sequential."
                ),
                Need::Everyone => format!(
                    "Make `{v}` private, share the work out with `#pragma omp for`, or let one thread do it with \
                     `#pragma omp single`."
                ),
            }
        }
        FaultKind::Unset { symbol } => {
            format!("Write `firstprivate({})`, or give it a value first.", name(*symbol))
        }
        FaultKind::Lost { symbol } => format!("Write `lastprivate({})`.", name(*symbol)),
        FaultKind::Combined { symbol, found, .. } => {
            format!("Write `reduction({}:{})`.", sign(*found), name(*symbol))
        }
        FaultKind::Dependent { collapsed: true, .. } => "Take `collapse` away.".to_owned(),
        FaultKind::Dependent { .. } => format!("Take `{}` away from this loop.", d.name),
        FaultKind::NotALoop => "Move the directive directly above a counted `for` loop.".to_owned(),
        FaultKind::TooFewLoops { found, .. } => {
            format!("Write `collapse({found})`, or move what stands between the loops.")
        }
        FaultKind::Left => "Let a condition guard the rest of the body instead.".to_owned(),
        FaultKind::Unlisted { symbol } => {
            format!("Add it, for instance `shared({})`.", name(*symbol))
        }
    }
}

/// Two iterations of the directive's loop, by their index where it is known.
fn two(view: &FunctionView, d: &Directive) -> String {
    let id = d.target.and_then(|t| view.facts.of_term(t));
    let control = id.and_then(|id| view.of(id).control.as_ref().ok());
    let Some(c) = control else { return "two iterations".to_owned() };
    let index = view.symbol(c.index);
    match (analysis::constant(view.body(), c.lower), &c.step) {
        (Some(first), Step::Const(step)) if c.header_only => {
            format!("iterations {index}={first} and {index}={}", first + step)
        }
        _ => format!("two iterations of the loop over `{index}`"),
    }
}

fn sign(c: Combiner) -> &'static str {
    match c {
        Combiner::Add => "+",
        Combiner::Mul => "*",
        Combiner::BitAnd => "&",
        Combiner::BitOr => "|",
        Combiner::BitXor => "^",
        Combiner::And => "&&",
        Combiner::Or => "||",
        Combiner::Min => "min",
        Combiner::Max => "max",
        Combiner::Own => "its own operator",
    }
}

fn neutral(c: Combiner) -> &'static str {
    match c {
        Combiner::Add | Combiner::BitOr | Combiner::BitXor | Combiner::Or => "0",
        Combiner::Mul | Combiner::And => "1",
        Combiner::BitAnd => "all bits set",
        Combiner::Min => "the largest value",
        Combiner::Max => "the least value",
        Combiner::Own => "its own value",
    }
}

fn clause_sign(op: analysis::ReductionOp) -> Option<&'static str> {
    use analysis::ReductionOp::*;
    Some(match op {
        Add => "+",
        Mul => "*",
        Min => "min",
        Max => "max",
        BitAnd => "&",
        BitOr => "|",
        BitXor => "^",
        And => "&&",
        Or => "||",
        ArgMin { .. } | ArgMax { .. } | Last => return None,
    })
}
