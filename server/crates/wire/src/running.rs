//! `offload` and `verify`: what was written, and what came of running it beside the original.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(crate) const OUTCOMES: [&str; 3] = ["same", "different", "not tried"];

/// A file that a command wrote, or would have written where it prints.
#[derive(Serialize, Deserialize, JsonSchema, Clone, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
pub struct Written {
    /// Where it was written; its name alone where nothing was.
    pub path: String,
    /// Of its text.
    pub bytes: u64,
    /// The text, where it was not written to a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// What `offload` wrote.
#[derive(Serialize, Deserialize, JsonSchema, Clone, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
pub struct Offloading {
    pub version: u32,
    /// The file as it was given.
    pub path: String,
    /// Why nothing was written: a sentence that says what to do.
    pub refused: Option<String>,
    /// Kernels first, the rewritten file last.
    pub written: Vec<Written>,
    pub loops: Vec<OffloadedLoop>,
    /// What to know: loops left out and why, last bits that may differ.
    pub notes: Vec<String>,
    /// Compiler options without which results may differ in the last bits.
    pub build_flags: Vec<String>,
    /// With `--worth`: the loops that stay as they are; left out where there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<LeftOut>,
    /// With `--verify`: what came of running the kernels beside the loops.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checks: Option<Vec<Check>>,
    /// With `--diff`, which writes nothing: what would change, as `diff -u` writes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
}

/// What `offload` wrote of several files.
#[derive(Serialize, Deserialize, JsonSchema, Clone, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
pub struct OffloadingOfFiles {
    pub version: u32,
    pub files: Vec<Offloading>,
}

/// A loop that is not offloaded with the others.
#[derive(Serialize, Deserialize, JsonSchema, Clone, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
pub struct LeftOut {
    pub line: u32,
    pub function: String,
    /// Whether loops in it are offloaded.
    pub around: bool,
    /// Why it is not, in sentences.
    pub reason: String,
}

/// A loop that became kernels.
#[derive(Serialize, Deserialize, JsonSchema, Clone, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
pub struct OffloadedLoop {
    /// In the file as it was.
    pub line: u32,
    pub function: String,
    pub kernel_file: String,
    pub kernels: Vec<OffloadedKernel>,
    /// How rule pages wrote what the host does: one line for each step.
    pub derivation: Vec<String>,
}

/// A kernel and how it is launched.
#[derive(Serialize, Deserialize, JsonSchema, Clone, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
pub struct OffloadedKernel {
    pub name: String,
    /// The function that the host calls.
    pub launcher: String,
    /// Threads of a block along x, y, z.
    pub block: [u32; 3],
    /// Blocks along each axis that is used, as C expressions.
    pub grid: Vec<String>,
    pub axes: Vec<Axis>,
}

/// An axis of the grid.
#[derive(Serialize, Deserialize, JsonSchema, Clone, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
pub struct Axis {
    #[schemars(extend("enum" = ["x", "y", "z"]))]
    pub axis: String,
    /// The index of the loop along it.
    pub index: String,
}

/// What `verify` found.
#[derive(Serialize, Deserialize, JsonSchema, Clone, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
pub struct Verification {
    pub version: u32,
    /// The file as it was given.
    pub path: String,
    /// Why there is nothing to verify.
    pub refused: Option<String>,
    pub loops: Vec<Check>,
}

/// What `verify` found in several files.
#[derive(Serialize, Deserialize, JsonSchema, Clone, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
pub struct VerificationOfFiles {
    pub version: u32,
    pub files: Vec<Verification>,
}

/// A loop and its kernel, run on the same inputs.
#[derive(Serialize, Deserialize, JsonSchema, Clone, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
pub struct Check {
    pub function: String,
    pub line: u32,
    /// `same`: on all inputs, and the kernel ran on one of them at least.
    #[schemars(extend("enum" = OUTCOMES))]
    pub outcome: String,
    /// A sentence.
    pub summary: String,
    /// How: `simulator`, `natively with gcc 12.2.0`.
    pub checked: Vec<String>,
    /// The inputs on which the original ran.
    pub cases: Vec<Case>,
    /// Of all inputs together, in the simulator.
    pub counted: Counted,
    /// Copies between host and device of all inputs together, by array and place.
    pub transfers: Vec<Transfer>,
}

/// Copies of one array, one way, at one place.
#[derive(Serialize, Deserialize, JsonSchema, Clone, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
pub struct Transfer {
    /// What the host calls it.
    pub array: String,
    /// Else back from it.
    pub to_device: bool,
    /// Null: at no line of the texts.
    pub place: Option<TextLine>,
    /// The innermost loop of the host around it.
    pub in_loop: Option<TextLine>,
    pub copies: Copies,
    /// Of how many it was followed who reads what they bring, and how many of these somebody needed.
    pub followed: u64,
    pub needed: u64,
    /// What could be left out, as far as these inputs show; null: nothing.
    pub too_much: Option<String>,
}

/// A line of a text that was written.
#[derive(Serialize, Deserialize, JsonSchema, Clone, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
pub struct TextLine {
    /// A kernel file; null: the program's own text as rewritten.
    pub kernel_file: Option<String>,
    /// From 1.
    pub line: u32,
}

/// One input.
#[derive(Serialize, Deserialize, JsonSchema, Clone, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// The parameters, such as `n=33`.
    pub input: String,
    /// Kernels that ran; 0 where the host's checks chose the original loop.
    pub launches: u64,
    /// What differs, a phrase; null: nothing.
    pub difference: Option<String>,
    pub to_device: Copies,
    pub from_device: Copies,
}

