//! Sizes, classes and conversions of types.

use term::{Body, FloatKind, IntKind, Len, Op, TermId, TypeId, TypeKind, Types};

use super::{Cx, R, V};
use crate::code::*;

/// What a value of a type is to this machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Class {
    Int(IntKind),
    F32,
    F64,
    Pointer,
    Record,
    Array,
    Void,
    Other,
}

pub(super) fn class(types: &Types, ty: TypeId) -> Class {
    match types.kind(ty) {
        TypeKind::Int(k) => Class::Int(*k),
        TypeKind::Float(FloatKind::F32) => Class::F32,
        TypeKind::Float(FloatKind::F64) => Class::F64,
        TypeKind::Pointer { .. } => Class::Pointer,
        TypeKind::Record(_) => Class::Record,
        TypeKind::Array { .. } => Class::Array,
        TypeKind::Void => Class::Void,
        _ => Class::Other,
    }
}

/// The bytes of the smallest scalar, by which all members lie: the unit of traces.
pub(super) fn grain(types: &Types, ty: TypeId) -> u32 {
    // types nest no deeper than their text did; still, bound it
    fn go(types: &Types, ty: TypeId, depth: u32) -> u32 {
        if depth > 64 {
            return 1;
        }
        match types.kind(ty) {
            TypeKind::Array { of, .. } => go(types, *of, depth + 1),
            TypeKind::Record(r) => match &types.record(*r).fields {
                Some(fields) => {
                    let of = |f: &term::Field| i128::from(go(types, f.ty, depth + 1));
                    (fields.iter().fold(0, |g, f| base::gcd(g, of(f))) as u32).max(1)
                }
                None => 1,
            },
            _ => types.size_align(ty).map_or(1, |(s, _)| s as u32),
        }
    }
    go(types, ty, 0)
}

fn param_kind(types: &Types, ty: TypeId) -> Option<ParamKind> {
    Some(match class(types, ty) {
        Class::Int(k) => ParamKind::Int(k),
        Class::F32 => ParamKind::F32,
        Class::F64 => ParamKind::F64,
        Class::Pointer | Class::Array => ParamKind::Pointer,
        Class::Record => ParamKind::Record(u32::try_from(types.size_align(ty)?.0).ok()?),
        Class::Void | Class::Other => return None,
    })
}

/// What a function takes and returns. Parameters of unknown kind are left out, which its compilation notices.
pub(super) fn signature(body: &Body) -> (Vec<ParamKind>, RetKind) {
    let types = &body.types;
    let mut params = Vec::new();
    if let Some(&list) = body.args(body.root).first() {
        for &p in body.args(list) {
            if let Op::Declare(s) = body.op(p) {
                params.extend(param_kind(types, body.symbols[*s].ty));
            }
        }
    }
    let mut ret = RetKind::Void;
    if let Op::Function(f) = body.op(body.root) {
        if let TypeKind::Function { ret: r, .. } = types.kind(body.symbols[*f].ty) {
            ret = match param_kind(types, *r) {
                Some(ParamKind::Record(n)) => RetKind::Record(n),
                Some(k) => RetKind::Value(k),
                None => RetKind::Void,
            };
        }
    }
    (params, ret)
}

/// A size in bytes.
#[derive(Clone, Copy, Debug)]
pub(super) enum Size {
    Const(u64),
    Reg(Reg),
}

