//! C's conversions and operators on the numbers of a replay, with the shadows that go along: which linear form of the inputs a
//! value is, and what had to hold for it to be that.

use std::rc::Rc;

use term::{BinOp, FloatKind, IntKind, TermId, TypeId, TypeKind, UnOp};

use crate::replay_witness::run::{Res, Run};
use crate::replay_witness::values::{
    compare_ints, compare_reals, integer, rounded, Fact, Linear, Number, Rel, Shadow, Value,
};
use crate::NotReplayed;

impl Run<'_, '_> {
    pub fn convert(&mut self, v: Value, to: TypeId) -> Value {
        let types = &self.body().types;
        match types.kind(to) {
            TypeKind::Int(k) => self.converted(v, *k),
            TypeKind::Float(k) => {
                let n = match v.number {
                    Number::Int(n) if *k == FloatKind::F32 => Some(f64::from(n as f32)),
                    Number::Int(n) => Some(n as f64),
                    Number::Real(r) => Some(r),
                    _ => None,
                };
                let same = matches!(v.shadow, Shadow::Input(_)) && matches!(v.number, Number::Real(_));
                match n.and_then(|n| rounded(*k, n)) {
                    Some(n) => {
                        Value { number: Number::Real(n), shadow: if same { v.shadow } else { Shadow::None } }
                    }
                    None => Value::ANY,
                }
            }
            TypeKind::Pointer { .. } => match v.number {
                Number::Int(0) => Value { number: Number::Pointer(None), shadow: Shadow::None },
                Number::Pointer(_) | Number::Function(_) => v,
                _ => Value::ANY,
            },
            TypeKind::Record(_) => v,
            _ => Value::ANY,
        }
    }

