//! `workspace/executeCommand`: every action once more, for keys, menus and clients without code actions, and what
//! takes long.
//!
//! The one argument is an object: `{"uri", "version"?, "id"?}` for a listed action, or `{"uri", "position"}` or
//! `{"uri", "line"}` (from 0) for the loop there.

use std::sync::Arc;

use base::{CancelToken, Span};
use serde::Deserialize;
use serde_json::{json, Value};
use tokio::sync::oneshot;
use tower_lsp::jsonrpc::{Error, Result};
use tower_lsp::ls_types as lsp;

use super::actions::{apply_rules, failed, make, make_for, rules_of_id, stale, ActionData, Made};
use super::backend::{failed_inside, Backend};
use super::caps::Caps;
use super::document::{position_from_lsp, Analyzed};
use super::edits::{self, Plan};
use super::host::{Context, Need};
use super::outgoing::Outgoing;
use crate::cli::report::loop_value;

#[derive(Deserialize, Debug, Clone)]
struct Target {
    uri: Option<lsp::Uri>,
    version: Option<i32>,
    id: Option<String>,
    position: Option<lsp::Position>,
    line: Option<u32>,
    code: Option<String>,
    /// A rule system.
    system: Option<String>,
    /// What it is applied to: `loop`, `function` or `file`.
    scope: Option<String>,
    /// Whether the result is only to be told.
    preview: Option<bool>,
}

/// The command that does what an action of this id does.
pub fn command_of_id(id: &str) -> &'static str {
    match id.split(':').next() {
        Some("offload") => "warpwright.offload",
        Some("mark") => "warpwright.mark",
        Some("explain") => "warpwright.explain",
        Some("simulate") => "warpwright.simulate",
        Some(name) if name == "enable" || name.starts_with("transform") => "warpwright.transform",
        _ => "warpwright.unmark",
    }
}

pub async fn run(backend: &Backend, params: lsp::ExecuteCommandParams) -> Result<Option<Value>> {
    let token = params.work_done_progress_params.work_done_token;
    let Some(verb) = params.command.strip_prefix("warpwright.") else {
        return Err(Error::invalid_params(format!("There is no command {}.", params.command)));
    };
    if verb == "profile" {
        let why =
            "Profiling is not supported yet: this version launches no kernels on a GPU. Use the command \
                   warpwright.verify to compare results in the simulator.";
        return Err(failed(why.to_owned()));
    }
    let target = target(&params.command, params.arguments)?;
    if let ("explain", Some(code)) = (verb, &target.code) {
        let page = crate::codes::explain(code).ok_or_else(|| failed(format!("There is no code {code}.")))?;
        return Ok(Some(json!({"title": code, "markdown": page})));
    }
    let Some(uri) = target.uri.clone() else {
        return Err(Error::invalid_params(format!("{} needs {{\"uri\": …}}.", params.command)));
    };
    match verb {
        "applyRules" => rewrite(backend, uri, target).await,
        "listRules" => backend.ask(uri, Need::Newest, |context| Ok(Some(rules_value(context)))).await,
        "offload" | "mark" | "unmark" | "explain" | "simulate" | "transform" => {
            let verb = verb.to_owned();
            let made = backend
                .ask(uri, Need::ThisText, move |context| find_and_make(context, &verb, &target))
                .await?;
            carry_out(backend, made).await
        }
        "showDependences" => {
            let find = move |context: &Context| {
                let (analyzed, finding) = loop_of(context, &target)?;
                let which = ide::Which::Key(finding.key.to_string());
                let view =
                    ide::show_dependences(&analyzed.doc, &analyzed.findings, &which).map_err(|_| stale())?;
                let mut value = loop_value(finding.report());
                if let (Some(all), Value::Object(page)) = (value.as_object_mut(), page(&view)) {
                    all.extend(page);
                }
                Ok(Some(value))
            };
            backend.ask(uri, Need::ThisText, find).await
        }
        "showCallGraph" => {
            let find =
                move |context: &Context| Ok(Some(page(&ide::show_call_graph(&analyzed(context)?.doc))));
            backend.ask(uri, Need::ThisText, find).await
        }
        "showTerms" => {
            let find = move |context: &Context| {
                let all = analyzed(context)?;
                // the function around the place, if a loop is there; else the whole document
                let which = loop_of(context, &target).ok().map(|(_, l)| ide::Which::Key(l.key.to_string()));
                let view = ide::show_terms(&all.doc, &all.findings, which.as_ref()).map_err(|_| stale())?;
                Ok(Some(page(&view)))
            };
            backend.ask(uri, Need::ThisText, find).await
        }
        "verify" => {
            let chosen = backend
                .ask(uri, Need::ThisText, move |context| {
                    let (analyzed, finding) = loop_of(context, &target)?;
                    Ok((analyzed.clone(), finding.key.to_string()))
                })
                .await?;
            verify(backend, chosen, token).await
        }
        _ => Err(Error::invalid_params(format!("There is no command {}.", params.command))),
    }
}

