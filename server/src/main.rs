//! The shell: the command line and the language server. Everything about loops is said by `ide`; what is here turns
//! it into LSP, JSON, text and files, and owns threads, processes and settings.
#![forbid(unsafe_code)]

mod cli;
mod codes;
mod compile;
mod compiler;
mod contract;
mod diff;
mod files;
mod includes;
mod limits;
mod lsp;
mod native;
mod profile;
mod project;
mod prove;
mod rule_pages;
mod settings;

use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    // logs go to standard error: standard output belongs to answers and to the protocol
    let filter = tracing_subscriber::EnvFilter::try_from_env("WARPWRIGHT_LOG")
        .unwrap_or_else(|_| tracing_subscriber::EnvFilter::new("warn"));
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).with_ansi(false).init();
    cli::main()
}
