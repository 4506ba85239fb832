//! `warpwright.showCallGraph`: who calls whom, as a page and a graph.

use serde_json::Value;
use tower_lsp::jsonrpc::Result;

use super::target::analyzed;
use super::{answer, Call};
use crate::contract::page;
use crate::lsp::backend::Backend;
use crate::lsp::host::{Context, Need};

pub async fn run(backend: &Backend, call: Call) -> Result<Option<Value>> {
    let find = move |context: &Context| Ok(answer(&page(&ide::show_call_graph(&analyzed(context)?.doc))));
    backend.ask(call.uri()?, Need::ThisText, find).await
}
