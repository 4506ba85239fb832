//! Whether a term is surely run, and how a variable is met first.

use term::{BinOp, Body, Combiner, Op, SymbolId, TermId};

use super::Regions;
use crate::flow::counted_loop::constant;

/// How a variable is met.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum First {
    Read(TermId),
    Write,
    /// On some way only, or by something that is not seen through.
    Maybe,
}

impl Regions<'_> {
    /// Whether a term under `root` is run whenever `root` is, inner loops taken to run at all. `free`: under conditions
    /// on what memory or functions give, too, so that some input makes every one of them true.
    pub(crate) fn is_run(&self, term: TermId, root: TermId, free: bool) -> bool {
        let body = self.body;
        let mut child = term;
        while child != root {
            let Some(p) = self.parents.get(child.0 as usize).copied().flatten() else { return false };
            let args = body.args(p);
            let at = args.iter().position(|&a| a == child).unwrap_or(0);
            let fine = match body.op(p) {
                Op::List => !args[..at].iter().any(|&a| leaves(body, a)),
                Op::For if at == 3 || at == 2 => runs(body, p),
                Op::While if at == 1 => free,
                Op::If | Op::Select if at > 0 => match constant(body, args[0]) {
                    Some(c) => (c != 0) == (at == 1),
                    None => free && at == 1 && is_free(body, args[0]),
                },
                Op::Binary(BinOp::And | BinOp::Or) if at == 1 => false,
                Op::Switch if at == 1 => false,
                Op::Reject(_) | Op::SizeOf | Op::Apply(_) => false,
                _ => true,
            };
            if !fine {
                return false;
            }
            child = p;
        }
        true
    }
}

/// Whether a statement may leave what stands after it undone: a jump that is not a loop's own.
fn leaves(body: &Body, t: TermId) -> bool {
    let mut stack = vec![(t, false)];
    while let Some((t, in_loop)) = stack.pop() {
        match body.op(t) {
            Op::Return | Op::Goto(_) | Op::Label(_) | Op::Reject(_) => return true,
            Op::Break | Op::Continue if !in_loop => return true,
            op => {
                let inner = in_loop || op.is_loop() || *op == Op::Switch;
                stack.extend(body.args(t).iter().map(|&a| (a, inner)));
            }
        }
    }
    false
}

/// Whether a counted loop runs for some input: not where its bounds are constants that say otherwise.
fn runs(body: &Body, l: TermId) -> bool {
    trips(body, l).is_none_or(|n| n > 0)
}

/// The number of iterations between constants.
pub(crate) fn trips(body: &Body, l: TermId) -> Option<i128> {
    let parts = body.loop_parts(l)?;
    let (init, condition) = (parts.init?, parts.condition?);
    let first = match (body.op(init), body.args(init)) {
        (Op::Declare(_), &[v]) | (Op::Assign, &[_, v]) => constant(body, v)?,
        _ => return None,
    };
    let Op::Binary(op) = body.op(condition) else { return None };
    let last = constant(body, *body.args(condition).get(1)?)?;
    let step = match (body.op(parts.step?), body.args(parts.step?)) {
        (Op::Step { delta, .. }, _) => i128::from(*delta),
        (Op::Compound(BinOp::Add), &[_, c]) => constant(body, c)?,
        (Op::Compound(BinOp::Sub), &[_, c]) => -constant(body, c)?,
        _ => return None,
    };
    let distance = match (op, step > 0) {
        (BinOp::Lt, true) => last - first,
        (BinOp::Le, true) => last - first + 1,
        (BinOp::Gt, false) => first - last,
        (BinOp::Ge, false) => first - last + 1,
        _ => return None,
    };
    Some(if distance <= 0 { 0 } else { (distance + step.abs() - 1) / step.abs() })
}

/// Whether what memory holds or functions give can make a condition true in any iteration.
fn is_free(body: &Body, c: TermId) -> bool {
    match (body.op(c), body.args(c)) {
        (Op::Binary(BinOp::And), &[a, b]) => is_free(body, a) && is_free(body, b),
        (Op::Binary(BinOp::Or), &[a, b]) => is_free(body, a) || is_free(body, b),
        _ => {
            let thread = |t: TermId| match body.op(t) {
                Op::Sym(s) => body.symbols[*s].name.starts_with("omp_"),
                _ => false,
            };
            body.walk(c).any(|t| matches!(body.op(t), Op::Index | Op::Deref | Op::Member { .. } | Op::Call))
                && !body.walk(c).any(thread)
        }
    }
}

