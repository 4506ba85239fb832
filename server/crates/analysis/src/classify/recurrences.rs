//! Names for what a loop that is not parallel as it stands computes: prefix sums, linear recurrences, searches,
//! packing, and variables that hold the value of the iteration before. Names only: no verdict rests on them.

use std::cell::OnceCell;

use base::Budget;
use rustc_hash::FxHashMap;
use term::{BinOp, Body, Op, SymbolId, TermId};

use crate::classify::reductions::{updates, Looked};
use crate::flow::effects::Effects;
use crate::flow::liveness::{early_exit, exposed_reads};
use crate::{
    DependenceKind, LoopFacts, Object, ObstacleKind, Recurrence, RecurrenceKind, ReductionOp, Verdict,
};

/// What can be named in a loop that is not parallel.
///
/// Takes steps for the flow of values alone: the rest is a few walks over the loop, whatever is in it, which whoever asks has paid for; and one over the body for
/// each dependence, of which a dozen are listed.
pub(crate) fn recurrences(
    body: &Looked<'_>,
    effects: &Effects<'_>,
    parents: &[Option<TermId>],
    l: &LoopFacts,
    budget: &Budget,
) -> Vec<Recurrence> {
    let mut out = Vec::new();
    if *body.op(l.term) != Op::For || matches!(l.verdict, Verdict::Independent | Verdict::Reduction) {
        return out;
    }
    let Some(&inner) = body.args(l.term).get(3) else { return out };
    let plain = |s: SymbolId| Object { symbol: s, fields: Vec::new() };
    // A method is of use where nothing else stands in the way that it would not take away.
    if l.obstacles.iter().any(|o| stays(&o.kind)) {
        return out;
    }
    if let Some(found) = search(body, l.term, inner) {
        out.push(Recurrence { kind: RecurrenceKind::Search, object: None, term: found });
    }
    if l.obstacles.iter().any(|o| o.kind == ObstacleKind::EarlyExit) {
        return out;
    }
    let read = statements_reading(body, inner);
    scans_of_scalars(body, l.term, inner, &read, &mut |s, op, exclusive, term| {
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
    for (counter, array, term) in packings(body, effects, parents, l.term, inner) {
        let object = Some(plain(array));
        out.push(Recurrence { kind: RecurrenceKind::Packing { counter }, object, term });
    }
    for (s, term) in wrap_arounds(body, effects, l.term, inner, &read, budget) {
        if !out.iter().any(|r| r.object.as_ref() == Some(&plain(s))) {
            out.push(Recurrence { kind: RecurrenceKind::WrapAround, object: Some(plain(s)), term });
        }
    }
    out
}

/// Whether the obstacle is there whatever method computes the values that iterations hand on.
fn stays(kind: &ObstacleKind) -> bool {
    use ObstacleKind::*;
    match kind {
        NotUnderstood | NotCounted(_) | UnknownCall(_) | IndirectCall | Call { .. } | UnknownPointer(_) => {
            true
        }
        Volatile | Watched(_) | SharedBytes | Budget(_) => true,
        IndirectSubscript(_) | NonAffineSubscript | NoExtent | DataDependentCondition | EarlyExit => false,
        Unsized(_) | MayAlias(..) | SameArray(..) | CarriedScalar(_) | HandedOn(_) | LiveOut(_)
        | CopiedBothWays(_) => false,
        PointerElements(_) | OwnCells(_) | Unset(_) | Unproved | NotReplayed(_) | NeedsPromise(_) => false,
    }
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

/// The first and the last statement of a list that name each variable, by their numbers.
fn statements_reading(body: &Body, list: TermId) -> FxHashMap<SymbolId, (usize, usize)> {
    let mut out: FxHashMap<SymbolId, (usize, usize)> = FxHashMap::default();
    if *body.op(list) == Op::List {
        for (at, &statement) in body.args(list).iter().enumerate() {
            for s in body.walk(statement).filter_map(|x| body.as_symbol(x)) {
                out.entry(s).or_insert((at, at)).1 = at;
            }
        }
    }
    out
}

/// `s += a[i]; b[i] = s;`: one accumulation an iteration, whose value is looked at before or after.
fn scans_of_scalars(
    body: &Looked<'_>,
    root: TermId,
    inner: TermId,
    read: &FxHashMap<SymbolId, (usize, usize)>,
    found: &mut dyn FnMut(SymbolId, ReductionOp, bool, TermId),
) {
    let all = updates(body, inner);
    let mut updated: FxHashMap<SymbolId, usize> = FxHashMap::default();
    for s in all.iter().filter_map(|u| body.as_symbol(u.place)) {
        *updated.entry(s).or_default() += 1;
    }
    if all.is_empty() || *body.op(inner) != Op::List {
        return;
    }
    let writes = writes_by_variable(body, root);
    let numbers: FxHashMap<TermId, usize> = body.args(inner).iter().copied().zip(0..).collect();
    for u in &all {
        let Some(s) = body.as_symbol(u.place) else { continue };
        if updated.get(&s) != Some(&1) || writes.get(&s).is_none_or(|w| w.0 != 1) {
            continue;
        }
        // what is added depends on what was added so far: `q = x / d[i]; x -= q * d[i];`
        let added = body.walk(u.statement).filter(|x| !u.occurrences.contains(x));
        let names: Vec<TermId> = added.filter(|&x| body.as_symbol(x).is_some()).collect();
        if names.iter().any(|&x| goes_into(body, root, x).contains(&s)) {
            continue;
        }
        // what grows by the same in every iteration is known of each beforehand
        let others = body.walk(u.statement).filter(|x| !u.occurrences.contains(x));
        let moves = |x: TermId| match body.op(x) {
            // the index of a thread, a block's extent
            Op::Member { .. } if body.index_part(x).is_some() => false,
            Op::Call => true,
            // a cell that the text names alike in each iteration adds the same, as far as the text goes
            _ => body.as_symbol(x).is_some_and(|v| writes.contains_key(&v)),
        };
        if u.op == ReductionOp::Add && !others.into_iter().any(moves) {
            continue;
        }
        let Some((&at, &(first, last))) = numbers.get(&u.statement).zip(read.get(&s)) else { continue };
        let (before, after) = (first < at, last > at);
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
                // `b[i] - a[i - 1]` is a sum with a factor
                products |= *op == BinOp::Mul || *op == BinOp::Sub && args.get(1).is_some_and(holds);
                at = *args.iter().find(|t| holds(t))?;
            }
            Op::Cast
                if body.types.as_int(body.ty(at)).is_none()
                    || body.types.as_int(body.ty(args[0])).is_some() =>
            {
                at = args[0];
            }
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
    // what else it is made of must not come from other cells: `a[i] = a[i-1] - a[i-2]` is of another order
    let array = crate::flow::parts::base_symbol(body, source)?;
    let mut open = vec![value];
    while let Some(t) = open.pop() {
        if t == sink || body.same(t, source) {
            continue;
        }
        if body.as_symbol(t).is_some() && goes_into(body, body.root, t).contains(&array) {
            return None;
        }
        // `g->u[i][j - 1]` beside `g->u[i - 1][j]`, whatever leads to the array
        if *body.op(t) == Op::Index && body.same(whole(body, t), whole(body, source)) {
            return None;
        }
        open.extend(body.args(t));
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

/// What the subscripts of a cell are of.
fn whole(body: &Body, mut cell: TermId) -> TermId {
    while let (Op::Index, &[of, _]) = (body.op(cell), body.args(cell)) {
        cell = of;
    }
    cell
}

/// `if (c) b[j++] = a[i];`: the counter, the array that is filled, the statement that moves the counter.
fn packings(
    body: &Body,
    effects: &Effects<'_>,
    parents: &[Option<TermId>],
    root: TermId,
    inner: TermId,
) -> Vec<(SymbolId, SymbolId, TermId)> {
    let mut counters = Vec::new();
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
        if by_one && guarded {
            counters.push((s, only));
        }
    }
    if counters.is_empty() {
        return Vec::new();
    }
    let filled = arrays_by_subscript(body, inner);
    let mut out: Vec<_> = counters.into_iter().filter_map(|(s, t)| Some((s, *filled.get(&s)?, t))).collect();
    out.sort_unstable();
    out
}

/// The first array that is assigned to where the variable says, and nowhere else.
fn arrays_by_subscript(body: &Body, inner: TermId) -> FxHashMap<SymbolId, SymbolId> {
    let mut out: FxHashMap<SymbolId, SymbolId> = FxHashMap::default();
    // how often each is written, and how often where a variable says
    let mut written: FxHashMap<SymbolId, usize> = FxHashMap::default();
    let mut written_by: FxHashMap<(SymbolId, SymbolId), usize> = FxHashMap::default();
    for t in body.walk(inner).filter(|&t| body.op(t).is_write()) {
        let Some(&place) = body.args(t).first().filter(|&&p| body.as_symbol(p).is_none()) else { continue };
        let Some(array) = crate::flow::parts::base_symbol(body, place) else { continue };
        *written.entry(array).or_default() += 1;
        let mut named: Vec<SymbolId> = Vec::new();
        for x in body.walk(place).filter(|&x| *body.op(x) == Op::Index) {
            let sub = body.args(x).get(1);
            let all: Vec<SymbolId> =
                sub.into_iter().flat_map(|&s| body.walk(s)).filter_map(|x| body.as_symbol(x)).collect();
            // in `b[i + k]` the variable counts something else than what is filled
            named.extend(all.iter().copied().filter(|&s| all.iter().all(|&other| other == s)));
        }
        named.sort_unstable();
        named.dedup();
        for s in named {
            *written_by.entry((s, array)).or_default() += 1;
            if *body.op(t) == Op::Assign {
                out.entry(s).or_insert(array);
            }
        }
    }
    out.retain(|s, array| written_by.get(&(*s, *array)) == written.get(array));
    out
}

/// The variables of a value, those of what they are given in the loop, and so on.
fn goes_into(body: &Body, root: TermId, value: TermId) -> Vec<SymbolId> {
    let mut given: FxHashMap<SymbolId, Vec<TermId>> = FxHashMap::default();
    for t in body.walk(root) {
        match (body.op(t), body.args(t)) {
            (Op::Declare(s), &[value]) => given.entry(*s).or_default().push(value),
            // of an array or a structure a part of it
            (Op::Assign | Op::Compound(_), &[place, value]) => {
                if let Some(s) = crate::flow::parts::base_symbol(body, place) {
                    given.entry(s).or_default().push(value);
                }
            }
            _ => {}
        }
    }
    let mut out: Vec<SymbolId> = Vec::new();
    let mut open = vec![value];
    while let Some(part) = open.pop() {
        for v in body.walk(part).filter_map(|x| body.as_symbol(x)) {
            if !out.contains(&v) {
                out.push(v);
                open.extend(given.remove(&v).unwrap_or_default());
            }
        }
    }
    out
}

/// Whether a value is read, by whatever variable, from an array to which the loop stores.
fn reads_what_is_stored(body: &Body, root: TermId, value: TermId) -> bool {
    let is_cell = |t: TermId| matches!(body.op(t), Op::Index | Op::Deref);
    let places = body.walk(root).filter_map(|t| match (body.op(t), body.args(t)) {
        (Op::Assign | Op::Compound(_) | Op::Step { .. }, &[place, ..]) if is_cell(place) => {
            crate::flow::parts::base_symbol(body, place)
        }
        _ => None,
    });
    let stored: Vec<SymbolId> = places.collect();
    goes_into(body, root, value).into_iter().any(|v| stored.contains(&v))
}

/// `y[i] = x[i] + t; t = x[i];`: written once, at the end, with a value that does not need the old one.
fn wrap_arounds(
    body: &Body,
    effects: &Effects<'_>,
    root: TermId,
    inner: TermId,
    read: &FxHashMap<SymbolId, (usize, usize)>,
    budget: &Budget,
) -> Vec<(SymbolId, TermId)> {
    let mut out = Vec::new();
    if *body.op(inner) != Op::List {
        return out;
    }
    let writes = writes_by_variable(body, root);
    let (in_header, written) = (effects.writes_in(body.args(root)[2]), effects.writes_in(root));
    let exposed = OnceCell::new();
    // whether a variable may bring a value from an earlier iteration; the root's own index does not count
    let carried = |s: SymbolId| {
        let exposed = || exposed.get_or_init(|| exposed_reads(body, &[inner], budget)).as_ref();
        !in_header.contains(&s) && written.contains(&s) && exposed().is_none_or(|e| e.contains(&s))
    };
    // what a jump passes by does not come about in every iteration
    let jumps = |t: &TermId| body.walk(*t).any(|x| matches!(body.op(x), Op::Continue | Op::Goto(_)));
    let all = body.args(inner);
    let always = all.iter().position(jumps).map_or(all, |first| &all[..first]);
    for (at, &t) in always.iter().enumerate() {
        let (Op::Assign, &[place, value]) = (body.op(t), body.args(t)) else { continue };
        let Some(s) = body.as_symbol(place).filter(|&s| body.symbols[s].is_own_scalar()) else { continue };
        if writes.get(&s).is_none_or(|w| w.0 != 1) {
            continue;
        }
        if read.get(&s).is_none_or(|&(first, _)| first >= at) {
            continue;
        }
        let old = |v: SymbolId| v == s || (body.symbols[v].is_own_scalar() && carried(v));
        if !goes_into(body, root, value).into_iter().any(old) && !reads_what_is_stored(body, root, value) {
            out.push((s, t));
        }
    }
    out
}
