//! The original function against the one with the loop offloaded, on random inputs, in the simulator.
//!
//! What runs is the emitted text, read back: the host's checks, copies and fallback as much as the kernel.

mod alone;
mod cases;
mod effort;
mod fused;
mod inputs;
mod left;
mod native;
mod phrases;
mod promised;
mod record;
mod rounding;
mod runtime;
mod sides;
mod smaller;
mod transfers;

pub(crate) use cases::run_cases;
#[cfg(test)]
pub(crate) use effort::Share;
pub use effort::Verifier;
pub(crate) use inputs::Layout;
pub use native::{Natively, Trial};
pub(crate) use record::{hash_of, plain, scalars};
pub use record::{
    record, record_variants, returned, CountedRequests, Holds, HostPiece, HostProgram, HostStep,
    KernelArgument, OriginalArgument, OriginalText, Recorded, Spot, Variant,
};
pub(crate) use smaller::{changed_words, smaller};
pub use transfers::{all_transferred, At, Transferred};

use base::{Budget, CancelToken};
use simulate::Program;
use term::Body;

use self::sides::{Sides, Skip};
use crate::check::{Findings, LoopFinding};
use crate::function_view::FunctionView;
use crate::limits::optimize::SMALLER;
use crate::limits::verify_sides::FAILURES;
use crate::limits::verify_smaller::FIRST;
use crate::offload::{offload_unit, Refused};
use crate::units::Unit;
use crate::words::plural;
use crate::{Ask, Doc, Language, Memo, Which};

/// How much to try.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct VerifyOptions {
    /// Number of inputs.
    pub cases: u32,
    /// Seed of the inputs: the same seed gives the same inputs on every machine.
    pub seed: u64,
    /// Counted steps for each run of original or kernel.
    pub steps: u64,
    /// Values for integer parameters and file-scope variables, by name; others are made up.
    pub given: Vec<(String, i128)>,
    /// Calls of the run time, and launches, that fail in turn on one input, at most.
    pub failures: u64,
}

impl Default for VerifyOptions {
    fn default() -> VerifyOptions {
        VerifyOptions { cases: 12, seed: 1, steps: 20_000_000, given: Vec::new(), failures: FAILURES }
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

/// What a run in the simulator counted.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Counted {
    /// Kernels that ran.
    pub launches: u64,
    pub to_device: Copies,
    pub from_device: Copies,
}

/// Copies between host and device.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Copies {
    pub count: u64,
    pub bytes: u64,
}

impl std::iter::Sum for Counted {
    fn sum<I: Iterator<Item = Counted>>(all: I) -> Counted {
        let both = |a: Copies, b: Copies| Copies { count: a.count + b.count, bytes: a.bytes + b.bytes };
        all.fold(Counted::default(), |a, b| Counted {
            launches: a.launches + b.launches,
            to_device: both(a.to_device, b.to_device),
            from_device: both(a.from_device, b.from_device),
        })
    }
}

/// One input.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct VerifyCase {
    /// The parameters, as `n=33`.
    pub input: String,
    /// What ran: no kernel where the host's checks chose the original loop.
    pub counted: Counted,
    /// `None`: the same; else what differs, a sentence.
    pub difference: Option<String>,
    /// What was copied between host and device, and where.
    pub transferred: Vec<Transferred>,
    /// Runs with this input in which a call of the run time or a launch failed.
    pub failures: u64,
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
    /// Whether there is a kernel to check.
    pub has_kernel: bool,
    /// How it was checked: `simulator`, `natively with gcc 12.2.0`.
    pub checked: Vec<String>,
    /// What all runs together copied between host and device, by array and place.
    pub transferred: Vec<Transferred>,
    /// In how many runs a call of the run time or a launch failed, of one input each another one.
    pub failures: u64,
    /// Names of the kernel files, which [`At`] counts.
    pub kernel_files: Vec<String>,
}

impl VerifyReport {
    /// What was copied, and what of it nobody needed, in sentences.
    pub fn copies_said(&self) -> Vec<String> {
        let launches = self.cases.iter().map(|c| c.counted.launches).sum();
        transfers::said(&self.transferred, launches, &self.kernel_files)
    }

