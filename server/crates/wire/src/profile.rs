//! `profile` and `hosts`: what was measured, where, and how each number was got.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What `profile` found.
#[derive(Serialize, Deserialize, JsonSchema, Clone, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    pub version: u32,
    pub runs: Vec<ProfileRun>,
}

/// One loop's kernels on one target, or a kernel that a file has already. A number that was not measured is null.
#[derive(Serialize, Deserialize, JsonSchema, Clone, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
pub struct ProfileRun {
    /// As it was named.
    pub file: String,
    /// Of the loop or the kernel, from 1.
    pub line: u32,
    /// Of the loop; or the kernel itself.
    pub function: String,
    /// The kernels, in the order of their launches.
    pub kernel: Vec<String>,
    /// `simulator`, `local` or the host that was asked for.
    pub target: String,
    /// What the GPU calls itself.
    pub device: Option<String>,
    /// How the times were got: `events` of a GPU; `simulator`: none was measured.
    #[schemars(extend("enum" = RUNGS))]
    pub rung: String,
    /// Values of the integers that the function, or the kernel, gets from outside.
    pub sizes: BTreeMap<String, i64>,
    /// Whether what was left is what the original leaves; of a kernel that a file has already, what the simulator computes.
    #[schemars(extend("enum" = crate::running::OUTCOMES))]
    pub checked: String,
    /// All kernels of one run together.
    pub kernel_ns: Option<Nanoseconds>,
    /// All copies of one run together.
    pub copies_ns: Option<Nanoseconds>,
    /// The whole call: allocations, copies, kernels.
    pub call_ns: Option<Nanoseconds>,
    /// The function with the original loop on that machine's CPU.
    pub cpu_ns: CpuNanoseconds,
    /// Launches in one run.
    pub launches: u64,
    /// Bytes that are copied to the device, and from it.
    pub copied_bytes: [u64; 2],
    /// Bytes that the kernel must at least move where it is launched once: each copied one.
    pub bytes: Option<u64>,
    /// Floating-point operations; not counted yet.
    pub flops: Option<u64>,
    /// Those bytes a second, of those that a large copy on the device moves, both measured.
    pub share_of_ceiling: Option<f64>,
    /// With `--variants`: how threads are laid out in this one; runs then come with the best first.
    pub variant: Option<String>,
    /// With `--variants`: sectors that the kernels' warps ask of memory in the simulator, at the small sizes that `said` names.
    pub sectors: Option<u64>,
    /// What was predicted before; nothing predicts yet.
    pub predicted_ns: Option<u64>,
    /// Of kernels and what the host does: another one, other numbers.
    pub hash: String,
    /// All of it in sentences, with what is not there and why.
    pub said: String,
}

pub(crate) const RUNGS: [&str; 5] = ["counters", "events", "compiler", "static", "simulator"];

/// Runs, in nanoseconds.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
pub struct Nanoseconds {
    pub median: u64,
    /// How far the middle half lies apart.
    pub spread: u64,
    pub runs: u64,
}

/// Times of a CPU.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
pub struct CpuNanoseconds {
    /// By one core.
    pub one: Option<Nanoseconds>,
    /// By all of them; not measured yet.
    pub all: Option<Nanoseconds>,
}

/// What `hosts` found.
#[derive(Serialize, Deserialize, JsonSchema, Clone, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
pub struct Hosts {
    pub version: u32,
    pub hosts: Vec<HostMachine>,
}

/// A machine that was asked.
#[derive(Serialize, Deserialize, JsonSchema, Clone, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
pub struct HostMachine {
    /// As it was named.
    pub target: String,
    /// What it calls itself; null where it did not answer.
    pub host: Option<String>,
    /// Names of its GPUs.
    pub gpus: Vec<String>,
    /// The newest CUDA version that its driver runs.
    pub driver: Option<[u32; 2]>,
    /// The version of its NVRTC.
    pub nvrtc: Option<[i32; 2]>,
    /// What is missing and what to do, in sentences; null where nothing is.
    pub missing: Option<String>,
}
