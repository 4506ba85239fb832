//! Offloads of several nests together: which loops of a stretch of a function become kernels, the plan of it, and why there is
//! none, in words.

use std::cell::Cell;
use std::sync::Arc;

use analysis::{LoopId, Offload, RegionTrouble, RegionTroubleKind, Written};
use base::{Budget, CancelToken};
use rustc_hash::FxHashSet;
use term::{Body, Op, Origin, SymbolId, TermId};

use crate::function_view::FunctionView;
use crate::lints::is_parallel;
use crate::memo::FunctionFacts;
use crate::plans::{input, surroundings_allow, NoKernel, OffloadSite};
use crate::words;

/// Shows `then` the plan of an offload of statements that stand one behind the other, with kernels for the parallel nests in
/// them, and the function as the plan reads it. `first`: a loop among them. `Err(None)`: no nest in them becomes a kernel. Adds the steps it took to `counted`.
pub(crate) fn with_region<R>(
    view: &FunctionView,
    first: LoopId,
    statements: &[TermId],
    site: &OffloadSite<'_>,
    cancel: &CancelToken,
    counted: &Cell<u64>,
    then: impl FnOnce(&codegen::RegionPlan, &FunctionView) -> R,
) -> Result<R, Option<NoKernel>> {
    surroundings_allow(view, first).map_err(Some)?;
    let (body, program) = (view.body(), view.doc.program());
    let own = nests(view, statements, cancel, counted);
    let kernels = |view: &FunctionView, nests: &[Nest]| -> Vec<TermId> {
        nests.iter().map(|n| view.of(n.0).term).collect()
    };
    let at = Asked { site, cancel, counted };
    let own_kernels = kernels(view, &own);
    let without = analysis::region_without_calls(body, program, statements, &own_kernels);
    let mut written = without.unwrap_or_else(|| analysis::Written::of(body, statements));
    let mut is_new = written.body.len() > body.len();
    if is_new {
        // which loops of the functions called are parallel here is known when the whole is analyzed
        let inside = at.with_view(view, &written, |view| {
            kernels(view, &nests(view, &written.statements, cancel, counted))
        });
        written = analysis::region_alone(&written, &inside).unwrap_or(written);
    } else if let Some(alone) = analysis::region_alone(&written, &own_kernels) {
        (written, is_new) = (alone, true);
    }
    if !is_new {
        return at.with_nests(view, first, statements, own, None, then);
    }
    at.with_view(view, &written, |view| {
        let own = nests(view, &written.statements, cancel, counted);
        let first = written.statements.iter().find_map(|&t| view.facts.of_term(t));
        let Some(first) = first else { return Err(None) };
        let made = at.with_nests(view, first, &written.statements, own, Some(&written), then);
        // what it names is nothing of the function itself
        made.map_err(|why| {
            why.map(|why| match why {
                NoKernel::Cancelled => why,
                why => NoKernel::Said(why.words(view, first)),
            })
        })
    })
}

/// A parallel loop with what its kernel needs.
type Nest = (LoopId, Offload);

/// What is asked besides the statements.
#[derive(Clone, Copy)]
struct Asked<'a> {
    site: &'a OffloadSite<'a>,
    cancel: &'a CancelToken,
    counted: &'a Cell<u64>,
}