    /// Adds what a machine said of the same inputs.
    pub fn add_native(&mut self, compiler: &str, said: &Natively) {
        self.checked.push(format!("natively with {compiler}"));
        match said {
            Natively::Same(n) => {
                let inputs = plural(*n, "input");
                self.summary += &format!(" Natively, built by {compiler}, the same on {inputs} of these.");
            }
            Natively::Different(what) => {
                self.outcome = Outcome::Different;
                self.summary = format!("Built by {compiler}, the rewritten loop is wrong {what}.");
            }
            Natively::Disagree(what) => {
                let why = format!(
                    "The simulator and this machine ({compiler}) do not agree {what}. That is Warpwright's fault or the original's: one of them reads the program wrongly, or C leaves open what it does. Please report it."
                );
                self.outcome = Outcome::NotTried(why.clone());
                self.summary = why;
            }
            Natively::NoKernel => self.not_native("no kernel ran there"),
            Natively::Raced => self.not_native(
                "on the inputs on which a kernel ran, several threads leave something else than one",
            ),
            Natively::Unreadable => self.not_native("what the programs wrote cannot be read"),
        }
    }

    /// Says why nothing was tried natively.
    pub fn not_native(&mut self, why: &str) {
        self.checked.truncate(1);
        self.summary += &format!(" Not tried natively: {why}.");
    }
}

/// What of the copies of these runs nobody needed, in sentences.
#[cfg(test)]
pub(crate) fn too_much(cases: &[VerifyCase], files: &[String]) -> Vec<String> {
    let all = transfers::all_transferred(cases.iter().flat_map(|c| &c.transferred));
    all.iter().filter_map(|t| t.too_much(files)).collect()
}

/// Sizes tried, awkward ones first: none, one, around a warp and a block.
const SIZES: [u64; 14] = [5, 0, 1, 33, 2, 8, 257, 31, 3, 32, 255, 17, 64, 100];

/// Sizes for functions that did not run on these, or too long.
const GENTLE_SIZES: [u64; 7] = [4, 2, 3, 9, 1, 33, 6];

/// Compares the loops chosen with their offloaded form, one report a loop.
pub fn verify(ask: &Ask, findings: &Findings, which: &Which, options: &VerifyOptions) -> Vec<VerifyReport> {
    Verifier::new(ask, findings, options).run(which).into_iter().map(|(r, _)| r).collect()
}

/// Names of the integers of the chosen loops' functions that [`VerifyOptions::given`] may hold.
pub fn given_names(ask: &Ask, findings: &Findings, which: &Which) -> Vec<String> {
    let doc = &ask.doc;
    let program = Program::of(bodies(doc.unit()).chain(doc.other_bodies()));
    let mut out: Vec<String> = Vec::new();
    for l in crate::offload::choose(ask, findings, which) {
        let Some(view) = findings.view(ask, l.item) else { continue };
        let Ok(mut signature) = inputs::signature(view.body()) else { continue };
        signature.globals.extend(inputs::stand_ins(&program, view.body()).1);
        out.extend(signature.sizes().iter().map(|s| (*s).to_owned()));
    }
    out.sort_unstable();
    out.dedup();
    out
}

/// Whether the kernels that are asked for are those that pages optimise.
fn is_optimizing(ask: &Ask) -> bool {
    ask.pages.as_ref().is_some_and(|p| p.optimized().is_some())
}

/// The document with smaller arrays, made when it is first asked for.
#[derive(Default)]
struct Smaller {
    made: Option<Option<(Ask, Findings, String)>>,
}

impl Smaller {
    /// The report of a loop of the smaller document on the same line; `None` where nothing can be said of it.
    fn one(
        &mut self,
        ask: &Ask,
        l: &LoopFinding,
        options: &VerifyOptions,
        share: &effort::Share,
    ) -> Option<(VerifyReport, Option<Trial>)> {
        let made = self.made.get_or_insert_with(|| {
            // several blocks where pages made much of blocks
            let first = if is_optimizing(ask) { SMALLER } else { FIRST };
            let (small, changed) = smaller::smaller(&ask.doc, first)?;
            // nothing of it is worth remembering
            let small = Ask {
                pages: ask.pages.clone(),
                ..Ask::new(&small, &Memo::new(), crate::Tier::Full, &ask.cancel)
            };
            let settings = crate::Settings::default();
            let findings = crate::check(&small, &settings).ok()?;
            Some((small, findings, changed_words(&changed)))
        });
        let (small, findings, changed) = made.as_ref()?;
        let same = crate::units::units(small, findings, &Which::Line(l.line()));
        let (mut report, trial) = one(small, findings, same.first()?, options, share);
        if let Outcome::NotTried(_) = report.outcome {
            return None;
        }
        report.key = l.key.to_string();
        report.summary =
            format!("With {changed}, for as it stands it is too large to be run here: {}", report.summary);
        Some((report, trial))
    }
}

