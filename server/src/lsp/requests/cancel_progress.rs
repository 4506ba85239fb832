//! `window/workDoneProgress/cancel`, which tower-lsp does not route.

use tower_lsp::ls_types as lsp;

use crate::lsp::backend::Backend;
use crate::lsp::commands;

pub async fn run(backend: &Backend, params: lsp::WorkDoneProgressCancelParams) {
    let token = commands::token_text(&params.token);
    let cancellable = backend.cancellable.lock().unwrap_or_else(|e| e.into_inner());
    if let Some(cancel) = cancellable.get(&token) {
        cancel.cancel();
    }
}
