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

/// Of `native`.
pub(crate) mod native {
    use std::time::Duration;

    /// Time for one compilation, and for one run.
    pub(crate) const COMPILE: Duration = Duration::from_secs(60);
    pub(crate) const RUN: Duration = Duration::from_secs(20);
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

/// Of `worker`.
pub(crate) mod worker {
    use std::time::Duration;

    /// The limit of a request that names none.
    pub(crate) const DEFAULT_LIMIT: Duration = Duration::from_secs(120);
    /// What a job gets beyond its limit to stop by itself, before the process is given up.
    pub(crate) const GRACE: Duration = Duration::from_millis(500);
    /// The compiler recurses over deep expressions; running out of stack would end the worker.
    pub(crate) const JOB_STACK: usize = 64 << 20;
}
