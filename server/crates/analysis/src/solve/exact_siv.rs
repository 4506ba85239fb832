//! Exact single-index subscripts, and restricted double-index ones: `a·x + c` against `b·y + d` with any two variables
//! (Banerjee 1988, section 4.2; Goff, Kennedy & Tseng, PLDI 1991, sections 3.3 and 3.4).
//!
//! Precondition: an equation `a·x + b·y + c = 0` over two columns. With `g = gcd(a, b)` its integer solutions are
//! `x = x0 + (b/g)·t, y = y0 - (a/g)·t` for all integers `t`; each bound on `x` or `y` that is a number bounds `t`, and in
//! the carrying loop so does `y - x >= 1`. There is no dependence if no `t` is left.

use super::system::{floor, two, Range, System, LIMIT};

/// Whether some equation has no solution inside the bounds of its two variables.
pub(super) fn exact_siv(s: &System) -> bool {
    s.equal.iter().any(|l| two(l).is_some_and(|(p, q)| no_solution(s, l, p, q).unwrap_or(false)))
}

fn no_solution(s: &System, l: &[i128], p: usize, q: usize) -> Option<bool> {
    let (a, b, c) = (l[p], l[q], l[l.len() - 1]);
    let (g, u, v) = bezout(a, b);
    if c % g != 0 {
        return Some(true);
    }
    let k = -c / g;
    // small numbers in, and `u`, `v` are no larger than `b`, `a`: 128 bits hold the products
    let small = |x: i128| (-LIMIT < x && x < LIMIT).then_some(x);
    let (x0, y0) = (u.checked_mul(small(k)?)?, v.checked_mul(small(k)?)?);
    let (dx, dy) = (b / g, -a / g);
    let mut t = Range::default();
    // start + step·t >= bound
    let mut at_least = |start: i128, step: i128, bound: i128| {
        let need = bound - start;
        match step.signum() {
            1 => {
                let low = -floor(-need, step);
                t.low = Some(t.low.map_or(low, |x| x.max(low)));
            }
            -1 => {
                let high = floor(-need, -step);
                t.high = Some(t.high.map_or(high, |x| x.min(high)));
            }
            _ => {}
        }
        step == 0 && need > 0
    };
    let mut never = false;
    for (column, start, step) in [(p, x0, dx), (q, y0, dy)] {
        let r = s.range(column);
        if let Some(low) = r.low {
            never |= at_least(start, step, low);
        }
        if let Some(high) = r.high {
            never |= at_least(-start, -step, -high);
        }
    }
    match s.root() {
        Some(pair) if pair == (p, q) => never |= at_least(y0 - x0, dy - dx, 1),
        _ => {}
    }
    Some(never || t.low.zip(t.high).is_some_and(|(l, h)| l > h))
}

/// `(g, u, v)` with `a·u + b·v = g`, the greatest common divisor, positive.
fn bezout(a: i128, b: i128) -> (i128, i128, i128) {
    let (mut r, mut u, mut v) = ((a, b), (1, 0), (0, 1));
    while r.1 != 0 {
        let k = r.0.div_euclid(r.1);
        r = (r.1, r.0 - k * r.1);
        u = (u.1, u.0 - k * u.1);
        v = (v.1, v.0 - k * v.1);
    }
    if r.0 < 0 {
        (-r.0, -u.0, -v.0)
    } else {
        (r.0, u.0, v.0)
    }
}
