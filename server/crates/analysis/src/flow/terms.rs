//! Questions about terms alone: linear forms of plain integer terms at one moment, and the statements under a term.

use base::IndexId;
use term::{BinOp, Body, Op, TermId, UnOp};

use crate::algebra::poly::{Poly, Var};
use crate::flow::counted_loop::constant;

/// `a - b` where that is one number for all values of the variables. Only arithmetic that is exact or undefined counts.
pub(crate) fn difference(body: &Body, a: TermId, b: TermId) -> Option<i128> {
    if let (Some(x), Some(y)) = (constant(body, a), constant(body, b)) {
        return x.checked_sub(y);
    }
    linear(body, a, 0)?.sub(&linear(body, b, 0)?)?.as_constant()
}

/// The term as a linear value of variables by their symbols, as far as its arithmetic is that of whole numbers.
fn linear(body: &Body, t: TermId, depth: u32) -> Option<Poly> {
    if depth > 40 {
        return None;
    }
    if let Some(c) = constant(body, t) {
        return Some(Poly::constant(c));
    }
    let kind = body.types.as_int(body.ty(t))?;
    if !body.arithmetic(t).is_exact(kind) {
        return None;
    }
    let of = |t: TermId| linear(body, t, depth + 1);
    match (body.op(t), body.args(t)) {
        (Op::Sym(s), _) if body.symbols[*s].is_own_scalar() => Some(Poly::var(s.index() as Var)),
        (Op::Unary(UnOp::Plus), &[x]) => of(x),
        (Op::Unary(UnOp::Neg), &[x]) => of(x)?.scale(-1),
        (Op::Binary(BinOp::Add), &[x, y]) => of(x)?.add(&of(y)?),
        (Op::Binary(BinOp::Sub), &[x, y]) => of(x)?.sub(&of(y)?),
        (Op::Binary(BinOp::Mul), &[x, y]) => match (constant(body, x), constant(body, y)) {
            (Some(c), _) => of(y)?.scale(c),
            (_, Some(c)) => of(x)?.scale(c),
            _ => None,
        },
        _ => None,
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
