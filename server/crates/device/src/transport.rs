//! Where a worker runs: here, on a host that the system's OpenSSH reaches, with its configuration, agent and jump hosts, or where Slurm
//! has a GPU free.
//!
//! Commands are argument vectors; what a shell on the other side gets is text of ours with a number of hexadecimal digits in it.
//! A host's name is one argument behind `--`, and one that begins with `-` is none. What travels is the worker's program, once:
//! it lies there under its hash, in the user's own folder, and takes its place only when all of it has come. Slurm starts it where it
//! lies here: its machines share that folder. Accounts and time limits are as `srun` takes them from its environment.
//!
//! Deliberately absent: who may name hosts. Nothing of a workspace is asked.

use crate::found::text;
use crate::native::run_by;
use crate::{Queue, WorkerCommand};
use std::hash::{DefaultHasher, Hasher};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::limits::transport::{ASK, LEAVE, QUEUED, SEND};

/// Where.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Target {
    Local,
    /// As the user's SSH knows it.
    Host(String),
    /// A GPU of Slurm's partition; `None`: of its default one.
    Slurm(Option<String>),
}

impl Target {
    /// Reads what a user wrote. `Err`: a sentence.
    pub fn read(name: &str) -> Result<Target, String> {
        if name == "local" {
            return Ok(Target::Local);
        }
        if let Some(partition) = name.strip_prefix("slurm:") {
            let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
            if partition.starts_with('-') || !partition.chars().all(is_plain) {
                return Err(format!(
                    "{partition:?} is no name of a partition. Name one as `sinfo` shows it, such as slurm:gpu; slurm: alone is the default one."
                ));
            }
            return Ok(Target::Slurm((!partition.is_empty()).then(|| partition.to_owned())));
        }
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-@:[]%".contains(c);
        if name.is_empty() || name.starts_with('-') || !name.chars().all(is_plain) {
            return Err(format!(
                "{name:?} is no name of a host. Name one as `ssh` takes it, such as gpu1 or me@gpu1; it does not begin with `-`."
            ));
        }
        Ok(Target::Host(name.to_owned()))
    }
}

/// How hosts are reached.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Transport {
    /// The worker's program, and its arguments.
    pub program: PathBuf,
    pub arguments: Vec<String>,
    /// For `ssh -F`; `None`: the user's own.
    pub ssh_config: Option<PathBuf>,
}

impl Transport {
    /// The worker's own program beside this one, else this one.
    pub fn of_this_program() -> std::io::Result<Transport> {
        let own = std::env::current_exe()?;
        let beside = own.with_file_name(format!("ww-device-worker{}", std::env::consts::EXE_SUFFIX));
        let (program, arguments) = match beside.is_file() {
            true => (beside, Vec::new()),
            false => (own, vec!["worker".to_owned()]),
        };
        Ok(Transport { program, arguments, ssh_config: None })
    }

    /// The command that starts a worker there. Asks the host, and brings the program where it is not yet. `Err`: a sentence.
    pub fn command(&self, target: &Target, tell: &dyn Fn(&str)) -> Result<WorkerCommand, String> {
        match target {
            Target::Local => {
                Ok(WorkerCommand::new([vec![text(&self.program)], self.arguments.clone()].concat()))
            }
            Target::Host(host) => self.on_host(host, tell),
            Target::Slurm(partition) => {
                let of = partition.as_ref().map_or(String::new(), |p| format!(" of the partition {p}"));
                tell(&format!("asking Slurm for a GPU{of}: the job may stand in its queue"));
                Ok(self.by_slurm(partition.as_deref()))
            }
        }
    }

    fn by_slurm(&self, partition: Option<&str>) -> WorkerCommand {
        let mut argv: Vec<String> =
            ["srun", "--ntasks=1", "--gres=gpu:1", "--job-name=warpwright"].map(str::to_owned).into();
        argv.extend(partition.map(|p| format!("--partition={p}")));
        argv.push(text(&self.program));
        argv.extend(self.arguments.iter().cloned());
        let queue = Some(Queue { wait: QUEUED, leave: LEAVE });
        WorkerCommand { queue, ..WorkerCommand::new(argv) }
    }

    fn on_host(&self, host: &str, tell: &dyn Fn(&str)) -> Result<WorkerCommand, String> {
        let program = std::fs::read(&self.program)
            .map_err(|e| format!("The worker's program {} cannot be read: {e}.", self.program.display()))?;
        let mut hasher = DefaultHasher::new();
        hasher.write(&program);
        let place = format!(".cache/warpwright/worker-{:016x}-{}", hasher.finish(), program.len());
        tell(&format!("asking {host}"));
        let ask = format!("echo ww-machine $(uname -sm); test -x {place} && echo ww-present; true");
        let answer = run_by(1, &self.ssh(host, &ask), ASK)
            .map_err(|why| format!("{host} was not reached by ssh: {why}. Try `ssh {host} true` by hand; it must not ask for anything."))?;
        let machine = answer.lines().find_map(|l| l.trim().strip_prefix("ww-machine "));
        let ours = format!("Linux {}", std::env::consts::ARCH);
        match machine {
            Some(theirs) if theirs == ours => {}
            Some(theirs) => {
                return Err(format!(
                    "{host} is a machine for {theirs}, and this worker is for {ours}. Use warpwright from a machine of that kind."
                ))
            }
            None => return Err(format!("{host} runs no shell that says which machine it is.")),
        }
        if !answer.lines().any(|l| l.trim() == "ww-present") {
            tell(&format!("bringing the worker to {host} ({} MB, once)", program.len().div_ceil(1_000_000)));
            self.send(host, &place, program.len())?;
        }
        let start = [format!("exec {place}"), self.arguments.join(" ")].join(" ");
        Ok(WorkerCommand::new(self.ssh(host, start.trim())))
    }