/// The rule systems that can be applied, one a page.
fn rules_value(context: &Context) -> Value {
    let pages = &context.pages;
    let one = |page: &Arc<ide::RulePage>| {
        page.main().map(|system| {
            json!({
                "system": &*system.name, "title": page.title, "about": page.prose, "own": pages.own.contains(&*page.name),
                "trust": page.trust.as_ref().map(ide::RuleTrust::text),
            })
        })
    };
    json!({"systems": pages.set.pages.iter().filter_map(one).collect::<Vec<_>>()})
}

/// Applies a rule system to a loop, a function or the file; or only tells what would come of it.
async fn rewrite(backend: &Backend, uri: lsp::Uri, target: Target) -> Result<Option<Value>> {
    let preview = target.preview.unwrap_or(false);
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
    let files: Vec<Value> =
        applied.edit.create.iter().map(|f| json!({"name": f.name, "text": f.text})).collect();
    let mut told = json!({
        "title": applied.title, "checked": applied.checked, "ran": applied.ran, "derivation": applied.derivation, "text": applied.text,
        "files": files,
    });
    if !preview {
        let done = apply(backend, plan).await?;
        told["applied"] = json!(true);
        told["created"] = done["created"].clone();
    }
    Ok(Some(told))
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

/// A page for clients to show.
fn page(view: &ide::View) -> Value {
    json!({"title": view.title, "markdown": view.markdown, "dot": view.dot})
}

fn target(command: &str, arguments: Vec<Value>) -> Result<Target> {
    let first = arguments.into_iter().next().unwrap_or(Value::Null);
    serde_json::from_value(first).map_err(|e| {
        let example = "{\"uri\": …, \"position\": {\"line\": 0, \"character\": 0}}";
        Error::invalid_params(format!("{command} needs one argument such as {example}: {e}."))
    })
}

fn analyzed(context: &Context) -> Result<&Analyzed> {
    context.view.analyzed.as_ref().ok_or_else(|| {
        failed("This document is not analyzed: its language is not read, or its analysis failed.".to_owned())
    })
}

/// The loop an argument speaks of: by an action's id, or the innermost around a place.
fn loop_of<'a>(context: &'a Context, target: &Target) -> Result<(&'a Analyzed, &'a ide::LoopFinding)> {
    let analyzed = analyzed(context)?;
    if target.version.is_some_and(|version| version != context.view.version) {
        return Err(stale());
    }
    let finding = match &target.id {
        Some(id) => id.split_once(':').and_then(|(_, key)| analyzed.findings.by_key(key)),
        None => {
            let offset = offset(context, target)?;
            let on_line = || {
                let line = context.view.text.line_of(offset) + 1;
                analyzed.findings.on_line(line)
            };
            analyzed.findings.loop_around(offset).or_else(on_line)
        }
    };
    let nothing = || failed("There is no loop at this place. Put the cursor on a loop.".to_owned());
    finding.map(|finding| (analyzed, finding)).ok_or_else(nothing)
}

fn offset(context: &Context, target: &Target) -> Result<u32> {
    let text = &context.view.text;
    match (target.position, target.line) {
        (Some(position), _) => Ok(text.offset_of(position_from_lsp(position), context.caps.encoding)),
        (None, Some(line)) => {
            let indentation = text.indentation_of(line).len() as u32;
            Ok(text.line_span(line).map_or(text.len(), |span| span.start + indentation))
        }
        (None, None) => Err(Error::invalid_params("The argument needs an id, a position or a line.")),
    }
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
        for action in ide::actions(&analyzed.doc, &analyzed.findings, place) {
            if !action.id.as_str().starts_with(&prefix) {
                continue;
            }
            match action.disabled {
                None => return make(context, analyzed, action.id.as_str()),
                Some(why) => reason = Some(why),
            }
        }
    }
    Err(failed(
        reason.unwrap_or_else(|| format!("There is nothing to {verb} here. Put the cursor on a loop.")),
    ))
}

