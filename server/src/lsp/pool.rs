//! Threads of our own for work that takes time. The protocol's threads never do any.
//!
//! Three queues: what is answered out of what is known, what somebody waits for at the keyboard, and what may take long
//! (verification, compilers). One thread takes the first kind alone, and another none of the last. A job that panics ends
//! itself and nothing else.

use std::collections::VecDeque;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};

use super::transport::panic_text;

/// Deeply nested input recurses in parsers and printers.
pub const STACK_BYTES: usize = 64 * 1024 * 1024;

pub type Job = Box<dyn FnOnce() + Send>;

/// Worker threads. Clones are the same pool.
#[derive(Clone)]
pub struct Pool(Arc<Shared>);

struct Shared {
    queues: Mutex<Queues>,
    changed: Condvar,
}

#[derive(Default)]
struct Queues {
    now: VecDeque<Job>,
    soon: VecDeque<Job>,
    long: VecDeque<Job>,
}

/// What a thread takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Takes {
    /// Answers out of what is known.
    Now,
    Soon,
    All,
}

impl Pool {
    /// At least two threads, else one for each core, but never many: editors share the machine.
    pub fn start() -> std::io::Result<Pool> {
        let cores = std::thread::available_parallelism().map_or(2, |n| n.get());
        let pool = Pool(Arc::new(Shared { queues: Mutex::default(), changed: Condvar::new() }));
        for number in 0..cores.clamp(2, 8) {
            let worker = pool.clone();
            std::thread::Builder::new()
                .name(format!("ww-work-{number}"))
                .stack_size(STACK_BYTES)
                .spawn(move || worker.work(if number > 0 { Takes::All } else { Takes::Soon }))?;
        }
        let quick = pool.clone();
        std::thread::Builder::new()
            .name("ww-now".to_owned())
            .stack_size(STACK_BYTES)
            .spawn(move || quick.work(Takes::Now))?;
        Ok(pool)
    }

    /// Runs `job`, which finds nothing out, at once.
    pub fn now(&self, job: Job) {
        self.lock().now.push_back(job);
        self.0.changed.notify_all();
    }

    /// Runs `job` as soon as a thread is free.
    pub fn soon(&self, job: Job) {
        self.lock().soon.push_back(job);
        // the one that is woken may be the thread that takes none of it
        self.0.changed.notify_all();
    }

    /// Runs `job` when nobody waits for anything else.
    pub fn long(&self, job: Job) {
        self.lock().long.push_back(job);
        // the one that is woken may be the thread that takes no long work
        self.0.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, Queues> {
        self.0.queues.lock().unwrap_or_else(|e| e.into_inner())
    }

    fn work(&self, takes: Takes) {
        loop {
            let mut queues = self.lock();
            let job = loop {
                let next = match takes {
                    Takes::Now => queues.now.pop_front(),
                    Takes::Soon => queues.soon.pop_front(),
                    Takes::All => queues.soon.pop_front().or_else(|| queues.long.pop_front()),
                };
                if let Some(job) = next {
                    break job;
                }
                queues = self.0.changed.wait(queues).unwrap_or_else(|e| e.into_inner());
            };
            drop(queues);
            if let Err(panic) = catch_unwind(AssertUnwindSafe(job)) {
                tracing::error!("work failed: {}", panic_text(panic.as_ref()));
            }
        }
    }
}
