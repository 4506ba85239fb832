//! What editors send and are sent beyond LSP: arguments and answers of `workspace/executeCommand`, and requests of our
//! own. Positions here are LSP's: from 0, in the encoding that was agreed on.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Check, Loop};

/// The one argument of every command: a listed action (`uri`, `version`, `id`), or the loop at a place (`uri` and
/// `position` or `line`).
#[derive(Serialize, Deserialize, JsonSchema, Clone, PartialEq, Default, Debug)]
pub struct Target {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uri: Option<String>,
    /// Of the text that is meant; a command for another text is refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<i32>,
    /// Of an action that was listed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub position: Option<Position>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// `warpwright.explain`: the code of a finding.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// `warpwright.applyRules`: a rule system.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system: Option<String>,
    /// `warpwright.applyRules`: `loop`, `function` or `file`; else the loop, or the function around the place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
    /// `warpwright.applyRules`: whether the result is only to be told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preview: Option<bool>,
    /// `warpwright.profile`: `local`, or one of the user's `warpwright.hosts`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on: Option<String>,
    /// `warpwright.profile`: values of integers that the function gets from outside, by their names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sizes: Option<BTreeMap<String, i64>>,
    /// `warpwright.applyRules`: whether the editor is to show how the result came about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub explain: Option<bool>,
    /// `warpwright.offload`, `.mark`: loops of files as `warpwright/loops` has listed them, all in one edit; nothing else is said then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<Vec<LoopsOfFile>>,
}

/// Loops of one file.
#[derive(Serialize, Deserialize, JsonSchema, Clone, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
pub struct LoopsOfFile {
    pub uri: String,
    /// The text that is meant, as it was listed; another one is refused.
    pub text: String,
    /// Of its loops.
    pub keys: Vec<String>,
}

/// One edit of several files: `warpwright.offload`, `.mark` with `files`. The editor is asked to show it before it is applied, if several
/// loops are meant.
#[derive(Serialize, Deserialize, JsonSchema, Clone, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
pub struct FilesEdited {
    /// False: the user has called it off, and nothing was changed.
    pub applied: bool,
    /// Files that were created, as URIs.
    pub created: Vec<String>,
    /// Loops that stay as they are, and why, a sentence each.
    pub left_out: Vec<String>,
}

/// `warpwright/loops`: asks for the loops and kernels of the workspace, for a list that one looks through.
#[derive(Serialize, Deserialize, JsonSchema, Clone, PartialEq, Default, Debug)]
pub struct LoopsAsked {
    /// Only of these files; else of all in the workspace's folders.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uris: Option<Vec<String>>,
    /// LSP's token for answers in pieces: a list of [`ListedFile`] each, sent with `$/progress` as the files are analyzed.
    #[serde(default, skip_serializing_if = "Option::is_none", rename = "partialResultToken")]
    #[schemars(with = "Option<String>")]
    pub partial_result_token: Option<serde_json::Value>,
}

/// The answer to `warpwright/loops`.
#[derive(Serialize, Deserialize, JsonSchema, Clone, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
pub struct ListedLoops {
    /// In the order of their paths; empty where all was answered in pieces.
    pub files: Vec<ListedFile>,
    /// What was not looked at, and why, a sentence; null: nothing.
    pub note: Option<String>,
}

/// A file with its loops and kernels.
#[derive(Serialize, Deserialize, JsonSchema, Clone, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
pub struct ListedFile {
    pub uri: String,
    /// Such as `C`; null: it cannot be read, or is no source of the workspace: a header, a text in no language that is read.
    pub language: Option<String>,
    /// Names this very text. A file that is open is listed as the editor has it.
    pub text: String,
    /// In textual order.
    pub loops: Vec<ListedLoop>,
}

/// A loop of the host, or a kernel.
#[derive(Serialize, Deserialize, JsonSchema, Clone, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
pub struct ListedLoop {
    /// Names it in this text.
    pub key: String,
    #[schemars(extend("enum" = ["loop", "kernel"]))]
    pub kind: String,
    pub range: Range,
    pub function: String,
    /// Its header on one line, or the kernel's name.
    pub header: String,
    /// Of a loop as `analyze` says it; of a kernel what is known of its races.
    #[schemars(extend("enum" = ["independent", "reduction", "sequential", "unknown", "race-free", "race"]))]
    pub verdict: String,
    /// The verdict and its first reason.
    pub words: String,
    /// `worth`: an offload makes a kernel and nothing says that it cannot pay; in a kernel something is found. `open`: there is something
    /// to do first; in a kernel nothing is found. `inside`: a loop around it is parallel. `small`: it is too small to matter, or nothing
    /// for a GPU.
    #[schemars(extend("enum" = ["worth", "open", "inside", "small"]))]
    pub worth: String,
    /// Why it is not worth it, a sentence; empty: nothing to say.
    pub reason: String,
    /// Whether it can be offloaded.
    pub offload: bool,
    /// Whether it can be marked.
    pub mark: bool,
    pub marked: bool,
}

