//! `warpwright/documentText`: a document as the server has it, for reports of editors and servers that disagree.

use tower_lsp::jsonrpc::Result;
use tower_lsp::ls_types as lsp;
use wire::DocumentText;

use crate::lsp::backend::Backend;
use crate::lsp::host::{Context, Need};

pub async fn run(backend: &Backend, params: lsp::DocumentSymbolParams) -> Result<DocumentText> {
    let tell = |context: &Context| {
        let view = &context.view;
        Ok(DocumentText { version: view.version, text: view.text.to_string() })
    };
    backend.ask(params.text_document.uri, Need::Newest, tell).await
}
