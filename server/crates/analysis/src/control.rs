//! Which loops count: `for (i = lower; i REL bound; i += step)` with bound and step fixed and the index left alone.
//!
//! Reference: the canonical loop form of OpenMP 5.2, section 4.4.1; ours also takes `while`-like headers apart and says
//! why a loop is not counted.

use term::{BinOp, Body, Op, SymbolId, TermId};

use crate::effects::Effects;
use crate::{Control, NotCounted, Obstacle, ObstacleKind, Step};

/// How a loop counts, or what keeps it from counting.
pub(crate) fn control(body: &Body, loop_term: TermId, effects: &Effects) -> Result<Control, Obstacle> {
    let fail = |why: NotCounted, term: TermId| Err(Obstacle { kind: ObstacleKind::NotCounted(why), term });
    if *body.op(loop_term) != Op::For {
        return fail(NotCounted::While, loop_term);
    }
    let args = body.args(loop_term);
    let (Some(&init), Some(&condition), Some(&step), Some(&inner)) =
        (args.first(), args.get(1), args.get(2), args.get(3))
    else {
        return fail(NotCounted::While, loop_term);
    };
    let Op::Binary(relation) = *body.op(condition) else {
        return fail(NotCounted::NoCondition, condition);
    };
    if !relation.is_comparison() || relation == BinOp::Eq {
        return fail(NotCounted::Condition, condition);
    }
    let (left, right) = (body.args(condition)[0], body.args(condition)[1]);
    // The index is the side that the step moves.
    let moved = stepped(body, step);
    if moved.is_empty() {
        return fail(NotCounted::Step, if *body.op(step) == Op::Empty { loop_term } else { step });
    }
    let side = |t: TermId| strip_casts(body, t).and_then(|t| body.as_symbol(t));
    let (index, bound, relation, change) = match (side(left), side(right)) {
        (Some(s), _) if moved.iter().any(|m| m.0 == s) => (s, right, relation, find(&moved, s)),
        (_, Some(s)) if moved.iter().any(|m| m.0 == s) => (s, left, mirrored(relation), find(&moved, s)),
        _ => return fail(NotCounted::Condition, condition),
    };
    let Some(change) = change else {
        return fail(NotCounted::Step, step);
    };
    let symbol = &body.symbols[index];
    if !symbol.is_own_scalar() {
        return fail(NotCounted::IndexEscapes, condition);
    }
    let Some(index_type) = body.types.as_int(symbol.ty) else {
        return fail(NotCounted::IndexType, condition);
    };
    if body.types.quals(symbol.ty).is_volatile {
        return fail(NotCounted::IndexEscapes, condition);
    }
    let Some((lower, declared_here)) = initial(body, init, index) else {
        return fail(NotCounted::NoInit, loop_term);
    };
    // Nothing in the body may move the index; the step's own write is the only one.
    if effects.writes_in(inner).contains(&index) || effects.writes_in(condition).contains(&index) {
        return fail(NotCounted::IndexWritten, loop_term);
    }
    if !effects.is_invariant_in(body, bound, loop_term) {
        return fail(NotCounted::BoundVaries, bound);
    }
    let step = match change {
        Change::Const(0) => return fail(NotCounted::Step, step),
        Change::Const(c) => Step::Const(c),
        Change::Term(t, negated) => {
            if !effects.is_invariant_in(body, t, loop_term) || body.types.as_int(body.ty(t)).is_none() {
                return fail(NotCounted::Step, step);
            }
            Step::Term { term: t, negated }
        }
    };
    if let Step::Const(c) = step {
        let wrong = match relation {
            BinOp::Lt | BinOp::Le => c < 0,
            BinOp::Gt | BinOp::Ge => c > 0,
            // `i != n` meets its bound for sure only in unit steps.
            _ => c.abs() != 1,
        };
        if wrong {
            return fail(NotCounted::WrongWay, condition);
        }
    } else if relation == BinOp::Ne {
        return fail(NotCounted::WrongWay, condition);
    }
    Ok(Control { index, index_type, declared_here, lower, bound, relation, step })
}

/// What one part of a step does to a variable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Change {
    Const(i128),
    Term(TermId, bool),
}

fn find(moved: &[(SymbolId, Option<Change>)], s: SymbolId) -> Option<Change> {
    // Moved twice: not a simple step.
    let mut hits = moved.iter().filter(|m| m.0 == s);
    let first = hits.next()?.1;
    if hits.next().is_some() {
        return None;
    }
    first
}

/// The variables a step expression writes, each with its change if it is an addition of something.
pub(crate) fn stepped(body: &Body, step: TermId) -> Vec<(SymbolId, Option<Change>)> {
    let mut out = Vec::new();
    let mut stack = vec![step];
    while let Some(t) = stack.pop() {
        match body.op(t) {
            Op::Comma => stack.extend(body.args(t).iter().rev()),
            _ => {
                if let Some((s, change)) = change_of(body, t) {
                    out.push((s, change));
                }
            }
        }
    }
    out
}

