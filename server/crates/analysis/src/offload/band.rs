//! What a kernel for a loop needs to know: which loops run at once, what memory it touches and how much of it.
//!
//! Extents are exact: the host copies them, so they may not reach one element beyond what the program itself touches.
//! Where only a guess is possible the answer is an obstacle.

use base::Budget;
use term::{Body, Op, Storage, SymbolId, TermId, TypeId, TypeKind};

use crate::classify::scalars::Scalars;
use crate::context::Context;
use crate::flow::effects::is_pure_callee;
use crate::loops::expr_of;
use crate::nest::Access;
use crate::offload::extent::Maker;
use crate::{
    Cells, Condition, Control, Expr, Facts, Final, LoopFacts, LoopId, MetBy, Obstacle, ObstacleKind, Offload,
    Param, Pred, Private, Program, Reduction, Step, Verdict,
};

pub(crate) fn offload(
    body: &Body,
    program: &Program,
    facts: &Facts,
    target: LoopId,
    collapse: Option<u32>,
    budget: &Budget,
) -> Result<Offload, Vec<Obstacle>> {
    let claim = &facts.loops[target];
    match described(body, program, facts, target, collapse, budget) {
        // whatever it did not find out: the steps were too few
        Err(_) if budget.left() == 0 => {
            Err(vec![Obstacle { kind: ObstacleKind::Budget(crate::Work::Extents), term: claim.term }])
        }
        found => found,
    }
}

