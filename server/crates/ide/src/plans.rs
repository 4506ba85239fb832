//! Whether a loop would be offloaded, and if not, why: found out once, kept as a fact in the memo, worded where it is
//! shown. Nothing is written here.
//!
//! A plan costs several times what the facts do, so while the user types only what is quickly planned is: of the other loops
//! nothing is said of kernels. A thorough analysis plans the loops it speaks of, as long as the steps of their function last;
//! what is left over then is [`NoKernel::NotTried`], and is never promised. Who lists what can be done at a loop plans that one.

mod asked;
pub(crate) mod more_threads;
mod written_out;

use std::cell::{Cell, OnceCell};
use std::hash::{Hash, Hasher};
use std::sync::{Arc, OnceLock};

use analysis::{LoopId, Obstacle, ObstacleKind};
use base::CancelToken;
use rustc_hash::FxHasher;
use term::{Storage, SymbolId};

use self::asked::Asked;
use crate::cost::Cost;
use crate::function_view::FunctionView;
use crate::kernels::called;
use crate::limits::plans::{
    ALL_LEAST_STEPS, FILE_STEPS, FUNCTION_STEPS, LEAST_STEPS, QUICK_FUNCTION_STEPS, QUICK_LEAST_STEPS,
    QUICK_STEPS_A_BYTE, STEPS_A_BYTE, STEPS_A_TERM,
};
use crate::lints::is_parallel;
use crate::offload::Refused;
use crate::region_plan::{back, may_hold_nests, with_region};
use crate::{hints, promises, words, Doc, Tier};

/// Why loops in generated text are left alone.
pub(crate) const GENERATED: &str =
    "This loop belongs to an offload that was made before; undo that to make it again.";

/// Why loops in other languages are left alone.
pub(crate) fn not_from_c(doc: &Doc) -> String {
    if let Some(by) = doc.part_of().filter(|_| doc.language().offloads) {
        return format!("Not offloaded: this file is a part of `{by}`, which includes it, and what is written here is written for all that do.");
    }
    if let Some(label) = no_kernels_yet(doc) {
        return format!("Not yet offloaded: {label}.");
    }
    format!("Offloading starts from C files, and this one is read as {}.", doc.language().title)
}

/// The same in a few words.
pub(crate) fn not_from_c_label(doc: &Doc) -> String {
    if doc.part_of().is_some() && doc.language().offloads {
        return "in a file that others include".to_owned();
    }
    no_kernels_yet(doc).unwrap_or_else(|| "not a C file".to_owned())
}

/// Of a language that no compiler of C's family reads: what is missing is on our side.
fn no_kernels_yet(doc: &Doc) -> Option<String> {
    let language = doc.language();
    let foreign = !language.kernels && !language.offloads && language.compiler.is_none();
    foreign.then(|| format!("{} kernels are not written yet", language.title))
}

/// Why a loop that a macro (or an included file) brings is not touched: the same text stands wherever that is used.
pub(crate) fn in_a_macro(view: &FunctionView, id: LoopId) -> String {
    format!("The loop comes out of {}, where no edit can be made.", view.brought_by(view.of(id).term))
}

/// Functions of the library that host code calls.
pub(crate) const HOST_CALLS: [&str; 3] = ["malloc", "free", "memcpy"];

/// Whether a loop gets a kernel.
#[derive(Clone, Debug)]
pub(crate) enum Planned {
    Kernel(Arc<Outline>),
    /// It stays on the host, and so many nests in it become kernels between which arrays stay on the device.
    Together(Arc<Shared>),
    No(NoKernel),
}

/// Kernels between which arrays stay on the device.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Shared {
    pub kernels: usize,
    pub back: Vec<Back>,
    pub cost: Cost,
}

/// A result of a kernel that comes back in every round of a loop that stays on the host.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Back {
    /// `None`: a variable of a function that is called.
    pub variable: Option<String>,
    /// Where the host reads it, from the function's beginning; else where the kernel's loop begins.
    pub at: u32,
    pub is_read: bool,
}

