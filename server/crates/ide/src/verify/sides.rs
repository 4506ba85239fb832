//! One input, both sides: the original and the rewritten function run on the same memory, and what differs is put in words.
//! Deliberately absent: which inputs there are.

use base::{Budget, CancelToken};
use simulate::{Fault, FaultKind, Finding, Ledger, Outcome, Program, Schedule, Tolerance, Value};

use super::left::Left;
use super::rounding::Sums;
use super::transfers::{Places, Transferred};
use super::{inputs, runtime, Copies, Counted, VerifyOptions};
use crate::limits::verify_sides::FAILURE_STEPS;

/// What is compared.
pub(super) struct Sides<'a> {
    pub original: Program<'a>,
    pub offloaded: Program<'a>,
    pub function: &'a str,
    pub signature: &'a inputs::Signature,
    /// Floating-point operations that were regrouped, so that last bits may differ.
    pub sums: Option<Sums>,
    /// Whether the original launches kernels.
    pub launches: bool,
    /// Whether host and device have memory of their own in the rewritten function's runs: of what a document of the host alone
    /// became.
    pub apart: bool,
    /// In how many runs calls of the run time and launches have failed in turn; `None`: not yet.
    pub failed: std::cell::Cell<Option<u64>>,
    pub options: &'a VerifyOptions,
    pub cancel: &'a CancelToken,
    /// Steps of all runs.
    pub total: &'a Budget,
    /// What of the rewritten code could not be executed, if anything.
    pub not_run: std::cell::RefCell<Option<String>>,
    /// Where lines of the rewritten text are, for what is said of copies.
    pub places: Option<Places<'a>>,
    /// What the last run of the rewritten function copied.
    pub transferred: std::cell::RefCell<Vec<Transferred>>,
}

/// What the run time counted: by a variable of its own in the program's memory.
fn copies(heap: &simulate::Heap) -> [Copies; 2] {
    let counts = heap.global(runtime::COPIES).map(|o| heap.read_raw::<u64>(o)).unwrap_or_default();
    let copies = |k: usize| Copies {
        count: counts.get(k).copied().unwrap_or(0),
        bytes: counts.get(k + 1).copied().unwrap_or(0),
    };
    [copies(0), copies(2)]
}

/// A run that took more than its steps, or left what cannot be compared.
pub(super) struct Skip;

impl<'p> Sides<'p> {
    /// Whose inputs are made.
    pub(super) fn input(&self) -> inputs::Of<'_, 'p> {
        inputs::Of {
            program: &self.original,
            function: self.function,
            signature: self.signature,
            given: &self.options.given,
        }
    }

    /// Runs both on one input. Gives what differs, and what the run of the rewritten function counted.
    pub(super) fn compare(
        &self,
        input: &inputs::Input,
        case: u32,
    ) -> (Result<Option<String>, Skip>, Counted) {
        let steps = self.options.steps.min(self.total.left());
        let budget = Budget::with_cancel(steps, self.cancel.clone());
        let again = Budget::with_cancel(steps, self.cancel.clone());
        let out = self.compare_within(input, case, &budget, &again);
        let _ = self.total.spend((2 * steps - budget.left() - again.left()).min(self.total.left()));
        out
    }

