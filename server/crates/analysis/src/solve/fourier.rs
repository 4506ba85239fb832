//! Elimination of variables after Fourier and Motzkin, with every row divided by its divisor and its constant rounded
//! down, as Pugh's Omega test does (Pugh, CACM 35(8), 1992, sections 2.1 to 2.3).
//!
//! No precondition but small numbers. If rows without variables are left that do not hold, there is no integer solution:
//! a proof, since each step follows from the rows before it. Otherwise values are chosen backwards, small ones first;
//! what comes out is only believed after it was put into every constraint. Where neither succeeds nothing is said.

use base::gcd;

use super::system::{floor, used, Line, System, LIMIT};
use crate::limits::solve_fourier::MAX_LINES;

/// What the elimination found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Solution {
    /// No integer solution.
    Empty,
    /// A solution, checked: values by column.
    Point(Vec<i128>),
    Unknown,
}

/// How a column's value follows from those of columns eliminated later.
enum Back {
    /// Zero at this line, where the column's coefficient is 1 or -1.
    Equal(usize, Line),
    /// Not negative at these.
    Between(usize, Vec<Line>),
}

/// Looks for a solution.
pub(crate) fn fourier(s: &System) -> Solution {
    counted(s, &mut 0)
}

/// The same; `work` is added the numbers that were looked at.
pub(crate) fn counted(s: &System, work: &mut u64) -> Solution {
    *work += s.numbers() as u64;
    let mut back = Vec::new();
    let (mut equal, mut least) = (s.equal.clone(), s.least.clone());
    // Equations whose variable has coefficient 1 are solved; the others become two inequalities.
    while let Some(at) = equal.iter().position(|l| used(l).any(|k| l[k].abs() == 1)) {
        let e = equal.swap_remove(at);
        // existential variables and counters first: parameters are what one likes to choose
        let Some(k) = used(&e).filter(|&k| e[k].abs() == 1).last() else { return Solution::Unknown };
        for l in equal.iter_mut().chain(least.iter_mut()) {
            let c = l[k];
            if c != 0 && !subtract(l, &e, c * e[k]) {
                return Solution::Unknown;
            }
        }
        back.push(Back::Equal(k, e));
        for l in &mut equal {
            match divide_equation(l) {
                true => {}
                false => return Solution::Empty,
            }
        }
    }
    for e in equal {
        let g = used(&e).fold(0, |g, k| gcd(g, e[k]));
        let c = e[e.len() - 1];
        if (g == 0 && c != 0) || (g != 0 && c % g != 0) {
            return Solution::Empty;
        }
        least.push(e.iter().map(|v| -v).collect());
        least.push(e);
    }
    // Tightened, without doubles and without what holds anyway. Numbers made of the coefficients tell most lines apart.
    let mut kept: Vec<Line> = Vec::with_capacity(least.len());
    let mut marks: Vec<u64> = Vec::with_capacity(least.len());
    loop {
        for mut l in least.drain(..) {
            tighten(&mut l);
            let (n, c) = (l.len() - 1, l[l.len() - 1]);
            if used(&l).next().is_none() {
                if c < 0 {
                    return Solution::Empty;
                }
                continue;
            }
            let m = mark(&l[..n]);
            match (0..kept.len()).find(|&k| marks[k] == m && kept[k][..n] == l[..n]) {
                Some(k) => kept[k][n] = kept[k][n].min(c),
                None => {
                    kept.push(l);
                    marks.push(m);
                }
            }
        }
        // The column that costs least: lower times upper bounds.
        let mut bounds = vec![(0usize, 0usize); s.columns()];
        for l in &kept {
            for (b, v) in bounds.iter_mut().zip(l) {
                match v.signum() {
                    1 => b.0 += 1,
                    -1 => b.1 += 1,
                    _ => {}
                }
            }
        }
        let cost = |k: usize| {
            let (lower, upper) = bounds[k];
            (lower + upper > 0).then_some((lower * upper, k))
        };
        let Some((_, k)) = (0..s.columns()).filter_map(cost).min() else { break };
        let mut with: Vec<Line> = Vec::new();
        let mut rest = 0;
        for at in 0..kept.len() {
            if kept[at][k] != 0 {
                with.push(std::mem::take(&mut kept[at]));
            } else {
                kept.swap(rest, at);
                marks.swap(rest, at);
                rest += 1;
            }
        }
        kept.truncate(rest);
        marks.truncate(rest);
        let (lower, upper) = bounds[k];
        if kept.len() + lower * upper > MAX_LINES {
            return Solution::Unknown;
        }
        *work += ((kept.len() + lower * upper) * (s.columns() + 1)) as u64;
        for a in with.iter().filter(|l| l[k] > 0) {
            for b in with.iter().filter(|l| l[k] < 0) {
                let (p, q) = (a[k], -b[k]);
                let mut l = Vec::with_capacity(a.len());
                for (x, y) in a.iter().zip(b) {
                    if *x == 0 && *y == 0 {
                        l.push(0);
                        continue;
                    }
                    match x.checked_mul(q).zip(y.checked_mul(p)).and_then(|(x, y)| x.checked_add(y)) {
                        Some(v) if -LIMIT < v && v < LIMIT => l.push(v),
                        _ => return Solution::Unknown,
                    }
                }
                least.push(l);
            }
        }
        back.push(Back::Between(k, with));
    }
    match choose(s, &back) {
        Some(point) if s.holds(&point) => Solution::Point(point),
        _ => Solution::Unknown,
    }
}

