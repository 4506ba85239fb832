//! The owner of the state: one thread that alone reads and writes documents and settings.
//!
//! Handlers send it messages; what takes time runs on the pool with an immutable [`View`] and reports back as another
//! message. It never waits for anything but the next message, so an edit is applied as soon as it arrives. Per
//! document one analysis runs at a time, for the newest text; an edit cancels it.

mod ahead;
mod asking;
mod idling;
mod projects;
mod rules;
mod settling;
mod telling;

pub use settling::of_folder;

use std::collections::{BTreeMap, HashMap};
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::mpsc::{sync_channel, Receiver, RecvTimeoutError, SyncSender};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use base::CancelToken;
use serde_json::{json, Value};
use text::Text;
use tower_lsp::{ls_types as lsp, Client};

use super::caps::Caps;
use super::document::{Analyzed, Document, Running, View};
use super::edits::local_path;
use super::outgoing::Outgoing;
use super::pool::Pool;
use super::survey::Survey;
use super::to_lsp;
use super::transport::panic_text;
use super::work::{Done, Work};
use crate::compiler::Compilers;
use crate::includes::Disk;
use crate::limits::lsp_host::INBOX;
use crate::project::Projects;
use crate::rule_pages::{Pages, Where};
use crate::settings::Settings;

/// Why a request cannot be answered.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Refusal {
    UnknownDocument(String),
    /// The text changed before the answer was there.
    Changed,
}

/// A request that needs a document.
pub struct Ask {
    pub uri: lsp::Uri,
    pub need: Need,
    pub cancel: CancelToken,
    pub run: Box<dyn FnOnce(Result<Context, Refusal>) + Send>,
}

/// Which text a request is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Need {
    /// The text when it was asked: it names places in it.
    ThisText,
    /// Whatever is newest when the answer is made.
    Newest,
}

/// A request that is answered out of what is known, whatever is under way.
pub struct Glance {
    pub uri: lsp::Uri,
    pub run: Box<dyn FnOnce(Glimpse) + Send>,
}

/// What is known at this moment.
pub struct Glimpse {
    /// Of the newest text that was analyzed, or of none.
    pub view: Option<Arc<View>>,
    /// The newest text; `None`: the document is not open.
    pub text: Option<Text>,
    pub caps: Arc<Caps>,
}

/// What a request's work sees.
#[derive(Clone)]
pub struct Context {
    pub view: Arc<View>,
    pub settings: Arc<Settings>,
    pub caps: Arc<Caps>,
    /// The rules in use.
    pub pages: Arc<Pages>,
    pub cancel: CancelToken,
}

impl Context {
    /// What the request asks of a document: until it is cancelled, with the rules in use.
    pub fn ask(&self, analyzed: &Analyzed) -> ide::Ask {
        analyzed.ask(&self.cancel).with_pages(&self.pages.set)
    }
}

/// What happens.
pub enum Message {
    Open {
        uri: lsp::Uri,
        language_id: String,
        version: i32,
        text: String,
    },
    Change {
        uri: lsp::Uri,
        version: i32,
        changes: Vec<lsp::TextDocumentContentChangeEvent>,
    },
    Save {
        uri: lsp::Uri,
    },
    Close {
        uri: lsp::Uri,
    },
    Settings(Value),
    /// Those of the workspace's folders, where there are several.
    FolderSettings(Vec<(std::path::PathBuf, Value)>),
    /// The settings are the user's from now on, not only what we begin with.
    Settled,
    /// A compiler has said what it defines.
    CompilerAnswered,
    /// Headers and build descriptions, or not; files of programs, or not; rule pages, or not.
    FilesChanged {
        sources: bool,
        programs: bool,
        pages: bool,
    },
    /// The other files of its program that a document reaches.
    Project {
        uri: lsp::Uri,
        epoch: u64,
        project: Option<ide::Project>,
    },
    /// Folders that the workspace has and has no more, and whether its pages may be used.
    Folders {
        added: Vec<std::path::PathBuf>,
        removed: Vec<std::path::PathBuf>,
        trusted: Option<bool>,
    },
    /// The rule pages were read.
    Pages(Pages),
    /// What is to be said of an open rule page; `Err`: checking it failed inside.
    PageChecked {
        uri: lsp::Uri,
        epoch: u64,
        generation: u64,
        diagnostics: Result<Vec<lsp::Diagnostic>, String>,
    },
    Ask(Ask),
    Glance(Glance),
    /// What files that are not open are read with.
    Survey(Box<dyn FnOnce(Survey) + Send>),
    /// More was found out of a document than its view tells.
    Deepened {
        uri: lsp::Uri,
    },
    Analyzed(Outcome),
    /// What is known of a long document before all is: diagnostics as JSON.
    Early {
        uri: lsp::Uri,
        epoch: u64,
        generation: u64,
        rendered: Arc<String>,
        /// Of the edited function alone.
        ahead: bool,
    },
    Compiled {
        uri: lsp::Uri,
        epoch: u64,
        generation: u64,
        diagnostics: Vec<lsp::Diagnostic>,
    },
}