impl Cx<'_, '_, '_> {
    pub(super) fn class(&self, ty: TypeId) -> Class {
        class(&self.types, ty)
    }
    pub(super) fn is_scalar(&self, ty: TypeId) -> bool {
        matches!(self.class(ty), Class::Int(_) | Class::F32 | Class::F64 | Class::Pointer)
    }
    pub(super) fn int(&mut self) -> TypeId {
        self.types.int(IntKind::Int)
    }

    pub(super) fn mem_kind(&self, ty: TypeId) -> R<Mem> {
        Ok(match self.class(ty) {
            Class::Int(k) => int_mem(k),
            Class::F32 => Mem::U32,
            Class::F64 | Class::Pointer => Mem::B64,
            _ => return Err(self.no_value(ty)),
        })
    }

    /// Why a type has no value here.
    pub(super) fn no_value(&self, ty: TypeId) -> super::Gap {
        match self.types.kind(ty) {
            TypeKind::Float(FloatKind::Long) => self.err("long double"),
            TypeKind::Opaque(name) => self.err(&format!("the unknown type `{name}`")),
            TypeKind::Function { .. } => self.err("a function as a value"),
            TypeKind::Void => self.err("a value of type void"),
            _ => self.err("a value of this type"),
        }
    }

    pub(super) fn const_size(&self, ty: TypeId) -> R<u64> {
        self.types
            .size_align(ty)
            .map(|(s, _)| s)
            .filter(|&s| s <= crate::memory::MAX_OBJECT_BYTES)
            .ok_or_else(|| self.err("a type of unknown size"))
    }

    /// The size of a type, computed where it holds VLAs.
    pub(super) fn size_of(&mut self, ty: TypeId) -> R<Size> {
        if self.types.size_align(ty).is_some() {
            return Ok(Size::Const(self.const_size(ty)?));
        }
        match self.types.kind(ty).clone() {
            TypeKind::Void => Ok(Size::Const(1)), // as gcc: arithmetic on void pointers
            TypeKind::Array { of, len } => {
                let inner = self.size_of(of)?;
                let n = match len {
                    Len::Const(n) => self.constant(n),
                    Len::Unknown => return Err(self.err("an array of unknown length")),
                    Len::Term(t) => match self.lens.get(&t) {
                        Some(&r) => r,
                        None => return Err(self.err("a VLA length that was not evaluated")),
                    },
                };
                let s = match inner {
                    Size::Const(c) => self.constant(c),
                    Size::Reg(r) => r,
                };
                let d = self.temp();
                self.emit(Ins::Bin { op: Bin::MulI64, d, a: n, b: s });
                Ok(Size::Reg(d))
            }
            _ => Err(self.err("a type of unknown size")),
        }
    }

    /// Evaluates the VLA lengths in a type, as its declaration does.
    pub(super) fn lengths_of(&mut self, ty: TypeId) -> R<()> {
        let mut at = ty;
        loop {
            match self.types.kind(at).clone() {
                TypeKind::Array { of, len } => {
                    if let Len::Term(t) = len {
                        self.length(t)?;
                    }
                    at = of;
                }
                TypeKind::Pointer { to, .. } => at = to,
                _ => return Ok(()),
            }
        }
    }

    fn length(&mut self, t: TermId) -> R<()> {
        let Some(&d) = self.lens.get(&t) else {
            return Ok(());
        };
        let was = self.at;
        let v = self.rvalue(t)?;
        if !matches!(self.class(v.ty), Class::Int(_)) {
            return Err(self.err("an array length that is no integer"));
        }
        self.at = t;
        self.emit(Ins::CheckLen { a: v.reg });
        self.emit(Ins::Mov { d, a: v.reg });
        self.at = was;
        Ok(())
    }

    /// The value converted to a type, as by assignment or a cast.
    pub(super) fn convert(&mut self, v: V, to: TypeId) -> R<V> {
        let reg = match (self.class(v.ty), self.class(to)) {
            (_, Class::Void) => NONE,
            (Class::Int(f), Class::Int(t)) => {
                if t.bits() == 64 || (f.min() >= t.min() && f.max() <= t.max()) {
                    v.reg
                } else {
                    self.un(Un::Wrap(t), v.reg)
                }
            }
            (Class::Int(f), Class::F32) => {
                let op = if f.signed() { Un::SignedToF32 } else { Un::UnsignedToF32 };
                self.un(op, v.reg)
            }
            (Class::Int(f), Class::F64) => {
                let op = if f.signed() { Un::SignedToF64 } else { Un::UnsignedToF64 };
                self.un(op, v.reg)
            }
            (Class::F32, Class::F64) => self.un(Un::F32ToF64, v.reg),
            (Class::F64, Class::F32) => self.un(Un::F64ToF32, v.reg),
            (Class::F32, Class::Int(IntKind::Bool)) => self.un(Un::TruthF32, v.reg),
            (Class::F64, Class::Int(IntKind::Bool)) => self.un(Un::TruthF64, v.reg),
            (Class::F32, Class::Int(k)) => self.un(Un::F32ToInt(k), v.reg),
            (Class::F64, Class::Int(k)) => self.un(Un::F64ToInt(k), v.reg),
            (Class::F32, Class::F32) | (Class::F64, Class::F64) => v.reg,
            (Class::Pointer, Class::Pointer) => v.reg,
            (Class::Int(_), Class::Pointer) => v.reg,
            (Class::Pointer, Class::Int(k)) if k.bits() == 64 => v.reg,
            (Class::Pointer, Class::Int(k)) => self.un(Un::Wrap(k), v.reg),
            (Class::Record, Class::Record) => {
                if self.const_size(v.ty)? != self.const_size(to)? {
                    return Err(self.err("a conversion between different structs"));
                }
                v.reg
            }
            (a, _) => {
                let ty = if matches!(a, Class::Other | Class::Void) { v.ty } else { to };
                return Err(self.no_value(ty));
            }
        };
        Ok(V { reg, ty: to })
    }

    pub(super) fn un(&mut self, op: Un, a: Reg) -> Reg {
        let d = self.temp();
        self.emit(Ins::Un { op, d, a });
        d
    }

    /// A register that is zero exactly where the value is false.
    pub(super) fn truth(&mut self, v: V) -> R<Reg> {
        Ok(match self.class(v.ty) {
            Class::Int(_) | Class::Pointer => v.reg,
            Class::F32 => self.un(Un::TruthF32, v.reg),
            Class::F64 => self.un(Un::TruthF64, v.reg),
            _ => return Err(self.no_value(v.ty)),
        })
    }
}

pub(super) fn int_mem(k: IntKind) -> Mem {
    match (k, k.bits(), k.signed()) {
        (IntKind::Bool, _, _) => Mem::Bool,
        (_, 8, true) => Mem::I8,
        (_, 8, false) => Mem::U8,
        (_, 16, true) => Mem::I16,
        (_, 16, false) => Mem::U16,
        (_, 32, true) => Mem::I32,
        (_, 32, false) => Mem::U32,
        _ => Mem::B64,
    }
}
