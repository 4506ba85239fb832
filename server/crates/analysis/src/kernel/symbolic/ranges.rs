//! Between which numbers a value lies where the walk stands, and what of all that is known there has to do with it.

use rustc_hash::FxHashSet;

use super::rows::Rows;
use super::SymbolicKernel;
use crate::algebra::poly::{Constraint, Poly, Var};
use crate::limits::kernel_symbolic_ranges::{MAX_ROWS, MAX_TERMS};

impl SymbolicKernel<'_> {
    /// Whether a value lies between two numbers wherever the walk stands. `false`: not shown.
    pub(super) fn within(&mut self, p: &Poly, low: i128, high: i128) -> bool {
        if let Some(c) = p.as_constant() {
            return low <= c && c <= high;
        }
        let (least, most) = self.interval(p);
        // what many values are mixed into (ciphers, hashes, random numbers) is no place
        let mixed = p.terms().nth(MAX_TERMS).is_some();
        let mut excluded = |c: Constraint| !mixed && self.excluded(c);
        let above = least.is_some_and(|l| l >= low) || {
            let below = p.scale(-1).and_then(|n| n.add_constant(low.max(-(1 << 50)) - 1));
            below.is_some_and(|b| excluded(Constraint::non_negative(b)))
        };
        above
            && (high == i128::MAX || most.is_some_and(|m| m <= high) || {
                // larger numbers are beyond the solver
                let beyond = p.add_constant(-high.min(1 << 50) - 1);
                beyond.is_some_and(|b| excluded(Constraint::non_negative(b)))
            })
    }

    /// Whether a constraint cannot hold here.
    fn excluded(&mut self, c: Constraint) -> bool {
        let mut rows = Rows { list: vec![c] };
        let facts = self.relevant(&rows.list, &self.guards, MAX_ROWS);
        rows.list.extend(facts);
        rows.list.len() <= MAX_ROWS && self.impossible(&rows)
    }

    /// Between which numbers a value lies by the ranges of its atoms alone, wherever it stands.
    pub(super) fn interval(&self, p: &Poly) -> (Option<i128>, Option<i128>) {
        let (mut low, mut high) = (Some(0i128), Some(0i128));
        for (m, c) in p.terms() {
            let (mut l, mut h) = (Some(1i128), Some(1i128));
            for v in m {
                let a = &self.atoms[*v as usize];
                // only products of what is not negative
                let positive = l.is_some_and(|l| l >= 0) && a.low.is_some_and(|l| l >= 0);
                if m.len() > 1 && !positive {
                    (l, h) = (None, None);
                    break;
                }
                l = l.zip(a.low).and_then(|(x, y)| x.checked_mul(y));
                h = h.zip(a.high).and_then(|(x, y)| x.checked_mul(y));
            }
            let (l, h) = if c >= 0 { (l, h) } else { (h, l) };
            let sum = |s: Option<i128>, x: Option<i128>| {
                s.zip(x).and_then(|(s, x)| s.checked_add(x.checked_mul(c)?))
            };
            (low, high) = (sum(low, l), sum(high, h));
        }
        (low, high)
    }

    /// What holds at a place and the facts of the atoms that a list uses, and of those that these use; also the atoms' own ranges. Of more
    /// than `most` some are left out.
    pub(super) fn relevant(
        &self,
        list: &[Constraint],
        guards: &[Constraint],
        most: usize,
    ) -> Vec<Constraint> {
        let mut used: FxHashSet<Var> = list.iter().flat_map(|c| c.poly.vars().collect::<Vec<_>>()).collect();
        let mut out = Vec::new();
        let mut taken = vec![false; guards.len() + self.facts.len()];
        loop {
            let mut more = false;
            for (k, f) in guards.iter().chain(&self.facts).enumerate() {
                let told = |v: Var| used.contains(&v);
                // what never holds says that nobody comes here
                if !taken[k]
                    && (k < guards.len() && f.poly.as_constant().is_some() || f.poly.vars().any(told))
                {
                    taken[k] = true;
                    more = true;
                    used.extend(f.poly.vars());
                    out.push(f.clone());
                }
            }
            if !more || out.len() > most {
                break;
            }
        }
        let mut used: Vec<Var> = used.into_iter().collect();
        used.sort_unstable();
        for v in used {
            let a = &self.atoms[v as usize];
            let x = Poly::var(v);
            out.extend(a.low.and_then(|l| x.add_constant(-l)).map(Constraint::non_negative));
            out.extend(a.high.and_then(|h| x.scale(-1)?.add_constant(h)).map(Constraint::non_negative));
        }
        out
    }
}
