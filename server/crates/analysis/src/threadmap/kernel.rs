//! What a kernel that runs a nest by its thread map needs to know: memory, values, and the code of one thread.

use base::Budget;
use term::{Body, Op, SymbolId, TermId, TypeKind};

use super::scan::thread_code;
use super::{context, find};
use crate::context::Context;
use crate::loops::expr_of;
use crate::nest::AffineAccess;
use crate::offload::band::inputs_and_calls;
use crate::offload::extent::Maker;
use crate::{
    Buffer, Condition, Expr, Facts, Final, LoopId, MetBy, Obstacle, ObstacleKind, Offload, Private, Program,
    Step,
};

pub(crate) fn offload(
    body: &Body,
    program: &Program,
    facts: &Facts,
    target: LoopId,
    budget: &Budget,
) -> Result<Offload, Vec<Obstacle>> {
    let cx = context(body, program, facts, target, budget)?;
    let found = find(&cx, facts, target, budget)?;
    let map = found.describe(budget)?;
    let model = &found.model;
    let root = model.root;
    let code = match thread_code(&found, budget) {
        Ok(Some(code)) => code,
        Err(poly::Error::Spent | poly::Error::Cancelled) => {
            return fail(ObstacleKind::Budget(crate::Work::Extents), root)
        }
        _ => return fail(ObstacleKind::Unproved, root),
    };
    // Each thread has its own temporaries; what is more than a scalar would need memory of its own.
    let mut privates: Vec<Private> = Vec::new();
    for p in &found.nest.privates {
        let scalar =
            matches!(body.types.kind(body.symbols[p.symbol].ty), TypeKind::Int(_) | TypeKind::Float(_));
        if !scalar {
            let term = found.nest.statements[p.mentions[0]].term;
            return fail(ObstacleKind::UnknownPointer(p.symbol), term);
        }
        let declared_inside = model.declared_inside(p.symbol);
        privates.push(Private { symbol: p.symbol, declared_inside, kept: false, copied_in: false });
    }
    let mut maker = Maker { model, budget, params: Vec::new() };
    let accesses = found.nest.accesses.iter().map(|(_, a)| a).chain(&found.nest.outside);
    let accesses: Vec<&AffineAccess> = accesses.collect();
    let apart = crate::loops::aliases::apart(&cx, root, &accesses, &|s| Some(s));
    let buffers = buffers(body, accesses, &mut maker)?;
    let finals = finals(&cx, &mut maker)?;
    // A temporary is dead after the loop it belongs to, and so after the nest.
    for t in body.walk(root) {
        let Op::Declare(s) = body.op(t) else { continue };
        let local = matches!(body.symbols[*s].storage, term::Storage::Local);
        if !local {
            return fail(ObstacleKind::NotUnderstood, t);
        }
    }
    let conditions: Vec<Condition> =
        map.conditions.iter().filter(|c| c.met_by != MetBy::Proof).cloned().collect();
    if let Some(c) = conditions.iter().find(|c| c.met_by == MetBy::User) {
        return fail(ObstacleKind::NeedsPromise(c.kind.clone()), root);
    }
    let (inputs, calls) = inputs_and_calls(&cx, root, &|_| true)?;
    Ok(Offload {
        band: vec![target],
        lanes: 0,
        max_trips: map.extents,
        apart,
        buffers,
        views: model.objects.views.clone(),
        walks: Vec::new(),
        inputs,
        privates,
        reductions: Vec::new(),
        inductions: Vec::new(),
        finals,
        conditions,
        calls,
        threads: Some(code),
    })
}

fn fail<T>(kind: ObstacleKind, term: TermId) -> Result<T, Vec<Obstacle>> {
    Err(vec![Obstacle { kind, term }])
}

/// What must be copied of the memory that is accessed, object by object.
fn buffers(
    body: &Body,
    accesses: Vec<&AffineAccess>,
    maker: &mut Maker<'_, '_>,
) -> Result<Vec<Buffer>, Vec<Obstacle>> {
    let mut bases: Vec<SymbolId> = accesses.iter().map(|a| a.base).collect();
    bases.sort_unstable();
    bases.dedup();
    let mut buffers = Vec::new();
    for base in bases {
        let ty = body.symbols[base].ty;
        let is_pointer = matches!(body.types.kind(ty), TypeKind::Pointer { .. });
        let mut mine: Vec<&AffineAccess> = accesses.iter().filter(|a| a.base == base).copied().collect();
        if matches!(body.types.kind(ty), TypeKind::Int(_) | TypeKind::Float(_)) {
            if let Some(w) = mine.iter().find(|a| a.write) {
                return fail(ObstacleKind::LiveOut(base), w.term);
            }
            continue;
        }
        mine.retain(|a| !a.subs.is_empty() || !is_pointer);
        if !mine.is_empty() {
            buffers.push(maker.buffer(body, base, &mine)?);
        }
    }
    Ok(buffers)
}

/// What indices hold afterwards, where they are read.
fn finals(cx: &Context<'_>, maker: &mut Maker<'_, '_>) -> Result<Vec<Final>, Vec<Obstacle>> {
    let model = maker.model;
    let mut finals: Vec<Final> = Vec::new();
    for (k, l) in model.loops.iter().enumerate() {
        let Some(c) = &l.control else { continue };
        let is_live = || cx.liveness().is_live_after(model.root, c.index);
        if c.declared_here || model.declared_inside(c.index) || !is_live() {
            continue;
        }
        let lower = l.lower.as_ref().and_then(|p| expr_of(model, p));
        match (k, lower, maker.max_trips(0), &c.step) {
            (0, Some(lower), Some(trips), Step::Const(step)) => {
                let value = Expr::Add(vec![lower, Expr::Mul(*step, Box::new(trips))]);
                finals.push(Final { symbol: c.index, value });
            }
            _ => return fail(ObstacleKind::LiveOut(c.index), l.term),
        }
    }
    Ok(finals)
}
