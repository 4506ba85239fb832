//! Long work asks before each step: counted steps and cancellation.
//!
//! Steps are counted, never timed, so that the same input gives the same answer on every machine. Time passes only while
//! work gives way to other work ([`CancelToken::hold`]), which changes when an answer comes and not what it is.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::Arc;
use std::time::Duration;

/// Why work stopped before its end. Both mean "unknown", never "no".
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stop {
    /// The counted steps are used up.
    Spent,
    /// Somebody no longer wants the answer.
    Cancelled,
}

/// Set once by whoever no longer wants an answer; seen by every [`Budget`] made from it. Work that asks it also gives way
/// for a moment to whoever goes before it ([`CancelToken::hold`]).
#[derive(Clone, Debug, Default)]
pub struct CancelToken(Arc<AtomicU32>);

/// The bit that says "cancelled"; those above count who holds the work.
const CANCELLED: u32 = 1;
const HOLD: u32 = 2;
/// How often, and for how long each time, work gives way when it asks: it goes on whatever becomes of who holds it.
const NAPS: u32 = 200;
const NAP: Duration = Duration::from_micros(100);

impl CancelToken {
    /// A token that is not set.
    pub fn new() -> CancelToken {
        CancelToken::default()
    }
    /// Asks the work to stop at its next step.
    pub fn cancel(&self) {
        self.0.fetch_or(CANCELLED, Ordering::Relaxed);
    }
    /// Whether it was set.
    pub fn is_cancelled(&self) -> bool {
        let mut state = self.0.load(Ordering::Relaxed);
        if state >= HOLD {
            state = self.give_way();
        }
        state & CANCELLED != 0
    }
    /// Holds the work up wherever it asks next, for as long as what this gives lives and a short while at most: for what is
    /// to have the processors first.
    pub fn hold(&self) -> Held {
        self.0.fetch_add(HOLD, Ordering::Relaxed);
        Held(self.clone())
    }

    #[cold]
    fn give_way(&self) -> u32 {
        let state = || self.0.load(Ordering::Relaxed);
        for _ in 0..NAPS {
            if state() < HOLD || state() & CANCELLED != 0 {
                break;
            }
            std::thread::sleep(NAP);
        }
        state()
    }
}

/// While it lives, work is held up ([`CancelToken::hold`]).
#[derive(Debug)]
pub struct Held(CancelToken);

impl Drop for Held {
    fn drop(&mut self) {
        self.0 .0.fetch_sub(HOLD, Ordering::Relaxed);
    }
}

/// How much work an answer is worth, in counted steps. What one of the three does not reach is unknown, and may be asked
/// again with more.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Effort {
    /// For each loop (or kernel) by itself, so that its answer does not depend on what stands around it.
    pub each_loop: u64,
    /// For all loops of one function, in textual order.
    pub function: u64,
    /// For all functions of one file.
    pub file: u64,
}

impl Effort {
    /// So many steps for each loop, as many loops as there are.
    pub const fn each_loop(steps: u64) -> Effort {
        Effort { each_loop: steps, function: u64::MAX, file: u64::MAX }
    }

    /// Whether whatever `other` finds out is found out with this, too.
    pub fn covers(&self, other: &Effort) -> bool {
        self.each_loop >= other.each_loop && self.function >= other.function && self.file >= other.file
    }

    /// This, where a file has only so many steps left for its functions.
    pub fn with_left(self, left: u64) -> Effort {
        Effort { function: self.function.min(left), ..self }
    }
}

/// Counted steps and a way to be cancelled. Clones share both. Without any by default.
#[derive(Clone, Debug)]
pub struct Budget {
    given: u64,
    left: Arc<AtomicU64>,
    /// How many of these a step counts for, at least 1.
    price: u64,
    cancel: CancelToken,
}

impl Default for Budget {
    fn default() -> Budget {
        Budget::new(0)
    }
}

