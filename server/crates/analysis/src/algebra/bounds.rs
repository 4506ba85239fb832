//! A small prover for `e >= 0` over a domain: replaces counters by their bounds until parameters alone are left.
//!
//! It only ever makes the value smaller, so reaching a value that is not negative is a proof, and reaching a value in
//! parameters alone is a condition that suffices and that the host can test. Products of a counter with parameters are
//! allowed where those parameters are known not to be negative.
//!
//! A value that is not negative because of the constraints is a sum of them, each times something not negative (Farkas' lemma, for
//! whole constraints as they stand): each of its monomials is in one of these, with the same sign. So one monomial is looked at
//! at a time, that which the fewest constraints have, and where none has it nothing is searched any further.

use std::cell::RefCell;

use base::Budget;
use rustc_hash::FxHashMap;

use crate::algebra::poly::{divide, Constraint, Domain, Poly, Var};
use crate::limits::algebra_bounds::{
    CORNERS, DEPTH, FUEL, FUEL_IN_ANY_ORDER, FUEL_OF_ENDS, FUEL_OF_SIGN, FUEL_OF_VOID, LOOKED, MAX_SCALE,
    SIGNS,
};

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
            let found = all.asked(budget, |fuel| all.reduced(e, is_param, fuel), FUEL_OF_ENDS)?;
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
    /// How deep it is looked whether a factor is negative.
    signs: u32,
    /// Constraints looked at so far.
    looked: u64,
    /// Values from which no number was reached, with how far was looked: bounds can be put in in any order, and lead to the same.
    failed: FxHashMap<Poly, u32>,
}

impl Fuel {
    fn new(values: u32, looked: u64) -> Fuel {
        Fuel { values, signs: SIGNS, looked, failed: FxHashMap::default() }
    }

    /// Whether a value leads nowhere in so many steps, as far as is known.
    fn is_hopeless(&self, e: &Poly, depth: u32) -> bool {
        self.failed.get(e).is_some_and(|&known| known >= depth)
    }
}

/// A constraint, with the variables that it names (by their numbers modulo 64): most name none of those that a value has.
#[derive(Clone, Copy)]
struct Held<'c> {
    names: u64,
    /// Those that it has outside of products: for one of them a bound can be put.
    alone: u64,
    of: &'c Constraint,
}

impl<'c> Held<'c> {
    fn new(of: &'c Constraint) -> Held<'c> {
        let alone = of.poly.terms().filter(|(m, _)| m.len() == 1).fold(0, |all, (m, _)| all | bit(m[0]));
        Held { names: names(&of.poly), alone, of }
    }
}

/// The next smaller value, while there is one.
type Next<'a> = Box<dyn FnMut(&mut Fuel) -> Option<Poly> + 'a>;

/// How smaller values are looked for.
#[derive(Clone, Copy)]
enum Way {
    /// Without the monomial that the fewest constraints can take away.
    OneMonomial,
    /// By any constraint that has a variable of it.
    AnyOrder,
}

/// All that holds in one piece of a domain.
struct All<'c> {
    constraints: Vec<Held<'c>>,
    /// Whether a variable is not negative, by how far was looked.
    signs: RefCell<FxHashMap<(Var, u32), bool>>,
}

fn bit(v: Var) -> u64 {
    1 << (v % 64)
}

fn names(p: &Poly) -> u64 {
    p.vars().fold(0, |names, v| names | bit(v))
}

