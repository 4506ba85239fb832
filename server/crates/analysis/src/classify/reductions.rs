//! Accumulations: statements that combine one place with a value by an associative operator, and nothing else.

use term::{BinOp, Body, FloatKind, IntKind, Op, Overflow, SymbolId, TermId, TypeId, TypeKind};

use crate::flow::called::{function_only_gives, Callees};
use crate::flow::effects::{is_pure_callee, written};
use crate::flow::terms::statements;
use crate::ReductionOp;

/// A function's body, and what its calls do.
#[derive(Clone, Copy)]
pub(crate) struct Looked<'b> {
    pub body: &'b Body,
    pub program: &'b dyn Callees,
}

impl std::ops::Deref for Looked<'_> {
    type Target = Body;
    fn deref(&self) -> &Body {
        self.body
    }
}

impl Looked<'_> {
    /// Whether a call only gives a value, the same each time as long as nothing is written that its arguments lead to.
    fn only_gives(&self, t: TermId) -> bool {
        let is_pure = self.callee(t).is_some_and(|f| is_pure_callee(self, f));
        is_pure || function_only_gives(self, self.program, t)
    }
}

/// One accumulating statement.
#[derive(Clone, Debug)]
pub(crate) struct Update {
    pub op: ReductionOp,
    /// The accumulator where it is written.
    pub place: TermId,
    /// Every occurrence of the accumulator in the statement (`place` included).
    pub occurrences: Vec<TermId>,
    /// The statement that combines.
    pub statement: TermId,
    /// The statement that keeps what that one put into a variable: `t = s + e; s = t;`.
    pub kept_by: Option<TermId>,
    /// The statement before it that copies the accumulator into the variable that it reads: `t = s; s = t > e ? t : e;`.
    pub copied_by: Option<TermId>,
}

impl Update {
    /// Its statements, in their order.
    pub(crate) fn statements(&self) -> impl Iterator<Item = TermId> {
        [self.copied_by, Some(self.statement), self.kept_by].into_iter().flatten()
    }
}

/// All accumulating statements under a term.
pub(crate) fn updates(body: &Looked<'_>, root: TermId) -> Vec<Update> {
    // Only statements count: the value of an accumulation must not be used.
    let parts = statements(body, root).into_iter().flat_map(|t| in_order(body, t));
    parts.filter_map(|a| update(body, a)).collect()
}

/// `a, b, c` as the statements that its parts are; of others the statement.
fn in_order(body: &Looked<'_>, t: TermId) -> Vec<TermId> {
    match body.op(t) {
        Op::Comma => body.args(t).iter().flat_map(|&part| in_order(body, part)).collect(),
        _ => vec![t],
    }
}

/// The statements of each list under a term, in their order.
fn lists<'b>(body: &'b Looked<'_>, root: TermId) -> impl Iterator<Item = Vec<TermId>> + 'b {
    let all = body.walk(root).filter(|&t| *body.op(t) == Op::List);
    all.map(|list| body.args(list).iter().flat_map(|&t| in_order(body, t)).collect())
}

/// Accumulations through a variable that carries the sum to the accumulator and serves nothing else: `t = s + e; s = t;`. So do
/// translators from Fortran write sums of complex numbers, with members of structures for both. `is_lost`: whether nobody reads
/// a variable after the loop.
pub(crate) fn carried_updates(
    body: &Looked<'_>,
    root: TermId,
    is_lost: &dyn Fn(SymbolId) -> bool,
) -> Vec<Update> {
    let mut out = Vec::new();
    for all in lists(body, root) {
        for (k, &keeps) in all.iter().enumerate() {
            let (Op::Assign, &[place, carrier]) = (body.op(keeps), body.args(keeps)) else { continue };
            let Some(s) = carrier_variable(body, carrier) else { continue };
            let given = |t: TermId| match (body.op(t), body.args(t)) {
                (Op::Declare(d), &[value]) => (body.as_symbol(carrier) == Some(*d)).then_some(value),
                (Op::Assign, &[to, value]) => body.same(to, carrier).then_some(value),
                _ => None,
            };
            let found = all[..k].iter().enumerate().rev().find_map(|(at, &t)| Some((at, given(t)?)));
            let Some((at, value)) = found else { continue };
            let is_alike = body.types.kind(body.ty(carrier)) == body.types.kind(body.ty(place));
            let Some(update) =
                is_alike.then(|| assignment(body, all[at], place, value, Some(keeps))).flatten()
            else {
                continue;
            };
            let apart = all[at + 1..k].iter().all(|&t| leaves_alone(body, t, place));
            if apart && is_set_and_read_once(body, root, carrier, all[at]) && is_lost(s) {
                out.push(update);
            }
        }
    }
    out
}

