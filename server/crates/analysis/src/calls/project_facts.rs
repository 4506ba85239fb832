//! Facts of a body with calls written into it, said of the body itself.
//!
//! A term that came out of a call becomes the call; what has no name in the body (a variable of the called function) is
//! left out where it does not matter, and makes the answer unknown where it does.

use std::sync::Arc;

use term::TermId;

use crate::calls::files::plain_name;
use crate::calls::inline::Expanded;
use crate::{
    Condition, ConditionKind, Control, Dependence, Facts, LoopFacts, MetBy, Object, Obstacle, ObstacleKind,
    Param, Pred, RecurrenceKind, Step, TroubleKind, Verdict,
};

pub(crate) fn settle(e: &Expanded, facts: &mut Facts) {
    for id in facts.loops.ids().collect::<Vec<_>>() {
        one(e, &mut facts.loops[id]);
    }
}

/// A name as its file has it.
fn plain(name: &Arc<str>) -> Arc<str> {
    match plain_name(name) {
        same if same.len() == name.len() => name.clone(),
        plain => plain.into(),
    }
}

/// Conditions as the body itself says them; what stands in the way where one cannot be said.
pub(crate) fn conditions(e: &Expanded, mut all: Vec<Condition>) -> Result<Vec<Condition>, Obstacle> {
    for c in &mut all {
        if let Some(o) = unmet(e, c) {
            return Err(o);
        }
        condition_kind(e, &mut c.kind);
    }
    Ok(all)
}

fn one(e: &Expanded, l: &mut LoopFacts) {
    if let Ok(c) = &mut l.control {
        control(e, c);
    } else if let Err(o) = &mut l.control {
        obstacle(e, o);
    }
    let mut lost: Vec<Obstacle> = Vec::new();
    l.conditions.retain_mut(|c| {
        if let Some(o) = unmet(e, c) {
            lost.push(o);
            return false;
        }
        // Proved of rows that have no name here: nothing to show.
        if matches!(&c.kind, ConditionKind::DistinctRows(o) if !e.is_own_symbol(o.symbol)) {
            return false;
        }
        condition_kind(e, &mut c.kind);
        true
    });
    // What accumulates in a variable of a called function stays there for the next to call it, and has no name here.
    for r in &l.reductions {
        if !e.is_own_symbol(r.object.symbol) {
            let at = e.came_with(r.object.symbol).unwrap_or(r.place);
            let name = plain(&e.body.symbols[r.object.symbol].name);
            let kind = match e.caller_of(at).or_else(|| e.caller_of(r.place)) {
                Some(function) => ObstacleKind::Call { function, why: TroubleKind::State, name },
                None => ObstacleKind::NotUnderstood,
            };
            lost.push(Obstacle { kind, term: at });
        }
    }
    if !lost.is_empty() && matches!(l.verdict, Verdict::Independent | Verdict::Reduction) {
        l.verdict = Verdict::Unknown;
        l.obstacles.extend(lost);
    }
    // Two conditions of one call may have become the same.
    let mut conditions: Vec<Condition> = Vec::new();
    for c in l.conditions.drain(..) {
        match conditions.iter_mut().find(|o| o.kind == c.kind) {
            None => conditions.push(c),
            Some(o) => join(o, c),
        }
    }
    l.conditions = conditions;
    for d in &mut l.dependences {
        dependence(e, d);
    }
    for o in &mut l.obstacles {
        obstacle(e, o);
    }
    let mut seen: Vec<Obstacle> = Vec::new();
    l.obstacles.retain(|o| {
        let new = !seen.contains(o);
        if new {
            seen.push(o.clone());
        }
        new
    });
    l.privates.retain(|p| e.is_own_symbol(p.symbol));
    l.inductions.retain(|i| e.is_own_symbol(i.symbol));
    for i in &mut l.inductions {
        i.update = e.home(i.update);
    }
    // A name for what a called function does is a name of nothing here.
    l.recurrences.retain(|r| {
        let counter = match r.kind {
            RecurrenceKind::Packing { counter } => e.is_own_symbol(counter),
            _ => true,
        };
        counter && r.object.as_ref().is_none_or(|o| e.is_own_symbol(o.symbol))
    });
    for r in &mut l.recurrences {
        if let Some(o) = &mut r.object {
            object(e, o, r.term);
        }
        r.term = e.home(r.term);
    }
    for r in &mut l.reductions {
        r.key = r.key.map(|k| e.home(k));
        object(e, &mut r.object, r.place);
        r.place = e.home(r.place);
        for u in &mut r.updates {
            *u = e.home(*u);
        }
        r.updates.dedup();
    }
}

fn control(e: &Expanded, c: &mut Control) {
    c.lower = e.home(c.lower);
    // A bound that was made up (see `inline::structure`) has no text of its own.
    c.bound = c.bound.filter(|&b| e.is_own(b) || !is_condition(&e.body, e.home(b))).map(|b| e.home(b));
    if let Step::Term { term, .. } = &mut c.step {
        *term = e.home(*term);
    }
}

