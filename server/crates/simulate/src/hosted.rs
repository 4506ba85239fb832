//! Runs host code that launches kernels: the host sequentially, every launch as a grid on the same heap.
//!
//! The functions of the CUDA run time (`cudaMalloc`, `cudaMemcpy`, …) are ordinary functions to this machine: whoever
//! wants them adds bodies for them, written in C over `__builtin_ww_device_malloc` and its like ([`crate::code::DeviceOp`]).
//! Launches are synchronous. Where a heap keeps the sides apart ([`Heap::keep_apart`]) the host reaches no memory of the
//! device, and kernels none of the host.

use std::sync::Arc;

use base::Budget;
use rustc_hash::FxHashMap;

use crate::code::{Code, ParamKind};
use crate::compile::{compile, Options, Program};
use crate::exec::{Stop, Thread, World};
use crate::fault::{Fault, FaultKind};
use crate::grid::{run_grid_told, GridReport};
use crate::ledger::{Ledger, Told};
use crate::machine::{arguments, link, refuel, unlink, value_of, Heap, Outcome, Value};
use crate::memory::{locate, Sides};
use crate::schedule::{Launch, Schedule};

/// A kernel that ran.
#[derive(Clone, Debug)]
pub struct Launched {
    pub kernel: Arc<str>,
    pub launch: Launch,
    pub report: GridReport,
}

/// Runs a host function. Kernels are compiled with C++'s overloads, the rest without; the k-th launch uses the
/// schedule's seed plus k. A launch whose report is not clean ends the run: what follows would rest on it.
///
/// The outcome is `None` in that case alone.
pub fn run_hosted(
    program: &Program<'_>,
    function: &str,
    args: &[Value],
    heap: &mut Heap,
    schedule: &Schedule,
    budget: &Budget,
) -> Result<(Option<Outcome>, Vec<Launched>), Fault> {
    run(program, (function, args), heap, schedule, budget, Who::default())
}

/// A launch that somebody only wants to know of.
#[derive(Clone, Debug)]
pub struct Skipped {
    pub kernel: Arc<str>,
    pub launch: Launch,
    /// Its arguments, with what the parameters are.
    pub args: Vec<(ParamKind, Value)>,
}

/// Runs the host alone: launches are told, in their order, and do not happen.
pub fn run_skipping(
    program: &Program<'_>,
    function: &str,
    args: &[Value],
    heap: &mut Heap,
    budget: &Budget,
    skipped: &mut dyn FnMut(&Heap, Skipped),
) -> Result<Outcome, Fault> {
    let who = Who { skipped: Some(skipped), ..Who::default() };
    let (outcome, _) = run(program, (function, args), heap, &Schedule::seeded(0), budget, who)?;
    outcome.ok_or_else(|| Fault::bad_call("a launch ended the run"))
}

/// Likewise, and tells a ledger what the sides do to memory of which they have copies.
pub fn run_told(
    program: &Program<'_>,
    function: &str,
    args: &[Value],
    heap: &mut Heap,
    schedule: &Schedule,
    budget: &Budget,
    ledger: &mut Ledger,
) -> Result<(Option<Outcome>, Vec<Launched>), Fault> {
    let who = Who { ledger: Some(ledger), ..Who::default() };
    run(program, (function, args), heap, schedule, budget, who)
}

/// Hears of launches that do not happen.
type Skip<'w> = &'w mut dyn FnMut(&Heap, Skipped);

/// Who is told of what happens.
#[derive(Default)]
struct Who<'w> {
    ledger: Option<&'w mut Ledger>,
    skipped: Option<Skip<'w>>,
}

