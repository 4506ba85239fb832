//! `warpwright.showDependences`: what a loop carries, as the JSON of the loop, a page and a graph.

use serde_json::Value;
use tower_lsp::jsonrpc::Result;

use super::{answer, target, Call};
use crate::contract::{loop_of, page};
use crate::lsp::actions::stale;
use crate::lsp::backend::Backend;
use crate::lsp::host::{Context, Need};
use crate::lsp::panel::{self, Place};

pub async fn run(backend: &Backend, call: Call) -> Result<Option<Value>> {
    let uri = call.uri()?;
    let find = move |context: &Context| {
        let (analyzed, finding) = target::loop_of(context, &call.target)?;
        let which = ide::Which::Key(finding.key.to_string());
        let view =
            ide::show_dependences(&context.ask(analyzed), &analyzed.findings, &which).map_err(|_| stale())?;
        let shown = wire::LoopShown { report: loop_of(finding.report()), page: page(&view) };
        Ok((shown, panel::dependences(&view)))
    };
    let place = Place { uri: uri.as_str().to_owned(), name: "dependences".to_owned() };
    let (shown, report) = backend.ask(uri, Need::ThisText, find).await?;
    panel::offer(backend, &place, &report).await;
    Ok(answer(&shown))
}
