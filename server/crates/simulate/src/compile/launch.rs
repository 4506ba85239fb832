//! Kernel launches in host code, and vectors made of their parts: `dim3`, `make_float4`.
//!
//! A launch stops the host thread ([`crate::exec::Stop::Launch`]); whoever drives it runs the grid. See
//! [`crate::hosted`].

use term::{IntKind, Op, TermId, TypeId, TypeKind};

use super::types::Class;
use super::{Cx, R, V};
use crate::code::*;

impl Cx<'_, '_, '_> {
    /// `dim3(x, y, z)`, whose absent parts are 1, or `make_float4(x, y, z, w)`, which has them all.
    pub(super) fn vector(&mut self, t: TermId, name: &str, args: &[TermId]) -> R<V> {
        let ty = self.body.ty(t);
        let fields: Vec<TypeId> = match self.types.kind(ty) {
            TypeKind::Record(r) => {
                let fields = self.types.record(*r).fields.iter().flatten();
                fields.map(|f| f.ty).collect()
            }
            _ => Vec::new(),
        };
        let enough = if name == "dim3" { args.len() <= 3 } else { args.len() == fields.len() };
        if fields.is_empty() || !enough {
            return Err(self.err(&format!("a `{name}` made with another number of values")));
        }
        let mut parts = Vec::with_capacity(fields.len());
        for (k, &field) in fields.iter().enumerate() {
            parts.push(match args.get(k) {
                Some(&a) => {
                    let v = self.rvalue(a)?;
                    self.convert(v, field)?.reg
                }
                None => self.constant(1),
            });
        }
        let v = self.temporary(ty)?;
        let mut offset = 0;
        for (part, field) in parts.into_iter().zip(fields) {
            let kind = self.mem_kind(field)?;
            let i = self.constant(offset);
            let p = self.temp();
            self.emit(Ins::PtrAdd { d: p, p: v.reg, i, scale: 1 });
            self.emit(Ins::Store { kind, p, a: part });
            offset += kind.size() as u64;
        }
        Ok(v)
    }

    /// `k<<<grid, block, shared, stream>>>(a…)`
    pub(super) fn launch(&mut self, t: TermId) -> R<()> {
        let body = self.body;
        let [callee, grid, block, shared, _stream, args @ ..] = body.args(t) else {
            return Err(self.err("a launch of another form"));
        };
        let name = match body.op(*callee) {
            Op::Sym(s) => body.symbols[*s].name.clone(),
            Op::Name(n) => n.clone(),
            _ => return Err(self.err("a launch of something that is no kernel's name")),
        };
        let Some(f) = self.unit.function(&name) else {
            return Err(self.err(&format!("a launch of `{name}`, whose body is not known")));
        };
        let mut config = self.extents(*grid)?.to_vec();
        config.extend(self.extents(*block)?);
        config.push(match body.op(*shared) {
            Op::Empty => self.constant(0),
            _ => {
                let ulong = self.types.int(IntKind::ULong);
                let v = self.rvalue(*shared)?;
                self.convert(v, ulong)?.reg
            }
        });
        let params = self.unit.code.funcs[f as usize].params.clone();
        if params.len() != args.len() {
            return Err(self.err("a launch with another number of arguments than its kernel has"));
        }
        let mut values = Vec::with_capacity(args.len());
        for (&a, kind) in args.iter().zip(&params) {
            let v = self.rvalue(a)?;
            let to = match kind {
                ParamKind::Int(k) => self.types.int(*k),
                ParamKind::F32 => self.types.float(term::FloatKind::F32),
                ParamKind::F64 => self.types.float(term::FloatKind::F64),
                ParamKind::Pointer if matches!(self.class(v.ty), Class::Pointer | Class::Int(_)) => v.ty,
                ParamKind::Record(size)
                    if self.class(v.ty) == Class::Record && self.const_size(v.ty)? == *size as u64 =>
                {
                    v.ty
                }
                _ => return Err(self.err("an argument of another type than the parameter")),
            };
            values.push(self.convert(v, to)?.reg);
        }
        let base = self.temps((config.len() + values.len()) as u32);
        for (k, reg) in config.into_iter().chain(values).enumerate() {
            self.emit(Ins::Mov { d: base + k as u32, a: reg });
        }
        self.emit(Ins::Launch { f, args: base, n: args.len() as u32 });
        Ok(())
    }

    /// Three extents of a `dim3`, or of an integer.
    fn extents(&mut self, t: TermId) -> R<[Reg; 3]> {
        let v = self.rvalue(t)?;
        match self.class(v.ty) {
            Class::Int(_) => {
                let uint = self.types.int(IntKind::UInt);
                let x = self.convert(v, uint)?.reg;
                Ok([x, self.constant(1), self.constant(1)])
            }
            Class::Record if self.const_size(v.ty)? == 12 => {
                let mut out = [NONE; 3];
                for (k, d) in out.iter_mut().enumerate() {
                    let p = self.part_of(v.reg, k);
                    *d = self.temp();
                    self.emit(Ins::Load { kind: Mem::U32, d: *d, p });
                }
                Ok(out)
            }
            _ => Err(self.err("a launch configuration that is neither an integer nor a `dim3`")),
        }
    }

    /// The address of the `k`-th 32-bit part.
    fn part_of(&mut self, p: Reg, k: usize) -> Reg {
        let i = self.constant(k as u64);
        let d = self.temp();
        self.emit(Ins::PtrAdd { d, p, i, scale: 4 });
        d
    }
}
