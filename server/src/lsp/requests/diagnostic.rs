//! `textDocument/diagnostic`: findings for clients that fetch them.

use text::ContentHash;
use tower_lsp::jsonrpc::Result;
use tower_lsp::ls_types as lsp;

use crate::lsp::backend::Backend;
use crate::lsp::host::{Context, Need};

pub async fn run(
    backend: &Backend,
    params: lsp::DocumentDiagnosticParams,
) -> Result<lsp::DocumentDiagnosticReportResult> {
    let before = params.previous_result_id;
    let report = move |context: &Context| {
        let items = context.view.diagnostics(&context.caps).as_ref().clone();
        // the same list has the same name, in whatever version of the text
        let result_id = format!("{:x}", ContentHash::of(&context.view.rendered.json).0);
        Ok(if before.as_ref() == Some(&result_id) { unchanged(result_id) } else { full(result_id, items) })
    };
    backend.ask(params.text_document.uri, Need::Newest, report).await
}

fn full(result_id: String, items: Vec<lsp::Diagnostic>) -> lsp::DocumentDiagnosticReportResult {
    lsp::DocumentDiagnosticReportResult::Report(lsp::DocumentDiagnosticReport::Full(
        lsp::RelatedFullDocumentDiagnosticReport {
            related_documents: None,
            full_document_diagnostic_report: lsp::FullDocumentDiagnosticReport {
                result_id: Some(result_id),
                items,
            },
        },
    ))
}

fn unchanged(result_id: String) -> lsp::DocumentDiagnosticReportResult {
    lsp::DocumentDiagnosticReportResult::Report(lsp::DocumentDiagnosticReport::Unchanged(
        lsp::RelatedUnchangedDocumentDiagnosticReport {
            related_documents: None,
            unchanged_document_diagnostic_report: lsp::UnchangedDocumentDiagnosticReport { result_id },
        },
    ))
}
