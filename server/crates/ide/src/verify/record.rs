//! What the host of an offloaded loop does with the device's memory at sizes that are chosen, found by running the rewritten
//! function in the simulator without its kernels: allocations, copies and launches in their order, with their numbers.
//!
//! Arrays of the caller are hollow: nothing is behind them, for the host only hands them on. One that it reads (to test
//! subscripts, say) faults, is made, and the run begins again. So it makes no difference how large the others are.
//! What kernels compute is not known here: memory that comes back holds one byte everywhere, and others in further runs
//! ([`FILLS`]). Where these do not do the same, the host decides by what kernels compute; then, and where it writes the caller's
//! memory itself, its steps do not tell all, and the rewritten program goes along ([`HostProgram`]).
//!
//! Deliberately absent: who runs it, and how it is sent.

mod of_input;
mod original;
mod reading;
mod recorded;
mod variants;

use std::sync::Arc;

use base::{Budget, Made, Scalar};
use rustc_hash::FxHashMap;
use simulate::{ElementKind, Fault, FaultKind, Heap, ObjectId, ParamKind, Program, Skipped, Value};

use super::inputs::{self, Parameter, Signature};
use super::{bodies, Layout};
use crate::check::Findings;
use crate::function_view::FunctionView;
use crate::limits::verify_record::{ANSWERS, ARRAY_BYTES, HOLLOW, MADE_BYTES, SAVED, SMALL, STEPS, TOLD};
use crate::offload::{offload_unit, Offloaded, Refused};
use crate::units::Unit;
use crate::{Ask, Which};
pub use original::{HostProgram, OriginalArgument, OriginalText};
use reading::read;
pub(crate) use recorded::hash_of;
pub use variants::{record_variants, CountedRequests, Variant};

/// A loop's kernels and what the host does with them.
#[derive(Clone, PartialEq, Debug)]
pub struct Recorded {
    /// The loop's key.
    pub key: String,
    /// 1-based line of the loop.
    pub line: u32,
    pub function: String,
    /// The kernel file's name and text.
    pub kernel_file: String,
    pub source: String,
    /// Changes with kernels and with what the host does.
    pub hash: String,
    /// Integers that the function gets from outside.
    pub sizes: Vec<(String, i128)>,
    pub host: Vec<HostPiece>,
    /// Empty where only the program knows them.
    pub steps: Vec<HostStep>,
    /// Where the steps do not tell all.
    pub program: Option<HostProgram>,
    /// Whether products may not be fused with sums, as nvcc is told.
    pub unfused: bool,
    /// Whether last bits may differ: operations come in another order, or a library's function is the device's.
    pub regrouped: bool,
    /// The original; or why what is left cannot be held against it, a phrase.
    pub original: Result<OriginalText, String>,
    /// Whether copies that are wanted decide what the function returns.
    pub returns_copied: bool,
}

/// A piece of the host's memory.
#[derive(Clone, PartialEq, Debug)]
pub struct HostPiece {
    pub name: String,
    pub bytes: u64,
    pub holds: Holds,
}

/// What it holds at first.
#[derive(Clone, PartialEq, Debug)]
pub enum Holds {
    Made(Made),
    These(Vec<u8>),
    /// These bytes, with the numbers of an element, and addresses: where, and of what.
    Exactly {
        bytes: Vec<u8>,
        element_bytes: u64,
        scalars: Vec<(u64, Scalar)>,
        links: Vec<(u64, Spot)>,
    },
    Nothing,
}

/// A byte of a piece: of the host's, or of the device's allocations from 0 on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Spot {
    pub memory: usize,
    pub offset: u64,
}

/// What the host does.
#[derive(Clone, PartialEq, Debug)]
pub enum HostStep {
    Allocate {
        bytes: u64,
    },
    Free {
        memory: usize,
    },
    ToDevice {
        to: Spot,
        from: Spot,
        bytes: u64,
    },
    /// `wanted`: the host may look at it.
    FromDevice {
        to: Spot,
        from: Spot,
        bytes: u64,
        wanted: bool,
    },
    OnDevice {
        to: Spot,
        from: Spot,
        bytes: u64,
    },
    Set {
        to: Spot,
        byte: u8,
        bytes: u64,
    },
    OnHost {
        to: Spot,
        from: Spot,
        bytes: u64,
    },
    Launch {
        kernel: String,
        grid: [u32; 3],
        block: [u32; 3],
        shared_bytes: u64,
        arguments: Vec<KernelArgument>,
    },
}

/// An argument of a kernel.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum KernelArgument {
    /// Its bytes.
    Plain(Vec<u8>),
    Device(Spot),
}

