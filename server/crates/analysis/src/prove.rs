//! A small prover for `e >= 0` over a domain: replaces counters by their bounds until parameters alone are left.
//!
//! It only ever makes the value smaller, so reaching a value that is not negative is a proof, and reaching a value in
//! parameters alone is a condition that suffices and that the host can test. Products of a counter with parameters are
//! allowed where those parameters are known not to be negative.

use std::cell::RefCell;

use rustc_hash::FxHashMap;

use crate::value::{Constraint, Domain, Poly, Var};

/// Whether `e >= 0` everywhere in the domain, as far as substituting bounds can tell.
pub(crate) fn non_negative(e: &Poly, domain: &Domain, context: &[Constraint]) -> bool {
    everywhere(e, domain, context, &|piece| is_void(piece, context))
}

fn everywhere(
    e: &Poly,
    domain: &Domain,
    context: &[Constraint],
    void: &dyn Fn(&[Constraint]) -> bool,
) -> bool {
    domain.pieces.iter().all(|piece| {
        let mut fuel = 300u32;
        prove(e, piece, context, 6, &mut fuel) || void(piece)
    })
}

/// The same for many questions in one context: which pieces are void is remembered.
pub(crate) struct Known {
    pub context: Vec<Constraint>,
    voids: RefCell<FxHashMap<Vec<Constraint>, bool>>,
}

impl Known {
    pub(crate) fn new(context: Vec<Constraint>) -> Known {
        Known { context, voids: RefCell::default() }
    }
    fn is_void(&self, piece: &[Constraint]) -> bool {
        if let Some(known) = self.voids.borrow().get(piece) {
            return *known;
        }
        let void = is_void(piece, &self.context);
        self.voids.borrow_mut().insert(piece.to_vec(), void);
        void
    }
    /// See [`non_negative`].
    pub(crate) fn non_negative(&self, e: &Poly, domain: &Domain) -> bool {
        everywhere(e, domain, &self.context, &|piece| self.is_void(piece))
    }
    /// See [`sufficient`].
    pub(crate) fn sufficient(
        &self,
        e: &Poly,
        domain: &Domain,
        is_param: &dyn Fn(Var) -> bool,
    ) -> Option<Vec<Poly>> {
        enough(e, domain, &self.context, is_param, &|piece| self.is_void(piece))
    }
}

/// Values in parameters alone, all of which being non-negative makes `e >= 0` everywhere in the domain. `None`: none found.
pub(crate) fn sufficient(
    e: &Poly,
    domain: &Domain,
    context: &[Constraint],
    is_param: &dyn Fn(Var) -> bool,
) -> Option<Vec<Poly>> {
    enough(e, domain, context, is_param, &|piece| is_void(piece, context))
}

fn enough(
    e: &Poly,
    domain: &Domain,
    context: &[Constraint],
    is_param: &dyn Fn(Var) -> bool,
    void: &dyn Fn(&[Constraint]) -> bool,
) -> Option<Vec<Poly>> {
    let mut out: Vec<Poly> = Vec::new();
    for piece in &domain.pieces {
        let mut fuel = 300u32;
        if void(piece) {
            continue;
        }
        let p = reduce(e, piece, context, is_param, 6, &mut fuel)?;
        if !out.contains(&p) {
            out.push(p);
        }
    }
    Some(out)
}

/// Whether no point satisfies the constraints, as far as this prover can tell: one of them is proved to fail.
fn is_void(piece: &[Constraint], context: &[Constraint]) -> bool {
    piece.iter().any(|c| {
        let mut fuel = 60;
        let fails = c.poly.scale(-1).and_then(|p| p.add_constant(-1));
        fails.is_some_and(|f| prove(&f, piece, context, 5, &mut fuel))
    })
}

fn prove(e: &Poly, piece: &[Constraint], context: &[Constraint], depth: u32, fuel: &mut u32) -> bool {
    if let Some(c) = e.as_constant() {
        return c >= 0;
    }
    if depth == 0 || *fuel == 0 {
        return false;
    }
    *fuel -= 1;
    for c in piece.iter().chain(context) {
        if let Some(less) = steps(e, c, piece, context, depth) {
            if prove(&less, piece, context, depth - 1, fuel) {
                return true;
            }
            if *fuel == 0 {
                return false;
            }
        }
    }
    false
}

