//! What goes to the client: one queue, one thread that writes it.
//!
//! A client that reads slowly, or not at all, delays nobody and cannot make memory grow without bound: of a
//! document's unsent diagnostics only the newest are kept, what is merely nice to know is dropped when the queue is
//! long, and the transport stops reading requests while answers pile up (`wait_for_room`).

use std::collections::{HashMap, VecDeque};
use std::io::Write;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use serde_json::{json, Value};

use crate::limits::lsp_outgoing::{CROWDED_BYTES, FULL_BYTES, SHORT_LIST_BYTES};

/// The queue to the client. Clones are the same queue.
#[derive(Clone)]
pub struct Outgoing(Arc<Shared>);

struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    queue: VecDeque<Entry>,
    /// Newest unsent diagnostics by document.
    diagnostics: HashMap<String, Frame>,
    bytes: usize,
    writing: bool,
    closed: bool,
}

enum Entry {
    Message(Frame),
    Diagnostics(String),
}

/// A message. The list of a long document's diagnostics is shared, not copied: it has a megabyte.
struct Frame {
    head: Vec<u8>,
    list: Arc<String>,
    tail: &'static str,
}

impl Frame {
    fn of(body: &str) -> Frame {
        Frame { head: framed(body, 0), list: Arc::default(), tail: "" }
    }
    fn len(&self) -> usize {
        self.head.len() + self.list.len() + self.tail.len()
    }
    /// A short one in one piece, so that the client wakes up once.
    fn write(mut self, output: &mut impl Write) -> std::io::Result<()> {
        let (mut list, mut tail) = (self.list.as_bytes(), self.tail.as_bytes());
        if list.len() < SHORT_LIST_BYTES {
            self.head.extend_from_slice(std::mem::take(&mut list));
            self.head.extend_from_slice(std::mem::take(&mut tail));
        }
        for part in [&self.head, list, tail].into_iter().filter(|part| !part.is_empty()) {
            output.write_all(part)?;
        }
        output.flush()
    }
}

impl Outgoing {
    /// A queue, and the thread that writes it to `output`.
    pub fn start(output: impl Write + Send + 'static) -> std::io::Result<Outgoing> {
        let outgoing = Outgoing(Arc::new(Shared { state: Mutex::default(), changed: Condvar::new() }));
        let writer = outgoing.clone();
        std::thread::Builder::new().name("ww-out".to_owned()).spawn(move || writer.write_all(output))?;
        Ok(outgoing)
    }

    /// Sends a message that must arrive.
    pub fn send(&self, message: &Value) {
        let frame = Frame::of(&message.to_string());
        let mut state = self.lock();
        if state.closed {
            return;
        }
        state.bytes += frame.len();
        state.queue.push_back(Entry::Message(frame));
        self.0.changed.notify_all();
    }

