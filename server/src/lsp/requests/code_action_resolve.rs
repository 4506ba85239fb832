//! `codeAction/resolve`: the edit of an action that was listed.
//!
//! Why there is none is shown, too: editors keep the error of this request to themselves, and a click would do nothing.

use serde_json::json;
use tower_lsp::jsonrpc::{Error, ErrorCode, Result};
use tower_lsp::ls_types as lsp;
use wire::ActionData;

use crate::lsp::actions::{make_for, Made};
use crate::lsp::backend::Backend;
use crate::lsp::host::{Context, Need};

pub async fn run(backend: &Backend, mut action: lsp::CodeAction) -> Result<lsp::CodeAction> {
    // what was complete when it was listed is complete
    let Some(data) = action.data.take() else { return Ok(action) };
    let not_ours =
        |e: &dyn std::fmt::Display| Error::invalid_params(format!("The action's data is not ours: {e}."));
    let data: ActionData = serde_json::from_value(data).map_err(|e| not_ours(&e))?;
    let uri = data.uri.parse().map_err(|_| not_ours(&"its uri is none"))?;
    let make = move |context: &Context| {
        if let Made::Edit(plan) = make_for(context, &data)? {
            action.edit = Some(plan.to_lsp(&context.caps));
        }
        action.data = Some(json!(data));
        Ok(action)
    };
    let made = backend.ask(uri, Need::ThisText, make).await;
    if let Err(e) = &made {
        if e.code != ErrorCode::RequestCancelled {
            backend.client.show_message(lsp::MessageType::WARNING, e.message.to_string()).await;
        }
    }
    made
}
