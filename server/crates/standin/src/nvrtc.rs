//! NVRTC: what it compiles is read by our front end and handed on as it is.

use std::ffi::{c_char, c_void};
use term::device::{Index, Word};

use crate::program::{faults, FIRST_LINE};
use crate::raw::{get, nth, put, put_bytes, text};
use crate::state::{Handle, State};

/// Codes of `nvrtcResult`; 3 also stands for a null pointer.
const INVALID_INPUT: u32 = 3;
const INVALID_PROGRAM: u32 = 4;
const INVALID_OPTION: u32 = 5;
const COMPILATION: u32 = 6;
const NAME_NOT_VALID: u32 = 10;

/// A program to compile.
#[derive(Default)]
pub struct Program {
    source: String,
    log: String,
    ptx: Option<String>,
    /// Names that were asked for; they keep their places.
    names: Vec<Box<std::ffi::CStr>>,
}

type Done<T = ()> = Result<T, u32>;

fn program(s: &mut State, p: Handle) -> Done<&mut Program> {
    s.programs.get_mut(&p).ok_or(INVALID_PROGRAM)
}

fn input<T>(r: Done<T>) -> Done<T> {
    r.map_err(|_| INVALID_INPUT)
}

fn with_zero(t: &str) -> Vec<u8> {
    [t.as_bytes(), b"\0"].concat()
}

fn compile(p: &mut Program, options: &[String]) -> Done {
    let mut defines = Vec::new();
    let mut rest = options.iter().map(String::as_str);
    while let Some(o) = rest.next() {
        let define = match o.strip_prefix("-D").or_else(|| o.strip_prefix("--define-macro=")) {
            Some("") => Some(rest.next().ok_or(INVALID_OPTION)?),
            other => other,
        };
        let plain =
            ["--gpu-architecture", "-arch", "--std", "-std", "-lineinfo", "--generate-line-info", "-G"];
        let plain =
            [&plain[..], &["--fmad", "-fmad", "--device-debug", "-default-device", "-w", "--ptxas-options"]]
                .concat();
        match define {
            Some(d) => {
                let (name, value) = d.trim().split_once('=').unwrap_or((d.trim(), "1"));
                defines.push((name.to_owned(), value.to_owned()));
            }
            None if plain.contains(&o.split('=').next().unwrap_or(o)) => {}
            None => {
                p.log = format!("the stand-in does not know the option {o}\n");
                return Err(INVALID_OPTION);
            }
        }
    }
    // a first line of directives would move the lines of the log
    let found = faults(&p.source, defines.clone());
    p.log = found.iter().map(|f| format!("{f}\n")).collect();
    if !found.is_empty() {
        return Err(COMPILATION);
    }
    let defined: String = defines.iter().map(|(name, value)| format!("#define {name} {value}\n")).collect();
    p.ptx = Some(format!("{FIRST_LINE}{defined}{}", p.source));
    Ok(())
}

early_entries! {
    nvrtcVersion(major: *mut i32, minor: *mut i32) |_s| {
        input(put(major, 13))?;
        input(put(minor, 0))
    }
    nvrtcGetNumSupportedArchs(to: *mut i32) |_s| { input(put(to, 3)) }
    nvrtcGetSupportedArchs(to: *mut i32) |_s| { input(put(to.cast(), [80i32, 89, 90])) }
    nvrtcCreateProgram(
        to: *mut Handle,
        source: *const c_char,
        _name: *const c_char,
        headers: i32,
        _texts: *const *const c_char,
        _names: *const *const c_char
    ) |s| {
        if headers != 0 {
            crate::program::say("headers given to nvrtcCreateProgram are not supported");
            return Err(INVALID_INPUT);
        }
        let mut source = input(text(source))?;
        if s.watch.wrong == Some(crate::watch::Wrong::Threads) {
            // where an index ends in it
            let thread = gpu::CUDA.said(Word::Index(Index::Thread));
            source = source.replace(&format!("{thread}.x;"), &format!("{thread}.x + 1;"));
        }
        let h = s.handle();
        input(put(to, h))?;
        s.programs.insert(h, Program { source, ..Program::default() });
        Ok(())
    }
    nvrtcDestroyProgram(to: *mut Handle) |s| {
        let h = input(get(to))?;
        s.programs.remove(&h).ok_or(INVALID_PROGRAM)?;
        input(put(to, 0))
    }
    nvrtcCompileProgram(p: Handle, count: i32, options: *const *const c_char) |s| {
        let options: Done<Vec<String>> = (0..count.max(0) as usize).map(|i| text(nth(options, i)?)).collect();
        compile(program(s, p)?, &input(options)?)
    }
    nvrtcGetPTXSize(p: Handle, to: *mut usize) |s| {
        let n = program(s, p)?.ptx.as_ref().ok_or(INVALID_PROGRAM)?.len();
        input(put(to, n + 1))
    }
    nvrtcGetPTX(p: Handle, to: *mut c_char) |s| {
        let text = with_zero(program(s, p)?.ptx.as_ref().ok_or(INVALID_PROGRAM)?);
        input(put_bytes(to.cast::<c_void>(), &text))
    }
    // as of a program that was compiled for a virtual architecture: there is none
    nvrtcGetCUBINSize(p: Handle, to: *mut usize) |s| { program(s, p)?; input(put(to, 0)) }
    nvrtcGetCUBIN(p: Handle, _to: *mut c_char) |s| { program(s, p)?; Err(INVALID_PROGRAM) }
    nvrtcGetProgramLogSize(p: Handle, to: *mut usize) |s| {
        let n = program(s, p)?.log.len();
        input(put(to, n + 1))
    }
    nvrtcGetProgramLog(p: Handle, to: *mut c_char) |s| {
        let text = with_zero(&program(s, p)?.log);
        input(put_bytes(to.cast::<c_void>(), &text))
    }
    nvrtcAddNameExpression(p: Handle, name: *const c_char) |s| {
        let name = input(text(name))?;
        let name = std::ffi::CString::new(name).map_err(|_| INVALID_INPUT)?;
        program(s, p)?.names.push(name.into_boxed_c_str());
        Ok(())
    }
    // kernels are found by their plain names
    nvrtcGetLoweredName(p: Handle, name: *const c_char, to: *mut *const c_char) |s| {
        let name = input(text(name))?;
        let found = program(s, p)?.names.iter().find(|n| n.to_bytes() == name.as_bytes());
        let at = found.ok_or(NAME_NOT_VALID)?.as_ptr();
        input(put(to, at))
    }
}

#[no_mangle]
pub extern "C" fn nvrtcGetErrorString(code: u32) -> *const c_char {
    let words = match code {
        0 => c"NVRTC_SUCCESS",
        1 => c"NVRTC_ERROR_OUT_OF_MEMORY",
        3 => c"NVRTC_ERROR_INVALID_INPUT",
        4 => c"NVRTC_ERROR_INVALID_PROGRAM",
        5 => c"NVRTC_ERROR_INVALID_OPTION",
        6 => c"NVRTC_ERROR_COMPILATION",
        10 => c"NVRTC_ERROR_NAME_EXPRESSION_NOT_VALID",
        11 => c"NVRTC_ERROR_INTERNAL_ERROR",
        _ => c"NVRTC_ERROR unknown",
    };
    words.as_ptr()
}
