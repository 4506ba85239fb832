//! Kernels: what analysis proves of them (`facts`), and runs in the simulator on made-up inputs: what their warps ask of
//! memory, where they divide, what goes wrong.
//!
//! One run has warps in step and is counted; further runs interleave all threads at random, so that what goes wrong is
//! seen however lanes happen to be scheduled. The counting rules are `simulate`'s (`count.rs`). Deliberately absent:
//! verdicts over all launches; what is said here was seen, for one launch and one input.

mod beside;
mod device_text;
mod elsewhere;
mod facts;
mod foreign;
mod given;
mod hover;
mod inputs;
mod launched;
mod printed;
mod proved;
mod recorded;
mod said;
mod shape;

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use base::{Budget, CancelToken, Span};
use rustc_hash::FxHashSet;
use simulate::{
    AccessKind, Counts, Fault, FaultKind, Finding, GridReport, Launch, Program, Reach, Schedule, ThreadId,
};
use term::device::{Scope, Word};
use term::{Op, TermId};

pub(crate) use beside::{beside, Beside, Wanted};
pub use elsewhere::{kernels_named, not_launched_here, LaunchElsewhere};
pub use facts::{
    kernel_reports, AccessReport, BarrierReport, BranchReport, KernelReport, LaunchReport, RaceReport,
    RacesReport, RangeReport,
};
pub(crate) use foreign::foreign;
pub use given::LaunchPlace;
pub(crate) use given::{find_given, GivenLaunch};
pub(crate) use hover::hover;
pub use printed::kernel_text;
pub(crate) use proved::{called, names_called};
pub use recorded::{kernel_sizes, record_kernels, ComparedKernel, RecordedKernel};
pub use said::assumed;
pub(crate) use said::{
    as_written, blocks_of, function_of, launch_words, line, looked_at, missing, named, place, touches,
    wherever,
};
pub(crate) use shape::of_file as shape_of_file;
pub use shape::{parse as parse_shape, Origin, Shape};

use crate::limits::kernels::LAUNCHES;
use crate::{Ask, Doc};

/// What to run.
#[derive(Clone, Debug)]
pub struct SimulateOptions {
    /// Only this kernel.
    pub kernel: Option<String>,
    /// Launches asked for, by kernel.
    pub launches: Vec<(String, Shape)>,
    pub seed: u64,
    /// Counted steps for each run.
    pub steps: u64,
    /// Runs with random interleavings, besides the counted one.
    pub interleavings: u32,
}

impl Default for SimulateOptions {
    fn default() -> SimulateOptions {
        SimulateOptions { kernel: None, launches: Vec::new(), seed: 1, steps: 30_000_000, interleavings: 2 }
    }
}

/// A kernel and what its run gave.
#[derive(Clone, Debug)]
pub struct KernelRun {
    pub name: String,
    /// Of the whole kernel.
    pub span: Span,
    /// `None`: nothing says how it is launched, or what says so is not understood (see `refused`).
    pub shape: Option<(Shape, Origin)>,
    /// What the kernel was given, a phrase a parameter.
    pub inputs: Vec<String>,
    /// Why it was not run, or not to its end.
    pub refused: Option<String>,
    /// Counts of a run that did not end are those up to where it stopped.
    pub completed: bool,
    pub counts: Counts,
    /// A number for all that the arrays hold after the counted run.
    pub left: Option<u64>,
    /// Counted steps of all its runs.
    pub steps: u64,
    pub accesses: Vec<CountedAccess>,
    pub branches: Vec<Branch>,
    pub barriers: Vec<Barrier>,
    pub warp_operations: Vec<WarpOperation>,
    pub races: Vec<Race>,
    pub problems: Vec<Problem>,
}

/// Counts of an access at its place in the text.
#[derive(Clone, Debug)]
pub struct CountedAccess {
    /// Empty where it stands in a header.
    pub span: Span,
    pub function: String,
    /// `r`, `w` or `rw`.
    pub rw: &'static str,
    pub atomic: bool,
    pub count: simulate::AccessCount,
}

/// Counts of a branch at its place.
#[derive(Clone, Debug)]
pub struct Branch {
    pub span: Span,
    pub function: String,
    /// `if`, `loop`, `select` or `case`.
    pub kind: &'static str,
    pub count: simulate::BranchCount,
}

/// Counts of a barrier at its place.
#[derive(Clone, Debug)]
pub struct Barrier {
    pub span: Span,
    pub function: String,
    pub name: &'static str,
    pub count: simulate::BarrierCount,
}

/// Counts of a warp operation at its place.
#[derive(Clone, Debug)]
pub struct WarpOperation {
    pub span: Span,
    pub function: String,
    pub name: &'static str,
    pub issued: u64,
}

