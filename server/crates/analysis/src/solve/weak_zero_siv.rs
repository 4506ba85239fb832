//! Weak-zero single-index subscripts, `a·i + c` against a fixed cell (Goff, Kennedy & Tseng, PLDI 1991, section 3.2.2).
//!
//! Precondition: an equation `a·x + c = 0` over one column. The access reaches that cell in the iteration `-c / a` alone:
//! there is no dependence if that is not whole or outside of the loop; and in the carrying loop, not if the sink has no
//! later iteration, or the source no earlier one. (Guards may give the two sides different ranges: whether the iteration
//! is the last of its own side says nothing.)

use super::system::{only, System};

/// Whether some equation names an iteration that does not exist, or that has nothing before or after it.
pub(super) fn weak_zero_siv(s: &System) -> bool {
    s.equal.iter().any(|l| {
        let Some(x) = only(l) else { return false };
        let (a, c) = (l[x], l[l.len() - 1]);
        if c % a != 0 {
            return true;
        }
        let at = -c / a;
        let r = s.range(x);
        let alone = match s.root() {
            Some((p, q)) if p == x => s.range(q).high.is_some_and(|h| at >= h),
            Some((p, q)) if q == x => s.range(p).low.is_some_and(|l| at <= l),
            _ => false,
        };
        alone || r.low.is_some_and(|l| at < l) || r.high.is_some_and(|h| at > h)
    })
}
