//! One loop's inputs, one after the other: which are tried, what is made of those that the original does not take, and when it
//! is enough. Deliberately absent: how inputs are made (`inputs.rs`), how two runs are compared (`sides.rs`).

use base::{Budget, CancelToken};
use simulate::{FaultKind, Program};

use super::effort::{of_bytes, Share};
use super::phrases::{ask_for, or_none, stood_in_words};
use super::rounding::Sums;
use super::sides::Sides;
use super::transfers::{Places, Written};
use super::{
    alone, bodies, fused, inputs, mark_unread, native, promised, runtime, too_large, Trial, VerifyCase,
    VerifyOptions, GENTLE_SIZES, SIZES,
};
use crate::function_view::FunctionView;
use crate::limits::verify_cases::{ALL_RUNS, APART, ENOUGH, GENTLE};
use crate::lints::is_parallel;
use crate::plans::OffloadSite;
use crate::region_plan::with_region;
use crate::units::Unit;
use crate::{Doc, Language};
use term::TermId;

/// Runs the original beside the texts given: a trial for a machine, and sentences on what stood in for what. `Err` says why
/// nothing was compared.
#[allow(clippy::too_many_arguments)]
pub(crate) fn run_cases(
    doc: &Doc,
    view: &FunctionView,
    unit: &Unit,
    (host, kernels): (&str, &[&str]),
    options: &VerifyOptions,
    share: &Share,
    cancel: &CancelToken,
    cases: &mut Vec<VerifyCase>,
) -> Result<(Option<Trial>, String), String> {
    let target = doc.options().target.row();
    let contracted: Vec<String> = match target.file.fuses {
        true => kernels.iter().map(|k| fused::contracted(Language::Cuda, k)).collect(),
        false => Vec::new(),
    };
    let contracted: Vec<&str> = contracted.iter().map(String::as_str).collect();
    let kernels = if target.file.fuses { contracted.as_slice() } else { kernels };
    let before = runtime::before(target);
    let texts = [(before[0].len(), host)].into_iter().chain(kernels.iter().map(|k| (before[1].len(), *k)));
    let read = |language: Language, before: &str, text: &str| {
        let parsed = front::Parsed::parse(language, format!("{before}{text}"));
        front::lower(&parsed, &doc.options().to_front(), &mut front::Memo::new())
    };
    let rewritten = read(doc.language(), &before[0], host);
    let device: Vec<front::Unit> = kernels.iter().map(|k| read(Language::Cuda, &before[1], k)).collect();
    // of a loop that stays on the host the nests in it are kernels
    let finding = unit.first;
    let inside = |of: TermId| unit.statements.iter().any(|&s| view.body().walk(s).any(|t| t == of));
    let summed = view.facts.loops.iter().filter(|l| {
        unit.statements == [l.term]
            || !(unit.alone && is_parallel(view.of(finding.id))) && is_parallel(l) && inside(l.term)
    });
    let site = OffloadSite { unnamed: true, ..Default::default() };
    let of_region = |plan: &codegen::RegionPlan, _: &FunctionView| Sums::of_region(view.body(), plan);
    let together =
        with_region(view, finding.id, &unit.statements, &site, cancel, &Default::default(), of_region);
    let sums = match target.file.fuses {
        true => Some(Sums::all(view.body())),
        false => Sums::both(Sums::of(view.body(), summed), together.unwrap_or_default()),
    };
    let texts = texts.collect();
    let broken = Default::default();
    let both = Both { doc, view, rewritten, device, texts, sums, options, share, cancel, broken };
    let failed = match share.known_failure(&view.body().name) {
        Some(known) => known,
        None => match both.whole(finding.id, (host, kernels), cases) {
            Ok((trial, stood_in)) => return Ok((trial, both.with_broken(stood_in))),
            Err(failed) => failed,
        },
    };
    if failed.is_of_function {
        share.remember_failure(&view.body().name, &failed);
    }
    if let Some(broken) = both.broken.take() {
        return Err(format!("{broken} {}", failed.why));
    }
    let Some(because) = failed.because.as_ref().filter(|_| unit.alone) else { return Err(failed.why) };
    cases.clear();
    match both.alone(finding.id, cases) {
        Ok(()) => Ok((
            None,
            format!(
                "The loop was tried alone, with made-up values for what comes before it, because {because}."
            ),
        )),
        Err(why) => Err(format!("{} Nor was the loop alone compared: {why}", failed.why)),
    }
}

