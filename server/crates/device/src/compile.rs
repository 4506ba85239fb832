//! The compile check: does this kernel compile for this architecture, with what messages, and what does it use?
//!
//! [`compile_check`] runs the compiler in this process; only the worker should, because the compiler may take long
//! or crash. Everyone else asks a [`crate::Client`].

use crate::nvrtc::{self, code, Raw, Stop};
use crate::{log, Arch, LibraryInfo, Unavailable, UnavailableKind};
use base::CancelToken;
use serde::{Deserialize, Serialize};
use std::ffi::CString;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// What is to be compiled, and how.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct CompileRequest {
    /// CUDA C++ text; it must include no header, NVRTC has none.
    pub source: String,
    /// The name that messages carry; a file of that name need not exist.
    pub name: String,
    /// For what.
    pub arch: Arch,
    /// `Some(false)`: multiply and add are not fused (`--fmad=false`), as results are compared bit by bit with the
    /// CPU's. `None`: the compiler's default, which fuses.
    #[serde(default)]
    pub fmad: Option<bool>,
    /// Further options as NVRTC takes them.
    #[serde(default)]
    pub options: Vec<String>,
    /// A libnvrtc, or a folder that holds one. `None`: `WARPWRIGHT_NVRTC`, the usual places, the loader's search.
    #[serde(default)]
    pub library: Option<PathBuf>,
    /// Wall-clock limit in milliseconds; `None` is the client's.
    #[serde(default)]
    pub limit_ms: Option<u64>,
}

impl CompileRequest {
    /// A request with the defaults.
    pub fn new(source: impl Into<String>, name: impl Into<String>, arch: Arch) -> CompileRequest {
        CompileRequest {
            source: source.into(),
            name: name.into(),
            arch,
            fmad: None,
            options: Vec::new(),
            library: None,
            limit_ms: None,
        }
    }
}

/// The answer. Only [`CompileOutcome::Failed`] says something against the kernel.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum CompileOutcome {
    /// It compiles.
    Compiled(Compiled),
    /// It does not.
    Failed(Failed),
    /// It could not be tried.
    Unavailable(Unavailable),
}

/// A kernel that compiles.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Compiled {
    /// For what.
    pub arch: Arch,
    /// By what.
    pub library: LibraryInfo,
    /// Size of the PTX text in bytes.
    pub ptx_bytes: u64,
    /// Size of the machine code in bytes; `None` for a virtual architecture.
    pub cubin_bytes: Option<u64>,
    /// What each kernel uses, by name; empty for a virtual architecture.
    pub kernels: Vec<KernelResources>,
    /// Warnings and notes.
    pub messages: Vec<CompileMessage>,
    /// The compiler's log as it is.
    pub log: String,
}

/// A kernel that does not compile.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Failed {
    /// For what.
    pub arch: Arch,
    /// By what.
    pub library: LibraryInfo,
    /// At least one error, and warnings.
    pub messages: Vec<CompileMessage>,
    /// The compiler's log as it is.
    pub log: String,
}

/// What one kernel uses, by the assembler's account (`--ptxas-options=-v`). `None`: it did not say.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct KernelResources {
    /// The kernel's name; mangled unless it is `extern "C"`.
    pub name: String,
    /// 32-bit registers a thread.
    pub registers: Option<u32>,
    /// Block barriers used (of 16).
    pub barriers: Option<u32>,
    /// Statically allocated shared memory, bytes a block.
    pub shared_bytes: Option<u32>,
    /// Constant memory in all banks, bytes.
    pub constant_bytes: Option<u32>,
    /// Stack frame, bytes a thread.
    pub stack_bytes: Option<u32>,
    /// Bytes that are stored because registers did not suffice, a thread.
    pub spill_store_bytes: Option<u32>,
    /// Bytes that are loaded because registers did not suffice, a thread.
    pub spill_load_bytes: Option<u32>,
}

/// One message of the compiler.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct CompileMessage {
    /// Who says it.
    pub stage: MessageStage,
    /// The name of the source, or what a `#line` in it says.
    pub file: Option<String>,
    /// Line, from 1.
    pub line: Option<u32>,
    /// Column in UTF-8 bytes, from 1; given only where it is certain.
    pub column: Option<u32>,
    /// How bad.
    pub severity: Severity,
    /// The message; notes that belong to it follow on lines of their own.
    pub text: String,
}

/// Which part of the compiler speaks.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MessageStage {
    /// The reading of the options.
    Options,
    /// The CUDA C++ compiler.
    Compiler,
    /// The assembler (ptxas); it knows no lines of the source.
    Assembler,
}

/// How bad a message is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Belongs to another message, or is a remark.
    Note,
    /// Compiles nevertheless.
    Warning,
    /// Does not compile.
    Error,
}

/// The architectures that the library generates code for, rising. Loads the library into this process.
pub fn supported_archs(library: Option<&Path>) -> Result<Vec<Arch>, Unavailable> {
    Ok(nvrtc::pick(library, None)?.info.archs.iter().map(|a| Arch::sm(*a)).collect())
}

/// The newest of [`supported_archs`].
pub fn newest_arch(library: Option<&Path>) -> Result<Arch, Unavailable> {
    let none = || {
        Unavailable::new(UnavailableKind::Broken, "NVRTC knows no architecture.", "Install another NVRTC.")
    };
    supported_archs(library)?.pop().ok_or_else(none)
}

/// Which library would answer.
pub(crate) fn library_info(library: Option<&Path>) -> Result<LibraryInfo, Unavailable> {
    Ok(nvrtc::pick(library, None)?.info.clone())
}

