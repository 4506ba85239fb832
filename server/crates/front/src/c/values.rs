//! Facts about terms just built: constant values, and what escapes.

use term::{BinOp, Op, Storage, TermId, TypeKind};

use crate::c::Lower;

impl Lower<'_> {
    /// The value of an integer constant expression, computed in its type.
    pub(super) fn value(&self, id: TermId) -> Option<i128> {
        self.value_at(id, 0)
    }

    fn value_at(&self, id: TermId, depth: u32) -> Option<i128> {
        if depth > 256 {
            return None;
        }
        let t = self.b.get(id);
        let arg = |k: usize| t.args.get(k).and_then(|&a| self.value_at(a, depth + 1));
        let kind = self.b.types.as_int(t.ty);
        match &t.op {
            Op::Int(v) => Some(*v),
            Op::Sym(s) => match self.b.symbols[*s].storage {
                Storage::Constant(v) => Some(v),
                _ => None,
            },
            Op::Unary(op) => {
                let (v, k) = (arg(0)?, kind?);
                self.b.semantics.arithmetic().unary(*op, k, v).ok()
            }
            Op::Cast => {
                let k = kind?;
                Some(k.wrap(arg(0)?))
            }
            Op::Select => {
                let c = arg(0)?;
                let v = arg(if c != 0 { 1 } else { 2 })?;
                self.b.semantics.arithmetic().fit(kind?, v).ok()
            }
            Op::Binary(op) => self.binary_value(*op, id, arg(0)?, arg(1)?),
            _ => None,
        }
    }

    fn binary_value(&self, op: BinOp, id: TermId, a: i128, b: i128) -> Option<i128> {
        let t = self.b.get(id);
        let types = &self.b.types;
        let operand = |k: usize| t.args.get(k).and_then(|&a| types.as_int(self.b.get(a).ty));
        let (x, y) = (operand(0)?, operand(1)?);
        // Operands are converted to their common type before anything else is done (C11 6.3.1.8).
        let (a, b) = if op.is_logical() || matches!(op, BinOp::Shl | BinOp::Shr) {
            (a, b)
        } else {
            let common = x.common(y);
            (common.wrap(a), common.wrap(b))
        };
        let kind = types.as_int(t.ty)?;
        self.b.semantics.arithmetic().binary(op, kind, a, b).ok()
    }

    /// Whether evaluating the term may do more than give a value.
    pub(super) fn does_something(&self, id: TermId) -> bool {
        let mut stack = vec![id];
        while let Some(id) = stack.pop() {
            let t = self.b.get(id);
            let pure = |f: TermId| match self.b.get(f).op {
                Op::Sym(s) => {
                    self.b.library.contains(&s) && term::intrinsic(&self.b.symbols[s].name).is_some()
                }
                _ => false,
            };
            match &t.op {
                op if op.is_write() => return true,
                Op::Call if t.args.first().is_some_and(|&f| pure(f)) => {}
                Op::Call | Op::Launch | Op::Reject(_) | Op::Apply(_) => return true,
                Op::SizeOf => continue,
                _ => {}
            }
            stack.extend(t.args.iter());
        }
        false
    }

    /// Notes that a value goes where we do not follow it: arrays in it can then be reached from elsewhere.
    pub(super) fn escape(&mut self, id: TermId) {
        let mut stack = vec![id];
        while let Some(id) = stack.pop() {
            let t = self.b.get(id);
            if matches!(self.b.types.kind(t.ty), TypeKind::Array { .. }) {
                self.take_address(id);
                continue;
            }
            match &t.op {
                Op::Binary(op) if !op.is_comparison() && !op.is_logical() => stack.extend(t.args.iter()),
                Op::Select => stack.extend(t.args.iter().skip(1)),
                Op::Comma | Op::Assign => stack.extend(t.args.iter().skip(1)),
                Op::Cast | Op::Compound(_) => stack.extend(t.args.iter()),
                _ => {}
            }
        }
    }

    /// Notes that the address of a place is taken.
    pub(super) fn take_address(&mut self, place: TermId) {
        let mut at = place;
        loop {
            let t = self.b.get(at);
            match &t.op {
                Op::Sym(s) => {
                    let s = *s;
                    self.b.symbols[s].address_taken = true;
                    return;
                }
                Op::Index | Op::Deref | Op::Member { .. } => {
                    let Some(&base) = t.args.first() else { return };
                    let arrow_or_index = !matches!(t.op, Op::Member { arrow: false, .. });
                    let base_ty = self.b.get(base).ty;
                    // Through a pointer it is the pointee's address, not that of what we see.
                    if arrow_or_index && !matches!(self.b.types.kind(base_ty), TypeKind::Array { .. }) {
                        // `*(a + i)` reaches into an array all the same.
                        self.escape(base);
                        return;
                    }
                    at = base;
                }
                Op::Comma | Op::Select => {
                    let args: Vec<TermId> = t.args.iter().skip(1).copied().collect();
                    let Some((last, rest)) = args.split_last() else { return };
                    for &r in rest {
                        if matches!(self.b.get(r).op, Op::Sym(_)) {
                            self.take_address(r);
                        }
                    }
                    at = *last;
                }
                _ => return,
            }
        }
    }
}