/// What is said of runs whose kernels take products unrounded.
const FUSED: &str =
    "Products were fused with sums, as a compiler may, and a difference of 0.0001 was allowed, relative, or absolute below 1.";

/// Why the function was not compared as a whole.
#[derive(Clone, Debug)]
pub(super) struct Failed {
    /// A sentence.
    why: String,
    /// Likewise, to follow "because"; `None` where the loop alone should not be tried.
    because: Option<String>,
    /// Whether it would be the same for other loops of the function.
    is_of_function: bool,
}

impl Failed {
    fn plainly(why: String) -> Failed {
        Failed { why, because: None, is_of_function: false }
    }

    fn uncompared() -> Failed {
        let because = "what the whole function leaves cannot be compared".to_owned();
        Failed { because: Some(because), ..Failed::plainly(UNCOMPARED.to_owned()) }
    }
}

/// The original and what became of it.
struct Both<'a> {
    doc: &'a Doc,
    view: &'a FunctionView<'a>,
    rewritten: front::Unit,
    device: Vec<front::Unit>,
    /// What stands before the host's text and before the kernels', in bytes, and the texts.
    texts: Vec<(usize, &'a str)>,
    sums: Option<Sums>,
    options: &'a VerifyOptions,
    share: &'a Share,
    cancel: &'a CancelToken,
    /// Which promise a run of the original did not keep, a sentence.
    broken: std::cell::RefCell<Option<String>>,
}

