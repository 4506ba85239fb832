//! What one command may spend on all its loops together: counted, never timed, so that the same file gives the same answer on
//! every machine. A loop takes at most half of what is left, so that a few expensive ones leave something to the others.
//! Deliberately absent: what is tried first.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use base::{Budget, CancelToken};
use rustc_hash::FxHashMap;

use super::cases::{is_too_much, Failed};
use super::{given_names, is_optimizing, one, Outcome, Smaller, Trial, VerifyOptions, VerifyReport};
use crate::limits::verify_effort::{BUILT, BUILT_BESIDE, BYTES_PER_STEP, LEAST, PER_TEXT_BYTE, STEPS};
use crate::{Ask, Findings, Which};

/// Verifies loops of one document within one budget.
pub struct Verifier<'a> {
    ask: &'a Ask,
    findings: &'a Findings,
    options: &'a VerifyOptions,
    steps: Budget,
    built: Budget,
    smaller: RefCell<Smaller>,
    several: bool,
    failed: Failures,
}

/// Functions that do not run as a whole on any input that is made up, and why.
type Failures = Rc<RefCell<FxHashMap<Arc<str>, Failed>>>;

impl<'a> Verifier<'a> {
    /// For one command.
    pub fn new(ask: &'a Ask, findings: &'a Findings, options: &'a VerifyOptions) -> Verifier<'a> {
        Verifier {
            ask,
            findings,
            options,
            steps: Budget::new(STEPS),
            built: Budget::new(BUILT),
            smaller: RefCell::default(),
            several: false,
            failed: Failures::default(),
        }
    }

    /// Says that loops are chosen one after the other, and that a value is given for those that know it.
    pub fn for_several(self, several: bool) -> Verifier<'a> {
        Verifier { several, ..self }
    }

    /// One report a loop chosen, each with what a machine needs to try the same inputs natively, where that can be written.
    pub fn run(&self, which: &Which) -> Vec<(VerifyReport, Option<Trial>)> {
        let Verifier { ask, findings, .. } = *self;
        let chosen = crate::units::units(ask, findings, which);
        let several = self.several || chosen.len() > 1;
        let all = chosen.iter().map(|unit| {
            let l = unit.first;
            let mut options = self.options.clone();
            if several && !options.given.is_empty() {
                // each takes those that it knows
                let names = given_names(ask, findings, &Which::Key(l.key.to_string()));
                options.given.retain(|g| names.contains(&g.0));
            }
            let share = Share::of(&self.steps, self.failed.clone(), &ask.cancel);
            let first = one(ask, findings, unit, &options, &share);
            let tried = match &first.0.outcome {
                Outcome::NotTried(why) if unit.alone && (is_too_much(why) || is_optimizing(ask)) => {
                    self.smaller.borrow_mut().one(ask, l, &options, &share).unwrap_or(first)
                }
                _ => first,
            };
            share.end(&self.steps);
            tried
        });
        all.collect()
    }

    /// Whether a trial may be built and run natively still: what that takes is counted by the bytes that a compiler reads.
    pub fn may_build(&self, trial: &Trial) -> bool {
        let kernels: usize = trial.kernels.iter().map(String::len).sum();
        let bytes = (trial.original.len() + trial.rewritten.len() + kernels) as u64;
        self.built.spend(bytes + BUILT_BESIDE).is_ok()
    }
}

/// What one loop may spend.
pub(crate) struct Share {
    given: u64,
    pub budget: Budget,
    failed: Failures,
}

impl Share {
    fn of(whole: &Budget, failed: Failures, cancel: &CancelToken) -> Share {
        let given = match whole.left() {
            left if left < LEAST => 0,
            left => left / 2,
        };
        Share { given, budget: Budget::with_cancel(given, cancel.clone()), failed }
    }

    /// For a loop that is looked at alone.
    #[cfg(test)]
    pub(crate) fn plenty() -> Share {
        Share { given: u64::MAX, budget: Budget::new(u64::MAX), failed: Failures::default() }
    }

    fn end(&self, whole: &Budget) {
        let _ = whole.spend(self.given - self.budget.left());
    }

    /// Why the function does not run as a whole, if another loop of it was tried before.
    pub(super) fn known_failure(&self, function: &str) -> Option<Failed> {
        self.failed.borrow().get(function).cloned()
    }

    pub(super) fn remember_failure(&self, function: &Arc<str>, failed: &Failed) {
        self.failed.borrow_mut().insert(function.clone(), failed.clone());
    }

    pub fn is_spent(&self) -> bool {
        self.budget.left() == 0
    }

    /// So much text was read.
    pub fn read(&self, bytes: usize) {
        let _ = self.budget.spend(bytes as u64 * PER_TEXT_BYTE);
    }
}

/// Bytes of inputs as steps.
pub(super) fn of_bytes(bytes: u64) -> u64 {
    bytes / BYTES_PER_STEP
}

/// What is said of a loop that was not tried, or not to an end, because of the loops before it.
pub(super) fn spent(line: u32) -> String {
    format!(
        "Not tried: the command's budget was spent on the loops of this file before it. Ask for this one alone with \
         `--loop {line}`."
    )
}
