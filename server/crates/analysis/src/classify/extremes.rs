//! Extremes with what belongs to them: `if (x < m) { m = x; k = i; }`, and `if (a[i] < a[k]) k = i;`, where the extreme and its
//! companions are variables, or cells of memory: `*m`, `best->at`.
//!
//! Only iterations in which the comparison holds count, so a NaN never does; among the others the extreme decides, and
//! among equal values the first iteration (`<`, `>`) or the last (`<=`, `>=`). That is what the loop computes in its
//! own order, to the bit: of values that compare equal it keeps the one of that iteration.

use term::{BinOp, Op, TermId};

use crate::classify::reductions::{is_place, is_quiet, mentions, reads, same_value, Looked};
use crate::flow::terms::statements;
use crate::ReductionOp;

/// One statement that keeps an extreme and its companions.
#[derive(Clone, Debug)]
pub(crate) struct Extreme {
    pub op: ReductionOp,
    /// What the statement sets: the extreme first, unless the one companion names the cell that holds it.
    pub kept: Vec<Kept>,
    pub has_key: bool,
    /// Without a key: the cell compared, which but for the companion must be the same in all iterations, and what it is compared
    /// with, which has the iteration's number in the companion's place.
    pub cell: Option<(TermId, TermId)>,
    pub statement: TermId,
}

/// A variable or a cell that such a statement sets.
#[derive(Clone, Debug)]
pub(crate) struct Kept {
    /// Where it is set.
    pub place: TermId,
    /// Every occurrence in the statement, `place` first.
    pub occurrences: Vec<TermId>,
}

impl Extreme {
    /// Whether two statements keep the same extreme in the same places.
    pub(crate) fn is_like(&self, body: &Looked<'_>, other: &Extreme) -> bool {
        self.op == other.op
            && self.has_key == other.has_key
            && self.kept.len() == other.kept.len()
            && self.kept.iter().zip(&other.kept).all(|(a, b)| body.same(a.place, b.place))
    }
}

/// All such statements under a term.
pub(crate) fn extremes(body: &Looked<'_>, root: TermId) -> Vec<Extreme> {
    statements(body, root)
        .into_iter()
        .filter_map(|a| with_key(body, a).or_else(|| by_place(body, a)))
        .collect()
}

/// Where something is written, and the value.
type Assigned = (TermId, TermId);

/// The condition of an `if` without `else` that does nothing but assign to places, and these assignments.
fn assignments(body: &Looked<'_>, t: TermId) -> Option<(TermId, Vec<Assigned>)> {
    let (Op::If, &[condition, then]) = (body.op(t), body.args(t)) else { return None };
    let statements = match body.op(then) {
        Op::List => body.args(then).to_vec(),
        _ => vec![then],
    };
    let mut out = Vec::new();
    for s in statements {
        match (body.op(s), body.args(s)) {
            (Op::Empty, _) => {}
            (Op::Assign, &[place, value]) if is_place(body, place) => out.push((place, value)),
            _ => return None,
        }
    }
    // no place twice, and none that another of them moves
    let apart = |k: usize| out.iter().enumerate().all(|(o, a)| o == k || !mentions(body, out[k].0, a.0));
    (0..out.len()).all(apart).then_some((condition, out))
}

/// The comparison with `s` that decides, among further conditions that do not look at any of the variables.
fn comparison(
    body: &Looked<'_>,
    condition: TermId,
    s: &dyn Fn(TermId) -> bool,
) -> Option<(BinOp, TermId, TermId)> {
    let mut found = None;
    let mut stack = vec![condition];
    while let Some(c) = stack.pop() {
        let Op::Binary(op) = body.op(c) else { return None };
        let (l, r) = (body.args(c)[0], body.args(c)[1]);
        match op {
            BinOp::And => {
                // Either side may be the comparison; the other is looked through by the caller's count of uses.
                let here =
                    |t: TermId| matches!(body.op(t), Op::Binary(o) if *o == BinOp::And || o.is_comparison());
                let decides = |t: TermId| body.walk(t).any(s);
                match (decides(l) && here(l), decides(r) && here(r)) {
                    (true, false) if is_quiet(body, r) && !decides(r) => stack.push(l),
                    (false, true) if is_quiet(body, l) && !decides(l) => stack.push(r),
                    _ => return None,
                }
            }
            BinOp::Lt | BinOp::Le | BinOp::Gt | BinOp::Ge if found.is_none() => found = Some((*op, l, r)),
            _ => return None,
        }
    }
    found
}

