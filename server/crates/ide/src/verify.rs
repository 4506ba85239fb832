//! The original loop against the offloaded one, on random inputs, in the simulator.
//!
//! The only file here that calls `simulate`.

use base::CancelToken;

use crate::check::Findings;
use crate::{Doc, Memo, Which};

/// How much to try.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct VerifyOptions {
    /// Number of inputs.
    pub cases: u32,
    /// Seed of the inputs: the same seed gives the same inputs on every machine.
    pub seed: u64,
    /// Counted steps for each run of original or kernel.
    pub steps: u64,
}

impl Default for VerifyOptions {
    fn default() -> VerifyOptions {
        VerifyOptions { cases: 12, seed: 1, steps: 50_000_000 }
    }
}

/// What came of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// All cases computed the same.
    Same,
    /// Some case computed something else, or broke a rule of the machine (race, out of bounds, …).
    Different,
    /// It could not be tried; a sentence says why. Never counts as success.
    NotTried(String),
}

/// One input.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct VerifyCase {
    /// The parameters, as `n=33`.
    pub input: String,
    /// `None`: the same; else what differs, a sentence.
    pub difference: Option<String>,
}

/// The comparison of one loop.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct VerifyReport {
    /// The loop's key.
    pub key: String,
    /// 1-based line of the loop.
    pub line: u32,
    pub function: String,
    pub outcome: Outcome,
    pub cases: Vec<VerifyCase>,
}

/// Compares the loops chosen with their offloaded form, one report a loop.
pub fn verify(
    doc: &Doc,
    findings: &Findings,
    memo: &Memo,
    which: &Which,
    options: &VerifyOptions,
    cancel: &CancelToken,
) -> Vec<VerifyReport> {
    let _ = (doc, memo, options, cancel);
    let chosen = findings.loops.iter().filter(|l| match which {
        Which::Key(key) => l.key == *key,
        Which::Line(line) => l.report.line == *line,
        Which::Marked => l.marked,
    });
    chosen
        .map(|l| VerifyReport {
            key: l.key.clone(),
            line: l.report.line,
            function: l.report.function.clone(),
            outcome: Outcome::NotTried(
                "This build has no simulator for host code, so nothing was compared.".to_owned(),
            ),
            cases: Vec::new(),
        })
        .collect()
}