    pub fn converted(&mut self, v: Value, to: IntKind) -> Value {
        if to == IntKind::Bool {
            let Some(holds) = v.truth() else { return Value::ANY };
            let shadow = match v.shadow {
                Shadow::Value(f) => Shadow::Truth(Rc::new(Fact { form: (*f).clone(), rel: Rel::NotZero })),
                Shadow::Input(_) => Shadow::None,
                s => s,
            };
            return Value { number: Number::Int(holds.into()), shadow };
        }
        match v.number {
            Number::Int(n) => {
                let w = to.wrap(n);
                if w != n {
                    return Value::int(w);
                }
                if let Shadow::Value(f) = &v.shadow {
                    if !to.signed() {
                        self.rely(Some(Fact::least((**f).clone())));
                    }
                    if to.bits() < 32 {
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
            Number::Real(r) => {
                let cut = r.trunc();
                let fits = cut.is_finite() && cut >= to.min() as f64 && cut <= to.max() as f64;
                if fits {
                    Value::int(to.wrap(cut as i128))
                } else {
                    Value::ANY
                }
            }
            _ => Value::ANY,
        }
    }

    pub(super) fn unary(&mut self, op: UnOp, v: Value, arg: TermId, ty: TypeId) -> Res<Value> {
        let types = &self.body().types;
        if op == UnOp::Not {
            let Some(holds) = v.truth() else { return Ok(Value::ANY) };
            let shadow = match &v.shadow {
                Shadow::Value(f) => Shadow::Truth(Rc::new(Fact::zero((**f).clone()))),
                Shadow::Truth(f) => f.negated().map_or(Shadow::None, |f| Shadow::Truth(Rc::new(f))),
                Shadow::Input(id) => {
                    let zero = matches!(v.number, Number::Real(_)).then_some(0.0);
                    Shadow::Compared(*id, BinOp::Eq, zero)
                }
                Shadow::Compared(id, op, c) => Shadow::Compared(*id, crate::nest::negated(*op), *c),
                Shadow::None => Shadow::None,
            };
            return Ok(Value { number: Number::Int((!holds).into()), shadow });
        }
        if let Some(k) = types.as_float(ty) {
            let v = self.convert(v, ty);
            return Ok(match (op, &v.number) {
                (UnOp::Plus, _) => v,
                (UnOp::Neg, Number::Real(r)) => rounded(k, -r).map_or(Value::ANY, Value::real),
                _ => Value::ANY,
            });
        }
        let Some(k) = types.as_int(ty) else { return Ok(Value::ANY) };
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

    fn common(&self, op: BinOp, a: TypeId, b: TypeId) -> Option<Common> {
        let types = &self.body().types;
        if matches!(op, BinOp::Shl | BinOp::Shr) {
            return types.as_int(a).map(|k| Common::Int(k.promoted()));
        }
        match (types.as_float(a), types.as_float(b)) {
            (Some(x), Some(y)) => Some(Common::Float(x.max(y))),
            (Some(x), None) | (None, Some(x)) => Some(Common::Float(x)),
            (None, None) => Some(Common::Int(types.as_int(a)?.common(types.as_int(b)?))),
        }
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
            return Ok(self.pointers(op, a, pa, b, pb));
        }
        match self.common(op, at, bt) {
            None => Ok(Value::ANY),
            Some(Common::Int(k)) => {
                if op.is_comparison() {
                    if let Some(v) = truth_compared(op, &a, &b) {
                        return Ok(v);
                    }
                }
                let a = self.converted(a, k);
                let b = match op {
                    BinOp::Shl | BinOp::Shr => b,
                    _ => self.converted(b, k),
                };
                self.ints(op, &a, &b, k, t)
            }
            Some(Common::Float(k)) => {
                let number = |v: &Value| match v.number {
                    Number::Int(n) if k == FloatKind::F32 => Some(f64::from(n as f32)),
                    Number::Int(n) => Some(n as f64),
                    Number::Real(r) => Some(r),
                    _ => None,
                };
                let input =
                    |v: &Value| matches!(v.shadow, Shadow::Input(_)) && matches!(v.number, Number::Real(_));
                let wrap = |v: &Value| match number(v).and_then(|n| rounded(k, n)) {
                    Some(n) => Value {
                        number: Number::Real(n),
                        shadow: if input(v) { v.shadow.clone() } else { Shadow::None },
                    },
                    None => Value::ANY,
                };
                Ok(self.floats(op, &wrap(&a), &wrap(&b), k))
            }
        }
    }

    pub(super) fn floats(&mut self, op: BinOp, a: &Value, b: &Value, k: FloatKind) -> Value {
        let (Number::Real(x), Number::Real(y)) = (&a.number, &b.number) else { return Value::ANY };
        if op.is_comparison() {
            let holds = compare_reals(op, *x, *y);
            let shadow = match (&a.shadow, &b.shadow) {
                (Shadow::Input(id), _) => Shadow::Compared(*id, op, Some(*y)),
                (_, Shadow::Input(id)) => Shadow::Compared(*id, crate::control::mirrored(op), Some(*x)),
                _ => Shadow::None,
            };
            return Value { number: Number::Int(holds.into()), shadow };
        }
        let v = match op {
            BinOp::Add => x + y,
            BinOp::Sub => x - y,
            BinOp::Mul => x * y,
            BinOp::Div => x / y,
            _ => return Value::ANY,
        };
        rounded(k, v).map_or(Value::ANY, Value::real)
    }

    fn pointers(&mut self, op: BinOp, a: Value, pa: Option<TypeId>, b: Value, pb: Option<TypeId>) -> Value {
        match (op, pa, pb) {
            (BinOp::Add, Some(of), None) => self.moved(&a, &b, 1, of),
            (BinOp::Add, None, Some(of)) => self.moved(&b, &a, 1, of),
            (BinOp::Sub, Some(of), None) => self.moved(&a, &b, -1, of),
            (BinOp::Sub, Some(of), Some(_)) => match (a.address(), b.address(), self.size_of(of)) {
                (Some(x), Some(y), Some(size)) if x.object == y.object && size > 0 => {
                    Value::int(i128::from((x.offset - y.offset) / size))
                }
                _ => Value::ANY,
            },
            _ if op.is_comparison() => {
                let null = |v: &Value| matches!(v.number, Number::Pointer(None) | Number::Int(0));
                let pointer = |v: &Value| match v.number {
                    Number::Pointer(p) => Some(p),
                    Number::Int(0) => Some(None),
                    _ => None,
                };
                let shadow = match (&a.shadow, &b.shadow) {
                    (Shadow::Input(id), _) if null(&b) => Shadow::Compared(*id, op, None),
                    (_, Shadow::Input(id)) if null(&a) => Shadow::Compared(*id, op, None),
                    _ => Shadow::None,
                };
                let (Some(x), Some(y)) = (pointer(&a), pointer(&b)) else { return Value::ANY };
                let holds = match (op, x, y) {
                    (BinOp::Eq, x, y) => x == y,
                    (BinOp::Ne, x, y) => x != y,
                    (_, Some(x), Some(y)) if x.object == y.object => {
                        compare_ints(op, x.offset.into(), y.offset.into())
                    }
                    _ => return Value::ANY,
                };
                Value { number: Number::Int(holds.into()), shadow }
            }
            _ => Value::ANY,
        }
    }

    /// On operands of the type `k` (the right one of a shift aside).
    pub fn ints(&mut self, op: BinOp, a: &Value, b: &Value, k: IntKind, t: TermId) -> Res<Value> {
        let (Number::Int(x), Number::Int(y)) = (&a.number, &b.number) else { return Ok(Value::ANY) };
        let (x, y) = (*x, *y);
        // A truth value that is counted with is decided.
        let number = |r: &mut Self, v: &Value| match v.shadow {
            Shadow::Truth(_) | Shadow::Compared(..) => {
                r.decide(v);
                v.as_int().map(Linear::constant)
            }
            _ => v.form(),
        };
        let (fa, fb) = (number(self, a), number(self, b));
        if op.is_comparison() {
            let fact = match (&fa, &fb) {
                (Some(f), Some(g)) if !(f.is_constant() && g.is_constant()) => Fact::compared(op, f, g),
                _ => None,
            };
            return Ok(Value::of_truth(compare_ints(op, x, y), fact));
        }
        if matches!(op, BinOp::Div | BinOp::Rem) {
            // Who divides by an input has to choose it.
            let zero = fb.clone().filter(|f| !f.is_constant()).map(|form| Fact { form, rel: Rel::NotZero });
            self.decide(&Value::of_truth(y != 0, zero));
        }
        let Ok(v) = integer(op, x, y, k) else { return self.fail(NotReplayed::NotReached, t) };
        let form = match (op, fa, fb) {
            (BinOp::Add, Some(f), Some(g)) => f.plus(&g, 1),
            (BinOp::Sub, Some(f), Some(g)) => f.plus(&g, -1),
            (BinOp::Mul, Some(f), Some(g)) if g.is_constant() => f.times(y),
            (BinOp::Mul, Some(f), Some(g)) if f.is_constant() => g.times(x),
            (BinOp::Shl, Some(f), _) if y < 40 => f.times(1 << y),
            (BinOp::Div, Some(f), Some(g)) if g.is_constant() && y > 0 => self.divided(&f, y, x),
            (BinOp::Rem, Some(f), Some(g)) if g.is_constant() && y > 0 => {
                self.divided(&f, y, x).and_then(|q| f.plus(&q, -y))
            }
            (BinOp::Shr, Some(f), _) if y < 40 => self.floored(&f, 1 << y),
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
        let form = form.filter(|f| !f.is_constant());
        if let (Some(f), false) = (&form, k.signed()) {
            // An unsigned result is that of the whole numbers only where it does not wrap.
            let whole = match op {
                BinOp::Add => x + y == v,
                BinOp::Sub => x - y == v,
                BinOp::Mul => x.checked_mul(y) == Some(v),
                BinOp::Shl => x << y.min(60) == v,
                _ => true,
            };
            if !whole {
                return Ok(Value::int(v));
            }
            self.rely(Some(Fact::least(f.clone())));
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

/// The type in which an operation is computed.
#[derive(Clone, Copy, PartialEq)]
enum Common {
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
        Shadow::Compared(id, op, c) => Shadow::Compared(*id, crate::nest::negated(*op), *c),
        _ => Shadow::None,
    };
    Some(Value { number: Number::Int((!holds).into()), shadow })
}