/// Two accesses without order.
#[derive(Clone, Debug)]
pub struct Race {
    pub span: Span,
    pub other: Span,
    pub object: String,
    pub shared: bool,
    /// Two threads and the cell.
    pub witness: String,
    /// `barrier`, `syncwarp` or `atomic`; `None`: a barrier cannot reach, and the accesses are no read-modify-write.
    pub missing: Option<&'static str>,
}

/// Anything else that is wrong.
#[derive(Clone, Debug)]
pub struct Problem {
    pub span: Span,
    /// `barrier-divergence`, `out-of-range`, `uninitialised`, `warp-mask`, `shuffle`, `fault`.
    pub kind: &'static str,
    pub text: String,
}

/// Runs the kernels of a document.
pub fn simulate_kernels(ask: &Ask, options: &SimulateOptions) -> Vec<KernelRun> {
    let (doc, cancel) = (&ask.doc, &ask.cancel);
    let kernels = doc.unit().items.iter().filter(|i| {
        i.is_kernel
            && matches!(i.body.op(i.body.root), Op::Function(_))
            && options.kernel.as_ref().is_none_or(|k| i.is_called(k))
    });
    kernels.map(|item| one(doc, item, options, cancel)).collect()
}

fn one(doc: &Doc, item: &front::Item, options: &SimulateOptions, cancel: &CancelToken) -> KernelRun {
    let mut run = blank(item);
    let asked = options.launches.iter().rev().find(|(n, _)| item.is_called(n));
    let found = match asked {
        Some((_, s)) => Ok(Some((s.clone(), Origin::Asked))),
        None => shape::of_file(doc, item),
    };
    match found {
        Ok(Some(found)) => run.shape = Some(found),
        Ok(None) => {
            run.refused = Some(not_launched(item));
            return run;
        }
        Err(why) => {
            run.refused = Some(why);
            return run;
        }
    }
    if let Err(why) = execute(doc, item, options, cancel, &mut run) {
        run.refused = Some(why);
    }
    run
}

/// A phrase.
fn not_launched(item: &front::Item) -> String {
    format!(
        "how it is launched is not known: add `// warpwright: launch(grid, block)` before it, or --launch {}=GRID,BLOCK",
        item.name
    )
}

/// The name of the kernel whose text is at this byte.
pub fn kernel_at(doc: &Doc, at: u32) -> Option<String> {
    let here = |i: &&front::Item| i.is_kernel && i.span.start <= at && at < i.span.end;
    doc.unit().items.iter().find(here).map(|i| i.name.to_string())
}

/// A kernel that was not run.
fn blank(item: &front::Item) -> KernelRun {
    KernelRun {
        name: item.name.to_string(),
        span: item.span,
        shape: None,
        inputs: Vec::new(),
        refused: None,
        completed: false,
        counts: Counts::default(),
        left: None,
        steps: 0,
        accesses: Vec::new(),
        branches: Vec::new(),
        barriers: Vec::new(),
        warp_operations: Vec::new(),
        races: Vec::new(),
        problems: Vec::new(),
    }
}

const TOO_LONG: &str = "it takes more steps than are allowed here: give it a smaller launch";

