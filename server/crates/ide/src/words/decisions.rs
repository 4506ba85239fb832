//! What decides whether memory is used, where the analysis cannot say it as sums of indices: data, products and quotients, or what
//! no iteration changes.

use rustc_hash::FxHashSet;
use term::{BinOp, Body, Op, Storage, SymbolId, TermId, TypeKind};

use super::functions::{called, called_by_name};
use crate::function_view::FunctionView;

/// Why it is not known whether memory is used.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Cause {
    /// What memory holds, or a call returns, takes part in it.
    Data,
    /// Nothing but numbers of the function's own takes part, of which some are multiplied or divided by each other.
    Product,
    /// Nothing but numbers of the function's own takes part.
    Computed,
}

/// What decides whether memory is used: a clause.
pub(super) fn decides(view: &FunctionView, t: TermId, text: &str, line: u32) -> String {
    let body = view.body();
    let up = body.parents().get(t.0 as usize).copied().flatten();
    let is_condition = up.is_some_and(|up| matches!(body.op(up), Op::If | Op::Select | Op::Switch));
    let is_access = matches!(body.op(t), Op::Index | Op::Deref | Op::Member { .. }) && !is_condition;
    let parts = match (body.loop_parts(t), is_access) {
        (Some(parts), _) => {
            // what leaves the loop early decides, too
            let leaves = |x: &TermId| matches!(body.op(*x), Op::Break | Op::Return | Op::Goto(_));
            let parents = body.parents();
            let early = body.walk(t).filter(leaves).flat_map(|x| conditions_around(body, &parents, x));
            [parts.init, parts.condition, parts.step].into_iter().flatten().chain(early).collect()
        }
        (None, true) => conditions_around(body, &body.parents(), t),
        (None, false) => vec![t],
    };
    match (body.op(t), cause(body, parts)) {
        (Op::Call, _) => {
            let by = called_by_name(view, t).map_or_else(|| "the function that it calls".to_owned(), |f| called(view, f));
            format!("which elements `{text}` on line {line} uses is not followed into {by}")
        }
        (op, Cause::Data) if op.is_loop() => format!("how often the loop on line {line} runs depends on data"),
        (op, _) if op.is_loop() => {
            format!("how often the loop on line {line} runs is not a sum of loop indices with constant factors")
        }
        (_, Cause::Data) if is_access => format!("whether `{text}` on line {line} is used depends on data"),
        (_, _) if is_access => format!(
            "whether `{text}` on line {line} is used is decided by more than comparisons of sums of loop indices with constant factors"
        ),
        (_, Cause::Data) => format!("`{text}` on line {line}, which decides whether memory is used, depends on data"),
        (_, Cause::Product) => format!(
            "`{text}` on line {line}, which decides whether memory is used, does not compare sums of loop indices with constant factors"
        ),
        (_, Cause::Computed) => format!(
            "`{text}` on line {line}, which decides whether memory is used, is computed in a way that cannot be followed"
        ),
    }
}

/// What takes part in conditions: in their own text, in what their variables are given, and in the conditions under which they are
/// given it.
fn cause(body: &Body, mut open: Vec<TermId>) -> Cause {
    let parents = body.parents();
    let mut seen: FxHashSet<SymbolId> = FxHashSet::default();
    let mut looked_at: FxHashSet<TermId> = FxHashSet::default();
    let mut found = Cause::Computed;
    while let Some(part) = open.pop() {
        if !looked_at.insert(part) {
            continue;
        }
        for x in body.walk(part) {
            match *body.op(x) {
                // the index of a thread, a block's extent
                Op::Member { .. } if is_of_device(body, x) => {}
                Op::Index | Op::Deref | Op::Member { .. } | Op::Call | Op::AddrOf | Op::Reject(_) => {
                    return Cause::Data
                }
                Op::Binary(op) if is_product(body, op, x) => found = Cause::Product,
                Op::Sym(s) if body.symbols[s].device.is_some() => {}
                Op::Sym(s) if !is_number(body, s) => return Cause::Data,
                Op::Sym(s) if seen.insert(s) => {
                    for (at, value) in given(body, s) {
                        open.extend(value);
                        open.extend(conditions_around(body, &parents, at));
                    }
                }
                _ => {}
            }
        }
    }
    found
}

