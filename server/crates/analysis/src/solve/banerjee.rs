//! Banerjee's inequalities (Banerjee 1988, section 4.3; Allen & Kennedy, Optimizing Compilers, 2001, section 3.3.3).
//!
//! Precondition: an equation `Σ a_k x_k + c = 0` and bounds that are numbers for the variables in it. The least and the
//! largest value of the sum over the box, with `x < x'` for the counters of the carrying loop, are taken at corners:
//! there is no dependence if zero does not lie between them. A variable without a bound on one side leaves that side
//! open. Exact over the reals only: the test says "never" or nothing.

use super::system::{used, Line, System};

/// Whether some equation's left side cannot be zero inside the bounds.
pub(super) fn banerjee(s: &System) -> bool {
    s.equal.iter().any(|l| {
        let (low, high) = extremes(s, l);
        low.is_some_and(|v| v > 0) || high.is_some_and(|v| v < 0)
    })
}

fn extremes(s: &System, l: &Line) -> (Option<i128>, Option<i128>) {
    let constant = l[l.len() - 1];
    let (mut low, mut high) = (Some(constant), Some(constant));
    let root = s.root().filter(|&(p, q)| l[p] != 0 && l[q] != 0);
    for k in used(l) {
        if root.is_some_and(|(p, q)| k == p || k == q) {
            continue;
        }
        let r = s.range(k);
        let (a, b) = if l[k] > 0 { (r.low, r.high) } else { (r.high, r.low) };
        low = low.zip(a).and_then(|(v, x)| v.checked_add(l[k].checked_mul(x)?));
        high = high.zip(b).and_then(|(v, x)| v.checked_add(l[k].checked_mul(x)?));
    }
    if let Some((p, q)) = root {
        let (x, y) = (s.range(p), s.range(q));
        let corners = || -> Option<[i128; 3]> {
            let (from, to) = (x.low?.min(y.low?), x.high?.max(y.high?));
            let at = |i: i128, j: i128| l[p].checked_mul(i)?.checked_add(l[q].checked_mul(j)?);
            // the triangle from <= x < x' <= to
            if from >= to {
                return None;
            }
            Some([at(from, from + 1)?, at(from, to)?, at(to - 1, to)?])
        };
        let c = corners();
        low = low.zip(c).and_then(|(v, c)| v.checked_add(c.into_iter().min()?));
        high = high.zip(c).and_then(|(v, c)| v.checked_add(c.into_iter().max()?));
    }
    (low, high)
}