/// LSP's.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, PartialEq, Eq, Debug)]
pub struct Range {
    pub start: Position,
    pub end: Position,
}

/// LSP's.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, PartialEq, Eq, Debug)]
pub struct Position {
    pub line: u32,
    pub character: u32,
}

/// What a listed action carries until it is resolved, and a command's argument that means it.
#[derive(Serialize, Deserialize, JsonSchema, Clone, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
pub struct ActionData {
    pub uri: String,
    pub version: i32,
    pub id: String,
}

/// An edit was applied: `warpwright.offload`, `.mark`, `.unmark`, `.transform`.
#[derive(Serialize, Deserialize, JsonSchema, Clone, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
pub struct EditApplied {
    /// Always true: else the command fails and says why.
    pub applied: bool,
    /// Files that were created, as URIs.
    pub created: Vec<String>,
}

/// The whole analysis of a document was made: `warpwright.analyzeFully`.
#[derive(Serialize, Deserialize, JsonSchema, Clone, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
pub struct FullyAnalyzed {
    /// Always true: else the command fails and says why.
    pub done: bool,
}

/// Something to read: `warpwright.explain`, `.simulate`.
#[derive(Serialize, Deserialize, JsonSchema, Clone, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
pub struct Text {
    pub title: String,
    pub markdown: String,
}

/// `warpwright.applyRules`.
#[derive(Serialize, Deserialize, JsonSchema, Clone, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
pub struct RulesApplied {
    pub title: String,
    /// How it was checked, sentences.
    pub checked: String,
    /// Whether the result was run beside the original.
    pub ran: bool,
    /// Each application: rule, bindings, proofs.
    pub derivation: Vec<String>,
    /// The document's whole text afterwards.
    pub text: String,
    pub files: Vec<NewFile>,
    /// Unless it was only to be told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub applied: Option<bool>,
    /// Likewise: files that were created, as URIs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created: Option<Vec<String>>,
}

/// A file that rules made.
#[derive(Serialize, Deserialize, JsonSchema, Clone, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
pub struct NewFile {
    pub name: String,
    pub text: String,
}

/// `warpwright.listRules`.
#[derive(Serialize, Deserialize, JsonSchema, Clone, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
pub struct RuleSystems {
    pub systems: Vec<RuleSystem>,
}

/// A rule system that can be applied.
#[derive(Serialize, Deserialize, JsonSchema, Clone, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
pub struct RuleSystem {
    pub system: String,
    /// Of its page.
    pub title: String,
    /// What the page says of it.
    pub about: String,
    /// Whether it is the user's own.
    pub own: bool,
    /// What its page claims of its results, such as `exact`.
    pub trust: Option<String>,
}

/// `warpwright.verify`.
#[derive(Serialize, Deserialize, JsonSchema, Clone, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
pub struct Checks {
    pub reports: Vec<Check>,
}

/// `warpwright.showDependences`: the loop as `analyze` tells it, with a page and a graph.
#[derive(Serialize, Deserialize, JsonSchema, Clone, PartialEq, Debug)]
pub struct LoopShown {
    #[serde(flatten)]
    pub report: Loop,
    #[serde(flatten)]
    pub page: crate::Page,
}

/// `warpwright/documentText`: a document as the server has it, for reports of editors and servers that disagree. Asked
/// with `{"textDocument": {"uri": …}}`.
#[derive(Serialize, Deserialize, JsonSchema, Clone, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
pub struct DocumentText {
    /// Of the document.
    pub version: i32,
    pub text: String,
}

/// `warpwright/showPanel`, a notification to editors that say `"panels": true` in their initialization options: a result to be shown as
/// it is, beside the program. It has no scripts; its links are commands: `warpwright.openPlace` with `[uri, line]` (from 1), and
/// `warpwright.cancelWork` with `[token]` of a progress.
#[derive(Serialize, Deserialize, JsonSchema, Clone, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
pub struct Panel {
    /// Panels of one name are one.
    pub name: String,
    pub title: String,
    /// A whole page.
    pub html: String,
    /// Whether it only replaces what a panel of this name shows: one that was closed stays closed.
    pub replaces: bool,
}

/// `experimental.warpwright` of the answer to `initialize`.
#[derive(Serialize, Deserialize, JsonSchema, Clone, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
pub struct ServerContract {
    /// The version of this contract.
    pub contract: u32,
}
