//! C's conversions and operators on the numbers of a replay, with the shadows that go along: which linear form of the inputs a
//! value is, and what had to hold for it to be that.

use std::rc::Rc;

use term::{BinOp, FloatKind, IntKind, TermId, TypeId, TypeKind, UnOp};

use crate::replay_witness::formula::Tree;
use crate::replay_witness::inputs::{Given, Kind};
use crate::replay_witness::run::{Res, Run};
use crate::replay_witness::values::{
    arithmetic, compare, integer, rounded, spread, Address, Fact, Linear, Number, Rel, Shadow, Value,
};
use crate::NotReplayed;

impl Run<'_, '_> {
    pub fn convert(&mut self, v: Value, to: TypeId) -> Value {
        let types = &self.body().types;
        match types.kind(to) {
            TypeKind::Int(k) => self.converted(v, *k),
            TypeKind::Float(k) => self.real_of(v, *k),
            TypeKind::Pointer { .. } if matches!(v.shadow, Shadow::Free(_)) => {
                let Shadow::Free(owner) = &v.shadow else { return Value::ANY };
                match *self.free.entry((**owner).clone()).or_insert((Kind::Pointer, 8)) {
                    (Kind::Pointer, _) => self.input(owner, 0, to),
                    _ => Value::ANY,
                }
            }
            TypeKind::Pointer { .. } => match v.number {
                Number::Int(0) => Value { number: Number::Pointer(None), shadow: Shadow::None },
                Number::Pointer(_) | Number::Function(_) => v,
                _ => Value::ANY,
            },
            // Of a type that is not known it stays what it is.
            TypeKind::Record(_) | TypeKind::Opaque(_) => v,
            _ => Value::ANY,
        }
    }

    pub fn real_of(&mut self, v: Value, k: FloatKind) -> Value {
        let v = self.used_as(v, Common::Float(k));
        let Some((n, error)) = v.as_real() else { return Value::ANY };
        let n = match v.number {
            Number::Int(whole) if k == FloatKind::F32 => f64::from(whole as f32),
            _ => n,
        };
        let shadow = match (&v.shadow, &v.number) {
            (Shadow::Input(_), Number::Real(r)) if rounded(k, *r) == *r => v.shadow.clone(),
            (Shadow::Input(_) | Shadow::Value(_) | Shadow::Tree(_), _) => Tree::to_real(k, &v),
            _ => Shadow::None,
        };
        // Whole numbers and numbers of other types are taken over with one rounding, which an exact one has as well.
        match (error > 0.0, k) {
            (false, FloatKind::Long) => Value::real(n),
            _ => Value::near(k, n, error),
        }
        .shadowed(shadow)
    }

    /// A value that stands for something defined nowhere becomes an input of the type that it is used with.
    pub(in crate::replay_witness) fn used_as(&mut self, v: Value, as_what: Common) -> Value {
        let Shadow::Free(owner) = &v.shadow else { return v };
        let (kind, size) = match as_what {
            Common::Int(k) => (Kind::Int { kind: k, least: k.min(), most: k.max() }, k.bits() / 8),
            Common::Float(FloatKind::F32) => (Kind::Real(FloatKind::F32), 4),
            Common::Float(_) => (Kind::Real(FloatKind::F64), 8),
        };
        // One name is one thing in a run.
        let (kind, size) = *self.free.entry((**owner).clone()).or_insert((kind, size));
        self.chosen(&owner.clone(), 0, size, kind)
    }

    pub fn converted(&mut self, v: Value, to: IntKind) -> Value {
        let v = self.used_as(v, Common::Int(to));
        if to == IntKind::Bool {
            let Some(holds) = v.truth() else { return Value::ANY };
            let shadow = match v.shadow {
                Shadow::Value(f) => Shadow::Truth(Rc::new(Fact { form: (*f).clone(), rel: Rel::NotZero })),
                Shadow::Input(id) if matches!(v.number, Number::Pointer(_)) => {
                    Shadow::Compared(id, BinOp::Ne)
                }
                Shadow::Input(_) | Shadow::Tree(_) => match Tree::not(&v) {
                    s @ Shadow::Tree(_) => Tree::not(&Value::of_truth(!holds, None).shadowed(s)),
                    s => s,
                },
                s => s,
            };
            return Value { number: Number::Int(holds.into()), shadow };
        }
        match v.number {
            Number::Int(n) => {
                let w = to.wrap(n);
                if matches!(v.shadow, Shadow::Tree(_)) {
                    return Value::int(w).shadowed(Tree::to_int(to, &v));
                }
                if w != n {
                    return Value::int(w);
                }
                if let Shadow::Value(f) = &v.shadow {
                    if !to.signed() {
                        self.rely(Some(Fact::least((**f).clone())));
                    }
                    if self.body().semantics.arithmetic().promotes(to) {
                        let mut above = (**f).clone();
                        above.constant -= to.min();
                        let below = f.times(-1).map(|mut b| {
                            b.constant += to.max();
                            b
                        });
                        self.rely(Some(Fact::least(above)));
                        self.rely(below.map(Fact::least));
                    }
                }
                v
            }
            Number::Real(r) | Number::About(r, _) => {
                let error = v.as_real().map_or(0.0, |v| v.1);
                let cut = r.trunc();
                let fits = cut.is_finite() && cut >= to.min() as f64 && cut <= to.max() as f64;
                let sure = (r - error).trunc() == cut && (r + error).trunc() == cut;
                if fits && sure {
                    Value::int(to.wrap(cut as i128)).shadowed(Tree::to_int(to, &v))
                } else {
                    Value::ANY
                }
            }
            _ => Value::ANY,
        }
    }

