//! Contexts: the primary one and others, and which one a thread has.

use crate::codes::*;
use crate::raw::put;
use crate::state::{Context, Handle, State, STACK};

fn device(n: i32) -> Result {
    (n == 0).then_some(()).ok_or(INVALID_DEVICE)
}

/// Ends a context with all memory in it.
fn end(s: &mut State, context: Handle) {
    let owned: Vec<u64> = s.allocations.iter().filter(|a| a.1 .1 == context).map(|a| *a.0).collect();
    for address in owned {
        if let (Some((size, _)), Some((o, _))) = (s.allocations.remove(&address), simulate::locate(address)) {
            s.used -= size;
            s.heap.free(o);
        }
    }
    s.contexts.remove(&context);
    if s.primary == Some(context) {
        s.primary = None;
    }
}

entries! {
    cuDevicePrimaryCtxRetain(to: *mut Handle, n: i32) |s| {
        device(n)?;
        let h = match s.primary {
            Some(h) => h,
            None => s.handle(),
        };
        put(to, h)?;
        s.primary = Some(h);
        s.contexts.entry(h).or_default().retained += 1;
        Ok(())
    }
    cuDevicePrimaryCtxRelease_v2(n: i32) |s| {
        device(n)?;
        let h = s.primary.ok_or(INVALID_CONTEXT)?;
        let c = s.contexts.get_mut(&h).ok_or(INVALID_CONTEXT)?;
        c.retained = c.retained.saturating_sub(1);
        if c.retained == 0 {
            end(s, h);
        }
        Ok(())
    }
    cuDevicePrimaryCtxReset_v2(n: i32) |s| {
        device(n)?;
        if let Some(h) = s.primary {
            end(s, h);
        }
        Ok(())
    }
    cuDevicePrimaryCtxSetFlags_v2(n: i32, _flags: u32) |_s| { device(n) }
    cuDevicePrimaryCtxGetState(n: i32, flags: *mut u32, active: *mut i32) |s| {
        device(n)?;
        put(flags, 0)?;
        put(active, i32::from(s.primary.is_some()))
    }
    cuCtxCreate_v2(to: *mut Handle, _flags: u32, n: i32) |s| {
        device(n)?;
        let h = s.handle();
        put(to, h)?;
        s.contexts.insert(h, Context::default());
        STACK.with(|x| x.borrow_mut().push(h));
        Ok(())
    }
    cuCtxDestroy_v2(context: Handle) |s| {
        if !s.contexts.contains_key(&context) || s.primary == Some(context) {
            return Err(INVALID_CONTEXT);
        }
        end(s, context);
        STACK.with(|x| {
            if x.borrow().last() == Some(&context) {
                x.borrow_mut().pop();
            }
        });
        Ok(())
    }
    cuCtxSetCurrent(context: Handle) |s| {
        if context != 0 && !s.contexts.contains_key(&context) {
            return Err(INVALID_CONTEXT);
        }
        STACK.with(|x| {
            let mut x = x.borrow_mut();
            x.pop();
            if context != 0 {
                x.push(context);
            }
        });
        Ok(())
    }
    cuCtxGetCurrent(to: *mut Handle) |_s| { put(to, STACK.with(|x| x.borrow().last().copied().unwrap_or(0))) }
    cuCtxPushCurrent_v2(context: Handle) |s| {
        if !s.contexts.contains_key(&context) {
            return Err(INVALID_CONTEXT);
        }
        STACK.with(|x| x.borrow_mut().push(context));
        Ok(())
    }
    cuCtxPopCurrent_v2(to: *mut Handle) |_s| {
        let h = STACK.with(|x| x.borrow_mut().pop()).ok_or(INVALID_CONTEXT)?;
        if to.is_null() { Ok(()) } else { put(to, h) }
    }
    cuCtxSynchronize() |s| { s.current().map(|_| ()) }
    cuCtxGetDevice(to: *mut i32) |s| {
        s.current()?;
        put(to, 0)
    }
}