/// What became of an analysis.
pub struct Outcome {
    uri: lsp::Uri,
    epoch: u64,
    generation: u64,
    readings: u64,
    result: Result<Done, Failure>,
}

struct Failure(String);

/// How others reach the host.
#[derive(Clone)]
pub struct HostHandle(SyncSender<Message>);

impl HostHandle {
    /// Sends a message. Only full inboxes make it wait.
    pub fn send(&self, message: Message) {
        if self.0.send(message).is_err() {
            tracing::error!("the owner of the state is gone");
        }
    }
}

/// What the host works with.
pub struct Tools {
    pub outgoing: Outgoing,
    pub pool: Pool,
    pub runtime: tokio::runtime::Handle,
    pub caps: Arc<OnceLock<Arc<Caps>>>,
    pub client: Client,
}

struct Host {
    inbox: HostHandle,
    tools: Tools,
    documents: HashMap<String, Document>,
    settings: Arc<Settings>,
    /// Of documents in these folders.
    folder_settings: BTreeMap<std::path::PathBuf, Arc<Settings>>,
    /// Complaints about settings that the user has seen.
    complained: Vec<String>,
    memo: ide::Memo,
    /// Headers, those open here included.
    disk: Arc<Disk>,
    projects: Arc<Projects>,
    compilers: Arc<Compilers>,
    /// Whether the user's settings are known: what they may forbid waits for them.
    settled: bool,
    /// The header that was edited last, and when: documents that include it wait for a pause.
    edited_header: Option<(String, Instant)>,
    places: Where,
    pages: Arc<Pages>,
    /// Rule pages are being read; whether they are to be read once more.
    reading_pages: Option<bool>,
    epochs: u64,
    generations: u64,
}

/// Starts the owner of the state; the second part says whether its thread could be started.
pub fn start(tools: Tools) -> (HostHandle, std::io::Result<()>) {
    let (sender, receiver) = sync_channel(INBOX);
    let handle = HostHandle(sender);
    let told = handle.clone();
    let compilers = Arc::new(Compilers::later(move || told.send(Message::CompilerAnswered)));
    let disk = Arc::new(Disk::asking(compilers.clone()));
    let host = Host {
        inbox: handle.clone(),
        tools,
        documents: HashMap::new(),
        settings: Arc::default(),
        folder_settings: BTreeMap::new(),
        complained: Vec::new(),
        memo: ide::Memo::new(),
        projects: Arc::new(Projects::new(disk.clone())),
        disk,
        compilers,
        settled: false,
        edited_header: None,
        places: Where { trusted: true, ..Where::default() },
        pages: Arc::new(Pages::shipped()),
        reading_pages: None,
        epochs: 0,
        generations: 0,
    };
    let started = std::thread::Builder::new().name("ww-host".to_owned()).spawn(move || host.run(&receiver));
    (handle, started.map(|_| ()))
}

