//! Values and conditions in a case, as polynomials over its versions. Each comes in conjunctions that cover everything between
//! them: the signs of a quotient, the ways of a `?:`, whether a conversion keeps the value.

use term::{BinOp, IntKind, Op, Storage, TermId, UnOp};

use super::{Case, Conjunctions, Values};
use crate::algebra::poly::{Constraint, Poly, VarKind};
use crate::nest::builder::Builder;
use crate::nest::pieces::compare;

impl Builder<'_> {
    /// The value of an expression without effects, in versions of the case: in each conjunction another. Between them
    /// the conjunctions cover everything.
    pub(super) fn path_value(&mut self, c: &Case, e: TermId, depth: u32) -> Option<Values> {
        if depth > 12 {
            return None;
        }
        let kind = self.body.types.as_int(self.body.ty(e))?;
        let args = self.body.args(e).to_vec();
        let one = |p: Poly| Some(vec![(Vec::new(), p)]);
        match self.body.op(e).clone() {
            Op::Int(v) => one(Poly::constant(v)),
            Op::Sym(s) => match self.body.symbols[s].storage {
                Storage::Constant(v) => one(Poly::constant(v)),
                _ if self.is_followed(s) => {
                    let v = self.version(c, s);
                    one(Poly::var(v))
                }
                _ => None,
            },
            Op::Cast | Op::Unary(UnOp::Plus) => {
                let from = self.body.types.as_int(self.body.ty(args[0]))?;
                let v = self.path_value(c, args[0], depth + 1)?;
                Some(self.as_converted(v, from, kind))
            }
            Op::Unary(UnOp::Neg) if self.body.arithmetic(e).is_exact(kind) => {
                let v = self.path_value(c, args[0], depth + 1)?;
                v.into_iter().map(|(f, p)| Some((f, p.scale(-1)?))).collect()
            }
            Op::Binary(op) if op.is_comparison() || op.is_logical() => self.truth_value(c, e, depth),
            Op::Unary(UnOp::Not) => self.truth_value(c, e, depth),
            Op::Binary(op) => {
                let ka = self.body.types.as_int(self.body.ty(args[0]))?;
                let kb = self.body.types.as_int(self.body.ty(args[1]))?;
                let a = self.path_value(c, args[0], depth + 1)?;
                let b = self.path_value(c, args[1], depth + 1)?;
                let shift = matches!(op, BinOp::Shl | BinOp::Shr);
                let a = self.as_converted(a, ka, kind);
                let b = if shift { b } else { self.as_converted(b, kb, kind) };
                self.path_arithmetic(e, op, a, b, kind)
            }
            Op::Select => {
                let yes = self.path_truth(c, args[0], true, depth + 1)?;
                let no = self.path_truth(c, args[0], false, depth + 1)?;
                let mut out = Vec::new();
                for (conditions, value) in [(yes, args[1]), (no, args[2])] {
                    let from = self.body.types.as_int(self.body.ty(value))?;
                    let v = self.path_value(c, value, depth + 1)?;
                    let v = self.as_converted(v, from, kind);
                    for k in &conditions {
                        for (f, p) in &v {
                            out.push((k.iter().chain(f).cloned().collect(), p.clone()));
                        }
                    }
                }
                (out.len() <= 6).then_some(out)
            }
            _ => None,
        }
    }

    /// Conjunctions of which one holds where the condition (without effects) comes out so.
    pub(super) fn path_truth(
        &mut self,
        c: &Case,
        e: TermId,
        holds: bool,
        depth: u32,
    ) -> Option<Conjunctions> {
        if depth > 12 {
            return None;
        }
        let args = self.body.args(e).to_vec();
        let out = match (self.body.op(e).clone(), holds) {
            (Op::Unary(UnOp::Not), _) => return self.path_truth(c, args[0], !holds, depth + 1),
            (Op::Binary(BinOp::And), true) | (Op::Binary(BinOp::Or), false) => {
                // What one part does not tell the other may.
                let a = self.path_truth(c, args[0], holds, depth + 1);
                let b = self.path_truth(c, args[1], holds, depth + 1);
                match (a, b) {
                    (None, x) | (x, None) => return x,
                    (Some(a), Some(b)) => a
                        .iter()
                        .flat_map(|x| b.iter().map(move |y| x.iter().chain(y).cloned().collect()))
                        .collect(),
                }
            }
            (Op::Binary(BinOp::And), false) | (Op::Binary(BinOp::Or), true) => {
                let mut a = self.path_truth(c, args[0], holds, depth + 1)?;
                a.extend(self.path_truth(c, args[1], holds, depth + 1)?);
                a
            }
            (Op::Binary(op), _) if op.is_comparison() => {
                let ka = self.body.types.as_int(self.body.ty(args[0]))?;
                let kb = self.body.types.as_int(self.body.ty(args[1]))?;
                let k = ka.common(kb);
                let a = self.path_value(c, args[0], depth + 1)?;
                let b = self.path_value(c, args[1], depth + 1)?;
                let (a, b) = (self.as_converted(a, ka, k), self.as_converted(b, kb, k));
                let op = if holds { op } else { op.negated() };
                let mut out = Vec::new();
                for (fa, p) in &a {
                    for (fb, q) in &b {
                        for piece in compare(op, p, q).pieces {
                            out.push(fa.iter().chain(fb).cloned().chain(piece).collect());
                        }
                    }
                }
                out
            }
            _ => {
                let v = self.path_value(c, e, depth + 1)?;
                let op = if holds { BinOp::Ne } else { BinOp::Eq };
                let mut out: Conjunctions = Vec::new();
                for (f, p) in &v {
                    for piece in compare(op, p, &Poly::constant(0)).pieces {
                        out.push(f.iter().cloned().chain(piece).collect());
                    }
                }
                out
            }
        };
        (out.len() <= 6).then_some(out)
    }

    fn truth_value(&mut self, c: &Case, e: TermId, depth: u32) -> Option<Values> {
        let yes = self.path_truth(c, e, true, depth + 1)?;
        let no = self.path_truth(c, e, false, depth + 1)?;
        let all = yes.into_iter().map(|f| (f, 1)).chain(no.into_iter().map(|f| (f, 0)));
        let out: Values = all.map(|(f, v)| (f, Poly::constant(v))).collect();
        (out.len() <= 6).then_some(out)
    }

    /// Operands of the type `kind` (shifts: the left one).
    pub(super) fn path_arithmetic(
        &mut self,
        at: TermId,
        op: BinOp,
        a: Values,
        b: Values,
        kind: IntKind,
    ) -> Option<Values> {
        let arithmetic = self.body.arithmetic(at);
        let mut out = Vec::new();
        for (fa, p) in &a {
            for (fb, q) in &b {
                let both = || fa.iter().chain(fb).cloned().collect::<Vec<_>>();
                let (cp, cq) = (p.as_constant(), q.as_constant());
                let exact = arithmetic.is_exact(kind) || (cp.is_some() && cq.is_some());
                match op {
                    BinOp::Add if exact => out.push((both(), p.add(q)?)),
                    BinOp::Sub if exact => out.push((both(), p.sub(q)?)),
                    BinOp::Mul if exact => {
                        let v = match (cp, cq) {
                            (_, Some(k)) => p.scale(k)?,
                            (Some(k), _) => q.scale(k)?,
                            _ => return None,
                        };
                        out.push((both(), v));
                    }
                    BinOp::Div | BinOp::Rem => {
                        let k = cq.filter(|k| *k > 0)?;
                        // Towards zero: by the sign of what is divided.
                        for negative in [false, true] {
                            if negative && !kind.signed() {
                                continue;
                            }
                            let size = if negative { p.scale(-1)? } else { p.clone() };
                            let quotient = Poly::var(self.fresh(VarKind::Fresh));
                            let rest = size.sub(&quotient.scale(k)?)?;
                            let mut facts = both();
                            let least = if negative { size.add_constant(-1)? } else { size.clone() };
                            facts.push(Constraint::non_negative(least));
                            facts.push(Constraint::non_negative(rest.clone()));
                            facts.push(Constraint::non_negative(rest.scale(-1)?.add_constant(k - 1)?));
                            let v = if op == BinOp::Div { quotient } else { rest };
                            out.push((facts, if negative { v.scale(-1)? } else { v }));
                        }
                    }
                    BinOp::Shr => {
                        let k = 1i128 << arithmetic.shift_count(kind, cq?).filter(|&k| k < 40)?;
                        let quotient = Poly::var(self.fresh(VarKind::Fresh));
                        let rest = p.sub(&quotient.scale(k)?)?;
                        let mut facts = both();
                        facts.push(Constraint::non_negative(rest.clone()));
                        facts.push(Constraint::non_negative(rest.scale(-1)?.add_constant(k - 1)?));
                        out.push((facts, quotient));
                    }
                    BinOp::BitAnd => {
                        let mask = cq.or(cp).filter(|m| *m >= 0 && *m < 1 << 40)?;
                        let x = if cq.is_some() { p } else { q };
                        let v = Poly::var(self.fresh(VarKind::Fresh));
                        let mut facts = both();
                        facts.push(Constraint::non_negative(v.clone()));
                        facts.push(Constraint::non_negative(v.scale(-1)?.add_constant(mask)?));
                        if (mask + 1) & mask == 0 {
                            // x - v is a multiple of mask + 1
                            let q = Poly::var(self.fresh(VarKind::Fresh));
                            facts.push(Constraint::zero(x.sub(&v)?.sub(&q.scale(mask + 1)?)?));
                        }
                        out.push((facts, v));
                    }
                    _ => return None,
                }
            }
        }
        (out.len() <= 6).then_some(out)
    }

    /// The value after conversion: the same where the type holds it, anything of the type elsewhere.
    pub(super) fn as_converted(&mut self, v: Values, from: IntKind, to: IntKind) -> Values {
        if from == to || (to != IntKind::Bool && to.min() <= from.min() && from.max() <= to.max()) {
            return v;
        }
        let mut out = Vec::new();
        for (f, p) in v {
            if let Some(k) = p.as_constant() {
                out.push((f, Poly::constant(to.wrap(k))));
                continue;
            }
            let with = |more: Vec<Option<Poly>>| {
                let mut g = f.clone();
                g.extend(more.into_iter().flatten().map(Constraint::non_negative));
                g
            };
            if to == IntKind::Bool {
                out.push((with(vec![p.add_constant(-1)]), Poly::constant(1)));
                if from.min() < 0 {
                    out.push((with(vec![p.scale(-1).and_then(|p| p.add_constant(-1))]), Poly::constant(1)));
                }
                let mut g = f.clone();
                g.push(Constraint::zero(p));
                out.push((g, Poly::constant(0)));
                continue;
            }
            let below = (from.min() < to.min()).then(|| p.add_constant(-to.min())).flatten();
            let above =
                (from.max() > to.max()).then(|| p.scale(-1).and_then(|p| p.add_constant(to.max()))).flatten();
            out.push((with(vec![below.clone(), above.clone()]), p.clone()));
            for edge in [below, above].into_iter().flatten() {
                let outside = edge.scale(-1).and_then(|p| p.add_constant(-1));
                let v = Poly::var(self.fresh(VarKind::Fresh));
                let low = v.add_constant(-to.min());
                out.push((with(vec![outside, low.filter(|_| !to.signed())]), v));
            }
        }
        out
    }
}
