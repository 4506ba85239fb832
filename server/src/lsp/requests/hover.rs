//! `textDocument/hover`: what is known at a place, of a loop or of a word in a rule page.
//!
//! A hover never waits for an analysis. Where the whole answer is not there in time, what is known is said, with what is
//! still being found out; that goes on behind it, so that the next hover knows.

use serde_json::json;
use tower_lsp::jsonrpc::Result;
use tower_lsp::ls_types as lsp;

use crate::limits::lsp_requests_hover::PATIENCE;
use crate::lsp::backend::Backend;
use crate::lsp::caps::Caps;
use crate::lsp::document::{position_from_lsp, View};
use crate::lsp::host::{Context, Glimpse, Need};
use crate::lsp::measured::{self, Measured};
use crate::lsp::{edits, markdown, panel, to_lsp};
use crate::rule_pages::is_page;

pub async fn run(backend: &Backend, params: lsp::HoverParams) -> Result<Option<lsp::Hover>> {
    let lsp::TextDocumentPositionParams { text_document, position } = params.text_document_position_params;
    let uri = text_document.uri;
    if let Some(before) = hovering(backend).take() {
        // nobody looks there any more
        before.abort();
    }
    let measured = backend.measured.clone();
    let whole = move |context: &Context| Ok(whole(context, position, &measured));
    let mut answer = Box::pin(backend.ask(uri.clone(), Need::ThisText, whole));
    match tokio::time::timeout(PATIENCE, &mut answer).await {
        Ok(answer) => answer,
        Err(_) => {
            let going_on = backend.runtime.spawn(async move { drop(answer.await) });
            *hovering(backend) = Some(going_on.abort_handle());
            backend.glance(uri, move |glimpse| known(&glimpse, position)).await
        }
    }
}

fn hovering(backend: &Backend) -> std::sync::MutexGuard<'_, Option<tokio::task::AbortHandle>> {
    backend.hovering.lock().unwrap_or_else(|e| e.into_inner())
}

/// All that can be found out.
fn whole(context: &Context, position: lsp::Position, measured: &Measured) -> Option<lsp::Hover> {
    let view = &context.view;
    let offset = view.text.offset_of(position_from_lsp(position), context.caps.encoding);
    let hover = match &view.analyzed {
        Some(analyzed) => ide::hover(&context.ask(analyzed), &analyzed.findings, offset),
        None if edits::local_path(&view.uri).is_some_and(|p| is_page(&p)) => {
            ide::page_hover(&context.pages.set, &view.text.to_string(), offset)
        }
        None => None,
    }?;
    let mut text = with_more(hover.markdown, hover.more.as_ref(), view, &context.caps);
    if let Some(analyzed) = &view.analyzed {
        let all = measured::of_loops(context, analyzed, measured);
        let here =
            all.into_iter().filter(|(l, _)| l.span.contains(hover.span) && hover.span.contains(l.header));
        if let Some((_, run)) = here.min_by_key(|(l, _)| l.span.len()) {
            let words = measured::words(&run);
            text.push_str(&format!("\n\nMeasured: {words}."));
        }
    }
    Some(shown(text, Some(to_lsp::range(hover.span, &view.text, &context.caps)), &context.caps))
}

/// What is known, with what is not known yet.
fn known(glimpse: &Glimpse, position: lsp::Position) -> Option<lsp::Hover> {
    let text = glimpse.text.as_ref()?;
    let nothing = || Some(shown(ide::STILL_ANALYZED.to_owned(), None, &glimpse.caps));
    let Some(view) = &glimpse.view else { return nothing() };
    let analyzed = view.analyzed.as_ref()?;
    let offset = text.offset_of(position_from_lsp(position), glimpse.caps.encoding);
    let same = Same::of(view, text);
    let Some(before) = same.before(offset) else { return nothing() };
    let ask = analyzed.ask(&base::CancelToken::new()).at(ide::Tier::Known);
    let mut hover = ide::hover(&ask, &analyzed.findings, before)?;
    let Some(span) = same.now(hover.span) else { return nothing() };
    hover.markdown = with_more(hover.markdown, hover.more.as_ref(), view, &glimpse.caps);
    if !same.is_all() {
        hover.markdown.push_str("\n\nThe text has changed since; it is still being analyzed.");
    }
    Some(shown(hover.markdown, Some(to_lsp::range(span, text, &glimpse.caps)), &glimpse.caps))
}

/// With the way to what the hover leaves out.
fn with_more(markdown: String, more: Option<&ide::ActionId>, view: &View, caps: &Caps) -> String {
    let Some(id) = more else { return markdown };
    let way = match caps.panels {
        true => {
            let target = json!([{"uri": view.uri.as_str(), "version": view.version, "id": id.to_string()}]);
            format!("[More]({})", panel::command("warpwright.explain", &target))
        }
        false => "More: \"Why is this loop …?\" among the actions here.".to_owned(),
    };
    format!("{markdown}\n\n{way}")
}

/// What two versions of a text have in common: their beginnings and their ends.
struct Same {
    front: u32,
    back: u32,
    /// Bytes of the version before and of the one now.
    lengths: (u32, u32),
}

impl Same {
    fn of(view: &View, now: &text::Text) -> Same {
        let (a, b) = (view.text.to_string(), now.to_string());
        let front = a.bytes().zip(b.bytes()).take_while(|(x, y)| x == y).count();
        let most = a.len().min(b.len()) - front;
        let back = a.bytes().rev().zip(b.bytes().rev()).take(most).take_while(|(x, y)| x == y).count();
        Same { front: front as u32, back: back as u32, lengths: (a.len() as u32, b.len() as u32) }
    }

    fn is_all(&self) -> bool {
        self.front == self.lengths.0 && self.front == self.lengths.1
    }

    /// Where a place was.
    fn before(&self, offset: u32) -> Option<u32> {
        let from_end = self.lengths.1.saturating_sub(offset);
        match offset {
            at if at < self.front || self.is_all() => Some(at),
            _ if from_end < self.back => self.lengths.0.checked_sub(from_end),
            _ => None,
        }
    }

    /// Where something is now that did not change.
    fn now(&self, span: base::Span) -> Option<base::Span> {
        let from_end = |at: u32| self.lengths.1.checked_sub(self.lengths.0 - at.min(self.lengths.0));
        match span {
            s if s.end < self.front || self.is_all() => Some(s),
            s if self.lengths.0.saturating_sub(s.start) < self.back => {
                Some(base::Span { start: from_end(s.start)?, end: from_end(s.end)? })
            }
            _ => None,
        }
    }
}

fn shown(text: String, range: Option<lsp::Range>, caps: &Caps) -> lsp::Hover {
    let contents = match caps.hover_markdown {
        true => lsp::MarkupContent { kind: lsp::MarkupKind::Markdown, value: text },
        false => lsp::MarkupContent { kind: lsp::MarkupKind::PlainText, value: markdown::plain(&text) },
    };
    lsp::Hover { contents: lsp::HoverContents::Markup(contents), range }
}
