//! The functions of one NVRTC library, and one compilation with them.
//!
//! The loader's search goes through cudarc. cudarc itself can serve only the one library that its list of names finds
//! first, panics where a symbol is missing, and reads result codes into an enum that newer libraries leave; so the
//! functions are fetched here by name from whichever library was asked for, and result codes stay numbers.
//! Library handles are never closed: NVRTC keeps threads and tables of its own.

use crate::library::{places, Places};
use crate::{Arch, Unavailable, UnavailableKind};
use base::CancelToken;
use libloading::Library;
use serde::{Deserialize, Serialize};
use std::ffi::{c_char, c_int, c_void, CStr, CString};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// Which NVRTC answered.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct LibraryInfo {
    /// Its file; `None` if the loader's own search found it.
    pub path: Option<PathBuf>,
    /// Major and minor version, such as 12 and 9.
    pub version: (i32, i32),
    /// Compute capabilities times ten that it generates code for, rising.
    pub archs: Vec<u16>,
}

type Program = *mut c_void;
type FlowCallback = extern "C" fn(*mut c_void, *mut c_void) -> c_int;

/// NVRTC's functions (CUDA Toolkit documentation, "NVRTC", section "Basic Usage" and the API reference).
pub(crate) struct Api {
    pub info: LibraryInfo,
    create: unsafe extern "C" fn(
        *mut Program,
        *const c_char,
        *const c_char,
        c_int,
        *const *const c_char,
        *const *const c_char,
    ) -> c_int,
    compile: unsafe extern "C" fn(Program, c_int, *const *const c_char) -> c_int,
    destroy: unsafe extern "C" fn(*mut Program) -> c_int,
    ptx_size: unsafe extern "C" fn(Program, *mut usize) -> c_int,
    ptx: unsafe extern "C" fn(Program, *mut c_char) -> c_int,
    cubin_size: unsafe extern "C" fn(Program, *mut usize) -> c_int,
    cubin: unsafe extern "C" fn(Program, *mut c_char) -> c_int,
    log_size: unsafe extern "C" fn(Program, *mut usize) -> c_int,
    log: unsafe extern "C" fn(Program, *mut c_char) -> c_int,
    error_string: unsafe extern "C" fn(c_int) -> *const c_char,
    /// From 12.8 on.
    set_flow: Option<unsafe extern "C" fn(Program, FlowCallback, *mut c_void) -> c_int>,
}

/// Result codes of `nvrtcResult` that are told apart.
pub(crate) mod code {
    pub const SUCCESS: i32 = 0;
    pub const OUT_OF_MEMORY: i32 = 1;
    pub const INVALID_OPTION: i32 = 5;
    pub const COMPILATION: i32 = 6;
    pub const BUILTIN_OPERATION_FAILURE: i32 = 7;
    pub const CANCELLED: i32 = 16;
}

/// What one compilation gave.
pub(crate) struct Raw {
    pub code: i32,
    pub code_name: String,
    pub log: String,
    pub ptx_bytes: u64,
    pub cubin_bytes: u64,
    /// Machine code where there is some, else PTX with the zero behind it.
    pub image: Vec<u8>,
}

/// Asked by NVRTC between its steps.
pub(crate) struct Stop {
    pub cancel: CancelToken,
    pub deadline: Option<Instant>,
}

impl Stop {
    fn is_set(&self) -> bool {
        self.cancel.is_cancelled() || self.deadline.is_some_and(|d| Instant::now() >= d)
    }
}