impl Both<'_> {
    /// What is said besides, with the promise that is not kept before it.
    fn with_broken(&self, said: String) -> String {
        let is_fused = self.doc.options().target.is_fused();
        let fused = is_fused.then(|| FUSED.to_owned());
        let all: Vec<String> = self.broken.take().into_iter().chain(fused).chain([said]).collect();
        all.iter().filter(|s| !s.is_empty()).map(String::as_str).collect::<Vec<_>>().join(" ")
    }

    /// Both programs with what is tried of them, within so many steps of all runs.
    fn sides<'s>(
        &'s self,
        original: Program<'s>,
        offloaded: Program<'s>,
        signature: &'s inputs::Signature,
        total: &'s Budget,
    ) -> Sides<'s> {
        Sides {
            original,
            offloaded,
            function: &self.view.body().name,
            signature,
            sums: self.sums.clone(),
            launches: false,
            apart: !self.device.is_empty(),
            failed: Default::default(),
            options: self.options,
            cancel: self.cancel,
            total,
            not_run: Default::default(),
            places: Some(self.places(None)),
            transferred: Default::default(),
        }
    }

    /// Where what runs is written; of a loop alone, its part in the place of its function.
    fn places<'s>(&'s self, alone: Option<&'s alone::Alone>) -> Places<'s> {
        let mut written = Vec::new();
        for (text, unit) in [&self.rewritten].into_iter().chain(&self.device).enumerate() {
            for (k, item) in unit.items.iter().enumerate() {
                let part = alone.filter(|a| text == 0 && a.item == k);
                let body = part.map_or(&*item.body, |a| &a.rewritten);
                written.push(Written { body, start: item.span.start, text });
            }
        }
        Places::of(written, self.texts.clone())
    }

    /// The function as a whole.
    fn whole(
        &self,
        id: analysis::LoopId,
        texts: (&str, &[&str]),
        cases: &mut Vec<VerifyCase>,
    ) -> Result<(Option<Trial>, String), Failed> {
        let Both { doc, options, share, cancel, .. } = *self;
        let body = self.view.body();
        let rewritten = bodies(&self.rewritten).chain(self.device.iter().flat_map(bodies));
        let offloaded = Program::of(rewritten.chain(doc.other_bodies()));
        let original = Program::of(bodies(doc.unit()).chain(doc.other_bodies()));
        let rounded = self.sums.as_ref().is_some_and(|s| s.may_decide(&original, &body.name));
        let mut signature = inputs::signature(body).map_err(|why| Failed {
            why: format!("Nothing was compared, because {why}."),
            because: Some(why),
            is_of_function: true,
        })?;
        mark_unread(&mut signature, doc, body, cancel);
        let (names, values) = inputs::stand_ins(&original, body);
        let outer_integers = self.outer_integers(&signature, &values)?;
        let mut wider = signature.clone();
        wider.globals.extend(values);
        // something is left to try the loop alone
        let left = share.budget.left();
        let allowed = options.steps.saturating_mul(ALL_RUNS).min(left - left / 4);
        let total = Budget::with_cancel(allowed, cancel.clone());
        let watched = promised::Watched::of(self.view, id);
        let watched = watched.as_ref().map(|w| (w, &self.broken));
        let mut tried =
            Tried { doc, options, cancel, total: &total, cases, failed: None, uncompared: false, watched };
        let mut sides = self.sides(original, offloaded, &signature, &total);
        let mut collector = native::Collector::new(body, &signature);
        let may_overlap = signature.may_overlap();
        tried.plain(&sides, may_overlap, Some(&mut collector)).map_err(Failed::plainly)?;
        let mut stood_in = String::new();
        if !tried.is_enough() {
            // once more with what the function calls and what it may want of memory
            sides.original.stand_in(names.iter().cloned());
            sides.offloaded.stand_in(names.iter().cloned());
            sides.signature = &wider;
            let plainly = tried.failed.take();
            collector = native::Collector::new(body, &wider);
            // what ends the program is the C library's there
            let native = names.iter().all(|n| Program::is_ending(n)) && doc.language().is_compiled_whole();
            tried.gentle(&sides, native.then_some(&mut collector)).map_err(Failed::plainly)?;
            // smaller arrays would have helped: there is no room for those of the other inputs
            if let Some(too_much) = plainly.filter(|why| is_too_much(why)) {
                tried.failed = Some(too_much);
            }
            stood_in = stood_in_words(&names);
        }
        let _ = share.budget.spend(allowed - total.left());
        if let Some(failed) = self.why_uncompared(&sides, &tried, &outer_integers) {
            return Err(failed);
        }
        Ok((self.trial(collector, texts, rounded), stood_in))
    }

    /// Names of the integers that the function gets from outside. `Err`: a value is given for something else.
    fn outer_integers(
        &self,
        signature: &inputs::Signature,
        stand_ins: &[inputs::Global],
    ) -> Result<Vec<String>, Failed> {
        let sizes = signature.sizes().into_iter().map(str::to_owned);
        let all: Vec<String> = sizes.chain(stand_ins.iter().map(|v| v.name.to_string())).collect();
        match self.options.given.iter().find(|g| !all.contains(&g.0)) {
            Some((name, _)) => Err(Failed::plainly(format!(
                "`{name}` is no integer that `{}` gets from outside. Values can be given for: {}.",
                self.view.body().name,
                or_none(&all)
            ))),
            None => Ok(all),
        }
    }

    /// Why the runs of the whole function say nothing.
    fn why_uncompared(
        &self,
        sides: &Sides<'_>,
        tried: &Tried<'_, '_>,
        outer_integers: &[String],
    ) -> Option<Failed> {
        if let Some(why) = not_run(sides, tried.cases) {
            return Some(Failed {
                because: Some("the rewritten function could not be run as a whole".to_owned()),
                ..Failed::plainly(why)
            });
        }
        if tried.is_enough() {
            return None;
        }
        if tried.uncompared {
            return Some(Failed::uncompared());
        }
        if !tried.cases.is_empty() {
            return Some(Failed {
                because: Some("on all inputs for the whole function the original loop ran".to_owned()),
                ..Failed::plainly(NO_KERNEL.to_owned())
            });
        }
        let why = tried.failed.clone().unwrap_or_else(|| NO_CASE.to_owned());
        let ask = match (outer_integers.is_empty(), self.options.given.is_empty()) {
            (false, true) => format!(" Give values that it takes: `--given {}`.", ask_for(outer_integers)),
            _ => String::new(),
        };
        Some(Failed {
            why: format!(
                "Nothing was compared, because the original itself did not run on any input that was made up: {why}.{ask}"
            ),
            because: Some(format!("the whole function did not run on any input that was made up ({why})")),
            // of the same program with smaller arrays it may run
            is_of_function: tried.total.left() > 0 && !is_too_much(&why),
        })
    }

    /// What a machine can run of the inputs collected.
    fn trial(
        &self,
        collector: native::Collector<'_>,
        (host, kernels): (&str, &[&str]),
        rounded: bool,
    ) -> Option<Trial> {
        let o = self.doc.options();
        let mut trial = collector.finish(self.doc.source(), host, kernels, (self.sums.is_some(), rounded))?;
        trial.defines = native::defines(o);
        let used = o.project.as_ref().map(|p| p.used(self.doc.program())).unwrap_or_default();
        trial.parts = used.into_iter().map(|f| native::part(f)).collect();
        Some(trial)
    }

    /// The loop alone. A difference is a result only where what was made takes nothing from before the loop: else the values
    /// it was found with may never occur.
    fn alone(&self, id: analysis::LoopId, cases: &mut Vec<VerifyCase>) -> Result<(), String> {
        let Both { doc, options, share, cancel, .. } = *self;
        let cannot = |why: String| format!("{why}.");
        let parts = alone::alone(self.view, id, &self.rewritten).map_err(cannot)?;
        let whole = self.view.body();
        let original = bodies(doc.unit()).map(|b| if std::ptr::eq(b, whole) { &parts.original } else { b });
        let there: &term::Body = &self.rewritten.items[parts.item].body;
        let rewritten =
            bodies(&self.rewritten).map(|b| if std::ptr::eq(b, there) { &parts.rewritten } else { b });
        let sizes = parts.signature.sizes();
        let mut options = options.clone();
        options.given.retain(|g| sizes.contains(&g.0.as_str()));
        let allowed = options.steps.saturating_mul(ALL_RUNS).min(share.budget.left());
        let total = Budget::with_cancel(allowed, cancel.clone());
        let original = Program::of(original.chain(doc.other_bodies()));
        let device = self.device.iter().flat_map(bodies);
        let offloaded = Program::of(rewritten.chain(device).chain(doc.other_bodies()));
        let places = Some(self.places(Some(&parts)));
        let sides =
            Sides { options: &options, places, ..self.sides(original, offloaded, &parts.signature, &total) };
        let mut tried = Tried {
            doc,
            options: &options,
            cancel,
            total: &total,
            cases,
            failed: None,
            uncompared: false,
            watched: None,
        };
        // what was made before the loop lies apart
        tried.plain(&sides, false, None)?;
        if !tried.is_enough() {
            tried.failed = None;
            tried.gentle(&sides, None)?;
        }
        let Tried { cases, failed, uncompared, .. } = tried;
        let _ = share.budget.spend(allowed - total.left());
        if let Some(case) = cases.iter_mut().find(|c| c.difference.is_some()) {
            if alone::is_same_alone(self.view, id, cancel) {
                case.input = format!("the loop alone with {}", super::or_nothing(&case.input));
                return Ok(());
            }
            let (input, what) = (case.input.clone(), case.difference.clone().unwrap_or_default());
            cases.clear();
            return Err(format!(
                "there the rewritten one differs for {}: {what}; but the function may never come to the loop with such \
                 values.",
                super::or_nothing(&input)
            ));
        }
        if let Some(why) = not_run(&sides, cases) {
            return Err(why);
        }
        if uncompared && cases.iter().all(|c| c.counted.launches == 0) {
            cases.clear();
            return Err(UNCOMPARED.to_owned());
        }
        if cases.is_empty() {
            return Err(cannot(failed.unwrap_or_else(|| NO_CASE.to_owned())));
        }
        if cases.iter().all(|c| c.counted.launches == 0) {
            cases.clear();
            return Err(NO_KERNEL.to_owned());
        }
        Ok(())
    }
}

