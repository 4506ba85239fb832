//! `warpwright.transform`: a loop transformed.

use serde_json::Value;
use tower_lsp::jsonrpc::Result;

use super::{carry_out, Call};
use crate::lsp::actions::failed;
use crate::lsp::backend::Backend;

pub async fn run(backend: &Backend, call: Call) -> Result<Option<Value>> {
    // there are many, and none is the obvious one
    if call.target.id.is_none() {
        return Err(failed(
            "Which transformation? Choose one of the refactorings at the loop, or give the `id` of one as an argument."
                .to_owned(),
        ));
    }
    carry_out::action(backend, "transform", call).await
}
