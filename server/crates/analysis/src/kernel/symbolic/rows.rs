//! Conjunctions about two threads: what is equal is one unknown, and equal offsets are equal digit by digit.
//!
//! An offset such as `(b * n + y) * w + x` with `0 <= x < w` and `0 <= y < n` is a number with digits `b`, `y`, `x`: two of them are
//! equal only if all digits are ([`SymbolicKernel::equate`]). Once two digits are one unknown, so are the products that they stand in
//! ([`Rows::merge`]).

use super::SymbolicKernel;
use crate::algebra::poly::{divide, Constraint, Poly, Var};
use crate::limits::kernel_symbolic_rows::{MAX_DIGITS, MAX_LENGTHS};

/// Atoms of the two threads that are not one number are numbered from here.
pub(super) const SECOND: Var = 1 << 20;
pub(super) const FIRST: Var = 1 << 18;

/// A conjunction, as it is added to.
#[derive(Clone, Default)]
pub(super) struct Rows {
    pub(super) list: Vec<Constraint>,
}

impl Rows {
    /// Makes unknowns that are equal one, and those that are a number that number, wherever they stand. `None`: numbers got too large.
    pub(super) fn merge(&mut self) -> Option<()> {
        while let Some((v, value)) = self.equal() {
            for c in &mut self.list {
                if c.poly.vars().any(|x| x == v) {
                    c.poly = with(&c.poly, v, value)?;
                }
            }
            // what holds of any numbers says nothing
            self.list.retain(|c| c.poly.as_constant().is_none_or(|k| k < 0 || c.equality && k != 0));
        }
        Some(())
    }

    /// An unknown that one equation, or two together, give a value.
    fn equal(&self) -> Option<(Var, Worth)> {
        let all: Vec<&Poly> = self.list.iter().filter(|c| c.equality).map(|c| &c.poly).collect();
        if let Some(one) = all.iter().find_map(|p| known(p)) {
            return Some(one);
        }
        all.iter().enumerate().find_map(|(k, p)| {
            let near = |q: &&Poly| p.terms().count().abs_diff(q.terms().count()) <= 2;
            all[k + 1..]
                .iter()
                .copied()
                .filter(near)
                .find_map(|q| known(&p.sub(q)?).or_else(|| known(&p.add(q)?)))
        })
    }
}

/// What an unknown is worth.
#[derive(Clone, Copy)]
enum Worth {
    Number(i128),
    Unknown(Var),
}

/// The unknown that an equation gives a value: `x - y = 0`, or `x - 3 = 0`.
fn known(p: &Poly) -> Option<(Var, Worth)> {
    let terms: Vec<(&[Var], i128)> = p.terms().collect();
    match *terms.as_slice() {
        [(&[v], _)] => Some((v, Worth::Number(0))),
        [(&[], k), (&[v], c)] if k % c == 0 => Some((v, Worth::Number(-(k / c)))),
        // the one that the first thread has stays
        [(&[v], c), (&[w], d)] if c == -d => Some((v.max(w), Worth::Unknown(v.min(w)))),
        _ => None,
    }
}

/// A form with a value in an unknown's place.
fn with(p: &Poly, v: Var, value: Worth) -> Option<Poly> {
    let mut out = Poly::constant(0);
    for (m, c) in p.terms() {
        let mut c = c;
        let mut rest = Vec::with_capacity(m.len());
        for &x in m {
            match value {
                Worth::Number(k) if x == v => c = c.checked_mul(k)?,
                Worth::Unknown(w) if x == v => rest.push(w),
                _ => rest.push(x),
            }
        }
        if c != 0 {
            out = out.add(&Poly::from_terms([(rest, c)])?)?;
        }
    }
    Some(out)
}

/// A form without the terms that another has, too, and all that is common to both threads.
fn beside(p: &Poly, q: &Poly) -> Option<Poly> {
    let alike = |m: &[Var], c: i128| m.iter().all(|v| *v < FIRST) && q.terms().any(|(n, d)| n == m && d == c);
    Poly::from_terms(p.terms().filter(|(m, c)| !alike(m, *c)).map(|(m, c)| (m.to_vec(), c)))
}

/// Rows of a length, and the place in the row.
fn parts(p: &Poly, length: &[Var]) -> Option<(Poly, Poly)> {
    let (mut row, mut rest) = (Vec::new(), Vec::new());
    for (m, c) in p.terms() {
        match divide(m, length) {
            Some(m) => row.push((m, c)),
            None => rest.push((m.to_vec(), c)),
        }
    }
    Some((Poly::from_terms(row)?, Poly::from_terms(rest)?))
}

