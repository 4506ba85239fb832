//! `callHierarchy/incomingCalls`: of a kernel the functions that launch it, of a function those that call it.

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
    params: lsp::CallHierarchyIncomingCallsParams,
) -> Result<Option<Vec<lsp::CallHierarchyIncomingCall>>> {
    let survey = Arc::new(backend.survey().await?);
    let cancel = CancelToken::new();
    // a request that is cancelled drops this guard and so ends the work
    let _guard = Guard(cancel.clone());
    let of = params.item;
    backend.on_pool(move || Some(callers(&survey, &of, &cancel))).await
}

fn callers(
    survey: &Survey,
    of: &lsp::CallHierarchyItem,
    cancel: &CancelToken,
) -> Vec<lsp::CallHierarchyIncomingCall> {
    let own = files_saying(survey, &of.uri, &of.name, true, cancel);
    let is_static = definition(&own, &of.name).is_some_and(|(_, s)| s.is_static);
    let files = if is_static { own } else { files_saying(survey, &of.uri, &of.name, false, cancel) };
    let mut out = Vec::new();
    for (k, file) in files.iter().enumerate() {
        let functions = ide::functions(&file.doc);
        // another file's own function of this name is another function
        if k > 0 && functions.iter().any(|f| f.name == of.name) {
            continue;
        }
        let calls: Vec<ide::CallSite> =
            ide::calls(&file.doc).into_iter().filter(|c| c.callee == of.name).collect();
        for (n, function) in functions.iter().enumerate() {
            let ranges: Vec<lsp::Range> = calls
                .iter()
                .filter(|c| c.caller == n)
                .map(|c| to_lsp::range(c.span, file.doc.text(), &survey.caps))
                .collect();
            if !ranges.is_empty() {
                out.push(lsp::CallHierarchyIncomingCall {
                    from: item(survey, file, function),
                    from_ranges: ranges,
                });
            }
        }
    }
    out
}