impl Asked<'_> {
    /// Shows `then` the function as it was written for the offload.
    fn with_view<R>(
        &self,
        view: &FunctionView,
        written: &Written,
        then: impl FnOnce(&FunctionView) -> R,
    ) -> R {
        let item = front::Item { body: Arc::new(written.body.clone()), ..view.item.clone() };
        let budget = Budget::with_cancel(u64::MAX, self.cancel.clone());
        let facts = analysis::analyze(&item.body, view.doc.program(), analysis::SAVE, &budget);
        self.counted.set(self.counted.get() + budget.taken());
        then(&FunctionView::made(view.ask, &item, FunctionFacts::new(facts)))
    }

    fn with_nests<R>(
        &self,
        view: &FunctionView,
        first: LoopId,
        statements: &[TermId],
        nests: Vec<Nest>,
        written: Option<&Written>,
        then: impl FnOnce(&codegen::RegionPlan, &FunctionView) -> R,
    ) -> Result<R, Option<NoKernel>> {
        let Asked { site, cancel, counted } = *self;
        if cancel.is_cancelled() {
            return Err(Some(NoKernel::Cancelled));
        }
        let is_kernel = |&t: &TermId| nests.iter().any(|n| view.of(n.0).term == t);
        if nests.is_empty() || statements.len() == 1 && statements.iter().all(is_kernel) {
            return Err(None);
        }
        let (body, program) = (view.body(), view.doc.program());
        let budget = Budget::with_cancel(analysis::OFFLOAD_STEPS, cancel.clone());
        let region = analysis::region(body, program, &view.facts, statements, &nests, &budget);
        counted.set(counted.get() + budget.taken());
        let region = region.map_err(|trouble| Some(NoKernel::Together(trouble)))?;
        let root = statements.first().and_then(|&t| view.facts.of_term(t)).unwrap_or(first);
        let base = name(view, root, statements.len() == 1);
        // the file's name, and beside it those of its nests
        let needs = codegen::region_needs(&region);
        let mut taken: Vec<String> = site.taken.to_vec();
        let whole = codegen::plan_name(&input(view, &needs, &base, site));
        taken.push(whole.clone());
        let mut named: Vec<(String, Vec<String>)> = Vec::new();
        for (id, _) in &nests {
            let own = nest_name(view, *id, &whole, written);
            let (mut wish, mut n) = (own.clone(), 2);
            while taken.contains(&wish) {
                wish = format!("{own}_{n}");
                n += 1;
            }
            named.push((wish.clone(), taken.clone()));
            taken.push(wish);
        }
        let mut plans = Vec::new();
        for ((_, offload), (name, taken)) in nests.iter().zip(&named) {
            let at = OffloadSite { taken, ..*site };
            let plan = codegen::plan(&input(view, offload, name, &at));
            plans.push(plan.map_err(|refusal| Some(NoKernel::Refused(refusal)))?);
        }
        let whole = input(view, &needs, &base, site);
        let plan = codegen::plan_region(&whole, &region, plans).map_err(|r| Some(NoKernel::Refused(r)))?;
        Ok(then(&plan, view))
    }
}

/// What a nest of a region is called after: its mark, else the function that it came with and its index.
fn nest_name(view: &FunctionView, id: LoopId, whole: &str, written: Option<&Written>) -> String {
    let mark = view.of(id).mark.as_ref().and_then(|m| m.name.as_ref());
    if let Some(name) = mark {
        return name.to_string();
    }
    let caller = written.and_then(|w| w.callers.get(&view.of(id).term)).map(|&f| view.symbol(f));
    let index = view.index_name(id).unwrap_or("loop");
    match caller {
        Some(f) => format!("{whole}_{f}_{index}"),
        None => format!("{whole}_{index}"),
    }
}

/// Whether nests may be in a loop that become kernels with it: parallel loops, or loops of functions that it calls.
pub(crate) fn may_hold_nests(view: &FunctionView, id: LoopId) -> bool {
    if !crate::lints::parallel_inside(&view.facts, id).is_empty() {
        return true;
    }
    let program = view.doc.program();
    let mut seen: FxHashSet<Arc<str>> = FxHashSet::default();
    let called = |body: &Body, root: TermId| -> Vec<Arc<str>> {
        let own = |t: TermId| body.callee(t).filter(|_| *body.op(t) == Op::Call);
        body.walk(root).filter_map(own).map(|f| body.symbols[f].name.clone()).collect()
    };
    let mut open = called(view.body(), view.of(id).term);
    while let Some(name) = open.pop() {
        let Some(body) = program.body(&name).filter(|_| seen.insert(name)) else { continue };
        if body.loops(body.root).next().is_some() {
            return true;
        }
        open.extend(called(body, body.root));
    }
    false
}

