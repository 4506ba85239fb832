//! `warpwright.offload`: a loop as a kernel with its host code.

use serde_json::Value;
use tower_lsp::jsonrpc::Result;

use super::{carry_out, Call};
use crate::lsp::backend::Backend;

pub async fn run(backend: &Backend, call: Call) -> Result<Option<Value>> {
    carry_out::action(backend, "offload", call).await
}