/// How a variable is met first when a term is run.
pub(crate) fn first(body: &Body, t: TermId, s: SymbolId) -> Option<First> {
    let args = body.args(t);
    let all = |list: &[TermId]| list.iter().find_map(|&a| first(body, a, s));
    let maybe = |list: &[TermId]| all(list).map(|_| First::Maybe);
    match body.op(t) {
        Op::Sym(x) => (*x == s).then_some(First::Read(t)),
        Op::Declare(x) if *x == s => Some(First::Write),
        Op::Assign => {
            let (&place, &value) = (args.first()?, args.get(1)?);
            let own = body.as_symbol(place) == Some(s);
            // the order of the two sides is not fixed; what one of them does alone is sure
            first(body, value, s).or_else(|| match own {
                true => Some(First::Write),
                false => first(body, place, s),
            })
        }
        Op::AddrOf => maybe(args),
        Op::Call => match all(args) {
            Some(First::Read(r)) => Some(First::Read(r)),
            Some(f) => Some(f),
            None => None,
        },
        Op::If | Op::Select => first(body, *args.first()?, s).or_else(|| maybe(&args[1..])),
        Op::Binary(BinOp::And | BinOp::Or) => first(body, *args.first()?, s).or_else(|| maybe(&args[1..])),
        Op::For => {
            let head = all(args.get(..2)?);
            head.or_else(|| match args.get(3).and_then(|&b| first(body, b, s)) {
                Some(First::Read(r)) => Some(First::Read(r)),
                Some(_) => Some(First::Maybe),
                None => maybe(&args[2..3]),
            })
        }
        Op::While => first(body, *args.first()?, s).or_else(|| maybe(&args[1..])),
        Op::Switch => first(body, *args.first()?, s).or_else(|| maybe(&args[1..])),
        Op::SizeOf => None,
        Op::Reject(_) | Op::Goto(_) | Op::Label(_) => Some(First::Maybe),
        Op::List => {
            for &a in args {
                if let Some(f) = first(body, a, s) {
                    return Some(f);
                }
                if leaves(body, a) {
                    return maybe(args);
                }
            }
            None
        }
        _ => all(args),
    }
}

/// Which combination a write of a variable is, if it is one.
pub(crate) fn combines(r: &Regions, write: TermId, s: SymbolId) -> Option<Combiner> {
    let body = r.body;
    let of = |op: BinOp| match op {
        BinOp::Add | BinOp::Sub => Some(Combiner::Add),
        BinOp::Mul => Some(Combiner::Mul),
        BinOp::BitAnd => Some(Combiner::BitAnd),
        BinOp::BitOr => Some(Combiner::BitOr),
        BinOp::BitXor => Some(Combiner::BitXor),
        BinOp::And => Some(Combiner::And),
        BinOp::Or => Some(Combiner::Or),
        _ => None,
    };
    let uses = |t: TermId| body.walk(t).any(|x| body.as_symbol(x) == Some(s));
    match (body.op(write), body.args(write)) {
        (Op::Step { .. }, _) => Some(Combiner::Add),
        (Op::Compound(op), &[_, value]) if !uses(value) => of(*op),
        (Op::Assign, &[_, value]) => {
            if let (Op::Binary(op), &[a, b]) = (body.op(value), body.args(value)) {
                let left = body.as_symbol(a) == Some(s) && !uses(b);
                let right = body.as_symbol(b) == Some(s) && !uses(a) && *op != BinOp::Sub;
                return if left || right { of(*op) } else { None };
            }
            if uses(value) {
                return None;
            }
            // `if (x > s) s = x;`
            let block = r.parents.get(write.0 as usize).copied().flatten()?;
            let around = match body.op(block) {
                Op::List => r.parents.get(block.0 as usize).copied().flatten()?,
                _ => block,
            };
            let (Op::If, Some(&c)) = (body.op(around), body.args(around).first()) else { return None };
            let (Op::Binary(op), &[a, b]) = (body.op(c), body.args(c)) else { return None };
            let greater = match (op, body.as_symbol(a) == Some(s), body.as_symbol(b) == Some(s)) {
                (BinOp::Gt | BinOp::Ge, false, true) | (BinOp::Lt | BinOp::Le, true, false) => true,
                (BinOp::Lt | BinOp::Le, false, true) | (BinOp::Gt | BinOp::Ge, true, false) => false,
                _ => return None,
            };
            let other = if body.as_symbol(a) == Some(s) { b } else { a };
            body.same(other, value).then_some(if greater { Combiner::Max } else { Combiner::Min })
        }
        _ => None,
    }
}
