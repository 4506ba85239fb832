//! The one device, and what it says of itself.

use std::ffi::{c_char, c_void};

use crate::codes::*;
use crate::raw::{put, put_bytes};

/// So that nobody takes its times for measurements.
const NAME: &str = "Warpwright stand-in (simulated)";
/// What headers of this version call.
const VERSION: i32 = 13000;

fn device(n: i32) -> Result {
    (n == 0).then_some(()).ok_or(INVALID_DEVICE)
}

/// Attributes by the numbers of `cuda.h`.
fn attribute(what: i32) -> Option<i32> {
    let limits = gpu_limits();
    Some(match what {
        1 => limits.block_threads as i32,
        2..=4 => limits.block[what as usize - 2] as i32,
        5..=7 => limits.grid[what as usize - 5] as i32,
        8 => crate::launch::SHARED as i32,
        9 => 64 << 10,
        10 => limits.lanes as i32,
        // clock in kHz: a step is a nanosecond
        13 => 1_000_000,
        16 => 2,
        // no kernel time-out, integrated, mapped host memory, compute mode
        17..=20 => 0,
        39 => 2048,
        // unified addresses, managed memory
        41 | 83 => 0,
        75 => 8,
        76 => 0,
        97 => crate::launch::SHARED_AT_MOST as i32,
        115 => 1,
        _ => return None,
    })
}

fn gpu_limits() -> gpu::Limits {
    simulate::Options::default().limits
}

early_entries! {
    cuInit(flags: u32) |s| {
        if flags != 0 {
            return Err(INVALID_VALUE);
        }
        s.ready = true;
        Ok(())
    }
    cuDriverGetVersion(to: *mut i32) |_s| { put(to, VERSION) }
}

entries! {
    cuDeviceGetCount(to: *mut i32) |_s| { put(to, 1) }
    cuDeviceGet(to: *mut i32, n: i32) |_s| { device(n)?; put(to, 0) }
    cuDeviceGetName(to: *mut c_char, room: i32, n: i32) |_s| {
        device(n)?;
        let mut text = NAME.as_bytes().to_vec();
        text.truncate(usize::try_from(room).ok().and_then(|r| r.checked_sub(1)).ok_or(INVALID_VALUE)?);
        text.push(0);
        put_bytes(to.cast(), &text)
    }
    cuDeviceTotalMem_v2(to: *mut usize, n: i32) |s| { device(n)?; put(to, s.memory as usize) }
    cuDeviceGetAttribute(to: *mut i32, what: i32, n: i32) |_s| {
        device(n)?;
        put(to, attribute(what).ok_or_else(|| {
            crate::program::say(&format!("attribute {what} of the device is not known"));
            INVALID_VALUE
        })?)
    }
    cuDeviceGetUuid(to: *mut c_void, n: i32) |_s| { device(n)?; put_bytes(to, b"warpwright-stand") }
    cuDeviceGetUuid_v2(to: *mut c_void, n: i32) |_s| { device(n)?; put_bytes(to, b"warpwright-stand") }
}
