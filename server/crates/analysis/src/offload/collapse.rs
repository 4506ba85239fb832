//! Which loops of a nest run at once: the outermost, and those alone inside it.

use rustc_hash::FxHashSet;
use term::{Body, Op, SymbolId, TermId};

use super::own_cells::holders;
use crate::{
    Condition, ConditionKind, Control, Expr, Facts, Holders, LoopFacts, LoopId, Param, Pred, Reduction,
    ReductionOp, Step, Verdict,
};

/// The target and the loops alone inside it whose iterations also run at once.
pub(super) fn band(
    body: &Body,
    written: &FxHashSet<SymbolId>,
    facts: &Facts,
    target: LoopId,
    collapse: Option<u32>,
) -> Vec<LoopId> {
    let most = collapse.unwrap_or(3).clamp(1, 3) as usize;
    let mut band = vec![target];
    let outer = &facts.loops[target];
    // Iterations of a reduction are spread over one loop; its partial results are per thread of that loop.
    let plain = outer.control.as_ref().is_ok_and(Control::is_plain);
    if sums(body, outer) || !outer.inductions.is_empty() || !plain || keeps(body, outer) {
        return band;
    }
    while band.len() < most {
        let Some(&last) = band.last() else { break };
        let Some(inner) = body.loop_parts(facts.loops[last].term).map(|p| p.body) else { break };
        let statements: Vec<TermId> = body
            .args(inner)
            .iter()
            .copied()
            .filter(|&t| {
                // A declaration without initialiser may go inside.
                let idle = matches!(body.op(t), Op::Empty)
                    || (matches!(body.op(t), Op::Declare(_)) && body.args(t).is_empty());
                !idle
            })
            .collect();
        let declared: Vec<SymbolId> = body
            .args(inner)
            .iter()
            .filter_map(|&t| match body.op(t) {
                Op::Declare(s) => Some(*s),
                _ => None,
            })
            .collect();
        let [only] = statements[..] else { break };
        let Some(next) = facts.of_term(only) else { break };
        let l = &facts.loops[next];
        let at_once = matches!(l.verdict, Verdict::Independent | Verdict::Reduction) && !sums(body, l);
        if !at_once || !l.inductions.is_empty() || keeps(body, l) {
            break;
        }
        let Ok(c) = &l.control else { break };
        let left = left(l);
        if left != self::left(outer) || !left.is_empty() && !is_rectangular(body, facts, &band, c) {
            break;
        }
        if matches!(c.step, Step::Term { .. }) {
            break;
        }
        // What is declared between the two loops must be private to the inner one as well.
        let private = |s: &SymbolId| *s == c.index || l.privates.iter().any(|p| p.symbol == *s);
        let used_inside = |s: &SymbolId| body.walk(l.term).any(|t| body.as_symbol(t) == Some(*s));
        if !declared.iter().all(|s| private(s) || !used_inside(s)) {
            break;
        }
        // Bounds must be computable from outer indices and fixed values alone, without memory that may be written. A member that the head
        // of a loop reads in each iteration is written in none: iterations that run at once would meet there.
        let is_member = |t: TermId| {
            let of = body.args(t).first();
            of.is_some_and(|&of| matches!(body.op(of), Op::Sym(_) | Op::Member { .. }))
        };
        let plain = |e: TermId| {
            body.walk(e).all(|t| match body.op(t) {
                Op::Sym(s) => {
                    !written.contains(s)
                        || band.iter().any(|&b| facts.loops[b].control.as_ref().is_ok_and(|k| k.index == *s))
                }
                Op::Member { .. } => is_member(t),
                Op::Call | Op::Index | Op::Deref | Op::AddrOf => false,
                op => !op.is_write(),
            })
        };
        if !c.is_plain() || !plain(c.lower) || !c.bound.is_some_and(plain) {
            break;
        }
        // The host tests the inner loop's conditions before any outer iteration.
        let asked = l.conditions.iter().filter(|k| !is_asked_before(body, outer, k));
        let testable =
            asked.into_iter().all(|k| k.check.as_ref().is_none_or(|p| pred_is_fixed(p, body, written)));
        if !testable {
            break;
        }
        band.push(next);
    }
    band
}

