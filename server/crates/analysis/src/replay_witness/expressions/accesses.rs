//! Memory in a replay: what a place holds, what inputs hold where nothing was written yet, and what a write leaves there. The
//! watch is told of every access; a run that leaves an object is none. Values of records are copied leaf by leaf.

use std::sync::Arc;

use term::{FloatKind, Op, TermId, TypeId, TypeKind};

use super::Lvalue;
use crate::replay_witness::inputs::{Given, Kind, Owner, BITS};
use crate::replay_witness::layout::{self, Bits};
use crate::replay_witness::memory::{Contents, ReplayObject, Rest};
use crate::replay_witness::run::{Halt, Res, Run};
use crate::replay_witness::values::{rounded, Address, Fact, Id, Linear, Number, Shadow, Value};
use crate::NotReplayed;

/// Members of a record of which no text is seen lie behind all bytes that objects have, each so far from the next.
const UNSEEN: i64 = 1 << 48;
const UNSEEN_STEP: i64 = 1 << 32;

impl Run<'_, '_> {
    /// Where the member of this name lies in a record of which no text is seen: some header says where.
    pub fn unseen_member(&mut self, name: &str) -> i64 {
        let known = self.unseen.iter().position(|n| **n == *name);
        let k = known.unwrap_or_else(|| {
            self.unseen.push(name.into());
            self.unseen.len() - 1
        });
        UNSEEN + k as i64 * UNSEEN_STEP
    }

    pub fn read(&mut self, at: Address, ty: TypeId, term: Option<TermId>) -> Res<Value> {
        self.read_place(Lvalue { at, ty, bits: None }, term)
    }

