//! `warpwright.explain`: the page of a finding's code, or what is known of a loop.

use serde_json::Value;
use tower_lsp::jsonrpc::Result;

use super::{answer, carry_out, Call};
use crate::lsp::actions::failed;
use crate::lsp::backend::Backend;
use crate::lsp::panel::{self, Place, Report};

pub async fn run(backend: &Backend, call: Call) -> Result<Option<Value>> {
    let Some(code) = &call.target.code else { return carry_out::action(backend, "explain", call).await };
    let page = crate::codes::explain(code).ok_or_else(|| failed(format!("There is no code {code}.")))?;
    if call.target.uri.is_some() {
        let place = Place { uri: call.uri()?.as_str().to_owned(), name: "explain".to_owned() };
        panel::offer(backend, &place, &Report::of_markdown(code, page)).await;
    }
    Ok(answer(&wire::Text { title: code.clone(), markdown: page.to_owned() }))
}
