//! `textDocument/documentSymbol`: functions and kernels, with the loops in them and their verdicts.

use tower_lsp::jsonrpc::Result;
use tower_lsp::ls_types as lsp;

use crate::lsp::backend::Backend;
use crate::lsp::calls::kind;
use crate::lsp::host::{Context, Need};
use crate::lsp::to_lsp;

pub async fn run(
    backend: &Backend,
    params: lsp::DocumentSymbolParams,
) -> Result<Option<lsp::DocumentSymbolResponse>> {
    if !backend.caps().outlines {
        return Ok(None);
    }
    let list = |context: &Context| {
        let Some(analyzed) = &context.view.analyzed else { return Ok(None) };
        let symbols = ide::outline(&context.ask(analyzed), &analyzed.findings);
        let all = symbols.into_iter().map(|s| symbol(context, s)).collect();
        Ok(Some(lsp::DocumentSymbolResponse::Nested(all)))
    };
    backend.ask(params.text_document.uri, Need::Newest, list).await
}

#[allow(deprecated)] // a field that must be there
fn symbol(context: &Context, s: ide::Symbol) -> lsp::DocumentSymbol {
    let children: Vec<lsp::DocumentSymbol> = s.children.into_iter().map(|c| symbol(context, c)).collect();
    lsp::DocumentSymbol {
        name: s.name,
        detail: (!s.detail.is_empty()).then_some(s.detail),
        kind: kind(s.kind),
        tags: None,
        deprecated: None,
        range: to_lsp::range(s.span, &context.view.text, &context.caps),
        selection_range: to_lsp::range(s.selection, &context.view.text, &context.caps),
        children: (!children.is_empty()).then_some(children),
    }
}
