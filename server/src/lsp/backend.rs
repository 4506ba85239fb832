//! The handlers: each sends one message to the owner of the state before anything else, then waits for its answer.
//!
//! No handler holds state or a lock across an `await`, and none computes: that is done on the pool.

use std::collections::HashMap;
use std::future::Future;
use std::sync::{Arc, Mutex, OnceLock};

use base::CancelToken;
use serde_json::{json, Value};
use text::ContentHash;
use tokio::sync::oneshot;
use tower_lsp::jsonrpc::{Error, ErrorCode, Result};
use tower_lsp::ls_types as lsp;
use tower_lsp::{Client, LanguageServer};

use super::actions::{self, ActionData, Made};
use super::caps::{self, Caps};
use super::commands;
use super::document::{position_from_lsp, range_from_lsp};
use super::host::{Ask, Context, HostHandle, Message, Need, Refusal};
use super::outgoing::Outgoing;
use super::pool::Pool;
use super::{client_life, edits, pages, to_lsp};

pub struct Backend {
    pub client: Client,
    pub host: HostHandle,
    pub caps: Arc<OnceLock<Arc<Caps>>>,
    pub outgoing: Outgoing,
    pub pool: Pool,
    runtime: tokio::runtime::Handle,
    /// Work whose progress the user can cancel, by progress token.
    pub cancellable: Arc<Mutex<HashMap<String, CancelToken>>>,
}

/// Cancels the work of a request whose answer nobody waits for any more.
struct CancelOnDrop(CancelToken);
impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

impl Backend {
    pub fn new(
        client: Client,
        host: HostHandle,
        caps: Arc<OnceLock<Arc<Caps>>>,
        outgoing: Outgoing,
        pool: Pool,
        runtime: tokio::runtime::Handle,
    ) -> Backend {
        Backend { client, host, caps, outgoing, pool, runtime, cancellable: Arc::default() }
    }

    /// Asks for `work` on a document; the message is sent when this is called, not when the future is awaited.
    pub fn ask<T: Send + 'static>(
        &self,
        uri: lsp::Uri,
        need: Need,
        work: impl FnOnce(&Context) -> Result<T> + Send + 'static,
    ) -> impl Future<Output = Result<T>> + Send + 'static {
        let (reply, answer) = oneshot::channel();
        let cancel = CancelToken::new();
        let guard = CancelOnDrop(cancel.clone());
        let run = Box::new(move |context: std::result::Result<Context, Refusal>| {
            let done = context.map_err(refused).and_then(|context| work(&context));
            // a request that was cancelled has nobody to tell
            let _ = reply.send(done);
        });
        self.host.send(Message::Ask(Ask { uri, need, cancel, run }));
        async move {
            let answer = answer.await;
            drop(guard);
            answer.unwrap_or_else(|_| Err(failed_inside()))
        }
    }

    fn caps(&self) -> Arc<Caps> {
        self.caps.get().cloned().unwrap_or_default()
    }

    /// Asks the client for our settings, without anybody waiting for them.
    fn pull_settings(&self) {
        if !self.caps().configuration {
            return self.host.send(Message::Settled);
        }
        let (client, host) = (self.client.clone(), self.host.clone());
        self.runtime.spawn(async move {
            let item = lsp::ConfigurationItem { scope_uri: None, section: Some("warpwright".to_owned()) };
            match client.configuration(vec![item]).await {
                Ok(answers) => {
                    if let Some(settings) = answers.into_iter().next().filter(|s| !s.is_null()) {
                        host.send(Message::Settings(settings));
                    }
                }
                Err(e) => tracing::info!("the client gave no settings: {e}"),
            }
            host.send(Message::Settled);
        });
    }

    fn register(&self) {
        let caps = self.caps();
        let mut registrations = Vec::new();
        if caps.registers_configuration {
            registrations.push(lsp::Registration {
                id: "settings".to_owned(),
                method: "workspace/didChangeConfiguration".to_owned(),
                register_options: Some(json!({"section": "warpwright"})),
            });
        }
        if caps.watches_files {
            let mut watchers: Vec<Value> = [
                "**/*.{h,hpp,cuh,inc,def}",
                "**/compile_{commands.json,flags.txt}",
                "**/.warpwright/rules/*.md",
            ]
            .iter()
            .map(|pattern| json!({"globPattern": pattern}))
            .collect();
            let own = pages::user_folder().and_then(lsp::Uri::from_file_path);
            if let (Some(folder), true) = (own, caps.watches_elsewhere) {
                watchers.push(json!({"globPattern": {"baseUri": folder, "pattern": "*.md"}}));
            }
            registrations.push(lsp::Registration {
                id: "files".to_owned(),
                method: "workspace/didChangeWatchedFiles".to_owned(),
                register_options: Some(json!({"watchers": watchers})),
            });
        }
        if caps.registers_completion {
            let mut places = vec![json!({"scheme": "file", "pattern": "**/.warpwright/rules/*.md"})];
            if let Some(folder) = pages::user_folder() {
                places.push(json!({"scheme": "file", "pattern": format!("{}/*.md", folder.display())}));
            }
            registrations.push(lsp::Registration {
                id: "completion".to_owned(),
                method: "textDocument/completion".to_owned(),
                register_options: Some(json!({
                    "documentSelector": places, "triggerCharacters": caps::COMPLETION_TRIGGERS,
                })),
            });
        }
        if registrations.is_empty() {
            return;
        }
        let client = self.client.clone();
        self.runtime.spawn(async move {
            if let Err(e) = client.register_capability(registrations).await {
                tracing::info!("the client registered nothing: {e}");
            }
        });
    }

    /// `warpwright/documentText`: a document as the server has it, for reports of editors and servers that disagree.
    pub async fn document_text(&self, params: lsp::DocumentSymbolParams) -> Result<Value> {
        let tell = |context: &Context| {
            Ok(json!({"version": context.view.version, "text": context.view.text.to_string()}))
        };
        self.ask(params.text_document.uri, Need::Newest, tell).await
    }

    /// `window/workDoneProgress/cancel`, which tower-lsp does not route.
    pub async fn cancel_progress(&self, params: lsp::WorkDoneProgressCancelParams) {
        let token = commands::token_text(&params.token);
        let cancellable = self.cancellable.lock().unwrap_or_else(|e| e.into_inner());
        if let Some(cancel) = cancellable.get(&token) {
            cancel.cancel();
        }
    }
}

