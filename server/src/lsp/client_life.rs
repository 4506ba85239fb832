//! Ends the process when the client that started it is gone.
//!
//! The end of the input says so already, except where another process still holds its other end or the reader waits
//! for room in the output. No signal is sent and no process is started to find out.

use crate::limits::lsp_client_life::EVERY;

/// Watches the process that `initialize` named.
pub fn watch(process_id: u32) {
    let watched = move || {
        let is_parent = parent() == Some(process_id);
        while is_alive(process_id, is_parent) {
            std::thread::sleep(EVERY);
        }
        tracing::info!("the client, process {process_id}, is gone");
        std::process::exit(1);
    };
    if let Err(e) = std::thread::Builder::new().name("ww-client".to_owned()).spawn(watched) {
        tracing::warn!("the client's life is not watched: {e}");
    }
}

#[cfg(unix)]
fn parent() -> Option<u32> {
    Some(std::os::unix::process::parent_id())
}

#[cfg(not(unix))]
fn parent() -> Option<u32> {
    None
}

/// A process whose parent died is given to another one: this works on every Unix. Elsewhere in the family tree only
/// Linux's `/proc` says something; a zombie, whose state stands behind the name in parentheses, is dead.
fn is_alive(process_id: u32, is_parent: bool) -> bool {
    if is_parent {
        return parent() == Some(process_id);
    }
    if !std::path::Path::new("/proc/self/stat").exists() {
        return true;
    }
    match std::fs::read_to_string(format!("/proc/{process_id}/stat")) {
        Ok(stat) => stat.rsplit_once(')').is_none_or(|(_, rest)| !rest.trim_start().starts_with(['Z', 'X'])),
        // containers give processes other numbers: only a number that was once seen can disappear
        Err(e) => e.kind() != std::io::ErrorKind::NotFound || !was_visible(process_id),
    }
}

fn was_visible(process_id: u32) -> bool {
    use std::sync::atomic::{AtomicU32, Ordering};
    static SEEN: AtomicU32 = AtomicU32::new(0);
    if std::path::Path::new(&format!("/proc/{process_id}")).exists() {
        SEEN.store(process_id, Ordering::Relaxed);
    }
    SEEN.load(Ordering::Relaxed) == process_id
}
