//! `analyze`: what is proved of the kernels of CUDA documents, or counted for a known launch.
//!
//! Fields stand in the order of the alphabet, in which they came before these types were written.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(crate) const SPACES: [&str; 4] = ["global", "shared", "constant", "local"];
pub(crate) const READ_WRITE: [&str; 3] = ["r", "w", "rw"];
pub(crate) const PATTERNS: [Option<&str>; 6] =
    [Some("uniform"), Some("coalesced"), Some("strided"), Some("irregular"), Some("gather"), None];
const DECIDED: [Option<&str>; 4] = [Some("alike"), Some("bound"), Some("data"), None];
const UNIFORM: [&str; 5] = ["grid", "block", "warp", "divergent", "unknown"];
const BARRIERS: [&str; 3] = ["safe", "divergent", "unknown"];
const RACES: [&str; 3] = ["race-free", "race", "unknown"];
pub(crate) const BRANCHES: [&str; 5] = ["if", "loop", "select", "switch", "case"];
pub(crate) const MISSING: [Option<&str>; 4] = [Some("barrier"), Some("syncwarp"), Some("atomic"), None];

/// A kernel. What no analysis says yet is null, not empty.
#[derive(Serialize, Deserialize, JsonSchema, Clone, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
pub struct Kernel {
    pub accesses: Vec<KernelAccess>,
    pub barriers: Vec<KernelBarrier>,
    /// Threads of a block along x, y, z: those of the launch that the rest is said of, else of the first launch that says so; null where
    /// no launch does.
    pub block: Option<[u32; 3]>,
    pub branches: Vec<KernelBranch>,
    /// Blocks along x, y, z; null where no launch is known.
    pub grid: Option<[u32; 3]>,
    /// What the launches in the document and in other files of its program say, as far as they say it: one for each way in which the program comes to one.
    pub launches: Vec<GivenLaunch>,
    pub line: u32,
    pub name: String,
    /// Accesses beyond the end of an array; an empty list is a proof that there are none.
    pub out_of_range: Option<Vec<OutOfRange>>,
    pub race_verdict: RaceVerdict,
    /// An empty list is a proof that there are none.
    pub races: Option<Vec<KernelRace>>,
    /// Values that were taken for the launch where the program leaves others open, in words: what is said of the kernel with this launch
    /// holds for these.
    pub taken: Vec<String>,
}

/// A launch of a kernel as the host's text gives it.
#[derive(Serialize, Deserialize, JsonSchema, Clone, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
pub struct GivenLaunch {
    /// Null where the text does not say it.
    pub block: Option<[u32; 3]>,
    pub grid: Option<[u32; 3]>,
    /// Where it is not in the document: the file of the program that it stands in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    pub line: u32,
    /// Values that were taken where the program leaves others open.
    pub taken: Vec<String>,
}

/// An access of a kernel, and what warps ask of memory by it. Sectors are those of 32 bytes, of global memory; ways are
/// the most distinct words of 4 bytes in one bank of shared memory, or addresses of constant memory.
#[derive(Serialize, Deserialize, JsonSchema, Clone, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
pub struct KernelAccess {
    /// Fewest sectors that all requests could take.
    pub all_ideal: Option<u64>,
    /// Sectors of all requests.
    pub all_sectors: Option<u64>,
    pub array: String,
    /// What is taken for granted of blocks where counts are least and most, in words; null: nothing, as with a launch that is known.
    pub assumes: Option<String>,
    pub atomic: bool,
    /// Blocks looked at, where the launch has too many threads to look at all: sums are null then, and the worst request is that of
    /// these blocks.
    pub blocks: Option<u32>,
    /// Bytes that a lane asks for.
    pub bytes: u64,
    pub column: u32,
    /// Passes beyond the first of all requests.
    pub conflicts: Option<u64>,
    /// Whether the counts are exact for the launch.
    pub exact: bool,
    /// Where counts are least and most: those of a request of all lanes that may come to it.
    pub full_warp: Option<[u64; 2]>,
    /// Fewest sectors that the worst request could take.
    pub ideal: Option<u64>,
    /// Lanes that took part, of all requests.
    pub lanes: Option<u64>,
    pub line: u32,
    /// How the places of a warp's lanes lie to one another, where counts are least and most. `uniform`: all ask for one place;
    /// `coalesced`: neighbours ask for neighbouring elements, or all together for no more sectors than that; `strided`: each asks
    /// for a place as far behind the one before; `irregular`: none of these; `gather`: what memory holds decides.
    #[schemars(extend("enum" = PATTERNS))]
    pub pattern: Option<String>,
    pub requests: Option<u64>,
    #[schemars(extend("enum" = READ_WRITE))]
    pub rw: String,
    /// Sectors of the worst request; without a known launch, the least and the most of any request.
    pub sectors: Option<RequestCost>,
    #[schemars(extend("enum" = SPACES))]
    pub space: String,
    /// Elements from a lane's place to the next lane's, where they are strided by a known number.
    pub stride: Option<i64>,
    /// Without a known launch, the least and the most of any request.
    pub ways: Option<RequestCost>,
}