/// Accumulations through a variable that the accumulator is copied into first: `t = s, u = fabs(a[i]); s = t > u ? t : u;`. So do translators
/// from Fortran write what is the largest. `is_lost`: whether nobody reads a variable after the loop.
pub(crate) fn copied_updates(
    body: &Looked<'_>,
    root: TermId,
    is_lost: &dyn Fn(SymbolId) -> bool,
) -> Vec<Update> {
    let mut out = Vec::new();
    for all in lists(body, root) {
        for (k, &sets) in all.iter().enumerate() {
            let (Op::Assign, &[place, value]) = (body.op(sets), body.args(sets)) else { continue };
            // the variable, as a term of the value
            let copy = |t: TermId| match (body.op(t), body.args(t)) {
                (Op::Assign, &[to, of]) if body.same(of, place) => Some((body.as_symbol(to)?, of)),
                _ => None,
            };
            let found = all[..k].iter().enumerate().rev().find_map(|(at, &t)| Some((at, copy(t)?)));
            let Some((at, (s, read))) = found else { continue };
            let symbol = &body.symbols[s];
            let is_alike = body.types.kind(symbol.ty) == body.types.kind(body.ty(place));
            let Some(carrier) = body.walk(value).find(|&x| body.as_symbol(x) == Some(s)) else { continue };
            let Some(update) = (is_alike && symbol.is_own_scalar())
                .then(|| assignment(body, sets, carrier, value, None))
                .flatten()
            else {
                continue;
            };
            let named = |t: TermId| body.walk(t).filter(|&x| body.as_symbol(x) == Some(s)).count();
            let apart = all[at + 1..k].iter().all(|&t| leaves_alone(body, t, place) && named(t) == 0);
            // set once and read here alone
            let is_carrier_alone = named(root) == named(value) + 1;
            if apart
                && is_place(body, place)
                && !mentions(body, value, place)
                && is_carrier_alone
                && is_lost(s)
            {
                out.push(Update {
                    place,
                    occurrences: vec![read, place],
                    copied_by: Some(all[at]),
                    ..update
                });
            }
        }
    }
    out
}

/// Whether a statement neither moves a place nor touches what lies there.
fn leaves_alone(body: &Looked<'_>, statement: TermId, place: TermId) -> bool {
    let names: Vec<SymbolId> = body.walk(place).filter_map(|x| body.as_symbol(x)).collect();
    let member = own_member(body, place);
    let (mut named, mut elsewhere) = (0, 0);
    for x in body.walk(statement) {
        let calls = *body.op(x) == Op::Call && !body.callee(x).is_some_and(|f| is_pure_callee(body, f));
        if calls || member.is_none() && written(body, x).is_some_and(|s| names.contains(&s)) {
            return false;
        }
        named += usize::from(body.as_symbol(x).is_some_and(|s| names.first() == Some(&s)));
        let another = own_member(body, x).zip(member).is_some_and(|(a, b)| a.0 == b.0 && a.1 != b.1);
        elsewhere += usize::from(another);
    }
    named == elsewhere
}

/// The variable and the field of `s.f`, where no other field shares its bytes.
fn own_member(body: &Looked<'_>, place: TermId) -> Option<(SymbolId, usize)> {
    let (Op::Member { field, arrow: false }, &[of]) = (body.op(place), body.args(place)) else { return None };
    let TypeKind::Record(r) = body.types.kind(body.ty(of)) else { return None };
    let record = body.types.record(*r);
    let k = record.fields.iter().flatten().position(|f| f.name == *field)?;
    let is_plain = !record.is_union && record.fields.iter().flatten().all(|f| f.bits.is_none());
    is_plain.then_some((body.as_symbol(of)?, k))
}

/// The variable that a place is, or is a member of, if nobody else can reach it.
fn carrier_variable(body: &Looked<'_>, place: TermId) -> Option<SymbolId> {
    let s = body.as_symbol(place).or_else(|| Some(own_member(body, place)?.0))?;
    body.symbols[s].is_own_scalar().then_some(s)
}

