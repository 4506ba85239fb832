//! Conversions: each that C# makes is a term.

use term::{FloatKind, IntKind, Op, Reach, RejectKind, Term, TermId, UnOp, F64};

use super::member::{Lower, Value};
use super::types::Ty;

impl Lower<'_> {
    /// The value of a whole-number constant.
    pub(super) fn constant(&self, t: TermId) -> Option<i128> {
        let term = self.b.get(t);
        match (&term.op, &*term.args) {
            (Op::Int(v), _) => Some(*v),
            (Op::Unary(UnOp::Neg), &[inner]) => match self.b.get(inner).op {
                Op::Int(v) => Some(-v),
                _ => None,
            },
            _ => None,
        }
    }

    /// The value as one of another type.
    pub(super) fn convert(&mut self, v: Value, to: &Ty) -> Value {
        if v.ty == *to {
            return v;
        }
        match (&v.ty, to) {
            (Ty::Array(of, 1), Ty::Span(inner)) if of == inner => return Value { ty: to.clone(), ..v },
            (Ty::Null, Ty::Array(_, 1) | Ty::Class(_)) => {
                let ty = self.repr(to);
                let span = self.b.span(v.t);
                let t = self.b.term(Op::Cast, [v.t], ty, span);
                return Value { t, ty: to.clone(), lengths: Vec::new() };
            }
            _ if v.ty.is_number() && to.is_number() => {}
            // what is not known stays so
            (_, Ty::Unknown(_)) | (Ty::Unknown(_), _) if !matches!(to, Ty::Array(_, 2..)) => {
                return self.odd(v, to);
            }
            _ => return self.odd(v, to),
        }
        let span = self.b.span(v.t);
        if let Op::Int(value) = self.b.get(v.t).op {
            let constant = match *to {
                Ty::Int(k) if k.wrap(value) == value => Some(Op::Int(value)),
                Ty::Float(FloatKind::F64) => Some(Op::Float(F64::new(value as f64))),
                Ty::Float(FloatKind::F32) => Some(Op::Float(F64::new(f64::from(value as f32)))),
                _ => None,
            };
            if let Some(op) = constant {
                let ty = self.repr(to);
                self.b.set(v.t, Term { op, args: Box::default(), ty });
                return Value { ty: to.clone(), ..v };
            }
        }
        if let (Op::Float(value), Ty::Float(kind)) = (self.b.get(v.t).op.clone(), to) {
            let value = match kind {
                FloatKind::F32 => f64::from(value.get() as f32),
                _ => value.get(),
            };
            let ty = self.repr(to);
            self.b.set(v.t, Term { op: Op::Float(F64::new(value)), args: Box::default(), ty });
            return Value { ty: to.clone(), ..v };
        }
        let ty = self.repr(to);
        let t = self.b.term(Op::Cast, [v.t], ty, span);
        Value { t, ty: to.clone(), lengths: Vec::new() }
    }

    /// A conversion that is not followed: it may run code.
    fn odd(&mut self, v: Value, to: &Ty) -> Value {
        if let Op::Reject(_) = self.b.get(v.t).op {
            let ty = self.repr(to);
            let mut term = self.b.get(v.t).clone();
            term.ty = ty;
            self.b.set(v.t, term);
            return Value { ty: to.clone(), lengths: Vec::new(), ..v };
        }
        self.is_open = true;
        let span = self.b.span(v.t);
        let reason = "this conversion is not followed";
        let v = Value { t: self.as_read(v.t), ..v };
        let t = self.b.reject_that(RejectKind::Unsupported, reason, span, Reach::Named, vec![v.t]);
        let ty = self.repr(to);
        let mut term = self.b.get(t).clone();
        term.ty = ty;
        self.b.set(t, term);
        Value { t, ty: to.clone(), lengths: Vec::new() }
    }

    /// The type in which two numbers are computed with (C# 12.4.7.3); `None`: C# has none.
    pub(super) fn common(&self, a: &Value, b: &Value) -> Option<Ty> {
        match (&a.ty, &b.ty) {
            (Ty::Float(x), Ty::Float(y)) => return Some(Ty::Float(*x.max(y))),
            (Ty::Float(x), y) | (y, Ty::Float(x)) => return y.is_number().then_some(Ty::Float(*x)),
            _ => {}
        }
        let (x, y) = (a.ty.as_int()?, b.ty.as_int()?);
        // a constant of type `int` is one of any type that holds it
        let fits = |v: &Value, k: IntKind, to: IntKind| {
            let small = self.constant(v.t).is_some_and(|c| to.min() <= c && c <= to.max());
            (to.min() <= k.min() && k.max() <= to.max()) || (small && k == IntKind::Int)
        };
        let both = |to: IntKind| fits(a, x, to) && fits(b, y, to);
        let either = |k: IntKind| x == k || y == k;
        if either(IntKind::ULongLong) {
            return both(IntKind::ULongLong).then_some(Ty::Int(IntKind::ULongLong));
        }
        if either(IntKind::LongLong) {
            return Some(Ty::Int(IntKind::LongLong));
        }
        if either(IntKind::UInt) {
            return Some(Ty::Int(if both(IntKind::UInt) { IntKind::UInt } else { IntKind::LongLong }));
        }
        Some(Ty::INT)
    }
}
