//! Names for what a loop that is not parallel as it stands computes: prefix sums, linear recurrences, searches,
//! packing, and variables that hold the value of the iteration before. Names only: no verdict rests on them.

use rustc_hash::FxHashMap;
use term::{BinOp, Body, Op, SymbolId, TermId};

use crate::classify::reductions::{reads, updates};
use crate::flow::effects::Effects;
use crate::flow::liveness::early_exit;
use crate::{DependenceKind, LoopFacts, Object, Recurrence, RecurrenceKind, ReductionOp, Verdict};

/// What can be named in a loop that is not parallel.
pub(crate) fn recurrences(body: &Body, effects: &Effects<'_>, l: &LoopFacts) -> Vec<Recurrence> {
    let mut out = Vec::new();
    if *body.op(l.term) != Op::For || matches!(l.verdict, Verdict::Independent | Verdict::Reduction) {
        return out;
    }
    let Some(&inner) = body.args(l.term).get(3) else { return out };
    let plain = |s: SymbolId| Object { symbol: s, fields: Vec::new() };
    if let Some(found) = search(body, l.term, inner) {
        out.push(Recurrence { kind: RecurrenceKind::Search, object: None, term: found });
    }
    scans_of_scalars(body, l.term, inner, &mut |s, op, exclusive, term| {
        let kind = RecurrenceKind::Scan { op, exclusive };
        out.push(Recurrence { kind, object: Some(plain(s)), term });
    });
    for d in l.dependences.iter().filter(|d| d.kind == DependenceKind::Flow && d.witness.is_some()) {
        let distance = d.distance.first().copied().flatten();
        let known = out.iter().any(|r| r.object.as_ref() == Some(&d.object));
        if let (Some(distance), false) = (distance, known) {
            if let Some(kind) = chain_of_cells(body, inner, d.source, d.sink, distance) {
                out.push(Recurrence { kind, object: Some(d.object.clone()), term: d.source });
            }
        }
    }
    for (counter, array, term) in packings(body, effects, l.term, inner) {
        let object = Some(plain(array));
        out.push(Recurrence { kind: RecurrenceKind::Packing { counter }, object, term });
    }
    for (s, term) in wrap_arounds(body, effects, l.term, inner) {
        if !out.iter().any(|r| r.object.as_ref() == Some(&plain(s))) {
            out.push(Recurrence { kind: RecurrenceKind::WrapAround, object: Some(plain(s)), term });
        }
    }
    out
}

/// A counted loop that does nothing but look, and leaves when it has found: `if (a[i] == x) break;`
fn search(body: &Body, root: TermId, inner: TermId) -> Option<TermId> {
    let exit = early_exit(body, root)?;
    if !matches!(body.op(exit), Op::Break | Op::Return) {
        return None;
    }
    // Everything written is written on the way out.
    let mut stack = vec![inner];
    while let Some(t) = stack.pop() {
        let leaves = |b: TermId| {
            let last = match body.op(b) {
                Op::List => body.args(b).last().copied().unwrap_or(b),
                _ => b,
            };
            matches!(body.op(last), Op::Break | Op::Return)
        };
        match body.op(t) {
            Op::If => {
                let args = body.args(t);
                stack.push(args[0]);
                stack.extend(args[1..].iter().filter(|&&b| !leaves(b)));
            }
            Op::Call => return None,
            op if op.is_write() => return None,
            _ => stack.extend(body.args(t)),
        }
    }
    Some(exit)
}

/// How often each variable is written under a term, and where first.
fn writes_by_variable(body: &Body, t: TermId) -> FxHashMap<SymbolId, (usize, TermId)> {
    let mut out: FxHashMap<SymbolId, (usize, TermId)> = FxHashMap::default();
    for (t, s) in body.walk(t).filter_map(|t| Some((t, crate::flow::effects::written(body, t)?))) {
        out.entry(s).or_insert((0, t)).0 += 1;
    }
    out
}

/// `s += a[i]; b[i] = s;`: one accumulation an iteration, whose value is looked at before or after.
fn scans_of_scalars(
    body: &Body,
    root: TermId,
    inner: TermId,
    found: &mut dyn FnMut(SymbolId, ReductionOp, bool, TermId),
) {
    let all = updates(body, inner);
    let mut updated: FxHashMap<SymbolId, usize> = FxHashMap::default();
    for s in all.iter().filter_map(|u| body.as_symbol(u.place)) {
        *updated.entry(s).or_default() += 1;
    }
    let writes = if all.is_empty() { FxHashMap::default() } else { writes_by_variable(body, root) };
    for u in &all {
        let Some(s) = body.as_symbol(u.place) else { continue };
        if updated.get(&s) != Some(&1) || writes.get(&s).is_none_or(|w| w.0 != 1) {
            continue;
        }
        if *body.op(inner) != Op::List || !body.args(inner).contains(&u.statement) {
            continue;
        }
        let statements = body.args(inner);
        let Some(at) = statements.iter().position(|&t| t == u.statement) else { continue };
        let before = statements[..at].iter().any(|&t| reads(body, t, s));
        let after = statements[at + 1..].iter().any(|&t| reads(body, t, s));
        if before != after {
            found(s, u.op, before, u.statement);
        }
    }
}

