//! What is found of loops when somebody asks, beside the facts it belongs to.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use base::Budget;

use crate::LoopId;

/// Answers by loop, filled when they are asked for.
#[derive(Debug)]
pub struct LazyFacts<T>(Mutex<BTreeMap<LoopId, T>>);

impl<T: Clone> LazyFacts<T> {
    /// The answer for a loop, found now if it was not before. What a cancelled search left out is not remembered.
    pub(crate) fn get(&self, target: LoopId, budget: &Budget, find: impl FnOnce() -> T) -> T {
        if let Some(known) = self.lock().get(&target) {
            return known.clone();
        }
        let answer = find();
        if !budget.is_cancelled() {
            self.lock().insert(target, answer.clone());
        }
        answer
    }

    /// The answer for a loop, if it was found before.
    pub fn known(&self, target: LoopId) -> Option<T> {
        self.lock().get(&target).cloned()
    }
}

impl<T> LazyFacts<T> {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<LoopId, T>> {
        // answers are inserted whole: after a panic elsewhere they are still right
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> Default for LazyFacts<T> {
    fn default() -> LazyFacts<T> {
        LazyFacts(Mutex::default())
    }
}

impl<T: Clone> Clone for LazyFacts<T> {
    fn clone(&self) -> LazyFacts<T> {
        LazyFacts(Mutex::new(self.lock().clone()))
    }
}
