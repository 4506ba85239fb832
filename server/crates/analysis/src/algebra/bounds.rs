//! A small prover for `e >= 0` over a domain: replaces counters by their bounds until parameters alone are left.
//!
//! It only ever makes the value smaller, so reaching a value that is not negative is a proof, and reaching a value in
//! parameters alone is a condition that suffices and that the host can test. Products of a counter with parameters are
//! allowed where those parameters are known not to be negative.

use std::cell::RefCell;

use base::Budget;
use rustc_hash::FxHashMap;

use crate::algebra::poly::{Constraint, Domain, Poly, Var};
use crate::limits::algebra_bounds::{CORNERS, DEPTH, FUEL, FUEL_OF_VOID, LOOKED, SHORT};

/// Whether `e >= 0` everywhere in the domain, as far as substituting bounds can tell. Without steps left: not.
pub(crate) fn non_negative(e: &Poly, domain: &Domain, context: &[Constraint], budget: &Budget) -> bool {
    domain.pieces.iter().all(|piece| {
        let all = All::new(piece, context);
        all.shows(e, budget) || all.is_void(piece, budget)
    })
}

type Pieces = FxHashMap<Vec<Constraint>, (u32, Option<bool>)>;

/// The same for many questions in one context: what was answered for a piece is remembered.
pub(crate) struct Known {
    pub context: Vec<Constraint>,
    /// Pieces by number, with whether they are void, where that was asked.
    pieces: RefCell<Pieces>,
    proved: RefCell<FxHashMap<(Poly, u32), bool>>,
}

impl Known {
    pub(crate) fn new(context: Vec<Constraint>) -> Known {
        Known { context, pieces: RefCell::default(), proved: RefCell::default() }
    }

    fn number(&self, piece: &[Constraint]) -> u32 {
        let mut pieces = self.pieces.borrow_mut();
        if let Some((n, _)) = pieces.get(piece) {
            return *n;
        }
        let n = pieces.len() as u32;
        pieces.insert(piece.to_vec(), (n, None));
        n
    }

    fn is_void(&self, all: &All<'_>, piece: &[Constraint], budget: &Budget) -> bool {
        if let Some((_, Some(known))) = self.pieces.borrow().get(piece) {
            return *known;
        }
        let void = all.is_void(piece, budget);
        if let Some(entry) = self.pieces.borrow_mut().get_mut(piece) {
            entry.1 = Some(void);
        }
        void
    }

    /// See [`non_negative`].
    pub(crate) fn non_negative(&self, e: &Poly, domain: &Domain, budget: &Budget) -> bool {
        domain.pieces.iter().all(|piece| {
            let key = (e.clone(), self.number(piece));
            if let Some(known) = self.proved.borrow().get(&key) {
                return *known;
            }
            let all = All::new(piece, &self.context);
            let proved = all.shows(e, budget) || self.is_void(&all, piece, budget);
            self.proved.borrow_mut().insert(key, proved);
            proved
        })
    }

    /// Values in parameters alone, all of which being non-negative makes `e >= 0` everywhere in the domain. `None`: none found.
    pub(crate) fn sufficient(
        &self,
        e: &Poly,
        domain: &Domain,
        is_param: &dyn Fn(Var) -> bool,
        budget: &Budget,
    ) -> Option<Vec<Poly>> {
        let mut out: Vec<Poly> = Vec::new();
        for piece in &domain.pieces {
            self.number(piece);
            let all = All::new(piece, &self.context);
            if self.is_void(&all, piece, budget) {
                continue;
            }
            let found = all.asked(budget, |fuel| all.reduced(e, is_param, fuel), FUEL)?;
            for p in found {
                if !out.contains(&p) {
                    out.push(p);
                }
            }
        }
        Some(out)
    }
}

/// What is left of one question's work.
struct Fuel {
    values: u32,
    /// Constraints looked at so far.
    looked: u64,
}

/// All that holds in one piece of a domain, each with the variables that it names (by their numbers modulo 64): most name
/// none of those that a value has.
struct All<'c>(Vec<(u64, &'c Constraint)>);

fn names(p: &Poly) -> u64 {
    p.vars().fold(0, |names, v| names | 1 << (v % 64))
}

