//! Integer values as polynomials over a nest's variables, with checked coefficients.
//!
//! Linear values are what the tests work on; products are kept because a product of two fixed values is itself fixed,
//! and because `i*n + j` is two-dimensional once `0 <= j < n` is known.

use crate::limits::algebra_poly::{LIMIT, MAX_FACTORS, MAX_PIECES};
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

/// A product of variables, sorted; the empty one is the constant's. Unused places are 0, so that equal products are
/// equal bytes; ordered as lists are.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
struct Monomial {
    len: u8,
    vars: [Var; MAX_FACTORS],
}

impl Monomial {
    /// `vars` must be sorted.
    fn of(vars: &[Var]) -> Option<Monomial> {
        let mut m = Monomial { len: vars.len() as u8, vars: [0; MAX_FACTORS] };
        m.vars.get_mut(..vars.len())?.copy_from_slice(vars);
        Some(m)
    }
    fn slice(&self) -> &[Var] {
        &self.vars[..usize::from(self.len)]
    }
    fn mul(&self, other: &Monomial) -> Option<Monomial> {
        let mut m = *self;
        for v in other.slice() {
            *m.vars.get_mut(usize::from(m.len))? = *v;
            m.len += 1;
        }
        m.vars[..usize::from(m.len)].sort_unstable();
        Some(m)
    }
}

/// `Σ coefficient · Π variables`; the empty product is the constant. Zero coefficients are not stored.
///
/// The prover makes and drops very many of these: the terms are one sorted list.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) struct Poly {
    terms: Vec<(Monomial, i128)>,
}

fn checked(v: i128) -> Option<i128> {
    (-LIMIT < v && v < LIMIT).then_some(v)
}

impl Poly {
    pub(crate) fn constant(v: i128) -> Poly {
        Poly { terms: if v == 0 { Vec::new() } else { vec![(Monomial::default(), v)] } }
    }
    pub(crate) fn var(v: Var) -> Poly {
        Poly { terms: vec![(Monomial { len: 1, vars: [v, 0, 0, 0] }, 1)] }
    }
    /// The variable that it is.
    pub(crate) fn as_var(&self) -> Option<Var> {
        match &self.terms[..] {
            [(m, 1)] => match m.slice() {
                [v] => Some(*v),
                _ => None,
            },
            _ => None,
        }
    }
    pub(crate) fn as_constant(&self) -> Option<i128> {
        match self.terms.as_slice() {
            [] => Some(0),
            [(m, c)] if m.len == 0 => Some(*c),
            _ => None,
        }
    }
    pub(crate) fn constant_part(&self) -> i128 {
        // The empty product sorts first.
        self.terms.first().filter(|(m, _)| m.len == 0).map_or(0, |t| t.1)
    }
    pub(crate) fn add(&self, other: &Poly) -> Option<Poly> {
        self.add_scaled(other, 1)
    }
    /// `self + k·other`
    pub(crate) fn add_scaled(&self, other: &Poly, k: i128) -> Option<Poly> {
        let mut terms = Vec::with_capacity(self.terms.len() + other.terms.len());
        let (mut a, mut b) = (self.terms.as_slice(), other.terms.as_slice());
        loop {
            match (a, b) {
                ([x, rest @ ..], [y, ..]) if x.0.slice() < y.0.slice() => {
                    terms.push(*x);
                    a = rest;
                }
                ([x, after_a @ ..], [y, after_b @ ..]) if x.0 == y.0 => {
                    let c = checked(x.1 + checked(y.1.checked_mul(k)?)?)?;
                    if c != 0 {
                        terms.push((x.0, c));
                    }
                    (a, b) = (after_a, after_b);
                }
                (_, [y, rest @ ..]) => {
                    terms.push((y.0, checked(y.1.checked_mul(k)?)?));
                    b = rest;
                }
                (rest, []) => {
                    terms.extend_from_slice(rest);
                    return Some(Poly { terms });
                }
            }
        }
    }
    pub(crate) fn scale(&self, k: i128) -> Option<Poly> {
        if k == 0 {
            return Some(Poly::default());
        }
        let mut terms = self.terms.clone();
        for (_, c) in &mut terms {
            *c = checked(c.checked_mul(k)?)?;
        }
        Some(Poly { terms })
    }
    pub(crate) fn sub(&self, other: &Poly) -> Option<Poly> {
        self.add_scaled(other, -1)
    }
    pub(crate) fn add_constant(&self, k: i128) -> Option<Poly> {
        let mut out = self.clone();
        match out.terms.first_mut().filter(|(m, _)| m.len == 0) {
            Some((_, c)) => {
                *c = checked(*c + checked(k)?)?;
                if *c == 0 {
                    out.terms.remove(0);
                }
            }
            None if k != 0 => out.terms.insert(0, (Monomial::default(), checked(k)?)),
            None => {}
        }
        Some(out)
    }
    pub(crate) fn mul(&self, other: &Poly) -> Option<Poly> {
        if self.terms.len() * other.terms.len() > 64 {
            return None;
        }
        let mut all = Vec::with_capacity(self.terms.len() * other.terms.len());
        for (m, c) in &self.terms {
            for (n, d) in &other.terms {
                all.push((m.mul(n)?, checked(c.checked_mul(*d)?)?));
            }
        }
        Poly::sum(all)
    }
    /// The sum of terms in any order.
    fn sum(mut all: Vec<(Monomial, i128)>) -> Option<Poly> {
        all.sort_by(|a, b| a.0.slice().cmp(b.0.slice()));
        let mut terms: Vec<(Monomial, i128)> = Vec::with_capacity(all.len());
        for (m, c) in all {
            match terms.last_mut().filter(|t| t.0 == m) {
                Some(t) => t.1 = checked(t.1 + c)?,
                None => terms.push((m, c)),
            }
        }
        terms.retain(|t| t.1 != 0);
        Some(Poly { terms })
    }
    /// Monomials with their coefficients.
    pub(crate) fn terms(&self) -> impl Iterator<Item = (&[Var], i128)> {
        self.terms.iter().map(|(m, c)| (m.slice(), *c))
    }
    pub(crate) fn from_terms(items: impl IntoIterator<Item = (Vec<Var>, i128)>) -> Option<Poly> {
        let mut all = Vec::new();
        for (mut vars, c) in items {
            vars.sort_unstable();
            if c != 0 {
                all.push((Monomial::of(&vars)?, checked(c)?));
            }
        }
        Poly::sum(all)
    }
    /// The value with `v - 1` in place of `v`. `None` where `v` occurs twice in a product.
    pub(crate) fn one_before(&self, v: Var) -> Option<Poly> {
        let mut all = self.terms.clone();
        for (m, c) in &self.terms {
            match m.slice().iter().filter(|x| **x == v).count() {
                0 => {}
                1 => {
                    let rest: Vec<Var> = m.slice().iter().copied().filter(|x| *x != v).collect();
                    all.push((Monomial::of(&rest)?, -c));
                }
                _ => return None,
            }
        }
        Poly::sum(all)
    }
    /// With `by` in the place of `v`; `None` where numbers get too large.
    pub(crate) fn replaced(&self, v: Var, by: &Poly) -> Option<Poly> {
        let mut out = Poly::default();
        for (m, c) in self.terms() {
            let (these, rest): (Vec<Var>, Vec<Var>) = m.iter().copied().partition(|&x| x == v);
            let mut term = Poly::from_terms([(rest, c)])?;
            for _ in these {
                term = term.mul(by)?;
            }
            out = out.add(&term)?;
        }
        Some(out)
    }

