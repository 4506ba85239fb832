//! How often a loop runs at most, where its text says so without a number for its end: what it ends at is a remainder, or each round
//! touches another element of an array that has a length. Only for what is worth telling: that a program stays within its arrays is
//! taken for granted.

use analysis::{LoopId, Step};
use term::{BinOp, Body, Len, Op, SymbolId, TermId, TypeKind};

use crate::function_view::FunctionView;

/// The least of what is found; `None`: nothing bounds it.
pub(crate) fn at_most(view: &FunctionView, id: LoopId) -> Option<u64> {
    let body = view.body();
    let l = view.of(id);
    let control = l.control.as_ref().ok()?;
    let Step::Const(step) = control.step else { return l.most_rounds };
    let counted_up = || {
        let end = largest(body, control.bound.filter(|_| control.is_plain())?)?;
        let closed = match control.relation {
            BinOp::Lt => 0,
            BinOp::Le => 1,
            _ => return None,
        };
        let first = body.constant(control.lower)?;
        u64::try_from(end.checked_sub(first)?.checked_add(closed)?.max(0)).ok()
    };
    let by_end = (step > 0).then(counted_up).flatten();
    let parts = body.loop_parts(l.term)?;
    let leaves =
        |t: TermId| matches!(body.op(t), Op::Continue | Op::Break | Op::Return | Op::Goto(_) | Op::Switch);
    let by_arrays = match body.walk(parts.body).any(leaves) {
        true => None,
        false => least_length(body, parts.body, control.index),
    };
    by_end.into_iter().chain(by_arrays).chain(l.most_rounds).min()
}

/// The largest value of an end: a remainder, a part of the bits, or a variable that is only ever given such.
fn largest(body: &Body, end: TermId) -> Option<i128> {
    let of_value = |t: TermId| match (body.op(t), body.args(t)) {
        (Op::Binary(BinOp::Rem), &[_, by]) => body.constant(by).filter(|&n| n > 0).map(|n| n - 1),
        (Op::Binary(BinOp::BitAnd), &[a, b]) => {
            body.constant(b).or_else(|| body.constant(a)).filter(|&n| n >= 0)
        }
        _ => body.constant(t),
    };
    let Some(s) = body.as_symbol(end) else { return of_value(end) };
    if !body.symbols[s].is_own_scalar() || matches!(body.symbols[s].storage, term::Storage::Param(_)) {
        return None;
    }
    let mut most: Option<i128> = None;
    for t in body.walk(body.root) {
        let value = match (body.op(t), body.args(t)) {
            (Op::Declare(d), &[value]) if *d == s => value,
            (Op::Assign, &[place, value]) if body.as_symbol(place) == Some(s) => value,
            (Op::Compound(_) | Op::Step { .. }, &[place, ..]) if body.as_symbol(place) == Some(s) => {
                return None
            }
            _ => continue,
        };
        most = most.max(Some(of_value(value)?));
    }
    most
}

/// The length of the shortest array of which each round surely touches another element.
fn least_length(body: &Body, part: TermId, index: SymbolId) -> Option<u64> {
    let args = body.args(part);
    let own = match (body.op(part), args) {
        (Op::Index, &[array, subscript]) if counts(body, subscript, index) => {
            match body.types.kind(body.ty(array)) {
                // one of length 1 at the end of a structure may stand for any
                TypeKind::Array { len: Len::Const(n), .. } => Some(*n).filter(|&n| n > 1),
                _ => None,
            }
        }
        _ => None,
    };
    // what surely runs in each round
    let surely = match body.op(part) {
        Op::If | Op::Select => &args[..1],
        Op::Binary(b) if b.is_logical() => &args[..1],
        Op::SizeOf => &[],
        op if op.is_loop() => &[],
        _ => args,
    };
    surely.iter().filter_map(|&t| least_length(body, t, index)).chain(own).min()
}

/// Whether a subscript goes on by one with the index.
fn counts(body: &Body, subscript: TermId, index: SymbolId) -> bool {
    match (body.op(subscript), body.args(subscript)) {
        (Op::Sym(s), _) => *s == index,
        (Op::Cast, &[of]) => counts(body, of, index),
        (Op::Binary(BinOp::Add), &[a, b]) => {
            counts(body, a, index) && body.constant(b).is_some()
                || counts(body, b, index) && body.constant(a).is_some()
        }
        (Op::Binary(BinOp::Sub), &[a, b]) => counts(body, a, index) && body.constant(b).is_some(),
        _ => false,
    }
}
