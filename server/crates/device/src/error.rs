//! What can go wrong outside, each with the next step in it.

use serde::{Deserialize, Serialize};

/// Why an answer could not be had. It says nothing about the kernel.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, thiserror::Error)]
#[error("{reason} {next_step}")]
pub struct Unavailable {
    /// For programs.
    pub kind: UnavailableKind,
    /// What happened, a sentence.
    pub reason: String,
    /// What the user can do, a sentence.
    pub next_step: String,
}

/// The kinds of [`Unavailable`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UnavailableKind {
    /// No such library was found, or none of those found could be loaded.
    NoLibrary,
    /// The NVRTC that was found does not know the architecture.
    NoSuchArch,
    /// NVRTC did not take the options.
    BadOption,
    /// NVRTC itself failed: its builtins library is missing, or it has a defect.
    Broken,
    /// Stopped at the time limit.
    TimeLimit,
    /// Stopped because the memory limit was reached.
    MemoryLimit,
    /// Nobody wants the answer any longer.
    Cancelled,
    /// The worker could not be started, died, or spoke another protocol.
    Worker,
    /// There is no GPU where the worker runs, or it cannot be used.
    NoGpu,
    /// A C compiler is needed where the worker runs, and there is none, or it does not take the program.
    NoCompiler,
}

impl Unavailable {
    pub(crate) fn new(
        kind: UnavailableKind,
        reason: impl Into<String>,
        next_step: impl Into<String>,
    ) -> Unavailable {
        Unavailable { kind, reason: reason.into(), next_step: next_step.into() }
    }

    pub(crate) fn time_limit(limit_ms: u64) -> Unavailable {
        Unavailable::new(
            UnavailableKind::TimeLimit,
            format!("The compiler ran longer than {} s and was stopped.", seconds(limit_ms)),
            "Reduce the unrolling in the kernel or raise warpwright.compileTimeLimit.",
        )
    }

    pub(crate) fn run_limit(limit_ms: u64) -> Unavailable {
        Unavailable::new(
            UnavailableKind::TimeLimit,
            format!("The run took longer than {} s and was stopped.", seconds(limit_ms)),
            "Give smaller sizes (-s n=…), or look for a kernel that does not end.",
        )
    }

    pub(crate) fn undecided(limit_ms: u64) -> Unavailable {
        Unavailable::new(
            UnavailableKind::TimeLimit,
            format!("Nothing was decided within {} s.", seconds(limit_ms)),
            "Make the rule smaller, or ask for narrower types in its condition.",
        )
    }

    pub(crate) fn cancelled() -> Unavailable {
        Unavailable::new(UnavailableKind::Cancelled, "The request was cancelled.", "Ask again.")
    }
}

/// Why a worker gave no report.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum DeviceError {
    /// The process could not be started.
    #[error("The worker \"{program}\" could not be started: {reason}. Check the worker's command in the settings.")]
    Start {
        /// First argument of the command.
        program: String,
        /// What the system said.
        reason: String,
    },
    /// It started but did not introduce itself.
    #[error("The worker \"{program}\" did not answer within {} s. Run its command by hand; it must print one line of JSON after a hello.{}", seconds(*.limit_ms), said(.stderr))]
    NoHello {
        /// First argument of the command.
        program: String,
        /// How long it was waited for, in milliseconds.
        limit_ms: u64,
        /// The end of what it wrote to its standard error.
        stderr: String,
    },
    /// It speaks another version of the protocol.
    #[error("The worker speaks protocol {theirs}, this program speaks {ours}. Install the same version of warpwright on both machines.")]
    Version {
        /// Ours.
        ours: u32,
        /// The worker's.
        theirs: u32,
    },
    /// It ended while it was asked something.
    #[error("The worker ended ({status}) before it answered. It is started again with the next request; if it ends again, report the kernel.{}", said(.stderr))]
    Died {
        /// Exit status or signal.
        status: String,
        /// The end of what it wrote to its standard error.
        stderr: String,
    },
    /// It did not answer in time and was stopped.
    #[error("The worker did not answer within {} s and was stopped. Raise the time limit, or make the kernel smaller.", seconds(*.limit_ms))]
    TimeLimit {
        /// The limit, in milliseconds.
        limit_ms: u64,
    },
    /// It wrote something that is not of the protocol, and was stopped.
    #[error("The worker wrote something that is not of the protocol ({what}) and was stopped. Make sure that the command prints nothing to its standard output.")]
    Protocol {
        /// What was wrong, with the beginning of the line.
        what: String,
    },
    /// It cannot do what was asked.
    #[error("The worker cannot do this: {reason}")]
    NotSupported {
        /// Why, and what can be done.
        reason: String,
    },
    /// It refused the request.
    #[error("The worker refused the request: {message}")]
    Refused {
        /// What it said.
        message: String,
    },
    /// Nobody wants the answer any longer.
    #[error("The request was cancelled.")]
    Cancelled,
}

impl From<DeviceError> for Unavailable {
    fn from(error: DeviceError) -> Unavailable {
        let kind = match &error {
            DeviceError::TimeLimit { limit_ms } => return Unavailable::time_limit(*limit_ms),
            DeviceError::Cancelled => return Unavailable::cancelled(),
            _ => UnavailableKind::Worker,
        };
        let text = error.to_string();
        // every message is "reason. next step." ; the first full stop before a capital parts them
        match text.split_once(". ") {
            Some((reason, next)) => Unavailable::new(kind, format!("{reason}."), next),
            None => Unavailable::new(kind, text, "See the log of the server."),
        }
    }
}

fn seconds(ms: u64) -> String {
    if ms.is_multiple_of(1000) {
        (ms / 1000).to_string()
    } else {
        format!("{}.{:03}", ms / 1000, ms % 1000)
    }
}

fn said(stderr: &str) -> String {
    match stderr.trim() {
        "" => String::new(),
        text => format!(" It said: {text}"),
    }
}