impl Host {
    fn run(mut self, messages: &Receiver<Message>) {
        loop {
            let message = match self.next_deadline() {
                None => messages.recv().map_err(|_| RecvTimeoutError::Disconnected),
                Some(deadline) => messages.recv_timeout(deadline.saturating_duration_since(Instant::now())),
            };
            let turn = AssertUnwindSafe(|| match message {
                Ok(message) => {
                    self.handle(message);
                    true
                }
                Err(RecvTimeoutError::Timeout) => {
                    self.idle();
                    true
                }
                Err(RecvTimeoutError::Disconnected) => false,
            });
            match catch_unwind(turn) {
                Ok(true) => {}
                Ok(false) => return,
                Err(panic) => tracing::error!("a change failed: {}", panic_text(panic.as_ref())),
            }
        }
    }

    fn handle(&mut self, message: Message) {
        match message {
            Message::Open { uri, language_id, version, text } => self.open(uri, &language_id, version, &text),
            Message::Change { uri, version, changes } => self.change(&uri, version, changes),
            Message::Save { uri } => self.save(&uri),
            Message::Close { uri } => self.close(&uri),
            Message::Settings(value) => self.configure(&value),
            Message::FolderSettings(folders) => self.configure_folders(&folders),
            Message::Settled => self.settle(),
            Message::CompilerAnswered => self.all_again(""),
            Message::FilesChanged { sources, programs, pages } => {
                if pages {
                    self.read_pages();
                }
                if sources {
                    self.disk.forget();
                    self.all_again("");
                }
                if programs {
                    self.find_projects("");
                }
            }
            Message::Project { uri, epoch, project } => self.use_project(&uri, epoch, project),
            Message::Folders { added, removed, trusted } => {
                added.iter().for_each(|folder| self.compilers.keep_out(folder));
                self.places.roots.extend(added);
                self.places.roots.retain(|r| !removed.contains(r));
                self.places.trusted = trusted.unwrap_or(self.places.trusted);
                self.projects.set_roots(self.places.roots.iter().cloned());
                self.read_pages();
            }
            Message::Pages(pages) => self.use_pages(pages),
            Message::PageChecked { uri, epoch, generation, diagnostics } => {
                self.page_checked(&uri, epoch, generation, diagnostics);
            }
            Message::Ask(ask) => self.ask(ask),
            Message::Glance(glance) => self.glance(glance),
            Message::Survey(run) => run(self.survey()),
            Message::Deepened { uri } => self.deepened(&uri),
            Message::Analyzed(outcome) => self.analyzed(outcome),
            Message::Early { uri, epoch, generation, rendered, ahead } => {
                self.early(&uri, (epoch, generation), rendered, ahead);
            }
            Message::Compiled { uri, epoch, generation, diagnostics } => {
                self.compiled(&uri, epoch, generation, diagnostics);
            }
        }
    }

    fn caps(&self) -> Arc<Caps> {
        self.tools.caps.get().cloned().unwrap_or_default()
    }

    fn generation(&mut self) -> u64 {
        self.generations += 1;
        self.generations
    }

    fn open(&mut self, uri: lsp::Uri, language_id: &str, version: i32, text: &str) {
        let text = match Text::new(text) {
            Ok(text) => text,
            Err(e) => {
                tracing::error!("{}: {e}", uri.as_str());
                return self
                    .log(lsp::MessageType::WARNING, &format!("{} is not analyzed: {e}", uri.as_str()));
            }
        };
        if let Some(old) = self.documents.remove(uri.as_str()) {
            tracing::warn!("{} was opened twice; the newer text is used", uri.as_str());
            abandon(old);
        }
        self.epochs += 1;
        let generation = self.generation();
        let document = Document::open(uri.clone(), self.epochs, generation, language_id, version, text);
        if document.language.is_none() {
            tracing::info!("{}: not a language that is read", uri.as_str());
        }
        self.stand_for_file(&uri, Some(&document.text));
        self.keep_out_around(&uri);
        let folder = local_path(&uri).and_then(|p| p.parent().map(std::path::Path::to_owned));
        if folder.is_some_and(|f| self.places.near.insert(f)) {
            self.read_pages();
        }
        self.documents.insert(uri.as_str().to_owned(), document);
        self.analyze(uri.as_str());
    }

