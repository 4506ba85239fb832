//! Values of bounds and conditions as terms. Sums that a type of the program might not hold are computed in `long long`.

use rustc_hash::FxHashMap;
use term::{BinOp, IntKind, Op, TermId, UnOp};

use super::write::Writer;
use crate::algebra::poly::VarKind;
use crate::Param;
use poly::{Comparison, Expr};

impl Writer<'_, '_> {
    pub(super) fn number(&mut self, n: i128) -> TermId {
        let kind = if i32::try_from(n).is_ok() { IntKind::Int } else { IntKind::LongLong };
        let ty = self.b.types.int(kind);
        self.term(Op::Int(n), Vec::new(), ty)
    }

    pub(super) fn value(&mut self, e: &Expr) -> Option<TermId> {
        let int = self.b.types.int(IntKind::Int);
        Some(match e {
            Expr::Int(n) => self.number(*n),
            Expr::Iter(i) => {
                if let Some(value) = self.lets.get(i).cloned() {
                    return self.value(&value);
                }
                let s = *self.counters.get(i)?;
                let ty = self.b.symbols[s].ty;
                self.term(Op::Sym(s), Vec::new(), ty)
            }
            Expr::Param(p) => match *self.params.get(*p)? {
                VarKind::Param(Param::Symbol(s)) => {
                    let ty = self.b.symbols[s].ty;
                    self.term(Op::Sym(s), Vec::new(), ty)
                }
                VarKind::Param(Param::Term(t)) => {
                    self.copy(t, &FxHashMap::default(), &mut FxHashMap::default())?
                }
                _ => return None,
            },
            // what comes behind an index of a loop has its type
            Expr::Add(a, b) if matches!((&**a, &**b), (Expr::Iter(i), Expr::Int(1)) if self.counters.contains_key(i)) =>
            {
                let (a, b) = (self.value(a)?, self.value(b)?);
                let ty = self.b.get(a).ty;
                self.term(Op::Binary(BinOp::Add), vec![a, b], ty)
            }
            Expr::Add(a, b) => self.wide(BinOp::Add, a, b)?,
            Expr::Sub(a, b) => self.wide(BinOp::Sub, a, b)?,
            Expr::Mul(a, b) => self.wide(BinOp::Mul, a, b)?,
            Expr::Neg(a) => {
                let a = self.long(a)?;
                let ty = self.b.get(a).ty;
                self.term(Op::Unary(UnOp::Neg), vec![a], ty)
            }
            Expr::Div(a, n, poly::Rounding::Floor) => {
                // -1 - (-1 - a) / n where a is negative
                let zero = Box::new(Expr::Int(0));
                let turned = Expr::Sub(Box::new(Expr::Int(-1)), a.clone());
                let quotient = Expr::Div(Box::new(turned), *n, poly::Rounding::NonNegative);
                let below = Expr::Sub(Box::new(Expr::Int(-1)), Box::new(quotient));
                let above = Expr::Div(a.clone(), *n, poly::Rounding::NonNegative);
                let negative = Expr::Compare(Comparison::Lt, a.clone(), zero);
                self.value(&Expr::Select(Box::new(negative), Box::new(below), Box::new(above)))?
            }
            Expr::Div(a, n, _) => self.wide(BinOp::Div, a, &Expr::Int(*n))?,
            Expr::Mod(a, n, _) => self.wide(BinOp::Rem, a, &Expr::Int(*n))?,
            Expr::Min(es) | Expr::Max(es) => {
                let relation = if matches!(e, Expr::Min(_)) { Comparison::Lt } else { Comparison::Gt };
                let (first, rest) = es.split_first()?;
                let mut best = first.clone();
                for other in rest {
                    let better = Expr::Compare(relation, Box::new(best.clone()), Box::new(other.clone()));
                    best = Expr::Select(Box::new(better), Box::new(best), Box::new(other.clone()));
                }
                self.value(&best)?
            }
            Expr::Select(c, a, b) => {
                let (c, a, b) = (self.value(c)?, self.long(a)?, self.long(b)?);
                let ty = self.b.types.int(IntKind::LongLong);
                self.term(Op::Select, vec![c, a, b], ty)
            }
            Expr::Compare(c, a, b) => {
                let op = match c {
                    Comparison::Eq => BinOp::Eq,
                    Comparison::Le => BinOp::Le,
                    Comparison::Lt => BinOp::Lt,
                    Comparison::Ge => BinOp::Ge,
                    Comparison::Gt => BinOp::Gt,
                };
                let (a, b) = (self.signed(a)?, self.signed(b)?);
                self.term(Op::Binary(op), vec![a, b], int)
            }
            Expr::And(a, b) => {
                let (a, b) = (self.value(a)?, self.value(b)?);
                self.term(Op::Binary(BinOp::And), vec![a, b], int)
            }
            Expr::Or(a, b) => {
                let (a, b) = (self.value(a)?, self.value(b)?);
                self.term(Op::Binary(BinOp::Or), vec![a, b], int)
            }
        })
    }

    /// A value that compares as the number that it is: in `int` or `long long`.
    fn signed(&mut self, e: &Expr) -> Option<TermId> {
        let value = self.value(e)?;
        let int = self.b.types.int(IntKind::Int);
        if self.b.get(value).ty == int {
            return Some(value);
        }
        self.long(e)
    }

    /// A value in `long long`.
    pub(super) fn long(&mut self, e: &Expr) -> Option<TermId> {
        let value = self.value(e)?;
        let ty = self.b.types.int(IntKind::LongLong);
        if self.b.get(value).ty == ty || matches!(self.b.get(value).op, Op::Int(_)) {
            return Some(value);
        }
        Some(self.term(Op::Cast, vec![value], ty))
    }

    fn wide(&mut self, op: BinOp, a: &Expr, b: &Expr) -> Option<TermId> {
        let (a, b) = (self.long(a)?, self.long(b)?);
        let ty = self.b.types.int(IntKind::LongLong);
        let is_number = |t: TermId| matches!(self.b.get(t).op, Op::Int(_));
        if is_number(a) && is_number(b) {
            return None;
        }
        Some(self.term(Op::Binary(op), vec![a, b], ty))
    }
}
