//! `textDocument/prepareCallHierarchy`: the function or kernel that is named at a place.

use std::sync::Arc;

use base::CancelToken;
use tower_lsp::jsonrpc::Result;
use tower_lsp::ls_types as lsp;

use crate::lsp::backend::Backend;
use crate::lsp::calls::{definition, files_saying, item};
use crate::lsp::commands::Guard;
use crate::lsp::document::position_from_lsp;
use crate::lsp::survey::Survey;

pub async fn run(
    backend: &Backend,
    params: lsp::CallHierarchyPrepareParams,
) -> Result<Option<Vec<lsp::CallHierarchyItem>>> {
    let survey = Arc::new(backend.survey().await?);
    let lsp::TextDocumentPositionParams { text_document, position } = params.text_document_position_params;
    let cancel = CancelToken::new();
    // a request that is cancelled drops this guard and so ends the work
    let _guard = Guard(cancel.clone());
    let found = backend.on_pool(move || at(&survey, &text_document.uri, position, &cancel)).await?;
    Ok(found.map(|item| vec![item]))
}

fn at(
    survey: &Survey,
    uri: &lsp::Uri,
    position: lsp::Position,
    cancel: &CancelToken,
) -> Option<lsp::CallHierarchyItem> {
    let opened = survey.open(uri, cancel)?;
    let offset = opened.doc.text().offset_of(position_from_lsp(position), survey.caps.encoding);
    let here = ide::functions(&opened.doc).into_iter().find(|s| s.selection.touches(offset));
    if let Some(symbol) = here {
        return Some(item(survey, &opened, &symbol));
    }
    let call = ide::calls(&opened.doc).into_iter().find(|c| c.span.touches(offset))?;
    let files = files_saying(survey, uri, &call.callee, false, cancel);
    let (file, symbol) = definition(&files, &call.callee)?;
    Some(item(survey, file, &symbol))
}