/// If the statement writes one scalar variable: which, and by how much if it only adds something.
pub(crate) fn change_of(body: &Body, t: TermId) -> Option<(SymbolId, Option<Change>)> {
    let args = body.args(t);
    match body.op(t) {
        Op::Step { delta, .. } => {
            Some((body.as_symbol(*args.first()?)?, Some(Change::Const(*delta as i128))))
        }
        Op::Compound(op) => {
            let s = body.as_symbol(*args.first()?)?;
            let e = *args.get(1)?;
            let change = match op {
                BinOp::Add => Some(amount(body, e, false)),
                BinOp::Sub => Some(amount(body, e, true)),
                _ => None,
            };
            Some((s, change))
        }
        Op::Assign => {
            let s = body.as_symbol(*args.first()?)?;
            let e = strip_casts(body, *args.get(1)?)?;
            let is_s = |t: TermId| strip_casts(body, t).and_then(|t| body.as_symbol(t)) == Some(s);
            let change = match (body.op(e), body.args(e)) {
                (Op::Binary(BinOp::Add), &[a, b]) if is_s(a) => Some(amount(body, b, false)),
                (Op::Binary(BinOp::Add), &[a, b]) if is_s(b) => Some(amount(body, a, false)),
                (Op::Binary(BinOp::Sub), &[a, b]) if is_s(a) => Some(amount(body, b, true)),
                _ => None,
            };
            Some((s, change))
        }
        _ => None,
    }
}

fn amount(body: &Body, e: TermId, negated: bool) -> Change {
    match constant(body, e) {
        Some(c) => Change::Const(if negated { -c } else { c }),
        None => Change::Term(e, negated),
    }
}

/// The value of an integer constant expression: literals, enumerators, unary minus, and `+ - *` of these.
pub(crate) fn constant(body: &Body, t: TermId) -> Option<i128> {
    constant_at(body, t, 0)
}

fn constant_at(body: &Body, t: TermId, depth: u32) -> Option<i128> {
    if depth > 40 {
        return None;
    }
    let kind = body.types.as_int(body.ty(t))?;
    let arg = |i: usize| body.args(t).get(i).and_then(|&a| constant_at(body, a, depth + 1));
    let value = match body.op(t) {
        Op::Int(v) => *v,
        Op::Sym(s) => match body.symbols[*s].storage {
            term::Storage::Constant(v) => v,
            _ => return None,
        },
        Op::Cast | Op::Unary(term::UnOp::Plus) => arg(0)?,
        Op::Unary(term::UnOp::Neg) => arg(0)?.checked_neg()?,
        Op::Binary(BinOp::Add) => arg(0)?.checked_add(arg(1)?)?,
        Op::Binary(BinOp::Sub) => arg(0)?.checked_sub(arg(1)?)?,
        Op::Binary(BinOp::Mul) => arg(0)?.checked_mul(arg(1)?)?,
        Op::Binary(BinOp::Div) => arg(0)?.checked_div(arg(1)?)?,
        Op::Binary(BinOp::Shl) => {
            arg(0)?.checked_mul(1i128.checked_shl(u32::try_from(arg(1)?).ok().filter(|&s| s < 64)?)?)?
        }
        _ => return None,
    };
    // A value that the type cannot hold has been wrapped or is undefined; leave it to the general path.
    (kind.wrap(value) == value).then_some(value)
}

/// The first value of the index and whether it is declared in the header.
fn initial(body: &Body, init: TermId, index: SymbolId) -> Option<(TermId, bool)> {
    let mut found = None;
    let mut stack = vec![init];
    while let Some(t) = stack.pop() {
        let args = body.args(t);
        match body.op(t) {
            Op::List | Op::Comma => stack.extend(args.iter().rev()),
            Op::Declare(s) if *s == index => found = Some((*args.first()?, true)),
            Op::Assign if body.as_symbol(*args.first()?) == Some(index) => {
                // `i = j = 0` nests; the right side's value counts all the same.
                found = Some((*args.get(1)?, false));
            }
            _ => {}
        }
    }
    found
}

/// The operand under conversions between integer types that are written out.
fn strip_casts(body: &Body, mut t: TermId) -> Option<TermId> {
    let mut n = 0;
    while matches!(body.op(t), Op::Cast) && body.types.as_int(body.ty(t)).is_some() {
        let inner = *body.args(t).first()?;
        // A narrowing cast changes the value; only widening ones may be looked through.
        let (to, from) = (body.types.as_int(body.ty(t))?, body.types.as_int(body.ty(inner))?);
        if to.min() > from.min() || to.max() < from.max() {
            return Some(t);
        }
        t = inner;
        n += 1;
        if n > 20 {
            return None;
        }
    }
    Some(t)
}

fn mirrored(op: BinOp) -> BinOp {
    match op {
        BinOp::Lt => BinOp::Gt,
        BinOp::Le => BinOp::Ge,
        BinOp::Gt => BinOp::Lt,
        BinOp::Ge => BinOp::Le,
        o => o,
    }
}
