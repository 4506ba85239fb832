//! Elements that every way through an iteration touches: `if (c) a[i] = x; else a[i] = y;` touches `a[i]` whatever the data say.

use term::{BinOp, Body, Op, TermId};

use crate::algebra::poly::VarKind;
use crate::nest::{AffineAccess, Model};

/// What both branches of a condition touch, as accesses that each iteration of their loop makes.
pub(super) fn both_ways(model: &Model<'_>, mine: &[&AffineAccess]) -> Vec<AffineAccess> {
    // One access of a term for reading and one for writing: several are pieces of a value.
    let of = |t: TermId| mine.iter().copied().filter(move |a| a.term == t);
    let is_whole = |a: &&AffineAccess| {
        let known = a.subs.iter().all(|s| {
            let is_known = |x| !matches!(model.vars.kind(x), VarKind::Image | VarKind::Fresh);
            s.value.as_ref().is_some_and(|v| v.vars().all(is_known))
        });
        known && of(a.term).filter(|b| b.write == a.write).count() == 1
    };
    let unsure: Vec<&AffineAccess> =
        mine.iter().copied().filter(|a| !a.domain.exact || a.why.is_some()).filter(is_whole).collect();
    if unsure.len() < 2 {
        return Vec::new();
    }
    let mut out = Vec::new();
    for (at, l) in model.loops.iter().enumerate() {
        let Some(parts) = model.body.loop_parts(l.term).filter(|_| l.domain.exact) else { continue };
        let jumps = |t| {
            matches!(
                model.body.op(t),
                Op::Continue
                    | Op::Break
                    | Op::Goto(_)
                    | Op::Label(_)
                    | Op::Return
                    | Op::Switch
                    | Op::Reject(_)
            )
        };
        let mine: Vec<&AffineAccess> =
            unsure.iter().copied().filter(|a| a.loops.last() == Some(&at)).collect();
        if mine.len() < 2 || model.body.walk(parts.body).any(jumps) {
            continue;
        }
        for (a, write) in touched(model.body, parts.body, &mine) {
            out.push(AffineAccess { domain: l.domain.clone(), why: None, write, ..a.clone() });
        }
    }
    out
}

/// An access that is surely made, and whether it surely writes.
type Touched<'a> = Vec<(&'a AffineAccess, bool)>;

fn same(a: &AffineAccess, b: &AffineAccess) -> bool {
    let values = a.subs.iter().map(|s| &s.value).eq(b.subs.iter().map(|s| &s.value));
    values && a.base == b.base && a.fields == b.fields && a.inner == b.inner && a.inside == b.inside
}

/// The accesses that are made whenever the term is executed.
fn touched<'a>(body: &Body, t: TermId, all: &[&'a AffineAccess]) -> Touched<'a> {
    let args = body.args(t);
    let mut out: Touched<'a> = all.iter().filter(|a| a.term == t).map(|a| (*a, a.write)).collect();
    let both = |a: TermId, b: TermId| -> Touched<'a> {
        let (a, b) = (touched(body, a, all), touched(body, b, all));
        let pairs = a.iter().flat_map(|(x, w)| b.iter().map(move |(y, v)| (*x, *w, *y, *v)));
        pairs.filter(|(x, _, y, _)| same(x, y)).map(|(x, w, _, v)| (x, w && v)).collect()
    };
    match (body.op(t), args) {
        (Op::If | Op::Select, &[condition, then, otherwise]) => {
            out.extend(touched(body, condition, all));
            out.extend(both(then, otherwise));
        }
        (Op::If | Op::Binary(BinOp::And | BinOp::Or), &[first, ..]) => out.extend(touched(body, first, all)),
        (op, _) if op.is_loop() => {}
        _ => args.iter().for_each(|&a| out.extend(touched(body, a, all))),
    }
    out
}
