//! Programs of the user's own that are built to be run here: compilers are started with the command lines that a caller made,
//! as many at a time as there are processors, and what they complain of comes back whole.
//!
//! Without limits of time: somebody waits at a terminal, and ends it there. So the compilers stay in the caller's process
//! group. Deliberately absent: which options, and what complaints mean.

use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Mutex;

/// What came of a command line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Stepped {
    pub is_done: bool,
    /// What it wrote to its standard error, or why it could not be started.
    pub said: String,
}

/// Runs command lines that need nothing of one another; gives what came of each, in their order. After `stop` said yes, none is
/// started.
pub fn run_steps(steps: &[Vec<String>], stop: &(dyn Fn() -> bool + Sync)) -> Vec<Stepped> {
    let (next, done) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let work = || {
        while let Some((n, argv)) =
            Some(next.fetch_add(1, Ordering::Relaxed)).and_then(|n| Some((n, steps.get(n)?)))
        {
            let one = match stop() {
                true => Stepped { is_done: false, said: "it was not started".to_owned() },
                false => run_step(argv),
            };
            done.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push((n, one));
        }
    };
    std::thread::scope(|scope| {
        let threads = std::thread::available_parallelism().map_or(2, |n| n.get()).min(steps.len());
        (0..threads).for_each(|_| drop(scope.spawn(work)));
    });
    let mut done = done.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    done.sort_by_key(|(n, _)| *n);
    done.into_iter().map(|(_, one)| one).collect()
}

fn run_step(argv: &[String]) -> Stepped {
    let failed = |said: String| Stepped { is_done: false, said };
    let Some((program, arguments)) = argv.split_first() else {
        return failed("the command is empty".to_owned());
    };
    let mut command = Command::new(program);
    command.args(arguments).env("LC_ALL", "C").stdin(Stdio::null()).stdout(Stdio::null());
    match command.output() {
        Ok(out) => {
            Stepped { is_done: out.status.success(), said: String::from_utf8_lossy(&out.stderr).into_owned() }
        }
        Err(e) => failed(format!("{program} could not be started: {e}\n")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_come_back_in_their_order() {
        let step = |text: &str| ["sh", "-c", text].map(str::to_owned).to_vec();
        let steps =
            [step("sleep 0.2; echo one >&2"), step("echo two >&2; exit 3"), vec!["/no/such".to_owned()]];
        let done = run_steps(&steps, &|| false);
        assert_eq!(done[0], Stepped { is_done: true, said: "one\n".to_owned() });
        assert_eq!(done[1], Stepped { is_done: false, said: "two\n".to_owned() });
        assert!(!done[2].is_done && done[2].said.contains("/no/such"));
        assert!(run_steps(&steps, &|| true).iter().all(|s| !s.is_done));
    }
}
