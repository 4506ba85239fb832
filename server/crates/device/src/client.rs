//! The server's side of the [`protocol`](crate::protocol): starts a worker, asks it, and never waits without a limit.
//!
//! A worker that is dead, silent, late or talks nonsense is a value ([`DeviceError`]); it is stopped, and the next
//! request starts another.

use crate::bundle::Bundle;
use crate::limits::client::{BANNER_LINES, LOOK, STATUS_GRACE};
use crate::process::{Ends, Heard, Process};
use crate::protocol::{ErrorKind, Machine, Reply, Report, Request, MAX_LINE, PROTOCOL_VERSION};
use crate::{
    CompileOutcome, CompileRequest, DeviceError, ProfileOutcome, ProveOutcome, ProveRequest, UnavailableKind,
};
use base::CancelToken;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// How a worker is started: `["warpwright", "worker"]`, `["ssh", "host", "warpwright", "worker"]`, any argument vector.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct WorkerCommand {
    /// Program and arguments.
    pub argv: Vec<String>,
    /// Environment variables that are added.
    pub env: Vec<(String, String)>,
    /// How long it may stand in a queue before it says hello, and what it says of that; `None`: it starts at once.
    pub queue: Option<Queue>,
}

/// How a command waits that a batch system runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Queue {
    /// For it to start.
    pub wait: Duration,
    /// For it to take its job back when it is told to end.
    pub leave: Duration,
}

impl WorkerCommand {
    /// The command `argv` with the environment as it is.
    pub fn new<S: Into<String>>(argv: impl IntoIterator<Item = S>) -> WorkerCommand {
        WorkerCommand { argv: argv.into_iter().map(Into::into).collect(), env: Vec::new(), queue: None }
    }

    /// With one more environment variable.
    pub fn with_env(mut self, name: impl Into<String>, value: impl Into<String>) -> WorkerCommand {
        self.env.push((name.into(), value.into()));
        self
    }
}

/// What a worker may use.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Wall-clock time for starting and saying hello. A batch system may need minutes.
    pub start: Duration,
    /// Wall-clock time for one request that names no limit of its own.
    pub request: Duration,
    /// Beyond a request's limit, and after a request was cancelled: for the worker to say so itself before it is
    /// stopped.
    pub grace: Duration,
    /// Bytes of address space; `None` for workers that launch kernels.
    pub memory_bytes: Option<u64>,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            start: Duration::from_secs(10),
            request: Duration::from_secs(20),
            grace: Duration::from_secs(1),
            memory_bytes: Some(8 << 30),
        }
    }
}

/// A worker and the way to start it again.
pub struct Client {
    command: WorkerCommand,
    limits: Limits,
    process: Option<Process>,
    next_id: u64,
    worker: String,
    capabilities: Vec<String>,
    stderr: String,
}

impl Client {
    /// Starts a worker and exchanges hellos.
    pub fn spawn(command: WorkerCommand, limits: Limits) -> Result<Client, DeviceError> {
        let mut client = Client::lazy(command, limits);
        client.start(&CancelToken::new(), &mut |_| {})?;
        Ok(client)
    }

    /// Starts nothing; the first request does.
    pub fn lazy(command: WorkerCommand, limits: Limits) -> Client {
        Client {
            command,
            limits,
            process: None,
            next_id: 1,
            worker: String::new(),
            capabilities: Vec::new(),
            stderr: String::new(),
        }
    }

    /// The compile check. It cannot fail: what goes wrong around the compiler is [`CompileOutcome::Unavailable`].
    pub fn compile(&mut self, request: CompileRequest, cancel: &CancelToken) -> CompileOutcome {
        let limit = request.limit_ms.map_or(self.limits.request, Duration::from_millis);
        let limit_ms = Some(u64::try_from(limit.as_millis()).unwrap_or(u64::MAX));
        let ask = |id| Request::Compile { id, request: CompileRequest { limit_ms, ..request } };
        match self.call(limit, cancel, &mut |_| {}, ask) {
            Ok(Report::Compile(outcome)) => {
                // the compiler may still be at it, and the worker about to end for that
                if matches!(&outcome, CompileOutcome::Unavailable(u) if u.kind == UnavailableKind::TimeLimit)
                {
                    self.stop();
                }
                outcome
            }
            Ok(other) => CompileOutcome::Unavailable(self.wrong_report(&other).into()),
            Err(error) => CompileOutcome::Unavailable(error.into()),
        }
    }

