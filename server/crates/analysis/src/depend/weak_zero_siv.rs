//! Weak-zero single-index subscripts, `a·i + c` against a fixed cell (Goff, Kennedy & Tseng, PLDI 1991, section 3.2.2).
//!
//! Precondition: an equation `a·x + c = 0` over one column. The access reaches that cell in the iteration `-c / a` alone:
//! there is no dependence if that is not whole or outside of the loop; and in the carrying loop, not if it is the last
//! iteration at the source or the first at the sink.

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
        let (source, sink) = match s.root() {
            Some((p, q)) => (p == x, q == x),
            None => (false, false),
        };
        r.low.is_some_and(|l| at < l || (sink && at <= l))
            || r.high.is_some_and(|h| at > h || (source && at >= h))
    })
}
