//! Which accesses of a launch's traces can meet: same bytes, two threads, at least one plain write or an atomic beside a plain
//! access, and nothing that orders them.
//!
//! Ordered are accesses of one thread; of one block, with a barrier of the block between them; of one warp, with a barrier of the warp
//! of the whole warp between them. Of a cell's accesses only those are compared that differ in what decides this.

use rustc_hash::{FxHashMap, FxHashSet};

use super::{Event, ObjectKind, Site, Touch, Trace};
use crate::kernel::races::Reach;
use crate::kernel::KernelObstacle;
use crate::limits::kernel_replay_meet::{MAX_FOUND, MAX_PAIRS};

/// Two accesses that nothing orders.
#[derive(Clone, Debug)]
pub(in crate::kernel) struct Meeting {
    pub first: Event,
    pub second: Event,
    /// That both happen, at one place, and that nothing orders them, is certain.
    pub certain: bool,
    /// Both write one known value.
    pub same_value: bool,
    /// Of two blocks, which fences and atomics may order.
    pub fenced: bool,
    /// The byte they share, where it is known.
    pub offset: Option<i64>,
}

impl Meeting {
    pub fn reach(&self) -> Reach {
        match (&self.first, &self.second) {
            (a, b) if a.block != b.block => Reach::Grid,
            (a, b) if a.warp != b.warp => Reach::Block,
            _ => Reach::Warp,
        }
    }
}

/// All pairs of places that can meet, a pair of accesses for each, certain ones where there are any.
pub(in crate::kernel) fn judge(trace: &Trace) -> Result<Vec<Meeting>, KernelObstacle> {
    meetings(trace, &trace.events)
}

/// Whether the block barrier at `site` orders nothing: no two accesses of a block that may meet, atomics included, whose order may
/// matter, stand on two sides of it with no other barrier between them. Each pair of accesses is looked at, not each pair of
/// places: one place may be reached before the barrier and behind it.
pub(in crate::kernel) fn redundant(trace: &Trace, site: Site) -> Result<bool, KernelObstacle> {
    // the number of barriers that stay, before each
    let stays: Vec<Vec<u32>> = trace
        .barriers
        .iter()
        .map(|list| {
            let mut n = 0;
            let mut out = vec![0];
            for s in list {
                n += (*s != site) as u32;
                out.push(n);
            }
            out
        })
        .collect();
    let moved = |e: &Event| Event {
        epoch: stays.get(e.block as usize).and_then(|l| l.get(e.epoch as usize)).copied().unwrap_or(e.epoch),
        // an atomic counts as a write of its own here
        touch: if e.touch == Touch::Atomic { Touch::Write } else { e.touch },
        ..*e
    };
    let without: Vec<Event> = trace.events.iter().map(moved).collect();
    let mut groups: FxHashMap<(u32, u32, u32), Vec<Sided>> = FxHashMap::default();
    for (old, new) in trace.events.iter().zip(&without) {
        let of = groups.entry((new.object, new.block, new.epoch)).or_default();
        of.push(Sided { epoch: old.epoch, event: *new });
    }
    let mut pairs = 0;
    for list in groups.values() {
        let divided = list.iter().any(|x| x.epoch != list[0].epoch);
        let written = list.iter().any(|x| x.event.touch != Touch::Read);
        if divided && written && meet_across(list, trace.uneven_warps, &mut pairs)? {
            return Ok(false);
        }
    }
    Ok(!overlapping_may_meet(trace, &without))
}

/// An access with the number of barriers before it as they are.
#[derive(Clone, Copy)]
struct Sided {
    epoch: u32,
    event: Event,
}