fn refused(refusal: Refusal) -> Error {
    match refusal {
        Refusal::Changed => Error {
            code: ErrorCode::ContentModified,
            message: "The document changed before the answer was there. Ask again.".into(),
            data: None,
        },
        Refusal::UnknownDocument(uri) => Error::invalid_params(format!("{uri} is not open.")),
    }
}

pub fn failed_inside() -> Error {
    let message =
        "The work on this request failed inside the server; its log says where. The session goes on.";
    Error { code: ErrorCode::InternalError, message: message.into(), data: None }
}

impl LanguageServer for Backend {
    async fn initialize(&self, params: lsp::InitializeParams) -> Result<lsp::InitializeResult> {
        let caps = Arc::new(Caps::read(&params));
        // tower-lsp lets one `initialize` through
        let _ = self.caps.set(caps.clone());
        let trusted = params.initialization_options.as_ref().and_then(|o| o.get("trusted")?.as_bool());
        self.host.send(Message::Folders { added: caps.roots.clone(), removed: Vec::new(), trusted });
        if let Some(settings) = params.initialization_options.filter(|s| !s.is_null()) {
            let all = settings.get("compiler").is_some();
            self.host.send(Message::Settings(settings));
            if all {
                self.host.send(Message::Settled);
            }
        }
        if let Some(process_id) = params.process_id {
            client_life::watch(process_id);
        }
        Ok(lsp::InitializeResult {
            capabilities: caps::server_capabilities(&caps),
            server_info: Some(lsp::ServerInfo {
                name: "warpwright".to_owned(),
                version: Some(env!("CARGO_PKG_VERSION").to_owned()),
            }),
            ..Default::default()
        })
    }

    async fn initialized(&self, _: lsp::InitializedParams) {
        self.register();
        self.pull_settings();
    }

    async fn shutdown(&self) -> Result<()> {
        Ok(())
    }

    async fn did_open(&self, params: lsp::DidOpenTextDocumentParams) {
        let lsp::TextDocumentItem { uri, language_id, version, text } = params.text_document;
        self.host.send(Message::Open { uri, language_id: language_id.to_string(), version, text });
    }