fn reduce(
    e: &Poly,
    piece: &[Constraint],
    context: &[Constraint],
    is_param: &dyn Fn(Var) -> bool,
    depth: u32,
    fuel: &mut u32,
) -> Option<Poly> {
    if e.vars().all(is_param) {
        return Some(e.clone());
    }
    if depth == 0 || *fuel == 0 {
        return None;
    }
    *fuel -= 1;
    for c in piece.iter().chain(context) {
        if c.poly.vars().all(is_param) {
            continue;
        }
        if let Some(less) = steps(e, c, piece, context, depth) {
            if let Some(p) = reduce(&less, piece, context, is_param, depth - 1, fuel) {
                return Some(p);
            }
        }
    }
    None
}

/// A smaller value that `c >= 0` (or `c == 0`) gives: `s·e - k·f·c`, where a monomial of `s·e` disappears against a
/// variable of `c`, `f >= 0`, and `s >= 1` is only there to make `k` whole.
fn steps(e: &Poly, c: &Constraint, piece: &[Constraint], context: &[Constraint], depth: u32) -> Option<Poly> {
    for (m, coefficient) in e.terms() {
        for (at, v) in m.iter().enumerate() {
            let in_c = c.poly.coefficient(*v);
            if in_c == 0 || (coefficient.signum() != in_c.signum() && !c.equality) {
                continue;
            }
            let (scale, k) = match in_c.abs() {
                1 => (1, coefficient * in_c),
                a => {
                    let scale = a / gcd(coefficient.abs(), a);
                    (scale, coefficient * scale / in_c)
                }
            };
            if scale > 64 {
                continue;
            }
            if m.len() == 1 && scale == 1 {
                return e.add_scaled(&c.poly, -k);
            }
            let mut rest = m.to_vec();
            rest.remove(at);
            let positive = c.equality
                || rest.iter().all(|&f| {
                    let mut fuel = 20;
                    prove(&Poly::var(f), piece, context, depth.min(3) - 1, &mut fuel)
                });
            if !positive {
                continue;
            }
            let factor = Poly::from_terms([(rest, k)])?;
            return c.poly.mul(&factor).and_then(|p| e.scale(scale)?.sub(&p));
        }
    }
    None
}

fn gcd(a: i128, b: i128) -> i128 {
    if b == 0 {
        a
    } else {
        gcd(b, a % b)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Variables: 0 = i, 1 = n, 2 = m, 3 = j.
    fn p(terms: &[(&[Var], i128)]) -> Poly {
        Poly::from_terms(terms.iter().map(|(m, c)| (m.to_vec(), *c))).unwrap()
    }

    #[test]
    fn bounds_of_counters_are_substituted() {
        // 0 <= i < n, 0 <= j < i
        let piece = vec![
            Constraint::non_negative(p(&[(&[0], 1)])),
            Constraint::non_negative(p(&[(&[1], 1), (&[0], -1), (&[], -1)])),
            Constraint::non_negative(p(&[(&[3], 1)])),
            Constraint::non_negative(p(&[(&[0], 1), (&[3], -1), (&[], -1)])),
        ];
        let d = Domain { pieces: vec![piece], exact: true };
        assert!(non_negative(&p(&[(&[1], 1), (&[3], -1), (&[], -2)]), &d, &[]), "j <= n - 2");
        assert!(
            !non_negative(&p(&[(&[1], 1), (&[3], -1), (&[], -3)]), &d, &[]),
            "j <= n - 3 is false for j = n - 2"
        );
        // m - 1 - i >= 0 is not known, but m >= n suffices.
        let need =
            sufficient(&p(&[(&[2], 1), (&[0], -1), (&[], -1)]), &d, &[], &|v| v == 1 || v == 2).unwrap();
        assert_eq!(need, vec![p(&[(&[2], 1), (&[1], -1)])]);
        // i*n + j < 2^40 with products: 2^40 - i*n - j >= 0.
        let e = p(&[(&[], 1 << 40), (&[0, 1], -1), (&[3], -1)]);
        assert!(sufficient(&e, &d, &[], &|v| v == 1 || v == 2).is_some());
    }
}
