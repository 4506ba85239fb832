//! The language server: `warpwright lsp`.
//!
//! ```text
//! stdin → frames → transport → backend (handlers) → host (one writer) ⇄ pool (immutable views)
//! stdout ← outgoing ←──────────────┴───────────────────┘
//! ```
//! Deliberately absent: what is said of loops (`ide` says it) and how kernels are compiled (`device` does).

mod actions;
mod backend;
mod calls;
mod caps;
mod client_life;
mod commands;
mod compile;
mod document;
mod edits;
mod frames;
mod host;
mod markdown;
mod measured;
mod outgoing;
mod pages;
mod panel;
mod pool;
mod rendered;
mod requests;
mod survey;
mod to_lsp;
mod transport;
mod work;

use std::io::BufReader;
use std::sync::{Arc, OnceLock};

use tower_lsp::LspService;

/// Serves one client on standard input and output; the exit code that LSP asks for.
pub fn run() -> anyhow::Result<u8> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let outgoing = outgoing::Outgoing::start(std::io::stdout())?;
    let pool = pool::Pool::start()?;
    let caps = Arc::new(OnceLock::new());
    // the handlers need the host and the host needs the client, which the service hands out while it is built
    let mut started = Err(anyhow::anyhow!("the service was not built"));
    let (service, socket) = LspService::build(|client| {
        let tools = host::Tools {
            outgoing: outgoing.clone(),
            pool: pool.clone(),
            runtime: runtime.handle().clone(),
            caps: caps.clone(),
            client: client.clone(),
        };
        let (host, failed) = host::start(tools);
        started = failed.map_err(Into::into);
        backend::Backend::new(
            client,
            host,
            caps.clone(),
            outgoing.clone(),
            pool.clone(),
            runtime.handle().clone(),
        )
    })
    .custom_method("window/workDoneProgress/cancel", backend::Backend::cancel_progress)
    .custom_method("warpwright/loops", backend::Backend::loops)
    .custom_method("warpwright/documentText", backend::Backend::document_text)
    .finish();
    started?;
    let ended = transport::serve(
        runtime.handle(),
        BufReader::new(std::io::stdin().lock()),
        &outgoing,
        service,
        socket,
    );
    panel::forget();
    // work in progress is abandoned: nobody is there to hear of it
    runtime.shutdown_background();
    Ok(ended.exit_code())
}
