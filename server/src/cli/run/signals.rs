//! While a program runs, what the terminal sends is the program's: Ctrl-C does not end this process before it has cleaned up.

use std::process::{Command, ExitStatus};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;

use tokio::runtime::Runtime;

pub struct Signals {
    runtime: Runtime,
    interrupted: Arc<AtomicBool>,
}

impl Signals {
    /// From now on.
    pub fn listen() -> std::io::Result<Signals> {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        let interrupted = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&interrupted);
        runtime.spawn(async move {
            // the program and the compilers are in the same group and hear it themselves
            while tokio::signal::ctrl_c().await.is_ok() {
                seen.store(true, Ordering::Relaxed);
            }
        });
        Ok(Signals { runtime, interrupted })
    }

    /// Whether somebody wanted an end.
    pub fn was_interrupted(&self) -> bool {
        self.interrupted.load(Ordering::Relaxed)
    }

    /// Runs a program to its end; it is ended when this process is asked to end.
    pub fn wait(&self, command: Command) -> std::io::Result<ExitStatus> {
        self.runtime.block_on(async {
            let mut command = tokio::process::Command::from(command);
            let mut child = command.kill_on_drop(true).spawn()?;
            tokio::select! {
                status = child.wait() => status,
                () = asked_to_end() => {
                    child.start_kill()?;
                    child.wait().await
                }
            }
        })
    }
}

#[cfg(unix)]
async fn asked_to_end() {
    use tokio::signal::unix::{signal, SignalKind};
    let Ok(mut end) = signal(SignalKind::terminate()) else { return std::future::pending().await };
    let Ok(mut gone) = signal(SignalKind::hangup()) else { return std::future::pending().await };
    tokio::select! {
        _ = end.recv() => {}
        _ = gone.recv() => {}
    }
}

#[cfg(not(unix))]
async fn asked_to_end() {
    std::future::pending().await
}
