//! Who calls or launches whom, across the files of the workspace: kernels, the host functions that launch them, and what these are
//! called by. Files that do not say the name are not read.

use std::path::PathBuf;

use base::CancelToken;
use tower_lsp::ls_types as lsp;

use super::edits::local_path;
use super::survey::{Opened, Survey};
use super::to_lsp;
use crate::project::sources;

/// What an outline shows a symbol as.
pub fn kind(kind: ide::SymbolKind) -> lsp::SymbolKind {
    match kind {
        ide::SymbolKind::Function | ide::SymbolKind::Device => lsp::SymbolKind::FUNCTION,
        ide::SymbolKind::Kernel => lsp::SymbolKind::EVENT,
        ide::SymbolKind::Loop => lsp::SymbolKind::OPERATOR,
    }
}

/// A function as an item of a hierarchy.
pub fn item(survey: &Survey, opened: &Opened, s: &ide::Symbol) -> lsp::CallHierarchyItem {
    let range = |span| to_lsp::range(span, opened.doc.text(), &survey.caps);
    let file = super::document::file_name(&opened.uri);
    let detail = if s.detail.is_empty() { file } else { format!("{}, {file}", s.detail) };
    lsp::CallHierarchyItem {
        name: s.name.clone(),
        kind: kind(s.kind),
        tags: None,
        detail: Some(detail),
        uri: opened.uri.clone(),
        range: range(s.span),
        selection_range: range(s.selection),
        data: None,
    }
}

/// The file of a document, and the others of the workspace that say a name: the first first. A name that other files cannot mean
/// (`own`) is looked for in its own.
pub fn files_saying(
    survey: &Survey,
    document: &lsp::Uri,
    name: &str,
    own: bool,
    cancel: &CancelToken,
) -> Vec<Opened> {
    let first = local_path(document);
    let others: Vec<PathBuf> = match own {
        true => Vec::new(),
        false => survey.roots.iter().filter_map(|r| sources(r)).flat_map(|b| b.files).collect(),
    };
    let mut out = Vec::new();
    let mut seen: Vec<&PathBuf> = Vec::new();
    for path in first.iter().chain(&others) {
        if cancel.is_cancelled() {
            break;
        }
        if seen.contains(&path) || !survey.says(path, name) {
            continue;
        }
        seen.push(path);
        let uri = lsp::Uri::from_file_path(path);
        out.extend(uri.and_then(|uri| survey.open(&uri, cancel)));
    }
    out
}

/// The definition of a name: in the first of these files that has one.
pub fn definition<'a>(files: &'a [Opened], name: &str) -> Option<(&'a Opened, ide::Symbol)> {
    let of = |f: &'a Opened| {
        let found = ide::functions(&f.doc).into_iter().find(|s| s.name == name)?;
        Some((f, found))
    };
    let (first, others) = files.split_first()?;
    of(first).or_else(|| others.iter().filter_map(of).find(|(_, s)| !s.is_static))
}