/// A library that knows `wanted`, or the newest there is. Asked again, it is the same one.
pub(crate) fn pick(named: Option<&Path>, wanted: Option<Arch>) -> Result<&'static Api, Unavailable> {
    let Places { files, empty, loader } = places(named, &|name| std::env::var_os(name));
    let mut failed: Vec<String> =
        empty.iter().map(|p| format!("{} holds no libnvrtc", p.display())).collect();
    let mut loaded: Vec<&'static Api> = Vec::new();
    let any_file = !files.is_empty();
    let all = files.into_iter().map(Some).chain(loader.then_some(None));
    for file in all {
        match open(file) {
            Ok(api) if wanted.is_none_or(|a| api.info.archs.contains(&a.number)) => return Ok(api),
            Ok(api) => loaded.push(api),
            Err(Some(reason)) => failed.push(reason),
            Err(None) => {}
        }
    }
    if let (Some(api), Some(arch)) = (loaded.first(), wanted) {
        let (major, minor) = api.info.version;
        let known = api.info.archs.iter().map(|a| format!("sm_{a}")).collect::<Vec<_>>().join(", ");
        let next = if arch.number < api.info.archs.first().copied().unwrap_or(0) {
            "Choose one of these, or point warpwright.nvrtc to an older NVRTC (pip install nvidia-cuda-nvrtc-cu12)."
        } else {
            "Choose one of these, or point warpwright.nvrtc to a newer NVRTC (pip install nvidia-cuda-nvrtc)."
        };
        let reason = format!("NVRTC {major}.{minor} does not know {arch}; it knows {known}.");
        return Err(Unavailable::new(UnavailableKind::NoSuchArch, reason, next));
    }
    let found = if any_file { "could not be loaded" } else { "was not found" };
    let detail = if failed.is_empty() { String::new() } else { format!(" ({})", failed.join("; ")) };
    let next = "Install the CUDA toolkit, `pip install nvidia-cuda-nvrtc-cu12`, or set warpwright.nvrtc.";
    Err(Unavailable::new(UnavailableKind::NoLibrary, format!("libnvrtc {found}{detail}."), next))
}

/// Opens a file, or what the loader finds. `Err(None)`: the loader finds nothing, which needs no words.
fn open(file: Option<PathBuf>) -> Result<&'static Api, Option<String>> {
    static OPEN: Mutex<Vec<(Option<PathBuf>, &'static Api)>> = Mutex::new(Vec::new());
    let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, api)) = open.iter().find(|(path, _)| *path == file) {
        return Ok(api);
    }
    let library: &'static Library = match &file {
        Some(path) => {
            // SAFETY: running a library's initializers is what the user asked for by naming it.
            let library = unsafe { Library::new(path) };
            Box::leak(Box::new(library.map_err(|e| Some(load_error(path, &e)))?))
        }
        None => loader_library().ok_or(None)?,
    };
    let name = file.as_ref().map_or_else(|| "the loader's libnvrtc".to_owned(), |p| p.display().to_string());
    let api = Api::of(library, file.clone()).map_err(|e| Some(format!("{name} is no usable NVRTC: {e}")))?;
    let api: &'static Api = Box::leak(Box::new(api));
    open.push((file, api));
    Ok(api)
}

/// What the system said, with the file's name unless it said that too.
fn load_error(path: &Path, error: &libloading::Error) -> String {
    let text = std::error::Error::source(error).map_or_else(|| error.to_string(), ToString::to_string);
    let name = path.display().to_string();
    if text.contains(&name) {
        text
    } else {
        format!("{name}: {text}")
    }
}

/// What the loader's own search finds under the names that cudarc knows.
fn loader_library() -> Option<&'static Library> {
    std::panic::catch_unwind(|| {
        // SAFETY: loads the library if there is one; asked first because `culib` panics where there is none.
        unsafe { cudarc::nvrtc::sys::is_culib_present().then(|| cudarc::nvrtc::sys::culib()) }
    })
    .unwrap_or(None)
}