fn execute(
    doc: &Doc,
    item: &front::Item,
    options: &SimulateOptions,
    cancel: &CancelToken,
    run: &mut KernelRun,
) -> Result<(), String> {
    let Some((shape, _)) = &run.shape else { return Ok(()) };
    if let Some(why) = foreign::refusal(doc, item, shape) {
        return Err(why);
    }
    let unit = doc.unit();
    let bodies = unit.items.iter().chain(unit.included.iter().map(|i| &i.item)).map(|i| &*i.body);
    let program = Program::of(bodies);
    let compile =
        simulate::Options { overloads: true, decisions: true, limits: limits(doc), ..Default::default() };
    let code = simulate::compile(&program, &item.body.name, &compile).map_err(|f| f.to_string())?;
    let launch = Launch { grid: shape.grid, block: shape.block, shared_bytes: shape.shared_bytes };
    // known before anything is made for it
    let threads = shape.grid.iter().chain(&shape.block).fold(1u64, |p, &x| p.saturating_mul(x.into()));
    if threads.saturating_mul(code.least_steps()) > options.steps {
        return Err(TOO_LONG.to_owned());
    }
    let mut arguments = inputs::arguments(&item.body, shape)?;
    // a size that nobody said is found by running until it is large enough
    let mut taken = 0u64;
    let (report, left, found) = loop {
        let (report, left) = grid(
            &code,
            &arguments,
            &launch,
            Schedule::counted(options.seed),
            options,
            (cancel, &mut run.steps),
        )?;
        let short =
            report.findings.iter().find_map(|f| match f {
                Finding::Fault(Fault {
                    kind: FaultKind::OutOfBounds { object, offset, size, .. }, ..
                }) if *offset >= 0 => Some((object.to_string(), *offset as u64 + size)),
                _ => None,
            });
        match short {
            Some((object, end)) if inputs::grow(&mut arguments, &object, end) => {
                taken = taken.saturating_add(report.steps);
                if taken > options.steps.saturating_mul(4) {
                    return Err(TOO_LONG.to_owned());
                }
            }
            _ => break (report, left, arguments),
        }
    };
    run.inputs = found.iter().map(words_of_argument).collect();
    run.completed = report.completed;
    run.left = Some(left);
    let mut findings = report.findings.clone();
    if report.completed {
        for k in 0..options.interleavings {
            let schedule = Schedule::seeded(options.seed.wrapping_add(k as u64));
            let again = grid(&code, &found, &launch, schedule, options, (cancel, &mut run.steps))?;
            findings.extend(again.0.findings);
        }
    }
    let places = Places { doc };
    run.counts = report.counts.unwrap_or_default();
    count(run, &places);
    let mut seen = FxHashSet::default();
    for f in findings {
        note(f, run, &places, &found, &mut seen);
    }
    Ok(())
}

fn grid(
    code: &simulate::Code,
    arguments: &[inputs::Argument],
    launch: &Launch,
    schedule: Schedule,
    options: &SimulateOptions,
    (cancel, steps): (&CancelToken, &mut u64),
) -> Result<(GridReport, u64), String> {
    let (mut heap, values, objects) = inputs::make(arguments, options.seed)?;
    let budget = Budget::with_cancel(options.steps, cancel.clone());
    let done = simulate::run_grid_code(code, &values, &mut heap, launch, &schedule, &budget);
    *steps += budget.taken();
    let report = done.map_err(|f| match f.kind {
        FaultKind::OutOfFuel => TOO_LONG.to_owned(),
        _ => f.to_string(),
    })?;
    let mut hash = rustc_hash::FxHasher::default();
    objects.iter().for_each(|&o| heap.read_raw::<u8>(o).hash(&mut hash));
    Ok((report, hash.finish()))
}

/// Where the terms of a run stand in the document.
struct Places<'d> {
    doc: &'d Doc,
}

impl Places<'_> {
    fn item(&self, function: &str) -> Option<&front::Item> {
        self.doc.unit().items.iter().find(|i| *i.body.name == *function)
    }
    fn span(&self, function: &str, term: TermId) -> Span {
        match self.item(function) {
            Some(i) => i.body.span(term).shifted(i.span.start),
            None => Span::default(),
        }
    }
    fn op(&self, function: &str, term: TermId) -> Option<&Op> {
        self.item(function).map(|i| i.body.op(term))
    }
    /// The `+=` or `++` whose own cell a term stands for.
    fn update(&self, function: &str, term: TermId) -> Option<TermId> {
        let body = &self.item(function)?.body;
        let updates = |t: &TermId| matches!(body.op(*t), Op::Compound(_) | Op::Step { .. });
        if updates(&term) {
            return Some(term);
        }
        body.walk(body.root).filter(updates).find(|&t| body.args(t).first() == Some(&term))
    }
    /// 1-based.
    fn line(&self, span: Span) -> u32 {
        self.doc.range_of(span, text::PositionEncoding::Utf8).start.line + 1
    }
}

fn count(run: &mut KernelRun, places: &Places<'_>) {
    for c in &run.counts.accesses {
        let (rw, atomic) = match c.kind {
            AccessKind::Read => ("r", false),
            AccessKind::Write => ("w", false),
            AccessKind::Atomic => ("rw", true),
        };
        let span = places.span(&c.function, c.term);
        run.accesses.push(CountedAccess {
            span,
            function: c.function.to_string(),
            rw,
            atomic,
            count: c.clone(),
        });
    }
    for c in &run.counts.branches {
        let kind = match places.op(&c.function, c.term) {
            Some(Op::If) => "if",
            Some(Op::For | Op::While | Op::DoWhile) => "loop",
            Some(Op::Case | Op::Default) => "case",
            _ => "select",
        };
        let span = places.span(&c.function, c.term);
        run.branches.push(Branch { span, function: c.function.to_string(), kind, count: c.clone() });
    }
    for c in &run.counts.barriers {
        let name = gpu::CUDA.said(Word::Barrier(Scope::Block, c.kind));
        let span = places.span(&c.function, c.term);
        run.barriers.push(Barrier { span, function: c.function.to_string(), name, count: c.clone() });
    }
    for c in &run.counts.warp_operations {
        let name = gpu::CUDA.said(c.kind.word());
        let span = places.span(&c.function, c.term);
        let function = c.function.to_string();
        run.warp_operations.push(WarpOperation { span, function, name, issued: c.issued });
    }
}

