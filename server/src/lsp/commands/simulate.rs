//! `warpwright.simulate`: a kernel run in the simulator, and what it asks of the hardware.

use serde_json::Value;
use tower_lsp::jsonrpc::Result;

use super::{carry_out, Call};
use crate::lsp::backend::Backend;

pub async fn run(backend: &Backend, call: Call) -> Result<Option<Value>> {
    carry_out::action(backend, "simulate", call).await
}
