//! `warpwright.applyRules`: a rule system applied to a loop, a function or the file.

use base::Span;
use serde_json::Value;
use tower_lsp::jsonrpc::{Error, Result};
use wire::Target;

use super::carry_out::apply;
use super::target::{analyzed, offset};
use super::{answer, Call};
use crate::lsp::actions::{apply_rules, failed, rules_of_id, stale};
use crate::lsp::backend::Backend;
use crate::lsp::document::Analyzed;
use crate::lsp::host::{Context, Need};
use crate::lsp::panel::{self, Cell, Part, Place, Report, Table};

pub async fn run(backend: &Backend, call: Call) -> Result<Option<Value>> {
    let uri = call.uri()?;
    rewrite(backend, uri, call.target).await
}

/// Applies a rule system to a loop, a function or the file; or only tells what would come of it.
async fn rewrite(backend: &Backend, uri: tower_lsp::ls_types::Uri, target: Target) -> Result<Option<Value>> {
    let preview = target.preview.unwrap_or(false);
    let explain = target.explain.unwrap_or(false);
    let place = Place { uri: uri.as_str().to_owned(), name: "derivation".to_owned() };
    let make = move |context: &Context| {
        let analyzed = analyzed(context)?;
        if target.version.is_some_and(|version| version != context.view.version) {
            return Err(stale());
        }
        let (system, scope) = match target.id.as_deref().map(rules_of_id) {
            Some(None) => return Err(stale()),
            Some(Some((system, scope))) => (system.to_owned(), scope),
            None => {
                let system = target.system.clone().ok_or_else(|| {
                    Error::invalid_params("warpwright.applyRules needs {\"uri\", \"system\", \"line\"}.")
                })?;
                (system, scope_of(context, analyzed, &target)?)
            }
        };
        apply_rules(context, analyzed, &system, &scope)
    };
    let (applied, plan) = backend.ask(uri, Need::ThisText, make).await?;
    if explain {
        panel::offer(backend, &place, &derivation(&applied)).await;
    }
    let file = |f: &ide::NewFile| wire::NewFile { name: f.name.clone(), text: f.text.clone() };
    let files = applied.edit.create.iter().map(file).collect();
    let done = match preview {
        true => None,
        false => Some(apply(backend, plan).await?),
    };
    Ok(answer(&wire::RulesApplied {
        title: applied.title,
        checked: applied.checked,
        ran: applied.ran,
        derivation: applied.derivation,
        text: applied.text,
        files,
        applied: done.as_ref().map(|d| d.applied),
        created: done.map(|d| d.created),
    }))
}

/// How a result came about, step by step.
fn derivation(applied: &ide::RulesApplied) -> Report {
    let step = |(k, words): (usize, &String)| vec![Cell::Number(k as u64 + 1), Cell::Words(words.clone())];
    let rows = applied.derivation.iter().enumerate().map(step).collect();
    let parts = vec![
        Part::Text(applied.checked.clone()),
        Part::Table(Table { heads: vec!["step", "rule and place"], rows }),
    ];
    Report { title: applied.title.clone(), parts }
}

fn scope_of(context: &Context, analyzed: &Analyzed, target: &Target) -> Result<ide::RuleTarget> {
    if target.scope.as_deref() == Some("file") {
        return Ok(ide::RuleTarget::File);
    }
    let at = offset(context, target)?;
    let (doc, findings) = (&analyzed.doc, &analyzed.findings);
    let header =
        findings.loop_around(at).map(|l| l.header).filter(|_| target.scope.as_deref() == Some("loop"));
    let span = header.unwrap_or(Span { start: at, end: at });
    let function = || ide::rule_function(doc, at);
    let found = match target.scope.as_deref() {
        Some("function") => function(),
        None | Some("loop") => ide::rule_target(doc, findings, span),
        Some(other) => {
            let what = format!("There is no scope `{other}`: loop, function and file are.");
            return Err(Error::invalid_params(what));
        }
    };
    found.ok_or_else(|| failed("There is no function at this place. Put the cursor into one.".to_owned()))
}