/// Why a loop gets no kernel.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum NoKernel {
    /// Its iterations cannot run at once, and no map to threads is known.
    NotParallel,
    /// It stands in text that an offload has written.
    Generated,
    InMacro,
    /// Its document is in another language.
    Language,
    /// Every thread of a parallel region would launch it, or its own directive is wrong.
    Region,
    /// A directive has brought its arrays to a device.
    OnDevice,
    /// The program has its own function of this name, which host text needs from the library.
    OwnLibrary(&'static str),
    /// It is no kernel, and the nests in it cannot share their data on the device: why, in words of the function as its offload
    /// reads it.
    Together(String),
    /// Of a function as its plan reads it, in whose words it is told: a sentence, and a few words.
    Told(String, Option<String>),
    /// With the functions that it calls it is longer than is followed.
    TooLong,
    /// Analysis cannot describe what a kernel needs to know; the first obstacle, and arrays whose sizes would settle it.
    Obstacle(Option<Obstacle>, Vec<SymbolId>),
    /// Code generation has no way to write it.
    Refused(codegen::Refusal),
    /// The steps for plans were spent on other loops.
    NotTried(Spent),
    /// Nobody wanted to know any more.
    Cancelled,
}

/// Whose steps were spent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Spent {
    Function,
    File,
    /// Those of a keystroke: nothing is said of it, and who has more time tries again.
    Keystroke,
}

/// What is shown of a plan.
#[derive(Debug)]
pub(crate) struct Outline {
    /// Threads per block along x, y, z; `None`: there is no kernel.
    pub block: Option<[u32; 3]>,
    /// Along each used axis the index of its loop, outermost first.
    pub axes: Vec<(codegen::Axis, SymbolId)>,
    /// The loops whose iterations are threads, outermost first, and which of them runs along the lanes of warps.
    pub band: Option<(Vec<LoopId>, usize)>,
    /// Where the copies of arrays begin, of those where it is a number.
    pub firsts: Vec<(SymbolId, i128)>,
    pub cost: Cost,
    /// Made when it is first asked for.
    pub mappings: OnceLock<Option<Arc<words::Mappings>>>,
    /// Whether rule pages optimise the kernel; likewise.
    pub optimizable: OnceLock<bool>,
}

/// What a plan depends on besides the loop.
#[derive(Clone, Copy, Default)]
pub(crate) struct OffloadSite<'a> {
    /// Where the block around the loop begins, in the document.
    pub opening: u32,
    /// Bases of names that other loops have.
    pub taken: &'a [String],
    /// Only whether there is a plan is asked: what stands in the rest of the file decides names and places, and nothing else.
    pub unnamed: bool,
    /// Steps for it, where they are few.
    pub steps: Option<u64>,
}

/// What all plans of a function depend on.
#[derive(Clone, Default)]
pub(crate) struct Planning {
    surroundings: OnceCell<u64>,
}

/// What decides whether kernels are made besides a function and what it calls.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Beside {
    target: crate::Target,
    /// A function of the program that has the name of one which host text calls.
    own_library: Option<&'static str>,
}

