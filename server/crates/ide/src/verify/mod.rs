//! The original function against the one with the loop offloaded, on random inputs, in the simulator.
//!
//! What runs is the emitted text, read back: the host's checks, copies and fallback as much as the kernel. The only
//! folder here that calls `simulate`.

mod inputs;
mod runtime;

use base::{Budget, CancelToken};
use simulate::{
    compare, run_code, run_hosted, Access, AccessKind, Code, Fault, FaultKind, Finding, Granularity, Heap,
    Hooks, Launched, Memory, ObjectId, Program, Rng, Schedule, Tolerance, Value,
};
use term::Body;

use crate::check::{Findings, LoopFinding};
use crate::offload::{choose, offload, Refused};
use crate::place::Place;
use crate::words::plural;
use crate::{Doc, Language, Memo, Which};

/// How much to try.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct VerifyOptions {
    /// Number of inputs.
    pub cases: u32,
    /// Seed of the inputs: the same seed gives the same inputs on every machine.
    pub seed: u64,
    /// Counted steps for each run of original or kernel.
    pub steps: u64,
}

impl Default for VerifyOptions {
    fn default() -> VerifyOptions {
        VerifyOptions { cases: 12, seed: 1, steps: 20_000_000 }
    }
}

/// What came of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// All cases computed the same, and the kernel ran in at least one of them.
    Same,
    /// Some case computed something else, or broke a rule of the machine (race, out of bounds, …).
    Different,
    /// It could not be tried; a sentence says why. Never counts as success.
    NotTried(String),
}

/// One input.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct VerifyCase {
    /// The parameters, as `n=33`.
    pub input: String,
    /// Kernels that ran; 0 where the host's checks chose the original loop.
    pub launches: u32,
    /// `None`: the same; else what differs, a sentence.
    pub difference: Option<String>,
}

/// The comparison of one loop.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct VerifyReport {
    /// The loop's key.
    pub key: String,
    /// 1-based line of the loop.
    pub line: u32,
    pub function: String,
    pub outcome: Outcome,
    /// The inputs that were valid for the original.
    pub cases: Vec<VerifyCase>,
    /// A sentence for the user.
    pub summary: String,
}

/// The functions of the CUDA run time, as the simulator runs them.
const RUNTIME: &str = include_str!("runtime.c");

/// Sizes tried, awkward ones first: none, one, around a warp and a block.
const SIZES: [u64; 14] = [5, 0, 1, 33, 2, 8, 257, 31, 3, 32, 255, 17, 64, 100];

/// Compares the loops chosen with their offloaded form, one report a loop.
pub fn verify(
    doc: &Doc,
    findings: &Findings,
    memo: &Memo,
    which: &Which,
    options: &VerifyOptions,
    cancel: &CancelToken,
) -> Vec<VerifyReport> {
    let chosen = findings.loops.iter().filter(|l| match which {
        Which::Key(key) => l.key == *key,
        Which::Line(line) => l.report.line == *line,
        Which::Marked => l.marked,
    });
    chosen.map(|l| one(doc, findings, memo, l, options, cancel)).collect()
}

fn one(
    doc: &Doc,
    findings: &Findings,
    memo: &Memo,
    l: &LoopFinding,
    options: &VerifyOptions,
    cancel: &CancelToken,
) -> VerifyReport {
    let mut report = VerifyReport {
        key: l.key.clone(),
        line: l.report.line,
        function: l.report.function.clone(),
        outcome: Outcome::Same,
        cases: Vec::new(),
    };
    let offloaded = match offload(doc, findings, memo, &Which::Key(l.key.clone()), cancel) {
        Ok(o) => o,
        Err(refused) => {
            let why = match refused {
                Refused::Because(why) => why,
                Refused::Stale => "The loop is not there any more.".to_owned(),
                Refused::Cancelled => "Cancelled.".to_owned(),
            };
            report.outcome = Outcome::NotTried(why);
            return report;
        }
    };
    let Some(place) = findings.place(doc, l.item) else {
        report.outcome = Outcome::NotTried("The loop is not there any more.".to_owned());
        return report;
    };
    let regrouped = place.of(l.id).reductions.iter().any(|r| {
        place.body().types.as_float(r.ty).is_some()
            && matches!(r.op, analysis::ReductionOp::Add | analysis::ReductionOp::Mul)
    });
    let rewritten = Rewritten::read(doc, &offloaded);
    let result = compare_all(doc, place.body(), &rewritten, regrouped, options, cancel, &mut report.cases);
    report.outcome = match result {
        Err(why) => Outcome::NotTried(why),
        Ok(()) if report.cases.iter().any(|c| c.difference.is_some()) => Outcome::Different,
        Ok(()) => Outcome::Same,
    };
    report
}

