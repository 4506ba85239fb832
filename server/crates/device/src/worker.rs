//! The worker's side of the [`protocol`](crate::protocol): reads requests, does one at a time, answers each once.
//!
//! A job runs on a thread of its own, so that cancelling and the time limit are heard meanwhile. A thread cannot be
//! stopped from outside: when a job overruns its limit the answer is sent and the whole process ends
//! ([`ServeEnd::Stuck`]); whoever started it starts the next. At the end of the input the requests already read are
//! done, each within its limit, so that a worker whose client has gone away does not linger.

use crate::bundle::Bundle;
use crate::limits::worker::{ALONE, DEFAULT_LIMIT, GRACE, JOB_STACK};
use crate::protocol::{ErrorKind, Machine, Reply, Report, Request, MAX_LINE, PROTOCOL_VERSION};
use crate::{
    compile_check, CompileOutcome, CompileRequest, ProfileOutcome, ProveOutcome, ProveRequest, Unavailable,
};
use base::CancelToken;
use std::collections::VecDeque;
use std::io::{BufRead, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::mpsc::{channel, Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

/// Why [`serve`] came back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ServeEnd {
    /// The input ended and every request is answered.
    Input,
    /// Nobody reads the answers any longer.
    Output,
    /// A job overran its limit and still runs: end the process.
    Stuck,
}

enum Job {
    Compile(Box<CompileRequest>),
    Machine(Option<PathBuf>),
    Prove(Box<ProveRequest>),
    Profile(Box<Bundle>),
}

impl Job {
    fn limit_ms(&self) -> Option<u64> {
        match self {
            Job::Compile(request) => request.limit_ms,
            Job::Prove(request) => request.limit_ms,
            Job::Profile(bundle) => bundle.limit_ms,
            Job::Machine(_) => None,
        }
    }

    /// What is reported of a job that overran its limit.
    fn late(&self, limit_ms: u64) -> Report {
        match self {
            Job::Prove(_) => Report::Prove(ProveOutcome::Unavailable(Unavailable::undecided(limit_ms))),
            Job::Profile(_) => Report::Profile(ProfileOutcome::Unavailable(Unavailable::run_limit(limit_ms))),
            _ => Report::Compile(CompileOutcome::Unavailable(Unavailable::time_limit(limit_ms))),
        }
    }
}

enum Event {
    Line(Result<String, String>),
    End,
    Done(u64, Result<Report, String>),
    Progress(u64, String),
}

struct Running {
    id: u64,
    /// What is reported at the deadline.
    late: Report,
    deadline: Instant,
    cancel: CancelToken,
    /// Whether the answer is no longer wanted; it is given when the job has stopped, so that the client knows.
    cancelled: bool,
}

/// Serves requests from `input` until it ends.
pub fn serve(input: impl BufRead + Send + 'static, output: impl Write) -> ServeEnd {
    let (events, inbox) = channel();
    let reader = events.clone();
    std::thread::spawn(move || read_lines(input, &reader));
    let mut server = Server { output, events, queue: VecDeque::new(), running: None, greeted: false };
    server.run(&inbox).unwrap_or(ServeEnd::Output)
}

/// The whole worker process: serves standard input and output. Nothing else can write to standard output: whatever
/// a library prints there goes to standard error.
pub fn main() -> ExitCode {
    let input = std::io::BufReader::new(std::io::stdin());
    let end = match protocol_output() {
        Ok(output) => serve(input, output),
        Err(e) => {
            let _ = writeln!(std::io::stderr(), "the worker cannot take its standard output: {e}");
            ServeEnd::Output
        }
    };
    match end {
        ServeEnd::Input => ExitCode::SUCCESS,
        ServeEnd::Output => leave(2),
        ServeEnd::Stuck => leave(3),
    }
}

/// Ends the process while a job may still run: the compiler's own clean-up at a usual exit would meet it at work.
fn leave(code: i32) -> ExitCode {
    // SAFETY: ends the process at once; the answers are flushed.
    #[cfg(unix)]
    unsafe {
        libc::_exit(code)
    }
    #[cfg(not(unix))]
    std::process::exit(code)
}

#[cfg(unix)]
fn protocol_output() -> std::io::Result<impl Write> {
    use std::os::fd::FromRawFd;
    // SAFETY: plain system calls on descriptors of this process; the new descriptor is owned by nobody else.
    unsafe {
        let own = libc::fcntl(libc::STDOUT_FILENO, libc::F_DUPFD_CLOEXEC, 3);
        if own < 0 || libc::dup2(libc::STDERR_FILENO, libc::STDOUT_FILENO) < 0 {
            return Err(std::io::Error::last_os_error());
        }
        Ok(std::fs::File::from_raw_fd(own))
    }
}

#[cfg(not(unix))]
fn protocol_output() -> std::io::Result<impl Write> {
    Ok(std::io::stdout())
}

struct Server<W> {
    output: W,
    events: Sender<Event>,
    queue: VecDeque<(u64, Job)>,
    running: Option<Running>,
    greeted: bool,
}

impl<W: Write> Server<W> {
    fn run(&mut self, inbox: &Receiver<Event>) -> std::io::Result<ServeEnd> {
        let mut ended = false;
        loop {
            if self.running.is_none() {
                if let Some((id, job)) = self.queue.pop_front() {
                    self.start(id, job)?;
                } else if ended {
                    return Ok(ServeEnd::Input);
                }
            }
            let event = match &self.running {
                Some(running) => {
                    inbox.recv_timeout(running.deadline.saturating_duration_since(Instant::now()))
                }
                None => inbox.recv().map_err(|_| RecvTimeoutError::Disconnected),
            };
            match event {
                Ok(Event::Line(Ok(line))) => self.line(&line)?,
                Ok(Event::Line(Err(problem))) => self.error(None, ErrorKind::Malformed, problem)?,
                Ok(Event::End) | Err(RecvTimeoutError::Disconnected) => {
                    ended = true;
                    self.left_alone();
                }
                Ok(Event::Done(id, result)) => self.done(id, result)?,
                Ok(Event::Progress(id, text)) => self.send(&Reply::Progress { id, text, steps: None })?,
                Err(RecvTimeoutError::Timeout) => {
                    if let Some(Running { id, late, cancelled, .. }) = self.running.take() {
                        if cancelled {
                            self.cancelled(id)?;
                        } else {
                            self.send(&Reply::Report { id, report: late })?;
                        }
                    }
                    for (id, _) in std::mem::take(&mut self.queue) {
                        let message = "The worker ends because of a request before this one. Ask again.";
                        self.error(Some(id), ErrorKind::Internal, message.to_owned())?;
                    }
                    return Ok(ServeEnd::Stuck);
                }
            }
        }
    }

    fn line(&mut self, line: &str) -> std::io::Result<()> {
        let request: Request = match serde_json::from_str(line) {
            Ok(request) => request,
            Err(error) => return self.not_understood(line, &error),
        };
        match request {
            Request::Hello { id, protocol, memory_bytes, .. } => {
                if protocol != PROTOCOL_VERSION {
                    let message = format!(
                        "This worker speaks protocol {PROTOCOL_VERSION}, not {protocol}. Install the same version of warpwright on both machines."
                    );
                    return self.error(Some(id), ErrorKind::Protocol, message);
                }
                if let Some(bytes) = memory_bytes {
                    if let Err(e) = limit_memory(bytes) {
                        let message = format!("The memory limit cannot be set: {e}.");
                        return self.error(Some(id), ErrorKind::Internal, message);
                    }
                }
                self.greeted = true;
                self.send(&Reply::Hello {
                    id,
                    protocol: PROTOCOL_VERSION,
                    worker: concat!("warpwright ", env!("CARGO_PKG_VERSION")).to_owned(),
                    capabilities: ["compile", "machine", "profile", "prove"].map(str::to_owned).into(),
                })
            }
            Request::Cancel { id } => self.cancel(id),
            other if !self.greeted => self.error(
                Some(other.id()),
                ErrorKind::Protocol,
                "The first request must be hello.".to_owned(),
            ),
            Request::Machine { id, library } => self.enqueue(id, Job::Machine(library)),
            Request::Compile { id, request } => self.enqueue(id, Job::Compile(Box::new(request))),
            Request::Prove { id, request } => self.enqueue(id, Job::Prove(Box::new(request))),
            Request::Profile { id, bundle } => self.enqueue(id, Job::Profile(bundle)),
        }
    }

    /// A line that is no request of this version: a newer kind of request is told apart from garbage.
    fn not_understood(&mut self, line: &str, error: &serde_json::Error) -> std::io::Result<()> {
        const KNOWN: [&str; 6] = ["hello", "machine", "compile", "prove", "profile", "cancel"];
        let value: Option<serde_json::Value> = serde_json::from_str(line).ok();
        let id = value.as_ref().and_then(|v| v.get("id")).and_then(serde_json::Value::as_u64);
        let kind = value.as_ref().and_then(|v| v.get("type")).and_then(serde_json::Value::as_str);
        match (id, kind) {
            (Some(id), Some(kind)) if !KNOWN.contains(&kind) => {
                let reason =
                    format!("it does not know the request \"{kind}\". Install a newer warpwright there.");
                self.send(&Reply::NotSupported { id, reason })
            }
            _ => self.error(id, ErrorKind::Malformed, format!("The line is not a request: {error}.")),
        }
    }

    fn enqueue(&mut self, id: u64, job: Job) -> std::io::Result<()> {
        self.queue.push_back((id, job));
        Ok(())
    }

    fn cancel(&mut self, id: u64) -> std::io::Result<()> {
        let queued = self.queue.len();
        self.queue.retain(|(other, _)| *other != id);
        if self.queue.len() < queued {
            return self.cancelled(id);
        }
        if let Some(running) = self.running.as_mut().filter(|r| r.id == id) {
            running.cancel.cancel();
            running.cancelled = true;
        }
        Ok(())
    }

    /// Nobody is there any more: what measures is called off, and left behind where it does not stop.
    fn left_alone(&mut self) {
        let is_profile = |r: &&mut Running| matches!(r.late, Report::Profile(_));
        if let Some(running) = self.running.as_mut().filter(is_profile) {
            running.cancel.cancel();
            running.deadline = running.deadline.min(Instant::now() + ALONE);
        }
    }

    fn cancelled(&mut self, id: u64) -> std::io::Result<()> {
        self.error(Some(id), ErrorKind::Cancelled, "The request was cancelled.".to_owned())
    }

    fn start(&mut self, id: u64, job: Job) -> std::io::Result<()> {
        let limit = job.limit_ms().map_or(DEFAULT_LIMIT, Duration::from_millis);
        let deadline =
            Instant::now().checked_add(limit + GRACE).unwrap_or_else(|| Instant::now() + DEFAULT_LIMIT);
        let late = job.late(u64::try_from(limit.as_millis()).unwrap_or(u64::MAX));
        let cancel = CancelToken::new();
        let (events, job_cancel) = (self.events.clone(), cancel.clone());
        let work = move || {
            // nobody listens only when the process ends
            let tell = |text: &str| drop(events.send(Event::Progress(id, text.to_owned())));
            let result =
                std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| run(job, &job_cancel, &tell)));
            let result =
                result.map_err(|_| "The worker failed on this request. Please report it.".to_owned());
            let _ = events.send(Event::Done(id, result));
        };
        match std::thread::Builder::new().stack_size(JOB_STACK).spawn(work) {
            Ok(_) => {
                self.running = Some(Running { id, late, deadline, cancel, cancelled: false });
                Ok(())
            }
            Err(e) => {
                self.error(Some(id), ErrorKind::Internal, format!("The worker cannot start a thread: {e}."))
            }
        }
    }

    fn done(&mut self, id: u64, result: Result<Report, String>) -> std::io::Result<()> {
        match (self.running.take(), result) {
            (Some(Running { cancelled: true, .. }), _) => self.cancelled(id),
            (_, Ok(report)) => self.send(&Reply::Report { id, report }),
            (_, Err(message)) => self.error(Some(id), ErrorKind::Internal, message),
        }
    }

    fn error(&mut self, id: Option<u64>, kind: ErrorKind, message: String) -> std::io::Result<()> {
        self.send(&Reply::Error { id, kind, message })
    }

    fn send(&mut self, reply: &Reply) -> std::io::Result<()> {
        let mut line = serde_json::to_string(reply).map_err(std::io::Error::other)?;
        line.push('\n');
        self.output.write_all(line.as_bytes())?;
        self.output.flush()
    }
}

