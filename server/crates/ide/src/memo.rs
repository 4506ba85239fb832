//! What was found out, remembered by what it is about and shared by all documents of a session: the facts of functions
//! and their words, which loops get a kernel, and what is proved of kernels.
//!
//! The key is a function's meaning and its characters, not its place, so typing above a function costs it nothing. An
//! answer found with the full budget replaces one found while typing and is never replaced back: for the same text a
//! verdict changes from unknown to known and in no other way. Whoever owns the documents owns the memo; nothing is kept
//! anywhere else.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use analysis::{DependenceKind, Facts, KernelFacts, KernelLaunch, LoopFacts, LoopId, Program, Verdict};
use base::Effort;
use rustc_hash::FxHashMap;
use term::SymbolId;

use crate::document::Key;
use crate::function_messages::FunctionMessages;
use crate::limits::memo::{CAPACITY, KERNELS, REPAIRS};
use crate::plans::Planned;

/// Remembered facts. Clones are the same memo; share one among all documents. It may be used from many places at once.
#[derive(Clone, Debug, Default)]
pub struct Memo {
    kept: Arc<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    functions: Mutex<Functions>,
    kernels: Mutex<Kernels>,
    /// Of repairs that were tried, by a number for the text and the finding: whether they hold.
    repairs: Mutex<FxHashMap<u64, bool>>,
}

#[derive(Debug, Default)]
struct Functions {
    by_key: FxHashMap<Key, Entry>,
    /// Counts the uses of the memo, so that entries know when they were used last.
    uses: u64,
}

#[derive(Debug)]
struct Entry {
    effort: Effort,
    found: FunctionFacts,
    /// What was said of the function where it stood last.
    worded: Option<Arc<FunctionMessages>>,
    used: u64,
}

/// What was found out of a function. Clones share what is found out later.
#[derive(Clone, Debug, Default)]
pub(crate) struct FunctionFacts {
    pub facts: Arc<Facts>,
    pub plans: Arc<Plans>,
}

impl FunctionFacts {
    pub fn new(facts: impl Into<Arc<Facts>>) -> FunctionFacts {
        FunctionFacts { facts: facts.into(), plans: Arc::default() }
    }
}

/// Which loops of a function get a kernel, of those that were asked for.
#[derive(Debug, Default)]
pub(crate) struct Plans(Mutex<KnownPlans>);

#[derive(Debug, Default)]
struct KnownPlans {
    /// A number for what surrounds it: the functions it calls, which kernels are printed with, the target, the program.
    surroundings: u64,
    by_loop: FxHashMap<LoopId, Planned>,
    /// Steps that plans and maps of its loops have taken, whoever asked.
    spent: u64,
    /// Those taken while the user typed.
    spent_quickly: u64,
    /// Of promises that would say what is not known of a loop: whether it is parallel with them.
    settled: FxHashMap<LoopId, bool>,
    /// Of loops whose pointers may overlap: which of them are to be declared `restrict`, if that helps.
    restricts: FxHashMap<LoopId, Vec<SymbolId>>,
}

impl Plans {
    /// Whether a loop gets a kernel, if that was found out in the same surroundings.
    pub fn get(&self, surroundings: u64, id: LoopId) -> Option<Planned> {
        let known = self.lock();
        known.by_loop.get(&id).filter(|_| known.surroundings == surroundings).cloned()
    }
    /// Remembers whether a loop gets a kernel.
    pub fn put(&self, surroundings: u64, id: LoopId, planned: Planned) {
        let mut known = self.lock();
        if known.surroundings != surroundings {
            *known = KnownPlans { surroundings, ..KnownPlans::default() };
        }
        known.by_loop.insert(id, planned);
    }
    /// Steps taken so far.
    pub fn spent(&self) -> u64 {
        self.lock().spent
    }
    /// Steps were taken.
    pub fn spend(&self, steps: u64) {
        let mut known = self.lock();
        known.spent = known.spent.saturating_add(steps);
    }
    /// Whether the promise that a loop asks for settles it, if that was tried.
    pub fn settled(&self, surroundings: u64, id: LoopId) -> Option<bool> {
        let known = self.lock();
        known.settled.get(&id).filter(|_| known.surroundings == surroundings).copied()
    }
    /// Remembers it.
    pub fn put_settled(&self, surroundings: u64, id: LoopId, settled: bool) {
        let mut known = self.lock();
        if known.surroundings != surroundings {
            *known = KnownPlans { surroundings, ..KnownPlans::default() };
        }
        known.settled.insert(id, settled);
    }
    /// The pointers of which a `restrict` takes away a loop's first obstacle, if that was tried.
    pub fn restricts(&self, surroundings: u64, id: LoopId) -> Option<Vec<SymbolId>> {
        let known = self.lock();
        known.restricts.get(&id).filter(|_| known.surroundings == surroundings).cloned()
    }
    /// Remembers them.
    pub fn put_restricts(&self, surroundings: u64, id: LoopId, restricts: Vec<SymbolId>) {
        let mut known = self.lock();
        if known.surroundings != surroundings {
            *known = KnownPlans { surroundings, ..KnownPlans::default() };
        }
        known.restricts.insert(id, restricts);
    }
    /// Steps taken while the user typed.
    pub fn spent_quickly(&self) -> u64 {
        self.lock().spent_quickly
    }
    /// Likewise.
    pub fn spend_quickly(&self, steps: u64) {
        let mut known = self.lock();
        known.spent_quickly = known.spent_quickly.saturating_add(steps);
    }
    /// Whether nothing was found out yet.
    pub fn is_empty(&self) -> bool {
        self.lock().by_loop.is_empty()
    }
    fn lock(&self) -> MutexGuard<'_, KnownPlans> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Debug, Default)]
struct Kernels {
    by_key: FxHashMap<KernelKey, KernelEntry>,
    uses: u64,
}

/// Under what the facts of a kernel are remembered.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct KernelKey {
    pub kernel: u64,
    pub called: u64,
    pub launch: KernelLaunch,
    /// Counted steps that were given.
    pub steps: u64,
}