/// The emitted texts, read back.
struct Rewritten {
    units: Vec<front::Unit>,
}

impl Rewritten {
    fn read(doc: &Doc, offloaded: &Offloaded) -> Rewritten {
        let read = |language: Language, text: &str| {
            let parsed = front::Parsed::parse(language, text);
            front::lower(&parsed, doc.options(), &mut front::Memo::new())
        };
        let mut units = vec![read(doc.language(), &offloaded.host)];
        units.extend(offloaded.edit.create.iter().map(|f| read(Language::Cuda, &f.text)));
        units.push(read(Language::C, RUNTIME));
        Rewritten { units }
    }

    fn program(&self) -> Program<'_> {
        Program::of(self.units.iter().flat_map(|u| u.items.iter().map(|i| &*i.body)))
    }
}

fn compare_all(
    doc: &Doc,
    body: &Body,
    rewritten: &Rewritten,
    regrouped: bool,
    options: &VerifyOptions,
    cancel: &CancelToken,
    cases: &mut Vec<VerifyCase>,
) -> Result<(), String> {
    let signature = inputs::signature(body).map_err(|why| format!("Nothing was compared, because {why}."))?;
    let original = Program::of(doc.unit().items.iter().map(|i| &*i.body));
    let offloaded = rewritten.program();
    let pointers = signature
        .parameters
        .iter()
        .filter(|p| matches!(p, inputs::Parameter::Buffer { may_alias: true, .. }))
        .count();
    let mut launched = false;
    let mut failed: Option<String> = None;
    for case in 0..options.cases.max(1) {
        if cancel.is_cancelled() {
            return Err("Cancelled.".to_owned());
        }
        let k = case as usize;
        let choice = inputs::Choice {
            size: SIZES[k % SIZES.len()],
            equal: k % 3 != 2,
            // Overlap is tried late: it needs inputs that work at all.
            overlap: pointers > 1 && k % 5 == 4,
            seed: options.seed.wrapping_mul(0x9E37_79B9).wrapping_add(case as u64),
        };
        let budget = Budget::with_cancel(options.steps, cancel.clone());
        let input = match inputs::make(&original, &body.name, &signature, choice, &budget) {
            Ok(i) => i,
            Err(fault) => {
                failed.get_or_insert(fault.to_string());
                continue;
            }
        };
        let (difference, ran) =
            compare_one(&original, &offloaded, body, &signature, &input, regrouped, options, case, cancel);
        launched |= ran;
        let difference = match difference {
            Ok(d) => d,
            // Too long for the steps given is no result.
            Err(Skip) => continue,
        };
        let what = if ran {
            ""
        } else {
            " (original loop ran: its conditions do not hold or there is nothing to do)"
        };
        cases.push(VerifyCase { input: format!("{}{what}", input.text), difference });
    }
    if cases.is_empty() {
        let why = failed.unwrap_or_else(|| "every run took more steps than allowed".to_owned());
        return Err(format!(
            "Nothing was compared, because the original itself did not run on any input that was made up: {why}."
        ));
    }
    if !launched && cases.iter().all(|c| c.difference.is_none()) {
        return Err("The kernel never ran: on all inputs tried the original loop did, as the conditions for the GPU did \
                    not hold."
            .to_owned());
    }
    Ok(())
}

/// A run that took more than its steps.
struct Skip;

