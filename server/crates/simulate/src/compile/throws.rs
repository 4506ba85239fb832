//! What C# has besides C: operations that raise an exception, lengths that arrays know, and the library's `Math`.
//!
//! An exception ends the run as a fault, with the memory that it left. Deliberately absent: handlers, which no front end hands on.

use term::{BinOp, FloatKind, IntKind, Op, Origin, Overflow, SymbolId, TermId, TypeId};

use super::types::Class;
use super::{Cx, R, V};
use crate::code::*;
use crate::math::{self, MathId, Shape};

impl Cx<'_, '_, '_> {
    /// Raises it where the register is zero.
    fn raise_where_zero(&mut self, a: Reg, what: Raised) {
        let past = self.emit(Ins::JumpNZ { a, to: super::emit::OPEN });
        self.emit(Ins::Raise { what });
        let here = self.here();
        self.patch(past, here);
    }

    fn raise_where_set(&mut self, a: Reg, what: Raised) {
        let past = self.emit(Ins::JumpZ { a, to: super::emit::OPEN });
        self.emit(Ins::Raise { what });
        let here = self.here();
        self.patch(past, here);
    }

    fn bin(&mut self, op: Bin, a: Reg, b: Reg) -> Reg {
        let d = self.temp();
        self.emit(Ins::Bin { op, d, a, b });
        d
    }

    /// A subscript of a rectangle: each of its dimensions has its own length.
    pub(super) fn within_its_dimension(&mut self, index: TermId, i: V) -> R<()> {
        let body = self.body;
        if !body.semantics.checked_bounds {
            return Ok(());
        }
        let (mut at, mut depth) = (body.args(index)[0], 0u32);
        while *body.op(at) == Op::Index {
            at = body.args(at)[0];
            depth += 1;
        }
        let Some(array) = body.as_symbol(at) else { return Ok(()) };
        let of_array = body.said.lengths.iter().filter(|l| l.array == array);
        if of_array.clone().count() < 2 {
            return Ok(()); // the object's own size says it
        }
        let Some(length) = of_array.clone().find(|l| l.dimension == depth).map(|l| l.length) else {
            return Ok(());
        };
        if depth == 0 {
            let v = self.variable(array)?;
            self.raise_where_zero(v.reg, Raised::Null);
        }
        let length = self.variable(length)?;
        let inside = self.bin(Bin::LtU, i.reg, length.reg);
        self.raise_where_zero(inside, Raised::OutOfBounds);
        Ok(())
    }

    /// The value of a variable.
    pub(super) fn load_variable(&mut self, t: TermId, s: SymbolId) -> R<V> {
        self.length_is_asked(t, s)?;
        self.load_place_of(t)
    }

    /// Asking an array for its length looks into it, and asking for a field into its object.
    fn length_is_asked(&mut self, t: TermId, s: SymbolId) -> R<()> {
        let body = self.body;
        if !body.semantics.checked_bounds || body.origin(t) == Origin::Made {
            return Ok(());
        }
        let array = body.said.lengths.iter().find(|l| l.length == s).map(|l| l.array);
        for looked_into in body.said.object_of(s).into_iter().chain(array) {
            if !body.said.never_null.contains(&looked_into) {
                let v = self.variable(looked_into)?;
                self.raise_where_zero(v.reg, Raised::Null);
            }
        }
        Ok(())
    }

    fn variable(&mut self, s: SymbolId) -> R<V> {
        let place = self.symbol_place(s, self.at)?;
        self.load(place)
    }

    /// A conversion under `checked`.
    pub(super) fn checked_conversion(&mut self, t: TermId, v: V, to: TypeId) -> R<()> {
        let (Class::Int(from), Class::Int(k)) = (self.class(v.ty), self.class(to)) else { return Ok(()) };
        let holds = k.min() <= from.min() && from.max() <= k.max();
        if holds || k == IntKind::Bool || self.body.overflow(k, t) != Overflow::Traps {
            return Ok(());
        }
        if from.signed() {
            let least = self.constant(k.min().max(from.min()) as i64 as u64);
            let under = self.bin(Bin::LtS, v.reg, least);
            self.raise_where_set(under, Raised::Overflow);
        }
        if k.max() < from.max() {
            let most = self.constant(k.max() as u64);
            let over = self.bin(if from.signed() { Bin::LtS } else { Bin::LtU }, most, v.reg);
            self.raise_where_set(over, Raised::Overflow);
        }
        Ok(())
    }

    /// `a op b` of unsigned numbers under `checked`.
    pub(super) fn checked_unsigned(&mut self, op: BinOp, wide: bool, a: Reg, b: Reg) -> R<()> {
        let over = match (op, wide) {
            (BinOp::Sub, _) => self.bin(Bin::LtU, a, b),
            (BinOp::Add | BinOp::Mul, false) => {
                let sum = self.bin(if op == BinOp::Add { Bin::AddU64 } else { Bin::MulU64 }, a, b);
                let most = self.constant(u64::from(u32::MAX));
                self.bin(Bin::LtU, most, sum)
            }
            (BinOp::Add, true) => {
                let sum = self.bin(Bin::AddU64, a, b);
                self.bin(Bin::LtU, sum, a)
            }
            (BinOp::Mul, true) => return Err(self.err("products of `ulong` under `checked`")),
            _ => return Ok(()),
        };
        self.raise_where_set(over, Raised::Overflow);
        Ok(())
    }

    /// What the library of C# computes; `None`: it is none of these.
    pub(super) fn of_csharp(&mut self, t: TermId, name: &str, args: &[TermId]) -> R<Option<V>> {
        if !self.body.semantics.checked_bounds {
            return Ok(None);
        }
        if let ("Array.GetLength", &[array, dimension]) = (name, args) {
            if *self.body.op(dimension) != Op::Int(0) {
                return Err(self.err("the length of a dimension that no variable has"));
            }
            let v = self.rvalue(array)?;
            let of = self.pointee(v.ty)?;
            let bytes = self.const_size(of)?;
            let (d, int) = (self.temp(), self.int());
            self.emit(Ins::LengthOf { d, p: v.reg, bytes: bytes as u32 });
            return Ok(Some(V { reg: d, ty: int }));
        }
        let (of, single) = match name.split_once('.') {
            Some(("Math", of)) => (of, false),
            Some(("MathF", of)) => (of, true),
            _ => return Ok(None),
        };
        let ty = self.body.ty(t);
        if let (Class::Int(k), "Abs", &[a]) = (self.class(ty), of, args) {
            let v = self.rvalue(a)?;
            let v = self.convert(v, ty)?;
            let least = self.constant(k.min() as i64 as u64);
            let is_least = self.bin(Bin::Eq, v.reg, least);
            self.raise_where_set(is_least, Raised::Overflow);
            let zero = self.constant(0);
            let d = self.temp();
            self.emit(Ins::Mov { d, a: v.reg });
            let negative = self.bin(Bin::LtS, v.reg, zero);
            let past = self.emit(Ins::JumpZ { a: negative, to: super::emit::OPEN });
            let op = if k.bits() == 64 { Bin::SubU64 } else { Bin::SubI32 };
            self.emit(Ins::Bin { op, d, a: zero, b: v.reg });
            let here = self.here();
            self.patch(past, here);
            return Ok(Some(V { reg: d, ty }));
        }
        if let ("Max" | "Min", &[a, b], Class::Int(_)) = (of, args, self.class(ty)) {
            let (a, b) = (self.rvalue(a)?, self.rvalue(b)?);
            let (a, b) = (self.convert(a, ty)?, self.convert(b, ty)?);
            let signed = matches!(self.class(ty), Class::Int(k) if k.signed());
            let lt = if signed { Bin::LtS } else { Bin::LtU };
            return Ok(Some(self.chosen(of == "Max", lt, a, b, ty)));
        }
        if let ("Max" | "Min", &[a, b]) = (of, args) {
            let (a, b) = (self.rvalue(a)?, self.rvalue(b)?);
            let (a, b) = (self.convert(a, ty)?, self.convert(b, ty)?);
            let (lt, ne) = match single || self.class(ty) == Class::F32 {
                true => (Bin::LtF32, Bin::NeF32),
                false => (Bin::LtF64, Bin::NeF64),
            };
            let v = self.chosen(of == "Max", lt, a, b, ty);
            // a NaN is what comes out
            for x in [a, b] {
                let odd = self.bin(ne, x.reg, x.reg);
                let past = self.emit(Ins::JumpZ { a: odd, to: super::emit::OPEN });
                self.emit(Ins::Mov { d: v.reg, a: x.reg });
                let here = self.here();
                self.patch(past, here);
            }
            return Ok(Some(v));
        }
        let stem = match of {
            "Abs" => "fabs",
            "Ceiling" => "ceil",
            "Truncate" => "trunc",
            "Round" => "rint",
            "IEEERemainder" => "remainder",
            "CopySign" => "copysign",
            _ => &of.to_ascii_lowercase(),
        };
        let stem = if single { format!("{stem}f") } else { stem.to_owned() };
        match math::find(&stem) {
            Some((f, Shape::Float)) if f.id != MathId::Fma => {
                let kind = if single { FloatKind::F32 } else { FloatKind::F64 };
                debug_assert!(f.kind == kind);
                self.math(f, Shape::Float, args).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// The larger or smaller of two; of zeros with two signs the second, as in the first .NETs and in mono.
    fn chosen(&mut self, larger: bool, lt: Bin, a: V, b: V, ty: TypeId) -> V {
        let d = self.temp();
        self.emit(Ins::Mov { d, a: b.reg });
        let take = if larger { self.bin(lt, b.reg, a.reg) } else { self.bin(lt, a.reg, b.reg) };
        let past = self.emit(Ins::JumpZ { a: take, to: super::emit::OPEN });
        self.emit(Ins::Mov { d, a: a.reg });
        let here = self.here();
        self.patch(past, here);
        V { reg: d, ty }
    }
}
