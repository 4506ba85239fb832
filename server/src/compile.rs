//! CUDA texts compiled by NVRTC in a worker process, for the editor's check and the command line's.

use std::sync::{Mutex, OnceLock};

use base::CancelToken;

use crate::settings::Settings;

/// The one worker of this server, started with the first check.
static WORKER: OnceLock<Mutex<device::Client>> = OnceLock::new();

fn worker() -> Option<&'static Mutex<device::Client>> {
    if WORKER.get().is_none() {
        let program = std::env::current_exe().ok()?;
        let program = program.to_str()?.to_owned();
        let command = device::WorkerCommand::new([program, "worker".to_owned()]);
        let _ = WORKER.set(Mutex::new(device::Client::lazy(command, device::Limits::default())));
    }
    WORKER.get()
}

/// Compiles one CUDA text for the architecture of the settings.
pub fn compile(
    name: &str,
    text: &str,
    flags: &[&str],
    settings: &Settings,
    cancel: &CancelToken,
) -> Result<device::CompileOutcome, String> {
    let arch = settings.architecture.parse().map_err(|e: device::ArchError| e.to_string())?;
    let mut request = device::CompileRequest::new(text, name, arch);
    request.fmad = flags.contains(&"-fmad=false").then_some(false);
    if !settings.nvrtc.trim().is_empty() {
        request.library = Some(settings.nvrtc.trim().into());
    }
    let worker = worker().ok_or("The server does not know its own program file.")?;
    let mut worker = worker.lock().unwrap_or_else(|e| e.into_inner());
    Ok(worker.compile(request, cancel))
}