/// Whether a variable, or a member of one, is set by this statement, read once, and named nowhere else.
fn is_set_and_read_once(body: &Looked<'_>, root: TermId, place: TermId, set_by: TermId) -> bool {
    let Some(s) = carrier_variable(body, place) else { return false };
    let (mut named, mut members, mut same) = (0, 0, 0);
    for x in body.walk(root) {
        named += usize::from(body.as_symbol(x) == Some(s));
        same += usize::from(body.same(x, place));
        members += usize::from(own_member(body, x).is_some_and(|m| m.0 == s));
    }
    // as a whole it is not named, so that each member goes its own way
    let apart = body.as_symbol(place).is_some() || members == named;
    let declared = usize::from(matches!(body.op(set_by), Op::Declare(_)));
    apart && same + declared == 2
}

fn update(body: &Looked<'_>, t: TermId) -> Option<Update> {
    let args = body.args(t);
    match body.op(t) {
        Op::Compound(op) => {
            let (place, value) = (args[0], args[1]);
            let op = match op {
                BinOp::Add | BinOp::Sub => ReductionOp::Add,
                BinOp::Mul => ReductionOp::Mul,
                BinOp::BitAnd => ReductionOp::BitAnd,
                BinOp::BitOr => ReductionOp::BitOr,
                BinOp::BitXor => ReductionOp::BitXor,
                _ => return None,
            };
            fits(body, op, t, body.ty(place), body.ty(value))?;
            let is_value =
                is_quiet(body, value) || only_steps(body, place, value) || sets_apart(body, place, value);
            let is_place = is_place(body, place) || is_moving_place(body, place) && is_quiet(body, value);
            (is_place && is_value && !mentions(body, value, place)).then_some(Update {
                op,
                place,
                occurrences: vec![place],
                statement: t,
                kept_by: None,
                copied_by: None,
            })
        }
        Op::Step { .. } => {
            let place = args[0];
            body.types.as_int(body.ty(place)).filter(|k| *k != IntKind::Bool)?;
            (is_place(body, place) || is_moving_place(body, place)).then(|| Update {
                op: ReductionOp::Add,
                place,
                occurrences: vec![place],
                statement: t,
                kept_by: None,
                copied_by: None,
            })
        }
        Op::Assign => assignment(body, t, args[0], args[1], None),
        Op::If if args.len() == 2 => guarded(body, t, args[0], args[1]),
        _ => None,
    }
}

pub(crate) fn is_place(body: &Looked<'_>, place: TermId) -> bool {
    matches!(body.op(place), Op::Sym(_) | Op::Index | Op::Member { .. } | Op::Deref) && is_quiet(body, place)
}

