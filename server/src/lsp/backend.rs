//! The handlers, named to tower-lsp: notifications are one message to the owner of the state, requests a file of
//! `requests`, commands a file of `commands`.
//!
//! No handler holds state or a lock across an `await`, and none computes: that is done on the pool.

use std::collections::{BTreeSet, HashMap};
use std::future::Future;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, OnceLock};

use base::CancelToken;
use serde_json::Value;
use tokio::sync::oneshot;
use tower_lsp::jsonrpc::{Error, ErrorCode, Result};
use tower_lsp::ls_types as lsp;
use tower_lsp::{Client, LanguageServer};

use super::caps::Caps;
use super::host::{Ask, Context, Glance, Glimpse, HostHandle, Message, Need, Refusal};
use super::outgoing::Outgoing;
use super::panel::AtLines;
use super::pool::Pool;
use super::survey::Survey;
use super::{commands, edits, requests};
use crate::project::is_linked;
use crate::rule_pages;

pub struct Backend {
    pub client: Client,
    pub host: HostHandle,
    pub caps: Arc<OnceLock<Arc<Caps>>>,
    pub outgoing: Outgoing,
    pub pool: Pool,
    pub runtime: tokio::runtime::Handle,
    /// The hover that is found out behind an answer that did not wait for it.
    pub hovering: Mutex<Option<tokio::task::AbortHandle>>,
    /// Work whose progress the user can cancel, by progress token.
    pub cancellable: Arc<Mutex<HashMap<String, CancelToken>>>,
    /// What runs have shown of lines, by document.
    pub at_lines: Mutex<HashMap<String, AtLines>>,
    /// Hosts on which the user lets things run, in this session.
    pub allowed_hosts: Mutex<BTreeSet<String>>,
    /// What was measured of loops.
    pub measured: super::measured::Measured,
    /// Whether the editor shows lenses: it has asked for some.
    pub asks_lenses: AtomicBool,
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
        Backend {
            client,
            host,
            caps,
            outgoing,
            pool,
            runtime,
            hovering: Mutex::default(),
            cancellable: Arc::default(),
            at_lines: Mutex::default(),
            allowed_hosts: Mutex::default(),
            measured: Default::default(),
            asks_lenses: AtomicBool::default(),
        }
    }

    /// Asks for `work` on a document; the message is sent when this is called, not when the future is awaited.
    pub fn ask<T: Send + 'static>(
        &self,
        uri: lsp::Uri,
        need: Need,
        work: impl FnOnce(&Context) -> Result<T> + Send + 'static,
    ) -> impl Future<Output = Result<T>> + Send + 'static {
        self.ask_until(uri, need, CancelToken::new(), work)
    }

    /// Likewise, until it is called off.
    pub fn ask_until<T: Send + 'static>(
        &self,
        uri: lsp::Uri,
        need: Need,
        cancel: CancelToken,
        work: impl FnOnce(&Context) -> Result<T> + Send + 'static,
    ) -> impl Future<Output = Result<T>> + Send + 'static {
        let (reply, answer) = oneshot::channel();
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

    /// Tells the user what is not as the title of an edit says.
    pub async fn tell(&self, told: &[String]) {
        if !told.is_empty() {
            self.client.show_message(lsp::MessageType::INFO, told.join(" ")).await;
        }
    }

    /// Asks for an answer out of what is known at this moment.
    pub fn glance<T: Send + 'static>(
        &self,
        uri: lsp::Uri,
        look: impl FnOnce(Glimpse) -> T + Send + 'static,
    ) -> impl Future<Output = Result<T>> + Send + 'static {
        let (reply, answer) = oneshot::channel();
        let run = Box::new(move |glimpse| {
            // a request that was cancelled has nobody to tell
            let _ = reply.send(look(glimpse));
        });
        self.host.send(Message::Glance(Glance { uri, run }));
        async move { answer.await.map_err(|_| failed_inside()) }
    }

    /// What files are looked at with, as it is at this moment.
    pub fn survey(&self) -> impl Future<Output = Result<Survey>> + Send + 'static {
        let (reply, answer) = oneshot::channel();
        let run = Box::new(move |survey| {
            // a request that was cancelled has nobody to tell
            let _ = reply.send(survey);
        });
        self.host.send(Message::Survey(run));
        async move { answer.await.map_err(|_| failed_inside()) }
    }

    /// Does work that nobody waits for at the keyboard.
    pub async fn on_pool<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> Result<T> {
        let (reply, answer) = oneshot::channel();
        self.pool.long(Box::new(move || {
            // a request that was cancelled has nobody to tell
            let _ = reply.send(work());
        }));
        answer.await.map_err(|_| failed_inside())
    }

    pub fn caps(&self) -> Arc<Caps> {
        self.caps.get().cloned().unwrap_or_default()
    }

    /// Not in tower-lsp's trait, so routed by name.
    pub async fn document_text(&self, params: lsp::DocumentSymbolParams) -> Result<wire::DocumentText> {
        requests::document_text::run(self, params).await
    }

    pub async fn loops(&self, params: wire::LoopsAsked) -> Result<wire::ListedLoops> {
        requests::loops::run(self, params).await
    }

    pub async fn cancel_progress(&self, params: lsp::WorkDoneProgressCancelParams) {
        requests::cancel_progress::run(self, params).await;
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
        requests::initialize::run(self, params).await
    }

    async fn initialized(&self, _: lsp::InitializedParams) {
        requests::initialized::run(self);
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
            true => requests::initialized::pull_settings(self),
        }
        requests::initialized::pull_folder_settings(self);
    }

    async fn did_change_watched_files(&self, params: lsp::DidChangeWatchedFilesParams) {
        let is_page = |c: &lsp::FileEvent| edits::local_path(&c.uri).is_some_and(|p| rule_pages::is_page(&p));
        let is_program = |c: &lsp::FileEvent| {
            edits::local_path(&c.uri).is_some_and(|p| ide::LANGUAGES.iter().any(|l| is_linked(&p, *l)))
        };
        let pages = params.changes.iter().any(is_page);
        let programs = params.changes.iter().any(is_program);
        let sources = !params.changes.iter().all(|c| is_page(c) || is_program(c));
        self.host.send(Message::FilesChanged { sources, programs, pages });
    }

    async fn did_change_workspace_folders(&self, params: lsp::DidChangeWorkspaceFoldersParams) {
        let paths = |folders: Vec<lsp::WorkspaceFolder>| {
            folders.iter().filter_map(|f| edits::local_path(&f.uri)).collect()
        };
        let (added, removed) = (paths(params.event.added), paths(params.event.removed));
        self.host.send(Message::Folders { added, removed, trusted: None });
        requests::initialized::pull_folder_settings(self);
    }

    async fn completion(&self, params: lsp::CompletionParams) -> Result<Option<lsp::CompletionResponse>> {
        requests::completion::run(self, params).await
    }

    async fn hover(&self, params: lsp::HoverParams) -> Result<Option<lsp::Hover>> {
        requests::hover::run(self, params).await
    }

    async fn code_action(&self, params: lsp::CodeActionParams) -> Result<Option<lsp::CodeActionResponse>> {
        requests::code_action::run(self, params).await
    }

    async fn code_action_resolve(&self, params: lsp::CodeAction) -> Result<lsp::CodeAction> {
        requests::code_action_resolve::run(self, params).await
    }

    async fn code_lens(&self, params: lsp::CodeLensParams) -> Result<Option<Vec<lsp::CodeLens>>> {
        requests::code_lens::run(self, params).await
    }

    async fn inlay_hint(&self, params: lsp::InlayHintParams) -> Result<Option<Vec<lsp::InlayHint>>> {
        requests::inlay_hint::run(self, params).await
    }

    async fn document_symbol(
        &self,
        params: lsp::DocumentSymbolParams,
    ) -> Result<Option<lsp::DocumentSymbolResponse>> {
        requests::document_symbol::run(self, params).await
    }

    async fn prepare_call_hierarchy(
        &self,
        params: lsp::CallHierarchyPrepareParams,
    ) -> Result<Option<Vec<lsp::CallHierarchyItem>>> {
        requests::prepare_call_hierarchy::run(self, params).await
    }

    async fn incoming_calls(
        &self,
        params: lsp::CallHierarchyIncomingCallsParams,
    ) -> Result<Option<Vec<lsp::CallHierarchyIncomingCall>>> {
        requests::incoming_calls::run(self, params).await
    }

    async fn outgoing_calls(
        &self,
        params: lsp::CallHierarchyOutgoingCallsParams,
    ) -> Result<Option<Vec<lsp::CallHierarchyOutgoingCall>>> {
        requests::outgoing_calls::run(self, params).await
    }

    async fn diagnostic(
        &self,
        params: lsp::DocumentDiagnosticParams,
    ) -> Result<lsp::DocumentDiagnosticReportResult> {
        requests::diagnostic::run(self, params).await
    }

    async fn execute_command(&self, params: lsp::ExecuteCommandParams) -> Result<Option<lsp::LSPAny>> {
        commands::run(self, params).await
    }
}