fn described(
    body: &Body,
    program: &Program,
    facts: &Facts,
    target: LoopId,
    collapse: Option<u32>,
    budget: &Budget,
) -> Result<Offload, Vec<Obstacle>> {
    let claim = &facts.loops[target];
    if !matches!(claim.verdict, Verdict::Independent | Verdict::Reduction) {
        let mut why = claim.obstacles.clone();
        why.extend(
            claim.dependences.iter().take(1).map(|d| Obstacle { kind: ObstacleKind::Unproved, term: d.sink }),
        );
        return Err(why);
    }
    let Ok(control) = &claim.control else {
        return Err(claim.obstacles.clone());
    };
    let fail = |kind: ObstacleKind, term: TermId| Err(vec![Obstacle { kind, term }]);
    if let Step::Term { term, .. } = control.step {
        return fail(ObstacleKind::NotCounted(crate::NotCounted::Step), term);
    }
    if control.pointer {
        return fail(ObstacleKind::UnknownPointer(control.index), claim.term);
    }
    if let Some(walk) = claim.inductions.iter().find(|i| is_pointer(body, body.symbols[i.symbol].ty)) {
        return fail(ObstacleKind::UnknownPointer(walk.symbol), walk.update);
    }
    if let Some(other) = claim.inductions.iter().find(|i| i.step.is_none()) {
        return fail(ObstacleKind::CarriedScalar(other.symbol), other.update);
    }
    // Bounds and accesses are those of the body with small calls written out; what is printed is the body itself.
    let expanded = crate::calls::inline::expand(body, program);
    let whole = expanded.as_ref().map_or(body, |e| &e.body);
    let own_expr = |x: &Expr| expanded.as_ref().is_none_or(|e| e.is_own_expr(x));
    let at_home = |mut why: Vec<Obstacle>| {
        if let Some(e) = &expanded {
            why.iter_mut().for_each(|o| crate::calls::project_facts::obstacle(e, o));
        }
        why
    };
    let own_symbol = |s: SymbolId| expanded.as_ref().map_or(Some(s), |e| e.own_symbol(s));
    let cx = Context::new(whole, program, body.len());
    let mut reading = cx.reading(target.0 as usize, control, budget);
    // Whose rows may overlap shows when the obligations are met; the sets below are made without what they assume.
    let mut met = reading.clone();
    crate::loops::meet_obligations(&mut met, &mut claim.clone());
    if budget.left() == 0 {
        return fail(ObstacleKind::Budget(crate::Work::Extents), claim.term);
    }
    reading.boxes = met.finish().boxes;
    let model = reading.finish();
    let scalars = Scalars::new(&cx, &model, control);
    let band = band(body, &cx.effects.writes_in(claim.term), facts, target, collapse);
    let root = claim.term;
    for l in band.iter().map(|&b| &facts.loops[b]) {
        // What the analysis took for the condition stands in the body as a jump that a kernel cannot make.
        if let Some(exit) = crate::flow::liveness::early_exit(body, l.term) {
            return fail(ObstacleKind::EarlyExit, exit);
        }
        let made_up = |c: TermId| {
            let unbound = l.control.as_ref().is_ok_and(|c| c.bound.is_none());
            unbound && crate::calls::project_facts::is_condition(body, c)
        };
        if let Some(c) = body.loop_parts(l.term).and_then(|p| p.condition).filter(|&c| made_up(c)) {
            return fail(ObstacleKind::NotCounted(crate::NotCounted::Condition), c);
        }
    }

    let mut maker = Maker { model: &model, budget, params: Vec::new() };
    let mut max_trips = Vec::new();
    for &b in &band {
        let l = &facts.loops[b];
        let Some(at) = model.loops.iter().position(|m| m.term == l.term) else {
            return fail(ObstacleKind::Unproved, l.term);
        };
        match maker.max_trips(at) {
            Some(e) if own_expr(&e) => max_trips.push(e),
            _ => return fail(ObstacleKind::NotCounted(crate::NotCounted::Condition), l.term),
        }
    }

    // A single accumulating cell is the kernel's own until the host adds to it. One that is updated in no two iterations
    // is memory like any other: it is not among the claim's reductions.
    let home = |t: TermId| expanded.as_ref().map_or(t, |e| e.home(t));
    let claimed = |r: &Reduction| claim.reductions.iter().any(|c| c.op == r.op && c.place == home(r.place));
    let single = |a: &Access| scalars.group(a).is_some_and(|r| r.cells == Cells::One && claimed(r));
    // What each thread has for itself is no buffer either; of what is not a variable of the function, or is read
    // afterwards, no copy can be made.
    let own = |a: &Access| claim.privates.iter().find(|p| p.symbol == a.base && !p.declared_inside);
    let memory = |s: SymbolId| {
        matches!(body.types.kind(body.symbols[s].ty), TypeKind::Array { .. } | TypeKind::Record(_))
    };
    for p in model.accesses.iter().filter(|a| !scalars.set_aside(a)).filter_map(own) {
        let of_function = matches!(body.symbols[p.symbol].storage, Storage::Local | Storage::Param(_));
        if p.kept || !memory(p.symbol) || !of_function {
            let scalar =
                matches!(body.types.kind(body.symbols[p.symbol].ty), TypeKind::Int(_) | TypeKind::Float(_));
            if !scalar || body.symbols[p.symbol].storage != Storage::Local {
                let why = if p.kept && p.copied_in {
                    ObstacleKind::CopiedBothWays(p.symbol)
                } else {
                    ObstacleKind::LiveOut(p.symbol)
                };
                return fail(why, root);
            }
        }
    }
    // What threads begin with is read by the host to pass it on. A structure may be passed without a value (C11 6.2.6.1p6).
    for p in claim.privates.iter().filter(|p| p.copied_in && !memory(p.symbol)) {
        if cx.liveness().may_be_unset(body, p.symbol) {
            return fail(ObstacleKind::Unset(p.symbol), root);
        }
    }
    let accesses: Vec<&Access> =
        model.accesses.iter().filter(|a| !scalars.set_aside(a) && !single(a) && own(a).is_none()).collect();
    let reduced: Vec<SymbolId> = claim.reductions.iter().map(|r| r.object.symbol).collect();
    let mut bases: Vec<SymbolId> = accesses.iter().map(|a| a.base).collect();
    bases.sort_unstable();
    bases.dedup();
    let mut buffers = Vec::new();
    for base in bases {
        let ty = whole.symbols[base].ty;
        if matches!(whole.types.kind(ty), TypeKind::Int(_) | TypeKind::Float(_))
            || model.declared_inside(base)
        {
            // A scalar reached by name is passed by value or is a reduction.
            let written = accesses.iter().any(|a| a.base == base && a.write);
            if written
                && !own_symbol(base).is_some_and(|b| reduced.contains(&b))
                && !model.declared_inside(base)
            {
                return fail(own_symbol(base).map_or(ObstacleKind::Unproved, ObstacleKind::LiveOut), root);
            }
            continue;
        }
        let mine: Vec<&Access> = accesses.iter().filter(|a| a.base == base).copied().collect();
        // Reading a pointer's own value is not an access of what it points to.
        let mine: Vec<&Access> =
            mine.into_iter().filter(|a| !a.subs.is_empty() || !is_pointer(whole, ty)).collect();
        let Some(first) = mine.first() else { continue };
        let Some(known) = own_symbol(base) else {
            // A constant table goes along with the function; anything else the kernel cannot reach.
            if whole.types.is_constant(ty) && mine.iter().all(|a| !a.write) {
                continue;
            }
            let at = home(first.term);
            let function = body.callee(at);
            let name = whole.symbols[base].name.clone();
            let kind = match function {
                Some(function) => ObstacleKind::Call { function, why: crate::TroubleKind::Global, name },
                None => ObstacleKind::Unproved,
            };
            return fail(kind, at);
        };
        // Rows of separate memory are not copied yet.
        if model.tables.contains(&base) {
            let at = home(first.term);
            return fail(ObstacleKind::UnknownPointer(known), at);
        }
        let mut buffer = maker.buffer(whole, base, &mine).map_err(at_home)?;
        if buffer.extent.as_ref().is_some_and(|(a, b)| !own_expr(a) || !own_expr(b)) {
            let at = home(first.term);
            return fail(ObstacleKind::Unproved, at);
        }
        buffer.symbol = known;
        buffers.push(buffer);
    }

    let band_indices: Vec<SymbolId> =
        band.iter().filter_map(|&b| facts.loops[b].control.as_ref().ok().map(|c| c.index)).collect();
    let mut privates: Vec<Private> =
        claim.privates.iter().filter(|p| !band_indices.contains(&p.symbol)).copied().collect();
    privates.sort_by_key(|p| p.symbol);

    let mut finals = Vec::new();
    if !control.declared_here && cx.liveness().is_live_after(root, control.index) {
        let (Some(lower), Some(trips), Step::Const(step)) =
            (model.loops[0].lower.as_ref(), maker.max_trips(0), &control.step)
        else {
            return fail(ObstacleKind::LiveOut(control.index), root);
        };
        let Some(lower) = expr_of(&model, lower) else {
            return fail(ObstacleKind::LiveOut(control.index), root);
        };
        // The last test moves the index once more where the condition does.
        let mut sum = vec![lower, Expr::Mul(*step, Box::new(trips))];
        if control.shift != 0 {
            sum.push(Expr::Int(control.shift));
        }
        finals.push(Final { symbol: control.index, value: Expr::Add(sum) });
    }
    for i in &claim.inductions {
        if cx.liveness().is_live_after(root, i.symbol) {
            let Some(trips) = maker.max_trips(0) else {
                return fail(ObstacleKind::LiveOut(i.symbol), root);
            };
            let start = Expr::Param(Param::Symbol(i.symbol));
            let Some(step) = i.step else { return fail(ObstacleKind::LiveOut(i.symbol), root) };
            let moved = Expr::Mul(step, Box::new(trips));
            finals.push(Final { symbol: i.symbol, value: Expr::Add(vec![start, moved]) });
        }
    }

    let mut conditions: Vec<Condition> = Vec::new();
    for &b in &band {
        for c in &facts.loops[b].conditions {
            if c.met_by != MetBy::Proof && !conditions.contains(c) {
                conditions.push(c.clone());
            }
        }
    }
    let (inputs, calls) = inputs_and_calls(&cx, root, &|s| own_symbol(s).is_some()).map_err(at_home)?;
    let lanes = match band.len() {
        1 => 0,
        _ => crate::mappings(body, program, facts, &band, &|_| None, gpu::Limits::default().lanes, budget)
            .map_or(band.len() - 1, |m| crate::offload::lane_mapping::best(&m)),
    };
    Ok(Offload {
        band,
        lanes,
        max_trips,
        buffers,
        views: model.views.clone(),
        inputs,
        privates,
        reductions: claim.reductions.clone(),
        inductions: claim.inductions.clone(),
        finals,
        conditions,
        calls,
        threads: None,
    })
}

