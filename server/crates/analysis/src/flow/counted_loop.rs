//! Which loops count: an index that every iteration moves by the same amount is compared with something fixed.
//!
//! Reference: the canonical loop form of OpenMP 5.2, section 4.4.1. Ours is wider: the moves may stand in the condition
//! (`while (n-- > 0)`) or in the body (`while (i < n) { …; i++; }`, unrolled bodies), the first value may be the one the
//! index has (`for (; n; n--)`), and the test may come last (`do … while`). What does not count gets the reason.

use std::collections::hash_map::Entry;

use rustc_hash::FxHashMap;
use term::{BinOp, Body, IntKind, Op, Storage, SymbolId, TermId, TypeKind};

use crate::algebra::poly::Poly;
use crate::flow::effects::Effects;
use crate::{Control, NotCounted, Obstacle, ObstacleKind, Step};

/// How a loop counts, or what keeps it from counting.
///
/// The index is the variable that the condition compares with something fixed and that every iteration moves by the
/// same amount, wherever the moves stand (header, condition, body). Its value at the start of iteration t, before the
/// condition is evaluated, is then `lower + step * t`; the moves on the way to any other point are followed by the model.
///
/// Takes no steps of its own: at most 60 looks at each term of the loop (a few, but for loops in arms of conditions in one another),
/// which whoever asks has paid for.
pub(crate) fn control(body: &Body, loop_term: TermId, effects: &Effects) -> Result<Control, Obstacle> {
    let fail = |why: NotCounted, term: TermId| Err(Obstacle { kind: ObstacleKind::NotCounted(why), term });
    let Some(parts) = body.loop_parts(loop_term) else {
        return fail(NotCounted::While, loop_term);
    };
    let is_for = *body.op(loop_term) == Op::For;
    let or_while = |why: NotCounted| if is_for { why } else { NotCounted::While };
    let Some(condition) = parts.condition else {
        return fail(NotCounted::NoCondition, loop_term);
    };
    // `step < 0 ? i >= n : i <= n`, as in programs translated from Fortran
    let by_sign = arm_of_sign(body, condition);
    let tests = tests_of(body, by_sign.map_or(condition, |(arm, _)| arm));
    if tests.is_empty() {
        return fail(or_while(NotCounted::Condition), if is_for { condition } else { loop_term });
    }
    let moved = moves(body, loop_term);
    if let (true, Some(step)) = (is_for, parts.step) {
        if stepped(body, step).is_empty() {
            return fail(NotCounted::Step, step);
        }
    }
    // The index is the side that the iteration moves.
    let Some((test, total)) = tests.iter().find_map(|t| Some((t, moved.get(&t.index)?))) else {
        let written = tests.iter().any(|t| effects.writes_in(loop_term).contains(&t.index));
        return match (is_for, parts.step) {
            (true, Some(step)) if written => {
                let in_body = tests.iter().any(|t| effects.writes_in(parts.body).contains(&t.index));
                let in_condition = tests.iter().any(|t| effects.writes_in(condition).contains(&t.index));
                if in_body || in_condition {
                    let index =
                        tests.iter().map(|t| t.index).find(|i| effects.writes_in(loop_term).contains(i));
                    match index.and_then(|i| hidden_write(body, loop_term, i)) {
                        Some(gap) => fail(NotCounted::IndexHidden, gap),
                        None => fail(NotCounted::IndexWritten, loop_term),
                    }
                } else {
                    fail(NotCounted::Step, step)
                }
            }
            (true, None) => fail(NotCounted::Step, loop_term),
            (true, _) => fail(NotCounted::Condition, condition),
            _ => fail(NotCounted::While, loop_term),
        };
    };
    let index = test.index;
    let symbol = &body.symbols[index];
    if !symbol.is_own_scalar() {
        return fail(or_while(NotCounted::IndexEscapes), if is_for { condition } else { loop_term });
    }
    // A pointer counts elements; C11 6.5.6p8 and 6.5.8p5 keep it and its bound inside one array, where nothing wraps.
    let pointer = matches!(body.types.kind(symbol.ty), TypeKind::Pointer { .. }) && test.bound.is_some();
    let kind = if pointer { Some(IntKind::LongLong) } else { body.types.as_int(symbol.ty) };
    let Some(index_type) = kind.filter(|&k| k != IntKind::Bool) else {
        return fail(or_while(NotCounted::IndexType), if is_for { condition } else { loop_term });
    };
    if body.types.quals(symbol.ty).is_volatile {
        return fail(or_while(NotCounted::IndexEscapes), condition);
    }
    // Without a value in the header, the index begins with the one it has: its own occurrence stands for that.
    let set = parts.init.and_then(|init| initial(body, init, index));
    let sets_otherwise = parts.init.is_some_and(|init| effects.writes_in(init).contains(&index));
    let (lower, declared_here) = match set {
        Some(found) => found,
        None if sets_otherwise => return fail(NotCounted::NoInit, loop_term),
        None => (test.occurrence, false),
    };
    if let Some(bound) = test.bound {
        if !effects.is_invariant_in(body, bound, loop_term) {
            return fail(NotCounted::BoundVaries, bound);
        }
    }
    let step = match total.change {
        Change::Const(0) => return fail(or_while(NotCounted::Step), parts.step.unwrap_or(loop_term)),
        Change::Const(c) => Step::Const(c),
        Change::Term(t, negated) => {
            let fixed =
                effects.is_invariant_in(body, t, loop_term) && body.types.as_int(body.ty(t)).is_some();
            if !fixed || total.writes != 1 {
                return fail(or_while(NotCounted::Step), parts.step.unwrap_or(loop_term));
            }
            Step::Term { term: t, negated }
        }
        Change::Sum => return fail(or_while(NotCounted::IndexWritten), loop_term),
    };
    if let Some((_, sign)) = by_sign {
        // the arm is that of a positive step, which is to be shown or tested as of every step that is a term
        let fits = match step {
            Step::Term { term, negated: false } => body.same(term, sign),
            _ => false,
        };
        if !fits || !matches!(test.relation, BinOp::Lt | BinOp::Le) {
            return fail(or_while(NotCounted::Condition), condition);
        }
    }
    // counted up by one from a small number, what is below a bound never is the largest number before the index is
    let begins_small = || body.constant(lower).is_some_and(|n| (0..1 << 20).contains(&n));
    let stays_below =
        || test.relation == BinOp::Lt && test.offset > 0 && step == Step::Const(1) && begins_small();
    if test.goes_round && !stays_below() {
        return fail(or_while(NotCounted::Condition), if is_for { condition } else { loop_term });
    }
    if let Step::Const(c) = step {
        let wrong = match test.relation {
            BinOp::Lt | BinOp::Le => c < 0,
            BinOp::Gt | BinOp::Ge => c > 0,
            // `i != n` meets its bound for sure only in unit steps. An index that misses it overflows: where that is
            // undefined it may be taken to meet it, unless something else ends the loop first.
            _ => {
                let goes_round = !body.arithmetic(total.term).is_exact(index_type);
                c.abs() != 1 && (goes_round || leaves_early(body, parts.body))
            }
        };
        if wrong {
            return fail(NotCounted::WrongWay, condition);
        }
    } else if test.relation == BinOp::Ne {
        return fail(NotCounted::WrongWay, condition);
    }
    let (offset, shift) = if parts.tests_first {
        (test.offset, test.change)
    } else {
        // What the condition of a `do` sees is what the next iteration starts with, but for its own moves.
        (test.offset - test.change, 0)
    };
    let header_only = is_for && test.change == 0 && !effects.writes_in(parts.body).contains(&index);
    Ok(Control {
        index,
        index_type,
        declared_here,
        lower,
        bound: test.bound,
        relation: test.relation,
        step,
        offset,
        shift,
        at_least_once: !parts.tests_first,
        header_only,
        pointer,
    })
}

