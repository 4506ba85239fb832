//! A kernel and what a rewriting made of it, beside each other: what is found wrong with the new one and not with the old, and
//! what both leave in memory.
//!
//! Looked at with the launches that the file or a comment says, else with made-up ones, of blocks around a warp and a half-full
//! last one, and sizes around the number of threads. Launches with which the original itself goes wrong say nothing. Arrays
//! are as large as the original needs, so that whoever reaches further is seen.

use base::{Budget, CancelToken};
use simulate::{ElementKind, FaultKind, Finding, Launch, Program, Schedule};
use term::{Len, Op, Storage, TypeKind};

use super::inputs::{self, Argument};
use super::{facts, note, shape, Places, Shape};
use crate::limits::kernels_beside::{INTERLEAVINGS, MOST, STEPS};
use crate::words::plural;
use crate::{Ask, Doc};

/// What the two kernels are to each other.
pub(crate) enum Beside {
    /// With so many launches and inputs they do the same, and the new one has no fault of its own.
    Same(u32),
    /// A fault of the new kernel: a phrase.
    Worse(String),
    /// What is different: a phrase.
    Different(String),
    /// Why neither could be run: a sentence.
    NotRun(String),
    Cancelled,
}

/// What is asked of the new kernel.
#[derive(Clone, Copy)]
pub(crate) struct Wanted {
    /// Floating-point operations may be regrouped.
    pub regrouped: bool,
    /// The page assumes something, so that odd blocks and sizes beyond the launch need not be right.
    pub assumed: bool,
    /// Those who launch it were run beside their originals: only faults are looked for.
    pub hosts_ran: bool,
}

/// Compares the kernel of this name in two documents.
pub(crate) fn beside(ask: &Ask, new: &Doc, name: &str, wanted: Wanted) -> Beside {
    let (old, cancel) = (&ask.doc, &ask.cancel);
    let both = (ask, &ask.of(new));
    let of = |doc: &Doc| doc.unit().items.iter().position(|i| i.is_kernel && *i.name == *name);
    let (Some(a), Some(b)) = (of(old), of(new)) else {
        return Beside::NotRun(format!("there is no kernel `{name}` before or after."));
    };
    let (before, after) = (&old.unit().items[a], &new.unit().items[b]);
    let launches = launches(old, before, new, after, wanted);
    // without a launch
    if let Some(fault) = new_fault(both, name, None) {
        return Beside::Worse(fault);
    }
    for l in &launches.list {
        if let Some(fault) = new_fault(both, name, Some((&l.old, &l.new))) {
            return Beside::Worse(fault);
        }
    }
    if wanted.hosts_ran {
        return Beside::Same(0);
    }
    if launches.changed {
        return Beside::NotRun(format!(
            "`{name}` is launched in another way than before, and those who launch it could not be run."
        ));
    }
    if signature(before) != signature(after) {
        return Beside::Different(format!(
            "`{name}` takes other parameters, and no launch is rewritten with it"
        ));
    }
    let mut runs = 0;
    let mut why = None;
    for l in &launches.list {
        if cancel.is_cancelled() {
            return Beside::Cancelled;
        }
        match run_both((old, before), (new, after), &l.old, wanted, cancel) {
            Ran::Same => runs += 1,
            Ran::Worse(what) => return Beside::Worse(what),
            Ran::Different(what) => {
                let contract = match launches.made_up {
                    true => ", and no launch in the file is rewritten with it: it needs another launch, or is wrong",
                    false => "",
                };
                return Beside::Different(format!("{what}{contract}"));
            }
            Ran::Skipped(reason) => why = why.or(reason),
        }
    }
    match runs {
        0 => Beside::NotRun(why.unwrap_or_else(|| {
            format!("no launch could be made up with which `{name}` itself runs without a fault.")
        })),
        n => Beside::Same(n),
    }
}

/// A launch of the old kernel and of the new one.
struct Pair {
    old: Shape,
    new: Shape,
}

