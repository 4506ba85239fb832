//! Places in memory, what is read and written there, and calls.

use std::sync::Arc;

use term::device::{Scope, Word};
use term::{Len, Op, Storage, SymbolId, TermId, TypeId, TypeKind};

use super::{Access, Model, Object, Run, Share, Val};
use crate::kernel::races::Touch;
use crate::kernel::{callee, is_barrier, level, KernelObstacle};
use crate::value::Poly;

/// Where a value stands.
pub(super) enum Place {
    Local(SymbolId),
    Own,
    In(u32, Option<Poly>),
}

impl Model<'_> {
    pub(super) fn member(&mut self, t: TermId, b: TermId) -> Run<Val> {
        let body = self.body;
        let place = matches!(body.op(b), Op::Index | Op::Deref | Op::Member { .. } | Op::Sym(_) | Op::Cast);
        if !place && matches!(body.op(t), Op::Member { arrow: false, .. }) {
            self.eval(b)?;
            return Ok(self.fresh(t));
        }
        self.read(t)
    }

    pub(super) fn read(&mut self, t: TermId) -> Run<Val> {
        let body = self.body;
        let place = self.place(t)?;
        if matches!(body.types.kind(body.ty(t)), TypeKind::Array { .. }) {
            return Ok(match place {
                Place::In(o, at) => Val::Ptr(o, at),
                Place::Own | Place::Local(_) => Val::Own,
            });
        }
        Ok(match place {
            Place::Local(s) => self.local(s),
            Place::Own => self.fresh(t),
            Place::In(o, at) => {
                self.touch(t, o, at, body.ty(t), Touch::Read);
                self.fresh(t)
            }
        })
    }

    pub(super) fn write(&mut self, p: TermId, place: Place, (v, value): (TermId, Val)) -> Run<Val> {
        let body = self.body;
        let value = match body.types.as_int(body.ty(p)) {
            // in its type already
            Some(_) if v == p => value,
            Some(kind) => match self.kind(v) {
                Some(_) => self.converted(v, value, kind),
                None => Val::Int(self.number(Share::Thread, kind)),
            },
            None => value,
        };
        match place {
            Place::Local(s) => {
                self.locals.insert(s, value.clone());
            }
            Place::Own => {}
            Place::In(o, at) => self.touch(p, o, at, body.ty(p), Touch::Write),
        }
        Ok(value)
    }

    pub(super) fn touch(
        &mut self,
        term: TermId,
        object: u32,
        offset: Option<Poly>,
        ty: TypeId,
        touch: Touch,
    ) {
        let size = self.body.types.size_align(ty).map(|x| x.0);
        self.accesses.push(Access {
            term,
            object,
            offset: offset.filter(|_| size.is_some()),
            size: size.unwrap_or(1),
            touch,
            guards: self.guards.clone(),
            path: self.path.clone(),
        });
    }

    pub(super) fn place(&mut self, t: TermId) -> Run<Place> {
        let body = self.body;
        Ok(match (body.op(t), body.args(t)) {
            (Op::Sym(s), _) => {
                let symbol = &body.symbols[*s];
                let array = matches!(body.types.kind(symbol.ty), TypeKind::Array { .. });
                match symbol.storage {
                    Storage::Param(_) | Storage::Local if array || self.exposed.contains(s) => Place::Own,
                    Storage::Param(_) | Storage::Local => match body.types.kind(symbol.ty) {
                        TypeKind::Int(_) | TypeKind::Pointer { .. } => Place::Local(*s),
                        _ => Place::Own,
                    },
                    Storage::Shared | Storage::Global { .. } => {
                        Place::In(self.variable(*s), Some(Poly::constant(0)))
                    }
                    _ => return Err(KernelObstacle::Value(t)),
                }
            }
            (Op::Index, &[b, i]) => {
                let size = body.types.size_align(body.ty(t)).map(|x| x.0);
                let from = match body.types.kind(body.ty(b)) {
                    TypeKind::Array { .. } => self.place(b)?,
                    _ => self.pointed(b)?,
                };
                let i = match self.eval(i)? {
                    Val::Int(p) => Some(p),
                    _ => None,
                };
                self.moved(from, i, size)
            }
            (Op::Deref, &[p]) => self.pointed(p)?,
            (Op::Member { field, arrow }, &[b]) => {
                let record = if *arrow { body.types.element(body.ty(b)) } else { Some(body.ty(b)) };
                let from = if *arrow { self.pointed(b)? } else { self.place(b)? };
                let offset = record.and_then(|r| crate::kernel::access::field_offset(body, r, field));
                match from {
                    Place::Local(_) => Place::Own,
                    Place::In(o, _) if offset.is_none() => Place::In(o, None),
                    from => self.moved(from, Some(Poly::constant(offset.unwrap_or(0) as i128)), Some(1)),
                }
            }
            (Op::Cast, &[a]) if body.types.element(body.ty(t)).is_none() => self.place(a)?,
            _ => return Err(KernelObstacle::Value(t)),
        })
    }

    fn moved(&self, from: Place, by: Option<Poly>, size: Option<u64>) -> Place {
        match from {
            Place::In(o, at) => {
                let sum = || at?.add_scaled(&by?, size? as i128);
                Place::In(o, sum())
            }
            Place::Local(_) => Place::Own,
            other => other,
        }
    }

    fn pointed(&mut self, p: TermId) -> Run<Place> {
        match self.eval(p)? {
            Val::Ptr(o, at) => Ok(Place::In(o, at)),
            Val::Own => Ok(Place::Own),
            _ => Err(KernelObstacle::Value(p)),
        }
    }

    fn variable(&mut self, s: SymbolId) -> u32 {
        let body = self.body;
        let symbol = &body.symbols[s];
        let mut element = symbol.ty;
        let mut open = false;
        while let TypeKind::Array { of, len } = body.types.kind(element) {
            open |= !matches!(len, Len::Const(_));
            element = *of;
        }
        let shared = symbol.storage == Storage::Shared;
        // dynamic shared memory has one address, by whatever names
        let name: Arc<str> =
            if shared && open { "(dynamic shared memory)".into() } else { symbol.name.clone() };
        self.object(Object { name, shared, parameter: false, restrict: false })
    }

    pub(super) fn object(&mut self, o: Object) -> u32 {
        let known = self.objects.iter().position(|x| *x == o);
        known.unwrap_or_else(|| {
            self.objects.push(o);
            self.objects.len() - 1
        }) as u32
    }

    // ---- calls

    pub(super) fn call(&mut self, t: TermId, arguments: &[TermId]) -> Run<Val> {
        let body = self.body;
        let Some(name) = callee(body, t) else { return Err(KernelObstacle::Value(t)) };
        let mut values = Vec::with_capacity(arguments.len());
        for &a in arguments {
            values.push(self.eval(a)?);
        }
        if let Some(f) = self.program.function(name) {
            return match level::is_pure(&f.body, self.program, 0) {
                true => Ok(self.fresh(t)),
                false => Err(KernelObstacle::Value(t)),
            };
        }
        if is_barrier(body, t) {
            return Ok(self.fresh(t));
        }
        let word = body.called_word(t);
        if word == Some(Word::ReadOnlyLoad) {
            let (&[p], [Val::Ptr(o, at)]) = (arguments, &values[..]) else {
                return Err(KernelObstacle::Value(t));
            };
            let to = body.types.element(body.ty(p)).ok_or(KernelObstacle::Value(t))?;
            self.touch(t, *o, at.clone(), to, Touch::Read);
            return Ok(self.fresh(t));
        }
        if let Some(Word::Atomic(_, scope)) = word {
            let Some((&p, v)) = arguments.first().zip(values.first()) else {
                return Err(KernelObstacle::Value(t));
            };
            let to = match body.types.kind(body.ty(p)) {
                TypeKind::Array { of, .. } => Some(*of),
                _ => body.types.element(body.ty(p)),
            };
            let one_block = self.blocks.iter().all(|b| b.as_constant() == Some(1));
            match (v, to) {
                // not atomic to what other blocks do
                (Val::Ptr(o, _), _)
                    if scope == Scope::Block && !one_block && !self.objects[*o as usize].shared =>
                {
                    return Err(KernelObstacle::Value(t));
                }
                (Val::Ptr(o, at), Some(to)) => self.touch(t, *o, at.clone(), to, Touch::Atomic),
                (Val::Own, _) => {}
                _ => return Err(KernelObstacle::Value(t)),
            }
            return Ok(self.fresh(t));
        }
        // what is given a pointer may look behind it
        let given = values.iter().any(|v| matches!(v, Val::Ptr(..)));
        let silent = matches!(name, "printf" | "assert" | "__assume");
        if (level::is_harmless(body, t) || level::is_vector(name) || silent) && !given {
            return Ok(self.fresh(t));
        }
        Err(KernelObstacle::Value(t))
    }
}