/// Records the loops chosen, each with its line. `given`: values of integers by name; where there is none, they are all the same,
/// as large as makes the largest array of the device 64 MiB.
pub fn record(
    ask: &Ask,
    findings: &Findings,
    which: &Which,
    given: &[(String, i128)],
) -> Vec<(u32, Result<Recorded, String>)> {
    let units = crate::units::units(ask, findings, which);
    units.iter().map(|u| (u.first.line(), one(ask, findings, u, given))).collect()
}

fn one(ask: &Ask, findings: &Findings, unit: &Unit, given: &[(String, i128)]) -> Result<Recorded, String> {
    if !ask.doc.language().interpreted {
        return Err(format!("Host text in {} is not recorded yet.", ask.doc.language().title));
    }
    let done = offloaded(ask, findings, unit)?;
    made(ask, findings, (unit, &done), given)
}

/// With what a loop became.
fn made(
    ask: &Ask,
    findings: &Findings,
    (unit, done): (&Unit, &Offloaded),
    given: &[(String, i128)],
) -> Result<Recorded, String> {
    let stale = || "The loop is not there any more.".to_owned();
    let view = findings.view(ask, unit.first.item).ok_or_else(stale)?;
    with_recorder(ask, &view, done, |recorder| {
        recorder.knows(given)?;
        let recorded = recorder.chosen(given).map_err(NotRecorded::Unfollowed);
        match recorded.and_then(|sizes| recorder.recorded(unit, done, &sizes)) {
            Ok(recorded) => Ok(recorded),
            Err(NotRecorded::Unfollowed(why)) if !ask.cancel.is_cancelled() => {
                let other = recorder.of_input(unit, done, given, recorded::in_words(&why));
                other.map_err(|also| format!("{why} No other input was made up for it: {also}."))
            }
            Err(NotRecorded::Unfollowed(why) | NotRecorded::Known(why)) => Err(why),
        }
    })
}

/// What the function returns where the copies that are wanted bring these bytes: a word as [`OriginalText`] has it. `Err`: why it is
/// not known, a phrase.
pub fn returned(
    ask: &Ask,
    findings: &Findings,
    recorded: &Recorded,
    answers: &[Vec<u8>],
) -> Result<u64, String> {
    let which = Which::Key(recorded.key.clone());
    let units = crate::units::units(ask, findings, &which);
    let unit = units.first().ok_or("the loop is not there any more")?;
    let done = offloaded(ask, findings, unit)?;
    let view = findings.view(ask, unit.first.item).ok_or("the loop is not there any more")?;
    with_recorder(ask, &view, &done, |recorder| {
        let ran = recorder.run(&recorded.sizes, 0, &answers.concat())?;
        if read(&ran)?.1.as_ref() != Ok(&recorded.steps) {
            return Err(DECIDES.trim_end_matches('.').to_owned());
        }
        ran.value.ok_or_else(|| "the function returns nothing that can be compared".to_owned())
    })
}

/// Why a host was not recorded, a sentence.
enum NotRecorded {
    /// It was not followed; another input may do.
    Unfollowed(String),
    /// It was, and launches nothing.
    Known(String),
}

impl From<String> for NotRecorded {
    fn from(why: String) -> NotRecorded {
        NotRecorded::Unfollowed(why)
    }
}

fn offloaded(ask: &Ask, findings: &Findings, unit: &Unit) -> Result<Offloaded, String> {
    offload_unit(ask, findings, unit).map_err(|why| match why {
        Refused::Because(why) => why,
        Refused::Stale => "The loop is not there any more.".to_owned(),
        Refused::Cancelled => "Cancelled.".to_owned(),
    })
}

const HOST: &str = include_str!("record.h.c");
/// After the run time's declarations, before kernels' texts, whose host functions call what stands in [`HOST`].
const KERNELS: &str = "
extern \"C\" void *ww_malloc(unsigned long bytes);
extern \"C\" void *ww_memcpy(void *to, const void *from, unsigned long bytes);
extern \"C\" void ww_free(void *p);
#define malloc ww_malloc
#define memcpy ww_memcpy
#define free ww_free
";

