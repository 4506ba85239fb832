//! Who proves what rule pages claim: Z3 in a worker process of its own, started with the first question.
//!
//! Answers are remembered, for a page is checked at every keystroke. Deliberately absent: what is asked (`rewrite`).

use std::collections::HashMap;
use std::sync::{Mutex, OnceLock, PoisonError};

use base::CancelToken;

use crate::limits::prove::{KEPT, LIMIT};

/// Z3, for one task.
pub struct Prover<'a> {
    pub cancel: &'a CancelToken,
}

static WORKER: OnceLock<Mutex<device::Client>> = OnceLock::new();
static KNOWN: OnceLock<Mutex<HashMap<String, String>>> = OnceLock::new();

fn worker() -> Option<&'static Mutex<device::Client>> {
    if WORKER.get().is_none() {
        let program = std::env::current_exe().ok()?.to_str()?.to_owned();
        let command = device::WorkerCommand::new([program, "worker".to_owned()]);
        let limits = device::Limits { memory_bytes: Some(2 << 30), ..device::Limits::default() };
        let _ = WORKER.set(Mutex::new(device::Client::lazy(command, limits)));
    }
    WORKER.get()
}

impl ide::RuleProver for Prover<'_> {
    fn ask(&self, script: &str) -> Result<String, String> {
        let known = KNOWN.get_or_init(Mutex::default);
        if let Some(answer) = known.lock().unwrap_or_else(PoisonError::into_inner).get(script) {
            return Ok(answer.clone());
        }
        let worker = worker().ok_or("The program does not know its own file.")?;
        let request = device::ProveRequest {
            script: script.to_owned(),
            limit_ms: Some(LIMIT.as_millis() as u64),
            library: None,
        };
        let answer = worker.lock().unwrap_or_else(PoisonError::into_inner).prove(request, self.cancel);
        match answer {
            device::ProveOutcome::Answered { text, .. } => {
                let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
                if known.len() < KEPT {
                    known.insert(script.to_owned(), text.clone());
                }
                Ok(text)
            }
            device::ProveOutcome::Unavailable(why) => Err(why.to_string()),
        }
    }
}
