//! A child process with pipes that are never waited for without a limit.
//!
//! Each pipe has a thread of its own, so that a child that does not read, does not write, or writes without end
//! blocks nothing else. The threads are not joined: a grandchild may hold a pipe open for ever.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{channel, sync_channel, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::limits::process::{LINES_WAITING, REAP, STDERR_KEPT};

pub(crate) struct Process {
    child: Child,
    stdin: Sender<String>,
    stdout: Receiver<Result<String, String>>,
    stderr: Arc<Mutex<VecDeque<u8>>>,
    /// Hears nothing, and is closed when the standard error has been read to its end.
    stderr_open: Receiver<()>,
    ended: bool,
    /// How long it may take to end when it is told to, before it is killed.
    farewell: Duration,
}

/// How a child ends that outlives its use.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ends {
    /// It is killed.
    Killed,
    /// Likewise, and it does not outlive the thread that starts it.
    Within,
    /// It is told to, has so long to do it, and is told when that thread ends: it speaks for something elsewhere.
    Told(Duration),
}

/// Has a child get a signal when the thread that starts it ends, whatever ends it: nobody is left to hear it.
#[cfg(target_os = "linux")]
fn ends_with_us(command: &mut Command, signal: libc::c_int) {
    let parent = std::process::id();
    let set = move || {
        // SAFETY: two system calls, which may be made between fork and exec.
        let is_ours =
            unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, signal) == 0 && libc::getppid() as u32 == parent };
        is_ours.then_some(()).ok_or_else(|| std::io::Error::from_raw_os_error(libc::ESRCH))
    };
    // SAFETY: the closure allocates nothing and takes no lock.
    unsafe {
        std::os::unix::process::CommandExt::pre_exec(command, set);
    }
}

/// What came, or did not come, from the child.
#[derive(Debug)]
pub(crate) enum Heard {
    Line(String),
    /// A line that is too long or not UTF-8.
    Garbage(String),
    Nothing,
    Closed,
}

impl Process {
    /// Starts one that does not outlive this thread.
    pub fn start_within(
        argv: &[String],
        env: &[(String, String)],
        max_line: usize,
    ) -> std::io::Result<Process> {
        Process::start_in(None, argv, env, max_line, Ends::Within)
    }

    /// Likewise, in a folder.
    pub fn start_in(
        folder: Option<&std::path::Path>,
        argv: &[String],
        env: &[(String, String)],
        max_line: usize,
        ends: Ends,
    ) -> std::io::Result<Process> {
        let (program, arguments) =
            argv.split_first().ok_or_else(|| std::io::Error::other("the command is empty"))?;
        let mut command = Command::new(program);
        folder.map(|f| command.current_dir(f));
        command.args(arguments).envs(env.iter().map(|(k, v)| (k, v)));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // a group of its own, so that what the child starts is ended with it
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        #[cfg(target_os = "linux")]
        match ends {
            Ends::Killed => {}
            Ends::Within => ends_with_us(&mut command, libc::SIGKILL),
            Ends::Told(_) => ends_with_us(&mut command, libc::SIGTERM),
        }
        let mut child = command.spawn()?;
        let missing = || std::io::Error::other("no pipe to the child");
        let (input, output, errors) = (
            child.stdin.take().ok_or_else(missing)?,
            child.stdout.take().ok_or_else(missing)?,
            child.stderr.take().ok_or_else(missing)?,
        );
        let (stdin, to_write) = channel::<String>();
        std::thread::spawn(move || write_lines(input, &to_write));
        let (lines, stdout) = sync_channel(LINES_WAITING);
        std::thread::spawn(move || {
            let mut output = BufReader::new(output);
            while let Ok(Some(line)) = read_line(&mut output, max_line) {
                if lines.send(line).is_err() {
                    return;
                }
            }
        });
        let farewell = match ends {
            Ends::Told(wait) => wait,
            Ends::Killed | Ends::Within => Duration::ZERO,
        };
        let stderr = Arc::new(Mutex::new(VecDeque::new()));
        let kept = Arc::clone(&stderr);
        let (open, stderr_open) = channel::<()>();
        std::thread::spawn(move || {
            keep_tail(errors, &kept);
            drop(open);
        });
        Ok(Process { child, stdin, stdout, stderr, stderr_open, ended: false, farewell })
    }

    /// Gives a line to the writing thread. A child that does not read it is found by its silence.
    pub fn send(&self, line: String) {
        // the writer has gone only if the child has, and that is found by the next `hear`
        let _ = self.stdin.send(line);
    }

    pub fn hear(&self, wait: Duration) -> Heard {
        match self.stdout.recv_timeout(wait) {
            Ok(Ok(line)) => Heard::Line(line),
            Ok(Err(problem)) => Heard::Garbage(problem),
            Err(RecvTimeoutError::Timeout) => Heard::Nothing,
            Err(RecvTimeoutError::Disconnected) => Heard::Closed,
        }
    }

    /// Whether it has ended.
    pub fn has_ended(&mut self) -> bool {
        self.ended || exited(&mut self.child)
    }