/// One way to read a condition as the comparison of an index with something fixed.
struct Test {
    index: SymbolId,
    /// Where the index stands in the condition.
    occurrence: TermId,
    /// `None`: zero.
    bound: Option<TermId>,
    relation: BinOp,
    /// What is compared is the index's value before the condition plus this.
    offset: i128,
    /// What evaluating the condition adds to the index.
    change: i128,
    /// Whether the sum that is compared is one that goes round: `i + 1 < n` of unsigned numbers.
    goes_round: bool,
}

/// The place that was not understood and may write the index, where nothing in the body that was understood does.
fn hidden_write(body: &Body, loop_term: TermId, index: SymbolId) -> Option<TermId> {
    let inner = body.loop_parts(loop_term)?.body;
    let writes = |t: TermId| {
        body.op(t).is_write() && body.args(t).first().and_then(|&p| body.as_symbol(p)) == Some(index)
    };
    if body.walk(inner).any(writes) {
        return None;
    }
    body.walk(inner).find(|&t| body.written_by_gap(t).contains(&index))
}

/// Of a condition that asks for the sign of a term first: the arm that is taken where the term is positive, and the term.
fn arm_of_sign(body: &Body, condition: TermId) -> Option<(TermId, TermId)> {
    let (Op::Select, &[asked, yes, no]) = (body.op(condition), body.args(condition)) else { return None };
    let asked = strip_casts(body, asked)?;
    let (Op::Binary(relation), &[left, right]) = (body.op(asked), body.args(asked)) else { return None };
    let is_zero = |t: TermId| constant(body, t) == Some(0);
    let (relation, term) = match (is_zero(left), is_zero(right)) {
        (false, true) => (*relation, left),
        (true, false) => (relation.mirrored(), right),
        _ => return None,
    };
    match relation {
        BinOp::Lt | BinOp::Le => Some((no, term)),
        BinOp::Gt | BinOp::Ge => Some((yes, term)),
        _ => None,
    }
}

