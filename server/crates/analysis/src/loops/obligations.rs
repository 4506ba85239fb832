//! How what a loop's model took for granted is met: by proof, by a test of the host before the loop, or not at all. The
//! tests are expressions in the loop's parameters; how they are written in C is the emitter's matter.

use term::{BinOp, TermId};

use crate::algebra::bounds::Known;
use crate::algebra::poly::{Poly, Var, VarKind};
use crate::nest::{Model, Need, Obligation, Reading};
use crate::{Columns, ConditionKind, Expr, LoopFacts, MetBy, Obstacle, ObstacleKind, Pred};

pub(crate) fn meet_obligations(reading: &mut Reading<'_>, facts: &mut LoopFacts) {
    let obligations = std::mem::take(&mut reading.obligations);
    for (kind, met_by) in std::mem::take(&mut reading.exceptions) {
        facts.note(kind, met_by, None);
    }
    let model = &mut reading.model;
    let (mut flat, mut rest): (Vec<Obligation>, Vec<Obligation>) =
        obligations.into_iter().partition(|o| o.poly.vars().all(|v| model.is_param(v)));
    flat.append(&mut rest);
    let budget = model.budget.clone();
    let mut known = model.prover();
    let told = (!model.premises.asserted.is_empty())
        .then(|| Known::new(known.context.iter().chain(&model.premises.asserted).cloned().collect()));
    // what was asserted before need not hold where assertions are left out, but then nothing is asserted here either
    let is_told = |o: &Obligation| {
        let told = told.as_ref().filter(|_| matches!(o.kind, Need::Asserted(_)));
        told.is_some_and(|k| k.non_negative(&o.poly, &o.domain, &budget))
    };
    // conditions of which nothing more is asked, of one array, and those of which it is of another
    let (mut free, mut asked): (Vec<Need>, Vec<Need>) = (Vec::new(), Vec::new());
    for mut o in flat {
        if budget.left() == 0 {
            break;
        }
        if model.objects.reads_in_rows {
            goes_upwards(&mut o);
        }
        let poly = model.vars.linear(&o.poly).unwrap_or_else(|| o.poly.clone());
        let kind = condition_kind(&o.kind);
        if matches!(o.kind, Need::InRow { columns: Columns::Alone, .. }) {
            let list = if meet_length(model, &known, &o, facts) { &mut asked } else { &mut free };
            list.push(o.kind);
            continue;
        }
        if known.non_negative(&o.poly, &o.domain, &budget) || is_told(&o) {
            facts.note(kind, MetBy::Proof, None);
            continue;
        }
        if !model.objects.reads_in_rows && model.takes_box(&o.kind) {
            free.push(o.kind);
            continue;
        }
        match (&mut model.premises.unproved, poly.is_linear()) {
            (Some(list), true) => list.push(poly.clone()),
            (unproved, _) => *unproved = None,
        }
        let is_param = |v: Var| model.is_param(v);
        let found = known.sufficient(&o.poly, &o.domain, &is_param, &budget);
        // a value of which only bounds are known may be inside them all the same
        let is_exact = |v: Var| matches!(model.vars.kind(v), VarKind::Iter(_)) || model.is_param(v);
        let is_open = found.is_none() || !o.domain.exact || !o.poly.vars().all(is_exact);
        let some_test = found.is_some();
        let needs = found
            // A test that always fails would only hide that the answer is not known; so would one that only a loop of
            // one iteration passes.
            .filter(|ps| ps.iter().all(|p| p.as_constant().is_none_or(|c| c >= 0)))
            .filter(|ps| !ps.iter().any(|p| fails_when_it_matters(model, p, &known.context)));
        let always_fails = some_test && needs.is_none() && !is_open;
        let preds: Option<Vec<Pred>> =
            needs.as_ref().and_then(|ps| ps.iter().map(|p| pred_of(model, p)).collect());
        asked.push(o.kind.clone());
        match preds {
            Some(preds) if !preds.is_empty() => {
                let pred = if preds.len() == 1 { preds[0].clone() } else { Pred::And(preds) };
                if o.poly.vars().all(|v| model.is_param(v)) && poly.is_linear() {
                    // From here on it may be taken to hold: where it does not, the original loop runs.
                    model.premises.context.push(crate::algebra::poly::Constraint::non_negative(poly));
                    known = model.prover();
                }
                facts.note(kind, MetBy::RunTimeCheck, Some(pred));
            }
            Some(_) => facts.note(kind, MetBy::Proof, None),
            None if model.takes_box(&o.kind) => {}
            // that nothing is thrown can be seen while the loop runs on copies
            None if !always_fails && model.body.semantics.checked_bounds && is_test_of_bounds(&o.kind) => {
                facts.weaken(&kind);
            }
            None => {
                let term = condition_term(&o.kind);
                // nobody can promise that columns which go on into the next row do not
                let is_row = matches!(kind, ConditionKind::InRow { .. });
                let kind = match is_row && always_fails {
                    true => ObstacleKind::NonAffineSubscript,
                    false => ObstacleKind::NeedsPromise(kind),
                };
                facts.obstacles.push(Obstacle { kind, term });
            }
        }
    }
    // a half of one that was proved does not make it
    forget(facts, &free, &asked);
    if budget.left() == 0 {
        let kind = ObstacleKind::Budget(crate::Work::Obligations);
        facts.obstacles.push(Obstacle { kind, term: model.root });
    }
}

