//! Objects of which subscripts leave the rows for sure.

use term::SymbolId;

use crate::algebra::poly::{Poly, Var};
use crate::nest::builder::Builder;
use crate::nest::{AffineAccess, Length, Subscript};

impl Builder<'_> {
    /// A row of constant length that subscripts leave for sure (`f = a[0]; f[i]` with large i) is no row: such objects
    /// are taken as one line of cells, which is exact.
    pub(super) fn flatten_hopeless_rows(&mut self) {
        let known = self.prover();
        let hopeless = |m: &Self, a: &AffineAccess| {
            a.fields.is_empty()
                && a.subs.iter().zip(&a.lengths).skip(1).any(|(s, l)| {
                    let (Some(v), Some(Length::Const(n))) = (&s.value, l) else { return false };
                    let upper = v.scale(-1).and_then(|p| p.add_constant(*n as i128 - 1));
                    [Some(v.clone()), upper].into_iter().flatten().any(|need| {
                        let is_param = |v: Var| m.is_param(v);
                        !known.non_negative(&need, &a.domain, &m.budget)
                            && known
                                .sufficient(&need, &a.domain, &is_param, &m.budget)
                                .is_none_or(|ps| ps.iter().any(|p| p.as_constant().is_some_and(|c| c < 0)))
                    })
                })
        };
        let mut bases: Vec<SymbolId> =
            self.accesses.iter().filter(|a| hopeless(self, a)).map(|a| a.base).collect();
        bases.sort_unstable();
        bases.dedup();
        for base in bases {
            let members: Vec<usize> =
                (0..self.accesses.len()).filter(|&i| self.accesses[i].base == base).collect();
            let mut lines = Vec::new();
            for &i in &members {
                let a = &self.accesses[i];
                let mut sum = Some(Poly::default());
                for (k, s) in a.subs.iter().enumerate() {
                    let width: Option<i128> = a.lengths[k + 1..].iter().try_fold(1i128, |w, l| match l {
                        Some(Length::Const(n)) => w.checked_mul(*n as i128),
                        _ => None,
                    });
                    sum =
                        sum.zip(s.value.as_ref().zip(width)).and_then(|(sum, (v, w))| sum.add(&v.scale(w)?));
                }
                if !a.fields.is_empty() || a.subs.is_empty() {
                    sum = None;
                }
                lines.push(sum);
            }
            if lines.iter().any(Option::is_none) {
                continue;
            }
            for (i, line) in members.into_iter().zip(lines) {
                let term = self.accesses[i].subs[0].term;
                self.accesses[i].subs = vec![Subscript { value: line, term }];
                self.accesses[i].lengths = vec![None];
                self.accesses[i].inner = Some(Vec::new());
            }
        }
    }
}
