//! `warpwright.unmark`: a mark or a word to the analysis taken away.

use serde_json::Value;
use tower_lsp::jsonrpc::Result;

use super::{carry_out, Call};
use crate::lsp::backend::Backend;

pub async fn run(backend: &Backend, call: Call) -> Result<Option<Value>> {
    carry_out::action(backend, "unmark", call).await
}