fn note(
    finding: Finding,
    run: &mut KernelRun,
    places: &Places<'_>,
    arguments: &[inputs::Argument],
    seen: &mut FxHashSet<(Span, Span, Arc<str>)>,
) {
    let mut problem = |span: Span, other: Span, kind: &'static str, text: String| {
        if seen.insert((span, other, kind.into())) {
            run.problems.push(Problem { span, kind, text });
        }
    };
    match finding {
        Finding::Race(r) => {
            let a = places.span(&r.first.function, r.first.term);
            let b = places.span(&r.second.function, r.second.term);
            let (span, other) = if a.start <= b.start { (a, b) } else { (b, a) };
            if !seen.insert((span, other, r.name.clone())) {
                return;
            }
            let update = |s: &simulate::Side| places.update(&s.function, s.term);
            let same = r.first.function == r.second.function;
            let updates = same && update(&r.first).is_some() && update(&r.first) == update(&r.second);
            let missing = match (updates, r.reach) {
                (true, _) => Some("atomic"),
                (_, Reach::Warp) => Some("syncwarp"),
                (_, Reach::Block) => Some("barrier"),
                (_, Reach::Grid) => None,
            };
            let side = |s: &simulate::Side, span: Span| {
                let what = match s.kind {
                    AccessKind::Read => "reads it",
                    AccessKind::Write => "writes it",
                    AccessKind::Atomic => "updates it atomically",
                };
                format!("{} {what} on line {}", thread(&s.thread), places.line(span))
            };
            let cell = r.offset / r.size.max(1);
            let witness = format!("{}[{cell}]: {}, {}", r.name, side(&r.first, a), side(&r.second, b));
            run.races.push(Race {
                span,
                other,
                object: r.name.to_string(),
                shared: r.shared,
                witness,
                missing,
            });
        }
        Finding::BarrierDivergence { waiting, function, term, other, other_term } => {
            let span = places.span(&function, term);
            let there = other_term.map(|t| places.span(&function, t));
            let does = match there {
                Some(s) => format!("waits on line {}", places.line(s)),
                None => "has ended".to_owned(),
            };
            let text = format!("{} waits here while {} {does}", thread(&waiting), thread(&other));
            problem(span, there.unwrap_or_default(), "barrier-divergence", text);
        }
        Finding::WarpMask { thread: t, function, term } => {
            let text = format!("the lanes named by the mask are not those that arrive with {}", thread(&t));
            problem(places.span(&function, term), Span::default(), "warp-mask", text);
        }
        Finding::UndefinedShuffle { thread: t, function, term } => {
            let text = format!("{} reads from a lane that takes no part", thread(&t));
            problem(places.span(&function, term), Span::default(), "shuffle", text);
        }
        Finding::Fault(f) => {
            let span = f.term.map_or(run.span, |t| places.span(&f.function, t));
            let who = f.thread.as_ref().map_or("a thread".to_owned(), thread);
            let (kind, text) = match &f.kind {
                FaultKind::OutOfBounds { object, object_bytes, offset, size } => {
                    let bytes = arguments.iter().find_map(|a| match a {
                        inputs::Argument::Array { name, layout, .. } if **name == **object => {
                            Some(layout.bytes)
                        }
                        _ => None,
                    });
                    let unit = bytes.unwrap_or(*size).max(1);
                    let index = offset.div_euclid(unit as i64);
                    let of = object_bytes / unit;
                    ("out-of-range", format!("{who} touches {object}[{index}] of {of} elements"))
                }
                FaultKind::Uninitialized { object, offset } => (
                    "uninitialised",
                    format!("{who} uses `{object}` (byte {offset}), which nothing has written"),
                ),
                kind => ("fault", format!("{who}: {kind}")),
            };
            problem(span, Span::default(), kind, text);
        }
    }
}

fn thread(t: &ThreadId) -> String {
    let show = |v: &[u32; 3]| match v {
        [x, 0, 0] => format!("{x}"),
        [x, y, 0] => format!("({x}, {y})"),
        [x, y, z] => format!("({x}, {y}, {z})"),
    };
    format!("thread {} of block {}", show(&t.thread), show(&t.block))
}

