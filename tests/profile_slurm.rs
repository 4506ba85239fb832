//! `warpwright profile --on slurm:PARTITION`. What stands here for Slurm is a script that this test writes: it takes `srun`'s options,
//! says what `srun` says, and starts the program on this machine. No real Slurm is asked.
#![cfg(target_os = "linux")]

#[path = "support/standin.rs"]
mod standin;
mod support;

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::json;
use standin::StandIn;
use support::{full_caps, Client, SAXPY};
use tempfile::TempDir;

/// Options up to the program, each on a line of a file; a queue that ends at once, one that does not, and a partition that is none.
const SRUN: &str = r#"#!/bin/sh
printf '%s\n' "$@" > "$WW_SRUN/arguments"
partition=default
while :; do
    case "$1" in
    --partition=*) partition="${1#--partition=}"; shift ;;
    --*) shift ;;
    *) break ;;
    esac
done
case "$partition" in
nowhere) echo "srun: error: invalid partition specified: nowhere" >&2; exit 1 ;;
full)
    trap 'echo "$$" > "$WW_SRUN/taken-back"; exit 143' TERM
    echo "srun: job 7 queued and waiting for resources" >&2
    echo "$$" > "$WW_SRUN/queued"
    while :; do sleep 0.05; done ;;
esac
echo "srun: job 7 queued and waiting for resources" >&2
sleep 0.2
echo "srun: job 7 has been allocated resources" >&2
exec "$@"
"#;

struct Slurm {
    folder: TempDir,
    standin: StandIn,
}

impl Slurm {
    fn new() -> Slurm {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().expect("a folder");
        let srun = folder.path().join("srun");
        std::fs::write(&srun, SRUN).expect("script");
        std::fs::set_permissions(&srun, std::fs::Permissions::from_mode(0o755)).expect("executable");
        std::fs::write(folder.path().join("program.c"), SAXPY).expect("program");
        Slurm { folder, standin: StandIn::new() }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn env(&self) -> [(&'static str, String); 2] {
        let path = std::env::var("PATH").unwrap_or_default();
        let folder = self.folder.path().display().to_string();
        [("PATH", format!("{folder}:{path}")), ("WW_SRUN", folder)]
    }

    fn command(&self, on: &str) -> Command {
        let mut command = self.standin.server();
        command.current_dir(self.folder.path()).envs(self.env());
        command.args(["profile", "--format", "json", "program.c", "-s", "n=3000", "--on", on]);
        command
    }

    /// Waits for a file.
    fn wait(&self, name: &str) -> String {
        let end = Instant::now() + Duration::from_secs(60);
        loop {
            let text = std::fs::read_to_string(self.at(name)).unwrap_or_default();
            if text.ends_with('\n') {
                return text;
            }
            assert!(Instant::now() < end, "{name} does not come");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

#[test]
fn a_gpu_that_srun_asks_for() {
    let slurm = Slurm::new();
    for (on, partition) in [("slurm:gpu", Some("--partition=gpu")), ("slurm:", None)] {
        let out = slurm.command(on).output().expect("runs");
        let errors = String::from_utf8_lossy(&out.stderr).into_owned();
        let profile: wire::Profile =
            serde_json::from_slice(&out.stdout).unwrap_or_else(|e| panic!("{e}: {errors}"));
        let run = &profile.runs[0];
        assert_eq!((run.target.as_str(), run.checked.as_str()), (on, "same"), "{}", run.said);
        assert!(run.device.as_ref().is_some_and(|d| d.contains("stand-in")));
        assert_eq!(out.status.code(), Some(0));
        // the queue is told
        assert!(errors.contains("note: srun: job 7 queued and waiting for resources"), "{errors}");
        let arguments = slurm.wait("arguments");
        let mut arguments = arguments.lines();
        for option in ["--ntasks=1", "--gres=gpu:1", "--job-name=warpwright"].into_iter().chain(partition) {
            assert_eq!(arguments.next(), Some(option));
        }
        assert!(arguments.next().is_some_and(|p| p.starts_with('/')));
    }
}

#[test]
fn partitions_that_are_none_and_machines_without_slurm() {
    let slurm = Slurm::new();
    let out = slurm.command("slurm:nowhere").output().expect("runs");
    let profile: wire::Profile = serde_json::from_slice(&out.stdout).expect("the contract");
    let run = &profile.runs[0];
    assert!(
        run.said.contains("invalid partition specified: nowhere") && run.device.is_none(),
        "{}",
        run.said
    );
    assert_eq!(out.status.code(), Some(1));
    let mark = slurm.at("mark");
    for name in [format!("slurm:$(touch {})", mark.display()), "slurm:-x".to_owned(), "slurm:a b".to_owned()]
    {
        let out = slurm.command(&name).output().expect("runs");
        assert!(String::from_utf8_lossy(&out.stderr).contains("no name of a partition"), "{out:?}");
        assert_eq!(out.status.code(), Some(2));
    }
    assert!(!mark.exists());
    std::fs::remove_file(slurm.at("srun")).expect("there");
    let mut command = slurm.command("slurm:gpu");
    let out = command.env("PATH", slurm.folder.path()).args(["--compiler", "off"]).output().expect("runs");
    let profile: wire::Profile = serde_json::from_slice(&out.stdout).expect("the contract");
    assert!(profile.runs[0].said.contains("\"srun\""), "{}", profile.runs[0].said);
}

#[test]
fn a_job_in_the_queue_is_taken_back() {
    // called off in an editor
    let slurm = Slurm::new();
    let env = slurm.env();
    let env: Vec<(&str, &str)> = env.iter().map(|(n, v)| (*n, v.as_str())).collect();
    let mut client = Client::start_with(&full_caps(), &json!({"hosts": ["slurm:full"]}), &env);
    client.message_answer = json!({"title": "Run there"});
    let uri = "file:///program.c";
    client.open(uri, SAXPY);
    let target = json!({"uri": uri, "line": 1, "sizes": {"n": 3000}});
    let id = client.ask(
        "workspace/executeCommand",
        json!({"command": "warpwright.profile", "arguments": [target], "workDoneToken": "measuring"}),
    );
    // it is told what the queue says, once the question is answered
    client.wait("the queue", |m| {
        m["method"] == "$/progress"
            && m["params"]["value"]["message"].as_str().is_some_and(|w| w.contains("queued and waiting"))
    });
    slurm.wait("queued");
    let began = Instant::now();
    client.notify("$/cancelRequest", json!({"id": id}));
    let answer = client.answer(id);
    assert_eq!(answer["error"]["code"], -32800, "{answer:#}");
    assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
    assert_eq!(slurm.wait("taken-back"), slurm.wait("queued"));
    assert_eq!(client.finish(), Some(0));
    // who asked has gone, with no time to say anything
    let slurm = Slurm::new();
    let mut child =
        slurm.command("slurm:full").stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("starts");
    slurm.wait("queued");
    child.kill().expect("ours");
    child.wait().expect("ours");
    assert_eq!(slurm.wait("taken-back"), slurm.wait("queued"));
}
