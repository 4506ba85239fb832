//! Finds pairs of accesses that nothing orders.
//!
//! Per cell it keeps the last plain write, and of reads and of atomics at most four each: the latest, one by another
//! thread of the same warp, one by another warp of the block, one by another block. With these, every access that
//! races with *some* earlier one is seen to race with one of those kept (a race hidden behind another race on the same
//! cell aside).
//!
//! What orders two accesses: being of one thread; a block barrier between them (same block); a warp barrier of the
//! whole warp (same warp); a fence followed by an atomic, and an atomic on the same cell by the other side (the
//! "last block adds up" pattern, CUDA C++ Programming Guide, Memory Fence Functions). A fence's reach is taken by the
//! barrier epoch, so what a thread writes between its fence and its atomic counts as released too.
//!
//! Deliberately absent: weak memory. Values are those of one interleaving; what is reported is independent of it.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use term::TermId;

use crate::exec::{Access, AccessKind};
use crate::limits::race::MAX_FOUND;
use crate::memory::{Memory, ObjectId};

/// When and by whom an access was made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Stamp {
    pub block: u32,
    pub thread: u32,
    /// Block barriers passed.
    pub epoch: u32,
    /// Whole-warp barriers passed.
    pub warp_epoch: u32,
    /// Which warp of the block.
    pub warp: u32,
    pub func: u32,
    pub term: TermId,
}

/// What a block or thread knows of others: accesses of that block before that epoch, and of that thread in it, are
/// ordered before what it does now.
pub(crate) type Known = FxHashMap<u32, Vec<(u32, u32)>>;

fn knows(k: &Known, s: &Stamp) -> bool {
    k.get(&s.block).is_some_and(|list| {
        list.iter().any(|&(epoch, thread)| s.epoch < epoch || s.epoch == epoch && s.thread == thread)
    })
}

/// Adds what `from` knows.
pub(crate) fn learn(to: &mut Known, from: &Known) {
    for (&block, list) in from {
        let mine = to.entry(block).or_default();
        for x in list {
            if !mine.contains(x) {
                mine.push(*x);
            }
        }
    }
}

#[derive(Clone, Default)]
struct Kept {
    latest: Option<Stamp>,
    same_warp: Option<Stamp>,
    same_block: Option<Stamp>,
    other_block: Option<Stamp>,
}

impl Kept {
    fn add(&mut self, n: Stamp) {
        let Some(a) = self.latest else {
            self.latest = Some(n);
            return;
        };
        if n.block != a.block {
            self.other_block = Some(a);
            self.same_block = None;
            self.same_warp = None;
        } else if n.epoch != a.epoch {
            self.same_block = None;
            self.same_warp = None;
        } else if n.warp != a.warp {
            self.same_block = Some(a);
            self.same_warp = None;
        } else if n.warp_epoch != a.warp_epoch {
            self.same_warp = None;
        } else if n.thread != a.thread {
            self.same_warp = Some(a);
        }
        self.latest = Some(n);
    }
    fn all(&self) -> impl Iterator<Item = &Stamp> {
        [&self.latest, &self.same_warp, &self.same_block, &self.other_block].into_iter().flatten()
    }
}

#[derive(Clone, Default)]
struct Shadow {
    write: Option<Stamp>,
    reads: Kept,
    atomics: Kept,
}

struct ObjectShadow {
    grain: u32,
    index: Vec<u32>,
}

/// How far apart the threads of a race stand.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Reach {
    /// In one warp: a barrier of the warp could order them.
    Warp,
    /// In one block: a barrier could.
    Block,
    /// In several blocks: nothing inside the launch but fences and atomics.
    Grid,
}

/// Function and term of one side and of the other.
pub(crate) type Pair = (u32, TermId, u32, TermId);

/// What raced at a pair of places.
pub(crate) struct Met {
    /// How far apart the threads were at most.
    pub reach: Reach,
    /// The variables, by name: a function's places serve several, and shared memory is another object in every block.
    names: Vec<Arc<str>>,
}

/// Two accesses without order.
pub(crate) struct UnorderedPair {
    pub object: ObjectId,
    pub offset: u32,
    pub size: u32,
    pub first: (Stamp, AccessKind),
    pub second: (Stamp, AccessKind),
}

/// Shadows of all objects that several threads can reach.
#[derive(Default)]
pub(crate) struct Races {
    objects: FxHashMap<u32, ObjectShadow>,
    arena: Vec<Shadow>,
    free: Vec<u32>,
    /// What atomics on a cell have released.
    released: FxHashMap<(u32, u32), Known>,
    /// Pairs of places that race.
    pub seen: FxHashMap<Pair, Met>,
    pub found: Vec<UnorderedPair>,
}