/// Whether the term is a truth value: no bound is written like that.
pub(crate) fn is_condition(body: &term::Body, t: TermId) -> bool {
    matches!(body.op(t), term::Op::Binary(op) if op.is_comparison() || op.is_logical())
}

/// A condition that the host would have to test with a variable it does not have.
fn unmet(e: &Expanded, c: &Condition) -> Option<Obstacle> {
    let objects = match &c.kind {
        ConditionKind::NoAlias(a, b) => [Some(a.symbol), Some(b.symbol)],
        ConditionKind::Pure(f) => [Some(*f), None],
        ConditionKind::DistinctRows(o) => [Some(o.symbol), None],
        _ => [None, None],
    };
    let named = objects.iter().flatten().all(|&s| e.is_own_symbol(s));
    let testable = c.check.as_ref().is_none_or(|p| e.is_own_pred(p));
    if c.met_by == MetBy::Proof || (named && testable) {
        return None;
    }
    let kind = match &c.kind {
        ConditionKind::NoAlias(a, b) => ObstacleKind::MayAlias(a.clone(), b.clone()),
        k => ObstacleKind::NeedsPromise(k.clone()),
    };
    let term = match &c.kind {
        ConditionKind::NoWrap(t)
        | ConditionKind::Injective(t)
        | ConditionKind::Sorted(t)
        | ConditionKind::AtMost { array: t, .. }
        | ConditionKind::Asserted(t)
        | ConditionKind::StepSign(t)
        | ConditionKind::Terminates(t)
        | ConditionKind::Trips(t)
        | ConditionKind::NotNull(t)
        | ConditionKind::NonZero(t)
        | ConditionKind::NoOverflow(t)
        | ConditionKind::Bounds { access: t, .. }
        | ConditionKind::InRow { access: t, .. } => *t,
        ConditionKind::NoAlias(a, b) => {
            let foreign = [a.symbol, b.symbol].into_iter().find_map(|s| e.came_with(s));
            foreign.unwrap_or(e.body.root)
        }
        _ => e.body.root,
    };
    Some(Obstacle { kind, term })
}

fn join(o: &mut Condition, c: Condition) {
    let Some(p) = c.check else {
        if c.met_by > o.met_by {
            o.met_by = c.met_by;
        }
        return;
    };
    o.met_by = c.met_by;
    o.check = Some(match o.check.take() {
        None => p,
        Some(q) if q == p => p,
        Some(Pred::And(mut ps)) => {
            ps.push(p);
            Pred::And(ps)
        }
        Some(q) => Pred::And(vec![q, p]),
    });
}

fn condition_kind(e: &Expanded, k: &mut ConditionKind) {
    match k {
        ConditionKind::NoWrap(t)
        | ConditionKind::Injective(t)
        | ConditionKind::Sorted(t)
        | ConditionKind::Asserted(t)
        | ConditionKind::StepSign(t)
        | ConditionKind::Trips(t)
        | ConditionKind::NotNull(t)
        | ConditionKind::NonZero(t)
        | ConditionKind::NoOverflow(t)
        | ConditionKind::Terminates(t) => *t = e.home(*t),
        ConditionKind::Bounds { access, length_term, .. } => {
            *access = e.home(*access);
            if let Some(t) = length_term {
                *t = e.home(*t);
            }
        }
        ConditionKind::AtMost { array, term, .. } => {
            *array = e.home(*array);
            if let Some(t) = term {
                *t = e.home(*t);
            }
        }
        ConditionKind::InRow { access, stride, .. } => {
            *access = e.home(*access);
            *stride = e.home(*stride);
        }
        ConditionKind::NoAlias(a, b) => {
            a.symbol = e.own_symbol(a.symbol).unwrap_or(a.symbol);
            b.symbol = e.own_symbol(b.symbol).unwrap_or(b.symbol);
        }
        ConditionKind::DistinctRows(o) => o.symbol = e.own_symbol(o.symbol).unwrap_or(o.symbol),
        // expressions of promises are the body's own
        ConditionKind::InRange { .. }
        | ConditionKind::Size { .. }
        | ConditionKind::Pure(_)
        | ConditionKind::RoundsToNearest
        | ConditionKind::KeepsSmall
        | ConditionKind::Reassociate(..) => {}
    }
}

