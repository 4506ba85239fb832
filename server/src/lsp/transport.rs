//! The loop between the bytes and tower-lsp's service.
//!
//! tower-lsp's router, types, initialization states and cancellation are used; its own `Server` is not, because (seen
//! in 0.23) it stops after the first malformed message, reserves what a header announces, stops reading while the
//! client does not read, starts no handler before earlier ones have room, and falls with a handler that panics.
//!
//! Here every handler is polled once, on this thread, in the order of arrival: what it does before its first `await`
//! (one message to the owner of the state) therefore happens in that order, always. The rest runs on the runtime.
//! Every request gets exactly one answer: from its handler, or an error when the handler panicked.

use std::any::Any;
use std::future::Future;
use std::io::BufRead;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;
use std::task::{Context, Waker};
use std::time::Duration;

use futures_util::{FutureExt, SinkExt, StreamExt};
use serde_json::{json, Value};
use tower_lsp::jsonrpc::{Id, Request, Response};
use tower_lsp::{ClientSocket, LanguageServer, LspService};
use tower_service::Service;

use super::frames::{Frame, Frames};
use super::outgoing::Outgoing;
use crate::limits::lsp_transport::{CROWD, LAST_WORDS};

/// How the session ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ended {
    /// `shutdown` was asked for before.
    pub after_shutdown: bool,
}

impl Ended {
    /// What LSP asks of the process: 0 after `shutdown`, else 1.
    pub fn exit_code(self) -> u8 {
        u8::from(!self.after_shutdown)
    }
}

/// Reads messages and has them answered until the client says `exit` or is gone.
pub fn serve<S: LanguageServer>(
    runtime: &tokio::runtime::Handle,
    input: impl BufRead,
    outgoing: &Outgoing,
    mut service: LspService<S>,
    socket: ClientSocket,
) -> Ended {
    let (mut requests, mut responses) = socket.split();
    let to_client = outgoing.clone();
    runtime.spawn(async move {
        while let Some(request) = requests.next().await {
            match serde_json::to_value(&request) {
                Ok(message) => to_client.send(&message),
                Err(e) => tracing::error!("a message to the client could not be written: {e}"),
            }
        }
    });
    let mut frames = Frames::new(input);
    let mut ended = Ended { after_shutdown: false };
    let in_flight = Arc::new(AtomicUsize::new(0));
    let _context = runtime.enter();
    while outgoing.wait_for_room() {
        slow_down(&in_flight);
        let body = match frames.next() {
            Ok(Frame::Message(body)) => body,
            Ok(Frame::Refused(why)) => {
                tracing::warn!("refused: {why}");
                outgoing.send(&error(&Value::Null, -32700, &format!("Not a message: {why}.")));
                continue;
            }
            Ok(Frame::End) => {
                tracing::info!("the client closed the connection");
                break;
            }
            Err(e) => {
                tracing::info!("the client cannot be read: {e}");
                break;
            }
        };
        match classify(&body) {
            Message::Request(request) => {
                let method = request.method().to_owned();
                ended.after_shutdown |= method == "shutdown" && request.id().is_some();
                begin(runtime, &mut service, request, outgoing, &in_flight);
                if method == "exit" {
                    break;
                }
            }
            Message::Response(response) => {
                // the sink only fills a table: it never waits
                if responses.send(response).now_or_never().is_none() {
                    tracing::warn!("a response of the client was lost");
                }
            }
            Message::Bad { id, code, why } => outgoing.send(&error(&id, code, &why)),
            Message::Ignored(why) => tracing::warn!("ignored: {why}"),
        }
    }
    last_words(outgoing, &in_flight);
    ended
}

