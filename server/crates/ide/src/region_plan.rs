//! Offloads of several nests together: which loops of a stretch of a function become kernels, the plan of it, and why there is
//! none, in words.

use std::cell::Cell;
use std::sync::Arc;

use analysis::{
    Cells, FileArrays, LoopId, NoRounds, Offload, Param, RegionTrouble, RegionTroubleKind, Written,
};
use base::{Budget, CancelToken};
use rustc_hash::FxHashSet;
use term::{Body, Op, Origin, SymbolId, TermId};

use crate::function_view::FunctionView;
use crate::limits::region_plan::STEPS;
use crate::lints::is_parallel;
use crate::plans::{input, more_threads, surroundings_allow, Back, NoKernel, OffloadSite};
use crate::words;

/// Shows `then` the plan of an offload of statements that stand one behind the other, with kernels for the parallel nests in
/// them, and the function as the plan reads it. `first`: a loop among them. Adds the steps it took to `counted`.
pub(crate) fn with_region<R>(
    view: &FunctionView,
    first: LoopId,
    statements: &[TermId],
    site: &OffloadSite<'_>,
    cancel: &CancelToken,
    counted: &Cell<u64>,
    then: impl FnOnce(&codegen::RegionPlan, &FunctionView) -> R,
) -> Result<R, NotShared> {
    surroundings_allow(view, first).map_err(NotShared::No)?;
    let (body, program) = (view.body(), view.doc.program());
    if let Some(call) = analysis::region_is_kept_apart_by(body, program, statements) {
        return Err(NotShared::Call(call));
    }
    let unknown = FileArrays::default();
    let file = crate::file_arrays::of(view.doc, cancel, counted).unwrap_or(&unknown);
    let (before, too_long) = (counted.get(), Cell::new(false));
    let at = Asked { site, file, cancel, counted, before, too_long: &too_long };
    let own = at.nests(view, statements);
    let kernels: Vec<TermId> = own.kernels.iter().map(|n| view.of(n.0).term).collect();
    let mut then = Some(then);
    if view.body().semantics.checked_bounds {
        // as it is written: what throws is noticed, and then all of it runs again
        let made = at.alone_or_not(view, &Written::of(body, statements), own, false, &mut then);
        return made.map_err(|why| why.map_or(NotShared::NoNests, NotShared::No));
    }
    let without = (!own.all.is_empty()).then(|| analysis::region_without_jumps(body, statements, &kernels));
    let made = match without.flatten() {
        Some(without) => at.with_view(view, &without, |view| {
            let own = at.nests(view, &without.statements);
            at.calls_or_not(view, &without, own, true, &mut then)
        }),
        None => at.calls_or_not(view, &Written::of(body, statements), own, false, &mut then),
    };
    made.map_err(|why| why.map_or(NotShared::NoNests, NotShared::No))
}

/// Why statements are not offloaded together.
pub(crate) enum NotShared {
    /// No nest in them becomes a kernel.
    NoNests,
    /// This call keeps them apart, whatever nests there are: seen at once, where the plan would take an analysis of all that is called.
    Call(TermId),
    No(NoKernel),
}

impl NotShared {
    /// The same where there are nests that could be kernels.
    pub fn why(self, view: &FunctionView, statements: &[TermId]) -> Option<NoKernel> {
        match self {
            NotShared::NoNests => None,
            NotShared::Call(term) => {
                let body = view.body();
                let mut loops = statements.iter().flat_map(|&s| body.loops(s));
                let has_nests =
                    loops.any(|t| view.facts.of_term(t).is_some_and(|id| is_parallel(view.of(id))));
                let trouble = RegionTrouble { kind: RegionTroubleKind::Call(body.callee(term)), term };
                has_nests.then(|| NoKernel::Together(words(view, &trouble)))
            }
            NotShared::No(why) => Some(why),
        }
    }
}

/// A parallel loop with what its kernel needs.
type Nest = (LoopId, Offload);

/// The outermost parallel loops in statements, in textual order.
#[derive(Default)]
struct Nests {
    /// Those of which kernels can be made.
    kernels: Vec<Nest>,
    /// With those of which none can as they are, because they accumulate in a cell of memory.
    all: Vec<LoopId>,
}

