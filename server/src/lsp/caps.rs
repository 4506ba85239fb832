//! What the client can do, read once, and what we therefore say that we can do.
//!
//! Only what is implemented is advertised: some editors show every refused request to their users.

use text::PositionEncoding;
use tower_lsp::ls_types::{self as lsp, InitializeParams, ServerCapabilities};

use super::commands;
use crate::settings::Settings;

/// The client's abilities that change our answers.
#[derive(Clone, Debug, Default)]
pub struct Caps {
    pub encoding: PositionEncoding,
    pub pulls_diagnostics: bool,
    pub refreshes_diagnostics: bool,
    pub related_information: bool,
    pub unnecessary_tag: bool,
    pub hover_markdown: bool,
    pub action_literals: bool,
    pub action_resolve: bool,
    pub action_disabled: bool,
    pub action_preferred: bool,
    pub document_changes: bool,
    pub creates_files: bool,
    /// Whether changes may be annotated, for the user to look at before they are made.
    pub annotates: bool,
    pub applies_edits: bool,
    pub configuration: bool,
    pub watches_files: bool,
    /// Whether files outside the workspace can be watched.
    pub watches_elsewhere: bool,
    pub registers_configuration: bool,
    pub progress: bool,
    /// Whether results are shown in panels of the editor (`warpwright/showPanel`).
    pub panels: bool,
    pub shows_documents: bool,
    /// Whether outlines and call hierarchies are wanted of us.
    pub outlines: bool,
    pub refreshes_hints: bool,
    pub refreshes_lenses: bool,
    /// Whether completion can be had for rule pages alone.
    pub registers_completion: bool,
    /// Folders of the workspace.
    pub roots: Vec<std::path::PathBuf>,
}

impl Caps {
    pub fn read(params: &InitializeParams) -> Caps {
        let caps = &params.capabilities;
        let document = caps.text_document.clone().unwrap_or_default();
        let workspace = caps.workspace.clone().unwrap_or_default();
        let edit = workspace.workspace_edit.unwrap_or_default();
        let action = document.code_action.unwrap_or_default();
        let publish = document.publish_diagnostics.unwrap_or_default();
        let watched = workspace.did_change_watched_files.as_ref();
        let pull = document.diagnostic.clone();
        let pulls_diagnostics = pull.is_some();
        let pull = pull.unwrap_or_default();
        let yes = |flag: Option<bool>| flag.unwrap_or(false);
        Caps {
            encoding: encoding(params),
            pulls_diagnostics,
            refreshes_diagnostics: workspace.diagnostics.is_some_and(|d| yes(d.refresh_support)),
            related_information: yes(publish.related_information) || yes(pull.related_information),
            unnecessary_tag: publish
                .tag_support
                .is_some_and(|t| t.value_set.contains(&lsp::DiagnosticTag::UNNECESSARY)),
            hover_markdown: document
                .hover
                .and_then(|h| h.content_format)
                .is_some_and(|f| f.contains(&lsp::MarkupKind::Markdown)),
            action_literals: action.code_action_literal_support.is_some(),
            action_resolve: action.resolve_support.is_some_and(|r| r.properties.iter().any(|p| p == "edit"))
                && yes(action.data_support),
            action_disabled: yes(action.disabled_support),
            action_preferred: yes(action.is_preferred_support),
            document_changes: yes(edit.document_changes),
            creates_files: edit
                .resource_operations
                .is_some_and(|o| o.contains(&lsp::ResourceOperationKind::Create)),
            annotates: edit.change_annotation_support.is_some(),
            applies_edits: yes(workspace.apply_edit),
            configuration: yes(workspace.configuration),
            watches_files: watched.is_some_and(|w| yes(w.dynamic_registration)),
            watches_elsewhere: watched.is_some_and(|w| yes(w.relative_pattern_support)),
            registers_configuration: workspace
                .did_change_configuration
                .is_some_and(|c| yes(c.dynamic_registration)),
            progress: caps.window.as_ref().is_some_and(|w| yes(w.work_done_progress)),
            panels: params.initialization_options.as_ref().is_some_and(|o| o["panels"] == true),
            outlines: outlines(params),
            shows_documents: caps
                .window
                .as_ref()
                .and_then(|w| w.show_document.as_ref())
                .is_some_and(|d| d.support),
            refreshes_hints: workspace.inlay_hint.is_some_and(|h| yes(h.refresh_support)),
            refreshes_lenses: workspace.code_lens.is_some_and(|l| yes(l.refresh_support)),
            registers_completion: document.completion.is_some_and(|c| yes(c.dynamic_registration)),
            roots: roots(params),
        }
    }
}