struct Launches {
    list: Vec<Pair>,
    /// Nobody says how it is launched.
    made_up: bool,
    /// The file's launches are not what they were.
    changed: bool,
}

fn launches(old: &Doc, before: &front::Item, new: &Doc, after: &front::Item, wanted: Wanted) -> Launches {
    let (from, to) = (shape::all_of(old, before), shape::all_of(new, after));
    let known: Vec<Pair> =
        from.iter().zip(&to).filter_map(|(a, b)| Some(Pair { old: a.clone()?, new: b.clone()? })).collect();
    if !known.is_empty() || wanted.hosts_ran {
        return Launches { changed: from != to, list: known, made_up: false };
    }
    let said = match shape::of_file(old, before) {
        Ok(Some((s, _))) => Some(s),
        _ => None,
    };
    let made_up = said.is_none();
    let shapes = match said {
        Some(s) => vec![s],
        None => shapes(before, wanted, super::limits(old)),
    };
    let numbers = |s: &&term::Symbol| {
        matches!(s.storage, Storage::Param(_)) && before.body.types.as_int(s.ty).is_some()
    };
    let open: Vec<String> = before.body.symbols.iter().filter(numbers).map(|s| s.name.to_string()).collect();
    let mut list = Vec::new();
    for s in shapes {
        let threads = s.grid.iter().chain(&s.block).fold(1u64, |p, &x| p.saturating_mul(x.into()));
        let open: Vec<&String> = open.iter().filter(|n| !s.values.iter().any(|(m, _)| m == *n)).collect();
        let mut sizes: Vec<Option<u64>> = vec![None];
        // sizes that leave the last block, or its last warp, half empty
        if !open.is_empty() {
            let block: u64 = s.block.iter().map(|&x| u64::from(x)).product();
            let flat = threads == u64::from(s.grid[0]) * u64::from(s.block[0]);
            let all = if flat { threads } else { u64::from(s.grid[0]) * u64::from(s.block[0]) };
            let half = if flat { block / 2 + 1 } else { 3 };
            sizes.extend([all.saturating_sub(1), all.saturating_sub(half), 1].map(Some));
            if !wanted.assumed {
                sizes.extend([all + 1, 0].map(Some));
            }
        }
        for size in sizes {
            let mut shape = s.clone();
            shape.values.extend(size.iter().flat_map(|v| open.iter().map(|n| ((*n).clone(), v.to_string()))));
            list.push(Pair { old: shape.clone(), new: shape });
        }
    }
    list.truncate(MOST);
    Launches { list, made_up, changed: from.len() != to.len() || from != to }
}

/// Launches for a kernel of which nobody says any.
fn shapes(item: &front::Item, wanted: Wanted, limits: gpu::Limits) -> Vec<Shape> {
    let body = &item.body;
    let wide = body.walk(body.root).any(|t| {
        matches!((body.op(t), body.args(t)), (Op::Member { field, .. }, &[b])
        if &**field == "y" && body.as_symbol(b).is_some_and(|s| body.symbols[s].storage == Storage::Builtin))
    });
    // as large as a shared array, which is what it is for as often as not
    let of = |ty| match body.types.kind(ty) {
        TypeKind::Array { of, len: Len::Const(n) } => Some((*of, u32::try_from(*n).ok()?)),
        _ => None,
    };
    let tile = body.symbols.iter().filter(|s| s.storage == Storage::Shared).find_map(|s| {
        let (row, n) = of(s.ty)?;
        let block = of(row).map_or([n, 1, 1], |(_, m)| [m, n, 1]);
        (block.iter().product::<u32>() <= limits.block_threads).then_some(block)
    });
    let mut blocks: Vec<[u32; 3]> = tile.into_iter().collect();
    match wide {
        true => blocks.extend([[16, 16, 1], [32, 8, 1], [8, 8, 1]]),
        false if wanted.assumed => blocks.extend([[64, 1, 1], [128, 1, 1]]),
        false => blocks.extend([[64, 1, 1], [128, 1, 1], [32, 1, 1]]),
    }
    if !wanted.assumed && !wide {
        blocks.push([33, 1, 1]);
    }
    let grids: &[[u32; 3]] = match (wide, wanted.assumed) {
        (true, _) => &[[2, 2, 1], [1, 1, 1]],
        (false, true) => &[[2, 1, 1], [4, 1, 1], [1, 1, 1]],
        (false, false) => &[[3, 1, 1], [1, 1, 1]],
    };
    let most = item.launch_bounds.unwrap_or(limits.block_threads);
    let mut out: Vec<Shape> = Vec::new();
    for b in blocks.iter().filter(|b| b.iter().product::<u32>() <= most) {
        for g in grids {
            // dynamic shared memory: as many bytes as any type needs for each thread
            let shared_bytes = b.iter().map(|&x| u64::from(x)).product::<u64>() * 8;
            let shape = Shape { grid: *g, block: *b, shared_bytes, ..Shape::default() };
            if !out.contains(&shape) {
                out.push(shape);
            }
        }
    }
    out
}

