//! Extents of subscripts that are products: `a[first + step * t]` of a step that is no constant.
//!
//! The value is a sum of products in each of which a counter stands at most once. Over counters that run through all whole
//! numbers between their first and last ones, its least and its largest value are taken where each counter is at one of its ends,
//! which may be told by counters farther out: the innermost counter goes first. If the access is made in every iteration, and every
//! loop whose ends move has one, these cells are surely touched.

use crate::algebra::poly::{Constraint, Domain, Poly, Var};
use crate::loops::expr_of;
use crate::nest::AffineAccess;
use crate::offload::extent::Maker;
use crate::{Expr, Obstacle, ObstacleKind, Pred};

/// A counter with its first and last value.
struct Ends {
    counter: Var,
    first: Poly,
    last: Poly,
    /// How many values there are.
    trips: Poly,
    /// Whether that is told by counters farther out, and never none.
    moves: bool,
}

impl Maker<'_, '_> {
    /// First and last element, if every access is made in every iteration, or touches what such a one touches.
    pub(super) fn vertices(&self, mine: &[&AffineAccess]) -> Option<(Expr, Expr)> {
        let model = self.model;
        let inner = match mine.first()? {
            a if a.flat.is_some() => Vec::new(),
            a => a.inner.clone()?,
        };
        let is_plain = |a: &AffineAccess| {
            if a.flat.is_some() != mine[0].flat.is_some() {
                return false;
            }
            let whole = a.fields.first().is_none_or(|f| f.0 >= a.subs.len());
            whole && (a.flat.is_some() || a.inner.as_ref() == Some(&inner) && a.subs.len() == inner.len() + 1)
        };
        // of rows that may overlap the ends are those of the sums all the same
        if !mine.iter().all(|a| is_plain(a)) {
            return None;
        }
        let mut sure: Vec<(&AffineAccess, Poly, Vec<Ends>)> = Vec::new();
        let mut rest: Vec<(&AffineAccess, Poly)> = Vec::new();
        for a in mine {
            let element = element(a, &inner)?;
            match self.every_time(a) {
                Some(_) if sure.iter().any(|(b, e, _)| b.loops == a.loops && *e == element) => {}
                Some(ends) => sure.push((a, element, ends)),
                None => rest.push((a, element)),
            }
        }
        if !rest.iter().all(|(a, e)| sure.iter().any(|(b, f, _)| b.loops == a.loops && e == f)) {
            return None;
        }
        // Where an inner loop has no iterations it touches nothing: only one answer for all of them can be given.
        let inner_trips = |ends: &[Ends]| -> Vec<Poly> {
            ends.iter().skip(1).filter(|e| !e.moves).map(|e| e.trips.clone()).collect()
        };
        let needed = inner_trips(&sure.first()?.2);
        if sure.iter().any(|s| inner_trips(&s.2) != needed) {
            return None;
        }
        let (mut least, mut most) = (Vec::new(), Vec::new());
        for (a, element, ends) in &sure {
            self.corners(element, ends, &a.domain, &mut least, &mut most)?;
        }
        let one = |mut all: Vec<Expr>, join: fn(Vec<Expr>) -> Expr| match all.len() {
            1 => all.remove(0),
            _ => join(all),
        };
        let (first, mut last) = (one(least, Expr::Min), one(most, Expr::Max));
        for n in &needed {
            let runs = Pred::NonNegative(expr_of(model, &n.add_constant(-1)?)?);
            let none = Expr::Add(vec![first.clone(), Expr::Int(-1)]);
            last = Expr::Select(Box::new(runs), Box::new(last), Box::new(none));
        }
        Some((first, last))
    }