    /// The original takes steps of the first budget, the rewritten function of the second.
    fn compare_within(
        &self,
        input: &inputs::Input,
        case: u32,
        first: &Budget,
        second: &Budget,
    ) -> (Result<Option<String>, Skip>, Counted) {
        let Sides { original, offloaded, function, signature, launches, options, .. } = self;
        let spent = |f: &Fault| matches!(f.kind, FaultKind::OutOfFuel | FaultKind::Cancelled);
        let (Ok(mut a), Ok(mut b)) = (input.place(signature), input.place(signature)) else {
            return (Err(Skip), Counted::default());
        };
        let plain = simulate::Options::default();
        let schedule = Schedule::seeded(options.seed.wrapping_add(u64::from(case)));
        let mut launched = 0;
        let want = match launches {
            false => simulate::run(original, function, &a.1, &mut a.0, &plain, first).ok(),
            true => match simulate::run_hosted(original, function, &a.1, &mut a.0, &schedule, first) {
                // an original with races has no result to compare with
                Ok((o, all)) if all.iter().all(|l| l.report.completed && l.report.findings.is_empty()) => {
                    launched = all.len() as u32;
                    o
                }
                _ => None,
            },
        };
        let Some(want) = want else { return (Err(Skip), Counted::default()) };
        if self.apart {
            b.0.keep_apart();
        }
        let mut ledger = Ledger::default();
        let run = match self.apart {
            true => simulate::run_told(offloaded, function, &b.1, &mut b.0, &schedule, second, &mut ledger),
            false => simulate::run_hosted(offloaded, function, &b.1, &mut b.0, &schedule, second),
        };
        let (got, launches) = match run {
            Ok(r) => r,
            Err(f) if spent(&f) => return (Err(Skip), Counted::default()),
            // what this machine does not execute is no fault of the code
            Err(f) if matches!(f.kind, FaultKind::NotSupported { .. }) => {
                self.not_run.borrow_mut().get_or_insert(f.to_string());
                return (Err(Skip), Counted::default());
            }
            Err(f) => return (Ok(Some(format!("the rewritten code fails: {f}"))), Counted::default()),
        };
        let [to_device, from_device] = copies(&b.0);
        let launched = u64::from(launched.max(launches.len() as u32));
        let ran = Counted { launches: launched, to_device, from_device };
        for l in &launches {
            if let Some(finding) = l.report.findings.first() {
                if let Finding::Fault(f) = finding {
                    if spent(f) {
                        return (Err(Skip), ran);
                    }
                    if matches!(f.kind, FaultKind::NotSupported { .. }) {
                        self.not_run.borrow_mut().get_or_insert(f.to_string());
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
        let sides = Ran { want: (&want, &a), got: (&got, &b), input };
        let stale = self.follow(&mut ledger, &sides);
        match self.differ(&sides) {
            Ok(None) | Err(Skip) if stale.is_some() => (Ok(stale), ran),
            Ok(Some(what)) => (Ok(Some(because(what, stale, &ledger, &sides))), ran),
            Ok(None) if launched > 0 => {
                (self.with_failures(input, (&want, &a), (&schedule, launched), second), ran)
            }
            other => (other, ran),
        }
    }

    /// Ends what was followed: the caller looks at what is left. Gives the first read of an old value.
    fn follow(&self, ledger: &mut Ledger, ran: &Ran<'_>) -> Option<String> {
        let places = self.places.as_ref()?;
        let b = ran.got.1;
        // what nobody looks at may be left in any state
        let dead: Vec<_> =
            b.3.iter().zip(&self.signature.globals).filter(|(_, g)| g.dead).map(|(o, _)| *o).collect();
        ledger.read_by_caller(b.0.memory(), &dead);
        *self.transferred.borrow_mut() = places.transferred(ledger);
        ledger.stale().first().map(|s| places.stale(s, ledger))
    }

    /// What differs in what both left.
    fn differ(&self, ran: &Ran<'_>) -> Result<Option<String>, Skip> {
        let Sides { original, function, signature, sums, .. } = self;
        let Ran { want: (want, a), got: (got, b), input } = *ran;
        let regrouped = sums.is_some();
        if let (true, (pieces @ 1.., bytes)) = (self.apart, b.0.left_on_device()) {
            return Ok(Some(format!(
                "{pieces} pieces of the device's memory ({bytes} bytes) are not given back"
            )));
        }
        let near = Tolerance::Relative { relative: 1e-4, absolute: 1e-4 };
        let tolerance = if regrouped { near } else { Tolerance::Exact };
        let inputs = a.2.iter().chain(&a.3).copied();
        let last_input = inputs.max().unwrap_or(simulate::ObjectId(0));
        let is_rounded = sums.as_ref().is_some_and(|s| s.may_decide(original, function));
        let left = Left { want: &a.0, got: &b.0, tolerance, last_input, is_rounded };
        if let (Some(x), Some(y)) = (want.value, got.value) {
            let address = match (x, y) {
                (Value::Int(x), Value::Int(y)) => left.pair(x as u64, y as u64),
                _ => None,
            };
            if address.is_none() && !same_value(x, y, regrouped) {
                if is_rounded && matches!((x, y), (Value::Int(_), Value::Int(_))) {
                    return Err(Skip);
                }
                return Ok(Some(format!("the function returns {y:?} instead of {x:?}")));
            }
        }
        let sides = input.buffers.iter().zip(a.2.iter().zip(&b.2)).chain(
            input.globals.iter().zip(a.3.iter().zip(&b.3)).zip(&signature.globals).filter_map(
                // what nobody looks at may be left in any state
                |(both, g)| (!g.dead).then_some(both),
            ),
        );
        let mut skipped = false;
        for (contents, (&x, &y)) in sides {
            match left.difference(&contents.name, &contents.layout, (x, y)) {
                Ok(None) => {}
                Ok(different) => return Ok(different),
                Err(Skip) => skipped = true,
            }
        }
        if skipped {
            return Err(Skip);
        }
        Ok(None)
    }

    /// Whether the rewritten function computes the same with every call of the run time and every launch failing in turn. Tried
    /// with one input, and a small one.
    fn with_failures(
        &self,
        input: &inputs::Input,
        want: (&Outcome, &inputs::Placed),
        (schedule, launches): (&Schedule, u64),
        budget: &Budget,
    ) -> Result<Option<String>, Skip> {
        if !self.apart || self.failed.get().is_some() || budget.taken() > FAILURE_STEPS {
            return Ok(None);
        }
        let most = self.options.failures;
        let all = (1..=most).map(Failing::Call).chain((1..=launches.min(most)).map(Failing::Launch));
        let (mut runs, mut all_called) = (0, false);
        for failing in all {
            if matches!(failing, Failing::Call(_)) && all_called {
                continue;
            }
            match self.with_failure(failing, input, want, schedule, budget) {
                // there was no such call any more
                Some(Ok(made)) if matches!(failing, Failing::Call(call) if made < call) => {
                    all_called = true;
                    continue;
                }
                Some(Ok(_)) => {}
                Some(Err(what)) => return Ok(Some(format!("where {} fails: {what}", failing.words()))),
                // what it takes is no fault of the code
                None => return Ok(None),
            }
            runs += 1;
        }
        self.failed.set(Some(runs));
        Ok(None)
    }

    /// Likewise with one of them. Gives how many calls there were, or what is wrong; `None`: nothing can be said.
    fn with_failure(
        &self,
        failing: Failing,
        input: &inputs::Input,
        want: (&Outcome, &inputs::Placed),
        schedule: &Schedule,
        budget: &Budget,
    ) -> Option<Result<u64, String>> {
        let mut b = input.place(self.signature).ok()?;
        match failing {
            Failing::Call(call) => {
                let at = b.0.buffer(runtime::FAIL_AT, &[call]).ok()?;
                b.0.provide(runtime::FAIL_AT, at);
            }
            Failing::Launch(launch) => {
                let at = b.0.buffer(runtime::LAUNCH_ERROR, &[0i32]).ok()?;
                b.0.provide(runtime::LAUNCH_ERROR, at);
                b.0.fail_launch(launch - 1, at);
            }
        }
        b.0.keep_apart();
        let ran = simulate::run_hosted(&self.offloaded, self.function, &b.1, &mut b.0, schedule, budget);
        let got = match ran {
            Ok((Some(got), _)) => got,
            Ok((None, launches)) => match launches.iter().flat_map(|l| &l.report.findings).next()? {
                Finding::Fault(f) if f.is_unknown() => return None,
                finding => return Some(Err(format!("a kernel is wrong: {}", words_of(finding)))),
            },
            Err(f) if f.is_unknown() => return None,
            Err(f) => return Some(Err(format!("the rewritten code fails: {f}"))),
        };
        match self.differ(&Ran { want, got: (&got, &b), input }) {
            Ok(None) => {}
            Ok(Some(what)) => return Some(Err(what)),
            // the run without a failure was compared
            Err(Skip) => return None,
        }
        let calls = b.0.global(runtime::CALLS)?;
        Some(Ok(b.0.read_raw::<u64>(calls).first().copied().unwrap_or(0)))
    }
}

/// What fails in a run.
#[derive(Clone, Copy)]
enum Failing {
    /// The n-th call of the run time, from 1.
    Call(u64),
    Launch(u64),
}

impl Failing {
    fn words(self) -> String {
        match self {
            Failing::Call(n) => format!("call {n} of the run time"),
            Failing::Launch(n) => format!("launch {n}"),
        }
    }
}

/// What two runs came to on one input.
struct Ran<'r> {
    want: (&'r Outcome, &'r inputs::Placed),
    got: (&'r Outcome, &'r inputs::Placed),
    input: &'r inputs::Input,
}

/// What differs, with what made it so.
fn because(what: String, stale: Option<String>, ledger: &Ledger, ran: &Ran<'_>) -> String {
    if let Some(stale) = stale {
        return format!("{what}: {stale}");
    }
    let names = ran.input.buffers.iter().chain(&ran.input.globals).map(|c| c.name.to_string());
    let b = ran.got.1;
    let mut lost = names.zip(b.2.iter().chain(&b.3)).filter(|(_, o)| ledger.is_lost(**o));
    match lost.find(|(name, _)| what.contains(&format!("`{name}["))) {
        Some((name, _)) => {
            format!("{what}: the GPU's values of `{name}` were given up with its memory, without a copy back")
        }
        None => what,
    }
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