/// `l - k·e`; whether the numbers stayed small.
fn subtract(l: &mut Line, e: &Line, k: i128) -> bool {
    for (x, y) in l.iter_mut().zip(e) {
        match y.checked_mul(k).and_then(|v| x.checked_sub(v)) {
            Some(v) if -LIMIT < v && v < LIMIT => *x = v,
            _ => return false,
        }
    }
    true
}

/// Divides an equation by its divisor; `false` if it has no solution.
fn divide_equation(l: &mut Line) -> bool {
    let g = used(l).fold(0, |g, k| gcd(g, l[k]));
    let c = l[l.len() - 1];
    if g == 0 {
        return c == 0;
    }
    if g == 1 {
        return true;
    }
    if c % g != 0 {
        return false;
    }
    l.iter_mut().for_each(|v| *v /= g);
    true
}

/// Equal for equal lines.
fn mark(l: &[i128]) -> u64 {
    l.iter().fold(0u64, |m, v| (m.rotate_left(5) ^ *v as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

/// Divides an inequality by the divisor of its coefficients and rounds the constant: the integers in it stay.
fn tighten(l: &mut Line) {
    let mut g = 0;
    for k in used(l) {
        g = gcd(g, l[k]);
        if g == 1 {
            return;
        }
    }
    if g > 1 {
        let n = l.len() - 1;
        l[..n].iter_mut().for_each(|v| *v /= g);
        l[n] = floor(l[n], g);
    }
}

/// Values backwards through the elimination; each as near to zero as its bounds let it.
fn choose(s: &System, back: &[Back]) -> Option<Vec<i128>> {
    let mut point = vec![0i128; s.columns()];
    for b in back.iter().rev() {
        match b {
            Back::Equal(k, l) => {
                point[*k] = 0;
                let rest = value(l, &point)?;
                // ±x + rest = 0
                point[*k] = if l[*k] == 1 { -rest } else { rest };
            }
            Back::Between(k, lines) => {
                point[*k] = 0;
                let (mut low, mut high) = (None::<i128>, None::<i128>);
                for l in lines {
                    let rest = value(l, &point)?;
                    if l[*k] > 0 {
                        let v = -floor(rest, l[*k]);
                        low = Some(low.map_or(v, |x| x.max(v)));
                    } else {
                        let v = floor(rest, -l[*k]);
                        high = Some(high.map_or(v, |x| x.min(v)));
                    }
                }
                let v = low.map_or(0, |l| l.max(0));
                point[*k] = high.map_or(v, |h| v.min(h));
            }
        }
    }
    Some(point)
}

/// A line's value at a point.
pub(crate) fn value(l: &Line, point: &[i128]) -> Option<i128> {
    let mut sum = l[l.len() - 1];
    for (c, x) in l.iter().zip(point) {
        if *c != 0 {
            sum = sum.checked_add(c.checked_mul(*x)?)?;
        }
    }
    Some(sum)
}