/// Has the client apply an edit, or show a text.
async fn carry_out(backend: &Backend, made: Made) -> Result<Option<Value>> {
    match made {
        Made::Show { title, markdown } => {
            // the loop's own part; the pages behind it are for those who read the result
            let own = markdown.split("\n---\n").next().unwrap_or_default();
            backend.client.show_message(lsp::MessageType::INFO, plain(own)).await;
            Ok(Some(json!({"title": title, "markdown": markdown})))
        }
        Made::Edit(plan) => apply(backend, plan).await.map(Some),
    }
}

async fn apply(backend: &Backend, plan: Plan) -> Result<Value> {
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
    let created: Vec<&str> = plan.create.iter().map(|f| f.uri.as_str()).collect();
    Ok(json!({"applied": true, "created": created}))
}

/// Runs the kernel beside the loop; shows progress, can be cancelled, says what came of it.
async fn verify(
    backend: &Backend,
    (analyzed, key): (Analyzed, String),
    token: Option<lsp::ProgressToken>,
) -> Result<Option<Value>> {
    let caps = backend.caps.get().cloned().unwrap_or_default();
    let cancel = CancelToken::new();
    let progress =
        Progress::begin(backend, &caps, token, "Verifying the kernel against the loop", &cancel).await;
    let (reply, answer) = oneshot::channel();
    let stop = cancel.clone();
    // a request that is cancelled drops this guard and so ends the work
    let guard = Guard(cancel);
    backend.pool.long(Box::new(move || {
        let which = ide::Which::Key(key);
        let options = ide::VerifyOptions::default();
        let reports = ide::verify(&analyzed.doc, &analyzed.findings, &analyzed.memo, &which, &options, &stop);
        let _ = reply.send((reports, stop.is_cancelled()));
    }));
    let answer = answer.await;
    drop(guard);
    let Ok((reports, cancelled)) = answer else {
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
    Ok(Some(json!({"reports": reports.iter().map(verify_value).collect::<Vec<_>>()})))
}

struct Guard(CancelToken);
impl Drop for Guard {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

/// One report in a sentence.
pub fn sentence(report: &ide::VerifyReport) -> String {
    format!("{}, line {}: {}", report.function, report.line, report.summary)
}

/// One report as JSON.
pub fn verify_value(report: &ide::VerifyReport) -> Value {
    let outcome = match &report.outcome {
        ide::Outcome::Same => "same",
        ide::Outcome::Different => "different",
        ide::Outcome::NotTried(_) => "not tried",
    };
    let case =
        |c: &ide::VerifyCase| json!({"input": c.input, "launches": c.launches, "difference": c.difference});
    json!({
        "function": report.function, "line": report.line, "outcome": outcome, "summary": report.summary, "checked": report.checked,
        "cases": report.cases.iter().map(case).collect::<Vec<_>>(),
    })
}

/// A progress display in the editor, if it has one.
struct Progress<'a> {
    backend: &'a Backend,
    token: Option<lsp::ProgressToken>,
}

impl<'a> Progress<'a> {
    async fn begin(
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

    fn end(mut self, message: &str) {
        self.close(message);
    }

    fn close(&mut self, message: &str) {
        self.say(&json!({"kind": "end", "message": message}));
        if let Some(token) = self.token.take() {
            self.backend.cancellable.lock().unwrap_or_else(|e| e.into_inner()).remove(&token_text(&token));
        }
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

/// Markdown as plain text: without the marks for emphasis, code and escapes.
pub fn plain(markdown: &str) -> String {
    let mut out = String::with_capacity(markdown.len());
    let mut fenced = false;
    for line in markdown.lines() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
            continue;
        }
        if fenced {
            out.push_str(line);
        } else {
            plain_line(line, &mut out);
        }
        out.push('\n');
    }
    out.truncate(out.trim_end().len());
    out
}

fn plain_line(line: &str, out: &mut String) {
    let text = line.trim_start_matches('#');
    let text = if text.len() < line.len() { text.trim_start() } else { line };
    let mut chars = text.chars().peekable();
    let mut in_code = false;
    while let Some(c) = chars.next() {
        match c {
            '`' => in_code = !in_code,
            '\\' if !in_code && chars.peek().is_some_and(char::is_ascii_punctuation) => {
                out.extend(chars.next())
            }
            '*' if !in_code && chars.peek() == Some(&'*') => drop(chars.next()),
            _ => out.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn markdown_without_marks() {
        let markdown = "## A *b*\n\n**Bold** `a[i] * 2 \\ x` and 2\\*3\n```c\nx = `y`;\n```\n- one";
        assert_eq!(super::plain(markdown), "A *b*\n\nBold a[i] * 2 \\ x and 2*3\nx = `y`;\n- one");
    }
}
