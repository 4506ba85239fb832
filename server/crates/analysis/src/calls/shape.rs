//! Which functions can stand in place of a call to them.

use term::{Body, Op, Storage, TermId, TypeKind};

use crate::limits::calls_shape::MAX_TERMS;

/// How a function's text becomes an expression or statements.
#[derive(Clone, Debug)]
pub(crate) enum Shape {
    /// `{ return e; }` where `e` writes nothing.
    Value(TermId),
    /// Statements that leave the function only at their end, and what is returned there.
    Tail(Vec<TermId>, Option<TermId>),
    /// Statements that return from branches, but not from loops.
    Branches(Vec<TermId>),
}

/// The function's shape; `None` where it has none we can use.
pub(crate) fn shape(body: &Body) -> Option<Shape> {
    shape_within(body, MAX_TERMS)
}

/// Likewise of a function of so many terms at most.
pub(crate) fn shape_within(body: &Body, most: usize) -> Option<Shape> {
    let (&Op::Function(_), &[_, list]) = (body.op(body.root), body.args(body.root)) else {
        return None;
    };
    if body.len() > most || body.rejects().next().is_some() {
        return None;
    }
    let mut returns = 0;
    for t in body.walk(list) {
        match body.op(t) {
            Op::Goto(_)
            | Op::Label(_)
            | Op::Reject(_)
            | Op::Launch
            | Op::Apply(_)
            | Op::Var(_)
            | Op::Name(_)
            | Op::Cons => return None,
            Op::Return => returns += 1,
            Op::Sym(s) | Op::Declare(s) => {
                let symbol = &body.symbols[*s];
                if matches!(symbol.storage, Storage::Undeclared | Storage::Shared) {
                    return None;
                }
                let quals = |ty| {
                    let q = body.types.quals(ty);
                    q.is_volatile || q.is_atomic
                };
                if quals(symbol.ty) || body.types.element(symbol.ty).is_some_and(quals) {
                    return None;
                }
            }
            _ => {}
        }
        let q = body.types.quals(body.ty(t));
        if q.is_volatile || q.is_atomic {
            return None;
        }
    }
    let items = body.args(list);
    if let [only] = items {
        if let (Op::Return, &[e]) = (body.op(*only), body.args(*only)) {
            let writes = body.walk(e).any(|t| body.op(t).is_write());
            let value = !matches!(body.types.kind(body.ty(e)), TypeKind::Void);
            if !writes && value {
                return Some(Shape::Value(e));
            }
        }
    }
    let last = items.last().copied().filter(|&l| *body.op(l) == Op::Return);
    match (returns, last) {
        (0, _) => Some(Shape::Tail(items.to_vec(), None)),
        (1, Some(l)) => {
            let list = items.get(..items.len() - 1)?.to_vec();
            Some(Shape::Tail(list, body.args(l).first().copied()))
        }
        _ => {
            // A return inside a loop or switch leaves more than the branch it stands in.
            let deep = body.walk(list).any(|t| {
                (body.op(t).is_loop() || *body.op(t) == Op::Switch)
                    && body.walk(t).any(|x| *body.op(x) == Op::Return)
            });
            (!deep).then(|| Shape::Branches(items.to_vec()))
        }
    }
}

/// Whether a return occurs in the statement.
pub(crate) fn has_return(body: &Body, t: TermId) -> bool {
    body.walk(t).any(|x| *body.op(x) == Op::Return)
}

/// Whether every way through the statement returns.
pub(crate) fn always_returns(body: &Body, t: TermId) -> bool {
    match body.op(t) {
        Op::Return => true,
        Op::List => body.args(t).iter().any(|&s| always_returns(body, s)),
        Op::If => match body.args(t) {
            &[_, a, b] => always_returns(body, a) && always_returns(body, b),
            _ => false,
        },
        _ => false,
    }
}