fn run(
    program: &Program<'_>,
    (function, args): (&str, &[Value]),
    heap: &mut Heap,
    schedule: &Schedule,
    budget: &Budget,
    mut who: Who<'_>,
) -> Result<(Option<Outcome>, Vec<Launched>), Fault> {
    let code = compile(program, function, &Options::default())?;
    let regs = arguments(&code, 0, args)?;
    let (globals, mut once) = link(&code, heap, budget)?;
    let mut world = World { code: &code, globals: &globals, once: &mut once };
    let mut thread = Thread::start(&code, 0, &regs);
    let mut kernels: FxHashMap<u32, Code> = FxHashMap::default();
    let mut launched: Vec<Launched> = Vec::new();
    let mut steps = 0;
    let mut fuel = 0;
    if let Some(ledger) = &mut who.ledger {
        ledger.enter(&code, false);
    }
    let end = loop {
        if fuel == 0 {
            match refuel(budget, 4096) {
                Ok(f) => fuel = f,
                Err(f) => break Err(f),
            }
        }
        let before = fuel;
        let told = &mut Told(who.ledger.as_deref_mut());
        let stop = thread.run(&mut world, &mut heap.mem, told, &mut fuel);
        steps += before - fuel;
        match stop {
            Stop::Done(v) => break Ok(Some(v)),
            Stop::Turn => {}
            Stop::Fault(f) => break Err(f),
            Stop::Launch { f, config, args, .. } => {
                if let Some(skipped) = &mut who.skipped {
                    match skip(&code, f, config, &args) {
                        Ok(told) => skipped(heap, told),
                        Err(f) => break Err(f),
                    }
                    continue;
                }
                if let Some((0, noted)) = heap.failing {
                    heap.failing = None;
                    match heap.write(noted, 0, &[1i32]) {
                        Ok(()) => continue,
                        Err(f) => break Err(f),
                    }
                }
                heap.failing = heap.failing.map(|(left, noted)| (left - 1, noted));
                let seed = schedule.seed.wrapping_add(launched.len() as u64);
                let schedule = Schedule { seed, ..*schedule };
                let kernel = match kernel_code(program, &code, f, &mut kernels) {
                    Ok(kernel) => kernel,
                    Err(f) => break Err(f),
                };
                let runs = heap.mem.run_on(Sides::DEVICE);
                let told = who.ledger.as_deref_mut();
                let ran = grid((kernel, told), config, &args, heap, &schedule, budget);
                heap.mem.run_on(runs);
                match ran {
                    Ok(done) => {
                        let clean = done.report.is_clean();
                        launched.push(done);
                        if !clean {
                            break Ok(None);
                        }
                    }
                    Err(f) => break Err(f),
                }
            }
            Stop::Barrier { func, .. } | Stop::Warp { func, .. } => {
                let mut f = Fault::plain(crate::compile::not_supported("a barrier outside of a grid"));
                f.function = code.funcs[func as usize].name.clone();
                break Err(f);
            }
        }
    };
    thread.release(&mut heap.mem);
    unlink(&code, &globals, heap);
    let outcome = end?.map(|v| Outcome { value: value_of(&code, 0, v), steps });
    Ok((outcome, launched))
}

/// A kernel by its number in the host's code, compiled on its own.
fn kernel_code<'k>(
    program: &Program<'_>,
    host: &Code,
    f: u32,
    kernels: &'k mut FxHashMap<u32, Code>,
) -> Result<&'k Code, Fault> {
    use std::collections::hash_map::Entry;
    let options = Options { overloads: true, ..Options::default() };
    match kernels.entry(f) {
        Entry::Occupied(e) => Ok(e.into_mut()),
        Entry::Vacant(e) => {
            let name = host.funcs.get(f as usize).map(|f| f.name.clone());
            let name = name.ok_or_else(|| Fault::bad_call("no such kernel"))?;
            Ok(e.insert(compile(&program.for_kernels(), &name, &options)?))
        }
    }
}

fn grid(
    (kernel, ledger): (&Code, Option<&mut Ledger>),
    config: [u64; 7],
    regs: &[u64],
    heap: &mut Heap,
    schedule: &Schedule,
    budget: &Budget,
) -> Result<Launched, Fault> {
    let entry = kernel.funcs.first().ok_or_else(|| Fault::bad_call("no such kernel"))?;
    let args: Vec<Value> = entry.params.iter().zip(regs).map(|(kind, &r)| argument(kind, r)).collect();
    for (kind, value) in entry.params.iter().zip(&args) {
        // a struct goes along by value
        if let (ParamKind::Record(_), Value::Pointer(o, _)) = (kind, value) {
            if let Some(x) = heap.mem.get_mut(*o) {
                x.sides = Sides::BOTH;
            }
        }
    }
    let launch = launch_of(config);
    let report = run_grid_told(kernel, &args, heap, &launch, schedule, budget, ledger)?;
    Ok(Launched { kernel: entry.name.clone(), launch, report })
}

fn launch_of([gx, gy, gz, bx, by, bz, shared_bytes]: [u64; 7]) -> Launch {
    Launch { grid: [gx as u32, gy as u32, gz as u32], block: [bx as u32, by as u32, bz as u32], shared_bytes }
}

/// A register as what a parameter is.
fn argument(kind: &ParamKind, r: u64) -> Value {
    match kind {
        ParamKind::Int(k) if k.signed() => Value::Int(r as i64 as i128),
        ParamKind::Int(_) => Value::Int(r as i128),
        ParamKind::F32 => Value::F32(f32::from_bits(r as u32)),
        ParamKind::F64 => Value::F64(f64::from_bits(r)),
        ParamKind::Pointer | ParamKind::Record(_) => {
            locate(r).map_or(Value::Null, |(o, at)| Value::Pointer(o, at))
        }
    }
}

fn skip(code: &Code, f: u32, config: [u64; 7], regs: &[u64]) -> Result<Skipped, Fault> {
    let entry = code.funcs.get(f as usize).ok_or_else(|| Fault::bad_call("no such kernel"))?;
    let launch = launch_of(config);
    let args = entry.params.iter().zip(regs).map(|(kind, &r)| (*kind, argument(kind, r))).collect();
    Ok(Skipped { kernel: entry.name.clone(), launch, args })
}

/// A launch where none can be: inside a kernel, or in a run that has nobody to run the grid.
pub(crate) fn misplaced_launch(code: &Code, func: u32) -> Fault {
    let kind: FaultKind = crate::compile::not_supported("a kernel launch outside of a hosted run");
    let mut f = Fault::plain(kind);
    if let Some(func) = code.funcs.get(func as usize) {
        f.function = func.name.clone();
    }
    f
}
