//! Values of expressions, and what evaluating them touches.

use term::device::{Index, Word};
use term::{BinOp, Op, Storage, TermId, TypeKind, UnOp};

use super::super::values::Val;
use super::super::{Object, ObjectKind, Touch};
use super::{base, Place, Run, Runner, ON};
use crate::kernel::{eval, KernelObstacle};

impl<'a> Runner<'a> {
    pub(super) fn eval(&mut self, t: TermId) -> Run<Val> {
        self.step(t)?;
        self.depth += 1;
        let v = self.eval_at(t);
        self.depth -= 1;
        v
    }

    pub(super) fn eval_at(&mut self, t: TermId) -> Run<Val> {
        let body = self.body();
        let args = body.args(t);
        Ok(match (body.op(t), args) {
            (Op::Int(v), _) => Val::Int(*v),
            (Op::Float(f), _) => Val::Real(f.get().to_bits()),
            (Op::Str(_), _) => Val::Own,
            (Op::SizeOf | Op::SizeOfType(_), _) => self.size_of(t),
            (Op::Sym(s), _) => match body.symbols[*s].storage {
                Storage::Constant(v) => Val::Int(v),
                Storage::Builtin if body.symbols[*s].device == Some(Word::Lanes) => {
                    Val::Int(crate::kernel::LIMITS.lanes.into())
                }
                Storage::Builtin | Storage::Function => Val::Unknown,
                _ => return self.read(t),
            },
            (Op::Member { field, .. }, &[b]) => match self.builtin(b, field) {
                Some(v) => v,
                None => return self.member(t, b),
            },
            (Op::Index | Op::Deref, _) => return self.read(t),
            (Op::Cast, &[a]) => {
                let v = self.eval(a)?;
                match (body.types.kind(body.ty(t)), v) {
                    (TypeKind::Int(kind), v @ Val::Int(_)) => v.converted(*kind),
                    (TypeKind::Pointer { .. }, v) => v,
                    _ => Val::Unknown,
                }
            }
            (Op::Unary(op), &[a]) => {
                let v = self.eval(a)?;
                match (op, v, body.types.as_int(body.ty(a))) {
                    (UnOp::Not, v, _) => v.truth().map_or(Val::Unknown, |b| Val::Int(!b as i128)),
                    (op, Val::Int(v), Some(kind)) => {
                        let v = body.arithmetic(t).unary(*op, kind.promoted(), v);
                        v.map_or(Val::Unknown, Val::Int)
                    }
                    _ => Val::Unknown,
                }
            }
            (Op::Binary(op), &[a, b]) if op.is_logical() => {
                let decided = *op == BinOp::Or;
                let first = self.eval(a)?.truth();
                if first == Some(decided) {
                    return Ok(Val::Int(decided as i128));
                }
                let second = match first {
                    Some(_) => self.eval(b)?.truth(),
                    None => {
                        let mut v = Val::Unknown;
                        let yes = |r: &mut Self| {
                            v = r.eval(b)?;
                            Ok(ON)
                        };
                        self.either(None, yes, |_| Ok(ON))?;
                        v.truth()
                    }
                };
                match (first, second) {
                    (_, Some(s)) if s == decided => Val::Int(decided as i128),
                    (Some(_), Some(s)) => Val::Int(s as i128),
                    _ => Val::Unknown,
                }
            }
            (Op::Binary(op), &[a, b]) => {
                let (x, y) = (self.eval(a)?, self.eval(b)?);
                self.binary(t, *op, (a, x), (b, y))
            }
            (Op::Select, &[c, a, b]) => {
                let c = self.eval(c)?.truth();
                let (mut x, mut y) = (None, None);
                self.either(
                    c,
                    |r| {
                        x = Some(r.eval(a)?);
                        Ok(ON)
                    },
                    |r| {
                        y = Some(r.eval(b)?);
                        Ok(ON)
                    },
                )?;
                let v = [x, y].into_iter().flatten().reduce(Val::join).unwrap_or(Val::Unknown);
                match (v, body.types.as_int(body.ty(a)), body.types.as_int(body.ty(b))) {
                    (Val::Int(v), Some(ka), Some(kb)) => {
                        Val::Int(ka.promoted().common(kb.promoted()).wrap(v))
                    }
                    (Val::Int(_), _, _) => Val::Unknown,
                    (v, _, _) => v,
                }
            }
            (Op::Comma, &[a, b]) => {
                self.eval(a)?;
                return self.eval(b);
            }
            (Op::Assign, &[p, v]) => {
                let v = self.eval(v)?;
                let place = self.place(p)?;
                self.write(p, place, v)?;
                v
            }
            (Op::Compound(op), &[p, v]) => {
                let v = self.eval(v)?;
                self.update(p, |r, old| Ok(r.binary(t, *op, (p, old), (args[1], v))))?
            }
            (Op::Step { delta, prefix }, &[p]) => {
                let (delta, prefix) = (*delta, *prefix);
                let mut before = Val::Unknown;
                let after = self.update(p, |r, old| {
                    before = old;
                    Ok(r.shifted(p, old, delta as i128))
                })?;
                if prefix {
                    after
                } else {
                    before
                }
            }
            (Op::AddrOf, &[p]) => match self.place(p)? {
                Place::In(o, at) => Val::Into(o, at),
                Place::Own | Place::Local(_) => Val::Own,
                Place::Nowhere => Val::Unknown,
            },
            (Op::Call, [_, rest @ ..]) => return self.call(t, rest),
            (Op::InitList, items) => {
                for &i in items {
                    self.eval(i)?;
                }
                Val::Unknown
            }
            (Op::Empty | Op::Name(_), _) => Val::Unknown,
            _ => return Err(KernelObstacle::Structure(t)),
        })
    }