/// What is asked besides the statements.
#[derive(Clone, Copy)]
struct Asked<'a> {
    site: &'a OffloadSite<'a>,
    file: &'a FileArrays,
    cancel: &'a CancelToken,
    counted: &'a Cell<u64>,
    /// Steps counted before the first of this question.
    before: u64,
    /// Whether a function as it was written for the offload is longer than is analyzed to its end.
    too_long: &'a Cell<bool>,
}

impl Asked<'_> {
    fn count(&self, steps: u64) {
        self.counted.set(self.counted.get().saturating_add(steps));
    }

    /// Whether nothing more is tried.
    fn gives_up(&self) -> bool {
        self.too_long.get() || self.counted.get() - self.before > STEPS
    }

    /// Shows the plan with calls of the program's own functions as what they do, where there are any.
    fn calls_or_not<R, F: FnOnce(&codegen::RegionPlan, &FunctionView) -> R>(
        &self,
        view: &FunctionView,
        written: &Written,
        own: Nests,
        is_new: bool,
        then: &mut Option<F>,
    ) -> Result<R, Option<NoKernel>> {
        let kernels: Vec<TermId> = own.kernels.iter().map(|n| view.of(n.0).term).collect();
        match analysis::region_without_calls(written, view.doc.program(), &kernels) {
            // which loops of the functions called are parallel here is known when the whole is analyzed
            Some(without) => self.with_view(view, &without, |view| {
                let own = self.nests(view, &without.statements);
                self.numbers_or_not(view, &without, own, true, then)
            }),
            None => self.numbers_or_not(view, written, own, is_new, then),
        }
    }

    /// Shows the plan with numbers in structures as variables, where it needs that, else without.
    fn numbers_or_not<R, F: FnOnce(&codegen::RegionPlan, &FunctionView) -> R>(
        &self,
        view: &FunctionView,
        written: &Written,
        own: Nests,
        is_new: bool,
        then: &mut Option<F>,
    ) -> Result<R, Option<NoKernel>> {
        let Some((numbers, behind_pointers)) = analysis::region_with_numbers(written, view.doc.program())
        else {
            return self.rounds_or_not(view, written, own, is_new, then);
        };
        // the host's statements cannot follow pointers
        let plain = match behind_pointers {
            true => None,
            false => Some(self.rounds_or_not(view, written, own, is_new, then)),
        };
        if matches!(plain, Some(Ok(_))) || self.gives_up() {
            return plain.unwrap_or(Err(Some(NoKernel::TooLong)));
        }
        let made = self.with_view(view, &numbers, |view| {
            let own = self.nests(view, &numbers.statements);
            self.rounds_or_not(view, &numbers, own, true, then)
        });
        match (made, plain) {
            (Ok(made), _) => Ok(made),
            (Err(_), Some(plain)) => plain,
            // kernels may do with the structure itself
            (Err(why), None) => {
                let own = self.nests(view, &written.statements);
                self.rounds_or_not(view, written, own, is_new, then).map_err(|_| why)
            }
        }
    }

    /// Shows the plan with nests in rounds, if there is such a one, else without.
    fn rounds_or_not<R, F: FnOnce(&codegen::RegionPlan, &FunctionView) -> R>(
        &self,
        view: &FunctionView,
        written: &Written,
        own: Nests,
        is_new: bool,
        then: &mut Option<F>,
    ) -> Result<R, Option<NoKernel>> {
        let kernels: Vec<TermId> = own.kernels.iter().map(|n| view.of(n.0).term).collect();
        let program = view.doc.program();
        for joined in [true, false] {
            if self.gives_up() {
                return Err(Some(NoKernel::TooLong));
            }
            let budget = Budget::with_cancel(analysis::OFFLOAD_STEPS, self.cancel.clone());
            let rounds = analysis::region_in_rounds(written, program, &view.facts, &kernels, joined, &budget);
            self.count(budget.taken());
            let rounds = match rounds {
                Ok(rounds) => rounds,
                Err(NoRounds::Apart) => continue,
                Err(NoRounds::Nowhere) => break,
            };
            let made = self.with_view(view, &rounds, |view| {
                let own = self.nests(view, &rounds.statements);
                self.alone_or_not(view, &rounds, own, true, then)
            });
            if made.is_ok() {
                return made;
            }
        }
        self.alone_or_not(view, written, own, is_new, then)
    }

    /// Shows the plan with single statements and the like as kernels, if there is such a one, else without.
    fn alone_or_not<R, F: FnOnce(&codegen::RegionPlan, &FunctionView) -> R>(
        &self,
        view: &FunctionView,
        written: &Written,
        own: Nests,
        is_new: bool,
        then: &mut Option<F>,
    ) -> Result<R, Option<NoKernel>> {
        let mut refused = None;
        let only: Vec<LoopId> = own.kernels.iter().map(|n| n.0).collect();
        for nests in [&own.all, &only] {
            if self.gives_up() {
                return Err(Some(NoKernel::TooLong));
            }
            let budget = Budget::with_cancel(analysis::OFFLOAD_STEPS, self.cancel.clone());
            let alone = analysis::region_alone(written, &view.facts, nests, &budget);
            self.count(budget.taken());
            let Some(alone) = alone else { break };
            let made = self.with_view(view, &alone, |view| {
                let own = self.nests(view, &alone.statements);
                self.with_nests(view, &alone.statements, own.kernels, &alone, then)
            });
            match made {
                Err(why) => refused = refused.or(why),
                made => return made,
            }
            if own.all == only {
                break;
            }
        }
        if is_new || refused.is_none() {
            let made = self.with_nests(view, &written.statements, own.kernels, written, then);
            return made.map_err(|why| refused.or(why));
        }
        Err(refused)
    }

    /// The outermost parallel loops in the statements.
    fn nests(&self, view: &FunctionView, statements: &[TermId]) -> Nests {
        let (body, program) = (view.body(), view.doc.program());
        let mut out = Nests::default();
        let mut stack: Vec<TermId> = statements.iter().rev().copied().collect();
        while let Some(t) = stack.pop() {
            if self.cancel.is_cancelled() || self.gives_up() {
                break;
            }
            let id = view.facts.of_term(t);
            let is_whole = |id: &LoopId| view.of(*id).granted.is_none();
            let id =
                id.filter(|&id| is_parallel(view.of(id)) && body.origin(t) != Origin::Macro).filter(is_whole);
            if let Some(id) = id.filter(|&id| surroundings_allow(view, id).is_ok()) {
                let collapse = view.of(id).mark.as_ref().and_then(|m| m.collapse);
                let budget = Budget::with_cancel(analysis::OFFLOAD_STEPS, self.cancel.clone());
                let site = OffloadSite { unnamed: true, ..Default::default() };
                if let Some(offload) = self.of_more_threads(view, id, &site) {
                    out.kernels.push((id, offload));
                    out.all.push(id);
                    continue;
                }
                let offload = analysis::offload(body, program, &view.facts, id, collapse, &budget);
                self.count(budget.taken() + body.walk(t).count() as u64);
                if let Ok(offload) = offload {
                    let offload = self.among(view, id, collapse, offload);
                    if codegen::plan(&input(view, &offload, "", &site)).is_ok() {
                        out.kernels.push((id, offload));
                        out.all.push(id);
                        continue;
                    }
                }
                if view.of(id).reductions.iter().any(|r| r.cells == Cells::One) {
                    out.all.push(id);
                }
            }
            if !matches!(body.op(t), Op::Reject(_)) {
                stack.extend(body.args(t).iter().rev());
            }
        }
        // what stands in one of the others is looked at with it
        let inside = |id: LoopId| {
            let around = std::iter::successors(view.of(id).parent, |&l| view.of(l).parent);
            around.into_iter().any(|l| out.all.contains(&l))
        };
        out.all = out.all.iter().copied().filter(|&id| !inside(id)).collect();
        out
    }

    /// What a loop needs whose threads are to be more than its iterations.
    fn of_more_threads(&self, view: &FunctionView, id: LoopId, site: &OffloadSite<'_>) -> Option<Offload> {
        let counted = Cell::new(0);
        let found = more_threads::offload(view, id, self.cancel, &counted);
        self.count(counted.get());
        // between kernels the host has only its own numbers: a map that needs values of arrays would cost the whole region
        let body = view.body();
        let in_memory = |t: TermId| {
            body.walk(t).any(|x| {
                matches!(body.op(x), Op::Index | Op::Deref | Op::Member { .. } | Op::Call | Op::AddrOf)
            })
        };
        let is_known = |p: Param| match p {
            Param::Term(t) => !in_memory(t),
            Param::Distance { .. } => false,
            Param::Symbol(_) | Param::Row(_) | Param::Longest(_) | Param::End { .. } => true,
        };
        let fits = |plan: codegen::Plan| plan.values.iter().all(|v| is_known(v.param));
        found.filter(|o| codegen::plan(&input(view, o, "", site)).is_ok_and(fits))
    }

    /// What a loop needs beside others: with rows that it names singly as rows of their tables.
    fn among(&self, view: &FunctionView, id: LoopId, collapse: Option<u32>, alone: Offload) -> Offload {
        let (body, program) = (view.body(), view.doc.program());
        let is_row = |s: SymbolId| body.path_term(s).is_some_and(|t| body.row_of_table(t).is_some());
        if !alone.buffers.iter().any(|b| b.rows.is_none() && is_row(b.symbol)) {
            return alone;
        }
        let budget = Budget::with_cancel(analysis::OFFLOAD_STEPS, self.cancel.clone());
        let offload = analysis::offload_among(body, program, &view.facts, id, collapse, &budget);
        self.count(budget.taken());
        offload.unwrap_or(alone)
    }

    /// Shows `then` the function as it was written for the offload.
    fn with_view<R>(
        &self,
        view: &FunctionView,
        written: &Written,
        then: impl FnOnce(&FunctionView) -> R,
    ) -> R {
        view.with_body(written.body.clone(), self.cancel, |view, analyzed| {
            self.count(analyzed.steps);
            if analyzed.is_cut_short {
                self.too_long.set(true);
            }
            then(view)
        })
    }

    fn with_nests<R, F: FnOnce(&codegen::RegionPlan, &FunctionView) -> R>(
        &self,
        view: &FunctionView,
        statements: &[TermId],
        nests: Vec<Nest>,
        written: &Written,
        then: &mut Option<F>,
    ) -> Result<R, Option<NoKernel>> {
        let Asked { site, cancel, counted, .. } = *self;
        let Some(first) = nests.first().map(|n| n.0) else { return Err(None) };
        if cancel.is_cancelled() {
            return Err(Some(NoKernel::Cancelled));
        }
        if self.gives_up() {
            return Err(Some(NoKernel::TooLong));
        }
        let is_kernel = |&t: &TermId| nests.iter().any(|n| view.of(n.0).term == t);
        if statements.len() == 1 && statements.iter().all(is_kernel) {
            return Err(None);
        }
        let (body, program) = (view.body(), view.doc.program());
        let budget = Budget::with_cancel(analysis::OFFLOAD_STEPS, cancel.clone());
        let (nests, found) = analysis::region_found_parts(body, program, &view.facts, statements, &nests);
        let given = analysis::RegionGiven { written, file: self.file, found: &found };
        let region = analysis::region(body, program, &view.facts, statements, &nests, given, &budget);
        counted.set(counted.get() + budget.taken());
        let region = region.map_err(|trouble| Some(NoKernel::Together(words(view, &trouble))))?;
        let mut loops = statements.iter().filter(|&&t| body.origin(t) != Origin::Made);
        let root = loops.next().and_then(|&t| view.facts.of_term(t)).unwrap_or(first);
        let base = name(view, root, loops.next().is_none());
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
        let refused = |refusal| Some(NoKernel::Together(NoKernel::Refused(refusal).words(view, first)));
        let mut plans = Vec::new();
        for ((_, offload), (name, taken)) in nests.iter().zip(&named) {
            let at = OffloadSite { taken, ..*site };
            let plan = codegen::plan(&input(view, offload, name, &at));
            plans.push(plan.map_err(refused)?);
        }
        let whole = input(view, &needs, &base, site);
        let plan = codegen::plan_region(&whole, &region, plans).map_err(refused)?;
        match then.take() {
            Some(then) => Ok(then(&plan, view)),
            None => Err(None),
        }
    }
}