impl<'c> All<'c> {
    fn new(piece: &'c [Constraint], context: &'c [Constraint]) -> All<'c> {
        let constraints = piece.iter().chain(context).map(Held::new).collect();
        All { constraints, signs: RefCell::default() }
    }

    /// The answer to one question, paid for; the least one where no steps are left.
    fn asked<T: Default>(&self, budget: &Budget, ask: impl FnOnce(&mut Fuel) -> T, values: u32) -> T {
        if budget.left() == 0 || budget.is_cancelled() {
            return T::default();
        }
        let mut fuel = Fuel::new(values, self.constraints.len() as u64);
        let answer = ask(&mut fuel);
        // what was found with the last steps is found
        let _ = budget.spend(1 + fuel.looked / LOOKED);
        answer
    }

    /// Whether no point satisfies the constraints of the piece, as far as this prover can tell: one of them is proved to fail.
    fn is_void(&self, piece: &[Constraint], budget: &Budget) -> bool {
        piece.iter().any(|c| {
            let fails = c.poly.scale(-1).and_then(|p| p.add_constant(-1));
            fails.is_some_and(|f| self.asked(budget, |fuel| self.prove(&f, DEPTH - 1, fuel), FUEL_OF_VOID))
        })
    }

    /// Whether `e >= 0` follows: one monomial at a time, else in a few steps in any order, as where a product is taken away by a multiple
    /// of what only another monomial brings in.
    fn shows(&self, e: &Poly, budget: &Budget) -> bool {
        self.asked(budget, |fuel| self.prove(e, DEPTH, fuel), FUEL)
            || self.asked(budget, |fuel| self.leads_to_one(e, DEPTH, Way::AnyOrder, fuel), FUEL_IN_ANY_ORDER)
    }

    fn prove(&self, e: &Poly, depth: u32, fuel: &mut Fuel) -> bool {
        self.leads_to_one(e, depth, Way::OneMonomial, fuel)
    }

    /// Whether smaller and smaller values lead to a number that is not negative.
    fn leads_to_one(&self, e: &Poly, depth: u32, way: Way, fuel: &mut Fuel) -> bool {
        if let Some(c) = e.as_constant() {
            return c >= 0;
        }
        if depth == 0 || fuel.values == 0 || fuel.is_hopeless(e, depth) {
            return false;
        }
        fuel.values -= 1;
        let mut next: Next<'_> = match way {
            Way::OneMonomial => {
                if self.is_sum_of_positive(e, fuel) {
                    return true;
                }
                let mut all = self.without_a_monomial(e, fuel).into_iter();
                Box::new(move |_| all.next())
            }
            Way::AnyOrder => {
                let named = names(e);
                // what names the same may leave a number at once; the others lead away from it first
                let near = || self.constraints.iter().filter(move |c| c.alone & named != 0);
                let same = near().filter(move |c| c.names == named);
                let mut all = same.chain(near().filter(move |c| c.names != named));
                Box::new(move |fuel| all.find_map(|c| self.steps(e, c, &|_| true, fuel)))
            }
        };
        while let Some(less) = next(fuel) {
            if self.leads_to_one(&less, depth - 1, way, fuel) {
                return true;
            }
            if fuel.values == 0 {
                return false;
            }
        }
        fuel.failed.insert(e.clone(), depth);
        false
    }

    fn is_sum_of_positive(&self, e: &Poly, fuel: &mut Fuel) -> bool {
        e.terms().all(|(_, c)| c > 0) && e.terms().all(|(m, _)| m.iter().all(|&v| self.is_positive(v, fuel)))
    }

    /// Smaller values without that monomial of a value which the fewest constraints can take away: the simplest first.
    fn without_a_monomial(&self, e: &Poly, fuel: &mut Fuel) -> Vec<Poly> {
        let named = names(e);
        let near: Vec<&Held<'_>> = self.constraints.iter().filter(|c| c.names & named != 0).collect();
        let mut best: Option<Vec<Poly>> = None;
        for (m, coefficient) in e.terms().filter(|(m, _)| !m.is_empty()) {
            let mut found = Vec::new();
            for held in &near {
                fuel.looked += 1;
                for (of, in_c) in held.of.poly.terms() {
                    if coefficient.signum() == in_c.signum() || held.of.equality {
                        found.extend(self.less(e, (m, coefficient), held.of, (of, in_c), fuel));
                    }
                }
            }
            if best.as_ref().is_none_or(|b| b.len() > found.len()) {
                let none = found.is_empty();
                best = Some(found);
                if none {
                    break;
                }
            }
        }
        let mut best = best.unwrap_or_default();
        best.sort_by_key(|p| p.vars().count());
        best
    }

    /// `s·e - k·f·c` without the monomial, where `c` has a part of it, `f >= 0` is the rest, and `s >= 1` only makes `k` whole.
    fn less(
        &self,
        e: &Poly,
        (m, coefficient): (&[Var], i128),
        c: &Constraint,
        (of, in_c): (&[Var], i128),
        fuel: &mut Fuel,
    ) -> Option<Poly> {
        let scale = in_c.abs() / base::gcd(coefficient.abs(), in_c.abs());
        if scale > MAX_SCALE {
            return None;
        }
        let rest = divide(m, of)?;
        let times = Poly::from_terms([(rest.clone(), coefficient * scale / in_c)])?;
        let less = e.scale(scale)?.sub(&c.poly.mul(&times)?)?;
        // its constant takes one away only together with another
        let fits = !of.is_empty() || less.terms().count() < e.terms().count();
        let is_less = c.equality || rest.iter().all(|&f| self.is_positive(f, fuel));
        (fits && is_less).then_some(less)
    }

    /// Whether a variable is proved not to be negative.
    fn is_positive(&self, v: Var, fuel: &mut Fuel) -> bool {
        let key = (v, fuel.signs);
        if fuel.signs == 0 {
            return false;
        }
        if let Some(known) = self.signs.borrow().get(&key) {
            return *known;
        }
        let mut few = Fuel { signs: fuel.signs - 1, ..Fuel::new(FUEL_OF_SIGN, 0) };
        let positive = self.prove(&Poly::var(v), fuel.signs, &mut few);
        fuel.looked += few.looked;
        self.signs.borrow_mut().insert(key, positive);
        positive
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
                let mut bounds =
                    self.constraints.iter().map(|c| c.of).filter(|c| !c.equality).map(|c| &c.poly);
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
        for c in self.constraints.iter().filter(|c| c.alone & named != 0) {
            if c.of.poly.vars().all(is_param) {
                continue;
            }
            if let Some(less) = self.steps(e, c, may, fuel) {
                if let Some(p) = self.replaced(&less, is_param, may, depth - 1, fuel) {
                    return Some(p);
                }
            }
        }
        None
    }

    /// A smaller value that `c >= 0` (or `c == 0`) gives: `s·e - k·f·c`, where a monomial of `s·e` disappears against a
    /// variable of `c` that it `may`, `f >= 0`, and `s >= 1` is only there to make `k` whole.
    fn steps(&self, e: &Poly, held: &Held<'_>, may: &dyn Fn(Var) -> bool, fuel: &mut Fuel) -> Option<Poly> {
        fuel.looked += 1;
        let c = held.of;
        for (m, coefficient) in e.terms() {
            for (at, v) in m.iter().enumerate().filter(|(_, v)| held.alone & bit(**v) != 0 && may(**v)) {
                let in_c = c.poly.coefficient(*v);
                if in_c == 0 || (coefficient.signum() != in_c.signum() && !c.equality) {
                    continue;
                }
                let scale = match in_c.abs() {
                    1 => 1,
                    a => a / base::gcd(coefficient.abs(), a),
                };
                if scale > MAX_SCALE {
                    continue;
                }
                let k = coefficient * scale / in_c;
                if m.len() == 1 && scale == 1 {
                    return e.add_scaled(&c.poly, -k);
                }
                let mut rest = m.to_vec();
                rest.remove(at);
                let positive = c.equality || rest.iter().all(|&f| self.is_positive(f, fuel));
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

    /// A cell of a cube, `(k*n + j)*n + i` with its neighbours: what a monomial adds is taken away by a multiple of a constraint, or
    /// of its constant.
    #[test]
    fn products_of_products() {
        // 0 = k, 1 = n, 2 = j, 3 = i, all but n in 1 .. n - 2
        let mut piece: Vec<Constraint> = Vec::new();
        for v in [0, 2, 3] {
            piece.push(Constraint::non_negative(p(&[(&[v], 1), (&[], -1)])));
            piece.push(Constraint::non_negative(p(&[(&[1], 1), (&[v], -1), (&[], -2)])));
        }
        let d = Domain { pieces: vec![piece], exact: true };
        let holds = |e: &Poly| non_negative(e, &d, &[], &Budget::new(1000));
        // ((k - 1)*n + j)*n + i
        assert!(holds(&p(&[(&[0, 1, 1], 1), (&[1, 1], -1), (&[2, 1], 1), (&[3], 1)])));
        // (k*n + j - 1)*n + i - 1, and not with one less
        assert!(holds(&p(&[(&[0, 1, 1], 1), (&[2, 1], 1), (&[1], -1), (&[3], 1), (&[], -1)])));
        assert!(!holds(&p(&[(&[2, 1], 1), (&[1], -1), (&[3], 1), (&[], -2)])));
        // j*m - m + i with `l <= j` and `1 <= l`
        let rows = |l: i128| {
            let above = |v, w: &[Var], c| Constraint::non_negative(p(&[(&[v], 1), (w, c)]));
            let piece = vec![above(2, &[4], -1), above(4, &[], -l), above(3, &[], 0), above(5, &[], 0)];
            let d = Domain { pieces: vec![piece], exact: true };
            non_negative(&p(&[(&[2, 5], 1), (&[5], -1), (&[3], 1)]), &d, &[], &Budget::new(1000))
        };
        assert!(rows(1) && !rows(0));
        // below n*n*n: n^3 - 1 - ((k + 1)*n + j)*n - i
        let last =
            p(&[(&[1, 1, 1], 1), (&[0, 1, 1], -1), (&[1, 1], -1), (&[2, 1], -1), (&[3], -1), (&[], -1)]);
        assert!(holds(&last));
        // and not two planes on
        assert!(!holds(&last.sub(&p(&[(&[1, 1], 1)])).unwrap()));
    }
}