/// Rows that are to follow each other upwards have a length that is more than 0, whichever of their columns are used.
fn goes_upwards(o: &mut Obligation) {
    let Need::InRow { columns: columns @ Columns::Alone, .. } = &mut o.kind else { return };
    *columns = Columns::First;
    // what cannot be written down is not met
    o.poly = o.poly.add_constant(-1).unwrap_or_else(|| Poly::constant(-1));
}

/// That the length of rows is not 0, which is asked where one column of them is used alone. Whether it matters.
fn meet_length(model: &mut Model<'_>, known: &Known, o: &Obligation, facts: &mut LoopFacts) -> bool {
    let Need::InRow { base, .. } = o.kind else { return true };
    let kind = condition_kind(&o.kind);
    let is_positive = |p: Option<Poly>| {
        let less = p.and_then(|p| p.add_constant(-1));
        less.is_some_and(|p| known.non_negative(&p, &o.domain, &model.budget))
    };
    if is_positive(Some(o.poly.clone())) {
        facts.note(kind, MetBy::Proof, None);
        return true;
    }
    let is_another = is_positive(o.poly.scale(-1)) || model.premises.is_not_zero(&o.poly);
    if model.takes_box(&o.kind) {
        return false;
    }
    model.objects.either_way.insert(base);
    if is_another {
        facts.note(kind, MetBy::Proof, None);
        return true;
    }
    // a witness may go upwards
    let least = model.vars.linear(&o.poly).and_then(|p| p.add_constant(-1));
    match (&mut model.premises.unproved, least) {
        (Some(list), Some(least)) => list.push(least),
        (unproved, _) => *unproved = None,
    }
    match expr_of(model, &o.poly) {
        Some(e) => {
            let differs = Some(Pred::Not(Box::new(Pred::Zero(e))));
            // one test for all that go by it
            match facts.conditions.iter().any(|c| c.met_by == MetBy::RunTimeCheck && c.check == differs) {
                true => facts.note(kind, MetBy::Proof, None),
                false => facts.note(kind, MetBy::RunTimeCheck, differs),
            }
        }
        None => {
            let kind = ObstacleKind::NeedsPromise(kind);
            facts.obstacles.push(Obstacle { kind, term: condition_term(&o.kind) });
        }
    }
    true
}

/// Leaves out the conditions of needs of which nothing more is asked: what is asked of one array says nothing of another.
fn forget(facts: &mut LoopFacts, free: &[Need], asked: &[Need]) {
    let is_kind = |n: &Need, kind: &ConditionKind| condition_kind(n) == *kind;
    let is_free = |kind: &ConditionKind| {
        let of_others = asked.iter().any(|n| is_kind(n, kind) && !free.contains(n));
        free.iter().any(|n| is_kind(n, kind)) && !of_others
    };
    facts.conditions.retain(|c| !is_free(&c.kind));
}

/// Whether `p >= 0` fails for sure where the root has two iterations or more.
fn fails_when_it_matters(model: &Model<'_>, p: &Poly, known: &[crate::algebra::poly::Constraint]) -> bool {
    let counted = model.loops[0].trips.as_ref().and_then(|n| n.add_constant(-2));
    let Some(trips) = counted.or_else(|| has_second(model)) else { return false };
    let Some(fails) = p.scale(-1).and_then(|p| p.add_constant(-1)) else { return false };
    let mut more = vec![crate::algebra::poly::Constraint::non_negative(trips)];
    more.extend_from_slice(known);
    crate::algebra::bounds::non_negative(
        &fails,
        &crate::algebra::poly::Domain::always(),
        &more,
        &model.budget,
    )
}

