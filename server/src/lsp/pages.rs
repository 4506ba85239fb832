//! What the editor shows in a rule page: what is wrong with it, and what may be written at a place. Deliberately absent:
//! which pages are in use (`rule_pages`).

use base::CancelToken;
use serde::{Deserialize, Serialize};
use serde_json::json;
use text::Text;
use tower_lsp::ls_types as lsp;

use super::caps::Caps;
use super::to_lsp;
use crate::prove::Prover;

/// What is to be said of a page, its examples run.
pub fn diagnostics(
    set: &ide::RuleSet,
    name: &str,
    text: &Text,
    caps: &Caps,
    cancel: &CancelToken,
) -> Vec<lsp::Diagnostic> {
    let check = ide::check_rule_page(set, name, &text.to_string(), Some(&Prover { cancel }), cancel);
    let one = |f: &ide::PageFinding| lsp::Diagnostic {
        range: to_lsp::range(f.span, text, caps),
        severity: Some(match f.severity {
            ide::RuleSeverity::Error => lsp::DiagnosticSeverity::ERROR,
            ide::RuleSeverity::Warning => lsp::DiagnosticSeverity::WARNING,
        }),
        code: Some(lsp::NumberOrString::String("rule-page".to_owned())),
        source: Some(to_lsp::SOURCE.to_owned()),
        message: f.message.clone(),
        data: f.fix.as_ref().map(|fix| {
            json!(Fix {
                title: fix.title.clone(),
                range: to_lsp::range(fix.span, text, caps),
                text: fix.text.clone(),
            })
        }),
        ..Default::default()
    };
    check.findings.iter().map(one).collect()
}

/// What mends a page, as it goes along with a diagnostic.
#[derive(Serialize, Deserialize)]
struct Fix {
    title: String,
    range: lsp::Range,
    text: String,
}

/// What mends what is told of a range of a page, whose diagnostics these are.
pub fn fixes(uri: &lsp::Uri, found: &[lsp::Diagnostic], range: lsp::Range) -> Vec<lsp::CodeActionOrCommand> {
    let touches = |d: &&lsp::Diagnostic| d.range.start <= range.end && range.start <= d.range.end;
    let one = |d: &lsp::Diagnostic| {
        let Fix { title, range, text } = Fix::deserialize(d.data.as_ref()?).ok()?;
        let changes = [(uri.clone(), vec![lsp::TextEdit { range, new_text: text }])];
        let action = lsp::CodeAction {
            title,
            kind: Some(lsp::CodeActionKind::QUICKFIX),
            diagnostics: Some(vec![d.clone()]),
            edit: Some(lsp::WorkspaceEdit { changes: Some(changes.into()), ..Default::default() }),
            is_preferred: Some(true),
            ..Default::default()
        };
        Some(action.into())
    };
    found.iter().filter(touches).filter_map(one).collect()
}

/// What may be written at an offset of a page.
pub fn completions(set: &ide::RuleSet, text: &Text, offset: u32, caps: &Caps) -> Vec<lsp::CompletionItem> {
    let kind = |word| match word {
        ide::PageWord::Variable => lsp::CompletionItemKind::VARIABLE,
        ide::PageWord::Guard | ide::PageWord::Action => lsp::CompletionItemKind::FUNCTION,
        ide::PageWord::Strategy => lsp::CompletionItemKind::KEYWORD,
        ide::PageWord::System => lsp::CompletionItemKind::MODULE,
    };
    let item = |c: ide::PageCompletion| lsp::CompletionItem {
        label: c.label.clone(),
        kind: Some(kind(c.word)),
        detail: Some(c.detail),
        documentation: (!c.meaning.is_empty()).then_some(lsp::Documentation::String(c.meaning)),
        filter_text: Some(c.label),
        text_edit: Some(lsp::CompletionTextEdit::Edit(lsp::TextEdit {
            range: to_lsp::range(c.replaces, text, caps),
            new_text: c.insert,
        })),
        ..Default::default()
    };
    ide::page_completions(set, &text.to_string(), offset).into_iter().map(item).collect()
}
