//! Weak-crossing single-index subscripts, `a·i + c` against `-a·i' + c'` (Goff, Kennedy & Tseng, PLDI 1991, section 3.2.3).
//!
//! Precondition: an equation `a·x + a·x' + c = 0` over the two counters of one loop around both accesses. They meet in
//! iterations that lie symmetrically around `-c / 2a`: there is no dependence if the sum `-c / a` is not whole, or is no
//! sum of two iterations (of two different ones in the carrying loop).

use super::system::{two, System};

/// Whether some equation demands a sum that no two iterations have.
pub(super) fn weak_crossing_siv(s: &System) -> bool {
    s.equal.iter().any(|l| {
        let Some((p, q)) = two(l) else { return false };
        let (a, b, c) = (l[p], l[q], l[l.len() - 1]);
        if a != b || !s.pairs.contains(&(p, q)) {
            return false;
        }
        if c % a != 0 {
            return true;
        }
        let sum = -c / a;
        let (x, y) = (s.range(p), s.range(q));
        // The counters of the carrying loop differ: where both begin (or end) at one number, they cannot both be there.
        let apart = |same: bool| i128::from(s.root() == Some((p, q)) && same);
        let too_small = x.low.zip(y.low).is_some_and(|(l, m)| sum < l + m + apart(l == m));
        let too_large = x.high.zip(y.high).is_some_and(|(h, k)| sum > h + k - apart(h == k));
        too_small || too_large
    })
}