fn tests_of(body: &Body, condition: TermId) -> Vec<Test> {
    let mut out = Vec::new();
    match (body.op(condition), body.args(condition)) {
        (Op::Binary(relation), &[left, right]) if relation.is_comparison() && *relation != BinOp::Eq => {
            for (side, other, relation) in [(left, right, *relation), (right, left, relation.mirrored())] {
                if let Some((index, occurrence, offset, change)) = compared(body, side) {
                    // A side effect on one side and a use on the other have no order (C11 6.5p2).
                    let alone = change == 0 || body.walk(other).all(|x| body.as_symbol(x) != Some(index));
                    let bound = Some(other);
                    let goes_round = change == 0 && offset != 0 && is_unsigned(body, index);
                    // in a wider type the bound may be a number that the sum never comes to
                    let own = body.types.as_int(body.symbols[index].ty);
                    let is_in_own = [side, other].iter().all(|&x| {
                        let of = body.types.as_int(body.ty(x));
                        own.zip(of).is_some_and(|(own, of)| own.common(of) == own)
                    });
                    if alone && (!goes_round || is_in_own) {
                        out.push(Test { index, occurrence, bound, relation, offset, change, goes_round });
                    }
                }
            }
        }
        // `while (n--)`, `for (…; n; …)`: compared with zero.
        (Op::Sym(_) | Op::Step { .. }, _) => {
            if let Some((index, occurrence, offset, change)) = compared(body, condition) {
                let (bound, relation) = (None, BinOp::Ne);
                out.push(Test { index, occurrence, bound, relation, offset, change, goes_round: false });
            }
        }
        _ => {}
    }
    out
}

fn is_unsigned(body: &Body, s: SymbolId) -> bool {
    body.types.as_int(body.symbols[s].ty).is_some_and(|k| !k.signed())
}

/// An index as it stands in a condition: `i`, `i++`, `--i`, `i + 3`, `i - 1`, under widening conversions. The numbers
/// are what is added to it for the comparison, and what the evaluation adds to it for good.
fn compared(body: &Body, side: TermId) -> Option<(SymbolId, TermId, i128, i128)> {
    let t = strip_casts(body, side)?;
    match (body.op(t), body.args(t)) {
        (Op::Sym(s), _) => Some((*s, t, 0, 0)),
        (Op::Step { delta, prefix }, &[place]) => {
            let s = body.as_symbol(place)?;
            let delta = i128::from(*delta);
            Some((s, place, if *prefix { delta } else { 0 }, delta))
        }
        // The sum is computed in the promoted type: only there is it the index plus a constant.
        (Op::Binary(op @ (BinOp::Add | BinOp::Sub)), &[a, b]) => {
            let (a, b) = match (constant(body, a), op) {
                (Some(_), BinOp::Add) => (b, a),
                _ => (a, b),
            };
            let by = constant(body, b).filter(|k| k.abs() < 1 << 20)?;
            let place = strip_casts(body, a)?;
            let s = body.as_symbol(place)?;
            let (sum, own) = (body.types.as_int(body.ty(t))?, body.types.as_int(body.symbols[s].ty)?);
            // Other sums would wrap where the index does not; of one in the index's own unsigned type whoever asks sees to that.
            let is_exact = body.arithmetic(t).is_exact(sum) && own.signed();
            if !is_exact && (own.signed() || sum != own) {
                return None;
            }
            Some((s, place, if *op == BinOp::Sub { -by } else { by }, 0))
        }
        _ => None,
    }
}

