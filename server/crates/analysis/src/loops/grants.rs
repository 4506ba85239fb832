//! Loops that only a way out stands against (an error that is reported, a progress that is printed): judged as if it were not taken,
//! under the condition that it is not.

use std::sync::Arc;

use base::{Budget, Effort};
use term::Body;

use crate::calls::inline::{expand, granted, read};
use crate::calls::project_facts::settle;
use crate::{Condition, ConditionKind, Facts, LoopFacts, MetBy, Obstacle, ObstacleKind, Program, Verdict};

/// Judges loops once more of which nothing is known.
pub(crate) fn grant(body: &Body, program: &Program, effort: Effort, whole: &Budget, facts: &mut Facts) {
    for id in facts.loops.ids().collect::<Vec<_>>() {
        let l = &facts.loops[id];
        let is_counting = |o: &Obstacle| matches!(o.kind, ObstacleKind::NotCounted(_));
        let stands_out = |o: &Obstacle| is_counting(o) || may_be_a_way_out(o);
        let others = !l.obstacles.iter().all(stands_out) || l.obstacles.iter().all(is_counting);
        if l.verdict != Verdict::Unknown || others {
            continue;
        }
        let part = whole.part(effort.each_loop.min(whole.left()));
        let found = judged(body, program, effort, &part, l, &mut facts.rests_on);
        let _ = whole.spend(part.taken());
        if let Some(found) = found {
            facts.loops[id] = found;
        }
    }
    facts.rests_on.sort();
    facts.rests_on.dedup();
    facts.steps = whole.taken();
}

/// Whether it is one of those that stand against a loop before anything else of it is looked at.
fn may_be_a_way_out(o: &Obstacle) -> bool {
    matches!(
        o.kind,
        ObstacleKind::EarlyExit
            | ObstacleKind::NotUnderstood
            | ObstacleKind::UnknownCall(_)
            | ObstacleKind::IndirectCall
            | ObstacleKind::Call { .. }
    )
}

fn judged(
    body: &Body,
    program: &Program,
    effort: Effort,
    budget: &Budget,
    before: &LoopFacts,
    rests_on: &mut Vec<(Arc<str>, u64)>,
) -> Option<LoopFacts> {
    read(body.len(), budget).ok()?;
    let (without, ways) = granted(body, program, before.term)?;
    let whole = &without.body;
    read(whole.len(), budget).ok()?;
    let expanded = expand(whole, program);
    let read_as = expanded.as_ref().map_or(whole, |e| &e.body);
    read(read_as.len().saturating_sub(whole.len()), budget).ok()?;
    let own = (body.len(), before.term);
    let mut facts = crate::loops::analyze_one(read_as, program, effort, budget, own);
    if let Some(e) = &expanded {
        settle(e, &mut facts);
    }
    settle(&without, &mut facts);
    let first = facts.loops.ids().next()?;
    let l = &facts.loops[first];
    // whether a way out is taken must be known before the loop runs
    let is_tested = |c: &Condition| {
        c.met_by == MetBy::Proof || c.check.is_some() || !matches!(c.kind, ConditionKind::Asserted(_))
    };
    let holds = matches!(l.verdict, Verdict::Independent | Verdict::Reduction);
    if !holds || !l.conditions.iter().all(is_tested) {
        return None;
    }
    rests_on.append(&mut facts.rests_on);
    let (parent, depth, mark) = (before.parent, before.depth, before.mark.clone());
    Some(LoopFacts { parent, depth, mark, granted: Some(ways), ..l.clone() })
}