impl Api {
    fn of(library: &'static Library, path: Option<PathBuf>) -> Result<Api, String> {
        /// SAFETY: `T` must be the function's type as NVRTC's manual gives it.
        unsafe fn get<T: Copy>(library: &'static Library, name: &str) -> Result<T, String> {
            let symbol = unsafe { library.get::<T>(name.as_bytes()) };
            symbol
                .map(|s| *s)
                .map_err(|_| format!("it has no function {name}; NVRTC 11.2 or newer is needed"))
        }
        type Version = unsafe extern "C" fn(*mut c_int, *mut c_int) -> c_int;
        type Count = unsafe extern "C" fn(*mut c_int) -> c_int;
        // SAFETY: the types are those of nvrtc.h; the two calls write to the places they are given, and
        // `nvrtcGetSupportedArchs` writes as many numbers as `nvrtcGetNumSupportedArchs` says.
        unsafe {
            let (mut major, mut minor, mut count) = (0, 0, 0);
            let rc = get::<Version>(library, "nvrtcVersion")?(&mut major, &mut minor);
            let rc = rc | get::<Count>(library, "nvrtcGetNumSupportedArchs")?(&mut count);
            if rc != code::SUCCESS || !(1..10_000).contains(&count) {
                return Err(format!(
                    "it does not say which architectures it knows (result {rc}, count {count})"
                ));
            }
            let mut archs = vec![0 as c_int; count as usize];
            let rc = get::<Count>(library, "nvrtcGetSupportedArchs")?(archs.as_mut_ptr());
            if rc != code::SUCCESS {
                return Err(format!("it does not say which architectures it knows (result {rc})"));
            }
            let mut archs: Vec<u16> = archs.into_iter().filter_map(|a| u16::try_from(a).ok()).collect();
            archs.sort_unstable();
            Ok(Api {
                info: LibraryInfo { path, version: (major, minor), archs },
                create: get(library, "nvrtcCreateProgram")?,
                compile: get(library, "nvrtcCompileProgram")?,
                destroy: get(library, "nvrtcDestroyProgram")?,
                ptx_size: get(library, "nvrtcGetPTXSize")?,
                ptx: get(library, "nvrtcGetPTX")?,
                cubin_size: get(library, "nvrtcGetCUBINSize")?,
                cubin: get(library, "nvrtcGetCUBIN")?,
                log_size: get(library, "nvrtcGetProgramLogSize")?,
                log: get(library, "nvrtcGetProgramLog")?,
                error_string: get(library, "nvrtcGetErrorString")?,
                set_flow: get(library, "nvrtcSetFlowCallback").ok(),
            })
        }
    }

    /// Compiles; asks `stop` between NVRTC's steps where the library can be asked to.
    pub fn compile(&self, source: &CStr, name: &CStr, options: &[CString], stop: &Stop) -> Raw {
        extern "C" fn asked(stop: *mut c_void, _: *mut c_void) -> c_int {
            // SAFETY: the pointer given to `set_flow` below; it lives until the program is destroyed.
            let stop = unsafe { &*(stop as *const Stop) };
            c_int::from(stop.is_set())
        }
        let pointers: Vec<*const c_char> = options.iter().map(|o| o.as_ptr()).collect();
        let mut program: Program = std::ptr::null_mut();
        // SAFETY: all pointers live until `destroy`; sizes come from the library and the buffer has one byte more.
        unsafe {
            let null = std::ptr::null();
            let mut code = (self.create)(&mut program, source.as_ptr(), name.as_ptr(), 0, null, null);
            let (mut log, mut ptx, mut cubin, mut image) = (String::new(), 0usize, 0usize, Vec::new());
            if code == code::SUCCESS {
                if let Some(set_flow) = self.set_flow {
                    set_flow(program, asked, std::ptr::from_ref(stop) as *mut c_void);
                }
                code = (self.compile)(program, pointers.len() as c_int, pointers.as_ptr());
                log = self.read_log(program);
                if code == code::SUCCESS {
                    (self.ptx_size)(program, &mut ptx);
                    (self.cubin_size)(program, &mut cubin);
                    let (read, size) = if cubin > 0 { (self.cubin, cubin) } else { (self.ptx, ptx) };
                    image = vec![0u8; size + 1];
                    code = read(program, image.as_mut_ptr().cast());
                }
                (self.destroy)(&mut program);
            }
            let words = (self.error_string)(code);
            let code_name =
                if words.is_null() { String::new() } else { CStr::from_ptr(words).to_string_lossy().into() };
            Raw { code, code_name, log, ptx_bytes: ptx as u64, cubin_bytes: cubin as u64, image }
        }
    }

    /// SAFETY: `program` comes from `create` and is not destroyed.
    unsafe fn read_log(&self, program: Program) -> String {
        let mut size = 0usize;
        if unsafe { (self.log_size)(program, &mut size) } != code::SUCCESS || size == 0 {
            return String::new();
        }
        let mut bytes = vec![0u8; size + 1];
        if unsafe { (self.log)(program, bytes.as_mut_ptr().cast()) } != code::SUCCESS {
            return String::new();
        }
        let end = bytes.iter().position(|b| *b == 0).unwrap_or(bytes.len());
        bytes.truncate(end);
        String::from_utf8_lossy(&bytes).into_owned()
    }
}
