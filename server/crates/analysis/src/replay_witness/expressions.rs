//! Expressions of a replay: C's conversions and operators on numbers, with the shadows that go along.

use std::rc::Rc;

use term::{BinOp, FloatKind, IntKind, Op, Storage, SymbolId, TermId, TypeId, TypeKind, UnOp};

use super::inputs::{Given, Kind, Owner};
use super::layout;
use super::memory::{Found, Object, Rest};
use super::run::{Flow, Halt, Res, Run};
use super::values::{
    compare_ints, compare_reals, integer, rounded, Address, Fact, Linear, Number, Rel, Shadow, Value,
};
use crate::NotReplayed;

/// A place in memory and what lies there.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub at: Address,
    pub ty: TypeId,
    pub bits: Option<u32>,
}

/// The type in which an operation is computed.
#[derive(Clone, Copy, PartialEq)]
enum Common {
    Int(IntKind),
    Float(FloatKind),
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
            Op::Float(f) => Ok(match body.types.as_float(ty).and_then(|k| rounded(k, f.get())) {
                Some(v) => Value::real(v),
                None => Value::ANY,
            }),
            Op::Str(s) => {
                let object = match self.strings.get(s) {
                    Some(&o) => o,
                    None => {
                        let o = self.memory.add(Object::new(Rest::Zero, Some(s.len() as i64 + 1)));
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
                let second = self.eval(args[1])?;
                Ok(match self.decide(&second) {
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
            Op::Comma => {
                self.eval(args[0])?;
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
            _ => self.fail(NotReplayed::NotUnderstood, t),
        }
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
            _ => {}
        }
        let object = self.variable(s)?;
        self.read_place(Place { at: Address { object, offset: 0 }, ty: symbol.ty, bits: None }, Some(t))
    }

    /// Where an lvalue is; `None`: not known.
    pub fn place(&mut self, t: TermId) -> Res<Option<Place>> {
        let body = self.body();
        let args = body.args(t);
        let ty = body.ty(t);
        match body.op(t) {
            Op::Sym(s) => {
                let object = self.variable(*s)?;
                Ok(Some(Place { at: Address { object, offset: 0 }, ty: body.symbols[*s].ty, bits: None }))
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
                Ok(p.map(|at| Place { at, ty, bits: None }))
            }
            Op::Deref => {
                let v = self.eval(args[0])?;
                Ok(self.pointed(&v, t)?.map(|at| Place { at, ty, bits: None }))
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
                let lengths = &self.frames[self.frames.len() - 1].lengths;
                let found = record.and_then(|r| layout::field(&body.types, lengths, r, field));
                Ok(base.zip(found).map(|(at, (offset, fty, bits))| Place {
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
                    Number::Record(at) => Some(Place { at, ty, bits: None }),
                    Number::Pointer(Some(at)) if matches!(body.types.kind(ty), TypeKind::Array { .. }) => {
                        Some(Place { at, ty, bits: None })
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

    // ---- reading and writing

    /// Whether the stretch is inside its object: a run that leaves it is none.
    fn inside(&self, at: Address, size: i64, term: Option<TermId>) -> Res<()> {
        let bytes = self.memory.objects.get(at.object as usize).and_then(|o| o.size);
        let outside = bytes.is_some_and(|n| at.offset < 0 || at.offset.saturating_add(size) > n);
        match (outside, term) {
            (true, Some(t)) => self.fail(NotReplayed::NotReached, t),
            (true, None) => Err(Halt::Fail(NotReplayed::NotReached, None)),
            _ => Ok(()),
        }
    }

    pub fn read(&mut self, at: Address, ty: TypeId, term: Option<TermId>) -> Res<Value> {
        self.read_place(Place { at, ty, bits: None }, term)
    }

    pub fn read_place(&mut self, p: Place, term: Option<TermId>) -> Res<Value> {
        let Place { at, ty, bits } = p;
        let types = &self.body().types;
        if matches!(types.kind(ty), TypeKind::Array { .. }) {
            return Ok(Value::pointer(at));
        }
        let Some(size) = self.size_of(ty) else { return Ok(Value::ANY) };
        self.inside(at, size, term)?;
        self.touch(term, at, size, false)?;
        let quals = types.quals(ty);
        match types.kind(ty) {
            TypeKind::Record(_) => {
                return Ok(Value { number: Number::Record(at), shadow: Shadow::None });
            }
            _ if quals.is_volatile => return Ok(Value::ANY),
            TypeKind::Int(_) | TypeKind::Float(_) | TypeKind::Pointer { .. } => {}
            _ => return Ok(Value::ANY),
        }
        let found = match self.memory.at(at) {
            Some(o) => o.load(at.offset, size),
            None => return Ok(Value::ANY),
        };
        match found {
            Found::Value(v) => Ok(self.seen_as(v, ty)),
            Found::Mixed | Found::Rest(Rest::Any) => Ok(Value::ANY),
            Found::Rest(Rest::Zero) => Ok(match types.kind(ty) {
                TypeKind::Int(_) => Value::int(0),
                TypeKind::Float(_) => Value::real(0.0),
                _ => Value { number: Number::Pointer(None), shadow: Shadow::None },
            }),
            Found::Rest(Rest::Input(owner)) => {
                let v = self.input(&owner, at.offset, ty, bits);
                if let Some(o) = self.memory.at(at) {
                    o.store(at.offset, size, v.clone());
                }
                Ok(v)
            }
        }
    }

    /// What was stored, read as this type.
    fn seen_as(&self, v: Value, ty: TypeId) -> Value {
        let types = &self.body().types;
        match (types.kind(ty), &v.number) {
            (TypeKind::Int(k), Number::Int(n)) if k.wrap(*n) == *n => v,
            (TypeKind::Int(k), Number::Int(n)) => Value::int(k.wrap(*n)),
            (TypeKind::Float(_), Number::Real(_)) => v,
            (TypeKind::Pointer { .. }, Number::Pointer(_) | Number::Function(_)) => v,
            _ => Value::ANY,
        }
    }

    /// An input's value.
    pub fn input(&mut self, owner: &Owner, offset: i64, ty: TypeId, bits: Option<u32>) -> Value {
        let types = &self.body().types;
        let (kind, size) = match types.kind(ty) {
            TypeKind::Int(k) => {
                let k = *k;
                let (mut least, mut most) = (k.min(), k.max());
                if let Some(b) = bits.filter(|b| *b > 0 && *b < k.bits()) {
                    (least, most) = match k.signed() {
                        true => (-(1 << (b - 1)), (1 << (b - 1)) - 1),
                        false => (0, (1 << b) - 1),
                    };
                }
                (Kind::Int { kind: k, least, most }, k.bits() / 8)
            }
            TypeKind::Float(FloatKind::Long) => return Value::ANY,
            TypeKind::Float(k) => (Kind::Real(*k), if *k == FloatKind::F32 { 4 } else { 8 }),
            TypeKind::Pointer { to, .. } if !matches!(types.kind(*to), TypeKind::Function { .. }) => {
                (Kind::Pointer, 8)
            }
            _ => return Value::ANY,
        };
        let id = self.inputs.id(owner, offset, size, kind);
        let given = self.given.get(&id).copied();
        let usual = self.inputs.get(id).map_or(1, |i| i.usual);
        match (kind, given) {
            (Kind::Int { least, most, .. }, given) => {
                let v = match given {
                    Some(Given::Int(v)) => v,
                    _ => usual,
                };
                Value::with(Number::Int(v.clamp(least, most)), Some(Linear::var(id)))
            }
            (Kind::Real(k), given) => {
                let v = match given {
                    Some(Given::Real(v)) => v,
                    _ => 1.0,
                };
                Value { number: Number::Real(rounded(k, v).unwrap_or(v)), shadow: Shadow::Input(id) }
            }
            (Kind::Pointer, given) => {
                let at = match given {
                    Some(Given::Null) => None,
                    Some(Given::Into(other, by)) => Some(Address { object: self.behind(other), offset: by }),
                    Some(Given::At(a)) if (a.object as usize) < self.memory.objects.len() => Some(a),
                    _ => Some(Address { object: self.behind(id), offset: 0 }),
                };
                Value { number: Number::Pointer(at), shadow: Shadow::Input(id) }
            }
        }
    }

    fn behind(&mut self, id: super::values::Id) -> u32 {
        if let Some(&o) = self.behind.get(&id) {
            return o;
        }
        let mut object = Object::new(Rest::Input(Owner::Behind(id)), None);
        object.behind = Some(id);
        let o = self.memory.add(object);
        self.behind.insert(id, o);
        o
    }

    /// Stores a value that already has the type.
    pub fn write(&mut self, at: Address, ty: TypeId, v: Value, term: Option<TermId>) -> Res<()> {
        let Some(size) = self.size_of(ty) else {
            if let Some(o) = self.memory.at(at) {
                o.refill(Rest::Any);
            }
            return Ok(());
        };
        self.inside(at, size, term)?;
        self.touch(term, at, size, true)?;
        if let Some(o) = self.memory.at(at) {
            o.store(at.offset, size, v);
        }
        Ok(())
    }

    fn store(&mut self, p: Place, v: Value, term: TermId) -> Res<Value> {
        let mut v = self.convert(v, p.ty);
        if let (Some(b), Some(k), Number::Int(n)) = (p.bits, self.body().types.as_int(p.ty), &v.number) {
            if b > 0 && b < k.bits() {
                let cut = n.rem_euclid(1 << b);
                let cut = if k.signed() && cut >= 1 << (b - 1) { cut - (1 << b) } else { cut };
                if cut != *n {
                    v = Value::int(cut);
                }
            }
        }
        self.write(p.at, p.ty, v.clone(), Some(term))?;
        Ok(v)
    }

    fn assign_to(&mut self, p: Place, v: Value, from: TypeId, term: TermId) -> Res<Value> {
        match v.number {
            Number::Record(at) => {
                self.copy_record(p.at, at, p.ty, Some(term))?;
                Ok(Value { number: Number::Record(p.at), shadow: Shadow::None })
            }
            _ if matches!(self.body().types.kind(p.ty), TypeKind::Record(_)) => {
                self.assign(p.at, p.ty, v, from, Some(term))?;
                Ok(Value { number: Number::Record(p.at), shadow: Shadow::None })
            }
            _ => self.store(p, v, term),
        }
    }

    pub fn assign(
        &mut self,
        at: Address,
        ty: TypeId,
        v: Value,
        _from: TypeId,
        term: Option<TermId>,
    ) -> Res<()> {
        match v.number {
            Number::Record(from) => self.copy_record(at, from, ty, term),
            _ if !matches!(
                self.body().types.kind(ty),
                TypeKind::Int(_) | TypeKind::Float(_) | TypeKind::Pointer { .. }
            ) =>
            {
                let size = self.size_of(ty).unwrap_or(1 << 40);
                self.touch(term, at, size, true)?;
                if let Some(o) = self.memory.at(at) {
                    o.fill(at.offset, size, Rest::Any);
                }
                Ok(())
            }
            _ => {
                let v = self.convert(v, ty);
                self.write(at, ty, v, term)
            }
        }
    }

    pub fn copy_record(&mut self, to: Address, from: Address, ty: TypeId, term: Option<TermId>) -> Res<()> {
        let body = self.body();
        let Some(size) = self.size_of(ty) else { return self.lost_at(to) };
        self.inside(to, size, term)?;
        self.touch(term, to, size, true)?;
        let lengths = &self.frames[self.frames.len() - 1].lengths;
        let leaves = layout::leaves(&body.types, lengths, ty);
        let moved = |a: Address, by: i64| Address { object: a.object, offset: a.offset + by };
        match leaves {
            Some(leaves) => {
                let mut values = Vec::with_capacity(leaves.len());
                for (at, ty) in &leaves {
                    values.push(self.read(moved(from, *at), *ty, None)?);
                }
                for ((at, ty), v) in leaves.iter().zip(values) {
                    self.write(moved(to, *at), *ty, v, None)?;
                }
            }
            None => self.copy_bytes(to, from, size),
        }
        Ok(())
    }

    pub fn copy_bytes(&mut self, to: Address, from: Address, size: i64) {
        let Some(source) = self.memory.objects.get(from.object as usize).cloned() else { return };
        if let Some(o) = self.memory.at(to) {
            o.copy_from(to.offset, &source, from.offset, size);
        }
    }

    fn lost_at(&mut self, at: Address) -> Res<()> {
        if let Some(o) = self.memory.at(at) {
            o.refill(Rest::Any);
        }
        Ok(())
    }

    /// A write to a place that is not known.
    fn lost_write(&mut self, place: TermId) -> Res<Value> {
        self.forget_place(place)?;
        Ok(Value::ANY)
    }

    /// Writes an initialiser; what it leaves out is zero.
    pub fn initialise(&mut self, at: Address, ty: TypeId, init: TermId) -> Res<()> {
        let body = self.body();
        match (body.op(init), body.types.kind(ty)) {
            (Op::InitList, TypeKind::Array { .. } | TypeKind::Record(_)) => {
                let size = self.size_of(ty).unwrap_or(1 << 40);
                if let Some(o) = self.memory.at(at) {
                    o.fill(at.offset, size, Rest::Zero);
                }
                let mut next = 0;
                self.fill(at, ty, init, &mut next)
            }
            (Op::Str(s), TypeKind::Array { of, .. }) if self.size_of(*of) == Some(1) => {
                let size = self.size_of(ty).unwrap_or(s.len() as i64 + 1);
                if let Some(o) = self.memory.at(at) {
                    o.fill(at.offset, size, Rest::Zero);
                    for (k, b) in s.bytes().enumerate().take(size.max(0) as usize) {
                        o.store(at.offset + k as i64, 1, Value::int(i128::from(b as i8)));
                    }
                }
                Ok(())
            }
            (Op::InitList, _) => match body.args(init) {
                &[one] => self.initialise(at, ty, one),
                [] => self.assign(at, ty, Value::int(0), ty, None),
                _ => self.fail(NotReplayed::NotUnderstood, init),
            },
            _ => {
                let v = self.eval(init)?;
                self.assign(at, ty, v, body.ty(init), None)
            }
        }
    }

    /// Fills one aggregate from a list's items, braces given or elided (C11 6.7.9p20).
    fn fill(&mut self, at: Address, ty: TypeId, list: TermId, next: &mut usize) -> Res<()> {
        let body = self.body();
        let items = body.args(list);
        let moved = |by: i64| Address { object: at.object, offset: at.offset + by };
        let parts: Vec<(i64, TypeId)> = match body.types.kind(ty) {
            TypeKind::Array { of, len } => {
                let n = match len {
                    term::Len::Const(n) => (*n).min(items.len() as u64),
                    _ => items.len() as u64,
                };
                let Some(size) = self.size_of(*of) else {
                    return self.fail(NotReplayed::NotUnderstood, list);
                };
                (0..n as i64).map(|k| (k * size, *of)).collect()
            }
            TypeKind::Record(r) => {
                let record = body.types.record(*r);
                let fields = record.fields.as_deref().unwrap_or_default();
                let lengths = &self.frames[self.frames.len() - 1].lengths;
                let all = fields.iter().filter_map(|f| {
                    let (at, ty, _) = layout::field(&body.types, lengths, ty, &f.name)?;
                    Some((at, ty))
                });
                all.take(if record.is_union { 1 } else { usize::MAX }).collect()
            }
            _ => vec![(0, ty)],
        };
        for (by, part) in parts {
            let Some(&item) = items.get(*next) else { return Ok(()) };
            let aggregate = matches!(body.types.kind(part), TypeKind::Array { .. } | TypeKind::Record(_));
            let record = matches!(body.types.kind(body.ty(item)), TypeKind::Record(_))
                && matches!(body.types.kind(part), TypeKind::Record(_));
            let braced = matches!(body.op(item), Op::InitList | Op::Str(_));
            if aggregate && !braced && !record {
                self.fill(moved(by), part, list, next)?;
                continue;
            }
            *next += 1;
            self.initialise(moved(by), part, item)?;
        }
        Ok(())
    }

    // ---- conversions and operators

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

    fn unary(&mut self, op: UnOp, v: Value, arg: TermId, ty: TypeId) -> Res<Value> {
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

    fn binary(&mut self, op: BinOp, a: (Value, TypeId), b: (Value, TypeId), t: TermId) -> Res<Value> {
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

    fn floats(&mut self, op: BinOp, a: &Value, b: &Value, k: FloatKind) -> Value {
        let (Number::Real(x), Number::Real(y)) = (&a.number, &b.number) else { return Value::ANY };
        if op.is_comparison() {
            let holds = compare_reals(op, *x, *y);
            let shadow = match (&a.shadow, &b.shadow) {
                (Shadow::Input(id), _) => Shadow::Compared(*id, op, Some(*y)),
                (_, Shadow::Input(id)) => Shadow::Compared(*id, mirrored(op), Some(*x)),
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

fn mirrored(op: BinOp) -> BinOp {
    match op {
        BinOp::Lt => BinOp::Gt,
        BinOp::Le => BinOp::Ge,
        BinOp::Gt => BinOp::Lt,
        BinOp::Ge => BinOp::Le,
        o => o,
    }
}