/// What the run counted.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, PartialEq, Default, Debug)]
#[serde(deny_unknown_fields)]
pub struct Counted {
    pub launches: u64,
    pub to_device: Copies,
    pub from_device: Copies,
}

/// Copies between host and device.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, PartialEq, Default, Debug)]
#[serde(deny_unknown_fields)]
pub struct Copies {
    pub count: u64,
    pub bytes: u64,
}

/// What `run` counted. The program has the standard output: this is the last line on standard error, or in the file of `--stats`.
#[derive(Serialize, Deserialize, JsonSchema, Clone, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
pub struct Ran {
    pub version: u32,
    /// What built it, such as `gcc 12.2.0`.
    pub compiler: String,
    /// The program's exit status; null: a signal ended it.
    pub status: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// Null: it ended without telling (by a signal, or `_exit`).
    pub counted: Option<RanCounts>,
}

/// What a program asked of the run time.
#[derive(Serialize, Deserialize, JsonSchema, Clone, PartialEq, Default, Debug)]
#[serde(deny_unknown_fields)]
pub struct RanCounts {
    pub launches: u64,
    pub to_device: Copies,
    pub from_device: Copies,
    /// From the device to the device.
    pub on_device: Copies,
    /// Arrays on the device that were never freed.
    pub never_freed: Copies,
    pub kernels: Vec<RanKernel>,
    /// Offloaded loops that ran on the host all the same.
    pub declined: Vec<RanDeclined>,
    /// By function and array; most bytes first.
    pub copies: Vec<RanCopies>,
}

/// Launches of one kernel.
#[derive(Serialize, Deserialize, JsonSchema, Clone, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
pub struct RanKernel {
    pub name: String,
    pub launches: u64,
    /// Of all launches.
    pub blocks: u64,
    pub threads: u64,
}

/// A function of an offloaded loop that let the loop itself run.
#[derive(Serialize, Deserialize, JsonSchema, Clone, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
pub struct RanDeclined {
    pub function: String,
    /// A phrase.
    pub why: String,
    pub count: u64,
}

/// Copies of one array, one way, in one function.
#[derive(Serialize, Deserialize, JsonSchema, Clone, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
pub struct RanCopies {
    /// `?`: the copy is made by a file that is no kernel file.
    pub function: String,
    /// What the function calls the end on the host (of copies on the device: where they go).
    pub array: String,
    #[schemars(extend("enum" = WAYS))]
    pub way: String,
    pub count: u64,
    pub bytes: u64,
}

pub(crate) const WAYS: [&str; 3] = ["to_device", "from_device", "on_device"];