    /// Tells those who read headers of the text of an open one.
    fn stand_for_file(&mut self, uri: &lsp::Uri, text: Option<&Text>) {
        let is_news = local_path(uri).is_some_and(|path| self.disk.set_open(&path, text));
        if is_news {
            self.edited_header = Some((uri.as_str().to_owned(), Instant::now()));
        }
    }

    /// Reads again what may include the header that was edited.
    fn read_edited_header(&mut self) {
        if let Some((uri, _)) = self.edited_header.take() {
            self.all_again(&uri);
        }
    }

    fn change(&mut self, uri: &lsp::Uri, version: i32, changes: Vec<lsp::TextDocumentContentChangeEvent>) {
        let (encoding, generation) = (self.caps().encoding, self.generation());
        let Some(document) = self.documents.get_mut(uri.as_str()) else {
            tracing::warn!("a change of {}, which is not open, was ignored", uri.as_str());
            return;
        };
        let changed = document.change(version, changes, encoding);
        let document_text = document.text.clone();
        document.generation = generation;
        document.last_change = Instant::now();
        document.wants_full = false;
        if let Some(running) = &document.running {
            running.cancel.cancel();
        }
        let (stale, kept) =
            std::mem::take(&mut document.waiting).into_iter().partition(|ask| ask.need == Need::ThisText);
        document.waiting = kept;
        for ask in stale {
            self.tools.pool.soon(Box::new(move || (ask.run)(Err(Refusal::Changed))));
        }
        if let Err(e) = changed {
            // the client and we no longer mean the same text: say so instead of answering for another
            let what =
                format!("A change of {} could not be applied: {e} Close and open it again.", uri.as_str());
            self.log(lsp::MessageType::ERROR, &what);
        }
        self.stand_for_file(uri, Some(&document_text));
        self.analyze(uri.as_str());
        self.look_ahead(uri.as_str());
    }

    fn save(&mut self, uri: &lsp::Uri) {
        self.read_edited_header();
        // Not every client watches files, and watchers lose events: of folders just made, on network drives.
        self.read_pages();
        if let Some(document) = self.documents.get_mut(uri.as_str()) {
            document.wants_full = true;
            self.analyze(uri.as_str());
        }
        self.find_projects(uri.as_str());
    }

    fn close(&mut self, uri: &lsp::Uri) {
        let Some(document) = self.documents.remove(uri.as_str()) else { return };
        abandon(document);
        self.stand_for_file(uri, None);
        self.find_projects("");
        if !self.caps().pulls_diagnostics {
            self.tools.outgoing.send_diagnostics(uri.as_str(), None, &Arc::new("[]".to_owned()));
        }
    }

    /// Something outside the texts changed: every document is new, save the one whose change it was.
    fn all_again(&mut self, but: &str) {
        let uris: Vec<String> = self.documents.keys().filter(|uri| *uri != but).cloned().collect();
        for uri in uris {
            let generation = self.generation();
            if let Some(document) = self.documents.get_mut(&uri) {
                document.generation = generation;
                document.wants_full = true;
                document.read_afresh();
            }
            self.analyze(&uri);
            self.look_ahead(&uri);
        }
    }

