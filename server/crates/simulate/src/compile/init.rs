//! Declarations and their initializers; variables that outlive calls; strings.

use std::sync::Arc;

use term::{Len, Op, Storage, SymbolId, TermId, TypeId, TypeKind};

use super::emit::OPEN;
use super::types::{grain, Class, Size};
use super::{symbol_number, Assignable, Cx, Home, R, V};
use crate::code::*;

impl Cx<'_, '_, '_> {
    /// A local declaration.
    pub(super) fn declare(&mut self, s: SymbolId, init: Option<TermId>, t: TermId) -> R<()> {
        let symbol = &self.body.symbols[s];
        match symbol.storage {
            Storage::Local | Storage::StaticLocal { kept: false } => {}
            // initialized once, at the function's start; shared memory has no initializer; a local `extern` has none
            Storage::StaticLocal { .. } | Storage::Shared | Storage::Global { .. } | Storage::Function => {
                return Ok(())
            }
            _ => return Err(self.err("a declaration of this kind")),
        }
        self.lengths_of(symbol.ty)?;
        let ty = symbol.ty;
        // what a `static` begins with nobody reads of one that holds nothing: as if it had no value
        let init = init.filter(|_| symbol.storage == Storage::Local);
        match self.homes.get(&s).copied() {
            Some(Home::Reg { reg, flag }) => match init {
                Some(i) => {
                    let i = self.single(i);
                    let v = self.rvalue(i)?;
                    let v = self.convert(v, ty)?;
                    self.store(Assignable::Reg { reg, flag, symbol: s, ty }, v, t)
                }
                None => {
                    if let Some(flag) = flag {
                        self.set(flag, 0);
                    }
                    Ok(())
                }
            },
            Some(Home::Mem { addr, var }) => {
                let fixed = self.vars[var as usize].size != u64::MAX;
                if fixed {
                    self.emit(Ins::Alloc { d: addr, var });
                } else {
                    let size = match (self.types.kind(ty).clone(), init) {
                        (TypeKind::Array { of, len: Len::Unknown }, Some(i)) => {
                            let n = self.init_len(i);
                            let each = self.const_size(of)?;
                            self.constant(n.saturating_mul(each))
                        }
                        _ => match self.size_of(ty)? {
                            Size::Const(n) => self.constant(n),
                            Size::Reg(r) => r,
                        },
                    };
                    self.emit(Ins::AllocSized { d: addr, var, size });
                }
                match init {
                    Some(i) => self.init(addr, ty, i, true),
                    None => Ok(()),
                }
            }
            _ => Err(self.err("a declaration without a home")),
        }
    }

    /// `{x}` around a scalar is `x`.
    fn single(&self, i: TermId) -> TermId {
        match (self.body.op(i), self.body.args(i)) {
            (Op::InitList, &[one]) => one,
            _ => i,
        }
    }

    fn init_len(&self, i: TermId) -> u64 {
        match self.body.op(i) {
            Op::Str(s) => s.len() as u64 + 1,
            _ => self.body.args(i).len() as u64,
        }
    }

    /// Writes an initializer to fresh memory; `zero` where the memory is not zero already.
    pub(super) fn init(&mut self, addr: Reg, ty: TypeId, init: TermId, zero: bool) -> R<()> {
        let body = self.body;
        self.under(init, |cx| match (body.op(init), cx.class(ty)) {
            (Op::InitList, Class::Array | Class::Record) => {
                if zero {
                    let size = cx.init_bytes(ty, init)?;
                    cx.emit(Ins::Zero { p: addr, size });
                }
                let items = body.args(init);
                let mut next = 0;
                cx.fill(addr, 0, ty, items, &mut next)?;
                if next < items.len() {
                    return Err(cx.err("more initializers than there are elements"));
                }
                Ok(())
            }
            (Op::Str(s), Class::Array) => {
                let size = cx.init_bytes(ty, init)?;
                let len = (s.len() as u64 + 1).min(size as u64) as u32;
                if zero && len < size {
                    cx.emit(Ins::Zero { p: addr, size });
                }
                let global = cx.string(&s.clone());
                let d = cx.temp();
                cx.emit(Ins::GlobalAddr { d, global });
                cx.emit(Ins::Copy { p: addr, a: d, size: len });
                Ok(())
            }
            _ => {
                let one = cx.single(init);
                let v = cx.rvalue(one)?;
                let v = cx.convert(v, ty)?;
                cx.store(Assignable::Mem { addr, ty }, v, init)
            }
        })
    }

    fn init_bytes(&mut self, ty: TypeId, init: TermId) -> R<u32> {
        let bytes = match self.types.kind(ty).clone() {
            TypeKind::Array { of, len: Len::Unknown } => {
                self.const_size(of)?.saturating_mul(self.init_len(init))
            }
            _ => self.const_size(ty)?,
        };
        u32::try_from(bytes).map_err(|_| self.err("an initializer of this size"))
    }

    /// Fills one aggregate from `items`, braces given or elided (C11 6.7.9p20).
    fn fill(&mut self, addr: Reg, offset: u64, ty: TypeId, items: &[TermId], next: &mut usize) -> R<()> {
        match self.types.kind(ty).clone() {
            TypeKind::Array { of, len } => {
                let n = match len {
                    Len::Const(n) => n,
                    Len::Unknown => u64::MAX,
                    Len::Term(_) => return Err(self.err("an initialized VLA")),
                };
                let each = self.const_size(of)?;
                let mut i = 0;
                while i < n && *next < items.len() {
                    self.fill_one(addr, offset + i * each, of, items, next)?;
                    i += 1;
                }
                Ok(())
            }
            TypeKind::Record(r) => {
                let record = self.types.record(r).clone();
                let Some(fields) = record.fields else {
                    return Err(self.err("a struct that is only declared"));
                };
                let Some(layout) = self.types.layout(r).cloned() else {
                    return Err(self.err("a struct of unknown layout"));
                };
                for (f, m) in fields.iter().zip(&layout.members) {
                    if *next >= items.len() {
                        break;
                    }
                    match f.bits {
                        Some(_) if f.name.is_empty() => continue,
                        Some(_) => return Err(self.err("bit-fields")),
                        None => {}
                    }
                    self.fill_one(addr, offset + m.bit / 8, f.ty, items, next)?;
                    if record.is_union {
                        break; // only the first member
                    }
                }
                Ok(())
            }
            _ => self.fill_one(addr, offset, ty, items, next),
        }
    }

    fn fill_one(&mut self, addr: Reg, offset: u64, ty: TypeId, items: &[TermId], next: &mut usize) -> R<()> {
        let body = self.body;
        let Some(&item) = items.get(*next) else {
            return Ok(());
        };
        let aggregate = matches!(self.class(ty), Class::Array | Class::Record);
        let braced = matches!(body.op(item), Op::InitList);
        let whole = matches!(body.op(item), Op::Str(_)) && self.class(ty) == Class::Array
            || aggregate && self.class(body.ty(item)) == Class::Record && self.class(ty) == Class::Record;
        if aggregate && !braced && !whole {
            return self.under(item, |cx| cx.fill(addr, offset, ty, items, next));
        }
        *next += 1;
        let tmp = self.tmp;
        let at = if offset == 0 {
            addr
        } else {
            let i = self.constant(offset);
            let d = self.temp();
            self.emit(Ins::PtrAdd { d, p: addr, i, scale: 1 });
            d
        };
        let r = self.init(at, ty, item, false);
        self.tmp = tmp;
        r
    }

    /// Static locals are initialized before anything runs; here: when their function is first entered.
    pub(super) fn statics(&mut self, statements: TermId) {
        let body = self.body;
        for t in body.walk(statements) {
            let (Op::Declare(s), &[init]) = (body.op(t), body.args(t)) else {
                continue;
            };
            if body.symbols[*s].storage != (Storage::StaticLocal { kept: true }) {
                continue;
            }
            let flag = self.unit.code.flags;
            self.unit.code.flags += 1;
            let once = self.emit(Ins::Once { flag, to: OPEN });
            if let Err(gap) = self.init_global(*s, init) {
                self.gap(gap);
            }
            let here = self.here();
            self.patch(once, here);
        }
    }

    /// A global, a static local or shared memory, on first use.
    pub(super) fn outer_home(&mut self, s: SymbolId) -> R<Home> {
        let symbol = &self.body.symbols[s];
        let size = self.types.size_align(symbol.ty).map(|(b, _)| b);
        let grain = grain(&self.types, symbol.ty);
        let home = match symbol.storage {
            Storage::Global { .. } => Home::Global(self.global(s)?),
            Storage::StaticLocal { .. } => {
                let Some(size) = self.static_size(s, size) else {
                    return Err(self.err("a static variable of unknown size"));
                };
                Home::Global(self.unit.push_global(Global {
                    name: symbol.name.clone(),
                    size,
                    grain,
                    bytes: None,
                    read_only: false,
                    constant: false,
                    provided: false,
                    variable: (symbol_number(s), self.index),
                }))
            }
            Storage::Shared => {
                let dynamic = matches!(self.types.kind(symbol.ty), TypeKind::Array { len: Len::Unknown, .. });
                if size.is_none() && !dynamic {
                    return Err(self.err("shared memory of unknown size"));
                }
                // all `extern __shared__` arrays are one and the same memory
                let key = if dynamic {
                    ("".into(), u32::MAX)
                } else {
                    (symbol.name.clone(), self.index.wrapping_mul(65_536).wrapping_add(symbol_number(s)))
                };
                let n = match self.unit.shared.get(&key) {
                    Some(&n) => n,
                    None => {
                        let n = self.unit.code.shared.len() as u32;
                        self.unit.code.shared.push(Shared { name: symbol.name.clone(), size, grain });
                        self.unit.shared.insert(key, n);
                        n
                    }
                };
                Home::Shared(n)
            }
            Storage::Function => return Err(self.err("a function as a value")),
            Storage::Local => return Err(self.err("a variable declared outside the function")),
            _ => return Err(self.err(&format!("the undeclared name `{}`", symbol.name))),
        };
        self.homes.insert(s, home);
        Ok(home)
    }

    fn static_size(&self, s: SymbolId, size: Option<u64>) -> Option<u64> {
        if size.is_some() {
            return size;
        }
        let TypeKind::Array { of, len: Len::Unknown } = self.types.kind(self.body.symbols[s].ty) else {
            return None;
        };
        let body = self.body;
        let declared = body.walk(body.root).find(|&t| matches!(body.op(t), Op::Declare(x) if *x == s))?;
        let init = *body.args(declared).first()?;
        self.types.size_align(*of)?.0.checked_mul(self.init_len(init))
    }

    /// The global of this name: its definition, where one of the declarations holds it.
    fn global(&mut self, s: SymbolId) -> R<u32> {
        let name = self.body.symbols[s].name.clone();
        if let Some(&g) = self.unit.globals.get(&name) {
            return Ok(g);
        }
        let mut constant = is_constant(&self.body.symbols[s]);
        let mut found = None;
        for &b in &self.unit.program.declarations {
            for t in b.walk(b.root) {
                let Op::Declare(d) = b.op(t) else { continue };
                let symbol = &b.symbols[*d];
                let defined = matches!(symbol.storage, Storage::Global { defined_here: true, .. });
                constant |= symbol.name == name && is_constant(symbol);
                if symbol.name != name || !defined {
                    continue;
                }
                let init = b.args(t).first().copied();
                // a tentative definition gives way to one with an initializer
                if found.is_none() || init.is_some() {
                    found = Some((b, *d, init));
                }
            }
        }
        let (size, grain, provided) = match found {
            Some((b, d, init)) => {
                let ty = b.symbols[d].ty;
                let size = match (b.types.kind(ty), init) {
                    (TypeKind::Array { of, len: Len::Unknown }, Some(i)) => {
                        let n = match b.op(i) {
                            Op::Str(s) => s.len() as u64 + 1,
                            _ => b.args(i).len() as u64,
                        };
                        b.types.size_align(*of).and_then(|(e, _)| e.checked_mul(n))
                    }
                    _ => b.types.size_align(ty).map(|(x, _)| x),
                };
                (size, super::types::grain(&b.types, ty), false)
            }
            None => {
                let symbol = &self.body.symbols[s];
                let here = matches!(symbol.storage, Storage::Global { defined_here: true, .. });
                let size = self.types.size_align(symbol.ty).map(|(x, _)| x);
                (size, grain(&self.types, symbol.ty), !here)
            }
        };
        let Some(size) = size else {
            return Err(self.err(&format!("the global `{name}` of unknown size")));
        };
        let g = self.unit.push_global(Global {
            name: name.clone(),
            size,
            grain,
            bytes: None,
            read_only: false,
            constant,
            provided,
            variable: (u32::MAX, u32::MAX),
        });
        self.unit.globals.insert(name, g);
        if let Some((b, d, Some(init))) = found {
            self.unit.inits.push((b, d, init, g));
        }
        Ok(g)
    }

    /// A string literal's bytes with the final zero.
    pub(super) fn string(&mut self, s: &Arc<str>) -> u32 {
        let mut bytes = s.as_bytes().to_vec();
        bytes.push(0);
        self.unit.push_global(Global {
            name: "string literal".into(),
            size: bytes.len() as u64,
            grain: 1,
            bytes: Some(bytes.into()),
            read_only: true,
            constant: false,
            provided: false,
            variable: (u32::MAX, u32::MAX),
        })
    }

    /// An object for a struct that a call returns.
    pub(super) fn temporary(&mut self, ty: TypeId) -> R<V> {
        let size = self.const_size(ty)?;
        let grain = grain(&self.types, ty);
        let symbol = SymbolId(u32::MAX);
        let var = self.new_var("temporary".into(), symbol, size, grain);
        let d = self.temp();
        self.emit(Ins::Alloc { d, var });
        Ok(V { reg: d, ty })
    }
}

fn is_constant(symbol: &term::Symbol) -> bool {
    matches!(symbol.storage, Storage::Global { constant: true, .. })
}