/// `a[i] = a[i-1] + b[i]`, `x[i] = c[i]*x[i-1] + d[i]`: how the value read enters the value written.
fn chain_of_cells(
    body: &Body,
    inner: TermId,
    source: TermId,
    sink: TermId,
    distance: i128,
) -> Option<RecurrenceKind> {
    let statement = body.walk(inner).find(|&t| {
        matches!(body.op(t), Op::Assign | Op::Compound(_)) && body.args(t).first() == Some(&source)
    })?;
    let value = *body.args(statement).get(1)?;
    let mut at = value;
    let (mut sums, mut products) = (false, false);
    let mut extreme = None;
    match body.op(statement) {
        Op::Compound(BinOp::Add | BinOp::Sub) => sums = true,
        Op::Compound(BinOp::Mul) => products = true,
        Op::Compound(_) => return None,
        _ => {}
    }
    while !body.same(at, sink) || at != sink {
        let args = body.args(at);
        let holds = |t: &TermId| body.walk(*t).any(|x| x == sink);
        match body.op(at) {
            Op::Binary(op @ (BinOp::Add | BinOp::Sub | BinOp::Mul)) => {
                sums |= *op != BinOp::Mul;
                products |= *op == BinOp::Mul;
                at = *args.iter().find(|t| holds(t))?;
            }
            Op::Cast => at = args[0],
            Op::Call => {
                let name = body.as_symbol(args[0]).map(|f| body.symbols[f].name.to_string())?;
                extreme = Some(match name.as_str() {
                    "fmin" | "fminf" => ReductionOp::Min,
                    "fmax" | "fmaxf" => ReductionOp::Max,
                    _ => return None,
                });
                at = *args[1..].iter().find(|t| holds(t))?;
            }
            _ => return None,
        }
    }
    let scan = |op| Some(RecurrenceKind::Scan { op, exclusive: false });
    match (sums, products, extreme, distance) {
        (true, false, None, 1) => scan(ReductionOp::Add),
        (false, true, None, 1) => scan(ReductionOp::Mul),
        (false, false, Some(op), 1) => scan(op),
        (_, _, None, d) if sums || products => Some(RecurrenceKind::Linear { distance: d }),
        _ => None,
    }
}

/// `if (c) b[j++] = a[i];`: the counter, the array that is filled, the statement that moves the counter.
fn packings(
    body: &Body,
    effects: &Effects<'_>,
    root: TermId,
    inner: TermId,
) -> Vec<(SymbolId, SymbolId, TermId)> {
    let mut out = Vec::new();
    let parents = body.parents();
    let writes = writes_by_variable(body, inner);
    for &s in effects.writes_in(root).iter() {
        let Some(&(1, only)) = writes.get(&s) else { continue };
        let by_one = matches!(
            crate::flow::counted_loop::change_of(body, only),
            Some((_, Some(crate::flow::counted_loop::Change::Const(1 | -1))))
        );
        let mut at = only;
        let mut guarded = false;
        while at != inner {
            let Some(p) = parents.get(at.0 as usize).copied().flatten() else { break };
            guarded |= *body.op(p) == Op::If && body.args(p).first() != Some(&at);
            at = p;
        }
        if !by_one || !guarded {
            continue;
        }
        let filled = body.walk(inner).find_map(|t| {
            let place = *body.args(t).first().filter(|_| *body.op(t) == Op::Assign)?;
            let sub = *body.args(place).get(1).filter(|_| *body.op(place) == Op::Index)?;
            reads(body, sub, s).then(|| crate::flow::parts::base_symbol(body, place)).flatten()
        });
        if let Some(array) = filled {
            out.push((s, array, only));
        }
    }
    out.sort_unstable();
    out
}

/// `y[i] = x[i] + t; t = x[i];`: written once, at the end, with a value that does not need the old one.
fn wrap_arounds(body: &Body, effects: &Effects<'_>, root: TermId, inner: TermId) -> Vec<(SymbolId, TermId)> {
    let mut out = Vec::new();
    if *body.op(inner) != Op::List {
        return out;
    }
    let statements = body.args(inner);
    let writes = writes_by_variable(body, root);
    for (at, &t) in statements.iter().enumerate() {
        let (Op::Assign, &[place, value]) = (body.op(t), body.args(t)) else { continue };
        let Some(s) = body.as_symbol(place).filter(|&s| body.symbols[s].is_own_scalar()) else { continue };
        if writes.get(&s).is_none_or(|w| w.0 != 1) {
            continue;
        }
        let before = statements[..at].iter().any(|&x| reads(body, x, s));
        let fresh = !body
            .walk(value)
            .filter_map(|x| body.as_symbol(x))
            .any(|v| v == s || (body.symbols[v].is_own_scalar() && carried(body, effects, root, inner, v)));
        if before && fresh {
            out.push((s, t));
        }
    }
    out
}

/// Whether the variable may bring a value from an earlier iteration; the root's own index does not count.
fn carried(body: &Body, effects: &Effects<'_>, root: TermId, inner: TermId, s: SymbolId) -> bool {
    let in_header = effects.writes_in(body.args(root)[2]).contains(&s);
    !in_header
        && effects.writes_in(root).contains(&s)
        && crate::flow::liveness::exposed_reads(body, &[inner]).is_none_or(|e| e.contains(&s))
}