/// The parameters' names and types, without what is promised of the memory behind them.
fn signature(item: &front::Item) -> Vec<(String, String)> {
    let params = item.body.symbols.iter().filter(|s| matches!(s.storage, Storage::Param(_)));
    let plain = |s: &term::Symbol| {
        let text = term::notation::type_text(&item.body.types, s.ty);
        ["restrict", "const", " "].iter().fold(text, |t, promise| t.replace(promise, ""))
    };
    params.map(|s| (s.name.to_string(), plain(s))).collect()
}

/// What analysis finds of the new kernel and not of the old: a phrase.
fn new_fault((old, new): (&Ask, &Ask), name: &str, launch: Option<(&Shape, &Shape)>) -> Option<String> {
    let report = |ask: &Ask, shape: Option<&Shape>| {
        let asked: Vec<(String, Shape)> = shape.map(|s| (name.to_owned(), s.clone())).into_iter().collect();
        facts::kernel_reports(ask, &asked).into_iter().find(|k| k.name == name)
    };
    let before = report(old, launch.map(|l| l.0))?;
    let after = report(new, launch.map(|l| l.1))?;
    let words = launch.map_or(String::new(), |(_, s)| format!(", with {}", words(s)));
    let (a, b) = (&before.races.list, &after.races.list);
    if let Some(race) = b.first().filter(|_| a.is_empty()) {
        return Some(format!("`{name}` has a race that it had not: {}{words}", race.witness));
    }
    let (a, b) = (before.out_of_range.as_deref(), after.out_of_range.as_deref());
    if let Some(r) = b.and_then(<[_]>::first).filter(|_| a.is_none_or(<[_]>::is_empty)) {
        return Some(format!("`{name}` leaves an array as it did not: {}{words}", r.when));
    }
    let parted = |k: &facts::KernelReport| k.barriers.iter().filter(|b| b.verdict == "divergent").count();
    if parted(&after) > parted(&before) {
        let barrier = after.barriers.iter().find(|b| b.verdict == "divergent");
        let witness = barrier.and_then(|b| b.witness.clone()).unwrap_or_default();
        return Some(format!(
            "`{name}` has a barrier that not all threads of a block reach: {witness}{words}"
        ));
    }
    let overflows = |ask: &Ask, shape: Option<&Shape>| {
        let doc = &ask.doc;
        let item = doc.unit().items.iter().find(|i| i.is_kernel && *i.name == *name);
        let launch = shape.map_or_else(Default::default, |s| super::known_launch(doc, s));
        item.map_or(0, |i| analysis::kernel_overflows(&i.body, doc.program(), &launch).len())
    };
    if overflows(new, launch.map(|l| l.1)) > overflows(old, launch.map(|l| l.0)) {
        return Some(format!("`{name}` has a subscript that overflows its type, as it had not{words}"));
    }
    None
}

