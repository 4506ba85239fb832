//! `warpwright.showCallGraph`: who calls whom, as a page and a graph.

use serde_json::Value;
use tower_lsp::jsonrpc::Result;

use super::target::analyzed;
use super::{answer, Call};
use crate::contract::page;
use crate::lsp::backend::Backend;
use crate::lsp::host::{Context, Need};
use crate::lsp::panel::{self, Place};

pub async fn run(backend: &Backend, call: Call) -> Result<Option<Value>> {
    let uri = call.uri()?;
    let place = Place { uri: uri.as_str().to_owned(), name: "calls".to_owned() };
    let find = move |context: &Context| Ok(ide::show_call_graph(&analyzed(context)?.doc));
    let view = backend.ask(uri, Need::ThisText, find).await?;
    panel::offer(backend, &place, &panel::dependences(&view)).await;
    Ok(answer(&page(&view)))
}