/// As `other REL own`: the operator that is kept, and whether the last of equals counts.
fn operator(rel: BinOp) -> ReductionOp {
    match rel {
        BinOp::Lt => ReductionOp::ArgMin { last: false },
        BinOp::Le => ReductionOp::ArgMin { last: true },
        BinOp::Gt => ReductionOp::ArgMax { last: false },
        _ => ReductionOp::ArgMax { last: true },
    }
}

/// `if (x < m) { m = x; k = i; }`
fn with_key(body: &Looked<'_>, t: TermId) -> Option<Extreme> {
    let (condition, assigned) = assignments(body, t)?;
    if assigned.len() < 2 {
        return None;
    }
    for &(key, value) in &assigned {
        let is_key = |x: TermId| body.same(x, key);
        let Some((rel, l, r)) = comparison(body, condition, &is_key) else { continue };
        let (rel, own, other) = if is_key(r) {
            (rel, r, l)
        } else if is_key(l) {
            (rel.mirrored(), l, r)
        } else {
            continue;
        };
        // The value compared is the value kept, in one type: a conversion between them would order otherwise.
        let kinds = [other, value].map(|x| body.types.kind(body.ty(x)));
        let one_type = kinds.iter().all(|k| *k == body.types.kind(body.ty(key)));
        if !same_value(body, other, value) || !one_type {
            continue;
        }
        let apart = |x: TermId| !assigned.iter().any(|a| mentions(body, x, a.0));
        // what is kept beside the extreme only computes
        let clean = |a: &Assigned| apart(a.1) && (a.0 == key || is_quiet(body, a.1));
        if !assigned.iter().all(clean) || !apart(other) {
            continue;
        }
        let mut kept = vec![Kept { place: key, occurrences: vec![key, own] }];
        let companions = assigned.iter().map(|a| a.0).filter(|&p| p != key);
        kept.extend(companions.map(|place| Kept { place, occurrences: vec![place] }));
        // variables in the order of their declarations, so that the order of the text does not matter
        kept[1..].sort_by_key(|k| body.as_symbol(k.place));
        return Some(Extreme { op: operator(rel), kept, has_key: true, cell: None, statement: t });
    }
    None
}

/// `if (a[i] < a[k]) k = i;`: `k` names the cell that holds the extreme.
fn by_place(body: &Looked<'_>, t: TermId) -> Option<Extreme> {
    let (condition, assigned) = assignments(body, t)?;
    let [(place, value)] = assigned[..] else { return None };
    let Op::Sym(i) = *body.op(value) else { return None };
    let kind = |x: TermId| body.types.as_int(body.ty(x));
    if mentions(body, value, place) || kind(place).is_none() || kind(place) != kind(value) {
        return None;
    }
    let is_k = |x: TermId| body.same(x, place);
    let (rel, l, r) = comparison(body, condition, &is_k)?;
    let (rel, own, other) = match (body.walk(l).any(is_k), body.walk(r).any(is_k)) {
        (false, true) => (rel, r, l),
        (true, false) => (rel.mirrored(), l, r),
        _ => return None,
    };
    if body.types.kind(body.ty(l)) != body.types.kind(body.ty(r)) || !is_quiet(body, l) || !is_quiet(body, r)
    {
        return None;
    }
    // The two sides differ in nothing but `k` standing where the other has `i`.
    let mut occurrences = vec![place];
    let mut pairs = vec![(own, other)];
    while let Some((x, y)) = pairs.pop() {
        if is_k(x) && body.as_symbol(y) == Some(i) {
            occurrences.push(x);
            continue;
        }
        let alike = body.op(x) == body.op(y)
            && body.args(x).len() == body.args(y).len()
            && body.types.kind(body.ty(x)) == body.types.kind(body.ty(y));
        if !alike {
            return None;
        }
        pairs.extend(body.args(x).iter().copied().zip(body.args(y).iter().copied()));
    }
    // What is compared must be the same function of `k` and `i`: `i` itself must not remain. Where it is `k` itself, that is no
    // place, but the extreme.
    if reads(body, own, i) || occurrences.len() < 2 || is_k(own) {
        return None;
    }
    let kept = vec![Kept { place, occurrences }];
    Some(Extreme { op: operator(rel), kept, has_key: false, cell: Some((own, other)), statement: t })
}
