//! `warpwright.profile`: a loop's kernels on the GPU of the machine where the server runs, measured beside the loop; or the kernel of a
//! CUDA file, held against the simulator.
//!
//! The worker is a process of its own; all of it happens on a thread of the pool, and ends when it is called off.

use std::path::PathBuf;
use std::sync::Arc;

use base::CancelToken;
use serde_json::Value;
use tokio::sync::oneshot;
use tower_lsp::jsonrpc::{Error, Result};
use tower_lsp::ls_types as lsp;
use wire::Target;

use super::progress::{Guard, Progress, Teller};
use super::target::{analyzed, loop_of, offset};
use super::{answer, Call};
use crate::includes::{Disk, Given};
use crate::limits::lsp_commands_profile::LOOK;
use crate::limits::profile::LIMIT;
use crate::lsp::actions::failed;
use crate::lsp::backend::{failed_inside, Backend};
use crate::lsp::document::Analyzed;
use crate::lsp::host::{Context, Need};
use crate::lsp::measured::Home;
use crate::lsp::panel::{self, Place};
use crate::profile::{client, run as run_there, run_kernel, Source};
use crate::rule_pages::Pages;

/// What is measured, and where.
struct Chosen {
    analyzed: Analyzed,
    pages: Arc<Pages>,
    what: What,
    /// See [`ide::measured_of`].
    of: Option<String>,
    path: PathBuf,
    given: Given,
    sizes: Vec<(String, i128)>,
    on: String,
    machine: device::Target,
}

enum What {
    /// The loop with this key.
    Loop(String),
    /// The kernel of this name.
    Kernel(String),
}

/// What stands at the place that is meant, and under what its measurements are kept.
fn what(context: &Context, target: &Target) -> Result<(Analyzed, What, Option<String>)> {
    let with_kernels = analyzed(context)?;
    if with_kernels.doc.language().kernels && target.id.is_none() {
        let name = ide::kernel_at(&with_kernels.doc, offset(context, target)?);
        let nothing = "There is no kernel at this place. Put the cursor on a kernel.";
        let name = name.ok_or_else(|| failed(nothing.to_owned()))?;
        return Ok((with_kernels.clone(), What::Kernel(name), None));
    }
    let (analyzed, finding) = loop_of(context, target)?;
    let of = ide::measured_of(&context.ask(analyzed), &analyzed.findings, finding);
    Ok((analyzed.clone(), What::Loop(finding.key.to_string()), of))
}

pub async fn run(backend: &Backend, call: Call) -> Result<Option<Value>> {
    let (uri, token) = (call.uri()?, call.token);
    let place = Place { uri: uri.as_str().to_owned(), name: "profile".to_owned() };
    let target = call.target;
    let path = uri.to_file_path().map_or_else(|| PathBuf::from(uri.path().as_str()), |p| p.into_owned());
    let find = move |context: &Context| {
        let (analyzed, what, of) = what(context, &target)?;
        let hosts = &context.settings.hosts;
        let on = target.on.as_ref().or(hosts.first()).map_or("local", String::as_str);
        if on != "local" && !hosts.iter().any(|h| h == on) {
            let what = format!("{on:?} is none of your hosts. Name it in the setting `warpwright.hosts`, of the user and not of a workspace.");
            return Err(failed(what));
        }
        Ok(Chosen {
            of,
            analyzed,
            pages: context.pages.clone(),
            what,
            path,
            given: context.settings.given(),
            sizes: target.sizes.iter().flatten().map(|(n, v)| (n.clone(), i128::from(*v))).collect(),
            machine: device::Target::read(on).map_err(failed)?,
            on: on.to_owned(),
        })
    };
    let chosen = backend.ask(uri, Need::ThisText, find).await?;
    let home = Home::of(&chosen.path, &backend.caps().roots);
    let of = chosen.of.clone();
    allowed(backend, &chosen).await?;
    let run = profile(backend, chosen, &place, token).await?;
    if let (Some(home), Some(of), true) = (&home, of, run.device.is_some()) {
        if let Err(e) = backend.measured.add(home, of, run.clone()) {
            tracing::warn!("the measurement was not kept: {e}");
        }
    }
    let history = home.map(|h| backend.measured.history(&h)).unwrap_or_default();
    panel::show(backend, &place, &panel::profiled(&run, &history), backend.caps().panels).await;
    refresh(backend);
    Ok(answer(&wire::Profile { version: wire::VERSION, runs: vec![run] }))
}

/// Whether the user lets something run there; asked once for each host of a session.
async fn allowed(backend: &Backend, chosen: &Chosen) -> Result<()> {
    let on = &chosen.on;
    let hosts = || backend.allowed_hosts.lock().unwrap_or_else(|e| e.into_inner());
    if chosen.machine == device::Target::Local || hosts().contains(on) {
        return Ok(());
    }
    let text = match &chosen.machine {
        device::Target::Slurm(_) => format!(
            "Run kernels on {on}? Warpwright starts a job there with `srun`, which asks for one GPU, and sends this function or kernel \
             and the texts that it needs; arrays are made there."
        ),
        _ => format!(
            "Run kernels on {on}? Warpwright copies a program of its own there (to .cache/warpwright, once), and sends this \
             function, its kernels and the texts that it needs; arrays are made there."
        ),
    };
    let button =
        |title: &str| lsp::MessageActionItem { title: title.to_owned(), properties: Default::default() };
    let buttons = Some(vec![button(RUN_THERE), button("Not now")]);
    let answer = backend.client.show_message_request(lsp::MessageType::INFO, text, buttons).await;
    match answer {
        Ok(Some(answer)) if answer.title == RUN_THERE => {
            hosts().insert(on.clone());
            Ok(())
        }
        _ => Err(failed(format!("Nothing was run on {on}: that was not allowed."))),
    }
}

