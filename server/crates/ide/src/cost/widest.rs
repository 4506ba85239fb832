//! Amounts that are not the same in all rounds of loops around them, as large as they get: each index at the end that makes more.

use analysis::{Control, Expr, LoopId, Param, Step};
use codegen::Dim;
use rustc_hash::FxHashSet;
use term::{BinOp, Body, Op, SymbolId, TermId, UnOp};

use super::{amount, Amount};
use crate::function_view::FunctionView;

/// Iterations of a kernel's dimension, whatever the loops around it that change `changed` have reached.
pub(super) fn trips_of(view: &FunctionView, d: &Dim, changed: &FxHashSet<SymbolId>) -> Option<Amount> {
    amount(view, &d.widest(&|p| ends(view, p, changed))?)
}

/// Iterations of a loop that counts one by one, likewise.
pub(super) fn trips(view: &FunctionView, id: LoopId, changed: &FxHashSet<SymbolId>) -> Option<Amount> {
    let control = view.of(id).control.as_ref().ok()?;
    if !matches!(control.step, Step::Const(1 | -1)) {
        return None;
    }
    let (low, high) = reach(view.body(), control)?;
    let count = Expr::Add(vec![high, Expr::Mul(-1, Box::new(low)), Expr::Int(1)]);
    amount(view, &codegen::widest(&count, &|p| ends(view, p, changed))?)
}

/// Where a variable lies: the ends of the loop that counts it.
fn ends(view: &FunctionView, p: Param, changed: &FxHashSet<SymbolId>) -> Result<Option<(Expr, Expr)>, ()> {
    let body = view.body();
    let is_changed = |t: TermId| match body.op(t) {
        Op::Sym(s) => changed.contains(s),
        op => matches!(op, Op::Index | Op::Member { .. } | Op::Deref | Op::Call),
    };
    match p {
        Param::Symbol(s) if !changed.contains(&s) => Ok(None),
        Param::Symbol(s) => {
            let mut counting = view.facts.loops.iter().filter_map(|l| l.control.as_ref().ok());
            let control = counting.find(|c| c.index == s).ok_or(())?;
            // the same variable may count in another loop
            let others = view.facts.loops.iter().filter_map(|l| l.control.as_ref().ok());
            let is_only = others.filter(|c| c.index == s).all(|c| std::ptr::eq(c, control));
            reach(body, control).filter(|_| is_only).map(Some).ok_or(())
        }
        Param::Term(t) if body.walk(t).any(is_changed) => Err(()),
        Param::Term(_) => Ok(None),
        Param::Distance { .. } | Param::Row(_) | Param::Longest(_) | Param::End { .. } => Err(()),
    }
}

/// The least and the greatest value of an index, where the loop runs at all.
fn reach(body: &Body, c: &Control) -> Option<(Expr, Expr)> {
    let Step::Const(step) = c.step else { return None };
    let (first, bound) = (sum_of(body, c.lower)?, sum_of(body, c.bound.filter(|_| c.is_plain())?)?);
    let within = |by: i128| Expr::Add(vec![bound.clone(), Expr::Int(by)]);
    match c.relation {
        BinOp::Lt if step > 0 => Some((first, within(-1))),
        BinOp::Le if step > 0 => Some((first, bound)),
        BinOp::Ne if step == 1 => Some((first, within(-1))),
        BinOp::Gt if step < 0 => Some((within(1), first)),
        BinOp::Ge if step < 0 => Some((bound, first)),
        BinOp::Ne if step == -1 => Some((within(1), first)),
        _ => None,
    }
}

/// A sum of names and numbers.
fn sum_of(body: &Body, t: TermId) -> Option<Expr> {
    if let Some(n) = body.constant(t) {
        return Some(Expr::Int(n));
    }
    match (body.op(t), body.args(t)) {
        (Op::Sym(s), _) => Some(Expr::Param(Param::Symbol(*s))),
        (Op::Cast, [inner]) => sum_of(body, *inner),
        (Op::Unary(UnOp::Neg), [inner]) => Some(Expr::Mul(-1, Box::new(sum_of(body, *inner)?))),
        (Op::Binary(BinOp::Add), [a, b]) => Some(Expr::Add(vec![sum_of(body, *a)?, sum_of(body, *b)?])),
        (Op::Binary(BinOp::Sub), [a, b]) => {
            Some(Expr::Add(vec![sum_of(body, *a)?, Expr::Mul(-1, Box::new(sum_of(body, *b)?))]))
        }
        _ => None,
    }
}
