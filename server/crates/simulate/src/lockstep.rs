//! Warps whose lanes step together, so that what a warp asks of memory at once can be counted.
//!
//! Of the lanes of a warp that can run, those go first that stand earliest in the program (callers before callees' returns, loops before
//! what follows them); lanes that stand at the same instruction of the same calls are one group and issue it together. For
//! programs of `if`, loops and calls this joins lanes again where their ways meet, as hardware and its compiler
//! arrange it. Nothing is promised by it: what orders memory is told by the race detector alone, for which lanes of a
//! warp are as unordered as any other threads (CUDA C++ Programming Guide, Independent Thread Scheduling).

use std::cmp::Ordering;

use term::TermId;

use crate::code::{Code, Ins};
use crate::count::Counter;
use crate::exec::World;
use crate::fault::Fault;
use crate::grid::{Grid, Status};
use crate::limits::lockstep::{CHANCE, PATIENCE};
use crate::machine::refuel;
use crate::memory::Memory;

/// What a grid needs to step warps.
pub(crate) struct Lockstep {
    pub(crate) counter: Counter,
    /// Per function and instruction: how many instructions run up to and with the next that matters.
    runs: Vec<Vec<u32>>,
    /// Steps that the warp at hand has made divided.
    divided: u32,
}

impl Lockstep {
    pub(crate) fn new(code: &Code, shared_bytes: u64) -> Lockstep {
        Lockstep {
            counter: Counter::new(code, shared_bytes),
            runs: code.funcs.iter().map(|f| runs(&f.code)).collect(),
            divided: 0,
        }
    }
}

/// Instructions that touch only the registers of their thread need not be stepped one by one.
fn runs(code: &[Ins]) -> Vec<u32> {
    let mut out = vec![1; code.len()];
    for k in (0..code.len().saturating_sub(1)).rev() {
        let plain = matches!(
            code[k],
            Ins::Const { .. }
                | Ins::Mov { .. }
                | Ins::Bin { .. }
                | Ins::Un { .. }
                | Ins::PtrAdd { .. }
                | Ins::PtrDiff { .. }
                | Ins::CheckInit { .. }
                | Ins::Alloc { .. }
                | Ins::CheckLen { .. }
                | Ins::Math { .. }
                | Ins::GlobalAddr { .. }
                | Ins::SharedAddr { .. }
                | Ins::Special { .. }
        );
        if plain {
            out[k] = out[k + 1] + 1;
        }
    }
    out
}

impl Grid<'_> {
    /// Steps one warp of a block.
    pub(crate) fn step_warp(
        &mut self,
        b: usize,
        world: &mut World<'_>,
        mem: &mut Memory,
    ) -> Result<(), Fault> {
        let pick = self.rng.below(self.blocks[b].ready.len());
        let width = self.code.limits.lanes;
        let warp = self.blocks[b].ready[pick] / width;
        let lanes = &self.blocks[b].lanes;
        let range = warp * width..((warp + 1) * width).min(lanes.len() as u32);
        let ready: Vec<u32> = range.filter(|&t| matches!(lanes[t as usize].status, Status::Ready)).collect();
        let order = |&x: &u32, &y: &u32| lanes[x as usize].thread.compare(&lanes[y as usize].thread);
        let Some(mut lead) = ready.iter().copied().min_by(order) else { return Ok(()) };
        let Some(step) = &mut self.lockstep else { return Ok(()) };
        let together = ready.iter().all(|t| order(t, &lead) == Ordering::Equal);
        step.divided = if together { 0 } else { step.divided + 1 };
        if step.divided > PATIENCE {
            step.counter.totals.out_of_step = true;
            lead = ready.iter().copied().max_by(order).unwrap_or(lead);
            if step.divided > PATIENCE + CHANCE {
                step.divided = 0;
            }
        }
        let group: Vec<u32> = ready.iter().copied().filter(|t| order(t, &lead) == Ordering::Equal).collect();
        let lead = &lanes[lead as usize].thread;
        let Some((func, pc)) = lead.place() else { return Ok(()) };
        let whole = step.runs.get(func as usize).and_then(|r| r.get(pc as usize)).copied().unwrap_or(1);
        // not past lanes that wait further on, so that they join
        let met = ready.iter().filter_map(|&t| lead.ahead(&lanes[t as usize].thread)).min();
        let run = whole.min(met.unwrap_or(whole)).max(1);
        let need = run as u64 * group.len() as u64;
        if self.fuel < need {
            self.fuel += refuel(self.budget, 65_536.max(need))?;
        }
        if let Some(s) = &mut self.watch.step {
            s.touched.clear();
            s.taken = 0;
        }
        for &t in &group {
            self.run_lane(b, t, run as u64, world, mem)?;
        }
        if run == whole {
            self.issued((func, pc + run - 1), &group);
        }
        Ok(())
    }

    /// Counts the instruction that a group of lanes has issued.
    fn issued(&mut self, at: (u32, u32), group: &[u32]) {
        let (Some(step), Some(seen)) = (&mut self.lockstep, &self.watch.step) else { return };
        let Some(ins) = self.code.funcs.get(at.0 as usize).and_then(|f| f.code.get(at.1 as usize)) else {
            return;
        };
        let active = group.iter().fold(0u64, |m, t| m | 1 << (t % self.code.limits.lanes));
        let decided: Option<TermId> = self.code.decisions.get(&at).copied();
        match (ins, decided) {
            (Ins::JumpZ { .. }, Some(term)) => {
                step.counter.branch(self.code, at, term, active, active & !seen.taken)
            }
            (Ins::JumpNZ { .. }, Some(term)) => {
                step.counter.branch(self.code, at, term, active, active & seen.taken)
            }
            (Ins::Warp { kind, .. }, _) => step.counter.warp(self.code, at, *kind),
            _ if !seen.touched.is_empty() => {
                let shared = &self.watch.shared;
                step.counter.access(self.code, at, &seen.touched, |t| {
                    shared.iter().position(|&o| o == t.access.object)
                });
            }
            _ => {}
        }
    }
}