/// Whether what memory holds, or a call returns, takes part in a condition.
pub(crate) fn rests_on_data(body: &Body, condition: TermId) -> bool {
    cause(body, vec![condition]) == Cause::Data
}

/// A part of what the device provides.
fn is_of_device(body: &Body, t: TermId) -> bool {
    let base = body.args(t).first().and_then(|&b| body.as_symbol(b));
    base.is_some_and(|s| body.symbols[s].device.is_some())
}

/// Whether neither factor is a constant, or the divisor is none.
fn is_product(body: &Body, op: BinOp, t: TermId) -> bool {
    let &[a, b] = body.args(t) else { return false };
    match op {
        BinOp::Mul => body.as_int(a).is_none() && body.as_int(b).is_none(),
        BinOp::Div | BinOp::Rem => body.as_int(b).is_none(),
        _ => false,
    }
}

/// A number that is the function's own and that only assignments change.
fn is_number(body: &Body, s: SymbolId) -> bool {
    let symbol = &body.symbols[s];
    matches!(symbol.storage, Storage::Param(_) | Storage::Local)
        && matches!(body.types.kind(symbol.ty), TypeKind::Int(_) | TypeKind::Float(_))
        && !symbol.address_taken
}

/// Where a variable is given a value, and the value, as far as it has a text.
fn given(body: &Body, s: SymbolId) -> Vec<(TermId, Option<TermId>)> {
    let is_it = |place: TermId| body.as_symbol(place) == Some(s);
    let one = |t: TermId| match (body.op(t), body.args(t)) {
        (Op::Declare(d), args) if *d == s => Some((t, args.first().copied())),
        (Op::Assign | Op::Compound(_), &[place, value]) if is_it(place) => Some((t, Some(value))),
        (Op::Step { .. }, &[place]) if is_it(place) => Some((t, None)),
        _ => None,
    };
    body.walk(body.root).filter_map(one).collect()
}

/// The conditions of what stands around a term.
fn conditions_around(body: &Body, parents: &[Option<TermId>], t: TermId) -> Vec<TermId> {
    let up = |t: &TermId| parents.get(t.0 as usize).copied().flatten();
    let condition = |t: TermId| match (body.op(t), body.args(t)) {
        (Op::If | Op::Select | Op::Switch, &[condition, ..]) => Some(condition),
        _ => body.loop_parts(t)?.condition,
    };
    std::iter::successors(up(&t), up).filter_map(condition).collect()
}

/// Whether a condition has the same value in all iterations of the loops around it.
pub(super) fn is_fixed(view: &FunctionView, condition: TermId) -> bool {
    let body = view.body();
    let loads = |t: TermId| {
        matches!(
            body.op(t),
            Op::Index | Op::Deref | Op::Member { .. } | Op::Call | Op::AddrOf | Op::Assign | Op::Compound(_)
        )
    };
    if body.walk(condition).any(loads) {
        return false;
    }
    let span = body.span(condition);
    let Some(around) = body.loops(body.root).find(|&l| body.span(l).contains(span)) else { return false };
    let set = |t: TermId| match (body.op(t), body.args(t)) {
        (Op::Declare(s), _) => Some(*s),
        (Op::Assign | Op::Compound(_) | Op::AddrOf, &[place, ..]) => body.as_symbol(place),
        _ => None,
    };
    let changed: Vec<SymbolId> = body.walk(around).filter_map(set).collect();
    let is_own = |s: SymbolId| matches!(body.symbols[s].storage, Storage::Param(_) | Storage::Local);
    body.walk(condition).all(|t| match body.op(t) {
        Op::Sym(s) => is_own(*s) && !changed.contains(s),
        _ => true,
    })
}
