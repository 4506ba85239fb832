//! `warpwright/loops`: the loops and kernels of the workspace, file by file. Each file is work of its own, behind all that somebody
//! waits for, so that a large folder keeps nobody waiting; who no longer wants the answer ends it.

use std::path::PathBuf;
use std::sync::Arc;

use base::CancelToken;
use serde_json::{json, Value};
use tower_lsp::jsonrpc::Result;
use tower_lsp::ls_types as lsp;
use wire::{ListedFile, ListedLoop, ListedLoops, LoopsAsked};

use crate::limits::project::FILES;
use crate::lsp::backend::Backend;
use crate::lsp::commands::Guard;
use crate::lsp::edits::local_path;
use crate::lsp::survey::{Looked, Survey};
use crate::lsp::to_lsp;
use crate::project::{is_source_below, sources};

pub async fn run(backend: &Backend, asked: LoopsAsked) -> Result<ListedLoops> {
    let survey = Arc::new(backend.survey().await?);
    let cancel = CancelToken::new();
    // a request that is cancelled drops this guard and so ends the work
    let _guard = Guard(cancel.clone());
    let (uris, note) = match asked.uris {
        Some(uris) => (uris.iter().filter_map(|u| u.parse().ok()).collect(), None),
        None => {
            let roots = survey.roots.clone();
            backend.on_pool(move || files_of(&roots)).await?
        }
    };
    let mut files = Vec::new();
    for uri in uris {
        let (survey, cancel) = (survey.clone(), cancel.clone());
        let file = backend.on_pool(move || file(&survey, &uri, &cancel)).await?;
        match &asked.partial_result_token {
            Some(token) => tell(backend, token, file),
            None => files.push(file),
        }
    }
    Ok(ListedLoops { files, note })
}

fn tell(backend: &Backend, token: &Value, file: ListedFile) {
    let params = json!({"token": token, "value": [file]});
    backend.outgoing.send(&json!({"jsonrpc": "2.0", "method": "$/progress", "params": params}));
}

/// The files of these folders, and what was not looked at.
fn files_of(roots: &[PathBuf]) -> (Vec<lsp::Uri>, Option<String>) {
    let (mut paths, mut notes) = (Vec::new(), Vec::new());
    for root in roots {
        match sources(root) {
            Some(below) => {
                if below.is_cut {
                    notes.push(format!(
                        "{} holds more than is looked through: the first {FILES} files are listed.",
                        root.display()
                    ));
                }
                paths.extend(below.files);
            }
            None => notes.push(format!(
                "{} is no folder of one program: open the folder of one to see its loops.",
                root.display()
            )),
        }
    }
    paths.sort();
    paths.dedup();
    let uris = paths.into_iter().filter_map(lsp::Uri::from_file_path).collect();
    (uris, (!notes.is_empty()).then(|| notes.join(" ")))
}

fn file(survey: &Survey, uri: &lsp::Uri, cancel: &CancelToken) -> ListedFile {
    let is_ours = local_path(uri).is_some_and(|p| survey.roots.iter().any(|r| is_source_below(r, &p)));
    let Some(looked) = is_ours.then(|| survey.look(uri, cancel)).flatten() else {
        return ListedFile { uri: uri.to_string(), language: None, text: String::new(), loops: Vec::new() };
    };
    let Looked { analyzed, .. } = &looked;
    let entry = |e: ide::Entry| {
        let range = to_lsp::range(e.span, analyzed.doc.text(), &survey.caps);
        let position = |p: lsp::Position| wire::Position { line: p.line, character: p.character };
        ListedLoop {
            key: e.key,
            kind: if e.is_kernel { "kernel" } else { "loop" }.to_owned(),
            range: wire::Range { start: position(range.start), end: position(range.end) },
            function: e.function,
            header: e.header,
            verdict: e.verdict.to_owned(),
            words: e.words,
            worth: e.worth.name().to_owned(),
            reason: e.reason,
            offload: e.offload,
            mark: e.mark,
            marked: e.marked,
        }
    };
    let entries = ide::entries(&analyzed.ask(cancel), &analyzed.findings);
    ListedFile {
        uri: uri.to_string(),
        language: Some(analyzed.doc.language().title.to_owned()),
        text: looked.text(),
        loops: entries.into_iter().map(entry).collect(),
    }
}
