//! What C hands over. An entry point's caller promises what CUDA's manual asks for: that a pointer is null or reaches as many
//! bytes as the call reads or writes. Null is refused here; the rest cannot be checked, by us or by the real driver.

use std::ffi::{c_char, c_void, CStr};

use crate::codes::{Result, INVALID_VALUE};

/// Writes a result.
pub fn put<T>(to: *mut T, value: T) -> Result {
    if to.is_null() {
        return Err(INVALID_VALUE);
    }
    // SAFETY: not null, and the caller gives room for one value (see above); it need not be aligned.
    unsafe { to.write_unaligned(value) };
    Ok(())
}

/// Reads one value.
pub fn get<T: Copy>(from: *const T) -> Result<T> {
    if from.is_null() {
        return Err(INVALID_VALUE);
    }
    // SAFETY: not null, and the caller gives one value (see above); it need not be aligned.
    Ok(unsafe { from.read_unaligned() })
}

/// Reads the n-th value of an array.
pub fn nth<T: Copy>(from: *const T, n: usize) -> Result<T> {
    if from.is_null() {
        return Err(INVALID_VALUE);
    }
    get(from.wrapping_add(n))
}

/// Reads bytes.
pub fn bytes(from: *const c_void, n: usize) -> Result<Vec<u8>> {
    if from.is_null() {
        return Err(INVALID_VALUE);
    }
    // SAFETY: not null, and the caller gives `n` bytes (see above).
    Ok(unsafe { std::slice::from_raw_parts(from.cast::<u8>(), n) }.to_vec())
}

/// Writes bytes.
pub fn put_bytes(to: *mut c_void, from: &[u8]) -> Result {
    if to.is_null() {
        return Err(INVALID_VALUE);
    }
    // SAFETY: not null, the caller gives that much room (see above), and `from` is memory of ours.
    unsafe { std::ptr::copy_nonoverlapping(from.as_ptr(), to.cast::<u8>(), from.len()) };
    Ok(())
}

/// Reads a text.
pub fn text(from: *const c_char) -> Result<String> {
    if from.is_null() {
        return Err(INVALID_VALUE);
    }
    // SAFETY: not null, and the caller's text ends with a zero (see above).
    Ok(unsafe { CStr::from_ptr(from) }.to_string_lossy().into_owned())
}

extern "C" {
    fn atexit(f: extern "C" fn()) -> i32;
}

/// Has a function called when the process ends.
pub fn at_exit(f: extern "C" fn()) {
    // SAFETY: `f` takes nothing, never unwinds, and stays loaded: the C library calls it before it unloads this one.
    unsafe { atexit(f) };
}