    /// Decides a question. As [`Client::compile`], it cannot fail.
    pub fn prove(&mut self, request: ProveRequest, cancel: &CancelToken) -> ProveOutcome {
        let limit = request.limit_ms.map_or(self.limits.request, Duration::from_millis);
        let limit_ms = Some(u64::try_from(limit.as_millis()).unwrap_or(u64::MAX));
        let ask = |id| Request::Prove { id, request: ProveRequest { limit_ms, ..request } };
        match self.call(limit, cancel, &mut |_| {}, ask) {
            Ok(Report::Prove(outcome)) => {
                if matches!(&outcome, ProveOutcome::Unavailable(u) if u.kind == UnavailableKind::TimeLimit) {
                    self.stop();
                }
                outcome
            }
            Ok(other) => ProveOutcome::Unavailable(self.wrong_report(&other).into()),
            Err(error) => ProveOutcome::Unavailable(error.into()),
        }
    }

    /// What there is where the worker runs.
    pub fn machine(
        &mut self,
        library: Option<PathBuf>,
        cancel: &CancelToken,
    ) -> Result<Machine, DeviceError> {
        match self.call(self.limits.request, cancel, &mut |_| {}, |id| Request::Machine { id, library })? {
            Report::Machine(machine) => Ok(machine),
            other => Err(self.wrong_report(&other)),
        }
    }

    /// Runs what a loop became and measures it. `progress` hears what the worker does meanwhile.
    pub fn profile(
        &mut self,
        bundle: Bundle,
        cancel: &CancelToken,
        progress: &mut dyn FnMut(&str),
    ) -> Result<ProfileOutcome, DeviceError> {
        let limit = bundle.limit_ms.map_or(self.limits.request, Duration::from_millis);
        let limit_ms = Some(u64::try_from(limit.as_millis()).unwrap_or(u64::MAX));
        let bundle = Box::new(Bundle { limit_ms, ..bundle });
        match self.call(limit, cancel, progress, |id| Request::Profile { id, bundle })? {
            Report::Profile(outcome) => {
                // the kernel may still run, and the worker is about to end for that; after a broken one the context is lost
                let is_over = match &outcome {
                    ProfileOutcome::Unavailable(u) => u.kind == UnavailableKind::TimeLimit,
                    ProfileOutcome::Broken { .. } => true,
                    ProfileOutcome::Measured(_) => false,
                };
                if is_over {
                    self.stop();
                }
                Ok(outcome)
            }
            other => Err(self.wrong_report(&other)),
        }
    }

    /// The worker's name and version, as it last said hello.
    pub fn worker(&self) -> &str {
        &self.worker
    }

    /// The requests it answers with a report.
    pub fn capabilities(&self) -> &[String] {
        &self.capabilities
    }

    /// The end of what the worker, or the last one that ended, wrote to its standard error.
    pub fn stderr(&self) -> String {
        self.process.as_ref().map_or_else(|| self.stderr.clone(), Process::stderr)
    }

    /// Ends the worker. The next request starts another.
    pub fn stop(&mut self) {
        if let Some(mut process) = self.process.take() {
            process.kill();
            self.stderr = process.stderr();
        }
    }

    fn call(
        &mut self,
        limit: Duration,
        cancel: &CancelToken,
        progress: &mut dyn FnMut(&str),
        ask: impl FnOnce(u64) -> Request,
    ) -> Result<Report, DeviceError> {
        if cancel.is_cancelled() {
            return Err(DeviceError::Cancelled);
        }
        // one that ended since the last request is replaced without a word
        if self.process.as_mut().is_some_and(Process::has_ended) {
            self.stop();
        }
        if self.process.is_none() {
            self.start(cancel, progress)?;
        }
        let id = self.take_id();
        self.send(&ask(id))?;
        let limit_ms = u64::try_from(limit.as_millis()).unwrap_or(u64::MAX);
        let mut deadline = after(limit.saturating_add(self.limits.grace));
        let mut cancelled = false;
        loop {
            if cancel.is_cancelled() && !cancelled {
                cancelled = true;
                self.send(&Request::Cancel { id })?;
                deadline = deadline.min(after(self.limits.grace));
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                self.stop();
                return Err(if cancelled {
                    DeviceError::Cancelled
                } else {
                    DeviceError::TimeLimit { limit_ms }
                });
            }
            match self.hear(left.min(LOOK))? {
                Some(Reply::Report { id: of, report }) if of == id => return Ok(report),
                Some(Reply::NotSupported { id: of, reason }) if of == id => {
                    return Err(DeviceError::NotSupported { reason })
                }
                Some(Reply::Error { id: of, kind, message }) if of == Some(id) => {
                    return Err(match kind {
                        ErrorKind::Cancelled => DeviceError::Cancelled,
                        _ => DeviceError::Refused { message },
                    })
                }
                Some(Reply::Error { id: None, message, .. }) => {
                    self.stop();
                    return Err(DeviceError::Refused { message });
                }
                Some(Reply::Progress { id: of, text, .. }) if of == id => progress(&text),
                // an answer to a request that was cancelled before
                Some(_) | None => {}
            }
        }
    }

