//! `initialize`: what the client can do is read, and it is told what we can.

use std::sync::Arc;

use tower_lsp::jsonrpc::Result;
use tower_lsp::ls_types as lsp;

use crate::lsp::backend::Backend;
use crate::lsp::caps::{self, Caps};
use crate::lsp::client_life;
use crate::lsp::host::Message;

pub async fn run(backend: &Backend, params: lsp::InitializeParams) -> Result<lsp::InitializeResult> {
    let caps = Arc::new(Caps::read(&params));
    // tower-lsp lets one `initialize` through
    let _ = backend.caps.set(caps.clone());
    let trusted = params.initialization_options.as_ref().and_then(|o| o.get("trusted")?.as_bool());
    backend.host.send(Message::Folders { added: caps.roots.clone(), removed: Vec::new(), trusted });
    if let Some(settings) = params.initialization_options.filter(|s| !s.is_null()) {
        let all = settings.get("compiler").is_some();
        backend.host.send(Message::Settings(settings));
        if all {
            backend.host.send(Message::Settled);
        }
    }
    if let Some(process_id) = params.process_id {
        client_life::watch(process_id);
    }
    Ok(lsp::InitializeResult {
        capabilities: caps::server_capabilities(&caps),
        server_info: Some(lsp::ServerInfo {
            name: "warpwright".to_owned(),
            version: Some(env!("CARGO_PKG_VERSION").to_owned()),
        }),
        ..Default::default()
    })
}