impl<'c> All<'c> {
    fn new(piece: &'c [Constraint], context: &'c [Constraint]) -> All<'c> {
        All(piece.iter().chain(context).map(|c| (names(&c.poly), c)).collect())
    }

    /// The answer to one question, paid for; the least one where no steps are left.
    fn asked<T: Default>(&self, budget: &Budget, ask: impl FnOnce(&mut Fuel) -> T, values: u32) -> T {
        if budget.left() == 0 || budget.is_cancelled() {
            return T::default();
        }
        let mut fuel = Fuel { values, looked: self.0.len() as u64 };
        let answer = ask(&mut fuel);
        // what was found with the last steps is found
        let _ = budget.spend(1 + fuel.looked / LOOKED);
        answer
    }

    /// Whether `e >= 0` follows. Among products there are many ways that lead on: short proofs are looked for by themselves.
    fn shows(&self, e: &Poly, budget: &Budget) -> bool {
        let proved = |depth: u32| self.asked(budget, |fuel| self.prove(e, depth, fuel), FUEL);
        proved(DEPTH) || self.0.iter().any(|(_, c)| !c.poly.is_linear()) && proved(SHORT)
    }

    /// Whether no point satisfies the constraints of the piece, as far as this prover can tell: one of them is proved to fail.
    fn is_void(&self, piece: &[Constraint], budget: &Budget) -> bool {
        piece.iter().any(|c| {
            let fails = c.poly.scale(-1).and_then(|p| p.add_constant(-1));
            fails.is_some_and(|f| self.asked(budget, |fuel| self.prove(&f, DEPTH - 1, fuel), FUEL_OF_VOID))
        })
    }

    fn prove(&self, e: &Poly, depth: u32, fuel: &mut Fuel) -> bool {
        if let Some(c) = e.as_constant() {
            return c >= 0;
        }
        if depth == 0 || fuel.values == 0 {
            return false;
        }
        fuel.values -= 1;
        let named = names(e);
        // what names the same may leave a number at once; the others lead away from it first
        let same = self.0.iter().filter(|(names, _)| *names == named);
        let others = self.0.iter().filter(|(names, _)| names & named != 0 && *names != named);
        for (_, c) in same.chain(others) {
            if let Some(less) = self.steps(e, c, &|_| true, depth, fuel) {
                if self.prove(&less, depth - 1, fuel) {
                    return true;
                }
                if fuel.values == 0 {
                    return false;
                }
            }
        }
        false
    }

    /// Values in parameters, one of which the value is not less than.
    fn reduced(&self, e: &Poly, is_param: &dyn Fn(Var) -> bool, fuel: &mut Fuel) -> Option<Vec<Poly>> {
        let mut out = Vec::new();
        let mut open = vec![(e.clone(), CORNERS)];
        while let Some((e, left)) = open.pop() {
            if let Some(p) = self.reduce(&e, is_param, DEPTH, fuel) {
                // of several ends what holds anyway is no test
                if left == CORNERS || !self.prove(&p, 2, fuel) {
                    out.push(p);
                }
                continue;
            }
            // where the sign of what a counter is multiplied by is not known: the value is least at one of its ends
            let ends = (left > 0).then(|| self.ends(&e, is_param))??;
            open.extend(ends.map(|e| (e, left - 1)));
        }
        Some(out)
    }

    /// The value at both ends of a counter in which it is linear.
    fn ends(&self, e: &Poly, is_param: &dyn Fn(Var) -> bool) -> Option<[Poly; 2]> {
        e.vars().filter(|&v| !is_param(v)).find_map(|v| {
            let once = e.terms().all(|(m, _)| m.iter().filter(|&&x| x == v).count() <= 1);
            let end = |sign: i128| {
                let mut bounds = self.0.iter().filter(|(_, c)| !c.equality).map(|(_, c)| &c.poly);
                bounds.find_map(|c| {
                    // `sign * v + rest >= 0`, where the rest has no `v`
                    let fits = c.coefficient(v) == sign;
                    let rest = c.sub(&Poly::var(v).scale(sign)?)?;
                    let end = rest.scale(-sign)?;
                    (fits && rest.vars().all(|x| x != v)).then_some(end)
                })
            };
            let (first, last) = (end(1)?, end(-1)?);
            let at = |end: &Poly| e.replaced(v, end);
            Some([at(&first)?, at(&last)?]).filter(|_| once)
        })
    }

    /// Something in parameters that the value is not less than. Counters are replaced by their bounds; parameters only where that
    /// alone does not do: `n >= i + 1` says less of `n` than `n` does.
    fn reduce(&self, e: &Poly, is_param: &dyn Fn(Var) -> bool, depth: u32, fuel: &mut Fuel) -> Option<Poly> {
        let counters = self.replaced(e, is_param, &|v| !is_param(v), depth, fuel);
        counters.or_else(|| self.replaced(e, is_param, &|_| true, depth, fuel))
    }

    fn replaced(
        &self,
        e: &Poly,
        is_param: &dyn Fn(Var) -> bool,
        may: &dyn Fn(Var) -> bool,
        depth: u32,
        fuel: &mut Fuel,
    ) -> Option<Poly> {
        if e.vars().all(is_param) {
            return Some(e.clone());
        }
        if depth == 0 || fuel.values == 0 {
            return None;
        }
        fuel.values -= 1;
        let named = names(e);
        for (_, c) in self.0.iter().filter(|(names, _)| names & named != 0) {
            if c.poly.vars().all(is_param) {
                continue;
            }
            if let Some(less) = self.steps(e, c, may, depth, fuel) {
                if let Some(p) = self.replaced(&less, is_param, may, depth - 1, fuel) {
                    return Some(p);
                }
            }
        }
        None
    }

    /// A smaller value that `c >= 0` (or `c == 0`) gives: `s·e - k·f·c`, where a monomial of `s·e` disappears against a
    /// variable of `c` that it `may`, `f >= 0`, and `s >= 1` is only there to make `k` whole.
    fn steps(
        &self,
        e: &Poly,
        c: &Constraint,
        may: &dyn Fn(Var) -> bool,
        depth: u32,
        fuel: &mut Fuel,
    ) -> Option<Poly> {
        fuel.looked += 1;
        for (m, coefficient) in e.terms() {
            for (at, v) in m.iter().enumerate().filter(|(_, v)| may(**v)) {
                let in_c = c.poly.coefficient(*v);
                if in_c == 0 || (coefficient.signum() != in_c.signum() && !c.equality) {
                    continue;
                }
                let scale = match in_c.abs() {
                    1 => 1,
                    a => a / base::gcd(coefficient.abs(), a),
                };
                if scale > 64 {
                    continue;
                }
                let k = coefficient * scale / in_c;
                if m.len() == 1 && scale == 1 {
                    return e.add_scaled(&c.poly, -k);
                }
                let mut rest = m.to_vec();
                rest.remove(at);
                let positive = c.equality
                    || rest.iter().all(|&f| {
                        let mut few = Fuel { values: 20, looked: 0 };
                        let positive = self.prove(&Poly::var(f), depth.min(3) - 1, &mut few);
                        fuel.looked += few.looked;
                        positive
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
        let known = Known::new(Vec::new());
        let holds = |e: &Poly, budget: &Budget| {
            let plain = non_negative(e, &d, &[], budget);
            assert_eq!(
                known.non_negative(e, &d, &Budget::new(1000)),
                non_negative(e, &d, &[], &Budget::new(1000))
            );
            plain
        };
        let budget = Budget::new(1000);
        let true_one = p(&[(&[1], 1), (&[3], -1), (&[], -2)]);
        assert!(holds(&true_one, &budget), "j <= n - 2");
        assert!(budget.taken() > 0 && budget.left() > 0, "{}", budget.taken());
        assert!(
            !holds(&p(&[(&[1], 1), (&[3], -1), (&[], -3)]), &budget),
            "j <= n - 3 is false for j = n - 2"
        );
        assert!(!holds(&true_one, &Budget::new(0)), "nothing is proved without steps");
        // m - 1 - i >= 0 is not known, but m >= n suffices.
        let is_param = |v| v == 1 || v == 2;
        let need = known.sufficient(&p(&[(&[2], 1), (&[0], -1), (&[], -1)]), &d, &is_param, &budget).unwrap();
        assert_eq!(need, vec![p(&[(&[2], 1), (&[1], -1)])]);
        // what i < n says of n is no better than n: m + n - 1 - j >= 0, where j <= n - 2, asks m + 1 >= 0
        let need =
            known.sufficient(&p(&[(&[2], 1), (&[1], 1), (&[3], -1), (&[], -1)]), &d, &is_param, &budget);
        assert_eq!(need.unwrap(), vec![p(&[(&[2], 1), (&[], 1)])]);
        // i*n + j < 2^40 with products: 2^40 - i*n - j >= 0.
        let e = p(&[(&[], 1 << 40), (&[0, 1], -1), (&[3], -1)]);
        assert!(known.sufficient(&e, &d, &is_param, &budget).is_some());
    }
}