    pub(super) fn size_of(&self, t: TermId) -> Val {
        let body = self.body();
        let ty = match (body.op(t), body.args(t)) {
            (Op::SizeOfType(ty), _) => *ty,
            (_, &[a]) => body.ty(a),
            _ => return Val::Unknown,
        };
        body.types.size_align(ty).map_or(Val::Unknown, |x| Val::Int(x.0 as i128))
    }

    pub(super) fn builtin(&self, b: TermId, field: &str) -> Option<Val> {
        let body = self.body();
        let symbol = &body.symbols[body.as_symbol(b)?];
        if symbol.storage != Storage::Builtin {
            return None;
        }
        let axis = term::device::axis(field)?;
        let Some(Word::Index(index)) = symbol.device else { return None };
        let list = match index {
            Index::Thread => self.indices.1,
            Index::Block => self.indices.0,
            Index::BlockSize => self.block,
            Index::GridSize => self.grid,
        };
        Some(Val::Int(list[axis] as i128))
    }

    /// A part of a value or of memory. What a structure given to the kernel points to is an object like any other.
    pub(super) fn member(&mut self, t: TermId, b: TermId) -> Run<Val> {
        let body = self.body();
        let place = matches!(body.op(b), Op::Index | Op::Deref | Op::Member { .. } | Op::Sym(_) | Op::Cast);
        if !place && matches!(body.op(t), Op::Member { arrow: false, .. }) {
            self.eval(b)?;
            return Ok(Val::Unknown);
        }
        if let (Op::Member { field, arrow: false }, Some(s), Some(to)) =
            (body.op(t), body.as_symbol(b), body.types.element(body.ty(t)))
        {
            let symbol = &body.symbols[s];
            let set = |x: TermId| {
                (body.op(x).is_write() || matches!(body.op(x), Op::AddrOf))
                    && base(body, body.args(x)[0]) == Some(s)
            };
            let given = matches!(symbol.storage, Storage::Param(_)) && self.frames.len() == 1;
            if given && !body.walk(body.root).any(set) {
                let element = body.types.size_align(to).map_or(1, |x| x.0);
                let object = Object {
                    name: format!("{}.{field}", symbol.name).into(),
                    kind: ObjectKind::Parameter,
                    bytes: None,
                    element,
                    restrict: body.types.quals(body.ty(t)).is_restrict,
                    dynamic: false,
                };
                return Ok(Val::Into(self.object(object), Some(0)));
            }
        }
        self.read(t)
    }

    pub(super) fn binary(&self, t: TermId, op: BinOp, (a, x): (TermId, Val), (b, y): (TermId, Val)) -> Val {
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

    pub(super) fn shifted(&self, p: TermId, v: Val, by: i128) -> Val {
        match (v, self.body().types.as_int(self.body().ty(p))) {
            (Val::Int(v), Some(kind)) => Val::Int(kind.wrap(v + by)),
            (v @ Val::Into(..), _) => self.pointer_plus(p, v, Some(by)),
            (Val::Own, _) => Val::Own,
            _ => Val::Unknown,
        }
    }

    /// Reads a place and writes it.
    pub(super) fn update(&mut self, p: TermId, make: impl FnOnce(&mut Self, Val) -> Run<Val>) -> Run<Val> {
        let ty = self.body().ty(p);
        let place = self.place(p)?;
        let old = match &place {
            Place::Local(s) => {
                let s = *s;
                self.frame().locals.get(s)
            }
            Place::In(o, at) => {
                self.touch(p, *o, *at, ty, Touch::Read, Val::Unknown)?;
                Val::Unknown
            }
            Place::Own => Val::Unknown,
            Place::Nowhere => return Err(KernelObstacle::Value(p)),
        };
        let new = make(self, old)?;
        let new = match self.body().types.as_int(ty) {
            Some(kind) => new.converted(kind),
            None => new,
        };
        self.write(p, place, new)?;
        Ok(new)
    }
}
