//! `textDocument/codeLens`: what can be done with loops, above them.

use std::sync::atomic::Ordering;

use serde_json::json;
use tower_lsp::jsonrpc::Result;
use tower_lsp::ls_types as lsp;
use wire::ActionData;

use crate::lsp::backend::Backend;
use crate::lsp::commands::command_of_id;
use crate::lsp::document::Analyzed;
use crate::lsp::host::{Context, Need};
use crate::lsp::measured::{self, Measured};
use crate::lsp::to_lsp;

pub async fn run(backend: &Backend, params: lsp::CodeLensParams) -> Result<Option<Vec<lsp::CodeLens>>> {
    backend.asks_lenses.store(true, Ordering::Relaxed);
    let measured = backend.measured.clone();
    let list = move |context: &Context| {
        let view = &context.view;
        let Some(analyzed) = view.analyzed.as_ref().filter(|_| context.settings.code_lens.enable) else {
            return Ok(None);
        };
        let results = measured_lenses(context, analyzed, &measured);
        let lenses = ide::lenses(&context.ask(analyzed), &analyzed.findings).into_iter().map(|lens| {
            let id = lens.action.to_string();
            let command = command_of_id(&id).to_owned();
            let data = ActionData { uri: view.uri.to_string(), version: view.version, id };
            lsp::CodeLens {
                range: to_lsp::range(lens.span, &view.text, &context.caps),
                command: Some(lsp::Command {
                    title: lens.title,
                    command,
                    arguments: Some(vec![json!(data)]),
                }),
                data: None,
            }
        });
        Ok(Some(lenses.chain(results).collect()))
    };
    backend.ask(params.text_document.uri, Need::Newest, list).await
}

/// What was measured, above its loop; a click measures again.
fn measured_lenses(context: &Context, analyzed: &Analyzed, measured: &Measured) -> Vec<lsp::CodeLens> {
    let view = &context.view;
    let one = |(l, run): (&ide::LoopFinding, wire::ProfileRun)| {
        let range = to_lsp::range(l.header, &view.text, &context.caps);
        let target = json!({"uri": view.uri.as_str(), "position": range.start});
        let command = lsp::Command {
            title: measured::words(&run),
            command: "warpwright.profile".to_owned(),
            arguments: Some(vec![target]),
        };
        lsp::CodeLens { range, command: Some(command), data: None }
    };
    measured::of_loops(context, analyzed, measured).into_iter().map(one).collect()
}
