//! What a parallel loop would be like as a kernel: how its accesses fall together in warps and which branches part them, in
//! the words of Nsight Compute, for the mapping that would be chosen and beside what another one would give.

use std::sync::Arc;

use analysis::{Across, LaneAccess, LaneBranch, LaneStride, LoopId, Mapping};
use term::Op;

use super::{list, plural, quoted};
use crate::function_view::FunctionView;
use crate::limits::words_mapping::NAMED;
use crate::plans::Outline;

/// What is said of one mapping.
#[derive(Default)]
pub(crate) struct Prediction {
    /// Markdown, one item each.
    pub lines: Vec<String>,
    /// What is worth a few words beside the loop; empty if all is as a GPU likes it.
    pub short: Vec<String>,
    /// The line of the access that asks for most sectors beyond what its data would fill, and how many.
    worst: Option<(u64, String)>,
}

impl Prediction {
    /// In one line: what is not as a GPU likes it, with the costliest of it, or that all is.
    pub(crate) fn brief(&self) -> Option<String> {
        match self.short.is_empty() {
            true => (!self.lines.is_empty()).then(|| "every access coalesced or of one address".to_owned()),
            false => {
                let worst = self.worst.as_ref().map(|(_, l)| format!("; {l}")).unwrap_or_default();
                Some(format!("{}{worst}", self.short.join(", ")))
            }
        }
    }
}

/// The mappings of a plan's loops, and which of them it takes. `None`: its threads are no rows of iterations.
#[derive(Debug)]
pub(crate) struct Mappings {
    /// Outermost first.
    pub band: Vec<LoopId>,
    /// What each of them along the lanes of warps gives.
    pub all: Vec<Mapping>,
    pub lanes: usize,
}

/// Those of a plan, remembered with it.
pub(crate) fn mappings(view: &FunctionView, plan: &Outline) -> Option<Arc<Mappings>> {
    let find = || {
        let (band, lanes) = plan.band.clone()?;
        let first = |s| plan.firsts.iter().find(|f| f.0 == s).map(|f| f.1);
        let warp = crate::kernels::limits(view.doc).lanes;
        let budget = view.ask.budget(analysis::FULL_STEPS);
        let (body, program) = (view.body(), view.doc.program());
        let all = analysis::mappings(body, program, &view.facts, &band, &first, warp, &budget)?;
        Some(Arc::new(Mappings { band, all, lanes }))
    };
    match plan.mappings.get() {
        Some(known) => known.clone(),
        None if view.ask.only_known() => None,
        None => {
            let found = find();
            // what was called off is not remembered as there being none
            match found.is_none() && view.ask.is_cancelled() {
                true => None,
                false => plan.mappings.get_or_init(|| found).clone(),
            }
        }
    }
}

/// What is said of the mapping that a plan takes.
pub(crate) fn prediction(view: &FunctionView, m: &Mappings) -> Prediction {
    let Mappings { band, all, lanes } = m;
    let lanes = *lanes;
    let warp = crate::kernels::limits(view.doc).lanes;
    let mut out = Prediction::default();
    let Some(mapping) = all.get(lanes) else { return out };
    if band.get(lanes).is_some_and(|&l| !fills_a_warp(view, l)) {
        return out;
    }
    let name = |k: usize| band.get(k).and_then(|&l| view.index_name(l)).map(quoted).unwrap_or_default();
    accesses(view, mapping, &mut out);
    branches(view, band.first().copied(), mapping, &mut out);
    if out.lines.is_empty() {
        return out;
    }
    for l in &mut out.lines {
        l.insert_str(0, "  ");
    }
    out.lines.insert(0, format!("- in a warp, {warp} neighboring iterations of {}:", name(lanes)));
    let others = all.iter().enumerate().filter(|(k, m)| *k != lanes && !m.accesses.is_empty());
    let others: Vec<String> = others.map(|(k, m)| format!("{} with {}", total(m), name(k))).collect();
    if !others.is_empty() {
        let here = total(mapping);
        out.lines.push(format!(
            "- sectors of one request of every access: {here} with {} along the lanes, {}",
            name(lanes),
            list(&others)
        ));
    }
    out
}

