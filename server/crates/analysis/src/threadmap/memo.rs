//! Thread maps found so far, beside the facts they belong to.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use base::Budget;

use crate::{LoopId, Obstacle, ThreadMap};

type Answer = Result<Arc<ThreadMap>, Vec<Obstacle>>;

/// The thread maps of a body's loops, filled when they are asked for.
#[derive(Debug, Default)]
pub struct ThreadMaps(Mutex<BTreeMap<LoopId, Answer>>);

impl ThreadMaps {
    /// The answer for a loop, found now if it was not before. What a cancelled search left out is not remembered.
    pub(crate) fn get(
        &self,
        target: LoopId,
        budget: &Budget,
        find: impl FnOnce() -> Result<ThreadMap, Vec<Obstacle>>,
    ) -> Answer {
        if let Some(known) = self.lock().get(&target) {
            return known.clone();
        }
        let answer = find().map(Arc::new);
        if !budget.is_cancelled() {
            self.lock().insert(target, answer.clone());
        }
        answer
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<LoopId, Answer>> {
        // answers are inserted whole: after a panic elsewhere they are still right
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Clone for ThreadMaps {
    fn clone(&self) -> ThreadMaps {
        ThreadMaps(Mutex::new(self.lock().clone()))
    }
}
