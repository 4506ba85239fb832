//! Quotients and remainders: numbers of their own, with what divides and what is divided.

use std::sync::Arc;

use super::{Share, SymbolicKernel};
use crate::algebra::poly::{Constraint, Poly, Var};

impl SymbolicKernel<'_> {
    /// Quotient and remainder of a value that is not negative.
    pub(super) fn quotient(&mut self, p: &Poly, k: i128) -> Option<(Poly, Poly)> {
        if k <= 0 || !self.within(p, 0, i64::MAX as i128) {
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
        let q = Poly::var(self.atom(share, None, None));
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
        if !fixed || !self.within(p, 0, i64::MAX as i128) {
            return None;
        }
        if !self.within(by, 1, i64::MAX as i128) {
            self.divisors.extend(divisors);
            return None;
        }
        let known =
            self.quotients.iter().find(|(x, y, around, _)| x == p && y == by && *around == self.around);
        let [q, r] = match known {
            Some((.., both)) => *both,
            None => {
                let share = p.vars().map(|v| self.atoms[v as usize].share).fold(Share::Grid, narrower);
                let both = [self.atom(share, Some(0), None), self.atom(share, Some(0), None)];
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
