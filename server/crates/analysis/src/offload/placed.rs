//! `if (a[i] < a[k]) k = i;`: the cells that `a[k]` reads are those that `a[i]` does, and the one that `k` names before the loop.
//! Deliberately absent: whether the loop is such a reduction ([`crate::classify::extremes`]), and which iteration reads which of them:
//! what is copied does not depend on it.

use base::IndexId;
use term::{Body, Op, SymbolId, TermId};

use crate::algebra::poly::{Constraint, Domain, Poly};
use crate::classify::extremes::{extremes, Extreme};
use crate::classify::reductions::Looked;
use crate::classify::scalars::{Placed, Scalars};
use crate::context::Context;
use crate::flow::liveness::leaves_early;
use crate::nest::{AffineAccess, Model};
use crate::Step;

/// Puts cells that are known in the place of those that such a variable names, in the root and in loops inside it that begin with a
/// number.
pub(super) fn settle(cx: &Context<'_>, model: &mut Model<'_>, scalars: &Scalars) {
    for p in &scalars.placed {
        let Some(named) = model.body.as_symbol(p.place) else { continue };
        let before = Poly::var(model.entry_value(named));
        if let Some(all) = settled(model, p, 0, &before) {
            model.accesses = all;
        }
    }
    let inner: Vec<(usize, TermId)> = model.loops.iter().map(|l| l.term).enumerate().skip(1).collect();
    for (l, t) in inner {
        for (p, before) in placed_inside(cx, model, t) {
            if let Some(all) = settled(model, &p, l, &Poly::constant(before)) {
                model.accesses = all;
            }
        }
    }
}

/// Such extremes of a loop in the root, with the numbers that their variables begin with.
fn placed_inside(cx: &Context<'_>, model: &Model<'_>, t: TermId) -> Vec<(Placed, i128)> {
    let body = model.body;
    let Some(parts) = body.loop_parts(t) else { return Vec::new() };
    let inner = parts.body;
    if leaves_early(body, inner) {
        return Vec::new();
    }
    let moving = model.effects.writes_in(t);
    let number = |e: &Extreme| -> Option<(Placed, i128)> {
        let ((own, other), [kept]) = (e.cell?, &e.kept[..]) else { return None };
        let named = body.as_symbol(kept.place).filter(|&s| body.symbols[s].is_own_scalar())?;
        let compares =
            matches!(body.op(*body.args(e.statement).first()?), Op::Binary(op) if op.is_comparison());
        let always = e.statement == inner || body.args(inner).contains(&e.statement);
        let mut symbols = body.walk(own).filter_map(|x| body.as_symbol(x));
        let fixed = symbols.all(|s| s == named || !moving.contains(&s));
        let uses = body.walk(t).filter(|&x| body.as_symbol(x) == Some(named)).count();
        let alone = uses == kept.occurrences.len();
        let before = number_before(cx, body, t, named)?;
        (compares && always && fixed && alone).then_some((Placed { place: kept.place, own, other }, before))
    };
    extremes(&Looked { body, program: cx.program }, inner).iter().filter_map(number).collect()
}

/// The number that a variable surely holds where a loop begins: the statement nearest before it that names the variable sets it so.
fn number_before(cx: &Context<'_>, body: &Body, t: TermId, s: SymbolId) -> Option<i128> {
    let parent =
        cx.effects.parents().get(t.index()).copied().flatten().filter(|&p| *body.op(p) == Op::List)?;
    let before = body.args(parent).iter().take_while(|&&a| a != t);
    let names = |b: TermId| {
        body.walk(b).any(|x| {
            let leads_in = matches!(body.op(x), Op::Label(_) | Op::Case | Op::Default | Op::Reject(_));
            body.as_symbol(x) == Some(s) || *body.op(x) == Op::Declare(s) || leads_in
        })
    };
    let nearest = before.copied().filter(|&b| names(b)).last()?;
    match (body.op(nearest), body.args(nearest)) {
        (Op::Declare(d), &[value]) if *d == s => body.as_int(value),
        (Op::Assign, &[place, value]) if body.as_symbol(place) == Some(s) => body.as_int(value),
        _ => None,
    }
}

/// The accesses with those in `p.own` replaced, where the variable holds `before` when loop `l` of the model begins; `None`: something
/// of it is not known.
fn settled(model: &mut Model<'_>, p: &Placed, l: usize, before: &Poly) -> Option<Vec<AffineAccess>> {
    let body = model.body;
    let named = body.as_symbol(p.place)?;
    let of = model.loops.get(l)?;
    let (index, value) = of.index.clone()?;
    let iteration = of.iteration.clone()?;
    let counter = of.var;
    if !matches!(of.control.as_ref()?.step, Step::Const(1 | -1)) {
        return None;
    }
    if !body.walk(p.other).any(|t| body.as_symbol(t) == Some(index)) {
        return None;
    }
    // the counter for which the index is what the variable holds
    let sign = value.coefficient(counter);
    let rest = value.replaced(counter, &Poly::default())?;
    if !matches!(sign, 1 | -1) {
        return None;
    }
    let at = before.sub(&rest)?.scale(sign)?;
    let first = Domain::of(Constraint::zero(iteration));
    let mut out = Vec::new();
    for a in &model.accesses.clone() {
        let Some(with) = counterpart(body, p, named, a.term) else {
            out.push(a.clone());
            continue;
        };
        let with: Vec<AffineAccess> = model.accesses.iter().filter(|b| b.term == with).cloned().collect();
        let unlike = |b: &AffineAccess| b.base != a.base || b.flat.is_some() || b.loops != a.loops;
        if with.is_empty() || a.write || with.iter().any(unlike) {
            return None;
        }
        for b in with {
            let mut moved = AffineAccess { domain: b.domain.and(&first), term: a.term, ..b };
            for s in &mut moved.subs {
                let there = s.value.as_ref()?.replaced(counter, &at)?;
                s.value = Some(model.vars.linear(&there)?);
            }
            out.push(moved);
        }
    }
    Some(out)
}

/// Of a term of `own` that `named` occurs in, the term of `other` in its place.
fn counterpart(body: &Body, p: &Placed, named: SymbolId, t: TermId) -> Option<TermId> {
    let mut pairs = vec![(p.own, p.other)];
    while let Some((x, y)) = pairs.pop() {
        if x == t {
            let mentions = body.walk(x).any(|u| body.as_symbol(u) == Some(named));
            return (mentions && body.as_symbol(x).is_none()).then_some(y);
        }
        pairs.extend(body.args(x).iter().copied().zip(body.args(y).iter().copied()));
    }
    None
}
