//! `bench`: files below a path analyzed, offloaded and verified, with times.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Check, ProfileRun};

/// What was measured.
#[derive(Serialize, Deserialize, JsonSchema, Clone, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
pub struct Bench {
    pub version: u32,
    pub files: Vec<BenchFile>,
    pub totals: BenchTotals,
    /// Why kernels were not compiled, if so.
    pub no_compiler: Option<String>,
    /// Why kernels were not run on a GPU, if so.
    pub no_gpu: Option<String>,
}

/// A file.
#[derive(Serialize, Deserialize, JsonSchema, Clone, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
pub struct BenchFile {
    pub path: String,
    pub loops: LoopCounts,
    /// Of the analysis.
    pub milliseconds: f64,
    /// The outermost loops that can run at once.
    pub offloads: Vec<BenchOffload>,
}

/// Loops by verdict.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, PartialEq, Default, Debug)]
#[serde(deny_unknown_fields)]
pub struct LoopCounts {
    pub independent: u64,
    pub reduction: u64,
    pub sequential: u64,
    pub unknown: u64,
}

/// A loop that was to be offloaded.
#[derive(Serialize, Deserialize, JsonSchema, Clone, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
pub struct BenchOffload {
    pub line: u32,
    /// Why not: a sentence.
    pub refused: Option<String>,
    pub milliseconds: f64,
    /// One for each kernel file that was compiled.
    pub compiled: Vec<BenchCompiled>,
    /// None with `--no-verify`.
    pub checks: Vec<BenchCheck>,
    /// Its kernels run on the GPU, as `profile` says it; none where there is none.
    pub runs: Vec<ProfileRun>,
}

/// What the compiler made of a kernel file.
#[derive(Serialize, Deserialize, JsonSchema, Clone, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
pub struct BenchCompiled {
    /// What is wrong with it; null: nothing.
    pub error: Option<String>,
    pub milliseconds: f64,
}

/// A check and how long it took.
#[derive(Serialize, Deserialize, JsonSchema, Clone, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
pub struct BenchCheck {
    pub milliseconds: f64,
    pub check: Check,
}

/// Sums over all files.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, PartialEq, Default, Debug)]
#[serde(deny_unknown_fields)]
pub struct BenchTotals {
    pub loops: u64,
    pub offloaded: u64,
    pub compiled: u64,
    pub not_compiled: u64,
    pub same: u64,
    /// In a check, or on the GPU.
    pub different: u64,
    pub not_tried: u64,
    /// Runs on the GPU that were timed.
    pub measured: u64,
}