/// Scalars that the nest only reads, and the functions it calls. `own`: whether a variable is the function's, and not one that
/// came with a call that was written out.
pub(crate) fn inputs_and_calls(
    cx: &Context<'_>,
    root: TermId,
    own: &dyn Fn(SymbolId) -> bool,
) -> Result<(Vec<SymbolId>, Vec<SymbolId>), Vec<Obstacle>> {
    let body = cx.body;
    let written = cx.effects.writes_in(root);
    let mut inputs = Vec::new();
    let mut calls = Vec::new();
    for t in body.walk(root) {
        match body.op(t) {
            Op::Sym(s) => {
                let symbol = &body.symbols[*s];
                let scalar = matches!(body.types.kind(symbol.ty), TypeKind::Int(_) | TypeKind::Float(_));
                let variable = matches!(
                    symbol.storage,
                    Storage::Param(_)
                        | Storage::Local
                        | Storage::StaticLocal
                        | Storage::Global { .. }
                        | Storage::Undeclared
                );
                if scalar && variable && own(*s) && !written.contains(s) && !inputs.contains(s) {
                    // The host would read it to pass it on, even where the loop itself never comes to it.
                    if !symbol.address_taken && cx.liveness().may_be_unset(body, *s) {
                        return Err(vec![Obstacle { kind: ObstacleKind::Unset(*s), term: t }]);
                    }
                    inputs.push(*s);
                }
            }
            Op::Call => {
                if let Some(f) = body.callee(t) {
                    if is_pure_callee(body, f) && !calls.contains(&f) {
                        calls.push(f);
                    }
                }
            }
            _ => {}
        }
    }
    Ok((inputs, calls))
}