impl FunctionView<'_> {
    /// Whether a loop gets a kernel: as it is remembered, else found out now, if the function's steps allow.
    pub fn planned(&self, id: LoopId) -> Planned {
        if let Some(known) = self.remembered_plan(id) {
            return known;
        }
        let planned = match self.is_source(id) {
            true => self.plan_now(id),
            false => Planned::No(NoKernel::InMacro),
        };
        if !matches!(planned, Planned::No(NoKernel::Cancelled)) {
            self.plans.put(self.surroundings(), id, planned.clone());
        }
        planned
    }

    /// Why a loop gets no kernel, if that is so; asks like [`FunctionView::planned`].
    pub fn no_kernel(&self, id: LoopId) -> Option<NoKernel> {
        match self.planned(id) {
            Planned::Kernel(_) | Planned::Together(_) => None,
            Planned::No(why) => Some(why),
        }
    }

    /// Whether a loop gets a kernel, where that is known, worth planning or quickly planned.
    pub fn known_plan(&self, id: LoopId) -> Option<Planned> {
        match self.ask.tier {
            Tier::Known => self.remembered_plan(id),
            Tier::Typing => self.remembered_plan(id).or_else(|| self.quickly_planned(id)),
            Tier::Full | Tier::Command => Some(self.planned(id)),
        }
    }

    /// Why a loop gets no kernel, where that is known.
    pub fn known_obstacle(&self, id: LoopId) -> Option<NoKernel> {
        self.known_plan(id)?.obstacle().cloned()
    }

    /// How many nests of a loop become kernels that share their data, if that is remembered.
    pub fn together(&self, id: LoopId) -> Option<Arc<Shared>> {
        match self.remembered_plan(id) {
            Some(Planned::Together(shared)) => Some(shared),
            _ => None,
        }
    }

    /// Whether it is known that a loop gets a kernel, or nests in it.
    pub fn is_offered(&self, id: LoopId) -> bool {
        let planned = || self.known_plan(id);
        self.can_offload() && matches!(planned(), Some(Planned::Kernel(_) | Planned::Together(_)))
    }

    /// Whether a loop gets a kernel, if that is remembered.
    pub fn remembered_plan(&self, id: LoopId) -> Option<Planned> {
        if self.plans.is_empty() {
            return None;
        }
        let known = self.plans.get(self.surroundings(), id)?;
        // who has more steps tries again
        let again = match &known {
            Planned::No(NoKernel::NotTried(Spent::Keystroke)) => true,
            Planned::No(NoKernel::NotTried(_)) => self.steps() == u64::MAX,
            _ => false,
        };
        (!again).then_some(known)
    }

    /// The plan of a parallel loop, if the few steps of a keystroke are enough for it.
    fn quickly_planned(&self, id: LoopId) -> Option<Planned> {
        if !is_parallel(self.of(id)) || self.plans.get(self.surroundings(), id).is_some() {
            return None;
        }
        let length = self.item.span.len() as u64;
        let all = QUICK_FUNCTION_STEPS.min(QUICK_LEAST_STEPS + QUICK_STEPS_A_BYTE * length);
        let terms = self.body().len() as u64 * STEPS_A_TERM;
        let left = all.saturating_sub(self.plans.spent_quickly()).saturating_sub(terms);
        let counted = Cell::new(terms);
        let tried = |steps: u64| {
            let site = OffloadSite { unnamed: true, steps: Some(steps), ..Default::default() };
            plan_counted(self, id, &site, &self.ask.cancel, &counted, |plan, view| {
                Outline::of(self, plan, view)
            })
        };
        let planned = match self.is_source(id) {
            false => Planned::No(NoKernel::InMacro),
            true if left == 0 => Planned::No(NoKernel::NotTried(Spent::Keystroke)),
            true => match tried(left) {
                Ok(outline) => Planned::Kernel(Arc::new(outline)),
                Err(NoKernel::Cancelled) => return None,
                // nests in it may share their data, which takes longer to find out
                Err(_) if counted.get() >= left || may_hold_nests(self, id) => {
                    Planned::No(NoKernel::NotTried(Spent::Keystroke))
                }
                Err(why) => Planned::No(why),
            },
        };
        // the first answer in these surroundings begins the count anew
        self.plans.put(self.surroundings(), id, planned);
        self.plans.spend_quickly(counted.get());
        self.remembered_plan(id)
    }

    /// A number for all that a plan depends on besides the function.
    pub(crate) fn surroundings(&self) -> u64 {
        *self.planning.surroundings.get_or_init(|| {
            let mut h = FxHasher::default();
            (called(self.doc, self.body()), self.beside()).hash(&mut h);
            h.finish()
        })
    }

    /// The part of it that is not the function and what it calls.
    pub fn beside(&self) -> Beside {
        Beside { target: self.doc.options().target, own_library: self.doc.own_library() }
    }

    /// Steps for the plans of this function.
    fn steps(&self) -> u64 {
        if self.ask.tier == Tier::Command {
            return u64::MAX;
        }
        FUNCTION_STEPS.min(self.share_of_file())
    }

    fn share_of_file(&self) -> u64 {
        share_of_file(self.doc, self.item)
    }

    /// Whether the steps of this function for plans and maps of threads are spent.
    pub fn is_spent(&self) -> bool {
        self.plans.spent() > self.steps()
    }

    fn plan_now(&self, id: LoopId) -> Planned {
        if self.is_spent() {
            // what needs no steps is known all the same
            if let Err(why) = surroundings_allow(self, id) {
                return Planned::No(why);
            }
            let whose = if self.share_of_file() < FUNCTION_STEPS { Spent::File } else { Spent::Function };
            return Planned::No(NoKernel::NotTried(whose));
        }
        let counted = Cell::new(self.body().len() as u64 * STEPS_A_TERM);
        let site = OffloadSite { unnamed: true, ..Default::default() };
        let made = plan_counted(self, id, &site, &self.ask.cancel, &counted, |plan, view| {
            Outline::of(self, plan, view)
        });
        let planned = match made {
            Ok(outline) => Planned::Kernel(Arc::new(outline)),
            Err(why) => {
                let statements = [self.of(id).term];
                let shared = |plan: &codegen::RegionPlan, view: &FunctionView| Shared {
                    kernels: plan.nests.len(),
                    back: back(plan, view, self.body()),
                    cost: Cost::of_region(view, plan),
                };
                match with_region(self, id, &statements, &site, &self.ask.cancel, &counted, shared) {
                    Ok(shared) => Planned::Together(Arc::new(shared)),
                    // what was called off is no answer
                    Err(_) if self.ask.is_cancelled() => Planned::No(NoKernel::Cancelled),
                    // what stands against the loop itself says more
                    Err(_) => Planned::No(why),
                }
            }
        };
        self.plans.spend(counted.get());
        planned
    }
}

