//! Long work asks before each step: counted steps and cancellation.
//!
//! Steps are counted, never timed, so that the same input gives the same answer on every machine.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::Arc;

/// Why work stopped before its end. Both mean "unknown", never "no".
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stop {
    /// The counted steps are used up.
    Spent,
    /// Somebody no longer wants the answer.
    Cancelled,
}

/// Set once by whoever no longer wants an answer; seen by every [`Budget`] made from it.
#[derive(Clone, Debug, Default)]
pub struct CancelToken(Arc<AtomicBool>);

impl CancelToken {
    /// A token that is not set.
    pub fn new() -> CancelToken {
        CancelToken::default()
    }
    /// Asks the work to stop at its next step.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
    /// Whether it was set.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Counted steps and a way to be cancelled. Clones share both.
#[derive(Clone, Debug)]
pub struct Budget {
    left: Arc<AtomicU64>,
    cancel: CancelToken,
}

impl Budget {
    /// A budget of `steps` that nobody cancels.
    pub fn new(steps: u64) -> Budget {
        Budget::with_cancel(steps, CancelToken::new())
    }

    /// A budget of `steps` that stops when `cancel` is set.
    pub fn with_cancel(steps: u64, cancel: CancelToken) -> Budget {
        Budget { left: Arc::new(AtomicU64::new(steps)), cancel }
    }

    /// A fresh budget of `steps` that is cancelled together with this one. Use one per unit of work
    /// (a nest, say), so that its answer does not depend on what was analysed before it.
    pub fn part(&self, steps: u64) -> Budget {
        Budget::with_cancel(steps, self.cancel.clone())
    }

    /// Steps left.
    pub fn left(&self) -> u64 {
        self.left.load(Ordering::Relaxed)
    }

    /// Takes `steps`, or says why not. After `Spent` every later call answers `Spent` too.
    pub fn spend(&self, steps: u64) -> Result<(), Stop> {
        if self.cancel.is_cancelled() {
            return Err(Stop::Cancelled);
        }
        let taken =
            self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(steps));
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
        let p = b.part(10);
        assert_eq!(p.spend(1), Ok(()));
        cancel.cancel();
        assert_eq!(p.spend(1), Err(Stop::Cancelled));
    }
}
