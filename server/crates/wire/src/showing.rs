//! `show` and `explain`: pages to read.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::analyze::SEVERITIES;

/// What `show` shows.
#[derive(Serialize, Deserialize, JsonSchema, Clone, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
pub struct Shown {
    pub version: u32,
    pub path: String,
    #[schemars(extend("enum" = ["dependences", "calls", "terms"]))]
    pub what: String,
    /// Why nothing is shown: a sentence.
    pub refused: Option<String>,
    pub page: Option<Page>,
}

/// A page for people.
#[derive(Serialize, Deserialize, JsonSchema, Clone, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
pub struct Page {
    pub title: String,
    pub markdown: String,
    /// The same as a graph for Graphviz, where it is one.
    pub dot: Option<String>,
}

/// What `explain CODE` explains.
#[derive(Serialize, Deserialize, JsonSchema, Clone, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
pub struct Explanation {
    pub version: u32,
    pub code: String,
    /// Its page.
    pub markdown: String,
}

/// All codes: `explain` without one.
#[derive(Serialize, Deserialize, JsonSchema, Clone, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
pub struct Codes {
    pub version: u32,
    pub codes: Vec<Code>,
}

/// A code of findings.
#[derive(Serialize, Deserialize, JsonSchema, Clone, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
pub struct Code {
    pub code: String,
    /// Where settings say nothing.
    #[schemars(extend("enum" = SEVERITIES))]
    pub severity: String,
    pub summary: String,
}