    pub(super) fn unary(&mut self, op: UnOp, v: Value, arg: TermId, ty: TypeId) -> Res<Value> {
        let types = &self.body().types;
        let v = match (&v.shadow, op) {
            (Shadow::Free(_), UnOp::Not) => self.used_as(v, Common::Int(IntKind::Int)),
            _ => v,
        };
        if op == UnOp::Not {
            let Some(holds) = v.truth() else { return Ok(Value::ANY) };
            let shadow = match &v.shadow {
                Shadow::Value(f) => Shadow::Truth(Rc::new(Fact::zero((**f).clone()))),
                Shadow::Truth(f) => f.negated().map_or(Shadow::None, |f| Shadow::Truth(Rc::new(f))),
                Shadow::Input(id) if matches!(v.number, Number::Pointer(_)) => {
                    Shadow::Compared(*id, BinOp::Eq)
                }
                Shadow::Input(_) | Shadow::Tree(_) => Tree::not(&v),
                Shadow::Compared(id, op) => Shadow::Compared(*id, op.negated()),
                Shadow::None | Shadow::Free(_) => Shadow::None,
            };
            return Ok(Value { number: Number::Int((!holds).into()), shadow });
        }
        let common = match (types.as_int(ty), types.as_float(ty)) {
            (Some(k), _) => Some(Common::Int(k)),
            (_, Some(k)) => Some(Common::Float(k)),
            _ => self.kind_of(&v, ty),
        };
        if let Some(Common::Float(k)) = common {
            let v = self.real_of(v, k);
            return Ok(match op {
                UnOp::Plus => v,
                UnOp::Neg => self.floats(BinOp::Mul, &Value::real(-1.0), &v, k),
                _ => Value::ANY,
            });
        }
        let k = match common {
            Some(Common::Int(k)) => k,
            _ if matches!(v.shadow, Shadow::Free(_)) => IntKind::Int,
            _ => return Ok(Value::ANY),
        };
        let v = self.converted(v, k);
        match op {
            UnOp::Plus => Ok(v),
            UnOp::Neg => self.ints(BinOp::Sub, &Value::int(0), &v, k, arg),
            _ => Ok(match v.number {
                // ~a = -a - 1
                Number::Int(n) => {
                    let form = v.form().filter(|_| k.signed()).and_then(|f| {
                        let mut f = f.times(-1)?;
                        f.constant -= 1;
                        Some(f)
                    });
                    Value::with(Number::Int(k.wrap(!n)), form)
                }
                _ => Value::ANY,
            }),
        }
    }

    /// The arithmetic type of a value, where its term's is not known by the value itself.
    fn kind_of(&self, v: &Value, ty: TypeId) -> Option<Common> {
        let types = &self.body().types;
        match (types.as_int(ty), types.as_float(ty), &v.number) {
            (Some(k), _, _) => Some(Common::Int(k)),
            (_, Some(k), _) => Some(Common::Float(k)),
            _ if !matches!(types.kind(ty), TypeKind::Opaque(_)) => None,
            (_, _, Number::Int(n)) if IntKind::Int.wrap(*n) == *n => Some(Common::Int(IntKind::Int)),
            (_, _, Number::Int(_)) => Some(Common::Int(IntKind::Long)),
            (_, _, Number::Real(_) | Number::About(..)) => Some(Common::Float(FloatKind::F64)),
            _ => None,
        }
    }

