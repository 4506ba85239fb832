//! `analyze`: loops, kernels and findings of files.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Kernel;

const TAKEN: [&str; 11] = [
    "not defined",
    "defined",
    "platform",
    "compiler",
    "either way",
    "not found",
    "found nearby",
    "template",
    "includes this file",
    "stand-in",
    "not read",
];
const VERDICTS: [&str; 4] = ["independent", "reduction", "sequential", "unknown"];
const MET_BY: [&str; 3] = ["proof", "run-time check", "user"];
const OPERATORS: [&str; 12] = ["+", "*", "min", "max", "&", "|", "^", "&&", "||", "argmin", "argmax", "last"];
const DEPENDENCES: [&str; 3] = ["flow", "anti", "output"];
const DIRECTIONS: [&str; 7] = ["<", "=", ">", "<=", ">=", "<>", "*"];
pub(crate) const SEVERITIES: [&str; 4] = ["hint", "information", "warning", "error"];

/// The findings of files.
#[derive(Serialize, Deserialize, JsonSchema, Clone, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
pub struct Analysis {
    pub version: u32,
    /// In the order of the command line; files that cannot be read are told on standard error.
    pub files: Vec<File>,
}

/// One file.
#[derive(Serialize, Deserialize, JsonSchema, Clone, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
pub struct File {
    /// As it was given.
    pub path: String,
    /// Such as `c` or `cuda`.
    pub language: String,
    /// What conditions took for granted, where it could as well be otherwise; left out where there is nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub configuration: Vec<Choice>,
    pub loops: Vec<Loop>,
    /// Of CUDA documents; left out where there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kernels: Vec<Kernel>,
    /// The same as in the editor.
    pub diagnostics: Vec<Diagnostic>,
}

/// A macro or a header and how it was taken.
#[derive(Serialize, Deserialize, JsonSchema, Clone, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
pub struct Choice {
    pub name: String,
    /// `platform`: as gcc on x86-64 Linux has it; `compiler`: as the one that was asked says; `either way`: left open, the
    /// compiler's options decide; `found nearby`: where nobody said to look; `template`: the file that a build makes
    /// it of (`value`), with nothing configured but what every C has; `includes this file`: a file whose text before that line (`value`) was read first.
    #[schemars(extend("enum" = TAKEN))]
    pub taken: String,
    /// What it was given, the compiler's name, the template's, a line, or the condition that a missing header stands behind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
}

/// One loop, counted or not.
#[derive(Serialize, Deserialize, JsonSchema, Clone, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
pub struct Loop {
    /// Where the loop's keyword, or the macro that makes the loop, begins.
    pub line: u32,
    pub column: u32,
    /// One past the last byte of the whole loop.
    pub end_line: u32,
    pub end_column: u32,
    pub function: String,
    /// `reduction`: independent but for recognised reductions; `sequential`: with a witness.
    #[schemars(extend("enum" = VERDICTS))]
    pub verdict: String,
    /// What the verdict needs that the text alone does not say.
    pub conditions: Vec<Condition>,
    /// Names of the scalars of which each iteration has its own.
    pub private: Vec<String>,
    /// Variables that move by a fixed amount; left out where there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inductions: Vec<Induction>,
    pub reductions: Vec<Reduction>,
    /// Carried by this loop.
    pub dependences: Vec<Dependence>,
    pub obstacles: Vec<Obstacle>,
    /// How iterations, or the statements of a nest, can be spread over threads without synchronisation.
    pub thread_map: Option<ThreadMap>,
    /// Whether a kernel can be made; null where the loop does not run at once as it stands.
    pub offload: Option<Offload>,
    /// What one run of that offload costs; null where there is none.
    pub cost: Option<Cost>,
    /// With `--enabling`, where something was found: transformations that would make the loop parallel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enabling: Option<Enabling>,
}

/// Something that a verdict needs.
#[derive(Serialize, Deserialize, JsonSchema, Clone, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
pub struct Condition {
    /// Such as `no-alias`, `no-wrap`, `bounds`, `in-row`, `asserted`, `injective`, `sorted`, `at-most`, `distinct-rows`, `pure`,
    /// `reassociate`, `step-sign`, `terminates`, `trips`; of C# also `not-null`, `non-zero`, `no-overflow`: that nothing is thrown.
    pub kind: String,
    /// Such as `no-alias(a,b)`.
    pub text: String,
    /// `user`: asked for, and met by nobody yet.
    #[schemars(extend("enum" = MET_BY))]
    pub met_by: String,
}

