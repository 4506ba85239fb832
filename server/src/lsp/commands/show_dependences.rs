//! `warpwright.showDependences`: what a loop carries, as the JSON of the loop, a page and a graph.

use serde_json::Value;
use tower_lsp::jsonrpc::Result;

use super::target::loop_of;
use super::{page, Call};
use crate::contract::loop_value;
use crate::lsp::actions::stale;
use crate::lsp::backend::Backend;
use crate::lsp::host::{Context, Need};

pub async fn run(backend: &Backend, call: Call) -> Result<Option<Value>> {
    let uri = call.uri()?;
    let find = move |context: &Context| {
        let (analyzed, finding) = loop_of(context, &call.target)?;
        let which = ide::Which::Key(finding.key.to_string());
        let view = ide::show_dependences(&analyzed.ask(&context.cancel), &analyzed.findings, &which)
            .map_err(|_| stale())?;
        let mut value = loop_value(finding.report());
        if let (Some(all), Value::Object(page)) = (value.as_object_mut(), page(&view)) {
            all.extend(page);
        }
        Ok(Some(value))
    };
    backend.ask(uri, Need::ThisText, find).await
}
