//! Quotients and remainders: numbers of their own, with what divides and what is divided.

use std::sync::Arc;

use super::{Share, SymbolicKernel};
use crate::algebra::poly::{Constraint, Poly, Var};

impl SymbolicKernel<'_> {
    /// Quotient and remainder of a value that is not negative.
    pub(super) fn quotient(&mut self, p: &Poly, k: i128) -> Option<(Poly, Poly)> {
        if k <= 0 || !self.within(p, 0, i128::MAX) {
            return None;
        }
        if let Some(c) = p.as_constant() {
            return Some((Poly::constant(c / k), Poly::constant(c % k)));
        }
        // what divides evenly keeps its form
        if p.terms().all(|(_, c)| c % k == 0) {
            let whole = Poly::from_terms(p.terms().map(|(m, c)| (m.to_vec(), c / k)))?;
            return Some((whole, Poly::constant(0)));
        }
        let share = p.vars().map(|v| self.atoms[v as usize].share).fold(Share::Grid, narrower);
        // what it rests on may hold only here: no fact of other places
        let (low, high) = self.interval(p);
        let (low, high) = (low.map(|l| l.max(0) / k), high.map(|h| h.max(0) / k));
        let q = Poly::var(self.atom(share, low, high));
        let rest = p.add_scaled(&q, -k)?;
        self.guards.push(Constraint::non_negative(q.clone()));
        self.guards.push(Constraint::non_negative(rest.clone()));
        self.guards.push(Constraint::non_negative(Poly::constant(k - 1).sub(&rest)?));
        Some((q, rest))
    }

    /// Quotient and remainder by a positive number that is not known, of a value that is not negative. Both are numbers of their own, so
    /// that rows of an array of that length are told apart; where the value stays below so many rows, so does the quotient.
    pub(super) fn quotient_by(&mut self, p: &Poly, by: &Poly) -> Option<(Poly, Poly)> {
        let given = |v: &Var| self.parameters.iter().find(|(x, _)| x == v).map(|(_, n)| n.clone());
        let divisors: Vec<Arc<str>> = by.vars().filter_map(|v| given(&v)).collect();
        let fixed = by.vars().all(|v| self.atoms[v as usize].share == Share::Grid);
        if !fixed {
            return None;
        }
        if !self.within(p, 0, i128::MAX) {
            return self.parts(p, by);
        }
        if !self.within(by, 1, i128::MAX) {
            self.divisors.extend(divisors);
            return self.parts(p, by);
        }
        if let Some(both) = self.whole_rows(p, by) {
            return Some(both);
        }
        let [q, r] = match self.known_quotient(p, by) {
            Some(both) => both,
            None => {
                let share = p.vars().map(|v| self.atoms[v as usize].share).fold(Share::Grid, narrower);
                // neither is larger than what is divided
                let high = self.interval(p).1.map(|h| h.max(0));
                let whole = match self.quotient_of_quotient(p, by).or_else(|| self.quotient_in_steps(p, by)) {
                    Some(v) => v,
                    None => self.atom(share, Some(0), high),
                };
                let both = [whole, self.atom(share, Some(0), high)];
                self.quotients.push((p.clone(), by.clone(), self.around.clone(), both));
                both
            }
        };
        let (whole, rest) = (Poly::var(q), Poly::var(r));
        let sum = by.mul(&whole)?.add(&rest)?;
        // what it rests on may hold only here: no fact of other places
        self.guards.push(Constraint::zero(sum.sub(p)?));
        self.guards.push(Constraint::non_negative(whole.clone()));
        self.guards.push(Constraint::non_negative(rest.clone()));
        self.guards.push(Constraint::non_negative(by.sub(&rest)?.add_constant(-1)?));
        self.guards.push(Constraint::non_negative(p.sub(&whole)?));
        self.guards.push(Constraint::non_negative(p.sub(&rest)?));
        // below `rows` rows
        let ends: Vec<Poly> = self.guards.iter().filter(|g| !g.equality).map(|g| g.poly.clone()).collect();
        for end in ends {
            // `end = most - 1 - p`
            let rows = end.add(p).and_then(|m| m.add_constant(1)).and_then(|m| over(&m, by));
            if let Some(rows) = rows.and_then(|n| n.sub(&whole)?.add_constant(-1)) {
                self.guards.push(Constraint::non_negative(rows));
                break;
            }
        }
        Some((whole, rest))
    }

    /// Quotient and remainder of which no more is known than that they make up what is divided, and that neither is further from zero:
    /// that much holds whatever the signs.
    fn parts(&mut self, p: &Poly, by: &Poly) -> Option<(Poly, Poly)> {
        // those of another place may be known to have a sign, there
        let of_any_sign = |both: &[Var; 2]| both.iter().all(|&v| self.atoms[v as usize].low != Some(0));
        let known = self.known_quotients(p, by).find(of_any_sign);
        let [q, r] = match known {
            Some(both) => both,
            None => {
                let share = p.vars().map(|v| self.atoms[v as usize].share).fold(Share::Grid, narrower);
                let (low, high) = self.interval(p);
                let most = low.zip(high).map(|(l, h)| l.abs().max(h.abs()));
                let both = [0; 2].map(|_| self.atom(share, most.map(|m| -m), most));
                self.quotients.push((p.clone(), by.clone(), self.around.clone(), both));
                both
            }
        };
        let (whole, rest) = (Poly::var(q), Poly::var(r));
        let sum = by.mul(&whole)?.add(&rest)?;
        self.guards.push(Constraint::zero(sum.sub(p)?));
        Some((whole, rest))
    }

    /// A form with what was divided in the place of its parts, where these make it up again: `q * w + r` is what `w` divided into `q` and `r`.
    pub(super) fn recomposed(&self, p: Poly) -> Poly {
        let mut out = p;
        for (of, by, _, [q, r]) in self.quotients.iter().rev() {
            if out.vars().all(|v| v != *r) {
                continue;
            }
            let rest = by.mul(&Poly::var(*q)).and_then(|rows| of.sub(&rows));
            let whole = rest.and_then(|rest| out.replaced(*r, &rest));
            // not where the parts stand by themselves
            if let Some(whole) = whole.filter(|w| w.terms().count() < out.terms().count()) {
                out = whole;
            }
        }
        out
    }

    fn known_quotient(&self, p: &Poly, by: &Poly) -> Option<[Var; 2]> {
        self.known_quotients(p, by).next()
    }

    fn known_quotients<'s>(&'s self, p: &'s Poly, by: &'s Poly) -> impl Iterator<Item = [Var; 2]> + 's {
        let known = move |(x, y, around, _): &&(Poly, Poly, Vec<u32>, [Var; 2])| {
            x == p && y == by && *around == self.around
        };
        self.quotients.iter().filter(known).map(|k| k.3)
    }

    /// Whole rows of the length that is divided by, and what is left of one.
    fn whole_rows(&mut self, p: &Poly, by: &Poly) -> Option<(Poly, Poly)> {
        let (rows, rest): (Vec<_>, Vec<_>) = p
            .terms()
            .map(|(m, c)| (m.to_vec(), c))
            .partition(|(m, c)| Poly::from_terms([(m.clone(), *c)]).is_some_and(|t| over(&t, by).is_some()));
        if rows.is_empty() {
            return None;
        }
        let (whole, rest) = (over(&Poly::from_terms(rows)?, by)?, Poly::from_terms(rest)?);
        let inside =
            self.within(&rest, 0, i128::MAX) && self.within(&by.sub(&rest)?.add_constant(-1)?, 0, i128::MAX);
        inside.then_some((whole, rest))
    }

    /// `(x / y) / by` is `x / (y * by)`, where that has been asked for.
    fn quotient_of_quotient(&self, p: &Poly, by: &Poly) -> Option<Var> {
        let v = p.as_var()?;
        let first =
            self.quotients.iter().find(|(.., around, both)| both[0] == v && *around == self.around)?;
        self.known_quotient(&first.0, &first.1.mul(by)?).map(|both| both[0])
    }

    /// `x / (y * z)` is `(x / y) / z`, where `x / y` has been asked for.
    fn quotient_in_steps(&mut self, p: &Poly, by: &Poly) -> Option<Var> {
        let step = |(x, y, around, both): &(Poly, Poly, Vec<u32>, [Var; 2])| {
            let others = (x == p && *around == self.around).then(|| over(by, y))??;
            others.as_constant().is_none().then_some((y.clone(), both[0], others))
        };
        let (y, first, others) = self.quotients.iter().find_map(step)?;
        let positive = self.within(&y, 1, i128::MAX);
        let (whole, _) = positive.then(|| self.quotient_by(&Poly::var(first), &others))??;
        whole.as_var()
    }
}

/// Of the threads that two numbers are one for, those that both are.
fn narrower(a: Share, b: Share) -> Share {
    match (a, b) {
        (Share::Thread, _) | (_, Share::Thread) => Share::Thread,
        (Share::Block, _) | (_, Share::Block) => Share::Block,
        _ => Share::Grid,
    }
}

/// A form divided by a product that is in each of its terms.
fn over(p: &Poly, by: &Poly) -> Option<Poly> {
    let mut terms = by.terms();
    let (Some((product, factor)), None) = (terms.next(), terms.next()) else { return None };
    let mut out = Vec::new();
    for (m, c) in p.terms() {
        let mut rest = m.to_vec();
        for v in product {
            let k = rest.iter().position(|x| x == v)?;
            rest.remove(k);
        }
        (factor > 0 && c % factor == 0).then(|| out.push((rest, c / factor)))?;
    }
    Poly::from_terms(out)
}