const NO_CASE: &str = "every run took more steps than allowed";

/// Whether it says that the program is too large to be run, and not that something is wrong.
pub(super) fn is_too_much(why: &str) -> bool {
    why.contains(&too_large()) || why.contains(NO_CASE)
}

const NO_KERNEL: &str =
    "The kernel never ran to its end: on the inputs tried the original loop ran, or the run took more steps than allowed.";

/// What of the rewritten code could not be executed, if nothing else is wrong: a sentence.
fn not_run(sides: &Sides<'_>, cases: &[VerifyCase]) -> Option<String> {
    let what = sides.not_run.take()?;
    let is_wrong = cases.iter().any(|c| c.difference.is_some());
    (!is_wrong).then(|| format!("The rewritten code was not run: {what}. Please report this loop."))
}

/// What was tried of one loop.
struct Tried<'a, 'c> {
    doc: &'a Doc,
    options: &'a VerifyOptions,
    cancel: &'a CancelToken,
    /// Steps of all runs.
    total: &'a Budget,
    cases: &'c mut Vec<VerifyCase>,
    failed: Option<String>,
    /// Whether a kernel ran and what was left cannot be compared.
    uncompared: bool,
    /// Promises that runs of the original are held to, and what was found.
    watched: Option<(&'a promised::Watched, &'a std::cell::RefCell<Option<String>>)>,
}

