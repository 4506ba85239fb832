//! Places in memory, what is read and written there, and calls.

use std::sync::Arc;

use term::device::{AtomicOp, Scope, Word};
use term::{Len, Storage, SymbolId, TermId, TypeId, TypeKind};

use super::{Run, SymbolicAccess, SymbolicKernel, SymbolicObject, Val};
use crate::algebra::poly::{Constraint, Poly};
use crate::kernel::interpret::{walk, Arguments, Called};
use crate::kernel::races::Touch;
use crate::kernel::{uniformity, KernelObstacle};

/// Where a value stands.
pub(in crate::kernel) enum SymbolicPlace {
    Local(SymbolId),
    Own,
    In(u32, Option<Poly>),
}

impl<'a> SymbolicKernel<'a> {
    pub(super) fn touch(
        &mut self,
        term: TermId,
        object: u32,
        offset: Option<Poly>,
        ty: TypeId,
        touch: Touch,
    ) {
        let size = self.body.types.size_align(ty).map(|x| x.0);
        let offset = offset.map(|p| self.recomposed(p));
        self.accesses.push(SymbolicAccess {
            term,
            object,
            offset: offset.filter(|_| size.is_some()),
            size: size.unwrap_or(1),
            touch,
            guards: self.guards.clone(),
            path: self.path.clone(),
        });
    }

    pub(super) fn moved(&self, from: SymbolicPlace, by: Option<Poly>, size: Option<u64>) -> SymbolicPlace {
        match from {
            SymbolicPlace::In(o, at) => {
                let sum = || at?.add_scaled(&by?, size? as i128);
                SymbolicPlace::In(o, sum())
            }
            SymbolicPlace::Local(_) => SymbolicPlace::Own,
            other => other,
        }
    }

    /// The object that a variable is.
    pub(super) fn object_of(&mut self, s: SymbolId) -> u32 {
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
        self.object(SymbolicObject { name, shared, parameter: false, restrict: false })
    }

    pub(super) fn object(&mut self, o: SymbolicObject) -> u32 {
        let known = self.objects.iter().position(|x| *x == o);
        known.unwrap_or_else(|| {
            self.objects.push(o);
            self.objects.len() - 1
        }) as u32
    }

    // ---- calls

    pub(super) fn called(
        &mut self,
        t: TermId,
        called: Called<'a>,
        arguments: Arguments<'_, Val>,
    ) -> Run<Val> {
        let body = self.body;
        let Arguments { terms, values } = arguments;
        // what is given a pointer may look behind it
        let given = values.iter().any(|v| matches!(v, Val::Ptr(..)));
        let silent = match called {
            Called::Function(f) => uniformity::is_pure(&f.body, self.program, 0),
            Called::Word(word) if word.is_block_barrier() => true,
            Called::Word(Word::ReadOnlyLoad) => {
                let (&[p], [Val::Ptr(o, at)]) = (terms, &values[..]) else {
                    return Err(KernelObstacle::Value(t));
                };
                let to = body.types.element(body.ty(p)).ok_or(KernelObstacle::Value(t))?;
                self.touch(t, *o, at.clone(), to, Touch::Read);
                true
            }
            Called::Min | Called::Max => !given,
            Called::Word(_) => uniformity::is_harmless(body, t) && !given,
            Called::Library(name) if gpu::toolkit::changes(name).is_some() => {
                match gpu::toolkit::changes(name).and_then(|k| Some((terms.get(k)?, values.get(k)?))) {
                    Some((&p, Val::Ptr(o, at))) => {
                        let to = body.types.element(body.ty(p)).ok_or(KernelObstacle::Value(t))?;
                        self.touch(t, *o, at.clone(), to, Touch::Write);
                        true
                    }
                    Some((_, Val::Own)) => true,
                    _ => false,
                }
            }
            Called::Library(name) => {
                let silent = matches!(name, "printf" | "assert" | "__assume")
                    // into variables of the thread
                    || gpu::math::writes_through(name);
                (uniformity::is_harmless(body, t) || uniformity::is_vector(name) || silent) && !given
            }
            Called::Unknown => false,
        };
        if let (Called::Min | Called::Max, &[a, b], [x, y]) = (&called, terms, &values[..]) {
            let least = matches!(called, Called::Min);
            if let Some(v) = self.extreme(t, least, (a, x.clone()), (b, y.clone())) {
                return Ok(v);
            }
        }
        if silent {
            Ok(self.fresh(t))
        } else {
            Err(KernelObstacle::Value(t))
        }
    }

    /// The smaller, or larger, of two integers: one that is no larger, or no smaller, than either.
    fn extreme(
        &mut self,
        t: TermId,
        least: bool,
        (a, x): (TermId, Val),
        (b, y): (TermId, Val),
    ) -> Option<Val> {
        let kind = self.kind(a)?.promoted().common(self.kind(b)?.promoted());
        if self.kind(t)? != kind {
            return None;
        }
        let (Val::Int(p), Val::Int(q)) = (self.converted(a, x, kind), self.converted(b, y, kind)) else {
            return None;
        };
        let Val::Int(v) = self.fresh(t) else { return None };
        for of in [p, q] {
            let apart = if least { of.sub(&v) } else { v.sub(&of) };
            self.guards.push(Constraint::non_negative(apart?));
        }
        Some(Val::Int(v))
    }

    pub(super) fn atomic_at(
        &mut self,
        t: TermId,
        (_, scope): (Option<AtomicOp>, Scope),
        arguments: &[TermId],
    ) -> Run<Val> {
        let target = walk::target(self, arguments, ())?;
        let Some((v, to)) = target else { return Err(KernelObstacle::Value(t)) };
        let one_block = self.blocks.iter().all(|b| b.as_constant() == Some(1));
        match (v, to) {
            // not atomic to what other blocks do
            (Val::Ptr(o, _), _)
                if scope == Scope::Block && !one_block && !self.objects[o as usize].shared =>
            {
                return Err(KernelObstacle::Value(t));
            }
            (Val::Ptr(o, at), Some(to)) => self.touch(t, o, at, to, Touch::Atomic),
            (Val::Own, _) => {}
            _ => return Err(KernelObstacle::Value(t)),
        }
        Ok(self.fresh(t))
    }
}
