//! `simulate`: what kernels asked of the hardware in a run.
//!
//! Fields stand in the order of the alphabet, in which they came before these types were written.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::kernels::{BRANCHES, MISSING, READ_WRITE, SPACES};
use crate::Lanes;

const FROM: [Option<&str>; 4] = [Some("option"), Some("comment"), Some("launch"), None];
const PROBLEMS: [&str; 6] =
    ["barrier-divergence", "out-of-range", "uninitialised", "warp-mask", "shuffle", "fault"];

/// Runs of the kernels of a file.
#[derive(Serialize, Deserialize, JsonSchema, Clone, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
pub struct Simulation {
    pub files: Vec<SimulatedFile>,
    pub version: u32,
}

/// The file.
#[derive(Serialize, Deserialize, JsonSchema, Clone, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
pub struct SimulatedFile {
    pub kernels: Vec<SimulatedKernel>,
    pub path: String,
}

/// A kernel and what its run gave.
#[derive(Serialize, Deserialize, JsonSchema, Clone, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
pub struct SimulatedKernel {
    pub accesses: Vec<SimulatedAccess>,
    pub barriers: Vec<SimulatedBarrier>,
    pub block: Option<[u32; 3]>,
    pub branches: Vec<SimulatedBranch>,
    /// Whether it ran to its end; counts of a run that did not are those up to where it stopped.
    pub completed: bool,
    /// Whether the counts are those of lanes in step.
    pub exact: bool,
    pub grid: Option<[u32; 3]>,
    /// What it was given, a phrase a parameter.
    pub inputs: Vec<String>,
    /// What says how it is launched.
    #[schemars(extend("enum" = FROM))]
    pub launch_from: Option<String>,
    pub line: u32,
    pub name: String,
    pub problems: Vec<Problem>,
    pub races: Vec<SimulatedRace>,
    /// Why it was not run, or not to its end.
    pub refused: Option<String>,
    pub shared_bytes: Option<u64>,
    pub totals: Totals,
    pub warp_operations: Vec<WarpOperation>,
}

/// Sums over the run.
#[derive(Serialize, Deserialize, JsonSchema, Clone, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
pub struct Totals {
    /// Barriers opened.
    pub barriers: u64,
    pub blocks: u64,
    /// Passes beyond the first of requests of shared memory.
    pub conflicts: u64,
    /// Decisions that parted a warp.
    pub divergent: u64,
    /// Elements of global memory that lanes asked for.
    pub global_elements: u64,
    /// Fewest sectors that the requests could take.
    pub ideal: u64,
    /// Threads that touched no memory up to a barrier or to their end, in all.
    pub idle: u64,
    pub sectors: u64,
    pub threads: u64,
    pub warps: u64,
}

/// Counts of an access.
#[derive(Serialize, Deserialize, JsonSchema, Clone, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
pub struct SimulatedAccess {
    /// Lanes of the worst request.
    pub active: u32,
    pub all_ideal: u64,
    pub all_sectors: u64,
    pub array: String,
    pub atomic: bool,
    /// Bytes that a lane asks for.
    pub bytes: u32,
    /// Lanes of the worst request that ask the bank that is asked most.
    pub colliding_lanes: Vec<u32>,
    pub column: u32,
    pub conflicts: u64,
    pub function: String,
    /// Fewest sectors that the worst request could take.
    pub ideal: u32,
    pub lanes: u64,
    pub line: u32,
    pub requests: u64,
    #[schemars(extend("enum" = READ_WRITE))]
    pub rw: String,
    /// Of atomics: most lanes of one request that work on one cell.
    pub same_cell: u32,
    /// Of the worst request.
    pub sectors: u32,
    #[schemars(extend("enum" = SPACES))]
    pub space: String,
    pub wavefronts: u64,
    /// Of the worst request: most distinct words in one bank, or addresses of constant memory.
    pub ways: u32,
}

/// Counts of a branch.
#[derive(Serialize, Deserialize, JsonSchema, Clone, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
pub struct SimulatedBranch {
    pub active_lanes: Vec<Lanes>,
    pub column: u32,
    /// How often a warp came to it.
    pub decided: u64,
    /// How often it parted the warp.
    pub divergent: u64,
    pub function: String,
    #[schemars(extend("enum" = BRANCHES))]
    pub kind: String,
    pub line: u32,
}

/// Counts of a barrier.
#[derive(Serialize, Deserialize, JsonSchema, Clone, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
pub struct SimulatedBarrier {
    pub column: u32,
    pub function: String,
    pub idle: u64,
    pub line: u32,
    pub name: String,
    pub opened: u64,
    pub threads: u64,
}

/// Counts of an operation of a whole warp.
#[derive(Serialize, Deserialize, JsonSchema, Clone, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
pub struct WarpOperation {
    pub column: u32,
    pub function: String,
    pub issued: u64,
    pub line: u32,
    pub name: String,
}

/// Two accesses without order.
#[derive(Serialize, Deserialize, JsonSchema, Clone, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
pub struct SimulatedRace {
    pub array: String,
    pub column: u32,
    pub line: u32,
    #[schemars(extend("enum" = MISSING))]
    pub missing: Option<String>,
    pub other_line: u32,
    #[schemars(extend("enum" = SPACES))]
    pub space: String,
    pub witness: String,
}

/// Anything else that is wrong.
#[derive(Serialize, Deserialize, JsonSchema, Clone, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
pub struct Problem {
    pub column: u32,
    #[schemars(extend("enum" = PROBLEMS))]
    pub kind: String,
    pub line: u32,
    pub text: String,
}