    /// Sends a notification that may be lost when the client does not keep up.
    pub fn send_if_room(&self, method: &str, params: &Value) {
        if self.lock().bytes < CROWDED_BYTES {
            self.send(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
        }
    }

    /// Sends a document's diagnostics (a JSON array) in place of those of the same document that were not sent yet.
    pub fn send_diagnostics(&self, uri: &str, version: Option<i32>, diagnostics: &Arc<String>) {
        let version = version.map(|v| format!("\"version\":{v},")).unwrap_or_default();
        let head = format!(
            "{{\"jsonrpc\":\"2.0\",\"method\":\"textDocument/publishDiagnostics\",\"params\":{{\"uri\":{},{version}\
             \"diagnostics\":",
            json!(uri)
        );
        let (list, tail) = (diagnostics.clone(), "}}");
        let frame = Frame { head: framed(&head, list.len() + tail.len()), list, tail };
        let mut state = self.lock();
        if state.closed {
            return;
        }
        state.bytes += frame.len();
        match state.diagnostics.insert(uri.to_owned(), frame) {
            Some(old) => state.bytes -= old.len(),
            None => state.queue.push_back(Entry::Diagnostics(uri.to_owned())),
        }
        self.0.changed.notify_all();
    }

    /// Waits while the queue is full; `false` when the client is gone.
    pub fn wait_for_room(&self) -> bool {
        let mut state = self.lock();
        while state.bytes > FULL_BYTES && !state.closed {
            state = self.0.changed.wait(state).unwrap_or_else(|e| e.into_inner());
        }
        !state.closed
    }

    /// Waits until everything is written, the client is gone, or `at_most` has passed.
    pub fn flush(&self, at_most: Duration) {
        let until = Instant::now() + at_most;
        let mut state = self.lock();
        while (!state.queue.is_empty() || state.writing) && !state.closed {
            let Some(left) = until.checked_duration_since(Instant::now()) else { return };
            state = self.0.changed.wait_timeout(state, left).unwrap_or_else(|e| e.into_inner()).0;
        }
    }

    /// Whether writing has failed: nobody reads any more.
    pub fn is_closed(&self) -> bool {
        self.lock().closed
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // the state stays whole whatever panicked: every change to it is complete before anything can
        self.0.state.lock().unwrap_or_else(|e| e.into_inner())
    }

    fn write_all(&self, mut output: impl Write) {
        loop {
            let mut state = self.lock();
            state.writing = false;
            self.0.changed.notify_all();
            let frame = loop {
                if state.closed {
                    return;
                }
                let next = match state.queue.pop_front() {
                    Some(Entry::Message(frame)) => Some(frame),
                    Some(Entry::Diagnostics(uri)) => state.diagnostics.remove(&uri),
                    None => None,
                };
                if let Some(frame) = next {
                    break frame;
                }
                state = self.0.changed.wait(state).unwrap_or_else(|e| e.into_inner());
            };
            state.writing = true;
            drop(state);
            let bytes = frame.len();
            let written = frame.write(&mut output);
            let mut state = self.lock();
            state.bytes = state.bytes.saturating_sub(bytes);
            if let Err(e) = written {
                tracing::info!("the client no longer reads: {e}");
                *state = State { closed: true, ..State::default() };
                self.0.changed.notify_all();
                return;
            }
        }
    }
}

/// The header of a message, and how it begins; as many bytes more follow.
fn framed(begin: &str, more: usize) -> Vec<u8> {
    let mut frame = format!("Content-Length: {}\r\n\r\n", begin.len() + more).into_bytes();
    frame.extend_from_slice(begin.as_bytes());
    frame
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    /// A client that reads one message each time it is told to.
    struct Slow(mpsc::Receiver<()>, mpsc::Sender<String>);
    impl Write for Slow {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.recv().map_err(std::io::Error::other)?;
            self.1.send(String::from_utf8_lossy(bytes).into_owned()).map_err(std::io::Error::other)?;
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn stale_diagnostics_are_replaced_and_a_dead_client_closes_the_queue() -> anyhow::Result<()> {
        let (go, wait) = mpsc::channel();
        let (wrote, written) = mpsc::channel();
        let out = Outgoing::start(Slow(wait, wrote))?;
        out.send(&json!(0));
        for version in 0..1000 {
            out.send_diagnostics("a", Some(version), &Arc::new("[]".to_owned()));
        }
        out.send(&json!("last"));
        let mut seen = Vec::new();
        for _ in 0..3 {
            go.send(())?;
            seen.push(written.recv()?);
        }
        // the first may have been taken before the others replaced it, the newest is never lost
        assert!(seen.iter().any(|m| m.contains("\"version\":999,")), "{seen:?}");
        assert!(seen.last().is_some_and(|m| m.contains("last")), "{seen:?}");
        drop(go);
        out.send(&json!(1));
        out.flush(Duration::from_secs(5));
        assert!(out.is_closed());
        assert!(!out.wait_for_room());
        Ok(())
    }
}
