//! `transform` and `rules`: what was rewritten, and how it was checked.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Counted, Written};

/// What `transform` did.
#[derive(Serialize, Deserialize, JsonSchema, Clone, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
pub struct Transformation {
    pub version: u32,
    pub path: String,
    /// The loop's.
    pub line: u32,
    pub name: String,
    /// Why nothing was done: a sentence.
    pub refused: Option<String>,
    /// What was done.
    pub title: Option<String>,
    /// How it was checked, a sentence.
    pub checked: Option<String>,
    pub written: Vec<Written>,
}

/// What applies to a loop, and why the rest does not: `transform --list`.
#[derive(Serialize, Deserialize, JsonSchema, Clone, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
pub struct Transformations {
    pub version: u32,
    pub path: String,
    pub line: u32,
    /// Why nothing can be said: a sentence.
    pub refused: Option<String>,
    pub transformations: Vec<Applicable>,
}

/// A transformation at a loop.
#[derive(Serialize, Deserialize, JsonSchema, Clone, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
pub struct Applicable {
    pub name: String,
    /// What it does, a phrase.
    pub about: String,
    /// What may be said with `--with`, or nothing.
    pub with: String,
    /// What it would do here; null: it does not apply.
    pub title: Option<String>,
    /// Why it does not apply.
    pub refused: Option<String>,
    /// Whether it may make a loop parallel.
    pub enables: bool,
}

/// What `rules apply` did.
#[derive(Serialize, Deserialize, JsonSchema, Clone, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
pub struct RulesApplication {
    pub version: u32,
    pub path: String,
    pub system: String,
    /// Why nothing was done: a sentence.
    pub refused: Option<String>,
    pub title: Option<String>,
    /// How it was checked, sentences.
    pub checked: Option<String>,
    /// Whether the result was run beside the original.
    pub ran: bool,
    /// What the runs of the result launched and copied; null where it was not run.
    pub counted: Option<Counted>,
    /// Each application: rule, bindings, proofs.
    pub derivation: Vec<String>,
    /// The rewritten file, and files that the rules made.
    pub written: Vec<Written>,
    /// With `--diff` what `--in-place` would change, as `diff -u` writes it.
    pub diff: Option<String>,
}

/// What `rules apply` did in several files.
#[derive(Serialize, Deserialize, JsonSchema, Clone, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
pub struct RulesApplicationToFiles {
    pub version: u32,
    pub files: Vec<RulesApplication>,
}

/// What `rules check` found.
#[derive(Serialize, Deserialize, JsonSchema, Clone, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
pub struct RulesCheck {
    pub version: u32,
    pub pages: Vec<CheckedPage>,
}

/// A page of rules.
#[derive(Serialize, Deserialize, JsonSchema, Clone, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
pub struct CheckedPage {
    pub path: String,
    pub rules: u64,
    /// Examples that came out as the page says.
    pub examples: u64,
    pub findings: Vec<PageFinding>,
}

/// Something wrong with a page.
#[derive(Serialize, Deserialize, JsonSchema, Clone, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
pub struct PageFinding {
    #[schemars(extend("enum" = ["warning", "error"]))]
    pub severity: String,
    pub line: u32,
    pub column: u32,
    pub message: String,
}

/// What `rules list` lists.
#[derive(Serialize, Deserialize, JsonSchema, Clone, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
pub struct RulesList {
    pub version: u32,
    pub systems: Vec<RulesSystem>,
}

/// A system of rules.
#[derive(Serialize, Deserialize, JsonSchema, Clone, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
pub struct RulesSystem {
    pub system: String,
    /// Of its page.
    pub title: String,
    /// What its page claims of its results, such as `exact`.
    pub trust: String,
    /// In which order rules are tried.
    pub strategy: String,
}
