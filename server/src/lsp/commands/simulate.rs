//! `warpwright.simulate`: a kernel run in the simulator, and what it asks of the hardware.

use base::{CancelToken, Span};
use serde_json::Value;
use tokio::sync::oneshot;
use tower_lsp::jsonrpc::{Error, Result};
use wire::Target;

use super::progress::{Guard, Progress};
use super::target::{analyzed, offset};
use super::{answer, Call};
use crate::contract::kernel_run;
use crate::lsp::actions::{failed, shown, stale};
use crate::lsp::backend::{failed_inside, Backend};
use crate::lsp::document::Analyzed;
use crate::lsp::host::{Context, Need};
use crate::lsp::panel::{self, Place};

/// What is being done.
const TITLE: &str = "Running the kernel in the simulator";

pub async fn run(backend: &Backend, call: Call) -> Result<Option<Value>> {
    let (uri, token, target) = (call.uri()?, call.token, call.target);
    let place = Place { uri: uri.as_str().to_owned(), name: "simulate".to_owned() };
    let find = move |context: &Context| kernel(context, &target);
    let (analyzed, id, version) = backend.ask(uri, Need::ThisText, find).await?;
    let caps = backend.caps();
    let cancel = CancelToken::new();
    let progress = Progress::begin(backend, &caps, token, TITLE, &cancel).await;
    panel::working(backend, &place, "Simulation", TITLE, progress.token()).await;
    let (reply, answered) = oneshot::channel();
    let stop = cancel.clone();
    // a request that is cancelled drops this guard and so ends the work
    let guard = Guard(cancel);
    backend.pool.long(Box::new(move || {
        let resolved = ide::resolve(&analyzed.ask(&stop), &analyzed.findings, &id);
        let _ = reply.send((resolved, analyzed));
    }));
    let answered = answered.await;
    drop(guard);
    let ended = |words: &'static str| panel::ended(backend, &place, "Simulation", words);
    let Ok((resolved, analyzed)) = answered else {
        progress.end("failed");
        ended("It ended with a fault of Warpwright's own; nothing was found out.").await;
        return Err(failed_inside());
    };
    match resolved {
        Ok(ide::Resolved::Show { title, markdown, run }) => {
            progress.end("done");
            let report = match run.map(|run| kernel_run(&analyzed.doc, &run)) {
                Some(run) => {
                    at_lines(backend, &place, panel::of_run(&run, version)).await;
                    panel::simulated(&run, before_counts(&markdown))
                }
                None => panel::Report::of_markdown(&title, &markdown),
            };
            panel::show(backend, &place, &report, caps.panels).await;
            Ok(answer(&wire::Text { title, markdown }))
        }
        Err(ide::ResolveError::Cancelled) => {
            progress.end("cancelled");
            ended("Called off; nothing was found out.").await;
            Err(Error::request_cancelled())
        }
        other => {
            progress.end("nothing to simulate");
            ended("There is nothing to simulate any more.").await;
            Err(shown(other).err().unwrap_or_else(stale))
        }
    }
}

/// Has the editor show what was measured behind the lines.
async fn at_lines(backend: &Backend, place: &Place, measured: panel::AtLines) {
    backend.at_lines.lock().unwrap_or_else(|e| e.into_inner()).insert(place.uri.clone(), measured);
    if backend.caps().refreshes_hints {
        let _ = backend.client.inlay_hint_refresh().await;
    }
}

/// What is proved without running stands before the counts.
fn before_counts(markdown: &str) -> &str {
    markdown.split("```").next().unwrap_or_default()
}

/// The action that simulates the kernel an argument speaks of.
fn kernel(context: &Context, target: &Target) -> Result<(Analyzed, ide::ActionId, i32)> {
    let analyzed = analyzed(context)?;
    if target.version.is_some_and(|version| version != context.view.version) {
        return Err(stale());
    }
    let is_run = |id: &ide::ActionId| matches!(id, ide::ActionId::Simulate(_));
    let id = match &target.id {
        Some(id) => ide::ActionId::parse(id).filter(is_run).ok_or_else(stale)?,
        None => {
            let at = offset(context, target)?;
            let all = ide::actions(&context.ask(analyzed), &analyzed.findings, Span { start: at, end: at });
            let found = all.into_iter().map(|a| a.id).find(is_run);
            found.ok_or_else(|| {
                failed("There is nothing to simulate here. Put the cursor on a kernel's header.".to_owned())
            })?
        }
    };
    Ok((analyzed.clone(), id, context.view.version))
}
