//! Values of expressions, and what evaluating them touches.

use term::device::{AtomicOp, Index, Scope};
use term::{BinOp, Body, Len, Storage, SymbolId, TermId, TypeKind, UnOp};

use super::super::values::Val;
use super::super::{KernelObject, ObjectKind, Touch};
use super::{Run, Runner, ThreadPlace, ON};
use crate::calls::function::Function;
use crate::kernel::interpret::{walk, Arguments, Called, Values};
use crate::kernel::set_variables::given_member;
use crate::kernel::{eval, KernelObstacle};

impl Runner<'_> {
    fn arithmetic(&self, t: TermId, op: BinOp, (a, x): (TermId, Val), (b, y): (TermId, Val)) -> Val {
        let body = self.body();
        match (x, y) {
            (Val::Int(x), Val::Int(y)) => {
                let (Some(ka), Some(kb)) = (body.types.as_int(body.ty(a)), body.types.as_int(body.ty(b)))
                else {
                    return Val::Unknown;
                };
                eval::binary(body.arithmetic(t), op, (ka, x), (kb, y)).map_or(Val::Unknown, Val::Int)
            }
            (Val::Into(..), v) if matches!(op, BinOp::Add | BinOp::Sub) && !matches!(v, Val::Into(..)) => {
                let by = v.int().map(|v| if op == BinOp::Sub { -v } else { v });
                self.pointer_plus(a, x, by)
            }
            (v, Val::Into(..)) if op == BinOp::Add => self.pointer_plus(b, y, v.int()),
            (Val::Own, _) | (_, Val::Own) if matches!(op, BinOp::Add | BinOp::Sub) => Val::Own,
            // nothing that is zero here depends on the other side
            (Val::Int(0), _) | (_, Val::Int(0))
                if matches!(op, BinOp::Mul | BinOp::BitAnd)
                    && body.types.as_int(body.ty(a)).is_some()
                    && body.types.as_int(body.ty(b)).is_some() =>
            {
                Val::Int(0)
            }
            _ => Val::Unknown,
        }
    }

    pub(super) fn pointer_plus(&self, p: TermId, at: Val, by: Option<i128>) -> Val {
        let body = self.body();
        let Val::Into(o, at) = at else { return Val::Unknown };
        // an array stands for the address of its first element
        let ty = body.ty(p);
        let element = match body.types.kind(ty) {
            TypeKind::Array { of, .. } => Some(*of),
            _ => body.types.element(ty),
        };
        let size = element.and_then(|e| body.types.size_align(e)).map(|x| x.0);
        let sum = || {
            let by = by?.checked_mul(size? as i128)?;
            i64::try_from(by.checked_add(at? as i128)?).ok()
        };
        Val::Into(o, sum())
    }
}

