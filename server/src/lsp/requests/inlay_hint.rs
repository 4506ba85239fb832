//! `textDocument/inlayHint`: verdicts behind the first lines of nests.

use std::sync::atomic::Ordering;

use tower_lsp::jsonrpc::Result;
use tower_lsp::ls_types as lsp;

use crate::lsp::backend::Backend;
use crate::lsp::document::range_from_lsp;
use crate::lsp::host::{Context, Need};
use crate::lsp::measured;
use crate::lsp::to_lsp;

pub async fn run(backend: &Backend, params: lsp::InlayHintParams) -> Result<Option<Vec<lsp::InlayHint>>> {
    let range = params.range;
    let asks_lenses = backend.asks_lenses.load(Ordering::Relaxed);
    let uri = params.text_document.uri;
    let known = backend.at_lines.lock().unwrap_or_else(|e| e.into_inner()).get(uri.as_str()).cloned();
    let measured = backend.measured.clone();
    let list = move |context: &Context| {
        let (view, caps) = (&context.view, &context.caps);
        let Some(analyzed) = view.analyzed.as_ref() else { return Ok(None) };
        let results = known.filter(|k| context.settings.results.at_lines && k.version == view.version);
        let results = results.iter().flat_map(|k| &k.lines).filter_map(|(line, words)| {
            let place = view.text.line_span(*line)?;
            (range.start.line <= *line && *line <= range.end.line).then(|| (place.end, words.clone()))
        });
        let mut results: Vec<(u32, String)> = results.collect();
        // where the editor shows lenses they say it
        if context.settings.results.at_lines && !(asks_lenses && context.settings.code_lens.enable) {
            for (l, run) in measured::of_loops(context, analyzed, &measured) {
                let line = view.text.line_of(l.header.end);
                let place =
                    view.text.line_span(line).filter(|_| range.start.line <= line && line <= range.end.line);
                results.extend(place.map(|p| (p.end, measured::words(&run))));
            }
        }
        if !context.settings.inlay_hints.enable && results.is_empty() {
            return Ok(None);
        }
        let span = view.text.span_of(range_from_lsp(range), caps.encoding);
        let lenses = asks_lenses && context.settings.code_lens.enable;
        let hints = match context.settings.inlay_hints.enable {
            true => ide::inlay_hints(&context.ask(analyzed), &analyzed.findings, span, lenses),
            false => Vec::new(),
        };
        let verdicts = hints.into_iter().map(|h| (h.offset, h.label, Some(h.tooltip)));
        let shown_before = results.into_iter().map(|(offset, words)| (offset, words, None));
        let shown = verdicts.chain(shown_before).map(|(offset, label, tooltip)| lsp::InlayHint {
            position: to_lsp::position(view.text.position_of(offset, caps.encoding)),
            label: label.into(),
            kind: None,
            text_edits: None,
            tooltip: tooltip.map(Into::into),
            padding_left: Some(true),
            padding_right: None,
            data: None,
        });
        Ok(Some(shown.collect()))
    };
    backend.ask(uri, Need::Newest, list).await
}
