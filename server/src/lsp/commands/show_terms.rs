//! `warpwright.showTerms`: what the program was read as.

use serde_json::Value;
use tower_lsp::jsonrpc::Result;

use super::target::{analyzed, loop_of};
use super::{answer, Call};
use crate::contract::page;
use crate::lsp::actions::stale;
use crate::lsp::backend::Backend;
use crate::lsp::host::{Context, Need};
use crate::lsp::panel::{self, Place, Report};

pub async fn run(backend: &Backend, call: Call) -> Result<Option<Value>> {
    let uri = call.uri()?;
    let find = move |context: &Context| {
        let all = analyzed(context)?;
        // the function around the place, if a loop is there; else the whole document
        let which = loop_of(context, &call.target).ok().map(|(_, l)| ide::Which::Key(l.key.to_string()));
        ide::show_terms(&all.doc, &all.findings, which.as_ref()).map_err(|_| stale())
    };
    let place = Place { uri: uri.as_str().to_owned(), name: "terms".to_owned() };
    let view = backend.ask(uri, Need::ThisText, find).await?;
    panel::offer(backend, &place, &Report::of_markdown(&view.title, &view.markdown)).await;
    Ok(answer(&page(&view)))
}