impl Races {
    /// The object's life is over.
    pub fn forget(&mut self, o: ObjectId) {
        if let Some(s) = self.objects.remove(&o.0) {
            self.free.extend(s.index.into_iter().filter(|&i| i != 0));
        }
        self.released.retain(|k, _| k.0 != o.0);
    }

    /// What an atomic on this cell learns.
    pub fn acquire(&self, o: ObjectId, offset: u32) -> Option<&Known> {
        self.released.get(&(o.0, offset))
    }
    /// What an atomic on this cell makes known.
    pub fn release(&mut self, o: ObjectId, offset: u32, what: &Known) {
        learn(self.released.entry((o.0, offset)).or_default(), what);
    }

    /// Checks one access against all before it and remembers it.
    pub fn access(&mut self, mem: &Memory, a: &Access, now: Stamp, known: [Option<&Known>; 2]) {
        let Some(object) = mem.get(a.object) else { return };
        let bytes = object.data.len() as u32;
        if self.arena.is_empty() {
            self.arena.push(Shadow::default()); // number 0 means none
        }
        let shadow = self.objects.entry(a.object.0).or_insert_with(|| {
            let grain = object.grain.max(1);
            ObjectShadow { grain, index: vec![0; bytes.div_ceil(grain) as usize] }
        });
        let grain = shadow.grain;
        if grain > 1 && !(a.offset.is_multiple_of(grain) && a.size.is_multiple_of(grain)) {
            split(shadow, &mut self.arena, &mut self.free, bytes);
        }
        let grain = shadow.grain;
        for i in a.offset / grain..(a.offset + a.size).div_ceil(grain) {
            let Some(slot) = shadow.index.get_mut(i as usize) else { break };
            if *slot == 0 {
                *slot = match self.free.pop() {
                    Some(f) => {
                        self.arena[f as usize] = Shadow::default();
                        f
                    }
                    None => {
                        self.arena.push(Shadow::default());
                        (self.arena.len() - 1) as u32
                    }
                };
            }
            let s = &mut self.arena[*slot as usize];
            let before = conflict(s, a.kind, &now, known);
            if let Some(first) = before {
                let key = (first.0.func, first.0.term, now.func, now.term);
                let reach = match first.0 {
                    s if s.block != now.block => Reach::Grid,
                    s if s.warp != now.warp => Reach::Block,
                    _ => Reach::Warp,
                };
                let met = self.seen.entry(key).or_insert_with(|| Met { reach, names: Vec::new() });
                met.reach = met.reach.max(reach);
                let new = !met.names.contains(&object.name);
                if new {
                    met.names.push(object.name.clone());
                }
                // many of one object do not hide those of others
                let of_object = |f: &&UnorderedPair| f.object == a.object;
                if new && self.found.iter().filter(of_object).count() < MAX_FOUND {
                    self.found.push(UnorderedPair {
                        object: a.object,
                        offset: i * grain,
                        size: grain,
                        first,
                        second: (now, a.kind),
                    });
                }
            }
            match a.kind {
                AccessKind::Write => s.write = Some(now),
                AccessKind::Read => s.reads.add(now),
                AccessKind::Atomic => s.atomics.add(now),
            }
        }
    }
}

/// Cells become single bytes.
fn split(shadow: &mut ObjectShadow, arena: &mut Vec<Shadow>, free: &mut Vec<u32>, bytes: u32) {
    let mut index = vec![0; bytes as usize];
    for (i, &old) in shadow.index.iter().enumerate() {
        if old == 0 {
            continue;
        }
        for b in 0..shadow.grain as usize {
            if let Some(x) = index.get_mut(i * shadow.grain as usize + b) {
                arena.push(arena[old as usize].clone());
                *x = (arena.len() - 1) as u32;
            }
        }
        free.push(old);
    }
    shadow.index = index;
    shadow.grain = 1;
}

fn conflict(
    s: &Shadow,
    kind: AccessKind,
    now: &Stamp,
    known: [Option<&Known>; 2],
) -> Option<(Stamp, AccessKind)> {
    let unordered = |p: &&Stamp| {
        if p.block == now.block {
            p.thread != now.thread
                && p.epoch == now.epoch
                && !(p.warp == now.warp && p.warp_epoch != now.warp_epoch)
        } else {
            !known.iter().flatten().any(|k| knows(k, p))
        }
    };
    if let Some(w) = s.write.as_ref().filter(unordered) {
        return Some((*w, AccessKind::Write));
    }
    if kind != AccessKind::Read {
        if let Some(r) = s.reads.all().find(unordered) {
            return Some((*r, AccessKind::Read));
        }
    }
    if kind != AccessKind::Atomic {
        if let Some(a) = s.atomics.all().find(unordered) {
            return Some((*a, AccessKind::Atomic));
        }
    }
    None
}