fn run(job: Job, cancel: &CancelToken, tell: &dyn Fn(&str)) -> Report {
    match job {
        Job::Compile(request) => {
            let limit_ms = request.limit_ms.unwrap_or(DEFAULT_LIMIT.as_millis() as u64);
            let request = CompileRequest { limit_ms: Some(limit_ms), ..*request };
            Report::Compile(compile_check(&request, cancel))
        }
        Job::Prove(request) => {
            let limit_ms = request.limit_ms.unwrap_or(DEFAULT_LIMIT.as_millis() as u64);
            Report::Prove(crate::prove(&ProveRequest { limit_ms: Some(limit_ms), ..*request }, cancel))
        }
        Job::Profile(bundle) => Report::Profile(crate::profile(&bundle, cancel, tell)),
        Job::Machine(library) => {
            let (nvrtc, nvrtc_reason) = match crate::compile::library_info(library.as_deref()) {
                Ok(info) => (Some(info), None),
                Err(reason) => (None, Some(reason)),
            };
            Report::Machine(Machine { host: host_name(), gpus: crate::gpus(), nvrtc, nvrtc_reason })
        }
    }
}

fn read_lines(mut input: impl BufRead, events: &Sender<Event>) {
    loop {
        let event = match crate::process::read_line(&mut input, MAX_LINE) {
            Ok(None) | Err(_) => Event::End,
            Ok(Some(Ok(line))) if line.trim().is_empty() => continue,
            Ok(Some(line)) => Event::Line(line),
        };
        let last = matches!(event, Event::End);
        if events.send(event).is_err() || last {
            return;
        }
    }
}

