//! Expressions of a replay: each one's value, what it does on the way, and the place that an lvalue is. `accesses` reads and
//! writes those places, `operators` computes.

mod accesses;
mod operators;

use term::{BinOp, FloatKind, IntKind, Op, RejectKind, Storage, SymbolId, TermId, TypeId, TypeKind};

use super::inputs::Owner;
use super::layout::{self, Bits};
use super::memory::{ReplayObject, Rest};
use super::run::{Flow, Led, Res, Run};
use super::values::{rounded, Address, Fact, Number, Shadow, Value};
use crate::NotReplayed;
pub(super) use operators::Common;

/// A place in memory and what lies there.
#[derive(Clone, Copy)]
pub(super) struct Lvalue {
    pub at: Address,
    pub ty: TypeId,
    pub bits: Option<Bits>,
}

impl<'a> Run<'a, '_> {
    pub fn eval(&mut self, t: TermId) -> Res<Value> {
        self.depth += 1;
        let v = self.tick(t).and_then(|()| self.expression(t));
        self.depth -= 1;
        v
    }

    fn expression(&mut self, t: TermId) -> Res<Value> {
        let body = self.body();
        let args = body.args(t);
        let ty = body.ty(t);
        match body.op(t) {
            Op::Empty => Ok(Value::ANY),
            Op::Int(v) => Ok(Value::int(*v)),
            Op::Float(f) => Ok(match body.types.as_float(ty) {
                // `0.1L` has more digits than are kept.
                Some(k @ FloatKind::Long) if f.get().fract() != 0.0 => {
                    Value::near(k, f.get(), f.get().abs() * f64::EPSILON)
                }
                Some(k) => Value::real(rounded(k, f.get())),
                None => Value::ANY,
            }),
            Op::Str(s) => {
                let object = match self.strings.get(s) {
                    Some(&o) => o,
                    None => {
                        let o = self.memory.add(ReplayObject::new(Rest::Zero, Some(s.len() as i64 + 1)));
                        for (k, b) in s.bytes().enumerate() {
                            let at = Address { object: o, offset: k as i64 };
                            if let Some(x) = self.memory.at(at) {
                                x.store(k as i64, 1, Value::int(i128::from(b as i8)));
                            }
                        }
                        self.strings.insert(s.clone(), o);
                        o
                    }
                };
                Ok(Value::pointer(Address { object, offset: 0 }))
            }
            Op::Sym(s) => self.symbol(*s, t),
            Op::Unary(op) => {
                let v = self.eval(args[0])?;
                self.unary(*op, v, args[0], ty)
            }
            Op::Binary(op @ (BinOp::And | BinOp::Or)) => {
                let begun = self.events.len();
                let first = self.eval(args[0])?;
                let ends_at = *op == BinOp::Or;
                match self.decide(&first) {
                    Some(b) if b == ends_at => return Ok(Value::int(b.into())),
                    Some(_) => {}
                    None => {
                        self.either(&args[1..], args[0])?;
                        return Ok(Value::ANY);
                    }
                }
                let other = begun..self.events.len();
                let second = self.eval(args[1])?;
                let second = self.decide(&second);
                if second == Some(ends_at) {
                    self.led(other, Led::Moot);
                }
                Ok(match second {
                    Some(b) => Value::int(b.into()),
                    None => Value::ANY,
                })
            }
            Op::Binary(op) => {
                let a = self.eval(args[0])?;
                let b = self.eval(args[1])?;
                self.binary(*op, (a, body.ty(args[0])), (b, body.ty(args[1])), t)
            }
            Op::Select => {
                let c = self.eval(args[0])?;
                let taken = match self.decide(&c) {
                    Some(true) => args[1],
                    Some(false) => args[2],
                    None => {
                        self.either(&args[1..], args[0])?;
                        return Ok(Value::ANY);
                    }
                };
                let v = self.eval(taken)?;
                Ok(self.convert(v, ty))
            }
            Op::Arithmetic(_) => self.eval(args[0]),
            Op::Comma => {
                self.exec(args[0])?;
                self.eval(args[1])
            }
            Op::Cast => {
                let v = self.eval(args[0])?;
                Ok(self.convert(v, ty))
            }
            Op::Assign => {
                let v = self.eval(args[1])?;
                let from = body.ty(args[1]);
                match self.place(args[0])? {
                    Some(p) => self.assign_to(p, v, from, args[0]),
                    None => self.lost_write(args[0]),
                }
            }
            Op::Compound(op) => {
                let right = self.eval(args[1])?;
                let Some(p) = self.place(args[0])? else { return self.lost_write(args[0]) };
                let old = self.read_place(p, Some(args[0]))?;
                let new = self.binary(*op, (old, p.ty), (right, body.ty(args[1])), t)?;
                self.store(p, new, args[0])
            }
            Op::Step { delta, prefix } => {
                let Some(p) = self.place(args[0])? else { return self.lost_write(args[0]) };
                let old = self.read_place(p, Some(args[0]))?;
                let by = Value::int(i128::from(*delta));
                let new = match body.types.element(p.ty) {
                    Some(of) => self.moved(&old, &by, 1, of),
                    None => match body.types.as_float(p.ty) {
                        Some(k) => self.floats(BinOp::Add, &old, &Value::real(f64::from(*delta)), k),
                        None => {
                            let k = body.types.as_int(p.ty).map_or(IntKind::Int, IntKind::promoted);
                            let a = self.converted(old.clone(), k);
                            self.ints(BinOp::Add, &a, &by, k, t)?
                        }
                    },
                };
                let stored = self.store(p, new, args[0])?;
                Ok(if *prefix { stored } else { old })
            }
            Op::Index | Op::Member { .. } | Op::Deref => match self.place(t)? {
                Some(p) => self.read_place(p, Some(t)),
                None => Ok(Value::ANY),
            },
            Op::AddrOf => {
                if let Some(s) = body.as_symbol(args[0]) {
                    if body.symbols[s].storage == Storage::Function {
                        return self.symbol(s, t);
                    }
                }
                Ok(self.place(args[0])?.map_or(Value::ANY, |p| Value::pointer(p.at)))
            }
            Op::Call => self.call(t),
            Op::SizeOfType(of) => Ok(self.size_value(*of)),
            Op::SizeOf => Ok(self.size_value(body.ty(args[0]))),
            Op::List
            | Op::Declare(_)
            | Op::If
            | Op::For
            | Op::While
            | Op::DoWhile
            | Op::Switch
            | Op::Mark(_) => match self.exec(t)? {
                Flow::Next => Ok(Value::ANY),
                _ => self.fail(NotReplayed::NotUnderstood, t),
            },
            Op::Reject(r) => self.unread(body.reject(*r), t),
            _ => self.fail(NotReplayed::NotUnderstood, t),
        }
    }

    /// A call of a name that no text defines, where its value is used: a function, or a macro that is as good as one.
    fn unread(&mut self, gap: &term::Reject, t: TermId) -> Res<Value> {
        let body = self.body();
        if gap.kind != RejectKind::Unread {
            return self.fail(NotReplayed::NotUnderstood, t);
        }
        for &a in body.args(t) {
            self.eval(a)?;
        }
        Ok(self.unread_call(t))
    }

    fn size_value(&mut self, ty: TypeId) -> Value {
        // Only where the layout is that of the ABI, or a number of such elements.
        let types = &self.body().types;
        let mut inner = ty;
        while let TypeKind::Array { of, .. } = types.kind(inner) {
            inner = *of;
        }
        if types.size_align(inner).is_none() {
            return Value::ANY;
        }
        self.size_of(ty).map_or(Value::ANY, |n| Value::int(n.into()))
    }

    fn symbol(&mut self, s: SymbolId, t: TermId) -> Res<Value> {
        let body = self.body();
        let symbol = &body.symbols[s];
        match symbol.storage {
            Storage::Constant(v) => return Ok(Value::int(v)),
            Storage::Function => {
                return Ok(Value { number: Number::Function(symbol.name.clone()), shadow: Shadow::None })
            }
            Storage::Undeclared if matches!(body.types.kind(symbol.ty), TypeKind::Opaque(_)) => {
                return Ok(Value::free(Owner::Global(symbol.name.clone())));
            }
            _ => {}
        }
        let object = self.variable(s)?;
        self.read_place(Lvalue { at: Address { object, offset: 0 }, ty: symbol.ty, bits: None }, Some(t))
    }

    /// Where an lvalue is; `None`: not known.
    pub fn place(&mut self, t: TermId) -> Res<Option<Lvalue>> {
        let body = self.body();
        let args = body.args(t);
        let ty = body.ty(t);
        match body.op(t) {
            Op::Sym(s) => {
                let object = self.variable(*s)?;
                Ok(Some(Lvalue { at: Address { object, offset: 0 }, ty: body.symbols[*s].ty, bits: None }))
            }
            Op::Index => {
                let (base, sub) = match body.types.as_int(body.ty(args[0])) {
                    Some(_) => (args[1], args[0]),
                    None => (args[0], args[1]),
                };
                let b = self.eval(base)?;
                let i = self.eval(sub)?;
                let p = match self.element(body.ty(base), base)? {
                    Some(size) => self.shifted(&b, &i, size, t)?,
                    None => None,
                };
                Ok(p.map(|at| Lvalue { at, ty, bits: None }))
            }
            Op::Deref => {
                let v = self.eval(args[0])?;
                Ok(self.pointed(&v, t)?.map(|at| Lvalue { at, ty, bits: None }))
            }
            Op::Member { field, arrow } => {
                let of = body.ty(args[0]);
                let (base, record) = match arrow {
                    true => {
                        let v = self.eval(args[0])?;
                        (self.pointed(&v, t)?, body.types.element(of))
                    }
                    false => (self.place(args[0])?.map(|p| p.at), Some(of)),
                };
                if let (Some(at), Some(TypeKind::Opaque(_))) = (base, record.map(|r| body.types.kind(r))) {
                    let offset = at.offset.checked_add(self.unseen_member(field));
                    return Ok(offset.map(|offset| Lvalue { at: Address { offset, ..at }, ty, bits: None }));
                }
                let lengths = &self.frames[self.frames.len() - 1].lengths;
                let found = record.and_then(|r| layout::field(&body.types, lengths, r, field));
                Ok(base.zip(found).map(|(at, (offset, fty, bits))| Lvalue {
                    at: Address { object: at.object, offset: at.offset.wrapping_add(offset) },
                    ty: fty,
                    bits,
                }))
            }
            Op::Comma => {
                self.eval(args[0])?;
                self.place(args[1])
            }
            Op::Cast if !body.types.is_arithmetic(ty) => self.place(args[0]),
            _ => {
                let v = self.eval(t)?;
                Ok(match v.number {
                    Number::Record(at) => Some(Lvalue { at, ty, bits: None }),
                    Number::Pointer(Some(at)) if matches!(body.types.kind(ty), TypeKind::Array { .. }) => {
                        Some(Lvalue { at, ty, bits: None })
                    }
                    _ => None,
                })
            }
        }
    }

    /// Bytes of what a pointer or array steps by.
    fn element(&mut self, ty: TypeId, _at: TermId) -> Res<Option<i64>> {
        let Some(of) = self.body().types.element(ty) else { return Ok(None) };
        if let Some(size) = self.size_of(of) {
            return Ok(Some(size));
        }
        self.fix_lengths(of)?;
        Ok(self.size_of(of))
    }

    fn pointed(&mut self, v: &Value, t: TermId) -> Res<Option<Address>> {
        match v.number {
            Number::Pointer(Some(a)) => Ok(Some(a)),
            Number::Pointer(None) => self.fail(NotReplayed::NotReached, t),
            _ => Ok(None),
        }
    }

    fn shifted(&mut self, base: &Value, by: &Value, size: i64, t: TermId) -> Res<Option<Address>> {
        let Some(a) = self.pointed(base, t)? else { return Ok(None) };
        let by = &self.used_as(by.clone(), Common::Int(IntKind::Int));
        let Some(k) = by.as_int().and_then(|k| i64::try_from(k).ok()) else { return Ok(None) };
        let bytes = self.memory.objects.get(a.object as usize).and_then(|o| o.size);
        if let (Some(bytes), Some(f), true) = (bytes, by.form().filter(|f| !f.is_constant()), size > 0) {
            // An input that subscripts has to stay inside.
            let (least, most) = ((-a.offset).div_euclid(size), (bytes - a.offset).div_euclid(size) - 1);
            let (mut low, high) = (f.clone(), f.times(-1));
            low.constant -= i128::from(least);
            self.decide(&Value::of_truth(k >= least, Some(Fact::least(low))));
            if let Some(mut high) = high {
                high.constant += i128::from(most);
                self.decide(&Value::of_truth(k <= most, Some(Fact::least(high))));
            }
            // What a constant table holds there is no input: another element may be the one that leads on.
            if self.memory.objects.get(a.object as usize).is_some_and(|o| o.own) {
                let mut here = f;
                here.constant -= i128::from(k);
                self.decide(&Value::of_truth(true, Some(Fact::zero(here))));
            }
        }
        let offset = k.checked_mul(size).and_then(|d| a.offset.checked_add(d));
        Ok(offset.map(|offset| Address { object: a.object, offset }))
    }

    fn moved(&mut self, base: &Value, by: &Value, sign: i64, of: TypeId) -> Value {
        let (Number::Pointer(Some(a)), Some(k), Some(size)) = (&base.number, by.as_int(), self.size_of(of))
        else {
            return Value::ANY;
        };
        let by = i64::try_from(k).ok().and_then(|k| k.checked_mul(size)?.checked_mul(sign));
        match by.and_then(|d| a.offset.checked_add(d)) {
            Some(offset) => Value::pointer(Address { object: a.object, offset }),
            None => Value::ANY,
        }
    }
}