/// What a nest of a region is called after: its mark, else the function that it came with and its index.
fn nest_name(view: &FunctionView, id: LoopId, whole: &str, written: &Written) -> String {
    let mark = view.of(id).mark.as_ref().and_then(|m| m.name.as_ref());
    if let Some(name) = mark {
        return name.to_string();
    }
    let caller = written.callers.get(&view.of(id).term).map(|&f| view.symbol(f));
    let index = view.index_name(id).unwrap_or("loop");
    match caller {
        Some(f) => format!("{whole}_{f}_{index}"),
        None => format!("{whole}_{index}"),
    }
}

/// Whether nests may be in a loop that become kernels with it: loops, parallel ones or such that may be so in another order, or loops
/// of functions that it calls.
pub(crate) fn may_hold_nests(view: &FunctionView, id: LoopId) -> bool {
    if view.body().loops(view.of(id).term).nth(1).is_some() {
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

/// What kernels in loops of the region leave for the host, each with who reads it there. `own`: the function as it is written.
pub(crate) fn back(plan: &codegen::RegionPlan, view: &FunctionView, own: &Body) -> Vec<Back> {
    let (body, statements) = (view.body(), &plan.region.statements);
    let nests: Vec<TermId> = plan.region.nests.iter().map(|&id| view.of(id).term).collect();
    let mut read: Vec<(SymbolId, TermId)> = Vec::new();
    let mut stack: Vec<(TermId, bool)> = statements.iter().rev().map(|&t| (t, false)).collect();
    while let Some((t, is_set)) = stack.pop() {
        if nests.contains(&t) {
            continue;
        }
        if let (Op::Sym(s), false) = (body.op(t), is_set) {
            read.push((*s, t));
        }
        let sets = *body.op(t) == Op::Assign;
        stack.extend(body.args(t).iter().enumerate().rev().map(|(k, &a)| (a, sets && k == 0)));
    }
    let mut out: Vec<Back> = Vec::new();
    for (nest, &term) in plan.nests.iter().zip(&nests) {
        if statements.contains(&term) {
            continue;
        }
        let sums = nest.kernels.iter().flat_map(|k| &k.reductions).filter(|r| !r.cell).map(|r| r.symbol);
        let chosen = nest.kernels.iter().flat_map(|k| &k.keyed).flat_map(|k| &k.variables).map(|v| v.symbol);
        for s in sums.chain(chosen) {
            let reader = read.iter().find(|r| r.0 == s).map(|r| r.1);
            let at = body.span(reader.unwrap_or(term)).start;
            let is_own = own.symbols.get(s).is_some_and(|o| *o.name == *view.symbol(s));
            let variable = is_own.then(|| view.symbol(s).to_owned());
            let new = Back { variable, at, is_read: reader.is_some() };
            if !out.contains(&new) {
                out.push(new);
            }
        }
    }
    out
}

/// Why the nests of a stretch cannot share their data on the device: a sentence for the user.
fn words(view: &FunctionView, trouble: &RegionTrouble) -> String {
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
        RegionTroubleKind::Reachable(s) => format!("others may see or change `{}`", name(s)),
        RegionTroubleKind::Unset(s) => format!("`{}` may hold no value before it", name(s)),
        RegionTroubleKind::Pointer(s) => {
            format!("`{}` is set to more than another pointer of these arrays", name(s))
        }
        RegionTroubleKind::DeclaresFor(s) => {
            format!("what is behind it may use `{}`, which it declares", name(s))
        }
        RegionTroubleKind::DeclaredInside(s) => format!("the array `{}` is declared in it", name(s)),
        RegionTroubleKind::Part(s) => {
            format!("it is not known which part of `{}` it uses in every run", name(s))
        }
        RegionTroubleKind::PartToldBy(s, number) => {
            let number = view.text(*number);
            format!("which part of `{}` they use is told by `{number}`, which lies in memory", name(s))
        }
        RegionTroubleKind::Rows(s) => {
            format!("which rows of `{}` it touches is not known where it begins", name(s))
        }
        RegionTroubleKind::Obstacle(o) => words::obstacle(view, o).reason,
    };
    let next = match trouble.kind {
        RegionTroubleKind::PartToldBy(_, number) if view.body().origin(number) == Origin::Source => {
            "Set a variable to it before the first of them, and use that in all."
        }
        _ => "Offload the parallel loops in it one by one.",
    };
    format!(
        "The loops in it cannot share their data on the GPU: {why} (line {}). {next}",
        view.line(trouble.term)
    )
}