/// How one iteration moves a variable.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Total {
    /// All of it, if it is one constant or one term.
    pub change: Change,
    /// Its summands.
    pub parts: Vec<Part>,
    /// The statement (or part of one) that moves it; the last of several.
    pub term: TermId,
    /// Number of terms that write it.
    pub writes: usize,
}

/// One addition, made once in each iteration of the inner loops listed (outermost first).
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Part {
    pub change: Change,
    pub loops: Vec<TermId>,
}

/// Variables that every iteration of the loop only adds to: all their writes in the loop, its `init` aside, are
/// additions, each running exactly once in an iteration (of the inner loop it stands in, if it stands in one).
pub(crate) fn moves(body: &Body, loop_term: TermId) -> FxHashMap<SymbolId, Total> {
    let Some(parts) = body.loop_parts(loop_term) else {
        return FxHashMap::default();
    };
    let mut out = FxHashMap::default();
    // A `continue` skips what follows it in the body, a `break` also the step; the condition is always evaluated.
    let mut pieces: Vec<TermId> = Vec::new();
    pieces.extend(parts.condition);
    pieces.extend(parts.step);
    if !has_jump(body, parts.body) {
        pieces.push(parts.body);
    } else {
        pieces.extend(before_jumps(body, parts.body));
    }
    for p in pieces {
        add_moves(body, p, &[], 0, &mut out);
    }
    let mut writes: FxHashMap<SymbolId, usize> = FxHashMap::default();
    for x in body.walk(loop_term) {
        for s in crate::flow::effects::written(body, x).into_iter().chain(body.written_by_gap(x)) {
            *writes.entry(s).or_default() += 1;
        }
    }
    for x in parts.init.into_iter().flat_map(|i| body.walk(i)) {
        for s in crate::flow::effects::written(body, x).into_iter().chain(body.written_by_gap(x)) {
            *writes.entry(s).or_default() -= 1;
        }
    }
    out.retain(|s, t: &mut Total| writes.get(s) == Some(&t.writes));
    out
}

/// The statements of a body that come before those in which something is jumped over.
fn before_jumps(body: &Body, block: TermId) -> Vec<TermId> {
    let (mut out, mut at) = (Vec::new(), block);
    while *body.op(at) == Op::List {
        let Some(jumps) = body.args(at).iter().position(|&s| has_jump(body, s)) else { break };
        out.extend(&body.args(at)[..jumps]);
        at = body.args(at)[jumps];
    }
    out
}

type Totals = FxHashMap<SymbolId, Total>;

fn add_moves(body: &Body, root: TermId, loops: &[TermId], depth: u32, out: &mut Totals) {
    if depth > 60 {
        return;
    }
    let mut stack = vec![root];
    while let Some(t) = stack.pop() {
        let args = body.args(t);
        match body.op(t) {
            // Both arms that move a variable by the same amount move it always.
            Op::If => {
                stack.push(args[0]);
                if let (Some(&then), Some(&other)) = (args.get(1), args.get(2)) {
                    let (mut a, mut b) = (Totals::default(), Totals::default());
                    add_moves(body, then, &[], depth + 1, &mut a);
                    add_moves(body, other, &[], depth + 1, &mut b);
                    for (s, x) in a {
                        let Some(y) = b.get(&s) else { continue };
                        if x.change == y.change && matches!(x.change, Change::Const(_)) {
                            let part = Part { change: x.change, loops: loops.to_vec() };
                            include(out, s, part, t, x.writes + y.writes);
                        }
                    }
                }
                continue;
            }
            // What an inner loop moves, it moves once in each of its iterations; its condition is evaluated once more.
            op if op.is_loop() => {
                let Some(parts) = body.loop_parts(t) else { continue };
                stack.extend(parts.init);
                if loops.len() < 3 && !has_jump(body, parts.body) {
                    let mut around = loops.to_vec();
                    around.push(t);
                    for p in [Some(parts.body), parts.step].into_iter().flatten() {
                        add_moves(body, p, &around, depth + 1, out);
                    }
                }
                continue;
            }
            // Only what is evaluated exactly once counts.
            Op::Switch | Op::Select => {
                stack.extend(args.first());
                continue;
            }
            Op::Binary(b) if b.is_logical() => {
                stack.extend(args.first());
                continue;
            }
            Op::SizeOf => continue,
            _ => {}
        }
        if let Some((s, Some(change))) = change_of(body, t) {
            include(out, s, Part { change, loops: loops.to_vec() }, t, 1);
        }
        stack.extend(args.iter().rev());
    }
}