fn share_of_file(doc: &Doc, item: &front::Item) -> u64 {
    let functions = doc.functions_with_loops().max(1);
    let by_length = FILE_STEPS / functions + STEPS_A_BYTE * item.span.len() as u64;
    by_length.max(LEAST_STEPS.min(ALL_LEAST_STEPS / functions))
}

/// Steps for the plans of one function on save.
#[cfg(test)]
pub(crate) fn function_steps(doc: &Doc, item: usize) -> u64 {
    FUNCTION_STEPS.min(share_of_file(doc, &doc.unit().items[item]))
}

impl Planned {
    /// What stands against a kernel. That nobody tried does not.
    pub fn obstacle(&self) -> Option<&NoKernel> {
        match self {
            Planned::Kernel(_)
            | Planned::Together(_)
            | Planned::No(NoKernel::NotTried(_) | NoKernel::Cancelled) => None,
            Planned::No(why) => Some(why),
        }
    }
}

impl Outline {
    /// `read`: the function as the plan reads it, whose own symbols are those of the view's.
    fn of(view: &FunctionView, plan: &codegen::Plan, read: &FunctionView) -> Outline {
        let Some(kernel) = plan.kernels.first() else {
            return Outline {
                block: None,
                axes: Vec::new(),
                band: None,
                firsts: Vec::new(),
                cost: Cost::of(read, plan),
                mappings: OnceLock::new(),
                optimizable: OnceLock::new(),
            };
        };
        let rows = kernel.threads.is_none() && kernel.block[0] % 32 == 0;
        let band: Option<Vec<LoopId>> = kernel.dims.iter().map(|d| view.facts.of_term(d.term)).collect();
        let lanes = kernel.dims.iter().position(|d| d.axis == codegen::Axis::X);
        // paths are numbered anew where calls are written out
        let is_same =
            |s: SymbolId| std::ptr::eq(view, read) || read.body().symbols[s].storage != Storage::Path;
        let firsts = plan.device_buffers().filter(|b| is_same(b.symbol));
        let firsts = firsts.filter_map(|b| Some((b.symbol, b.constant_first()?)));
        Outline {
            block: Some(kernel.block),
            axes: kernel.dims.iter().map(|d| (d.axis, d.index)).collect(),
            band: band.zip(lanes).filter(|_| rows),
            firsts: firsts.collect(),
            cost: Cost::of(read, plan),
            mappings: OnceLock::new(),
            optimizable: OnceLock::new(),
        }
    }
}

