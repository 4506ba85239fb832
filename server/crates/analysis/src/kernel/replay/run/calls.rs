//! Calls: barriers, fences, atomics, functions of the program and of the library.

use term::device::{AtomicOp, Scope, Word};
use term::{Body, TermId};

use super::super::values::Val;
use super::super::{ObjectKind, Touch};
use super::{Run, Runner};
use crate::kernel::interpret::{walk, Arguments, Called};
use crate::kernel::{uniformity, KernelObstacle};

impl<'a> Runner<'a> {
    pub(super) fn called(
        &mut self,
        t: TermId,
        called: Called<'a>,
        arguments: Arguments<'_, Val>,
    ) -> Run<Val> {
        let body = self.body();
        let Arguments { terms, values } = arguments;
        match called {
            Called::Unknown => return Err(KernelObstacle::Value(t)),
            Called::Function(f) => {
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
            Called::Word(word) if word.is_block_barrier() => {
                let site = self.site(t);
                if self.may {
                    self.soft = true;
                    self.trace.soft_barriers.push(site);
                } else {
                    self.passed.blocks.push(site);
                    self.soft = false;
                }
            }
            Called::Word(Word::Barrier(Scope::Warp, _)) => {
                let all = i128::from(u64::MAX >> (64 - self.launch.limits.lanes));
                let whole = values.first().is_none_or(|v| v.int() == Some(all));
                if whole && !self.may {
                    let site = self.site(t);
                    self.passed.warps.push(site);
                    self.warp_soft = false;
                } else {
                    self.warp_soft = true;
                }
            }
            Called::Word(Word::Fence(Scope::Device | Scope::System)) => self.trace.fences = true,
            Called::Min | Called::Max => {
                if let (&[a, b], &[Val::Int(x), Val::Int(y)]) = (terms, &values[..]) {
                    if let (Some(ka), Some(kb)) =
                        (body.types.as_int(body.ty(a)), body.types.as_int(body.ty(b)))
                    {
                        let kind = ka.promoted().common(kb.promoted());
                        let (x, y) = (kind.wrap(x), kind.wrap(y));
                        let least = matches!(called, Called::Min);
                        return Ok(Val::Int(if least { x.min(y) } else { x.max(y) }));
                    }
                }
            }
            Called::Word(Word::ReadOnlyLoad) => {
                let (&[p], &[Val::Into(o, at)]) = (terms, &values[..]) else {
                    return Err(KernelObstacle::Value(t));
                };
                let to = body.types.element(body.ty(p)).ok_or(KernelObstacle::Value(t))?;
                self.touch(t, o, at, to, Touch::Read, Val::Unknown)?;
            }
            Called::Word(word) => {
                // shuffles and votes are no barriers for memory, but where lanes wait they may run in step
                self.warp_soft |=
                    matches!(word, Word::Shuffle(_) | Word::Vote(_) | Word::OfLanes) || word.gathers();
                if !uniformity::is_harmless(body, t) {
                    return Err(KernelObstacle::Value(t));
                }
            }
            Called::Library(name) if gpu::toolkit::changes(name).is_some() => {
                self.change_state(t, name, terms, &values)?;
            }
            Called::Library(name) => {
                let into_memory = values.iter().any(|v| matches!(v, Val::Into(..)));
                let silent = matches!(name, "printf" | "assert" | "__assume")
                    || gpu::math::writes_through(name) && !into_memory;
                if !(uniformity::is_harmless(body, t) || uniformity::is_vector(name) || silent) {
                    return Err(KernelObstacle::Value(t));
                }
            }
        }
        Ok(Val::Unknown)
    }

    /// What a function of the toolkit does to the state that it is given the address of.
    fn change_state(&mut self, t: TermId, name: &str, terms: &[TermId], values: &[Val]) -> Run<()> {
        let unknown = KernelObstacle::Value(t);
        let state = gpu::toolkit::changes(name).and_then(|k| Some((terms.get(k)?, values.get(k)?)));
        match state {
            Some((&p, &Val::Into(o, at))) => {
                let body = self.body();
                let to = body.types.element(body.ty(p)).ok_or(unknown)?;
                self.touch(t, o, at, to, Touch::Write, Val::Unknown)
            }
            Some((_, Val::Own)) => Ok(()),
            _ => Err(unknown),
        }
    }

    pub(super) fn atomic_at(
        &mut self,
        t: TermId,
        (op, scope): (Option<AtomicOp>, Scope),
        arguments: &[TermId],
    ) -> Run<Val> {
        let target = walk::target(self, arguments, ())?;
        self.trace.locks |= matches!(op, Some(AtomicOp::CompareExchange | AtomicOp::Exchange));
        let Some((v, to)) = target else { return Err(KernelObstacle::Value(t)) };
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
        Ok(Val::Unknown)
    }
}
