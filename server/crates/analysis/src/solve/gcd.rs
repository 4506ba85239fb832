//! The greatest common divisor test (Banerjee, Dependence Analysis for Supercomputing, 1988, section 3.4).
//!
//! Precondition: an equation `Σ a_k x_k + c = 0` over integers, any number of variables, bounds not looked at. The sum is
//! a multiple of the divisor of all `a_k`; it has a solution only if `c` is one too.

use base::gcd as divisor;

use super::system::{used, System};

/// Whether some equation has no solution in integers.
pub(super) fn gcd(s: &System) -> bool {
    s.equal.iter().any(|l| {
        let g = used(l).fold(0, |g, k| divisor(g, l[k]));
        g > 1 && l[l.len() - 1] % g != 0
    })
}