/// The workspace's folders, or the one root that older clients tell.
#[allow(deprecated)] // `rootUri` is all that some clients send
fn roots(params: &InitializeParams) -> Vec<std::path::PathBuf> {
    let folders = params.workspace_folders.iter().flatten().map(|f| &f.uri);
    let mut all: Vec<_> = folders.filter_map(super::edits::local_path).collect();
    if all.is_empty() {
        all.extend(params.root_uri.iter().filter_map(super::edits::local_path));
    }
    all
}

/// By the setting `outline`: unless somebody else does so, or as it is told.
fn outlines(params: &InitializeParams) -> bool {
    let options = params.initialization_options.as_ref();
    let settings = options.map(|o| Settings::read(o).0).unwrap_or_default();
    match settings.outline.as_str() {
        "on" => true,
        "off" => false,
        _ => !options.is_some_and(|o| o["outlinedElsewhere"] == true),
    }
}

/// UTF-8 where the client offers it, else UTF-16 (which every client must know), else what it offers.
fn encoding(params: &InitializeParams) -> PositionEncoding {
    let offered =
        params.capabilities.general.as_ref().and_then(|g| g.position_encodings.clone()).unwrap_or_default();
    let offered: Vec<PositionEncoding> =
        offered.iter().filter_map(|kind| PositionEncoding::from_name(kind.as_str())).collect();
    [PositionEncoding::Utf8, PositionEncoding::Utf16, PositionEncoding::Utf32]
        .into_iter()
        .find(|e| offered.contains(e))
        .unwrap_or_default()
}

/// Characters behind which completions are asked for.
pub const COMPLETION_TRIGGERS: [&str; 2] = ["$", "["];

pub fn server_capabilities(caps: &Caps) -> ServerCapabilities {
    ServerCapabilities {
        position_encoding: Some(match caps.encoding {
            PositionEncoding::Utf8 => lsp::PositionEncodingKind::UTF8,
            PositionEncoding::Utf16 => lsp::PositionEncodingKind::UTF16,
            PositionEncoding::Utf32 => lsp::PositionEncodingKind::UTF32,
        }),
        text_document_sync: Some(lsp::TextDocumentSyncCapability::Options(lsp::TextDocumentSyncOptions {
            open_close: Some(true),
            change: Some(lsp::TextDocumentSyncKind::INCREMENTAL),
            save: Some(lsp::TextDocumentSyncSaveOptions::SaveOptions(lsp::SaveOptions {
                include_text: Some(false),
            })),
            ..Default::default()
        })),
        // for rule pages; in programs nothing is completed, which others do
        completion_provider: (!caps.registers_completion).then(|| lsp::CompletionOptions {
            trigger_characters: Some(COMPLETION_TRIGGERS.map(str::to_owned).to_vec()),
            ..Default::default()
        }),
        workspace: Some(lsp::WorkspaceServerCapabilities {
            workspace_folders: Some(lsp::WorkspaceFoldersServerCapabilities {
                supported: Some(true),
                change_notifications: Some(lsp::OneOf::Left(true)),
            }),
            ..Default::default()
        }),
        document_symbol_provider: caps.outlines.then_some(lsp::OneOf::Left(true)),
        call_hierarchy_provider: caps.outlines.then_some(lsp::CallHierarchyServerCapability::Simple(true)),
        hover_provider: Some(lsp::HoverProviderCapability::Simple(true)),
        code_action_provider: Some(lsp::CodeActionProviderCapability::Options(lsp::CodeActionOptions {
            code_action_kinds: Some(vec![
                lsp::CodeActionKind::QUICKFIX,
                lsp::CodeActionKind::new("refactor.rewrite.warpwright"),
            ]),
            resolve_provider: Some(true),
            ..Default::default()
        })),
        code_lens_provider: Some(lsp::CodeLensOptions { resolve_provider: None }),
        inlay_hint_provider: Some(lsp::OneOf::Left(true)),
        diagnostic_provider: caps.pulls_diagnostics.then(|| {
            lsp::DiagnosticServerCapabilities::Options(lsp::DiagnosticOptions {
                identifier: Some("warpwright".to_owned()),
                inter_file_dependencies: false,
                workspace_diagnostics: false,
                ..Default::default()
            })
        }),
        execute_command_provider: Some(lsp::ExecuteCommandOptions {
            commands: commands::NAMES.iter().map(|c| (*c).to_owned()).collect(),
            ..Default::default()
        }),
        experimental: Some(serde_json::json!({
            "warpwright": wire::ServerContract { contract: wire::VERSION },
        })),
        ..Default::default()
    }
}