    fn common(&self, op: BinOp, a: (&Value, TypeId), b: (&Value, TypeId)) -> Option<Common> {
        let free = |v: &Value| matches!(v.shadow, Shadow::Free(_));
        let kinds = match (self.kind_of(a.0, a.1), self.kind_of(b.0, b.1)) {
            (None, None) if free(a.0) && free(b.0) => (Common::Int(IntKind::Int), Common::Int(IntKind::Int)),
            (None, Some(k)) if free(a.0) => (k, k),
            (Some(k), None) if free(b.0) => (k, k),
            (Some(a), Some(b)) => (a, b),
            _ => return None,
        };
        if matches!(op, BinOp::Shl | BinOp::Shr) {
            return match kinds.0 {
                Common::Int(k) => Some(Common::Int(k.promoted())),
                Common::Float(_) => None,
            };
        }
        Some(match kinds {
            (Common::Float(x), Common::Float(y)) => Common::Float(x.max(y)),
            (Common::Float(x), _) | (_, Common::Float(x)) => Common::Float(x),
            (Common::Int(x), Common::Int(y)) => Common::Int(x.common(y)),
        })
    }

    pub(super) fn binary(
        &mut self,
        op: BinOp,
        a: (Value, TypeId),
        b: (Value, TypeId),
        t: TermId,
    ) -> Res<Value> {
        let types = &self.body().types;
        let ((a, at), (b, bt)) = (a, b);
        let (pa, pb) = (types.element(at), types.element(bt));
        if pa.is_some() || pb.is_some() {
            return self.pointers(op, (a, pa), (b, pb), t);
        }
        match self.common(op, (&a, at), (&b, bt)) {
            None => Ok(Value::ANY),
            Some(Common::Int(k)) => {
                if op.is_comparison() {
                    if let Some(v) = truth_compared(op, &a, &b) {
                        return Ok(v);
                    }
                }
                let a = self.converted(a, k);
                let b = match op {
                    BinOp::Shl | BinOp::Shr => self.used_as(b, Common::Int(IntKind::Int)),
                    _ => self.converted(b, k),
                };
                self.ints(op, &a, &b, k, t)
            }
            Some(Common::Float(k)) => {
                let (a, b) = (self.real_of(a, k), self.real_of(b, k));
                Ok(self.floats(op, &a, &b, k))
            }
        }
    }

    pub(super) fn floats(&mut self, op: BinOp, a: &Value, b: &Value, k: FloatKind) -> Value {
        let (Some(x), Some(y)) = (a.as_real(), b.as_real()) else { return Value::ANY };
        let shadow = Tree::reals(op, k, a, b);
        if op.is_comparison() {
            if x.1 + y.1 > 0.0 && (x.0 - y.0).abs() <= x.1 + y.1 {
                self.too_near(&shadow);
                return Value::ANY;
            }
            let holds = compare(op, x.0, y.0);
            return Value { number: Number::Int(holds.into()), shadow };
        }
        let Some(v) = arithmetic(op, x.0, y.0) else { return Value::ANY };
        Value::near(k, v, spread(op, x, y)).shadowed(shadow)
    }

    fn pointers(
        &mut self,
        op: BinOp,
        (a, pa): (Value, Option<TypeId>),
        (b, pb): (Value, Option<TypeId>),
        t: TermId,
    ) -> Res<Value> {
        match (op, pa, pb) {
            (BinOp::Add, Some(of), None) => Ok(self.moved(&a, &b, 1, of)),
            (BinOp::Add, None, Some(of)) => Ok(self.moved(&b, &a, 1, of)),
            (BinOp::Sub, Some(of), None) => Ok(self.moved(&a, &b, -1, of)),
            (BinOp::Sub, Some(of), Some(_)) => match (a.address(), b.address(), self.size_of(of)) {
                (Some(x), Some(y), Some(size)) if x.object == y.object && size > 0 => {
                    Ok(Value::int(i128::from((x.offset - y.offset) / size)))
                }
                (Some(x), Some(y), _) => self.apart(x, y, t),
                _ => Ok(Value::ANY),
            },
            _ if op.is_comparison() => {
                let null = |v: &Value| matches!(v.number, Number::Pointer(None) | Number::Int(0));
                let pointer = |v: &Value| match v.number {
                    Number::Pointer(p) => Some(p),
                    Number::Int(0) => Some(None),
                    _ => None,
                };
                let shadow = match (&a.shadow, &b.shadow) {
                    (Shadow::Input(id), _) if null(&b) => Shadow::Compared(*id, op),
                    (_, Shadow::Input(id)) if null(&a) => Shadow::Compared(*id, op),
                    _ => Shadow::None,
                };
                let (Some(x), Some(y)) = (pointer(&a), pointer(&b)) else { return Ok(Value::ANY) };
                let holds = match (op, x, y) {
                    (BinOp::Eq, x, y) => x == y,
                    (BinOp::Ne, x, y) => x != y,
                    (_, Some(x), Some(y)) if x.object == y.object => compare(op, x.offset, y.offset),
                    (_, Some(x), Some(y)) => return self.apart(x, y, t),
                    _ => return Ok(Value::ANY),
                };
                Ok(Value { number: Number::Int(holds.into()), shadow })
            }
            _ => Ok(Value::ANY),
        }
    }