fn with_recorder<T>(
    ask: &Ask,
    view: &FunctionView,
    done: &Offloaded,
    then: impl FnOnce(&Recorder<'_>) -> Result<T, String>,
) -> Result<T, String> {
    let doc = &ask.doc;
    if doc.options().target != crate::Target::default() {
        return Err("Only kernels of CUDA are run on a GPU.".to_owned());
    }
    let texts = done.edit.create.iter().map(|f| f.text.as_str());
    let before = format!("{}{KERNELS}", super::runtime::DEVICE);
    let (host, kernels) = super::read_with(doc, (HOST, &done.host), (&before, texts));
    let rewritten = bodies(&host).chain(kernels.iter().flat_map(bodies));
    let program = Program::of(rewritten.chain(doc.other_bodies()));
    let signature = inputs::signature(view.body()).map_err(|why| format!("It is not run: {why}."))?;
    then(&Recorder { ask, view, program, signature })
}

/// A rewritten function.
struct Recorder<'a> {
    ask: &'a Ask,
    view: &'a FunctionView<'a>,
    program: Program<'a>,
    signature: Signature,
}

/// What stands for one parameter or file-scope variable.
#[derive(Clone, PartialEq, Debug)]
struct Stands {
    name: Arc<str>,
    made: Made,
    /// Bytes, where it has so many and no others.
    fixed: Option<u64>,
    /// Whether the host goes through it: then so many bytes are there.
    real: Option<u64>,
}

/// One run without kernels.
struct Run {
    /// [`record.h.c`]'s steps: what, to, from, bytes, more; and launches behind so many of them.
    told: Vec<[u64; 5]>,
    launches: Vec<(usize, Skipped)>,
    saved: Vec<u8>,
    /// What stands for parameters and variables, with their objects.
    stands: Vec<(ObjectId, Stands)>,
    names: FxHashMap<ObjectId, Arc<str>>,
    value: Option<u64>,
    /// Which of them the host itself wrote, by name.
    wrote: Option<String>,
}

