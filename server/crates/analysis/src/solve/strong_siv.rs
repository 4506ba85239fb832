//! Strong single-index subscripts, `a·i + c` against `a·i' + c'` (Goff, Kennedy & Tseng, PLDI 1991, section 3.2.1).
//!
//! Precondition: an equation `a·x - a·x' + c = 0` over the two counters of one loop around both accesses. The distance
//! `x' - x` is then `c / a`, one number: there is no dependence if it is not whole, if it is larger than the loop is
//! long, or, in the loop that is to carry it, if it is not positive.

use super::system::{two, System};

/// Whether some equation fixes a distance that no two iterations have.
pub(super) fn strong_siv(s: &System) -> bool {
    s.equal.iter().any(|l| {
        let Some((p, q)) = two(l) else { return false };
        let (a, b, c) = (l[p], l[q], l[l.len() - 1]);
        if a != -b || !s.pairs.contains(&(p, q)) {
            return false;
        }
        if c % a != 0 {
            return true;
        }
        let distance = c / a;
        let (x, y) = (s.range(p), s.range(q));
        // x' - x <= high' - low, and >= low' - high
        let too_far = |d: Option<i128>| d.is_some_and(|d| distance > d);
        let too_far_back = |d: Option<i128>| d.is_some_and(|d| distance < d);
        s.root() == Some((p, q)) && distance <= 0
            || too_far(y.high.zip(x.low).map(|(h, l)| h - l))
            || too_far_back(y.low.zip(x.high).map(|(l, h)| l - h))
    })
}