/// What a region is called after: the mark of the loop that it is, else the function and its first loop's index.
fn name(view: &FunctionView, first: LoopId, is_one: bool) -> String {
    let mark = view.of(first).mark.as_ref().filter(|_| is_one);
    if let Some(name) = mark.and_then(|m| m.name.clone()) {
        return name.to_string();
    }
    let index = view.index_name(first).unwrap_or("loop");
    match view.item.is_static {
        true => format!("{}_{}_{index}", view.doc.name().split('.').next().unwrap_or(""), view.item.name),
        false => format!("{}_{index}", view.item.name),
    }
}

/// The outermost parallel loops in the statements of which kernels can be made, in textual order.
fn nests(view: &FunctionView, statements: &[TermId], cancel: &CancelToken, counted: &Cell<u64>) -> Vec<Nest> {
    let (body, program) = (view.body(), view.doc.program());
    let mut out = Vec::new();
    let mut stack: Vec<TermId> = statements.iter().rev().copied().collect();
    while let Some(t) = stack.pop() {
        if cancel.is_cancelled() {
            break;
        }
        let id =
            view.facts.of_term(t).filter(|&id| is_parallel(view.of(id)) && body.origin(t) != Origin::Macro);
        if let Some(id) = id.filter(|&id| surroundings_allow(view, id).is_ok()) {
            let collapse = view.of(id).mark.as_ref().and_then(|m| m.collapse);
            let budget = Budget::with_cancel(analysis::OFFLOAD_STEPS, cancel.clone());
            let site = OffloadSite { unnamed: true, ..Default::default() };
            let offload = analysis::offload(body, program, &view.facts, id, collapse, &budget);
            counted.set(counted.get() + budget.taken() + body.walk(t).count() as u64);
            if let Ok(offload) = offload {
                if codegen::plan(&input(view, &offload, "", &site)).is_ok() {
                    out.push((id, offload));
                    continue;
                }
            }
        }
        if !matches!(body.op(t), Op::Reject(_)) {
            stack.extend(body.args(t).iter().rev());
        }
    }
    out
}

/// Why the nests of a stretch cannot share their data on the device: a sentence for the user.
pub(crate) fn words(view: &FunctionView, trouble: &RegionTrouble) -> String {
    let name = |s: &SymbolId| view.symbol(*s).to_owned();
    let of = |s: &Option<SymbolId>| s.as_ref().map_or("memory".to_owned(), |s| format!("`{}`", name(s)));
    let why = match &trouble.kind {
        RegionTroubleKind::NoNest => "no loop in it becomes a kernel".to_owned(),
        RegionTroubleKind::NotUnderstood => "a part of it was not understood".to_owned(),
        RegionTroubleKind::HostReads(s) => format!("{} is read between the kernels", of(s)),
        RegionTroubleKind::HostWrites(s) => format!("{} is written between the kernels", of(s)),
        RegionTroubleKind::Call(Some(f)) => match view.doc.program().body(view.symbol(*f)).is_some() {
            true => format!("`{}`, which is called in between, is a function of its own", name(f)),
            false => format!("what `{}` does cannot be taken back or done over", name(f)),
        },
        RegionTroubleKind::Call(None) => "a call through a pointer may do anything".to_owned(),
        RegionTroubleKind::Leaves => "it may be left before its end".to_owned(),
        RegionTroubleKind::Statement => "a statement of this kind is not written between kernels".to_owned(),
        RegionTroubleKind::Reachable(s) => format!("others can see `{}`, which it sets", name(s)),
        RegionTroubleKind::Unset(s) => format!("`{}` may hold no value before it", name(s)),
        RegionTroubleKind::Pointer(s) => {
            format!("`{}` is set to more than another pointer of these arrays", name(s))
        }
        RegionTroubleKind::DeclaresFor(s) => {
            format!("what is behind it may use `{}`, which it declares", name(s))
        }
        RegionTroubleKind::DeclaredInside(s) => format!("the array `{}` is declared in it", name(s)),
        RegionTroubleKind::Part(s) => {
            format!("it is not known which part of `{}` it uses whatever the data", name(s))
        }
        RegionTroubleKind::Obstacle(o) => words::obstacle(view, o).reason,
    };
    format!(
        "The loops in it cannot share their data on the GPU: {why} (line {}). Offload the parallel loops in it one by one.",
        view.line(trouble.term)
    )
}
