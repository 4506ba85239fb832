//! What follows from two subscripts being equal.

use crate::algebra::poly::{Poly, Var};
use crate::nest::{AffineAccess, Model};

/// What follows from the equalities by `(x ^ k) ^ k = x` for fixed k: `x ^ k = y` at the two ends gives `x = y ^ k`, and
/// `x ^ k = y ^ k` gives `x = y`. Equal amounts added on both sides cancel first. With a guard that lets only one of a
/// pair x, x ^ k through (`ixj > i`), the two together have no solution in different iterations: each pair has one
/// owner. Precondition: k is the same at both ends, which being made of parameters alone says.
pub(super) fn involutions(model: &Model<'_>, equal: &[(Poly, Poly)]) -> Vec<(Poly, Poly)> {
    if model.vars.images.is_empty() {
        return Vec::new();
    }
    let split = |p: &Poly| split(model, p, |v| model.vars.images.contains_key(&v));
    let image_of = |x: &Poly, k: &Poly| {
        model.vars.images.iter().find(|(_, (y, j))| y == x && j == k).map(|(v, _)| Poly::var(*v))
    };
    let mut out = Vec::new();
    for (p, q) in equal {
        let pair = match (split(p), split(q)) {
            (Some((v, r)), Some((w, s))) => {
                let ((x, k), (y, j)) = (&model.vars.images[&v], &model.vars.images[&w]);
                (r == s && k == j).then(|| (x.clone(), y.clone()))
            }
            (Some((v, r)), None) => {
                let (x, k) = &model.vars.images[&v];
                q.sub(&r).and_then(|y| image_of(&y, k)).map(|y| (x.clone(), y))
            }
            (None, Some((w, s))) => {
                let (y, k) = &model.vars.images[&w];
                p.sub(&s).and_then(|x| image_of(&x, k)).map(|x| (x, y.clone()))
            }
            (None, None) => None,
        };
        out.extend(pair);
    }
    out
}

/// What follows from the equalities where no two elements of an array are equal, as the user promises: loads that give the same
/// load the same element. Also the numbers of the promises. Equal amounts added on both sides cancel first.
pub(super) fn injections(model: &Model<'_>, equal: &[(Poly, Poly)]) -> (Vec<(Poly, Poly)>, Vec<usize>) {
    let mut out: Vec<(Poly, Poly)> = Vec::new();
    let mut promises = Vec::new();
    if model.vars.loads.is_empty() {
        return (out, promises);
    }
    let split = |p: &Poly| split(model, p, |v| model.vars.loads.contains_key(&v));
    let mut todo: Vec<(Poly, Poly)> = equal.to_vec();
    while let Some((p, q)) = todo.pop() {
        let (Some((v, r)), Some((w, s))) = (split(&p), split(&q)) else { continue };
        let (a, b) = (&model.vars.loads[&v], &model.vars.loads[&w]);
        let array = model.promises.of(a.array).filter(|_| r == s && a.array == b.array);
        let Some(array) = array.filter(|p| p.injective.is_some() || p.constant == Some(true)) else {
            continue;
        };
        if a.subscripts.len() == b.subscripts.len() {
            let pairs = a.subscripts.iter().cloned().zip(b.subscripts.iter().cloned());
            todo.extend(pairs.clone());
            out.extend(pairs);
            promises.extend(array.injective);
        }
    }
    (out, promises)
}

/// What follows from the equalities for elements that were loaded: those with equal subscripts are one. Precondition: the root does
/// not write what it loads them from, and the equalities are of these two accesses.
pub(super) fn same_elements(
    model: &Model<'_>,
    equal: &[(Poly, Poly)],
    ends: [&AffineAccess; 2],
) -> Vec<(Poly, Poly)> {
    if model.vars.loads.is_empty() {
        return Vec::new();
    }
    let loads = |of: &mut dyn Iterator<Item = &Poly>| -> Vec<Var> {
        let mut all: Vec<Var> =
            of.flat_map(|p| p.vars()).filter(|v| model.vars.loads.contains_key(v)).collect();
        all.sort_unstable();
        all.dedup();
        all
    };
    let is_fixed = |p: &Poly| p.vars().all(|v| model.is_param(v));
    let are_equal = |s: &Poly, t: &Poly| {
        s == t && is_fixed(s)
            || equal.iter().any(|(p, q)| p == s && q == t || are_remainders(model, (p, q), (s, t), ends))
    };
    let mut out = Vec::new();
    for v in loads(&mut equal.iter().map(|e| &e.0)) {
        for w in loads(&mut equal.iter().map(|e| &e.1)) {
            let (a, b) = (&model.vars.loads[&v], &model.vars.loads[&w]);
            let is_one = a.array == b.array
                && a.subscripts.len() == b.subscripts.len()
                && a.subscripts.iter().zip(&b.subscripts).all(|(s, t)| are_equal(s, t));
            if is_one {
                out.push((Poly::var(v), Poly::var(w)));
            }
        }
    }
    out
}

/// Whether two values are what equal sums leave over when they are divided by one number: `q` of `9 * c + q`, where both surely lie
/// between 0 and 9. Then they are equal.
fn are_remainders(
    model: &Model<'_>,
    (p, q): (&Poly, &Poly),
    (s, t): (&Poly, &Poly),
    ends: [&AffineAccess; 2],
) -> bool {
    let (Some(x), Some(y)) = (p.sub(s), q.sub(t)) else { return false };
    let by = x.terms().chain(y.terms()).fold(0, |by, (_, c)| base::gcd(by, c));
    let prover = model.prover();
    let is_below = |v: &Poly, a: &AffineAccess| {
        let below = v.scale(-1).and_then(|p| p.add_constant(by - 1));
        below
            .is_some_and(|below| [v, &below].iter().all(|p| prover.non_negative(p, &a.domain, &model.budget)))
    };
    by > 1 && is_below(s, ends[0]) && is_below(t, ends[1])
}

/// The one variable of a kind in a sum, and the rest, which is fixed.
fn split(model: &Model<'_>, p: &Poly, is_one: impl Fn(Var) -> bool) -> Option<(Var, Poly)> {
    let mut of_kind = p.vars().filter(|&v| is_one(v));
    let v = of_kind.next().filter(|&v| of_kind.next().is_none() && p.coefficient(v) == 1)?;
    let rest = p.sub(&Poly::var(v))?;
    let fixed = rest.vars().all(|x| model.is_param(x));
    fixed.then_some((v, rest))
}
