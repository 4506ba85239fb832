//! Lengths of array dimensions: fixed where the array was declared, whatever becomes of the variables in them.

use term::{BinOp, Op, Storage, SymbolId, TermId};

use super::builder::Builder;
use crate::algebra::poly::{Poly, Var};
use crate::Param;

impl Builder<'_> {
    /// The length as a value: of what is in it now where that is what was in it then.
    pub(super) fn length_value(&mut self, l: TermId) -> Option<Poly> {
        let steady = self.body.walk(l).all(|x| match self.body.op(x) {
            Op::Sym(s) => self.keeps_its_value(*s),
            Op::Int(_) | Op::Binary(BinOp::Add | BinOp::Sub | BinOp::Mul) | Op::Cast => true,
            _ => false,
        });
        if steady {
            let before = self.obligations.len();
            let v = self.plain_value(l);
            if self.obligations.len() == before && v.is_some() {
                return v;
            }
            self.obligations.truncate(before);
        }
        let keeps = self.body.walk(l).all(|x| match self.body.op(x) {
            Op::Sym(s) => self.keeps_its_value(*s),
            Op::Int(_) | Op::Binary(_) | Op::Unary(_) | Op::Cast | Op::SizeOfType(_) => true,
            _ => false,
        });
        Some(Poly::var(if keeps { self.param(Param::Term(l)) } else { self.old_length(l) }))
    }

    /// A length that was fixed where its array was declared (C11 6.7.6.2p5) and that no text gives any more: a
    /// parameter of its own, equal to nothing else, which the host cannot evaluate.
    fn old_length(&mut self, l: TermId) -> Var {
        let body = self.body;
        self.vars.old_length(l, |other| body.same(other, l))
    }

    fn keeps_its_value(&self, s: SymbolId) -> bool {
        matches!(self.body.symbols[s].storage, Storage::Constant(_)) || self.effects.is_single_valued(s)
    }
}