/// `2 blocks of 64 threads, n = 5`
fn words(s: &Shape) -> String {
    let count = |e: &[u32; 3]| match e {
        [x, 1, 1] => x.to_string(),
        [x, y, 1] => format!("{x}×{y}"),
        [x, y, z] => format!("{x}×{y}×{z}"),
    };
    let values: Vec<String> = s.values.iter().map(|(n, v)| format!(", {n} = {v}")).collect();
    let blocks = plural(s.grid.iter().product::<u32>() as usize, "block");
    format!("{blocks} of {} threads{}", count(&s.block), values.concat())
}

enum Ran {
    Same,
    Worse(String),
    Different(String),
    /// The original does not run, or not without a fault.
    Skipped(Option<String>),
}

/// Memory behind one run.
struct Left {
    findings: Vec<Finding>,
    completed: bool,
    memory: Vec<Vec<u8>>,
}

impl Left {
    fn is_clean(&self) -> bool {
        self.completed && self.findings.is_empty()
    }

    /// The array and the end of the access where the run reached behind an array.
    fn reached_behind(&self) -> Option<(String, u64)> {
        self.findings.iter().find_map(|f| match f {
            Finding::Fault(f) => match &f.kind {
                FaultKind::OutOfBounds { object, offset, size, .. } if *offset >= 0 => {
                    Some((object.to_string(), *offset as u64 + size))
                }
                _ => None,
            },
            _ => None,
        })
    }

    /// The first element of an argument in which the memory behind two runs differs: `x[3]`.
    fn difference(&self, other: &Left, arguments: &[Argument], regrouped: bool) -> Option<String> {
        let layouts = arguments.iter().filter_map(|a| match a {
            Argument::Array { name, layout, .. } => Some((name, layout)),
            Argument::Scalar { .. } => None,
        });
        layouts.zip(self.memory.iter().zip(&other.memory)).find_map(|((name, layout), (x, y))| {
            let k = first_difference(layout, x, y, regrouped)?;
            Some(format!("{name}[{k}]"))
        })
    }
}

fn compiled(doc: &Doc, item: &front::Item, limits: gpu::Limits) -> Result<simulate::Code, String> {
    let unit = doc.unit();
    let bodies = unit.items.iter().chain(unit.included.iter().map(|i| &i.item)).map(|i| &*i.body);
    let compile = simulate::Options { overloads: true, decisions: true, limits, ..Default::default() };
    simulate::compile(&Program::of(bodies), &item.body.name, &compile).map_err(|f| f.to_string())
}

/// How kernels are run.
struct Runs<'a> {
    launch: Launch,
    cancel: &'a CancelToken,
}

impl Runs<'_> {
    fn run(
        &self,
        code: &simulate::Code,
        arguments: &[Argument],
        schedule: Schedule,
        seed: u64,
    ) -> Result<Left, String> {
        let (mut heap, values, objects) = inputs::make(arguments, seed)?;
        let budget = Budget::with_cancel(STEPS, self.cancel.clone());
        let report = simulate::run_grid_code(code, &values, &mut heap, &self.launch, &schedule, &budget);
        let report = report.map_err(|f| f.to_string())?;
        let memory = objects.iter().map(|&o| heap.read_raw::<u8>(o)).collect();
        Ok(Left { findings: report.findings, completed: report.completed, memory })
    }

    /// A run for which the arrays are made as large as it needs.
    fn enlarging(
        &self,
        code: &simulate::Code,
        arguments: &mut [Argument],
        seed: u64,
    ) -> Result<Left, String> {
        loop {
            let left = self.run(code, arguments, Schedule::counted(seed), seed)?;
            match left.reached_behind() {
                Some((object, end)) if inputs::grow(arguments, &object, end) => {}
                _ => return Ok(left),
            }
        }
    }
}

