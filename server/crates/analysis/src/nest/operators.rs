//! What operators make of values: sums and products as polynomials, quotients by their defining constraints, the two arms of a
//! selection as pieces, and assignments that compute.

use term::{BinOp, IntKind, TermId, TypeId, TypeKind, UnOp};

use crate::algebra::poly::{Constraint, Domain, Poly, VarKind};
use crate::nest::builder::{Builder, MAX_VALUE_PIECES};
use crate::nest::pieces::{map_pieces, Pieces};
use crate::{Obstacle, ObstacleKind};

fn is_shift(op: BinOp) -> bool {
    matches!(op, BinOp::Shl | BinOp::Shr)
}

impl Builder<'_> {
    fn int_kind(&self, t: TermId) -> Option<IntKind> {
        self.body.types.as_int(self.body.ty(t))
    }

    pub(super) fn unary(&mut self, op: UnOp, t: TermId) -> Option<Pieces> {
        let v = self.visit(self.body.args(t)[0]);
        let (v, kind) = (v?, self.int_kind(t)?);
        match op {
            UnOp::Plus => Some(v),
            UnOp::Neg => {
                let v = map_pieces(v, |p| p.scale(-1));
                self.in_type(v, kind, t)
            }
            UnOp::BitNot if kind.signed() => map_pieces(v, |p| p.scale(-1)?.add_constant(-1)),
            // Of an unsigned type: the largest value minus this.
            UnOp::BitNot => map_pieces(v, |p| p.scale(-1)?.add_constant(kind.max())),
            _ => None,
        }
    }

    /// An operator whose two operands are both evaluated.
    pub(super) fn binary(&mut self, op: BinOp, t: TermId) -> Option<Pieces> {
        let [left, right] = [0, 1].map(|k| self.body.args(t)[k]);
        let (a, b) = (self.visit(left), self.visit(right));
        if op.is_comparison() {
            return None;
        }
        let kind = self.int_kind(t)?;
        let (ka, kb) = (self.int_kind(left)?, self.int_kind(right)?);
        let (a, b) = (a?, b?);
        let is_fixed =
            |p: &Pieces| matches!(&p[..], [(d, v)] if d.exact && v.vars().all(|v| self.is_param(v)));
        let both_fixed = is_fixed(&a) && is_fixed(&b);
        let a = self.convert(a, ka, kind, left);
        let b = if is_shift(op) { Some(b) } else { self.convert(b, kb, kind, right) };
        match a.zip(b).and_then(|(a, b)| self.arithmetic(t, op, a, b, kind)) {
            // no more than its left operand
            Some(v) if !kind.signed() && never_grows(op) => Some(v),
            Some(v) => self.in_type(Some(v), kind, t),
            // Of fixed values the result is fixed too, whatever it is (`1 << k`, `n / m`).
            None if both_fixed && self.effects.is_invariant_in(self.body, t, self.root) => {
                self.opaque_param(t)
            }
            None => None,
        }
    }

    /// `condition ? a : b`: the pieces of both, each where the condition chooses it.
    pub(super) fn select(&mut self, t: TermId) -> Option<Pieces> {
        let [condition, first, second] = [0, 1, 2].map(|k| self.body.args(t)[k]);
        let (yes, no) = self.condition(condition);
        let (dom, why, env) = (self.dom.clone(), self.why.clone(), self.env.clone());
        let because = Obstacle { kind: ObstacleKind::DataDependentCondition, term: condition };
        self.dom = dom.and(&yes);
        if !yes.exact {
            self.why.get_or_insert(because.clone());
        }
        let a = self.visit(first);
        let writes = self.effects.writes_in(t).iter().next().is_some();
        self.why = why.clone();
        self.dom = dom.and(&no);
        if !no.exact {
            self.why.get_or_insert(because);
        }
        if writes {
            self.env = env;
        }
        let b = self.visit(second);
        (self.dom, self.why) = (dom, why);
        if writes {
            for &s in self.effects.writes_in(t).iter() {
                self.forget(s);
            }
        }
        let kind = self.int_kind(t)?;
        let (ka, kb) = (self.int_kind(first)?, self.int_kind(second)?);
        let a = self.convert(a?, ka, kind, first)?;
        let b = self.convert(b?, kb, kind, second)?;
        let mut out: Pieces = a.into_iter().map(|(d, p)| (yes.and(&d), p)).collect();
        out.extend(b.into_iter().map(|(d, p)| (no.and(&d), p)));
        Some(self.clamped(out))
    }

    /// A value that nobody knows, put back between two known ones where it leaves them (`x < 0 ? 0 : x >= w ? w - 1 : x`): one value
    /// between these instead of three that are told apart by what is not known.
    pub(super) fn clamped(&mut self, pieces: Pieces) -> Pieces {
        let is_known = |(_, p): &(Domain, Poly)| self.is_known(p);
        match pieces.len() > 2 && !pieces.iter().all(is_known) {
            true => self.between(&pieces).unwrap_or(pieces),
            false => pieces,
        }
    }

    /// One value in the place of several of which two, known ones, are the least and the greatest: all that is said of it is that it
    /// lies between these.
    pub(super) fn between(&mut self, pieces: &Pieces) -> Option<Pieces> {
        if pieces.len() < 2 {
            return Some(pieces.clone());
        }
        let mut ends: Vec<&Poly> = Vec::new();
        for (_, p) in pieces.iter().filter(|(_, p)| self.is_known(p)) {
            if !ends.contains(&p) {
                ends.push(p);
            }
        }
        if ends.len() > MAX_VALUE_PIECES {
            return None;
        }
        let (prover, dom) = (self.prover(), &self.dom);
        let holds = |least: &Poly, most: &Poly, when: &Domain| {
            let above = most.sub(least);
            above.is_some_and(|p| prover.non_negative(&p, &dom.and(when), &self.budget))
        };
        let least = ends.iter().find(|e| pieces.iter().all(|(when, p)| holds(e, p, when)))?;
        let most = ends.iter().find(|e| pieces.iter().all(|(when, p)| holds(p, e, when)))?;
        let (least, most) = ((*least).clone(), (*most).clone());
        let value = self.fresh_value();
        let above = Domain::of(Constraint::non_negative(value.sub(&least)?));
        let below = Domain::of(Constraint::non_negative(most.sub(&value)?));
        Some(vec![(above.and(&below), value)])
    }

    fn is_known(&self, p: &Poly) -> bool {
        p.vars().all(|v| *self.vars.kind(v) != VarKind::Fresh)
    }

    /// `place op= value`, computed in the type that both are converted to.
    pub(super) fn compound(&mut self, op: BinOp, t: TermId) -> Option<Pieces> {
        let [left, right] = [0, 1].map(|k| self.body.args(t)[k]);
        let idle = self.is_idle(left);
        let around = std::mem::replace(&mut self.idle, idle);
        let value = self.visit(right);
        let place = self.place_once(left);
        let old = self.read_at(left, place.clone());
        let mut from = self.body.ty(left);
        let new = match (old, value, self.int_kind(left).zip(self.int_kind(right))) {
            (Some(a), Some(b), Some((ka, kb))) => {
                let common = if is_shift(op) { ka.promoted() } else { ka.common(kb) };
                from = self.find_int_type(common).unwrap_or(from);
                let a = self.convert(a, ka, common, left);
                let b = if is_shift(op) { Some(b) } else { self.convert(b, kb, common, right) };
                let v = a.zip(b).and_then(|(a, b)| self.arithmetic(t, op, a, b, common));
                self.in_type(v, common, t)
            }
            _ => None,
        };
        let written = self.write_at(left, place, new, from, t);
        self.idle = around;
        written
    }

    /// `++` and `--`: the value before or after.
    pub(super) fn step(&mut self, delta: i128, prefix: bool, t: TermId) -> Option<Pieces> {
        let target = self.body.args(t)[0];
        let place = self.place_once(target);
        let old = self.read_at(target, place.clone());
        let kind = self.int_kind(target).map(|k| k.promoted());
        let new = match (old.clone(), kind) {
            (Some(v), Some(k)) => {
                let v = map_pieces(v, |p| p.add_constant(delta));
                self.in_type(v, k, t)
            }
            _ => None,
        };
        let from = kind.and_then(|k| self.find_int_type(k)).unwrap_or(self.body.ty(target));
        let after = self.write_at(target, place, new, from, t);
        if prefix {
            after
        } else {
            old
        }
    }

    fn find_int_type(&self, kind: IntKind) -> Option<TypeId> {
        self.body.types.ids().find(|&id| *self.body.types.kind(id) == TypeKind::Int(kind))
    }

    pub(super) fn arithmetic(
        &mut self,
        at: TermId,
        op: BinOp,
        a: Pieces,
        b: Pieces,
        kind: IntKind,
    ) -> Option<Pieces> {
        let body = self.body;
        let count = |p: &Poly| body.arithmetic(at).shift_count(kind, p.as_constant()?);
        let (a, b) = match a.len() * b.len() > MAX_VALUE_PIECES {
            true => (self.between(&a)?, self.between(&b)?),
            false => (a, b),
        };
        let mut out = Vec::new();
        for (da, pa) in &a {
            for (db, pb) in &b {
                let d = da.and(db);
                let p = match op {
                    BinOp::Add => pa.add(pb)?,
                    BinOp::Sub => pa.sub(pb)?,
                    BinOp::Mul => pa.mul(pb)?,
                    BinOp::Shl => {
                        let s = count(pb).filter(|&s| s < 62)?;
                        pa.scale(1 << s)?
                    }
                    BinOp::Div | BinOp::Rem | BinOp::Shr => {
                        let by = match op {
                            BinOp::Shr => Poly::constant(1 << count(pb).filter(|&s| s < 62)?),
                            _ => pb.clone(),
                        };
                        for (e, p) in self.quotient(op, pa, &by, &d)? {
                            out.push((d.and(&e), p));
                        }
                        continue;
                    }
                    BinOp::BitAnd | BinOp::BitOr | BinOp::BitXor => self.bitwise(op, pa, pb, kind, &d)?,
                    _ => return None,
                };
                out.push((d, p));
            }
        }
        Some(out)
    }

    /// `a / k`, `a % k`, `a >> log2 k` for a constant k. C rounds towards zero: where the sign of `a` is not known there are
    /// two cases.
    pub(super) fn quotient(&mut self, op: BinOp, a: &Poly, k: &Poly, when: &Domain) -> Option<Pieces> {
        let Some(k) = k.as_constant() else {
            return self.divided_by_param(op, a, k, when);
        };
        if k <= 0 {
            return None;
        }
        let always = |p: Poly| Some(vec![(Domain::always(), p)]);
        if k == 1 {
            return always(if op == BinOp::Rem { Poly::default() } else { a.clone() });
        }
        let a = self.linear(a)?;
        // a quotient of what is not known exactly would pass for a value that is; one of a constant's elements is marked
        let is_loaded = self.vars.is_loaded(&a) && !self.promises.is_of_constants(&self.vars, &a);
        if a.vars().any(|v| *self.vars.kind(v) == VarKind::Fresh) || is_loaded {
            return None;
        }
        if let Some(c) = a.as_constant() {
            return always(Poly::constant(match op {
                BinOp::Rem => c % k,
                BinOp::Shr => c.div_euclid(k),
                _ => c / k,
            }));
        }
        let dom = self.dom.and(when);
        if op == BinOp::Shr || self.is_non_negative(&a, &dom) {
            let (q, r) = self.floor(&a, k)?;
            return always(if op == BinOp::Rem { r } else { q });
        }
        let (q, r) = self.floor(&a, k)?;
        let minus = a.scale(-1)?;
        let (nq, nr) = self.floor(&minus, k)?;
        let up = Domain::of(Constraint::non_negative(a.clone()));
        let down = Domain::of(Constraint::non_negative(minus.add_constant(-1)?));
        let (x, y) = if op == BinOp::Rem { (r, nr.scale(-1)?) } else { (q, nq.scale(-1)?) };
        Some(vec![(up, x), (down, y)])
    }

    /// `floor(a / k)` and the remainder, by their defining constraints.
    pub(super) fn floor(&mut self, a: &Poly, k: i128) -> Option<(Poly, Poly)> {
        let is_loaded = self.vars.is_loaded(a);
        let v = self.fresh(if is_loaded { VarKind::Image } else { VarKind::Quotient });
        if is_loaded {
            self.vars.of_loaded.insert(v);
        }
        let q = Poly::var(v);
        // k*q <= a <= k*q + k - 1
        let r = a.sub(&q.scale(k)?)?;
        let defining = vec![
            Constraint::non_negative(r.clone()),
            Constraint::non_negative(r.scale(-1)?.add_constant(k - 1)?),
        ];
        self.vars.define_quotient(v, (a.clone(), k), defining);
        Some((q, r))
    }
}

/// Whether what comes of unsigned numbers is at most the left one.
fn never_grows(op: BinOp) -> bool {
    matches!(op, BinOp::Div | BinOp::Rem | BinOp::Shr | BinOp::BitAnd)
}