fn is_pointer(body: &Body, ty: TypeId) -> bool {
    matches!(body.types.kind(ty), TypeKind::Pointer { .. })
}

/// The target and the loops alone inside it whose iterations also run at once.
fn band(
    body: &Body,
    written: &rustc_hash::FxHashSet<SymbolId>,
    facts: &Facts,
    target: LoopId,
    collapse: Option<u32>,
) -> Vec<LoopId> {
    let most = collapse.unwrap_or(3).clamp(1, 3) as usize;
    let mut band = vec![target];
    let outer = &facts.loops[target];
    // Iterations of a reduction are spread over one loop; its partial results are per thread of that loop.
    let plain = outer.control.as_ref().is_ok_and(Control::is_plain);
    let kept = |l: &LoopFacts| l.privates.iter().any(|p| p.kept);
    if outer.verdict == Verdict::Reduction || !outer.inductions.is_empty() || !plain || kept(outer) {
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
        if l.verdict != Verdict::Independent || !l.inductions.is_empty() || kept(l) {
            break;
        }
        let Ok(c) = &l.control else { break };
        if matches!(c.step, Step::Term { .. }) {
            break;
        }
        // What is declared between the two loops must be private to the inner one as well.
        let private = |s: &SymbolId| *s == c.index || l.privates.iter().any(|p| p.symbol == *s);
        let used_inside = |s: &SymbolId| body.walk(l.term).any(|t| body.as_symbol(t) == Some(*s));
        if !declared.iter().all(|s| private(s) || !used_inside(s)) {
            break;
        }
        // Bounds must be computable from outer indices and fixed values alone, without memory that may be written.
        let plain = |e: TermId| {
            body.walk(e).all(|t| match body.op(t) {
                Op::Sym(s) => {
                    !written.contains(s)
                        || band.iter().any(|&b| facts.loops[b].control.as_ref().is_ok_and(|k| k.index == *s))
                }
                Op::Call | Op::Index | Op::Member { .. } | Op::Deref | Op::AddrOf => false,
                op => !op.is_write(),
            })
        };
        if !c.is_plain() || !plain(c.lower) || !c.bound.is_some_and(plain) {
            break;
        }
        // The host tests the inner loop's conditions before any outer iteration.
        let testable =
            l.conditions.iter().all(|k| k.check.as_ref().is_none_or(|p| pred_is_fixed(p, body, written)));
        if !testable {
            break;
        }
        band.push(next);
    }
    band
}

fn pred_is_fixed(p: &Pred, body: &Body, written: &rustc_hash::FxHashSet<SymbolId>) -> bool {
    match p {
        Pred::True | Pred::False => true,
        Pred::NonNegative(e) | Pred::Zero(e) => expr_is_fixed(e, body, written),
        Pred::And(ps) | Pred::Or(ps) => ps.iter().all(|p| pred_is_fixed(p, body, written)),
        Pred::Not(p) => pred_is_fixed(p, body, written),
    }
}

fn expr_is_fixed(e: &Expr, body: &Body, written: &rustc_hash::FxHashSet<SymbolId>) -> bool {
    match e {
        Expr::Int(_) => true,
        Expr::Param(Param::Symbol(s)) => !written.contains(s),
        Expr::Param(Param::Distance { .. }) => false,
        Expr::Param(Param::Term(t)) => {
            body.walk(*t).all(|x| body.as_symbol(x).is_none_or(|s| !written.contains(&s)))
        }
        Expr::Add(es) | Expr::Min(es) | Expr::Max(es) => es.iter().all(|e| expr_is_fixed(e, body, written)),
        Expr::Mul(_, e) | Expr::FloorDiv(e, _) => expr_is_fixed(e, body, written),
        Expr::Product(a, b) => expr_is_fixed(a, body, written) && expr_is_fixed(b, body, written),
        Expr::Select(p, a, b) => {
            pred_is_fixed(p, body, written)
                && expr_is_fixed(a, body, written)
                && expr_is_fixed(b, body, written)
        }
    }
}
