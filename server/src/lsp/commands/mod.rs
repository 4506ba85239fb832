//! `workspace/executeCommand`: every action once more, for keys, menus and clients without code actions, and what
//! takes long. A file for each command; `tests/architecture.rs` holds the folder to [`NAMES`].

mod analyze_fully;
mod apply_rules;
mod explain;
mod list_rules;
mod mark;
mod offload;
mod profile;
mod show_call_graph;
mod show_dependences;
mod show_terms;
mod simulate;
mod transform;
mod unmark;
mod verify;

mod carry_out;
pub mod progress;
mod target;

use serde_json::{json, Value};
use tower_lsp::jsonrpc::{Error, Result};
use tower_lsp::ls_types as lsp;
use wire::Target;

use super::backend::Backend;
pub use progress::{token_text, Guard};

/// The commands of `workspace/executeCommand`.
pub const NAMES: [&str; 14] = [
    "warpwright.analyzeFully",
    "warpwright.applyRules",
    "warpwright.explain",
    "warpwright.listRules",
    "warpwright.mark",
    "warpwright.offload",
    "warpwright.profile",
    "warpwright.showCallGraph",
    "warpwright.showDependences",
    "warpwright.showTerms",
    "warpwright.simulate",
    "warpwright.transform",
    "warpwright.unmark",
    "warpwright.verify",
];

/// The command that does what an action of this id does.
pub fn command_of_id(id: &str) -> &'static str {
    match id.split(':').next() {
        Some("offload") => "warpwright.offload",
        Some("mark") => "warpwright.mark",
        Some("explain") => "warpwright.explain",
        Some("simulate") => "warpwright.simulate",
        Some(name) if name == "enable" || name.starts_with("transform") => "warpwright.transform",
        _ => "warpwright.unmark",
    }
}

/// One call of a command.
struct Call {
    command: String,
    target: Target,
    /// Where progress is to be shown.
    token: Option<lsp::ProgressToken>,
}

impl Call {
    /// The document it speaks of.
    fn uri(&self) -> Result<lsp::Uri> {
        let uri = self.target.uri.as_deref().and_then(|uri| uri.parse().ok());
        uri.ok_or_else(|| Error::invalid_params(format!("{} needs {{\"uri\": …}}.", self.command)))
    }
}

pub async fn run(backend: &Backend, params: lsp::ExecuteCommandParams) -> Result<Option<Value>> {
    let (command, token) = (params.command, params.work_done_progress_params.work_done_token);
    let unknown = || Error::invalid_params(format!("There is no command {command}."));
    let verb = command.strip_prefix("warpwright.").ok_or_else(unknown)?;
    let target = target::read(&command, params.arguments)?;
    let call = Call { command: command.clone(), target, token };
    match verb {
        "analyzeFully" => analyze_fully::run(backend, call).await,
        "applyRules" => apply_rules::run(backend, call).await,
        "explain" => explain::run(backend, call).await,
        "listRules" => list_rules::run(backend, call).await,
        "mark" => mark::run(backend, call).await,
        "offload" => offload::run(backend, call).await,
        "profile" => profile::run(backend, call).await,
        "showCallGraph" => show_call_graph::run(backend, call).await,
        "showDependences" => show_dependences::run(backend, call).await,
        "showTerms" => show_terms::run(backend, call).await,
        "simulate" => simulate::run(backend, call).await,
        "transform" => transform::run(backend, call).await,
        "unmark" => unmark::run(backend, call).await,
        "verify" => verify::run(backend, call).await,
        _ => Err(call.uri().err().unwrap_or_else(unknown)),
    }
}

/// An answer of the contract, as the protocol library takes it.
fn answer(value: &impl serde::Serialize) -> Option<Value> {
    Some(json!(value))
}