    async fn did_change(&self, params: lsp::DidChangeTextDocumentParams) {
        let lsp::VersionedTextDocumentIdentifier { uri, version } = params.text_document;
        self.host.send(Message::Change { uri, version, changes: params.content_changes });
    }

    async fn did_save(&self, params: lsp::DidSaveTextDocumentParams) {
        self.host.send(Message::Save { uri: params.text_document.uri });
    }

    async fn did_close(&self, params: lsp::DidCloseTextDocumentParams) {
        self.host.send(Message::Close { uri: params.text_document.uri });
    }

    async fn did_change_configuration(&self, params: lsp::DidChangeConfigurationParams) {
        let is_empty = |v: &Value| v.is_null() || v.as_object().is_some_and(serde_json::Map::is_empty);
        match is_empty(&params.settings) {
            false => {
                self.host.send(Message::Settings(params.settings));
                self.host.send(Message::Settled);
            }
            true => self.pull_settings(),
        }
    }

    async fn did_change_watched_files(&self, params: lsp::DidChangeWatchedFilesParams) {
        let is_page = |c: &lsp::FileEvent| edits::local_path(&c.uri).is_some_and(|p| pages::is_page(&p));
        let pages = params.changes.iter().any(is_page);
        self.host.send(Message::FilesChanged { sources: !params.changes.iter().all(is_page), pages });
    }

    async fn did_change_workspace_folders(&self, params: lsp::DidChangeWorkspaceFoldersParams) {
        let paths = |folders: Vec<lsp::WorkspaceFolder>| {
            folders.iter().filter_map(|f| edits::local_path(&f.uri)).collect()
        };
        let (added, removed) = (paths(params.event.added), paths(params.event.removed));
        self.host.send(Message::Folders { added, removed, trusted: None });
    }

    async fn completion(&self, params: lsp::CompletionParams) -> Result<Option<lsp::CompletionResponse>> {
        let lsp::TextDocumentPositionParams { text_document, position } = params.text_document_position;
        // nothing is offered in programs: others do that
        if !edits::local_path(&text_document.uri).is_some_and(|p| pages::is_page(&p)) {
            return Ok(None);
        }
        let find = move |context: &Context| {
            let text = &context.view.text;
            let offset = text.offset_of(position_from_lsp(position), context.caps.encoding);
            let items = pages::completions(&context.pages.set, text, offset, &context.caps);
            Ok(Some(lsp::CompletionResponse::Array(items)))
        };
        self.ask(text_document.uri, Need::ThisText, find).await
    }

    async fn hover(&self, params: lsp::HoverParams) -> Result<Option<lsp::Hover>> {
        let lsp::TextDocumentPositionParams { text_document, position } =
            params.text_document_position_params;
        let find = move |context: &Context| {
            let view = &context.view;
            let offset = view.text.offset_of(position_from_lsp(position), context.caps.encoding);
            let hover = match &view.analyzed {
                Some(analyzed) => ide::hover(&analyzed.doc, &analyzed.findings, offset),
                None if edits::local_path(&view.uri).is_some_and(|p| pages::is_page(&p)) => {
                    ide::page_hover(&context.pages.set, &view.text.to_string(), offset)
                }
                None => None,
            };
            let Some(hover) = hover else { return Ok(None) };
            let contents = match context.caps.hover_markdown {
                true => lsp::MarkupContent { kind: lsp::MarkupKind::Markdown, value: hover.markdown },
                false => lsp::MarkupContent {
                    kind: lsp::MarkupKind::PlainText,
                    value: commands::plain(&hover.markdown),
                },
            };
            let range = to_lsp::range(hover.span, &view.text, &context.caps);
            Ok(Some(lsp::Hover { contents: lsp::HoverContents::Markup(contents), range: Some(range) }))
        };
        self.ask(text_document.uri, Need::ThisText, find).await
    }

    async fn code_action(&self, params: lsp::CodeActionParams) -> Result<Option<lsp::CodeActionResponse>> {
        let (range, only) = (params.range, params.context.only);
        let list = move |context: &Context| Ok(Some(actions::list(context, range, only.as_deref())));
        self.ask(params.text_document.uri, Need::ThisText, list).await
    }