/// A client that asks far more than is answered is read more slowly, so that questions cannot fill the memory. It is
/// never left unread: what it says may be the answer that a handler waits for.
fn slow_down(in_flight: &AtomicUsize) {
    let started = std::time::Instant::now();
    while in_flight.load(Ordering::SeqCst) > CROWD && started.elapsed() < Duration::from_millis(20) {
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Starts the handler of `request`; its answer, if one is due, goes to the client when it is there.
fn begin<S: LanguageServer>(
    runtime: &tokio::runtime::Handle,
    service: &mut LspService<S>,
    request: Request,
    outgoing: &Outgoing,
    in_flight: &Arc<AtomicUsize>,
) {
    let id = request.id().cloned();
    let method = request.method().to_owned();
    let called = catch_unwind(AssertUnwindSafe(|| service.call(request)));
    let outgoing = outgoing.clone();
    let future = async move {
        let outcome = match called {
            Ok(future) => AssertUnwindSafe(future).catch_unwind().await,
            Err(panic) => Err(panic),
        };
        match outcome {
            Ok(Ok(response)) => match response.map(|r| serde_json::to_value(&r)) {
                Some(Ok(message)) => outgoing.send(&message),
                Some(Err(e)) => {
                    answer_error(&outgoing, id, -32603, &format!("The answer could not be written: {e}."))
                }
                None => {}
            },
            Ok(Err(exited)) => answer_error(&outgoing, id, -32600, &exited.to_string()),
            Err(panic) => {
                tracing::error!("{method} failed: {}", panic_text(panic.as_ref()));
                let why = format!(
                    "{method} failed inside the server. The session goes on; the server's log says where it failed."
                );
                answer_error(&outgoing, id, -32603, &why);
            }
        }
    };
    in_flight.fetch_add(1, Ordering::SeqCst);
    let done = Counted(in_flight.clone());
    let mut future: Pin<Box<dyn Future<Output = ()> + Send>> = Box::pin(async move {
        let _done = done;
        future.await;
    });
    // a spawned task is polled again whatever happens here, so no wake-up can be lost with this waker
    if future.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending() {
        runtime.spawn(future);
    }
}

struct Counted(Arc<AtomicUsize>);
impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Lets what is still being answered get out, for a bounded time.
fn last_words(outgoing: &Outgoing, in_flight: &AtomicUsize) {
    let until = std::time::Instant::now() + LAST_WORDS;
    while in_flight.load(Ordering::SeqCst) > 0 && !outgoing.is_closed() && std::time::Instant::now() < until {
        std::thread::sleep(Duration::from_millis(2));
    }
    outgoing.flush(LAST_WORDS);
}

enum Message {
    Request(Request),
    Response(Response),
    Bad { id: Value, code: i64, why: String },
    Ignored(String),
}

/// What a body is. What is no JSON-RPC gets an answer that says so, except responses, which are never answered.
fn classify(body: &[u8]) -> Message {
    let bad = |id: Value, code: i64, why: String| Message::Bad { id, code, why };
    let value: Value = match serde_json::from_slice(body) {
        Ok(value) => value,
        Err(e) => return bad(Value::Null, -32700, format!("Not JSON: {e}.")),
    };
    let Value::Object(message) = &value else {
        let why = "A message is one JSON object; LSP has no batches.".to_owned();
        return bad(Value::Null, -32600, why);
    };
    let id = message.get("id").cloned();
    if message.contains_key("method") {
        let answerable = match &id {
            Some(id @ (Value::Number(_) | Value::String(_))) => id.clone(),
            _ => Value::Null,
        };
        return match serde_json::from_value(value) {
            Ok(request) => Message::Request(request),
            Err(e) => bad(answerable, -32600, format!("Not a JSON-RPC 2.0 request: {e}.")),
        };
    }
    if message.contains_key("result") || message.contains_key("error") {
        return match serde_json::from_value(value) {
            Ok(response) => Message::Response(response),
            Err(e) => Message::Ignored(format!("a response that cannot be read: {e}")),
        };
    }
    bad(id.unwrap_or(Value::Null), -32600, "The message has no method and no result.".to_owned())
}

fn answer_error(outgoing: &Outgoing, id: Option<Id>, code: i64, why: &str) {
    if let Some(id) = id {
        outgoing.send(&error(&json!(id), code, why));
    }
}

fn error(id: &Value, code: i64, why: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": why}})
}

/// What a panic said.
pub fn panic_text(panic: &(dyn Any + Send)) -> String {
    panic
        .downcast_ref::<&str>()
        .map(|s| (*s).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "a panic without words".to_owned())
}
