//! Questions about terms alone: linear forms of plain integer terms at one moment, and the statements under a term.

use rustc_hash::FxHashMap;
use term::{BinOp, Body, Op, SymbolId, TermId, UnOp};

use crate::control::constant;

/// `a - b` where that is one number for all values of the variables. Only arithmetic that is exact or undefined counts.
pub(crate) fn difference(body: &Body, a: TermId, b: TermId) -> Option<i128> {
    if let (Some(x), Some(y)) = (constant(body, a), constant(body, b)) {
        return x.checked_sub(y);
    }
    let mut form = Form::default();
    form.add(body, a, 1, 0)?;
    form.add(body, b, -1, 0)?;
    form.factors.values().all(|c| *c == 0).then_some(form.constant)
}

#[derive(Default)]
struct Form {
    factors: FxHashMap<SymbolId, i128>,
    constant: i128,
}

impl Form {
    /// Adds `k` times the term.
    fn add(&mut self, body: &Body, t: TermId, k: i128, depth: u32) -> Option<()> {
        if depth > 40 {
            return None;
        }
        if let Some(c) = constant(body, t) {
            self.constant = self.constant.checked_add(c.checked_mul(k)?)?;
            return Some(());
        }
        let kind = body.types.as_int(body.ty(t))?;
        if !body.arithmetic(t).is_exact(kind) {
            return None;
        }
        let args = body.args(t);
        match body.op(t) {
            Op::Sym(s) if body.symbols[*s].is_own_scalar() => {
                let f = self.factors.entry(*s).or_insert(0);
                *f = f.checked_add(k)?;
                Some(())
            }
            Op::Unary(UnOp::Plus) => self.add(body, *args.first()?, k, depth + 1),
            Op::Unary(UnOp::Neg) => self.add(body, *args.first()?, k.checked_neg()?, depth + 1),
            Op::Binary(op @ (BinOp::Add | BinOp::Sub)) => {
                self.add(body, *args.first()?, k, depth + 1)?;
                let sign = if *op == BinOp::Sub { k.checked_neg()? } else { k };
                self.add(body, *args.get(1)?, sign, depth + 1)
            }
            Op::Binary(BinOp::Mul) => {
                let (x, y) = (*args.first()?, *args.get(1)?);
                match (constant(body, x), constant(body, y)) {
                    (Some(c), _) => self.add(body, y, k.checked_mul(c)?, depth + 1),
                    (_, Some(c)) => self.add(body, x, k.checked_mul(c)?, depth + 1),
                    _ => None,
                }
            }
            _ => None,
        }
    }
}

/// The statements in the lists under a term, those of inner statements too: terms whose value nobody uses.
pub(crate) fn statements(body: &Body, root: TermId) -> Vec<TermId> {
    let mut out = Vec::new();
    let mut stack = vec![root];
    while let Some(t) = stack.pop() {
        let args = body.args(t);
        match body.op(t) {
            Op::List => {
                out.extend(args);
                stack.extend(args);
            }
            Op::For => stack.push(args[3]),
            Op::While => stack.push(args[1]),
            Op::DoWhile => stack.push(args[0]),
            Op::If => stack.extend(&args[1..]),
            Op::Switch => stack.push(args[1]),
            _ => {}
        }
    }
    out
}