    async fn code_action_resolve(&self, mut action: lsp::CodeAction) -> Result<lsp::CodeAction> {
        // what was complete when it was listed is complete
        let Some(data) = action.data.take() else { return Ok(action) };
        let data: ActionData = serde_json::from_value(data)
            .map_err(|e| Error::invalid_params(format!("The action's data is not ours: {e}.")))?;
        let uri = data.uri.clone();
        let make = move |context: &Context| {
            if let Made::Edit(plan) = actions::make_for(context, &data)? {
                action.edit = Some(plan.to_lsp(&context.caps));
            }
            action.data = Some(json!(data));
            Ok(action)
        };
        self.ask(uri, Need::ThisText, make).await
    }

    async fn code_lens(&self, params: lsp::CodeLensParams) -> Result<Option<Vec<lsp::CodeLens>>> {
        let list = |context: &Context| {
            let view = &context.view;
            let Some(analyzed) = view.analyzed.as_ref().filter(|_| context.settings.code_lens.enable) else {
                return Ok(None);
            };
            let lenses = ide::lenses(&analyzed.doc, &analyzed.findings).into_iter().map(|lens| {
                let id = lens.action.as_str();
                let data = ActionData { uri: view.uri.clone(), version: view.version, id: id.to_owned() };
                lsp::CodeLens {
                    range: to_lsp::range(lens.span, &view.text, &context.caps),
                    command: Some(lsp::Command {
                        title: lens.title,
                        command: commands::command_of_id(id).to_owned(),
                        arguments: Some(vec![json!(data)]),
                    }),
                    data: None,
                }
            });
            Ok(Some(lenses.collect()))
        };
        self.ask(params.text_document.uri, Need::Newest, list).await
    }

    async fn inlay_hint(&self, params: lsp::InlayHintParams) -> Result<Option<Vec<lsp::InlayHint>>> {
        let range = params.range;
        let list = move |context: &Context| {
            let (view, caps) = (&context.view, &context.caps);
            let Some(analyzed) = view.analyzed.as_ref().filter(|_| context.settings.inlay_hints.enable)
            else {
                return Ok(None);
            };
            let span = view.text.span_of(range_from_lsp(range), caps.encoding);
            let hints = ide::inlay_hints(&analyzed.doc, &analyzed.findings, span).into_iter().map(|hint| {
                lsp::InlayHint {
                    position: to_lsp::position(view.text.position_of(hint.offset, caps.encoding)),
                    label: hint.label.into(),
                    kind: None,
                    text_edits: None,
                    tooltip: Some(hint.tooltip.into()),
                    padding_left: Some(true),
                    padding_right: None,
                    data: None,
                }
            });
            Ok(Some(hints.collect()))
        };
        self.ask(params.text_document.uri, Need::Newest, list).await
    }

    async fn diagnostic(
        &self,
        params: lsp::DocumentDiagnosticParams,
    ) -> Result<lsp::DocumentDiagnosticReportResult> {
        let before = params.previous_result_id;
        let report = move |context: &Context| {
            let items = context.view.diagnostics(&context.caps).as_ref().clone();
            // the same list has the same name, in whatever version of the text
            let result_id = format!("{:x}", ContentHash::of(&context.view.rendered).0);
            Ok(if before.as_ref() == Some(&result_id) {
                unchanged(result_id)
            } else {
                full(result_id, items)
            })
        };
        self.ask(params.text_document.uri, Need::Newest, report).await
    }

    async fn execute_command(&self, params: lsp::ExecuteCommandParams) -> Result<Option<lsp::LSPAny>> {
        commands::run(self, params).await
    }
}

fn full(result_id: String, items: Vec<lsp::Diagnostic>) -> lsp::DocumentDiagnosticReportResult {
    lsp::DocumentDiagnosticReportResult::Report(lsp::DocumentDiagnosticReport::Full(
        lsp::RelatedFullDocumentDiagnosticReport {
            related_documents: None,
            full_document_diagnostic_report: lsp::FullDocumentDiagnosticReport {
                result_id: Some(result_id),
                items,
            },
        },
    ))
}

fn unchanged(result_id: String) -> lsp::DocumentDiagnosticReportResult {
    lsp::DocumentDiagnosticReportResult::Report(lsp::DocumentDiagnosticReport::Unchanged(
        lsp::RelatedUnchangedDocumentDiagnosticReport {
            related_documents: None,
            unchanged_document_diagnostic_report: lsp::UnchangedDocumentDiagnosticReport { result_id },
        },
    ))
}
