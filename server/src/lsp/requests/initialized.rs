//! `initialized`: the client is asked for settings and to tell of files that change.

use std::path::PathBuf;

use serde_json::{json, Value};
use tower_lsp::ls_types as lsp;

use crate::lsp::backend::Backend;
use crate::lsp::caps;
use crate::lsp::host::Message;
use crate::rule_pages;

pub fn run(backend: &Backend) {
    register(backend);
    pull_settings(backend);
    pull_folder_settings(backend);
}

/// Asks the client for our settings, without anybody waiting for them.
pub fn pull_settings(backend: &Backend) {
    if !backend.caps().configuration {
        return backend.host.send(Message::Settled);
    }
    let (client, host) = (backend.client.clone(), backend.host.clone());
    backend.runtime.spawn(async move {
        let item = lsp::ConfigurationItem { scope_uri: None, section: Some("warpwright".to_owned()) };
        match client.configuration(vec![item]).await {
            Ok(answers) => {
                if let Some(settings) = answers.into_iter().next().filter(|s| !s.is_null()) {
                    host.send(Message::Settings(settings));
                }
            }
            Err(e) => tracing::info!("the client gave no settings: {e}"),
        }
        host.send(Message::Settled);
    });
}

/// Asks for the settings of each folder of the workspace, where there are several: only then they may differ.
pub fn pull_folder_settings(backend: &Backend) {
    if !backend.caps().configuration {
        return;
    }
    let (client, host, survey) = (backend.client.clone(), backend.host.clone(), backend.survey());
    backend.runtime.spawn(async move {
        let roots = survey.await.map(|s| s.roots).unwrap_or_default();
        if roots.len() < 2 {
            return host.send(Message::FolderSettings(Vec::new()));
        }
        let item = |root: &PathBuf| lsp::ConfigurationItem {
            scope_uri: lsp::Uri::from_file_path(root),
            section: Some("warpwright".to_owned()),
        };
        match client.configuration(roots.iter().map(item).collect()).await {
            Ok(answers) => {
                let each = roots.into_iter().zip(answers).filter(|(_, settings)| !settings.is_null());
                host.send(Message::FolderSettings(each.collect()));
            }
            Err(e) => tracing::info!("the client gave no settings of folders: {e}"),
        }
    });
}

fn register(backend: &Backend) {
    let caps = backend.caps();
    let mut registrations = Vec::new();
    if caps.registers_configuration {
        registrations.push(lsp::Registration {
            id: "settings".to_owned(),
            method: "workspace/didChangeConfiguration".to_owned(),
            register_options: Some(json!({"section": "warpwright"})),
        });
    }
    if caps.watches_files {
        let mut watchers: Vec<Value> = [
            "**/*.{c,h,hpp,cuh,inc,def}",
            "**/compile_{commands.json,flags.txt}",
            "**/.warpwright/rules/*.md",
        ]
        .iter()
        .map(|pattern| json!({"globPattern": pattern}))
        .collect();
        let own = rule_pages::user_folder().and_then(lsp::Uri::from_file_path);
        if let (Some(folder), true) = (own, caps.watches_elsewhere) {
            watchers.push(json!({"globPattern": {"baseUri": folder, "pattern": "*.md"}}));
        }
        registrations.push(lsp::Registration {
            id: "files".to_owned(),
            method: "workspace/didChangeWatchedFiles".to_owned(),
            register_options: Some(json!({"watchers": watchers})),
        });
    }
    if caps.registers_completion {
        let mut places = vec![json!({"scheme": "file", "pattern": "**/.warpwright/rules/*.md"})];
        if let Some(folder) = rule_pages::user_folder() {
            places.push(json!({"scheme": "file", "pattern": format!("{}/*.md", folder.display())}));
        }
        registrations.push(lsp::Registration {
            id: "completion".to_owned(),
            method: "textDocument/completion".to_owned(),
            register_options: Some(json!({
                "documentSelector": places, "triggerCharacters": caps::COMPLETION_TRIGGERS,
            })),
        });
    }
    if registrations.is_empty() {
        return;
    }
    let client = backend.client.clone();
    backend.runtime.spawn(async move {
        if let Err(e) = client.register_capability(registrations).await {
            tracing::info!("the client registered nothing: {e}");
        }
    });
}
