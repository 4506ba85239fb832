//! Questions about terms alone: linear forms of plain integer terms at one moment, and the statements under a term.

use base::IndexId;
use term::{BinOp, Body, Op, SymbolId, TermId, UnOp};

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

/// Whether a variable was surely given a value where a statement begins: by the header of a loop around it, or by a statement before it
/// in a block around it. Where something between was not understood, or may be jumped to, it is not known.
pub(crate) fn is_set_around(body: &Body, parents: &[Option<TermId>], statement: TermId, s: SymbolId) -> bool {
    let sets = |t: TermId| match (body.op(t), body.args(t)) {
        (Op::Assign, &[place, _]) => body.as_symbol(place) == Some(s),
        (Op::Declare(d), &[_]) => *d == s,
        _ => false,
    };
    let is_plain = |t: TermId| {
        let jumps = |x: TermId| matches!(body.op(x), Op::Label(_) | Op::Case | Op::Default | Op::Reject(_));
        !body.walk(t).any(jumps)
    };
    let mut at = statement;
    while let Some(p) = parents.get(at.index()).copied().flatten() {
        let args = body.args(p);
        match body.op(p) {
            Op::For if args.get(3) == Some(&at) && is_plain(p) => {
                let parts = |t: TermId| match body.op(t) {
                    Op::List | Op::Comma => body.args(t).to_vec(),
                    _ => vec![t],
                };
                if args.first().is_some_and(|&init| parts(init).into_iter().flat_map(parts).any(sets)) {
                    return true;
                }
            }
            Op::List => {
                let before = args.iter().take_while(|&&a| a != at);
                for &b in before.collect::<Vec<_>>().into_iter().rev() {
                    if sets(b) {
                        return true;
                    }
                    if !is_plain(b) {
                        return false;
                    }
                }
            }
            _ => {}
        }
        if !is_plain(at) {
            return false;
        }
        at = p;
    }
    false
}