impl Budget {
    /// A budget of `steps` that nobody cancels.
    pub fn new(steps: u64) -> Budget {
        Budget::with_cancel(steps, CancelToken::new())
    }

    /// A budget of `steps` that stops when `cancel` is set.
    pub fn with_cancel(steps: u64, cancel: CancelToken) -> Budget {
        Budget { given: steps, left: Arc::new(AtomicU64::new(steps)), price: 1, cancel }
    }

    /// A fresh budget of `steps` that is cancelled together with this one. Use one per unit of work
    /// (a nest, say), so that its answer does not depend on what was analysed before it.
    pub fn part(&self, steps: u64) -> Budget {
        Budget::with_cancel(steps, self.cancel.clone())
    }

    /// The same steps for work of which each step takes as long as `price` others: it counts for as many, so that a step
    /// takes about as long everywhere.
    pub fn priced(&self, price: u64) -> Budget {
        Budget { price: self.price.saturating_mul(price.max(1)), ..self.clone() }
    }

    /// What a step counts for.
    pub fn price(&self) -> u64 {
        self.price
    }

    /// Steps left.
    pub fn left(&self) -> u64 {
        self.left.load(Ordering::Relaxed) / self.price
    }

    /// Steps taken so far.
    pub fn taken(&self) -> u64 {
        (self.given - self.left.load(Ordering::Relaxed).min(self.given)) / self.price
    }

    /// Takes `steps`, or says why not. After `Spent` every later call answers `Spent` too.
    pub fn spend(&self, steps: u64) -> Result<(), Stop> {
        if self.cancel.is_cancelled() {
            return Err(Stop::Cancelled);
        }
        let cost = steps.saturating_mul(self.price);
        let taken =
            self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(cost));
        match taken {
            Ok(_) => Ok(()),
            Err(_) => {
                self.left.store(0, Ordering::Relaxed);
                Err(Stop::Spent)
            }
        }
    }

    /// Whether it was cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.cancel.is_cancelled()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spent_stays_spent_and_cancel_reaches_parts() {
        let cancel = CancelToken::new();
        let b = Budget::with_cancel(3, cancel.clone());
        assert_eq!(b.spend(2), Ok(()));
        assert_eq!(b.spend(2), Err(Stop::Spent));
        assert_eq!(b.spend(1), Err(Stop::Spent));
        assert_eq!(b.taken(), 3);
        let p = b.part(10);
        assert_eq!(p.spend(1), Ok(()));
        assert_eq!((p.left(), p.taken()), (9, 1));
        cancel.cancel();
        assert_eq!(p.spend(1), Err(Stop::Cancelled));
    }

    #[test]
    fn work_that_is_held_goes_on_when_it_is_let_go_and_ends_when_cancelled() {
        let token = CancelToken::new();
        let first = token.hold();
        let second = token.hold();
        drop(first);
        // nobody waits for ever
        assert!(!token.is_cancelled());
        token.cancel();
        assert!(token.is_cancelled());
        drop(second);
        assert!(token.is_cancelled());

        let token = CancelToken::new();
        let held = token.hold();
        let asks = token.clone();
        let work = std::thread::spawn(move || asks.is_cancelled());
        drop(held);
        assert!(!work.join().unwrap());
    }

    #[test]
    fn dear_steps_count_several_times() {
        let b = Budget::new(100);
        let dear = b.priced(10);
        assert_eq!((dear.left(), dear.spend(3), b.left(), dear.taken()), (10, Ok(()), 70, 3));
        assert_eq!((dear.spend(8), b.left()), (Err(Stop::Spent), 0));
        assert_eq!(Budget::default().priced(0).spend(1), Err(Stop::Spent));
    }

    #[test]
    fn what_covers_what() {
        let (less, more) = (Effort::each_loop(3), Effort::each_loop(4));
        assert!(more.covers(&less) && !less.covers(&more) && less.covers(&less));
        assert_eq!(less.with_left(10), Effort { function: 10, ..less });
        assert!(!less.with_left(10).covers(&less));
    }
}