    /// Two pointers are compared, or one is taken from the other, that do not lead into one object: undefined (C11 6.5.6p9,
    /// 6.5.8p5), so the run is none; an input that is one of them might lead to the other's object.
    fn apart(&mut self, x: Address, y: Address, t: TermId) -> Res<Value> {
        let behind = |a: Address| self.memory.objects.get(a.object as usize).and_then(|o| o.behind);
        let into = |to: Address, by: i64| match behind(to) {
            Some(id) => Given::Into(id, to.offset + by),
            None => Given::At(Address { object: to.object, offset: to.offset + by }),
        };
        let (id, given) = match (behind(x), behind(y)) {
            (Some(a), Some(b)) if a > b => (a, into(y, -FAR_APART)),
            (_, Some(b)) => (b, into(x, FAR_APART)),
            (Some(a), None) => (a, into(y, -FAR_APART)),
            (None, None) => return Ok(Value::ANY),
        };
        self.may_be(id, given);
        self.fail(NotReplayed::NotReached, t)
    }

    /// On operands of the type `k` (the right one of a shift aside).
    pub fn ints(&mut self, op: BinOp, a: &Value, b: &Value, k: IntKind, t: TermId) -> Res<Value> {
        let (Number::Int(x), Number::Int(y)) = (&a.number, &b.number) else { return Ok(Value::ANY) };
        let (x, y) = (*x, *y);
        let m = self.body().arithmetic(t);
        // A truth value that is counted with is decided.
        let number = |r: &mut Self, v: &Value| match v.shadow {
            Shadow::Truth(_) | Shadow::Compared(..) => {
                r.decide(v);
                v.as_int().map(Linear::constant)
            }
            Shadow::Tree(_) => None,
            _ => v.form(),
        };
        let (fa, fb) = (number(self, a), number(self, b));
        if op.is_comparison() {
            let fact = match (&fa, &fb) {
                (Some(f), Some(g)) if !(f.is_constant() && g.is_constant()) => Fact::compared(op, f, g),
                (Some(_), Some(_)) => None,
                _ => {
                    let holds = Value::of_truth(compare(op, x, y), None);
                    return Ok(holds.shadowed(Tree::ints(op, m, k, a, b)));
                }
            };
            return Ok(Value::of_truth(compare(op, x, y), fact));
        }
        if matches!(op, BinOp::Div | BinOp::Rem) {
            // Who divides by an input has to choose it.
            let zero = fb.clone().filter(|f| !f.is_constant()).map(|form| Fact { form, rel: Rel::NotZero });
            let truth = Value::of_truth(y != 0, zero);
            self.decide(&match b.shadow {
                Shadow::Tree(_) => truth.shadowed(Tree::ints(BinOp::Ne, m, k, b, &Value::int(0))),
                _ => truth,
            });
        }
        let Some(v) = integer(m, op, x, y, k) else { return self.fail(NotReplayed::NotReached, t) };
        let by = m.shift_count(k, y).unwrap_or(u32::MAX);
        let form = match (op, fa, fb) {
            (BinOp::Add, Some(f), Some(g)) => f.plus(&g, 1),
            (BinOp::Sub, Some(f), Some(g)) => f.plus(&g, -1),
            (BinOp::Mul, Some(f), Some(g)) if g.is_constant() => f.times(y),
            (BinOp::Mul, Some(f), Some(g)) if f.is_constant() => g.times(x),
            (BinOp::Shl, Some(f), _) if by < 40 => f.times(1 << by),
            (BinOp::Div, Some(f), Some(g)) if g.is_constant() && y > 0 => self.divided(&f, y, x),
            (BinOp::Rem, Some(f), Some(g)) if g.is_constant() && y > 0 => {
                self.divided(&f, y, x).and_then(|q| f.plus(&q, -y))
            }
            (BinOp::Shr, Some(f), _) if by < 40 => self.floored(&f, 1 << by),
            (BinOp::BitAnd, Some(f), Some(g)) if g.is_constant() && y > 0 && (y + 1) & y == 0 => {
                self.floored(&f, y + 1).and_then(|q| f.plus(&q, -(y + 1)))
            }
            (BinOp::BitAnd, Some(f), Some(g)) if f.is_constant() && x > 0 && (x + 1) & x == 0 => {
                self.floored(&g, x + 1).and_then(|q| g.plus(&q, -(x + 1)))
            }
            // `n & -8`, `n & ~7`
            (BinOp::BitAnd, Some(f), Some(g)) if g.is_constant() && is_mask_above(y, k) => {
                let low = !signed_mask(y, k) + 1;
                self.floored(&f, low).and_then(|q| q.times(low))
            }
            _ => None,
        };
        if form.is_none() {
            return Ok(Value::int(v).shadowed(Tree::ints(op, m, k, a, b)));
        }
        let form = form.filter(|f| !f.is_constant());
        if let (Some(f), false) = (&form, m.is_exact(k)) {
            // The result is that of the whole numbers only where it does not wrap.
            let whole = match op {
                BinOp::Add => x + y == v,
                BinOp::Sub => x - y == v,
                BinOp::Mul => x.checked_mul(y) == Some(v),
                BinOp::Shl => x << by.min(60) == v,
                _ => true,
            };
            if !whole {
                return Ok(Value::int(v));
            }
            let mut above = f.clone();
            above.constant -= k.min();
            self.rely(Some(Fact::least(above)));
        }
        Ok(Value::with(Number::Int(v), form))
    }