fn one(
    ask: &Ask,
    findings: &Findings,
    unit: &Unit,
    options: &VerifyOptions,
    share: &effort::Share,
) -> (VerifyReport, Option<Trial>) {
    let l = unit.first;
    let (doc, cancel) = (&ask.doc, &ask.cancel);
    let mut cases = Vec::new();
    let (mut trial, mut stood_in) = (None, String::new());
    // it is written, and read again
    share.read(2 * doc.source().len());
    let offloaded = match share.is_spent() {
        true => Err(Refused::Because(effort::spent(l.line()))),
        false => offload_unit(ask, findings, unit),
    };
    let has_kernel = offloaded.is_ok();
    let mut kernel_files = Vec::new();
    let tried = match offloaded {
        Ok(_) if !doc.language().interpreted => Err(phrases::not_interpreted(doc)),
        Ok(done) => match findings.view(ask, l.item) {
            Some(view) => {
                kernel_files = done.edit.create.iter().map(|f| f.name.clone()).collect();
                let kernels: Vec<&str> = done.edit.create.iter().map(|f| f.text.as_str()).collect();
                run_cases(doc, &view, unit, (&done.host, &kernels), options, share, cancel, &mut cases)
                    .map(|(t, s)| (trial, stood_in) = (t, s))
            }
            None => Err("The loop is not there any more.".to_owned()),
        },
        Err(Refused::Because(why)) => Err(why),
        Err(Refused::Stale) => Err("The loop is not there any more.".to_owned()),
        Err(Refused::Cancelled) => Err("Cancelled.".to_owned()),
    };
    let threads = doc.unit().items.get(l.item).is_some_and(|i| crate::regions::is_for_threads(doc, i));
    let wrong = cases.iter().find_map(|c| Some((c.input.clone(), c.difference.clone()?)));
    let launched = cases.iter().filter(|c| c.counted.launches > 0).count();
    let (outcome, summary) = match (tried, wrong) {
        (_, Some((input, what))) => {
            (Outcome::Different, format!("The rewritten loop is wrong for {}: {what}.", or_nothing(&input)))
        }
        (Err(why), None) => {
            let why = if share.is_spent() { effort::spent(l.line()) } else { why };
            (Outcome::NotTried(why.clone()), why)
        }
        (Ok(_), None) => {
            let fallback = cases.len() - launched;
            let also = match fallback {
                0 => String::new(),
                n => format!(", the original loop as the fallback on {n} more"),
            };
            (
                Outcome::Same,
                match threads {
                    // what only one thread ran is not shown to be the same for several
                    true => format!(
                        "With OpenMP turned off the results are the same on {} in the simulator{also}; it runs regions \
                         by one thread.",
                        plural(launched, "random input")
                    ),
                    false => {
                        format!("Same results on {} in the simulator{also}.", plural(launched, "random input"))
                    }
                },
            )
        }
    };
    let is_same = outcome == Outcome::Same && !stood_in.is_empty();
    let summary = if is_same { format!("{summary} {stood_in}") } else { summary };
    let transferred = transfers::all_transferred(cases.iter().flat_map(|c| &c.transferred));
    let report = VerifyReport {
        key: l.key.to_string(),
        line: l.line(),
        function: l.report().function.clone(),
        outcome,
        summary,
        has_kernel,
        checked: vec!["simulator".to_owned()],
        transferred,
        failures: cases.iter().map(|c| c.failures).sum(),
        kernel_files,
        cases,
    };
    (report, trial)
}

fn or_nothing(input: &str) -> &str {
    if input.is_empty() {
        "every input"
    } else {
        input
    }
}

/// Notes the arrays of the file that nobody reads after the function: an offload may leave them in any state.
fn mark_unread(signature: &mut inputs::Signature, doc: &Doc, body: &Body, cancel: &CancelToken) {
    let known = crate::file_arrays::of(doc, cancel, &std::cell::Cell::new(0));
    for g in &mut signature.globals {
        g.dead |= known.is_some_and(|k| k.is_unread_after(body, &g.name));
    }
}

/// Whether two texts of one program compute the same.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Sameness {
    /// On so many inputs, bit for bit, and what the runs counted.
    Same(usize, Counted),
    /// A phrase with the input.
    Different(String),
    /// A sentence.
    NotTried(String),
    Cancelled,
}

/// Sizes for texts that are compared before they are offered: small ones, around the factors people choose.
const SMALL: [u64; 8] = [5, 0, 1, 9, 2, 33, 4, 17];

