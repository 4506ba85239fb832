//! Z3, the decision procedure, loaded at run time: a text of SMT-LIB 2 goes in, what Z3 prints comes out.
//!
//! Only the C functions around `Z3_eval_smtlib2_string` are used (z3_api.h), the same in 4.8 and later. Limits that give the
//! same answer on every machine stand in the text (`(set-option :rlimit …)`); the time limit here is for the rest.
//! Deliberately absent: what the text means.

use crate::{Unavailable, UnavailableKind};
use base::CancelToken;
use libloading::Library;
use serde::{Deserialize, Serialize};
use std::ffi::{c_char, c_uint, c_void, CStr, CString};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// The environment variable that names Z3's library.
pub const ENV_Z3: &str = "WARPWRIGHT_Z3";

/// A question.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ProveRequest {
    /// Commands of SMT-LIB 2.
    pub script: String,
    /// Wall-clock limit in milliseconds.
    #[serde(default)]
    pub limit_ms: Option<u64>,
    /// The library's file; else the environment's, else what the loader finds.
    #[serde(default)]
    pub library: Option<PathBuf>,
}

/// What came of it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum ProveOutcome {
    /// What Z3 printed.
    Answered {
        text: String,
        /// Such as `4.8.12`.
        version: String,
    },
    /// There is no answer.
    Unavailable(Unavailable),
}

type Handle = *mut c_void;
type ErrorHandler = extern "C" fn(Handle, c_uint);

/// What is wrong stands in the answer; Z3's own handler would end the process.
extern "C" fn nothing(_: Handle, _: c_uint) {}

struct Api {
    version: String,
    make_config: unsafe extern "C" fn() -> Handle,
    drop_config: unsafe extern "C" fn(Handle),
    make_context: unsafe extern "C" fn(Handle) -> Handle,
    drop_context: unsafe extern "C" fn(Handle),
    on_error: unsafe extern "C" fn(Handle, ErrorHandler),
    eval: unsafe extern "C" fn(Handle, *const c_char) -> *const c_char,
    interrupt: unsafe extern "C" fn(Handle),
}

/// Asks Z3. The text may hold a limit of its own; beyond `limit_ms`, and when cancelled, it is interrupted.
pub fn prove(request: &ProveRequest, cancel: &CancelToken) -> ProveOutcome {
    let api = match open(request.library.as_deref()) {
        Ok(api) => api,
        Err(why) => return ProveOutcome::Unavailable(why),
    };
    let Ok(script) = CString::new(request.script.as_str()) else {
        let next = "Please report it.";
        let reason = "The question holds a zero byte.";
        return ProveOutcome::Unavailable(Unavailable::new(UnavailableKind::BadOption, reason, next));
    };
    let text = api.eval(&script, request.limit_ms.map(Duration::from_millis), cancel);
    if cancel.is_cancelled() {
        return ProveOutcome::Unavailable(Unavailable::cancelled());
    }
    ProveOutcome::Answered { text, version: api.version.clone() }
}

/// A library handle is never closed: Z3 keeps memory of its own.
fn open(named: Option<&Path>) -> Result<&'static Api, Unavailable> {
    static OPEN: Mutex<Vec<(PathBuf, &'static Api)>> = Mutex::new(Vec::new());
    let named = named
        .map(Path::to_owned)
        .or_else(|| std::env::var_os(ENV_Z3).filter(|v| !v.is_empty()).map(PathBuf::from));
    let names: Vec<PathBuf> = match named {
        Some(path) => vec![path],
        None => {
            let names = ["libz3.so.4", "libz3.so", "libz3.dylib", "libz3.dll"];
            // where Homebrew puts it is none of the loader's places
            let folders = ["/opt/homebrew/lib/libz3.dylib", "/usr/local/lib/libz3.dylib"];
            names.iter().chain(&folders).map(PathBuf::from).collect()
        }
    };
    let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
    let mut failed = Vec::new();
    for name in names {
        if let Some((_, api)) = open.iter().find(|(path, _)| *path == name) {
            return Ok(api);
        }
        // SAFETY: runs the library's initializers; it is Z3 by its name or because the user says so.
        let library = match unsafe { Library::new(&name) } {
            Ok(library) => Box::leak(Box::new(library)),
            Err(_) => continue,
        };
        match Api::of(library) {
            Ok(api) => {
                let api: &'static Api = Box::leak(Box::new(api));
                open.push((name, api));
                return Ok(api);
            }
            Err(why) => failed.push(format!("{}: {why}", name.display())),
        }
    }
    let detail = if failed.is_empty() { String::new() } else { format!(" ({})", failed.join("; ")) };
    Err(Unavailable::new(
        UnavailableKind::NoLibrary,
        format!("libz3 was not found{detail}."),
        "Install Z3 (Debian and Ubuntu: the package libz3-4; macOS: brew install z3), or name its library in WARPWRIGHT_Z3.",
    ))
}

/// A context that another thread may interrupt.
struct Shared(Handle);
// SAFETY: `Z3_interrupt` is made to be called from another thread (z3_api.h).
unsafe impl Send for Shared {}

impl Api {
    fn of(library: &'static Library) -> Result<Api, String> {
        /// SAFETY: `T` must be the function's type as z3_api.h gives it.
        unsafe fn get<T: Copy>(library: &'static Library, name: &str) -> Result<T, String> {
            let symbol = unsafe { library.get::<T>(name.as_bytes()) };
            symbol.map(|s| *s).map_err(|_| format!("it has no function {name}"))
        }
        type Version = unsafe extern "C" fn(*mut c_uint, *mut c_uint, *mut c_uint, *mut c_uint);
        // SAFETY: the types are those of z3_api.h; the call writes to the four places it is given.
        unsafe {
            let (mut major, mut minor, mut build, mut revision) = (0, 0, 0, 0);
            get::<Version>(library, "Z3_get_version")?(&mut major, &mut minor, &mut build, &mut revision);
            Ok(Api {
                version: format!("{major}.{minor}.{build}"),
                make_config: get(library, "Z3_mk_config")?,
                drop_config: get(library, "Z3_del_config")?,
                make_context: get(library, "Z3_mk_context")?,
                drop_context: get(library, "Z3_del_context")?,
                on_error: get(library, "Z3_set_error_handler")?,
                eval: get(library, "Z3_eval_smtlib2_string")?,
                interrupt: get(library, "Z3_interrupt")?,
            })
        }
    }

    fn eval(&self, script: &CStr, limit: Option<Duration>, cancel: &CancelToken) -> String {
        // SAFETY: handles come from the library and go back to it once; the text is copied before its context goes; the
        // watching thread is joined before that, too.
        unsafe {
            let config = (self.make_config)();
            let context = (self.make_context)(config);
            (self.drop_config)(config);
            (self.on_error)(context, nothing);
            let (done, stop) = std::sync::mpsc::channel::<()>();
            let (interrupt, shared, cancel) = (self.interrupt, Shared(context), cancel.clone());
            let watch = std::thread::spawn(move || {
                let shared = shared;
                let start = std::time::Instant::now();
                while let Err(std::sync::mpsc::RecvTimeoutError::Timeout) =
                    stop.recv_timeout(Duration::from_millis(20))
                {
                    if cancel.is_cancelled() || limit.is_some_and(|l| start.elapsed() >= l) {
                        interrupt(shared.0);
                    }
                }
            });
            let said = (self.eval)(context, script.as_ptr());
            let text = if said.is_null() {
                String::new()
            } else {
                CStr::from_ptr(said).to_string_lossy().into_owned()
            };
            drop(done);
            let _ = watch.join();
            (self.drop_context)(context);
            text
        }
    }
}
