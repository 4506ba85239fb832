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
    run(program, (function, args), heap, schedule, budget, None)
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
    run(program, (function, args), heap, schedule, budget, Some(ledger))
}

fn run(
    program: &Program<'_>,
    (function, args): (&str, &[Value]),
    heap: &mut Heap,
    schedule: &Schedule,
    budget: &Budget,
    mut ledger: Option<&mut Ledger>,
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
    if let Some(ledger) = &mut ledger {
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
        let told = &mut Told(ledger.as_deref_mut());
        let stop = thread.run(&mut world, &mut heap.mem, told, &mut fuel);
        steps += before - fuel;
        match stop {
            Stop::Done(v) => break Ok(Some(v)),
            Stop::Turn => {}
            Stop::Fault(f) => break Err(f),
            Stop::Launch { f, config, args, .. } => {
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
                let told = ledger.as_deref_mut();
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
    let mut args = Vec::with_capacity(regs.len());
    for (kind, &r) in entry.params.iter().zip(regs) {
        args.push(match kind {
            ParamKind::Int(k) if k.signed() => Value::Int(r as i64 as i128),
            ParamKind::Int(_) => Value::Int(r as i128),
            ParamKind::F32 => Value::F32(f32::from_bits(r as u32)),
            ParamKind::F64 => Value::F64(f64::from_bits(r)),
            ParamKind::Pointer | ParamKind::Record(_) => match locate(r) {
                Some((o, at)) => {
                    // a struct goes along by value
                    if let (ParamKind::Record(_), Some(x)) = (kind, heap.mem.get_mut(o)) {
                        x.sides = Sides::BOTH;
                    }
                    Value::Pointer(o, at)
                }
                None => Value::Null,
            },
        });
    }
    let [gx, gy, gz, bx, by, bz, shared_bytes] = config;
    let launch = Launch {
        grid: [gx as u32, gy as u32, gz as u32],
        block: [bx as u32, by as u32, bz as u32],
        shared_bytes,
    };
    let report = run_grid_told(kernel, &args, heap, &launch, schedule, budget, ledger)?;
    Ok(Launched { kernel: entry.name.clone(), launch, report })
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
