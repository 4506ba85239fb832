//! `warpwright.verify`: the kernel of a loop beside the loop, in the simulator.

use std::sync::Arc;

use base::CancelToken;
use serde_json::Value;
use tokio::sync::oneshot;
use tower_lsp::jsonrpc::{Error, Result};
use tower_lsp::ls_types as lsp;

use super::progress::{Guard, Progress};
use super::target::loop_of;
use super::{answer, Call};
use crate::contract::{check, sentence};
use crate::lsp::backend::{failed_inside, Backend};
use crate::lsp::document::Analyzed;
use crate::lsp::host::{Context, Need};
use crate::rule_pages::Pages;

pub async fn run(backend: &Backend, call: Call) -> Result<Option<Value>> {
    let (uri, token) = (call.uri()?, call.token);
    let target = call.target;
    let find = move |context: &Context| {
        let (analyzed, finding) = loop_of(context, &target)?;
        Ok((analyzed.clone(), context.pages.clone(), finding.key.to_string()))
    };
    let chosen = backend.ask(uri, Need::ThisText, find).await?;
    verify(backend, chosen, token).await
}

/// Runs the kernel beside the loop; shows progress, can be cancelled, says what came of it.
async fn verify(
    backend: &Backend,
    (analyzed, pages, key): (Analyzed, Arc<Pages>, String),
    token: Option<lsp::ProgressToken>,
) -> Result<Option<Value>> {
    let caps = backend.caps.get().cloned().unwrap_or_default();
    let cancel = CancelToken::new();
    let progress =
        Progress::begin(backend, &caps, token, "Verifying the kernel against the loop", &cancel).await;
    let (reply, answered) = oneshot::channel();
    let stop = cancel.clone();
    // a request that is cancelled drops this guard and so ends the work
    let guard = Guard(cancel);
    backend.pool.long(Box::new(move || {
        let which = ide::Which::Key(key);
        let options = ide::VerifyOptions::default();
        let reports =
            ide::verify(&analyzed.ask(&stop).with_pages(&pages.set), &analyzed.findings, &which, &options);
        let _ = reply.send((reports, stop.is_cancelled()));
    }));
    let answered = answered.await;
    drop(guard);
    let Ok((reports, cancelled)) = answered else {
        progress.end("failed");
        return Err(failed_inside());
    };
    if cancelled {
        progress.end("cancelled");
        return Err(Error::request_cancelled());
    }
    let sentences: Vec<String> = reports.iter().map(sentence).collect();
    let same = reports.iter().all(|r| r.outcome == ide::Outcome::Same) && !reports.is_empty();
    progress.end(if same { "equal" } else { "see the message" });
    let level = match same {
        true => lsp::MessageType::INFO,
        false => lsp::MessageType::WARNING,
    };
    backend.client.show_message(level, sentences.join("\n")).await;
    Ok(answer(&wire::Checks { reports: reports.iter().map(check).collect() }))
}