/// What is worth a few words beside a loop that can be offloaded, for the mapping that would be chosen.
pub(crate) fn caution(view: &FunctionView, id: LoopId) -> Vec<String> {
    let mut out = Prediction::default();
    let band = view.band(id);
    if band.last().is_some_and(|&l| !fills_a_warp(view, l)) {
        return out.short;
    }
    let budget = view.ask.budget(u64::MAX);
    let all = analysis::lane_mapping(view.body(), view.doc.program(), &view.facts, &band, &budget);
    if let Some(m) = all {
        accesses(view, &m, &mut out);
        branches(view, band.first().copied(), &m, &mut out);
    }
    out.short
}

/// Whether a loop may have as many iterations as a warp has lanes: what a full warp asks for says nothing of a shorter one.
fn fills_a_warp(view: &FunctionView, l: LoopId) -> bool {
    let lanes = crate::kernels::limits(view.doc).lanes;
    let count = super::thread_count(view, &[l]).and_then(|n| n.parse::<u32>().ok());
    count.is_none_or(|n| n >= lanes) && !is_short(view, l, lanes.into()).unwrap_or(false)
}

/// Whether constants with names bound a loop's iterations below so many.
fn is_short(view: &FunctionView, l: LoopId, lanes: i128) -> Option<bool> {
    let control = view.of(l).control.as_ref().ok()?;
    let value = |t| analysis::launch_value(view.body(), t).map(i128::from);
    let (from, to) = (value(control.lower)?, control.bound.map_or(Some(0), value)?);
    let analysis::Step::Const(step) = control.step else { return None };
    let span = (to - from).abs().checked_add(1)?;
    Some(span / step.abs().max(1) < lanes)
}

fn without_blanks(text: &str) -> String {
    text.split_whitespace().collect()
}

/// `17`, `at most 40`
fn total(m: &Mapping) -> String {
    let most = m.most_sectors();
    match m.accesses.iter().all(|a| a.sectors.is_some_and(|(a, b)| a == b)) {
        true => most.to_string(),
        false => format!("at most {most}"),
    }
}

