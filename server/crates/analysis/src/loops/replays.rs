//! Witnesses of one loop's dependences, shown by runs of its function.

use base::{Budget, IndexId};
use term::{Op, Storage, SymbolId, TermId};

use super::Context;
use crate::algebra::poly::{Constraint, Poly};
use crate::classify::scalars::carried_scalar;
use crate::flow::counted_loop::has_jump;
use crate::nest::{AffineAccess, Model};
use crate::replay_witness::{replay, ReplaySite, Replayed, Search};
use crate::{
    Dependence, DependenceKind, EntryOwner, NotReplayed, Obstacle, ObstacleKind, Param, Witness, Work,
};

/// The replays of one loop's witnesses.
pub(super) struct Replays<'c, 'a> {
    cx: &'c Context<'a>,
    place: Option<ReplaySite<'c>>,
    pub search: Search,
}

impl<'c, 'a> Replays<'c, 'a> {
    pub(super) fn new(cx: &'c Context<'a>) -> Replays<'c, 'a> {
        Replays { cx, place: None, search: Search::new() }
    }

    /// The dependence with a witness that a run of the function shows, or without one and with the reason. `ask`: the
    /// dependence with a witness on the way that the model has just now.
    pub(super) fn shown(
        &mut self,
        model: &Model<'_>,
        mut d: Dependence,
        budget: &Budget,
        ask: impl Fn() -> Option<Dependence>,
    ) -> Result<Dependence, Box<(Dependence, Obstacle)>> {
        let cx = self.cx;
        let place = self.place.get_or_insert_with(|| cx.place(model.root));
        let before = self.search.steps;
        let mut why = (NotReplayed::Steps, None);
        if let Some(w) = d.witness.clone() {
            match replay(place, &d, &w, &mut self.search) {
                Replayed::Seen(seen) => {
                    let d = with_cell(model, d, seen, &ask);
                    return self.paid(before, budget, d);
                }
                Replayed::Not(reason, at, arrived) => {
                    why = (reason, at);
                    // Another pair, for values with which runs do come to the loop on one way.
                    let mut asked: Vec<Vec<Constraint>> = Vec::new();
                    for a in arrived {
                        let way = a.constraints(|p| model.vars.param(p));
                        if way.is_empty() || asked.contains(&way) {
                            continue;
                        }
                        asked.push(way.clone());
                        let Some(other) = on_way(model, way, &ask) else { continue };
                        let Some(w) = other.witness.clone() else { continue };
                        if let Replayed::Seen(seen) = replay(place, &other, &w, &mut self.search) {
                            let d = with_cell(model, other, seen, &ask);
                            return self.paid(before, budget, d);
                        }
                    }
                }
            }
        }
        d.witness = None;
        let (reason, at) = why;
        let why = Obstacle { kind: ObstacleKind::NotReplayed(reason), term: at.unwrap_or(d.sink) };
        let d = self.paid(before, budget, d).unwrap_or_else(|unpaid| unpaid.0);
        Err(Box::new((d, why)))
    }

    /// Whether the run that shows it was given what objects hold that only this file writes: what it writes into them may rule that out.
    pub(super) fn rests_on_own_objects(&self, w: &Witness) -> bool {
        let body = self.cx.body;
        let is_open = |name: &str| {
            let mut named = body.symbols.iter().filter(|s| *s.name == *name);
            named.any(|s| matches!(s.storage, Storage::Global { internal: false, .. }))
        };
        w.entry.iter().any(|e| match &e.owner {
            EntryOwner::Global(name) => !is_open(name),
            EntryOwner::Other => true,
            EntryOwner::Parameter(_) | EntryOwner::Behind(_) => false,
        })
    }