    /// Waits a little for a child that closed its output, ends it if need be, and says how it ended.
    pub fn end(&mut self, wait: Duration) -> String {
        let end = Instant::now() + wait;
        while !self.has_ended() && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(2));
        }
        self.kill();
        // its last words may still be in the pipe; a grandchild may hold that open
        let _ = self.stderr_open.recv_timeout(wait);
        match self.child.try_wait() {
            Ok(Some(status)) => status.to_string(),
            _ => "it did not end".to_owned(),
        }
    }

    /// Ends the child and its group, and reaps it.
    pub fn kill(&mut self) {
        if self.ended {
            return;
        }
        self.ended = true;
        self.say_farewell();
        #[cfg(unix)]
        if let Ok(group) = libc::pid_t::try_from(self.child.id()) {
            // SAFETY: a plain system call. The child leads this group and is not reaped before, so the number is
            // nobody else's; a group that is gone is not an error.
            unsafe { libc::kill(-group, libc::SIGKILL) };
        }
        // a child that has ended already cannot be killed, which is as well
        let _ = self.child.kill();
        let end = Instant::now() + REAP;
        while matches!(self.child.try_wait(), Ok(None)) && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// Tells a child to end that speaks for something elsewhere, which would go on without it.
    #[cfg(unix)]
    fn say_farewell(&mut self) {
        if self.farewell.is_zero() || exited(&mut self.child) {
            return;
        }
        if let Ok(child) = libc::pid_t::try_from(self.child.id()) {
            // SAFETY: a plain system call; the child is not reaped, so the number is its own.
            unsafe { libc::kill(child, libc::SIGTERM) };
        }
        let end = Instant::now() + self.farewell;
        while !exited(&mut self.child) && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    #[cfg(not(unix))]
    fn say_farewell(&mut self) {}

    /// The end of what the child wrote to its standard error.
    pub fn stderr(&self) -> String {
        let kept = self.stderr.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&kept.iter().copied().collect::<Vec<u8>>()).into_owned()
    }
}

/// Whether the child has ended; leaves it to be reaped, so that its number stays its own.
#[cfg(unix)]
fn exited(child: &mut Child) -> bool {
    // SAFETY: a plain system call that writes to the struct, which may hold zeros.
    unsafe {
        let mut info: libc::siginfo_t = std::mem::zeroed();
        let what = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
        let rc = libc::waitid(libc::P_PID, child.id() as libc::id_t, &mut info, what);
        rc != 0 || info.si_pid() != 0
    }
}

#[cfg(not(unix))]
fn exited(child: &mut Child) -> bool {
    !matches!(child.try_wait(), Ok(None))
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

fn write_lines(mut input: impl Write, lines: &Receiver<String>) {
    for mut line in lines {
        line.push('\n');
        if input.write_all(line.as_bytes()).and_then(|()| input.flush()).is_err() {
            return;
        }
    }
}

fn keep_tail(mut errors: impl Read, kept: &Mutex<VecDeque<u8>>) {
    let mut buffer = [0; 4096];
    while let Ok(count @ 1..) = errors.read(&mut buffer) {
        let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.extend(buffer.iter().take(count));
        let surplus = kept.len().saturating_sub(STDERR_KEPT);
        kept.drain(..surplus);
    }
}

/// One line without its end. `Ok(None)` at the end of the input; a line of more than `max` bytes, or one that is not
/// UTF-8, is read to its end and is a problem in words.
pub(crate) fn read_line(
    input: &mut impl BufRead,
    max: usize,
) -> std::io::Result<Option<Result<String, String>>> {
    let mut line = Vec::new();
    let limit = u64::try_from(max).unwrap_or(u64::MAX);
    if input.by_ref().take(limit.saturating_add(1)).read_until(b'\n', &mut line)? == 0 {
        return Ok(None);
    }
    if line.last() != Some(&b'\n') && line.len() > max {
        skip_line(input)?;
        return Ok(Some(Err(format!("a line of more than {max} bytes"))));
    }
    while line.last().is_some_and(|b| matches!(b, b'\n' | b'\r')) {
        line.pop();
    }
    Ok(Some(String::from_utf8(line).map_err(|_| "a line that is not UTF-8".to_owned())))
}

fn skip_line(input: &mut impl BufRead) -> std::io::Result<()> {
    loop {
        let buffer = input.fill_buf()?;
        let (count, found) = match buffer.iter().position(|b| *b == b'\n') {
            Some(at) => (at + 1, true),
            None => (buffer.len(), false),
        };
        input.consume(count);
        if found || count == 0 {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_bounded() {
        let mut input: &[u8] = b"abc\r\n\xff\n0123456789\n\n01234\nlast";
        let mut next = || read_line(&mut input, 5).expect("memory does not fail");
        assert_eq!(next(), Some(Ok("abc".to_owned())));
        assert_eq!(next(), Some(Err("a line that is not UTF-8".to_owned())));
        assert_eq!(next(), Some(Err("a line of more than 5 bytes".to_owned())));
        assert_eq!(next(), Some(Ok(String::new())));
        assert_eq!(next(), Some(Ok("01234".to_owned())));
        assert_eq!(next(), Some(Ok("last".to_owned())));
        assert_eq!(next(), None);
    }
}