fn accesses(view: &FunctionView, m: &Mapping, out: &mut Prediction) {
    // what moves alike and costs the same is said once
    let mut groups: Vec<(&LaneAccess, Vec<&LaneAccess>)> = Vec::new();
    for a in &m.accesses {
        match groups
            .iter_mut()
            .find(|(g, _)| (&g.stride, g.bytes, g.sectors) == (&a.stride, a.bytes, a.sectors))
        {
            Some((_, all)) => all.push(a),
            None => groups.push((a, vec![a])),
        }
    }
    let (mut strided, mut unknown, mut bad) = (0, 0, 0);
    for (g, all) in groups {
        let mut names: Vec<String> = Vec::new();
        for a in &all {
            let text = quoted(&view.text(a.term));
            let name = match view.body().op(a.term) {
                Op::Call => format!("{} in {text}", quoted(view.symbol(a.base))),
                _ => text,
            };
            // one place may be written with other blanks
            if names.iter().all(|n| without_blanks(n) != without_blanks(&name)) {
                names.push(name);
            }
        }
        let more = names.len().saturating_sub(NAMED);
        names.truncate(NAMED);
        if more > 0 {
            names.push(format!("{more} more"));
        }
        let names = list(&names);
        let most = all.iter().map(|a| a.most).max().unwrap_or_default();
        let sectors = match g.sectors {
            Some((a, b)) if a == b => plural(a as usize, "sector"),
            Some((a, b)) => format!("{a} to {b} sectors"),
            None => format!("up to {} sectors", most),
        };
        let cost = format!("{sectors} of 32 B a request (ideal {})", g.ideal);
        let (is_bad, said) = match &g.stride {
            LaneStride::Bytes(0) => (false, format!("one address for all lanes: {names}, {sectors}")),
            LaneStride::Bytes(s) if s.unsigned_abs() == u128::from(g.bytes) => {
                (false, format!("coalesced: {names}, {cost}"))
            }
            LaneStride::Bytes(s) => {
                strided += all.len();
                (true, format!("strided: {names}, lanes {} B apart, {cost}", s.unsigned_abs()))
            }
            LaneStride::Times(e, bytes) => {
                strided += all.len();
                let value = super::threads::value(view, e);
                let alone = value.strip_prefix('(').and_then(|v| v.strip_suffix(')'));
                let value = alone.filter(|v| !v.contains(['(', ')'])).unwrap_or(&value);
                (true, format!("strided: {names}, lanes {} × {bytes} B apart, {cost}", quoted(value)))
            }
            LaneStride::Unknown => {
                unknown += all.len();
                (true, format!("in an order that is not followed: {names}, {cost}"))
            }
        };
        let more = g.sectors.map_or(most, |(_, most)| most).saturating_sub(g.ideal);
        if is_bad {
            bad += 1;
        }
        if is_bad && out.worst.as_ref().is_none_or(|(most, _)| more > *most) {
            out.worst = Some((more, said.clone()));
        }
        out.lines.push(format!("- {said}"));
    }
    // where others are as bad in another way, that is said
    if let Some((_, said)) = out.worst.as_mut().filter(|_| bad > 1) {
        said.push_str(&format!(" (one of {bad} kinds)"));
    }
    let of = match m.accesses.len() {
        1 => "1 access".to_owned(),
        n => format!("{n} accesses"),
    };
    for (n, how) in [(strided, "strided"), (unknown, "in an order that is not followed")] {
        if n > 0 {
            out.short.push(format!("{n} of {of} {how}"));
        }
    }
}

fn branches(view: &FunctionView, nest: Option<LoopId>, m: &Mapping, out: &mut Prediction) {
    let mut diverge = 0;
    let mut uniform = 0;
    for b in &m.branches {
        if b.across != Across::Nothing {
            uniform += 1;
            continue;
        }
        // a selection of values is no branch
        diverge += usize::from(*view.body().op(b.term) != Op::Select);
        let why = match b.by_index {
            true => "",
            false => ", by what is in memory",
        };
        out.lines.push(match is_loop(view, b) {
            true => {
                format!(
                    "- loop on line {}: lanes may run it for different numbers of iterations{why}",
                    view.line(b.term)
                )
            }
            false => format!("- {} on line {}: lanes may diverge{why}", what(view, b), view.line(b.term)),
        });
    }
    if uniform > 0 {
        let verb = if uniform == 1 { "is" } else { "are" };
        out.lines.push(format!("- {} {verb} uniform across each warp", branch_count(uniform)));
    }
    if diverge > 0 {
        let own = if nest.is_some_and(|l| calls_what_branches(view, l)) { " of its own" } else { "" };
        out.short.push(format!("{}{own} may diverge", branch_count(diverge)));
    }
}

/// Whether a loop calls functions that have branches, which are not counted.
fn calls_what_branches(view: &FunctionView, id: LoopId) -> bool {
    let (body, program) = (view.body(), view.doc.program());
    let mut called = body.walk(view.of(id).term).filter_map(|t| program.body(body.callee_name(t)?));
    called.any(|f| f.walk(f.root).any(|t| matches!(f.op(t), Op::If | Op::Switch) || f.op(t).is_loop()))
}

fn branch_count(n: usize) -> String {
    if n == 1 {
        "1 branch".to_owned()
    } else {
        format!("{n} branches")
    }
}

fn is_loop(view: &FunctionView, b: &LaneBranch) -> bool {
    view.body().op(b.term).is_loop()
}

fn what(view: &FunctionView, b: &LaneBranch) -> &'static str {
    match view.body().op(b.term) {
        Op::Switch => "`switch`",
        Op::If => "`if`",
        _ => "condition",
    }
}
