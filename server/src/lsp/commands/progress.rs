//! A progress display of work that takes long, and its cancelling.

use base::CancelToken;
use serde_json::{json, Value};
use tower_lsp::ls_types as lsp;

use crate::lsp::backend::Backend;
use crate::lsp::caps::Caps;
use crate::lsp::outgoing::Outgoing;

/// A progress display in the editor, if it has one.
pub struct Progress<'a> {
    backend: &'a Backend,
    token: Option<lsp::ProgressToken>,
}

impl<'a> Progress<'a> {
    pub async fn begin(
        backend: &'a Backend,
        caps: &Caps,
        given: Option<lsp::ProgressToken>,
        title: &str,
        cancel: &CancelToken,
    ) -> Progress<'a> {
        let token = match given {
            Some(token) => Some(token),
            None if caps.progress => {
                let id = format!("warpwright-{}", backend.client.next_request_id());
                let token = lsp::ProgressToken::String(id);
                backend.client.create_work_done_progress(token.clone()).await.ok().map(|()| token)
            }
            None => None,
        };
        if let Some(token) = &token {
            let mut cancellable = backend.cancellable.lock().unwrap_or_else(|e| e.into_inner());
            cancellable.insert(token_text(token), cancel.clone());
        }
        let progress = Progress { backend, token };
        progress.say(&json!({"kind": "begin", "title": title, "cancellable": true}));
        progress
    }

    fn say(&self, value: &Value) {
        if let Some(token) = &self.token {
            send(&self.backend.outgoing, token, value);
        }
    }

    /// What calls the work off.
    pub fn token(&self) -> Option<&lsp::ProgressToken> {
        self.token.as_ref()
    }

    /// Tells how far the work is, from the thread that does it.
    pub fn teller(&self) -> Teller {
        Teller { outgoing: self.backend.outgoing.clone(), token: self.token.clone() }
    }

    pub fn end(mut self, message: &str) {
        self.close(message);
    }

    fn close(&mut self, message: &str) {
        self.say(&json!({"kind": "end", "message": message}));
        if let Some(token) = self.token.take() {
            self.backend.cancellable.lock().unwrap_or_else(|e| e.into_inner()).remove(&token_text(&token));
        }
    }
}

/// How far work is.
pub struct Teller {
    outgoing: Outgoing,
    token: Option<lsp::ProgressToken>,
}

impl Teller {
    /// Tells what is done now.
    pub fn say(&self, what: &str) {
        if let Some(token) = &self.token {
            send(&self.outgoing, token, &json!({"kind": "report", "message": what}));
        }
    }

    /// `done` of `all` are done: told a hundred times at most.
    pub fn tell(&self, done: usize, all: usize, what: &str) {
        let percent = |n: usize| 100 * n / all.max(1);
        let Some(token) = self.token.as_ref().filter(|_| percent(done) > percent(done.saturating_sub(1)))
        else {
            return;
        };
        let message = format!("{done} of {all} {what}");
        send(
            &self.outgoing,
            token,
            &json!({"kind": "report", "message": message, "percentage": percent(done)}),
        );
    }
}

/// Ends work whose request is gone.
pub struct Guard(pub CancelToken);
impl Drop for Guard {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

/// What began must end, also when the request is cancelled.
impl Drop for Progress<'_> {
    fn drop(&mut self) {
        if self.token.is_some() {
            self.close("cancelled");
        }
    }
}

fn send(outgoing: &Outgoing, token: &lsp::ProgressToken, value: &Value) {
    outgoing
        .send(&json!({"jsonrpc": "2.0", "method": "$/progress", "params": {"token": token, "value": value}}));
}

pub fn token_text(token: &lsp::ProgressToken) -> String {
    json!(token).to_string()
}