/// Adds one more move: in time that does not depend on those before it.
fn include(out: &mut Totals, s: SymbolId, part: Part, term: TermId, writes: usize) {
    let alone = if part.loops.is_empty() { part.change } else { Change::Sum };
    match out.entry(s) {
        Entry::Vacant(free) => {
            free.insert(Total { change: alone, parts: vec![part], term, writes });
        }
        Entry::Occupied(old) => {
            let total = old.into_mut();
            total.change = match (total.change, alone) {
                (Change::Const(a), Change::Const(b)) => a.checked_add(b).map_or(Change::Sum, Change::Const),
                _ => Change::Sum,
            };
            total.parts.push(part);
            total.term = term;
            total.writes += writes;
        }
    }
}

/// Whether a `break` or `continue` of the loop itself stands in its body.
pub(crate) fn has_jump(body: &Body, inner: TermId) -> bool {
    let mut stack = vec![(inner, true)];
    while let Some((t, ours)) = stack.pop() {
        match body.op(t) {
            // A `break` in a `switch` of the body only ends the switch, but then nothing is said of what follows it.
            Op::Continue | Op::Break if ours => return true,
            Op::Goto(_) | Op::Label(_) | Op::Return => return true,
            op => {
                let ours = ours && !op.is_loop();
                stack.extend(body.args(t).iter().map(|&a| (a, ours)));
            }
        }
    }
    false
}

/// Whether something in the body may end the loop before its condition does: a jump, or a call that need not return. Only
/// without one does a loop that misses its bound go on until the program is undefined.
pub(crate) fn leaves_early(body: &Body, inner: TermId) -> bool {
    let mut stack = vec![(inner, true)];
    while let Some((t, ours)) = stack.pop() {
        match body.op(t) {
            Op::Break if ours => return true,
            Op::Goto(_) | Op::Return => return true,
            Op::Call => {
                let callee = body.callee(t);
                let returns = callee.is_some_and(|f| crate::flow::effects::is_pure_callee(body, f));
                if !returns {
                    return true;
                }
            }
            _ => {}
        }
        let ours = ours && !body.op(t).is_loop() && !matches!(body.op(t), Op::Switch);
        stack.extend(body.args(t).iter().map(|&a| (a, ours)));
    }
    false
}

/// What one part of a step does to a variable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Change {
    Const(i128),
    Term(TermId, bool),
    /// A sum of several, or of what inner loops add.
    Sum,
}

/// The variables a step expression writes, each with its change if it is an addition of something.
pub(crate) fn stepped(body: &Body, step: TermId) -> Vec<(SymbolId, Option<Change>)> {
    let mut out = Vec::new();
    let mut stack = vec![step];
    while let Some(t) = stack.pop() {
        match body.op(t) {
            Op::Comma => stack.extend(body.args(t).iter().rev()),
            _ => {
                if let Some((s, change)) = change_of(body, t) {
                    out.push((s, change));
                }
            }
        }
    }
    out
}

