//! Which loops of a document are worth an offload: of every function the outermost loops that become kernels, or that stay on the
//! host with nests that share their arrays, and never a loop inside another one. Neighbors become one call where they can
//! ([`crate::units`]); what then stands alone and plainly cannot pay is left out. Of the others it is said why they are not in it.

use std::cell::Cell;

use analysis::LoopId;

use crate::check::{Findings, LoopFinding};
use crate::cost::{too_little, too_narrow, too_short, too_thin};
use crate::function_view::FunctionView;
use crate::lints::is_parallel;
use crate::plans::{NoKernel, OffloadSite, Planned};
use crate::region_plan::{may_hold_nests, with_region};
use crate::units::Unit;
use crate::{Ask, Tier};

/// A loop that stays as it is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LeftOut {
    /// 1-based.
    pub line: u32,
    pub function: String,
    /// Whether loops in it are offloaded.
    pub around: bool,
    /// Why, in sentences.
    pub reason: String,
}

/// The loops worth it, in textual order, and those around or beside them.
pub(crate) struct Choice<'f> {
    pub loops: Vec<&'f LoopFinding>,
    pub left_out: Vec<LeftOut>,
}

/// Chooses among the loops of a document, or of one function.
pub(crate) fn choice<'f>(ask: &Ask, findings: &'f Findings, function: Option<&str>) -> Choice<'f> {
    // who asks for all of them waits for all of them
    let ask = ask.at(Tier::Command);
    let mut out = Choice { loops: Vec::new(), left_out: Vec::new() };
    for (item, of) in ask.doc().unit().items.iter().enumerate() {
        if function.is_some_and(|f| *of.name != *f) {
            continue;
        }
        let Some(view) = findings.view(&ask, item) else { continue };
        let own: Vec<&LoopFinding> = findings.loops.iter().filter(|l| l.item == item).collect();
        let outer = |l: &&&LoopFinding| !own.iter().any(|o| o.id != l.id && o.span.contains(l.span));
        for l in own.iter().filter(outer) {
            walk(&view, l, &own, false, &mut out);
        }
    }
    out.loops.sort_by_key(|l| l.span.start);
    out.left_out.sort_by_key(|l| l.line);
    out
}

/// Takes the loop, or looks for others in it. `repeated`: a loop around it stays on the host.
fn walk<'f>(
    view: &FunctionView,
    l: &'f LoopFinding,
    own: &[&'f LoopFinding],
    repeated: bool,
    out: &mut Choice<'f>,
) {
    if view.ask.is_cancelled() {
        return;
    }
    let planned = view.planned(l.id);
    let narrow = match &planned {
        Planned::Kernel(outline) => {
            let thin = || too_thin(&outline.cost).filter(|_| repeated);
            too_narrow(&outline.cost).or_else(thin)
        }
        Planned::Together(shared) => too_short(&shared.cost),
        Planned::No(why) => Some(why.words(view, l.id)),
    };
    let Some(mut reason) = narrow else {
        out.loops.push(l);
        return;
    };
    if matches!(planned, Planned::Together(_)) {
        // its nests alone would copy in every round
        let function = l.report().function.clone();
        out.left_out.push(LeftOut { line: l.line(), function, around: false, reason });
        return;
    }
    let inside = |m: &&&'f LoopFinding| m.id != l.id && l.span.contains(m.span);
    let within: Vec<&'f LoopFinding> = own.iter().filter(inside).copied().collect();
    let before = out.loops.len();
    for m in &within {
        if !within.iter().any(|o| o.id != m.id && o.span.contains(m.span)) {
            walk(view, m, own, true, out);
        }
    }
    let around = out.loops.len() > before;
    // of a loop around kernels it matters more why they cannot share their data
    if matches!(planned, Planned::No(NoKernel::NotParallel)) && may_hold_nests(view, l.id) {
        reason = apart(view, l).unwrap_or(reason);
    }
    let function = l.report().function.clone();
    out.left_out.push(LeftOut { line: l.line(), function, around, reason });
}

/// Why the nests of a loop cannot share their data, where that is what stands against it.
fn apart(view: &FunctionView, l: &LoopFinding) -> Option<String> {
    let site = OffloadSite { unnamed: true, ..Default::default() };
    let statements = [view.of(l.id).term];
    let made = with_region(view, l.id, &statements, &site, &view.ask.cancel, &Cell::new(0), |_, _| ());
    let why = made.err()?.why(view, &statements)?;
    matches!(why, NoKernel::Together(_)).then(|| why.words(view, l.id))
}

/// Why a unit by itself plainly cannot pay. `None`: it may, or nobody knows its sizes.
pub(crate) fn objection(view: &FunctionView, unit: &Unit) -> Option<LeftOut> {
    let l = unit.first;
    if !unit.alone || !is_parallel(view.of(l.id)) {
        return None;
    }
    let Planned::Kernel(outline) = view.planned(l.id) else { return None };
    let reason = too_little(&outline.cost)?;
    Some(LeftOut { line: l.line(), function: l.report().function.clone(), around: false, reason })
}

/// Whether it is known that a kernel is made and that nothing says it is too small.
pub(crate) fn pays(view: &FunctionView, id: LoopId) -> bool {
    match view.known_plan(id) {
        Some(Planned::Kernel(outline)) => {
            let cost = &outline.cost;
            // what is thin pays where no loop on the host repeats it
            let repeated = view.of(id).parent.is_some();
            let thin = repeated && too_thin(cost).is_some();
            !thin && too_narrow(cost).is_none() && too_little(cost).is_none()
        }
        Some(Planned::Together(shared)) => too_short(&shared.cost).is_none(),
        _ => false,
    }
}