    fn ssh(&self, host: &str, remote: &str) -> Vec<String> {
        let mut argv = vec!["ssh".to_owned(), "-T".to_owned()];
        if let Some(config) = &self.ssh_config {
            argv.extend(["-F".to_owned(), text(config)]);
        }
        // nothing may be asked on a terminal, and a host that is gone is noticed
        for option in ["BatchMode=yes", "ConnectTimeout=10", "ServerAliveInterval=5", "ServerAliveCountMax=3"]
        {
            argv.extend(["-o".to_owned(), option.to_owned()]);
        }
        argv.extend(["--".to_owned(), host.to_owned(), remote.to_owned()]);
        argv
    }

    /// Brings the program. It has its name there only when all of it has come.
    fn send(&self, host: &str, place: &str, bytes: usize) -> Result<(), String> {
        let remote = format!(
            "umask 077 && mkdir -p .cache/warpwright && cat > {place}.$$ && test $(wc -c < {place}.$$) -eq {bytes} \
             && chmod 700 {place}.$$ && mv -f {place}.$$ {place} || {{ rm -f {place}.$$; exit 7; }}"
        );
        let argv = self.ssh(host, &remote);
        let failed = |why: String| {
            format!("The worker did not get to {host}: {why}. Is there room in the home folder there?")
        };
        let input = open(&self.program).map_err(|e| failed(e.to_string()))?;
        let mut command = Command::new(&argv[0]);
        command.args(&argv[1..]).stdin(input).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|e| failed(e.to_string()))?;
        let end = Instant::now() + SEND;
        loop {
            match child.try_wait() {
                Ok(Some(status)) if status.success() => return Ok(()),
                Ok(Some(status)) => {
                    let mut said = String::new();
                    use std::io::Read as _;
                    if let Some(mut errors) = child.stderr.take() {
                        let _ = errors.by_ref().take(4096).read_to_string(&mut said);
                    }
                    let said = said.lines().last().map(|l| format!(" ({l})")).unwrap_or_default();
                    return Err(failed(format!("{status}{said}")));
                }
                Ok(None) if Instant::now() < end => std::thread::sleep(Duration::from_millis(20)),
                _ => {
                    let _ = child.kill();
                    let _ = child.wait();
                    return Err(failed(format!("it took more than {} s", SEND.as_secs())));
                }
            }
        }
    }
}

fn open(path: &Path) -> std::io::Result<Stdio> {
    std::fs::File::open(path).map(Stdio::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_hosts() {
        assert_eq!(Target::read("local"), Ok(Target::Local));
        for good in ["gpu1", "me@gpu-1.example.org", "::1", "[fe80::1%eth0]"] {
            assert_eq!(Target::read(good), Ok(Target::Host(good.to_owned())));
        }
        for bad in ["", "-oProxyCommand=touch /tmp/x", "a b", "a;b", "$(x)", "a\nb", "`x`", "a'b", "a/b"] {
            assert!(Target::read(bad).is_err_and(|why| why.contains("no name of a host")), "{bad}");
        }
    }

    #[test]
    fn partitions_of_slurm() {
        assert_eq!(Target::read("slurm:"), Ok(Target::Slurm(None)));
        assert_eq!(Target::read("slurm:gpu_a.1-x"), Ok(Target::Slurm(Some("gpu_a.1-x".to_owned()))));
        for bad in ["slurm:-x", "slurm:a b", "slurm:a;b", "slurm:$(x)", "slurm:a,b", "slurm:a/b", "slurm:a=b"]
        {
            assert!(Target::read(bad).is_err_and(|why| why.contains("no name of a partition")), "{bad}");
        }
        // a host that begins so is another name
        assert_eq!(Target::read("slurm"), Ok(Target::Host("slurm".to_owned())));
        let program = "/home/a b/worker".into();
        let transport = Transport { program, arguments: vec!["worker".to_owned()], ssh_config: None };
        let command = transport.by_slurm(Some("gpu"));
        assert_eq!(command.argv[command.argv.len() - 3..], ["--partition=gpu", "/home/a b/worker", "worker"]);
        assert!(command.queue.is_some() && command.argv[0] == "srun");
    }

    #[test]
    fn a_host_is_one_argument() {
        let transport =
            Transport { program: "w".into(), arguments: Vec::new(), ssh_config: Some("c".into()) };
        let argv = transport.ssh("gpu1", "exec x");
        assert_eq!(argv[..4], ["ssh", "-T", "-F", "c"]);
        assert_eq!(argv[argv.len() - 3..], ["--", "gpu1", "exec x"]);
    }
}
