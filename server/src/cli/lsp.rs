//! `warpwright lsp`: an editor is served.

use clap::Args;

use super::Done;

#[derive(Args)]
pub struct LspArgs {
    /// Accepted because editors pass it; standard input and output are always used
    #[arg(long)]
    stdio: bool,
    /// The editor's process (editors pass it; the same number comes with `initialize`)
    #[arg(long = "clientProcessId", hide = true)]
    client_process_id: Option<u32>,
}

pub fn run(_: &LspArgs) -> anyhow::Result<Done> {
    crate::lsp::run().map(Done::Code)
}
