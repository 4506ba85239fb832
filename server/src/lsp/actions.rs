//! Code actions: listed out of facts, made into edits when the client asks for one of them.
//!
//! A client that cannot resolve lazily gets cheap edits at once and the others as commands, as does one that cannot
//! create files: the server then writes them itself.

use serde::{Deserialize, Serialize};
use serde_json::json;
use tower_lsp::jsonrpc::{Error, ErrorCode, Result};
use tower_lsp::ls_types as lsp;

use super::document::range_from_lsp;
use super::document::{Analyzed, View};
use super::edits::{self, Plan};
use super::host::Context;

/// What an action carries from its listing to its making.
#[derive(Serialize, Deserialize, Debug, Clone)]
pub struct ActionData {
    pub uri: lsp::Uri,
    pub version: i32,
    pub id: String,
}

/// The actions at a range.
pub fn list(
    context: &Context,
    range: lsp::Range,
    only: Option<&[lsp::CodeActionKind]>,
) -> lsp::CodeActionResponse {
    let view = &context.view;
    let Some(analyzed) = &view.analyzed else { return Vec::new() };
    let span = view.text.span_of(range_from_lsp(range), context.caps.encoding);
    let mut listed = Vec::new();
    let mut actions = ide::actions(&analyzed.doc, &analyzed.findings, span);
    // who asks for refactorings gets all of them; a light bulb is not to be flooded
    if only.is_some_and(|wishes| wishes.iter().any(|w| w.as_str().starts_with("refactor"))) {
        actions.extend(ide::refactorings(&analyzed.doc, &analyzed.findings, span, &context.cancel));
    }
    for action in actions {
        if wanted(only, action.kind.name()) {
            listed.extend(one(context, analyzed, &action));
        }
        // what can be offloaded can be compared with its kernel
        if action.kind == ide::ActionKind::Offload && action.disabled.is_none() && wanted(only, VERIFY_KIND) {
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
        let (doc, findings) = (&analyzed.doc, &analyzed.findings);
        for offer in ide::rule_offers(doc, findings, &pages.set, chosen, span, &context.cancel) {
            listed.extend(by_rules(context, offer));
        }
    }
    listed
}

/// The action that applies a rule system.
fn by_rules(context: &Context, offer: ide::RuleOffer) -> Option<lsp::CodeActionOrCommand> {
    let (caps, view) = (&context.caps, &context.view);
    let id = format!("{RULES_ID}{}:{}", offer.system, offer.target.text());
    let data = ActionData { uri: view.uri.clone(), version: view.version, id };
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

const RULES_KIND: &str = "refactor.rewrite.warpwright.rules";
/// What ids of applications of rule systems begin with.
const RULES_ID: &str = "rules.";

/// The system and target that an id names.
pub fn rules_of_id(id: &str) -> Option<(&str, ide::RuleTarget)> {
    let (system, target) = id.strip_prefix(RULES_ID)?.split_once(':')?;
    Some((system, ide::RuleTarget::parse(target)?))
}

/// Applies a rule system: what passed every check, with its edits for the client.
pub fn apply_rules(
    context: &Context,
    analyzed: &Analyzed,
    system: &str,
    target: &ide::RuleTarget,
) -> Result<(ide::RulesApplied, Plan)> {
    let (doc, findings) = (&analyzed.doc, &analyzed.findings);
    let applied = ide::apply_rules(doc, findings, &context.pages.set, system, target, &context.cancel);
    let applied = applied.map_err(|refused| match refused {
        ide::Refused::Stale => stale(),
        ide::Refused::Cancelled => Error::request_cancelled(),
        ide::Refused::Because(why) => failed(why),
    })?;
    let plan = edits::plan(&applied.edit, &context.view, &context.caps).map_err(failed)?;
    Ok((applied, plan))
}

const VERIFY_KIND: &str = "refactor.rewrite.warpwright.verify";

fn wanted(only: Option<&[lsp::CodeActionKind]>, kind: &str) -> bool {
    let fits = |wish: &lsp::CodeActionKind| {
        let wish = wish.as_str();
        wish.is_empty() || kind == wish || kind.strip_prefix(wish).is_some_and(|rest| rest.starts_with('.'))
    };
    only.is_none_or(|wishes| wishes.is_empty() || wishes.iter().any(fits))
}

fn data(view: &View, action: &ide::Action) -> ActionData {
    ActionData { uri: view.uri.clone(), version: view.version, id: action.id.as_str().to_owned() }
}

fn one(context: &Context, analyzed: &Analyzed, action: &ide::Action) -> Option<lsp::CodeActionOrCommand> {
    let (caps, view) = (&context.caps, &context.view);
    if action.disabled.is_some() && !(caps.action_disabled && caps.action_literals) {
        return None;
    }
    let data = data(view, action);
    let mut listed = lsp::CodeAction {
        title: action.title.clone(),
        kind: Some(action.kind.name().into()),
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
        return Some(as_command(context, listed.title, action.kind.name(), command, &data));
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

/// What an action came to.
pub enum Made {
    Edit(Plan),
    Show { title: String, markdown: String },
}

/// Makes the action that was listed for `data.version`, or says that the text is another now.
pub fn make_for(context: &Context, data: &ActionData) -> Result<Made> {
    if context.view.version != data.version {
        return Err(stale());
    }
    let Some(analyzed) = &context.view.analyzed else { return Err(stale()) };
    make(context, analyzed, &data.id)
}

/// Makes an action of this view.
pub fn make(context: &Context, analyzed: &Analyzed, id: &str) -> Result<Made> {
    if let Some((system, target)) = rules_of_id(id) {
        return apply_rules(context, analyzed, system, &target).map(|(_, plan)| Made::Edit(plan));
    }
    let id = ide::ActionId::new(id);
    let resolved = ide::resolve(&analyzed.doc, &analyzed.findings, &analyzed.memo, &id, &context.cancel);
    match resolved {
        Ok(ide::Resolved::Edit(edit)) => {
            edits::plan(&edit, &context.view, &context.caps).map(Made::Edit).map_err(failed)
        }
        Ok(ide::Resolved::Show { title, markdown }) => Ok(Made::Show { title, markdown }),
        Err(ide::ResolveError::Stale) => Err(stale()),
        Err(ide::ResolveError::Refused(reason)) => Err(failed(reason)),
        Err(ide::ResolveError::Cancelled) => Err(Error::request_cancelled()),
    }
}

/// The answer to a question about a text that is no longer there.
pub fn stale() -> Error {
    let message = "The document has changed since the action was listed. List the actions again.";
    Error { code: ErrorCode::ContentModified, message: message.into(), data: None }
}

/// LSP's RequestFailed: understood, and not possible for a reason.
pub fn failed(reason: String) -> Error {
    Error { code: ErrorCode::ServerError(-32803), message: reason.into(), data: None }
}
