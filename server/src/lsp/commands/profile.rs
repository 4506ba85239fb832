//! `warpwright.profile`: a loop's kernels on the GPU of the machine where the server runs, measured beside the loop.
//!
//! The worker is a process of its own; all of it happens on a thread of the pool, and ends when it is called off.

use std::path::PathBuf;
use std::sync::Arc;

use base::CancelToken;
use serde_json::Value;
use tokio::sync::oneshot;
use tower_lsp::jsonrpc::{Error, Result};
use tower_lsp::ls_types as lsp;

use super::progress::{Guard, Progress, Teller};
use super::target::loop_of;
use super::{answer, Call};
use crate::lsp::actions::failed;
use crate::lsp::backend::{failed_inside, Backend};
use crate::lsp::document::Analyzed;
use crate::lsp::host::{Context, Need};
use crate::lsp::panel::{self, Place};
use crate::profile::{client, run as run_there, Source};
use crate::rule_pages::Pages;

pub async fn run(backend: &Backend, call: Call) -> Result<Option<Value>> {
    let (uri, token) = (call.uri()?, call.token);
    let place = Place { uri: uri.as_str().to_owned(), name: "profile".to_owned() };
    let target = call.target;
    let find = move |context: &Context| {
        let (analyzed, finding) = loop_of(context, &target)?;
        Ok((analyzed.clone(), context.pages.clone(), finding.key.to_string()))
    };
    let path = uri.to_file_path().map_or_else(|| PathBuf::from(uri.path().as_str()), |p| p.into_owned());
    let chosen = backend.ask(uri, Need::ThisText, find).await?;
    profile(backend, chosen, path, &place, token).await
}

async fn profile(
    backend: &Backend,
    (analyzed, pages, key): (Analyzed, Arc<Pages>, String),
    path: PathBuf,
    place: &Place,
    token: Option<lsp::ProgressToken>,
) -> Result<Option<Value>> {
    let caps = backend.caps.get().cloned().unwrap_or_default();
    let cancel = CancelToken::new();
    let progress = Progress::begin(backend, &caps, token, TITLE, &cancel).await;
    panel::working(backend, place, "Measurement", TITLE, progress.token()).await;
    let (reply, answered) = oneshot::channel();
    let (stop, teller) = (cancel.clone(), progress.teller());
    // a request that is cancelled drops this guard and so ends the work
    let guard = Guard(cancel);
    backend.pool.long(Box::new(move || {
        let ran = measured(&analyzed, &pages, &key, &path, &stop, &teller);
        let _ = reply.send((ran, stop.is_cancelled()));
    }));
    let answered = answered.await;
    drop(guard);
    let Ok((ran, cancelled)) = answered else {
        progress.end("failed");
        let what = "It ended with a fault of Warpwright's own; nothing was found out.";
        panel::ended(backend, place, "Measurement", what).await;
        return Err(failed_inside());
    };
    if cancelled {
        progress.end("cancelled");
        panel::ended(backend, place, "Measurement", "Called off; nothing was found out.").await;
        return Err(Error::request_cancelled());
    }
    match ran {
        Ok(run) => {
            progress.end(if run.kernel_ns.is_some() { "measured" } else { "not measured" });
            panel::show(backend, place, &panel::profiled(&run), caps.panels).await;
            Ok(answer(&wire::Profile { version: wire::VERSION, runs: vec![run] }))
        }
        Err(why) => {
            progress.end("not measured");
            panel::ended(backend, place, "Measurement", &why).await;
            Err(failed(why))
        }
    }
}

/// `Err`: a sentence.
fn measured(
    analyzed: &Analyzed,
    pages: &Pages,
    key: &str,
    path: &std::path::Path,
    stop: &CancelToken,
    teller: &Teller,
) -> std::result::Result<wire::ProfileRun, String> {
    let ask = analyzed.ask(stop).with_pages(&pages.set);
    let which = ide::Which::Key(key.to_owned());
    let recorded = ide::record(&ask, &analyzed.findings, &which, &[]).into_iter().next();
    let recorded = recorded.ok_or("The loop is not there any more.")?.1?;
    let transport = device::Transport::of_this_program().map_err(|e| e.to_string())?;
    let mut there = client(transport.command(&device::Target::Local, &|_| {})?);
    let source = Source {
        path,
        ask: &ask,
        findings: &analyzed.findings,
        headers: path.parent().map(|f| format!("-I{}", f.display())).into_iter().collect(),
        of_part: &|place| {
            std::path::Path::new(place).parent().map(|f| format!("-I{}", f.display())).into_iter().collect()
        },
    };
    Ok(run_there(&source, &recorded, "local", &mut there, stop, &mut |what| teller.say(what)))
}

/// What is being done.
const TITLE: &str = "Measuring the kernel on the GPU";