    fn helper(&mut self) -> Linear {
        self.helpers += 1;
        Linear::var(self.helpers)
    }

    /// `floor(f / by)` as a new variable.
    fn floored(&mut self, f: &Linear, by: i128) -> Option<Linear> {
        if f.is_constant() {
            return Some(Linear::constant(f.constant.div_euclid(by)));
        }
        let q = self.helper();
        let rest = f.plus(&q, -by)?;
        let mut above = rest.times(-1)?;
        above.constant += by - 1;
        self.rely(Some(Fact::least(rest)));
        self.rely(Some(Fact::least(above)));
        Some(q)
    }

    /// The quotient towards zero, for values of the sign that this one has.
    fn divided(&mut self, f: &Linear, by: i128, value: i128) -> Option<Linear> {
        if f.is_constant() {
            return Some(Linear::constant(f.constant / by));
        }
        if value >= 0 {
            self.rely(Some(Fact::least(f.clone())));
            return self.floored(f, by);
        }
        let minus = f.times(-1)?;
        self.rely(Some(Fact::least(minus.clone())));
        self.floored(&minus, by)?.times(-1)
    }
}

/// Bytes between pointers that are compared.
const FAR_APART: i64 = 64;

/// The type in which an operation is computed.
#[derive(Clone, Copy, PartialEq)]
pub(in crate::replay_witness) enum Common {
    Int(IntKind),
    Float(FloatKind),
}

fn signed_mask(y: i128, k: IntKind) -> i128 {
    if k.signed() || y <= k.max() / 2 {
        y
    } else {
        y - k.max() - 1
    }
}

/// Whether only the lowest bits are missing.
fn is_mask_above(y: i128, k: IntKind) -> bool {
    let low = !signed_mask(y, k);
    low > 0 && (low + 1) & low == 0 && low < 1 << 40
}

/// `(a < b) == 0` and its kin.
fn truth_compared(op: BinOp, a: &Value, b: &Value) -> Option<Value> {
    let (shadow, holds, with) = match (&a.shadow, &b.shadow) {
        (s @ (Shadow::Truth(_) | Shadow::Compared(..)), Shadow::None) => (s, a.truth()?, b.as_int()?),
        (Shadow::None, s @ (Shadow::Truth(_) | Shadow::Compared(..))) => (s, b.truth()?, a.as_int()?),
        _ => return None,
    };
    let same = match (op, with) {
        (BinOp::Ne, 0) | (BinOp::Eq, 1) => true,
        (BinOp::Eq, 0) | (BinOp::Ne, 1) => false,
        _ => return None,
    };
    if same {
        return Some(Value { number: Number::Int(holds.into()), shadow: shadow.clone() });
    }
    let shadow = match shadow {
        Shadow::Truth(f) => Shadow::Truth(Rc::new(f.negated()?)),
        Shadow::Compared(id, op) => Shadow::Compared(*id, op.negated()),
        _ => Shadow::None,
    };
    Some(Value { number: Number::Int((!holds).into()), shadow })
}
