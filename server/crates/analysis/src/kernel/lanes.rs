//! Whether a kernel is right for warps of another width only: what goes wrong in a known launch with the lanes that the device has,
//! and does not with the lanes that the kernel was written for. Numbers of warps and of lanes that stand in a text as numbers are
//! what makes kernels so.
//!
//! Everything here happens in every schedule, whatever memory holds; that nothing is found is no proof. Deliberately absent: words
//! that a vendor does not have (who reads them knows), values that come out otherwise while every access is in order.

use std::sync::Arc;

use base::Budget;
use rustc_hash::{FxHashMap, FxHashSet};
use term::{Body, TermId};

use super::races::{out_of_range, side, witnesses};
use super::replay::{self, Event, ObjectKind, Touch, Trace};
use super::{collect, KernelLaunch, OutOfRange, RaceSide, RaceWitness};
use crate::Program;

/// What goes wrong.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum WidthFault {
    /// Two threads touch a place without order.
    Race(Box<RaceWitness>),
    OutOfRange(Box<OutOfRange>),
    /// A barrier to which one thread of a block comes and another does not.
    Barrier(Arc<str>, TermId),
    /// A thread reads shared memory of its block that no thread writes.
    Unwritten(Box<Unwritten>),
}

/// A place of shared memory that is read, and never written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unwritten {
    pub object: Arc<str>,
    pub index: i64,
    pub side: RaceSide,
}

impl WidthFault {
    /// The function and the place in it.
    pub fn place(&self) -> (&Arc<str>, TermId) {
        match self {
            WidthFault::Race(w) => (&w.first.function, w.first.term),
            WidthFault::OutOfRange(o) => (&o.side.function, o.side.term),
            WidthFault::Barrier(function, term) => (function, *term),
            WidthFault::Unwritten(u) => (&u.side.function, u.side.term),
        }
    }

    fn is_like(&self, other: &WidthFault) -> bool {
        std::mem::discriminant(self) == std::mem::discriminant(other) && self.place() == other.place()
    }
}

/// What goes wrong in the launch, and with warps of so many `lanes` instead does not. `None` where nothing was found, or the
/// launch is not known, or too large.
pub fn right_for_other_lanes(
    body: &Body,
    program: &Program,
    launch: &KernelLaunch,
    lanes: u32,
) -> Option<WidthFault> {
    let launch = launch.with_threads();
    if launch.limits.lanes == lanes {
        return None;
    }
    let seen = collect::collect(body, program, &Budget::new(crate::SAVE.function));
    fault(body, program, &seen, &launch, lanes)
}

/// The same of a kernel that was looked at, with the steps it has left.
pub(super) fn fault(
    body: &Body,
    program: &Program,
    seen: &collect::Seen,
    launch: &KernelLaunch,
    lanes: u32,
) -> Option<WidthFault> {
    let faults = |launch: &KernelLaunch| {
        let trace = replay::replay(body, program, launch, seen).ok()?;
        Some(faults(&trace, launch))
    };
    let here = faults(launch)?;
    if here.is_empty() {
        return None;
    }
    let there = faults(&KernelLaunch { limits: gpu::Limits { lanes, ..launch.limits }, ..launch.clone() })?;
    here.into_iter().find(|f| !there.iter().any(|o| o.is_like(f)))
}

fn faults(trace: &Trace, launch: &KernelLaunch) -> Vec<WidthFault> {
    if let Some(m) = trace.missed {
        return vec![WidthFault::Barrier(trace.body(m.site).name.clone(), m.site.term)];
    }
    let outside = out_of_range(trace, launch).into_iter().map(|o| WidthFault::OutOfRange(Box::new(o)));
    let mut out: Vec<WidthFault> = outside.collect();
    if let Ok(meetings) = replay::judge(trace) {
        let races = witnesses(trace, &meetings, launch).into_iter();
        out.extend(races.map(|w| WidthFault::Race(Box::new(w))));
    }
    out.extend(unwritten(trace, launch).into_iter().map(|u| WidthFault::Unwritten(Box::new(u))));
    out
}

/// Reads of shared memory that no thread of the block writes at any time, one a place in the text.
fn unwritten(trace: &Trace, launch: &KernelLaunch) -> Vec<Unwritten> {
    let shared = |e: &&Event| trace.objects[e.object as usize].kind == ObjectKind::Shared;
    // `None`: some write goes nobody knows where
    let mut written: FxHashMap<(u32, u32), Option<FxHashSet<i64>>> = FxHashMap::default();
    for e in trace.events.iter().filter(shared).filter(|e| e.touch != Touch::Read) {
        let cells = written.entry((e.block, e.object)).or_insert_with(|| Some(FxHashSet::default()));
        match (cells.as_mut(), e.offset) {
            (Some(cells), Some(o)) => cells.extend(o..o + i64::from(e.size)),
            _ => *cells = None,
        }
    }
    let mut out: Vec<Unwritten> = Vec::new();
    for e in trace.events.iter().filter(shared).filter(|e| e.certain && e.touch == Touch::Read) {
        let Some(offset) = e.offset else { continue };
        let is_written = match written.get(&(e.block, e.object)) {
            None => false,
            Some(None) => true,
            Some(Some(cells)) => (offset..offset + i64::from(e.size)).any(|b| cells.contains(&b)),
        };
        let side = || side(trace, e, launch);
        if is_written || out.iter().any(|u| u.side.term == e.site.term && u.side.function == side().function)
        {
            continue;
        }
        let object = &trace.objects[e.object as usize];
        let index = offset.div_euclid(object.element.max(1) as i64);
        out.push(Unwritten { object: object.name.clone(), index, side: side() });
    }
    out
}
