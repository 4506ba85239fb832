//! `textDocument/completion`: in rule pages; in programs nothing is offered, which others do.

use tower_lsp::jsonrpc::Result;
use tower_lsp::ls_types as lsp;

use crate::lsp::backend::Backend;
use crate::lsp::document::position_from_lsp;
use crate::lsp::host::{Context, Need};
use crate::lsp::{edits, pages};
use crate::rule_pages::is_page;

pub async fn run(
    backend: &Backend,
    params: lsp::CompletionParams,
) -> Result<Option<lsp::CompletionResponse>> {
    let lsp::TextDocumentPositionParams { text_document, position } = params.text_document_position;
    if !edits::local_path(&text_document.uri).is_some_and(|p| is_page(&p)) {
        return Ok(None);
    }
    let find = move |context: &Context| {
        let text = &context.view.text;
        let offset = text.offset_of(position_from_lsp(position), context.caps.encoding);
        let items = pages::completions(&context.pages.set, text, offset, &context.caps);
        Ok(Some(lsp::CompletionResponse::Array(items)))
    };
    backend.ask(text_document.uri, Need::ThisText, find).await
}
