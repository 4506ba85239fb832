//! `textDocument/codeAction`: actions listed out of facts; they are made into edits when the client asks for one of them.
//!
//! A client that cannot resolve lazily gets cheap edits at once and the others as commands, as does one that cannot
//! create files: the server then writes them itself.

use serde_json::json;
use tower_lsp::jsonrpc::Result;
use tower_lsp::ls_types as lsp;
use wire::ActionData;

use crate::includes::holding;
use crate::lsp::actions::{make, Made, RULES_ID};
use crate::lsp::backend::Backend;
use crate::lsp::document::{range_from_lsp, Analyzed, View};
use crate::lsp::host::{Context, Need};
use crate::lsp::{edits, pages, to_lsp};
use crate::rule_pages::is_page;

/// Folders that are offered for the headers of a file.
const OFFERED: usize = 3;
const RULES_KIND: &str = "refactor.rewrite.warpwright.rules";
const VERIFY_KIND: &str = "refactor.rewrite.warpwright.verify";

pub async fn run(
    backend: &Backend,
    params: lsp::CodeActionParams,
) -> Result<Option<lsp::CodeActionResponse>> {
    let (range, only) = (params.range, params.context.only);
    let list = move |context: &Context| Ok(Some(list(context, range, only.as_deref())));
    backend.ask(params.text_document.uri, Need::ThisText, list).await
}

/// The actions at a range.
fn list(
    context: &Context,
    range: lsp::Range,
    only: Option<&[lsp::CodeActionKind]>,
) -> lsp::CodeActionResponse {
    let view = &context.view;
    let Some(analyzed) = &view.analyzed else {
        let is_page = edits::local_path(&view.uri).is_some_and(|p| is_page(&p));
        if !is_page || !wanted(only, "quickfix") || !context.caps.action_literals {
            return Vec::new();
        }
        return pages::fixes(&view.uri, view.diagnostics(&context.caps), range);
    };
    let span = view.text.span_of(range_from_lsp(range), context.caps.encoding);
    let mut listed = Vec::new();
    if context.caps.panels && wanted(only, "quickfix") {
        listed.extend(folders_of_headers(context, analyzed, range));
    }
    let mut actions = ide::actions(&context.ask(analyzed), &analyzed.findings, span);
    // who asks for refactorings gets all of them; a light bulb is not to be flooded
    if only.is_some_and(|wishes| wishes.iter().any(|w| w.as_str().starts_with("refactor"))) {
        actions.extend(ide::refactorings(&context.ask(analyzed), &analyzed.findings, span));
    }
    let (last, actions): (Vec<_>, Vec<_>) =
        actions.into_iter().partition(|a| matches!(a.id, ide::ActionId::Ignore { .. }));
    for action in actions {
        if let Some(kind) = kinds(action.kind).into_iter().find(|k| wanted(only, k)) {
            listed.extend(one(context, analyzed, &action, kind));
        }
        // what can be offloaded can be compared with its kernel
        if action.id.is_offload() && action.disabled.is_none() && wanted(only, VERIFY_KIND) {
            let data = data(view, &action);
            let title = "Verify against the kernel (simulator)".to_owned();
            listed.push(as_command(context, title, VERIFY_KIND, "warpwright.verify", &data));
        }
    }
    // pages of the user's own are wanted; of the shipped ones only by who asks for refactorings
    let all = only.is_some_and(|wishes| wishes.iter().any(|w| w.as_str().starts_with("refactor")));
    if wanted(only, RULES_KIND) {
        let pages = &context.pages;
        let chosen = |page: &str| all || pages.own.contains(page);
        let findings = &analyzed.findings;
        for offer in ide::rule_offers(&context.ask(analyzed), findings, &pages.set, chosen, span) {
            listed.extend(by_rules(context, offer));
        }
    }
    // whoever accepts what comes first is not to suppress a finding
    for action in last {
        let kind = kinds(action.kind).into_iter().find(|k| wanted(only, k));
        listed.extend(kind.and_then(|k| one(context, analyzed, &action, k)));
    }
    listed
}

/// For headers that were not found the folders of the project that hold them: the editor adds one to its settings.
fn folders_of_headers(
    context: &Context,
    analyzed: &Analyzed,
    range: lsp::Range,
) -> Vec<lsp::CodeActionOrCommand> {
    let view = &context.view;
    let Some(path) = edits::local_path(&view.uri) else { return Vec::new() };
    let found = view.diagnostics(&context.caps);
    let is_missing = |d: &&lsp::Diagnostic| {
        let code = matches!(&d.code, Some(lsp::NumberOrString::String(code)) if code == "missing-header");
        code && d.range.start <= range.end && range.start <= d.range.end
    };
    let mut out = Vec::new();
    for d in found.iter().filter(is_missing) {
        let headers = ide::missing_headers(&analyzed.doc);
        let at = |span| to_lsp::range(span, &view.text, &context.caps);
        if !headers.iter().any(|(span, _)| at(*span) == d.range) {
            continue;
        }
        let mut root = std::path::PathBuf::new();
        let mut folders = Vec::new();
        for (_, name) in &headers {
            let (of, some) = holding(&path, name);
            root = of;
            for folder in some {
                if !folders.contains(&folder) {
                    folders.push(folder);
                }
            }
        }
        for (k, folder) in folders.iter().take(OFFERED).enumerate() {
            let shown = folder.strip_prefix(&root).unwrap_or(folder).display().to_string();
            let title = format!(
                "Look for headers in {}",
                if shown.is_empty() { "the project's folder" } else { &shown }
            );
            let command = lsp::Command {
                title: title.clone(),
                command: "warpwright.addIncludePath".to_owned(),
                arguments: Some(vec![json!(view.uri.as_str()), json!(folder)]),
            };
            let action = lsp::CodeAction {
                title,
                kind: Some(lsp::CodeActionKind::QUICKFIX),
                diagnostics: Some(vec![d.clone()]),
                command: Some(command),
                is_preferred: Some(k == 0),
                ..Default::default()
            };
            out.push(action.into());
        }
    }
    out
}