impl Recorder<'_> {
    /// Whether these are integers of it.
    fn knows(&self, given: &[(String, i128)]) -> Result<(), String> {
        let names: Vec<String> = self.signature.sizes().into_iter().map(str::to_owned).collect();
        if let Some((name, _)) = given.iter().find(|g| !names.contains(&g.0)) {
            let all = names.iter().map(|n| format!("`{n}`")).collect::<Vec<_>>().join(", ");
            return Err(format!(
                "`{name}` is no integer that `{}` gets from outside. Sizes can be given for: {}.",
                self.view.body().name,
                if all.is_empty() { "none" } else { &all }
            ));
        }
        Ok(())
    }

    /// Values for all integers.
    fn chosen(&self, given: &[(String, i128)]) -> Result<Vec<(String, i128)>, String> {
        let names: Vec<String> = self.signature.sizes().into_iter().map(str::to_owned).collect();
        let with = |size: i128| -> Vec<(String, i128)> {
            let value = |n: &String| given.iter().find(|g| g.0 == *n).map_or(size, |g| g.1);
            names.iter().map(|n| (n.clone(), value(n))).collect()
        };
        if names.iter().all(|n| given.iter().any(|g| g.0 == *n)) {
            return Ok(with(0));
        }
        let (mut best, mut why) = (None, None);
        for power in 5..=28 {
            match self.run(&with(1 << power), 0, &[]) {
                Ok(run) => {
                    let largest = run.told.iter().filter(|s| s[0] == 1).map(|s| s[3]).max().unwrap_or(0);
                    if largest > ARRAY_BYTES && best.is_some() {
                        break;
                    }
                    if !run.launches.is_empty() {
                        best = Some(with(1 << power));
                    }
                }
                Err(_) if best.is_some() => break,
                Err(other) => {
                    why.get_or_insert(other);
                }
            }
        }
        best.ok_or_else(|| {
            let why =
                why.unwrap_or_else(|| "at no size that was tried did the host launch a kernel.".to_owned());
            format!("No sizes were found: {why} Give some: {}.", ask_for(&names))
        })
    }

    /// Runs the host alone; what comes from the device is `fill`, behind `answers`.
    fn run(&self, sizes: &[(String, i128)], fill: u8, answers: &[u8]) -> Result<Run, String> {
        let mut stands = self.stands(sizes)?;
        let budget = Budget::with_cancel(STEPS, self.ask.cancel.clone());
        // memory that the host's part makes is handed on mostly, and looked at seldom
        let mut small = 0;
        loop {
            match self.try_run(sizes, &stands, (fill, answers, small), &budget) {
                Ok(run) => return Ok(run),
                Err(fault) => {
                    let FaultKind::OutOfBounds { object, object_bytes, offset, size } = &fault.kind else {
                        return Err(not_run(&fault));
                    };
                    if &**object == "malloc" && small == 0 {
                        small = SMALL;
                        continue;
                    }
                    let end = u64::try_from(*offset).ok().and_then(|o| o.checked_add(*size));
                    let same = |s: &&mut Stands| {
                        s.name == *object
                            && s.real.unwrap_or(0) == *object_bytes
                            && s.fixed.is_none_or(|f| f > *object_bytes)
                    };
                    let (Some(end), Some(of)) = (end, stands.iter_mut().find(same)) else {
                        return Err(not_run(&fault));
                    };
                    let more = of.fixed.unwrap_or(end.max(2 * object_bytes).max(4096));
                    if more > MADE_BYTES {
                        return Err(format!(
                            "The host itself goes through more than {} MiB of `{object}`; give smaller sizes.",
                            MADE_BYTES >> 20
                        ));
                    }
                    of.real = Some(more.next_multiple_of(of.made.element_bytes.max(1)));
                }
            }
        }
    }

    /// What stands for arrays.
    fn stands(&self, sizes: &[(String, i128)]) -> Result<Vec<Stands>, String> {
        let below =
            sizes.iter().filter_map(|s| u64::try_from(s.1).ok()).filter(|s| *s > 0).min().unwrap_or(3);
        let parameters = self.signature.parameters.iter().filter_map(|p| match p {
            Parameter::Buffer { name, layout, .. } => Some((name, layout, None)),
            _ => None,
        });
        let globals = self.signature.globals.iter().filter(|g| !g.is_size);
        let globals = globals.map(|g| (&g.name, &g.layout, Some(g.layout.bytes.saturating_mul(g.count))));
        let mut out = Vec::new();
        for (seed, (name, layout, fixed)) in parameters.chain(globals).enumerate() {
            let scalars = scalars(layout)
                .ok_or_else(|| format!("`{name}` holds pointers, or bytes of unknown kinds."))?;
            let made = Made { seed: seed as u64 + 1, element_bytes: layout.bytes, scalars, below };
            out.push(Stands { name: name.clone(), made, fixed, real: None });
        }
        Ok(out)
    }

    fn try_run(
        &self,
        sizes: &[(String, i128)],
        stands: &[Stands],
        (fill, answers, small): (u8, &[u8], u64),
        budget: &Budget,
    ) -> Result<Run, Fault> {
        let mut heap = Heap::limited(1 << 30);
        let mut placed = Vec::new();
        let mut first = Vec::new();
        for s in stands {
            let o = heap.alloc(&s.name, 1, s.real.unwrap_or(0))?;
            let mut contents = vec![0; s.real.unwrap_or(0) as usize];
            s.made.fill(&mut contents);
            heap.write(o, 0, &contents)?;
            first.push(contents);
            placed.push((o, s.clone()));
        }
        let of = |name: &str| sizes.iter().find(|s| s.0 == name).map_or(0, |s| s.1);
        let mut objects = placed.iter();
        let mut args = Vec::new();
        for p in &self.signature.parameters {
            args.push(match p {
                Parameter::Size { name, max, .. } => Value::Int(of(name).min(*max)),
                Parameter::Real { double: true } => Value::F64(REAL),
                Parameter::Real { double: false } => Value::F32(REAL as f32),
                Parameter::Buffer { .. } => {
                    objects.next().map_or(Value::Null, |(o, _)| Value::Pointer(*o, 0))
                }
                Parameter::Whole { .. } => return Err(Fault::bad_call("a structure by value")),
            });
        }
        for g in &self.signature.globals {
            let o = match g.is_size {
                true => {
                    let value = of(&g.name).to_le_bytes();
                    heap.buffer(&g.name, &value[..(g.layout.bytes as usize).min(16)])?
                }
                false => match objects.next() {
                    Some((o, _)) => *o,
                    None => continue,
                },
            };
            heap.provide(&g.name, o);
        }
        let hollow: Vec<u64> =
            placed.iter().filter(|p| p.1.real.is_none()).map(|(o, _)| u64::from(o.0)).collect();
        let settings = self.provide(&mut heap, &hollow, (fill, answers, small))?;
        let mut launches = Vec::new();
        let function = &self.view.body().name;
        let outcome = simulate::run_skipping(
            &self.program,
            function,
            &args,
            &mut heap,
            budget,
            &mut |heap, skipped| {
                launches.push((heap.read_raw::<u64>(settings)[0] as usize, skipped));
            },
        )?;
        let numbers = heap.read_raw::<u64>(settings);
        let words = heap.global("ww_steps").map(|o| heap.read_raw::<u64>(o)).unwrap_or_default();
        let told = words.chunks_exact(5).take(numbers[0] as usize);
        let told: Vec<[u64; 5]> = told.filter_map(|w| w.try_into().ok()).collect();
        let mut saved = heap.global("ww_saved").map(|o| heap.read_raw::<u8>(o)).unwrap_or_default();
        saved.truncate(numbers[3] as usize);
        let changed = placed.iter().zip(&first).find(|((o, _), first)| heap.read_raw::<u8>(*o) != **first);
        let wrote = changed.map(|((_, s), _)| s.name.to_string());
        let names = heap.memory();
        let names = told
            .iter()
            .flat_map(|t| [t[1], t[2]])
            .filter_map(simulate::locate)
            .filter_map(|(o, _)| Some((o, names.get(o)?.name.clone())));
        let names = names.collect();
        let value = match outcome.value {
            Some(Value::Int(v)) => Some(v as i64 as u64),
            Some(Value::F32(v)) => Some(f64::from(v).to_bits()),
            Some(Value::F64(v)) => Some(v.to_bits()),
            _ => None,
        };
        Ok(Run { told, launches, saved, stands: placed, names, value, wrote })
    }

    /// What the run time of `record.h.c` works with. Gives the object of its settings.
    fn provide(
        &self,
        heap: &mut Heap,
        hollow: &[u64],
        (fill, answers, small): (u8, &[u8], u64),
    ) -> Result<ObjectId, Fault> {
        let mut all = vec![0u64; HOLLOW];
        all.iter_mut().zip(hollow).for_each(|(to, from)| *to = *from);
        let answers_bytes = answers.len().min(ANSWERS);
        let mut room = answers[..answers_bytes].to_vec();
        room.push(0);
        let settings = [
            0,
            hollow.len().min(HOLLOW) as u64,
            TOLD as u64,
            0,
            SAVED as u64,
            0,
            answers_bytes as u64,
            u64::from(fill),
            small,
            HOLLOW as u64,
        ];
        let at = heap.buffer("ww_settings", &settings)?;
        heap.provide("ww_settings", at);
        let steps = heap.buffer("ww_steps", &vec![0u64; TOLD * 5])?;
        heap.provide("ww_steps", steps);
        for (name, o) in [
            ("ww_hollow", heap.buffer("ww_hollow", &all)?),
            ("ww_answers", heap.buffer("ww_answers", &room)?),
            ("ww_saved", heap.buffer("ww_saved", &vec![0u8; SAVED])?),
        ] {
            heap.provide(name, o);
        }
        Ok(at)
    }
}

