//! What a running thread of a grid sees (its indices, its block's shared memory), and what is noted of it: its accesses
//! for the race detector and, where requests are counted, for the counters.

use std::sync::Arc;

use term::device::{Index, Scope};
use term::TermId;

use crate::code::Special;
use crate::exec::{Access, AccessKind, Hooks};
use crate::ledger::Ledger;
use crate::memory::{Memory, ObjectId, Space};
use crate::race::{learn, Known, Races, Stamp};
use crate::schedule::Launch;

/// The running thread, and what is watched of it.
pub(crate) struct Watch {
    pub(crate) launch: Launch,
    pub(crate) yields: bool,
    pub(crate) races: Races,
    pub(crate) block: [u32; 3],
    pub(crate) thread: [u32; 3],
    pub(crate) stamp: Stamp,
    pub(crate) shared: Vec<ObjectId>,
    pub(crate) known: Option<Known>,
    pub(crate) acquired: Option<Box<Known>>,
    pub(crate) fenced: Option<Box<Known>>,
    /// Whether it touched memory that others can see.
    pub(crate) busy: bool,
    /// What the lanes of the warp that is being stepped did; `None`: nobody counts.
    pub(crate) step: Option<Step>,
    /// Which lane of its warp the thread is.
    pub(crate) lane: u32,
    /// Who is told of accesses besides.
    pub(crate) ledger: Option<Ledger>,
}

/// What the lanes of a warp did in one step.
#[derive(Default)]
pub(crate) struct Step {
    /// Lane, access, the object's name and its memory.
    pub(crate) touched: Vec<Touched>,
    /// Lanes whose jump was taken.
    pub(crate) taken: u64,
}

/// One lane's access.
#[derive(Clone)]
pub(crate) struct Touched {
    pub(crate) lane: u32,
    pub(crate) access: Access,
    pub(crate) name: Arc<str>,
    pub(crate) space: term::Space,
}

impl Watch {
    pub(crate) fn new(launch: &Launch, yields: bool, counts: bool) -> Watch {
        Watch {
            launch: *launch,
            yields,
            races: Races::default(),
            block: [0; 3],
            thread: [0; 3],
            stamp: Stamp { block: 0, thread: 0, epoch: 0, warp_epoch: 0, warp: 0, func: 0, term: TermId(0) },
            shared: Vec::new(),
            known: None,
            acquired: None,
            fenced: None,
            busy: false,
            step: counts.then(Step::default),
            lane: 0,
            ledger: None,
        }
    }
}

impl Hooks for Watch {
    fn access(&mut self, mem: &Memory, a: Access) -> bool {
        let Some(object) = mem.get(a.object).filter(|o| o.space != Space::Local) else {
            return false;
        };
        if let Some(ledger) = &mut self.ledger {
            ledger.touched(mem, &a);
        }
        // what no thread of a grid can change is no work done for others
        self.busy |= object.space != Space::Constant;
        if let Some(step) = &mut self.step {
            step.touched.push(Touched {
                lane: self.lane,
                access: a,
                name: object.name.clone(),
                space: match object.space {
                    Space::Shared { .. } => term::Space::Shared,
                    Space::Constant => term::Space::Constant,
                    _ => term::Space::Global,
                },
            });
        }
        let now = Stamp { func: a.func, term: a.term, ..self.stamp };
        if a.kind == AccessKind::Atomic {
            if let Some(k) = self.races.acquire(a.object, a.offset) {
                learn(self.acquired.get_or_insert_default(), k);
            }
            if let Some(k) = &self.fenced {
                self.races.release(a.object, a.offset, k);
            }
        }
        let known = [self.known.as_ref(), self.acquired.as_deref()];
        self.races.access(mem, &a, now, known);
        self.yields
    }
    fn branch(&mut self, _func: u32, _pc: u32, taken: bool) {
        if let Some(step) = &mut self.step {
            step.taken |= (taken as u64) << self.lane;
        }
    }
    fn special(&self, what: Special) -> Option<u64> {
        let list = match what.index {
            Index::Thread => &self.thread,
            Index::Block => &self.block,
            Index::BlockSize => &self.launch.block,
            Index::GridSize => &self.launch.grid,
        };
        list.get(what.axis as usize).map(|&v| v as u64)
    }
    fn shared(&self, n: u32) -> Option<ObjectId> {
        self.shared.get(n as usize).copied()
    }
    fn fence(&mut self, scope: Scope) {
        if scope == Scope::Block {
            return;
        }
        let mut k = Known::default();
        for known in [self.known.as_ref(), self.acquired.as_deref()].into_iter().flatten() {
            learn(&mut k, known);
        }
        k.entry(self.stamp.block).or_default().push((self.stamp.epoch, self.stamp.thread));
        self.fenced = Some(Box::new(k));
    }
}
