//! `textDocument/inlayHint`: verdicts behind loop headers.

use tower_lsp::jsonrpc::Result;
use tower_lsp::ls_types as lsp;

use crate::lsp::backend::Backend;
use crate::lsp::document::range_from_lsp;
use crate::lsp::host::{Context, Need};
use crate::lsp::to_lsp;

pub async fn run(backend: &Backend, params: lsp::InlayHintParams) -> Result<Option<Vec<lsp::InlayHint>>> {
    let range = params.range;
    let list = move |context: &Context| {
        let (view, caps) = (&context.view, &context.caps);
        let Some(analyzed) = view.analyzed.as_ref().filter(|_| context.settings.inlay_hints.enable) else {
            return Ok(None);
        };
        let span = view.text.span_of(range_from_lsp(range), caps.encoding);
        let hints =
            ide::inlay_hints(&context.ask(analyzed), &analyzed.findings, span).into_iter().map(|hint| {
                lsp::InlayHint {
                    position: to_lsp::position(view.text.position_of(hint.offset, caps.encoding)),
                    label: hint.label.into(),
                    kind: None,
                    text_edits: None,
                    tooltip: Some(hint.tooltip.into()),
                    padding_left: Some(true),
                    padding_right: None,
                    data: None,
                }
            });
        Ok(Some(hints.collect()))
    };
    backend.ask(params.text_document.uri, Need::Newest, list).await
}
