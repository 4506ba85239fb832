//! Modules, functions and launches.

use std::ffi::{c_char, c_void};

use simulate::{address_of, Launch};

use crate::codes::*;
use crate::launch::{launch, own_shared, SHARED, SHARED_AT_MOST};
use crate::raw::{put, text};
use crate::state::{Function, Handle, State};

fn load(s: &mut State, to: *mut Handle, program: &str) -> Result {
    s.current()?;
    let module = crate::program::load(program, &mut s.heap)?;
    let h = s.handle();
    s.modules.insert(h, module);
    put(to, h)
}

fn function(s: &State, f: Handle) -> Result<Function> {
    s.functions.get(&f).cloned().ok_or(INVALID_HANDLE)
}

entries! {
    cuModuleLoadData(to: *mut Handle, image: *const c_void) |s| { load(s, to, &text(image.cast())?) }
    cuModuleLoadDataEx(
        to: *mut Handle,
        image: *const c_void,
        _count: u32,
        _options: *const i32,
        _values: *const *const c_void
    ) |s| { load(s, to, &text(image.cast())?) }
    cuModuleLoad(to: *mut Handle, path: *const c_char) |s| {
        let program = std::fs::read_to_string(text(path)?).map_err(|_| FILE_NOT_FOUND)?;
        load(s, to, &program)
    }
    cuModuleUnload(module: Handle) |s| {
        s.current()?;
        let m = s.modules.remove(&module).ok_or(INVALID_HANDLE)?;
        m.globals.values().for_each(|o| s.heap.free(*o));
        s.functions.retain(|_, f| f.module != module);
        Ok(())
    }
    cuModuleGetFunction(to: *mut Handle, module: Handle, name: *const c_char) |s| {
        s.current()?;
        let m = s.modules.get(&module).ok_or(INVALID_HANDLE)?;
        let code = m.kernels.get(&text(name)?).ok_or(NOT_FOUND)?.clone();
        let dynamic = SHARED.saturating_sub(own_shared(&code));
        let h = s.handle();
        put(to, h)?;
        s.functions.insert(h, Function { module, code, dynamic });
        Ok(())
    }
    cuModuleGetGlobal_v2(to: *mut u64, size: *mut usize, module: Handle, name: *const c_char) |s| {
        s.current()?;
        let m = s.modules.get(&module).ok_or(INVALID_HANDLE)?;
        let o = *m.globals.get(text(name)?.as_str()).ok_or(NOT_FOUND)?;
        if !to.is_null() {
            put(to, address_of(o, 0))?;
        }
        if size.is_null() { Ok(()) } else { put(size, s.heap.bytes(o).ok_or(NOT_FOUND)? as usize) }
    }
    cuFuncGetAttribute(to: *mut i32, what: i32, f: Handle) |s| {
        let f = function(s, f)?;
        put(to, match what {
            0 => f.code.limits.block_threads as i32,
            1 => own_shared(&f.code) as i32,
            // constant and local bytes, registers: the simulator has none of a device's
            2..=4 => return Err(NOT_SUPPORTED),
            8 => f.dynamic as i32,
            _ => return Err(INVALID_VALUE),
        })
    }
    cuFuncSetAttribute(f: Handle, what: i32, value: i32) |s| {
        let f = s.functions.get_mut(&f).ok_or(INVALID_HANDLE)?;
        let value = u64::try_from(value).map_err(|_| INVALID_VALUE)?;
        match what {
            8 if value + own_shared(&f.code) <= SHARED_AT_MOST => f.dynamic = value,
            // how caches are divided: a preference
            9 if value <= 100 => {}
            _ => return Err(INVALID_VALUE),
        }
        Ok(())
    }
    cuOccupancyMaxActiveBlocksPerMultiprocessor(to: *mut i32, f: Handle, threads: i32, dynamic: usize) |s| {
        let f = function(s, f)?;
        let threads = u64::try_from(threads).ok().filter(|t| *t > 0).ok_or(INVALID_VALUE)?;
        if threads > u64::from(f.code.limits.block_threads) {
            return put(to, 0);
        }
        let shared = own_shared(&f.code) + dynamic as u64;
        let room = (SHARED_AT_MOST + 1024).checked_div(shared).unwrap_or(32);
        put(to, (2048 / threads).min(room).min(32) as i32)
    }
    cuLaunchKernel(
        f: Handle, gx: u32, gy: u32, gz: u32, bx: u32, by: u32, bz: u32,
        shared: u32, stream: Handle, params: *const *const c_void, extra: *const *const c_void
    ) |s| {
        s.stream(stream)?;
        let f = function(s, f)?;
        if !extra.is_null() {
            crate::program::say("a launch with its arguments in `extra` is not supported");
            return Err(NOT_SUPPORTED);
        }
        let shape = Launch { grid: [gx, gy, gz], block: [bx, by, bz], shared_bytes: shared.into() };
        launch(s, &f, &shape, params)
    }
}