fn dependence(e: &Expanded, d: &mut Dependence) {
    let at = if e.caller_of(d.source).is_some() { d.source } else { d.sink };
    object(e, &mut d.object, at);
    d.source = e.home(d.source);
    d.sink = e.home(d.sink);
    // Loops of called functions stand innermost and are not listed.
    d.direction.truncate(d.loops.len());
    d.distance.truncate(d.loops.len());
    if let Some(w) = &mut d.witness {
        w.params.retain(|(p, _)| match p {
            Param::Symbol(s) => e.is_own_symbol(*s),
            Param::Term(t) => e.is_own(*t),
            Param::Distance { from, to } => e.is_own(*from) && e.is_own(*to),
            Param::Row(_) | Param::Longest(_) | Param::End { .. } => true,
        });
        w.source.retain(|(s, _)| e.is_own_symbol(*s));
        w.sink.retain(|(s, _)| e.is_own_symbol(*s));
    }
}

/// An obstacle of the body with calls written out, said of the body itself.
pub(crate) fn obstacle(e: &Expanded, o: &mut Obstacle) {
    if let Some((kind, at)) = foreign(e, o) {
        o.kind = kind;
        o.term = at;
    }
    o.term = e.home(o.term);
    match &mut o.kind {
        ObstacleKind::IndirectSubscript(t) => *t = e.home(*t),
        ObstacleKind::NeedsPromise(k) => condition_kind(e, k),
        ObstacleKind::MayAlias(a, b) | ObstacleKind::SameArray(a, b) => {
            a.symbol = e.own_symbol(a.symbol).unwrap_or(a.symbol);
            b.symbol = e.own_symbol(b.symbol).unwrap_or(b.symbol);
        }
        ObstacleKind::UnknownPointer(s)
        | ObstacleKind::Unsized(s)
        | ObstacleKind::CarriedScalar(s)
        | ObstacleKind::HandedOn(s)
        | ObstacleKind::LiveOut(s)
        | ObstacleKind::CopiedBothWays(s)
        | ObstacleKind::PointerElements(s)
        | ObstacleKind::OwnCells(s) => *s = e.own_symbol(*s).unwrap_or(*s),
        _ => {}
    }
}

/// An obstacle about a name that the body does not have, said of the call it came from, and that call.
fn foreign(e: &Expanded, o: &Obstacle) -> Option<(ObstacleKind, TermId)> {
    let (symbols, why) = match &o.kind {
        ObstacleKind::UnknownCall(f) => ([Some(*f), None], TroubleKind::UnknownCall),
        ObstacleKind::Call { function, why, .. } => ([Some(*function), None], *why),
        ObstacleKind::UnknownPointer(s) | ObstacleKind::PointerElements(s) => {
            ([Some(*s), None], TroubleKind::Memory)
        }
        ObstacleKind::CarriedScalar(s)
        | ObstacleKind::HandedOn(s)
        | ObstacleKind::LiveOut(s)
        | ObstacleKind::CopiedBothWays(s)
        | ObstacleKind::OwnCells(s) => ([Some(*s), None], TroubleKind::Global),
        ObstacleKind::MayAlias(a, b) | ObstacleKind::SameArray(a, b) => {
            ([Some(a.symbol), Some(b.symbol)], TroubleKind::Global)
        }
        ObstacleKind::NeedsPromise(ConditionKind::NoAlias(a, b)) => {
            ([Some(a.symbol), Some(b.symbol)], TroubleKind::Global)
        }
        ObstacleKind::NeedsPromise(ConditionKind::DistinctRows(o)) => {
            ([Some(o.symbol), None], TroubleKind::Memory)
        }
        _ => return None,
    };
    let symbol = symbols.into_iter().flatten().find(|&s| !e.is_own_symbol(s))?;
    // A path is no name: memory that a pointer in memory leads to.
    let why = match e.body.symbols[symbol].storage {
        term::Storage::Path => TroubleKind::Memory,
        _ => why,
    };
    let said = match &o.kind {
        ObstacleKind::Call { name, .. } if !name.is_empty() => plain(name),
        _ => plain(&e.body.symbols[symbol].name),
    };
    // a path came with the first call in which it stands
    let leads = |t: TermId| e.body.path_of(t).is_some_and(|p| p.own == symbol || p.family == symbol);
    let is_call = |t: &TermId| e.caller_of(*t).is_some();
    let path = || e.body.walk(e.body.root).find(|&t| leads(t) && is_call(&t));
    // a name that several calls bring came with the first of them
    let given = Some(o.term).filter(is_call).or(e.came_with(symbol).filter(is_call));
    let at = given.or_else(path).unwrap_or(o.term);
    let kind = match e.caller_of(at) {
        Some(function) => ObstacleKind::Call { function, why, name: said },
        None => ObstacleKind::NotUnderstood,
    };
    Some((kind, at))
}

/// A variable that the body does not name: the function that uses it, and its name.
fn object(e: &Expanded, o: &mut Object, at: TermId) {
    if let Some(s) = e.own_symbol(o.symbol) {
        o.symbol = s;
    } else {
        let name = plain(&e.body.symbols[o.symbol].name);
        if let Some(f) = e.caller_of(at) {
            o.symbol = f;
            o.fields.insert(0, name);
        }
    }
}