/// What is said where a kernel ran, and never on an input of which it can be told whether the same is left.
const UNCOMPARED: &str = "Nothing was compared: where the kernel ran, the runs took more steps than allowed, or left what \
                          cannot be compared: pointers to memory of unknown types, or regrouped sums of which \
                          the last bits decide whole numbers.";

impl Tried<'_, '_> {
    /// Whether a kernel ran, or something is wrong.
    fn is_enough(&self) -> bool {
        self.cases.iter().any(|c| c.counted.launches > 0 || c.difference.is_some())
    }

    /// Inputs for functions that take everything.
    fn plain(
        &mut self,
        sides: &Sides<'_>,
        may_overlap: bool,
        mut collector: Option<&mut native::Collector<'_>>,
    ) -> Result<(), String> {
        for case in 0..self.options.cases.max(1) {
            let k = case as usize;
            let choice = inputs::Choice {
                size: SIZES[k % SIZES.len()],
                sizes: if k % 3 == 2 { inputs::Sizes::Near } else { inputs::Sizes::Equal },
                overlap: may_overlap && k % 4 == 3,
                ..self.choice(case)
            };
            let collector = collector.as_deref_mut().filter(|_| self.doc.language().is_compiled_whole());
            if !self.one(sides, choice, case, collector)? {
                break;
            }
            // of a program without sizes one input is as large as another
            let is_too_much = self.failed.as_deref().is_some_and(is_too_much);
            if is_too_much && self.cases.is_empty() && sides.signature.sizes().is_empty() {
                break;
            }
        }
        self.apart(sides, collector)
    }

    /// Where a kernel seldom ran, sizes that lie further apart: hosts test that the parts of a row fit it.
    fn apart(
        &mut self,
        sides: &Sides<'_>,
        mut collector: Option<&mut native::Collector<'_>>,
    ) -> Result<(), String> {
        let (first, ran) = (self.options.cases.max(1), self.cases.len());
        let has_sizes = sides.signature.sizes().len() > 1;
        for case in (first..first + APART).filter(|_| ran > 0 && has_sizes) {
            let launched = self.cases.iter().filter(|c| c.counted.launches > 0).count();
            if launched >= ENOUGH.min(ran.div_ceil(2)) || self.cases.iter().any(|c| c.difference.is_some()) {
                break;
            }
            let choice = inputs::Choice {
                size: [17, 9, 40][case as usize % 3],
                sizes: inputs::Sizes::Apart,
                ..self.choice(case)
            };
            let collector = collector.as_deref_mut().filter(|_| self.doc.language().is_compiled_whole());
            if !self.one(sides, choice, case, collector)? {
                break;
            }
        }
        Ok(())
    }

