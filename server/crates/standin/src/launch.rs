//! A launch: C's arguments for the simulator, and what went wrong there as the driver's codes.

use std::ffi::c_void;

use base::Budget;
use simulate::{
    locate, run_grid_code, Code, Fault, FaultKind, Finding, Granularity, Launch, ObjectId, Schedule, Value,
};

use crate::codes::*;
use crate::program::{kinds, say, Kind};
use crate::raw::{bytes, get, nth};
use crate::state::{setting, Function, State};
use crate::watch::Wrong;

/// Shared memory that a block has without being asked for.
pub const SHARED: u64 = 48 << 10;
/// Shared memory that a block may have where it is asked for.
pub const SHARED_AT_MOST: u64 = 99 << 10;

/// Bytes of the kernel's own shared variables.
pub fn own_shared(code: &Code) -> u64 {
    code.shared.iter().filter_map(|s| s.size).sum()
}

/// Runs a kernel. A fault in it is told by the calls after this one, as streams do.
pub fn launch(s: &mut State, f: &Function, shape: &Launch, params: *const *const c_void) -> Result {
    let context = s.current()?;
    let threads: u64 = shape.block.iter().map(|x| u64::from(*x)).product();
    if threads == 0
        || shape.grid.contains(&0)
        || !f.code.limits.fits_block(shape.block)
        || shape.grid.iter().zip(f.code.limits.grid).any(|(have, most)| *have > most)
        || shape.shared_bytes > f.dynamic
        || own_shared(&f.code) + shape.shared_bytes > SHARED_AT_MOST
    {
        return Err(INVALID_VALUE);
    }
    if let Some(gap) = f.code.gaps().next() {
        say(&format!("the simulator does not execute this: {gap}"));
        return Err(NOT_SUPPORTED);
    }
    if s.watch.wrong == Some(Wrong::Skips) {
        s.watch.launches += 1;
        return Ok(());
    }
    let mut records = Vec::new();
    let ran = arguments(s, f, params, &mut records).map(|args| {
        let schedule = Schedule { seed: 0, granularity: Granularity::Quantum(256), resident_blocks: 2 };
        let budget = Budget::new(setting("WARPWRIGHT_STANDIN_STEPS", 200_000_000));
        let Some(module) = s.modules.get_mut(&f.module) else { return Err(INVALID_HANDLE) };
        s.heap.swap_globals(&mut module.globals);
        let ran = run_grid_code(&f.code, &args, &mut s.heap, shape, &schedule, &budget);
        s.heap.swap_globals(&mut module.globals);
        s.clock += budget.taken();
        Ok(ran)
    });
    records.into_iter().for_each(|o| s.heap.free(o));
    s.watch.launches += 1;
    let broken = match ran?? {
        Ok(report) if report.completed => None,
        Ok(report) => Some(report.findings.iter().find_map(told).unwrap_or_else(|| {
            say(&format!("a kernel did not come to its end: {:?}", report.findings.first()));
            LAUNCH_FAILED
        })),
        Err(fault) => match code_of(&fault) {
            code @ (INVALID_VALUE | NOT_SUPPORTED | OUT_OF_MEMORY) => return Err(code),
            code => Some(code),
        },
    };
    if let (Some(code), Some(c)) = (broken, s.contexts.get_mut(&context)) {
        c.lost = Some(code);
    }
    Ok(())
}

fn told(finding: &Finding) -> Option<u32> {
    match finding {
        Finding::Fault(fault) => Some(code_of(fault)),
        _ => None,
    }
}

fn code_of(fault: &Fault) -> u32 {
    say(&format!("a kernel failed: {fault}"));
    match fault.kind {
        FaultKind::NullDereference
        | FaultKind::OutOfBounds { .. }
        | FaultKind::DeadObject { .. }
        | FaultKind::OtherSide { .. }
        | FaultKind::PointerRange
        | FaultKind::WriteToConst { .. } => ILLEGAL_ADDRESS,
        FaultKind::Misaligned { .. } => MISALIGNED_ADDRESS,
        FaultKind::OutOfFuel | FaultKind::Cancelled | FaultKind::Deadlock => LAUNCH_TIMEOUT,
        FaultKind::MemoryLimit => OUT_OF_MEMORY,
        FaultKind::NotSupported { .. } => NOT_SUPPORTED,
        FaultKind::BadCall { .. } => INVALID_VALUE,
        // the language leaves it open, and a program that does it is wrong
        _ => LAUNCH_FAILED,
    }
}

/// The parameters' values, each behind a pointer.
fn arguments(
    s: &mut State,
    f: &Function,
    params: *const *const c_void,
    records: &mut Vec<ObjectId>,
) -> Result<Vec<Value>> {
    let mut args = Vec::new();
    for (i, kind) in kinds(&f.code).into_iter().enumerate() {
        let at = nth(params, i)?;
        args.push(match kind {
            Kind::Int { size, signed } => {
                let raw = bytes(at, size)?;
                let mut wide = [if signed && raw.last().is_some_and(|b| *b > 127) { 255 } else { 0 }; 16];
                wide[..size].copy_from_slice(&raw);
                Value::Int(i128::from_le_bytes(wide))
            }
            Kind::F32 => Value::F32(get(at.cast())?),
            Kind::F64 => Value::F64(get(at.cast())?),
            // what is no address of the device faults where it is used
            Kind::Pointer => match locate(get(at.cast())?) {
                Some((object, offset)) => Value::Pointer(object, offset),
                None => Value::Null,
            },
            Kind::Record(size) => {
                let raw = bytes(at, size)?;
                let o = s.heap.alloc("an argument", 1, size as u64).map_err(|_| OUT_OF_MEMORY)?;
                records.push(o);
                s.heap.write(o, 0, &raw).map_err(|_| INVALID_VALUE)?;
                Value::Pointer(o, 0)
            }
        });
    }
    Ok(args)
}