/// Runs both on one input. Gives what differs, and whether a kernel ran.
#[allow(clippy::too_many_arguments)]
fn compare_one(
    original: &Program<'_>,
    offloaded: &Program<'_>,
    body: &Body,
    signature: &inputs::Signature,
    input: &inputs::Input,
    regrouped: bool,
    options: &VerifyOptions,
    case: u32,
    cancel: &CancelToken,
) -> (Result<Option<String>, Skip>, bool) {
    let budget = || Budget::with_cancel(options.steps, cancel.clone());
    let spent = |f: &Fault| matches!(f.kind, FaultKind::OutOfFuel | FaultKind::Cancelled);
    let (Ok(mut a), Ok(mut b)) = (input.place(signature), input.place(signature)) else {
        return (Err(Skip), false);
    };
    let want =
        match simulate::run(original, &body.name, &a.1, &mut a.0, &simulate::Options::default(), &budget()) {
            Ok(o) => o,
            Err(_) => return (Err(Skip), false),
        };
    let schedule = Schedule::seeded(options.seed.wrapping_add(case as u64));
    let (got, launches) =
        match simulate::run_hosted(offloaded, &body.name, &b.1, &mut b.0, &schedule, &budget()) {
            Ok(r) => r,
            Err(f) if spent(&f) => return (Err(Skip), false),
            Err(f) => return (Ok(Some(format!("the rewritten code fails: {f}"))), false),
        };
    let ran = !launches.is_empty();
    for l in &launches {
        if let Some(finding) = l.report.findings.first() {
            if let Finding::Fault(f) = finding {
                if spent(f) {
                    return (Err(Skip), ran);
                }
            }
            return (Ok(Some(format!("the kernel `{}` is wrong: {}", l.kernel, words_of(finding)))), ran);
        }
        if !l.report.completed {
            return (Err(Skip), ran);
        }
    }
    let Some(got) = got else { return (Err(Skip), ran) };
    let near = Tolerance::Relative { relative: 1e-4, absolute: 1e-4 };
    let tolerance = if regrouped { near } else { Tolerance::Exact };
    if let (Some(x), Some(y)) = (want.value, got.value) {
        if !same_value(x, y, regrouped) {
            return (Ok(Some(format!("the function returns {y:?} instead of {x:?}"))), ran);
        }
    }
    let sides =
        input.buffers.iter().zip(a.2.iter().zip(&b.2)).chain(input.globals.iter().zip(a.3.iter().zip(&b.3)));
    for (contents, (&x, &y)) in sides {
        let (x, y) = (a.0.snapshot(x), b.0.snapshot(y));
        let difference = match contents.layout.uniform() {
            Some(kind) => {
                let c = simulate::compare(&x, &y, kind, tolerance);
                c.first.map(|d| {
                    if d.one_sided {
                        format!("`{}[{}]` is written by one of the two only", contents.name, d.index)
                    } else {
                        format!("`{}[{}]` is {} instead of {}", contents.name, d.index, d.found, d.expected)
                    }
                })
            }
            None => (x != y).then(|| format!("`{}` differs", contents.name)),
        };
        if difference.is_some() {
            return (Ok(difference), ran);
        }
    }
    (Ok(None), ran)
}

fn same_value(x: Value, y: Value, regrouped: bool) -> bool {
    let near = |a: f64, b: f64| {
        a.to_bits() == b.to_bits()
            || (a.is_nan() && b.is_nan())
            || (regrouped && (a - b).abs() <= 1e-4 * a.abs().max(b.abs()).max(1.0))
    };
    match (x, y) {
        (Value::F32(a), Value::F32(b)) => near(f64::from(a), f64::from(b)),
        (Value::F64(a), Value::F64(b)) => near(a, b),
        // Objects are numbered by run; a pointer into one is the same if its offset is.
        (Value::Pointer(_, a), Value::Pointer(_, b)) => a == b,
        (a, b) => a == b,
    }
}

fn words_of(finding: &Finding) -> String {
    let thread = |t: &simulate::ThreadId| format!("block {:?}, thread {:?}", t.block, t.thread);
    match finding {
        Finding::Race(r) => format!(
            "two threads race for `{}` at byte {}: {} and {}",
            r.name,
            r.offset,
            thread(&r.first.thread),
            thread(&r.second.thread)
        ),
        Finding::BarrierDivergence { waiting, other, .. } => {
            format!("a barrier is reached by {} and not by {}", thread(waiting), thread(other))
        }
        Finding::WarpMask { thread: t, .. } => {
            format!("the mask of a warp operation is wrong in {}", thread(t))
        }
        Finding::UndefinedShuffle { thread: t, .. } => {
            format!("a shuffle reads a lane that takes no part, in {}", thread(t))
        }
        Finding::Fault(f) => f.to_string(),
    }
}