    /// Inputs for functions that take little of what there is: numbers from 0 to 1, lengths and steps of one, few sizes.
    fn gentle(
        &mut self,
        sides: &Sides<'_>,
        mut collector: Option<&mut native::Collector<'_>>,
    ) -> Result<(), String> {
        for case in 0..GENTLE.max(self.options.cases) {
            let k = case as usize;
            let choice = inputs::Choice {
                size: GENTLE_SIZES[k % GENTLE_SIZES.len()],
                sizes: [
                    inputs::Sizes::Equal,
                    inputs::Sizes::Equal,
                    inputs::Sizes::Apart,
                    inputs::Sizes::Equal,
                    inputs::Sizes::Near,
                ][k % 5],
                room: inputs::Room::SMALL,
                held: [inputs::Held::Gentle, inputs::Held::Alike, inputs::Held::Any, inputs::Held::Alike]
                    [k % 4],
                ..self.choice(case)
            };
            if !self.one(sides, choice, case, collector.as_deref_mut())?
                || self.cases.iter().filter(|c| c.counted.launches > 0).count() >= ENOUGH
            {
                break;
            }
        }
        Ok(())
    }

    fn choice(&self, case: u32) -> inputs::Choice {
        inputs::Choice {
            size: 0,
            sizes: inputs::Sizes::Equal,
            overlap: false,
            seed: self.options.seed.wrapping_mul(0x9E37_79B9).wrapping_add(u64::from(case)),
            room: inputs::Room::WIDE,
            launches: false,
            wild: false,
            held: inputs::Held::Any,
            awkward: false,
        }
    }

    /// Runs both sides on one input. `false`: the steps for all are used up.
    fn one(
        &mut self,
        sides: &Sides<'_>,
        choice: inputs::Choice,
        case: u32,
        collector: Option<&mut native::Collector<'_>>,
    ) -> Result<bool, String> {
        if self.cancel.is_cancelled() {
            return Err("Cancelled.".to_owned());
        }
        let steps = self.options.steps.min(self.total.left());
        if steps == 0 {
            return Ok(false);
        }
        let budget = Budget::with_cancel(steps, self.cancel.clone());
        let mut bytes = 0;
        let made = sides.input().make(choice, &budget, &mut bytes);
        let taken = steps - budget.left() + of_bytes(bytes);
        let _ = self.total.spend(taken.min(self.total.left()));
        let input = match made {
            Ok(i) => i,
            Err(fault) => {
                self.failed.get_or_insert(match fault.kind {
                    FaultKind::MemoryLimit => too_large(),
                    FaultKind::OutOfFuel => NO_CASE.to_owned(),
                    _ => fault.to_string(),
                });
                return Ok(true);
            }
        };
        if let Some((watched, broken)) = self.watched.filter(|w| w.1.borrow().is_none()) {
            let budget = Budget::with_cancel(steps, self.cancel.clone());
            *broken.borrow_mut() = watched.broken(sides, &input, &budget);
            let _ = self.total.spend((steps - budget.left()).min(self.total.left()));
        }
        let before = sides.failed.get().is_some();
        sides.transferred.borrow_mut().clear();
        let (difference, counted) = sides.compare(&input, case);
        let transferred = sides.transferred.take();
        let failures = sides.failed.get().filter(|_| !before).unwrap_or(0);
        if let (Ok(None), Some(collector)) = (&difference, collector) {
            collector.add(
                &input,
                &sides.original,
                &Budget::with_cancel(self.options.steps, self.cancel.clone()),
            );
        }
        // Too long for the steps given is no result.
        match difference {
            Ok(difference) => {
                self.cases.push(VerifyCase { input: input.text, counted, difference, transferred, failures })
            }
            Err(_) => self.uncompared |= counted.launches > 0,
        }
        Ok(true)
    }
}