fn words_of_argument(a: &inputs::Argument) -> String {
    match a {
        inputs::Argument::Scalar { name, value, said } => {
            let value = match value {
                simulate::Value::Int(v) => v.to_string(),
                simulate::Value::F32(v) => v.to_string(),
                simulate::Value::F64(v) => v.to_string(),
                _ => String::new(),
            };
            format!("{name} = {value}{}", if *said { "" } else { " (from the launch)" })
        }
        inputs::Argument::Array { name, elements, said, .. } => {
            format!("{name}[{elements}]{}", if *said { "" } else { " (made up)" })
        }
    }
}

/// The faults of a function of the host; ask [`Doc::host_faults`].
pub(crate) fn host_faults(doc: &Doc, item: &front::Item) -> Vec<(TermId, analysis::HostFault)> {
    if item.is_kernel {
        return Vec::new();
    }
    let bounds = |name: &str| doc.unit().items.iter().find(|i| *i.name == *name)?.launch_bounds;
    let is_size = |t| doc.slice(item.body.span(t).shifted(item.span.start)).contains("sizeof");
    let (program, limits) = (doc.program(), limits(doc));
    let context = analysis::HostContext { program, bounds: &bounds, is_size: &is_size, limits };
    analysis::host_faults(&item.body, context)
}

/// Whether the document says how the kernel is launched.
pub(crate) fn is_launched(doc: &Doc, item: &front::Item) -> bool {
    matches!(shape::of_file(doc, item), Ok(Some(_)))
}

/// What the document says of a kernel's launches, for the analysis: one at least, that of which it says most first; and whether these
/// are all.
fn launches_of(doc: &Doc, item: &front::Item) -> (Vec<analysis::KernelLaunch>, bool) {
    let known = shape::known_of(doc, item).unwrap_or_default();
    let mut out: Vec<analysis::KernelLaunch> = known.iter().map(|(s, _)| known_launch(doc, s)).collect();
    if out.is_empty() {
        let (block, list) = shape::block_of(doc, item).unzip();
        out.push(analysis::KernelLaunch {
            grid: if block.is_none() { shape::grid_of(doc, item) } else { None },
            block,
            most_threads: item.launch_bounds,
            limits: limits(doc),
            taken: list.unwrap_or_default().iter().map(|t| (t.name.clone(), t.value)).collect(),
            ..Default::default()
        });
    }
    let are_all = out.len() <= LAUNCHES;
    out.truncate(LAUNCHES);
    (out, are_all)
}

/// Whether a barrier that is needless with the launch that it is judged with is so with every launch in the file, and in every
/// instance of the template that the kernel is one of.
pub(crate) fn needless_everywhere(ask: &Ask, item: &front::Item, barrier: Span) -> bool {
    let doc = &ask.doc;
    let said_by_comment = matches!(shape::of_file(doc, item), Ok(Some((_, Origin::Comment))));
    let needless = |item: &front::Item, facts: &analysis::KernelFacts| {
        let here = facts.barriers.iter().find(|b| item.body.span(b.term).shifted(item.span.start) == barrier);
        here.is_none_or(|b| b.redundant == Some(true))
    };
    let launched = said_by_comment
        || shape::all_of(doc, item).iter().all(|s| {
            s.as_ref().is_some_and(|s| {
                s.taken.is_empty() && needless(item, &ask.kernel_facts_with(item, &known_launch(doc, s)))
            })
        });
    let instances =
        doc.unit().items.iter().filter(|i| i.template().is_some() && i.template() == item.template());
    launched && instances.filter(|i| i.span == item.span).all(|i| needless(i, &ask.kernel_facts(i).0))
}

fn known_launch(doc: &Doc, s: &Shape) -> analysis::KernelLaunch {
    let number = |(name, value): &(String, String)| Some((name.as_str().into(), value.parse().ok()?));
    analysis::KernelLaunch {
        grid: Some(s.grid),
        block: Some(s.block),
        values: s.values.iter().filter_map(number).collect(),
        most_threads: None,
        elements: s.elements.iter().chain(&s.allocated).map(|(n, e)| (n.as_str().into(), *e)).collect(),
        shared_bytes: Some(s.shared_bytes),
        limits: limits(doc),
        taken: s.taken.iter().map(|t| (t.name.clone(), t.value)).collect(),
        same: Default::default(),
    }
}

/// What the devices have that the document's kernels are for.
pub(crate) fn limits(doc: &Doc) -> gpu::Limits {
    doc.options().target.row().limits
}

/// A thread by its indices, as messages name it.
pub(crate) fn thread_words(thread: [u32; 3], block: [u32; 3]) -> String {
    self::thread(&ThreadId { block, thread })
}