/// The action that applies a rule system.
fn by_rules(context: &Context, offer: ide::RuleOffer) -> Option<lsp::CodeActionOrCommand> {
    let (caps, view) = (&context.caps, &context.view);
    let id = format!("{RULES_ID}{}:{}", offer.system, offer.target.text());
    let data = ActionData { uri: view.uri.to_string(), version: view.version, id };
    // files are written by the server where the client cannot create any
    let by_client = !offer.makes_files || edits::client_creates(caps);
    if caps.action_literals && caps.action_resolve && by_client {
        let action = lsp::CodeAction {
            title: offer.title,
            kind: Some(RULES_KIND.into()),
            data: Some(json!(data)),
            ..Default::default()
        };
        return Some(action.into());
    }
    caps.applies_edits.then(|| as_command(context, offer.title, RULES_KIND, "warpwright.applyRules", &data))
}

fn wanted(only: Option<&[lsp::CodeActionKind]>, kind: &str) -> bool {
    let fits = |wish: &lsp::CodeActionKind| {
        let wish = wish.as_str();
        wish.is_empty() || kind == wish || kind.strip_prefix(wish).is_some_and(|rest| rest.starts_with('.'))
    };
    only.is_none_or(|wishes| wishes.is_empty() || wishes.iter().any(fits))
}

/// What an action is listed as. What answers a finding is a quick fix first: editors list these before all others, and some
/// list nothing else.
fn kinds(kind: ide::ActionKind) -> [&'static str; 2] {
    match kind {
        ide::ActionKind::Offload => ["quickfix.warpwright.offload", kind.name()],
        ide::ActionKind::Explain => ["quickfix.warpwright.explain", kind.name()],
        kind => [kind.name(); 2],
    }
}

fn data(view: &View, action: &ide::Action) -> ActionData {
    ActionData { uri: view.uri.to_string(), version: view.version, id: action.id.to_string() }
}

fn one(
    context: &Context,
    analyzed: &Analyzed,
    action: &ide::Action,
    kind: &'static str,
) -> Option<lsp::CodeActionOrCommand> {
    let (caps, view) = (&context.caps, &context.view);
    if action.disabled.is_some() && !(caps.action_disabled && caps.action_literals) {
        return None;
    }
    let data = data(view, action);
    let mut listed = lsp::CodeAction {
        title: action.title.clone(),
        kind: Some(kind.into()),
        diagnostics: (!action.diagnostics.is_empty()).then(|| {
            action.diagnostics.iter().filter_map(|k| view.diagnostics(caps).get(*k).cloned()).collect()
        }),
        is_preferred: (caps.action_preferred && action.preferred).then_some(true),
        ..Default::default()
    };
    if let Some(reason) = &action.disabled {
        listed.disabled = Some(lsp::CodeActionDisabled { reason: reason.clone() });
        return Some(listed.into());
    }
    let command = command_of(action);
    let makes_files = action.kind == ide::ActionKind::Offload;
    let costly = makes_files || matches!(action.kind, ide::ActionKind::Transform(_));
    if action.kind == ide::ActionKind::Explain || !caps.action_literals {
        return Some(as_command(context, listed.title, kind, command, &data));
    }
    if makes_files && !edits::client_creates(caps) {
        if !caps.applies_edits {
            return None;
        }
        listed.command = Some(command_to(&listed.title, command, &data));
    } else if caps.action_resolve {
        listed.data = Some(json!(data));
    } else if costly && caps.applies_edits {
        listed.command = Some(command_to(&listed.title, command, &data));
    } else {
        let made = make(context, analyzed, &data.id).ok()?;
        let Made::Edit(plan) = made else { return None };
        listed.edit = Some(plan.to_lsp(caps));
    }
    Some(listed.into())
}

/// The command that does what the action does.
fn command_of(action: &ide::Action) -> &'static str {
    match action.kind {
        ide::ActionKind::Offload => "warpwright.offload",
        ide::ActionKind::Mark => "warpwright.mark",
        ide::ActionKind::QuickFix => "warpwright.unmark",
        ide::ActionKind::Explain => "warpwright.explain",
        ide::ActionKind::Transform(_) => "warpwright.transform",
    }
}

fn command_to(title: &str, command: &str, data: &ActionData) -> lsp::Command {
    lsp::Command { title: title.to_owned(), command: command.to_owned(), arguments: Some(vec![json!(data)]) }
}

fn as_command(
    context: &Context,
    title: String,
    kind: &'static str,
    command: &str,
    data: &ActionData,
) -> lsp::CodeActionOrCommand {
    let command = command_to(&title, command, data);
    if !context.caps.action_literals {
        return command.into();
    }
    lsp::CodeAction { title, kind: Some(kind.into()), command: Some(command), ..Default::default() }.into()
}
