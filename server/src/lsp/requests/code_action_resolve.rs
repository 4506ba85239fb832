//! `codeAction/resolve`: the edit of an action that was listed.
//!
//! Why there is none is shown, too: editors keep the error of this request to themselves, and a click would do nothing. So is that it
//! takes long, with a way to call it off.

use base::CancelToken;
use serde_json::json;
use tower_lsp::jsonrpc::{Error, ErrorCode, Result};
use tower_lsp::ls_types as lsp;
use wire::ActionData;

use crate::limits::lsp_requests_code_action_resolve::PATIENCE;
use crate::lsp::actions::{make_for, Made};
use crate::lsp::backend::Backend;
use crate::lsp::commands::progress::Progress;
use crate::lsp::host::{Context, Need};

pub async fn run(backend: &Backend, mut action: lsp::CodeAction) -> Result<lsp::CodeAction> {
    // what was complete when it was listed is complete
    let Some(data) = action.data.take() else { return Ok(action) };
    let not_ours =
        |e: &dyn std::fmt::Display| Error::invalid_params(format!("The action's data is not ours: {e}."));
    let data: ActionData = serde_json::from_value(data).map_err(|e| not_ours(&e))?;
    let uri = data.uri.parse().map_err(|_| not_ours(&"its uri is none"))?;
    let title = action.title.clone();
    let make = move |context: &Context| {
        let mut told = Vec::new();
        if let Made::Edit(plan) = make_for(context, &data)? {
            action.edit = Some(plan.to_lsp(&context.caps));
            told = plan.told;
        }
        action.data = Some(json!(data));
        Ok((action, told))
    };
    let cancel = CancelToken::new();
    let mut answer = Box::pin(backend.ask_until(uri, Need::ThisText, cancel.clone(), make));
    let made = match tokio::time::timeout(PATIENCE, &mut answer).await {
        Ok(made) => made,
        Err(_) => {
            let caps = backend.caps();
            tokio::select! {
                // an editor that does not answer is not waited for
                made = &mut answer => made,
                progress = Progress::begin(backend, &caps, None, &title, &cancel) => {
                    let made = answer.await;
                    progress.end(if made.is_ok() { "done" } else { "nothing" });
                    made
                }
            }
        }
    };
    match &made {
        Ok((_, told)) => backend.tell(told).await,
        Err(e) if e.code == ErrorCode::RequestCancelled => {}
        Err(e) => backend.client.show_message(lsp::MessageType::WARNING, e.message.to_string()).await,
    }
    made.map(|(action, _)| action)
}
