//! What the server and a worker say to each other: one JSON object a line, on the worker's standard input and output.
//!
//! ```text
//! → {"type":"hello","id":1,"protocol":2,"client":"warpwright 0.1.0"}
//! ← {"type":"hello","id":1,"protocol":2,"worker":"warpwright 0.1.0","capabilities":["compile","machine","profile","prove"]}
//! → {"type":"compile","id":2,"request":{"source":"…","name":"k.cu","arch":"sm_90"}}
//! ← {"type":"report","id":2,"report":{"of":"compile","outcome":"compiled",…}}
//! ```
//! The first request is `hello`. Every request is answered once by `report`, `not_supported` or `error`; `progress`
//! may come before. Fields that are not known are ignored and new ones have defaults, so the version changes only
//! where the meaning of an old field does. The transport is whatever carries the two streams: a local process, `ssh`,
//! `srun`, a container.

use crate::bundle::Bundle;
use crate::{
    CompileOutcome, CompileRequest, Gpus, LibraryInfo, ProfileOutcome, ProveOutcome, ProveRequest,
    Unavailable,
};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// The version of what is described here.
pub const PROTOCOL_VERSION: u32 = 2;

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
    /// Run what a loop became, measure it and compare.
    Profile {
        /// Number of the request.
        id: u64,
        /// What.
        bundle: Box<Bundle>,
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
            | Request::Profile { id, .. }
            | Request::Cancel { id } => *id,
        }
    }
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
    /// Of `profile`.
    Profile(ProfileOutcome),
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
