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
use crate::contract::check;
use crate::lsp::backend::{failed_inside, Backend};
use crate::lsp::document::Analyzed;
use crate::lsp::host::{Context, Need};
use crate::lsp::panel::{self, Place};
use crate::rule_pages::Pages;

pub async fn run(backend: &Backend, call: Call) -> Result<Option<Value>> {
    let (uri, token) = (call.uri()?, call.token);
    let place = Place { uri: uri.as_str().to_owned(), name: "verify".to_owned() };
    let target = call.target;
    let find = move |context: &Context| {
        let (analyzed, finding) = loop_of(context, &target)?;
        Ok((analyzed.clone(), context.pages.clone(), finding.key.to_string()))
    };
    let chosen = backend.ask(uri, Need::ThisText, find).await?;
    verify(backend, chosen, &place, token).await
}

/// Runs the kernel beside the loop; shows progress, can be cancelled, shows what came of it.
async fn verify(
    backend: &Backend,
    (analyzed, pages, key): (Analyzed, Arc<Pages>, String),
    place: &Place,
    token: Option<lsp::ProgressToken>,
) -> Result<Option<Value>> {
    let caps = backend.caps.get().cloned().unwrap_or_default();
    let cancel = CancelToken::new();
    let progress = Progress::begin(backend, &caps, token, TITLE, &cancel).await;
    panel::working(backend, place, "Verification", TITLE, progress.token()).await;
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
        panel::ended(
            backend,
            place,
            "Verification",
            "It ended with a fault of Warpwright's own; nothing was found out.",
        )
        .await;
        return Err(failed_inside());
    };
    if cancelled {
        progress.end("cancelled");
        panel::ended(backend, place, "Verification", "Called off; nothing was found out.").await;
        return Err(Error::request_cancelled());
    }
    let same = reports.iter().all(|r| r.outcome == ide::Outcome::Same) && !reports.is_empty();
    progress.end(if same { "equal" } else { "see the result" });
    let checks: Vec<wire::Check> = reports.iter().map(check).collect();
    panel::show(backend, place, &panel::verified(&checks), caps.panels).await;
    Ok(answer(&wire::Checks { reports: checks }))
}

/// What is being done.
const TITLE: &str = "Verifying the kernel against the loop";