/// A variable that moves with the iterations.
#[derive(Serialize, Deserialize, JsonSchema, Clone, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
pub struct Induction {
    pub variable: String,
    /// How much each iteration adds; null where it is not one constant.
    pub step: Option<i64>,
}

/// A recognised reduction.
#[derive(Serialize, Deserialize, JsonSchema, Clone, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
pub struct Reduction {
    pub variable: String,
    #[schemars(extend("enum" = OPERATORS))]
    pub operator: String,
}

/// A place in the file.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
pub struct Place {
    pub line: u32,
    pub column: u32,
}

/// Two accesses of which one must come before the other.
#[derive(Serialize, Deserialize, JsonSchema, Clone, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
pub struct Dependence {
    #[schemars(extend("enum" = DEPENDENCES))]
    pub kind: String,
    pub variable: String,
    pub source: Place,
    pub sink: Place,
    /// For each loop around both, from the one that carries it inwards.
    #[schemars(extend("items" = serde_json::json!({"type": "string", "enum": DIRECTIONS})))]
    pub direction: Vec<String>,
    /// Likewise; null where it is not one constant.
    pub distance: Vec<Option<i64>>,
    /// Such as `i=3 writes a[4], i=4 reads a[4]`; null where it may exist but is not proved to.
    pub witness: Option<String>,
}

/// Why nothing more can be said.
#[derive(Serialize, Deserialize, JsonSchema, Clone, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
pub struct Obstacle {
    /// Kebab-case, such as `unknown-call`.
    pub kind: String,
    pub text: String,
    pub line: u32,
    pub column: u32,
}

/// How iterations become threads.
#[derive(Serialize, Deserialize, JsonSchema, Clone, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
pub struct ThreadMap {
    /// Coordinates of a thread, 1 to 3.
    pub dimension: u32,
    /// Of each statement (`S1`, `S2`, … in textual order) the thread its instances run at, such as `(i, j)`.
    pub maps: BTreeMap<String, String>,
    /// Threads that do work, as an expression in the program's variables.
    pub threads: String,
}

/// Whether a kernel can be made of a loop.
#[derive(Serialize, Deserialize, JsonSchema, Clone, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
pub struct Offload {
    pub possible: bool,
    /// Why not, a sentence.
    pub reason: Option<String>,
    /// The same in a few words, as findings, hints and hovers have it; null where nobody tried.
    pub label: Option<String>,
}

/// What one run of an offload costs, at most.
#[derive(Serialize, Deserialize, JsonSchema, Clone, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
pub struct Cost {
    /// Operators, assignments and calls as they are written, those in subscripts too, of all iterations; null: nobody can say it
    /// before it runs.
    pub operations: Option<Amount>,
    /// Of arrays; null likewise.
    pub bytes_to_device: Option<Amount>,
    pub bytes_from_device: Option<Amount>,
    /// Of kernels; null likewise.
    pub launches: Option<Amount>,
}

/// A number, or an expression of C in the function's variables.
#[derive(Serialize, Deserialize, JsonSchema, Clone, PartialEq, Debug)]
#[serde(untagged)]
pub enum Amount {
    Number(u64),
    Expression(String),
}

/// Transformations that would make a loop parallel.
#[derive(Serialize, Deserialize, JsonSchema, Clone, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
pub struct Enabling {
    pub text: String,
    pub steps: Vec<EnablingStep>,
}

/// One of them.
#[derive(Serialize, Deserialize, JsonSchema, Clone, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
pub struct EnablingStep {
    /// As `warpwright transform` takes it.
    pub name: String,
    /// Likewise, for `--with`.
    pub with: String,
    pub line: u32,
}

/// A finding.
#[derive(Serialize, Deserialize, JsonSchema, Clone, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
pub struct Diagnostic {
    /// `warpwright explain CODE` tells more.
    pub code: String,
    #[schemars(extend("enum" = SEVERITIES))]
    pub severity: String,
    pub line: u32,
    pub column: u32,
    pub end_line: u32,
    pub end_column: u32,
    pub message: String,
}