/// Runs a function beside the same function of another text of the document, on small random inputs.
pub(crate) fn same(view: &FunctionView, text: &str, options: &VerifyOptions) -> Sameness {
    same_but(view, &Beside::read(view.doc, text, &[]), How::default(), options)
}

/// A text that may take the place of a document's, read once for all functions that are compared.
pub(crate) struct Beside {
    /// Steps of all runs.
    steps: Budget,
    host: front::Unit,
    /// The document with CUDA's run time before it, where one of the texts calls that.
    given: Option<front::Unit>,
    kernels: Vec<front::Unit>,
}

impl Beside {
    /// `kernels`: texts of the kernels that the new text launches; then it is C over CUDA's run time.
    pub(crate) fn read(doc: &Doc, text: &str, kernels: &[String]) -> Beside {
        let read = |language: Language, before: &str, text: &str| {
            let parsed = front::Parsed::parse(language, format!("{before}{text}"));
            front::lower(&parsed, &doc.options().to_front(), &mut front::Memo::new())
        };
        // a CUDA document's own host code calls the run time, too
        let runs = doc.language().kernels && [doc.source(), text].iter().any(|t| runtime::is_called(t));
        let target = doc.options().target.row();
        let alone = runtime::host(target);
        let runtime_text = format!("{alone}{}", runtime::cub());
        let before = match (runs, kernels.is_empty()) {
            (true, _) => runtime_text.as_str(),
            (_, false) => alone.as_str(),
            _ => "",
        };
        Beside {
            steps: Budget::new(u64::MAX),
            host: read(doc.language(), before, text),
            given: runs.then(|| read(doc.language(), before, doc.source())),
            kernels: kernels.iter().map(|k| read(Language::Cuda, &runtime::device(target), k)).collect(),
        }
    }

    /// All functions that are compared take steps of this budget.
    pub(crate) fn within(self, steps: &Budget) -> Beside {
        Beside { steps: steps.clone(), ..self }
    }
}

/// Why a function was not run behind others.
const ALL_TAKEN: &str = "the limit of counted steps for all runs was reached.";

/// What may differ, and how the original is run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct How {
    /// Last bits of floating-point results may differ.
    pub regrouped: bool,
    /// The original launches kernels, too.
    pub launches: bool,
    /// Every second input has numbers that are no sizes.
    pub wild: bool,
}

/// Like [`same`], for results that are the same but for what is said.
pub(crate) fn same_but(view: &FunctionView, beside: &Beside, how: How, options: &VerifyOptions) -> Sameness {
    let (doc, cancel) = (view.doc, &view.ask.cancel);
    let body = view.body();
    let Beside { steps, host, given, kernels } = beside;
    if steps.left() == 0 {
        return Sameness::NotTried(ALL_TAKEN.to_owned());
    }
    let mut signature = match inputs::signature(body) {
        Ok(s) => s,
        Err(why) => return Sameness::NotTried(format!("{why}.")),
    };
    if !kernels.is_empty() {
        mark_unread(&mut signature, doc, body, cancel);
    }
    let mut offloaded = Program::of(bodies(host).chain(doc.other_bodies()));
    for u in kernels {
        offloaded.add_kernels(bodies(u));
    }
    let sides = Sides {
        original: Program::of(bodies(given.as_ref().unwrap_or(doc.unit())).chain(doc.other_bodies())),
        offloaded,
        function: &body.name,
        signature: &signature,
        sums: how.regrouped.then(rounding::Sums::default),
        launches: how.launches,
        apart: !doc.language().kernels && !kernels.is_empty(),
        // pages may stop the program where a call fails
        failed: std::cell::Cell::new(Some(0)),
        options,
        cancel,
        total: steps,
        not_run: Default::default(),
        places: None,
        transferred: Default::default(),
    };
    let mut tally = Tally::default();
    for case in 0..options.cases.max(1) {
        if cancel.is_cancelled() {
            return Sameness::Cancelled;
        }
        let choice = small_input(how, options.seed, case);
        // limits of types often are no input at all: then it is one like the others
        if choice.awkward {
            match run_case(&sides, choice, case, options.steps / 8) {
                OneCase::Same(_) => {
                    tally.same += 1;
                    continue;
                }
                OneCase::Different(what) => return Sameness::Different(what),
                OneCase::NoInput(_) | OneCase::Skipped => {}
            }
        }
        let choice = inputs::Choice { awkward: false, ..choice };
        match run_case(&sides, choice, case, options.steps) {
            OneCase::Same(counted) => {
                tally.same += 1;
                tally.counted.push(counted);
            }
            OneCase::Different(what) => return Sameness::Different(what),
            OneCase::NoInput(why) => {
                tally.failed.get_or_insert(why);
            }
            OneCase::Skipped => {}
        }
    }
    if let Some(what) = sides.not_run.take() {
        return Sameness::NotTried(format!("the new text was not run: {what}."));
    }
    tally.sameness(beside, how.launches)
}