#[cfg(unix)]
fn limit_memory(bytes: u64) -> std::io::Result<()> {
    let limit = libc::rlimit { rlim_cur: bytes as libc::rlim_t, rlim_max: bytes as libc::rlim_t };
    // SAFETY: a plain system call that reads the struct.
    match unsafe { libc::setrlimit(libc::RLIMIT_AS, &limit) } {
        0 => Ok(()),
        _ => Err(std::io::Error::last_os_error()),
    }
}

#[cfg(not(unix))]
fn limit_memory(_: u64) -> std::io::Result<()> {
    Err(std::io::Error::other("not known how on this system"))
}

#[cfg(unix)]
fn host_name() -> String {
    let mut name = [0u8; 256];
    // SAFETY: the length passed is one less than the buffer's, whose last byte stays zero.
    let rc = unsafe { libc::gethostname(name.as_mut_ptr().cast(), name.len() - 1) };
    let end = name.iter().position(|b| *b == 0).unwrap_or(0);
    let name = name.get(..end).unwrap_or_default();
    if rc == 0 {
        String::from_utf8_lossy(name).into_owned()
    } else {
        String::new()
    }
}

#[cfg(not(unix))]
fn host_name() -> String {
    std::env::var("COMPUTERNAME").unwrap_or_default()
}
