//! Zero index variables: subscripts that use nothing at all and differ (Goff, Kennedy & Tseng, PLDI 1991, section 3.1).
//!
//! Precondition: an equation without variables. `0 = c` has no solution unless `c` is 0.

use super::system::{used, System};

/// Whether some equation says that two different numbers are equal.
pub(super) fn ziv(s: &System) -> bool {
    s.equal.iter().any(|l| used(l).next().is_none() && l[l.len() - 1] != 0)
}
