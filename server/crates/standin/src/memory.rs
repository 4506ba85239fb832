//! Memory of the device and copies. An address of the device is the simulator's: never one of this process.

use std::ffi::c_void;

use simulate::{address_of, locate, ObjectId};

use crate::codes::*;
use crate::raw::{bytes, put, put_bytes};
use crate::state::{Handle, State};

/// What memory holds that nobody wrote: never zeros, so that a program that forgets shows it.
const GARBAGE: u8 = 0xCB;

fn allocate(s: &mut State, to: *mut u64, size: usize) -> Result {
    let context = s.current()?;
    if size == 0 || to.is_null() {
        return Err(INVALID_VALUE);
    }
    let size = size as u64;
    if s.used.saturating_add(size) > s.memory {
        return Err(OUT_OF_MEMORY);
    }
    let o = s.heap.alloc("device memory", 1, size).map_err(|_| OUT_OF_MEMORY)?;
    s.heap.write(o, 0, &vec![GARBAGE; size as usize]).map_err(|_| UNKNOWN)?;
    let address = address_of(o, 0);
    s.used += size;
    s.allocations.insert(address, (size, context));
    put(to, address)
}

fn release(s: &mut State, address: u64) -> Result {
    s.current()?;
    if address == 0 {
        return Ok(());
    }
    let (size, _) = s.allocations.remove(&address).ok_or(INVALID_VALUE)?;
    s.used -= size;
    if let Some((o, _)) = locate(address) {
        s.heap.free(o);
    }
    Ok(())
}

/// The object and offset of a range of the device's memory.
fn range(s: &State, address: u64, size: usize) -> Result<(ObjectId, u64)> {
    let (o, at) = locate(address).ok_or(INVALID_VALUE)?;
    let (have, at) = (s.heap.bytes(o).ok_or(INVALID_VALUE)?, u64::try_from(at).map_err(|_| INVALID_VALUE)?);
    match at.checked_add(size as u64) {
        Some(end) if end <= have => Ok((o, at)),
        _ => Err(INVALID_VALUE),
    }
}

/// What stands there.
fn read(s: &State, address: u64, size: usize) -> Result<Vec<u8>> {
    let (o, at) = range(s, address, size)?;
    let data = &s.heap.memory().get(o).ok_or(INVALID_VALUE)?.data;
    Ok(data[at as usize..at as usize + size].to_vec())
}

fn to_device(s: &mut State, to: u64, from: *const c_void, size: usize) -> Result {
    s.current()?;
    if size == 0 {
        return Ok(());
    }
    let (o, at) = range(s, to, size)?;
    s.heap.write(o, at, &bytes(from, size)?).map_err(|_| INVALID_VALUE)?;
    s.watch.to_device += size as u64;
    Ok(())
}

fn to_host(s: &mut State, to: *mut c_void, from: u64, size: usize) -> Result {
    s.current()?;
    if size == 0 {
        return Ok(());
    }
    let mut bytes = read(s, from, size)?;
    if s.watch.wrong == Some(crate::watch::Wrong::Zeros) {
        bytes.fill(0);
    }
    put_bytes(to, &bytes)?;
    s.watch.to_host += size as u64;
    Ok(())
}

fn on_device(s: &mut State, to: u64, from: u64, size: usize) -> Result {
    s.current()?;
    if size == 0 {
        return Ok(());
    }
    let (from, from_at) = range(s, from, size)?;
    let (to, to_at) = range(s, to, size)?;
    s.heap.copy(to, to_at, from, from_at, size as u64).map_err(|_| INVALID_VALUE)
}

fn fill(s: &mut State, to: u64, one: &[u8], count: usize) -> Result {
    s.current()?;
    let size = count.checked_mul(one.len()).ok_or(INVALID_VALUE)?;
    if !to.is_multiple_of(one.len() as u64) {
        return Err(INVALID_VALUE);
    }
    if size == 0 {
        return Ok(());
    }
    let (o, at) = range(s, to, size)?;
    s.heap.write(o, at, &one.repeat(count)).map_err(|_| INVALID_VALUE)
}

entries! {
    cuMemAlloc_v2(to: *mut u64, size: usize) |s| { allocate(s, to, size) }
    cuMemAllocAsync(to: *mut u64, size: usize, stream: Handle) |s| { s.stream(stream)?; allocate(s, to, size) }
    cuMemFree_v2(address: u64) |s| { release(s, address) }
    cuMemFreeAsync(address: u64, stream: Handle) |s| { s.stream(stream)?; release(s, address) }
    cuMemcpyHtoD_v2(to: u64, from: *const c_void, size: usize) |s| { to_device(s, to, from, size) }
    cuMemcpyHtoDAsync_v2(to: u64, from: *const c_void, size: usize, stream: Handle) |s| {
        s.stream(stream)?;
        to_device(s, to, from, size)
    }
    cuMemcpyDtoH_v2(to: *mut c_void, from: u64, size: usize) |s| { to_host(s, to, from, size) }
    cuMemcpyDtoHAsync_v2(to: *mut c_void, from: u64, size: usize, stream: Handle) |s| {
        s.stream(stream)?;
        to_host(s, to, from, size)
    }
    cuMemcpyDtoD_v2(to: u64, from: u64, size: usize) |s| { on_device(s, to, from, size) }
    cuMemcpyDtoDAsync_v2(to: u64, from: u64, size: usize, stream: Handle) |s| {
        s.stream(stream)?;
        on_device(s, to, from, size)
    }
    cuMemsetD8_v2(to: u64, value: u8, count: usize) |s| { fill(s, to, &[value], count) }
    cuMemsetD8Async(to: u64, value: u8, count: usize, stream: Handle) |s| {
        s.stream(stream)?;
        fill(s, to, &[value], count)
    }
    cuMemsetD32_v2(to: u64, value: u32, count: usize) |s| { fill(s, to, &value.to_le_bytes(), count) }
    cuMemsetD32Async(to: u64, value: u32, count: usize, stream: Handle) |s| {
        s.stream(stream)?;
        fill(s, to, &value.to_le_bytes(), count)
    }
    cuMemGetInfo_v2(free: *mut usize, all: *mut usize) |s| {
        s.current()?;
        put(free, (s.memory - s.used) as usize)?;
        put(all, s.memory as usize)
    }
    cuMemAllocHost_v2(to: *mut *mut c_void, size: usize) |s| {
        s.current()?;
        if size == 0 || to.is_null() {
            return Err(INVALID_VALUE);
        }
        let mut room: Vec<u64> = Vec::new();
        room.try_reserve_exact(size.div_ceil(8)).map_err(|_| OUT_OF_MEMORY)?;
        room.resize(size.div_ceil(8), 0);
        let at = room.as_mut_ptr();
        s.host.insert(at as usize, room);
        put(to, at.cast())
    }
    cuMemFreeHost(at: *mut c_void) |s| {
        s.current()?;
        s.host.remove(&(at as usize)).map(|_| ()).ok_or(INVALID_VALUE)
    }
}
