//! Operations of a warp: barriers, shuffles and votes among 32 threads.
//!
//! Lanes named by a mask wait for each other at one instruction; lanes that have ended, or never existed, are not
//! waited for (CUDA C++ Programming Guide, Warp Shuffle and Warp Vote Functions).

use term::device::{Shuffle, Vote};
use term::TermId;

use crate::code::WarpKind;
use crate::grid::{thread_id, Finding, Grid, Status};

impl Grid<'_> {
    /// Lets the lanes of a warp go on whose partners have all arrived.
    pub(crate) fn settle_warp(&mut self, b: usize, warp: u32) {
        let block = &self.blocks[b];
        let from = (warp * 32) as usize;
        let to = (from + 32).min(block.lanes.len());
        let mut live = 0u32;
        for (i, lane) in block.lanes[from..to].iter().enumerate() {
            if !matches!(lane.status, Status::Done) {
                live |= 1 << i;
            }
        }
        let mut done = 0u32;
        for i in 0..to - from {
            let Status::Warp { kind, args, at, .. } = self.blocks[b].lanes[from + i].status else { continue };
            if done & (1 << i) != 0 {
                continue;
            }
            let mask = args[0] as u32;
            let wanted = mask & live;
            let mut here = 0u32;
            let mut bad_mask = mask & (1 << i) == 0;
            for j in 0..to - from {
                if let Status::Warp { kind: k, args: a, at: p, .. } = self.blocks[b].lanes[from + j].status {
                    if wanted & (1 << j) != 0 && k == kind && p == at {
                        here |= 1 << j;
                        bad_mask |= a[0] as u32 != mask;
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

    fn release_warp(&mut self, b: usize, from: usize, group: u32, live: u32, kind: WarpKind) {
        let mut values = [0u64; 32];
        let mut votes = 0u32;
        for i in (0..32).filter(|i| group & (1 << i) != 0) {
            if let Status::Warp { args, .. } = self.blocks[b].lanes[from + i].status {
                values[i] = args[1];
                votes |= ((args[1] != 0) as u32) << i;
            }
        }
        let mut undefined = Vec::new();
        let block = &mut self.blocks[b];
        for i in (0..32u32).filter(|i| group & (1 << i) != 0) {
            let lane = &mut block.lanes[from + i as usize];
            let Status::Warp { d, args, signed32, at, .. } = lane.status else { continue };
            let (value, defined) = match kind {
                WarpKind::Sync => (None, true),
                WarpKind::Vote(Vote::Ballot) => (Some(votes as u64), true),
                WarpKind::Vote(Vote::Any) => (Some((votes != 0) as u64), true),
                WarpKind::Vote(Vote::All) => (Some((votes == group) as u64), true),
                WarpKind::Shuffle(kind) => {
                    let source = shuffle_source(kind, i, args[2] as i32, args[3] as i32);
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
            block.warp_epochs[from / 32] += 1;
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

/// The lane a shuffle reads (CUDA C++ Programming Guide, Warp Shuffle Functions).
fn shuffle_source(kind: Shuffle, lane: u32, arg: i32, width: i32) -> u32 {
    let width = if matches!(width, 1 | 2 | 4 | 8 | 16 | 32) { width as u32 } else { 32 };
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
