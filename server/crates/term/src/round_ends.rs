//! Jumps to the end of a loop's body, which are `continue` in other words: `if (x <= m) goto L5; … L5: ;`. So translators from Fortran
//! write what a labelled `CONTINUE` ends.

use rustc_hash::FxHashMap;

use crate::{Body, Op, TermId};

impl Body {
    /// Makes `continue` of each `goto` whose label ends the body of the innermost loop around it, and nothing of the labels that nobody
    /// names any more.
    pub fn note_round_ends(&mut self) {
        let of_label = |t: TermId| match self.op(t) {
            Op::Goto(l) | Op::Label(l) => Some((t, l.clone())),
            _ => None,
        };
        let named: Vec<_> = self.walk(self.root).filter_map(of_label).collect();
        if named.is_empty() {
            return;
        }
        // how often each name stands at a label, and at a jump; a compiler's local labels may say one name for several
        let mut counts: FxHashMap<std::sync::Arc<str>, (u32, u32)> = FxHashMap::default();
        for (t, label) in &named {
            let count = counts.entry(label.clone()).or_default();
            match self.op(*t) {
                Op::Label(_) => count.0 += 1,
                _ => count.1 += 1,
            }
        }
        let parents = self.parents();
        let is_jump = |t: &TermId| matches!(self.op(*t), Op::Goto(_));
        let mut again: Vec<TermId> = Vec::new();
        for (t, label) in named.iter().filter(|(t, _)| is_jump(t)) {
            let count = counts.entry(label.clone()).or_default();
            if count.0 == 1 && self.ends_round(*t, label, &parents) {
                count.1 -= 1;
                again.push(*t);
            }
        }
        let is_idle =
            |(t, label): &&(TermId, std::sync::Arc<str>)| !is_jump(t) && counts.get(label) == Some(&(1, 0));
        let idle: Vec<TermId> = match self.jumps_unseen(self.root) {
            false => named.iter().filter(is_idle).map(|n| n.0).collect(),
            true => Vec::new(),
        };
        for (all, op) in [(again, Op::Continue), (idle, Op::Empty)] {
            all.into_iter().for_each(|t| self.terms[t].op = op.clone());
        }
    }

    /// Whether a label is the last in the body of the innermost loop around a jump.
    fn ends_round(&self, jump: TermId, label: &str, parents: &[Option<TermId>]) -> bool {
        let mut at = jump;
        while let Some(around) = parents.get(at.0 as usize).copied().flatten() {
            if self.op(around).is_loop() {
                let all = match self.op(at) {
                    Op::List => self.args(at),
                    _ => &[],
                };
                let last = all.iter().rev().take_while(|&&t| matches!(self.op(t), Op::Empty | Op::Label(_)));
                return last.into_iter().any(|&t| matches!(self.op(t), Op::Label(l) if **l == *label));
            }
            at = around;
        }
        false
    }
}
