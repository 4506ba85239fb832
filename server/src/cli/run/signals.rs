//! While a program runs, what the terminal sends is the program's: Ctrl-C does not end this process before it has cleaned up.

use std::future::Future;
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
            // before there is anything that could be left behind
            let asked = asked_to_end();
            let mut child = command.kill_on_drop(true).spawn()?;
            tokio::select! {
                status = child.wait() => status,
                () = asked => {
                    child.start_kill()?;
                    child.wait().await
                }
            }
        })
    }
}

/// Listens from the call on, not from when somebody waits.
#[cfg(unix)]
fn asked_to_end() -> impl Future<Output = ()> {
    use tokio::signal::unix::{signal, SignalKind};
    let heard = (signal(SignalKind::terminate()), signal(SignalKind::hangup()));
    async move {
        let (Ok(mut end), Ok(mut gone)) = heard else { return std::future::pending().await };
        tokio::select! {
            _ = end.recv() => {}
            _ = gone.recv() => {}
        }
    }
}

#[cfg(not(unix))]
fn asked_to_end() -> impl Future<Output = ()> {
    std::future::pending()
}
