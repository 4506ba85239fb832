//! What a loop touches whatever its verdict: of a loop that stays on the host, around kernels.

use std::collections::BTreeSet;

use base::Budget;
use term::{Body, SymbolId, TermId};

use super::band::{is_pointer, Nest};
use super::extent::Maker;
use crate::calls::inline::read;
use crate::classify::scalars::Scalars;
use crate::context::Context;
use crate::nest::AffineAccess;
use crate::{Buffer, Condition, Expr, Facts, LoopFacts, LoopId, MetBy, Program, Rows, Step};

/// Of some arrays the parts that all iterations of a loop together surely use, and what that rests on.
#[derive(Clone, Debug, Default)]
pub struct TouchedParts {
    pub(crate) buffers: Vec<Buffer>,
    pub(crate) conditions: Vec<Condition>,
}

/// Of each of some arrays the part that a counted loop touches, whatever its verdict: what all its iterations together surely
/// use. Arrays of which that is not known are left out. With them the conditions that it rests on.
pub(crate) fn touched(
    body: &Body,
    program: &Program,
    facts: &Facts,
    target: LoopId,
    wanted: &BTreeSet<SymbolId>,
    budget: &Budget,
) -> Option<TouchedParts> {
    let claim = &facts.loops[target];
    let control = claim.control.as_ref().ok()?;
    let is_plain = matches!(control.step, Step::Const(_)) && !control.pointer;
    let leaves = |l: TermId| crate::flow::liveness::early_exit(body, l).is_some();
    if !is_plain || body.loops(claim.term).any(leaves) {
        return None;
    }
    let expanded = crate::calls::inline::expand(body, program);
    let whole = expanded.as_ref().map_or(body, |e| &e.body);
    read(whole.len(), budget).ok()?;
    let cx = Context::new(whole, program, body.len(), budget);
    let mut reading = cx.reading(target.0 as usize, control, budget);
    let mut met = reading.clone();
    met.model.objects.reads_in_rows = true;
    let mut wants = LoopFacts { conditions: Vec::new(), obstacles: Vec::new(), ..claim.clone() };
    crate::loops::meet_obligations(&mut met, &mut wants);
    let testable = |c: &Condition| c.met_by == MetBy::Proof || c.check.is_some();
    if budget.left() == 0 || !wants.obstacles.is_empty() || !wants.conditions.iter().all(testable) {
        return None;
    }
    reading.model.objects.boxes = met.model.objects.boxes;
    reading.model.objects.either_way = met.model.objects.either_way;
    let model = reading.model;
    let scalars = Scalars::new(&cx, &model, control);
    let nest = Nest {
        body,
        claim,
        control,
        expanded: expanded.as_ref(),
        cx: &cx,
        model: &model,
        scalars,
        searches_boxes: true,
    };
    let mut maker = Maker { model: &model, budget, params: Vec::new() };
    let mut found = Vec::new();
    let mut bases: Vec<SymbolId> = model.accesses.iter().map(|a| a.base).collect();
    bases.sort_unstable();
    bases.dedup();
    for base in bases {
        let Some(own) = nest.own_symbol(base).filter(|s| wanted.contains(s)) else { continue };
        let pointer = is_pointer(whole, whole.symbols[base].ty);
        let mine = model.accesses.iter().filter(|a| a.base == base && !(pointer && a.subs.is_empty()));
        let mine: Vec<&AffineAccess> = mine.collect();
        if mine.is_empty() {
            continue;
        }
        let Ok(mut buffer) = maker.buffer(whole, base, &mine) else { continue };
        if let Some(rows) = &mut buffer.rows {
            match body.path_term(own).and_then(|p| body.row_of_table(p)) {
                Some(row) => rows.table = row.table,
                None => continue,
            }
        }
        let own_ends = |(first, last): &(Expr, Expr)| nest.is_own_expr(first) && nest.is_own_expr(last);
        let is_own = match (&buffer.extent, &buffer.rows) {
            (None, None) => false,
            (extent, rows) => extent.iter().all(own_ends) && rows.iter().flat_map(Rows::ends).all(own_ends),
        };
        if is_own {
            buffer.symbol = own;
            found.push(buffer);
        }
    }
    let tests = wants.conditions.into_iter().filter(|c| c.met_by != MetBy::Proof);
    Some(TouchedParts { buffers: found, conditions: tests.collect() })
}
