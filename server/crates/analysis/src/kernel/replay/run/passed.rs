//! The barriers that threads passed: all of a block the same, and all lanes of a warp.

use super::super::{Missed, Site};
use super::Runner;

/// Barriers that one thread passed.
#[derive(Default)]
pub(in crate::kernel::replay) struct Passed {
    pub blocks: Vec<Site>,
    pub warps: Vec<Site>,
    /// The thread goes on: it was not followed further.
    pub cut: bool,
}

impl Runner<'_> {
    /// All threads of a block must have passed the same barriers, and all lanes of a warp.
    pub fn compare(&mut self, block: u32, passed: Vec<Passed>) {
        let Some(first) = passed.first() else { return };
        for (t, p) in passed.iter().enumerate().skip(1) {
            let differs = (0..p.blocks.len().max(first.blocks.len())).find(|&k| {
                match (first.blocks.get(k), p.blocks.get(k)) {
                    (Some(a), Some(b)) => a != b,
                    // who was cut may come yet
                    (Some(_), None) => !p.cut,
                    (None, _) => !first.cut,
                }
            });
            if let (Some(k), None) = (differs, &self.trace.missed) {
                let (site, comes, stays_away) = match (first.blocks.get(k), p.blocks.get(k)) {
                    (Some(&s), _) => (s, 0, t as u32),
                    (None, Some(&s)) => (s, t as u32, 0),
                    (None, None) => continue,
                };
                self.trace.missed = Some(Missed { site, block, comes, stays_away });
            }
        }
        for warp in passed.chunks(self.launch.limits.lanes as usize) {
            let longest = warp.iter().map(|p| &p.warps).max_by_key(|w| w.len());
            self.trace.uneven_warps |= longest.is_some_and(|l| {
                warp.iter().any(|p| !l.starts_with(&p.warps) || p.warps.len() < l.len() && !p.cut)
            });
        }
        let barriers = first.blocks.clone();
        self.trace.barriers.push(barriers);
    }
}