/// `s = s op e`, `s = e op s`, chains of `+` and `-`, `s = c ? a : b` and `s = fmin(s, e)`.
fn assignment(
    body: &Looked<'_>,
    t: TermId,
    place: TermId,
    value: TermId,
    kept_by: Option<TermId>,
) -> Option<Update> {
    if !is_place(body, place) {
        return None;
    }
    let make = |op, mut occurrences: Vec<TermId>| {
        occurrences.push(place);
        Some(Update { op, place, occurrences, statement: t, kept_by, copied_by: None })
    };
    match body.op(value) {
        Op::Binary(BinOp::Add | BinOp::Sub) => {
            let mut occurrences = Vec::new();
            let mut stack = vec![(value, true, 0)];
            while let Some((e, positive, depth)) = stack.pop() {
                if depth > 64 {
                    return None;
                }
                if body.same(e, place) {
                    if !positive {
                        return None;
                    }
                    occurrences.push(e);
                    continue;
                }
                match body.op(e) {
                    // Only look into sums of the same type: an inner narrower sum rounds or wraps by itself.
                    Op::Binary(BinOp::Add) if body.ty(e) == body.ty(value) => {
                        stack.extend(body.args(e).iter().map(|&a| (a, positive, depth + 1)));
                    }
                    Op::Binary(BinOp::Sub) if body.ty(e) == body.ty(value) => {
                        let a = body.args(e);
                        stack.push((a[0], positive, depth + 1));
                        stack.push((a[1], !positive, depth + 1));
                    }
                    _ if is_apart(body, place, e) && !mentions(body, e, place) => {}
                    _ => return None,
                }
            }
            fits(body, ReductionOp::Add, value, body.ty(place), body.ty(value))?;
            if occurrences.len() == 1 {
                make(ReductionOp::Add, occurrences)
            } else {
                None
            }
        }
        Op::Binary(op) => {
            let a = body.args(value);
            let (x, y) = (a[0], a[1]);
            let op = match op {
                BinOp::Mul => ReductionOp::Mul,
                BinOp::BitAnd => ReductionOp::BitAnd,
                BinOp::BitOr => ReductionOp::BitOr,
                BinOp::BitXor => ReductionOp::BitXor,
                BinOp::And => ReductionOp::And,
                BinOp::Or => ReductionOp::Or,
                _ => return None,
            };
            fits(body, op, value, body.ty(place), body.ty(value))?;
            let (own, other) = if body.same(x, place) { (x, y) } else { (y, x) };
            // `s && x`: the left side decides whether the right runs, so only `s` on the left, with a quiet right.
            if !body.same(own, place) || !is_quiet(body, other) || mentions(body, other, place) {
                return None;
            }
            make(op, vec![own])
        }
        Op::Select => {
            let a = body.args(value);
            let (c, x, y) = (a[0], a[1], a[2]);
            let (own, other, own_first) = if body.same(x, place) {
                (x, y, true)
            } else if body.same(y, place) {
                (y, x, false)
            } else {
                return None;
            };
            let (op, cond_own) = comparison(body, c, place, other, !own_first)?;
            fits(body, op, value, body.ty(place), body.ty(value))?;
            make(op, vec![own, cond_own])
        }
        Op::Call => {
            let a = body.args(value);
            let f = body.as_symbol(*a.first()?)?;
            if a.len() != 3 || !is_pure_callee(body, f) {
                return None;
            }
            let op = match &*body.symbols[f].name {
                "fmin" | "fminf" | "min" => ReductionOp::Min,
                "fmax" | "fmaxf" | "max" => ReductionOp::Max,
                _ => return None,
            };
            let (own, other) = if body.same(a[1], place) { (a[1], a[2]) } else { (a[2], a[1]) };
            fits(body, op, value, body.ty(place), body.ty(value))?;
            // A wider accumulator is rounded on its way through fminf.
            if body.types.as_float(body.ty(place)) != body.types.as_float(body.ty(value)) {
                return None;
            }
            (body.same(own, place) && is_quiet(body, other) && !mentions(body, other, place)).then_some(())?;
            make(op, vec![own])
        }
        _ => None,
    }
}

/// `if (e < s) s = e;` and its mirror images.
fn guarded(body: &Looked<'_>, t: TermId, condition: TermId, then: TermId) -> Option<Update> {
    let assign = match (body.op(then), body.args(then)) {
        (Op::List, &[only]) => only,
        (Op::Assign, _) => then,
        _ => return None,
    };
    if *body.op(assign) != Op::Assign {
        return None;
    }
    let (place, value) = (body.args(assign)[0], body.args(assign)[1]);
    if !is_place(body, place) {
        return None;
    }
    let (op, own) = comparison(body, condition, place, value, true)?;
    fits(body, op, t, body.ty(place), body.ty(value))?;
    Some(Update { op, place, occurrences: vec![own, place], statement: t, kept_by: None, copied_by: None })
}

/// `other REL place` (or mirrored): which extreme is kept if `take` says that `other` is taken when it holds.
fn comparison(
    body: &Looked<'_>,
    c: TermId,
    place: TermId,
    other: TermId,
    take: bool,
) -> Option<(ReductionOp, TermId)> {
    let Op::Binary(rel) = body.op(c) else { return None };
    let (l, r) = (body.args(c)[0], body.args(c)[1]);
    let (own, value, less) = if body.same(r, place) {
        (r, l, matches!(rel, BinOp::Lt | BinOp::Le))
    } else if body.same(l, place) {
        (l, r, matches!(rel, BinOp::Gt | BinOp::Ge))
    } else {
        return None;
    };
    if !matches!(rel, BinOp::Lt | BinOp::Le | BinOp::Gt | BinOp::Ge) {
        return None;
    }
    // The same value on both sides, and compared in a type that has it and what is kept: another orders otherwise.
    let is_same = is_apart(body, place, value) && same_value(body, value, other);
    let is_same = is_same || is_set_to(body, value, other, place);
    if !is_same || !is_apart(body, place, other) || mentions(body, other, place) {
        return None;
    }
    if !is_kept_in_order(body, body.ty(value), body.ty(place)) {
        return None;
    }
    Some((if less == take { ReductionOp::Min } else { ReductionOp::Max }, own))
}

