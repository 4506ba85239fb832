//! What of the loops chosen becomes one call each: a loop, or a stretch of a function whose nests share their data.
//!
//! Marked loops of one function belong together where they can: as far out as loops around them can stay on the host, and with
//! their neighbors where what stands between them can be done over. What does not fit together stays a loop alone.

use std::cell::Cell;

use term::{Op, TermId};

use crate::check::{Findings, LoopFinding};
use crate::function_view::FunctionView;
use crate::offload::{choose, Which};
use crate::plans::OffloadSite;
use crate::region_plan::with_region;
use crate::worth::{choice, objection, Choice, LeftOut};
use crate::Ask;

/// What becomes one call.
pub(crate) struct Unit<'f> {
    /// Whose name it gets.
    pub first: &'f LoopFinding,
    /// Statements of one block, one behind the other.
    pub statements: Vec<TermId>,
    /// The loops chosen in them.
    pub loops: Vec<&'f LoopFinding>,
    /// Whether it is a loop by itself, which may become a kernel.
    pub alone: bool,
}

/// The units of the loops meant, in textual order.
pub(crate) fn units<'f>(ask: &Ask, findings: &'f Findings, which: &Which) -> Vec<Unit<'f>> {
    if matches!(which, Which::Worth(_)) {
        return worth(ask, findings, which).0;
    }
    let chosen = choose(ask, findings, which);
    let mut out: Vec<Unit<'f>> = Vec::new();
    let mut rest = chosen.as_slice();
    while let Some(first) = rest.first() {
        let count = rest.iter().take_while(|l| l.item == first.item).count();
        let (function, others) = rest.split_at(count);
        rest = others;
        let view = findings.view(ask, first.item);
        let single = |l: &&'f LoopFinding| Unit {
            first: l,
            statements: view.iter().map(|v| v.of(l.id).term).collect(),
            loops: vec![l],
            alone: true,
        };
        match &view {
            Some(view) if matches!(which, Which::Marked | Which::MarkedIn(_) | Which::Keys(_)) => {
                out.extend(together(view, function, outermost))
            }
            _ => out.extend(function.iter().map(single)),
        }
    }
    out
}

/// The units of the loops that are worth it, and the loops that are not.
pub(crate) fn worth<'f>(ask: &Ask, findings: &'f Findings, which: &Which) -> (Vec<Unit<'f>>, Vec<LeftOut>) {
    let function = match which {
        Which::Worth(function) => function.as_deref(),
        _ => None,
    };
    let Choice { loops, mut left_out } = choice(ask, findings, function);
    let ask = &ask.at(crate::Tier::Command);
    let mut out: Vec<Unit<'f>> = Vec::new();
    for of_one in loops.chunk_by(|a, b| a.item == b.item) {
        let Some(view) = of_one.first().and_then(|l| findings.view(ask, l.item)) else { continue };
        // they are as far out as they can be
        for unit in together(&view, of_one, |view, l, _| view.of(l.id).term) {
            match objection(&view, &unit) {
                Some(why) => left_out.push(why),
                None => out.push(unit),
            }
        }
    }
    left_out.sort_by_key(|l| l.line);
    (out, left_out)
}

/// The units of the marked loops of one function; `root`: the loop around one that takes it along.
fn together<'f>(
    view: &FunctionView,
    marked: &[&'f LoopFinding],
    root: impl Fn(&FunctionView, &LoopFinding, &[Option<TermId>]) -> TermId,
) -> Vec<Unit<'f>> {
    let parents = view.body().parents();
    let mut roots: Vec<Unit<'f>> = Vec::new();
    for &l in marked {
        let own = view.of(l.id).term;
        let root = root(view, l, &parents);
        match roots.iter_mut().find(|u| u.statements == [root]) {
            Some(unit) => unit.loops.push(l),
            None => {
                roots.push(Unit { first: l, statements: vec![root], loops: vec![l], alone: root == own });
            }
        }
    }
    let mut out: Vec<Unit<'f>> = Vec::new();
    for unit in roots {
        let joined = out.last().and_then(|before| joined(view, before, &unit, &parents));
        match (joined, out.last_mut()) {
            (Some(statements), Some(before)) => {
                before.statements = statements;
                before.loops.extend(unit.loops);
                before.alone = false;
            }
            _ => out.push(unit),
        }
    }
    out
}

/// Whether the nests of statements can share their data.
fn shares(view: &FunctionView, first: &LoopFinding, statements: &[TermId]) -> bool {
    let site = OffloadSite { unnamed: true, ..Default::default() };
    with_region(view, first.id, statements, &site, &view.ask.cancel, &Cell::new(0), |_, _| ()).is_ok()
}

/// The loop farthest out around a marked one that can stay on the host; itself, if there is none.
fn outermost(view: &FunctionView, l: &LoopFinding, parents: &[Option<TermId>]) -> TermId {
    let own = view.of(l.id).term;
    let mut around = Vec::new();
    let mut at = own;
    while let Some(up) = parents.get(at.0 as usize).copied().flatten() {
        if view.body().op(up).is_loop() {
            around.push(up);
        }
        at = up;
    }
    around.into_iter().rev().find(|&t| shares(view, l, &[t])).unwrap_or(own)
}

/// The statements from one unit to the next in their block, if all of them can be one.
fn joined(
    view: &FunctionView,
    before: &Unit<'_>,
    unit: &Unit<'_>,
    parents: &[Option<TermId>],
) -> Option<Vec<TermId>> {
    let body = view.body();
    let (first, last) = (*before.statements.first()?, *unit.statements.last()?);
    let block = parents.get(first.0 as usize).copied().flatten()?;
    let is_block =
        *body.op(block) == Op::List && parents.get(last.0 as usize).copied().flatten() == Some(block);
    let all = body.args(block);
    let from = all.iter().position(|&t| t == first).filter(|_| is_block)?;
    let to = all.iter().position(|&t| t == last)?;
    let statements = all.get(from..=to)?.to_vec();
    shares(view, before.first, &statements).then_some(statements)
}