impl SymbolicKernel<'_> {
    /// Adds that two offsets are equal: part by part, where both are rows of one length and a place in the row.
    pub(super) fn equate(&mut self, rows: &mut Rows, p: &Poly, q: &Poly, depth: u32) -> Option<()> {
        let (p, q) = (beside(p, q)?, beside(q, p)?);
        let divisor = p.terms().chain(q.terms()).fold(0, |d, (_, c)| base::gcd(d, c));
        let over = |p: &Poly| Poly::from_terms(p.terms().map(|(m, c)| (m.to_vec(), c / divisor)));
        let (p, q) = if divisor > 1 { (over(&p)?, over(&q)?) } else { (p, q) };
        if depth < MAX_DIGITS {
            for length in lengths(&p, &q) {
                let (Some((r, c)), Some((s, d))) = (parts(&p, &length), parts(&q, &length)) else { continue };
                if r == s || r.as_constant().is_some() && s.as_constant().is_some() {
                    continue;
                }
                let row = Poly::from_terms([(length, 1)])?;
                for more in [padding(&r, &c).or_else(|| padding(&s, &d)), Some(0)].into_iter().flatten() {
                    let row = row.add_constant(more)?;
                    let (c, d) = (c.add_scaled(&r, -more)?, d.add_scaled(&s, -more)?);
                    let first = self.place_in_row(rows, &row, r.clone(), c);
                    let Some((r, c)) = first else { continue };
                    if let Some((s, d)) = self.place_in_row(rows, &row, s.clone(), d) {
                        self.equate(rows, &r, &s, depth + 1)?;
                        return self.equate(rows, &c, &d, depth + 1);
                    }
                }
            }
        }
        rows.list.push(Constraint::zero(p.sub(&q)?));
        Some(())
    }

    /// A place in a row, or from the end of the one before, if it is proved to be in it.
    fn place_in_row(&mut self, rows: &Rows, length: &Poly, row: Poly, place: Poly) -> Option<(Poly, Poly)> {
        for (r, c) in [(Some(row.clone()), Some(place.clone())), (row.add_constant(-1), place.add(length))] {
            let (r, c) = (r?, c?);
            let mut no = |p: Option<Poly>| {
                p.is_some_and(|p| {
                    let mut rows = rows.clone();
                    rows.list.push(Constraint::non_negative(p));
                    self.is_none(rows, &c)
                })
            };
            let negative = c.scale(-1).and_then(|c| c.add_constant(-1));
            if no(negative) && no(c.sub(length)) {
                return Some((r, c));
            }
        }
        None
    }
}

impl SymbolicKernel<'_> {
    /// Whether no two threads satisfy all rows, with what they say of the products in a place where that is needed.
    fn is_none(&mut self, mut rows: Rows, place: &Poly) -> bool {
        let more = self.multiplied(&rows, place);
        let mut first = rows.clone();
        if first.merge().is_some() && self.impossible(&first) {
            return true;
        }
        rows.list.extend(more.iter().cloned());
        !more.is_empty() && rows.merge().is_some() && self.impossible(&rows)
    }

    /// What bounds a thread's own number says of its products with what both have in common and is not negative: `h < n` of `h * s`.
    fn multiplied(&self, rows: &Rows, place: &Poly) -> Vec<Constraint> {
        let mut out: Vec<Constraint> = Vec::new();
        for (m, _) in place.terms() {
            let &[u, v] = m else { continue };
            // what is known of extents is known of their products
            let common =
                (self.given..FIRST).contains(&u) && self.atoms[u as usize].low.is_some_and(|l| l >= 0);
            if !common || v < FIRST {
                continue;
            }
            let bounds = |c: &&Constraint| {
                let linear = c.poly.is_linear() && c.poly.vars().any(|w| w == v);
                linear && !c.equality && c.poly.vars().all(|w| w == v || w < FIRST)
            };
            for c in rows.list.iter().filter(bounds) {
                out.extend(c.poly.mul(&Poly::var(u)).map(Constraint::non_negative));
            }
        }
        out
    }
}

/// By how many elements rows are longer than the product that their number stands in, as in `row * (n + 2) + x`, by the terms of the
/// first unknown of a thread's own that the row's number has: `n * row + 2 * row + x`. `None`: not longer.
fn padding(row: &Poly, place: &Poly) -> Option<i128> {
    let own = |(m, c): (&[Var], i128)| match m {
        [v] if *v >= FIRST => Some((*v, c)),
        _ => None,
    };
    let (v, times) = row.terms().find_map(own)?;
    let (_, padded) = place.terms().filter_map(own).find(|(w, _)| *w == v)?;
    (padded % times == 0).then_some(padded / times)
}

/// Lengths that rows may have: what both threads have in common in products, the shortest products first, and parts of those.
fn lengths(p: &Poly, q: &Poly) -> Vec<Vec<Var>> {
    let mut out: Vec<Vec<Var>> = Vec::new();
    for (m, _) in p.terms().chain(q.terms()) {
        let both: Vec<Var> = m.iter().copied().filter(|v| *v < FIRST).collect();
        if !both.is_empty() && !out.contains(&both) {
            out.push(both);
        }
    }
    let whole = out.len();
    for k in 0..whole {
        for v in out[k].clone() {
            if !out.contains(&vec![v]) {
                out.push(vec![v]);
            }
        }
    }
    // parameters before extents
    for part in [0..whole, whole..out.len()] {
        out[part].sort_by(|a, b| a.len().cmp(&b.len()).then(b.cmp(a)));
    }
    out.truncate(MAX_LENGTHS);
    out
}
