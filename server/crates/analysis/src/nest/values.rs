//! Expressions: values as polynomials, with what must hold for them to be the mathematical ones.

use term::{BinOp, IntKind, Op, Storage, SymbolId, TermId, TypeId, TypeKind, UnOp};

use crate::algebra::poly::{Constraint, Domain, Poly, VarKind};
use crate::flow::counted_loop;
use crate::nest::builder::{Builder, MAX_ACCESSES, MAX_DEPTH, MAX_VALUE_PIECES};
use crate::nest::pieces::{map_pieces, Pieces};
use crate::nest::{Need, Obligation};
use crate::{Obstacle, ObstacleKind, Param};
impl Builder<'_> {
    /// A pure value in the current environment, single-pieced and linear or not; records nothing.
    pub(super) fn plain_value(&mut self, t: TermId) -> Option<Poly> {
        if self
            .body
            .walk(t)
            .any(|x| self.body.op(x).is_write() || matches!(self.body.op(x), Op::Call | Op::Reject(_)))
        {
            return None;
        }
        let (accesses, obligations, obstacles) =
            (self.accesses.len(), self.obligations.len(), self.obstacles.len());
        let v = self.visit(t);
        self.accesses.truncate(accesses);
        let _ = obligations;
        self.obstacles.truncate(obstacles);
        match v {
            Some(p) if p.len() == 1 => p.into_iter().next().map(|p| p.1),
            _ => None,
        }
    }

    pub(super) fn value_of_symbol(&mut self, s: SymbolId, at: TermId) -> Option<Pieces> {
        let symbol = &self.body.symbols[s];
        self.body.types.as_int(symbol.ty)?;
        if let Storage::Constant(v) = symbol.storage {
            return Some(vec![(Domain::always(), Poly::constant(v))]);
        }
        if let Some(v) = self.env.get(&s) {
            // What others reach may have changed since it was last looked at.
            if !symbol.is_own_scalar() {
                let v = self.fresh_value();
                return Some(vec![(Domain::always(), v)]);
            }
            return v.clone();
        }
        // Not written in the loop: fixed. A local that is set once from fixed values is those values.
        let _ = at;
        if let Some(p) = self.definition(s) {
            return Some(vec![(Domain::always(), p)]);
        }
        self.entry_value(s)
    }

    /// The affine definition of a variable that has one value for the whole body and whose operands do too.
    pub(super) fn definition(&mut self, s: SymbolId) -> Option<Poly> {
        if !matches!(self.body.symbols[s].storage, Storage::Local) || !self.effects.is_single_valued(s) {
            return None;
        }
        let declare = *self.effects.writes.get(&s)?.first()?;
        let Op::Declare(_) = self.body.op(declare) else {
            return None;
        };
        let init = *self.body.args(declare).first()?;
        let kind = self.body.types.as_int(self.body.symbols[s].ty)?;
        if let Some(c) = counted_loop::constant(self.body, init).filter(|c| kind.wrap(*c) == *c) {
            return Some(Poly::constant(c));
        }
        let plain = self.body.walk(init).all(|x| match self.body.op(x) {
            Op::Int(_) | Op::Unary(_) | Op::Binary(BinOp::Add | BinOp::Sub | BinOp::Mul) | Op::Cast => true,
            Op::Sym(u) => {
                matches!(self.body.symbols[*u].storage, Storage::Constant(_))
                    || (self.effects.is_single_valued(*u) && *u != s)
            }
            _ => false,
        });
        let small = self.body.walk(init).take(40).count() < 40;
        let exact = self.body.walk(init).all(|x| {
            let (k, arithmetic) = (self.body.types.as_int(self.body.ty(x)), self.body.arithmetic(x));
            k.is_some_and(|k| arithmetic.is_exact(k) && k.bits() <= kind.bits())
        }) && kind.signed();
        if !plain || !small || !exact {
            return None;
        }
        self.depth += 1;
        let v = if self.depth < MAX_DEPTH { self.plain_value(init) } else { None };
        self.depth -= 1;
        v
    }

    pub(super) fn assign_symbol(&mut self, s: SymbolId, value: Option<Pieces>, from: TypeId, at: TermId) {
        let ty = self.body.symbols[s].ty;
        let kinds = self.body.types.as_int(from).zip(self.body.types.as_int(ty));
        let converted = match (value, kinds) {
            (Some(v), Some((from, to))) => self.convert(v, from, to, at),
            _ => None,
        };
        match converted {
            Some(v) if self.body.symbols[s].is_own_scalar() => {
                self.env.insert(s, Some(v));
                self.pointers.remove(&s);
            }
            _ => self.forget(s),
        }
    }

    /// The value after conversion between integer types; an obligation says where it stays the same.
    pub(super) fn convert(&mut self, v: Pieces, from: IntKind, to: IntKind, at: TermId) -> Option<Pieces> {
        if to == IntKind::Bool && from != IntKind::Bool {
            return None;
        }
        if to.min() <= from.min() && from.max() <= to.max() {
            return Some(v);
        }
        for (d, p) in &v {
            if let Some(c) = p.as_constant() {
                if c < to.min() || c > to.max() {
                    return None;
                }
                continue;
            }
            if p.vars().any(|x| self.vars[x as usize] == VarKind::Fresh) {
                return None;
            }
            let dom = self.dom.and(d);
            if from.min() < to.min() {
                self.oblige(Need::NoWrap(at), p.add_constant(-to.min())?, dom.clone());
            }
            if from.max() > to.max() {
                self.oblige(Need::NoWrap(at), p.scale(-1)?.add_constant(to.max())?, dom);
            }
        }
        Some(v)
    }

    /// The value of an operation in `kind`, obliged to be the mathematical one where overflow has a meaning.
    pub(super) fn in_type(&mut self, v: Option<Pieces>, kind: IntKind, at: TermId) -> Option<Pieces> {
        let v = v?;
        if self.body.arithmetic(at).is_exact(kind) {
            return Some(v);
        }
        for (d, p) in &v {
            if let Some(c) = p.as_constant() {
                if c < kind.min() || c > kind.max() {
                    return None;
                }
                continue;
            }
            if p.vars().any(|x| self.vars[x as usize] == VarKind::Fresh) {
                return None;
            }
            let dom = self.dom.and(d);
            self.oblige(Need::NoWrap(at), p.add_constant(-kind.min())?, dom.clone());
            self.oblige(Need::NoWrap(at), p.scale(-1)?.add_constant(kind.max())?, dom);
        }
        Some(v)
    }

    pub(super) fn oblige(&mut self, kind: Need, poly: Poly, domain: Domain) {
        if poly.as_constant().is_some_and(|c| c >= 0) {
            return;
        }
        let same = |o: &Obligation| o.poly == poly && o.domain.pieces == domain.pieces && o.kind == kind;
        if !self.obligations.iter().any(same) {
            self.obligations.push(Obligation { kind, poly, domain });
        }
    }

    /// Evaluates: records accesses, updates variables, and gives the integer value where it is known.
    pub(crate) fn visit(&mut self, t: TermId) -> Option<Pieces> {
        self.depth += 1;
        if self.depth > MAX_DEPTH
            || self.accesses.len() > MAX_ACCESSES
            || !self.pay(1 + self.dom.pieces.len())
        {
            self.obstacle(ObstacleKind::Budget(crate::Work::Model), t);
            self.depth -= 1;
            return None;
        }
        let v = self.visit_inner(t);
        self.depth -= 1;
        v.filter(|p| !p.is_empty() && p.len() <= MAX_VALUE_PIECES)
    }

    pub(super) fn visit_inner(&mut self, t: TermId) -> Option<Pieces> {
        let args = self.body.args(t).to_vec();
        let ty = self.body.ty(t);
        let kind = self.body.types.as_int(ty);
        match self.body.op(t).clone() {
            Op::Int(v) => Some(vec![(Domain::always(), Poly::constant(v))]),
            Op::Float(_) | Op::Str(_) | Op::Empty | Op::SizeOfType(_) | Op::SizeOf => {
                kind.and_then(|_| self.opaque_param(t))
            }
            Op::Sym(s) => self.read_symbol(s, t),
            Op::Unary(op) => {
                if op == UnOp::Not {
                    self.visit(args[0]);
                    return None;
                }
                let v = self.visit(args[0])?;
                let k = kind?;
                match op {
                    UnOp::Plus => Some(v),
                    UnOp::Neg => {
                        let v = map_pieces(v, |p| p.scale(-1));
                        self.in_type(v, k, t)
                    }
                    UnOp::BitNot if k.signed() => map_pieces(v, |p| p.scale(-1)?.add_constant(-1)),
                    // Of an unsigned type: the largest value minus this.
                    UnOp::BitNot => map_pieces(v, |p| p.scale(-1)?.add_constant(k.max())),
                    _ => None,
                }
            }
            Op::Binary(op) if op.is_logical() => {
                self.condition(t);
                None
            }
            Op::Binary(op) => {
                let (a, b) = (self.visit(args[0]), self.visit(args[1]));
                if op.is_comparison() {
                    return None;
                }
                let k = kind?;
                let (ka, kb) = (
                    self.body.types.as_int(self.body.ty(args[0]))?,
                    self.body.types.as_int(self.body.ty(args[1]))?,
                );
                let shift = matches!(op, BinOp::Shl | BinOp::Shr);
                let (a, b) = (a?, b?);
                let fixed = |m: &Self, p: &Pieces| matches!(&p[..], [(d, v)] if d.exact && v.vars().all(|v| m.is_param(v)));
                let both_fixed = fixed(self, &a) && fixed(self, &b);
                let a = self.convert(a, ka, k, args[0]);
                let b = if shift { Some(b) } else { self.convert(b, kb, k, args[1]) };
                match a.zip(b).and_then(|(a, b)| self.arithmetic(t, op, a, b, k)) {
                    Some(v) => self.in_type(Some(v), k, t),
                    // Of fixed values the result is fixed too, whatever it is (`1 << k`, `n / m`).
                    None if both_fixed && self.effects.is_invariant_in(self.body, t, self.root) => {
                        self.opaque_param(t)
                    }
                    None => None,
                }
            }
            Op::Select => {
                let (yes, no) = self.condition(args[0]);
                let (dom, why, env) = (self.dom.clone(), self.why.clone(), self.env.clone());
                let because = Obstacle { kind: ObstacleKind::DataDependentCondition, term: args[0] };
                self.dom = dom.and(&yes);
                if !yes.exact {
                    self.why.get_or_insert(because.clone());
                }
                let a = self.visit(args[1]);
                let writes = self.effects.writes_in(t).iter().next().is_some();
                self.why = why.clone();
                self.dom = dom.and(&no);
                if !no.exact {
                    self.why.get_or_insert(because);
                }
                if writes {
                    self.env = env;
                }
                let b = self.visit(args[2]);
                (self.dom, self.why) = (dom, why);
                if writes {
                    for &s in self.effects.writes_in(t).iter() {
                        self.forget(s);
                    }
                }
                let k = kind?;
                let (ka, kb) = (
                    self.body.types.as_int(self.body.ty(args[1]))?,
                    self.body.types.as_int(self.body.ty(args[2]))?,
                );
                let a = self.convert(a?, ka, k, args[1])?;
                let b = self.convert(b?, kb, k, args[2])?;
                let mut out: Pieces = a.into_iter().map(|(d, p)| (yes.and(&d), p)).collect();
                out.extend(b.into_iter().map(|(d, p)| (no.and(&d), p)));
                Some(out)
            }
            Op::Arithmetic(_) => self.visit(args[0]),
            Op::Comma => {
                self.visit(args[0]);
                self.visit(args[1])
            }
            Op::Cast => {
                let v = self.visit(args[0]);
                let from = self.body.types.as_int(self.body.ty(args[0]));
                match (v, from, kind) {
                    (Some(v), Some(from), Some(to)) => self.convert(v, from, to, t),
                    _ => None,
                }
            }
            Op::Assign | Op::Compound(_) | Op::Step { .. } if self.pointer_variable(args[0]).is_some() => {
                if let Some(s) = self.pointer_variable(args[0]) {
                    self.write_pointer(t, s);
                }
                None
            }
            Op::Assign => {
                let value = self.visit(args[1]);
                self.write_place(args[0], value, self.body.ty(args[1]), args[1])
            }
            Op::Compound(op) => {
                let right = self.visit(args[1]);
                let place = self.place_once(args[0]);
                let old = self.read_at(args[0], place.clone());
                let (lt, rt) = (self.body.ty(args[0]), self.body.ty(args[1]));
                let kinds = self.body.types.as_int(lt).zip(self.body.types.as_int(rt));
                let mut from = lt;
                let v = match (old, right, kinds) {
                    (Some(a), Some(b), Some((ka, kb))) => {
                        let shift = matches!(op, BinOp::Shl | BinOp::Shr);
                        let common = if shift { ka.promoted() } else { ka.common(kb) };
                        from = self.find_int_type(common).unwrap_or(lt);
                        let a = self.convert(a, ka, common, args[0]);
                        let b = if shift { Some(b) } else { self.convert(b, kb, common, args[1]) };
                        let v = a.zip(b).and_then(|(a, b)| self.arithmetic(t, op, a, b, common));
                        self.in_type(v, common, t)
                    }
                    _ => None,
                };
                self.write_at(args[0], place, v, from, t)
            }
            Op::Step { delta, prefix } => {
                let place = self.place_once(args[0]);
                let old = self.read_at(args[0], place.clone());
                let k = self.body.types.as_int(self.body.ty(args[0]));
                let new = match (old.clone(), k) {
                    (Some(v), Some(k)) => {
                        let v = map_pieces(v, |p| p.add_constant(delta as i128));
                        self.in_type(v, k.promoted(), t)
                    }
                    _ => None,
                };
                let lt = self.body.ty(args[0]);
                let from = k.and_then(|k| self.find_int_type(k.promoted())).unwrap_or(lt);
                let after = self.write_at(args[0], place, new, from, t);
                if prefix {
                    after
                } else {
                    old
                }
            }
            Op::Index | Op::Member { .. } | Op::Deref => self.read_place(t),
            Op::AddrOf => {
                // The address alone reads nothing, but the subscripts in it are evaluated.
                self.visit_subscripts(args[0]);
                None
            }
            Op::Call => self.visit_call(t),
            // What a call was replaced by.
            Op::List => {
                self.visit_statement(t);
                None
            }
            Op::InitList => {
                for a in args {
                    self.visit(a);
                }
                None
            }
            Op::Reject(_) => {
                self.obstacle(ObstacleKind::NotUnderstood, t);
                None
            }
            _ => {
                self.obstacle(ObstacleKind::NotUnderstood, t);
                None
            }
        }
    }

    fn pointer_variable(&self, place: TermId) -> Option<SymbolId> {
        let s = self.body.as_symbol(place)?;
        matches!(self.body.types.kind(self.body.symbols[s].ty), TypeKind::Pointer { .. }).then_some(s)
    }

    pub(super) fn find_int_type(&self, kind: IntKind) -> Option<TypeId> {
        self.body.types.ids().find(|&id| *self.body.types.kind(id) == TypeKind::Int(kind))
    }

    pub(super) fn opaque_param(&mut self, t: TermId) -> Option<Pieces> {
        let v = self.param(Param::Term(t));
        Some(vec![(Domain::always(), Poly::var(v))])
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
        if a.len() * b.len() > MAX_VALUE_PIECES {
            return None;
        }
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
        if a.vars().any(|v| self.vars[v as usize] == VarKind::Fresh) {
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
        let v = self.fresh(VarKind::Quotient);
        let q = Poly::var(v);
        // k*q <= a <= k*q + k - 1
        let r = a.sub(&q.scale(k)?)?;
        let defining = vec![
            Constraint::non_negative(r.clone()),
            Constraint::non_negative(r.scale(-1)?.add_constant(k - 1)?),
        ];
        self.quotients.push((v, defining));
        self.numerators.insert(v, (a.clone(), k));
        Some((q, r))
    }
}
