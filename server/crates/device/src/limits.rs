//! How far this room goes in one thing before it says that it stops there: each limit with its reason, by the file that keeps it.

/// Of `client`.
pub(crate) mod client {
    use std::time::Duration;

    /// Lines that are not of the protocol before hello, such as a login's banner.
    pub(crate) const BANNER_LINES: usize = 200;
    /// How often a waiting client looks whether its answer is still wanted.
    pub(crate) const LOOK: Duration = Duration::from_millis(20);
    /// How long an ended worker's exit status is waited for.
    pub(crate) const STATUS_GRACE: Duration = Duration::from_millis(500);
}

/// Of `found`.
pub(crate) mod found {
    /// Longer answers are none, and so are longer lines.
    pub(crate) const ANSWER_BYTES: usize = 1 << 20;
    pub(crate) const LINE_BYTES: usize = 1 << 14;
    /// Links followed until it is a circle.
    pub(crate) const MAX_LINKS: usize = 40;
}

/// Of `measure`.
pub(crate) mod measure {
    use std::time::Duration;

    /// Runs before any is timed, and timed ones: fewer are no median, more change none.
    pub(crate) const WARM_UP: usize = 2;
    pub(crate) const LEAST_RUNS: usize = 7;
    pub(crate) const MOST_RUNS: usize = 50;
    /// It stands still when the middle half of the runs lies within this part of the median.
    pub(crate) const STEADY: f64 = 0.02;
    /// No further run begins after this.
    pub(crate) const TIMING: Duration = Duration::from_secs(20);
    /// Of the copy by which a device's memory is measured: far more than caches hold.
    pub(crate) const BANDWIDTH_BYTES: u64 = 512 << 20;
    pub(crate) const BANDWIDTH_TIMES: usize = 6;
    /// Of one copy that is wanted as it is.
    pub(crate) const WANTED_BYTES: usize = 1 << 20;
}

/// Of `native`.
pub(crate) mod native {
    use std::time::Duration;

    /// Time for one compilation, and for one run.
    pub(crate) const COMPILE: Duration = Duration::from_secs(60);
    pub(crate) const RUN: Duration = Duration::from_secs(20);
}

/// Of `original`.
pub(crate) mod original {
    use std::time::Duration;

    /// Runs of the original at most, and the time after which none begins.
    pub(crate) const RUNS: u32 = 7;
    pub(crate) const TIMED_NS: u64 = 5_000_000_000;
    /// With its inputs read and its memory written.
    pub(crate) const WHOLE: Duration = Duration::from_secs(90);
}

/// Of `process`.
pub(crate) mod process {
    use std::time::Duration;

    /// What is kept of the child's standard error, in bytes.
    pub(crate) const STDERR_KEPT: usize = 16 << 10;
    /// Lines that may wait to be read; a child that writes more waits.
    pub(crate) const LINES_WAITING: usize = 64;
    /// How long a killed child is waited for before it is left to the system.
    pub(crate) const REAP: Duration = Duration::from_secs(2);
}

/// Of `transport`.
pub(crate) mod transport {
    use std::time::Duration;

    /// For an answer of a host, and for bringing a program there.
    pub(crate) const ASK: Duration = Duration::from_secs(20);
    pub(crate) const SEND: Duration = Duration::from_secs(300);
    /// In a batch system's queue, and for it to take a job back.
    pub(crate) const QUEUED: Duration = Duration::from_secs(3600);
    pub(crate) const LEAVE: Duration = Duration::from_secs(2);
}

/// Of `worker`.
pub(crate) mod worker {
    use std::time::Duration;

    /// The limit of a request that names none.
    pub(crate) const DEFAULT_LIMIT: Duration = Duration::from_secs(120);
    /// What a job gets beyond its limit to stop by itself, before the process is given up.
    pub(crate) const GRACE: Duration = Duration::from_millis(500);
    /// Likewise where nobody is there any more.
    pub(crate) const ALONE: Duration = Duration::from_millis(200);
    /// The compiler recurses over deep expressions; running out of stack would end the worker.
    pub(crate) const JOB_STACK: usize = 64 << 20;
}