    fn start(&mut self, cancel: &CancelToken, progress: &mut dyn FnMut(&str)) -> Result<(), DeviceError> {
        let program = self.command.argv.first().cloned().unwrap_or_default();
        let queue = self.command.queue;
        let ends = queue.map_or(Ends::Killed, |q| Ends::Told(q.leave));
        let process = Process::start_in(None, &self.command.argv, &self.command.env, MAX_LINE, ends)
            .map_err(|e| DeviceError::Start { program: program.clone(), reason: e.to_string() })?;
        self.process = Some(process);
        let id = self.take_id();
        self.send(&Request::Hello {
            id,
            protocol: PROTOCOL_VERSION,
            client: concat!("warpwright ", env!("CARGO_PKG_VERSION")).to_owned(),
            memory_bytes: self.limits.memory_bytes,
        })?;
        let wait = queue.map_or(self.limits.start, |q| q.wait);
        let deadline = after(wait);
        let (mut banner, mut told) = (0, String::new());
        loop {
            if cancel.is_cancelled() {
                self.stop();
                return Err(DeviceError::Cancelled);
            }
            // what the batch system says of the queue
            let newest = queue.and_then(|_| self.stderr().lines().last().map(str::to_owned));
            if let Some(newest) = newest.filter(|n| *n != told) {
                progress(&newest);
                told = newest;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            let heard = self.process.as_ref().map_or(Heard::Closed, |p| p.hear(left.min(LOOK)));
            match heard {
                Heard::Line(line) => match serde_json::from_str::<Reply>(&line) {
                    Ok(Reply::Hello { protocol, .. }) if protocol != PROTOCOL_VERSION => {
                        self.stop();
                        return Err(DeviceError::Version { ours: PROTOCOL_VERSION, theirs: protocol });
                    }
                    Ok(Reply::Hello { worker, capabilities, .. }) => {
                        (self.worker, self.capabilities) = (worker, capabilities);
                        return Ok(());
                    }
                    Ok(Reply::Error { message, .. }) => {
                        self.stop();
                        return Err(DeviceError::Refused { message });
                    }
                    _ => banner += 1,
                },
                Heard::Garbage(_) => banner += 1,
                Heard::Closed => return Err(self.died()),
                Heard::Nothing => {}
            }
            if left.is_zero() || banner > BANNER_LINES {
                self.stop();
                let limit_ms = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
                return Err(DeviceError::NoHello { program, limit_ms, stderr: tail(&self.stderr) });
            }
        }
    }

    fn send(&mut self, request: &Request) -> Result<(), DeviceError> {
        let line =
            serde_json::to_string(request).map_err(|e| DeviceError::Refused { message: e.to_string() })?;
        if let Some(process) = &self.process {
            process.send(line);
        }
        Ok(())
    }

    /// The next reply, if one comes in time.
    fn hear(&mut self, wait: Duration) -> Result<Option<Reply>, DeviceError> {
        let what = match self.process.as_ref().map_or(Heard::Closed, |p| p.hear(wait)) {
            Heard::Nothing => return Ok(None),
            Heard::Closed => return Err(self.died()),
            Heard::Line(line) => match serde_json::from_str(&line) {
                Ok(reply) => return Ok(Some(reply)),
                Err(e) => format!("{e}: {}", line.chars().take(80).collect::<String>()),
            },
            Heard::Garbage(problem) => problem,
        };
        self.stop();
        Err(DeviceError::Protocol { what })
    }

    fn died(&mut self) -> DeviceError {
        let status = self.process.as_mut().map_or_else(String::new, |p| p.end(STATUS_GRACE));
        self.stop();
        DeviceError::Died { status, stderr: tail(&self.stderr) }
    }

    fn wrong_report(&mut self, report: &Report) -> DeviceError {
        self.stop();
        let what = format!("another report than was asked for: {report:?}");
        DeviceError::Protocol { what: what.chars().take(160).collect() }
    }

    fn take_id(&mut self) -> u64 {
        let id = self.next_id;
        self.next_id += 1;
        id
    }
}

fn after(wait: Duration) -> Instant {
    let now = Instant::now();
    now.checked_add(wait).unwrap_or(now + Duration::from_secs(86_400))
}

/// The last lines, for a message.
fn tail(stderr: &str) -> String {
    let lines: Vec<&str> = stderr.lines().filter(|l| !l.trim().is_empty()).collect();
    lines.iter().skip(lines.len().saturating_sub(3)).copied().collect::<Vec<_>>().join(" / ")
}