    /// Starts what the document needs next, unless something runs for it.
    fn analyze(&mut self, uri: &str) {
        let caps = self.caps();
        let settings = self.settings_of(uri);
        let Some(document) = self.documents.get_mut(uri) else { return };
        if document.running.is_some() {
            return;
        }
        if document.current().is_none() && document.is_page && !document.given_up() {
            return self.check_page(uri);
        }
        if document.current().is_none() && (document.language.is_none() || document.given_up()) {
            let note = document.given_up().then(to_lsp::given_up_note);
            document.view = Some(Arc::new(document.bare_view(note.into_iter().collect())));
            document.wants_full = false;
            return self.tell(uri);
        }
        let tier = match document.current() {
            None => ide::Tier::Typing,
            Some(view) if document.wants_full && view.tier < ide::Tier::Full => ide::Tier::Full,
            Some(_) => {
                document.wants_full = false;
                return;
            }
        };
        let Some(language) = document.language else { return };
        let cancel = CancelToken::new();
        let early = {
            let (inbox, uri) = (self.inbox.clone(), document.uri.clone());
            let (epoch, generation) = (document.epoch, document.generation);
            move |rendered| {
                let ahead = false;
                inbox.send(Message::Early { uri: uri.clone(), epoch, generation, rendered, ahead })
            }
        };
        let reading = CancelToken::new();
        document.running = Some(Running {
            generation: document.generation,
            cancel: cancel.clone(),
            opens: document.doc.is_none() && document.view.is_none(),
            reading: reading.clone(),
        });
        let work = Work {
            before: document.doc.take(),
            shown: document.view.clone(),
            opening: document.view.is_none(),
            changes: std::mem::take(&mut document.pending),
            edited: document.edited,
            uri: document.uri.clone(),
            epoch: document.epoch,
            version: document.version,
            generation: document.generation,
            readings: document.readings,
            text: document.text.clone(),
            language,
            tier,
            settings,
            caps,
            memo: self.memo.clone(),
            disk: self.disk.clone(),
            project: document.project.clone(),
            awaits_others: !document.knows_project && local_path(&document.uri).is_some(),
            cancel,
            reading,
            early: Box::new(early),
        };
        let inbox = self.inbox.clone();
        self.tools.pool.soon(Box::new(move || {
            let (uri, epoch, generation, readings) =
                (work.uri.clone(), work.epoch, work.generation, work.readings);
            let result = catch_unwind(AssertUnwindSafe(|| work.run()));
            let result = result.map_err(|panic| Failure(panic_text(panic.as_ref())));
            inbox.send(Message::Analyzed(Outcome { uri, epoch, generation, readings, result }));
        }));
    }

    fn analyzed(&mut self, outcome: Outcome) {
        let Outcome { uri, epoch, generation, readings, result } = outcome;
        let Some(document) = self.documents.get_mut(uri.as_str()).filter(|d| d.epoch == epoch) else {
            return;
        };
        if document.running.as_ref().is_some_and(|r| r.generation == generation) {
            document.running = None;
        }
        // what was called off is read again
        let is_read = !matches!(&result, Ok(Done { doc: None, .. }));
        if let Some(ahead) = document.ahead.take_if(|_| is_read) {
            ahead.cancel();
            document.parts = ide::Parts::default();
        }
        let mut news = None;
        let opened = document.view.is_none();
        match result {
            Ok(done) => {
                // unless settings or a flood of edits made everything new meanwhile
                if document.readings == readings {
                    document.doc = done.doc;
                }
                let view = done.view.filter(|_| document.generation == generation).map(Arc::new);
                if let Some(view) = view {
                    let old = document.view.replace(view.clone());
                    // freeing thousands of findings is not to delay the next edit
                    self.tools.pool.soon(Box::new(move || drop(old)));
                    news = Some(view);
                }
            }
            Err(Failure(why)) => {
                document.panics += 1;
                document.read_afresh();
                document.wants_full = false;
                let what = if document.given_up() {
                    "it is left alone until it is opened again"
                } else {
                    "once more"
                };
                let what = format!("Analyzing {} failed inside the server ({why}): {what}.", uri.as_str());
                tracing::error!("{what}");
                self.log(lsp::MessageType::ERROR, &what);
            }
        }
        if let Some(view) = news {
            let (is_full, is_first) = (view.tier == ide::Tier::Full, opened);
            if is_full {
                self.compile(view, epoch);
            }
            self.tell(uri.as_str());
            if is_full || is_first {
                self.find_project(uri.as_str());
            }
        }
        self.analyze(uri.as_str());
    }

    fn log(&self, level: lsp::MessageType, message: &str) {
        let params = json!({"type": level, "message": message});
        self.tools.outgoing.send_if_room("window/logMessage", &params);
    }
}

/// Cancels what runs and refuses what waits for a document that is gone.
fn abandon(document: Document) {
    if let Some(running) = &document.running {
        running.cancel.cancel();
        running.reading.cancel();
    }
    for ask in document.waiting {
        (ask.run)(Err(Refusal::Changed));
    }
}