/// The input of a case for texts that are compared before they are offered.
fn small_input(how: How, seed: u64, case: u32) -> inputs::Choice {
    let k = case as usize;
    inputs::Choice {
        size: SMALL[k % SMALL.len()],
        sizes: if k % 3 == 2 { inputs::Sizes::Near } else { inputs::Sizes::Equal },
        overlap: k % 4 == 3,
        seed: seed.wrapping_mul(0x9E37_79B9).wrapping_add(u64::from(case)),
        room: inputs::Room::SMALL,
        launches: how.launches,
        wild: how.wild && k % 2 == 1,
        held: inputs::Held::Any,
        awkward: how.wild && !how.regrouped && !how.launches && k % 4 == 1,
    }
}

/// What one input came to.
enum OneCase {
    Same(Counted),
    /// A phrase with the input.
    Different(String),
    /// Why the original does not take it.
    NoInput(String),
    Skipped,
}

/// Makes an input within so many steps, and runs both on it.
fn run_case(sides: &Sides<'_>, choice: inputs::Choice, case: u32, steps: u64) -> OneCase {
    let budget = Budget::with_cancel(steps, sides.cancel.clone());
    let made = sides.input().make(choice, &budget, &mut 0);
    let _ = sides.total.spend(budget.taken());
    let input = match made {
        Ok(input) => input,
        Err(fault) => return OneCase::NoInput(fault.to_string()),
    };
    match sides.compare(&input, case) {
        (Ok(None), counted) => OneCase::Same(counted),
        (Ok(Some(what)), _) => OneCase::Different(format!("for {}: {what}", or_nothing(&input.text))),
        (Err(Skip), _) => OneCase::Skipped,
    }
}

/// What inputs came to of which none is different.
#[derive(Default)]
struct Tally {
    /// Inputs with the same result.
    same: usize,
    counted: Vec<Counted>,
    /// Why the original did not take the first of those that it did not.
    failed: Option<String>,
}

impl Tally {
    fn sameness(self, beside: &Beside, launches: bool) -> Sameness {
        let counted: Counted = self.counted.into_iter().sum();
        match (self.same, self.failed) {
            (0, _) if beside.steps.left() == 0 => Sameness::NotTried(ALL_TAKEN.to_owned()),
            (0, Some(why)) => {
                Sameness::NotTried(format!("the original did not run on any input made up: {why}."))
            }
            (0, None) if launches => Sameness::NotTried(
                "the original itself did not run to a clean end: it took more steps than allowed, or a kernel of it is wrong."
                    .to_owned(),
            ),
            (0, None) => Sameness::NotTried("every run took more steps than allowed.".to_owned()),
            (_, _) if counted.launches == 0 && (launches || !beside.kernels.is_empty()) => {
                Sameness::NotTried("no kernel ran on any input made up.".to_owned())
            }
            (n, _) => Sameness::Same(n, counted),
        }
    }
}

/// A rewritten text and its kernels' texts, each with what stands before it.
fn read_with<'t>(
    doc: &Doc,
    (before, text): (&str, &str),
    (before_kernels, kernels): (&str, impl Iterator<Item = &'t str>),
) -> (front::Unit, Vec<front::Unit>) {
    let read = |language: Language, before: &str, text: &str| {
        let parsed = front::Parsed::parse(language, format!("{before}{text}"));
        front::lower(&parsed, &doc.options().to_front(), &mut front::Memo::new())
    };
    let kernels = kernels.map(|k| read(Language::Cuda, before_kernels, k)).collect();
    (read(doc.language(), before, text), kernels)
}

/// The functions and declarations of a unit, and the functions of headers that they call.
fn bodies(unit: &front::Unit) -> impl Iterator<Item = &term::Body> {
    unit.items.iter().chain(unit.included.iter().map(|i| &i.item)).map(|i| &*i.body)
}

fn too_large() -> String {
    format!(
        "its arrays take more than the {} MiB that an input may; build with smaller ones (`-D`), or give smaller sizes",
        inputs::MOST_BYTES >> 20
    )
}
