//! Memory that different variables may share: which pairs need a condition, and whether the host can test it.

use term::{Body, SymbolId, TypeKind};

use crate::alias::{aliasing, Aliasing};
use crate::loops::{note, Context};
use crate::nest::{Access, Model};
use crate::value::VarKind;
use crate::{ConditionKind, LoopFacts, MetBy, Object, Obstacle, ObstacleKind};

/// What must hold of the memory that different variables show: proved, tested by the host, or an obstacle.
pub(crate) fn alias_conditions(
    cx: &Context<'_>,
    model: &Model<'_>,
    accesses: &[Access],
    facts: &mut LoopFacts,
) {
    let mut bases: Vec<SymbolId> = accesses.iter().map(|a| a.base).collect();
    bases.sort_unstable();
    bases.dedup();
    for &table in bases.iter().filter(|b| model.tables.contains(b)) {
        let Some(write) = accesses.iter().find(|x| x.base == table && x.write) else { continue };
        let kind = ConditionKind::DistinctRows(Object { symbol: table, fields: Vec::new() });
        if crate::tables::has_fresh_rows(cx.body, &cx.effects, table) {
            note(facts, kind, MetBy::Proof, None);
        } else {
            facts.obstacles.push(Obstacle { kind: ObstacleKind::NeedsPromise(kind), term: write.term });
        }
    }
    for (i, &a) in bases.iter().enumerate() {
        for &b in &bases[i + 1..] {
            let writes = |s: SymbolId| accesses.iter().any(|x| x.base == s && x.write);
            if !writes(a) && !writes(b) {
                continue;
            }
            if aliasing(cx.body, &cx.effects, a, b) == Aliasing::Distinct {
                continue;
            }
            let other = model.other_rows(a, b);
            if other.is_some_and(|f| crate::tables::has_fresh_rows(cx.body, &cx.effects, f)) {
                continue;
            }
            let object = |s| Object { symbol: s, fields: Vec::new() };
            let known = |s: SymbolId| has_extent(cx.body, model, accesses, s);
            let at = accesses.iter().find(|x| x.base == a || x.base == b).map_or(model.root, |x| x.term);
            if model.start_together(a, b) {
                let kind = ObstacleKind::SameArray(object(a), object(b));
                facts.obstacles.push(Obstacle { kind, term: at });
            } else if known(a) && known(b) {
                note(facts, ConditionKind::NoAlias(object(a), object(b)), MetBy::RunTimeCheck, None);
            } else {
                facts
                    .obstacles
                    .push(Obstacle { kind: ObstacleKind::MayAlias(object(a), object(b)), term: at });
            }
        }
    }
}

/// Whether the host can tell, before the loop, a stretch of memory that holds all cells reached through the variable.
fn has_extent(body: &Body, model: &Model<'_>, accesses: &[Access], s: SymbolId) -> bool {
    if !matches!(body.types.kind(body.symbols[s].ty), TypeKind::Pointer { .. }) {
        return true;
    }
    // Rows lie wherever they lie; no one stretch holds them.
    if model.tables.contains(&s) {
        return false;
    }
    accesses.iter().filter(|a| a.base == s).all(|a| {
        a.subs.iter().all(|sub| {
            let Some(p) = &sub.value else { return false };
            p.vars().all(|v| match model.vars[v as usize] {
                VarKind::Param(_) | VarKind::Product(_) => true,
                VarKind::Iter(_) => a.domain.pieces.iter().all(|piece| {
                    let bounded = |sign: i128| {
                        piece.iter().any(|c| {
                            (c.poly.coefficient(v).signum() == sign
                                || (c.equality && c.poly.coefficient(v) != 0))
                                && c.poly.vars().all(|x| !matches!(model.vars[x as usize], VarKind::Fresh))
                        })
                    };
                    bounded(1) && bounded(-1)
                }),
                VarKind::Quotient => true,
                // A sum that grows has a stretch if it is bounded on both sides.
                VarKind::Image => {
                    model.rising.contains_key(&v)
                        && model.quotients.iter().any(|(q, defs)| *q == v && defs.len() > 1)
                }
                VarKind::Fresh => false,
            })
        })
    })
}