fn run_both(
    (old, before): (&Doc, &front::Item),
    (new, after): (&Doc, &front::Item),
    shape: &Shape,
    wanted: Wanted,
    cancel: &CancelToken,
) -> Ran {
    let skipped = |why: String| Ran::Skipped(Some(format!("{why}.")));
    let different =
        |what: String| Ran::Different(format!("with {} the new `{}` {what}", words(shape), after.name));
    let limits = super::limits(old);
    let (a, b) = match (compiled(old, before, limits), compiled(new, after, limits)) {
        (Ok(a), Ok(b)) => (a, b),
        (Err(why), _) | (_, Err(why)) => return skipped(why),
    };
    let mut arguments = match inputs::arguments(&before.body, shape) {
        Ok(list) => list,
        Err(why) => return skipped(why),
    };
    let launch = Launch { grid: shape.grid, block: shape.block, shared_bytes: shape.shared_bytes };
    let runs = Runs { launch, cancel };
    for seed in 1..=2 {
        let first = match runs.enlarging(&a, &mut arguments, seed) {
            Ok(left) if left.is_clean() => left,
            Ok(_) => return Ran::Skipped(None),
            Err(why) => return skipped(why),
        };
        for k in 0..=INTERLEAVINGS {
            let schedule = match k {
                0 => Schedule::counted(seed),
                k => Schedule::seeded(seed + k),
            };
            let of_old = match k {
                0 => None,
                _ => match runs.run(&a, &arguments, schedule, seed) {
                    Ok(left) if left.is_clean() => Some(left),
                    _ => return Ran::Skipped(None),
                },
            };
            let of_old = of_old.as_ref().unwrap_or(&first);
            let of_new = match runs.run(&b, &arguments, schedule, seed) {
                Ok(left) => left,
                Err(why) => return different(format!("does not end: {why}")),
            };
            if let Some(f) = of_new.findings.first() {
                return Ran::Worse(fault_words(new, after, f, &arguments, shape));
            }
            if !of_new.completed {
                return different("does not end".to_owned());
            }
            if let Some(element) = of_old.difference(&of_new, &arguments, wanted.regrouped) {
                return different(format!("leaves something else in `{element}`"));
            }
        }
    }
    Ran::Same
}

fn fault_words(doc: &Doc, item: &front::Item, f: &Finding, arguments: &[Argument], shape: &Shape) -> String {
    let mut run = super::blank(item);
    note(f.clone(), &mut run, &Places { doc }, arguments, &mut Default::default());
    let said = run.races.first().map(|r| r.witness.clone());
    let said = said.or_else(|| run.problems.first().map(|p| p.text.clone())).unwrap_or_default();
    format!(
        "a run of the new `{}` with {} shows a fault that the old one has not: {said}",
        item.name,
        words(shape)
    )
}

/// The first element that differs.
fn first_difference(layout: &crate::verify::Layout, x: &[u8], y: &[u8], regrouped: bool) -> Option<u64> {
    let size = layout.bytes.max(1) as usize;
    let number = |bytes: &[u8], kind: ElementKind| -> Option<f64> {
        Some(match kind {
            ElementKind::F64 => f64::from_le_bytes(bytes.try_into().ok()?),
            ElementKind::F32 => f32::from_le_bytes(bytes.try_into().ok()?).into(),
            _ => return None,
        })
    };
    for (k, (a, b)) in x.chunks(size).zip(y.chunks(size)).enumerate() {
        for &(at, kind) in &layout.leaves {
            let at = at as usize;
            let (Some(a), Some(b)) = (a.get(at..at + kind.size()), b.get(at..at + kind.size())) else {
                continue;
            };
            if a == b {
                continue;
            }
            let near = match (number(a, kind), number(b, kind)) {
                (Some(a), Some(b)) if a.is_nan() && b.is_nan() => true,
                (Some(a), Some(b)) if regrouped => {
                    let bound = if kind == ElementKind::F32 { 1e-4 } else { 1e-10 };
                    (a - b).abs() <= bound * (1.0 + a.abs().max(b.abs()))
                }
                _ => false,
            };
            if !near {
                return Some(k as u64);
            }
        }
    }
    (x.len() != y.len()).then_some((x.len().min(y.len()) / size) as u64)
}
