//! `callHierarchy/outgoingCalls`: what a function calls and launches, as far as the workspace defines it.

use std::sync::Arc;

use base::CancelToken;
use tower_lsp::jsonrpc::Result;
use tower_lsp::ls_types as lsp;

use crate::lsp::backend::Backend;
use crate::lsp::calls::{definition, files_saying, item};
use crate::lsp::commands::Guard;
use crate::lsp::survey::Survey;
use crate::lsp::to_lsp;

pub async fn run(
    backend: &Backend,
    params: lsp::CallHierarchyOutgoingCallsParams,
) -> Result<Option<Vec<lsp::CallHierarchyOutgoingCall>>> {
    let survey = Arc::new(backend.survey().await?);
    let cancel = CancelToken::new();
    // a request that is cancelled drops this guard and so ends the work
    let _guard = Guard(cancel.clone());
    let of = params.item;
    backend.on_pool(move || callees(&survey, &of, &cancel)).await
}

fn callees(
    survey: &Survey,
    of: &lsp::CallHierarchyItem,
    cancel: &CancelToken,
) -> Option<Vec<lsp::CallHierarchyOutgoingCall>> {
    let opened = survey.open(&of.uri, cancel)?;
    let range = |span| to_lsp::range(span, opened.doc.text(), &survey.caps);
    let functions = ide::functions(&opened.doc);
    // of several with this name the one that is meant
    let is_it = |f: &&ide::Symbol| f.name == of.name && range(f.selection) == of.selection_range;
    let number = functions
        .iter()
        .position(|f| is_it(&f))
        .or_else(|| functions.iter().position(|f| f.name == of.name))?;
    let mut calls: Vec<(String, Vec<lsp::Range>)> = Vec::new();
    for call in ide::calls(&opened.doc).into_iter().filter(|c| c.caller == number) {
        match calls.iter_mut().find(|(name, _)| *name == call.callee) {
            Some((_, ranges)) => ranges.push(range(call.span)),
            None => calls.push((call.callee, vec![range(call.span)])),
        }
    }
    let mut out = Vec::new();
    for (name, from_ranges) in calls {
        let files = files_saying(survey, &of.uri, &name, functions.iter().any(|f| f.name == name), cancel);
        if let Some((file, symbol)) = definition(&files, &name) {
            out.push(lsp::CallHierarchyOutgoingCall { to: item(survey, file, &symbol), from_ranges });
        }
    }
    Some(out)
}