/// `(t = e)`, where `other` is the variable `t`: what it holds from then on.
fn is_set_to(body: &Looked<'_>, value: TermId, other: TermId, place: TermId) -> bool {
    match (body.op(value), body.args(value), body.as_symbol(other)) {
        (Op::Assign, &[set, e], Some(s)) => {
            let plain = body.as_symbol(set) == Some(s) && body.symbols[s].is_own_scalar();
            plain && is_apart(body, place, e) && !mentions(body, e, place)
        }
        _ => false,
    }
}

/// Whether a place of type `to` holds every value of type `from`, and the two compare as the numbers that they are. Of floating numbers
/// it may be rounded: what is rounded keeps its order, so that the extreme of all is the extreme of all that are rounded.
fn is_kept_in_order(body: &Looked<'_>, from: TypeId, to: TypeId) -> bool {
    match (body.types.kind(from), body.types.kind(to)) {
        (a, b) if a == b => true,
        (TypeKind::Int(from), TypeKind::Int(to)) if *to != IntKind::Bool => {
            let holds =
                |outer: IntKind, inner: IntKind| outer.min() <= inner.min() && inner.max() <= outer.max();
            holds(*to, *from) && holds(from.common(*to), *to)
        }
        (TypeKind::Float(from), TypeKind::Float(to)) => *from != FloatKind::Long && *to != FloatKind::Long,
        _ => false,
    }
}

/// Whether accumulating a value of type `value` into a place of type `place`, by the operation at `at`, is associative up to
/// rounding.
fn fits(body: &Looked<'_>, op: ReductionOp, at: TermId, place: TypeId, value: TypeId) -> Option<()> {
    let q = body.types.quals(place);
    if q.is_volatile || q.is_atomic {
        return None;
    }
    match (body.types.kind(place), body.types.kind(value)) {
        // Each step ends in "is not 0" (C11 6.3.1.2), which no regrouping of sums keeps: (1 + -1) + 1.
        (TypeKind::Int(IntKind::Bool), _)
            if !matches!(op, ReductionOp::And | ReductionOp::Or | ReductionOp::BitOr) =>
        {
            None
        }
        // Modulo a power of two sums regroup, and where overflow means nothing they may be computed so. Exceptions come
        // in one order and not in another.
        (&TypeKind::Int(k), TypeKind::Int(_)) if matches!(op, ReductionOp::Add | ReductionOp::Mul) => {
            (body.overflow(k.promoted(), at) != Overflow::Traps).then_some(())
        }
        (TypeKind::Int(_), TypeKind::Int(_)) => Some(()),
        (TypeKind::Float(_), TypeKind::Float(_) | TypeKind::Int(_)) => {
            matches!(op, ReductionOp::Add | ReductionOp::Mul | ReductionOp::Min | ReductionOp::Max)
                .then_some(())
        }
        _ => None,
    }
}

/// A place that is evaluated once may move variables on the way, as a statement of its own would: `count[*p++]++`.
fn is_moving_place(body: &Looked<'_>, place: TermId) -> bool {
    let is_cell = matches!(body.op(place), Op::Index | Op::Member { .. } | Op::Deref);
    let moves = |p: TermId| body.as_symbol(p).is_some_and(|s| body.symbols[s].is_own_scalar());
    is_cell
        && body.walk(place).all(|x| match body.op(x) {
            Op::Step { .. } => body.args(x).first().is_some_and(|&p| moves(p)),
            Op::Call => body.only_gives(x),
            Op::Reject(_) | Op::Launch | Op::Apply(_) | Op::Comma => false,
            op => !op.is_write(),
        })
}

/// `s += *p++`, `s += a[i] = e`: a variable accumulates, and what it takes moves other variables, or is put into memory, as a statement
/// of its own would. No memory is a variable that has no address.
fn only_steps(body: &Looked<'_>, place: TermId, value: TermId) -> bool {
    let variable = |t: TermId| body.as_symbol(t);
    let is_own = variable(place).is_some_and(|s| body.symbols[s].is_own_scalar());
    variable(place).is_some()
        && body.walk(value).all(|x| match body.op(x) {
            Op::Step { .. } => is_own || body.args(x).first().is_some_and(|&p| variable(p).is_some()),
            Op::Assign | Op::Compound(_) => is_own,
            Op::Call => body.only_gives(x),
            Op::Reject(_) | Op::Launch | Op::Apply(_) | Op::Comma => false,
            op => !op.is_write(),
        })
}

