//! Results of the driver, with the numbers and names of `cuda.h`.

use std::ffi::{c_char, CStr};

use crate::raw::put;

/// What an entry point gives: nothing, or the driver's code.
pub type Result<T = ()> = std::result::Result<T, u32>;

macro_rules! codes {
    ($($name:ident = $n:literal, $words:literal;)*) => {
        $(pub const $name: u32 = $n;)*
        const NAMES: &[(u32, &CStr, &CStr)] = &[$(($n, name(concat!("CUDA_ERROR_", stringify!($name), "\0")), name(concat!($words, "\0")))),*];
    };
}

const fn name(text: &'static str) -> &'static CStr {
    match CStr::from_bytes_with_nul(text.as_bytes()) {
        Ok(c) => c,
        Err(_) => c"?",
    }
}

codes! {
    INVALID_VALUE = 1, "invalid argument";
    OUT_OF_MEMORY = 2, "out of memory";
    NOT_INITIALIZED = 3, "initialization error";
    INVALID_DEVICE = 101, "invalid device ordinal";
    INVALID_IMAGE = 200, "device kernel image is invalid";
    INVALID_CONTEXT = 201, "invalid device context";
    NO_BINARY_FOR_GPU = 209, "no kernel image is available for execution on the device";
    INVALID_PTX = 218, "a PTX JIT compilation failed";
    FILE_NOT_FOUND = 301, "file not found";
    INVALID_HANDLE = 400, "invalid resource handle";
    NOT_FOUND = 500, "named symbol not found";
    ILLEGAL_ADDRESS = 700, "an illegal memory access was encountered";
    LAUNCH_TIMEOUT = 702, "the launch timed out and was terminated";
    MISALIGNED_ADDRESS = 716, "misaligned address";
    LAUNCH_FAILED = 719, "unspecified launch failure";
    NOT_SUPPORTED = 801, "operation not supported";
    UNKNOWN = 999, "unknown error";
}

fn find(code: u32) -> Option<(&'static CStr, &'static CStr)> {
    match code {
        0 => Some((c"CUDA_SUCCESS", c"no error")),
        _ => NAMES.iter().find(|n| n.0 == code).map(|n| (n.1, n.2)),
    }
}

#[no_mangle]
pub extern "C" fn cuGetErrorName(code: u32, to: *mut *const c_char) -> u32 {
    match find(code) {
        Some((name, _)) => put(to, name.as_ptr()).err().unwrap_or(0),
        None => put(to, std::ptr::null()).err().unwrap_or(INVALID_VALUE),
    }
}

#[no_mangle]
pub extern "C" fn cuGetErrorString(code: u32, to: *mut *const c_char) -> u32 {
    match find(code) {
        Some((_, words)) => put(to, words.as_ptr()).err().unwrap_or(0),
        None => put(to, std::ptr::null()).err().unwrap_or(INVALID_VALUE),
    }
}