/// What a request takes.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, PartialEq, Debug)]
#[serde(untagged)]
pub enum RequestCost {
    /// Of the worst request of a launch.
    Worst(u64),
    /// The least and the most of any request, whatever the launch.
    Between([u64; 2]),
}

/// A barrier of a kernel.
#[derive(Serialize, Deserialize, JsonSchema, Clone, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
pub struct KernelBarrier {
    pub column: u32,
    /// Threads that touched no memory since the barrier before, in all.
    pub idle: Option<u64>,
    pub line: u32,
    /// How often it was opened.
    pub opened: Option<u64>,
    /// Whether it orders nothing, where that is known.
    pub redundant: Option<bool>,
    /// Threads that came, in all.
    pub threads: Option<u64>,
    #[schemars(extend("enum" = BARRIERS))]
    pub verdict: String,
    /// Two threads of a block of which one comes and one does not.
    pub witness: Option<String>,
}

/// A branch of a kernel.
#[derive(Serialize, Deserialize, JsonSchema, Clone, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
pub struct KernelBranch {
    /// Exact where it is there.
    pub active_lanes: Option<Vec<Lanes>>,
    /// What is taken for granted of blocks by `taken` and `decided`, in words.
    pub assumes: Option<String>,
    pub column: u32,
    /// How a warp decides it whatever the launch: `alike`: all its lanes the same; `bound`: they part at one lane, as at the end of
    /// what is worked on; `data`: what memory holds decides; null: `taken` tells.
    #[schemars(extend("enum" = DECIDED))]
    pub decided: Option<String>,
    #[schemars(extend("enum" = BRANCHES))]
    pub kind: String,
    pub line: u32,
    /// Without a known launch: the least and the most lanes for which it holds when a warp decides it.
    pub taken: Option<[u32; 2]>,
    /// Within what all threads take the same way.
    #[schemars(extend("enum" = UNIFORM))]
    pub uniform: String,
    /// Two threads of a warp that take different ways.
    pub witness: Option<String>,
}

/// How often a warp came to a branch with so many lanes.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
pub struct Lanes {
    pub active: u32,
    /// Lanes for which the condition held.
    pub taken: u32,
    pub times: u64,
}

/// Two accesses of a cell without order, of which one writes.
#[derive(Serialize, Deserialize, JsonSchema, Clone, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
pub struct KernelRace {
    pub array: String,
    pub column: u32,
    /// The element.
    pub index: i64,
    pub line: u32,
    #[schemars(extend("enum" = MISSING))]
    pub missing: Option<String>,
    pub other_line: u32,
    #[schemars(extend("enum" = SPACES))]
    pub space: String,
    /// Two threads.
    pub witness: String,
}

/// Whether threads race.
#[derive(Serialize, Deserialize, JsonSchema, Clone, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
pub struct RaceVerdict {
    /// Parameters that must not share memory for it.
    pub apart: Vec<[String; 2]>,
    /// Integer parameters that must be 1 at least for it: the host's code sees to that.
    pub positive: Vec<String>,
    /// Why it is not known.
    pub reason: Option<String>,
    /// The launches of which it is said; null: the kernel's own.
    pub shapes: Option<String>,
    #[schemars(extend("enum" = RACES))]
    pub verdict: String,
}

/// An access beyond the end of an array.
#[derive(Serialize, Deserialize, JsonSchema, Clone, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
pub struct OutOfRange {
    pub array: String,
    pub column: u32,
    pub line: u32,
    /// The element and a thread.
    pub when: String,
}