    /// Whether every monomial has at most one variable.
    pub(crate) fn is_linear(&self) -> bool {
        self.terms.iter().all(|(m, _)| m.len <= 1)
    }
    /// Coefficient of a variable on its own.
    pub(crate) fn coefficient(&self, v: Var) -> i128 {
        self.terms.iter().find(|(m, _)| m.len == 1 && m.vars[0] == v).map_or(0, |t| t.1)
    }
    /// All variables that occur.
    pub(crate) fn vars(&self) -> impl Iterator<Item = Var> + '_ {
        self.terms.iter().flat_map(|(m, _)| m.slice()).copied()
    }
}

/// A product divided by another; `None` where it lacks a factor.
pub(crate) fn divide(m: &[Var], factors: &[Var]) -> Option<Vec<Var>> {
    let mut rest = m.to_vec();
    for f in factors {
        let at = rest.iter().position(|v| v == f)?;
        rest.remove(at);
    }
    Some(rest)
}

/// `poly >= 0` or `poly == 0`, over linear values.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Constraint {
    pub poly: Poly,
    pub equality: bool,
}

impl Constraint {
    /// As tight as whole numbers let it be: `2 n - 1 >= 0` says that `2 n - 2 >= 0`.
    pub(crate) fn non_negative(poly: Poly) -> Constraint {
        let factors = poly.terms().filter(|(m, _)| !m.is_empty()).map(|(_, c)| c.abs());
        let common = factors.fold(0, base::gcd);
        let over = if common > 1 { poly.constant_part().rem_euclid(common) } else { 0 };
        let poly = if over > 0 { poly.add_constant(-over).unwrap_or(poly) } else { poly };
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
        assert_eq!(
            Poly::constant(i128::MIN / 2).scale(2),
            None,
            "nor is the one number without a positive one"
        );
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
