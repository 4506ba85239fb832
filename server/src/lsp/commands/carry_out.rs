//! What an action or a command came to, carried out by the client: an edit applied, a text shown.

use std::sync::Arc;

use base::{CancelToken, Span};
use serde_json::Value;
use tower_lsp::jsonrpc::{Error, Result};
use tower_lsp::ls_types as lsp;
use wire::{ActionData, LoopsOfFile, Target};

use super::progress::{Guard, Progress};
use super::target::{analyzed, offset};
use super::{answer, Call};
use crate::lsp::actions::{failed, make, make_for, Made};
use crate::lsp::backend::{failed_inside, Backend};
use crate::lsp::document::file_name;
use crate::lsp::edits::{self, Of, Plan};
use crate::lsp::host::{Context, Need};
use crate::lsp::panel::{self, Place, Report};
use crate::lsp::survey::Survey;

/// Does what the action of this verb does: the one named by its id, or the one offered at the place.
pub async fn action(backend: &Backend, verb: &'static str, call: Call) -> Result<Option<Value>> {
    if let Some(files) = call.target.files {
        return many(backend, verb, files, call.token).await;
    }
    let uri = call.uri()?;
    let place = Place { uri: uri.as_str().to_owned(), name: verb.to_owned() };
    let find = move |context: &Context| find_and_make(context, verb, &call.target);
    let made = backend.ask(uri, Need::ThisText, find).await?;
    carry_out(backend, &place, made).await
}

fn find_and_make(context: &Context, verb: &str, target: &Target) -> Result<Made> {
    if let (Some(id), Some(version), Some(uri)) = (&target.id, target.version, &target.uri) {
        return make_for(context, &ActionData { uri: uri.clone(), version, id: id.clone() });
    }
    let analyzed = analyzed(context)?;
    if let Some(id) = &target.id {
        return make(context, analyzed, id);
    }
    let prefix = format!("{verb}:");
    let at = offset(context, target)?;
    let at = Span { start: at, end: at };
    let header = analyzed.findings.loop_around(at.start).map(|l| l.header);
    let mut reason = None;
    for place in [Some(at), header].into_iter().flatten() {
        for action in ide::actions(&context.ask(analyzed), &analyzed.findings, place) {
            let id = action.id.to_string();
            if !id.starts_with(&prefix) {
                continue;
            }
            match action.disabled {
                None => return make(context, analyzed, &id),
                Some(why) => reason = Some(why),
            }
        }
    }
    Err(failed(
        reason.unwrap_or_else(|| format!("There is nothing to {verb} here. Put the cursor on a loop.")),
    ))
}

/// Has the client apply an edit, or show a text.
async fn carry_out(backend: &Backend, place: &Place, made: Made) -> Result<Option<Value>> {
    match made {
        Made::Show { title, markdown } => {
            panel::show(backend, place, &Report::of_markdown(&title, &markdown), false).await;
            Ok(answer(&wire::Text { title, markdown }))
        }
        Made::Edit(plan) => apply(backend, plan).await.map(|done| answer(&done)),
    }
}

pub async fn apply(backend: &Backend, plan: Plan) -> Result<wire::EditApplied> {
    let caps = backend.caps.get().cloned().unwrap_or_default();
    if !caps.applies_edits {
        return Err(failed("The editor applies no edits of servers (workspace/applyEdit).".to_owned()));
    }
    let plan = Arc::new(plan);
    let mut written = Vec::new();
    if !edits::client_creates(&caps) && !plan.create.is_empty() {
        let writer = plan.clone();
        let done = tokio::task::spawn_blocking(move || writer.write_files()).await;
        written = done.map_err(|_| failed_inside())?.map_err(failed)?;
    }
    let answer = backend.client.apply_edit(plan.to_lsp(&caps)).await;
    let refused = match answer {
        Ok(answer) if answer.applied => None,
        Ok(answer) => Some(answer.failure_reason.unwrap_or_else(|| "it gave no reason".to_owned())),
        Err(e) => Some(e.to_string()),
    };
    if let Some(why) = refused {
        edits::take_back(&written);
        return Err(failed(format!("The editor did not apply the edit ({why}). Nothing was changed.")));
    }
    backend.tell(&plan.told).await;
    let created = plan.create.iter().map(|f| f.uri.as_str().to_owned()).collect();
    Ok(wire::EditApplied { applied: true, created })
}

