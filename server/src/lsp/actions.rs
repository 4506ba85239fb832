//! Code actions made out of the facts they were listed from, for the client that resolves one and for commands.

use tower_lsp::jsonrpc::{Error, ErrorCode, Result};

use wire::ActionData;

use super::document::Analyzed;
use super::edits::{self, Plan};
use super::host::Context;

/// What ids of applications of rule systems begin with.
pub const RULES_ID: &str = "rules.";

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
    let findings = &analyzed.findings;
    let applied = ide::apply_rules(&context.ask(analyzed), findings, &context.pages.set, system, target);
    let applied = applied.map_err(|refused| match refused {
        ide::Refused::Stale => stale(),
        ide::Refused::Cancelled => Error::request_cancelled(),
        ide::Refused::Because(why) => failed(why),
    })?;
    let plan = edits::plan(&applied.edit, &context.view, &context.caps).map_err(failed)?;
    Ok((applied, plan))
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
    let id = ide::ActionId::parse(id).ok_or_else(stale)?;
    let resolved = ide::resolve(&context.ask(analyzed), &analyzed.findings, &id);
    match resolved {
        Ok(ide::Resolved::Edit(edit)) => {
            edits::plan(&edit, &context.view, &context.caps).map(Made::Edit).map_err(failed)
        }
        other => shown(other).map(|(title, markdown)| Made::Show { title, markdown }),
    }
}

/// What is to be shown, or why nothing is.
pub fn shown(resolved: std::result::Result<ide::Resolved, ide::ResolveError>) -> Result<(String, String)> {
    match resolved {
        Ok(ide::Resolved::Show { title, markdown, .. }) => Ok((title, markdown)),
        // an edit is nothing to be shown
        Ok(ide::Resolved::Edit(_)) | Err(ide::ResolveError::Stale) => Err(stale()),
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
