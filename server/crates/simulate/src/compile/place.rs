//! Places: what can be assigned, loaded from and stored to.

use term::{BinOp, Op, Storage, SymbolId, TermId, TypeId, TypeKind};

use super::types::Class;
use super::{Assignable, Cx, Home, R, V};
use crate::code::*;

impl Cx<'_, '_, '_> {
    /// Something with an address, or a variable in a register.
    pub(super) fn place(&mut self, t: TermId) -> R<Assignable> {
        self.under(t, |cx| cx.place_at(t))
    }

    fn place_at(&mut self, t: TermId) -> R<Assignable> {
        let body = self.body;
        match (body.op(t), body.args(t)) {
            (Op::Sym(s), _) => self.symbol_place(*s, t),
            (Op::Index, &[base, sub]) => {
                let b = self.rvalue(base)?;
                let b = self.keep(b);
                let i = self.rvalue(sub)?;
                let (b, i) = match (self.class(b.ty), self.class(i.ty)) {
                    (Class::Pointer, Class::Int(_)) => (b, i),
                    (Class::Int(_), Class::Pointer) => (i, b),
                    _ => return Err(self.err("a subscript of these types")),
                };
                let of = self.pointee(b.ty)?;
                self.within_its_dimension(t, i)?;
                let addr = self.offset(b.reg, of, i.reg, false)?;
                Ok(Assignable::Mem { addr, ty: of })
            }
            (Op::Deref, &[p]) => {
                let v = self.rvalue(p)?;
                if self.class(v.ty) != Class::Pointer {
                    return Err(self.err("a dereference of something that is no pointer"));
                }
                let ty = self.pointee(v.ty)?;
                Ok(Assignable::Mem { addr: v.reg, ty })
            }
            (Op::Member { field, arrow }, &[base]) => {
                let (addr, rec) = if *arrow {
                    let v = self.rvalue(base)?;
                    (v.reg, self.pointee(v.ty)?)
                } else if matches!(body.op(base), Op::Sym(_) | Op::Index | Op::Deref | Op::Member { .. }) {
                    match self.place(base)? {
                        Assignable::Mem { addr, ty } => (addr, ty),
                        Assignable::Reg { .. } => return Err(self.err("a member of a scalar")),
                    }
                } else {
                    let v = self.rvalue(base)?;
                    (v.reg, v.ty)
                };
                let (offset, ty) = self.field(rec, field)?;
                if offset == 0 {
                    return Ok(Assignable::Mem { addr, ty });
                }
                let i = self.constant(offset);
                let d = self.temp();
                self.emit(Ins::PtrAdd { d, p: addr, i, scale: 1 });
                Ok(Assignable::Mem { addr: d, ty })
            }
            (Op::Str(s), _) => {
                let g = self.string(&s.clone());
                let d = self.temp();
                self.emit(Ins::GlobalAddr { d, global: g });
                Ok(Assignable::Mem { addr: d, ty: body.ty(t) })
            }
            (Op::Reject(r), _) => Err(self.err(&body.reject(*r).reason.clone())),
            (Op::Cast, &[_]) => Err(self.err("a compound literal or a cast used as a place")),
            (op, _) => Err(self.err(&format!("{op:?} used as a place"))),
        }
    }

    pub(super) fn field(&mut self, rec: TypeId, name: &str) -> R<(u64, TypeId)> {
        let TypeKind::Record(r) = self.types.kind(rec) else {
            return Err(self.err("a member of something that is no struct"));
        };
        let record = self.types.record(*r);
        let Some(fields) = &record.fields else {
            return Err(self.err("a member of a struct that is only declared"));
        };
        if fields.iter().any(|f| f.bits.is_some() && &*f.name == name) {
            return Err(self.err("bit-fields"));
        }
        if self.types.layout(*r).is_none() {
            return Err(self.err("a struct of unknown layout"));
        }
        if let Some(found) = self.types.member_at(*r, name) {
            return Ok(found);
        }
        Err(self.err(&format!("no member `{name}`")))
    }

    pub(super) fn symbol_place(&mut self, s: SymbolId, t: TermId) -> R<Assignable> {
        self.at = t;
        let symbol = &self.body.symbols[s];
        let ty = match symbol.storage {
            Storage::Param(_) => self.decayed_param(symbol.ty),
            _ => symbol.ty,
        };
        let home = match self.homes.get(&s) {
            Some(h) => *h,
            None => self.outer_home(s)?,
        };
        Ok(match home {
            Home::Reg { reg, flag } => Assignable::Reg { reg, flag, symbol: s, ty },
            Home::Mem { addr, .. } => Assignable::Mem { addr, ty },
            Home::Global(global) => {
                let d = self.temp();
                self.emit(Ins::GlobalAddr { d, global });
                Assignable::Mem { addr: d, ty }
            }
            Home::Shared(shared) => {
                let d = self.temp();
                self.emit(Ins::SharedAddr { d, shared });
                Assignable::Mem { addr: d, ty }
            }
        })
    }

    pub(super) fn load_place_of(&mut self, t: TermId) -> R<V> {
        let p = self.place(t)?;
        self.load(p)
    }

    /// The value at a place.
    pub(super) fn load(&mut self, p: Assignable) -> R<V> {
        match p {
            Assignable::Reg { reg, flag, symbol, ty } => {
                if let Some(flag) = flag {
                    let var = self.reasons.len() as u32;
                    self.reasons.push(self.body.symbols[symbol].name.clone());
                    self.emit(Ins::CheckInit { flag, var });
                }
                Ok(V { reg, ty })
            }
            Assignable::Mem { addr, ty } => match self.class(ty) {
                Class::Array => {
                    let of = self.pointee(ty)?;
                    let ty = self.types.pointer(of);
                    Ok(V { reg: addr, ty })
                }
                Class::Record => Ok(V { reg: addr, ty }),
                _ => {
                    let kind = self.mem_kind(ty)?;
                    let d = self.temp();
                    self.emit(Ins::Load { kind, d, p: addr });
                    Ok(V { reg: d, ty })
                }
            },
        }
    }

    /// Stores a value already converted to the place's type.
    pub(super) fn store(&mut self, p: Assignable, v: V, t: TermId) -> R<()> {
        let was = std::mem::replace(&mut self.at, t);
        let r = self.store_here(p, v);
        self.at = was;
        r
    }

    fn store_here(&mut self, p: Assignable, v: V) -> R<()> {
        match p {
            Assignable::Reg { reg, flag, .. } => {
                self.move_to(reg, v.reg);
                if let Some(flag) = flag {
                    self.set(flag, 1);
                }
            }
            Assignable::Mem { addr, ty } => match self.class(ty) {
                Class::Record => {
                    let size = self.const_size(ty)? as u32;
                    self.emit(Ins::Copy { p: addr, a: v.reg, size });
                }
                _ => {
                    let kind = self.mem_kind(ty)?;
                    self.emit(Ins::Store { kind, p: addr, a: v.reg });
                }
            },
        }
        Ok(())
    }

    /// `d = a`; where `a` was made by the last instruction, that one writes `d` itself.
    pub(super) fn move_to(&mut self, d: Reg, a: Reg) {
        let fresh = a >= self.fixed && self.joined != self.ins.len();
        let last = if fresh { self.ins.last_mut() } else { None };
        match last {
            Some(
                Ins::Bin { d: x, .. }
                | Ins::Un { d: x, .. }
                | Ins::Load { d: x, .. }
                | Ins::Const { d: x, .. }
                | Ins::PtrAdd { d: x, .. },
            ) if *x == a => *x = d,
            _ if d == a => {}
            _ => {
                self.emit(Ins::Mov { d, a });
            }
        }
    }

    pub(super) fn assign(&mut self, l: TermId, r: TermId) -> R<V> {
        let p = self.place(l)?;
        let v = self.rvalue(r)?;
        let ty = p.ty();
        if self.class(ty) == Class::Array {
            return Err(self.err("an assignment to an array"));
        }
        let v = self.convert(v, ty)?;
        self.store(p, v, l)?;
        Ok(match p {
            Assignable::Reg { reg, ty, .. } => V { reg, ty },
            Assignable::Mem { .. } => v,
        })
    }

    /// `l op= r`, and `l ± 1` without `r`; the value is the new one, or the old one if `old`.
    pub(super) fn compound(&mut self, op: BinOp, l: TermId, r: Option<TermId>, old: bool) -> R<V> {
        let here = self.at;
        let p = self.place(l)?;
        let ty = p.ty();
        self.at = l;
        let mut before = self.load(p)?;
        self.at = here;
        if old {
            let d = self.temp();
            self.emit(Ins::Mov { d, a: before.reg });
            before.reg = d;
        } else {
            before = self.keep(before);
        }
        let right = match r {
            Some(r) => self.rvalue(r)?,
            None => {
                let ty = self.int();
                let reg = self.constant(1);
                V { reg, ty }
            }
        };
        let after = self.binary(op, before, right)?;
        let after = self.convert(after, ty)?;
        self.store(p, after, l)?;
        Ok(match p {
            _ if old => before,
            Assignable::Reg { reg, ty, .. } => V { reg, ty },
            Assignable::Mem { .. } => after,
        })
    }
}
