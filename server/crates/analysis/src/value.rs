//! Integer values as polynomials over a nest's variables, with checked coefficients.
//!
//! Linear values are what the tests work on; products are kept because a product of two fixed values is itself fixed,
//! and because `i*n + j` is two-dimensional once `0 <= j < n` is known.

use std::collections::BTreeMap;

use crate::Param;

/// A variable of one nest's model.
pub(crate) type Var = u32;

/// What a variable stands for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum VarKind {
    /// Fixed while the nest runs.
    Param(Param),
    /// A product of fixed values, itself fixed.
    Product(Vec<Var>),
    /// The counter of a loop of the model.
    Iter(usize),
    /// Determined by others through constraints (quotients, remainders).
    Quotient,
    /// Determined by others, but only some properties of it are known (`x ^ k`, sums that grow).
    Image,
    /// An integer nobody knows.
    Fresh,
}

/// `Σ coefficient · Π variables`; the empty product is the constant. Zero coefficients are not stored.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) struct Poly {
    terms: BTreeMap<Vec<Var>, i128>,
}

/// Coefficients beyond this are given up: sums of a few stay far from overflow.
const LIMIT: i128 = 1 << 100;

fn checked(v: i128) -> Option<i128> {
    (v.abs() < LIMIT).then_some(v)
}

impl Poly {
    pub(crate) fn constant(v: i128) -> Poly {
        let mut terms = BTreeMap::new();
        if v != 0 {
            terms.insert(Vec::new(), v);
        }
        Poly { terms }
    }
    pub(crate) fn var(v: Var) -> Poly {
        Poly { terms: BTreeMap::from([(vec![v], 1)]) }
    }
    pub(crate) fn as_constant(&self) -> Option<i128> {
        match self.terms.len() {
            0 => Some(0),
            1 => self.terms.get(&Vec::new()).copied(),
            _ => None,
        }
    }
    pub(crate) fn constant_part(&self) -> i128 {
        self.terms.get(&Vec::new()).copied().unwrap_or(0)
    }
    pub(crate) fn add(&self, other: &Poly) -> Option<Poly> {
        let mut terms = self.terms.clone();
        for (m, c) in &other.terms {
            let e = terms.entry(m.clone()).or_insert(0);
            *e = checked(*e + c)?;
            if *e == 0 {
                terms.remove(m);
            }
        }
        Some(Poly { terms })
    }
    pub(crate) fn scale(&self, k: i128) -> Option<Poly> {
        if k == 0 {
            return Some(Poly::default());
        }
        let mut terms = BTreeMap::new();
        for (m, c) in &self.terms {
            terms.insert(m.clone(), checked(c.checked_mul(k)?)?);
        }
        Some(Poly { terms })
    }
    pub(crate) fn sub(&self, other: &Poly) -> Option<Poly> {
        self.add(&other.scale(-1)?)
    }
    pub(crate) fn add_constant(&self, k: i128) -> Option<Poly> {
        self.add(&Poly::constant(k))
    }
    pub(crate) fn mul(&self, other: &Poly) -> Option<Poly> {
        if self.terms.len() * other.terms.len() > 64 {
            return None;
        }
        let mut out = Poly::default();
        for (m, c) in &self.terms {
            for (n, d) in &other.terms {
                let mut vars = m.clone();
                vars.extend(n);
                vars.sort_unstable();
                if vars.len() > 4 {
                    return None;
                }
                let term = Poly { terms: BTreeMap::from([(vars, checked(c.checked_mul(*d)?)?)]) };
                out = out.add(&term)?;
            }
        }
        Some(out)
    }
    /// Monomials with their coefficients.
    pub(crate) fn terms(&self) -> impl Iterator<Item = (&[Var], i128)> {
        self.terms.iter().map(|(m, c)| (m.as_slice(), *c))
    }
    pub(crate) fn from_terms(items: impl IntoIterator<Item = (Vec<Var>, i128)>) -> Option<Poly> {
        let mut out = Poly::default();
        for (m, c) in items {
            if c != 0 {
                out = out.add(&Poly { terms: BTreeMap::from([(m, c)]) })?;
            }
        }
        Some(out)
    }
    /// The value with `v - 1` in place of `v`. `None` where `v` occurs twice in a product.
    pub(crate) fn one_before(&self, v: Var) -> Option<Poly> {
        let mut out = Poly::default();
        for (m, c) in &self.terms {
            let occurs = m.iter().filter(|x| **x == v).count();
            out = out.add(&Poly { terms: BTreeMap::from([(m.clone(), *c)]) })?;
            match occurs {
                0 => {}
                1 => {
                    let rest: Vec<Var> = m.iter().copied().filter(|x| *x != v).collect();
                    out = out.sub(&Poly { terms: BTreeMap::from([(rest, *c)]) })?;
                }
                _ => return None,
            }
        }
        Some(out)
    }
    /// Whether every monomial has at most one variable.
    pub(crate) fn is_linear(&self) -> bool {
        self.terms.keys().all(|m| m.len() <= 1)
    }
    /// Coefficient of a variable on its own.
    pub(crate) fn coefficient(&self, v: Var) -> i128 {
        self.terms.get(&vec![v]).copied().unwrap_or(0)
    }
    /// All variables that occur.
    pub(crate) fn vars(&self) -> impl Iterator<Item = Var> + '_ {
        self.terms.keys().flatten().copied()
    }
}

