//! What an action or a command came to, carried out by the client: an edit applied, a text shown.

use std::sync::Arc;

use base::Span;
use serde_json::Value;
use tower_lsp::jsonrpc::Result;
use wire::{ActionData, Target};

use super::target::{analyzed, offset};
use super::{answer, Call};
use crate::lsp::actions::{failed, make, make_for, Made};
use crate::lsp::backend::{failed_inside, Backend};
use crate::lsp::edits::{self, Plan};
use crate::lsp::host::{Context, Need};
use crate::lsp::panel::{self, Place, Report};

/// Does what the action of this verb does: the one named by its id, or the one offered at the place.
pub async fn action(backend: &Backend, verb: &'static str, call: Call) -> Result<Option<Value>> {
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
    let created = plan.create.iter().map(|f| f.uri.as_str().to_owned()).collect();
    Ok(wire::EditApplied { applied: true, created })
}
