//! Facts about terms just built: constant values, and what escapes.

use term::{Op, TermId, TypeKind};

use crate::c::Lower;

impl Lower<'_> {
    /// The value of an integer constant expression, computed in its type.
    pub(super) fn value(&self, id: TermId) -> Option<i128> {
        self.b.constant(id)
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
                // the base of `&(&x)[1]`
                Op::AddrOf => {
                    if let Some(&place) = t.args.first() {
                        self.take_address(place);
                    }
                }
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
