//! What runs things: NVRTC (the CUDA compiler as a library), the CUDA driver, Z3 (which decides what rule pages claim), and
//! the worker process around them.
//!
//! Plain data goes in and out. The server itself loads no such library: it starts a worker ([`Client`]), a process of
//! its own that speaks line-delimited JSON ([`protocol`]) and may be stopped, may crash, or may be on another machine
//! (`ssh HOST warpwright worker`, `srun … warpwright worker`: any argument vector). A machine without CUDA gets
//! [`Unavailable`] with the next step in it, and nothing else changes.
//!
//! What a loop became is run there as a [`bundle`]: plain data, too.
//!
//! Deliberately absent: diagnostics, loops, terms, LSP, sockets.

mod arch;
pub mod bundle;
mod client;
mod compile;
mod driver;
mod entries;
mod error;
pub mod found;
mod gpu;
mod hosted;
mod library;
mod limits;
mod log;
mod measure;
mod native;
mod nvrtc;
mod original;
mod process;
mod program;
pub mod protocol;
mod prove;
mod running;
mod same;
mod transport;
pub mod worker;

pub use arch::{Arch, ArchError, ArchKind};
pub use client::{Client, Limits, Queue, WorkerCommand};
pub use compile::{
    compile_check, newest_arch, supported_archs, CompileMessage, CompileOutcome, CompileRequest, Compiled,
    Failed, KernelResources, MessageStage, Severity,
};
pub use driver::{gpus, Gpu, Gpus};
pub use error::{DeviceError, Unavailable, UnavailableKind};
pub use library::ENV_NVRTC;
pub use measure::{profile, CopyTimes, KernelTimes, Measured, ProfileOutcome};
pub use native::{
    native_compiler, NativeCompiler, NativePart, NativeProgram, NativeRuns, NativeTrial, NATIVE_THREADS,
};
pub use nvrtc::LibraryInfo;
pub use original::CpuTimes;
pub use program::{run_steps, Stepped};
pub use prove::{prove, ProveOutcome, ProveRequest, ENV_Z3};
pub use same::Check;
pub use transport::{Target, Transport};