    pub fn read_place(&mut self, p: Lvalue, term: Option<TermId>) -> Res<Value> {
        let Lvalue { at, ty, bits } = p;
        let types = &self.body().types;
        if matches!(types.kind(ty), TypeKind::Array { .. }) {
            return Ok(Value::pointer(at));
        }
        let Some(size) = bits.map_or_else(|| self.size_of(ty), |b| Some(b.bytes)) else {
            return Ok(Value::ANY);
        };
        self.inside(at, size, term)?;
        self.touch(term, at, size, false)?;
        if let Some(b) = bits {
            return Ok(self.read_bits(at, ty, b));
        }
        if matches!(types.kind(ty), TypeKind::Opaque(_)) {
            return Ok(match self.memory.at(at).map(|o| o.load(at.offset, size)) {
                Some(Contents::Value(v)) => v,
                Some(Contents::Rest(Rest::Zero)) => Value::int(0),
                Some(Contents::Rest(Rest::Input(owner))) => {
                    Value::free(Owner::Member(Arc::new(owner), at.offset))
                }
                _ => Value::ANY,
            });
        }
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
            Contents::Value(v) => Ok(self.seen_as(v, ty)),
            Contents::Mixed | Contents::Rest(Rest::Any) => Ok(Value::ANY),
            Contents::Rest(Rest::Zero) => Ok(match types.kind(ty) {
                TypeKind::Int(_) => Value::int(0),
                TypeKind::Float(_) => Value::real(0.0),
                _ => Value { number: Number::Pointer(None), shadow: Shadow::None },
            }),
            Contents::Rest(Rest::Input(owner)) => {
                let v = self.input(&owner, at.offset, ty);
                if let Some(o) = self.memory.at(at) {
                    o.store(at.offset, size, v.clone());
                }
                Ok(v)
            }
        }
    }

    /// A bit-field's value.
    fn read_bits(&mut self, at: Address, ty: TypeId, b: Bits) -> Value {
        let Some(k) = self.body().types.as_int(ty) else { return Value::ANY };
        let found = match self.memory.at(at) {
            Some(o) => o.load_bits(at.offset, b),
            None => return Value::ANY,
        };
        match found {
            Contents::Value(v) => match v.number {
                Number::Int(n) if b.cut(n, k) == n => v,
                Number::Int(n) => Value::int(b.cut(n, k)),
                _ => Value::ANY,
            },
            Contents::Mixed | Contents::Rest(Rest::Any) => Value::ANY,
            Contents::Rest(Rest::Zero) => Value::int(0),
            Contents::Rest(Rest::Input(owner)) => {
                let (least, most) = match k.signed() {
                    true => (-(1i128 << (b.width - 1)), (1i128 << (b.width - 1)) - 1),
                    false => (0, (1i128 << b.width) - 1),
                };
                let (least, most) = (least.max(k.min()), most.min(k.max()));
                // Bits have places of their own: no other input has this size.
                let place = at.offset.wrapping_mul(8).wrapping_add(i64::from(b.first));
                let v = self.chosen(&owner, place, BITS + b.width, Kind::Int { kind: k, least, most });
                if let Some(o) = self.memory.at(at) {
                    o.store_bits(at.offset, b, v.clone());
                }
                v
            }
        }
    }

    /// What was stored, read as this type.
    fn seen_as(&self, v: Value, ty: TypeId) -> Value {
        let types = &self.body().types;
        match (types.kind(ty), &v.number) {
            (TypeKind::Int(k), Number::Int(n)) if k.wrap(*n) == *n => v,
            (TypeKind::Int(k), Number::Int(n)) => Value::int(k.wrap(*n)),
            (TypeKind::Float(_), Number::Real(_) | Number::About(..)) => v,
            (TypeKind::Pointer { .. }, Number::Pointer(_) | Number::Function(_)) => v,
            _ => Value::ANY,
        }
    }

    /// An input's value.
    pub fn input(&mut self, owner: &Owner, offset: i64, ty: TypeId) -> Value {
        let types = &self.body().types;
        let (kind, size) = match types.kind(ty) {
            TypeKind::Int(k) => {
                let k = *k;
                (Kind::Int { kind: k, least: k.min(), most: k.max() }, k.bits() / 8)
            }
            TypeKind::Float(k) => {
                let size = match k {
                    FloatKind::F32 => 4,
                    FloatKind::F64 => 8,
                    FloatKind::Long => 16,
                };
                (Kind::Real(*k), size)
            }
            TypeKind::Pointer { .. } => (Kind::Pointer, 8),
            _ => return Value::ANY,
        };
        self.chosen(owner, offset, size, kind)
    }

    /// The input of this place and kind.
    pub fn chosen(&mut self, owner: &Owner, offset: i64, size: u32, kind: Kind) -> Value {
        let Some((kind, only)) = self.bounded(owner, offset, kind) else { return Value::ANY };
        let id = self.inputs.id(owner, offset, size, kind, &only);
        let given = self.given.get(&id).copied();
        match (kind, given) {
            (Kind::Int { kind: k, least, most }, given) => {
                let input = self.inputs.get(id);
                let v = match given {
                    Some(Given::Int(v)) => v,
                    _ => input.map_or(1, |i| i.usual),
                };
                let v = input.map_or(v, |i| i.nearest(v));
                let is_bounded = (least, most) != (k.min(), k.max());
                if is_bounded && least < most {
                    let from = |k: i128, constant: i128| Linear { terms: vec![(id, k)], constant };
                    self.rely(Some(Fact::least(from(1, -least))));
                    self.rely(Some(Fact::least(from(-1, most))));
                }
                Value::with(Number::Int(v), (least < most).then(|| Linear::var(id)))
            }
            (Kind::Real(k), given) => {
                let v = match given {
                    Some(Given::Real(v)) => v,
                    _ => 1.0,
                };
                Value { number: Number::Real(rounded(k, v)), shadow: Shadow::Input(id) }
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

    fn behind(&mut self, id: Id) -> u32 {
        if let Some(&o) = self.behind.get(&id) {
            return o;
        }
        let mut object = ReplayObject::new(Rest::Input(Owner::Behind(id)), None);
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

    pub(super) fn store(&mut self, p: Lvalue, v: Value, term: TermId) -> Res<Value> {
        let mut v = self.convert(v, p.ty);
        if let Some(b) = p.bits {
            match (self.body().types.as_int(p.ty), &v.number) {
                (Some(k), Number::Int(n)) => {
                    let cut = b.cut(*n, k);
                    if cut != *n {
                        v = Value::int(cut);
                    }
                }
                _ => v = Value::ANY,
            }
            self.inside(p.at, b.bytes, Some(term))?;
            self.touch_part(Some(term), p.at, b.bytes, true)?;
            if let Some(o) = self.memory.at(p.at) {
                o.store_bits(p.at.offset, b, v.clone());
            }
            return Ok(v);
        }
        self.write(p.at, p.ty, v.clone(), Some(term))?;
        Ok(v)
    }

    pub(super) fn assign_to(&mut self, p: Lvalue, v: Value, from: TypeId, term: TermId) -> Res<Value> {
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
                TypeKind::Int(_) | TypeKind::Float(_) | TypeKind::Pointer { .. } | TypeKind::Opaque(_)
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
    pub(super) fn lost_write(&mut self, place: TermId) -> Res<Value> {
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
        let parts: Vec<(i64, TypeId, Option<Bits>)> = match body.types.kind(ty) {
            TypeKind::Array { of, len } => {
                let n = match len {
                    term::Len::Const(n) => (*n).min(items.len() as u64),
                    _ => items.len() as u64,
                };
                let Some(size) = self.size_of(*of) else {
                    return self.fail(NotReplayed::NotUnderstood, list);
                };
                (0..n as i64).map(|k| (k * size, *of, None)).collect()
            }
            TypeKind::Record(r) => {
                let record = body.types.record(*r);
                let fields = record.fields.as_deref().unwrap_or_default();
                let lengths = &self.frames[self.frames.len() - 1].lengths;
                // A bit-field without a name takes no value (C11 6.7.9p9).
                let named = |f: &term::Field| f.bits.is_none() || !f.name.is_empty();
                let all = fields.iter().enumerate().filter(|(_, f)| named(f)).filter_map(|(k, f)| {
                    let (at, bits) = layout::member(&body.types, lengths, *r, k)?;
                    Some((at, f.ty, bits))
                });
                all.take(if record.is_union { 1 } else { usize::MAX }).collect()
            }
            _ => vec![(0, ty, None)],
        };
        for (by, part, bits) in parts {
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
            if bits.is_some() && !braced {
                let v = self.eval(item)?;
                self.store(Lvalue { at: moved(by), ty: part, bits }, v, item)?;
                continue;
            }
            self.initialise(moved(by), part, item)?;
        }
        Ok(())
    }

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
}
