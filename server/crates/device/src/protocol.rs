//! What the server and a worker say to each other: one JSON object a line, on the worker's standard input and output.
//!
//! ```text
//! → {"type":"hello","id":1,"protocol":1,"client":"warpwright 0.1.0"}
//! ← {"type":"hello","id":1,"protocol":1,"worker":"warpwright 0.1.0","capabilities":["compile","machine","prove"]}
//! → {"type":"compile","id":2,"request":{"source":"…","name":"k.cu","arch":"sm_90"}}
//! ← {"type":"report","id":2,"report":{"of":"compile","outcome":"compiled",…}}
//! ```
//! The first request is `hello`. Every request is answered once by `report`, `not_supported` or `error`; `progress`
//! may come before. Fields that are not known are ignored and new ones have defaults, so the version changes only
//! where the meaning of an old field does. The transport is whatever carries the two streams: a local process, `ssh`,
//! `srun`, a container.

use crate::{CompileOutcome, CompileRequest, Gpus, LibraryInfo, ProveOutcome, ProveRequest, Unavailable};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// The version of what is described here.
pub const PROTOCOL_VERSION: u32 = 1;

/// The longest line in bytes that either side reads.
pub const MAX_LINE: usize = 64 << 20;

/// From the server.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Request {
    /// The first request.
    Hello {
        /// Number of the request; answers carry it.
        id: u64,
        /// [`PROTOCOL_VERSION`] of the asker.
        protocol: u32,
        /// Who asks, for logs.
        #[serde(default)]
        client: String,
        /// Bytes of address space the worker may use; it sets this limit on itself. Not for workers that launch
        /// kernels: the driver reserves far more than it uses.
        #[serde(default)]
        memory_bytes: Option<u64>,
    },
    /// What is there: GPUs, the compiler.
    Machine {
        /// Number of the request.
        id: u64,
        /// As in [`CompileRequest::library`].
        #[serde(default)]
        library: Option<PathBuf>,
    },
    /// Compile a kernel.
    Compile {
        /// Number of the request.
        id: u64,
        /// What and how.
        request: CompileRequest,
    },
    /// Decide what a text of SMT-LIB asks.
    Prove {
        /// Number of the request.
        id: u64,
        /// What.
        request: ProveRequest,
    },
    /// Run a kernel and return the buffers, to be compared with the original's.
    Verify {
        /// Number of the request.
        id: u64,
        /// What and how.
        request: RunRequest,
    },
    /// Run a kernel several times and measure it.
    Profile {
        /// Number of the request.
        id: u64,
        /// What and how.
        request: RunRequest,
    },
    /// The answer to this request is no longer wanted. The request itself is answered with an error of kind
    /// `cancelled` as soon as the work on it has stopped, unless its report is already under way; this message has
    /// no answer of its own.
    Cancel {
        /// Number of the request that is cancelled.
        id: u64,
    },
}

impl Request {
    /// Its number.
    pub fn id(&self) -> u64 {
        match self {
            Request::Hello { id, .. }
            | Request::Machine { id, .. }
            | Request::Compile { id, .. }
            | Request::Prove { id, .. }
            | Request::Verify { id, .. }
            | Request::Profile { id, .. }
            | Request::Cancel { id } => *id,
        }
    }
}

/// One launch of one kernel on given data.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct RunRequest {
    /// The source that holds the kernel.
    pub compile: CompileRequest,
    /// The kernel's name in the compiled code.
    pub kernel: String,
    /// Blocks in x, y, z.
    pub grid: [u32; 3],
    /// Threads a block in x, y, z.
    pub block: [u32; 3],
    /// Dynamically allocated shared memory, bytes a block.
    #[serde(default)]
    pub shared_bytes: u32,
    /// In the order of the kernel's parameters.
    pub arguments: Vec<Argument>,
    /// How often it is launched.
    #[serde(default = "one")]
    pub repetitions: u32,
}

fn one() -> u32 {
    1
}

/// An argument of a kernel.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Argument {
    /// Passed by value: its bytes, little-endian, in hexadecimal.
    Value {
        /// Two digits a byte.
        hex: String,
    },
    /// A buffer in the GPU's memory.
    Buffer {
        /// Size in bytes.
        bytes: u64,
        /// What it holds at first, as in `Value`; repeated until the buffer is full.
        fill: String,
        /// Whether its bytes are wanted back.
        #[serde(default)]
        read_back: bool,
    },
}

/// From the worker.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Reply {
    /// To `hello`.
    Hello {
        /// Number of the request.
        id: u64,
        /// [`PROTOCOL_VERSION`] of the worker.
        protocol: u32,
        /// Its name and version.
        #[serde(default)]
        worker: String,
        /// The requests it can answer with a report.
        #[serde(default)]
        capabilities: Vec<String>,
    },
    /// Still at it.
    Progress {
        /// Number of the request.
        id: u64,
        /// What it does now, for the user.
        text: String,
        /// Steps done and steps in all, if they can be counted.
        #[serde(default)]
        steps: Option<(u32, u32)>,
    },
    /// Done.
    Report {
        /// Number of the request.
        id: u64,
        /// What came out.
        report: Report,
    },
    /// This worker cannot do it.
    NotSupported {
        /// Number of the request.
        id: u64,
        /// Why, and what can be done.
        reason: String,
    },
    /// It was not done.
    Error {
        /// Number of the request; `None` if it could not be read.
        id: Option<u64>,
        /// For programs.
        kind: ErrorKind,
        /// For people.
        message: String,
    },
}

/// Kinds of [`Reply::Error`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorKind {
    /// The line is not a request.
    Malformed,
    /// Another version, or no `hello` before it.
    Protocol,
    /// It was cancelled.
    Cancelled,
    /// The worker has a defect.
    Internal,
    /// A kind that this version does not know.
    #[serde(other)]
    Other,
}

/// What came out of a request.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "of", rename_all = "snake_case")]
pub enum Report {
    /// Of `compile`.
    Compile(CompileOutcome),
    /// Of `machine`.
    Machine(Machine),
    /// Of `prove`.
    Prove(ProveOutcome),
    /// Of `verify`.
    Verify {
        /// The bytes of each buffer that was wanted back, in hexadecimal, in the order of the arguments.
        buffers: Vec<String>,
    },
    /// Of `profile`.
    Profile {
        /// Time of each launch in nanoseconds.
        kernel_ns: Vec<u64>,
    },
}

/// What a worker finds where it runs.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Machine {
    /// The host's name.
    pub host: String,
    /// Its GPUs.
    pub gpus: Gpus,
    /// Its NVRTC, if there is one.
    pub nvrtc: Option<LibraryInfo>,
    /// Why there is no NVRTC.
    #[serde(default)]
    pub nvrtc_reason: Option<Unavailable>,
}
