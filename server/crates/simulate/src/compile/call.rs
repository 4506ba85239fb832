//! Calls: functions with a body, pure functions, what C's and CUDA's run time provide.

use term::device::{AtomicOp, Scope, Tally, Vote, Word};
use term::{BinOp, FloatKind, IntKind, Op, Storage, TermId, TypeId, TypeKind};

use super::types::Class;
use super::{Cx, R, V};
use crate::code::*;
use crate::math::{self, MathFn, MathId, Shape};

impl Cx<'_, '_, '_> {
    /// A call; `None` where it has no value (or none is wanted).
    pub(super) fn call(&mut self, t: TermId, wanted: bool) -> R<Option<V>> {
        let body = self.body;
        let args = body.args(t);
        let Some((&callee, args)) = args.split_first() else {
            return Err(self.err("a call of nothing"));
        };
        let name = match body.op(callee) {
            Op::Sym(s) => match body.symbols[*s].storage {
                Storage::Function | Storage::Undeclared | Storage::Builtin => body.symbols[*s].name.clone(),
                _ => return Err(self.err("a call through a pointer")),
            },
            Op::Name(n) => n.clone(),
            Op::Reject(r) => return Err(self.err(&body.reject(*r).reason.clone())),
            _ => return Err(self.err("a call through a pointer")),
        };
        if let Some(f) = self.unit.function(&name) {
            return self.call_body(f, args, body.ty(t), wanted);
        }
        if let Some(f) = self.of_element(&name, args)? {
            return self.call_body(f, args, body.ty(t), wanted);
        }
        if self.unit.options.overloads {
            if let Some(v) = self.overloaded(&name, args)? {
                return Ok(Some(v));
            }
        }
        if let Some(v) = self.of_csharp(t, &name, args)? {
            return Ok(Some(v));
        }
        if self.two_results(t, &name, args)? {
            return Ok(None);
        }
        if let Some((f, shape)) = math::find(&name) {
            return self.math(f, shape, args).map(Some);
        }
        if let Some(of) = gpu::math::function(&name) {
            return self.device_math(of, args).map(Some);
        }
        let built_in = matches!(body.op(callee), Op::Sym(s) if body.symbols[*s].storage == Storage::Builtin);
        if built_in && self.class(body.ty(t)) == Class::Record {
            return self.vector(t, &name, args).map(Some);
        }
        if let Some(v) = self.device(body.word(callee), args)? {
            return Ok(v);
        }
        self.library(t, &name, args)
    }

    /// A function template of a library by the type of the numbers that its third and fourth arguments point to:
    /// `cub__DeviceReduce__Sum` of `int` is `cub__DeviceReduce__Sum__int`, if the program has that.
    fn of_element(&mut self, name: &str, args: &[TermId]) -> R<Option<u32>> {
        let (true, [_, _, from, to, ..]) = (name.starts_with("cub__"), args) else { return Ok(None) };
        let element = |t: TermId| {
            let ty = self.types.element(self.body.ty(t))?;
            let plain = match self.types.kind(ty) {
                TypeKind::Int(k) => k.c_name().replace(' ', "_"),
                TypeKind::Float(FloatKind::F32) => "float".to_owned(),
                TypeKind::Float(FloatKind::F64) => "double".to_owned(),
                _ => return None,
            };
            Some(plain)
        };
        match (element(*from), element(*to)) {
            (Some(a), Some(b)) if a == b => Ok(self.unit.function(&format!("{name}__{a}"))),
            _ => Err(self.err("a reduction of a library into numbers of another type")),
        }
    }

    fn call_body(&mut self, f: u32, args: &[TermId], ty: TypeId, wanted: bool) -> R<Option<V>> {
        let (params, ret) = {
            let func = &self.unit.code.funcs[f as usize];
            (func.params.clone(), func.ret)
        };
        if params.len() != args.len() {
            return Err(self.err("a call with another number of arguments than its function has"));
        }
        let hidden = matches!(ret, RetKind::Record(_)) as u32;
        let n = params.len() as u32 + hidden;
        let base = self.temps(n.max(1));
        for (i, (&a, kind)) in args.iter().zip(&params).enumerate() {
            let v = self.rvalue(a)?;
            let to = match kind {
                ParamKind::Int(k) => self.types.int(*k),
                ParamKind::F32 => self.types.float(FloatKind::F32),
                ParamKind::F64 => self.types.float(FloatKind::F64),
                ParamKind::Pointer => {
                    if !matches!(self.class(v.ty), Class::Pointer | Class::Int(_)) {
                        return Err(self.err("an argument of another type than the parameter"));
                    }
                    v.ty
                }
                ParamKind::Record(size) => {
                    if self.class(v.ty) != Class::Record || self.const_size(v.ty)? != *size as u64 {
                        return Err(self.err("an argument of another type than the parameter"));
                    }
                    v.ty
                }
            };
            let v = self.convert(v, to)?;
            self.move_to(base + i as u32, v.reg);
        }
        let (d, value) = match ret {
            RetKind::Void => (NONE, None),
            RetKind::Record(size) => {
                if self.class(ty) != Class::Record || self.const_size(ty)? != size as u64 {
                    return Err(self.err("a returned struct of another type"));
                }
                let v = self.temporary(ty)?;
                self.emit(Ins::Mov { d: base + n - 1, a: v.reg });
                (self.temp(), Some(v))
            }
            RetKind::Value(_) if !wanted => (NONE, None),
            RetKind::Value(kind) => {
                let ty = match kind {
                    ParamKind::Int(k) => self.types.int(k),
                    ParamKind::F32 => self.types.float(FloatKind::F32),
                    ParamKind::F64 => self.types.float(FloatKind::F64),
                    _ if self.class(ty) == Class::Pointer => ty,
                    _ => return Err(self.err("a returned pointer of unknown type")),
                };
                let reg = self.temp();
                (reg, Some(V { reg, ty }))
            }
        };
        self.emit(Ins::Call { f, d, args: base, n });
        Ok(value)
    }

    fn math_fn(&mut self, f: MathFn) -> u32 {
        let list = &mut self.unit.code.math;
        match list.iter().position(|x| *x == f) {
            Some(i) => i as u32,
            None => {
                list.push(f);
                (list.len() - 1) as u32
            }
        }
    }

    /// Values of all arguments, each in its own register; nothing is converted yet.
    fn values(&mut self, args: &[TermId]) -> R<Vec<V>> {
        let mut out = Vec::with_capacity(args.len());
        for &a in args {
            out.push(self.rvalue(a)?);
        }
        Ok(out)
    }

    /// Values in consecutive registers.
    fn together(&mut self, values: &[V]) -> Reg {
        let base = self.temps(values.len().max(1) as u32);
        for (i, v) in values.iter().enumerate() {
            self.emit(Ins::Mov { d: base + i as u32, a: v.reg });
        }
        base
    }

    pub(super) fn math(&mut self, f: MathFn, shape: Shape, args: &[TermId]) -> R<V> {
        if args.len() != f.arity as usize {
            return Err(self.err("a math function with another number of arguments"));
        }
        let values = self.values(args)?;
        self.math_values(f, shape, values)
    }

    /// `sincosf(x, s, c)`, where it was not written as two functions.
    fn two_results(&mut self, t: TermId, name: &str, args: &[TermId]) -> R<bool> {
        let names = match name {
            "sincosf" | "__sincosf" => ["sinf", "cosf"],
            "sincos" => ["sin", "cos"],
            _ => return Ok(false),
        };
        let &[x, ref places @ ..] = args else { return Err(self.err("a math function without arguments")) };
        let x = self.rvalue(x)?;
        let places = self.values(places)?;
        for (name, place) in names.into_iter().zip(&places) {
            let (Some((f, shape)), Some(ty)) = (math::find(name), self.types.element(place.ty)) else {
                return Err(self.err("a result through something that is no pointer"));
            };
            let value = self.math_values(f, shape, vec![x])?;
            let value = self.convert(value, ty)?;
            self.store(super::Assignable::Mem { addr: place.reg, ty }, value, t)?;
        }
        Ok(true)
    }

    /// A function that CUDA has beside those of C; C++ has those of `double` for `float`, too, by one name.
    fn device_math(&mut self, mut of: gpu::math::Function, args: &[TermId]) -> R<V> {
        if args.len() != of.parameters.len() {
            return Err(self.err("a math function with another number of arguments"));
        }
        let mut values = self.values(args)?;
        if self.unit.options.overloads && values.iter().all(|v| self.class(v.ty) == Class::F32) {
            of = of.of_single().unwrap_or(of);
        }
        for (v, to) in values.iter_mut().zip(of.parameters) {
            if !matches!(self.class(v.ty), Class::Int(_) | Class::F32 | Class::F64) {
                return Err(self.err("a math function of something that is no number"));
            }
            let to = self.number(*to);
            *v = self.convert(*v, to)?;
        }
        let args = self.together(&values);
        let ty = self.number(of.result);
        let (f, d) = (self.math_fn(math::of_device(of)), self.temp());
        self.emit(Ins::Math { f, d, args });
        Ok(V { reg: d, ty })
    }

    fn number(&mut self, n: gpu::math::Number) -> TypeId {
        match n {
            gpu::math::Number::Int(k) => self.types.int(k),
            gpu::math::Number::Float(k) => self.types.float(k),
        }
    }

    fn math_values(&mut self, mut f: MathFn, shape: Shape, values: Vec<V>) -> R<V> {
        if shape == Shape::Classify {
            // these are macros: their argument keeps its type
            f.kind = match values.first().map(|v| self.class(v.ty)) {
                Some(Class::F32) => FloatKind::F32,
                Some(Class::F64 | Class::Int(_)) => FloatKind::F64,
                _ => return Err(self.err("a classification of something that is no number")),
            };
        }
        let float = self.types.float(f.kind);
        let int = self.int();
        let whole = self.types.int(f.int);
        let mut converted = Vec::new();
        for (i, v) in values.into_iter().enumerate() {
            let to = match shape {
                Shape::FloatInt if i == 1 => int,
                Shape::Int => whole,
                _ => float,
            };
            if !matches!(self.class(v.ty), Class::Int(_) | Class::F32 | Class::F64) {
                return Err(self.err("a math function of something that is no number"));
            }
            converted.push(self.convert(v, to)?);
        }
        let ty = match shape {
            Shape::Float | Shape::FloatInt => float,
            Shape::Classify => int,
            Shape::ToInt | Shape::Int => whole,
        };
        let args = self.together(&converted);
        let f = self.math_fn(f);
        let d = self.temp();
        self.emit(Ins::Math { f, d, args });
        Ok(V { reg: d, ty })
    }

    /// C++ overloads: `sqrt(float)` is float, `abs(double)` is `fabs`, CUDA's `min` and `max`.
    fn overloaded(&mut self, name: &str, args: &[TermId]) -> R<Option<V>> {
        if matches!(name, "min" | "max") && args.len() == 2 {
            let values = self.values(args)?;
            let Some(ty) = self.types.operation_type(BinOp::Add, values[0].ty, values[1].ty) else {
                return Err(self.err("min or max of something that is no number"));
            };
            let is_min = name == "min";
            let f = |id, kind, int| MathFn { id, kind, int, arity: 2 };
            let (f, shape) = match self.class(ty) {
                Class::Int(k) => {
                    let id = match (is_min, k.signed()) {
                        (true, true) => MathId::MinS,
                        (false, true) => MathId::MaxS,
                        (true, false) => MathId::MinU,
                        (false, false) => MathId::MaxU,
                    };
                    (f(id, FloatKind::F64, k), Shape::Int)
                }
                c => {
                    let kind = if c == Class::F32 { FloatKind::F32 } else { FloatKind::F64 };
                    let id = if is_min { MathId::Fmin } else { MathId::Fmax };
                    (f(id, kind, IntKind::Int), Shape::Float)
                }
            };
            return self.math_values(f, shape, values).map(Some);
        }
        if name == "abs" && args.len() == 1 {
            let values = self.values(args)?;
            let (id, kind, int, shape) = match self.class(values[0].ty) {
                Class::F32 => (MathId::Fabs, FloatKind::F32, IntKind::Int, Shape::Float),
                Class::F64 => (MathId::Fabs, FloatKind::F64, IntKind::Int, Shape::Float),
                Class::Int(k) => (MathId::Abs, FloatKind::F64, k.promoted(), Shape::Int),
                _ => return Err(self.err("abs of something that is no number")),
            };
            let f = MathFn { id, kind, int, arity: 1 };
            return self.math_values(f, shape, values).map(Some);
        }
        let Some((mut f, shape)) = math::find(name) else {
            return Ok(None);
        };
        if f.kind != FloatKind::F64 || !matches!(shape, Shape::Float | Shape::FloatInt | Shape::ToInt) {
            return Ok(None);
        }
        if args.len() != f.arity as usize {
            return Err(self.err("a math function with another number of arguments"));
        }
        let values = self.values(args)?;
        let deciding = if shape == Shape::FloatInt { &values[..1] } else { &values[..] };
        if deciding.iter().all(|v| self.class(v.ty) == Class::F32) {
            f.kind = FloatKind::F32;
        }
        self.math_values(f, shape, values).map(Some)
    }

    /// What the device provides to kernels.
    #[allow(clippy::type_complexity)]
    fn device(&mut self, word: Option<Word>, args: &[TermId]) -> R<Option<Option<V>>> {
        let int = self.int();
        if let Some(Word::Barrier(Scope::Block, kind)) = word {
            let a = match (kind, args) {
                (Tally::Nothing, []) => NONE,
                (Tally::Nothing, _) => return Err(self.err("a barrier with arguments")),
                (_, &[p]) => {
                    let v = self.rvalue(p)?;
                    let v = self.convert(v, int)?;
                    self.truth(v)?
                }
                _ => return Err(self.err("a counting barrier without its predicate")),
            };
            let d = self.temp();
            self.emit(Ins::Barrier { kind, d, a });
            return Ok(Some((kind != Tally::Nothing).then_some(V { reg: d, ty: int })));
        }
        if let Some(Word::Fence(scope)) = word {
            self.emit(Ins::Fence { scope });
            return Ok(Some(None));
        }
        if word == Some(Word::ReadOnlyLoad) {
            if let &[p] = args {
                let v = self.rvalue(p)?;
                let ty = match self.types.element(v.ty) {
                    Some(ty) if self.class(v.ty) == Class::Pointer => ty,
                    _ => return Err(self.err("a load through something that is no pointer")),
                };
                let v = self.load(super::Assignable::Mem { addr: v.reg, ty })?;
                return Ok(Some(Some(v)));
            }
        }
        if let Some(Word::Atomic(Some(op), Scope::Device | Scope::System)) = word {
            return self.atomic(op, args).map(|v| Some(Some(v)));
        }
        let warp = match word {
            Some(Word::Barrier(Scope::Warp, Tally::Nothing)) => WarpKind::Sync,
            Some(Word::Shuffle(s)) => WarpKind::Shuffle(s),
            Some(Word::Vote(v)) => WarpKind::Vote(v),
            Some(Word::Reduce(op)) => WarpKind::Reduce(op, AtomicTy::I32),
            Some(Word::Match) => WarpKind::Match,
            _ => return Ok(None),
        };
        self.warp(warp, args).map(Some)
    }

    fn warp(&mut self, mut kind: WarpKind, args: &[TermId]) -> R<Option<V>> {
        let values = self.values(args)?;
        let uint = self.types.int(IntKind::UInt);
        let int = self.int();
        let mask = match values.first() {
            Some(&m) => self.convert(m, uint)?,
            None if kind == WarpKind::Sync => {
                V { reg: self.constant(u64::MAX >> (64 - self.unit.options.limits.lanes)), ty: uint }
            }
            None => return Err(self.err("a warp operation without its mask")),
        };
        let zero = V { reg: self.constant(0), ty: int };
        let width = V { reg: self.constant(self.unit.options.limits.lanes.into()), ty: int };
        let mut list = [mask, zero, zero, width];
        let mut ty = int;
        let mut signed32 = false;
        match (kind, values.as_slice()) {
            (WarpKind::Sync, [] | [_]) => {}
            (WarpKind::Vote(vote), &[_, p]) => {
                let reg = self.truth(p)?;
                list[1] = V { reg, ty: int };
                if vote == Vote::Ballot {
                    ty = uint;
                }
            }
            (WarpKind::Match, &[_, v]) => {
                if !matches!(self.class(v.ty), Class::Int(_) | Class::F32 | Class::F64) {
                    return Err(self.err("a match of something that is no number"));
                }
                (list[1], ty) = (v, uint);
            }
            (WarpKind::Reduce(op, _), &[_, v]) => {
                let of = match self.class(v.ty) {
                    Class::Int(k) => self.types.int(k.promoted()),
                    _ => v.ty,
                };
                let cell = self.cell(of).filter(|c| {
                    !matches!(c, AtomicTy::F32 | AtomicTy::F64)
                        || matches!(op, AtomicOp::Add | AtomicOp::Min | AtomicOp::Max)
                });
                let Some(cell) = cell else {
                    return Err(self.err("a reduction of a warp that does not exist for this type"));
                };
                (kind, ty) = (WarpKind::Reduce(op, cell), of);
                list[1] = self.convert(v, of)?;
            }
            (_, &[_, v, lane] | &[_, v, lane, _]) => {
                // narrow integers are promoted as by C++'s overload resolution
                ty = match self.class(v.ty) {
                    Class::Int(k) => self.types.int(k.promoted()),
                    Class::F32 | Class::F64 => v.ty,
                    _ => return Err(self.err("a shuffle of something that is no number")),
                };
                signed32 = self.class(ty) == Class::Int(IntKind::Int);
                list[1] = self.convert(v, ty)?;
                list[2] = self.convert(lane, int)?;
                if let Some(&w) = values.get(3) {
                    list[3] = self.convert(w, int)?;
                }
            }
            _ => return Err(self.err("a warp operation with another number of arguments")),
        }
        let base = self.together(&list);
        let d = self.temp();
        self.emit(Ins::Warp { kind, d, args: base, signed32 });
        Ok((kind != WarpKind::Sync).then_some(V { reg: d, ty }))
    }

    /// What a type is to operations in one piece.
    fn cell(&mut self, of: TypeId) -> Option<AtomicTy> {
        Some(match self.class(of) {
            Class::Int(k) if k.bits() == 32 && k.signed() => AtomicTy::I32,
            Class::Int(k) if k.bits() == 32 => AtomicTy::U32,
            Class::Int(k) if k.bits() == 64 && k.signed() => AtomicTy::I64,
            Class::Int(k) if k.bits() == 64 => AtomicTy::U64,
            Class::F32 => AtomicTy::F32,
            Class::F64 => AtomicTy::F64,
            _ => return None,
        })
    }

    fn atomic(&mut self, op: AtomicOp, args: &[TermId]) -> R<V> {
        let wanted = if op == AtomicOp::CompareExchange { 3 } else { 2 };
        if args.len() != wanted {
            return Err(self.err("an atomic with another number of arguments"));
        }
        let values = self.values(args)?;
        let p = values[0];
        let of = match self.types.element(p.ty) {
            Some(of) if self.class(p.ty) == Class::Pointer => of,
            _ => return Err(self.err("an atomic on something that is no pointer")),
        };
        let Some(ty) = self.cell(of) else {
            return Err(self.err("an atomic on a value of this type"));
        };
        let exists = match (op, ty) {
            (AtomicOp::Add | AtomicOp::Exchange, _) => ty != AtomicTy::I64 || op == AtomicOp::Exchange,
            (AtomicOp::Increment | AtomicOp::Decrement, _) => ty == AtomicTy::U32,
            (AtomicOp::Sub, _) => matches!(ty, AtomicTy::I32 | AtomicTy::U32),
            _ => !matches!(ty, AtomicTy::F32 | AtomicTy::F64),
        };
        if !exists {
            return Err(self.err("an atomic that CUDA does not have for this type"));
        }
        let mut list = Vec::new();
        for &v in &values[1..] {
            list.push(self.convert(v, of)?);
        }
        let base = self.together(&list);
        let d = self.temp();
        self.emit(Ins::Atomic { op, ty, d, p: p.reg, args: base });
        Ok(V { reg: d, ty: of })
    }

    /// A few functions of C's library that move or make memory, also by gcc's names for them.
    fn library(&mut self, t: TermId, name: &str, args: &[TermId]) -> R<Option<V>> {
        let name = name.strip_prefix("__builtin_").unwrap_or(name);
        if name == "printf" {
            // its arguments are evaluated; what is printed nobody sees, so it has no value either
            self.values(args)?;
            return Ok(None);
        }
        let ulong = self.types.int(IntKind::ULong);
        let int = self.int();
        let known = matches!(
            (name, args.len()),
            ("memcpy" | "memmove" | "memset", 3) | ("malloc" | "free", 1) | ("calloc", 2)
        );
        let on_device = DeviceOp::of(name).filter(|op| op.arity() == args.len());
        if let Some(op) = on_device {
            return self.device_memory(op, args).map(Some);
        }
        if !known {
            if self.unit.program.stand_ins.contains(name) {
                return self.stand_in(t, name, args);
            }
            return Err(self.err(&format!("the function `{name}`, whose body is not known")));
        }
        let v = self.values(args)?;
        let void = self.types.void();
        let pointer = self.types.pointer(void);
        match name {
            "memcpy" | "memmove" | "memset" => {
                let n = self.convert(v[2], ulong)?.reg;
                if self.class(v[0].ty) != Class::Pointer {
                    return Err(self.err("a copy to something that is no pointer"));
                }
                let p = v[0].reg;
                if name == "memset" {
                    let a = self.convert(v[1], int)?.reg;
                    self.emit(Ins::MemSet { p, a, n });
                } else {
                    if self.class(v[1].ty) != Class::Pointer {
                        return Err(self.err("a copy from something that is no pointer"));
                    }
                    self.emit(Ins::MemCopy { p, a: v[1].reg, n });
                }
                Ok(Some(v[0]))
            }
            "malloc" | "calloc" => {
                let mut n = self.convert(v[0], ulong)?.reg;
                if let Some(&size) = v.get(1) {
                    let s = self.convert(size, ulong)?.reg;
                    let d = self.temp();
                    self.emit(Ins::Bin { op: Bin::MulI64, d, a: n, b: s });
                    n = d;
                }
                let d = self.temp();
                self.emit(Ins::Malloc { d, n, zero: name == "calloc" });
                Ok(Some(V { reg: d, ty: pointer }))
            }
            _ => {
                self.emit(Ins::Free { p: v[0].reg });
                Ok(None)
            }
        }
    }

    /// What a device's run time does to memory.
    fn device_memory(&mut self, op: DeviceOp, args: &[TermId]) -> R<V> {
        let v = self.values(args)?;
        let ulong = self.types.int(IntKind::ULong);
        let void = self.types.void();
        let pointer = self.types.pointer(void);
        let mut list = Vec::new();
        for value in v {
            list.push(match self.class(value.ty) {
                Class::Pointer => value,
                _ => self.convert(value, ulong)?,
            });
        }
        let args = self.together(&list);
        let d = self.temp();
        self.emit(Ins::Device { op, d, args });
        Ok(V { reg: d, ty: pointer })
    }

    /// A part of an index variable.
    pub(super) fn special(&mut self, base: TermId, field: &str) -> R<Option<V>> {
        let body = self.body;
        let (Some(index), Some(axis)) = (body.index_variable(base), term::device::axis(field)) else {
            return Ok(None);
        };
        let what = Special { index, axis: axis as u8 };
        let ty = self.types.int(IntKind::UInt);
        let d = self.temp();
        self.emit(Ins::Special { d, what });
        Ok(Some(V { reg: d, ty }))
    }

    /// A name the target provides.
    pub(super) fn builtin(&mut self, name: &str) -> R<V> {
        match name {
            "NULL" | "nullptr" => {
                let void = self.types.void();
                let ty = self.types.pointer(void);
                let reg = self.constant(0);
                Ok(V { reg, ty })
            }
            "true" | "false" => {
                let ty = self.types.int(IntKind::Bool);
                let reg = self.constant((name == "true") as u64);
                Ok(V { reg, ty })
            }
            "INFINITY" | "NAN" | "HUGE_VALF" => {
                let ty = self.types.float(FloatKind::F32);
                let v = if name == "NAN" { f32::NAN } else { f32::INFINITY };
                let reg = self.constant(v.to_bits() as u64);
                Ok(V { reg, ty })
            }
            _ => Err(self.err(&format!("the undeclared name `{name}`"))),
        }
    }
}