/// Whether two accesses of one object that a barrier orders now may meet without it.
fn meet_across(list: &[Sided], uneven: bool, pairs: &mut u64) -> Result<bool, KernelObstacle> {
    let mut cells: FxHashMap<i64, Vec<Sided>> = FxHashMap::default();
    let (mut anywhere, mut all) = (Vec::new(), Vec::new());
    for x in list {
        note(&mut all, x);
        match x.event.offset {
            Some(o) => (0..x.event.size.max(1) as i64).for_each(|k| note(cells.entry(o + k).or_default(), x)),
            None => note(&mut anywhere, x),
        }
    }
    let mut any = |xs: &[Sided], ys: &[Sided]| -> Result<bool, KernelObstacle> {
        *pairs += xs.len() as u64 * ys.len() as u64;
        if *pairs > MAX_PAIRS {
            return Err(KernelObstacle::TooLarge);
        }
        Ok(xs.iter().any(|x| {
            ys.iter().any(|y| {
                let (a, b) = (&x.event, &y.event);
                let one_warp = a.warp == b.warp;
                x.epoch != y.epoch
                    && a.thread != b.thread
                    && !(a.touch == Touch::Read && b.touch == Touch::Read)
                    && !(one_warp && a.warp_epoch != b.warp_epoch && !uneven)
            })
        }))
    };
    if any(&anywhere, &all)? {
        return Ok(true);
    }
    for of_cell in cells.values() {
        if any(of_cell, of_cell)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Keeps two threads of those that are alike in what decides whether they meet others.
fn note(list: &mut Vec<Sided>, x: &Sided) {
    let alike = |y: &&Sided| {
        let (a, b) = (&x.event, &y.event);
        x.epoch == y.epoch
            && (a.touch == Touch::Read) == (b.touch == Touch::Read)
            && a.warp == b.warp
            && a.warp_epoch == b.warp_epoch
    };
    let mut found = list.iter().filter(alike);
    let first = found.next();
    let kept = first.is_some_and(|f| f.event.thread == x.event.thread) || found.next().is_some();
    if !kept {
        list.push(*x);
    }
}

/// Whether what two parameters point to, which may be one, is touched by two threads between other barriers than before.
fn overlapping_may_meet(trace: &Trace, without: &[Event]) -> bool {
    let pairs = super::may_overlap(trace);
    let mut seen: FxHashMap<(u32, u32, u32), Vec<(u32, Touch)>> = FxHashMap::default();
    for (old, new) in trace.events.iter().zip(without) {
        let of = seen.entry((new.object, new.block, new.epoch)).or_default();
        if !of.contains(&(old.epoch, new.touch)) {
            of.push((old.epoch, new.touch));
        }
    }
    seen.iter().any(|(&(o, block, epoch), mine)| {
        pairs.iter().filter(|p| p.0 == o).any(|p| {
            seen.get(&(p.1, block, epoch)).is_some_and(|theirs| {
                let new = |x: &(u32, Touch), y: &(u32, Touch)| {
                    x.0 != y.0 && !(x.1 == Touch::Read && y.1 == Touch::Read)
                };
                mine.iter().any(|x| theirs.iter().any(|y| new(x, y)))
            })
        })
    })
}

fn meetings(trace: &Trace, events: &[Event]) -> Result<Vec<Meeting>, KernelObstacle> {
    let mut by_object: Vec<Vec<&Event>> = vec![Vec::new(); trace.objects.len()];
    for e in events {
        by_object[e.object as usize].push(e);
    }
    let one_block = events.iter().all(|e| e.block == events[0].block);
    let mut judge =
        Judge { trace, pairs: 0, found: FxHashMap::default(), full: FxHashSet::default(), one_block };
    for (o, list) in by_object.iter().enumerate() {
        if list.iter().all(|e| e.touch == Touch::Read) || list.iter().all(|e| e.touch == Touch::Atomic) {
            continue;
        }
        let shared = trace.objects[o].kind == ObjectKind::Shared;
        judge.object(list, shared)?;
    }
    let mut found: Vec<Meeting> = judge.found.into_values().collect();
    found.sort_by_key(|m| (!m.certain, m.same_value, m.first.site, m.second.site));
    Ok(found)
}

struct Judge<'t, 'b> {
    trace: &'t Trace<'b>,
    pairs: u64,
    found: FxHashMap<(Site, Site), Meeting>,
    /// Pairs of places of which nothing worse can be found: certain, with other values, as far apart as threads can be.
    full: FxHashSet<(Site, Site)>,
    one_block: bool,
}

/// What decides whether two accesses of a cell are ordered, the thread aside.
type Class = (Site, Touch, bool, Option<u64>, u32, u32, bool, u32, u32, bool);

impl Judge<'_, '_> {
    fn object(&mut self, list: &[&Event], shared: bool) -> Result<(), KernelObstacle> {
        // cells as large as all accesses, if they are, else bytes
        let grain = list.iter().map(|e| e.size).min().unwrap_or(1).max(1) as i64;
        let even = |e: &&&Event| e.offset.is_none_or(|o| o % grain == 0 && e.size as i64 % grain == 0);
        let grain = if list.iter().filter(|e| !even(e)).count() == 0 { grain } else { 1 };
        let mut cells: Vec<(i64, &Event)> = Vec::with_capacity(list.len());
        let mut anywhere: Vec<&Event> = Vec::new();
        for e in list {
            match e.offset {
                Some(o) => {
                    for k in 0..(e.size as i64 / grain).max(1) {
                        cells.push((o.div_euclid(grain) + k, e));
                    }
                }
                None => anywhere.push(e),
            }
        }
        cells.sort_by_key(|(c, e)| (*c, if shared { e.block } else { 0 }));
        let key = |x: &(i64, &Event)| (x.0, if shared { x.1.block } else { 0 });
        for group in cells.chunk_by(|a, b| key(a) == key(b)) {
            if group.len() > 1 && group.iter().any(|(_, e)| e.touch != Touch::Read) {
                self.group(group.iter().map(|x| x.1), Some(group[0].0 * grain), shared)?;
            }
        }
        if !anywhere.is_empty() {
            // each of these may meet any of the object
            let all: Vec<&Event> = thinned(list.iter().copied());
            let anywhere = thinned(anywhere.into_iter());
            for a in &anywhere {
                for b in &all {
                    self.pair(a, b, None, shared)?;
                }
            }
        }
        Ok(())
    }

    fn group<'e>(
        &mut self,
        list: impl Iterator<Item = &'e Event>,
        offset: Option<i64>,
        shared: bool,
    ) -> Result<(), KernelObstacle> {
        let mut kept = thinned(list);
        // barriers order all that one block does at different times
        let one_block = kept.iter().all(|e| e.block == kept[0].block);
        if one_block {
            kept.sort_by_key(|e| e.epoch);
        }
        for part in kept.chunk_by(|a, b| !one_block || a.epoch == b.epoch) {
            if self.told(part) {
                continue;
            }
            for (k, a) in part.iter().enumerate() {
                for b in &part[k + 1..] {
                    self.pair(a, b, offset, shared)?;
                }
            }
        }
        Ok(())
    }

    /// Whether nothing worse can be found among these than was found before.
    fn told(&self, part: &[&Event]) -> bool {
        let mut kinds: Vec<(Site, Touch)> = Vec::new();
        for e in part {
            if !kinds.contains(&(e.site, e.touch)) {
                kinds.push((e.site, e.touch));
            }
            if kinds.len() > 8 {
                return false;
            }
        }
        kinds.sort_unstable();
        kinds.iter().enumerate().all(|(k, a)| {
            kinds[k..].iter().all(|b| a.1 == b.1 && a.1 != Touch::Write || self.full.contains(&(a.0, b.0)))
        })
    }

    fn pair(
        &mut self,
        a: &Event,
        b: &Event,
        offset: Option<i64>,
        shared: bool,
    ) -> Result<(), KernelObstacle> {
        self.pairs += 1;
        if self.pairs > MAX_PAIRS {
            return Err(KernelObstacle::TooLarge);
        }
        let harmless = a.touch == b.touch && a.touch != Touch::Write;
        if harmless || (a.block, a.thread) == (b.block, b.thread) || shared && a.block != b.block {
            return Ok(());
        }
        let mut fenced = false;
        let mut certain = a.certain && b.certain && offset.is_some();
        if a.block == b.block {
            if a.epoch != b.epoch {
                return Ok(());
            }
            certain &= !a.soft && !b.soft;
            if a.warp == b.warp {
                if a.warp_epoch != b.warp_epoch && !self.trace.uneven_warps {
                    return Ok(());
                }
                certain &= !a.warp_soft && !b.warp_soft && !self.trace.uneven_warps;
            }
        } else {
            // fences and atomics may order blocks, and so may flags that are waited for
            fenced = self.trace.fences && self.trace.atomics;
            // what a block that is cut did before is not all known
            certain &= !(fenced || self.trace.cut || a.volatile || b.volatile);
        }
        // a lock may be held
        certain &= !self.trace.locks;
        let same_value = a.touch == Touch::Write
            && b.touch == Touch::Write
            && a.size == b.size
            && a.value.is_some()
            && a.value == b.value;
        let (a, b) = if a.site <= b.site { (a, b) } else { (b, a) };
        let m = Meeting { first: *a, second: *b, certain, same_value, fenced, offset };
        let rank = |m: &Meeting| (m.certain && !m.same_value, m.certain, m.reach());
        if self.found.len() >= MAX_FOUND && !self.found.contains_key(&(a.site, b.site)) {
            return Ok(());
        }
        let before = self.found.entry((a.site, b.site)).or_insert_with(|| m.clone());
        if rank(&m) > rank(before) {
            *before = m;
        }
        let widest = if shared || self.one_block { Reach::Block } else { Reach::Grid };
        if before.certain && !before.same_value && before.reach() >= widest {
            self.full.insert((a.site, b.site));
        }
        Ok(())
    }
}

/// Two threads at most of each class.
fn thinned<'e>(list: impl Iterator<Item = &'e Event>) -> Vec<&'e Event> {
    let mut seen: FxHashMap<Class, (u32, bool)> = FxHashMap::default();
    let mut out = Vec::new();
    for e in list {
        let class = (
            e.site,
            e.touch,
            e.certain,
            e.value,
            e.block,
            e.epoch,
            e.soft,
            e.warp,
            e.warp_epoch,
            e.warp_soft,
        );
        match seen.get_mut(&class) {
            None => {
                seen.insert(class, (e.thread, false));
                out.push(e);
            }
            Some((first, two)) if !*two && *first != e.thread => {
                *two = true;
                out.push(e);
            }
            Some(_) => {}
        }
    }
    out
}