/// `s += (t = x, t < 0 ? -t : t)`: besides, variables get values that have nothing to do with the place.
fn sets_apart(body: &Looked<'_>, place: TermId, value: TermId) -> bool {
    body.walk(value).all(|x| match body.op(x) {
        Op::Comma => true,
        Op::Assign | Op::Compound(_) | Op::Step { .. } => body
            .args(x)
            .first()
            .and_then(|&p| body.as_symbol(p))
            .is_some_and(|s| body.symbols[s].is_own_scalar() && !reads(body, place, s)),
        Op::Call => body.only_gives(x),
        Op::Reject(_) | Op::Launch | Op::Apply(_) => false,
        op => !op.is_write(),
    })
}

/// No side effects but such, and no calls that are not pure.
fn is_apart(body: &Looked<'_>, place: TermId, value: TermId) -> bool {
    is_quiet(body, value) || sets_apart(body, place, value)
}

/// Whether two expressions have the same value, one evaluated behind the other, whatever variables they put it into on the way:
/// `(t = x, f(t))` and `(u = x, f(u))`. (`(t = t + 1, t)` has another value the second time.)
pub(crate) fn same_value(body: &Looked<'_>, a: TermId, b: TermId) -> bool {
    if is_quiet(body, a) {
        return body.same(a, b);
    }
    let (Some((s, e, x)), Some((t, f, y))) = (through_variable(body, a), through_variable(body, b)) else {
        return false;
    };
    let kind = |s: SymbolId| body.types.kind(body.symbols[s].ty);
    kind(s) == kind(t) && body.same(e, f) && same_but_for(body, (x, s), (y, t))
}

/// `(t = e, f(t))` taken apart, where `e` and `f` only compute and `e` does not look at `t`.
fn through_variable(body: &Looked<'_>, value: TermId) -> Option<(SymbolId, TermId, TermId)> {
    let (Op::Comma, &[set, rest]) = (body.op(value), body.args(value)) else { return None };
    let (Op::Assign, &[to, e]) = (body.op(set), body.args(set)) else { return None };
    let s = body.as_symbol(to).filter(|&s| body.symbols[s].is_own_scalar())?;
    (is_quiet(body, e) && is_quiet(body, rest) && !reads(body, e, s)).then_some((s, e, rest))
}

/// Whether two terms are the same but for a variable that stands for another.
fn same_but_for(body: &Looked<'_>, (x, s): (TermId, SymbolId), (y, t): (TermId, SymbolId)) -> bool {
    let (mut left, mut right) = (body.walk(x), body.walk(y));
    loop {
        let (x, y) = match (left.next(), right.next()) {
            (None, None) => return true,
            (Some(x), Some(y)) => (x, y),
            _ => return false,
        };
        let named = [body.as_symbol(x), body.as_symbol(y)];
        let alike = body.op(x) == body.op(y) && body.args(x).len() == body.args(y).len();
        let same = alike && !named.contains(&Some(s)) && !named.contains(&Some(t));
        if body.types.kind(body.ty(x)) != body.types.kind(body.ty(y))
            || !(same || named == [Some(s), Some(t)])
        {
            return false;
        }
    }
}

/// No side effects and no calls that are not pure.
pub(crate) fn is_quiet(body: &Looked<'_>, t: TermId) -> bool {
    body.walk(t).all(|x| match body.op(x) {
        Op::Call => body.only_gives(x),
        Op::Reject(_) | Op::Launch | Op::Apply(_) | Op::Comma => false,
        op => !op.is_write(),
    })
}

/// Whether the term reads the accumulator. Other cells of the same array are the business of the dependence tests:
/// what they read is not among the accumulator's own occurrences.
pub(crate) fn mentions(body: &Looked<'_>, t: TermId, place: TermId) -> bool {
    match body.as_symbol(place) {
        Some(s) => reads(body, t, s),
        None => body.walk(t).any(|x| body.same(x, place)),
    }
}

pub(crate) fn reads(body: &Looked<'_>, t: TermId, s: SymbolId) -> bool {
    body.walk(t).any(|x| body.as_symbol(x) == Some(s))
}