const RUN_THERE: &str = "Run there";

/// Has the editor ask again for what stands at loops; nobody waits for it.
fn refresh(backend: &Backend) {
    let (caps, client) = (backend.caps(), backend.client.clone());
    backend.runtime.spawn(async move {
        if caps.refreshes_lenses {
            let _ = client.code_lens_refresh().await;
        }
        if caps.refreshes_hints {
            let _ = client.inlay_hint_refresh().await;
        }
    });
}

async fn profile(
    backend: &Backend,
    chosen: Chosen,
    place: &Place,
    token: Option<lsp::ProgressToken>,
) -> Result<wire::ProfileRun> {
    let caps = backend.caps();
    let cancel = CancelToken::new();
    let progress = Progress::begin(backend, &caps, token, TITLE, &cancel).await;
    panel::working(backend, place, "Measurement", TITLE, progress.token()).await;
    let (reply, answered) = oneshot::channel();
    let (stop, teller) = (cancel.clone(), progress.teller());
    // a request that is cancelled drops this guard and so ends the work
    let guard = Guard(cancel);
    backend.pool.long(Box::new(move || {
        let ran = measured(&chosen, &stop, &teller);
        let _ = reply.send((ran, stop.is_cancelled()));
    }));
    // who calls it off does not wait until it has stopped
    let answered = tokio::select! {
        answered = answered => answered.map(|(ran, off)| if off { None } else { Some(ran) }),
        () = called_off(&guard.0) => Ok(None),
    };
    drop(guard);
    let Ok(ran) = answered else {
        progress.end("failed");
        let what = "It ended with a fault of Warpwright's own; nothing was found out.";
        panel::ended(backend, place, "Measurement", what).await;
        return Err(failed_inside());
    };
    let Some(ran) = ran else {
        progress.end("cancelled");
        panel::ended(backend, place, "Measurement", "Called off; nothing was found out.").await;
        return Err(Error::request_cancelled());
    };
    match ran {
        Ok(run) => {
            progress.end(if run.kernel_ns.is_some() { "measured" } else { "not measured" });
            Ok(run)
        }
        Err(why) => {
            progress.end("not measured");
            panel::ended(backend, place, "Measurement", &why).await;
            Err(failed(why))
        }
    }
}

/// Comes when the work is called off.
async fn called_off(cancel: &CancelToken) {
    while !cancel.is_cancelled() {
        tokio::time::sleep(LOOK).await;
    }
}

/// `Err`: a sentence.
fn measured(
    chosen: &Chosen,
    stop: &CancelToken,
    teller: &Teller,
) -> std::result::Result<wire::ProfileRun, String> {
    let Chosen { analyzed, given, path, .. } = chosen;
    let ask = analyzed.ask(stop).with_pages(&chosen.pages.set);
    let recorded = recorded(chosen, &ask)?;
    let transport = device::Transport::of_this_program().map_err(|e| e.to_string())?;
    let tell = |what: &str| teller.say(what);
    let mut there = client(transport.command(&chosen.machine, &tell)?, LIMIT);
    // headers are found where the analysis finds them
    let disk = Disk::default();
    let source = Source {
        path,
        ask: &ask,
        findings: &analyzed.findings,
        limit: LIMIT,
        headers: disk.for_compiler(path, given),
        of_part: &|place| disk.for_compiler(std::path::Path::new(place), given),
    };
    let tell = &mut |what: &str| teller.say(what);
    Ok(match &recorded {
        Recorded::Loop(one) => run_there(&source, one, &chosen.on, &mut there, stop, tell),
        Recorded::Kernel(k) => run_kernel(&source, k, &chosen.on, &mut there, stop, tell),
    })
}

enum Recorded {
    Loop(Box<ide::Recorded>),
    Kernel(Box<ide::RecordedKernel>),
}

/// `Err`: a sentence.
fn recorded(chosen: &Chosen, ask: &ide::Ask) -> std::result::Result<Recorded, String> {
    match &chosen.what {
        What::Loop(key) => {
            let which = ide::Which::Key(key.clone());
            let all = ide::record(ask, &chosen.analyzed.findings, &which, &chosen.sizes);
            let one = all.into_iter().next().ok_or("The loop is not there any more.")?.1?;
            Ok(Recorded::Loop(Box::new(one)))
        }
        What::Kernel(name) => {
            let options = ide::SimulateOptions { kernel: Some(name.clone()), ..Default::default() };
            let all = ide::record_kernels(ask, &options, &chosen.sizes);
            let one = all.into_iter().next().ok_or("The kernel is not there any more.")?.1;
            Ok(Recorded::Kernel(Box::new(one.map_err(|why| format!("Not measured: {why}."))?)))
        }
    }
}

/// What is being done.
const TITLE: &str = "Measuring the kernel on the GPU";
