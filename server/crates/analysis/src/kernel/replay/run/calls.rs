//! Calls: barriers, fences, atomics, functions of the program and of the library.

use term::device::{AtomicOp, Scope, Word};
use term::{Body, TermId, TypeKind};

use super::super::values::Val;
use super::super::{ObjectKind, Touch};
use super::{Run, Runner};
use crate::kernel::{callee, is_barrier, level, KernelObstacle};

impl<'a> Runner<'a> {
    pub(super) fn call(&mut self, t: TermId, arguments: &[TermId]) -> Run<Val> {
        let body = self.body();
        let Some(name) = callee(body, t) else { return Err(KernelObstacle::Value(t)) };
        let mut values = Vec::with_capacity(arguments.len());
        for &a in arguments {
            values.push(self.eval(a)?);
        }
        if let Some(f) = self.program.function(name) {
            let f: &'a Body = &f.body;
            let known = self.trace.functions.iter().position(|b| std::ptr::eq(*b, f));
            let n = known.unwrap_or_else(|| {
                self.trace.functions.push(f);
                self.trace.functions.len() - 1
            });
            let in_kernel = self.frames.len() == 1;
            // what stops it there is told at the kernel's own call
            return self.enter(f, n as u32, values).map_err(|why| match why {
                KernelObstacle::Value(_) if in_kernel => KernelObstacle::Value(t),
                KernelObstacle::Structure(_) if in_kernel => KernelObstacle::Structure(t),
                why => why,
            });
        }
        let word = body.called_word(t);
        if is_barrier(body, t) {
            let site = self.site(t);
            if self.may {
                self.soft = true;
                self.trace.soft_barriers.push(site);
            } else {
                self.passed.blocks.push(site);
                self.soft = false;
            }
            return Ok(Val::Unknown);
        }
        match word {
            Some(Word::Barrier(Scope::Warp, _)) => {
                let whole = values.first().is_none_or(|v| v.int() == Some(0xFFFF_FFFF));
                if whole && !self.may {
                    let site = self.site(t);
                    self.passed.warps.push(site);
                    self.warp_soft = false;
                } else {
                    self.warp_soft = true;
                }
                return Ok(Val::Unknown);
            }
            Some(Word::Fence(Scope::Device | Scope::System)) => {
                self.trace.fences = true;
                return Ok(Val::Unknown);
            }
            _ if matches!(name, "min" | "max") => {
                if let (&[a, b], &[Val::Int(x), Val::Int(y)]) = (arguments, &values[..]) {
                    if let (Some(ka), Some(kb)) =
                        (body.types.as_int(body.ty(a)), body.types.as_int(body.ty(b)))
                    {
                        let kind = ka.promoted().common(kb.promoted());
                        let (x, y) = (kind.wrap(x), kind.wrap(y));
                        return Ok(Val::Int(if name == "min" { x.min(y) } else { x.max(y) }));
                    }
                }
                return Ok(Val::Unknown);
            }
            Some(Word::ReadOnlyLoad) => {
                let (&[p], &[Val::Into(o, at)]) = (arguments, &values[..]) else {
                    return Err(KernelObstacle::Value(t));
                };
                let to = body.types.element(body.ty(p)).ok_or(KernelObstacle::Value(t))?;
                self.touch(t, o, at, to, Touch::Read, Val::Unknown)?;
                return Ok(Val::Unknown);
            }
            _ => {}
        }
        if let Some(Word::Atomic(op, scope)) = word {
            self.trace.locks |= matches!(op, Some(AtomicOp::CompareExchange | AtomicOp::Exchange));
            let Some((&p, &v)) = arguments.first().zip(values.first()) else {
                return Err(KernelObstacle::Value(t));
            };
            let to = match body.types.kind(body.ty(p)) {
                TypeKind::Array { of, .. } => Some(*of),
                _ => body.types.element(body.ty(p)),
            };
            match (v, to) {
                // not atomic to what other blocks do
                (Val::Into(o, _), _)
                    if scope == Scope::Block
                        && self.grid != [1; 3]
                        && self.trace.objects[o as usize].kind != ObjectKind::Shared =>
                {
                    return Err(KernelObstacle::Value(t));
                }
                (Val::Into(o, at), Some(to)) => self.touch(t, o, at, to, Touch::Atomic, Val::Unknown)?,
                (Val::Own, _) => {}
                _ => return Err(KernelObstacle::Value(t)),
            }
            return Ok(Val::Unknown);
        }
        // shuffles and votes are no barriers for memory, but where lanes wait they may run in step
        self.warp_soft |= matches!(word, Some(Word::Shuffle(_) | Word::Vote(_) | Word::OfLanes));
        if level::is_harmless(body, t)
            || level::is_vector(name)
            || matches!(name, "printf" | "assert" | "__assume")
        {
            return Ok(Val::Unknown);
        }
        Err(KernelObstacle::Value(t))
    }
}
