//! Operations of a warp: barriers, shuffles and votes among the threads of a warp.
//!
//! Lanes named by a mask wait for each other at one instruction; lanes that have ended, or never existed, are not
//! waited for (CUDA C++ Programming Guide, Warp Shuffle and Warp Vote Functions).

use term::device::{AtomicOp, Shuffle, Vote};
use term::TermId;

use crate::code::{AtomicTy, WarpKind};
use crate::grid::{thread_id, Finding, Grid, Status};

impl Grid<'_> {
    /// Lets the lanes of a warp go on whose partners have all arrived.
    pub(crate) fn settle_warp(&mut self, b: usize, warp: u32) {
        let block = &self.blocks[b];
        let lanes = self.code.limits.lanes;
        let all = u64::MAX >> (64 - lanes);
        let from = (warp * lanes) as usize;
        let to = (from + lanes as usize).min(block.lanes.len());
        let mut live = 0u64;
        for (i, lane) in block.lanes[from..to].iter().enumerate() {
            if !matches!(lane.status, Status::Done) {
                live |= 1 << i;
            }
        }
        let mut done = 0u64;
        for i in 0..to - from {
            let Status::Warp { kind, args, at, .. } = self.blocks[b].lanes[from + i].status else { continue };
            if done & (1 << i) != 0 {
                continue;
            }
            let mask = args[0] & all;
            let wanted = mask & live;
            let mut here = 0u64;
            let mut bad_mask = mask & (1 << i) == 0;
            for j in 0..to - from {
                if let Status::Warp { kind: k, args: a, at: p, .. } = self.blocks[b].lanes[from + j].status {
                    if wanted & (1 << j) != 0 && k == kind && p == at {
                        here |= 1 << j;
                        bad_mask |= a[0] & all != mask;
                    }
                }
            }
            if here != wanted {
                continue;
            }
            done |= here | 1 << i;
            if bad_mask {
                let thread = thread_id(self.launch, self.blocks[b].number, (from + i) as u32);
                let function = self.code.funcs[at.0 as usize].name.clone();
                let term = self.term(at).unwrap_or(TermId(0));
                self.note(Finding::WarpMask { thread, function, term });
            }
            self.release_warp(b, from, here | 1 << i, live, kind);
        }
    }

    fn release_warp(&mut self, b: usize, from: usize, group: u64, live: u64, kind: WarpKind) {
        let lanes = self.code.limits.lanes;
        let mut values = [0u64; 64];
        let mut votes = 0u64;
        for i in (0..lanes as usize).filter(|i| group & (1 << i) != 0) {
            if let Status::Warp { args, .. } = self.blocks[b].lanes[from + i].status {
                values[i] = args[1];
                votes |= ((args[1] != 0) as u64) << i;
            }
        }
        let mut undefined = Vec::new();
        let block = &mut self.blocks[b];
        for i in (0..lanes).filter(|i| group & (1 << i) != 0) {
            let lane = &mut block.lanes[from + i as usize];
            let Status::Warp { d, args, signed32, at, .. } = lane.status else { continue };
            let (value, defined) = match kind {
                WarpKind::Sync => (None, true),
                WarpKind::Vote(Vote::Ballot) => (Some(votes as u32 as u64), true),
                WarpKind::Vote(Vote::Any) => (Some((votes != 0) as u64), true),
                WarpKind::Vote(Vote::All) => (Some((votes == group) as u64), true),
                WarpKind::Reduce(op, ty) => (Some(reduced(op, ty, &values, group)), true),
                WarpKind::Match => {
                    let same = (0..lanes)
                        .filter(|&j| group >> j & 1 == 1 && values[j as usize] == values[i as usize]);
                    (Some(same.fold(0, |m, j| m | 1 << j)), true)
                }
                WarpKind::Shuffle(kind) => {
                    let source = shuffle_source(kind, (i, lanes), args[2] as i32, args[3] as i32);
                    let defined = group & (1 << source) != 0;
                    let v = if defined { values[source as usize] } else { 0xCBCB_CBCB };
                    let v = if signed32 { v as i32 as i64 as u64 } else { v };
                    (Some(v), defined)
                }
            };
            if !defined {
                undefined.push((from as u32 + i, at));
            }
            if let Some(v) = value {
                lane.thread.set(d, v);
            }
            lane.status = Status::Ready;
            block.ready.push(from as u32 + i);
        }
        if group == live {
            block.warp_epochs[from / lanes as usize] += 1;
        }
        let number = block.number;
        for (t, at) in undefined {
            let function = self.code.funcs[at.0 as usize].name.clone();
            let term = self.term(at).unwrap_or(TermId(0));
            let thread = thread_id(self.launch, number, t);
            self.note(Finding::UndefinedShuffle { thread, function, term });
        }
    }
}

/// What the values of lanes come to. Sums of floating numbers are made half by half, as shuffles make them; devices may add in
/// another order.
fn reduced(op: AtomicOp, ty: AtomicTy, values: &[u64; 64], group: u64) -> u64 {
    let mut parts: Vec<u64> = (0..64).filter(|j| group >> j & 1 == 1).map(|j| values[j]).collect();
    while parts.len() > 1 {
        let half = parts.len().div_ceil(2);
        for k in half..parts.len() {
            parts[k - half] = both(op, ty, parts[k - half], parts[k]);
        }
        parts.truncate(half);
    }
    parts.first().copied().unwrap_or(0)
}

fn both(op: AtomicOp, ty: AtomicTy, a: u64, b: u64) -> u64 {
    let number = |v: u64| match ty {
        AtomicTy::F32 => f32::from_bits(v as u32) as f64,
        _ => f64::from_bits(v),
    };
    match (op, ty) {
        (AtomicOp::Min, AtomicTy::F32 | AtomicTy::F64) => {
            if number(b) < number(a) {
                b
            } else {
                a
            }
        }
        (AtomicOp::Max, AtomicTy::F32 | AtomicTy::F64) => {
            if number(b) > number(a) {
                b
            } else {
                a
            }
        }
        _ => crate::arith::atomic(op, ty, a, b, 0),
    }
}

/// The lane a shuffle reads (CUDA C++ Programming Guide, Warp Shuffle Functions).
fn shuffle_source(kind: Shuffle, (lane, lanes): (u32, u32), arg: i32, width: i32) -> u32 {
    let parts = width > 0 && (width as u32).is_power_of_two() && width as u32 <= lanes;
    let width = if parts { width as u32 } else { lanes };
    let base = lane & !(width - 1);
    let last = base + width - 1;
    let source = match kind {
        Shuffle::From => return base + (arg as u32 & (width - 1)),
        Shuffle::Up => lane as i64 - arg as u32 as i64,
        Shuffle::Down => lane as i64 + arg as u32 as i64,
        Shuffle::Xor => (lane ^ arg as u32) as i64,
    };
    let low = if kind == Shuffle::Up { base as i64 } else { 0 };
    if source < low || source > last as i64 {
        lane
    } else {
        source as u32
    }
}