/// Does it with loops of several files, in one edit.
async fn many(
    backend: &Backend,
    verb: &'static str,
    files: Vec<LoopsOfFile>,
    token: Option<lsp::ProgressToken>,
) -> Result<Option<Value>> {
    let survey = Arc::new(backend.survey().await?);
    let caps = survey.caps.clone();
    let (title, label) = match verb {
        "mark" => ("Marking loops", "Mark for the GPU"),
        _ => ("Offloading loops", "Offload to the GPU"),
    };
    let cancel = CancelToken::new();
    let progress = Progress::begin(backend, &caps, token, title, &cancel).await;
    // a request that is cancelled drops this guard and so ends the work
    let _guard = Guard(cancel.clone());
    let teller = progress.teller();
    let (mut plans, mut left_out): (Vec<Plan>, Vec<String>) = (Vec::new(), Vec::new());
    let (all, loops) = (files.len(), files.iter().map(|f| f.keys.len()).sum::<usize>());
    for (done, file) in files.into_iter().enumerate() {
        let uri: lsp::Uri =
            file.uri.parse().map_err(|_| Error::invalid_params(format!("{} is no address.", file.uri)))?;
        let name = file_name(&uri);
        let (survey, stop) = (survey.clone(), cancel.clone());
        let make = move || {
            let made = made_of(&survey, verb, (&uri, &file), &plans, &stop);
            (made, plans)
        };
        let (made, before) = backend.on_pool(make).await?;
        plans = before;
        match made {
            Ok((plan, others)) => {
                plans.push(plan);
                left_out.extend(others.iter().map(|o| format!("{name}: {o}")));
            }
            Err(Some(why)) => left_out.push(format!("{name}: {why}")),
            Err(None) => return Err(Error::request_cancelled()),
        }
        teller.tell(done + 1, all, "files");
    }
    progress.end("done");
    if plans.is_empty() {
        return Err(failed(left_out.join(" ")));
    }
    let label = (loops > 1).then_some(label);
    let plan = edits::joined(plans, label, &left_out, &caps);
    let is_shown = plan.is_shown();
    match apply(backend, plan).await {
        Ok(wire::EditApplied { created, .. }) => {
            Ok(answer(&wire::FilesEdited { applied: true, created, left_out }))
        }
        // who was shown the edit has thrown it away
        Err(_) if is_shown => {
            Ok(answer(&wire::FilesEdited { applied: false, created: Vec::new(), left_out: Vec::new() }))
        }
        Err(e) => Err(e),
    }
}

/// The edit of one file, and which of its loops stay as they are. `Err(None)`: called off.
fn made_of(
    survey: &Survey,
    verb: &str,
    (uri, file): (&lsp::Uri, &LoopsOfFile),
    others: &[Plan],
    cancel: &CancelToken,
) -> std::result::Result<(Plan, Vec<String>), Option<String>> {
    let looked = survey.look(uri, cancel).ok_or_else(|| {
        (!cancel.is_cancelled()).then(|| "it cannot be read, or is in no language that is.".to_owned())
    })?;
    if looked.text() != file.text {
        return Err(Some("it has changed since its loops were listed. List them again.".to_owned()));
    }
    if !looked.is_utf8 {
        return Err(Some(
            "its characters are not UTF-8. Open it in its encoding, and offload there.".to_owned(),
        ));
    }
    let ask = looked.analyzed.ask(cancel).with_pages(&survey.pages.set);
    let findings = &looked.analyzed.findings;
    let edit = match verb {
        "mark" => ide::mark_all(&ask, findings, &file.keys).map_err(|e| match e {
            ide::ResolveError::Cancelled => None,
            ide::ResolveError::Refused(why) => Some(why),
            ide::ResolveError::Stale => Some("they are marked already.".to_owned()),
        })?,
        _ => match ide::offload(&ask, findings, &ide::Which::Keys(file.keys.clone())) {
            Ok(made) => made.edit,
            Err(ide::Refused::Cancelled) => return Err(None),
            Err(ide::Refused::Because(why)) => return Err(Some(why)),
            Err(ide::Refused::Stale) => {
                return Err(Some("there is no such loop in it. List them again.".to_owned()))
            }
        },
    };
    let of = Of { uri: &looked.uri, version: looked.version, text: looked.analyzed.doc.text() };
    let plan = edits::plan_of(&edit, of, &survey.caps, others).map_err(Some)?;
    Ok((plan, edit.left_out))
}