/// Compiles in this process. Between the compiler's steps (from NVRTC 12.8 on) `cancel` and the request's limit are
/// asked for; within one step nothing stops it but the end of the process.
pub fn compile_check(request: &CompileRequest, cancel: &CancelToken) -> CompileOutcome {
    compile_image(request, cancel).0
}

/// Likewise, with what a driver loads.
pub(crate) fn compile_image(request: &CompileRequest, cancel: &CancelToken) -> (CompileOutcome, Vec<u8>) {
    let mut image = Vec::new();
    match compile(request, cancel, &mut image) {
        Ok(outcome) => (outcome, image),
        Err(unavailable) => (CompileOutcome::Unavailable(unavailable), image),
    }
}

fn compile(
    request: &CompileRequest,
    cancel: &CancelToken,
    made: &mut Vec<u8>,
) -> Result<CompileOutcome, Unavailable> {
    let api = nvrtc::pick(request.library.as_deref(), Some(request.arch))?;
    let real = request.arch.kind == crate::ArchKind::Real;
    let failed = |messages, log| {
        CompileOutcome::Failed(Failed { arch: request.arch, library: api.info.clone(), messages, log })
    };
    let source = match CString::new(request.source.as_str()) {
        Ok(source) => source,
        Err(nul) => {
            let line = request.source.bytes().take(nul.nul_position()).filter(|b| *b == b'\n').count();
            let text = "The source holds a NUL character.".to_owned();
            return Ok(failed(vec![own_error(request, Some(line as u32 + 1), text)], String::new()));
        }
    };
    // a name is only printed; what cannot be passed is left out
    let name = request.name.replace('\0', "");
    let c_name = CString::new(name.as_str()).unwrap_or_default();
    let limit = request.limit_ms.map(Duration::from_millis);
    let stop = Stop { cancel: cancel.clone(), deadline: limit.and_then(|l| Instant::now().checked_add(l)) };
    let Raw { code, code_name, log, ptx_bytes, cubin_bytes, image } =
        api.compile(&source, &c_name, &options(request, real)?, &stop);
    *made = image;
    let messages = log::messages(&log, &name, &request.source);
    let has_error = messages.iter().any(|m| m.severity == Severity::Error);
    match code {
        code::SUCCESS => {
            let kernels = if real { log::resources(&log) } else { Vec::new() };
            let cubin_bytes = real.then_some(cubin_bytes);
            let (arch, library) = (request.arch, api.info.clone());
            Ok(CompileOutcome::Compiled(Compiled {
                arch,
                library,
                ptx_bytes,
                cubin_bytes,
                kernels,
                messages,
                log,
            }))
        }
        code::COMPILATION if has_error => Ok(failed(messages, log)),
        // said without a message that is understood: the log itself is the message
        code::COMPILATION => {
            let text =
                if log.trim().is_empty() { "The compiler gave no reason.".to_owned() } else { log.clone() };
            let messages = messages.into_iter().chain([own_error(request, None, text)]).collect();
            Ok(failed(messages, log))
        }
        code::INVALID_OPTION => Err(Unavailable::new(
            UnavailableKind::BadOption,
            format!("NVRTC did not take the options: {}.", reason_in(&log, &code_name)),
            "Correct the compiler options in the settings.",
        )),
        code::OUT_OF_MEMORY => Err(Unavailable::new(
            UnavailableKind::MemoryLimit,
            "The compiler needed more memory than it may use.",
            "Make the kernel smaller or raise warpwright.compileMemoryLimit.",
        )),
        code::CANCELLED if cancel.is_cancelled() => Err(Unavailable::cancelled()),
        code::CANCELLED => Err(Unavailable::time_limit(request.limit_ms.unwrap_or_default())),
        code::BUILTIN_OPERATION_FAILURE => Err(Unavailable::new(
            UnavailableKind::Broken,
            format!("NVRTC could not work with its builtins: {}.", reason_in(&log, &code_name)),
            "Put libnvrtc-builtins of the same version beside libnvrtc, or install NVRTC again.",
        )),
        other => Err(Unavailable::new(
            UnavailableKind::Broken,
            format!("NVRTC failed with {code_name} ({other}): {}.", reason_in(&log, "no message")),
            "Try another version of NVRTC (warpwright.nvrtc) and report the kernel.",
        )),
    }
}

/// The options in NVRTC's words.
fn options(request: &CompileRequest, real: bool) -> Result<Vec<CString>, Unavailable> {
    let mut options = vec![format!("--gpu-architecture={}", request.arch)];
    if real {
        options.push("--ptxas-options=-v".to_owned());
    }
    if let Some(fmad) = request.fmad {
        options.push(format!("--fmad={fmad}"));
    }
    options.extend(request.options.iter().cloned());
    let nul = |_| {
        let reason = "A compiler option holds a NUL character.";
        Unavailable::new(UnavailableKind::BadOption, reason, "Correct the compiler options in the settings.")
    };
    options.into_iter().map(|o| CString::new(o).map_err(nul)).collect()
}

fn own_error(request: &CompileRequest, line: Option<u32>, text: String) -> CompileMessage {
    CompileMessage {
        stage: MessageStage::Compiler,
        file: line.map(|_| request.name.clone()),
        line,
        column: None,
        severity: Severity::Error,
        text,
    }
}

fn reason_in(log: &str, otherwise: &str) -> String {
    // a warning may come first, which is not the reason
    let lines = || log.lines().map(str::trim).filter(|l| !l.is_empty());
    let line = lines().find(|l| l.contains("error")).or_else(|| lines().next()).unwrap_or(otherwise);
    line.strip_prefix("nvrtc: error: ").unwrap_or(line).trim_end_matches('.').to_owned()
}