/// `poly >= 0` or `poly == 0`, over linear values.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Constraint {
    pub poly: Poly,
    pub equality: bool,
}

impl Constraint {
    pub(crate) fn non_negative(poly: Poly) -> Constraint {
        Constraint { poly, equality: false }
    }
    pub(crate) fn zero(poly: Poly) -> Constraint {
        Constraint { poly, equality: true }
    }
    /// If it has no variable: whether it holds.
    pub(crate) fn decided(&self) -> Option<bool> {
        self.poly.as_constant().map(|c| if self.equality { c == 0 } else { c >= 0 })
    }
}

/// A union of conjunctions; an empty list is "never", a list with an empty conjunction is "always".
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Domain {
    pub pieces: Vec<Vec<Constraint>>,
    /// Whether the set is the real one. Otherwise it holds more than the real one.
    pub exact: bool,
}

const MAX_PIECES: usize = 12;

impl Domain {
    pub(crate) fn always() -> Domain {
        Domain { pieces: vec![Vec::new()], exact: true }
    }
    pub(crate) fn never() -> Domain {
        Domain { pieces: Vec::new(), exact: true }
    }
    pub(crate) fn unknown() -> Domain {
        Domain { pieces: vec![Vec::new()], exact: false }
    }
    pub(crate) fn of(c: Constraint) -> Domain {
        match c.decided() {
            Some(true) => Domain::always(),
            Some(false) => Domain::never(),
            None => Domain { pieces: vec![vec![c]], exact: true },
        }
    }
    pub(crate) fn and(&self, other: &Domain) -> Domain {
        if self.pieces.len() * other.pieces.len() > MAX_PIECES {
            // Keep the side with fewer pieces: the intersection lies inside either.
            let keep = if self.pieces.len() <= other.pieces.len() { self } else { other };
            return Domain { pieces: keep.pieces.clone(), exact: false };
        }
        let mut pieces = Vec::new();
        for a in &self.pieces {
            for b in &other.pieces {
                let mut p = a.clone();
                for c in b {
                    if !p.contains(c) {
                        p.push(c.clone());
                    }
                }
                pieces.push(p);
            }
        }
        Domain { pieces, exact: self.exact && other.exact }
    }
    pub(crate) fn or(&self, other: &Domain) -> Domain {
        let mut pieces = self.pieces.clone();
        for p in &other.pieces {
            if !pieces.contains(p) {
                pieces.push(p.clone());
            }
        }
        if pieces.len() > MAX_PIECES {
            return Domain::unknown();
        }
        Domain { pieces, exact: self.exact && other.exact }
    }
    pub(crate) fn inexact(mut self) -> Domain {
        self.exact = false;
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arithmetic_keeps_no_zero_terms() {
        let (i, n) = (Poly::var(0), Poly::var(1));
        let e = i.mul(&n).unwrap().add(&i).unwrap();
        assert_eq!(e.sub(&e).unwrap(), Poly::default());
        assert!(!e.is_linear());
        assert_eq!(Poly::constant(1 << 99).scale(2), None, "too large is given up, not wrapped");
    }

    #[test]
    fn domains_start_full_and_only_shrink() {
        let c = |v| Domain::of(Constraint::non_negative(Poly::constant(v)));
        assert_eq!(c(1), Domain::always());
        assert_eq!(c(-1), Domain::never());
        assert_eq!(c(1).and(&c(-1)), Domain::never());
        assert_eq!(c(1).or(&c(-1)), Domain::always());
    }
}