/// What memory of the device may hold: as numbers, small and large ones of both signs, whole and floating.
const FILLS: [u8; 3] = [0x3F, 0x47, 0xC7];

const DECIDES: &str = "The host decides by what kernels compute what it does next.";

/// What floating parameters are: exact in both widths.
const REAL: f64 = 0.625;

/// What an element holds; `None` where there are pointers or bytes of unknown kinds.
pub(crate) fn scalars(layout: &Layout) -> Option<Vec<(u64, Scalar)>> {
    if !layout.pointers.is_empty() || !layout.raw.is_empty() {
        return None;
    }
    Some(layout.leaves.iter().map(|l| (l.0, scalar(l.1))).collect())
}

fn scalar(kind: ElementKind) -> Scalar {
    match kind {
        ElementKind::Bool => Scalar::Truth,
        ElementKind::F32 => Scalar::F32,
        ElementKind::F64 => Scalar::F64,
        other => Scalar::Whole(other.size() as u8),
    }
}

fn not_run(fault: &Fault) -> String {
    match &fault.kind {
        FaultKind::OutOfFuel => {
            "The host's part takes more steps than are allowed here; give smaller sizes.".to_owned()
        }
        FaultKind::Cancelled => "Cancelled.".to_owned(),
        _ => format!("The host's part was not followed: {fault}."),
    }
}

fn said(sizes: &[(String, i128)]) -> String {
    let all: Vec<String> = sizes.iter().map(|(n, v)| format!("{n}={v}")).collect();
    if all.is_empty() {
        "its fixed sizes".to_owned()
    } else {
        all.join(", ")
    }
}

fn ask_for(names: &[String]) -> String {
    names.iter().map(|n| format!("-s {n}=…")).collect::<Vec<_>>().join(" ")
}

/// A kernel's argument as bytes, as the parameter takes it.
pub(crate) fn plain(kind: &ParamKind, value: &Value) -> Option<Vec<u8>> {
    Some(match (kind, value) {
        (ParamKind::Int(k), Value::Int(v)) => v.to_le_bytes()[..k.bits().div_ceil(8) as usize].to_vec(),
        (ParamKind::F32, Value::F32(v)) => v.to_le_bytes().to_vec(),
        (ParamKind::F64, Value::F64(v)) => v.to_le_bytes().to_vec(),
        (ParamKind::Pointer, Value::Null) => vec![0; 8],
        _ => return None,
    })
}