/// If the statement writes one scalar variable: which, and by how much if it only adds something.
pub(crate) fn change_of(body: &Body, t: TermId) -> Option<(SymbolId, Option<Change>)> {
    let args = body.args(t);
    match body.op(t) {
        Op::Step { delta, .. } => {
            Some((body.as_symbol(*args.first()?)?, Some(Change::Const(*delta as i128))))
        }
        Op::Compound(op) => {
            let s = body.as_symbol(*args.first()?)?;
            let e = *args.get(1)?;
            let change = match op {
                BinOp::Add => Some(amount(body, e, false)),
                BinOp::Sub => Some(amount(body, e, true)),
                _ => None,
            };
            Some((s, change))
        }
        Op::Assign => {
            let s = body.as_symbol(*args.first()?)?;
            let e = strip_casts(body, *args.get(1)?)?;
            let is_s = |t: TermId| strip_casts(body, t).and_then(|t| body.as_symbol(t)) == Some(s);
            let change = match (body.op(e), body.args(e)) {
                (Op::Binary(BinOp::Add), &[a, b]) if is_s(a) => Some(amount(body, b, false)),
                (Op::Binary(BinOp::Add), &[a, b]) if is_s(b) => Some(amount(body, a, false)),
                (Op::Binary(BinOp::Sub), &[a, b]) if is_s(a) => Some(amount(body, b, true)),
                _ => None,
            };
            Some((s, change))
        }
        _ => None,
    }
}

fn amount(body: &Body, e: TermId, negated: bool) -> Change {
    match constant(body, e).or_else(|| of_constant(body, e)) {
        Some(c) => Change::Const(if negated { -c } else { c }),
        None => Change::Term(e, negated),
    }
}

/// The value of an integer constant expression.
pub(crate) fn constant(body: &Body, t: TermId) -> Option<i128> {
    body.constant(t)
}

/// The value of a local variable that is defined `const` with a constant: `const int step = 8;` (C11 6.7.3p6).
fn of_constant(body: &Body, t: TermId) -> Option<i128> {
    let s = body.as_symbol(t)?;
    let symbol = &body.symbols[s];
    let kind = body.types.as_int(symbol.ty)?;
    let quals = body.types.quals(symbol.ty);
    if symbol.storage != Storage::Local || !quals.is_const || quals.is_volatile {
        return None;
    }
    let mut declared = body.walk(body.root).filter(|&t| *body.op(t) == Op::Declare(s));
    let value = constant(body, *body.args(declared.next()?).first()?)?;
    (declared.next().is_none() && (kind.min()..=kind.max()).contains(&value)).then_some(value)
}

/// The first value of the index and whether it is declared in the header.
pub(crate) fn initial(body: &Body, init: TermId, index: SymbolId) -> Option<(TermId, bool)> {
    let mut found = None;
    let mut stack = vec![init];
    while let Some(t) = stack.pop() {
        let args = body.args(t);
        match body.op(t) {
            Op::List | Op::Comma => stack.extend(args.iter().rev()),
            Op::Declare(s) if *s == index => found = Some((*args.first()?, true)),
            Op::Assign if body.as_symbol(*args.first()?) == Some(index) => {
                // `i = j = 0` nests; the right side's value counts all the same.
                found = Some((*args.get(1)?, false));
            }
            _ => {}
        }
    }
    found
}

/// The operand under conversions between integer types that are written out.
fn strip_casts(body: &Body, mut t: TermId) -> Option<TermId> {
    let mut n = 0;
    while matches!(body.op(t), Op::Cast) && body.types.as_int(body.ty(t)).is_some() {
        let inner = *body.args(t).first()?;
        // A narrowing cast changes the value; only widening ones may be looked through.
        let (to, from) = (body.types.as_int(body.ty(t))?, body.types.as_int(body.ty(inner))?);
        if to.min() > from.min() || to.max() < from.max() {
            return Some(t);
        }
        t = inner;
        n += 1;
        if n > 20 {
            return None;
        }
    }
    Some(t)
}

/// Number of iterations as a value, right where it is positive. `lower` is the first value that is compared.
pub(crate) fn trips(c: &Control, lower: &Poly, bound: &Poly) -> Option<Poly> {
    let span = match c.relation {
        BinOp::Lt => bound.sub(lower)?,
        BinOp::Le => bound.sub(lower)?.add_constant(1)?,
        BinOp::Gt => lower.sub(bound)?,
        BinOp::Ge => lower.sub(bound)?.add_constant(1)?,
        BinOp::Ne if matches!(c.step, Step::Const(k) if k > 0) => bound.sub(lower)?,
        _ => lower.sub(bound)?,
    };
    match c.step {
        Step::Const(1 | -1) => Some(span),
        Step::Const(s) => span.as_constant().map(|n| {
            let s = s.abs();
            Poly::constant((n + s - 1).div_euclid(s))
        }),
        Step::Term { .. } => None,
    }
}