/// Whether a subscript of a loop inside is known to stay inside, or looked at, for all iterations of the loop around it: what throws
/// is asked of everything that runs in that (C#).
pub(super) fn is_asked_before(body: &Body, outer: &LoopFacts, inner: &Condition) -> bool {
    let ConditionKind::Bounds { access, .. } = inner.kind else { return false };
    let same =
        |c: &Condition| matches!(c.kind, ConditionKind::Bounds { access: a, .. } if body.same(a, access));
    body.semantics.checked_bounds && outer.conditions.iter().any(same)
}

/// Whether the cells of an object are each iteration's own, and what the last one leaves is the object's: of several loops the last
/// iteration of all.
fn has_cells(body: &Body, l: &LoopFacts, s: SymbolId) -> bool {
    holders(body, l, s) == Holders::EachButLast
}

/// Whether something else that an iteration has for itself is read after the loop.
fn keeps(body: &Body, l: &LoopFacts) -> bool {
    l.privates.iter().any(|p| p.kept && !has_cells(body, l, p.symbol))
}

/// Whether iterations put something together.
fn sums(body: &Body, l: &LoopFacts) -> bool {
    let is_last = |r: &Reduction| r.op == ReductionOp::Last && has_cells(body, l, r.object.symbol);
    !l.reductions.iter().all(is_last)
}

/// What the last iteration leaves.
fn left(l: &LoopFacts) -> Vec<SymbolId> {
    let mut all: Vec<_> = l.privates.iter().filter(|p| p.kept).map(|p| p.symbol).collect();
    all.sort_unstable();
    all
}

/// Whether a loop has a last iteration whatever those of the band are at.
fn is_rectangular(body: &Body, facts: &Facts, band: &[LoopId], c: &Control) -> bool {
    let of_outer = |t: TermId| {
        let mut indices = band.iter().filter_map(|&b| facts.loops[b].control.as_ref().ok()).map(|k| k.index);
        body.walk(t).filter_map(|t| body.as_symbol(t)).any(|s| indices.any(|i| i == s))
    };
    !of_outer(c.lower) && !c.bound.is_some_and(of_outer)
}

fn pred_is_fixed(p: &Pred, body: &Body, written: &FxHashSet<SymbolId>) -> bool {
    match p {
        Pred::True | Pred::False => true,
        Pred::NonNegative(e) | Pred::Zero(e) => expr_is_fixed(e, body, written),
        Pred::And(ps) | Pred::Or(ps) => ps.iter().all(|p| pred_is_fixed(p, body, written)),
        Pred::Not(p) => pred_is_fixed(p, body, written),
    }
}

fn expr_is_fixed(e: &Expr, body: &Body, written: &FxHashSet<SymbolId>) -> bool {
    match e {
        Expr::Int(_) => true,
        Expr::Param(Param::Symbol(s)) => !written.contains(s),
        Expr::Param(Param::Distance { .. } | Param::Row(_) | Param::Longest(_) | Param::End { .. }) => false,
        Expr::Param(Param::Term(t)) => {
            body.walk(*t).all(|x| body.as_symbol(x).is_none_or(|s| !written.contains(&s)))
        }
        Expr::Add(es) | Expr::Min(es) | Expr::Max(es) => es.iter().all(|e| expr_is_fixed(e, body, written)),
        Expr::Mul(_, e) | Expr::FloorDiv(e, _) => expr_is_fixed(e, body, written),
        Expr::Product(a, b) | Expr::Quotient(a, b) => {
            expr_is_fixed(a, body, written) && expr_is_fixed(b, body, written)
        }
        Expr::Select(p, a, b) => {
            pred_is_fixed(p, body, written)
                && expr_is_fixed(a, body, written)
                && expr_is_fixed(b, body, written)
        }
    }
}
