//! Why a subscript says too little of what iterations touch.

use term::{BinOp, Op, SymbolId, TermId};

use super::functions::subscript;
use super::obstacles::ObstacleWords;
use crate::function_view::FunctionView;

/// A subscript, or the end of a loop (`ends`), that is no sum of loop indices.
pub(super) fn not_affine(view: &FunctionView, t: TermId, ends: bool) -> ObstacleWords {
    let line = view.line(t);
    let (reason, remedy) = if ends {
        (
            format!(
                "where the loop on line {line} ends, `{}`, is not a sum of variables with constant factors",
                view.text(t)
            ),
            "Give its end a variable of its own before the loop.",
        )
    } else if multiplies_variables(view, t) {
        let what = subscript(view, t, line);
        (format!("{what} is made of products of several variables, which were not taken apart"), "")
    } else {
        let what = subscript(view, t, line);
        (
            format!("{what} is not a sum of loop indices with constant factors"),
            "Write the subscript as `a*i + b`, or use an array of more dimensions.",
        )
    };
    ObstacleWords { kind: "non-affine-subscript", reason, remedy: remedy.to_owned() }
}

/// Of a term that is where a loop begins or ends: that a subscript of what the loop writes comes out of memory itself.
pub(super) fn scattered(view: &FunctionView, t: TermId) -> Option<String> {
    let at = scatters(view, t)?;
    Some(format!(
        "{} comes out of memory and may have the same value twice",
        subscript(view, at, view.line(at))
    ))
}

/// Whether a subscript, or what the variable that it is was set to, is all sums and products, and multiplies variables by one another.
fn multiplies_variables(view: &FunctionView, t: TermId) -> bool {
    let body = view.body();
    let subscript = match body.op(t) {
        Op::Index => body.args(t).get(1).copied().unwrap_or(t),
        _ => t,
    };
    // of two counters no factor is fixed
    let counters: Vec<SymbolId> =
        view.facts.loops.iter().filter_map(|l| l.control.as_ref().ok()).map(|c| c.index).collect();
    let counts = |t: TermId| body.walk(t).any(|x| body.as_symbol(x).is_some_and(|s| counters.contains(&s)));
    let (mut open, mut multiplies) = (vec![subscript], false);
    let mut left = 64;
    while let Some(x) = open.pop() {
        left -= 1;
        match body.op(x) {
            _ if left == 0 => return false,
            Op::Sym(s) if x == subscript => open.extend(body.only_value(*s)),
            Op::Sym(_) | Op::Int(_) | Op::Member { .. } => {}
            Op::Binary(BinOp::Mul) if body.args(x).iter().all(|&a| counts(a)) => return false,
            Op::Binary(BinOp::Mul) => {
                multiplies |= body.args(x).iter().all(|&a| body.constant(a).is_none());
                open.extend(body.args(x));
            }
            Op::Binary(BinOp::Add | BinOp::Sub) | Op::Cast | Op::Arithmetic(_) => open.extend(body.args(x)),
            _ => return false,
        }
    }
    multiplies
}

/// Of a term that is where a loop begins or ends: a subscript of what that loop writes that comes out of memory itself, so that where
/// the loop begins is not what matters.
fn scatters(view: &FunctionView, t: TermId) -> Option<TermId> {
    let body = view.body();
    let header = |l: &TermId| {
        let parts = body.loop_parts(*l)?;
        let mut all = [parts.init, parts.condition].into_iter().flatten();
        all.any(|p| body.walk(p).any(|x| x == t)).then_some(parts.body)
    };
    let inside = body.loops(body.root).find_map(|l| header(&l))?;
    let is_load = |x: TermId| matches!(body.op(x), Op::Index | Op::Deref);
    let is_loaded = |x: TermId| match body.as_symbol(x) {
        None => is_load(x),
        Some(s) => {
            let value = body.only_value(s).filter(|&v| is_load(v));
            value.is_some_and(|v| body.walk(inside).any(|x| x == v))
        }
    };
    let places =
        body.walk(inside).filter(|&w| body.op(w).is_write()).filter_map(|w| body.args(w).first().copied());
    let mut subscripts =
        places.filter(|&p| *body.op(p) == Op::Index).filter_map(|p| body.args(p).get(1).copied());
    subscripts.find(|&x| is_loaded(x))
}
