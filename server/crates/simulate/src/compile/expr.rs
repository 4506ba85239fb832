//! Expressions: values, places, conditions.

use term::device::Word;
use term::{BinOp, Op, Overflow, Storage, TermId, TypeId, TypeKind, UnOp};

use super::emit::OPEN;
use super::types::{Class, Size};
use super::{Assignable, Cx, MAX_DEPTH, R, V};
use crate::code::*;

impl Cx<'_, '_, '_> {
    /// Runs `f` one level deeper with `t` as the current term.
    pub(super) fn under<T>(&mut self, t: TermId, f: impl FnOnce(&mut Self) -> R<T>) -> R<T> {
        let was = std::mem::replace(&mut self.at, t);
        if self.depth >= MAX_DEPTH {
            let e = self.err("terms nested deeper than this machine follows");
            self.at = was;
            return Err(e);
        }
        self.depth += 1;
        let r = f(self);
        self.depth -= 1;
        self.at = was;
        r
    }

    /// The value of an expression; arrays become pointers, structs the address of their bytes.
    pub(super) fn rvalue(&mut self, t: TermId) -> R<V> {
        self.under(t, |cx| cx.rvalue_at(t))
    }

    fn rvalue_at(&mut self, t: TermId) -> R<V> {
        let body = self.body;
        let args = body.args(t);
        let ty = body.ty(t);
        match (body.op(t), args) {
            (Op::Int(v), _) => match self.class(ty) {
                Class::Int(k) => {
                    let reg = self.constant(k.wrap(*v) as u64);
                    Ok(V { reg, ty })
                }
                _ => Err(self.no_value(ty)),
            },
            (Op::Float(v), _) => match self.class(ty) {
                Class::F32 => {
                    let reg = self.constant((v.get() as f32).to_bits() as u64);
                    Ok(V { reg, ty })
                }
                Class::F64 => {
                    let reg = self.constant(v.get().to_bits());
                    Ok(V { reg, ty })
                }
                _ => Err(self.no_value(ty)),
            },
            (Op::Unary(op), &[a]) => self.unary(*op, a),
            (Op::Binary(op), &[_, _]) if op.is_logical() => self.logical(t),
            (Op::Binary(_), &[_, _]) => self.spine(t),
            (Op::Assign, &[l, r]) => self.assign(l, r),
            (Op::Compound(op), &[l, r]) => self.compound(*op, l, Some(r), false),
            (Op::Step { delta, prefix }, &[p]) => {
                let op = if *delta < 0 { BinOp::Sub } else { BinOp::Add };
                self.compound(op, p, None, !*prefix)
            }
            (Op::Select, &[c, a, b]) => self.select(t, c, a, b),
            (Op::Comma, &[a, b]) => {
                self.effect(a)?;
                self.rvalue(b)
            }
            (Op::Arithmetic(_), &[a]) => self.rvalue(a),
            (Op::Cast, &[a]) => {
                let v = self.rvalue_or_void(a, ty)?;
                self.checked_conversion(t, v, ty)?;
                self.lengths_of(ty)?;
                self.convert(v, ty)
            }
            (Op::AddrOf, &[p]) => {
                let place = self.place(p)?;
                match place {
                    Assignable::Mem { addr, ty } => {
                        let ty = self.types.pointer(ty);
                        Ok(V { reg: addr, ty })
                    }
                    Assignable::Reg { .. } => {
                        Err(self.err("the address of a variable that was not expected to have one"))
                    }
                }
            }
            (Op::Call, _) => match self.call(t, true)? {
                Some(v) => Ok(v),
                None => Err(self.err("the value of a call that has none")),
            },
            (Op::SizeOfType(of), _) => {
                self.lengths_of(*of)?;
                self.size_value(*of)
            }
            (Op::SizeOf, &[e]) => {
                let of = self.type_of(e)?;
                self.size_value(of)
            }
            (Op::Member { field, .. }, &[base]) => match self.special(base, field)? {
                Some(v) => Ok(v),
                None => self.load_place_of(t),
            },
            (Op::Sym(s), _) => {
                let symbol = &body.symbols[*s];
                match symbol.storage {
                    Storage::Constant(v) => {
                        let ty = self.int_type_of(symbol.ty);
                        let reg = self.constant(v as u64);
                        Ok(V { reg, ty })
                    }
                    Storage::Builtin if symbol.device == Some(Word::Lanes) => {
                        let ty = self.int();
                        let reg = self.constant(u64::from(self.unit.options.limits.lanes));
                        Ok(V { reg, ty })
                    }
                    Storage::Builtin | Storage::Undeclared => self.builtin(&symbol.name.clone()),
                    _ => self.load_variable(t, *s),
                }
            }
            (Op::Index | Op::Deref | Op::Str(_), _) => self.load_place_of(t),
            (Op::Reject(r), _) => Err(self.err(&body.reject(*r).reason.clone())),
            (Op::Launch, _) => {
                self.launch(t)?;
                Ok(V { reg: NONE, ty })
            }
            (op, _) => Err(self.err(&format!("the expression {op:?}"))),
        }
    }

    fn int_type_of(&mut self, ty: TypeId) -> TypeId {
        match self.class(ty) {
            Class::Int(_) => ty,
            _ => self.int(),
        }
    }

    fn rvalue_or_void(&mut self, a: TermId, ty: TypeId) -> R<V> {
        if self.class(ty) == Class::Void {
            self.effect(a)?;
            return Ok(V { reg: NONE, ty });
        }
        self.rvalue(a)
    }

    /// Evaluates for the side effects alone.
    pub(super) fn effect(&mut self, t: TermId) -> R<()> {
        self.under(t, |cx| {
            let body = cx.body;
            match (body.op(t), body.args(t)) {
                (Op::Empty, _) => Ok(()),
                (Op::Call, _) => cx.call(t, false).map(|_| ()),
                (Op::Step { delta, .. }, &[p]) => {
                    let op = if *delta < 0 { BinOp::Sub } else { BinOp::Add };
                    cx.compound(op, p, None, false).map(|_| ())
                }
                (Op::Comma, &[a, b]) => {
                    cx.effect(a)?;
                    cx.effect(b)
                }
                (Op::Cast, &[a]) if cx.class(body.ty(t)) == Class::Void => cx.effect(a),
                (Op::Select, &[c, a, b]) if cx.class(body.ty(t)) == Class::Void => {
                    let no = cx.decide(c, false, t)?;
                    cx.effect(a)?;
                    let end = cx.emit(Ins::Jump { to: OPEN });
                    let here = cx.here();
                    cx.patch_all(no, here);
                    cx.effect(b)?;
                    let here = cx.here();
                    cx.patch(end, here);
                    Ok(())
                }
                _ => cx.rvalue(t).map(|_| ()),
            }
        })
    }

    fn size_value(&mut self, of: TypeId) -> R<V> {
        let ty = self.types.int(term::IntKind::ULong);
        let reg = match self.size_of(of)? {
            Size::Const(n) => self.constant(n),
            Size::Reg(r) => r,
        };
        Ok(V { reg, ty })
    }

    /// The type of an expression that is not evaluated.
    fn type_of(&mut self, e: TermId) -> R<TypeId> {
        let body = self.body;
        match body.op(e) {
            Op::Sym(s) => Ok(body.symbols[*s].ty),
            _ => {
                // compile it to learn its type, then forget the instructions
                let (n, tmp, joined) = (self.ins.len(), self.tmp, self.joined);
                let lvalue = matches!(body.op(e), Op::Index | Op::Deref | Op::Member { .. } | Op::Str(_));
                let ty = if lvalue { self.place(e).map(|p| p.ty()) } else { self.rvalue(e).map(|v| v.ty) };
                self.ins.truncate(n);
                self.terms.truncate(n);
                self.tmp = tmp;
                self.joined = joined;
                ty
            }
        }
    }

    // ---- operators

    fn unary(&mut self, op: UnOp, a: TermId) -> R<V> {
        if op == UnOp::Not {
            let v = self.rvalue(a)?;
            let ty = self.int();
            let un = match self.class(v.ty) {
                Class::Int(_) | Class::Pointer => Un::NotInt,
                Class::F32 => Un::NotF32,
                Class::F64 => Un::NotF64,
                _ => return Err(self.no_value(v.ty)),
            };
            let reg = self.un(un, v.reg);
            return Ok(V { reg, ty });
        }
        let v = self.rvalue(a)?;
        match (op, self.class(v.ty)) {
            (_, Class::Int(k)) => {
                let k = k.promoted();
                let ty = self.types.int(k);
                let v = self.convert(v, ty)?;
                let reg = match op {
                    UnOp::Plus => v.reg,
                    UnOp::Neg => {
                        let zero = self.constant(0);
                        self.arith(BinOp::Sub, ty, zero, v.reg)?
                    }
                    _ if k.bits() == 32 && !k.signed() => self.un(Un::BitNotU32, v.reg),
                    _ => self.un(Un::BitNot, v.reg),
                };
                Ok(V { reg, ty })
            }
            (UnOp::Plus, Class::F32 | Class::F64) => Ok(v),
            (UnOp::Neg, Class::F32) => {
                let reg = self.un(Un::NegF32, v.reg);
                Ok(V { reg, ty: v.ty })
            }
            (UnOp::Neg, Class::F64) => {
                let reg = self.un(Un::NegF64, v.reg);
                Ok(V { reg, ty: v.ty })
            }
            _ => Err(self.no_value(v.ty)),
        }
    }

    /// `a + b + c + …` of any length: the left operands are followed without recursion.
    fn spine(&mut self, t: TermId) -> R<V> {
        let body = self.body;
        let mut nodes = Vec::new();
        let mut at = t;
        while let (Op::Binary(op), &[l, r]) = (body.op(at), body.args(at)) {
            if op.is_logical() {
                break;
            }
            nodes.push((*op, r, at));
            at = l;
        }
        let mut left = self.rvalue(at)?;
        for (op, r, node) in nodes.into_iter().rev() {
            self.at = node;
            left = self.keep(left);
            let right = self.rvalue(r)?;
            self.at = node;
            left = self.binary(op, left, right)?;
        }
        Ok(left)
    }

    /// Where the language orders operands, the left value must survive what the right one does to its variable.
    pub(super) fn keep(&mut self, v: V) -> V {
        if !self.body.semantics.operands_in_order || v.reg >= self.fixed {
            return v;
        }
        let d = self.temp();
        self.emit(Ins::Mov { d, a: v.reg });
        V { reg: d, ty: v.ty }
    }

    pub(super) fn binary(&mut self, op: BinOp, a: V, b: V) -> R<V> {
        match (self.class(a.ty), self.class(b.ty)) {
            (Class::Pointer, Class::Pointer) if op == BinOp::Sub => self.pointer_difference(a, b),
            (Class::Pointer, Class::Int(_)) if matches!(op, BinOp::Add | BinOp::Sub) => {
                self.pointer_add(a, b, op == BinOp::Sub)
            }
            (Class::Int(_), Class::Pointer) if op == BinOp::Add => self.pointer_add(b, a, false),
            (Class::Pointer, Class::Pointer | Class::Int(_)) | (Class::Int(_), Class::Pointer)
                if op.is_comparison() =>
            {
                let ty = self.int();
                let reg = self.compare(op, Bin::LtU, Bin::LeU, Bin::Eq, Bin::Ne, a.reg, b.reg);
                Ok(V { reg, ty })
            }
            _ => {
                let Some(ty) = self.types.operation_type(op, a.ty, b.ty) else {
                    return Err(self.err(&format!("operands of `{}` of these types", op.symbol())));
                };
                let shift = matches!(op, BinOp::Shl | BinOp::Shr);
                let a = self.convert(a, ty)?;
                let b = if shift { b } else { self.convert(b, ty)? };
                if op.is_comparison() {
                    let reg = match self.class(ty) {
                        Class::Int(k) if k.signed() => {
                            self.compare(op, Bin::LtS, Bin::LeS, Bin::Eq, Bin::Ne, a.reg, b.reg)
                        }
                        Class::Int(_) => self.compare(op, Bin::LtU, Bin::LeU, Bin::Eq, Bin::Ne, a.reg, b.reg),
                        Class::F32 => {
                            self.compare(op, Bin::LtF32, Bin::LeF32, Bin::EqF32, Bin::NeF32, a.reg, b.reg)
                        }
                        Class::F64 => {
                            self.compare(op, Bin::LtF64, Bin::LeF64, Bin::EqF64, Bin::NeF64, a.reg, b.reg)
                        }
                        _ => return Err(self.no_value(ty)),
                    };
                    let ty = self.int();
                    return Ok(V { reg, ty });
                }
                let reg = self.arith(op, ty, a.reg, b.reg)?;
                Ok(V { reg, ty })
            }
        }
    }

    #[allow(clippy::too_many_arguments)]
    fn compare(&mut self, op: BinOp, lt: Bin, le: Bin, eq: Bin, ne: Bin, a: Reg, b: Reg) -> Reg {
        let (op, a, b) = match op {
            BinOp::Lt => (lt, a, b),
            BinOp::Le => (le, a, b),
            BinOp::Gt => (lt, b, a),
            BinOp::Ge => (le, b, a),
            BinOp::Eq => (eq, a, b),
            _ => (ne, a, b),
        };
        let d = self.temp();
        self.emit(Ins::Bin { op, d, a, b });
        d
    }

    /// Arithmetic on two values of type `ty`.
    fn arith(&mut self, op: BinOp, ty: TypeId, a: Reg, b: Reg) -> R<Reg> {
        let d = self.temp();
        let bin = match self.class(ty) {
            Class::Int(k) => {
                let wide = k.bits() == 64;
                let signed = k.signed();
                let overflow = self.body.overflow(k, self.at);
                let traps = overflow == Overflow::Traps && !signed;
                if traps {
                    self.checked_unsigned(op, wide, a, b)?;
                }
                // what does not fit has left
                let overflow = if traps { Overflow::Wraps } else { overflow };
                // Where it is undefined, and where it traps, the run ends there.
                let pick = |s32, s64, u32, u64| match (overflow != Overflow::Wraps, wide) {
                    (true, false) => s32,
                    (true, true) => s64,
                    (false, false) => u32,
                    (false, true) => u64,
                };
                let by_sign = |s32, s64, u| match (signed, wide) {
                    (true, false) => s32,
                    (true, true) => s64,
                    _ => u,
                };
                // a count that the type does not have is cut down where the language says so
                let bits = i128::from(k.bits());
                let is_cut = self.body.arithmetic(self.at).shift_count(k, bits).is_some();
                let b = match op {
                    BinOp::Shl | BinOp::Shr if is_cut => {
                        let (mask, cut) = (self.constant(bits as u64 - 1), self.temp());
                        self.emit(Ins::Bin { op: Bin::And, d: cut, a: b, b: mask });
                        cut
                    }
                    _ => b,
                };
                let bin = match op {
                    BinOp::Add => pick(Bin::AddI32, Bin::AddI64, Bin::AddU32, Bin::AddU64),
                    BinOp::Sub => pick(Bin::SubI32, Bin::SubI64, Bin::SubU32, Bin::SubU64),
                    BinOp::Mul => pick(Bin::MulI32, Bin::MulI64, Bin::MulU32, Bin::MulU64),
                    BinOp::Div => by_sign(Bin::DivI32, Bin::DivI64, Bin::DivU),
                    BinOp::Rem => by_sign(Bin::RemI32, Bin::RemI64, Bin::RemU),
                    BinOp::Shl => match (signed, wide) {
                        (true, false) => Bin::ShlI32,
                        (true, true) => Bin::ShlI64,
                        (false, false) => Bin::ShlU32,
                        (false, true) => Bin::ShlU64,
                    },
                    BinOp::Shr => match (signed, wide) {
                        (true, false) => Bin::ShrI32,
                        (true, true) => Bin::ShrI64,
                        (false, false) => Bin::ShrU32,
                        (false, true) => Bin::ShrU64,
                    },
                    BinOp::BitAnd => Bin::And,
                    BinOp::BitOr => Bin::Or,
                    BinOp::BitXor => Bin::Xor,
                    _ => return Err(self.err("an operator out of place")),
                };
                let narrow = matches!(bin, Bin::AddU32 | Bin::SubU32 | Bin::MulU32) && signed;
                self.emit(Ins::Bin { op: bin, d, a, b });
                if narrow {
                    self.emit(Ins::Un { op: Un::Wrap(k), d, a: d });
                }
                return Ok(d);
            }
            Class::F32 => match op {
                BinOp::Add => Bin::AddF32,
                BinOp::Sub => Bin::SubF32,
                BinOp::Mul => Bin::MulF32,
                BinOp::Div => Bin::DivF32,
                _ => return Err(self.err("an integer operator on floating values")),
            },
            Class::F64 => match op {
                BinOp::Add => Bin::AddF64,
                BinOp::Sub => Bin::SubF64,
                BinOp::Mul => Bin::MulF64,
                BinOp::Div => Bin::DivF64,
                _ => return Err(self.err("an integer operator on floating values")),
            },
            _ => return Err(self.no_value(ty)),
        };
        self.emit(Ins::Bin { op: bin, d, a, b });
        Ok(d)
    }

    pub(super) fn pointee(&self, ty: TypeId) -> R<TypeId> {
        self.types.element(ty).ok_or_else(|| self.err("a pointer to nothing"))
    }

    fn pointer_add(&mut self, p: V, i: V, minus: bool) -> R<V> {
        let of = self.pointee(p.ty)?;
        let d = self.offset(p.reg, of, i.reg, minus)?;
        Ok(V { reg: d, ty: p.ty })
    }

    /// `p ± i` elements of type `of`.
    pub(super) fn offset(&mut self, p: Reg, of: TypeId, i: Reg, minus: bool) -> R<Reg> {
        let size = self.size_of(of)?;
        let (i, scale) = match size {
            Size::Const(n) if n <= i32::MAX as u64 => (i, n as i32),
            Size::Const(n) => {
                let s = self.constant(n);
                (self.times(i, s), 1)
            }
            Size::Reg(s) => (self.times(i, s), 1),
        };
        let scale = if minus { -scale } else { scale };
        let d = self.temp();
        self.emit(Ins::PtrAdd { d, p, i, scale });
        Ok(d)
    }

    fn times(&mut self, a: Reg, b: Reg) -> Reg {
        let d = self.temp();
        self.emit(Ins::Bin { op: Bin::MulI64, d, a, b });
        d
    }

    fn pointer_difference(&mut self, a: V, b: V) -> R<V> {
        let of = self.pointee(a.ty)?;
        let ty = self.types.int(term::IntKind::Long);
        let d = self.temp();
        match self.size_of(of)? {
            Size::Const(n) if n > 0 && n <= u32::MAX as u64 => {
                self.emit(Ins::PtrDiff { d, a: a.reg, b: b.reg, scale: n as u32 });
            }
            Size::Const(_) => return Err(self.err("a difference of pointers to nothing")),
            Size::Reg(s) => {
                self.emit(Ins::PtrDiff { d, a: a.reg, b: b.reg, scale: 1 });
                self.emit(Ins::Bin { op: Bin::DivI64, d, a: d, b: s });
            }
        }
        Ok(V { reg: d, ty })
    }

    fn logical(&mut self, t: TermId) -> R<V> {
        let ty = self.int();
        let d = self.temp();
        let no = self.branch(t, false)?;
        self.set(d, 1);
        let end = self.emit(Ins::Jump { to: OPEN });
        let here = self.here();
        self.patch_all(no, here);
        self.set(d, 0);
        let here = self.here();
        self.patch(end, here);
        Ok(V { reg: d, ty })
    }

    /// Jumps (to be patched) where the truth of `t` is `when`; falls through otherwise.
    pub(super) fn branch(&mut self, t: TermId, when: bool) -> R<Vec<usize>> {
        self.under(t, |cx| {
            let body = cx.body;
            match (body.op(t), body.args(t)) {
                (Op::Unary(UnOp::Not), &[a]) => cx.branch(a, !when),
                (Op::Binary(op @ (BinOp::And | BinOp::Or)), &[_, _]) => {
                    // a chain `a && b && …` is followed without recursion on its left side
                    let mut parts = Vec::new();
                    let mut at = t;
                    while let (Op::Binary(o), &[l, r]) = (body.op(at), body.args(at)) {
                        if o != op {
                            break;
                        }
                        parts.push(r);
                        at = l;
                    }
                    parts.push(at);
                    parts.reverse();
                    // `&&` is false as soon as one part is; `||` is true as soon as one part is
                    let early = *op == BinOp::Or;
                    let mut out = Vec::new();
                    let last = parts.pop();
                    for p in parts {
                        out.extend(cx.branch(p, early)?);
                    }
                    if let Some(p) = last {
                        if early == when {
                            out.extend(cx.branch(p, when)?);
                        } else {
                            let mine = cx.branch(p, when)?;
                            let here = cx.here();
                            cx.patch_all(out, here);
                            out = mine;
                        }
                    }
                    Ok(out)
                }
                _ => {
                    let tmp = cx.tmp;
                    let v = cx.rvalue(t)?;
                    let a = cx.truth(v)?;
                    cx.tmp = tmp;
                    let at = if when {
                        cx.emit(Ins::JumpNZ { a, to: OPEN })
                    } else {
                        cx.emit(Ins::JumpZ { a, to: OPEN })
                    };
                    Ok(vec![at])
                }
            }
        })
    }

    /// As [`Cx::branch`], for the condition that decides the term `owner`. Where decisions are counted, `&&` and `||` in it
    /// give a value first: lanes that leave it early wait for the others, and one jump sees them all.
    pub(super) fn decide(&mut self, c: TermId, when: bool, owner: TermId) -> R<Vec<usize>> {
        if !self.unit.options.decisions {
            return self.branch(c, when);
        }
        let at = self.under(c, |cx| {
            let tmp = cx.tmp;
            let v = cx.rvalue(c)?;
            let a = cx.truth(v)?;
            cx.tmp = tmp;
            Ok(cx.emit(if when { Ins::JumpNZ { a, to: OPEN } } else { Ins::JumpZ { a, to: OPEN } }))
        })?;
        self.unit.code.decisions.insert((self.index, at as u32), owner);
        Ok(vec![at])
    }

    fn select(&mut self, t: TermId, c: TermId, a: TermId, b: TermId) -> R<V> {
        let d = self.temp();
        let no = self.decide(c, false, t)?;
        // both arms must be converted to a type known only after both are seen: compile the second one first for its type
        let tb = self.type_of_value(b)?;
        let va = self.rvalue(a)?;
        let ty = match (self.class(va.ty), self.class(tb)) {
            (Class::Pointer, _) => va.ty,
            (_, Class::Pointer) => tb,
            (Class::Record, Class::Record) => va.ty,
            (Class::Void, _) | (_, Class::Void) => return Err(self.err("a value of type void")),
            _ => match self.types.operation_type(BinOp::Add, va.ty, tb) {
                Some(t) => t,
                None => return Err(self.no_value(va.ty)),
            },
        };
        let va = self.convert(va, ty)?;
        self.emit(Ins::Mov { d, a: va.reg });
        let end = self.emit(Ins::Jump { to: OPEN });
        let here = self.here();
        self.patch_all(no, here);
        let vb = self.rvalue(b)?;
        let vb = self.convert(vb, ty)?;
        self.emit(Ins::Mov { d, a: vb.reg });
        let here = self.here();
        self.patch(end, here);
        Ok(V { reg: d, ty })
    }

    /// The type of an expression's value (arrays are pointers); compiles nothing for common shapes.
    fn type_of_value(&mut self, t: TermId) -> R<TypeId> {
        // the front end's word, where it has one: compiling to learn the type would be exponential in nested `?:`
        let said = self.body.ty(t);
        let ty = match self.class(said) {
            Class::Void | Class::Other => self.type_of(t)?,
            _ => said,
        };
        match self.types.kind(ty) {
            TypeKind::Array { of, .. } => {
                let of = *of;
                Ok(self.types.pointer(of))
            }
            _ => Ok(ty),
        }
    }
}