#[derive(Debug)]
struct KernelEntry {
    /// Whoever asks while they are proved waits for them.
    facts: Proved,
    used: u64,
}

/// Whether a larger budget finds the same: nothing was cut short, and of each sequential loop the dependence is known that is told,
/// one that passes a value on. Fewer steps may find no more than another kind.
fn is_final(facts: &Facts) -> bool {
    let is_told = |l: &LoopFacts| {
        l.verdict != Verdict::Sequential || l.dependences.iter().any(|d| d.kind == DependenceKind::Flow)
    };
    !facts.out_of_budget && facts.loops.iter().all(is_told)
}

/// Facts of a kernel, or room for them.
pub(crate) type Proved = Arc<OnceLock<Arc<KernelFacts>>>;

impl Memo {
    /// An empty memo.
    pub fn new() -> Memo {
        Memo::default()
    }

    /// The facts for this key if they hold in this program and are at least as good as with this effort, and what was said with them.
    pub(crate) fn get(
        &self,
        key: Key,
        effort: Effort,
        program: &Program,
    ) -> Option<(FunctionFacts, Option<Arc<FunctionMessages>>)> {
        let mut entries = self.functions();
        entries.uses += 1;
        let now = entries.uses;
        let entry = entries.by_key.get_mut(&key)?;
        let good = (entry.effort.covers(&effort) || is_final(&entry.found.facts))
            && hold(&entry.found.facts, program);
        good.then(|| {
            entry.used = now;
            (entry.found.clone(), entry.worded.clone())
        })
    }

    /// Remembers facts, unless better ones were found meanwhile; returns those that are kept.
    pub(crate) fn put(&self, key: Key, effort: Effort, facts: Facts, program: &Program) -> FunctionFacts {
        let mut entries = self.functions();
        entries.uses += 1;
        let now = entries.uses;
        if let Some(old) = entries.by_key.get_mut(&key) {
            if (old.effort.covers(&effort) || is_final(&old.found.facts)) && hold(&old.found.facts, program) {
                old.used = now;
                return old.found.clone();
            }
        }
        if entries.by_key.len() >= CAPACITY {
            let middle = middle(entries.by_key.values().map(|e| e.used));
            entries.by_key.retain(|_, e| e.used > middle);
        }
        let found = FunctionFacts::new(facts);
        let entry = Entry { effort, found: found.clone(), worded: None, used: now };
        entries.by_key.insert(key, entry);
        found
    }

    /// Remembers what was said of a function whose facts are these.
    pub(crate) fn put_worded(&self, key: Key, facts: &Arc<Facts>, worded: Arc<FunctionMessages>) {
        let mut functions = self.functions();
        if let Some(entry) = functions.by_key.get_mut(&key).filter(|e| Arc::ptr_eq(&e.found.facts, facts)) {
            entry.worded = Some(worded);
        }
    }

    /// Whether a repair holds, found out by `trial` where it is not known. `None`: it was called off.
    pub(crate) fn repair(&self, key: u64, trial: impl FnOnce() -> Option<bool>) -> Option<bool> {
        let repairs = || self.kept.repairs.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = repairs().get(&key) {
            return Some(*known);
        }
        let holds = trial()?;
        let mut all = repairs();
        if all.len() >= REPAIRS {
            all.clear();
        }
        all.insert(key, holds);
        Some(holds)
    }

    /// The facts of a kernel, or room for them.
    pub(crate) fn kernel(&self, key: KernelKey) -> Proved {
        let mut kernels = self.kept.kernels.lock().unwrap_or_else(PoisonError::into_inner);
        kernels.uses += 1;
        let now = kernels.uses;
        if let Some(entry) = kernels.by_key.get_mut(&key) {
            entry.used = now;
            return entry.facts.clone();
        }
        if kernels.by_key.len() >= KERNELS {
            let middle = middle(kernels.by_key.values().map(|e| e.used));
            kernels.by_key.retain(|_, e| e.used > middle);
        }
        let facts = Proved::default();
        kernels.by_key.insert(key, KernelEntry { facts: facts.clone(), used: now });
        facts
    }

    /// The facts of a kernel, if they are remembered.
    pub(crate) fn known_kernel(&self, key: &KernelKey) -> Option<Arc<KernelFacts>> {
        let mut kernels = self.kept.kernels.lock().unwrap_or_else(PoisonError::into_inner);
        kernels.uses += 1;
        let now = kernels.uses;
        let entry = kernels.by_key.get_mut(key)?;
        entry.used = now;
        entry.facts.get().cloned()
    }

    /// Number of functions remembered.
    pub fn len(&self) -> usize {
        self.functions().by_key.len()
    }
    /// Whether nothing is remembered.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn functions(&self) -> MutexGuard<'_, Functions> {
        // entries are inserted whole: after a panic elsewhere they are still right
        self.kept.functions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether all that the facts rest on beside what the key stands for is as it was.
fn hold(facts: &Facts, program: &Program) -> bool {
    facts.rests_on.iter().all(|(name, text)| program.text_of(name) == *text)
}

fn middle(used: impl Iterator<Item = u64>) -> u64 {
    let mut times: Vec<u64> = used.collect();
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or(0)
}