impl<'a> Values<'a> for Runner<'a> {
    type Val = Val;
    type Place = ThreadPlace;
    type Way = ();
    type Stop = KernelObstacle;

    fn body(&self) -> &'a Body {
        Runner::body(self)
    }
    fn lanes(&self) -> u32 {
        self.launch.limits.lanes
    }
    fn function(&self, name: &str) -> Option<&'a Function> {
        let program: &'a crate::Program = self.program;
        program.function(name)
    }

    fn begin(&mut self, t: TermId, (): ()) -> Run<bool> {
        self.step(t)?;
        self.depth += 1;
        Ok(true)
    }
    fn end(&mut self) {
        self.depth -= 1;
    }
    fn begin_place(&mut self, t: TermId) -> Run<()> {
        self.step(t)
    }

    fn unknown(&mut self, _: TermId) -> Run<Val> {
        Ok(Val::Unknown)
    }
    fn number(&mut self, v: i128) -> Val {
        Val::Int(v)
    }
    fn real(&mut self, _: TermId, v: f64) -> Run<Val> {
        Ok(Val::Real(v.to_bits()))
    }
    fn text(&mut self, _: TermId) -> Run<Val> {
        Ok(Val::Own)
    }
    fn index(&mut self, index: Index, axis: usize) -> Val {
        if self.any_block && matches!(index, Index::Block | Index::GridSize) {
            return Val::Unknown;
        }
        let list = match index {
            Index::Thread => self.indices.1,
            Index::Block => self.indices.0,
            Index::BlockSize => self.block,
            Index::GridSize => self.grid,
        };
        Val::Int(list[axis].into())
    }

    fn cast(&mut self, t: TermId, (_, v): (TermId, Val), (): ()) -> Run<Val> {
        let body = Runner::body(self);
        Ok(match (body.types.kind(body.ty(t)), v) {
            (TypeKind::Int(kind), v @ Val::Int(_)) => v.converted(*kind),
            (TypeKind::Pointer { .. }, v) => v,
            _ => Val::Unknown,
        })
    }

    fn unary(&mut self, t: TermId, op: UnOp, (a, v): (TermId, Val), (): ()) -> Run<Val> {
        let body = Runner::body(self);
        Ok(match (op, v, body.types.as_int(body.ty(a))) {
            (UnOp::Not, v, _) => v.truth().map_or(Val::Unknown, |b| Val::Int(!b as i128)),
            (op, Val::Int(v), Some(kind)) => {
                let v = body.arithmetic(t).unary(op, kind.promoted(), v);
                v.map_or(Val::Unknown, Val::Int)
            }
            _ => Val::Unknown,
        })
    }

    fn binary(
        &mut self,
        t: TermId,
        op: BinOp,
        left: (TermId, Val),
        right: (TermId, Val),
        (): (),
    ) -> Run<Val> {
        Ok(self.arithmetic(t, op, left, right))
    }

    fn stepped(&mut self, _: TermId, (p, &old): (TermId, &Val), delta: i8, (): ()) -> Run<Val> {
        let body = Runner::body(self);
        let by = i128::from(delta);
        Ok(match (old, body.types.as_int(body.ty(p))) {
            (Val::Int(v), Some(kind)) => Val::Int(kind.wrap(v + by)),
            (Val::Into(..), _) => self.pointer_plus(p, old, Some(by)),
            (Val::Own, _) => Val::Own,
            _ => Val::Unknown,
        })
    }

    fn logical(&mut self, _: TermId, and: bool, [a, b]: [TermId; 2], (): ()) -> Run<Val> {
        let decided = !and;
        let first = walk::eval(self, a, ())?.truth();
        if first == Some(decided) {
            return Ok(Val::Int(decided as i128));
        }
        let second = match first {
            Some(_) => walk::eval(self, b, ())?.truth(),
            None => {
                let mut v = Val::Unknown;
                let yes = |r: &mut Self| {
                    v = walk::eval(r, b, ())?;
                    Ok(ON)
                };
                self.either(None, yes, |_| Ok(ON))?;
                v.truth()
            }
        };
        Ok(match (first, second) {
            (_, Some(s)) if s == decided => Val::Int(decided as i128),
            (Some(_), Some(s)) => Val::Int(s as i128),
            _ => Val::Unknown,
        })
    }

    fn select(&mut self, _: TermId, [c, a, b]: [TermId; 3], (): ()) -> Run<Val> {
        let body = Runner::body(self);
        let c = walk::eval(self, c, ())?.truth();
        let (mut x, mut y) = (None, None);
        self.either(
            c,
            |r| {
                x = Some(walk::eval(r, a, ())?);
                Ok(ON)
            },
            |r| {
                y = Some(walk::eval(r, b, ())?);
                Ok(ON)
            },
        )?;
        let v = [x, y].into_iter().flatten().reduce(Val::join).unwrap_or(Val::Unknown);
        Ok(match (v, body.types.as_int(body.ty(a)), body.types.as_int(body.ty(b))) {
            (Val::Int(v), Some(ka), Some(kb)) => Val::Int(ka.promoted().common(kb.promoted()).wrap(v)),
            (Val::Int(_), _, _) => Val::Unknown,
            (v, _, _) => v,
        })
    }

    fn call(&mut self, t: TermId, called: Called<'a>, arguments: Arguments<'_, Val>, (): ()) -> Run<Val> {
        self.called(t, called, arguments)
    }
    fn atomic(
        &mut self,
        t: TermId,
        atomic: (Option<AtomicOp>, Scope),
        arguments: &[TermId],
        (): (),
    ) -> Run<Val> {
        self.atomic_at(t, atomic, arguments)
    }
    fn other(&mut self, t: TermId, (): ()) -> Run<Val> {
        Err(KernelObstacle::Structure(t))
    }

    fn variable(&mut self, _: TermId, s: SymbolId) -> Run<ThreadPlace> {
        let body = Runner::body(self);
        let symbol = &body.symbols[s];
        let array = matches!(body.types.kind(symbol.ty), TypeKind::Array { .. });
        Ok(match symbol.storage {
            Storage::Param(_) | Storage::Local if array || self.frame().exposed.contains(&s) => {
                ThreadPlace::Own
            }
            Storage::Param(_) | Storage::Local => ThreadPlace::Local(s),
            Storage::Shared => ThreadPlace::In(self.object_of(s, ObjectKind::Shared), Some(0)),
            Storage::Global { .. } | Storage::StaticLocal { .. } => {
                ThreadPlace::In(self.object_of(s, ObjectKind::Global), Some(0))
            }
            _ => ThreadPlace::Nowhere,
        })
    }

    fn element(
        &mut self,
        t: TermId,
        (b, from): (TermId, ThreadPlace),
        (_, i): (TermId, Val),
        (): (),
    ) -> Run<ThreadPlace> {
        let body = Runner::body(self);
        let size = body.types.size_align(body.ty(t)).map(|x| x.0);
        let length = match body.types.kind(body.ty(b)) {
            TypeKind::Array { len: Len::Const(n), .. } => Some(*n as i128),
            _ => None,
        };
        self.trace.leaves_rows |= length.zip(i.int()).is_some_and(|(n, i)| i < 0 || i >= n);
        Ok(self.moved(from, i, size))
    }

    fn field(&mut self, _: TermId, of: ThreadPlace, offset: Option<u64>, (): ()) -> Run<ThreadPlace> {
        Ok(match of {
            ThreadPlace::Local(_) => ThreadPlace::Own,
            ThreadPlace::In(o, _) if offset.is_none() => ThreadPlace::In(o, None),
            of => self.moved(of, Val::Int(offset.unwrap_or(0) as i128), Some(1)),
        })
    }

    fn pointed(&mut self, (_, v): (TermId, Val)) -> Run<ThreadPlace> {
        Ok(match v {
            Val::Into(o, at) => ThreadPlace::In(o, at),
            Val::Own => ThreadPlace::Own,
            _ => ThreadPlace::Nowhere,
        })
    }

    fn no_place(&mut self, _: TermId, (): ()) -> Run<ThreadPlace> {
        Ok(ThreadPlace::Nowhere)
    }

    /// What a structure given to the kernel points to is an object like any other.
    fn known_member(&mut self, t: TermId, b: TermId) -> Option<Val> {
        let body = Runner::body(self);
        let to = body.types.element(body.ty(t))?;
        let name = given_member(body, t, b).filter(|_| self.frames.len() == 1)?;
        let object = KernelObject {
            name,
            kind: ObjectKind::Parameter,
            bytes: None,
            element: body.types.size_align(to).map_or(1, |x| x.0),
            restrict: body.types.quals(body.ty(t)).is_restrict,
            dynamic: false,
        };
        Some(Val::Into(self.object(object), Some(0)))
    }

    fn address(&mut self, _: TermId, place: ThreadPlace) -> Run<Val> {
        Ok(match place {
            ThreadPlace::In(o, at) => Val::Into(o, at),
            ThreadPlace::Own | ThreadPlace::Local(_) => Val::Own,
            ThreadPlace::Nowhere => Val::Unknown,
        })
    }

    fn load(&mut self, t: TermId, place: &ThreadPlace, (): ()) -> Run<Val> {
        match *place {
            ThreadPlace::Local(s) => Ok(self.frame().locals.get(s)),
            ThreadPlace::Own => Ok(Val::Unknown),
            ThreadPlace::In(o, at) => {
                let ty = Runner::body(self).ty(t);
                self.touch(t, o, at, ty, Touch::Read, Val::Unknown)?;
                Ok(Val::Unknown)
            }
            ThreadPlace::Nowhere => Err(KernelObstacle::Value(t)),
        }
    }

    fn write(&mut self, t: TermId, place: ThreadPlace, (_, v): (TermId, Val), (): ()) -> Run<Val> {
        let body = Runner::body(self);
        let kind = body.types.as_int(body.ty(t));
        let worth = kind.map_or(v, |kind| v.converted(kind));
        match place {
            ThreadPlace::Local(s) => self.assign_local(s, v),
            ThreadPlace::Own => {}
            ThreadPlace::In(o, at) => {
                let left = match worth {
                    Val::Int(i) if kind.is_none() && i.abs() < 1 << 24 => Val::Real((i as f64).to_bits()),
                    v => v,
                };
                self.touch(t, o, at, body.ty(t), Touch::Write, left)?;
            }
            ThreadPlace::Nowhere => return Err(KernelObstacle::Value(t)),
        }
        Ok(worth)
    }
}