/// What is not negative where a root that goes on by what is no constant has a second iteration.
fn has_second(model: &Model<'_>) -> Option<Poly> {
    let l = &model.loops[0];
    let c = l.control.as_ref().filter(|c| c.offset == 0 && !c.at_least_once && !c.pointer)?;
    let (counter, limit) = (l.iteration.as_ref()?.as_var()?, l.limit.as_ref()?);
    let second = l.index.as_ref()?.1.replaced(counter, &Poly::constant(1))?;
    match c.relation {
        BinOp::Lt => limit.sub(&second)?.add_constant(-1),
        BinOp::Le => limit.sub(&second),
        BinOp::Gt => second.sub(limit)?.add_constant(-1),
        BinOp::Ge => second.sub(limit),
        _ => None,
    }
}

fn is_test_of_bounds(need: &Need) -> bool {
    matches!(need, Need::Bounds { .. })
}

fn condition_kind(need: &Need) -> ConditionKind {
    match need {
        Need::NoWrap(t) => ConditionKind::NoWrap(*t),
        Need::Bounds { access, length } => match length {
            crate::nest::Length::Const(n) => {
                ConditionKind::Bounds { access: *access, length_term: None, length: Some(*n) }
            }
            crate::nest::Length::Term(t, _) => {
                ConditionKind::Bounds { access: *access, length_term: Some(*t), length: None }
            }
        },
        &Need::InRow { access, stride, times, columns, .. } => {
            ConditionKind::InRow { access, stride, times, columns }
        }
        Need::Asserted(t) => ConditionKind::Asserted(*t),
        Need::StepSign(t) => ConditionKind::StepSign(*t),
        Need::Terminates(t) => ConditionKind::Terminates(*t),
        Need::Trips(t) => ConditionKind::Trips(*t),
    }
}

fn condition_term(need: &Need) -> TermId {
    match need {
        Need::NoWrap(t) | Need::Asserted(t) | Need::StepSign(t) | Need::Terminates(t) | Need::Trips(t) => *t,
        Need::Bounds { access, .. } | Need::InRow { access, .. } => *access,
    }
}

/// That a value in parameters is not negative. Of a choice, which is 0 or 1, `-c >= 0` says that it is not made and `c >= 1` that it is.
fn pred_of(model: &Model<'_>, p: &Poly) -> Option<Pred> {
    let e = expr_of(model, p)?;
    let choice =
        |e: &Expr| matches!(e, Expr::Param(c) if c.is_truth(model.body)).then(|| Pred::Zero(e.clone()));
    let (denied, made) = match &e {
        Expr::Mul(-1, of) => (choice(of), None),
        Expr::Add(parts) => match &parts[..] {
            [c, Expr::Int(-1)] | [Expr::Int(-1), c] => (None, choice(c)),
            _ => (None, None),
        },
        _ => (None, None),
    };
    let made = made.map(|none| Pred::Not(Box::new(none)));
    Some(denied.or(made).unwrap_or(Pred::NonNegative(e)))
}

/// A value in parameters as an expression for the host.
pub(crate) fn expr_of(model: &Model<'_>, p: &Poly) -> Option<Expr> {
    let mut sum = Vec::new();
    for (m, c) in p.terms() {
        let mut factors = Vec::new();
        for &v in m {
            match model.vars.kind(v) {
                VarKind::Param(p) if model.vars.has_text(v) => factors.push(Expr::Param(*p)),
                VarKind::Quotient => {
                    let (of, by) = model.vars.numerator(v)?;
                    factors.push(Expr::FloorDiv(Box::new(expr_of(model, of)?), *by));
                }
                VarKind::Product(fs) => {
                    for &f in fs {
                        match model.vars.kind(f) {
                            VarKind::Param(p) if model.vars.has_text(f) => factors.push(Expr::Param(*p)),
                            _ => return None,
                        }
                    }
                }
                _ => return None,
            }
        }
        let mut e = match factors.pop() {
            None => {
                sum.push(Expr::Int(c));
                continue;
            }
            Some(e) => e,
        };
        while let Some(f) = factors.pop() {
            e = Expr::Product(Box::new(f), Box::new(e));
        }
        sum.push(if c == 1 { e } else { Expr::Mul(c, Box::new(e)) });
    }
    Some(match sum.len() {
        0 => Expr::Int(0),
        1 => sum.remove(0),
        _ => Expr::Add(sum),
    })
}