    /// The ends of all counters around an access that is made for each of their values.
    fn every_time(&self, a: &AffineAccess) -> Option<Vec<Ends>> {
        let model = self.model;
        let is_only_wide = |o: &Obstacle| a.flat.is_some() && o.kind == ObstacleKind::NonAffineSubscript;
        if !a.domain.exact || !a.why.as_ref().is_none_or(is_only_wide) {
            return None;
        }
        let known = model.prover();
        let mut ends: Vec<Ends> = Vec::new();
        for (k, &l) in a.loops.iter().enumerate() {
            let of = &model.loops[l];
            let (trips, iteration) = (of.trips.clone()?, of.iteration.clone()?);
            // The number of the iteration is the counter less its first value.
            let first = Poly::var(of.var).sub(&iteration)?;
            let last = first.add(&trips)?.add_constant(-1)?;
            let is_outer = |v: Var| ends.iter().any(|e| e.counter == v);
            if !first.vars().chain(last.vars()).all(|v| model.is_param(v) || is_outer(v)) {
                return None;
            }
            let moves = trips.vars().any(is_outer);
            let around = k.checked_sub(1).and_then(|k| a.loops.get(k)).map(|&l| &model.loops[l].domain);
            let runs = |domain: &Domain| {
                trips.add_constant(-1).is_some_and(|t| known.non_negative(&t, domain, self.budget))
            };
            if moves && !around.is_some_and(runs) {
                return None;
            }
            ends.push(Ends { counter: of.var, first, last, trips, moves });
        }
        let [piece] = &a.domain.pieces[..] else { return None };
        let between = |c: &Constraint| {
            ends.iter().any(|e| {
                let x = Poly::var(e.counter);
                let bounds = [x.sub(&e.first), e.last.sub(&x)];
                !c.equality && bounds.iter().flatten().any(|b| *b == c.poly)
            })
        };
        piece.iter().all(between).then_some(ends)
    }

    /// The values at the ends; only the smaller or the larger one of each counter where it is known which that is.
    fn corners(
        &self,
        value: &Poly,
        ends: &[Ends],
        domain: &Domain,
        least: &mut Vec<Expr>,
        most: &mut Vec<Expr>,
    ) -> Option<()> {
        let known = self.model.prover();
        let positive = |p: &Poly| known.non_negative(p, domain, self.budget);
        let (mut low, mut high) = (vec![value.clone()], vec![value.clone()]);
        for e in ends.iter().rev() {
            // how much the value grows with the counter, whichever of those found so far it is
            let slope = |p: &Poly| -> Option<Poly> {
                with(p, e.counter, &Poly::constant(1))?.sub(&with(p, e.counter, &Poly::default())?)
            };
            let slopes: Vec<Poly> = low.iter().chain(&high).map(slope).collect::<Option<_>>()?;
            let is_known = slopes.iter().flat_map(|s| s.vars()).all(|v| self.model.is_param(v));
            let rises = is_known && slopes.iter().all(positive);
            let falls = is_known && slopes.iter().all(|s| s.scale(-1).is_some_and(|s| positive(&s)));
            let at = |all: &[Poly], which: &[&Poly]| -> Option<Vec<Poly>> {
                all.iter().flat_map(|p| which.iter().map(|w| with(p, e.counter, w))).collect()
            };
            let (first, last) = (&e.first, &e.last);
            (low, high) = match (rises, falls) {
                (true, _) => (at(&low, &[first])?, at(&high, &[last])?),
                (_, true) => (at(&low, &[last])?, at(&high, &[first])?),
                _ => (at(&low, &[first, last])?, at(&high, &[first, last])?),
            };
        }
        for (values, out) in [(low, least), (high, most)] {
            for v in values {
                let v = expr_of(self.model, &v)?;
                if !out.contains(&v) {
                    out.push(v);
                }
            }
        }
        Some(())
    }
}

/// The element's number, as a sum of products.
fn element(a: &AffineAccess, inner: &[Poly]) -> Option<Poly> {
    if a.flat.is_some() {
        return a.flat.clone();
    }
    let mut subs = a.subs.iter().map(|s| s.value.clone());
    let mut out = subs.next()??;
    for (sub, length) in subs.zip(inner) {
        out = out.mul(length)?.add(&sub?)?;
    }
    Some(out)
}

/// The value where a variable is something else. `None` where it stands twice in one product.
fn with(p: &Poly, v: Var, is: &Poly) -> Option<Poly> {
    let mut out = Poly::default();
    for (vars, k) in p.terms() {
        let others: Vec<Var> = vars.iter().copied().filter(|&x| x != v).collect();
        let product = Poly::from_terms([(others.clone(), k)])?;
        out = match vars.len() - others.len() {
            0 => out.add(&product)?,
            1 => out.add(&product.mul(is)?)?,
            _ => return None,
        };
    }
    Some(out)
}