impl NoKernel {
    /// A sentence for the user: what stands against it and what to do.
    pub fn words(&self, view: &FunctionView, id: LoopId) -> String {
        match self {
            NoKernel::NotParallel => hints::sentence(view, id),
            NoKernel::Generated => GENERATED.to_owned(),
            NoKernel::InMacro => in_a_macro(view, id),
            NoKernel::Language => not_from_c(view.doc),
            NoKernel::Region => crate::regions::refusal(view, id).unwrap_or_default(),
            NoKernel::OnDevice => crate::regions::on_a_device(view, id).unwrap_or_default(),
            // the new host text is a part of the program, and would get the program's
            NoKernel::OwnLibrary(own) => format!(
                "No kernel is made, because this program has its own `{own}`, and host code needs the library's. Give it another name."
            ),
            NoKernel::Together(words) | NoKernel::Told(words, _) => words.clone(),
            NoKernel::TooLong => {
                "No kernels are made of the nests in it: with the functions that it calls it is longer than is analyzed together.".to_owned()
            }
            NoKernel::Obstacle(first, arrays) => {
                let sizes = promises::sizes(view, view.of(id).term, arrays);
                format!("{}{sizes}", words::not_described(view, first.as_ref()))
            }
            NoKernel::Refused(refusal) => {
                let reasons = refusal.reasons.iter().take(3).map(|r| words::refusal(view, r));
                let reasons: Vec<String> = reasons.collect();
                format!("No kernel is made: {}", reasons.join(" Also, "))
            }
            NoKernel::NotTried(whose) => format!(
                "Whether a kernel can be made of it was not tried: the steps for plans of this {} were spent on other loops. \
                 Ask for this one (`warpwright offload --loop LINE`, or \"Offload to GPU\" in an editor), or for all with an editor's \"Analyze Fully\".",
                match whose {
                    Spent::Function | Spent::Keystroke => "function",
                    Spent::File => "file",
                }
            ),
            NoKernel::Cancelled => "Cancelled.".to_owned(),
        }
    }

    /// What stands against it in a few words, the same everywhere: `call of printf`. `None`: nothing that is known does.
    pub fn label(&self, view: &FunctionView) -> Option<String> {
        match self {
            NoKernel::NotParallel | NoKernel::NotTried(_) | NoKernel::Cancelled => None,
            NoKernel::Generated => Some("offloaded before".to_owned()),
            NoKernel::InMacro => Some("in a macro or an included file".to_owned()),
            NoKernel::Language => Some(not_from_c_label(view.doc)),
            NoKernel::Region => Some("in a parallel region".to_owned()),
            NoKernel::OnDevice => Some("on a device already".to_owned()),
            NoKernel::OwnLibrary(own) => Some(format!("own {own}")),
            NoKernel::Together(_) => Some("data between its nests".to_owned()),
            NoKernel::Told(_, label) => label.clone(),
            NoKernel::TooLong => Some("length".to_owned()),
            NoKernel::Obstacle(first, _) => Some(match first {
                Some(first) => words::obstacle_label(view, first),
                None => "memory it uses".to_owned(),
            }),
            NoKernel::Refused(refusal) => refusal.reasons.first().map(|r| words::refusal_label(view, r)),
        }
    }

    /// The same for whoever wanted an offload.
    pub fn refused(&self, view: &FunctionView, id: LoopId) -> Refused {
        match self {
            NoKernel::Cancelled => Refused::Cancelled,
            why => Refused::Because(why.words(view, id)),
        }
    }
}

/// Shows `then` the plan of an offload, or says why there is none. A loop that is not parallel is offloaded by its
/// thread map, if it has one.
pub(crate) fn with_plan<R>(
    view: &FunctionView,
    id: LoopId,
    cancel: &CancelToken,
    then: impl FnOnce(&codegen::Plan, &FunctionView) -> R,
) -> Result<R, NoKernel> {
    let opening = view.span(view.of(id).term).start;
    with_plan_at(view, id, &OffloadSite { opening, ..Default::default() }, cancel, then)
}

/// Likewise, at a place.
pub(crate) fn with_plan_at<R>(
    view: &FunctionView,
    id: LoopId,
    site: &OffloadSite<'_>,
    cancel: &CancelToken,
    then: impl FnOnce(&codegen::Plan, &FunctionView) -> R,
) -> Result<R, NoKernel> {
    plan_counted(view, id, site, cancel, &Cell::new(0), then)
}