    /// Takes what was used from the loop's budget.
    fn paid(
        &self,
        before: u64,
        budget: &Budget,
        mut d: Dependence,
    ) -> Result<Dependence, Box<(Dependence, Obstacle)>> {
        match budget.spend((before - self.search.steps) / 8) {
            Ok(()) => Ok(d),
            Err(_) => {
                d.witness = None;
                let term = d.sink;
                Err(Box::new((d, Obstacle { kind: ObstacleKind::Budget(Work::Witness), term })))
            }
        }
    }
}

/// The dependence with a witness for which this holds of the parameters.
fn on_way(
    model: &Model<'_>,
    way: Vec<Constraint>,
    ask: &impl Fn() -> Option<Dependence>,
) -> Option<Dependence> {
    *model.premises.way.borrow_mut() = way;
    let other = ask();
    model.premises.way.borrow_mut().clear();
    other
}

/// The dependence with the witness that a run has shown; the model says which cell it is, where it knows the same pair.
fn with_cell(
    model: &Model<'_>,
    mut d: Dependence,
    mut seen: Witness,
    ask: &impl Fn() -> Option<Dependence>,
) -> Dependence {
    let entry = std::mem::take(&mut seen.entry);
    if d.witness.as_ref() == Some(&seen) {
        d.witness = Some(Witness { entry, ..seen });
        return d;
    }
    let value = |(p, v): &(Param, i128)| {
        let var = model.vars.param(*p)?;
        Some(Constraint::zero(Poly::var(var).sub(&Poly::constant(*v))?))
    };
    let has = |all: &[(SymbolId, i128)], some: &[(SymbolId, i128)]| some.iter().all(|x| all.contains(x));
    // The run's values, all of them: the model does not know what else of its parameters was computed before the loop.
    let is_seen = |w: &Witness| {
        (w.source_iteration, w.sink_iteration) == (seen.source_iteration, seen.sink_iteration)
            && w.params.len() == seen.params.len()
            && w.params.iter().all(|p| seen.params.contains(p))
            && has(&w.source, &seen.source)
            && has(&w.sink, &seen.sink)
    };
    let way = seen.params.iter().filter_map(value).collect();
    let known = on_way(model, way, ask).and_then(|d| d.witness).filter(is_seen);
    d.witness = Some(Witness { entry, ..known.unwrap_or(seen) });
    d
}

/// What stands in the way where no run shows a dependence.
pub(super) fn of_unshown(
    cx: &Context<'_>,
    model: &Model<'_>,
    source: &AffineAccess,
    d: &Dependence,
    why: Obstacle,
) -> Obstacle {
    if !matches!(why.kind, ObstacleKind::NotReplayed(_)) {
        return why;
    }
    // where what is not linear was left out the iterations were but guessed
    let why = match model.premises.unproved {
        None => Obstacle { kind: ObstacleKind::Unproved, term: d.sink },
        Some(_) => why,
    };
    match carried_scalar(cx.body, source, why) {
        Obstacle { kind: ObstacleKind::CarriedScalar(s), .. } if is_handed_on(cx, model, d) => {
            Obstacle { kind: ObstacleKind::HandedOn(s), term: d.sink }
        }
        why => why,
    }
}

/// Whether every iteration but the first reads what the one before it wrote: neither access stands in a branch or an inner loop, and no
/// iteration ends before the other.
fn is_handed_on(cx: &Context<'_>, model: &Model<'_>, d: &Dependence) -> bool {
    let body = cx.body;
    let around = |t: TermId| std::iter::successors(Some(t), |t| cx.parents.get(t.index()).copied().flatten());
    let is_sure = |t: TermId| {
        around(t).skip(1).take_while(|&x| x != model.root).all(|x| match body.op(x) {
            Op::If | Op::Select | Op::Switch => false,
            Op::Binary(op) => !op.is_logical(),
            op => !op.is_loop(),
        })
    };
    let ends = body.loop_parts(model.root).is_none_or(|p| has_jump(body, p.body));
    d.kind == DependenceKind::Flow && !ends && is_sure(d.source) && is_sure(d.sink)
}
