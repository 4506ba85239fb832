//! An update of a place as an atomic operation.

use term::device::{AtomicOp, Scope, Word};
use term::{BinOp, FloatKind, IntKind, Op, TermId, TypeKind};
use text::Edit;

use super::Site;

impl Site<'_> {
    /// The statement that reads and writes a place.
    pub fn updating(&self, place: TermId) -> Option<TermId> {
        let updates = |t: &TermId| {
            matches!(self.body.op(*t), Op::Compound(_) | Op::Step { .. })
                && self.body.args(*t).first() == Some(&place)
        };
        self.body.walk(self.body.root).find(updates)
    }

    /// The atomic operation of the same meaning.
    pub fn atomic(&self, update: TermId) -> Option<(String, Edit)> {
        let parent = self.parent(update)?;
        if !matches!(self.body.op(parent), Op::List) {
            return None;
        }
        let text = |t: TermId| self.doc.slice(self.span(t)).to_owned();
        let (place, op, value) = match (self.body.op(update), self.body.args(update)) {
            (Op::Step { delta, .. }, &[p]) => {
                (p, if *delta > 0 { BinOp::Add } else { BinOp::Sub }, "1".to_owned())
            }
            (Op::Compound(op), &[p, v]) => (p, *op, text(v)),
            (Op::Assign, &[p, v]) => match (self.body.op(v), self.body.args(v)) {
                (Op::Binary(op), &[a, b]) if self.body.same(a, p) => (p, *op, text(b)),
                (Op::Binary(op @ (BinOp::Add | BinOp::BitAnd | BinOp::BitOr | BinOp::BitXor)), &[a, b])
                    if self.body.same(b, p) =>
                {
                    (p, *op, text(a))
                }
                _ => return None,
            },
            _ => return None,
        };
        use IntKind::{Int, UInt, ULongLong};
        let kind = self.body.types.kind(self.body.ty(place));
        let whole = matches!(kind, TypeKind::Int(Int | UInt));
        let wide = matches!(kind, TypeKind::Int(ULongLong));
        let real = matches!(kind, TypeKind::Float(FloatKind::F32 | FloatKind::F64));
        let (op, value) = match op {
            BinOp::Add if whole || wide || real => (AtomicOp::Add, value),
            BinOp::Sub if whole => (AtomicOp::Sub, value),
            BinOp::Sub if real => (AtomicOp::Add, format!("-({value})")),
            BinOp::BitAnd if whole || wide => (AtomicOp::And, value),
            BinOp::BitOr if whole || wide => (AtomicOp::Or, value),
            BinOp::BitXor if whole || wide => (AtomicOp::Xor, value),
            _ => return None,
        };
        let name = gpu::CUDA.spelling(Word::Atomic(Some(op), Scope::Device))?;
        let new = format!("{name}(&{}, {value})", text(place));
        Some((format!("Replace by `{name}`"), Edit::replace(self.span(update), new)))
    }
}
