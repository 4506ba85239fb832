//! Bit operations and division by fixed values, as far as they are arithmetic.

use term::{BinOp, IntKind};

use crate::algebra::poly::{Constraint, Domain, Poly, VarKind};
use crate::nest::builder::Builder;
use crate::nest::pieces::Pieces;

impl Builder<'_> {
    /// `&`, `|`, `^` of two values. Masks of low bits, single bits and their complements are remainders and quotients by
    /// powers of two: with two's complement and rounding towards minus infinity this holds for negative values too
    /// (Warren, Hacker's Delight, 2-1 and 10-1).
    pub(super) fn bitwise(
        &mut self,
        op: BinOp,
        a: &Poly,
        b: &Poly,
        kind: IntKind,
        when: &Domain,
    ) -> Option<Poly> {
        if let (Some(x), Some(y)) = (a.as_constant(), b.as_constant()) {
            return Some(Poly::constant(kind.wrap(match op {
                BinOp::BitAnd => x & y,
                BinOp::BitOr => x | y,
                _ => x ^ y,
            })));
        }
        let (value, mask) = match (a.as_constant(), b.as_constant()) {
            (Some(c), None) => (b, Some(c)),
            (None, Some(c)) => (a, Some(c)),
            _ => (a, None),
        };
        if let Some(c) = mask {
            let value = self.linear(value)?;
            if value.vars().any(|v| *self.vars.kind(v) == VarKind::Fresh) || self.vars.is_loaded(&value) {
                return None;
            }
            if let Some(p) = self.masked(op, &value, c, kind) {
                return Some(p);
            }
        }
        if op == BinOp::BitXor {
            return self.xor_image(a, b, kind, when);
        }
        None
    }

    fn masked(&mut self, op: BinOp, x: &Poly, c: i128, kind: IntKind) -> Option<Poly> {
        // The mask with the sign it has as a signed number: of an unsigned type, ~7 is MAX - 7.
        let signed = if !kind.signed() && c > kind.max() / 2 { c - kind.max() - 1 } else { c };
        let power = |v: i128| v > 0 && v & (v - 1) == 0 && v < 1 << 62;
        let and = if signed == 0 {
            Poly::default()
        } else if signed == -1 {
            x.clone()
        } else if power(signed + 1) {
            // The low bits: x mod 2^m.
            self.floor(x, signed + 1)?.1
        } else if power(-signed) {
            // All but the low bits.
            x.sub(&self.floor(x, -signed)?.1)?
        } else if power(signed) {
            // One bit: 2^m * (floor(x / 2^m) mod 2).
            let high = self.floor(x, signed)?.0.sub(&self.floor(x, 2 * signed)?.0.scale(2)?)?;
            high.scale(signed)?
        } else {
            return None;
        };
        let c = if kind.signed() { signed } else { c };
        match op {
            BinOp::BitAnd => Some(and),
            // x | c = x + c - (x & c), x ^ c = x + c - 2 (x & c)
            BinOp::BitOr => x.add_constant(c)?.sub(&and),
            _ => x.add_constant(c)?.sub(&and.scale(2)?),
        }
    }

    /// `x ^ k` with fixed k is a value of its own of which one thing is known: it is an involution, `(x ^ k) ^ k = x`.
    /// The dependence test uses that (see `depend::involutions`); everything that rests on its size alone is inexact.
    fn xor_image(&mut self, a: &Poly, b: &Poly, kind: IntKind, when: &Domain) -> Option<Poly> {
        let fixed = |m: &Self, p: &Poly| p.vars().all(|v| m.is_param(v));
        let (x, k) = match (fixed(self, a), fixed(self, b)) {
            (false, true) => (a, b),
            (true, false) => (b, a),
            _ => return None,
        };
        let (x, k) = (self.linear(x)?, self.linear(k)?);
        if x.vars().any(|v| matches!(*self.vars.kind(v), VarKind::Fresh | VarKind::Image)) {
            return None;
        }
        if let Some((v, _)) = self.vars.images.iter().find(|(_, (y, j))| *y == x && *j == k) {
            return Some(Poly::var(*v));
        }
        let v = self.fresh(VarKind::Image);
        let image = Poly::var(v);
        let mut known = vec![
            Constraint::non_negative(image.add_constant(-kind.min())?),
            Constraint::non_negative(image.scale(-1)?.add_constant(kind.max())?),
        ];
        let (prover, dom) = (self.prover(), self.dom.and(when));
        let positive = |p: &Poly| prover.non_negative(p, &dom, &self.budget);
        // Of two values that are never negative, neither is this. (Where it holds only here, only the type's range counts.)
        let everywhere = |p: &Poly| prover.non_negative(p, &Domain::always(), &self.budget);
        if positive(&x) && positive(&k) && everywhere(&x) && everywhere(&k) {
            known.push(Constraint::non_negative(image));
        }
        self.vars.define(v, known);
        self.vars.images.insert(v, (x, k));
        Some(Poly::var(v))
    }

    /// `a / m` and `a % m` for a fixed m that is not a constant, where `a` is known to lie between 0 and 2m: then the
    /// quotient is 0 or 1 (a subscript that goes round once: `(i + 1) % n`).
    pub(super) fn divided_by_param(
        &mut self,
        op: BinOp,
        a: &Poly,
        m: &Poly,
        when: &Domain,
    ) -> Option<Pieces> {
        if let Some(whole) = self.whole_steps(a, m).filter(|_| self.how.strided) {
            // what divides is not 0 (C11 6.5.5p5)
            return match op {
                BinOp::Div => Some(vec![(Domain::always(), whole)]),
                BinOp::Rem => Some(vec![(Domain::always(), Poly::default())]),
                _ => None,
            };
        }
        if !matches!(op, BinOp::Div | BinOp::Rem) || !m.vars().all(|v| self.is_param(v)) {
            return None;
        }
        let (a, m) = (self.linear(a)?, self.linear(m)?);
        if self.vars.is_loaded(&a) && !self.promises.is_of_constants(&self.vars, &a) {
            return None;
        }
        let (prover, dom) = (self.prover(), self.dom.and(when));
        let holds = |p: &Poly| prover.non_negative(p, &dom, &self.budget);
        if !holds(&a) {
            return None;
        }
        let below = m.sub(&a)?.add_constant(-1)?;
        let pick = |rem: Poly, quotient: i128| match op {
            BinOp::Rem => rem,
            _ => Poly::constant(quotient),
        };
        // 0 <= a < m, so m is positive.
        if holds(&below) {
            return Some(vec![(Domain::always(), pick(a, 0))]);
        }
        // 0 <= a < 2m, so m is positive here too.
        if holds(&below.add(&m)?) {
            let past = a.sub(&m)?;
            return Some(vec![
                (Domain::of(Constraint::non_negative(below)), pick(a, 0)),
                (Domain::of(Constraint::non_negative(past.clone())), pick(past, 1)),
            ]);
        }
        // 0 <= a < 3m, as of `x + c + m` where `c` may be -1 and 1: m is positive here too.
        let twice = m.scale(2)?;
        if holds(&below.add(&twice)?) {
            let (past, far) = (a.sub(&m)?, a.sub(&twice)?);
            let before_far = far.scale(-1)?.add_constant(-1)?;
            let middle = Domain::of(Constraint::non_negative(past.clone()));
            return Some(vec![
                (Domain::of(Constraint::non_negative(below)), pick(a, 0)),
                (middle.and(&Domain::of(Constraint::non_negative(before_far))), pick(past, 1)),
                (Domain::of(Constraint::non_negative(far.clone())), pick(far, 2)),
            ]);
        }
        None
    }
}
