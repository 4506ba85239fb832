//! Facts remembered by what they are about, shared by all documents of a session.
//!
//! The key is a function's meaning and its characters, not its place, so typing above a function costs it nothing. An
//! answer found with the full budget replaces one found while typing and is never replaced back: for the same text a
//! verdict changes from unknown to known and in no other way.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use analysis::{Facts, Program};
use rustc_hash::FxHashMap;

use crate::check::Tier;
use crate::document::Key;
use crate::worded::Worded;

/// Remembered facts. Share one among all documents; it may be used from many places at once.
#[derive(Debug, Default)]
pub struct Memo {
    entries: Mutex<Entries>,
}

#[derive(Debug, Default)]
struct Entries {
    by_key: FxHashMap<Key, Entry>,
    /// Counts the uses of the memo, so that entries know when they were used last.
    uses: u64,
}

#[derive(Debug)]
struct Entry {
    tier: Tier,
    facts: Arc<Facts>,
    /// What was said of the function where it stood last.
    worded: Option<Arc<Worded>>,
    used: u64,
}

/// Functions kept at most. Beyond it the half used longest ago is forgotten.
const CAPACITY: usize = 16_384;

impl Memo {
    /// An empty memo.
    pub fn new() -> Memo {
        Memo::default()
    }

    /// The facts for this key if they hold in this program and are at least as good as `tier` asks, and what was said with them.
    pub(crate) fn get(
        &self,
        key: Key,
        tier: Tier,
        program: &Program,
    ) -> Option<(Arc<Facts>, Option<Arc<Worded>>)> {
        let mut entries = self.lock();
        entries.uses += 1;
        let now = entries.uses;
        let entry = entries.by_key.get_mut(&key)?;
        // where nothing was cut short, a larger budget finds the same
        let good = (entry.tier >= tier || !entry.facts.out_of_budget) && hold(&entry.facts, program);
        good.then(|| {
            entry.used = now;
            (entry.facts.clone(), entry.worded.clone())
        })
    }

    /// Remembers facts, unless better ones were found meanwhile; returns those that are kept.
    pub(crate) fn put(&self, key: Key, tier: Tier, facts: Facts, program: &Program) -> Arc<Facts> {
        let mut entries = self.lock();
        entries.uses += 1;
        let now = entries.uses;
        if let Some(old) = entries.by_key.get_mut(&key) {
            if old.tier >= tier && hold(&old.facts, program) {
                old.used = now;
                return old.facts.clone();
            }
        }
        if entries.by_key.len() >= CAPACITY {
            forget_half(&mut entries);
        }
        let facts = Arc::new(facts);
        let entry = Entry { tier, facts: facts.clone(), worded: None, used: now };
        entries.by_key.insert(key, entry);
        facts
    }

    /// Remembers what was said of a function whose facts are these.
    pub(crate) fn put_worded(&self, key: Key, facts: &Arc<Facts>, worded: Arc<Worded>) {
        let mut entries = self.lock();
        if let Some(entry) = entries.by_key.get_mut(&key).filter(|e| Arc::ptr_eq(&e.facts, facts)) {
            entry.worded = Some(worded);
        }
    }

    /// Number of functions remembered.
    pub fn len(&self) -> usize {
        self.lock().by_key.len()
    }
    /// Whether nothing is remembered.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn lock(&self) -> MutexGuard<'_, Entries> {
        // entries are inserted whole: after a panic elsewhere they are still right
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether all that the facts rest on beside what the key stands for is as it was.
fn hold(facts: &Facts, program: &Program) -> bool {
    facts.rests_on.iter().all(|(name, text)| program.text_of(name) == *text)
}

fn forget_half(entries: &mut Entries) {
    let mut times: Vec<u64> = entries.by_key.values().map(|e| e.used).collect();
    times.sort_unstable();
    let middle = times.get(times.len() / 2).copied().unwrap_or(0);
    entries.by_key.retain(|_, e| e.used > middle);
}
