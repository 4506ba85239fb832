//! Failures on demand, and counters that are written at exit.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::codes::{Result, LAUNCH_FAILED, OUT_OF_MEMORY, UNKNOWN};

/// How a GPU lies: what it says of itself is right, and what it does is not.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wrong {
    /// Launches do not happen.
    Skips,
    /// Copies to the host are zeros.
    Zeros,
    /// Each thread takes itself for the next one.
    Threads,
}

/// What is counted and what is to fail.
pub struct Watch {
    pub wrong: Option<Wrong>,
    /// The name of a call, or any; and which of them, from 1.
    fail: Option<(Option<String>, u64)>,
    calls: BTreeMap<&'static str, u64>,
    all: u64,
    pub to_device: u64,
    pub to_host: u64,
    pub launches: u64,
}

impl Watch {
    pub fn from_environment() -> Watch {
        let fail = std::env::var("WARPWRIGHT_STANDIN_FAIL").ok().and_then(|v| match v.rsplit_once(':') {
            Some((name, n)) => Some((Some(name.to_owned()), n.parse().ok()?)),
            None => Some((None, v.parse().ok()?)),
        });
        let wrong = match std::env::var("WARPWRIGHT_STANDIN_WRONG").as_deref() {
            Ok("skips") => Some(Wrong::Skips),
            Ok("zeros") => Some(Wrong::Zeros),
            Ok("threads") => Some(Wrong::Threads),
            _ => None,
        };
        Watch { wrong, fail, calls: BTreeMap::new(), all: 0, to_device: 0, to_host: 0, launches: 0 }
    }
    /// Counts a call; the one that is to fail does.
    pub fn count(&mut self, name: &'static str) -> Result {
        self.all += 1;
        let n = self.calls.entry(name).or_default();
        *n += 1;
        let fails = match &self.fail {
            Some((Some(which), nth)) => which == name && nth == n,
            Some((None, nth)) => *nth == self.all,
            None => false,
        };
        match name {
            _ if !fails => Ok(()),
            // NVRTC's own: out of memory
            _ if name.starts_with("nvrtc") => Err(1),
            _ if name.contains("Alloc") || name.contains("Create") => Err(OUT_OF_MEMORY),
            _ if name.contains("Launch") || name.contains("Synchronize") => Err(LAUNCH_FAILED),
            _ => Err(UNKNOWN),
        }
    }
}

/// Writes the counters to the file that the environment names.
pub extern "C" fn write_counts() {
    let Some(path) = std::env::var_os("WARPWRIGHT_STANDIN_COUNTS") else { return };
    // a failure here must not take the process down that ends anyway
    let _ = std::panic::catch_unwind(|| {
        crate::state::with(|s| {
            let w = &s.watch;
            let mut out = String::from("{\n  \"calls\": {");
            for (i, (name, n)) in w.calls.iter().enumerate() {
                let _ = write!(out, "{}\"{name}\": {n}", if i > 0 { ", " } else { "" });
            }
            let (to_device, to_host, launches, clock) = (w.to_device, w.to_host, w.launches, s.clock);
            let (left, bytes) = (s.allocations.len(), s.used);
            let _ = write!(
                out,
                "}},\n  \"bytes_to_device\": {to_device},\n  \"bytes_to_host\": {to_host},\n  \"launches\": {launches},\n  \
                 \"steps\": {clock},\n  \"left\": {{\"allocations\": {left}, \"bytes\": {bytes}, \"modules\": {}, \
                 \"streams\": {}, \"events\": {}}}\n}}\n",
                s.modules.len(),
                s.streams.len(),
                s.events.len()
            );
            if let Err(e) = std::fs::write(&path, out) {
                crate::program::say(&format!("{}: {e}", std::path::Path::new(&path).display()));
            }
        });
    });
}
