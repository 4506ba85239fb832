//! `textDocument/hover`: what is known at a place, of a loop or of a word in a rule page.

use tower_lsp::jsonrpc::Result;
use tower_lsp::ls_types as lsp;

use crate::lsp::backend::Backend;
use crate::lsp::document::position_from_lsp;
use crate::lsp::host::{Context, Need};
use crate::lsp::{edits, markdown, to_lsp};
use crate::rule_pages::is_page;

pub async fn run(backend: &Backend, params: lsp::HoverParams) -> Result<Option<lsp::Hover>> {
    let lsp::TextDocumentPositionParams { text_document, position } = params.text_document_position_params;
    let find = move |context: &Context| {
        let view = &context.view;
        let offset = view.text.offset_of(position_from_lsp(position), context.caps.encoding);
        let hover = match &view.analyzed {
            Some(analyzed) => ide::hover(&analyzed.ask(&context.cancel), &analyzed.findings, offset),
            None if edits::local_path(&view.uri).is_some_and(|p| is_page(&p)) => {
                ide::page_hover(&context.pages.set, &view.text.to_string(), offset)
            }
            None => None,
        };
        let Some(hover) = hover else { return Ok(None) };
        let contents = match context.caps.hover_markdown {
            true => lsp::MarkupContent { kind: lsp::MarkupKind::Markdown, value: hover.markdown },
            false => lsp::MarkupContent {
                kind: lsp::MarkupKind::PlainText,
                value: markdown::plain(&hover.markdown),
            },
        };
        let range = to_lsp::range(hover.span, &view.text, &context.caps);
        Ok(Some(lsp::Hover { contents: lsp::HoverContents::Markup(contents), range: Some(range) }))
    };
    backend.ask(text_document.uri, Need::ThisText, find).await
}