/// Likewise; adds the steps it took to `counted`. With the plan `then` is shown the function as it reads it: calls may be written out.
fn plan_counted<R>(
    view: &FunctionView,
    id: LoopId,
    site: &OffloadSite<'_>,
    cancel: &CancelToken,
    counted: &Cell<u64>,
    then: impl FnOnce(&codegen::Plan, &FunctionView) -> R,
) -> Result<R, NoKernel> {
    let mut then = Some(then);
    let asked = Asked { site, cancel, counted };
    if view.of(id).granted.is_some() {
        return written_out::without_ways_out(view, id, asked, &mut then);
    }
    let why = match plan_as_it_is(view, id, asked, &mut then) {
        Err(why) if written_out::may_help(view, id, &why) => why,
        done => return done,
    };
    // a keystroke has no time for that
    if site.steps.is_some() {
        return Err(written_out::LATER);
    }
    written_out::with_calls_written_out(view, id, asked, &mut then).ok_or(why)
}

fn plan_as_it_is<R, F: FnOnce(&codegen::Plan, &FunctionView) -> R>(
    view: &FunctionView,
    id: LoopId,
    asked: Asked<'_>,
    then: &mut Option<F>,
) -> Result<R, NoKernel> {
    let Asked { site, cancel, counted } = asked;
    let l = view.of(id);
    let threads = !is_parallel(l);
    if threads && view.thread_map(id).is_none() {
        return Err(NoKernel::NotParallel);
    }
    surroundings_allow(view, id)?;
    let name = view.kernel_name(id);
    let mut made = |offload: &analysis::Offload| -> Result<R, NoKernel> {
        let plan = codegen::plan(&input(view, offload, &name, site)).map_err(NoKernel::Refused)?;
        then.take().map(|then| then(&plan, view)).ok_or(NoKernel::Cancelled)
    };
    // a keystroke has no time for that
    if site.steps.is_some() && more_threads::may_help(view, id) {
        return Err(written_out::LATER);
    }
    if let Some(done) = more_threads::offload(view, id, cancel, counted).and_then(|o| made(&o).ok()) {
        return Ok(done);
    }
    let collapse = l.mark.as_ref().and_then(|m| m.collapse);
    let steps = site.steps.unwrap_or(analysis::OFFLOAD_STEPS).min(analysis::OFFLOAD_STEPS);
    let budget = base::Budget::with_cancel(steps, cancel.clone());
    let (body, program) = (view.body(), view.doc.program());
    let offload = match threads {
        true => analysis::offload_threads(body, program, &view.facts, id, &budget),
        false => analysis::offload(body, program, &view.facts, id, collapse, &budget),
    };
    asked.count(budget.taken());
    if cancel.is_cancelled() {
        return Err(NoKernel::Cancelled);
    }
    let offload = offload.map_err(|obstacles| {
        let arrays = obstacles.iter().filter_map(|o| match o.kind {
            ObstacleKind::Unsized(s) => Some(s),
            _ => None,
        });
        NoKernel::Obstacle(obstacles.first().cloned(), arrays.collect())
    })?;
    made(&offload)
}

/// That nothing around a loop stands against a kernel in its place.
pub(crate) fn surroundings_allow(view: &FunctionView, id: LoopId) -> Result<(), NoKernel> {
    if view.is_generated(id) {
        return Err(NoKernel::Generated);
    }
    if !view.can_offload() {
        return Err(NoKernel::Language);
    }
    if crate::regions::on_a_device(view, id).is_some() {
        return Err(NoKernel::OnDevice);
    }
    if crate::regions::refusal(view, id).is_some() {
        return Err(NoKernel::Region);
    }
    match view.doc.own_library() {
        Some(own) => Err(NoKernel::OwnLibrary(own)),
        None => Ok(()),
    }
}

/// What a plan is made from.
pub(crate) fn input<'a>(
    view: &'a FunctionView,
    offload: &'a analysis::Offload,
    name: &'a str,
    site: &OffloadSite<'a>,
) -> codegen::Input<'a> {
    codegen::Input {
        body: view.body(),
        program: view.doc.program(),
        facts: &view.facts,
        offload,
        target: view.doc.options().target.row(),
        text: view.doc.slice(view.item.span),
        base_offset: view.item.span.start,
        file_text: if site.unnamed { "" } else { view.doc.source() },
        file_name: view.doc.name(),
        name,
        taken: site.taken,
        opening: Some(site.opening),
        threads: view.doc.options().threads,
    }
}
