//! What becomes of the user's promises: which of them the facts of a loop rest on, and which do not hold.

use rustc_hash::FxHashSet;
use term::{Len, Op, Promised, TypeKind};

use crate::algebra::poly::{Poly, Var};
use crate::context::Context;
use crate::flow::called::Callees;
use crate::flow::counted_loop::constant;
use crate::flow::parts::base_symbol;
use crate::nest::{condition_of, AffineAccess, Model};
use crate::{LoopFacts, MetBy, PromiseFacts, PromiseFate};

/// Lists the promises that the facts rest on among their conditions. Whoever found something out by one has noted that; of
/// ranges and sizes it is said here: they bound what inexact accesses touch.
pub(super) fn note_used(
    cx: &Context<'_>,
    model: &Model<'_>,
    accesses: &[AffineAccess],
    facts: &mut LoopFacts,
) {
    let body = cx.body;
    if body.said.promises.is_empty() {
        return;
    }
    for v in loaded(model, accesses) {
        model.promises.bounds(&model.vars, v);
    }
    for a in accesses.iter().filter(|a| a.why.is_some() || !a.domain.exact) {
        if let Some(size) = model.promises.size(a.base) {
            model.promises.rest_on(size.number);
        }
    }
    for (number, p) in body.promises(model.root) {
        let Promised::Pure(f) = p.says else { continue };
        let calls = body.walk(model.root).filter(|&t| *body.op(t) == Op::Call && body.callee(t) == Some(f));
        if calls.into_iter().any(|t| cx.program.called(body, t).is_none()) {
            model.promises.rest_on(number);
        }
    }
    for number in model.promises.used() {
        if let Some(kind) = condition_of(body, number) {
            // tables and pairs are listed by the names that the loop has for them
            if !facts.conditions.iter().any(|c| c.met_by == MetBy::Assumed && c.kind == kind) {
                facts.note(kind, MetBy::Assumed, None);
            }
        }
    }
}

/// Elements of which something is promised that accesses or their domains are made of.
fn loaded(model: &Model<'_>, accesses: &[AffineAccess]) -> FxHashSet<Var> {
    let mut found: FxHashSet<Var> = FxHashSet::default();
    let mut todo: Vec<&Poly> = Vec::new();
    for a in accesses {
        todo.extend(a.subs.iter().filter_map(|s| s.value.as_ref()));
        todo.extend(a.domain.pieces.iter().flatten().map(|c| &c.poly));
    }
    while let Some(p) = todo.pop() {
        for v in p.vars() {
            if let Some(l) = model.vars.loads.get(&v) {
                if found.insert(v) {
                    todo.extend(&l.subscripts);
                }
            }
        }
    }
    found
}

/// What became of each promise that counts for the loop. `facts` are concluded.
pub(super) fn fates(cx: &Context<'_>, model: &Model<'_>, facts: &LoopFacts) -> Vec<PromiseFacts> {
    let body = cx.body;
    let used = model.promises.used();
    let fate = |number: usize, says: &Promised| {
        refuted(cx, facts, says).unwrap_or(match used.contains(&number) {
            true => PromiseFate::Used,
            false => PromiseFate::Unused,
        })
    };
    body.promises(model.root)
        .map(|(number, p)| PromiseFacts { number, fate: fate(number, &p.says) })
        .collect()
}

fn refuted(cx: &Context<'_>, facts: &LoopFacts, says: &Promised) -> Option<PromiseFate> {
    let body = cx.body;
    match *says {
        Promised::NoAlias(a, b) => {
            let (a, b) = (body.array_symbol(a)?, body.array_symbol(b)?);
            let shown = facts.dependences.iter().filter(|d| d.witness.is_some());
            let between = |x, y| {
                let (x, y) = (base_symbol(body, x), base_symbol(body, y));
                a != b && ((x, y) == (Some(a), Some(b)) || (x, y) == (Some(b), Some(a)))
            };
            let met = shown.into_iter().find(|d| between(d.source, d.sink))?;
            Some(PromiseFate::Meet { source: met.source, sink: met.sink })
        }
        Promised::Size { array, length } => {
            let TypeKind::Array { len: Len::Const(n), .. } = *body.types.kind(body.ty(array)) else {
                return None;
            };
            let promised = constant(body, length)?;
            (promised > i128::from(n)).then_some(PromiseFate::Declared(n))
        }
        Promised::Pure(f) => {
            // small functions are written out where they are called, so that no call may be left
            let known = cx.program.function(&body.symbols[f].name)?;
            (!known.summary.is_pure()).then_some(PromiseFate::NotPure)
        }
        _ => None,
    }
}
